"""Checks of merge rules match the embedded platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import pytest

from octavo.api import change_requests, organizations, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef
from octavo.data.merge_rules import MergeCandidate, MergeRules, inherits, rules_for
from octavo.server.app import Platform
from octavo.tui.review.merge_checks import rule_facts
from octavo.tui.widgets.short_texts import Fact
from tests.server.asking import Ask, Clock, Refusal, small_world
from tests.server.writing import ACME, Desk, insert, update

Deed: TypeAlias = Callable[[Desk, ChangeRequestRef], Awaitable[Any]]

DESCRIPTION = {
    "object": "document",
    "nodes": [
        {
            "object": "block",
            "type": "paragraph",
            "nodes": [{"object": "text", "leaves": [{"object": "leaf", "text": "Why.", "marks": []}]}],
        }
    ],
}


@pytest.fixture
def desk_of() -> Iterator[Callable[[], Awaitable[Desk]]]:
    platform = Platform(small_world(Clock()))

    async def open_desk() -> Desk:
        return await Desk.open(Ask(platform), "# Alpha\n\nOne.\n")

    yield open_desk
    platform.close()
    platform.world.store.close()


async def nothing(desk: Desk, at: ChangeRequestRef) -> None:
    pass


async def approved(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.ask(reviews.Submit(at=at, status="approved"), "tom")


async def refused(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.ask(reviews.Submit(at=at, status="changes-requested"), "tom")


async def approved_by_one_refused_by_another(desk: Desk, at: ChangeRequestRef) -> None:
    await refused(desk, at)
    await desk.ask(reviews.Submit(at=at, status="approved"), "mia")


async def asked_again(desk: Desk, at: ChangeRequestRef) -> None:
    await approved(desk, at)
    await desk.ask(reviews.Request(at=at, users=("tom",)))


async def overtaken(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.publish(insert("# Beta\n\nTwo.\n"))


async def unnamed(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.ask(change_requests.Update(at=at, subject=" "))


async def described(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.ask(change_requests.Update(at=at, description=DESCRIPTION))


async def emptily_described(desk: Desk, at: ChangeRequestRef) -> None:
    await desk.ask(change_requests.Update(at=at, description={"object": "document", "nodes": []}))


CASES: dict[str, tuple[dict[str, Any], Deed, str]] = {
    "review: none": ({"rule": "require_at_least_one_review"}, nothing, "a review is required"),
    "review: one": ({"rule": "require_at_least_one_review"}, refused, ""),
    "review: asked again": ({"rule": "require_at_least_one_review"}, asked_again, "a review is required"),
    "approval: none": ({"rule": "require_at_least_one_approved_review"}, refused, "an approval is required"),
    "approval: one": ({"rule": "require_at_least_one_approved_review"}, approved, ""),
    "all approved: none there": ({"rule": "require_all_reviews_approved"}, nothing, ""),
    "all approved: not all": (
        {"rule": "require_all_reviews_approved"},
        approved_by_one_refused_by_another,
        "Tom Lund requested changes",
    ),
    "all approved: all": ({"rule": "require_all_reviews_approved"}, approved, ""),
    "these: one missing": (
        {"rule": "require_specific_reviewers", "users": ["tom", "mia"]},
        approved,
        "an approval by Mia Lund is required",
    ),
    "these: all": ({"rule": "require_specific_reviewers", "users": ["tom"]}, approved, ""),
    "one of these: none": (
        {"rule": "require_one_of_specific_reviewers", "users": ["mia", "ada"]},
        approved,
        "an approval by Mia Lund or Ada Lund is required",
    ),
    "one of these: one": ({"rule": "require_one_of_specific_reviewers", "users": ["mia", "tom"]}, approved, ""),
    "one of nobody": ({"rule": "require_one_of_specific_reviewers"}, approved, "an approval is required"),
    "up to date: no": (
        {"rule": "require_up_to_date_change_request"},
        overtaken,
        "main has changed: update this change request first",
    ),
    "up to date: yes": ({"rule": "require_up_to_date_change_request"}, nothing, ""),
    "subject: none": ({"rule": "require_change_request_subject"}, unnamed, "a subject is required"),
    "subject: one": ({"rule": "require_change_request_subject"}, nothing, ""),
    "description: none": ({"rule": "require_change_request_description"}, nothing, "a description is required"),
    "description: of no words": (
        {"rule": "require_change_request_description"},
        emptily_described,
        "a description is required",
    ),
    "description: one": ({"rule": "require_change_request_description"}, described, ""),
    "author": ({"rule": "require_author_to_merge"}, nothing, "only the author can merge: Jun Lund"),
}


async def foreseen(desk: Desk, at: ChangeRequestRef, me: str | None = "ada") -> list[Fact]:
    """Return the checks of the merge rules of a change request, for `me`."""
    space = await desk.ask(spaces.Get(at=desk.space))
    acme: Organization = await desk.ask(organizations.Get(at=ACME))
    given = await desk.ask(reviews.List(at=at, outdated=False))
    names = {name: f"{name.title()} Lund" for name in ("ada", "mia", "tom", "jun")}
    case = MergeCandidate(await desk.get(at), given.items, me, names)
    return list(rule_facts(rules_for(space, acme if inherits(space) else None), case))


async def merges(desk: Desk, at: ChangeRequestRef, user: str = "ada") -> bool:
    try:
        await desk.merge(at, user)
    except Refusal as refusal:
        return refusal.status != 409
    return True


async def proposed(desk: Desk, *rules: dict[str, Any]) -> ChangeRequestRef:
    at = await desk.propose(update(await desk.id("Alpha"), "# Alpha\n\n1.\n"))
    await desk.ask(spaces.Update(at=desk.space, merge_rules={"type": "rules", "rules": list(rules)}))
    return at


@pytest.mark.parametrize(("rule", "deed", "lacks"), CASES.values(), ids=CASES)
async def test_unmet_rules_are_the_rules_that_the_server_enforces(
    desk_of: Callable[[], Awaitable[Desk]], rule: dict[str, Any], deed: Deed, lacks: str
) -> None:
    desk = await desk_of()
    if deed is overtaken:
        at = await desk.propose(update(await desk.id("Alpha"), "# Alpha\n\n1.\n"))
        await overtaken(desk, at)
        await desk.ask(spaces.Update(at=desk.space, merge_rules={"type": "rules", "rules": [rule]}))
    else:
        at = await proposed(desk, rule)
        await deed(desk, at)
    said = await foreseen(desk, at)
    assert [fact.text for fact in said if fact.mark == "bad"][1:] == ([lacks] if lacks else [])
    assert await merges(desk, at) is not bool(lacks)


async def test_users_who_can_bypass_rules_are_told(desk_of: Callable[[], Awaitable[Desk]]) -> None:
    desk = await desk_of()
    asks = {"rule": "require_at_least_one_review"}
    at = await proposed(desk, asks, {"rule": "allow_bypass", "users": ["ada"]})
    assert await foreseen(desk, at, "mia") == [
        Fact("bad", "merge rules", "0 of 1 met (rules set for the space)"),
        Fact("bad", "", "a review is required"),
    ]
    assert not await merges(desk, at, "mia")
    assert await foreseen(desk, at) == [
        Fact("care", "merge rules", "0 of 1 met (rules set for the space), but you can bypass the rules"),
        Fact("care", "", "a review is required"),
    ]
    assert await merges(desk, at)


async def test_space_inherits_the_rules_of_the_organization(
    desk_of: Callable[[], Awaitable[Desk]],
) -> None:
    desk = await desk_of()
    at = await desk.propose(update(await desk.id("Alpha"), "# Alpha\n\n1.\n"))
    assert await foreseen(desk, at) == [Fact("ok", "merge rules", "none set")]
    rules = {"type": "rules", "rules": [{"rule": "require_at_least_one_review"}]}
    await desk.ask(organizations.Update(at=ACME, merge_rules=rules))
    assert [fact.text for fact in await foreseen(desk, at)] == [
        "0 of 1 met (rules set for the organization)",
        "a review is required",
    ]
    await desk.ask(spaces.Update(at=desk.space, merge_rules={"type": "none"}))
    assert await foreseen(desk, at) == [Fact("ok", "merge rules", "none set")]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"rule": "custom", "expression": "true"}, "a custom rule: the server will check this rule"),
        ({"rule": "require_agent_review"}, "a review by an agent: the server will check this rule"),
        ({"rule": "require_a_moon\x1b[2J"}, "require_a_moon␛[2J: the server will check this rule"),
        ({"rule": "custom", "expression": "x", "message": "Ask Mia."}, "Ask Mia."),
    ],
)
async def test_undecided_rules_are_left_to_the_server(
    desk_of: Callable[[], Awaitable[Desk]], rule: dict[str, Any], said: str
) -> None:
    desk = await desk_of()
    at = await proposed(desk, rule)
    head, line = await foreseen(desk, at)
    assert (head.mark, head.text, line.mark) == ("care", "0 of 1 met (rules set for the space)", "care")
    assert said in str(line.text)


@pytest.mark.parametrize("kind", [["a moon"], {"a": "moon"}, 7, None])
def test_malformed_rule_is_left_to_the_server(kind: Any) -> None:
    head, line = rule_facts(MergeRules(({"rule": kind},)), MergeCandidate(ChangeRequest(id="k1"), (), "ada", {}))
    assert (head.mark, line.mark) == ("care", "care")
    assert "the server will check this rule" in str(line.text)
