"""Edits of the content of a change request."""

from __future__ import annotations

import base64

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DeletePage, InsertFiles, NewFile, RevertPage
from octavo.api.operation import ChangeRequestRef
from octavo.documents.source_reader import parse
from tests.server.asking import Ask, Refusal
from tests.server.writing import Desk, insert, update


async def test_batch_of_changes_is_one_revision(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A", "# B")
    at = await desk.propose()
    before = await desk.get(at)
    answer = await desk.edit(
        at, insert("# C", ref="c"), update(await desk.id("A"), title="Z"), DeletePage(page=await desk.id("B"))
    )
    after = await desk.get(at)
    revision = await ask(content.Get(at=at))
    assert (revision.id, revision.type, revision.parents) == (after.revision, "edits", (before.revision,))
    assert await desk.outline(at) == "Z C"
    assert [each["object"] for each in answer["changes"]] == ["created_page", "updated_page", "deleted_page"]
    assert answer["changes"][0]["ref"] == "c"
    assert answer["changeRequest"]["revision"] == after.revision


async def test_compatible_response_is_the_change_request(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A")
    at = await desk.propose()
    answer = await ask(content.Edit(at=at, changes=(insert("# B"),)), "jun")
    assert answer["object"] == "change-request"


@pytest.mark.parametrize(
    ("wrong", "status", "sentence"),
    [
        (update("nobody", title="X"), 404, "there is no page .*nobody"),
        (DeletePage(page="nobody"), 404, "there is no page .*nobody"),
        (insert("# X", into="nobody"), 404, "there is no page .*nobody"),
        (RevertPage(page="A", revision="nobody"), 404, "there is no revision .*nobody"),
        (insert("# X", ref="taken"), 400, "used twice"),
        (update("A", into="B"), 400, "below itself"),
        (update("A", into="A"), 400, "below itself"),
        (update("A", slug=None), 400, "slug cannot be null"),
        (content.UpdatePage(page="A", document=content.DocumentBody(document={"object": "document"})), 400, "markdown"),
        (InsertFiles(files=(NewFile(name="a", url="https://a.example/x"),)), 400, "does not fetch files"),
        (InsertFiles(files=(NewFile(name="a", content_type="text/plain"),)), 400, "base64 is required"),
        (InsertFiles(files=(NewFile(name="a", base64="aaaa"),)), 400, "contentType is required"),
        (InsertFiles(files=(NewFile(name="a", content_type="a/b", base64="*"),)), 400, "not valid base64"),
        (
            InsertFiles(files=(NewFile(name="a", content_type="a/b", base64="AAAA" * 333_334),)),
            400,
            "larger than the limit of 1 MB",
        ),
        (RevertPage(page="A", block=("nonsense",)), 400, "no block .*nonsense"),
    ],
)
async def test_invalid_change_refuses_the_batch_and_is_named(
    ask: Ask, wrong: content.ContentEdit, status: int, sentence: str
) -> None:
    desk = await Desk.open(ask, "# A")
    names = {"A": await desk.id("A")}
    await desk.publish(insert("# B", into=names["A"]))
    names["B"] = await desk.id("B")
    changes = {name: names.get(getattr(wrong, name, "") or "", getattr(wrong, name, None)) for name in ("page", "into")}
    wrong = wrong.model_copy(update={name: value for name, value in changes.items() if name in wrong.model_fields_set})
    at = await desk.propose()
    before = await desk.get(at)
    with pytest.raises(Refusal, match=sentence) as refused:
        await desk.edit(at, insert("# Right", ref="taken"), wrong)
    assert refused.value.status == status
    assert "changes[1]" in refused.value.message
    assert await desk.get(at) == before


async def test_unreadable_front_matter_stays_in_the_text(ask: Ask) -> None:
    desk = await Desk.open(ask, "# One\n")
    text = "---\ndescription: " + "[" * 1500 + "]" * 1500 + "\n---\n# Two\n\nWords.\n"
    merged = await desk.publish(insert(text))
    assert merged.result == "merge"
    assert (await desk.page("Two")).markdown == text


async def test_page_title_comes_from_the_heading_or_the_front_matter(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Home")
    at = await desk.propose(
        insert("# From the *heading*\n\nwords", title="Given"),
        insert("---\ntitle: From the matter\ndescription: Short\nicon: bolt\n---\n\n# Heading\n", title="Given"),
        insert("words", title="Given"),
        insert("words"),
    )
    assert await desk.outline(at) == "Home From the heading From the matter Given Untitled page"
    page = await desk.page("From the matter", at)
    assert (page.description, page.icon, page.markdown) == ("Short", "bolt", "# Heading\n")


async def test_new_pages_and_files_are_linked_by_temporary_names(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Home")
    picture = NewFile(name="p.png", content_type="image/png", base64=base64.b64encode(b"x").decode(), ref="pic")
    at = await desk.propose()
    answer = await desk.edit(
        at,
        insert('# One\n\nTo [two](./two.md#end), <a href="./two.md">two</a>, [twofold](./twofold.md).', ref="one"),
        insert("# Two\n\n![p](./pic) and [one](./one.md)\n\n[r]: ./one.md", ref="two"),
        InsertFiles(files=(picture,)),
    )
    one, two = (each["page"]["id"] for each in answer["changes"])
    file = answer["insertedFiles"][0]["id"]
    assert (await desk.page("One", at)).markdown == (
        f'# One\n\nTo [two](/pages/{two}#end), <a href="/pages/{two}">two</a>, [twofold](./twofold.md).'
    )
    assert (await desk.page("Two", at)).markdown == (
        f"# Two\n\n![p](/files/{file}) and [one](/pages/{one})\n\n[r]: /pages/{one}"
    )


async def test_renamed_page_has_the_new_title_in_its_heading(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Old\n\nwords", "# Kept")
    at = await desk.propose(update(await desk.id("Old"), title="New"))
    assert (await desk.page("New", at)).markdown == "# New\n\nwords"


async def test_new_heading_changes_the_title_of_the_page(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Old\n\nwords")
    old = await desk.page("Old")
    at = await desk.propose(update(old.id, "# New\n\nwords"))
    new = await desk.page("New", at)
    assert (new.id, new.slug) == (old.id, "old")


async def test_page_fields_are_set_and_removed(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Home", "# A")
    a = await desk.id("A")
    at = await desk.propose(update(a, emoji="1f680", description="Words", hidden=True, slug="New Slug/x"))
    page = await desk.page("A", at)
    assert (page.emoji, page.description, page.hidden, page.slug, page.path) == (
        "1f680",
        "Words",
        True,
        "new-slug-x",
        "new-slug-x",
    )
    await desk.edit(at, update(a, emoji=None, description=None))
    page = await desk.page("A", at)
    assert (page.emoji, page.description, page.hidden) == (None, None, True)


async def test_pages_are_moved_into_and_between_other_pages(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A", "# B", "# C", "# D")
    a, _, c, d = [page.id for page in (await desk.tree()).pages]
    at = await desk.propose(update(c, into=a), update(d, into=a, at=0))
    assert await desk.outline(at) == "A(D C) B"
    await desk.edit(at, update(c, at=0))
    assert await desk.outline(at) == "A(C D) B"
    await desk.edit(at, update(c, into=None, at=1))
    assert await desk.outline(at) == "A(D) C B"


async def test_depth_of_the_page_tree_is_limited(ask: Ask) -> None:
    desk = await Desk.open(ask, "# Home")
    at = await desk.propose()
    into = (await desk.tree()).pages[0].id
    for _ in range(29):
        into = (await desk.edit(at, insert("# Deeper", into=into)))["changes"][0]["page"]["id"]
    with pytest.raises(Refusal, match="30 levels deep"):
        await desk.edit(at, insert("# Too deep", into=into))


async def test_page_is_reverted_to_main(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A\n\nwas", "# B", "# C")
    a, b, c = [page.id for page in (await desk.tree()).pages]
    at = await desk.propose(
        update(a, "# A\n\nis", emoji="1f680", into=b), DeletePage(page=c), insert("# New", ref="new")
    )
    assert await desk.outline(at) == "B(A) New"
    new = (await desk.page("New", at)).id
    await desk.edit(at, RevertPage(page=a), RevertPage(page=c), RevertPage(page=new))
    assert await desk.outline(at) == "A B C"
    page = await desk.page("A", at)
    assert (page.markdown, page.emoji) == ("# A\n\nwas", None)
    assert (await ask(content.ListChanges(at=at))).changes == ()


async def test_deleted_page_is_restored_with_its_subpages(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A", "# B")
    await desk.publish(insert("# Below", into=await desk.id("A")))
    a = await desk.id("A")
    at = await desk.propose(DeletePage(page=a))
    assert await desk.outline(at) == "B"
    await desk.edit(at, RevertPage(page=a))
    assert await desk.outline(at) == "A(Below) B"


async def test_page_deleted_and_restored_in_one_edit_has_its_earlier_text(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A\n\nwas", "# B")
    a = await desk.id("A")
    at = await desk.propose(update(a, "# A\n\nis"), DeletePage(page=a), RevertPage(page=a))
    assert (await desk.page("A", at)).markdown == "# A\n\nwas"


async def test_single_blocks_are_reverted(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A\n\nfirst\n\nsecond\n\nthird\n")
    a = await desk.id("A")
    text = "# A\n\nFIRST\n\nsecond\n\nadded\n"
    at = await desk.propose(update(a, text))

    def key(markdown: str, words: str) -> str:
        return next(block.key for block in parse(markdown).walk() if block.plain() == words)

    await desk.edit(at, RevertPage(page=a, block=(key(text, "FIRST"),)))
    assert (await desk.page("A", at)).markdown == "# A\n\nfirst\n\nsecond\n\nadded\n"
    await desk.edit(at, RevertPage(page=a, block=(key("third\n", "third"),)))
    assert (await desk.page("A", at)).markdown == "# A\n\nfirst\n\nsecond\n\nthird\n"


async def test_user_without_edit_permission_is_told_the_required_role(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A")
    at = await desk.propose()
    with pytest.raises(Refusal, match="need the Editor role") as refused:
        await desk.edit(at, insert("# B"), user="zoe")
    assert refused.value.status == 403


async def test_closed_change_request_cannot_be_edited(ask: Ask) -> None:
    desk = await Desk.open(ask, "# A")
    merged, archived = await desk.propose(insert("# B")), await desk.propose(insert("# C"))
    await desk.merge(merged)
    await ask(change_requests.Update(at=archived, status="archived"))
    for at, word in ((merged, "already merged"), (archived, "is archived")):
        with pytest.raises(Refusal, match=word) as refused:
            await desk.edit(at, insert("# D"))
        assert refused.value.status == 409


@pytest.mark.parametrize("count", [0, 51])
async def test_edit_needs_1_to_50_changes(ask: Ask, count: int) -> None:
    desk = await Desk.open(ask, "# A")
    at: ChangeRequestRef = await desk.propose()
    change = {"operation": "insert_page", "document": {"markdown": "x"}}
    url = f"/v1/spaces/{at.space_id}/change-requests/{at.change_request_id}/content"
    response = await ask.http("POST", url, "jun", json={"changes": [change] * count})
    assert response.status_code == 400
    assert "changes" in response.json()["error"]["message"]
