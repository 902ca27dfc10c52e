"""Replaces a term on several pages of a change request, and undoes that. A page that was edited meanwhile is skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.api import change_requests
from octavo.api.content import ContentEdit
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.safety import safe_text
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import (
    CHANGES_OF_ONE_EDIT,
    EditOutcome,
    WrittenText,
    edit,
    merge_overwritten,
    page_source,
    update_text,
)
from octavo.data.writes.direct import SendResult
from octavo.documents.term_changes import TermChange
from octavo.documents.term_matches import TermMatch, find_matches, replace_matches

_MAX_ATTEMPTS = 3
"""Number of attempts while other people keep editing the change request."""
_AT_ONCE = 8
_EDITED = "was edited in the meantime"


@dataclass(frozen=True)
class PageReplacement:
    """The matches to replace on a page."""

    page: str
    title: str
    text: str
    """The text in which the matches were found."""
    matches: tuple[TermMatch, ...]


@dataclass(frozen=True)
class WrittenPage:
    """The text of a page before and after an edit."""

    title: str
    before: Raw
    after: Raw


@dataclass(frozen=True)
class TermOutcome:
    """Result of an edit of several pages."""

    written: Mapping[str, WrittenPage] = field(default_factory=dict)
    """Changed pages by page id."""
    refused: tuple[tuple[str, str], ...] = ()
    """Title of each page that was not changed, and the reason as the end of a sentence."""


Change = Callable[[Raw], Raw | None]
"""Returns the new text of a page, or None if its text is not the expected text."""


async def replace_term(
    live: Live, at: ChangeRequestRef, change: TermChange, pages: Sequence[PageReplacement]
) -> SendResult[TermOutcome]:
    """Replace matches on pages of a change request. A page whose text is not the text that was searched is skipped."""
    changes = {each.page: (each.title, _replacement(change, each)) for each in pages}
    return await _write(live, at, changes)


async def revert_term(live: Live, at: ChangeRequestRef, outcome: TermOutcome) -> SendResult[TermOutcome]:
    """Restore the texts before an edit, except on pages that were edited afterward."""
    changes = {page: (each.title, _reversal(each)) for page, each in outcome.written.items()}
    return await _write(live, at, changes)


def _replacement(change: TermChange, page: PageReplacement) -> Change:
    def replaced(raw: Raw) -> Raw | None:
        if safe_text(raw.text) != page.text:
            return None
        if raw.text == page.text:
            return Raw(replace_matches(raw.text, page.matches))
        # The shown text has no control characters, so the positions in the text to save differ.
        shown, real = find_matches(change, page.text), find_matches(change, raw.text)
        if [each.replacement for each in shown] != [each.replacement for each in real]:
            return None
        return Raw(replace_matches(raw.text, [real[shown.index(each)] for each in page.matches if each in shown]))

    return replaced


def _reversal(page: WrittenPage) -> Change:
    return lambda raw: page.before if raw == page.after else None


async def _write(
    live: Live, at: ChangeRequestRef, changes: Mapping[str, tuple[str, Change]]
) -> SendResult[TermOutcome]:
    """Write pages in edits of as many pages as the server accepts. An edit that fails ends the work."""
    written: dict[str, WrittenPage] = {}
    refused: list[tuple[str, str]] = []
    ids = list(changes)
    for start in range(0, len(ids), CHANGES_OF_ONE_EDIT):
        batch = ids[start : start + CHANGES_OF_ONE_EDIT]
        result = await _write_batch(live, at, {page: changes[page] for page in batch})
        if result.result is not None:
            written |= result.result.written
            refused += result.result.refused
        if result.kind != "done":
            reason = "may have been changed" if result.kind == "unknown" else "was not sent"
            named = {*written, *(title for title, _ in refused)}
            rest = [changes[page][0] for page in ids[start:] if page not in written and changes[page][0] not in named]
            outcome = TermOutcome(written, (*refused, *((title, reason) for title in rest)))
            return SendResult(result.kind, result.message, outcome)
    return SendResult("done", "", TermOutcome(written, tuple(refused)))


async def _write_batch(
    live: Live, at: ChangeRequestRef, changes: Mapping[str, tuple[str, Change]]
) -> SendResult[TermOutcome]:
    try:
        for _ in range(_MAX_ATTEMPTS):
            request = await live.send(change_requests.Get(at=at))
            if request.status not in ("draft", "open") or request.revision is None:
                return SendResult("refused", f"the change request is now {request.status}.")
            head = RevisionRef(space_id=at.space_id, revision_id=request.revision)
            outcome = await _texts(live, head, changes)
            if not outcome.written:
                return SendResult("done", "", outcome)
            sent = await edit(live, at, request.revision, _updates(outcome.written))
            if sent.kind == "done":
                return SendResult("done", "", await _merge_overwritten(live, at, sent, outcome))
            if sent.kind != "changed":
                return SendResult(sent.kind, sent.cause)
    except ApiError as error:
        return SendResult("refused", str(error))
    return SendResult("refused", "others keep changing the change request. Try again in a moment.")


async def _texts(live: Live, head: RevisionRef, changes: Mapping[str, tuple[str, Change]]) -> TermOutcome:
    """Return the new texts of the pages in a revision, and the pages that are not to be changed. Raises ApiError."""
    written: dict[str, WrittenPage] = {}
    refused: list[tuple[str, str]] = []
    ids = list(changes)
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        sources = await asyncio.gather(*(page_source(live, head, page) for page in some))
        for page, source in zip(some, sources, strict=True):
            title, change = changes[page]
            if source is None:
                refused.append((title, "was deleted in this change request"))
            elif (new := await asyncio.to_thread(change, source)) is None:
                refused.append((title, _EDITED))
            elif new != source:
                written[page] = WrittenPage(title, source, new)
    return TermOutcome(written, tuple(refused))


async def _merge_overwritten(live: Live, at: ChangeRequestRef, sent: EditOutcome, outcome: TermOutcome) -> TermOutcome:
    """Merge the edits that someone else saved at the same moment. Pages whose texts conflict get the text of the other
    person again. Raises ApiError."""
    titles = {page: each.title for page, each in outcome.written.items()}
    texts = {page: WrittenText(each.before, each.after) for page, each in outcome.written.items()}
    merged = await merge_overwritten(live, at, sent, texts)
    written = {page: WrittenPage(titles[page], each.before, each.after) for page, each in merged.texts.items()}
    reason = _EDITED if merged.restored else "was edited by someone else at the same moment"
    return TermOutcome(written, (*outcome.refused, *((titles[page], reason) for page in merged.conflicts)))


def _updates(pages: Mapping[str, WrittenPage]) -> tuple[ContentEdit, ...]:
    return tuple(update_text(page, each.after) for page, each in pages.items())
