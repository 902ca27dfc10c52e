"""Measures the work of an app that should be idle."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from textual._compositor import Compositor
from textual.geometry import Size
from textual.widget import Widget

MAX_IDLE_SHARE = 0.02
"""Largest share of a processor that an idle app may use."""


async def processor_share(seconds: float = 5.0) -> float:
    """Return the share of a processor that this process uses within the next seconds: 1 is a whole processor."""
    begin, used = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - used) / (time.monotonic() - begin)


@contextmanager
def count_work() -> Iterator[Counter[str]]:
    """Count the layouts of each screen, and the paintings of all screens."""
    counted: Counter[str] = Counter()
    lay_out, paint = Compositor.reflow, Compositor.render_update

    def counted_layout(compositor: Compositor, parent: Widget, size: Size) -> object:
        counted[f"layout of {type(parent).__name__}"] += 1
        return lay_out(compositor, parent, size)

    def counted_painting(compositor: Compositor, *args: object, **named: object) -> object:
        if compositor._dirty_regions:
            counted["painting"] += 1
        return paint(compositor, *args, **named)  # type: ignore[arg-type]  # the arguments of Textual

    Compositor.reflow = counted_layout  # type: ignore[method-assign, assignment]  # for all apps
    Compositor.render_update = counted_painting  # type: ignore[method-assign, assignment]  # for all apps
    try:
        yield counted
    finally:
        Compositor.reflow, Compositor.render_update = lay_out, paint  # type: ignore[method-assign]  # the originals
