"""A list with what its cursor is on beside it: that can be hidden, put below the list, or have all the room."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from octavo.tui.shell.view import View


class TwoPanes(View):
    """A view of a pane `#left` and one beside it, `PREVIEW`."""

    CONTEXT: ClassVar[str] = "list and preview"
    PREVIEW: ClassVar[str] = ""
    """The selector of the pane beside the list."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "preview", "Preview", show=False, tooltip="Hide what is beside the list, or show it again", id="pane.preview"),
        Binding("P", "preview_side", "Preview below", show=False, tooltip="Put what is beside the list below it, or beside it again", id="pane.side"),
        Binding("z", "zoom", "Zoom", show=False, tooltip="Only the pane with the keys, or both", id="pane.zoom"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "preview_side" and (self.has_class("-tiny") or self.has_class("-narrow")):
            return "There is no room beside the list: the terminal is too narrow."
        return super().why_not(action, parameters)

    def go_up(self) -> bool:
        """From beside the list to the list."""
        if not self.query_one(self.PREVIEW).has_focus_within:
            return False
        self.remove_class("-only-preview")
        self._go_to_what_is_shown()
        return True

    def action_preview(self) -> None:
        self.remove_class("-only-preview")
        self.toggle_class("-no-preview")
        self._go_to_what_is_shown()

    def action_preview_side(self) -> None:
        self.remove_class("-only-preview", "-no-preview")
        self.toggle_class("-below")

    def action_zoom(self) -> None:
        if self.has_class("-no-preview") or self.has_class("-only-preview"):
            self.remove_class("-no-preview", "-only-preview")
        else:
            self.add_class("-only-preview" if self.query_one(self.PREVIEW).has_focus_within else "-no-preview")

    def _go_to_what_is_shown(self) -> None:
        focused = self.focused
        if focused is None or not self.query_one(self.PREVIEW).has_focus_within:
            return
        for pane in self.query("#left *").results(Widget):
            if pane.can_focus:
                pane.focus()
                return
