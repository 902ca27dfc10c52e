"""Keys that come sooner than what they are for: over a slow line, or to a machine that is busy, several come at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

from textual.app import App, ReturnType
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer

from octavo.tui.terminal.textual_internals import is_ending

_ANSWERS = frozenset({"enter", "escape"})
_OF_WORDS = frozenset({"enter", "backspace", "space"})
PAUSE = 0.5
"""Seconds without a key after which the next key is not of the same words."""
ROUND = 0.05
"""Seconds after which what was asked to tell when it has done what it was told is asked anew: it may be gone."""


class Words:
    """The words that are typed, as far as they are told from keys: what is typed on for a field that was refused, or that
    is gone, does nothing until there is a pause."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._are_written = False
        """Whether they go into a field."""
        self._are_lost = False
        """Whether they are for one that is not there."""
        self._pause: Timer | None = None

    def ignore(self) -> None:
        """Let what is typed without a pause from now on do nothing: the field it is for is not there."""
        self._are_lost, self._are_written = True, False
        self._wait_for_pause()

    @property
    def are_ignored(self) -> bool:
        """Whether a letter does nothing now, as it is of words whose field is not there."""
        return self._are_lost or (self._are_written and not self._has_field)

    @property
    def _has_field(self) -> bool:
        return bool(self._app.screen_stack) and hasattr(self._app.focused, "cursor_blink")  # of all that is written in

    def _wait_for_pause(self) -> None:
        if self._pause is not None:
            self._pause.stop()
        self._pause = self._app.set_timer(PAUSE, self._forget)

    def _forget(self) -> None:
        self._are_lost = self._are_written = False

    def take(self, event: Key | Paste, *, leads_on: bool = False) -> bool:
        """Whether it is of words whose field is not there. `leads_on`: the key before may have closed that."""
        if isinstance(event, Key) and not (event.is_printable or event.key in _OF_WORDS):
            self._forget()
            return False
        has_field = self._has_field
        if self._are_written and not has_field and not leads_on:
            self._are_lost = True
        if self._are_lost and not has_field:
            self._are_written = False
            self._wait_for_pause()
            return True
        self._are_lost = False
        self._are_written = has_field and isinstance(event, Key) and event.is_printable
        if self._are_written:
            self._wait_for_pause()
        return False


class TypeAhead(App[ReturnType]):
    """Put before an app: what is typed before the screen it is for is there waits for it, and goes there in its order.

    Textual gives it to the screen before, or to one that has no parts or no focus yet: letters were lost, or were commands.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ahead: list[Key | Paste] = []
        self._waits = False
        self._given: WeakKeyDictionary[Key | Paste, ref[Screen[Any]]] = WeakKeyDictionary()
        """The screen that was on show when something was given to what had the focus."""
        self._last: Callable[[], Screen[Any] | None] = lambda: None
        """That of the last, if it is still there."""
        self._leads_on = False
        """Whether the last was a key that dialogs answer to, and may be doing so."""
        self.words = Words(self)

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, Key | Paste):
            await super().on_event(event)
        elif is_ending(self) or (self.words.are_ignored and event.is_forwarded and self.words.take(event)):
            return
        elif event.is_forwarded:
            # Nothing took it, and a key before it led elsewhere: it is for what is there now.
            if event in self._given and self._given[event]() is not self._on_show:
                self._wait(event)
            else:
                await super().on_event(event)
        else:
            if not self._waits and self.words.take(event, leads_on=self._leads_on):
                return
            is_there = self._on_show is not None and self.focused is not None
            leads_elsewhere = self._waits or self._leads_on or self._last() not in (None, self._on_show)
            if is_there and not leads_elsewhere:
                await self._give(event)
            else:
                self._wait(event)

    @property
    def _on_show(self) -> Screen[Any] | None:
        """None: a view that was never on show is asked for, and not yet made."""
        return self.screen if self.screen_stack else None

    async def _give(self, event: Key | Paste) -> None:
        self._last = self._given[event] = ref(self.screen)
        self._leads_on = isinstance(event, Key) and event.key in _ANSWERS
        await super().on_event(event)

    def _wait(self, *events: Key | Paste) -> None:
        self._ahead += events
        if not self._waits:
            self._waits = True
            self.run_worker(self._until_there())

    async def _until_there(self) -> None:
        """Let go what waits once the keys before went all the way up where they were given to, and the screen on show and
        the app have done what they were told by then: it has its parts, and its focus."""
        last, screen, there = self._last(), self._on_show, asyncio.Event()
        nodes = (last.focused or last).ancestors_with_self if last is not None else []
        way: list[MessagePump] = [each for each in nodes if each is not self]
        try:
            while not (is_ending(self) or (there.is_set() and screen is self._on_show)):
                if screen is not self._on_show:
                    screen, there = self._on_show, asyncio.Event()
                if screen is not None:
                    _go_round([*way, screen, self], there.set)
                    way = []
                with suppress(TimeoutError):
                    await asyncio.wait_for(there.wait(), ROUND)
        finally:
            self.call_later(self._let_go)

    async def _let_go(self) -> None:
        """One at a time: where the next belongs is known when this one is done."""
        self._waits = False
        if is_ending(self):
            return
        self._ahead.sort(key=lambda each: each.time)
        if self._ahead and self._on_show is not None:
            event = self._ahead.pop(0)
            again = Key(event.key, event.character) if isinstance(event, Key) else Paste(event.text)
            again.time = event.time  # it may come back, and belongs before what was typed after it
            await self._give(again)
        if self._ahead:
            self._wait()


def _go_round(way: Sequence[MessagePump], then: Callable[[], None]) -> None:
    """Let each in turn do what it was told before; who is going is passed over."""
    for number, each in enumerate(way):
        if each.call_later(_go_round, way[number + 1 :], then):
            return
    then()
