"""Removes API keys from logs, crash reports, error messages and other text. Start at `redact`."""

from __future__ import annotations

import json
import logging
import re
from urllib.parse import quote

REDACTED = "[redacted]"

_known_tokens: set[str] = set()
_TOKEN_PATTERN = re.compile(
    r"gb_api_[A-Za-z0-9_\-]{4,}"
    r"|(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{8,}"
    r"|(?<=://)[^/@\s]+@"
)


def remember_token(token: str) -> None:
    """Let `redact` remove `token` from now on, even if it does not look like an API key."""
    if token:
        _known_tokens.update({token, quote(token, safe=""), json.dumps(token)[1:-1], repr(token)[1:-1]})


def redact(text: str) -> str:
    """Return `text` with `[redacted]` in place of known tokens and of everything that looks like a token."""
    for token in sorted(_known_tokens, key=len, reverse=True):
        text = text.replace(token, REDACTED)
    return _TOKEN_PATTERN.sub(_replacement, text)


def _replacement(token_match: re.Match[str]) -> str:
    return REDACTED + "@" if token_match[0].endswith("@") else REDACTED


class RedactingFilter(logging.Filter):
    """A logging filter that removes tokens from every record and its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):  # the message is still logged if the arguments do not fit it
            message = f"{record.msg} {record.args}"
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True
