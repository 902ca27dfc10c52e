"""`octavo pull` writes a space as files, and later merges its changes with yours. `octavo status` lists your changes,
`octavo restore` discards them, and `octavo propose` makes a change request of them. `octavo export` writes merged
changes back to a folder that you opened."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.api.content import GetFile
from octavo.api.operation import RevisionRef, SpaceRef
from octavo.cli import platforms
from octavo.cli.access import read_settings
from octavo.cli.arguments import not_empty
from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.output import Output, OutputColumn, add_output_options, declare_fields, print_object
from octavo.cli.platform_folders import platform_folder_of
from octavo.cli.pulled_folders import (
    check_origin,
    file_errors_as_failure,
    find_pulled_folder,
    path_in,
    report_progress,
    session_origin,
    tell_first,
)
from octavo.cli.refs import Ref, RefResolver, parse_ref, revision_id, short_name
from octavo.cli.standard_streams import (
    BLOCKED,
    FAILED,
    NOT_FOUND,
    UNKNOWN,
    USAGE,
    Failure,
    ignore_closed_pipe,
    tell,
    write_out,
)
from octavo.documents.folders.folder import fingerprint
from octavo.documents.folders.layout import SUMMARY, encode_like
from octavo.documents.source_reader import find_markers
from octavo.files.folder_export import export_changes, write_export
from octavo.files.folder_merge import PullResult, pull
from octavo.files.local_changes import STATUS_WORDS, LocalFiles
from octavo.files.proposal import Proposal, ProposalFailed
from octavo.files.proposal_plan import ProposalPlan
from octavo.files.pulled_folder import CONFLICTS_FOLDER, STATE_FOLDER, PulledFolder, SpaceReader, TrackedFile
from octavo.settings.file import did_you_mean
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.core.session import Session

PULL_FIELDS = declare_fields(
    "folder string, space string, revision string, isCurrent boolean, added string[], edited string[], "
    "merged string[], deleted string[], renamed object[], kept string[], conflicts object[], skipped object[]"
)
_START_FILES = ("SUMMARY.md", ".gitbook.yaml", STATE_FOLDER)
"""A folder with files must have one of these files before its first pull, as a sign that it is for pages."""


def _declare_pull(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", nargs="?", metavar="SPACE", help="the space; without SPACE, the folder is updated")
    command.add_argument("directory", nargs="?", metavar="DIR", help="the folder (default: named after the space)")
    command.add_argument(
        "--revision", type=revision_id, metavar="ID", help="the revision to write (default: the current one)"
    )
    add_output_options(command, prints_rows=False)


def _run_pull(options: argparse.Namespace) -> int:
    current_folder = find_pulled_folder() if options.ref is None else None

    async def use_session(session: Session) -> int:
        folder, name = (current_folder, "") if current_folder is not None else await _folder_of_space(session, options)
        check_origin(session, folder)
        at = RevisionRef(space_id=folder.space_id, revision_id=options.revision) if options.revision else None
        reader = SpaceReader(session.live.send, session.download, at or SpaceRef(space_id=folder.space_id))
        with file_errors_as_failure(f"write to {folder.top}"), folder.locked() as locked_folder:
            if find_markers(locked_folder.text(SUMMARY)):
                message = f"Could not pull: {SUMMARY} has conflict markers. Edit the file, then run: octavo pull"
                raise Failure(message, BLOCKED)
            try:
                result = await pull(locked_folder, reader, report=report_progress)
            finally:
                report_progress("")
        return _print_pull(options, locked_folder, name, result)

    return run_connected(options, use_session, action="pull")


async def _folder_of_space(session: Session, options: argparse.Namespace) -> tuple[PulledFolder, str]:
    """Open or create the folder for the space that the command line names. Return folder and title. Raises Failure."""
    resolver = RefResolver(session, options)
    ref = parse_ref(options.ref)
    if ref.number is not None or ref.page:
        raise Failure(
            f"Could not pull {options.ref}: only a whole space can be pulled. Write: octavo pull SPACE", USAGE
        )
    space = await resolver.space(ref.space)
    top = options.directory or short_name(space, await resolver.spaces())
    return _open_or_create_folder(top, session_origin(session), space.id), space.title


def _open_or_create_folder(directory: str, origin: str, space_id: str) -> PulledFolder:
    top = Path(directory).absolute()
    with file_errors_as_failure(f"read {top}"):
        if (top / STATE_FOLDER / "state.json").exists():
            folder = PulledFolder.read(top)
            if folder.space_id != space_id:
                raise Failure(f"Could not pull into {top}: it has another space. Choose another folder.", USAGE)
            return folder
        if top.exists() and not top.is_dir():
            raise Failure(f"Could not pull into {top}: it is not a folder.", USAGE)
        if top.is_dir() and any(top.iterdir()) and not any((top / each).exists() for each in _START_FILES):
            message = f"Could not pull into {top}: it has other files. Choose a new folder, or one with a SUMMARY.md."
            raise Failure(message, USAGE)
        top.mkdir(parents=True, exist_ok=True)
        return PulledFolder.new(top, origin, space_id)


def _print_pull(options: argparse.Namespace, folder: PulledFolder, name: str, result: PullResult) -> int:
    row = {
        "folder": str(folder.top),
        "space": folder.space_id,
        "revision": result.revision_id,
        "isCurrent": result.is_current,
        "added": result.added,
        "edited": result.edited,
        "merged": result.merged,
        "deleted": result.deleted,
        "renamed": [{"before": before, "path": path} for before, path in result.renamed],
        "kept": result.kept,
        "conflicts": [asdict(each) for each in result.conflicts],
        "skipped": [asdict(each) for each in result.skipped],
    }
    print_object(options, PULL_FIELDS, row, lambda: _pull_text(folder, name, result))
    tell_first([f"{each.path}: {each.message}" for each in result.skipped])
    tell_first([f"{each.path}: {each.message}." for each in result.conflicts])
    if result.kept:
        tell(
            f"Kept {plural(len(result.kept), 'file')} that differ from the space. To see the differences, run: octavo diff"
        )
    if result.conflicts:
        tell(f"Copies of your files are in {CONFLICTS_FOLDER}. Edit the files, then run: octavo propose")
    if result.skipped and all(file.kind != "page" for file in folder.files.values()):
        return FAILED
    return BLOCKED if result.conflicts else 0


def _pull_text(folder: PulledFolder, name: str, result: PullResult) -> str:
    if result.is_current:
        return "Already up to date.\n"
    lists = (("A", result.added), ("M", result.edited), ("M", result.merged), ("D", result.deleted))
    lines = [f"{letter} {path}" for letter, paths in lists for path in paths]
    lines += [f"R {before} -> {path}" for before, path in result.renamed]
    is_new = len(result.added) == len(lines)
    if is_new and name:
        return f"Pulled {plural(len(result.added), 'file')} of {name} into {folder.top}.\n"
    return "".join(f"{line}\n" for line in lines) or "No files changed.\n"


PULL = CliCommand(
    declare=_declare_pull,
    run=_run_pull,
    details="Writes the files that Git Sync writes: pages, SUMMARY.md and .gitbook/assets. In a pulled folder, octavo pull "
    "merges what changed in the space with your changes. Your text is never replaced without a copy.",
    examples=("octavo pull handbook docs", "octavo pull", "octavo pull handbook old --revision 8f2c1a"),
    fields=PULL_FIELDS,
    exit_codes={1: "all pages were skipped", 3: "the space does not exist", 6: "some files are in conflict"},
)


STATUS_FIELDS = declare_fields("status string, path string, before string?, kind string, meaning string")
_COLORS = {"M": "yellow", "A": "green", "D": "red", "R": "cyan", "!": "red", "?": "dim"}
STATUS_COLUMNS = (
    OutputColumn("status", " ", colors=_COLORS),
    OutputColumn(
        "path", "file", text=lambda row: f"{row['before']} -> {row['path']}" if row["before"] else row["path"]
    ),
    OutputColumn("meaning", ""),
)


def _run_status(options: argparse.Namespace) -> int:
    folder = find_pulled_folder()
    with file_errors_as_failure("read the folder"):
        changes = LocalFiles.read(folder).changes()
    with Output(options, STATUS_FIELDS, STATUS_COLUMNS, empty="No changes since the last pull.") as output:
        for each in changes:
            row = {"status": each.status, "path": each.path, "before": each.old_path or None, "kind": each.kind}
            output.add({**row, "meaning": STATUS_WORDS[each.status]})
    return 0


STATUS = CliCommand(
    declare=add_output_options,
    run=_run_status,
    details="M is edited, A new, D deleted, R renamed, ! in conflict. ? is a page that SUMMARY.md does not list, so it "
    "is not proposed.",
    examples=("octavo status", "octavo status --json path,status", "octavo status | grep '^!'"),
    fields=STATUS_FIELDS,
)


def _declare_restore(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="a file of the folder, also one that you deleted")


def _run_restore(options: argparse.Namespace) -> int:
    with file_errors_as_failure("restore"), find_pulled_folder().locked() as folder:
        local_files = LocalFiles.read(folder)
        chosen_files = [_find_tracked_file(folder, local_files, path_in(folder, each)) for each in options.files]
        restored_paths = {each.path for each in chosen_files}
        for file in folder.files.values():
            path = local_files.current_path(file)
            if file not in chosen_files and path in restored_paths & local_files.data.keys():
                raise Failure(f"Could not restore {path}: {file.path} has this name now. Restore both files.", BLOCKED)
        for file in chosen_files:
            data = local_files.data.get(local_files.current_path(file), b"")
            if file.is_text or not local_files.is_changed(file):
                data = encode_like(folder.base_text(file.base_sha256), data) if file.is_text else data
                _restore_file(local_files, file, data, restored_paths)
        files_to_download = [file for file in chosen_files if not file.is_text and local_files.is_changed(file)]
        if not files_to_download:
            return 0
        return _restore_from_server(options, local_files, files_to_download, restored_paths)


def _find_tracked_file(folder: PulledFolder, local_files: LocalFiles, path: str) -> TrackedFile:
    files_by_path = {local_files.current_path(each): each for each in folder.files.values()} | folder.files
    if path in files_by_path:
        return files_by_path[path]
    hint = did_you_mean(path, folder.files)
    raise Failure(f"Could not restore {path}: it was not in the last pull.{hint}", NOT_FOUND)


def _restore_file(local_files: LocalFiles, file: TrackedFile, data: bytes, restored_paths: Collection[str]) -> None:
    """Restore the path and the content (`data`) that a file had at the last pull. If you changed the file, keep a copy.
    Delete the file at its current path, unless another file is restored there (`restored_paths`). Raises Failure."""
    folder, current_path = local_files.folder, local_files.current_path(file)
    replaced = {path: old for path in (file.path, current_path) if (old := folder.data(path)) is not None}
    changed = {path: old for path, old in replaced.items() if not file.has_content(old)}
    if replaced.keys() == {file.path} and not changed:
        with ignore_closed_pipe():
            write_out(f"{file.path} has no changes.\n")
        return
    copies = " and ".join(folder.keep_copy(path, old) for path, old in changed.items())
    for path, reason in folder.write({file.path: data}, {current_path}.difference(restored_paths)).items():
        raise Failure(f"Could not restore {path}: {reason}.")
    with ignore_closed_pipe():
        write_out(f"Restored {file.path}.{f' Your version is in {copies}.' if copies else ''}\n")


def _restore_from_server(
    options: argparse.Namespace, local_files: LocalFiles, files: list[TrackedFile], restored_paths: Collection[str]
) -> int:
    """Download and restore files that are not text, since Octavo has no copies. Return exit code 0. Raises Failure."""
    folder = local_files.folder

    async def use_session(session: Session) -> None:
        check_origin(session, folder)
        at = RevisionRef(space_id=folder.space_id, revision_id=folder.revision_id)
        reader = SpaceReader(session.live.send, session.download, at)
        for file in files:
            data = await reader.file(await session.live.send(GetFile(at=at, file_id=file.id)))
            if data is None:
                raise Failure(f"Could not restore {file.path}: the server sent no link to it.")
            with file_errors_as_failure("restore"):
                _restore_file(local_files, file, data, restored_paths)

    return run_connected(options, use_session, action="restore")


RESTORE = CliCommand(
    declare=_declare_restore,
    run=_run_restore,
    details="Each file gets the text of the last pull. A copy of your version stays in .octavo/conflicts.",
    examples=("octavo restore people/first-week.md", "octavo restore SUMMARY.md README.md"),
    exit_codes={3: "the file was not in the last pull"},
)


EXPORT_FIELDS = declare_fields("status string, path string, meaning string")
EXPORT_COLUMNS = (
    OutputColumn("status", " ", colors={"M": "yellow", "A": "green", "D": "red"}),
    OutputColumn("path", "file"),
    OutputColumn("meaning", ""),
)


def _declare_export(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "exported_folder", type=Path, metavar="FOLDER", help="a folder that you opened with octavo open"
    )
    command.add_argument("--write", action="store_true", help="write the changes to the folder")
    add_output_options(command)


def _run_export(options: argparse.Namespace) -> int:
    path = Path(os.path.expanduser(options.exported_folder))
    options.pages_folder = path
    old_fingerprint, top = fingerprint(path), Path(os.path.realpath(path))

    async def use_session(session: Session) -> None:
        assert session.folder_warnings is not None, "the session shows a folder"
        await session.folder_warnings()
        space_id = platforms.space_id_of_folder(platform_folder_of(read_settings(), path), path)
        if space_id is None:
            raise Failure(f"Could not export to {path}: Octavo has no copy of it. Run: octavo open {path}")
        with file_errors_as_failure(f"export to {path}"):
            folder = PulledFolder.new(top, "octavo:folder", space_id)  # Writes nothing into the folder.
            reader = SpaceReader(session.live.send, session.download, SpaceRef(space_id=space_id))
            changes, skipped = await export_changes(folder, reader)
            if options.write:
                if fingerprint(path) != old_fingerprint:
                    raise Failure(f"Could not export to {path}: its files changed meanwhile. Run the command again.")
                skipped = (*skipped, *write_export(folder, changes))
        with Output(options, EXPORT_FIELDS, EXPORT_COLUMNS, empty="The folder has all merged changes.") as output:
            for each in changes:
                output.add({"status": each.status, "path": each.path, "meaning": STATUS_WORDS[each.status]})
        tell_first([f"{each.path}: {each.message}" for each in skipped])
        if changes and not options.write:
            tell(f"Nothing was written. To write these files, run: octavo export {path} --write")

    return run_connected(options, use_session, action="export")


EXPORT = CliCommand(
    declare=_declare_export,
    run=_run_export,
    details="A merge in an opened folder changes Octavo's copy only. This command lists the files that differ, and writes "
    "them with --write. Front matter that Octavo does not know stays.",
    examples=("octavo export ./docs", "octavo export ./docs --write"),
    fields=EXPORT_FIELDS,
)


PROPOSE_FIELDS = declare_fields(
    "ref string?, number integer?, url string?, status string?, summary string, edited string[], added string[], "
    "moved string[], deleted string[], files string[], unsupported string[], notes string[]"
)
MAX_SUBJECT = 100
_PROPOSE_CODES = {"failed": FAILED, "blocked": BLOCKED, "unknown": UNKNOWN}


def _declare_propose(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-m", dest="subject", metavar="SUBJECT", default="", help="the subject of a new change request"
    )
    command.add_argument(
        "--into", metavar="REF", type=not_empty, help="the change request to fill, instead of a new one"
    )
    command.add_argument("--draft", action="store_true", help="leave the new change request a draft")
    command.add_argument("--dry-run", action="store_true", help="print what would be proposed, and send nothing")
    command.add_argument("--partial", action="store_true", help="propose the rest if the API does not take everything")
    add_output_options(command, prints_rows=False)


def _run_propose(options: argparse.Namespace) -> int:
    if options.into and (options.subject or options.draft):
        raise Failure("Could not propose: -m and --draft belong to a new change request, not to --into.", USAGE)
    folder = find_pulled_folder()
    if len(options.subject) > MAX_SUBJECT:
        raise Failure(f"Could not propose: the subject is longer than {MAX_SUBJECT} characters.", USAGE)

    async def use_session(session: Session) -> int:
        check_origin(session, folder)
        resolver = RefResolver(session, options)
        with file_errors_as_failure("propose"), folder.locked() as locked_folder:
            try:
                return await _propose(session, resolver, locked_folder, options)
            except ProposalFailed as failed:
                raise Failure(str(failed), _PROPOSE_CODES[failed.kind]) from failed
            finally:
                report_progress("")

    return run_connected(options, use_session, action="propose")


async def _propose(session: Session, resolver: RefResolver, folder: PulledFolder, options: argparse.Namespace) -> int:
    change_request = None
    if options.into:
        target = await resolver.resolve(options.into)
        change_request = target.change_request
        if change_request is None or target.space.id != folder.space_id:
            raise Failure(f"Could not propose: {options.into} is not a change request of this space.", USAGE)
    proposal = Proposal(folder, session.live, session.download, options.subject.strip(), change_request)
    report_progress("Comparing…")
    plan = await proposal.plan()
    report_progress("")
    name = await resolver.name_of(folder.space_id)
    if options.dry_run:
        _print_proposal(options, plan, proposal.change_request, name)
        return BLOCKED if plan.blocked or plan.unsupported else 0
    _check_plan(options, plan, proposal)
    if plan.is_empty and not proposal.is_interrupted:
        _print_proposal(options, plan, proposal.change_request, name)
        return BLOCKED if plan.unsupported else 0
    had_request = proposal.change_request is not None
    report_progress("Proposing…")
    sent_proposal = await proposal.send(plan, is_draft=options.draft)
    report_progress("")
    _print_proposal(options, plan, sent_proposal, name, verb="Updated" if had_request else "Proposed")
    if sent_proposal.outdated:
        tell("Main has changed since your last pull. To get the changes, run: octavo pull")
    return BLOCKED if plan.unsupported else 0


def _check_plan(options: argparse.Namespace, plan: ProposalPlan, proposal: Proposal) -> None:
    if plan.blocked:
        tell_first([f"{each}." for each in plan.blocked])
        count_phrase = plural(len(plan.blocked), "conflict")
        raise Failure(f"Could not propose: {count_phrase} with main. {proposal.conflict_advice}.", BLOCKED)
    if plan.unsupported and not options.partial:
        tell_first([f"Cannot be proposed: {each}" for each in plan.unsupported])
        raise Failure("Nothing was proposed. To propose the rest, run: octavo propose --partial", BLOCKED)
    if proposal.change_request is None and not options.subject.strip() and not plan.is_empty:
        raise Failure("Could not propose: it needs a subject. Write: octavo propose -m SUBJECT", USAGE)


def _print_proposal(
    options: argparse.Namespace, plan: ProposalPlan, change_request: ChangeRequest | None, name: str, verb: str = ""
) -> None:
    row = _proposal_row(plan, change_request, name)

    def text() -> str:
        if plan.is_empty:
            where = f" that {row['ref']} does not have" if row["ref"] else ""
            return f"No changes to propose{where}.\n"
        if not verb:
            paths = (
                ("M", row["edited"]),
                ("A", row["added"]),
                ("R", row["moved"]),
                ("D", row["deleted"]),
                ("A", row["files"]),
            )
            return "".join(f"{letter} {path}\n" for letter, each in paths for path in each)
        return f"{verb} {row['ref']}: {plan.summary}. {row['url'] or ''}".rstrip() + "\n"

    print_object(options, PROPOSE_FIELDS, row, text)
    if not verb:
        tell_first([f"{each}." for each in plan.blocked])
    tell_first([f"Cannot be proposed: {each}" for each in plan.unsupported])
    tell_first(plan.notes)


def _proposal_row(plan: ProposalPlan, change_request: ChangeRequest | None, space_name: str) -> dict[str, Any]:
    paths = plan.link_converter.layout.paths
    return {
        "ref": str(Ref(space_name, change_request.number)) if change_request is not None else None,
        "number": change_request.number if change_request is not None else None,
        "url": change_request.urls.app if change_request is not None else None,
        "status": change_request.status if change_request is not None else None,
        "summary": plan.summary,
        "edited": [paths.get(name, name) for name in plan.edits],
        "added": [*(version.path for version in plan.new_pages.values()), *(paths[each] for each in plan.restored)],
        "moved": [paths.get(name, name) for name in plan.moved],
        "deleted": [paths.get(name, name) for name in plan.deletions],
        "files": list(plan.new_files),
        "unsupported": plan.unsupported,
        "notes": plan.notes,
    }


PROPOSE = CliCommand(
    declare=_declare_propose,
    run=_run_propose,
    details="The change request has only what changed: text, titles, places, new and deleted pages, and new files. Octavo "
    "never merges it. Run again, the command adds your later changes to the same change request.",
    examples=(
        'octavo propose -m "Say endpoint everywhere"',
        "octavo propose --dry-run",
        "octavo propose --into handbook/9 --partial",
    ),
    fields=PROPOSE_FIELDS,
    exit_codes={
        5: "your role does not allow it",
        6: "conflicts with main, or changes that the API does not take",
        7: "the outcome of an edit is unknown",
    },
)
