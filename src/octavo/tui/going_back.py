"""Where a write was made, come back to when it is taken back: its thread on show, with the cursor on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.screen import ModalScreen

from octavo.api import comments
from octavo.api.comments import Comment
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.entry import Entry

if TYPE_CHECKING:
    from octavo.tui.app import Octavo


@runtime_checkable
class ShowsThreads(Protocol):
    """A screen that can bring a thread on show."""

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Put the cursor on a thread, or where there was one. False: it is not of this screen."""


async def go_back_to(app: Octavo, back: Sequence[Entry], view: str) -> None:
    """Show what came `back`, the first of it, in the `view` it was written in."""
    entry = back[0] if back else None
    if entry is None or isinstance(app.screen, ModalScreen):
        return  # a thread is open over the view: what is done there is seen there
    at = entry.at
    if not isinstance(at, (SpaceRef, ChangeRequestRef)):
        return
    thread = thread_of(app, entry)
    if isinstance(app.screen, ShowsThreads) and app.screen.go_to_thread(at, thread):
        return
    if view == "comments":
        await app.switch_mode("comments")
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        if isinstance(app.screen, ShowsThreads) and app.screen.go_to_thread(at, thread):
            return
    page = thread.target.page.id if thread is not None and thread.target.page is not None else None
    page = page or getattr(entry.op, "page", None)
    node = thread.target.node.id if thread is not None and thread.target.node is not None else ""
    node = node or getattr(entry.op, "node", None) or ""
    if isinstance(at, ChangeRequestRef):
        if not _is_on_change_request(app, at, page):
            app.show_change_request(at)
    elif not _is_on_page(app, at, page, node):
        app.open_space(at.space_id, page, node)


def _is_on_change_request(app: Octavo, at: ChangeRequestRef, page: str | None) -> bool:
    """Go to a page of the change request on show, if that is the one."""
    from octavo.tui.screens.change_request import ChangeRequestScreen  # as below

    screen = app.screen
    if not isinstance(screen, ChangeRequestScreen) or screen.discussion != at:
        return False
    if page is not None and page != (screen.page_on_show or ("",))[0]:
        screen.go_to_change_of(page)
    return True


def _is_on_page(app: Octavo, at: SpaceRef, page: str | None, node: str) -> bool:
    """Go to a block of the page on show, if that is the page."""
    from octavo.tui.screens.content import ContentScreen  # it has what going back is rarely about

    screen = app.screen
    if not isinstance(screen, ContentScreen) or screen.discussion != at or page != (screen.page_on_show or ("",))[0]:
        return False
    return not node or screen.view.go_to_block(node)


def thread_of(app: Octavo, entry: Entry) -> Comment | None:
    """The thread a write is done to, as far as it is known."""
    wanted = getattr(entry.op, "comment_id", "")
    op = comments.List(at=entry.at, status="all", format="markdown", limit=200)
    known = app.session.live.peek(op).value if wanted else None
    return next((each for each in known.items if each.id == wanted), None) if known is not None else None
