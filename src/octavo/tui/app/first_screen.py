"""The first screen: which view it shows, and its picture, recorded as rows of text and styles for the next start."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rich.segment import Segment
from textual.screen import Screen
from textual.strip import Strip

from octavo.api.errors import ApiError
from octavo.first_picture import FirstPicture
from octavo.tui.reader.reading_position import ReadingPositions
from octavo.tui.terminal.textual_internals import is_whole, painted_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from textual.timer import Timer

    from octavo.tui.core.routes import Route
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell
    from octavo.tui.core.view import View


_VIEW = "view"


def first_view(session: Session) -> str:
    """Return the first view of a session: Content for a folder or if you quit in Content, else the inbox."""
    is_reading = session.kind == "folder" or session.state.get_fact(_VIEW) == "content"
    return "content" if is_reading else "inbox"


def remember_view(session: Session, mode: str) -> None:
    """Save the current view for the next start."""
    session.state.set_fact(_VIEW, mode)


async def go_to_first_route(app: Shell, finding: Awaitable[Route]) -> None:
    """Go to the screen that `finding` returns. If `finding` raises ApiError or ValueError, show the message of the
    error."""
    try:
        route = await finding
    except (ApiError, ValueError) as error:
        app.say(str(error), tone="failed")
        return
    if not app.is_ending:
        app.go(route)


DELAY = 1.0
"""Seconds for which a page is shown before its picture is taken, so that turning pages stays fast."""
_MOST_TRIES = 20

CACHED = "○ cached"
_CONNECTION = re.compile("[●○] ")


@runtime_checkable
class StartView(Protocol):
    """A view that can be the first view of a start."""

    @property
    def is_in_start_state(self) -> bool:
        """True if the view looks as it would after a start."""

    def save_position(self) -> None:
        """Save the current position, as quitting does."""


class PictureRecorder:
    """Takes pictures of the first view, and deletes the last picture if the next start will look different."""

    def __init__(self, app: Shell, picture: FirstPicture) -> None:
        self._app, self._picture = app, picture
        self._timer: Timer | None = None
        self._recorded = self._state_of_next_start() if picture.is_saved else None
        """The state that the saved picture shows. None if no picture is saved. Then the app takes a picture
        when it quits, if not earlier."""

    def page_shown(self, screen: View) -> None:
        """Take a picture of a view soon, because it shows another page or another state of the inbox."""
        if self._timer is not None:
            self._timer.stop()
        self._schedule_picture(screen, tries=_MOST_TRIES)

    def _schedule_picture(self, screen: View, tries: int) -> None:
        def take_or_retry() -> None:
            # A notification, such as the greeting, may cover the screen for some seconds.
            if not self._take_picture() and tries > 1:
                self._schedule_picture(screen, tries - 1)

        self._timer = screen.set_timer(DELAY, take_or_retry)

    def end(self) -> None:
        """Save the position in the view. Update or delete the picture if the next start will look different."""
        if (screen := self._start_view) is not None:
            screen.save_position()
        if self._recorded != self._state_of_next_start() and not self._take_picture():
            self._picture.delete()

    def _take_picture(self) -> bool:
        """Take a picture of the view. Return False if something covers the view or it is no first view."""
        screen = self._start_view
        if screen is None or not screen.is_in_start_state or not (rows := rows_of(self._app.screen)):
            return False
        screen.save_position()
        self._picture.save(rows)
        self._recorded = self._state_of_next_start()
        return True

    @property
    def _start_view(self) -> StartView | None:
        """The current view. None if it cannot be the first view, or is still being built."""
        screen = self._app.screen
        return screen if is_whole(screen) and isinstance(screen, StartView) else None

    def _state_of_next_start(self) -> tuple[Any, ...]:
        """Return the values that the first view after the next start depends on: the organization, the theme, and the
        inbox rows or the open page with its reading position. Empty without a session."""
        if not self._app.has_session:
            return ()
        session = self._app.session
        state = session.state
        if first_view(session) == "inbox":
            inbox = self._app.workspace.inbox.rows
            return ("inbox", state.get_fact("organization"), inbox.active if inbox is not None else (), self._app.theme)
        return (
            state.get_fact("organization"),
            (space := state.get_fact("space")),
            (page := state.get_fact(f"page {space}")),
            ReadingPositions(state).get(f"{space} {page}"),
            self._app.theme,
        )


def rows_of(screen: Screen[Any]) -> list[str]:
    """Return the rows of a screen as terminal text. The connection status is replaced by `○ cached`. Empty before the
    first layout of the screen."""
    rows = painted_rows(screen)
    rows[:1] = map(_marked_as_cached, rows[:1])
    return [_without_links(strip).render(screen.app.console) for strip in rows]


def _marked_as_cached(bar: Strip) -> Strip:
    segments = list(bar)
    for index, segment in enumerate(segments[:-1]):
        if _CONNECTION.match(segment.text):
            # Use the style of the next segment. The color of the connection status would say that the data is live.
            segments[index] = Segment(CACHED.ljust(segment.cell_length), segments[index + 1].style)
    return Strip(segments, bar.cell_length)


def _without_links(strip: Strip) -> Strip:
    """Return a row without hyperlinks, because a picture may contain only text and styles."""
    if not any(style is not None and style.link for _, style, _ in strip):
        return strip
    return Strip([Segment(text, style.update_link(None) if style else None) for text, style, _ in strip])
