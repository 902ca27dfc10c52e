"""Problems of this machine (settings, profiles, folders): Octavo names the cause and the next step, and does not continue without."""

from __future__ import annotations

import errno
import io
import os
import threading
from pathlib import Path

import keyring
import pytest

from octavo.client.credentials import STILL_WAITING, Keyring
from octavo.settings import error_in_words
from tests.cli.command_process import OctavoTerminal
from tests.cli.conftest import Octavo
from tests.cli.small_server import KEY
from tests.client.keyring_backends import HERE, Waiting

DAMAGED = 'current = "work"\n[profiles.work\norigin = "https://own.example"\nstore = "keyring"\n'


@pytest.fixture
def profiles_file(octavo: Octavo, tmp_path: Path) -> Path:
    """Create a profiles file that cannot be read."""
    path = tmp_path / "config" / "profiles.toml"
    path.parent.mkdir()
    path.write_text(DAMAGED)
    return path


def test_damaged_profiles_file_is_an_error(octavo: Octavo, profiles_file: Path) -> None:
    why = f"Could not read the profiles: {profiles_file}: Expected ']' at the end of a table declaration (at line 2, "
    for command, code in (
        (("api", "users.Me"), 4),
        (("--profile", "work", "api", "users.Me"), 1),
        (("auth", "status"), 4),
        (("auth", "logout"), 1),
        (("auth", "switch", "work"), 1),
    ):
        ran = octavo(*command)
        assert ran.code == code, command
        assert why in ran.out + ran.err, command
        assert "Correct the file, or sign in again: octavo auth login." in ran.out + ran.err
    with OctavoTerminal([], dict(os.environ)) as app:
        app.wait_for("Paste your API key for", "Could not read the profiles")
        app.write(b"\x11")
        assert app.end() == 0


def test_login_keeps_a_copy_of_the_damaged_profiles(
    octavo: Octavo, profiles_file: Path, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    ran = octavo("--base-url", server_url, "auth", "login", "--with-token", "--insecure-storage")
    assert ran.code == 0, ran
    assert profiles_file.with_suffix(".unreadable").read_text() == DAMAGED
    assert octavo("api", "users.Me").code == 0


def test_missing_certificate_file_is_an_error(octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_CA_FILE", "/nonexistent/ca.pem")
    ran = octavo("--base-url", server_url, "api", "users.Me")
    assert ran.code == 1
    assert ran.out == ""
    assert "OCTAVO_CA_FILE is '/nonexistent/ca.pem', but there is no such file." in ran.err
    assert "he certificate file /nonexistent/ca.pem does not exist. Correct or remove" in ran.err


def test_mistakes_in_the_settings_are_printed_to_stderr(octavo: Octavo, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('teme = "dark"\nundo_seconds = 99\n')
    ran = octavo("auth", "status")
    assert f"octavo: {tmp_path}/config/config.toml, line 1: there is no setting 'teme'. Did you mean theme?" in ran.err
    assert f"octavo: {tmp_path}/config/config.toml, line 2: undo_seconds must be a number" in ran.err


@pytest.mark.before_release("demo --large", "demo --reset")
@pytest.mark.parametrize(
    "command", ["demo", "demo --large", "demo --reset", "open FOLDER", "serve", "serve --load FOLDER", "auth login"]
)
def test_folder_that_cannot_be_created_is_named_with_the_next_step(
    server_url: str, octavo: Octavo, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "file").touch()  # Not even root can create a folder below a file.
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"OCTAVO_{name}_DIR", str(tmp_path / "file" / "octavo"))
    arguments = command.replace("FOLDER", str(tmp_path / "pages")).split()
    if command == "auth login":
        monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
        ran = octavo("--base-url", server_url, *arguments, "--with-token")
        code, said = ran.code, ran.err
    elif command.startswith("serve"):
        ran = octavo(*arguments)
        code, said = ran.code, ran.err
    else:
        with OctavoTerminal(arguments, dict(os.environ)) as app:
            code = app.end()
            said = app.look()
    said = " ".join(said.split())
    assert code == 1
    assert "Errno" not in said
    assert "Could not " in said
    assert "OCTAVO_DATA_DIR" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EIO])
def test_system_error_has_no_error_number_in_its_message(code: int) -> None:
    said = error_in_words(OSError(code, os.strerror(code), "/home/of/somebody"))
    assert said.startswith("Could not use /home/of/somebody: ")
    assert "Errno" not in said
    assert said.count(". ") >= 1
    assert said.endswith((".", "are."))


@pytest.mark.before_release("False")
@pytest.mark.parametrize("large", [False, True])
def test_damaged_demo_suggests_a_reset(octavo: Octavo, tmp_path: Path, large: bool) -> None:
    folder = tmp_path / "data" / ("demo-large" if large else "demo")
    folder.mkdir(parents=True, mode=0o700)
    (folder / "platform.db").write_bytes(b"this is no database" * 1000)
    options = ["--large"] if large else []
    reset_command = f"octavo demo {'--large ' if large else ''}--reset"
    with OctavoTerminal(["demo", *options], dict(os.environ)) as app:
        if large:  # The large demo is built before the app starts.
            assert app.end() == 1
            assert reset_command.replace(" ", "") in "".join(app.look().split())
        else:
            app.wait_for("Could not open the data")
            app.write(b"!")
            app.wait_for(reset_command)
            app.write(b"\x1b\x11")
            app.end()
    if not large:
        with OctavoTerminal(["demo", "--reset"], dict(os.environ)) as app:
            app.wait_for("To do 17")


def test_command_waits_for_the_password_prompt_of_the_keyring(
    octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keyring.core._keyring_backend
    backend = Waiting()
    keyring.set_keyring(backend)
    try:
        defaults = Keyring.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, "trusted", HERE)
        backend.answered.set()
        monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
        assert octavo("--base-url", server_url, "auth", "login", "--with-token").code == 0
        backend.answered.clear()
        monkeypatch.setattr("octavo.client.credentials.TIMEOUT", 0.05)
        typing = threading.Timer(0.5, backend.answered.set)
        typing.start()
        ran = octavo("api", "users.Me")
        typing.join()
        assert ran.code == 0
        assert f"octavo: {STILL_WAITING}" in ran.err
    finally:
        keyring.core._keyring_backend = before
