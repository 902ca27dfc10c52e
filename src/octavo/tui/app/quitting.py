"""Quitting by the key that also goes back: not while something one wrote is not sent, unless one says so."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.data.state import NotSaved
from octavo.tui.shell.view import View
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MOST_NAMED = 5


def quit_or_up(app: Shell) -> None:
    """Go back to the list one came from, from beside the list to it; quit in the list of a view."""
    screen = app.screen
    if app.trail.up():
        return
    focused = screen.focused.id if screen.focused is not None else None
    if isinstance(screen, View) and focused not in screen.QUITS_FROM and screen.go_up():
        return
    if len(app.screen_stack) > 1:
        app.pop_screen()
    else:
        _quit(app)


def save_what_is_typed(app: Shell) -> None:
    """Save all drafts, as far as that works within two seconds."""
    for keep in tuple(app.before_end):
        keep()
    if app.has_session and app.session.drafts.unsaved():
        with suppress(NotSaved):
            app.session.drafts.flush()


def _quit(app: Shell) -> None:
    """Quit; ask before when something is not sent."""
    entries = app.session.outbox.entries if app.has_session else ()
    if not entries:
        app.background(app.action_quit())
        return
    from octavo.tui.widgets.confirm import Confirm

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(app.action_quit())

    doing = Counter(entry.doing for entry in entries)
    named = [each if times == 1 else f"{each} ({times} times)" for each, times in doing.most_common(MOST_NAMED)]
    more = f" · and {len(doing) - MOST_NAMED} more" if len(doing) > MOST_NAMED else ""
    said = f"{' · '.join(named)}{more}"
    held = sum(entry.state == "gathered" for entry in entries)
    after = "Octavo tries to send these writes now, and sends the rest at the next start."
    if held == len(entries):
        after = "Pending comments stay in your review. Submit the review with a or A after the next start."
    elif held:
        after += f" {plural(held, 'pending comment stays', 'pending comments stay')} in your review."
    title = f"Quit with {plural(len(entries), 'unsent write')}?"
    app.push_screen(Confirm(title, verb="Quit", intro=said, after=after), decided)
