"""The diff view: what changed on a page, as the page shows it, with the threads between the lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from octavo.documents.blocks import Block
from octavo.documents.changes import Changed, Diff, Moved
from octavo.tui.page.change_lines import set_diff_unit
from octavo.tui.page.changing import Changes, DiffUnit, Unfolding, changes, source_changes
from octavo.tui.page.content_state import Stateful
from octavo.tui.page.cursor_pane import Stop
from octavo.tui.page.finding import Finder
from octavo.tui.page.galley import Galley
from octavo.tui.page.layout import set_block
from octavo.tui.page.lines import Hot
from octavo.tui.page.page_parts import LinkFollowed
from octavo.tui.page.reader import motions
from octavo.tui.page.setting import Folds, Setting
from octavo.tui.page.threads import ThreadLine
from octavo.tui.widgets.states import nothing

WIDEST = 108


class DiffView(Stateful):
    """What changed on a page: `show` a diff."""

    CONTEXT: ClassVar[str] = "diff"
    HELP: ClassVar[str] = (
        "What changed on the page. n and N go from change to change, ( and ) move the bar that marks the block a "
        "comment is about, = and - show more or less of what did not change."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("diff.next_hit", "diff.next_thread", "diff.comment", "diff.unfold")
    HIT_KEYS: ClassVar[tuple[str, ...]] = ("diff.next_hit", "diff.prev_hit")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "change(1)", "Next change", tooltip="Go to the next change; while finding, to the next hit", id="diff.next_hit"),
        Binding("N", "change(-1)", "Change before", show=False, tooltip="Go to the change before; while finding, to the hit before", id="diff.prev_hit"),
        Binding("t", "thread(1)", "Threads", tooltip="Go to the next open thread", id="diff.next_thread"),
        Binding("T", "thread(-1)", "Thread before", show=False, tooltip="Go to the open thread before", id="diff.prev_thread"),
        Binding("c", "comment", "Comment", tooltip="Say something about the block under the cursor", id="diff.comment"),
        Binding("enter", "open", "Open", show=False, tooltip="Open the thread, link or fold under the cursor", id="diff.open"),
        Binding("equals_sign", "unfold", "More context", tooltip="Open the fold under the cursor, else show more of what did not change", id="diff.unfold"),
        Binding("minus", "fold", "Less context", show=False, tooltip="Show less of what did not change", id="diff.fold"),
        Binding("backslash", "source", "Source", show=False, tooltip="The changes as the page shows them, or of its Markdown source", id="diff.source"),
        Binding("slash", "find", "Find", show=False, key_display="/", tooltip="Find words in what is shown", id="diff.filter"),
        Binding("f", "link_hints", "Links", show=False, tooltip="Put letters on links and folds: type them to open", id="diff.link_hints"),
        Binding("space", "read_on", "Read on", show=False, tooltip="Scroll one page, at the end go to what comes next", id="diff.read_on"),
        *motions("diff"),
        Binding("right", "pan(1)", "Pan right", show=False, tooltip="Move wide code or a wide table to the left", id="diff.pan_right"),
        Binding("left", "pan(-1)", "Pan left", show=False, tooltip="Move wide code or a wide table back", id="diff.pan_left"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the block under the cursor", id="diff.yank"),
    ]  # fmt: skip

    def __init__(
        self,
        *,
        ascii: bool = False,
        mono: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(ascii=ascii, mono=mono, name=name, id=id, classes=classes)
        self.diff: Diff | None = None
        self.key = ""
        self.shows_source = False
        self.unfolding = Unfolding()
        self.threads: Mapping[str, Sequence[ThreadLine]] = {}
        self._title = ""
        self._sources = ("", "")
        self.folds = Folds()
        self._changed = Changes()

    # What callers ask and do

    @property
    def change_number(self) -> int:
        """Which change the cursor is on or after, counted from 1; 0 before the first."""
        here = self.cursor_stop()
        unit = here[0] if here is not None else 0
        return max((each.change + 1 for each in self._changed.units[: unit + 1]), default=0)

    @property
    def change_count(self) -> int:
        """How many changes there are."""
        return self._changed.count

    @property
    def facts(self) -> str:
        """Which change and which thread one is at, for the status line: `change 2 of 7 · 2 threads`."""
        count, at = self.change_count, self.change_number
        parts = (
            [f"change {at} of {count}" if at else f"{count} {'change' if count == 1 else 'changes'}"] if count else []
        )
        if self._changed.thread_count:
            parts.append("1 thread" if self._changed.thread_count == 1 else f"{self._changed.thread_count} threads")
        if self.shows_source:
            parts.append("source")
        if self.needle:
            parts.append(f"“{self.needle}” {self.finding}")
        return " · ".join(parts)

    def show(
        self,
        diff: Diff,
        *,
        title: str = "",
        key: str = "",
        old: str = "",
        new: str = "",
        threads: Mapping[str, Sequence[ThreadLine]] | None = None,
    ) -> None:
        """Show what changed from the source `old` to `new`. While `key` is the same, the place and the folds are
        kept. Threads lie at the blocks of their keys, those of "" at the top."""
        same = key == self.key and self.diff is not None
        self.settled()
        if same and diff == self.diff and (threads is None or threads == self.threads):
            return
        self.diff, self._title, self._sources = diff, title, (old, new)
        self.threads = threads if threads is not None else self.threads if same else {}
        if not same:
            self.key, self.cursor, self.shows_source, self.unfolding = key, None, False, Unfolding()
            self.needle, self._finds, self._find = "", (), None
            self.galley = Galley((), lambda unit: 0, lambda unit: [])
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self._lay_out_again()
        self.content_changed()
        self.refresh_bindings()
        self.tell()

    def set_threads(self, threads: Mapping[str, Sequence[ThreadLine]]) -> None:
        """Show other threads between the lines."""
        self.threads = threads
        self._lay_out_again()

    def clear(self) -> None:
        """Show nothing."""
        self.settled()
        self.diff, self.key, self.threads = None, "", {}
        self.reset()

    # Laying out

    def make_galley(self, width: int) -> Galley[DiffUnit]:
        self.margin = 2
        inner = min(WIDEST, max(24, width - 4))
        setting = Setting(self.look, self.folds, set_block, room=inner)
        if self.diff is None:
            self._changed = Changes()
        elif self.shows_source:
            from octavo.documents.source_diff import source_diff

            self._changed = source_changes(source_diff(*self._sources))
        else:
            self._changed = changes(self.diff, self.unfolding, self.threads, self._title)
        return Galley(
            self._changed.units, lambda unit: _guess(unit, inner), lambda unit: set_diff_unit(setting, unit, inner)
        )

    def _lay_out_again(self) -> None:
        """Set the units anew, the block under the cursor where it is on the screen."""
        here = self.cursor_stop()
        above = self.galley.top(here[0]) + here[1] - self.scroll_offset.y if here is not None else 0
        self.reset()
        if here is None:
            return
        for unit, each in enumerate(self._changed.units):
            if each.block is not None and each.block.key == here[3].key:
                stop = next((stop for stop in self.stops_of(unit) if stop[3].key == here[3].key), None)
                if stop is not None:
                    self.cursor = (unit, stop[3])
                    self.go(self.galley.top(unit) + stop[1] - above)
                    return

    @property
    def has_content(self) -> bool:
        return self.diff is not None

    def empty_lines(self) -> list[Content]:
        return nothing("Nothing changed on this page.", "J goes to the next page")

    def make_finder(self) -> Finder:
        def shown(unit: int) -> Block:
            rows = [
                "".join(each.text for each in line.pieces if not each.furniture) for line in self.galley.lines(unit)
            ]
            return Block("paragraph", text="\n".join(rows))

        return Finder((unit, shown(unit)) for unit in range(len(self.galley)))

    # Opening

    def open_spot(self, hot: Hot, *, outside: bool) -> None:
        if hot.kind == "fold" and hot.target.startswith("fold "):
            self._open_fold(hot.target)
        elif hot.kind in ("link", "image", "file"):
            self.post_message(LinkFollowed(hot.target, outside, hot.kind))

    def _open_fold(self, key: str) -> None:
        units = self._changed.units
        at = next((index for index, unit in enumerate(units) if unit.block is not None and unit.block.key == key), None)
        if at is None:
            return
        top = self.scroll_offset.y
        self.unfolding.opened.add(key)
        self.reset()
        stop = next(iter(self.stops_of(at)), None) if at < len(self.galley) else None
        if stop is not None:
            self.cursor = (at, stop[3])
        self.go(top)
        self.content_changed()

    def thread_at(self, stop: Stop) -> Block | None:
        among = [stop[3]] if stop[3].kind == "page-threads" else (each for each in stop[3].walk() if each.key)
        return next((each for each in among if self._open_on(each.key)), None)

    def _open_on(self, key: str) -> bool:
        return any(thread.open for thread in self.threads.get(key, ()))

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        entry = self._changed.units[stop[0]].entry
        before = entry.old.walk() if isinstance(entry, (Changed, Moved)) else ()
        return (*stop[3].walk(), *before)

    # Actions

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if not len(self.galley):
            return "There is no change here."
        here = self.cursor_stop() if action == "comment" else None
        if here is not None and here[3].kind in ("fold", "note", "change", "page-threads"):
            return "A comment needs a block of the page: ) and ( go to one."
        if action == "change" and not self.change_count and not self.needle:
            return "Nothing changed on this page."
        if action == "thread" and not any(map(self._open_on, self.threads)):
            return "No open thread hangs on this page."
        return super().why_not(action, parameters)

    def action_change(self, step: int) -> None:
        if self.needle:
            self.step_find(step)
            return
        self._go_to(step, lambda unit: unit.change >= 0)

    def action_thread(self, step: int) -> None:
        self._go_to(step, lambda unit: any(thread.open for thread, _ in unit.threads))

    def _go_to(self, step: int, wanted: Callable[[DiffUnit], bool]) -> None:
        here = self.cursor_stop() if self.cursor is not None else None
        at = here[0] if here is not None else -1 if step > 0 else len(self.galley)
        units = self._changed.units
        with self.steady():
            among = (index for index in range(at + step, len(units) if step > 0 else -1, step) if wanted(units[index]))
            stops = next(filter(None, map(self.stops_of, among)), None)
        if stops:
            unit, first, _, block = stops[0]
            self.put_cursor((unit, first, len(self.galley.lines(unit)) - 1, block), bring="third")

    def action_unfold(self) -> None:
        here = self.cursor_stop()
        if here is not None and here[3].kind == "fold":
            self._open_fold(here[3].key)
            return
        self.unfolding.more()
        self._lay_out_again()
        self.content_changed()

    def action_fold(self) -> None:
        self.unfolding.less()
        self._lay_out_again()
        self.content_changed()

    def action_source(self) -> None:
        self.shows_source = not self.shows_source
        self.cursor = None
        self.galley = Galley((), lambda unit: 0, lambda unit: [])
        self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.reset()
        self.content_changed()
        self.tell()


def _guess(unit: DiffUnit, width: int) -> int:
    if unit.kind in ("fold", "label", "note"):
        return 2
    if unit.kind == "lines":
        return len(unit.lines)
    if unit.kind == "threads":
        return 4 * len(unit.threads)
    span = unit.block.lines[1] - unit.block.lines[0] if unit.block is not None else 1
    return 2 * max(1, span) if unit.kind == "entry" else max(1, span) + 1
