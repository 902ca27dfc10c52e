"""`octavo auth`: keys come in on standard input, stay where they are put, and never come out again."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.api.places import SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import OutboxEntries
from octavo.settings import read
from tests.benchmarks.terminal import Terminal
from tests.cli.conftest import Octavo
from tests.cli.small_server import KEY


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Bearer {KEY}\n"))


@pytest.mark.usefixtures("typed")
def test_without_a_keyring_a_key_is_not_kept(octavo: Octavo, served: str, tmp_path: Path) -> None:
    ran = octavo("--base-url", served, "auth", "login", "--with-token")
    assert ran.code == 1, "it would say that one is signed in, and one is not"
    assert (
        "The API key is valid, but could not be stored, so you are not signed in. The environment variable PYTHON_KEYRING_BACKEND names keyring.backends.fail"
        in ran.err
    )
    assert "octavo auth login --insecure-storage" in ran.err
    assert not kept(tmp_path)
    assert octavo("api", "users.Me").code == 4
    with Terminal([sys.executable, "-m", "octavo"], dict(os.environ)) as app:
        app.wait_for(
            "Paste your API key for",
            "The API key for default is not stored on this computer. Paste the",
            limit=20,
        )
        app.write(b"\x11")
        assert app.end(limit=20) == 0


@pytest.mark.usefixtures("typed")
def test_a_key_is_written_in_the_clear_only_when_asked(octavo: Octavo, served: str, tmp_path: Path) -> None:
    ran = octavo("--base-url", served, "auth", "login", "--with-token", "--insecure-storage")
    assert "You are Mia Lund" in ran.out
    [file] = kept(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert octavo("api", "users.Me").code == 0
    status = octavo("auth", "status")
    assert status.code == 0
    assert "unencrypted in a private file" in status.out
    assert KEY not in status.out + ran.out + ran.err


@pytest.mark.usefixtures("typed")
def test_signing_out_forgets_the_key_and_keeps_what_was_typed(octavo: Octavo, served: str, tmp_path: Path) -> None:
    octavo("--base-url", served, "auth", "login", "--with-token", "--insecure-storage")
    state = StateDb(tmp_path / "state", f"{served} user mia")
    Drafts(state).save_now("reply s k", "half a sen")
    state.close()
    ran = octavo("auth", "logout")
    assert "1 unsent draft remains" in ran.out
    assert not kept(tmp_path)
    assert octavo("api", "users.Me").code == 4
    state = StateDb(tmp_path / "state", f"{served} user mia")
    assert Drafts(state).get("reply s k") == "half a sen"
    state.close()


@pytest.mark.usefixtures("typed")
@pytest.mark.parametrize("more", [(), ("--drafts",)])
def test_signing_out_says_what_waits_to_be_sent_and_loses_none_of_it(
    octavo: Octavo, served: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    octavo("--base-url", served, "auth", "login", "--with-token", "--insecure-storage")
    space = SpaceRef(space_id="s1")
    name = f"{served} user mia"

    async def write(state: StateDb) -> None:
        outbox = Outbox(nobody, state, Drafts(state), undo_seconds=0)
        await outbox.add(comments.Create(at=space, body=Markdown(markdown="One")), action="comment")
        await outbox.add(comments.Create(at=space, body=Markdown(markdown="Two")), action="comment")
        await outbox.add_pending_comment(
            NewWrite(comments.Create(at=space, body=Markdown(markdown="Three")), "comment")
        )

    state = StateDb(tmp_path / "state", name)
    asyncio.run(write(state))
    Drafts(state).save_now("reply s k", "half a sen")
    state.close()
    before = waiting(tmp_path, name)
    assert len(before) == 3

    ran = octavo("auth", "logout", *more)
    assert "2 changes are queued and not sent yet. Octavo sends queued changes when you sign in again." in ran.out
    assert "1 change needs your decision." in ran.out
    assert ("1 unsent draft remains" in ran.out) == (not more)
    assert waiting(tmp_path, name) == before


async def nobody(op: Operation[Any]) -> Any:
    raise AssertionError(f"{op} was sent")


def waiting(folder: Path, name: str) -> tuple[OutboxEntry, ...]:
    """The writes that are not done, as the next session finds them."""
    state = StateDb(folder / "state", name)
    try:
        return OutboxEntries(state, state.now).all
    finally:
        state.close()


@pytest.mark.usefixtures("typed")
def test_a_stored_key_goes_to_no_other_server(octavo: Octavo, served: str) -> None:
    octavo("--base-url", served, "auth", "login", "--with-token", "--insecure-storage")
    ran = octavo("--base-url", "http://127.0.0.1:9", "api", "users.Me")
    assert ran.code == 4
    assert "You are not signed in to http://127.0.0.1:9" in ran.err


def test_profiles_are_named_and_switched(octavo: Octavo, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("work", "home"):
        monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
        ran = octavo("--base-url", served, "--profile", name, "auth", "login", "--with-token", "--insecure-storage")
        assert f"as profile {name}." in ran.out
    assert octavo("auth", "switch", "work").code == 0
    assert octavo("auth", "status").out.startswith("* work")
    assert octavo("auth", "switch", "nobody").code == 1


def test_server_and_name_may_stand_behind_the_command(
    octavo: Octavo, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    ran = octavo("auth", "login", "--base-url", served, "--profile", "work", "--with-token", "--insecure-storage")
    assert f"Signed in to {served} as profile work." in ran.out
    assert octavo("api", "users.Me", "--profile", "work").code == 0
    assert octavo("--profile", "work", "api", "users.Me").code == 0
    assert octavo("api", "users.Me", "--profile", "none").code == 1
    assert octavo("--profile", "none", "auth", "status", "--profile", "work").code == 0, "the last one holds"


def test_no_key_on_the_command_line(octavo: Octavo) -> None:
    assert octavo("auth", "login", "--token", KEY).code == 2
    assert octavo("--api-key", KEY, "api", "users.Me").code == 2


@pytest.mark.parametrize("wrong", ["", "short", "with space in it", "x" * 600, "naïve-key-of-someone"])
def test_what_is_no_key_is_refused_without_an_echo(
    octavo: Octavo, served: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(wrong))
    ran = octavo("--base-url", served, "auth", "login", "--with-token")
    assert ran.code == 1
    assert not wrong or wrong not in ran.err


def test_the_folders_of_a_test_are_its_own(tmp_path: Path) -> None:
    # Guards the others: nothing here may touch the account of whoever runs the tests.
    environ = {f"OCTAVO_{name}_DIR": str(tmp_path) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    assert read(environ).config_folder == tmp_path


def kept(folder: Path) -> list[Path]:
    """The files that hold the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if KEY.encode() in path.read_bytes()]
