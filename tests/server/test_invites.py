"""Invitations by e-mail and by link."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, invites, organizations, permissions, spaces
from octavo.api.invites import Invitation, InviteLink
from octavo.api.operation import CollectionRef, Operation
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, check_refused, space_with


async def _roles(ask: Ask) -> dict[str | None, str | None]:
    """Return the roles of the users who just joined, by e-mail address."""
    listed = (await ask(organizations.ListMembers(at=ACME, search="new"))).items
    return {each.user.email: each.role for each in listed}


async def _links(ask: Ask, user: str = "ada") -> list[InviteLink]:
    return list((await ask(invites.ListLinks(at=ACME), user)).items)


async def test_invitation_has_a_role_per_user_or_for_all(ask: Ask) -> None:
    emails = ("new.one@x.example", Invitation(email="new.two@x.example", role="review"))
    answer = await ask(invites.Invite(at=ACME, emails=emails, role="edit"))
    assert (len(answer.users), answer.invited, answer.failed_sso_emails) == (2, 2, ())
    assert await _roles(ask) == {"new.one@x.example": "edit", "new.two@x.example": "review"}


async def test_invitation_without_a_role_gets_the_default_role(ask: Ask) -> None:
    await ask(invites.Invite(at=ACME, emails=("new.a@x.example",)))
    await ask(organizations.Update(at=ACME, default_role="comment"))
    await ask(invites.Invite(at=ACME, emails=("new.b@x.example",)))
    await ask(invites.Invite(at=ACME, emails=("new.c@x.example",), role=None))
    assert await _roles(ask) == {"new.a@x.example": None, "new.b@x.example": "comment", "new.c@x.example": None}


async def test_known_users_keep_accounts_and_members_their_roles(ask: Ask) -> None:
    emails = ("EVE@acme.example", "eve@acme.example", "sam@acme.example")
    answer = await ask(invites.Invite(at=ACME, emails=emails, role="admin"))
    assert (answer.users, answer.invited) == (("eve", "sam"), 1)
    assert (await ask(organizations.GetMember(at=ACME, user_id="sam"))).role == "read"
    assert (await ask(organizations.Get(at=ACME), "eve")).permissions.admin


async def test_addresses_outside_the_domains_cannot_sign_on_through_the_provider(ask: Ask) -> None:
    await ask(organizations.Update(at=ACME, email_domains=("acme.example",)))
    emails = ("new.in@Acme.example", "new.out@x.example")
    answer = await ask(invites.Invite(at=ACME, emails=emails, role="read", sso=True))
    assert (answer.invited, answer.failed_sso_emails) == (1, ("new.out@x.example",))
    assert (await ask(organizations.GetMember(at=ACME, user_id=answer.users[0]))).sso


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "emails is required."),
        ({"emails": ["nobody"]}, "emails[0] "),
        ({"emails": [{"email": "a@b.example"}]}, "emails[0]"),
        ({"emails": ["a@b.example"], "role": "king"}, "role must be one of"),
    ],
)
async def test_invalid_invitation_is_refused(ask: Ask, body: dict[str, object], sentence: str) -> None:
    answer = await ask.http("POST", "/v1/orgs/acme/invites", json=body)
    assert (answer.status_code, answer.json()["error"]["message"][: len(sentence)]) == (400, sentence)


async def test_only_admins_invite(ask: Ask) -> None:
    op = invites.Invite(at=ACME, emails=("new@x.example",), role="admin")
    assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    assert "need the Admin role" in await check_refused(ask(invites.CreateLink(at=ACME, role="admin"), "mia"), 403)


async def test_invite_link_to_the_organization_is_created_changed_deleted(ask: Ask) -> None:
    link = await ask(invites.CreateLink(at=ACME, role="edit"))
    assert ask.last.status_code == 201
    assert (link.role, link.level, link.space, link.redundant) == ("edit", None, None, False)
    assert ask.last.json()["object"] == "invite"
    assert "organization" not in ask.last.json()
    assert await ask(invites.GetLink(at=ACME, invite_id=link.id)) == link
    assert (await ask(invites.UpdateLink(at=ACME, invite_id=link.id, role="read"))).role == "read"
    assert (await ask(invites.UpdateLink(at=ACME, invite_id=link.id, role=None))).role is None
    assert [each.id for each in await _links(ask)] == [link.id]
    await ask(invites.DeleteLink(at=ACME, invite_id=link.id))
    assert await _links(ask) == []
    await ask(invites.DeleteLink(at=ACME, invite_id=link.id))
    assert ask.last.status_code == 204
    for op in (
        invites.GetLink(at=ACME, invite_id=link.id),
        invites.UpdateLink(at=ACME, invite_id=link.id, role="read"),
    ):
        assert "invite link “" in await check_refused(ask(op), 404)


async def test_invite_link_to_a_space_or_collection_has_a_level(ask: Ask) -> None:
    space = await space_with(ask)
    shelf = await ask(collections.Create(at=ACME, title="Manuals"))
    into_space = await ask(invites.CreateLink(at=ACME, level="edit", space=space.id))
    into_shelf = await ask(invites.CreateLink(at=ACME, level="read", collection=shelf.id))
    assert (into_space.level, into_space.space, into_space.role) == ("edit", space.id, None)
    assert (into_shelf.level, into_shelf.collection) == ("read", shelf.id)
    assert (await ask(invites.UpdateLink(at=ACME, invite_id=into_shelf.id, level="create"))).level == "create"


async def test_invite_link_has_exactly_one_form(ask: Ask) -> None:
    space = await space_with(ask)
    for body in (
        {},
        {"level": "read"},
        {"space": space.id},
        {"role": "read", "space": space.id},
        {"level": None, "space": space.id},
    ):
        answer = await ask.http("POST", "/v1/orgs/acme/link-invites", json=body)
        assert answer.status_code == 400, body
    link = await ask(invites.CreateLink(at=ACME, role="read"))
    assert "Give either a role" in await check_refused(
        ask(invites.UpdateLink(at=ACME, invite_id=link.id, level="edit")), 400
    )


async def test_invite_link_to_a_space_of_another_organization_is_refused(ask: Ask, context: RequestContext) -> None:
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    context.store.put("/collections/far", {"id": "far", "title": "Far", "organization": "other"})
    assert "space “x”" in await check_refused(ask(invites.CreateLink(at=ACME, level="read", space="x")), 404)
    assert "collection “far”" in await check_refused(
        ask(invites.CreateLink(at=ACME, level="read", collection="far")), 404
    )


async def test_invite_link_to_a_transferred_space_can_be_deleted(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask)
    link = await ask(invites.CreateLink(at=ACME, level="edit", space=space.id))
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    context.store.put("/orgs/other/members/ada", {"id": "ada", "role": "admin", "joinedAt": iso(START)})
    await ask(spaces.Transfer(at=space.ref, organization="other"))
    context.store.delete("/orgs/other/members/ada")
    assert [(each.id, each.redundant) for each in await _links(ask)] == [(link.id, True)]
    await ask(invites.DeleteLink(at=ACME, invite_id=link.id))
    assert await _links(ask) == []


async def test_admin_of_a_space_manages_its_invite_links(ask: Ask) -> None:
    space = await space_with(ask)
    await ask(invites.CreateLink(at=ACME, role="read"))
    await ask(permissions.Grant(at=space.ref, role="admin", users=("zoe",)))
    link = await ask(invites.CreateLink(at=ACME, level="read", space=space.id), "zoe")
    assert [each.id for each in await _links(ask, "zoe")] == [link.id]
    assert len(await _links(ask)) == 2
    assert await _links(ask, "mia") == []
    ops: tuple[Operation[Any], ...] = (
        invites.GetLink(at=ACME, invite_id=link.id),
        invites.UpdateLink(at=ACME, invite_id=link.id, level="admin"),
        invites.DeleteLink(at=ACME, invite_id=link.id),
    )
    for op in ops:
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
        await ask(op, "zoe")


async def test_invite_link_is_redundant_if_another_grants_the_same_role(ask: Ask) -> None:
    space, gone = await space_with(ask), await space_with(ask)
    await ask(invites.CreateLink(at=ACME, role="read"))
    await ask(invites.CreateLink(at=ACME, role="edit"))
    await ask(invites.CreateLink(at=ACME, role="edit"))
    await ask(invites.CreateLink(at=ACME, level="read", space=space.id))
    await ask(invites.CreateLink(at=ACME, level="read", space=gone.id))
    await ask(spaces.Delete(at=gone.ref))
    assert [each.redundant for each in await _links(ask)] == [True, False, True, False, True]


def test_embedded_space_of_an_invite_link_is_reduced_to_its_id() -> None:
    link = InviteLink.model_validate({"id": "i", "level": "read", "space": {"object": "space", "id": "s"}})
    assert (link.space, link.collection) == ("s", None)


async def test_list_of_invite_links_is_paged(ask: Ask) -> None:
    made = [(await ask(invites.CreateLink(at=ACME, role="read"))).id for _ in range(3)]
    first = await ask(invites.ListLinks(at=ACME, limit=2))
    assert first.next is not None
    second = await ask(invites.ListLinks(at=ACME, limit=2, page=first.next.page))
    assert [each.id for each in (*first.items, *second.items)] == made


async def test_guest_admin_of_a_collection_creates_its_links(ask: Ask) -> None:
    shelf = await ask(collections.Create(at=ACME, title="Manuals"))
    await ask(permissions.Grant(at=CollectionRef(collection_id=shelf.id), role="admin", users=("gil",)))
    assert (await ask(invites.CreateLink(at=ACME, level="read", collection=shelf.id), "gil")).level == "read"
