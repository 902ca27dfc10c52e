"""Deferred content of visible blocks, such as link titles and thumbnails: requests it, and lays the blocks out again
when it arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader
    from octavo.tui.render.unit_layout import LaidUnits


class LateSources:
    """Requests deferred content of the visible units of a reader."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]] | None = None
        """Deferred content that each unit lacked when it was laid out, by the identity of the unit."""

    def completed(
        self, sources: DeferredContent, set_unit: Callable[[Any], list[Line]], laid: LaidUnits | None
    ) -> Callable[[Any], list[Line]]:
        """Return a function that lays out a unit with `set_unit` and records the deferred content it lacks.

        `laid` has the units that a thread laid out, with the content they lack."""
        missing = {**laid.missing} if laid is not None else {}
        self._missing = missing

        def set_one(unit: Any) -> list[Line]:
            sources.take_missing()
            lines = set_unit(unit)
            if missed := sources.take_missing():
                missing[id(unit)] = missed
            return lines

        return set_one

    def add(self, missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]]) -> None:
        """Record the deferred content that units from the thread lack."""
        if self._missing is not None:
            self._missing.update({unit: lacks for unit, lacks in missing.items() if unit not in self._missing})

    def ask(self, sources: DeferredContent) -> None:
        """Request the deferred content of the visible units."""
        if not self._missing or not self.pane.is_running:
            return
        for unit in {row[0] for row in self.pane.painter.rows_on_show}:
            for late, key in self._missing.get(id(self.pane.galley.units[unit]), ()):
                late.request(key)
        for late in sources:
            if late.has_requests:
                self.pane.run_worker(self._find(late), group="late")

    async def _find(self, late: AsyncCache[Any, Any]) -> None:
        while await late.load_requested():
            if self._missing is None:
                return
            galley = self.pane.galley
            total = galley.total
            told = {
                unit
                for unit, missing in self._missing.items()
                if any(source is late and late.knows(key) for source, key in missing)
            }
            for unit, each in enumerate(galley.units) if told else ():
                if id(each) in told:
                    self._missing.pop(id(each))
                    galley.forget(unit)
            for unit in {row[0] for row in self.pane.painter.rows_on_show if row[0] < len(galley)}:
                galley.lines(unit)
            if galley.total != total:
                self.pane.relaid()
                self.pane.tell_length()
                self.pane.cursor.keep_in_view()
            self.pane.repaint()
            self.pane.work_soon()
