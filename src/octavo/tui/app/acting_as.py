"""Switching to another user of the demo: the app ends for one user and starts for the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

_MAY = {
    "administrator": "do everything",
    "creator": "create spaces, review, and merge",
    "reviewer": "edit and review, but not merge",
    "editor": "edit and comment, but not review",
    "commenter": "read and comment",
    "reader": "read",
    "guest": "read one space only",
}
"""What each user may do, by role."""


def choose_role(app: Shell, begin: Callable[[Callable[[], Session]], None]) -> None:
    """Ask for a demo user, and `begin` again with the session of that user."""
    acting = app.session.acting
    if acting is None:
        return
    choices = [Choice(role, role.capitalize(), right=f"can {_MAY[role]}") for role in acting.roles]

    def chosen(role: str | None) -> None:
        if role is not None and role != acting.now:
            begin(lambda: acting.become(role))

    app.push_screen(Picker("Switch demo user", choices, initial=acting.now), chosen)
