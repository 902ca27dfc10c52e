"""Roles in spaces and collections are explained, assigned and removed."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, organizations, permissions, spaces, teams
from octavo.api.errors import NotFound
from octavo.api.operation import CollectionRef, Operation, OrganizationRef, Shared, SpaceRef
from octavo.server.demo.history import ORGANIZATION
from octavo.tui.resources import space_resources
from octavo.tui.resources.roles import role_sources
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Run, Stage
from tests.journeys.test_resources import browser, open_table, titles

HERE = OrganizationRef(organization_id=ORGANIZATION)
PRODUCTS = CollectionRef(collection_id="products")
API = SpaceRef(space_id="harbour-api")


async def assign_creator_role_to_field_crew(run: Run) -> None:
    """Choose the role and the team in the open form, and send it."""
    await run.type("creator")
    await run.press("enter", "tab", "enter")
    await run.see("Field crew")
    await run.type("Field")
    await run.press("enter", "escape", "ctrl+s")
    await run.hear("Assigned the Creator role to 1 team.")


async def open_item(run: Run, kind: str, name: str) -> None:
    """Open the item with this name in the table of a resource."""
    view = browser(run)
    depth = len(view.levels)
    await open_table(run, kind)
    view.rows.focus()
    await run.press("/", *name, "enter", "enter")
    await run.until(lambda: len(view.levels) == depth + 1, f"open {name}")


async def select_row(run: Run, name: str) -> None:
    view = browser(run)
    view.rows.focus()
    found = next(each for each in view.rows.items if view.level.resource.title(each) == name)
    assert view.rows.go_to(view.level.resource.key(found))


@pytest.mark.before_release
async def test_explained_role_of_each_member_matches_the_server(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        # The rules in the demo do not cover roles in several places, nor default access that excludes members.
        changes: tuple[Operation[Any], ...] = (
            permissions.Grant(at=PRODUCTS, role="create", teams=("field-crew",)),
            permissions.Grant(at=API, role="admin", users=("elin-brandt",)),
            permissions.Grant(at=CollectionRef(collection_id="instruments"), role="comment", users=("tomas-okafor",)),
            spaces.Update(at=SpaceRef(space_id="stations"), default_level=None),
            collections.Update(at=CollectionRef(collection_id="company"), default_level="comment"),
        )
        for op in changes:
            await run.ask(op, NOOR)
        live = run.app.session.live
        members = (await run.ask(organizations.ListMembers(at=HERE, limit=1000), NOOR)).items
        places: list[Shared] = [
            *(SpaceRef(space_id=each.id) for each in (await run.ask(spaces.List(at=HERE), NOOR)).items),
            *(CollectionRef(collection_id=each.id) for each in (await run.ask(collections.List(at=HERE), NOOR)).items),
        ]
        crews: dict[str, set[str]] = {}
        for team in (await run.ask(teams.List(at=HERE), NOOR)).items:
            for each in (await run.ask(teams.ListMembers(at=HERE, team_id=team.id, limit=1000), NOOR)).items:
                crews.setdefault(each.organization.user.id, set()).add(team.id)
        explained = 0
        for at in places:
            chain = await space_resources.load_role_scopes(live, HERE, at)
            listed = (await run.ask(permissions.ListAggregate(at=at, limit=1000), NOOR)).items
            counted = {each.user.id: each.permission for each in listed}
            for member in members:
                person = space_resources.with_teams(member, crews.get(member.user.id, set()))
                found = role_sources(person, chain, "Saltmarsh Instruments")
                highest = found[0].role if found else None
                assert highest == counted.get(member.user.id), (at, member.user.name, found)
                explained += bool(found)
        assert explained > len(places) * 200


async def test_role_in_a_deleted_collection_is_reported_as_not_found(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        (listed,) = (await run.ask(permissions.ListAggregate(at=PRODUCTS, limit=1), NOOR)).items
        await run.ask(collections.Delete(at=PRODUCTS), NOOR)
        arguments = {"at": PRODUCTS, "organization_id": ORGANIZATION}
        with pytest.raises(NotFound):
            await space_resources.explain_member_role(run.app.session.live, arguments, listed)


@pytest.mark.before_release
async def test_team_role_in_a_collection_lets_members_merge_in_its_spaces(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_item(run, "collections", "Products")
        await open_table(run, "members who can merge")
        assert "Yuki Tanabe" not in titles(run)
        await open_table(run, "teams")
        await run.press("ctrl+n")
        await run.see("Assign a role")
        await run.press("enter")
        await run.type("creator")
        await run.press("enter", "tab", "enter")
        await run.type("Harbour software")
        await run.press("enter", "escape")
        await run.press("ctrl+s")
        await run.until(lambda: titles(run) == ["Harbour software"], "list the team")
        await run.press("u")
        await run.until(lambda: not titles(run), "remove the team from the list")
        await run.ask(permissions.Grant(at=PRODUCTS, role="read", teams=("software",), users=("yuki-tanabe",)), NOOR)
        live = run.app.session.live
        for kind in (space_resources.MEMBER_ROLES, space_resources.TEAM_ROLES):
            await live.fetch(kind.list_operation({"at": PRODUCTS}))
        prepare_undo = space_resources.TEAM_ROLES.prepare_undo
        assert prepare_undo is not None
        given = permissions.Grant(at=PRODUCTS, role="create", teams=("software", "field-crew"), users=("yuki-tanabe",))
        ops = prepare_undo(live, {"at": PRODUCTS})(given)
        await run.ask(given, NOOR)
        for op in ops or ():
            await run.ask(op, NOOR)
        (team,) = (await run.ask(permissions.ListTeams(at=PRODUCTS), NOOR)).items
        (person,) = (await run.ask(permissions.ListUsers(at=PRODUCTS), NOOR)).items
        assert (team.team.id, team.permission, person.user.id, person.permission) == (
            "software",
            "read",
            "yuki-tanabe",
            "read",
        )
        await run.ask(permissions.DeleteUser(at=PRODUCTS, user_id="yuki-tanabe"), NOOR)
        await run.ask(permissions.UpdateTeam(at=PRODUCTS, team_id="software", role="create"), NOOR)
        await run.press("r")
        await run.until(lambda: titles(run) == ["Harbour software"], "list the team")
        await run.press("escape", "escape")
        await open_item(run, "spaces", "Harbour API")
        await open_table(run, "members who can merge")
        await run.until(lambda: "Yuki Tanabe" in titles(run), "list the member who can merge now")
        await select_row(run, "Yuki Tanabe")
        await run.see(
            "Yuki Tanabe can merge, review, edit, comment, and read in Harbour API:",
            "Creator in the collection Products, which contains Harbour software,",
            "through the team Harbour software, which includes Yuki Tanabe.",
        )


@pytest.mark.parametrize(("kind", "name"), [("members", "Yuki Tanabe"), ("teams", "Harbour software")])
async def test_removed_role_is_given_again_by_undo(stage: Stage, kind: str, name: str) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await run.ask(permissions.Grant(at=PRODUCTS, role="edit", teams=("software",), users=("yuki-tanabe",)), NOOR)
        await open_item(run, "collections", "Products")
        await open_table(run, kind)
        browser(run).rows.focus()
        await run.press("X", "y")
        await run.until(lambda: not titles(run), "remove the role")
        await run.press("u")
        await run.hear(f"Restored {name}.")
        await run.until(lambda: titles(run) == [name], "restore the role")
        await run.press("e", "enter")
        await run.see("removes the assigned role")
        await run.type("none")
        await run.press("enter", "ctrl+s")
        await run.until(lambda: not titles(run), "remove the role in the form")
        await run.press("u")
        await run.hear(f"Undid the change to {name}.")
        await run.until(lambda: titles(run) == [name], "restore the role again")
        assert browser(run).rows.items[0].permission == "edit"


@pytest.mark.before_release
async def test_access_of_a_space_opens_from_the_tree_with_reasons_for_roles(stage: Stage) -> None:
    async with stage.play(NOOR, start="content") as run:
        await run.see("Harbour API")
        await run.press("A")
        await run.see("Admin › Harbour API › Everyone with access")
        await select_row(run, "Mara Lindqvist")
        await run.see("Mara Lindqvist can merge, review, edit, comment, and read in Harbour API")
        await run.press("2")
        await run.see("Harbour API › Welcome")
        await run.press("escape")
        await run.see("SPACES", "Harbour software")
        await run.press("k", "A")
        await run.see("Admin › Harbour software › Everyone with access")
        await run.press("escape", "escape")
        await open_item(run, "members", "Mara Lindqvist")
        await select_row(run, "Limpet manual")
        await run.see("Mara Lindqvist can review, edit, comment, and read in Limpet manual:", "role to Reviewer.")


async def test_key_bar_of_a_table_shows_only_keys_that_change_its_items(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_item(run, "members", "Elin Brandt")
        await run.see("Elin Brandt › Spaces · 4")
        assert "edit" not in run.keybar
        assert "new" not in run.keybar
        assert "delete" not in run.keybar
        for key in ("e", "ctrl+n", "X"):
            await run.press(key)
            await run.hear("To change access, press enter to open the space, then go to Members.")
        await run.press("escape")
        await run.see("e edit  ctrl+n invite members  X remove from organization")
