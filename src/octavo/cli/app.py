"""Opens the app with the session that the command line selects. Imports little, because a saved picture of the first
screen is shown before the app is imported."""

from __future__ import annotations

import argparse
import gc
import os
import sys

from octavo import settings as settings_module
from octavo.cli.session_choice import SessionChoice, choose_session
from octavo.cli.standard_streams import Failure, install_thread_and_log_hooks, tell
from octavo.first_picture import FirstPicture
from octavo.lazy_import import lazy
from octavo.settings import Settings

_run_app = lazy("octavo.cli.running_app:run_app")  # lazy: Textual, after the first picture


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
    choice = choose_session(settings, options)
    # The API key is read by now. A browser or an editor that the app starts must not inherit it.
    os.environ.pop("OCTAVO_API_KEY", None)
    # These variables may have the size of the terminal at the start of the shell. Without them, the app asks the
    # terminal.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _show_picture(settings, choice, fresh=options.reset)
    try:
        install_thread_and_log_hooks()
        code: int
        code, messages = _run_app(settings, options, choice, picture)
    finally:
        if picture is not None:
            picture.take_down()
    tell(*messages)
    return code


def _show_picture(settings: Settings, choice: SessionChoice, *, fresh: bool) -> FirstPicture | None:
    """Show the saved picture of the first screen of the session, and return it. With `fresh`, delete the saved picture
    instead. None if the app opens another screen first."""
    if not choice.session_name or choice.ref:
        return None
    look = f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    picture = FirstPicture(settings.cache_folder, choice.session_name, look)
    if fresh:
        picture.delete()
    else:
        picture.show()
    return picture
