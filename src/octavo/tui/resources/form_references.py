"""Lists of items that a form field can refer to: members, teams, spaces, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api.operation import Listing, Operation
from octavo.tui.resources.form_values import Written
from octavo.tui.shell.view import ITEMS_READ

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.chooser import Choice


def _items(answer: Any) -> Iterable[Any]:
    items: Iterable[Any] = answer.items
    return items


@dataclass(frozen=True)
class Listed:
    """Items to choose from, as far as they are loaded."""

    choices: Sequence[Choice[str]]
    is_whole: bool = True

    @property
    def said(self) -> str:
        """End of the picker's title, if the list is incomplete."""
        return "" if self.is_whole else f" · first {len(self.choices)} shown · type to find more"


@dataclass(frozen=True)
class References:
    """The operation that lists the items for a field, and the label of each item."""

    ask: Operation[Any] | Callable[[Written], Operation[Any] | None]
    """Operation that lists the items, or a function that builds it from the text of the other fields."""
    choice: Callable[[Any], Choice[str]]
    """Returns the ID and the label of an item."""
    items: Callable[[Any], Iterable[Any]] = _items
    """Returns the items in a response."""
    search: Callable[[str], Operation[Any]] | None = None
    """Returns the operation that searches a list that is too long to load."""
    nothing: str = "Fill in the fields above first."
    """Why nothing can be chosen yet."""

    def op(self, written: Written) -> Operation[Any] | None:
        """Return the operation that lists the items for the current form. None if other fields must be filled in
        first."""
        return self.ask if isinstance(self.ask, Operation) else self.ask(written)

    def known(self, shell: Shell, written: Written) -> Sequence[Choice[str]]:
        """Return the items that are loaded already."""
        op = self.op(written)
        value = shell.session.live.peek(op).value if op is not None else None
        return [self.choice(each) for each in self.items(value)] if value is not None else ()

    async def all(self, shell: Shell, op: Operation[Any]) -> Listed:
        """Return the whole list, or its first `ITEMS_READ` items. Raises ApiError."""
        live = shell.session.live
        value = await live.fetch(op)
        if isinstance(op, Listing):
            await live.read_on(op, ITEMS_READ)  # If a page fails, the picker shows the error.
            value = live.peek(op).value or value
        return Listed([self.choice(each) for each in self.items(value)], getattr(value, "next", None) is None)
