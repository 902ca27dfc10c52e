"""Roles on spaces and collections, and the resulting access."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, permissions, spaces, teams
from octavo.api.operation import CollectionRef, Operation, Shared
from octavo.api.organizations import Role
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, PEOPLE, START, Ask, Clock, check_refused, space_with

KINDS = pytest.mark.parametrize("kind", ["space", "collection"])


async def _place(ask: Ask, kind: str) -> Shared:
    """Create a space or collection of acme that only administrators see."""
    if kind == "space":
        space = await space_with(ask)
        await ask(spaces.Update(at=space.ref, default_level=None))
        return space.ref
    collection = await ask(collections.Create(at=ACME, title="Manuals"))
    at = CollectionRef(collection_id=collection.id)
    await ask(collections.Update(at=at, default_level=None))
    return at


async def _team(ask: Ask, *members: str, title: str = "Writers") -> str:
    return (await ask(teams.Create(at=ACME, title=title, members=members))).id


async def _users(ask: Ask, at: Shared) -> dict[str, str]:
    """Return the users with a direct role at a place."""
    return {each.user.id: each.permission for each in (await ask(permissions.ListUsers(at=at))).items}


async def _effective_roles(ask: Ask, at: Shared, user: str = "ada", role: Role | None = None) -> dict[str, str]:
    """Return the resulting role of each user who has access to a space or collection."""
    op = permissions.ListAggregate(at=at, role=role) if role else permissions.ListAggregate(at=at)
    return {each.user.id: each.permission for each in (await ask(op, user)).items}


@KINDS
async def test_role_of_a_user_is_granted_changed_and_removed(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    await ask(permissions.Grant(at=at, role="edit", users=("gil", "sam")))
    assert ask.last.status_code == 204
    assert await _users(ask, at) == {"gil": "edit", "sam": "edit"}
    assert ask.last.json()["items"][0]["user"]["object"] == "user"
    await ask(permissions.UpdateUser(at=at, user_id="gil", role="comment"))
    assert await _effective_roles(ask, at) == {"ada": "admin", "gil": "comment", "sam": "edit"}
    await ask(permissions.DeleteUser(at=at, user_id="gil"))
    await ask(permissions.UpdateUser(at=at, user_id="sam", role=None))
    assert await _effective_roles(ask, at) == {"ada": "admin"}


@KINDS
async def test_role_of_a_team_is_granted_changed_and_removed(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    team = await _team(ask, "gil", "zoe")
    await ask(permissions.Grant(at=at, role="review", teams=(team,)))
    listed = (await ask(permissions.ListTeams(at=at))).items
    assert [(each.permission, each.team.title, each.team.members) for each in listed] == [("review", "Writers", 2)]
    assert await _effective_roles(ask, at) == {"ada": "admin", "zoe": "review", "gil": "review"}
    assert await _users(ask, at) == {}
    await ask(permissions.UpdateTeam(at=at, team_id=team, role="read"))
    assert await _effective_roles(ask, at, role="read") == {"zoe": "read", "gil": "read"}
    await ask(permissions.DeleteTeam(at=at, team_id=team))
    assert await _effective_roles(ask, at) == {"ada": "admin"}
    assert (await ask(permissions.ListTeams(at=at))).items == ()


async def test_highest_granted_role_counts(ask: Ask) -> None:
    """Roles come from the user, a team, the collection, and the organization as far as the default level allows."""
    outer = await ask(collections.Create(at=ACME, title="Outer"))
    inner = await ask(collections.Create(at=ACME, title="Inner", parent=outer.id))
    space = await space_with(ask, parent=inner.id)
    around = CollectionRef(collection_id=outer.id)
    await ask(collections.Update(at=around, default_level="comment"))
    readers, editors = await _team(ask, "gil", "mia"), await _team(ask, "gil", "sam", title="Editors")
    await ask(permissions.Grant(at=space.ref, role="read", teams=(readers,), users=("gil",)))
    await ask(permissions.Grant(at=around, role="edit", teams=(editors,), users=("zoe",)))
    expected = {"ada": "admin", "mia": "comment", "tom": "comment", "jun": "comment", "zoe": "edit", "sam": "edit"}
    assert await _effective_roles(ask, space.ref) == {**expected, "gil": "edit"}
    assert await _effective_roles(ask, space.ref, role="edit") == {"zoe": "edit", "sam": "edit", "gil": "edit"}
    seen = await ask(spaces.Get(at=space.ref), "gil")
    assert (seen.permissions.edit, seen.permissions.review) == (True, False)


async def test_role_on_a_space_gives_no_role_on_its_collection(ask: Ask) -> None:
    at = await _place(ask, "collection")
    assert isinstance(at, CollectionRef)
    space = await space_with(ask, parent=at.collection_id)
    await ask(permissions.Grant(at=space.ref, role="admin", users=("gil",)))
    assert await _effective_roles(ask, at) == {"ada": "admin"}
    assert await _effective_roles(ask, space.ref, "gil") == {"ada": "admin", "gil": "admin"}


async def test_disabled_member_has_no_role(ask: Ask, context: RequestContext) -> None:
    at = await _place(ask, "space")
    await ask(permissions.Grant(at=at, role="edit", users=("sam",)))
    context.store.update("/orgs/acme/members/sam", disabled=True)
    assert await _effective_roles(ask, at) == {"ada": "admin"}


@KINDS
async def test_only_admins_of_a_space_or_collection_change_its_roles(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    team = await _team(ask, "tom")
    await ask(permissions.Grant(at=at, role="create", users=("mia", "gil"), teams=(team,)))
    for op in (
        permissions.Grant(at=at, role="admin", users=("mia",)),
        permissions.UpdateUser(at=at, user_id="mia", role="admin"),
        permissions.DeleteUser(at=at, user_id="gil"),
        permissions.UpdateTeam(at=at, team_id=team, role="admin"),
        permissions.DeleteTeam(at=at, team_id=team),
    ):
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    assert await _effective_roles(ask, at) == {"ada": "admin", "mia": "create", "tom": "create", "gil": "create"}
    await ask(permissions.UpdateUser(at=at, user_id="gil", role="admin"))
    await ask(permissions.DeleteUser(at=at, user_id="mia"), "gil")
    assert set(await _users(ask, at)) == {"gil"}


@KINDS
async def test_guest_sees_other_members_only_as_admin(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    await ask(permissions.Grant(at=at, role="create", users=("gil", "sam")))
    listings: tuple[Operation[Any], ...] = (
        permissions.ListUsers(at=at),
        permissions.ListTeams(at=at),
        permissions.ListAggregate(at=at),
    )
    for op in listings:
        assert "Guests cannot" in await check_refused(ask(op, "gil"), 403)
        await ask(op, "sam")
    await ask(permissions.UpdateUser(at=at, user_id="gil", role="admin"))
    assert "gil" in await _effective_roles(ask, at, "gil")


@KINDS
async def test_users_without_a_role_do_not_find_the_space(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    for user in ("eve", "gil", "mia"):
        await check_refused(ask(permissions.ListAggregate(at=at), user), 404)
        await check_refused(ask(permissions.Grant(at=at, role="read", users=("gil",)), user), 404)


@KINDS
async def test_grant_to_an_unknown_user_or_team_is_refused(ask: Ask, kind: str) -> None:
    at = await _place(ask, kind)
    sentence = await check_refused(ask(permissions.Grant(at=at, role="read", users=("gil", "eve"))), 404)
    assert "member “eve”" in sentence
    assert "team “x”" in await check_refused(
        ask(permissions.Grant(at=at, role="read", users=("gil",), teams=("x",))), 404
    )
    assert await _users(ask, at) == {}
    await check_refused(ask(permissions.UpdateUser(at=at, user_id="gil", role="read")), 404)
    await check_refused(ask(permissions.UpdateTeam(at=at, team_id="x", role="read")), 404)
    await ask(permissions.DeleteUser(at=at, user_id="gil"))
    await ask(permissions.DeleteTeam(at=at, team_id="x"))
    assert ask.last.status_code == 204


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"role": "read"}, "users or teams is required"),
        ({"users": ["gil"]}, "role is required."),
        ({"role": "king", "users": ["gil"]}, "role must be one of"),
        ({"role": "read", "users": []}, "users must have at least 1 item."),
        ({"role": "read", "teams": []}, "teams must have at least 1 item."),
    ],
)
async def test_invalid_grant_is_refused(ask: Ask, body: dict[str, object], sentence: str) -> None:
    space = await space_with(ask)
    answer = await ask.http("POST", f"/v1/spaces/{space.id}/permissions", json=body)
    assert (answer.status_code, answer.json()["error"]["message"][: len(sentence)]) == (400, sentence)


async def test_grant_of_no_role_removes_the_role(ask: Ask) -> None:
    at = await _place(ask, "space")
    await ask(permissions.Grant(at=at, role="edit", users=("sam", "zoe")))
    await ask(permissions.Grant(at=at, role=None, users=("zoe",)))
    assert await _users(ask, at) == {"sam": "edit"}


async def test_pages_of_members_stay_consistent_while_members_join(ask: Ask, context: RequestContext) -> None:
    at = (await space_with(ask)).ref
    listing = permissions.ListAggregate(at=at, limit=4)
    first = await ask(listing)
    context.store.put("/orgs/acme/members/new", {"id": "new", "role": "read", "joinedAt": iso(START)})
    context.store.delete("/orgs/acme/members/mia")
    assert first.next is not None
    second = await ask(listing.model_copy(update={"page": first.next.page}))
    assert [each.user.id for each in (*first.items, *second.items)] == ["ada", "mia", "tom", "jun", "zoe", "sam", "new"]


async def test_spaces_of_a_member_are_visible_to_both_users(ask: Ask, clock: Clock) -> None:
    made = []
    for title in ("First", "Second", "Hidden"):
        made.append(await space_with(ask, title))
        clock.forward(days=1)
    hidden = made[2]
    await ask(spaces.Update(at=hidden.ref, default_level=None))
    await ask(permissions.Grant(at=hidden.ref, role="edit", users=("sam",)))
    listing = permissions.ListOfMember(at=ACME, user_id="sam")

    async def listed(op: permissions.ListOfMember, user: str) -> list[tuple[str, str]]:
        return [(each.space.title, each.permission) for each in (await ask(op, user)).items]

    assert await listed(listing, "ada") == [("Hidden", "edit"), ("Second", "read"), ("First", "read")]
    assert await listed(listing, "sam") == await listed(listing, "ada")
    assert await listed(listing, "mia") == [("Second", "read"), ("First", "read")]
    oldest_first = permissions.ListOfMember(at=ACME, user_id="sam", order="asc", limit=2)
    assert await listed(oldest_first, "ada") == [("First", "read"), ("Second", "read")]
    assert await listed(permissions.ListOfMember(at=ACME, user_id="gil"), "gil") == []
    assert "Guests cannot" in await check_refused(ask(listing, "gil"), 403)
    await check_refused(ask(permissions.ListOfMember(at=ACME, user_id="eve")), 404)


async def test_space_shared_with_a_team_is_not_transferred(ask: Ask, context: RequestContext) -> None:
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    for user in PEOPLE:
        context.store.put(f"/orgs/other/members/{user}", {"id": user, "role": "admin", "joinedAt": iso(START)})
    at = (await space_with(ask)).ref
    team = await _team(ask, "sam")
    await ask(permissions.Grant(at=at, role="read", teams=(team,)))
    assert "shared with teams" in await check_refused(ask(spaces.Transfer(at=at, organization="other")), 412)
    await ask(permissions.DeleteTeam(at=at, team_id=team))
    assert (await ask(spaces.Transfer(at=at, organization="other"))).organization == "other"
