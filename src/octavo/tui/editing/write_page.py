"""Saves the text of a page to a change request, merged with the edits that other people made in the meantime."""

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

_MAX_ATTEMPTS = 3
"""Number of attempts while other people keep editing the change request."""
OWN_LABEL = "your text"
"""Label of the own text in conflict markers."""
OTHERS_LABEL = "other people's text"


@dataclass(frozen=True)
class PageOutcome:
    """Result of saving a page."""

    kind: Literal["sent", "merged", "same", "conflict", "gone", "refused", "unknown"]
    """`merged`: saved together with edits of other people. `same`: the page already has the text. `conflict`: other
    people edited the same places. `gone`: the page does not exist any more."""
    message: str = ""
    revision: str = ""
    """Latest revision of the change request."""
    text: Raw | None = None
    """The text that was sent. For a conflict, the text with conflict markers, based on `revision`."""


async def write_page(live: Live, at: ChangeRequestRef, page_id: str, base: RevisionRef, mine: Raw) -> PageOutcome:
    """Save `mine` as the text of a page that was loaded from `base`. Edits that other people made since then are kept."""
    try:
        before = await page_source(live, base, page_id)
        for _ in range(_MAX_ATTEMPTS):
            head = (await live.send(change_requests.Get(at=at))).revision or ""
            current = await page_source(live, revision_ref(at, head), page_id) if head else None
            if current is None:
                return PageOutcome("gone", "Could not save the page: it was deleted from this change request.")
            if current == mine:
                return PageOutcome("same", "The page already has this text.", head, mine)
            text = await _merge_or_none(before or current, current, mine)
            if text is None:
                return PageOutcome("conflict", "", head, await _with_markers(before or current, current, mine))
            sent = await edit(live, at, head, (_update(page_id, text),))
            if sent.kind == "changed":
                continue
            if sent.kind != "done":
                return PageOutcome(sent.kind, sent.message, sent.revision or head, text)
            if sent.replaced is not None and sent.revision is not None:
                return await _merge_overwritten(live, at, page_id, current, text, sent.replaced, sent.revision)
            return PageOutcome("sent" if text == mine else "merged", revision=sent.revision or head, text=text)
    except ApiError as error:
        return PageOutcome("refused", f"Could not save the page: {error}")
    return PageOutcome("refused", "Could not save the page: others keep changing the page. Try again in a moment.")


async def _merge_overwritten(
    live: Live, at: ChangeRequestRef, page_id: str, before: Raw, mine: Raw, overwritten: str, revision: str
) -> PageOutcome:
    """Restore an edit of other people that the last write has overwritten, by merging both texts."""
    theirs = await page_source(live, revision_ref(at, overwritten), page_id)
    if theirs is None or theirs in (before, mine):
        return PageOutcome("sent", revision=revision, text=mine)
    text = await _merge_or_none(before, theirs, mine)
    sent = await edit(live, at, revision, (_update(page_id, text),)) if text is not None else None
    if text is None or sent is None or sent.kind != "done":
        return PageOutcome("conflict", "", revision, await _with_markers(before, theirs, mine))
    return PageOutcome("merged", revision=sent.revision or revision, text=text)


async def _merge_or_none(before: Raw, theirs: Raw, mine: Raw) -> Raw | None:
    """Return both texts merged, or None if they conflict."""
    merged = await asyncio.to_thread(merge, before.text, theirs.text, mine.text)
    return None if merged.named_conflicts else Raw(merged.text())


async def _with_markers(before: Raw, theirs: Raw, mine: Raw) -> Raw:
    """Return both texts merged, with conflict markers."""
    merged = await asyncio.to_thread(merge, before.text, theirs.text, mine.text)
    return Raw(merged.text(request=OWN_LABEL, main=OTHERS_LABEL))


def _update(page_id: str, text: Raw) -> UpdatePage:
    return UpdatePage(page=page_id, document=DocumentBody(markdown=text.text))


def revision_ref(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)
