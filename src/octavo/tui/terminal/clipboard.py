"""Copying to the clipboard of the terminal. Terminals cut texts that are too long, or hang."""

from __future__ import annotations

from typing import Any, Literal, Protocol

COPIED_BYTES = 74_000
"""Longest text that is copied, in bytes."""


class ClipboardApp(Protocol):
    """An app that can copy text and show notifications."""

    def copy_to_clipboard(self, text: str) -> None: ...

    def say(self, message: str, *, tone: Literal["done", "care"] = "done") -> Any: ...


def fits(app: ClipboardApp, text: str) -> bool:
    """Return whether a text is short enough to be copied. If not, show a notification."""
    if len(text.encode("utf-8", "replace")) <= COPIED_BYTES:
        return True
    app.say("Could not copy: the text is too long for the terminal's clipboard.", tone="care")
    return False


def copy(app: ClipboardApp, text: str, message: str) -> None:
    """Copy a text and show `message`, or show that the text is too long."""
    if fits(app, text):
        app.copy_to_clipboard(text)
        app.say(message)
