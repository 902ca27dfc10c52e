"""A page as a tree of blocks of its markdown. Every character of the page belongs to exactly one block."""

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
"""Letters of scripts that put no blanks between words: each letter counts as a word."""
WORD = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
MARKER = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+(?=\S)|[ \t]*$)", re.M)
"""The marker of a list item: its indentation, the mark, the blanks behind it."""
FIELD = re.compile(r"([^\s#-][^:\n]*?)[ \t]*:(?=\s|$)")
"""The begin of a field of front matter, with its name."""
RECORDS = frozenset({"item", "row"})
"""Blocks of which a new one beside another contradicts nothing."""
PROSE = frozenset({"paragraph", "quote", "item"})
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_LAYOUT = re.compile(r"( {2,}\n|\\\n)|\s+")
_TAG_NAME = re.compile(r"\{%-?\s*([\w@./:-]+)")
_CELL = re.compile(r"<(t[hd])\b", re.I)
_ROW = re.compile(r"<(tr)\b", re.I)
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")


@dataclass(frozen=True, eq=False)
class SourceBlock:
    """One block. Its text is `head`, `opening`, the children, `end` and `tail`, in this order.

    Blocks are equal only if they are the same object; `key` compares what they say.
    """

    kind: str
    """`page`, `container`, `list`, `item`, `table`, `row`, `code`, `front`, `field`, `line`, `heading`, `paragraph`, `quote`, `tag` or
    `literal`."""
    head: str
    children: tuple[SourceBlock, ...] | None = None
    """None for a block that is never divided."""
    opening: str = ""
    """Whitespace between the head and the first child."""
    end: str = ""
    """Whitespace between the last child and the tail."""
    tail: str = ""
    gap: str | None = None
    """Whitespace before the next sibling. None for the last child."""
    move: Move | None = None
    """Set if this side moved the block here and the other side changed, moved or deleted it."""
    restored_from: tuple[SourceBlock, ...] | None = None
    """Set if this block is the base's, put back because its change is merged where the other side moved it: what this side
    really has here."""

    @cached_property
    def source(self) -> str:
        """The text of the block, without its gap."""
        if self.children is None:
            return self.head
        return self.head + self.opening + join(self.children) + self.end + self.tail

    @cached_property
    def key(self) -> str:
        """The text of the block for comparing. Blocks with equal keys may differ in whitespace and in the numbers of items."""
        if self.move is not None:
            return f"moved\0{self.move.base.key}"
        if self.children is None:
            return self.head_key
        return "\0".join([self.head_key, "\1", *(child.key for child in self.children), "\2"])

    @cached_property
    def head_key(self) -> str:
        """The text of the head for comparing."""
        if self.kind == "row" and not is_html(self.head):
            head = "|".join(" ".join(cell.split()) for cell in cells(self.head))
        elif self.kind in ("line", "literal", "code", "front", "field"):
            head = self.head.rstrip()
        else:
            text = (
                MARKER.sub(lambda found: found[2][-1] + " ", self.head, count=1) if self.kind == "item" else self.head
            )
            head = _LAYOUT.sub(lambda found: "\n" if found[1] else " ", text.strip())
        return f"{self.kind}\0{head}"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words of the block, in order."""
        return tuple(WORD.findall(self.source))

    @cached_property
    def own_words(self) -> tuple[str, ...]:
        """The words of the block but for those of blocks that were moved into it."""
        if self.move is not None:
            return ()
        if not self.children or not any(each.move for each in self.walk()):
            return self.words
        return (*WORD.findall(self.head), *(word for child in self.children for word in child.own_words))

    @cached_property
    def level(self) -> int:
        """The level of a heading, 0 for other blocks."""
        if self.kind != "heading":
            return 0
        found = _HEADING.match(self.head)
        return len(found[1]) if found else 1 if self.head.rstrip().endswith("=") else 2

    @property
    def number(self) -> int:
        """The number of a numbered item, -1 for other blocks."""
        found = MARKER.match(self.head) if self.kind == "item" else None
        return int(found[2][:-1]) if found and found[2][0].isdigit() else -1

    @cached_property
    def name(self) -> str:
        """The kind; for a container the begin of its tag, such as `{% hint`; for a field of front matter its name."""
        if self.kind == "field":
            field = FIELD.match(self.head)
            return field[1] if field else ""
        found = _TAG_NAME.match(self.head.strip()) if self.kind == "container" else None
        return f"{{% {found[1]}" if found else self.kind

    def walk(self) -> Iterator[SourceBlock]:
        """Yield the block and all blocks in it."""
        yield self
        for child in self.children or ():
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class Move:
    """A block that one side moved, and what the other side made of it."""

    base: SourceBlock
    other: tuple[SourceBlock, ...]
    """The blocks that the other side made of it. Empty if it deleted it."""
    is_moved_twice: bool = False
    """Whether the other side moved it too, to another place."""


class Versions(NamedTuple, Generic[T_co]):
    """Something as the base has it, as main has it, and as the change request has it."""

    base: T_co
    main: T_co
    request: T_co

    def map(self, read: Callable[[T_co], U]) -> Versions[U]:
        """Return what `read` says of each version."""
        return Versions(read(self.base), read(self.main), read(self.request))

    @property
    def merged(self) -> T_co:
        """The version of the side that changed the base. Main's version if both sides changed it."""
        return self.request if self.main == self.base else self.main

    def merged_by(self, keys: Versions[Any]) -> T_co:
        """Return main's version if main has the merged key, else the version of the change request."""
        return self.main if keys.main == keys.merged else self.request

    @property
    def is_settled(self) -> bool:
        """Whether only one side changed the base, or both sides made the same change."""
        return self.main == self.request or self.base in (self.main, self.request)


Blocks: TypeAlias = Sequence[SourceBlock]


def join(blocks: Blocks) -> str:
    """Return the text of siblings. The gap of the last one belongs to their parent and is left out."""
    return "".join(block.source + gap_after(block) for block in blocks[:-1]) + (blocks[-1].source if blocks else "")


def gap_after(block: SourceBlock) -> str:
    """Return the whitespace between a block and the next block. A block that was the last of its parent gets the usual whitespace."""
    return gap_between(block) if block.gap is None else block.gap


def gap_between(block: SourceBlock) -> str:
    """Return the whitespace that is usual between two blocks of a kind."""
    if block.kind == "row" and is_html(block.head):
        return ""
    return "\n" if block.kind in ("item", "row", "line", "field") else "\n\n"


def sections(blocks: Blocks) -> Iterator[tuple[int, int]]:
    """Divide siblings into ranges that belong together: a heading with all below it, the blocks before the first heading, or a
    single row or item."""
    start = 0
    while start < len(blocks):
        end = start + 1
        level = blocks[start].level
        while end < len(blocks) and blocks[start].kind not in RECORDS and not 0 < blocks[end].level <= (level or 6):
            end += 1
        yield start, end
        start = end


def is_html(row: str) -> bool:
    """Return whether a row, or the head of a table, is written in HTML."""
    return row.lstrip().startswith("<")


def cells(row: str) -> list[str]:
    """Return the cells of a row, with the blanks around what they say; cells of HTML with their tags."""
    if is_html(row):
        return [row[start:end] for start, end in _cell_ranges(row)]
    found, start = [], 0
    text = row.strip().removeprefix("|")
    for bar in _BAR.finditer(text):
        found.append(text[start : bar.end() - 1])
        start = bar.end()
    return [*found, text[start:]] if text[start:].strip() or not found else found


def row_frame(row: str) -> str:
    """Return what a row has before its cells, such as a tag with its attributes."""
    found = _cell_ranges(row) if is_html(row) else []
    return row[: found[0][0]].strip() if found else ""


def row_ranges(table: str, start: int) -> list[tuple[int, int]]:
    """Return where the rows of a table of HTML are, from a place on."""
    return _ranges(_ROW, table, start)


def _cell_ranges(row: str) -> list[tuple[int, int]]:
    return _ranges(_CELL, row, 0)


def _ranges(opening: re.Pattern[str], text: str, start: int) -> list[tuple[int, int]]:
    """Return where tags with what they enclose are. The first that is not closed ends the search: the time is linear."""
    found: list[tuple[int, int]] = []
    lowered = text.lower()
    if len(lowered) != len(text):
        return found  # a letter that is longer in lower case
    while tag := opening.search(text, start):
        closing = lowered.find(f"</{tag[1].lower()}", tag.end())
        end = text.find(">", closing) + 1 if closing >= 0 else 0
        if not end:
            break
        found.append((tag.start(), end))
        start = end
    return found


def with_cells(row: str, texts: Sequence[str]) -> str:
    """Return a row with other cells, written as `row` is."""
    if is_html(row):
        found = _cell_ranges(row)
        if not found:
            return row + "".join(texts)
        between = [row[one[1] : other[0]] for one, other in pairwise(found)]
        between += [between[-1] if between else ""] * (len(texts) - len(found))
        inner = "".join(text + gap for text, gap in zip(texts, [*between, ""], strict=False))
        return row[: found[0][0]] + inner + row[found[-1][1] :]
    lead = row[: len(row) - len(row.lstrip())]
    text = row.strip()
    ends = text.endswith("|") or len(texts) == 1
    return lead + ("|" if text.startswith("|") else "") + "|".join(texts) + ("|" if ends else "")
