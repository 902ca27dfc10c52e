"""What a terminal sends as messages: escape and a key quickly after it, and pasted text with escapes in it."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from textual.events import Key

from octavo.tui.terminal.textual_internals import XTermParser, keys_of

if TYPE_CHECKING:
    from textual.message import Message

_ESCAPE, _PASTE, _PASTED = "\x1b", "\x1b[200~", "\x1b[201~"
_UNFINISHED = re.compile(r"\x1b(\[(20{0,2})?|[O\]P_^X])?")
"""What may be the beginning of more: hardly a person types it faster than the rest comes."""
_TOLD = re.compile(r"\x1b[\]P_^X][^\x07\x1b]*(\x07|\x1b\\)|\x1b[\[O\]P_^X][^\x1b]*", re.DOTALL)
"""One sequence that is no key with alt: with the text that a terminal answers with, or up to the next escape."""


class EscapeOrAlt(Key):
    """A key with alt, or escape and a key quickly after it: terminals send the same for both.

    tmux sends both together, as it waits after escape to see what follows.
    """

    def __init__(self, with_alt: Key, plain: Key) -> None:
        super().__init__(with_alt.key, with_alt.character)
        self.with_alt = with_alt
        self.apart = Key("escape", _ESCAPE), plain


class KeyReader:
    """Makes messages of what is read from a terminal.

    Textual's parser reads escape and a key as that key with alt, or as the key alone. In pasted text it takes what follows
    an escape for keys that were pressed.
    """

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._held = ""
        """What was read and may be the beginning of more."""
        self._is_pasting = False

    def feed(self, text: str) -> Iterator[Message]:
        """What `text` comes to, together with what was held."""
        text, self._held = self._held + text, ""
        while text:
            text = yield from self._paste(text) if self._is_pasting else self._keys(text)

    def tick(self) -> Iterator[Message]:
        """What is held, as nothing followed it in time."""
        if self._held and not self._is_pasting:
            held, self._held = self._held, ""
            yield from self._alone(held) if len(held) < 3 else self._parser.feed(held)
        yield from self._parser.tick()

    def _paste(self, text: str) -> Generator[Message, None, str]:
        """Returns what follows the paste."""
        pasted, end, rest = text.partition(_PASTED)
        if not end:
            begun = next((size for size in range(len(_PASTED) - 1, 0, -1) if pasted.endswith(_PASTED[:size])), 0)
            pasted, self._held = pasted[: len(pasted) - begun], pasted[len(pasted) - begun :]
        self._is_pasting = not end
        if pasted or end:
            yield from self._parser.feed(pasted.replace(_ESCAPE, "\N{SYMBOL FOR ESCAPE}") + end)
        return rest

    def _keys(self, text: str) -> Generator[Message, None, str]:
        """Returns what is still to be read."""
        before, escape, after = text.partition(_ESCAPE)
        if before:
            yield from self._parser.feed(before)
        sequence = escape + after
        if not sequence:
            return ""
        if _UNFINISHED.fullmatch(sequence):
            self._held = sequence
            return ""
        if sequence.startswith(_PASTE):
            self._is_pasting = True
            yield from self._parser.feed(_PASTE)
            return sequence[len(_PASTE) :]
        if told := _TOLD.match(sequence):
            yield from self._parser.feed(told[0])
            return sequence[told.end() :]
        if after[0] == _ESCAPE:
            yield from self._alone(escape)
            return after
        yield from self._alone(sequence[:2])
        return sequence[2:]

    def _alone(self, keys: str) -> Iterator[Message]:
        """Escape, or escape and one other key."""
        plain = keys_of(self._parser, keys[1:]) if keys[1:] else []
        with_alt = [*keys_of(self._parser, keys), *keys_of(self._parser, keys[1:], alt=True)] if plain else []
        if plain and with_alt and with_alt[0].key != plain[0].key:
            yield EscapeOrAlt(with_alt[0], plain[0])
        else:
            yield Key("escape", _ESCAPE)
            yield from plain
