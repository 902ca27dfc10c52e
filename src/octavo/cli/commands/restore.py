"""`octavo restore`: discard your changes in files of a pulled folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api.content import GetFile
from octavo.api.places import RevisionRef
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import NOT_FOUND, Failure
from octavo.cli.pulled_folders import check_origin, file_failures, path_in, this_folder
from octavo.cli.standard_streams import write_out
from octavo.files.local_changes import LocalFiles
from octavo.files.pulled_folder import PulledFolder, TrackedFile
from octavo.files.space_reader import SpaceReader
from octavo.settings import did_you_mean

if TYPE_CHECKING:
    from octavo.tui.core.session import Session


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="a file of the folder, also one that you deleted")


def run(options: argparse.Namespace) -> int:
    folder = this_folder()
    with file_failures("restore"):
        local = LocalFiles.read(folder)
        chosen = [_find_tracked_file(folder, local, path_in(folder, each)) for each in options.files]
        unlock = folder.lock()
        try:
            for file in chosen:
                if file.is_text:
                    _restore(folder, local, file, folder.base_text(file.base_sha256).encode("utf-8", "surrogatepass"))
        finally:
            unlock()
    downloaded = [file for file in chosen if not file.is_text and local.is_changed(file)]
    return _download(options, folder, local, downloaded) if downloaded else 0


def _find_tracked_file(folder: PulledFolder, local: LocalFiles, path: str) -> TrackedFile:
    """Return the pulled file whose path is `path` now, or was at the last pull. Raises Failure if there is none."""
    for file in folder.files.values():
        if path in (file.path, local.current_path(file)):
            return file
    hint = did_you_mean(path, folder.files)
    raise Failure(f"Could not restore {path}: it was not in the last pull.{hint}", NOT_FOUND)


def _restore(folder: PulledFolder, local: LocalFiles, file: TrackedFile, data: bytes) -> None:
    """Write a file as it was at the last pull. First store a copy of the file that is replaced. Raises Failure or
    OSError."""
    mine = local.data.get(file.path)
    if mine is not None and not local.is_changed(file):
        write_out(f"{file.path} has no changes.\n")
        return
    copy = folder.keep_copy(file.path, mine) if mine is not None else ""
    if reason := folder.write(file.path, data):
        raise Failure(f"Could not restore {file.path}: {reason}.")
    write_out(f"Restored {file.path}.{f' Your version is in {copy}.' if copy else ''}\n")


def _download(options: argparse.Namespace, folder: PulledFolder, local: LocalFiles, files: list[TrackedFile]) -> int:
    """Restore files that are not text. Their bytes are not stored, so download them."""

    async def work(session: Session) -> int:
        check_origin(session, folder)
        at = RevisionRef(space_id=folder.space, revision_id=folder.revision)
        reader = SpaceReader(session.live.send, session.download, at)
        for file in files:
            data = await reader.file(await session.live.send(GetFile(at=at, file_id=file.id)))
            if data is None:
                raise Failure(f"Could not restore {file.path}: the server sent no link to it.")
            with file_failures("restore"):
                _restore(folder, local, file, data)
        return 0

    return run_connected(options, work, action="restore")


COMMAND = Command(
    declare=declare,
    run=run,
    details="Each file gets the text of the last pull. A copy of your version stays in .octavo/conflicts.",
    examples=("octavo restore people/first-week.md", "octavo restore SUMMARY.md README.md"),
    exit_codes={3: "the file was not in the last pull"},
)
