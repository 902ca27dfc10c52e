"""Edits of the content of a change request."""

from __future__ import annotations

import base64

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DeletePage, InsertFiles, NewFile, RevertPage
from octavo.api.operation import ChangeRequestRef
from octavo.documents.source_reader import parse
from tests.server.small_platform import Ask, Refusal
from tests.server.space_editor import SpaceEditor, insert, update


async def test_batch_of_changes_is_one_revision(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B")
    at = await editor.propose()
    before = await editor.get(at)
    answer = await editor.edit(
        at, insert("# C", ref="c"), update(await editor.id("A"), title="Z"), DeletePage(page=await editor.id("B"))
    )
    after = await editor.get(at)
    revision = await ask(content.Get(at=at))
    assert (revision.id, revision.type, revision.parents) == (after.revision, "edits", (before.revision,))
    assert await editor.outline(at) == "Z C"
    assert [each["object"] for each in answer["changes"]] == ["created_page", "updated_page", "deleted_page"]
    assert answer["changes"][0]["ref"] == "c"
    assert answer["changeRequest"]["revision"] == after.revision


async def test_compatible_response_is_the_change_request(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A")
    at = await editor.propose()
    answer = await ask(content.Edit(at=at, changes=(insert("# B"),)), "jun")
    assert answer["object"] == "change-request"


async def test_page_is_edited_as_json_document(ask: Ask) -> None:
    text = '# A\n\n{% hint style="info" %}\nMind **the** gap.\n{% endhint %}\n\n| a | b |\n| - | - |\n| 1 | 2 |\n'
    editor = await SpaceEditor.open(ask, text, "# B")
    at = await editor.propose()
    page = await ask(content.GetPage(at=at, page_id=await editor.id("A"), format="document"))
    as_json = content.DocumentBody(document=page.document)
    await editor.edit(
        at, content.InsertPage(document=as_json), content.UpdatePage(page=await editor.id("B"), document=as_json)
    )
    assert await editor.outline(at) == "A A A"
    for copy in (await ask(content.ListPages(at=at))).pages:
        assert (await ask(content.GetPage(at=at, page_id=copy.id, format="document"))).document == page.document


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
        (content.UpdatePage(page="A", document=content.DocumentBody()), 400, "document.document is required"),
        (content.UpdatePage(page="A", document=content.DocumentBody(document={"nodes": []})), 400, "set to document"),
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
    editor = await SpaceEditor.open(ask, "# A")
    names = {"A": await editor.id("A")}
    await editor.publish(insert("# B", into=names["A"]))
    names["B"] = await editor.id("B")
    changes = {name: names.get(getattr(wrong, name, "") or "", getattr(wrong, name, None)) for name in ("page", "into")}
    wrong = wrong.model_copy(update={name: value for name, value in changes.items() if name in wrong.model_fields_set})
    at = await editor.propose()
    before = await editor.get(at)
    with pytest.raises(Refusal, match=sentence) as refused:
        await editor.edit(at, insert("# Right", ref="taken"), wrong)
    assert refused.value.status == status
    assert "changes[1]" in refused.value.message
    assert await editor.get(at) == before


async def test_unreadable_front_matter_stays_in_the_text(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# One\n")
    text = "---\ndescription: " + "[" * 1500 + "]" * 1500 + "\n---\n# Two\n\nWords.\n"
    merged = await editor.publish(insert(text))
    assert merged.result == "merge"
    assert (await editor.page("Two")).markdown == text


async def test_page_title_comes_from_the_heading_or_the_front_matter(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(
        insert("# From the *heading*\n\nwords", title="Given"),
        insert("---\ntitle: From the matter\ndescription: Short\nicon: bolt\n---\n\n# Heading\n", title="Given"),
        insert("words", title="Given"),
        insert("words"),
    )
    assert await editor.outline(at) == "Home From the heading From the matter Given Untitled page"
    page = await editor.page("From the matter", at)
    assert (page.description, page.icon, page.markdown) == ("Short", "bolt", "# Heading\n")


async def test_new_pages_and_files_are_linked_by_temporary_names(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    picture = NewFile(name="p.png", content_type="image/png", base64=base64.b64encode(b"x").decode(), ref="pic")
    at = await editor.propose()
    answer = await editor.edit(
        at,
        insert('# One\n\nTo [two](./two.md#end), <a href="./two.md">two</a>, [twofold](./twofold.md).', ref="one"),
        insert("# Two\n\n![p](./pic) and [one](./one.md)\n\n[r]: ./one.md", ref="two"),
        InsertFiles(files=(picture,)),
    )
    one, two = (each["page"]["id"] for each in answer["changes"])
    file = answer["insertedFiles"][0]["id"]
    assert (await editor.page("One", at)).markdown == (
        f'# One\n\nTo [two](/pages/{two}#end), <a href="/pages/{two}">two</a>, [twofold](./twofold.md).'
    )
    assert (await editor.page("Two", at)).markdown == (
        f"# Two\n\n![p](/files/{file}) and [one](/pages/{one})\n\n[r]: /pages/{one}"
    )


async def test_renamed_page_has_the_new_title_in_its_heading(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Old\n\nwords", "# Kept")
    at = await editor.propose(update(await editor.id("Old"), title="New"))
    assert (await editor.page("New", at)).markdown == "# New\n\nwords"


async def test_new_heading_changes_the_title_of_the_page(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Old\n\nwords")
    old = await editor.page("Old")
    at = await editor.propose(update(old.id, "# New\n\nwords"))
    new = await editor.page("New", at)
    assert (new.id, new.slug) == (old.id, "old")


async def test_page_fields_are_set_and_removed(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home", "# A")
    a = await editor.id("A")
    at = await editor.propose(update(a, emoji="1f680", description="Words", hidden=True, slug="New Slug/x"))
    page = await editor.page("A", at)
    assert (page.emoji, page.description, page.hidden, page.slug, page.path) == (
        "1f680",
        "Words",
        True,
        "new-slug-x",
        "new-slug-x",
    )
    await editor.edit(at, update(a, emoji=None, description=None))
    page = await editor.page("A", at)
    assert (page.emoji, page.description, page.hidden) == (None, None, True)


async def test_pages_are_moved_into_and_between_other_pages(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B", "# C", "# D")
    a, _, c, d = [page.id for page in (await editor.tree()).pages]
    at = await editor.propose(update(c, into=a), update(d, into=a, at=0))
    assert await editor.outline(at) == "A(D C) B"
    await editor.edit(at, update(c, at=0))
    assert await editor.outline(at) == "A(C D) B"
    await editor.edit(at, update(c, into=None, at=1))
    assert await editor.outline(at) == "A(D) C B"


async def test_depth_of_the_page_tree_is_limited(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose()
    into = (await editor.tree()).pages[0].id
    for _ in range(29):
        into = (await editor.edit(at, insert("# Deeper", into=into)))["changes"][0]["page"]["id"]
    with pytest.raises(Refusal, match="30 levels deep"):
        await editor.edit(at, insert("# Too deep", into=into))


async def test_page_is_reverted_to_main(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A\n\nwas", "# B", "# C")
    a, b, c = [page.id for page in (await editor.tree()).pages]
    at = await editor.propose(
        update(a, "# A\n\nis", emoji="1f680", into=b), DeletePage(page=c), insert("# New", ref="new")
    )
    assert await editor.outline(at) == "B(A) New"
    new = (await editor.page("New", at)).id
    await editor.edit(at, RevertPage(page=a), RevertPage(page=c), RevertPage(page=new))
    assert await editor.outline(at) == "A B C"
    page = await editor.page("A", at)
    assert (page.markdown, page.emoji) == ("# A\n\nwas", None)
    assert (await ask(content.ListChanges(at=at))).changes == ()


async def test_deleted_page_is_restored_with_its_subpages(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B")
    await editor.publish(insert("# Below", into=await editor.id("A")))
    a = await editor.id("A")
    at = await editor.propose(DeletePage(page=a))
    assert await editor.outline(at) == "B"
    await editor.edit(at, RevertPage(page=a))
    assert await editor.outline(at) == "A(Below) B"


async def test_page_deleted_and_restored_in_one_edit_has_its_earlier_text(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A\n\nwas", "# B")
    a = await editor.id("A")
    at = await editor.propose(update(a, "# A\n\nis"), DeletePage(page=a), RevertPage(page=a))
    assert (await editor.page("A", at)).markdown == "# A\n\nwas"


async def test_single_blocks_are_reverted(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A\n\nfirst\n\nsecond\n\nthird\n")
    a = await editor.id("A")
    text = "# A\n\nFIRST\n\nsecond\n\nadded\n"
    at = await editor.propose(update(a, text))

    def key(markdown: str, words: str) -> str:
        return next(block.key for block in parse(markdown).walk() if block.plain() == words)

    await editor.edit(at, RevertPage(page=a, block=(key(text, "FIRST"),)))
    assert (await editor.page("A", at)).markdown == "# A\n\nfirst\n\nsecond\n\nadded\n"
    await editor.edit(at, RevertPage(page=a, block=(key("third\n", "third"),)))
    assert (await editor.page("A", at)).markdown == "# A\n\nfirst\n\nsecond\n\nthird\n"


async def test_user_without_edit_permission_is_told_the_required_role(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A")
    at = await editor.propose()
    with pytest.raises(Refusal, match="need the Editor role") as refused:
        await editor.edit(at, insert("# B"), user="zoe")
    assert refused.value.status == 403


async def test_closed_change_request_cannot_be_edited(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A")
    merged, archived = await editor.propose(insert("# B")), await editor.propose(insert("# C"))
    await editor.merge(merged)
    await ask(change_requests.Update(at=archived, status="archived"))
    for at, word in ((merged, "already merged"), (archived, "is archived")):
        with pytest.raises(Refusal, match=word) as refused:
            await editor.edit(at, insert("# D"))
        assert refused.value.status == 409


@pytest.mark.parametrize("count", [0, 51])
async def test_edit_needs_1_to_50_changes(ask: Ask, count: int) -> None:
    editor = await SpaceEditor.open(ask, "# A")
    at: ChangeRequestRef = await editor.propose()
    change = {"operation": "insert_page", "document": {"markdown": "x"}}
    url = f"/v1/spaces/{at.space_id}/change-requests/{at.change_request_id}/content"
    response = await ask.http("POST", url, "jun", json={"changes": [change] * count})
    assert response.status_code == 400
    assert "changes" in response.json()["error"]["message"]
