"""Conflicts are found in a change request after an update, and the chosen versions are saved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, content
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit
from octavo.documents.merging.merged_page import ChoiceKind, MergeChoice
from octavo.tui.review.conflict_finder import MergeRevisions, OpenConflicts, find_conflicts, find_revisions
from octavo.tui.review.tree_conflicts import find_tree_conflicts
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update
from tests.tui.review.test_merge_checks import DISAGREEMENTS, PAGES, Work, connected, platform

__all__ = ["platform"]

WITHOUT_CHOICE = {
    "each below the other",
    "deleted here, a new page below it there",
    "a new page here below one deleted there",
}
"""Cases that Octavo only reports, because no version can be chosen."""


@pytest.fixture
async def live(platform: Platform, tmp_path: Path) -> AsyncIterator[Live]:
    async with connected(platform, tmp_path) as live:
        yield live


async def find_in(live: Live, at: ChangeRequestRef, kept: Any = None) -> OpenConflicts:
    change_request = await live.fetch(change_requests.Get(at=at))
    merge = await find_revisions(live, at, change_request, kept)
    changed = await live.fetch(content.ListChanges(at=at, limit=1000))
    return await find_conflicts(live, at, change_request.revision, changed, merge)


async def test_unlisted_and_unreadable_changes_count_as_not_checked(live: Live, platform: Platform) -> None:
    editor = await SpaceEditor.open(Ask(platform), "# Alpha\n\nOne.\n")
    at = await editor.propose(insert("# Beta\n\nTwo.\n"))
    changes = await live.fetch(content.ListChanges(at=at, limit=1000))
    partly_read = changes.model_copy(update={"more": 3, "unreadable": 2})
    found = await find_conflicts(live, at, (await editor.get(at)).revision, partly_read, None)
    assert found.unchecked_count == 5


async def content_of(editor: SpaceEditor, at: ContentRef) -> dict[str, tuple[Any, ...]]:
    """Return the place, title and text of each page."""
    tree = await editor.tree(at)
    pages = [
        await editor.ask(content.GetPage(at=at, page_id=page.id, format="markdown"))
        for page in tree.walk()
        if page.type == "document"
    ]
    above = {page.id: (tree.path_to(page.id)[:-1] or (None,))[-1] for page in pages}
    places = {page.id: above[page.id].id if above[page.id] else None for page in pages}  # type: ignore[union-attr]  # The condition checks for None.
    return {
        page.id: (places[page.id], page.title, page.emoji, page.description, (page.markdown or "").strip())
        for page in pages
    }


@pytest.mark.parametrize(("here", "there", "name"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
@pytest.mark.parametrize("side", ["main", "request"])
async def test_chosen_side_is_saved_in_the_change_request(
    request: pytest.FixtureRequest, platform: Platform, live: Live, here: Work, there: Work, name: str, side: ChoiceKind
) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    ids = {page.title: page.id for page in (await editor.tree()).walk()}
    at = await editor.propose(*there(ids))
    await editor.publish(*here(ids))
    wanted = await content_of(editor, editor.space if side == "main" else at)
    assert (await editor.ask(change_requests.UpdateFromMain(at=at), "jun")).result == "conflicts"

    found = await find_in(live, at)
    titles = {page.title for page in found.pages} | {shape.title for shape in found.tree_conflicts}
    assert name in titles or "Beta" in titles or "Here" in titles
    if any(case in request.node.name for case in WITHOUT_CHOICE):
        assert not found.names
        return
    choices = {each: MergeChoice(side) for each in found.names}
    assert choices
    changes = found.edits(choices, "#2")
    if changes:
        outcome = await edit(live, at, found.revision, changes)
        assert outcome.kind == "done", outcome.message
    now = await content_of(editor, at)
    contested = {page.page_id for page in found.pages} | {shape.id for shape in found.tree_conflicts}
    assert {page: now.get(page) for page in contested} == {page: wanted.get(page) for page in contested}
    assert not (await find_in(live, at)).pages


CONFLICT = ("# Alpha\n\nOne.\n\n2 here.\n\nThree.\n", "# Alpha\n\nOne.\n\n2 there.\n\nThree.\n\nFour there.\n")
"""Edits of the first page by both sides."""


async def open_conflict(platform: Platform) -> tuple[SpaceEditor, ChangeRequestRef, str]:
    """Return a change request whose first page conflicts with main, and the id of the page."""
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    alpha = await editor.id("Alpha")
    at = await editor.propose(update(alpha, CONFLICT[1]))
    await editor.publish(update(alpha, CONFLICT[0]))
    return editor, at, alpha


async def test_merged_revisions_are_found_from_their_parents(platform: Platform, live: Live) -> None:
    editor, at, alpha = await open_conflict(platform)
    base = (await editor.get(at)).base
    for number in (1, 2):
        before, main = await editor.get(at), (await editor.ask(content.Get(at=editor.space))).id
        await editor.ask(change_requests.UpdateFromMain(at=at), "jun")
        await editor.edit(at, update(await editor.id("Beta"), f"# Beta\n\nEdited since, {number}.\n"))
        now = await live.fetch(change_requests.Get(at=at))
        merge = MergeRevisions(base, main, before.revision or "")
        assert await find_revisions(live, at, now, None) == merge
        remembered = {"base": base, "main": "another", "mine": before.revision}
        assert await find_revisions(live, at, now, remembered) == merge
        base = main
        await editor.publish(update(alpha, CONFLICT[0] + f"\nAnd {number}.\n"))


async def test_edit_after_the_update_is_kept(platform: Platform, live: Live) -> None:
    editor, at, alpha = await open_conflict(platform)
    await editor.ask(change_requests.UpdateFromMain(at=at), "jun")
    marked = (await editor.page("Alpha", at)).markdown or ""
    await editor.edit(at, update(alpha, marked.replace("Three.", "3, since.")))
    found = await find_in(live, at)
    (name, conflict), *others = found.pages[0].conflicts
    assert not others
    assert (conflict.base or "").strip() == "Two."
    await edit(live, at, found.revision, found.edits({name: MergeChoice("both")}, "#2"))
    assert (
        await editor.page("Alpha", at)
    ).markdown == "# Alpha\n\nOne.\n\n2 here.\n\n2 there.\n\n3, since.\n\nFour there.\n"


async def test_page_with_all_conflicts_resolved_is_sent(platform: Platform, live: Live) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    alpha, beta = await editor.id("Alpha"), await editor.id("Beta")
    texts = [(PAGES[0].replace("One", who).replace("Three", who), f"# Beta\n\n{who}.\n") for who in ("Here", "There")]
    at = await editor.propose(update(alpha, texts[1][0]), update(beta, texts[1][1]))
    await editor.publish(update(alpha, texts[0][0]), update(beta, texts[0][1]))
    await editor.ask(change_requests.UpdateFromMain(at=at), "jun")
    found = await find_in(live, at)
    assert [len(page.conflicts) for page in found.pages] == [2, 1]
    first, second, third = found.names
    assert not found.edits({first: MergeChoice("main")}, "#2")
    edits = found.edits({second: MergeChoice("main"), third: MergeChoice("request")}, "#2")
    assert [getattr(each, "page", None) for each in edits] == [beta]
    assert found.count_unresolved({first: MergeChoice("main"), third: MergeChoice("request")}) == 1


async def test_conflicts_of_a_merge_are_found_in_main(platform: Platform, live: Live) -> None:
    editor, at, alpha = await open_conflict(platform)
    assert (await editor.merge(at)).result == "conflicts"
    merged = await live.fetch(change_requests.Get(at=at))
    merge = await find_revisions(live, at, merged, None)
    assert merged.revision_merged is not None
    changed = await live.fetch(
        content.ListChanges(at=RevisionRef(space_id=at.space_id, revision_id=merged.revision_merged))
    )
    follow_up = await editor.propose(subject="Resolve the conflicts")
    found = await find_conflicts(live, follow_up, (await editor.get(follow_up)).revision, changed, merge)
    (name, conflict), *_ = found.pages[0].conflicts
    assert (found.pages[0].page_id, (conflict.base or "").strip()) == (alpha, "Two.")
    await edit(live, follow_up, found.revision, found.edits({name: MergeChoice("own", "Two, together.")}, "#2"))
    assert (await editor.merge(follow_up)).result == "merge"
    assert (await editor.page("Alpha")).markdown == "# Alpha\n\nOne.\n\nTwo, together.\n\nThree.\n\nFour there.\n"


@pytest.mark.parametrize(("side", "title"), [("main", "Here"), ("request", "There")])
async def test_title_follows_the_chosen_heading(platform: Platform, live: Live, side: ChoiceKind, title: str) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    beta = await editor.id("Beta")
    at = await editor.propose(update(beta, "# There\n\nWords of beta.\n", title="There"))
    await editor.publish(update(beta, "# Here\n\nWords of beta.\n", title="Here"))
    await editor.ask(change_requests.UpdateFromMain(at=at), "jun")
    found = await find_in(live, at)
    assert not found.tree_conflicts
    (name,) = found.names
    await edit(live, at, found.revision, found.edits({name: MergeChoice(side)}, "#2"))
    page = await editor.page(title, at)
    assert (page.id, page.markdown) == (beta, f"# {title}\n\nWords of beta.\n")


def test_conflicts_without_an_edit_have_no_choices() -> None:
    three = [
        content.Revision(
            id=f"r{number}",
            pages=(),
            variables={"limit": number},
            files=(content.File(id="f1", name="map.png", size=number),),
            reusable_contents=(content.ReusableContent(id="c1", title="Foot", document=f"d{number}"),),
        )
        for number in range(3)
    ]
    found, _ = find_tree_conflicts((three[0], three[1], three[2]), content.PageTree(pages=()))
    summaries = {shape.title: shape.summary for shape in found}
    assert summaries.keys() == {"limit", "map.png", "Foot"}
    assert not any(shape.can_choose for shape in found)
    assert summaries["limit"].startswith("Both sides changed this variable. The value in main was kept.")
    assert all("Press o to open the change request in the browser." in each for each in summaries.values())


async def test_conflicts_without_markers_are_found_by_merging_again(platform: Platform, live: Live) -> None:
    editor, at, alpha = await open_conflict(platform)
    about = await editor.get(at)
    titles = MergeRevisions(about.base, (await editor.ask(content.Get(at=editor.space))).id, about.revision or "")

    async def found(*resolved: str) -> OpenConflicts:
        changed = await live.fetch(content.ListChanges(at=at, limit=1000))
        head = (await editor.get(at)).revision
        return await find_conflicts(live, at, head, changed, None, server_revisions=titles, resolved_pages=resolved)

    unresolved = await found()
    (page,) = unresolved.pages
    assert page.is_unmarked
    assert [(conflict.base or "").strip() for _, conflict in page.conflicts] == ["Two."]
    assert not (await found(alpha)).pages
    (name,) = unresolved.names
    edits = unresolved.edits({name: MergeChoice("both")}, "#2")
    await edit(live, at, unresolved.revision, edits)
    assert (
        await editor.page("Alpha", at)
    ).markdown == "# Alpha\n\nOne.\n\n2 here.\n\n2 there.\n\nThree.\n\nFour there.\n"
    assert not (await found()).pages, "a later edit must not become a conflict again"
