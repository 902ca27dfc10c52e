"""Splits the source of a page into the tokens of its top-level blocks, and finds out which tags are closed. Start
reading at `TokenStream`. `source_reader.py` gives the tokens to `tree_builder.py`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_core.text_join import text_join
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_tail

from octavo.documents import markdown_rules
from octavo.documents.blocks import (
    FENCE_ESCAPE,
    MAX_BLOCK_TOKENS,
    MAX_LINE_VISITS,
    BlockTooLarge,
    Diagnostic,
    count_tokens,
    has_too_many_marks,
)
from octavo.documents.html import Placeholders, TextFinder
from octavo.documents.markdown_rules import (
    MAX_BLOCK_DEPTH,
    block_math_rule,
    block_tag_rule,
    depth_rule,
    fence_rule,
    heading_rule,
    html_rule,
    list_rule,
    scan_next_to_cjk,
    table_rule,
)
from octavo.documents.tag_blocks import ALWAYS_OPEN, Tag, TagScanner

_MAX_DISTANCE = 60
"""Maximum number of tokens between a tag and its end tag, if the end tag is optional."""

_OPTIONAL_END = frozenset({"embed", "file", "content-ref", "page-ref"})
_END_TAG = re.compile(r"\{%-?[ \t\n]*end(@?[A-Za-z][\w@./:-]*)")


class ClosedTags:
    """Finds out which tags have an end tag. `add` must get the tokens of the source in order."""

    def __init__(self, source: str) -> None:
        self._last_positions: dict[str, int] = {}
        for match in _END_TAG.finditer(source) if "{%" in source else ():
            self._last_positions[match[1]] = match.start()
        self._closed_tags: dict[int, Tag] = {}
        self._open_tags: dict[str, list[tuple[int, Tag]]] = {}
        self._count = 0

    def is_closed(self, tag: Tag) -> bool:
        """Return whether `add` has found the end tag of `tag`."""
        return id(tag) in self._closed_tags

    def add(self, tokens: Sequence[Token]) -> None:
        """Match opening and closing tags in `tokens`, which follow the tokens of the previous call."""
        for index, token in enumerate(tokens, self._count):
            for child in token.children or () if token.type == "inline" else (token,):
                if child.type == "platform_tag":
                    self._add_tag(child.meta["tag"], index)
        self._count += len(tokens)

    def _add_tag(self, tag: Tag, index: int) -> None:
        if not tag.closed_name:
            if tag.name not in ALWAYS_OPEN:
                self._open_tags.setdefault(tag.name, []).append((index, tag))
        elif open_tags := self._open_tags.get(tag.closed_name):
            opening_index, closed_tag = open_tags.pop()
            if index - opening_index <= _MAX_DISTANCE or tag.closed_name not in _OPTIONAL_END:
                self._closed_tags[id(closed_tag)] = closed_tag

    def first_open_tag_index(self, position: int) -> int | None:
        """Return the index of the first token with an open tag that may end at or after `position`, else None."""
        candidates: list[int] = []
        for name, open_tags in self._open_tags.items():
            if open_tags and self._last_positions.get(name, -1) >= position:
                if name not in _OPTIONAL_END:
                    candidates.append(open_tags[0][0])
                else:
                    near_indexes = takewhile(
                        lambda index: self._count - index <= _MAX_DISTANCE, (index for index, _ in reversed(open_tags))
                    )
                    candidates += list(near_indexes)[-1:]
        return min(candidates, default=None)


_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_INDENTED_LINE = re.compile(r"\n[ \t]+")
_FORMULA_END = re.compile(r"\$\$[ \t]*$", re.MULTILINE)
_LABEL_OR_ESCAPE = re.compile(r"\\.|\[((?:[^\[\]\\]++|\\.)++)\](:?)")
"""An escaped character, or a label such as `[1]` and a colon after it. Matching escapes first takes linear time."""
_DEFINITION_PREFIX = re.compile(r"(?:^|\n)[ \t>*+\-\d.)]*$")
_LOOKBACK = 100
"""Maximum number of characters on a line before the label of a link definition."""
_LABEL = re.compile(r"\\.|\[((?:[^\[\]\\]++|\\.)++)\]")
_LINE_START = re.compile(r"\n[ \t>]*")


class TopLevelBlock(NamedTuple):
    """The tokens of a top-level block, and the position in the source where the block ends."""

    tokens: list[Token]
    end: int


class _Window:
    """The part of the source that is parsed at the moment. Parser rules use positions relative to its start."""

    def __init__(
        self, tags: TagScanner, finder: TextFinder, start: int, length: int, source_length: int, line_visits: int
    ) -> None:
        self.tags, self.finder = tags, finder
        self.start, self.length, self.source_length = start, length, source_length
        self.line_visits = line_visits
        """Number of lines that the parser may still read. Below 0, the page counts as too large."""
        self.is_incomplete = False
        """True if a block continues after the window, so that the tokens of this block are wrong."""

    def count_visit(self) -> None:
        self.line_visits -= 1
        if self.line_visits < 0:
            raise BlockTooLarge

    def tag_at(self, position: int) -> Tag | None:
        tag = self.tags.tag_at(self.start + position)
        return None if tag is None else tag._replace(end=self._to_window(tag.end))

    def find_after(self, text: str, position: int) -> int:
        return self._to_window_end(self.finder.find_after(text, self.start + position))

    def element_end(self, name: str, start: int) -> tuple[int, int]:
        content_end, closing_tag_end = self.finder.element_end(name, self.start + start)
        return self._to_window_end(content_end), self._to_window_end(closing_tag_end)

    def _to_window_end(self, position: int) -> int:
        return self.length if position == self.source_length else self._to_window(position)

    def _to_window(self, position: int) -> int:
        self.is_incomplete = self.is_incomplete or position >= self.start + self.length
        return min(position - self.start, self.length)


class _BlockState(StateBlock):
    """A state of the block parser that raises BlockTooLarge if a block has too many tokens."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if len(self.tokens) >= MAX_BLOCK_TOKENS:
            raise BlockTooLarge
        return super().push(ttype, tag, nesting)


class _InlineState(StateInline):
    """A state of the inline parser that finds bold and italic text next to Chinese, Japanese and Korean letters."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        scanned = super().scanDelims(start, canSplitWord)
        return scanned if scanned.can_open and scanned.can_close else scan_next_to_cjk(self, start, scanned)


class _FootnoteDefinitions(dict[str, Any]):
    """Numbers of footnotes by label, -1 while a footnote has no number. Setting -1 does not replace a number."""

    def __setitem__(self, name: str, value: Any) -> None:
        if value != -1 or name not in self:
            super().__setitem__(name, value)


class TokenStream:
    """Parses a source into tokens of top-level blocks. `diagnostics` and `parsed_to` are set after the last block."""

    def __init__(self, source: str, slice_length: int, max_tokens: int) -> None:
        """Parse about `slice_length` characters of `source` at a time, and stop after about `max_tokens` tokens."""
        self._source, self._slice_length, self._max_tokens = source, slice_length, max_tokens
        self._line_visits = max(MAX_LINE_VISITS, len(source) // 10)
        self.diagnostics: list[Diagnostic] = []
        self.parsed_to = len(source)
        """Position up to which the page was parsed. Less than the length of the source if the page is too large."""
        self._tags, self._finder = TagScanner(source), TextFinder(source)
        self._formula_ends = [match.start() for match in _FORMULA_END.finditer(source)] if "$$" in source else []
        self._footnotes: dict[str, Any] = {"refs": _FootnoteDefinitions(), "list": {}}
        self._env: dict[str, Any] = {
            "references": {},
            "footnotes": self._footnotes,
            "placeholders": Placeholders(source),
        }
        self._notes: list[Token] = []
        self._definitions = dict(_find_definitions(source))
        """Source position after the last `[label]:` that may define a link, by link label."""

    def blocks(self) -> Iterator[TopLevelBlock]:
        """Yield the blocks in source order, then the footnotes of the page. Set `parsed_to` before the footnotes."""
        position = line = token_count = 0
        while position < len(self._source) and token_count < self._max_tokens:
            try:
                blocks, end, end_line = self._next_blocks(position, line, self.diagnostics)
            except BlockTooLarge:
                break
            if self._definitions and any(
                self._may_have_label_defined_after(end, token) for tokens, _ in blocks for token in tokens
            ):
                self._read_definitions(end, end_line)
            for tokens, block_end in blocks:
                for token in tokens:
                    token.content = token.content.replace(FENCE_ESCAPE, "")
                    if token.type == "inline":
                        self._read_words(token)
                        token_count += count_tokens(token.children or ())
                        text_join(StateCore("", parser(), self._env, [token]))
                token_count += count_tokens(tokens)
                if remaining_tokens := self._take_footnotes(tokens):
                    yield TopLevelBlock(remaining_tokens, block_end)
            position, line = end, end_line
        self.parsed_to = min(position, len(self._source))
        if self._notes or self._footnotes["list"]:
            state = StateCore("", parser(), self._env, _join_definitions(self._notes))
            _append_footnotes(state)
            text_join(state)
            if state.tokens:
                yield TopLevelBlock(state.tokens, len(self._source))

    def _read_words(self, token: Token) -> None:
        token.children = []
        if has_too_many_marks(token.content):
            token.children.append(Token("platform_source", "", 0, content=token.content.replace("\n", " ")))
            line = token.map[0] if token.map else 0
            self.diagnostics.append(
                Diagnostic(line, "This paragraph has too much formatting, so it is shown as source.")
            )
        else:
            source = _INDENTED_LINE.sub("\n", token.content)
            state = _InlineState(source, parser(), self._env, token.children)
            parser().inline.tokenize(state)
            for rule in parser().inline.ruler2.getRules(""):
                rule(state)
            if "\\:" in token.content:
                for child in token.children:
                    if child.type == "text_special" and child.content == ":":
                        child.type = "escaped_colon"  # A colon of this type cannot begin an emoji name.

    def _may_have_label_defined_after(self, end: int, token: Token) -> bool:
        labels = _LABEL.findall(token.content) if "[" in token.content else ()
        return any(self._definitions.get(_normalized_label(label), -1) > end for label in labels if label)

    def _read_definitions(self, position: int, line: int) -> None:
        token_count, last = 0, max(self._definitions.values())
        while position < last and token_count < self._max_tokens // 2:
            try:
                blocks, position, line = self._next_blocks(position, line, [])
            except BlockTooLarge:
                break
            token_count += sum(count_tokens(tokens) for tokens, _ in blocks)
        self._definitions.clear()

    def _next_blocks(
        self, position: int, line: int, diagnostics: list[Diagnostic]
    ) -> tuple[list[tuple[list[Token], int]], int, int]:
        """Return the next blocks, as pairs of tokens and end position, and the position and line after the last block.
        `line` is the line of `position`. Add problems to `diagnostics`."""
        size = self._slice_length
        while True:
            blank_match = _BLANK_LINES.search(self._source, min(len(self._source), position + size))
            end = blank_match.end() if blank_match else len(self._source)
            blocks, length, lines = self._blocks(position, end, line, diagnostics)
            if length:
                return blocks, position + length, line + lines
            size = 2 * max(size, end - position)

    def _blocks(
        self, start: int, end: int, first_line: int, diagnostics: list[Diagnostic]
    ) -> tuple[list[tuple[list[Token], int]], int, int]:
        """Return the complete blocks between two positions as pairs of tokens and end position, and how many characters
        and lines these blocks have. `first_line` is the line of `start`. Add problems to `diagnostics`. Raises
        BlockTooLarge if the first block is too large."""
        source, env = self._source[start:end], self._env
        window = _Window(self._tags, self._finder, start, len(source), len(self._source), self._line_visits)
        formula_ends = self._formula_ends_in(start, end)
        env |= {"tags": window, "finder": window, "window": window, "formula_ends": formula_ends}
        found_diagnostics: list[Diagnostic] = []
        env["diagnostics"] = found_diagnostics
        state = _BlockState(source, parser(), env, [])
        rules = parser().block.ruler.getRules("")
        blocks: list[tuple[list[Token], int]] = []
        line_number = state.skipEmptyLines(0)
        end_line_number = token_count = 0
        while line_number < state.lineMax:
            definition_counts = len(env["references"]), len(self._footnotes["refs"])
            state.tokens, state.line = [], line_number
            is_too_large = False
            try:
                any(rule(state, line_number, state.lineMax, False) for rule in rules)
            except BlockTooLarge:
                is_too_large = True
            self._line_visits = window.line_visits
            next_line = state.skipEmptyLines(state.line)
            token_count += count_tokens(state.tokens)
            if (
                is_too_large
                or (blocks and token_count > MAX_BLOCK_TOKENS // 4)
                or (end < len(self._source) and (window.is_incomplete or next_line >= state.lineMax))
            ):
                for definitions, count in zip(
                    (env["references"], self._footnotes["refs"]), definition_counts, strict=True
                ):
                    while len(definitions) > count:
                        definitions.popitem()
                if is_too_large and not blocks:
                    raise BlockTooLarge
                break
            line_number = end_line_number = next_line
            for token in state.tokens:
                if token.map:
                    token.map = [token.map[0] + first_line, token.map[1] + first_line]
            blocks.append((state.tokens, start + min(len(source), state.eMarks[state.line - 1])))
        else:
            end_line_number = state.lineMax
        diagnostics += [
            diagnostic._replace(line=diagnostic.line + first_line)
            for diagnostic in found_diagnostics
            if diagnostic.line < end_line_number
        ]
        if end_line_number >= state.lineMax:
            return blocks, len(source), source.count("\n")
        return blocks, state.bMarks[end_line_number] if blocks else 0, end_line_number

    def _formula_ends_in(self, start: int, end: int) -> list[int]:
        """Return where formulas end, from `start` to the first end at or after `end`, as offsets from `start`."""
        low, high = bisect_left(self._formula_ends, start), bisect_left(self._formula_ends, end)
        return [position - start for position in self._formula_ends[low : high + 1]]

    def _take_footnotes(self, tokens: list[Token]) -> list[Token]:
        """Move footnote definitions to `_notes`, for the end of the page. Return the other tokens."""
        if not any(token.type == "footnote_reference_open" for token in tokens):
            return tokens
        remaining_tokens: list[Token] = []
        open_notes: list[list[Token]] = []
        open_labels: list[str] = []
        for token in tokens:
            if token.type == "footnote_reference_open":
                open_labels.append(token.meta["label"])
                if open_labels[-1] in open_labels[:-1]:
                    # A definition inside a definition with the same label is read as text of the outer definition.
                    continue
                open_notes.append([])
            elif token.type == "footnote_reference_close":
                if open_labels.pop() in open_labels:
                    continue
                self._notes += [*open_notes.pop(), token]
                continue
            (open_notes[-1] if open_notes else remaining_tokens).append(token)
        return remaining_tokens


def _find_definitions(source: str) -> Iterator[tuple[str, int]]:
    if "]:" not in source:
        return
    for match in _LABEL_OR_ESCAPE.finditer(source):
        if match[2] and _DEFINITION_PREFIX.search(source[max(0, match.start() - _LOOKBACK) : match.start()]):
            yield _normalized_label(match[1]), match.end()


def _normalized_label(label: str) -> str:
    """Return a link label in the form in which markdown-it stores labels."""
    return normalizeReference(_LINE_START.sub(" ", label))


class _Markdown(MarkdownIt):
    """A Markdown parser that leaves URLs as they are."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


@cache
def parser() -> MarkdownIt:
    """Return the Markdown parser with all rules of the platform. The rules need an `env` made by `TokenStream`."""
    markdown = _Markdown("commonmark", {"html": True, "maxNesting": MAX_BLOCK_DEPTH + 4})
    markdown.enable(["table", "strikethrough"])
    markdown.use(footnote_plugin, inline=False)
    markdown.block.ruler.at("table", table_rule, {"alt": ["paragraph", "reference"]})
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    markdown.block.ruler.before("table", "too_deep", depth_rule)
    markdown.block.ruler.before("table", "platform_tag", block_tag_rule, interrupts)
    markdown.block.ruler.before("fence", "platform_math", block_math_rule, interrupts)
    markdown.block.ruler.at("fence", fence_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    markdown.block.ruler.at("heading", heading_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.block.ruler.at("list", list_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.block.ruler.at("html_block", html_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.inline.ruler.before("escape", "platform_math", markdown_rules.inline_math_rule)
    markdown.inline.ruler.before("escape", "platform_tag", markdown_rules.inline_tag_rule)
    markdown.inline.ruler.before("escape", "entity_of_nothing", markdown_rules.nan_entity_rule)
    markdown.inline.ruler.before("escape", "line_break", markdown_rules.line_break_rule)
    markdown.inline.ruler.before("html_inline", "placeholder", markdown_rules.placeholder_rule)
    markdown.inline.ruler.after("html_inline", "loose_element", markdown_rules.loose_element_rule)
    markdown.inline.ruler.before("link", "many_brackets", markdown_rules.many_brackets_rule)
    markdown.inline.ruler.before("link", "mention_in_link", markdown_rules.mention_in_link_rule)
    markdown.inline.ruler.after("image", "spaced_image", markdown_rules.spaced_image_rule)
    markdown.inline.ruler2.before("balance_pairs", "marked_as_written", markdown_rules.pair_delimiters)
    markdown.inline.ruler2.before("fragments_join", "empty_marks", markdown_rules.drop_empty_marks)
    return markdown


def _join_definitions(tokens: list[Token]) -> list[Token]:
    """Return `tokens` with the definitions of each footnote joined. markdown-it would keep only the last definition."""
    definitions: dict[str, list[Token]] = {}
    for token in tokens:
        if token.type == "footnote_reference_open":
            tokens_of_note = definitions.setdefault(token.meta["label"], [token])
        elif token.type != "footnote_reference_close":
            tokens_of_note.append(token)
    closing = Token("footnote_reference_close", "", -1)
    return [token for definition in definitions.values() for token in (*definition, closing)]


def _append_footnotes(state: StateCore) -> None:
    """Add all footnotes to the end of the page, even without a reference in Markdown: HTML may refer to them."""
    footnotes = state.env["footnotes"]
    for name, number in list(footnotes["refs"].items()):
        if number < 0:
            footnotes["refs"][name] = len(footnotes["list"])
            footnotes["list"][len(footnotes["list"])] = {"label": name[1:], "count": 0}
    footnote_tail(state)
