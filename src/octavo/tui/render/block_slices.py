"""Splits long blocks into slices, which are rendered one by one so that no single step takes long. Also shows the
Markdown of a block that cannot be rendered."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from operator import is_not
from typing import NamedTuple, TypeVar
from unicodedata import combining

from octavo.documents import suggestions
from octavo.documents.blocks import NO_ATTRS, Block, Run
from octavo.tui.render.styled_lines import Line, StyledText, box, decoration, flatten_emoji, wrap
from octavo.tui.render.styles import Styles

MAX_TABLE_COLUMNS = 200


def has_merged_cells(rows: Sequence[Block]) -> bool:
    """Return whether any cell spans several rows or columns."""
    return any(
        "colspan" in cell.attrs or "rowspan" in cell.attrs for row in rows for cell in row.children if cell.attrs
    )


def cells_by_column(rows: Sequence[Block]) -> list[list[Block | None]]:
    """Return the cells of each row, one for each column. None in a column that a merged cell covers."""
    if not has_merged_cells(rows):
        return [list(row.children) for row in rows]
    grid: list[list[Block | None]] = []
    covered_rows: list[int] = []
    for row in rows:
        row_cells: list[Block | None] = []
        for cell in row.children:
            while len(row_cells) < len(covered_rows) and covered_rows[len(row_cells)]:
                row_cells.append(None)
            span = min(int(cell.attrs.get("colspan", 1)), MAX_TABLE_COLUMNS)
            covered_rows += [0] * (len(row_cells) + span - len(covered_rows))
            covered_rows[len(row_cells) : len(row_cells) + span] = [int(cell.attrs.get("rowspan", 1))] * span
            row_cells += [cell, *[None] * (span - 1)]
        covered_rows = [max(0, rows_left - 1) for rows_left in covered_rows]
        grid.append(row_cells)
    # Drop columns in which no cell begins: authors write `colspan="100"` for "all the way across".
    count = max(
        [index + 1 for row_cells in grid for index, cell in enumerate(row_cells) if cell is not None], default=0
    )
    return [row_cells[:count] for row_cells in grid]


SLICE_COST = 6000
"""Approximate cost of rendering a slice. A paragraph costs 1 for each ASCII character."""
_BLOCK_COST, _ROW_COST, _NON_ASCII_COST = 60, 90, 4
_NESTING_FACTOR = 9 / 8
"""Factor for the cost of children, because each slice renders their container again."""
_MIN_SLICE_COST = 600
"""Minimum cost of a slice, even if the caller asks for less."""
_MAX_WORD_LENGTH = 3000
"""A word of ASCII prose with fewer characters is never split."""
_JOINERS = "\u200d\ufe0e\ufe0f"
_CELL_GROUP_SIZE = 6
"""A slice has a multiple of this number of cards or images, so that each row of them is whole."""
_LINE_BREAK = re.compile(r"\\\\(?:\[[^\]]*\])?")
MAX_DIAGRAM_LENGTH = 6000
"""Maximum number of characters in the source of a diagram. Longer diagrams are not drawn."""


class SliceBounds(NamedTuple):
    """The block that a slice belongs to, and where the slice begins in it."""

    whole_block: Block
    start: int
    """Index of the slice's first child in the whole block. For code, index of the slice's first line there."""
    previous: Block | None = None
    """Child of the whole block just above the slice. None at the block's start, or if the slice begins in a child."""
    is_first: bool = False
    is_last: bool = False
    is_partial_line: bool = False
    """True if the slice begins or ends inside a line of code."""
    continues_line: bool = False
    """True if the slice begins inside a line of code."""


def slice_bounds(block: Block) -> SliceBounds | None:
    """Return the position of a slice in its whole block. None if `block` is not a slice."""
    bounds = block.attrs.get("slice")
    return bounds if isinstance(bounds, SliceBounds) else None


def whole_block(block: Block) -> Block:
    """Return the whole block that a slice belongs to. Return a block that is not a slice unchanged."""
    bounds = slice_bounds(block)
    return block if bounds is None else bounds.whole_block


def has_start(block: Block) -> bool:
    """Return True for the first slice of a block, and for a block that is not a slice."""
    bounds = slice_bounds(block)
    return bounds is None or bounds.is_first


def has_end(block: Block) -> bool:
    """Return True for the last slice of a block, and for a block that is not a slice."""
    bounds = slice_bounds(block)
    return bounds is None or bounds.is_last


def first_index(block: Block) -> int:
    """Return the index of a slice's first child among the children of the whole block. For code, return the
    index of the first line of the slice. 0 if `block` is not a slice."""
    bounds = slice_bounds(block)
    return 0 if bounds is None else bounds.start


def child_above_slice(block: Block) -> Block | None:
    """Return the child just above a slice. None for a first slice, a slice that begins in a child, or a whole block."""
    bounds = slice_bounds(block)
    return None if bounds is None else bounds.previous


def is_long(block: Block, max_cost: float = SLICE_COST) -> bool:
    """Return True if a block costs more than twice `max_cost` and can be split into slices."""
    return block.kind in _SPLITTERS and layout_cost(block, 2 * max_cost) > 2 * max_cost and not _is_drawable(block)


def layout_cost(block: Block, max_cost: float) -> float:
    """Return the estimated cost of rendering a block. Counting stops as soon as the cost is above `max_cost`."""
    own_cost = _BLOCK_COST + text_cost(block.runs)
    if block.text:
        rows = block.text.count("\\\\" if block.kind == "math" else "\n")
        own_cost += len(block.text) * (1 if block.text.isascii() else _NON_ASCII_COST) + _ROW_COST * rows
    cost_inside: float = 0
    for child in block.children:
        if own_cost + cost_inside > max_cost:
            break
        cost_inside += layout_cost(child, (max_cost - own_cost - cost_inside) / _NESTING_FACTOR) * _NESTING_FACTOR
    return own_cost + cost_inside


def text_cost(runs: Sequence[Run]) -> int:
    """Return the estimated cost of rendering inline text."""
    return sum([len(run.text) * (1 if run.text.isascii() else _NON_ASCII_COST) for run in runs])


def split_block(block: Block, max_cost: float = SLICE_COST) -> Iterator[Block]:
    """Yield slices of a block, each with a cost of about `max_cost`. Yield a short or indivisible block unchanged."""
    if not is_long(block, max_cost):
        yield block
        return
    previous_piece: Block | None = None
    is_first = True
    for piece in _SPLITTERS[block.kind](block, max(_MIN_SLICE_COST, max_cost)):
        if previous_piece is not None:
            yield _with_bounds(previous_piece, is_first=is_first, is_last=False)
            is_first = False
        previous_piece = piece
    if previous_piece is None or is_first:
        yield block  # There are not two slices, so the block stays whole.
    else:
        yield _with_bounds(previous_piece, is_first=False, is_last=True)


def _with_bounds(piece: Block, *, is_first: bool, is_last: bool) -> Block:
    bounds = slice_bounds(piece)
    assert bounds is not None, "the block must be a slice of another block"
    full_block, children = bounds.whole_block, piece.children
    first = full_block.lines[0] if is_first else children[0].lines[0] if children else piece.lines[0]
    last = full_block.lines[1] if is_last else children[-1].lines[1] if children else piece.lines[1]
    bounds = bounds._replace(is_first=is_first, is_last=is_last)
    runs = piece.runs if is_first or not children else ()
    return piece._replace(attrs={**piece.attrs, "slice": bounds}, runs=runs, lines=(first, max(first, last)))


def _slice_of(block: Block, children: Iterable[Block], start: int, *, is_continuation: bool = False) -> Block:
    above = block.children[start - 1] if start and not is_continuation else None
    return block._replace(children=tuple(children), attrs={**block.attrs, "slice": SliceBounds(block, start, above)})


def _split_children(block: Block, max_cost: float, group_size: int = 1) -> Iterator[Block]:
    group: list[Block] = []
    cost: float = 0
    for start in range(0, len(block.children), group_size):
        children = block.children[start : start + group_size]
        group_cost = sum([layout_cost(child, max_cost) for child in children])
        if group and cost + group_cost > max_cost:
            yield _slice_of(block, group, start - len(group))
            group, cost = [], 0
        if group_size == 1 and is_long(children[0], max_cost / _NESTING_FACTOR):
            for index, piece in enumerate(split_block(children[0], max_cost / _NESTING_FACTOR)):
                yield _slice_of(block, [piece], start, is_continuation=index > 0)
        else:
            group += children
            cost += group_cost
    if group:
        yield _slice_of(block, group, len(block.children) - len(group))


def _split_cells(block: Block, max_cost: float) -> Iterator[Block]:
    for piece in _split_children(block, max_cost, _CELL_GROUP_SIZE):
        yield from _split_long_cells(piece, max_cost)


def _split_tabs(block: Block, max_cost: float) -> Iterator[Block]:
    """Yield slices of a tabs block. Each has a slice of every tab. A tab without more slices is empty."""
    empty_tabs = [tab._replace(children=()) for tab in block.children]
    for tab_slices in zip_longest(*(split_block(tab, max_cost / _NESTING_FACTOR) for tab in block.children)):
        tabs = [tab_slice or empty for tab_slice, empty in zip(tab_slices, empty_tabs, strict=True)]
        yield _slice_of(block, tabs, 0)


def _split_rows(table: Block, max_cost: float) -> Iterator[Block]:
    for piece in _split_children(unmerge_cells(table), max_cost):
        bounds = slice_bounds(piece)
        assert bounds is not None, "the block must be a slice of another block"
        yield from _split_long_cells(
            piece._replace(attrs={**piece.attrs, "slice": bounds._replace(whole_block=table)}), max_cost
        )


def unmerge_cells(table: Block) -> Block:
    """Return a table in which no cell spans several rows. Only the first of the new cells has the content."""
    if not any("rowspan" in cell.attrs for row in table.children for cell in row.children if cell.attrs):
        return table
    lines = zip(table.children, cells_by_column(table.children), strict=True)
    return table._replace(children=tuple(_replace_cells(row, map(_without_spans, line)) for row, line in lines))


def _without_spans(cell: Block | None) -> Block:
    if cell is None:
        return Block("cell")
    return cell._replace(attrs={name: cell.attrs[name] for name in cell.attrs if name not in ("rowspan", "colspan")})


def _split_long_cells(piece: Block, max_cost: float) -> Iterator[Block]:
    rows = [shorten_row(row, max_cost) for row in piece.children]
    yield piece._replace(children=tuple(rows)) if any(map(is_not, rows, piece.children)) else piece
    for row, short_row in zip(piece.children, rows, strict=True):
        for cell in (row.children or (row,)) if short_row is not row else ():
            for rest in islice(_split_runs(cell.runs, max_cost), 1, None) if _is_long_cell(cell, max_cost) else ():
                yield Block(
                    "paragraph", {"slice": SliceBounds(whole_block(row), 0)}, runs=rest, lines=row.lines, key=row.key
                )


def shorten_row(row: Block, max_cost: float = SLICE_COST) -> Block:
    """Return a table row, card, image or field. Texts that cost over twice `max_cost` are cut to the first slice."""
    whole_cells = row.children or (row,)
    if not any(_is_long_cell(cell, max_cost) for cell in whole_cells):
        return row
    cells = [
        cell._replace(runs=next(_split_runs(cell.runs, max_cost))) if _is_long_cell(cell, max_cost) else cell
        for cell in whole_cells
    ]
    return _replace_cells(row, cells) if row.children else cells[0]


def _replace_cells(row: Block, cells: Iterable[Block]) -> Block:
    attrs = {**row.attrs, "slice": SliceBounds(whole_block(row), 0, is_first=True, is_last=True)}
    return row._replace(children=tuple(cells), attrs=attrs)


def _is_long_cell(cell: Block, max_cost: float) -> bool:
    return text_cost(cell.runs) > 2 * max_cost


def _split_paragraph(block: Block, max_cost: float) -> Iterator[Block]:
    for runs in _split_runs(block.runs, max_cost):
        yield block._replace(runs=runs, attrs={**block.attrs, "slice": SliceBounds(block, 0)})


def _split_captioned(block: Block, max_cost: float) -> Iterator[Block]:
    if text_cost(block.runs) > 2 * max_cost:
        first, *other_slices = _split_runs(block.runs, max_cost)
        yield _slice_of(block._replace(runs=first), (), 0)
        for runs in other_slices:
            yield Block("paragraph", {"slice": SliceBounds(block, 0)}, runs=runs, lines=block.lines, key=block.key)
    yield from _split_children(block, max_cost)


def _split_runs(runs: Sequence[Run], max_cost: float) -> Iterator[tuple[Run, ...]]:
    """Yield inline text in consecutive slices that cost about `max_cost` to render."""
    slice_runs: list[Run] = []
    remaining_cost = int(max_cost)
    for run in runs:
        text, factor, start = run.text, 1 if run.text.isascii() else _NON_ASCII_COST, 0
        while (len(text) - start) * factor > remaining_cost and (
            ends := _find_break(text, start + remaining_cost // factor, _MAX_WORD_LENGTH // factor)
        ) is not None:
            slice_runs.append(run._replace(text=text[start : ends[0]]))
            yield tuple(slice_runs)
            slice_runs, remaining_cost, start = [], int(max_cost), ends[1]
        if start < len(text):
            slice_runs.append(run._replace(text=text[start:]) if start else run)
            remaining_cost = max(0, remaining_cost - (len(text) - start) * factor)
    if slice_runs:
        yield tuple(slice_runs)


def split_text(text: str) -> Iterator[str]:
    """Yield a long text in consecutive slices that cost about `SLICE_COST` to render."""
    for runs in _split_runs([Run(text)], SLICE_COST):
        yield runs[0].text


def _find_break(text: str, limit: int, longest_word: int) -> tuple[int, int] | None:
    """Return where to break a text after `limit` characters: the end of the first slice, and the start of the next. The
    break is at a space if one follows within `longest_word` characters. None if too little text follows."""
    end = text.find(" ", limit, limit + longest_word)
    if end >= 0:
        return end, end + 1
    if len(text) <= limit + longest_word:
        return None
    end = limit
    while end < len(text) and (combining(text[end]) or text[end] in _JOINERS):
        end += 1
    return end, end


def _split_code(block: Block, max_cost: float) -> Iterator[Block]:
    text, start, row_index, first_line = block.text, 0, 0, block.text_line
    factor = 1 if block.text.isascii() else _NON_ASCII_COST
    max_letters = int(max_cost) // factor
    continues_line = False
    while start <= len(text):
        end, rows, cost = start, 0, 0
        while (cost := cost + _ROW_COST // factor) < max_letters:
            line_end = text.find("\n", end, start + max_letters)
            if line_end < 0:
                break
            rows, cost, end = rows + 1, cost + line_end - end, line_end + 1
        if rows:
            text_part, next_start = text[start : end - 1], end
        elif (line_end := text.find("\n", start, start + 2 * max_letters)) >= 0:
            text_part, next_start, rows = text[start:line_end], line_end + 1, 1
        elif len(text) - start <= 2 * max_letters:
            text_part, next_start, rows = text[start:], len(text) + 1, 1
        else:
            _, next_start = _find_break(text, start + max_letters, _MAX_WORD_LENGTH // factor) or (
                0,
                start + max_letters,
            )
            text_part = text[start:next_start]
        lines = (first_line + row_index if row_index else block.lines[0], first_line + row_index + max(1, rows))
        bounds = SliceBounds(
            block, row_index, is_partial_line=continues_line or not rows, continues_line=continues_line
        )
        yield block._replace(text=text_part, attrs={**block.attrs, "slice": bounds}, lines=lines)
        continues_line, start, row_index = not rows, next_start, row_index + rows


def _split_formula(block: Block, max_cost: float) -> Iterator[Block]:
    start = rows = 0
    for match in _LINE_BREAK.finditer(block.text):
        rows += 1
        if match.end() - start + _ROW_COST * rows > max_cost:
            yield from _formula_slices(block, block.text[start : match.start()], max_cost)
            start, rows = match.end(), 0
    if start < len(block.text):
        yield from _formula_slices(block, block.text[start:], max_cost)


def _formula_slices(block: Block, text: str, max_cost: float) -> Iterator[Block]:
    for runs in _split_runs([Run(text)], max_cost):
        attrs = {**block.attrs, "slice": SliceBounds(block, 0)}
        yield block._replace(text=runs[0].text, attrs=attrs)


def _split_plain_text(block: Block, max_cost: float) -> Iterator[Block]:
    text = block.text or "\n".join(child.plain() for child in block.children)
    code_block = Block("code", NO_ATTRS, text=text, lines=block.lines, key=block.key)
    for piece in _split_code(code_block, max_cost):
        bounds = slice_bounds(piece)
        assert bounds is not None, "the block must be a slice of another block"
        yield piece._replace(kind=block.kind, attrs={**block.attrs, "slice": bounds._replace(whole_block=block)})


def _split_integration(block: Block, max_cost: float) -> Iterator[Block]:
    yield from _split_plain_text(block, max_cost) if block.text else _split_children(block, max_cost)


def _is_drawable(block: Block) -> bool:
    return is_diagram(block) and len(block.text) <= MAX_DIAGRAM_LENGTH and not block.children


def is_diagram(block: Block) -> bool:
    """Return whether a block is a Mermaid diagram."""
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
    "prompt": _split_plain_text,
    "integration": _split_integration,
    "math": _split_formula,
}


T = TypeVar("T")
_MAX_SOURCE_LINES = 60
"""Maximum number of lines of Markdown that are shown for a block that cannot be rendered."""
_MAX_SOURCE_LENGTH = 20_000
_log = logging.getLogger(__name__)


def run_guarded(compute: Callable[[], T], fallback: Callable[[], T]) -> T:
    """Return `compute()`. If it raises an error other than `MemoryError`, log the error and return `fallback()`."""
    try:
        return compute()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # A bug in the layout of a block.
        _log.exception("Could not show a block.")
    return fallback()


def block_source(source: str, block: Block) -> str:
    """Return the Markdown of a block. Empty if the page has no Markdown (`source` is empty)."""
    return suggestions.block_source(source, block) if source else ""


def render_failed_block(block: Block, source_of: Callable[[Block], str], styles: Styles, width: int) -> list[Line]:
    """Render a box with the kind and the Markdown of a block whose renderer failed. `source_of` returns the Markdown.
    Without Markdown, the box has the plain text."""
    text = run_guarded(lambda: source_of(block) or block.plain(), lambda: "")[:_MAX_SOURCE_LENGTH]
    rows = flatten_emoji(text).expandtabs(4).split("\n")
    lines = [Line(part) for row in rows[:_MAX_SOURCE_LINES] for part in wrap([StyledText(row, styles.text)], width - 4)]
    lines += [Line([decoration(styles.glyphs.ellipsis, styles.muted)])] * (len(rows) > _MAX_SOURCE_LINES)
    title = [StyledText(f"{styles.glyphs.no} {block.kind}, shown as source", styles.error)]
    reason = [decoration("a bug in Octavo", styles.muted)]
    framed = box(lines, width, styles, title=title, right=reason)
    for line in framed:
        line.block = whole_block(block)
    return framed
