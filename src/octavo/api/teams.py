"""Groups of members who share roles."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InOrganization, Listing, Model, Operation
from octavo.api.organizations import Member
from octavo.api.text import Email, Id, KnownValues, Moment, Number, SafeLine

Title = Annotated[str, Field(min_length=1, max_length=64)]

TeamRole = Literal["owner", "member"]
"""A role in a team, for requests. Owners can manage the team."""

TeamRoleName = Annotated[SafeLine, KnownValues("owner", "member")]
"""A role in a team, in responses."""


class Permissions(Model):
    """The caller's permissions for a team."""

    admin: bool = False
    view: bool = False


class Team(Model):
    """A team. Only the ID is always present."""

    object: Literal["team"] = "team"
    id: Id
    title: SafeLine = ""
    members: Number = 0
    spaces: Number = 0
    """Number of spaces in which the team has a role."""
    created_at: Moment | None = None
    permissions: Permissions = Field(default_factory=Permissions)


class Membership(Model):
    """The role of a member in a team, in responses."""

    role: TeamRoleName = ""


class NewMembership(Model):
    """The role that a member gets in a team, in requests."""

    role: TeamRole


class MemberPermissions(Model):
    """The caller's permissions for a member of a team."""

    view: bool = False


class TeamMember(Model):
    """A member of a team: their membership in the organization and in the team."""

    organization: Member
    team: Membership = Field(default_factory=Membership)
    permissions: MemberPermissions = Field(default_factory=MemberPermissions)


class TeamOfMember(Model):
    """A team of a member, with the member's role in it."""

    team: Team
    member: Membership = Field(default_factory=Membership)


class List(InOrganization, Listing[Team], get="/teams"):
    """List the teams of an organization."""

    owner: Id | None = None
    """Only teams that this member can manage."""
    title: str | None = None
    """Return only teams whose title contains this text. Case is ignored."""


class Create(InOrganization, Operation[Team], put="/teams", success=201):
    """Create a team. If you are an admin and add yourself as a member, you become an owner."""

    title: Title
    members: tuple[Id, ...] | None = None


class Get(InOrganization, Operation[Team], get="/teams/{team_id}"):
    """Get a team."""

    team_id: Id


class Update(InOrganization, Operation[Team], patch="/teams/{team_id}"):
    """Rename a team."""

    team_id: Id
    title: Title


class Delete(InOrganization, Operation[None], delete="/teams/{team_id}"):
    """Delete a team. Its members lose the roles that they have through the team."""

    team_id: Id


class ListMembers(InOrganization, Listing[TeamMember], get="/teams/{team_id}/members"):
    """List the members of a team, in the order in which they joined."""

    team_id: Id


class UpdateMembers(InOrganization, Operation[None], put="/teams/{team_id}/members", success=204):
    """Change several members of a team at once: remove members, add members, then set team roles."""

    team_id: Id
    add: tuple[Id | Email, ...] | None = Field(None, title="Add members")
    """Members of the organization to add to the team."""
    remove: tuple[Id | Email, ...] | None = Field(None, title="Remove members")
    """Members to remove from the team."""
    memberships: dict[Id, NewMembership] | None = Field(
        None, title="Team roles", examples=[{"ada-lovelace": {"role": "owner"}}]
    )
    """Team roles by user ID: owner or member. Members who are not in the team yet are added."""


class AddMember(InOrganization, Operation[None], put="/teams/{team_id}/members/{user_id}", success=204):
    """Add a member to a team, or change their team role."""

    team_id: Id
    user_id: Id
    role: TeamRole | None = Field(None, title="Team role")
    """Owners can manage the team. If not set, the team role stays, or is Member for new members."""


class DeleteMember(InOrganization, Operation[None], delete="/teams/{team_id}/members/{user_id}"):
    """Remove a member from a team. You can also remove yourself."""

    team_id: Id
    user_id: Id


class ListOfMember(InOrganization, Listing[TeamOfMember], get="/members/{user_id}/teams"):
    """List the teams of a member."""

    user_id: Id
    title: str | None = None
    """Return only teams whose title contains this text. Case is ignored."""
