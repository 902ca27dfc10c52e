"""The typefaces of PDFs: one that comes with reportlab and is embedded, and others for what it has no letters for."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont, TTFontFace

BODY = "Vera"
MONO = "Courier"

_FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path("/System/Library/Fonts/Supplemental"))
_OTHERS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "FreeSans.ttf", "Arial Unicode.ttf")
_ASIAN = (
    ("HeiseiKakuGo-W5", ((0x3040, 0x30FF),)),
    ("HYGothic-Medium", ((0x1100, 0x11FF), (0xAC00, 0xD7AF))),
    ("STSong-Light", ((0x2E80, 0x303F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF))),
)
"""Typefaces that every reader of PDFs brings, and what they are for."""
_NONE = "?"
"""What stands for a letter that nobody has."""


def typeset(words: str, *, mono: bool = False) -> str:
    """`words` as the markup of paragraphs: each letter in a typeface that has it, and none of them markup."""
    _register()
    first = MONO if mono else BODY
    parts = []
    for name, group in groupby(words, lambda letter: _of(letter, first)):
        letters = "".join(group)
        said = escape(letters) if name else _NONE * len(letters)
        parts.append(said if name in (BODY, None) else f'<font name="{name}">{said}</font>')
    return "".join(parts)


@cache
def _register() -> None:
    """Make the typefaces known to reportlab."""
    for suffix in ("", "Bd", "It", "BI"):
        pdfmetrics.registerFont(TTFont(f"Vera{suffix}", f"Vera{suffix}.ttf"))
    pdfmetrics.registerFontFamily("Vera", "Vera", "VeraBd", "VeraIt", "VeraBI")
    for name, _ in _ASIAN:
        pdfmetrics.registerFont(UnicodeCIDFont(name))


@cache
def _of(letter: str, first: str) -> str | None:
    """The typeface for a letter. None if nobody has it."""
    point = ord(letter)
    if first == MONO and point < 0x100 and letter.isprintable():
        return MONO
    if point in _letters(BODY) or letter.isspace():
        return BODY
    for name, ranges in _ASIAN:
        if any(low <= point <= high for low, high in ranges):
            return name
    return next((name for name in _found() if point in _letters(name)), None)


@cache
def _found() -> tuple[str, ...]:
    """Typefaces of this machine that have letters of many scripts."""
    names = []
    for wanted in _OTHERS:
        path = next((path for folder in _FOLDERS if folder.is_dir() for path in folder.rglob(wanted)), None)
        if path is None:
            continue
        try:
            pdfmetrics.registerFont(TTFont(path.stem, str(path)))
        except (TTFError, OSError):
            continue
        pdfmetrics.registerFontFamily(path.stem, path.stem, path.stem, path.stem, path.stem)
        names.append(path.stem)
    return tuple(names)


@cache
def _letters(name: str) -> frozenset[int]:
    face: TTFontFace = getattr(pdfmetrics.getFont(name), "face")  # noqa: B009  # only typefaces of this kind have one
    return frozenset(face.charToGlyph)


_register()
