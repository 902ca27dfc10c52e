"""Applies suggested changes to pages of a change request, and undoes that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from octavo.api import change_requests
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit, page_source
from octavo.data.writes.direct import SendResult
from octavo.documents.suggestions import apply_suggestion, find_block_source
from octavo.tui.editing.write_page import revision_ref

_MAX_ATTEMPTS = 3
"""Number of attempts while other people keep editing the change request."""


@dataclass(frozen=True)
class SuggestedText:
    """A text that a comment suggests for a block."""

    page: str
    block_key: str
    """Key of the block."""
    revision: str | None
    """Revision that the comment refers to. None if it is unknown: the suggestion is then never applied."""
    text: str


@dataclass(frozen=True)
class SuggestionOutcome:
    """Result of applying several suggestions."""

    results: tuple[tuple[SuggestedText, Literal["applied", "same", "changed", "gone"]], ...]
    """Each suggestion with its result. `same`: the block already has the text. `changed`: the block was edited in the
    meantime. `gone`: the page does not exist any more."""
    before: Mapping[str, Raw]
    """The text of each changed page before the edit, by page id."""
    after: Mapping[str, Raw]

    @property
    def applied(self) -> int:
        """Number of suggestions that were applied."""
        return sum(fate == "applied" for _, fate in self.results)


async def apply_suggestions(
    live: Live, at: ChangeRequestRef, suggested_texts: Sequence[SuggestedText]
) -> SendResult[SuggestionOutcome]:
    """Apply all suggestions whose blocks were not edited in the meantime, in a single edit. The result is `changed` if
    there is no such suggestion."""
    try:
        old_sources = {each: await _old_source(live, at, each) for each in suggested_texts}
        for _ in range(_MAX_ATTEMPTS):
            change_request = await live.send(change_requests.Get(at=at))
            if change_request.status not in ("draft", "open") or change_request.revision is None:
                return SendResult("refused", f"the change request is now {change_request.status}.")
            outcome = await _apply_to_pages(live, at, change_request.revision, suggested_texts, old_sources)
            if not outcome.applied:
                return SendResult("changed", "", outcome)
            sent = await edit(live, at, change_request.revision, _updates(outcome.after))
            if sent.kind == "done":
                return SendResult("done", "" if sent.replaced is None else sent.message, outcome)
            if sent.kind != "changed":
                return SendResult("unknown" if sent.kind == "unknown" else "refused", sent.cause)
    except ApiError as error:
        return SendResult("refused", str(error))
    return SendResult("refused", "others keep changing the page. Try again in a moment.")


async def revert_suggestions(
    live: Live, at: ChangeRequestRef, outcome: SuggestionOutcome
) -> SendResult[SuggestionOutcome]:
    """Restore the old texts of the pages, unless they were edited in the meantime."""
    try:
        change_request = await live.send(change_requests.Get(at=at))
        if change_request.revision is None:
            return SendResult(
                "refused", "Could not undo the applied suggestion: the server did not return the current revision."
            )
        for page, after in outcome.after.items():
            if await page_source(live, revision_ref(at, change_request.revision), page) != after:
                return SendResult(
                    "changed",
                    "Could not undo the applied suggestion: the page was edited afterward. Edit the page, or press Q to revert the block.",
                )
        sent = await edit(live, at, change_request.revision, _updates(outcome.before))
    except ApiError as error:
        return SendResult("refused", f"Could not undo the applied suggestion: {error}")
    if sent.kind == "done":
        return SendResult("done", result=SuggestionOutcome((), outcome.after, outcome.before))
    return SendResult("unknown" if sent.kind == "unknown" else "refused", sent.message)


async def _apply_to_pages(
    live: Live,
    at: ChangeRequestRef,
    revision: str,
    suggested_texts: Sequence[SuggestedText],
    old_sources: Mapping[SuggestedText, str | None],
) -> SuggestionOutcome:
    before: dict[str, Raw] = {}
    after: dict[str, Raw] = {}
    fates: list[tuple[SuggestedText, Literal["applied", "same", "changed", "gone"]]] = []
    for each in suggested_texts:
        if each.page not in after:
            source = await page_source(live, revision_ref(at, revision), each.page)
            if source is None:
                fates.append((each, "gone"))
                continue
            before[each.page] = after[each.page] = source
        result = await asyncio.to_thread(
            apply_suggestion, after[each.page].text, each.block_key, old_sources[each], each.text
        )
        after[each.page] = Raw(result.text)
        fates.append((each, result.kind))
    written = [page for page in after if after[page] != before[page]]
    return SuggestionOutcome(
        tuple(fates), {page: before[page] for page in written}, {page: after[page] for page in written}
    )


async def _old_source(live: Live, at: ChangeRequestRef, suggested: SuggestedText) -> str | None:
    """Return the source of the block in the revision of the suggestion. None if it cannot be found."""
    text = (
        await page_source(live, revision_ref(at, suggested.revision), suggested.page)
        if suggested.revision is not None
        else None
    )
    return await asyncio.to_thread(find_block_source, text.text, suggested.block_key) if text is not None else None


def _updates(pages: Mapping[str, Raw]) -> tuple[UpdatePage, ...]:
    return tuple(UpdatePage(page=page, document=DocumentBody(markdown=text.text)) for page, text in pages.items())
