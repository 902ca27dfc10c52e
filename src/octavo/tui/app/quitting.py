"""Quitting with `q`: twice at the top level of a view, and with a confirmation while changes are unsent."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.data.state_db import NotSaved
from octavo.tui.core.view import View
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MOST_NAMED = 5
AGAIN = "Press q again to quit."


def quit_or_up(app: Shell) -> None:
    """Go up one level. At the top of a view, quit if “Press q again to quit.” is still on the screen, else show it."""
    screen = app.screen
    hints = [each.number for each in app.notices.shown() if each.text == AGAIN]
    for number in hints:
        app.notices.close(number)
    if app.history.go_up():
        return
    focused = screen.focused.id if screen.focused is not None else None
    if isinstance(screen, View) and focused not in screen.QUIT_LISTS and screen.go_up():
        return
    if len(app.screen_stack) > 1:
        app.pop_screen()
    elif hints or not isinstance(screen, View):
        _quit(app)
    else:
        app.say(AGAIN, tone="care")


def save_drafts(app: Shell) -> None:
    """Save all drafts, as far as possible within two seconds."""
    for save in tuple(app.exit_callbacks):
        save()
    if app.has_session and app.session.drafts.unsaved():
        with suppress(NotSaved):
            app.session.drafts.flush()


def _quit(app: Shell) -> None:
    """Quit, after a confirmation if changes are unsent."""
    entries = app.session.outbox.entries if app.has_session else ()
    if not entries:
        app.background(app.action_quit())
        return
    from octavo.tui.widgets.confirm import ConfirmDialog  # lazy: slow to load

    def quit_app(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(app.action_quit())

    actions = Counter(entry.action for entry in entries)
    named = [each if times == 1 else f"{each} ({times} times)" for each, times in actions.most_common(MOST_NAMED)]
    more = f" · and {len(actions) - MOST_NAMED} more" if len(actions) > MOST_NAMED else ""
    intro = f"{' · '.join(named)}{more}"
    pending = sum(entry.state == "pending" for entry in entries)
    after = (
        "Octavo will try to send these changes now. Any changes that cannot be sent now will be sent the next time you "
        "start Octavo."
    )
    if pending == len(entries):
        after = (
            "Your pending comments will stay in your review. To submit the review, start Octavo again, open the change "
            "request, and press a to approve or A to request changes."
        )
    elif pending:
        after += f" {plural(pending, 'pending comment')} will stay in your review."
    title = f"Quit with {plural(len(entries), 'unsent change')}?"
    app.push_screen(ConfirmDialog(title, verb="Quit", intro=intro, after=after), quit_app)
