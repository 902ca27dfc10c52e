"""Tracebacks of uncaught errors on standard error, without API keys and terminal commands.

The app reports most errors itself (`octavo.tui.terminal.crash_report`). This module covers the commands, threads, the
cleanup at exit, and the logs of libraries.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import ExceptHookArgs


def guard() -> None:
    """Install the hooks of the main thread. For a process that only runs Octavo."""
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable


def guard_the_rest() -> None:
    """Install the hooks of threads and logs. Called after the first picture, because the imports cost time."""
    if sys.excepthook is not _uncaught:
        return
    import logging
    import threading

    from octavo.redaction import RedactingFilter

    threading.excepthook = _in_a_thread
    # Octavo configures no logging: libraries log to the handler of last resort, which is standard error.
    if logging.lastResort is not None:
        logging.lastResort.addFilter(RedactingFilter())


def _uncaught(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    _tell("", error)


def _unraisable(told: sys.UnraisableHookArgs) -> None:
    what = told.err_msg or "Exception ignored in"
    _tell(f"{what} {type(told.object).__name__}:\n", told.exc_value or told.exc_type())


def _in_a_thread(told: ExceptHookArgs) -> None:
    if told.exc_value is not None and not isinstance(told.exc_value, SystemExit):
        _tell(f"Exception in thread {told.thread.name if told.thread else 'unknown'}:\n", told.exc_value)


def _tell(before: str, error: BaseException) -> None:
    from traceback import format_exception

    from octavo.api.safety import text
    from octavo.redaction import redact

    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # standard error is closed
            sys.stderr.write(text(redact(before + "".join(format_exception(error)))))
