"""The two sides of a change: one above the other, or beside one another."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from octavo.documents.blocks import Block
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.styled_lines import Line, Piece, pad
from octavo.tui.render.styles import PLAIN, Styles

GUTTER, SIDE_GAP = 7, 3
"""Cells of the number and the sign before the words of a side, and between two sides: a rule with a blank on either
side of it."""


@dataclass(frozen=True)
class SideWidths:
    """Cells there are for a diff, and for a side of it."""

    width: int
    side: int
    only_new: bool = False
    """Whether only the new side is shown: the old one is not set."""

    @classmethod
    def for_width(cls, width: int, *, split: bool) -> SideWidths:
        """The room in `width` cells; `split`: for two sides beside one another."""
        return cls(width, (width - SIDE_GAP) // 2 if split else width)

    @classmethod
    def new_side_only(cls, width: int) -> SideWidths:
        """The room in `width` cells for the new side alone."""
        return cls(width, width, only_new=True)

    @property
    def is_split(self) -> bool:
        return self.side < self.width

    @property
    def text_width(self) -> int:
        """Cells for words behind the gutter of a side, without one at its right end."""
        return self.side - GUTTER - 1


@dataclass
class SidePair:
    """Lines of the old side with those of the new one they stand for. What `is_same` says the same on both sides."""

    old: list[Line] = field(default_factory=list)
    new: list[Line] = field(default_factory=list)
    is_same: bool = False


@dataclass(slots=True)
class SideBySideLine(Line):
    """A line of two sides. `block` is what its right side is about."""

    old_block: Block | None = None
    """What its left side is about."""
    right_start: int = 0
    """The cell its right side begins at."""


def join_sides(parts: Iterable[SidePair], room: SideWidths, styles: Styles) -> list[Line]:
    """Parts of a change, below one another."""
    out: list[Line] = []
    for part in parts:
        if room.is_split:
            out += _side_by_side(part, room, styles)
        else:
            out += part.new if part.is_same or room.only_new else [*part.old, *part.new]
    return out


def merge_replacements(parts: Iterable[SidePair], room: SideWidths) -> list[SidePair]:
    """Parts, all that went and came at one place as one; beside one another, what stands for each other stays so."""
    out: list[SidePair] = []
    for part in parts:
        last = out[-1] if out else None
        stays = room.is_split and last is not None and bool(last.new and part.old)
        if last is not None and not last.is_same and not part.is_same and not stays:
            last.old += part.old
            last.new += part.new
        else:
            out.append(part)
    return out


def blank_line(room: SideWidths, styles: Styles) -> Line:
    """An empty line between two changes."""
    return _side_by_side(SidePair([Line([])]), room, styles)[0] if room.is_split else Line([])


def _side_by_side(part: SidePair, room: SideWidths, styles: Styles) -> list[Line]:
    rule = Piece(f" {styles.glyphs.down} ", styles.line, None, True)
    out: list[Line] = []
    for old, new in zip_longest(part.old, part.new):
        left = pad(old.pieces if old is not None else [], room.side)
        # One stands only once on what is the same.
        about = old.block if old is not None and not part.is_same else None
        pieces = [*left, rule, *(new.pieces if new is not None else [Piece("", PLAIN)])]
        out.append(SideBySideLine(pieces, new.block if new is not None else None, None, about, room.side + SIDE_GAP))
    return out


def diff_block_at(line: Line, cell: int) -> Block | None:
    """What a line is about at a cell."""
    return line.old_block if isinstance(line, SideBySideLine) and cell < line.right_start - 1 else line.block


def diff_cursor_bar(line: Line, inside: Container[int]) -> int | None:
    """Where the bar of the cursor stands on a line: before the side that is about a block whose identity is `inside`."""
    if isinstance(line, SideBySideLine) and id(line.old_block) not in inside and id(line.block) in inside:
        return line.right_start - 1
    return -2 if id(line.old_block if isinstance(line, SideBySideLine) else line.block) in inside else None


def diff_block_ranges(lines: Sequence[Line]) -> list[tuple[int, int, Block]]:
    """First line, last line and block of all that lines are about, of the old side before that of the new one."""
    if not any(isinstance(line, SideBySideLine) for line in lines):
        return block_ranges(lines)
    old = block_ranges([Line([], line.old_block if isinstance(line, SideBySideLine) else None) for line in lines])
    return sorted([*old, *block_ranges(lines)], key=lambda stop: stop[0])
