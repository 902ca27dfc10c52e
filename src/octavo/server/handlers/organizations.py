"""Organizations, their subdomains, SAML providers and translation settings, and the version of the API."""

from __future__ import annotations

from octavo import __version__
from octavo.api import organizations, sso, subdomains, system, translations
from octavo.api.folding import fold
from octavo.api.sso import NO_ADDRESS
from octavo.api.teams import Team
from octavo.server.handlers.merge_rules import refuse_malformed
from octavo.server.handlers.permissions import (
    allows,
    can_see,
    membership,
    organization_guard,
    organization_permissions,
    organization_role,
    require_in_organization,
)
from octavo.server.rest import (
    PRESENTERS,
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
from octavo.server.world import Refusal, World


@presents(organizations.Organization)
def present_organization(world: World, document: Json) -> Json:
    """Return an organization as the caller sees it."""
    facts = omit(document, "logo")
    if (first := facts.get("defaultContent")) and not _has_site(world, document, first["site"]):
        del facts["defaultContent"]  # The site was deleted.
    urls = {
        "location": world.url(f"/v1/orgs/{document['id']}"),
        "app": world.url(f"/o/{document['id']}"),
        **({"logo": document["logo"]} if document.get("logo") else {}),
    }
    return {
        "object": "organization",
        "emailDomains": [],
        "type": "business",
        "inviteLinks": False,
        "plan": "free",
        "mergeRules": {"type": "none"},
        "trial": {"status": "notapplicable"},
        **facts,
        "urls": urls,
        "permissions": organization_permissions(world, document),
    }


@handle.register
def _list(op: organizations.List, world: World) -> Json:
    mine = ((place, each) for place, each in world.store.items("/orgs") if membership(world, each["id"]))
    return paginate(op, mine, lambda each: present_organization(world, each))


@handle.register
def _update(op: organizations.Update, world: World) -> Json:
    organization = world.store.get(path_of(op))
    require_in_organization(world, organization, "admin")
    fields = request_fields(op)
    if "mergeRules" in fields:
        refuse_malformed(fields["mergeRules"], kinds=("none", "rules"))
    if op.hostname is not None:
        _refuse_taken_hostname(world, organization, op.hostname)
    if op.default_content and not _has_site(world, organization, op.default_content.site):
        raise Refusal(400, "defaultContent.site must be a site of this organization.")
    return present_organization(world, world.store.update(path_of(op), **fields))


def _has_site(world: World, organization: Json, site: str) -> bool:
    return world.store.find(f"/orgs/{organization['id']}/sites/{site}") is not None


def _refuse_taken_hostname(world: World, organization: Json, hostname: str) -> None:
    """Raise Refusal if another organization has this hostname, or has it as its ID. The ID is the default hostname of
    an organization."""
    for other in world.store.all("/orgs"):
        if other["id"] != organization["id"] and hostname in (other.get("hostname"), other["id"]):
            raise Refusal(400, f"The subdomain {hostname} is already taken. Choose another.")


@handle.register
def _list_by_email_domain(op: organizations.ListByEmailDomain, world: World) -> Json:
    domain = fold(op.email_domain)
    mine = fold(world.store.get(f"/users/{world.caller}").get("email", "")).endswith(f"@{domain}")
    matching = (
        document for document in world.store.all("/orgs") if domain in map(fold, document.get("emailDomains", ()))
    )
    presented = [present_organization(world, each) for each in matching if mine or membership(world, each["id"])]
    return {"organizations": presented}


@handle.register
def _get_subdomain(op: subdomains.Get, world: World) -> Json:
    organization = world.store.find_by("/orgs", "hostname", op.subdomain)
    if organization is None or membership(world, organization["id"]) is None:
        raise MissingResource(path_of(op))
    target = {"type": "organization", "organization": organization["id"]}
    return {"object": "subdomain", "subdomain": op.subdomain, "target": target, "isActive": True}


_REQUIRED_FIELDS = ("entityID", "certificate", "ssoURL")
"""Fields required before anyone can sign in with a provider."""

guards(sso.ListProviders, sso.GetProvider, sso.CreateProvider, sso.UpdateProvider, sso.DeleteProvider)(
    organization_guard("admin")
)


@presents(sso.SamlProvider)
def present_provider(world: World, document: Json) -> Json:
    """Return a SAML provider, with the URLs to configure at the provider and its default team."""
    organization, identifier = document["organization"], document["id"]
    entity = world.url(f"/~/saml/{identifier}")
    provider = omit(document, "organization", "defaultTeam")
    team = world.store.find(f"/orgs/{organization}/teams/{document.get('defaultTeam')}")
    return {
        "object": "saml-provider",
        **provider,
        # The API requires a valid URL here. For a pending provider, it is a placeholder.
        "ssoURL": provider["ssoURL"] or NO_ADDRESS,
        **({"defaultTeam": PRESENTERS[Team](world, team)} if team else {}),
        "service": {"entityID": entity, "acsURL": f"{entity}/acs", "startURL": f"{entity}/start"},
        "urls": {"location": world.url(f"/v1/orgs/{organization}/saml/{identifier}")},
    }


@before_save(sso.SamlProvider)
def _fill_in_provider(op: sso.CreateProvider | sso.UpdateProvider, world: World, document: Json) -> Json:
    """Return a provider with its status: active once all required fields are set. Raises MissingResource if its default
    team does not exist."""
    organization = op.at.organization_id
    if op.default_team:
        world.store.get(f"/orgs/{organization}/teams/{op.default_team}")
    begun = {"organization": organization, "defaultRole": None, "createdAt": world.timestamp()}
    document = {**begun, **dict.fromkeys(_REQUIRED_FIELDS, ""), **document}
    return {**document, "status": "active" if all(document[name] for name in _REQUIRED_FIELDS) else "pending"}


@handle.register
def _list_logins(op: sso.ListLogins, world: World) -> Json:
    providers = world.store.all(f"/orgs/{op.at.organization_id}/saml")
    presented = [present_provider(world, provider) for provider in providers if provider["status"] == "active"]
    return {
        "items": [
            {**{n: each[n] for n in ("id", "label")}, "startURL": each["service"]["startURL"]} for each in presented
        ]
    }


_TRANSLATION_TITLE_LIMIT = 100

guards(translations.Create, translations.Update, translations.Delete)(organization_guard("create"))


@presents(translations.TranslationSettings)
def present_translation(world: World, document: Json) -> Json:
    """Return translation settings as the caller sees them."""
    organization = document["organization"]
    location = world.url(f"/v1/orgs/{organization}/translations/{document['id']}")
    return {
        "object": "translation-settings",
        **({} if "title" in document else {"title": _translation_title(world, document)}),
        **omit(document, "organization"),
        "permissions": {"view": True, "edit": allows(organization_role(world, organization), "create")},
        "urls": {"location": location},
    }


@before_save(translations.TranslationSettings)
def _fill_in_translation(op: translations.Create | translations.Update, world: World, document: Json) -> Json:
    """Return translation settings with dates, organization and languages filled in."""
    now, language = world.timestamp(), document.get("language")
    begun = {"organization": op.at.organization_id, "languages": [language] if language else [], "createdAt": now}
    if isinstance(op, translations.Create) and op.source:
        _refuse_hidden_space(op, world, op.source.space)
    return {**begun, **document, "updatedAt": now}


def _refuse_hidden_space(op: translations.Create, world: World, space_id: str) -> None:
    """Raise Refusal unless the space belongs to the organization and the caller can see it."""
    space = world.store.find(f"/spaces/{space_id}")
    if space is None or space["organization"] != op.at.organization_id or not can_see(world, space):
        raise Refusal(400, "source.space must be a space of this organization that you have access to.")


def _translation_title(world: World, document: Json) -> str:
    """Return the default title of translation settings: the title of the space, if visible, and the language."""
    space = world.store.find(f"/spaces/{document['source']['space']}")
    language: str = document["language"]
    return f"{space['title']} ({language})"[:_TRANSLATION_TITLE_LIMIT] if space and can_see(world, space) else language


@handle.register
def _get_version(op: system.Get, world: World) -> Json:
    return {"version": "0.143.2", "build": f"octavo-{__version__}"}
