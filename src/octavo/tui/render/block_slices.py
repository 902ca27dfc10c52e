"""Long blocks cut into slices that are set one by one, so that cost follows what is looked at, however a block is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from operator import is_not
from typing import NamedTuple
from unicodedata import combining

from octavo.documents.blocks import NOTHING, Block, Run

MOST_COLUMNS = 200
"""Of a table no more are shown."""


def has_merged_cells(rows: Sequence[Block]) -> bool:
    """Whether any cell goes over several columns or rows."""
    return any(
        "colspan" in cell.attrs or "rowspan" in cell.attrs for row in rows for cell in row.children if cell.attrs
    )


def cells_by_column(rows: Sequence[Block]) -> list[list[Block | None]]:
    """The cells of rows by their columns. What is beside or below a merged cell is None. One merged over more columns than
    any row has cells in ends with the last of those."""
    if not has_merged_cells(rows):
        return [list(row.children) for row in rows]
    out: list[list[Block | None]] = []
    taken: list[int] = []
    for row in rows:
        line: list[Block | None] = []
        for cell in row.children:
            while len(line) < len(taken) and taken[len(line)]:
                line.append(None)
            wide = min(int(cell.attrs.get("colspan", 1)), MOST_COLUMNS)
            taken += [0] * (len(line) + wide - len(taken))
            taken[len(line) : len(line) + wide] = [int(cell.attrs.get("rowspan", 1))] * wide
            line += [cell, *[None] * (wide - 1)]
        taken = [max(0, rows_left - 1) for rows_left in taken]
        out.append(line)
    # `colspan="100"` is how people write "all the way across".
    count = max([at + 1 for line in out for at, cell in enumerate(line) if cell is not None], default=0)
    return [line[:count] for line in out]


SLICE_COST = 6000
"""What is set at a time weighs about so much: a block that weighs twice as much is cut. A paragraph weighs what it has
letters, with something for itself."""
_BLOCK_COST, _ROW_COST, _NON_ASCII_FACTOR = 60, 90, 4
"""What each block and each row of code weighs beside its letters, and how much more letters do that are not ASCII."""
_NESTING_FACTOR, _LEAST_COST = 9 / 8, 600
"""What stands in something is set again with it: so much less of it is set at a time, down to so much."""
_LONGEST_WORD = 3000
"""A line ends at the first space in so many letters, or in their midst."""
_JOINERS = "\u200d\ufe0e\ufe0f"
_MOST_SIDE_BY_SIDE = 6
"""Cards and images stand one, two or three beside one another."""
_LINE_BREAK = re.compile(r"\\\\(?:\[[^\]]*\])?")
LONGEST_DIAGRAM = 6000
"""Characters of the source of a diagram that is drawn."""


class SliceBounds(NamedTuple):
    """Where in a block a slice of it lies."""

    whole: Block
    start: int
    """The place of its first child, or row."""
    previous: Block | None = None
    """The child before that. None when the slice begins within a child that is cut as well."""
    is_first: bool = False
    is_last: bool = False
    is_partial_row: bool = False
    """Whether it is a part of a row of code that is too long."""
    continues_row: bool = False
    """Whether it is not the first part of that."""


def slice_bounds(block: Block) -> SliceBounds | None:
    """Where a slice lies. None for a whole block."""
    cut = block.attrs.get("cut")
    return cut if isinstance(cut, SliceBounds) else None


def whole_block(block: Block) -> Block:
    """The block that a slice is of, or the block itself."""
    cut = slice_bounds(block)
    return block if cut is None else cut.whole


def has_start(block: Block) -> bool:
    """Whether a block, or a slice of one, has its beginning."""
    cut = slice_bounds(block)
    return cut is None or cut.is_first


def has_end(block: Block) -> bool:
    """Whether a block, or a slice of one, has its end."""
    cut = slice_bounds(block)
    return cut is None or cut.is_last


def is_long(block: Block, limit: float = SLICE_COST) -> bool:
    """Whether a block is set in slices, so that about `most` is set at a time."""
    return block.kind in _SPLITTERS and layout_cost(block, 2 * limit) > 2 * limit and not _is_drawable(block)


def layout_cost(block: Block, limit: float) -> float:
    """About how long it takes to set a block, in letters of a paragraph. Of what is heavier than `most` no more is looked
    at."""
    own = _BLOCK_COST + text_cost(block.runs)
    if block.text:
        rows = block.text.count("\\\\" if block.kind == "math" else "\n")
        own += len(block.text) * (1 if block.text.isascii() else _NON_ASCII_FACTOR) + _ROW_COST * rows
    inner: float = 0
    for child in block.children:
        if own + inner > limit:
            break
        inner += layout_cost(child, (limit - own - inner) / _NESTING_FACTOR) * _NESTING_FACTOR
    return own + inner


def text_cost(runs: Sequence[Run]) -> int:
    """How much words weigh."""
    return sum([len(run.text) * (1 if run.text.isascii() else _NON_ASCII_FACTOR) for run in runs])


def split_block(block: Block, limit: float = SLICE_COST) -> Iterator[Block]:
    """A block in slices of about `most`, each a block with some of its children, rows or words; only the block when it is
    not long. They are cut as they are asked for."""
    if not is_long(block, limit):
        yield block
        return
    before: Block | None = None
    is_first = True
    for piece in _SPLITTERS[block.kind](block, max(_LEAST_COST, limit)):
        if before is not None:
            yield _with_bounds(before, is_first=is_first, is_last=False)
            is_first = False
        before = piece
    if before is None or is_first:
        yield block  # there is no place to cut it
    else:
        yield _with_bounds(before, is_first=False, is_last=True)


def _with_bounds(piece: Block, *, is_first: bool, is_last: bool) -> Block:
    """A slice that knows whether it is the first or the last, and which lines of the source it has."""
    cut = slice_bounds(piece)
    assert cut is not None, "the block must be a slice of another block"
    whole, children = cut.whole, piece.children
    first = whole.lines[0] if is_first else children[0].lines[0] if children else piece.lines[0]
    last = whole.lines[1] if is_last else children[-1].lines[1] if children else piece.lines[1]
    cut = cut._replace(is_first=is_first, is_last=is_last)
    runs = piece.runs if is_first or not children else ()
    return piece._replace(attrs={**piece.attrs, "cut": cut}, runs=runs, lines=(first, max(first, last)))


def _slice_of(block: Block, children: Iterable[Block], start: int, *, is_continuation: bool = False) -> Block:
    """Some children of a block; `is_inner`: it goes on in the midst of one."""
    above = block.children[start - 1] if start and not is_continuation else None
    return block._replace(children=tuple(children), attrs={**block.attrs, "cut": SliceBounds(block, start, above)})


def _split_children(block: Block, limit: float, group_size: int = 1) -> Iterator[Block]:
    """Slices with some children each, a multiple of `together`; what is long itself is cut too."""
    group: list[Block] = []
    cost: float = 0
    for place in range(0, len(block.children), group_size):
        children = block.children[place : place + group_size]
        group_cost = sum([layout_cost(child, limit) for child in children])
        if group and cost + group_cost > limit:
            yield _slice_of(block, group, place - len(group))
            group, cost = [], 0
        if group_size == 1 and is_long(children[0], limit / _NESTING_FACTOR):
            for at, piece in enumerate(split_block(children[0], limit / _NESTING_FACTOR)):
                yield _slice_of(block, [piece], place, is_continuation=at > 0)
        else:
            group += children
            cost += group_cost
    if group:
        yield _slice_of(block, group, len(block.children) - len(group))


def _split_cells(block: Block, limit: float) -> Iterator[Block]:
    """Cards and images, as many together as may stand beside one another; the words that one has too many follow them."""
    for piece in _split_children(block, limit, _MOST_SIDE_BY_SIDE):
        yield from _split_long_cells(piece, limit)


def _split_tabs(block: Block, limit: float) -> Iterator[Block]:
    """Each slice has a slice of every tab, as only one of them is shown."""
    empty_tabs = [tab._replace(children=()) for tab in block.children]
    for pieces in zip_longest(*(split_block(tab, limit / _NESTING_FACTOR) for tab in block.children)):
        tabs = [piece or empty for piece, empty in zip(pieces, empty_tabs, strict=True)]
        yield _slice_of(block, tabs, 0)


def _split_rows(table: Block, limit: float) -> Iterator[Block]:
    """Some rows of a table, or fields of a record, each; with every cell in its place, as those above that go over several
    rows are in other slices."""
    for piece in _split_children(unmerge_cells(table), limit):
        cut = slice_bounds(piece)
        assert cut is not None, "the block must be a slice of another block"
        yield from _split_long_cells(piece._replace(attrs={**piece.attrs, "cut": cut._replace(whole=table)}), limit)


def unmerge_cells(table: Block) -> Block:
    """A table whose cells each take one row and one column: where one went over several, there are empty ones beside and
    below it."""
    if not any("rowspan" in cell.attrs for row in table.children for cell in row.children if cell.attrs):
        return table
    lines = zip(table.children, cells_by_column(table.children), strict=True)
    return table._replace(children=tuple(_with_cells(row, map(_unmerged, line)) for row, line in lines))


def _unmerged(cell: Block | None) -> Block:
    """A cell that is merged with no other."""
    if cell is None:
        return Block("cell")
    return cell._replace(attrs={name: cell.attrs[name] for name in cell.attrs if name not in ("rowspan", "colspan")})


def _split_long_cells(piece: Block, limit: float) -> Iterator[Block]:
    """A slice of a table whose cells hold no more than is set at a time; what they go on with follows in paragraphs."""
    rows = [shorten_row(row, limit) for row in piece.children]
    yield piece._replace(children=tuple(rows)) if any(map(is_not, rows, piece.children)) else piece
    for row, short in zip(piece.children, rows, strict=True):
        for cell in (row.children or (row,)) if short is not row else ():
            for rest in islice(_split_runs(cell.runs, limit), 1, None) if _is_long_cell(cell, limit) else ():
                yield Block(
                    "paragraph", {"cut": SliceBounds(whole_block(row), 0)}, runs=rest, lines=row.lines, key=row.key
                )


def shorten_row(row: Block, limit: float = SLICE_COST) -> Block:
    """A row whose cells, or a card, image or field that itself, has no more words than are set at a time."""
    every = row.children or (row,)
    if not any(_is_long_cell(cell, limit) for cell in every):
        return row
    cells = [
        cell._replace(runs=next(_split_runs(cell.runs, limit))) if _is_long_cell(cell, limit) else cell
        for cell in every
    ]
    return _with_cells(row, cells) if row.children else cells[0]


def _with_cells(row: Block, cells: Iterable[Block]) -> Block:
    """A row with other cells, that one stands on as on itself."""
    attrs = {**row.attrs, "cut": SliceBounds(whole_block(row), 0, is_first=True, is_last=True)}
    return row._replace(children=tuple(cells), attrs=attrs)


def _is_long_cell(cell: Block, limit: float) -> bool:
    return text_cost(cell.runs) > 2 * limit


def _split_paragraph(block: Block, limit: float) -> Iterator[Block]:
    for runs in _split_runs(block.runs, limit):
        yield block._replace(runs=runs, attrs={**block.attrs, "cut": SliceBounds(block, 0)})


def _split_captioned(block: Block, limit: float) -> Iterator[Block]:
    """Something with words of its own, those it has too many as paragraphs, and what stands in it."""
    if text_cost(block.runs) > 2 * limit:
        first, *rest = _split_runs(block.runs, limit)
        yield _slice_of(block._replace(runs=first), (), 0)
        for runs in rest:
            yield Block("paragraph", {"cut": SliceBounds(block, 0)}, runs=runs, lines=block.lines, key=block.key)
    yield from _split_children(block, limit)


def _split_runs(runs: Sequence[Run], limit: float) -> Iterator[tuple[Run, ...]]:
    """Runs a while at a time: up to a space, or within a word that is longer: there a line ends."""
    row: list[Run] = []
    room = int(limit)
    for run in runs:
        text, factor, at = run.text, 1 if run.text.isascii() else _NON_ASCII_FACTOR, 0
        while (len(text) - at) * factor > room and (
            edge := _line_edge(text, at + room // factor, _LONGEST_WORD // factor)
        ) is not None:
            row.append(run._replace(text=text[at : edge[0]]))
            yield tuple(row)
            row, room, at = [], int(limit), edge[1]
        if at < len(text):
            row.append(run._replace(text=text[at:]) if at else run)
            room = max(0, room - (len(text) - at) * factor)
    if row:
        yield tuple(row)


def split_text(text: str) -> Iterator[str]:
    """A long text a while at a time, as `slices` cuts a paragraph of it."""
    for runs in _split_runs([Run(text)], SLICE_COST):
        yield runs[0].text


def _line_edge(text: str, room: int, word: int) -> tuple[int, int] | None:
    """Where the first line ends that begins before `room` or soon after it, and where the next begins; None when the text
    ends before that."""
    end = text.find(" ", room, room + word)
    if end >= 0:
        return end, end + 1
    if len(text) <= room + word:
        return None
    end = room
    while end < len(text) and (combining(text[end]) or text[end] in _JOINERS):
        end += 1
    return end, end


def _split_code(block: Block, limit: float) -> Iterator[Block]:
    """Rows of code; of one that is too long a part, and then it is no longer one row."""
    text, at, row, first = block.text, 0, 0, block.text_line
    factor = 1 if block.text.isascii() else _NON_ASCII_FACTOR
    room = int(limit) // factor
    continues_row = False
    while at <= len(text):
        end, rows, cost = at, 0, 0
        while (cost := cost + _ROW_COST // factor) < room:
            stop = text.find("\n", end, at + room)
            if stop < 0:
                break
            rows, cost, end = rows + 1, cost + stop - end, stop + 1
        if rows:
            part, following = text[at : end - 1], end
        elif (stop := text.find("\n", at, at + 2 * room)) >= 0:
            part, following, rows = text[at:stop], stop + 1, 1
        elif len(text) - at <= 2 * room:
            part, following, rows = text[at:], len(text) + 1, 1
        else:
            stop, following = _line_edge(text, at + room, _LONGEST_WORD // factor) or (at + room, at + room)
            part, following = text[at:following], following
        lines = (first + row if row else block.lines[0], first + row + max(1, rows))
        cut = SliceBounds(block, row, is_partial_row=continues_row or not rows, continues_row=continues_row)
        yield block._replace(text=part, attrs={**block.attrs, "cut": cut}, lines=lines)
        continues_row, at, row = not rows, following, row + rows


def _split_formula(block: Block, limit: float) -> Iterator[Block]:
    """Rows of a formula, as far as its source says where they end."""
    start = rows = 0
    for match in _LINE_BREAK.finditer(block.text):
        rows += 1
        if match.end() - start + _ROW_COST * rows > limit:
            yield from _formula_slices(block, block.text[start : match.start()], limit)
            start, rows = match.end(), 0
    if start < len(block.text):
        yield from _formula_slices(block, block.text[start:], limit)


def _formula_slices(block: Block, text: str, limit: float) -> Iterator[Block]:
    """A part of a formula, cut at its blanks where it is too long for one."""
    for runs in _split_runs([Run(text)], limit):
        attrs = {**block.attrs, "cut": SliceBounds(block, 0)}
        yield block._replace(text=runs[0].text, attrs=attrs)


def _split_argument(block: Block, limit: float) -> Iterator[Block]:
    """What was given to a block in a text of its own, as a text."""
    text = block.text or "\n".join(child.plain() for child in block.children)
    inner = Block("code", NOTHING, text=text, lines=block.lines, key=block.key)
    for piece in _split_code(inner, limit):
        cut = slice_bounds(piece)
        assert cut is not None, "the block must be a slice of another block"
        yield piece._replace(kind=block.kind, attrs={**block.attrs, "cut": cut._replace(whole=block)})


def _split_integration(block: Block, limit: float) -> Iterator[Block]:
    """What was given to an integration, or what stands in it."""
    yield from _split_argument(block, limit) if block.text else _split_children(block, limit)


def _is_drawable(block: Block) -> bool:
    """Whether a block is a diagram that may be drawn: it is one thing."""
    return is_diagram(block) and len(block.text) <= LONGEST_DIAGRAM and not block.children


def is_diagram(block: Block) -> bool:
    """Whether a block is a diagram of a kind that may be drawn."""
    if block.kind == "code":
        return str(block.attrs.get("language") or "").strip().lower() == "mermaid"
    return block.kind == "integration" and str(block.attrs.get("name") or "").lstrip("@") == "mermaid/diagram"


_SPLITTERS: dict[str, Callable[[Block, float], Iterator[Block]]] = {
    **dict.fromkeys(
        ("list", "item", "task", "quote", "hint", "stepper", "step", "tab", "updates", "update", "footnotes"),
        _split_children,
    ),
    **dict.fromkeys(("footnote", "columns", "column", "if", "else", "conflict", "side", "include"), _split_children),
    **dict.fromkeys(
        ("unknown", "openapi", "api-method", "api-section", "api-parameter", "api-response"), _split_children
    ),
    **dict.fromkeys(("expandable", "file", "embed", "content-ref"), _split_captioned),
    **dict.fromkeys(("paragraph", "heading"), _split_paragraph),
    **dict.fromkeys(("cards", "figure"), _split_cells),
    "tabs": _split_tabs,
    **dict.fromkeys(("table", "record"), _split_rows),
    "code": _split_code,
    "prompt": _split_argument,
    "integration": _split_integration,
    "math": _split_formula,
}
