"""Imports: the content at a URL is added as pages at the end of a space or change request."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from octavo.api import imports
from octavo.api.folding import fold
from octavo.api.places import ChangeRequestRef
from octavo.documents.folders.folder import EXTERNAL_URL
from octavo.documents.link_rewriting import rewrite_links
from octavo.documents.page_trees import Pages
from octavo.server import loader
from octavo.server.fetcher import FetchedFile, Fetcher
from octavo.server.handlers import change_requests, revisions, uploads
from octavo.server.handlers.permissions import require
from octavo.server.rest import handle, omit
from octavo.server.store import Json
from octavo.server.world import BackgroundWork, Refusal, World
from octavo.settings.extras import has_extra, how_to_install

if TYPE_CHECKING:
    from octavo.server.import_sources import ImportedFiles

_SUPPORTED_SOURCES = ("website", "html", "markdown", "docx", "zip")


@handle.register
def _create(op: imports.Create, world: World) -> BackgroundWork[Any]:
    _require_editable(op, world)
    if op.source not in _SUPPORTED_SOURCES:
        sentence = f"source {op.source} is not supported. Export it as markdown, html, docx, or zip"
        raise Refusal(400, f"{sentence}, then import that file.")
    is_large = op.source in ("zip", "docx")
    return BackgroundWork(
        partial(_read_source, op, _fetcher(op, world)), partial(_add_imported, op, world), is_large=is_large
    )


def _fetcher(op: imports.Create, world: World) -> Fetcher:
    """Return the fetcher for an import. Uploaded files are read from the store, because their URL accepts no downloads."""
    fetcher = Fetcher(private=world.private_imports)
    if (key := uploads.upload_key(world, op.url)) is None:
        return fetcher
    organization = world.store.get(f"/spaces/{op.at.space_id}")["organization"]
    upload = uploads.find_upload(world, organization, key, "import_file")
    return _UploadFetcher(
        private=False, file=FetchedFile(upload["name"], upload["type"], None, world.store.blob(upload["blob"]))
    )


@dataclass(frozen=True)
class _UploadFetcher(Fetcher):
    """Fetcher that returns an uploaded file."""

    file: FetchedFile = field(kw_only=True)

    def fetch(self, url: str) -> FetchedFile:
        return self.file


def _require_editable(op: imports.Create, world: World) -> None:
    """Raise Refusal if the caller may not edit the content, or if the content is closed for edits."""
    space = world.store.get(f"/spaces/{op.at.space_id}")
    if isinstance(op.at, ChangeRequestRef):
        require(world, space, "edit")
        change_requests.refuse_closed(world.store.get(change_requests.change_request_path(op.at)), "receive imports")
        return
    require(world, space, "create")
    if space.get("editMode") == "locked":
        raise Refusal(
            409, f"“{space['title']}” can only be edited in change requests. Import into a change request instead."
        )


def _read_source(op: imports.Create, fetcher: Fetcher) -> ImportedFiles:
    if not has_extra("import"):
        raise Refusal(400, f"Could not import: {how_to_install('import')}")
    # lazy: beautifulsoup4, markdownify and mammoth, which only imports need.
    from octavo.server.import_sources import ImportFailure, read_source

    try:
        return read_source(op.source, op.url, fetcher)
    except ImportFailure as failure:
        raise Refusal(400, f"{failure}. Nothing was imported.") from None


def _add_imported(op: imports.Create, world: World, imported: ImportedFiles) -> Json:
    _require_editable(op, world)  # The change request may have been merged, or the space locked, during the download.
    pages, files = _load_files(world, imported)
    before = revisions.get_at(world, op.at)
    revision = revisions.add_next(world, before, pages=[*before["pages"], *pages], files=[*before["files"], *files])
    if isinstance(op.at, ChangeRequestRef):
        change_requests.record_edit(world, world.store.get(change_requests.change_request_path(op.at)), revision)
    else:
        revisions.set_current(world, op.at.space_id, revision)
    return {
        "revision": revision["id"],
        "importedResources": imported.pages,
        "totalResources": max(imported.total, imported.pages),
    }


def _load_files(world: World, imported: ImportedFiles) -> tuple[Pages, list[Json]]:
    """Return the imported pages and files, with links by ID."""
    with TemporaryDirectory(prefix="octavo-import-") as place:
        for path, data in imported.files.items():
            _write_file(Path(place, path), data)
        loaded = loader.content(world, Path(place))
    keys = {fold(name): key for name, key in loaded["keys"].items()} | loaded["keys"]
    pages: Pages = [_detach_page(world, page, keys) for page in loaded["pages"]]
    return pages, [omit(file, "git") for file in loaded["files"]]


def _write_file(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError:
        pass  # An archive can contain a file and a folder with the same name. The first is kept.


def _detach_page(world: World, page: Json, keys: dict[str, str]) -> Json:
    """Return an imported page with links by ID, and without the path of its file."""
    detached = omit(page, "git")
    if page.get("text"):
        start = page["git"]["path"]
        detached = revisions.with_text(
            world, detached, rewrite_links(revisions.page_text(world, page), partial(_link_by_id, keys, start))
        )
    if "pages" in page:
        detached["pages"] = [_detach_page(world, below, keys) for below in page["pages"]]
    return detached


def _link_by_id(keys: dict[str, str], start: str, address: str) -> str | None:
    """Return the link by ID for the URL of an imported page or file. None for other URLs."""
    path, anchor = re.split("[?#]", address, maxsplit=1)[0], address.partition("#")[2]
    if not path or EXTERNAL_URL.match(path):
        return None
    folder = "" if path.startswith("/") else posixpath.dirname(start)
    path_in_import = posixpath.normpath(posixpath.join(folder, unquote(path).lstrip("/")))
    converted = f"{posixpath.splitext(path_in_import)[0]}.md"
    names = (path_in_import, f"{path_in_import}.md", f"{path_in_import}/README.md", converted)
    page_keys = [f"page:{name}" for name in names]
    if page := next((keys[name] for name in [*page_keys, *map(fold, page_keys)] if name in keys), None):
        return f"/pages/{page}#{anchor}" if anchor else f"/pages/{page}"
    file = keys.get(f"file:{path_in_import}") or keys.get(fold(f"file:{path_in_import}"))
    return f"/files/{file}" if file else None
