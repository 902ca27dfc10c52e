from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from octavo.__main__ import main


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The origin of a small world on a real socket; KEY is Mia's. Not for longer: while a program runs, all waits are real."""
    command = [sys.executable, "-m", "tests.cli.small_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().strip()
        serving.terminate()


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


Octavo = Callable[..., Ran]


@pytest.fixture
def octavo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Octavo:
    """Run a command with folders of its own, and no account."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"OCTAVO_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("OCTAVO_API_KEY", "OCTAVO_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    # No keyring of this machine is asked or written to.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")

    def run(*arguments: str) -> Ran:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run
