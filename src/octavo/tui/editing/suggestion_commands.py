"""Commands that apply suggested changes in threads to pages of a change request, undo that, or resolve their conflicts."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.writes.direct import SendResult
from octavo.data.writes.text_edits import (
    SuggestedText,
    SuggestionOutcome,
    apply_suggestions,
    resolve_write,
    revert_suggestions,
    suggested_texts,
)
from octavo.documents.suggestions import find_suggestions, with_conflict_markers
from octavo.tui.comments.thread_actions import thread_label
from octavo.tui.core.permissions import (
    UNDECIDED,
    why_no_editing,
    why_not_in_change_request,
    why_not_in_discussion,
    why_not_in_space,
)
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.editing.page_edit import PageEdit
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


Sending = Callable[[], Coroutine[Any, Any, SendResult[SuggestionOutcome]]]


def why_not_apply(
    app: Shell, at: Discussion | None, thread: Comment, message: Comment | Reply, *, resolve: bool = False
) -> str | None:
    """Return the reason why the suggestion in a message cannot be applied, or None. With `resolve`, the thread must also
    be resolvable."""
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
    if reason := why_no_editing(app) or _why_not_in_request(app, at):
        return reason
    return why_not_in_discussion(app, at, "resolve", thread) if resolve and thread.is_open else None


def _why_not_in_request(app: Shell, at: ChangeRequestRef) -> str | None:
    """Return the reason why the pages of a change request cannot be edited, as far as the change request is loaded."""
    change_request = app.session.live.peek(change_requests.Get(at=at)).value
    if change_request is None:
        return why_not_in_space(app, at.space_id, "edit")
    return why_not_in_change_request(app, change_request, at.space, "edit", *UNDECIDED)


def apply_to_page(
    app: Shell, at: Discussion, thread: Comment, message: Comment | Reply, *, resolve: bool = False
) -> None:
    """Apply the suggestion in a message to its page. With `resolve`, then resolve its thread. If its block was edited
    since, change nothing and offer to resolve the conflict in the editor."""
    texts = suggested_texts(thread, message)
    if not isinstance(at, ChangeRequestRef) or not texts:
        return
    page = thread.target.page
    title = (page.title if page is not None else None) or "the page"
    resolves = resolve and thread.is_open
    later_writes = [resolve_write(at, thread, thread_label(thread))] if resolves else []

    async def send() -> SendResult[SuggestionOutcome]:
        result = await apply_suggestions(app.session.live, at, texts, later_writes)
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

    next_step = "Resolving thread…" if resolves else "Press d to resolve the thread, or D to reply and resolve."
    send_suggestions(
        app,
        at,
        send,
        "apply the suggestion",
        f"Applied the suggestion to {title}. {next_step if thread.is_open else ''}",
    )


def send_suggestions(app: Shell, at: ChangeRequestRef, send: Sending, action: str, message: str) -> None:
    """Apply suggestions with `send`, and show `message`. `u` undoes the edit and reopens the threads."""
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
