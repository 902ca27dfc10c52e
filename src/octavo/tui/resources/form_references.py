"""What can be picked for a field that names something else: people, teams, spaces, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api.operation import Listing, Operation
from octavo.tui.resources.form_values import Written
from octavo.tui.shell.view import MAX_ITEMS

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.chooser import Choice


def _items(answer: Any) -> Iterable[Any]:
    items: Iterable[Any] = answer.items
    return items


@dataclass(frozen=True)
class Listed:
    """What can be picked, as far as it was listed."""

    choices: Sequence[Choice[str]]
    is_whole: bool = True

    @property
    def said(self) -> str:
        """What is to be known of it, to go on with a title."""
        return "" if self.is_whole else f" · first {len(self.choices)} shown · type to find more"


@dataclass(frozen=True)
class References:
    """Where what can be picked is listed, and how one of it is called."""

    ask: Operation[Any] | Callable[[Written], Operation[Any] | None]
    """What lists it, which may depend on what is written elsewhere in the form."""
    choice: Callable[[Any], Choice[str]]
    """One of it: its id, and what it is called."""
    items: Callable[[Any], Iterable[Any]] = _items
    """What is in the answer."""
    search: Callable[[str], Operation[Any]] | None = None
    """What finds some of it by words, where the list is longer than lists are read."""
    nothing: str = "Fill in the fields above first."
    """Why nothing can be chosen yet."""

    def op(self, written: Written) -> Operation[Any] | None:
        """What lists it now."""
        return self.ask if isinstance(self.ask, Operation) else self.ask(written)

    def known(self, shell: Shell, written: Written) -> Sequence[Choice[str]]:
        """What is known of it without asking."""
        op = self.op(written)
        value = shell.session.live.peek(op).value if op is not None else None
        return [self.choice(each) for each in self.items(value)] if value is not None else ()

    async def all(self, shell: Shell, op: Operation[Any]) -> Listed:
        """Return the whole list, or its first `MAX_ITEMS` items. Raises ApiError."""
        live = shell.session.live
        value = await live.fetch(op)
        if isinstance(op, Listing):
            await live.fetch_pages(op, MAX_ITEMS)  # if a page fails, the list says so where it is shown
            value = live.peek(op).value or value
        return Listed([self.choice(each) for each in self.items(value)], getattr(value, "next", None) is None)
