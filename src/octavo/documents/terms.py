"""Finds the terms that a change replaced, such as words or a number with its unit. Also finds where the visible text of
a page still has the old term. Does no I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice, pairwise
from typing import NamedTuple

from octavo.documents import front_matter
from octavo.documents.blocks import Block
from octavo.documents.change_kinds import code_texts, link_targets, short_unit, word_set
from octavo.documents.diff_model import (
    ChangedBlock,
    CodeChange,
    ContainerChange,
    ContentChange,
    DiffEntry,
    MovedBlock,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.documents.linters.placement import mask_parts
from octavo.documents.page_trees import escape_markdown
from octavo.documents.source_reader import parse

MAX_TERM = 80
"""Maximum number of characters of a term. A longer text counts as a sentence, not as a name."""
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
"""Words that are too common to be a term or a part of a term."""
_TAKES_ONLY_S = word_set("axe cache calorie cookie movie niche rookie selfie zombie")
"""Words whose plural adds only `s`, although it looks like the plural of a word with `x`, `ch` or `y` at the end."""
_UNCHANGED_IN_PLURAL = re.compile(r"\b(?:kubernetes|news|postgres|series|species)$", re.IGNORECASE)
_TAKES_ES = r"(?:ss|x|tz|ch|sh|\b(?:alias|atlas|bias|bonus|bus|canvas|lens|status|virus))"
"""End of a word whose plural ends with `es`."""


@dataclass(frozen=True)
class TermChange:
    """A term that a change replaced by another term."""

    old: str
    new: str
    is_code: bool = False
    """True if the term was code, in which upper case and lower case differ."""
    has_optional_capital: bool = False
    """True if the term may have its capital only because it is in a heading, or begins a sentence."""

    @property
    def begins_with_number(self) -> bool:
        """True if the old term begins with a number, such as `30 days`."""
        return _NUMBER.match(self.old.lstrip(_SIGNS)) is not None


class _Replacement(NamedTuple):
    """A range of the old text, and the text that replaced it."""

    start: int
    end: int
    new: str
    is_code: bool


def changed_terms(entries: Iterable[DiffEntry], keys: Collection[str] | None = None) -> tuple[TermChange, ...]:
    """Return the terms that a diff replaced. Each term is returned up to three times: alone, with the word before, and
    with the word after. If `keys` is given, return only terms in the blocks with these keys."""
    term_changes: dict[tuple[str, str, bool], TermChange] = {}
    for change, block in _texts(entries, keys):
        lines = [change.words] if isinstance(change, TextChange) else [line.words for line in change.lines]
        for words in lines:
            for term in _terms(words, is_code=block.kind == "code", is_heading=block.kind == "heading"):
                identity = term.old, term.new, term.is_code
                first_change = term_changes.setdefault(identity, term)
                term_changes[identity] = replace(
                    first_change, has_optional_capital=first_change.has_optional_capital and term.has_optional_capital
                )
    return tuple(term_changes.values())


def _texts(
    entries: Iterable[DiffEntry], keys: Collection[str] | None
) -> Iterator[tuple[TextChange | CodeChange, Block]]:
    """Yield each changed text with its old block. If `keys` is not None, yield only texts in blocks with these keys."""
    for entry in entries:
        if isinstance(entry, (ChangedBlock, MovedBlock)):
            is_included = keys is None or entry.old.key in keys or entry.new.key in keys
            yield from _texts_in(entry.content_change, entry.old, None if is_included else keys)
        elif nested_entries := getattr(entry, "entries", ()):
            yield from _texts(nested_entries, keys)


def _texts_in(
    content_change: ContentChange, block: Block, keys: Collection[str] | None
) -> Iterator[tuple[TextChange | CodeChange, Block]]:
    match content_change:
        case TextChange() | CodeChange():
            if keys is None:
                yield content_change, block
        case TableChange(rows=rows):
            yield from _texts(rows, keys)
        case RowChange(cells=cells):
            for cell in cells:
                cell_block = cell.old or cell.new or block
                if cell.words is not None and (keys is None or cell_block.key in keys):
                    yield cell.words, cell_block
        case ContainerChange(entries=entries, title=title):
            if title is not None and keys is None:
                yield title, block
            yield from _texts(entries, keys)
        case None:
            pass


def _terms(words: Iterable[TextPart], *, is_code: bool, is_heading: bool) -> Iterator[TermChange]:
    text, replacements = _replacements(words, is_code=is_code)
    for index, replacement in enumerate(replacements):
        first = replacements[index - 1].end if index else 0
        last = replacements[index + 1].start if index + 1 < len(replacements) else len(text)
        whole_words = _with_sign_or_unit(text, _whole_words(text, replacement, first, last), first, last)
        extended_terms = () if replacement.is_code else _extended_terms(text, whole_words, first, last)
        if not all(
            _is_term(term, is_code=replacement.is_code)
            for term in (text[whole_words.start : whole_words.end], whole_words.new)
        ):
            continue
        candidates = (
            [*extended_terms, whole_words]
            if extended_terms and _has_digits(text, whole_words)
            else [whole_words, *extended_terms]
        )
        for candidate in candidates:
            old, new = " ".join(text[candidate.start : candidate.end].split()), " ".join(candidate.new.split())
            if old != new and len(old) <= MAX_TERM:
                change = TermChange(old, new, replacement.is_code)
                has_optional_capital = (
                    is_heading
                    or _SENTENCE_START.search(text[max(0, candidate.start - 20) : candidate.start]) is not None
                )
                is_capital = old[0].isupper() and not (replacement.is_code or change.begins_with_number)
                yield replace(change, has_optional_capital=has_optional_capital and is_capital)


def _is_term(text: str, *, is_code: bool) -> bool:
    if not 0 < len(text) <= MAX_TERM or len(text.split()) > MAX_WORDS or not any(map(str.isalnum, text)):
        return False
    if is_code:
        return _CODE_TERM.fullmatch(text) is not None
    return any(word.lower() not in _COMMON_WORDS for word in _WORD.findall(text))


def _replacements(words: Iterable[TextPart], *, is_code: bool) -> tuple[str, list[_Replacement]]:
    """Return the old text, and its ranges that other words replaced. `is_code` says if `words` are in a code block."""
    text, replacements = "", list[_Replacement]()
    old = new = ""
    is_all_code = True

    def close() -> None:
        start = len(text) - len(old.lstrip())
        if old.strip() and new.strip():
            replacements.append(_Replacement(start, start + len(old.strip()), new.strip(), is_code or is_all_code))

    for part in words:
        if part.op in ("insert", "delete"):
            is_all_code = is_all_code and "code" in part.run.marks
            if part.op == "delete":
                old, text = old + part.run.text, text + part.run.text
            else:
                new += part.run.text
        else:
            close()
            old, new, is_all_code = "", "", True
            text += part.run.text
    close()
    return text, replacements


def _whole_words(text: str, replacement: _Replacement, first: int, last: int) -> _Replacement:
    """Return a replacement extended to whole words, but not beyond the positions `first` and `last` of `text`."""
    start, end = replacement.start, replacement.end
    for word_match in (_CODE_WORD if replacement.is_code else _WORD).finditer(text, first, last):
        if word_match.start() < replacement.start < word_match.end():
            start = word_match.start()
        if word_match.start() < replacement.end < word_match.end():
            end = word_match.end()
    return _extended(text, replacement, start, end)


def _extended(text: str, replacement: _Replacement, start: int, end: int) -> _Replacement:
    return replacement._replace(
        start=start, end=end, new=text[start : replacement.start] + replacement.new + text[replacement.end : end]
    )


def _with_sign_or_unit(text: str, replacement: _Replacement, first: int, last: int) -> _Replacement:
    """Return `replacement`, extended by an adjacent sign, unit or number in `text[first:last]`, if there is one."""
    if replacement.start > first and text[replacement.start - 1] in _SIGNS:
        return _extended(text, replacement, replacement.start - 1, replacement.end)
    gap_match = _GAP.match(text, replacement.end, last)
    after = gap_match.end() if gap_match is not None else replacement.end
    if text[replacement.end - 1].isdigit() and after < last:
        token_match = _WORD.match(text, after, last)
        if text[after] in _SIGNS:
            return _extended(text, replacement, replacement.start, after + 1)
        if token_match is not None and short_unit(token_match[0], is_after_number=True) is not None:
            return _extended(text, replacement, replacement.start, token_match.end())
    if short_unit(text[replacement.start : replacement.end], is_after_number=True) is not None:
        numbers = list(_NUMBER.finditer(text, first, replacement.start))
        if (
            numbers
            and not text[numbers[-1].end() : replacement.start].strip()
            and replacement.start - numbers[-1].end() < 3
        ):
            return _extended(text, replacement, numbers[-1].start(), replacement.end)
    return replacement


def _has_digits(text: str, replacement: _Replacement) -> bool:
    return any(map(str.isdigit, text[replacement.start : replacement.end]))


def _extended_terms(text: str, replacement: _Replacement, first: int, last: int) -> list[_Replacement]:
    """Return up to two longer replacements: one with the word before, and one with the word after. Only words that can
    belong to the term are used, and only between the positions `first` and `last` of `text`."""
    replacements = []
    is_number = _NUMBER.fullmatch(text, replacement.start, replacement.end) is not None
    is_name = _has_digits(text, replacement) and not is_number
    quantity_match = _QUANTITY.fullmatch(text, replacement.start, replacement.end)
    if quantity_match is not None and short_unit(quantity_match[1], is_after_number=True) is not None:
        return []
    word_before_match = re.search(r"([^\W\d_][\w'’-]*)[ \t\u00a0]$", text[first : replacement.start])
    if word_before_match is not None and word_before_match[1].lower() not in _COMMON_WORDS:
        is_title = word_before_match[1][0].isupper() or not any(map(str.isdigit, replacement.new))
        if not (is_number or is_name) or is_title:
            replacements.append(_extended(text, replacement, first + word_before_match.start(), replacement.end))
    word_after_match = re.compile(r"[ \t\u00a0]([^\W\d_][\w'’-]*)").match(text, replacement.end, last)
    if not is_name and word_after_match is not None and word_after_match[1].lower() not in _COMMON_WORDS:
        replacements.append(_extended(text, replacement, replacement.start, word_after_match.end()))
    return replacements


def with_plural(change: TermChange) -> tuple[TermChange, ...]:
    """Return the change, and the same change of the plural or singular, if there is one. Code and numbers have none."""
    if change.is_code or change.begins_with_number:
        return (change,)
    for convert in (_plural, _singular):
        old, new = convert(change.old), convert(change.new)
        if old is not None and new is not None:
            return change, replace(change, old=old, new=new)
    return (change,)


def _plural(term: str) -> str | None:
    last_word_match = re.search(r"[^\W\d_]{3,}$", term)
    if last_word_match is None or _UNCHANGED_IN_PLURAL.search(term):
        return None if last_word_match is None else term
    if re.search(f"{_TAKES_ES}$", term, re.IGNORECASE):
        return f"{term}es"
    if term.lower().endswith("s"):
        return None
    return f"{term[:-1]}ies" if re.search(r"[^aeiou]y$", term, re.IGNORECASE) else f"{term}s"


def _singular(term: str) -> str | None:
    if _UNCHANGED_IN_PLURAL.search(term):
        return term
    if not re.search(r"[^\W\d_]{3,}s$", term) or re.search(rf"(?:us|is|(?i:{_TAKES_ES}))$", term):
        return None
    if _WORD.findall(term)[-1][:-1].lower() in _TAKES_ONLY_S:
        return term[:-1]
    if re.search(rf"{_TAKES_ES}es$", term, re.IGNORECASE):
        return term[:-2]
    return f"{term[:-3]}y" if term.endswith("ies") else term[:-1]


BARRIER = "\0"
"""Character of a `VisibleText` in place of code, a URL, a tag or the end of a block. No match extends over it."""

_FORMAT_ELEMENTS = "b|strong|i|em|u|mark|s|del|ins|sub|sup|span|font|small|big"
_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|(?P<tag>\{%[^{}]{0,2000}?%\})"
    r"|(?P<autolink><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\s]{0,2000}>|<[^<>\s@]{1,100}@[^<>\s@]{1,200}>)"
    rf"|(?P<format></?(?:{_FORMAT_ELEMENTS})(?:\s[^<>]{{0,1000}})?>)"
    r"|(?P<code><(?P<name>code|pre|kbd|style|script)\b[^<>]{0,1000}>[^<]{0,1000}(?:<(?!/?(?P=name)\b)[^<]{0,1000}){0,100}</(?P=name)>)"
    r"|(?P<element></?[A-Za-z][^<>]{0,2000}>)"
    r"|(?P<target>\]\((?:<[^<>\n]{0,1000}>|[^\s()]{0,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9})"
    r"(?:\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)|\]\[[^\[\]\n]{0,200}\]|\[\^[^\[\]\s]{1,100}\])"
    r"|(?P<definition>(?<![^\n])[ \t>]{0,20}\[[^\[\]\n]{1,200}\]:[ \t][^\n]*)"
    r"|(?P<url>(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:|www\.)[^\s<>\"'`)\]|*]+)"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,100}(?:\.[\w-]{1,100}){1,9})"
    r"|(?P<path>(?<![\w/.~-])(?:~|\.{1,2})?/[\w.@%-]{1,200}(?:/[\w.@%-]{1,200}){0,50}/?"
    r"|(?<![\w/.@%-])[\w.@%-]{1,200}(?:/[\w.@%-]{1,200}){2,50}/?)"
    r"|(?P<line>\r?\n(?:[ \t]*>)*[ \t]*(?P<next>\r?\n|#{1,6}[ \t]|##|(?:[-*+]|\d{1,9}[.)])[ \t]|\||={2,}[ \t]*\n|-{2,}[ \t]*\n)?)"
    r"|(?P<emphasis>\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|(?<![^\W_])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![^\W_]))",
    re.DOTALL,
)
_TEXT_ATTRIBUTE = re.compile(r"""(?<![\w-])(?:title|alt|summary|caption|description)=(["'“])(.{0,300}?)["'”]""")
_HEADING = re.compile(r"[ \t>]{0,20}(?:#{1,6}[ \t]|##)")


class VisibleText(NamedTuple):
    """The text that readers see. The character `text[i]` is `source[starts[i]:ends[i]]` in the Markdown."""

    text: str
    starts: list[int]
    ends: list[int]


def visible_text(source: str) -> VisibleText:
    """Return the text of Markdown that readers see. `BARRIER` replaces code, URLs and tags."""
    masked_source = _blank_comments(mask_parts(source, ("code", "front-matter")))
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def put(character: str, start: int, end: int) -> None:
        characters.append(character)
        starts.append(start)
        ends.append(end)

    def copy(start: int, end: int) -> None:
        for index in range(start, end):
            is_masked = masked_source[index] != source[index]
            if not is_masked:
                put(source[index], index, index + 1)
            elif not characters or characters[-1] != BARRIER:
                put(BARRIER, index, index + 1)

    position = 0
    for token_match in _TOKEN.finditer(masked_source):
        copy(position, token_match.start())
        position = token_match.end()
        match token_match.lastgroup:
            case "escape":
                put(token_match[0][1], token_match.start(), token_match.end())
            case "entity":
                for character in unescape(token_match[0]):
                    put(character, token_match.start(), token_match.end())
            case "emphasis" | "format" | "target":
                pass
            case "line" if token_match["next"] is None and not _ends_block(masked_source, token_match.start()):
                put(" ", token_match.start(), token_match.end())
            case "tag" | "element":
                put(BARRIER, token_match.start(), token_match.start())
                for attribute_match in _TEXT_ATTRIBUTE.finditer(masked_source, *token_match.span()):
                    copy(*attribute_match.span(2))
                    put(BARRIER, attribute_match.end(2), attribute_match.end(2))
            case _:
                put(BARRIER, token_match.start(), token_match.end())
    copy(position, len(source))
    return VisibleText("".join(characters), starts, ends)


def _blank_comments(text: str) -> str:
    """Return `text` with tabs in place of the characters of HTML comments, except line breaks."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[position:start], re.sub(r"[^\n]", "\t", text[start : end + 3])]
        position = end + 3
    return "".join([*pieces, text[position:]])


def url_ranges(source: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of URLs, e-mail addresses, link targets and link definitions in Markdown."""
    for token_match in _TOKEN.finditer(source):
        if token_match.lastgroup in ("autolink", "target", "definition", "url", "mail"):
            yield token_match.span()


def _ends_block(masked_source: str, line_end: int) -> bool:
    line = masked_source[masked_source.rfind("\n", 0, line_end) + 1 : line_end]
    return _HEADING.match(line) is not None or line.rstrip().endswith("|") or line.lstrip().startswith("|")


MAX_MATCHES = 500
"""Maximum number of matches that are returned for one page."""
_CONTEXT_LENGTH = 100
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
    """An occurrence of the term to replace on a page."""

    start: int
    """The position in the source at which the occurrence begins."""
    end: int
    """The position in the source after the occurrence."""
    line: int
    """Line of the occurrence in the source, counted from 0."""
    text: str
    """The Markdown of the occurrence."""
    replacement: str | None
    """The Markdown with the new term. None if a replacement would be ambiguous or change more than words."""
    text_before: str
    """The text before the occurrence on its line. Only the end of a long text."""
    text_after: str
    """The text after the occurrence on its line. Only the beginning of a long text."""


def find_matches(change: TermChange, source: str) -> tuple[TermMatch, ...]:
    """Return at most `MAX_MATCHES` whole-word uses of the old term, plural or singular. Only code terms match code."""
    matches_by_range: dict[tuple[int, int], TermMatch] = {}
    visible_source = _searchable_text(source) if change.is_code else visible_text(source)
    for form in with_plural(change):
        for start, end in islice(_find_spans(form, visible_source.text), MAX_MATCHES):
            term_match = _term_match(form, source, visible_source, start, end)
            if term_match is not None:
                matches_by_range.setdefault((term_match.start, term_match.end), term_match)
    matches = sorted(matches_by_range.values(), key=lambda term_match: term_match.start)[:MAX_MATCHES]
    unsafe_matches = (
        set(_unsafe_matches(source, matches, _unchangeable_parts(source, change), change)) if matches else set()
    )
    return tuple(
        replace(term_match, replacement=None) if term_match in unsafe_matches else term_match for term_match in matches
    )


def _unsafe_matches(
    source: str, matches: Sequence[TermMatch], structure: object, change: TermChange
) -> Iterator[TermMatch]:
    """Yield matches whose replacement changes links, code or blocks. `structure`: `_unchangeable_parts` of `source`."""
    if _unchangeable_parts(replace_matches(source, matches), change) == structure:
        return
    if len(matches) == 1:
        yield matches[0]
        return
    middle = len(matches) // 2
    yield from _unsafe_matches(source, matches[:middle], structure, change)
    yield from _unsafe_matches(source, matches[middle:], structure, change)


def _unchangeable_parts(source: str, change: TermChange) -> object:
    page = Block("page", children=parse(source).blocks)
    return [block.kind for block in page.walk()], link_targets(page), [] if change.is_code else code_texts(page)


def replace_matches(source: str, matches: Iterable[TermMatch]) -> str:
    """Return `source` with matches replaced. Matches without a replacement, or that overlap an earlier match, stay."""
    pieces, position = [], 0
    for term_match in sorted(matches, key=lambda match: match.start):
        if term_match.replacement is not None and term_match.start >= position:
            pieces += [source[position : term_match.start], term_match.replacement]
            position = term_match.end
    return "".join([*pieces, source[position:]])


def index_queries(change: TermChange) -> tuple[tuple[str, ...], ...]:
    """Return search index queries as tuples of words. A page with the old term has all words of at least one query."""
    queries: dict[tuple[str, ...], None] = {}
    for form in with_plural(change):
        queries[tuple(re.findall(r"[^\W_]+", form.old))] = None
        if change.begins_with_number:
            queries[tuple(re.findall(r"[^\W_]+", "".join(form.old.split())))] = None
    return tuple(filter(None, queries))


def _searchable_text(source: str) -> VisibleText:
    """Return the source with `BARRIER` in place of URLs, front matter, comments, tags, scripts and styles. Other code,
    and attributes of tags that readers see, such as a title, are left as they are."""
    outside_code = mask_parts(source, ("code", "front-matter"))
    without_comments = _blank_comments(outside_code)
    pairs = zip(source, outside_code, without_comments, strict=True)
    characters = [character if before == after else BARRIER for character, before, after in pairs]
    hidden_ranges = [(0, front_matter.split_page(source)[1]), *url_ranges(source)]
    for token_match in _TOKEN.finditer(without_comments):
        start, end = token_match.span()
        match token_match.lastgroup:
            case "tag" | "element" | "format":
                for attribute_match in _TEXT_ATTRIBUTE.finditer(without_comments, start, end):
                    hidden_ranges.append((start, attribute_match.start(2)))
                    start = attribute_match.end(2)
                hidden_ranges.append((start, end))
            case "code":
                is_hidden = token_match["name"] in ("script", "style")
                hidden_ranges.append((start, end if is_hidden else without_comments.index(">", start)))
    for start, end in hidden_ranges:
        characters[start:end] = BARRIER * (end - start)
    return VisibleText("".join(characters), list(range(len(source))), list(range(1, len(source) + 1)))


def _find_spans(change: TermChange, text: str) -> Iterator[tuple[int, int]]:
    pattern = _pattern(change)
    for term_match in pattern.finditer(text):
        if change.begins_with_number and _is_other_quantity(change, text, term_match.end()):
            continue
        if _has_accepted_case(change, term_match[0]):
            yield term_match.span()


def _pattern(change: TermChange) -> re.Pattern[str]:
    if change.is_code:
        words = rf"{_SPACE}+".join(map(re.escape, change.old.split()))
        return re.compile(f"{_BEFORE_CODE}{words}{_AFTER_CODE}")
    gap = rf"{_SPACE}{{0,3}}" if change.begins_with_number else rf"{_SPACE}{{1,20}}"
    parts = _number_parts(change.old) if change.begins_with_number else change.old.split()
    words = gap.join(map(_word_pattern, parts))
    before = _BEFORE_NUMBER if change.old[0].isdigit() else _BEFORE_WORD if change.old[0].isalnum() else r"(?<!\w)"
    after = _AFTER_NUMBER if change.old[-1].isdigit() else _AFTER_WORD if change.old[-1].isalnum() else ""
    return re.compile(f"{before}{words}{after}", re.IGNORECASE)


def _number_parts(term: str) -> list[str]:
    """Return the numbers, words and signs of a term, such as `30` and `s` for `30s`."""
    return [part for word in term.split() for part in _PART.findall(word)]


def _word_pattern(word: str) -> str:
    return re.sub(r"['’]", "['’]", re.escape(word))


def _is_other_quantity(change: TermChange, text: str, end: int) -> bool:
    """Return whether the match that ends at `end` is followed by a unit, such as `MB`, that the old term lacks."""
    if not change.old[-1].isdigit():
        return False
    next_word_match = _NEXT_WORD.match(text, end, end + 30)
    return next_word_match is not None and short_unit(next_word_match[1], is_after_number=True) is not None


def _has_accepted_case(change: TermChange, spelling: str) -> bool:
    """Return whether the upper and lower case of `spelling` allows it to be the old term of `change`."""
    letters, old_letters = "".join(filter(str.isalpha, spelling)), "".join(filter(str.isalpha, change.old))
    if change.begins_with_number or letters == old_letters:
        return letters == old_letters
    if letters.isupper() and len(letters) > 1 and not old_letters.isupper():
        return True
    if not old_letters.islower() and not (change.has_optional_capital and _lower_initials(change.old).islower()):
        return False
    return all(word[:1] + word[1:].lower() == word for word in spelling.split())


def _lower_initials(term: str) -> str:
    return " ".join(word[:1].lower() + word[1:] for word in term.split())


def _term_match(change: TermChange, source: str, visible_source: VisibleText, start: int, end: int) -> TermMatch | None:
    first, last = visible_source.starts[start], visible_source.ends[end - 1]
    if source[first:last].count("\n") > 3:
        return None
    new = _new_words(change, visible_source.text[start:end])
    line_start, line_end = source.rfind("\n", 0, first) + 1, source.find("\n", last)
    text_before = source[max(line_start, first - _CONTEXT_LENGTH) : first]
    text_after = source[last : min(line_end if line_end >= 0 else len(source), last + _CONTEXT_LENGTH)]
    return TermMatch(
        first,
        last,
        source.count("\n", 0, first),
        source[first:last],
        _replaced_source(change, source, visible_source, (start, end), new),
        text_before.lstrip(),
        text_after.rstrip(),
    )


def _new_words(change: TermChange, matched_text: str) -> str:
    """Return the new term with capitals as in `matched_text`. Code and `begins_with_number` leave it unchanged."""
    if change.is_code or change.begins_with_number:
        return change.new
    letters, old_letters = "".join(filter(str.isalpha, matched_text)), "".join(filter(str.isalpha, change.old))
    if letters == old_letters:
        return change.new
    if letters.isupper() and len(letters) > 1:
        return change.new.upper()
    is_lowered = change.has_optional_capital and not change.old.islower() and _lower_initials(change.new).islower()
    new = _lower_initials(change.new) if is_lowered else change.new
    matched_words = matched_text.split()
    if all(word[:1].isupper() for word in matched_words) and len(matched_words) > 1:
        return " ".join(word[:1].upper() + word[1:] for word in new.split())
    return new[:1].upper() + new[1:] if matched_text[:1].isupper() else new


def _replaced_source(
    change: TermChange, source: str, visible_source: VisibleText, span: tuple[int, int], new: str
) -> str | None:
    """Return the Markdown of the match `span` with the term `new`. None if formats in the match make it ambiguous."""
    start, end = span
    first, last = visible_source.starts[start], visible_source.ends[end - 1]
    if change.is_code:
        return new
    pattern = _PART if change.begins_with_number else re.compile(r"\S+")
    ranges = [
        (visible_source.starts[word_match.start()], visible_source.ends[word_match.end() - 1])
        for word_match in pattern.finditer(visible_source.text, start, end)
    ]
    if any(_MARKUP.search(source[a:b]) for a, b in ranges):
        return None
    gaps = [source[a:b] for (_, a), (b, _) in pairwise(ranges)]
    words = _number_parts(new) if change.begins_with_number else new.split()
    if len(words) == len(ranges):
        pieces = [escape_markdown(words[0])]
        for gap, word in zip(gaps, words[1:], strict=True):
            pieces += [gap, escape_markdown(word)]
        new_source = "".join(pieces)
    elif all(_QUOTE_BREAK.fullmatch(gap) for gap in gaps):
        new_source = escape_markdown(new)
    else:
        return None
    line = source[source.rfind("\n", 0, first) + 1 : last]
    return new_source.replace("|", "\\|") if line.lstrip(" \t>").startswith("|") else new_source
