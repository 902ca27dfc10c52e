"""Imports the modules of other views after the first key or after a pause, so that views open fast the first time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Thread
from typing import Any

from textual.app import App

from octavo.tui.app.garbage_collection import Garbage

DELAY, LONGEST_DELAY = 0.6, 6.0
"""Seconds between two checks whether the app is still loading, and seconds after which the imports start in any case. The
delay leaves time for the next keys and for the first responses."""
PAUSE = 4.0
"""Seconds after the first paint after which the imports start without a key."""
MODULES = (
    "octavo.documents.source_reader",
    "octavo.documents.diff",
    "octavo.tui.content.content_screen",
    "octavo.tui.review.request_list",
    "octavo.tui.review.request_view",
    "octavo.tui.inbox.inbox_screen",
)
"""Views and parsers that take more than 10 ms to load. Administration is missing: it needs 2 MiB, and few users open it."""


class Preloading:
    """Imports the modules of other views after the first key or after a pause. Until then, the app needs less memory."""

    def __init__(self, app: App[Any], is_loading: Callable[[], bool], garbage: Garbage) -> None:
        """The imports wait until `is_loading` returns False, but at most `LONGEST_DELAY`. After them, `garbage` is
        started."""
        self._app, self._is_loading, self._garbage = app, is_loading, garbage
        self._has_begun = False

    def wait_for_pause(self) -> None:
        """Import the modules after a pause without a key."""
        self._app.set_timer(PAUSE, self.begin)

    def begin(self) -> None:
        """Import the modules soon, if this is the first call."""
        if not self._has_begun and not self._app.is_headless:
            self._has_begun = True
            run_when_idle(self._app, self._is_loading, self._import_in_thread)

    def _import_in_thread(self) -> None:
        Thread(target=self._import_modules, daemon=True, name="octavo-preload").start()

    def _import_modules(self) -> None:
        for name in MODULES:
            import_module(name)
        self._garbage.start()


def run_when_idle(app: App[Any], is_loading: Callable[[], bool], run: Callable[[], None], delay: float = DELAY) -> None:
    """Check every `DELAY` seconds, and call `run` once `is_loading` returns False. After `LONGEST_DELAY` seconds, call
    `run` in any case. `delay` is the number of seconds from the first call to the next check."""

    def check() -> None:
        if is_loading() and delay < LONGEST_DELAY:
            run_when_idle(app, is_loading, run, delay + DELAY)
        else:
            run()

    app.set_timer(DELAY, check)
