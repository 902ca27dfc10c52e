"""Compares two revisions page by page and file by file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from octavo.api.content import Change, File, Page, PageReference, Revision
from octavo.documents import page_trees
from octavo.documents.diff_model import AttributeChange
from octavo.documents.page_trees import Json, Pages, document_id
from octavo.documents.sequences import unmoved_items

_COMMON = ("title", "emoji", "icon", "hidden", "noIndex", "noRobotsIndex")
_ATTRIBUTES = {
    "document": (*_COMMON, "description", "slug", "document", "cover", "layout", "variables"),
    "group": (*_COMMON, "slug"),
    "link": (*_COMMON, "target"),
}
_FILE_ATTRIBUTES = ("name", "downloadURL", "size", "contentType", "dimensions")
_REUSABLE_ATTRIBUTES = ("title", "document")


def changes_between(before: Revision, after: Revision) -> tuple[Change, ...]:
    """Return the changes from `before` to `after`. Texts are compared by their document ids."""
    found = revision_differences(
        _revision_content(before), _revision_content(after), lambda file: str(file.get("downloadURL", ""))
    )
    return tuple(Change.model_validate(each) for each in found)


def has_document_ids(revision: Revision) -> bool:
    """Return whether the pages of a revision have document ids. Without them, edited pages cannot be recognized."""
    return any(page.document_id for root in revision.pages for page in root.walk())


def revision_differences(before: Json, after: Json, address: Callable[[Json], str]) -> list[Json]:
    """Return the changes from `before` to `after`: pages in tree order, then deleted pages, files, reusable content
    and variables. `address` returns the download URL of a file."""
    return [
        *_pages(before["pages"], after["pages"]),
        *_items("file", before["files"], after["files"], lambda file: {**file, "downloadURL": address(file)}),
        *_items("reusable_content", before["reusableContents"], after["reusableContents"], _reusable),
        *_variables(before["variables"], after["variables"]),
    ]


def _pages(before: Pages, after: Pages) -> Iterator[Json]:
    old = {page["id"]: page for page in page_trees.walk(before)}
    new = {page["id"]: page for page in page_trees.walk(after)}
    old_parents, new_parents = page_trees.parents(before), page_trees.parents(after)
    reordered = _reordered_pages(old_parents, new_parents)
    for name, page in new.items():
        reference = _page_reference(page)
        if name not in old:
            yield {"type": "page_created", "page": reference}
            continue
        if old_parents[name] != new_parents[name] or name in reordered:
            places = {"before": old.get(old_parents[name] or ""), "after": new.get(new_parents[name] or "")}
            parent = {when: _page_reference(place) for when, place in places.items() if place is not None}
            yield {"type": "page_moved", "page": reference, "parent": parent}
        fields = _ATTRIBUTES.get(page["type"], _COMMON)
        if attributes := _attributes(fields, _with_document(old[name]), _with_document(page)):
            yield {"type": "page_edited", "page": reference, "attributes": attributes}
    for name, page in old.items():
        if name not in new:
            yield {"type": "page_deleted", "page": _page_reference(page)}


def _reordered_pages(old_parents: dict[str, str | None], new_parents: dict[str, str | None]) -> set[str]:
    """Return the pages that have the same parent as before, but another position among the siblings that remain."""
    before: defaultdict[str | None, list[str]] = defaultdict(list)
    after: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, parent in old_parents.items():
        if name in new_parents and new_parents[name] == parent:
            before[parent].append(name)
    for name, parent in new_parents.items():
        if name in old_parents and old_parents[name] == parent:
            after[parent].append(name)
    moved: set[str] = set()
    for parent, names in before.items():
        if names != after[parent]:
            moved |= set(names) - unmoved_items(names, after[parent])
    return moved


def _items(kind: str, before: list[Json], after: list[Json], to_json: Callable[[Json], Json]) -> Iterator[Json]:
    field, attributes, reference = (
        ("file", _FILE_ATTRIBUTES, ("id", "name", "contentType", "downloadURL"))
        if kind == "file"
        else ("reusableContent", _REUSABLE_ATTRIBUTES, ("id", "title", "document"))
    )
    old = {item["id"]: to_json(item) for item in before}
    new = {item["id"]: to_json(item) for item in after}
    for name, item in {**new, **{name: item for name, item in old.items() if name not in new}}.items():
        reference_fields = {field: {each: item[each] for each in reference if item.get(each) is not None}}
        if name not in old:
            yield {"type": f"{kind}_created", **reference_fields}
        elif name not in new:
            yield {"type": f"{kind}_deleted", **reference_fields}
        elif changed := _attributes(attributes, old[name], item):
            yield {"type": f"{kind}_edited", **reference_fields, "attributes": changed}


def _variables(before: Json, after: Json) -> Iterator[Json]:
    names = tuple(dict.fromkeys([*before, *after]))
    if changed := _attributes(names, before, after):
        yield {"type": "variables_edited", "variables": changed}


def _attributes(names: tuple[str, ...], before: Json, after: Json) -> Json:
    """Return the changed fields with their values before and after. Missing values are left out."""
    changed = {}
    for name in names:
        values = {"before": before.get(name), "after": after.get(name)}
        if values["before"] != values["after"]:
            changed[name] = {when: value for when, value in values.items() if value is not None}
    return changed


def _page_reference(page: Json) -> Json:
    return {name: page[name] for name in ("id", "type", "title", "path") if page.get(name) is not None}


def _with_document(page: Json) -> Json:
    return {**page, "document": document_id(page)}


def _reusable(content: Json) -> Json:
    return {"id": content["id"], "title": content["title"], "document": document_id(content)}


def _revision_content(revision: Revision) -> Json:
    """Return a revision as JSON, in the form in which the embedded server stores it."""
    variables = revision.variables
    return {
        "pages": _page_nodes(revision.pages, set()),
        "files": [_file_node(file) for file in revision.files],
        "reusableContents": [
            {"id": content.id, "title": content.title, "document": content.document}
            for content in revision.reusable_contents
        ],
        "variables": variables if isinstance(variables, dict) else {},
    }


def _page_nodes(pages: tuple[Page, ...], seen: set[str]) -> Pages:
    """Return pages with their children as JSON. A page that the server repeats is included once."""
    found: Pages = []
    for page in pages:
        if page.id not in seen:
            seen.add(page.id)
            below = _page_nodes(page.pages, seen)
            found.append({**_page_node(page), "pages": below})
    return found


def _page_node(page: Page) -> Json:
    """Return a page as JSON. False values count as missing."""
    return {
        "id": page.id,
        "type": page.type,
        "title": page.title,
        "emoji": page.emoji,
        "icon": page.icon,
        "hidden": page.hidden or None,
        "noIndex": page.no_index or None,
        "noRobotsIndex": page.no_robots_index or None,
        "description": page.description,
        "slug": page.slug,
        "path": page.path,
        "document": page.document_id,
        "target": page.target,
        "layout": page.layout,
        "cover": page.cover,
        "variables": page.variables,
    }


def _file_node(file: File) -> Json:
    size = file.dimensions
    return {
        "id": file.id,
        "name": file.name,
        "contentType": file.content_type,
        # The query can contain a signature that is new for each response.
        "downloadURL": (file.download_url or "").partition("?")[0],
        "size": file.size,
        "dimensions": {"width": size.width, "height": size.height} if size is not None else None,
    }


WHOLE = "whole"
"""Key of the entry for the comments on the change request as a whole."""
_HIDDEN_ATTRIBUTES = frozenset({"document", "cover", "layout", "variables", "target"})
"""Changed attributes of a page without a value that fits in one line."""
_NAMES = {"noIndex": "hidden from search", "noRobotsIndex": "hidden from search engines", "slug": "slug"}


@dataclass(frozen=True)
class ChangedPage:
    """Changes to a page, a file, reusable content or variables. `changes` is empty for an unchanged page and for the
    entry with the key WHOLE, which has the comments on the change request as a whole."""

    key: str
    title: str
    changes: tuple[Change, ...] = ()
    page: PageReference | None = None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return what happens to the page or file: any of created, deleted, moved, renamed and edited."""
        found: list[str] = []
        for change in self.changes:
            kind = change.type.rpartition("_")[2]
            names = set(change.attributes) if isinstance(change.attributes, dict) else set()
            if kind == "edited" and names & {"title", "slug"}:
                found.append("renamed")
            if kind != "edited" or not names or names - {"title", "slug"}:
                found.append(kind)
        return tuple(dict.fromkeys(found))

    @property
    def sign(self) -> str:
        """Return `+` for created, `−` for deleted, `→` for moved and `~` for edited or renamed. Empty if nothing
        changes."""
        kinds = self.kinds
        signs = (("created", "+"), ("deleted", "−"), ("moved", "→"))
        return next((sign for kind, sign in signs if kind in kinds), "~" if kinds else "")

    @property
    def is_document(self) -> bool:
        """Return whether the entry is a page with text."""
        return self.page is not None and self.page.type == "document"

    @property
    def exists_before(self) -> bool:
        return "created" not in self.kinds

    @property
    def exists_after(self) -> bool:
        return "deleted" not in self.kinds

    @property
    def settings(self) -> tuple[AttributeChange, ...]:
        """Return the changed settings of the page, such as its parent page, title or slug."""
        found: list[AttributeChange] = []
        for change in self.changes:
            if change.parent is not None:
                places = (change.parent.before, change.parent.after)
                before, after = (place.title or "Untitled" if place else "the top level" for place in places)
                found.append(
                    AttributeChange("place", before, after)
                    if before != after
                    else AttributeChange("position", "old position", "new position")
                )
            found += settings_of(change.attributes)
        return tuple(found)


def settings_of(values: object) -> Iterator[AttributeChange]:
    """Yield the changed values in `values`, which are the attributes or the variables of a change."""
    for attribute, sides in values.items() if isinstance(values, dict) else ():
        if isinstance(sides, dict) and attribute not in _HIDDEN_ATTRIBUTES:
            before, after = (_format_value(sides.get(side)) for side in ("before", "after"))
            yield AttributeChange(_NAMES.get(attribute, str(attribute)), before, after)


def _format_value(value: object) -> str | None:
    if value is None or value == "":
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def changed_pages(changes: Iterable[Change]) -> tuple[ChangedPage, ...]:
    """Return an entry for each page, file or other object that changes, in the order of the first change to each."""
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[_key_of(change)].append(change)
    return tuple(
        ChangedPage(key, title_of(group[-1]), tuple(group), next((each.page for each in group if each.page), None))
        for key, group in found.items()
    )


def _key_of(change: Change) -> str:
    """Return the key of the entry for a change. The key of a page is the page ID, as in a page tree."""
    if change.page is not None:
        return change.page.id
    if change.file is not None:
        return f"file {change.file.id}"
    if isinstance(change.reusable_content, dict):
        return f"reusable {change.reusable_content.get('id', '')}"
    return change.type.partition("_")[0]


def title_of(change: Change) -> str:
    """Return the title of the changed page, or the name of the changed file or object."""
    if change.page is not None:
        return change.page.title or "Untitled"
    if change.file is not None:
        return change.file.name
    if isinstance(change.reusable_content, dict):
        return str(change.reusable_content.get("title", "reusable content"))
    return "variables" if change.type == "variables_edited" else change.type.replace("_", " ")
