"""Members are changed and removed, leave, and sign in with SSO. Lists of members are tested in test_organizations."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, organizations, permissions, reviews, spaces, teams
from octavo.api.operation import ChangeRequestRef, Operation
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, Clock, check_refused, space_with


async def test_administrators_change_roles_and_make_guests(ask: Ask) -> None:
    changed = await ask(organizations.UpdateMember(at=ACME, user_id="sam", role="edit"))
    assert (changed.role, changed.user.display_name) == ("edit", "Sam Lund")
    space = await space_with(ask)
    assert (await ask(spaces.Get(at=space.ref), "sam")).permissions.edit
    guest = await ask(organizations.UpdateMember(at=ACME, user_id="sam", role=None))
    assert guest.role is None
    await check_refused(ask(spaces.Get(at=space.ref), "sam"), 404)
    assert await ask(organizations.GetMember(at=ACME, user_id="sam")) == guest


async def test_guests_read_only_their_own_member(ask: Ask) -> None:
    assert (await ask(organizations.GetMember(at=ACME, user_id="gil"), "gil")).user.email == "gil@acme.example"
    await check_refused(ask(organizations.GetMember(at=ACME, user_id="ada"), "gil"), 403)


async def test_other_roles_cannot_change_members(ask: Ask) -> None:
    ops: list[Operation[Any]] = [
        organizations.UpdateMember(at=ACME, user_id="mia", role="admin"),
        organizations.DeleteMember(at=ACME, user_id="sam"),
        organizations.EnrollMember(at=ACME, user_id="mia"),
    ]
    for op in ops:
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
        await check_refused(ask(op, "gil"), 403)
    await check_refused(ask(ops[0], "eve"), 404)


async def test_last_admin_cannot_be_demoted_or_removed(ask: Ask) -> None:
    demote = organizations.UpdateMember(at=ACME, user_id="ada", role="edit")
    for op in (demote, organizations.UpdateMember(at=ACME, user_id="ada", role=None)):
        assert "Ada Lund is the only admin of the organization" in await check_refused(ask(op), 409)
    assert "only admin" in await check_refused(ask(organizations.DeleteMember(at=ACME, user_id="ada")), 409)
    await ask(organizations.UpdateMember(at=ACME, user_id="ada", role="admin"))
    await ask(organizations.UpdateMember(at=ACME, user_id="mia", role="admin"))
    assert (await ask(demote)).role == "edit"


async def test_change_of_an_unknown_member_is_refused(ask: Ask) -> None:
    for op in (
        organizations.UpdateMember(at=ACME, user_id="eve", role="read"),
        organizations.EnrollMember(at=ACME, user_id="eve"),
    ):
        assert "member “eve”" in await check_refused(ask(op), 404)
    await ask(organizations.DeleteMember(at=ACME, user_id="eve"))
    assert ask.last.status_code == 204
    answer = await ask.http("PATCH", "/v1/orgs/acme/members/sam", json={"role": "king"})
    assert (answer.status_code, answer.json()["error"]["message"][:16]) == (400, "role must be one")


async def test_deleting_a_member_deletes_memberships_and_roles(ask: Ask, context: RequestContext) -> None:
    team = await ask(teams.Create(at=ACME, title="Writers", members=("tom", "mia")))
    space = await space_with(ask)
    await ask(permissions.Grant(at=space.ref, role="edit", users=("tom", "gil")))
    proposal = await ask(change_requests.Create(at=space.ref))
    at = ChangeRequestRef(space_id=space.id, change_request_id=proposal.id)
    await ask(reviews.Request(at=at, users=("tom",)))
    await ask(organizations.DeleteMember(at=ACME, user_id="tom"))
    assert (await ask(teams.Get(at=ACME, team_id=team.id))).members == 1
    assert [each.user.id for each in (await ask(permissions.ListUsers(at=space.ref))).items] == ["gil"]
    assert (await ask(reviews.ListRequested(at=at))).items == ()
    await check_refused(ask(spaces.Get(at=space.ref), "tom"), 404)
    context.store.put("/orgs/acme/members/tom", {"id": "tom", "role": None, "joinedAt": iso(START)})
    await check_refused(ask(spaces.Get(at=space.ref), "tom"), 404)


async def test_every_member_may_leave(ask: Ask) -> None:
    await ask(organizations.DeleteMember(at=ACME, user_id="gil"), "gil")
    await check_refused(ask(organizations.Get(at=ACME), "gil"), 404)


async def test_ping_updates_the_last_seen_time(ask: Ask, clock: Clock) -> None:
    clock.forward(days=3)
    seen = await ask(organizations.Ping(at=ACME), "gil")
    assert seen.platform_visitor_claims is None
    listed = (await ask(organizations.ListMembers(at=ACME, sort="lastSeenAt"))).items
    assert [(each.id, each.last_seen_at) for each in listed] == [("gil", clock.moment)]
    await check_refused(ask(organizations.Ping(at=ACME), "eve"), 404)


@pytest.mark.parametrize("name", ["platformVisitorClaims", "gitbookVisitorClaims"])
def test_visitor_claims_of_a_ping_are_read_under_both_names(name: str) -> None:
    claims = organizations.PingResult.model_validate({name: "x" * 500})
    assert claims.model_dump(by_alias=True) == {"platformVisitorClaims": "x" * 500}


async def test_member_signs_in_with_the_sso_provider(ask: Ask) -> None:
    for _ in range(2):
        assert (await ask(organizations.EnrollMember(at=ACME, user_id="sam"))).sso
    assert (await ask(organizations.GetMember(at=ACME, user_id="sam"))).sso


async def test_member_has_the_number_of_teams(ask: Ask) -> None:
    for title in ("One", "Two"):
        await ask(teams.Create(at=ACME, title=title, members=("sam",)))
    assert (await ask(organizations.GetMember(at=ACME, user_id="sam"))).teams == 2


async def test_email_domain_lists_organizations_of_the_caller(ask: Ask, context: RequestContext) -> None:
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    await ask(organizations.Update(at=ACME, email_domains=("Acme.example", "acme.test")))

    async def found(domain: str, user: str) -> list[str]:
        answer = await ask(organizations.ListByEmailDomain(email_domain=domain), user)
        return [each.id for each in answer.organizations]

    assert await found("acme.EXAMPLE", "eve") == ["acme"]
    assert await found("acme.test", "gil") == ["acme"]
    assert await found("acme.test", "eve") == []
    assert await found("other.example", "ada") == []
    assert (await ask.http("GET", "/v1/email-domains/no@domain/orgs")).status_code == 400
