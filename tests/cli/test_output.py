"""Commands whose output cannot be written or whose input is not text. Each test runs a process, since the exit code matters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from octavo.api.errors import ApiError
from octavo.cli.arguments import build_parser
from octavo.cli.item_rows import CHANGE_FIELDS
from octavo.cli.output import Output
from tests.cli.command_process import CommandLine
from tests.cli.conftest import Octavo

KEY = "key-of-nobody-0123456789"
COMMANDS = (
    ["--version"],
    ["--help"],
    ["api", "--help"],
    ["operations"],
    ["operations", "--json"],
    ["operations", "--openapi"],
    ["completion", "bash"],
    ["auth", "status"],
    ["api", "users.Me"],
    ["api", "users.Me", "--dry-run"],
    ["api", "users.Me", "--help"],
    ["api", "users.Me", "--ndjson"],
    ["api", "GET", "/v1/user", "-i"],
    ["serve"],
)
"""One of each command that writes to standard output."""
ordinary_commands = pytest.mark.before_release(
    *("api --help", "operations", "operations --json", "operations --openapi", "completion bash", "serve"),
    *("api users.Me --dry-run", "api users.Me --help", "api users.Me --ndjson", "api GET /v1/user -i", "auth status"),
)


def error_message(line: str) -> str:
    """Return the message of an error that was printed as JSON or as text."""
    return str(json.loads(line)["error"]["message"]) if line.startswith("{") else line.strip().removeprefix("octavo: ")


class _Handler(BaseHTTPRequestHandler):
    """A server whose path selects the response."""

    def do_GET(self) -> None:
        pages = {"": ("k1", "p2"), "p2": ("k2", "p3"), "p3": ("k3", "p2")}
        if self.path.startswith("/v1/user"):
            body = b'{"id": "mia", "object": "user", "seen": %s}' % self.server.number  # type: ignore[attr-defined]  # the fixture sets the number
        elif "members" in self.path:
            body = b'{"items": [{"id": "m1"}], "next": {"page": "p2"}}' if "page" not in self.path else b"{}"
        elif "/many" in self.path:
            number = int(self.path.rpartition("page=")[2] if "page=" in self.path else 0)
            items = [{"id": f"item-{number}-{each}", "title": "A title of usual length " * 8} for each in range(500)]
            body = json.dumps({"items": items, "next": {"page": str(number + 1)} if number < 19 else None}).encode()
        elif "teams" in self.path:
            threading.Event().wait(20)
            return
        else:
            item, following = pages[self.path.rpartition("page=")[2] if "page=" in self.path else ""]
            body = json.dumps({"items": [{"id": item}], "next": {"page": following}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def http_server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.number = b"1"  # type: ignore[attr-defined]  # a field of the user in responses
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def environ(tmp_path: Path, http_server: ThreadingHTTPServer) -> dict[str, str]:
    folders = {f"OCTAVO_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    account = {"OCTAVO_API_KEY": KEY, "OCTAVO_BASE_URL": f"http://127.0.0.1:{http_server.server_port}"}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, **folders, **account, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.fixture
def signed_in(octavo: Octavo, http_server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> Octavo:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_BASE_URL", f"http://127.0.0.1:{http_server.server_port}")
    return octavo


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "octavo", *arguments]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this machine")
@ordinary_commands
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_full_disk_is_named_without_a_traceback(arguments: list[str], environ: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            _command(arguments), stdout=full, stderr=subprocess.PIPE, text=True, env=environ, check=False
        )
    assert (ran.returncode, error_message(ran.stderr)) == (1, "Could not write the output: no space left on device.")


@ordinary_commands
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_closed_pipe_is_no_failure(arguments: list[str], environ: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        _command(arguments), stdout=writing, stderr=subprocess.PIPE, text=True, env=environ, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, "")


@ordinary_commands
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_closed_output_is_named_without_a_traceback(arguments: list[str], environ: dict[str, str]) -> None:
    ran = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *_command(arguments)],
        stderr=subprocess.PIPE, text=True, env=environ, check=False,
    )  # fmt: skip
    assert ran.returncode == 1  # With closed output, argparse writes its help to standard error.
    assert error_message(ran.stderr.splitlines()[-1]) == "Could not write the output: standard output is closed."
    assert "Traceback" not in ran.stderr


@pytest.mark.before_release("0<&- 2>&-", "2>&-", ">&- 2>&-")
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "0<&- 2>&-", ">&- 2>&-"])
def test_exit_code_stays_when_errors_cannot_be_written(streams: str, environ: dict[str, str]) -> None:
    command = _command(["api", "no.Such"])
    ran = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh", *command], env=environ, check=False)
    assert ran.returncode == 2


@pytest.mark.before_release(
    "auth login-<&- >&-",
    "auth login-</dev/zero",
    "auth login --with-token-<&- >&-",
    "auth login --with-token-<&-",
    "demo-<&- >&-",
    "demo-</dev/zero",
)
@pytest.mark.parametrize("streams", ["<&-", "</dev/zero", "<&- >&-"])
@pytest.mark.parametrize(
    "arguments", [["auth", "login"], ["auth", "login", "--with-token"], ["demo"], []], ids=" ".join
)
def test_closed_or_binary_input_is_named(arguments: list[str], streams: str, environ: dict[str, str]) -> None:
    ran = subprocess.run(
        ["sh", "-c", f'"$@" {streams}', "sh", *_command(arguments)],
        capture_output=True, text=True, env=environ, check=False, start_new_session=True,
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.startswith("octavo: ")
    assert ran.stderr.count("\n") == 1


def test_binary_key_is_refused(environ: dict[str, str]) -> None:
    ran = subprocess.run(
        _command(["auth", "login", "--with-token"]),
        input=b"\xff\xfe\x00key", capture_output=True, env={**environ, "PYTHONIOENCODING": "utf-8:strict"}, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (1, b"octavo: Could not read the API key: standard input is not text.\n")


def test_interrupt_causes_no_traceback(environ: dict[str, str]) -> None:
    with subprocess.Popen(
        _command(["api", "teams.List", "organizationId=acme", "--all"]), env=environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # Background jobs of a shell inherit an ignored SIGINT.
    ) as running:  # fmt: skip
        for _ in range(3):  # The interrupt may come before or during loading, or during the request.
            try:
                running.wait(1)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (out, err) == (b"", b"")
    # On a busy machine, the signal may come before Python handles signals, or while it ends.
    assert running.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_response_with_a_number_outside_json_is_not_printed(
    number: str, signed_in: Octavo, http_server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "number", number.encode())
    ran = signed_in("api", "users.Me")
    assert (ran.code, ran.out) == (1, "")
    assert "too large for JSON" in ran.err


@pytest.mark.before_release
def test_half_surrogate_pair_is_printed_as_a_replacement_character(
    environ: dict[str, str], http_server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "number", '"\\ud83d é"'.encode())
    for encoding in ("utf-8", "latin-1", "ascii"):
        ran = subprocess.run(
            _command(["api", "users.Me"]), capture_output=True, check=False,
            env={**environ, "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert json.loads(ran.stdout.decode(encoding))["seen"] == "\ufffd é"


@pytest.mark.parametrize(
    "value",
    ["NaN", "-Infinity", "[1, Infinity]", "1e999", '{"markdown": "a", "markdown": "b"}', '{"a": [{"b": 1, "b": 1}]}', "[" * 10_000, "1" * 5_000],
    ids=lambda value: value[:20],
)  # fmt: skip
@pytest.mark.parametrize("dry", [["--dry-run"], []], ids=["dry", "sent"])
def test_value_that_is_not_json_is_refused(value: str, dry: list[str], signed_in: Octavo) -> None:
    ran = signed_in("api", "comments.Create", "spaceId=s", f"body:={value}", *dry)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("octavo: body:= ")


def test_items_before_a_repeated_page_are_printed(signed_in: Octavo) -> None:
    ran = signed_in("api", "comments.List", "spaceId=s", "--all")
    assert (ran.code, json.loads(ran.out)) == (1, {"items": [{"id": "k1"}, {"id": "k2"}, {"id": "k3"}]})
    assert "the server sent the same part of the list twice. Only 3 items could be loaded." in ran.err


def test_items_before_a_failed_page_are_printed(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "--all")
    assert (ran.code, json.loads(ran.out)) == (1, {"items": [{"id": "m1"}]})
    assert "did not return a list" in ran.err


def test_rows_before_an_error_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    options = build_parser("changes").parse_args(["changes", "--json", "number"])

    def print_rows() -> None:
        with Output(options, CHANGE_FIELDS, ()) as output:
            output.add({"number": 7})
            raise ApiError("Could not reach the server.")

    with pytest.raises(ApiError):
        print_rows()
    assert json.loads(capsys.readouterr().out) == [{"number": 7}]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc on this machine")
def test_ten_thousand_items_as_ndjson_need_little_memory(
    environ: dict[str, str], http_server: ThreadingHTTPServer
) -> None:
    command = ["api", "GET", "/v1/many", "--all", "--ndjson"]
    code = (
        "import sys; from octavo.__main__ import main; assert main(sys.argv[1:]) == 0;"
        " print(open('/proc/self/status').read(), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, env=environ, check=True)
    assert len([json.loads(each) for each in ran.stdout.splitlines()]) == 10_000
    (peak,) = (line.split()[1] for line in ran.stderr.splitlines() if line.startswith(b"VmHWM:"))
    assert int(peak) < 60 * 1024


@pytest.mark.parametrize(
    "command",
    [
        ("search", "a\udcff"),
        ("show", "harb\udcff"),
        ("comment", "harbour-api/7", "-m", "a\udcff"),
        ("open", "/a\udcff"),
    ],
)
def test_argument_that_is_not_utf8_is_refused(octavo: Octavo, command: tuple[str, ...]) -> None:
    ran = octavo(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "it is not valid UTF-8." in ran.err


def test_argument_is_read_as_utf8_without_such_a_locale(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = CommandLine(tmp_path, plain).run("help", "größe")
    assert ran.code == 2
    assert "Unknown help topic 'gr" in ran.err
    assert "udc" not in ran.err
