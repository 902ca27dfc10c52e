"""Opens the screen of each route, such as a page or a change request: start at `go`. Also decides which view is shown
first, and takes the picture that the next start shows while it is loading.

Screens are imported when they are first shown, because each import takes a tenth of a second. `tests/test_layers.py`
counts the names of modules in texts such as `VIEWS` as imports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from rich.segment import Segment
from textual.screen import ModalScreen, Screen
from textual.strip import Strip

from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, CollectionRef, SpaceRef
from octavo.first_picture import FirstPicture
from octavo.lazy_import import lazy, load
from octavo.tui.core.routes import (
    Route,
    ToAccess,
    ToActivity,
    ToChangeRequest,
    ToCollection,
    ToPage,
    ToSearch,
    ToThread,
)
from octavo.tui.core.shell import opening
from octavo.tui.core.view import View
from octavo.tui.editing.page_drafts import ToConflicts
from octavo.tui.reader.reading_position import ReadingPositions
from octavo.tui.terminal.display import simplify_emoji
from octavo.tui.terminal.textual_internals import is_fully_mounted, painted_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from textual.timer import Timer

    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.content.content_screen import ContentScreen
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell
    from octavo.tui.resources.resource_browser import BrowserScreen

_get_change_request = lazy("octavo.api.change_requests:Get")


VIEWS = {
    "sign_in": "octavo.tui.app.sign_in:SignInScreen",
    "inbox": "octavo.tui.inbox.inbox_screen:InboxScreen",
    "content": "octavo.tui.content.content_screen:ContentScreen",
    "changes": "octavo.tui.review.request_list:RequestListScreen",
    "comments": "octavo.tui.comments.comments_screen:CommentsScreen",
    "sites": "octavo.tui.resources.site_resources:create_screen",
    "admin": "octavo.tui.resources.organization_resources:create_screen",
}
"""For each Textual mode, the class or function that creates its view, as `MODULE:NAME`."""
CHANGE_REQUEST = "octavo.tui.review.request_view:ChangeRequestScreen"
SEARCH = "octavo.tui.content.search:SearchScreen"
ACTIVITY = "octavo.tui.app.activity:ActivityScreen"
OWN_CONFLICTS = "octavo.tui.review.conflicts:DraftConflictsScreen"


def screen(name: str, *arguments: Any) -> Screen[Any]:
    """Import the class or function that `name` names as `MODULE:NAME`, and create the screen."""
    new_screen: Screen[Any] = load(name)(*arguments)
    return new_screen


def view_factory(mode: str) -> Callable[[], Screen[Any]]:
    """Return a function that imports and creates the view of a Textual mode."""
    return lambda: screen(VIEWS[mode])


def go(shell: Shell, route: Route) -> None:
    """Show what a route leads to: open its screen, or select an item in a view."""
    match route:
        case ToPage():
            _go_to_page(shell, route)
        case ToCollection():
            _go_to_collection(shell, route)
        case ToAccess(at=at):
            _go_to_access(shell, at)
        case ToChangeRequest():
            _go_to_change_request(shell, route)
        case ToSearch(query=query):
            shell.push_screen(screen(SEARCH, query))
        case ToThread():
            shell.background(_go_to_thread(shell, route))
        case ToActivity():
            shell.push_screen(screen(ACTIVITY))
        case ToConflicts():
            shell.push_screen(screen(OWN_CONFLICTS, shell, route))
        case _:
            raise TypeError(f"Octavo has no screen for {route}")


def _go_to_page(shell: Shell, route: ToPage) -> None:
    if reason := shell.workspace.why_no_space(route.space_id):
        shell.say(reason, tone="care")
        return
    shell.history.record()

    async def show() -> None:
        content = await _switch_to_content(shell, route)
        if is_fully_mounted(content):
            content.spaces.open_requested_route()
            if route.block_or_anchor:
                content.page_view.focus()  # The next keys then act on the block that the route names.

    shell.background(show())


def _go_to_collection(shell: Shell, route: ToCollection) -> None:
    shell.history.record()

    async def show() -> None:
        content = await _switch_to_content(shell)
        if not is_fully_mounted(content):
            return  # The app is exiting.
        content.open_space.nav.show_tree("spaces", content.open_space.space, takes_focus=True)
        tree, collections = content.open_space.nav.spaces_tree, content.subscriptions.operation("collections")
        if not tree.select_hidden(route.collection_id) and collections is not None:
            await shell.session.live.refresh(collections)  # The list may not be loaded yet, or be out of date.
        if is_fully_mounted(content) and not tree.select_hidden(route.collection_id):
            shell.say(
                "Could not find the collection. It may have been deleted, or you may not have access.", tone="care"
            )

    shell.background(show())


def _go_to_access(shell: Shell, at: SpaceRef | CollectionRef) -> None:
    kind, key = ("spaces", at.space_id) if isinstance(at, SpaceRef) else ("collections", at.collection_id)
    shell.history.record()

    async def show() -> None:
        await shell.switch_mode("admin")
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        admin_view = cast("BrowserScreen", shell.screen_stack[0])
        if is_fully_mounted(admin_view):
            admin_view.pending_navigation.open_item(kind, key, "everyone with access")

    shell.background(show())


async def _switch_to_content(shell: Shell, route: ToPage | None = None) -> ContentScreen:
    view_switch = shell.switch_mode("content")
    content = cast("ContentScreen", shell.screen_stack[0])
    content.spaces.requested_route = route or content.spaces.requested_route
    await view_switch
    while len(shell.screen_stack) > 1:
        await shell.pop_screen()
    return content


def _go_to_change_request(shell: Shell, route: ToChangeRequest) -> None:
    change_request = route.change_request
    if change_request is None:

        async def load_and_go() -> None:
            with opening(shell, "Loading the change request…", "Could not load the change request"):
                change_request: ChangeRequest = await shell.session.live.cached_or_fetch(
                    _get_change_request(at=route.at)
                )
            go(shell, replace(route, change_request=change_request))

        shell.background(load_and_go())
        return
    shell.history.record()
    # Do not wait for the screens to change, because the next key must reach the new screen.
    with shell.history.paused():
        shell.switch_mode("changes")
        while len(shell.screen_stack) > 1:
            shell.pop_screen()
        shell.push_screen(screen(CHANGE_REQUEST, change_request, route.at.space, route.thread, route.block))


async def _go_to_thread(shell: Shell, route: ToThread) -> None:
    if isinstance(shell.screen, ModalScreen):
        return  # Called by an undo in a dialog: stay in the dialog.
    if _select_thread(shell, route):
        return
    if route.mode in ("comments", "inbox"):
        await shell.switch_mode(route.mode)
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        if shell.is_ending or _select_thread(shell, route) or route.mode == "inbox":
            return
    current_screen = shell.screen
    if isinstance(current_screen, View) and current_screen.go_to_block(route.at, route.page_id, route.block_key):
        return
    if isinstance(route.at, ChangeRequestRef):
        go(shell, ToChangeRequest(route.at, thread=route.thread))
    else:
        go(shell, ToPage(route.at.space_id, route.page_id, route.block_key))


def _select_thread(shell: Shell, route: ToThread) -> bool:
    current_screen = shell.screen
    return isinstance(current_screen, View) and current_screen.go_to_thread(route.at, route.thread)


_VIEW = "view"


def first_view(session: Session) -> str:
    """Return the mode of the first view: `content` for a folder or if the user last quit in `content`, else `inbox`."""
    starts_in_content = session.kind == "folder" or session.state.get_value(_VIEW) == "content"
    return "content" if starts_in_content else "inbox"


def remember_view(session: Session, mode: str) -> None:
    """Store the mode of the current view, for `first_view` at the next start."""
    session.state.set_value(_VIEW, mode)


async def go_to_first_route(app: Shell, awaitable: Awaitable[Route]) -> None:
    """Wait for a route and show it. If it raises ApiError or ValueError, show the message."""
    try:
        route = await awaitable
    except (ApiError, ValueError) as error:
        app.say(str(error), tone="failed")
        return
    if not app.is_ending:
        app.go(route)


_PICTURE_DELAY = 1.0
"""Seconds after a page is shown until a picture of it is taken."""
_MAX_TRIES = 20

CACHED = "○ cached"
_CONNECTION = re.compile("[●○] ")


@runtime_checkable
class StartView(Protocol):
    """A view that may be shown first after a start."""

    @property
    def is_in_start_state(self) -> bool:
        """True if the next start will show the view as it looks now."""

    def save_position(self) -> None:
        """Store the scroll position, so that the next start can restore it."""


class PictureRecorder:
    """Takes a picture of the first view for the next start. Deletes the picture if the next start will differ."""

    def __init__(self, app: Shell, picture: FirstPicture) -> None:
        self._app, self._picture = app, picture
        self._timer: Timer | None = None
        self._recorded_state = self._state_of_next_start() if picture.is_saved else None
        """Description of the view in the saved picture, from `_state_of_next_start`. None if no picture is saved."""

    def record_soon(self, screen: View) -> None:
        """Take a picture of `screen` in about a second. If this is not possible yet, try again."""
        if self._timer is not None:
            self._timer.stop()
        self._schedule_picture(screen, tries_left=_MAX_TRIES)

    def _schedule_picture(self, screen: View, tries_left: int) -> None:
        def take_or_retry() -> None:
            # Try again, because a notification, such as the greeting, may cover the screen for some seconds.
            if not self._take_picture() and tries_left > 1:
                self._schedule_picture(screen, tries_left - 1)

        self._timer = screen.set_timer(_PICTURE_DELAY, take_or_retry)

    def end(self) -> None:
        """Store the scroll position. If the picture is outdated, replace it. If this fails, delete the picture."""
        if (screen := self._start_view) is not None:
            screen.save_position()
        if self._recorded_state != self._state_of_next_start() and not self._take_picture():
            self._picture.delete()

    def _take_picture(self) -> bool:
        screen = self._start_view
        if screen is None or not screen.is_in_start_state or not (rows := rows_of(self._app.screen)):
            return False
        screen.save_position()
        self._picture.save(rows)
        self._recorded_state = self._state_of_next_start()
        return True

    @property
    def _start_view(self) -> StartView | None:
        screen = self._app.screen
        return screen if is_fully_mounted(screen) and isinstance(screen, StartView) else None

    def _state_of_next_start(self) -> tuple[Any, ...]:
        """Return what determines how the next start looks, such as the page and the theme. Empty without a session."""
        if not self._app.has_session:
            return ()
        session = self._app.session
        state = session.state
        if first_view(session) == "inbox":
            inbox = self._app.workspace.inbox.rows
            return (
                "inbox",
                state.get_value("organization"),
                inbox.active if inbox is not None else (),
                self._app.theme,
            )
        return (
            state.get_value("organization"),
            (space := state.get_value("space")),
            (page := state.get_value(f"page {space}")),
            ReadingPositions(state).get(f"{space} {page}"),
            self._app.theme,
        )


def rows_of(screen: Screen[Any]) -> list[str]:
    """Return the rows of a screen as text with terminal escape sequences. The connection status is replaced by `○
    cached`. Empty before the first layout."""
    rows = painted_rows(screen)
    rows[:1] = map(_marked_as_cached, rows[:1])
    return [simplify_emoji(_without_links(strip).render(screen.app.console)) for strip in rows]


def _marked_as_cached(bar: Strip) -> Strip:
    segments = list(bar)
    for index, segment in enumerate(segments[:-1]):
        if _CONNECTION.match(segment.text):
            # The color of the status would say that the data is live, so use the style of the next segment.
            segments[index] = Segment(CACHED.ljust(segment.cell_length), segments[index + 1].style)
    return Strip(segments, bar.cell_length)


def _without_links(strip: Strip) -> Strip:
    if not any(style is not None and style.link for _, style, _ in strip):
        return strip
    return Strip([Segment(text, style.update_link(None) if style else None) for text, style, _ in strip])
