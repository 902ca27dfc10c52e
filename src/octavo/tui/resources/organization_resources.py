"""What an organization has: its people and teams, how they come in, and what its content shares."""

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
from octavo.api.organizations import Organization
from octavo.api.places import CollectionRef
from octavo.tui.resources import acting, specification_reading
from octavo.tui.resources.access_resources import ACCESS, IN_THE_TREE, MEMBER_SPACES, SPACES, in_space
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.references import people
from octavo.tui.resources.resource import Action, Column, Known, Resource, Rights, by, made
from octavo.tui.widgets.wording import plural

GUEST = "guest"

MEMBER_TEAMS: Resource[teams.TeamOfMember] = Resource(
    "team", "teams", teams.ListOfMember,
    about="Teams this member is in.",
    title=lambda each: each.team.title,
    key=lambda each: each.team.id,
    named=by("team_id", "team.id"),
    columns=(Column("TEAM", "team.title"), Column("AS", "member.role", 10), Column("MEMBERS", "team.members", 8, right=True)),
    delete=teams.DeleteMember,
    holder=lambda each: each.team,
    rights=Rights(of_thing=True, one_leaves=True),
    again=lambda known, each: made(teams.AddMember, {**known, "team_id": each.team.id, "role": _team_role(each.member)}),
    elsewhere="A team takes people in, and says as what: teams, enter, ctrl+n.",
    verbs=("leave", "left"),
)  # fmt: skip


def _team_role(of: teams.Membership) -> str | None:
    return of.role if of.role in ("owner", "member") else None


def _who_was_invited(op: invites.Invite, answer: invites.Invited | None) -> str:
    if answer is None:
        return "They are invited: the server's answer, which says who was a member already, was lost."
    new, without = answer.invited, answer.failed_sso_emails
    already = len(answer.users) - new
    who = plural(new, "person", "people") if new else "Nobody new"
    said = [f"{who} {'are members' if new > 1 else 'is a member'} now."]
    if already > 0:
        said.append(f"{already} {'was one' if already == 1 else 'were members'} already.")
    if without:
        said.append(f"Not invited, as they cannot sign on through the provider: {', '.join(without)}.")
    return " ".join(said)


MEMBERS: Resource[organizations.Member] = Resource(
    "member", "members", organizations.ListMembers,
    about="People of the organization, those who joined last first.",
    get=organizations.GetMember, create=invites.Invite, update=organizations.UpdateMember, delete=organizations.DeleteMember,
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    named=by("user_id", "user.id"),
    columns=(
        Column("NAME", "user.name"),
        Column("E-MAIL", "user.email", drop=4),
        Column("ROLE", "role", 8, none=GUEST),
        Column("SEEN", "last_seen_at", 5, right=True, drop=1, none="never"),
        Column("JOINED", "joined_at", 6, right=True, drop=2),
        Column("TEAMS", "teams", 5, right=True, drop=3),
        Column("SPACES", "spaces", 6, right=True, drop=3),
        Column("OFF", lambda each: each.disabled or None, 3, drop=5),
        Column("SSO", lambda each: each.sso or None, 3, drop=5, shown=False),
    ),
    children=(MEMBER_SPACES, MEMBER_TEAMS),
    rights=Rights(one_leaves=True),
    actions=(
        Action("Let sign on through the provider", "They sign in with the organization's provider from then on.", organizations.EnrollMember,
               "signs on through the provider now", why_not=lambda each: "They sign on through it already." if each.sso else None),
    ),
    hangs_on=lambda each: ["They lose the roles they were given" + (f", and their place in {plural(each.teams, 'team')}." if each.teams else ".")],
    state=lambda each: each.role or GUEST,
    new="Invite",
    said_new=_who_was_invited,
    making="They get an e-mail each, and are members with this role.",
    verbs=("remove", "removed"),
)  # fmt: skip
TEAM_MEMBERS: Resource[teams.TeamMember] = Resource(
    "member", "members", teams.ListMembers,
    about="People of this team. Owners manage it.",
    create=teams.AddMember, update=teams.AddMember, delete=teams.DeleteMember,
    title=lambda each: each.organization.user.name,
    key=lambda each: each.organization.user.id,
    named=by("user_id", "organization.user.id"),
    columns=(
        Column("NAME", "organization.user.name"),
        Column("IN THE TEAM", "team.role", 11),
        Column("E-MAIL", "organization.user.email", 32, drop=2),
        Column("ROLE", "organization.role", 8, none=GUEST, drop=1),
        Column("SEEN", "organization.last_seen_at", 5, right=True, drop=1),
    ),
    written=lambda each: each.team,
    again=lambda known, each: made(
        teams.AddMember, {**known, "user_id": each.organization.user.id, "role": _team_role(each.team)}
    ),
    rights=Rights(one_leaves=True),
    new="Add a member",
    verbs=("take out", "taken out"),
)  # fmt: skip
TEAMS: Resource[teams.Team] = Resource(
    "team", "teams", teams.List,
    about="People who hold roles together.",
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
        Action("Change several members", "People come into it, and others leave it, in one step. Then who is to own it, by id.",
               teams.UpdateMembers, "has these members now", ask=acting.fill_in_first),
    ),
    references={"add": people, "remove": people},
    rights=Rights(create="admin", of_thing=True),
    hangs_on=lambda each: [f"{plural(each.members, 'member')} lose the roles they have through it in {plural(each.spaces, 'space')}."],
)  # fmt: skip
INVITE_LINKS: Resource[invites.InviteLink] = Resource(
    "invite link", "invite links", invites.ListLinks,
    about="Whoever has the link comes in with its role.",
    get=invites.GetLink, create=invites.CreateLink, update=invites.UpdateLink, delete=invites.DeleteLink,
    title=lambda each: f"invite link {each.id}",
    named=by("invite_id"),
    columns=(
        Column("LINK", "id"),
        Column("LETS IN AS", lambda each: each.level or each.role, 11, none=GUEST),
        Column("INTO", lambda each: each.space or each.collection, is_id=True, none="the organization"),
        Column("REDUNDANT", "redundant", 9, drop=1),
    ),
    lookups=(collections.List,),
    rights=Rights(places={"space": "admin", "collection": "admin"}),
    hangs_on=lambda each: ["The link lets nobody in from then on. Those it let in stay."],
)  # fmt: skip
COLLECTION_SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", collections.ListSpaces,
    about="Spaces that lie directly in it.",
    title=lambda each: each.title,
    named=lambda known, each: in_space(known, each.id),
    columns=(Column("SPACE", "title"), Column("VISIBILITY", "visibility", 12), Column("CHANGED", "updated_at", 7, right=True)),
    elsewhere=IN_THE_TREE,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
COLLECTIONS: Resource[collections.Collection] = Resource(
    "collection", "collections", collections.List,
    about="Folders of spaces, which may hold others.",
    get=collections.Get, create=collections.Create, update=collections.Update, delete=collections.Delete,
    title=lambda each: each.title or each.id,
    named=lambda known, each: {"at": CollectionRef(collection_id=each.id), "organization_id": known["at"].organization_id},
    columns=(
        Column("COLLECTION", "title"),
        Column("IN", "parent", is_id=True),
        Column("EVERYBODY MAY", "default_level", 13),
        Column("DESCRIPTION", "description", drop=1),
    ),
    lookups=(collections.List,),
    children=(COLLECTION_SPACES, *ACCESS),
    rights=Rights(create="create_content", of_thing=True, places={"parent": "create"}),
    hangs_on=lambda each: ["What lies in it moves to where it lay."],
)  # fmt: skip
PROVIDERS: Resource[sso.SamlProvider] = Resource(
    "SAML provider", "SAML providers", sso.ListProviders,
    about="Identity providers that members sign in with.",
    get=sso.GetProvider, create=sso.CreateProvider, update=sso.UpdateProvider, delete=sso.DeleteProvider,
    title=lambda each: each.label or each.id,
    named=by("saml_provider_id"),
    columns=(
        Column("PROVIDER", "label"),
        Column("STATUS", "status", 8),
        Column("FIRST TEAM", "default_team.title"),
        Column("ROLE", "default_role", 8, none=GUEST),
        Column("CREATED", "created_at", 7, right=True, drop=1),
    ),
    secrets=frozenset({"certificate"}),
    hangs_on=lambda each: ["Members keep their accounts, and have to sign in otherwise."],
)  # fmt: skip
LOGINS: Resource[sso.Login] = Resource(
    "sign-in address", "sign-in addresses", sso.ListLogins,
    about="Where members sign in.",
    title=lambda each: each.label or each.id,
    columns=(Column("PROVIDER", "label"), Column("ADDRESS", "start_url")),
    address=lambda each: each.start_url,
    elsewhere="They come and go with the SAML providers: those are changed.",
    rights=Rights("", "", ""),
)  # fmt: skip
VERSIONS: Resource[openapi.Version] = Resource(
    "version", "versions", openapi.ListVersions,
    about="What the specification said when it was read, the oldest first.",
    title=lambda each: each.id,
    columns=(Column("VERSION", "id"), Column("READ", "created_at", 6, right=True), Column("ADDRESS", "url", drop=1)),
    shows=specification_reading.open_version,
    elsewhere="Versions are filed at the specification: esc, esc, then a.",
    address=lambda each: each.url,
    rights=Rights("", "", ""),
)  # fmt: skip
SPECIFICATIONS: Resource[openapi.OpenApiSpec] = Resource(
    "OpenAPI specification", "OpenAPI specifications", openapi.List,
    about="Pages show the operations of them.",
    get=openapi.Get, create=openapi.Create, update=openapi.Update, delete=openapi.Delete,
    title=lambda each: each.slug or each.id,
    named=by("spec_slug", "slug"),
    columns=(
        Column("SPECIFICATION", "slug"),
        Column("STATE", lambda each: each.last_process_error_code or each.processing_state, 14),
        Column("READ", "last_processed_at", 6, right=True),
        Column("FROM", "source_url", drop=1, none="its text"),
        Column("VISIBILITY", "visibility", 10, drop=2),
    ),
    children=(VERSIONS,),
    actions=(
        Action("File a new version", "From an address, or from a file or text. It is read anew, and pages that show its operations show these.",
               openapi.Put, "is filed", ask=acting.fill_in_first),
    ),
    told=specification_reading.of_specification,
    details=lambda each: [("error", error.message) for error in each.last_processed_errors],
    afterwards=specification_reading.follow,
    rights=Rights(create="create_open_api_spec", change="edit", delete="edit", of_thing=True),
    hangs_on=lambda each: ["Its versions go with it, and pages that show its operations show none."],
)  # fmt: skip
TRANSLATIONS: Resource[translations.TranslationSettings] = Resource(
    "translation", "translations", translations.List,
    about="Into which languages content is translated.",
    get=translations.Get, create=translations.Create, update=translations.Update, delete=translations.Delete,
    title=lambda each: each.title or each.language or each.id,
    named=by("translation_settings_id"),
    columns=(
        Column("TRANSLATION", lambda each: each.title or each.id),
        Column("INTO", lambda each: each.languages or each.language),
        Column("STATUS", "status", 10),
        Column("CHANGED", "updated_at", 7, right=True, drop=1),
    ),
    rights=Rights("create_content", "edit", "edit", of_thing=True),
)  # fmt: skip
FONTS: Resource[fonts.Font] = Resource(
    "font", "fonts", fonts.List, page=0,
    about="Font families of the organization's own, for its sites.",
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
    hangs_on=lambda each: ["Sites that use it show another."],
)  # fmt: skip
SETTINGS: Resource[Organization] = Resource(
    "organization", "settings", organizations.Get,
    items=lambda answer: (answer,),
    update=organizations.Update,
    title=lambda each: each.title,
    named=lambda known, each: {},
    columns=(Column("ORGANIZATION", "title"), Column("PLAN", "plan", 12), Column("TYPE", "type", 10, drop=1), Column("EVERYBODY MAY", "default_role", 13)),
)  # fmt: skip
SUBDOMAIN: Resource[subdomains.Subdomain] = Resource(
    "subdomain", "subdomains", subdomains.Get, needs="subdomain",
    about="The name below the platform's own domain that the organization is found at.",
    items=lambda answer: (answer,),
    title=lambda each: each.subdomain,
    key=lambda each: each.subdomain,
    columns=(Column("SUBDOMAIN", "subdomain"), Column("LEADS TO", "target.organization", is_id=True), Column("WORKS", "is_active", 6)),
    rights=Rights("", "", ""),
)  # fmt: skip
OF_DOMAIN: Resource[Organization] = Resource(
    "organization of the e-mail domain", "organizations of the e-mail domain", organizations.ListByEmailDomain, needs="email_domain",
    about="Those that people with an address of the organization's first e-mail domain belong to.",
    items=lambda answer: answer.organizations,
    title=lambda each: each.title,
    columns=(Column("ORGANIZATION", "title"), Column("PLAN", "plan", 12), Column("MADE", "created_at", 6, right=True)),
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
"""The kinds of the view, in their order."""


def _known(organization: Organization) -> Known:
    """What there is to look up by: only what an organization has."""
    known = {"subdomain": organization.hostname, "email_domain": next(iter(organization.email_domains), None)}
    return {name: value for name, value in known.items() if value}


def screen() -> BrowserScreen:
    """The view of the organization."""
    return BrowserScreen("admin", "Organization", KINDS, _known)
