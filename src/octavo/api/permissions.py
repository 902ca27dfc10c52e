"""Roles on spaces and collections: what people and teams were given there, and what it comes to (4.3, 4.4)."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from octavo.api.operation import Listing, Model, Operation
from octavo.api.places import OrganizationRef, Shared
from octavo.api.roles import Role, RoleName
from octavo.api.spaces import Space
from octavo.api.teams import Team
from octavo.api.text import Id
from octavo.api.users import User


class UserPermission(Model):
    """The role of a person in a space or collection."""

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
    """Give people, teams or both a role in a space or collection. None takes back what they were given."""

    role: Role | None
    teams: Annotated[tuple[Id, ...], Field(min_length=1)] | None = None
    users: Annotated[tuple[Id, ...], Field(min_length=1)] | None = None


class ListUsers(AtShared, Listing[UserPermission], get="/permissions/users"):
    """People who were given a role here, but for those who only have one by a team or around this place."""


class UpdateUser(AtShared, Operation[None], patch="/permissions/users/{user_id}", success=204, nullable=("role",)):
    """Change the role a person was given here. None takes it back."""

    user_id: Id
    role: Role | None = None


class DeleteUser(AtShared, Operation[None], delete="/permissions/users/{user_id}"):
    """Take back the role a person was given here."""

    user_id: Id


class ListTeams(AtShared, Listing[TeamPermission], get="/permissions/teams"):
    """Teams that were given a role here."""


class UpdateTeam(AtShared, Operation[None], patch="/permissions/teams/{team_id}", success=204, nullable=("role",)):
    """Change the role a team was given here. None takes it back."""

    team_id: Id
    role: Role | None = None


class DeleteTeam(AtShared, Operation[None], delete="/permissions/teams/{team_id}"):
    """Take back the role a team was given here."""

    team_id: Id


class ListAggregate(AtShared, Listing[UserPermission], get="/permissions/aggregate"):
    """Everybody with a role here, wherever it comes from, with the highest they have."""

    role: Role | None = None
    """Only those for whom it comes to this role."""


class ListOfMember(Listing[SpacePermission], get="/members/{user_id}/spaces"):
    """Spaces a member can see, by default the newest first, with the role they have there."""

    at: OrganizationRef
    user_id: Id
    order: Literal["asc", "desc"] = "desc"
