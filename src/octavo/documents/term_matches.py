"""Finds where a page still has the old term of a change, and replaces it. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from octavo.documents import front_matter
from octavo.documents.blocks import Block
from octavo.documents.change_kinds import code_texts, link_targets
from octavo.documents.page_trees import escape
from octavo.documents.source_reader import parse
from octavo.documents.term_changes import TermChange, with_plural
from octavo.documents.text_facts import short_unit
from octavo.documents.visible_text import VisibleText, url_ranges, visible_text

MAX_MATCHES = 500
"""Maximum number of matches that are returned for one page."""
_CONTEXT = 100
_SPACE = r"[ \t\u00a0\u202f]"
_BEFORE_WORD = r"(?<![\w@#])(?<!\w[-‑.'’])"
_AFTER_WORD = r"(?![\w@])(?![-‑.]\w)(?!['’](?!s(?!\w))\w)"
_BEFORE_NUMBER = r"(?<![\w@#$€£¥])(?<![-−+])(?<!\w[.,:/])"
_AFTER_NUMBER = r"(?!\w)(?![.,:/−-]\d)"
_BEFORE_CODE, _AFTER_CODE = r"(?<![\w-])", r"(?![\w-])"
_NEXT_WORD = re.compile(r"[ \u00a0\u202f]{0,2}(\w+|[%‰°$€£¥])")
_PART = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’]\w+)*|\S")
_MARKUP = re.compile(r"[*_~<>\[\]]")
_QUOTE_BREAK = re.compile(r"\s*(?:\n[ \t>]*)?")


@dataclass(frozen=True)
class TermMatch:
    """A place on a page that has the old term."""

    start: int
    end: int
    """The range in the source of the page: `start` is its first position, and `end` the position after it."""
    line: int
    """Line in the source, counted from 0."""
    text: str
    """The source in the range."""
    replacement: str | None
    """The source with the new term. None if formats inside the term make the replacement ambiguous, or if the
    replacement would change more than words."""
    before: str
    after: str
    """The source on the same line before and after the range, shortened."""


def find_matches(change: TermChange, source: str) -> tuple[TermMatch, ...]:
    """Return the places in the Markdown of a page that have the old term, in order, at most `MAX_MATCHES`.

    Only whole words outside of URLs match. Text in code matches only if the term is code. A line break counts as a
    space. If the old term has capitals, a match must have the same capitals, or be in upper case. A regular plural
    matches too.
    """
    found: dict[tuple[int, int], TermMatch] = {}
    lines = [match.start() for match in re.finditer("\n", source)]
    visible = _raw_text(source) if change.is_code else visible_text(source)
    for form in with_plural(change):
        for start, end in _spans(form, visible.text):
            each = _match(form, source, visible, start, end, lines)
            if each is not None:
                found.setdefault((each.start, each.end), each)
            if len(found) == MAX_MATCHES:
                break
    matches = sorted(found.values(), key=lambda each: each.start)
    unsafe = set(_unsafe(source, matches, _structure(source, change), change)) if matches else set()
    return tuple(replace(each, replacement=None) if each in unsafe else each for each in matches)


def _unsafe(source: str, matches: Sequence[TermMatch], structure: object, change: TermChange) -> Iterator[TermMatch]:
    """Yield the matches whose replacement would change more than words, for example a link, or code, or the kind of a
    block."""
    if _structure(replace_matches(source, matches), change) == structure:
        return
    if len(matches) == 1:
        yield matches[0]
        return
    middle = len(matches) // 2
    yield from _unsafe(source, matches[:middle], structure, change)
    yield from _unsafe(source, matches[middle:], structure, change)


def _structure(source: str, change: TermChange) -> object:
    """Return what a replacement must not change: the kinds of the blocks, the targets of links, and code."""
    page = Block("page", children=parse(source).blocks)
    return [block.kind for block in page.walk()], link_targets(page), [] if change.is_code else code_texts(page)


def replace_matches(source: str, matches: Iterable[TermMatch]) -> str:
    """Return the source of a page with the new term in these places. Places without a replacement stay as they are."""
    pieces, position = [], 0
    for each in sorted(matches, key=lambda match: match.start):
        if each.replacement is not None and each.start >= position:
            pieces += [source[position : each.start], each.replacement]
            position = each.end
    return "".join([*pieces, source[position:]])


def index_queries(change: TermChange) -> tuple[tuple[str, ...], ...]:
    """Return the words to look up in a search index. A page can have a match only if it has all words of one query."""
    queries: dict[tuple[str, ...], None] = {}
    for form in with_plural(change):
        queries[tuple(re.findall(r"[^\W_]+", form.old))] = None
        if change.is_number:
            queries[tuple(re.findall(r"[^\W_]+", "".join(form.old.split())))] = None
    return tuple(filter(None, queries))


def _raw_text(source: str) -> VisibleText:
    """Return the source with barriers in place of its URLs and front matter."""
    characters = list(source)
    for start, end in ((0, front_matter.split_page(source)[1]), *url_ranges(source)):
        characters[start:end] = "\0" * (end - start)
    return VisibleText("".join(characters), list(range(len(source))), list(range(1, len(source) + 1)))


def _spans(change: TermChange, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the old term in a visible text."""
    pattern = _pattern(change)
    for found in pattern.finditer(text):
        if change.is_number and _is_other_quantity(change, text, found.end()):
            continue
        if _has_accepted_case(change, found[0]):
            yield found.span()


def _pattern(change: TermChange) -> re.Pattern[str]:
    if change.is_code:
        words = rf"{_SPACE}+".join(map(re.escape, change.old.split()))
        return re.compile(f"{_BEFORE_CODE}{words}{_AFTER_CODE}")
    gap = rf"{_SPACE}{{0,3}}" if change.is_number else rf"{_SPACE}{{1,20}}"
    parts = _number_parts(change.old) if change.is_number else change.old.split()
    words = gap.join(map(_word_pattern, parts))
    before = _BEFORE_NUMBER if change.old[0].isdigit() else _BEFORE_WORD if change.old[0].isalnum() else r"(?<!\w)"
    after = _AFTER_NUMBER if change.old[-1].isdigit() else _AFTER_WORD if change.old[-1].isalnum() else ""
    return re.compile(f"{before}{words}{after}", re.IGNORECASE)


def _number_parts(term: str) -> list[str]:
    """Return the words of a term that begins with a number, such as `30` and `s` for `30s`."""
    return [part for word in term.split() for part in _PART.findall(word)]


def _word_pattern(word: str) -> str:
    return re.sub(r"['’]", "['’]", re.escape(word))


def _is_other_quantity(change: TermChange, text: str, end: int) -> bool:
    """Return True if a unit follows a number that has no unit in the term."""
    if not change.old[-1].isdigit():
        return False
    following = _NEXT_WORD.match(text, end, end + 30)
    return following is not None and short_unit(following[1], after_number=True) is not None


def _has_accepted_case(change: TermChange, found: str) -> bool:
    """Return whether `found` is an accepted spelling of the old term: the same letters in the same case, all letters in
    upper case, or with capitals at the start of words if the old term has no capitals."""
    letters, old = "".join(filter(str.isalpha, found)), "".join(filter(str.isalpha, change.old))
    if change.is_number or letters == old:
        return not change.is_number or letters == old
    if letters.isupper() and len(letters) > 1 and not old.isupper():
        return True
    if not old.islower() and not (change.is_at_start and _lower_start(change.old).islower()):
        return False
    return all(word[:1] + word[1:].lower() == word for word in found.split())


def _lower_start(term: str) -> str:
    """Return a term with a small letter at the start of each word."""
    return " ".join(word[:1].lower() + word[1:] for word in term.split())


def _match(
    change: TermChange, source: str, visible: VisibleText, start: int, end: int, lines: Sequence[int]
) -> TermMatch | None:
    first, last = visible.starts[start], visible.ends[end - 1]
    if source[first:last].count("\n") > 3:
        return None
    new = _new_words(change, visible.text[start:end])
    line_start, line_end = source.rfind("\n", 0, first) + 1, source.find("\n", last)
    before = source[max(line_start, first - _CONTEXT) : first]
    after = source[last : min(line_end if line_end >= 0 else len(source), last + _CONTEXT)]
    return TermMatch(
        first,
        last,
        bisect_right(lines, first - 1) if first else 0,
        source[first:last],
        _replacement(change, source, visible, (start, end), new),
        before.lstrip(),
        after.rstrip(),
    )


def _new_words(change: TermChange, found: str) -> str:
    """Return the new term with the same capitals as `found`, the text on the page."""
    if change.is_code or change.is_number:
        return change.new
    letters, old = "".join(filter(str.isalpha, found)), "".join(filter(str.isalpha, change.old))
    if letters == old:
        return change.new
    if letters.isupper() and len(letters) > 1:
        return change.new.upper()
    is_lowered = change.is_at_start and not change.old.islower() and _lower_start(change.new).islower()
    new = _lower_start(change.new) if is_lowered else change.new
    found_words = found.split()
    if all(word[:1].isupper() for word in found_words) and len(found_words) > 1:
        return " ".join(word[:1].upper() + word[1:] for word in new.split())
    return new[:1].upper() + new[1:] if found[:1].isupper() else new


def _replacement(change: TermChange, source: str, visible: VisibleText, span: tuple[int, int], new: str) -> str | None:
    """Return the source of a place with the new words. The formats and line breaks between the words stay."""
    start, end = span
    first, last = visible.starts[start], visible.ends[end - 1]
    if change.is_code:
        return new
    pattern = _PART if change.is_number else re.compile(r"\S+")
    ranges = [
        (visible.starts[word.start()], visible.ends[word.end() - 1])
        for word in pattern.finditer(visible.text, start, end)
    ]
    if any(_MARKUP.search(source[a:b]) for a, b in ranges):
        return None
    gaps = [source[a:b] for (_, a), (b, _) in pairwise(ranges)]
    words = _number_parts(new) if change.is_number else new.split()
    if len(words) == len(ranges):
        pieces = [escape(words[0])]
        for gap, word in zip(gaps, words[1:], strict=True):
            pieces += [gap, escape(word)]
        replaced = "".join(pieces)
    elif all(_QUOTE_BREAK.fullmatch(gap) for gap in gaps):
        replaced = escape(new)
    else:
        return None
    line = source[source.rfind("\n", 0, first) + 1 : last]
    return replaced.replace("|", "\\|") if line.lstrip(" \t>").startswith("|") else replaced
