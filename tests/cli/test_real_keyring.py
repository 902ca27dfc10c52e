"""A real gnome-keyring in its own D-Bus session: the tests lock, unlock and stop the keyring while Octavo runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from tests.benchmarks.terminal import Terminal
from tests.cli.small_server import KEY

NEEDS = ("dbus-daemon", "gnome-keyring-daemon", "secret-tool")
MISSING = [each for each in NEEDS if shutil.which(each) is None]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        bool(MISSING), reason=f"{', '.join(MISSING)} missing: install gnome-keyring, dbus and libsecret-tools"
    ),
]
PASSWORD = b"the password of the keyring"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={bus}</listen>
<policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"""
"""This D-Bus configuration starts no services: neither a keyring nor a password dialog."""
LIMIT = 20.0
"""Longest wait in seconds."""


@dataclass
class Desktop:
    """A D-Bus session with gnome-keyring."""

    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        environ = {
            **os.environ,
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.bus}",
        }
        return {
            **environ,
            **{f"OCTAVO_{name}_DIR": str(self.folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
        }

    @property
    def bus(self) -> Path:
        return self.folder / "run" / "bus"

    def start_bus(self) -> None:
        self.bus.parent.mkdir(mode=0o700, exist_ok=True)
        self.bus.unlink(missing_ok=True)
        config = self.folder / "bus.conf"
        config.write_text(BUS.format(bus=self.bus))
        self._start("dbus-daemon", f"--config-file={config}", "--nofork")
        wait_until(self.bus.exists)

    def unlock(self) -> None:
        """Start an unlocked keyring that replaces the running keyring, with the command that Octavo recommends over ssh."""
        with tempfile.TemporaryFile() as password:
            password.write(PASSWORD)
            password.seek(0)
            daemon = ("gnome-keyring-daemon", "--replace", "--unlock", "--components=secrets", "--foreground")
            self._start(*daemon, stdin=password)
        wait_until(
            lambda: self.run_secretstorage("print(not secretstorage.get_default_collection(bus).is_locked())") == "True"
        )

    def lock(self) -> None:
        assert self.run_secretstorage("secretstorage.get_default_collection(bus).lock(); print('locked')") == "locked"

    def run_secretstorage(self, program: str) -> str:
        """Return the output of a program that uses the keyring. Empty if the program fails."""
        code = f"import secretstorage\nbus = secretstorage.dbus_init()\n{program}"
        done = subprocess.run([sys.executable, "-c", code], env=self.environ, capture_output=True, text=True)
        return done.stdout.strip()

    def kill(self, name: str) -> None:
        """Kill the processes with this name, as a crash does."""
        for each in self.running:
            if Path(str(each.args[0])).name == name and each.poll() is None:  # type: ignore[index]  # the arguments are lists
                each.kill()
                each.wait()

    def octavo(self, *arguments: str, typed: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the session. Empty variables are removed."""
        kept = {name: value for name, value in {**self.environ, **environ}.items() if value}
        command = [sys.executable, "-m", "octavo", *arguments]
        return subprocess.run(command, env=kept, input=typed, capture_output=True, text=True)

    def _start(self, *command: str, stdin: IO[bytes] | int = subprocess.DEVNULL) -> None:
        quiet = subprocess.DEVNULL
        self.running.append(subprocess.Popen(command, env=self.environ, stdin=stdin, stdout=quiet, stderr=quiet))


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true. Fails after LIMIT."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    for name in ("PYTHON_KEYRING_BACKEND", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "OCTAVO_API_KEY", "OCTAVO_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    desktop = Desktop(tmp_path)
    desktop.start_bus()
    desktop.unlock()
    yield desktop
    for name in ("gnome-keyring-daemon", "dbus-daemon"):
        desktop.kill(name)


def test_unreadable_keyring_is_named_and_works_again_once_unlocked(desktop: Desktop, server_url: str) -> None:
    host = server_url.removeprefix("http://")
    key_of = f"the API key of profile default ({host}) from the keyring:"

    def run_failing(*arguments: str, code: int = 4, **environ: str) -> str:
        ran = desktop.octavo(*arguments, **environ)
        assert (ran.returncode, KEY in ran.stdout + ran.stderr) == (code, False), ran
        return " ".join(ran.stderr.split())

    def can_read_key() -> bool:
        return desktop.octavo("api", "users.Me").returncode == 0

    # After the sign-in, only the keyring has the key.
    ran = desktop.octavo("--base-url", server_url, "auth", "login", "--with-token", typed=KEY)
    assert "The API key is stored in the system keyring" in ran.stdout, ran
    assert can_read_key()
    assert is_in_no_file(desktop.folder)
    with open_app(desktop) as shown:
        shown.wait_for("● updated", limit=LIMIT)
        shown.write(b"\x11")
        assert shown.end(limit=LIMIT) == 0

    # Locked keyring: a command fails with the cause, the app shows cached content. After unlocking, the app continues.
    desktop.lock()
    assert f"Could not read {key_of} the keyring is locked. Set OCTAVO_API_KEY" in run_failing("api", "users.Me")
    with open_app(desktop) as shown:
        shown.wait_for("○ no API key", limit=LIMIT)
        shown.wait_for("Could not read the API key of profile default", "the keyring is locked", limit=LIMIT)
        shown.wait_for("f3 sign in", limit=LIMIT)
        desktop.unlock()
        shown.write(b"r")
        shown.wait_for("● updated", limit=LIMIT)
        shown.write(b"\x11")
        assert shown.end(limit=LIMIT) == 0

    # Stopped keyring service: the app continues once a service is started.
    desktop.kill("gnome-keyring-daemon")
    assert f"Could not read {key_of} no keyring service is running." in run_failing("api", "users.Me")
    with open_app(desktop) as shown:
        shown.wait_for("○ no API key", "no keyring service is running", limit=LIMIT)
        desktop.unlock()
        shown.write(b"r")
        shown.wait_for("● updated", limit=LIMIT)
        shown.write(b"\x11")
        assert shown.end(limit=LIMIT) == 0

    # Without D-Bus, as over ssh: Octavo prints the command that helps.
    said = run_failing("api", "users.Me", DBUS_SESSION_BUS_ADDRESS="")
    way = f"export DBUS_SESSION_BUS_ADDRESS=unix:path={desktop.bus}"
    assert f"Could not read {key_of} this session has no D-Bus session bus" in said
    assert said.endswith(f"run: {way}")
    assert can_read_key(), "the recommended address is the address of this test's bus"
    desktop.kill("dbus-daemon")
    assert f"Could not read {key_of} the D-Bus session bus" in run_failing("api", "users.Me")
    status = desktop.octavo("auth", "status")
    assert "unreadable" in status.stdout
    assert f"Could not read {key_of}" in status.stderr

    # Bus and keyring run again: the key can be read again.
    desktop.kill("gnome-keyring-daemon")
    desktop.start_bus()
    desktop.unlock()
    assert can_read_key()
    assert is_in_no_file(desktop.folder)


def test_logout_without_dbus_says_how_to_delete_the_key(desktop: Desktop, server_url: str) -> None:
    desktop.octavo("--base-url", server_url, "auth", "login", "--with-token", typed=KEY)
    ran = desktop.octavo("auth", "logout", DBUS_SESSION_BUS_ADDRESS="")
    assert ran.returncode == 1
    assert f"Signed out of {server_url} (profile default)." in ran.stdout
    assert "Could not delete the API key of profile default" in ran.stderr
    assert desktop.octavo("api", "users.Me").returncode == 4
    command = ran.stderr.strip().rpartition("run: ")[2].split()
    assert command == ["secret-tool", "clear", "service", f"octavo:{server_url}", "username", "default"]
    found = "print(len(list(secretstorage.get_default_collection(bus).get_all_items())))"
    assert desktop.run_secretstorage(found) == "1"
    assert subprocess.run(command, env=desktop.environ).returncode == 0
    assert desktop.run_secretstorage(found) == "0"

    # With the keyring, signing out deletes the key.
    desktop.octavo("--base-url", server_url, "auth", "login", "--with-token", typed=KEY)
    assert desktop.octavo("auth", "logout").returncode == 0
    assert desktop.run_secretstorage(found) == "0"


def open_app(desktop: Desktop) -> Terminal:
    return Terminal([sys.executable, "-m", "octavo"], desktop.environ, columns=150)


def is_in_no_file(folder: Path) -> bool:
    """Return True if no file contains the key in plain text, files of the keyring included."""
    for each in folder.rglob("*"):
        with suppress(OSError):  # Sockets cannot be read.
            if each.is_file() and KEY.encode() in each.read_bytes():
                return False
    return True
