"""When an app paints its screens: the first one once it is made, one that is switched to again at once."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

from textual.app import App, ReturnType
from textual.dom import DOMNode
from textual.widget import AwaitMount

from octavo.tui.terminal.textual_internals import has_screen

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session

_VIEW = "view"


def first_view(session: Session) -> str:
    """The view a person begins in: the inbox. Who was reading when they left reads on; in a folder nothing else waits."""
    reads = session.kind == "folder" or session.state.get_fact(_VIEW) == "content"
    return "content" if reads else "inbox"


def remember_view(session: Session, mode: str) -> None:
    """The person went to a view."""
    session.state.set_fact(_VIEW, mode)


class HeldBack(App[ReturnType]):
    """Put before an app: from `hold_back` to `show_first` it paints nothing, and looks up no styles again.

    Focus and classes change often while the first screen is made. What it looks like is found out once, to paint it.
    """

    is_opening = True
    """Until the first screen holds what is known."""
    _is_switching_back = False
    """Whether the app switches to a view that has a screen already."""

    def hold_back(self) -> None:
        # From Python 3.12 on Textual has tasks begin at once: a field of the first screen would look for a screen that
        # is not there yet, and end the app. They begin in their turn on every Python.
        asyncio.get_running_loop().set_task_factory(None)
        self._held = ExitStack()
        self._held.enter_context(self.batch_update())

    def show_first(self) -> None:
        self.is_opening = False
        for screen in self.screen_stack:
            self.stylesheet.update(screen)
        self._held.close()
        self.screen.refresh(layout=True)

    def switch_mode(self, mode: str) -> AwaitMount:
        self._is_switching_back = has_screen(self, mode)
        try:
            return super().switch_mode(mode)
        finally:
            self._is_switching_back = False

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay the next frames. A view that has a screen is painted at once: Textual delays it, as it does a new one."""
        if not self._is_switching_back:
            super().delay_update(delay)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        if not self.is_opening:
            super().update_styles(node, animate=animate)
