"""The app as a program in a real terminal."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.cli.command_process import OctavoTerminal
from tests.journeys.stage import Stage


def terminal(
    stage: Stage, *, size: tuple[int, int] = (120, 36), controls: bool = False, **environ: str
) -> OctavoTerminal:
    """Run `octavo demo` with the folders of `stage`. With `controls`, keys such as ctrl+c send signals. `environ` has
    additional environment variables."""
    environ |= prepare_environment(stage)
    return OctavoTerminal(("demo",), environ, columns=size[0], rows=size[1], controls=controls)


def prepare_environment(stage: Stage) -> dict[str, str]:
    """Let the demo of `stage` open a page. Return the variables of a program that uses the folders of `stage`."""
    _store_last_view(stage)
    folders = {f"OCTAVO_{name.upper()}_DIR": str(stage.folder / name) for name in ("config", "data", "state", "cache")}
    return {**folders, **THIS_TREE}


def _store_last_view(stage: Stage) -> None:
    """Store that the last view was a page, so that the demo opens the page."""
    folder = stage.folder / "state"
    if not folder.exists():
        state = StateDb(folder, f"demo {stage.folder / 'data' / 'demo'}")
        state.set_value("view", "content")
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
