"""What is known before a change request is merged: fresh facts, and which pages may conflict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.reviews import Review
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.tui import ages
from octavo.tui.pages import page_as_written, page_there, text_of
from octavo.tui.widgets.facts import Fact

if TYPE_CHECKING:
    from octavo.documents.merging.forecast import Foreseen

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
    """What may conflict with the primary content: titles of pages, names of files."""
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
    foreseen = await forecast(live, at, change_request, changed)
    facts = [
        _state(change_request),
        _currency(change_request),
        _conflict_fact(change_request, foreseen),
        *_approvals(change_request, given.items),
        _threads(change_request),
        _right(space),
    ]
    if changed.more:
        facts.append(Fact("care", "changes", f"{changed.more} more changes than the server lists"))
    return Checks(change_request, space, tuple(facts), changed.changes, foreseen.names, ages.clock())


@dataclass(frozen=True)
class Forecast:
    """What a merge may not be able to decide."""

    conflicts: tuple[Foreseen, ...] = ()
    unread: int = 0
    """How many pages that both sides changed were not read."""
    is_known: bool = True
    """Whether the revision that both sides come from could be seen."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they are about, each once: titles of pages, names of files."""
        return tuple({each.id: each.name for each in self.conflicts}.values())


async def forecast(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, changed: content.Changes
) -> Forecast:
    """What a merge may not be able to decide. Raises ApiError when the content cannot be had."""
    from octavo.documents.merging import forecast as merging

    if not change_request.outdated:
        return Forecast()
    if not change_request.base:
        return Forecast(is_known=False)
    base = RevisionRef(space_id=at.space_id, revision_id=change_request.base)
    try:
        three = await asyncio.gather(
            live.known(content.Get(at=base)), live.fetch(content.Get(at=at.space)), live.fetch(content.Get(at=at))
        )
    except (NotFound, Forbidden):
        return Forecast(is_known=False)
    touched = None if changed.more else {each.page.id for each in changed.changes if each.page}
    unsettled = await asyncio.to_thread(merging.unsettled, three, touched)
    texts = dict.fromkeys(unsettled, ("", "", ""))
    read = unsettled[:FORECAST_PAGES]
    texts.update(zip(read, await asyncio.gather(*(_texts(live, base, at, page) for page in read)), strict=True))
    found = await asyncio.to_thread(merging.forecast, three, texts)
    return Forecast(tuple(found), len(unsettled) - len(read))


async def _texts(live: Live, base: RevisionRef, at: ChangeRequestRef, page_id: str) -> tuple[str, str, str]:
    old, theirs, ours = await asyncio.gather(
        *(page_there(live, page_as_written(place, page_id)) for place in (base, at.space, at))
    )
    return text_of(old), text_of(theirs), text_of(ours)


def _state(change_request: ChangeRequest) -> Fact:
    if change_request.status in ("draft", "open"):
        return Fact("ok", "state", change_request.status)
    return Fact("bad", "state", f"it is {change_request.status}, so it cannot be merged")


def _currency(change_request: ChangeRequest) -> Fact:
    if change_request.outdated:
        return Fact("care", "up to date", "no: the primary content moved on")
    return Fact("ok", "up to date", "with the primary content")


_KEPT = {
    "text": "both sides would be kept, marked in the text",
    "field": "both sides would be kept, marked in the text",
    "deleted": "what one side deleted and the other changed would stay",
    "moved": "pages would stand where the primary content has them",
    "order": "pages would stand where the primary content has them",
    "variable": "variables would stay as the primary content has them",
}


def _conflict_fact(change_request: ChangeRequest, foreseen: Forecast) -> Fact:
    if not foreseen.is_known:
        return Fact("care", "conflicts", "not known: the revision it started from cannot be seen")
    if names := foreseen.names:
        said = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        kept = "; ".join(dict.fromkeys(_KEPT[each.kind] for each in foreseen.conflicts))
        return Fact("bad", "conflicts", f"may conflict: {said} · {kept}")
    if foreseen.unread:
        return Fact("care", "conflicts", f"none seen; {ages.plural(foreseen.unread, 'page')} not read")
    if change_request.outdated:
        return Fact("ok", "conflicts", "none foreseen: what changed there and here does not meet")
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
