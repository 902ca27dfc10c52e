"""Subdomains: the hostname an organization took."""

from __future__ import annotations

from octavo.api import subdomains
from octavo.server.handlers.permissions import membership
from octavo.server.rest import handle, path_of
from octavo.server.store import Json, Missing
from octavo.server.world import World


@handle.register
def _get(op: subdomains.Get, world: World) -> Json:
    organization = world.store.first("/orgs", "hostname", op.subdomain)
    if organization is None or membership(world, organization["id"]) is None:
        raise Missing(path_of(op))
    target = {"type": "organization", "organization": organization["id"]}
    return {"object": "subdomain", "subdomain": op.subdomain, "target": target, "isActive": True}
