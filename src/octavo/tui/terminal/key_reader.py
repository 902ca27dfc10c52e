"""Reads keys and pasted text from the terminal, and distinguishes alt+key from escape followed by a key."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from textual.events import Key

from octavo.tui.terminal.textual_internals import XTermParser, key_events

if TYPE_CHECKING:
    from textual.message import Message

_ESCAPE, _PASTE_START, _PASTE_END = "\x1b", "\x1b[200~", "\x1b[201~"
_UNFINISHED = re.compile(r"\x1b(\[(20{0,2})?|[O\]P_^X])?")
"""Sequences that may be incomplete. The rest of a sequence arrives faster than anybody types."""
_SEQUENCE = re.compile(r"\x1b[\]P_^X][^\x07\x1b]*(\x07|\x1b\\)|\x1b[\[O\]P_^X][^\x1b]*", re.DOTALL)
"""A sequence that is not alt+key, such as a response of the terminal."""


class EscapeOrAlt(Key):
    """Alt+key, or escape followed by a key: terminals send the same bytes for both.

    tmux sends the two keys together because it waits after an escape.
    """

    def __init__(self, with_alt: Key, plain: Key) -> None:
        super().__init__(with_alt.key, with_alt.character)
        self.with_alt = with_alt
        self.separate = Key("escape", _ESCAPE), plain


class KeyReader:
    """Converts the input of a terminal to messages.

    Textual's parser reads escape and a key as alt+key, or as the key only. It also reads an escape in pasted text as the
    start of a key.
    """

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._incomplete = ""
        """Input that may be incomplete: more of the same sequence may follow."""
        self._is_pasting = False

    def feed(self, text: str) -> Iterator[Message]:
        """Yield the messages of the next input. The end of the input may be kept until the next call."""
        text, self._incomplete = self._incomplete + text, ""
        while text:
            text = yield from self._paste(text) if self._is_pasting else self._keys(text)

    def tick(self) -> Iterator[Message]:
        """Yield the messages of incomplete input, because nothing followed it in time."""
        if self._incomplete and not self._is_pasting:
            text, self._incomplete = self._incomplete, ""
            yield from self._escape_and_key(text) if len(text) < 3 else self._parser.feed(text)
        yield from self._parser.tick()

    def _paste(self, text: str) -> Generator[Message, None, str]:
        """Yield the messages of pasted text, and return the input after the paste."""
        pasted, end, rest = text.partition(_PASTE_END)
        if not end:
            sizes = range(len(_PASTE_END) - 1, 0, -1)
            cut = len(pasted) - next((size for size in sizes if pasted.endswith(_PASTE_END[:size])), 0)
            pasted, self._incomplete = pasted[:cut], pasted[cut:]
        self._is_pasting = not end
        if pasted or end:
            yield from self._parser.feed(pasted.replace(_ESCAPE, "\N{SYMBOL FOR ESCAPE}") + end)
        return rest

    def _keys(self, text: str) -> Generator[Message, None, str]:
        """Yield the messages of the next key or text, and return the input after it."""
        before, escape, after = text.partition(_ESCAPE)
        if before:
            yield from self._parser.feed(before)
        sequence = escape + after
        if not sequence:
            return ""
        if _UNFINISHED.fullmatch(sequence):
            self._incomplete = sequence
            return ""
        if sequence.startswith(_PASTE_START):
            self._is_pasting = True
            yield from self._parser.feed(_PASTE_START)
            return sequence[len(_PASTE_START) :]
        if found := _SEQUENCE.match(sequence):
            yield from self._parser.feed(found[0])
            return sequence[found.end() :]
        if after[0] == _ESCAPE:
            yield from self._escape_and_key(escape)
            return after
        yield from self._escape_and_key(sequence[:2])
        return sequence[2:]

    def _escape_and_key(self, keys: str) -> Iterator[Message]:
        """Yield the messages of an escape, or of an escape and the key after it."""
        plain = key_events(self._parser, keys[1:]) if keys[1:] else []
        with_alt = [*key_events(self._parser, keys), *key_events(self._parser, keys[1:], alt=True)] if plain else []
        if plain and with_alt and with_alt[0].key != plain[0].key:
            yield EscapeOrAlt(with_alt[0], plain[0])
        else:
            yield Key("escape", _ESCAPE)
            yield from plain
