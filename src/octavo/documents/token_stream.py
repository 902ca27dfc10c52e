"""Which tags have an end of their own, as far as that is known while a page is read."""

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

from octavo.documents import block_rules, inline_rules
from octavo.documents.blocks import Diagnostic
from octavo.documents.html import Placeholders, TextFinder
from octavo.documents.inline_rules import scan_next_to_cjk
from octavo.documents.limits import MAX_BLOCK_PARTS, MAX_LINE_VISITS, BlockTooLarge, count_parts, has_too_many_marks
from octavo.documents.tag_blocks import ALWAYS_OPEN
from octavo.documents.tags import Tag, TagScanner

_MAX_DISTANCE = 60
"""A tag that may go without an end is taken to have one only if it comes within so many tokens."""

_OPTIONAL_END = frozenset({"embed", "file", "content-ref", "page-ref"})
_END = re.compile(r"\{%-?[ \t\n]*end(@?[A-Za-z][\w@./:-]*)")


class ClosedTags:
    """The tags of one source that are closed, found in order."""

    def __init__(self, source: str) -> None:
        self._last: dict[str, int] = {}
        for match in _END.finditer(source) if "{%" in source else ():
            self._last[match[1]] = match.start()
        self._closed: dict[int, Tag] = {}
        self._open: dict[str, list[tuple[int, Tag]]] = {}
        self._count = 0

    def has(self, tag: Tag) -> bool:
        """Whether a tag has an end."""
        return id(tag) in self._closed

    def add(self, tokens: Sequence[Token]) -> None:
        """Look for tags in what comes next."""
        for index, token in enumerate(tokens, self._count):
            for each in token.children or () if token.type == "inline" else (token,):
                if each.type == "platform_tag":
                    self._see(each.meta["tag"], index)
        self._count += len(tokens)

    def _see(self, tag: Tag, index: int) -> None:
        if not tag.closes:
            if tag.name not in ALWAYS_OPEN:
                self._open.setdefault(tag.name, []).append((index, tag))
        elif opened := self._open.get(tag.closes):
            begun, closed = opened.pop()
            if index - begun <= _MAX_DISTANCE or tag.closes not in _OPTIONAL_END:
                self._closed[id(closed)] = closed

    def first_open(self, position: int) -> int | None:
        """The number of the first token with a tag that may still be closed by what comes after `position`."""
        waiting: list[int] = []
        for name, opened in self._open.items():
            if opened and self._last.get(name, -1) >= position:
                if name not in _OPTIONAL_END:
                    waiting.append(opened[0][0])
                else:
                    near = takewhile(
                        lambda index: self._count - index <= _MAX_DISTANCE, (index for index, _ in reversed(opened))
                    )
                    waiting += list(near)[-1:]
        return min(waiting, default=None)


SLICE_LENGTH = 3000
"""Characters read at a time. A block that goes on beyond them is read again, with as much again."""

FENCE_ESCAPE = "\U0010f7e5"
"""Stands in a source before a fence that begins and ends nothing. What is read has none."""

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_FORMULA_END = re.compile(r"\$\$[ \t]*$", re.MULTILINE)
_DEFINITION = re.compile(r"\\.|\[((?:[^\[\]\\]++|\\.)++)\](:?)")
"""What is behind a backslash comes first: it begins nothing. To look from each of a thousand such brackets for the end of a
label that has none takes for ever."""
_DEFINITION_PREFIX = re.compile(r"(?:^|\n)[ \t>*+\-\d.)]*$")
_LOOKBACK = 100
"""Characters before a definition that are looked at: what goes on further may stand before one."""
_LABEL = re.compile(r"\\.|\[((?:[^\[\]\\]++|\\.)++)\]")
_LINE_START = re.compile(r"\n[ \t>]*")


class TopLevelBlock(NamedTuple):
    """The tokens of one block of the top level, and where it ends in the source."""

    tokens: list[Token]
    end: int


class _Window:
    """A stretch of the source, as the rules of the parser see it. They look for ends in all of the source, so that
    what they find is what they would have found reading the whole."""

    def __init__(
        self, tags: TagScanner, finder: TextFinder, start: int, length: int, source_length: int, looks: int
    ) -> None:
        self.tags, self.finder = tags, finder
        self.start, self.length, self.source_length = start, length, source_length
        self.looks = looks
        """How often lines may still be looked at."""
        self.is_short = False
        """Whether something goes on beyond the window: what was read of it is wrong."""

    def look(self) -> None:
        """Count a look at a line."""
        self.looks -= 1
        if self.looks < 0:
            raise BlockTooLarge

    def at(self, position: int) -> Tag | None:
        """As `TagScanner.at`."""
        tag = self.tags.at(self.start + position)
        return None if tag is None else tag._replace(end=self._here(tag.end))

    def after(self, sought: str, position: int) -> int:
        """As `Finder.after`."""
        return self._found(self.finder.after(sought, self.start + position))

    def end_of(self, name: str, start: int) -> tuple[int, int]:
        """As `Finder.end_of`."""
        inner, outer = self.finder.end_of(name, self.start + start)
        return self._found(inner), self._found(outer)

    def _found(self, place: int) -> int:
        return self.length if place == self.source_length else self._here(place)

    def _here(self, place: int) -> int:
        self.is_short = self.is_short or place >= self.start + self.length
        return min(place - self.start, self.length)


class _BlockState(StateBlock):
    """The block parser at work, as long as a block has no more parts than are laid out."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Add a token."""
        if len(self.tokens) >= MAX_BLOCK_PARTS:
            raise BlockTooLarge
        return super().push(ttype, tag, nesting)


class _InlineState(StateInline):
    """The parser of words at work."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """What marks at a place may do."""
        scanned = super().scanDelims(start, canSplitWord)
        if not canSplitWord or (scanned.can_open and scanned.can_close):
            return scanned
        return scan_next_to_cjk(self, start, scanned)


class _FootnoteDefinitions(dict[str, Any]):
    """What is defined once stays as it is: a stretch may be read twice."""

    def __setitem__(self, name: str, value: Any) -> None:
        if value != -1 or name not in self:
            super().__setitem__(name, value)


class TokenStream:
    """The blocks of a source, in order (`blocks`, to be gone through to the end)."""

    def __init__(self, source: str, stretch: int, most: int) -> None:
        """`most`: about how many parts are read."""
        self._source, self._stretch, self._most = source, stretch, most
        self._looks = max(MAX_LINE_VISITS, len(source) // 10)
        self.diagnostics: list[Diagnostic] = []
        self.rest = len(source)
        """Where the page goes on that is too much to be laid out. Known at the end."""
        self._tags, self._finder = TagScanner(source), TextFinder(source)
        self._formula_ends = [match.start() for match in _FORMULA_END.finditer(source)] if "$$" in source else []
        self._footnotes: dict[str, Any] = {"refs": _FootnoteDefinitions(), "list": {}}
        self._env: dict[str, Any] = {
            "references": {},
            "footnotes": self._footnotes,
            "placeholders": Placeholders(source),
        }
        self._notes: list[Token] = []
        self._definitions = dict(_definitions(source))
        """Where the last of what looks like a definition of each name ends."""

    def blocks(self) -> Iterator[TopLevelBlock]:
        """The blocks."""
        at = line = taken = 0
        while at < len(self._source) and taken < self._most:
            try:
                blocks, end, end_line = self._stretch_from(at, line, self.diagnostics)
            except BlockTooLarge:
                break
            if self._definitions and any(self._is_told_after(end, token) for tokens, _ in blocks for token in tokens):
                self._read_definitions(end, end_line)
            for tokens, block_end in blocks:
                for token in tokens:
                    token.content = token.content.replace(FENCE_ESCAPE, "")
                    if token.type == "inline":
                        self._read_words(token)
                        taken += count_parts(token.children or ())
                        text_join(StateCore("", parser(), self._env, [token]))
                taken += count_parts(tokens)
                if kept := self._without_notes(tokens):
                    yield TopLevelBlock(kept, block_end)
            at, line = end, end_line
        self.rest = min(at, len(self._source))
        if self._notes or self._footnotes["list"]:
            state = StateCore("", parser(), self._env, self._notes)
            append_footnotes(state)
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
            state = _InlineState(token.content, parser(), self._env, token.children)
            parser().inline.tokenize(state)
            for rule in parser().inline.ruler2.getRules(""):
                rule(state)

    def _is_told_after(self, end: int, token: Token) -> bool:
        """Whether what words of `token` lead to may be said after a place in the source."""
        labels = _LABEL.findall(token.content) if "[" in token.content else ()
        return any(self._definitions.get(_normalized_label(label), -1) > end for label in labels if label)

    def _read_definitions(self, at: int, line: int) -> None:
        """Read on for what is defined further down."""
        taken, last = 0, max(self._definitions.values())
        while at < last and taken < self._most // 2:
            try:
                blocks, at, line = self._stretch_from(at, line, [])
            except BlockTooLarge:
                break
            taken += sum(count_parts(tokens) for tokens, _ in blocks)
        self._definitions.clear()

    def _stretch_from(
        self, at: int, line: int, diagnostics: list[Diagnostic]
    ) -> tuple[list[tuple[list[Token], int]], int, int]:
        """The blocks that begin at a position and line, each with its end, as many as are read at a time; where the
        next one begins."""
        size = self._stretch
        while True:
            blank = _BLANK_LINES.search(self._source, min(len(self._source), at + size))
            end = blank.end() if blank else len(self._source)
            blocks, length, lines = self._blocks(at, end, line, diagnostics)
            if length:
                return blocks, at + length, line + lines
            size = 2 * max(size, end - at)

    def _blocks(
        self, start: int, end: int, first: int, diagnostics: list[Diagnostic]
    ) -> tuple[list[tuple[list[Token], int]], int, int]:
        """The blocks in a stretch of the source that are whole in it, and how many characters and lines they take."""
        source, env = self._source[start:end], self._env
        window = _Window(self._tags, self._finder, start, len(source), len(self._source), self._looks)
        env |= {"tags": window, "finder": window, "window": window, "formula_ends": self._formulas_from(start, end)}
        said: list[Diagnostic] = []
        env["diagnostics"] = said
        state = _BlockState(source, parser(), env, [])
        rules = parser().block.ruler.getRules("")
        blocks: list[tuple[list[Token], int]] = []
        at = state.skipEmptyLines(0)
        done = taken = 0
        while at < state.lineMax:
            defined = len(env["references"]), len(self._footnotes["refs"])
            state.tokens, state.line = [], at
            is_too_much = False
            try:
                any(rule(state, at, state.lineMax, False) for rule in rules)
            except BlockTooLarge:
                is_too_much = True
            self._looks = window.looks
            following = state.skipEmptyLines(state.line)
            taken += count_parts(state.tokens)
            if (
                is_too_much
                or (blocks and taken > MAX_BLOCK_PARTS // 4)
                or (end < len(self._source) and (window.is_short or following >= state.lineMax))
            ):
                for known, count in zip((env["references"], self._footnotes["refs"]), defined, strict=True):
                    while len(known) > count:
                        known.popitem()
                if is_too_much and not blocks:
                    raise BlockTooLarge
                break
            at = done = following
            for token in state.tokens:
                if token.map:
                    token.map = [token.map[0] + first, token.map[1] + first]
            blocks.append((state.tokens, start + min(len(source), state.eMarks[state.line - 1])))
        else:
            done = state.lineMax
        diagnostics += [each._replace(line=each.line + first) for each in said if each.line < done]
        if done >= state.lineMax:
            return blocks, len(source), source.count("\n")
        return blocks, state.bMarks[done] if blocks else 0, done

    def _formulas_from(self, start: int, end: int) -> list[int]:
        """Where formulas may end in a stretch, and the first place after it."""
        low, high = bisect_left(self._formula_ends, start), bisect_left(self._formula_ends, end)
        return [place - start for place in self._formula_ends[low : high + 1]]

    def _without_notes(self, tokens: list[Token]) -> list[Token]:
        """The tokens without the definitions of footnotes, which are kept for the end: one that stands in another after
        all that is in it, for the plugin knows none within another."""
        if not any(token.type == "footnote_reference_open" for token in tokens):
            return tokens
        kept: list[Token] = []
        begun: list[list[Token]] = []
        within: list[str] = []
        for token in tokens:
            if token.type == "footnote_reference_open":
                within.append(token.meta["label"])
                if within[-1] in within[:-1]:
                    continue  # its words are more of the same
                begun.append([])
            elif token.type == "footnote_reference_close":
                if within.pop() in within:
                    continue
                self._notes += [*begun.pop(), token]
                continue
            (begun[-1] if begun else kept).append(token)
        return kept


def _definitions(source: str) -> Iterator[tuple[str, int]]:
    if "]:" not in source:
        return
    for match in _DEFINITION.finditer(source):
        if match[2] and _DEFINITION_PREFIX.search(source[max(0, match.start() - _LOOKBACK) : match.start()]):
            yield _normalized_label(match[1]), match.end()


def _normalized_label(label: str) -> str:
    """What a definition is known by. Its label may go over lines of a quote."""
    return normalizeReference(_LINE_START.sub(" ", label))


class _Markdown(MarkdownIt):
    """Addresses stay as they are written. Where a link may lead is decided when it is followed."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


@cache
def parser() -> MarkdownIt:
    """The parser. Its rules want what `chunks` puts into the environment."""
    markdown = _Markdown("commonmark", {"html": True, "maxNesting": block_rules.MAX_BLOCK_DEPTH + 4})
    markdown.enable(["table", "strikethrough"])
    markdown.use(footnote_plugin)
    markdown.block.ruler.at("table", block_rules.table_rule, {"alt": ["paragraph", "reference"]})
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    markdown.block.ruler.before("table", "too_deep", block_rules.depth_rule)
    markdown.block.ruler.before("table", "platform_tag", block_rules.tag_rule, interrupts)
    markdown.block.ruler.before("fence", "platform_math", block_rules.math_rule, interrupts)
    markdown.block.ruler.at("fence", block_rules.fence_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    markdown.block.ruler.at("html_block", block_rules.html_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.inline.ruler.before("escape", "platform_math", inline_rules.math_rule)
    markdown.inline.ruler.before("escape", "platform_tag", inline_rules.tag_rule)
    markdown.inline.ruler.before("escape", "entity_of_nothing", inline_rules.nan_entity_rule)
    markdown.inline.ruler.before("escape", "trailing_break", inline_rules.trailing_break_rule)
    markdown.inline.ruler.before("html_inline", "placeholder", inline_rules.placeholder_rule)
    markdown.inline.ruler.after("html_inline", "loose_element", inline_rules.loose_element_rule)
    markdown.inline.ruler.before("link", "many_brackets", inline_rules.many_brackets_rule)
    markdown.inline.ruler.before("link", "mention_in_link", inline_rules.mention_in_link_rule)
    markdown.inline.ruler2.before("balance_pairs", "marked_as_written", inline_rules.pair_delimiters)
    markdown.inline.ruler2.before("fragments_join", "bold_of_nothing", inline_rules.drop_empty_bold)
    return markdown


def append_footnotes(state: StateCore) -> None:
    """Make the definitions of footnotes a list of them. Those that only HTML refers to count as referred to: the plugin
    would drop them."""
    footnotes = state.env["footnotes"]
    for name, number in list(footnotes["refs"].items()):
        if number < 0:
            footnotes["refs"][name] = len(footnotes["list"])
            footnotes["list"][len(footnotes["list"])] = {"label": name[1:], "count": 0}
    footnote_tail(state)
