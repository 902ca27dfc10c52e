"""Long blocks cut into slices that are set one by one, so that cost follows what is looked at, however a block is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from operator import is_not
from typing import NamedTuple
from unicodedata import combining

from octavo.documents.blocks import NO_ATTRS, Block, Run
from octavo.tui.render.kept_results import KeptResults
from octavo.tui.render.merged_cells import placed

SLICE_WEIGHT = 6000
"""What is set at a time weighs about so much: a block that weighs twice as much is cut. A paragraph weighs what it has
letters, with something for itself."""
_BLOCK, _ROW, _WIDE = 60, 90, 4
"""What each block and each row of code weighs beside its letters, and how much more letters do that are not ASCII."""
_DEEPER, _LEAST = 9 / 8, 600
"""What stands in something is set again with it: so much less of it is set at a time, down to so much."""
_WORD = 3000
"""A line ends at the first space in so many letters, or in their midst."""
_JOINING = "\u200d\ufe0e\ufe0f"
_BESIDE = 6
"""Cards and images stand one, two or three beside one another."""
_BROKEN = re.compile(r"\\\\(?:\[[^\]]*\])?")
_kept: KeptResults[Block, list[Block]] = KeptResults()
DRAWN = 6000
"""Characters of the source of a diagram that is drawn."""


class SliceBounds(NamedTuple):
    """Where in a block a slice of it lies."""

    whole: Block
    start: int
    """The place of its first child, or row."""
    above: Block | None = None
    """The child before that. None when the slice begins within a child that is cut as well."""
    is_first: bool = False
    is_last: bool = False
    is_part: bool = False
    """Whether it is a part of a row of code that is too long."""
    is_within: bool = False
    """Whether it is not the first part of that."""


def cut_of(block: Block) -> SliceBounds | None:
    """Where a slice lies. None for a whole block."""
    cut = block.attrs.get("cut")
    return cut if isinstance(cut, SliceBounds) else None


def whole_of(block: Block) -> Block:
    """The block that a slice is of, or the block itself."""
    cut = cut_of(block)
    return block if cut is None else cut.whole


def begins(block: Block) -> bool:
    """Whether a block, or a slice of one, has its beginning."""
    cut = cut_of(block)
    return cut is None or cut.is_first


def ends(block: Block) -> bool:
    """Whether a block, or a slice of one, has its end."""
    cut = cut_of(block)
    return cut is None or cut.is_last


def is_long(block: Block, most: float = SLICE_WEIGHT) -> bool:
    """Whether a block is set in slices, so that about `most` is set at a time."""
    return block.kind in _CUTTERS and weight(block, 2 * most) > 2 * most and not _is_drawn(block)


def weight(block: Block, most: float) -> float:
    """About how long it takes to set a block, in letters of a paragraph. Of what is heavier than `most` no more is looked
    at."""
    own = _BLOCK + letters(block.runs)
    if block.text:
        rows = block.text.count("\\\\" if block.kind == "math" else "\n")
        own += len(block.text) * (1 if block.text.isascii() else _WIDE) + _ROW * rows
    inner: float = 0
    for child in block.children:
        if own + inner > most:
            break
        inner += weight(child, (most - own - inner) / _DEEPER) * _DEEPER
    return own + inner


def letters(runs: Sequence[Run]) -> int:
    """How much words weigh."""
    return sum([len(run.text) * (1 if run.text.isascii() else _WIDE) for run in runs])


def slices(block: Block, most: float = SLICE_WEIGHT) -> Iterator[Block]:
    """A block in slices of about `most`, each a block with some of its children, rows or words; only the block when it is
    not long. They are cut as they are asked for."""
    if not is_long(block, most):
        yield block
        return
    before: Block | None = None
    is_first = True
    for piece in _CUTTERS[block.kind](block, max(_LEAST, most)):
        if before is not None:
            yield _placed(before, is_first=is_first, is_last=False)
            is_first = False
        before = piece
    if before is None or is_first:
        yield block  # there is no place to cut it
    else:
        yield _placed(before, is_first=False, is_last=True)


def kept_slices(block: Block) -> Iterator[Block]:
    """The slices of a block, for those who need them again and again: those of the long blocks gone through last are
    kept."""
    if (known := _kept.of(block)) is not None:
        yield from known
        return
    found: list[Block] = []
    for piece in slices(block):
        found.append(piece)
        yield piece
    if len(found) > 1:
        _kept.keep(block, found)


def _placed(piece: Block, *, is_first: bool, is_last: bool) -> Block:
    """A slice that knows whether it is the first or the last, and which lines of the source it has."""
    cut = cut_of(piece)
    assert cut is not None, "the block must be a slice of another block"
    whole, children = cut.whole, piece.children
    first = whole.lines[0] if is_first else children[0].lines[0] if children else piece.lines[0]
    last = whole.lines[1] if is_last else children[-1].lines[1] if children else piece.lines[1]
    cut = cut._replace(is_first=is_first, is_last=is_last)
    runs = piece.runs if is_first or not children else ()
    return piece._replace(attrs={**piece.attrs, "cut": cut}, runs=runs, lines=(first, max(first, last)))


def _piece(block: Block, children: Iterable[Block], start: int, *, is_inner: bool = False) -> Block:
    """Some children of a block; `is_inner`: it goes on in the midst of one."""
    above = block.children[start - 1] if start and not is_inner else None
    return block._replace(children=tuple(children), attrs={**block.attrs, "cut": SliceBounds(block, start, above)})


def _children(block: Block, most: float, together: int = 1) -> Iterator[Block]:
    """Slices with some children each, a multiple of `together`; what is long itself is cut too."""
    group: list[Block] = []
    held: float = 0
    for place in range(0, len(block.children), together):
        some = block.children[place : place + together]
        heavy = sum([weight(child, most) for child in some])
        if group and held + heavy > most:
            yield _piece(block, group, place - len(group))
            group, held = [], 0
        if together == 1 and is_long(some[0], most / _DEEPER):
            for at, piece in enumerate(slices(some[0], most / _DEEPER)):
                yield _piece(block, [piece], place, is_inner=at > 0)
        else:
            group += some
            held += heavy
    if group:
        yield _piece(block, group, len(block.children) - len(group))


def _beside(block: Block, most: float) -> Iterator[Block]:
    """Cards and images, as many together as may stand beside one another; the words that one has too many follow them."""
    for piece in _children(block, most, _BESIDE):
        yield from _without_long_words(piece, most)


def _tabs(block: Block, most: float) -> Iterator[Block]:
    """Each slice has a slice of every tab, as only one of them is shown."""
    nothing = [tab._replace(children=()) for tab in block.children]
    for pieces in zip_longest(*(slices(tab, most / _DEEPER) for tab in block.children)):
        tabs = [piece or empty for piece, empty in zip(pieces, nothing, strict=True)]
        yield _piece(block, tabs, 0)


def _rows(table: Block, most: float) -> Iterator[Block]:
    """Some rows of a table, or fields of a record, each; with every cell in its place, as those above that go over several
    rows are in other slices."""
    for piece in _children(leveled(table), most):
        cut = cut_of(piece)
        assert cut is not None, "the block must be a slice of another block"
        yield from _without_long_words(piece._replace(attrs={**piece.attrs, "cut": cut._replace(whole=table)}), most)


def leveled(table: Block) -> Block:
    """A table whose cells each take one row and one column: where one went over several, there are empty ones beside and
    below it."""
    if not any("rowspan" in cell.attrs for row in table.children for cell in row.children if cell.attrs):
        return table
    lines = zip(table.children, placed(table.children), strict=True)
    return table._replace(children=tuple(_made_of(row, map(_alone, line)) for row, line in lines))


def _alone(cell: Block | None) -> Block:
    """A cell that is merged with no other."""
    if cell is None:
        return Block("cell")
    return cell._replace(attrs={name: cell.attrs[name] for name in cell.attrs if name not in ("rowspan", "colspan")})


def _without_long_words(piece: Block, most: float) -> Iterator[Block]:
    """A slice of a table whose cells hold no more than is set at a time; what they go on with follows in paragraphs."""
    rows = [shortened(row, most) for row in piece.children]
    yield piece._replace(children=tuple(rows)) if any(map(is_not, rows, piece.children)) else piece
    for row, short in zip(piece.children, rows, strict=True):
        for cell in (row.children or (row,)) if short is not row else ():
            for rest in islice(_words(cell.runs, most), 1, None) if _is_wordy(cell, most) else ():
                yield Block(
                    "paragraph", {"cut": SliceBounds(whole_of(row), 0)}, runs=rest, lines=row.lines, key=row.key
                )


def shortened(row: Block, most: float = SLICE_WEIGHT) -> Block:
    """A row whose cells, or a card, image or field that itself, has no more words than are set at a time."""
    every = row.children or (row,)
    if not any(_is_wordy(cell, most) for cell in every):
        return row
    cells = [cell._replace(runs=next(_words(cell.runs, most))) if _is_wordy(cell, most) else cell for cell in every]
    return _made_of(row, cells) if row.children else cells[0]


def _made_of(row: Block, cells: Iterable[Block]) -> Block:
    """A row with other cells, that one stands on as on itself."""
    attrs = {**row.attrs, "cut": SliceBounds(whole_of(row), 0, is_first=True, is_last=True)}
    return row._replace(children=tuple(cells), attrs=attrs)


def _is_wordy(cell: Block, most: float) -> bool:
    return letters(cell.runs) > 2 * most


def _paragraph(block: Block, most: float) -> Iterator[Block]:
    for runs in _words(block.runs, most):
        yield block._replace(runs=runs, attrs={**block.attrs, "cut": SliceBounds(block, 0)})


def _captioned(block: Block, most: float) -> Iterator[Block]:
    """Something with words of its own, those it has too many as paragraphs, and what stands in it."""
    if letters(block.runs) > 2 * most:
        first, *rest = _words(block.runs, most)
        yield _piece(block._replace(runs=first), (), 0)
        for runs in rest:
            yield Block("paragraph", {"cut": SliceBounds(block, 0)}, runs=runs, lines=block.lines, key=block.key)
    yield from _children(block, most)


def _words(runs: Sequence[Run], most: float) -> Iterator[tuple[Run, ...]]:
    """Runs a while at a time: up to a space, or within a word that is longer: there a line ends."""
    row: list[Run] = []
    room = int(most)
    for run in runs:
        text, dear, at = run.text, 1 if run.text.isascii() else _WIDE, 0
        while (len(text) - at) * dear > room and (edge := _edge(text, at + room // dear, _WORD // dear)) is not None:
            row.append(run._replace(text=text[at : edge[0]]))
            yield tuple(row)
            row, room, at = [], int(most), edge[1]
        if at < len(text):
            row.append(run._replace(text=text[at:]) if at else run)
            room = max(0, room - (len(text) - at) * dear)
    if row:
        yield tuple(row)


def texts(text: str) -> Iterator[str]:
    """A long text a while at a time, as `slices` cuts a paragraph of it."""
    for runs in _words([Run(text)], SLICE_WEIGHT):
        yield runs[0].text


def _edge(text: str, room: int, word: int) -> tuple[int, int] | None:
    """Where the first line ends that begins before `room` or soon after it, and where the next begins; None when the text
    ends before that."""
    end = text.find(" ", room, room + word)
    if end >= 0:
        return end, end + 1
    if len(text) <= room + word:
        return None
    end = room
    while end < len(text) and (combining(text[end]) or text[end] in _JOINING):
        end += 1
    return end, end


def _code(block: Block, most: float) -> Iterator[Block]:
    """Rows of code; of one that is too long a part, and then it is no longer one row."""
    text, at, row, first = block.text, 0, 0, block.text_line
    dear = 1 if block.text.isascii() else _WIDE
    room = int(most) // dear
    is_within = False
    while at <= len(text):
        end, rows, held = at, 0, 0
        while (held := held + _ROW // dear) < room:
            stop = text.find("\n", end, at + room)
            if stop < 0:
                break
            rows, held, end = rows + 1, held + stop - end, stop + 1
        if rows:
            part, following = text[at : end - 1], end
        elif (stop := text.find("\n", at, at + 2 * room)) >= 0:
            part, following, rows = text[at:stop], stop + 1, 1
        elif len(text) - at <= 2 * room:
            part, following, rows = text[at:], len(text) + 1, 1
        else:
            stop, following = _edge(text, at + room, _WORD // dear) or (at + room, at + room)
            part, following = text[at:following], following
        lines = (first + row if row else block.lines[0], first + row + max(1, rows))
        cut = SliceBounds(block, row, is_part=is_within or not rows, is_within=is_within)
        yield block._replace(text=part, attrs={**block.attrs, "cut": cut}, lines=lines)
        is_within, at, row = not rows, following, row + rows


def _formula(block: Block, most: float) -> Iterator[Block]:
    """Rows of a formula, as far as its source says where they end."""
    start = rows = 0
    for match in _BROKEN.finditer(block.text):
        rows += 1
        if match.end() - start + _ROW * rows > most:
            yield from _source_of(block, block.text[start : match.start()], most)
            start, rows = match.end(), 0
    if start < len(block.text):
        yield from _source_of(block, block.text[start:], most)


def _source_of(block: Block, text: str, most: float) -> Iterator[Block]:
    """A part of a formula, cut at its blanks where it is too long for one."""
    for runs in _words([Run(text)], most):
        attrs = {**block.attrs, "cut": SliceBounds(block, 0)}
        yield block._replace(text=runs[0].text, attrs=attrs)


def _texts(block: Block, most: float) -> Iterator[Block]:
    """What was given to a block in a text of its own, as a text."""
    text = block.text or "\n".join(child.plain() for child in block.children)
    inner = Block("code", NO_ATTRS, text=text, lines=block.lines, key=block.key)
    for piece in _code(inner, most):
        cut = cut_of(piece)
        assert cut is not None, "the block must be a slice of another block"
        yield piece._replace(kind=block.kind, attrs={**block.attrs, "cut": cut._replace(whole=block)})


def _integration(block: Block, most: float) -> Iterator[Block]:
    """What was given to an integration, or what stands in it."""
    yield from _texts(block, most) if block.text else _children(block, most)


def _is_drawn(block: Block) -> bool:
    """Whether a block is a diagram that may be drawn: it is one thing."""
    return is_diagram(block) and len(block.text) <= DRAWN and not block.children


def is_diagram(block: Block) -> bool:
    """Whether a block is a diagram of a kind that may be drawn."""
    if block.kind == "code":
        return str(block.attrs.get("language") or "").strip().lower() == "mermaid"
    return block.kind == "integration" and str(block.attrs.get("name") or "").lstrip("@") == "mermaid/diagram"


_CUTTERS: dict[str, Callable[[Block, float], Iterator[Block]]] = {
    **dict.fromkeys(
        ("list", "item", "task", "quote", "hint", "stepper", "step", "tab", "updates", "update", "footnotes"), _children
    ),
    **dict.fromkeys(("footnote", "columns", "column", "if", "else", "conflict", "side", "include"), _children),
    **dict.fromkeys(("unknown", "openapi", "api-method", "api-section", "api-parameter", "api-response"), _children),
    **dict.fromkeys(("expandable", "file", "embed", "content-ref"), _captioned),
    **dict.fromkeys(("paragraph", "heading"), _paragraph),
    **dict.fromkeys(("cards", "figure"), _beside),
    "tabs": _tabs,
    **dict.fromkeys(("table", "record"), _rows),
    "code": _code,
    "prompt": _texts,
    "integration": _integration,
    "math": _formula,
}
