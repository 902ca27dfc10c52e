"""A long column of lines of which only what is looked at is set; the heights of the rest are guesses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from octavo.tui.render.styled_lines import Line

U = TypeVar("U")
_TOGETHER = 256
KEPT, KEPT_LINES = 600, 2500
"""How many units keep their lines, and how many lines they keep, but for the last set. All keep their heights."""


class VirtualLines(Generic[U]):
    """Units one below the other. Setting one corrects its height, and so what lies below it moves; what lies above
    never does."""

    def __init__(self, units: Sequence[U], guess: Callable[[U], int], set_unit: Callable[[U], list[Line]]) -> None:
        self.units = list(units)
        self._guess, self._set_unit = guess, set_unit
        self._heights = [guess(unit) for unit in self.units]
        self._sums = [sum(self._heights[at : at + _TOGETHER]) for at in range(0, len(self._heights), _TOGETHER)]
        """The heights of so many units together: a change of one is none of all that follow."""
        self._exact = bytearray(len(self.units))
        self._lines: OrderedDict[int, list[Line]] = OrderedDict()
        self._count = 0
        """How many lines are kept."""

    def anew(self, set_unit: Callable[[U], list[Line]]) -> VirtualLines[U]:
        """The same units, all of them to be set, about as high as they are here: to guess all heights again takes long."""
        made: VirtualLines[U] = VirtualLines((), self._guess, set_unit)
        made.units, made._heights, made._sums = [*self.units], [*self._heights], [*self._sums]
        made._exact = bytearray(len(made.units))
        return made

    def __len__(self) -> int:
        return len(self.units)

    def extend(self, units: Sequence[U]) -> None:
        """Put more units below the last."""
        self.units += units
        for unit in units:
            height = self._guess(unit)
            if len(self._heights) % _TOGETHER == 0:
                self._sums.append(0)
            self._sums[-1] += height
            self._heights.append(height)
        self._exact += bytes(len(units))

    @property
    def total(self) -> int:
        """The height of the whole, as far as it is known."""
        return sum(self._sums)

    @property
    def unset(self) -> int:
        """How many units have a guessed height."""
        return self._exact.count(0)

    def unset_from(self, start: int, end: int) -> int | None:
        """The first unit from `start` to before `end` that has a guessed height."""
        found = self._exact.find(0, start, end)
        return found if found >= 0 else None

    def unset_before(self, start: int, end: int) -> int | None:
        """The last unit from `start` to before `end` that has a guessed height."""
        found = self._exact.rfind(0, start, end)
        return found if found >= 0 else None

    def top(self, index: int) -> int:
        """The line at which a unit begins."""
        part = index // _TOGETHER
        return sum(self._sums[:part]) + sum(self._heights[part * _TOGETHER : index])

    def at(self, line: int) -> tuple[int, int]:
        """The unit that `line` belongs to, and its place in the unit."""
        line, part, top = max(0, line), 0, 0
        while part + 1 < len(self._sums) and top + self._sums[part] <= line:
            top += self._sums[part]
            part += 1
        index, last = part * _TOGETHER, max(0, len(self.units) - 1)
        while index < last and top + self._heights[index] <= line:
            top += self._heights[index]
            index += 1
        return index, max(0, line - top)

    def lines(self, index: int) -> list[Line]:
        """The lines of a unit, set now if they are not."""
        found = self._lines.get(index)
        if found is not None:
            self._lines.move_to_end(index)
            return found
        return self.put(index, self._set_unit(self.units[index]))

    def put(self, index: int, lines: list[Line]) -> list[Line]:
        """Give a unit its lines, instead of those it has."""
        self._count += len(lines) - len(self._lines.pop(index, ()))
        self._lines[index] = lines
        while len(self._lines) > KEPT or (self._count > KEPT_LINES and len(self._lines) > 1):
            self._count -= len(self._lines.popitem(last=False)[1])
        self._sums[index // _TOGETHER] += len(lines) - self._heights[index]
        self._heights[index] = len(lines)
        self._exact[index] = 1
        return lines

    def forget(self, index: int) -> None:
        """Set a unit anew when it is looked at next."""
        self._count -= len(self._lines.pop(index, ()))
        self._exact[index] = 0

    @property
    def kept(self) -> list[list[Line]]:
        """The lines of each unit that keeps them."""
        return list(self._lines.values())

    def between(self, start: int, end: int) -> list[tuple[int, int, Line]]:
        """The lines from `start` to before `end`: unit, place in it, line. What is met for the first time is set."""
        out: list[tuple[int, int, Line]] = []
        if not self.units:
            return out
        index, offset = self.at(start)
        while index < len(self.units) and len(out) < end - start:
            lines = self.lines(index)
            for place in range(offset, min(len(lines), offset + end - start - len(out))):
                out.append((index, place, lines[place]))
            index, offset = index + 1, 0
        return out

    def settle_above(self, line: int, height: int) -> int:
        """Make exact what the `height` lines above `line` show; where `line` is now."""
        index, offset = self.at(line)
        room = height - offset
        at = index
        while room > 0 and at > 0:
            at -= 1
            room -= len(self.lines(at))
        return self.top(index) + offset

    def settle_end(self, height: int) -> None:
        """Make exact what the last `height` lines show."""
        at = len(self.units)
        while height > 0 and at > 0:
            at -= 1
            height -= len(self.lines(at))
