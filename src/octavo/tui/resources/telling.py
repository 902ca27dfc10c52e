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
from octavo.tui.resources.resource import NO_VALID_ID, Arguments, DetailFacts, Resource
from octavo.tui.shell.view import View

LOAD_DELAY = 0.3
"""Seconds on a row before its details are loaded, which can take a dozen requests."""
LOADING: DetailFacts = (("", "Loading…"),)


class DetailLoader:
    """Loads the details of one row at a time."""

    def __init__(self, view: View, get_live: Callable[[], Live], on_loaded: Callable[[], None]) -> None:
        """`changed` is called when details are loaded."""
        self._view, self._live, self._on_loaded = view, get_live, on_loaded
        self._facts: dict[tuple[str, str], DetailFacts] = {}
        self._key: tuple[str, str] | None = None
        self._timer: Timer | None = None
        self._worker: Worker[None] | None = None

    def forget(self) -> None:
        """Forget the loaded details, which may be outdated."""
        self._facts.clear()
        self._stop()

    def details_of(self, resource: Resource[Any], arguments: Arguments, item: Any | None) -> DetailFacts:
        """Return the details of an item. If they are not loaded, load them once the cursor stays on the row."""
        if resource.load_details is None or item is None:
            self._stop()
            return ()
        key = (resource.plural, resource.key(item))
        if key in self._facts:
            return self._facts[key]
        if key != self._key:
            self._stop()
            self._key = key
            self._timer = self._view.set_timer(LOAD_DELAY, lambda: self._start(resource, arguments, item, key))
        return LOADING

    def _stop(self) -> None:
        self._key = None
        if self._timer is not None:
            self._timer.stop()
        if self._worker is not None:
            self._worker.cancel()

    def _start(self, resource: Resource[Any], arguments: Arguments, item: Any, key: tuple[str, str]) -> None:
        # Not a coroutine, because that of a worker canceled before its start would never be awaited.
        load = partial(self._load, resource, arguments, item, key)
        self._worker = self._view.run_worker(load, exclusive=True, group="telling")

    async def _load(self, resource: Resource[Any], arguments: Arguments, item: Any, key: tuple[str, str]) -> None:
        assert resource.load_details is not None, "checked above"
        try:
            self._facts[key] = await resource.load_details(self._live(), arguments, item)
        except ApiError as error:
            self._facts[key] = (("error", f"Could not load more details: {error}"),)
        except ValidationError:
            self._facts[key] = (("error", NO_VALID_ID),)
        self._on_loaded()
