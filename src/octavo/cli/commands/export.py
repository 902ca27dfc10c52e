"""`octavo export`: write changes that were merged in Octavo back to a folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.places import SpaceRef
from octavo.cli import platforms
from octavo.cli.access import read_settings
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import Failure
from octavo.cli.output import Column, Field, Output, add_output_options
from octavo.cli.platform_folders import folder_of_pages
from octavo.cli.pulled_folders import file_failures, tell_first
from octavo.cli.standard_streams import tell
from octavo.documents.folders.folder import fingerprint
from octavo.files.folder_merge import export_changes, folder_to_export, write_export
from octavo.files.local_changes import STATUS_WORDS
from octavo.files.space_reader import SpaceReader

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

FIELDS = (Field("status", "string"), Field("path", "string"), Field("meaning", "string"))
COLUMNS = (
    Column("status", " ", colors={"M": "yellow", "A": "green", "D": "red"}),
    Column("path", "file"),
    Column("meaning", ""),
)


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "exported_folder", type=Path, metavar="FOLDER", help="a folder that you opened with octavo open"
    )
    command.add_argument("--write", action="store_true", help="write the changes to the folder")
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    path: Path = options.exported_folder.expanduser()
    options.pages_folder = path
    before = fingerprint(path)

    async def work(session: Session) -> int:
        assert session.folder_warnings is not None, "the session shows a folder"
        await session.folder_warnings()
        space = platforms.space_of_folder(folder_of_pages(read_settings(), path), path)
        if space is None:
            raise Failure(f"Could not export to {path}: Octavo has no copy of it. Run: octavo open {path}")
        with file_failures(f"export to {path}"):
            folder = folder_to_export(path, space)
            reader = SpaceReader(session.live.send, session.download, SpaceRef(space_id=space))
            changes, skipped = await export_changes(folder, reader)
            if options.write:
                if fingerprint(path) != before:
                    raise Failure(f"Could not export to {path}: its files changed meanwhile. Run the command again.")
                skipped = (*skipped, *write_export(folder, changes))
        with Output(options, FIELDS, COLUMNS, empty="The folder has all merged changes.") as output:
            for each in changes:
                output.add({"status": each.status, "path": each.path, "meaning": STATUS_WORDS[each.status]})
        tell_first([f"{each.path}: {each.message}" for each in skipped])
        if changes and not options.write:
            tell(f"Nothing was written. To write these files, run: octavo export {path} --write")
        return 0

    return run_connected(options, work, action="export")


COMMAND = Command(
    declare=declare,
    run=run,
    details="A merge in an opened folder changes Octavo's copy only. This command lists the files that differ, and writes "
    "them with --write. Front matter that Octavo does not know stays.",
    examples=("octavo export ./docs", "octavo export ./docs --write"),
    fields=FIELDS,
)
