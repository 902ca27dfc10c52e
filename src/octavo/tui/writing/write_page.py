"""A page written into a change request on top of what others wrote there meanwhile: merged, or both sides shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from octavo.api import change_requests
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit, page_source
from octavo.documents.merging.page_merge import merge

_TIMES = 3
"""How often it is tried again when others write all the time."""
MINE = "your text"
"""What marks the side of the person at the keyboard."""
THEIRS = "other people's text"


@dataclass(frozen=True)
class PageOutcome:
    """What became of a page that was to be written."""

    kind: Literal["sent", "merged", "same", "conflict", "gone", "refused", "unknown"]
    """`merged`: sent, with what others wrote meanwhile. `same`: it says so already. `conflict`: others wrote in the same
    places, and `text` has both. `gone`: there is no such page any more."""
    sentence: str = ""
    revision: str = ""
    """Where the change request stands."""
    text: Raw | None = None
    """In a conflict what is to be settled, on top of `revision`; else what was sent."""


async def write_page(live: Live, at: ChangeRequestRef, page_id: str, base: RevisionRef, mine: Raw) -> PageOutcome:
    """Let a page say `mine`, which was `base` when it was begun. What others wrote since is kept."""
    try:
        before = await page_source(live, base, page_id)
        for _ in range(_TIMES):
            head = (await live.send(change_requests.Get(at=at))).revision or ""
            now = await page_source(live, _revision(at, head), page_id) if head else None
            if now is None:
                return PageOutcome("gone", "Could not save the page: it was deleted from this change request.")
            if now == mine:
                return PageOutcome("same", "The page already has this text.", head, mine)
            text = await _merged(before or now, now, mine)
            if text is None:
                return PageOutcome("conflict", "", head, await _both(before or now, now, mine))
            sent = await edit(live, at, head, (_says(page_id, text),))
            if sent.kind == "changed":
                continue
            if sent.kind != "done":
                return PageOutcome(sent.kind, sent.message, sent.revision or head, text)
            if sent.replaced is not None and sent.revision is not None:
                return await _beside(live, at, page_id, now, text, sent.replaced, sent.revision)
            return PageOutcome("sent" if text == mine else "merged", revision=sent.revision or head, text=text)
    except ApiError as error:
        return PageOutcome("refused", f"Could not save the page: {error}")
    return PageOutcome("refused", "Could not save the page: others keep changing the page. Try again in a moment.")


async def _beside(
    live: Live, at: ChangeRequestRef, page_id: str, before: Raw, mine: Raw, over: str, head: str
) -> PageOutcome:
    """Mine was written over what somebody wrote in that moment: put theirs back beside it."""
    theirs = await page_source(live, _revision(at, over), page_id)
    if theirs is None or theirs in (before, mine):
        return PageOutcome("sent", revision=head, text=mine)
    text = await _merged(before, theirs, mine)
    sent = await edit(live, at, head, (_says(page_id, text),)) if text is not None else None
    if text is None or sent is None or sent.kind != "done":
        return PageOutcome("conflict", "", head, await _both(before, theirs, mine))
    return PageOutcome("merged", revision=sent.revision or head, text=text)


async def _merged(before: Raw, theirs: Raw, mine: Raw) -> Raw | None:
    """Both, or None when they are about the same places."""
    found = await asyncio.to_thread(merge, before.text, theirs.text, mine.text)
    return None if found.named_conflicts else Raw(found.text())


async def _both(before: Raw, theirs: Raw, mine: Raw) -> Raw:
    """Both, with marks around the places they do not agree in."""
    found = await asyncio.to_thread(merge, before.text, theirs.text, mine.text)
    return Raw(found.text(request=MINE, main=THEIRS))


def _says(page_id: str, text: Raw) -> UpdatePage:
    return UpdatePage(page=page_id, document=DocumentBody(markdown=text.text))


def _revision(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)
