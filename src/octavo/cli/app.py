"""Opens the app, or the web browser for `--web`. Imports little, so that the saved first picture is visible early."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.cli.session_choice import SessionChoice, choose_session, folder_named
from octavo.cli.standard_streams import USAGE, Failure, install_thread_and_log_hooks, is_terminal, tell
from octavo.first_picture import FirstPicture
from octavo.lazy_import import lazy
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

# lazy: loads Textual, after the first picture
_run_app: Callable[..., tuple[int, Sequence[str]]] = lazy("octavo.cli.running_app:run_app")
# lazy: the API. Without a target, Octavo shows its first picture before it loads the API.
_parse_ref = lazy("octavo.cli.refs:parse_ref")
_resolver = lazy("octavo.cli.refs:RefResolver")
_run_connected: Callable[..., int] = lazy("octavo.cli.connection:run_connected")
_open_url = lazy("octavo.cli.output:open_in_browser")


def run(options: argparse.Namespace) -> int:
    """Open the app, or with `--web` the browser. Return the exit code after the app has ended. Raises Failure."""
    if options.target and folder_named(options) is None and "://" not in options.target:
        _parse_ref(options.target)  # Report a wrong REF before the app is opened.
    if options.web:
        return _open_in_browser(options)
    # Garbage collection would only delay the first paint. The app enables it again.
    gc.disable()
    settings = settings_module.read(os.environ)
    if not is_terminal(sys.stdout):
        raise Failure("Octavo needs a terminal. In a script, use: octavo api NAME")
    if not is_terminal(sys.stdin):
        raise Failure(
            "Could not read the keyboard: standard input is not a terminal. Start Octavo without redirecting its input."
        )
    if os.environ.get("TERM") == "dumb":
        raise Failure("Could not start Octavo: this terminal reports TERM=dumb. Use another terminal.")
    choice = choose_session(settings, options)
    # A browser or an editor that the app starts must not inherit the API key.
    os.environ.pop("OCTAVO_API_KEY", None)
    # COLUMNS and LINES may be outdated. Without them, the app asks the terminal.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _show_picture(settings, choice, is_reset=options.reset)
    try:
        install_thread_and_log_hooks()
        code, messages = _run_app(settings, options, choice, picture)
    finally:
        if picture is not None:
            picture.take_down()
    tell(*messages)
    return code


def _show_picture(settings: Settings, choice: SessionChoice, *, is_reset: bool) -> FirstPicture | None:
    """Show the saved picture of the first screen, or delete its file if `is_reset`. Return the picture. None on sign-in
    and if `choice` has a `ref`, because this screen is never saved."""
    if not choice.first_picture_name or choice.ref:
        return None
    settings_text = (
        f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    )
    picture = FirstPicture(settings.cache_folder, choice.first_picture_name, settings_text)
    if is_reset:
        picture.delete()
    else:
        picture.show()
    return picture


def _open_in_browser(options: argparse.Namespace) -> int:
    if not options.target or folder_named(options) is not None:
        raise Failure("Could not open the browser: --web needs a REF or a URL.", USAGE)

    async def open_target(session: Session) -> None:
        _open_url(session, (await _resolver(session, options).resolve(options.target)).url)

    return _run_connected(options, open_target, action="find what to open")
