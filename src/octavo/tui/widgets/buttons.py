"""A button of one line. Its label is in brackets while the button has the focus."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.safe_text import safe

BUTTON: Commands[TextButton] = Commands(
    "button",
    (Command("press", "enter,space", "Press", "Press the button", run=lambda _, button: button.press(), shown=False),),
    find=lambda button: button,
)


class TextButton(HasCommands, Widget, can_focus=True):
    """A button that shows its label and the key for the same action. It is dimmed while `is_dimmed` is set."""

    CONTEXT: ClassVar[str] = "buttons"
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TextButton {
        width: auto;
        height: 1;
        color: $foreground;
        background: $panel;
        &.-off { color: $octavo-muted; text-style: dim; }
        &:hover { background: $octavo-cursor; }
        &:focus { color: $primary; background: $octavo-cursor; text-style: bold; }
        &.-primary { color: $primary; }
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (BUTTON,)

    is_dimmed = reactive(False, toggle_class="-off")
    key = reactive("", layout=True)
    label = reactive("", layout=True)

    class Pressed(Message):
        """The button was pressed or clicked."""

        def __init__(self, button: TextButton) -> None:
            super().__init__()
            self.button = button

        @property
        def control(self) -> TextButton:
            return self.button

    def __init__(self, label: str, key: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.label = label
        self.key = key

    def render(self) -> RenderResult:
        words = safe(f"{self.label}  ({self.key})" if self.key else self.label)
        return Content("[ ") + words + Content(" ]") if self.has_focus else Content("  ") + words + Content("  ")

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def press(self) -> None:
        """Post `Pressed`."""
        self.post_message(self.Pressed(self))

    def on_click(self, event: Click) -> None:
        event.stop()
        self.post_message(self.Pressed(self))
