"""Replaces a term on several pages of a change request, and undoes that. A page that was edited meanwhile is skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.safety import safe_text
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import (
    CHANGES_OF_ONE_EDIT,
    MAYBE_OVERWRITTEN,
    OTHERS_KEEP_EDITING,
    NotEditable,
    WrittenText,
    latest_heads,
    page_source,
    save_texts,
)
from octavo.data.writes.direct import SendResult
from octavo.documents.term_changes import TermChange
from octavo.documents.term_matches import TermMatch, find_matches, replace_matches

_AT_ONCE = 8
_EDITED, _EDITED_NOW = "was edited in the meantime", "was edited by someone else at the same moment"
_NOT_SENT = "was not sent"


@dataclass(frozen=True)
class PageReplacement:
    """The matches to replace on a page."""

    page: str
    title: str
    text: str
    """The text in which the matches were found."""
    matches: tuple[TermMatch, ...]


@dataclass(frozen=True)
class TermOutcome:
    """Result of an edit of several pages. All fields are by page id."""

    written: Mapping[str, WrittenText] = field(default_factory=dict)
    """Texts of the changed pages."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """For each page that was not changed, the reason as the end of a sentence."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of all pages."""


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
    changes = {page: (outcome.titles[page], _reversal(each)) for page, each in outcome.written.items()}
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


def _reversal(page: WrittenText) -> Change:
    return lambda raw: page.before if raw == page.after else None


async def _write(
    live: Live, at: ChangeRequestRef, changes: Mapping[str, tuple[str, Change]]
) -> SendResult[TermOutcome]:
    """Write pages in edits of as many pages as the server accepts. An edit that fails ends the work."""
    written: dict[str, WrittenText] = {}
    refused: dict[str, str] = {}
    titles = {page: title for page, (title, _) in changes.items()}
    remark, ids = "", list(changes)
    for start in range(0, len(ids), CHANGES_OF_ONE_EDIT):
        batch = ids[start : start + CHANGES_OF_ONE_EDIT]
        result = await _write_batch(live, at, {page: changes[page][1] for page in batch})
        if result.result is not None:
            written |= result.result.written
            refused |= result.result.refused
        if result.kind != "done":
            refused |= dict.fromkeys(batch, "may have been changed" if result.kind == "unknown" else _NOT_SENT)
            refused |= dict.fromkeys(ids[start + CHANGES_OF_ONE_EDIT :], _NOT_SENT)
            return SendResult(result.kind, result.message, TermOutcome(written, refused, titles))
        remark = remark or result.message
    return SendResult("done", remark, TermOutcome(written, refused, titles))


async def _write_batch(live: Live, at: ChangeRequestRef, changes: Mapping[str, Change]) -> SendResult[TermOutcome]:
    try:
        async for head in latest_heads(live, at):
            outcome = await _texts(live, head, changes)
            if not outcome.written:
                return SendResult("done", "", outcome)
            sent = await save_texts(live, at, head, outcome.written)
            if sent.result is not None:
                saved, reason = sent.result, _EDITED if sent.result.restored else _EDITED_NOW
                refused = dict(outcome.refused) | dict.fromkeys(saved.conflicts, reason)
                remark = sent.message if sent.message == MAYBE_OVERWRITTEN else ""
                return SendResult("done", remark, TermOutcome(saved.texts, refused))
            if sent.kind != "changed":
                return SendResult(sent.kind, sent.message)
    except (ApiError, NotEditable) as error:
        return SendResult("refused", str(error))
    return SendResult("refused", OTHERS_KEEP_EDITING)


async def _texts(live: Live, head: RevisionRef, changes: Mapping[str, Change]) -> TermOutcome:
    """Return the new texts of the pages in a revision, and the pages that are not to be changed. Raises ApiError."""
    written: dict[str, WrittenText] = {}
    refused: dict[str, str] = {}
    ids = list(changes)
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        sources = await asyncio.gather(*(page_source(live, head, page) for page in some))
        for page, source in zip(some, sources, strict=True):
            if source is None:
                refused[page] = "was deleted in this change request"
            elif (new := await asyncio.to_thread(changes[page], source)) is None:
                refused[page] = _EDITED
            elif new != source:
                written[page] = WrittenText(source, new)
    return TermOutcome(written, refused)
