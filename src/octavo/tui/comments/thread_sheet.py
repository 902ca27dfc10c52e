"""One thread over the view it was opened from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult

from octavo.api import comments
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import Discussion
from octavo.data.live import Snapshot
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.shell.view import Subscriptions
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.notices import Notices

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


SHEET: Commands[ThreadSheet] = Commands(
    "thread",
    (
        Command("next", "t", "Next", "Next thread", run=lambda _, sheet: sheet.go(1)),
        Command("previous", "T", "Before", "Thread before", run=lambda _, sheet: sheet.go(-1), shown=False),
        Command("close", "escape,q", "Close", "Back to the page", run=lambda _, sheet: sheet.dismiss(None)),
        Command("refresh", "r", "Refresh", "Ask the server again", run=lambda _, sheet: sheet.ask_again(), shown=False),
        Command("undo", "u", "Undo", "Take back the last write", run=lambda app, _: app.undo(), shown=False),
        Command(
            "help", "question_mark", "Help", "Help for this thread", run=lambda app, _: app.show_help(), shown=False
        ),
    ),
    find=lambda view: view,
)


class ThreadSheet(Dialog[None]):
    """A thread and its keys. `t` and `T` go to the next and the one before without closing it."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("thread_sheet.tcss"),
    ]
    CONTEXT: ClassVar[str] = "thread sheet"
    HELP: ClassVar[str] = "Read the thread and answer it here. t and T go to the next and the one before, esc closes."
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SHEET,)

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
        self._subscriptions = Subscriptions(self)

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
        self._subscriptions.follow_whole("threads", op, self._show)
        self._draw()

    def on_unmount(self) -> None:
        self._subscriptions.stop()

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

    def go(self, step: int) -> None:
        """Show the thread after this one, or with -1 the one before."""
        index = (self._order.index(self._current) + step) % len(self._order)
        self._current = self._order[index]
        self._draw()

    def ask_again(self) -> None:
        """Ask the server again for the thread and its replies."""
        self.query_one(ThreadView).ask_again()
        for op in self._subscriptions.ops():
            self.shell.background(self.shell.session.live.refresh(op))
