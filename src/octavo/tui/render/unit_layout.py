"""Layout of the units of a pane, on the event loop or in a thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from octavo.tui.render.caches import AsyncCache
    from octavo.tui.render.deferred import DeferredContent
    from octavo.tui.render.styled_lines import Line

KEPT_WHOLE = 256 * 1024
"""Most characters of a page whose lines are all kept. Of longer pages only the heights and the most recent lines are
kept."""


class UnitLayout(NamedTuple):
    """Functions and values that decide the lines of units, apart from the folds."""

    key: tuple[Any, ...]
    """Equal for layouts that produce the same lines."""
    estimate_height: Callable[[Any], int]
    """Function that returns the approximate number of lines of a unit."""
    renderer_with: Callable[[DeferredContent | None], Callable[[Any], list[Line]]]
    """Function that returns a function to render units with some deferred content. Each thread needs its own."""
    margin: int
    measure: int
    sources: DeferredContent | None = None
    keeps_lines: bool = True
    """Whether all lines are kept."""


class LaidUnits(NamedTuple):
    """Units that a thread laid out."""

    layout: UnitLayout
    heights: dict[int, int]
    """Number of lines of each unit, by index."""
    lines: dict[int, list[Line]]
    """Lines of each unit, by index. Empty if not all lines are kept."""
    missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]]
    """Deferred content that each unit lacks, by the identity of the unit."""


def lay_out_units(layout: UnitLayout, units: Sequence[Any], which: Iterable[int]) -> Generator[None, None, LaidUnits]:
    """Lay out some of the units in a thread, and pause after each."""
    laid = LaidUnits(layout, {}, {}, {})
    sources = layout.sources.for_thread() if layout.sources is not None else None
    set_unit = layout.renderer_with(sources)
    for index in which:
        lines = set_unit(units[index])
        if sources is not None and layout.sources is not None and (missed := sources.take_missing(layout.sources)):
            laid.missing[id(units[index])] = missed
        laid.heights[index] = len(lines)
        if layout.keeps_lines:
            laid.lines[index] = lines
        yield
    return laid
