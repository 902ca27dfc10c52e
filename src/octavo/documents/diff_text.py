"""Two texts compared word by word: which words came, went, stayed, or stayed and look otherwise."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from octavo.documents.blocks import Run
from octavo.documents.diff_alignment import best_pairs
from octavo.documents.diff_model import LineChange, Op, TextChange, TextPart
from octavo.documents.diff_nodes import ATOMIC_KINDS, style
from octavo.documents.html import file_name
from octavo.documents.sequences import DiffRange, diff_ranges

WIDE_LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f"
"""Characters that are words of their own, also beside Latin letters."""
_WORD = re.compile(
    rf"[{WIDE_LETTERS}]|[^\W_{WIDE_LETTERS}]+(?:['’][^\W_{WIDE_LETTERS}]+)*|[ \t\n]+|.",
    re.DOTALL,
)
_WIDE = re.compile(f"[{WIDE_LETTERS}]")
_CLAUSE_ENDS = frozenset("，。、；：！？,.;:!?\n")
"""Where a clause ends."""
_PUNCTUATION = re.compile(r"[\s,.;:!?，。、；：！？…]+")
_EMPHASIS = frozenset({"bold", "italic"})
_SMALL_ISLAND = 2
_WIDE_ISLAND = 3
SLICE_LENGTH = 10_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    run: Run
    style: tuple[Hashable, ...]


def diff_runs(old: Iterable[Run], new: Iterable[Run]) -> TextChange:
    """How one text became the other."""
    before, after = _tokens(old), _tokens(new)
    found = _join_islands(diff_ranges(_token_keys(before), _token_keys(after)), before)
    if any(_WIDE.match(piece.text) for stretch in found if stretch.equal for piece in before[stretch.i1 : stretch.i2]):
        found = _join_in_clauses(found, before)
    written = _ChangeBuilder()
    changed = 0
    for stretch in found:
        if stretch.equal:
            for index in range(stretch.i2 - stretch.i1):
                written.stayed(before[stretch.i1 + index], after[stretch.j1 + index])
            continue
        for piece in before[stretch.i1 : stretch.i2]:
            written.put("delete", piece)
            changed += len(piece.text)
        for piece in after[stretch.j1 : stretch.j2]:
            written.put("insert", piece)
            changed += len(piece.text)
    total = sum(len(each.text) for each in before) + sum(len(each.text) for each in after)
    return TextChange(written.words(), changed / total if total else 0.0)


def _token_keys(pieces: Sequence[_Token]) -> list[str]:
    return [" " if piece.text.isspace() else piece.text for piece in pieces]


def _tokens(runs: Iterable[Run]) -> list[_Token]:
    found = []
    for run in runs:
        look = style(run)
        if run.kind in ATOMIC_KINDS:
            found.append(_Token(f"\0{_shown(run)}", run, look))
        else:
            found += [_Token(word, run, look) for part in slices(run.text) for word in _WORD.findall(part)]
    return found


def _shown(run: Run) -> str:
    """What tells a run that is one thing from others for those who see it."""
    return run.text or file_name(str(run.attrs.get("src") or "")) or str(run.attrs.get("name") or run.kind)


def slices(text: str) -> Iterator[str]:
    """A text in parts to be gone through at once, cut where no word is: while that is done no other thread runs."""
    start = 0
    while len(text) - start > SLICE_LENGTH:
        end = text.rfind(" ", start, start + SLICE_LENGTH) + 1 or start + SLICE_LENGTH
        yield text[start:end]
        start = end
    yield text[start:]


def _join_islands(found: Sequence[DiffRange], before: Sequence[_Token]) -> list[DiffRange]:
    """Stretches joined where next to nothing stayed between two changes, so that they read as one."""
    joined: list[DiffRange] = []
    for index, stretch in enumerate(found):
        inner = 0 < index < len(found) - 1
        if stretch.equal and inner and _is_island(before[stretch.i1 : stretch.i2]):
            stretch = stretch._replace(equal=False)
        if joined and not joined[-1].equal and not stretch.equal:
            last = joined[-1]
            joined[-1] = DiffRange(False, last.i1, stretch.i2, last.j1, stretch.j2)
        else:
            joined.append(stretch)
    return joined


def _is_island(pieces: Sequence[_Token]) -> bool:
    text = "".join(piece.text for piece in pieces).strip()
    if _WIDE.search(text):
        return len(text) < _WIDE_ISLAND - 1
    return len(text) <= _SMALL_ISLAND


def _join_in_clauses(found: Sequence[DiffRange], before: Sequence[_Token]) -> list[DiffRange]:
    """Stretches, those joined that lie in one clause of which less than half stayed: where every character is a piece,
    some stay by chance."""
    joined: list[DiffRange] = []
    clause: list[DiffRange] = []
    for stretch in found:
        if not stretch.equal:
            clause.append(stretch)
            continue
        start = stretch.i1
        shift = stretch.j1 - stretch.i1
        for index in range(stretch.i1, stretch.i2):
            if before[index].text in _CLAUSE_ENDS:
                clause.append(DiffRange(True, start, index + 1, start + shift, index + 1 + shift))
                joined += _join_clause(clause, before)
                clause, start = [], index + 1
        if start < stretch.i2:
            clause.append(DiffRange(True, start, stretch.i2, start + shift, stretch.j2))
    return joined + _join_clause(clause, before)


def _join_clause(parts: list[DiffRange], before: Sequence[_Token]) -> list[DiffRange]:
    changed = [index for index, part in enumerate(parts) if not part.equal]
    gone = sum(part.i2 - part.i1 for part in parts if not part.equal)
    come = sum(part.j2 - part.j1 for part in parts if not part.equal)
    kept = [piece for part in parts if part.equal for piece in before[part.i1 : part.i2]]
    if len(changed) < 2 or max(gone, come) <= len(kept) or not any(_WIDE.match(piece.text) for piece in kept):
        return parts
    first, last = parts[changed[0]], parts[changed[-1]]
    whole = DiffRange(False, first.i1, last.i2, first.j1, last.j2)
    return [*parts[: changed[0]], whole, *parts[changed[-1] + 1 :]]


class _ChangeBuilder:
    """Puts pieces of the same fate and look together."""

    def __init__(self) -> None:
        self._words: list[TextPart] = []
        self._op: Op = "equal"
        self._new: list[_Token] = []
        self._old: list[_Token] = []

    def stayed(self, old: _Token, new: _Token) -> None:
        if old.style == new.style and old.text == new.text:
            self.put("equal", new)
        else:
            is_link = old.style[:-1] == new.style[:-1] and old.text == new.text
            self.put("link" if is_link else "format", new, old)

    def put(self, op: Op, piece: _Token, old: _Token | None = None) -> None:
        if self._new and not self._continues(op, piece, old):
            self._flush()
        self._op = op
        self._new.append(piece)
        if old:
            self._old.append(old)

    def words(self) -> tuple[TextPart, ...]:
        """All words. Emphasis of nothing but punctuation is said only where nothing else is: else nobody looks for it."""
        self._flush()
        if all(word.op == "equal" or _is_punctuation_emphasis(word) for word in self._words):
            return tuple(self._words)
        return tuple(TextPart("equal", word.run) if _is_punctuation_emphasis(word) else word for word in self._words)

    def _continues(self, op: Op, piece: _Token, old: _Token | None) -> bool:
        last = self._new[-1]
        if op != self._op or piece.style != last.style or piece.run.kind in ATOMIC_KINDS:
            return False
        return old is None or old.style == self._old[-1].style

    def _flush(self) -> None:
        if self._new:
            self._words.append(
                TextPart(self._op, _join_tokens(self._new), _join_tokens(self._old) if self._old else None)
            )
        self._new, self._old = [], []


def _is_punctuation_emphasis(word: TextPart) -> bool:
    if word.op != "format" or word.old is None or word.old.text != word.run.text:
        return False
    is_emphasis = word.old.marks ^ word.run.marks <= _EMPHASIS and style(word.old)[1:] == style(word.run)[1:]
    return is_emphasis and _PUNCTUATION.fullmatch(word.run.text) is not None


def _join_tokens(pieces: Sequence[_Token]) -> Run:
    run = pieces[0].run
    if run.kind in ATOMIC_KINDS:
        return run
    return Run("".join(piece.text for piece in pieces), run.marks, run.link, run.kind, run.attrs)


_MIN_LINE_SIMILARITY = 0.5
_MAX_LINE_LENGTH = 4000
_MAX_LINE_PAIRS, _MAX_CHARACTER_PAIRS = 4000, 20_000_000
"""Pairs of lines, and of characters, of a stretch whose lines are all compared with one another."""


def diff_lines(old: str, new: str) -> tuple[LineChange, ...]:
    """How one text became the other. Lines that end with other white space changed, and are never one that went and one
    that came."""
    before, after = old.split("\n"), new.split("\n")
    found: list[LineChange] = []
    sides = ([line.rstrip() for line in side] for side in (before, after))
    for stretch in diff_ranges(*sides):
        if stretch.equal:
            for index in range(stretch.i2 - stretch.i1):
                i, j = stretch.i1 + index, stretch.j1 + index
                is_same = before[i] == after[j]
                found.append(
                    LineChange("equal", before[i], after[j], (), i, j)
                    if is_same
                    else _changed_line(before, after, i, j)
                )
        else:
            found += _replaced_lines(before, after, stretch)
    return tuple(found)


def _replaced_lines(before: Sequence[str], after: Sequence[str], stretch: DiffRange) -> Iterator[LineChange]:
    _, i, i2, j, j2 = stretch
    for next_i, next_j in [*_line_pairs(before[i:i2], after[j:j2], i, j), (i2, j2)]:
        yield from (LineChange("delete", old=before[at], old_number=at, new_number=j) for at in range(i, next_i))
        yield from (LineChange("insert", new=after[at], old_number=next_i, new_number=at) for at in range(j, next_j))
        if next_i < i2:
            yield _changed_line(before, after, next_i, next_j)
        i, j = next_i + 1, next_j + 1


def _changed_line(before: Sequence[str], after: Sequence[str], i: int, j: int) -> LineChange:
    return LineChange("change", before[i], after[j], diff_runs((Run(before[i]),), (Run(after[j]),)).words, i, j)


def _line_pairs(old: Sequence[str], new: Sequence[str], i: int, j: int) -> list[tuple[int, int]]:
    """Which lines became which, by their numbers."""
    if not old or not new:
        return []
    if len(old) * len(new) <= _MAX_LINE_PAIRS and sum(map(len, old)) * sum(map(len, new)) <= _MAX_CHARACTER_PAIRS:
        worth = [{at: value for at, line in enumerate(new) if (value := _pair_value(each, line))} for each in old]
        return [(i + one, j + other) for one, other in best_pairs(worth, len(new))]
    if len(old) == len(new):
        return [
            (i + at, j + at) for at, (each, line) in enumerate(zip(old, new, strict=True)) if _pair_value(each, line)
        ]
    return []


def _pair_value(old: str, new: str) -> float:
    """What it is worth to show one line as the other one changed; 0 when they are not alike."""
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    if not old.strip() or not new.strip() or max(len(old), len(new)) > _MAX_LINE_LENGTH:
        return 0.0
    return Indel.normalized_similarity(old, new, score_cutoff=_MIN_LINE_SIMILARITY) ** 2


@dataclass(frozen=True, slots=True)
class SourceHunk:
    """Lines that changed, with unchanged ones around them, and how many unchanged ones come before it."""

    skipped: int
    lines: tuple[LineChange, ...]


def source_diff(old: str, new: str, context: int = 3) -> tuple[SourceHunk, ...]:
    """What changed in a text, in hunks with up to `context` unchanged lines on both sides. None if it did not."""
    lines = diff_lines(old, new)
    keep = _kept(lines, context)
    hunks: list[SourceHunk] = []
    index = 0
    while index < len(lines):
        start = index
        while index < len(lines) and not keep[index]:
            index += 1
        skipped, start = index - start, index
        while index < len(lines) and keep[index]:
            index += 1
        if index > start:
            hunks.append(SourceHunk(skipped, lines[start:index]))
    return tuple(hunks)


def _kept(lines: Sequence[LineChange], context: int) -> list[bool]:
    keep = [False] * len(lines)
    for order in (range(len(lines)), range(len(lines) - 1, -1, -1)):
        near = 0
        for index in order:
            if lines[index].op != "equal":
                near = context + 1
            keep[index] = keep[index] or near > 0
            near = max(0, near - 1)
    return keep
