"""What differs between two revisions, page by page and file by file (4.12)."""

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
"""The revision before the first."""


def document_id(page: Json) -> str | None:
    """What names the text of a page or of reusable content. None when it is empty."""
    if page.get("document"):
        return str(page["document"])
    return page["text"][:20] if page.get("text") else None


def changes_between(before: Revision, after: Revision) -> tuple[Change, ...]:
    """The changes that make `after` of `before`, as far as a server shows them: of texts it names, it shows the names."""
    found = revision_differences(
        _revision_content(before), _revision_content(after), lambda file: str(file.get("downloadURL", ""))
    )
    return tuple(Change.model_validate(each) for each in found)


def has_document_ids(revision: Revision) -> bool:
    """Whether it can be told from a revision which of its pages say what they said in another."""
    return any(page.document_id for root in revision.pages for page in root.walk())


def revision_differences(before: Json, after: Json, address: Callable[[Json], str]) -> list[Json]:
    """The changes that make `after` of `before`: pages in the order of the tree, deleted ones after them, then files,
    reusable content and variables. `address` says where a file is downloaded.
    """
    return [
        *_pages(before["pages"], after["pages"]),
        *_items("file", before["files"], after["files"], lambda file: {**file, "downloadURL": address(file)}),
        *_items("reusable_content", before["reusableContents"], after["reusableContents"], _reusable),
        *_variables(before["variables"], after["variables"]),
    ]


def _pages(before: Pages, after: Pages) -> Iterator[Json]:
    old = {page["id"]: page for page in page_trees.walk(before)}
    new = {page["id"]: page for page in page_trees.walk(after)}
    stood, stands = page_trees.parents(before), page_trees.parents(after)
    reordered = _reordered(stood, stands)
    for name, page in new.items():
        reference = _page(page)
        if name not in old:
            yield {"type": "page_created", "page": reference}
            continue
        if stood[name] != stands[name] or name in reordered:
            places = {"before": old.get(stood[name] or ""), "after": new.get(stands[name] or "")}
            parent = {when: _page(place) for when, place in places.items() if place is not None}
            yield {"type": "page_moved", "page": reference, "parent": parent}
        fields = _ATTRIBUTES.get(page["type"], _COMMON)
        if attributes := _attributes(fields, _with_document(old[name]), _with_document(page)):
            yield {"type": "page_edited", "page": reference, "attributes": attributes}
    for name, page in old.items():
        if name not in new:
            yield {"type": "page_deleted", "page": _page(page)}


def _reordered(stood: dict[str, str | None], stands: dict[str, str | None]) -> set[str]:
    """The pages that stand below the same page as before, and elsewhere among those that do."""
    before: defaultdict[str | None, list[str]] = defaultdict(list)
    after: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, parent in stood.items():
        if name in stands and stands[name] == parent:
            before[parent].append(name)
    for name, parent in stands.items():
        if name in stood and stood[name] == parent:
            after[parent].append(name)
    moved: set[str] = set()
    for parent, names in before.items():
        if names != after[parent]:
            moved |= set(names) - unmoved_items(names, after[parent])
    return moved


def _items(kind: str, before: list[Json], after: list[Json], shown: Callable[[Json], Json]) -> Iterator[Json]:
    """Changes of files or of reusable content."""
    field, attributes, reference = (
        ("file", _FILE_ATTRIBUTES, ("id", "name", "contentType", "downloadURL"))
        if kind == "file"
        else ("reusableContent", _REUSABLE_ATTRIBUTES, ("id", "title", "document"))
    )
    old = {item["id"]: shown(item) for item in before}
    new = {item["id"]: shown(item) for item in after}
    for name, item in {**new, **{name: item for name, item in old.items() if name not in new}}.items():
        named = {field: {each: item[each] for each in reference if item.get(each) is not None}}
        if name not in old:
            yield {"type": f"{kind}_created", **named}
        elif name not in new:
            yield {"type": f"{kind}_deleted", **named}
        elif changed := _attributes(attributes, old[name], item):
            yield {"type": f"{kind}_edited", **named, "attributes": changed}


def _variables(before: Json, after: Json) -> Iterator[Json]:
    names = tuple(dict.fromkeys([*before, *after]))
    if changed := _attributes(names, before, after):
        yield {"type": "variables_edited", "variables": changed}


def _attributes(names: tuple[str, ...], before: Json, after: Json) -> Json:
    """What changed of these fields: the value before and after, left out where there was none."""
    changed = {}
    for name in names:
        values = {"before": before.get(name), "after": after.get(name)}
        if values["before"] != values["after"]:
            changed[name] = {when: value for when, value in values.items() if value is not None}
    return changed


def _page(page: Json) -> Json:
    return {name: page[name] for name in ("id", "type", "title", "path") if page.get(name) is not None}


def _with_document(page: Json) -> Json:
    return {**page, "document": document_id(page)}


def _reusable(content: Json) -> Json:
    return {"id": content["id"], "title": content["title"], "document": document_id(content)}


def _revision_content(revision: Revision) -> Json:
    """A revision as a server keeps it, of what it shows."""
    variables = revision.variables
    return {
        "pages": _page_nodes(revision.pages, set()),
        "files": [_file_node(each) for each in revision.files],
        "reusableContents": [
            {"id": each.id, "title": each.title, "document": each.document} for each in revision.reusable_contents
        ],
        "variables": variables if isinstance(variables, dict) else {},
    }


def _page_nodes(pages: tuple[Page, ...], seen: set[str]) -> Pages:
    """Pages with those below them, each once, whatever the server says."""
    found: Pages = []
    for page in pages:
        if page.id not in seen:
            seen.add(page.id)
            below = _page_nodes(page.pages, seen)
            found.append({**_page_node(page), "pages": below})
    return found


def _page_node(page: Page) -> Json:
    """What is told of a page. None, and what is not so, is as if it were not told."""
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
        # What follows the question mark may be a key that is new each time.
        "downloadURL": (file.download_url or "").partition("?")[0],
        "size": file.size,
        "dimensions": {"width": size.width, "height": size.height} if size is not None else None,
    }
