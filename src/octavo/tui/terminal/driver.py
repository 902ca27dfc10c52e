"""The terminal driver, which reads keys and writes frames. It stops faster than Textual's driver. When the app starts,
it keeps the picture of `first_picture.py` on the screen until the app has painted a frame."""

from __future__ import annotations

import os
import re
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key

from octavo.tui.terminal.display import simplify_emoji
from octavo.tui.terminal.polite_thread import expect_frame, on_frame_written
from octavo.tui.terminal.textual_internals import ParseError, XTermParser

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message

    from octavo.first_picture import FirstPicture

_ESCAPE, _PASTE_START, _PASTE_END = "\x1b", "\x1b[200~", "\x1b[201~"
_UNFINISHED = re.compile(
    r"\x1b(\[(20{0,2}|[?>][\d;]*|[468](;\d*){0,2})?|[O\]P_^X]|(\]\d|_G|P[\d>+!|])[^\x07\x1b]{0,4000}\x1b?)?"
)
"""Matches an escape sequence whose end is missing. The rest arrives before the next key."""
_ESCAPE_SEQUENCE = re.compile(r"\x1b[\[O\]P_^X][^\x1b]*", re.DOTALL)
"""Matches an escape sequence, such as the sequence of a key, and all text up to the next escape."""
_TERMINAL_RESPONSE = re.compile(r"\x1b((\]\d|_G|P[\d>+!|])[^\x07\x1b]*(\x07|\x1b\\)|\[([?>][\d;]*[cu]|[468];\d+;\d+t))")
"""Matches a response of the terminal to a query. If it is late, Textual would take it for keys."""


class EscapeOrAlt(Key):
    """Either alt with a key, or escape followed by a key. The terminal sends the same bytes for both."""

    def __init__(self, with_alt: Key, escape: Key, plain: Key) -> None:
        super().__init__(with_alt.key, with_alt.character)
        self.with_alt = with_alt
        self.separate = escape, plain


class KeyReader:
    """Turns terminal input into key and paste messages. Textual would misread escape before a key, and in a paste."""

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._incomplete = ""
        """End of the input that may be the beginning of an escape sequence."""
        self._is_pasting = False

    def feed(self, text: str) -> Iterator[Message]:
        """Yield the messages for new input. Keep the beginning of an unfinished escape sequence for the next call."""
        text, self._incomplete = self._incomplete + text, ""
        while text:
            text = yield from self._paste(text) if self._is_pasting else self._next_key(text)

    def tick(self) -> Iterator[Message]:
        """Yield the messages for incomplete input that `feed` has stored, because nothing has followed in time."""
        if self._incomplete and not self._is_pasting:
            text, self._incomplete = self._incomplete, ""
            yield from self._escape_and_key(text) if len(text) < 3 else self._parser.feed(text)
        yield from self._parser.tick()

    def _paste(self, text: str) -> Generator[Message, None, str]:
        """Yield the messages for pasted text at the start of the input. Record whether the paste continues in later
        input. Return the input after the paste."""
        pasted, paste_end, rest = text.partition(_PASTE_END)
        if not paste_end:
            prefix_lengths = range(len(_PASTE_END) - 1, 0, -1)
            kept_length = len(pasted) - next((each for each in prefix_lengths if pasted.endswith(_PASTE_END[:each])), 0)
            pasted, self._incomplete = pasted[:kept_length], pasted[kept_length:]
        self._is_pasting = not paste_end
        if pasted or paste_end:
            yield from self._parser.feed(pasted.replace(_ESCAPE, "\N{SYMBOL FOR ESCAPE}") + paste_end)
        return rest

    def _next_key(self, text: str) -> Generator[Message, None, str]:
        """Yield the messages for the first key or text of the input, and return the rest of the input. Drop a response
        of the terminal. Store an unfinished escape sequence in `_incomplete`."""
        text_before, escape, text_after = text.partition(_ESCAPE)
        if text_before:
            yield from self._parser.feed(text_before)
        sequence = escape + text_after
        if not sequence:
            return ""
        if _UNFINISHED.fullmatch(sequence):
            self._incomplete = sequence
            return ""
        if sequence.startswith(_PASTE_START):
            self._is_pasting = True
            yield from self._parser.feed(_PASTE_START)
            return sequence[len(_PASTE_START) :]
        if sequence_match := _TERMINAL_RESPONSE.match(sequence):
            return sequence[sequence_match.end() :]
        if sequence_match := _ESCAPE_SEQUENCE.match(sequence):
            yield from self._parser.feed(sequence_match[0])
            return sequence[sequence_match.end() :]
        if text_after[0] == _ESCAPE:
            yield from self._escape_and_key(escape)
            return text_after
        yield from self._escape_and_key(sequence[:2])
        return sequence[2:]

    def _escape_and_key(self, keys: str) -> Iterator[Message]:
        """Yield the messages for an escape character and the key after it, if there is one. If the user may have
        pressed alt with this key instead, yield one `EscapeOrAlt`."""
        escape = Key("escape", _ESCAPE)  # Created before `plain`, because the app sorts waiting keys by time.
        plain = self._parser.key_events(keys[1:]) if keys[1:] else []
        with_alt = [*self._parser.key_events(keys), *self._parser.key_events(keys[1:], alt=True)] if plain else []
        if plain and with_alt and with_alt[0].key != plain[0].key:
            yield EscapeOrAlt(with_alt[0], escape, plain[0])
        else:
            yield escape
            yield from plain


_ALTERNATE_SCREEN = "\x1b[?1049h"
_OPERATING_SYSTEM_COMMAND = "\x1b]"
"""Beginning of the escape sequences for the title, the mouse pointer and the clipboard, which paint nothing."""
_DISABLE_REORDERING = "\x1b[8l"
"""Escape sequence that stops the terminal from reordering right-to-left text, because Octavo reorders it."""
_ENABLE_REORDERING = "\x1b[8h"
"""Escape sequence that lets the terminal reorder right-to-left text again."""


class TerminalDriver(LinuxDriver):
    """Terminal driver whose input thread stops at once. The thread of Textual's driver needs up to 0.1 seconds."""

    ESCAPE_DELAY = 0.1
    """Seconds after which an escape character alone is the escape key."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self.app = app
        self._pipe: tuple[int, int] | None = None
        """Read end and write end of a pipe that wakes the input thread to stop it. None while no input thread runs."""
        self._has_picture = False
        """True while the picture of `first_picture.py` is on the screen, before the app has painted a frame."""

    def start_application_mode(self) -> None:
        self._pipe = os.pipe()
        picture: FirstPicture | None = getattr(self.app, "picture", None)
        self._has_picture, settings = picture.hand_over() if picture else (False, None)
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no annotations here.
        if settings is not None:
            self.attrs_before = settings
        if self._reorders_right_to_left:
            self.write(_DISABLE_REORDERING)

    def stop_application_mode(self) -> None:
        if self._reorders_right_to_left:
            self.write(_ENABLE_REORDERING)
        super().stop_application_mode()

    def resume_application_mode(self) -> None:
        # If the terminal is closed, SIGCONT follows SIGHUP, and Textual would use the closed terminal.
        if self._pipe is None:
            super().resume_application_mode()

    @property
    def _reorders_right_to_left(self) -> bool:
        settings = getattr(self.app, "settings", None)
        return settings is not None and bool(settings.reorders_right_to_left)

    def write(self, data: str) -> None:
        if self._has_picture and data == _ALTERNATE_SCREEN:
            # Switching to the alternate screen again would clear the picture in many terminals.
            self._has_picture = False
            return
        super().write(data if data.isascii() else simplify_emoji(data))
        if not data.startswith(_OPERATING_SYSTEM_COMMAND):
            on_frame_written()

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
        """Read terminal input and send it to the app as messages, until `disable_input` is called."""
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
        if any(key.fd == self.fileno for key, _ in selector.select(timeout)):
            expect_frame()  # Pauses the background thread, before the read gives it time to run.
            text = decoder.decode(self._read_bytes(selector))
            messages = keys.feed(text) if text else iter(())  # An empty text would end the parser.
        else:
            messages = keys.tick()
        for message in messages:
            self.process_message(message)

    def _read_bytes(self, selector: selectors.BaseSelector) -> bytes:
        try:
            data = os.read(self.fileno, 4096)
        except OSError:
            data = b""
        if not data:
            # The terminal is gone. If it did not control Octavo, no SIGHUP arrives, so Octavo sends it to itself.
            selector.unregister(self.fileno)
            os.kill(os.getpid(), signal.SIGHUP)
        return data
