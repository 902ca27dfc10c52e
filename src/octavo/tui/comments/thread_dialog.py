"""The dialog that shows a thread beside or below its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.events import Resize
from textual.geometry import Region, Size

from octavo.api.comments import Comment
from octavo.api.operation import Discussion, ListPage
from octavo.data.live import Snapshot
from octavo.data.queries import all_threads_op
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.core.routes import ToActivity
from octavo.tui.core.shell import shell_of, subscriptions_of
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles

THREAD_DIALOG: Commands[ThreadDialog] = Commands(
    "thread",
    (
        Command("next", "t", "Next thread", "Go to the next thread", run=lambda _, dialog: dialog.show_neighbor(1)),
        Command("previous", "T", "Previous thread", "Go to the previous thread", run=lambda _, dialog: dialog.show_neighbor(-1), shown=False),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, dialog: dialog.dismiss(None)),
        Command("refresh", "r", "Refresh", "Refresh the thread", run=lambda _, dialog: dialog.refresh_thread(), shown=False),
        Command("undo", "u", "Undo", "Undo your last change", run=lambda app, _: app.undo(), shown=False),
        Command("activity", "exclamation_mark", "Activity", "Show API requests, errors, and unsent changes",
                run=lambda app, _: app.go(ToActivity()), key_display="!", shown=False),
        Command("help", "question_mark", "Help", "Show help for this thread", run=lambda app, _: app.show_help(), shown=False),
    ),
)  # fmt: skip


MIN_WIDTH_BESIDE_TEXT = 40
PREFERRED_WIDTH = 76
"""Minimum width of the dialog in cells, unless the space beside the text is narrower."""
BELOW_PANES = 3
"""Number of screen rows below the panes: a horizontal line, the status line and the key bar."""
RESIZE_DELAY = 0.1
"""Seconds to wait after a resize before the dialog is placed again. By then, the page is laid out."""


class Placement(NamedTuple):
    """Position and size of the thread dialog on the screen, and how many rows of the page pane the dialog covers."""

    region: Region
    covered_row_count: int


def placement_for(screen: Size, pane: Region, text_width: int) -> Placement:
    """Return where to place the thread dialog: beside the text of `pane` if there is room, else over the lower half of
    `pane`. If `pane` is not visible, over the lower half of the screen."""
    if not pane.area:
        height = max(screen.height // 2, min(8, screen.height))
        return Placement(Region(0, max(0, screen.height - BELOW_PANES - height), screen.width, height), 0)
    left_edge = pane.x + min(text_width, pane.width)
    if (right_width := screen.width - left_edge) >= MIN_WIDTH_BESIDE_TEXT:
        width = min(right_width, max(PREFERRED_WIDTH, screen.width - pane.right))
        return Placement(Region(screen.width - width, pane.y, width, pane.height), 0)
    height = min(pane.height, max(8, pane.height // 2))
    left_edge = pane.x if screen.width - pane.x >= PREFERRED_WIDTH else 0
    return Placement(Region(left_edge, pane.bottom - height, screen.width - left_edge, height), height)


class ThreadDialog(Dialog[None]):
    """Dialog that shows a thread beside the text of the page, or below the block of the thread."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)

    CSS_PATH = dialog_styles(__file__, "thread_dialog.tcss")
    HELP_NAME: ClassVar[str] = "thread dialog"
    HELP: ClassVar[str] = (
        "This dialog shows one thread and its replies. Press c to reply, d to resolve or reopen the thread, "
        "+ to react to the selected comment, or t to go to the next thread. Press esc to close the thread."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (THREAD_DIALOG,)

    def __init__(
        self,
        at: Discussion,
        threads: Sequence[Comment],
        comment_id: str,
        outdated_note: Callable[[Comment], str],
        pane: Reader,
        select_block: Callable[[Comment], bool],
    ) -> None:
        """`comment_id` is the ID of the thread to show first. `pane` shows the page. `select_block` selects the block
        of a thread. It returns False if the page lacks this block. `outdated_note` says how the block has changed."""
        super().__init__()
        self._pane, self._select_block = pane, select_block
        self._placement: Placement | None = None
        self._at = at
        self._threads = {thread.id: thread for thread in threads}
        self._current_id = comment_id
        self._outdated_note = outdated_note

    def body(self) -> ComposeResult:
        with DialogFrame():
            yield ThreadView()

    def on_mount(self) -> None:
        self.focus_at_once(self.query_one(ThreadView))
        op = all_threads_op(self._at)
        self.subscriptions.follow_whole("threads", op, self._show_threads)
        self._place_beside_block()
        self._draw()

    def on_unmount(self) -> None:
        self.subscriptions.stop()
        self._pane.viewport.reserve_rows(0)

    def on_resize(self, event: Resize) -> None:
        self.set_timer(RESIZE_DELAY, self._place_beside_block)

    def _place_beside_block(self) -> None:
        self._place()
        if self._select_block(self._threads[self._current_id]):
            self._pane.cursor.scroll_into_view()
            self._place()  # After scrolling, the visible lines may be longer and need more width.
            self._pane.cursor.scroll_into_view()

    def _place(self) -> None:
        pane = self._pane
        pane_region = pane.region if pane.is_running and pane.display else Region()
        placement = placement_for(self.app.size, pane_region, pane.painter.text_width if pane_region.area else 0)
        pane.viewport.reserve_rows(placement.covered_row_count)
        if placement != self._placement:
            self._placement = placement
            styles, region = self.query_one(DialogFrame).styles, placement.region
            styles.offset = (region.x, region.y)
            styles.width, styles.height = region.width, region.height

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is None:
            return
        loaded_by_id, index = {thread.id: thread for thread in snapshot.value.items}, 0
        is_complete = not snapshot.is_loading and snapshot.value.next is None
        threads: dict[str, Comment] = {}
        for key, thread in self._threads.items():
            if key == self._current_id:
                index = len(threads)
            if key in loaded_by_id or not is_complete:
                threads[key] = loaded_by_id.get(key, thread)
            elif key.startswith("pending-"):
                # The pending thread was sent, so show its copy from the server.
                copies = [each for each in loaded_by_id.values() if each.body.text == thread.body.text]
                threads.update([(each.id, each) for each in copies if each.id not in {*self._threads, *threads}][:1])
        if not threads:  # The old threads stay, because a composer above delays the end of this dialog.
            self.dismiss(None)
            return
        self._threads = threads
        if self._current_id not in threads:
            self._current_id = list(threads)[min(index, len(threads) - 1)]
            self._place_beside_block()
        self._draw()

    def _draw(self) -> None:
        thread = self._threads[self._current_id]
        number = list(self._threads).index(self._current_id) + 1
        page = thread.target.page.title if thread.target.page and thread.target.page.title else "Thread"
        self.query_one(DialogFrame).set_border_texts(page, f"{number} of {len(self._threads)}")
        self.query_one(ThreadView).show(self._at, thread, title=self._outdated_note(thread), is_page_visible=True)

    @on(ThreadView.ShowOnPageRequested)
    def _on_page_requested(self) -> None:
        self.dismiss(None)

    @on(ThreadView.Updated)
    def _on_updated(self) -> None:
        self.refresh_bindings()

    def show_neighbor(self, step: int) -> None:
        """Show the next thread, or the previous if `step` is -1, beside its block. After the last comes the first."""
        thread_ids = list(self._threads)
        self._current_id = thread_ids[(thread_ids.index(self._current_id) + step) % len(thread_ids)]
        self._place_beside_block()
        self._draw()

    def refresh_thread(self) -> None:
        """Refresh the thread and its replies from the server."""
        self.query_one(ThreadView).refresh_replies()
        for op in self.subscriptions.operations():
            self.shell.background(self.shell.session.live.refresh(op))
