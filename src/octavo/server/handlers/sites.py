"""Sites: creation, settings, publishing, and permissions.

Permissions depend on the role in the organization. Creators can create sites and edit their structure. Settings, share
links and publishing require an admin.
"""

from __future__ import annotations

from dataclasses import replace

from octavo.api import sites
from octavo.api.folding import fold
from octavo.server.handlers import revisions, site_tree, site_view, spaces
from octavo.server.handlers.members import present_user
from octavo.server.handlers.permissions import RANKS, allows, organization_guard, organization_role, role
from octavo.server.handlers.site_structure import new_site_space, refuse_invalid_step, require_addable_space
from octavo.server.handlers.site_tree import SiteTree
from octavo.server.rest import before_save, guards, handle, omit, paginate, path_of, presents
from octavo.server.store import Json, MissingResource
from octavo.server.world import Refusal, World


def site_permissions(world: World, organization: str) -> Json:
    """Return the caller's permissions for the sites of an organization."""
    current_role = organization_role(world, organization)
    create, admin = allows(current_role, "create"), allows(current_role, "admin")
    return {
        "view": True,
        "access": True,
        "edit": create,
        "create": create,
        "admin": admin,
        "installIntegration": admin,
        "viewAdaptiveSchema": current_role is not None,
        "editAdaptiveSchema": admin,
    }


@handle.register
def _list_permissions(op: sites.ListPermissions, world: World) -> Json:
    if organization_role(world, op.at.organization_id) is None:
        raise Refusal(403, "Guests cannot see who has access to a site. Ask an admin of the organization for a role.")
    view = site_view.site_view(world, op.at)
    visible = [view.tree.spaces[part.document["space"]] for part in view.site_spaces()]
    organization = world.store.get(f"/orgs/{op.at.organization_id}")
    members = world.store.items(f"/orgs/{op.at.organization_id}/members")
    permissions = [
        (place, row) for place, member in members if (row := _highest_role(world, organization, member["id"], visible))
    ]
    return paginate(
        op,
        permissions,
        lambda row: {"permission": row[0], "user": present_user(world, row[1]), "origin": _origin(row[2])},
    )


def _highest_role(world: World, organization: Json, user: str, spaces: list[Json]) -> tuple[str, str, Json] | None:
    """Return the highest role of a user, the user, and the source of the role. None if the user has no role."""
    rows = [(organization_role(world, organization["id"], user), user, organization)]
    rows += [(role(world, space, user), user, space) for space in spaces]
    current_role = [(name, user, origin) for name, user, origin in rows if name]
    return max(current_role, key=lambda row: RANKS.index(row[0]), default=None)


def _origin(document: Json) -> Json:
    kind = "space" if "revision" in document else "organization"
    return {"type": kind, kind: document["id"]}


SAMPLE = "Write here what your readers look for first, and add pages for the rest.\n"
"""Page of the sample space that a site can be created with."""


@presents(sites.Site)
def present_site(world: World, document: Json) -> Json:
    """Return a site as the caller sees it."""
    organization, identifier = document["organization"], document["id"]
    path = f"/orgs/{organization}/sites/{identifier}"
    tree = site_tree.load_site(world, path)
    proxy = {"origin": document.get("proxy"), "target": site_tree.site_target_url(world, document)}
    urls = {"location": world.url(f"/v1{path}"), "app": world.url(f"/o/{organization}/sites/{identifier}")}
    return {
        "object": "site",
        **omit(document, "organization", "proxy", "defaultSiteSpace", "defaultSiteSection"),
        **({"proxy": proxy} if proxy["origin"] else {}),
        "siteSpaces": len(tree.existing_site_spaces()),
        "features": [],
        "urls": {**urls, **site_tree.published_urls(tree, site_tree.site_url(world, tree))},
        "permissions": site_permissions(world, organization),
    }


@handle.register
def _list(op: sites.List, world: World) -> Json:
    matching = [(place, site) for place, site in world.store.items(path_of(op)) if _is_wanted(op, world, site)]
    return paginate(op, matching, lambda site: present_site(world, site))


def _is_wanted(op: sites.List, world: World, site: Json) -> bool:
    tree = site_tree.load_site(world, f"{path_of(op)}/{site['id']}")
    return (
        op.published in (None, site["published"])
        and (not op.type or site["type"] in op.type)
        and fold(op.title or "") in fold(site["title"])
        and (op.space is None or any(part.document["space"] == op.space for part in tree.existing_site_spaces()))
        and site_tree.can_see_site(world, tree)
    )


guards(sites.Create)(organization_guard("create"))
_require_admin = guards(sites.Update, sites.Delete)(organization_guard("admin"))


@before_save(sites.Site)
def _complete(op: sites.Create | sites.Update, world: World, site: Json) -> Json:
    return _create_site(op, world, site) if isinstance(op, sites.Create) else _update_site(op, world, site)


def _create_site(op: sites.Create, world: World, site: Json) -> Json:
    wanted_spaces = site.pop("spaces", ())
    facts = {"organization": op.at.organization_id, "createdAt": world.timestamp(), "published": False}
    site = {**facts, "type": "basic", "visibility": "public", "agentsContext": "included", **site}
    if len(set(wanted_spaces)) < len(wanted_spaces) and not isinstance(wanted_spaces, str):
        raise Refusal(400, "spaces contains a space twice. List each space once.")
    chosen = (
        []
        if isinstance(wanted_spaces, str)
        else [require_addable_space(world, op.at.organization_id, wanted_space) for wanted_space in wanted_spaces]
    )
    site.setdefault("title", chosen[0]["title"] if chosen else "Untitled")
    if isinstance(wanted_spaces, str):
        space = spaces.create_space(world, op.at.organization_id, title=site["title"][: spaces.TITLE_LIMIT])
        first = revisions.add_first_revision(world, space, SAMPLE if wanted_spaces == "sample" else "")
        chosen = [revisions.set_current(world, space["id"], first)]
    path = f"{path_of(op)}/{site['id']}"
    world.store.put(path, site)
    for space in chosen:
        new_site_space(world, site_tree.load_site(world, path), space)
    return site


def _update_site(op: sites.Update, world: World, site: Json) -> Json:
    path = path_of(op)
    if op.basename is not None:
        _refuse_taken_basename(world, site)
    tree = replace(site_tree.load_site(world, path), site=site)
    if op.default_site_section is not None:
        if op.default_site_section not in {part.document["id"] for part in tree.sections()}:
            raise MissingResource(f"{path}/sections/{op.default_site_section}")
        if op.default_site_section != tree.default_section():
            raise Refusal(409, "The section has no space where visitors could start. Add a space to the section first.")
    if op.default_site_space is not None:
        site = _set_default_site_space(world, tree, op.default_site_space)
    return {name: value for name, value in site.items() if value is not None}


def _refuse_taken_basename(world: World, site: Json) -> None:
    refuse_invalid_step(site["basename"], "basename")
    for other in world.store.all(f"/orgs/{site['organization']}/sites"):
        if other["id"] != site["id"] and site["basename"] in (other.get("basename"), other["id"]):
            raise Refusal(
                409, f"The path “{site['basename']}” is already used by “{other['title']}”. Choose another path."
            )


def _set_default_site_space(world: World, tree: SiteTree, site_space: str) -> Json:
    """Set the site space where visitors start at the root, or in the default section. Return the changed site."""
    section = tree.default_section()
    if site_space not in {part.document["id"] for part in tree.existing_site_spaces_in(section)}:
        where = (
            f"in the default section “{tree.section(section)['title']}”" if section else "at the top level of the site"
        )
        raise Refusal(
            400, f"defaultSiteSpace must be a space {where}. Choose another space, or change the default section."
        )
    if not section:
        return tree.site
    world.store.update(f"{tree.path}/sections/{section}", defaultSiteSpace=site_space)
    return {name: value for name, value in tree.site.items() if name != "defaultSiteSpace"}


@handle.register(sites.Publish)
@handle.register(sites.Unpublish)
def _publish(op: sites.Publish | sites.Unpublish, world: World) -> Json:
    _require_admin(op, world)
    publishes = isinstance(op, sites.Publish)
    tree = site_view.site_view(world, op.at).tree
    if publishes and not tree.existing_site_spaces():
        raise Refusal(409, f"“{tree.site['title']}” has no space to show. Add a space first.")
    return present_site(world, world.store.update(tree.path, published=publishes))


@handle.register
def _get_published(op: sites.GetPublished, world: World) -> Json:
    view = site_view.site_view(world, op.at, op.share_key, as_visitor=True)
    if not view.tree.site["published"]:
        raise Refusal(404, f"“{view.tree.site['title']}” is not published.")
    visible = view.site_spaces()
    return {
        "object": "published-content-site",
        "site": present_site(world, view.tree.site),
        "structure": view.structure(),
        "customizations": {
            "site": _default_customization(),
            "siteSpaces": {each.document["id"]: _default_customization() for each in visible},
        },
        "scripts": [],
    }


_CUSTOMIZATION_FIELDS = (
    *("styling", "internationalization", "favicon", "header", "footer", "themes", "pdf", "feedback", "ai"),
    *("advancedCustomization", "trademark", "externalLinks", "pagination", "pageActions", "git", "privacyPolicy"),
    *("socialPreview", "insights"),
)
"""Fields of every customization."""


def _default_customization() -> Json:
    """Return the customization of a site whose look was not changed."""
    return {name: {} for name in _CUSTOMIZATION_FIELDS}
