"""`VirtualLines`: the lines of a long page, which are rendered when they are needed. Until then, heights are estimated.

`VirtualLines.lines` renders a unit if its lines are not kept. The background thread renders units with `lay_out_units`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.tui.render.deferred import AsyncCache, DeferredContent

U = TypeVar("U")
KEPT_UNITS = 600
"""Maximum number of units whose lines are kept."""
KEPT_LINES = 2500
"""Maximum number of kept lines. The last rendered unit is always kept."""


class VirtualLines(Generic[U]):
    """Lines of units, with estimated heights of units that are not rendered. Rendering a unit never moves the units
    above it."""

    def __init__(
        self,
        units: Sequence[U],
        estimate_height: Callable[[U], int],
        render: Callable[[U], list[Line]],
        laid_units: LaidUnits | None = None,
        *,
        keeps_all: bool = False,
    ) -> None:
        """`laid_units` has the units that the background thread laid out. `keeps_all` keeps the lines of all units."""
        self.units: list[U] = []
        self._estimate_height, self._render, self._keeps_all = estimate_height, render, keeps_all
        self._heights: list[int] = []
        self.total = 0
        """Height of all units, partly estimated."""
        self._exact = bytearray()
        self._lines: OrderedDict[int, list[Line]] = OrderedDict()
        self._count = 0
        self.forgotten: set[int] = set()
        """Indexes of units that changed since the background thread began."""
        self.extend(units, laid_units)

    def __len__(self) -> int:
        return len(self.units)

    def extend(self, units: Sequence[U], laid_units: LaidUnits | None = None) -> None:
        """Append units, and use the heights and lines that the background thread laid out."""
        laid_heights = laid_units.heights if laid_units is not None else {}
        for index, unit in enumerate(units, len(self.units)):
            height = laid_heights[index] if index in laid_heights else self._estimate_height(unit)
            self.total += height
            self._heights.append(height)
        self.units += units
        self._exact += bytes(len(units))
        if laid_units is not None:
            self.use_laid_units(laid_units)

    def use_laid_units(self, laid_units: LaidUnits) -> None:
        """Use the lines that the background thread laid out. Skip units that were rendered or changed meanwhile."""
        for index, height in laid_units.heights.items():
            if self._exact[index] or index in self.forgotten:
                continue
            self._exact[index] = 1
            self.total += height - self._heights[index]
            self._heights[index] = height
            if (lines := laid_units.lines.get(index)) is not None:
                self._lines[index] = lines
                self._count += height

    def lay_out_some(self, line_count: int) -> None:
        """Render units whose height is only estimated, from the top down, until they have at least `line_count`
        lines."""
        for index in self.estimated_units():
            if line_count <= 0:
                break
            line_count -= len(self.lines(index))

    @property
    def estimated_count(self) -> int:
        """Number of units with an estimated height."""
        return self._exact.count(0)

    def estimated_units(self) -> list[int]:
        """Return the indexes of the units with an estimated height."""
        return [index for index, is_exact in enumerate(self._exact) if not is_exact]

    def top(self, index: int) -> int:
        """Return the number of the first line of a unit."""
        return sum(self._heights[:index])

    def unit_at(self, line: int) -> tuple[int, int]:
        """Return the index of a line's unit, and the line inside this unit."""
        ends = list(accumulate(self._heights))
        index = min(bisect_right(ends, line), max(0, len(ends) - 1))
        return index, max(0, line - self.top(index))

    def lines(self, index: int) -> list[Line]:
        """Return the lines of a unit. If they are not kept, render it now."""
        kept_lines = self._lines.get(index)
        if kept_lines is not None:
            self._lines.move_to_end(index)
            return kept_lines
        return self.put(index, self._render(self.units[index]))

    def put(self, index: int, lines: list[Line]) -> list[Line]:
        """Set and return the lines of a unit. May drop the lines of units that were not used recently."""
        self._count += len(lines) - len(self._lines.pop(index, ()))
        self._lines[index] = lines
        while not self._keeps_all and (
            len(self._lines) > KEPT_UNITS or (self._count > KEPT_LINES and len(self._lines) > 1)
        ):
            self._count -= len(self._lines.popitem(last=False)[1])
        self.total += len(lines) - self._heights[index]
        self._heights[index] = len(lines)
        self._exact[index] = 1
        return lines

    def forget(self, index: int) -> None:
        """Drop the lines of a unit. It is rendered again when it is visible."""
        self._count -= len(self._lines.pop(index, ()))
        self._exact[index] = 0
        self.forgotten.add(index)

    def laid_out(self) -> Iterator[tuple[U, int, list[Line] | None]]:
        """Yield each rendered unit with its height, and with its lines if they are kept."""
        for index, unit in enumerate(self.units):
            if self._exact[index]:
                yield unit, self._heights[index], self._lines.get(index)

    @property
    def kept_lines(self) -> list[list[Line]]:
        """Lines of each unit whose lines are kept."""
        return list(self._lines.values())


KEPT_WHOLE = 256 * 1024
"""Maximum number of characters of a page whose lines are all kept."""


class UnitLayout(NamedTuple):
    """Functions and values that determine the lines of units."""

    key: tuple[Any, ...]
    """Equal for layouts with the same lines."""
    estimate_height: Callable[[Any], int]
    """Function that returns the approximate number of lines of a unit."""
    make_renderer: Callable[[DeferredContent | None], Callable[[Any], list[Line]]]
    """Takes deferred content, and returns a function that renders a unit. Each thread needs its own."""
    margin: int
    line_width: int
    deferred: DeferredContent | None = None
    keeps_lines: bool = True
    """True to keep the lines of all units. False for long pages."""


class LaidUnits(NamedTuple):
    """Units that the background thread laid out."""

    layout: UnitLayout
    heights: dict[int, int]
    """Number of lines of each unit, by index."""
    lines: dict[int, list[Line]]
    """Lines of each unit, by index. Empty if not all lines are kept."""
    missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]]
    """Deferred content that each unit lacks, by `id()` of the unit."""


def lay_out_units(layout: UnitLayout, units: Sequence[Any], indexes: Iterable[int]) -> Generator[None, None, LaidUnits]:
    """Lay out units, and return the result. Yields after each unit, so that the background thread can stop."""
    laid = LaidUnits(layout, {}, {}, {})
    deferred = layout.deferred.for_background_thread() if layout.deferred is not None else None
    render = layout.make_renderer(deferred)
    for index in indexes:
        lines = render(units[index])
        if deferred is not None and (missed := deferred.take_missing()):
            laid.missing[id(units[index])] = missed
        laid.heights[index] = len(lines)
        if layout.keeps_lines:
            laid.lines[index] = lines
        yield
    return laid
