"""Users and organizations: members, teams, SAML providers and translation settings. Also the version of the API."""

from __future__ import annotations

from octavo import __version__
from octavo.api import organizations, sso, subdomains, system, teams, translations, users
from octavo.api.folding import fold
from octavo.api.merge_rules import MERGE_RULE_NAMES, MERGE_RULES_WITH_USERS
from octavo.api.sso import NO_SSO_URL
from octavo.api.teams import Team
from octavo.server.handlers.permissions import (
    allows,
    can_see,
    membership,
    organization_guard,
    organization_permissions,
    organization_role,
    refuse_guests,
    require_in_organization,
    role,
    with_containers,
)
from octavo.server.rest import (
    PRESENTERS,
    Refusal,
    RequestContext,
    before_save,
    guards,
    handle,
    omit,
    paginate,
    path_of,
    presents,
    request_fields,
)
from octavo.server.store import Json, MissingResource


def present_user(context: RequestContext, user_id: str) -> Json:
    """Return a user as an API resource. The name of a deleted user is “Former member”."""
    document = context.store.find(f"/users/{user_id}") or {"id": user_id, "displayName": "Former member"}
    return {"object": "user", **document, "urls": {"location": context.url(f"/v1/users/{user_id}")}}


def user_ids_by_email(context: RequestContext) -> dict[str, str]:
    """Return the IDs of all users, by email address in folded form."""
    return {fold(user["email"]): user["id"] for user in context.store.all("/users") if user.get("email")}


@handle.register
def _get_me(op: users.Me, context: RequestContext) -> Json:
    return present_user(context, context.caller)


@handle.register
def _get_user(op: users.Get, context: RequestContext) -> Json:
    if not can_see_user(context, op.user_id):
        raise MissingResource(f"/users/{op.user_id}")
    return present_user(context, op.user_id)


def can_see_user(context: RequestContext, user_id: str) -> bool:
    """Return whether a user is the caller, or a member of an organization of the caller."""
    own_organization_ids = [each["id"] for each in context.store.all("/orgs") if membership(context, each["id"])]
    return user_id == context.caller or any(membership(context, each, user_id) for each in own_organization_ids)


def present_member(context: RequestContext, organization_id: str, member: Json) -> Json:
    """Convert a stored member to the API resource, with the user and the numbers of the user's spaces and teams."""
    user_id = member["id"]
    spaces = (space for space in context.store.all("/spaces") if space["organization"] == organization_id)
    return {
        "object": "member",
        "disabled": False,
        "sso": False,
        **member,
        "user": present_user(context, user_id),
        "spaces": sum(1 for space in spaces if not space.get("deletedAt") and role(context, space, user_id)),
        "teams": sum(1 for team in teams_of(context, organization_id, user_id)),
    }


def teams_of(context: RequestContext, organization_id: str, user_id: str) -> list[tuple[int, Json]]:
    """Return (position in the store, JSON) for each team of the user `user_id`. The position is the sort key."""
    all_teams = context.store.items(f"/orgs/{organization_id}/teams")
    return [
        (position, team) for position, team in all_teams if context.store.find(f"{team_path(team)}/members/{user_id}")
    ]


def team_path(team: Json) -> str:
    """Return the path of a team in the store."""
    return f"/orgs/{team['organization']}/teams/{team['id']}"


def space_and_collection_paths(context: RequestContext, organization_id: str) -> list[str]:
    """Return the paths in the store of all spaces and collections of an organization."""
    kinds = ("/spaces", "/collections")
    documents = ((kind, each) for kind in kinds for each in context.store.all(kind))
    return [f"{kind}/{each['id']}" for kind, each in documents if each["organization"] == organization_id]


@handle.register
def _list_members(op: organizations.ListMembers, context: RequestContext) -> Json:
    refuse_guests(context, op.at.organization_id, "list the members")
    members = (
        ((member.get(op.sort, ""), member["id"]), member)
        for member in context.store.all(path_of(op))
        if _is_listed(op, member, context)
    )
    ordered = sorted(members, key=lambda pair: pair[0], reverse=op.order == "desc")
    return paginate(
        op,
        ordered,
        lambda member: present_member(context, op.at.organization_id, member),
        is_descending=op.order == "desc",
    )


def _is_listed(op: organizations.ListMembers, member: Json, context: RequestContext) -> bool:
    if op.role and member["role"] != (None if op.role == "guest" else op.role):
        return False
    if op.sort == "lastSeenAt" and not member.get("lastSeenAt"):
        return False
    if not op.search:
        return True
    person, folded_search = present_user(context, member["id"]), fold(op.search)
    return any(folded_search in fold(person.get(field) or "") for field in ("displayName", "email"))


@handle.register
def _get_member(op: organizations.GetMember, context: RequestContext) -> Json:
    if op.user_id != context.caller:
        refuse_guests(context, op.at.organization_id, "see other members")
    return present_member(context, op.at.organization_id, context.store.get(path_of(op)))


@handle.register
def _update_member(op: organizations.UpdateMember, context: RequestContext) -> Json:
    require_in_organization(context, op.at.organization_id, "admin")
    fields = request_fields(op)
    if fields.get("role", "admin") != "admin":
        _refuse_last_administrator(context, op)
    return present_member(context, op.at.organization_id, context.store.update(path_of(op), **fields))


@handle.register
def _enroll_member(op: organizations.EnrollMember, context: RequestContext) -> Json:
    require_in_organization(context, op.at.organization_id, "admin")
    path = path_of(op).removesuffix("/sso")
    return present_member(context, op.at.organization_id, context.store.update(path, sso=True))


@handle.register
def _ping(op: organizations.Ping, context: RequestContext) -> Json:
    context.store.update(f"/orgs/{op.at.organization_id}/members/{context.caller}", lastSeenAt=context.timestamp())
    return {}


@handle.register
def _delete_member(op: organizations.DeleteMember, context: RequestContext) -> None:
    organization_id = op.at.organization_id
    if op.user_id != context.caller:
        require_in_organization(context, organization_id, "admin")
    context.store.get(path_of(op))
    _refuse_last_administrator(context, op)
    for _, team in teams_of(context, organization_id, op.user_id):
        context.store.delete(f"{team_path(team)}/members/{op.user_id}")
    for path in space_and_collection_paths(context, organization_id):
        context.store.delete(f"{path}/permissions/users/{op.user_id}")
        for change_request in context.store.all(f"{path}/change-requests"):
            context.store.delete(f"{path}/change-requests/{change_request['id']}/requested-reviewers/{op.user_id}")
    context.store.delete(path_of(op))


def _refuse_last_administrator(
    context: RequestContext, op: organizations.UpdateMember | organizations.DeleteMember
) -> None:
    members = list(context.store.all(f"/orgs/{op.at.organization_id}/members"))
    active_admins = {member["id"] for member in members if member["role"] == "admin" and not member.get("disabled")}
    if active_admins == {op.user_id}:
        name = present_user(context, op.user_id)["displayName"]
        raise Refusal(409, f"{name} is the only admin of the organization. Give another member the Admin role first.")


@presents(teams.Team)
def present_team(context: RequestContext, team: Json) -> Json:
    """Convert a stored team to the API resource. Adds the numbers of members and spaces."""
    public_fields = omit(team, "organization")
    member_count = context.store.count(f"{team_path(team)}/members")
    permissions = {"view": True, "admin": can_manage_team(context, team)}
    return {
        "object": "team",
        **public_fields,
        "members": member_count,
        "spaces": _count_spaces(context, team),
        "permissions": permissions,
    }


def _count_spaces(context: RequestContext, team: Json) -> int:
    grant_path = f"permissions/teams/{team['id']}"
    return sum(
        1
        for space in context.store.all("/spaces")
        if space["organization"] == team["organization"]
        and not space.get("deletedAt")
        and any(context.store.find(f"{path}/{grant_path}") for path, _ in with_containers(context, space))
    )


@presents(teams.TeamMember)
def _present_team_member(context: RequestContext, document: Json) -> Json:
    organization_id = document["organization"]
    member = context.store.get(f"/orgs/{organization_id}/members/{document['id']}")
    person = present_member(context, organization_id, member)
    return {"organization": person, "team": {"role": document["role"]}, "permissions": {"view": True}}


def can_manage_team(context: RequestContext, team: Json, user_id: str | None = None) -> bool:
    """Return whether `user_id`, by default the caller, is an admin of the organization or an owner of the team."""
    if organization_role(context, team["organization"], user_id) == "admin":
        return True
    membership = context.store.find(f"{team_path(team)}/members/{user_id or context.caller}")
    return membership is not None and membership["role"] == "owner"


@guards(teams.Get, teams.ListMembers)
def _require_team_access(op: teams.Get | teams.ListMembers | teams.List, context: RequestContext) -> None:
    refuse_guests(context, op.at.organization_id, "see the teams")
    if not isinstance(op, teams.List):
        context.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")


@guards(teams.Update, teams.DeleteMember)
def _require_team_manager(
    op: teams.Update | teams.Delete | teams.UpdateMembers | teams.AddMember | teams.DeleteMember,
    context: RequestContext,
) -> None:
    team = context.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    is_leaving = isinstance(op, teams.DeleteMember) and op.user_id == context.caller
    if not is_leaving and not can_manage_team(context, team):
        sentence = f"Only owners of the team “{team['title']}” and admins can change the team."
        raise Refusal(403, f"{sentence} Ask an owner or an admin to change the team, or to make you an owner.")


guards(teams.Create)(organization_guard("admin"))


@before_save(teams.Team)
def _fill_in_team(op: teams.Create | teams.Update, context: RequestContext, team: Json) -> Json:
    if isinstance(op, teams.Update):
        return team
    team |= {"organization": op.at.organization_id, "createdAt": context.timestamp()}
    for user_id in team.pop("members", ()):
        _add_to_team(context, team, user_id, "owner" if user_id == context.caller else "member")
    return team


def _add_to_team(context: RequestContext, team: Json, user_id: str, role: str | None = None) -> None:
    """Add a user to a team, or change the user's role. Without `role`, a new user gets the role `member`."""
    context.store.get(f"/orgs/{team['organization']}/members/{user_id}")
    path = f"{team_path(team)}/members/{user_id}"
    membership = context.store.find(path) or {"role": "member"}
    context.store.put(path, {"id": user_id, "organization": team["organization"], "role": role or membership["role"]})


@handle.register
def _list_teams(op: teams.List, context: RequestContext) -> Json:
    _require_team_access(op, context)
    all_teams = context.store.items(path_of(op))
    with_title = ((position, team) for position, team in all_teams if _has_title(team, op.title))
    matching_teams = [pair for pair in with_title if op.owner is None or can_manage_team(context, pair[1], op.owner)]
    return paginate(op, matching_teams, lambda team: present_team(context, team))


def _has_title(team: Json, words: str | None) -> bool:
    return fold(words or "") in fold(team["title"])


@handle.register
def _delete_team(op: teams.Delete, context: RequestContext) -> None:
    _require_team_manager(op, context)
    for path in space_and_collection_paths(context, op.at.organization_id):
        context.store.delete(f"{path}/permissions/teams/{op.team_id}")
    context.store.delete(path_of(op))


@handle.register
def _add_member(op: teams.AddMember, context: RequestContext) -> None:
    _require_team_manager(op, context)
    _add_to_team(context, context.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}"), op.user_id, op.role)


@handle.register
def _update_members(op: teams.UpdateMembers, context: RequestContext) -> None:
    _require_team_manager(op, context)
    team = context.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    ids_by_email = user_ids_by_email(context)
    for id_or_email in op.remove or ():
        context.store.delete(f"{team_path(team)}/members/{ids_by_email.get(fold(id_or_email), id_or_email)}")
    for id_or_email in dict.fromkeys(op.add or ()):
        _add_to_team(context, team, ids_by_email.get(fold(id_or_email), id_or_email))
    for user_id, member in (op.memberships or {}).items():
        _add_to_team(context, team, user_id, member.role)


@handle.register
def _list_of_member(op: teams.ListOfMember, context: RequestContext) -> Json:
    organization_id = op.at.organization_id
    if op.user_id != context.caller:
        refuse_guests(context, organization_id, "see the teams of other members")
    context.store.get(f"/orgs/{organization_id}/members/{op.user_id}")
    matching_teams = [pair for pair in teams_of(context, organization_id, op.user_id) if _has_title(pair[1], op.title)]

    def present_membership(team: Json) -> Json:
        role = context.store.get(f"{team_path(team)}/members/{op.user_id}")["role"]
        return {"team": present_team(context, team), "member": {"role": role}}

    return paginate(op, matching_teams, present_membership)


def refuse_malformed_document(fields: Json, name: str) -> None:
    """Raise Refusal if the field `name` is set to something other than a JSON document."""
    document = fields.get(name)
    if document is not None and document.get("object") != "document":
        raise Refusal(400, f"{name} must be a JSON object with object set to document.")


def refuse_malformed_merge_rules(rules: Json, *, kinds: tuple[str, ...]) -> None:
    """Raise Refusal if merge rules have an invalid form, or a type that is not one of `kinds`."""
    kind = rules.get("type")
    if kind not in kinds:
        raise Refusal(400, f"mergeRules.type must be one of {', '.join(kinds)}.")
    if kind != "rules":
        return
    if not isinstance(rules.get("rules"), list):
        raise Refusal(400, "mergeRules.rules must be a list.")
    for number, rule in enumerate(rules["rules"]):
        if not (isinstance(rule, dict) and isinstance(rule.get("rule"), str)):
            raise Refusal(400, f"mergeRules.rules[{number}] must be an object with a rule.")
        if rule["rule"] not in MERGE_RULE_NAMES:
            names = ", ".join(sorted(MERGE_RULE_NAMES))
            raise Refusal(400, f"mergeRules.rules[{number}].rule must be one of {names}.")
        user_ids = rule.get("users", None if rule["rule"] in MERGE_RULES_WITH_USERS else [])
        if not (isinstance(user_ids, list) and all(isinstance(user, str) for user in user_ids)):
            raise Refusal(400, f"mergeRules.rules[{number}].users must be a list of user IDs.")
        expression = rule.get("expression", None if rule["rule"] == "custom" else "")
        if not (isinstance(expression, str) and len(expression) <= 1024):
            raise Refusal(400, f"mergeRules.rules[{number}].expression must be text of at most 1024 characters.")


@presents(organizations.Organization)
def present_organization(context: RequestContext, organization: Json) -> Json:
    """Convert a stored organization to the API resource. Adds the permissions of the caller."""
    public_fields = omit(organization, "logo")
    if (content := public_fields.get("defaultContent")) and not _has_site(context, organization, content["site"]):
        del public_fields["defaultContent"]
    urls = {
        "location": context.url(f"/v1/orgs/{organization['id']}"),
        "app": context.url(f"/o/{organization['id']}"),
        **({"logo": organization["logo"]} if organization.get("logo") else {}),
    }
    return {
        "object": "organization",
        "emailDomains": [],
        "type": "business",
        "inviteLinks": False,
        "plan": "free",
        "mergeRules": {"type": "none"},
        "trial": {"status": "notapplicable"},
        **public_fields,
        "urls": urls,
        "permissions": organization_permissions(context, organization),
    }


@handle.register
def _list(op: organizations.List, context: RequestContext) -> Json:
    joined = ((position, each) for position, each in context.store.items("/orgs") if membership(context, each["id"]))
    return paginate(op, joined, lambda each: present_organization(context, each))


@handle.register
def _update(op: organizations.Update, context: RequestContext) -> Json:
    organization = context.store.get(path_of(op))
    require_in_organization(context, organization["id"], "admin")
    fields = request_fields(op)
    if "mergeRules" in fields:
        refuse_malformed_merge_rules(fields["mergeRules"], kinds=("none", "rules"))
    for other in context.store.all("/orgs") if op.hostname is not None else ():
        if other["id"] != organization["id"] and op.hostname in (other.get("hostname"), other["id"]):
            raise Refusal(400, f"The subdomain {op.hostname} is already taken. Choose another.")
    if op.default_content and not _has_site(context, organization, op.default_content.site):
        raise Refusal(400, "defaultContent.site must be a site of this organization.")
    return present_organization(context, context.store.update(path_of(op), **fields))


def _has_site(context: RequestContext, organization: Json, site_id: str) -> bool:
    return context.store.find(f"/orgs/{organization['id']}/sites/{site_id}") is not None


@handle.register
def _list_by_email_domain(op: organizations.ListByEmailDomain, context: RequestContext) -> Json:
    domain = fold(op.email_domain)
    is_mine = fold(context.store.get(f"/users/{context.caller}").get("email", "")).endswith(f"@{domain}")
    matches = (
        document for document in context.store.all("/orgs") if domain in map(fold, document.get("emailDomains", ()))
    )
    presented = [present_organization(context, each) for each in matches if is_mine or membership(context, each["id"])]
    return {"organizations": presented}


@handle.register
def _get_subdomain(op: subdomains.Get, context: RequestContext) -> Json:
    organization = context.store.find_by("/orgs", "hostname", op.subdomain)
    if organization is None or membership(context, organization["id"]) is None:
        raise MissingResource(path_of(op))
    target = {"type": "organization", "organization": organization["id"]}
    return {"object": "subdomain", "subdomain": op.subdomain, "target": target, "isActive": True}


_REQUIRED_FIELDS = ("entityID", "certificate", "ssoURL")
"""Fields that a SAML provider needs before people can sign in with it. A provider without them is pending."""

guards(sso.ListProviders, sso.GetProvider, sso.CreateProvider, sso.UpdateProvider, sso.DeleteProvider)(
    organization_guard("admin")
)


@presents(sso.SamlProvider)
def _present_provider(context: RequestContext, document: Json) -> Json:
    organization_id, provider_id = document["organization"], document["id"]
    entity_url = context.url(f"/~/saml/{provider_id}")
    provider = omit(document, "organization", "defaultTeam")
    team = context.store.find(f"/orgs/{organization_id}/teams/{document.get('defaultTeam')}")
    return {
        "object": "saml-provider",
        **provider,
        # The API requires a URL, so an incomplete provider gets a placeholder.
        "ssoURL": provider["ssoURL"] or NO_SSO_URL,
        **({"defaultTeam": PRESENTERS[Team](context, team)} if team else {}),
        "service": {"entityID": entity_url, "acsURL": f"{entity_url}/acs", "startURL": f"{entity_url}/start"},
        "urls": {"location": context.url(f"/v1/orgs/{organization_id}/saml/{provider_id}")},
    }


@before_save(sso.SamlProvider)
def _fill_in_provider(op: sso.CreateProvider | sso.UpdateProvider, context: RequestContext, document: Json) -> Json:
    organization_id = op.at.organization_id
    if op.default_team:
        context.store.get(f"/orgs/{organization_id}/teams/{op.default_team}")
    initial_fields = {"organization": organization_id, "defaultRole": None, "createdAt": context.timestamp()}
    document = {**initial_fields, **dict.fromkeys(_REQUIRED_FIELDS, ""), **document}
    return {**document, "status": "active" if all(document[name] for name in _REQUIRED_FIELDS) else "pending"}


@handle.register
def _list_logins(op: sso.ListLogins, context: RequestContext) -> Json:
    providers = context.store.all(f"/orgs/{op.at.organization_id}/saml")
    presented = [_present_provider(context, provider) for provider in providers if provider["status"] == "active"]
    return {
        "items": [
            {**{n: each[n] for n in ("id", "label")}, "startURL": each["service"]["startURL"]} for each in presented
        ]
    }


_TRANSLATION_TITLE_LIMIT = 100

guards(translations.Create, translations.Update, translations.Delete)(organization_guard("create"))


@presents(translations.TranslationSettings)
def _present_translation(context: RequestContext, document: Json) -> Json:
    organization_id = document["organization"]
    location_url = context.url(f"/v1/orgs/{organization_id}/translations/{document['id']}")
    return {
        "object": "translation-settings",
        **({} if "title" in document else {"title": _translation_title(context, document)}),
        **omit(document, "organization"),
        "permissions": {"view": True, "edit": allows(organization_role(context, organization_id), "create")},
        "urls": {"location": location_url},
    }


@before_save(translations.TranslationSettings)
def _fill_in_translation(
    op: translations.Create | translations.Update, context: RequestContext, document: Json
) -> Json:
    refuse_malformed_document(document, "instructions")
    now, language = context.timestamp(), document.get("language")
    fields = {"organization": op.at.organization_id, "languages": [language] if language else [], "createdAt": now}
    if isinstance(op, translations.Create) and op.source:
        space = context.store.find(f"/spaces/{op.source.space}")
        if space is None or space["organization"] != op.at.organization_id or not can_see(context, space):
            raise Refusal(400, "source.space must be a space of this organization that you have access to.")
    return {**fields, **document, "updatedAt": now}


def _translation_title(context: RequestContext, document: Json) -> str:
    space = context.store.find(f"/spaces/{document['source']['space']}")
    language: str = document["language"]
    return (
        f"{space['title']} ({language})"[:_TRANSLATION_TITLE_LIMIT] if space and can_see(context, space) else language
    )


@handle.register
def _get_version(op: system.Get, context: RequestContext) -> Json:
    return {"version": "0.143.2", "build": f"octavo-{__version__}"}
