"""The tables of the view Admin (`TABLES`), such as members, teams, collections and OpenAPI specifications."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from octavo.api import collections, fonts, invites, openapi, organizations, spaces, sso, subdomains, teams, translations
from octavo.api.labels import label
from octavo.api.operation import CollectionRef, Operation
from octavo.api.organizations import Organization
from octavo.data.live import Live
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.core.shell import Shell, explained, opening
from octavo.tui.core.write_queue import show_progress
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.render.layout import deferred_content
from octavo.tui.resources import resource_commands, space_resources
from octavo.tui.resources.resource import (
    Action,
    Arguments,
    LabeledValues,
    RequiredPermissions,
    Resource,
    ResourceColumn,
    build_operation,
    id_argument,
    member_list,
)
from octavo.tui.resources.resource_browser import BrowserScreen
from octavo.tui.resources.space_resources import ACCESS_TABLES, EDIT_IN_TREE, MEMBER_SPACES, SPACES, space_arguments
from octavo.tui.widgets.short_texts import long_age, plural

STATUS_INTERVAL = 1.0
"""Seconds between two requests that ask whether a specification is processed."""
STATUS_REQUESTS = 60
"""Number of status requests after which Octavo stops waiting for a specification."""
MAX_SHOWN_LENGTH = 400_000
"""Maximum number of characters of a specification that are shown."""
_PENDING_STATES = ("pending", "progress")
_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


async def specification_details(live: Live, arguments: Arguments, specification: openapi.OpenApiSpec) -> LabeledValues:
    """Return lines about the latest processed version of a specification, and how to open its text. Raises ApiError."""
    if specification.last_version is None:
        return (("latest version", "no version processed yet"),)
    version = await live.send(openapi.GetLatestVersion(at=arguments["at"], spec_slug=specification.slug))
    age = f", processed {long_age(version.created_at)}" if version.created_at is not None else ""
    return (
        ("latest version", f"{version.id}{age}"),
        ("text", "press enter to list the versions, select the latest version (the last in the list), and press enter"),
    )


async def report_processing(shell: Shell, arguments: Arguments, operation: Operation[Any], response: Any) -> None:
    """Wait about a minute for the server to process an uploaded specification. Then show the outcome."""
    live = shell.session.live
    slug = getattr(response, "slug", "") or getattr(operation, "slug", "") or arguments.get("spec_slug", "")
    request = openapi.Get(at=arguments["at"], spec_slug=slug)
    with explained(f"Could not check whether {slug} was processed"):
        with show_progress(shell, f"Processing {slug}…"):
            specification = await live.fetch(request)
            for _ in range(STATUS_REQUESTS):
                if specification.processing_state not in _PENDING_STATES:
                    break
                await asyncio.sleep(STATUS_INTERVAL)
                specification = await live.fetch(request)
        live.refresh_affected(operation)
        if specification.last_process_error_code:
            code = f"{label(specification.last_process_error_code)}."
            reason = next((each.message for each in specification.last_processed_errors if each.message), code)
            shell.say(f"Could not process {slug}: {reason} The previous version is still in use.", tone="failed")
        elif specification.processing_state in _PENDING_STATES:
            shell.say(f"The server is still processing {slug}. Press r to check again.", tone="care")
        else:
            text = await live.fetch(openapi.GetLatestContent(at=arguments["at"], spec_slug=slug))
            if live.peek(list_operation := openapi.List(at=arguments["at"], limit=100)).value is not None:
                await live.fetch(list_operation)
            live.specification_version += 1
            shell.say(f"Processed {slug}: {_operation_count(text)}. Pages that show its operations are up to date.")


def _operation_count(text: openapi.VersionContent) -> str:
    files = text.filesystem if isinstance(text.filesystem, dict) else {}
    operation_count = 0
    for file in (files, *files.values()):
        paths = file.get("paths") if isinstance(file, dict) else None
        for path in paths.values() if isinstance(paths, dict) else ():
            operation_count += len(_METHODS & set(path)) if isinstance(path, dict) else 0
    return plural(operation_count, "operation")


def open_version(shell: Shell, arguments: Arguments, version: openapi.Version) -> None:
    """Show the text of `version` in a dialog if it is the latest version. Otherwise, say how to copy its link."""
    shell.background(_show_version(shell, arguments, version))


async def _show_version(shell: Shell, arguments: Arguments, version: openapi.Version) -> None:
    request_values = {"at": arguments["at"], "spec_slug": arguments["spec_slug"]}
    with opening(shell, f"Loading {arguments['spec_slug']}…", "Could not load the specification"):
        latest_version = await shell.session.live.send(openapi.GetLatestVersion(**request_values))
        if latest_version.id != version.id:
            message = "Octavo can show only the latest version. Press Y to copy a link to this version."
            shell.say(message, tone="care")
            return
        content = await shell.session.live.fetch(openapi.GetLatestContent(**request_values))
        text, note = await asyncio.to_thread(_as_text, content.filesystem), "\n"
        if len(text) > MAX_SHOWN_LENGTH:
            note = f"\n\nOnly the first {MAX_SHOWN_LENGTH:,} of {len(text):,} characters are shown.\n"
        document = await asyncio.to_thread(parse, f"```json\n{text[:MAX_SHOWN_LENGTH]}\n```{note}")
    block = Block("note", children=document.blocks, key=version.id)
    shell.push_screen(TextDialog(block, deferred_content(diagrams=False), arguments["spec_slug"]))


def _as_text(filesystem: Any) -> str:
    files = filesystem if isinstance(filesystem, dict) else {}
    value = next(iter(files.values())) if len(files) == 1 else files
    return json.dumps(value, ensure_ascii=False, indent=2).replace("```", "'''")


GUEST = "Guest"

MEMBER_TEAMS: Resource[teams.TeamOfMember] = Resource(
    "team", "teams", teams.ListOfMember,
    description="Teams that this member belongs to.",
    key=lambda item: item.team.id,
    ids=id_argument("team_id", "team.id"),
    columns=(
        ResourceColumn("TEAM", "team.title"),
        ResourceColumn("TEAM ROLE", "member.role", 10, is_code=True),
        ResourceColumn("MEMBERS", "team.members", 8, align_right=True),
    ),
    delete=teams.DeleteMember,
    permission_source=lambda item: item.team,
    permissions=RequiredPermissions(on_item=True, allows_leaving=True),
    recreate=lambda arguments, item: build_operation(teams.AddMember, {**arguments, "team_id": item.team.id, "role": _team_role(item.member)}),
    read_only_reason="To add a member to a team or change a team role, go to Teams, select the team, and press enter.",
    delete_verbs=("remove this member from", "removed this member from"),
)  # fmt: skip


def _team_role(membership: teams.Membership) -> str | None:
    return membership.role if membership.role in ("owner", "member") else None


def _invite_notice(op: invites.Invite, response: invites.Invited | None) -> str:
    if response is None:
        return "The invitations were sent, but the server did not report how many members are new. Check the list of members."
    added_count, rejected_emails = response.invited, response.failed_sso_emails
    member_count = len(response.users) - added_count
    sentences = [f"Invited {plural(added_count, 'new member')}." if added_count else "No new members were invited."]
    if member_count > 0:
        sentences.append(f"{plural(member_count, 'person was already a member', 'people were already members')}.")
    if rejected_emails:
        sentences.append(f"Not invited (SSO does not recognize the email address): {', '.join(rejected_emails)}.")
    return " ".join(sentences)


MEMBERS: Resource[organizations.Member] = Resource(
    "member", "members", organizations.ListMembers,
    description="Members of the organization, newest first.",
    get=organizations.GetMember, create=invites.Invite, update=organizations.UpdateMember, delete=organizations.DeleteMember,
    key=lambda item: item.user.id,
    ids=id_argument("user_id", "user.id"),
    columns=(
        ResourceColumn("NAME", "user.name"),
        ResourceColumn("EMAIL", "user.email", drop_priority=4),
        ResourceColumn("ROLE", "role", 9, empty_text=GUEST, is_code=True),
        ResourceColumn("LAST SEEN", "last_seen_at", 9, align_right=True, drop_priority=1, empty_text="never"),
        ResourceColumn("JOINED", "joined_at", 6, align_right=True, drop_priority=2),
        ResourceColumn("TEAMS", "teams", 5, align_right=True, drop_priority=3),
        ResourceColumn("SPACES", "spaces", 6, align_right=True, drop_priority=3),
        ResourceColumn("DISABLED", lambda item: item.disabled or None, 8, drop_priority=5),
        ResourceColumn("SSO", lambda item: item.sso or None, 3, drop_priority=5, is_shown=False),
    ),
    children=(MEMBER_SPACES, MEMBER_TEAMS),
    permissions=RequiredPermissions(allows_leaving=True),
    actions=(
        Action("Require SSO sign-in", "This member will be able to sign in only through the organization's SAML provider.", organizations.EnrollMember,
               "must now sign in with SSO", disabled_reason=lambda item: "This member already signs in with SSO." if item.sso else None),
    ),
    delete_effects=lambda item: ["This member will lose all roles" + (f" and be removed from {plural(item.teams, 'team')}." if item.teams else ".")],
    status=lambda item: label(item.role or "guest"),
    create_title="Invite members",
    creation_notice=_invite_notice,
    create_intro="Each person will get an email and become a member with this role.",
    delete_verbs=("remove", "removed"),
    container="organization",
)  # fmt: skip
TEAM_MEMBERS: Resource[teams.TeamMember] = Resource(
    "member", "members", teams.ListMembers,
    description="Members of this team. Team owners manage the team.",
    create=teams.AddMember, update=teams.AddMember, delete=teams.DeleteMember,
    title=lambda item: item.organization.user.name,
    key=lambda item: item.organization.user.id,
    ids=id_argument("user_id", "organization.user.id"),
    columns=(
        ResourceColumn("NAME", "organization.user.name"),
        ResourceColumn("TEAM ROLE", "team.role", 10, is_code=True),
        ResourceColumn("EMAIL", "organization.user.email", 32, drop_priority=2),
        ResourceColumn("ROLE", "organization.role", 9, empty_text=GUEST, drop_priority=1, is_code=True),
        ResourceColumn("LAST SEEN", "organization.last_seen_at", 9, align_right=True, drop_priority=1, empty_text="never"),
    ),
    as_update=lambda item: item.team,
    recreate=lambda arguments, item: build_operation(
        teams.AddMember, {**arguments, "user_id": item.organization.user.id, "role": _team_role(item.team)}
    ),
    permissions=RequiredPermissions(allows_leaving=True),
    prepare_undo=lambda *at: space_resources.undo_of_roles(*at, (TEAM_MEMBERS, "user_id", lambda op: (op.user_id,))),
    create_title="Add a member",
    delete_verbs=("remove", "removed"),
    container="team",
)  # fmt: skip
TEAMS: Resource[teams.Team] = Resource(
    "team", "teams", teams.List,
    description="Groups of members. A role assigned to a team applies to all its members.",
    get=teams.Get, create=teams.Create, update=teams.Update, delete=teams.Delete,
    ids=id_argument("team_id"),
    columns=(
        ResourceColumn("TEAM", "title"),
        ResourceColumn("MEMBERS", "members", 8, align_right=True),
        ResourceColumn("SPACES", "spaces", 7, align_right=True),
        ResourceColumn("CREATED", "created_at", 7, align_right=True, drop_priority=1),
    ),
    children=(TEAM_MEMBERS,),
    actions=(
        Action("Edit multiple members", "Add or remove several members at once, or set team roles by user ID.",
               teams.UpdateMembers, "was updated", run=resource_commands.open_first_action),
    ),
    reference_lists={"add": member_list, "remove": member_list},
    permissions=RequiredPermissions(create="admin", on_item=True),
    delete_effects=lambda item: [f"{plural(item.members, 'member')} will lose the access to {plural(item.spaces, 'space')} that this team gives them."],
)  # fmt: skip
INVITE_LINKS: Resource[invites.InviteLink] = Resource(
    "invite link", "invite links", invites.ListLinks,
    description="Anyone who opens an invite link joins the organization with the role set in the link.",
    get=invites.GetLink, create=invites.CreateLink, update=invites.UpdateLink, delete=invites.DeleteLink,
    title=lambda item: f"invite link {item.id}",
    ids=id_argument("invite_id"),
    columns=(
        ResourceColumn("LINK", "id"),
        ResourceColumn("ROLE", lambda item: item.level or item.role, 9, empty_text=GUEST, is_code=True),
        ResourceColumn("FOR", lambda item: item.space or item.collection, is_id=True, empty_text="the organization"),
        ResourceColumn("DUPLICATE", "redundant", 9, drop_priority=1),
    ),
    lookups=(collections.List,),
    permissions=RequiredPermissions(parent_fields={"space": "admin", "collection": "admin"}),
    delete_effects=lambda each: ["The link will stop working. People who joined with the link will stay members."],
    create_intro="Anyone who opens the link joins with this role. To invite people only to a space or collection, choose a level instead of a role.",
)  # fmt: skip
COLLECTION_SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", collections.ListSpaces,
    description="Spaces directly in this collection.",
    ids=lambda arguments, item: space_arguments(arguments, item.id),
    columns=(
        ResourceColumn("SPACE", "title"),
        ResourceColumn("VISIBILITY", "visibility", 15, is_code=True),
        ResourceColumn("UPDATED", "updated_at", 7, align_right=True),
    ),
    read_only_reason=EDIT_IN_TREE,
    children=ACCESS_TABLES,
)  # fmt: skip
COLLECTIONS: Resource[collections.Collection] = Resource(
    "collection", "collections", collections.List,
    description="Collections contain spaces and other collections.",
    get=collections.Get, create=collections.Create, update=collections.Update, delete=collections.Delete,
    ids=lambda arguments, item: {"at": CollectionRef(collection_id=item.id), "organization_id": arguments["at"].organization_id},
    columns=(
        ResourceColumn("COLLECTION", "title"),
        ResourceColumn("IN", "parent", is_id=True),
        ResourceColumn("DEFAULT ACCESS", "default_level", 14, empty_text="none", is_code=True),
        ResourceColumn("DESCRIPTION", "description", drop_priority=1),
    ),
    lookups=(collections.List,),
    children=(COLLECTION_SPACES, *ACCESS_TABLES),
    permissions=RequiredPermissions(create="create_content", on_item=True, parent_fields={"parent": "create"}),
    required_fields=frozenset({"title"}),
    delete_effects=lambda each: ["The spaces and collections in this collection will move up one level."],
)  # fmt: skip
SAML_PROVIDERS: Resource[sso.SamlProvider] = Resource(
    "SAML provider", "SAML providers", sso.ListProviders,
    description="Identity providers for SSO sign-in (SAML).",
    get=sso.GetProvider, create=sso.CreateProvider, update=sso.UpdateProvider, delete=sso.DeleteProvider,
    ids=id_argument("saml_provider_id"),
    columns=(
        ResourceColumn("PROVIDER", "label"),
        ResourceColumn("STATUS", "status", 8, is_code=True),
        ResourceColumn("DEFAULT TEAM", "default_team.title"),
        ResourceColumn("DEFAULT ROLE", "default_role", 12, empty_text=GUEST, is_code=True),
        ResourceColumn("CREATED", "created_at", 7, align_right=True, drop_priority=1),
    ),
    secret_fields=frozenset({"certificate"}),
    delete_effects=lambda each: ["Members will keep their accounts, but will no longer be able to sign in through this provider."],
)  # fmt: skip
SSO_LINKS: Resource[sso.Login] = Resource(
    "SSO sign-in link", "SSO sign-in links", sso.ListLogins,
    description="Links that members use to sign in with SSO, one for each SAML provider.",
    columns=(ResourceColumn("PROVIDER", "label"), ResourceColumn("LINK", "start_url")),
    url_of=lambda item: item.start_url,
    read_only_reason="Sign-in links belong to SAML providers, so you cannot change them here. Change the SAML provider instead.",
)  # fmt: skip
VERSIONS: Resource[openapi.Version] = Resource(
    "version", "versions", openapi.ListVersions,
    description="Versions of this specification, oldest first.",
    title=lambda item: item.id,
    columns=(ResourceColumn("VERSION", "id"), ResourceColumn("CREATED", "created_at", 7, align_right=True), ResourceColumn("LINK", "url", drop_priority=1)),
    open_dialog=open_version,
    read_only_reason="To upload a new version, press esc twice, select the specification, and press a.",
    url_of=lambda item: item.url,
)  # fmt: skip
SPECIFICATIONS: Resource[openapi.OpenApiSpec] = Resource(
    "OpenAPI specification", "OpenAPI specifications", openapi.List,
    description="OpenAPI specifications. Pages can show the API operations in a specification.",
    get=openapi.Get, create=openapi.Create, update=openapi.Update, delete=openapi.Delete,
    title=lambda item: item.slug or item.id,
    ids=id_argument("spec_slug", "slug"),
    columns=(
        ResourceColumn("SPECIFICATION", "slug"),
        ResourceColumn("STATUS", lambda item: item.last_process_error_code or item.processing_state, 20, is_code=True),
        ResourceColumn("PROCESSED", "last_processed_at", 9, align_right=True),
        ResourceColumn("SOURCE", "source_url", drop_priority=1, empty_text="uploaded text"),
        ResourceColumn("VISIBILITY", "visibility", 10, drop_priority=2, is_code=True),
    ),
    children=(VERSIONS,),
    actions=(
        Action("Upload a new version", "Enter a link, a file path, or the text of the new version. Pages that show the specification will be updated.",
               openapi.Put, "was uploaded", run=resource_commands.open_first_action),
    ),
    load_details=specification_details,
    details=lambda item: [("error", error.message) for error in item.last_processed_errors],
    after_write=report_processing,
    permissions=RequiredPermissions(create="create_open_api_spec", update="edit", delete="edit", on_item=True),
    delete_effects=lambda _: ["All versions of this specification will be deleted too. Pages will no longer be able to show the operations of this specification."],
)  # fmt: skip
TRANSLATIONS: Resource[translations.TranslationSettings] = Resource(
    "translation", "translations", translations.List,
    description="Translations of spaces into other languages.",
    get=translations.Get, create=translations.Create, update=translations.Update, delete=translations.Delete,
    title=lambda item: item.title or item.language or item.id,
    ids=id_argument("translation_settings_id"),
    columns=(
        ResourceColumn("TRANSLATION", lambda item: item.title or item.id),
        ResourceColumn("TARGET LANGUAGE", lambda item: item.languages or item.language, is_code=True),
        ResourceColumn("STATUS", "status", 10, is_code=True),
        ResourceColumn("UPDATED", "updated_at", 7, align_right=True, drop_priority=1),
    ),
    permissions=RequiredPermissions("create_content", "edit", "edit", on_item=True),
)  # fmt: skip
FONTS: Resource[fonts.Font] = Resource(
    "font", "fonts", fonts.List, page_size=0,
    description="Custom fonts for the sites in this organization.",
    get=fonts.Get, create=fonts.Create, update=fonts.Update, delete=fonts.Delete,
    title=lambda item: item.font_family or item.id,
    ids=id_argument("font_id"),
    columns=(
        ResourceColumn("FAMILY", "font_family"),
        ResourceColumn("WEIGHTS", lambda item: ", ".join(f"{face.weight:g}" for face in item.font_faces)),
        ResourceColumn("FILES", lambda item: sum(len(face.sources) for face in item.font_faces), 6, align_right=True),
    ),
    as_update=lambda item: item.model_copy(update={"font_faces": ()}),
    details=lambda item: [("font faces", ", ".join(f"{face.weight:g} {source.url.rpartition('/')[2]}" for face in item.font_faces for source in face.sources))],
    permissions=RequiredPermissions("create_content", "edit", "edit", on_item=True),
    delete_effects=lambda each: ["Sites that use this font will show the default font instead."],
)  # fmt: skip
SETTINGS: Resource[Organization] = Resource(
    "organization", "settings", organizations.Get,
    items=lambda response: (response,),
    update=organizations.Update,
    columns=(
        ResourceColumn("ORGANIZATION", "title"),
        ResourceColumn("PLAN", "plan", 12),
        ResourceColumn("TYPE", "type", 10, drop_priority=1, is_code=True),
        ResourceColumn("DEFAULT ROLE", "default_role", 12, empty_text=GUEST, is_code=True),
    ),
)  # fmt: skip
SUBDOMAIN: Resource[subdomains.Subdomain] = Resource(
    "subdomain", "subdomains", subdomains.Get, required_argument="subdomain",
    description="The organization's subdomain on the server's domain.",
    items=lambda response: (response,),
    title=lambda item: item.subdomain,
    key=lambda item: item.subdomain,
    columns=(ResourceColumn("SUBDOMAIN", "subdomain"), ResourceColumn("ORGANIZATION", "target.organization", is_id=True), ResourceColumn("ACTIVE", "is_active", 6)),
)  # fmt: skip
DOMAIN_ORGANIZATIONS: Resource[Organization] = Resource(
    "organization", "domain organizations", organizations.ListByEmailDomain, required_argument="email_domain",
    description="Organizations that use the same email domain as this organization (the first domain if there are several).",
    items=lambda response: response.organizations,
    columns=(ResourceColumn("ORGANIZATION", "title"), ResourceColumn("PLAN", "plan", 12), ResourceColumn("CREATED", "created_at", 7, align_right=True)),
)  # fmt: skip

TABLES = (
    MEMBERS,
    TEAMS,
    INVITE_LINKS,
    COLLECTIONS,
    SPACES,
    SAML_PROVIDERS,
    SSO_LINKS,
    SPECIFICATIONS,
    TRANSLATIONS,
    FONTS,
    SUBDOMAIN,
    DOMAIN_ORGANIZATIONS,
    SETTINGS,
)
"""The tables of the organization, in display order."""


def _root_arguments(organization: Organization) -> Arguments:
    arguments = {"subdomain": organization.hostname, "email_domain": next(iter(organization.email_domains), None)}
    return {name: value for name, value in arguments.items() if value}


def create_screen() -> BrowserScreen:
    """Return a new Admin view."""
    return BrowserScreen("admin", "Admin", TABLES, _root_arguments)
