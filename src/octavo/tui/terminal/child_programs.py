"""Programs that Octavo starts: the web browser, and the sandboxed programs of `bounded/`.

Start at `find_browser` and `run_bounded`. Python's `webbrowser` is not used: it opens any URL scheme, and passes the terminal
and API keys on to the browser. The programs of `bounded/` read untrusted input within limits of time, memory and output.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock, Thread

_SECRETS = ("OCTAVO_API_KEY",)
_BOUNDED = Path(__file__).parent / "bounded"
_CHUNK = 1 << 16
_WEB_SCHEMES = ("https://", "http://")
_OPENERS = (("open",),) if sys.platform == "darwin" else (("xdg-open",), ("gio", "open"), ("x-www-browser",))
_TERMINAL_BROWSERS = frozenset({"w3m", "lynx", "links", "links2", "elinks", "www-browser", "browsh"})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that contain API keys."""
    return {name: value for name, value in environment.items() if name not in _SECRETS}


@dataclass(frozen=True)
class Browser:
    """A command that opens a URL. The URL replaces `%s` in its words, or follows the last word."""

    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        return PurePath(self.arguments[0]).name

    def start(self, url: str, environment: Mapping[str, str]) -> Popen[bytes]:
        """Open a URL in a process without access to the terminal. Raises ValueError if it is no http or https URL, or
        OSError."""
        if not url.startswith(_WEB_SCHEMES) or not url.isprintable():
            raise ValueError("Octavo opens only http and https links in a browser.")
        words = [word.replace("%s", url) for word in self.arguments]
        return Popen(
            words if words != list(self.arguments) else [*words, url],
            env=without_secrets(environment),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )


@dataclass(frozen=True)
class NoBrowser:
    """Reason why no link can be opened, as a sentence."""

    sentence: str


def find_browser(url: str, environment: Mapping[str, str]) -> Browser | NoBrowser:
    """Return the first installed program of the variable BROWSER, else the program of the desktop that opens URLs."""
    if not url.startswith(_WEB_SCHEMES):
        return NoBrowser("Octavo opens only web links in a browser.")
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return NoBrowser("You are connected over SSH: a browser would open on the remote computer.")
    if sys.platform != "darwin" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return NoBrowser("Could not open a browser: no graphical display found.")
    for words in (*_commands_in(environment.get("BROWSER", "")), *_OPENERS):
        if shutil.which(words[0], path=environment.get("PATH")) and PurePath(words[0]).name not in _TERMINAL_BROWSERS:
            return Browser(words)
    return NoBrowser(
        "Octavo could not find a browser. Set the environment variable BROWSER to the command that starts your browser."
    )


def _commands_in(setting: str) -> list[tuple[str, ...]]:
    """Return the commands in a value of BROWSER, which are separated by colons. A final `&` is ignored."""
    commands = []
    for each in setting.split(":"):
        try:
            words = tuple(shlex.split(each.strip().removesuffix("&")))
        except ValueError:
            continue
        if words:
            commands.append(words)
    return commands


@dataclass(frozen=True)
class BoundedOutput:
    """The output of a program that has ended or was killed."""

    output: bytes
    exceeded: bool
    """True if the program exceeded its time or its output limit."""


async def run_bounded(program: str, data: bytes, *, seconds: float, memory: int, max_bytes: int) -> BoundedOutput:
    """Run a program of `bounded/` with `data` as its input, and return its output.

    The program is killed after `seconds`, after `max_bytes` bytes of output, or when the caller is cancelled. It can
    use `memory` bytes, if the system supports such limits. Raises OSError if no process can be started.
    """
    process = _BoundedProcess(program, memory, seconds)
    # In a background thread: asyncio would leave the pipes of the program open if the event loop ended at the same
    # time.
    running = asyncio.get_running_loop().run_in_executor(None, process.run, data, max_bytes)
    try:
        done, _ = await asyncio.wait({running}, timeout=seconds)
    except asyncio.CancelledError:
        running.cancel()
        raise
    finally:
        process.kill()
    output = await running
    return BoundedOutput(output[:max_bytes], not done or len(output) > max_bytes)


class _BoundedProcess:
    """A process of `bounded/` that any thread can kill."""

    def __init__(self, program: str, memory: int, seconds: float) -> None:
        self._program, self._memory, self._seconds = program, memory, int(seconds) + 1
        self._lock = Lock()
        self._child: Popen[bytes] | None = None
        self._is_killed = False

    def run(self, data: bytes, max_bytes: int) -> bytes:
        """Run the program and return its output, cut off soon after `max_bytes` bytes. Blocks until it ends. Raises
        OSError."""
        with self._lock:
            if self._is_killed:
                return b""
            child = self._child = start(self._program, memory=self._memory, seconds=self._seconds)
        output = bytearray()
        with child:
            writer = Thread(target=_write_input, args=(child, data), daemon=True, name="octavo-input")
            writer.start()
            assert child.stdout is not None, "Popen was called without a pipe"
            while len(output) <= max_bytes and (chunk := child.stdout.read(_CHUNK)):
                output += chunk
            if len(output) > max_bytes:
                child.kill()
            writer.join()
        return bytes(output)

    def kill(self) -> None:
        """Kill the program, or keep it from starting."""
        with self._lock:
            self._is_killed = True
            if self._child is not None:
                self._child.kill()


def start(program: str, *, memory: int, seconds: int) -> Popen[bytes]:
    """Start a program of `bounded/` in a process without environment, terminal or access to the working folder.

    `seconds` limits its processor time, also after Octavo has ended. Raises OSError.
    """
    return Popen(
        (sys.executable, "-I", "-X", "utf8", str(_BOUNDED / "__main__.py"), program, str(memory), str(seconds)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )


def _write_input(child: Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None, "Popen was called without a pipe"
    rest = memoryview(data)
    with suppress(OSError), child.stdin:  # The program may end before it has read everything.
        while rest:
            rest = rest[child.stdin.write(rest) or 0 :]
