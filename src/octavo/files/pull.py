"""Brings the content of a space into a folder: reads the pages and files that may have changed, and merges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from octavo.api import change_requests
from octavo.api.content import File, Page, Revision
from octavo.api.errors import NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.documents.folders.folder import VARIABLES, Problem
from octavo.documents.folders.layout import FolderLayout
from octavo.files.folder_merge import FolderMerge, PullResult, WantedFile
from octavo.files.local_changes import LocalFiles, proposed_files
from octavo.files.pulled_folder import PulledFolder, TrackedFile, text_of
from octavo.files.space_reader import SpaceReader

Report = Callable[[str], object]


async def pull(folder: PulledFolder, reader: SpaceReader, *, report: Report = lambda sentence: None) -> PullResult:
    """Bring the content that `reader` reads into a folder. Raises ApiError, OSError or NotPulled."""
    revision = await reader.revision()
    if revision.id == folder.revision and folder.files:
        return PullResult(revision.id, is_current=True)
    proposed = await _settle_proposal(folder, reader)
    local = LocalFiles.read(folder)
    before = await _revision_before(folder, reader)
    layout, server_paths = _layout(folder, local, revision)
    remote = _Remote(folder, local, layout, server_paths, before, proposed)
    wanted = await remote.read(reader, report)
    skipped = [*layout.skipped, *_missing_includes(folder, layout), *remote.skipped]
    result = PullResult(revision.id, skipped=skipped)
    FolderMerge(folder, local, layout, wanted, result).apply()
    return result


async def _settle_proposal(folder: PulledFolder, reader: SpaceReader) -> frozenset[str]:
    """Forget a proposal whose change request was merged or archived. After a merge, the proposed files become the files
    of the last pull. Return the IDs of the proposed pages after a merge, and no IDs otherwise."""
    name = folder.proposal.get("changeRequest")
    if not name:
        return frozenset()
    try:
        at = ChangeRequestRef(space_id=folder.space, change_request_id=name)
        status = (await reader.send(change_requests.Get(at=at))).status
    except NotFound:
        status = "archived"
    if status in ("open", "draft"):
        return frozenset()
    pages = {stored["id"] for stored in folder.proposal.get("pages", {}).values()} if status == "merged" else set()
    if status == "merged":
        folder.files = proposed_files(folder)
    folder.proposal = {}
    return frozenset(pages)


async def _revision_before(folder: PulledFolder, reader: SpaceReader) -> Revision | None:
    """Return the revision of the last pull. None if there was none."""
    if not folder.revision:
        return None
    at = RevisionRef(space_id=folder.space, revision_id=folder.revision)
    return await SpaceReader(reader.send, reader.download, at).revision()


def _layout(folder: PulledFolder, local: LocalFiles, revision: Revision) -> tuple[FolderLayout, Mapping[str, str]]:
    """Return the layout of a revision in the folder, and the paths in a new folder. A file keeps its current path. It
    moves only if its path in the space has changed, the new path is free, and the file was not renamed in the
    folder."""
    new = FolderLayout.of(revision, folder.space)
    known: dict[str, str] = {}
    files = {file.id for file in revision.files}
    for file in folder.files.values():
        path = local.current_path(file)
        wanted = new.paths.get(file.id, path)
        is_free = wanted == path or (wanted not in local.data and not (folder.pages / wanted).exists())
        has_moved = bool(file.server_path) and _path_without_suffix(wanted) not in (
            _path_without_suffix(file.server_path),
            _path_without_suffix(path),
        )
        moves = has_moved and path == file.path and is_free
        if file.id in new.pages or file.id in files:
            known[file.id] = wanted if moves else path
    gone = [file for file in folder.files.values() if file.id and file.id not in known]
    kept = {local.current_path(file) for file in gone if local.is_changed(file)} & local.data.keys()
    return FolderLayout.of(revision, folder.space, known, kept), new.paths


def _missing_includes(folder: PulledFolder, layout: FolderLayout) -> Iterator[Problem]:
    """Yield a problem for each reusable content that pages include but whose file is missing in the folder."""
    for shared in layout.revision.reusable_contents:
        path = layout.paths.get(shared.id)
        if path is not None and folder.data(path) is None:
            yield Problem(path, "Skipped reusable content: the API does not return its text.")


def _path_without_suffix(path: str) -> str:
    """Return a path without the suffixes `.md` and `/README`, which change when a page gets its first subpage."""
    return path.removesuffix(".md").removesuffix("/README")


@dataclass
class _Remote:
    """Reads the files of a revision that may differ from the last pull."""

    folder: PulledFolder
    local: LocalFiles
    layout: FolderLayout
    server_paths: Mapping[str, str]
    before: Revision | None
    proposed: frozenset[str]
    """IDs of the pages whose last known text comes from a merged proposal."""
    skipped: list[Problem] = field(default_factory=list)
    """Pages and files that the server lists without their content."""

    async def read(self, reader: SpaceReader, report: Report) -> list[WantedFile]:
        tracked = {file.id: file for file in self.folder.files.values() if file.id}
        pages = [
            page for page in self.layout.pages.values() if page.type == "document" and page.id in self.layout.paths
        ]
        changed = [page for page in pages if not self._is_unchanged(page, tracked.get(page.id))]

        def report_progress(done: int) -> None:
            report(f"Reading {done} of {len(changed)} pages…")

        texts = await reader.texts(changed, report_progress)
        for page in changed:
            if page.id not in texts:
                self.skipped.append(
                    Problem(self.layout.paths[page.id], "Skipped a page: the API does not return its text.")
                )
        unread = {page.id for page in changed} - texts.keys() - tracked.keys()
        wanted = [self._page(page, texts.get(page.id), tracked.get(page.id)) for page in pages if page.id not in unread]
        files = [file for file in self.layout.revision.files if file.id in self.layout.paths]
        for number, file in enumerate(files):
            report(f"Reading {number + 1} of {len(files)} files…")
            if (found := await self._file(file, tracked.get(file.id), reader)) is not None:
                wanted.append(found)
            else:
                problem = "Skipped a file: the API does not return a link to its content."
                self.skipped.append(Problem(self.layout.paths[file.id], problem))
        if variables := self.layout.variables():
            path = VARIABLES.as_posix()
            wanted.append(WantedFile(path, path, "variables", "", variables, before=self.folder.files.get(path)))
        return wanted

    def _is_unchanged(self, page: Page, file: TrackedFile | None) -> bool:
        """Return whether the file of a page is as in the last pull. False if that is unknown."""
        if file is None or self.before is None or page.document_id is None or page.id in self.proposed:
            return False
        if self._has_moved:
            return False
        before = self.before.find(page.id)
        return before is not None and _own_fields(before) == _own_fields(page)

    @property
    def _has_moved(self) -> bool:
        """Whether the path of any file has changed since the last pull. If so, links to that file have changed too."""
        return any(
            self.layout.paths.get(file.id, file.path) != file.path for file in self.folder.files.values() if file.id
        )

    def _page(self, page: Page, markdown: str | None, file: TrackedFile | None) -> WantedFile:
        path = self.layout.paths[page.id]
        before = self.folder.base_text(file.base_sha256) if file is not None else text_of(self.folder.data(path) or b"")
        text = self.layout.page_file(page.id, markdown, before) if markdown is not None else before
        return WantedFile(path, self.server_paths.get(page.id, path), "page", page.id, text, before=file)

    async def _file(self, file: File, tracked: TrackedFile | None, reader: SpaceReader) -> WantedFile | None:
        path = self.layout.paths[file.id]
        before = next((each for each in self.before.files if each.id == file.id), None) if self.before else None
        is_same = tracked is not None and before is not None and _identity(before) == _identity(file)
        data = None if is_same else await reader.file(file)
        if data is None and not is_same:
            return None
        return WantedFile(path, self.server_paths.get(file.id, path), "file", file.id, data=data, before=tracked)


def _own_fields(page: Page) -> Page:
    return page.model_copy(update={"pages": (), "updated_at": None, "created_at": None, "git": None})


def _identity(file: File) -> tuple[str, int, str]:
    # The query can contain a signature that is new for each response.
    return file.name, file.size, (file.download_url or "").partition("?")[0]
