"""The screen of each route, and the navigation to it. Start at `go`.

Screens are imported when they are shown, because each view takes a tenth of a second to load. `tests/test_layers.py` counts
their names as imports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from textual.screen import ModalScreen, Screen

from octavo.api.places import ChangeRequestRef, CollectionRef, SpaceRef
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
from octavo.tui.core.view import View
from octavo.tui.editing.page_drafts import ToConflicts
from octavo.tui.terminal.textual_internals import is_whole

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.content.content_screen import ContentScreen
    from octavo.tui.core.shell import Shell
    from octavo.tui.resources.resource_browser import BrowserScreen

_get_change_request = lazy("octavo.api.change_requests:Get")

VIEWS = {
    "sign_in": "octavo.tui.app.sign_in:SignInScreen",
    "inbox": "octavo.tui.inbox.inbox_screen:InboxScreen",
    "content": "octavo.tui.content.content_screen:ContentScreen",
    "changes": "octavo.tui.review.request_list:ChangesScreen",
    "comments": "octavo.tui.comments.comments_screen:CommentsScreen",
    "sites": "octavo.tui.resources.site_resources:create_screen",
    "admin": "octavo.tui.resources.organization_resources:create_screen",
}
"""The view of each mode of the app."""
CHANGE_REQUEST = "octavo.tui.review.request_view:ChangeRequestScreen"
SEARCH = "octavo.tui.content.search:SearchScreen"
ACTIVITY = "octavo.tui.app.activity:ActivityScreen"
OWN_CONFLICTS = "octavo.tui.review.draft_conflicts:DraftConflictsScreen"


def screen(name: str, *arguments: Any) -> Screen[Any]:
    """Import and create a screen, given as `MODULE:CLASS`."""
    created: Screen[Any] = load(name)(*arguments)
    return created


def view(mode: str) -> Callable[[], Screen[Any]]:
    """Return a function that creates the view of a mode."""
    return lambda: screen(VIEWS[mode])


def go(shell: Shell, route: Route) -> None:
    """Show the screen of a route."""
    match route:
        case ToPage():
            _to_page(shell, route)
        case ToCollection():
            _to_collection(shell, route)
        case ToAccess(at=at):
            _to_access(shell, at)
        case ToChangeRequest():
            _to_change_request(shell, route)
        case ToSearch(query=query):
            shell.push_screen(screen(SEARCH, query))
        case ToThread():
            shell.background(_to_thread(shell, route))
        case ToActivity():
            shell.push_screen(screen(ACTIVITY))
        case ToConflicts():
            shell.push_screen(screen(OWN_CONFLICTS, shell, route))
        case _:
            raise TypeError(f"Octavo has no screen for {route}")


def _to_page(shell: Shell, route: ToPage) -> None:
    if shell.workspace.spaces.value is not None and shell.workspace.space(route.space) is None:
        if shell.session.kind == "folder":
            shell.say("This link points outside this folder.", tone="care")
            return
        organization = (
            shell.workspace.organization.title if shell.workspace.organization is not None else "this organization"
        )
        shell.say(
            f"Could not find the space {route.space} in {organization}. It may have been deleted, or you may not have access.",
            tone="care",
        )
        return

    shell.history.record()

    async def show() -> None:
        content = await _content(shell, route)
        if is_whole(content):
            content.spaces.open_wanted()
            if route.part:
                content.page_view.focus()  # The next keys are for the block of the route.

    shell.background(show())


def _to_collection(shell: Shell, route: ToCollection) -> None:
    shell.history.record()

    async def show() -> None:
        content = await _content(shell)
        if not is_whole(content):
            return  # The app is exiting.
        content.open_space.nav.show_tree("spaces", content.open_space.space, focus=True)
        if not content.open_space.nav.spaces.select_hidden(route.collection):
            shell.say(
                "Could not find the collection. It may have been deleted, or you may not have access.", tone="care"
            )

    shell.background(show())


def _to_access(shell: Shell, at: SpaceRef | CollectionRef) -> None:
    kind, key = ("spaces", at.space_id) if isinstance(at, SpaceRef) else ("collections", at.collection_id)
    shell.history.record()

    async def show() -> None:
        await shell.switch_mode("admin")
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        organization = cast("BrowserScreen", shell.screen_stack[0])
        if is_whole(organization):
            organization.pending.open_item(kind, key, "everyone with access")

    shell.background(show())


async def _content(shell: Shell, wanted: ToPage | None = None) -> ContentScreen:
    """Switch to Content, close the screens on top of it, and return its screen. The screen then opens
    `wanted`, or by default the last page."""
    switched = shell.switch_mode("content")
    content = cast("ContentScreen", shell.screen_stack[0])
    content.spaces.wanted_route = wanted or content.spaces.wanted_route
    await switched
    while len(shell.screen_stack) > 1:
        await shell.pop_screen()
    return content


def _to_change_request(shell: Shell, route: ToChangeRequest) -> None:
    change_request = route.change_request
    if change_request is None:

        async def read() -> None:
            known: ChangeRequest = await shell.session.live.cached_or_fetch(_get_change_request(at=route.at))
            go(shell, replace(route, change_request=known))

        shell.background(read())
        return
    shell.history.record()
    # Not awaited: the next key must reach the new screen.
    with shell.history.paused():
        shell.switch_mode("changes")
        while len(shell.screen_stack) > 1:
            shell.pop_screen()
        shell.push_screen(screen(CHANGE_REQUEST, change_request, route.at.space, route.thread, route.block))


# Threads


async def _to_thread(shell: Shell, route: ToThread) -> None:
    if isinstance(shell.screen, ModalScreen):
        return  # The dialog shows the thread.
    if _select_thread(shell, route):
        return
    if route.view in ("comments", "inbox"):
        await shell.switch_mode(route.view)
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        if shell.is_ending or _select_thread(shell, route) or route.view == "inbox":
            return
    current = shell.screen
    if isinstance(current, View) and current.go_to_block(route.at, route.page, route.node):
        return
    if isinstance(route.at, ChangeRequestRef):
        go(shell, ToChangeRequest(route.at, thread=route.thread))
    else:
        go(shell, ToPage(route.at.space_id, route.page, route.node))


def _select_thread(shell: Shell, route: ToThread) -> bool:
    """Select the thread if the current screen contains it. Return whether it does."""
    current = shell.screen
    return isinstance(current, View) and current.go_to_thread(route.at, route.thread)
