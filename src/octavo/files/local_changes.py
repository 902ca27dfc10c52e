"""Finds the files of a pulled folder that were changed (`LocalFiles`). Also compares and merges tables of contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents import page_trees
from octavo.documents.folders.folder import (
    ASSETS,
    SPECIAL_FOLDER,
    ContentsEntry,
    Folder,
    is_page_path,
    natural_order,
    passes_link,
    walk_entries,
    why_unsafe,
)
from octavo.documents.folders.layout import SUMMARY, PageFile
from octavo.documents.folders.table_of_contents import summary_entries, write_summary
from octavo.documents.merging import page_merge
from octavo.documents.merging.revision_merge import PageOrder, TreeVersion, merge_page_order
from octavo.documents.page_trees import Json, Pages, parent_ids
from octavo.documents.sequences import unmoved_items
from octavo.documents.source_reader import find_markers
from octavo.files.pulled_folder import FileKind, PulledFolder, TrackedFile, regular_files, text_digest, text_of

NEW_PAGE_PREFIX = "new:"
"""Prefix of the ID of a page that is only local, such as `new:guides/setup.md`."""
TableOfContents = list[ContentsEntry]


def assign_ids(entries: TableOfContents, page_ids: Mapping[str, str], known_entries: Iterable[ContentsEntry]) -> None:
    """Set the IDs of all entries. A page gets the ID of its path in `page_ids`. A group or link gets the ID of an entry
    in `known_entries` with an equal title or target. If the groups still without an ID are as many as the unused IDs of
    groups, these groups were renamed and get the unused IDs in order. All other entries get a new ID."""
    unmatched_entries: dict[str, list[ContentsEntry]] = {"group": [], "link": []}
    for entry in walk_entries(list(known_entries)):
        if entry.kind in unmatched_entries:
            unmatched_entries[entry.kind].append(entry)
    all_entries = list(walk_entries(entries))
    for number, entry in enumerate(all_entries):
        if entry.kind == "document":
            path = entry.path.as_posix() if entry.path is not None else ""
            entry.id = page_ids.get(path) or (f"{NEW_PAGE_PREFIX}{path}" if path else f"text:{number}:{entry.title}")
        else:
            entry.id = ""
    for key_of in (lambda entry: (entry.title, entry.target), lambda entry: entry.title, lambda entry: entry.target):
        for entry in all_entries:
            if entry.kind in unmatched_entries and not entry.id:
                _take_id(entry, unmatched_entries[entry.kind], key_of)
    unmatched_groups = [entry for entry in all_entries if entry.kind == "group" and not entry.id]
    if len(unmatched_groups) == len(unmatched_entries["group"]):
        for entry, before in zip(unmatched_groups, unmatched_entries["group"], strict=True):
            entry.id = before.id
    for number, entry in enumerate(all_entries):
        entry.id = entry.id or f"{entry.kind}:{number}:{entry.title}"


def set_server_ids(base: TableOfContents, local: TableOfContents, server: TableOfContents) -> None:
    """Give the groups and links in `base` the IDs that they have in `server`, and change these IDs in `local`, too."""
    old_ids = [entry.id for entry in walk_entries(base)]
    page_ids_by_path = {entry.path.as_posix(): entry.id for entry in walk_entries(base) if entry.path is not None}
    assign_ids(base, page_ids_by_path, server)
    new_ids = dict(zip(old_ids, (entry.id for entry in walk_entries(base)), strict=True))
    for entry in walk_entries(local):
        entry.id = new_ids.get(entry.id, entry.id)


def _take_id(
    entry: ContentsEntry, known_entries: list[ContentsEntry], key_of: Callable[[ContentsEntry], object]
) -> None:
    """Give `entry` the ID of the first known entry with the same non-empty key (`key_of`). Remove this known entry."""
    known_entry = next((each for each in known_entries if key_of(each) and key_of(each) == key_of(entry)), None)
    if known_entry is not None:
        entry.id = known_entry.id
        known_entries.remove(known_entry)


def are_equal_tables_of_contents(one: TableOfContents, other: TableOfContents) -> bool:
    """Return whether two tables of contents are written as the same `SUMMARY.md`."""
    return list(_comparable_entries(one)) == list(_comparable_entries(other))


def _comparable_entries(entries: Iterable[ContentsEntry], depth: int = 0) -> Iterator[tuple[Any, ...]]:
    for entry in entries:
        slug = entry.slug if entry.slug != page_trees.page_slug(entry.title) else ""
        yield depth, entry.kind, entry.id, entry.title, entry.path, unquote(entry.target), entry.link_title, slug
        yield from _comparable_entries(entry.children, depth + 1)


def structure_of(entries: Iterable[ContentsEntry]) -> list[tuple[Any, ...]]:
    """Return (depth, kind, ID, title, target) of each entry, for comparisons. Titles of documents are empty."""
    return [
        (depth, kind, entry_id, title if kind != "document" else "", target)
        for depth, kind, entry_id, title, _, target, *_ in _comparable_entries(entries)
    ]


def without_entries(entries: Iterable[ContentsEntry], ids: Collection[str]) -> TableOfContents:
    """Return a table of contents without the entries with these IDs. A removed entry is replaced by its children."""
    result: TableOfContents = []
    for entry in entries:
        children = without_entries(entry.children, ids)
        result += children if entry.id in ids else [replace(entry, children=children)]
    return result


def with_missing_entries(
    entries: TableOfContents, old_entries: TableOfContents, missing_ids: Collection[str]
) -> TableOfContents:
    """Return `entries` plus the entries of `old_entries` with `missing_ids`, at their old positions."""
    entries_by_id = {entry.id: entry for entry in (*walk_entries(old_entries), *walk_entries(entries))}
    return _entries_of(
        page_trees.with_missing_pages(to_page_tree(entries), to_page_tree(old_entries), missing_ids), entries_by_id
    )


def to_page_tree(entries: Iterable[ContentsEntry]) -> Pages:
    """Return a table of contents as a page tree of JSON objects."""
    return [
        {"id": entry.id, "type": entry.kind, "title": entry.title, "pages": to_page_tree(entry.children)}
        for entry in entries
    ]


def merge_contents(
    base: TableOfContents, local: TableOfContents, server: TableOfContents, *, edited_ids: Collection[str]
) -> TableOfContents:
    """Return `local` with the changes from `base` to `server`, except deletions of pages in `edited_ids`."""
    sides = [TreeVersion.of(to_page_tree(each)) for each in (base, local, server)]
    order = merge_page_order(*sides, is_edited=lambda before, after: after["id"] in edited_ids)
    entries_by_id = [{entry.id: entry for entry in walk_entries(each)} for each in (base, local, server)]

    def build(parent_id: str | None) -> TableOfContents:
        return [
            replace(_merge_entry(*(each.get(entry_id) for each in entries_by_id)), children=build(entry_id))
            for entry_id in order.children.get(parent_id, ())
        ]

    return build(None)


def _merge_entry(
    base: ContentsEntry | None, local: ContentsEntry | None, server: ContentsEntry | None
) -> ContentsEntry:
    if local is None or server is None:
        only_version = local or server
        assert only_version is not None, "a merged entry is in one of the versions"
        return only_version
    changed_fields: Json = {}
    for name in ("title", "target", "link_title", "slug"):
        before = getattr(base, name) if base is not None else getattr(local, name)
        if getattr(local, name) == before:
            changed_fields[name] = getattr(server, name)
    return replace(local, **changed_fields)


def _entries_of(pages: Pages, entries_by_id: Mapping[str, ContentsEntry]) -> TableOfContents:
    return [replace(entries_by_id[page["id"]], children=_entries_of(page["pages"], entries_by_id)) for page in pages]


@dataclass(frozen=True)
class PagePlacement:
    """Where a new page is inserted, or an existing page is moved to."""

    id: str
    parent_id: str | None
    """ID of the parent page. None for a page at the top level."""
    index: int
    """The position among the child pages of the parent, counted from 0."""
    is_new: bool = False


def page_placements(pages: Pages, order: PageOrder, new_ids: Collection[str]) -> Iterator[PagePlacement]:
    """Yield the insertions (of `new_ids`) and moves that bring a page tree into `order`, parents before children."""
    child_ids_by_parent: dict[str | None, list[str]] = {None: []}
    parent_by_id = parent_ids(pages)
    for page_id, parent_id in parent_by_id.items():
        child_ids_by_parent.setdefault(page_id, [])
        child_ids_by_parent.setdefault(parent_id, []).append(page_id)
    parent_ids_to_visit: list[str | None] = [None]
    while parent_ids_to_visit:
        parent_id = parent_ids_to_visit.pop(0)
        ordered_ids = order.children.get(parent_id, [])
        sibling_ids = child_ids_by_parent.setdefault(parent_id, [])
        kept_ids = set(ordered_ids)
        unmoved_ids = unmoved_items([each for each in sibling_ids if each in kept_ids], ordered_ids)
        previous_id: str | None = None
        for page_id in ordered_ids:
            if page_id not in unmoved_ids:
                if page_id in parent_by_id:
                    child_ids_by_parent[parent_by_id[page_id]].remove(page_id)
                position = sibling_ids.index(previous_id) + 1 if previous_id is not None else 0
                sibling_ids.insert(position, page_id)
                parent_by_id[page_id] = parent_id
                yield PagePlacement(page_id, parent_id, position, page_id in new_ids)
            previous_id = page_id
        parent_ids_to_visit += ordered_ids


def deleted_pages(pages: Pages, order: PageOrder) -> list[str]:
    """Return the IDs of the pages that are missing in `order`. The subpages of a missing page are left out."""
    parent_of = parent_ids(pages)
    kept_ids = {page_id for child_ids in order.children.values() for page_id in child_ids}
    deleted_ids = [page_id for page_id in parent_of if page_id not in kept_ids]
    return [page_id for page_id in deleted_ids if parent_of[page_id] not in deleted_ids]


MIN_SIMILARITY = 0.6
"""Minimum share of equal words, from 0 to 1, in the old and the new text of a renamed file."""
Status = Literal["M", "A", "D", "R", "!", "?"]
STATUS_WORDS: dict[Status, str] = {
    "M": "edited",
    "A": "new",
    "D": "deleted",
    "R": "renamed",
    "!": "in conflict",
    "?": "not in SUMMARY.md",
}


@dataclass(frozen=True)
class FileChange:
    """A file that differs from the last pull."""

    status: Status
    path: str
    kind: FileKind
    old_path: str = ""
    """Path of a renamed file in the last pull. Empty for other files."""


@dataclass
class LocalFiles:
    """The files in a pulled folder as they are now."""

    folder: PulledFolder
    data: dict[str, bytes] = field(default_factory=dict)
    """Contents of files by path: `SUMMARY.md`, pages in it, files of the last pull and proposal, and new assets."""
    entries: TableOfContents = field(default_factory=list)
    """The table of contents, with IDs. IDs of new pages begin with `NEW_PAGE_PREFIX`."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Current paths of the files that were renamed since the last pull or proposal, by ID."""
    unlisted: list[str] = field(default_factory=list)
    """Paths of new pages that are not in `SUMMARY.md`."""
    _names: Mapping[str, str] = field(default_factory=dict)
    """Spelling of each path on disk, by exact path and by folded path."""

    @classmethod
    def read(cls, folder: PulledFolder) -> LocalFiles:
        """Read the files of a pulled folder. Raises OSError, also if a symbolic link replaces the file of a page, and
        NotPulled if the stored last pull is damaged."""
        names = list(regular_files(folder.pages))
        files = cls(folder, _names={fold(name): name for name in names} | {name: name for name in names})
        for path, file in (folder.files | files_after_proposal(folder)).items():
            files._read(path)
            if file.kind == "page" and passes_link(folder.pages, path):  # Otherwise, the page would seem deleted.
                raise OSError(f"{path} is a symbolic link, or is behind one. Replace the link by a file or folder.")
        files._read(SUMMARY)
        source = Folder(folder.top.resolve(), folder.pages.resolve())
        files.entries = summary_entries(source, files.text(SUMMARY), Path(SUMMARY))
        listed_paths = [entry.path.as_posix() for entry in walk_entries(files.entries) if entry.path is not None]
        for path in listed_paths:
            if path not in files.data and not why_unsafe(path):
                files._read(path)
        pages, assets = _untracked_pages_and_assets(folder, names)
        for path in assets:
            files._read(path)
        files.unlisted = [path for path in pages if path not in listed_paths]
        files.renamed = dict(_renames(files))
        known_paths = {files.current_path(file): file.id for file in folder.files.values() if file.kind == "page"}
        assign_ids(files.entries, known_paths, contents_of(folder, folder.files))
        return files

    def _read(self, path: str) -> None:
        data = self.folder.data(path)
        if data is not None:  # On a disk that ignores case, the name on disk may have another case.
            self.data[self._names.get(path) or self._names.get(fold(path), path)] = data

    def text(self, path: str) -> str:
        """Return the normalized text of a file. Empty if there is no such file."""
        return text_of(self.data.get(path, b""))

    def current_path(self, file: TrackedFile) -> str:
        """Return the current path of a file of the last pull: its new path if it was renamed."""
        return self.renamed.get(file.id, file.path)

    def has(self, file: TrackedFile) -> bool:
        """Return whether a file of the last pull or proposal exists, perhaps with a new path."""
        return self.current_path(file) in self.data

    def is_changed(self, file: TrackedFile) -> bool:
        """Return whether a file differs from the last pull or was deleted."""
        data = self.data.get(self.current_path(file))
        return data is None or not file.has_content(data)

    def changes(self) -> list[FileChange]:
        """Return the files that differ from the last pull, and all files with conflict markers, sorted by path."""
        changes: list[FileChange] = []
        for file in self.folder.files.values():
            current_path = self.current_path(file)
            if current_path not in self.data:
                changes.append(FileChange("D", current_path, file.kind))
            elif file.is_text and find_markers(self.text(current_path)):
                changes.append(FileChange("!", current_path, file.kind))
            elif current_path != file.path:
                changes.append(FileChange("R", current_path, file.kind, file.path))
            elif self.is_changed(file):
                changes.append(FileChange("M", current_path, file.kind))
        tracked_paths = {self.current_path(file) for file in self.folder.files.values()}
        for path in self.data.keys() - tracked_paths:
            kind: FileKind = "page" if is_page_path(path) else "file"
            has_conflict = kind == "page" and find_markers(self.text(path))
            changes.append(FileChange("!" if has_conflict else "A", path, kind))
        changes += [FileChange("?", path, "page") for path in self.unlisted]
        return sorted(changes, key=lambda change: natural_order(change.path))


def contents_of(
    folder: PulledFolder, files: Mapping[str, TrackedFile], known_entries: Iterable[ContentsEntry] = ()
) -> TableOfContents:
    """Return the table of contents of the last pull. Pages get their IDs from `files`, groups and links from equal
    `known_entries`. Empty if `files` has no table of contents. Raises NotPulled if the table is damaged."""
    file = files.get(SUMMARY)
    if file is None:
        return []
    entries = read_contents(folder, folder.base_text(file.base_sha256))
    assign_ids(entries, {each.path: each.id for each in files.values() if each.kind == "page"}, known_entries)
    return entries


def files_after_proposal(folder: PulledFolder) -> dict[str, TrackedFile]:
    """Return the files of the last pull by path, with the changes of the last proposal."""
    files, proposal = dict(folder.files), folder.proposal
    for path, page in proposal.get("pages", {}).items():
        before = next((file for file in files.values() if file.id == page["id"]), None)
        if before is not None:
            del files[before.path]
        pulled_path = before.pulled_path if before is not None else ""
        files[path] = TrackedFile(path, "page", page["id"], base_sha256=page["sha256"], pulled_path=pulled_path)
    for path, file_id in proposal.get("files", {}).items():
        files[path] = TrackedFile(path, "file", file_id, base_sha256=proposal["hashes"].get(path, ""))
    if SUMMARY in files and proposal.get("summary"):
        files[SUMMARY] = replace(files[SUMMARY], base_sha256=proposal["summary"])
    return files


def read_contents(folder: PulledFolder, summary: str) -> TableOfContents:
    """Return the table of contents in `summary`, the text of a `SUMMARY.md`, without IDs."""
    return summary_entries(Folder(folder.top.resolve(), folder.pages.resolve()), summary, Path(SUMMARY))


_BULLET = re.compile(r"^([ \t]*)([*+-])(?= )", re.MULTILINE)


def edited_summary(folder: PulledFolder, text: str, before: TableOfContents, after: TableOfContents) -> str | None:
    """Return `text`, a `SUMMARY.md`, with the entries `after` instead of `before`. Lines that are no entries stay. None
    if the entries cannot be merged into `text`."""
    old, new = (_with_bullets_of(text, write_summary(each)) for each in (before, after))
    merged_page = page_merge.merge(old, text, new)
    if merged_page.conflicts:
        return None
    merged_text = merged_page.text()
    text_after_read, expected_text = (write_summary(read_contents(folder, each)) for each in (merged_text, new))
    return merged_text if text_after_read == expected_text else None


def _with_bullets_of(text: str, summary: str) -> str:
    """Return the `SUMMARY.md` `summary` with the bullets and the indentation that the `SUMMARY.md` `text` uses."""
    items = _BULLET.findall(text)
    bullet = items[0][1] if items else "*"
    indentation = min((space for space, _ in items if space), key=len, default="  ")
    return _BULLET.sub(lambda item: indentation * (len(item[1]) // 2) + bullet, summary)


def _untracked_pages_and_assets(folder: PulledFolder, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    pages, assets = [], []
    for path in paths:
        if path in folder.files or why_unsafe(path):
            continue
        if path.startswith(f"{ASSETS.as_posix()}/"):
            assets.append(path)
        elif is_page_path(path) and not path.startswith(f"{SPECIAL_FOLDER}/") and path != SUMMARY:
            pages.append(path)
    return pages, assets


def _renames(files: LocalFiles) -> Iterator[tuple[str, str]]:
    """Yield the ID and the new path of each renamed file. Raises NotPulled if the stored last pull is damaged."""
    folder, last_files = files.folder, files_after_proposal(files.folder)
    pulled_paths = {file.id: file.path for file in folder.files.values()}
    missing_files: dict[str, TrackedFile] = {}
    for file in last_files.values():
        if file.path not in files.data and file.kind in ("page", "file"):
            missing_files[file.path] = file
        elif file.id and file.path != pulled_paths.get(file.id, file.path):
            yield file.id, file.path
    new_paths = [path for path in files.data if path not in last_files]
    if not missing_files or not new_paths:
        return
    old_positions = _positions(contents_of(folder, last_files))
    positions = _positions(files.entries)
    old_texts = {
        path: _TextTraits(folder.base_text(file.base_sha256)) for path, file in missing_files.items() if file.is_text
    }
    new_texts = {path: _TextTraits(files.text(path)) for path in new_paths if is_page_path(path)}

    def has_same_text(old: TrackedFile, path: str) -> bool:
        if not old.is_text:
            return old.base_sha256 == sha256(files.data[path]).hexdigest()
        return old.base_sha256 == new_texts[path].digest and bool(files.data[path])

    def has_same_position(old: TrackedFile, path: str) -> bool:
        return old.path in old_positions and path in positions and old_positions[old.path] == positions[path]

    def has_same_title(old: TrackedFile, path: str) -> bool:
        return old.is_text and old_texts[old.path].title == new_texts[path].title != ""

    def has_similar_text(old: TrackedFile, path: str) -> bool:
        return old.is_text and old_texts[old.path].is_similar(new_texts[path])

    for is_same in (has_same_text, has_same_position, has_same_title, has_similar_text):
        for old in list(missing_files.values()):
            candidates = (path for path in new_paths if is_page_path(path) == old.is_text)
            new_path = next((path for path in candidates if is_same(old, path)), None)
            if new_path is not None:
                del missing_files[old.path]
                new_paths.remove(new_path)
                yield old.id, new_path


@dataclass(frozen=True)
class _TextTraits:
    """A text with the properties by which a renamed file is recognized."""

    text: str

    @cached_property
    def digest(self) -> str:
        return text_digest(self.text)

    @cached_property
    def title(self) -> str:
        return PageFile(self.text).title

    @cached_property
    def words(self) -> Counter[str]:
        return Counter(self.text.split())

    @cached_property
    def repeat_count(self) -> int:
        """Number of words that occurred earlier in the text."""
        return self.words.total() - len(self.words)

    def is_similar(self, other: _TextTraits) -> bool:
        needed_count = MIN_SIMILARITY * max(1, self.words.total(), other.words.total())
        # Most texts share too few distinct words. Counting these is ten times faster than the exact comparison.
        shared_count = len(self.words.keys() & other.words.keys())
        return (
            shared_count + min(self.repeat_count, other.repeat_count) >= needed_count
            and (self.words & other.words).total() >= needed_count
        )


def _positions(entries: TableOfContents, parent_path: str = "") -> dict[str, tuple[str, str, str]]:
    """Return (title, parent, previous sibling) by path for each page with a file. A parent or sibling is given by its
    path, or by its title if it has no file. An empty text means no parent or no previous sibling."""
    positions: dict[str, tuple[str, str, str]] = {}
    previous_path = ""
    for entry in entries:
        path = entry.path.as_posix() if entry.path is not None else entry.title
        if entry.path is not None:
            positions[path] = (entry.title, parent_path, previous_path)
        positions |= _positions(entry.children, path)
        previous_path = path
    return positions
