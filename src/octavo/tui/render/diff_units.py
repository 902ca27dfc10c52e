"""The units of a diff: its parts that are set at once, and how much of what did not change is among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from octavo.documents.blocks import Block, Run
from octavo.documents.changes import Added, Changed, Entry, Line, Lines, Moved, Removed, Setting, Table, Word, Words
from octavo.tui.render.block_slices import MOST, is_long, kept_slices, slices, texts, weight, whole_of
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.thread_lines import ThreadLine

T = TypeVar("T")
_ROWS, _LINE = 60, 90
"""How many entries of a table that changed are set at a time, and what a line of code weighs beside its letters."""
_KEPT = 12
_kept: dict[int, tuple[Changed | Moved, list[Entry]]] = {}
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
    lines: tuple[Line, ...] = ()
    threads: tuple[tuple[ThreadLine, str], ...] = ()
    tight: bool = False
    """It stands right below what is before it."""
    part: int = 0
    """Which slice of a long change it is, counted from 1; 0 for the whole."""
    setting: Setting | None = None
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

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What it shows, of either side."""
        was = self.entry.old if isinstance(self.entry, (Changed, Moved)) else None
        return tuple(each for each in (self.block, self.old, was, *self.gone, *self.come) if each is not None)


class Changes(UnitReader[DiffUnit]):
    """The units of a diff, and how they are counted as far as they are made."""

    count = 0
    thread_count = 0

    def whole(self) -> Changes:
        """The same with all its units, which may take long to be made."""
        self.cut()
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
    return first <= other.lines[0] < end or block.kind == "footnotes"  # which stand anywhere


def cut(unit: DiffUnit) -> list[DiffUnit]:
    """A unit in slices; only the unit when it is not long."""
    match unit.entry:
        case None if unit.kind == "block" and unit.block is not None:
            if not is_long(unit.block):
                return [unit]
            olds = kept_slices(unit.old) if unit.old is not None else ()
            return [
                each._replace(block=piece, old=olds[at] if at < len(olds) else None)
                for at, (each, piece) in enumerate(_numbered(unit, kept_slices(unit.block)))
            ]
        case _ if unit.is_frame:
            return [unit]
        case Added(block=block):
            return [each._replace(block=piece, entry=Added(piece)) for each, piece in _numbered(unit, _shown(block))]
        case Removed(block=block):
            return [each._replace(block=piece, entry=Removed(piece)) for each, piece in _numbered(unit, _shown(block))]
        case Changed() | Moved() as entry:
            return [each._replace(entry=piece) for each, piece in _numbered(unit, kept_entries(entry))]
    return [unit]


def kept_entries(entry: Changed | Moved) -> Sequence[Entry]:
    """A change in slices: those of the long ones asked for last are kept."""
    if (known := _kept.get(id(entry))) is not None and known[0] is entry:
        return known[1]
    found = _entries(entry)
    if len(found) > 1:
        _kept[id(entry)] = (entry, found)
        while len(_kept) > _KEPT:
            _kept.pop(next(iter(_kept)), None)
    return found


def source_units(lines: Sequence[Line], count: int) -> Iterator[DiffUnit]:
    """The units of lines of source that changed: the change numbered `count`."""
    block = Block("change", key=f"change {count}")
    for at, some in enumerate(_stretches([part for line in lines for part in _parts(line)])):
        yield DiffUnit("lines", block, lines=tuple(some), change=-1 if at else count, tight=at > 0)


def _shown(block: Block) -> Sequence[Block]:
    """A block that came or went in slices. Of its tabs all are on show, so each is cut by itself."""
    if block.kind != "tabs" or not is_long(block):
        return kept_slices(block)
    return [piece for tab in block.children for piece in kept_slices(block._replace(children=(tab,)))]


def _numbered(unit: DiffUnit, pieces: Sequence[T]) -> list[tuple[DiffUnit, T]]:
    if len(pieces) == 1:
        return [(unit, pieces[0])]
    later = unit._replace(change=-1, tight=True)
    return [((later if at > 1 else unit)._replace(part=at), piece) for at, piece in enumerate(pieces, 1)]


def _entries(entry: Changed | Moved) -> list[Entry]:
    match entry.parts:
        case Table(rows=rows) as table:
            return _tables(entry, table) if len(rows) > _ROWS or any(map(_is_wordy, rows)) else [entry]
        case Lines(lines=lines):
            pieces = list(_stretches([part for line in lines for part in _parts(line)]))
            return [replace(entry, parts=Lines(tuple(piece))) for piece in pieces] if len(pieces) > 1 else [entry]
        case Words(words=words) as parts if not parts.is_rewritten and not any(
            _is_long(word.run.text) for word in words
        ):
            chunks = list(_chunks(words))
            return (
                [replace(entry, parts=replace(parts, words=chunk)) for chunk in chunks] if len(chunks) > 1 else [entry]
            )
        case None | Words() if is_long(entry.old) or is_long(entry.new):
            pairs = zip_longest(kept_slices(entry.old), kept_slices(entry.new))
            if len(both := list(pairs)) > 1:
                entry = replace(entry, parts=None)  # of a slice its own words are shown, not those of all
            return [_pair(entry, old, new) for old, new in both]
    return [entry]


def _pair(entry: Changed | Moved, old: Block | None, new: Block | None) -> Entry:
    if old is not None and new is not None:
        return replace(entry, old=old, new=new)
    if new is not None:
        return Added(new)
    assert old is not None, "One of them is longer"
    return Removed(old)


def _tables(entry: Changed | Moved, table: Table) -> list[Entry]:
    """A table in parts of some rows. A row with more in it than is set at a time is shown as it was and as it is."""
    out: list[Entry] = []
    some: list[Entry] = []
    for row in table.rows:
        if _is_wordy(row):
            out += [replace(entry, parts=replace(table, rows=tuple(some)))] if some else []
            some = []
            was = [row.old] if isinstance(row, (Changed, Moved)) else [row.block] if isinstance(row, Removed) else []
            now = [row.new] if isinstance(row, (Changed, Moved)) else [row.block] if isinstance(row, Added) else []
            out += [Removed(piece) for each in was for piece in slices(entry.old._replace(children=(each,)))]
            out += [Added(piece) for each in now for piece in slices(entry.new._replace(children=(each,)))]
        else:
            some.append(row)
        if len(some) >= _ROWS:
            out.append(replace(entry, parts=replace(table, rows=tuple(some))))
            some = []
    return [*out, replace(entry, parts=replace(table, rows=tuple(some)))] if some else out


def _is_wordy(row: Entry) -> bool:
    """Whether a row that is not the same on both sides holds more than is set at a time."""
    match row:
        case Changed(old=old, new=new) | Moved(old=old, new=new):
            return weight(old, 4 * MOST) + weight(new, 4 * MOST) > 4 * MOST
        case Added(block=block) | Removed(block=block):
            return weight(block, 2 * MOST) > 2 * MOST
    return False


def _chunks(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Words of a text, so many as are set at a time."""
    some: list[Word] = []
    held = 0
    for word in words:
        for part in _pieces_of(word):
            some.append(part)
            held += len(part.run.text) * (1 if part.run.text.isascii() else 4)
            if held > MOST:
                yield tuple(some)
                some, held = [], 0
    if some:
        yield tuple(some)


def _pieces_of(word: Word) -> Iterator[Word]:
    """A stretch of words as several, where it is one that stayed as it was."""
    if word.op != "equal" or len(word.run.text) <= MOST or word.old is not None:
        yield word
        return
    for text in texts(word.run.text):
        yield replace(word, run=word.run._replace(text=text))


def _stretches(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines of code or source, so many as are set at a time. Those far from a change are only counted: they stay
    together."""
    near = bytearray(len(lines) + 2 * CONTEXT)
    for at, line in enumerate(lines):
        if line.op != "equal":
            near[at : at + 2 * CONTEXT + 1] = b"\1" * (2 * CONTEXT + 1)
    some: list[Line] = []
    held = 0
    for at, line in enumerate(lines):
        if held > MOST and (not near[at + CONTEXT] or held > 2 * MOST):
            yield some
            some, held = [], 0
        some.append(line)
        held += len(line.old) + len(line.new) + _LINE if near[at + CONTEXT] else 0
    if some:
        yield some


def _parts(line: Line) -> Iterator[Line]:
    """A line that is too long to be set at a time as several."""
    if not _is_long(line.old) and not _is_long(line.new):
        yield line
        return
    if line.op == "equal":
        for text in texts(line.new):
            yield replace(line, old=text, new=text, words=(Word("equal", Run(text)),))
        return
    for text in texts(line.old) if line.op != "insert" else ():
        yield replace(line, op="delete", old=text, new="", words=(Word("delete", Run(text)),))
    for text in texts(line.new) if line.op != "delete" else ():
        yield replace(line, op="insert", old="", new=text, words=(Word("insert", Run(text)),))


def _is_long(text: str) -> bool:
    return len(text) > 2 * MOST
