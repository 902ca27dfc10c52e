"""Suggested wordings in threads: put into the page by one key, several at once, or settled in an editor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.writes.direct import SendResult
from octavo.documents.suggestions import find_suggestions, with_conflict_markers
from octavo.tui.shell.permissions import not_allowed_in, why_no_editing
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.wording import plural
from octavo.tui.writing.applying_suggestions import Outcome, Wording, apply, take_back

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Sending = Callable[[], Coroutine[Any, Any, SendResult[Outcome]]]


def wordings(thread: Comment, message: Comment | Reply) -> tuple[Wording, ...]:
    """What a message of a thread suggests for the block the thread hangs on."""
    page, node = thread.target.page, thread.target.node
    if page is None or node is None:
        return ()
    found = find_suggestions(message.body.text)
    return tuple(Wording(page.id, node.id, thread.target.revision, each.text) for each in found)


class Suggesting:
    """What threads may do with the wordings they show."""

    def __init__(self, app: Shell) -> None:
        self._app = app

    def why_not_apply(self, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
        """Why what a message suggests cannot be put into the page, in a sentence."""
        return why_not_apply(self._app, at, thread, message)

    def apply(self, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
        """Put what a message suggests into the page."""
        apply_one(self._app, at, thread, message)


def why_not_apply(app: Shell, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
    """Why what a message suggests cannot be put into the page, in a sentence."""
    found = find_suggestions(message.body.text)
    if not found:
        return "This comment has no suggestion."
    if app.workspace.on_its_way(message.id) or app.workspace.on_its_way(thread.id):
        return "This comment has not been sent yet. You can apply the suggestion after the comment is sent."
    if len(found) > 1:
        return "This comment has several suggestions for the same block, so Octavo cannot apply them. Press e to edit the page yourself."
    if not wordings(thread, message):
        return "This thread is about the page as a whole, so the suggestion has no block to change."
    if not isinstance(at, ChangeRequestRef):
        return (
            "You can apply suggestions only in change requests, and this comment is on main. Press e to edit the page."
        )
    return why_no_editing(app) or not_allowed_in(app, at.space_id, "edit")


def apply_one(app: Shell, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
    """Put what a message suggests into the page. Where its block was edited since, an editor with both is offered."""
    found = wordings(thread, message)
    if not isinstance(at, ChangeRequestRef) or not found:
        return
    page = thread.target.page
    title = (page.title if page is not None else None) or "the page"

    async def sending() -> SendResult[Outcome]:
        sent = await apply(app.session.live, at, found)
        if sent.kind != "changed" or sent.result is None:
            return (
                sent
                if sent.kind == "done"
                else SendResult(sent.kind, f"Could not apply the suggestion: {sent.message}")
            )
        match sent.result.fates[0][1]:
            case "same":
                return SendResult("refused", f"{title} already has the suggested text. Press d to resolve the thread.")
            case "gone":
                return SendResult(
                    "refused", "Could not apply the suggestion: the page was deleted from this change request."
                )
        _offer_editor(app, at, title, found[0])
        return SendResult("refused", "Could not apply the suggestion: its block was edited or deleted in the meantime.")

    _send(
        app,
        at,
        sending,
        "apply the suggestion",
        f"Applied the suggestion to {title}. Press d to resolve the thread, or D to reply and resolve.",
    )


def apply_all(app: Shell, at: ChangeRequestRef, title: str, threads: Sequence[Comment]) -> None:
    """Put in what open threads of a page suggest, once the person said yes."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    found = [(thread, each) for thread in threads for each in wordings(thread, thread)]

    def one(thread: Comment, wording: Wording) -> str:
        words = " ".join(wording.text.split()) or "(deletes the block)"
        return f"• {thread.posted_by.name}: {words if len(words) <= 70 else words[:69] + '…'}"

    async def sending() -> SendResult[Outcome]:
        sent = await apply(app.session.live, at, [wording for _, wording in found])
        if sent.result is None:
            return SendResult(sent.kind, f"Could not apply the suggestions: {sent.message}")
        told = _told(sent.result)
        return SendResult("done", told, sent.result) if sent.kind == "done" else SendResult("refused", told)

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            _send(app, at, sending, f"apply {plural(len(found), 'suggestion')}", "")

    app.push_screen(
        ConfirmDialog(
            f"Apply {plural(len(found), 'suggestion')} to {title}?",
            verb="Apply",
            intro="\n".join(one(*each) for each in found),
            after="Suggestions for blocks that were edited in the meantime will be skipped. You can undo the changes by pressing u.",
        ),
        decided,
    )


def _told(outcome: Outcome) -> str:
    """What became of each of several."""
    fates = [fate for _, fate in outcome.fates]
    said = [f"Applied {outcome.applied} of {plural(len(fates), 'suggestion')}."]
    if same := fates.count("same"):
        said.append(f"{plural(same, 'suggestion was', 'suggestions were')} already on the page.")
    if left := fates.count("changed") + fates.count("gone"):
        why = "its block was" if left == 1 else "their blocks were"
        said.append(
            f"Skipped {plural(left, 'suggestion')}: {why} edited or deleted. "
            "To apply a skipped suggestion in your editor, open its thread and press a."
        )
    return " ".join(said)


def _send(app: Shell, at: ChangeRequestRef, sending: Sending, doing: str, said: str) -> None:
    live = app.session.live
    app.writes.send(
        doing,
        sending(),
        said=said,
        back=lambda outcome: DirectUndo(
            "undo the suggested change", lambda: take_back(live, at, outcome), "Undid the suggested change."
        ),
    )


def _offer_editor(app: Shell, at: ChangeRequestRef, title: str, wording: Wording) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog

    async def open_it() -> None:
        from octavo.tui.writing.page_edit import PageEdit

        try:
            about = await app.session.live.fetch(change_requests.Get(at=at))
        except ApiError as error:
            app.say(f"Could not open {title}: {error}", tone="failed")
            return
        edit = PageEdit(app, at.space, wording.page, title, about)
        await edit.open_with(lambda page: with_conflict_markers(page, wording.key, wording.text))

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(open_it())

    said = "The block changed after the suggestion was made. Your editor shows both versions between conflict markers."
    app.push_screen(ConfirmDialog(f"Resolve the conflict in {title}?", verb="Open editor", intro=said), decided)
