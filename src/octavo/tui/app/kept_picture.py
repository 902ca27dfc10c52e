"""The first screen as rows of text and styles, for the next start to show at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rich.segment import Segment
from textual.screen import Screen
from textual.strip import Strip

from octavo.first_picture import FirstPicture
from octavo.tui.app.first_screen import first_view
from octavo.tui.render.reading_position import ReadingPositions
from octavo.tui.terminal.textual_internals import is_whole, painted_rows

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.shell.shell import Shell
    from octavo.tui.shell.view import View

REST = 1.0
"""Seconds a page is on show before its picture is taken: who leafs through pages is not held up."""

_MOST_TRIES = 20

SAVED = "○ cached"
_LINK = re.compile("[●○] ")


@runtime_checkable
class Pictured(Protocol):
    """A view that a start may begin with."""

    @property
    def is_as_at_start(self) -> bool:
        """Whether it shows nothing that a start would not show."""

    def keep_place(self) -> None:
        """Remember where the person is in it, as the end does."""


class KeptPicture:
    """Takes the picture of what a start shows, and throws it away when the next will show something else."""

    def __init__(self, app: Shell, picture: FirstPicture) -> None:
        self._app, self._picture = app, picture
        self._timer: Timer | None = None
        self._shows = self._next()

    def page_shown(self, screen: View) -> None:
        """A page, or the inbox, is on show in `screen`, which is what a start shows."""
        if self._timer is not None:
            self._timer.stop()
        self._take_soon(screen, tries=_MOST_TRIES)

    def _take_soon(self, screen: View, tries: int) -> None:
        def take() -> None:
            if not self._take() and tries > 1:
                self._take_soon(
                    screen, tries - 1
                )  # a notice, such as the greeting, may cover the screen for some seconds

        self._timer = screen.set_timer(REST, take)

    def end(self) -> None:
        """The next start will show what is remembered now."""
        if (screen := self._on_show) is not None:
            screen.keep_place()
        if self._shows != self._next() and not self._take():
            self._picture.forget()

    def _take(self) -> bool:
        """Take a picture of it, if nothing covers it. Whether that could be done."""
        screen = self._on_show
        if screen is None or not screen.is_as_at_start or not (rows := rows_of(self._app.screen)):
            return False
        screen.keep_place()
        self._picture.keep(rows)
        self._shows = self._next()
        return True

    @property
    def _on_show(self) -> Pictured | None:
        """The view on show, if a start may begin with it. One that is being made has nothing to be asked for yet."""
        screen = self._app.screen
        return screen if is_whole(screen) and isinstance(screen, Pictured) else None

    def _next(self) -> tuple[Any, ...]:
        """What decides what a start shows."""
        if not self._app.has_session:
            return ()
        session = self._app.session
        state = session.state
        if first_view(session) == "inbox":
            inbox = self._app.workspace.inbox.rows
            return ("inbox", state.get_fact("organization"), inbox.here if inbox is not None else (), self._app.theme)
        return (
            state.get_fact("organization"),
            (space := state.get_fact("space")),
            (page := state.get_fact(f"page {space}")),
            ReadingPositions(state).get(f"{space} {page}"),
            self._app.theme,
        )


def rows_of(screen: Screen[Any]) -> list[str]:
    """What `screen` shows now, a row of the terminal each; but in a picture it is saved, not live. Nothing before it was laid
    out for the first time."""
    rows = painted_rows(screen)
    rows[:1] = map(_saved, rows[:1])
    return [_plain(strip).render(screen.app.console) for strip in rows]


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
