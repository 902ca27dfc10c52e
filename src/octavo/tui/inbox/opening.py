"""Where enter leads from a row of the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.comments import Comment
from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef, WriteRef
from octavo.data.unsent_index import unsent_draft
from octavo.tui.shell.routes import ToActivity, ToChangeRequest, ToPage

if TYPE_CHECKING:
    from octavo.tui.shell.inbox_feed import InboxFeed
    from octavo.tui.shell.shell import Shell


def open_row(app: Shell, feed: InboxFeed, row: InboxRow) -> None:
    """Go to what a row is about."""
    match row.target:
        case ChangeRequestRef() as at:
            app.go(ToChangeRequest(at, feed.change_request(row)))
        case ThreadRef() as ref:
            _open_thread(app, ref, feed.comment(row))
        case DraftRef(draft_key=place):
            _open_place(app, place)
        case WriteRef():
            app.go(ToActivity())


def _open_thread(app: Shell, ref: ThreadRef, comment: Comment | None) -> None:
    page = comment.target.page if comment is not None else None
    if isinstance(ref.at, ChangeRequestRef):
        app.go(ToChangeRequest(ref.at, thread=comment))
    elif comment is not None and page is not None:
        node = comment.target.node
        app.go(ToPage(ref.at.space_id, page.id, node.id if node else ""))
    else:
        app.go(ToPage(ref.at.space_id))


def _open_place(app: Shell, place: str) -> None:
    hung = unsent_draft(place)
    if hung.at is None:
        app.explain("Could not open this draft: its page or thread is unknown. Press X to discard the draft.")
    elif isinstance(hung.at, ChangeRequestRef):
        app.go(ToChangeRequest(hung.at))
    else:
        app.go(ToPage(hung.at.space_id, hung.page or None, hung.block))
