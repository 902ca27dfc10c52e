"""Requests reviews of a change request, and withdraws requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api import organizations, permissions, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.folding import fold
from octavo.api.labels import label
from octavo.api.places import ChangeRequestRef, OrganizationRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.live import Live
from octavo.data.queries import requested_of
from octavo.tui.review import readiness
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.widgets import wording

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.chooser import Choice

_MAY_REVIEW = ("review", "create", "admin")
_RECENT = "recent reviewers"
"""Name under which the people whose review you requested are kept, the last first."""
_MOST_RECENT = 8


def choose_reviewers(app: Shell, request: RequestAtHand) -> None:
    """Let the user choose reviewers, then request their reviews and withdraw other requests."""
    request.view.run_worker(_choose_reviewers(app, request), exclusive=True, group="reviewers")


async def _choose_reviewers(app: Shell, request: RequestAtHand) -> None:
    from octavo.tui.review.reviewers import ReviewersScreen

    live, at, about = app.session.live, request.at, request.about
    try:
        people, requested, given = await asyncio.gather(
            _people(live, at, app.workspace.space(at.space_id)),
            live.fetch(requested_of(at)),
            live.fetch(reviews.List(at=at, format="markdown", outdated=False, limit=1000)),
        )
    except ApiError as error:
        app.say(f"Could not load the people who can review: {error}", tone="failed")
        return
    if app.screen is not request.view:
        return  # the user left the view meanwhile
    asked = {each.user.id: each for each in requested.items if each.user is not None}
    recent = tuple(app.session.state.get_fact(_RECENT, ()))
    choices = choices_of(people, asked, given.items, about, recent)

    def decided(wanted: frozenset[str] | None) -> None:
        if wanted is not None:
            names = {user.id: user.name for user, _ in people}
            for user_id in sorted(asked.keys() - wanted):
                _withdraw(app, request, user_id, names.get(user_id, user_id))
            if more := [choice.value for choice in choices if choice.value in wanted - asked.keys()]:
                app.session.state.set_fact(_RECENT, list(dict.fromkeys([*more, *recent]))[:_MOST_RECENT])
                _request(app, request, more, [names[each] for each in more])

    app.push_screen(ReviewersScreen(f"Request reviews of {request.name}", choices, frozenset(asked)), decided)


def _request(app: Shell, request: RequestAtHand, people: list[str], names: list[str]) -> None:
    from octavo.data.writes.change_request_writes import request_reviews

    def asked(_: object) -> None:
        request.view.refresh_data()
        if app.screen is request.view:  # not offered if the user left the view meanwhile
            readiness.offer(app, request.about)

    who = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"
    app.writes.send(
        f"request a review of {request.name}",
        request_reviews(app.session.live, request.at, people),
        message=f"Requested a review of {request.name} from {who}",
        on_success=asked,
    )


def _withdraw(app: Shell, request: RequestAtHand, user_id: str, name: str) -> None:
    from octavo.data.writes.direct import send_plain

    doing, op = f"withdraw the review request to {name}", reviews.Withdraw(at=request.at, user_id=user_id)
    app.writes.send(
        doing,
        send_plain(app.session.live, op, f"Could not {doing}"),
        message=f"Withdrew the review request sent to {name}",
        on_success=lambda _: request.view.refresh_data(),
        is_visible=True,
    )


async def _people(live: Live, at: ChangeRequestRef, space: Space | None) -> list[tuple[User, str | None]]:
    """Return the people who can be asked, each with their role if it is known. Raises ApiError."""
    try:
        found = await live.fetch(permissions.ListAggregate(at=at.space, limit=1000))
        return [(each.user, each.permission or None) for each in found.items]
    except (Forbidden, NotFound):
        if space is None or space.organization is None:
            raise
    of = OrganizationRef(organization_id=space.organization)
    members = await live.fetch(organizations.ListMembers(at=of, limit=1000))
    return [(each.user, None) for each in members.items if not each.disabled]


def choices_of(
    people: list[tuple[User, str | None]],
    asked: dict[str, RequestedReviewer],
    given: tuple[Review, ...],
    about: ChangeRequest,
    recent: Sequence[str] = (),
) -> list[Choice[str]]:
    """Return the people who can be asked: requested reviewers first, then people who reviewed this change request, then `recent`
    reviewers, then all others by name. The author is left out; people whose role cannot review come last."""
    from octavo.tui.widgets.chooser import Choice

    said = {review.reviewer.id: review for review in given}
    known = {user.id for user, _ in people}
    strangers = [(each.user, None) for each in asked.values() if each.user is not None and each.user.id not in known]
    author = about.created_by.id if about.created_by is not None else ""
    found: list[Choice[str]] = []
    for user, role in [*strangers, *people]:
        if user.id == author and user.id not in asked:
            continue
        off, right = "", ""
        if user.id in asked:
            right = f"requested {wording.short_age(asked[user.id].created_at)}".strip()
        elif review := said.get(user.id):
            right = "approved" if review.status == "approved" else "changes requested"
        elif user.id in recent:
            right = "recent"
        if role is not None and role not in _MAY_REVIEW and user.id not in asked:
            off = f"{label(role)}: cannot review. To review, a member needs at least the Reviewer role."
        detail = label(role) if role else ""
        if user.id in said and user.id not in asked:
            detail = f"{detail} · a new review request will make this review outdated".removeprefix(" · ")
        found.append(Choice(user.id, user.name, detail, right, disabled_reason=off))
    order = {each: place for place, each in enumerate([*asked, *said, *recent])}
    return sorted(
        found, key=lambda each: (bool(each.disabled_reason), order.get(each.value, len(order)), fold(each.title))
    )
