"""Finds the terms that a change replaces: words, or a number with its unit. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.documents.diff_model import (
    CellChange,
    ChangedBlock,
    CodeChange,
    ContainerChange,
    Entry,
    MovedBlock,
    Parts,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.documents.text_facts import short_unit, word_set

MAX_TERM = 80
"""Maximum number of characters of a term. Longer replacements are new sentences and not new names."""
MAX_WORDS = 6
_WORD = re.compile(r"\d+(?:[.,:]\d+)*\w*|\w+(?:['’]\w+)*")
_CODE_WORD = re.compile(r"\w+(?:[.-]\w+)*")
_CODE_TERM = re.compile(r"[\w./:@$-]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_QUANTITY = re.compile(r"[$€£¥]?\d+(?:[.,:]\d+)*\s?([^\W\d]+|[%‰°$€£¥])")
_GAP = re.compile(r"[ \t\u00a0\u202f]{0,2}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s|\n)\W*$")
_SIGNS = "%‰°$€£¥"
_COMMON_WORDS = word_set(
    "a an the and or but nor so if then than that this these those it its is are was were be been being do does did has"
    " have had will would can could may might must shall should not no of in on at to from by for with without about into"
    " over under after before between as per up down out off only each every all any some more most less least you your"
    " we our they their he she his her i me my us them which who what when where how why also just there here"
)
"""Words that do not belong to a term beside them."""


@dataclass(frozen=True)
class TermChange:
    """A term that was replaced by another term."""

    old: str
    new: str
    is_code: bool = False
    """True if the term was code, in which upper case and lower case differ."""
    is_at_start: bool = False
    """True if the term is the beginning of a sentence, or part of a heading. So its capitals may have no meaning."""

    @property
    def is_number(self) -> bool:
        """True if the term begins with a number."""
        return _NUMBER.match(self.old.lstrip(_SIGNS)) is not None


class _Replacement(NamedTuple):
    """A replaced range of the old text."""

    start: int
    end: int
    new: str
    is_code: bool


def changed_terms(entries: Iterable[Entry], keys: Collection[str] | None = None) -> tuple[TermChange, ...]:
    """Return the replaced terms in the order of the page, each once. Each term is followed by longer terms, which
    include the word before or after it. `keys` limits the result to changes of these blocks."""
    found: dict[tuple[str, str, bool], TermChange] = {}
    for parts, block in _texts(entries, keys, is_wanted=keys is None):
        lines = [parts.words] if isinstance(parts, TextChange) else [line.words for line in parts.lines]
        for words in lines:
            for term in _terms(words, is_code=block.kind == "code", is_heading=block.kind == "heading"):
                identity = term.old, term.new, term.is_code
                same = found.setdefault(identity, term)
                found[identity] = replace(same, is_at_start=same.is_at_start and term.is_at_start)
    return tuple(found.values())


def _texts(
    entries: Iterable[Entry], keys: Collection[str] | None, *, is_wanted: bool
) -> Iterator[tuple[TextChange | CodeChange, Block]]:
    """Yield the changed texts of entries with their old blocks."""
    for entry in entries:
        if isinstance(entry, (ChangedBlock, MovedBlock)):
            is_inside = is_wanted or (keys is not None and (entry.old.key in keys or entry.new.key in keys))
            yield from _texts_in(entry.parts, entry.old, keys, is_wanted=is_inside)
        elif nested := getattr(entry, "entries", ()):
            yield from _texts(nested, keys, is_wanted=is_wanted)


def _texts_in(
    parts: Parts, block: Block, keys: Collection[str] | None, *, is_wanted: bool
) -> Iterator[tuple[TextChange | CodeChange, Block]]:
    match parts:
        case TextChange() | CodeChange():
            if is_wanted:
                yield parts, block
        case TableChange(rows=rows):
            yield from _texts(rows, keys, is_wanted=is_wanted)
        case RowChange(cells=cells):
            yield from _cell_texts(cells, block, keys, is_wanted=is_wanted)
        case ContainerChange(entries=entries, title=title):
            if title is not None and is_wanted:
                yield title, block
            yield from _texts(entries, keys, is_wanted=is_wanted)
        case None:
            pass


def _cell_texts(
    cells: Iterable[CellChange], row: Block, keys: Collection[str] | None, *, is_wanted: bool
) -> Iterator[tuple[TextChange, Block]]:
    for cell in cells:
        block = cell.old or cell.new or row
        if cell.words is not None and (is_wanted or (keys is not None and block.key in keys)):
            yield cell.words, block


def _terms(words: Iterable[TextPart], *, is_code: bool, is_heading: bool = False) -> Iterator[TermChange]:
    text, replacements = _replacements(words, is_code=is_code)
    for index, each in enumerate(replacements):
        first = replacements[index - 1].end if index else 0
        last = replacements[index + 1].start if index + 1 < len(replacements) else len(text)
        whole = _with_unit(text, _whole_words(text, each, first, last), first, last)
        wider = () if each.is_code else _extended_terms(text, whole, first, last)
        if not all(_is_term(term, is_code=each.is_code) for term in (text[whole.start : whole.end], whole.new)):
            continue
        order = [*wider, whole] if wider and _has_digits(text, whole) else [whole, *wider]
        for one in order:
            old, new = " ".join(text[one.start : one.end].split()), " ".join(one.new.split())
            if old != new and len(old) <= MAX_TERM:
                change = TermChange(old, new, each.is_code)
                is_at_start = is_heading or _SENTENCE_START.search(text[max(0, one.start - 20) : one.start]) is not None
                is_capital = old[0].isupper() and not (each.is_code or change.is_number)
                yield replace(change, is_at_start=is_at_start and is_capital)


def _is_term(text: str, *, is_code: bool) -> bool:
    """Return whether a text can be a term: it is short, and at least one of its words is not a common word. Code must
    be a single name."""
    if not 0 < len(text) <= MAX_TERM or len(text.split()) > MAX_WORDS or not any(map(str.isalnum, text)):
        return False
    if is_code:
        return _CODE_TERM.fullmatch(text) is not None
    return any(word.lower() not in _COMMON_WORDS for word in _WORD.findall(text))


def _replacements(words: Iterable[TextPart], *, is_code: bool) -> tuple[str, list[_Replacement]]:
    """Return the old text, and the ranges that were replaced by other words."""
    text, found = "", list[_Replacement]()
    old = new = ""
    all_code = True

    def close() -> None:
        start = len(text) - len(old) + len(old) - len(old.lstrip())
        if old.strip() and new.strip():
            found.append(_Replacement(start, start + len(old.strip()), new.strip(), is_code or all_code))

    for part in words:
        if part.op in ("insert", "delete"):
            all_code = all_code and "code" in part.run.marks
            if part.op == "delete":
                old, text = old + part.run.text, text + part.run.text
            else:
                new += part.run.text
        else:
            close()
            old, new, all_code = "", "", True
            text += part.run.text
    close()
    return text, found


def _whole_words(text: str, replacement: _Replacement, first: int, last: int) -> _Replacement:
    """Return a replacement extended to whole words, within the unchanged text from `first` to `last`."""
    start, end = replacement.start, replacement.end
    for word in (_CODE_WORD if replacement.is_code else _WORD).finditer(text, first, last):
        if word.start() < replacement.start < word.end():
            start = word.start()
        if word.start() < replacement.end < word.end():
            end = word.end()
    return _extended(text, replacement, start, end)


def _extended(text: str, replacement: _Replacement, start: int, end: int) -> _Replacement:
    """Return a replacement with unchanged text before and after it."""
    return replacement._replace(
        start=start, end=end, new=text[start : replacement.start] + replacement.new + text[replacement.end : end]
    )


def _with_unit(text: str, replacement: _Replacement, first: int, last: int) -> _Replacement:
    """Return a replaced number extended by the unit or sign beside it, or a replaced unit extended by its number. Other
    terms are unchanged."""
    if replacement.start > first and text[replacement.start - 1] in _SIGNS:
        return _extended(text, replacement, replacement.start - 1, replacement.end)
    gap = _GAP.match(text, replacement.end, last)
    after = gap.end() if gap is not None else replacement.end
    if text[replacement.end - 1].isdigit() and after < last:
        token = _WORD.match(text, after, last)
        if text[after] in _SIGNS:
            return _extended(text, replacement, replacement.start, after + 1)
        if token is not None and short_unit(token[0], after_number=True) is not None:
            return _extended(text, replacement, replacement.start, token.end())
    if short_unit(text[replacement.start : replacement.end], after_number=True) is not None:
        numbers = list(_NUMBER.finditer(text, first, replacement.start))
        if (
            numbers
            and not text[numbers[-1].end() : replacement.start].strip()
            and replacement.start - numbers[-1].end() < 3
        ):
            return _extended(text, replacement, numbers[-1].start(), replacement.end)
    return replacement


def _has_digits(text: str, each: _Replacement) -> bool:
    return any(map(str.isdigit, text[each.start : each.end]))


def _extended_terms(text: str, each: _Replacement, first: int, last: int) -> list[_Replacement]:
    """Return the term extended by the word before it, and the term extended by the word after it. Common words are not
    added. A number is extended by the word after it, such as `50 guests`, or by a name before it, such as `Limpet 3`. A
    number with a unit is not extended."""
    found = []
    is_number = _NUMBER.fullmatch(text, each.start, each.end) is not None
    is_name = _has_digits(text, each) and not is_number
    quantity = _QUANTITY.fullmatch(text, each.start, each.end)
    if quantity is not None and short_unit(quantity[1], after_number=True) is not None:
        return []
    before = re.search(r"([^\W\d_][\w'’-]*)[ \t\u00a0]$", text[first : each.start])
    if before is not None and before[1].lower() not in _COMMON_WORDS:
        is_title = before[1][0].isupper() or not any(map(str.isdigit, each.new))
        if not (is_number or is_name) or is_title:
            found.append(_extended(text, each, first + before.start(), each.end))
    after = re.compile(r"[ \t\u00a0]([^\W\d_][\w'’-]*)").match(text, each.end, last)
    if not is_name and after is not None and after[1].lower() not in _COMMON_WORDS:
        found.append(_extended(text, each, each.start, after.end()))
    return found


def with_plural(change: TermChange) -> tuple[TermChange, ...]:
    """Return the change. If its terms are regular English singulars, also return the change of their plurals, and the
    other way round. Code and numbers have no plural."""
    if change.is_code or change.is_number:
        return (change,)
    for convert in (_plural, _singular):
        old, new = convert(change.old), convert(change.new)
        if old is not None and new is not None:
            return change, replace(change, old=old, new=new)
    return (change,)


def _plural(term: str) -> str | None:
    last = re.search(r"[^\W\d_]{3,}$", term)
    if last is None or (last[0].lower().endswith("s") and not last[0].lower().endswith("ss")):
        return None
    if re.search(r"(?:ss|x|z|ch|sh)$", term, re.IGNORECASE):
        return f"{term}es"
    if re.search(r"[^aeiou]y$", term, re.IGNORECASE):
        return f"{term[:-1]}ies"
    return f"{term}s"


def _singular(term: str) -> str | None:
    if not re.search(r"[^\W\d_]{3,}s$", term) or re.search(r"(?:ss|us|is)$", term):
        return None
    if term.endswith("ies"):
        return f"{term[:-3]}y"
    return term[:-2] if re.search(r"(?:sses|xes|zes|ches|shes)$", term) else term[:-1]
