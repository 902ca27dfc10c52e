"""Page trees as revisions hold them: lists of JSON nodes, of which documents and groups hold `pages` below them.

Nothing here changes a tree it is given. Slugs are unique among siblings; a path is the slugs from the root down.
The first document at the root is the home page: its path is empty, and its slug still begins the paths below it.
A group stands at the root, links and computed pages have nothing below them.
"""

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
"""What comes after this many characters of a heading is no part of a title."""

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


def walk(pages: Pages) -> Iterator[Json]:
    """All pages, in the order of the tree."""
    rest = list(reversed(pages))
    while rest:
        page = rest.pop()
        yield page
        rest += reversed(page.get("pages", ()))


def find(pages: Pages, page_id: str) -> Json | None:
    """The page called `page_id`."""
    return next((page for page in walk(pages) if page["id"] == page_id), None)


def find_by_path(pages: Pages, path: str) -> Json | None:
    """The document or group at `path`. The slug of the home page leads to it too."""
    wanted = path.strip("/")
    for page in walk(pages):
        if page.get("path") == wanted:
            return page
    home = home_page(pages)
    return home if home is not None and home["slug"] == wanted else None


def source_path(page: Json) -> str:
    """The path that the links of a page start from: that of its file, where it was written in one."""
    return str((page.get("git") or {}).get("path") or page.get("path") or "")


def link_base(page: Json) -> str:
    """Return where relative links of a page start, as `links.resolve` takes it: with a slash where pages lie below it."""
    is_folder = bool(page.get("pages")) and not (page.get("git") or {}).get("path")
    return f"{source_path(page)}/" if is_folder else source_path(page)


def link_targets_of(revision: Json) -> links.LinkTargets:
    """What the links of a revision may lead to."""
    pages = links.ids_by_path(
        (page["id"], page.get("path"), (page.get("git") or {}).get("path")) for page in walk(revision["pages"])
    )
    files: dict[str, str] = {}
    for file in revision["files"]:
        for name in (file["id"], (file.get("git") or {}).get("path"), file["name"]):
            if name:
                files.setdefault(name, file["id"])
    ids = frozenset(page["id"] for page in walk(revision["pages"]))
    return links.LinkTargets(pages=pages, page_ids=ids, files=files, space=revision["space"])


def home_page(pages: Pages) -> Json | None:
    """The first document at the root."""
    return next((page for page in pages if page["type"] == "document"), None)


def path_to(pages: Pages, page_id: str) -> Pages:
    """The page called `page_id` with the pages above it, the root first. Empty if it is not here."""
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
    """The id of the page above each page, None at the root. In the order of the tree."""
    above: dict[str, str | None] = dict.fromkeys((page["id"] for page in pages), None)
    result: dict[str, str | None] = {}
    for page in walk(pages):
        result[page["id"]] = above[page["id"]]
        above.update(dict.fromkeys((child["id"] for child in page.get("pages", ())), page["id"]))
    return result


def position_of(pages: Pages, page_id: str) -> tuple[str | None, int]:
    """The id of the page above, None at the root, and the place among the pages there."""
    above = parents(pages)[page_id]
    siblings = next(page["pages"] for page in walk(pages) if page["id"] == above) if above else pages
    return above, [page["id"] for page in siblings].index(page_id)


def remove_pages(pages: Pages, page_ids: Collection[str]) -> Pages:
    """The tree without these pages and those below them."""
    return [
        _with_children(page, lambda below: remove_pages(below, page_ids))
        for page in pages
        if page["id"] not in page_ids
    ]


def replace_page(pages: Pages, page: Json) -> Pages:
    """The tree with `page` in place of the one with its id."""
    return [
        page if each["id"] == page["id"] else _with_children(each, lambda below: replace_page(below, page))
        for each in pages
    ]


def insert_page(pages: Pages, page: Json, into: str | None, at: int | None) -> Pages:
    """The tree with `page` added below `into` (None: the root), as the `at`-th page there (None: the last)."""
    if into is None:
        place = len(pages) if at is None else at
        return [*pages[:place], page, *pages[place:]]

    def below(each: Json) -> Json:
        if each["id"] == into:
            return {**each, "pages": insert_page(each.get("pages", []), page, None, at)}
        return _with_children(each, lambda pages: insert_page(pages, page, into, at))

    return [below(each) for each in pages]


def with_paths(pages: Pages) -> Pages:
    """The tree with the slugs made unique among siblings and the paths that follow from them."""
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
        below = _with_paths(page.get("pages", []), f"{path}/", None)
        result.append({**page, "slug": slug, "path": "" if page["id"] == home else path, "pages": below})
    return result


def free_slug(slug: str, taken: set[str]) -> str:
    if slug not in taken:
        return slug
    number = 2
    while (numbered := f"{slug[: MAX_SLUG - 5]}-{number}") in taken:
        number += 1
    return numbered


def page_slug(title: str) -> str:
    """`title` as one step of a path: its letters and digits in small, joined by hyphens, at most 100 characters."""
    words = _SLUG_BREAK.sub("-", unicodedata.normalize("NFKC", title.lower()))
    return words[:MAX_SLUG].strip("-") or "page"


def leading_heading(markdown: str) -> str | None:
    """The words of the first line that is not blank, when it is a heading of level 1."""
    line = markdown.lstrip("\ufeff \t\r\n").split("\n", 1)[0].rstrip()
    found = _HEADING.fullmatch(line[:MAX_HEADING])
    return (inline_text(found[1]) or None) if found else None


def first_heading(markdown: str) -> str | None:
    """The words of the first heading of level 1 that is not in a code block."""
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
    """`markdown` with its leading heading changed to `title`, if it was `before`."""
    if leading_heading(markdown) != before:
        return markdown
    blank = len(markdown) - len(markdown.lstrip("\ufeff \t\r\n"))
    _, line_feed, rest = markdown[blank:].partition("\n")
    return f"{markdown[:blank]}# {escape(title)}{line_feed}{rest}"


def inline_text(inline: str) -> str:
    """The words of one line of markdown: without marks, anchors and escapes."""
    # What is escaped is hidden among private characters while marks are looked for.
    inline = _ESCAPE.sub(lambda found: chr(_PRIVATE_USE + ord(found[1])), inline)
    for pattern, replacement in _INLINE:
        inline = pattern.sub(replacement, inline)
    return " ".join(html.unescape(inline).translate(_UNHIDE).split())


def escape(words: str) -> str:
    """Words as one line of markdown that says just them."""
    return re.sub(r"([\\`*_\[\]<>#&~!])", r"\\\1", " ".join(words.split()))


def _with_children(page: Json, change: Callable[[Pages], Pages]) -> Json:
    return {**page, "pages": change(page["pages"])} if page.get("pages") else page


@dataclass(frozen=True)
class DuplicatePage:
    """A page beside another of the same title or address, which it was not beside before."""

    id: str
    titles: tuple[str, str]
    """The titles of the other page and of this one."""
    paths: tuple[str, str]
    """The paths that both get."""
    is_other_in_main: bool


def find_duplicates(main: Iterable[Page], after: Iterable[Page] | Pages) -> list[DuplicatePage]:
    """Return the pages of `after` that are beside others of the same name, and are not in `main`."""
    held, before = _nodes(after), _nodes(main)
    stood = {page["id"]: (page["title"], _wanted_slug(page)) for page in walk(before)}
    parents_before = parents(before)
    paths = {page["id"]: page.get("path", "") for page in walk(with_paths(held))}
    found = []
    for siblings in [held, *(page.get("pages", []) for page in walk(held))]:
        named = [page for page in siblings if page["type"] in ("document", "group")]
        for number, page in enumerate(named):
            other = next((each for each in named[:number] if _are_duplicates(each, page)), None)
            if other is None:
                continue
            pair = (other["id"], page["id"])
            is_old = all(stood.get(each["id"]) == (each["title"], _wanted_slug(each)) for each in (other, page))
            if not is_old or parents_before[pair[0]] != parents_before[pair[1]]:
                titles, at = (other["title"], page["title"]), (f"/{paths[pair[0]]}", f"/{paths[pair[1]]}")
                found.append(DuplicatePage(page["id"], titles, at, other["id"] in stood))
    return found


def _wanted_slug(page: Json) -> str:
    return str(page.get("slug") or page_slug(page["title"]))


def _are_duplicates(one: Json, other: Json) -> bool:
    return _wanted_slug(one) == _wanted_slug(other) or fold(one["title"]).strip() == fold(other["title"]).strip()


def _nodes(pages: Iterable[Page] | Pages) -> Pages:
    """Return a page tree as nodes, each page once, whatever the server says."""
    seen: set[str] = set()

    def below(siblings: Iterable[Page | Json]) -> Pages:
        found = []
        for page in siblings:
            node = page if isinstance(page, dict) else {**vars(page), "title": page.title or ""}
            if node["id"] not in seen:
                seen.add(node["id"])
                kept = {name: node[name] for name in ("id", "type", "title", "slug") if node.get(name) is not None}
                found.append({**kept, "pages": below(node.get("pages") or ())})
        return found

    return below(pages)
