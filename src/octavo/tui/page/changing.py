"""The changes of a page as units: what is folded, what is shown around a change, which threads lie between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from octavo.documents.blocks import Block, words
from octavo.documents.changes import Added, Changed, Diff, Entry, Inside, Line, Moved, Removed, Restructured, Same
from octavo.documents.source_diff import Hunk
from octavo.tui.page.threads import ThreadLine

_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}


@dataclass(frozen=True)
class DiffUnit:
    """A part of a diff that is set at once.

    Kinds: title, block (unchanged), fold, entry (a change), label (where what follows lies), note (a sentence), lines (of
    source), threads.
    """

    kind: str
    block: Block | None = None
    entry: Entry | None = None
    parent: Block | None = None
    """The container the block lies in, when it has to be shown as part of it."""
    text: str = ""
    count: int = 0
    change: int = -1
    """Which change it is, counted from 0; -1 for what is none."""
    lines: tuple[Line, ...] = ()
    threads: tuple[tuple[ThreadLine, str], ...] = ()
    tight: bool = False
    """It stands right below what is before it."""


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


def changes(diff: Diff, unfolding: Unfolding, threads: Mapping[str, Sequence[ThreadLine]], title: str = "") -> Changes:
    """The units of a rendered diff, threads at the blocks of their keys; "" for those on the page."""
    writer = _Writer(unfolding, threads)
    if diff.is_empty and not diff.unseen_lines and not threads:
        return Changes()
    if title:
        writer.out.units.append(DiffUnit("title", text=title, tight=True))
    return writer.write(diff)


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


class _Writer:
    def __init__(self, unfolding: Unfolding, threads: Mapping[str, Sequence[ThreadLine]]) -> None:
        self._unfolding = unfolding
        self._threads = threads
        self._total = sum(map(len, threads.values()))
        self._given: set[str] = set()
        self.out = Changes(thread_count=self._total)

    def write(self, diff: Diff) -> Changes:
        self._put_threads("", None)
        for setting in diff.metadata:
            self._put_note(f"page {setting}", change=self._next())
        if diff.unseen_lines:
            lines = "1 line" if diff.unseen_lines == 1 else f"{diff.unseen_lines} lines"
            self._put_note(f"Nothing that shows changed; {lines} of source did.")
        self._entries(diff.entries, None)
        for key in self._threads:
            if key not in self._given:
                self._put_threads(key, None)
        return self.out

    def _put(self, unit: DiffUnit) -> None:
        self.out.units.append(unit)

    def _put_note(self, text: str, change: int = -1) -> None:
        self._put(DiffUnit("note", Block("note", key=f"note {len(self.out.units)}"), text=text, change=change))

    def _next(self) -> int:
        self.out.count += 1
        return self.out.count - 1

    def _entries(self, entries: Sequence[Entry], parent: Block | None) -> None:
        for index, entry in enumerate(entries):
            match entry:
                case Same():
                    self._same(entry, index > 0, index + 1 < len(entries), parent)
                case Changed(parts=Inside() as inside):
                    self._container(entry, inside, parent)
                case Restructured():
                    self._put_note(entry.note, change=self._next())
                    self._entries(entry.entries, None)
                    self._threads_of(entry.new)
                case Added(block=block) | Removed(block=block):
                    self._put(DiffUnit("entry", block, entry, parent, change=self._next()))
                    self._threads_of((block,))
                case Changed(new=block) | Moved(new=block):
                    self._put(DiffUnit("entry", block, entry, parent, change=self._next()))
                    self._threads_of((block,))

    def _container(self, entry: Changed, inside: Inside, parent: Block | None) -> None:
        has_title = inside.title is not None and bool(inside.title.sorts)
        if name := _name(entry.new):
            self._put(DiffUnit("label", text=f"in {name}"))
        if entry.notes or has_title:
            self._put(DiffUnit("entry", entry.new, entry, parent, change=self._next()))
        self._entries(inside.entries, entry.new)
        self._put_threads(entry.new.key, entry.new)

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
                self._fold(blocks[index:end], entry.heading if end == len(blocks) else _heading(blocks[:end]), parent)
                index = end
                continue
            self._put(DiffUnit("block", blocks[index], parent=parent))
            self._threads_of((blocks[index],))
            index += 1

    def _fold(self, blocks: Sequence[Block], heading: str, parent: Block | None) -> None:
        key = f"fold {blocks[0].key}"
        if key in self._unfolding.opened:
            for block in blocks:
                self._put(DiffUnit("block", block, parent=parent))
            return
        unit = "block" if parent is None else {"list": "item", "table": "row"}.get(parent.kind, "block")
        text = f"{len(blocks)} {unit if len(blocks) == 1 else unit + 's'} unchanged"
        text += f" · {heading}" if heading else ""
        self._put(DiffUnit("fold", Block("fold", key=key), text=text, count=len(blocks)))

    def _threads_of(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            for each in block.walk():
                self._put_threads(each.key, block)

    def _put_threads(self, key: str, block: Block | None) -> None:
        found = self._threads.get(key)
        if not found or key in self._given:
            return
        first = sum(len(self._threads[each]) for each in self._given) + 1
        self._given.add(key)
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
