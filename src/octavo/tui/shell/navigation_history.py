"""The way one came, over all views: back, forward, and from what one opened to the list it was opened from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from textual.screen import Screen

from octavo.tui.shell.host import Host
from octavo.tui.terminal.textual_internals import is_whole

PLACES_HELD = 200
"""How many places one can go back to."""
MOST_HELD = 4
"""Screens that are kept as they were left. Of those one was on before, the view below them is shown."""


class Stop(NamedTuple):
    """A view as it was left."""

    mode: str
    over: tuple[Screen[Any], ...]
    """The screens over that of the mode, the topmost last."""
    visit: object | None
    """The page that was on show below them, in the words of the screen that shows it again."""


class Step(NamedTuple):
    """How one went on from a stop."""

    stop: Stop
    opened: bool
    """Something was opened there; else one went elsewhere by oneself."""


class NavigationHistory:
    """The stops behind and ahead. Screens of stops are not taken down: they are shown again as they were left."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self._behind: list[Step] = []
        self._ahead: list[Step] = []
        self._is_going = False

    @property
    def has_behind(self) -> bool:
        here = self._here()
        return any(step.stop != here for step in self._behind)

    @property
    def has_ahead(self) -> bool:
        return bool(self._ahead)

    def holds(self, screen: Screen[Any]) -> bool:
        """Whether it is shown again when one comes back."""
        return any(screen in step.stop.over for step in (*self._behind, *self._ahead))

    def leave(self, *, opened: bool = True) -> None:
        """One goes on from here: to what was `opened` here, or elsewhere. Dialogs are closed by that."""
        here = self._here()
        if here is None or self._is_going:
            return
        if not self._behind or self._behind[-1].stop != here:
            self._behind.append(Step(here, opened))
        else:
            self._behind[-1] = Step(here, opened)
        self._forget(self._ahead)
        self._forget(self._behind[:-PLACES_HELD])
        self._let_go()
        while len(self._app.screen_stack) > 1 and self._app.screen.is_modal:
            self._app.pop_screen()

    def why_not(self, step: object) -> str | None:
        """Why one cannot `travel` that way, in a sentence."""
        if step == -1 and not self.has_behind:
            return "There is no previous location to go back to."
        if step == 1 and not self.has_ahead:
            return "There is no next location to go forward to."
        return None

    def travel(self, step: int) -> None:
        """Go where one was before, or with 1 where one came back from."""
        self._skip_here()
        if step < 0 and self._behind:
            self._travel(self._behind, self._ahead)
        elif step > 0 and self._ahead:
            self._travel(self._ahead, self._behind)

    def up(self) -> bool:
        """Go back to the list that what is on show was opened from. False when it was not, or one went on since."""
        self._skip_here()
        here, last = self._here(), self._behind[-1] if self._behind else None
        if here is None or last is None or not last.opened:
            return False
        if (last.stop.mode, last.stop.over) == (here.mode, here.over):
            return False  # from one page to another: that is no list
        self.travel(-1)
        return True

    def leave_screen(self) -> None:
        """Go back to where what is on show was opened from, or to what is below it."""
        if not self.up() and len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    def clear(self) -> None:
        """One never was anywhere."""
        self._forget([*self._behind, *self._ahead])

    def _here(self) -> Stop | None:
        """Return where one is. None if the view is not ready: nobody has been there yet."""
        stack = self._app.screen_stack
        if not stack or not is_stop(base := stack[0]) or not is_whole(base):
            return None
        over = tuple(each for each in stack[1:] if is_stop(each))
        return Stop(self._app.current_mode, over, getattr(base, "here", None))

    def _skip_here(self) -> None:
        here = self._here()
        while self._behind and self._behind[-1].stop == here:
            self._behind.pop()

    def _travel(self, taken: list[Step], given: list[Step]) -> None:
        here, step = self._here(), taken.pop()
        if here is not None:
            given.append(Step(here, step.opened))
        with self.going():
            self._show(step)

    @contextmanager
    def going(self) -> Iterator[None]:
        """One is on the way: what is passed is no stop."""
        self._is_going = True
        try:
            yield
        finally:
            self._is_going = False

    def _show(self, step: Step) -> None:
        app, stop = self._app, step.stop
        if app.current_mode != stop.mode:
            if step.opened:
                self._pop_to(())
            app.switch_mode(stop.mode)
        self._pop_to(stop.over)
        for screen in stop.over[len(app.screen_stack) - 1 :]:
            app.push_screen(screen)
        base = app.screen_stack[0]
        if stop.visit is not None and getattr(base, "here", None) != stop.visit:
            base.show_again(stop.visit)  # type: ignore[attr-defined]  # who has visits shows them again

    def _pop_to(self, over: tuple[Screen[Any], ...]) -> None:
        """Take down what does not belong to it."""
        stack = self._app.screen_stack
        while len(stack) > 1 and tuple(stack[1:]) != over[: len(stack) - 1]:
            self._app.pop_screen()
            stack = self._app.screen_stack

    def _forget(self, steps: list[Step]) -> None:
        gone = list(steps)
        self._behind = [each for each in self._behind if each not in gone]
        self._ahead = [each for each in self._ahead if each not in gone]
        self._take_down(screen for step in gone for screen in step.stop.over)

    def _let_go(self) -> None:
        """Hold no more screens than there is room for: those left first go."""
        held = list(dict.fromkeys(screen for step in reversed(self._behind) for screen in step.stop.over))
        if too_many := set(held[MOST_HELD:]):
            self._behind = [
                step._replace(stop=step.stop._replace(over=())) if too_many & set(step.stop.over) else step
                for step in self._behind
            ]
            self._take_down(too_many)

    def _take_down(self, screens: Iterable[Screen[Any]]) -> None:
        shown = self._app.screens
        for screen in dict.fromkeys(screens):
            if screen.is_running and screen not in shown and not self.holds(screen):
                screen.remove()


def is_stop(screen: Screen[Any]) -> bool:
    """Whether one can come back to a screen: views and lists of results say so, dialogs do not."""
    return bool(getattr(screen, "IS_STOP", False))
