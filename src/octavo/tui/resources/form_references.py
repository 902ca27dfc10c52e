"""Lists of items that a form field can refer to: members, teams, spaces, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api.operation import Listing, Operation
from octavo.tui.resources.form_values import FieldTexts
from octavo.tui.shell.view import ITEMS_READ

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.chooser import Choice


def _response_items(response: Any) -> Iterable[Any]:
    items: Iterable[Any] = response.items
    return items


@dataclass(frozen=True)
class OptionList:
    """Items to choose from, as far as they are loaded."""

    choices: Sequence[Choice[str]]
    is_complete: bool = True

    @property
    def title_suffix(self) -> str:
        """End of the picker's title, if the list is incomplete."""
        return "" if self.is_complete else f" · first {len(self.choices)} shown · type to find more"


@dataclass(frozen=True)
class ReferenceList:
    """The operation that lists the items for a field, and the label of each item."""

    operation: Operation[Any] | Callable[[FieldTexts], Operation[Any] | None]
    """Operation that lists the items, or a function that builds it from the text of the other fields."""
    choice_of: Callable[[Any], Choice[str]]
    """Returns the ID and the label of an item."""
    items_in: Callable[[Any], Iterable[Any]] = _response_items
    """Returns the items in a response."""
    search_operation: Callable[[str], Operation[Any]] | None = None
    """Returns the operation that searches a list that is too long to load."""
    blocked_message: str = "Fill in the fields above first."
    """Why nothing can be chosen yet."""

    def list_operation(self, texts: FieldTexts) -> Operation[Any] | None:
        """Return the operation that lists the items for the current form. None if other fields must be filled in
        first."""
        return self.operation if isinstance(self.operation, Operation) else self.operation(texts)

    def loaded_choices(self, shell: Shell, texts: FieldTexts) -> Sequence[Choice[str]]:
        """Return the items that are loaded already."""
        op = self.list_operation(texts)
        value = shell.session.live.peek(op).value if op is not None else None
        return [self.choice_of(each) for each in self.items_in(value)] if value is not None else ()

    async def load(self, shell: Shell, op: Operation[Any]) -> OptionList:
        """Return the whole list, or its first `ITEMS_READ` items. Raises ApiError."""
        live = shell.session.live
        value = await live.fetch(op)
        if isinstance(op, Listing):
            await live.read_on(op, ITEMS_READ)  # If a page fails, the picker shows the error.
            value = live.peek(op).value or value
        return OptionList([self.choice_of(each) for each in self.items_in(value)], getattr(value, "next", None) is None)
