"""The units of a diff: its parts that are set at once, and how much of what did not change is among them."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_model import (
    Added,
    AttributeChange,
    Changed,
    CodeChange,
    Entry,
    LineChange,
    Moved,
    Removed,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.tui.render.block_slices import SLICE_WEIGHT, is_long, kept_slices, slices, texts, weight, whole_of
from octavo.tui.render.kept_results import KeptResults
from octavo.tui.render.thread_lines import ThreadLine

T = TypeVar("T")
_ROWS, _LINE = 60, 90
"""How many entries of a table that changed are laid out at a time, and what a line of code weighs beside its letters."""
_kept: KeptResults[Changed | Moved, list[Entry]] = KeptResults()
_ANYWHERE, _ENDLESS = "footnotes", 1 << 30
"""What has its parts on any lines of the page, and a line that no page has."""
CONTEXT = 3
"""Unchanged lines of code on each side of changed ones."""


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
    within: tuple[Block, ...] = ()
    """What the block lies in and may have to be shown as part of, outermost first: of a page as it is, for what is on it."""
    was_within: tuple[Block, ...] = ()
    """The same of the page as it was."""
    text: str = ""
    place: tuple[str, ...] = ()
    """Where what follows lies: the section and what holds it, outermost first."""
    change: int = -1
    """Which change it is, counted from 0; -1 for what is none."""
    lines: tuple[LineChange, ...] = ()
    threads: tuple[tuple[ThreadLine, str], ...] = ()
    tight: bool = False
    """It stands right below what is before it."""
    part: int = 0
    """Which slice of a long change it is, counted from 1; 0 for the whole."""
    setting: AttributeChange | None = None
    gone: tuple[Block, ...] = ()
    come: tuple[Block, ...] = ()
    """What came in place of what is gone. Of a move, where all that moved together was and is."""
    follows: bool = False
    """It moved together with what stands above it."""
    hidden: tuple[Block, ...] = ()
    """What is folded."""
    clip: int = 0
    """Only so many of its lines are shown, the first ones, or if it is below 0 the last ones; 0 for all."""

    @property
    def is_frame(self) -> bool:
        """Whether it says that a container came or went around what follows."""
        return isinstance(self.entry, (Added, Removed)) and bool(self.entry.entries)

    def holds(self, key: str) -> bool:
        """Whether the block called `key` is shown by it, or folded."""
        return any(block.has(key) for block in (*self.blocks, *self.hidden))

    def hides(self, block: Block) -> bool:
        """Whether a block of the page as it is, or what goes by its name, is folded."""
        line = block.lines[0]
        near = [each for each in self.hidden if each.lines[0] <= line < each.lines[1] or each.kind == _ANYWHERE]
        return any(each.has(block.key) for each in near)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What it shows, of either side."""
        was = self.entry.old if isinstance(self.entry, (Changed, Moved)) else None
        return tuple(each for each in (self.block, self.old, was, *self.gone, *self.come) if each is not None)


class Changes:
    """The units of a diff, and their counts. `steps` makes them one by one."""

    count = 0
    thread_count = 0

    def __init__(self) -> None:
        self.units: list[DiffUnit] = []
        """The units that are made."""
        self.coming: Iterator[DiffUnit] = iter(())
        """The units that are still to be made."""
        self._firsts, self._ends = array("l"), array("l")
        """Between which lines all that each unit shows stands, of either side: to ask all units for it takes long."""

    def steps(self) -> Iterator[DiffUnit]:
        """Make the units, and yield each."""
        for unit in self.coming:
            wholes = [whole_of(block) for block in unit.blocks]
            is_anywhere = any(block.kind == _ANYWHERE for block in wholes)
            self._firsts.append(0 if is_anywhere else min([block.lines[0] for block in wholes], default=0))
            self._ends.append(_ENDLESS if is_anywhere else max([block.lines[1] for block in wholes], default=0))
            self.units.append(unit)
            yield unit

    def around(self, line: int) -> list[int]:
        """The units that may show what stands on a line of either side."""
        return [at for at, (first, end) in enumerate(zip(self._firsts, self._ends, strict=True)) if first <= line < end]

    def whole(self) -> Changes:
        """Return the changes with all their units, which may take long to be made."""
        deque(self.steps(), maxlen=0)
        return self


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


def may_hold(block: Block, other: Block) -> bool:
    """Whether a block, or a slice of one, may be or have in it another one of the same page, by the lines they stand on."""
    first, end = whole_of(block).lines
    return first <= other.lines[0] < end or block.kind == _ANYWHERE


def cut(unit: DiffUnit) -> Iterator[DiffUnit]:
    """A unit in slices, cut as they are asked for; only the unit when it is not long."""
    match unit.entry:
        case None if unit.kind == "block" and unit.block is not None:
            olds = kept_slices(unit.old) if unit.old is not None else iter(())
            for each, piece in _numbered(unit, kept_slices(unit.block)):
                yield each._replace(block=piece, old=next(olds, None))
        case Added() | Removed() as entry if not unit.is_frame:
            for each, piece in _numbered(unit, _shown(entry.block)):
                yield each._replace(block=piece, entry=replace(entry, block=piece))
        case Changed() | Moved() as entry:
            for each, part in _numbered(unit, kept_entries(entry)):
                yield each._replace(entry=part)
        case _:
            yield unit


def kept_entries(entry: Changed | Moved) -> Iterator[Entry]:
    """A change in slices. The slices of the long changes that were cut last are kept."""
    if (known := _kept.of(entry)) is not None:
        yield from known
        return
    found: list[Entry] = []
    for piece in _entries(entry):
        found.append(piece)
        yield piece
    if len(found) > 1:
        _kept.keep(entry, found)


def source_units(lines: Sequence[LineChange], count: int) -> Iterator[DiffUnit]:
    """The units of lines of source that changed: the change numbered `count`."""
    block = Block("change", key=f"change {count}")
    for at, some in enumerate(_stretches(part for line in lines for part in _parts(line))):
        yield DiffUnit("lines", block, lines=some, change=-1 if at else count, tight=at > 0)


def _shown(block: Block) -> Iterator[Block]:
    """A block that came or went in slices. Of its tabs all are on show, so each is cut by itself."""
    if block.kind != "tabs" or not is_long(block):
        return kept_slices(block)
    return (piece for tab in block.children for piece in kept_slices(block._replace(children=(tab,))))


def _numbered(unit: DiffUnit, pieces: Iterator[T]) -> Iterator[tuple[DiffUnit, T]]:
    """The pieces of a unit, each with the unit that is to hold it: the one itself where there is only one piece."""
    later = unit._replace(change=-1, tight=True)
    first: T | None = None
    at = 0
    for piece in pieces:
        at += 1
        if first is None:
            first = piece
            continue
        if at == 2:
            yield unit._replace(part=1), first
        yield later._replace(part=at), piece
    if at == 1 and first is not None:
        yield unit, first


def _entries(entry: Changed | Moved) -> Iterator[Entry]:
    match entry.parts:
        case TableChange() as table:
            yield from _tables(entry, table)
        case CodeChange(lines=lines):
            for some in _stretches(near_changes(lines)):
                yield replace(entry, parts=CodeChange(some))
        case TextChange(words=words) as parts if not parts.is_rewritten and not any(
            _is_long(word.run.text) for word in words
        ):
            for chunk in _chunks(words):
                yield entry if len(chunk) == len(words) else replace(entry, parts=replace(parts, words=chunk))
        case None | TextChange() if is_long(entry.old) or is_long(entry.new):
            pairs = zip_longest(kept_slices(entry.old), kept_slices(entry.new))
            if len(both := list(pairs)) > 1:
                entry = replace(entry, parts=None)  # of a slice its own words are shown, not those of all
            for old, new in both:
                yield _pair(entry, old, new)
        case _:
            yield entry


def _pair(entry: Changed | Moved, old: Block | None, new: Block | None) -> Entry:
    if old is not None and new is not None:
        return replace(entry, old=old, new=new)
    if new is not None:
        return Added(new)
    assert old is not None, "one version must be longer than the other"
    return Removed(old)


def _tables(entry: Changed | Moved, table: TableChange) -> Iterator[Entry]:
    """A table in parts of some rows. A row with more in it than is set at a time is shown as it was and as it is."""
    some: list[Entry] = []

    def part() -> Entry:
        return entry if len(some) == len(table.rows) else replace(entry, parts=replace(table, rows=tuple(some)))

    for row in table.rows:
        if _is_wordy(row):
            if some:
                yield part()
            some = []
            was = [row.old] if isinstance(row, (Changed, Moved)) else [row.block] if isinstance(row, Removed) else []
            now = [row.new] if isinstance(row, (Changed, Moved)) else [row.block] if isinstance(row, Added) else []
            yield from (Removed(piece) for each in was for piece in slices(entry.old._replace(children=(each,))))
            yield from (Added(piece) for each in now for piece in slices(entry.new._replace(children=(each,))))
        else:
            some.append(row)
        if len(some) >= _ROWS:
            yield part()
            some = []
    if some or not table.rows:
        yield part()


def _is_wordy(row: Entry) -> bool:
    """Whether a row that is not the same on both sides holds more than is set at a time."""
    match row:
        case Changed(old=old, new=new) | Moved(old=old, new=new):
            return weight(old, 4 * SLICE_WEIGHT) + weight(new, 4 * SLICE_WEIGHT) > 4 * SLICE_WEIGHT
        case Added(block=block) | Removed(block=block):
            return weight(block, 2 * SLICE_WEIGHT) > 2 * SLICE_WEIGHT
    return False


def _chunks(words: Sequence[TextPart]) -> Iterator[tuple[TextPart, ...]]:
    """Words of a text, so many as are set at a time."""
    some: list[TextPart] = []
    held = 0
    for word in words:
        for part in _pieces_of(word):
            some.append(part)
            held += len(part.run.text) * (1 if part.run.text.isascii() else 4)
            if held > SLICE_WEIGHT:
                yield tuple(some)
                some, held = [], 0
    if some:
        yield tuple(some)


def _pieces_of(word: TextPart) -> Iterator[TextPart]:
    """A stretch of words as several, where it is one that stayed as it was."""
    if word.op != "equal" or len(word.run.text) <= SLICE_WEIGHT or word.old is not None:
        yield word
        return
    for text in texts(word.run.text):
        yield replace(word, run=word.run._replace(text=text))


def near_changes(lines: Sequence[LineChange]) -> Iterator[LineChange]:
    """Lines of code, those that are too long as several; of those far from a change is only told how many they are."""
    waiting: deque[LineChange] = deque()
    """Lines that stayed, and of which it is not known whether they stand before a change."""
    untold, since = 0, CONTEXT
    for line in lines:
        for part in _parts(line) if _is_long(line.old) or _is_long(line.new) else (line,):
            if part.op != "equal":
                if untold:
                    yield LineChange("equal", untold=untold)
                yield from waiting
                waiting.clear()
                untold = since = 0
                yield part
            elif since < CONTEXT:
                since += 1
                yield part
            else:
                waiting.append(part)
                if len(waiting) > CONTEXT:
                    untold += waiting.popleft().untold or 1
    if untold := untold + sum(line.untold or 1 for line in waiting):
        yield LineChange("equal", untold=untold)


def _stretches(lines: Iterable[LineChange]) -> Iterator[tuple[LineChange, ...]]:
    """Lines of code or source, so many as are set at a time."""
    some: list[LineChange] = []
    held = 0
    for line in lines:
        if held > SLICE_WEIGHT and (line.untold or held > 2 * SLICE_WEIGHT):
            yield tuple(some)
            some, held = [], 0
        some.append(line)
        held += len(line.old) + len(line.new) + _LINE
    if some:
        yield tuple(some)


def _parts(line: LineChange) -> Iterator[LineChange]:
    """A line that is too long to be set at a time as several."""
    if not _is_long(line.old) and not _is_long(line.new):
        yield line
        return
    if line.op == "equal":
        for text in texts(line.new):
            yield replace(line, old=text, new=text, words=(TextPart("equal", Run(text)),))
        return
    for text in texts(line.old) if line.op != "insert" else ():
        yield replace(line, op="delete", old=text, new="", words=(TextPart("delete", Run(text)),))
    for text in texts(line.new) if line.op != "delete" else ():
        yield replace(line, op="insert", old="", new=text, words=(TextPart("insert", Run(text)),))


def _is_long(text: str) -> bool:
    return len(text) > 2 * SLICE_WEIGHT
