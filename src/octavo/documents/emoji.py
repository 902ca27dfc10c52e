"""The characters that names such as `:rocket:` stand for."""

from __future__ import annotations

import re
import unicodedata

from octavo.api.safety import text as safe
from octavo.documents.emoji_names import short_names

_CODES = re.compile(r"[0-9a-fA-F]{4,6}(?:[-_ ][0-9a-fA-F]{2,6})*")


def of_code(code: str) -> str | None:
    """The character whose code points, in hexadecimal, are `code`."""
    if not _CODES.fullmatch(code):
        return None
    points = [int(point, 16) for point in re.split("[-_ ]", code)]
    return safe("".join(map(chr, points))) if max(points) <= 0x10FFFF else None


def character(name: str) -> str | None:
    """The character called `name`: a common short name or a Unicode name."""
    if known := short_names().get(name):
        return known
    try:
        found = unicodedata.lookup(name.replace("_", " ").replace("-", " "))
    except KeyError:
        return None
    return found if len(found) == 1 and _is_pictorial(ord(found)) else None


def _is_pictorial(point: int) -> bool:
    return 0x1F000 <= point <= 0x1FAFF or 0x2190 <= point <= 0x2BFF or point in (0x3030, 0x303D, 0x3297, 0x3299)
