"""Writes changes merged in Octavo back to a folder opened with `octavo open`. Start reading at `export_changes`."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from octavo.api.content import Page
from octavo.api.safety import safe_address
from octavo.documents.folders.folder import (
    EXTERNAL_URL,
    THROUGH_LINK,
    ContentsEntry,
    Folder,
    Problem,
    readable_name,
    walk_entries,
)
from octavo.documents.folders.layout import SUMMARY, FolderLayout, encode_like, normalize
from octavo.documents.folders.table_of_contents import UNLISTED, read_folder, write_summary
from octavo.files.local_changes import assign_ids, edited_summary, structure_of
from octavo.files.pulled_folder import PulledFolder, SpaceReader, is_utf8, text_digest, text_of


@dataclass(frozen=True)
class ExportChange:
    """A file that an export creates, changes or deletes."""

    status: Literal["A", "M", "D"]
    path: str
    data: bytes = b""
    """The new content. Empty for a deleted file."""
    old_data: bytes = b""
    """The content that the file had when the change was found. Empty for a new file."""


async def export_changes(folder: PulledFolder, reader: SpaceReader) -> tuple[list[ExportChange], tuple[Problem, ...]]:
    """Return the changes that bring the pages, missing files and `SUMMARY.md` of a folder to the state of its space,
    and the problems. Other files stay. Raises ApiError or OSError."""
    revision = await reader.revision()
    layout = FolderLayout.of_opened(revision, folder.space_id, read_folder(folder.top))
    pages = [page for page in revision.walk() if page.type == "document" and page.id in layout.paths]
    texts = await reader.texts(pages)
    changes: list[ExportChange] = []
    for file in revision.files:
        path = layout.paths.get(file.id, "")
        if path and not folder.has(path) and (content := await reader.file(file)) is not None:
            changes.append(ExportChange("A", path, content))
    # Read the files after the last request: the user may change files while requests wait.
    source, skipped = read_folder(folder.top), list(layout.skipped)
    for page in pages:
        change = _page_change(folder, source, layout, page, texts.get(page.id))
        if isinstance(change, Problem):
            skipped.append(change)
        elif change is not None:
            changes.append(change)
    kept_paths = {*layout.paths.values(), *(problem.path for problem in layout.skipped)}
    for entry in walk_entries(source.entries):
        path = entry.path.as_posix() if entry.path is not None else ""
        if path and safe_address(readable_name(path)) not in kept_paths and (data := folder.data(path)) is not None:
            changes.append(ExportChange("D", path, old_data=data))
    paths = {change.path for change in changes}
    paths |= {path for path in layout.paths.values() if folder.has(path)}
    if (summary := _summary_change(folder, source, layout, paths)) is not None:
        changes.append(summary)
    return sorted(changes, key=lambda change: change.path), tuple(skipped)


def _page_change(
    folder: PulledFolder, source: Folder, layout: FolderLayout, page: Page, markdown: str | None
) -> ExportChange | Problem | None:
    path = layout.paths[page.id]
    if markdown is None:
        return Problem(path, "Skipped a page: the API does not return its text.")
    if not folder.has(path):
        # An empty page needs no file, only an entry in the table of contents.
        new_text = layout.page_file_text(page.id, markdown)
        return ExportChange("A", path, new_text.encode()) if markdown.strip() else None
    text = source.text(Path(path))
    if text is None:  # The space has only the last text or a warning, which must not replace the file.
        return Problem(path, "Skipped a page: its file cannot be read.")
    new_text = layout.page_file_text(page.id, markdown, normalize(text))
    if text_digest(text) == text_digest(new_text):
        return None
    data = folder.data(path)
    if data is None:
        return Problem(path, f"Skipped a page: {THROUGH_LINK}.")
    if not is_utf8(data):
        return Problem(path, "Skipped a page: its file is not UTF-8, so characters would be lost.")
    return ExportChange("M", path, encode_like(new_text, data), data)


def _summary_change(
    folder: PulledFolder, source: Folder, layout: FolderLayout, paths: Collection[str]
) -> ExportChange | None:
    """Return the change to `SUMMARY.md`. None if its entries stay the same. `paths` are the files that the folder has
    after the export."""
    path = source.summary.as_posix() if source.summary is not None else SUMMARY
    new_entries = [entry for entry in layout.entries if entry.title != UNLISTED or entry.kind != "group"]
    current_entries = [entry for entry in source.entries if entry.title != UNLISTED or entry.kind != "group"]
    assign_ids(current_entries, {path: item_id for item_id, path in layout.paths.items()}, new_entries)
    if _comparable_structure(current_entries, layout, paths) == _comparable_structure(new_entries, layout, paths):
        return None
    link_titles = {entry.id: entry.link_title for entry in walk_entries(current_entries)}
    for entry in walk_entries(new_entries):
        entry.link_title = entry.link_title or link_titles.get(entry.id, "")
    if start := posixpath.dirname(path):
        _make_relative_to(new_entries, start)
    data, text = folder.data(path), write_summary(new_entries)
    if data is not None and not start:
        text = edited_summary(folder, text_of(data), current_entries, new_entries) or text
    return ExportChange("A" if data is None else "M", path, encode_like(text, data or b""), data or b"")


def _comparable_structure(
    entries: list[ContentsEntry], layout: FolderLayout, paths: Collection[str]
) -> list[tuple[Any, ...]]:
    """Return the table of contents in a form for comparisons. A document without a file is compared by its title, not
    by its ID. `paths` are the files that the folder has after the export."""

    def comparable_entry(entry: ContentsEntry) -> ContentsEntry:
        children = [comparable_entry(child) for child in entry.children]
        if entry.kind == "link":
            return entry
        entry_id = entry.id
        if entry.kind == "document":
            page = layout.pages.get(entry_id)
            is_file = page is None or page.git is not None or layout.paths[entry_id] in paths
            entry_id = entry_id if entry.path is not None and is_file else f"text:{entry.title}"
        return replace(entry, id=entry_id, target="", children=children)

    return structure_of([comparable_entry(entry) for entry in entries])


def _make_relative_to(entries: list[ContentsEntry], start: str) -> None:
    """Make the paths and targets of entries relative to the folder `start`, in which `SUMMARY.md` is."""
    for entry in walk_entries(entries):
        if entry.path is not None:
            entry.path = Path(posixpath.relpath(entry.path.as_posix(), start))
        if entry.target and not EXTERNAL_URL.match(entry.target) and not entry.target.startswith("/"):
            entry.target = posixpath.relpath(entry.target, start)


def write_export(folder: PulledFolder, changes: list[ExportChange]) -> list[Problem]:
    """Write the changes, and return a problem for each file that was not written. Raises OSError, or FolderInUse if a
    file has changed since the changes were found."""
    new_data = {change.path: change.data for change in changes if change.status != "D"}
    old_data = {change.path: change.old_data for change in changes}
    reasons = folder.write(new_data, {change.path for change in changes} - new_data.keys(), old_data)
    return [Problem(path, f"Skipped a file: {reason}.") for path, reason in reasons.items()]
