"""Suggested wordings in threads: put into the page by one key, several at once, or settled in an editor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.send_once import Sent
from octavo.documents.suggesting import beside, suggestions
from octavo.tui.shell.permissions import not_allowed_in, why_no_editing
from octavo.tui.shell.write_queue import UndoAction
from octavo.tui.widgets.wording import plural
from octavo.tui.writing.applying_suggestions import Outcome, Wording, apply, take_back

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Sending = Callable[[], Coroutine[Any, Any, Sent[Outcome]]]


def wordings(thread: Comment, message: Comment | Reply) -> tuple[Wording, ...]:
    """What a message of a thread suggests for the block the thread hangs on."""
    page, node = thread.target.page, thread.target.node
    if page is None or node is None:
        return ()
    found = suggestions(message.body.text)
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
    found = suggestions(message.body.text)
    if not found:
        return "This message suggests no other wording."
    if app.workspace.on_its_way(message.id) or app.workspace.on_its_way(thread.id):
        return "This is not sent yet: the server says what it is about once it has it."
    if len(found) > 1:
        return "This message suggests several wordings of one block: choose one, and e edits the page."
    if not wordings(thread, message):
        return "This suggests words for no block of a page: the thread hangs on the whole of it."
    if not isinstance(at, ChangeRequestRef):
        return "A suggestion is put into a change request, and this was said of live content: e edits the page."
    return why_no_editing(app) or not_allowed_in(app, at.space_id, "edit")


def apply_one(app: Shell, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
    """Put what a message suggests into the page. Where its block was edited since, an editor with both is offered."""
    found = wordings(thread, message)
    if not isinstance(at, ChangeRequestRef) or not found:
        return
    page = thread.target.page
    title = (page.title if page is not None else None) or "the page"

    async def sending() -> Sent[Outcome]:
        sent = await apply(app.session.live, at, found)
        if sent.kind != "moved" or sent.answer is None:
            return sent if sent.kind == "done" else Sent(sent.kind, f"The suggestion is not applied: {sent.sentence}")
        match sent.answer.fates[0][1]:
            case "same":
                return Sent("refused", f"{title} says so already: d resolves the thread.")
            case "gone":
                return Sent("refused", "The page is not in this change request any more.")
        _offer_editor(app, at, title, found[0])
        return Sent("refused", "Nothing is written: the block was edited since this was suggested, or is gone.")

    _send(app, at, sending, "apply the suggestion", f"Applied to {title}. d resolves the thread, D answers it first.")


def apply_all(app: Shell, at: ChangeRequestRef, title: str, threads: Sequence[Comment]) -> None:
    """Put in what open threads of a page suggest, once the person said yes."""
    from octavo.tui.widgets.confirm import Confirm

    found = [(thread, each) for thread in threads for each in wordings(thread, thread)]

    def one(thread: Comment, wording: Wording) -> str:
        words = " ".join(wording.text.split()) or "(nothing: the block goes)"
        return f"• {thread.posted_by.name}: {words if len(words) <= 70 else words[:69] + '…'}"

    async def sending() -> Sent[Outcome]:
        sent = await apply(app.session.live, at, [wording for _, wording in found])
        if sent.answer is None:
            return Sent(sent.kind, f"The suggestions are not applied: {sent.sentence}")
        told = _told(sent.answer)
        return Sent("done", told, sent.answer) if sent.kind == "done" else Sent("refused", told)

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            _send(app, at, sending, f"apply {plural(len(found), 'suggestion')}", "")

    app.push_screen(
        Confirm(
            f"Apply {plural(len(found), 'suggestion')} to {title}?",
            verb="Apply",
            intro="\n".join(one(*each) for each in found),
            after="Those whose blocks were edited since are left out and told. u takes all back.",
        ),
        decided,
    )


def _told(outcome: Outcome) -> str:
    """What became of each of several."""
    fates = [fate for _, fate in outcome.fates]
    said = [f"{outcome.applied} of {plural(len(fates), 'suggestion')} applied."]
    if same := fates.count("same"):
        said.append(f"{same} {'was' if same == 1 else 'were'} in the page already.")
    if left := fates.count("changed") + fates.count("gone"):
        said.append(f"{left} left out: the block was edited since, or is gone. a in the thread offers the editor.")
    return " ".join(said)


def _send(app: Shell, at: ChangeRequestRef, sending: Sending, doing: str, said: str) -> None:
    live = app.session.live
    app.writes.send_once(
        doing,
        sending(),
        said=said,
        back=lambda outcome: UndoAction(
            "take the suggestion back", lambda: take_back(live, at, outcome), "Taken back: the page is as it was."
        ),
    )


def _offer_editor(app: Shell, at: ChangeRequestRef, title: str, wording: Wording) -> None:
    from octavo.tui.widgets.confirm import Confirm

    async def open_it() -> None:
        from octavo.tui.writing.page_edit import PageEdit

        try:
            about = await app.session.live.fetch(change_requests.Get(at=at))
        except ApiError as error:
            app.say(f"{title} is not opened: {error}", tone="failed")
            return
        edit = PageEdit(app, at.space, wording.page, title, about)
        await edit.open_with(lambda page: beside(page, wording.key, wording.text))

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(open_it())

    said = "What stands there now is not what was suggested for. Your editor can show both, between marks."
    app.push_screen(Confirm(f"Settle it in {title}?", verb="Open the editor", intro=said), decided)
