"""The first screen as rows of text and styles, for the next start to show at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from textual.strip import Strip

from octavo.first_picture import FirstPicture
from octavo.tui.render.reading_position import ReadingPositions
from octavo.tui.terminal.textual_internals import painted_rows

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.content.content import ContentScreen
    from octavo.tui.shell.shell import Shell

REST = 1.0
"""Seconds a page is on show before its picture is taken: who leafs through pages is not held up."""

SAVED = "● saved"
_LINK = re.compile("[●○] (live|offline)")


class KeptPicture:
    """Takes the picture of a page that was just opened, and throws it away when the next start will show another."""

    def __init__(self, app: Shell, picture: FirstPicture) -> None:
        self._app, self._picture = app, picture
        self._timer: Timer | None = None
        self._screen: ContentScreen | None = None
        self._shows = self._next()

    def page_shown(self, screen: ContentScreen) -> None:
        """A page is on show in `screen`, which is what a start shows."""
        if self._timer is not None:
            self._timer.stop()
        self._screen = screen
        self._timer = screen.set_timer(REST, self._take)

    def end(self) -> None:
        """The next start will show what is remembered now."""
        if self._screen is not None:
            self._screen.reading.history.keep()
        if self._shows != self._next() and not self._take():
            self._picture.forget()

    def _take(self) -> bool:
        """Take a picture of the page, if nothing covers it. Whether that could be done."""
        screen = self._screen
        if screen is None or screen is not self._app.screen or not screen.is_page_on_show:
            return False
        screen.reading.history.keep()
        self._picture.keep(rows_of(screen))
        self._shows = self._next()
        return True

    def _next(self) -> tuple[Any, ...]:
        """What decides what a start shows."""
        if not self._app.has_session:
            return ()
        state = self._app.session.state
        return (
            state.recall("organization"),
            (space := state.recall("space")),
            (page := state.recall(f"page {space}")),
            ReadingPositions(state).on(f"{space} {page}"),
            self._app.theme,
        )


def rows_of(screen: ContentScreen) -> list[str]:
    """What `screen` shows now, a row of the terminal each; but in a picture it is saved, not live."""
    first, *rest = painted_rows(screen)
    return [_plain(strip).render(screen.app.console) for strip in (_saved(first), *rest)]


def _saved(bar: Strip) -> Strip:
    segments = list(bar)
    for index, segment in enumerate(segments[:-1]):
        if _LINK.match(segment.text):
            # In the style of the blank beside it: the colour says live, too.
            segments[index] = Segment(SAVED.ljust(segment.cell_length), segments[index + 1].style)
    return Strip(segments, bar.cell_length)


def _plain(strip: Strip) -> Strip:
    """`strip` with nothing but text and styles: a link is more."""
    if not any(style is not None and style.link for _, style, _ in strip):
        return strip
    return Strip([Segment(text, style.update_link(None) if style else None) for text, style, _ in strip])
