"""The person's own browser: which program opens an address, and starting it with nothing of ours in its hands.

Python's `webbrowser` is not used: it hands on the whole environment and our terminal, and opens any scheme.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from octavo.tui.terminal.child_programs import for_children

SCHEMES = ("https://", "http://")

_OPENERS = (("open",),) if sys.platform == "darwin" else (("xdg-open",), ("gio", "open"), ("x-www-browser",))
_IN_THE_TERMINAL = frozenset({"w3m", "lynx", "links", "links2", "elinks", "www-browser", "browsh"})


@dataclass(frozen=True)
class Browser:
    """The words of a command; the address comes where they say `%s`, else after them."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return PurePath(self.words[0]).name

    def start(self, url: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Open `url`, of one of `SCHEMES`, out of reach of our terminal. Raises ValueError, OSError."""
        if not url.startswith(SCHEMES) or not url.isprintable():
            raise ValueError("Octavo opens only http and https links in a browser.")
        words = [word.replace("%s", url) for word in self.words]
        return subprocess.Popen(
            words if words != list(self.words) else [*words, url],
            env=for_children(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@dataclass(frozen=True)
class NoBrowser:
    """Why no address can be opened here."""

    sentence: str


def find(url: str, environment: Mapping[str, str]) -> Browser | NoBrowser:
    """What opens `url`: the first of BROWSER that there is, else what the desktop has for it."""
    if not url.startswith(SCHEMES):
        return NoBrowser("Octavo opens only web links in a browser.")
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return NoBrowser("You are connected over SSH: a browser would open on the remote computer.")
    if sys.platform != "darwin" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return NoBrowser("Could not open a browser: no graphical display found.")
    for words in (*_wanted(environment.get("BROWSER", "")), *_OPENERS):
        if shutil.which(words[0], path=environment.get("PATH")) and PurePath(words[0]).name not in _IN_THE_TERMINAL:
            return Browser(words)
    return NoBrowser("Octavo found no browser. Set the environment variable BROWSER to the command of your browser.")


def _wanted(setting: str) -> list[tuple[str, ...]]:
    """The commands of BROWSER, which stand between colons. A final `&` says what is so anyway."""
    commands = []
    for each in setting.split(":"):
        try:
            words = tuple(shlex.split(each.strip().removesuffix("&")))
        except ValueError:
            continue
        if words:
            commands.append(words)
    return commands
