"""What every line goes through before it is painted."""

from __future__ import annotations

from collections.abc import Iterator

from textual.filter import LineFilter

from octavo.settings import Settings


def filters(settings: Settings) -> Iterator[LineFilter]:
    """Those a person chose, in the order in which a line goes through them."""
    if settings.ascii:
        from octavo.tui.terminal.ascii_twins import AsciiTwins

        yield AsciiTwins()
    if settings.turns_words:
        from octavo.tui.terminal.right_to_left import RightToLeft  # needs a library that not everybody has

        yield RightToLeft()
