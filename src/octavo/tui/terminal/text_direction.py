"""Which letters are written from right to left, and which texts are read so."""

from __future__ import annotations

import re

FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Letters of scripts that are written from right to left."""
_LETTER = re.compile(r"[^\W\d_]")


def reads_from_right(text: str) -> bool:
    """Whether a text is read from right to left. Its first letter may be that of a foreign word: it says from which side the
    text is read unless most of the others say otherwise."""
    if text.isascii() or not FROM_RIGHT.search(text):
        return False
    sides = [FROM_RIGHT.match(letter) is not None for letter in _LETTER.findall(text)]
    return bool(sides) and sum(sides) > len(sides) * (1 / 3 if sides[0] else 1 / 2)
