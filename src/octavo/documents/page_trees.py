"""Functions on page trees of revisions: lists of JSON nodes, in which documents and groups have their children in
`pages`.

No function changes its arguments. Slugs are unique among siblings. A path consists of the slugs from the root to the
page. The first document at the root is the home page. Its path is empty, but the paths of its children begin with its
slug. Groups occur only at the root. Links and computed pages have no children."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from octavo.api.content import Page
from octavo.api.folding import fold
from octavo.documents import links

Json = dict[str, Any]
Pages = list[Json]

MAX_SLUG = 100
MAX_HEADING = 1000
"""Maximum number of characters of a heading that can become a title."""

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
"""Layout of a page that sets none."""
EMPTY_REVISION: Json = {"pages": [], "files": [], "reusableContents": [], "variables": {}}
"""The content of a space before its first revision."""

_HEADING = re.compile(r"(?:[ ]{0,3})#(?!#)[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SLUG_BREAK = re.compile(r"[\W_]+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_PRIVATE_USE = 0xE000
_INLINE = (
    (re.compile(r"<a\b[^>]*>.*?</a>|<[^>\s][^>]*>", re.S), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"(\*\*|__|~~|`)(.+?)\1"), r"\2"),
    (re.compile(r"(?<![\w\\])([*_])(?!\s)(.+?)(?<![\s\\])\1(?!\w)"), r"\2"),
)


_UNHIDE = {_PRIVATE_USE + code: code for code in range(0x21, 0x7F)}


def document_id(page: Json) -> str | None:
    """Return an id that identifies the text of a page or of reusable content. None if the text is empty."""
    if page.get("document"):
        return str(page["document"])
    return page["text"][:20] if page.get("text") else None


def walk(pages: Pages) -> Iterator[Json]:
    """Yield all pages in tree order."""
    stack = list(reversed(pages))
    while stack:
        page = stack.pop()
        yield page
        stack += reversed(page.get("pages", ()))


def find(pages: Pages, page_id: str) -> Json | None:
    """Return the page with an id. None if there is none."""
    return next((page for page in walk(pages) if page["id"] == page_id), None)


def find_by_path(pages: Pages, path: str) -> Json | None:
    """Return the document or group at `path`. The slug of the home page leads to it too. None if there is none."""
    wanted = path.strip("/")
    for page in walk(pages):
        if page.get("path") == wanted:
            return page
    home = home_page(pages)
    return home if home is not None and home["slug"] == wanted else None


def source_path(page: Json) -> str:
    """Return the path to which links on a page are relative: the path of its Git file, or else its path."""
    return str((page.get("git") or {}).get("path") or page.get("path") or "")


def link_base(page: Json) -> str:
    """Return the argument `page_path` of `links.resolve` for a page. It ends with a slash if the page has children."""
    is_folder = bool(page.get("pages")) and not (page.get("git") or {}).get("path")
    return f"{source_path(page)}/" if is_folder else source_path(page)


def link_targets_of(revision: Json) -> links.SpaceIndex:
    """Return the possible link targets in a revision."""
    pages = links.ids_by_path(
        (page["id"], page.get("path"), (page.get("git") or {}).get("path")) for page in walk(revision["pages"])
    )
    files: dict[str, str] = {}
    for file in revision["files"]:
        for name in (file["id"], (file.get("git") or {}).get("path"), file["name"]):
            if name:
                files.setdefault(name, file["id"])
    ids = frozenset(page["id"] for page in walk(revision["pages"]))
    return links.SpaceIndex(pages=pages, page_ids=ids, files=files, space=revision["space"])


def home_page(pages: Pages) -> Json | None:
    """Return the first document at the root. None if there is none."""
    return next((page for page in pages if page["type"] == "document"), None)


def path_to(pages: Pages, page_id: str) -> Pages:
    """Return the pages from the root to the page with an id. Empty if there is no such page."""
    above = parents(pages)
    if page_id not in above:
        return []
    by_id = {page["id"]: page for page in walk(pages)}
    steps = []
    at: str | None = page_id
    while at is not None:
        steps.append(by_id[at])
        at = above[at]
    return steps[::-1]


def parents(pages: Pages) -> dict[str, str | None]:
    """Return the id of the parent of each page, in tree order. None for pages at the root."""
    above: dict[str, str | None] = dict.fromkeys((page["id"] for page in pages), None)
    result: dict[str, str | None] = {}
    for page in walk(pages):
        result[page["id"]] = above[page["id"]]
        above.update(dict.fromkeys((child["id"] for child in page.get("pages", ())), page["id"]))
    return result


def position_of(pages: Pages, page_id: str) -> tuple[str | None, int]:
    """Return the id of the parent of a page (None at the root), and the index of the page among its siblings."""
    above = parents(pages)[page_id]
    siblings = next(page["pages"] for page in walk(pages) if page["id"] == above) if above else pages
    return above, [page["id"] for page in siblings].index(page_id)


def remove_pages(pages: Pages, page_ids: Collection[str]) -> Pages:
    """Return the tree without the pages with these ids and their children."""
    return [
        _with_children(page, lambda children: remove_pages(children, page_ids))
        for page in pages
        if page["id"] not in page_ids
    ]


def replace_page(pages: Pages, page: Json) -> Pages:
    """Return the tree with `page` in place of the page with the same id."""
    return [
        page if each["id"] == page["id"] else _with_children(each, lambda children: replace_page(children, page))
        for each in pages
    ]


def insert_page(pages: Pages, page: Json, parent_id: str | None, index: int | None) -> Pages:
    """Return the tree with `page` inserted below the page `parent_id`, at `index` among its subpages. None stands for
    the top level, and for the last position."""
    if parent_id is None:
        place = len(pages) if index is None else index
        return [*pages[:place], page, *pages[place:]]

    def insert_in(each: Json) -> Json:
        if each["id"] == parent_id:
            return {**each, "pages": insert_page(each.get("pages", []), page, None, index)}
        return _with_children(each, lambda pages: insert_page(pages, page, parent_id, index))

    return [insert_in(each) for each in pages]


def with_paths(pages: Pages) -> Pages:
    """Return the tree with slugs made unique among siblings, and with new paths."""
    home = home_page(pages)
    return _with_paths(pages, "", home["id"] if home else None)


def _with_paths(pages: Pages, above: str, home: str | None) -> Pages:
    taken: set[str] = set()
    result = []
    for page in pages:
        if page["type"] not in ("document", "group"):
            result.append(page)
            continue
        slug = free_slug(page.get("slug") or page_slug(page["title"]), taken)
        taken.add(slug)
        path = f"{above}{slug}"
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
    """Return the slug for a title: letters and digits in lower case, joined by hyphens, at most 100 characters."""
    words = _SLUG_BREAK.sub("-", unicodedata.normalize("NFKC", title.lower()))
    return words[:MAX_SLUG].strip("-") or "page"


def leading_heading(markdown: str) -> str | None:
    """Return the text of the first non-blank line if it is a heading of level 1. None otherwise."""
    line = markdown.lstrip("\ufeff \t\r\n").split("\n", 1)[0].rstrip()
    found = _HEADING.fullmatch(line[:MAX_HEADING])
    return (inline_text(found[1]) or None) if found else None


def first_heading(markdown: str) -> str | None:
    """Return the text of the first heading of level 1 outside of code blocks. None if there is none."""
    fence = ""
    before = ""
    for whole in markdown.split("\n"):
        line = whole[:MAX_HEADING]
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" \t`~"):
                fence = ""
        elif not fence:
            found = _HEADING.fullmatch(line)
            if not found and _UNDERLINE.fullmatch(line) and before.strip():
                return inline_text(before)
            if found and (words := inline_text(found[1])):
                return words
        before = line
    return None


def change_leading_heading(markdown: str, before: str, title: str) -> str:
    """Return `markdown` with its leading heading changed to `title`, if that heading was `before`."""
    if leading_heading(markdown) != before:
        return markdown
    blank = len(markdown) - len(markdown.lstrip("\ufeff \t\r\n"))
    _, line_feed, stack = markdown[blank:].partition("\n")
    return f"{markdown[:blank]}# {escape(title)}{line_feed}{stack}"


def inline_text(inline: str) -> str:
    """Return the text of a line of Markdown without inline markup, anchors and escapes."""
    # Replace escaped signs by private-use characters, so that they are not read as markup.
    inline = _ESCAPE.sub(lambda found: chr(_PRIVATE_USE + ord(found[1])), inline)
    for pattern, replacement in _INLINE:
        inline = pattern.sub(replacement, inline)
    return " ".join(html.unescape(inline).translate(_UNHIDE).split())


def escape(words: str) -> str:
    """Return text as one line of escaped Markdown."""
    return re.sub(r"([\\`*_\[\]<>#&~!])", r"\\\1", " ".join(words.split()))


def _with_children(page: Json, change: Callable[[Pages], Pages]) -> Json:
    return {**page, "pages": change(page["pages"])} if page.get("pages") else page


@dataclass(frozen=True)
class DuplicatePage:
    """A page that has the same title or slug as a sibling, and did not have it before."""

    id: str
    titles: tuple[str, str]
    """The titles of the sibling and of this page."""
    paths: tuple[str, str]
    """The paths of the sibling and of this page."""
    is_other_in_main: bool


def find_duplicates(main: Iterable[Page], after: Iterable[Page] | Pages) -> list[DuplicatePage]:
    """Return the pages of `after` that have the title or slug of a sibling. Pairs that already exist in `main` are left
    out."""
    new_nodes, before = _nodes(after), _nodes(main)
    old_names = {page["id"]: (page["title"], _wanted_slug(page)) for page in walk(before)}
    parents_before = parents(before)
    paths = {page["id"]: page.get("path", "") for page in walk(with_paths(new_nodes))}
    found = []
    for siblings in [new_nodes, *(page.get("pages", []) for page in walk(new_nodes))]:
        named = [page for page in siblings if page["type"] in ("document", "group")]
        for number, page in enumerate(named):
            other = next((each for each in named[:number] if _are_duplicates(each, page)), None)
            if other is None:
                continue
            pair = (other["id"], page["id"])
            is_old = all(old_names.get(each["id"]) == (each["title"], _wanted_slug(each)) for each in (other, page))
            if not is_old or parents_before[pair[0]] != parents_before[pair[1]]:
                titles, at = (other["title"], page["title"]), (f"/{paths[pair[0]]}", f"/{paths[pair[1]]}")
                found.append(DuplicatePage(page["id"], titles, at, other["id"] in old_names))
    return found


def _wanted_slug(page: Json) -> str:
    return str(page.get("slug") or page_slug(page["title"]))


def _are_duplicates(one: Json, other: Json) -> bool:
    return _wanted_slug(one) == _wanted_slug(other) or fold(one["title"]).strip() == fold(other["title"]).strip()


def _nodes(pages: Iterable[Page] | Pages) -> Pages:
    """Return a page tree as JSON nodes. A page that the server repeats is included once."""
    seen: set[str] = set()

    def to_nodes(siblings: Iterable[Page | Json]) -> Pages:
        found = []
        for page in siblings:
            node = page if isinstance(page, dict) else {**vars(page), "title": page.title or ""}
            if node["id"] not in seen:
                seen.add(node["id"])
                kept = {name: node[name] for name in ("id", "type", "title", "slug") if node.get(name) is not None}
                found.append({**kept, "pages": to_nodes(node.get("pages") or ())})
        return found

    return to_nodes(pages)
