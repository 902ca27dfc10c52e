"""Rendering of blocks with child blocks: hints, tabs, steps, columns, expandables and updates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import slice_bounds, whole_block
from octavo.tui.render.icons import icon_sign
from octavo.tui.render.inline import label_with_icon, non_breaking
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.prose import is_right_to_left
from octavo.tui.render.styled_lines import (
    BlockCells,
    Clickable,
    Line,
    Piece,
    SplitLine,
    block_cells,
    cells,
    flatten_emoji,
    indent,
    pad,
    rule,
    shift_cells,
    truncate,
    width_of,
    with_background,
)
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import wrap

NARROWEST_COLUMN, COLUMN_GAP = 30, 3
_LEAST_COLUMN_WIDTH = 20
"""Minimum width of a column next to wider ones, in cells. If the average width of the columns is below
`NARROWEST_COLUMN`, the columns are stacked."""


def render_hint(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a hint on its own background, with a bar in its color, its sign, and its title or kind."""
    styles = context.styles
    style, sign, name = styles.hint(str(block.attrs.get("style") or "info"))
    sign = icon_sign(str(block.attrs.get("icon") or ""), ascii=styles.ascii) or sign
    children = block.children
    bar = [Piece(styles.glyphs.bar + " ", style + styles.surface, None, True)]
    inner = width - 3
    cut = slice_bounds(block)
    head: list[Line] = []
    if cut is not None and not cut.is_first:
        pass
    elif children and _is_title(children):
        aside = cells(sign) + 1
        head = context.text_lines(children[0].runs, inner - aside, style + Style(bold=True))
        for line in head:
            line.block = children[0]
        head = _with_sign(head, Piece(sign, style + Style(bold=True), None, True), inner, is_right_to_left(children[0]))
        children = children[1:]
    else:
        head = [Line([Piece(name, style + Style(bold=True), None, True)])]
        from_right = bool(children) and is_right_to_left(children[0])
        head = _with_sign(head, Piece(sign, style + Style(bold=True), None, True), inner, from_right)
    tinted, context.has_background = context.has_background, True
    body = context.flow(children, inner, above=cut.previous if cut is not None else None)
    context.has_background = tinted
    if tinted:  # The outer hint adds the background.
        return [line.prepend(bar) for line in [*head, *body]]
    out = []
    for line in [*head, *body]:
        out.append(
            Line([*bar, *pad(with_background(styles.surface, line.pieces), width - 2, styles.surface)], line.block)
        )
    return out


def _is_title(children: Sequence[Block]) -> bool:
    """Return whether the first block of a hint is its title: a heading, or a bold paragraph above other blocks."""
    first = children[0]
    if first.kind != "paragraph" or len(children) == 1:
        return first.kind == "heading"
    runs = [run for run in first.runs if run.text.strip()]
    return bool(runs) and all(run.kind == "text" and "bold" in run.marks for run in runs)


def _with_sign(head: list[Line], sign: Piece, width: int, from_right: bool) -> list[Line]:
    """Return the title lines with a sign before them, or after them for right-to-left text."""
    aside = cells(sign.text) + 1
    if not from_right:
        return indent(head, [sign, Piece(" ", PLAIN, None, True)], [Piece(" " * aside, PLAIN, None, True)])
    for number, line in enumerate(head):
        beside = [Piece(" ", PLAIN, None, True), sign] if not number else [Piece(" " * aside, PLAIN, None, True)]
        line.pieces = [*pad(line.pieces, width - aside, PLAIN, "right"), *beside]
    return head


def render_tabs(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the titles of all tabs and the content of the selected tab."""
    styles, glyphs = context.styles, context.styles.glyphs
    if not block.children:
        return []
    chosen = context.folds.chosen_tab(block)
    cut = slice_bounds(block)
    body = context.flow_children(block.children[chosen], width, is_open=True)
    body += [rule(width, styles)] if cut is None or cut.is_last else []
    if cut is not None and not cut.is_first:
        return body
    titles = []
    for index, tab in enumerate(block.children):
        title = " ".join(str(tab.attrs.get("title") or f"Tab {index + 1}").split())
        label = label_with_icon(tab.attrs.get("icon"), title, styles)
        titles.append("".join(piece.text for piece in truncate([Piece(label)], width - 2, glyphs.more)))
    one_row = sum(cells(title) + 2 for title in titles) <= width
    rows: list[list[Piece]] = [[]]
    under: list[Piece] = []
    for index, title in enumerate(titles):
        active = index == chosen
        # With several rows of titles there is no underline, so brackets mark the selected tab.
        text = f"[{title}]" if active and not one_row else f" {title} "
        piece = Piece(text, styles.strong if active else styles.muted, Clickable("tab", block.key, index))
        if rows[-1] and width_of([*rows[-1], piece]) > width:
            rows.append([])
        rows[-1].append(piece)
        line = glyphs.heavy if active and one_row else glyphs.across
        under.append(Piece(line * cells(text), styles.accent if active else styles.line, None, True))
    count = f"{chosen + 1} of {len(block.children)}"
    wide = width_of(rows[-1])
    if len(block.children) > 1 and wide + len(count) + 1 <= width:
        rows[-1].append(Piece(count.rjust(width - wide), styles.muted, None, True))
    out = [Line(names) for names in rows]
    if one_row:
        out.append(Line([*under, Piece(glyphs.across * (width - width_of(under)), styles.line, None, True)]))
    else:
        out.append(rule(width, styles))
    return [*out, *body]


def render_stepper(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render numbered steps next to a vertical line."""
    styles, glyphs = context.styles, context.styles.glyphs
    cut, count = slice_bounds(block), len(whole_block(block).children)
    digits = len(str(count))
    out: list[Line] = []
    blank = " " * (digits - 1)
    for number, step in enumerate(block.children, 1 + (cut.start if cut is not None else 0)):
        children = step.children
        step_cut = slice_bounds(step)
        goes_on = step_cut is not None and not step_cut.is_first
        head: list[Line] = [] if goes_on else [Line([])]
        inner = width - digits - 4
        if goes_on:
            pass
        elif children and children[0].kind == "heading":
            head = context.text_lines(children[0].runs, inner, styles.strong)
            for line in head:
                line.block = children[0]
                if is_right_to_left(children[0]):
                    line.pieces = pad(line.pieces, inner, PLAIN, "right")
            children = children[1:]
        elif children and children[0].kind == "paragraph":
            head = context.flow(children[:1], inner)
            children = children[1:]
        body = context.flow(children, inner, above=step_cut.previous if step_cut is not None else None, is_open=True)
        lines = [*head, *([Line([])] if body and not goes_on else []), *body]
        last = number == count
        mark = [Piece(f" {str(number).rjust(digits)} ", styles.button, None, True), Piece(" ", PLAIN, None, True)]
        side = " " if last else glyphs.down
        rail = [Piece(f" {blank}{side}  ", styles.line, None, True)]
        out += indent(lines, rail if goes_on else mark, rail)
        if not last and (step_cut is None or step_cut.is_last):
            out.append(Line([Piece(f" {blank}{side}", styles.line, None, True)]))
    return out


def render_columns(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render columns side by side if they fit, else one below the other."""
    count = len(block.children)
    if not count:
        return []
    # Columns side by side are rendered in one step, so the slices of long columns are placed one below the other.
    if slice_bounds(block) is not None:
        return context.flow([child for column in block.children for child in column.children], width, is_open=True)
    room = max(width, min(context.max_width(width), 100))
    shares = [float(column.attrs.get("width") or 0) for column in block.children]
    rest = max(0.0, 100 - sum(shares)) / max(1, shares.count(0.0))
    shares = [share or rest or 100 / count for share in shares]
    if width >= NARROWEST_COLUMN * count + COLUMN_GAP * (count - 1):
        room = width
    free = room - COLUMN_GAP * (count - 1)
    if count == 1 or free // count < NARROWEST_COLUMN - 2:
        return context.flow([child for column in block.children for child in column.children], width, is_open=True)
    widths = _column_widths(shares, free)
    sides = [context.flow(column.children, wide) for column, wide in zip(block.children, widths, strict=True)]
    out: list[Line] = []
    for number in range(max(map(len, sides))):
        pieces: list[Piece] = []
        parts: list[BlockCells] = []
        for at, lines in enumerate(sides):
            if at:
                pieces.append(Piece(" " * COLUMN_GAP, PLAIN, None, True))
            if number < len(lines):
                parts += shift_cells(block_cells(lines[number], widths[at]), sum(widths[:at]) + COLUMN_GAP * at)
                pieces += lines[number].pieces
                if at + 1 < count:
                    pieces = pad(pieces, sum(widths[: at + 1]) + COLUMN_GAP * at)
            elif at + 1 < count:
                pieces.append(Piece(" " * widths[at], PLAIN, None, True))
        out.append(SplitLine(pieces, None, None, tuple(parts)))
    return out


def _column_widths(shares: Sequence[float], free: int) -> list[int]:
    """Return the widths of columns with these shares. No column gets less than its minimum, and the others share the
    rest."""
    widths = [0] * len(shares)
    left, wide = free, sorted(range(len(shares)), key=lambda at: shares[at])
    while wide:
        at, whole = wide[0], sum(shares[each] for each in wide)
        widths[at] = max(_LEAST_COLUMN_WIDTH, int(left * shares[at] / whole)) if len(wide) > 1 else left
        left -= widths[at]
        del wide[0]
    return widths


def render_expandable(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the title of an expandable, and its content if it is open."""
    styles, glyphs = context.styles, context.styles.glyphs
    is_open = context.folds.is_open(block)
    rail = [Piece(glyphs.down + " ", styles.line, None, True)]
    body = indent(context.flow_children(block, width - 2, is_open=True), rail, rail) if is_open else []
    if (cut := slice_bounds(block)) is not None and not cut.is_first:
        return body
    spot = Clickable("fold", block.key)
    title = context.inline(block.runs, styles.strong) or [Piece("Details", styles.strong)]
    title = [piece if piece.clickable else piece._replace(clickable=spot) for piece in title]
    sign = Piece(glyphs.opened if is_open else glyphs.closed, styles.accent, spot, True)
    head = _with_sign([Line(line) for line in wrap(title, width - 2)], sign, width, is_right_to_left(block))
    return [*head, *body]


def render_updates(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the entries of a changelog, in the order of the page."""
    out: list[Line] = []
    style = str(block.attrs.get("format") or "full")
    cut = slice_bounds(block)
    for index, update in enumerate(block.children, cut.start if cut is not None else 0):
        update_cut = slice_bounds(update)
        if update_cut is not None and not update_cut.is_first:
            out += context.flow_children(update, width, is_open=True)
            continue
        if index:
            out.append(Line([]))
        out += render_update(context, update, width, style)
    return out


def render_update(context: LayoutContext, update: Block, width: int, style: str) -> list[Line]:
    """Render the date, the tags and the content of one update."""
    styles, glyphs = context.styles, context.styles.glyphs
    head = [Piece(_day(str(update.attrs.get("date") or ""), style), styles.accent + Style(bold=True))]
    for tag in update.attrs.get("tags") or ():
        head += [Piece("  ", PLAIN, None, True), Piece(non_breaking(f" {flatten_emoji(tag)} ", styles), styles.chip)]
    rows = wrap(head, width)
    used = width_of(rows[-1]) + 1
    if used < width - 4:
        rows[-1] += [Piece(" ", PLAIN, None, True), Piece(glyphs.across * (width - used), styles.line, None, True)]
    return [
        *(Line(row, whole_block(update)) for row in rows),
        Line([]),
        *context.flow(update.children, width, is_open=True),
    ]


def _day(text: str, style: str) -> str:
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return text or "Undated"
    if style == "numeric":
        return day.isoformat()
    months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    month = months[day.month - 1]
    return f"{day.day} {month[:3] if style == 'short' else month} {day.year}"
