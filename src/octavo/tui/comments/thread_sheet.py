"""One thread beside or below the words it hangs on, in the view it was opened from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.events import Resize
from textual.geometry import Region, Size

from octavo.api import comments
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import Discussion
from octavo.data.live import Snapshot
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.shell.view import Subscriptions
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


SHEET: Commands[ThreadSheet] = Commands(
    "thread",
    (
        Command("next", "t", "Next thread", "Go to the next thread", run=lambda _, sheet: sheet.go(1)),
        Command(
            "previous",
            "T",
            "Previous thread",
            "Go to the previous thread",
            run=lambda _, sheet: sheet.go(-1),
            shown=False,
        ),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, sheet: sheet.dismiss(None)),
        Command("refresh", "r", "Refresh", "Refresh the thread", run=lambda _, sheet: sheet.ask_again(), shown=False),
        Command("undo", "u", "Undo", "Undo your last change", run=lambda app, _: app.undo(), shown=False),
        Command(
            "help",
            "question_mark",
            "Help",
            "Show help for this thread",
            run=lambda app, _: app.show_help(),
            shown=False,
        ),
    ),
    find=lambda view: view,
)


LEAST_COLUMN, WIDEST = 40, 76
"""Cells that a column must have, and the most that a thread is given."""
BELOW_PANES = 3
"""Rows of a screen below its panes: a line, the status and the keys."""
RESIZED = 0.1
"""Seconds after which a page has its lines in a terminal of another size."""


class Placement(NamedTuple):
    """Where a thread stands on the screen, and how many of the last rows of the pane it covers."""

    region: Region
    covers: int


def placed(screen: Size, pane: Region, text_width: int) -> Placement:
    """Beside what is read in `pane`, of which words take `text_width` cells, where there is room for a column; else below
    it, in the lower half. Where no pane is on show, in the lower half of the screen."""
    if not pane.area:
        height = max(screen.height // 2, min(8, screen.height))
        return Placement(Region(0, max(0, screen.height - BELOW_PANES - height), screen.width, height), 0)
    left = pane.x + min(text_width, pane.width)
    if (room := screen.width - left) >= LEAST_COLUMN:
        width = min(room, max(WIDEST, screen.width - pane.right))
        return Placement(Region(screen.width - width, pane.y, width, pane.height), 0)
    height = min(pane.height, max(8, pane.height // 2))
    left = pane.x if screen.width - pane.x >= WIDEST else 0
    return Placement(Region(left, pane.bottom - height, screen.width - left, height), height)


class ThreadSheet(Dialog[None]):
    """A thread and its keys, never over the block it hangs on. `t` and `T` go to the next and the one before without
    closing it, and the page goes with them."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("thread_sheet.tcss"),
    ]
    CONTEXT: ClassVar[str] = "thread dialog"
    HELP: ClassVar[str] = (
        "This dialog shows one thread and its replies. Press c to reply, d to resolve or reopen the thread, "
        "+ to react to the selected comment, or t to go to the next thread. Press esc to close the thread."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SHEET,)

    def __init__(
        self,
        at: Discussion,
        threads: Sequence[Comment],
        comment_id: str,
        since: Callable[[Comment], str],
        pane: Reader,
        go_to: Callable[[Comment], bool],
    ) -> None:
        """`since`: what became of the words a thread hangs on, empty while they are as they were. `pane`: where they are
        read. `go_to` puts its cursor on the words of a thread, and says whether they are there."""
        super().__init__()
        self._pane, self._go_to = pane, go_to
        self._placed: Placement | None = None
        self._at = at
        self._threads = {thread.id: thread for thread in threads}
        self._order = list(self._threads)
        self._current = comment_id
        self._since = since
        self._subscriptions = Subscriptions(self)

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def body(self) -> ComposeResult:
        with DialogFrame():
            yield ThreadView(id="thread")

    def on_mount(self) -> None:
        self.query_one(ThreadView).focus()
        op = comments.List(at=self._at, status="all", format="markdown", limit=200)
        self._subscriptions.follow_whole("threads", op, self._show)
        self._stand()
        self._draw()

    def on_unmount(self) -> None:
        self._subscriptions.stop()
        self._pane.cover(0)

    def on_resize(self, event: Resize) -> None:
        self.set_timer(RESIZED, self._stand)

    def _stand(self) -> None:
        """Stand beside the words the thread hangs on, with these in view."""
        self._place()
        if self._go_to(self._threads[self._current]):
            self._pane.cursor.bring_whole()
            self._place()  # other lines are on show, which may be wider
            self._pane.cursor.bring_whole()

    def _place(self) -> None:
        """Stand beside or below what is read, as there is room."""
        pane = self._pane
        on_show = pane.region if pane.is_running and pane.display else Region()
        place = placed(self.app.size, on_show, pane.painter.text_width if on_show.area else 0)
        pane.cover(place.covers)
        if place != self._placed:
            self._placed = place
            styles, region = self.query_one(DialogFrame).styles, place.region
            styles.offset = (region.x, region.y)
            styles.width, styles.height = region.width, region.height

    def _show(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is None:
            return
        now = {thread.id: thread for thread in snapshot.value.items}
        self._threads = {key: now.get(key, thread) for key, thread in self._threads.items()}
        if not snapshot.loading and snapshot.value.next is None:
            for key in [key for key in self._threads if key not in now]:
                self._gone(key, snapshot.value.items)
        if self._current in self._threads:
            self._draw()
        else:
            self.dismiss(None)

    def _gone(self, key: str, items: Sequence[Comment]) -> None:
        """A thread is deleted; or it was on its way, and has the name the server gave it now."""
        was = self._threads.pop(key)
        index = self._order.index(key)
        self._order.remove(key)
        if key.startswith("pending-"):
            same = [each for each in items if each.body.text == was.body.text and each.id not in self._threads]
            if same:
                self._threads[same[0].id] = same[0]
                self._order.insert(index, same[0].id)
        if self._current == key and self._order:
            self._current = self._order[min(index, len(self._order) - 1)]

    def _draw(self) -> None:
        thread = self._threads[self._current]
        number = self._order.index(self._current) + 1
        page = thread.target.page.title if thread.target.page and thread.target.page.title else "Thread"
        self.query_one(DialogFrame).set_border_texts(page, f"{number} of {len(self._order)}")
        self.query_one(ThreadView).show(self._at, thread, about=self._since(thread), on_page=True)

    @on(ThreadView.PlaceWanted)
    def _place_wanted(self) -> None:
        self.dismiss(None)

    @on(ThreadView.Changed)
    def _changed(self) -> None:
        self.refresh_bindings()

    def go(self, step: int) -> None:
        """Show the thread after this one, or with -1 the one before."""
        index = (self._order.index(self._current) + step) % len(self._order)
        self._current = self._order[index]
        self._stand()
        self._draw()

    def ask_again(self) -> None:
        """Ask the server again for the thread and its replies."""
        self.query_one(ThreadView).ask_again()
        for op in self._subscriptions.operations():
            self.shell.background(self.shell.session.live.refresh(op))
