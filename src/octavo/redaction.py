"""Take keys out of text before it is written or shown: logs, crash reports, errors."""

from __future__ import annotations

import json
import logging
import re
from urllib.parse import quote

REDACTED = "[redacted]"

_known: set[str] = set()
_SHAPES = re.compile(
    r"gb_api_[A-Za-z0-9_\-]{4,}"
    r"|(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{8,}"
    r"|(?<=://)[^/@\s]+@"
)


def remember(key: str) -> None:
    """Redact this very key from now on, whatever it looks like."""
    if key:
        _known.update({key, quote(key, safe=""), json.dumps(key)[1:-1], repr(key)[1:-1]})


def redact(text: str) -> str:
    """`text` without the keys we know and without what has the shape of one."""
    for key in sorted(_known, key=len, reverse=True):
        text = text.replace(key, REDACTED)
    return _SHAPES.sub(_covered, text)


def _covered(found: re.Match[str]) -> str:
    return REDACTED + "@" if found[0].endswith("@") else REDACTED


class RedactingFilter(logging.Filter):
    """Put on a handler, it redacts every record that passes, its traceback too."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except (TypeError, ValueError, KeyError):  # its arguments do not fit, which is no reason to say nothing
            said = f"{record.msg} {record.args}"
        record.msg, record.args = redact(said), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True
