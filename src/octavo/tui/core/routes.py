"""Destinations of navigation, such as `ToPage`, which `tui/app/routes.py` opens, and the history of destinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from octavo.api.operation import ChangeRequestRef, CollectionRef, SpaceRef
from octavo.tui.terminal.textual_internals import is_fully_mounted

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment


@dataclass(frozen=True)
class Route:
    """A destination of navigation."""


@dataclass(frozen=True)
class ToPage(Route):
    """A page of a space. `page` is its ID or path. If `page` is None, the page that was read last. `block_or_anchor` is
    a block key, or `#` and an anchor."""

    space_id: str
    page: str | None = None
    block_or_anchor: str = ""


@dataclass(frozen=True)
class ToCollection(Route):
    """A collection, selected in the list of spaces."""

    collection_id: str


@dataclass(frozen=True)
class ToAccess(Route):
    """The view of who has access to a space or collection."""

    at: SpaceRef | CollectionRef


@dataclass(frozen=True)
class ToChangeRequest(Route):
    """A change request, and optionally the thread, page or block to select in it."""

    at: ChangeRequestRef
    change_request: ChangeRequest | None = None
    thread: Comment | None = None
    block: tuple[str, str] | None = None
    """Page ID and block key to select first. The block key may be empty. None to start at the top."""


@dataclass(frozen=True)
class ToSearch(Route):
    """The search screen, with `query` as the typed text."""

    query: str = ""


@dataclass(frozen=True)
class ToThread(Route):
    """A thread, or its page and block if the thread is not loaded."""

    at: SpaceRef | ChangeRequestRef
    thread: Comment | None
    page_id: str | None
    block_key: str
    mode: str
    """Textual mode of the view to try if the current view lacks the thread. Only `comments` and `inbox` are tried."""


@dataclass(frozen=True)
class ToActivity(Route):
    """The activity list, with unsent changes and the latest requests."""


_MAX_ENTRIES = 200
MAX_SCREENS = 4
"""Maximum number of screens that the history keeps in memory for going back."""


class ViewLocation(NamedTuple):
    """A view and the screens that were opened on top of it."""

    mode: str
    screens: tuple[Screen[Any], ...]
    """Screens on top of the view, the topmost last."""
    visit: object | None
    """Content of the view, such as the open page, for its method `restore_visit`. None if nothing must be restored."""


class HistoryEntry(NamedTuple):
    """A view to which the user can go back or forward."""

    location: ViewLocation
    has_opened_item: bool
    """True if the user left this view by opening an item in it."""


class NavigationHistory:
    """Views to which the user can go back or forward. The latest screens stay in memory, so they look unchanged."""

    def __init__(self, app: App[Any], all_screens: Callable[[], Sequence[Screen[Any]]]) -> None:
        """`all_screens` returns the open screens of all Textual modes."""
        self._app, self._all_screens = app, all_screens
        self._back_entries: list[HistoryEntry] = []
        self._forward_entries: list[HistoryEntry] = []
        self._is_paused = False

    def contains(self, screen: Screen[Any]) -> bool:
        """Return True if an entry of the history keeps `screen` in memory."""
        return any(screen in entry.location.screens for entry in (*self._back_entries, *self._forward_entries))

    def record(self, *, opens_item: bool = True) -> None:
        """Add the current view to the history before the app shows a new view. Drop the forward history, and close all
        dialogs. `opens_item` is True if the new view shows an item of the current view. Do nothing while paused."""
        current_location = self._current_location()
        if current_location is None or self._is_paused:
            return
        if not self._back_entries or self._back_entries[-1].location != current_location:
            self._back_entries.append(HistoryEntry(current_location, opens_item))
        else:
            self._back_entries[-1] = HistoryEntry(current_location, opens_item)
        dropped_entries = [*self._forward_entries, *self._back_entries[:-_MAX_ENTRIES]]
        self._forward_entries, self._back_entries = [], self._back_entries[-_MAX_ENTRIES:]
        self._remove_screens(screen for entry in dropped_entries for screen in entry.location.screens)
        self._limit_screens()
        while len(self._app.screen_stack) > 1 and self._app.screen.is_modal:
            self._app.pop_screen()

    def why_not(self, step: object) -> str | None:
        """Return why the user cannot go back (`step` -1) or forward (1). None if the user can."""
        current_location = self._current_location()
        if step == -1 and all(each.location == current_location for each in self._back_entries):
            return "You cannot go back any further."
        if step == 1 and not self._forward_entries:
            return "You cannot go forward any further."
        return None

    def go(self, step: int) -> None:
        """Go back (`step` -1) or forward (1). Do nothing at the end of the history."""
        self._drop_current()
        if step < 0 and self._back_entries:
            self._move(self._back_entries, self._forward_entries)
        elif step > 0 and self._forward_entries:
            self._move(self._forward_entries, self._back_entries)

    @property
    def can_go_up(self) -> bool:
        """True if the user opened the current item from a list, to which `go_up` goes back."""
        current_location = self._current_location()
        entry = next((each for each in reversed(self._back_entries) if each.location != current_location), None)
        if current_location is None or entry is None or not entry.has_opened_item:
            return False
        # Both locations have the same screens if the user came from another page, not from a list.
        return (entry.location.mode, entry.location.screens) != (current_location.mode, current_location.screens)

    def go_up(self) -> bool:
        """Go back to the list from which the user opened the current item. Return False if there is no such list."""
        if can_go_up := self.can_go_up:
            self.go(-1)
        return can_go_up

    def close_screen(self) -> bool:
        """Go back to the list from which the user opened the current screen. Without such a list, close the screen.
        Return False if there is no screen below."""
        if self.go_up():
            return True
        if has_screen_below := len(self._app.screen_stack) > 1:
            self._app.pop_screen()
        return has_screen_below

    def clear(self) -> None:
        dropped_entries = [*self._back_entries, *self._forward_entries]
        self._back_entries, self._forward_entries = [], []
        self._remove_screens(screen for entry in dropped_entries for screen in entry.location.screens)

    def _current_location(self) -> ViewLocation | None:
        stack = self._app.screen_stack
        if not stack or not can_return_to(base_screen := stack[0]) or not is_fully_mounted(base_screen):
            return None
        screens = tuple(each for each in stack[1:] if can_return_to(each))
        return ViewLocation(self._app.current_mode, screens, getattr(base_screen, "current_visit", None))

    def _drop_current(self) -> None:
        current_location = self._current_location()
        while self._back_entries and self._back_entries[-1].location == current_location:
            self._back_entries.pop()

    def _move(self, source: list[HistoryEntry], target: list[HistoryEntry]) -> None:
        current_location, entry = self._current_location(), source.pop()
        if current_location is not None:
            target.append(HistoryEntry(current_location, entry.has_opened_item))
        with self.paused():
            self._show(entry)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Add nothing to the history while the `with` block runs."""
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def _show(self, entry: HistoryEntry) -> None:
        app, location = self._app, entry.location
        if app.current_mode != location.mode:
            if entry.has_opened_item:
                self._pop_to(())
            app.switch_mode(location.mode)
        self._pop_to(location.screens)
        for screen in location.screens[len(app.screen_stack) - 1 :]:
            app.push_screen(screen)
        base_screen = app.screen_stack[0]
        if location.visit is not None and getattr(base_screen, "current_visit", None) != location.visit:
            base_screen.restore_visit(location.visit)  # type: ignore[attr-defined]  # screens with `current_visit` have `restore_visit`

    def _pop_to(self, screens: tuple[Screen[Any], ...]) -> None:
        """Close screens from the top until `screens` begins with the screens that are still open."""
        stack = self._app.screen_stack
        while len(stack) > 1 and tuple(stack[1:]) != screens[: len(stack) - 1]:
            self._app.pop_screen()
            stack = self._app.screen_stack

    def _limit_screens(self) -> None:
        screens = list(
            dict.fromkeys(screen for entry in reversed(self._back_entries) for screen in entry.location.screens)
        )
        if excess_screens := set(screens[MAX_SCREENS:]):
            self._back_entries = [
                entry._replace(location=entry.location._replace(screens=()))
                if excess_screens & set(entry.location.screens)
                else entry
                for entry in self._back_entries
            ]
            self._remove_screens(excess_screens)

    def _remove_screens(self, screens: Iterable[Screen[Any]]) -> None:
        open_screens = self._all_screens()
        for screen in dict.fromkeys(screens):
            if screen.is_running and screen not in open_screens and not self.contains(screen):
                screen.remove()


def can_return_to(screen: Screen[Any]) -> bool:
    """Return True if the history can show a screen again. False for dialogs."""
    return bool(getattr(screen, "IN_HISTORY", False))
