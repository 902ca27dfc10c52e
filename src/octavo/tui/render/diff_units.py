"""The units of a diff: its parts that are set at once, and how much of what did not change is among them."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.documents.changes import Added, Changed, Entry, Line, Moved, Removed, Setting
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.threads import ThreadSummary

_SCATTERED_KIND, _LAST_LINE = "footnotes", 1 << 30
"""What has its parts on any lines of the page, and a line that no page has."""


class DiffUnit(NamedTuple):
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
    ancestors: tuple[Block, ...] = ()
    """What the block lies in and may have to be shown as part of, outermost first: of a page as it is, for what is on it."""
    old_ancestors: tuple[Block, ...] = ()
    """The same of the page as it was."""
    text: str = ""
    section_path: tuple[str, ...] = ()
    """Where what follows lies: the section and what holds it, outermost first."""
    change_number: int = -1
    """Which change it is, counted from 0; -1 for what is none."""
    lines: tuple[Line, ...] = ()
    threads: tuple[tuple[ThreadSummary, str], ...] = ()
    is_tight: bool = False
    """It stands right below what is before it."""
    slice_number: int = 0
    """Which slice of a long change it is, counted from 1; 0 for the whole."""
    setting: Setting | None = None
    removed: tuple[Block, ...] = ()
    added: tuple[Block, ...] = ()
    """What came in place of what is gone. Of a move, where all that moved together was and is."""
    follows_move: bool = False
    """It moved together with what stands above it."""
    hidden_blocks: tuple[Block, ...] = ()
    """What is folded."""
    line_limit: int = 0
    """Only so many of its lines are shown, the first ones, or if it is below 0 the last ones; 0 for all."""

    @property
    def is_container_change(self) -> bool:
        """Whether it says that a container came or went around what follows."""
        return isinstance(self.entry, (Added, Removed)) and bool(self.entry.entries)

    def contains(self, key: str) -> bool:
        """Whether the block called `key` is shown by it, or folded."""
        return any(block.has(key) for block in (*self.blocks, *self.hidden_blocks))

    def hides(self, block: Block) -> bool:
        """Whether a block of the page as it is, or what goes by its name, is folded."""
        line = block.lines[0]
        near = [
            each for each in self.hidden_blocks if each.lines[0] <= line < each.lines[1] or each.kind == _SCATTERED_KIND
        ]
        return any(each.has(block.key) for each in near)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What it shows, of either side."""
        was = self.entry.old if isinstance(self.entry, (Changed, Moved)) else None
        return tuple(each for each in (self.block, self.old, was, *self.removed, *self.added) if each is not None)


class DiffUnits:
    """The units of a diff, and their counts. `steps` makes them one by one."""

    count = 0
    thread_count = 0

    def __init__(self) -> None:
        self.units: list[DiffUnit] = []
        """The units that are made."""
        self.remaining: Iterator[DiffUnit] = iter(())
        """The units that are still to be made."""
        self._first_lines, self._end_lines = array("l"), array("l")
        """Between which lines all that each unit shows stands, of either side: to ask all units for it takes long."""

    def build(self) -> Iterator[DiffUnit]:
        """Make the units, and yield each."""
        for unit in self.remaining:
            wholes = [whole_block(block) for block in unit.blocks]
            is_anywhere = any(block.kind == _SCATTERED_KIND for block in wholes)
            self._first_lines.append(0 if is_anywhere else min([block.lines[0] for block in wholes], default=0))
            self._end_lines.append(_LAST_LINE if is_anywhere else max([block.lines[1] for block in wholes], default=0))
            self.units.append(unit)
            yield unit

    def units_at_line(self, line: int) -> list[int]:
        """The units that may show what stands on a line of either side."""
        return [
            at
            for at, (first, end) in enumerate(zip(self._first_lines, self._end_lines, strict=True))
            if first <= line < end
        ]

    def complete(self) -> DiffUnits:
        """Return the changes with all their units, which may take long to be made."""
        deque(self.build(), maxlen=0)
        return self


class ContextSize:
    """How much of what did not change is shown."""

    STEPS = (0, 1, 3, 8, 1 << 30)

    def __init__(self) -> None:
        self.step = 1
        self.expanded: set[str] = set()

    @property
    def blocks(self) -> int:
        """Unchanged blocks on each side of a change."""
        return self.STEPS[self.step]

    @property
    def is_brief(self) -> bool:
        """Whether the blocks around a change are there to tell where one is: a few lines, and only of what is read."""
        return self.blocks <= 1

    def increase(self) -> None:
        self.step = min(self.step + 1, len(self.STEPS) - 1)

    def decrease(self) -> None:
        self.step = max(0, self.step - 1)
        self.expanded.clear()


def may_contain(block: Block, other: Block) -> bool:
    """Whether a block, or a slice of one, may be or have in it another one of the same page, by the lines they stand on."""
    first, end = whole_block(block).lines
    return first <= other.lines[0] < end or block.kind == _SCATTERED_KIND
