"""A revert of a merge restores the pages as they were before the merge, and keeps later edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DeletePage, InsertFiles, NewFile
from octavo.data.live import Live
from octavo.tui.review.merge_revert import (
    PageEditedLater,
    RevertEdits,
    RevertPlan,
    load_changes,
    load_revisions,
    make_plan,
    plan_rows,
    revert_edits,
)
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update

Ids: TypeAlias = dict[str, str]
Work: TypeAlias = Callable[[Ids], list[ContentEdit]]

PAGES = (
    "# Alpha\n\nOne.\n\nTwo.\n\nThree.\n",
    "# Beta\n\nWords of beta.\n",
    "# Gamma\n\nWords of gamma.\n",
    "# Delta\n\nWords of delta.\n",
)


@pytest.fixture
async def editor(platform: Platform) -> SpaceEditor:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    await editor.publish(insert("# Below\n\nWords below.\n", into=await editor.id("Gamma")))
    return editor


async def ids_of(editor: SpaceEditor) -> Ids:
    return {page.title: page.id for page in (await editor.tree()).walk()}


async def content_of_main(editor: SpaceEditor) -> list[tuple[str, str, str | None, str | None]]:
    """Return the paths, titles and texts of all pages in main."""
    tree = await editor.tree()
    return [
        (
            " / ".join(each.id for each in tree.path_to(page.id)),
            page.title,
            page.emoji,
            (await editor.ask(content.GetPage(at=editor.space, page_id=page.id, format="markdown"))).markdown,
        )
        for page in tree.walk()
    ]


async def merge_changes(editor: SpaceEditor, work: Work) -> ChangeRequest:
    at = await editor.propose(*work(await ids_of(editor)))
    await editor.merge(at)
    return await editor.get(at)


async def test_change_that_is_not_listed_is_named_as_not_reverted(live: Live, editor: SpaceEditor) -> None:
    request = await merge_changes(editor, lambda ids: [insert("# New\n\nText.\n")])
    revisions = await load_revisions(live, editor.space, request, None)
    assert revisions is not None
    changes = await load_changes(live, editor.space, revisions)
    plan = make_plan(revisions, changes.model_copy(update={"more": 1}))
    assert plan.not_reverted == ("1 change not listed by the server",)


async def revert(live: Live, editor: SpaceEditor, of: ChangeRequest) -> tuple[RevertPlan, RevertEdits]:
    """Plan the revert of a merge, and merge the planned edits."""
    draft = await editor.ask(change_requests.Create(at=editor.space, subject="Undo"))
    sides = await load_revisions(live, editor.space, of, draft.revision)
    assert sides is not None
    plan = make_plan(sides, await load_changes(live, editor.space, sides))
    made = await revert_edits(live, editor.space, sides, plan, "#undo")
    if made.edits:
        await editor.edit(draft.ref(editor.space), *made.edits, user="ada")
    await editor.merge(draft.ref(editor.space))
    return plan, made


MERGES: dict[str, tuple[Work, list[str]]] = {
    "an edit": (lambda ids: [update(ids["Beta"], "# Beta\n\nOther words.\n")], ["~ Beta"]),
    "a name and an emoji": (lambda ids: [update(ids["Beta"], title="Bêta", emoji="1f600")], ["~ Beta"]),
    "a new page": (lambda ids: [insert("# New\n\nNew.\n", into=ids["Delta"])], ["− New"]),
    "new pages, one below another": (
        lambda ids: [insert("# New\n\nNew.\n", ref="new"), insert("# Newer\n\nNewer.\n")],
        ["− New", "− Newer"],
    ),
    "a page deleted": (lambda ids: [DeletePage(page=ids["Beta"])], ["+ Beta"]),
    "a page deleted with those below it": (lambda ids: [DeletePage(page=ids["Gamma"])], ["+ Gamma", "+ Below"]),
    "a move": (lambda ids: [update(ids["Beta"], into=ids["Delta"])], ["→ Beta"]),
    "another order": (lambda ids: [update(ids["Alpha"], at=3)], ["→ Alpha"]),
    "a move and an edit": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nOther words.\n", into=ids["Delta"])],
        ["~ Beta"],
    ),
    "a page moved below a new one": (
        lambda ids: [update(ids["Below"], into=None, at=0), DeletePage(page=ids["Gamma"])],
        ["+ Gamma", "→ Below"],
    ),
}


@pytest.mark.parametrize(("work", "lines"), MERGES.values(), ids=MERGES)
async def test_merge_is_reverted_completely(live: Live, editor: SpaceEditor, work: Work, lines: list[str]) -> None:
    before = await content_of_main(editor)
    of = await merge_changes(editor, work)
    assert await content_of_main(editor) != before
    plan, made = await revert(live, editor, of)
    assert sorted(plan.page_lines) == sorted(lines)
    assert (plan.not_reverted, made.titles_with_conflicts) == ((), ())
    assert await content_of_main(editor) == before


async def test_second_revert_has_an_empty_plan(live: Live, editor: SpaceEditor) -> None:
    def work(ids: Ids) -> list[ContentEdit]:
        edited, moved = update(ids["Beta"], "# Beta\n\nOther.\n"), update(ids["Alpha"], into=ids["Delta"])
        return [edited, insert("# New\n\nNew.\n"), DeletePage(page=ids["Gamma"]), moved]

    of = await merge_changes(editor, work)
    await revert(live, editor, of)
    plan, _ = await revert(live, editor, of)
    assert not plan
    assert plan.not_reverted == ()


LATER_EDITS: dict[str, tuple[Work, Work, str, str, tuple[str, ...], tuple[str, ...]]] = {
    "the same page elsewhere": (
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1").replace("Three", "3"))],
        "Alpha",
        PAGES[0].replace("Three", "3"),
        (),
        (),
    ),
    "the same words": (
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "I"))],
        "Alpha",
        "# Alpha\n\n<<<<<<< main\n\nI.\n\n=======\n\nOne.\n\n>>>>>>> #undo\n\nTwo.\n\nThree.\n",
        (),
        ("Alpha",),
    ),
    "moved since": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nOther words.\n")],
        lambda ids: [update(ids["Beta"], into=ids["Delta"])],
        "Beta",
        PAGES[1],
        (),
        (),
    ),
    "moved twice": (
        lambda ids: [update(ids["Beta"], into=ids["Delta"])],
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        "Beta",
        PAGES[1],
        ("Beta: moved after the merge",),
        (),
    ),
    "renamed twice": (
        lambda ids: [update(ids["Beta"], emoji="1f600")],
        lambda ids: [update(ids["Beta"], emoji="1f680")],
        "Beta",
        PAGES[1],
        ("Beta: its emoji was changed after the merge",),
        (),
    ),
    "deleted since": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nOther words.\n")],
        lambda ids: [DeletePage(page=ids["Beta"])],
        "",
        "",
        ("Beta: deleted after the merge",),
        (),
    ),
    "a new page edited": (
        lambda ids: [insert("# New\n\nNew.\n")],
        lambda ids: [update(ids["New"], "# New\n\nBetter.\n")],
        "New",
        "# New\n\nBetter.\n",
        ("New: edited after the merge",),
        (),
    ),
    "a page below a new one": (
        lambda ids: [insert("# New\n\nNew.\n")],
        lambda ids: [insert("# Newest\n\nNewest.\n", into=ids["New"])],
        "Newest",
        "# Newest\n\nNewest.\n",
        ("New: it has subpages",),
        (),
    ),
}


@pytest.mark.parametrize(
    ("work", "later", "page", "text", "not_reverted", "conflicts"), LATER_EDITS.values(), ids=LATER_EDITS
)
async def test_later_edits_are_kept(
    live: Live,
    editor: SpaceEditor,
    work: Work,
    later: Work,
    page: str,
    text: str,
    not_reverted: tuple[str, ...],
    conflicts: tuple[str, ...],
) -> None:
    of = await merge_changes(editor, work)
    await merge_changes(editor, later)
    before = await editor.outline()
    plan, made = await revert(live, editor, of)
    assert (plan.not_reverted, made.titles_with_conflicts) == (not_reverted, conflicts)
    assert await editor.outline() == before
    if page:
        assert (await editor.page(page)).markdown == text


async def test_new_page_is_deleted_after_its_subpage_was_moved_out_of_it(live: Live, editor: SpaceEditor) -> None:
    before = await content_of_main(editor)
    at = await editor.propose(insert("# New\n\nNew.\n"))
    new = next(page.id for page in (await editor.tree(at)).walk() if page.title == "New")
    await editor.edit(at, update((await ids_of(editor))["Gamma"], into=new))
    await editor.merge(at)
    plan, _ = await revert(live, editor, await editor.get(at))
    assert (sorted(plan.page_lines), plan.not_reverted) == (["→ Gamma", "− New"], ())
    assert await content_of_main(editor) == before


async def test_page_is_restored_although_its_parent_was_deleted_after_the_merge(
    live: Live, editor: SpaceEditor
) -> None:
    ids = await ids_of(editor)
    of = await merge_changes(editor, lambda ids: [DeletePage(page=ids["Below"]), update(ids["Alpha"], at=3)])
    await merge_changes(editor, lambda ids: [DeletePage(page=ids["Gamma"])])
    plan, _ = await revert(live, editor, of)
    assert sorted(plan.page_lines) == ["+ Below", "→ Alpha"]
    assert ids["Below"] in (await ids_of(editor)).values()


async def test_files_cannot_be_reverted(live: Live, editor: SpaceEditor) -> None:
    file = InsertFiles(files=(NewFile(name="a.txt", content_type="text/plain", base64="YQ=="),))
    of = await merge_changes(editor, lambda ids: [file, update(ids["Beta"], "# Beta\n\nOther.\n")])
    plan, _ = await revert(live, editor, of)
    assert plan.page_lines == ["~ Beta"]
    assert plan.not_reverted == ("a.txt: files cannot be reverted",)


async def test_merge_without_a_revision_has_no_sides(live: Live, editor: SpaceEditor) -> None:
    of = await merge_changes(editor, lambda ids: [update(ids["Beta"], "# Beta\n\nOther words.\n")])
    assert await load_revisions(live, editor.space, of.model_copy(update={"revision_merged": None}), None) is None


def test_pages_edited_later_are_named_or_counted() -> None:
    pages = tuple(PageEditedLater(title, title) for title in "ABCDE")
    found = next(each for each in plan_rows(RevertPlan(edited_later=pages)) if each.label == "edited later")
    assert str(found.text).startswith("A, B, C, and 2 more · later edits will be kept")
