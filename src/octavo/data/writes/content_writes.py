"""Edits of the content of a change request: based on the revision on screen, and sent once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, Revision
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, ContentRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.sending import Send
from octavo.data.writes.content_kinds import NOT_SAVED, FoundEdit, get_revision, revision_ref
from octavo.data.writes.direct import send_direct
from octavo.data.writes.write_kind import Basis

CHANGES_OF_ONE_EDIT = 50
"""Most changes that the server accepts in one edit."""
NO_OPERATION = "This server does not support editing content. Edit pages in the browser."


@dataclass(frozen=True)
class EditOutcome:
    """Result of an edit."""

    kind: Literal["done", "changed", "refused", "unknown"]
    """As in SendResult."""
    message: str
    revision: str | None = None
    """Current revision of the change request. None if unknown."""
    over: str | None = None
    """Revision that the edit replaced, if that is not the expected one: someone saved at the same moment, and their text on
    the pages of this edit is no longer current. None otherwise."""
    error: ApiError | None = None
    """Error of a refused edit."""

    @property
    def cause(self) -> str:
        """Return the message without “Not saved”, to follow “Could not revert #7:”."""
        return self.message.removeprefix(f"{NOT_SAVED}: ")


async def page_source(live: Live, at: ContentRef, page_id: str) -> Raw | None:
    """Return the markdown of a page as its authors wrote it: to be changed and sent back, never to be shown.

    None if there is no such page, or the page has no markdown. Raises ApiError.
    """
    try:
        # Not from the cache of `live`: the cached text is sanitized, and has the same URL.
        page = await live.send(content.GetAsWritten(at=at, page_id=page_id, format="markdown"))
    except NotFound:
        return None
    return page.markdown


async def edit(
    live: Live,
    at: ChangeRequestRef,
    expected: str | None,
    changes: Sequence[ContentEdit],
) -> EditOutcome:
    """Make up to 50 `changes`, all or none, if the head of the change request is still `expected`: what the user saw.

    The edit is sent once and never queued: without a connection it is refused.
    """
    op = content.Edit(at=at, changes=tuple(changes), compat=False)
    missing = "the server does not show the edit"
    sent = await send_direct(live, op, Basis(revision=expected), failed=NOT_SAVED, missing=missing)
    if sent.kind == "done":
        found = sent.result if isinstance(sent.result, FoundEdit) else None
        revision, made = (found.head, found.made) if found is not None else (_revision(sent.result), None)
        return await _judged(live.send, at, expected, revision, made)
    if sent.kind == "changed":
        live.touched(op)  # The revision on screen is outdated.
        return EditOutcome("changed", sent.message, sent.now)
    if isinstance(sent.error, NotFound) and await _all_there(live.send, op):
        live.availability.lacks(op, NO_OPERATION)
        return EditOutcome("refused", NO_OPERATION)
    return EditOutcome(sent.kind, sent.message, error=sent.error)


async def _judged(
    send: Send, at: ChangeRequestRef, expected: str | None, revision: str | None, made: Revision | None
) -> EditOutcome:
    """Return the outcome of an edit that was saved, with the revision that it replaced if that was not `expected`."""
    try:
        revision = revision or (await send(change_requests.Get(at=at))).revision
        if made is None and revision is not None:
            made = await send(get_revision(at, revision))
    except ApiError:
        pass  # The edit is saved all the same.
    parents = made.parents if made is not None else ()
    if expected is None or not parents or parents[0] == expected:
        return EditOutcome("done", "Saved.", revision)
    return EditOutcome("done", "Saved. Someone else saved changes at the same time.", revision, parents[0])


async def _all_there(send: Send, op: content.Edit) -> bool:
    """Return whether all pages that an edit names exist: then the server did not find the operation."""
    named: set[str] = set()
    for change in op.changes:
        named |= {getattr(change, "page", None) or "", getattr(change, "into", None) or ""} - {""}
    there: set[str] = set()
    try:
        base = (await send(change_requests.Get(at=op.at))).base  # has the pages that the change request deleted
        revisions = {getattr(change, "revision", None) or base for change in op.changes}
        places: list[ContentRef] = [op.at, *(revision_ref(op.at, each) for each in revisions if each)]
        for place in places if named else ():
            there |= {page.id for page in (await send(content.ListPages(at=place))).walk()}
    except ApiError:
        return False
    return named <= there


def _revision(answer: Any) -> str | None:
    """The new head, as the answer names it: a server may answer with the change request alone."""
    if not isinstance(answer, dict):
        return None
    of = answer.get("changeRequest")
    found = of.get("revision") if isinstance(of, dict) else answer.get("revision")
    return found if isinstance(found, str) else None
