"""Destinations of navigation, such as `ToPage`, and the navigation history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from octavo.api.operation import ChangeRequestRef, CollectionRef, SpaceRef
from octavo.tui.terminal.textual_internals import is_whole

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment


@dataclass(frozen=True)
class Route:
    """A destination of navigation."""


@dataclass(frozen=True)
class ToPage(Route):
    """A page of a space, by default the last page read. `part` is a block key, or `#` and an anchor."""

    space: str
    page: str | None = None
    block_or_anchor: str = ""


@dataclass(frozen=True)
class ToCollection(Route):
    """A collection in the list of spaces."""

    collection: str


@dataclass(frozen=True)
class ToAccess(Route):
    """Access settings of a space or collection."""

    at: SpaceRef | CollectionRef


@dataclass(frozen=True)
class ToChangeRequest(Route):
    """A change request, and optionally one of its threads, pages or blocks."""

    at: ChangeRequestRef
    change_request: ChangeRequest | None = None
    thread: Comment | None = None
    block: tuple[str, str] | None = None
    """Id of the first page, and key of the block to select there. The key may be empty."""


@dataclass(frozen=True)
class ToSearch(Route):
    """The search screen with initial search words."""

    query: str = ""


@dataclass(frozen=True)
class ToThread(Route):
    """A comment or reply: its thread if the thread is loaded, else its page and block."""

    at: SpaceRef | ChangeRequestRef
    thread: Comment | None
    page: str | None
    node: str
    view: str
    """The view in which the user wrote the comment."""


@dataclass(frozen=True)
class ToActivity(Route):
    """The outbox and the latest requests."""


_MAX_ENTRIES = 200
MAX_SCREENS = 4
"""Maximum number of screens that the history keeps in memory."""


class ViewLocation(NamedTuple):
    """A location in the history: a view and the screens on top of it."""

    mode: str
    screens: tuple[Screen[Any], ...]
    """Screens on top of the view. The topmost screen is last."""
    visit: object | None
    """State that `restore_visit` of the view restores, such as the open page. May be None."""


class HistoryEntry(NamedTuple):
    """A stop, and the way in which the user left it."""

    location: ViewLocation
    opened_item: bool
    """True if the user left the stop by opening an item there."""


class NavigationHistory:
    """The stops before and after the current location. Their screens stay in memory and are shown again unchanged."""

    def __init__(self, app: App[Any], all_screens: Callable[[], Sequence[Screen[Any]]]) -> None:
        """`all_screens` returns the open screens of all modes."""
        self._app, self._all_screens = app, all_screens
        self._behind: list[HistoryEntry] = []
        self._ahead: list[HistoryEntry] = []
        self._is_paused = False

    def contains(self, screen: Screen[Any]) -> bool:
        """True if a stop in the history includes `screen`."""
        return any(screen in entry.location.screens for entry in (*self._behind, *self._ahead))

    def record(self, *, opens_item: bool = True) -> None:
        """Add the current location to the history, and close all dialogs. `opens_item` is True if the user opens an
        item there."""
        current = self._current_location()
        if current is None or self._is_paused:
            return
        if not self._behind or self._behind[-1].location != current:
            self._behind.append(HistoryEntry(current, opens_item))
        else:
            self._behind[-1] = HistoryEntry(current, opens_item)
        dropped = [*self._ahead, *self._behind[:-_MAX_ENTRIES]]
        self._ahead, self._behind = [], self._behind[-_MAX_ENTRIES:]
        self._remove_screens(screen for entry in dropped for screen in entry.location.screens)
        self._limit_screens()
        while len(self._app.screen_stack) > 1 and self._app.screen.is_modal:
            self._app.pop_screen()

    def why_not(self, step: object) -> str | None:
        """Return the reason why `go(step)` is not possible, or None."""
        current = self._current_location()
        if step == -1 and all(each.location == current for each in self._behind):
            return "You cannot go back any further."
        if step == 1 and not self._ahead:
            return "You cannot go forward any further."
        return None

    def go(self, step: int) -> None:
        """Go back if `step` is -1, or forward if it is 1."""
        self._drop_current()
        if step < 0 and self._behind:
            self._move(self._behind, self._ahead)
        elif step > 0 and self._ahead:
            self._move(self._ahead, self._behind)

    def go_up(self) -> bool:
        """Go back to the list from which the current item was opened. Return False if there is none."""
        self._drop_current()
        current, previous = self._current_location(), self._behind[-1] if self._behind else None
        if current is None or previous is None or not previous.opened_item:
            return False
        if (previous.location.mode, previous.location.screens) == (current.mode, current.screens):
            return False  # Both stops are on the same screen: the user came from another page, not from a list.
        self.go(-1)
        return True

    def close_screen(self) -> None:
        """Go back to the list from which the current screen was opened, or close the screen."""
        if not self.go_up() and len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    def clear(self) -> None:
        dropped = [*self._behind, *self._ahead]
        self._behind, self._ahead = [], []
        self._remove_screens(screen for entry in dropped for screen in entry.location.screens)

    def _current_location(self) -> ViewLocation | None:
        stack = self._app.screen_stack
        if not stack or not can_return_to(base := stack[0]) or not is_whole(base):
            return None
        screens = tuple(each for each in stack[1:] if can_return_to(each))
        return ViewLocation(self._app.current_mode, screens, getattr(base, "current_visit", None))

    def _drop_current(self) -> None:
        current = self._current_location()
        while self._behind and self._behind[-1].location == current:
            self._behind.pop()

    def _move(self, source: list[HistoryEntry], target: list[HistoryEntry]) -> None:
        current, entry = self._current_location(), source.pop()
        if current is not None:
            target.append(HistoryEntry(current, entry.opened_item))
        with self.paused():
            self._show(entry)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record no stops while the `with` block runs."""
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def _show(self, entry: HistoryEntry) -> None:
        app, location = self._app, entry.location
        if app.current_mode != location.mode:
            if entry.opened_item:
                self._pop_to(())
            app.switch_mode(location.mode)
        self._pop_to(location.screens)
        for screen in location.screens[len(app.screen_stack) - 1 :]:
            app.push_screen(screen)
        base = app.screen_stack[0]
        if location.visit is not None and getattr(base, "current_visit", None) != location.visit:
            base.restore_visit(location.visit)  # type: ignore[attr-defined]  # screens with `current_visit` have `restore_visit`

    def _pop_to(self, screens: tuple[Screen[Any], ...]) -> None:
        """Close the topmost screens until the open screens are the first of `screens`."""
        stack = self._app.screen_stack
        while len(stack) > 1 and tuple(stack[1:]) != screens[: len(stack) - 1]:
            self._app.pop_screen()
            stack = self._app.screen_stack

    def _limit_screens(self) -> None:
        screens = list(dict.fromkeys(screen for entry in reversed(self._behind) for screen in entry.location.screens))
        if excess := set(screens[MAX_SCREENS:]):
            self._behind = [
                entry._replace(location=entry.location._replace(screens=()))
                if excess & set(entry.location.screens)
                else entry
                for entry in self._behind
            ]
            self._remove_screens(excess)

    def _remove_screens(self, screens: Iterable[Screen[Any]]) -> None:
        shown = self._all_screens()
        for screen in dict.fromkeys(screens):
            if screen.is_running and screen not in shown and not self.contains(screen):
                screen.remove()


def can_return_to(screen: Screen[Any]) -> bool:
    """True if the history can return to a screen. Dialogs are no stops."""
    return bool(getattr(screen, "IN_HISTORY", False))
