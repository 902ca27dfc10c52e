"""Sends writes through the outbox and waits until they are confirmed.

A write is on disk before it is sent, so that a crash loses nothing, and it is never sent twice (`data/writes/`).

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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.users import Me
from octavo.cli.failures import FAILED, NOT_ALLOWED, UNKNOWN, USAGE, Failure
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.settings import read

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

WAIT_SECONDS = 30.0
REMEMBERED = timedelta(days=7)
"""How long a key of `--once` is remembered."""
MAX_TEXT = 1024 * 1024
Adding = Callable[[], Awaitable[Sequence[OutboxEntry]]]


def add_text_options(command: argparse.ArgumentParser) -> None:
    """Add `-m` and `-F`."""
    group = command.add_mutually_exclusive_group()
    group.add_argument("-m", "--message", metavar="TEXT", help="the text, as Markdown")
    group.add_argument("-F", "--file", metavar="FILE", help="read the text from a file; - reads standard input")


def add_sending_options(command: argparse.ArgumentParser) -> None:
    """Add `--wait` and `--once`."""
    command.add_argument(
        "--wait", type=_seconds, default=WAIT_SECONDS, metavar="SECONDS", help="wait for the confirmation (default: 30)"
    )
    command.add_argument(
        "--once", metavar="KEY", help="write nothing if a command with this key did in the last 7 days"
    )


def _seconds(text: str) -> float:
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds. Enter a number, for example 30.")
    return float(text)


def given_text(options: argparse.Namespace) -> str | None:
    """Return the text of `-m` or `-F`. None if neither is used. Raises Failure."""
    if options.message == "-":
        raise Failure(
            "Could not read the text: -m takes the text itself. To read the text from standard input use -F -.", USAGE
        )
    if options.message is not None:
        return str(options.message)
    if options.file is None:
        return None
    return read_file(options.file)


def read_file(name: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises Failure."""
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_TEXT + 1)
        else:
            with Path(name).open("rb") as stream:
                content = stream.read(MAX_TEXT + 1)
        if len(content) > MAX_TEXT:
            raise Failure(f"Could not read {name[:80]}: it is larger than {MAX_TEXT // 1024} KiB.", USAGE)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"Could not read {name[:80]}: it is not UTF-8 text.", USAGE) from None
    except OSError as error:
        raise Failure(f"Could not read {name[:80]}: {(error.strerror or 'unknown cause').lower()}.", USAGE) from None


def read_text(options: argparse.Namespace, action: str) -> str:
    """Return the text of `-m` or `-F`, or on a terminal the text that the user writes in the editor. Raises Failure if
    there is none."""
    text = given_text(options)
    if text is None:
        if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
            raise Failure(f"Could not {action}: there is no text. Use -m TEXT or -F FILE.", USAGE)
        text = _written_in_editor()
    if not text.strip():
        raise Failure(f"Could not {action}: the text is empty.", USAGE)
    return text.rstrip("\n")


def _written_in_editor() -> str:
    """Return the text that the user writes in the editor of the settings. Raises Failure."""
    command = read(os.environ).editor or ("vi",)
    environment = {name: value for name, value in os.environ.items() if name != "OCTAVO_API_KEY"}
    handle, name = tempfile.mkstemp(suffix=".md", prefix="octavo-")
    os.close(handle)
    try:
        code = subprocess.run([*command, name], check=False, env=environment).returncode
    except OSError as error:
        raise Failure(
            f"Could not start the editor {command[0]}: {(error.strerror or 'unknown cause').lower()}."
        ) from None
    if code:
        raise Failure(f"Could not use the text: the editor ended with status {code}. The text is in {name}.")
    text = read_file(name)
    Path(name).unlink()
    return text


async def prepare(session: Session) -> None:
    """Load the signed-in user, so that the outbox can send writes. Raises ApiError, or Failure if the session is
    read-only."""
    if session.read_only:
        raise Failure(session.read_only, NOT_ALLOWED, error="read-only")
    session.outbox.set_account(await session.live.fetch(Me()), asked=True)


def check_allowed(why: str | None, action: str) -> None:
    """Raise Failure if there is a reason why the user is not allowed to do something."""
    if why is not None:
        raise Failure(f"Could not {action}: {why[:1].lower()}{why[1:]}", NOT_ALLOWED)


async def send(session: Session, writes: Sequence[NewWrite], options: argparse.Namespace) -> list[OutboxEntry]:
    """Send writes in order, and return their entries when all are done. Raises Failure, or NotSaved."""
    return await add_and_send(session, lambda: session.outbox.add_all(writes), writes[0].action, options)


async def add_and_send(session: Session, add: Adding, action: str, options: argparse.Namespace) -> list[OutboxEntry]:
    """Add writes to the outbox with `add`, wait until they are done, and return their entries. Raises Failure if a
    write is refused or is not confirmed in time. A write that is not confirmed stays in the outbox."""
    done: dict[str, OutboxEntry] = {}
    changed = asyncio.Event()

    def record_done(entry: OutboxEntry) -> None:
        done[entry.id] = entry
        changed.set()

    session.outbox.observe_done(record_done)
    leave = session.outbox.observe(changed.set)
    try:
        added = await add()
        ids = [each.id for each in added]
        if options.once:
            remember_once(session.state, options.once, ids)
        try:
            async with asyncio.timeout(options.wait):
                while not _is_settled(session, ids, done):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass
    finally:
        leave()
    waiting = {each.id: each for each in session.outbox.entries if each.id in ids}
    for entry in waiting.values():
        _raise_for(entry, action)
    return [done.get(each.id, each) for each in added]


def _is_settled(session: Session, ids: Sequence[str], done: Mapping[str, OutboxEntry]) -> bool:
    waiting = [each for each in session.outbox.entries if each.id in ids and each.id not in done]
    return not waiting or any(each.state == "failed" or each.needs_user for each in waiting)


def _raise_for(entry: OutboxEntry, action: str) -> None:
    """Raise Failure for a write that is not done."""
    kind = "reply" if entry.facts.thread and entry.facts.creates else "review" if entry.facts.is_review else action
    match entry.state:
        case "failed":
            text = (
                " Your text is kept. To send it again, run: octavo outbox retry " + entry.id if entry.facts.text else ""
            )
            raise Failure(f"Could not {action}: {entry.reason or 'the server refused it.'}{text}", _code_of(entry))
        case "sending" | "unknown":
            raise Failure(f"The {kind} may have been sent. Octavo checks it; look with: octavo outbox", UNKNOWN)
        case _:
            why = f" {entry.reason}" if entry.reason else ""
            raise Failure(f"The {kind} is queued and not sent yet.{why} Look with: octavo outbox", UNKNOWN)


def _code_of(entry: OutboxEntry) -> int:
    return NOT_ALLOWED if "permission" in entry.reason or "does not let you" in entry.reason else FAILED


def remember_once(state: StateDb, key: str, ids: Sequence[str]) -> None:
    """Remember that the writes of a `--once` key were added."""
    state.set_fact(f"once {key}", {"at": datetime.now(UTC).isoformat(), "entries": list(ids)})


def was_done_once(session: Session, key: str | None) -> bool:
    """Return whether a command with this `--once` key has written in the last 7 days, or has writes in the outbox."""
    if not key:
        return False
    if any(each.draft_key == once_key(key) for each in session.outbox.entries):
        return True
    fact = session.state.get_fact(f"once {key}")
    try:
        return isinstance(fact, dict) and datetime.now(UTC) - datetime.fromisoformat(str(fact["at"])) < REMEMBERED
    except (KeyError, ValueError):
        return False


def once_key(key: str | None) -> str:
    """Return the draft key that marks the writes of a `--once` key in the outbox. Empty if `key` is None or empty."""
    return f"once {key}" if key else ""
