"""The table of a kind of thing: which columns it has and by which it is sorted. Both are chosen, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any, cast

from textual.content import Content

from octavo.data.state_db import StateDb
from octavo.tui.resources.resource import Column, Names, Resource
from octavo.tui.widgets import row_list
from octavo.tui.widgets.row_list import Row

LEAST = 10
"""Cells a column without a width is worth showing in."""
NAME = 21
"""Cells the first column, what a thing is called, is given before others are shown beside it."""


class Table:
    """How the things of one kind are put side by side."""

    def __init__(self, resource: Resource[Any], state: StateDb) -> None:
        self.resource, self._state = resource, state
        kept = state.get_fact(self._name("columns"))
        titles = {each.title for each in resource.columns}
        # A choice of an older version may name columns that have another title now, and would hide them.
        is_whole = isinstance(kept, list) and titles.issuperset(kept)
        chosen = [each for each in resource.columns if is_whole and each.title in kept]
        self.columns = tuple(chosen or (each for each in resource.columns if each.shown))
        """Those that are shown."""
        order = state.get_fact(self._name("order"))
        by, descends = order if isinstance(order, list) and len(order) == 2 else (resource.sorted_by, False)
        self.by = next((each for each in resource.columns if each.title == by), None)
        """The column they are sorted by. None: they stand as the server lists them."""
        self.descends = bool(descends)
        self._sorted: Sequence[Any] = ()
        self._keys: dict[Column[Any], list[str | float | None]] = {}
        """By what the things that were sorted last are sorted, for each column that was."""

    def _name(self, what: str) -> str:
        return f"{what} of {self.resource.name}"

    def headings(self) -> list[row_list.Column]:
        """The columns as a list has them, the one it is sorted by with an arrow."""
        return [
            row_list.Column(
                f"{each.title} {'▼' if self.descends else '▲'}" if each is self.by else each.title,
                each.width and max(each.width, len(each.title) + 2 * (each is self.by)),
                right=each.right,
                drop_order=each.drop,
                min_width=LEAST if at else NAME,
            )
            for at, each in enumerate(self.columns)
        ]

    def row(self, thing: Any, names: Names) -> Row:
        """How one of them is shown."""
        cells = [each.cell(thing, names) for each in self.columns]
        first = Content(cells[0]) if cells and isinstance(cells[0], str) else cells[0] if cells else ""
        return Row(cells=(first, *cells[1:]))

    def words(self, thing: Any, names: Names) -> str:
        """What a filter looks in: all that can be shown, also in columns that are not."""
        return " ".join([each.words(thing, names) for each in self.resource.columns])

    def forget(self) -> None:
        """Things are called something else than before, or others are shown."""
        self._sorted, self._keys = (), {}

    def sorted(self, things: Iterable[Any], names: Names) -> Sequence[Any]:
        """The things in the order that was chosen."""
        by, things = self.by, tuple(things)
        if by is None:
            return things
        if len(things) != len(self._sorted) or not all(map(is_, things, self._sorted)):
            self._sorted, self._keys = things, {}
        if (keys := self._keys.get(by)) is None:
            keys = self._keys[by] = [by.key(each, names) for each in things]
        # No pair is made of a thing and its key: to make so many has Python look for garbage in the midst of it.
        there = [place for place, key in enumerate(keys) if key is not None]
        there.sort(key=cast(Callable[[int], Any], keys.__getitem__), reverse=self.descends)
        return [things[place] for place in there] + [
            thing for thing, key in zip(things, keys, strict=True) if key is None
        ]

    def sort(self, by: Column[Any] | None) -> None:
        """Sort by a column; by the one they are sorted by already: the other way round."""
        self.descends = by is not None and by is self.by and not self.descends
        self.by = by
        self._state.set_fact(self._name("order"), [by.title if by is not None else "", self.descends])

    def toggle(self, column: Column[Any]) -> None:
        """Show a column, or hide it. One always stays."""
        shown = [each for each in self.resource.columns if (each in self.columns) != (each is column)]
        if shown:
            self.columns = tuple(shown)
            self._state.set_fact(self._name("columns"), [each.title for each in shown])

    @property
    def said(self) -> str:
        """By what they are sorted, for the status line."""
        return f"sorted by {self.by.name} {'▼' if self.descends else '▲'}" if self.by is not None else ""
