"""Sentences that say why the user cannot do something in a space, with a change request or in a thread. Commands show
them instead of running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from octavo.api.content import Edit
from octavo.api.operation import Discussion, SpaceRef
from octavo.data import access
from octavo.tui.core.workspace import MAY_BE_SENT, NOT_SENT

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment, Reply
    from octavo.tui.core.shell import Shell

CANNOT_DELETE = "A change request cannot be deleted. Press L to archive it."
_ACTIONS_WITH_COMMENT_PERMISSION = ("comment", "reply", "reply_resolve", "react")


def why_no_permission(owners: Sequence[Any], permission: str, action: str, kind: str) -> str | None:
    """Return a sentence that says that the user cannot do `action`, because one of `owners` denies `permission`. None
    if no owner denies it, or if `permission` is empty. `kind` is a noun for an owner without a title."""
    for owner in owners if permission else ():
        if not has_permission(owner, permission):
            name = getattr(owner, "title", "") or f"this {kind}"
            role = "Admin" if permission == "admin" else "Creator"
            return f"You need the {role} role in {name} to {action}. Ask an organization admin for access."
    return None


def has_permission(owner: Any, permission: str) -> bool:
    """Return False only if the server says that the user lacks `permission` on `owner`."""
    permissions = getattr(owner, "permissions", None)
    return permissions is None or bool(getattr(permissions, permission, True))


def why_no_editing(app: Shell) -> str | None:
    """Return why this server does not support editing. None if no reason is known, or if no session is open."""
    return app.session.live.availability.why_unavailable(Edit) if app.has_session else None


def why_not_in_space(app: Shell, space_id: str, permission: str) -> str | None:
    """Return why the user lacks `permission` in a space. None if the user has it, or if the space is not loaded."""
    return access.why_not_in_space(app.workspace.space(space_id), permission)


def why_not_in_change_request(
    app: Shell, change_request: ChangeRequest, space: SpaceRef | None, permission: str, *statuses: str
) -> str | None:
    """Return why the user cannot act on a change request. None if nothing prevents the action. Reasons: `space` is None
    (unknown), the status is not one of `statuses` (if any are given), or the user lacks `permission`."""
    if space is None:
        return unknown_space_sentence(change_request)
    if statuses and change_request.status not in statuses:
        return f"#{change_request.number} is {change_request.status}. You can do this only with {' or '.join(statuses)} change requests."
    return why_not_in_space(app, space.space_id, permission)


def unknown_space_sentence(change_request: ChangeRequest) -> str:
    """Return a sentence that says why a change request cannot be opened: its space is unknown."""
    return f"Could not open #{change_request.number}: the server does not say which space it belongs to. Open the change request from its space."


def why_not_in_discussion(
    app: Shell, at: Discussion, action: str, thread: Comment | None = None, message: Comment | Reply | None = None
) -> str | None:
    """Return why the user cannot do `action`, such as `reply`, in a discussion. None if nothing prevents the action.
    `message` is the comment or reply on which the user acts, by default `thread`."""
    message = message or thread
    if message is not None and app.workspace.pending_entry(message.id) is not None:
        explanation = "Only you can see this pending comment. Press e to edit it, X to remove it, or H to list all pending comments."
        return None if action in ("edit", "delete") else explanation
    if reason := (thread and _why_not_sent(app, thread.id)) or (message and _why_not_sent(app, message.id)):
        return reason
    if action in _ACTIONS_WITH_COMMENT_PERMISSION and (reason := why_not_in_space(app, at.space_id, "comment")):
        return reason
    if thread is not None and (reason := access.why_not_in_thread(app.workspace.space(at.space_id), thread, action)):
        return reason
    if action == "edit" and message is not None:
        is_mine = app.workspace.me is None or app.workspace.me.id == message.posted_by.id
        if not message.permissions.edit or not is_mine:
            return f"Only {message.posted_by.name} can edit this comment."
    if action == "delete" and message is not None and not message.permissions.delete:
        return f"Only {message.posted_by.name} or an admin can delete this comment."
    return None


def _why_not_sent(app: Shell, message_id: str) -> str | None:
    if app.workspace.sending_status(message_id) == NOT_SENT:
        return "This comment was not sent. Press ! to see why, then retry or discard it."
    if app.workspace.sending_status(message_id) == MAY_BE_SENT:
        return "This comment may have been sent. Press ! to retry or discard it."
    if message_id.startswith("pending-"):
        return "This comment has not been sent yet. Press u to cancel it."
    return None
