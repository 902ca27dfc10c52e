"""Loads a folder of Markdown files as a space. Later changes in the folder become new revisions of the space.

The content of the last load is stored as the base of the next load, which is a three-way merge. Text that changed in
the folder and in the space becomes a conflict, with `>>>>>>> folder` after the text of the folder. A page keeps its ID,
comments and change requests if its file keeps its path, its text or its title.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from octavo.api.content import Revision
from octavo.api.safety import safe_address
from octavo.documents import front_matter, page_trees
from octavo.documents.folders.folder import (
    ASSETS,
    EXTERNAL_URL,
    VARIABLES,
    ContentsEntry,
    Folder,
    Problem,
    included_files,
    link_urls,
    readable_name,
    readable_path,
    slug_source,
    title_from_name,
    visible_files_in,
    walk_entries,
)
from octavo.documents.folders.layout import FolderLayout, cover_position, normalize, read_layout, single_line
from octavo.documents.folders.table_of_contents import read_folder
from octavo.documents.merging import revision_merge
from octavo.documents.page_trees import EMPTY_REVISION, Pages, revision_differences
from octavo.server.handlers import spaces
from octavo.server.handlers.spaces import (
    add_edit_revision,
    add_revision,
    get_current,
    page_text,
    set_current,
    with_stored_text,
)
from octavo.server.rest import RequestContext
from octavo.server.store import Json, image_size

FOLDER_SIDE = "folder"
"""Label of the folder's text in conflict markers."""

_TEXT_FIELDS = ("description", "icon", "emoji")
_BOOLEAN_FIELDS = ("hidden", "noIndex", "noRobotsIndex")


@dataclass(frozen=True)
class LoadedFolder:
    """Result of loading a folder: its space, and the current main revision of the space."""

    space_id: str
    revision_id: str
    has_changed: bool = False
    """True if the load created this revision. False if main already had all changes of the folder."""
    problems: tuple[Problem, ...] = ()
    """Problems with files that could not be loaded completely, for the user."""


def load(
    context: RequestContext,
    folder: Path,
    *,
    organization_id: str,
    author_id: str,
    space_id: str | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> LoadedFolder:
    """Load a folder of Markdown files as the space `space_id`. If it is None, use the space of the last load, else a
    new space. Raises OSError if the folder cannot be opened.

    `on_progress` gets the number of pages that were read, and of all pages. With `on_progress`, the pages are not
    indexed: call `page_texts.finish_reindexing` later.
    """
    context = context.for_user(author_id)
    folder_read = read_folder(folder)
    space = _find_space(context, folder_read, space_id)
    last_load = _last_load(context, space)
    old_content = last_load or {**EMPTY_REVISION, "keys": {}}
    # The first load is fast only in one transaction. Later loads must not block writes.
    opened = (
        _OpenedSpace.of(get_current(context, space["id"]), folder_read) if space is not None and last_load else None
    )
    with context.store.transaction() if last_load is None else nullcontext():
        content = _FolderReader(context, folder_read, old_content, opened, on_progress).convert()
    with context.store.transaction():
        if _last_load(context, _find_space(context, folder_read, space_id)) != last_load:
            # Another process has loaded the folder meanwhile.
            return load(
                context,
                folder,
                organization_id=organization_id,
                author_id=author_id,
                space_id=space_id,
                on_progress=on_progress,
            )
        if space is None:
            name = (readable_name(folder_read.top.name) or "Untitled")[: spaces.TITLE_LIMIT]
            space = spaces.create_space(context, organization_id, title=name)
        context.store.set_setting(_space_setting_name(folder_read), space["id"])
        merge_base = opened.base_of_merge(context, old_content, content) if opened is not None else old_content
        new_revision = _merge_changes(
            context, space, merge_base, content, was_loaded=last_load is not None, index_later=on_progress is not None
        )
        context.store.put(f"/spaces/{space['id']}/folder", {"id": "folder", "root": folder_read.root_path, **content})
    revision = new_revision or get_current(context, space["id"])
    return LoadedFolder(space["id"], revision["id"], new_revision is not None, tuple(folder_read.problems))


def read_content(context: RequestContext, folder: Path) -> Json:
    """Return the content of a folder in the format of `_FolderReader.convert`. Saves no space. Raises OSError."""
    return _FolderReader(context, read_folder(folder), {**EMPTY_REVISION, "keys": {}}).convert()


def loaded_space_id(context: RequestContext, folder: Path) -> str | None:
    """Return the space ID of a folder. None if the folder was never loaded, or the space is deleted. Raises OSError."""
    space = _find_space(context, read_folder(folder), None)
    return str(space["id"]) if space is not None else None


def _space_setting_name(folder: Folder) -> str:
    return "folder:" + hashlib.sha256(os.fsencode(folder.top)).hexdigest()


def _find_space(context: RequestContext, folder: Folder, space_id: str | None) -> Json | None:
    if space_id is not None:
        return context.store.get(f"/spaces/{space_id}")
    saved_id = context.store.setting(_space_setting_name(folder))
    space = context.store.find(f"/spaces/{saved_id}") if saved_id else None
    return None if space is None or space.get("deletedAt") else space


def _last_load(context: RequestContext, space: Json | None) -> Json | None:
    return context.store.find(f"/spaces/{space['id']}/folder") if space is not None else None


def _merge_changes(
    context: RequestContext, space: Json, old: Json, new: Json, *, was_loaded: bool, index_later: bool
) -> Json | None:
    """Merge the folder's changes from `old` to `new` into main. Return the new revision. None if main has all
    changes, or if `was_loaded` is True and `old` equals `new`. `index_later` is passed to `set_current`."""
    if not space["revision"]:
        revision = add_revision(context, space["id"], new, type="edits", parents=[])
    elif was_loaded and not revision_differences(old, new, _blob):
        return None
    else:
        main = get_current(context, space["id"])
        store = context.store
        merged_content = revision_merge.merge_revisions(old, main, new, FOLDER_SIDE, store.text, store.put_blob).content
        content_fields = {**merged_content, "pages": page_trees.with_paths(merged_content["pages"])}
        if not revision_differences(main, {**main, **content_fields}, _blob):
            # Store the paths of exported pages on main. Paths are metadata, so there is no new revision.
            context.store.update(f"/spaces/{space['id']}/revisions/{main['id']}", **content_fields)
            return None
        revision = add_edit_revision(context, main, **content_fields)
    set_current(context, space["id"], revision, index_later=index_later)
    return revision


def _blob(file: Json) -> str:
    return str(file["blob"])


@dataclass(frozen=True)
class _OpenedSpace:
    """The main content of a space that was loaded from a folder. Later edits may have been exported to the folder."""

    main: Json
    layout: FolderLayout
    folder: Folder
    ids_on_main: dict[str, str]
    """IDs of the pages, groups, links and files on main, by the key of their path or title, such as `page:PATH`."""

    @classmethod
    def of(cls, main: Json, folder: Folder) -> _OpenedSpace:
        layout = FolderLayout.of_opened(Revision.model_validate(main), main["space"], folder)
        ids: dict[str, str] = {}
        for page in layout.revision.walk():
            if page.type in ("group", "link"):
                ids.setdefault(f"{page.type}:{page.title}", page.id)
            elif page.id in layout.paths:
                ids.setdefault(f"page:{layout.paths[page.id]}", page.id)
        for file in layout.revision.files:
            if file.id in layout.paths:
                ids.setdefault(f"file:{layout.paths[file.id]}", file.id)
        return cls(main, layout, folder, ids)

    def base_of_merge(self, context: RequestContext, old_content: Json, new_content: Json) -> Json:
        """Return the base for the three-way merge: `old_content`, the folder at the last load. Pages that were exported
        since then are taken from main, because the export is not a change of the folder."""
        main_pages, earlier_pages = (
            {page["id"]: page for page in page_trees.walk(each["pages"])} for each in (self.main, old_content)
        )
        exported_pages = {
            page["id"]: main_pages[page["id"]]
            for page in page_trees.walk(new_content["pages"])
            if page["id"] in main_pages
            and page != earlier_pages.get(page["id"])
            and self._is_exported(context, main_pages[page["id"]])
        }

        def replaced(page: Json) -> Json:
            base_page = exported_pages.get(page["id"], page)
            return {**base_page, "pages": [*map(replaced, page["pages"])]} if "pages" in page else base_page

        pages = page_trees.with_missing_pages(old_content["pages"], self.main["pages"], exported_pages)
        return {**old_content, "pages": [*map(replaced, pages)]}

    def _is_exported(self, context: RequestContext, page: Json) -> bool:
        """Return whether the file of a page has the text that an export would write now."""
        path = self.layout.paths.get(page["id"])
        if path is None or page["type"] != "document" or not self.folder.has_file(Path(path)):
            return False
        text = normalize(self.folder.text(Path(path)) or "")
        return normalize(self.layout.page_file_text(page["id"], page_text(context, page), text)) == text


@dataclass
class _FolderReader:
    """Converts a folder to the content of a revision. Pages and files keep the IDs of the last load."""

    context: RequestContext
    folder: Folder
    last_load: Json
    """Content of the folder at the last load. Empty at the first load."""
    opened: _OpenedSpace | None = None
    """The space into which the folder was loaded before. None at the first load."""
    on_progress: Callable[[int, int], object] | None = None
    _ids_by_key: dict[str, str] = field(default_factory=dict)
    """IDs by key: `page:PATH`, `file:PATH`, `shared:PATH` for reusable content, or a result of `_key_of`."""
    _pages: dict[Path, tuple[Json, str]] = field(default_factory=dict)
    """Front matter and text of each page, by path."""
    _unreadable: set[Path] = field(default_factory=set)
    """Files that cannot be read. Their pages keep the text of the last load."""
    _included: dict[Path, tuple[Json, str]] = field(default_factory=dict)
    """Front matter and text of each file with reusable content, by path."""
    _key_counts: Counter[str] = field(default_factory=Counter)
    _entries: list[tuple[ContentsEntry, str]] = field(default_factory=list)

    def convert(self) -> Json:
        """Return the content of the folder. The field `keys` contains the ID of each page and file, also of deleted ones,
        for the next load. An example of a key is `page:guide/start.md`."""
        entries = list(walk_entries(self.folder.entries))
        page_count, read_count = sum(entry.path is not None for entry in entries), 0
        for entry in entries:
            if entry.path is not None and entry.kind == "document":
                read_count += 1
                if self.on_progress:
                    self.on_progress(read_count, page_count)
                self._pages[entry.path] = self._read_page(entry.path)
            self._entries.append((entry, self._key_of(entry)))
        self._assign_ids()
        self._read_included()
        files = self._build_files()
        keys = {id(entry): key for entry, key in self._entries}
        old_pages = {page["id"]: page for page in page_trees.walk(self.last_load["pages"])}
        pages = page_trees.with_paths(self._build_pages(self.folder.entries, keys, old_pages))
        reusable = [self._build_reusable(path, *item) for path, item in self._included.items()]
        content_fields = {"pages": pages, "files": files, "reusableContents": reusable}
        # A file may come back, for example after a Git checkout, so its ID is kept.
        used_ids = {*self._ids_by_key.values()}
        deleted_ids = {key: each for key, each in self.last_load["keys"].items() if each not in used_ids}
        return {**content_fields, "variables": self._read_variables(), "keys": {**deleted_ids, **self._ids_by_key}}

    def _read_page(self, path: Path) -> tuple[Json, str]:
        if not os.path.lexists(self.folder.root / path):
            self.folder.report(path, "does not exist, so its page is empty.")
            return {}, ""
        text = self.folder.text(path)
        if text is None:
            self._unreadable.add(path)
            return {}, self._text_of_unreadable(path)
        try:
            return front_matter.parse_page(text)
        except front_matter.FrontMatterError as wrong:
            self.folder.report(
                path,
                f"has front matter that could not be read: {wrong}. The front matter is shown in the text of the page.",
            )
            return {}, text

    def _text_of_unreadable(self, path: Path) -> str:
        """Return the text of an unreadable file as of the last load. For a new file, return a warning as Markdown."""
        if earlier_item := self._earlier_page(path) or self._earlier_reusable(path):
            return page_text(self.context, earlier_item)
        name = safe_address(readable_name(str(path)))
        why = next(problem.message for problem in reversed(self.folder.problems) if problem.path == name)
        return f'{{% hint style="warning" %}}\n{page_trees.escape_markdown(f"{name} {why}")}\n{{% endhint %}}\n'

    def _earlier_page(self, path: Path) -> Json | None:
        return page_trees.find_page(self.last_load["pages"], self.last_load["keys"].get(f"page:{path}") or "")

    def _earlier_reusable(self, path: Path) -> Json | None:
        item_id = self.last_load["keys"].get(f"shared:{path}")
        return next((item for item in self.last_load["reusableContents"] if item["id"] == item_id), None)

    def _read_included(self) -> None:
        contents = dict(self._pages)

        def body_of(path: Path) -> str:
            if path not in contents:
                contents[path] = self._read_page(path)
            return contents[path][1]

        paths = included_files(self.folder, self._pages, body_of)
        self._included = {path: contents[path] for path in sorted(paths)}

    def _build_reusable(self, path: Path, matter: Json, body: str) -> Json:
        key = f"shared:{path}"
        earlier_item = self._earlier_reusable(path)
        self._ids_by_key[key] = self.last_load["keys"].get(key) or self.context.new_id()
        if earlier_item and path in self._unreadable:
            return earlier_item
        title = single_line(matter.get("title")) or title_from_name(readable_name(path.stem))
        git = {"oid": hashlib.sha1(body.encode("utf-8")).hexdigest(), "path": readable_path(path)}
        return with_stored_text(self.context, {"id": self._ids_by_key[key], "title": title, "git": git}, body)

    def _read_variables(self) -> Json:
        text = self.folder.text(VARIABLES) if self.folder.has_file(VARIABLES) else ""
        if text is None:
            return dict(self.last_load["variables"])
        try:
            return front_matter.parse(text)
        except front_matter.FrontMatterError as wrong:
            self.folder.report(VARIABLES, f"could not be read: {wrong}. The space has no variables.")
            return {}

    def _key_of(self, entry: ContentsEntry) -> str:
        """Return the key by which later loads find a page, group or link, such as `page:guide/start.md`. If a group or
        link has a key that is already used, a number is added, such as `group:Help#2`."""
        if entry.kind == "document" and entry.path is not None:
            return f"page:{entry.path}"
        key = f"{entry.kind}:{entry.target or entry.title}"
        self._key_counts[key] += 1
        return key if self._key_counts[key] == 1 else f"{key}#{self._key_counts[key]}"

    def _assign_ids(self) -> None:
        """Give each page, group and link its ID of the last load, else its ID on main, else a new ID. Find a renamed
        file by its text, else by its title."""
        earlier_page_ids = {page["id"] for page in page_trees.walk(self.last_load["pages"])}
        earlier_ids = {key: each for key, each in self.last_load["keys"].items() if each in earlier_page_ids}
        current_keys = {key for _, key in self._entries}
        ids_by_key = {**(self.opened.ids_on_main if self.opened else {}), **earlier_ids}
        deleted_ids = {page_id for key, page_id in ids_by_key.items() if key not in current_keys}
        known_ids = {earlier_ids[key] for key in current_keys if key in earlier_ids}
        new_pages: list[tuple[Path, str]] = []
        for entry, key in self._entries:
            page_id = earlier_ids.get(key) or self._id_on_main(entry, key, known_ids)
            if page_id is None and entry.path in self._pages:
                new_pages.append((entry.path, key))
                page_id = self.last_load["keys"].get(key)  # The file was deleted before the last load.
                page_id = None if page_id in known_ids else page_id
            self._ids_by_key[key] = page_id or self.context.new_id()
            known_ids.add(self._ids_by_key[key])
        deleted_ids -= known_ids
        earlier_pages = [page for page in page_trees.walk(self.last_load["pages"]) if page["id"] in deleted_ids]
        main_pages = page_trees.walk(self.opened.main["pages"] if self.opened else [])
        ids_by_text = {page["text"]: page["id"] for page in (*main_pages, *earlier_pages) if "text" in page}
        ids_by_title = {page["title"]: page["id"] for page in earlier_pages if page["type"] == "document"}
        for ids in (ids_by_text, ids_by_title):
            for path, key in new_pages if ids else ():
                is_title = ids is ids_by_title
                value = self._own_title(path) if is_title else self.context.store.put_blob(self._pages[path][1])
                page_id = ids.pop(value, None)
                if page_id in deleted_ids:
                    deleted_ids.remove(page_id)
                    self._ids_by_key[key] = page_id

    def _own_title(self, path: Path) -> str:
        matter, body = self._pages[path]
        return single_line(matter.get("title")) or page_trees.first_heading(body) or ""

    def _id_on_main(self, entry: ContentsEntry, key: str, known_ids: set[str]) -> str | None:
        """Return the ID of the page, group or link on main that was exported as `entry`, and add the ID to `known_ids`.
        None if main has no such page, group or link, or if `known_ids` already contains the ID."""
        name = key if entry.path is not None else f"{entry.kind}:{entry.title}"
        page_id = self.opened.ids_on_main.get(name) if self.opened is not None else None
        if page_id is None or page_id in known_ids:
            return None
        known_ids.add(page_id)
        return page_id

    def _build_pages(self, entries: list[ContentsEntry], keys: dict[int, str], old_pages: dict[str, Json]) -> Pages:
        result = []
        for entry in entries:
            page_id = self._ids_by_key[keys[id(entry)]]
            page: Json = {"id": page_id, "type": entry.kind, **self._page_fields(entry)}
            old_page = old_pages.get(page_id, {})
            if entry.kind == "document":
                is_same = {name: value for name, value in old_page.items() if name not in _DERIVED_FIELDS} == {
                    name: value for name, value in page.items() if name not in _DERIVED_FIELDS
                }
                now = self.context.timestamp()
                page |= {
                    "createdAt": old_page.get("createdAt", now),
                    "updatedAt": old_page["updatedAt"] if is_same else now,
                }
            if entry.kind != "link":
                page["pages"] = self._build_pages(entry.children, keys, old_pages)
            result.append(page)
        return result

    def _page_fields(self, entry: ContentsEntry) -> Json:
        if entry.kind == "link":
            return {
                "title": entry.title or title_from_name(Path(entry.target).stem),
                "target": self._build_reference(entry.target, Path()),
            }
        if entry.kind == "group" or entry.path is None:
            title = entry.title or title_from_name(Path(entry.target).name)
            return {"title": title, "slug": entry.slug or page_trees.page_slug(Path(entry.target).name or title)}
        if entry.path in self._unreadable and (page := self._earlier_page(entry.path)) is not None:
            return {name: value for name, value in page.items() if name not in _FOLDER_FIELDS}
        matter, body = self._pages[entry.path]
        stem = readable_name(slug_source(entry.path))
        title = self._own_title(entry.path) or entry.title or title_from_name(stem)
        fields: Json = {"title": title, "slug": page_trees.page_slug(stem)}
        fields |= {name: line for name in _TEXT_FIELDS if (line := single_line(matter.get(name)))}
        fields |= {name: True for name in _BOOLEAN_FIELDS if matter.get(name) is True}
        if entry.link_title:
            fields["linkTitle"] = entry.link_title
        if isinstance(variables := matter.get("vars"), dict) and variables:
            fields["variables"] = variables
        if layout := read_layout(matter.get("layout")):
            fields["layout"] = layout
        if cover := self._read_cover(entry.path, matter):
            fields["cover"] = cover
        fields["git"] = {"oid": hashlib.sha1(body.encode("utf-8")).hexdigest(), "path": readable_path(entry.path)}
        return with_stored_text(self.context, fields, body)

    def _read_cover(self, page: Path, matter: Json) -> Json | None:
        address = single_line(matter.get("cover"))
        if not address:
            return None
        return {"ref": self._build_reference(address, page), "yPos": cover_position(matter.get("coverY"))}

    def _build_reference(self, url: str, file_path: Path) -> Json:
        if EXTERNAL_URL.match(url):
            return {"kind": "url", "url": url}
        path = self.folder.resolve(url, file_path)
        anchor = url.partition("#")[2]
        if path is not None and (page := self._ids_by_key.get(f"page:{path}")):
            return {"kind": "anchor", "anchor": anchor, "page": page} if anchor else {"kind": "page", "page": page}
        if path is not None and (file := self._ids_by_key.get(f"file:{path}")):
            return {"kind": "file", "file": file}
        return {"kind": "url", "url": url}

    def _build_files(self) -> list[Json]:
        file_paths = dict.fromkeys(visible_files_in(self.folder, ASSETS))
        seen_links: set[tuple[str, Path]] = set()
        for path, (matter, body) in (*self._pages.items(), *self._included.items()):
            for address in (*link_urls(body), single_line(matter.get("cover")) or ""):
                if (link := (address, path.parent)) not in seen_links:
                    seen_links.add(link)
                    self._add_file(file_paths, address, path)
        for entry, _ in self._entries:
            if entry.kind == "link":
                self._add_file(file_paths, entry.target, Path())
        old_files = {file["id"]: file for file in self.last_load["files"]}
        files = []
        for path in file_paths:
            key = f"file:{path}"
            data, earlier_file = self.folder.data(path), old_files.get(self.last_load["keys"].get(key), {})
            if data is None and not earlier_file:
                continue
            id_on_main = self.opened.ids_on_main.get(key) if self.opened is not None else None
            self._ids_by_key[key] = earlier_file.get("id") or id_on_main or self.context.new_id()
            files.append(earlier_file if data is None else self._build_file(path, data, earlier_file))
        return files

    def _add_file(self, file_paths: dict[Path, None], url: str, containing_file: Path) -> None:
        if not url or url.startswith("#") or EXTERNAL_URL.match(url):
            return
        path = self.folder.resolve(url, containing_file)
        if path is not None and path not in self._pages and self.folder.has_file(path):
            file_paths.setdefault(path)

    def _build_file(self, path: Path, data: bytes, old_file: Json) -> Json:
        blob = self.context.store.put_blob(data)
        if old_file.get("blob") == blob:
            return old_file
        name = readable_name(path.name)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        file: Json = {"id": self._ids_by_key[f"file:{path}"], "name": name, "contentType": media_type}
        file |= {"size": len(data), "blob": blob}
        if size := image_size(data):
            file["dimensions"] = size
        return {**file, "git": {"oid": hashlib.sha1(data).hexdigest(), "path": readable_path(path)}}


_FOLDER_FIELDS = {"id", "type", "pages", "path", "createdAt", "updatedAt"}
"""Fields of a page that come from the folder or the table of contents, and not from the page's file."""
_DERIVED_FIELDS = {"pages", "path", "slug", "createdAt", "updatedAt"}
"""Fields whose change does not count as an edit of the page."""
