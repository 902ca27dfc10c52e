"""Bold and italic where people meant them and CommonMark sees none: beside letters of languages that are written without
blanks, beside signs, and closed behind a blank."""

from __future__ import annotations

from typing import Any

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter, Scanned
from markdown_it.token import Token

_STAR, _TILDE, _DOUBLE = ord("*"), ord("~"), 2
_FIRST_CJK = "\u1100"
_CJK_RANGES = (
    *("\u1100\u11ff", "\u2e80\u303e", "\u3041\ua4cf", "\uac00\ud7ff", "\uf900\ufaff", "\ufe30\ufe4f", "\uff00\uffef"),
    *("\U0001f200\U0001f2ff", "\U00020000\U0003fffd"),
)
"""The first and the last letter of each range. A pattern would take milliseconds to compile."""
_SENTENCE_ENDS = ".:!?。：！？"


def scan_next_to_cjk(state: StateInline, start: int, scanned: Scanned) -> Scanned:
    """What marks at `start` may do, when a letter of Chinese, Japanese or Korean beside them sets words apart as a blank
    does: `**「是」**的` is bold."""
    end = start + scanned.length
    before = state.src[start - 1] if start else " "
    after = state.src[end] if end < state.posMax else " "
    if before < _FIRST_CJK and after < _FIRST_CJK:
        return scanned
    return Scanned(
        scanned.can_open or (not isWhiteSpace(ord(after)) and _is_cjk_boundary(before, after)),
        scanned.can_close or (not isWhiteSpace(ord(before)) and _is_cjk_boundary(after, before)),
        scanned.length,
    )


def _is_cjk_boundary(outside: str, inside: str) -> bool:
    is_letter = outside >= _FIRST_CJK and any(ends[0] <= outside <= ends[1] for ends in _CJK_RANGES)
    return is_letter and (isMdAsciiPunct(ord(inside)) or isPunctChar(inside))


def pair_delimiters(state: StateInline) -> None:
    """Let `**` and `~~` open and close in turn where CommonMark would not: editors put them around any words, beside signs
    and letters (`option**.**`, `**±**25%`), and behind a blank after the end of a sentence (`**Note: **`). Only where each
    opens before a word and closes behind one, so that marks which nest or stand alone are left to CommonMark."""
    if "**" not in state.src and "~~" not in state.src:
        return
    metas: list[dict[str, Any]] = [meta for meta in state.tokens_meta if meta and "delimiters" in meta]
    for delimiters in (state.delimiters, *(meta["delimiters"] for meta in metas)):
        for marker in (_STAR, _TILDE):
            _pair_in_turn(state, [run for run in _delimiter_runs(delimiters) if run[0].marker == marker])


def drop_empty_bold(state: StateInline) -> None:
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


def _delimiter_runs(delimiters: list[Delimiter]) -> list[list[Delimiter]]:
    """The delimiters of each `**` and `~~`: two signs in a row, and no more."""
    found: list[list[Delimiter]] = []
    last = -_DOUBLE
    for at, each in enumerate(delimiters):
        if each.marker == _TILDE:
            found.append([each])
        elif each.marker == _STAR and each.length == _DOUBLE and at >= last + _DOUBLE:
            found.append(delimiters[at : at + _DOUBLE])
            last = at
    return found


def _pair_in_turn(state: StateInline, runs: list[list[Delimiter]]) -> None:
    """Make marks of one kind openers and closers in turn. They stay as they are if they cannot be, or are so already."""
    pairs: list[tuple[list[Delimiter], list[Delimiter]]] = []
    opener: list[Delimiter] | None = None
    for run in runs:
        if opener is not None:
            if not _can_close(state, run[0].token - 1):
                return
            pairs.append((opener, run))
            opener = None
        elif _can_open(state, run[-1].token + 1):
            opener = run
    if all(first[0].open and last[0].close for first, last in pairs):
        return
    for pair in pairs:
        for is_opener, run in zip((True, False), pair, strict=True):
            for each in run:
                each.open, each.close = is_opener, not is_opener


def _can_open(state: StateInline, after: int) -> bool:
    return after < len(state.tokens) and not _text_of(state.tokens[after])[:1].isspace()


def _can_close(state: StateInline, before: int) -> bool:
    text = _text_of(state.tokens[before])
    bare = text.rstrip()
    return bare == text or (bare != "" and bare[-1] in _SENTENCE_ENDS)


def _text_of(token: Token) -> str:
    """What a token says beside a mark: a blank that is written as an entity is one that belongs to the words."""
    return " " if token.type in ("softbreak", "hardbreak") else token.content if token.type == "text" else ""
