"""Teams, and the users who may manage them."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, permissions, spaces, teams
from octavo.api.operation import CollectionRef, Operation
from octavo.api.teams import NewMembership, Team
from tests.api.test_folding import ALIKE
from tests.server.small_platform import ACME, Ask, check_refused, space_with


async def _make(ask: Ask, title: str = "Writers", *members: str) -> Team:
    return await ask(teams.Create(at=ACME, title=title, members=members))


async def _members(ask: Ask, team: Team) -> dict[str, str]:
    """Return the members of a team with their roles."""
    listed = (await ask(teams.ListMembers(at=ACME, team_id=team.id))).items
    return {each.organization.id: each.team.role for each in listed}


async def _titles(ask: Ask, user: str = "ada", **options: str) -> list[str]:
    return [each.title for each in (await ask(teams.List.model_validate({"at": ACME, **options}), user)).items]


async def test_team_is_created_read_renamed_and_deleted(ask: Ask) -> None:
    team = await _make(ask, "Writers", "mia", "ada")
    assert ask.last.json()["object"] == "team"
    assert (team.title, team.members, team.spaces, team.permissions.admin) == ("Writers", 2, 0, True)
    assert team.created_at is not None
    assert await ask(teams.Get(at=ACME, team_id=team.id)) == team
    assert await _members(ask, team) == {"mia": "member", "ada": "owner"}
    renamed = await ask(teams.Update(at=ACME, team_id=team.id, title="Authors"))
    assert renamed == team.model_copy(update={"title": "Authors"})
    await ask(teams.Delete(at=ACME, team_id=team.id))
    assert await _titles(ask) == []
    await check_refused(ask(teams.Get(at=ACME, team_id=team.id)), 404)
    await ask(teams.Delete(at=ACME, team_id=team.id))
    assert ask.last.status_code == 204


async def test_teams_are_found_by_title_and_owner(ask: Ask) -> None:
    await _make(ask, "Writers")
    editors = await _make(ask, "Editors", "mia", "jun")
    await ask(teams.AddMember(at=ACME, team_id=editors.id, user_id="mia", role="owner"))
    assert await _titles(ask) == ["Writers", "Editors"]
    assert await _titles(ask, title="EDIT") == ["Editors"]
    assert await _titles(ask, owner="mia") == ["Editors"]
    assert await _titles(ask, owner="jun") == []
    assert await _titles(ask, owner="ada") == ["Writers", "Editors"]


@pytest.mark.parametrize(
    ("method", "body", "sentence"),
    [
        ("PUT", {"title": ""}, "title must have at least 1 character."),
        ("PUT", {"title": "x" * 65}, "title may have at most 64 characters."),
        ("PUT", {}, "title is required."),
        ("PATCH", {}, "The body contains no changes. Give at least one field."),
        ("PATCH", {"title": "x" * 65}, "title may have at most 64 characters."),
    ],
)
async def test_values_beyond_the_limits_of_a_team_are_refused(
    ask: Ask, method: str, body: dict[str, object], sentence: str
) -> None:
    team = await _make(ask)
    url = "/v1/orgs/acme/teams" if method == "PUT" else f"/v1/orgs/acme/teams/{team.id}"
    answer = await ask.http(method, url, json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, sentence)


async def test_members_are_added_removed_and_made_owners(ask: Ask) -> None:
    team = await _make(ask, "Writers", "mia")
    await ask(teams.AddMember(at=ACME, team_id=team.id, user_id="sam"))
    assert ask.last.status_code == 204
    await ask(teams.AddMember(at=ACME, team_id=team.id, user_id="mia", role="owner"))
    await ask(teams.AddMember(at=ACME, team_id=team.id, user_id="mia"))
    assert await _members(ask, team) == {"mia": "owner", "sam": "member"}
    await ask(teams.DeleteMember(at=ACME, team_id=team.id, user_id="sam"))
    await ask(teams.DeleteMember(at=ACME, team_id=team.id, user_id="sam"))
    assert await _members(ask, team) == {"mia": "owner"}


async def test_several_members_change_at_once(ask: Ask) -> None:
    team = await _make(ask, "Writers", "mia", "tom")
    memberships = {"jun": NewMembership(role="owner"), "zoe": NewMembership(role="member")}
    await ask(
        teams.UpdateMembers(
            at=ACME, team_id=team.id, add=("Zoe@Acme.example", "sam"), remove=("tom@acme.example",), memberships=memberships
        )
    )  # fmt: skip
    assert ask.last.status_code == 204
    assert await _members(ask, team) == {"mia": "member", "zoe": "member", "sam": "member", "jun": "owner"}
    for unknown in ("eve", "eve@acme.example", "nobody@acme.example"):
        op = teams.UpdateMembers(at=ACME, team_id=team.id, remove=("mia",), add=(unknown,))
        assert "There is no member" in await check_refused(ask(op), 404)
    assert "mia" in await _members(ask, team)


async def test_error_in_a_change_of_several_members_is_named(ask: Ask) -> None:
    team = await _make(ask)
    answer = await ask.http("PUT", f"/v1/orgs/acme/teams/{team.id}/members", json={"add": ["a/b"]})
    assert (answer.status_code, answer.json()["error"]["message"][:7]) == (400, "add[0] ")
    body = {"memberships": {"mia": {"role": "king"}}}
    answer = await ask.http("PUT", f"/v1/orgs/acme/teams/{team.id}/members", json=body)
    assert answer.json()["error"]["message"] == "memberships.mia.role must be one of 'owner' or 'member'."


async def test_owners_and_admins_manage_a_team(ask: Ask) -> None:
    team = await _make(ask, "Writers", "mia", "tom")
    ops: list[Operation[Any]] = [
        teams.Update(at=ACME, team_id=team.id, title="Mine"),
        teams.AddMember(at=ACME, team_id=team.id, user_id="sam"),
        teams.UpdateMembers(at=ACME, team_id=team.id, add=("sam",)),
        teams.DeleteMember(at=ACME, team_id=team.id, user_id="sam"),
        teams.Delete(at=ACME, team_id=team.id),
    ]
    for op in ops:
        assert "Only owners of the team “Writers”" in await check_refused(ask(op, "mia"), 403)
    await ask(teams.AddMember(at=ACME, team_id=team.id, user_id="mia", role="owner"))
    assert (await ask(teams.Get(at=ACME, team_id=team.id), "mia")).permissions.admin
    assert not (await ask(teams.Get(at=ACME, team_id=team.id), "tom")).permissions.admin
    for op in ops:
        await ask(op, "mia")
    assert await _titles(ask) == []


async def test_only_admins_create_teams(ask: Ask) -> None:
    assert "need the Admin role" in await check_refused(ask(teams.Create(at=ACME, title="Mine"), "mia"), 403)
    assert "member “eve”" in await check_refused(ask(teams.Create(at=ACME, title="Ours", members=("eve",))), 404)
    assert await _titles(ask) == []


async def test_every_member_may_leave_a_team(ask: Ask) -> None:
    team = await _make(ask, "Writers", "mia", "gil")
    await ask(teams.DeleteMember(at=ACME, team_id=team.id, user_id="gil"), "gil")
    assert await _members(ask, team) == {"mia": "member"}


async def test_guests_see_only_their_own_teams(ask: Ask) -> None:
    team = await _make(ask, "Writers", "gil", "mia")
    for op in (
        teams.List(at=ACME),
        teams.Get(at=ACME, team_id=team.id),
        teams.ListMembers(at=ACME, team_id=team.id),
        teams.ListOfMember(at=ACME, user_id="mia"),
    ):
        assert "Guests cannot" in await check_refused(ask(op, "gil"), 403)
        await check_refused(ask(op, "eve"), 404)
    assert len((await ask(teams.ListOfMember(at=ACME, user_id="gil"), "gil")).items) == 1


async def test_unknown_team_has_no_members(ask: Ask) -> None:
    for op in (
        teams.ListMembers(at=ACME, team_id="x"),
        teams.AddMember(at=ACME, team_id="x", user_id="mia"),
        teams.UpdateMembers(at=ACME, team_id="x", add=("mia",)),
        teams.Update(at=ACME, team_id="x", title="X"),
    ):
        assert "team “x”" in await check_refused(ask(op), 404)
    await check_refused(ask(teams.AddMember(at=ACME, team_id=(await _make(ask)).id, user_id="eve")), 404)


async def test_teams_of_a_member_have_the_role_in_the_team(ask: Ask) -> None:
    await _make(ask, "Writers", "mia", "ada")
    editors = await _make(ask, "Editors", "mia")
    await _make(ask, "Others", "tom")
    await ask(teams.AddMember(at=ACME, team_id=editors.id, user_id="mia", role="owner"))
    listed = (await ask(teams.ListOfMember(at=ACME, user_id="mia"), "tom")).items
    assert [(each.team.title, each.member.role) for each in listed] == [("Writers", "member"), ("Editors", "owner")]
    some = (await ask(teams.ListOfMember(at=ACME, user_id="mia", title="WRIT"))).items
    assert [each.team.title for each in some] == ["Writers"]
    await check_refused(ask(teams.ListOfMember(at=ACME, user_id="eve")), 404)


async def test_spaces_of_a_team_are_those_with_a_role(ask: Ask) -> None:
    team = await _make(ask, "Writers", "gil")
    shelf = await ask(collections.Create(at=ACME, title="Manuals"))
    await space_with(ask, "Inside", parent=shelf.id)
    direct, gone = await space_with(ask, "Direct"), await space_with(ask, "Gone")
    await space_with(ask, "Other")
    for at in (CollectionRef(collection_id=shelf.id), direct.ref, gone.ref):
        await ask(permissions.Grant(at=at, role="read", teams=(team.id,)))
    await ask(spaces.Delete(at=gone.ref))
    assert (await ask(teams.Get(at=ACME, team_id=team.id))).spaces == 2
    assert [each.title for each in (await ask(spaces.List(at=ACME), "gil")).items] == ["Inside", "Direct"]


async def test_deleting_a_team_removes_its_roles(ask: Ask) -> None:
    team = await _make(ask, "Writers", "gil")
    space = await space_with(ask)
    shelf = CollectionRef(collection_id=(await ask(collections.Create(at=ACME, title="Manuals"))).id)
    for at in (space.ref, shelf):
        await ask(permissions.Grant(at=at, role="edit", teams=(team.id,)))
    await ask(spaces.Get(at=space.ref), "gil")
    await ask(teams.Delete(at=ACME, team_id=team.id))
    await check_refused(ask(spaces.Get(at=space.ref), "gil"), 404)
    for at in (space.ref, shelf):
        assert (await ask(permissions.ListTeams(at=at))).items == ()


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", [pair for name, pair in ALIKE.items() if name != "soft hyphen"])
async def test_team_titles_match_letters_that_look_alike(ask: Ask, pair: tuple[str, str], stored: int) -> None:
    await _make(ask, "Writers")
    await _make(ask, f"On {pair[stored]}")
    assert await _titles(ask, title=pair[1 - stored]) == [f"On {pair[stored]}"]
