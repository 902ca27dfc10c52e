"""Roles in spaces and collections: assigned roles, and the users with access."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from octavo.api.operation import Listing, Model, Operation, OrganizationRef, Shared
from octavo.api.organizations import Role, RoleName
from octavo.api.spaces import Space
from octavo.api.teams import Team
from octavo.api.text import Id
from octavo.api.users import User


class UserPermission(Model):
    """The role of a user in a space or collection."""

    permission: RoleName = ""
    user: User


class TeamPermission(Model):
    """The role of a team in a space or collection."""

    permission: RoleName = ""
    team: Team


class SpacePermission(Model):
    """The role of a member in one of the spaces they can see."""

    permission: RoleName = ""
    space: Space


class AtShared(BaseModel, defer_build=True):
    at: Shared


class Grant(AtShared, Operation[None], post="/permissions", success=204, nullable=("role",)):
    """Give members or teams a role in a space or collection. null removes their role."""

    role: Role | None
    teams: Annotated[tuple[Id, ...], Field(min_length=1)] | None = None
    users: Annotated[tuple[Id, ...], Field(min_length=1)] | None = None


class ListUsers(AtShared, Listing[UserPermission], get="/permissions/users"):
    """List the members with a role of their own in a space or collection."""


class UpdateUser(AtShared, Operation[None], patch="/permissions/users/{user_id}", success=204, nullable=("role",)):
    """Change the role that a member was given in a space or collection. null removes the role."""

    user_id: Id
    role: Role | None = None


class DeleteUser(AtShared, Operation[None], delete="/permissions/users/{user_id}"):
    """Remove the role that a member was given in a space or collection."""

    user_id: Id


class ListTeams(AtShared, Listing[TeamPermission], get="/permissions/teams"):
    """List the teams that were given a role in a space or collection."""


class UpdateTeam(AtShared, Operation[None], patch="/permissions/teams/{team_id}", success=204, nullable=("role",)):
    """Change the role that a team was given in a space or collection. null removes the role."""

    team_id: Id
    role: Role | None = None


class DeleteTeam(AtShared, Operation[None], delete="/permissions/teams/{team_id}"):
    """Remove the role that a team was given in a space or collection."""

    team_id: Id


class ListAggregate(AtShared, Listing[UserPermission], get="/permissions/aggregate"):
    """List everyone with a role in a space or collection, with their highest role from any source."""

    role: Role | None = None
    """Only members whose highest role is this role."""


class ListOfMember(Listing[SpacePermission], get="/members/{user_id}/spaces"):
    """List the spaces that a member can see, with their role, by default newest first."""

    at: OrganizationRef
    user_id: Id
    order: Literal["asc", "desc"] = "desc"
