"""Handles keys and clicks that arrive before their screen is ready, because the machine or the connection is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

from textual.errors import NoWidget
from textual.events import Event, Key, MouseDown, MouseEvent, MouseMove, MouseUp, Paste
from textual.geometry import Offset
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import is_whole, nodes_with_priority
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.delay import Delay

UserInput: TypeAlias = Key | Paste | MouseEvent

_DIALOG_KEYS = frozenset({"enter", "escape"})
"""Keys that may close a dialog."""
_TYPING_KEYS = frozenset({"enter", "backspace", "space"})
"""Keys other than letters that may be part of a typed text."""
PAUSE = 0.5
"""Seconds without a key after which the next key starts a new text."""
RETRY_INTERVAL = 0.05
"""Seconds after which the message loops are called again, because a removed widget may have lost the call."""
MAX_LOOP_WAIT = 3.0
"""Seconds after which ctrl+q treats a message loop as hanging."""


class TypedText:
    """Text that the user is typing. If its input is lost, the rest of the text runs no commands."""

    def __init__(self, app: HostApp[Any]) -> None:
        self._app = app
        self._has_input = False
        """True if the last letter went into an input."""
        self._is_lost = False
        """True if the input was removed or could not be opened."""
        self._pause = Delay(app)

    def ignore(self) -> None:
        """Ignore typed keys until the next pause, because the input for them could not be opened."""
        self._is_lost, self._has_input = True, False
        self._pause.start(PAUSE, self._reset)

    @property
    def is_ignored(self) -> bool:
        """True if letters are ignored now, because their input could not be opened or was removed."""
        return self._is_lost or (self._has_input and not self._is_input_focused)

    @property
    def _is_input_focused(self) -> bool:
        # All text inputs have this attribute.
        return bool(self._app.screen_stack) and hasattr(self._app.focused, "cursor_blink")

    def _reset(self) -> None:
        self._is_lost = self._has_input = False

    def must_drop(self, event: Key | Paste, *, may_close: bool = False) -> bool:
        """Return True for a key or paste whose input was closed while the user typed. Call this for each event.
        `may_close` is True if the last event may close an input."""
        if isinstance(event, Key) and not (event.is_printable or event.key in _TYPING_KEYS):
            self._reset()
            return False
        is_focused = self._is_input_focused
        if self._has_input and not is_focused and not may_close:
            self._is_lost = True
        if self._is_lost and not is_focused:
            self._has_input = False
            self._pause.start(PAUSE, self._reset)
            return True
        self._is_lost = False
        self._has_input = is_focused and isinstance(event, Key) and event.is_printable
        if self._has_input:
            self._pause.start(PAUSE, self._reset)
        return False


class TypeAhead:
    """A queue for input that arrives before its screen is ready. Clicks are dropped if the user saw another screen."""

    def __init__(self, app: HostApp[Any], dispatch: Callable[[Event], Awaitable[None]]) -> None:
        """`dispatch` is the `on_event` of Textual."""
        self._app, self._dispatch_event = app, dispatch
        self._queue: list[UserInput] = []
        self._is_waiting = False
        self._screens: WeakKeyDictionary[UserInput, ref[Screen[Any]]] = WeakKeyDictionary()
        """Screen at the dispatch of a key, or at a mouse event."""
        self._last_screen: Callable[[], Screen[Any] | None] = lambda: None
        """Returns the screen of the last input, if it still exists."""
        self._last_target: Callable[[], Widget | None] = lambda: None
        """Returns the widget of the last input, if it still exists."""
        self._may_close = False
        """True if the last input may have closed a dialog."""
        self._last_press: tuple[Offset, float, ref[Screen[Any]]] | None = None
        """Position, time and screen of the last press of a mouse button."""
        self._is_pressed = False
        """True while the button of the last press is held down."""
        self.text = TypedText(self._app)

    async def handle(self, event: Event) -> None:
        """Dispatch an event now, queue it until its screen is ready, or drop it."""
        if not isinstance(event, Key | Paste | MouseEvent):
            await self._dispatch_event(event)
        elif self._app.is_ending or (
            isinstance(event, Key | Paste)
            and self.text.is_ignored
            and event.is_forwarded
            and self.text.must_drop(event)
        ):
            return
        elif event.is_forwarded:
            # If an earlier key has opened another screen, the unused input is for it.
            if isinstance(event, Key | Paste) and event in self._screens and self._screens[event]() is not self._screen:
                self._enqueue(event)
            else:
                await self._dispatch_event(event)
        else:
            if (
                isinstance(event, Key | Paste)
                and not self._is_waiting
                and self.text.must_drop(event, may_close=self._may_close)
            ):
                return
            may_change = self._is_waiting or self._may_close or self._last_screen() not in (None, self._screen)
            if isinstance(event, MouseEvent):
                await self._handle_mouse(event, may_change=may_change)
            elif may_change or self._screen is None or self._app.focused is None:
                self._enqueue(event)
            elif isinstance(event, Key) and nodes_with_priority(self._screen, event.key):
                self._enqueue(event)  # The focused widget must handle earlier keys first.
            else:
                await self._dispatch(event)

    async def finish(self) -> None:
        """Wait at most `RETRY_INTERVAL` seconds until the focused widget has handled all input so far."""
        focused, handled = self._app.focused if self._app.screen_stack else None, asyncio.Event()
        if focused is not None:
            _call_in_turn([each for each in focused.ancestors_with_self if each is not self._app], handled.set)
            with suppress(TimeoutError):
                await asyncio.wait_for(handled.wait(), RETRY_INTERVAL)

    @property
    def _screen(self) -> Screen[Any] | None:
        """The current screen. None while the app opens a new view."""
        return self._app.screen if self._app.screen_stack else None

    async def _handle_mouse(self, event: MouseEvent, *, may_change: bool = False) -> None:
        """Dispatch, queue or drop a mouse event."""
        screen = self._screen
        if screen is None or not self._was_visible(screen, event):
            if isinstance(event, MouseUp):
                self._is_pressed = False
                self._app.capture_mouse(None)
        elif isinstance(event, MouseMove):
            if not self._is_waiting:
                await self._dispatch_event(event)
        elif may_change:
            self._screens[event] = ref(screen)
            self._enqueue(event)
        elif isinstance(event, MouseDown):
            self._last_press, self._is_pressed = (event.screen_offset, event.time, ref(screen)), True
            await self._dispatch(event)
        elif not isinstance(event, MouseUp) or self._is_pressed:  # The release of a dropped press is dropped, too.
            self._is_pressed = self._is_pressed and not isinstance(event, MouseUp)
            await self._dispatch(event)

    def _was_visible(self, screen: Screen[Any], event: MouseEvent) -> bool:
        """Return True if the user saw `screen` when a mouse event happened."""
        if not is_whole(screen) or not screen.outer_size.contains(*event.screen_offset):
            return False
        if event in self._screens and self._screens[event]() is not screen:
            return False
        if not isinstance(event, MouseDown) or self._last_press is None:
            return True
        offset, moment, first_screen = self._last_press
        is_double_click = offset == event.screen_offset and event.time - moment <= self._app.CLICK_CHAIN_TIME_THRESHOLD
        return first_screen() is screen or not is_double_click

    async def _dispatch(self, event: UserInput) -> None:
        self._last_screen = self._screens[event] = ref(self._app.screen)
        self._may_close = isinstance(event, MouseUp) or (isinstance(event, Key) and event.key in _DIALOG_KEYS)
        target = self._widget_at(event) if isinstance(event, MouseEvent) else self._app.focused
        self._last_target = ref(target) if target is not None else lambda: None
        await self._dispatch_event(event)

    def _widget_at(self, event: MouseEvent) -> Widget | None:
        with suppress(NoWidget):
            return self._app.mouse_captured or self._app.get_widget_at(*event.screen_offset)[0]
        return None

    def _enqueue(self, *events: UserInput) -> None:
        self._queue += events
        if not self._is_waiting:
            self._is_waiting = True
            self._app.run_worker(self._dispatch_when_ready())

    async def _dispatch_when_ready(self) -> None:
        """Wait until the last input is handled, then dispatch the queue."""
        last, screen, ready = self._last_target() or self._last_screen(), self._screen, asyncio.Event()
        pumps: list[MessagePump] = [
            each for each in (last.ancestors_with_self if last else ()) if each is not self._app
        ]
        pumps *= 2  # Twice, because a clicked widget may first send itself a message.
        clock = asyncio.get_running_loop().time
        until = clock() + MAX_LOOP_WAIT
        try:
            while not (self._app.is_ending or (ready.is_set() and screen is self._screen)):
                if screen is not self._screen:
                    screen, ready = self._screen, asyncio.Event()
                if screen is not None:
                    _call_in_turn([*pumps, screen, self._app], ready.set)
                    pumps = []
                with suppress(TimeoutError):
                    await asyncio.wait_for(ready.wait(), RETRY_INTERVAL)
                if clock() > until and screen is not None and (keys := self._keys_of_app(screen)):
                    self._queue = keys[:1]
                    return
        finally:
            self._app.call_later(self._dispatch_queue)

    def _keys_of_app(self, screen: Screen[Any]) -> list[UserInput]:
        keys = [each for each in self._queue if isinstance(each, Key)]
        return [each for each in keys if self._app in nodes_with_priority(screen, each.key)]

    async def _dispatch_queue(self) -> None:
        """Dispatch the first input of the queue. It may open another screen."""
        self._is_waiting = False
        if self._app.is_ending:
            return
        self._queue.sort(key=lambda event: event.time)
        if self._queue and self._screen is not None:
            event = self._queue.pop(0)
            if isinstance(event, MouseEvent):
                await self._handle_mouse(event)
            else:
                copy = Key(event.key, event.character) if isinstance(event, Key) else Paste(event.text)
                copy.time = event.time  # sorts the copy before newer input if it is queued again
                await self._dispatch(copy)
        if self._queue:
            self._enqueue()


def _call_in_turn(pumps: Sequence[MessagePump], callback: Callable[[], None]) -> None:
    """Call `callback` after each message loop in turn has handled its messages."""
    for number, pump in enumerate(pumps):
        if pump.call_later(_call_in_turn, pumps[number + 1 :], callback):
            return
    callback()
