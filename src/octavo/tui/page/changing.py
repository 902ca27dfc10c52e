"""The changes of a page as units: what is folded, what is shown around a change, which threads lie between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from octavo.documents.blocks import Block, Document, words
from octavo.documents.changes import (
    Added,
    Changed,
    Diff,
    Entry,
    Inside,
    Line,
    Lines,
    Moved,
    Removed,
    Restructured,
    Same,
    Setting,
    Size,
    Table,
)
from octavo.documents.source_diff import Hunk
from octavo.tui.page.compared import Compared
from octavo.tui.page.setting import trail
from octavo.tui.page.slices import slices
from octavo.tui.page.threads import ThreadLine

T = TypeVar("T")
_MOST_EXCHANGED = 8
_ROWS, _LINES = 60, 300
"""How many entries of a table that changed, and lines of code, are set at a time."""
_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}


@dataclass(frozen=True)
class DiffUnit:
    """A part of a diff that is set at once.

    Kinds: title, block (unchanged), fold, entry (a change), exchange (blocks that went and
    those that came in their place), label (where what follows lies), note (a sentence), setting (of the page), lines (of source), threads.
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

    def more(self) -> None:
        self.step = min(self.step + 1, len(self.STEPS) - 1)

    def less(self) -> None:
        self.step = max(0, self.step - 1)
        self.opened.clear()


def changes(
    diff: Diff,
    unfolding: Unfolding,
    threads: Mapping[str, Sequence[ThreadLine]],
    title: str = "",
    *,
    side_by_side: bool = False,
) -> Changes:
    """The units of a rendered diff, threads at the blocks of their keys; "" for those on the page. `side_by_side`:
    blocks that went beside those that came in their place."""
    writer = _Writer(unfolding, threads, side_by_side=side_by_side)
    if diff.is_empty and not diff.unseen_lines and not threads:
        return Changes()
    if title:
        writer.out.units.append(DiffUnit("title", text=title, tight=True))
    return writer.write(diff)


def one_side(compared: Compared, side: str, threads: Mapping[str, Sequence[ThreadLine]], title: str = "") -> Changes:
    """The units of the `new` or `old` side of a page that was rewritten, under what is said about it. Threads on the
    other side are at the end."""
    writer = _Writer(Unfolding(), threads)
    if title:
        writer.out.units.append(DiffUnit("title", text=title, tight=True))
    was, now = compared.old, compared.new
    shown, other = (now, was) if side == "new" else (was, now)
    return writer.write_side(compared.diff, shown, other, _rewritten(compared.diff.size, side))


def _rewritten(size: Size, side: str) -> str:
    """What is said above one side of a page that was rewritten."""
    what = f"This page was rewritten: {size.removed} of its {size.before} words went, {size.added} came."
    if side == "new":
        return f"{what} Below it stands as it is now; | shows it as it was."
    return f"{what} Below it stands as it was; | shows what changed, part by part."


def source_changes(hunks: Sequence[Hunk]) -> Changes:
    """The units of a diff of two sources."""
    out = Changes()
    for hunk in hunks:
        if hunk.skipped:
            text = f"{hunk.skipped} {'line' if hunk.skipped == 1 else 'lines'} unchanged"
            out.units.append(DiffUnit("label", text=text))
        out.units.append(
            DiffUnit("lines", Block("change", key=f"change {out.count}"), lines=hunk.lines, change=out.count)
        )
        out.count += 1
    return out


@dataclass(frozen=True)
class _Exchange:
    """Blocks that went, and those that came where they were."""

    gone: tuple[Block, ...]
    come: tuple[Block, ...]


def _exchanged(entries: Sequence[Entry]) -> list[Entry | _Exchange]:
    """The entries, what went and came at one place together: a few at a time, so that a unit is soon set."""
    out: list[Entry | _Exchange] = []
    for is_exchange, group in groupby(entries, _is_exchanged):
        run = list(group)
        gone = [entry for entry in run if isinstance(entry, Removed)] if is_exchange else []
        come = [entry for entry in run if isinstance(entry, Added)] if is_exchange else []
        while gone and come:
            old, new = gone[:_MOST_EXCHANGED], come[:_MOST_EXCHANGED]
            out.append(_Exchange(tuple(each.block for each in old), tuple(each.block for each in new)))
            gone, come = gone[_MOST_EXCHANGED:], come[_MOST_EXCHANGED:]
        out += [*gone, *come] if is_exchange else run
    return out


def _is_exchanged(entry: Entry) -> bool:
    return isinstance(entry, (Added, Removed)) and len(slices(entry.block)) == 1


class _Writer:
    def __init__(
        self, unfolding: Unfolding, threads: Mapping[str, Sequence[ThreadLine]], *, side_by_side: bool = False
    ) -> None:
        self._unfolding, self._side_by_side = unfolding, side_by_side
        self._threads = threads
        self._total = sum(map(len, threads.values()))
        self._given: set[str] = set()
        self._lists: dict[int, Block] = {}
        """The lists that items are in, by the identity of the item."""
        self.out = Changes(thread_count=self._total)

    def write(self, diff: Diff) -> Changes:
        self._put_threads("", None)
        self._settings(diff)
        if diff.unseen_lines:
            lines = "1 line" if diff.unseen_lines == 1 else f"{diff.unseen_lines} lines"
            self._put_note(f"Nothing that shows changed; {lines} of source did.")
        self._entries(diff.entries, None)
        return self._finished()

    def write_side(self, diff: Diff, shown: Document, other: Document, said: str) -> Changes:
        self._put_threads("", None)
        self._settings(diff)
        self._put_note(said, change=self._next())
        for block in shown.blocks:
            self._put(DiffUnit("block", block))
            self._threads_of((block,))
        self._threads_of(other.blocks, elsewhere=True)
        return self._finished()

    def _finished(self) -> Changes:
        for key in self._threads:
            if key not in self._given:
                self._put_threads(key, None)
        return self.out

    def _settings(self, diff: Diff) -> None:
        for setting in diff.metadata:
            block = Block("note", key=f"note {len(self.out.units)}")
            is_first = setting is diff.metadata[0]
            self._put(DiffUnit("setting", block, setting=setting, change=self._next(), tight=not is_first))

    def _put(self, unit: DiffUnit) -> None:
        of_list = self._lists.get(id(unit.parent))
        self.out.units += _cut(replace(unit, of_list=of_list) if of_list is not None else unit)

    def _put_note(self, text: str, change: int = -1) -> None:
        self._put(DiffUnit("note", Block("note", key=f"note {len(self.out.units)}"), text=text, change=change))

    def _next(self) -> int:
        self.out.count += 1
        return self.out.count - 1

    def _entries(self, entries: Sequence[Entry], parent: Block | None) -> None:
        told = _exchanged(entries) if self._side_by_side else entries
        for index, entry in enumerate(told):
            match entry:
                case _Exchange(gone=gone, come=come):
                    self._put(DiffUnit("exchange", come[0], gone=gone, come=come, parent=parent, change=self._next()))
                    self._threads_of((*gone, *come), elsewhere=len(gone) + len(come) > 2)
                case Same():
                    self._same(entry, index > 0, index + 1 < len(told), parent)
                case Changed(parts=Inside() as inside):
                    self._container(entry, inside, parent)
                case Restructured():
                    self._put_note(entry.note, change=self._next())
                    self._entries(entry.entries, None)
                    self._threads_of((*entry.new, *entry.old))
                case Added(block=block) | Removed(block=block):
                    self._put(DiffUnit("entry", block, None, entry, parent, change=self._next()))
                    self._threads_of((block,))
                case Changed(old=old, new=block) | Moved(old=old, new=block):
                    self._put(DiffUnit("entry", block, None, entry, parent, change=self._next()))
                    if not isinstance(entry, Moved) or entry.arrives:
                        self._threads_of((block, old))

    def _container(self, entry: Changed, inside: Inside, parent: Block | None) -> None:
        has_title = inside.title is not None and bool(inside.title.sorts)
        if entry.new.kind in ("item", "task") and parent is not None:
            self._lists[id(entry.new)] = parent
        if name := _name(entry.new):
            self._put(DiffUnit("label", text=f"in {name}"))
        if entry.notes or has_title:
            self._put(DiffUnit("entry", entry.new, None, entry, parent, change=self._next()))
        self._entries(inside.entries, entry.new)
        self._put_threads(entry.new.key, entry.new)
        self._put_threads(entry.old.key, entry.old)

    def _same(self, entry: Same, before: bool, after: bool, parent: Block | None) -> None:
        blocks, around = entry.new, self._unfolding.around
        kept = [
            (before and index < around)
            or (after and index >= len(blocks) - around)
            or any(each.key in self._threads for each in block.walk())
            for index, block in enumerate(blocks)
        ]
        index = 0
        while index < len(blocks):
            end = index
            while end < len(blocks) and not kept[end]:
                end += 1
            if end - index == 1 and around:
                kept[index] = True
                continue
            if end > index:
                self._fold(entry, index, end, parent)
                index = end
                continue
            self._put(DiffUnit("block", blocks[index], entry.old[index], parent=parent))
            self._threads_of((blocks[index],))
            index += 1

    def _fold(self, entry: Same, start: int, end: int, parent: Block | None) -> None:
        blocks = entry.new[start:end]
        heading = entry.heading if end == len(entry.new) else _heading(entry.new[:end])
        key = f"fold {blocks[0].key}"
        if key in self._unfolding.opened:
            for old, block in zip(entry.old[start:end], blocks, strict=True):
                self._put(DiffUnit("block", block, old, parent=parent))
            return
        unit = "block" if parent is None else {"list": "item", "table": "row"}.get(parent.kind, "block")
        text = f"{len(blocks)} {unit if len(blocks) == 1 else unit + 's'} unchanged"
        text += f" · {heading}" if heading else ""
        self._put(DiffUnit("fold", Block("fold", key=key), text=text, hidden=blocks))

    def _threads_of(self, blocks: Sequence[Block], *, elsewhere: bool = False) -> None:
        """The threads on blocks; `elsewhere`: which do not stand right above them, so that they quote them."""
        for block in blocks:
            for each in block.walk():
                self._put_threads(each.key, block, each.plain() if elsewhere and each.key in self._threads else "")

    def _put_threads(self, key: str, block: Block | None, about: str = "") -> None:
        found = self._threads.get(key)
        if not found or key in self._given:
            return
        first = sum(len(self._threads[each]) for each in self._given) + 1
        self._given.add(key)
        if about:
            about = " ".join(about.split())
            found = [replace(thread, about=thread.about or about) for thread in found]
        placed = tuple((thread, f"thread {number}/{self._total}") for number, thread in enumerate(found, first))
        self._put(DiffUnit("threads", block or Block("page-threads", key=key), threads=placed, tight=block is not None))


def _heading(blocks: Sequence[Block]) -> str:
    return next((words(block.runs) for block in reversed(blocks) if block.kind == "heading"), "")


def _name(block: Block) -> str:
    """What a container is called, when saying so helps."""
    if block.kind in ("list", "document", "columns", "column", "tabs", "stepper", "updates", "figure", "item", "task"):
        return ""
    title = str(block.attrs.get("title") or block.attrs.get("date") or words(block.runs) or "")
    if not title and block.children and block.children[0].kind == "heading":
        title = words(block.children[0].runs)
    name = _NAMES.get(block.kind, block.kind.replace("-", " "))
    return f"{name} “{title}”" if title else name


def _cut(unit: DiffUnit) -> list[DiffUnit]:
    """A unit in slices; only the unit when it is not long."""
    match unit.entry:
        case None if unit.kind == "block" and unit.block is not None:
            olds = slices(unit.old) if unit.old is not None else []
            return [
                replace(each, block=piece, old=olds[at] if at < len(olds) else None)
                for at, (each, piece) in enumerate(_numbered(unit, slices(unit.block)))
            ]
        case Added(block=block):
            return [replace(each, block=piece, entry=Added(piece)) for each, piece in _numbered(unit, slices(block))]
        case Removed(block=block):
            return [replace(each, block=piece, entry=Removed(piece)) for each, piece in _numbered(unit, slices(block))]
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
