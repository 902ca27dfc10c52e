"""Reads what explains somebody's role in a space or collection, and says it (`data/access.py`)."""

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
from octavo.tui.resources.resource import AT_ONCE, Facts, Known
from octavo.tui.widgets.safe_text import AnyText


async def of_person(live: Live, known: Known, thing: permissions.UserPermission) -> Facts:
    """Why somebody has the role they have where one is."""
    return await _told(live, known, known["at"], thing.user.id, thing.permission)


async def of_space(live: Live, known: Known, thing: permissions.SpacePermission) -> Facts:
    """Why a member has the role they have in one of the spaces they see."""
    return await _told(live, known, thing.space.ref, known["user_id"], thing.permission)


async def _told(live: Live, known: Known, at: Shared, user: str, role: str) -> Facts:
    organization = OrganizationRef(organization_id=known.get("organization_id") or known["at"].organization_id)
    named, member, in_teams, around = await asyncio.gather(
        live.cached_or_fetch(organizations.Get(at=organization)),
        live.send(organizations.GetMember(at=organization, user_id=user)),
        whole(live, teams.ListOfMember(at=organization, user_id=user, limit=AT_ONCE)),
        chain(live, organization, at),
    )
    whom = person(member, {each.team.id for each in in_teams})
    facts: list[tuple[str, AnyText]] = [("why", access.access_sentence(whom, around, named.title, role))]
    for way in access.role_sources(whom, around, named.title):
        facts.append((_SORTS[way.kind], way.description))
    if kept_out := access.no_access_reason(whom, around, named.title):
        facts.append(("organization", kept_out))
    return facts


_SORTS = {
    "direct": "direct",
    "team": "through a team",
    "inherited": "inherited",
    "inherited from team": "inherited",
    "organization": "organization",
    "administrator": "organization",
}
"""Labels of the ways in the details."""


def person(member: organizations.Member, in_teams: Iterable[str]) -> access.Person:
    """A member, with the teams they are in."""
    return access.Person(member.user.id, member.user.name, member.role, frozenset(in_teams), member.disabled)


async def chain(live: Live, organization: OrganizationRef, at: Shared) -> Sequence[access.Place]:
    """The place and the collections it lies in, from the inside out, with what was given there."""
    shelves = {each.id: each for each in await whole(live, collections.List(at=organization, limit=AT_ONCE))}
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
    return await asyncio.gather(*(_place(live, ref, each) for ref, each in holders))


async def _place(live: Live, at: Shared, holder: Any) -> access.Place:
    """One of them. Who is not shown who has a role there reads what can be said without."""
    title = holder.title or holder.id
    try:
        people, crews = await asyncio.gather(
            whole(live, permissions.ListUsers(at=at, limit=AT_ONCE)),
            whole(live, permissions.ListTeams(at=at, limit=AT_ONCE)),
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


async def whole(live: Live, op: Listing[Any]) -> list[Any]:
    """Return all items of a list. Raises ApiError, PaginationError among them if the list does not end."""
    return [item async for page in read_pages(live.send, op) for item in page.items]
