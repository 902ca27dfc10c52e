"""Emoji as the interface names them: a character, or its code points."""

from __future__ import annotations

import re

from octavo.api.safety import line

_CODES = re.compile(r"[0-9a-fA-F]{4,6}(?:[-_ ][0-9a-fA-F]{2,6})*")


def emoji(name: str | None) -> str:
    """`1f44d` or `👍` as `👍`. A name that is neither is returned as it is."""
    if not name or not _CODES.fullmatch(name):
        return name or ""
    try:
        return line("".join(chr(int(code, 16)) for code in re.split("[-_ ]", name)))
    except (ValueError, OverflowError):
        return name
