"""Spaces and collections are created, filled, moved, deleted and restored in the space tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from octavo.api import collections, imports, spaces
from octavo.api import content as content_api
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.server.demo.history import ORGANIZATION
from octavo.tui.content import space_changes
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.resources.form import FormDialog
from octavo.tui.widgets.commands import active_commands
from octavo.tui.widgets.confirm import ConfirmDialog
from tests.journeys.stage import Run, Stage
from tests.server.refusing_platform import Platform
from tests.server.web_server import WebServer, run_web_server

NOOR = "noor-haddad"
"""Administrator of the organization."""
ELIN = "elin-brandt"
"""A user with the role Reader."""
HERE = OrganizationRef(organization_id=ORGANIZATION)
KEYS_THAT_WRITE = ("ctrl+n", "e", "M", "X")


@pytest.fixture
def web() -> Iterator[WebServer]:
    with run_web_server() as web:
        yield web


def allow_private_imports(platform: Platform) -> None:
    """Let the platform import pages from this computer."""
    platform.context = replace(platform.context, allows_private_imports=True)


def content(run: Run) -> ContentScreen:
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    return screen


async def focus_space_tree(run: Run, title: str = "") -> None:
    """Focus the space tree, and select a space or collection by its title."""
    view = content(run)
    while view.focused is not view.open_space.nav.spaces_tree:
        await run.press("escape")
    if title:
        await run.until(lambda: title in titles(run), f"list {title}")
        view.open_space.nav.spaces_tree.select_hidden(titles(run)[title])
        await run.settle()


def titles(run: Run) -> dict[str, str]:
    """Return the ids of all spaces and collections in the tree, by title."""
    tree = content(run).open_space.nav.spaces_tree  # No collection is collapsed.
    return {str(node.label): str(node.key) for _, node in tree.shown}


async def space_on_server(run: Run, title: str) -> spaces.Space:
    """Return a space from the server."""
    listed = await run.ask(spaces.List(at=HERE, limit=1000), NOOR)
    return next(each for each in listed.items if each.title == title)


async def see_form(run: Run) -> None:
    await run.until(lambda: isinstance(run.app.screen, FormDialog), "open the form")


async def import_html(run: Run, address: str) -> None:
    """Fill in the form for the import of pages, and send it."""
    await run.type(address)
    await run.press("tab", "enter")
    await run.type("html")
    await run.press("enter", "ctrl+s")


async def create_space(run: Run, title: str) -> None:
    await focus_space_tree(run)
    await run.press("ctrl+n")
    await run.see("New space at the top level", "New collection at the top level")
    await run.type("space at the top")
    await run.press("enter")
    await see_form(run)
    await run.see("for example 🚀")
    await run.press(*title, "ctrl+s")
    await run.hear(f"Created {title}.")


async def test_space_is_created_filled_moved_deleted_and_restored(stage: Stage, web: WebServer) -> None:
    address = web.put("/tides.html", "<main><h1>Tides</h1><p>Twice a day.</p></main>")
    async with stage.play(NOOR, change=allow_private_imports) as run:
        await create_space(run, "Almanac")
        await run.until(
            lambda: titles(run).get("Almanac") == content(run).open_space.nav.spaces_tree.key, "select the new space"
        )
        await focus_space_tree(run, "Almanac")
        await run.press("a")
        await run.see("Import pages", "Duplicate", "Git Sync", "Trash")
        await run.press("enter")
        await run.see("Import pages into Almanac")
        await import_html(run, address)
        await run.hear("Imported 1 page into Almanac.")
        assert run.gate.sent(imports.Create)[0].source == "html"
        await run.see("Tides")

        await focus_space_tree(run, "Almanac")
        listed = await run.ask(collections.List(at=HERE), NOOR)
        folder = next(each for each in listed.items if each.title == "Company")
        await run.press("M")
        await run.see("Move Almanac to", "Top level, not in a collection")
        await run.type(folder.title)
        await run.press("enter")
        await run.see("Position of Almanac")
        await run.press("enter")
        await run.hear(f"Moved Almanac to {folder.title}.")
        assert (await space_on_server(run, "Almanac")).parent == folder.id
        await run.press("u")
        await run.hear("Moved Almanac back.")
        made = await space_on_server(run, "Almanac")
        assert made.parent is None

        await focus_space_tree(run, "Almanac")
        await run.press("X")
        await run.see(
            "Delete the space Almanac?",
            "2 pages will be deleted with the space.",
            "No site uses this space.",
            "Type Almanac to confirm.",
        )
        await run.press("y")
        assert isinstance(run.app.screen, ConfirmDialog)
        await run.press("backspace", *"Almanac", "enter")
        await run.hear("Deleted Almanac.")
        await run.until(lambda: "Almanac" not in titles(run), "remove the space from the list")
        assert content(run).open_space.space is None
        await run.later(days=2)
        await focus_space_tree(run)
        await run.press("a")
        await run.type("Trash")
        await run.press("enter")
        await run.see("Trash", "Almanac", "5 days left")
        await run.press("enter")
        await run.hear("Restored Almanac.")
        assert (await space_on_server(run, "Almanac")).id == made.id


@pytest.mark.before_release
async def test_u_restores_a_deleted_space(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await focus_space_tree(run, "Harbour API")
        await run.press("X")
        await run.see("site Saltmarsh Docs uses this space")
        await run.press(*"Harbour API", "enter")
        await run.hear("Deleted Harbour API.")
        await run.until(lambda: "Harbour API" not in titles(run), "remove the space from the list")
        await run.press("u")
        await run.hear("Restored Harbour API.")
        await run.until(lambda: "Harbour API" in titles(run), "list the space again")


async def test_open_space_is_closed_if_another_space_is_deleted_right_after_it(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await focus_space_tree(run, "Harbour API")
        run.gate.shut(spaces.List)
        for title in ("Harbour API", "Limpet manual"):
            await focus_space_tree(run, title)
            await run.press("X")
            await run.see(f"Type {title} to confirm.")
            await run.press(*title, "enter")
            await run.hear(f"Deleted {title}.")
        run.gate.open()
        await run.until(lambda: not {"Harbour API", "Limpet manual"} & titles(run).keys(), "remove both spaces")
        await run.see("The open space was deleted or moved.")
        assert "Three things to know" not in run.text


@pytest.mark.before_release
async def test_trash_says_that_it_could_not_be_loaded(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        space = await space_on_server(run, "Harbour API")
        space_changes.remember_deleted_space(run.app, ORGANIZATION, space)
        await run.ask(spaces.Delete(at=space.ref), NOOR)
        run.platform.refuse_next(spaces.Get, 500, "The store room is locked.", times=9)
        await focus_space_tree(run)
        await run.press("a")
        await run.type("Trash")
        await run.press("enter")
        await run.hear("Could not load the trash", "The store room is locked.")
        run.accept()
        await run.press("a")
        await run.type("Trash")
        await run.press("enter")
        await run.see("Harbour API", "7 days left", "Restore by ID")


async def test_late_trash_does_not_open_over_another_view(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        space_changes.remember_deleted_space(run.app, ORGANIZATION, await space_on_server(run, "Harbour API"))
        await focus_space_tree(run, "Harbour API")
        await run.press("a")
        await run.type("Trash")
        run.gate.shut(spaces.Get)
        await run.press("enter")
        await run.until(lambda: run.gate.waiting > 0, "load the deleted spaces")
        await run.press("escape", "3")
        run.gate.open()
        await run.settle()
        assert run.app.current_mode == "changes"
        assert len(run.app.screen_stack) == 1


@pytest.mark.parametrize(
    "entered",
    [
        "Ab12",
        "https://app.gitbook.com/o/Or1/s/Ab12",
        "https://app.gitbook.com/o/Or1/s/Ab12/",
        "https://app.gitbook.com/o/Or1/s/Ab12/guides/start?q=1#top",
        "https://app.gitbook.com/s/Ab12/~/changes/7/",
    ],
)
def test_space_to_restore_is_read_from_any_link_in_the_space(entered: str) -> None:
    assert space_changes.space_id_in(entered) == "Ab12"


@pytest.mark.before_release
async def test_failed_load_of_the_collections_is_shown_below_the_spaces(stage: Stage) -> None:
    def refuse(platform: Platform) -> None:
        platform.refuse_next(collections.List, 500, "The shelves are being painted.", times=9)

    async with stage.play(NOOR, change=refuse) as run:
        await focus_space_tree(run)
        await run.see("Harbour API", "✗ Could not load the")
        run.accept()
        await run.press("r")
        await run.see("Products")
        await run.gone("Could not load the")


async def test_alt_up_moves_a_space_above_its_neighbor(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await create_space(run, "First")
        await create_space(run, "Second")
        await focus_space_tree(run, "Second")
        before = list(titles(run))
        await run.press("alt+up")
        await run.hear("Moved Second up.")
        assert list(titles(run)).index("Second") == before.index("Second") - 1
        top = [
            each.title for each in (await run.ask(spaces.List(at=HERE, limit=1000), NOOR)).items if each.parent is None
        ]
        assert top.index("Second") == top.index("First") - 1
        await run.press("u")
        await run.hear("Moved Second back.")
        assert list(titles(run)) == before
        await run.press("alt+down")
        await run.hear("Second is already the last space here. Press M to move it elsewhere.")


async def test_moves_pressed_while_the_server_is_slow_are_each_one_step(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        for title in ("First", "Second", "Third", "Fourth"):
            await run.ask(spaces.Create(at=HERE, title=title), NOOR)
        await run.press("r")
        await focus_space_tree(run, "First")
        before = list(titles(run))
        run.gate.shut(spaces.Move)
        await run.press("alt+down", "alt+down", "alt+down", "alt+down")
        run.gate.open()
        await run.until(lambda: list(titles(run))[-1] == "First", "move the space to the end")
        tones = [notice.tone for notice in run.app.notices.shown() if "already in this position" in notice.text]
        assert tones == ["care"]
        moves = [op.position for op in run.gate.sent(spaces.Move)]
        assert len(moves) == len(set(map(str, moves))) == 3
        run.gate.shut(spaces.Move)
        await run.press("u", "u")
        await run.settle()
        assert run.gate.waiting == 1
        run.gate.open()
        await run.press("u")
        await run.until(lambda: list(titles(run)) == before, "move the space back")


async def test_space_settings_send_only_changes_and_u_reverts_them(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await focus_space_tree(run, "Harbour API")
        await run.press("e")
        await run.see("Title", "Emoji", "Edit mode", "Default access", "Language", "Merge rules")
        await run.press("tab")
        await run.see("for example 🚀")
        await run.press("shift+tab", "ctrl+u", *"Port API", "ctrl+s")
        await run.hear("Changed Harbour API.")
        (sent,) = run.gate.sent(spaces.Update)
        assert sent.model_fields_set == {"at", "title"}
        await run.until(lambda: "Port API" in titles(run), "list the new title")
        await run.press("u")
        await run.hear("Undid the change to Harbour API.")
        await run.until(lambda: "Harbour API" in titles(run), "list the old title again")


async def test_page_tree_shows_the_new_title_of_its_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("⚓ Harbour API ▾", "Harbour API › Welcome")
        await run.ask(spaces.Update(at=SpaceRef(space_id="harbour-api"), title="Quay API"), NOOR)
        await run.press("r")
        await run.see("⚓ Quay API ▾", "Quay API › Welcome")


@pytest.mark.before_release
async def test_u_deletes_a_duplicated_space(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await focus_space_tree(run, "Harbour API")
        await run.press("a")
        await run.type("Duplicate")
        await run.press("enter")
        await run.hear("Duplicated Harbour API.")
        assert (await space_on_server(run, "Copy of Harbour API")).parent == (
            await space_on_server(run, "Harbour API")
        ).parent
        await run.press("u")
        await run.hear("Deleted Copy of Harbour API.")
        await focus_space_tree(run)
        await run.until(lambda: "Copy of Harbour API" not in titles(run), "remove the space from the list")


@pytest.mark.before_release
async def test_reader_sees_disabled_writes_with_the_required_role(stage: Stage) -> None:
    async with stage.play(ELIN) as run:
        await focus_space_tree(run, "Harbour API")
        reasons = {
            key: command.reason or ""
            for command in active_commands(run.app.screen)
            for key in command.keys
            if not command.is_enabled
        }
        assert set(KEYS_THAT_WRITE) <= reasons.keys()
        assert reasons["X"] == (
            "You need the Admin role in Harbour API to delete this space. Ask an organization admin for access."
        )
        for key in KEYS_THAT_WRITE:
            await run.press(key)
            await run.hear(reasons[key])
            assert isinstance(run.app.screen, ContentScreen)
        await run.press("a")
        await run.see("Import pages", "Trash", "to import pages · from a website")
        assert not [op for op in run.gate.passed if isinstance(op, spaces.Update | spaces.Delete | spaces.Move)]


async def test_deletion_of_a_space_counts_its_pages_without_groups(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        tree = await run.ask(content_api.ListPages(at=SpaceRef(space_id="harbour-api")), NOOR)
        count = sum(page.type != "group" for page in tree.walk())
        await focus_space_tree(run, "Harbour API")
        await run.press("X")
        await run.see(f"{count} pages will be deleted with the space.")
