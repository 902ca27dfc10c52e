"""The tables of an organization: members, teams, invite links, access, integrations, translations and settings."""

from __future__ import annotations

from octavo.api import (
    collections,
    fonts,
    invites,
    openapi,
    organizations,
    spaces,
    sso,
    subdomains,
    teams,
    translations,
)
from octavo.api.labels import label
from octavo.api.organizations import Organization
from octavo.api.places import CollectionRef
from octavo.tui.resources import acting, specification_reading
from octavo.tui.resources.access_resources import ACCESS, IN_THE_TREE, MEMBER_SPACES, SPACES, in_space
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.references import people
from octavo.tui.resources.resource import Action, Column, Known, Resource, Rights, by, made
from octavo.tui.widgets.wording import plural

GUEST = "Guest"

MEMBER_TEAMS: Resource[teams.TeamOfMember] = Resource(
    "team", "teams", teams.ListOfMember,
    about="Teams that this member belongs to.",
    title=lambda each: each.team.title,
    key=lambda each: each.team.id,
    named=by("team_id", "team.id"),
    columns=(
        Column("TEAM", "team.title"),
        Column("TEAM ROLE", "member.role", 10, coded=True),
        Column("MEMBERS", "team.members", 8, right=True),
    ),
    delete=teams.DeleteMember,
    holder=lambda each: each.team,
    rights=Rights(of_thing=True, one_leaves=True),
    again=lambda known, each: made(teams.AddMember, {**known, "team_id": each.team.id, "role": _team_role(each.member)}),
    elsewhere="To add a member to a team or change a team role, go to Teams, select the team, and press enter.",
    verbs=("remove this member from", "removed this member from"),
)  # fmt: skip


def _team_role(of: teams.Membership) -> str | None:
    return of.role if of.role in ("owner", "member") else None


def _who_was_invited(op: invites.Invite, answer: invites.Invited | None) -> str:
    """Return how many people an invitation added, and who was not invited."""
    if answer is None:
        return "The invitations were sent, but the server did not report how many members are new. Check the list of members."
    new, without = answer.invited, answer.failed_sso_emails
    already = len(answer.users) - new
    said = [f"Invited {plural(new, 'new member')}." if new else "No new members were invited."]
    if already > 0:
        said.append(f"{plural(already, 'person was already a member', 'people were already members')}.")
    if without:
        said.append(f"Not invited (SSO does not recognize the email address): {', '.join(without)}.")
    return " ".join(said)


MEMBERS: Resource[organizations.Member] = Resource(
    "member", "members", organizations.ListMembers,
    about="Members of the organization, newest first.",
    get=organizations.GetMember, create=invites.Invite, update=organizations.UpdateMember, delete=organizations.DeleteMember,
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    named=by("user_id", "user.id"),
    columns=(
        Column("NAME", "user.name"),
        Column("EMAIL", "user.email", drop=4),
        Column("ROLE", "role", 9, none=GUEST, coded=True),
        Column("LAST SEEN", "last_seen_at", 9, right=True, drop=1, none="never"),
        Column("JOINED", "joined_at", 6, right=True, drop=2),
        Column("TEAMS", "teams", 5, right=True, drop=3),
        Column("SPACES", "spaces", 6, right=True, drop=3),
        Column("DISABLED", lambda each: each.disabled or None, 8, drop=5),
        Column("SSO", lambda each: each.sso or None, 3, drop=5, shown=False),
    ),
    children=(MEMBER_SPACES, MEMBER_TEAMS),
    rights=Rights(one_leaves=True),
    actions=(
        Action("Require SSO sign-in", "This member will be able to sign in only through the organization's SAML provider.", organizations.EnrollMember,
               "must now sign in with SSO", why_not=lambda each: "This member already signs in with SSO." if each.sso else None),
    ),
    hangs_on=lambda each: ["This member will lose all roles" + (f" and be removed from {plural(each.teams, 'team')}." if each.teams else ".")],
    state=lambda each: label(each.role or "guest"),
    new="Invite members",
    said_new=_who_was_invited,
    making="Each person will get an email and become a member with this role.",
    verbs=("remove", "removed"),
    out_of="organization",
)  # fmt: skip
TEAM_MEMBERS: Resource[teams.TeamMember] = Resource(
    "member", "members", teams.ListMembers,
    about="Members of this team. Team owners manage the team.",
    create=teams.AddMember, update=teams.AddMember, delete=teams.DeleteMember,
    title=lambda each: each.organization.user.name,
    key=lambda each: each.organization.user.id,
    named=by("user_id", "organization.user.id"),
    columns=(
        Column("NAME", "organization.user.name"),
        Column("TEAM ROLE", "team.role", 10, coded=True),
        Column("EMAIL", "organization.user.email", 32, drop=2),
        Column("ROLE", "organization.role", 9, none=GUEST, drop=1, coded=True),
        Column("LAST SEEN", "organization.last_seen_at", 9, right=True, drop=1, none="never"),
    ),
    written=lambda each: each.team,
    again=lambda known, each: made(
        teams.AddMember, {**known, "user_id": each.organization.user.id, "role": _team_role(each.team)}
    ),
    rights=Rights(one_leaves=True),
    new="Add a member",
    verbs=("remove", "removed"),
    out_of="team",
)  # fmt: skip
TEAMS: Resource[teams.Team] = Resource(
    "team", "teams", teams.List,
    about="Groups of members. A role assigned to a team applies to all its members.",
    get=teams.Get, create=teams.Create, update=teams.Update, delete=teams.Delete,
    title=lambda each: each.title or each.id,
    named=by("team_id"),
    columns=(
        Column("TEAM", "title"),
        Column("MEMBERS", "members", 8, right=True),
        Column("SPACES", "spaces", 7, right=True),
        Column("CREATED", "created_at", 7, right=True, drop=1),
    ),
    children=(TEAM_MEMBERS,),
    actions=(
        Action("Edit multiple members", "Add or remove several members at once, or set team roles by user ID.",
               teams.UpdateMembers, "was updated", ask=acting.fill_in_first),
    ),
    references={"add": people, "remove": people},
    rights=Rights(create="admin", of_thing=True),
    hangs_on=lambda each: [f"{plural(each.members, 'member')} will lose the access to {plural(each.spaces, 'space')} that this team gives them."],
)  # fmt: skip
INVITE_LINKS: Resource[invites.InviteLink] = Resource(
    "invite link", "invite links", invites.ListLinks,
    about="Anyone who opens an invite link joins the organization with the role set in the link.",
    get=invites.GetLink, create=invites.CreateLink, update=invites.UpdateLink, delete=invites.DeleteLink,
    title=lambda each: f"invite link {each.id}",
    named=by("invite_id"),
    columns=(
        Column("LINK", "id"),
        Column("ROLE", lambda each: each.level or each.role, 9, none=GUEST, coded=True),
        Column("FOR", lambda each: each.space or each.collection, is_id=True, none="the organization"),
        Column("REDUNDANT", "redundant", 9, drop=1),
    ),
    lookups=(collections.List,),
    rights=Rights(places={"space": "admin", "collection": "admin"}),
    hangs_on=lambda each: ["The link will stop working. People who joined with the link will stay members."],
    making="Anyone who opens the link joins with this role. To invite people only to a space or collection, choose a level instead of a role.",
)  # fmt: skip
COLLECTION_SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", collections.ListSpaces,
    about="Spaces directly in this collection.",
    title=lambda each: each.title,
    named=lambda known, each: in_space(known, each.id),
    columns=(
        Column("SPACE", "title"),
        Column("VISIBILITY", "visibility", 15, coded=True),
        Column("UPDATED", "updated_at", 7, right=True),
    ),
    elsewhere=IN_THE_TREE,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
COLLECTIONS: Resource[collections.Collection] = Resource(
    "collection", "collections", collections.List,
    about="Collections contain spaces and other collections.",
    get=collections.Get, create=collections.Create, update=collections.Update, delete=collections.Delete,
    title=lambda each: each.title or each.id,
    named=lambda known, each: {"at": CollectionRef(collection_id=each.id), "organization_id": known["at"].organization_id},
    columns=(
        Column("COLLECTION", "title"),
        Column("IN", "parent", is_id=True),
        Column("DEFAULT ACCESS", "default_level", 14, none="none", coded=True),
        Column("DESCRIPTION", "description", drop=1),
    ),
    lookups=(collections.List,),
    children=(COLLECTION_SPACES, *ACCESS),
    rights=Rights(create="create_content", of_thing=True, places={"parent": "create"}),
    required=frozenset({"title"}),
    hangs_on=lambda each: ["The spaces and collections in this collection will move up one level."],
)  # fmt: skip
PROVIDERS: Resource[sso.SamlProvider] = Resource(
    "SAML provider", "SAML providers", sso.ListProviders,
    about="Identity providers for SSO sign-in (SAML).",
    get=sso.GetProvider, create=sso.CreateProvider, update=sso.UpdateProvider, delete=sso.DeleteProvider,
    title=lambda each: each.label or each.id,
    named=by("saml_provider_id"),
    columns=(
        Column("PROVIDER", "label"),
        Column("STATUS", "status", 8, coded=True),
        Column("DEFAULT TEAM", "default_team.title"),
        Column("DEFAULT ROLE", "default_role", 12, none=GUEST, coded=True),
        Column("CREATED", "created_at", 7, right=True, drop=1),
    ),
    secrets=frozenset({"certificate"}),
    hangs_on=lambda each: ["Members will keep their accounts, but will no longer be able to sign in through this provider."],
)  # fmt: skip
LOGINS: Resource[sso.Login] = Resource(
    "SSO sign-in link", "SSO sign-in links", sso.ListLogins,
    about="Links that members use to sign in with SSO.",
    title=lambda each: each.label or each.id,
    columns=(Column("PROVIDER", "label"), Column("LINK", "start_url")),
    address=lambda each: each.start_url,
    elsewhere="Sign-in links belong to SAML providers, so you cannot change them here. Change the SAML provider instead.",
    rights=Rights("", "", ""),
)  # fmt: skip
VERSIONS: Resource[openapi.Version] = Resource(
    "version", "versions", openapi.ListVersions,
    about="Versions of this specification, oldest first.",
    title=lambda each: each.id,
    columns=(Column("VERSION", "id"), Column("CREATED", "created_at", 7, right=True), Column("LINK", "url", drop=1)),
    shows=specification_reading.open_version,
    elsewhere="To upload a new version, press esc twice, select the specification, and press a.",
    address=lambda each: each.url,
    rights=Rights("", "", ""),
)  # fmt: skip
SPECIFICATIONS: Resource[openapi.OpenApiSpec] = Resource(
    "OpenAPI specification", "OpenAPI specifications", openapi.List,
    about="OpenAPI specifications. Pages can show the API operations in a specification.",
    get=openapi.Get, create=openapi.Create, update=openapi.Update, delete=openapi.Delete,
    title=lambda each: each.slug or each.id,
    named=by("spec_slug", "slug"),
    columns=(
        Column("SPECIFICATION", "slug"),
        Column("STATUS", lambda each: each.last_process_error_code or each.processing_state, 20, coded=True),
        Column("PROCESSED", "last_processed_at", 9, right=True),
        Column("SOURCE", "source_url", drop=1, none="uploaded text"),
        Column("VISIBILITY", "visibility", 10, drop=2, coded=True),
    ),
    children=(VERSIONS,),
    actions=(
        Action("Upload a new version", "Enter a link, a file path, or the text of the new version. Pages that show the specification will be updated.",
               openapi.Put, "was uploaded", ask=acting.fill_in_first),
    ),
    told=specification_reading.of_specification,
    details=lambda each: [("error", error.message) for error in each.last_processed_errors],
    afterwards=specification_reading.follow,
    rights=Rights(create="create_open_api_spec", change="edit", delete="edit", of_thing=True),
    hangs_on=lambda each: ["All versions of this specification will be deleted too. Pages will no longer be able to show the operations of this specification."],
)  # fmt: skip
TRANSLATIONS: Resource[translations.TranslationSettings] = Resource(
    "translation", "translations", translations.List,
    about="Translations of spaces into other languages.",
    get=translations.Get, create=translations.Create, update=translations.Update, delete=translations.Delete,
    title=lambda each: each.title or each.language or each.id,
    named=by("translation_settings_id"),
    columns=(
        Column("TRANSLATION", lambda each: each.title or each.id),
        Column("TARGET LANGUAGE", lambda each: each.languages or each.language, coded=True),
        Column("STATUS", "status", 10, coded=True),
        Column("UPDATED", "updated_at", 7, right=True, drop=1),
    ),
    rights=Rights("create_content", "edit", "edit", of_thing=True),
)  # fmt: skip
FONTS: Resource[fonts.Font] = Resource(
    "font", "fonts", fonts.List, page=0,
    about="Custom fonts for the sites in this organization.",
    get=fonts.Get, create=fonts.Create, update=fonts.Update, delete=fonts.Delete,
    title=lambda each: each.font_family or each.id,
    named=by("font_id"),
    columns=(
        Column("FAMILY", "font_family"),
        Column("WEIGHTS", lambda each: ", ".join(f"{face.weight:g}" for face in each.font_faces)),
        Column("FILES", lambda each: sum(len(face.sources) for face in each.font_faces), 6, right=True),
    ),
    written=lambda each: each.model_copy(update={"font_faces": ()}),
    details=lambda each: [("font faces", ", ".join(f"{face.weight:g} {source.url.rpartition('/')[2]}" for face in each.font_faces for source in face.sources))],
    rights=Rights("create_content", "edit", "edit", of_thing=True),
    hangs_on=lambda each: ["Sites that use this font will show the default font instead."],
)  # fmt: skip
SETTINGS: Resource[Organization] = Resource(
    "organization", "settings", organizations.Get,
    items=lambda answer: (answer,),
    update=organizations.Update,
    title=lambda each: each.title,
    named=lambda known, each: {},
    columns=(
        Column("ORGANIZATION", "title"),
        Column("PLAN", "plan", 12),
        Column("TYPE", "type", 10, drop=1, coded=True),
        Column("DEFAULT ROLE", "default_role", 12, none=GUEST, coded=True),
    ),
)  # fmt: skip
SUBDOMAIN: Resource[subdomains.Subdomain] = Resource(
    "subdomain", "subdomains", subdomains.Get, needs="subdomain",
    about="The organization's subdomain on the server's domain.",
    items=lambda answer: (answer,),
    title=lambda each: each.subdomain,
    key=lambda each: each.subdomain,
    columns=(Column("SUBDOMAIN", "subdomain"), Column("ORGANIZATION", "target.organization", is_id=True), Column("ACTIVE", "is_active", 6)),
    rights=Rights("", "", ""),
)  # fmt: skip
OF_DOMAIN: Resource[Organization] = Resource(
    "organization", "domain organizations", organizations.ListByEmailDomain, needs="email_domain",
    about="Organizations that use the same email domain as this organization (the first domain if there are several).",
    items=lambda answer: answer.organizations,
    title=lambda each: each.title,
    columns=(Column("ORGANIZATION", "title"), Column("PLAN", "plan", 12), Column("CREATED", "created_at", 7, right=True)),
    rights=Rights("", "", ""),
)  # fmt: skip

KINDS = (
    MEMBERS,
    TEAMS,
    INVITE_LINKS,
    COLLECTIONS,
    SPACES,
    PROVIDERS,
    LOGINS,
    SPECIFICATIONS,
    TRANSLATIONS,
    FONTS,
    SUBDOMAIN,
    OF_DOMAIN,
    SETTINGS,
)
"""The tables of the organization, in their order."""


def _known(organization: Organization) -> Known:
    """Return the subdomain and the e-mail domain of an organization, if it has them."""
    known = {"subdomain": organization.hostname, "email_domain": next(iter(organization.email_domains), None)}
    return {name: value for name, value in known.items() if value}


def screen() -> BrowserScreen:
    """Return the view of the organization."""
    return BrowserScreen("admin", "Admin", KINDS, _known)
