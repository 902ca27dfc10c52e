"""Keys and clicks that come sooner than what they are for: over a slow line, or to a busy machine, several come at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

from textual.app import App
from textual.errors import NoWidget
from textual.events import Event, Key, MouseDown, MouseEvent, MouseMove, MouseUp, Paste
from textual.geometry import Offset
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import is_ending, is_whole

Input: TypeAlias = Key | Paste | MouseEvent
"""What is typed, pasted or done with the mouse."""

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

    def take(self, event: Key | Paste, *, needs_value: bool = False) -> bool:
        """Whether it is of words whose field is not there. `needs_value`: the key before may have closed that."""
        if isinstance(event, Key) and not (event.is_printable or event.key in _OF_WORDS):
            self._forget()
            return False
        has_field = self._has_field
        if self._are_written and not has_field and not needs_value:
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


class TypeAhead:
    """Input of an app, in its order. What is typed before its screen is there waits for that screen. What is clicked is for
    the screen that was on show then: where another is on show by the time of its turn, the click goes nowhere.

    Textual gives it to the screen before, or to one that has no parts or no focus yet: letters were lost, or were commands,
    and clicks went to screens that nobody had seen.
    """

    def __init__(self, app: App[Any], give: Callable[[Event], Awaitable[None]]) -> None:
        """`give` is what Textual does with an event."""
        self._app, self._give_to_app = app, give
        self._ahead: list[Input] = []
        self._waits = False
        self._given: WeakKeyDictionary[Input, ref[Screen[Any]]] = WeakKeyDictionary()
        """The screen that was on show when something was given to what had the focus, or when it was clicked."""
        self._last: Callable[[], Screen[Any] | None] = lambda: None
        """That of the last, if it is still there."""
        self._to: Callable[[], Widget | None] = lambda: None
        """The widget that the last was given to, if it is still there."""
        self._leads_on = False
        """Whether the last was a click, or a key that dialogs answer to, and may be doing so."""
        self._pressed: tuple[Offset, float, ref[Screen[Any]]] | None = None
        """Where and when a button was pressed last, and on which screen."""
        self._is_pressed = False
        """Whether that button is not released yet."""
        self.words = Words(self._app)

    async def take(self, event: Event) -> None:
        """Give an event to the app now, once its screen is there, or not at all."""
        if not isinstance(event, Key | Paste | MouseEvent):
            await self._give_to_app(event)
        elif is_ending(self._app) or (isinstance(event, Key | Paste) and self._is_ignored(event)):
            return
        elif event.is_forwarded:
            # Nothing took it, and a key before it led elsewhere: it is for what is there now.
            if isinstance(event, Key | Paste) and event in self._given and self._given[event]() is not self._on_show:
                self._wait(event)
            else:
                await self._give_to_app(event)
        else:
            if (
                isinstance(event, Key | Paste)
                and not self._waits
                and self.words.take(event, needs_value=self._leads_on)
            ):
                return
            leads_elsewhere = self._waits or self._leads_on or self._last() not in (None, self._on_show)
            if isinstance(event, MouseEvent):
                await self._point(event, waits=leads_elsewhere)
            elif leads_elsewhere or self._on_show is None or self._app.focused is None:
                self._wait(event)
            else:
                await self._give(event)

    def _is_ignored(self, event: Key | Paste) -> bool:
        return self.words.are_ignored and event.is_forwarded and self.words.take(event)

    @property
    def _on_show(self) -> Screen[Any] | None:
        """None: a view that was never on show is asked for, and not yet made."""
        return self._app.screen if self._app.screen_stack else None

    async def _point(self, event: MouseEvent, *, waits: bool = False) -> None:
        """Give the event to the screen that was on show for the person. `waits`: it is not known yet which is on show next."""
        screen = self._on_show
        if screen is None or not self._is_seen(screen, event):
            if isinstance(event, MouseUp):
                self._is_pressed = False
                self._app.capture_mouse(None)
        elif isinstance(event, MouseMove):
            if not self._waits:
                await self._give_to_app(event)
        elif waits:
            self._given[event] = ref(screen)
            self._wait(event)
        elif isinstance(event, MouseDown):
            self._pressed, self._is_pressed = (event.screen_offset, event.time, ref(screen)), True
            await self._give(event)
        elif not isinstance(event, MouseUp) or self._is_pressed:  # else the press went nowhere
            self._is_pressed = self._is_pressed and not isinstance(event, MouseUp)
            await self._give(event)

    def _is_seen(self, screen: Screen[Any], event: MouseEvent) -> bool:
        """Whether `screen` was on show when the mouse did something there: it has its parts and was laid out. What is pressed
        again at once, at the same spot, is for what was there the first time."""
        if not is_whole(screen) or not screen.outer_size.contains(*event.screen_offset):
            return False
        if event in self._given and self._given[event]() is not screen:
            return False
        if not isinstance(event, MouseDown) or self._pressed is None:
            return True
        at, moment, first = self._pressed
        is_again = at == event.screen_offset and event.time - moment <= self._app.CLICK_CHAIN_TIME_THRESHOLD
        return first() is screen or not is_again

    async def _give(self, event: Input) -> None:
        self._last = self._given[event] = ref(self._app.screen)
        self._leads_on = isinstance(event, MouseUp) or (isinstance(event, Key) and event.key in _ANSWERS)
        to = self._below(event) if isinstance(event, MouseEvent) else self._app.focused
        self._to = ref(to) if to is not None else lambda: None
        await self._give_to_app(event)

    def _below(self, event: MouseEvent) -> Widget | None:
        """What is below the mouse."""
        with suppress(NoWidget):
            return self._app.mouse_captured or self._app.get_widget_at(*event.screen_offset)[0]
        return None

    def _wait(self, *events: Input) -> None:
        self._ahead += events
        if not self._waits:
            self._waits = True
            self._app.run_worker(self._until_there())

    async def _until_there(self) -> None:
        """Let go what waits once what came before went all the way up where it was given to, and the screen on show and
        the app have done what they were told by then: it has its parts, and its focus."""
        last, screen, there = self._to() or self._last(), self._on_show, asyncio.Event()
        way: list[MessagePump] = [each for each in (last.ancestors_with_self if last else ()) if each is not self._app]
        way *= 2  # who is clicked may tell itself first what that leads to
        try:
            while not (is_ending(self._app) or (there.is_set() and screen is self._on_show)):
                if screen is not self._on_show:
                    screen, there = self._on_show, asyncio.Event()
                if screen is not None:
                    _go_round([*way, screen, self._app], there.set)
                    way = []
                with suppress(TimeoutError):
                    await asyncio.wait_for(there.wait(), ROUND)
        finally:
            self._app.call_later(self._let_go)

    async def _let_go(self) -> None:
        """One at a time: where the next belongs is known when this one is done."""
        self._waits = False
        if is_ending(self._app):
            return
        self._ahead.sort(key=lambda each: each.time)
        if self._ahead and self._on_show is not None:
            event = self._ahead.pop(0)
            if isinstance(event, MouseEvent):
                await self._point(event)
            else:
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
