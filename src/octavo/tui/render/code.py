"""Rendering of code blocks and prompts. Wide code scrolls sideways, unless the page says that its lines wrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import first_index, has_end, has_start, slice_bounds, whole_block
from octavo.tui.render.deferred import Tokens, code_query
from octavo.tui.render.layout_context import LayoutContext, ViewState, superscript
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    box,
    cells,
    crop,
    decoration,
    fit_title,
    flatten_emoji,
    hidden_columns_text,
    indent,
    pan_pieces,
    width_of,
    wrap,
    wrap_text,
)
from octavo.tui.render.styles import Styles
from octavo.tui.widgets.short_texts import plural

COLLAPSED_LINES = 10
"""Number of visible lines of a collapsed code block."""
_MEASURED_ROWS = 50


class CodeSize(NamedTuple):
    """Number and widths of the lines in a code block."""

    row_count: int
    longest_width: int
    """Width in cells of the longest line."""
    note_widths: Mapping[int, int]
    """Width in cells of each line that has a note, by line index. The mark of the note is not included."""


def render_code(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a code block in a box with its title and language. Empty for a slice of which no line is visible."""
    styles, attrs, bounds = context.styles, block.attrs, slice_bounds(block)
    rows = flatten_emoji(block.text).expandtabs(4).split("\n")
    first_row = first_index(block)
    whole_size = (
        CodeSize(len(rows), 0, {})
        if bounds is None
        else context.shared_by_slices("size", bounds.whole_block, _code_size)
    )
    row_count = whole_size.row_count
    toggle = None
    is_collapsed = is_code_collapsed(block, row_count, context.view_state)
    if attrs.get("expandable") and row_count > COLLAPSED_LINES + 2:
        toggle = Clickable("fold", block.key)
        rows = rows[: max(0, COLLAPSED_LINES - first_row)] if is_collapsed else rows
        if not rows:
            return []
    hidden_count = row_count - COLLAPSED_LINES if is_collapsed else 0
    gutter = len(str(row_count)) + 1 if attrs.get("numbers") else 0
    # A line in several slices is too long to be scrolled, so it is wrapped.
    is_line_part = bounds is not None and bounds.is_partial_line
    wraps = (bool(attrs.get("wrap")) and not context.ignores_code_wrap) or is_line_part
    notes = {int(line) - first_row: _note_mark(str(label), styles) for line, label in attrs.get("notes") or ()}
    note_widths = (
        whole_size.note_widths
        if bounds is not None
        else {line: cells(rows[line]) for line in notes if 0 <= line < len(rows)}
    )
    widths_with_notes = [note_widths.get(first_row + line, 0) + cells(note.text) for line, note in notes.items()]
    longest_width = max(whole_size.longest_width, *map(cells, rows), *widths_with_notes)
    needed_width, max_width = longest_width + gutter + 4, context.max_width(width)
    # If lines wrap even in the widest box, the box is only as wide as the text around it.
    box_width = width if wraps and needed_width > max_width else max(width, min(max_width, needed_width))
    inner_width = box_width - 4 - gutter
    overflow = 0 if wraps else max(0, longest_width - inner_width)
    pan = 0 if is_line_part else context.view_state.pan_offset(block.key, overflow)
    language = str(attrs.get("language") or "")
    # Not for a slice of a line, because `code_tokens` returns the tokens of whole lines.
    tokens = code_tokens(context, block) if not is_line_part else None
    if tokens is not None and "\t" in block.text:
        tokens = _without_tabs(tokens)
    marked_numbers = frozenset(attrs.get("highlighted") or ())
    continues_line = bounds is not None and bounds.continues_line
    lines: list[Line] = []
    for number, row in enumerate(rows, first_row):
        pieces = [StyledText(row, styles.text)]
        if tokens and number < len(tokens):
            pieces = [
                StyledText(flatten_emoji(text), token_style(kind, styles)) for kind, text in tokens[number] if text
            ]
        if number - first_row in notes:
            pieces.append(notes[number - first_row])
        parts = (
            wrap_code(pieces, inner_width, styles)
            if wraps
            else [pan_pieces(pieces, pan, inner_width, styles.glyphs.ellipsis) if overflow else pieces]
        )
        for index, part in enumerate(parts):
            number_pieces = []
            if gutter:
                is_row_start = index == 0 and not (continues_line and number == first_row)
                mark = str(number + 1).rjust(gutter - 1) + " " if is_row_start else " " * gutter
                number_pieces.append(decoration(mark, styles.muted))
            line = Line(number_pieces + part)
            if number in marked_numbers:
                _highlight(line, styles, box_width - 4)
            lines.append(line)
    title = _title_pieces(block, styles)
    right = [decoration(language, styles.muted)] if language and title else []
    if not title and (language or not block.text.strip()):
        title = [decoration(language or "empty", styles.muted)]
    title, lines = fit_title(title, lines, box_width)
    return box(
        lines,
        box_width,
        styles,
        title=title,
        right=right,
        foot=_footer_pieces(toggle, hidden_count, overflow, pan, styles, box_width - 8),
        background=styles.surface,
        edges=(has_start(block), has_end(block) or bool(hidden_count)),
    )


def is_code_collapsed(block: Block, row_count: int, view_state: ViewState) -> bool:
    """Return True if a code block with `row_count` lines shows only the first `COLLAPSED_LINES`."""
    return bool(block.attrs.get("expandable")) and row_count > COLLAPSED_LINES + 2 and not view_state.is_expanded(block)


def _code_size(block: Block) -> CodeSize:
    """Return the line count of a code block, the width of its widest line, and the width of each line with a note."""
    rows = block.text.expandtabs(4).split("\n")
    long_rows = nlargest(_MEASURED_ROWS, rows, key=len if block.text.isascii() else _estimated_cell_count)
    noted_rows = [int(line) for line, _ in block.attrs.get("notes") or () if 0 <= int(line) < len(rows)]
    note_widths = {line: _cell_count(rows[line]) for line in noted_rows}
    return CodeSize(len(rows), max(map(_cell_count, long_rows)), note_widths)


def _estimated_cell_count(row: str) -> int:
    return (len(row) + len(row.encode(errors="replace"))) // 2


def _cell_count(row: str) -> int:
    return cells(flatten_emoji(row))


def _note_mark(label: str, styles: Styles) -> StyledText:
    mark = f" [{label}]" if styles.ascii or not label.isdigit() else f" {superscript(label)}"
    return decoration(mark, styles.accent, Clickable("note", label))


def wrap_code(pieces: list[StyledText], width: int, styles: Styles) -> list[list[StyledText]]:
    """Wrap one line of code into lines of at most `width` cells. Continuation lines are indented by two more cells."""
    if width_of(pieces) <= width:
        return [pieces]
    row = "".join([piece.text for piece in pieces])
    leading_spaces = len(row) - len(row.lstrip(" "))
    indent = min(leading_spaces, width // 2)
    # Wrapping would drop the indent before a long first word.
    first, *rest = wrap(crop(pieces, leading_spaces, width_of(pieces)), width - indent - 2)
    sign = [decoration(" " * indent), decoration(f"{styles.glyphs.reply} ", styles.muted)]
    return [[*crop(pieces, 0, indent), *first], *(sign + part for part in rest)]


def code_tokens(context: LayoutContext, block: Block) -> Tokens | None:
    """Return the syntax tokens of each line in a code block. None if they are not loaded yet, if the language is not
    highlighted, or if the styles have no colors."""
    if context.styles.is_monochrome or context.deferred is None or context.deferred.tokens is None:
        return None
    code = code_query(str(block.attrs.get("language") or ""), whole_block(block).text)
    return context.deferred.tokens.get(code) if code is not None else None


def _title_pieces(block: Block, styles: Styles) -> Sequence[StyledText]:
    title = str(block.attrs.get("title") or "")
    if not has_start(block):
        return []
    if block.attrs.get("source"):
        title = "Shown as source: too large or too deeply nested to format"
    return [StyledText(" ".join(title.split()), styles.strong)] if title.strip() else []


def _footer_pieces(
    toggle: Clickable | None, hidden_count: int, overflow: int, pan: int, styles: Styles, available_width: int
) -> list[StyledText]:
    glyphs = styles.glyphs
    note = [decoration(hidden_columns_text(pan, overflow - pan, glyphs), styles.muted)] if overflow else []
    if toggle is None:
        return note
    label = f"{glyphs.closed} {plural(hidden_count, 'more line')}" if hidden_count else f"{glyphs.opened} fewer lines"
    lines = [decoration(label, styles.accent, toggle)]
    pieces = [*lines, decoration(f" {glyphs.separator} ", styles.muted), *note] if note else lines
    return pieces if width_of(pieces) <= available_width else lines


def _highlight(line: Line, styles: Styles, width: int) -> None:
    style = Style(bold=True) if styles.is_monochrome else styles.cursor
    blank = width - width_of(line.pieces)
    pieces = [
        StyledText(text, piece_style + style, clickable, is_decoration, hidden)
        for text, piece_style, clickable, is_decoration, hidden in line.pieces
    ]
    line.pieces = [*pieces, decoration(" " * blank, style)] if blank > 0 else pieces


def token_style(kind: str, styles: Styles) -> Style:
    match kind:
        case "keyword":
            return styles.accent
        case "string" | "added":
            return styles.success
        case "number":
            return styles.warning
        case "comment":
            return styles.muted + Style(italic=True)
        case "name" | "heading":
            return styles.strong
        case "removed":
            return styles.error
    return styles.text


def _without_tabs(tokens: Tokens) -> Tokens:
    result: Tokens = []
    for row in tokens:
        column = 0
        line = []
        for kind, text in row:
            expanded = (" " * column + text).expandtabs(4)[column:] if "\t" in text else text
            column += len(expanded)
            line.append((kind, expanded))
        result.append(line)
    return result


def render_prompt(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the description and the text of a prompt block. If it is collapsed, leave out the text, or its end."""
    styles, glyphs = context.styles, context.styles.glyphs
    description = flatten_emoji(" ".join(str(block.attrs.get("description") or "Prompt").split()))
    is_open = context.view_state.expanded.get(block.key, block.attrs.get("expanded", "partial") != "hidden")
    sign = glyphs.opened if is_open else glyphs.closed
    title_lines = wrap_text(description, styles.strong, width - 2) if has_start(block) else []

    def head(*, is_whole: bool) -> list[Line]:
        toggle = decoration(f"{sign} ", styles.accent, Clickable("fold", block.key, int(is_whole)))
        return indent(title_lines, [toggle], [decoration("  ")])

    if not is_open:
        return head(is_whole=False)
    bounds = slice_bounds(block)
    text = (block.text or "\n".join(child.plain() for child in block.children)).expandtabs(4)
    rows = [Line(part) for row in text.split("\n") for part in wrap([StyledText(row, styles.text)], width - 4)]
    if block.attrs.get("expanded", "partial") == "partial" and block.key not in context.view_state.expanded:
        if not has_start(block):
            return []
        later_rows = (
            context.shared_by_slices("rows", bounds.whole_block, _row_count) - text.count("\n") - 1
            if bounds is not None
            else 0
        )
        hidden_count = len(rows) - COLLAPSED_LINES + later_rows
        if hidden_count > 0:
            label = f"{glyphs.closed} {plural(hidden_count, 'more line')}"
            foot = [decoration(label, styles.accent, Clickable("fold", block.key))]
            return [
                *head(is_whole=False),
                *box(rows[:COLLAPSED_LINES], width, styles, foot=foot, background=styles.surface),
            ]
    body = box(rows, width, styles, background=styles.surface, edges=(has_start(block), has_end(block)))
    return [*head(is_whole=True), *body]


def _row_count(block: Block) -> int:
    return sum(child.plain().count("\n") + 1 for child in block.children)
