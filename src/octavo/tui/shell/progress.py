"""Notifications about running work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

MAX_SECONDS = 90.0
"""Longest time in seconds that the notification stays. Reading back a write whose response was lost takes a minute."""


@contextmanager
def show_progress(app: Shell, text: str) -> Iterator[None]:
    """Show `text` as a notification while the `with` block runs."""
    number = app.notices.say(text, seconds=MAX_SECONDS)
    try:
        yield
    finally:
        app.notices.close(number)
