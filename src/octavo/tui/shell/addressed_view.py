"""Copying what a thing is called and where it is, and opening it in the browser: of the thing the keys are about."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard

Named = Organization | Space | ChangeRequest


class Addressed(View):
    """A view whose things have a name and an address: the first of what is at hand is what the keys are about."""

    CONTEXT: ClassVar[str] = "what the cursor is on"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_name", "Copy", show=False, tooltip="Copy the number and subject of the change request, or the title", id="thing.yank"),
        Binding("Y", "copy_address", "Copy address", show=False, tooltip="Copy the address of what the cursor is on", id="thing.yank_url"),
        Binding("o", "open_outside", "In the browser", show=False, tooltip="Open what the cursor is on in the browser", id="thing.open_browser"),
    ]  # fmt: skip

    @property
    def _named(self) -> Named | None:
        thing: Model | None = next(iter(self.things_at_hand), None)
        return thing if isinstance(thing, Named) else None

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("copy_name", "copy_address", "open_outside") and self.is_mounted:
            thing = self._named
            if thing is None:
                return "The cursor is on nothing that has a name."
            if action != "copy_name" and (not thing.urls.app or self.shell.session.is_here):
                from octavo.tui.shell.outside import said_without_address

                return said_without_address(self.shell, _kind(thing))
        return super().why_not(action, parameters)

    def action_copy_name(self) -> None:
        if (thing := self._named) is not None:
            number = f"#{thing.number} " if isinstance(thing, ChangeRequest) else ""
            clipboard.copy(self.shell, f"{number}{thing.title}", f"Copied the name of the {_kind(thing)}.")

    def action_copy_address(self) -> None:
        if (thing := self._named) is not None:
            clipboard.copy(self.shell, thing.urls.app or "", f"Copied the address of the {_kind(thing)}.")

    def action_open_outside(self) -> None:
        from octavo.tui.shell.outside import open_outside

        if (thing := self._named) is not None:
            open_outside(self.shell, thing.urls.app or "")


def _kind(thing: Named) -> str:
    return {ChangeRequest: "change request", Space: "space", Organization: "organization"}[type(thing)]
