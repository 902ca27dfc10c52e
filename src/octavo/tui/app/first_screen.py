"""The first screen, made before anything of it is painted; and a stylesheet in which nothing is parsed twice."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from textual.app import App, ReturnType
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

SOURCES = 1000
"""More than the app and all its screens and widgets have."""


class HeldBack(App[ReturnType]):
    """Put before an app: from `hold_back` to `show_first` it paints nothing, and looks up no styles again.

    Focus and classes change often while the first screen is made. What it looks like is found out once, to paint it.
    """

    opening = True
    """Until the first screen holds what is known."""

    def hold_back(self) -> None:
        # From Python 3.12 on Textual has tasks begin at once: a field of the first screen would look for a screen that
        # is not there yet, and end the app. They begin in their turn on every Python.
        asyncio.get_running_loop().set_task_factory(None)
        self._held = ExitStack()
        self._held.enter_context(self.batch_update())

    def show_first(self) -> None:
        self.opening = False
        for screen in self.screen_stack:
            self.stylesheet.update(screen)
        self._held.close()
        self.screen.refresh(layout=True)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        if not self.opening:
            super().update_styles(node, animate=animate)


class OnceParsed(Stylesheet):
    """Parses each source once for each set of colours. Textual parses all of them for each screen that brings one."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(SOURCES)

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()
