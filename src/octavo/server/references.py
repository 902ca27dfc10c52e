"""The text of a page as it was asked for: with what it includes in its place, its expressions worked out, and with links
by id."""

from __future__ import annotations

from octavo.api.content import GetPage, GetPageByPath
from octavo.documents import links, page_trees
from octavo.server.behaviour import revisions
from octavo.server.evaluating import evaluated, outside_code
from octavo.server.folders import relinked
from octavo.server.including import dereferenced
from octavo.server.store import Json
from octavo.server.world import World


def as_asked(world: World, revision: Json, page: Json, op: GetPage | GetPageByPath) -> str:
    """What a page of a revision says, its links and includes as the caller wants them."""
    text = revisions.text(world, page)
    if op.dereferenced:
        text = dereferenced(world.store, text, page, revision)
    if op.evaluated:
        known = {"space": revision["variables"], "page": page.get("variables") or {}}
        text = evaluated(text, known, fixed_only=op.evaluated == "deterministic-only")
    return stable(text, page, revision) if op.refs == "stable" else text


def stable(text: str, page: Json, revision: Json) -> str:
    """`text` with what its links to pages and files of the space name by id: `/pages/<id>` and `/files/<id>`."""
    places, path = page_trees.link_targets_of(revision), page_trees.link_base(page)

    def lead(address: str) -> str | None:
        match links.resolve(address, path, places):
            case links.ToPage(page=name, anchor=anchor):
                return f"/pages/{name}#{anchor}" if anchor else f"/pages/{name}"
            case links.ToFile(file=name):
                return f"/files/{name}"
            case _:
                return None

    return outside_code(text, lambda part: relinked(part, lead))
