"""Writes to standard output and standard error, even if they are closed or full. Defines `Failure` and the exit codes.

Keeps API keys and escape sequences out of tracebacks.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EBADF
from traceback import format_exception
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from octavo.lazy_import import lazy
from octavo.redaction import RedactingFilter, redact

if TYPE_CHECKING:
    from threading import ExceptHookArgs

_safe_text = lazy("octavo.api.safety:safe_text")  # lazy: the API, which the help of a command does not need


FAILED, USAGE, NOT_FOUND, NOT_SIGNED_IN, NOT_ALLOWED, BLOCKED, UNKNOWN = 1, 2, 3, 4, 5, 6, 7
"""Exit codes of failed commands. UNKNOWN means that the server may have made a change."""
ERROR_NAMES = {
    FAILED: "failed",
    USAGE: "usage",
    NOT_FOUND: "not-found",
    NOT_SIGNED_IN: "not-signed-in",
    NOT_ALLOWED: "not-allowed",
    BLOCKED: "blocked",
    UNKNOWN: "unknown",
}
"""Names of errors in JSON, by exit code. `Failure` can set another name."""
_NEXT_COMMAND = re.compile(r"(?:: |[Rr]un )(octavo [^,:]+?)\.?\Z")

READ_ONLY = "Octavo is running with --read-only and changes nothing on the server. To make changes, start Octavo without --read-only."


class Failure(Exception):
    """A command has failed. The message for the user may be empty. `code` is the exit code."""

    def __init__(self, message: str, code: int = FAILED, *, error: str = "") -> None:
        """`message` has the form `Could not VERB OBJECT: cause. Next step.` `error` is the name of the error in JSON.
        By default, the name depends on `code`."""
        super().__init__(message)
        self.code, self.error = code, error or ERROR_NAMES.get(code, "")

    @property
    def as_json(self) -> str:
        """The failure as one line of JSON, for commands with `--json`."""
        match = _NEXT_COMMAND.search(str(self))
        facts = {"code": self.error, "exit": self.code, "message": str(self), "next": match[1] if match else None}
        return json.dumps({"error": facts}, separators=(",", ":"))


class OutputFailure(Failure):
    """The output of a command could not be filtered or written."""

    def with_changes_note(self) -> Failure:
        """Return a Failure with the code UNKNOWN, whose message first says that the changes on the server were made."""
        return Failure(f"The changes on the server were made. {self}", UNKNOWN)


def why_read_only(options: argparse.Namespace) -> str:
    """Return the message that refuses writes if `--read-only` or OCTAVO_READ_ONLY forbids writes. Otherwise empty."""
    return READ_ONLY if options.read_only or os.environ.get("OCTAVO_READ_ONLY", "") not in ("", "0") else ""


def is_terminal(*streams: TextIO | None) -> bool:
    """Return whether all streams are terminals. None stands for a closed stream."""
    return all(stream is not None and stream.isatty() for stream in streams)


def read_input(name: str, maximum: int) -> bytes:
    """Return up to `maximum` bytes of a file, or of standard input for `-`. Raises OSError."""
    if name == "-":
        if sys.stdin is None:
            raise OSError(EBADF, "it is closed")
        return sys.stdin.buffer.read(maximum)
    with open(name, "rb") as file:
        return file.read(maximum)


def write_out(text: str) -> None:
    """Write `text` to standard output. Raises Failure, whose code is 0 if the reader, such as `head`, has ended."""
    if sys.stdout is None:
        raise OutputFailure("Could not write the output: standard output is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _redirect_to_null(sys.stdout)
        if isinstance(error, BrokenPipeError):
            # For example `octavo operations | head`, which is not a failure.
            raise Failure("", 0) from None
        raise OutputFailure(f"Could not write the output: {(error.strerror or 'unknown cause').lower()}.") from None


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """End the `with` block without error if the program that reads standard output has ended. The command continues."""
    try:
        yield
    except Failure as failure:
        if failure.code:
            raise


def write_untrusted(text: str) -> None:
    """Write text to standard output. On a terminal, make it safe with `safe_text` first. Raises Failure."""
    write_out(_safe_text(text) if is_terminal(sys.stdout) else text)


def _redirect_to_null(stream: TextIO) -> None:
    """Discard later writes to the stream, so that Python can flush it at exit without a second error."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def tell(*sentences: str) -> None:
    """Write sentences to standard error, each on a line that begins with `octavo:`."""
    write_error("".join(f"octavo: {each}\n" for each in sentences))


def write_error(text: str) -> None:
    """Write text to standard error, made safe with `safe_text`. Ignore errors of the stream."""
    if text and sys.stderr is not None:
        try:
            sys.stderr.write(text if text.isascii() and text.replace("\n", "").isprintable() else _safe_text(text))
            sys.stderr.flush()
        except OSError:
            _redirect_to_null(sys.stderr)  # The exit code still reports the failure.


def install_main_hooks() -> None:
    """Keep API keys out of tracebacks of the main thread and of `__del__`. Call this only if Octavo is the program."""
    sys.excepthook = _report_uncaught
    sys.unraisablehook = _report_unraisable


def install_thread_and_log_hooks() -> None:
    """Keep API keys out of log messages and tracebacks of other threads. Do nothing before `install_main_hooks`."""
    if sys.excepthook is not _report_uncaught:
        return
    threading.excepthook = _report_uncaught_in_thread
    # Without configuration, libraries log to the handler of last resort: standard error.
    if logging.lastResort is not None:
        logging.lastResort.addFilter(RedactingFilter())


def _report_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _write_traceback("", error)


def _report_unraisable(args: sys.UnraisableHookArgs) -> None:
    """Print the traceback of an exception that no caller can catch, for example in `__del__`."""
    message = args.err_msg or "Exception ignored in"
    _write_traceback(f"{message} {type(args.object).__name__}:\n", args.exc_value or args.exc_type())


def _report_uncaught_in_thread(args: ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        _write_traceback(f"Exception in thread {args.thread.name if args.thread else 'unknown'}:\n", args.exc_value)


def _write_traceback(heading: str, error: BaseException) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # Standard error is closed.
            sys.stderr.write(_safe_text(redact(heading + "".join(format_exception(error)))))
