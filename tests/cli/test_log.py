"""`octavo log` and `--debug`: requests and writes in two files of limited size, without keys, titles and text."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from octavo.api import comments
from octavo.api.activity import Activity
from octavo.api.bodies import Markdown
from octavo.api.operation import SpaceRef
from octavo.cli import sessions
from octavo.cli.event_log import FILE, LEVELS, LOG, MAX_BYTES, EventLog, read_log
from octavo.settings import read
from tests.cli.command_process import CommandLine
from tests.cli.small_server import KEY
from tests.data.connections import add_write
from tests.journeys.conftest import library

__all__ = ["library"]


@pytest.fixture
def home(tmp_path: Path, server_url: str) -> CommandLine:
    return CommandLine(tmp_path, {"OCTAVO_API_KEY": KEY, "OCTAVO_BASE_URL": server_url})


def test_requests_are_logged_and_read_by_level(home: CommandLine) -> None:
    assert home.run("log").out == "", "nothing was done yet"
    assert home.run("api", "users.Me").code == 0
    assert home.run("api", "spaces.Get", "spaceId=nowhere").code != 0
    path = home.folder / "state" / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    lines = home.run("log", "--level", "debug").out.splitlines()
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d debug   request method=GET route=/v1/user status=200 ms=\d+ attempts=1 bytes=\d+ requestId=\w+",
        lines[1],
    )
    (failed,) = home.run("log", "--level", "warning").out.splitlines()
    assert "route=/v1/spaces/{spaceId} status=404" in failed
    assert "nowhere" not in failed, "messages of the server may quote titles"
    entries = [json.loads(each) for each in home.run("log", "--level", "debug", "--ndjson").out.splitlines()]
    assert entries[1]["facts"]["status"] == 200
    assert home.run("log", "--json").json[0]["event"] == "start"
    assert KEY not in path.read_text()


def test_debug_prints_the_same_to_standard_error(home: CommandLine) -> None:
    ran = home.run("--debug", "api", "users.Me")
    assert ran.json["id"] == "mia"
    assert re.search(r"octavo: \S+ debug   request method=GET route=/v1/user status=200", ran.err)
    assert KEY not in ran.err
    assert home.run("api", "users.Me", "--debug").err.count(" request ") == 1


async def test_log_has_the_states_of_a_comment_but_not_its_text(library: Path, tmp_path: Path) -> None:
    home = CommandLine(tmp_path).with_demo(library)
    session = sessions.open_demo(read(home.environ))
    remark = comments.Create(at=SpaceRef(space_id="handbook"), body=Markdown(markdown="a very private remark"))
    try:
        entry = await add_write(session.outbox, remark, action="comment")
    finally:
        await session.outbox.close()
        await session.close()
        LOG.close(seconds=20)
    text = home.run("log").out
    assert f"info    write id={entry.id} operation=comments.Create state=held" in text
    assert "private remark" not in "".join(each.read_text() for each in (tmp_path / "state").glob("octavo.log*"))


def test_since_prints_the_last_part(home: CommandLine) -> None:
    folder = home.folder / "state"
    folder.mkdir()
    moments = {"old": datetime.now(UTC) - timedelta(hours=3), "new": datetime.now(UTC) - timedelta(minutes=3)}
    rows = [
        {"time": moment.isoformat(), "level": "info", "event": name, "facts": {}} for name, moment in moments.items()
    ]
    (folder / FILE).write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert [line.split()[-1] for line in home.run("log", "--since", "10m").out.splitlines()] == ["new"]
    assert [line.split()[-1] for line in home.run("log", "--since", "1d").out.splitlines()] == ["old", "new"]
    wrong = home.run("log", "--since", "soon")
    assert wrong.code == 2
    assert "'soon' is not a time. Enter a number and s, m, h or d, for example 10m." in wrong.err


@pytest.mark.before_release
def test_follow_prints_new_lines_until_it_is_interrupted(home: CommandLine) -> None:
    assert home.run("api", "users.Me").code == 0
    with subprocess.Popen(
        home.command("log", "--follow", "--level", "debug", "--ndjson"),
        env=home.environ,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # Background jobs inherit an ignored SIGINT.
    ) as following:
        assert following.stdout is not None
        try:
            event = ""
            while event != "request":  # Repeat: the first requests may be earlier than the start of `--follow`.
                while not select.select([following.stdout], [], [], 0.5)[0]:
                    home.run("api", "users.Me")
                event = json.loads(following.stdout.readline())["event"]
            following.send_signal(signal.SIGINT)
            assert following.wait(120) == 130
        finally:
            following.kill()  # Otherwise a failed test would wait for it without end.
    refused = home.run("log", "--follow", "--json")
    assert (refused.code, refused.error["message"]) == (2, "Could not follow the log: use --ndjson with --follow.")


def test_damaged_lines_are_skipped_and_escapes_are_not_printed(home: CommandLine) -> None:
    folder = home.folder / "state"
    folder.mkdir()
    good = {
        "time": datetime.now(UTC).isoformat(),
        "level": "info",
        "event": "x\x1b[31m",
        "facts": {"a\x07": "\x1b]0;t\x07"},
    }
    rows = [
        json.dumps(good).encode(),
        b"{",
        b"[" * 9000,
        b"7",
        b'{"time": 1}',
        b"\xff\xfe",
        json.dumps({**good, "level": "loud"}).encode(),
    ]
    (folder / FILE).write_bytes(b"\n".join(rows))
    ran = home.run("log")
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", ran.out)


@pytest.mark.before_release
def test_log_is_bounded_by_two_files(tmp_path: Path) -> None:
    log = EventLog()
    log.open(tmp_path)
    for number in range(12_000):
        log.add("filler", number=number, text="x" * 250)
    log.close(seconds=60)
    files = sorted(tmp_path.glob("octavo.log*"))
    assert [each.name for each in files] == [FILE, f"{FILE}.1", f"{FILE}.lock"]
    assert all(each.stat().st_size <= MAX_BYTES + 1000 for each in files)
    assert list(read_log(tmp_path))[-1].facts["number"] == 11_999


def test_command_works_if_the_log_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = EventLog()
    log.open(tmp_path / "file" / "state")
    log.add("lost")
    log.close(seconds=20)
    assert os.listdir(tmp_path) == ["file"]


def test_failed_request_is_logged_with_cause_or_status(tmp_path: Path) -> None:
    log = EventLog()
    log.open(tmp_path)
    for status, error in ((None, "Could not find docs.example.com."), (403, "You may not read “Secret plans”.")):
        log.add_request(Activity(datetime.now(UTC), "GET", "/v1/user", status, 12.4, 1, "", error, 0))
    log.close(seconds=20)
    lost, refused = list(read_log(tmp_path))[1:]
    assert (lost.level, lost.facts["cause"]) == ("warning", "Could not find docs.example.com.")
    assert (refused.level, refused.facts["cause"], refused.facts["ms"]) == ("warning", "", 12)
    assert LEVELS.index(lost.level) == 2


def _add_event(path: Path, event: str) -> None:
    line = {"time": datetime.now(UTC).isoformat(), "level": "info", "event": event, "facts": {}}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def test_file_renamed_while_the_log_is_read_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / FILE
    _add_event(path.with_name(f"{FILE}.1"), "older")
    _add_event(path, "newer")
    events = (each.event for each in read_log(tmp_path))
    assert next(events) == "older"
    path.rename(path.with_name(f"{FILE}.1"))
    _add_event(path, "newest")
    assert list(events) == ["newer"]


def test_following_reads_the_end_of_a_file_that_was_renamed(tmp_path: Path) -> None:
    path = tmp_path / FILE
    add = partial(_add_event, path)

    def rename() -> None:
        add("last")
        path.rename(path.with_name(f"{FILE}.1"))
        add("new")

    steps = iter([lambda: add("second"), rename])
    add("first")
    events = (each.event for each in read_log(tmp_path, wait=lambda: next(steps, lambda: None)()))
    assert [next(events) for _ in range(4)] == ["first", "second", "last", "new"]
