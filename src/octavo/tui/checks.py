"""What is known before a change request is merged: fresh facts, and which pages may conflict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import NotFound
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.api.reviews import Review
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.tui import ages
from octavo.tui.widgets.facts import Fact

FORECAST_PAGES = 60
"""More pages than this are not read before a merge; the dialog says so."""


@dataclass(frozen=True)
class Checks:
    """What was known at `checked_at`."""

    change_request: ChangeRequest
    space: Space
    facts: tuple[Fact, ...]
    changes: tuple[content.Change, ...]
    conflicts: tuple[str, ...]
    """Titles of the pages that may conflict with the primary content."""
    checked_at: datetime

    @property
    def can_merge(self) -> bool:
        return self.change_request.status in ("draft", "open") and self.space.permissions.merge


async def check(live: Live, at: ChangeRequestRef) -> Checks:
    """Ask for everything a merge depends on. Raises ApiError when the facts cannot be had."""
    change_request, space, changed, given = await asyncio.gather(
        live.fetch(change_requests.Get(at=at)),
        live.fetch(spaces.Get(at=at.space)),
        live.fetch(content.ListChanges(at=at, limit=1000)),
        live.fetch(reviews.List(at=at, format="markdown", limit=100)),
    )
    conflicts, unread = await forecast(live, at, change_request, changed.changes)
    facts = [
        _state(change_request),
        _currency(change_request),
        _conflict_fact(change_request, conflicts, unread),
        *_approvals(change_request, given.items),
        _threads(change_request),
        _right(space),
    ]
    if changed.more:
        facts.append(Fact("care", "changes", f"{changed.more} more changes than the server lists"))
    return Checks(change_request, space, tuple(facts), changed.changes, conflicts, ages.clock())


async def forecast(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, changes: tuple[content.Change, ...]
) -> tuple[tuple[str, ...], int]:
    """Titles of the pages that may conflict with the primary content, and how many pages were not read."""
    if not change_request.outdated or not change_request.base:
        return (), 0
    base = RevisionRef(space_id=at.space_id, revision_id=change_request.base)
    touched = [each for each in changes if each.page and each.type in ("page_edited", "page_deleted")]
    found = await asyncio.gather(*(_may_conflict(live, at, base, each) for each in touched[:FORECAST_PAGES]))
    return tuple(title for title in found if title), max(0, len(touched) - FORECAST_PAGES)


async def _may_conflict(live: Live, at: ChangeRequestRef, base: RevisionRef, change: content.Change) -> str | None:
    from octavo.documents.conflicts import forecast as conflicts_of

    assert change.page is not None
    page = change.page
    before, main = await asyncio.gather(_text(live, base, page.id), _text(live, at.space, page.id))
    if before == main:
        return None
    mine = None if change.type == "page_deleted" else await _text(live, at, page.id)
    if before is None or main is None or mine is None:
        # One side deleted the page, the other changed it: only the person can say which is meant.
        return page.title
    return page.title if await asyncio.to_thread(conflicts_of, before, mine, main) else None


async def _text(live: Live, at: ContentRef, page_id: str) -> str | None:
    """The markdown of a page there, or None when there is no such page."""
    op = content.GetPage(at=at, page_id=page_id, format="markdown")
    if isinstance(at, RevisionRef) and (known := live.peek(op).value) is not None:
        return known.markdown or ""
    try:
        page = await live.fetch(op)
    except NotFound:
        return None
    return page.markdown or ""


def _state(change_request: ChangeRequest) -> Fact:
    if change_request.status in ("draft", "open"):
        return Fact("ok", "state", change_request.status)
    return Fact("bad", "state", f"it is {change_request.status}, so it cannot be merged")


def _currency(change_request: ChangeRequest) -> Fact:
    if change_request.outdated:
        return Fact("care", "up to date", "no: the primary content moved on · U updates it first")
    return Fact("ok", "up to date", "with the primary content")


def _conflict_fact(change_request: ChangeRequest, conflicts: tuple[str, ...], unread: int) -> Fact:
    if conflicts:
        names = ", ".join(conflicts[:3]) + (f" and {len(conflicts) - 3} more" if len(conflicts) > 3 else "")
        return Fact("bad", "conflicts", f"may conflict: {names} · both sides would be kept, marked in the text")
    if unread:
        return Fact("care", "conflicts", f"none seen; {unread} pages were not read")
    if change_request.outdated:
        return Fact("ok", "conflicts", "none: what changed there and here does not meet")
    return Fact("ok", "conflicts", "none")


def _approvals(change_request: ChangeRequest, given: tuple[Review, ...]) -> list[Fact]:
    now = [review for review in given if not review.outdated]
    refused = [review for review in now if review.status == "changes-requested"]
    approved = [review for review in now if review.status == "approved"]
    facts = [Fact("bad", "review", f"{review.reviewer.name} asks for changes") for review in refused]
    for review in approved:
        if review.revision and review.revision != change_request.revision:
            facts.append(Fact("care", "approval", f"{review.reviewer.name} approved an earlier revision"))
        else:
            facts.append(Fact("ok", "approval", f"{review.reviewer.name} approved this revision"))
    return facts or [Fact("care", "approval", "nobody reviewed it")]


def _threads(change_request: ChangeRequest) -> Fact:
    if change_request.comments:
        threads = "thread is" if change_request.comments == 1 else "threads are"
        return Fact("care", "threads", f"{change_request.comments} {threads} open")
    return Fact("ok", "threads", "none open")


def _right(space: Space) -> Fact:
    if space.permissions.merge:
        return Fact("ok", "permission", f"you may merge in {space.title}")
    return Fact("bad", "permission", f"your role in {space.title} does not let you merge")


def goes_out(changes: tuple[content.Change, ...], limit: int = 4) -> str:
    """What a merge changes, in a line: `~ Webhooks  + Rotation  and 3 more`."""
    said = [f"{sign(change)} {name(change)}" for change in changes]
    return "   ".join(said[:limit]) + (f"   and {len(said) - limit} more" if len(said) > limit else "")


def sign(change: content.Change) -> str:
    """`+` made, `−` deleted, `~` edited, `→` moved."""
    kind = change.type.rpartition("_")[2]
    return {"created": "+", "deleted": "−", "moved": "→"}.get(kind, "~")


def name(change: content.Change) -> str:
    """What a change is about."""
    if change.page is not None:
        return change.page.title or "Untitled"
    if change.file is not None:
        return change.file.name
    if isinstance(change.reusable_content, dict):
        return str(change.reusable_content.get("title", "reusable content"))
    return "variables" if change.type == "variables_edited" else change.type.replace("_", " ")
