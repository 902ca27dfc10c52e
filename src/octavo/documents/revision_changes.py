"""Compares two revisions page by page and file by file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from octavo.api.content import Change, File, Page, Revision
from octavo.documents import page_trees
from octavo.documents.page_trees import Json, Pages
from octavo.documents.sequences import unmoved_items

_COMMON = ("title", "emoji", "icon", "hidden", "noIndex", "noRobotsIndex")
_ATTRIBUTES = {
    "document": (*_COMMON, "description", "slug", "document", "cover", "layout", "variables"),
    "group": (*_COMMON, "slug"),
    "link": (*_COMMON, "target"),
}
_FILE_ATTRIBUTES = ("name", "downloadURL", "size", "contentType", "dimensions")
_REUSABLE_ATTRIBUTES = ("title", "document")

EMPTY_REVISION: Json = {"pages": [], "files": [], "reusableContents": [], "variables": {}}
"""The content of a space before its first revision."""


def document_id(page: Json) -> str | None:
    """Return an id that identifies the text of a page or of reusable content. None if the text is empty."""
    if page.get("document"):
        return str(page["document"])
    return page["text"][:20] if page.get("text") else None


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
