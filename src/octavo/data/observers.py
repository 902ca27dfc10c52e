"""A list of callbacks that are called on changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Observers(Generic[P]):
    """The callbacks for one kind of change, called in the order they were added."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, object]] = []

    def __bool__(self) -> bool:
        """Return whether there is a callback."""
        return bool(self._callbacks)

    def add(self, callback: Callable[P, object]) -> Callable[[], None]:
        """Call `callback` on each `notify`. Returns a function that removes `callback`. Calling that function twice is
        safe."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all callbacks. A callback that is added during the calls is not called."""
        for callback in tuple(self._callbacks):
            callback(*args, **kwargs)
