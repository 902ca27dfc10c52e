"""Inline rules for markdown-it: platform tags, formulas, HTML, and bold and italic text as editors write it."""

from __future__ import annotations

import re
from typing import Any

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter, Scanned
from markdown_it.token import Token

from octavo.documents.html import NAN_ENTITY, decode, find_element_end, find_loose_element_end
from octavo.documents.limits import MAX_ROW_LENGTH
from octavo.documents.tag_blocks import TagScanner, is_known_tag

_MAX_INLINE_FORMULA = 4000
_MAX_LOOSE_BRACKETS = 500
_LINKED_MENTION = re.compile(
    r'\[([^\[\]\n]{0,200}\[[^\[\]\n]{1,400}\]\([^()\n]{1,900}[ ]"mention"\)[^\[\]\n]{0,200})\]\([^()\n]{0,900}\)'
)
_MATH_ELEMENT = re.compile(r'<span\s+class="math(?:\s[^"<>]*)?"\s*>')


def tag_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("{%", state.pos):
        return False
    known: tuple[str, TagScanner] | None = state.env.get("inline_tags")
    if known is None or known[0] is not state.src:
        known = (state.src, TagScanner(state.src))
        state.env["inline_tags"] = known
    tag = known[1].tag_at(state.pos)
    if tag is None or tag.end > state.posMax:
        return False
    if not silent:
        words = state.src[state.pos + 2 : tag.end - 2].strip(" -\n")
        if is_known_tag(tag.closes or tag.name) and state.linkLevel == 0:
            token = state.push("platform_tag", "", 0)
            token.meta = {"tag": tag}
            token.content = words
        else:
            state.push("platform_tag_in_text", "", 0).content = words
    state.pos = tag.end
    return True


def nan_entity_rule(state: StateInline, silent: bool) -> bool:
    """Skip the invalid entity `&#xNAN;`, which the platform sometimes writes next to a mark."""
    found = NAN_ENTITY.match(state.src, state.pos)
    if found:
        state.pos = found.end()
    return found is not None


def trailing_break_rule(state: StateInline, silent: bool) -> bool:
    """Skip a backslash at the end of a text, which the platform's editor leaves there as a line break."""
    if state.src[state.pos] != "\\" or state.pos + 1 < len(state.src):
        return False
    state.pos += 1
    return True


def placeholder_rule(state: StateInline, silent: bool) -> bool:
    """Read a placeholder such as `<token>` as text, if HTML has no such element and the source does not close it."""
    if not state.src.startswith("<", state.pos):
        return False
    placeholder_end = state.env["placeholders"].end_in_paragraph(state.src, state.pos)
    if placeholder_end is None:
        return _long_element(state, silent)
    if placeholder_end > state.posMax:
        return False
    if not silent:
        state.pending += state.src[state.pos : placeholder_end]
    state.pos = placeholder_end
    return True


def _long_element(state: StateInline, silent: bool) -> bool:
    """Read a very long element. The rule of markdown-it would need too much memory for it."""
    if state.src.find(">", state.pos, state.pos + MAX_ROW_LENGTH) >= 0:
        return False
    return _take_element(state, find_element_end(state.src, state.pos), silent)


def loose_element_rule(state: StateInline, silent: bool) -> bool:
    """Read an HTML element with attributes that markdown-it rejects, such as `style={{ width: '50%' }}`."""
    return _take_element(state, find_loose_element_end(state.src, state.pos), silent)


def _take_element(state: StateInline, end: int | None, silent: bool) -> bool:
    if end is None or end > state.posMax:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def many_brackets_rule(state: StateInline, silent: bool) -> bool:
    """Read brackets as text if the text has hundreds of brackets outside links. Searching for links would take too
    long."""
    if not state.src.startswith(("[", "!["), state.pos):
        return False
    known: tuple[str, bool] | None = state.env.get("brackets")
    if known is None or known[0] is not state.src:
        link_count = state.src.count("](") + state.src.count("][") + state.src.count("[^")
        known = (state.src, state.src.count("[") > _MAX_LOOSE_BRACKETS + 3 * link_count)
        state.env["brackets"] = known
    if known[1]:
        if not silent:
            state.pending += state.src[state.pos]
        state.pos += 1
    return known[1]


def mention_in_link_rule(state: StateInline, silent: bool) -> bool:
    """Read a link around a mention as plain text and the mention. The platform writes such links, but CommonMark has no
    nested links and would show the brackets of the outer link."""
    if not state.src.startswith("[", state.pos) or (outer := _LINKED_MENTION.match(state.src, state.pos)) is None:
        return False
    if outer.end() > state.posMax:
        return False
    if not silent:
        last = state.posMax
        state.pos, state.posMax = outer.span(1)
        state.md.inline.tokenize(state)
        state.posMax = last
    state.pos = outer.end()
    return True


def math_rule(state: StateInline, silent: bool) -> bool:
    """Read a formula between `$$`, or in `<span class="math">`, which the platform writes in captions and cells."""
    if not state.src.startswith(("$$", "<s"), state.pos):
        return False
    start, closing = state.pos + 2, "$$"
    if state.src[state.pos] == "<":
        if (element := _MATH_ELEMENT.match(state.src, state.pos)) is None:
            return False
        start, closing = element.end(), "</span>"
    end = state.src.find(closing, start, min(state.posMax, state.pos + _MAX_INLINE_FORMULA))
    if end <= start:
        return False
    if not silent:
        formula = state.src[start:end].strip()
        state.push("platform_math", "", 0).content = formula if closing == "$$" else decode(formula)
    state.pos = end + len(closing)
    return True


_STAR, _TILDE, _DOUBLE = ord("*"), ord("~"), 2
_FIRST_CJK = "\u1100"
_CJK_RANGES = (
    *("\u1100\u11ff", "\u2e80\u303e", "\u3041\ua4cf", "\uac00\ud7ff", "\uf900\ufaff", "\ufe30\ufe4f", "\uff00\uffef"),
    *("\U0001f200\U0001f2ff", "\U00020000\U0003fffd"),
)
"""First and last letter of each range. A regular expression is not used, because compiling it takes milliseconds."""
_SENTENCE_ENDS = ".:!?。：！？"


def scan_next_to_cjk(state: StateInline, start: int, scanned: Scanned) -> Scanned:
    """Return `scanned`, which says whether the marks at `start` can open or close a format, corrected for CJK text. A
    Chinese, Japanese or Korean letter next to the marks separates words like a space, so `**「是」**的` is bold."""
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
    """Make `**` and `~~` open and close alternately where CommonMark would not. Editors write these marks next to
    punctuation and letters (`option**.**`, `**±**25%`), and after a space (`**Note: **`). This applies only if each
    opening mark is before a word and each closing mark is after a word. Nested and single marks are not changed."""
    if "**" not in state.src and "~~" not in state.src:
        return
    metas: list[dict[str, Any]] = [meta for meta in state.tokens_meta if meta and "delimiters" in meta]
    for delimiters in (state.delimiters, *(meta["delimiters"] for meta in metas)):
        for marker in (_STAR, _TILDE):
            _alternate_marks(state, [run for run in _delimiter_runs(delimiters) if run[0].marker == marker])


def drop_empty_bold(state: StateInline) -> None:
    """Remove `****`, which editors leave after bold text was deleted."""
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
    """Group the delimiters of each mark: two delimiters for each `**`, and one for each `~~`."""
    found: list[list[Delimiter]] = []
    last = -_DOUBLE
    for at, each in enumerate(delimiters):
        if each.marker == _TILDE:
            found.append([each])
        elif each.marker == _STAR and each.length == _DOUBLE and at >= last + _DOUBLE:
            found.append(delimiters[at : at + _DOUBLE])
            last = at
    return found


def _alternate_marks(state: StateInline, runs: list[list[Delimiter]]) -> None:
    """Make marks of one kind open and close alternately. Does nothing if that is not possible."""
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
    stripped = text.rstrip()
    return stripped == text or (stripped != "" and stripped[-1] in _SENTENCE_ENDS)


def _text_of(token: Token) -> str:
    """Return the text of a token next to a mark. Empty for other tokens, such as an entity, which count as a word."""
    return " " if token.type in ("softbreak", "hardbreak") else token.content if token.type == "text" else ""
