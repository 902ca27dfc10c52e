"""Runs the app: opens the first session, and a new app for each session that is opened later."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.cli import sessions
from octavo.cli.standard_streams import Failure, why_read_only
from octavo.data.state_db import NotSaved
from octavo.lazy_import import lazy
from octavo.settings import Settings
from octavo.tui.app.octavo import Octavo
from octavo.tui.app.pauses import use_one_arena
from octavo.tui.terminal.crash_report import fault_reports
from octavo.tui.terminal.display import query_terminal

if TYPE_CHECKING:
    from octavo.cli.session_choice import SessionChoice
    from octavo.first_picture import FirstPicture
    from octavo.tui.core.session import Session

_route_finder = lazy("octavo.cli.first_route:route_finder")  # lazy: the API of threads, rarely needed


def run_app(
    settings: Settings, options: argparse.Namespace, choice: SessionChoice, picture: FirstPicture | None
) -> tuple[int, list[str]]:
    """Run the app until you quit. Return its exit code, and messages for standard error. Raises Failure."""
    use_one_arena()
    query_terminal(os.environ)
    left_out: list[str] = []
    try:
        session = _open_session(settings, options, choice, left_out)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error)) from error
    sign_in_methods = sessions.sign_in_methods(settings, choice.origin, choice.greeting, why_read_only(options))
    find_first_route = _route_finder(options, choice.ref) if choice.ref else None
    app = Octavo(settings, sign_in_methods, session, picture=picture, find_first_route=find_first_route)
    with fault_reports(settings.state_folder) as faults:
        _run(app)
        while app.open_next is not None:
            try:
                app = Octavo(settings, *app.open_next())
            except (ValueError, OSError, NotSaved) as error:
                raise Failure(settings_module.in_words(error)) from error
            _run(app)
    if app.has_session:
        app.session.finish_writing()
    bug = "Could not show part of a page. This is a bug in Octavo. For details, see"
    settings_errors = app.settings_errors if len(app.settings_errors) > 1 else ()
    return app.return_code or 0, [*settings_errors, *left_out, *(f"{bug} {report}" for report in faults.reports)]


def _run(app: Octavo) -> None:
    """Run an app until it ends."""
    runner = asyncio.Runner()
    runner.run(app.run_async())
    if app.open_next is not None:
        runner.close()
    else:
        gc.disable()  # The process ends now, and freeing the widgets and their tasks would take longer.


def _open_session(
    settings: Settings, options: argparse.Namespace, choice: SessionChoice, left_out: list[str]
) -> Session | None:
    """Return the first session, or None for the sign-in screen. Raises ValueError with a message, or OSError. Until the
    app ends, a sentence is added to `left_out` for each file of the folder that was not loaded completely."""
    read_only = why_read_only(options)
    if choice.is_demo:
        return sessions.open_demo(
            settings,
            reset=options.reset,
            latency=options.latency / 1000,
            fail=options.fail / 100,
            large=options.large,
            role=options.role,
            read_only=read_only,
        )
    if choice.folder is not None:
        return sessions.open_folder(settings, choice.folder, left_out, read_only=read_only)
    if choice.access is None:
        return None
    return sessions.open_server(settings, choice.access, read_only=read_only or choice.access.why_read_only)
