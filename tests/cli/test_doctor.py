"""`octavo doctor` with a broken setup: the command names the cause and the fix, and prints no API key."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any

import pytest

from octavo.lazy_import import has_extra
from tests.benchmarks import terminal
from tests.cli.command_process import CommandLine, ProcessResult
from tests.cli.small_server import KEY
from tests.cli.test_real_keyring import BUS

MAY_MOUNT = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
PROFILE = 'current = "work"\n[profiles.work]\norigin = "{origin}"\nstore = "keyring"\nuser_id = "mia"\n'


@pytest.fixture
def home(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, {"OCTAVO_API_KEY": KEY, "TERM": "xterm-256color"})


def find_check(ran: ProcessResult, name: str, status: str) -> dict[str, Any]:
    """Return the check with this name and status. Fails if there is no such check."""
    assert KEY not in ran.out + ran.err
    (check,) = (each for each in ran.json if each["name"] == name and each["status"] == status)
    assert check["fix"], check
    return dict(check)


def test_without_problems_every_line_is_good_and_the_exit_code_is_zero(home: CommandLine, server_url: str) -> None:
    with home.terminal("doctor", environ={"OCTAVO_BASE_URL": server_url, "EDITOR": "cat"}) as shown:
        assert shown.end() == 0
        out = shown.look()
    lines = [line.strip() for line in out.splitlines() if re.match(r"  \S ", line)]
    assert {line[0] for line in lines} == {"✓"}, out
    assert re.search(rf"Server +{server_url} +\d+ ms, version \S+", out)
    assert re.search(r"API key +accepted: Mia Lund", out)
    assert re.search(r"Clock +[+-]\d s compared with the server", out)


def test_rejected_key_is_an_error_of_the_key_check_only(home: CommandLine, server_url: str) -> None:
    ran = home.run(
        "doctor", "--json", environ={"OCTAVO_BASE_URL": server_url, "OCTAVO_API_KEY": "some-other-key-0123456789"}
    )
    assert ran.code == 1
    assert "some-other-key" not in ran.out + ran.err
    check = find_check(ran, "API key", "error")
    assert "did not accept your API key: it is wrong, expired, or revoked" in check["text"]
    assert check["fix"] == "run: octavo auth refresh"
    assert [each["status"] for each in ran.json if each["name"] == "Server"] == ["ok"]


class _WrongClock(BaseHTTPRequestHandler):
    """A server whose clock is three hours behind."""

    def do_GET(self) -> None:
        self.send_response_only(200)
        body = b'{"version": "1.0", "id": "mia", "displayName": "Mia", "object": "user"}'
        self.send_header("date", formatdate(time() - 3 * 3600, usegmt=True))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server_in_the_past() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _WrongClock)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_wrong_clock_is_found_by_the_date_of_the_server(home: CommandLine, server_in_the_past: str) -> None:
    ran = home.run("doctor", "--json", environ={"OCTAVO_BASE_URL": server_in_the_past})
    assert ran.code == 1
    check = find_check(ran, "Clock", "error")
    assert check["text"] == "3 hours ahead of the clock of the server"
    assert "set the clock of this computer" in check["fix"]


def with_keyring(home: CommandLine, **environ: str) -> CommandLine:
    """Configure a profile whose API key is in the system keyring."""
    for name in ("PYTHON_KEYRING_BACKEND", "OCTAVO_API_KEY"):
        del home.environ[name]
    home.environ |= {"HOME": str(home.folder), "XDG_RUNTIME_DIR": str(home.folder / "run"), **environ}
    (home.folder / "config").mkdir()
    (home.folder / "config" / "profiles.toml").write_text(PROFILE.format(origin="http://127.0.0.1:9"))
    return home


@pytest.mark.before_release
def test_without_dbus_the_keyring_cannot_be_reached(home: CommandLine) -> None:
    ran = with_keyring(home).run("doctor", "--offline", "--json")
    assert ran.code == 1
    check = find_check(ran, "Keyring", "error")
    assert "this session has no D-Bus session bus" in check["text"]
    assert check["fix"].startswith("set OCTAVO_API_KEY to the API key, or start Octavo from your desktop")


@pytest.mark.before_release
@pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="dbus-daemon is not here")
def test_locked_keyring_says_how_to_unlock_it(home: CommandLine) -> None:
    bus = home.folder / "run" / "bus"
    bus.parent.mkdir(mode=0o700)
    config = home.folder / "bus.conf"
    config.write_text(BUS.format(bus=bus))
    address = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"}
    with subprocess.Popen(
        ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"], stdout=subprocess.PIPE
    ) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        service = [sys.executable, "-m", "tests.cli.locked_keyring"]
        with subprocess.Popen(service, env={**os.environ, **address}, stdout=subprocess.PIPE) as serving:
            assert serving.stdout is not None
            assert serving.stdout.readline() == b"ready\n"
            ran = with_keyring(home, **address).run("doctor", "--offline", "--json")
            serving.kill()
        daemon.kill()
    assert ran.code == 1
    check = find_check(ran, "Keyring", "error")
    assert (
        check["text"]
        == "could not read the API key of profile work (127.0.0.1:9) from the keyring: the keyring is locked"
    )
    assert "or unlock the keyring in" in check["fix"]
    assert "gnome-keyring-daemon --replace --unlock" in check["fix"]


def in_mount(home: CommandLine, options: str) -> ProcessResult:
    """Run the command with its folders on a new file system."""
    folders = " ".join(f"OCTAVO_{name}_DIR={home.folder}/mount/octavo" for name in ("CONFIG", "DATA", "STATE", "CACHE"))
    command = " ".join(home.command("doctor", "--offline", "--json"))
    script = (
        f"mkdir {home.folder}/mount && mount -t tmpfs -o {options} tmpfs {home.folder}/mount && {folders} {command}"
    )
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], env=home.environ, capture_output=True, text=True, check=False
    )
    return ProcessResult(ran.returncode, ran.stdout, ran.stderr)


def test_full_disk_is_named_with_the_folder(home: CommandLine) -> None:
    if MAY_MOUNT:
        ran = in_mount(home, "size=16k")
        folder = home.folder / "mount" / "octavo"
    else:  # Without the right to mount, a limit on file sizes fails in the same way.
        limited = subprocess.run(
            home.command("doctor", "--offline", "--json"), env=home.environ, capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )  # fmt: skip
        ran, folder = ProcessResult(limited.returncode, limited.stdout, limited.stderr), home.folder / "config"
    assert ran.code == 1
    check = find_check(ran, "Folders", "error")
    assert check["text"].startswith(f"{folder}: the disk is full")
    assert check["fix"] == "free up disk space"


@pytest.mark.before_release
def test_read_only_home_is_named_with_the_variable_to_set(home: CommandLine) -> None:
    if MAY_MOUNT:
        ran, cause = in_mount(home, "ro"), "read-only file system"
    else:  # Without the right to mount, a folder below a file cannot be created either.
        (home.folder / "file").touch()
        folders = {f"OCTAVO_{name}_DIR": f"{home.folder}/file/octavo" for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        ran, cause = home.run("doctor", "--offline", "--json", environ=folders), "not a directory"
    assert ran.code == 1
    check = find_check(ran, "Folders", "error")
    assert check["text"].endswith(f": {cause}")
    assert re.search(r"make \S+ writable, or set OCTAVO_CONFIG_DIR to a writable folder", check["fix"])


def test_folder_with_an_invalid_name_does_not_end_the_checks(home: CommandLine) -> None:
    ran = home.run("doctor", "--offline", "--json", environ={"OCTAVO_CACHE_DIR": str(home.folder / ("x" * 300))})
    assert "Databases" in [each["name"] for each in ran.json], ran.err


def test_damaged_databases_are_named_each_with_its_fix(home: CommandLine) -> None:
    for place in ("state/state.db", "cache/cache-v1.db", "data/demo/platform.db"):
        path = home.folder / place
        path.parent.mkdir(parents=True)
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    ran = home.run("doctor", "--offline", "--json")
    assert ran.code == 1
    fixes = {each["text"]: each["fix"] for each in ran.json if each["name"] == "Databases"}
    assert fixes == {
        f"{home.folder}/state/state.db is damaged": "start Octavo: it saves the readable entries and keeps the damaged file",
        f"{home.folder}/cache/cache-v1.db is damaged": "start Octavo: it loads the cached pages again",
        f"{home.folder}/data/demo/platform.db is damaged": "run: octavo demo --reset",
    }


@pytest.mark.before_release
def test_proxy_that_does_not_respond_is_named_by_its_variable(home: CommandLine) -> None:
    proxy = "http://mia:secret-of-the-proxy@127.0.0.1:9"
    ran = home.run("doctor", "--json", environ={"HTTPS_PROXY": proxy, "OCTAVO_BASE_URL": "https://docs.example.com"})
    assert ran.code == 1
    assert "secret-of-the-proxy" not in ran.out + ran.err
    check = find_check(ran, "Server", "error")
    assert check["text"] == "the connection to the proxy in HTTPS_PROXY was refused"
    assert check["fix"] == "start the proxy, or correct or unset HTTPS_PROXY"


@pytest.mark.before_release("socks5://127.0.0.1:9-names a SOCKS proxy, which Octavo cannot use")
@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://127.0.0.1:9", "names a SOCKS proxy, which Octavo cannot use"),
        ("http://[", "is not a valid proxy URL"),
    ],
)
def test_unusable_proxy_is_named_by_its_variable(home: CommandLine, proxy: str, message: str) -> None:
    ran = home.run("doctor", "--json", environ={"HTTPS_PROXY": proxy, "OCTAVO_BASE_URL": "https://docs.example.com"})
    check = find_check(ran, "Server", "error")
    assert check["text"] == f"the environment variable HTTPS_PROXY {message}"
    assert check["fix"] == "correct the variable, or unset it to connect without a proxy"


@pytest.mark.before_release
def test_dumb_terminal_cannot_show_the_app(home: CommandLine) -> None:
    ran = home.run("doctor", "--offline", "--json", environ={"TERM": "dumb"})
    assert ran.code == 1
    check = find_check(ran, "Terminal", "error")
    assert check["text"] == "TERM=dumb: the app cannot move the cursor"
    assert "xterm-256color" in check["fix"]
    with home.terminal("doctor", "--offline", environ={"TERM": "dumb"}) as shown:
        assert shown.end() == 1
        assert b"\x1b" not in b"".join(each.data for each in shown.chunks)


@pytest.mark.before_release
def test_symbols_check_shows_symbols_and_warns_on_the_linux_console(home: CommandLine) -> None:
    ran = home.run("doctor", "--offline", "--json")
    check = find_check(ran, "Symbols", "ok")
    assert check["text"].startswith("● ○ ◐ ✓ ✗ ! ▲ ↳ ✎")
    assert (
        check["fix"] == "if a symbol shows as a box or as ?, choose another font, or run: octavo config set ascii true"
    )
    console = find_check(home.run("doctor", "--offline", "--json", environ={"TERM": "linux"}), "Symbols", "warning")
    assert console["fix"] == "run: octavo config set ascii true"


@pytest.mark.before_release
def test_terminal_with_narrow_emoji_is_found_by_its_cursor(home: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = tuple((b"\x1b[1;2R" if text == b"\x1b[1;1R" else text) for _, text in terminal._ANSWERS)
    questions = [question for question, _ in terminal._ANSWERS]
    monkeypatch.setattr(terminal, "_ANSWERS", tuple(zip(questions, answers, strict=True)))
    with home.terminal("doctor", "--offline", columns=160) as shown:
        shown.end()
        out = shown.look()
    assert "! Widths     the terminal draws 🎉 ⚓ in 1 column instead of 2" in out


@pytest.mark.before_release("62;4;52--Sixel", "62;22--none, so Octavo")
@pytest.mark.parametrize(
    ("attributes", "kitty", "graphics"),
    [(b"62;22", b"", "none, so Octavo"), (b"62;4;52", b"", "Sixel"), (b"62;52", b"\x1b_Gi=31;OK\x1b\\", "Kitty")],
)
def test_terminal_is_asked_for_graphics_and_the_clipboard(
    home: CommandLine, monkeypatch: pytest.MonkeyPatch, attributes: bytes, kitty: bytes, graphics: str
) -> None:
    question = re.compile(rb"\x1b_Gi=31[^\x1b]*\x1b\\\x1b\[c")
    answers = (question, kitty + b"\x1b[?" + attributes + b"c"), *terminal._ANSWERS[1:]
    monkeypatch.setattr(terminal, "_ANSWERS", answers)
    with home.terminal("doctor", "--offline", environ={"TERM_PROGRAM": "WezTerm"}, columns=160) as shown:
        shown.end()
        out = shown.look()
    is_missing = graphics in ("Sixel", "Kitty") and not has_extra("images")
    assert (f"! Graphics   {graphics}, but images need" if is_missing else f"✓ Graphics   {graphics}") in out
    copied = "OSC 52, as the terminal says" if b"52" in attributes else "OSC 52; the terminal does not say"
    assert f"✓ Clipboard  {copied}" in out


@pytest.mark.before_release("environ1-screen ignores OSC 52")
@pytest.mark.parametrize(
    ("environ", "text"),
    [({"TERM": "linux"}, "this terminal ignores OSC 52"), ({"STY": "1.pts"}, "screen ignores OSC 52")],
)
def test_terminal_that_ignores_the_clipboard_is_named(home: CommandLine, environ: dict[str, str], text: str) -> None:
    ran = home.run("doctor", "--offline", "--json", environ=environ)
    assert find_check(ran, "Clipboard", "warning")["text"] == text


def test_linter_that_is_not_installed_is_named(home: CommandLine) -> None:
    (home.folder / "config").mkdir()
    linter = '[[linter]]\nname = "words"\ncommand = ["no-such-linter", "{file}"]\nformat = "lines"\n'
    (home.folder / "config" / "config.toml").write_text(linter)
    check = find_check(home.run("doctor", "--offline", "--json"), "Linters", "warning")
    assert check["text"] == "not found: no-such-linter"


@pytest.mark.before_release(
    "environ1-Size-warning-run: unset COLUMNS",
    "environ2-Locale-warning-set LANG to a UTF-8 locale, such as C.UTF-8",
    "environ4-Colors-warning-if the terminal supports more, set TERM=xterm-256color and COLORTERM=truecolor",
)
@pytest.mark.parametrize(
    ("environ", "name", "status", "fix"),
    [
        ({"EDITOR": "no-such-editor"}, "Editor", "error", "install it, or run: octavo config set editor COMMAND"),
        ({"COLUMNS": "80"}, "Size", "warning", "run: unset COLUMNS"),
        ({"LC_ALL": "C"}, "Locale", "warning", "set LANG to a UTF-8 locale, such as C.UTF-8"),
        ({"OCTAVO_THEME": "drak"}, "Settings", "warning", "run: octavo config edit"),
        (
            {"TERM": "xterm"},
            "Colors",
            "warning",
            "if the terminal supports more, set TERM=xterm-256color and COLORTERM=truecolor",
        ),
    ],
)
def test_every_small_problem_has_a_fix(
    home: CommandLine, environ: dict[str, str], name: str, status: str, fix: str
) -> None:
    assert find_check(home.run("doctor", "--offline", "--json", environ=environ), name, status)["fix"] == fix


@pytest.mark.before_release
def test_editor_that_does_not_wait_needs_its_option(home: CommandLine) -> None:
    program = home.folder / "bin" / "code"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    ran = home.run(
        "doctor", "--offline", "--json", environ={"EDITOR": "code", "PATH": f"{program.parent}:{os.environ['PATH']}"}
    )
    assert find_check(ran, "Editor", "warning")["fix"] == 'run: octavo config set editor "code --wait"'


def test_bundle_has_checks_log_and_names_of_settings_but_no_values(home: CommandLine, server_url: str) -> None:
    (home.folder / "config").mkdir()
    (home.folder / "config" / "config.toml").write_text('quick_replies = ["my private reply"]\n')
    account = {"OCTAVO_BASE_URL": server_url}
    assert home.run("api", "users.Me", environ=account).code == 0
    path = home.folder / "report.txt"
    ran = home.run("doctor", "--bundle", str(path), environ=account)
    assert "no API key, title or text. Read the file before you send it." in ran.err
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "quick_replies" in text
    assert "my private reply" not in text
    assert KEY not in text
    assert "request method=GET route=/v1/user status=200" in text
    at_the_root = home.folder / "root.txt"
    home.run("doctor", "--offline", "--bundle", str(at_the_root), environ={**account, "HOME": "/"})
    assert str(home.folder) in at_the_root.read_text()
    again = home.run("doctor", "--bundle", str(path), environ=account)
    assert again.code == 1
    assert "file exists. Check the file or folder, then try again." in again.err
