"""Textual's driver for terminals, but it ends at once, and takes over the picture that was shown while we were loading."""

from __future__ import annotations

import os
import selectors
import signal
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

from octavo.tui.terminal.key_reader import KeyReader
from octavo.tui.terminal.polite_thread import expect_frame, frame_written
from octavo.tui.terminal.textual_internals import ParseError, app_of, key_parser, resume_only_stopped

if TYPE_CHECKING:
    from octavo.first_picture import FirstPicture

_ALTERNATE_SCREEN = "\x1b[?1049h"
_EXPLICIT, _IMPLICIT = "\x1b[8l", "\x1b[8h"
"""What tells a terminal that could turn right-to-left words round that they come turned, and that they no longer do."""


class TerminalDriver(LinuxDriver):
    """Reads keys in a thread which a pipe wakes when it has to end.

    Textual's own thread looks every tenth of a second whether it has to, and once more when it has: the alternate
    screen is left, or the editor gets the terminal, a fifth of a second late.
    """

    LOOK = 0.1
    """Seconds after which an escape that nothing follows is a key of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pipe: tuple[int, int] | None = None
        """Its ends for reading and writing, while keys are read. What is written wakes the thread."""
        self._covered = False
        resume_only_stopped(self, lambda: self._pipe is not None)

    def start_application_mode(self) -> None:
        self._pipe = os.pipe()
        picture: FirstPicture | None = getattr(app_of(self), "picture", None)
        self._covered, settings = picture.hand_over() if picture else (False, None)
        super().start_application_mode()  # type: ignore[no-untyped-call]  # as Textual has it
        if settings is not None:
            self.attrs_before = settings
        if self._turns_words:
            self.write(_EXPLICIT)

    def stop_application_mode(self) -> None:
        if self._turns_words:
            self.write(_IMPLICIT)
        super().stop_application_mode()

    @property
    def _turns_words(self) -> bool:
        settings = getattr(app_of(self), "settings", None)
        return settings is not None and bool(settings.turns_words)

    def write(self, data: str) -> None:
        if self._covered and data == _ALTERNATE_SCREEN:
            # We are on it already. Many terminals would wipe the picture off.
            self._covered = False
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
        """Turn what the terminal sends into messages, until `disable_input`."""
        parser, decoder = key_parser(self), getincrementaldecoder("utf-8")("replace")
        keys = KeyReader(parser)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._pipe is not None:
                selector.register(self._pipe[0], selectors.EVENT_READ)
            while not self.exit_event.is_set():
                self._take(selector, self.LOOK, keys, decoder)
            self._take(selector, 0, keys, decoder)
        try:
            for _ in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass

    def _take(self, selector: selectors.BaseSelector, timeout: float, keys: KeyReader, decoder: Any) -> None:
        ready = any(key.fd == self.fileno for key, _ in selector.select(timeout))
        # Nothing is the end of all for the parser, so nothing is not what it is fed.
        if ready and (text := decoder.decode(self._typed(selector))):
            expect_frame()
            for message in keys.feed(text):
                self.process_message(message)
        if not ready:
            for message in keys.tick():
                self.process_message(message)

    def _typed(self, selector: selectors.BaseSelector) -> bytes:
        try:
            typed = os.read(self.fileno, 4096)
        except OSError:
            typed = b""
        if not typed:
            # The terminal is gone. SIGHUP says so only to those it controls, and an app nobody sees must not stay.
            selector.unregister(self.fileno)
            os.kill(os.getpid(), signal.SIGHUP)
        return typed
