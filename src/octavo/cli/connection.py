"""Connects a command to the account, demo or folder that its options select. Sends its writes through the outbox until they
are confirmed.

async def use_session(session: Session) -> None:
    spaces = await session.live.fetch(spaces_op(organization))
    ...

return run_connected(options, use_session, action="load the change requests")

A write is on disk before it is sent, so that a crash loses nothing. If no response arrives, Octavo sends the write again
only if a second write would change nothing, as when it resolves a thread (`data/writes/`).

    text = read_text(options, "comment")
    sent = await send(session, [NewWrite(op, "comment")], options)      # raises Failure if it was not confirmed
    sent[0].remote_id
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome, ReadOnly, Unauthorized
from octavo.api.safety import safe_line
from octavo.api.users import Me
from octavo.cli.access import read_account_and_key, read_settings, refuse_several_sources
from octavo.cli.arguments import not_empty
from octavo.cli.standard_streams import (
    FAILED,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_SIGNED_IN,
    UNKNOWN,
    USAGE,
    Failure,
    OutputFailure,
    is_terminal,
    read_input,
    tell,
    why_read_only,
    write_out,
)
from octavo.data.live import NOT_AVAILABLE_OFFLINE
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import ONCE_PREFIX, NewWrite, OutboxEntry
from octavo.data.writes.store import once_group
from octavo.lazy_import import lazy
from octavo.settings import error_in_words, read

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

_open_demo: Callable[..., Session] = lazy("octavo.cli.sessions:open_demo")
_open_folder: Callable[..., Session] = lazy("octavo.cli.sessions:open_folder")
_open_server: Callable[..., Session] = lazy("octavo.cli.sessions:open_server")


def run_connected(
    options: argparse.Namespace, use_session: Callable[[Session], Awaitable[int | None]], *, action: str
) -> int:
    """Open a session and run `use_session` with it. Return the exit code of `use_session`, or 0 for None. `action` is
    for error messages: `load the page` gives `Could not load the page: …`. Raises Failure."""
    write_out("")  # Fails if standard output is closed, before a write is sent.
    session = open_session(options)

    async def run() -> int:
        session.connect()
        try:
            return await use_session(session) or 0
        except OutputFailure as failure:
            has_changed = any(not each.only_reads and not each.error for each in session.latest_requests())
            raise (failure.with_changes_note() if has_changed else failure) from failure
        finally:
            await session.close()

    try:
        return asyncio.run(run())
    except ApiError as error:
        raise failure_of(error, action) from error
    except NotSaved as error:
        file = getattr(options, "editor_file", None)
        kept_sentence = f" Your text is in {file}." if file is not None else ""
        raise Failure(f"Could not {action}: {_message_as_clause(error)}{kept_sentence}") from error


def open_session(options: argparse.Namespace) -> Session:
    """Open a session with the demo, folder or account that the options select. Raises Failure."""
    refuse_several_sources(options)
    # A command has no undo key, so it sends writes without the undo delay.
    settings, read_only_reason = replace(read_settings(), undo_seconds=0.0), why_read_only(options)
    try:
        if options.use_demo:
            return _open_demo(settings, read_only_reason=read_only_reason)
        if options.pages_folder is not None:
            path = Path(os.path.expanduser(options.pages_folder))
            return _open_folder(settings, path, read_only_reason=read_only_reason)
    except (ValueError, OSError) as error:
        raise Failure(error_in_words(error)) from error
    access, key = read_account_and_key(settings, options)
    return _open_server(settings, access, key=key, read_only_reason=read_only_reason or access.why_read_only)


def failure_of(error: ApiError, action: str) -> Failure:
    """Convert the error of a request to a Failure with an exit code, and the message `Could not ACTION: …`."""
    name = "read-only" if isinstance(error, ReadOnly) else ""
    if isinstance(error, Unauthorized):
        name = "token-rejected" if error.status == 401 else "not-signed-in"
    return Failure(f"Could not {action}: {_message_as_clause(error)}", exit_code_of(error), error=name)


def exit_code_of(error: ApiError) -> int:
    """Return the exit code for the error of a request."""
    if isinstance(error, Unauthorized):
        return NOT_SIGNED_IN
    if isinstance(error, ReadOnly | Forbidden):
        return NOT_ALLOWED
    if isinstance(error, NotFound):
        return NOT_FOUND
    return UNKNOWN if error.outcome is Outcome.UNKNOWN and not error.trace.only_reads else FAILED


def _message_as_clause(error: Exception) -> str:
    sentence = str(error).removeprefix(NOT_AVAILABLE_OFFLINE).lstrip()
    if sentence[1:2].isupper() or sentence.startswith("Octavo "):
        return sentence
    return sentence[:1].lower() + sentence[1:]


WAIT_SECONDS = 30.0
MAX_TEXT = 1024 * 1024
AddWrites = Callable[[], Awaitable[Sequence[OutboxEntry]]]


def add_text_options(command: argparse.ArgumentParser) -> None:
    """Add the options `-m TEXT` and `-F FILE` for the text of a comment or reply."""
    group = command.add_mutually_exclusive_group()
    group.add_argument("-m", "--message", metavar="TEXT", help="the text, as Markdown")
    group.add_argument("-F", "--file", metavar="FILE", help="read the text from a file; - reads standard input")


def add_sending_options(command: argparse.ArgumentParser, *, can_repeat: bool = False) -> None:
    """Add the options `--wait` and `--once`. If `can_repeat`, repeating is harmless, and `--once` is left out."""
    wait_help = "wait for the confirmation (default: 30)"
    command.add_argument("--wait", type=_parse_seconds, default=WAIT_SECONDS, metavar="SECONDS", help=wait_help)
    if can_repeat:
        command.set_defaults(once=None)
    else:
        once_help = "write nothing if a command with this key did in the last 7 days"
        command.add_argument("--once", type=not_empty, metavar="KEY", help=once_help)


def _parse_seconds(text: str) -> float:
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds. Enter a number, for example 30.")
    return float(text)


def check_message(options: argparse.Namespace) -> None:
    """Raise Failure for `-m -`, with which the user probably means `-F -`, to read standard input."""
    if options.message == "-":
        raise Failure(
            "Could not read the text: -m takes the text itself. To read the text from standard input use -F -.", USAGE
        )


def text_option(options: argparse.Namespace) -> str | None:
    """Return the text of `-m` or `-F`. None if there is neither. Raises Failure for `-m -` or an unreadable file."""
    check_message(options)
    if options.message is not None:
        return str(options.message)
    return None if options.file is None else read_file(options.file)


def read_file(name: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises Failure."""
    label = "standard input" if name == "-" else name[:80]
    try:
        content = read_input(name, MAX_TEXT + 1)
        if len(content) > MAX_TEXT:
            raise Failure(f"Could not read {label}: it is larger than {MAX_TEXT // 1024} KiB.", USAGE)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"Could not read {label}: it is not UTF-8 text.", USAGE) from None
    except OSError as error:
        raise Failure(f"Could not read {label}: {(error.strerror or 'unknown cause').lower()}.", USAGE) from None


def read_text(options: argparse.Namespace, action: str) -> str:
    """Return the text of `-m` or `-F`, else what the user writes in an editor. The caller must call
    `delete_editor_file` after it has stored the text. Raises Failure (`Could not ACTION`) if there is no text."""
    text = text_option(options)
    if text is None:
        if not is_terminal(sys.stdin, sys.stdout):
            raise Failure(f"Could not {action}: there is no text. Use -m TEXT or -F FILE.", USAGE)
        text = _read_from_editor(options)
    if not text.strip():
        delete_editor_file(options)
        raise Failure(f"Could not {action}: the text is empty.", USAGE)
    return text.rstrip("\n")


def _read_from_editor(options: argparse.Namespace) -> str:
    """Return a text that the user writes in an editor. Set `options.editor_file` to the edited file. Raises Failure."""
    command = read(os.environ).editor or ("vi",)
    environment = {name: value for name, value in os.environ.items() if name != "OCTAVO_API_KEY"}
    handle, file_name = tempfile.mkstemp(suffix=".md", prefix="octavo-")
    os.close(handle)
    try:
        code = subprocess.run([*command, file_name], check=False, env=environment).returncode
    except OSError as error:
        raise Failure(
            f"Could not start the editor {command[0]}: {(error.strerror or 'unknown cause').lower()}."
        ) from None
    if code:
        raise Failure(f"Could not use the text: the editor ended with status {code}. The text is in {file_name}.")
    options.editor_file = Path(file_name)
    return read_file(file_name)


def delete_editor_file(options: argparse.Namespace) -> None:
    """Delete the file in which the user wrote the text for `read_text`. Do nothing if no editor was used."""
    if (file := getattr(options, "editor_file", None)) is not None:
        file.unlink(missing_ok=True)
        options.editor_file = None


async def prepare_writes(session: Session) -> None:
    """Load the user, and set the account of the outbox. Raises ApiError, or Failure if the session is read-only."""
    if session.read_only_reason:
        raise Failure(session.read_only_reason, NOT_ALLOWED, error="read-only")
    session.outbox.set_account(await session.live.fetch(Me()), is_confirmed=True)


def check_allowed(disabled_reason: str | None, action: str) -> None:
    """Raise a Failure with the message `Could not ACTION: …` unless `disabled_reason` is None."""
    if disabled_reason is not None:
        raise Failure(f"Could not {action}: {disabled_reason[:1].lower()}{disabled_reason[1:]}", NOT_ALLOWED)


async def send(session: Session, writes: Sequence[NewWrite], options: argparse.Namespace) -> list[OutboxEntry]:
    """Send the writes in order. Return their outbox entries when all are confirmed. Raises Failure or NotSaved."""
    return await add_and_send(session, lambda: session.outbox.add_all(writes), writes[0].action, options)


async def add_and_send(session: Session, add: AddWrites, action: str, options: argparse.Namespace) -> list[OutboxEntry]:
    """Call `add`, which adds writes to the outbox, and wait until all are confirmed. Return their outbox entries.
    Raises Failure about `action` if a write is refused, or not confirmed within `--wait`, or made before (`--once`)."""
    done_entries: dict[str, OutboxEntry] = {}
    changed_event = asyncio.Event()

    def record_done(entry: OutboxEntry) -> None:
        done_entries[entry.id] = entry
        changed_event.set()

    session.outbox.done.add(record_done)
    stop_observing = session.outbox.changed.add(changed_event.set)
    try:
        added_entries = await add()
        if not added_entries and await tell_if_run_before(session, options):
            raise Failure("", 0)  # Another command with this --once key wrote meanwhile, so end without an error.
        delete_editor_file(options)
        ids = [each.id for each in added_entries]
        try:
            async with asyncio.timeout(options.wait):
                while not _is_settled(session, ids, done_entries):
                    changed_event.clear()
                    await changed_event.wait()
        except TimeoutError:
            pass
    finally:
        stop_observing()
    waiting_entries = {each.id: each for each in session.outbox.entries if each.id in ids}
    for entry in waiting_entries.values():
        _raise_for(entry, action)
    return [done_entries.get(each.id, each) for each in added_entries]


def _is_settled(session: Session, ids: Sequence[str], done_entries: Mapping[str, OutboxEntry]) -> bool:
    waiting_entries = [each for each in session.outbox.entries if each.id in ids and each.id not in done_entries]
    return not waiting_entries or any(each.state == "failed" or each.needs_user for each in waiting_entries)


def _raise_for(entry: OutboxEntry, action: str) -> None:
    kind = (
        "reply" if entry.traits.thread_id and entry.traits.creates else "review" if entry.traits.is_review else action
    )
    match entry.state:
        case "failed":
            kept_sentence = " Your text is kept." if entry.traits.text else ""
            hint = f"{kept_sentence} To send it again, run: octavo outbox retry {entry.id}"
            code = {403: NOT_ALLOWED, 404: NOT_FOUND}.get(entry.refused_status or 0, FAILED)
            raise Failure(f"{entry.reason or f'Could not {action}: the server refused it.'}{hint}", code)
        case "sending" | "unknown":
            raise Failure(f"The {kind} may have been sent. Octavo checks it; look with: octavo outbox", UNKNOWN)
        case _:
            # A write without a reason to wait may still be sent while the session closes.
            reason = entry.reason.removeprefix("Not sent yet. ")
            state_clause = f"and not sent yet. {reason}" if reason else "and may still be sent."
            raise Failure(f"The {kind} is queued {state_clause} Look with: octavo outbox", UNKNOWN)


async def tell_if_run_before(session: Session, options: argparse.Namespace) -> bool:
    """Return whether a command with the same `--once` key wrote something in the last 7 days. If so, tell the user, and
    wait until the write is sent. Raises NotSaved or Failure."""
    if options.once is None:
        return False
    key = once_key(options.once)
    group = once_group(session.state.get_value(key), session.state.now())
    earlier_entries = [
        each
        for each in session.outbox.entries
        if each.draft_key == key or (group and group in (each.group, each.review))
    ]
    if unsent_entries := [each for each in earlier_entries if each.state != "pending"]:

        async def start() -> Sequence[OutboxEntry]:
            session.outbox.start()
            return unsent_entries

        await add_and_send(session, start, unsent_entries[0].action, options)
    if group is not None or earlier_entries:
        tell(f"Already written with --once {safe_line(options.once[:60])}. Nothing was written.")
        return True
    return False


def once_key(key: str | None) -> str:
    """Return the name under which the outbox stores writes of this `--once` key. Empty if there is no key."""
    return "" if key is None else ONCE_PREFIX + key
