"""The event log: which requests and writes Octavo sent, and when. It contains no tokens, titles or texts.

The log is the file `octavo.log` with one JSON object per line. When it is full, it is renamed to `octavo.log.1`. An
older file with this name is replaced.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Literal, NamedTuple, get_args

from octavo import __version__
from octavo.api.activity import Activity
from octavo.api.safety import safe_line
from octavo.local_time import localize
from octavo.private_files import try_lock_file
from octavo.redaction import redact
from octavo.untrusted_input import parse_json

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)
FILE = "octavo.log"
MAX_BYTES = 1 << 20
"""Maximum size of `octavo.log` in bytes. Larger files are renamed to `octavo.log.1`."""


class LogEntry(NamedTuple):
    """One line of the event log."""

    time: datetime
    level: Level
    event: str
    """Kind of the event in one word, such as `request` or `write`."""
    facts: dict[str, str | int | float | bool]

    @property
    def text(self) -> str:
        """The entry for people: time of day in the local time zone, level, event and facts."""
        facts = " ".join(f"{name}={value}" for name, value in self.facts.items() if value != "")
        return f"{localize(self.time):%H:%M:%S} {self.level:<7} {self.event} {facts}".rstrip()

    @property
    def as_json(self) -> dict[str, Any]:
        """The entry as a JSON object, as it is written to the log file."""
        time = self.time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"time": time, "level": self.level, "event": self.event, "facts": self.facts}


class EventLog:
    """Writes the event log in a background thread. If an entry cannot be written, it is lost without an error."""

    def __init__(self) -> None:
        self.echo: Callable[[str], object] | None = None
        """Called with the text of each entry, for `--debug`. None if entries are only written to the file."""
        self._path: Path | None = None
        self._queue: SimpleQueue[tuple[Path, str] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def open(self, folder: Path) -> None:
        """Write all later entries to the file `octavo.log` in a folder."""
        if self._path != folder / FILE:
            self._path = folder / FILE
            self.add("start", version=__version__, python=".".join(map(str, sys.version_info[:3])), process=os.getpid())

    def add(self, event: str, level: Level = "info", **facts: str | int | float | bool) -> None:
        """Add an entry with facts such as `status=404`. Facts must not contain text of users, such as titles."""
        safe_facts = {name: _redacted_line(value) if isinstance(value, str) else value for name, value in facts.items()}
        entry = LogEntry(datetime.now(UTC), level, event, safe_facts)
        if self._path is not None:
            self._queue.put((self._path, json.dumps(entry.as_json, ensure_ascii=False)))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="octavo log", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        if self.echo is not None:
            self.echo(entry.text)

    def add_request(self, activity: Activity) -> None:
        """Add an entry about a request that has ended."""
        is_failed = activity.status is None or activity.status >= 400
        # Do not log an error with a status: it may quote a title.
        cause = activity.error if activity.status is None else ""
        self.add(
            "request",
            "warning" if is_failed and not activity.given_up else "debug" if activity.method == "GET" else "info",
            method=activity.method,
            route=activity.route,
            status=activity.status or 0,
            ms=round(activity.ms),
            attempts=activity.attempts,
            bytes=activity.size,
            requestId=activity.request_id,
            cause=cause,
        )

    def close(self, seconds: float = 1.0) -> None:
        """Wait until the remaining entries are written, but at most `seconds`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(seconds)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            path, text = job
            with suppress(OSError):  # The disk is full or read-only, which `octavo doctor` reports.
                _append(path, f"{text}\n".encode())


LOG = EventLog()


def _append(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, data)
        is_full = os.fstat(handle).st_size >= MAX_BYTES
    finally:
        os.close(handle)
    if is_full:
        _start_new_file(path)


def _start_new_file(path: Path) -> None:
    unlock = try_lock_file(path.with_name(f"{FILE}.lock"))
    if unlock is None:
        return  # Another program starts the new file.
    try:
        if path.stat().st_size >= MAX_BYTES:
            path.replace(path.with_name(f"{FILE}.1"))
    finally:
        unlock()


def read_log(folder: Path, *, wait: Callable[[], object] | None = None) -> Iterator[LogEntry]:
    """Yield the entries of the log files in a folder, oldest first. With `wait`, never end: call `wait` before each
    search for new entries. Raises OSError."""
    path = folder / FILE
    with _open_if_exists(path) as file:  # Before `older`: the file may be renamed meanwhile.
        with suppress(FileNotFoundError), path.with_name(f"{FILE}.1").open("rb") as older:
            if file is None or not os.path.sameopenfile(older.fileno(), file.fileno()):
                yield from _entries(older.read())
        yield from _entries_of_file(file, path, wait)
    while wait is not None:
        wait()
        with _open_if_exists(path) as file:
            yield from _entries_of_file(file, path, wait)


def _open_if_exists(path: Path) -> AbstractContextManager[BinaryIO | None]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return nullcontext()


def _entries_of_file(file: BinaryIO | None, path: Path, wait: Callable[[], object] | None) -> Iterator[LogEntry]:
    """Yield the entries of a log file. If `wait` is given, follow new entries until another file has `path`."""
    incomplete_line, is_current = b"", True
    while file is not None and is_current:
        # The files are compared before the read, because a file may get entries until it is renamed.
        is_current = wait is not None and os.fstat(file.fileno()).st_ino == _inode(path)
        complete_lines, end, incomplete_line = (incomplete_line + file.read()).rpartition(b"\n")
        yield from _entries(complete_lines + end)
        if wait is not None and is_current:
            wait()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _entries(data: bytes) -> Iterator[LogEntry]:
    return (entry for each in data.splitlines() if (entry := _parse_entry(each)) is not None)


def _parse_entry(text: bytes) -> LogEntry | None:
    try:
        record = parse_json(text)
        time, level, event = datetime.fromisoformat(record["time"]), record["level"], record["event"]
        facts = {
            safe_line(name): value for name, value in record["facts"].items() if isinstance(value, (str, int, float))
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if level not in LEVELS or not isinstance(event, str) or time.tzinfo is None:
        return None
    redacted_facts = {name: _redacted_line(value) if isinstance(value, str) else value for name, value in facts.items()}
    return LogEntry(time, level, _redacted_line(event), redacted_facts)


def _redacted_line(text: str) -> str:
    return safe_line(redact(text))
