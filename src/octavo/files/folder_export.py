"""Writes the content of an opened folder back to its files: what merged change requests changed in Octavo's copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from octavo.documents.folders.folder import Entry, Problem, walk_entries
from octavo.documents.folders.layout import SUMMARY, FolderLayout
from octavo.documents.folders.page_files import as_in
from octavo.documents.folders.table_of_contents import UNLISTED, read_folder, write_summary
from octavo.files import contents
from octavo.files.contents import structure
from octavo.files.pulled_folder import PulledFolder, text_digest, text_of
from octavo.files.space_reader import SpaceReader


@dataclass(frozen=True)
class ExportChange:
    """A file that an export creates, changes or deletes."""

    status: Literal["A", "M", "D"]
    path: str
    data: bytes = b""
    """New bytes. Empty for a deleted file."""


async def export_changes(folder: PulledFolder, reader: SpaceReader) -> tuple[list[ExportChange], tuple[Problem, ...]]:
    """Return the differences of the files in a folder from the content of its space, and the pages that cannot be written.
    Raises ApiError or OSError."""
    revision = await reader.revision()
    layout = FolderLayout.of(revision, folder.space)
    pages = [page for page in revision.walk() if page.type == "document" and page.id in layout.paths]
    texts = await reader.texts(pages)
    changes: list[ExportChange] = []
    for page in pages:
        path = layout.paths[page.id]
        data = folder.data(path)
        if data is None and not texts[page.id].strip():
            continue  # Octavo makes an empty page of an entry without a file.
        new = layout.page_file(page.id, texts[page.id], text_of(data or b""))
        if data is None:
            changes.append(ExportChange("A", path, new.encode()))
        elif text_digest(text_of(data)) != text_digest(new):
            changes.append(ExportChange("M", path, as_in(new, data)))
    source = read_folder(folder.top)
    known = set(layout.paths.values())
    for entry in walk_entries(source.entries):
        path = entry.path.as_posix() if entry.path is not None else ""
        if path and path not in known and folder.data(path) is not None:
            changes.append(ExportChange("D", path))
    for file in revision.files:
        path = layout.paths.get(file.id, "")
        if path and folder.data(path) is None and (content := await reader.file(file)) is not None:
            changes.append(ExportChange("A", path, content))
    if (summary := _summary(folder, layout, source.entries)) is not None:
        changes.append(summary)
    return sorted(changes, key=lambda change: change.path), layout.skipped


def _summary(folder: PulledFolder, layout: FolderLayout, now: list[Entry]) -> ExportChange | None:
    """Return the change of the table of contents. None if it stays."""
    wanted = [entry for entry in layout.entries if entry.title != UNLISTED or entry.kind != "group"]
    now = [entry for entry in now if entry.title != UNLISTED or entry.kind != "group"]
    contents.identify(now, {path: name for name, path in layout.paths.items()}, wanted)
    if structure(now) == structure(wanted):
        return None
    short = {entry.path: entry.link_title for entry in walk_entries(now)}
    for entry in walk_entries(wanted):
        entry.link_title = entry.link_title or short.get(entry.path, "")
    data = folder.data(SUMMARY)
    text = write_summary(wanted)
    return ExportChange("A", SUMMARY, text.encode()) if data is None else ExportChange("M", SUMMARY, as_in(text, data))


def write_export(folder: PulledFolder, changes: list[ExportChange]) -> list[Problem]:
    """Write changes to a folder, and return the files that were not written. Raises OSError."""
    problems = []
    for change in changes:
        if change.status == "D":
            folder.delete(change.path)
        elif reason := folder.write(change.path, change.data):
            problems.append(Problem(change.path, f"Skipped a file: {reason}."))
    return problems


def folder_to_export(top: Path, space: str) -> PulledFolder:
    """Return an opened folder for an export. Nothing is stored in it. Raises OSError."""
    return PulledFolder.new(top.resolve(), "octavo:folder", space)
