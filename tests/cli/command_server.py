"""Run commands in forks of a process that has imported Octavo: two thirds of the CPU time of a command are its imports.

Each command is a process of its own, with its own folders, environment, standard streams and exit code. The server is not a
child of the tests, because `tests/speedups.py` skips no idle time while there is one. It ends when the tests close the socket.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from signal import SIGKILL
from threading import Lock
from typing import Any

READ_AT_START = ("ESCDELAY", "LANG", "LC_", "LD_", "MALLOC_", "PYTHON", "TEXTUAL", "TZ")
"""Beginnings of the names of variables that a process reads when it starts or imports modules. Other variables may differ
between commands, because Octavo and its libraries read them only while a command runs."""
TIMEOUT = 240.0
_PRELOADED = ("api", "checking", "completion", "connection", "help", "operations", "serve", "sessions")


class CommandServer:
    """A process that runs commands with one environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._socket, other = socket.socketpair()
        with other:
            launcher = [sys.executable, "-m", "tests.cli.command_server", str(other.fileno())]
            root = Path(__file__).parents[2]
            subprocess.run(launcher, env=dict(environ), pass_fds=[other.fileno()], cwd=root, check=True)
        self._socket.settimeout(TIMEOUT)
        self._lock = Lock()
        self._lines = self._socket.makefile("rw", encoding="utf-8")

    def run(
        self, arguments: Sequence[str], input: str, environ: Mapping[str, str], cwd: Path | None
    ) -> tuple[int, str, str]:
        """Run a command, and return its exit code, standard output and standard error. Raises TimeoutError."""
        request = {"arguments": arguments, "input": input, "environ": dict(environ), "cwd": str(cwd or Path.cwd())}
        with self._lock:
            self._lines.write(json.dumps(request) + "\n")
            self._lines.flush()
            pid = json.loads(self._lines.readline())
            try:
                code, out, err = json.loads(self._lines.readline())
            except TimeoutError:
                with suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)
                raise
        return code, out, err


def shared_part(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process reads when it starts or imports modules."""
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


def _serve(lines: Any, connection: socket.socket) -> None:
    for line in lines:
        request = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            reading, writing = os.pipe()
            pid = os.fork()
            if not pid:
                connection.close()
                os.close(writing)
                for number, file in enumerate((reading, out.fileno(), err.fileno())):
                    os.dup2(file, number)
                _run(request)
            os.close(reading)
            lines.write(f"{pid}\n")
            lines.flush()
            with suppress(BrokenPipeError), open(writing, "wb") as stdin:
                stdin.write(request["input"].encode())
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            texts = []
            for captured in (out, err):
                captured.seek(0)
                texts.append(captured.read().decode().replace("\r\n", "\n"))
            lines.write(json.dumps([code, *texts]) + "\n")
            lines.flush()


def _run(request: Mapping[str, Any]) -> None:
    """Run the command in this process, and end it as `python -m octavo` does."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["octavo", *request["arguments"]]
    sys.exit(import_module("octavo.__main__").main())


def _start(number: int) -> None:
    """Import Octavo, and serve in a process that is no child of the tests."""
    if os.fork():
        os._exit(0)
    connection = socket.socket(fileno=number)
    connection.set_inheritable(False)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    command_line = import_module("octavo.cli.command_line")
    for name in command_line.COMMANDS:
        command_line.load_command(name)
    for name in _PRELOADED:
        import_module(f"octavo.cli.{name}")
    # Importing keyring chooses its backend by the environment.
    assert "keyring" not in sys.modules
    gc.freeze()
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        _serve(lines, connection)


if __name__ == "__main__":
    _start(int(sys.argv[1]))
