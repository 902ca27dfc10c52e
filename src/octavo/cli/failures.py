"""Failures of commands, with their exit codes."""

from __future__ import annotations

import argparse
import json
import os
import re

FAILED, USAGE, NOT_FOUND, NOT_SIGNED_IN, NOT_ALLOWED, BLOCKED, UNKNOWN = 1, 2, 3, 4, 5, 6, 7
"""The exit codes of failures, which `octavo help exit-codes` explains. UNKNOWN: the server may have made a change."""
ERROR_NAMES = {
    FAILED: "failed",
    USAGE: "usage",
    NOT_FOUND: "not-found",
    NOT_SIGNED_IN: "not-signed-in",
    NOT_ALLOWED: "not-allowed",
    BLOCKED: "blocked",
    UNKNOWN: "unknown",
}
"""The name of an error in JSON, by its exit code. A few errors have names of their own."""
_NEXT_COMMAND = re.compile(r"(?:: |[Rr]un )(octavo [^,:]+?)\.?\Z")
"""The command at the end of a message."""

READ_ONLY = "Octavo is running with --read-only and changes nothing on the server. To make changes, start Octavo without --read-only."


class Failure(Exception):
    """A failed command: the message for standard error, which may be empty, and the exit code."""

    def __init__(self, message: str, code: int = FAILED, *, error: str = "") -> None:
        """`message` has the form `Could not VERB OBJECT: cause. Next step.` `error` is the name of the error in JSON.
        The default is the name for the exit code."""
        super().__init__(message)
        self.code, self.error = code, error or ERROR_NAMES.get(code, "")

    @property
    def as_json(self) -> str:
        """The failure as one line of JSON."""
        found = _NEXT_COMMAND.search(str(self))
        facts = {"code": self.error, "exit": self.code, "message": str(self), "next": found[1] if found else None}
        return json.dumps({"error": facts}, separators=(",", ":"))


def why_read_only(options: argparse.Namespace) -> str:
    """Return the message for a write that `--read-only` or OCTAVO_READ_ONLY refuses. Empty if neither is set."""
    return READ_ONLY if options.read_only or os.environ.get("OCTAVO_READ_ONLY", "") not in ("", "0") else ""
