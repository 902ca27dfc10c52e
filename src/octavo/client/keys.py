"""Validates access tokens, and returns the parts of a token that may be shown."""

from __future__ import annotations

import hashlib
import re

from pydantic import SecretStr

from octavo import redaction

_KEY = re.compile(r"[\x21-\x7e]{8,512}")
_SCHEME = re.compile(r"bearer\s+", re.IGNORECASE)


def parse_token(text: str) -> SecretStr:
    """Return the token in a pasted text, without white space and `Bearer`. All later output redacts the token.

    Raises ValueError with a sentence that does not contain the text.
    """
    key = _SCHEME.sub("", text.strip(), count=1)
    if not key:
        raise ValueError("The API key is empty. Paste the whole API key that the server displayed.")
    if not _KEY.fullmatch(key):
        raise ValueError(
            "This is not an API key: an API key has 8 to 512 letters, digits, and symbols, without spaces or line breaks. "
            "Copy the whole API key again, then paste it."
        )
    redaction.remember_token(key)
    return SecretStr(key)


def fingerprint(key: SecretStr) -> str:
    """Return eight hexadecimal digits that identify a token and reveal nothing about it."""
    return hashlib.sha256(key.get_secret_value().encode()).hexdigest()[:8]


def ending(key: SecretStr) -> str:
    """Return the last four characters, by which a user recognizes the token. Empty for a short token."""
    text = key.get_secret_value()
    return text[-4:] if len(text) >= 20 else ""
