"""Saying what is under way, for as long as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

LONGEST = 90.0
"""Seconds: an answer that was lost is looked for for a minute."""


@contextmanager
def meanwhile(app: Shell, words: str) -> Iterator[None]:
    """Show `words` while what is done inside goes on."""
    number = app.notices.say(words, seconds=LONGEST)
    try:
        yield
    finally:
        app.notices.close(number)
