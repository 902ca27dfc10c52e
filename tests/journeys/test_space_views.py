from __future__ import annotations

import os
from functools import partial
from typing import Any

import pytest

from octavo.api import spaces
from octavo.api.content import DeletePage, GetPage, GetRawPage, UpdatePage
from octavo.tui.widgets.row_list import RowList
from tests.journeys.faulty_server import altered
from tests.journeys.request_scenario import HARBOUR, RequestScenario, edit_page
from tests.journeys.stage import Run, Stage


@pytest.mark.long
async def test_files_and_broken_links_open_the_pages_that_use_them(stage: Stage) -> None:
    folder = stage.folder / "kept"
    folder.mkdir()
    (folder / "surge.svg").write_text("mine")
    async with stage.play() as run:
        await run.press("F")
        await run.see("surge.svg", "SVG image", "Harbour API › Files", "4 of 4", "USED 4 TIMES ON 3 PAGES")
        await run.press("w")
        await run.see("Save surge.svg?", "1.3 kB")
        await run.press("ctrl+u")
        await run.type(f"{folder}/none/here.svg")
        await run.press("enter")
        await run.see("does not exist")
        await run.press("ctrl+u")
        await run.type(str(folder))
        await run.press("enter")
        await run.see("Replace the file?", "surge.svg already exists in", "The existing file will be replaced.")
        await run.press("n")
        await run.see("Save surge.svg?")
        await run.press("escape")
        assert (folder / "surge.svg").read_text() == "mine"
        await run.press("w", "ctrl+u")
        await run.type(f"{folder}/other.svg")
        await run.press("enter")
        await run.hear("Saved surge.svg to", "1.3 kB")
        assert (folder / "other.svg").read_bytes().startswith(b"<svg")
        await run.press("enter", "G", "enter")
        await run.see("Harbour API › Help › Release notes")
        await run.press("L")
        await run.see("Broken 1", "Plan a berth", "✗ tide-clock.md", "there is no page at tide-clock.md")
        await run.press("enter")
        await run.see("Harbour API › How to › Guides › Plan a berth", "▌")
        await run.press("B")
        await run.see("links to Plan a berth", "This link goes to Plan a berth.")


@pytest.mark.long
async def test_old_revision_can_be_read_and_compared_and_pages_exported(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"retr", "enter", "enter")
        await run.see("› Retries")
        await run.press("H")
        await run.see("Retries › Version history", "CURRENT REVISION", "Created on main", "checked revisions")
        await run.press("j")
        await run.see("OLD REVISION", "What happens when your endpoint does not answer.")
        await run.press("enter", "c")
        await run.hear("You cannot comment on an old revision.")
        await run.press("B")
        await run.see("CHANGES SINCE THIS REVISION")
        await run.press("V")
        await run.see("CHANGES IN THIS REVISION")
        await run.press("escape", "escape")
        await run.gone("› Version history")
        await run.press("ctrl+e")
        await run.see("This page as Markdown", "The whole space as PDF")
        for choice, name in ((0, "page.md"), (1, "page.pdf"), (3, "space")):
            if choice:
                await run.press("ctrl+e", *["down"] * choice)
            await run.press("enter", "ctrl+u")
            await run.type(str(stage.folder / name))
            await run.press("enter")
            await run.until(partial(os.path.exists, stage.folder / name), f"write {name}")
        await run.hear("Saved Harbour API to")
    written = stage.folder / "space"
    assert (stage.folder / "page.md").read_text().startswith("# Retries")
    assert (stage.folder / "page.pdf").read_bytes().startswith(b"%PDF")
    assert "* [Welcome](README.md)" in (written / "SUMMARY.md").read_text()
    pages = [path for path in written.rglob("*.md") if path.name != "SUMMARY.md"]
    assert len(pages) == (written / "SUMMARY.md").read_text().count("](") - 1, (
        "one entry of the summary links to another site"
    )
    assert "# Retries" in (written / "how-to/guides/webhooks/retries.md").read_text().splitlines()


@pytest.mark.before_release
async def test_filtered_version_history_does_not_call_an_old_revision_current(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"retr", "enter", "enter")
        await run.see("› Retries")
        await run.press("H")
        await run.see("CURRENT REVISION", "Created on main")
        await run.press("/", *"created", "enter")
        await run.see("OLD REVISION")
        assert "CURRENT REVISION" not in run.text


async def open_version_history(run: Run) -> None:
    """Publish two versions of the page Welcome, and open its version history with three revisions."""
    await run.see("Harbour API › Welcome")
    scenario = RequestScenario(run)
    page = (await scenario.page("Welcome")).id
    await scenario.publish(edit_page(page, "# Welcome\n\nSecond version.\n"))
    await scenario.publish(edit_page(page, "# Welcome\n\nThird version.\n"))
    await run.press("H")
    await run.see("CURRENT REVISION", "Third version.", "Created on main")


async def test_slow_revision_is_not_shown_as_the_previous_revision(stage: Stage) -> None:
    async with stage.play() as run:
        await open_version_history(run)
        run.gate.shut(GetPage)
        await run.press("j")
        await run.see("OLD REVISION")
        await run.gone("Third version.")
        run.gate.open()
        await run.see("OLD REVISION", "Second version.")


async def test_refreshed_version_history_keeps_the_selected_revision(stage: Stage) -> None:
    async with stage.play() as run:
        await open_version_history(run)
        await run.press("j")
        await run.see("OLD REVISION", "Second version.")
        await run.press("r")
        await run.until(lambda: any(line.startswith("▌ ○ #") for line in run.lines), "keep the selected revision")
        assert "CURRENT REVISION" not in run.text


async def test_refreshed_version_history_keeps_older_revisions(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.tui.content.page_history.BATCH", 2)
    async with stage.play() as run:
        scenario = RequestScenario(run)
        page = (await scenario.page("Welcome")).id
        for number in range(3):
            await scenario.publish(edit_page(page, f"# Welcome\n\nVersion {number}.\n"))
        await run.see("Harbour API › Welcome")
        await run.press("H")
        await run.see("in 2 of 2 checked revisions", "Version 2.")
        await run.press("m")
        await run.see("in 3 of 4 checked revisions")
        await run.press("G")
        await run.see("OLD REVISION", "Version 0.")
        await run.press("r")
        await run.see("in 3 of 4 checked revisions", "OLD REVISION", "Version 0.")
        assert len(run.app.screen.query_one(RowList).items) == 3


async def test_deleted_page_is_named_in_its_details_and_blame(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("/", *"retr", "enter", "enter")
        await run.see("› Retries")
        scenario = RequestScenario(run)
        await scenario.publish(DeletePage(page=(await scenario.page("Retries")).id))
        await run.press("r")
        await run.see("This page was not found.")
        await run.press("i")
        await run.see("PAGE", "how-to/guides/webhooks/retries")
        await run.press("escape", "I")
        await run.see("Retries › Blame", "This page was not found. It may have been deleted.")
        assert "This page has no text." not in run.text


@pytest.mark.parametrize("key", ["L", "B", "F", "H"])
async def test_views_of_a_space_show_its_new_title(stage: Stage, key: str) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        scenario = RequestScenario(run)
        page = (await scenario.page("Welcome")).id
        await run.press(key)
        await run.see("Harbour API ›")
        await scenario.publish(UpdatePage(page=page, title="Hello"))
        await run.ask(spaces.Update(at=HARBOUR, title="Ports API"), "noor-haddad")
        await run.press("R")
        await run.see("Ports API ›")
        assert "Welcome" not in run.lines[-2]


@pytest.mark.before_release
async def test_stopped_export_leaves_no_files(stage: Stage) -> None:
    folder = stage.folder / "kept"
    folder.mkdir()
    async with stage.play() as run:
        run.gate.shut(GetRawPage)
        await run.press("ctrl+e", "down", "down", "down", "enter", "ctrl+u")
        await run.type(str(folder / "space"))
        await run.press("enter")
        await run.hear("To stop the export, open Export again.")
        await run.until(lambda: any(folder.iterdir()), "write the first file")
        await run.press("ctrl+e", *["down"] * 4, "enter", "ctrl+u")
        await run.type(str(folder / "again"))
        await run.press("enter")
        await run.until(lambda: len(list(folder.iterdir())) == 2, "write the first file again")
        await run.press("ctrl+e")
        await run.see("Stop saving Harbour API", "0 of ")
        await run.press("enter")
        await run.hear("Stopped saving Harbour API. Nothing was saved.")
        await run.press("ctrl+e")
        await run.see("Stop saving Harbour API")
        await run.press("enter")
        await run.until(lambda: not list(folder.iterdir()), "delete the unfinished files")
        await run.press("ctrl+e")
        await run.see("This page as Markdown")
        assert "Stop saving" not in run.text
        run.gate.open()


async def test_exported_space_has_its_pages_and_table_of_contents(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("ctrl+e", "down", "down", "down", "enter", "ctrl+u")
        await run.type(str(stage.folder / "space"))
        await run.press("enter")
        await run.hear("Saved Harbour API to")
    assert "[Quickstart](get-started/quickstart.md)" in (stage.folder / "space" / "SUMMARY.md").read_text()
    assert "From nothing to a water level" in (stage.folder / "space" / "get-started" / "quickstart.md").read_text()


async def test_export_of_a_page_without_text_names_the_page(stage: Stage) -> None:
    def remove_text(page: dict[str, Any]) -> None:
        if page["title"] == "Welcome":
            del page["markdown"]

    async with stage.play(over=altered(r"/v1/spaces/[^/]+/content/page/[^/]+", remove_text)) as run:
        await run.see("Welcome")
        await run.press("ctrl+e", "enter", "ctrl+u")
        await run.type(str(stage.folder / "page.md"))
        await run.press("enter")
        await run.hear("Could not save Welcome: the API does not return its text.")
        await run.press("ctrl+e", "down", "down", "down", "enter", "ctrl+u")
        await run.type(str(stage.folder / "space"))
        await run.press("enter")
        await run.hear("README.md: Skipped a page: the API does not return its text.", "Saved Harbour API to")
    assert not (stage.folder / "page.md").exists()
    assert not (stage.folder / "space" / "README.md").exists()
    assert (stage.folder / "space" / "get-started" / "quickstart.md").exists()
