"""Requesting reviews of a change request: it is marked ready, and people are chosen, asked, and asked no more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api import organizations, permissions, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, OrganizationRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.live import Live
from octavo.tui.review import readiness
from octavo.tui.shell.permissions import UNDECIDED, KnowsPermissions
from octavo.tui.widgets import wording

if TYPE_CHECKING:
    from octavo.tui.widgets.chooser import Choice

_MAY_REVIEW = ("review", "edit", "create", "admin")


class Requesting(KnowsPermissions):
    """A view with a change request in it that people can be asked to review."""

    CONTEXT: ClassVar[str] = "change requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("V", "request_review", "Reviewers", show=False, tooltip="Ask people for a review, or take that back", id="change.reviewers"),
        Binding("tilde", "mark_ready", "Ready", show=False, key_display="~", tooltip="Mark a draft ready for review, or take it back to draft", id="change.ready"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "request_review":
            return self.not_allowed("edit", *UNDECIDED)
        if action == "mark_ready":
            return readiness.why_not(self, self.at_hand_together)
        return super().why_not(action, parameters)

    def called(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "mark_ready" and self.change_request is not None and self.change_request.status == "open":
            return "Back to draft"
        return super().called(action, parameters)

    @property
    def at_hand_together(self) -> Sequence[ChangeRequest]:
        """Those a key acts on that is for several."""
        return [self.change_request] if self.change_request is not None else []

    def action_mark_ready(self) -> None:
        readiness.mark(self.shell, self.at_hand_together)

    def action_request_review(self) -> None:
        if self.change_request is not None and self.space_ref is not None:
            at = self.change_request.ref(self.space_ref)
            self.run_worker(self._choose_reviewers(at, self.change_request), exclusive=True, group="reviewers")

    async def _choose_reviewers(self, at: ChangeRequestRef, about: ChangeRequest) -> None:
        from octavo.tui.review.reviewers import ReviewersScreen

        live = self.shell.session.live
        try:
            people, requested, given = await asyncio.gather(
                _people(live, at, self.shell.workspace.space(at.space_id)),
                live.fetch(reviews.ListRequested(at=at, limit=1000)),
                live.fetch(reviews.List(at=at, format="markdown", outdated=False, limit=1000)),
            )
        except ApiError as error:
            self.shell.say(f"Who can be asked is not known: {error}", tone="failed")
            return
        if self.app.screen is not self:
            return  # the person went on meanwhile
        asked = {each.user.id: each for each in requested.items if each.user is not None}
        choices = choices_of(people, asked, given.items, about)

        def decided(wanted: frozenset[str] | None) -> None:
            if wanted is not None:
                names = {user.id: user.name for user, _ in people}
                for user_id in sorted(asked.keys() - wanted):
                    self._withdraw(at, user_id, names.get(user_id, user_id))
                if more := [choice.value for choice in choices if choice.value in wanted - asked.keys()]:
                    self._request(at, about, more, [names[each] for each in more])

        self.app.push_screen(ReviewersScreen(f"Who shall review #{about.number}?", choices, frozenset(asked)), decided)

    def _request(self, at: ChangeRequestRef, about: ChangeRequest, people: list[str], names: list[str]) -> None:
        from octavo.data.deciding import request_reviews

        def asked(_: object) -> None:
            self.ask_again()
            if self.app.screen is self:  # who went elsewhere meanwhile is not asked there
                readiness.offer(self.shell, about)

        self.shell.writes.send_once(
            f"ask for a review of #{about.number}",
            request_reviews(self.shell.session.live, at, people),
            said=f"Asked {' and '.join(names)} to review #{about.number}",
            then=asked,
        )

    def _withdraw(self, at: ChangeRequestRef, user_id: str, name: str) -> None:
        self.shell.write(
            f"take back the request to {name}",
            reviews.Withdraw(at=at, user_id=user_id),
            said=f"{name} is not asked any more",
            then=lambda _: self.ask_again(),
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
