"""Arguments, help and exit codes of the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from octavo import __version__
from tests.benchmarks.terminal import Terminal
from tests.cli.command_process import OctavoTerminal
from tests.cli.conftest import Octavo


def test_version_option_prints_the_version(octavo: Octavo) -> None:
    assert octavo("--version").out == f"octavo {__version__}\n"


@pytest.mark.parametrize("arguments", [("nonsense",), ("demo", "--fail", "101"), ("demo", "--latency", "-1"), ("api",)])
def test_wrong_arguments_end_with_two(octavo: Octavo, arguments: tuple[str, ...]) -> None:
    assert octavo(*arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("serve", "--port", "70000"),
            "argument --port: '70000' is not a port. Enter a number from 0 to 65535, for example 8080.",
        ),
        (
            ("serve", "--port", "-1"),
            "argument --port: '-1' is not a port. Enter a number from 0 to 65535, for example 8080.",
        ),
        (("serve", "--port", "http"), "'http' is not a port"),
        (
            ("demo", "--latency", "abc"),
            "argument --latency: 'abc' is not a number of milliseconds. Enter a number from 0 to 60000",
        ),
        (
            ("demo", "--fail", "101"),
            "argument --fail: '101' is not a percentage. Enter a number from 0 to 100, for example 10.",
        ),
        (("api",), "octavo api: error: the following arguments are required: NAME\n"),
        (("help", "keys", "more"), "unrecognized arguments: more. For help, run: octavo help --help"),
        (("api", "users.Me", "--most"), "unrecognized arguments: --most. For help, run: octavo api --help"),
    ],
)
def test_wrong_arguments_are_named_with_a_hint(octavo: Octavo, arguments: tuple[str, ...], said: str) -> None:
    ran = octavo(*arguments)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "3 not found, 4 not signed in, 5 not allowed, 6 blocked, 7 outcome unknown, 130 interrupted."),
        (("auth", "login"), "octavo auth login --with-token < key.txt"),
        (("api",), "octavo api spaces.List organizationId=ORG --all"),
        (("completion",), 'octavo completion zsh > "${fpath[1]}/_octavo"'),
        (("open",), "octavo export FOLDER --write"),
    ],
)
def test_help_of_a_command_has_examples(octavo: Octavo, arguments: tuple[str, ...], said: str) -> None:
    ran = octavo(*arguments, "--help")
    assert ran.code == 0
    assert said in " ".join(ran.out.split())


def test_control_characters_of_arguments_are_symbols_in_error_messages(octavo: Octavo) -> None:
    for arguments in (("--\x1b]0;t\x07\u202e",), ("restore", "\x1b]0;t\x07\u202e"), ("help", "\x9b\u202e")):
        assert not set(octavo(*arguments).err) & {"\x1b", "\x07", "\u202e", "\x9b"}


def test_symbolic_links_in_a_circle_are_named(octavo: Octavo, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for command in (("--folder", str(tmp_path / "loop"), "spaces"), ("export", str(tmp_path / "loop"))):
        ran = octavo(*command)
        assert (ran.code, ran.out) == (1, "")
        assert "loop: there is no such folder" in ran.err
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").symlink_to("config.toml")
    assert octavo("config", "set", "theme", "dark").code == 0
    assert octavo("config", "get", "theme").out == "dark\n"


def test_app_without_a_terminal_is_refused(octavo: Octavo) -> None:
    ran = octavo("demo")
    assert ran.code == 1
    assert "needs a terminal" in ran.err


@pytest.mark.parametrize(
    ("environ", "input_from", "said"),
    [
        ({"TERM": "dumb"}, "", "this terminal reports TERM=dumb"),
        ({}, "< /dev/null", "standard input is not a terminal"),
    ],
)
def test_app_on_an_unusable_terminal_says_the_cause(
    tmp_path: Path, environ: dict[str, str], input_from: str, said: str
) -> None:
    folders = {f"OCTAVO_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    command = ["sh", "-c", f"{sys.executable} -m octavo demo {input_from}"]
    with Terminal(command, {**folders, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ}) as app:
        assert app.end() == 1
        assert said in b"".join(chunk.data for chunk in app.chunks).decode()
    assert not list(tmp_path.iterdir())


def test_serve_of_a_missing_folder_is_refused(octavo: Octavo, tmp_path: Path) -> None:
    ran = octavo("serve", "--load", str(tmp_path / "nowhere"))
    assert ran.code == 1
    assert "there is no such folder" in ran.err


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_prints_a_script_for_the_shell(octavo: Octavo, shell: str) -> None:
    assert "octavo" in octavo("completion", shell).out


def test_served_folder_needs_a_key_in_a_private_file(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "README.md").write_text("# Hello\n\nWorld.\n")
    (folder / "scan.md").write_bytes(b"no\0text")
    environ = {
        **os.environ,
        **{f"OCTAVO_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    command = [sys.executable, "-m", "octavo", "serve", "--load", str(folder)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        assert serving.stderr is not None
        assert serving.stderr.readline() == "octavo: scan.md is not text, so it is left out.\n"
        origin = serving.stdout.readline().split()[-1]
        key_file = Path(serving.stdout.readline().removeprefix("The API key is in ").strip())
        assert key_file.stat().st_mode & 0o777 == 0o600
        client_environ = {**environ, "OCTAVO_API_KEY": key_file.read_text(), "OCTAVO_BASE_URL": origin}
        api = [sys.executable, "-m", "octavo", "api", "spaces.List", "organizationId=local"]
        answer = subprocess.run(api, env=client_environ, capture_output=True, text=True, check=True)
        assert '"title": "docs"' in answer.stdout
        serving.send_signal(signal.SIGINT)
        assert serving.wait(120) in (0, 130)


@pytest.mark.before_release
def test_skipped_files_of_a_folder_are_named_in_the_app_and_on_exit(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "README.md").write_text("# Hello\n\nWorld.\n")
    for name in ("scan.md", "\u202eother.md"):
        (folder / name).write_bytes(b"no\0text")
    environ = {f"OCTAVO_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    with OctavoTerminal(["open", str(folder)], environ) as app:
        app.wait_for("Problem in this folder:", "is not text, so it is left out. 1 more problem")
        app.write(b"\x11")
        assert app.end() == 0
        last = b"".join(chunk.data for chunk in app.chunks).decode().rpartition("\x1b")[2]
    assert "octavo: scan.md is not text, so it is left out." in last
    assert "other.md is not text, so it is left out." in last
    assert "\u202e" not in last
