"""Emoji by their names, such as `:rocket:`, and by their code points, such as `1f680`."""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, east_asian_width

from octavo.api.safety import line

_CODES = re.compile(r"[0-9a-fA-F]{4,6}(?:[-_ ][0-9a-fA-F]{2,6})*")
_BETWEEN_WORDS = re.compile(r"[^a-z0-9]+")
_KEYS = {"pound_symbol": "hash", "asterisk_symbol": "asterisk"}
_BEGINNINGS = {"digit_": "", "male_": "man_", "female_": "woman_"}
"""How names begin that others are also known by: `digit_one`, the key, and `male_teacher`."""
_IN_COLOUR, _KEY = "\ufe0f", "\u20e3"


def of_code(code: str) -> str | None:
    """The character whose code points, in hexadecimal, are `code`."""
    if not _CODES.fullmatch(code):
        return None
    points = [int(point, 16) for point in re.split("[-_ ]", code)]
    return line("".join(map(chr, points))) if max(points) <= 0x10FFFF else None


def emoji(name: str | None) -> str:
    """What the interface calls `1f44d` or `👍` as `👍`. A name that is neither is returned as it is."""
    return of_code(name) or name if name else ""


def character(name: str) -> str | None:
    """The character called `name` by the platform's editor, by Unicode or by what else writers use."""
    name = name.replace("-", "_")
    codes = _codes()
    for begins, other in _BEGINNINGS.items():
        if name.startswith(begins) and name not in codes:
            name = other + name.removeprefix(begins)
    code = codes.get(_KEYS.get(name, name))
    if code is None:
        return None
    found = "".join(chr(int(point, 16)) for point in code.split("-"))
    if found[-1] == _KEY:
        return f"{found[0]}{_IN_COLOUR}{_KEY}"
    return found + _IN_COLOUR if len(found) == 1 and _is_drawn_as_text(found) else found


def _is_drawn_as_text(sign: str) -> bool:
    """Whether a sign is one of letters' width unless it is said that it is a picture. Newer ones than Python are pictures."""
    return east_asian_width(sign) != "W" and category(sign) != "Cn"


@cache
def _codes() -> dict[str, str]:
    """Code points by name. Where two emoji have the same, that of the platform's editor is meant."""
    from pymdownx import gemoji_db, twemoji_db  # few pages name any

    codes: dict[str, str] = {}
    for names in (twemoji_db, gemoji_db):
        own = {name: each.get("unicode_alt") or each.get("unicode") for name, each in names.emoji.items()}
        own |= {other: own.get(name) for other, name in names.aliases.items()}
        if names is twemoji_db:
            own |= {_BETWEEN_WORDS.sub("_", each["name"].lower()): own[name] for name, each in names.emoji.items()}
        for name, code in own.items():
            if code:
                codes.setdefault(name.strip(":").replace("-", "_"), code)
    return codes
