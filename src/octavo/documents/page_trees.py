"""Page trees of revisions, and the comparison of two revisions page by page and file by file. A tree consists of lists of
JSON nodes, in which documents and groups have their children in `pages`.

No function changes its arguments. Slugs are unique among siblings. A path consists of the slugs from the root to the
page. The first document at the root is the home page. Its path is empty, but the paths of its children begin with its
slug. Groups occur only at the root. Links and computed pages have no children.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from octavo.api.content import Change, File, Page, PageReference, ParentChange, ReusableContent, Revision
from octavo.api.folding import fold
from octavo.documents import links
from octavo.documents.anchors import slug_of_title
from octavo.documents.blocks import NO_ATTRS
from octavo.documents.sequences import unmoved_items
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.documents.diff_model import AttributeChange

_attribute_change = lazy("octavo.documents.diff_model:AttributeChange")  # lazy: only comparisons need the model
Json = dict[str, Any]
Pages = list[Json]

MAX_SLUG = 100
MAX_HEADING = 1000
"""Maximum number of characters of a line that are read as a heading. The rest of the line is ignored."""

DEFAULT_LAYOUT: Json = {
    "width": "default",
    "cover": True,
    "coverSize": "hero",
    "title": True,
    "description": True,
    "tableOfContents": True,
    "outline": True,
    "pagination": True,
    "metadata": True,
}
"""Layout of a page that sets no layout."""
EMPTY_REVISION: Json = {"pages": [], "files": [], "reusableContents": [], "variables": {}}
"""The content of a space before its first revision."""

_HEADING = re.compile(r"(?:[ ]{0,3})#(?!#)[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_FENCE = re.compile(r"(?: {0,3}|[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)++)(`{3,}(?=[^`]*$)|~{3,})")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_PRIVATE_USE_START = 0xE000
_MARKUP_REMOVALS = (
    (re.compile(r"<[^>\s][^>]*>"), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"(\*\*|__|~~|`)(.+?)\1"), r"\2"),
    (re.compile(r"(?<![\w\\])([*_])(?!\s)(.+?)(?<![\s\\])\1(?!\w)"), r"\2"),
)


_RESTORED_SIGNS = {_PRIVATE_USE_START + code: code for code in range(0x21, 0x7F)}


def document_id(page: Json) -> str | None:
    """Return an ID that changes with the text of a page or of reusable content. None for an empty text."""
    if page.get("document"):
        return str(page["document"])
    return page["text"][:20] if page.get("text") else None


def walk(pages: Pages) -> Iterator[Json]:
    """Yield all pages in tree order."""
    pending_pages = list(reversed(pages))
    while pending_pages:
        page = pending_pages.pop()
        yield page
        pending_pages += reversed(page.get("pages", ()))


def find_page(pages: Pages, page_id: str) -> Json | None:
    """Return the page or subpage with the ID `page_id`. None if there is no such page."""
    return next((page for page in walk(pages) if page["id"] == page_id), None)


def find_by_path(pages: Pages, path: str) -> Json | None:
    """Return the document or group at `path`. None if there is none. The home page is found by its slug, too."""
    clean_path = path.strip("/")
    for page in walk(pages):
        if page.get("path") == clean_path:
            return page
    home = home_page(pages)
    return home if home is not None and home["slug"] == clean_path else None


def source_path(page: Json) -> str:
    """Return the path of a page's file in Git. Without one, return the path of the page."""
    return str((page.get("git") or {}).get("path") or page.get("path") or "")


def link_base(page: Json) -> str:
    """Return the path from which relative links on a page start, for `links.resolve`: the path of its file in Git.
    Without one, return the path of the page, with a slash if it has child pages."""
    is_folder = bool(page.get("pages")) and not (page.get("git") or {}).get("path")
    return f"{source_path(page)}/" if is_folder else source_path(page)


def space_index_of(revision: Revision, space_id: str, origins: Collection[str] = ()) -> links.SpaceIndex:
    """Return the index of the pages and files of a space, for links. `origins` are origins of the platform's app."""
    pages = [
        (page.id, page.path, page.git.path if page.git else None if page.path else page.slug)
        for page in revision.walk()
    ]
    files = [(file.id, file.git.path if file.git else None, file.name) for file in revision.files]
    return links.space_index(pages, files, space_id, origins)


def space_index_of_json(revision: Json, root: str = "") -> links.SpaceIndex:
    """Return the link index of the pages and files of `revision`. `root` is the folder of pages in the repository."""
    pages = [
        (
            page["id"],
            page.get("path"),
            (page.get("git") or {}).get("path", None if page.get("path") else page.get("slug")),
        )
        for page in walk(revision["pages"])
    ]
    files = [(file["id"], (file.get("git") or {}).get("path"), file["name"]) for file in revision["files"]]
    return links.space_index(pages, files, revision["space"], root=root)


def home_page(pages: Pages) -> Json | None:
    """Return the first document at the root. None if there is none."""
    return next((page for page in pages if page["type"] == "document"), None)


def path_to(pages: Pages, page_id: str) -> Pages:
    """Return the pages from the root to a page. Empty if there is no such page."""
    parent_of = parent_ids(pages)
    if page_id not in parent_of:
        return []
    pages_by_id = {page["id"]: page for page in walk(pages)}
    steps = []
    current_id: str | None = page_id
    while current_id is not None:
        steps.append(pages_by_id[current_id])
        current_id = parent_of[current_id]
    return steps[::-1]


def parent_ids(pages: Pages) -> dict[str, str | None]:
    """Return the ID of the parent of each page, by page ID and in tree order. The value is None at the root."""
    parent_of: dict[str, str | None] = dict.fromkeys((page["id"] for page in pages), None)
    ordered_parents: dict[str, str | None] = {}
    for page in walk(pages):
        ordered_parents[page["id"]] = parent_of[page["id"]]
        parent_of.update(dict.fromkeys((child["id"] for child in page.get("pages", ())), page["id"]))
    return ordered_parents


def position_of(pages: Pages, page_id: str) -> tuple[str | None, int]:
    """Return the parent ID of a page, and its index among siblings. None stands for the root."""
    parent_id = parent_ids(pages)[page_id]
    siblings = next(page["pages"] for page in walk(pages) if page["id"] == parent_id) if parent_id else pages
    return parent_id, [page["id"] for page in siblings].index(page_id)


def remove_pages(pages: Pages, page_ids: Collection[str]) -> Pages:
    """Return the tree without the pages with these IDs, and without the pages below them."""
    return [
        _with_changed_children(page, lambda children: remove_pages(children, page_ids))
        for page in pages
        if page["id"] not in page_ids
    ]


def replace_page(pages: Pages, page: Json) -> Pages:
    """Return the tree with `page` in place of the page with the same ID."""
    return [
        page
        if each["id"] == page["id"]
        else _with_changed_children(each, lambda children: replace_page(children, page))
        for each in pages
    ]


def insert_page(pages: Pages, page: Json, parent_id: str | None, index: int | None) -> Pages:
    """Return the tree with `page` as a child of `parent_id` (None for the root) at `index` (None for the end)."""
    if parent_id is None:
        position = len(pages) if index is None else index
        return [*pages[:position], page, *pages[position:]]

    def insert_in(each: Json) -> Json:
        if each["id"] == parent_id:
            return {**each, "pages": insert_page(each.get("pages", []), page, None, index)}
        return _with_changed_children(each, lambda pages: insert_page(pages, page, parent_id, index))

    return [insert_in(each) for each in pages]


def with_missing_pages(pages: Pages, old_pages: Pages, missing_ids: Collection[str]) -> Pages:
    """Return `pages` plus each page in `missing_ids`, without its subpages, at its old position. If its parent is
    missing, the page is at the root."""
    old_parent_of, present_parents = parent_ids(old_pages), parent_ids(pages)
    old_pages_by_id = {page["id"]: page for page in walk(old_pages)}
    for page_id in old_parent_of:
        if page_id not in missing_ids or page_id in present_parents:
            continue
        new_parent_id = old_parent_of[page_id] if old_parent_of[page_id] in present_parents else None
        siblings = [each for each, parent_id in old_parent_of.items() if parent_id == old_parent_of[page_id]]
        present_siblings = [each for each, parent_id in present_parents.items() if parent_id == new_parent_id]
        earlier_siblings = [each for each in siblings[: siblings.index(page_id)] if each in present_siblings]
        index = present_siblings.index(earlier_siblings[-1]) + 1 if earlier_siblings else 0
        pages = insert_page(pages, {**old_pages_by_id[page_id], "pages": []}, new_parent_id, index)
        present_parents = parent_ids(pages)
    return pages


def with_paths(pages: Pages) -> Pages:
    """Return the tree with slugs that are unique among siblings, and with the paths that follow from the slugs."""
    home = home_page(pages)
    return _with_paths(pages, "", home["id"] if home else None)


def _with_paths(pages: Pages, path_above: str, home: str | None) -> Pages:
    taken_slugs: set[str] = set()
    result = []
    for page in pages:
        if page["type"] not in ("document", "group"):
            result.append(page)
            continue
        slug = free_slug(page.get("slug") or page_slug(page["title"]), taken_slugs)
        taken_slugs.add(slug)
        path = f"{path_above}{slug}"
        children = _with_paths(page.get("pages", []), f"{path}/", None)
        result.append({**page, "slug": slug, "path": "" if page["id"] == home else path, "pages": children})
    return result


def free_slug(slug: str, used_slugs: set[str]) -> str:
    if slug not in used_slugs:
        return slug
    number = 2
    while (numbered := f"{slug[: MAX_SLUG - 5]}-{number}") in used_slugs:
        number += 1
    return numbered


def page_slug(title: str) -> str:
    """Return the slug for a title, such as `first-steps` for `First steps`. At most 100 characters, `page` if empty."""
    return slug_of_title(title)[:MAX_SLUG].rstrip("-.") or "page"


def leading_heading(markdown: str) -> str | None:
    """Return the text of the heading of level 1 with which `markdown` begins. None if it is missing or empty."""
    line = markdown.lstrip("\ufeff \t\r\n").split("\n", 1)[0].rstrip()
    heading_match = _HEADING.fullmatch(line[:MAX_HEADING])
    return (inline_text(heading_match[1]) or None) if heading_match else None


def first_heading(markdown: str) -> str | None:
    """Return the text of the first heading of level 1 that is not in code. None if there is none."""
    fence = ""
    previous_line = ""
    for whole_line in markdown.split("\n"):
        line = whole_line[:MAX_HEADING]
        if fence:
            if line.strip().startswith(fence) and not line.strip(" \t`~"):
                fence = ""
        elif fence_match := _FENCE.match(line):
            fence = fence_match[1]
        else:
            heading_match = _HEADING.fullmatch(line)
            if not heading_match and _UNDERLINE.fullmatch(line) and previous_line.strip():
                return inline_text(previous_line)
            if heading_match and (words := inline_text(heading_match[1])):
                return words
        previous_line = line
    return None


def change_leading_heading(markdown: str, before: str, title: str) -> str:
    """Return `markdown` with `title` as the leading heading. Unchanged if the leading heading is not `before`."""
    if leading_heading(markdown) != before:
        return markdown
    start = len(markdown) - len(markdown.lstrip("\ufeff \t\r\n"))
    _, line_feed, remaining_text = markdown[start:].partition("\n")
    return f"{markdown[:start]}# {escape_markdown(title)}{line_feed}{remaining_text}"


def inline_text(inline: str) -> str:
    """Return a line of Markdown as plain text."""
    # Escaped signs become private-use characters, which are not read as markup.
    inline = _ESCAPE.sub(lambda match: chr(_PRIVATE_USE_START + ord(match[1])), inline)
    for pattern, replacement in _MARKUP_REMOVALS:
        inline = pattern.sub(replacement, inline)
    return " ".join(html.unescape(inline).translate(_RESTORED_SIGNS).split())


def escape_markdown(text: str) -> str:
    """Return a text as one line of inline Markdown. Escape signs such as `*`, formulas and tags, not list markers."""
    return re.sub(r"[\\`*_\[\]<>#&~!]|\$(?=\$)|\{(?=%)", r"\\\g<0>", " ".join(text.split()))


def _with_changed_children(page: Json, change: Callable[[Pages], Pages]) -> Json:
    return {**page, "pages": change(page["pages"])} if page.get("pages") else page


@dataclass(frozen=True)
class DuplicatePage:
    """A page that has the same title or slug as a sibling because of a change."""

    id: str
    titles: tuple[str, str]
    """The title of the sibling, then the title of the page `id`."""
    paths: tuple[str, str]
    """The path of the sibling, then the path of the page `id`."""
    is_other_in_main: bool


def find_duplicates(main: Iterable[Page], after: Iterable[Page] | Pages) -> list[DuplicatePage]:
    """Return the pages and groups of `after` with the title or slug of an earlier sibling. Leave out pairs that are
    siblings with the same titles and slugs in `main`."""
    new_nodes, main_nodes = page_nodes(after), page_nodes(main)
    old_names = {page["id"]: (page["title"], _wanted_slug(page)) for page in walk(main_nodes)}
    parents_before = parent_ids(main_nodes)
    paths = {page["id"]: page.get("path", "") for page in walk(with_paths(new_nodes))}
    duplicates = []
    for siblings in [new_nodes, *(page.get("pages", []) for page in walk(new_nodes))]:
        pages_and_groups = [page for page in siblings if page["type"] in ("document", "group")]
        for number, page in enumerate(pages_and_groups):
            other = next((each for each in pages_and_groups[:number] if _are_duplicates(each, page)), None)
            if other is None:
                continue
            pair = (other["id"], page["id"])
            is_old = all(old_names.get(each["id"]) == (each["title"], _wanted_slug(each)) for each in (other, page))
            if not is_old or parents_before[pair[0]] != parents_before[pair[1]]:
                titles, path_pair = (other["title"], page["title"]), (f"/{paths[pair[0]]}", f"/{paths[pair[1]]}")
                duplicates.append(DuplicatePage(page["id"], titles, path_pair, other["id"] in old_names))
    return duplicates


def _wanted_slug(page: Json) -> str:
    return str(page.get("slug") or page_slug(page["title"]))


def _are_duplicates(page: Json, other: Json) -> bool:
    return _wanted_slug(page) == _wanted_slug(other) or fold(page["title"]).strip() == fold(other["title"]).strip()


_COMMON_ATTRIBUTES = ("title", "emoji", "icon", "hidden", "noIndex", "noRobotsIndex")
_ATTRIBUTES = {
    "document": (*_COMMON_ATTRIBUTES, "description", "slug", "document", "cover", "layout", "variables"),
    "group": (*_COMMON_ATTRIBUTES, "slug"),
    "link": (*_COMMON_ATTRIBUTES, "target"),
}
_FILE_ATTRIBUTES = ("name", "downloadURL", "size", "contentType", "dimensions")
_REUSABLE_ATTRIBUTES = ("title", "document")


def changes_between(before: Revision, after: Revision) -> tuple[Change, ...]:
    """Return the changes from `before` to `after`. A text counts as changed if its document ID differs."""
    differences = revision_differences(
        revision_content(before), revision_content(after), lambda file: str(file.get("downloadURL", ""))
    )
    return tuple(Change.model_validate(each) for each in differences)


def has_document_ids(revision: Revision) -> bool:
    """Return whether the pages of a revision have document IDs. Without them, edited texts cannot be recognized."""
    return any(page.document_id for root in revision.pages for page in root.walk())


def revision_differences(before: Json, after: Json, download_url: Callable[[Json], str]) -> list[Json]:
    """Return the changes from `before` to `after` as the API returns them. `download_url` returns the URL of a file."""
    return [
        *_page_changes(before["pages"], after["pages"]),
        *_changes("file", before["files"], after["files"], lambda file: {**file, "downloadURL": download_url(file)}),
        *_changes("reusable_content", before["reusableContents"], after["reusableContents"], _reusable),
        *_variable_changes(before["variables"], after["variables"]),
    ]


def _page_changes(before: Pages, after: Pages) -> Iterator[Json]:
    old = {page["id"]: page for page in walk(before)}
    new = {page["id"]: page for page in walk(after)}
    old_parents, new_parents = parent_ids(before), parent_ids(after)
    reordered_ids = _reordered_pages(old_parents, new_parents)
    for page_id, page in new.items():
        reference = _page_reference(page)
        if page_id not in old:
            yield {"type": "page_created", "page": reference}
            continue
        if old_parents[page_id] != new_parents[page_id] or page_id in reordered_ids:
            parent_pages = {"before": old.get(old_parents[page_id] or ""), "after": new.get(new_parents[page_id] or "")}
            parent = {
                when: _page_reference(parent_page)
                for when, parent_page in parent_pages.items()
                if parent_page is not None
            }
            yield {"type": "page_moved", "page": reference, "parent": parent}
        fields = _ATTRIBUTES.get(page["type"], _COMMON_ATTRIBUTES)
        if attributes := _changed_attributes(fields, _with_document(old[page_id]), _with_document(page)):
            yield {"type": "page_edited", "page": reference, "attributes": attributes}
    for page_id, page in old.items():
        if page_id not in new:
            yield {"type": "page_deleted", "page": _page_reference(page)}


def _reordered_pages(old_parents: dict[str, str | None], new_parents: dict[str, str | None]) -> set[str]:
    """Return the IDs of the pages that moved among siblings. Only pages with the same parent in both trees count."""
    children_before: defaultdict[str | None, list[str]] = defaultdict(list)
    children_after: defaultdict[str | None, list[str]] = defaultdict(list)
    for page_id, parent in old_parents.items():
        if page_id in new_parents and new_parents[page_id] == parent:
            children_before[parent].append(page_id)
    for page_id, parent in new_parents.items():
        if page_id in old_parents and old_parents[page_id] == parent:
            children_after[parent].append(page_id)
    moved_ids: set[str] = set()
    for parent, child_ids in children_before.items():
        if child_ids != children_after[parent]:
            moved_ids |= set(child_ids) - unmoved_items(child_ids, children_after[parent])
    return moved_ids


def _changes(kind: str, before: list[Json], after: list[Json], to_json: Callable[[Json], Json]) -> Iterator[Json]:
    field, attributes, reference = (
        ("file", _FILE_ATTRIBUTES, ("id", "name", "contentType", "downloadURL"))
        if kind == "file"
        else ("reusableContent", _REUSABLE_ATTRIBUTES, ("id", "title", "document"))
    )
    old = {item["id"]: to_json(item) for item in before}
    new = {item["id"]: to_json(item) for item in after}
    for item_id, item in {**new, **{item_id: item for item_id, item in old.items() if item_id not in new}}.items():
        reference_fields = {field: {each: item[each] for each in reference if item.get(each) is not None}}
        if item_id not in old:
            yield {"type": f"{kind}_created", **reference_fields}
        elif item_id not in new:
            yield {"type": f"{kind}_deleted", **reference_fields}
        elif changed_fields := _changed_attributes(attributes, old[item_id], item):
            yield {"type": f"{kind}_edited", **reference_fields, "attributes": changed_fields}


def _variable_changes(before: Json, after: Json) -> Iterator[Json]:
    if changed_variables := _changed_attributes({**before, **after}, before, after):
        yield {"type": "variables_edited", "variables": changed_variables}


def _changed_attributes(names: Iterable[str], before: Json, after: Json) -> Json:
    changed_by_name = {}
    for name in names:
        values = {"before": before.get(name), "after": after.get(name)}
        if values["before"] != values["after"]:
            changed_by_name[name] = {when: value for when, value in values.items() if value is not None}
    return changed_by_name


def _page_reference(page: Json) -> Json:
    return {name: page[name] for name in ("id", "type", "title", "path") if page.get(name) is not None}


def _with_document(page: Json) -> Json:
    return {**{name: value for name, value in page.items() if value is not False}, "document": document_id(page)}


def _reusable(content: Json) -> Json:
    return {"id": content["id"], "title": content["title"], "document": document_id(content)}


_UNCOMPARED_FIELDS = {"pages", "created_at", "updated_at", "document_id", "markdown", "document", "urls", "href"}
"""Fields of a page that are not compared, because they follow from other fields, from the time or from the text."""


def revision_content(
    revision: Revision, text_field: Literal["document", "text"] = "document", texts: Mapping[str, str] = NO_ATTRS
) -> Json:
    """Return a revision in the form in which the embedded server stores it. Each page has the field `text_field`: its
    text in `texts` (by page ID), or else its document ID."""
    variables = revision.variables
    return {
        "pages": page_nodes(revision.pages, text_field, texts),
        "files": [_file_node(file) for file in revision.files],
        "reusableContents": [
            _fields_set_by_server(content, {"document"}) | _set_fields({text_field: content.document})
            for content in revision.reusable_contents
        ],
        "variables": variables if isinstance(variables, dict) else {},
    }


def page_nodes(
    pages: Iterable[Page | Json],
    text_field: Literal["document", "text"] = "document",
    texts: Mapping[str, str] = NO_ATTRS,
) -> Pages:
    """Return a page tree as JSON, in the form of `revision_content`. Only the first of several pages with the same ID
    is included. For pages that are not JSON, `text_field` and `texts` are used as in `revision_content`."""
    seen_ids: set[str] = set()

    def to_nodes(siblings: Iterable[Page | Json]) -> Pages:
        nodes = []
        for page in siblings:
            page_id = page["id"] if isinstance(page, dict) else page.id
            if page_id in seen_ids:
                continue
            seen_ids.add(page_id)
            if isinstance(page, dict):
                node, children = page, page.get("pages", ())
            else:
                text, children = texts.get(page_id, page.document_id), page.pages
                node = _fields_set_by_server(page, _UNCOMPARED_FIELDS) | _set_fields({text_field: text})
            # Documents and groups always have a list of subpages, other types only if a server sent subpages.
            has_subpage_list = bool(children) or node["type"] in ("document", "group")
            nodes.append({**node, "pages": to_nodes(children)} if has_subpage_list else node)
        return nodes

    return to_nodes(pages)


def _file_node(file: File) -> Json:
    # The query can contain a signature that changes with each response.
    url = (file.download_url or "").partition("?")[0]
    return {**_fields_set_by_server(file, set()), "downloadURL": url}


def _fields_set_by_server(item: Page | File | ReusableContent, excluded: set[str]) -> Json:
    """Return the fields that the server sent, except `excluded`, None and False. Always include `type` and `title`."""
    node = item.model_dump(mode="json", by_alias=True, exclude=excluded, exclude_unset=True, exclude_none=True)
    set_fields = {name: value for name, value in node.items() if value is not False}
    return {**set_fields, "type": getattr(item, "type", ""), "title": getattr(item, "title", "")}


def _set_fields(fields: Mapping[str, str | None]) -> Json:
    return {name: value for name, value in fields.items() if value}


WHOLE_REQUEST = "whole"
"""Key of the entry for comments on the change request as a whole, in the list of changed pages."""
_ATTRIBUTE_NAMES = {"noIndex": "hidden from search", "noRobotsIndex": "hidden from search engines", "slug": "slug"}


@dataclass(frozen=True)
class ChangedPage:
    """A page, file, reusable content or the variables, with all changes to it. The key WHOLE_REQUEST stands for
    the change request, which has the comments that are on no page."""

    key: str
    title: str
    changes: tuple[Change, ...] = ()
    page: PageReference | None = None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the changes: any of created, deleted, moved, renamed and edited. Empty if nothing changed."""
        names_of_kinds: list[str] = []
        for change in self.changes:
            kind = change.type.rpartition("_")[2]
            names = set(change.attributes) if isinstance(change.attributes, dict) else set()
            if kind == "edited" and names & {"title", "slug"}:
                names_of_kinds.append("renamed")
            if kind != "edited" or not names or names - {"title", "slug"}:
                names_of_kinds.append(kind)
        return tuple(dict.fromkeys(names_of_kinds))

    @property
    def sign(self) -> str:
        """`+` for created, `−` for deleted, `→` for moved, `~` for edited or renamed. Empty if nothing changed."""
        kinds = self.kinds
        sign_by_kind = (("created", "+"), ("deleted", "−"), ("moved", "→"))
        return next((sign for kind, sign in sign_by_kind if kind in kinds), "~" if kinds else "")

    @property
    def is_document(self) -> bool:
        """True if this is a page with text, and not a file, group or link."""
        return self.page is not None and self.page.type == "document"

    @property
    def exists_before(self) -> bool:
        return "created" not in self.kinds

    @property
    def exists_after(self) -> bool:
        return "deleted" not in self.kinds

    @property
    def settings(self) -> tuple[AttributeChange, ...]:
        """The changes of settings that fit in one line, such as parent page, title or slug."""
        changes: list[AttributeChange] = []
        for change in self.changes:
            if change.parent is not None:
                changes.append(_attribute_change(*_place_change(change.parent)))
            changes += attribute_changes(change.attributes)
        return tuple(changes)


def _place_change(parent: ParentChange) -> tuple[str, str, str]:
    """Return (name, old value, new value) for a moved page: `place`, and the titles of the old and the new parent."""
    pages = (parent.before, parent.after)
    before_id, after_id = (page.id if page else None for page in pages)
    before, after = (page.title or "Untitled" if page else "the top level" for page in pages)
    if before_id == after_id:
        return "place", before, f"{before}, at another position"
    if before == after:
        before, after = (f"{page.title or 'Untitled'} (/{page.path or ''})" if page else before for page in pages)
    return "place", before, after


def attribute_changes(values: object) -> Iterator[AttributeChange]:
    """Yield the changes in `values` (values before and after by attribute or variable), except of the text. The keys of
    objects are compared one by one, and named after their object, such as `layout outline`."""
    for attribute, sides in values.items() if isinstance(values, dict) else ():
        if not isinstance(sides, dict) or attribute == "document":
            continue
        before, after = sides.get("before"), sides.get("after")
        if isinstance(before, dict) or isinstance(after, dict):
            objects = [value if isinstance(value, dict) else {} for value in (before, after)]
            changed_keys = _changed_attributes({**objects[0], **objects[1]}, *objects)
            yield from attribute_changes({f"{attribute} {key}": changed_keys[key] for key in changed_keys})
        else:
            name = _ATTRIBUTE_NAMES.get(attribute, str(attribute))
            yield _attribute_change(name, _format_value(before), _format_value(after))


def _format_value(value: object) -> str | None:
    if value is None or value == "":
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def changed_pages(changes: Iterable[Change]) -> tuple[ChangedPage, ...]:
    """Return each changed page, file or other item once, with all its changes, in order of the first change."""
    changes_by_key: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        changes_by_key[_key_of(change)].append(change)
    return tuple(
        ChangedPage(key, title_of(group[-1]), tuple(group), next((each.page for each in group if each.page), None))
        for key, group in changes_by_key.items()
    )


def _key_of(change: Change) -> str:
    if change.page is not None:
        return change.page.id
    if change.file is not None:
        return f"file {change.file.id}"
    if isinstance(change.reusable_content, dict):
        return f"reusable {change.reusable_content.get('id', '')}"
    return change.type.partition("_")[0]


def title_of(change: Change) -> str:
    """Return the title or name of the page, file or other item that a change is about."""
    if change.page is not None:
        return change.page.title or "Untitled"
    if change.file is not None:
        return change.file.name
    if isinstance(change.reusable_content, dict):
        return str(change.reusable_content.get("title", "reusable content"))
    return "variables" if change.type == "variables_edited" else change.type.replace("_", " ")
