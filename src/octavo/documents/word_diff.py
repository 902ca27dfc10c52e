"""Two texts compared word by word: which words came, went, stayed, or stayed and look otherwise."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from octavo.documents.blocks import Run
from octavo.documents.changes import Line, Op, Word, Words
from octavo.documents.nodes import style
from octavo.documents.sequences import Stretch, stretches

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]|[^\W_]+(?:['’][^\W_]+)*|[ \t\n]+|.",
    re.DOTALL,
)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]")
_WHOLE = frozenset({"image", "icon", "math", "break", "emoji", "button", "mention", "expression"})
_SMALL_ISLAND = 2
_WIDE_ISLAND = 3
_LONGEST_LINE = 4000


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    run: Run
    style: tuple[Hashable, ...]


def compare(old: Iterable[Run], new: Iterable[Run]) -> Words:
    """How one text became the other."""
    before, after = _pieces(old), _pieces(new)
    found = _without_islands(stretches(_keys(before), _keys(after)), before)
    written = _Writer()
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
    return Words(written.words(), changed / total if total else 0.0)


def _keys(pieces: Sequence[_Piece]) -> list[str]:
    return [" " if piece.text.isspace() else piece.text for piece in pieces]


def compare_lines(old: str, new: str) -> tuple[Line, ...]:
    """How one text became the other, line by line; lines that are alike are compared word by word."""
    before, after = old.split("\n"), new.split("\n")
    found: list[Line] = []
    for stretch in stretches(before, after):
        if stretch.equal:
            for index in range(stretch.i2 - stretch.i1):
                i, j = stretch.i1 + index, stretch.j1 + index
                found.append(Line("equal", before[i], after[j], (), i, j))
        else:
            found += _replaced(before, after, stretch)
    return tuple(found)


def _replaced(before: Sequence[str], after: Sequence[str], stretch: Stretch) -> list[Line]:
    _, i1, i2, j1, j2 = stretch
    pairs = i2 - i1 == j2 - j1
    removed: list[Line] = []
    added: list[Line] = []
    found: list[Line] = []
    for i in range(i1, i2):
        j = j1 + (i - i1)
        alike = pairs and _alike(before[i], after[j])
        if alike:
            found += [*removed, *added]
            removed, added = [], []
            words = compare((Run(before[i]),), (Run(after[j]),)).words
            found.append(Line("change", before[i], after[j], words, i, j))
        else:
            removed.append(Line("delete", old=before[i], old_number=i, new_number=min(j, j2)))
            if pairs:
                added.append(Line("insert", new=after[j], old_number=i + 1, new_number=j))
    if not pairs:
        added = [Line("insert", new=after[j], old_number=i2, new_number=j) for j in range(j1, j2)]
    return [*found, *removed, *added]


def _alike(old: str, new: str) -> bool:
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    if max(len(old), len(new)) > _LONGEST_LINE:
        return False
    return Indel.normalized_similarity(old, new, score_cutoff=0.4) > 0.4


def _pieces(runs: Iterable[Run]) -> list[_Piece]:
    found = []
    for run in runs:
        look = style(run)
        if run.kind in _WHOLE:
            shown = run.text or str(run.attrs.get("src") or run.attrs.get("name") or run.kind)
            found.append(_Piece(f"\0{shown}", run, look))
        else:
            found += [_Piece(word, run, look) for word in _WORD.findall(run.text)]
    return found


def _without_islands(found: Sequence[Stretch], before: Sequence[_Piece]) -> list[Stretch]:
    """Stretches joined where next to nothing stayed between two changes, so that they read as one."""
    joined: list[Stretch] = []
    for index, stretch in enumerate(found):
        inner = 0 < index < len(found) - 1
        if stretch.equal and inner and _is_island(before[stretch.i1 : stretch.i2]):
            stretch = stretch._replace(equal=False)
        if joined and not joined[-1].equal and not stretch.equal:
            last = joined[-1]
            joined[-1] = Stretch(False, last.i1, stretch.i2, last.j1, stretch.j2)
        else:
            joined.append(stretch)
    return joined


def _is_island(pieces: Sequence[_Piece]) -> bool:
    text = "".join(piece.text for piece in pieces).strip()
    if _WIDE.search(text):
        return len(text) < _WIDE_ISLAND - 1
    return len(text) <= _SMALL_ISLAND


class _Writer:
    """Puts pieces of the same fate and look together."""

    def __init__(self) -> None:
        self._words: list[Word] = []
        self._op: Op = "equal"
        self._new: list[_Piece] = []
        self._old: list[_Piece] = []

    def stayed(self, old: _Piece, new: _Piece) -> None:
        if old.style == new.style:
            self.put("equal", new)
        else:
            self.put("link" if old.style[:-1] == new.style[:-1] else "format", new, old)

    def put(self, op: Op, piece: _Piece, old: _Piece | None = None) -> None:
        if self._new and not self._continues(op, piece, old):
            self._flush()
        self._op = op
        self._new.append(piece)
        if old:
            self._old.append(old)

    def words(self) -> tuple[Word, ...]:
        self._flush()
        return tuple(self._words)

    def _continues(self, op: Op, piece: _Piece, old: _Piece | None) -> bool:
        last = self._new[-1]
        if op != self._op or piece.style != last.style or piece.run.kind in _WHOLE:
            return False
        return old is None or old.style == self._old[-1].style

    def _flush(self) -> None:
        if self._new:
            self._words.append(Word(self._op, _joined(self._new), _joined(self._old) if self._old else None))
        self._new, self._old = [], []


def _joined(pieces: Sequence[_Piece]) -> Run:
    run = pieces[0].run
    if run.kind in _WHOLE:
        return run
    return Run("".join(piece.text for piece in pieces), run.marks, run.link, run.kind, run.attrs)
