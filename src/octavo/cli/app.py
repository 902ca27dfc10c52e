"""Opens the app with the session that the command line selects. Imports little: the app is imported after its first
picture."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.cli.arguments import Failure, tell
from octavo.cli.traceback_hooks import install_other_hooks
from octavo.client.origin import DEFAULT
from octavo.first_picture import FirstPicture
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.client.profiles import Access


@dataclass(frozen=True)
class Opening:
    """The account or platform to open, and what the app shows about it."""

    place: str
    """Unique name of the session on this machine, for its first picture. Empty for the sign-in screen."""
    origin: str = DEFAULT
    """Server that gets the API key typed in the sign-in screen."""
    access: Access | None = None
    """Account on a server. None for the demo, a folder and the sign-in screen."""
    greeting: str = ""
    """First message of the sign-in screen."""


def run(options: argparse.Namespace) -> int:
    """Open the app and return when you quit. Raises Failure."""
    # Before the first paint there is no garbage to collect. The app enables garbage collection again.
    gc.disable()
    settings = settings_module.read(os.environ)
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("Octavo needs a terminal. In a script, use: octavo api NAME")
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure(
            "Could not read the keyboard: standard input is not a terminal. Start Octavo without redirecting its input."
        )
    if os.environ.get("TERM") == "dumb":
        raise Failure("Could not start Octavo: this terminal reports TERM=dumb. Use another terminal.")
    opening = _opening(settings, options)
    # The API key is read by now. A browser or an editor that the app starts must not inherit it.
    os.environ.pop("OCTAVO_API_KEY", None)
    # A shell exports its size at the start in these variables. The app asks the terminal instead.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _picture(settings, opening, fresh=options.command == "demo" and options.reset)
    try:
        install_other_hooks()
        from octavo.cli.running_app import run_app  # lazy: Textual, after the first picture

        code, messages = run_app(settings, options, opening, picture)
    finally:
        if picture is not None:
            picture.take_down()
    tell(*messages)
    return code


def _opening(settings: Settings, options: argparse.Namespace) -> Opening:
    """Return the session that the command line opens. Raises Failure."""
    if options.command == "demo":
        return Opening(f"{'demo-large' if options.large else 'demo'} {options.role}".rstrip())
    if options.command == "open":
        return Opening(f"folder {os.path.realpath(options.folder)}")
    # lazy: pydantic, not needed for the picture of the demo
    from octavo.cli.access import resolve
    from octavo.client.accounts import Accounts

    try:
        access = resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error)) from error
    if access.source in ("env", "keyring", "file"):
        return Opening(Accounts(settings.state_folder).name_of(access), access.origin, access)
    has_lost_key = access.source == "session" and access.profile is not None
    greeting = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if has_lost_key
        else access.problem
    )
    return Opening("", access.origin, greeting=greeting)


def _picture(settings: Settings, opening: Opening, *, fresh: bool) -> FirstPicture | None:
    """Return the first picture of the session, and show it if it fits the terminal. None for the sign-in screen."""
    if not opening.place:
        return None
    look = f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    picture = FirstPicture(settings.cache_folder, opening.place, look)
    if fresh:
        picture.delete()
    else:
        picture.show()
    return picture
