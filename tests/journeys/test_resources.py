from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import Field
from starlette.types import Receive, Scope, Send
from textual.content import Content

from octavo.api import (
    collections,
    invites,
    organizations,
    redirects,
    share_links,
    sites,
    teams,
    translations,
)
from octavo.api.errors import NotFound
from octavo.api.operation import CollectionRef, InOrganization, Operation, OrganizationRef
from octavo.api.text import Id
from octavo.server.demo.history import ORGANIZATION
from octavo.server.demo.library import SITE
from octavo.tui.core.routes import ToAccess
from octavo.tui.resources import organization_resources
from octavo.tui.resources.resource import Resource
from octavo.tui.resources.resource_browser import BrowserScreen
from octavo.tui.resources.table import Details
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.short_texts import InfoRow
from octavo.tui.widgets.text_widgets import InfoTable
from tests.journeys.faulty_server import altered, serving
from tests.journeys.resource_samples import MISSING_RESOURCES, NOOR
from tests.journeys.stage import MARA, Run, Stage
from tests.server.refusing_platform import Platform


async def create_missing_resources(run: Run) -> None:
    for op in MISSING_RESOURCES:
        await run.ask(op, NOOR)


def browser(run: Run) -> BrowserScreen:
    screen = run.app.screen
    assert isinstance(screen, BrowserScreen)
    return screen


def is_loaded(view: BrowserScreen) -> bool:
    """Return whether the table is loaded. A table of a single item is also loaded if the server responded with 404."""
    answer = view.snapshot
    return answer.value is not None or (view.level.resource.is_single and isinstance(answer.error, NotFound))


async def open_table(run: Run, kind: str) -> None:
    """Open a table by its name in the list of tables."""
    view = browser(run)
    assert view.table_list.go_to(kind)
    await run.until(lambda: view.level.resource.plural == kind and is_loaded(view), f"open {kind}")


def titles(run: Run) -> list[str]:
    """Return the titles of the visible items."""
    view = browser(run)
    return [view.level.resource.title(each) for each in view.rows.items]


async def open_all_tables(run: Run, kinds: tuple[Resource[Any], ...], seen: dict[str, int], above: str = "") -> None:
    """Open every table, and open the first item of each table with children."""
    view = browser(run)
    depth = len(view.levels)
    for kind in kinds:
        await open_table(run, kind.plural)
        assert view.snapshot.error is None or kind.is_single, f"{kind.plural}: {view.snapshot.error}"
        things = view.rows.items
        seen[f"{above}{kind.plural}"] = len(things)
        assert len({kind.key(each) for each in things}) == len(things)
        for thing in things:
            assert kind.title(thing)
            assert kind.item_of(thing)[0].title(kind.item_of(thing)[1])
            assert all(isinstance(each.cell(thing, view.name_of), str | Content) for each in kind.columns)
        if things:
            first = kind.columns[0].cell(things[0], view.name_of)
            words = first if isinstance(first, str) else first.plain
            assert words
            await run.see(words[:8])
        if things and kind.children:
            view.rows.focus()
            await run.press("enter")
            await run.until(lambda: len(view.levels) == depth + 1, f"open an item of {kind.plural}")
            await open_all_tables(run, kind.children, seen, f"{kind.plural} › ")
            await run.press("escape", "escape")
            await run.until(lambda: len(view.levels) == depth, "return from the item")


@pytest.mark.before_release
@pytest.mark.parametrize("start", ["sites", "admin"])
async def test_every_table_lists_real_responses(stage: Stage, start: str) -> None:
    async with stage.play(NOOR, start="content") as run:
        await create_missing_resources(run)
        await run.press({"sites": "5", "admin": "6"}[start])
        seen: dict[str, int] = {}
        await open_all_tables(run, browser(run).levels[0].resources, seen)
        empty = {name for name, count in seen.items() if not count}
        assert empty <= {
            "fonts",
            "SSO sign-in links",
            "sites › adaptive schema",
            "sites › conditions",
            "members › teams",
            "collections › spaces",
            "collections › members",
            "collections › teams",
            "spaces › members",
            "spaces › teams",
            "members › spaces › members",
            "members › spaces › teams",
        }, seen
        assert len(seen) >= {"sites": 6, "admin": 15}[start]


@pytest.mark.before_release
async def test_enter_opens_a_site_and_esc_leaves_it(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.see("Sites · 1", "Saltmarsh Docs")
        await run.press("enter")
        await run.see("Sites › Saltmarsh Docs › Structure · 5", "published, public")
        await open_table(run, "redirects")
        await run.see("Sites › Saltmarsh Docs › Redirects · 3", "/old/tides", "Instruments", "Harbour software")
        await run.press("enter", "x")
        await run.see("Redirects · 3 · 1 selected")
        await run.press("escape")  # The first esc clears the selection.
        await run.press("escape", "escape")
        await run.see("Sites · 1")
        await run.press("enter")
        await run.see("Sites › Saltmarsh Docs › Structure")


async def test_empty_table_says_how_to_create_an_item_or_why_not(stage: Stage) -> None:
    for person, hint in ((NOOR, "create the first invite link."), (MARA, "Ask an")):
        async with stage.play(person, start="admin") as run:
            await open_table(run, "invite links")
            await run.see("No invite links.", hint)


async def test_empty_table_uses_the_space_of_the_details(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        details = browser(run).query_one(Details)
        await open_table(run, "invite links")
        await run.see("No invite links.")
        assert not details.display
        await open_table(run, "teams")
        await run.see("Harbour software")
        assert details.display


@pytest.mark.before_release
async def test_table_keys_pressed_while_loading_apply_after_loading(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin", shut=True) as run:
        assert "No items." not in run.text
        await run.press("]", "]", "]", "[")
        assert not run.said
        run.gate.open()
        await run.see("Admin › Invite links")


@pytest.mark.before_release
async def test_only_the_open_table_is_loaded(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Admin › Members · 306")
        assert not run.gate.sent(teams.List)
        await run.press("]", "]")
        await run.see("Admin › Invite links")
        await run.until(lambda: bool(run.gate.sent(invites.ListLinks)), "load the selected table")
        assert {type(op) for op in browser(run).subscriptions.operations()} >= {invites.ListLinks}
        assert organizations.ListMembers not in {type(op) for op in browser(run).subscriptions.operations()}
        await open_table(run, "collections")
        await open_table(run, "teams")
        assert {type(op) for op in browser(run).subscriptions.operations()} == {teams.List}


@pytest.mark.before_release
async def test_members_can_be_filtered_sorted_and_shown_with_other_columns(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Admin › Members · 306")
        await run.press("S", *"name", "enter")
        await run.see("sorted by name ▲", "NAME ▲")
        assert titles(run) == sorted(titles(run), key=str.casefold)
        await run.press("/", *"lindqvist", "enter")
        await run.see("1 of 306 shown", "Mara Lindqvist")
        await run.press("escape", "F", *"seen", "enter", "escape")
        await run.gone("SEEN")
        await run.press("]")
        await run.see("Admin › Teams · 4")
        await run.press("[")
        await run.see("Admin › Members · 306", "sorted by name ▲")
        assert "SEEN" not in run.text
    async with stage.play(NOOR, start="admin") as run:
        await run.see("NAME ▲")
        assert "SEEN" not in run.text


@pytest.mark.before_release
async def test_each_table_keeps_its_own_filter_and_cursor(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Admin › Members · 306")
        await run.press("/", *"lind", "enter", "j")
        selected = browser(run).rows.key
        await run.press("]")
        await run.see("Admin › Teams · 4")
        await run.press("[")
        await run.see("of 306 shown")
        assert browser(run).rows.query_text == "lind"
        assert browser(run).rows.key == selected


@pytest.mark.before_release
async def test_team_is_deleted_after_typing_its_name(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("X")
        await run.see(
            "Delete Harbour software?", "4 members will lose the access to 1 space that this team gives them."
        )
        await run.press("y")
        assert not run.gate.sent(teams.Delete), "y alone must not delete the team"
        await run.press("escape", "x", "j", "x", "X")
        await run.see("Delete 2 teams?", "Harbour software: 4 members will lose the access", "Field crew: 20 members")
        await run.press("escape")
        await run.press("*", "*", "g", "X")
        await run.type("Harbour software")
        await run.press("enter")
        await run.hear("Deleted Harbour software.")
        await run.until(lambda: "Harbour software" not in titles(run), "remove the team from the list")
        await run.press("u")
        await run.hear("You cannot undo “delete Harbour software” by pressing u.")


@pytest.mark.before_release
async def test_selected_redirects_are_deleted_together_and_restored(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "redirects")
        await run.press("enter", "x", "x", "X")
        await run.see("Delete 2 redirects?", "You can undo this by pressing u.", "/old/tides", "/api")
        await run.press("y")
        await run.hear("Deleted 2 redirects.")
        await run.until(lambda: titles(run) == ["/help"], "remove the redirects from the list")
        assert len(run.gate.sent(redirects.Delete)) == 2
        await run.press("u")
        await run.hear("Restored 2 redirects.")
        await run.until(lambda: sorted(titles(run)) == ["/api", "/help", "/old/tides"], "list the redirects again")


async def test_undo_of_several_deletions_continues_after_an_error(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "redirects")
        await run.press("enter")
        deleted = [each.source for each in browser(run).rows.items]
        second = browser(run).rows.items[1]
        await run.press("asterisk", "X", "y")
        await run.hear("Deleted 3 redirects.")
        run.platform.refuse_next(redirects.Create, 429, "Too many requests.", times=9)
        await run.press("u")
        await run.hear(f"Could not restore {deleted[0]}")
        run.accept()
        destination = second.destination.model_dump(exclude_none=True)
        await run.ask(redirects.Create(at=SITE, source=second.source, destination=destination), NOOR)
        await run.press("u")
        await run.hear(f"Could not restore {deleted[1]}", "Press u to undo the other changes.")
        await run.press("u")
        await run.hear("Undid the other changes.")
        await run.until(lambda: sorted(titles(run)) == sorted(deleted), "list all redirects again")


def refuse_second(
    method: str, path: str, operation: type[Operation[Any]]
) -> Callable[[Platform], AbstractAsyncContextManager[str]]:
    """Return a server that refuses the second request with this method, whose path contains `path`."""
    paths: list[str] = []

    def serve(platform: Platform) -> AbstractAsyncContextManager[str]:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == method and path in scope["path"]:
                paths.append(scope["path"])
                if len(paths) == 2:
                    platform.refuse_next(operation, 403, "The harbour master says no.")
            await platform(scope, receive, send)

        return serving(application)

    return serve


async def test_deletion_that_fails_halfway_can_be_undone(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites", over=refuse_second("DELETE", "redirects", redirects.Delete)) as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "redirects")
        before = titles(run)
        await run.press("enter", "x", "x", "X")
        await run.see("Delete 2 redirects?")
        await run.press("y")
        await run.hear("The harbour master says no. Deleted 1 of 2 redirects before the error occurred.")
        await run.until(lambda: len(titles(run)) == len(before) - 1, "remove the deleted redirect from the list")
        await run.see("1 selected")
        await run.press("u")
        await run.hear("Restored ")
        await run.until(lambda: sorted(titles(run)) == sorted(before), "list the redirect again")


@pytest.mark.before_release
async def test_rejected_deletion_keeps_the_item_and_shows_the_reason(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "share links")
        await run.press("enter")
        run.platform.refuse_next(share_links.Delete, 403, "The harbour master says no.")
        await run.press("X")
        await run.type("Press")
        await run.press("enter")
        await run.hear("Could not delete Press: The harbour master says no.")
        assert titles(run) == ["Press", "Partners"]


async def test_deletion_that_is_not_found_is_not_reported_as_done(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "redirects")
        await run.press("enter")
        run.platform.refuse_next(redirects.Delete, 404, "There is no such site.")
        await run.press("X", "y")
        await run.hear("Could not delete /old/tides: There is no such site.")


async def test_deletion_whose_response_is_lost_is_checked_and_not_resent(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "share links")
        await run.press("enter")
        press = browser(run).rows.item
        assert press is not None
        await run.ask(share_links.Delete(at=SITE, share_link_id=press.id), NOOR)
        await run.press("X")
        await run.type("Press")
        await run.press("enter")
        await run.hear("Deleted Press.")
        await run.until(lambda: titles(run) == ["Partners"], "remove the row")
        assert len(run.gate.sent(share_links.Delete)) == 1


@pytest.mark.before_release
async def test_key_without_permission_explains_the_missing_permission(stage: Stage) -> None:
    async with stage.play(MARA, start="admin") as run:
        await run.see("Admin › Members")
        await run.press("X")
        await run.hear(
            "You need the Admin role in Saltmarsh Instruments to remove members. Ask an organization admin for access."
        )


@pytest.mark.before_release
async def test_headers_of_an_mcp_server_are_hidden(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.press("enter")
        await open_table(run, "MCP servers")
        await run.see("Authorization", "hidden")
        assert "s3cret" not in run.text
        await run.press("enter", "i")
        await run.see("Info", "headers", "hidden")
        assert "s3cret" not in run.text


@pytest.mark.before_release
async def test_unsupported_operation_is_requested_once(stage: Stage) -> None:
    def refuse(platform: Platform) -> None:
        platform.refuse_next(translations.List, 405, "Not here.")

    async with stage.play(NOOR, start="admin", change=refuse) as run:
        await run.press("tab")
        view = browser(run)
        view.table_list.go_to("translations")
        await run.see("This server does not support this operation", "Press r to retry.")
        view.table_list.go_to("fonts")
        await run.until(
            lambda: view.level.resource.plural == "fonts" and view.snapshot.value is not None, "show another table"
        )
        view.table_list.go_to("translations")
        await run.see("This server does not support this operation")
        assert len(run.gate.sent(translations.List)) == 1
        await run.press("r")
        await run.see("No translations.")


@pytest.mark.before_release
async def test_table_can_be_exported_in_three_formats(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        for ending, holds in (
            ("csv", "Harbour software,4,1"),
            ("json", '"title": "Harbour software"'),
            ("markdown", "| Harbour software | 4 | 1 |"),
        ):
            await run.press("ctrl+e", *ending, "enter")
            await run.see("Save 4 teams?")
            await run.press("ctrl+u")
            path = stage.folder / f"teams.{ending[:4]}"
            await run.type(str(path))
            await run.press("enter")
            await run.until(path.exists, f"save {path}")
            await run.hear("Saved 4 teams to")
            assert holds in path.read_text(encoding="utf-8")
        assert len(json.loads((stage.folder / "teams.json").read_text(encoding="utf-8"))) == 4


def add_ten_thousand_members(answer: Any) -> None:
    one = answer["items"][0]
    user = one["user"]
    answer["items"] = [
        {**one, "id": f"m-{number}", "user": {**user, "id": f"m-{number}", "displayName": f"Member {number}"}}
        for number in range(10_000)
    ]
    answer.pop("next", None)


@pytest.mark.before_release
async def test_table_of_ten_thousand_members_renders_visible_rows_only(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage.play(
        NOOR, start="admin", over=altered(f"/v1/orgs/{ORGANIZATION}/members", add_ten_thousand_members)
    ) as run:
        await run.see("Members · 10000", "Member 0")
        table = browser(run).table
        rendered: list[Any] = []

        def render(thing: Any, names: Any, render: Callable[..., Row] = table.render_row) -> Row:
            rendered.append(thing)
            return render(thing, names)

        monkeypatch.setattr(table, "render_row", render)
        await run.press("G")
        await run.see("Member 9999")
        assert len(rendered) < 200


@pytest.mark.before_release
async def test_moving_to_the_next_row_updates_the_details_without_a_layout(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_facts: list[tuple[InfoRow, ...]] = []

    def make_lines(
        facts: InfoTable, width: int, make_lines: Callable[..., list[Content]] = InfoTable._make_lines
    ) -> list[Content]:
        shown_facts.append(facts.rows)
        return make_lines(facts, width)

    monkeypatch.setattr(InfoTable, "_make_lines", make_lines)
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Admin › Members")
        laid_out: list[object] = []
        run.app.screen.screen_layout_refresh_signal.subscribe(run.app, laid_out.append)
        shown_facts.clear()
        expected_facts: list[tuple[InfoRow, ...]] = []
        for _ in range(5):
            await run.press("j")
            expected_facts.append(run.app.screen.query(InfoTable).first().rows)
        assert len(set(map(len, expected_facts))) > 1, "the rows must have different numbers of details"
        assert shown_facts == expected_facts
        assert not laid_out


@pytest.mark.before_release
async def test_details_stay_scrolled_until_another_row_is_selected(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites", size=(120, 24)) as run:
        await run.ask(sites.Create(at=OrganizationRef(organization_id=ORGANIZATION), title="Tides"), NOOR)
        await run.press("r")
        await run.see("Sites · 2")
        details = run.app.screen.query_one(Details)
        await run.press("space")
        scrolled = details.scroll_offset.y
        assert scrolled > 0
        browser(run).add_names()
        await run.settle()
        assert details.scroll_offset.y == scrolled
        await run.press("j")
        assert details.scroll_offset.y == 0


async def go_to_unlisted_collection(run: Run) -> None:
    """Go to a new collection, which the cached list lacks. The requests for the list wait."""
    await open_table(run, "collections")
    await open_table(run, "teams")
    made = await run.ask(collections.Create(at=OrganizationRef(organization_id=ORGANIZATION), title="Tides"), NOOR)
    run.gate.shut(collections.List)
    run.app.go(ToAccess(CollectionRef(collection_id=made.id)))
    await run.settle()


@pytest.mark.before_release
async def test_item_missing_from_a_cached_list_opens_when_the_list_is_loaded(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await go_to_unlisted_collection(run)
        assert not run.said
        run.gate.open()
        await run.see("Tides", "Everyone with access")


@pytest.mark.before_release
async def test_item_of_a_table_that_the_user_left_is_not_opened_later(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await go_to_unlisted_collection(run)
        await open_table(run, "teams")
        run.gate.open()
        await run.settle()
        await open_table(run, "collections")
        await run.see("Tides", "Products")
        assert len(browser(run).levels) == 1


async def test_item_missing_from_a_list_that_fails_to_load_is_not_called_deleted(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "collections")
        await open_table(run, "teams")
        made = await run.ask(collections.Create(at=OrganizationRef(organization_id=ORGANIZATION), title="Tides"), NOOR)
        run.platform.refuse_next(collections.List, 500, "The shelves are being painted.", times=9)
        run.app.go(ToAccess(CollectionRef(collection_id=made.id)))
        await run.hear("Could not find the item in collections: ", "The shelves are being painted.")
        assert not any("deleted" in each for each in run.said)


async def test_created_team_is_selected_and_removed_by_undo(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("ctrl+n")
        await run.see("New team", "Title")
        await run.press(*"Divers", "ctrl+s")
        await run.hear("Created Divers.")
        await run.until(lambda: getattr(browser(run).rows.item, "title", "") == "Divers", "select the new team")
        await run.see("Admin › Teams · 5")
        await run.press("u")
        await run.hear("Deleted Divers.")
        await run.until(lambda: "Divers" not in titles(run), "remove the team from the list")


@pytest.mark.before_release
async def test_redirect_is_created_with_a_chosen_section(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await run.press("enter")
        await open_table(run, "redirects")
        await run.press("ctrl+n", *"/old/levels", "tab", "enter", *"section", "enter")
        await run.see("Site section")
        await run.settle()
        await run.press("tab", "enter")
        await run.see("Harbour software")
        await run.press(*"harbour", "enter", "ctrl+s")
        await run.hear("Created /old/levels.")
        await run.see("/old/levels", "Harbour software")


@pytest.mark.before_release
async def test_invitation_of_a_member_says_that_the_person_was_a_member(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Admin › Members · 306")
        await run.press("ctrl+n")
        await run.type("ada@saltmarsh.example")
        await run.press("ctrl+s")
        await run.hear("Invited 1 new member.")
        await run.see("Admin › Members · 307")
        await run.press("ctrl+n")
        await run.type("ada@saltmarsh.example\nbo@saltmarsh.example")
        await run.press("ctrl+s")
        await run.hear("Invited 1 new member. 1 person was already a member.")
        await run.see("Admin › Members · 308")


async def test_actions_on_one_item_are_refused_if_several_are_selected(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("x", "x", "Y")
        await run.hear("2 teams are selected. This key acts on one item at a time. Press esc to clear the selection.")


async def test_renaming_a_team_can_be_undone(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("e")
        await run.see("Title", "Harbour software")
        await run.press("ctrl+u", *"Harbour crew", "ctrl+s")
        await run.hear("Changed Harbour software.")
        await run.until(lambda: "Harbour crew" in titles(run), "list the new name")
        await run.press("u")
        await run.hear("Undid the change to Harbour software.")
        await run.until(lambda: "Harbour software" in titles(run), "list the old name")


async def test_undo_of_an_edit_does_not_replace_a_newer_value(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("e", "ctrl+u", *"Harbour crew", "ctrl+s")
        await run.hear("Changed Harbour software.")
        (sent,) = run.gate.sent(teams.Update)
        await run.ask(sent.model_copy(update={"title": "Port crew"}), NOOR)
        await run.press("u")
        await run.hear("Could not undo the change to Harbour software: it has changed since.")
        assert len(run.gate.sent(teams.Update)) == 1


async def test_undo_restores_the_value_that_another_user_set_meanwhile(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("e")
        await run.see("Title", "Harbour software")
        here = OrganizationRef(organization_id=ORGANIZATION)
        await run.ask(teams.Update(at=here, team_id="software", title="Theirs"), NOOR)
        await run.press("ctrl+u", *"Mine", "ctrl+s")
        await run.see("Someone else changed this field to “Theirs”.")
        await run.press("ctrl+s")
        await run.until(lambda: "Mine" in titles(run), "list the new name")
        await run.press("u")
        await run.until(lambda: "Theirs" in titles(run), "list the name that was replaced")


@pytest.mark.before_release
async def test_change_of_several_roles_can_be_undone(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        before = {each.user.id: each.role for each in browser(run).rows.items[:3]}
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members", "Fields that you leave empty stay unchanged in all selected items.")
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 3 members.")
        changed = run.gate.sent(organizations.UpdateMember)
        assert [(op.user_id, op.role) for op in changed] == [(each, "comment") for each in before]
        assert not browser(run).selected_rows
        await run.press("u")
        await run.hear("Undid the change to 3 members.")
        back = run.gate.sent(organizations.UpdateMember)[3:]
        assert {op.user_id: op.role for op in back} == before


async def test_undo_of_several_changes_restores_the_role_that_another_user_set_meanwhile(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        members = [each.user.id for each in browser(run).rows.items[:3]]
        assert "review" not in {each.role for each in browser(run).rows.items[:2]}
        here = OrganizationRef(organization_id=ORGANIZATION)
        await run.press("x", "x", "x", "e")
        for user_id in members[:2]:
            await run.ask(organizations.UpdateMember(at=here, user_id=user_id, role="review"), NOOR)
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 3 members.")
        await run.press("u")
        await run.hear("Undid the change to 3 members.")
        roles = [(await run.ask(organizations.GetMember(at=here, user_id=each), NOOR)).role for each in members[:2]]
        assert roles == ["review", "review"]


async def test_members_whose_change_failed_stay_selected(stage: Stage) -> None:
    refusal = refuse_second("PATCH", "members", organizations.UpdateMember)
    async with stage.play(NOOR, start="admin", over=refusal) as run:
        await run.see("Members · 306")
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members")
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 1 of 3 members before the error occurred.")
        await run.see("2 selected")


async def test_draft_of_an_edit_of_other_members_says_so(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        await run.press("x", "x", "e")
        await run.see("Edit 2 members")
        await run.press("enter", *"comment", "enter", "escape", "e")
        await run.see("Edit 2 members", "This is your draft. It has not been sent.")
        await run.press("escape", "x", "e")
        await run.see("Edit 3 members", "You typed this draft for other items. It has not been sent.")


async def test_undo_of_several_changes_does_not_replace_a_newer_value(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        before = {each.user.id: each.role for each in browser(run).rows.items[:3]}
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members")
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 3 members.")
        here, second = OrganizationRef(organization_id=ORGANIZATION), list(before)[1]
        await run.ask(organizations.UpdateMember(at=here, user_id=second, role="review"), NOOR)
        await run.press("u")
        await run.hear("Could not undo the change to ", "it has changed since. Press e to edit it. Press u to undo the")
        await run.press("u")
        await run.hear("Undid the other changes.")
        roles = {each: (await run.ask(organizations.GetMember(at=here, user_id=each), NOOR)).role for each in before}
        assert roles == {**before, second: "review"}


async def test_change_of_several_names_the_item_that_is_gone(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        gone = browser(run).rows.items[0].user
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members")
        here = OrganizationRef(organization_id=ORGANIZATION)
        await run.ask(organizations.DeleteMember(at=here, user_id=gone.id), NOOR)
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.see(f"{gone.name} was deleted, or you lost access. Nothing was sent.")


async def test_undo_of_several_changes_says_if_some_cannot_be_undone(stage: Stage) -> None:
    def give_unknown_role(answer: Any) -> None:
        answer["items"][1]["role"] = "captain"

    members = altered(f"/v1/orgs/{ORGANIZATION}/members", give_unknown_role)
    async with stage.play(NOOR, start="admin", over=members) as run:
        await run.see("Members · 306")
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members")
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 3 members.")
        await run.press("u")
        await run.hear("Undid the change to 2 of 3 members. The others cannot be changed back")


async def test_change_of_several_roles_that_fails_halfway_can_be_undone(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.see("Members · 306")
        first, second, third = browser(run).rows.items[:3]
        await run.press("x", "x", "x", "e")
        await run.see("Edit 3 members")
        here = OrganizationRef(organization_id=ORGANIZATION)
        await run.ask(organizations.DeleteMember(at=here, user_id=third.user.id), NOOR)
        await run.press("enter", *"comment", "enter", "ctrl+s")
        await run.hear("Changed 2 of 3 members before the error occurred.")
        await run.press("u")
        await run.hear("Undid the change to 2 members.")
        back = run.gate.sent(organizations.UpdateMember)[3:]
        assert {op.user_id: op.role for op in back} == {each.user.id: each.role for each in (first, second)}


@pytest.mark.before_release
async def test_missing_permissions_to_create_or_edit_are_named(stage: Stage) -> None:
    async with stage.play(MARA, start="admin") as run:
        await run.see("Admin › Members")
        await run.press("ctrl+n")
        await run.hear("You need the Admin role in Saltmarsh Instruments to invite members.")
        await run.press("e")
        await run.hear("to change members. Ask an organization admin for access.")


class CreateTeamWithHarbour(InOrganization, Operation[teams.Team], put="/teams", success=201, repeats_request=True):
    """Operation that creates a team, with an additional field."""

    title: teams.Title
    members: tuple[Id, ...] | None = None
    harbour: Annotated[str, Field(max_length=12)] | None = None
    """Meeting place of the team."""


@pytest.mark.before_release
async def test_new_field_of_an_operation_is_in_its_form_and_sent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = tuple(
        replace(each, create=CreateTeamWithHarbour) if each is organization_resources.TEAMS else each
        for each in organization_resources.TABLES
    )
    monkeypatch.setattr(organization_resources, "TABLES", kinds)
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "teams")
        await run.press("ctrl+n")
        await run.see("New team", "Title", "Members", "Harbour")
        await run.press(*"Divers", "tab", "tab")
        await run.see("Meeting place of the team")
        await run.type("far beyond the mole")
        await run.see("Harbour may have at most 12 characters.")
        await run.press("ctrl+u", *"West", "ctrl+s")
        (sent,) = run.gate.sent(CreateTeamWithHarbour)
        assert (sent.title, sent.harbour) == ("Divers", "West")
