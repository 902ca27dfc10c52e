"""The people whose review can be requested."""

from __future__ import annotations

from octavo.api.change_requests import ChangeRequest
from octavo.api.reviews import Review
from octavo.api.users import User
from octavo.tui.review.request_commands import reviewer_choices

ADA, TOM, ZOE = (
    User(id="ada", display_name="Ada"),
    User(id="tom", display_name="Tom"),
    User(id="zoe", display_name="Zoe"),
)


def test_each_person_has_one_short_explanation() -> None:
    people: list[tuple[User, str | None]] = [(ADA, "read"), (TOM, "admin"), (ZOE, "review")]
    review = Review(id="r", reviewer=TOM, status="approved")
    choices = reviewer_choices(people, {}, (review,), ChangeRequest(id="c"), ())
    assert {each.title: each.explanation for each in choices} == {
        "Tom": "Admin · a new request outdates this review",
        "Zoe": "Reviewer",
        "Ada": "Reader: needs at least the Reviewer role.",
    }
    assert [each.title for each in choices if each.disabled_reason] == ["Ada"]
