"""What people may do with sites: that goes by their role in the organization.

Who may create content makes sites and arranges what is on them; their settings, their share links, and whether they
are published are an administrator's.
"""

from __future__ import annotations

from octavo.api import sites
from octavo.server.handlers import site_parts
from octavo.server.handlers.members import present_user
from octavo.server.handlers.permissions import RANKS, allows, organization_role, role
from octavo.server.rest import handle, page
from octavo.server.store import Json
from octavo.server.world import Refused, World


def site_permissions(world: World, organization: str) -> Json:
    """What the caller may do with the sites of an organization, as it is shown."""
    held = organization_role(world, organization)
    create, admin = allows(held, "create"), allows(held, "admin")
    return {
        "view": True,
        "access": True,
        "edit": create,
        "create": create,
        "admin": admin,
        "installIntegration": admin,
        "viewAdaptiveSchema": held is not None,
        "editAdaptiveSchema": admin,
    }


@handle.register
def _list(op: sites.ListPermissions, world: World) -> Json:
    if organization_role(world, op.at.organization_id) is None:
        raise Refused(403, "Guests cannot see who has access to a site. Ask an admin of the organization for a role.")
    view = site_parts.view(world, op.at)
    shown = [view.tree.spaces[part.document["space"]] for part in view.site_spaces()]
    organization = world.store.get(f"/orgs/{op.at.organization_id}")
    members = world.store.positioned(f"/orgs/{op.at.organization_id}/members")
    found = [(place, row) for place, member in members if (row := _highest(world, organization, member["id"], shown))]
    return page(
        op,
        found,
        lambda row: {"permission": row[0], "user": present_user(world, row[1]), "origin": _origin(row[2])},
    )


def _highest(world: World, organization: Json, user: str, spaces: list[Json]) -> tuple[str, str, Json] | None:
    """The highest role of a person, and the organization or the space they have it from. None if they have none."""
    rows = [(organization_role(world, organization["id"], user), user, organization)]
    rows += [(role(world, space, user), user, space) for space in spaces]
    held = [(name, user, origin) for name, user, origin in rows if name]
    return max(held, key=lambda row: RANKS.index(row[0]), default=None)


def _origin(document: Json) -> Json:
    kind = "space" if "revision" in document else "organization"
    return {"type": kind, kind: document["id"]}
