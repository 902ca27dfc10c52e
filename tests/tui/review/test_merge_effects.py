"""The checks of links, URLs and sites predict the effects of a merge on the embedded platform."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, links, redirects, site_structure, sites, spaces
from octavo.api.content import ContentEdit, DeletePage
from octavo.api.operation import ChangeRequestRef, SiteRef
from octavo.data.live import Live
from octavo.tui.review import merge_effects, request_findings
from octavo.tui.review.merge_checks import Checks, run_checks
from octavo.tui.widgets.short_texts import InfoRow
from tests.server.refusing_platform import Platform
from tests.server.sample_sites import create_site
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update


@pytest.fixture
async def editor(platform: Platform) -> SpaceEditor:
    editor = await SpaceEditor.open(
        Ask(platform), "# Home\n\nSee [beta](beta.md).\n", "# Beta\n\nWords.\n", "# Gamma\n\nWords.\n"
    )
    await editor.publish(insert("# Below\n\nWords.\n", into=await editor.id("Gamma")))
    return editor


async def publish_site(editor: SpaceEditor) -> SiteRef:
    """Publish a site that contains the space."""
    at = await create_site(editor.ask, await editor.ask(spaces.Get(at=editor.space)))
    await editor.ask(sites.Publish(at=at))
    return at


async def checks_of(live: Live, editor: SpaceEditor, *changes: ContentEdit) -> Checks:
    """Return the checks of a new change request with these changes."""
    return await run_all_checks(live, await editor.propose(*changes))


async def run_all_checks(live: Live, at: ChangeRequestRef) -> Checks:
    known = await run_checks(live, at)
    assert [info_row.label for info_row in known.info_rows].count("links") == 1
    return known


def info_row(known: Checks, label: str) -> InfoRow:
    return next(each for each in known.info_rows if each.label == label)


async def test_merge_checks_name_broken_links(live: Live, editor: SpaceEditor) -> None:
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert info_row(known, "links") == InfoRow("care", "links", "1 link would break: Home → beta.md")
    assert known.deleted_titles == ("Beta",)


async def test_merge_checks_name_new_images_without_alternative_text(live: Live, editor: SpaceEditor) -> None:
    home = await editor.page("Home")
    text = f"{home.markdown}\n\n![](https://example.com/a%20map%1B.png)\n\nAn ![icon](i.png) and ![](old.png).\n"
    known = await checks_of(
        live, editor, update(home.id, text), update(await editor.id("Beta"), "# Beta\n\nNo picture.\n")
    )
    expected = "2 new images without alternative text: a map␛.png on Home, old.png on Home"
    assert info_row(known, "images") == InfoRow("care", "images", expected)
    await editor.publish(update(home.id, text))
    known = await checks_of(live, editor, update(home.id, f"{text}\nMore words.\n"))
    assert all(info_row.label != "pictures" for info_row in known.info_rows), (
        "images that were in the page before must not be reported"
    )


async def test_links_are_read_from_pages_if_the_server_lists_none(
    live: Live, editor: SpaceEditor, platform: Platform
) -> None:
    platform.refuse_next(links.ListOfChangeRequest, 404, "There is no such thing.", times=2)
    known = await checks_of(live, editor, update(await editor.id("Gamma"), "# Gamma\n\nSee [it](nowhere.md).\n"))
    assert info_row(known, "links") == InfoRow("care", "links", "1 broken link: Gamma → nowhere.md")
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert info_row(known, "links") == InfoRow(
        "care",
        "links",
        "no broken links on the changed pages, links to 1 deleted page not checked",
    )


async def test_moved_page_moves_its_subpages(live: Live, editor: SpaceEditor) -> None:
    await publish_site(editor)
    known = await checks_of(live, editor, update(await editor.id("Gamma"), slug="delta"))
    expected = "2 pages without a redirect: Gamma /gamma → /delta, Below /gamma/below → /delta/below"
    assert info_row(known, "redirects") == InfoRow("care", "redirects", expected)
    assert known.publication_sentence.startswith("The merged changes will go live immediately on Docs (")


async def test_redirect_from_the_old_path_is_enough(live: Live, editor: SpaceEditor) -> None:
    at = await publish_site(editor)
    site_space = (await editor.ask(site_structure.ListSiteSpaces(at=at))).items[0].id
    to = redirects.ToPage(site_space_id=site_space, page_id=await editor.id("Home"))
    await editor.ask(redirects.Create(at=at, source="/docs/beta", destination=to))
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert info_row(known, "redirects") == InfoRow("ok", "redirects", "1 page moved or deleted, all with a redirect")
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Gamma")))
    assert (
        info_row(known, "redirects").text
        == "2 pages without a redirect: Gamma /gamma (deleted), Below /gamma/below (deleted)"
    )


async def test_unpublished_space_needs_no_redirect(live: Live, editor: SpaceEditor) -> None:
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert (
        info_row(known, "redirects").text
        == "none needed: the space is not on a published site (1 page moved or deleted)"
    )
    assert known.publication_sentence == "Merging will immediately change the main content of Docs."


async def test_failed_checks_are_shown_as_not_checked(live: Live, editor: SpaceEditor, platform: Platform) -> None:
    await publish_site(editor)
    platform.refuse_next(sites.List, 403, "No.")
    platform.refuse_next(links.ListOfChangeRequest, 500, "It burns.", times=4)
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert (
        info_row(known, "redirects").text
        == "1 page moved or deleted, redirects not checked: could not load the sites that use the space"
    )
    assert (
        info_row(known, "links").text
        == "not checked: octavo.local reported an error (500): It burns. Try again in a moment."
    )
    platform.refuse_next(redirects.List, 403, "No.")
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert "1 site not checked" in str(info_row(known, "redirects").text)


async def test_conflict_markers_of_an_update_are_shown(live: Live, editor: SpaceEditor) -> None:
    beta, gamma = await editor.id("Beta"), await editor.id("Gamma")
    markers = "\n\n<<<<<<< main\n\nA.\n\n=======\n\nB.\n\n>>>>>>> feature\n"
    await editor.publish(update(gamma, f"# Gamma{markers}"))
    at = await editor.propose(update(beta, "# Beta\n\nThere.\n"), update(gamma, f"# Gamma{markers}\nOf git.\n"))
    await editor.publish(update(beta, "# Beta\n\nHere.\n"))
    await editor.ask(change_requests.UpdateFromMain(at=at))
    known = await run_all_checks(live, at)
    assert known.pages_with_new_markers == ("Beta",)
    expected = "Beta still has conflict markers · press esc, then R to resolve the conflicts"
    assert info_row(known, "markers") == InfoRow("bad", "markers", expected)
    assert info_row(known, "conflicts").text == "none"


async def test_markers_on_many_pages_are_counted(live: Live, editor: SpaceEditor) -> None:
    markers = "\n\n<<<<<<< main\n\nA.\n\n=======\n\nB.\n\n>>>>>>> feature\n"
    titles = ("Home", "Beta", "Gamma", "Below")
    known = await checks_of(live, editor, *[update(await editor.id(title), f"# {title}{markers}") for title in titles])
    expected = str(info_row(known, "markers").text)
    assert ", and 1 more still have conflict markers" in expected
    assert sum(title in expected for title in titles) == 3


async def test_merge_checks_count_pages_that_are_not_checked_for_markers(
    live: Live, editor: SpaceEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_effects, "MAX_MARKER_PAGES", 1)
    texts = [update(await editor.id(title), f"# {title}\n\nOther.\n") for title in ("Beta", "Gamma")]
    known = await checks_of(live, editor, *texts)
    assert info_row(known, "markers") == InfoRow("care", "markers", "1 page not checked for conflict markers")


async def test_page_that_is_too_long_for_the_findings_is_counted(
    live: Live, editor: SpaceEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_findings, "MAX_TEXT", 10)
    known = await checks_of(live, editor, update(await editor.id("Beta"), "# Beta\n\nOther words.\n"))
    assert info_row(known, "findings") == InfoRow("care", "findings", "none on the added words, 1 page not checked")


async def test_slow_check_is_shown_as_not_checked(
    live: Live, editor: SpaceEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_effects, "CHECK_TIMEOUT", 0.0)
    known = await checks_of(live, editor, DeletePage(page=await editor.id("Beta")))
    assert info_row(known, "links") == InfoRow("care", "links", "not checked: no response in 0 s")


@pytest.mark.parametrize("turns", range(6))
async def test_check_that_ends_while_it_is_canceled_is_canceled(turns: int) -> None:
    may_end, has_started = asyncio.Event(), asyncio.Event()

    async def check() -> tuple[InfoRow, ...]:
        has_started.set()
        await may_end.wait()
        return ()

    task = asyncio.create_task(merge_effects.run_with_timeout("links", check()))
    await has_started.wait()
    may_end.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    assert task.done() or (task.cancel() and await _is_canceled(task))


async def _is_canceled(task: asyncio.Task[Any]) -> bool:
    await asyncio.wait([task])
    return task.cancelled()
