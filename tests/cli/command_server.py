"""Run commands in forks of a process that has imported Octavo: two thirds of the CPU time of a command are its imports.

Each command is a process of its own, with its own folders, environment, standard streams and exit code. The server is not a
child of the tests, because `tests/speedups.py` skips no idle time while there is one. It ends when the tests close the socket.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from signal import SIGKILL, SIGTERM
from threading import Lock
from typing import Any, BinaryIO, TextIO

READ_AT_START = ("ESCDELAY", "LANG", "LC_", "LD_", "MALLOC_", "PYTHON", "TEXTUAL", "TZ")
"""Beginnings of the names of variables that a process reads when it starts or imports modules. Other variables may differ
between commands, because Octavo and its libraries read them only while a command runs."""
TIMEOUT = 240.0
_COMMAND_MODULES = ("api", "checking", "completion", "connection", "help", "operations", "serve", "sessions")
_PACKAGES = ("api", "data", "documents", "server.handlers")
_APP_MODULES = (
    "octavo.cli.running_app",
    "octavo.cli.platforms",
    *("octavo.tui.content.content_screen", "octavo.tui.inbox.inbox_screen", "octavo.tui.review.request_view"),
)
"""Modules that the app imports while it opens. The server imports them before it opens the first app."""


class CommandServer:
    """A process that runs commands with one environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._socket, other = socket.socketpair()
        self._streams, other_streams = socket.socketpair()
        with other, other_streams:
            numbers = (other.fileno(), other_streams.fileno())
            launcher = [sys.executable, "-m", "tests.cli.command_server", *map(str, numbers)]
            root = Path(__file__).parents[2]
            subprocess.run(launcher, env=dict(environ), pass_fds=numbers, cwd=root, check=True)
        self._socket.settimeout(TIMEOUT)
        self._lock = Lock()
        self._lines = self._socket.makefile("rw", encoding="utf-8")

    def close(self) -> None:
        """Close the sockets, which ends the process."""
        for each in (self._lines, self._socket, self._streams):
            each.close()

    def run(
        self, arguments: Sequence[str], input: str, environ: Mapping[str, str], cwd: Path | None
    ) -> tuple[int, str, str]:
        """Run a command, and return its exit code, standard output and standard error. Raises TimeoutError."""
        with self._lock:
            self._send(arguments, environ, cwd, input=input)
            pid = json.loads(self._lines.readline())
            try:
                code, out, err = json.loads(self._lines.readline())
            except TimeoutError:
                with suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)
                raise
        return code, out, err

    def start(
        self, arguments: Sequence[str], environ: Mapping[str, str], imports: Iterable[str] = ()
    ) -> RunningCommand:
        """Start a command. The server first imports the modules `imports`, which all later commands then share."""
        inner_in, stdin = os.pipe()
        stdout, inner_out = os.pipe()
        stderr, inner_err = os.pipe()
        ends = self._start((inner_in, inner_out, inner_err), arguments, environ, None, imports=[*imports])
        for each in (inner_in, inner_out, inner_err):
            os.close(each)
        return RunningCommand(open(stdin, "w"), open(stdout), open(stderr), ends)

    def start_with_streams(
        self, streams: tuple[int, int, int], arguments: Sequence[str], environ: Mapping[str, str], cwd: Path | None
    ) -> CommandProcess:
        """Start a command with these standard streams."""
        return CommandProcess(self._start(streams, arguments, environ, cwd, imports=()))

    def start_in_terminal(
        self, arguments: Sequence[str], environ: Mapping[str, str], terminal: int, *, controls: bool
    ) -> CommandProcess:
        """Start a command in a terminal. With `controls`, keys such as ctrl+c send signals."""
        streams = (terminal, terminal, terminal)
        return CommandProcess(self._start(streams, arguments, environ, None, imports=_APP_MODULES, controls=controls))

    def _start(
        self,
        streams: tuple[int, int, int],
        arguments: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path | None,
        **how: object,
    ) -> BinaryIO:
        """Start a command with these streams. Return a pipe with its process id, then with its exit code."""
        ends, inner_ends = os.pipe()
        with self._lock:
            self._send(arguments, environ, cwd, **how)
            socket.send_fds(self._streams, [b"\0"], (*streams, inner_ends))
        os.close(inner_ends)
        return open(ends, "rb", buffering=0)

    def _send(self, arguments: Sequence[str], environ: Mapping[str, str], cwd: Path | None, **how: object) -> None:
        request = {"arguments": arguments, "environ": dict(environ), "cwd": str(cwd or Path.cwd()), **how}
        self._lines.write(json.dumps(request) + "\n")
        self._lines.flush()


class CommandProcess:
    """The process of a started command."""

    def __init__(self, ends: BinaryIO) -> None:
        """`ends` has the process id, and the exit code when the process ends."""
        self._ends = ends
        self.pid = int(ends.readline())
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code. None while the process runs."""
        if self._code is None and select.select([self._ends], [], [], 0)[0]:
            self._read_code()
        return self._code

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Return the exit code when the process ends. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self._code is None and not select.select([self._ends], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("octavo", timeout)
        return self._read_code() if self._code is None else self._code

    def _read_code(self) -> int:
        with self._ends:
            self._code = int(self._ends.read())
        return self._code

    def terminate(self) -> None:
        """Ask the running process to end."""
        os.kill(self.pid, SIGTERM)

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, SIGKILL)


class RunningCommand(CommandProcess):
    """A started command with streams. The end of the context waits for it, and closes its streams."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, ends: BinaryIO) -> None:
        super().__init__(ends)
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr

    def __enter__(self) -> RunningCommand:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Close standard input, then wait as for any command."""
        self.stdin.close()
        return super().wait(timeout)


def shared_part(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process reads when it starts or imports modules."""
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


def _serve(lines: Any, connection: socket.socket, streams: socket.socket) -> None:
    for line in lines:
        request = json.loads(line)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # These processes waited for commands that have ended.
        if "imports" in request:
            _start_command(request, streams)
            continue
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


def _start_command(request: Mapping[str, Any], streams: socket.socket) -> None:
    """Start the command with the streams that follow the request. Another process waits for its end."""
    for name in request["imports"]:
        import_module(name)
    files = socket.recv_fds(streams, 1, 4)[1]
    if not os.fork():
        pid = os.fork()
        if not pid:
            if "controls" in request:
                os.setsid()
            if request.get("controls"):
                fcntl.ioctl(files[0], termios.TIOCSCTTY, 0)
            for number, file in enumerate(files[:3]):
                os.dup2(file, number)
            for file in files:
                os.close(file)
            # Python chose the present objects for the streams of the server, which may be files.
            sys.stdin = os.fdopen(0, closefd=False)
            sys.stdout = os.fdopen(1, "w", errors=sys.stdout.errors, closefd=False)
            sys.stderr = os.fdopen(2, "w", buffering=1, errors=sys.stderr.errors, closefd=False)
            _run(request)
        for file in files[:3]:
            os.close(file)
        os.write(files[3], f"{pid}\n".encode())
        os.write(files[3], str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
        os._exit(0)
    for file in files:
        os.close(file)


def _run(request: Mapping[str, Any]) -> None:
    """Run the command in this process, and end it as `python -m octavo` does."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["octavo", *request["arguments"]]
    sys.exit(import_module("octavo.__main__").main())


def _load_octavo() -> None:
    """Import Octavo without its app, and build the models of all operations, which a process builds at first use."""
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    command_line = import_module("octavo.cli.command_line")
    for name in command_line.COMMANDS:
        command_line.load_command(name)
    for name in _COMMAND_MODULES:
        import_module(f"octavo.cli.{name}")
    for name in _PACKAGES:
        package = import_module(f"octavo.{name}")
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for spec in import_module("octavo.api.operation").SPECS.values():
        spec.operation.model_rebuild()
        spec.codec.rebuild()


def _start(*numbers: int) -> None:
    """Import Octavo, and serve in a process that is no child of the tests."""
    if os.fork():
        os._exit(0)
    connection, streams = (socket.socket(fileno=number) for number in numbers)
    for each in (connection, streams):
        each.set_inheritable(False)
    _load_octavo()
    # Importing keyring chooses its backend by the environment.
    assert "keyring" not in sys.modules
    gc.freeze()
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        _serve(lines, connection, streams)


if __name__ == "__main__":
    _start(*map(int, sys.argv[1:]))
