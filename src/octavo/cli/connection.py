"""Connects a command to the account, the demo or the folder that its options select.

async def work(session: Session) -> int:
    spaces = await session.live.fetch(spaces_of(organization))
    ...

return run_connected(options, work, action="load the change requests")
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome, ReadOnly, Unauthorized
from octavo.cli.access import check_one_source, read_settings, signed_in
from octavo.cli.failures import FAILED, NOT_ALLOWED, NOT_FOUND, NOT_SIGNED_IN, UNKNOWN, Failure, why_read_only
from octavo.client.policy import READS
from octavo.data.live import NOT_AVAILABLE_OFFLINE
from octavo.data.state_db import NotSaved
from octavo.lazy_import import lazy
from octavo.settings import in_words

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

# lazy: the data layer, which the help of a command does not need
_open_demo = lazy("octavo.cli.sessions:demo")
_open_folder = lazy("octavo.cli.sessions:folder")
_open_server = lazy("octavo.cli.sessions:server")


def run_connected(options: argparse.Namespace, work: Callable[[Session], Awaitable[int]], *, action: str) -> int:
    """Open a session, run `work` and return its exit code. Raises Failure. For an ApiError or NotSaved of `work`, its
    message begins with “Could not” and `action`, such as `load the change requests`."""
    session = open_session(options)

    async def run() -> int:
        session.connect()
        try:
            return await work(session)
        finally:
            await session.outbox.close()
            await session.close()

    try:
        return asyncio.run(run())
    except ApiError as error:
        raise failure_of(error, action) from error
    except NotSaved as error:
        raise Failure(f"Could not {action}: {_clause(error)}") from error


def open_session(options: argparse.Namespace) -> Session:
    """Return a session for the options `--demo`, `--folder`, `--profile` and `--base-url`. Raises Failure."""
    check_one_source(options)
    # A command has no undo key, so it sends writes without the undo delay.
    settings, read_only = replace(read_settings(), undo_seconds=0.0), why_read_only(options)
    try:
        if options.use_demo:
            demo: Session = _open_demo(settings, read_only=read_only)
            return demo
        if options.pages_folder is not None:
            folder: Session = _open_folder(settings, Path(options.pages_folder).expanduser(), read_only=read_only)
            return folder
    except (ValueError, OSError) as error:
        raise Failure(in_words(error)) from error
    access, key = signed_in(settings, options)
    server: Session = _open_server(settings, access, key=key, read_only=read_only or access.why_read_only)
    return server


def failure_of(error: ApiError, action: str) -> Failure:
    """Return the failure of a command for the error of a request."""
    message = f"Could not {action}: {_clause(error)}"
    if isinstance(error, ReadOnly):
        return Failure(message, NOT_ALLOWED, error="read-only")
    if isinstance(error, Unauthorized):
        return Failure(message, NOT_SIGNED_IN, error="token-rejected" if error.status == 401 else "not-signed-in")
    if isinstance(error, Forbidden):
        return Failure(message, NOT_ALLOWED)
    if isinstance(error, NotFound):
        return Failure(message, NOT_FOUND)
    is_write = error.trace.method not in ("", *READS)
    return Failure(message, UNKNOWN if is_write and error.outcome is Outcome.UNKNOWN else FAILED)


def _clause(error: Exception) -> str:
    """Return the message of an error as the end of a sentence."""
    sentence = str(error).removeprefix(NOT_AVAILABLE_OFFLINE).lstrip()
    if sentence[1:2].isupper() or sentence.startswith("Octavo "):
        return sentence
    return sentence[:1].lower() + sentence[1:]
