"""Copying by way of the terminal, which takes only so much: terminals cut more, or hang on it (T7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

MOST = 74_000
"""Bytes that are copied at most."""


def fits(app: Octavo, text: str) -> bool:
    """Whether `text` can be copied. If it is too long, that is said."""
    if len(text.encode("utf-8", "replace")) <= MOST:
        return True
    app.say("This is too long to be copied through the terminal: nothing is copied.", tone="care")
    return False


def copy(app: Octavo, text: str, said: str) -> None:
    """Copy `text` and say `said`, or why not."""
    if fits(app, text):
        app.copy_to_clipboard(text)
        app.say(said)
