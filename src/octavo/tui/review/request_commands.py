"""The commands on a change request, such as merge, review, update, edit, archive, comment and request reviews."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.content import Content

from octavo.api import change_requests, organizations, permissions, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Forbidden, NotFound
from octavo.api.folding import fold
from octavo.api.labels import label
from octavo.api.operation import ChangeRequestRef, OrganizationRef, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.live import Live
from octavo.data.queries import UNDECIDED, requested_reviewers_op
from octavo.data.writes.change_request_writes import create, request_reviews, save_details
from octavo.data.writes.direct import send_unchecked
from octavo.lazy_import import lazy
from octavo.tui.comments import thread_actions
from octavo.tui.core import dialog_draft
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.permissions import unknown_space_sentence, why_not_in_space
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.shell import opening
from octavo.tui.editing.target_change_request import remember_target
from octavo.tui.review import merge_revert, review_submission, status_changes
from octavo.tui.review.merge_dialog import MergeSeveralDialog, QueuedMerge, make_merge_dialog
from octavo.tui.review.status_changes import (
    RequestTarget,
    acts_on_selection,
    approve_several,
    archive_or_reopen_several,
    for_one_request,
    request_several,
    requires,
    status_matcher,
    with_selection_limit,
)
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_open_update_dialog = lazy("octavo.tui.review.update_from_main:open_update_dialog")
_open_conflicts = lazy("octavo.tui.review.update_from_main:open_conflicts")
_document_to_markdown = lazy("octavo.documents.json_editing:document_to_markdown")
_apply_markdown_edit = lazy("octavo.documents.json_editing:apply_markdown_edit")


REVIEWER_COMMANDS: Commands[ReviewersScreen] = Commands(
    "reviewers",
    (
        Command("ask", "ctrl+s", "Request", "Request reviews from the selected people", priority=True,
                writes=True, run=lambda _, dialog: dialog.submit(), why_not=lambda _, dialog: dialog.why_not_submit()),
    ),
)  # fmt: skip


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Dialog that returns the IDs of the selected people, or None if it was canceled."""

    HELP_NAME: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type a name to find people. Press enter to select or deselect a person. Press ctrl+s to request reviews from the "
        "people you selected, and to withdraw the review requests to people you deselected. Press esc to cancel."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOTER: ClassVar[str] = "enter select · ctrl+s request reviews"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (REVIEWER_COMMANDS,)

    def __init__(self, title: str, people: Sequence[Choice[str]], requested: frozenset[str]) -> None:
        super().__init__(title, people, empty="No one can review this change request.")
        self._requested, self._selected = requested, set(requested)

    def draw(self, matched: MatchedChoice[str]) -> Row:
        row = super().draw(matched)
        checkbox = "[x] " if matched.choice.value in self._selected else "[ ] "
        return Row(Content.assemble((checkbox, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        # Sorted again, because people who cannot review come last.
        return sorted(super().find_matches(query), key=lambda found: bool(found.choice.disabled_reason))

    def accept(self, choice: Choice[str]) -> None:
        self._selected ^= {choice.value}
        self.rows.redraw()

    def why_not_submit(self) -> str | None:
        """Return the reason why the dialog cannot be submitted. None if it can be submitted."""
        return "Press enter to select or deselect a reviewer first." if self._selected == self._requested else None

    def submit(self) -> None:
        """Close the dialog with the selected people."""
        self.dismiss(frozenset(self._selected))


_REVIEWER_ROLES = ("review", "create", "admin")
_RECENT_KEY = "recent reviewers"
"""Key under which the state database stores the IDs of recent reviewers, newest first."""
_MAX_RECENT = 8


_why_no_single = requires("edit", *UNDECIDED)


def why_no_reviewers(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why you cannot request reviews. None if you can."""
    if acts_on_selection(target) and len({each.space for each in target.selected}) > 1:
        return "The selected change requests are in several spaces. Select change requests of one space."
    return with_selection_limit(_why_no_single)(app, target)


def choose_reviewers(app: Shell, target: RequestTarget) -> None:
    """Let the user choose reviewers, and request their reviews. For one change request, also withdraw requests to
    deselected reviewers."""
    choose = _choose_for_several if acts_on_selection(target) else _choose_reviewers
    app.background(choose(app, target))


async def _choose_reviewers(app: Shell, target: RequestTarget) -> None:
    live, at, change_request = app.session.live, target.at, target.change_request
    with opening(app, "Loading the reviewers…", "Could not load the people who can review"):
        people, requested_list, reviews_given = await asyncio.gather(
            _load_members(live, at, app.workspace.space(at.space_id)),
            live.fetch(requested_reviewers_op(at)),
            live.fetch(reviews.List(at=at, format="markdown", outdated=False, limit=1000)),
        )
    requests = {each.user.id: each for each in requested_list.items if each.user is not None}
    recent_ids = tuple(app.session.state.get_value(_RECENT_KEY, ()))
    choices = reviewer_choices(people, requests, reviews_given.items, change_request, recent_ids)

    def on_answer(chosen_ids: frozenset[str]) -> None:
        names = {choice.value: choice.title for choice in choices}
        for user_id in sorted(requests.keys() - chosen_ids):
            _withdraw(app, target, user_id, names[user_id])
        if added_ids := [choice.value for choice in choices if choice.value in chosen_ids - requests.keys()]:
            app.session.state.set_value(_RECENT_KEY, list(dict.fromkeys([*added_ids, *recent_ids]))[:_MAX_RECENT])
            _request_reviews(app, target, added_ids, [names[each] for each in added_ids])

    app.ask(ReviewersScreen(f"Request reviews of {target.name}", choices, frozenset(requests)), on_answer)


async def _choose_for_several(app: Shell, target: RequestTarget) -> None:
    first_request = target.selected[0]
    if (space := first_request.space_ref) is None:
        app.explain(unknown_space_sentence(first_request))
        return
    with opening(app, "Loading the reviewers…", "Could not load the people who can review"):
        people = await _load_members(app.session.live, first_request.ref(space), app.workspace.space(space.space_id))
    recent_ids = tuple(app.session.state.get_value(_RECENT_KEY, ()))
    choices = reviewer_choices(people, {}, (), first_request.model_copy(update={"created_by": None}), recent_ids)

    def on_answer(chosen_ids: frozenset[str]) -> None:
        if chosen_ids:
            request_several(app, target, [(each.value, each.title) for each in choices if each.value in chosen_ids])

    requests_text = plural(len(target.selected), "change request")
    app.ask(ReviewersScreen(f"Request reviews of {requests_text}", choices, frozenset()), on_answer)


def _request_reviews(app: Shell, target: RequestTarget, user_ids: list[str], names: list[str]) -> None:
    def on_requested(_: object) -> None:
        target.view.refresh_data()
        if app.screen is target.view:  # Otherwise, the user left the view, so there is no offer.
            status_changes.offer_to_mark_ready(app, target.change_request)

    names_text = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"
    app.writes.send(
        f"request a review of {target.name}",
        request_reviews(app.session.live, target.at, user_ids),
        message=f"Requested a review of {target.name} from {names_text}.",
        on_success=on_requested,
        no_undo_reason="You cannot undo the review request by pressing u. To withdraw the request, press V.",
    )


def _withdraw(app: Shell, target: RequestTarget, user_id: str, name: str) -> None:
    action, op = f"withdraw the review request to {name}", reviews.Withdraw(at=target.at, user_id=user_id)
    app.writes.send(
        action,
        send_unchecked(app.session.live, op, f"Could not {action}"),
        message=f"Withdrew the review request sent to {name}.",
        on_success=lambda _: target.view.refresh_data(),
        no_undo_reason="You cannot undo the withdrawal by pressing u. To request the review again, press V.",
        is_visible=True,
    )


async def _load_members(live: Live, at: ChangeRequestRef, space: Space | None) -> list[tuple[User, str | None]]:
    try:
        listed_permissions = await live.fetch(permissions.ListAggregate(at=at.space, limit=1000))
        return [(each.user, each.permission or None) for each in listed_permissions.items]
    except (Forbidden, NotFound):
        if space is None or space.organization is None:
            raise
    organization = OrganizationRef(organization_id=space.organization)
    members = await live.fetch(organizations.ListMembers(at=organization, limit=1000))
    return [(each.user, None) for each in members.items if not each.disabled]


def reviewer_choices(
    people: list[tuple[User, str | None]],
    requests: dict[str, RequestedReviewer],
    reviews: tuple[Review, ...],
    change_request: ChangeRequest,
    recent_ids: Sequence[str],
) -> list[Choice[str]]:
    """Return the choices of the reviewer dialog, requested reviewers first, the author only if requested. `people` are
    users with their role, `requests` review requests by user ID, and `recent_ids` the IDs of recent reviewers."""
    reviews_by_id = {review.reviewer.id: review for review in reviews}
    people_ids = {user.id for user, _ in people}
    former_people = [
        (each.user, None) for each in requests.values() if each.user is not None and each.user.id not in people_ids
    ]
    choices: list[Choice[str]] = []
    for user, role in [*former_people, *people]:
        if user.id == change_request.author_id and user.id not in requests:
            continue
        detail, disabled_reason, right = label(role) if role else "", "", ""
        if user.id in requests:
            right = f"requested {short_texts.short_age(requests[user.id].created_at)}".strip()
        elif review := reviews_by_id.get(user.id):
            right = "approved" if review.status == "approved" else "changes requested"
        elif user.id in recent_ids:
            right = "recent"
        if role is not None and role not in _REVIEWER_ROLES and user.id not in requests:
            detail, disabled_reason = "", f"{detail}: needs at least the Reviewer role."
        if user.id in reviews_by_id and user.id not in requests:
            detail = f"{detail} · a new request outdates this review".removeprefix(" · ")
        choices.append(Choice(user.id, user.name, detail, right, disabled_reason=disabled_reason))
    order = {each: index for index, each in enumerate([*requests, *reviews_by_id, *recent_ids])}
    return sorted(
        choices, key=lambda each: (bool(each.disabled_reason), order.get(each.value, len(order)), fold(each.title))
    )


MAX_MERGES = 20
"""Maximum number of change requests that one command merges."""
_SUBJECT_REQUIRED = "Enter a subject of 1 to 100 characters."
_MAX_SUBJECT = 100

_NO_MARKDOWN = (
    "You can edit only the subject here. Octavo edits descriptions as Markdown, which would lose some of the formatting"
    " in this description. Press esc, then o to edit the description in the browser."
)


def _merge(app: Shell, target: RequestTarget) -> None:
    if acts_on_selection(target):
        pairs = [(each, each.space_ref) for each in target.selected]
        queue = [QueuedMerge(each.ref(ref), each, _space_title(app, each)) for each, ref in pairs if ref is not None]
        app.push_screen(MergeSeveralDialog(app, queue))
    else:
        app.push_screen(make_merge_dialog(app, target.at, target.change_request))


def _approve(app: Shell, target: RequestTarget) -> None:
    if acts_on_selection(target):
        approve_several(app, target)
    else:
        review_submission.open_review_dialog(app, target, "approved")


def _archive(app: Shell, target: RequestTarget) -> None:
    if acts_on_selection(target):
        archive_or_reopen_several(app, target)
    else:
        status_changes.open_archive_dialog(app, target.at, target.change_request)


_why_no_single_merge = requires("merge", *UNDECIDED)


def _why_no_merge(app: Shell, target: RequestTarget) -> str | None:
    if not acts_on_selection(target):
        return _why_no_single_merge(app, target)
    for each in target.selected:
        if each.space is None:
            return unknown_space_sentence(each)
        name = f"#{each.number} in {_space_title(app, each)}"
        if each.status not in UNDECIDED:
            state = "already merged" if each.status == "merged" else f"{each.status} and cannot be merged"
            return f"{name} is {state}. Press x to remove it from the selection."
        if why := why_not_in_space(app, each.space, "merge"):
            return f"{name} cannot be merged: {why} Press x to remove it from the selection."
    count = len(target.selected)
    if count > MAX_MERGES:
        return f"You can merge at most {MAX_MERGES} change requests at a time, but {count} are selected."
    return None


def _space_title(app: Shell, change_request: ChangeRequest) -> str:
    return app.workspace.space_title(change_request.space) or "an unknown space"


def _edit_details(app: Shell, target: RequestTarget) -> None:
    change_request, at = target.change_request, target.at
    draft_key = f"{at.space_id} {at.change_request_id}"
    text = _document_to_markdown(change_request.description)
    subject = DialogDraft(app, f"subject {draft_key}", change_request.subject)
    description = DialogDraft(app, f"description {draft_key}", text)

    def on_answer(answer: Confirmed) -> None:
        changes: dict[str, Any] = {}
        if answer.text != change_request.subject:
            changes["subject"] = answer.text
        if text is not None and answer.second_text != text.strip():
            changes["description"] = _apply_markdown_edit(change_request.description, answer.second_text)
        if not changes:
            return
        name = target.name
        deletions = [draft.deletion() for draft in ((subject, description) if text is not None else (subject,))]

        def drop_drafts(_: object) -> None:
            for delete_draft in deletions:
                delete_draft()

        app.writes.send(
            f"save the details of {name}",
            save_details(app.session.live, change_requests.Update(at=at, **changes), change_request),
            message=f"Saved the details of {name}.",
            on_success=drop_drafts,
            no_undo_reason=f"You cannot undo the change to {name} by pressing u. To edit the details again, press E.",
            failure_hint=dialog_draft.DRAFT_SAVED,
        )

    description_field = DialogField(
        "Description (Markdown)",
        description.merged_text(),
        height=6,
        why_invalid=description.why_not_resolved,
        placeholder="optional: explain why you are making this change",
        save_draft=description.autosave,
        save_draft_now=description.autosave_now,
    )
    notes = (
        "" if text is not None else _NO_MARKDOWN,
        subject.change_note("subject"),
        description.change_note("description"),
    )
    dialog = ConfirmDialog(
        f"Edit the details of #{change_request.number}",
        verb="Save",
        intro="\n".join(filter(None, notes)),
        field=_subject_field(subject),
        second_field=description_field if text is not None else None,
    )
    app.ask(dialog, on_answer)


def comment_on_request(app: Shell, target: RequestTarget) -> None:
    """Open the composer for a comment on the change request as a whole."""
    thread_actions.start_thread(
        app, target.at, page_id=None, node=None, title=target.name, excerpt=target.change_request.title
    )


why_no_request_comment = requires("comment")
"""Function that returns the reason why you cannot comment on the change request as a whole. None if you can."""


REQUEST_COMMANDS: Commands[RequestTarget] = Commands(
    "change",
    (
        Command("undo_merge", "Z", "Revert merge", "Create a change request that reverts the merge",
                writes=True, applies=status_matcher("merged"), run=merge_revert.open_revert_dialog, why_not=for_one_request(merge_revert.why_no_revert)),
        Command("reviewers", "V", "Request review", "Request reviews, or withdraw review requests", shown=False,
                writes=True, run=choose_reviewers, why_not=why_no_reviewers),
        Command("ready", "tilde", "Mark as ready", "Mark as ready for review, or convert to draft", shown=False, key_display="~",
                writes=True, acts_at_once=True, run=lambda app, target: status_changes.toggle_drafts(app, target.change_requests),
                why_not=lambda app, target: status_changes.why_not_toggle_drafts(app, target.change_requests),
                title_now=lambda _, target: "Convert to draft" if target.change_request.status == "open" else None),
        Command("approve", "a", "Approve", "Approve this revision, with an optional comment",
                writes=True, applies=review_submission.is_review_offered,
                run=_approve, why_not=with_selection_limit(review_submission.why_no_review)),
        Command("ask", "A", "Request changes", "Request changes, with a comment", shown=False,
                writes=True, run=lambda app, target: review_submission.open_review_dialog(app, target, "changes-requested"),
                why_not=for_one_request(review_submission.why_no_review)),
        Command("held", "H", "Pending comments", "Show your pending comments", shown=False,
                run=review_submission.open_pending_comments, why_not=for_one_request(review_submission.why_no_pending_comments)),
        Command("withdraw", "w", "Withdraw review", "Withdraw your review", shown=False,
                writes=True, run=lambda app, target: app.background(review_submission.open_withdraw_dialog(app, target)),
                why_not=for_one_request(review_submission.why_no_withdrawal)),
        Command("update", "U", "Update", "Check for conflicts and update from main", shown=False,
                writes=True, run=_open_update_dialog, why_not=requires("edit", *UNDECIDED)),
        Command("resolve", "R", "Resolve conflicts", "Resolve the conflicts with main", shown=False,
                run=_open_conflicts, why_not=requires("edit", *UNDECIDED, "merged")),
        Command("merge", "m", "Merge", "Run the checks, then merge into main",
                writes=True, applies=status_matcher(*UNDECIDED), run=_merge, why_not=_why_no_merge),
        Command("archive", "L", "Archive", "Archive or reopen the change request", shown=False,
                writes=True, run=_archive, why_not=with_selection_limit(requires("edit", *UNDECIDED, "archived"))),
        Command("subject", "E", "Edit details", "Edit the subject and description", shown=False,
                writes=True, run=_edit_details, why_not=requires("edit")),
        Command("comment", "C", "General comment", "Comment on the change request as a whole", shown=False,
                writes=True, run=comment_on_request, why_not=why_no_request_comment),
    ),
    context="change requests",
    no_target="Select a change request first.",
    find_target=lambda view: view.request_target,
)  # fmt: skip


def _create(app: Shell, space: SpaceRef) -> None:
    draft = DialogDraft(app, f"subject {space.space_id}")

    def on_answer(answer: Confirmed) -> None:
        delete_draft = draft.deletion()

        def on_created(change_request: ChangeRequest) -> None:
            delete_draft()
            remember_target(app, space, change_request)
            app.say(f"Created #{change_request.number} {change_request.title}")
            app.go(ToChangeRequest(change_request.ref(space), change_request))

        sending = create(app.session.live, space, answer.text)
        app.writes.send(
            "create the change request", sending, on_success=on_created, failure_hint=dialog_draft.DRAFT_SAVED
        )

    title = f"New change request in {app.workspace.space_title(space.space_id) or 'this space'}"
    app.ask(ConfirmDialog(title, verb="Create", field=_subject_field(draft)), on_answer)


def _subject_field(draft: DialogDraft) -> DialogField:
    return DialogField(
        "Subject",
        draft.text,
        required_error=_SUBJECT_REQUIRED,
        max_length=_MAX_SUBJECT,
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )


def _space_for_new(view: Any) -> SpaceRef | None:
    target: RequestTarget | None = view.request_target
    if target is not None and target.space is not None:
        return target.space
    app: Shell = view.shell
    last_space_id = app.session.state.get_value("space")
    space = app.workspace.space(str(last_space_id)) if last_space_id else None
    return space.ref if space else None


NEW_REQUEST: Commands[SpaceRef] = Commands(
    "change",
    (
        Command("new", "ctrl+n", "New", "Create a change request in this space", shown=False,
                writes=True, run=_create, why_not=lambda app, space: why_not_in_space(app, space.space_id, "edit")),
    ),
    context="change requests",
    no_target="Open a space first. Every change request belongs to a space.",
    find_target=_space_for_new,
)  # fmt: skip
