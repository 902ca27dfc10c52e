"""Reads the Markdown of a page in time linear in the length of the page. Start reading at `parse`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

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
    max_page_parts,
    sanitize,
)
from octavo.documents.source_blocks import FIELD, MARKER, ConflictMarkers, SourceBlock, cells, find_markers, row_ranges

if TYPE_CHECKING:
    from markdown_it.token import Token

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^\n]*)")
_TAG = re.compile(r"\s*\{%-?\s*(@?[A-Za-z][\w@./:-]*)")
_TAG_END = re.compile(r"-?%\}[ \t]*$")
_HTML = re.compile(r"\s*<(table|pre|figure|details)\b", re.I)
_HTML_TAG = re.compile(r"<(/?)(table|pre|figure|details)\b", re.I)
_BODY = re.compile(r"<tbody\b[^>]*>", re.I)
_DELIMITER = re.compile(r"[ \t]*(?=[^\n]*\|)\|?(?:[ \t]*:?-+:?[ \t]*(?:\||$))+[ \t]*")

_MAX_DEPTH = 40
"""Maximum nesting of blocks. Deeper blocks are read as paragraphs."""
_MAX_HEAD_LINES = 40
"""Maximum number of lines of a tag or of a summary."""


def read_page(text: str) -> SourceBlock:
    """Return a block of kind `page`. Its source is exactly `text`."""
    *complete, last = text.split("\n")
    lines = [line + "\n" for line in complete] + ([last] if last else [])
    opening, blocks, end = _Reader(lines).siblings(0, len(lines), 0)
    return SourceBlock("page", "", tuple(blocks), opening, end)


class _Reader:
    """Reads the lines of a page, which include their line breaks, into source blocks."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._fences = _fences(lines)
        self._closings = _closings(lines, self._fences)

    def siblings(self, start: int, stop: int, depth: int) -> tuple[str, list[SourceBlock], str]:
        """Return the white space before the first block, the blocks, and the white space after the last block."""
        at = self._skip_blank(start, stop)
        opening, blocks = "".join(self._lines[start:at]), []
        while at < stop:
            block, end = self._block(at, stop, depth)
            after = self._skip_blank(end, stop)
            newline = "\n" if self._lines[end - 1].endswith("\n") else ""
            blocks.append(replace(block, gap=newline + "".join(self._lines[end:after])))
            at = after
        if not blocks:
            return opening, [], ""
        last = blocks.pop()
        return opening, [*blocks, replace(last, gap=None)], last.gap or ""

    def _skip_blank(self, at: int, stop: int) -> int:
        while at < stop and not self._lines[at].strip():
            at += 1
        return at

    def _text(self, start: int, stop: int) -> str:
        return "".join(self._lines[start:stop]).removesuffix("\n")

    def _block(self, at: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        """Return the block that begins on a line, and the number of the line after the block."""
        line = self._lines[at]
        if at == 0 and line.rstrip() == "---" and (end := self._end_of_front_matter()):
            return self._front_matter(end), end + 1
        if depth > _MAX_DEPTH:
            return self._paragraph(at, stop, depth)
        if _fence(line):
            end = self._fences.get(at, stop)
            return (self._fenced_block("code", at, end), end + 1) if end < stop else (self._literal(at, stop), stop)
        if line.strip() == "$$":
            end = at + 1
            while end < stop and not self._lines[end].rstrip().endswith("$$"):
                end += 1
            return self._literal(at, min(end + 1, stop)), min(end + 1, stop)
        if _TAG.match(line):
            return self._tag(at, stop, depth)
        if found := _HTML.match(line):
            return self._html(at, stop, depth, found[1].lower())
        if _HEADING.match(line):
            return SourceBlock("heading", self._text(at, at + 1)), at + 1
        if _RULE.match(line):
            return SourceBlock("literal", self._text(at, at + 1)), at + 1
        if MARKER.match(line):
            return self._list(at, stop, depth)
        if at + 1 < stop and "|" in line and _DELIMITER.fullmatch(self._lines[at + 1].rstrip("\n")):
            return self._table(at, stop)
        return self._paragraph(at, stop, depth)

    def _end_of_front_matter(self) -> int:
        return next((at for at, line in enumerate(self._lines) if at and line.rstrip() == "---"), 0)

    def _front_matter(self, end: int) -> SourceBlock:
        starts = [at for at in range(1, end) if at == 1 or FIELD.match(self._lines[at])]
        fields = [self._field(at, after) for at, after in pairwise([*starts, end])]
        inner = (*(replace(fence_closers, gap="\n") for fence_closers in fields[:-1]), *fields[-1:])
        return SourceBlock("front", self._text(0, 1), inner, "\n", "\n" if inner else "", self._text(end, end + 1))

    def _field(self, at: int, end: int) -> SourceBlock:
        lines = _joined_lines(self._lines[at + 1 : end])
        return SourceBlock("field", self._text(at, at + 1), lines or None, "\n" if lines else "")

    def _begins_block(self, line: str) -> bool:
        """Return whether a line begins a block even without a blank line before it."""
        if marker := MARKER.match(line):
            return not marker[2][0].isdigit() or marker[2][:-1] == "1"
        return bool(_HEADING.match(line) or _TAG.match(line) or _HTML.match(line) or _fence(line))

    def _literal(self, start: int, stop: int) -> SourceBlock:
        return SourceBlock("literal", self._text(start, stop))

    def _paragraph(self, at: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        first, end = self._lines[at], at + 1
        while end < stop and self._lines[end].strip() and not self._begins_block(self._lines[end]):
            end += 1
            if _UNDERLINE.match(self._lines[end - 1]) and not first.lstrip().startswith((">", "|", "<")):
                return SourceBlock("heading", self._text(at, end)), end
        stripped = first.lstrip()
        if depth == 0 and first.startswith(("    ", "\t")) and at > 0 and not self._lines[at - 1].strip():
            lines = _joined_lines(self._lines[at:end])
            return SourceBlock("code", "", lines), end
        kind = "quote" if stripped.startswith(">") else "literal" if stripped.startswith("<") else "paragraph"
        return SourceBlock(kind, self._text(at, end)), end

    def _fenced_block(self, kind: str, at: int, end: int) -> SourceBlock:
        inner = _joined_lines(self._lines[at + 1 : end])
        head, tail = self._text(at, at + 1), self._text(end, end + 1)
        return SourceBlock(kind, head, inner, "\n", "\n" if inner else "", tail)

    def _container(self, at: int, first: int, last: int, depth: int) -> SourceBlock:
        opening, children, end = self.siblings(first, last, depth + 1)
        return SourceBlock(
            "container", self._text(at, first), tuple(children), "\n" + opening, end, self._text(last, last + 1)
        )

    def _tag(self, at: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        first = at
        while first < min(stop, at + _MAX_HEAD_LINES) and not _TAG_END.search(self._lines[first]):
            first += 1
        if first >= min(stop, at + _MAX_HEAD_LINES) or (first == at and self._lines[at].count("{%") > 1):
            return self._paragraph(at, stop, depth)
        last = self._closings.get(at)
        if last is None or not first < last < stop:
            return SourceBlock("tag", self._text(at, first + 1)), first + 1
        return self._container(at, first + 1, last, depth), last + 1

    def _html(self, at: int, stop: int, depth: int, name: str) -> tuple[SourceBlock, int]:
        last = self._closings.get(at)
        if last is None or last >= stop:
            return self._paragraph(at, stop, depth)
        if name == "details" and last > at and self._lines[last].strip().lower() == "</details>":
            first = next(
                (n for n in range(at, min(last, at + _MAX_HEAD_LINES)) if "</summary>" in self._lines[n].lower()), at
            )
            if first < last:
                return self._container(at, first + 1, last, depth), last + 1
        if name == "table":
            return _html_table(self._text(at, last + 1)), last + 1
        return self._literal(at, last + 1), last + 1

    def _table(self, at: int, stop: int) -> tuple[SourceBlock, int]:
        end = at + 2
        while end < stop and "|" in self._lines[end] and not self._begins_block(self._lines[end]):
            end += 1
        rows = _joined_lines(self._lines[at + 2 : end], "row")
        return SourceBlock("table", self._text(at, at + 2), rows, "\n" if rows else ""), end

    def _list(self, at: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        items: list[SourceBlock] = []
        first = MARKER.match(self._lines[at])
        end = at
        while at < stop and first is not None:
            found = MARKER.match(self._lines[at])
            is_next = found and len(found[1]) == len(first[1]) and found[2][-1] == first[2][-1]
            if not is_next or (items and _RULE.match(self._lines[at])):
                break
            item, end = self._item(at, stop, depth)
            at = self._skip_blank(end, stop)
            newline = "\n" if self._lines[end - 1].endswith("\n") else ""
            items.append(replace(item, gap=newline + "".join(self._lines[end:at])))
        items[-1] = replace(items[-1], gap=None)
        return SourceBlock("list", "", tuple(items)), end

    def _item(self, at: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        """Read an item with all lines that are indented more than its marker."""
        indent = _indent(self._lines[at])
        head = self._fences[at] + 1 if at in self._fences else at + 1
        head = min(head, stop)
        while head < stop and self._lines[head].strip():
            if MARKER.match(self._lines[head]) or self._begins_block(self._lines[head]):
                break
            head += 1
        last = head
        while last < stop:
            if self._lines[last].strip() and _indent(self._lines[last]) <= indent:
                break
            last = min(self._fences[last] + 1, stop) if last in self._fences else last + 1
        while last > head and not self._lines[last - 1].strip():
            last -= 1
        opening, children, _ = self.siblings(head, last, depth + 1)
        return SourceBlock("item", self._text(at, head), tuple(children), "\n" + opening if children else ""), last


def _joined_lines(lines: list[str], kind: str = "line") -> tuple[SourceBlock, ...]:
    blocks = [SourceBlock(kind, line.removesuffix("\n"), gap="\n") for line in lines]
    return (*blocks[:-1], *(replace(block, gap=None) for block in blocks[-1:]))


def _html_table(text: str) -> SourceBlock:
    """Return an HTML table divided into rows. A table with a nested table or with text between its rows is not
    divided."""
    body = _BODY.search(text)
    start = body.end() if body else 0
    rows = row_ranges(text, start)
    if not rows or text.lower().count("<table") > 1:
        return SourceBlock("literal", text)
    ends = [start, *(end for _, end in rows)]
    between = [text[end:begin] for end, (begin, _) in zip(ends, rows, strict=False)]
    if not body:
        between[0] = ""
        start = rows[0][0]
    if any(fence_closers.strip() for fence_closers in between) or not all(
        cells(text[begin:end]) for begin, end in rows
    ):
        return SourceBlock("literal", text)
    gaps = [*between[1:], None]
    row_blocks = tuple(
        SourceBlock("row", text[begin:end], gap=gap) for (begin, end), gap in zip(rows, gaps, strict=True)
    )
    return SourceBlock("table", text[:start], row_blocks, between[0], "", text[rows[-1][1] :])


def _fence(line: str) -> re.Match[str] | None:
    """Return a match for the code fence that opens on a line: group 1 is the fence, group 2 the text after it. None if
    no fence opens."""
    found = _FENCE.match(line)
    return found if found and (found[1][0] == "~" or "`" not in found[2]) else None


def _fences(lines: list[str]) -> dict[int, int]:
    """Return the closing line of each fence by its opening line. Unclosed fences are left out."""
    closers: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}
    for number, line in enumerate(lines):
        if (stripped := line.strip()) and stripped[0] in closers and stripped == stripped[0] * len(stripped):
            closers[stripped[0]].append((number, len(stripped)))
    found: dict[int, int] = {}
    at = 0
    while at < len(lines):
        marker = MARKER.match(lines[at])
        if fence := _fence(lines[at][marker.end() :] if marker else lines[at]):
            fence_closers = closers[fence[1][0]]
            after = (
                fence_closers[place] for place in range(bisect_left(fence_closers, (at + 1, 0)), len(fence_closers))
            )
            if (last := next((number for number, length in after if length >= len(fence[1])), None)) is not None:
                found[at] = at = last
        at += 1
    return found


def _closings(lines: list[str], fences: dict[int, int]) -> dict[int, int]:
    """Return the closing line of each platform tag or HTML element by its opening line."""
    found: dict[int, int] = {}
    open_lines: dict[str, list[int]] = {}
    at = 0
    while at < len(lines):
        if at in fences:
            at = fences[at] + 1
            continue
        line = lines[at]
        if tag := _TAG.match(line):
            name = tag[1]
            if not name.startswith("end"):
                open_lines.setdefault("%" + name, []).append(at)
            elif open_lines.get("%" + name[3:]):
                found[open_lines["%" + name[3:]].pop()] = at
        elif "<" in line:
            for fence_closers in _HTML_TAG.finditer(line):
                name = fence_closers[2].lower()
                if not fence_closers[1]:
                    open_lines.setdefault(name, []).append(at)
                elif open_lines.get(name):
                    found[open_lines[name].pop()] = at
        at += 1
    return found


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


_NOT_IN_NAME = re.compile(r'["\\{%}]')
_RELEASE_SIZE = 500
_NOT_BLANK = re.compile(r"[^\n]")
_FENCE_IN_CODE = re.compile(r"^([ \t>]*)\u200b+(?=```|~~~)", re.MULTILINE)
"""A fence after a zero-width space. Editors write it if a fence is part of the code."""


def parse(markdown: str) -> Document:
    """Parse a page. Errors in the source are repaired, and listed in `Document.diagnostics`."""
    reading = IncrementalParse(markdown)
    for _ in reading.read():
        pass
    return reading.document


class IncrementalParse:
    """A page that is parsed block by block. A finished block never changes."""

    def __init__(self, markdown: str, slice_length: int = SLICE_LENGTH) -> None:
        """Prepare to parse `markdown` in steps of about `slice_length` characters."""
        from octavo.documents.block_finalizer import BlockFinalizer  # lazy: markdown-it, 30 ms

        self.source = ""
        """The sanitized source. It is set before the first block is yielded."""
        self._markdown = markdown
        self.blocks: list[Block] = []
        """The blocks parsed so far."""
        self.is_done = False
        """True if the whole page is parsed."""
        self._diagnostics: list[Diagnostic] = []
        self._finalizer = BlockFinalizer()
        self._headings = 0
        """The number of headings in the blocks parsed so far."""
        self._yaml = ""
        self._metadata: Mapping[str, Any] = NO_ATTRS
        self._document: Document | None = None
        self._slice_length = slice_length

    def read(self) -> Iterator[Block]:
        """Parse the page, and yield each block when it is finished."""
        for some in self._read():
            for block in some:
                self.blocks.append(block)
                yield block
        self.is_done = True

    @property
    def document(self) -> Document:
        """The page with the blocks parsed so far."""
        if self._document is not None:
            return self._document
        headings = tuple(self._finalizer.headings[: None if self.is_done else self._headings])
        metadata = self._metadata
        title = metadata.get("title") if isinstance(metadata.get("title"), str) else None
        title = title or next((heading.title for heading in headings if heading.level == 1), "")
        diagnostics = tuple(sorted(self._diagnostics, key=lambda diagnostic: diagnostic.line))
        document = Document(title, tuple(self.blocks), self.source, diagnostics, headings, self._yaml, metadata)
        if self.is_done:
            self._document = document
        return document

    def _read(self) -> Iterator[list[Block]]:
        from octavo.documents.token_stream import ClosedTags, TokenStream  # lazy: markdown-it, 30 ms
        from octavo.documents.tree_builder import Builder

        markdown = self._markdown
        marked = sanitize(_FENCE_IN_CODE.sub(rf"\1{FENCE_ESCAPE}", markdown) if "\u200b" in markdown else markdown)
        self.source = source = marked.replace(FENCE_ESCAPE, "")
        self._markdown = markdown = ""
        if len(source) > MAX_PAGE_LENGTH or source.count("\n") > MAX_PAGE_LINES:
            self._document = _as_source(source)
            yield [*self._document.blocks]
            return
        self._yaml, start = front_matter.split_page(marked)
        try:
            self._metadata = front_matter.parse(self._yaml)
        except front_matter.FrontMatterError as error:
            yield self._finalizer.finalize([self._front_matter_as_code(str(error))])
        body = "\n" * marked.count("\n", 0, start) + marked[start:] if start else marked
        body = _with_conflict_tags(body)
        chunks, closed_tags, diagnostics = (
            TokenStream(body, self._slice_length, max_page_parts(len(source))),
            ClosedTags(body),
            self._diagnostics,
        )
        chunks.diagnostics = diagnostics
        builder = Builder(diagnostics, closed_tags)
        waiting: deque[tuple[int, list[Token]]] = deque()
        count = 0
        for chunk in chunks.blocks():
            closed_tags.add(chunk.tokens)
            waiting.append((count, chunk.tokens))
            count += len(chunk.tokens)
            first_open = closed_tags.first_open(chunk.end)
            while waiting and (first_open is None or waiting[0][0] + len(waiting[0][1]) <= first_open):
                tokens = waiting.popleft()[1]
                builder.add(tokens)
                _release(tokens)
                blocks = self._finalizer.finalize(builder.tree.take_finished())
                self._headings = len(self._finalizer.headings)
                yield blocks
        for _, tokens in waiting:
            builder.add(tokens)
            _release(tokens)
        last = source.count("\n") + 1
        unfinished = builder.tree.finish(last).children
        if rest_start := _NOT_BLANK.search(body, chunks.rest):
            first = body.count("\n", 0, rest_start.start())
            end = len(source)
            while source[end - 1] == "\n":
                end -= 1
            source_rest = source[_line_start(source, first) : end]
            diagnostics.append(
                Diagnostic(first, "The rest of the page is too large to format, so it is shown as source.")
            )
            attrs = {"language": "markdown", "source": True}
            unfinished = [*unfinished, DraftBlock("code", attrs, text=source_rest, first=first, last=last)]
        yield self._finalizer.finalize(unfinished)

    def _front_matter_as_code(self, reason: str) -> DraftBlock:
        """Report front matter that could not be read, and return a code block with its text."""
        message = f"Could not read the front matter: {reason}."
        self._diagnostics.append(Diagnostic(0, message))
        attrs = {"language": "yaml", "title": message}
        return DraftBlock("code", attrs, text=self._yaml.removesuffix("\n"), last=self._yaml.count("\n") + 2)


def _release(tokens: list[Token]) -> None:
    """Remove tokens in small parts, because freeing a long list at once would block all threads."""
    while tokens:
        del tokens[-_RELEASE_SIZE:]


def _as_source(source: str) -> Document:
    block = Block(
        "code", {"language": "markdown", "source": True}, text=source, lines=(0, source.count("\n") + 1), key="source"
    )
    return Document(
        "", (block,), source, (Diagnostic(0, "This page is too large to format, so it is shown as source."),)
    )


def _line_start(text: str, number: int) -> int:
    """Return the position where a line begins. A list of all lines would take more memory than the text."""
    start = 0
    for _ in range(number):
        start = text.index("\n", start) + 1
    return start


def _with_conflict_tags(body: str) -> str:
    """Replace conflict markers by tags, so that each side is parsed into blocks. Line numbers do not change."""
    if "<<<<<<< " not in body:
        return body
    lines = body.split("\n")
    for conflict in find_markers(body):
        _replace_markers(lines, conflict)
    return "\n".join(lines)


def _replace_markers(lines: list[str], conflict: ConflictMarkers) -> None:
    ours, theirs = (_NOT_IN_NAME.sub("", name) for name in (conflict.ours, conflict.theirs))
    lines[conflict.first] = f'{{% conflict %}}{{% conflict-side name="{ours}" %}}'
    lines[conflict.middle] = f'{{% endconflict-side %}}{{% conflict-side name="{theirs}" %}}'
    lines[conflict.last] = "{% endconflict-side %}{% endconflict %}"
