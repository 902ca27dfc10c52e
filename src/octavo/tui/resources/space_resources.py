"""The tables of spaces. Also the tables that show which roles members and teams have in spaces and collections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from octavo.api import collections, organizations, permissions, spaces, teams
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import CollectionRef, Operation, OrganizationRef, Shared, SpaceRef
from octavo.data.live import Live
from octavo.data.loaders import all_items
from octavo.tui.resources import roles
from octavo.tui.resources.resource import (
    PAGE_SIZE,
    Arguments,
    LabeledValues,
    RequiredPermissions,
    Resource,
    ResourceColumn,
    UndoFactory,
    build_operation,
    id_argument,
)
from octavo.tui.resources.roles import MERGE_ROLES, actions
from octavo.tui.widgets.short_texts import AnyText, plural


async def explain_member_role(
    live: Live, arguments: Arguments, permission: permissions.UserPermission
) -> LabeledValues:
    """Return lines that explain why the selected member has a role in the open space or collection. Raises ApiError."""
    return await _explain_role(live, arguments, arguments["at"], permission.user.id, permission.permission)


async def explain_role_in_space(
    live: Live, arguments: Arguments, permission: permissions.SpacePermission
) -> LabeledValues:
    """Return lines that explain why the open member has a role in the selected space. Raises ApiError."""
    return await _explain_role(live, arguments, permission.space.ref, arguments["user_id"], permission.permission)


async def _explain_role(live: Live, arguments: Arguments, at: Shared, user_id: str, role: str) -> LabeledValues:
    organization = OrganizationRef(organization_id=arguments.get("organization_id") or arguments["at"].organization_id)
    organization_details, member, memberships, scopes = await asyncio.gather(
        live.cached_or_fetch(organizations.Get(at=organization)),
        live.send(organizations.GetMember(at=organization, user_id=user_id)),
        all_items(live, teams.ListOfMember(at=organization, user_id=user_id, limit=PAGE_SIZE)),
        load_role_scopes(live, organization, at),
    )
    member_with_teams = with_teams(member, {membership.team.id for membership in memberships})
    details: list[tuple[str, AnyText]] = [
        ("why", roles.role_reason(member_with_teams, scopes, organization_details.title, role))
    ]
    for source in roles.role_sources(member_with_teams, scopes, organization_details.title):
        details.append((_SOURCE_LABELS[source.kind], source.description))
    if no_access := roles.no_access_reason(member_with_teams, scopes, organization_details.title):
        details.append(("organization", no_access))
    return details


_SOURCE_LABELS = {
    "direct": "direct",
    "team": "through a team",
    "inherited": "inherited",
    "inherited from team": "inherited",
    "organization": "organization",
    "administrator": "organization",
}
"""Labels of the reasons for a role, by `RoleSource.kind`."""


def with_teams(member: organizations.Member, team_ids: Iterable[str]) -> roles.Person:
    """Return a `Person` for a member who is in the teams `team_ids`."""
    return roles.Person(member.user.id, member.user.name, member.role, frozenset(team_ids), member.disabled)


async def load_role_scopes(live: Live, organization: OrganizationRef, at: Shared) -> Sequence[roles.RoleScope]:
    """Return the roles given in a space or collection, then in each collection around it. Raises ApiError."""
    collections_by_id = {
        each.id: each for each in await all_items(live, collections.List(at=organization, limit=PAGE_SIZE))
    }
    item: spaces.Space | collections.Collection | None
    if isinstance(at, SpaceRef):
        item = await live.send(spaces.Get(at=at))
    else:
        collection = collections_by_id.get(at.collection_id)
        item = collection if collection is not None else await live.send(collections.Get(at=at))
    scopes: list[tuple[Shared, Any]] = []
    while item is not None and all(item.id != each.id for _, each in scopes):
        ref = at if not scopes else CollectionRef(collection_id=item.id)
        scopes.append((ref, item))
        item = collections_by_id.get(item.parent or "")
    return await asyncio.gather(*(_load_role_scope(live, ref, each) for ref, each in scopes))


async def _load_role_scope(live: Live, at: Shared, item: Any) -> roles.RoleScope:
    title = item.title or item.id
    try:
        user_permissions, team_permissions = await asyncio.gather(
            all_items(live, permissions.ListUsers(at=at, limit=PAGE_SIZE)),
            all_items(live, permissions.ListTeams(at=at, limit=PAGE_SIZE)),
        )
    except ApiError as error:
        return roles.RoleScope(item.id, title, item.default_level, load_error=str(error))
    return roles.RoleScope(
        item.id,
        title,
        item.default_level,
        {permission.user.id: permission.permission for permission in user_permissions},
        {
            permission.team.id: (permission.team.title or permission.team.id, permission.permission)
            for permission in team_permissions
        },
    )


def _grant_again(update: Any) -> Operation[Any]:
    """Return a `Grant` of the role in `update`. Unlike `update`, it works if the member or team has lost its role."""
    if isinstance(update, permissions.UpdateTeam):
        return permissions.Grant(at=update.at, role=update.role, teams=(update.team_id,))
    return permissions.Grant(at=update.at, role=update.role, users=(update.user_id,))


def undo_of_roles(
    live: Live, arguments: Arguments, *role_kinds: tuple[Resource[Any], str, Callable[[Any], Any]]
) -> UndoFactory:
    """Return a function that takes a sent operation, and returns the operations that restore the roles cached now. The
    function returns None if a list of roles is not completely cached, or if a role cannot be restored. `role_kinds` are
    tuples: a resource, the name of its ID argument, and a function that returns the IDs in the sent operation."""
    lists = [live.peek(resource.list_operation(arguments)).value for resource, _, _ in role_kinds]

    def ops(operation: Any) -> list[Operation[Any]] | None:
        undo_operations: list[Operation[Any]] = []
        for (resource, id_field, ids_in), role_list in zip(role_kinds, lists, strict=True):
            for each in ids_in(operation) or ():
                if role_list is None or role_list.next is not None:
                    return None
                item = next((item for item in role_list.items if resource.key(item) == each), None)
                assert resource.delete is not None, "a role must be removable"
                undo_operation = (
                    resource.recreate_operation(arguments, item)
                    if item is not None
                    else build_operation(resource.delete, {**arguments, id_field: each})
                )
                if undo_operation is None:
                    return None
                undo_operations.append(undo_operation)
        return undo_operations

    return ops


_GRANT_INTRO = "The role applies to this space or collection and to everything in it."


def _grant_notice(grant: permissions.Grant, response: None) -> str:
    counts = ((len(grant.users or ()), "member"), (len(grant.teams or ()), "team"))
    recipients_text = " and ".join(plural(number, noun) for number, noun in counts if number)
    return (
        f"Assigned the {label(grant.role)} role to {recipients_text}."
        if grant.role
        else f"Removed the role from {recipients_text}."
    )


MEMBER_ROLES: Resource[Any] = Resource(
    "member", "members", permissions.ListUsers,
    description="Members with a role that was assigned to them directly, not through a team.",
    create=permissions.Grant, update=permissions.UpdateUser, delete=permissions.DeleteUser,
    key=lambda item: item.user.id,
    ids=id_argument("user_id", "user.id"),
    columns=(ResourceColumn("NAME", "user.name"), ResourceColumn("ROLE", "permission", 10, is_code=True), ResourceColumn("EMAIL", "user.email", drop_priority=1)),
    as_update=lambda item: teams.Membership(role=item.permission),
    recreate=lambda arguments, item: permissions.Grant(at=arguments["at"], role=item.permission, users=(item.user.id,)),
    undo_update=_grant_again,
    lookups=(permissions.ListTeams,),
    prepare_undo=lambda *at: undo_of_roles(
        *at, (MEMBER_ROLES, "user_id", lambda op: op.users), (TEAM_ROLES, "team_id", lambda op: op.teams)
    ),
    create_title="Assign a role",
    create_intro=_GRANT_INTRO,
    creation_notice=_grant_notice,
    delete_verbs=("remove the role from", "removed the role from"),
)  # fmt: skip
TEAM_ROLES: Resource[Any] = replace(
    MEMBER_ROLES,
    singular="team", plural="teams", list=permissions.ListTeams,
    description="Teams that have an assigned role. The role applies to all members of the team.",
    update=permissions.UpdateTeam, delete=permissions.DeleteTeam,
    key=lambda item: item.team.id,
    ids=id_argument("team_id", "team.id"),
    columns=(ResourceColumn("TEAM", "team.title"), ResourceColumn("ROLE", "permission", 10, is_code=True),
             ResourceColumn("MEMBERS", "team.members", 8, align_right=True)),
    recreate=lambda arguments, item: permissions.Grant(at=arguments["at"], role=item.permission, teams=(item.team.id,)),
    lookups=(permissions.ListUsers,),
)  # fmt: skip
EVERYONE_WITH_ACCESS: Resource[permissions.UserPermission] = Resource(
    "member with access", "everyone with access", permissions.ListAggregate,
    description="Everyone who has access, with each person's highest role. The details show where the role comes from.",
    key=lambda item: item.user.id,
    columns=(
        ResourceColumn("NAME", "user.name"),
        ResourceColumn("ROLE", "permission", 10, is_code=True),
        ResourceColumn("CAN", lambda item: actions(item.permission), drop_priority=2),
        ResourceColumn("EMAIL", "user.email", drop_priority=1),
    ),
    load_details=explain_member_role,
    empty_text="No one has a role here. To assign a role, go to Members or Teams.",
    read_only_reason="To change roles, press ] to go to Members or Teams.",
)  # fmt: skip
MEMBERS_WHO_MERGE: Resource[permissions.UserPermission] = replace(
    EVERYONE_WITH_ACCESS,
    singular="member who can merge",
    plural="members who can merge",
    description="Members whose role lets them merge change requests.",
    empty_text="No one can merge change requests here. In Members or Teams, assign the Creator or Admin role to a member or team.",
    items=lambda response: tuple(item for item in response.items if item.permission in MERGE_ROLES),
)
ACCESS_TABLES = (EVERYONE_WITH_ACCESS, MEMBERS_WHO_MERGE, MEMBER_ROLES, TEAM_ROLES)
"""The tables that show who has access to a space or collection."""


def space_arguments(arguments: Arguments, space_id: str) -> Arguments:
    """Return the arguments `at` and `organization_id` for operations on a space."""
    organization = arguments.get("organization_id") or arguments["at"].organization_id
    return {"at": SpaceRef(space_id=space_id), "organization_id": organization}


EDIT_IN_TREE = (
    "To create, edit, or delete spaces, go to the list of spaces. Press 2, then press esc until the list appears."
)

SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    description="Spaces in the organization. Press enter to see who has access.",
    ids=lambda arguments, item: space_arguments(arguments, item.id),
    columns=(
        ResourceColumn("SPACE", lambda item: item.title or item.id),
        ResourceColumn("IN", "parent", is_id=True, drop_priority=1),
        ResourceColumn("DEFAULT ACCESS", "default_level", 14, empty_text="none", is_code=True),
        ResourceColumn("VISIBILITY", "visibility", 15, drop_priority=2, is_code=True),
        ResourceColumn("UPDATED", "updated_at", 7, align_right=True, drop_priority=3),
    ),
    read_only_reason=EDIT_IN_TREE,
    children=ACCESS_TABLES,
)  # fmt: skip
MEMBER_SPACES: Resource[permissions.SpacePermission] = Resource(
    "space", "spaces", permissions.ListOfMember,
    description="Spaces this member can see, and the member's role in each space. The details show where the role comes from.",
    key=lambda item: item.space.id,
    ids=lambda arguments, item: space_arguments(arguments, item.space.id),
    columns=(
        ResourceColumn("SPACE", "space.title"),
        ResourceColumn("ROLE", "permission", 10, is_code=True),
        ResourceColumn("CAN", lambda item: actions(item.permission), drop_priority=2),
        ResourceColumn("VISIBILITY", "space.visibility", 15, drop_priority=1, is_code=True),
    ),
    load_details=explain_role_in_space,
    read_only_reason="To change access, press enter to open the space, then go to Members.",
    permission_source=lambda item: item.space,
    children=ACCESS_TABLES,
)  # fmt: skip


MANAGED_SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    description="A space holds pages, with their version history, comments, and change requests.",
    get=spaces.Get, create=spaces.Create, update=spaces.Update, delete=spaces.Delete,
    title=lambda item: item.title or "Untitled",
    ids=lambda arguments, item: {"at": item.ref},
    columns=(
        ResourceColumn("SPACE", "title"),
        ResourceColumn("VISIBILITY", "visibility", 15, is_code=True),
        ResourceColumn("EDIT MODE", "edit_mode", 20, is_code=True),
        ResourceColumn("DEFAULT ACCESS", "default_level", 14, empty_text="none", is_code=True),
        ResourceColumn("UPDATED", "updated_at", 7, align_right=True, drop_priority=1),
    ),
    required_fields=frozenset({"title"}),
    permissions=RequiredPermissions(create="create_content", on_item=True),
    delete_effects=lambda item: [
        f"{plural(number, what)} will be deleted too."
        for number, what in ((item.change_requests_open + item.change_requests_draft, "open or draft change request"), (item.comments, "open comment"))
        if number
    ],
    recreate=lambda arguments, item: spaces.Restore(at=item.ref),
)  # fmt: skip
