"""Open the app with the session that the command line selects."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.cli.arguments import FAILED, Failure, tell, why_read_only
from octavo.cli.last_words import guard_the_rest
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.first_picture import FirstPicture
    from octavo.tui.shell.session import Session


@dataclass(frozen=True)
class Opening:
    """A session to open, and what the app shows about it."""

    place: str
    """Unique name of the session on this machine, for its first picture. Empty for the sign-in screen."""
    origin: str
    """Server that gets the API key typed in the sign-in screen."""
    session: Callable[[], Session] | None
    """Opens the session. Raises ValueError with a message, or OSError. None for the sign-in screen."""
    greeting: str = ""
    """First message of the sign-in screen."""
    left_out: Sequence[str] = ()
    """A sentence for each file of a folder that was not loaded completely. Filled while the app runs."""


def run(options: argparse.Namespace) -> int:
    """Open the app and return when you quit. Raises Failure."""
    # Before the first paint there is no garbage to collect. The app enables the collection again.
    import gc

    gc.disable()
    settings = settings_module.read(os.environ)
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("Octavo needs a terminal. In a script, use: octavo api NAME", FAILED)
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure(
            "Could not read the keyboard: standard input is not a terminal. Start Octavo without redirecting its input.",
            FAILED,
        )
    if os.environ.get("TERM") == "dumb":
        raise Failure("Could not start Octavo: this terminal reports TERM=dumb. Use another terminal.", FAILED)
    opening = _opening(settings, options)
    # The API key is read by now. A browser or an editor that the app starts must not inherit it.
    os.environ.pop("OCTAVO_API_KEY", None)
    # Exported by a shell, they tell the size the terminal had then: the app asks the terminal.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _picture(settings, opening, fresh=options.command == "demo" and options.reset)
    try:
        guard_the_rest()
        from octavo.cli.sessions import Ways
        from octavo.data.state_db import NotSaved
        from octavo.tui.app.octavo import Octavo
        from octavo.tui.terminal import graphics, malloc
        from octavo.tui.terminal.crash_report import fault_reports

        malloc.use_one_arena()
        graphics.query_terminal(os.environ)
        try:
            session = opening.session() if opening.session is not None else None
        except (ValueError, OSError) as error:
            raise Failure(settings_module.in_words(error), FAILED) from error
        ways = Ways(settings, opening.origin, opening.greeting, why_read_only(options))
        app = Octavo(settings, ways, session, picture=picture)
        with fault_reports(settings.state_folder) as faults:
            app.run()
            while app.open_next is not None:
                try:
                    app = Octavo(settings, *app.open_next())
                except (ValueError, OSError, NotSaved) as error:
                    raise Failure(settings_module.in_words(error), FAILED) from error
                app.run()
    finally:
        if picture is not None:
            picture.take_down()
    unseen = "Could not show part of a page. This is a bug in Octavo. For details, see"
    mistakes = app.mistakes if len(app.mistakes) > 1 else ()
    tell(*mistakes, *opening.left_out, *(f"{unseen} {report}" for report in faults.reports))
    return app.return_code or 0


def _opening(settings: Settings, options: argparse.Namespace) -> Opening:
    """Return the session that the command line selects. Raises Failure."""
    from octavo.client.origin import DEFAULT

    def demo() -> Session:
        from octavo.cli import sessions

        return sessions.demo(
            settings,
            reset=options.reset,
            latency=options.latency / 1000,
            fail=options.fail / 100,
            large=options.large,
            role=options.role,
            read_only=why_read_only(options),
        )

    left_out: list[str] = []

    def folder() -> Session:
        from octavo.cli import sessions

        return sessions.folder(settings, options.folder, left_out, read_only=why_read_only(options))

    if options.command == "demo":
        place = "demo-large" if options.large else "demo"
        return Opening(f"{place} {options.role}".rstrip(), DEFAULT, demo)
    if options.command == "open":
        return Opening(f"folder {os.path.realpath(options.folder)}", DEFAULT, folder, left_out=left_out)

    from octavo.cli.access import resolve
    from octavo.client.accounts import Accounts

    try:
        access = resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error), FAILED) from error

    def server() -> Session:
        from octavo.cli import sessions

        return sessions.server(settings, access, read_only=why_read_only(options) or access.why_read_only)

    if access.source in ("env", "keyring", "file"):
        return Opening(Accounts(settings.state_folder).name_of(access), access.origin, server)
    again = access.source == "session" and access.profile is not None
    said = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if again
        else access.problem
    )
    return Opening("", access.origin, None, greeting=said)


def _picture(settings: Settings, opening: Opening, *, fresh: bool) -> FirstPicture | None:
    """Return the first picture of the session, and show it if it fits the terminal. None for the sign-in screen."""
    if not opening.place:
        return None
    from octavo.first_picture import FirstPicture

    look = f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    picture = FirstPicture(settings.cache_folder, opening.place, look)
    if fresh:
        picture.delete()
    else:
        picture.show()
    return picture
