"""What a person is told when a session opens: what of a folder is missing, what was under way, and what
is written but not sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

LEFT_OUT_SECONDS = GREETING_SECONDS = 15.0
PROGRESS_AFTER = 1.0
"""Seconds after which a folder that is still being loaded says how far it is."""
PROGRESS_EVERY, PROGRESS_SECONDS = 0.5, 30.0
"""Seconds between two such notices, and for which one is shown while the program is too busy to show the next."""
_GREETED = "greeted"
"""Name of the fact that the first run is over."""


async def tell(app: Shell, session: Session) -> None:
    """Say it, as soon as each is known."""
    from octavo.tui.app import editor_files  # the first screen is painted by now
    from octavo.tui.review import unfinished_merges
    from octavo.tui.writing import unsent_pages

    telling = [
        unfinished_merges.report_unfinished(app, session),
        unsent_pages.tell(app, session),
        editor_files.tell(app),
    ]
    if not session.state.get_fact(_GREETED):
        session.state.set_fact(_GREETED, True)
        app.say("Press ? to show all keys or : to find a command.", seconds=GREETING_SECONDS)
    if session.left_out is not None:
        asked = asyncio.ensure_future(session.left_out())
        telling += [_tell_progress(app, session.progress, asked), _tell_left_out(app, asked)]
    await asyncio.gather(*telling)


async def _tell_progress(app: Shell, progress: Callable[[], str], loaded: asyncio.Future[Sequence[str]]) -> None:
    """How far a folder is loaded, for as long as that takes."""
    number = 0
    await asyncio.wait([loaded], timeout=PROGRESS_AFTER)
    while ((said := progress()) or not loaded.done()) and not app.ending:
        if said:
            app.notices.close(number)
            number = app.notices.say(said, seconds=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_EVERY)
    app.notices.close(number)


async def _tell_left_out(app: Shell, asked: Awaitable[Sequence[str]]) -> None:
    """The first of what could not be loaded as it is, and how much more there is."""
    if told := await asked:
        more = f" {plural(len(told) - 1, 'more problem')} will be listed when you quit." if len(told) > 1 else ""
        app.say(f"Problem in this folder: {told[0].rstrip('.')}.{more}", tone="care", seconds=LEFT_OUT_SECONDS)
