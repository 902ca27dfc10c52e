"""Renders changed text, code, Markdown source and tables as two sides. Changed words and rows are marked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block, Run, TableColumn
from octavo.documents.diff_nodes import changed_run_attributes, describe_whitespace, shorten
from octavo.documents.diff_text import diff_runs
from octavo.tui.render.code import code_tokens, token_style, wrap_code
from octavo.tui.render.comparison import changes_with_context
from octavo.tui.render.deferred import Tokens
from octavo.tui.render.diff_sides import (
    SidePair,
    SideWidths,
    add_gutter,
    hang_indent,
    merge_replacements,
    note_sides,
    render_attribute_changes,
)
from octavo.tui.render.layout_context import LayoutContext, render_each_run
from octavo.tui.render.styled_lines import (
    Line,
    StyledText,
    cells,
    decoration,
    flatten_emoji,
    hidden_columns_text,
    pan_pieces,
    truncate,
    wrap,
)
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.tables import TableGrid, cell_pieces, fit_columns, row_lines, sample_rows
from octavo.tui.widgets.short_texts import plural


def render_word_changes(
    styles: Styles,
    old: Block,
    new: Block,
    change: model.TextChange,
    side_widths: SideWidths,
    prefixes: tuple[str, str] = ("", ""),
) -> list[SidePair]:
    """Render a changed text, and the changed attributes of its words, such as a link. `prefixes` are put before the
    first line of the old and the new side, such as a bullet."""
    sides: list[list[Line]] = []
    for block, prefix, op in ((old, prefixes[0], "delete"), (new, prefixes[1], "insert")):
        base = styles.heading(int(block.attrs.get("level", 2))) if block.kind == "heading" else None
        pieces = _mark_words(change.words, op, styles, base)
        rows = (
            wrap(pieces, side_widths.text_width - cells(prefix)) if any(piece.text.strip() for piece in pieces) else []
        )
        sides.append(hang_indent([Line(row, block) for row in rows], prefix, styles))
    settings = list(changed_run_attributes(change.words))
    old_text, new_text = ([line.text.rstrip() for line in side] for side in sides)
    is_same = old_text == new_text
    if is_same and "words" in change.kinds:
        settings.append(invisible_change(change.words))
    elif any(marks := [_undisplayed_character_names(change.words, op) for op in ("delete", "insert")]):
        settings.append(model.AttributeChange("invisible characters", *marks))
    is_same = is_same or "words" not in change.kinds
    signs = ("-", "+") if not is_same else ("~", "~") if change.kinds else (" ", " ")
    sides_with_gutter = [
        add_gutter(lines, sign, block.lines[0] + 1, styles, side_widths.side)
        for lines, sign, block in zip(
            ([] if side_widths.only_new else sides[0], sides[1]), signs, (old, new), strict=True
        )
    ]
    return [
        SidePair(sides_with_gutter[0], sides_with_gutter[1], is_same=is_same),
        *render_attribute_changes(settings, "", styles, side_widths, new),
    ]


def _undisplayed_character_names(words: Iterable[model.TextPart], op: str) -> str | None:
    """Return the names of undisplayed characters at the start of words that are deleted or inserted (`op`), or None."""
    texts = [word.run.text for word in words if word.op == op]
    marks = [mark for text in texts for mark in takewhile(lambda char: not flatten_emoji(char), text)]
    return ", ".join(unicodedata.name(mark).lower() for mark in marks) or None


def invisible_change(words: Iterable[model.TextPart]) -> model.AttributeChange:
    """Return a changed attribute, such as `invisible characters`, for changed words that look the same in both
    versions. Words of a link to a page look the same too, because the title of the page is shown instead."""
    changes = [word for word in words if word.op != "equal" and (word.old is None or word.old.text != word.run.text)]
    texts = ("".join(run.text for _, run in _words_of_side(changes, op)) for op in ("delete", "insert"))
    is_link = {word.run.kind for word in changes} == {"mention"}
    return model.AttributeChange(
        "words of the link" if is_link else "invisible characters",
        *(describe_whitespace(text) if not text.strip() else text for text in texts),
    )


def _words_of_side(words: Iterable[model.TextPart], op: str) -> Iterator[tuple[model.TextPart, Run]]:
    for word in words:
        if word.op == op or word.op not in ("insert", "delete"):
            yield word, word.old or word.run if op == "delete" else word.run


def _word_styles(styles: Styles) -> dict[str, Style]:
    in_place = Style(reverse=True) if styles.is_monochrome else styles.cursor
    return {"delete": styles.remove_word, "insert": styles.add_word, "format": in_place, "link": in_place}


def _mark_words(
    words: Iterable[model.TextPart], op: str, styles: Styles, base: Style | None = None
) -> list[StyledText]:
    pieces: list[StyledText] = []
    style_by_op = _word_styles(styles)
    side = list(_words_of_side(words, op))
    for (word, _), part in zip(side, render_each_run([run for _, run in side], styles, base), strict=True):
        style = style_by_op.get(word.op)
        pieces += part if style is None else [piece._replace(style=piece.style + style) for piece in part]
    return pieces


def render_code_change(
    context: LayoutContext,
    old: Block,
    new: Block,
    lines: Sequence[model.LineChange],
    side_widths: SideWidths,
    slice_number: int = 0,
) -> list[SidePair]:
    """Render changed code with unchanged lines around it. `slice_number` counts from 1, or is 0 without slices."""
    styles, tokens = context.styles, [code_tokens(context, block) or [] for block in (old, new)]
    old_lines, new_lines = (
        _muted_line(_code_title(block), block, block.lines[0] + 1, styles, side_widths) for block in (old, new)
    )
    pairs = [SidePair(old_lines, new_lines, is_same=True)] if slice_number < 2 else []
    for line in lines if slice_number else changes_with_context(lines):
        if not line.omitted_count:
            pairs += _render_line(line, styles, side_widths, (old, new), tokens)
            continue
        label = f"{styles.glyphs.ellipsis} {plural(line.omitted_count, 'unchanged line')}"
        old_lines, new_lines = (_muted_line(label, block, None, styles, side_widths) for block in (old, new))
        pairs.append(SidePair(old_lines, new_lines, is_same=True))
    return merge_replacements(pairs, side_widths)


def _code_title(block: Block) -> str:
    return str(block.attrs.get("title") or block.attrs.get("language") or block.kind)


def _muted_line(
    text: str, block: Block | None, number: int | None, styles: Styles, side_widths: SideWidths
) -> list[Line]:
    pieces = truncate([decoration(text, styles.muted)], side_widths.text_width, styles.glyphs.ellipsis)
    return add_gutter([Line(pieces, block)], " ", number, styles, side_widths.side)


def render_source_change(lines: Sequence[model.LineChange], styles: Styles, side_widths: SideWidths) -> list[SidePair]:
    """Render the lines of one hunk of a source diff."""
    return merge_replacements(
        (pair for line in lines for pair in _render_line(line, styles, side_widths, (None, None), ([], []))),
        side_widths,
    )


def _render_line(
    line: model.LineChange,
    styles: Styles,
    side_widths: SideWidths,
    blocks: tuple[Block | None, Block | None],
    tokens: Sequence[Tokens],
) -> list[SidePair]:
    style_by_op = _word_styles(styles)

    def side(sign: str, position: int) -> list[Line]:
        if side_widths.only_new and not position:
            return []
        number, text, op = ((line.old_number, line.old, "delete"), (line.new_number, line.new, "insert"))[position]
        words = [
            (PLAIN if word.op == "equal" else style_by_op["format" if sign == "~" else word.op], run.text)
            for word, run in _words_of_side(line.words, op)
        ]
        row = tokens[position][number] if number < len(tokens[position]) else []
        pieces = _marked_code(
            row if "".join(line_pair for _, line_pair in row) == text else [("", text)], words, styles
        )
        block = blocks[position]
        first = block.text_line + 1 if block is not None else 1
        rows = (
            wrap(pieces, side_widths.text_width) if block is None else wrap_code(pieces, side_widths.text_width, styles)
        )
        lines = [Line(line_pair, block) for line_pair in rows]
        background = styles.panel if block is not None else PLAIN
        return add_gutter(lines, sign, first + number, styles, side_widths.side, background)

    if line.op == "equal":
        return [SidePair(side(" ", 0), side(" ", 1), is_same=True)]
    if line.op == "change" and _displayed_text(line.old) == _displayed_text(line.new):
        line_pair = SidePair(side("~", 0), side("~", 1), is_same=True)
        for pair in render_attribute_changes([invisible_change(line.words)], "", styles, side_widths, blocks[1]):
            # Add the note about the invisible change to the pair of this line, so that they stay together.
            line_pair.old += pair.old if side_widths.is_split else []
            line_pair.new += pair.new if side_widths.is_split else [*pair.old, *pair.new]
        return [line_pair]
    line_pair = SidePair()
    if line.op in ("delete", "change"):
        line_pair.old = side("-", 0)
    if line.op in ("insert", "change"):
        line_pair.new = side("+", 1)
    return [line_pair]


def _displayed_text(text: str) -> str:
    return flatten_emoji(text.expandtabs(4)).rstrip()


def _marked_code(
    tokens: Sequence[tuple[str, str]], words: Sequence[tuple[Style, str]], styles: Styles
) -> list[StyledText]:
    """Return a line of code with the syntax colors of `tokens` (kind, text) and the styles of `words` (style, text)."""
    marks = iter(words)
    mark, marked_text = next(marks, (PLAIN, ""))
    pieces: list[StyledText] = []
    column = 0
    for kind, text in tokens:
        while text:
            length = min(len(text), len(marked_text)) or len(text)
            part, text, marked_text = text[:length], text[length:], marked_text[length:]
            expanded_text = (" " * column + part).expandtabs(4)[column:]
            column += len(expanded_text)
            pieces.append(StyledText(flatten_emoji(expanded_text), token_style(kind, styles) + mark))
            if not marked_text:
                mark, marked_text = next(marks, (PLAIN, ""))
    return pieces or [StyledText("", styles.text)]


_MAX_COLUMNS = 40
_NO_COLUMN = TableColumn()

Cells = list[list[StyledText]]


@dataclass(frozen=True)
class _ChangedRow:
    old: Cells | None
    new: Cells | None
    old_block: Block
    new_block: Block
    signs: tuple[str, str] = ("-", "+")
    """Signs in the gutter of the old and new row, such as `-` and `+`. If they are equal, the rows look the same."""
    numbers: tuple[int | None, int | None] = (None, None)


def render_table_change(
    context: LayoutContext,
    old: Block,
    new: Block,
    table: model.TableChange,
    side_widths: SideWidths,
    slice_number: int = 0,
) -> list[SidePair]:
    """Render the changed rows of a table. `slice_number` is counted from 1, and 0 means that the change is not split.
    The table header is only in the first slice."""
    styles, text_width = context.styles, side_widths.text_width
    column_pairs = table.columns[:_MAX_COLUMNS]
    titles = [diff_runs(_column_title(pair.old), _column_title(pair.new)).words for pair in column_pairs]
    old_titles, new_titles = (
        [_mark_words(title_words, op, styles, styles.strong) for title_words in titles] for op in ("delete", "insert")
    )
    is_continued = slice_number > 1
    is_same = list(map(_joined_text, old_titles)) == list(map(_joined_text, new_titles))
    header = _ChangedRow(
        old_titles, new_titles, old, new, (" ", " ") if is_same else ("-", "+"), (old.lines[0] + 1, new.lines[0] + 1)
    )
    rows, unshown_settings = _changed_rows(table, column_pairs, styles)
    body = [cells for row in rows if isinstance(row, _ChangedRow) for cells in (row.old, row.new) if cells is not None]
    aligns = [(pair.new or pair.old or _NO_COLUMN).align for pair in column_pairs]

    def column_widths(new: Block) -> list[int]:
        old_indexes, new_indexes = [pair.old_index for pair in column_pairs], [pair.new_index for pair in column_pairs]
        rows = [(row, old_indexes) for row in sample_rows(old).children] + [
            (row, new_indexes) for row in sample_rows(new).children
        ]
        all_cells = [_row_cells(row, indexes, column_pairs, styles) for row, indexes in rows] if slice_number else body
        return fit_columns([old_titles, new_titles], all_cells, aligns, text_width).widths

    widths = context.shared_by_slices("changed", new, column_widths, text_width) if slice_number else column_widths(new)
    grid = TableGrid([old_titles, new_titles], body, aligns, widths)
    overflow = max(0, grid.width - text_width)
    pan = context.view_state.pan_offset(new.key, overflow)

    def side(cells: Cells | None, block: Block, sign: str, number: int | None) -> list[Line]:
        lines = row_lines(cells, grid) if cells is not None else []
        panned = (pan_pieces(line, pan, text_width, styles.glyphs.ellipsis, at_words=True) for line in lines)
        return add_gutter([Line(pieces, block) for pieces in panned], sign, number, styles, side_widths.side)

    def pair_of_row(row: _ChangedRow) -> SidePair:
        old_lines = side(row.old, row.old_block, row.signs[0], row.numbers[0])
        new_lines = side(row.new, row.new_block, row.signs[1], row.numbers[1])
        return SidePair(old_lines, new_lines, is_same=row.signs[0] == row.signs[1])

    def on_both_sides(piece: StyledText) -> SidePair:
        pieces = truncate([piece], text_width, styles.glyphs.ellipsis)
        lines = [add_gutter([Line(pieces, block)], " ", None, styles, side_widths.side) for block in (old, new)]
        return SidePair(lines[0], lines[1], is_same=True)

    row_rule = on_both_sides(decoration(styles.glyphs.horizontal * min(text_width, grid.width), styles.line))
    side_pairs = [pair_of_row(header), row_rule] if (any(old_titles) or any(new_titles)) and not is_continued else []
    # If any row has several lines, horizontal rules separate the rows.
    is_tall = any(len(row_lines(cells, grid)) > 1 for cells in body)
    for index, row in enumerate(rows):
        if isinstance(row, _ChangedRow):
            is_below_row = isinstance(rows[index - 1], _ChangedRow) if index else is_continued
            side_pairs += [row_rule] if is_tall and is_below_row else []
            side_pairs.append(pair_of_row(row))
        else:
            label = f"{styles.glyphs.ellipsis} {plural(row, 'unchanged row')}"
            side_pairs.append(on_both_sides(decoration(label, styles.muted)))
    if overflow:
        side_pairs.append(
            on_both_sides(
                decoration(
                    hidden_columns_text(*grid.hidden_column_counts(pan, text_width), styles.glyphs).rjust(text_width),
                    styles.muted,
                )
            )
        )
    return side_pairs + _table_notes(table, unshown_settings, new, styles, side_widths)


def _table_notes(
    table: model.TableChange,
    settings: Iterable[model.AttributeChange],
    new: Block,
    styles: Styles,
    side_widths: SideWidths,
) -> list[SidePair]:
    pairs = render_attribute_changes(dict.fromkeys(settings), "", styles, side_widths, new)
    pairs += note_sides(
        dict.fromkeys(entry.note for entry in table.rows if isinstance(entry, model.RestructuredBlocks)),
        styles,
        side_widths,
        new,
    )
    moves = [entry for entry in table.rows if isinstance(entry, model.MovedBlock)]
    # A moved row occurs at its old and at its new position, so count only the new positions, if there are any.
    moved_count = sum(entry.is_arrival for entry in moves) or len(moves)
    rows_moved, position_word = ("1 row", "position") if moved_count == 1 else (f"{moved_count} rows", "positions")
    text = (
        f"{rows_moved} moved. {styles.glyphs.arrow} marks the old {position_word} (faint) and the new {position_word}."
    )
    return pairs + note_sides([text] * bool(moved_count), styles, side_widths, new)


def _changed_rows(
    table: model.TableChange, pairs: Sequence[model.ColumnPair], styles: Styles
) -> tuple[list[_ChangedRow | int], list[model.AttributeChange]]:
    """Return changed rows, with the count of each run of unchanged rows, and changed attributes that no cell shows."""
    rows: list[_ChangedRow | int] = []
    unshown_settings: list[model.AttributeChange] = []
    old_indexes, new_indexes = [pair.old_index for pair in pairs], [pair.new_index for pair in pairs]
    for table_entry in table.rows:
        # Rows that were split or joined are compared as a single row.
        entry = table_entry.entries[0] if isinstance(table_entry, model.RestructuredBlocks) else table_entry
        match entry:
            case model.UnchangedBlocks(new=same):
                rows.append(len(same))
            case model.AddedBlock(block=row):
                rows.append(_ChangedRow(None, _row_cells(row, new_indexes, pairs, styles), row, row))
            case model.RemovedBlock(block=row):
                rows.append(_ChangedRow(_row_cells(row, old_indexes, pairs, styles), None, row, row))
            case model.MovedBlock(old=row, is_arrival=False):
                faint_cells = [
                    [StyledText("".join(piece.text for piece in cell), styles.muted)]
                    for cell in _row_cells(row, old_indexes, pairs, styles)
                ]
                rows.append(_ChangedRow(faint_cells, None, row, row, (">", "")))
            case (
                model.ChangedBlock(old=old, new=new, content_change=model.RowChange(cells=cells))
                | model.MovedBlock(old=old, new=new, content_change=model.RowChange(cells=cells))
            ):
                cells = cells[:_MAX_COLUMNS]
                sides = [
                    [_cell_side(cell, pair, op, styles) for cell, pair in zip(cells, pairs, strict=False)]
                    for op in ("delete", "insert")
                ]
                is_same = list(map(_joined_text, sides[0])) == list(map(_joined_text, sides[1]))
                has_words = any(cell.words is not None and "words" in cell.words.kinds for cell in cells)
                is_same = is_same or not (has_words or any(cell.settings for cell in cells))
                rows.append(_ChangedRow(sides[0], sides[1], old, new, ("~", "~") if is_same else ("-", "+")))
                unshown_settings += _row_attribute_changes(entry, cells, is_same=is_same)
            case model.MovedBlock(new=row):
                rows.append(_ChangedRow(None, _row_cells(row, new_indexes, pairs, styles), row, row, ("", ">")))
    return rows, unshown_settings


def _row_attribute_changes(
    entry: model.ChangedBlock | model.MovedBlock, cells: Sequence[model.CellChange], *, is_same: bool
) -> Iterator[model.AttributeChange]:
    """Yield attribute changes that the cells of a row do not show. `is_same` is True if both sides look the same."""
    title = shorten(next((child.plain() for child in entry.new.children if child.plain()), ""))
    name = f"{entry.new.kind} “{title}” " if title else f"{entry.new.kind} "
    for each in (*entry.settings, *(attribute for cell in cells for attribute in cell.settings)):
        # A changed `value`, such as a rating, is left out if the cell shows it: the two sides look different.
        if is_same or each.name != "value":
            yield replace(each, name=name + each.name)
    # A cell may have the same link as its card. The change of the link is then yielded above.
    row_changes = {(each.old, each.new) for each in entry.settings}
    for cell in cells:
        if cell.words is not None:
            changes = changed_run_attributes(cell.words.words)
            yield from (each for each in changes if (each.old, each.new) not in row_changes)
            if is_same and "words" in cell.words.kinds:
                yield invisible_change(cell.words.words)


def _column_title(column: TableColumn | None) -> tuple[Run, ...]:
    return column.title if column is not None else ()


def _row_cells(row: Block, indexes: Sequence[int | None], pairs: Sequence[model.ColumnPair], styles: Styles) -> Cells:
    result = []
    for index, pair in zip(indexes, pairs, strict=True):
        cell = row.children[index] if index is not None and index < len(row.children) else None
        result.append(cell_pieces(cell, pair.new or pair.old or _NO_COLUMN, styles))
    return result


def _cell_side(cell: model.CellChange, pair: model.ColumnPair, op: str, styles: Styles) -> list[StyledText]:
    side, column = (cell.old, pair.old) if op == "delete" else (cell.new, pair.new)
    if side is None:
        return []
    if cell.words is not None:
        return _mark_words(cell.words.words, op, styles)
    pieces = cell_pieces(side, column or _NO_COLUMN, styles)
    style = _word_styles(styles)[op]
    return [piece._replace(style=piece.style + style) for piece in pieces] if cell.settings else pieces


def _joined_text(pieces: Iterable[StyledText]) -> str:
    return "".join(piece.text for piece in pieces).rstrip()
