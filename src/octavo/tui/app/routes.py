"""Which screen shows what: the one place that knows the screens of all rooms, and how one goes to each.

Views are named, not imported: each is a tenth of a second of importing that the first screen would wait for. Who may
import whom is still held for them (`tests/test_layers.py`), for names of modules count as imports.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from textual.screen import ModalScreen, Screen

from octavo.api.places import ChangeRequestRef, CollectionRef, SpaceRef
from octavo.tui.shell.routes import (
    Route,
    ToAccess,
    ToActivity,
    ToChangeRequest,
    ToCollection,
    ToPage,
    ToSearch,
    ToThread,
)
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.writing.routes import ToConflicts

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment
    from octavo.api.places import Discussion
    from octavo.tui.content.content import ContentScreen
    from octavo.tui.resources.browser import BrowserScreen
    from octavo.tui.shell.shell import Shell

VIEWS = {
    "sign_in": "octavo.tui.app.sign_in:SignInScreen",
    "inbox": "octavo.tui.inbox.inbox:InboxScreen",
    "content": "octavo.tui.content.content:ContentScreen",
    "changes": "octavo.tui.review.change_requests:ChangesScreen",
    "comments": "octavo.tui.comments.all_threads:CommentsScreen",
    "sites": "octavo.tui.resources.site_resources:screen",
    "admin": "octavo.tui.resources.organization_resources:screen",
}
"""The modes of the app."""
CHANGE_REQUEST = "octavo.tui.review.change_request:ChangeRequestScreen"
SEARCH = "octavo.tui.content.search:SearchScreen"
ACTIVITY = "octavo.tui.app.activity:ActivityScreen"
OWN_CONFLICTS = "octavo.tui.review.own_conflicts:OwnConflictsScreen"


def screen(name: str, *parts: Any) -> Screen[Any]:
    """A screen, imported when it is first shown."""
    module, _, kind = name.partition(":")
    made: Screen[Any] = getattr(import_module(module), kind)(*parts)
    return made


def view(mode: str) -> Callable[[], Screen[Any]]:
    """What makes the view of a mode."""
    return lambda: screen(VIEWS[mode])


def go(shell: Shell, route: Route) -> None:
    """Go where a route leads."""
    match route:
        case ToPage():
            _to_page(shell, route)
        case ToCollection():
            _to_collection(shell, route)
        case ToAccess(at=at):
            _to_access(shell, at)
        case ToChangeRequest():
            _to_change_request(shell, route)
        case ToSearch(words=words):
            shell.push_screen(screen(SEARCH, words))
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
        where = shell.workspace.organization.title if shell.workspace.organization is not None else "this organization"
        shell.say(
            f"Could not find the space {route.space} in {where}. It may have been deleted, or you may not have access.",
            tone="care",
        )
        return

    shell.trail.leave()

    async def show() -> None:
        content = await _content(shell, route)
        if is_whole(content):
            content.spaces.take_wanted()
            if route.part:
                content.view.focus()  # the next keys are for the block or heading that was asked for

    shell.background(show())


def _to_collection(shell: Shell, route: ToCollection) -> None:
    shell.trail.leave()

    async def show() -> None:
        content = await _content(shell)
        if not is_whole(content):
            return  # the app ends
        content.reading.nav.choose("spaces", content.reading.space, focus=True)
        if not content.reading.nav.spaces.select_hidden(route.collection):
            shell.say(
                "Could not find the collection. It may have been deleted, or you may not have access.", tone="care"
            )

    shell.background(show())


def _to_access(shell: Shell, at: SpaceRef | CollectionRef) -> None:
    kind, key = ("spaces", at.space_id) if isinstance(at, SpaceRef) else ("collections", at.collection_id)
    shell.trail.leave()

    async def show() -> None:
        await shell.switch_mode("admin")
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        organization = cast("BrowserScreen", shell.screen_stack[0])
        if is_whole(organization):
            organization.seeking.begin(kind, key, "everyone with access")

    shell.background(show())


async def _content(shell: Shell, wanted: ToPage | None = None) -> ContentScreen:
    """The view of content, with nothing over it. What is `wanted` there it knows before it shows what was read last."""
    switched = shell.switch_mode("content")
    content = cast("ContentScreen", shell.screen_stack[0])
    content.spaces.wanted = wanted or content.spaces.wanted
    await switched
    while len(shell.screen_stack) > 1:
        await shell.pop_screen()
    return content


def _to_change_request(shell: Shell, route: ToChangeRequest) -> None:
    change_request = route.known
    if change_request is None:

        async def read() -> None:
            from octavo.api.change_requests import Get  # the first screen does without

            known: ChangeRequest = await shell.session.live.cached_or_fetch(Get(at=route.at))
            go(shell, ToChangeRequest(route.at, known, route.thread))

        shell.background(read())
        return
    shell.trail.leave()
    # At once, and not behind: the next key is already for this screen.
    with shell.trail.going():
        shell.switch_mode("changes")
        while len(shell.screen_stack) > 1:
            shell.pop_screen()
        shell.push_screen(screen(CHANGE_REQUEST, change_request, route.at.space, route.thread))


# Threads


@runtime_checkable
class ShowsThreads(Protocol):
    """A screen that can bring a thread on show."""

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Put the cursor on a thread, or where there was one. False: it is not of this screen."""


@runtime_checkable
class ShowsPlaces(Protocol):
    """A screen of the pages of a place that people talk about."""

    def go_to_place(self, at: Discussion, page: str | None, node: str) -> bool:
        """Go to a block of a page. False: it is not of what is on show."""


async def _to_thread(shell: Shell, route: ToThread) -> None:
    if isinstance(shell.screen, ModalScreen):
        return  # a thread is open over the view: what is done there is seen there
    if _shows(shell, route):
        return
    if route.view in ("comments", "inbox"):
        await shell.switch_mode(route.view)
        while len(shell.screen_stack) > 1:
            await shell.pop_screen()
        if shell.ending or _shows(shell, route) or route.view == "inbox":
            return
    on_show = shell.screen
    if isinstance(on_show, ShowsPlaces) and on_show.go_to_place(route.at, route.page, route.node):
        return
    if isinstance(route.at, ChangeRequestRef):
        go(shell, ToChangeRequest(route.at, thread=route.thread))
    else:
        go(shell, ToPage(route.at.space_id, route.page, route.node))


def _shows(shell: Shell, route: ToThread) -> bool:
    on_show = shell.screen
    return isinstance(on_show, ShowsThreads) and on_show.go_to_thread(route.at, route.thread)
