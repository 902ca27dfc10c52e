"""Reviews of change requests, and requested reviewers."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, reviews
from octavo.api.bodies import Markdown
from tests.server.small_platform import Ask, Clock, Refusal
from tests.server.space_editor import SpaceEditor, insert


async def test_review_belongs_to_its_revision(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# A"))
    review = await ask(reviews.Submit(at=at, status="approved"), "tom")
    assert (review.reviewer.id, review.status, review.outdated) == ("tom", "approved", False)
    assert review.revision == (await editor.get(at)).revision
    await editor.edit(at, insert("# B"))
    listed = (await ask(reviews.List(at=at))).items
    assert [(each.revision, each.outdated) for each in listed] == [(review.revision, False)]


async def test_new_review_of_a_user_outdates_the_older_review(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    await ask(reviews.Submit(at=at, status="changes-requested"), "tom")
    await ask(reviews.Submit(at=at, status="approved"), "mia")
    await ask(reviews.Submit(at=at, status="approved"), "tom")
    listed = [(each.reviewer.id, each.status, each.outdated) for each in (await ask(reviews.List(at=at))).items]
    assert listed == [
        ("tom", "approved", False),
        ("mia", "approved", False),
        ("tom", "changes-requested", True),
    ]
    current = (await ask(reviews.List(at=at, outdated=False))).items
    assert [each.reviewer.id for each in current] == ["tom", "mia"]
    old = (await ask(reviews.List(at=at, outdated=True))).items
    assert [each.status for each in old] == ["changes-requested"]


async def test_text_of_a_review_is_a_comment(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    op = reviews.Submit(at=at, status="changes-requested", comment=Markdown(markdown="Too **long**."))
    review = await ask(op, "tom")
    assert review.comment is not None
    assert review.comment.body.markdown == "Too **long**."
    threads = (await ask(comments.List(at=at))).items
    assert [(each.id, each.target.review) for each in threads] == [(review.comment.id, review.id)]
    as_document = (await ask(reviews.List(at=at, format="document"))).items[0]
    assert as_document.comment is not None
    assert "long" in as_document.comment.body.text
    await ask(comments.Delete(at=at, comment_id=review.comment.id))
    assert (await ask(reviews.List(at=at))).items[0].comment is None


async def test_review_fulfills_the_review_request(ask: Ask, clock: Clock) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    asked = await ask(reviews.Request(at=at, users=("tom", "mia", "tom")), "jun")
    assert [each.user and each.user.id for each in asked.users] == ["tom", "mia"]
    review = await ask(reviews.Submit(at=at, status="approved"), "tom")
    assert review.requested_by is not None
    assert review.requested_by.id == "jun"
    left = (await ask(reviews.ListRequested(at=at))).items
    assert [(each.user and each.user.id, each.kind) for each in left] == [("mia", "user")]


async def test_repeated_review_request_outdates_the_review(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    await ask(reviews.Submit(at=at, status="changes-requested"), "tom")
    await ask(reviews.Request(at=at, users=("tom",)), "jun")
    assert [each.outdated for each in (await ask(reviews.List(at=at))).items] == [True]
    assert len((await ask(reviews.ListRequested(at=at))).items) == 1


async def test_review_request_may_set_the_subject(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose(subject="")
    await ask(reviews.Request(at=at, users=("tom",), subject="Please look"), "jun")
    assert (await editor.get(at)).subject == "Please look"


async def test_editors_and_the_reviewer_withdraw_a_review_request(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    await ask(reviews.Request(at=at, users=("tom", "mia")), "jun")
    with pytest.raises(Refusal, match="need the Editor role"):
        await ask(reviews.Withdraw(at=at, user_id="tom"), "zoe")
    await ask(reviews.Withdraw(at=at, user_id="tom"), "tom")
    await ask(reviews.Withdraw(at=at, user_id="mia"), "jun")
    await ask(reviews.Withdraw(at=at, user_id="mia"), "jun")
    assert (await ask(reviews.ListRequested(at=at))).items == ()


@pytest.mark.parametrize(
    ("user", "status", "sentence"),
    [
        ("eve", 404, "has access"),
        ("nobody", 404, "has access"),
        ("sam", 400, "To review, a member needs the Reviewer role"),
    ],
)
async def test_review_request_needs_a_permitted_reviewer(ask: Ask, user: str, status: int, sentence: str) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    with pytest.raises(Refusal, match=sentence) as refused:
        await ask(reviews.Request(at=at, users=("tom", user)), "jun")
    assert refused.value.status == status
    assert (await ask(reviews.ListRequested(at=at))).items == ()


async def test_review_needs_the_reviewer_role(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    with pytest.raises(Refusal, match="need the Reviewer role") as refused:
        await ask(reviews.Submit(at=at, status="approved"), "jun")
    assert refused.value.status == 403


async def test_review_with_an_empty_comment_is_refused(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    with pytest.raises(Refusal, match="empty"):
        await ask(reviews.Submit(at=at, status="approved", comment=Markdown(markdown=" ")), "tom")
    assert (await ask(reviews.List(at=at))).items == ()


async def test_closed_change_request_cannot_be_reviewed(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    at = await editor.propose()
    await ask(change_requests.Update(at=at, status="archived"))
    with pytest.raises(Refusal, match="archived") as refused:
        await ask(reviews.Submit(at=at, status="approved"), "tom")
    assert refused.value.status == 409
    with pytest.raises(Refusal, match="archived") as refused:
        await ask(reviews.Request(at=at, users=("tom",)), "jun")
    assert refused.value.status == 409
