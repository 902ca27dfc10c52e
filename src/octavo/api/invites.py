"""Invitations to an organization, by email and by invite links."""

from typing import Literal

from pydantic import Field

from octavo.api.operation import InOrganization, Listing, Model, Operation
from octavo.api.organizations import Role, RoleName
from octavo.api.text import Email, Id, IdOrObject, Number, SafeLine


class Invited(Model):
    """The result of inviting people to an organization."""

    users: tuple[SafeLine, ...] = ()
    """The IDs of all invited users, including those who were already members."""
    invited: Number = 0
    """Number of users who became members."""
    failed_sso_emails: tuple[SafeLine, ...] = Field((), alias="failedSSOEmails")
    """Addresses that were not invited, because they cannot sign in through the organization's provider."""


class InviteLink(Model):
    """A link that gives access to everyone who has it. `role` is for the organization, `level` for a space or
    collection."""

    object: Literal["invite"] = "invite"
    id: Id
    role: RoleName | None = None
    level: RoleName | None = None
    space: IdOrObject = None
    collection: IdOrObject = None
    redundant: bool = False
    """Whether another link gives at least the same access, or the target is gone."""


class Invitation(Model):
    """An email address to invite, with its role."""

    email: Email
    role: Role | None


class Invite(InOrganization, Operation[Invited], post="/invites", success=200, nullable=("role",)):
    """Invite people by email address."""

    emails: tuple[Email | Invitation, ...] = Field(title="Email addresses", examples=[["ada@example.com"]])
    role: Role | None = None
    """The role in the organization. If not set, the default role of the organization is used."""
    sso: bool | None = Field(None, title="Require SSO")
    """Whether the invited people must sign in through the organization's SAML provider."""


class ListLinks(InOrganization, Listing[InviteLink], get="/link-invites"):
    """List the invite links that you can manage."""


class CreateLink(InOrganization, Operation[InviteLink], post="/link-invites", nullable=("role",)):
    """Create an invite link to the organization, or to a space or collection."""

    role: Role | None = None
    """The role in the organization. Not for links to a space or collection."""
    level: Role | None = None
    """The role in the space or collection. Only for links to a space or collection."""
    space: Id | None = None
    """The space that the link gives access to. Choose a space or a collection, not both."""
    collection: Id | None = None
    """The collection that the link gives access to. Choose a space or a collection, not both."""


class GetLink(InOrganization, Operation[InviteLink], get="/link-invites/{invite_id}"):
    """Get an invite link."""

    invite_id: Id


class UpdateLink(InOrganization, Operation[InviteLink], patch="/link-invites/{invite_id}", nullable=("role",)):
    """Change the role of an invite link, or its level in a space or collection."""

    invite_id: Id
    role: Role | None = None
    """The role in the organization. Not for links to a space or collection."""
    level: Role | None = None
    """The role in the space or collection. Only for links to a space or collection."""


class DeleteLink(InOrganization, Operation[None], delete="/link-invites/{invite_id}"):
    """Delete an invite link. People who joined with the link stay members."""

    invite_id: Id
