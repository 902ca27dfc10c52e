"""Content of a space, of a change request and of a revision is read."""

from __future__ import annotations

import base64

import pytest

from octavo.api import content
from octavo.api.content import File, InsertFiles, NewFile
from octavo.api.operation import RevisionRef
from tests.server.small_platform import Ask, Refusal
from tests.server.space_editor import SpaceEditor, insert, update

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)


async def test_new_space_has_one_empty_page(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask)
    revision = await ask(content.Get(at=editor.space))
    assert [page.title for page in revision.pages] == ["Untitled page"]
    assert revision.pages[0].path == ""
    assert (await editor.page("Untitled page")).markdown == ""


async def test_list_of_pages_has_the_tree_without_texts(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\nWelcome.", "# Guide\n\nRead.")
    await editor.publish(insert("# Linux", into=await editor.id("Guide"), emoji="1f427"))
    tree = await editor.tree()
    assert await editor.outline() == "Home Guide(Linux)"
    assert [page.path for page in tree.walk()] == ["", "guide", "guide/linux"]
    assert all(page.markdown is None and page.document is None for page in tree.walk())
    linux = tree.pages[1].pages[0]
    assert (linux.emoji, linux.kind) == ("1f427", "sheet")
    assert linux.urls.app == f"http://octavo.test/o/acme/s/{editor.space.space_id}/guide/linux"


async def test_page_is_returned_as_markdown_or_document(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\nA **bold** word.\n\n1. one\n2. two\n\n```py\nx = 1\n```\n")
    page = await editor.page("Home")
    assert page.markdown == "# Home\n\nA **bold** word.\n\n1. one\n2. two\n\n```py\nx = 1\n```\n"
    other = await ask(content.GetPage(at=editor.space, page_id=page.id, format="document"))
    assert other.markdown is None
    assert other.document is not None
    assert [block["type"] for block in other.document["nodes"]] == ["heading-1", "paragraph", "list-ordered", "code"]


async def test_page_is_found_by_path(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home", "# 日本語")
    await editor.publish(insert("# Ganz unten\n\nHier.", into=await editor.id("日本語")))
    for path in ("日本語/ganz-unten", "/日本語/ganz-unten/"):
        found = await ask(content.GetPageByPath(at=editor.space, page_path=path, format="markdown"))
        assert found.markdown == "# Ganz unten\n\nHier."
    with pytest.raises(Refusal, match="There is no page at") as refused:
        await ask(content.GetPageByPath(at=editor.space, page_path="über-uns/nirgends"))
    assert refused.value.status == 404


async def test_path_of_a_page_may_have_unescaped_slashes(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home", "# Guide")
    await editor.publish(insert("# Setup", into=await editor.id("Guide")))
    for path in ("guide/setup", "guide%2Fsetup"):
        response = await ask.http("GET", f"/v1/spaces/{editor.space.space_id}/content/path/{path}")
        assert response.json()["title"] == "Setup"


async def test_space_change_request_and_revision_have_their_own_content(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home\n\nold")
    before = await ask(content.Get(at=editor.space))
    at = await editor.propose(update(await editor.id("Home"), "# Home\n\nnew"))
    then = RevisionRef(space_id=editor.space.space_id, revision_id=before.id)
    assert (await editor.page("Home", at)).markdown == "# Home\n\nnew"
    assert (await editor.page("Home")).markdown == "# Home\n\nold"
    await editor.merge(at)
    assert (await editor.page("Home")).markdown == "# Home\n\nnew"
    assert (await editor.page("Home", then)).markdown == "# Home\n\nold"


async def test_content_of_a_change_request_is_found_by_number(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"))
    number = (await editor.get(at)).number
    by_number = at.model_copy(update={"change_request_id": str(number)})
    assert await editor.outline(by_number) == "Home More"


async def test_revisions_are_linked_to_their_parents(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(insert("# More"), subject="More pages")
    merged = await editor.merge(at)
    revision = await ask(content.Get(at=editor.space))
    assert (revision.id, revision.type) == (merged.revision, "merge")
    assert revision.merged_from is not None
    assert revision.merged_from["subject"] == "More pages"
    main, proposed = revision.parents
    assert proposed == (await editor.get(at)).revision
    titles = []
    place: str | None = main
    while place:
        here = await ask(content.Get(at=RevisionRef(space_id=editor.space.space_id, revision_id=place)))
        titles.append([page.title for page in here.pages])
        place = here.parents[0] if here.parents else None
    assert titles == [["Home"], ["Untitled page"]]


async def test_changes_of_a_revision_are_relative_to_its_parent(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B")
    merged = await editor.publish(insert("# C"), content.DeletePage(page=await editor.id("A")))
    assert merged.revision is not None
    at = RevisionRef(space_id=editor.space.space_id, revision_id=merged.revision)
    changes = await ask(content.ListChanges(at=at))
    assert [(each.type, each.page and each.page.title) for each in changes.changes] == [
        ("page_created", "C"),
        ("page_deleted", "A"),
    ]
    assert changes.merged_from is not None
    assert changes.merged_from["revisionMerged"] == merged.revision


async def test_changes_of_a_change_request_are_relative_to_its_base(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A\n\nold", "# B", "# C")
    a, b, c = [page.id for page in (await editor.tree()).pages]
    at = await editor.propose(update(a, "# A\n\nnew", emoji="1f680"), update(c, into=b), update(b, title="Better"))
    await editor.publish(insert("# Meanwhile"))
    changes = (await ask(content.ListChanges(at=at))).changes
    assert [(each.type, each.page and each.page.id) for each in changes] == [
        ("page_edited", a),
        ("page_edited", b),
        ("page_moved", c),
    ]
    edited, renamed, moved = changes
    assert set(edited.attributes or ()) == {"emoji", "document"}
    assert (renamed.attributes or {})["title"] == {"before": "B", "after": "Better"}
    assert moved.parent is not None
    assert (moved.parent.before, moved.parent.after and moved.parent.after.id) == (None, b)


async def test_reordered_page_is_listed_as_moved(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# A", "# B", "# C")
    at = await editor.propose(update(await editor.id("C"), at=0))
    changes = (await ask(content.ListChanges(at=at))).changes
    assert [(each.type, each.page and each.page.title) for each in changes] == [("page_moved", "C")]


async def test_list_of_changes_is_limited_and_counts_the_rest(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    at = await editor.propose(*(insert(f"# Page {number}") for number in range(14)))
    ten = await ask(content.ListChanges(at=at))
    assert (len(ten.changes), ten.more) == (10, 4)
    every = await ask(content.ListChanges(at=at, limit=100))
    assert (len(every.changes), every.more) == (14, 0)


async def test_files_are_listed_in_pages_and_can_be_downloaded(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    names = ["b ü.png", "a.png", "c.png"]
    files = tuple(NewFile(name=name, content_type="image/png", base64=base64.b64encode(PNG).decode()) for name in names)
    await editor.publish(InsertFiles(files=files))
    listed: list[File] = []
    page: str | None = None
    while True:
        part = await ask(content.ListFiles(at=editor.space, limit=2, page=page))
        listed += part.items
        if part.next is None:
            break
        page = part.next.page
    assert [file.name for file in listed] == sorted(names)
    one = await ask(content.GetFile(at=editor.space, file_id=listed[1].id))
    assert one.dimensions is not None
    assert (one.size, one.dimensions.width, one.dimensions.height) == (len(PNG), 3, 2)
    assert one.download_url is not None
    download = await ask.http("GET", one.download_url.removeprefix("http://octavo.test"))
    assert download.content == PNG


async def test_error_names_the_missing_content(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    missing = [
        content.GetPage(at=editor.space, page_id="nobody"),
        content.GetFile(at=editor.space, file_id="nobody"),
        content.GetReusableContent(at=editor.space, reusable_content_id="nobody"),
        content.Get(at=RevisionRef(space_id=editor.space.space_id, revision_id="nobody")),
    ]
    for op in missing:
        with pytest.raises(Refusal, match="nobody") as refused:
            await ask(op)  # type: ignore[arg-type]  # operations with different results
        assert refused.value.status == 404


async def test_metadata_can_be_omitted(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home")
    store = ask.platform.context.store
    path = f"/spaces/{editor.space.space_id}/revisions/{(await ask(content.Get(at=editor.space))).id}"
    revision = store.get(path)
    revision["pages"][0]["git"] = {"oid": "abc", "path": "README.md"}
    revision["reusableContents"] = [{"id": "note", "title": "Note", "git": {"oid": "def", "path": "note.md"}}]
    store.put(path, revision)
    with_git, without = [await ask(content.ListPages(at=editor.space, metadata=flag)) for flag in (True, False)]
    assert with_git.pages[0].git is not None
    assert with_git.pages[0].git.path == "README.md"
    assert without.pages[0].git is None
    for metadata in (True, False):
        whole = await ask(content.Get(at=editor.space, metadata=metadata))
        note = await ask(content.GetReusableContent(at=editor.space, reusable_content_id="note", metadata=metadata))
        assert whole.reusable_contents == (note,)
        assert (note.git is not None) == metadata
