"""Opening the app: the session the command line asks for, and the screen it begins with."""

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
    """What is to be opened."""

    place: str
    """What tells it from all else that can be opened here. Empty for the sign-in screen."""
    origin: str
    """The server a key pasted at the sign-in screen is for."""
    session: Callable[[], Session] | None
    """Connects to it. Raises ValueError with a sentence, or OSError."""
    greeting: str = ""
    """What the sign-in screen says first."""
    left_out: Sequence[str] = ()
    """What of a folder could not be loaded as it is, when the app ends."""


def run(options: argparse.Namespace) -> int:
    """Open the app and stay until it is left. Raises Failure."""
    # Nothing made before the first paint is garbage: looking for some only costs time. The app turns it on again.
    import gc

    gc.disable()
    settings = settings_module.read(os.environ)
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("the app needs a terminal. In a script, use: octavo api NAME", FAILED)
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure("the app reads its keys from the terminal, but standard input is something else", FAILED)
    if os.environ.get("TERM") == "dumb":
        raise Failure("this terminal cannot show the app: it says that it is dumb (TERM). Use another one", FAILED)
    opening = _opening(settings, options)
    # It was read. What the app starts, a browser or an editor, must not inherit it (K11).
    os.environ.pop("OCTAVO_API_KEY", None)
    # Exported by a shell, they tell the size the terminal had then: the app asks the terminal.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _picture(settings, opening, fresh=options.command == "demo" and options.reset)
    try:
        guard_the_rest()
        from octavo.cli.sessions import Ways
        from octavo.data.state import NotSaved
        from octavo.tui.app.octavo import Octavo
        from octavo.tui.terminal import graphics, malloc
        from octavo.tui.terminal.crash_report import faults_kept

        malloc.use_one_arena()
        graphics.ask(os.environ)
        try:
            session = opening.session() if opening.session is not None else None
        except (ValueError, OSError) as error:
            raise Failure(settings_module.in_words(error), FAILED) from error
        ways = Ways(settings, opening.origin, opening.greeting, why_read_only(options))
        app = Octavo(settings, ways, session, picture=picture)
        with faults_kept(settings.state_folder) as faults:
            app.run()
            while app.then is not None:
                try:
                    app = Octavo(settings, *app.then())
                except (ValueError, OSError, NotSaved) as error:
                    raise Failure(settings_module.in_words(error), FAILED) from error
                app.run()
    finally:
        if picture is not None:
            picture.take_down()
    unseen = "a part of a page could not be shown, which is a bug in Octavo. The details are in"
    mistakes = app.mistakes if len(app.mistakes) > 1 else ()
    tell(*mistakes, *opening.left_out, *(f"{unseen} {report}" for report in faults.reports))
    return app.return_code or 0


def _opening(settings: Settings, options: argparse.Namespace) -> Opening:
    """What the command line asks for. Raises Failure."""
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
    said = f"The key of {access.name} was kept for one session only. Paste it again." if again else access.problem
    return Opening("", access.origin, None, greeting=said)


def _picture(settings: Settings, opening: Opening, *, fresh: bool) -> FirstPicture | None:
    """The picture of what is opened, on the terminal already if there is one that fits."""
    if not opening.place:
        return None
    from octavo.first_picture import FirstPicture

    look = f"{settings.theme} {settings.ascii} {settings.turns_words} {settings.light_ground}"
    picture = FirstPicture(settings.cache_folder, opening.place, look)
    if fresh:
        picture.forget()
    else:
        picture.show()
    return picture
