"""The files of a space in the layout of GitBook's Git Sync: the paths of all files, and the text of a page's file.

An existing file is changed as little as possible. Lines of front matter whose values do not change stay. Keys that
the API does not return, such as `tags`, stay too.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from octavo.api.content import File, Page, ReusableContent, Revision
from octavo.api.folding import fold
from octavo.documents import front_matter, links, page_trees
from octavo.documents.folders.folder import (
    ASSETS,
    EXTERNAL_URL,
    INCLUDES,
    SAME_PATH,
    VARIABLES,
    ContentsEntry,
    Folder,
    Problem,
    as_relative_url,
    is_page_path,
    linked_path,
    rewrite_links,
    why_unsafe,
)
from octavo.documents.folders.table_of_contents import url_of_path
from octavo.documents.yaml_values import write_entry

Json = dict[str, Any]

_API_KEY_NAMES = "title description hidden noIndex noRobotsIndex icon emoji cover coverY layout vars"
API_KEYS = tuple(_API_KEY_NAMES.split())
"""Keys of front matter that the API returns, in the order in which they are written."""
_FLAGS = {"hidden": "hidden", "no_index": "noIndex", "no_robots_index": "noRobotsIndex"}
_TEXT_FIELDS = ("description", "icon", "emoji")
_EDITABLE_KEYS = {"title", *_TEXT_FIELDS, *_FLAGS.values()}
"""Keys of front matter that the API can edit."""
_KEY = re.compile(r"[\w$.-]+|\"[^\"]*\"|'[^']*'")
_LINE_END = re.compile(r"[ \t]*[\r\n]+\s*")
_BOM = "\ufeff"


@dataclass(frozen=True)
class PageFile:
    """The text of a page's file, divided into front matter and body, with line feeds and without byte order mark."""

    text: str

    @cached_property
    def _body_start(self) -> int:
        return front_matter.split_page(self.text)[1]

    @property
    def front_matter_text(self) -> str:
        """The YAML of the front matter, without the `---` lines. Empty if there is none."""
        return front_matter.split_page(self.text)[0]

    @property
    def lines(self) -> list[str]:
        """The lines of the YAML in the front matter. Empty if there is none."""
        text = self.front_matter_text
        return text.rstrip("\n").split("\n") if text.strip() else []

    @property
    def gap(self) -> str:
        """The line feeds between front matter and body. One line feed if there is no front matter."""
        text_after = self.text[self._body_start :]
        return text_after[: len(text_after) - len(text_after.lstrip("\n"))] if self._body_start else "\n"

    @property
    def body(self) -> str:
        """The text after the front matter and the empty lines below it. The whole text if there is no front matter."""
        return self.text[self._body_start :].lstrip("\n") if self._body_start else self.text

    @cached_property
    def metadata(self) -> Json:
        """The front matter by key. Empty if it cannot be read."""
        try:
            return front_matter.parse(self.front_matter_text)
        except front_matter.FrontMatterError:
            return {}

    @property
    def title(self) -> str:
        """The title in the front matter, else the first heading. Empty if there is neither."""
        return single_line(self.metadata.get("title")) or page_trees.first_heading(self.body) or ""

    def fields(self) -> Json:
        """Return the values that the API can edit, except the title, by field name of `content.PageFields`."""
        values: Json = {name: single_line(self.metadata.get(name)) or None for name in _TEXT_FIELDS}
        return values | {name: self.metadata.get(key) is True for name, key in _FLAGS.items()}

    def other_keys(self) -> Json:
        """Return the values of the front matter that the API cannot edit, by key."""
        return {key: value for key, value in self.metadata.items() if key not in _EDITABLE_KEYS}


def normalize(text: str) -> str:
    """Return a text with line feeds as line ends, without byte order mark. A non-empty text ends with one line feed."""
    text = text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return f"{text}\n" if text else ""


def encode_like(text: str, data: bytes) -> bytes:
    """Return a text as bytes, for a file with the current content `data`. Line ends are CRLF if all line ends of `data`
    are CRLF. The text gets a byte order mark if `data` has one."""
    has_bom, crlf = data.startswith(_BOM.encode()), data.count(b"\r\n")
    if crlf and crlf == data.count(b"\n"):
        text = text.replace("\n", "\r\n")
    return f"{_BOM if has_bom else ''}{text}".encode("utf-8", "surrogatepass")


def format_page_file(page: Page, body: str, *, cover: str = "", existing: str = "") -> str:
    """Return the text for a page's file. `existing` is the current text of the file. Its lines of front matter stay if
    their values are still right, or if the API does not return their keys. `cover` is the URL of the cover image."""
    body, before = body.lstrip("\n"), PageFile(existing)
    values = dict(_front_matter_of(page, cover))
    heading = page_trees.first_heading(body)
    if page.title and ("title" in before.metadata or (heading is not None and page.title != heading)):
        values = {"title": page.title, **values}
    lines = _with_values(before, values)
    new_text = with_front_matter(lines, body, before.gap)
    is_same_text = normalize(PageFile(new_text).body).lstrip("\n") == normalize(before.body).lstrip("\n")
    if is_same_text and lines == before.lines:
        return existing
    return new_text if new_text.endswith("\n") or not new_text else f"{new_text}\n"


def merge_front_matter(base: str, local: str, main: str, marker_labels: tuple[str, str]) -> list[str]:
    """Return the lines of front matter, merged by key. Conflict markers have `marker_labels` for `local` and `main`."""
    versions = [_lines_by_key(PageFile(each).lines) for each in (base, local, main)]
    lines: list[str] = []
    for key in dict.fromkeys([*versions[1], *versions[2]]):
        base_lines, own_lines, main_lines = (each.get(key, []) for each in versions)
        if own_lines in (base_lines, main_lines):
            lines += main_lines
        elif main_lines == base_lines:
            lines += own_lines
        else:
            lines += [f"<<<<<<< {marker_labels[0]}", *own_lines, "=======", *main_lines, f">>>>>>> {marker_labels[1]}"]
    return lines


def with_other_keys_of(before: str, after: str) -> str:
    """Return `after`, the text of a page's file, with the front matter keys that the API cannot edit taken from
    `before`, an earlier text of the file."""
    old, new = PageFile(before), PageFile(after)
    if old.other_keys() == new.other_keys():
        return after
    lines_by_key = {key: lines for key, lines in _lines_by_key(new.lines).items() if key not in new.other_keys()}
    lines_by_key |= {key: lines for key, lines in _lines_by_key(old.lines).items() if key in old.other_keys()}
    return with_front_matter([line for lines in lines_by_key.values() for line in lines], new.body, new.gap)


def with_front_matter(lines: Sequence[str], body: str, gap: str) -> str:
    """Return the text of a file. `lines` is the YAML of its front matter, and `gap` the line feeds before `body`.
    Without `lines`, a line feed is put before a `body` that begins like front matter."""
    if lines:
        return "".join(f"{line}\n" for line in ("---", *lines, "---")) + gap + body
    return f"\n{body}" if front_matter.split_page(body)[1] else body


def _front_matter_of(page: Page, cover: str) -> Iterator[tuple[str, Any]]:
    if page.description:
        yield "description", page.description
    for name, key in _FLAGS.items():
        if getattr(page, name):
            yield key, True
    if page.icon:
        yield "icon", page.icon
    if page.emoji:
        yield "emoji", page.emoji
    if cover:
        yield "cover", cover
        position = page.cover.get("yPos") if isinstance(page.cover, dict) else 0
        yield "coverY", position if isinstance(position, int | float) else 0
    if isinstance(page.layout, dict) and (layout := _written_layout(page.layout)):
        yield "layout", layout
    if isinstance(page.variables, dict) and page.variables:
        yield "vars", page.variables


def _written_layout(layout: Json) -> Json:
    defaults = page_trees.DEFAULT_LAYOUT.items()
    api_layout = {name: layout[name] for name, default in defaults if isinstance(layout.get(name), type(default))}
    if all(api_layout[name] == page_trees.DEFAULT_LAYOUT[name] for name in api_layout):
        return {}
    front_matter_layout: Json = {}
    for name, value in api_layout.items():
        if name == "coverSize":
            front_matter_layout.setdefault("cover", {})["size"] = value
        else:
            front_matter_layout[name] = {"visible": value} if isinstance(value, bool) else value
    return front_matter_layout


def read_layout(value: Any) -> Json:
    """Return `value`, the page layout in front matter, in the form of the API. Invalid parts are left out."""
    layout: Json = {}
    for part, fields in value.items() if isinstance(value, dict) else ():
        if isinstance(fields, dict):
            if isinstance(fields.get("visible"), bool):
                layout[part] = fields["visible"]
            if part == "cover" and isinstance(fields.get("size"), str):
                layout["coverSize"] = fields["size"]
        elif isinstance(fields, str | bool):
            layout[part] = fields
    return layout


def _with_values(existing: PageFile, values: Mapping[str, Any]) -> list[str]:
    """Return the front matter lines of `existing` with `values` for all `API_KEYS`. Lines of unchanged values stay."""
    entries = _lines_by_key(existing.lines)
    result: list[tuple[str, list[str]]] = []
    for key, lines in entries.items():
        value, old = values.get(key), existing.metadata.get(key)
        if key not in API_KEYS or _has_same_meaning(key, old, value):
            result.append((key, lines))
        elif value is not None:
            result.append((key, list(write_entry(key, _with_unknown_parts(value, old)))))
    for key in API_KEYS:
        if key in values and key not in entries:
            later_keys = API_KEYS[API_KEYS.index(key) + 1 :]
            index = next((number for number, (each, _) in enumerate(result) if each in later_keys), len(result))
            result.insert(index, (key, list(write_entry(key, values[key]))))
    return [line for _, lines in result for line in lines]


def _lines_by_key(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of front matter by key. The first key also has the comments above it. If there are only
    comments, their key is empty."""
    lines_by_key: dict[str, list[str]] = {}
    key, lines_above = "", list[str]()
    for line in lines:
        key_match = _KEY.match(line)
        if key_match is not None and line[key_match.end() :].lstrip().startswith(":"):
            key = key_match[0].strip("\"'")
            lines_by_key.setdefault(key, []).extend([*lines_above, line])  # A key may be in the front matter twice.
            lines_above = []
        elif key:
            lines_by_key[key].append(line)
        else:
            lines_above.append(line)
    return {"": lines_above, **lines_by_key} if lines_above else lines_by_key


def _has_same_meaning(key: str, old: Any, value: Any) -> bool:
    if key == "layout":
        return bool(
            {**page_trees.DEFAULT_LAYOUT, **read_layout(old)}
            == {**read_layout(old), **page_trees.DEFAULT_LAYOUT, **read_layout(value)}
        )
    if key in _FLAGS.values():
        return (old is True) == (value is True)
    if key == "coverY":
        return cover_position(old) == cover_position(value)
    if value is None:
        return not old
    return bool(old == value or (isinstance(old, str) and isinstance(value, str) and old.split() == value.split()))


def _with_unknown_parts(value: Any, old: Any) -> Any:
    """Return `value` plus the keys that only `old` has, at all levels of mappings."""
    if not isinstance(value, dict) or not isinstance(old, dict):
        return value
    return {
        **{key: _with_unknown_parts(inner, old.get(key)) for key, inner in value.items()},
        **{key: inner for key, inner in old.items() if key not in value},
    }


def cover_position(value: Any) -> float:
    """Return the vertical position of a cover image, `coverY`. 0 if `value` is no finite number."""
    try:
        return float(value) if math.isfinite(float(value)) else 0
    except (TypeError, ValueError):
        return 0


def single_line(value: Any) -> str:
    """Return `value` with a space for each line break. Empty if `value` is not a string."""
    return _LINE_END.sub(" ", value).strip() if isinstance(value, str) else ""


SUMMARY = "SUMMARY.md"
_RESERVED_PATHS = (SUMMARY, VARIABLES.as_posix())
"""Paths that no page or file of a space may have, because Octavo writes these files."""
_APP_URL = "https://app.gitbook.com"
_ALWAYS_REWRITTEN = re.compile(r"/(?:pages|files|s|spaces|o)/|https?:", re.IGNORECASE)
"""Start of an absolute URL or a path with an ID. These are rewritten even in pages that have their Git path."""


@dataclass(frozen=True)
class FolderLayout:
    """The paths that the pages, files and reusable content of a revision have in a folder."""

    revision: Revision
    space: str
    paths: Mapping[str, str]
    """Path in the folder of each page, file and piece of reusable content, by its ID."""
    skipped: tuple[Problem, ...] = ()
    """Pages and files that get no path, with the reason."""

    @classmethod
    def of(
        cls,
        revision: Revision,
        space_id: str,
        fixed_paths: Mapping[str, str] | None = None,
        reserved: Collection[str] = (),
    ) -> FolderLayout:
        """Return a layout for a revision. `fixed_paths` has some paths by ID. No other item gets a `reserved` path."""
        paths: dict[str, str] = {}
        skipped: list[Problem] = []
        taken_paths = {fold(path): path for path in (*_RESERVED_PATHS, *(fixed_paths or {}).values(), *reserved)}
        for item, path, kind, has_name_only in _preferred_paths(revision):
            if fixed_paths and item in fixed_paths:
                paths[item] = fixed_paths[item]
                continue
            if has_name_only or path in reserved:
                path = _free_path(path, taken_paths)
            reason = why_unsafe(path) or (SAME_PATH if fold(path) in taken_paths else "")
            if reason:
                skipped.append(Problem(path, f"Skipped a {kind}: {reason}."))
            else:
                paths[item] = taken_paths[fold(path)] = path
        return cls(revision, space_id, paths, tuple(skipped))

    @classmethod
    def of_opened(cls, revision: Revision, space_id: str, folder: Folder) -> FolderLayout:
        """Return a layout for a revision of the space opened from `folder`. Items that have a file keep its path."""
        ids_by_path: dict[str, str] = {}
        items: tuple[Page | File | ReusableContent, ...] = (
            *revision.walk(), *revision.files, *revision.reusable_contents
        )  # fmt: skip
        for item in items:
            path = item.git.path if item.git is not None else None
            if path and folder.has_file(Path(path)):
                ids_by_path.setdefault(path, item.id)
        return cls.of(revision, space_id, {item_id: path for path, item_id in ids_by_path.items()})

    @cached_property
    def pages(self) -> Mapping[str, Page]:
        """The pages by ID."""
        return {page.id: page for page in self.revision.walk()}

    @cached_property
    def _server_links(self) -> links.SpaceIndex:
        return page_trees.space_index_of(self.revision, self.space)

    @cached_property
    def ids_by_path(self) -> Mapping[str, str]:
        """IDs of pages, files and reusable content by path."""
        return {path: item_id for item_id, path in self.paths.items()}

    def leads_to(self, url: str, page: Page, target_id: str) -> bool:
        """Return whether `url` on a page leads to the page or file with the ID `target_id`."""
        return _target_and_anchor(links.resolve(url, link_base(page), self._server_links))[0] == target_id

    def page_file_text(self, page_id: str, markdown: str, existing: str = "") -> str:
        """Return the text for a page's file. `markdown` is the server's text, `existing` the file's current text."""
        page = self.pages[page_id]
        cover = page.cover.get("ref") if isinstance(page.cover, dict) else None
        cover_url = self.url_of(cover, self.paths[page_id]) if isinstance(cover, dict) else ""
        return format_page_file(page, self.text_in_folder(page_id, markdown), cover=cover_url, existing=existing)

    def text_in_folder(self, page_id: str, markdown: str) -> str:
        """Return `markdown`, the text of a page, with links that work between the files of the folder."""
        page = self.pages[page_id]
        return rewrite_links(markdown, lambda url: self.url_in_folder(url, page))

    def url_in_folder(self, url: str, page: Page) -> str | None:
        """Return the relative URL from the file of `page` to the target of `url`. None to leave `url` unchanged."""
        page_path = self.paths[page.id]
        is_relative = not _ALWAYS_REWRITTEN.match(url)
        if is_relative and page.git is not None and page.git.path == page_path:
            return None
        target, anchor = _target_and_anchor(links.resolve(url, link_base(page), self._server_links))
        if target not in self.paths:
            return None
        path = self.paths[target]
        if is_relative and linked_path(url, page_path) in (path, posixpath.dirname(path) or "."):
            return None
        return relative_url(path, page_path, quote(anchor, safe="-_.~:"))

    def url_of(self, reference: Mapping[str, Any], start: str = "") -> str:
        """Return the path from `start` to the file of a reference, or a URL outside the folder. Empty if unknown."""
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
    def entries(self) -> list[ContentsEntry]:
        """The table of contents of the revision, with the paths of this layout."""
        return list(self._entries(self.revision.pages))

    def _entries(self, pages: Iterable[Page]) -> Iterator[ContentsEntry]:
        for page in pages:
            children = list(self._entries(page.pages))
            label, title = page.link_title or "", page.title or "Untitled"
            if page.type == "document" and page.id in self.paths:
                path = Path(self.paths[page.id])
                yield ContentsEntry("document", title, path, children=children, link_title=label, id=page.id)
            elif page.type == "group":
                yield ContentsEntry("group", title, children=children, slug=page.slug or "", id=page.id)
            elif page.type == "link":
                target_url = self.url_of(page.target) if isinstance(page.target, dict) else ""
                if not EXTERNAL_URL.match(target_url):
                    target_url = url_of_path(*target_url.split("#", 1))
                yield ContentsEntry("link", title, target=target_url or page.href or "", link_title=label, id=page.id)
            else:
                yield from children

    def variables_text(self) -> str:
        """Return the text of the file with the variables of the space. Empty if there are none."""
        values = self.revision.variables
        entries = values.items() if isinstance(values, dict) else ()
        return normalize("\n".join(line for name, value in entries for line in write_entry(name, value)))


def relative_url(path: str, start_path: str, anchor: str = "") -> str:
    """Return the URL that leads from the file `start_path` to the file `path`. `anchor` is already encoded."""
    url = as_relative_url(quote(posixpath.relpath(path, posixpath.dirname(start_path) or "."), safe="/.-_~!$&'*+,;=:@"))
    return f"{url}#{anchor}" if anchor else url


def _target_and_anchor(target: links.Target) -> tuple[str, str]:
    match target:
        case links.PageLink(page_id=page, anchor=anchor):
            return page, anchor or ""
        case links.FileLink(file_id=file):
            return file, ""
        case _:
            return "", ""


def link_base(page: Page) -> str:
    """Return the path from which relative links on a page start, for `links.resolve`."""
    return page_trees.link_base(
        {"git": {"path": page.git.path} if page.git else None, "path": page.path, "pages": page.pages}
    )


def _preferred_paths(revision: Revision) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each item as (ID, preferred path, kind, whether the path comes only from the name of a file)."""
    git_paths = {page.git.path for page in revision.walk() if page.git is not None}
    for page in revision.walk():
        if page.type == "document":
            path = page_path(page)
            is_taken = page.git is None and path in git_paths  # The former home page keeps this path.
            yield page.id, f"{page.slug}.md" if is_taken and not page.path else path, "page", False
    for reusable in revision.reusable_contents:
        name = f"{INCLUDES.as_posix()}/{page_trees.page_slug(reusable.title)}.md"
        git_path = reusable.git.path if reusable.git and reusable.git.path else ""
        yield reusable.id, git_path if git_path.endswith(".md") else name, "piece of reusable content", False
    for file in revision.files:
        git_path = file.git.path if file.git and file.git.path else ""
        yield file.id, git_path or f"{ASSETS.as_posix()}/{file.name}", "file", not git_path


def page_path(page: Page) -> str:
    """Return the path for a page's file: its path in Git, else `guide.md`, or `guide/README.md` with subpages."""
    if page.git is not None and page.git.path and is_page_path(page.git.path):
        return page.git.path
    path = (page.path or "").strip("/")
    if not path or any(subpage.type == "document" for subpage in page.pages):
        return f"{path}/README.md".lstrip("/")
    return f"{path}.md"


def _free_path(path: str, used_paths: Mapping[str, str]) -> str:
    free_path, number = path, 0
    while fold(free_path) in used_paths:
        number += 1
        stem, suffix = posixpath.splitext(path)
        free_path = f"{stem} ({number}){suffix}"
    return free_path
