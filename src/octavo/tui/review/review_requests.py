"""Commands and dialog that request reviews of a change request and withdraw review requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.content import Content

from octavo.api import organizations, permissions, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.folding import fold
from octavo.api.labels import label
from octavo.api.places import ChangeRequestRef, OrganizationRef, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.live import Live
from octavo.data.queries import requested_of
from octavo.data.writes.change_request_writes import request_reviews
from octavo.data.writes.direct import send_unchecked
from octavo.tui.core.permissions import UNDECIDED, unknown_space_sentence
from octavo.tui.review import status_changes
from octavo.tui.review.request_target import RequestTarget, requires
from octavo.tui.review.several_requests import acts_on_several, for_one_or_several, request_several
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

REVIEWER_COMMANDS: Commands[ReviewersScreen] = Commands(
    "reviewers",
    (
        Command("ask", "ctrl+s", "Request", "Request reviews from the selected people", priority=True,
                writes=True, run=lambda _, dialog: dialog.submit(), why_not=lambda _, dialog: dialog.why_not_submit()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Dialog that returns the IDs of the selected people, or None if it was canceled."""

    CONTEXT: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type a name to find people. Press enter to select or deselect a person. Press ctrl+s to request reviews from the "
        "people you selected, and to withdraw the review requests to people you deselected. Press esc to cancel."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter select · ctrl+s request reviews"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (REVIEWER_COMMANDS,)

    def __init__(self, title: str, people: Sequence[Choice[str]], requested: frozenset[str]) -> None:
        super().__init__(title, people, empty="No one can review this change request.")
        self._requested, self._selected = requested, set(requested)

    def draw(self, matched: MatchedChoice[str]) -> Row:
        row = super().draw(matched)
        checkbox = "[x] " if matched.choice.value in self._selected else "[ ] "
        return Row(Content.assemble((checkbox, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        # People who cannot review come last.
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
_RECENT = "recent reviewers"
"""Name under which the people whose reviews you requested are stored, newest first."""
_MAX_RECENT = 8


_why_no_single = requires("edit", *UNDECIDED)


def why_no_reviewers(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why you cannot request reviews. None if you can."""
    if acts_on_several(target) and len({each.space for each in target.selected}) > 1:
        return "The selected change requests are in several spaces. Select change requests of one space."
    return for_one_or_several(_why_no_single)(app, target)


def choose_reviewers(app: Shell, target: RequestTarget) -> None:
    """Let the user choose reviewers. Request their reviews and withdraw the other requests. If several change requests
    are selected, no requests are withdrawn."""
    if acts_on_several(target):
        target.view.run_worker(_choose_for_several(app, target), exclusive=True, group="reviewers")
        return
    target.view.run_worker(_choose_reviewers(app, target), exclusive=True, group="reviewers")


async def _choose_reviewers(app: Shell, target: RequestTarget) -> None:
    live, at, change_request = app.session.live, target.at, target.change_request
    try:
        people, requested, reviews_given = await asyncio.gather(
            _load_members(live, at, app.workspace.space(at.space_id)),
            live.fetch(requested_of(at)),
            live.fetch(reviews.List(at=at, format="markdown", outdated=False, limit=1000)),
        )
    except ApiError as error:
        app.say(f"Could not load the people who can review: {error}", tone="failed")
        return
    if app.screen is not target.view:
        return  # The user left the view while the lists loaded.
    requests = {each.user.id: each for each in requested.items if each.user is not None}
    recent = tuple(app.session.state.get_fact(_RECENT, ()))
    choices = reviewer_choices(people, requests, reviews_given.items, change_request, recent)

    def on_answer(chosen: frozenset[str] | None) -> None:
        if chosen is not None:
            names = {user.id: user.name for user, _ in people}
            for user_id in sorted(requests.keys() - chosen):
                _withdraw(app, target, user_id, names.get(user_id, user_id))
            if added := [choice.value for choice in choices if choice.value in chosen - requests.keys()]:
                app.session.state.set_fact(_RECENT, list(dict.fromkeys([*added, *recent]))[:_MAX_RECENT])
                _request(app, target, added, [names[each] for each in added])

    app.push_screen(ReviewersScreen(f"Request reviews of {target.name}", choices, frozenset(requests)), on_answer)


async def _choose_for_several(app: Shell, target: RequestTarget) -> None:
    first = target.selected[0]
    if first.space is None:
        app.explain(unknown_space_sentence(first))
        return
    at = first.ref(SpaceRef(space_id=first.space))
    try:
        people = await _load_members(app.session.live, at, app.workspace.space(first.space))
    except ApiError as error:
        app.say(f"Could not load the people who can review: {error}", tone="failed")
        return
    if app.screen is not target.view:
        return  # The user left the view while the list loaded.
    recent = tuple(app.session.state.get_fact(_RECENT, ()))
    choices = reviewer_choices(people, {}, (), first.model_copy(update={"created_by": None}), recent)

    def on_answer(chosen: frozenset[str] | None) -> None:
        if chosen:
            request_several(app, target, [(each.value, each.title) for each in choices if each.value in chosen])

    count = plural(len(target.selected), "change request")
    app.push_screen(ReviewersScreen(f"Request reviews of {count}", choices, frozenset()), on_answer)


def _request(app: Shell, target: RequestTarget, people: list[str], names: list[str]) -> None:
    def on_requested(_: object) -> None:
        target.view.refresh_data()
        if app.screen is target.view:  # The offer is skipped if the user left the view meanwhile.
            status_changes.offer_to_mark_ready(app, target.change_request)

    names_text = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"
    app.writes.send(
        f"request a review of {target.name}",
        request_reviews(app.session.live, target.at, people),
        message=f"Requested a review of {target.name} from {names_text}",
        on_success=on_requested,
    )


def _withdraw(app: Shell, target: RequestTarget, user_id: str, name: str) -> None:
    action, op = f"withdraw the review request to {name}", reviews.Withdraw(at=target.at, user_id=user_id)
    app.writes.send(
        action,
        send_unchecked(app.session.live, op, f"Could not {action}"),
        message=f"Withdrew the review request sent to {name}",
        on_success=lambda _: target.view.refresh_data(),
        is_visible=True,
    )


async def _load_members(live: Live, at: ChangeRequestRef, space: Space | None) -> list[tuple[User, str | None]]:
    """Return the people whose review can be requested, each with a role if it is known. Raises ApiError."""
    try:
        access = await live.fetch(permissions.ListAggregate(at=at.space, limit=1000))
        return [(each.user, each.permission or None) for each in access.items]
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
    recent: Sequence[str] = (),
) -> list[Choice[str]]:
    """Return the people whose review can be requested, without the author. Requested reviewers come first, then people
    who reviewed this change request, then `recent` reviewers, then all others by name. People whose role cannot review
    come last."""

    reviews_by_id = {review.reviewer.id: review for review in reviews}
    known = {user.id for user, _ in people}
    others = [(each.user, None) for each in requests.values() if each.user is not None and each.user.id not in known]
    author = change_request.created_by.id if change_request.created_by is not None else ""
    choices: list[Choice[str]] = []
    for user, role in [*others, *people]:
        if user.id == author and user.id not in requests:
            continue
        disabled_reason, right = "", ""
        if user.id in requests:
            right = f"requested {short_texts.short_age(requests[user.id].created_at)}".strip()
        elif review := reviews_by_id.get(user.id):
            right = "approved" if review.status == "approved" else "changes requested"
        elif user.id in recent:
            right = "recent"
        if role is not None and role not in _REVIEWER_ROLES and user.id not in requests:
            disabled_reason = f"{label(role)}: cannot review. To review, a member needs at least the Reviewer role."
        detail = label(role) if role else ""
        if user.id in reviews_by_id and user.id not in requests:
            detail = f"{detail} · a new review request will make this review outdated".removeprefix(" · ")
        choices.append(Choice(user.id, user.name, detail, right, disabled_reason=disabled_reason))
    order = {each: index for index, each in enumerate([*requests, *reviews_by_id, *recent])}
    return sorted(
        choices, key=lambda each: (bool(each.disabled_reason), order.get(each.value, len(order)), fold(each.title))
    )
