"""API keys: what may be one, and what may be shown of one."""

from __future__ import annotations

import hashlib
import re

from pydantic import SecretStr

from octavo import redaction

_KEY = re.compile(r"[\x21-\x7e]{8,512}")
_SCHEME = re.compile(r"bearer\s+", re.IGNORECASE)


def accept(text: str) -> SecretStr:
    """The key in what was pasted: without white space around it and without `Bearer`. It is redacted from now on.

    Raises ValueError with a sentence that does not repeat what was given.
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
    """Eight hexadecimal digits that tell keys apart and say nothing of the key."""
    return hashlib.sha256(key.get_secret_value().encode()).hexdigest()[:8]


def ending(key: SecretStr) -> str:
    """The last four characters, for a person to recognise the key by; nothing of a short one."""
    text = key.get_secret_value()
    return text[-4:] if len(text) >= 20 else ""
