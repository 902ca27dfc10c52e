"""Reads the Markdown source of a page as a tree of blocks, for merging. Start reading at `read_page`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

_WIDE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
"""Letters of scripts without spaces between words. Each letter counts as a word."""
WORD = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
LIST_MARKER = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+(?=\S)|[ \t]*$)", re.M)
"""The bullet or number of a list item. Groups: the indentation, the sign or number, and the spaces after it."""
FIELD = re.compile(r"([^\s#-][^:\n]*?)[ \t]*:(?=\s|$)")
"""The start of a field of front matter. Group 1 is the name of the field."""
ROWS_AND_ITEMS = frozenset({"item", "row"})
"""Kinds of blocks that both sides can add at the same position without a conflict."""
PROSE = frozenset({"paragraph", "quote", "item"})
_HEADING = re.compile(r" {0,3}(#{1,6}(?=[ \t]|$)|#{2,6}(?=[^#\s]))")
_BREAK_OR_SPACE = re.compile(r"( {2,}\n|\\\n)|\s+")
"""A line break that readers see (group 1), or other white space."""
_TAG_NAME = re.compile(r"(\{%|<)-?\s*([\w@./:-]+)")
_CELL = re.compile(r"<(t[hd])\b", re.I)
_ROW = re.compile(r"<(tr)\b", re.I)
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^\n]*)")
_TAG = re.compile(r"\s*\{%-?\s*(@?[A-Za-z][\w@./:-]*)")
_TAG_END = re.compile(r"-?%\}[ \t]*$")
_BLOCK_NAMES = "table|pre|figure|details"
_WRAPPER_NAMES = "[ou]l|dl|div|section|article|center|blockquote"
_END_OF_BLOCK = re.compile(
    rf"(?im)^(?:(?:<(?!(?:p|{_WRAPPER_NAMES})\b[^<>]*>\s*<(?:{_BLOCK_NAMES})).*)?</(?:{_BLOCK_NAMES})>"
    r"|\{%-?[ \t]*end\w[\w-]*[ \t]*-?%\})[ \t]*(?=[^\s<]|<\w)"
)
"""Matches a line up to the last end tag of a block, if text follows the tag. No match if the line opens a wrapper."""
_HTML = re.compile(rf"\s*<({_BLOCK_NAMES})\b", re.I)
_HTML_TAG = re.compile(rf"<(/?)({_BLOCK_NAMES}|{_WRAPPER_NAMES})\b", re.I)
_HTML_WRAPPER = re.compile(rf"\s*<({_WRAPPER_NAMES})\b[^<>]*>\s*", re.I)
"""A line with nothing but the opening tag of an HTML element around blocks."""
_BODY = re.compile(r"<tbody\b[^>]*>", re.I)
_DELIMITER = re.compile(r"[ \t]*(?=[^\n]*\|)\|?(?:[ \t]*(?::?-+:?|:)[ \t]*(?:\||$))+[ \t]*")

_MAX_DEPTH = 40
"""Maximum nesting of blocks. Deeper blocks are read as paragraphs."""
_MAX_HEAD_LINES = 40
"""Maximum number of lines of a tag or of a `<summary>`."""


@dataclass(frozen=True, eq=False)
class SourceBlock:
    """A block with its Markdown: `head`, children and `tail`, and the white space between them. Compare blocks by their
    `key`, because `==` compares identity."""

    kind: str
    """`page`, `container` (a tag around blocks), `list`, `item`, `table`, `row`, `code`, `front` (front matter),
    `field`, `line`, `heading`, `paragraph`, `quote`, `tag` (without content) or `literal` (anything else)."""
    head: str
    children: tuple[SourceBlock, ...] | None = None
    """The child blocks. None if this kind of block has no children."""
    space_before_children: str = ""
    space_after_children: str = ""
    tail: str = ""
    gap: str | None = None
    """White space between this block and the next sibling. None for the last child."""
    move: Move | None = None
    """If this side moved the block here, its blocks in the base and on the other side. Otherwise None."""
    replaced_blocks: tuple[SourceBlock, ...] | None = None
    """If the other side moved this block away: the blocks with which this side replaced the block. They are merged at
    the new position. Otherwise None."""

    @cached_property
    def source(self) -> str:
        """The Markdown of the block, without the white space after it."""
        if self.children is None:
            return self.head
        return (
            self.head + self.space_before_children + join_blocks(self.children) + self.space_after_children + self.tail
        )

    @cached_property
    def key(self) -> str:
        """The Markdown, normalized for comparisons. For a moved block, `moved` and the key of the block in the base."""
        if self.move is not None:
            return f"moved\0{self.move.base.key}"
        if self.children is None:
            return self.head_key
        return "\0".join([self.head_key, "\1", *(child.key for child in self.children), "\2"])

    @cached_property
    def head_key(self) -> str:
        """The head and the kind, normalized for comparisons."""
        if self.kind == "row" and not is_html(self.head):
            head = "|".join(" ".join(cell.split()) for cell in split_cells(self.head))
        elif self.kind in ("line", "literal", "code", "front", "field"):
            head = self.head.rstrip()
        else:
            text = self.head
            if self.kind == "item":  # All bullets are equal, and so are all numbers.
                text = LIST_MARKER.sub(lambda match: match[2].strip("*+-0123456789") + " ", text, count=1)
            head = _BREAK_OR_SPACE.sub(lambda match: "\n" if match[1] else " ", text.strip())
        return f"{self.kind}\0{head}"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words of the block, in order."""
        return tuple(WORD.findall(self.source))

    @cached_property
    def level(self) -> int:
        """The level of a heading. 0 for other blocks."""
        if self.kind != "heading":
            return 0
        match = _HEADING.match(self.head)
        return len(match[1]) if match else 1 if self.head.rstrip().endswith("=") else 2

    @property
    def number(self) -> int:
        """The number of a numbered list item. -1 for other blocks."""
        marker_match = LIST_MARKER.match(self.head) if self.kind == "item" else None
        return int(marker_match[2][:-1]) if marker_match and marker_match[2][0].isdigit() else -1

    @cached_property
    def name(self) -> str:
        """The start of a container's tag, such as `{% hint`, or the name of a field. For other blocks, the kind."""
        if self.kind == "field":
            field_match = FIELD.match(self.head)
            return field_match[1] if field_match else ""
        match = _TAG_NAME.match(self.head.strip()) if self.kind == "container" else None
        return f"{match[1]} {match[2]}" if match else self.kind

    def walk(self) -> Iterator[SourceBlock]:
        """Yield the block and its descendants."""
        yield self
        for child in self.children or ():
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class Move:
    """A block that one side moved: its version in the base, and its versions on the other side."""

    base: SourceBlock
    other: tuple[SourceBlock, ...]
    """The blocks of the other side that correspond to `base`. Empty if the other side deleted the block."""
    is_moved_by_both: bool = False
    """True if the other side moved the block too, to a different position."""
    first_added: SourceBlock | None = None
    """Set if both sides added this block, at different positions. Main's version of the first of the adjacent blocks
    that both sides added. `base` is then main's version of this block. None for a block of the base."""


class Versions(NamedTuple, Generic[T_co]):
    """Three versions of a value: in the base, on main and in the change request."""

    base: T_co
    main: T_co
    request: T_co

    def map(self, read: Callable[[T_co], U]) -> Versions[U]:
        """Return the results of `read` for the three versions."""
        return Versions(read(self.base), read(self.main), read(self.request))

    @property
    def preferred(self) -> T_co:
        """The version of the side that changed the base. If both sides changed it, main's version."""
        return self.request if self.main == self.base else self.main

    def preferred_by(self, keys: Versions[Any]) -> T_co:
        """Return the change request's version if only its key in `keys` is not the base's key, else main's version."""
        return self.main if keys.main == keys.preferred else self.request

    @property
    def is_conflict_free(self) -> bool:
        """True if at most one side changed the base, or if both sides made the same change."""
        return self.main == self.request or self.base in (self.main, self.request)


Blocks: TypeAlias = Sequence[SourceBlock]


def join_blocks(blocks: Blocks) -> str:
    """Return the Markdown of siblings, without the white space after the last sibling."""
    return "".join(block.source + gap_after(block) for block in blocks[:-1]) + (blocks[-1].source if blocks else "")


def gap_after(block: SourceBlock) -> str:
    """Return the white space after a block. For a last child, return the usual white space for its kind."""
    return usual_gap(block) if block.gap is None else block.gap


def usual_gap(block: SourceBlock) -> str:
    """Return the white space that usually follows a block of this kind."""
    if block.kind == "row" and is_html(block.head):
        return ""
    return "\n" if block.kind in ("item", "row", "line", "field") else "\n\n"


def section_ranges(blocks: Blocks) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the sections among siblings. A section is a heading with the blocks up to the next heading of
    the same or a higher level. The blocks before the first heading are a section, and so is each row or item."""
    start = 0
    while start < len(blocks):
        end = start + 1
        level = blocks[start].level
        while (
            end < len(blocks) and blocks[start].kind not in ROWS_AND_ITEMS and not 0 < blocks[end].level <= (level or 6)
        ):
            end += 1
        yield start, end
        start = end


def is_html(row: str) -> bool:
    """Return whether a row, or the head of a table, is written in HTML."""
    return row.lstrip().startswith("<")


def split_cells(row: str) -> list[str]:
    """Return the cells of a row with the spaces around their text. Cells of HTML include their tags."""
    if is_html(row):
        return [row[start:end] for start, end in _ranges(_CELL, row)]
    texts, start = [], 0
    text = row.strip().removeprefix("|")
    for bar in _BAR.finditer(text):
        texts.append(text[start : bar.end() - 1])
        start = bar.end()
    return [*texts, text[start:]] if text[start:].strip() or not texts else texts


def row_opening(row: str) -> str:
    """Return the text of an HTML row before its cells: its tag with attributes. Empty for Markdown."""
    ranges = _ranges(_CELL, row) if is_html(row) else []
    return row[: ranges[0][0]].strip() if ranges else ""


def _ranges(tag_start: re.Pattern[str], text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return the start and end of each HTML element whose opening tag matches `tag_start`. Stop at an element without a
    closing tag. Empty if `text` contains letters that are longer in lower case."""
    ranges: list[tuple[int, int]] = []
    lower_text = text.lower()
    if len(lower_text) != len(text):
        return ranges  # Some letters are longer in lower case, which would shift the positions.
    while tag_match := tag_start.search(text, start):
        closing = lower_text.find(f"</{tag_match[1].lower()}", tag_match.end())
        end = text.find(">", closing) + 1 if closing >= 0 else 0
        if not end:
            break
        ranges.append((tag_match.start(), end))
        start = end
    return ranges


def with_cells(row: str, texts: Sequence[str]) -> str:
    """Return `row` with `texts` in place of its cells. HTML stays HTML, and Markdown stays Markdown."""
    if is_html(row):
        ranges = _ranges(_CELL, row)
        if not ranges:
            return row + "".join(texts)
        gaps = [row[first[1] : second[0]] for first, second in pairwise(ranges)]
        gaps += [gaps[-1] if gaps else ""] * (len(texts) - len(ranges))
        inner_text = "".join(text + gap for text, gap in zip(texts, [*gaps, ""], strict=False))
        return row[: ranges[0][0]] + inner_text + row[ranges[-1][1] :]
    indentation = row[: len(row) - len(row.lstrip())]
    text = row.strip()
    ends_with_bar = text.endswith("|") or len(texts) == 1
    return indentation + ("|" if text.startswith("|") else "") + "|".join(texts) + ("|" if ends_with_bar else "")


def read_page(text: str) -> SourceBlock:
    """Return the page as one block of the kind `page`. Its `source` is exactly `text`."""
    *complete_lines, last_line = text.split("\n")
    lines = [line + "\n" for line in complete_lines] + ([last_line] if last_line else [])
    if _END_OF_BLOCK.search(text):
        lines = list(_split_after_blocks(lines))
    opening, blocks, end = _Reader(lines).siblings(0, len(lines), 0)
    return SourceBlock("page", "", tuple(blocks), opening, end)


def _split_after_blocks(lines: list[str]) -> Iterator[str]:
    """Yield `lines`. Split a line after the end tag of a block if text follows. Do not split lines of code, or if the
    text has `{%` tags, except a single tag at the end of the text."""
    code_lines = {number for first, last in find_fences(lines).items() for number in range(first, last)}
    for number, line in enumerate(lines):
        end_of_block = _END_OF_BLOCK.match(line) if number not in code_lines else None
        rest = line[end_of_block.end() :] if end_of_block else ""
        is_whole = not rest or ("{%" in rest and (rest.count("{%") > 1 or not _TAG_END.search(rest)))
        yield from (line,) if is_whole else (line.removesuffix(rest), rest)


class _Reader:
    """Reads the lines of a page into blocks. The lines include their line breaks."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._fences = find_fences(lines)
        self._closings = _closing_lines(lines, self._fences)

    def siblings(self, start: int, stop: int, depth: int) -> tuple[str, list[SourceBlock], str]:
        """Return the lines from `start` to before `stop` as three values: white space, blocks, white space."""
        position = self._skip_blank(start, stop)
        opening, blocks = "".join(self._lines[start:position]), []
        while position < stop:
            block, end = self._block(position, stop, depth)
            after = self._skip_blank(end, stop)
            blocks.append(replace(block, gap=self._line_break_before(end) + "".join(self._lines[end:after])))
            position = after
        if not blocks:
            return opening, [], ""
        last = blocks.pop()
        return opening, [*blocks, replace(last, gap=None)], last.gap or ""

    def _skip_blank(self, position: int, stop: int) -> int:
        while position < stop and not self._lines[position].strip():
            position += 1
        return position

    def _line_break_before(self, end: int) -> str:
        """Return the line break at the end of the line before `end`. Empty if that line ends without one."""
        return "\n" if self._lines[end - 1].endswith("\n") else ""

    def _text_of_lines(self, start: int, stop: int) -> str:
        return "".join(self._lines[start:stop]).removesuffix("\n")

    def _block(self, start: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        """Return the block that begins at line `start`, and the index of the line after the block, at most `stop`."""
        line = self._lines[start]
        if start == 0 and line.rstrip() == "---" and (end := self._end_of_front_matter()):
            return self._front_matter(end), end + 1
        if depth > _MAX_DEPTH:
            return self._paragraph(start, stop, depth)
        if _fence(line):
            end = self._fences.get(start, stop)
            if end < stop:
                return self._fenced_block("code", start, end), end + 1
            return self._literal(start, stop), stop
        if line.strip() == "$$":
            end = start + 1
            while end < stop and not self._lines[end].rstrip().endswith("$$"):
                end += 1
            return self._literal(start, min(end + 1, stop)), min(end + 1, stop)
        if _TAG.match(line):
            return self._tag(start, stop, depth)
        if found := _HTML.match(line) or _HTML_WRAPPER.fullmatch(line):
            return self._html(start, stop, depth, found[1].lower())
        if _HEADING.match(line):
            return SourceBlock("heading", self._text_of_lines(start, start + 1)), start + 1
        if _RULE.match(line):
            return SourceBlock("literal", self._text_of_lines(start, start + 1)), start + 1
        if LIST_MARKER.match(line):
            return self._list(start, stop, depth)
        if start + 1 < stop and "|" in line and _DELIMITER.fullmatch(self._lines[start + 1].rstrip("\n")):
            return self._table(start, stop)
        return self._paragraph(start, stop, depth)

    def _end_of_front_matter(self) -> int:
        return next((index for index, line in enumerate(self._lines) if index and line.rstrip() == "---"), 0)

    def _front_matter(self, end: int) -> SourceBlock:
        starts = [at for at in range(1, end) if at == 1 or FIELD.match(self._lines[at])]
        fields = [self._field(at, after) for at, after in pairwise([*starts, end])]
        inner = (
            *(replace(field, gap=self._line_break_before(at)) for field, at in zip(fields, starts[1:], strict=False)),
            *fields[-1:],
        )
        return SourceBlock(
            "front", self._text_of_lines(0, 1), inner, "\n", "\n" if inner else "", self._text_of_lines(end, end + 1)
        )

    def _field(self, start: int, end: int) -> SourceBlock:
        lines = _joined_lines(self._lines[start + 1 : end])
        spaces = self._line_break_before(start + 1) if lines else ""
        return SourceBlock("field", self._text_of_lines(start, start + 1), lines or None, spaces)

    def _begins_block(self, line: str) -> bool:
        """Return whether a line begins a new block even if no blank line is before it."""
        if marker_match := LIST_MARKER.match(line):
            return not marker_match[2][0].isdigit() or marker_match[2][:-1] == "1"
        return bool(_HEADING.match(line) or _TAG.match(line) or _HTML.match(line) or _fence(line))

    def _literal(self, start: int, stop: int) -> SourceBlock:
        return SourceBlock("literal", self._text_of_lines(start, stop))

    def _paragraph(self, start: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        first, end = self._lines[start], start + 1
        while end < stop and self._lines[end].strip() and not self._begins_block(self._lines[end]):
            end += 1
            if _UNDERLINE.match(self._lines[end - 1]) and not first.lstrip().startswith((">", "|", "<")):
                return SourceBlock("heading", self._text_of_lines(start, end)), end
        stripped = first.lstrip()
        if depth == 0 and first.startswith(("    ", "\t")) and start > 0 and not self._lines[start - 1].strip():
            lines = _joined_lines(self._lines[start:end])
            return SourceBlock("code", "", lines), end
        kind = "quote" if stripped.startswith(">") else "literal" if stripped.startswith("<") else "paragraph"
        return SourceBlock(kind, self._text_of_lines(start, end)), end

    def _fenced_block(self, kind: str, start: int, end: int) -> SourceBlock:
        inner = _joined_lines(self._lines[start + 1 : end])
        head, tail = self._text_of_lines(start, start + 1), self._text_of_lines(end, end + 1)
        return SourceBlock(kind, head, inner, "\n", "\n" if inner else "", tail)

    def _container(self, start: int, first: int, last: int, depth: int) -> SourceBlock:
        opening, children, end = self.siblings(first, last, depth + 1)
        return SourceBlock(
            "container",
            self._text_of_lines(start, first),
            tuple(children),
            self._line_break_before(first) + opening,
            end,
            self._text_of_lines(last, last + 1),
        )

    def _tag(self, start: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        head_end = start
        while head_end < min(stop, start + _MAX_HEAD_LINES) and not _TAG_END.search(self._lines[head_end]):
            head_end += 1
        if head_end >= min(stop, start + _MAX_HEAD_LINES) or (head_end == start and self._lines[start].count("{%") > 1):
            return self._paragraph(start, stop, depth)
        last = self._closings.get(start)
        if last is None or not head_end < last < stop:
            return SourceBlock("tag", self._text_of_lines(start, head_end + 1)), head_end + 1
        return self._container(start, head_end + 1, last, depth), last + 1

    def _html(self, start: int, stop: int, depth: int, name: str) -> tuple[SourceBlock, int]:
        last = self._closings.get(start)
        if last is None or last >= stop:
            return self._paragraph(start, stop, depth)
        if name not in ("table", "pre", "figure") and self._lines[last].strip().lower() == f"</{name}>":
            head_lines = range(start, min(last, start + _MAX_HEAD_LINES))
            end_of_summary = (number for number in head_lines if "</summary>" in self._lines[number].lower())
            head_end = next(end_of_summary, start) if name == "details" else start
            return self._container(start, head_end + 1, last, depth), last + 1
        if name == "table":
            return _html_table(self._text_of_lines(start, last + 1)), last + 1
        if not _HTML.match(self._lines[start]):
            return self._paragraph(start, stop, depth)
        return self._literal(start, last + 1), last + 1

    def _table(self, start: int, stop: int) -> tuple[SourceBlock, int]:
        end = start + 2
        while end < stop and "|" in self._lines[end] and not self._begins_block(self._lines[end]):
            end += 1
        rows = _joined_lines(self._lines[start + 2 : end], "row")
        return SourceBlock("table", self._text_of_lines(start, start + 2), rows, "\n" if rows else ""), end

    def _list(self, start: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        items: list[SourceBlock] = []
        first_match = LIST_MARKER.match(self._lines[start])
        end = start
        while start < stop and first_match is not None:
            match = LIST_MARKER.match(self._lines[start])
            is_next = match and len(match[1]) == len(first_match[1]) and match[2][-1] == first_match[2][-1]
            if not is_next or (items and _RULE.match(self._lines[start])):
                break
            item, end = self._item(start, stop, depth)
            start = self._skip_blank(end, stop)
            items.append(replace(item, gap=self._line_break_before(end) + "".join(self._lines[end:start])))
        items[-1] = replace(items[-1], gap=None)
        return SourceBlock("list", "", tuple(items)), end

    def _item(self, start: int, stop: int, depth: int) -> tuple[SourceBlock, int]:
        indent = _indent(self._lines[start])
        head_end = self._fences[start] + 1 if start in self._fences else start + 1
        head_end = min(head_end, stop)
        while head_end < stop and self._lines[head_end].strip():
            if LIST_MARKER.match(self._lines[head_end]) or self._begins_block(self._lines[head_end]):
                break
            head_end += 1
        last = head_end
        while last < stop:
            if self._lines[last].strip() and _indent(self._lines[last]) <= indent:
                break
            last = min(self._fences[last] + 1, stop) if last in self._fences else last + 1
        while last > head_end and not self._lines[last - 1].strip():
            last -= 1
        opening, children, _ = self.siblings(head_end, last, depth + 1)
        space = self._line_break_before(head_end) + opening if children else ""
        return SourceBlock("item", self._text_of_lines(start, head_end), tuple(children), space), last


def _joined_lines(lines: list[str], kind: str = "line") -> tuple[SourceBlock, ...]:
    blocks = [SourceBlock(kind, line.removesuffix("\n"), gap="\n" * line.endswith("\n")) for line in lines]
    return (*blocks[:-1], *(replace(block, gap=None) for block in blocks[-1:]))


def _html_table(text: str) -> SourceBlock:
    """Return an HTML table with a child for each row, or a `literal` block if it has no rows or is too complex."""
    body_match = _BODY.search(text)
    start = body_match.end() if body_match else 0
    rows = _ranges(_ROW, text, start)
    if not rows or text.lower().count("<table") > 1:
        return SourceBlock("literal", text)
    ends = [start, *(end for _, end in rows)]
    texts_between = [text[end:begin] for end, (begin, _) in zip(ends, rows, strict=False)]
    if not body_match:
        texts_between[0] = ""
        start = rows[0][0]
    if any(text_between.strip() for text_between in texts_between) or not all(
        split_cells(text[begin:end]) for begin, end in rows
    ):
        return SourceBlock("literal", text)
    gaps = [*texts_between[1:], None]
    row_blocks = tuple(
        SourceBlock("row", text[begin:end], gap=gap) for (begin, end), gap in zip(rows, gaps, strict=True)
    )
    return SourceBlock("table", text[:start], row_blocks, texts_between[0], "", text[rows[-1][1] :])


def _fence(line: str) -> re.Match[str] | None:
    """Return a match for an opening fence, whose group 1 is the fence. None if the line is no fence."""
    fence_match = _FENCE.match(line)
    return fence_match if fence_match and (fence_match[1][0] == "~" or "`" not in fence_match[2]) else None


def find_fences(lines: list[str]) -> dict[int, int]:
    """Return a map from the line that opens a code fence to the line that closes it. Unclosed fences are left out."""
    closing_fences: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}
    for line_index, line in enumerate(lines):
        if (stripped := line.strip()) and stripped[0] in closing_fences and stripped == stripped[0] * len(stripped):
            closing_fences[stripped[0]].append((line_index, len(stripped)))
    # `longest_from[i]` is the length of the longest closing fence from index i on. A longer opening fence stays open.
    longest_from = {
        sign: list(accumulate((length for _, length in reversed(lines_and_lengths)), max))[::-1]
        for sign, lines_and_lengths in closing_fences.items()
    }
    closing_line_of: dict[int, int] = {}
    line_index = 0
    while line_index < len(lines):
        marker = LIST_MARKER.match(lines[line_index])
        if fence := _fence(lines[line_index][marker.end() :] if marker else lines[line_index]):
            sign, later_fences = fence[1][0], closing_fences[fence[1][0]]
            index = bisect_left(later_fences, (line_index + 1, 0))
            if index < len(later_fences) and longest_from[sign][index] >= len(fence[1]):
                while later_fences[index][1] < len(fence[1]):
                    index += 1
                closing_line_of[line_index] = line_index = later_fences[index][0]
        line_index += 1
    return closing_line_of


def _closing_lines(lines: list[str], fences: dict[int, int]) -> dict[int, int]:
    closing_lines: dict[int, int] = {}
    open_lines: dict[str, list[int]] = {}
    line_index = 0
    while line_index < len(lines):
        if line_index in fences:
            line_index = fences[line_index] + 1
            continue
        line = lines[line_index]
        if tag_match := _TAG.match(line):
            name = tag_match[1]
            if not name.startswith("end"):
                open_lines.setdefault("%" + name, []).append(line_index)
            elif open_lines.get("%" + name[3:]):
                closing_lines[open_lines["%" + name[3:]].pop()] = line_index
        elif "<" in line:
            for html_match in _HTML_TAG.finditer(line):
                name = html_match[2].lower()
                if not html_match[1]:
                    open_lines.setdefault(name, []).append(line_index)
                elif open_lines.get(name):
                    closing_lines[open_lines[name].pop()] = line_index
        line_index += 1
    return closing_lines


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))
