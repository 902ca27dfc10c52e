"""Run every operation with `octavo api` against `octavo serve`, each in its own process, and print the results.

.venv/bin/python -m tests.every_operation

Prints a line for each method and path: the declared status, whether the command succeeded, and its duration. Exits with 1
if a command failed.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from octavo.api.operation import load
from octavo.api.wire import Route, routes
from octavo.server.store import Json, Store
from tests.operation_walk import OperationResult, Walk, full_context
from tests.server.small_platform import Clock

KEY = "key-of-ada-0123456789"
OCTAVO = [sys.executable, "-m", "octavo"]


class Command:
    """Sends operations with `octavo api`. The command does not print the status, so success counts as the declared status.
    `tests/server/test_every_operation.py` checks the status.
    """

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.seconds: dict[str, float] = {}
        """Duration of the last command for each method and path."""

    def __call__(self, route: Route, values: Json) -> tuple[int, Any]:
        said = [f"{name}:={json.dumps(value)}" for name, value in values.items()]
        began = time.perf_counter()
        ran = subprocess.run(
            [*OCTAVO, "api", route.spec.name, *said], env=self.environ, capture_output=True, text=True, check=False
        )
        self.seconds[route.key] = time.perf_counter() - began
        if ran.returncode:
            return 0, ran.stderr.strip().removeprefix("octavo: ")
        return route.spec.success, json.loads(ran.stdout) if ran.stdout else None


def put(url: str, content: bytes) -> None:
    """Upload a file to a URL."""
    request = urllib.request.Request(url, data=content, method="PUT")
    with urllib.request.urlopen(request) as answer:
        answer.read()


class Page(http.server.BaseHTTPRequestHandler):
    """A website with one page."""

    def do_GET(self) -> None:
        content = b"<!doctype html><title>Ebb</title><main><h1>Ebb</h1><p>Going out.</p></main>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the table is the output."""


@contextmanager
def website() -> Iterator[str]:
    """Serve a page, and yield its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serve_full_platform(folder: Path) -> Iterator[dict[str, str]]:
    """Run `octavo serve` with the platform of the walk in `folder`. Yield the environment of its clients."""
    store = Store(folder / "platform.db")
    full_context(Clock(), store)
    store.add_key(KEY, "ada")
    store.set_setting("library", "furnished")  # Otherwise Octavo would create the demo library.
    store.close()
    places = {f"OCTAVO_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environ = {**os.environ, **places, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    command = [*OCTAVO, "serve", "--data", str(folder), "--allow-private-imports"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        origin = serving.stdout.readline().split()[-1]
        try:
            yield {**environ, "OCTAVO_API_KEY": KEY, "OCTAVO_BASE_URL": origin}
        finally:
            serving.send_signal(signal.SIGINT)


def line(asked: OperationResult, seconds: float) -> str:
    """Return a line of the table."""
    kept = "kept" if asked.is_as_declared else f"NOT KEPT: {asked.answer}"
    return f"{asked.route.key:<100} {asked.route.spec.name:<36} {asked.route.spec.success} {seconds:5.2f} s  {kept}"


def main() -> int:
    """Run all operations, and return the exit code."""
    asked = []
    with tempfile.TemporaryDirectory() as folder, website() as page, serve_full_platform(Path(folder)) as environ:
        command = Command(environ)
        for each in Walk(command, page_url=page, put=put).all():
            asked.append(each)
            print(line(each, command.seconds.get(each.route.key, 0.0)), flush=True)
    declared = sum(len(routes(spec)) for spec in load().values())
    kept = sum(each.is_as_declared for each in asked)
    print(f"\n{kept} of {declared} operations kept their promise.")
    return 0 if kept == declared else 1


if __name__ == "__main__":
    sys.exit(main())
