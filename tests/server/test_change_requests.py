"""Change requests are created, edited, updated and merged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, organizations, reviews, search, spaces
from octavo.api.bodies import Markdown
from octavo.api.content import DeletePage
from octavo.api.operation import ChangeRequestRef
from tests.server.small_platform import Ask, Clock, Refusal
from tests.server.space_editor import ACME, SpaceEditor, insert, update

WORDS = {
    "object": "document",
    "data": {},
    "nodes": [
        {
            "object": "block",
            "type": "paragraph",
            "nodes": [{"object": "text", "leaves": [{"object": "leaf", "text": "Why.", "marks": []}]}],
        }
    ],
}


async def test_new_change_request_is_a_draft_of_main(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    main = await ask(content.Get(at=editor.space))
    made = await ask(change_requests.Create(at=editor.space, subject="Words"), "jun")
    assert (made.number, made.status, made.subject, made.created_by and made.created_by.id) == (
        2,
        "draft",
        "Words",
        "jun",
    )
    assert made.revision == made.revision_initial == main.id
    assert made.space == editor.space.space_id
    assert not made.outdated
    assert made.urls.app == f"http://octavo.test/o/acme/s/{editor.space.space_id}/~/changes/2"
    assert (await ask(change_requests.Create(at=editor.space))).number == 3


async def test_change_request_needs_the_editor_role(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    with pytest.raises(Refusal, match="need the Editor role"):
        await ask(change_requests.Create(at=editor.space), "zoe")


async def test_list_has_one_status_with_the_latest_first(ask: Ask, clock: Clock) -> None:
    editor = await SpaceEditor.open(ask)
    refs = []
    for number in range(3):
        clock.forward(seconds=1)
        refs.append(await editor.propose(subject=f"Number {number}", user="ada" if number else "jun"))
    for at in refs:
        clock.forward(seconds=1)
        await ask(change_requests.Update(at=at, status="open"))
    clock.forward(seconds=1)
    await ask(change_requests.Update(at=refs[0], subject="Touched"))
    listed = await ask(change_requests.List(at=editor.space))
    assert [each.subject for each in listed.items] == ["Touched", "Number 2", "Number 1"]
    assert (await ask(change_requests.List(at=editor.space, status="draft"))).items == ()
    mine = await ask(change_requests.List(at=editor.space, creator="jun"))
    assert [each.subject for each in mine.items] == ["Touched"]
    first = await ask(change_requests.List(at=editor.space, limit=2))
    assert first.next is not None
    rest = await ask(change_requests.List(at=editor.space, limit=2, page=first.next.page))
    assert [each.subject for each in (*first.items, *rest.items)] == ["Touched", "Number 2", "Number 1"]
    assert rest.next is None


async def test_organization_list_covers_all_visible_spaces(ask: Ask) -> None:
    one, two = await SpaceEditor.open(ask), await SpaceEditor.open(ask)
    await one.propose(subject="In one")
    await two.propose(subject="In two")
    drafts = change_requests.ListOfOrganization(at=ACME, status="draft")
    assert {each.subject for each in (await ask(drafts, "sam")).items} == {"In one", "In two"}
    await ask(spaces.Update(at=two.space, default_level=None))
    assert {each.subject for each in (await ask(drafts, "sam")).items} == {"In one"}


async def test_contributors_edited_or_commented(ask: Ask, clock: Clock) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# A"))
    clock.forward(seconds=1)
    await editor.edit(at, insert("# B"))
    clock.forward(seconds=1)
    await ask(comments.Create(at=at, body=Markdown(markdown="Good.")), "zoe")
    await ask(comments.Create(at=at, body=Markdown(markdown="Thanks.")), "jun")
    found = await ask(change_requests.ListContributors(at=at))
    assert {(each.user.id, each.count, each.action_type) for each in found.items} == {
        ("jun", 3, "edit"),
        ("zoe", 1, "comment"),
    }
    listed = change_requests.List(at=editor.space, status="draft", contributor="zoe")
    assert [each.id for each in (await ask(listed)).items] == [at.change_request_id]
    nobody = change_requests.List(at=editor.space, status="draft", contributor="tom")
    assert (await ask(nobody)).items == ()


async def test_open_comments_are_counted(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    comment = await ask(comments.Create(at=at, body=Markdown(markdown="Hm.")), "zoe")
    assert (await editor.get(at)).comments == 1
    await ask(comments.Update(at=at, comment_id=comment.id, resolved=True))
    assert (await editor.get(at)).comments == 0


async def test_description_is_set_and_removed(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    described = await ask(change_requests.Update(at=at, description=WORDS), "jun")
    assert described.description_text == "Why."
    assert (await ask(change_requests.Update(at=at, description=None), "jun")).description is None
    with pytest.raises(Refusal, match="must be a JSON object"):
        await ask(change_requests.Update(at=at, description={"words": "Why."}), "jun")


async def test_description_is_stored_unchanged(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    hostile = {"object": "document", "soft\u00adhyphen": ["\x1b[2J\u202e", {"e\u0301\u0301\u0301\u0301\u0301": "\x00"}]}
    await ask(change_requests.Update(at=at, description=hostile), "jun")
    assert ask.last.json()["description"] == hostile


async def test_change_request_is_opened_archived_and_reopened(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    for status in ("open", "draft", "archived", "open", "archived", "draft"):
        assert (await ask(change_requests.Update(at=at, status=status), "jun")).status == status


async def test_subject_has_at_most_100_characters(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    url = f"/v1/spaces/{at.space_id}/change-requests"
    one = f"{url}/{at.change_request_id}"
    for method, path in (("POST", url), ("PATCH", one), ("POST", f"{one}/requested-reviewers")):
        response = await ask.http(method, path, json={"users": ["tom"], "subject": "x" * 101})
        assert response.status_code == 400
        assert "at most 100 characters" in response.json()["error"]["message"]


async def test_merged_change_request_cannot_be_changed(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    done = await editor.merge(at)
    merged = await editor.get(at)
    assert (merged.status, merged.revision_merged) == ("merged", done.revision)
    for op in (change_requests.Merge(at=at), change_requests.UpdateFromMain(at=at)):
        with pytest.raises(Refusal, match="already merged") as refused:
            await ask(op)
        assert refused.value.status == 409
    with pytest.raises(Refusal, match="its status cannot change") as refused:
        await ask(change_requests.Update(at=at, status="open"))
    assert refused.value.status == 400


async def test_archived_change_request_cannot_be_merged(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    await ask(change_requests.Update(at=at, status="archived"))
    with pytest.raises(Refusal, match="Reopen it first") as refused:
        await editor.merge(at)
    assert refused.value.status == 409


async def test_merge_needs_the_creator_role(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    with pytest.raises(Refusal, match="need the Creator role") as refused:
        await editor.merge(at, "tom")
    assert refused.value.status == 403
    assert (await editor.merge(at, "mia")).result == "merge"


async def test_merged_content_is_found_by_search(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# Walrus\n\nTusks and whiskers."))
    found = search.InSpace(at=editor.space, query="whiskers")
    assert (await ask(found)).items == ()
    await editor.merge(at)
    assert [each.title for each in (await ask(found)).items] == ["Walrus"]


async def test_edits_of_different_paragraphs_are_merged(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\none\n\ntwo\n\nthree\n")
    home = await editor.id("Home")
    at = await editor.propose(update(home, "# Home\n\none\n\ntwo\n\nTHREE\n"))
    await editor.publish(update(home, "# Home\n\nONE\n\ntwo\n\nthree\n"), insert("# Other"))
    assert (await editor.get(at)).outdated
    assert (await editor.merge(at)).result == "merge"
    assert (await editor.page("Home")).markdown == "# Home\n\nONE\n\ntwo\n\nTHREE\n"
    assert await editor.outline() == "Home Other"
    assert not (await editor.get(at)).outdated


async def test_merge_with_a_conflict_keeps_both_sides(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\nsame\n\nold words\n")
    home = await editor.id("Home")
    at = await editor.propose(update(home, "# Home\n\nsame\n\ntheir words\n"))
    await editor.publish(update(home, "# Home\n\nsame\n\nour words\n"))
    number = (await editor.get(at)).number
    result = await editor.merge(at)
    assert result.result == "conflicts"
    assert (await editor.get(at)).status == "merged"
    page = await editor.page("Home")
    assert page.markdown == (
        f"# Home\n\nsame\n\n<<<<<<< main\n\nour words\n\n=======\n\ntheir words\n\n>>>>>>> #{number}\n"
    )


async def test_update_merges_main_into_the_change_request(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\none\n\ntwo\n")
    home = await editor.id("Home")
    at = await editor.propose(update(home, "# Home\n\none\n\nTWO\n"))
    await editor.publish(update(home, "# Home\n\nONE\n\ntwo\n"))
    main = await ask(content.Get(at=editor.space))
    before = await editor.get(at)
    result = await ask(change_requests.UpdateFromMain(at=at), "jun")
    after = await editor.get(at)
    assert (result.result, result.revision) == ("update", after.revision)
    assert (after.outdated, after.revision_merged_ancestor, after.status) == (False, main.id, "draft")
    revision = await ask(content.Get(at=at))
    assert (revision.type, revision.parents) == ("update", (before.revision, main.id))
    assert (await editor.page("Home", at)).markdown == "# Home\n\nONE\n\nTWO\n"
    assert len((await ask(content.ListChanges(at=at))).changes) == 1
    assert (await editor.merge(at)).result == "merge"
    assert (await editor.page("Home")).markdown == "# Home\n\nONE\n\nTWO\n"


async def test_conflict_can_be_resolved_in_the_change_request(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\nold\n")
    home = await editor.id("Home")
    at = await editor.propose(update(home, "# Home\n\ntheirs\n"))
    await editor.publish(update(home, "# Home\n\nours\n"))
    assert (await ask(change_requests.UpdateFromMain(at=at))).result == "conflicts"
    assert "<<<<<<< main" in ((await editor.page("Home", at)).markdown or "")
    await editor.edit(at, update(home, "# Home\n\nboth\n"))
    assert (await editor.merge(at)).result == "merge"
    assert (await editor.page("Home")).markdown == "# Home\n\nboth\n"


async def test_update_of_an_up_to_date_change_request_does_nothing(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    before = await editor.get(at)
    result = await ask(change_requests.UpdateFromMain(at=at))
    assert (result.result, result.revision) == ("update", before.revision)
    assert await editor.get(at) == before


async def test_page_trees_of_both_sides_are_merged(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B", "# C", "# D")
    a, b, c, d = [page.id for page in (await editor.tree()).pages]
    at = await editor.propose(update(c, into=a), DeletePage(page=d), insert("# New"))
    await editor.publish(update(b, title="Renamed"), insert("# Also new"))
    assert (await editor.merge(at)).result == "merge"
    assert await editor.outline() == "A(C) Renamed Also new New"


async def test_page_deleted_here_and_edited_on_main_stays(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B")
    b = await editor.id("B")
    at = await editor.propose(DeletePage(page=b))
    await editor.publish(update(b, "# B\n\nimportant"))
    assert (await editor.merge(at)).result == "conflicts"
    assert (await editor.page("B")).markdown == "# B\n\nimportant"


async def test_change_request_with_60_pages_is_merged(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, *(f"# Page {number}\n\nfirst\n\nsecond\n" for number in range(30)))
    await editor.publish(*(insert(f"# Page {number}\n\nfirst\n\nsecond\n") for number in range(30, 60)))
    pages = list((await editor.tree()).pages)
    theirs = [update(page.id, f"# {page.title}\n\nfirst\n\nSECOND\n") for page in pages]
    ours = [update(page.id, f"# {page.title}\n\nFIRST\n\nsecond\n") for page in pages]
    at = await editor.propose(*theirs[:30])
    await editor.edit(at, *theirs[30:])
    await editor.publish(*ours[:30])
    await editor.publish(*ours[30:])
    assert (await editor.merge(at)).result == "merge"
    texts = [(await editor.page(page.title)).markdown for page in pages[::20]]
    assert texts == [f"# {page.title}\n\nFIRST\n\nSECOND\n" for page in pages[::20]]


async def set_rules(ask: Ask, editor: SpaceEditor, *each: dict[str, Any]) -> None:
    await ask(spaces.Update(at=editor.space, merge_rules={"type": "rules", "rules": list(each)}))


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"rule": "require_at_least_one_review"}, "a review is required"),
        ({"rule": "require_at_least_one_approved_review"}, "an approval is required"),
        (
            {"rule": "require_specific_reviewers", "users": ["tom", "mia"]},
            "an approval by Tom Lund and Mia Lund is required",
        ),
        (
            {"rule": "require_one_of_specific_reviewers", "users": ["tom"]},
            "an approval by Tom Lund is required",
        ),
        ({"rule": "require_change_request_subject"}, "a subject is required"),
        ({"rule": "require_change_request_description"}, "a description is required"),
        ({"rule": "require_author_to_merge"}, "only the author can merge: Jun Lund"),
        ({"rule": "require_up_to_date_change_request"}, "update this change request first"),
        ({"rule": "custom", "expression": "reviews.length > 9"}, "reviews.length > 9 must be true"),
        ({"rule": "custom", "expression": "actor.id == changeRequest.createdBy.id"}, "must be true"),
        ({"rule": "custom", "expression": "not an expression"}, "must be true"),
        ({"rule": "require_agent_review"}, "this server cannot check it"),
    ],
)
async def test_unmet_merge_rule_is_named(ask: Ask, rule: dict[str, Any], sentence: str) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"), subject="")
    await editor.publish(insert("# Meanwhile"))
    await set_rules(ask, editor, rule)
    with pytest.raises(Refusal, match=sentence) as refused:
        await editor.merge(at)
    assert refused.value.status == 409
    assert rule["rule"] in refused.value.message
    assert (await editor.get(at)).status == "draft"
    await set_rules(ask, editor, rule, {"rule": "allow_bypass", "users": ["ada"]})
    assert (await editor.merge(at)).result == "merge"


async def approve(ask: Ask, at: ChangeRequestRef, user: str, status: Any = "approved") -> None:
    await ask(reviews.Submit(at=at, status=status), user)


async def test_met_merge_rules_allow_the_merge(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    await ask(change_requests.Update(at=at, description=WORDS))
    await set_rules(
        ask,
        editor,
        {"rule": "require_at_least_one_review"},
        {"rule": "require_all_reviews_approved"},
        {"rule": "require_specific_reviewers", "users": ["tom"]},
        {"rule": "require_up_to_date_change_request"},
        {"rule": "require_change_request_subject"},
        {"rule": "require_change_request_description"},
        {"rule": "custom", "expression": 'reviews.length == 2 && reviews[0].reviewer.id == "tom"'},
        {"rule": "custom", "expression": 'space.title == "Docs" && changeRequest.status == "draft"'},
    )
    await approve(ask, at, "mia", "changes-requested")
    await approve(ask, at, "tom")
    with pytest.raises(Refusal, match="Mia Lund requested changes"):
        await editor.merge(at)
    await approve(ask, at, "mia")
    assert (await editor.merge(at)).result == "merge"


async def test_merge_rules_of_the_organization_are_inherited(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    ask.platform.context.store.update(
        "/orgs/acme", mergeRules={"type": "rules", "rules": [{"rule": "require_at_least_one_review"}]}
    )
    with pytest.raises(Refusal, match="require_at_least_one_review"):
        await editor.merge(at)
    await ask(spaces.Update(at=editor.space, merge_rules={"type": "none"}))
    assert (await editor.merge(at)).result == "merge"


@pytest.mark.parametrize(
    ("merge_rules", "sentence"),
    [
        ({}, "mergeRules.type must be one of inherit, none, rules."),
        ({"type": "strict"}, "mergeRules.type must be one of inherit, none, rules."),
        ({"type": "rules"}, "mergeRules.rules must be a list."),
        ({"type": "rules", "rules": ["x"]}, "mergeRules.rules[0] must be an object with a rule."),
        ({"type": "rules", "rules": [{"rule": "allow_bypass", "users": 5}]}, "users must be a list of user IDs."),
        ({"type": "rules", "rules": [{"rule": "allow_bypass"}]}, "users must be a list of user IDs."),
        (
            {"type": "rules", "rules": [{"rule": "require_tea"}]},
            "mergeRules.rules[0].rule must be one of allow_bypass,",
        ),
        ({"type": "rules", "rules": [{"rule": "custom"}]}, "expression must be text of at most 1024 characters."),
        (
            {"type": "rules", "rules": [{"rule": "custom", "expression": "x" * 1025}]},
            "mergeRules.rules[0].expression must be text of at most 1024 characters.",
        ),
    ],
)
async def test_impossible_merge_rules_are_refused(ask: Ask, merge_rules: Any, sentence: str) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    with pytest.raises(Refusal, match=re.escape(sentence)) as refused:
        await ask(spaces.Update(at=editor.space, merge_rules=merge_rules))
    assert refused.value.status == 400
    with pytest.raises(Refusal, match=r"mergeRules\.type must be one of none, rules"):
        await ask(organizations.Update(at=ACME, merge_rules={"type": "inherit"}))
    assert (await editor.merge(await editor.propose(insert("# More")))).result == "merge"
