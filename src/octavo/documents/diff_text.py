"""Compares two texts word by word (`diff_runs`), or two sources line by line (`diff_lines`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from octavo.documents.blocks import Run
from octavo.documents.diff_alignment import best_pairs
from octavo.documents.diff_model import LineChange, Op, TextChange, TextPart
from octavo.documents.diff_nodes import ATOMIC_KINDS, style
from octavo.documents.html import file_name
from octavo.documents.sequences import DiffRange, diff_ranges, text_similarity

LETTER_WORDS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f"
"""Japanese, Chinese, Korean and Thai letters for a regular expression in `[…]`. Each letter counts as a word."""
_WORD = re.compile(rf"[{LETTER_WORDS}]|[^\W_{LETTER_WORDS}]+(?:['’][^\W_{LETTER_WORDS}]+)*|[ \t\n]+|.", re.DOTALL)
_LETTER_WORD = re.compile(f"[{LETTER_WORDS}]")
_CLAUSE_ENDS = frozenset("，。、；：！？,.;:!?\n")
_PUNCTUATION = re.compile(r"[\s,.;:!?，。、；：！？…]+")
_NAMED_LINK_KINDS = frozenset({"mention", "button"})
"""Kinds of runs that an edit can turn into a link with the same text. Such links are also compared as a whole."""
_ATOMIC_MARK = "\0"
"""First character of the text of a token that is compared as a whole, such as an image."""
_EMPHASIS = frozenset({"bold", "italic"})
SLICE_LENGTH = 10_000
"""Maximum number of characters that are passed to a regular expression at once."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, white space or punctuation mark of a text."""

    text: str
    run: Run
    style: tuple[Hashable, ...]


def diff_runs(old: Iterable[Run], new: Iterable[Run]) -> TextChange:
    """Return the changes between two texts, word by word."""
    old, new = tuple(old), tuple(new)
    link_texts = {run.text for run in (*old, *new) if run.kind in _NAMED_LINK_KINDS}
    old_tokens, new_tokens = split_tokens(old, link_texts), split_tokens(new, link_texts)
    ranges = _join_near_changes(diff_ranges(_token_keys(old_tokens), _token_keys(new_tokens)), old_tokens)
    if any(
        _LETTER_WORD.match(token.text)
        for diff_range in ranges
        if diff_range.equal
        for token in old_tokens[diff_range.i1 : diff_range.i2]
    ):
        ranges = _join_in_clauses(ranges, old_tokens)
    builder = _ChangeBuilder()
    changed_length = 0
    for diff_range in ranges:
        if diff_range.equal:
            for index in range(diff_range.i2 - diff_range.i1):
                builder.put_pair(old_tokens[diff_range.i1 + index], new_tokens[diff_range.j1 + index])
            continue
        removed, inserted = (old_tokens[diff_range.i1 : diff_range.i2], new_tokens[diff_range.j1 : diff_range.j2])
        if _has_same_letters(removed, inserted):
            for old_token, new_token in _split_at_token_ends(removed, inserted):
                builder.put_pair(old_token, new_token)
            continue
        for token in removed:
            builder.put("delete", token)
            changed_length += len(token.text)
        for token in inserted:
            builder.put("insert", token)
            changed_length += len(token.text)
    total_length = sum(len(each.text) for each in old_tokens) + sum(len(each.text) for each in new_tokens)
    return TextChange(builder.parts(), changed_length / total_length if total_length else 0.0)


def _token_keys(tokens: Sequence[Token]) -> list[str]:
    return [" " if token.text.isspace() else token.text for token in tokens]


def _has_same_letters(old: Sequence[Token], new: Sequence[Token]) -> bool:
    is_text = not any(token.text.startswith(_ATOMIC_MARK) for token in (*old, *new))
    return is_text and "".join(token.text for token in old) == "".join(token.text for token in new)


def _split_at_token_ends(old: Sequence[Token], new: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Split the tokens of two equal texts until both texts have the same tokens. Yield the pairs of tokens."""
    before, after = list(reversed(old)), list(reversed(new))
    while before:
        last_tokens = [side.pop() for side in (before, after)]
        length = min(len(token.text) for token in last_tokens)
        for side, token in zip((before, after), last_tokens, strict=True):
            if len(token.text) > length:
                side.append(replace(token, text=token.text[length:]))
        old_token, new_token = (replace(token, text=token.text[:length]) for token in last_tokens)
        yield old_token, new_token


def split_tokens(runs: Iterable[Run], link_texts: Collection[str] = ()) -> list[Token]:
    """Return the tokens of a text. Runs of `ATOMIC_KINDS` and links with a text in `link_texts` are one token each."""
    tokens = []
    for run in runs:
        token_style = style(run)
        if run.kind in ATOMIC_KINDS or (run.link and run.text in link_texts):
            name = run.text or file_name(str(run.attrs.get("src") or "")) or str(run.attrs.get("name") or run.kind)
            tokens.append(Token(f"{_ATOMIC_MARK}{name}", run, token_style))
        else:
            tokens += [Token(word, run, token_style) for part in slices(run.text) for word in _WORD.findall(part)]
    return tokens


def slices(text: str) -> Iterator[str]:
    """Yield parts of at most `SLICE_LENGTH` characters, because a search in a longer text would block all threads."""
    start = 0
    while len(text) - start > SLICE_LENGTH:
        end = text.rfind(" ", start, start + SLICE_LENGTH) + 1 or start + SLICE_LENGTH
        yield text[start:end]
        start = end
    yield text[start:]


def _join_near_changes(ranges: Sequence[DiffRange], old_tokens: Sequence[Token]) -> list[DiffRange]:
    """Join changes that are separated by white space and at most two characters, or only one if from `LETTER_WORDS`."""
    joined_ranges: list[DiffRange] = []
    for index, diff_range in enumerate(ranges):
        is_inner = 0 < index < len(ranges) - 1
        if diff_range.equal and is_inner and _is_short(old_tokens[diff_range.i1 : diff_range.i2]):
            diff_range = diff_range._replace(equal=False)
        if joined_ranges and not joined_ranges[-1].equal and not diff_range.equal:
            last = joined_ranges[-1]
            joined_ranges[-1] = DiffRange(False, last.i1, diff_range.i2, last.j1, diff_range.j2)
        else:
            joined_ranges.append(diff_range)
    return joined_ranges


def _is_short(tokens: Sequence[Token]) -> bool:
    text = "".join(token.text for token in tokens).strip()
    return len(text) <= (1 if _LETTER_WORD.search(text) else 2)


def _join_in_clauses(ranges: Sequence[DiffRange], old_tokens: Sequence[Token]) -> list[DiffRange]:
    """Join the changes of a clause if most of its words changed, and an unchanged word is one of `LETTER_WORDS`."""
    joined_ranges: list[DiffRange] = []
    clause_ranges: list[DiffRange] = []
    for diff_range in ranges:
        if not diff_range.equal:
            clause_ranges.append(diff_range)
            continue
        start = diff_range.i1
        shift = diff_range.j1 - diff_range.i1
        for index in range(diff_range.i1, diff_range.i2):
            if old_tokens[index].text in _CLAUSE_ENDS:
                clause_ranges.append(DiffRange(True, start, index + 1, start + shift, index + 1 + shift))
                joined_ranges += _join_clause(clause_ranges, old_tokens)
                clause_ranges, start = [], index + 1
        if start < diff_range.i2:
            clause_ranges.append(DiffRange(True, start, diff_range.i2, start + shift, diff_range.j2))
    return joined_ranges + _join_clause(clause_ranges, old_tokens)


def _join_clause(parts: list[DiffRange], old_tokens: Sequence[Token]) -> list[DiffRange]:
    changed_indexes = [index for index, part in enumerate(parts) if not part.equal]
    removed_count = sum(part.i2 - part.i1 for part in parts if not part.equal)
    added_count = sum(part.j2 - part.j1 for part in parts if not part.equal)
    unchanged_tokens = [token for part in parts if part.equal for token in old_tokens[part.i1 : part.i2]]
    if (
        len(changed_indexes) < 2
        or max(removed_count, added_count) <= len(unchanged_tokens)
        or not any(_LETTER_WORD.match(token.text) for token in unchanged_tokens)
    ):
        return parts
    first, last = parts[changed_indexes[0]], parts[changed_indexes[-1]]
    whole_range = DiffRange(False, first.i1, last.i2, first.j1, last.j2)
    return [*parts[: changed_indexes[0]], whole_range, *parts[changed_indexes[-1] + 1 :]]


class _ChangeBuilder:
    """Joins adjacent tokens with the same change and format into `TextPart`s."""

    def __init__(self) -> None:
        self._parts: list[TextPart] = []
        self._op: Op = "equal"
        self._new: list[Token] = []
        self._old: list[Token] = []

    def put_pair(self, old: Token, new: Token) -> None:
        if old.style == new.style and old.text == new.text:
            self.put("equal", new)
        else:
            is_link = old.style[:-1] == new.style[:-1] and old.text == new.text
            self.put("link" if is_link else "format", new, old)

    def put(self, op: Op, token: Token, old: Token | None = None) -> None:
        if self._new and not self._continues(op, token, old):
            self._flush()
        self._op = op
        self._new.append(token)
        if old:
            self._old.append(old)

    def parts(self) -> tuple[TextPart, ...]:
        """Return the compared text. If anything else has changed, a new format of punctuation is not a change."""
        self._flush()
        if all(part.op == "equal" or _restyles_punctuation(part) for part in self._parts):
            return tuple(self._parts)
        return tuple(TextPart("equal", part.run) if _restyles_punctuation(part) else part for part in self._parts)

    def _continues(self, op: Op, token: Token, old: Token | None) -> bool:
        last = self._new[-1]
        if op != self._op or token.style != last.style or token.run.kind in ATOMIC_KINDS:
            return False
        return old is None or old.style == self._old[-1].style

    def _flush(self) -> None:
        if self._new:
            self._parts.append(
                TextPart(self._op, _join_tokens(self._new), _join_tokens(self._old) if self._old else None)
            )
        self._new, self._old = [], []


def _restyles_punctuation(part: TextPart) -> bool:
    """Return whether only bold or italic of punctuation or white space changed, or only the link of white space."""
    if part.op == "link":
        return part.run.text.isspace()
    if part.op != "format" or part.old is None or part.old.text != part.run.text:
        return False
    is_emphasis = part.old.marks ^ part.run.marks <= _EMPHASIS and style(part.old)[1:] == style(part.run)[1:]
    return is_emphasis and _PUNCTUATION.fullmatch(part.run.text) is not None


def join_words(tokens: Iterable[Token]) -> tuple[Run, ...]:
    """Return the text of tokens as runs."""
    return tuple(_join_tokens(list(group)) for _, group in groupby(tokens, key=lambda token: id(token.run)))


def _join_tokens(tokens: Sequence[Token]) -> Run:
    run = tokens[0].run
    if run.kind in ATOMIC_KINDS:
        return run
    text = "".join(token.text.removeprefix(_ATOMIC_MARK) for token in tokens)
    return Run(text, run.marks, run.link, run.kind, run.attrs)


_MIN_LINE_SIMILARITY = 0.5
_MAX_LINE_LENGTH = 4000
_MAX_LINE_PAIRS = 4000
"""Maximum number of line pairs that are compared in a changed range."""
_MAX_CHARACTER_PAIRS = 20_000_000
"""Maximum number of character pairs compared in a changed range."""


def diff_lines(old: str, new: str) -> tuple[LineChange, ...]:
    """Return the lines of two texts in pairs: equal, changed, inserted or deleted. Lines that differ only in white
    space at their end count as changed."""
    old_lines, new_lines = old.split("\n"), new.split("\n")
    line_changes: list[LineChange] = []
    sides = ([line.rstrip() for line in side] for side in (old_lines, new_lines))
    for diff_range in diff_ranges(*sides):
        if diff_range.equal:
            for index in range(diff_range.i2 - diff_range.i1):
                i, j = diff_range.i1 + index, diff_range.j1 + index
                is_equal = old_lines[i] == new_lines[j]
                line_changes.append(
                    LineChange("equal", old_lines[i], new_lines[j], (), i, j)
                    if is_equal
                    else _changed_line(old_lines, new_lines, i, j)
                )
        else:
            line_changes += _replaced_lines(old_lines, new_lines, diff_range)
    return tuple(line_changes)


def _replaced_lines(old_lines: Sequence[str], new_lines: Sequence[str], diff_range: DiffRange) -> Iterator[LineChange]:
    _, i, i2, j, j2 = diff_range
    for next_i, next_j in [*_line_pairs(old_lines[i:i2], new_lines[j:j2], i, j), (i2, j2)]:
        yield from (
            LineChange("delete", old=old_lines[index], old_number=index, new_number=j) for index in range(i, next_i)
        )
        yield from (
            LineChange("insert", new=new_lines[index], old_number=next_i, new_number=index)
            for index in range(j, next_j)
        )
        if next_i < i2:
            yield _changed_line(old_lines, new_lines, next_i, next_j)
        i, j = next_i + 1, next_j + 1


def _changed_line(old_lines: Sequence[str], new_lines: Sequence[str], i: int, j: int) -> LineChange:
    return LineChange(
        "change", old_lines[i], new_lines[j], diff_runs((Run(old_lines[i]),), (Run(new_lines[j]),)).words, i, j
    )


def _line_pairs(old: Sequence[str], new: Sequence[str], i: int, j: int) -> list[tuple[int, int]]:
    if not old or not new:
        return []
    if len(old) * len(new) <= _MAX_LINE_PAIRS and sum(map(len, old)) * sum(map(len, new)) <= _MAX_CHARACTER_PAIRS:
        pair_values = [
            {index: value for index, line in enumerate(new) if (value := _pair_value(each, line))} for each in old
        ]
        return [(i + one, j + other) for one, other in best_pairs(pair_values, len(new))]
    if len(old) == len(new):
        return [
            (i + index, j + index)
            for index, (each, line) in enumerate(zip(old, new, strict=True))
            if _pair_value(each, line)
        ]
    return []


def _pair_value(old: str, new: str) -> float:
    """Return how similar two lines are, for `best_pairs`. 0 if the lines must not be paired."""
    if not old.strip() or not new.strip() or max(len(old), len(new)) > _MAX_LINE_LENGTH:
        return 0.0
    # Lines that differ only in indentation are always a pair, even if the indentation is longer than the text.
    least_similarity = _MIN_LINE_SIMILARITY if old.strip() == new.strip() else 0.0
    return max(least_similarity, text_similarity(old, new, _MIN_LINE_SIMILARITY, _MAX_LINE_LENGTH)) ** 2


@dataclass(frozen=True, slots=True)
class SourceHunk:
    """Changed lines with context lines, and the number of unchanged lines skipped before them."""

    skipped_count: int
    lines: tuple[LineChange, ...]


def source_diff(old: str, new: str, context: int = 3) -> tuple[SourceHunk, ...]:
    """Return the changes of a text with up to `context` unchanged lines around each. Empty if the texts are equal."""
    lines = diff_lines(old, new)
    shown_indexes: set[int] = set()
    last = -1
    for index, line in enumerate(lines):
        if line.op != "equal":
            shown_indexes.update(range(max(last + 1, index - context), min(len(lines), index + context + 1)))
            last = min(len(lines), index + context)
    hunks: list[SourceHunk] = []
    skipped_count = 0
    for is_shown, group in groupby(range(len(lines)), shown_indexes.__contains__):
        numbers = list(group)
        if is_shown:
            hunks.append(SourceHunk(skipped_count, lines[numbers[0] : numbers[-1] + 1]))
        skipped_count = len(numbers)
    return tuple(hunks)
