"""The files of a space: their paths and texts in the layout of GitBook's Git Sync."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from octavo.api.content import Page, Revision
from octavo.api.folding import fold
from octavo.documents import links, page_trees
from octavo.documents.folders.folder import ASSETS, INCLUDES, TAKEN, VARIABLES, Entry, Problem, why_unsafe
from octavo.documents.folders.page_files import normalize, write_page
from octavo.documents.folders.table_of_contents import link_path, write_summary
from octavo.documents.link_rewriting import change_outside_code, rewrite_links
from octavo.documents.yaml_values import write_entry

SUMMARY = "SUMMARY.md"
PAGE_SUFFIXES = (".md", ".markdown", ".mdx")
_OWN_FILES = (SUMMARY, VARIABLES.as_posix())
"""Files that no page or file of a space may replace."""
_APP_URL = "https://app.gitbook.com"
_ALWAYS_REWRITTEN = re.compile(r"/(?:pages|files|s|spaces|o)/|https?:", re.IGNORECASE)
"""Start of URLs that do not work in a folder. They are rewritten even if the path of the page stays the same."""


@dataclass(frozen=True)
class FolderLayout:
    """The paths of all pages, files and reusable content of a revision in a folder. The pages have no text yet."""

    revision: Revision
    space: str
    paths: Mapping[str, str]
    """Paths by ID."""
    skipped: tuple[Problem, ...] = ()
    """Pages and files that have no path, with the reason."""

    @classmethod
    def of(
        cls,
        revision: Revision,
        space: str,
        known: Mapping[str, str] | None = None,
        reserved: Collection[str] = (),
    ) -> FolderLayout:
        """Return the layout of a revision of `space`.

        `known` maps IDs to paths that do not change. `reserved` has the paths of other files in the folder: a page or
        file that would get such a path gets a free path.
        """
        paths: dict[str, str] = {}
        skipped: list[Problem] = []
        taken = {fold(path): path for path in (*_OWN_FILES, *(known or {}).values(), *reserved)}
        for item, path, what, has_name_only in _wanted_paths(revision):
            if known and item in known:
                paths[item] = known[item]
                continue
            if (what == "file" and has_name_only) or path in reserved:
                path = _free_path(path, taken)
            reason = why_unsafe(path) or (TAKEN if fold(path) in taken else "")
            if reason:
                skipped.append(Problem(path, f"Skipped a {what}: {reason}."))
            else:
                paths[item] = taken[fold(path)] = path
        return cls(revision, space, paths, tuple(skipped))

    @cached_property
    def pages(self) -> Mapping[str, Page]:
        """The pages by ID."""
        return {page.id: page for page in self.revision.walk()}

    @cached_property
    def _server_links(self) -> links.SpaceIndex:
        """Targets of links as the server writes them."""
        pages = links.ids_by_path(
            (page.id, page.path, page.git.path if page.git else None) for page in self.revision.walk()
        )
        files: dict[str, str] = {}
        for file in self.revision.files:
            for name in (file.id, file.git.path if file.git else None, file.name):
                if name:
                    files.setdefault(name, file.id)
        return links.SpaceIndex(pages, frozenset(self.pages), files, self.space)

    @cached_property
    def _folder_links(self) -> links.SpaceIndex:
        """Targets of links between files in the folder."""
        pages = links.ids_by_path((page, None, self.paths[page]) for page in self.pages if page in self.paths)
        files = {self.paths[file.id]: file.id for file in self.revision.files if file.id in self.paths}
        return links.SpaceIndex(pages, files=files)

    @cached_property
    def ids_by_path(self) -> Mapping[str, str]:
        """IDs of pages, files and reusable content by path."""
        return {path: name for name, path in self.paths.items()}

    def leads_to(self, url: str, page: Page, target: str) -> bool:
        """Return whether `url`, a link on a page in the form of the server, leads to the page or file
        `target`."""
        return _target_id(links.resolve(url, link_base(page), self._server_links))[0] == target

    def page_file(self, page_id: str, markdown: str, existing: str = "") -> str:
        """Return the text of the file of a page. `markdown` is the text on the server, `existing` the current
        file."""
        page = self.pages[page_id]
        cover = page.cover.get("ref") if isinstance(page.cover, dict) else None
        address = self.url_of(cover, self.paths[page_id]) if isinstance(cover, dict) else ""
        return write_page(page, self.text_in_folder(page_id, markdown), cover=address, existing=existing)

    def text_in_folder(self, page_id: str, markdown: str) -> str:
        """Return `markdown`, the text of a page, with its links in the form for files in the folder."""
        page = self.pages[page_id]
        return change_outside_code(
            markdown, lambda part: rewrite_links(part, lambda url: self.url_in_folder(url, page))
        )

    def url_in_folder(self, url: str, page: Page) -> str | None:
        """Return the URL in the folder for `url`, a link on a page. None if the link does not change."""
        here = self.paths[page.id]
        is_relative = not _ALWAYS_REWRITTEN.match(url)
        if is_relative and page.git is not None and page.git.path == here:
            return None
        target, anchor = _target_id(links.resolve(url, link_base(page), self._server_links))
        if target not in self.paths:
            return None
        if is_relative and _target_id(links.resolve(url, here, self._folder_links)) == (target, anchor):
            return None
        return self._relative_url(target, here, anchor)

    def _relative_url(self, target: str, start: str, anchor: str = "") -> str:
        path = posixpath.relpath(self.paths[target], posixpath.dirname(start) or ".")
        return quote(path, safe="/.-_~!$&'*+,;=:@") + (f"#{quote(anchor, safe='-_.~')}" if anchor else "")

    def url_of(self, reference: Mapping[str, Any], start: str = "") -> str:
        """Return the URL that front matter and link pages use for a reference: a path relative to the folder of
        `start`, or a URL. Empty if the reference has no target."""
        names = {name: value for name, value in reference.items() if isinstance(value, str)}
        target, anchor = names.get("page") or names.get("file") or "", names.get("anchor", "")
        if target in self.paths and names.get("space", self.space) == self.space:
            path = posixpath.relpath(self.paths[target], posixpath.dirname(start) or ".")
            return f"{path}#{anchor}" if anchor else path
        if "url" in names:
            return names["url"]
        if "space" in names:
            return "/".join(filter(None, (f"{_APP_URL}/s", names["space"], names.get("page", ""))))
        return ""

    @cached_property
    def entries(self) -> list[Entry]:
        """The table of contents."""
        return list(self._entries(self.revision.pages))

    def _entries(self, pages: Iterable[Page]) -> Iterator[Entry]:
        for page in pages:
            children = list(self._entries(page.pages))
            short, title = page.link_title or "", page.title or "Untitled"
            if page.type == "document" and page.id in self.paths:
                path = Path(self.paths[page.id])
                yield Entry("document", title, path, children=children, link_title=short, id=page.id)
            elif page.type == "group":
                yield Entry("group", title, children=children, slug=page.slug or "", id=page.id)
            elif page.type == "link":
                address = self.url_of(page.target) if isinstance(page.target, dict) else ""
                path_or_url = link_path(*address.split("#", 1)) if ":" not in address else address
                yield Entry("link", title, address=path_or_url or page.href or "", link_title=short, id=page.id)
            else:
                yield from children

    def summary(self) -> str:
        """Return the text of `SUMMARY.md`."""
        return write_summary(self.entries)

    def variables(self) -> str:
        """Return the text of the file with the variables of the space. Empty if there are none."""
        values = self.revision.variables
        entries = values.items() if isinstance(values, dict) else ()
        return normalize("\n".join(line for name, value in entries for line in write_entry(name, value)))


def _target_id(target: links.Target) -> tuple[str, str]:
    """Return the ID of the page or file that a link leads to, and its anchor. Empty for other targets."""
    match target:
        case links.PageLink(page=page, anchor=anchor):
            return page, anchor or ""
        case links.FileLink(file=file):
            return file, ""
        case _:
            return "", ""


def link_base(page: Page) -> str:
    """Return where the relative links of a page start, for `links.resolve`."""
    return page_trees.link_base(
        {"git": {"path": page.git.path} if page.git else None, "path": page.path, "pages": page.pages}
    )


def _wanted_paths(revision: Revision) -> Iterator[tuple[str, str, str, bool]]:
    """Yield ID, path and kind of each page, file and piece of reusable content, and whether the path is made from its
    name."""
    for page in revision.walk():
        if page.type == "document":
            yield page.id, page_path(page), "page", False
    for shared in revision.reusable_contents:
        name = f"{INCLUDES.as_posix()}/{page_trees.page_slug(shared.title)}.md"
        own = shared.git.path if shared.git and shared.git.path else ""
        yield shared.id, own if own.endswith(".md") else name, "piece of reusable content", False
    for file in revision.files:
        own = file.git.path if file.git and file.git.path else ""
        yield file.id, own or f"{ASSETS.as_posix()}/{file.name}", "file", not own


def page_path(page: Page) -> str:
    """Return the path of the file of a page: its path in the Git repository, else its path in the space. A page with
    subpages is the README of a folder."""
    if page.git is not None and page.git.path and page.git.path.endswith(PAGE_SUFFIXES):
        return page.git.path
    path = (page.path or "").strip("/")
    if not path or any(below.type == "document" for below in page.pages):
        return f"{path}/README.md".lstrip("/")
    return f"{path}.md"


def _free_path(path: str, taken: Mapping[str, str]) -> str:
    """Return `path`, with a number before its suffix if another file has it."""
    free, number = path, 0
    while fold(free) in taken:
        number += 1
        stem, suffix = posixpath.splitext(path)
        free = f"{stem} ({number}){suffix}"
    return free
