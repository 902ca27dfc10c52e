"""Run commands as processes with their own folders, on a copy of a demo that is built once."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmarks.terminal import Terminal
from tests.cli.command_server import TIMEOUT, CommandProcess, CommandServer, RunningCommand, shared_part

INHERITED_VARIABLES = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME")
"""Variables that a command inherits from the tests."""


@dataclass(frozen=True)
class ProcessResult:
    """Exit code and output of a finished process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the JSON of standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """Return the error object that the command printed to standard error as JSON."""
        return json.loads(self.err)["error"]


def default_environ() -> dict[str, str]:
    """Return the variables of a command that no test has changed."""
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    return {**inherited, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@cache
def _server() -> CommandServer:
    server = CommandServer(default_environ())
    atexit.register(server.close)
    return server


class OctavoTerminal(Terminal):
    """Octavo in a terminal, in a fork of a process that has imported the app. The command is its arguments."""

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        *,
        columns: int = 120,
        rows: int = 36,
        controls: bool = False,
    ) -> None:
        """With `controls`, keys such as ctrl+c send signals."""
        self._controls = controls
        super().__init__(arguments, environ, columns=columns, rows=rows)

    def _launch(self, command: Sequence[str], environ: Mapping[str, str], inner: int) -> CommandProcess:
        return _server().start_in_terminal(command, environ, inner, controls=self._controls)


class CommandLine:
    """A home folder with its own Octavo folders, in which commands run."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        folders = {f"OCTAVO_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.folder = folder
        self.environ = {**default_environ(), **folders, **(environ or {})}

    def with_demo(self, library: Path) -> CommandLine:
        """Copy a demo that is already built, so that `--demo` starts without building it."""
        demo = self.folder / "data" / "demo"
        demo.mkdir(parents=True, mode=0o700)
        shutil.copyfile(library, demo / "platform.db")
        return self

    def run(
        self,
        *arguments: str,
        input: str | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> ProcessResult:
        """Run a command and wait until the process exits. It is a new program only if its environment needs that."""
        whole = {**self.environ, **(environ or {})}
        if shared_part(whole) == shared_part(default_environ()):
            return ProcessResult(*_server().run(arguments, input or "", whole, cwd))
        ran = subprocess.run(
            self.command(*arguments), input=input or "", capture_output=True, text=True, check=False,
            env=whole, cwd=cwd, timeout=TIMEOUT,
        )  # fmt: skip
        return ProcessResult(ran.returncode, ran.stdout, ran.stderr)

    def start(self, *arguments: str, imports: Iterable[str] = ()) -> RunningCommand:
        """Start a command. It shares the modules `imports` with all later commands."""
        return _server().start(arguments, self.environ, imports)

    def shell(self, script: str) -> ProcessResult:
        """Run a shell script in which `octavo` runs this checkout."""
        wrapper = self.folder / "bin" / "octavo"
        if not wrapper.exists():
            wrapper.parent.mkdir(parents=True)
            wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m octavo "$@"\n')
            wrapper.chmod(0o700)
        path = f"{wrapper.parent}:{self.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", script], input="", capture_output=True, text=True, check=False,
            env={**self.environ, "PATH": path}, cwd=self.folder, timeout=TIMEOUT,
        )  # fmt: skip
        return ProcessResult(ran.returncode, ran.stdout, ran.stderr)

    def run_with_output(self, output: int, *arguments: str, cwd: Path | None = None) -> ProcessResult:
        """Run a command whose standard output is the file descriptor `output`. `out` of the result is empty."""
        with open(os.devnull) as stdin, tempfile.TemporaryFile("w+") as errors:
            streams = (stdin.fileno(), output, errors.fileno())
            code = _server().start_with_streams(streams, arguments, self.environ, cwd).wait()
            errors.seek(0)
            return ProcessResult(code, "", errors.read())

    def run_with_closed_pipe(self, *arguments: str, cwd: Path | None = None) -> ProcessResult:
        """Run a command whose standard output nobody reads."""
        reading, writing = os.pipe()
        os.close(reading)
        ran = self.run_with_output(writing, *arguments, cwd=cwd)
        os.close(writing)
        return ran

    def terminal(self, *arguments: str, columns: int = 120, environ: Mapping[str, str] | None = None) -> Terminal:
        """Run a command in a terminal."""
        return OctavoTerminal(arguments, {**self.environ, **(environ or {})}, columns=columns)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "octavo", *arguments]
