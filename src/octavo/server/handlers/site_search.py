"""Full-text search over the spaces of a site."""

from __future__ import annotations

from octavo.api import search
from octavo.server.handlers import site_view
from octavo.server.handlers.search import across
from octavo.server.handlers.site_view import View
from octavo.server.rest import handle
from octavo.server.store import Json
from octavo.server.world import World


@handle.register
def _in_site(op: search.InSite, world: World) -> Json:
    view = site_view.view(world, op.at)
    chosen = _chosen(op.scope, view)
    return across(op, world, {space: view.tree.spaces[space] for space in chosen})


def _chosen(scope: search.Default | search.Specific | search.All, view: View) -> list[str]:
    """The ids of the spaces to look in. Site spaces that are not there, or not shown, are passed over."""
    shown = {part.document["id"]: part.document for part in view.site_spaces()}
    wanted: set[str | None]
    if isinstance(scope, search.Specific):
        wanted = set(scope.site_space_ids)
    elif isinstance(scope, search.All):
        wanted = {*shown}
    else:
        current = shown.get(scope.current_site_space or "")
        sections = {each.get("section") for each in shown.values()} - ({current.get("section")} if current else set())
        wanted = {view.tree.default_space(section) for section in sections} | ({current["id"]} if current else set())
    return [each["space"] for each in shown.values() if each["id"] in wanted]
