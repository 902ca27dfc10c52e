"""The units of a diff: its parts that are set at once, and how much of what did not change is among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from octavo.documents.blocks import Block
from octavo.documents.changes import Added, Changed, Entry, Line, Lines, Moved, Removed, Setting, Table
from octavo.tui.page.setting import trail
from octavo.tui.page.slices import slices
from octavo.tui.page.threads import ThreadLine

T = TypeVar("T")
_ROWS, _LINES = 60, 300
"""How many entries of a table that changed, and lines of code, are set at a time."""


@dataclass(frozen=True)
class DiffUnit:
    """A part of a diff that is set at once.

    Kinds: title, block (unchanged), fold, entry (a change), exchange (blocks that went and
    those that came in their place), label (where what follows lies), note (a sentence), setting (of the page), lines (of
    source), threads.
    """

    kind: str
    block: Block | None = None
    old: Block | None = None
    """What stands for it on the old side."""
    entry: Entry | None = None
    parent: Block | None = None
    """The container the block lies in, when it has to be shown as part of it."""
    of_list: Block | None = None
    """The list whose item the parent is."""
    text: str = ""
    place: tuple[str, ...] = ()
    """Where what follows lies: the section and what holds it, outermost first."""
    change: int = -1
    """Which change it is, counted from 0; -1 for what is none."""
    lines: tuple[Line, ...] = ()
    threads: tuple[tuple[ThreadLine, str], ...] = ()
    tight: bool = False
    """It stands right below what is before it."""
    part: int = 0
    """Which slice of a long change it is, counted from 1; 0 for the whole."""
    setting: Setting | None = None
    gone: tuple[Block, ...] = ()
    come: tuple[Block, ...] = ()
    """What came in place of what is gone."""
    hidden: tuple[Block, ...] = ()
    """What is folded."""
    clip: int = 0
    """Only so many of its lines are shown, the first ones, or if it is below 0 the last ones; 0 for all."""

    def holds(self, key: str) -> bool:
        """Whether the block called `key` is shown by it, or folded."""
        return any(trail(block, key) for block in (*self.blocks, *self.hidden))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What it shows, of either side."""
        was = self.entry.old if isinstance(self.entry, (Changed, Moved)) else None
        return tuple(each for each in (self.block, self.old, was, *self.gone, *self.come) if each is not None)


@dataclass
class Changes:
    """The units of a diff, and how they are counted."""

    units: list[DiffUnit] = field(default_factory=list)
    count: int = 0
    thread_count: int = 0


class Unfolding:
    """How much of what did not change is shown."""

    STEPS = (0, 1, 3, 8, 1 << 30)

    def __init__(self) -> None:
        self.step = 1
        self.opened: set[str] = set()

    @property
    def around(self) -> int:
        """Unchanged blocks on each side of a change."""
        return self.STEPS[self.step]

    @property
    def is_brief(self) -> bool:
        """Whether the blocks around a change are there to tell where one is: a few lines, and only of what is read."""
        return self.around <= 1

    def more(self) -> None:
        self.step = min(self.step + 1, len(self.STEPS) - 1)

    def less(self) -> None:
        self.step = max(0, self.step - 1)
        self.opened.clear()


def cut(unit: DiffUnit) -> list[DiffUnit]:
    """A unit in slices; only the unit when it is not long."""
    match unit.entry:
        case None if unit.kind == "block" and unit.block is not None:
            olds = list(slices(unit.old)) if unit.old is not None else []
            return [
                replace(each, block=piece, old=olds[at] if at < len(olds) else None)
                for at, (each, piece) in enumerate(_numbered(unit, list(slices(unit.block))))
            ]
        case Added(block=block):
            return [
                replace(each, block=piece, entry=Added(piece)) for each, piece in _numbered(unit, list(slices(block)))
            ]
        case Removed(block=block):
            return [
                replace(each, block=piece, entry=Removed(piece)) for each, piece in _numbered(unit, list(slices(block)))
            ]
        case Changed() | Moved() as entry:
            return [replace(each, entry=piece) for each, piece in _numbered(unit, _entries(entry))]
    return [unit]


def _numbered(unit: DiffUnit, pieces: Sequence[T]) -> list[tuple[DiffUnit, T]]:
    if len(pieces) == 1:
        return [(unit, pieces[0])]
    later = replace(unit, change=-1, tight=True)
    return [(replace(later if at > 1 else unit, part=at), piece) for at, piece in enumerate(pieces, 1)]


def _entries(entry: Changed | Moved) -> list[Entry]:
    match entry.parts:
        case Table(rows=rows) as table if len(rows) > _ROWS:
            parts = [replace(table, rows=rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)]
            return [replace(entry, parts=part) for part in parts]
        case Lines(lines=lines) if len(lines) > _LINES:
            return [replace(entry, parts=Lines(lines[at : at + _LINES])) for at in range(0, len(lines), _LINES)]
    return [entry]
