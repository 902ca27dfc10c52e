"""An input for an access token, which can be typed and pasted but not copied."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import SecretStr
from textual.actions import SkipAction
from textual.app import RenderResult
from textual.content import Content
from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import Input

from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.text_inputs import MAX_INPUT_LENGTH

_REFUSED = "With {name}, any API key that you type is logged. Restart Octavo without {name}, then enter the API key."


def why_no_token(environment: Mapping[str, str], features: frozenset[str] = frozenset()) -> str | None:
    """Return why no token may be typed now: `TEXTUAL_LOG` and the developer tools log every key press. None if it may."""
    if environment.get("TEXTUAL_LOG"):
        return _REFUSED.format(name="TEXTUAL_LOG")
    asked = {each.strip().lower() for each in environment.get("TEXTUAL", "").split(",")}
    if "devtools" in features or "devtools" in asked:
        return _REFUSED.format(name="the developer tools")
    return None


def extract_token(pasted: str) -> str:
    """Extract a token from pasted text by removing spaces, quotes, and a leading `Authorization: Bearer`."""
    words = pasted.replace('"', " ").replace("'", " ").split()
    while words and words[0].lower() in ("authorization:", "bearer"):
        words.pop(0)
    return "".join(character for character in words[0] if character.isprintable()) if words else ""


SECRET: Commands[SecretInput] = Commands(
    "secret",
    (Command("clear", "ctrl+l", "Clear", "Clear the field", run=lambda _, line: line.clear(), shown=False),),
    find=lambda line: line,
)


class SecretInput(HasCommands, Input):
    """An input that shows bullets. Copying does nothing, and pasting inserts only the token within the text."""

    CONTEXT: ClassVar[str] = "API key field"
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    SecretInput, SecretInput:focus {
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SECRET,)

    def __init__(self, placeholder: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(placeholder=placeholder, password=True, id=id, classes=classes)

    @property
    def disabled_reason(self) -> str | None:
        """Why no token may be typed now. None if it may."""
        return why_no_token(os.environ, frozenset(self.app.features))

    @property
    def secret(self) -> SecretStr | None:
        """The typed token. None if the input is empty."""
        key = extract_token(self.value)
        return SecretStr(key) if key else None

    def on_key(self, event: Key) -> None:
        if self.disabled_reason is not None and event.is_printable:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        if self.disabled_reason is None:
            self.insert_text_at_cursor(extract_token(event.text.strip()[:MAX_INPUT_LENGTH]))

    def action_copy(self) -> None:
        # Textual would copy the selected clear text.
        raise SkipAction

    def action_cut(self) -> None:
        raise SkipAction

    def action_paste(self) -> None:
        if self.disabled_reason is None:
            self.insert_text_at_cursor(extract_token(self.app.clipboard.strip()[:MAX_INPUT_LENGTH]))


class SecretCount(Widget):
    """A label with the number of characters in a `SecretInput`, or the reason why it is disabled."""

    DEFAULT_CSS = "SecretCount { height: 1; width: auto; color: $octavo-muted; }"

    def __init__(self, source: SecretInput, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._source = source

    def on_mount(self) -> None:
        self.watch(self._source, "value", self._changed)

    def _changed(self) -> None:
        self.refresh(layout=True)

    def render(self) -> RenderResult:
        if (refusal := self._source.disabled_reason) is not None:
            return Content.styled(refusal, "$warning")
        count = len(extract_token(self._source.value))
        return Content(f"{count} character{'' if count == 1 else 's'}" if count else "")
