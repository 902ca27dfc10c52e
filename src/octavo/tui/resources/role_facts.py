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
from octavo.tui.widgets.safe_text import AnyText


async def role_facts_of_member(live: Live, arguments: Arguments, permission: permissions.UserPermission) -> DetailFacts:
    """Return why a listed member has a role in the open space or collection."""
    return await _role_facts(live, arguments, arguments["at"], permission.user.id, permission.permission)


async def role_facts_in_space(live: Live, arguments: Arguments, permission: permissions.SpacePermission) -> DetailFacts:
    """Return why the open member has a role in one of the listed spaces."""
    return await _role_facts(live, arguments, permission.space.ref, arguments["user_id"], permission.permission)


async def _role_facts(live: Live, arguments: Arguments, at: Shared, user: str, role: str) -> DetailFacts:
    organization = OrganizationRef(organization_id=arguments.get("organization_id") or arguments["at"].organization_id)
    organization_details, member, team_ids, places = await asyncio.gather(
        live.cached_or_fetch(organizations.Get(at=organization)),
        live.send(organizations.GetMember(at=organization, user_id=user)),
        load_all(live, teams.ListOfMember(at=organization, user_id=user, limit=PAGE_SIZE)),
        load_places(live, organization, at),
    )
    member_with_teams = with_teams(member, {each.team.id for each in team_ids})
    facts: list[tuple[str, AnyText]] = [
        ("why", access.access_sentence(member_with_teams, places, organization_details.title, role))
    ]
    for source in access.role_sources(member_with_teams, places, organization_details.title):
        facts.append((_SOURCE_LABELS[source.kind], source.description))
    if no_access := access.no_access_reason(member_with_teams, places, organization_details.title):
        facts.append(("organization", no_access))
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


def with_teams(member: organizations.Member, team_ids: Iterable[str]) -> access.Person:
    """Return a member together with the IDs of their teams."""
    return access.Person(member.user.id, member.user.name, member.role, frozenset(team_ids), member.disabled)


async def load_places(live: Live, organization: OrganizationRef, at: Shared) -> Sequence[access.Place]:
    """Return the space or collection and all collections around it, innermost first, with the roles assigned there."""
    collections_by_id = {
        each.id: each for each in await load_all(live, collections.List(at=organization, limit=PAGE_SIZE))
    }
    place: spaces.Space | collections.Collection | None
    if isinstance(at, SpaceRef):
        place = await live.send(spaces.Get(at=at))
    else:
        place = collections_by_id.get(at.collection_id)
    places: list[tuple[Shared, Any]] = []
    while place is not None and all(place.id != each.id for _, each in places):
        ref = at if not places else CollectionRef(collection_id=place.id)
        places.append((ref, place))
        place = collections_by_id.get(place.parent or "")
    return await asyncio.gather(*(_load_place(live, ref, each) for ref, each in places))


async def _load_place(live: Live, at: Shared, place: Any) -> access.Place:
    """Return a space or collection with its roles. Without the permission to see them, `unread` says why."""
    title = place.title or place.id
    try:
        user_permissions, team_permissions = await asyncio.gather(
            load_all(live, permissions.ListUsers(at=at, limit=PAGE_SIZE)),
            load_all(live, permissions.ListTeams(at=at, limit=PAGE_SIZE)),
        )
    except ApiError as error:
        return access.Place(place.id, title, place.default_level, load_error=str(error))
    return access.Place(
        place.id,
        title,
        place.default_level,
        {each.user.id: each.permission for each in user_permissions},
        {each.team.id: (each.team.title or each.team.id, each.permission) for each in team_permissions},
    )


async def load_all(live: Live, operation: Listing[Any]) -> list[Any]:
    """Return all items of a list, from all of its pages. Raises ApiError, or PaginationError if the list does not
    end."""
    return [item async for page in read_pages(live.send, operation) for item in page.items]
