"""The app as a program in a real terminal, on a machine of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import Terminal
from tests.journeys.stage import Stage

ROOT = Path(__file__).parents[2]
MODULE = (sys.executable, "-m")


CONTROLS = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Before a command: the terminal is the one that controls it, so that Ctrl-C there is a signal to all in the foreground."""


def terminal(
    stage: Stage, *command: str, size: tuple[int, int] = (120, 36), controls: bool = False, **environ: str
) -> Terminal:
    """Run a module of Python, such as `octavo demo`, in the folders of `stage`. `controls`: as a shell does, with signals
    from the keys of the terminal. `environ` are more variables of its environment."""
    _was_reading(stage)
    folders = {f"OCTAVO_{name.upper()}_DIR": str(stage.folder / name) for name in ("config", "data", "state", "cache")}
    environ |= {**folders, "PYTHONPATH": str(ROOT)}  # for modules of the tests, wherever it runs
    return Terminal((*(CONTROLS if controls else ()), *MODULE, *command), environ, columns=size[0], rows=size[1])


def _was_reading(stage: Stage) -> None:
    """Let the demo begin with the page that is read, as it does for who left it there."""
    folder = stage.folder / "state"
    if not folder.exists():
        state = StateDb(folder, f"demo {stage.folder / 'data' / 'demo'}")
        state.set_fact("view", "content")
        state.close()


def written(running: Terminal) -> bytes:
    """All that the program wrote to its terminal."""
    return b"".join(chunk.data for chunk in running.chunks)


KEYS = {"enter": b"\r", "escape": b"\x1b", "tab": b"\t", "backspace": b"\x7f"}


def typed(keys: Sequence[str]) -> list[bytes]:
    """Keys as a terminal sends them, each with what must come in one piece."""
    sent: list[bytes] = []
    for key in keys:
        if key.startswith("type:"):
            text = key.removeprefix("type:").encode().replace(b"\x1b", b"")
            sent.append(b"\x1b[200~" + text + b"\x1b[201~")
        elif key.startswith("ctrl+"):
            sent.append(bytes([ord(key[-1]) - 96]))
        elif key.startswith("f") and key[1:].isdecimal():
            sent.append({"f1": b"\x1bOP", "f2": b"\x1bOQ"}[key])
        elif key != "wait":
            sent.append(KEYS.get(key, key.encode()))
    return sent
