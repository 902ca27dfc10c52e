"""Bold and italic where people meant them and CommonMark sees none: beside letters of languages that are written without
blanks, and closed behind a blank."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter, Scanned
from markdown_it.token import Token

_STAR = ord("*")
_FIRST_WIDE = "\u1100"
_WITHOUT_BLANKS = (
    *("\u1100\u11ff", "\u2e80\u303e", "\u3041\ua4cf", "\uac00\ud7ff", "\uf900\ufaff", "\ufe30\ufe4f", "\uff00\uffef"),
    *("\U0001f200\U0001f2ff", "\U00020000\U0003fffd"),
)
"""The first and the last letter of each range. A pattern would take milliseconds to compile."""
_SENTENCE_ENDS = ".:!?。：！？"


def scanned_beside_letters(state: StateInline, start: int, scanned: Scanned) -> Scanned:
    """What marks at `start` may do, when a letter of Chinese, Japanese or Korean beside them sets words apart as a blank
    does: `**「是」**的` is bold."""
    end = start + scanned.length
    before = state.src[start - 1] if start else " "
    after = state.src[end] if end < state.posMax else " "
    if before < _FIRST_WIDE and after < _FIRST_WIDE:
        return scanned
    return Scanned(
        scanned.can_open or (not isWhiteSpace(ord(after)) and _sets_apart(before, after)),
        scanned.can_close or (not isWhiteSpace(ord(before)) and _sets_apart(after, before)),
        scanned.length,
    )


def _sets_apart(outside: str, inside: str) -> bool:
    is_letter = outside >= _FIRST_WIDE and any(ends[0] <= outside <= ends[1] for ends in _WITHOUT_BLANKS)
    return is_letter and (isMdAsciiPunct(ord(inside)) or isPunctChar(inside))


def closed_behind_a_blank(state: StateInline) -> None:
    """Pair `**Note: **` as it was meant: editors write it for what is bold with the blank after it. Only behind the end of
    a sentence, and only marks that pair with no others and have none between them."""
    if "**" not in state.src:
        return
    metas: list[dict[str, Any]] = [meta for meta in state.tokens_meta if meta and "delimiters" in meta]
    for delimiters in (state.delimiters, *(meta["delimiters"] for meta in metas)):
        if len(delimiters) > 3:
            _pair(state, delimiters)


def bold_of_nothing(state: StateInline) -> None:
    """Leave out `****` that marks nothing: editors leave it where what was bold between was taken away."""
    if "****" not in state.src:
        return
    stars: list[Token] = []
    for token in [*state.tokens, None]:
        if token is not None and token.type == "text" and token.content == "*":
            stars.append(token)
            continue
        if len(stars) == 4:
            for star in stars:
                star.content = ""
        stars = []


def _pair(state: StateInline, delimiters: list[Delimiter]) -> None:
    closers = {each.end for each in delimiters if each.end >= 0}
    opener = -1
    reach = -1  # what lies before it is inside a pair
    for at, (first, second) in enumerate(pairwise(delimiters)):
        reach = max(reach, first.end)
        if first.marker != _STAR or first.length != 2 or second.token != first.token + 1:
            continue
        if not closers.isdisjoint((at, at + 1)) or first.end >= 0 or second.end >= 0:
            opener = -1
            continue
        before = state.tokens[first.token - 1] if first.token else None
        is_end = before is not None and before.type == "text" and _ends_in_a_blank(before.content[-4:])
        if opener >= 0 and is_end and at > reach:
            delimiters[opener].end, delimiters[opener + 1].end = at + 1, at
            opener = -1
        elif first.open and at > reach:
            opener = at


def _ends_in_a_blank(text: str) -> bool:
    """Whether a sentence ends here, and a blank stands behind it."""
    bare = text.rstrip()
    return bare != text and bare[-1:] in _SENTENCE_ENDS and bare != ""
