"""Merges the content of a space into the files of a folder.

A text that was changed in the folder and in the space is merged region by region. If the same words were changed, the
file gets both versions between conflict markers, and a copy of the local file is stored in `.octavo/conflicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath

from octavo.api import change_requests
from octavo.api.content import File, Page, Revision
from octavo.api.errors import NotFound
from octavo.api.operation import ChangeRequestRef, RevisionRef
from octavo.data.access import Send
from octavo.documents import page_trees
from octavo.documents.folders.folder import (
    VARIABLES,
    Problem,
    is_page_path,
    linked_path,
    passes_link,
    rewrite_links,
    walk_entries,
)
from octavo.documents.folders.layout import (
    SUMMARY,
    FolderLayout,
    PageFile,
    encode_like,
    merge_front_matter,
    normalize,
    relative_url,
    with_front_matter,
)
from octavo.documents.folders.table_of_contents import write_summary
from octavo.documents.merging import page_merge
from octavo.documents.source_reader import find_markers
from octavo.files import local_changes
from octavo.files.local_changes import LocalFiles, TableOfContents, contents_of, files_after_proposal
from octavo.files.pulled_folder import FileKind, PulledFolder, SpaceReader, TrackedFile, is_utf8, text_digest, text_of

YOURS, MAIN = "yours", "main"
"""Names of the sides in conflict markers."""


@dataclass
class PullResult:
    """The result of a pull, with the paths of the files that were added, edited, deleted and so on."""

    revision_id: str
    is_current: bool = False
    """True if the space has not changed since the last pull."""
    added: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """Text files changed in both folder and space, even with conflicts, and local files with updated links."""
    deleted: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files that were in the folder before the first pull and differ from the space. The pull does not change them."""
    conflicts: list[Problem] = field(default_factory=list)
    """Files that were changed in the folder and on main, and that could not be merged, each with the reason."""
    skipped: list[Problem] = field(default_factory=list)
    """Pages and files that could not be written, each with the reason."""


@dataclass(frozen=True)
class IncomingFile:
    """A file with its current content in the space, to be written to the folder."""

    path: str
    """Path in the folder."""
    pulled_path: str
    """Path that the file would have in a folder that is pulled for the first time."""
    kind: FileKind
    id: str
    text: str = ""
    data: bytes | None = None
    """The content of a file that is not text, if it changed in the space. Else None."""
    last_pulled: TrackedFile | None = None
    """The file as it was pulled last. None for a new file."""


@dataclass
class FolderMerge:
    """Merges the current files of a space into a pulled folder."""

    folder: PulledFolder
    local: LocalFiles
    layout: FolderLayout
    incoming_files: list[IncomingFile]
    result: PullResult
    _new_data_by_path: dict[str, bytes] = field(default_factory=dict)
    _copies_by_path: dict[str, bytes] = field(default_factory=dict)
    """Versions of files to store in `.octavo/conflicts`, by path."""
    _files_by_path: dict[str, TrackedFile] = field(default_factory=dict)
    _removed_paths: set[str] = field(default_factory=set)
    _untracked_data_by_path: dict[str, bytes] = field(default_factory=dict)
    """Contents of files that are not in `local`, and that have the path of a new page or file."""

    def apply(self) -> None:
        """Merge all files, write them, and store the state of the folder. Raises OSError, NotPulled or FolderInUse."""
        self._merge_summary()
        self._update_links_of_new_pages()
        for incoming in self.incoming_files:
            if incoming.kind in ("file", "variables"):
                self._merge_whole(incoming)
            else:
                self._merge_text(incoming)
        for file in self._files_deleted_in_space:
            self._remove(file)
        read_ids = {file.id for file in (*self._files_by_path.values(), *self._files_deleted_in_space)}
        for file in self.folder.files.values():
            if file.id and file.id not in read_ids:
                self._files_by_path[file.path] = file  # Keep a file that this pull did not read.
        self._write()

    @property
    def _is_first_pull(self) -> bool:
        return not self.folder.revision_id

    @cached_property
    def _files_deleted_in_space(self) -> list[TrackedFile]:
        revision = self.layout.revision
        present_ids = {*self.layout.pages, *(file.id for file in revision.files)}
        present_ids |= {reusable.id for reusable in revision.reusable_contents}
        deleted_files = [file for file in self.folder.files.values() if file.id and file.id not in present_ids]
        file = self.folder.files.get(VARIABLES.as_posix())
        return [*deleted_files, file] if file is not None and not self.layout.variables_text() else deleted_files

    def _last_pulled_text(self, file: TrackedFile | None) -> str | None:
        return self.folder.base_text(file.base_sha256) if file is not None and file.is_text else None

    def _merge_summary(self) -> None:
        file, data = self.folder.files.get(SUMMARY), self.local.data.get(SUMMARY)
        base, local_entries = contents_of(self.folder, self.folder.files), self.local.entries
        local_changes.set_server_ids(base, local_entries, self.layout.entries)
        server = self._server_entries(base)
        text, base_text = self.local.text(SUMMARY), self._last_pulled_text(file) or ""
        if self._is_first_pull and data is not None:
            local_changes.assign_ids(
                local_entries, {path: item_id for item_id, path in self.layout.paths.items()}, server
            )
            is_same = local_changes.structure_of(local_entries) == local_changes.structure_of(server)
            base_text = text if is_same else write_summary(server)
            if not is_same:
                self.result.kept.append(SUMMARY)
            merged_entries = local_changes.without_entries(local_entries, ())
        else:
            merged_entries = self._merged_entries(base, server)
            if not base_text or not local_changes.are_equal_tables_of_contents(server, base):
                base_text = write_summary(server)
        self._merged_ids = {entry.id for entry in walk_entries(merged_entries)}
        incoming = IncomingFile(SUMMARY, SUMMARY, "summary", "", base_text, last_pulled=file)
        self._track(incoming, self.folder.store_base(base_text))
        if data is None:
            self._put(SUMMARY, write_summary(merged_entries).encode(), self.result.added)
        elif (
            not local_changes.are_equal_tables_of_contents(merged_entries, local_entries)
            and (new_text := write_summary(merged_entries)) != text
        ):
            is_edited_locally = file is None or text_digest(text) != file.base_sha256
            if (edited_text := local_changes.edited_summary(self.folder, text, local_entries, merged_entries)) is None:
                # The new file has only the entries, so a copy keeps the other lines.
                self._copies_by_path[SUMMARY] = data
            new_text = edited_text or new_text
            self._put(
                SUMMARY, encode_like(new_text, data), self.result.merged if is_edited_locally else self.result.edited
            )

    def _server_entries(self, base: TableOfContents) -> TableOfContents:
        """Return the space's table of contents, with titles of `base` for pages that were not renamed in the space."""
        base_by_id = {entry.id: entry for entry in walk_entries(base)}
        files_by_id = {file.id: file for file in self.folder.files.values() if file.kind == "page"}
        for entry in walk_entries(self.layout.entries):
            base_entry, file = base_by_id.get(entry.id), files_by_id.get(entry.id)
            if base_entry is not None:
                entry.link_title = entry.link_title or base_entry.link_title
            if base_entry is not None and file is not None:
                title = PageFile(self._last_pulled_text(file) or "").title or base_entry.title
                entry.title = base_entry.title if title == entry.title else entry.title
        return self.layout.entries

    def _merged_entries(self, base: TableOfContents, server: TableOfContents) -> TableOfContents:
        files = {file.id: file for file in self.folder.files.values() if file.kind == "page"}
        missing_ids = {page_id for page_id, file in files.items() if not self.local.has(file)}
        local_entries = local_changes.without_entries(self.local.entries, missing_ids)
        local_entries = local_changes.with_missing_entries(local_entries, base, files.keys() - missing_ids)
        edited_ids = {file.id for file in self._files_deleted_in_space if self.local.is_changed(file)}
        for incoming in self.incoming_files:
            if incoming.id in missing_ids and text_digest(incoming.text) != text_digest(
                self._last_pulled_text(incoming.last_pulled) or ""
            ):
                edited_ids.add(incoming.id)
        merged_contents = local_changes.merge_contents(base, local_entries, server, edited_ids=edited_ids)
        for entry in walk_entries(merged_contents):
            if entry.id in self.layout.paths:
                entry.path = Path(self.layout.paths[entry.id])
        return merged_contents

    def _merge_text(self, incoming: IncomingFile) -> None:
        path, base = incoming.path, self._last_pulled_text(incoming.last_pulled)
        data = self._take_local_data(incoming)
        self._track(incoming, self.folder.store_base(incoming.text))
        new_digest = text_digest(incoming.text)
        if data is not None and (base is None or text_digest(base) != text_digest(text_of(data))):
            old_path = self.local.current_path(incoming.last_pulled) if incoming.last_pulled is not None else path
            data = self._with_updated_links(data, old_path, path)
        if data is None:
            if base is None:
                self._put(path, incoming.text.encode(), self.result.added)
            elif incoming.id in self._merged_ids:
                self._put(path, incoming.text.encode(), self.result.added)
                self._add_conflict(path, "you deleted it, and it changed on main. It is back")
            return
        local_text = text_of(data)
        if text_digest(local_text) == new_digest or (base is not None and text_digest(base) == new_digest):
            self._write_if_changed(incoming, data)
        elif base is not None and text_digest(base) == text_digest(local_text):
            self._put(path, encode_like(incoming.text, data), self.result.edited)
        elif base is None and self._is_first_pull:
            self._write_if_changed(incoming, data)
            self.result.kept.append(path)
        else:
            self._merge_both(incoming, base or "", data)

    @cached_property
    def _moved_paths(self) -> dict[str, str]:
        """New paths of the tracked files that still exist, by local path before the pull. Empty if no path changes."""
        paths = {
            self.local.current_path(file): self.layout.paths[file.id]
            for file in self.folder.files.values()
            if file.id in self.layout.paths
        }
        return paths if any(old != new for old, new in paths.items()) else {}

    def _with_updated_links(self, data: bytes, old_path: str, new_path: str) -> bytes:
        """Return the data of a local file, with links changed so that they lead to the same files after the pull."""

        def new_url(url: str) -> str | None:
            target = linked_path(url, old_path)
            new_target = self._moved_paths.get(target, target if target in self.local.data else "")
            if not new_target or linked_path(url, new_path) == new_target:
                return None
            return relative_url(new_target, new_path, url.partition("#")[2])

        text = text_of(data) if self._moved_paths and is_utf8(data) else ""
        new_text = rewrite_links(text, new_url)
        return data if new_text == text else encode_like(new_text, data)

    def _update_links_of_new_pages(self) -> None:
        tracked_paths = {self.local.current_path(file) for file in self.folder.files.values()}
        for path in self.local.data.keys() - tracked_paths - {*self.layout.paths.values()}:
            if is_page_path(path):
                data = self._with_updated_links(self.local.data[path], path, path)
                if data != self.local.data[path]:
                    self._put(path, data, self.result.merged)

    def _merge_both(self, incoming: IncomingFile, base: str, data: bytes) -> None:
        versions = normalize(base), text_of(data), normalize(incoming.text)
        front_matter = merge_front_matter(*versions, (YOURS, MAIN))
        merged_page = page_merge.merge(*(PageFile(each).body for each in versions))
        text = with_front_matter(front_matter, merged_page.text(main=YOURS, request=MAIN), PageFile(versions[1]).gap)
        self._put(incoming.path, encode_like(text, data), self.result.merged)
        count = len(find_markers(text))
        if merged_page.conflicts or count:  # The local file may also have conflicts from an earlier pull.
            self._copies_by_path[incoming.path] = data
            self._add_conflict(incoming.path, f"{count} {'conflict' if count == 1 else 'conflicts'} with main")
        elif not is_utf8(data):
            self._copies_by_path[incoming.path] = data
            self._add_conflict(
                incoming.path, "your file is not UTF-8, so some characters were replaced. Your original is a copy"
            )

    def _merge_whole(self, incoming: IncomingFile) -> None:
        """Merge a file as a whole, such as an image. If both sides changed it, keep the space's version as a copy."""
        path, data = incoming.path, self._take_local_data(incoming)
        base_digest = incoming.last_pulled.base_sha256 if incoming.last_pulled is not None else ""
        if incoming.kind == "variables":
            new_data, digest = incoming.text.encode(), self.folder.store_base(incoming.text)
        else:
            new_data = incoming.data or b""
            digest = sha256(new_data).hexdigest() if incoming.data is not None else base_digest
        self._track(incoming, digest)
        if data is None:
            if digest != base_digest:
                self._put(path, new_data, self.result.added)
        elif digest == base_digest or self._files_by_path[path].has_content(data):
            self._write_if_changed(incoming, data)
        elif incoming.last_pulled is not None and incoming.last_pulled.has_content(data):
            self._put(path, new_data, self.result.edited)
        elif self._is_first_pull:
            self._write_if_changed(incoming, data)
            self.result.kept.append(path)
        else:
            self._write_if_changed(incoming, data)
            self._copies_by_path[path] = new_data
            self._add_conflict(path, "you changed it, and it changed on main. Your file stays, the other is a copy")

    def _take_local_data(self, incoming: IncomingFile) -> bytes | None:
        """Return the file's local content, None if it has none. If the pull moves the file, plan to rename it."""
        if incoming.last_pulled is None:
            # A file at this path may belong to another page, which this pull moves or deletes.
            is_own = all(self.local.current_path(file) != incoming.path for file in self.folder.files.values())
            if is_own and (data := self.folder.data(incoming.path)) is not None:
                self._untracked_data_by_path[incoming.path] = data
            return self._untracked_data_by_path.get(incoming.path)
        current_path = self.local.current_path(incoming.last_pulled)
        data = self.local.data.get(current_path)
        if data is not None and current_path != incoming.path:
            self.result.renamed.append((current_path, incoming.path))
            self._removed_paths.add(current_path)
        return data

    def _remove(self, file: TrackedFile) -> None:
        path = self.local.current_path(file)
        if path not in self.local.data:
            return
        if file.id in self._merged_ids or (file.kind != "page" and self.local.is_changed(file)):
            self._add_conflict(path, "it was deleted on main, and you changed it. Your file stays as a new one")
        else:
            self._removed_paths.add(path)
            self.result.deleted.append(path)

    def _put(self, path: str, data: bytes, listed_paths: list[str]) -> None:
        self._new_data_by_path[path] = data
        listed_paths.append(path)

    def _write_if_changed(self, incoming: IncomingFile, data: bytes) -> None:
        """Plan to write `data` (local content with updated links) if the file gets new content or a new path."""
        if incoming.path in {new for _, new in self.result.renamed}:
            self._new_data_by_path[incoming.path] = data
        elif data != self.local.data.get(incoming.path, data):
            self._put(incoming.path, data, self.result.merged)

    def _track(self, incoming: IncomingFile, digest: str) -> None:
        self._files_by_path[incoming.path] = TrackedFile(
            incoming.path, incoming.kind, incoming.id, base_sha256=digest, pulled_path=incoming.pulled_path
        )

    def _add_conflict(self, path: str, message: str) -> None:
        self.result.conflicts.append(Problem(path, message))

    def _write(self) -> None:
        for path, data in self._copies_by_path.items():
            self.folder.keep_copy(path, data)
        removed_paths = self._removed_paths - self._new_data_by_path.keys()
        read_data_by_path = self.local.data | self._untracked_data_by_path
        for path, reason in self.folder.write(self._new_data_by_path, removed_paths, read_data_by_path).items():
            if (file := self._files_by_path.pop(path, None)) is not None:
                self.folder.skipped_ids.add(file.id or path)
            self.result.skipped.append(Problem(path, f"Skipped a file: {reason}."))
            for paths in (self.result.added, self.result.edited, self.result.merged):
                if path in paths:
                    paths.remove(path)
        self.folder.files = self._files_by_path
        self.folder.revision_id = self.result.revision_id
        self.folder.save()
        self.folder.remove_unused_texts()


Report = Callable[[str], object]


async def pull(folder: PulledFolder, reader: SpaceReader, *, report: Report = lambda sentence: None) -> PullResult:
    """Merge the content from `reader` into a folder. `report` gets sentences about the progress. Raises ApiError,
    OSError, NotPulled, or FolderInUse if files are changed while they are merged."""
    revision = await reader.revision()
    if revision.id == folder.revision_id and folder.files and not folder.skipped_ids:
        paths_by_id = {file.id: file.path for file in folder.files.values() if file.id}
        layout = FolderLayout.of(revision, folder.space_id, paths_by_id)
        return PullResult(revision.id, is_current=True, skipped=[*layout.skipped, *_missing_includes(folder, layout)])
    proposed_ids = await finish_proposal(folder, reader.send)
    revision_before = None
    if folder.revision_id:
        at = RevisionRef(space_id=folder.space_id, revision_id=folder.revision_id)
        revision_before = await replace(reader, at=at).revision()
    layout, pulled_paths = _layout(folder, LocalFiles.read(folder), revision)
    while True:
        incoming_reader = _IncomingReader(folder, layout, pulled_paths, revision_before, proposed_ids)
        incoming_files = await incoming_reader.read(reader, report)
        # The user may have changed files during the requests, which can change the layout.
        local = LocalFiles.read(folder)
        earlier_paths = layout.paths
        layout, pulled_paths = _layout(folder, local, revision)
        if layout.paths == earlier_paths:
            break
    folder.skipped_ids = set(incoming_reader.skipped)
    all_skipped = [*layout.skipped, *_missing_includes(folder, layout), *incoming_reader.skipped.values()]
    result = PullResult(revision.id, skipped=all_skipped)
    FolderMerge(folder, local, layout, incoming_files, result).apply()
    return result


async def finish_proposal(folder: PulledFolder, send: Send) -> frozenset[str]:
    """If the proposed change request was merged, record its files as pulled. Forget the proposal unless it is open or a
    draft. Return the IDs of the merged pages, else empty. The caller must save the folder. Raises ApiError."""
    change_request_id = folder.proposal.get("changeRequest")
    if not change_request_id:
        return frozenset()
    try:
        at = ChangeRequestRef(space_id=folder.space_id, change_request_id=change_request_id)
        status = (await send(change_requests.Get(at=at))).status
    except NotFound:
        status = "archived"
    if status in ("open", "draft"):
        return frozenset()
    page_ids = {page["id"] for page in folder.proposal.get("pages", {}).values()} if status == "merged" else set()
    if status == "merged":
        folder.files = files_after_proposal(folder)
    others = folder.proposal.get("others")
    folder.proposal = {"others": others} if others else {}
    return frozenset(page_ids)


def _layout(folder: PulledFolder, local: LocalFiles, revision: Revision) -> tuple[FolderLayout, Mapping[str, str]]:
    """Return the layout of a revision in this folder, and the paths that a first pull would give its items, by ID."""
    new_layout = FolderLayout.of(revision, folder.space_id)
    known_paths_by_id: dict[str, str] = {}
    file_ids = {file.id for file in revision.files}
    for file in folder.files.values():
        path = local.current_path(file)
        new_path = new_layout.paths.get(file.id, path)
        is_taken = new_path in local.data or (folder.pages / new_path).exists() or passes_link(folder.pages, new_path)
        has_moved_in_space = bool(file.pulled_path) and _path_without_suffix(new_path) not in (
            _path_without_suffix(file.pulled_path),
            _path_without_suffix(path),
        )
        is_moved = has_moved_in_space and path == file.path and not is_taken
        if file.id in new_layout.pages or file.id in file_ids:
            known_paths_by_id[file.id] = new_path if is_moved else path
        elif file.id in new_layout.paths and _slug(file.path) == _slug(new_path):
            known_paths_by_id[file.id] = file.path  # Earlier versions of Octavo kept accents in names of includes.
    deleted_files = [file for file in folder.files.values() if file.id and file.id not in known_paths_by_id]
    kept_paths = {local.current_path(file) for file in deleted_files if local.is_changed(file)} & local.data.keys()
    return FolderLayout.of(revision, folder.space_id, known_paths_by_id, kept_paths), new_layout.paths


def _missing_includes(folder: PulledFolder, layout: FolderLayout) -> Iterator[Problem]:
    for reusable in layout.revision.reusable_contents:
        path = layout.paths.get(reusable.id)
        if path is not None and folder.data(path) is None:
            yield Problem(path, "Skipped reusable content: the API does not return its text.")


def _slug(path: str) -> str:
    return page_trees.page_slug(PurePosixPath(path).stem)


def _path_without_suffix(path: str) -> str:
    """Return a path without `.md` or `/README.md`, so that it stays the same when a page gets its first subpage."""
    return path.removesuffix(".md").removesuffix("/README")


@dataclass
class _IncomingReader:
    """Reads the pages and files of a revision, but loads no content that is unchanged since the last pull."""

    folder: PulledFolder
    layout: FolderLayout
    pulled_paths: Mapping[str, str]
    last_revision: Revision | None
    proposed_ids: frozenset[str]
    """IDs of the pages in a merged proposal. Their texts are read even if the pages seem unchanged."""
    skipped: dict[str, Problem] = field(default_factory=dict)
    """Pages and files whose content the server does not return, by ID."""

    async def read(self, reader: SpaceReader, report: Report) -> list[IncomingFile]:
        tracked_by_id = {file.id: file for file in self.folder.files.values() if file.id}
        pages = [
            page for page in self.layout.pages.values() if page.type == "document" and page.id in self.layout.paths
        ]
        changed_pages = [page for page in pages if not self._is_unchanged(page, tracked_by_id.get(page.id))]

        def report_progress(read_count: int) -> None:
            report(f"Reading {read_count} of {len(changed_pages)} pages…")

        texts = await reader.texts(changed_pages, report_progress)
        for page in changed_pages:
            if page.id not in texts:
                self.skipped[page.id] = Problem(
                    self.layout.paths[page.id], "Skipped a page: the API does not return its text."
                )
        unread_ids = {page.id for page in changed_pages} - texts.keys() - tracked_by_id.keys()
        incoming_files = [
            self._page(page, texts.get(page.id), tracked_by_id.get(page.id))
            for page in pages
            if page.id not in unread_ids
        ]
        files = [file for file in self.layout.revision.files if file.id in self.layout.paths]
        for number, file in enumerate(files):
            report(f"Reading {number + 1} of {len(files)} files…")
            if (incoming_file := await self._file(file, tracked_by_id.get(file.id), reader)) is not None:
                incoming_files.append(incoming_file)
            else:
                problem = "Skipped a file: the API does not return a link to its content."
                self.skipped[file.id] = Problem(self.layout.paths[file.id], problem)
        if variables := self.layout.variables_text():
            path = VARIABLES.as_posix()
            incoming_files.append(
                IncomingFile(path, path, "variables", "", variables, last_pulled=self.folder.files.get(path))
            )
        return incoming_files

    def _is_unchanged(self, page: Page, file: TrackedFile | None) -> bool:
        """Return whether a page is certainly unchanged since the last pull. Its text is then not read."""
        if file is None or self.last_revision is None or page.document_id is None or page.id in self.proposed_ids:
            return False
        if self._has_moved_files or page.id in self.folder.skipped_ids:
            return False
        before = self.last_revision.find(page.id)
        return before is not None and _own_fields(before) == _own_fields(page)

    @cached_property
    def _has_moved_files(self) -> bool:
        """True if the path of a file has changed, so that links to this file have changed too."""
        return any(
            self.layout.paths.get(file.id, file.path) != file.path for file in self.folder.files.values() if file.id
        )

    def _page(self, page: Page, markdown: str | None, file: TrackedFile | None) -> IncomingFile:
        path = self.layout.paths[page.id]
        if file is not None:
            text_before = self.folder.base_text(file.base_sha256)
        else:
            # Do not take over the front matter of another page's file.
            is_own = path not in self.folder.files
            text_before = self.folder.text(path) if is_own else ""
        text = self.layout.page_file_text(page.id, markdown, text_before) if markdown is not None else text_before
        return IncomingFile(path, self.pulled_paths.get(page.id, path), "page", page.id, text, last_pulled=file)

    async def _file(self, file: File, tracked: TrackedFile | None, reader: SpaceReader) -> IncomingFile | None:
        path = self.layout.paths[file.id]
        before = (
            next((each for each in self.last_revision.files if each.id == file.id), None)
            if self.last_revision
            else None
        )
        is_same = tracked is not None and before is not None and _identity(before) == _identity(file)
        is_same = is_same and file.id not in self.folder.skipped_ids
        data = None if is_same else await reader.file(file)
        if data is None and not is_same:
            return None
        return IncomingFile(path, self.pulled_paths.get(file.id, path), "file", file.id, data=data, last_pulled=tracked)


def _own_fields(page: Page) -> Page:
    return page.model_copy(update={"pages": (), "updated_at": None, "created_at": None, "git": None})


def _identity(file: File) -> tuple[str, int, str]:
    # Ignore the query of the URL, because its signature may be new in each response.
    return file.name, file.size, (file.download_url or "").partition("?")[0]
