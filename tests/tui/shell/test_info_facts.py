"""What is told of a thing by `i`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Permissions, Target, TargetNode, TargetPage
from octavo.api.content import Page
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.tui.shell.info_facts import facts_of

THEN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def test_a_comment_with_all_there_is_to_tell() -> None:
    comment = Comment(
        id="k1",
        posted_by=User(id="u1", display_name="Ada"),
        posted_at=THEN,
        status="resolved",
        resolved_by=User(id="u2", display_name="Tom"),
        target=Target(page=TargetPage(id="p1", title="Start"), node=TargetNode(id="n1"), revision="r1"),
        permissions=Permissions(view=True, edit=True),
    )
    kind, facts = facts_of(comment)
    told = dict(facts)
    assert kind == "comment"
    assert told.pop("posted").startswith("2026-03-01 09:30 UTC · ")
    assert told == {
        "id": "k1",
        "author": "Ada",
        "author id": "u1",
        "status": "resolved",
        "resolved by": "Tom",
        "page": "Start",
        "page id": "p1",
        "block": "n1",
        "revision": "r1",
        "your permissions": "view, edit",
    }


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (Page(id="x", title="T"), "page"),
        (Space(id="x", title="T"), "space"),
        (ChangeRequest(id="x", subject="T"), "change request"),
        (Organization(id="x", title="T"), "organization"),
    ],
)
def test_what_the_server_does_not_say_is_left_out(thing: Model, kind: str) -> None:
    told, facts = facts_of(thing)
    assert told == kind
    assert [value for _, value in facts] == ["x", "T"]
