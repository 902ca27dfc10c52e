"""Opens links in the user's web browser.

Python's `webbrowser` is not used: it opens any URL scheme, and passes the terminal and API keys on to the browser.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from octavo.tui.terminal.child_programs import without_secrets

SCHEMES = ("https://", "http://")

_OPENERS = (("open",),) if sys.platform == "darwin" else (("xdg-open",), ("gio", "open"), ("x-www-browser",))
_TERMINAL_BROWSERS = frozenset({"w3m", "lynx", "links", "links2", "elinks", "www-browser", "browsh"})


@dataclass(frozen=True)
class Browser:
    """A command that opens a URL. The URL replaces `%s` in its words, or follows the last word."""

    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        return PurePath(self.arguments[0]).name

    def start(self, url: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Open a URL in a process without access to the terminal. Raises ValueError if it is no http or https URL, or
        OSError."""
        if not url.startswith(SCHEMES) or not url.isprintable():
            raise ValueError("Octavo opens only http and https links in a browser.")
        words = [word.replace("%s", url) for word in self.arguments]
        return subprocess.Popen(
            words if words != list(self.arguments) else [*words, url],
            env=without_secrets(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@dataclass(frozen=True)
class NoBrowser:
    """Reason why no link can be opened, as a sentence."""

    sentence: str


def find(url: str, environment: Mapping[str, str]) -> Browser | NoBrowser:
    """Return the first installed program of the variable BROWSER, else the program of the desktop that opens URLs."""
    if not url.startswith(SCHEMES):
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
