"""Restores pages from a revision. If the server has no operation for that, Octavo sends their earlier text, title and place,
and deletes pages that the revision does not have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from octavo.api import content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, Page, RevertPage, UpdatePage
from octavo.api.errors import ApiError, Invalid
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.data.live import Live
from octavo.data.writes.content_writes import EditOutcome, edit, page_source

FIELDS = ("title", "slug", "emoji", "icon", "description", "hidden", "no_index", "no_robots_index")
"""Fields of a page that an edit can change."""
NEVER_NONE = frozenset({"title", "slug", "hidden", "no_index", "no_robots_index"})
_NO_TEXT = "the earlier text is not available"
_WITH_PAGES = "this server cannot restore a page together with its subpages"


class _NotSpelledOut(Exception):
    """A page cannot be restored by other edits. `str(error)` is why."""


async def restore_pages(
    live: Live, at: ChangeRequestRef, expected: str | None, changes: Sequence[ContentEdit]
) -> EditOutcome:
    """Send `changes`, and restore pages by other edits if the server cannot: it refused all, so none is done."""
    can_spell = expected is not None and any(isinstance(change, RevertPage) for change in changes)
    if live.reverts_pages or not can_spell:
        outcome = await edit(live, at, expected, changes)
        if not can_spell or not isinstance(outcome.error, Invalid):
            return outcome
    assert expected is not None
    try:
        spelled = await asyncio.gather(*(_spelled_out(live, at, expected, change) for change in changes))
    except ApiError as error:
        return EditOutcome("refused", f"Not saved: {error}")
    except _NotSpelledOut as error:
        return EditOutcome("refused", f"Not saved: {error}.")
    outcome = await edit(live, at, expected, spelled)
    if outcome.kind == "done":
        live.reverts_pages = False
    return outcome


async def _spelled_out(live: Live, at: ChangeRequestRef, head: str, change: ContentEdit) -> ContentEdit:
    if not isinstance(change, RevertPage) or change.revision is None:
        return change
    earlier = RevisionRef(space_id=at.space_id, revision_id=change.revision)
    then, now = [
        await live.known(content.Get(at=RevisionRef(space_id=at.space_id, revision_id=each)))
        for each in (change.revision, head)
    ]
    was, stands = then.find(change.page), now.find(change.page)
    if was is None:
        return DeletePage(page=change.page)
    fields = _fields(was, stands)
    above = next((page.id for page in reversed(then.trail(was.id)[:-1]) if now.find(page.id) is not None), None)
    place = [page.id for page in then.siblings(was.id)].index(was.id)
    if was.type != "document":
        if stands is None:
            raise _NotSpelledOut(f"this server cannot restore {was.title}, which is not a page")
        return UpdatePage(page=was.id, **fields)
    text = await page_source(live, earlier, was.id)
    if text is None:
        raise _NotSpelledOut(_NO_TEXT)
    document = DocumentBody(markdown=text.text)
    if stands is None:
        if was.pages:
            raise _NotSpelledOut(_WITH_PAGES)
        return InsertPage(document=document, into=above, at=place, **fields)
    if _id(now.above(was.id)) != _id(then.above(was.id)):
        fields |= {"into": above, "at": place}
    return UpdatePage(page=was.id, document=document, **fields)


def _id(page: Page | None) -> str | None:
    return page.id if page is not None else None


def _fields(was: Page, stands: Page | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(was, name)
        if (stands is None or getattr(stands, name) != value) and not (
            value is None and (stands is None or name in NEVER_NONE)
        ):
            fields[name] = value
    return fields
