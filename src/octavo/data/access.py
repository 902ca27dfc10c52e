"""Says why the user cannot do something. Remembers the operations that the server or the plan does not include.

    if (why := live.availability.why_unavailable(links.ListOfSpace(at=here))) is not None: ...   # a sentence

Error responses show which operations are unavailable. The reasons are kept in memory only, because the server may be
updated before the next session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from octavo.api.errors import ApiError, NotFound, Rejected
from octavo.api.operation import SPECS, Listing, Operation, load
from octavo.api.wire import NoSuchOperation, Request, decode, path_template, url_path

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.api.spaces import Space


def why_not_in_space(space: Space | None, permission: str) -> str | None:
    """Return a sentence that says why the user lacks `permission`. None if the user has it, or if `space` is None."""
    if space is not None and not getattr(space.permissions, permission):
        role = {"comment": "Commenter", "edit": "Editor", "review": "Reviewer"}.get(permission, "Creator")
        return f"You need the {role} role in {space.title} to {permission}. Ask an admin of the space for access."
    return None


def why_not_in_thread(space: Space | None, thread: Comment, action: str) -> str | None:
    """Return a sentence that says why the user cannot do `action` in a thread: `reply`, `resolve` or `reply_resolve`
    (both). None if the user can."""
    # Some servers leave out `reply`, so a missing `reply` does not count as False.
    can_reply = thread.permissions.reply or "reply" not in thread.permissions.model_fields_set
    if action in ("reply", "reply_resolve") and not can_reply:
        return "You can read this thread, but you cannot reply to it. Ask an admin of the space for access."
    can_resolve = thread.permissions.edit or (space is not None and space.permissions.edit)
    if action in ("resolve", "reply_resolve") and not can_resolve:
        verb = "resolve" if thread.is_open else "reopen"
        return f"Only the author of this thread or an Editor of the space can {verb} it."
    return None


T = TypeVar("T")

UNSUPPORTED_STATUSES = frozenset({405, 501})
"""HTTP statuses of responses to an operation that the server does not support."""
PAYMENT_REQUIRED = 402


class Send(Protocol):
    """A function, such as `Client`, that sends an operation and returns the response. Raises ApiError."""

    async def __call__(self, op: Operation[T]) -> T: ...


class Availability:
    """A `Send` that remembers which operations the server does not support or the plan does not include."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._reasons: dict[type[Operation[Any]], dict[str, str]] = {}
        """Reasons by operation type, then by path template, or by path if only this path is unavailable."""

    async def __call__(self, op: Operation[T]) -> T:
        try:
            response = await self._send(op)
        except Rejected as error:
            if unavailability := await self._unavailability(op, error):
                self.mark_unavailable(op, *unavailability)
            raise
        if type(op) in self._reasons and self.why_unavailable(op) is not None:
            del self._reasons[type(op)]
        return response

    def why_unavailable(self, op: Operation[Any] | type[Operation[Any]]) -> str | None:
        """Return a sentence that says why an operation is unavailable. None if no reason is known. For an operation
        type, the reason may apply to one path only, such as the path of one space."""
        if isinstance(op, type):
            return next(iter(self._reasons.get(op, {}).values()), None)
        reasons = self._reasons.get(type(op), {})
        return (reasons.get(path_template(op)) or reasons.get(url_path(op))) if reasons else None

    def mark_unavailable(self, op: Operation[Any], reason: str, path: str = "") -> None:
        """Remember why operations of the type of `op` are unavailable on `path`. An empty `path` means all paths."""
        self._reasons.setdefault(type(op), {})[path or path_template(op)] = reason

    async def _unavailability(self, op: Operation[Any], error: Rejected) -> tuple[str, str] | None:
        """Return the reason why `op` is unavailable, and the URL path to which the reason is limited. The path is empty
        if the reason applies to all paths. None if the error has another cause."""
        if error.status == PAYMENT_REQUIRED:
            return f"Your plan does not include this feature: {error}", url_path(op)
        if error.status in UNSUPPORTED_STATUSES or (
            isinstance(error, NotFound) and await self._is_only_list_missing(op)
        ):
            route = f"{SPECS[type(op)].method} {path_template(op)}"
            return f"This server does not support this operation: it returned {error.status} for {route}.", ""
        return None

    async def _is_only_list_missing(self, op: Operation[Any]) -> bool:
        """Return whether the list `op` is missing, but not the resource that contains the list. Sends a request."""
        parent_route, _, last_segment = path_template(op).rpartition("/")
        if not isinstance(op, Listing) or last_segment.startswith("{") or "{" not in parent_route:
            return False
        # lazy: loads all operations, because `decode` searches them. A list is rarely missing.
        await asyncio.to_thread(load)
        parent_path = url_path(op).rpartition("/")[0]
        while not parent_route.endswith("}"):
            parent_route, parent_path = parent_route.rpartition("/")[0], parent_path.rpartition("/")[0]
        try:
            parent_op = decode(Request("GET", parent_path))
        except NoSuchOperation:
            return False
        try:
            await self._send(parent_op)
        except ApiError:
            return False
        return True
