from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

from octavo.__main__ import main


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    """Yield the URL of a small server in another process. KEY belongs to Mia. Module scope: while a process runs, tests wait in real time."""
    command = [sys.executable, "-m", "tests.cli.small_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().strip()
        serving.terminate()


@contextmanager
def busy_server(status: int) -> Iterator[str]:
    """Yield the URL of a server that refuses each request with `status`, and wants the next request in an hour."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("retry-after", "3600")
            self.send_header("content-length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class RecordedTerminal:
    """Replaces standard output by a terminal inside a `with` statement, and records what is written to it."""

    text = ""

    def __enter__(self) -> Self:
        self._end, inner = os.openpty()
        os.set_blocking(self._end, False)
        self._stdout, sys.stdout = sys.stdout, open(inner, "w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.close()
        sys.stdout = self._stdout
        with suppress(OSError):  # the other end is closed
            while data := os.read(self._end, 1 << 16):
                self.text += data.decode()
        os.close(self._end)


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command that ran in this process."""

    code: int
    out: str
    err: str


Octavo = Callable[..., CommandResult]


@pytest.fixture
def octavo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Octavo:
    """Return a function that runs a command with its own folders and without an account."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"OCTAVO_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("OCTAVO_API_KEY", "OCTAVO_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    # No test reads or writes the keyring of this machine.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")

    def run(*arguments: str) -> CommandResult:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return CommandResult(code, said.out, said.err)

    return run
