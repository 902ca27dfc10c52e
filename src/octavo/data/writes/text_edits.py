"""Edits pages of a change request: applies suggestions of comments, replaces a term on many pages, and reverts both.

Suggestions are applied only if all of them fit. A term is replaced only on pages that have not changed since the
search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from octavo.api import comments
from octavo.api.comments import Comment, Reply
from octavo.api.operation import ChangeRequestRef, RevisionRef
from octavo.api.safety import safe_text
from octavo.api.text import Raw
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.state_db import NotSaved
from octavo.data.writes.content_writes import MAX_CHANGES_PER_EDIT, WrittenText, page_source, save_on_newest_head
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.outbox import WriteGroup
from octavo.documents.suggestions import apply_suggestion, find_block_source, find_suggestions, has_fewer_blocks
from octavo.documents.terms import TermChange, TermMatch, find_matches, replace_matches

_EDITED_AFTERWARD = "Could not undo the applied suggestion: the page was edited afterward. Edit the page, or press Q to revert the block."
SuggestionResult = Literal["applied", "same", "changed", "gone"]
"""`same`: the page already has the text. `changed`: the block was edited or deleted. `gone`: the page was deleted."""
_EDITED = "was edited in the meantime"
NOT_SENT = "was not sent"
TextEdit = Callable[[Raw], Raw | None]
"""Function that takes the text of a page and returns the new text. None if the page must stay unchanged."""


@dataclass(frozen=True)
class SuggestedText:
    """A text that a comment suggests for a block."""

    page_id: str
    block_key: str
    """Key of the block that the comment is on."""
    revision: str | None
    """Revision for which the suggestion was made. None if unknown: such a suggestion is never applied."""
    text: str

    @property
    def old_page(self) -> tuple[str, str | None]:
        """Page ID, and the revision for which the suggestion was made (None if unknown)."""
        return self.page_id, self.revision


@dataclass(frozen=True)
class SuggestionOutcome:
    """Result of applying suggestions, or the expected result in a preview."""

    results: tuple[tuple[SuggestedText, SuggestionResult], ...]
    texts: Mapping[str, WrittenText]
    """Text of each page before and after the edit, by page ID. The texts are equal if the page is unchanged."""
    later_ids: tuple[str, ...] = ()
    """IDs of the outbox entries that resolve the threads of the suggestions."""

    @property
    def applied_count(self) -> int:
        """Number of applied suggestions."""
        return sum(result == "applied" for _, result in self.results)

    @property
    def fits(self) -> bool:
        """True if each suggestion could be applied, or its block already has the suggested text."""
        return all(result in ("applied", "same") for _, result in self.results)


def suggested_texts(thread: Comment, message: Comment | Reply) -> tuple[SuggestedText, ...]:
    """Return the texts that a message suggests for the block of its thread. Empty if the thread is not on a block."""
    page, node = thread.target.page, thread.target.node
    if page is None or node is None:
        return ()
    texts = find_suggestions(message.body.text)
    return tuple(SuggestedText(page.id, node.id, thread.target.revision, text.text) for text in texts)


def resolve_write(at: ChangeRequestRef, thread: Comment, context: str) -> NewWrite:
    """Return the write that resolves a thread. `context` describes the thread in messages (`NewWrite.context`)."""
    op = comments.Update(at=at, comment_id=thread.id, resolved=True)
    return NewWrite(op, "resolve the thread", context=context)


async def apply_suggestions(
    live: Live,
    at: ChangeRequestRef,
    suggestions: Sequence[SuggestedText],
    later_writes: Sequence[NewWrite] = (),
    *,
    previewed: SuggestionOutcome | None = None,
) -> SendResult[SuggestionOutcome]:
    """Apply all suggestions in one edit, then add `later_writes` to the outbox. Send nothing if a suggestion
    does not fit, if none changes a text, or if the outcome would differ from `previewed`. The result is
    `changed` in these three cases, and if another user edits a page at the same moment."""
    outcome = SuggestionOutcome((), {})

    async def applied_texts(head: RevisionRef) -> Mapping[str, WrittenText]:
        nonlocal outcome
        outcome = await preview_suggestions(live, at, head.revision_id, suggestions)
        is_expected = outcome.applied_count > 0 and outcome.fits and previewed in (None, outcome)
        changed_texts = {page: each for page, each in outcome.texts.items() if each.before != each.after}
        return changed_texts if is_expected else {}

    sent = await save_on_newest_head(live, at, applied_texts, later_writes)
    saved_texts = sent.result
    if saved_texts is None:
        return SendResult(sent.kind, sent.message)
    texts = {**outcome.texts, **saved_texts.texts}
    if saved_texts.texts and not saved_texts.conflicts:
        return SendResult("done", sent.message, replace(outcome, texts=texts, later_ids=sent.later_ids))
    try:
        await live.outbox.undo(WriteGroup(sent.later_ids))
    except NotSaved as error:
        cause = "someone else changed the page at the same moment. Octavo could not cancel resolving the threads"
        return SendResult("refused", f"{cause}: {error}")
    texts |= {page: WrittenText(text, text) for page, text in saved_texts.conflicts.items()}
    results = tuple(
        (each, "changed" if each.page_id in saved_texts.conflicts else result) for each, result in outcome.results
    )
    return SendResult("changed", "", SuggestionOutcome(results, texts))


async def revert_suggestions(live: Live, at: ChangeRequestRef, outcome: SuggestionOutcome) -> SendResult[TermOutcome]:
    """Undo `apply_suggestions`: restore the texts and reopen the threads. Send nothing if a page was edited later."""
    changes = {page: _reversal(each) for page, each in outcome.texts.items() if each.before != each.after}
    sent = await _replace_in_one_edit(live, at, changes, needs_all=True)
    if sent.result is not None and sent.result.refused:
        return SendResult("changed", _EDITED_AFTERWARD)
    if sent.kind != "done":
        return replace(sent, message=f"Could not undo the applied suggestion: {sent.message}")
    try:
        await live.outbox.undo(WriteGroup(outcome.later_ids))
    except NotSaved as error:
        return replace(sent, message=f"Restored the text, but could not undo resolving the threads: {error}")
    return sent


async def preview_suggestions(
    live: Live, at: ChangeRequestRef, revision_id: str, suggestions: Sequence[SuggestedText]
) -> SuggestionOutcome:
    """Return the outcome of applying suggestions to a revision. Changes nothing on the server. Raises ApiError."""
    texts: dict[str, WrittenText] = {}
    results: list[tuple[SuggestedText, SuggestionResult]] = []
    old_pages: dict[tuple[str, str | None], Raw | None] = {}
    for suggestion in suggestions:
        if suggestion.page_id not in texts:
            source = await page_source(live, at.revision_ref(revision_id), suggestion.page_id)
            if source is None:
                results.append((suggestion, "gone"))
                continue
            texts[suggestion.page_id] = WrittenText(source, source)
        if suggestion.old_page not in old_pages:
            old_ref = at.revision_ref(suggestion.revision) if suggestion.revision is not None else None
            old_pages[suggestion.old_page] = await page_source(live, old_ref, suggestion.page_id) if old_ref else None
        old_page = old_pages[suggestion.old_page]
        key, page = suggestion.block_key, texts[suggestion.page_id]
        old_text = old_page.text if old_page is not None else ""
        original = await asyncio.to_thread(find_block_source, old_text, key)
        is_lost = await asyncio.to_thread(has_fewer_blocks, page.before.text, old_text, original or "")
        apply = partial(apply_suggestion, is_equal_block_lost=is_lost)
        applied = await asyncio.to_thread(apply, page.after.text, key, original, suggestion.text)
        texts[suggestion.page_id] = WrittenText(page.before, Raw(applied.text))
        results.append((suggestion, applied.kind))
    return SuggestionOutcome(tuple(results), texts)


@dataclass(frozen=True)
class PageReplacement:
    """The matches of a term on one page that are to be replaced."""

    page_id: str
    title: str
    text: str
    """The text of the page in which the matches were found."""
    matches: tuple[TermMatch, ...]


@dataclass(frozen=True)
class TermOutcome:
    """Result of an edit of several pages. Each field has values by page ID."""

    written: Mapping[str, WrittenText] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons why pages were not changed, such as `was edited in the meantime`, by page ID."""
    titles: Mapping[str, str] = field(default_factory=dict)


async def replace_term(
    live: Live, at: ChangeRequestRef, change: TermChange, pages: Sequence[PageReplacement]
) -> SendResult[TermOutcome]:
    """Replace matches of a term on pages of a change request. Pages that have changed since the search are skipped."""
    changes = {each.page_id: (each.title, _replacement(change, each)) for each in pages}
    return await _replace_on_pages(live, at, changes)


async def revert_term(live: Live, at: ChangeRequestRef, outcome: TermOutcome) -> SendResult[TermOutcome]:
    """Restore the texts as they were before `replace_term`. Skip pages that were edited after `replace_term`."""
    changes = {page: (outcome.titles[page], _reversal(each)) for page, each in outcome.written.items()}
    return await _replace_on_pages(live, at, changes)


def _replacement(change: TermChange, page: PageReplacement) -> TextEdit:
    def replaced(raw: Raw) -> Raw | None:
        if safe_text(raw.text) != page.text:
            return None
        if raw.text == page.text:
            return Raw(replace_matches(raw.text, page.matches))
        # The searched text was sanitized, so matches have other positions in `raw.text`.
        shown, real = find_matches(change, page.text), find_matches(change, raw.text)
        if [each.replacement for each in shown] != [each.replacement for each in real]:
            return None
        return Raw(replace_matches(raw.text, [real[shown.index(each)] for each in page.matches if each in shown]))

    return replaced


def _reversal(page: WrittenText) -> TextEdit:
    return lambda raw: page.before if raw == page.after else None


async def _replace_on_pages(
    live: Live, at: ChangeRequestRef, changes: Mapping[str, tuple[str, TextEdit]]
) -> SendResult[TermOutcome]:
    written_texts: dict[str, WrittenText] = {}
    refused_reasons: dict[str, str] = {}
    titles = {page: title for page, (title, _) in changes.items()}
    remark, ids = "", list(changes)
    for start in range(0, len(ids), MAX_CHANGES_PER_EDIT):
        batch = ids[start : start + MAX_CHANGES_PER_EDIT]
        result = await _replace_in_one_edit(live, at, {page: changes[page][1] for page in batch})
        if result.result is not None:
            written_texts |= result.result.written
            refused_reasons |= result.result.refused
        if result.kind != "done":
            refused_reasons |= dict.fromkeys(batch, "may have been changed" if result.kind == "unknown" else NOT_SENT)
            refused_reasons |= dict.fromkeys(ids[start + MAX_CHANGES_PER_EDIT :], NOT_SENT)
            return replace(result, result=TermOutcome(written_texts, refused_reasons, titles))
        remark = remark or result.message
    return SendResult("done", remark, TermOutcome(written_texts, refused_reasons, titles))


async def _replace_in_one_edit(
    live: Live, at: ChangeRequestRef, changes: Mapping[str, TextEdit], *, needs_all: bool = False
) -> SendResult[TermOutcome]:
    """Save the new texts, except on pages that were edited or deleted. If `needs_all`, one such page stops the edit."""
    outcome = TermOutcome()

    async def replaced_texts(head: RevisionRef) -> Mapping[str, WrittenText]:
        nonlocal outcome
        outcome = await _replaced_texts(live, head, changes)
        return {} if needs_all and outcome.refused else outcome.written

    sent = await save_on_newest_head(live, at, replaced_texts)
    if (saved_texts := sent.result) is None:
        return SendResult(sent.kind, sent.message, error=sent.error)
    refused_reasons = {**outcome.refused, **dict.fromkeys(saved_texts.conflicts, _EDITED)}
    return SendResult("done", saved_texts.warning, TermOutcome(saved_texts.texts, refused_reasons))


async def _replaced_texts(live: Live, head: RevisionRef, changes: Mapping[str, TextEdit]) -> TermOutcome:
    written_texts: dict[str, WrittenText] = {}
    refused_reasons: dict[str, str] = {}
    sources = await gather_bounded(partial(page_source, live, head), changes)
    for (page, change), source in zip(changes.items(), sources, strict=True):
        if source is None:
            refused_reasons[page] = "was deleted in this change request"
        elif (new_text := await asyncio.to_thread(change, source)) is None:
            refused_reasons[page] = _EDITED
        elif new_text != source:
            written_texts[page] = WrittenText(source, new_text)
    return TermOutcome(written_texts, refused_reasons)
