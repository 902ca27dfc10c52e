"""Requesting reviews of a change request: people are chosen, asked, and asked no more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from octavo.api import organizations, permissions, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, OrganizationRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.live import Live
from octavo.data.request_lists import requested_of
from octavo.tui.review import readiness
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.widgets import wording

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.chooser import Choice

_MAY_REVIEW = ("review", "edit", "create", "admin")


def choose_reviewers(app: Shell, request: RequestAtHand) -> None:
    """Ask who shall review it, and ask those, or take back that they were asked."""
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
        app.say(f"Who can be asked is not known: {error}", tone="failed")
        return
    if app.screen is not request.view:
        return  # the person went on meanwhile
    asked = {each.user.id: each for each in requested.items if each.user is not None}
    choices = choices_of(people, asked, given.items, about)

    def decided(wanted: frozenset[str] | None) -> None:
        if wanted is not None:
            names = {user.id: user.name for user, _ in people}
            for user_id in sorted(asked.keys() - wanted):
                _withdraw(app, request, user_id, names.get(user_id, user_id))
            if more := [choice.value for choice in choices if choice.value in wanted - asked.keys()]:
                _request(app, request, more, [names[each] for each in more])

    app.push_screen(ReviewersScreen(f"Who shall review {request.name}?", choices, frozenset(asked)), decided)


def _request(app: Shell, request: RequestAtHand, people: list[str], names: list[str]) -> None:
    from octavo.data.deciding import request_reviews

    def asked(_: object) -> None:
        request.view.ask_again()
        if app.screen is request.view:  # who went elsewhere meanwhile is not asked there
            readiness.offer(app, request.about)

    app.writes.send_once(
        f"ask for a review of {request.name}",
        request_reviews(app.session.live, request.at, people),
        said=f"Asked {' and '.join(names)} to review {request.name}",
        then=asked,
    )


def _withdraw(app: Shell, request: RequestAtHand, user_id: str, name: str) -> None:
    app.writes.write(
        f"take back the request to {name}",
        reviews.Withdraw(at=request.at, user_id=user_id),
        said=f"{name} is not asked any more",
        then=lambda _: request.view.ask_again(),
    )


async def _people(live: Live, at: ChangeRequestRef, space: Space | None) -> list[tuple[User, str | None]]:
    """Those who may be asked, with their role where that is known. Raises ApiError."""
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
) -> list[Choice[str]]:
    """Everybody who could be asked: those asked first, and what is known of each."""
    from octavo.tui.widgets.chooser import Choice

    said = {review.reviewer.id: review for review in given}
    known = {user.id for user, _ in people}
    strangers = [(each.user, None) for each in asked.values() if each.user is not None and each.user.id not in known]
    found: list[Choice[str]] = []
    for user, role in [*strangers, *people]:
        off, right = "", ""
        if user.id in asked:
            right = f"asked {wording.short_age(asked[user.id].created_at)}".strip()
        elif review := said.get(user.id):
            right = "approved" if review.status == "approved" else "asks for changes"
        if role is not None and role not in _MAY_REVIEW and user.id not in asked:
            off = f"has the role {role}: to review takes the role review"
        detail = "its author" if about.created_by is not None and about.created_by.id == user.id else role or ""
        if user.id in said and user.id not in asked:
            detail = f"{detail} · asked again, that counts no more".removeprefix(" · ")
        found.append(Choice(user.id, user.name, detail, right, off=off))
    return sorted(
        found, key=lambda each: (each.value not in asked, bool(each.off), not each.right, each.title.casefold())
    )
