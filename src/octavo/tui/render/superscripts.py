"""Small signs above and below the line."""

from __future__ import annotations

import re

_SUPERSCRIPT_SIGNS = dict(
    zip(
        "0123456789+-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ*′",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ*′",
        strict=True,
    )
)
_SUBSCRIPT_SIGNS = dict(
    zip("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True)
)
SUPERSCRIPTS = str.maketrans(_SUPERSCRIPT_SIGNS)
SUBSCRIPTS = str.maketrans(_SUBSCRIPT_SIGNS)


def to_script(text: str, table: dict[int, str]) -> str | None:
    """`text` in the small signs of `table`. None where there are not all of them, and for words."""
    text = text.strip().replace(" = ", "=")
    if not text or re.search("[A-Za-z]{4}", text) or not all(ord(char) in table for char in text):
        return None
    return text.translate(table)
