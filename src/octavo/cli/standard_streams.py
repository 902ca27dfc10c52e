"""Writes to standard output and standard error, also if they are closed or full."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from octavo.cli.failures import Failure


def write_out(text: str) -> None:
    """Write `text` to standard output. Raises Failure if that fails, with code 0 if the reader closed the pipe."""
    if sys.stdout is None:
        raise Failure("Could not write the output: standard output is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _redirect_to_null(sys.stdout)
        if isinstance(error, BrokenPipeError):
            # For example `octavo operations | head`, which is not a failure.
            raise Failure("", 0) from None
        raise Failure(f"Could not write the output: {(error.strerror or 'unknown cause').lower()}.") from None


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect `stream` to the null device, so that Python does not fail again at exit when it flushes the stream."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def tell(*sentences: str) -> None:
    """Write messages to standard error: failures, wrong settings, and files or blocks that are not shown completely."""
    write_error("".join(f"octavo: {each}\n" for each in sentences))


def write_error(text: str) -> None:
    """Write text to standard error. Nothing happens if that fails."""
    if text and sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            _redirect_to_null(sys.stderr)  # the exit code still reports the failure
