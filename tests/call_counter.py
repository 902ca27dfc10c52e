"""Counts calls of functions in this thread, to measure work independently of the speed of the machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


class CallCounter:
    """Counts the calls of functions, in a `with` block."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._names = {function.__code__: function.__qualname__ for function in functions}
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> CallCounter:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in self._names:
            self.counts[self._names[frame.f_code]] += 1
