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


def install_main_hooks() -> None:
    """Install the hooks of the main thread. For a process that only runs Octavo."""
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable


def install_thread_and_log_hooks() -> None:
    """Install the hooks of threads and logs. Called after the first picture, because the imports cost time."""
    if sys.excepthook is not _uncaught:
        return
    import logging
    import threading

    from octavo.redaction import RedactingFilter

    threading.excepthook = _uncaught_in_thread
    # Octavo configures no logging: libraries log to the handler of last resort, which is standard error.
    if logging.lastResort is not None:
        logging.lastResort.addFilter(RedactingFilter())


def _uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _write_traceback("", error)


def _unraisable(args: sys.UnraisableHookArgs) -> None:
    message = args.err_msg or "Exception ignored in"
    _write_traceback(f"{message} {type(args.object).__name__}:\n", args.exc_value or args.exc_type())


def _uncaught_in_thread(args: ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        _write_traceback(f"Exception in thread {args.thread.name if args.thread else 'unknown'}:\n", args.exc_value)


def _write_traceback(heading: str, error: BaseException) -> None:
    from traceback import format_exception

    from octavo.api.safety import safe_text
    from octavo.redaction import redact

    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # standard error is closed
            sys.stderr.write(safe_text(redact(heading + "".join(format_exception(error)))))
