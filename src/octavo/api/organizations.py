"""Organizations and their members, and the roles that members have."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from octavo.api.operation import InOrganization, Listing, Model, Operation, Urls
from octavo.api.text import (
    Domain,
    Id,
    KnownValues,
    Moment,
    Number,
    RawJson,
    SafeJson,
    SafeLine,
    SafeText,
    SubdomainName,
    WebAddress,
)
from octavo.api.users import User

Role = Literal["admin", "create", "edit", "review", "comment", "read"]
"""A role in a request. None means a guest of an organization. For a space or collection, None removes the role."""

RoleName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read")]
"""A role in a response."""

DefaultLevel = Role | Literal["inherit"]
"""The default access of a space or collection in a request. None, if allowed, means no access."""

DefaultLevelName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read", "inherit")]
"""The default access of a space or collection in a response."""


class Permissions(Model):
    """The caller's permissions for an organization."""

    view: bool = False
    admin: bool = False
    own_team: bool = False
    create_content: bool = False
    create_open_api_spec: bool = Field(False, alias="createOpenAPISpec")
    ingest_conversations: bool = False
    view_billing: bool = False
    list_members: bool = False
    list_teams: bool = False
    list_integrations: bool = False
    list_installations: bool = False
    install_integration: bool = False


class Organization(Model):
    """An organization. It owns collections, spaces and sites, and its members have roles."""

    object: Literal["organization"] = "organization"
    id: Id
    title: SafeLine = ""
    created_at: Moment | None = None
    email_domains: tuple[SafeLine, ...] = ()
    hostname: SafeLine | None = None
    type: Annotated[SafeLine, KnownValues("business", "community")] = ""
    use_case: SafeLine | None = None
    community_type: SafeLine | None = None
    default_role: RoleName | None = None
    default_content: SafeJson | None = None
    sso: bool | None = None
    ai: bool | None = None
    invite_links: bool = False
    plan: SafeLine = ""
    custom_hostname: SafeLine | None = None
    merge_rules: SafeJson | None = None
    billing: SafeJson | None = None
    trial: SafeJson | None = None
    blocked: SafeJson | None = None
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class Member(Model):
    """A member of an organization. `role` is None for a guest."""

    object: Literal["member"] = "member"
    id: Id
    role: RoleName | None = None
    user: User
    disabled: bool = False
    joined_at: Moment | None = None
    last_seen_at: Moment | None = None
    sso: bool = False
    spaces: Number = 0
    teams: Number = 0


class PingResult(Model):
    """The response to a ping. It may have a token for a site whose visitors sign in."""

    platform_visitor_claims: SafeText | None = Field(
        None,
        validation_alias=AliasChoices("platformVisitorClaims", "gitbookVisitorClaims"),
        serialization_alias="platformVisitorClaims",
    )
    """A JWT for sites whose visitors sign in. None if the server does not create one."""


class OfEmailDomain(Model):
    """The organizations that have a given email domain in their settings."""

    organizations: tuple[Organization, ...] = ()


class List(Listing[Organization], get="/orgs"):
    """List your organizations."""


class Get(InOrganization, Operation[Organization], get=""):
    """Get an organization."""


MERGE_RULES_EXAMPLE = {"type": "rules", "rules": [{"rule": "require_at_least_one_approved_review"}]}


class DefaultContent(Model):
    """The content that users see first in an organization: one of its sites."""

    type: Literal["site"]
    site: Id


class Update(InOrganization, Operation[Organization], patch="", nullable=("default_role", "default_content", "logo")):
    """Change the settings of an organization. Omitted fields stay unchanged."""

    title: Annotated[str, Field(min_length=2, max_length=255)] | None = None
    email_domains: tuple[Domain, ...] | None = Field(None, title="Email domains", examples=[["example.com"]])
    """Email domains of the organization."""
    hostname: SubdomainName | None = Field(None, title="Subdomain")
    """The organization's subdomain on the server's domain."""
    default_role: Role | None = None
    """The role of new members."""
    default_content: DefaultContent | None = None
    """The site that people see first in the organization."""
    logo: WebAddress | None = None
    """A link to an image."""
    sso: bool | None = None
    """Whether all members must sign in through a SAML provider."""
    ai: bool | None = None
    """Whether AI features are on."""
    invite_links: bool | None = None
    """Whether invite links can be used."""
    merge_rules: RawJson | None = Field(None, examples=[MERGE_RULES_EXAMPLE])
    """What a change request needs before it can be merged. Spaces that inherit use these rules."""


class ListMembers(InOrganization, Listing[Member], get="/members"):
    """List the members of an organization, by default newest first."""

    order: Literal["asc", "desc"] = "desc"
    role: Role | Literal["guest"] | None = None
    search: str | None = None
    """Part of a display name or email address."""
    sort: Literal["joinedAt", "lastSeenAt"] = "joinedAt"
    """Sorting by `lastSeenAt` lists only members who have been active."""


class GetMember(InOrganization, Operation[Member], get="/members/{user_id}"):
    """Get a member."""

    user_id: Id


class UpdateMember(InOrganization, Operation[Member], patch="/members/{user_id}", nullable=("role",)):
    """Change the role of a member. null makes the member a guest."""

    user_id: Id
    role: Role | None = None


class DeleteMember(InOrganization, Operation[None], delete="/members/{user_id}"):
    """Remove a member, with their roles and team memberships. You can also remove yourself."""

    user_id: Id


class EnrollMember(InOrganization, Operation[Member], post="/members/{user_id}/sso", success=200):
    """Require a member to sign in through the organization's SAML provider."""

    user_id: Id


class Ping(InOrganization, Operation[PingResult], post="/ping", success=200):
    """Record that you were active in the organization."""


class ListByEmailDomain(Operation[OfEmailDomain], get="/email-domains/{email_domain}/orgs"):
    """List your organizations with an email domain, or all of them if your email address is in the domain."""

    email_domain: Domain
