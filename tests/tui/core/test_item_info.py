"""Details of items in the Info dialog."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Permissions, Target, TargetNode, TargetPage
from octavo.api.content import Page
from octavo.api.operation import Model
from octavo.api.organizations import Member, Organization
from octavo.api.sites import AdaptiveContentRead, Proxy, Site
from octavo.api.spaces import Space
from octavo.api.teams import Membership, TeamMember
from octavo.api.users import User
from octavo.tui.core.item_info import field_details, item_details

CREATED_AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def test_details_of_a_comment_show_all_fields() -> None:
    comment = Comment(
        id="k1",
        posted_by=User(id="u1", display_name="Ada"),
        posted_at=CREATED_AT,
        status="resolved",
        resolved_by=User(id="u2", display_name="Tom"),
        target=Target(page=TargetPage(id="p1", title="Start"), node=TargetNode(id="n1"), revision="r1"),
        permissions=Permissions(view=True, edit=True),
    )
    kind, facts = item_details(comment)
    shown = dict(facts)
    assert kind == "comment"
    assert shown.pop("posted").startswith("2026-03-01 09:30 UTC · ")
    assert shown == {
        "ID": "k1",
        "author": "Ada",
        "author ID": "u1",
        "status": "resolved",
        "resolved by": "Tom",
        "page": "Start",
        "page ID": "p1",
        "block": "n1",
        "revision": "r1",
        "your permissions": "view, edit",
    }


@pytest.mark.parametrize(
    ("thing", "kind", "more"),
    [
        (Page(id="x", title="T"), "page", []),
        (Space(id="x", title="T"), "space", []),
        (ChangeRequest(id="x", subject="T"), "change request", []),
        (Organization(id="x", title="T"), "organization", [("invite links", "no")]),
    ],
)
def test_fields_without_a_value_are_omitted(thing: Model, kind: str, more: list[tuple[str, str]]) -> None:
    shown, facts = item_details(thing)
    assert shown == kind
    assert [value for _, value in facts[:2]] == ["x", "T"]
    assert facts[2:] == more


def test_nested_fields_have_short_labels_unless_two_are_equal() -> None:
    member = TeamMember(
        organization=Member(id="m", role="edit", user=User(id="u", display_name="Ada", email="ada@acme.com")),
        team=Membership(role="owner"),
    )
    facts = dict(field_details(member))
    assert (facts["name"], facts["email"], facts["SSO"]) == ("Ada", "ada@acme.com", "no")
    assert (facts["role"], facts["team role"]) == ("Editor", "Owner")
    labeled = dict(field_details(member, labels={"organization.role": "team role"}))
    assert "team role" in labeled, "the given label must be used"
    proxy = Site(id="s", title="S", proxy=Proxy(origin="https://a.example"), adaptive_content=AdaptiveContentRead())
    facts = dict(field_details(proxy))
    assert (facts["proxy origin"], facts["adaptive content enabled"]) == ("https://a.example", "no")
