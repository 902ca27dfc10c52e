"""Runs the app: opens the first session, and finds the first screen if the command line names one."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.api.operation import ChangeRequestRef
from octavo.cli import sessions
from octavo.cli.standard_streams import Failure, why_read_only
from octavo.data.state_db import NotSaved
from octavo.settings import Settings
from octavo.tui.app.octavo import Octavo
from octavo.tui.core.routes import Route, ToChangeRequest, ToPage, ToThread
from octavo.tui.terminal.crash_report import fault_reports
from octavo.tui.terminal.display import query_terminal

if TYPE_CHECKING:
    from octavo.cli.item_rows import FoundThread
    from octavo.cli.refs import RefTarget
    from octavo.cli.session_choice import SessionChoice
    from octavo.first_picture import FirstPicture
    from octavo.tui.core.session import Session


def run_app(
    settings: Settings, options: argparse.Namespace, choice: SessionChoice, picture: FirstPicture | None
) -> tuple[int, list[str]]:
    """Run the app until the user quits. Return the exit code, and sentences for standard error. Raises Failure."""
    use_one_arena()
    # By default, the event loop waits up to 5 ms each time another thread runs.
    sys.setswitchinterval(0.001)
    query_terminal(os.environ)
    problems: list[str] = []
    try:
        session = _open_session(settings, options, choice, problems)
    except (ValueError, OSError, NotSaved) as error:
        raise Failure(settings_module.error_in_words(error)) from error
    sign_in_methods = sessions.sign_in_methods(settings, choice.origin, choice.greeting, why_read_only(options))
    find_first_route = _route_finder(options, choice.ref) if choice.ref else None
    app = Octavo(settings, sign_in_methods, session, picture=picture, find_first_route=find_first_route)
    with fault_reports(settings.state_folder) as faults:
        _run(app)
        while app.open_next is not None:
            try:
                app = Octavo(settings, *app.open_next())
            except (ValueError, OSError, NotSaved) as error:
                raise Failure(settings_module.error_in_words(error)) from error
            _run(app)
    if app.has_session:
        app.session.finish_writing()
    bug = "Could not show part of a page. This is a bug in Octavo. For details, see"
    settings_errors = app.settings_errors if len(app.settings_errors) > 1 else ()
    return app.return_code or 0, [*settings_errors, *problems, *(f"{bug} {report}" for report in faults.reports)]


_M_ARENA_MAX = -8
"""Number of the parameter of `mallopt` that limits the number of arenas."""


def use_one_arena() -> None:
    """Let all threads allocate memory from one arena of the C library, which saves 0.7 MiB. Call this before the first
    thread starts. Only the GNU C library has arenas."""
    with suppress(ImportError, OSError):
        from _ctypes import call_function, dlopen, dlsym  # lazy: some systems lack it, and `ctypes` itself is slow

        this_process = dlopen(None, 0)  # type: ignore[arg-type]  # None stands for this process
        call_function(dlsym(this_process, "mallopt"), (_M_ARENA_MAX, 1))


def _run(app: Octavo) -> None:
    runner = asyncio.Runner()
    runner.run(app.run_async())
    if app.open_next is not None:
        runner.close()
    else:
        gc.disable()  # The process ends now. Freeing the widgets and their tasks would only delay the end.


def _open_session(
    settings: Settings, options: argparse.Namespace, choice: SessionChoice, problems: list[str]
) -> Session | None:
    read_only_reason = why_read_only(options)
    if choice.is_demo:
        demo = sessions.Demo(options.large, options.latency / 1000, options.fail / 100)
        return sessions.open_demo(
            settings, demo, reset=options.reset, role=options.role, read_only_reason=read_only_reason
        )
    if choice.folder is not None:
        return sessions.open_folder(settings, choice.folder, problems, read_only_reason=read_only_reason)
    if choice.access is None:
        return None
    return sessions.open_server(
        settings, choice.access, read_only_reason=read_only_reason or choice.access.why_read_only
    )


def _route_finder(options: argparse.Namespace, text: str) -> Callable[[Session], Awaitable[Route]]:
    """Return a function that finds the first screen for the REF or URL `text`. That function raises ApiError or
    ValueError."""

    async def find(session: Session) -> Route:
        from octavo.cli.item_rows import FoundThread, find_named  # lazy: rarely needed
        from octavo.cli.refs import RefResolver

        try:
            item = await find_named(RefResolver(session, options), text)
        except Failure as failure:
            raise ValueError(str(failure)) from failure
        return _thread_route(item) if isinstance(item, FoundThread) else _target_route(item)

    return find


def _target_route(target: RefTarget) -> Route:
    page_id = target.page.id if target.page is not None else None
    if target.change_request is not None:
        block = (page_id, target.block) if page_id is not None else None
        return ToChangeRequest(target.change_request.ref(target.space.ref), target.change_request, block=block)
    return ToPage(target.space.id, page_id, target.block)


def _thread_route(thread: FoundThread) -> Route:
    target, comment = thread.target, thread.comment
    if isinstance(target.at, ChangeRequestRef):
        return ToChangeRequest(target.at, target.change_request, comment)
    page, node = comment.target.page, comment.target.node
    return ToThread(target.at, comment, page.id if page else None, node.id if node else "", "comments")
