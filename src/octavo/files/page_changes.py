"""The changes that a file makes to a page: its text, title and other fields, merged with what the page has by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from octavo.api.content import Page
from octavo.api.safety import safe_line
from octavo.documents import page_trees
from octavo.documents.folders.folder import slug_source
from octavo.documents.folders.layout import FolderLayout
from octavo.documents.folders.page_files import PageFile, normalize
from octavo.documents.link_rewriting import change_outside_code, link_urls, rewrite_links
from octavo.documents.merging import page_merge

FIELDS = ("description", "icon", "emoji", "hidden", "no_index", "no_robots_index")
_TITLE = "title"


@dataclass(frozen=True)
class FileVersion:
    """A version of the file of a page."""

    path: str
    text: str
    title: str
    """The title of the page, from the file or the table of contents."""


@dataclass
class PageChange:
    """The changes of one page, in the form that an edit of content needs."""

    fields: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    """The new Markdown. None if the text does not change."""
    blocked: list[str] = field(default_factory=list)
    """What cannot be merged with changes of others, in words."""
    unsupported: list[str] = field(default_factory=list)
    """What the API does not take, in words."""


@dataclass
class FolderLinkTargets:
    """The targets of links between files in a folder, and how the server names them."""

    layout: FolderLayout
    """The layout of the change request in the folder."""
    new_pages: Mapping[str, str] = field(default_factory=dict)
    """IDs of new pages that the server has by now, by path."""
    new_files: Mapping[str, str] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Paths of new pages and files to which a text links, and that the server does not have yet."""
    planned: frozenset[str] = frozenset()
    """Paths of all new pages and files."""

    def server_text(self, path: str, markdown: str, page: Page | None, server_markdown: str = "") -> str:
        """Return the text of a file with its links as the server has them: as in `server_markdown` where they are there,
        relative where they lead to the same page, else by ID."""
        known: dict[str, str] = {}
        if page is not None:
            for url in link_urls(server_markdown):
                known.setdefault(self.layout.url_in_folder(url, page) or url, url)
        return change_outside_code(
            markdown, lambda part: rewrite_links(part, lambda url: known.get(url) or self._server_url(url, path, page))
        )

    def _server_url(self, url: str, path: str, page: Page | None) -> str | None:
        if ":" in url.partition("/")[0] or url.startswith(("/", "#")):
            return None
        name, _, anchor = url.partition("#")
        target = joined_path(path, unquote(name))
        if target in self.planned:
            if target in self.new_files:
                return f"/files/{self.new_files[target]}"
            if target in self.new_pages:
                return f"/pages/{self.new_pages[target]}{f'#{anchor}' if anchor else ''}"
            self.pending.add(target)
            return None
        found = self.layout.ids_by_path.get(target)
        if found is None or (page is not None and self.layout.leads_to(url, page, found)):
            return None
        kind = "pages" if found in self.layout.pages else "files"
        return f"/{kind}/{found}{f'#{anchor}' if anchor else ''}"


def joined_path(path: str, relative: str) -> str:
    """Return the path to which a relative link in the file `path` leads."""
    steps: list[str] = []
    for step in (*PurePosixPath(path).parent.parts, *relative.split("/")):
        if step == ".." and steps:
            steps.pop()
        elif step not in ("", ".", ".."):
            steps.append(step)
    return "/".join(steps)


def page_change(
    before: FileVersion, mine: FileVersion, page: Page, server_text: str | None, targets: FolderLinkTargets
) -> PageChange:
    """Return the changes from `before` to `mine` that `page` does not have yet. `server_text` is its Markdown now, None if
    the text of the file has not changed."""
    change = PageChange()
    old, new = PageFile(before.text), PageFile(mine.text)
    if server_text is not None:
        _merge_text(change, before, mine, page, server_text, targets)
    server = {name: getattr(page, name) for name in FIELDS}
    old_fields, new_fields = old.fields(), new.fields()
    for name in FIELDS:
        _merge_field(change, name, old_fields[name], new_fields[name], server[name])
    _merge_field(change, _TITLE, before.title, mine.title, page.title)
    _keep_title(change, page, mine)
    slugs = [page_trees.page_slug(slug_source(PurePosixPath(each.path))) for each in (before, mine)]
    if slugs[0] != slugs[1] and page.slug != slugs[1]:
        change.fields["slug"] = slugs[1]
    was, now = old.other_keys(), new.other_keys()
    change.unsupported += [key for key in {**was, **now} if was.get(key) != now.get(key)]
    return change


def has_text_change(before: FileVersion, mine: FileVersion) -> bool:
    """Return whether the Markdown of two versions differs, apart from their front matter."""
    return normalize(PageFile(before.text).body) != normalize(PageFile(mine.text).body)


def _merge_text(
    change: PageChange, before: FileVersion, mine: FileVersion, page: Page, server: str, targets: FolderLinkTargets
) -> None:
    old, new = (
        normalize(targets.server_text(each.path, PageFile(each.text).body, page, server)) for each in (before, mine)
    )
    now = normalize(server)
    if new in (now, old):
        return
    text = new
    if now != old:
        merged = page_merge.merge(old, now, new)
        text = merged.text()
        if merged.conflicts:
            change.blocked.append("main changed the same words")
            return
    if text != now:
        change.text = text if not server or server.endswith("\n") else text.rstrip("\n")


def _merge_field(change: PageChange, name: str, before: Any, mine: Any, server: Any) -> None:
    values = [_plain_value(value) for value in (before, mine, server)]
    if values[1] in (values[0], values[2]):
        return
    if values[2] != values[0]:
        change.blocked.append(f"main changed the {name.replace('_', ' ')} too")
    elif mine is not None or name not in (_TITLE, "hidden", "no_index", "no_robots_index"):
        change.fields[name] = mine


def _plain_value(value: Any) -> Any:
    """Return a value as models have it."""
    return " ".join(safe_line(value).split()) if isinstance(value, str) else value or None


def _keep_title(change: PageChange, page: Page, mine: FileVersion) -> None:
    """Send the title along if a new text would give the page another one."""
    if change.text is None or _TITLE in change.fields:
        return
    heading = page_trees.leading_heading(change.text)
    if heading is not None and heading != page.title:
        change.fields[_TITLE] = page.title if _plain_value(mine.title) != _plain_value(heading) else mine.title
