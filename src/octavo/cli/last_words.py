"""What is said of a bug that nobody caught: a traceback on standard error, without keys and without commands (K9).

In the app most bugs go another way (`octavo.tui.terminal.crash_report`). These are those of the commands, of threads, of what is
cleaned up at the end, and what libraries log.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import ExceptHookArgs


def guard() -> None:
    """Say it so from now on. For a process that is ours."""
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable


def guard_the_rest() -> None:
    """Threads and logs too. Later than `guard`, because it imports what the first picture is shown without."""
    if sys.excepthook is not _uncaught:
        return
    import logging
    import threading

    from octavo.redaction import RedactingFilter

    threading.excepthook = _in_a_thread
    # Nobody of ours sets up logging: what libraries log goes to the handler of last resort, which is standard error.
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
    from contextlib import suppress
    from traceback import format_exception

    from octavo.api.safety import text
    from octavo.redaction import redact

    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # it is closed, or nobody reads it
            sys.stderr.write(text(redact(before + "".join(format_exception(error)))))
