"""Organizations."""

from __future__ import annotations

from octavo.api import organizations
from octavo.api.folding import fold
from octavo.server.handlers.merge_rules import refuse_malformed
from octavo.server.handlers.permissions import membership, need_in_organization, organization_permissions
from octavo.server.rest import given, handle, page, path_of, shows, without
from octavo.server.store import Json
from octavo.server.world import Refused, World


@shows(organizations.Organization)
def present_organization(world: World, document: Json) -> Json:
    """An organization as the caller sees it."""
    facts = without(document, "logo")
    if (first := facts.get("defaultContent")) and not _has_site(world, document, first["site"]):
        del facts["defaultContent"]  # the site was deleted since
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
    mine = ((place, each) for place, each in world.store.positioned("/orgs") if membership(world, each["id"]))
    return page(op, mine, lambda each: present_organization(world, each))


@handle.register
def _update(op: organizations.Update, world: World) -> Json:
    organization = world.store.get(path_of(op))
    need_in_organization(world, organization, "admin")
    fields = given(op)
    if "mergeRules" in fields:
        refuse_malformed(fields["mergeRules"], kinds=("none", "rules"))
    if op.hostname is not None:
        _refuse_taken(world, organization, op.hostname)
    if op.default_content and not _has_site(world, organization, op.default_content.site):
        raise Refused(400, "defaultContent.site must be a site of this organization.")
    return present_organization(world, world.store.change(path_of(op), **fields))


def _has_site(world: World, organization: Json, site: str) -> bool:
    return world.store.find(f"/orgs/{organization['id']}/sites/{site}") is not None


def _refuse_taken(world: World, organization: Json, hostname: str) -> None:
    """Refuse the hostname of another organization: sites are published under it, and one without goes by its id."""
    for other in world.store.all("/orgs"):
        if other["id"] != organization["id"] and hostname in (other.get("hostname"), other["id"]):
            raise Refused(400, f"The subdomain {hostname} is already taken. Choose another.")


@handle.register
def _list_by_email_domain(op: organizations.ListByEmailDomain, world: World) -> Json:
    domain = fold(op.email_domain)
    mine = fold(world.store.get(f"/users/{world.caller}").get("email", "")).endswith(f"@{domain}")
    found = (each for each in world.store.all("/orgs") if domain in map(fold, each.get("emailDomains", ())))
    shown = [present_organization(world, each) for each in found if mine or membership(world, each["id"])]
    return {"organizations": shown}
