"""The checks of merge rules agree with the embedded platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import pytest

from octavo.api import change_requests, organizations, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.merge_rules import MergeCandidate, MergeRules, inherits, rules_for
from octavo.api.operation import ChangeRequestRef
from octavo.api.organizations import Organization
from octavo.tui.review.merge_checks import rule_rows
from octavo.tui.widgets.short_texts import InfoRow
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, Refusal, small_context
from tests.server.space_editor import ACME, SpaceEditor, insert, update

Action: TypeAlias = Callable[[SpaceEditor, ChangeRequestRef], Awaitable[Any]]

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
def create_space_editor() -> Iterator[Callable[[], Awaitable[SpaceEditor]]]:
    platform = Platform(small_context(Clock()))

    async def create() -> SpaceEditor:
        return await SpaceEditor.open(Ask(platform), "# Alpha\n\nOne.\n")

    yield create
    platform.close()
    platform.context.store.close()


async def nothing(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    pass


async def approve(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.ask(reviews.Submit(at=at, status="approved"), "tom")


async def request_changes(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.ask(reviews.Submit(at=at, status="changes-requested"), "tom")


async def approve_and_request_changes(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await request_changes(editor, at)
    await editor.ask(reviews.Submit(at=at, status="approved"), "mia")


async def approve_and_request_again(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await approve(editor, at)
    await editor.ask(reviews.Request(at=at, users=("tom",)))


async def change_main(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.publish(insert("# Beta\n\nTwo.\n"))


async def remove_subject(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.ask(change_requests.Update(at=at, subject=" "))


async def set_description(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.ask(change_requests.Update(at=at, description=DESCRIPTION))


async def set_empty_description(editor: SpaceEditor, at: ChangeRequestRef) -> None:
    await editor.ask(change_requests.Update(at=at, description={"object": "document", "nodes": []}))


CASES: dict[str, tuple[dict[str, Any], Action, str]] = {
    "review: none": ({"rule": "require_at_least_one_review"}, nothing, "a review is required"),
    "review: one": ({"rule": "require_at_least_one_review"}, request_changes, ""),
    "review: asked again": ({"rule": "require_at_least_one_review"}, approve_and_request_again, "a review is required"),
    "approval: none": ({"rule": "require_at_least_one_approved_review"}, request_changes, "an approval is required"),
    "approval: one": ({"rule": "require_at_least_one_approved_review"}, approve, ""),
    "all approved: none there": ({"rule": "require_all_reviews_approved"}, nothing, ""),
    "all approved: not all": (
        {"rule": "require_all_reviews_approved"},
        approve_and_request_changes,
        "Tom Lund requested changes",
    ),
    "all approved: all": ({"rule": "require_all_reviews_approved"}, approve, ""),
    "these: one missing": (
        {"rule": "require_specific_reviewers", "users": ["tom", "mia"]},
        approve,
        "an approval by Mia Lund is required",
    ),
    "these: all": ({"rule": "require_specific_reviewers", "users": ["tom"]}, approve, ""),
    "one of these: none": (
        {"rule": "require_one_of_specific_reviewers", "users": ["mia", "ada"]},
        approve,
        "an approval by Mia Lund or Ada Lund is required",
    ),
    "one of these: one": ({"rule": "require_one_of_specific_reviewers", "users": ["mia", "tom"]}, approve, ""),
    "one of nobody": ({"rule": "require_one_of_specific_reviewers"}, approve, "an approval is required"),
    "up to date: no": (
        {"rule": "require_up_to_date_change_request"},
        change_main,
        "main has changed: update this change request first",
    ),
    "up to date: yes": ({"rule": "require_up_to_date_change_request"}, nothing, ""),
    "subject: none": ({"rule": "require_change_request_subject"}, remove_subject, "a subject is required"),
    "subject: one": ({"rule": "require_change_request_subject"}, nothing, ""),
    "description: none": ({"rule": "require_change_request_description"}, nothing, "a description is required"),
    "description: of no words": (
        {"rule": "require_change_request_description"},
        set_empty_description,
        "a description is required",
    ),
    "description: one": ({"rule": "require_change_request_description"}, set_description, ""),
    "author": ({"rule": "require_author_to_merge"}, nothing, "only the author can merge: Jun Lund"),
}


async def rule_checks(editor: SpaceEditor, at: ChangeRequestRef, me: str | None = "ada") -> list[InfoRow]:
    """Return the checks of the merge rules of a change request for the user `me`."""
    space = await editor.ask(spaces.Get(at=editor.space))
    acme: Organization = await editor.ask(organizations.Get(at=ACME))
    given = await editor.ask(reviews.List(at=at, outdated=False))
    names = {name: f"{name.title()} Lund" for name in ("ada", "mia", "tom", "jun")}
    case = MergeCandidate(await editor.get(at), given.items, me, names)
    return list(rule_rows(rules_for(space, acme if inherits(space) else None), case))


async def can_merge(editor: SpaceEditor, at: ChangeRequestRef, user: str = "ada") -> bool:
    try:
        await editor.merge(at, user)
    except Refusal as refusal:
        return refusal.status != 409
    return True


async def open_change_request(editor: SpaceEditor, *rules: dict[str, Any]) -> ChangeRequestRef:
    """Open a change request in a space with these rules, which need not be known to the embedded platform."""
    at = await editor.propose(update(await editor.id("Alpha"), "# Alpha\n\n1.\n"))
    store = editor.ask.platform.context.store
    store.update(f"/spaces/{editor.space.space_id}", mergeRules={"type": "rules", "rules": list(rules)})
    return at


@pytest.mark.parametrize(("rule", "action", "missing"), CASES.values(), ids=CASES)
async def test_unmet_rules_are_those_that_the_server_enforces(
    create_space_editor: Callable[[], Awaitable[SpaceEditor]], rule: dict[str, Any], action: Action, missing: str
) -> None:
    editor = await create_space_editor()
    if action is change_main:
        at = await editor.propose(update(await editor.id("Alpha"), "# Alpha\n\n1.\n"))
        await change_main(editor, at)
        await editor.ask(spaces.Update(at=editor.space, merge_rules={"type": "rules", "rules": [rule]}))
    else:
        at = await open_change_request(editor, rule)
        await action(editor, at)
    expected = await rule_checks(editor, at)
    assert [info_row.text for info_row in expected if info_row.mark == "bad"][1:] == ([missing] if missing else [])
    assert await can_merge(editor, at) is not bool(missing)


async def test_user_who_can_bypass_the_rules_is_told_so(
    create_space_editor: Callable[[], Awaitable[SpaceEditor]],
) -> None:
    editor = await create_space_editor()
    rule = {"rule": "require_at_least_one_review"}
    at = await open_change_request(editor, rule, {"rule": "allow_bypass", "users": ["ada"]})
    assert await rule_checks(editor, at, "mia") == [
        InfoRow("bad", "merge rules", "0 of 1 met (rules set for the space)"),
        InfoRow("bad", "", "a review is required"),
    ]
    assert not await can_merge(editor, at, "mia")
    assert await rule_checks(editor, at) == [
        InfoRow("care", "merge rules", "0 of 1 met (rules set for the space), but you can bypass the rules"),
        InfoRow("care", "", "a review is required"),
    ]
    assert await can_merge(editor, at)


async def test_space_inherits_the_rules_of_the_organization(
    create_space_editor: Callable[[], Awaitable[SpaceEditor]],
) -> None:
    editor = await create_space_editor()
    at = await editor.propose(update(await editor.id("Alpha"), "# Alpha\n\n1.\n"))
    assert await rule_checks(editor, at) == [InfoRow("ok", "merge rules", "none set")]
    rules = {"type": "rules", "rules": [{"rule": "require_at_least_one_review"}]}
    await editor.ask(organizations.Update(at=ACME, merge_rules=rules))
    assert [info_row.text for info_row in await rule_checks(editor, at)] == [
        "0 of 1 met (rules set for the organization)",
        "a review is required",
    ]
    await editor.ask(spaces.Update(at=editor.space, merge_rules={"type": "none"}))
    assert await rule_checks(editor, at) == [InfoRow("ok", "merge rules", "none set")]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "custom", "expression": "true"}, "a custom rule: the server will check this rule"),
        ({"rule": "require_agent_review"}, "a review by an agent: the server will check this rule"),
        ({"rule": "require_a_moon\x1b[2J"}, "require_a_moon␛[2J: the server will check this rule"),
        ({"rule": "custom", "expression": "x", "message": "Ask Mia."}, "Ask Mia."),
    ],
)
async def test_undecided_rules_are_left_to_the_server(
    create_space_editor: Callable[[], Awaitable[SpaceEditor]], rule: dict[str, Any], expected: str
) -> None:
    editor = await create_space_editor()
    at = await open_change_request(editor, rule)
    head, line = await rule_checks(editor, at)
    assert (head.mark, head.text, line.mark) == ("care", "0 of 1 met (rules set for the space)", "care")
    assert expected in str(line.text)


@pytest.mark.parametrize("kind", [["a moon"], {"a": "moon"}, 7, None])
def test_malformed_rule_is_left_to_the_server(kind: Any) -> None:
    head, line = rule_rows(MergeRules(({"rule": kind},)), MergeCandidate(ChangeRequest(id="k1"), (), "ada", {}))
    assert (head.mark, line.mark) == ("care", "care")
    assert "the server will check this rule" in str(line.text)
