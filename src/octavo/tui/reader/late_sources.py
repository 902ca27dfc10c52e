"""A pane that is set again where what does not stand in its text was found meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.tui.reader.pane_state import Stateful
from octavo.tui.render.async_cache import AsyncCache
from octavo.tui.render.sources import Sources
from octavo.tui.render.styled_lines import Line


class Completing(Stateful):
    """A reader that shows what it has, and asks its sources for the rest once that is on show."""

    sources: Sources
    _missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]] | None = None
    """For each unit, by its identity, what was not known when it was set."""

    def completed(self, set_unit: Callable[[Any], list[Line]]) -> Callable[[Any], list[Line]]:
        """Sets units with `set_unit`, those of a galley made anew, and again once what they lack is found."""
        missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]] = {}
        self._missing = missing

        def set_one(unit: Any) -> list[Line]:
            self.sources.take_missed()
            lines = set_unit(unit)
            if missed := self.sources.take_missed():
                missing[id(unit)] = missed
            return lines

        return set_one

    def before_painting(self) -> None:
        super().before_painting()
        if not self._missing or not self.is_running:
            return
        for unit in {row[0] for row in self.rows_on_show}:
            for late, key in self._missing.get(id(self.galley.units[unit]), ()):
                late.want(key)
        for late in self.sources:
            if late.is_wanted:
                self.run_worker(self._find_late(late), group="late")

    async def _find_late(self, late: AsyncCache[Any, Any]) -> None:
        while await late.work():
            if self._missing is None:
                return
            total = self.galley.total
            with self.steady():
                told = {
                    unit
                    for unit, missing in self._missing.items()
                    if any(source is late and late.knows(key) for source, key in missing)
                }
                for unit, each in enumerate(self.galley.units) if told else ():
                    if id(each) in told:
                        self._missing.pop(id(each))
                        self.galley.forget(unit)
                for unit in {row[0] for row in self.rows_on_show if row[0] < len(self.galley)}:
                    self.galley.lines(unit)
            if self.galley.total != total:
                self.relaid()
                self._sync()
                self.keep_in_view()
            self.repaint()
