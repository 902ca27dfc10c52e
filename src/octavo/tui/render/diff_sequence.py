"""The changes of a page as units, in the order one reads them, with the threads between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from octavo.documents.blocks import Block, Document, kinds_with, plain_text
from octavo.documents.diff_model import (
    Added,
    Changed,
    ChangeSize,
    ContainerChange,
    Diff,
    Entry,
    Moved,
    Removed,
    Restructured,
    Unchanged,
)
from octavo.documents.diff_text import SourceHunk
from octavo.tui.render.block_slices import is_long
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_context import PLAIN_FRAMES, PlacedUnit, Stretch, folded, name_of, naming
from octavo.tui.render.diff_units import Changes, DiffUnit, Unfolding, source_units
from octavo.tui.render.thread_lines import ThreadLine

_MOST_EXCHANGED = 8
_NEAR = 5
"""Lines between blocks that move together: blank ones, and tags of what they stand in."""
_OPENED = kinds_with("opened")


def changes(
    diff: Diff,
    unfolding: Unfolding,
    threads: Mapping[str, Sequence[ThreadLine]],
    title: str = "",
    *,
    side_by_side: bool = False,
) -> Changes:
    """The units of a rendered diff, threads at the blocks of their keys; "" for those on the page. `side_by_side`:
    blocks that went beside those that came in their place. They are made as they are cut: a page may have tens of
    thousands."""
    if diff.is_empty and not diff.unseen_lines and not threads:
        return Changes()
    return _Writer(unfolding, threads, title, side_by_side=side_by_side).write(diff)


def one_side(compared: Compared, side: str, threads: Mapping[str, Sequence[ThreadLine]], title: str = "") -> Changes:
    """The units of the `new` or `old` side of a page that was rewritten, under what is said about it. Threads on the
    other side are at the end."""
    was, now = compared.old, compared.new
    shown, other = (now, was) if side == "new" else (was, now)
    return _Writer(Unfolding(), threads, title).write_side(
        compared.diff, shown, other, _rewritten(compared.diff.size, side)
    )


def _rewritten(size: ChangeSize, side: str) -> str:
    """Return the note above one side of a rewritten page."""
    what = f"This page was rewritten: {size.removed} of {size.before} words removed, {size.added} added."
    if side == "new":
        return f"{what} Below is the new page. Press | for the old page."
    return f"{what} Below is the old page. Press | for the diff."


def source_changes(hunks: Sequence[SourceHunk]) -> Changes:
    """The units of a diff of two sources."""
    out = Changes()

    def units() -> Iterator[DiffUnit]:
        for hunk in hunks:
            if hunk.skipped:
                text = f"{hunk.skipped} {'line' if hunk.skipped == 1 else 'lines'} unchanged"
                yield DiffUnit("label", text=text)
            yield from source_units(hunk.lines, out.count)
            out.count += 1

    out.coming = units()
    return out


@dataclass(frozen=True)
class _Exchange:
    """Blocks that went, and those that came where they were."""

    gone: tuple[Block, ...]
    come: tuple[Block, ...]


def _exchanged(entries: Sequence[Entry]) -> Iterator[Entry | _Exchange]:
    """The entries, what went and came at one place together: a few at a time, so that a unit is soon set."""
    gone: list[Removed] = []
    come: list[Added] = []
    for entry in (*entries, None):
        if isinstance(entry, (Added, Removed)) and _is_exchanged(entry):
            gone += [entry] if isinstance(entry, Removed) else []
            come += [entry] if isinstance(entry, Added) else []
            continue
        for at in range(0, min(len(gone), len(come)), _MOST_EXCHANGED):
            old, new = gone[at : at + _MOST_EXCHANGED], come[at : at + _MOST_EXCHANGED]
            yield _Exchange(tuple(each.block for each in old), tuple(each.block for each in new))
        paired = _MOST_EXCHANGED * math.ceil(min(len(gone), len(come)) / _MOST_EXCHANGED)
        yield from gone[paired:]
        yield from come[paired:]
        gone, come = [], []
        if entry is not None:
            yield entry


def _is_exchanged(entry: Added | Removed) -> bool:
    return not entry.entries and not is_long(entry.block)


@dataclass(frozen=True)
class _Moves:
    """Blocks that moved together, where they were or where they are."""

    all: tuple[Moved, ...]


def _together(entries: Iterable[Entry | _Exchange]) -> Iterator[Entry | _Exchange | _Moves]:
    """The entries, blocks that moved together as one."""
    run: list[Moved] = []
    for entry in entries:
        is_move = isinstance(entry, Moved) and not (entry.arrives and isinstance(entry.parts, ContainerChange))
        if run and not (isinstance(entry, Moved) and is_move and _goes_on(run[-1], entry)):
            yield _Moves(tuple(run))
            run = []
        if isinstance(entry, Moved) and is_move:
            run.append(entry)
        else:
            yield entry
    if run:
        yield _Moves(tuple(run))


def _goes_on(move: Moved, following: Moved) -> bool:
    """Whether two blocks that stand one below the other stood so before they moved, or do now."""
    if move.arrives is not following.arrives:
        return False
    above, below = (move.old, following.old) if move.arrives else (move.new, following.new)
    return 0 <= below.lines[0] - above.lines[1] <= _NEAR


@dataclass
class _Level:
    """What is being written lies in it."""

    above: tuple[str, ...] = ()
    """The names of what is around it, outermost first, and its own."""
    named: Block | None = None
    """The innermost container that has a name."""
    called_by: Block | None = None
    """The heading that is its name."""
    old: tuple[Block, ...] = ()
    new: tuple[Block, ...] = ()
    """What it lies in on either side, outermost first, as far as that is shown around it."""
    heading: str = ""
    """The last heading that was met in it."""

    @property
    def place(self) -> tuple[str, ...]:
        """Where what comes next in it lies."""
        return (*self.above, self.heading) if self.heading else self.above


def _posted(lines: Sequence[ThreadLine]) -> int:
    """How many of them are threads, not drafts of one."""
    return sum(not each.is_draft for each in lines)


class _Writer:
    def __init__(
        self,
        unfolding: Unfolding,
        threads: Mapping[str, Sequence[ThreadLine]],
        title: str,
        *,
        side_by_side: bool = False,
    ) -> None:
        self._unfolding, self._title, self._side_by_side = unfolding, title, side_by_side
        self._threads = threads
        self._total = sum(map(_posted, threads.values()))
        self._given: set[str] = set()
        self._placed: list[PlacedUnit | Stretch] = []
        self._levels = [_Level()]
        self.out = Changes()
        self.out.thread_count = self._total

    def write(self, diff: Diff) -> Changes:
        def place() -> None:
            self._put_threads("", None)
            self._settings(diff)
            if diff.unseen_lines:
                lines = "1 line" if diff.unseen_lines == 1 else f"{diff.unseen_lines} lines"
                self._put_note(f"No visible changes. {lines} in the source changed.")
            self._entries(diff.entries)

        self.out.coming = self._units(place)
        return self.out

    def write_side(self, diff: Diff, shown: Document, other: Document, said: str) -> Changes:
        def place() -> None:
            self._put_threads("", None)
            self._settings(diff)
            self._put_note(said, change=self._next())
            for block in shown.blocks:
                self._put(DiffUnit("block", block))
                self._threads_of((block,))
            for block in other.blocks if self._threads else ():
                self._threads_of((block,), elsewhere=True)

        self.out.coming = self._units(place)
        return self.out

    def _units(self, place: Callable[[], None]) -> Iterator[DiffUnit]:
        """All units. `place` puts them where they lie."""
        place()
        for key in self._threads:
            if key not in self._given:
                self._put_threads(key, None)
        is_first = True
        for unit in folded(self._placed, self._unfolding, self._title):
            if not is_first:
                yield unit
                continue
            is_first = False
            if self._says_title(unit.block):
                yield unit._replace(tight=True)
            else:
                yield from self._title_above()
                yield unit
        if is_first:
            yield from self._title_above()

    def _title_above(self) -> Iterator[DiffUnit]:
        if self._title:
            yield DiffUnit("title", text=self._title, tight=True)

    def _says_title(self, block: Block | None) -> bool:
        return block is not None and block.kind == "heading" and plain_text(block.runs) == self._title

    def _settings(self, diff: Diff) -> None:
        for setting in diff.metadata:
            block = Block("note", key=f"note {len(self._placed)}")
            is_first = setting is diff.metadata[0]
            self._put(DiffUnit("setting", block, setting=setting, change=self._next(), tight=not is_first))

    def _put(self, unit: DiffUnit, *, is_same: bool = False, is_held: bool = False) -> None:
        inner = self._levels[-1]
        if unit.kind in ("block", "entry", "exchange") and (inner.new or inner.old) and not is_same:
            unit = unit._replace(within=inner.new, was_within=inner.old)
        says_itself = unit.block is not None and unit.block.kind == "heading"
        place = inner.above if says_itself else inner.place
        self._placed.append(PlacedUnit(unit, place, inner.named, is_same, is_held))

    def _put_note(self, text: str, change: int = -1) -> None:
        self._put(DiffUnit("note", Block("note", key=f"note {len(self._placed)}"), text=text, change=change))

    def _next(self) -> int:
        self.out.count += 1
        return self.out.count - 1

    def _entries(self, entries: Sequence[Entry]) -> None:
        """Put them."""
        for entry in _together(_exchanged(entries) if self._side_by_side else entries):
            match entry:
                case _Exchange(gone=gone, come=come):
                    self._put(DiffUnit("exchange", come[0], gone=gone, come=come, change=self._next()))
                    self._threads_of((*gone, *come), elsewhere=len(gone) + len(come) > 2)
                    self._passed(come[-1])
                case Unchanged(old=old, new=new):
                    self._same(old, new)
                case (
                    Changed(parts=ContainerChange() as inside) | Moved(parts=ContainerChange() as inside, arrives=True)
                ):
                    self._container(entry, inside)
                case Restructured():
                    if entry.note:
                        self._put_note(entry.note, change=self._next())
                    if entry.is_replaced:
                        self._replaced(entry)
                    else:
                        self._entries(entry.entries)
                    self._threads_of((*entry.new, *entry.old))
                case Added(entries=within) | Removed(entries=within) if within:
                    self._frame(entry)
                case Added(block=block) | Removed(block=block):
                    self._put(DiffUnit("entry", block, None, entry, change=self._next()))
                    self._threads_of((block,))
                    if isinstance(entry, Added):
                        self._passed(block)
                case _Moves():
                    self._moves(entry)
                case Changed(old=was, new=block) | Moved(old=was, new=block):
                    self._put(DiffUnit("entry", block, None, entry, change=self._next()))
                    self._threads_of((block, was))
                    self._passed(block)

    def _moves(self, moves: _Moves) -> None:
        """What moved together: what it is where it was, and all of it where it is."""
        first = moves.all[0]
        olds, news = tuple(each.old for each in moves.all), tuple(each.new for each in moves.all)
        if not first.arrives:
            self._put(DiffUnit("entry", first.new, None, first, change=self._next(), gone=olds, come=news))
            return
        for at, move in enumerate(moves.all):
            is_told = at > 0 and move.parts is None and not move.settings
            change = -1 if is_told else self._next()
            unit = DiffUnit("entry", move.new, None, move, change=change, follows=at > 0)
            self._put(unit if at else unit._replace(gone=olds, come=news))
            self._threads_of((move.new, move.old))
            self._passed(move.new)

    def _replaced(self, section: Restructured) -> None:
        """All that went and all that came: one change, each block a unit, beside one another a few at a time."""
        gone, come = list(section.old), list(section.new)
        is_short = not any(map(is_long, (*gone, *come)))
        while self._side_by_side and is_short and gone and come:
            pair = tuple(gone[:_MOST_EXCHANGED]), tuple(come[:_MOST_EXCHANGED])
            self._put(DiffUnit("exchange", come[0], gone=pair[0], come=pair[1]))
            gone, come = gone[_MOST_EXCHANGED:], come[_MOST_EXCHANGED:]
        for block in gone:
            self._put(DiffUnit("entry", block, None, Removed(block)))
        for block in come:
            self._put(DiffUnit("entry", block, None, Added(block)))
        for block in section.new:
            self._passed(block)

    def _frame(self, entry: Added | Removed) -> None:
        """A container that came or went around what is in it."""
        block = entry.block
        sides = (None, block) if isinstance(entry, Added) else (block, None)
        with self._within(*sides):
            if block.kind not in PLAIN_FRAMES:
                self._put(DiffUnit("entry", block, None, entry, change=self._next()))
            self._entries(entry.entries)
            self._put_threads(block.key, block)

    def _container(self, entry: Changed | Moved, inside: ContainerChange) -> None:
        has_title = inside.title is not None and bool(inside.title.sorts)
        with self._within(entry.old, entry.new):
            if isinstance(entry, Moved) or entry.notes or has_title:
                self._put(DiffUnit("entry", entry.new, None, entry, change=self._next()))
            self._entries(inside.entries)
            self._put_threads(entry.new.key, entry.new)
            self._put_threads(entry.old.key, entry.old)

    def _same(self, olds: Sequence[Block], news: Sequence[Block]) -> None:
        begun = 0
        for at, (old, new) in enumerate(zip(olds, news, strict=True)) if self._threads else ():
            hung = [each.key in self._threads for each in new.walk()]
            if not any(hung):
                continue
            self._stretch(olds[begun:at], news[begun:at])
            begun = at + 1
            if any(hung[1:]) and new.kind in _OPENED and len(old.children) == len(new.children):
                with self._within(old, new):
                    self._same(old.children, new.children)
                    self._put_threads(new.key, new)
                continue
            level = self._levels[-1]
            unit = DiffUnit("block", new, old, None, level.new, level.old)
            self._put(unit, is_same=True, is_held=True)
            self._threads_of((new,))
            self._passed(new)
        self._stretch(olds[begun:], news[begun:])

    def _stretch(self, olds: Sequence[Block], news: Sequence[Block]) -> None:
        level = self._levels[-1]
        firsts, places = [0], [level.place]
        for at, new in enumerate(news):
            if new.kind == "heading":
                self._passed(new)
                firsts += [at, at + 1]
                places += [level.above, level.place]
        if news:
            self._placed.append(Stretch(olds, news, level.new, level.old, level.named, firsts, places))

    def _passed(self, block: Block) -> None:
        """What follows lies under this heading, unless what it lies in is called by it."""
        level = self._levels[-1]
        if block.kind == "heading" and block is not level.called_by:
            said = "" if self._says_title(block) else plain_text(block.runs)  # the title stands above it all
            level.heading = " ".join(said.split())

    @contextmanager
    def _within(self, old: Block | None, new: Block | None) -> Iterator[None]:
        """What is put lies in a container of both sides, or of one."""
        outer, either = self._levels[-1], new or old
        assert either is not None, "the block must have a parent"
        name = name_of(either)
        was = (*outer.old, old) if old is not None else outer.old
        now = (*outer.new, new) if new is not None else outer.new
        named, called_by = (either, naming(either)) if name else (outer.named, None)
        above = (*outer.place, " ".join(name.split())) if name else outer.place
        self._levels.append(_Level(above, named, called_by, was, now))
        yield
        self._levels.pop()

    def _threads_of(self, blocks: Sequence[Block], *, elsewhere: bool = False) -> None:
        """The threads on blocks; `elsewhere`: which do not stand right above them, so that they quote them."""
        for block in blocks if self._threads else ():
            for each in block.walk():
                self._put_threads(each.key, block, each.plain() if elsewhere and each.key in self._threads else "")

    def _put_threads(self, key: str, block: Block | None, about: str = "") -> None:
        found = self._threads.get(key)
        if not found or key in self._given:
            return
        number = sum(_posted(self._threads[each]) for each in self._given)
        self._given.add(key)
        if about:
            about = " ".join(about.split())
            found = [replace(thread, about=thread.about or about) for thread in found]
        placed: list[tuple[ThreadLine, str]] = []
        for thread in found:
            number += not thread.is_draft
            placed.append((thread, "" if thread.is_draft else f"thread {number}/{self._total}"))
        above = block or Block("page-threads", key=key)
        self._put(DiffUnit("threads", above, threads=tuple(placed), tight=block is not None))
