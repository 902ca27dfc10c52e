"""Long text made safe to show, a part at a time: letters beyond ASCII take long."""

from __future__ import annotations

from octavo.api.safety import text as safe

_AT_A_TIME = 10_000


def sanitize(text: str) -> str:
    """`text` made safe to show, with its lines and tabs kept."""
    if len(text) < _AT_A_TIME or text.isascii():
        return safe(text)
    parts, done, start = [], 0, 0
    while start < len(text):
        end = text.find("\n", start + _AT_A_TIME, start + 2 * _AT_A_TIME) + 1 or start + 2 * _AT_A_TIME
        stretch = text[start:end]
        if (kept := safe(stretch)) is not stretch:
            parts += [text[done:start], kept]
            done = end
        start = end
    return "".join([*parts, text[done:]]) if parts else text
