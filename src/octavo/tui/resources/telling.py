"""Details that need requests of their own. They are loaded after the cursor stays on a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import ValidationError
from textual.timer import Timer
from textual.worker import Worker

from octavo.api.errors import ApiError
from octavo.data.live import Live
from octavo.tui.resources.resource import UNNAMED, Facts, Known, Resource
from octavo.tui.shell.view import View

RESTS = 0.3
"""Seconds on a row before its details are loaded, which can take a dozen requests."""
WAITS: Facts = (("", "Loading…"),)


class Telling:
    """Loads the details of one row at a time."""

    def __init__(self, view: View, live: Callable[[], Live], changed: Callable[[], None]) -> None:
        """`changed` is called when details are loaded."""
        self._view, self._live, self._changed = view, live, changed
        self._known: dict[tuple[str, str], Facts] = {}
        self._wanted: tuple[str, str] | None = None
        self._resting: Timer | None = None
        self._asking: Worker[None] | None = None

    def forget(self) -> None:
        """Forget the loaded details, which may be outdated."""
        self._known.clear()
        self._stop()

    def of(self, resource: Resource[Any], known: Known, thing: Any | None) -> Facts:
        """Return the details of an item. If they are not loaded, load them once the cursor stays on the row."""
        if resource.told is None or thing is None:
            self._stop()
            return ()
        key = (resource.many, resource.key(thing))
        if key in self._known:
            return self._known[key]
        if key != self._wanted:
            self._stop()
            self._wanted = key
            self._resting = self._view.set_timer(RESTS, lambda: self._ask(resource, known, thing, key))
        return WAITS

    def _stop(self) -> None:
        self._wanted = None
        if self._resting is not None:
            self._resting.stop()
        if self._asking is not None:
            self._asking.cancel()

    def _ask(self, resource: Resource[Any], known: Known, thing: Any, key: tuple[str, str]) -> None:
        # Not a coroutine, because that of a worker canceled before its start would never be awaited.
        ask = partial(self._answer, resource, known, thing, key)
        self._asking = self._view.run_worker(ask, exclusive=True, group="telling")

    async def _answer(self, resource: Resource[Any], known: Known, thing: Any, key: tuple[str, str]) -> None:
        assert resource.told is not None, "checked above"
        try:
            self._known[key] = await resource.told(self._live(), known, thing)
        except ApiError as error:
            self._known[key] = (("error", f"Could not load more details: {error}"),)
        except ValidationError:
            self._known[key] = (("error", UNNAMED),)
        self._changed()
