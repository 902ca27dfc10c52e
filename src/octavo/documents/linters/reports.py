"""A finding as a linter reports it: its position in the units of the linter, and the limits on its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.api.safety import safe_line
from octavo.documents.checks.findings import Severity

Columns = Literal["code-points", "utf-16", "utf-16-0", "bytes"]
"""Units of columns: code points or UTF-16 units or bytes of UTF-8 from 1, or UTF-16 units from 0."""
MAX_REPORTS = 500
"""Maximum number of findings that are read from the output of a linter."""
MAX_OUTPUT = 4 << 20
"""Maximum number of bytes of the output of a linter."""
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(("error", "fatal", "critical", "2"), "error"),
    **dict.fromkeys(("warning", "warn", "1"), "warning"),
    **dict.fromkeys(("info", "information", "note", "hint", "suggestion", "none", "0"), "info"),
}


class UnreadableReport(ValueError):
    """Raised for output that is not in the format of the linter. The message is the reason, without full stop."""


@dataclass(frozen=True, slots=True)
class Report:
    """A finding of a linter. Lines are counted from 1, columns as the linter counts them, and the end is exclusive."""

    message: str
    path: str = ""
    """The file as the linter names it. Empty for text on standard input."""
    line: int = 1
    column: int | None = None
    """None if the finding is about whole lines."""
    end_line: int | None = None
    end_column: int | None = None
    """None if the end is unknown."""
    rule: str = ""
    severity: Severity = "warning"
    words: str = ""
    """The text in the range. Empty if the linter does not name it."""
    replacement: str | None = None
    """A text to put in the range. None if there is none."""
    columns: Columns | None = None
    """The unit of the columns. None if the format does not say it."""


def severity_of(name: object) -> Severity:
    """Return the severity that a linter calls `name`. `warning` for an unknown name."""
    return _SEVERITIES.get(str(name).lower(), "warning")


def one_line(value: object) -> str:
    """Return a text of a linter as one line that is safe to show. Empty for other values."""
    return safe_line(" ".join(value.split())).removesuffix(".") if isinstance(value, str) else ""


def number(value: object) -> int | None:
    """Return a line or column. None if it is missing, or not a number that can be one."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
