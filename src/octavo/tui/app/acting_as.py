"""Being another person of the demo: the app ends for the one, and opens for the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

_MAY = {
    "administrator": "everything",
    "creator": "review, merge and make spaces",
    "reviewer": "edit and review, not merge",
    "editor": "edit and comment, not review",
    "commenter": "read and comment",
    "reader": "read",
    "guest": "see the one space they were let into",
}
"""What is to be known of each before one is them."""


def choose_role(app: Shell, begin: Callable[[Callable[[], Session]], None]) -> None:
    """Ask whom to be, and `begin` again with their session."""
    acting = app.session.acting
    if acting is None:
        return
    choices = [Choice(role, role.capitalize(), right=f"may {_MAY[role]}") for role in acting.roles]

    def chosen(role: str | None) -> None:
        if role is not None and role != acting.now:
            begin(lambda: acting.become(role))

    app.push_screen(Picker("Act as", choices, now=acting.now), chosen)
