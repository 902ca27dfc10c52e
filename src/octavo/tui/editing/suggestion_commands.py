"""Commands that apply suggested changes in threads to pages of a change request, undo that, or resolve their conflicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from octavo.api import change_requests
from octavo.api.comments import Comment, Reply
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit, page_source
from octavo.data.writes.direct import SendResult
from octavo.documents.suggestions import apply_suggestion, find_block_source, find_suggestions, with_conflict_markers
from octavo.tui.core.permissions import why_no_editing, why_not_in_space
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.editing.page_edit import PageEdit
from octavo.tui.editing.target_request import revision_ref
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


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
        old_sources = {
            suggested_text: await _old_source(live, at, suggested_text) for suggested_text in suggested_texts
        }
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
    for suggested_text in suggested_texts:
        if suggested_text.page not in after:
            source = await page_source(live, revision_ref(at, revision), suggested_text.page)
            if source is None:
                fates.append((suggested_text, "gone"))
                continue
            before[suggested_text.page] = after[suggested_text.page] = source
        result = await asyncio.to_thread(
            apply_suggestion,
            after[suggested_text.page].text,
            suggested_text.block_key,
            old_sources[suggested_text],
            suggested_text.text,
        )
        after[suggested_text.page] = Raw(result.text)
        fates.append((suggested_text, result.kind))
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


Sending = Callable[[], Coroutine[Any, Any, SendResult[SuggestionOutcome]]]


def suggested_texts(thread: Comment, message: Comment | Reply) -> tuple[SuggestedText, ...]:
    """Return the texts that a message suggests for the block of its thread."""
    page, node = thread.target.page, thread.target.node
    if page is None or node is None:
        return ()
    texts = find_suggestions(message.body.text)
    return tuple(SuggestedText(page.id, node.id, thread.target.revision, text.text) for text in texts)


def why_not_apply(app: Shell, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
    """Return the reason why the suggestion in a message cannot be applied, or None."""
    texts = find_suggestions(message.body.text)
    if not texts:
        return "This comment has no suggestion."
    if app.workspace.send_status(message.id) or app.workspace.send_status(thread.id):
        return "This comment has not been sent yet. You can apply the suggestion after the comment is sent."
    if len(texts) > 1:
        return "This comment has several suggestions for the same block, so Octavo cannot apply them. Press e to edit the page yourself."
    if not suggested_texts(thread, message):
        return "This thread is about the page as a whole, so the suggestion has no block to change."
    if not isinstance(at, ChangeRequestRef):
        return (
            "You can apply suggestions only in change requests, and this comment is on main. Press e to edit the page."
        )
    return why_no_editing(app) or why_not_in_space(app, at.space_id, "edit")


def apply_to_page(app: Shell, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
    """Apply the suggestion in a message to its page. If its block was edited since, offer to resolve the conflict
    in the editor."""
    texts = suggested_texts(thread, message)
    if not isinstance(at, ChangeRequestRef) or not texts:
        return
    page = thread.target.page
    title = (page.title if page is not None else None) or "the page"

    async def send() -> SendResult[SuggestionOutcome]:
        result = await apply_suggestions(app.session.live, at, texts)
        if result.kind != "changed" or result.result is None:
            return (
                result
                if result.kind == "done"
                else SendResult(result.kind, f"Could not apply the suggestion: {result.message}")
            )
        match result.result.results[0][1]:
            case "same":
                return SendResult("refused", f"{title} already has the suggested text. Press d to resolve the thread.")
            case "gone":
                return SendResult(
                    "refused", "Could not apply the suggestion: the page was deleted from this change request."
                )
        _offer_editor(app, at, title, texts[0])
        return SendResult("refused", "Could not apply the suggestion: its block was edited or deleted in the meantime.")

    _send(
        app,
        at,
        send,
        "apply the suggestion",
        f"Applied the suggestion to {title}. Press d to resolve the thread, or D to reply and resolve.",
    )


def apply_all_suggestions(app: Shell, at: ChangeRequestRef, title: str, threads: Sequence[Comment]) -> None:
    """Ask for confirmation, then apply the suggestions in all threads of a page."""
    suggested = [(thread, suggested_text) for thread in threads for suggested_text in suggested_texts(thread, thread)]

    def line(thread: Comment, wording: SuggestedText) -> str:
        text = " ".join(wording.text.split()) or "(deletes the block)"
        return f"• {thread.posted_by.name}: {text if len(text) <= 70 else text[:69] + '…'}"

    async def send() -> SendResult[SuggestionOutcome]:
        result = await apply_suggestions(app.session.live, at, [wording for _, wording in suggested])
        if result.result is None:
            return SendResult(result.kind, f"Could not apply the suggestions: {result.message}")
        summary = _summary(result.result)
        return SendResult("done", summary, result.result) if result.kind == "done" else SendResult("refused", summary)

    def on_decided(result: Confirmed | None) -> None:
        if result is not None:
            _send(app, at, send, f"apply {plural(len(suggested), 'suggestion')}", "")

    app.push_screen(
        ConfirmDialog(
            f"Apply {plural(len(suggested), 'suggestion')} to {title}?",
            verb="Apply",
            intro="\n".join(line(*each) for each in suggested),
            after="Suggestions for blocks that were edited in the meantime will be skipped. You can undo the changes by pressing u.",
        ),
        on_decided,
    )


def _summary(outcome: SuggestionOutcome) -> str:
    """Return the message about the result of applying several suggestions."""
    fates = [fate for _, fate in outcome.results]
    sentences = [f"Applied {outcome.applied} of {plural(len(fates), 'suggestion')}."]
    if unchanged := fates.count("same"):
        sentences.append(f"{plural(unchanged, 'suggestion was', 'suggestions were')} already on the page.")
    if skipped := fates.count("changed") + fates.count("gone"):
        reason = "its block was" if skipped == 1 else "their blocks were"
        sentences.append(
            f"Skipped {plural(skipped, 'suggestion')}: {reason} edited or deleted. "
            "To apply a skipped suggestion in your editor, open its thread and press a."
        )
    return " ".join(sentences)


def _send(app: Shell, at: ChangeRequestRef, send: Sending, action: str, message: str) -> None:
    live = app.session.live
    app.writes.send(
        action,
        send(),
        message=message,
        make_undo=lambda outcome: DirectUndo(
            "undo the suggested change", lambda: revert_suggestions(live, at, outcome), "Undid the suggested change."
        ),
    )


def _offer_editor(app: Shell, at: ChangeRequestRef, title: str, suggested: SuggestedText) -> None:
    async def open_it() -> None:
        try:
            change_request = await app.session.live.fetch(change_requests.Get(at=at))
        except ApiError as error:
            app.say(f"Could not open {title}: {error}", tone="failed")
            return
        edit = PageEdit(app, at.space, suggested.page, title, change_request)
        await edit.open_changed(lambda page: with_conflict_markers(page, suggested.block_key, suggested.text))

    def on_decided(result: Confirmed | None) -> None:
        if result is not None:
            app.background(open_it())

    intro = "The block changed after the suggestion was made. Your editor shows both versions between conflict markers."
    app.push_screen(ConfirmDialog(f"Resolve the conflict in {title}?", verb="Open editor", intro=intro), on_decided)
