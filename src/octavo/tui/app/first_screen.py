"""Painting the first screen only when it is complete, and repeated views without delay."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from textual.app import App, ReturnType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import AwaitMount

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

_VIEW = "view"


def first_view(session: Session) -> str:
    """Return the first view of a session: Content for a folder or if you quit in Content, else the inbox."""
    is_reading = session.kind == "folder" or session.state.get_fact(_VIEW) == "content"
    return "content" if is_reading else "inbox"


def remember_view(session: Session, mode: str) -> None:
    """Save the current view for the next start."""
    session.state.set_fact(_VIEW, mode)


class DelayedPaintApp(App[ReturnType]):
    """A base class of apps that paint nothing and compute no styles between `delay_paint` and `paint_first_screen`.

    Focus and CSS classes change often while the first screen is built. Styles are computed once, before it is painted.
    """

    is_opening = True
    """True until the first screen is painted."""
    _is_switching_back = False
    """True while the app switches to a view that has a screen already."""

    def delay_paint(self) -> None:
        """Paint nothing until `paint_first_screen`."""
        # From Python 3.12 on, Textual starts tasks eagerly. An input of the first screen would then look for a screen
        # that does not exist yet, and the app would crash.
        asyncio.get_running_loop().set_task_factory(None)
        self._batch = ExitStack()
        self._batch.enter_context(self.batch_update())

    def paint_first_screen(self) -> None:
        """Compute the styles of the screens, and paint the first screen."""
        self.is_opening = False
        for screen in self.screen_stack:
            self.stylesheet.update(screen)
        self._batch.close()
        self.screen.refresh(layout=True)

    def screens_of(self, mode: str) -> list[Screen[Any]]:
        """Return the screens of a mode, the lowest first. Empty if the mode was not shown yet."""
        try:
            return self.get_screen_stack(mode)
        except KeyError:
            return []

    def switch_mode(self, mode: str) -> AwaitMount:
        self._is_switching_back = bool(self.screens_of(mode))
        try:
            return super().switch_mode(mode)
        finally:
            self._is_switching_back = False

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay the next frames, except when the app switches to a view that has a screen already."""
        if not self._is_switching_back:
            super().delay_update(delay)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        if not self.is_opening:
            super().update_styles(node, animate=animate)
