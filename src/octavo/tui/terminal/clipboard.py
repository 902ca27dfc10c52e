"""Copying by way of the terminal, which takes only so much: terminals cut more, or hang on it (T7)."""

from __future__ import annotations

from typing import Any, Literal, Protocol

COPIED_BYTES = 74_000
"""Bytes that are copied at most."""


class ClipboardApp(Protocol):
    """An app that reaches the terminal, and says what became of it."""

    def copy_to_clipboard(self, text: str) -> None: ...

    def say(self, message: str, *, tone: Literal["done", "care"] = "done") -> Any: ...


def fits(app: ClipboardApp, text: str) -> bool:
    """Whether `text` can be copied. If it is too long, that is said."""
    if len(text.encode("utf-8", "replace")) <= COPIED_BYTES:
        return True
    app.say("Could not copy: the text is too long for the terminal's clipboard.", tone="care")
    return False


def copy(app: ClipboardApp, text: str, said: str) -> None:
    """Copy `text` and say `said`, or why not."""
    if fits(app, text):
        app.copy_to_clipboard(text)
        app.say(said)
