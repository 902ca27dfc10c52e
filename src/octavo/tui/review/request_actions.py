"""The commands on a change request: merge, review, update, edit, archive, comment, and create another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import SpaceRef
from octavo.tui.comments import thread_actions
from octavo.tui.review import readiness, review_requests, undo_merge, updating, verdicts
from octavo.tui.review.request_at_hand import RequestAtHand, is_in, of_one, takes
from octavo.tui.shell import dialog_draft
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import UNDECIDED, why_no_space, why_not_in_space
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MOST_TOGETHER = 20
"""Change requests that are merged in one go."""
_REQUIRED = "Enter a subject of 1 to 100 characters."
_MAX_SUBJECT = 100

_NO_MARKDOWN = (
    "You can edit only the subject here. Octavo edits descriptions as Markdown, which would lose some of the formatting"
    " in this description. Press esc, then o to edit the description in the browser."
)


def _merge(app: Shell, request: RequestAtHand) -> None:
    if len(request.ticked) > 1:
        from octavo.tui.review.bulk_merge import MergeSeveralDialog, QueuedMerge

        several = [
            QueuedMerge(each.ref(SpaceRef(space_id=each.space)), each, _space_of(app, each))
            for each in request.ticked
            if each.space
        ]
        app.push_screen(MergeSeveralDialog(app, several))
    else:
        from octavo.tui.review.merge_dialog import merge_dialog

        app.push_screen(merge_dialog(app, request.at, request.about))


_may_not_merge_it = takes("merge", *UNDECIDED)


def _may_not_merge(app: Shell, request: RequestAtHand) -> str | None:
    if len(request.ticked) < 2:
        return _may_not_merge_it(app, request)
    for each in request.ticked:
        if each.space is None:
            return why_no_space(each)
        name = f"#{each.number} in {_space_of(app, each)}"
        if each.status not in UNDECIDED:
            state = "already merged" if each.status == "merged" else f"{each.status} and cannot be merged"
            return f"{name} is {state}. Press x to remove it from the selection."
        if why := why_not_in_space(app, each.space, "merge"):
            return f"{name} cannot be merged: {why} Press x to remove it from the selection."
    count = len(request.ticked)
    return (
        f"You can merge at most {MOST_TOGETHER} change requests at a time, but {count} are selected."
        if count > MOST_TOGETHER
        else None
    )


def _space_of(app: Shell, each: ChangeRequest) -> str:
    space = app.workspace.space(each.space or "")
    return space.title if space is not None else "an unknown space"


def _archive(app: Shell, request: RequestAtHand) -> None:
    readiness.ask_to_archive(app, request.at, request.about)


def _describe(app: Shell, request: RequestAtHand) -> None:
    from octavo.documents.json_editing import (
        apply_markdown_edit,
        document_to_markdown,
    )  # lazy: the markdown reader, rarely needed
    from octavo.tui.widgets.confirm import ConfirmDialog, Field

    change_request, at = request.about, request.at
    place = f"{at.space_id} {at.change_request_id}"
    text = document_to_markdown(change_request.description)
    subject = DialogDraft(app, f"subject {place}", change_request.subject)
    description = DialogDraft(app, f"description {place}", text or "")

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        given: dict[str, Any] = {}
        if answer.text != change_request.subject:
            given["subject"] = answer.text
        if text is not None and answer.second_text != text.strip():
            given["description"] = apply_markdown_edit(change_request.description, answer.second_text)
        if given:
            drafts = (subject, description) if text is not None else (subject,)
            _send_description(app, request, given, drafts)

    also = Field(
        "Description (Markdown)",
        description.text,
        lines=6,
        placeholder="optional: explain why you are making this change",
        save_draft=description.autosave,
        save_draft_now=description.autosave_now,
    )
    dialog = ConfirmDialog(
        f"Edit the details of #{change_request.number}",
        verb="Save",
        intro="" if text is not None else _NO_MARKDOWN,
        field=Field(
            "Subject",
            subject.text,
            required_error=_REQUIRED,
            max_length=_MAX_SUBJECT,
            save_draft=subject.autosave,
            save_draft_now=subject.autosave_now,
        ),
        second_field=also if text is not None else None,
    )
    app.push_screen(dialog, decided)


def _send_description(
    app: Shell, request: RequestAtHand, given: dict[str, Any], drafts: tuple[DialogDraft, ...]
) -> None:
    at, name = request.at, request.name

    def drop(_: object) -> None:
        for draft in drafts:
            draft.delete()

    from octavo.data.writes.direct import send_plain

    doing, op = f"save the details of {name}", change_requests.Update(at=at, **given)
    edit = change_requests.Get(at=at), lambda known: known.model_copy(update=given)
    app.writes.send(
        doing,
        send_plain(app.session.live, op, f"Could not {doing}", edit),
        message=f"Saved the details of {name}",
        on_success=drop,
        failure_hint=dialog_draft.DRAFT_SAVED,
        is_visible=True,
    )


def comment_on_whole(app: Shell, request: RequestAtHand) -> None:
    """Write a comment on a change request as a whole."""
    thread_actions.start_thread(app, request.at, page=None, node=None, title=request.name, excerpt=request.about.title)


may_not_comment_on_whole = takes("comment")
"""Why one cannot comment on a change request as a whole, in a sentence."""


def _called_ready(app: Shell, request: RequestAtHand) -> str | None:
    return "Convert to draft" if request.about.status == "open" else None


CHANGE: Commands[RequestAtHand] = Commands(
    "change",
    (
        Command("undo_merge", "Z", "Revert merge", "Create a change request that reverts the merge",
                writes=True, applies=is_in("merged"), run=undo_merge.ask_to_undo, why_not=of_one(undo_merge.may_not_undo)),
        Command("reviewers", "V", "Request review", "Request reviews, or withdraw review requests", shown=False,
                writes=True, run=review_requests.choose_reviewers, why_not=takes("edit", *UNDECIDED)),
        Command("ready", "tilde", "Mark as ready", "Mark as ready for review, or convert to draft", shown=False, key_display="~",
                writes=True, run=lambda app, request: readiness.mark(app, request.together),
                why_not=lambda app, request: readiness.why_not(app, request.together), title_now=_called_ready),
        Command("approve", "a", "Approve", "Approve this revision, with an optional comment",
                writes=True, applies=verdicts.awaits_others,
                run=lambda app, request: verdicts.review(app, request, "approved"), why_not=of_one(verdicts.may_not_review)),
        Command("ask", "A", "Request changes", "Request changes, with a comment", shown=False,
                writes=True, run=lambda app, request: verdicts.review(app, request, "changes-requested"), why_not=of_one(verdicts.may_not_review)),
        Command("held", "H", "Pending comments", "Show your pending comments", shown=False,
                run=verdicts.show_held, why_not=of_one(verdicts.why_none_is_held)),
        Command("withdraw", "w", "Withdraw review", "Withdraw your review", shown=False,
                writes=True, run=verdicts.withdraw, why_not=of_one(verdicts.may_not_withdraw)),
        Command("update", "U", "Update", "Check for conflicts and update from main", shown=False,
                writes=True, run=updating.update, why_not=takes("edit", *UNDECIDED)),
        Command("resolve", "R", "Resolve conflicts", "Resolve the conflicts with main", shown=False,
                run=updating.resolve, why_not=takes("edit", *UNDECIDED, "merged")),
        Command("merge", "m", "Merge", "Run the checks, then merge into main",
                writes=True, applies=is_in(*UNDECIDED), run=_merge, why_not=_may_not_merge),
        Command("archive", "L", "Archive", "Archive or reopen the change request", shown=False,
                writes=True, run=_archive, why_not=takes("edit", *UNDECIDED, "archived")),
        Command("subject", "E", "Edit details", "Edit the subject and description", shown=False,
                writes=True, run=_describe, why_not=takes("edit")),
        Command("comment", "C", "General comment", "Comment on the change request as a whole", shown=False,
                writes=True, run=comment_on_whole, why_not=may_not_comment_on_whole),
    ),
    context="change requests",
    no_target="Select a change request first.",
    find=lambda view: view.request_at_hand,
)  # fmt: skip
"""The commands on the selected change requests."""


def _start(app: Shell, space: SpaceRef) -> None:
    known = app.workspace.space(space.space_id)
    draft = DialogDraft(app, f"subject {space.space_id}")

    def made(change_request: ChangeRequest) -> None:
        from octavo.tui.writing.target_request import remember_target  # it is started to be written to

        draft.delete()
        remember_target(app, space, change_request)
        app.say(f"Created #{change_request.number} {change_request.title}")
        app.go(ToChangeRequest(change_request.ref(space), change_request))

    def start(subject: str) -> None:
        from octavo.data.writes.change_request_writes import create

        starting = create(app.session.live, space, subject)
        app.writes.send("create the change request", starting, on_success=made, failure_hint=dialog_draft.DRAFT_SAVED)

    _ask_subject(app, f"New change request in {known.title if known else 'this space'}", "Create", draft, start)


def _ask_subject(app: Shell, title: str, verb: str, draft: DialogDraft, use: Callable[[str], None]) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog, Field

    field = Field(
        "Subject",
        draft.text,
        required_error=_REQUIRED,
        max_length=_MAX_SUBJECT,
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            use(answer.text)

    app.push_screen(ConfirmDialog(title, verb=verb, field=field), decided)


def _space_to_start_in(view: Any) -> SpaceRef | None:
    """That of the change request at hand, or the one last read in."""
    request: RequestAtHand | None = view.request_at_hand
    if request is not None and request.space is not None:
        return request.space
    app: Shell = view.shell
    last = app.session.state.get_fact("space")
    space = app.workspace.space(str(last)) if last else None
    return space.ref if space else None


NEW_CHANGE: Commands[SpaceRef] = Commands(
    "change",
    (
        Command("new", "ctrl+n", "New", "Create a change request in this space", shown=False,
                writes=True, run=_start, why_not=lambda app, space: why_not_in_space(app, space.space_id, "edit")),
    ),
    context="change requests",
    no_target="Open a space first. Every change request belongs to a space.",
    find=_space_to_start_in,
)  # fmt: skip
"""Starting a change request in the space at hand."""
