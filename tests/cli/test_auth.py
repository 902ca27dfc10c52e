"""`octavo auth`: a key is read from standard input, stays in its store, and is never printed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import stat
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation, SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import OutboxEntries
from octavo.settings import read
from tests.cli.command_process import OctavoTerminal
from tests.cli.conftest import Octavo, busy_server
from tests.cli.small_server import KEY, KEY_OF_JUN, NEXT_KEY
from tests.data.connections import add_write


@pytest.fixture
def key_on_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Bearer {KEY}\n"))


@pytest.mark.usefixtures("key_on_stdin")
def test_login_without_a_keyring_stores_no_key_and_fails(octavo: Octavo, server_url: str, tmp_path: Path) -> None:
    ran = octavo("--base-url", server_url, "auth", "login", "--with-token")
    assert ran.code == 1, "success would mean that you are signed in"
    assert (
        "The API key is valid, but could not be stored, so you are not signed in with this API key. "
        "The environment variable PYTHON_KEYRING_BACKEND names keyring.backends.fail" in ran.err
    )
    assert "octavo auth login --insecure-storage" in ran.err
    assert not files_with_key(tmp_path)
    assert octavo("api", "users.Me").code == 4
    with OctavoTerminal([], dict(os.environ)) as app:
        app.wait_for(
            "Paste your API key for",
            "The API key for default is not stored on this computer. Paste the",
            limit=20,
        )
        app.write(b"\x11")
        assert app.end() == 0


@pytest.mark.usefixtures("key_on_stdin")
def test_insecure_storage_option_writes_the_key_to_a_private_file(
    octavo: Octavo, server_url: str, tmp_path: Path
) -> None:
    ran = octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    assert "You are Mia Lund" in ran.out
    [file] = files_with_key(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert octavo("api", "users.Me").code == 0
    status = octavo("auth", "status")
    assert status.code == 0
    assert status.out == f"*\tdefault\t{server_url}\tMia Lund\tunencrypted in a private file\taccepted\t\n"
    assert KEY not in status.out + ran.out + ran.err


@pytest.mark.usefixtures("key_on_stdin")
def test_logout_deletes_the_key_and_keeps_drafts(octavo: Octavo, server_url: str, tmp_path: Path) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    state = StateDb(tmp_path / "state", f"{server_url} user mia")
    Drafts(state).save_now("reply s k", "half a sen")
    state.close()
    ran = octavo("auth", "logout")
    assert "1 unsent draft remains" in ran.out
    assert not files_with_key(tmp_path)
    assert octavo("api", "users.Me").code == 4
    state = StateDb(tmp_path / "state", f"{server_url} user mia")
    assert Drafts(state).get("reply s k") == "half a sen"
    state.close()


@pytest.mark.usefixtures("key_on_stdin")
def test_logout_that_cannot_delete_drafts_says_that_the_key_is_deleted(
    octavo: Octavo, server_url: str, tmp_path: Path
) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    (tmp_path / "state" / "state.db").unlink(missing_ok=True)
    (tmp_path / "state" / "state.db").mkdir(parents=True)  # SQLite cannot open a folder.
    ran = octavo("auth", "logout", "--drafts")
    assert ran.code == 1
    assert f"octavo: Signed out of {server_url} (profile default), but some drafts remain: " in ran.err
    assert not files_with_key(tmp_path)


def test_logout_without_an_account_ends_as_not_signed_in(octavo: Octavo) -> None:
    ran = octavo("auth", "logout")
    assert (ran.code, ran.out, ran.err) == (4, "", "octavo: You are not signed in. Run: octavo auth login\n")


@pytest.mark.usefixtures("key_on_stdin")
@pytest.mark.parametrize("more", [(), ("--drafts",)])
def test_logout_keeps_and_counts_unsent_writes(
    octavo: Octavo, server_url: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    space = SpaceRef(space_id="s1")
    name = f"{server_url} user mia"

    async def write(state: StateDb) -> None:
        outbox = Outbox(refuse_to_send, state, Drafts(state), undo_seconds=0)
        await add_write(outbox, comments.Create(at=space, body=Markdown(markdown="One")), action="comment")
        await add_write(outbox, comments.Create(at=space, body=Markdown(markdown="Two")), action="comment")
        await outbox.add_pending_comments(
            [NewWrite(comments.Create(at=space, body=Markdown(markdown="Three")), "comment")]
        )

    state = StateDb(tmp_path / "state", name)
    asyncio.run(write(state))
    Drafts(state).save_now("reply s k", "half a sen")
    state.close()
    before = unsent_writes(tmp_path, name)
    assert len(before) == 3

    ran = octavo("auth", "logout", *more)
    assert "2 changes are queued and not sent yet. Octavo sends queued changes when you sign in again." in ran.out
    assert "1 change needs your decision." in ran.out
    assert ("1 unsent draft remains" in ran.out) == (not more)
    assert unsent_writes(tmp_path, name) == before


async def refuse_to_send(op: Operation[Any]) -> Any:
    raise AssertionError(f"{op} was sent")


def unsent_writes(folder: Path, name: str) -> tuple[OutboxEntry, ...]:
    """Return the unsent writes as the next session reads them."""
    state = StateDb(folder / "state", name)
    try:
        return OutboxEntries(state, state.now).all
    finally:
        state.close()


@pytest.mark.usefixtures("key_on_stdin")
def test_stored_key_is_sent_to_its_server_only(octavo: Octavo, server_url: str) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    ran = octavo("--base-url", "http://127.0.0.1:9", "api", "users.Me")
    assert ran.code == 4
    assert "You are not signed in to http://127.0.0.1:9" in ran.err


def test_auth_switch_changes_the_current_profile(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("work", "home"):
        monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
        ran = octavo("--base-url", server_url, "--profile", name, "auth", "login", "--with-token", "--insecure-storage")
        assert f"as profile {name}." in ran.out
    assert octavo("auth", "switch", "work").code == 0
    assert octavo("auth", "status").out.startswith("*\twork\t")
    assert octavo("auth", "switch", "nobody").code == 3


def test_base_url_and_profile_may_follow_the_command(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    ran = octavo("auth", "login", "--base-url", server_url, "--profile", "work", "--with-token", "--insecure-storage")
    assert f"Signed in to {server_url} as profile work." in ran.out
    assert octavo("api", "users.Me", "--profile", "work").code == 0
    assert octavo("--profile", "work", "api", "users.Me").code == 0
    assert octavo("api", "users.Me", "--profile", "none").code == 1
    assert octavo("--profile", "none", "auth", "status", "--profile", "work").code == 0, "the last --profile counts"


def test_key_as_an_argument_is_refused(octavo: Octavo) -> None:
    assert octavo("auth", "login", "--token", KEY).code == 2
    assert octavo("--api-key", KEY, "api", "users.Me").code == 2


@pytest.mark.parametrize("wrong", ["", "short", "with space in it", "x" * 600, "naïve-key-of-someone"])
def test_invalid_key_is_refused_and_not_printed(
    octavo: Octavo, server_url: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(wrong))
    ran = octavo("--base-url", server_url, "auth", "login", "--with-token")
    assert ran.code == 1
    assert not wrong or wrong not in ran.err


@pytest.mark.usefixtures("key_on_stdin")
def test_status_of_a_rejected_key_ends_with_four(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    monkeypatch.setenv("OCTAVO_API_KEY", "revoked-key-0123456789")
    for options in ((), ("--json",)):
        ran = octavo("--base-url", server_url, "auth", "status", *options)
        assert ran.code == 4, options
        assert "did not accept your API key: it is wrong, expired, or revoked" in ran.out + ran.err
        assert "revoked-key" not in ran.out + ran.err
    assert json.loads(ran.out)[0]["status"] == "rejected"
    offline = octavo("--base-url", server_url, "auth", "status", "--offline", "--json", "status,store")
    assert (offline.code, json.loads(offline.out)) == (0, [{"status": "not checked", "store": "env"}])


def test_status_without_an_account_ends_with_four(octavo: Octavo) -> None:
    ran = octavo("auth", "status")
    assert ran.code == 4
    assert ran.out.endswith("\tnowhere\tmissing\t\n")
    assert "You are not signed in to https://api.gitbook.com. Run octavo auth login" in ran.err


@pytest.mark.parametrize("status", [429, 503])
def test_status_is_unknown_if_the_server_is_busy(octavo: Octavo, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    with busy_server(status) as origin:
        ran = octavo("--base-url", origin, "auth", "status")
    assert ran.code == 1
    assert "\tunknown\t" in ran.out
    assert "octavo: Could not check the API key for" in ran.err
    assert "Try again" in ran.err


def test_token_is_printed_to_a_terminal_only_with_the_show_option(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    assert octavo("auth", "token").out == f"{KEY}\n"
    command = ["auth", "token"]
    with OctavoTerminal(command, dict(os.environ)) as shown:
        assert shown.end() == 2
        refused = shown.look()
    assert KEY not in refused
    assert "add --show." in " ".join(refused.split())
    with OctavoTerminal([*command, "--show"], dict(os.environ)) as shown:
        assert shown.end() == 0
        assert KEY in shown.look()


@pytest.mark.usefixtures("key_on_stdin")
def test_refresh_replaces_the_key_and_keeps_the_drafts(
    octavo: Octavo, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = ("auth", "login", "--with-token", "--insecure-storage")
    octavo("--base-url", server_url, "--profile", "work", *login)
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY_OF_JUN))
    octavo("--base-url", server_url, "--profile", "other", *login)
    state = StateDb(tmp_path / "state", f"{server_url} user mia")
    Drafts(state).save_now("reply s k", "half a sen")
    state.close()
    monkeypatch.setattr("sys.stdin", io.StringIO(NEXT_KEY))
    ran = octavo("auth", "refresh", "--profile", "work", "--with-token")
    assert (ran.code, ran.out) == (0, "Replaced the API key of profile work. Your drafts are unchanged.\n")
    assert octavo("--profile", "work", "auth", "token").out == f"{NEXT_KEY}\n"
    files = [each.read_text() for each in (tmp_path / "data" / "keys").iterdir()]
    assert not any(f'"{KEY}"' in each for each in files), "the former key is gone"
    assert octavo("auth", "token").out == f"{KEY_OF_JUN}\n", "the other profile is still current"
    state = StateDb(tmp_path / "state", f"{server_url} user mia")
    assert Drafts(state).get("reply s k") == "half a sen"
    state.close()


@pytest.mark.usefixtures("key_on_stdin")
def test_refresh_with_the_key_of_another_user_is_refused(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY_OF_JUN))
    ran = octavo("auth", "refresh", "--with-token")
    assert ran.code == 1
    assert "Profile default belongs to Mia Lund" in ran.err
    assert octavo("auth", "token").out == f"{KEY}\n"


@pytest.mark.usefixtures("key_on_stdin")
@pytest.mark.parametrize("option", ["--profile", "--base-url", "--space", "--folder"])
def test_empty_option_does_not_select_the_current_account(octavo: Octavo, server_url: str, option: str) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    ran = octavo("auth", "logout", option, "")
    assert (ran.code, ran.out) == (2, "")
    assert octavo("auth", "token").out == f"{KEY}\n"


@pytest.mark.usefixtures("key_on_stdin")
@pytest.mark.parametrize("action", ["login", "refresh"])
def test_key_that_cannot_be_stored_does_not_replace_a_stored_key(
    octavo: Octavo, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    file = tmp_path / "config" / "profiles.toml"
    if action == "refresh":  # The refreshed key would replace the key in the file, but not that in a keyring.
        file.write_text(file.read_text().replace('store = "file"', 'store = "keyring"'))
    profiles = file.read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO(NEXT_KEY))
    ran = octavo("auth", action, "--with-token")
    assert ran.code == 1
    assert "so you are not signed in with this API key" in ran.err
    assert file.read_text() == profiles
    assert (octavo("auth", "token").out == f"{KEY}\n") is (action == "login")


def test_refresh_without_an_account_ends_with_four(octavo: Octavo) -> None:
    assert octavo("auth", "refresh", "--with-token").code == 4


def test_login_checks_the_keyring_before_it_asks_for_the_key(octavo: Octavo, server_url: str) -> None:
    with OctavoTerminal(["--base-url", server_url, "auth", "login"], dict(os.environ)) as shown:
        assert shown.end() == 1
        said = " ".join(shown.look().split())
    assert "API key for" not in said
    assert "octavo: Could not sign in: The environment variable PYTHON_KEYRING_BACKEND names" in said
    assert "octavo auth login --insecure-storage" in said


def test_login_web_opens_the_page_for_tokens(octavo: Octavo, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    environ = {**os.environ, "BROWSER": f"sh -c 'echo %s > {opened}'", "DISPLAY": ":0"}
    command = ["auth", "login", "--insecure-storage", "--web"]
    with OctavoTerminal(command, environ) as shown:
        shown.wait_for("https://app.gitbook.com/account/developer", "API key for api.gitbook.com:")
        shown.write(b"\r")
        assert shown.end() == 1, "no API key was typed"
    for _ in range(100):
        if opened.exists() and opened.read_text():
            break
        sleep(0.05)
    assert opened.read_text() == "https://app.gitbook.com/account/developer\n"


def test_logout_without_a_keyring_says_how_to_delete_the_key(octavo: Octavo, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    profile = '[profiles.work]\norigin = "https://docs.example.com"\nstore = "keyring"\nuser_id = "mia"\n'
    (tmp_path / "config" / "profiles.toml").write_text(f'current = "work"\n{profile}')
    ran = octavo("auth", "logout")
    assert ran.code == 1
    assert "Signed out of https://docs.example.com (profile work). Deleted the cached pages." in ran.out
    assert "secret-tool clear service octavo:https://docs.example.com username work" in ran.err
    assert "[profiles" not in (tmp_path / "config" / "profiles.toml").read_text()


def test_tests_use_their_own_folders(tmp_path: Path) -> None:
    # Without these folders, a test would change the account of the developer.
    environ = {f"OCTAVO_{name}_DIR": str(tmp_path) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    assert read(environ).config_folder == tmp_path


def files_with_key(folder: Path) -> list[Path]:
    """Return the files that contain the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if KEY.encode() in path.read_bytes()]
