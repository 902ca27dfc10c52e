"""Callbacks that want to know of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Observers(Generic[P]):
    """Callbacks of one subject, in the order they were added."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, object]] = []

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._callbacks)

    def add(self, callback: Callable[P, object]) -> Callable[[], None]:
        """Call `callback` at each change. Returns a function that ends this, and does nothing the second time."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all callbacks. A callback that is added meanwhile is not called."""
        for callback in tuple(self._callbacks):
            callback(*args, **kwargs)
