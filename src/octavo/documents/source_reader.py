"""Reads the Markdown of a page in linear time. Start reading at `parse`. Conflict markers become blocks:

<<<<<<< main
text on main
=======
text in the change request
>>>>>>> #12
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.api.safety import safe_json
from octavo.documents import front_matter
from octavo.documents.blocks import (
    FENCE_ESCAPE,
    MAX_PAGE_LENGTH,
    MAX_PAGE_LINES,
    NO_ATTRS,
    SLICE_LENGTH,
    Block,
    Diagnostic,
    Document,
    DraftBlock,
    max_page_tokens,
    sanitize,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

_NOT_IN_NAME = re.compile(r'["\\{%}]')
_RELEASE_SIZE = 500
_NOT_BLANK = re.compile(r"[^\n]")
_FENCE_IN_CODE = re.compile(r"^([ \t>]*)\u200b+(?=```|~~~)", re.MULTILINE)
"""Zero-width spaces that editors write before a fence inside code."""
FENCED = re.compile(
    r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,20}(?P<fence>```+(?=[^`\n]*$)|~~~+)[^\n]*\n[\s\S]*?"
    r"(?:^[ \t>]{0,20}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE,
)
"""Fenced code, also as the first block of a list item or quote."""
_LONE_SIGN = re.compile(
    r"^(?P<indent>[ \t>]*)(?P<sign>[-*+]|\d{1,9}[.)])(?=[ \t]*\n[ \t>]*\n(?P=indent) {4}\S)", re.MULTILINE
)
"""The sign of a list item whose content follows a blank line, as the platform writes an item with only an image."""
_CODE_OR_LONE_SIGN = re.compile(f"{FENCED.pattern}|{_LONE_SIGN.pattern}", re.MULTILINE)
_BOLD_SPACE = re.compile(r"(?<!\S\*\*)(?<=\*\*)\u200b+(?=[ \t])")
"""Zero-width spaces between `**` and a space, so that `**` can open bold text."""


def parse(markdown: str) -> Document:
    """Parse a page. Errors in the source are repaired, and listed in `Document.diagnostics`."""
    page_parse = IncrementalParse(markdown)
    for _ in page_parse.read():
        pass
    return page_parse.document


class IncrementalParse:
    """Parses a page block by block. A block does not change anymore after it was yielded."""

    def __init__(self, markdown: str, slice_length: int = SLICE_LENGTH) -> None:
        """Prepare to parse `markdown` in steps of about `slice_length` characters."""
        from octavo.documents.block_finalizer import BlockFinalizer  # lazy: loads markdown-it (30 ms)

        self.source = ""
        """The sanitized source. Complete before the first block is yielded."""
        self._markdown = markdown
        self.blocks: list[Block] = []
        """The blocks parsed so far."""
        self.is_done = False
        """True if the whole page is parsed."""
        self._diagnostics: list[Diagnostic] = []
        self._finalizer = BlockFinalizer()
        self._heading_count = 0
        self._yaml = ""
        self._metadata: Mapping[str, Any] = NO_ATTRS
        self._document: Document | None = None
        self._slice_length = slice_length

    def read(self) -> Iterator[Block]:
        """Parse the page, and yield each block when it is finished."""
        for blocks in self._read():
            for block in blocks:
                self.blocks.append(block)
                yield block
        self.is_done = True

    @property
    def document(self) -> Document:
        """The page with the blocks parsed so far."""
        if self._document is not None:
            return self._document
        headings = tuple(self._finalizer.headings[: None if self.is_done else self._heading_count])
        metadata = self._metadata
        title = metadata.get("title") if isinstance(metadata.get("title"), str) else None
        title = title or next((heading.title for heading in headings if heading.level == 1), "")
        diagnostics = tuple(sorted(self._diagnostics, key=lambda diagnostic: diagnostic.line))
        document = Document(title, tuple(self.blocks), self.source, diagnostics, headings, self._yaml, metadata)
        if self.is_done:
            self._document = document
        return document

    def _read(self) -> Iterator[list[Block]]:
        from octavo.documents.token_stream import ClosedTags, TokenStream  # lazy: loads markdown-it (30 ms)
        from octavo.documents.tree_builder import Builder

        markdown = self._markdown
        if "\u200b" in markdown:
            markdown = _BOLD_SPACE.sub("\u200c", _FENCE_IN_CODE.sub(rf"\1{FENCE_ESCAPE}", markdown))
        escaped = sanitize(markdown)
        self.source = source = escaped.replace(FENCE_ESCAPE, "")
        self._markdown = markdown = ""
        if len(source) > MAX_PAGE_LENGTH or source.count("\n") > MAX_PAGE_LINES:
            self._document = _as_source(source)
            yield [*self._document.blocks]
            return
        self._yaml, start = front_matter.split_page(escaped)
        try:
            self._metadata = safe_json(front_matter.parse(self._yaml))
        except front_matter.FrontMatterError as error:
            yield self._finalizer.finalize([self._front_matter_as_code(str(error))])
        body = "\n" * escaped.count("\n", 0, start) + escaped[start:] if start else escaped
        body = _with_conflict_tags(body)
        if _LONE_SIGN.search(body):
            # Without something after the sign, the content of the item would be code after an empty item.
            body = _CODE_OR_LONE_SIGN.sub(lambda found: f"{found[0]} <!---->" if found["sign"] else found[0], body)
        stream, closed_tags, diagnostics = (
            TokenStream(body, self._slice_length, max_page_tokens(len(source))),
            ClosedTags(body),
            self._diagnostics,
        )
        stream.diagnostics = diagnostics
        builder = Builder(diagnostics, closed_tags)
        waiting_tokens: deque[tuple[int, list[Token]]] = deque()
        token_count = 0
        for top_level_block in stream.blocks():
            closed_tags.add(top_level_block.tokens)
            waiting_tokens.append((token_count, top_level_block.tokens))
            token_count += len(top_level_block.tokens)
            first_open_index = closed_tags.first_open_tag_index(top_level_block.end)
            while waiting_tokens and (
                first_open_index is None or waiting_tokens[0][0] + len(waiting_tokens[0][1]) <= first_open_index
            ):
                tokens = waiting_tokens.popleft()[1]
                builder.add(tokens)
                _release(tokens)
                blocks = self._finalizer.finalize(builder.tree.take_finished())
                self._heading_count = len(self._finalizer.headings)
                yield blocks
        for _, tokens in waiting_tokens:
            builder.add(tokens)
            _release(tokens)
        last = source.count("\n") + 1
        drafts = builder.tree.finish(last).children
        if rest_start := _NOT_BLANK.search(body, stream.parsed_to):
            first = body.count("\n", 0, rest_start.start())
            source_rest = source.split("\n", first)[first].rstrip("\n")
            diagnostics.append(
                Diagnostic(first, "The rest of the page is too large to format, so it is shown as source.")
            )
            attrs = {"language": "markdown", "source": True}
            drafts = [*drafts, DraftBlock("code", attrs, text=source_rest, first_line=first, end_line=last)]
        yield self._finalizer.finalize(drafts)

    def _front_matter_as_code(self, reason: str) -> DraftBlock:
        """Report that the front matter is invalid, and return it as a code block."""
        message = f"Could not read the front matter: {reason}."
        self._diagnostics.append(Diagnostic(0, message))
        attrs = {"language": "yaml", "title": message}
        return DraftBlock("code", attrs, text=self._yaml.removesuffix("\n"), end_line=self._yaml.count("\n") + 2)


def _release(tokens: list[Token]) -> None:
    """Empty a list of tokens in small steps, because freeing all of them at once would block other threads."""
    while tokens:
        del tokens[-_RELEASE_SIZE:]


def _as_source(source: str) -> Document:
    block = Block(
        "code", {"language": "markdown", "source": True}, text=source, lines=(0, source.count("\n") + 1), key="source"
    )
    return Document(
        "", (block,), source, (Diagnostic(0, "This page is too large to format, so it is shown as source."),)
    )


def _with_conflict_tags(body: str) -> str:
    """Return a page body with internal tags in place of conflict markers outside code, on the same lines."""
    if "<<<<<<< " not in body:
        return body
    from octavo.documents.source_blocks import find_fences  # lazy: few pages have conflict markers

    lines = body.split("\n")
    code_lines = {number for first, last in find_fences(lines).items() for number in range(first, last)}
    for conflict in find_markers(body):
        if conflict.first in code_lines and conflict.last in code_lines:
            continue
        ours, theirs = (_NOT_IN_NAME.sub("", name) for name in (conflict.ours, conflict.theirs))
        lines[conflict.first] = f'{{% conflict %}}{{% conflict-side name="{ours}" %}}'
        lines[conflict.middle] = f'{{% endconflict-side %}}{{% conflict-side name="{theirs}" %}}'
        lines[conflict.last] = "{% endconflict-side %}{% endconflict %}"
    return "\n".join(lines)


_FIRST_MARKER = re.compile(r"<<<<<<< (.{1,200}?)[ \t\r]*$")
_MIDDLE_MARKER = re.compile(r"=======[ \t\r]*$")
_LAST_MARKER = re.compile(r">>>>>>> (.{1,200}?)[ \t\r]*$")


class ConflictMarkers(NamedTuple):
    """The line numbers of the three markers of a conflict, counted from 0, and the names of both sides."""

    first: int
    middle: int
    last: int
    ours: str
    theirs: str


def find_markers(text: str) -> list[ConflictMarkers]:
    """Return the conflicts between conflict markers in a text, in order. Incomplete sets of markers are ignored."""
    if "<<<<<<< " not in text:
        return []
    conflicts: list[ConflictMarkers] = []
    first_marker: tuple[int, str] | None = None
    middle: int | None = None
    for number, line in enumerate(text.split("\n")):
        if first_match := _FIRST_MARKER.match(line):
            first_marker, middle = (number, first_match[1]), None
        elif first_marker and middle is None and _MIDDLE_MARKER.match(line):
            middle = number
        elif first_marker and middle is not None and (last_match := _LAST_MARKER.match(line)):
            conflicts.append(ConflictMarkers(first_marker[0], middle, number, first_marker[1], last_match[1]))
            first_marker = middle = None
    return conflicts
