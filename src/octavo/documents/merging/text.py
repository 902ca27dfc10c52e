"""Three-way merge of the text of a page.

Blocks (see `blocks`) are compared first, then the lines of those that both sides changed. What only one side changed
is taken from that side. Where both changed the same lines of a block, or put something at the same place, and not
in the same way, the blocks of both are kept whole:

    <<<<<<< main

    what the primary content says

    =======

    what the change request says

    >>>>>>> #42

The three marker lines stand alone between blank lines, the primary content always first, whichever way is merged.
A side that deleted the block has nothing between its markers. Every line that a side added is in the result, but
for blank ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from octavo.documents.merging.blocks import Block, continues, is_blank, split
from octavo.documents.merging.lines import Hunk, compare
from octavo.documents.merging.within import Conflict, parts

MAIN, DIVIDER = "<<<<<<< main", "======="


def proposal_marker(name: str) -> str:
    """The line that ends a conflict with the change request called `name`, such as `#42`."""
    return f">>>>>>> {name}"


@dataclass(frozen=True)
class Merged:
    """The merged text, and what could not be decided in it."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, main: str, proposed: str, name: str) -> Merged:
    """`main` with what `proposed` changed since `base`. `name` is that of the change request in the markers."""
    found = list(pieces(base, main, proposed))
    said = ((undecided(part, name), True) if isinstance(part, Conflict) else (part, False) for part in found)
    return Merged("\n".join(joined(said)), tuple(part for part in found if isinstance(part, Conflict)))


def pieces(base: str, main: str, proposed: str) -> Iterator[list[str] | Conflict]:
    """What becomes of `base`, in order: lines that are decided, and blocks that are not."""
    if main in (base, proposed) or proposed == base:
        yield (proposed if main == base else main).split("\n")
        return
    decided: list[str] = []
    line = 0
    for stretch in _stretches(*(split(text.split("\n")) for text in (base, main, proposed))):
        is_first = True
        for part in stretch.parts():
            if isinstance(part, Conflict):
                if decided:
                    yield decided
                decided = []
                yield replace(part, line=line + part.line)
            elif is_first:
                append(decided, part, apart=False)
            else:
                decided += part
            is_first = is_first and not part
        line += len(_lines(stretch.base))
    if decided:
        yield decided


def joined(pieces: Iterable[tuple[list[str], bool]]) -> list[str]:
    """Lines put together, those that are marked as such apart from what is around them. None run together. Where a
    piece says nothing, the blank lines on both sides of it do not add up."""
    result: list[str] = []
    was_apart = was_nothing = False
    for lines, is_apart in pieces:
        more = lines
        if was_nothing and result and lines and is_blank(result[-1]) and is_blank(lines[0]):
            more = lines[1:]
        append(result, more, apart=is_apart or was_apart)
        was_apart, was_nothing = is_apart, not lines
    return result


def conflicts(base: str, main: str, proposed: str) -> list[Conflict]:
    """What a merge of these could not decide. Empty when it would be clean."""
    return list(merge(base, main, proposed, "").conflicts)


@dataclass(frozen=True)
class _Stretch:
    """Blocks that are decided together, as each side has them."""

    base: list[Block]
    main: list[Block]
    proposed: list[Block]

    def parts(self) -> Iterator[list[str] | Conflict]:
        """What becomes of them."""
        before, ours, theirs = _texts(self.base), _texts(self.main), _texts(self.proposed)
        if ours == theirs:
            same = zip(self.base, self.main, self.proposed, strict=True) if ours == before else None
            yield [line for three in same for line in _spaced(*three)] if same else _lines(self.main)
        elif theirs == before:
            yield _lines(self.main)
        elif ours == before:
            yield _lines(self.proposed)
        else:
            yield from parts(_lines(self.base), _lines(self.main), _lines(self.proposed))


def _stretches(base: list[Block], main: list[Block], proposed: list[Block]) -> Iterator[_Stretch]:
    """The blocks in order, those together that both sides changed, and those that nobody did."""
    here, there = 0, 0
    position = 0
    old = _texts(base)
    for start, end, ours, theirs in [
        *_collisions(compare(old, _texts(main)), compare(old, _texts(proposed))),
        [len(base), len(base), 0, 0],
    ]:
        same = start - position
        yield _Stretch(base[position:start], main[here : here + same], proposed[there : there + same])
        here, there, position = here + same, there + same, end
        ours, theirs = ours + end - start, theirs + end - start
        yield _Stretch(base[start:end], main[here : here + ours], proposed[there : there + theirs])
        here, there = here + ours, there + theirs


def _collisions(main: list[Hunk], proposed: list[Hunk]) -> list[list[int]]:
    """Start and end of what is changed, and by how many blocks it grows on the main and on the proposed side.

    Hunks of both sides go together when they overlap or insert at the same place.
    """
    found: list[list[int]] = []
    hunks = [(hunk, 2) for hunk in main] + [(hunk, 3) for hunk in proposed]
    for hunk, side in sorted(hunks, key=lambda each: (each[0].start, each[0].end)):
        last = found[-1] if found else None
        if last is None or not (hunk.start < last[1] or last[0] == last[1] == hunk.start == hunk.end):
            last = [hunk.start, hunk.end, 0, 0]
            found.append(last)
        last[1] = max(last[1], hunk.end)
        last[side] += len(hunk.lines) - (hunk.end - hunk.start)
    return found


def _texts(blocks: list[Block]) -> list[str]:
    return ["\n".join(block.lines) for block in blocks]


def _lines(blocks: list[Block]) -> list[str]:
    return [line for block in blocks for line in block.all]


def _spaced(base: Block, main: Block, proposed: Block) -> list[str]:
    """A block that nobody changed, with the blank lines after it that one of the sides wants."""
    return main.lines + (proposed.blanks if main.blanks == base.blanks else main.blanks)


def undecided(conflict: Conflict, name: str) -> list[str]:
    """Both sides of a conflict between markers."""
    return marked(conflict.main.split("\n"), conflict.proposed.split("\n"), name)


def marked(main: list[str], proposed: list[str], name: str) -> list[str]:
    """Both sides between markers, each marker between blank lines."""
    result: list[str] = []
    for part in ([MAIN], main, [DIVIDER], proposed, [proposal_marker(name)]):
        append(result, part, apart=True)
    return result


def append(lines: list[str], more: list[str], *, apart: bool = False) -> None:
    """Add lines, with a blank one between if they would run together, or, with `apart`, if there is none."""
    if lines and more and (continues(lines[-1], more[0]) or (apart and not (is_blank(lines[-1]) or is_blank(more[0])))):
        lines.append("")
    lines += more
