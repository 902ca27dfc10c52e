"""A picture of the first screen, which the next start shows while the app is loading. Start at `FirstPicture.show`.

The terminal keeps typed keys until the app reads them. The picture is shown only in a terminal of the same size and
kind, and only from a file that other users cannot write.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import termios
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from octavo import __version__
from octavo.private_files import read_private, write_private
from octavo.untrusted_input import parse_json

PREFIX = "first-screen-"

_OPEN = "\x1b[?1049h\x1b[?25l"
"""Escape sequence that switches to the alternate screen and hides the cursor."""
_CLOSE = "\x1b[?1049l\x1b[?25h"
"""Escape sequence that undoes `_OPEN`."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TERMINAL_VARIABLES = (
    *("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM"),
    *("LC_ALL", "LC_CTYPE", "LANG"),
)
"""Environment variables that describe the terminal. If one has changed, the picture is not shown."""


class FirstPicture:
    """The saved picture of the first screen of an account, a folder or the demo."""

    def __init__(self, folder: Path, session_name: str, settings_text: str) -> None:
        """`folder` has a picture for each session name. `settings_text` has settings of the look, such as `theme`."""
        self._path = folder / f"{PREFIX}{zlib.crc32(session_name.encode('utf-8', 'surrogateescape')):08x}"
        # The environment is read now, because the app removes variables from it when it starts.
        terminal = {each: os.environ.get(each, "") for each in _TERMINAL_VARIABLES}
        self._criteria = {"version": __version__, "place": session_name, "look": settings_text, "terminal": terminal}
        self._terminal_settings: list[Any] | None = None
        """Settings of the terminal before the picture. None if no picture was shown."""
        self._is_shown = False

    def show(self) -> bool:
        """Show the picture, and turn off the echo of keys. Return False if there is no picture for this terminal."""
        if not all(file is not None and file.isatty() for file in (sys.__stdin__, sys.__stdout__, sys.__stderr__)):
            return False
        rows = self._read_rows()
        if not rows:
            return False
        self._is_shown = True
        atexit.register(self.take_down)
        self._disable_echo()
        _write_to_terminal(_OPEN + "".join(f"\x1b[{number};1H{row}\x1b[0m" for number, row in enumerate(rows, 1)))
        return True

    def take_down(self) -> None:
        """Remove the picture, and restore the terminal. Do nothing if the app has taken over the terminal."""
        if self._is_shown:
            self._is_shown = False
            _write_to_terminal(_CLOSE)
            if self._terminal_settings is not None:
                termios.tcsetattr(0, termios.TCSANOW, self._terminal_settings)

    def hand_over(self) -> tuple[bool, list[Any] | None]:
        """Let the app take over the terminal. Return whether the picture is shown, and if it is, the earlier settings
        of the terminal, which the caller must restore at the end."""
        is_shown, self._is_shown = self._is_shown, False
        return is_shown, self._terminal_settings if is_shown else None

    @property
    def is_saved(self) -> bool:
        """True if a picture is saved. The picture may be for another terminal."""
        return self._path.exists()

    def save(self, rows: Sequence[str]) -> None:
        """Save the rows of the screen, possibly in color, for the next start. On failure, delete the old picture."""
        try:
            write_private(self._path, "\n".join([json.dumps(self._expected_head()), *rows]))
        except OSError:
            self.delete()

    def delete(self) -> None:
        """Delete the saved picture."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _read_rows(self) -> list[str]:
        """Return the rows of the saved picture. Empty if there is no picture for this terminal."""
        try:
            head_line, *rows = read_private(self._path).split("\n")
            is_usable = parse_json(head_line) == self._expected_head() and len(rows) == os.get_terminal_size(2).lines
        except (OSError, ValueError):
            return []
        # Other programs may change the file. Only styles may reach the terminal.
        return rows if is_usable and not any(_CONTROL.search(_STYLE.sub("", row)) for row in rows) else []

    def _expected_head(self) -> dict[str, Any]:
        """Return the values that the first line of the file must have: version, session, settings and terminal."""
        return {**self._criteria, "size": list(os.get_terminal_size(2))}

    def _disable_echo(self) -> None:
        """Store the settings of the terminal. Turn off echo, line editing and signals, so that keys wait for Octavo."""
        self._terminal_settings = termios.tcgetattr(0)
        new_settings = termios.tcgetattr(0)
        new_settings[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
        new_settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        termios.tcsetattr(0, termios.TCSANOW, new_settings)


def _write_to_terminal(text: str) -> None:
    unwritten_bytes = text.encode("utf-8", "replace")
    while unwritten_bytes:
        unwritten_bytes = unwritten_bytes[os.write(2, unwritten_bytes) :]
