"""One thread over the view it was opened from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from octavo.api import comments
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import Discussion
from octavo.data.live import Snapshot
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.shell.view import Following
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.notices import Notices

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


class ThreadSheet(Dialog[None]):
    """A thread and its keys. `t` and `T` go to the next and the one before without closing it."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("thread_sheet.tcss"),
    ]
    CONTEXT: ClassVar[str] = "thread sheet"
    HELP: ClassVar[str] = "Read the thread and answer it here. t and T go to the next and the one before, esc closes."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "go(1)", "Next", tooltip="Next thread", id="thread.next"),
        Binding("T", "go(-1)", "Before", show=False, tooltip="Thread before", id="thread.previous"),
        Binding("escape,q", "close", "Close", tooltip="Back to the page", id="thread.close"),
        Binding("r", "refresh", "Refresh", show=False, tooltip="Ask the server again", id="thread.refresh"),
        Binding(
            "u", "app.command('write.undo')", "Undo", show=False, tooltip="Take back the last write", id="thread.undo"
        ),
        Binding(
            "question_mark",
            "app.command('app.help')",
            "Help",
            show=False,
            tooltip="Help for this thread",
            id="thread.help",
        ),
    ]

    def __init__(
        self,
        at: Discussion,
        threads: Sequence[Comment],
        comment_id: str,
        since: Callable[[Comment], str] = lambda thread: "",
    ) -> None:
        """`since`: what became of the words a thread hangs on, empty while they are as they were."""
        super().__init__()
        self._at = at
        self._threads = {thread.id: thread for thread in threads}
        self._order = list(self._threads)
        self._current = comment_id
        self._since = since
        self._following = Following(self)

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def compose(self) -> ComposeResult:
        with Frame():
            yield ThreadView(id="thread")
        yield KeyBar()
        yield Notices(self.shell.notices)

    def on_mount(self) -> None:
        self.query_one(ThreadView).focus()
        op = comments.List(at=self._at, status="all", format="markdown", limit=200)
        self._following.follow_whole("threads", op, self._show)
        self._draw()

    def on_unmount(self) -> None:
        self._following.stop()

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
        self.query_one(Frame).name_it(page, f"{number} of {len(self._order)}")
        self.query_one(ThreadView).show(self._at, thread, about=self._since(thread), on_page=True)

    @on(ThreadView.PlaceWanted)
    def _place_wanted(self) -> None:
        self.dismiss(None)

    @on(ThreadView.Changed)
    def _changed(self) -> None:
        self.refresh_bindings()

    def action_go(self, step: int) -> None:
        index = (self._order.index(self._current) + step) % len(self._order)
        self._current = self._order[index]
        self._draw()

    def action_refresh(self) -> None:
        self.query_one(ThreadView).ask_again()
        for op in self._following.ops():
            self.shell.background(self.shell.session.live.refresh(op))

    def action_close(self) -> None:
        self.dismiss(None)
