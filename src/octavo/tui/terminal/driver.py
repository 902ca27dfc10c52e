"""The terminal driver: it stops faster than Textual's, and continues from the picture shown while Octavo was loading."""

from __future__ import annotations

import os
import selectors
import signal
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

from octavo.tui.terminal.key_reader import KeyReader
from octavo.tui.terminal.polite_thread import expect_frame, frame_written
from octavo.tui.terminal.textual_internals import ParseError, XTermParser, app_of, resume_only_stopped

if TYPE_CHECKING:
    from octavo.first_picture import FirstPicture

_ALTERNATE_SCREEN = "\x1b[?1049h"
_EXPLICIT, _IMPLICIT = "\x1b[8l", "\x1b[8h"
"""Sequences that disable and enable the reordering of right-to-left words in the terminal."""


class TerminalDriver(LinuxDriver):
    """A driver that reads keys in an input thread. A pipe wakes the thread when it has to stop.

    Textual's thread checks every tenth of a second whether it has to stop. That would delay quitting, and starting an
    editor, by a fifth of a second.
    """

    ESCAPE_DELAY = 0.1
    """Seconds after an escape character until it counts as the escape key, if no other character follows."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pipe: tuple[int, int] | None = None
        """Read and write end of the pipe that wakes the thread. None while no keys are read."""
        self._has_picture = False
        """True if the first picture is on the alternate screen already."""
        resume_only_stopped(self, lambda: self._pipe is not None)

    def start_application_mode(self) -> None:
        self._pipe = os.pipe()
        picture: FirstPicture | None = getattr(app_of(self), "picture", None)
        self._has_picture, settings = picture.hand_over() if picture else (False, None)
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no annotations here.
        if settings is not None:
            self.attrs_before = settings
        if self._reorders_right_to_left:
            self.write(_EXPLICIT)

    def stop_application_mode(self) -> None:
        if self._reorders_right_to_left:
            self.write(_IMPLICIT)
        super().stop_application_mode()

    @property
    def _reorders_right_to_left(self) -> bool:
        settings = getattr(app_of(self), "settings", None)
        return settings is not None and bool(settings.reorders_right_to_left)

    def write(self, data: str) -> None:
        if self._has_picture and data == _ALTERNATE_SCREEN:
            # Many terminals would clear the picture if they switched to the alternate screen again.
            self._has_picture = False
            return
        super().write(data)
        frame_written()

    def disable_input(self) -> None:
        if self._pipe is not None:
            os.write(self._pipe[1], b"\0")
        super().disable_input()

    def close(self) -> None:
        super().close()
        if self._pipe is not None:
            for end in self._pipe:
                os.close(end)
            self._pipe = None

    def run_input_thread(self) -> None:
        """Send the input of the terminal to the app as messages, until `disable_input` is called."""
        parser, decoder = XTermParser(), getincrementaldecoder("utf-8")("replace")
        keys = KeyReader(parser)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._pipe is not None:
                selector.register(self._pipe[0], selectors.EVENT_READ)
            while not self.exit_event.is_set():
                self._read_input(selector, self.ESCAPE_DELAY, keys, decoder)
            self._read_input(selector, 0, keys, decoder)
        try:
            for _ in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass

    def _read_input(self, selector: selectors.BaseSelector, timeout: float, keys: KeyReader, decoder: Any) -> None:
        ready = any(key.fd == self.fileno for key, _ in selector.select(timeout))
        # An empty text would end the parser.
        if ready and (text := decoder.decode(self._read_bytes(selector))):
            expect_frame()
            for message in keys.feed(text):
                self.process_message(message)
        if not ready:
            for message in keys.tick():
                self.process_message(message)

    def _read_bytes(self, selector: selectors.BaseSelector) -> bytes:
        try:
            data = os.read(self.fileno, 4096)
        except OSError:
            data = b""
        if not data:
            # The terminal was closed. Only the processes that it controls get SIGHUP from the system.
            selector.unregister(self.fileno)
            os.kill(os.getpid(), signal.SIGHUP)
        return data
