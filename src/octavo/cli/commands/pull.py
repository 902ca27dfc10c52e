"""`octavo pull`: write a space as files, and merge its later changes with yours."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.places import RevisionRef, SpaceRef
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import BLOCKED, USAGE, Failure
from octavo.cli.output import Field, add_output_options, print_object
from octavo.cli.pulled_folders import check_origin, file_failures, origin_of, report_progress, tell_first, this_folder
from octavo.cli.refs import References, parse_ref, short_name
from octavo.cli.standard_streams import tell
from octavo.files.folder_merge import PullResult
from octavo.files.pull import pull
from octavo.files.pulled_folder import CONFLICTS, STATE_FOLDER, PulledFolder
from octavo.files.space_reader import SpaceReader

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

FIELDS = (
    Field("folder", "string"),
    Field("space", "string"),
    Field("revision", "string"),
    Field("isCurrent", "boolean"),
    Field("added", "string[]"),
    Field("edited", "string[]"),
    Field("merged", "string[]"),
    Field("deleted", "string[]"),
    Field("renamed", "object[]"),
    Field("kept", "string[]"),
    Field("conflicts", "object[]"),
    Field("skipped", "object[]"),
)
_START_FILES = ("SUMMARY.md", ".gitbook.yaml")
"""Files that show that a folder belongs to Git Sync. A new pull into a folder that is not empty needs one of them."""


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", nargs="?", metavar="SPACE", help="the space; without SPACE, the folder is updated")
    command.add_argument("directory", nargs="?", metavar="DIR", help="the folder (default: named after the space)")
    command.add_argument("--revision", metavar="ID", help="the revision to write (default: the current one)")
    add_output_options(command, streams=False)


def run(options: argparse.Namespace) -> int:
    known = this_folder() if options.ref is None else None

    async def work(session: Session) -> int:
        folder, name = (known, "") if known is not None else await _folder_of_space(session, options)
        assert folder is not None, "the folder is known or was named"
        check_origin(session, folder)
        at = RevisionRef(space_id=folder.space, revision_id=options.revision) if options.revision else None
        reader = SpaceReader(session.live.send, session.download, at or SpaceRef(space_id=folder.space))
        with file_failures(f"write to {folder.top}"):
            unlock = folder.lock()
            try:
                result = await pull(folder, reader, report=report_progress)
            finally:
                report_progress("")
                unlock()
        return _print(options, folder, name, result)

    return run_connected(options, work, action="pull")


async def _folder_of_space(session: Session, options: argparse.Namespace) -> tuple[PulledFolder, str]:
    """Return the folder to pull into, and the title of the space that the options name. The folder may not exist yet.
    Raises Failure."""
    references = References(session, options)
    ref = parse_ref(options.ref)
    if ref.number is not None or ref.page:
        raise Failure(
            f"Could not pull {options.ref}: only a whole space can be pulled. Write: octavo pull SPACE", USAGE
        )
    space = await references.space(ref.space)
    top = options.directory or short_name(space, await references.spaces())
    return _open(top, origin_of(session), space.id), space.title


def _open(directory: str, origin: str, space: str) -> PulledFolder:
    """Return the pulled folder at a path, or a new one. Raises Failure."""
    top = Path(directory).absolute()
    with file_failures(f"read {top}"):
        if (top / STATE_FOLDER / "state.json").exists():
            folder = PulledFolder.read(top)
            if folder.space != space:
                raise Failure(f"Could not pull into {top}: it has another space. Choose another folder.", USAGE)
            return folder
        if top.exists() and not top.is_dir():
            raise Failure(f"Could not pull into {top}: it is not a folder.", USAGE)
        if top.is_dir() and any(top.iterdir()) and not any((top / each).exists() for each in _START_FILES):
            message = f"Could not pull into {top}: it has other files. Choose a new folder, or one with a SUMMARY.md."
            raise Failure(message, USAGE)
        top.mkdir(parents=True, exist_ok=True)
        return PulledFolder.new(top, origin, space)


def _print(options: argparse.Namespace, folder: PulledFolder, name: str, result: PullResult) -> int:
    row = {
        "folder": str(folder.top),
        "space": folder.space,
        "isCurrent": result.is_current,
        **{key: value for key, value in asdict(result).items() if key not in ("is_current", "renamed")},
        "renamed": [{"before": before, "path": path} for before, path in result.renamed],
    }
    print_object(options, FIELDS, row, lambda: _text(folder, name, result))
    tell_first([f"{each.path}: {each.message}" for each in result.skipped])
    tell_first([f"{each.path}: {each.message}." for each in result.conflicts])
    if result.kept:
        tell(f"Kept {_files(len(result.kept))} that differ from the space. To see the differences, run: octavo diff")
    if result.conflicts:
        tell(f"Copies of your files are in {CONFLICTS}. Edit the files, then run: octavo propose")
    return BLOCKED if result.conflicts else 0


def _text(folder: PulledFolder, name: str, result: PullResult) -> str:
    if result.is_current:
        return "Already up to date.\n"
    lists = (("A", result.added), ("M", result.edited), ("M", result.merged), ("D", result.deleted))
    lines = [f"{letter} {path}" for letter, paths in lists for path in paths]
    lines += [f"R {before} -> {path}" for before, path in result.renamed]
    is_new = len(result.added) == len(lines)
    if is_new and name:
        return f"Pulled {_files(len(result.added))} of {name} into {folder.top}.\n"
    return "".join(f"{line}\n" for line in lines) or "No files changed.\n"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


COMMAND = Command(
    declare=declare,
    run=run,
    details="Writes the files that Git Sync writes: pages, SUMMARY.md and .gitbook/assets. In a pulled folder, octavo pull "
    "merges what changed in the space with your changes. Your text is never replaced without a copy.",
    examples=("octavo pull handbook docs", "octavo pull", "octavo pull handbook old --revision 8f2c1a"),
    fields=FIELDS,
    exit_codes={3: "the space does not exist", 6: "some files are in conflict"},
)
