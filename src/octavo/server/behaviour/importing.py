"""Imports: what an address names becomes pages at the end of the content."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from octavo.api import imports
from octavo.api.folding import fold
from octavo.api.places import ChangeRequestRef
from octavo.documents.page_trees import Pages
from octavo.server.background import Errand
from octavo.server.behaviour import change_requests, revisions, storage
from octavo.server.behaviour.permissions import need
from octavo.server.fetching import Fetched, Fetcher
from octavo.server.folder import ELSEWHERE
from octavo.server.folders import relinked
from octavo.server.gathering import Gathered, NotGathered, gather
from octavo.server.rest import handle, without
from octavo.server.store import Json
from octavo.server.world import Refused, World

_READ = ("website", "html", "markdown", "docx", "zip")


@handle.register
def _create(op: imports.Create, world: World) -> Errand[Gathered | NotGathered]:
    _refuse(op, world)
    if op.source not in _READ:
        sentence = f"source {op.source} is not supported. Export it as markdown, html, docx, or zip"
        raise Refused(400, f"{sentence}, then import that file.")
    is_large = op.source in ("zip", "docx")
    return Errand(partial(_gather, op, _fetcher(op, world)), partial(_bring_in, op, world), is_large=is_large)


def _fetcher(op: imports.Create, world: World) -> Fetcher:
    """What fetches the address. That of a file which was sent to storage is nobody's to fetch but ours."""
    fetcher = Fetcher(private=world.private_imports)
    if (upload := storage.at_address(world, op.url)) is None:
        return fetcher
    organization = world.store.get(f"/spaces/{op.at.space_id}")["organization"]
    sent = storage.uploaded(world, organization, upload, "import_file")
    return _Sent(private=False, file=Fetched(sent["name"], sent["type"], None, world.store.blob(sent["blob"])))


@dataclass(frozen=True)
class _Sent(Fetcher):
    """Gives a file that was sent to storage."""

    file: Fetched = field(kw_only=True)

    def fetch(self, url: str) -> Fetched:
        return self.file


def _refuse(op: imports.Create, world: World) -> None:
    """Refuse those who may not edit this content, and content that cannot be edited."""
    space = world.store.get(f"/spaces/{op.at.space_id}")
    if isinstance(op.at, ChangeRequestRef):
        need(world, space, "edit")
        change_requests.refuse_closed(world.store.get(change_requests.path_of(op.at)), "receive imports")
        return
    need(world, space, "create")
    if space.get("editMode") == "locked":
        raise Refused(
            409, f"“{space['title']}” can only be edited in change requests. Import into a change request instead."
        )


def _gather(op: imports.Create, fetcher: Fetcher) -> Gathered | NotGathered:
    try:
        return gather(op.source, op.url, fetcher)
    except NotGathered as failure:
        return failure


def _bring_in(op: imports.Create, world: World, gathered: Gathered | NotGathered) -> Json:
    if isinstance(gathered, NotGathered):
        raise Refused(400, f"{gathered}. Nothing was imported.")
    _refuse(op, world)  # it may have been merged, or locked, while we were away
    pages, files = _made(world, gathered)
    before = revisions.at(world, op.at)
    revision = revisions.next_after(world, before, pages=[*before["pages"], *pages], files=[*before["files"], *files])
    if isinstance(op.at, ChangeRequestRef):
        change_requests.edited(world, world.store.get(change_requests.path_of(op.at)), revision)
    else:
        revisions.move_primary(world, op.at.space_id, revision)
    return {
        "revision": revision["id"],
        "importedResources": gathered.pages,
        "totalResources": max(gathered.total, gathered.pages),
    }


def _made(world: World, gathered: Gathered) -> tuple[Pages, list[Json]]:
    """Pages and files of what was gathered: read as a folder is, with links that lead by id."""
    # Loading folders brings what the first screen does not need.
    from octavo.server.loader import content

    with TemporaryDirectory(prefix="octavo-import-") as place:
        for path, data in gathered.files.items():
            _write(Path(place, path), data)
        loaded = content(world, Path(place))
    keys = {fold(name): key for name, key in loaded["keys"].items()} | loaded["keys"]
    pages: Pages = [_settled(world, page, keys) for page in loaded["pages"]]
    return pages, [without(file, "git") for file in loaded["files"]]


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError:
        pass  # an archive may hold a file and a folder of one name: the first stays


def _settled(world: World, page: Json, keys: dict[str, str]) -> Json:
    """A page that no longer lies in a folder: without its file, and with links by id."""
    rest = without(page, "git")
    if page.get("text"):
        start = page["git"]["path"]
        rest = revisions.written(world, rest, relinked(revisions.text(world, page), partial(_leads, keys, start)))
    if "pages" in page:
        rest["pages"] = [_settled(world, below, keys) for below in page["pages"]]
    return rest


def _leads(keys: dict[str, str], start: str, address: str) -> str | None:
    """The address by id of a page or file that came along. None for everything else."""
    path, anchor = re.split("[?#]", address, maxsplit=1)[0], address.partition("#")[2]
    if not path or ELSEWHERE.match(path):
        return None
    folder = "" if path.startswith("/") else posixpath.dirname(start)
    there = posixpath.normpath(posixpath.join(folder, unquote(path).lstrip("/")))
    converted = f"{posixpath.splitext(there)[0]}.md"
    names = (there, f"{there}.md", f"{there}/README.md", converted)
    written = [f"page:{name}" for name in names]
    if page := next((keys[name] for name in [*written, *map(fold, written)] if name in keys), None):
        return f"/pages/{page}#{anchor}" if anchor else f"/pages/{page}"
    file = keys.get(f"file:{there}") or keys.get(fold(f"file:{there}"))
    return f"/files/{file}" if file else None
