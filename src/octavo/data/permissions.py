"""Reasons why the user cannot do something in a space or in a thread, for the app and for commands."""

from __future__ import annotations

from octavo.api.comments import Comment, Message
from octavo.api.spaces import Space


def why_not_in_space(space: Space | None, permission: str) -> str | None:
    """Return the reason why the user lacks `permission` in a space. None if not, or if the space is not loaded."""
    if space is not None and not getattr(space.permissions, permission):
        return f"Your role in {space.title} does not let you {permission}. Ask an admin of the space for access."
    return None


def why_not_in_thread(space: Space | None, thread: Comment, action: str) -> str | None:
    """Return the reason why the user cannot `reply`, `resolve` or `reply_resolve` in a thread. None if there is none."""
    if action in ("reply", "reply_resolve") and is_denied(thread, "reply"):
        return "You can read this thread, but you cannot reply to it. Ask an admin of the space for access."
    can_resolve = thread.permissions.edit or (space is not None and space.permissions.edit)
    if action in ("resolve", "reply_resolve") and not can_resolve:
        verb = "resolve" if thread.is_open else "reopen"
        return f"Only the author of this thread or an Editor of the space can {verb} it."
    return None


def is_denied(message: Message, permission: str) -> bool:
    """Return whether the server explicitly denies a permission on a message. Some servers list only some permissions."""
    return permission in message.permissions.model_fields_set and not getattr(message.permissions, permission)
