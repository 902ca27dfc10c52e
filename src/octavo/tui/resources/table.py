"""The table of a kind of thing: which columns it has and by which it is sorted. Both are chosen, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from textual.content import Content

from octavo.data.state import State
from octavo.tui.resources.resource import Column, Names, Resource
from octavo.tui.widgets import row_list
from octavo.tui.widgets.row_list import Row

LEAST = 10
"""Cells a column without a width is worth showing in."""
NAME = 21
"""Cells the first column, what a thing is called, is given before others are shown beside it."""


class Table:
    """How the things of one kind are put side by side."""

    def __init__(self, resource: Resource[Any], state: State) -> None:
        self.resource, self._state = resource, state
        kept = state.recall(self._name("columns"))
        chosen = [each for each in resource.columns if isinstance(kept, list) and each.title in kept]
        self.columns = tuple(chosen or (each for each in resource.columns if each.shown))
        """Those that are shown."""
        order = state.recall(self._name("order"))
        by, descends = order if isinstance(order, list) and len(order) == 2 else (resource.sorted_by, False)
        self.by = next((each for each in resource.columns if each.title == by), None)
        """The column they are sorted by. None: they stand as the server lists them."""
        self.descends = bool(descends)
        self._words: dict[str, tuple[Any, str]] = {}
        """What a filter looks in, of each thing it looked at."""

    def _name(self, what: str) -> str:
        return f"{what} of {self.resource.name}"

    def headings(self) -> list[row_list.Column]:
        """The columns as a list has them, the one it is sorted by with an arrow."""
        return [
            row_list.Column(
                f"{each.title} {'▼' if self.descends else '▲'}" if each is self.by else each.title,
                each.width and max(each.width, len(each.title) + 2 * (each is self.by)),
                right=each.right,
                drop=each.drop,
                least=LEAST if at else NAME,
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
        key = self.resource.key(thing)
        known = self._words.get(key)
        if known is None or known[0] is not thing:
            words = " ".join(each.words(thing, names) for each in self.resource.columns)
            known = self._words[key] = (thing, words)
        return known[1]

    def names_changed(self) -> None:
        """Things are called something else than before."""
        self._words.clear()

    def sorted(self, things: Iterable[Any], names: Names) -> Sequence[Any]:
        """The things in the order that was chosen."""
        by = self.by
        if by is None:
            return tuple(things)
        keyed = [(by.key(each, names), each) for each in things]
        there = sorted((each for each in keyed if not each[0][0]), key=lambda each: each[0][1], reverse=self.descends)
        return [thing for _, thing in (*there, *(each for each in keyed if each[0][0]))]

    def sort(self, by: Column[Any] | None) -> None:
        """Sort by a column; by the one they are sorted by already: the other way round."""
        self.descends = by is not None and by is self.by and not self.descends
        self.by = by
        self._state.remember(self._name("order"), [by.title if by is not None else "", self.descends])

    def toggle(self, column: Column[Any]) -> None:
        """Show a column, or hide it. One always stays."""
        shown = [each for each in self.resource.columns if (each in self.columns) != (each is column)]
        if shown:
            self.columns = tuple(shown)
            self._state.remember(self._name("columns"), [each.title for each in shown])

    @property
    def said(self) -> str:
        """By what they are sorted, for the status line."""
        return f"sorted by {self.by.title.lower()} {'▼' if self.descends else '▲'}" if self.by is not None else ""
