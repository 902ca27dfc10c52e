"""Loads the reasons for a role in a space or collection, and returns them as facts for the details."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from octavo.api import collections, organizations, permissions, spaces, teams
from octavo.api.errors import ApiError
from octavo.api.operation import Listing
from octavo.api.paging import read_pages
from octavo.api.places import CollectionRef, OrganizationRef, Shared, SpaceRef
from octavo.data import access
from octavo.data.live import Live
from octavo.tui.resources.resource import PAGE_SIZE, Arguments, DetailFacts
from octavo.tui.widgets.safe_text import Words


async def role_facts_of_member(live: Live, known: Arguments, thing: permissions.UserPermission) -> DetailFacts:
    """Return why a member has a role in the open space or collection."""
    return await _role_facts(live, known, known["at"], thing.user.id, thing.permission)


async def role_facts_in_space(live: Live, known: Arguments, thing: permissions.SpacePermission) -> DetailFacts:
    """Return why the open member has a role in a space."""
    return await _role_facts(live, known, thing.space.ref, known["user_id"], thing.permission)


async def _role_facts(live: Live, known: Arguments, at: Shared, user: str, role: str) -> DetailFacts:
    organization = OrganizationRef(organization_id=known.get("organization_id") or known["at"].organization_id)
    named, member, in_teams, around = await asyncio.gather(
        live.known(organizations.Get(at=organization)),
        live.send(organizations.GetMember(at=organization, user_id=user)),
        load_all(live, teams.ListOfMember(at=organization, user_id=user, limit=PAGE_SIZE)),
        load_places(live, organization, at),
    )
    whom = with_teams(member, {each.team.id for each in in_teams})
    facts: list[tuple[str, Words]] = [("why", access.access_sentence(whom, around, named.title, role))]
    for way in access.role_sources(whom, around, named.title):
        facts.append((_SOURCE_LABELS[way.kind], way.description))
    if kept_out := access.no_access_reason(whom, around, named.title):
        facts.append(("organization", kept_out))
    return facts


_SOURCE_LABELS = {
    "direct": "direct",
    "team": "through a team",
    "inherited": "inherited",
    "inherited from team": "inherited",
    "organization": "organization",
    "administrator": "organization",
}
"""Labels of the sources of a role in the details."""


def with_teams(member: organizations.Member, in_teams: Iterable[str]) -> access.Person:
    """Return a member together with the IDs of their teams."""
    return access.Person(member.user.id, member.user.name, member.role, frozenset(in_teams), member.disabled)


async def load_places(live: Live, organization: OrganizationRef, at: Shared) -> Sequence[access.Place]:
    """Return the space or collection and all collections around it, innermost first, with the roles assigned there."""
    shelves = {each.id: each for each in await load_all(live, collections.List(at=organization, limit=PAGE_SIZE))}
    holder: spaces.Space | collections.Collection | None
    if isinstance(at, SpaceRef):
        holder = await live.send(spaces.Get(at=at))
    else:
        holder = shelves.get(at.collection_id)
    holders: list[tuple[Shared, Any]] = []
    while holder is not None and all(holder.id != each.id for _, each in holders):
        ref = at if not holders else CollectionRef(collection_id=holder.id)
        holders.append((ref, holder))
        holder = shelves.get(holder.parent or "")
    return await asyncio.gather(*(_load_place(live, ref, each) for ref, each in holders))


async def _load_place(live: Live, at: Shared, holder: Any) -> access.Place:
    """Return a space or collection with its roles. Without the permission to see them, `unread` says why."""
    title = holder.title or holder.id
    try:
        people, crews = await asyncio.gather(
            load_all(live, permissions.ListUsers(at=at, limit=PAGE_SIZE)),
            load_all(live, permissions.ListTeams(at=at, limit=PAGE_SIZE)),
        )
    except ApiError as error:
        return access.Place(holder.id, title, holder.default_level, unread=str(error))
    return access.Place(
        holder.id,
        title,
        holder.default_level,
        {each.user.id: each.permission for each in people},
        {each.team.id: (each.team.title or each.team.id, each.permission) for each in crews},
    )


async def load_all(live: Live, op: Listing[Any]) -> list[Any]:
    """Return all items of a list. Raises ApiError, PaginationError among them if the list does not end."""
    return [item async for page in read_pages(live.send, op) for item in page.items]
