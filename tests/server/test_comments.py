from __future__ import annotations

from typing import Any

import pytest

from octavo.api import comments, reviews, spaces
from octavo.api.bodies import Markdown, document_text
from octavo.api.comments import Comment
from octavo.api.content import DeletePage
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.api.spaces import Space
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse
from octavo.server.handlers.spaces import get_current, with_stored_text
from octavo.server.rest import RequestContext
from tests.server.small_platform import START, Ask, Clock, check_refused, replace_pages, space_with
from tests.server.space_editor import SpaceEditor, update

GUIDE = "# Guide\n\nFirst words.\n\nSecond words."


def _key(words: str, markdown: str = GUIDE) -> str:
    return next(block.key for block in parse(markdown).walk() if block.plain() == words)


@pytest.fixture
async def space(ask: Ask) -> Space:
    return await space_with(ask, guide=GUIDE, other="# Other")


@pytest.fixture(params=["space", "change request"])
async def place(request: pytest.FixtureRequest, space: Space, context: RequestContext) -> Discussion:
    """Yield a space, then a change request: all tests hold for comments on both."""
    if request.param == "space":
        return space.ref
    path = f"/spaces/{space.id}/change-requests/c1"
    made = {"id": "c1", "number": 1, "status": "open", "revision": space.revision, "revisionInitial": space.revision}
    context.store.put(path, made)
    return ChangeRequestRef(space_id=space.id, change_request_id="c1")


async def _post(ask: Ask, at: Discussion, words: str = "Typo", user: str = "zoe", **target: str) -> Comment:
    return await ask(comments.Create(at=at, body=Markdown(markdown=words), **target), user)


async def _list(ask: Ask, at: Discussion, **filters: object) -> list[str]:
    listing = comments.List.model_validate({"at": at, "format": "markdown", **filters})
    return [each.body.text for each in (await ask(listing, "sam")).items]


async def test_comment_has_its_author_time_and_target(ask: Ask, place: Discussion, space: Space) -> None:
    posted = await _post(ask, place, "**Typo** here", page="guide")
    assert (posted.body.markdown, posted.posted_by.name, posted.posted_at) == ("**Typo** here", "Zoe Lund", START)
    assert (posted.status, posted.replies, posted.reactions, posted.edited_at) == ("open", 0, (), None)
    assert (posted.target.space, posted.target.revision) == (space.id, space.revision)
    assert posted.target.change_request == getattr(place, "change_request_id", None)
    page = posted.target.page
    assert page is not None
    assert (page.id, page.title, page.path, page.outdated) == ("guide", "Guide", "", False)
    assert ask.last.json()["urls"]["location"].endswith(f"/comments/{posted.id}")
    assert await ask(comments.Get(at=place, comment_id=posted.id), "zoe") == posted


async def test_comment_needs_the_commenter_role(ask: Ask, place: Discussion) -> None:
    assert "need the Commenter role" in await check_refused(_post(ask, place, user="sam"), 403)
    await check_refused(_post(ask, place, user="gil"), 404)
    thread = await _post(ask, place)
    reply = comments.CreateReply(at=place, comment_id=thread.id, body=Markdown(markdown="No"))
    await check_refused(ask(reply, "sam"), 403)


async def test_comment_on_an_unknown_page_is_404(ask: Ask, place: Discussion) -> None:
    assert "The page “nowhere”" in await check_refused(_post(ask, place, page="nowhere"), 404)


async def test_comment_on_a_block_stores_the_text_of_the_block(ask: Ask, place: Discussion) -> None:
    node = (await _post(ask, place, page="guide", node=_key("Second words."))).target.node
    assert node is not None
    assert node.preview == "Second words."


async def test_comment_on_a_table_cell_names_the_cell(ask: Ask, place: Discussion) -> None:
    cell = comments.TableCell(record="r1", definition="price")
    on_cell = comments.Create(at=place, body=Markdown(markdown="Typo"), page="guide", table_cell=cell)
    assert (await ask(on_cell, "zoe")).target.table_cell == cell
    assert "page is required" in await check_refused(ask(on_cell.model_copy(update={"page": None}), "zoe"), 400)


async def test_target_is_outdated_after_its_block_or_page_is_deleted(
    ask: Ask, space: Space, context: RequestContext
) -> None:
    on_page = await _post(ask, space.ref, page="guide")
    on_first = await _post(ask, space.ref, page="guide", node=_key("First words."))
    on_second = await _post(ask, space.ref, page="guide", node=_key("Second words."))
    on_other = await _post(ask, space.ref, page="other")
    guide = get_current(context, space.id)["pages"][0]
    now = with_stored_text(context, guide, "# Guide\n\nSecond words.")
    await replace_pages(ask, space, [{**now, "title": "Renamed"}])

    async def outdated(comment: Comment) -> tuple[str | None, bool | None]:
        page = (await ask(comments.Get(at=space.ref, comment_id=comment.id))).target.page
        assert page is not None
        return page.title, page.outdated

    assert await outdated(on_page) == ("Renamed", False)
    assert await outdated(on_first) == ("Renamed", True)
    assert await outdated(on_second) == ("Renamed", False)
    assert await outdated(on_other) == ("Other", True)


async def test_comment_on_a_removed_block_is_outdated_when_main_removes_it(ask: Ask, context: RequestContext) -> None:
    editor = await SpaceEditor.open(ask, GUIDE, "# Other\n\nAll of it.\n", "# Third\n")
    guide, other = await editor.id("Guide"), await editor.id("Other")
    at = await editor.propose()
    on_second = await _post(ask, at, user="ada", page=guide, node=_key("Second words."))
    await editor.edit(at, update(guide, "# Guide\n\nThird words."), DeletePage(page=other))
    on_first = await _post(ask, at, user="ada", page=guide, node=_key("First words."))
    on_new = await _post(ask, at, user="ada", page=guide, node=_key("Third words.", "# Guide\n\nThird words."))
    on_page = await _post(ask, at, user="ada", page=other)
    on_all = await _post(ask, at, user="ada", page=other, node=_key("All of it.", "# Other\n\nAll of it.\n"))
    assert on_first.target.node is not None
    assert on_first.target.node.preview == "First words."

    async def outdated(*on: Comment) -> list[tuple[str | None, bool | None]]:
        found = [(await ask(comments.Get(at=at, comment_id=each.id), "ada")).target.page for each in on]
        return [(page.title, page.outdated) for page in found if page is not None]

    assert await outdated(on_first, on_new, on_page, on_all) == [
        ("Guide", False),
        ("Guide", False),
        ("Other", False),
        ("Other", False),
    ]
    assert await outdated(on_second) == [("Guide", True)], "it was made on what was there, which was removed since"
    await editor.edit(at, update(guide, "# Guide\n\nFourth words."))
    assert await outdated(on_first, on_new) == [("Guide", False), ("Guide", True)]
    assert "The page “nowhere”" in await check_refused(_post(ask, at, user="ada", page="nowhere"), 404)


async def test_threads_are_listed_by_order_status_page_and_author(ask: Ask, place: Discussion) -> None:
    await _post(ask, place, "one", "zoe", page="guide")
    two = await _post(ask, place, "two", "jun", page="other")
    await _post(ask, place, "three", "tom")
    await ask(comments.Update(at=place, comment_id=two.id, resolved=True), "jun")
    assert await _list(ask, place) == ["three", "two", "one"]
    assert await _list(ask, place, order="asc") == ["one", "two", "three"]
    assert await _list(ask, place, status="open") == ["three", "one"]
    assert await _list(ask, place, status="resolved") == ["two"]
    assert await _list(ask, place, target_page="guide") == ["one"]
    assert await _list(ask, place, authors=("zoe", "tom")) == ["three", "one"]
    assert await _list(ask, place, authors=("ada",)) == []


async def test_threads_of_a_space_and_of_a_change_request_are_separate(
    ask: Ask, space: Space, context: RequestContext
) -> None:
    path = f"/spaces/{space.id}/change-requests/c1"
    made = {"id": "c1", "number": 1, "status": "open", "revision": space.revision, "revisionInitial": space.revision}
    context.store.put(path, made)
    await _post(ask, ChangeRequestRef(space_id=space.id, change_request_id="1"), "on the change")
    await _post(ask, space.ref, "on the space")
    assert await _list(ask, space.ref) == ["on the space"]
    assert await _list(ask, ChangeRequestRef(space_id=space.id, change_request_id="c1")) == ["on the change"]
    assert (await ask(spaces.Get(at=space.ref))).comments == 1


async def test_pages_of_threads_stay_consistent_while_threads_change(ask: Ask, place: Discussion) -> None:
    posted = [await _post(ask, place, str(number)) for number in range(6)]
    listing = comments.List(at=place, limit=2)
    first = await ask(listing)
    await ask(comments.Delete(at=place, comment_id=posted[4].id), "zoe")
    await ask(comments.Delete(at=place, comment_id=posted[5].id), "zoe")
    await _post(ask, place, "new")
    assert first.next is not None
    second = await ask(listing.model_copy(update={"page": first.next.page}))
    assert [each.body.text for each in (*first.items, *second.items)] == ["5", "4", "3", "2"]


async def test_body_is_returned_as_markdown_or_document(ask: Ask, place: Discussion) -> None:
    posted = await _post(ask, place, "One *thing*.\nStill.\n\n\n\nAnother.")
    as_document = await ask(comments.Get(at=place, comment_id=posted.id, format="document"))
    assert as_document.body.markdown is None
    assert [node["type"] for node in ask.last.json()["body"]["document"]["nodes"]] == ["paragraph", "paragraph"]
    assert as_document.body.text == "One thing. Still.\nAnother."
    as_markdown = await ask(comments.Get(at=place, comment_id=posted.id, format="markdown"))
    assert as_markdown.body.markdown == "One *thing*.\nStill.\n\n\n\nAnother."
    reply = comments.CreateReply(at=place, comment_id=posted.id, body=Markdown(markdown="Yes"), format="document")
    if isinstance(place, ChangeRequestRef):
        assert (await ask(reply)).body.document is not None
        assert ask.last.json()["body"]["document"]["nodes"][0]["nodes"][0]["leaves"][0]["text"] == "Yes"


async def test_users_edit_only_their_own_comments(ask: Ask, place: Discussion, clock: Clock) -> None:
    posted = await _post(ask, place, "befor")
    clock.forward(hours=1)
    edit = comments.Update(at=place, comment_id=posted.id, body=Markdown(markdown="before"))
    assert "Only the author can edit" in await check_refused(ask(edit, "ada"), 403)
    edited = await ask(edit, "zoe")
    assert (edited.body.markdown, edited.edited_at, edited.posted_at) == ("before", clock.moment, START)
    clock.forward(hours=1)
    assert (await ask(edit, "zoe")).edited_at == edited.edited_at, "saying the same again is no edit"
    empty = comments.Update(at=place, comment_id=posted.id, body=Markdown(markdown=" "))
    await check_refused(ask(empty, "zoe"), 400)


async def test_author_and_editors_resolve_and_reopen_a_thread(ask: Ask, place: Discussion, clock: Clock) -> None:
    posted = await _post(ask, place, user="zoe")
    resolve = comments.Update(at=place, comment_id=posted.id, resolved=True)
    assert "resolve or reopen" in await check_refused(ask(resolve, "sam"), 403)
    done = await ask(resolve, "jun")
    assert (done.status, done.resolved_at) == ("resolved", START)
    assert done.resolved_by is not None
    assert done.resolved_by.id == "jun"
    clock.forward(hours=1)
    assert (await ask(resolve, "ada")).resolved_at == START, "resolving again changes nothing"
    reopened = await ask(comments.Update(at=place, comment_id=posted.id, resolved=False), "zoe")
    assert (reopened.status, reopened.resolved_at, reopened.resolved_by) == ("open", None, None)
    assert "resolvedBy" not in ask.last.json()
    assert reopened.edited_at is None


async def test_reaction_counts_each_user_once(ask: Ask, place: Discussion) -> None:
    posted = await _post(ask, place)
    like = comments.Update(at=place, comment_id=posted.id, added_reactions=("👍", "🎉", "👍"))
    await ask(like, "zoe")
    await ask(like, "sam")
    shown = await ask(like, "sam")
    assert [(each.emoji, each.count, [u.user.id for u in each.users]) for each in shown.reactions] == [
        ("👍", 2, ["zoe", "sam"]),
        ("🎉", 2, ["zoe", "sam"]),
    ]
    gone = comments.Update(at=place, comment_id=posted.id, removed_reactions=("👍", "🙈"), added_reactions=("1f389",))
    assert [(each.emoji, each.count) for each in (await ask(gone, "zoe")).reactions] == [
        ("👍", 1),
        ("🎉", 2),
        ("1f389", 1),
    ]
    last = await ask(comments.Update(at=place, comment_id=posted.id, removed_reactions=("👍",)), "sam")
    assert [each.emoji for each in last.reactions] == ["🎉", "1f389"]
    long = comments.Update(at=place, comment_id=posted.id, added_reactions=("x" * 51,))
    assert "1 to 50 characters" in await check_refused(ask(long, "sam"), 400)


@pytest.mark.before_release
async def test_reactions_by_many_users_take_linear_time(ask: Ask) -> None:
    space = await space_with(ask)
    posted = await ask(comments.Create(at=space.ref, body=Markdown(markdown="Hello")))
    many = tuple(f"{number:x}" for number in range(20_000))

    await ask(comments.Update(at=space.ref, comment_id=posted.id, added_reactions=many))
    less = await ask(comments.Update(at=space.ref, comment_id=posted.id, removed_reactions=many[1:]))

    assert [each.emoji for each in less.reactions] == ["0"]


async def test_replies_are_counted_listed_edited_and_deleted(ask: Ask, place: Discussion, clock: Clock) -> None:
    thread = await _post(ask, place)
    for words, user in (("first", "jun"), ("second", "zoe")):
        op = comments.CreateReply(at=place, comment_id=thread.id, body=Markdown(markdown=words))
        reply = await ask(op, user)
    assert ask.last.json()["object"] == "comment-reply"
    listed = await ask(comments.ListReplies(at=place, comment_id=thread.id, format="markdown"), "sam")
    assert [(each.body.text, each.posted_by.id) for each in listed.items] == [("first", "jun"), ("second", "zoe")]
    assert (await ask(comments.Get(at=place, comment_id=thread.id))).replies == 2
    clock.forward(hours=1)
    here = {"at": place, "comment_id": thread.id, "comment_reply_id": reply.id}
    edit = comments.UpdateReply.model_validate({**here, "body": {"markdown": "better"}, "added_reactions": ("👍",)})
    await check_refused(ask(edit, "jun"), 403)
    edited = await ask(edit, "zoe")
    assert (edited.body.text, edited.edited_at, edited.reactions[0].count) == ("better", clock.moment, 1)
    assert await ask(comments.GetReply.model_validate(here), "zoe") == edited
    await check_refused(ask(comments.DeleteReply.model_validate(here), "jun"), 403)
    await ask(comments.DeleteReply.model_validate(here), "ada")
    assert (await ask(comments.Get(at=place, comment_id=thread.id))).replies == 1
    assert "reply “" in await check_refused(ask(comments.GetReply.model_validate(here)), 404)


async def test_reply_to_an_unknown_thread_is_refused(ask: Ask, place: Discussion) -> None:
    reply = comments.CreateReply(at=place, comment_id="nowhere", body=Markdown(markdown="Yes"))
    assert "comment “nowhere”" in await check_refused(ask(reply), 404)
    await check_refused(ask(comments.ListReplies(at=place, comment_id="nowhere")), 404)


async def test_deleting_a_thread_deletes_its_replies(ask: Ask, place: Discussion, context: RequestContext) -> None:
    thread = await _post(ask, place)
    await ask(comments.CreateReply(at=place, comment_id=thread.id, body=Markdown(markdown="Yes")))
    here = ask.last.json()["urls"]["location"].removeprefix("http://octavo.test/v1")
    delete = comments.Delete(at=place, comment_id=thread.id)
    assert "Only the author and admins" in await check_refused(ask(delete, "mia"), 403)
    await ask(delete, "zoe")
    assert context.store.find(here) is None
    await check_refused(ask(comments.Get(at=place, comment_id=thread.id)), 404)
    await ask(delete, "zoe")
    assert (ask.last.status_code, ask.last.content) == (204, b"")


@pytest.mark.parametrize(
    ("user", "edit", "reply", "delete"),
    [("zoe", True, True, True), ("ada", False, True, True), ("jun", False, True, False), ("sam", False, False, False)],
)
async def test_permissions_of_a_thread_depend_on_the_caller(
    ask: Ask, space: Space, user: str, edit: bool, reply: bool, delete: bool
) -> None:
    thread = await _post(ask, space.ref)
    allowed = (await ask(comments.Get(at=space.ref, comment_id=thread.id), user)).permissions
    assert (allowed.view, allowed.edit, allowed.reply, allowed.delete) == (True, edit, reply, delete)


async def test_author_without_comment_permission_can_only_delete(
    ask: Ask, space: Space, context: RequestContext
) -> None:
    thread = await _post(ask, space.ref)
    context.store.update("/orgs/acme/members/zoe", role="read")
    allowed = (await ask(comments.Get(at=space.ref, comment_id=thread.id), "zoe")).permissions
    assert (allowed.edit, allowed.reply, allowed.delete) == (False, False, True)


async def test_commenters_are_listed_as_members(ask: Ask, place: Discussion, context: RequestContext) -> None:
    thread = await _post(ask, place, user="zoe")
    await ask(comments.CreateReply(at=place, comment_id=thread.id, body=Markdown(markdown="Yes")), "tom")
    await _post(ask, place, user="zoe")
    context.store.delete("/orgs/acme/members/tom")
    found = (await ask(comments.ListCommenters(at=place), "sam")).items
    assert [(each.user.name, each.role, each.disabled) for each in found] == [
        ("Tom Lund", None, True),
        ("Zoe Lund", "comment", False),
    ]


async def test_comment_reply_and_review_are_accepted_as_documents(ask: Ask) -> None:
    here = (await space_with(ask, intro="Hello.")).ref
    said = Markdown.model_validate({"document": to_json_document("Is it **five**?")})
    made = await ask(comments.Create(at=here, page="intro", body=said))
    assert made.body.markdown == "Is it **five**?"
    again = await ask(comments.Get(at=here, comment_id=made.id, format="document"))
    assert again.body.markdown is None
    assert document_text(again.body.document) == "Is it five?"
    reply = await ask(
        comments.CreateReply(at=here, comment_id=made.id, body=Markdown(document=to_json_document("No, *four*.")))
    )
    assert reply.body.markdown == "No, _four_."
    changed = await ask(
        comments.Update(at=here, comment_id=made.id, body=Markdown(document=to_json_document("Is it six?")))
    )
    assert changed.body.markdown == "Is it six?"
    none: tuple[dict[str, Any], ...] = ({}, {"document": {}}, {"document": to_json_document("")})
    for empty in none:
        op = comments.Create(at=here, body=Markdown.model_validate(empty))
        assert "body is empty" in await check_refused(ask(op), 400)
    assert reviews.Submit.model_fields["comment"].annotation == Markdown | None
