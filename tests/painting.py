"""What is drawn of the apps of tests, and when.

Widgets draw what has changed, as they do for a terminal. That is not cut into what a terminal is sent, since Textual
throws this away where there is none: apps that have one are programs of their own here, and what a test looks at is drawn
and cut for it.

A journey draws when it has come to rest, and what its test looks at. The frames between, of an app that is busy for
nobody to see, were a fifth of a run. Those that are to find what only such a frame meets ask for `every_frame`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget

_is_held = False


@contextmanager
def only_at_rest() -> Iterator[None]:
    """Draw nothing meanwhile but when `draw` is called. What has changed until then is remembered."""
    global _is_held
    before, _is_held = _is_held, True
    try:
        yield
    finally:
        _is_held = before


def draw(screen: Screen[object]) -> None:
    """Draw what has changed on `screen` since it was drawn, as a terminal that was too slow for each frame gets it."""
    global _is_held
    if not _is_held or not screen._compositor._dirty_regions:
        return
    _is_held = False
    try:
        screen._compositor_refresh()
    finally:
        _is_held = True


def draw_changed(
    compositor: Compositor, full: bool = False, screen_stack: list[Screen[object]] | None = None, simplify: bool = False
) -> None:
    """What is drawn in the place of Textual's own."""
    visible_screen_stack.set(screen_stack or [])
    screen = compositor.size.region
    if _is_held:
        if full:
            compositor._dirty_regions.add(screen)
        return
    changed = compositor._dirty_regions.copy()
    compositor._dirty_regions.clear()
    if full or changed:
        seen = screen if full else Region.from_union(changed).intersection(screen)
        for _ in compositor._get_renders(seen):
            pass


@contextmanager
def work_counted() -> Iterator[Counter[str]]:
    """Count the layouts of each screen meanwhile, and the paintings of all."""
    counted: Counter[str] = Counter()
    lay_out, paint = Compositor.reflow, Compositor.render_update

    def laid_out(compositor: Compositor, parent: Widget, size: Size) -> object:
        counted[f"layout of {type(parent).__name__}"] += 1
        return lay_out(compositor, parent, size)

    def painted(compositor: Compositor, *args: object, **named: object) -> object:
        if compositor._dirty_regions:
            counted["painting"] += 1
        return paint(compositor, *args, **named)  # type: ignore[arg-type]  # as Textual calls it

    Compositor.reflow = laid_out  # type: ignore[method-assign, assignment]  # of all apps, meanwhile
    Compositor.render_update = painted  # type: ignore[method-assign, assignment]  # of all apps, meanwhile
    try:
        yield counted
    finally:
        Compositor.reflow, Compositor.render_update = lay_out, paint  # type: ignore[method-assign]  # as they were
