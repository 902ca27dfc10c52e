"""Screens over one another: what is covered wholly is not seen, and nothing is laid out or painted for it."""

from __future__ import annotations

from typing import Any

from textual.app import App, ReturnType
from textual.screen import Screen


class Covering(App[ReturnType]):
    """Put before an app: the screen below one that lets nothing through is at rest until it is shown again.

    Textual counts it as seen. With every answer that came it would be laid out, and the screen above painted whole.
    """

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        stack = self._screen_stack
        return [] if stack and stack[-1].styles.background.a == 1 else super()._background_screens
