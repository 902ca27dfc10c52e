"""The picture of the first screen: kept by one run, put on the terminal by the next while the app is being loaded.

It is a picture and no more: what is typed under it waits in the terminal until the app takes over and draws over it.
It is shown only on a terminal of the same size and kind, and only from a file that nobody else can have written.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from octavo import __version__
from octavo.untrusted_input import parse_json

PREFIX = "first-screen-"
LARGEST = 1_000_000
"""Bytes of a file that can be a picture."""

_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?1049l\x1b[?25h"
"""The alternate screen with the cursor hidden, and back."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TERMINAL = (
    *("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM", "COLUMNS", "LINES"),
    *("LC_ALL", "LC_CTYPE", "LANG"),
)
"""What decides how a terminal is drawn on."""


class FirstPicture:
    """The picture of one place: of an account, a folder, or the demo."""

    def __init__(self, folder: Path, place: str, look: str) -> None:
        """Each `place` has its own, in `folder`. `look` is what else must be the same: the theme and the like."""
        self._path = folder / f"{PREFIX}{zlib.crc32(place.encode('utf-8', 'surrogateescape')):08x}"
        # Noted now: the app takes variables out of the environment as it starts.
        terminal = {each: os.environ.get(each, "") for each in _TERMINAL}
        self._known = {"version": __version__, "place": place, "look": look, "terminal": terminal}
        self._settings: list[Any] | None = None
        self._shown = False

    def show(self) -> bool:
        """Put it on the terminal, on a screen of its own. False when there is none that fits."""
        if not all(file is not None and file.isatty() for file in (sys.__stdin__, sys.__stdout__, sys.__stderr__)):
            return False
        rows = self._fitting()
        if not rows:
            return False
        self._shown = True
        atexit.register(self.take_down)
        self._wait_quietly()
        _write(_OPEN + "".join(f"\x1b[{number};1H{row}\x1b[0m" for number, row in enumerate(rows, 1)))
        return True

    def take_down(self) -> None:
        """Give the terminal back as it was, unless somebody took it over."""
        if self._shown:
            self._shown = False
            _write(_CLOSE)
            if self._settings is not None:
                import termios

                termios.tcsetattr(0, termios.TCSANOW, self._settings)

    def hand_over(self) -> tuple[bool, list[Any] | None]:
        """Leave the terminal to who draws on it next: whether the picture is there, and how the terminal was set before."""
        shown, self._shown = self._shown, False
        return shown, self._settings if shown else None

    def keep(self, rows: Sequence[str]) -> None:
        """Keep `rows` of text and styles for the next start. What cannot be kept is not."""
        new = self._path.with_suffix(".new")
        try:
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("\n".join([json.dumps(self._head()), *rows]))
            os.replace(new, self._path)
        except OSError:
            self.forget()

    def forget(self) -> None:
        """Keep none."""
        for path in (self._path, self._path.with_suffix(".new")):
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue

    def _fitting(self) -> list[str]:
        try:
            head, *rows = self._read().split("\n")
            fits = parse_json(head) == self._head() and len(rows) == os.get_terminal_size(2).lines
        except (OSError, ValueError):
            return []
        # Nothing but text and styles goes from a file to the terminal.
        return rows if fits and not any(_CONTROL.search(_STYLE.sub("", row)) for row in rows) else []

    def _head(self) -> dict[str, Any]:
        """What must be the same for it to be shown."""
        return {**self._known, "size": list(os.get_terminal_size(2))}

    def _read(self) -> str:
        handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise PermissionError(f"{self._path} may have been written by others")
            if found.st_size > LARGEST:
                raise ValueError(f"{self._path} is no picture")
            return file.read().decode("utf-8")

    def _wait_quietly(self) -> None:
        """Let what is typed wait as it was typed: not shown, not changed, not taken for a signal."""
        import termios

        self._settings = termios.tcgetattr(0)
        quiet = termios.tcgetattr(0)
        quiet[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
        quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        termios.tcsetattr(0, termios.TCSANOW, quiet)


def _write(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(2, data) :]
