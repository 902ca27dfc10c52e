"""How the lines of a text end. Texts are merged without it, and end as the side does that changed it."""

from __future__ import annotations

from dataclasses import replace

from octavo.documents.merging.conflict import Leaf, Part, Undecided

CRLF = "\r\n"


def line_end(text: str | None) -> str | None:
    """What its lines end with. None where they end in several ways."""
    if not text or CRLF not in text:
        return "\n"
    return CRLF if text.count(CRLF) == text.count("\n") else None


def with_crlf(part: Part) -> Part:
    """The same, with lines that end as on Windows."""
    if isinstance(part, str):
        return part.replace("\n", CRLF)
    return Undecided(tuple(_leaf(piece) for piece in part.pieces))


def _leaf(piece: Leaf) -> Leaf:
    if isinstance(piece, str):
        return piece.replace("\n", CRLF)
    base, main, proposed = (each and each.replace("\n", CRLF) for each in (piece.base, piece.main, piece.proposed))
    return replace(piece, base=base, main=main or "", proposed=proposed or "")
