"""What is on a site: read, added, changed, taken off and moved. Who may create content does so."""

from __future__ import annotations

import re

from octavo.api import site_structure as structure
from octavo.api.places import InSite
from octavo.documents import page_trees
from octavo.server.behaviour import site_parts, site_tree
from octavo.server.behaviour.ordering import settle
from octavo.server.behaviour.permissions import in_organization, need, role
from octavo.server.behaviour.site_tree import FOLDERS, HOLDERS, Tree
from octavo.server.rest import completes, guards, handle, page, path_of
from octavo.server.store import Json, Missing
from octavo.server.world import Refused, World

_STEP = re.compile(r"(?!\.{1,2}$)[\w.~-]+")

_arranges = guards(
    structure.CreateSiteSpace,
    structure.UpdateSiteSpace,
    structure.DeleteSiteSpace,
    structure.CreateSection,
    structure.UpdateSection,
    structure.CreateGroup,
    structure.UpdateGroup,
)(in_organization("create"))


def refuse_odd(step: str, field: str) -> None:
    """Refuse what cannot be one step of an address."""
    if not _STEP.fullmatch(step):
        raise Refused(400, f"{field} can contain letters, digits, “-”, “.”, “_” and “~”, but no “/”.")


# Read


@handle.register
def _get(op: structure.Get, world: World) -> Json:
    return site_parts.view(world, op.at, op.share_key).structure()


@handle.register
def _list_site_spaces(op: structure.ListSiteSpaces, world: World) -> Json:
    view = site_parts.view(world, op.at, op.share_key)
    found = [(part.key, part.document) for part in view.site_spaces()]
    if op.default is not None:
        tree = view.tree
        found = [pair for pair in found if op.default == (pair[1]["id"] == tree.default_space(pair[1].get("section")))]
    return page(op, found, view.site_space)


@handle.register
def _list_sections(op: structure.ListSections, world: World) -> Json:
    view = site_parts.view(world, op.at, op.share_key)
    return page(op, [(part.key, part.document) for part in view.sections()], view.section)


@handle.register
def _list_groups(op: structure.ListGroups, world: World) -> Json:
    view = site_parts.view(world, op.at)
    found = [(part.key, part.document) for part in view.tree.walk() if part.document["object"] == "site-section-group"]
    return page(op, found, view.group)


# Site spaces


def space_to_add(world: World, organization: str, space_id: str) -> Json:
    """A space the caller may put on a site of an organization. Raises Refused and Missing."""
    space = world.store.get(f"/spaces/{space_id}")
    if space["organization"] != organization or space.get("deletedAt") or role(world, space) is None:
        raise Missing(f"/spaces/{space_id}")
    need(world, space, "create")
    return space


def new_site_space(world: World, tree: Tree, space: Json, section: str | None = None) -> Json:
    """File a space at the end of a section of a site, or at the end of its root."""
    document = _site_space(tree, world.new_id(), space, section)
    return world.store.put(_place(tree, document), document)


def _site_space(tree: Tree, identifier: str, space: Json, section: str | None) -> Json:
    part = {**_part(tree, "site-space", identifier), **({"section": section} if section else {})}
    return {**part, "space": space["id"], "path": _free_path(tree, "site-space", section, space["title"])}


@completes(structure.SiteSpace)
def _complete_site_space(
    op: structure.CreateSiteSpace | structure.UpdateSiteSpace, world: World, document: Json
) -> Json:
    tree = _tree(world, op)
    if isinstance(op, structure.UpdateSiteSpace):
        return _changed_site_space(op, world, tree, _without_null(document, "condition"))
    section = op.section_id
    if section is None and tree.sections():
        raise Refused(400, "sectionId is required, because this site has sections. Choose the section for the space.")
    if section is not None:
        world.store.get(f"{tree.path}/sections/{section}")
    return _site_space(tree, document["id"], _space_not_on(world, tree, op.space_id), section)


def _changed_site_space(op: structure.UpdateSiteSpace, world: World, tree: Tree, document: Json) -> Json:
    replaced = document.pop("spaceId", document["space"])
    if replaced != document["space"]:
        document["space"] = _space_not_on(world, tree, replaced)["id"]
    elif replaced not in tree.spaces:
        raise Missing(_place(tree, document))
    if op.path is not None:
        _refuse_taken(tree, document, document.get("section"))
    return document


def _space_not_on(world: World, tree: Tree, space_id: str) -> Json:
    space = space_to_add(world, tree.site["organization"], space_id)
    if tree.holds(space_id):
        raise Refused(409, f"“{space['title']}” is already on “{tree.site['title']}”. Choose another space.")
    return space


# Sections


@completes(structure.SiteSection)
def _complete_section(op: structure.CreateSection | structure.UpdateSection, world: World, document: Json) -> Json:
    tree = _tree(world, op)
    if isinstance(op, structure.UpdateSection):
        return _changed_section(op, tree, document)
    space = _space_not_on(world, tree, op.space_id)
    if tree.row("site-space", None):
        tree = _without_root(world, tree, document["id"])
    title = op.title or space["title"]
    part = {**_part(tree, "site-section", document["id"]), "title": title}
    section = {**part, "path": _free_path(tree, "site-section", None, title), **({"icon": op.icon} if op.icon else {})}
    new_site_space(world, tree, space, section["id"])
    return section


def _without_root(world: World, tree: Tree, section: str) -> Tree:
    """The site with what stood at its root in a section before the new one, or in that if nobody is shown any of it."""
    chosen = tree.default_space(None)
    if chosen:
        space = next(tree.spaces[part.document["space"]] for part in tree.live(None) if part.document["id"] == chosen)
        part = {**_part(tree, "site-section", world.new_id()), "title": space["title"], "defaultSiteSpace": chosen}
        world.store.put(_place(tree, part), {**part, "path": page_trees.page_slug(space["title"])})
        section = part["id"]
    for each in tree.row("site-space", None):
        world.store.change(each.path, section=section)
    return site_tree.load(world, tree.path)


def _changed_section(op: structure.UpdateSection, tree: Tree, document: Json) -> Json:
    if document["title"] is None:
        raise Refused(400, "title cannot be null. Leave title out to keep its value.")
    if op.path is not None:
        _refuse_taken(tree, document, None)
    chosen = op.default_site_space
    if chosen is not None and chosen not in {part.document["id"] for part in tree.live(document["id"])}:
        raise Refused(400, f"defaultSiteSpace must be a space in the section “{document['title']}”.")
    return _without_null(document, "condition", "icon", "description")


@handle.register
def _delete_section(op: structure.DeleteSection, world: World) -> None:
    _arranges(op, world)
    for part in _tree(world, op).row("site-space", op.site_section_id):
        world.store.delete(part.path)
    world.store.delete(path_of(op))


# Groups


@completes(structure.SectionGroup)
def _complete_group(op: structure.CreateGroup | structure.UpdateGroup, world: World, document: Json) -> Json:
    if isinstance(op, structure.UpdateGroup):
        return _without_null(document, "icon")
    tree = _tree(world, op)
    if op.parent:
        world.store.get(f"{tree.path}/section-groups/{op.parent}")
    group = {**_part(tree, "site-section-group", document["id"]), "title": op.title}
    group |= {"icon": op.icon} if op.icon else {}
    group |= {"sectionGroup": op.parent} if op.parent else {}
    sections = [f"{tree.path}/sections/{section}" for section in dict.fromkeys(op.sections or ())]
    settle(world, [(path, {**world.store.get(path), "sectionGroup": group["id"]}) for path in sections])
    return group


@handle.register
def _delete_group(op: structure.DeleteGroup, world: World) -> None:
    _arranges(op, world)
    tree, path = _tree(world, op), path_of(op)
    holder = world.store.get(path).get("sectionGroup")
    inside = [(part.path, _held(part.document, holder)) for part in tree.row("site-section", op.site_section_group_id)]
    row = [(part.path, part.document) for part in tree.row("site-section", holder)]
    here = next(index for index, (each, _) in enumerate(row) if each == path)
    row[here : here + 1] = inside
    settle(world, row)
    world.store.delete(path)


# Moving


@handle.register
def _sort(op: structure.Sort, world: World) -> Json:
    _arranges(op, world)
    return _move(world, _tree(world, op), op.item, op.position)


@handle.register
def _move_section(op: structure.MoveSection, world: World) -> Json:
    _arranges(op, world)
    item = structure.Pointer(type="site-section", id=op.site_section_id)
    sides = {
        side: structure.Pointer(type="site-section", id=pointer.site_section)
        for side in ("before", "after")
        if op.position and (pointer := getattr(op.position, side))
    }
    return _move(world, _tree(world, op), item, structure.Position(**sides) if op.position else None)


def _move(world: World, tree: Tree, item: structure.Pointer, position: structure.Position | None) -> Json:
    """Move a part beside another, or to the end of its row, and return it as it is shown."""
    path, moved = _found(world, tree, item)
    if position and (position.before is None) == (position.after is None):
        raise Refused(400, "position must have either before or after.")
    beside = position and (position.before or position.after)
    next_to = _found(world, tree, beside) if beside else None
    if next_to:
        if HOLDERS[item.type] != HOLDERS[next_to[1]["object"]]:
            raise Refused(
                400,
                "A space can only be moved next to spaces. A section or group can only be moved next to sections and groups.",
            )
        if next_to[0] == path:
            raise Refused(400, "position must name another part of the site.")
    holder = (next_to[1] if next_to else moved).get(HOLDERS[item.type])
    if item.type == "site-space":
        _refuse_taken(tree, moved, holder)
    else:
        _refuse_cycle(world, tree, moved, holder)
    row = [(part.path, part.document) for part in tree.row(item.type, holder) if part.path != path]
    here = len(row)
    if next_to:
        here = [each for each, _ in row].index(next_to[0]) + (0 if position and position.before else 1)
    row.insert(here, (path, _held(moved, holder)))
    settle(world, row)
    return site_parts.present_part(world, world.store.get(path))


def _found(world: World, tree: Tree, pointer: structure.Pointer) -> tuple[str, Json]:
    path = f"{tree.path}/{FOLDERS[pointer.type]}/{pointer.id}"
    document = world.store.get(path)
    if pointer.type == "site-space" and document["space"] not in tree.spaces:
        raise Missing(path)
    return path, document


def _refuse_cycle(world: World, tree: Tree, moved: Json, holder: str | None) -> None:
    around = holder
    while around:
        if around == moved["id"]:
            raise Refused(400, f"“{moved['title']}” cannot be moved into itself. Choose another location.")
        around = world.store.get(f"{tree.path}/section-groups/{around}").get("sectionGroup")


# Documents


def _tree(world: World, op: InSite) -> Tree:
    return site_tree.load(world, f"/orgs/{op.at.organization_id}/sites/{op.at.site_id}")


def _part(tree: Tree, kind: str, identifier: str) -> Json:
    """What the document of every part says."""
    return {"object": kind, "id": identifier, "organization": tree.site["organization"], "site": tree.site["id"]}


def _place(tree: Tree, document: Json) -> str:
    return f"{tree.path}/{FOLDERS[document['object']]}/{document['id']}"


def _held(document: Json, holder: str | None) -> Json:
    """A part that stands in another section or group, or at the root."""
    field = HOLDERS[document["object"]]
    kept = {name: value for name, value in document.items() if name != field}
    return {**kept, field: holder} if holder else kept


def _without_null(document: Json, *fields: str) -> Json:
    return {name: value for name, value in document.items() if value is not None or name not in fields}


def _rivals(tree: Tree, kind: str, holder: str | None) -> list[Json]:
    """Those whose addresses begin alike: all sections of a site, or the site spaces of a section."""
    row = tree.sections() if kind == "site-section" else tree.row(kind, holder)
    return [part.document for part in row]


def _free_path(tree: Tree, kind: str, holder: str | None, title: str) -> str:
    return page_trees.free_slug(page_trees.page_slug(title), {each["path"] for each in _rivals(tree, kind, holder)})


def _refuse_taken(tree: Tree, document: Json, holder: str | None) -> None:
    refuse_odd(document["path"], "path")
    for rival in _rivals(tree, document["object"], holder):
        if rival["id"] != document["id"] and rival["path"] == document["path"]:
            raise Refused(409, f"The path “{document['path']}” is already taken there. Choose another path.")
