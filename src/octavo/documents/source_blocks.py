"""The Markdown source of a page as a tree of blocks, for merging, and the conflict markers in it. Each character of the source
belongs to one block.

<<<<<<< main
text on main
=======
text in the change request
>>>>>>> #12
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

_WIDE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
"""Letters of scripts without spaces between words. Each letter counts as a word."""
WORD = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
MARKER = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+(?=\S)|[ \t]*$)", re.M)
"""The marker of a list item. Groups: the indentation, the sign or number, and the spaces after it."""
FIELD = re.compile(r"([^\s#-][^:\n]*?)[ \t]*:(?=\s|$)")
"""The start of a field of front matter, with the name of the field."""
ROWS_AND_ITEMS = frozenset({"item", "row"})
"""Kinds of blocks that both sides can add in the same place without a conflict."""
PROSE = frozenset({"paragraph", "quote", "item"})
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_LAYOUT = re.compile(r"( {2,}\n|\\\n)|\s+")
"""A visible line break (group 1), or other white space."""
_TAG_NAME = re.compile(r"\{%-?\s*([\w@./:-]+)")
_CELL = re.compile(r"<(t[hd])\b", re.I)
_ROW = re.compile(r"<(tr)\b", re.I)
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")


@dataclass(frozen=True, eq=False)
class SourceBlock:
    """A block of source. Its text consists of `head`, `space_before_children`, the children, `space_after_children` and
    `tail`, in this order.

    Two block objects are never equal. Compare their `key` to compare their texts."""

    kind: str
    """`page`, `container` (tags with blocks between them, such as a hint), `list`, `item`, `table`, `row`, `code`,
    `front` (front matter), `field` (of front matter), `line` (of code or of a field), `heading`, `paragraph`, `quote`,
    `tag` (a tag without content) or `literal` (anything else: HTML, formulas, rules)."""
    head: str
    children: tuple[SourceBlock, ...] | None = None
    """The child blocks. None if the kind of block has no children."""
    space_before_children: str = ""
    space_after_children: str = ""
    tail: str = ""
    gap: str | None = None
    """White space before the next sibling. None for the last child."""
    move: Move | None = None
    """Set if this side moved the block here."""
    replaced_blocks: tuple[SourceBlock, ...] | None = None
    """Set if the other side moved the block away. This block is then the block of the base, so that this side seems
    unchanged here. `replaced_blocks` are the real blocks of this side, which are merged at the new place."""

    @cached_property
    def source(self) -> str:
        """The text of the block without the white space after it."""
        if self.children is None:
            return self.head
        return self.head + self.space_before_children + join(self.children) + self.space_after_children + self.tail

    @cached_property
    def key(self) -> str:
        """Return the normalized text of the block. Blocks with equal keys differ at most in white space and the numbers
        of items.

        The key of a moved block consists of `moved` and the key of its base block. So it differs from the keys of all
        blocks that were not moved, and edits do not change it."""
        if self.move is not None:
            return f"moved\0{self.move.base.key}"
        if self.children is None:
            return self.head_key
        return "\0".join([self.head_key, "\1", *(child.key for child in self.children), "\2"])

    @cached_property
    def head_key(self) -> str:
        """The head of the block, normalized for comparisons."""
        if self.kind == "row" and not is_html(self.head):
            head = "|".join(" ".join(cell.split()) for cell in cells(self.head))
        elif self.kind in ("line", "literal", "code", "front", "field"):
            head = self.head.rstrip()
        else:
            text = (
                MARKER.sub(lambda match: match[2][-1] + " ", self.head, count=1) if self.kind == "item" else self.head
            )
            head = _LAYOUT.sub(lambda match: "\n" if match[1] else " ", text.strip())
        return f"{self.kind}\0{head}"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words of the block, in order."""
        return tuple(WORD.findall(self.source))

    @cached_property
    def level(self) -> int:
        """The level of a heading, 0 for other blocks."""
        if self.kind != "heading":
            return 0
        match = _HEADING.match(self.head)
        return len(match[1]) if match else 1 if self.head.rstrip().endswith("=") else 2

    @property
    def number(self) -> int:
        """The number of a numbered item, -1 for other blocks."""
        found = MARKER.match(self.head) if self.kind == "item" else None
        return int(found[2][:-1]) if found and found[2][0].isdigit() else -1

    @cached_property
    def name(self) -> str:
        """The kind of the block. For a container, the start of its tag (`{% hint`). For a field, its name."""
        if self.kind == "field":
            field = FIELD.match(self.head)
            return field[1] if field else ""
        match = _TAG_NAME.match(self.head.strip()) if self.kind == "container" else None
        return f"{{% {match[1]}" if match else self.kind

    def walk(self) -> Iterator[SourceBlock]:
        """Yield the block and its descendants."""
        yield self
        for child in self.children or ():
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class Move:
    """The versions of a block that one side moved: in the base, and on the other side."""

    base: SourceBlock
    other: tuple[SourceBlock, ...]
    """The blocks of the other side in place of `base`. Empty if the other side deleted `base`."""
    is_moved_by_both: bool = False
    """True if the other side moved the block too, to a different place."""


class Versions(NamedTuple, Generic[T_co]):
    """Three versions of a value: in the base, on main, and in the change request."""

    base: T_co
    main: T_co
    request: T_co

    def map(self, read: Callable[[T_co], U]) -> Versions[U]:
        """Return the result of `read` for each version."""
        return Versions(read(self.base), read(self.main), read(self.request))

    @property
    def preferred(self) -> T_co:
        """Return the version of the side that changed the base. If both sides changed it, return main's version."""
        return self.request if self.main == self.base else self.main

    def preferred_by(self, keys: Versions[Any]) -> T_co:
        """Return the version of the side whose key differs from the key of the base. Return main's version if both keys
        differ, or neither."""
        return self.main if keys.main == keys.preferred else self.request

    @property
    def is_conflict_free(self) -> bool:
        """Return whether at most one side changed the base, or both sides made the same change."""
        return self.main == self.request or self.base in (self.main, self.request)


Blocks: TypeAlias = Sequence[SourceBlock]


def join(blocks: Blocks) -> str:
    """Return the text of siblings without the white space after the last sibling, which belongs to the parent."""
    return "".join(block.source + gap_after(block) for block in blocks[:-1]) + (blocks[-1].source if blocks else "")


def gap_after(block: SourceBlock) -> str:
    """Return the white space after a block. For a last child, return the usual gap."""
    return usual_gap(block) if block.gap is None else block.gap


def usual_gap(block: SourceBlock) -> str:
    """Return the usual white space after a block of the kind of `block`."""
    if block.kind == "row" and is_html(block.head):
        return ""
    return "\n" if block.kind in ("item", "row", "line", "field") else "\n\n"


def sections(blocks: Blocks) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the sections among siblings. A section is a heading with all blocks below it, the blocks
    before the first heading, or a single row or item."""
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


def cells(row: str) -> list[str]:
    """Return the cells of a row with the spaces around their text. Cells of HTML include their tags."""
    if is_html(row):
        return [row[start:end] for start, end in _cell_ranges(row)]
    texts, start = [], 0
    text = row.strip().removeprefix("|")
    for bar in _BAR.finditer(text):
        texts.append(text[start : bar.end() - 1])
        start = bar.end()
    return [*texts, text[start:]] if text[start:].strip() or not texts else texts


def row_opening(row: str) -> str:
    """Return the text of an HTML row before its cells: its tag with attributes. Empty for Markdown."""
    ranges = _cell_ranges(row) if is_html(row) else []
    return row[: ranges[0][0]].strip() if ranges else ""


def row_ranges(table: str, start: int) -> list[tuple[int, int]]:
    """Return the ranges of the rows of an HTML table, from a position on."""
    return _ranges(_ROW, table, start)


def _cell_ranges(row: str) -> list[tuple[int, int]]:
    return _ranges(_CELL, row, 0)


def _ranges(tag_start: re.Pattern[str], text: str, start: int) -> list[tuple[int, int]]:
    """Return the ranges of elements including their tags. The search ends at an unclosed element, to keep the time
    linear."""
    ranges: list[tuple[int, int]] = []
    lowered = text.lower()
    if len(lowered) != len(text):
        return ranges  # some letters are longer in lower case, which would shift the positions
    while tag := tag_start.search(text, start):
        closing = lowered.find(f"</{tag[1].lower()}", tag.end())
        end = text.find(">", closing) + 1 if closing >= 0 else 0
        if not end:
            break
        ranges.append((tag.start(), end))
        start = end
    return ranges


def with_cells(row: str, texts: Sequence[str]) -> str:
    """Return a row with other cells, in the notation of `row`."""
    if is_html(row):
        ranges = _cell_ranges(row)
        if not ranges:
            return row + "".join(texts)
        between = [row[one[1] : other[0]] for one, other in pairwise(ranges)]
        between += [between[-1] if between else ""] * (len(texts) - len(ranges))
        inner = "".join(text + gap for text, gap in zip(texts, [*between, ""], strict=False))
        return row[: ranges[0][0]] + inner + row[ranges[-1][1] :]
    lead = row[: len(row) - len(row.lstrip())]
    text = row.strip()
    ends = text.endswith("|") or len(texts) == 1
    return lead + ("|" if text.startswith("|") else "") + "|".join(texts) + ("|" if ends else "")


_FIRST = re.compile(r"<<<<<<< (.{1,200}?)[ \t]*$")
_MIDDLE = re.compile(r"=======[ \t]*$")
_LAST = re.compile(r">>>>>>> (.{1,200}?)[ \t]*$")


class ConflictMarkers(NamedTuple):
    """A conflict in a text: the line numbers of its three markers, counted from 0, and the names of both sides."""

    first: int
    middle: int
    last: int
    ours: str
    theirs: str


def find_markers(text: str) -> list[ConflictMarkers]:
    """Return the conflicts in a text, in order. Incomplete sets of markers are ignored."""
    if "<<<<<<< " not in text:
        return []
    found: list[ConflictMarkers] = []
    start: tuple[int, str] | None = None
    middle: int | None = None
    for number, line in enumerate(text.split("\n")):
        if first := _FIRST.match(line):
            start, middle = (number, first[1]), None
        elif start and middle is None and _MIDDLE.match(line):
            middle = number
        elif start and middle is not None and (last := _LAST.match(line)):
            found.append(ConflictMarkers(start[0], middle, number, start[1], last[1]))
            start = middle = None
    return found
