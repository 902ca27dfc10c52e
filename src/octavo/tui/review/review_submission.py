"""Dialogs that submit or withdraw a review, and the list of pending comments and proposed notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from octavo.api.operation import ChangeRequestRef
from octavo.data.proposed_notes import Accepted, ProposedNote
from octavo.data.queries import UNDECIDED, reviews_op
from octavo.data.writes import change_request_writes
from octavo.data.writes.change_request_writes import Verdict, withdraw_review_by_request
from octavo.data.writes.machine import OutboxEntry, has_review_in_flight
from octavo.lazy_import import lazy
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_actions import describe_pending
from octavo.tui.core import dialog_draft
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.shell import Shell, opening, shell_of
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.review.status_changes import RequestTarget, my_review, status_matcher, why_not_allowed
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowList
from octavo.tui.widgets.short_texts import plural, safe, short_age

_open_composer = lazy("octavo.tui.comments.composer:open_composer")  # lazy: loads the text area


def accept_notes(app: Shell, notes: Sequence[ProposedNote]) -> None:
    """Turn notes that programs proposed into pending comments. Undo proposes the notes again."""
    accepted: tuple[Accepted, ...] = ()

    async def apply() -> bool:
        nonlocal accepted
        accepted = await app.session.proposed_notes.accept(notes)
        return bool(accepted)

    async def undo() -> bool:
        return await app.session.proposed_notes.undo_accept(accepted)

    name = "the note" if len(notes) == 1 else plural(len(notes), "note")
    change = LocalChange(f"accept {name}", apply, undo, f"Proposed {name} again.")
    pronoun = "it" if len(notes) == 1 else "them"
    app.writes.apply_change(change, message=f"Accepted {name}. Submit your review to send {pronoun}.")


def discard_note(app: Shell, note: ProposedNote) -> None:
    """Discard a note that a program proposed. Undo proposes the note again."""

    async def apply() -> None:
        await app.session.proposed_notes.discard([note])

    async def undo() -> None:
        await app.session.proposed_notes.undo_discard([note])

    app.writes.apply_change(
        LocalChange("discard the note", apply, undo, "Proposed the note again."), message="Discarded the note."
    )


def edit_and_accept(app: Shell, note: ProposedNote) -> None:
    """Let the user edit a note that a program proposed. Saving turns the note into a pending comment."""
    draft_key = f"held {note.id}"

    def save(text: str) -> None:
        async def apply() -> bool:
            return bool(await app.session.proposed_notes.accept([note], body=text, draft_key=draft_key))

        change = LocalChange("accept the note", apply)
        app.writes.apply_change(change, message="Accepted the note. Submit your review to send it.")

    title = f"Edit and accept a note of {note.source}"
    _open_composer(app, note.at, draft_key, title, save, edited=note.body, verb="accept", is_recoverable=False)


def source_label(note: ProposedNote) -> str:
    """Return a label such as `proposed by claude`, with ` · similar block` if the block of the note was not found."""
    return f"proposed by {note.source}" + (" · similar block" if note.placed == "likely" else "")


def why_no_review(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why you cannot review the change request. None if you can."""
    if (why := why_not_allowed(app, target, "review", *UNDECIDED)) is not None:
        return why
    if has_review_in_flight(app.session.outbox.own_entries, target.at):
        return f"Your review of {target.name} is already being submitted. Octavo is sending the comments first."
    return target.why_outdated


def is_review_offered(app: Shell, target: RequestTarget) -> bool:
    """Return True if the key bar offers a review: for open or draft change requests that are not known to be yours."""
    me, author = app.workspace.me, target.change_request.created_by
    return status_matcher(*UNDECIDED)(app, target) and (me is None or author is None or author.id != me.id)


def why_no_withdrawal(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why you cannot withdraw your review. None if you can."""
    if (why := why_not_allowed(app, target, "review", *UNDECIDED)) is not None:
        return why
    if target.reviews is not None and not my_review(app, target.reviews):
        return f"You have not reviewed {target.name}, or your review is outdated."
    if why_not_allowed(app, target, "edit") is not None:
        title = app.workspace.space_title(target.space.space_id if target.space is not None else None)
        return (
            f"You need the Editor role in {title} to withdraw a review. You can ask an editor to request another review "
            "from you. The new review request will make your current review outdated."
        )
    return None


def why_no_pending_comments(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why there are no pending comments or proposed notes to list. None if there are some."""
    if pending_comments_of(app, target) or proposed_notes_of(app, target):
        return None
    return (
        "You have no pending comments here. To add a comment to your review, press ctrl+t while you write the comment."
    )


def pending_comments_of(app: Shell, target: RequestTarget) -> tuple[OutboxEntry, ...]:
    """Return your pending comments on a change request, oldest first. Empty if the space is unknown."""
    return app.session.outbox.pending_comments(target.at) if target.space is not None and app.has_session else ()


def proposed_notes_of(app: Shell, target: RequestTarget) -> tuple[ProposedNote, ...]:
    """Return the notes that programs propose for a change request, oldest first."""
    return app.session.proposed_notes.at(target.at) if target.space is not None and app.has_session else ()


def open_pending_comments(app: Shell, target: RequestTarget) -> None:
    """Show pending comments and proposed notes. Then show the chosen entry in the target's view. If this view cannot
    show entries, open the change request."""

    def on_answer(chosen: ListedComment) -> None:
        if isinstance(chosen, ProposedNote) and target.show_block is not None:
            target.show_block(chosen.page, chosen.block)
        elif isinstance(chosen, OutboxEntry) and target.show_pending_comment is not None:
            target.show_pending_comment(chosen)
        else:
            app.go(ToChangeRequest(target.at, target.change_request))

    app.ask(PendingCommentsScreen(target.at, target.name, target.titles(), target.pending_note), on_answer)  # type: ignore[misc]  # mypy infers no union


async def open_withdraw_dialog(app: Shell, target: RequestTarget) -> None:
    """Load your review, and open the dialog that withdraws the review."""
    at, name, live = target.at, target.name, app.session.live
    with opening(app, "Loading your review…", f"Could not load your review of {name}"):
        reviews = (await live.fetch(reviews_op(at))).items
    if (review := my_review(app, reviews)) is None:
        app.say(f"You have not reviewed {name}, or your review is outdated.", tone="care")
        return

    def on_answer(answer: Confirmed) -> None:
        app.writes.send(
            f"withdraw your review of {name}",
            withdraw_review_by_request(live, at, review),
            message=f"Withdrew your review of {name}.",
            on_success=lambda _: target.view.refresh_data(),
            no_undo_reason="You cannot undo the withdrawal by pressing u. Submit another review instead.",
        )

    summary = f"You approved {name}." if review.status == "approved" else f"You requested changes on {name}."
    note = f" {review.requested_by.name}'s review request will stay open." if review.requested_by is not None else ""
    after = f"Your review will be marked as outdated. Others can still see the review and its comments.{note}"
    app.ask(ConfirmDialog(f"Withdraw your review of {name}?", verb="Withdraw", intro=summary, after=after), on_answer)


def open_review_dialog(app: Shell, target: RequestTarget, status: Verdict) -> None:
    """Open the dialog that submits a review: the verdict `status`, a comment, and your pending comments."""
    change_request, at, name = target.change_request, target.at, target.name
    is_approval, pending_comments = status == "approved", pending_comments_of(app, target)
    draft = DialogDraft(app, f"review {at.space_id} {at.change_request_id} {status}")
    field = DialogField(
        "Comment" if is_approval else "What needs to change?",
        draft.text,
        height=4,
        placeholder="optional" if is_approval or pending_comments else "",
        required_error="" if is_approval or pending_comments else "Describe what needs to change.",
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )

    def pending_note(entry: OutboxEntry) -> str:
        has_edit = bool(app.workspace.unsent.index.of_draft(f"held {entry.id}"))
        return "your edit is not saved" if has_edit else target.pending_note(entry)

    pending_lines = describe_pending(pending_comments, target.titles(), pending_note)
    dialog = ConfirmDialog(
        f"Approve {name} {change_request.title}?" if is_approval
        else f"Request changes on {name} {change_request.title}?",
        verb="Approve" if is_approval else "Request changes",
        field=field,
        intro="\n".join([*pending_lines, *_describe_proposed(app, target)]),
    )  # fmt: skip

    shown_ids = {entry.id for entry in pending_comments}
    app.ask(dialog, lambda answer: _submit(app, target, status, answer.text, draft, shown_ids))


def _submit(
    app: Shell, target: RequestTarget, status: Verdict, comment: str, draft: DialogDraft, shown_ids: Collection[str]
) -> None:
    """Submit a review with the pending comments in `shown_ids`, which the user has seen in the dialog."""
    live, at, name, revision = app.session.live, target.at, target.name, target.change_request.revision
    is_approval = status == "approved"
    action = f"approve {name}" if is_approval else f"request changes on {name}"
    comment_ids = {entry.id for entry in app.session.outbox.pending_comments(at)}.intersection(shown_ids)
    if comment_ids:
        pending_text = plural(len(comment_ids), "pending comment")
        sending = change_request_writes.submit_review(
            live, at, status, revision, comment, action=action, draft_key=draft.key, comment_ids=comment_ids
        )
        app.writes.submit_review(action, sending, message=f"Submitting your review of {name} with {pending_text}…")
        return

    delete_draft = draft.deletion()

    def on_submitted(_: object) -> None:
        delete_draft()
        target.view.refresh_data()

    app.writes.send(
        action,
        change_request_writes.review(live, at, status, revision, comment, action=action),
        message=f"Approved {name}." if is_approval else f"Requested changes on {name}.",
        on_success=on_submitted,
        failure_hint=dialog_draft.DRAFT_SAVED if comment else "",
        no_undo_reason="You cannot undo your review by pressing u. To withdraw the review, press w.",
    )


def _describe_proposed(app: Shell, target: RequestTarget) -> list[str]:
    count = len(proposed_notes_of(app, target))
    noun_and_verb = "note is" if count == 1 else "notes are"
    return [f"{count} proposed {noun_and_verb} not included. Press H to decide."] if count else []


_EMPTY_TEXT = "No pending comments. To add a comment to your review, press ctrl+t while you write the comment."

ListedComment: TypeAlias = OutboxEntry | ProposedNote
"""Pending comment, or note that a program proposes."""


def _is_note(_: Shell, chosen: ListedComment) -> bool:
    return isinstance(chosen, ProposedNote)


def _why_no_note(_: Shell, chosen: ListedComment) -> str | None:
    return None if isinstance(chosen, ProposedNote) else "This comment is already in your review."


def _edit(app: Shell, chosen: ListedComment) -> None:
    if isinstance(chosen, ProposedNote):
        edit_and_accept(app, chosen)
    else:
        thread_actions.edit_pending(app, chosen)


def _remove(app: Shell, chosen: ListedComment) -> None:
    if isinstance(chosen, ProposedNote):
        discard_note(app, chosen)
    else:
        thread_actions.remove_pending(app, chosen)


def _accept(app: Shell, chosen: ListedComment) -> None:
    if isinstance(chosen, ProposedNote):
        accept_notes(app, [chosen])


def _accept_all(app: Shell, chosen: ListedComment) -> None:
    if isinstance(chosen, ProposedNote):
        notes = app.session.proposed_notes.at(chosen.at)
        accept_notes(app, [each for each in notes if each.source == chosen.source])


COMMENT_COMMANDS: Commands[ListedComment] = Commands(
    "held",
    (
        Command("show", "enter", "Show on page", "Show the comment on its page", run=lambda app, chosen: app.screen.dismiss(chosen)),
        Command("accept", "apostrophe", "Accept", "Add the proposed note to your review", writes=True, run=_accept, why_not=_why_no_note, applies=_is_note),
        Command("accept_all", "A", "Accept all", "Accept all proposed notes of this program", writes=True, run=_accept_all, why_not=_why_no_note, applies=_is_note),
        Command("edit", "e", "Edit", "Edit the comment; a proposed note is then accepted", writes=True, run=_edit),
        Command("drop", "X", "Remove", "Remove the comment, or discard the proposed note", run=_remove),
        Command("undo", "u", "Undo", "Undo the last change", run=lambda app, _: app.writes.undo(), shown=False),
    ),
    no_target=_EMPTY_TEXT,
    find_target=lambda dialog: dialog.rows.item,
)  # fmt: skip
"""Commands on a pending comment or a proposed note."""
LIST_COMMANDS: Commands[PendingCommentsScreen] = Commands(
    "held",
    (
        Command("send", "ctrl+s", "Send all", "Send all pending comments without submitting a review",
                writes=True, run=lambda _, dialog: dialog.send_all(),
                why_not=lambda _, dialog: None if dialog.pending_comments else _EMPTY_TEXT),
        Command("close", "escape,q,H", "Close", "Close the list and keep the comments pending", run=lambda _, dialog: dialog.close()),
    ),
)  # fmt: skip


class PendingCommentsScreen(Dialog["ListedComment | None"]):
    """Dialog that lists pending comments and proposed notes. The result is the comment or note to show on its page.
    None if the user closed the dialog."""

    shell = cached_property(shell_of)

    CSS_PATH = dialog_styles(__file__, "pending_comments.tcss")
    HELP_NAME: ClassVar[str] = "pending comments"
    HELP: ClassVar[str] = (
        "This list shows the pending comments in your review, in the order in which they will be sent. "
        "Press enter to show a comment on its page, e to edit the comment, X to remove the comment from the review, "
        "or ctrl+s to send all comments without submitting a review. Programs propose the notes below the comments: press "
        "' to accept a note, A to accept all notes of its program, or X to discard the note. Press esc to close the list."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (COMMENT_COMMANDS, LIST_COMMANDS)

    def __init__(
        self, at: ChangeRequestRef, name: str, titles: Mapping[str, str], pending_note: Callable[[OutboxEntry], str]
    ) -> None:
        """`name` is the number of the change request, such as `#7`. `titles` has page titles by ID. `pending_note`
        returns how the commented words changed, such as `words are gone`, or an empty text."""
        super().__init__()
        self._at, self._request_name, self._titles, self._pending_note = at, name, titles, pending_note
        self._unobserve: Callable[[], None] = lambda: None

    def body(self) -> ComposeResult:
        self.rows: RowList[ListedComment] = RowList(
            self._draw,
            key=lambda chosen: chosen.id,
            columns=(Column("", 22), Column("", min_width=20), Column("", 6, align_right=True, drop_priority=1)),
            empty="No pending comments.",
            id="held",
        )
        with DialogFrame():
            yield self.rows
            with VerticalScroll(id="words", can_focus=False):
                yield Static()

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        if self.shell.has_session:
            self._unobserve = self.shell.session.proposed_notes.changed.add(self._show)
        self._show()
        self.focus_at_once(self.rows)

    def on_unmount(self) -> None:
        self._unobserve()

    @property
    def pending_comments(self) -> tuple[OutboxEntry, ...]:
        """Your pending comments on this change request. Empty without a session."""
        return self.shell.session.outbox.pending_comments(self._at) if self.shell.has_session else ()

    def _show(self) -> None:
        if not self.shell.has_session:
            return  # The session has ended.
        comments, notes = self.pending_comments, self.shell.session.proposed_notes.at(self._at)
        notes_text = f", {plural(len(notes), 'proposed note')}" if notes else ""
        self.query_one(DialogFrame).set_border_texts(
            f"{plural(len(comments), 'pending comment')} in your review of {self._request_name}{notes_text}"
        )
        self.rows.show((*comments, *notes))
        self._show_text()

    def _draw(self, entry: ListedComment) -> Row:
        if isinstance(entry, ProposedNote):
            text = f"{source_label(entry)}: {' '.join(entry.body.split())}"
            page = self._titles.get(entry.page) or "Untitled page"
            return Row(cells=(page, text, short_age(entry.created_at)))
        words = Content(" ".join(entry.traits.text.split()))
        if note := self._pending_note(entry):
            words = Content.assemble((note, "$warning"), "  ", words)
        return Row(cells=(thread_actions.location_label(entry, self._titles), words, short_age(entry.created_at)))

    @on(LineList.Highlighted)
    def _show_text(self) -> None:
        item = self.rows.item
        text = item.body if isinstance(item, ProposedNote) else item.traits.text if item is not None else ""
        self.query_one("#words Static", Static).update(safe(text))
        self.refresh_bindings()

    @on(LineList.Opened)
    def _on_row_opened(self) -> None:
        if self.rows.item is not None:
            self.dismiss(self.rows.item)

    def close(self) -> None:
        """Close the dialog. The comments stay pending."""
        self.dismiss(None)

    def send_all(self) -> None:
        """Send all pending comments without a review."""
        self.close()
        thread_actions.send_pending(self.shell, self._at, self._request_name)
