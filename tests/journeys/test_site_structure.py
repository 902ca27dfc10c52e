"""The structure of a site is a tree in which keys create, move and remove items and set the default."""

from __future__ import annotations

import re

import pytest

from octavo.api import site_structure, sites
from octavo.api.site_structure import SiteStructure
from octavo.server.demo.library import SITE
from octavo.tui.resources import site_tree
from octavo.tui.widgets.commands import active_commands
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Run, Stage
from tests.journeys.test_resources import browser, titles
from tests.journeys.test_space_management import see_form

ELIN = "elin-brandt"
"""A user with the role Reader."""


async def structure_on_server(run: Run) -> list[str]:
    """Return the lines of the structure on the server: each item is indented, and default items have a star."""
    structure: SiteStructure = await run.ask(site_structure.Get(at=SITE), NOOR)
    return [
        f"{'  ' * depth}{site_tree.title_of(part)}{' *' if getattr(part, 'default', False) else ''}"
        for part, depth in site_tree.walk_parts(structure)
    ]


async def select_part(run: Run, title: str, kind: str = "") -> None:
    """Select an item of the structure by its title."""
    view = browser(run)
    await run.until(lambda: title in titles(run), f"list {title}")
    row = next(
        each
        for each in view.rows.items
        if site_tree.title_of(each.part) == title and kind in ("", site_tree.noun_of(each.part))
    )
    assert view.rows.go_to(row.id)
    view.rows.focus()
    await run.settle()


async def open_structure(run: Run, part_count: int = 4) -> None:
    await run.see("Sites · 1", "Saltmarsh Docs")
    await run.press("enter")
    await run.see(f"Sites › Saltmarsh Docs › Structure · {part_count}")


async def choose(run: Run, *steps: str) -> None:
    """Choose by typing, in one dialog after the other."""
    for words in steps:
        await run.settle()
        await run.type(words)
        await run.press("enter")


async def add_station_register(run: Run) -> None:
    """Add the space Station register to the section Instruments, which is selected."""
    await run.press("ctrl+n")
    await choose(run, "Space in Instruments")
    await see_form(run)
    await run.press("enter")
    await choose(run, "Station register")
    await run.press("ctrl+s")
    await run.hear("Added Station register.")


async def test_site_structure_can_be_built_rearranged_and_reduced(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await open_structure(run)
        assert await structure_on_server(run) == [
            "Instruments *",
            "  Limpet manual *",
            "Harbour software",
            "  Harbour API *",
        ]
        await run.press("ctrl+n")
        await run.see("Space in Instruments", "Section", "Section group")
        await choose(run, "Section group")
        await see_form(run)
        await run.press(*"Products", "tab", "tab", "enter")
        await choose(run, "Instruments")
        await run.press("escape", "ctrl+s")
        await run.hear("Added Products.")
        await select_part(run, "Instruments")
        await add_station_register(run)
        await run.see("▌     Station register ")
        built = ["Harbour software *", "  Harbour API *", "Products", "  Instruments", "    Limpet manual *"]
        assert await structure_on_server(run) == [*built, "    Station register"]

        await run.press("a", "enter")
        await run.hear("Visitors to Instruments now see Station register first.")
        assert await structure_on_server(run) == [*built[:-1], "    Limpet manual", "    Station register *"]
        await run.press("u")
        await run.hear("Restored Limpet manual as the default.")
        assert await structure_on_server(run) == [*built, "    Station register"]
        await select_part(run, "Instruments")
        await run.press("a", "enter")
        await run.hear("Visitors to Saltmarsh Docs now see Instruments first.")
        assert (await structure_on_server(run))[:4] == [
            "Harbour software",
            "  Harbour API *",
            "Products",
            "  Instruments *",
        ]

        await select_part(run, "Products")
        await run.press("alt+down")
        await run.hear("Products is already the last item at this level.")
        await run.press("alt+up")
        await run.hear("Moved Products up.")
        assert (await structure_on_server(run))[0] == "Products"
        await run.press("u")
        await run.hear("Moved Products back.")
        assert (await structure_on_server(run))[0] == "Harbour software"

        await select_part(run, "Station register")
        await run.press("M")
        await run.see("Move Station register to", "Instruments", "current", "Harbour software")
        await choose(run, "Harbour software", "Last")
        await run.hear("Moved Station register.")
        assert (await structure_on_server(run))[:3] == ["Harbour software", "  Harbour API *", "  Station register"]
        await run.press("u")
        await run.hear("Moved Station register back.")
        assert (await structure_on_server(run))[-1] == "    Station register"

        await select_part(run, "Instruments")
        await run.press("e")
        await see_form(run)
        await run.press("ctrl+u", *"Devices", "ctrl+s")
        await run.hear("Changed Instruments.")
        await select_part(run, "Devices")
        await run.press("u")
        await run.hear("Undid the change to Instruments.")

        await select_part(run, "Station register")
        await run.press("X")
        await run.see("Remove Station register from the site?", "stop working")
        await run.press(*"Station register", "enter")
        await run.hear("Removed Station register from the site.")
        await run.until(lambda: "Station register" not in titles(run), "remove the section from the tree")
        assert "    Station register" not in await structure_on_server(run)


async def test_undo_of_an_added_space_does_not_say_that_the_space_was_deleted(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await open_structure(run)
        before = await structure_on_server(run)
        await add_station_register(run)
        await run.press("u")
        await run.hear("Removed Station register.")
        assert await structure_on_server(run) == before


@pytest.mark.before_release
async def test_filtered_structure_keeps_parents_and_opens_spaces(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await open_structure(run)
        await select_part(run, "Instruments")
        await run.press("S")
        await run.hear("so you cannot sort it. To move an item")
        await run.press("/", *"limpet", "enter")
        await run.until(
            lambda: titles(run) == ["Instruments", "Limpet manual"], "list the matching space below its section"
        )
        await run.press("j")
        await run.until(lambda: re.search(r"section +Instruments", run.text) is not None, "show the section")
        await run.press("enter")
        await run.see("Limpet manual ▾")


@pytest.mark.before_release
async def test_structure_keys_without_permission_are_disabled_with_a_reason(stage: Stage) -> None:
    async with stage.play(ELIN, start="sites") as run:
        await open_structure(run)
        await select_part(run, "Harbour software")
        why = {
            key: each.reason or ""
            for each in active_commands(run.app.screen)
            for key in each.keys
            if not each.is_enabled
        }
        assert {"ctrl+n", "e", "M", "X", "a", "alt+↑", "alt+↓"} <= why.keys()
        assert why["M"] == (
            "You need the Creator role in Saltmarsh Docs to move content on this site. Ask an organization admin for access."
        )
        assert why["ctrl+n"] == (
            "You need the Creator role in Saltmarsh Docs to add items. Ask an organization admin for access."
        )
        await run.press("alt+up", "M", "X", "e")
        assert not [op for op in run.gate.passed if isinstance(op, site_structure.Sort | sites.Update)]


async def test_parts_moved_while_the_server_is_slow_move_one_step_each(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await open_structure(run)
        for title in ("Third", "Fourth"):
            await run.ask(site_structure.CreateGroup(at=SITE, title=title), NOOR)
        await run.press("r")
        await run.see("Fourth")
        await select_part(run, "Instruments")
        run.gate.shut(site_structure.Sort)
        await run.press("alt+down", "alt+down", "alt+down")
        run.gate.open()
        await run.settle()
        assert len(run.gate.sent(site_structure.Sort)) == 3
        assert (await structure_on_server(run))[-2:] == ["Instruments", "  Limpet manual *"]
        await run.press("u", "u", "u")
        await run.settle()
        assert (await structure_on_server(run))[0].startswith("Instruments")


async def test_move_of_the_only_part_left_in_a_section_says_that_it_cannot_be_undone(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        structure: SiteStructure = await run.ask(site_structure.Get(at=SITE), NOOR)
        section_id = structure.structure[0].id
        for space_id in ("stations", "handbook"):
            await run.ask(site_structure.CreateSiteSpace(at=SITE, space_id=space_id, section_id=section_id), NOOR)
        await open_structure(run, 6)
        run.gate.shut(site_structure.Sort)
        for title in ("Limpet manual", "Station register", "Handbook"):
            await select_part(run, title, "space")
            await run.press("M")
            await choose(run, "Harbour software", "Last")
        run.gate.open()
        await run.hear("Moved Handbook.")
        await run.press("u")
        await run.hear("You cannot undo this move by pressing u because Handbook was the only item")
