"""SAML providers. They are kept; nothing here signs anybody in."""

from __future__ import annotations

from octavo.api import sso
from octavo.api.sso import NO_ADDRESS
from octavo.api.teams import Team
from octavo.server.handlers.permissions import in_organization
from octavo.server.rest import PRESENTERS, completes, guards, handle, shows, without
from octavo.server.store import Json
from octavo.server.world import World

_NEEDED = ("entityID", "certificate", "ssoURL")
"""What must be known before anybody can sign in with a provider."""

guards(sso.ListProviders, sso.GetProvider, sso.CreateProvider, sso.UpdateProvider, sso.DeleteProvider)(
    in_organization("admin")
)


@shows(sso.SamlProvider)
def present_provider(world: World, document: Json) -> Json:
    """A SAML provider, with what it must be told about the platform and the team people join."""
    organization, identifier = document["organization"], document["id"]
    entity = world.url(f"/~/saml/{identifier}")
    shown = without(document, "organization", "defaultTeam")
    team = world.store.find(f"/orgs/{organization}/teams/{document.get('defaultTeam')}")
    return {
        "object": "saml-provider",
        **shown,
        # An answer always has an address, which must be one. Of a provider that is pending it leads nowhere.
        "ssoURL": shown["ssoURL"] or NO_ADDRESS,
        **({"defaultTeam": PRESENTERS[Team](world, team)} if team else {}),
        "service": {"entityID": entity, "acsURL": f"{entity}/acs", "startURL": f"{entity}/start"},
        "urls": {"location": world.url(f"/v1/orgs/{organization}/saml/{identifier}")},
    }


@completes(sso.SamlProvider)
def _complete(op: sso.CreateProvider | sso.UpdateProvider, world: World, document: Json) -> Json:
    """A provider that is active once all that is needed is known. Raises Missing for a team that is not there."""
    organization = op.at.organization_id
    if op.default_team:
        world.store.get(f"/orgs/{organization}/teams/{op.default_team}")
    begun = {"organization": organization, "defaultRole": None, "createdAt": world.timestamp()}
    document = {**begun, **dict.fromkeys(_NEEDED, ""), **document}
    return {**document, "status": "active" if all(document[name] for name in _NEEDED) else "pending"}


@handle.register
def _list_logins(op: sso.ListLogins, world: World) -> Json:
    providers = world.store.all(f"/orgs/{op.at.organization_id}/saml")
    shown = [present_provider(world, each) for each in providers if each["status"] == "active"]
    return {
        "items": [{**{n: each[n] for n in ("id", "label")}, "startURL": each["service"]["startURL"]} for each in shown]
    }
