"""Keeps keys and clicks until the screen for which they are meant is ready. Needed if the computer or the connection is
slow. Start at `TypeAhead.handle`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

from textual.dom import DOMNode
from textual.errors import NoWidget
from textual.events import Event, Key, MouseDown, MouseEvent, MouseMove, MouseUp, Paste
from textual.geometry import Offset
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import bindings_of_key, is_fully_mounted
from octavo.tui.widgets.commands import HostApp, opens_input
from octavo.tui.widgets.delay import Delay

UserInput: TypeAlias = Key | Paste | MouseEvent

_DIALOG_KEYS = frozenset({"enter", "escape"})
"""Keys that may close a dialog."""
_TYPING_KEYS = frozenset({"enter", "backspace", "space"})
"""Keys other than letters that belong to typed text."""
PAUSE = 0.5
"""After this many seconds without a key, the next key no longer belongs to the text that was typed before."""
CHECK_INTERVAL = 0.05
"""Maximum seconds to wait for a callback or a task before checking again. A removed widget never calls back."""
MAX_LOOP_WAIT = 3.0
"""After this many seconds, ctrl+q no longer waits for a message loop that does not react."""


class TypedText:
    """Drops the letters that the user types for an input that has closed or did not open. Otherwise, these letters
    would run commands."""

    def __init__(self, app: HostApp[Any]) -> None:
        self._app = app
        self._has_input = False
        """True if the last letter was typed into an input."""
        self._is_input_gone = False
        """True if the input was closed while the user typed, or could not be opened."""
        self._pause = Delay(app)

    def ignore(self) -> None:
        """Drop the letters until the user pauses, because the input for them could not be opened."""
        self._is_input_gone, self._has_input = True, False
        self._pause.start(PAUSE, self._reset)

    @property
    def is_ignored(self) -> bool:
        """True if letters are dropped now, because the input for the letters was closed or could not be opened."""
        return self._is_input_gone or (self._has_input and not self.is_input_focused)

    @property
    def is_input_focused(self) -> bool:
        # All text inputs, and no other widgets, have this attribute.
        return bool(self._app.screen_stack) and hasattr(self._app.focused, "cursor_blink")

    def _reset(self) -> None:
        self._is_input_gone = self._has_input = False

    def must_drop(self, event: Key | Paste, *, may_close: bool = False) -> bool:
        """Return True if a key or paste was meant for an input that has closed. Also store whether the user is typing.
        If `may_close`, the user may have closed the input with the previous event, so this event is kept."""
        if isinstance(event, Key) and not (event.is_printable or event.key in _TYPING_KEYS):
            self._reset()
            return False
        is_focused = self.is_input_focused
        if self._has_input and not is_focused and not may_close:
            self._is_input_gone = True
        if self._is_input_gone and not is_focused:
            self._has_input = False
            self._pause.start(PAUSE, self._reset)
            return True
        self._is_input_gone = False
        self._has_input = is_focused and isinstance(event, Key) and event.is_printable
        if self._has_input:
            self._pause.start(PAUSE, self._reset)
        return False


class TypeAhead:
    """Passes keys and mouse events to Textual. Each event waits in a queue until its screen is ready. Clicks on a
    screen that is no longer shown are dropped."""

    def __init__(self, app: HostApp[Any], dispatch: Callable[[Event], Awaitable[None]]) -> None:
        """`dispatch` passes an event to Textual at once."""
        self._app, self._dispatch_event = app, dispatch
        self._queue: list[UserInput] = []
        self._is_waiting = False
        self._screens: WeakKeyDictionary[UserInput, ref[Screen[Any]]] = WeakKeyDictionary()
        """Screen that was shown when an event was dispatched, or when a mouse event was queued, by event."""
        self._last_screen: Callable[[], Screen[Any] | None] = lambda: None
        """Returns the screen that got the last event. Returns None if this screen no longer exists."""
        self._last_target: Callable[[], Widget | None] = lambda: None
        """Returns the widget that got the last event. Returns None if this widget no longer exists."""
        self._may_move_focus = False
        """True if the last event may have closed a dialog, or may have opened an input such as a filter."""
        self._last_press: tuple[Offset, float, ref[Screen[Any]]] | None = None
        """Position, time and screen of the last press of a mouse button. None before the first press."""
        self._is_pressed = False
        """True while the mouse button of `_last_press` is held down."""
        self.text = TypedText(self._app)

    async def handle(self, event: Event) -> None:
        """Pass an event to Textual, queue it until the screen that it is meant for is ready, or drop it."""
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
            # No widget used this key. If an earlier key has opened another screen, this key is meant for that screen.
            is_shown = event not in self._screens or self._screens[event]() is self._screen
            if isinstance(event, Key | Paste) and (self._app.opening_task is not None or not is_shown):
                self._enqueue(event)
            else:
                await self._dispatch_event(event)
        else:
            if (
                isinstance(event, Key | Paste)
                and not self._is_waiting
                and self.text.must_drop(event, may_close=self._may_move_focus)
            ):
                return
            may_change = self._is_waiting or self._may_move_focus or self._last_screen() not in (None, self._screen)
            may_change = may_change or self._app.opening_task is not None
            if isinstance(event, MouseEvent):
                await self._handle_mouse(event, may_change=may_change)
            elif may_change or self._screen is None or self._app.focused is None:
                self._enqueue(event)
            elif isinstance(event, Key) and _nodes_with_priority(self._screen, event.key):
                self._enqueue(event)  # The app handles this key, but the focused widget must handle earlier keys first.
            else:
                await self._dispatch(event)

    async def finish(self) -> None:
        """Wait until the focused widget has handled all events so far, but at most `CHECK_INTERVAL` seconds."""
        focused, all_handled = self._app.focused if self._app.screen_stack else None, asyncio.Event()
        if focused is not None:
            _call_in_turn([each for each in focused.ancestors_with_self if each is not self._app], all_handled.set)
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_INTERVAL):
                    await all_handled.wait()

    @property
    def _screen(self) -> Screen[Any] | None:
        """The current screen. None while the app opens a new view."""
        return self._app.screen if self._app.screen_stack else None

    async def _handle_mouse(self, event: MouseEvent, *, may_change: bool = False) -> None:
        """Pass a mouse event to Textual, queue it, or drop it. `may_change` is True if the screen may still change."""
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
        """Return True if the user saw `screen` at the time of a mouse event."""
        if not is_fully_mounted(screen) or not screen.outer_size.contains(*event.screen_offset):
            return False
        if event in self._screens and self._screens[event]() is not screen:
            return False
        if not isinstance(event, MouseDown) or self._last_press is None:
            return True
        offset, press_time, pressed_screen = self._last_press
        is_soon = event.time - press_time <= self._app.CLICK_CHAIN_TIME_THRESHOLD
        return pressed_screen() is screen or offset != event.screen_offset or not is_soon

    async def _dispatch(self, event: UserInput) -> None:
        self._app.input_time = event.time
        self._last_screen = self._screens[event] = ref(self._app.screen)
        self._may_move_focus = isinstance(event, MouseUp) or (
            isinstance(event, Key) and (event.key in _DIALOG_KEYS or self._opens_input(event.key))
        )
        target = self._widget_at(event) if isinstance(event, MouseEvent) else self._app.focused
        self._last_target = ref(target) if target is not None else lambda: None
        await self._dispatch_event(event)

    def _opens_input(self, key: str) -> bool:
        """Return True if a key runs a command after which the user types text, such as a filter."""
        if self._screen is None or self.text.is_input_focused:
            return False
        return any(opens_input(node, binding.id) for node, binding in bindings_of_key(self._screen, key)[:1])

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
        """Wait until the last event is handled on the current screen. After `MAX_LOOP_WAIT` seconds, wait no longer if
        keys of the app, such as ctrl+q, are queued. Keep only the first of these keys. Then call `_dispatch_queue`."""
        last_target, screen, all_handled = self._last_target() or self._last_screen(), self._screen, asyncio.Event()
        pumps: list[MessagePump] = [
            each for each in (last_target.ancestors_with_self if last_target else ()) if each is not self._app
        ]
        pumps *= 2  # Twice, because a clicked widget may first send itself a message.
        current_time = asyncio.get_running_loop().time
        end_time = current_time() + MAX_LOOP_WAIT
        try:
            while not (self._app.is_ending or (all_handled.is_set() and screen is self._screen)):
                if self._app.opening_task is not None:
                    await self._wait_until_opened()
                if screen is not self._screen:
                    screen, all_handled = self._screen, asyncio.Event()
                if screen is not None:
                    _call_in_turn([*pumps, screen, self._app], all_handled.set)
                    pumps = []
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_INTERVAL):
                        await all_handled.wait()
                if current_time() > end_time and screen is not None and (keys := self._keys_of_app(screen)):
                    self._queue = keys[:1]
                    return
        finally:
            self._app.call_later(self._dispatch_queue)

    async def _wait_until_opened(self) -> None:
        """Wait until a dialog or screen has loaded. Esc and keys of the app, such as ctrl+q, cancel the loading and
        drop earlier keys. If nothing opens, drop what the user typed for the dialog."""
        screen = self._screen
        while (task := self._app.opening_task) is not None and not self._app.is_ending:
            keys_of_app = self._keys_of_app(screen) if screen is not None else []
            for number, each in enumerate(self._queue):
                if (is_escape := isinstance(each, Key) and each.key == "escape") or each in keys_of_app:
                    self._drop(number)
                    del self._queue[:is_escape]
                    task.cancel()
                    await asyncio.wait([task], timeout=CHECK_INTERVAL)
                    return
            await asyncio.sleep(CHECK_INTERVAL)
        if self._screen is screen:
            self._drop(len(self._queue))
            self.text.ignore()

    def _drop(self, count: int) -> None:
        """Drop the first `count` events of the queue. If `count` is not 0, tell the user."""
        if count:
            self._app.explain("Ignored the keys that you pressed during loading.")
        del self._queue[:count]

    def _keys_of_app(self, screen: Screen[Any]) -> list[UserInput]:
        keys = [each for each in self._queue if isinstance(each, Key)]
        return [each for each in keys if self._app in _nodes_with_priority(screen, each.key)]

    async def _dispatch_queue(self) -> None:
        """Dispatch the first event of the queue. The other events wait, because this event may open another screen."""
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
                copy.time = event.time  # The copy stays before newer keys if it is queued again.
                await self._dispatch(copy)
        if self._queue:
            self._enqueue()


def _nodes_with_priority(screen: Screen[Any], key: str) -> list[DOMNode]:
    """Return the nodes, such as the app, with a priority binding for `key`, which runs before the focused widget's."""
    return [node for node, binding in bindings_of_key(screen, key) if binding.priority]


def _call_in_turn(pumps: Sequence[MessagePump], callback: Callable[[], None]) -> None:
    """Let each message loop, one after the other, handle its waiting messages. Then call `callback`."""
    for index, pump in enumerate(pumps):
        if pump.call_later(_call_in_turn, pumps[index + 1 :], callback):
            return
    callback()
