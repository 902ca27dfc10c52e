"""The app as a program in a real terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.journeys.stage import Stage

MODULE = (sys.executable, "-m")


CONTROLS = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Prefix for a command that needs a controlling terminal, so that ctrl+c sends a signal to the foreground programs."""


def terminal(
    stage: Stage, *command: str, size: tuple[int, int] = (120, 36), controls: bool = False, **environ: str
) -> Terminal:
    """Run a module, such as `octavo demo`, with the folders of `stage`. With `controls`, keys such as ctrl+c send
    signals. `environ` has additional environment variables."""
    _store_last_view(stage)
    folders = {f"OCTAVO_{name.upper()}_DIR": str(stage.folder / name) for name in ("config", "data", "state", "cache")}
    environ |= {**folders, **THIS_TREE}
    return Terminal((*(CONTROLS if controls else ()), *MODULE, *command), environ, columns=size[0], rows=size[1])


def _store_last_view(stage: Stage) -> None:
    """Store that the last view was a page, so that the demo opens the page."""
    folder = stage.folder / "state"
    if not folder.exists():
        state = StateDb(folder, f"demo {stage.folder / 'data' / 'demo'}")
        state.set_fact("view", "content")
        state.close()


def output_of(running: Terminal) -> bytes:
    """Return the complete output of the program."""
    return b"".join(chunk.data for chunk in running.chunks)


KEYS = {"enter": b"\r", "escape": b"\x1b", "tab": b"\t", "backspace": b"\x7f"}


def bytes_of_keys(keys: Sequence[str]) -> list[bytes]:
    """Return the bytes that a terminal sends for each key."""
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
