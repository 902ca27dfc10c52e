"""Notifications at the start of a session: unfinished merges, unsent drafts, and problems in a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell

PROBLEM_SECONDS = GREETING_SECONDS = 15.0
PROGRESS_AFTER = 1.0
"""Seconds after which the progress of loading a folder is shown."""
PROGRESS_EVERY, PROGRESS_SECONDS = 0.5, 30.0
"""Seconds between two progress notifications, and for which one stays if Octavo is too busy to replace it."""
_GREETED = "greeted"
"""Name of the fact that the greeting was shown."""


async def notify_on_start(app: Shell, session: Session) -> None:
    """Show each notification as soon as its information is known."""
    from octavo.tui.app import editor_files  # lazy: after the first paint
    from octavo.tui.editing.page_drafts import report_unsent_pages
    from octavo.tui.review import status_changes

    notifying = [
        status_changes.report_unfinished(app, session),
        report_unsent_pages(app, session),
        editor_files.recover_drafts(app),
    ]
    if not session.state.get_fact(_GREETED):
        session.state.set_fact(_GREETED, True)
        app.say("Press ? to show all keys or : to find a command.", seconds=GREETING_SECONDS)
    if session.folder_warnings is not None:
        problems = asyncio.ensure_future(session.folder_warnings())
        notifying += [_show_progress(app, session.load_progress, problems), _show_problems(app, problems)]
    await asyncio.gather(*notifying)


async def _show_progress(app: Shell, progress: Callable[[], str], loaded: asyncio.Future[Sequence[str]]) -> None:
    """Show the progress of loading a folder until it is loaded."""
    number = 0
    await asyncio.wait([loaded], timeout=PROGRESS_AFTER)
    while ((message := progress()) or not loaded.done()) and not app.is_ending:
        if message:
            app.notices.close(number)
            number = app.notices.say(message, seconds=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_EVERY)
    app.notices.close(number)


async def _show_problems(app: Shell, loaded: Awaitable[Sequence[str]]) -> None:
    """Show the first problem in a folder, and the number of other problems."""
    if problems := await loaded:
        more = (
            f" {plural(len(problems) - 1, 'more problem')} will be listed when you quit." if len(problems) > 1 else ""
        )
        app.say(f"Problem in this folder: {problems[0].rstrip('.')}.{more}", tone="care", seconds=PROBLEM_SECONDS)
