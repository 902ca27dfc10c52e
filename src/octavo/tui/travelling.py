"""Back and forward through the pages one has read, as in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from octavo.tui.history import History, Visit
from octavo.tui.screen import View


class Travelling(View):
    """A view of pages one comes back to. A subclass says where one is, and shows where one was."""

    CONTEXT: ClassVar[str] = "content"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace,less_than_sign", "back", "Back", key_display="<", show=False, tooltip="Back to where I was", id="content.back"),
        Binding("greater_than_sign", "forward", "Forward", key_display=">", show=False, tooltip="Forward again", id="content.forward"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.history = History()

    @property
    def here(self) -> Visit | None:
        """The page on show, and how far it is scrolled."""
        raise NotImplementedError

    def show_again(self, visit: Visit) -> None:
        """Show a page as it was left."""
        raise NotImplementedError

    def leave_here(self, to_page: str | None = None) -> None:
        """Remember the page on show, for one goes on to another."""
        here = self.here
        if here is not None and here.page != to_page:
            self.history.leave(here)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "back" and not self.history.has_behind:
            return "There is nowhere to go back to: this is where you began."
        if action == "forward" and not self.history.has_ahead:
            return "There is nothing ahead: you have not gone back from anywhere."
        return super().why_not(action, parameters)

    def action_back(self) -> None:
        self._travel(self.history.back)

    def action_forward(self) -> None:
        self._travel(self.history.forward)

    def _travel(self, step: Callable[[Visit], Visit | None]) -> None:
        there = step(self.here) if self.here is not None else None
        if there is not None:
            self.show_again(there)
