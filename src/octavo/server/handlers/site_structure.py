"""The structure of a site: its site spaces, sections and groups. `SiteView` presents it as the caller sees it.

The handlers change it. Changes require the Creator role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from octavo.api import site_structure as structure
from octavo.api.operation import InSite, SiteRef
from octavo.documents import page_trees
from octavo.server.handlers import site_tree
from octavo.server.handlers.permissions import allows, organization_guard, organization_role, require, role
from octavo.server.handlers.site_tree import COLLECTION_NAMES, PARENT_FIELDS, SiteTree, StoredSitePart, StoredSiteParts
from octavo.server.handlers.spaces import present_space
from octavo.server.rest import (
    Refusal,
    RequestContext,
    before_save,
    guards,
    handle,
    insert_in_order,
    omit,
    paginate,
    path_of,
    presents,
    save_next_to,
)
from octavo.server.store import Json, MissingResource

_GROUP_DEPTH_LIMIT = 30
"""Maximum number of section groups inside one another."""


@dataclass(frozen=True)
class SiteView:
    """A site as the caller sees it. Callers outside the audience see only the spaces in which they have a role."""

    context: RequestContext
    tree: SiteTree
    share_key: str | None = None
    as_visitor: bool = False
    """True to show the site as visitors see it: without empty sections and groups, even for creators."""

    @cached_property
    def _is_public(self) -> bool:
        return site_tree.is_in_audience(self.context, self.tree, self.share_key)

    @cached_property
    def _shows_empty(self) -> bool:
        # Only creators see empty sections, whose titles may reveal the titles of hidden spaces.
        return not self.as_visitor and allows(organization_role(self.context, self.tree.site["organization"]), "create")

    def sees(self, part: StoredSitePart) -> bool:
        """Return whether the caller may see a site space."""
        return self._is_public or role(self.context, self.tree.spaces[part.document["space"]]) is not None

    def site_spaces(self) -> StoredSiteParts:
        """Return the visible site spaces in the order of the site."""
        return [part for part in self.tree.existing_site_spaces() if self.sees(part)]

    def sections(self) -> StoredSiteParts:
        """Return the visible sections in the order of the site."""
        return [
            part for part in self.tree.sections() if self._shows_empty or self._visible_site_spaces_in(part.document)
        ]

    def groups(self) -> StoredSiteParts:
        """Return the visible groups in the order of the site."""
        groups = (part for part in self.tree.walk() if part.document["object"] == "site-section-group")
        return [part for part in groups if self._shows_empty or self._children(part.document["id"])]

    def present_structure(self) -> Json:
        """Return the part of the site's structure that the caller can see, as an API resource."""
        root = self.tree.existing_site_spaces_in(None)
        if self.tree.sections_and_groups and not root:
            return {"type": "sections", "structure": self._children(None)}
        visible_spaces = [self.present_site_space(part.document) for part in root if self.sees(part)]
        return {"type": "siteSpaces", "structure": visible_spaces}

    def present_part(self, part: Json) -> Json:
        """Convert a stored site space, section or group to the API resource."""
        match part["object"]:
            case "site-space":
                return self.present_site_space(part)
            case "site-section":
                return self.present_section(part)
            case _:
                return self.present_group(part)

    def present_site_space(self, site_space: Json) -> Json:
        """Convert a stored site space to the API resource, which contains the space."""
        space = self.tree.spaces[site_space["space"]]
        return {
            **_public_fields(site_space),
            "title": space["title"],
            "default": site_space["id"] == self.tree.default_site_space_id(site_space.get("section")),
            "space": present_space(self.context, space),
            "urls": self._urls(site_tree.site_space_url, site_space),
        }

    def present_section(self, section: Json) -> Json:
        """Convert a stored section to the API resource, with the site spaces that the caller can see."""
        return {
            **_public_fields(section),
            "default": section["id"] == self.tree.default_section_id(),
            "siteSpaces": self._visible_site_spaces_in(section),
            "urls": self._urls(site_tree.section_url, section),
        }

    def present_group(self, group: Json) -> Json:
        """Convert a stored group to the API resource, with the sections and groups in it that the caller can see."""
        children = self._children(group["id"])
        sections = [child for child in children if child["object"] == "site-section"]
        return {**_public_fields(group), "sections": sections, "children": children}

    def _children(self, group_id: str | None) -> list[Json]:
        children = (self.present_part(part.document) for part in self.tree.parts_in("site-section", group_id))
        return [child for child in children if self._shows_empty or child.get("siteSpaces") or child.get("children")]

    def _visible_site_spaces_in(self, section: Json) -> list[Json]:
        return [
            self.present_site_space(part.document)
            for part in self.tree.existing_site_spaces_in(section["id"])
            if self.sees(part)
        ]

    def _urls(self, url_of: Any, document: Json) -> Json:
        return site_tree.published_urls(self.tree, url_of(self.context, self.tree, document, self.share_key))


def site_view(
    context: RequestContext, at: SiteRef, share_key: str | None = None, *, as_visitor: bool = False
) -> SiteView:
    """Load a site as the caller sees it. `share_key` is the key of the share link that the caller used, if any.
    `as_visitor` leaves out empty sections and groups. Raises MissingResource."""
    return SiteView(context, site_tree.load_site(context, site_tree.site_path(at)), share_key, as_visitor)


def _public_fields(document: Json) -> Json:
    return omit(document, "organization", "site", "position", "defaultSiteSpace")


@presents(structure.SiteSpace)
@presents(structure.SiteSection)
@presents(structure.SectionGroup)
def _present_part(context: RequestContext, document: Json) -> Json:
    return SiteView(context, site_tree.load_site_of(context, document)).present_part(document)


_URL_SEGMENT = re.compile(r"(?!\.{1,2}$)[\w.~-]+")

_require_editor = guards(
    structure.CreateSiteSpace,
    structure.UpdateSiteSpace,
    structure.DeleteSiteSpace,
    structure.CreateSection,
    structure.UpdateSection,
    structure.CreateGroup,
    structure.UpdateGroup,
)(organization_guard("create"))


def refuse_invalid_segment(segment: str, field: str) -> None:
    """Raise Refusal if `segment` cannot be a segment of a URL path. The message names the field `field`."""
    if not _URL_SEGMENT.fullmatch(segment):
        raise Refusal(400, f"{field} can contain letters, digits, “-”, “.”, “_” and “~”, but no “/”.")


@handle.register
def _get(op: structure.Get, context: RequestContext) -> Json:
    return site_view(context, op.at, op.share_key).present_structure()


@handle.register
def _list_site_spaces(op: structure.ListSiteSpaces, context: RequestContext) -> Json:
    view = site_view(context, op.at, op.share_key)
    site_spaces = [(part.sort_key, part.document) for part in view.site_spaces()]
    if op.default is not None:
        tree = view.tree
        site_spaces = [
            (key, each)
            for key, each in site_spaces
            if op.default == (each["id"] == tree.default_site_space_id(each.get("section")))
        ]
    return paginate(op, site_spaces, view.present_site_space)


@handle.register
def _list_sections(op: structure.ListSections, context: RequestContext) -> Json:
    view = site_view(context, op.at, op.share_key)
    return paginate(op, [(part.sort_key, part.document) for part in view.sections()], view.present_section)


@handle.register
def _list_groups(op: structure.ListGroups, context: RequestContext) -> Json:
    view = site_view(context, op.at)
    return paginate(op, [(part.sort_key, part.document) for part in view.groups()], view.present_group)


def require_addable_space(context: RequestContext, organization_id: str, space_id: str) -> Json:
    """Return a space of the organization. Raises MissingResource if deleted or hidden, Refusal without permission."""
    space = context.store.get(f"/spaces/{space_id}")
    if space["organization"] != organization_id or space.get("deletedAt") or role(context, space) is None:
        raise MissingResource(f"/spaces/{space_id}")
    require(context, space, "create")
    return space


def title_from_space(space: Json) -> str:
    """Return the title of a site or section made from a space. A title with only one character becomes `Untitled`."""
    title: str = space["title"]
    return title if len(title) >= 2 else "Untitled"


def new_site_space(context: RequestContext, tree: SiteTree, space: Json, section_id: str | None = None) -> Json:
    """Add a space to a section, or to the root of the site if `section_id` is None. Return the site space."""
    document = _site_space(tree, context.new_id(), space, section_id)
    return context.store.put(_part_path(tree, document), document)


def _site_space(tree: SiteTree, identifier: str, space: Json, section_id: str | None) -> Json:
    part = {**_part_fields(tree, "site-space", identifier), **({"section": section_id} if section_id else {})}
    return {**part, "space": space["id"], "path": _free_path(tree, "site-space", section_id, space["title"])}


@before_save(structure.SiteSpace)
def _fill_in_site_space(
    op: structure.CreateSiteSpace | structure.UpdateSiteSpace, context: RequestContext, document: Json
) -> Json:
    tree = _load_tree(context, op)
    if isinstance(op, structure.UpdateSiteSpace):
        return _update_site_space(op, context, tree, _without_null(document, "condition"))
    section_id = op.section_id
    if section_id is None and tree.sections():
        raise Refusal(400, "sectionId is required, because this site has sections. Choose the section for the space.")
    if section_id is not None:
        context.store.get(f"{tree.path}/sections/{section_id}")
    return _site_space(tree, document["id"], _require_space_not_on_site(context, tree, op.space_id), section_id)


def _update_site_space(op: structure.UpdateSiteSpace, context: RequestContext, tree: SiteTree, document: Json) -> Json:
    new_space_id = document.pop("spaceId", document["space"])
    if new_space_id != document["space"]:
        document["space"] = _require_space_not_on_site(context, tree, new_space_id)["id"]
    elif new_space_id not in tree.spaces:
        raise MissingResource(_part_path(tree, document))
    if op.path is not None:
        _refuse_taken_path(tree, document, document.get("section"))
    return document


def _require_space_not_on_site(context: RequestContext, tree: SiteTree, space_id: str) -> Json:
    space = require_addable_space(context, tree.site["organization"], space_id)
    if tree.has_space(space_id):
        raise Refusal(409, f"“{space['title']}” is already on “{tree.site['title']}”. Choose another space.")
    return space


@before_save(structure.SiteSection)
def _fill_in_section(
    op: structure.CreateSection | structure.UpdateSection, context: RequestContext, document: Json
) -> Json:
    tree = _load_tree(context, op)
    if isinstance(op, structure.UpdateSection):
        return _update_section(op, tree, document)
    space = _require_space_not_on_site(context, tree, op.space_id)
    if tree.parts_in("site-space", None):
        tree = _move_root_into_section(context, tree, document["id"])
    title = op.title or title_from_space(space)
    part = {**_part_fields(tree, "site-section", document["id"]), "title": title}
    section = {**part, "path": _free_path(tree, "site-section", None, title), **({"icon": op.icon} if op.icon else {})}
    new_site_space(context, tree, space, section["id"])
    return section


def _move_root_into_section(context: RequestContext, tree: SiteTree, section_id: str) -> SiteTree:
    """Move the site spaces at the root into a new section, because a site with sections has no site spaces at the root.
    If only deleted spaces are at the root, move them into the section that is being added. Return the changed site."""
    default_id = tree.default_site_space_id(None)
    if default_id:
        space = next(
            tree.spaces[part.document["space"]]
            for part in tree.existing_site_spaces_in(None)
            if part.document["id"] == default_id
        )
        part = {
            **_part_fields(tree, "site-section", context.new_id()),
            "title": title_from_space(space),
            "defaultSiteSpace": default_id,
        }
        context.store.put(_part_path(tree, part), {**part, "path": page_trees.page_slug(space["title"])})
        section_id = part["id"]
    for each in tree.parts_in("site-space", None):
        context.store.update(each.path, section=section_id)
    return site_tree.load_site(context, tree.path)


def _update_section(op: structure.UpdateSection, tree: SiteTree, document: Json) -> Json:
    if op.path is not None:
        _refuse_taken_path(tree, document, None)
    new_default_id = op.default_site_space
    if new_default_id is not None and new_default_id not in {
        part.document["id"] for part in tree.existing_site_spaces_in(document["id"])
    }:
        raise Refusal(400, f"defaultSiteSpace must be a space in the section “{document['title']}”.")
    return _without_null(document, "condition", "icon", "description")


@handle.register
def _delete_section(op: structure.DeleteSection, context: RequestContext) -> None:
    _require_editor(op, context)
    for part in _load_tree(context, op).parts_in("site-space", op.site_section_id):
        context.store.delete(part.path)
    context.store.delete(path_of(op))


@before_save(structure.SectionGroup)
def _fill_in_group(op: structure.CreateGroup | structure.UpdateGroup, context: RequestContext, document: Json) -> Json:
    if isinstance(op, structure.UpdateGroup):
        return _without_null(document, "icon")
    tree = _load_tree(context, op)
    group = {**_part_fields(tree, "site-section-group", document["id"]), "title": op.title}
    _refuse_location(context, tree, group, op.parent)
    group |= {"icon": op.icon} if op.icon else {}
    group |= {"sectionGroup": op.parent} if op.parent else {}
    section_paths = [f"{tree.path}/sections/{section_id}" for section_id in dict.fromkeys(op.sections or ())]
    sections = [(path, {**context.store.get(path), "sectionGroup": group["id"]}) for path in section_paths]
    insert_in_order(context, [], 0, sections)
    return group


@handle.register
def _delete_group(op: structure.DeleteGroup, context: RequestContext) -> None:
    _require_editor(op, context)
    tree, path = _load_tree(context, op), path_of(op)
    parent_id = context.store.get(path).get("sectionGroup")
    items_in_group = [
        (part.path, _with_parent(part.document, parent_id))
        for part in tree.parts_in("site-section", op.site_section_group_id)
    ]
    siblings = [(part.path, part.document) for part in tree.parts_in("site-section", parent_id)]
    start = next(index for index, (each, _) in enumerate(siblings) if each == path)
    insert_in_order(context, siblings, start + 1, items_in_group)
    context.store.delete(path)


@handle.register
def _sort(op: structure.Sort, context: RequestContext) -> Json:
    _require_editor(op, context)
    return _move(context, _load_tree(context, op), op.item, op.position)


@handle.register
def _move_section(op: structure.MoveSection, context: RequestContext) -> Json:
    _require_editor(op, context)
    item = structure.Pointer(type="site-section", id=op.site_section_id)
    sides = {
        side: structure.Pointer(type="site-section", id=pointer.site_section)
        for side in ("before", "after")
        if op.position and (pointer := getattr(op.position, side))
    }
    return _move(context, _load_tree(context, op), item, structure.Position(**sides) if op.position else None)


def _move(
    context: RequestContext, tree: SiteTree, item: structure.Pointer, position: structure.Position | None
) -> Json:
    """Move a site part to `position`, by default to the end. Return the part. Raises Refusal or MissingResource."""
    path, document = _find_part(context, tree, item)
    if position and (position.before is None) == (position.after is None):
        raise Refusal(400, "position must have either before or after.")
    sibling = position and (position.before or position.after)
    next_to = _find_part(context, tree, sibling) if sibling else None
    if next_to:
        if PARENT_FIELDS[item.type] != PARENT_FIELDS[next_to[1]["object"]]:
            raise Refusal(
                400,
                "A space can only be moved next to spaces. A section or group can only be moved next to sections and groups.",
            )
        if next_to[0] == path:
            raise Refusal(400, "position must name another part of the site.")
    parent_id = (next_to[1] if next_to else document).get(PARENT_FIELDS[item.type])
    if item.type == "site-space":
        _refuse_taken_path(tree, document, parent_id)
    else:
        _refuse_location(context, tree, document, parent_id)
    siblings = [(part.path, part.document) for part in tree.parts_in(item.type, parent_id)]
    is_before = bool(position and position.before)
    save_next_to(context, siblings, (path, _with_parent(document, parent_id)), next_to, is_before=is_before)
    return _present_part(context, context.store.get(path))


def _find_part(context: RequestContext, tree: SiteTree, pointer: structure.Pointer) -> tuple[str, Json]:
    path = f"{tree.path}/{COLLECTION_NAMES[pointer.type]}/{pointer.id}"
    document = context.store.get(path)
    if pointer.type == "site-space" and document["space"] not in tree.spaces:
        raise MissingResource(path)
    return path, document


def _refuse_location(context: RequestContext, tree: SiteTree, document: Json, parent_id: str | None) -> None:
    """Raise Refusal if `document` would be inside itself or nested too deep, MissingResource if a group is missing."""
    depth, group_id = 0, parent_id
    while group_id:
        if group_id == document["id"]:
            raise Refusal(400, f"“{document['title']}” cannot be moved into itself. Choose another location.")
        depth, group_id = depth + 1, context.store.get(f"{tree.path}/section-groups/{group_id}").get("sectionGroup")
    if depth + _group_depth(tree, document) > _GROUP_DEPTH_LIMIT:
        raise Refusal(400, f"Section groups can be nested at most {_GROUP_DEPTH_LIMIT} levels deep.")


def _group_depth(tree: SiteTree, document: Json) -> int:
    """Return how many levels of groups a group has, with itself: 1 if it contains no groups. 0 for a section."""
    if document["object"] != "site-section-group":
        return 0
    parts = tree.parts_in("site-section", document["id"])
    return 1 + max((_group_depth(tree, part.document) for part in parts), default=0)


def _load_tree(context: RequestContext, op: InSite) -> SiteTree:
    return site_tree.load_site(context, site_tree.site_path(op.at))


def _part_fields(tree: SiteTree, kind: str, identifier: str) -> Json:
    return {"object": kind, "id": identifier, "organization": tree.site["organization"], "site": tree.site["id"]}


def _part_path(tree: SiteTree, document: Json) -> str:
    return f"{tree.path}/{COLLECTION_NAMES[document['object']]}/{document['id']}"


def _with_parent(document: Json, parent_id: str | None) -> Json:
    field = PARENT_FIELDS[document["object"]]
    fields = {name: value for name, value in document.items() if name != field}
    return {**fields, field: parent_id} if parent_id else fields


def _without_null(document: Json, *fields: str) -> Json:
    return {name: value for name, value in document.items() if value is not None or name not in fields}


def _parts_with_unique_paths(tree: SiteTree, kind: str, parent_id: str | None) -> list[Json]:
    parts = tree.sections() if kind == "site-section" else tree.parts_in(kind, parent_id)
    return [part.document for part in parts]


def _free_path(tree: SiteTree, kind: str, parent_id: str | None, title: str) -> str:
    return page_trees.free_slug(
        page_trees.page_slug(title), {part["path"] for part in _parts_with_unique_paths(tree, kind, parent_id)}
    )


def _refuse_taken_path(tree: SiteTree, document: Json, parent_id: str | None) -> None:
    refuse_invalid_segment(document["path"], "path")
    for other in _parts_with_unique_paths(tree, document["object"], parent_id):
        if other["id"] != document["id"] and other["path"] == document["path"]:
            raise Refusal(409, f"The path “{document['path']}” is already taken there. Choose another path.")
