"""Rendering of headings, paragraphs, lists, quotes, formulas and notes, and of blocks with child blocks: hints, tabs,
steps, columns, expandables and updates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from rich.style import Style

from octavo.documents.blocks import Block, plain_text
from octavo.lazy_import import lazy
from octavo.tui.render.block_slices import child_above_slice, first_index, has_end, has_start, slice_bounds, whole_block
from octavo.tui.render.layout_context import LayoutContext, label_with_icon, non_breaking, superscript
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    cells,
    decoration,
    flatten_emoji,
    indent,
    pad,
    rule,
    side_by_side,
    truncate,
    width_of,
    with_background,
    wrap,
    wrap_text,
)
from octavo.tui.render.styles import PLAIN, Styles, icon_sign
from octavo.tui.terminal.display import is_text_right_to_left

_format_inline = lazy("octavo.tui.render.formulas:format_inline")
_format_stacked = lazy("octavo.tui.render.formulas:format_stacked")


_SAMPLE_ITEMS = 40
"""Number of items of a list that are examined to decide whether its bullets are at the left or at the right."""


def render_page_title(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the title of a page, a rule below it, and the description of the page."""
    styles = context.styles
    lines = _align(context.text_lines(block.runs, width, styles.strong), block, width)
    longest_width = max((line.width for line in lines), default=0)
    lines.append(rule(max(3, min(longest_width, width)), styles, styles.glyphs.double_horizontal, styles.accent))
    if block.text.strip():
        lines += [Line([]), *wrap_text(" ".join(block.text.split()), styles.muted + Style(italic=True), width)]
    return lines


def render_source(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render lines of source with their line numbers."""
    styles = context.styles
    lines: list[Line] = []
    for number, row in enumerate(block.text.split("\n"), block.lines[0] + 1):
        first = [decoration(f"{number:>5} ", styles.muted)]
        parts = wrap([StyledText(row.expandtabs(4), styles.text)], width - 6)
        lines += indent([Line(part) for part in parts], first, [decoration("      ")])
    return lines


def render_heading(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a heading. If the context has heading rules, add a rule below the levels 1 and 2."""
    styles, level = context.styles, int(block.attrs.get("level", 2))
    lines = _align(context.text_lines(block.runs, width, styles.heading(level)), block, width)
    if level <= 2 and context.has_heading_rules and has_end(block):
        rule_width = width if level == 2 and context.depth == 0 else max((line.width for line in lines), default=0)
        lines.append(rule(rule_width, styles, styles.glyphs.double_horizontal if level == 1 else None))
    return lines


def render_paragraph(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a paragraph. Right-to-left text is aligned at the right, with its letters in reading order."""
    return _align(context.text_lines(block.runs, width), block, width)


def is_right_to_left(block: Block) -> bool:
    """Return True if the text of a block reads from right to left."""
    return is_text_right_to_left(plain_text(block.runs))


def _align(lines: list[Line], block: Block, width: int) -> list[Line]:
    align = block.attrs.get("align")
    if align is None:
        align = "right" if block.attrs.get("dir") == "rtl" or is_right_to_left(block) else None
    if align in ("center", "right"):
        for line in lines:
            line.pieces = pad(line.pieces, width, PLAIN, align)
    return lines


def render_list(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a list. Bullets or numbers are to the left of the text, or to the right of right-to-left text."""
    styles = context.styles
    whole_list = whole_block(block)
    first_position = first_index(block)
    level = context.list_depth
    has_gaps = context.shared_by_slices("loose", whole_list, is_loose)
    margin = 1 if level == 0 else 0
    lines: list[Line] = []
    context.list_depth = level + 1
    # Even if some items are Latin words, all bullets are on the same side.
    is_from_right = is_text_right_to_left(" ".join(map(_first_paragraph_text, whole_list.children[:_SAMPLE_ITEMS])))
    for position, item in enumerate(block.children, first_position):
        list_item, is_continued = whole_block(item), not has_start(item)
        mark = item_marker(whole_list, position, level, styles)
        style = styles.muted if item.kind != "task" else styles.success if item.attrs.get("checked") else styles.text
        mark_width = margin + len(mark) + 1
        body = context.render_blocks(
            item.children, width - mark_width, is_tight=not has_gaps, above=child_above_slice(item), may_be_wide=True
        ) or [Line([])]
        if is_continued:
            mark, style = " " * len(mark), PLAIN
        for line in body:
            if line.block is None or line.block.kind == "paragraph":
                line.block = list_item
        if has_gaps and not is_continued and (lines or first_position):
            lines.append(Line([]))
        continuation_indent = [decoration(" " * mark_width)]
        if is_from_right or _starts_right_to_left(item):
            for index, line in enumerate(body):
                marker_pieces = [decoration(f" {mark}" + " " * margin, style)] if not index else continuation_indent
                padded_pieces = pad(line.pieces, width - mark_width, PLAIN, "right")
                lines.append(line.with_pieces([*padded_pieces, *marker_pieces], width_of(padded_pieces) - line.width))
            continue
        lines += indent(body, [decoration(" " * margin + mark + " ", style)], continuation_indent)
    context.list_depth = level
    return lines


def item_marker(block: Block, index: int, level: int, styles: Styles) -> str:
    """Return the bullet, number or checkbox of the item with the index `index`. Bullets depend on the `level`."""
    glyphs, item = styles.glyphs, block.children[index]
    if item.kind == "task":
        is_done = bool(item.attrs.get("checked"))
        mark = glyphs.done if is_done else glyphs.todo
        return f"[{mark if is_done else ' '}]" if styles.ascii else mark
    if not block.attrs.get("ordered"):
        return glyphs.bullets[level % len(glyphs.bullets)]
    first = int(block.attrs.get("start", 1))
    return f"{first + index}.".rjust(len(str(first + len(block.children) - 1)) + 1)


def _first_paragraph_text(item: Block) -> str:
    first = item.children[0] if item.children else None
    return plain_text(first.runs) if first is not None and first.kind == "paragraph" else ""


def _starts_right_to_left(item: Block) -> bool:
    return is_text_right_to_left(_first_paragraph_text(item))


def is_loose(block: Block) -> bool:
    """Return True if a list is rendered with blank lines between its items."""
    block = whole_block(block)
    if block.attrs.get("tight", True) is False:
        return True
    return any(
        sum(child.kind != "list" for child in item.children) > 1
        or any(child.kind not in ("paragraph", "list", "heading") for child in item.children)
        for item in block.children
    )


def render_quote(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a quote with a bar at the left."""
    bar = [decoration(context.styles.glyphs.vertical + " ", context.styles.muted)]
    return indent(context.render_children(block, width - 2, may_be_wide=True), bar, bar)


def render_divider(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a horizontal line in the middle third of the width."""
    third = width // 3
    line = rule(width - 2 * third, context.styles)
    line.pieces = [decoration(" " * third), *line.pieces]
    return [line]


def render_math(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a formula block on several rows if the formula needs them and fits. Otherwise, and for a slice of a long
    block, render each row of the LaTeX as wrapped text. In ASCII, the text is the LaTeX itself."""
    styles = context.styles
    stacked = None if styles.ascii or slice_bounds(block) is not None else _format_stacked(block.text, width - 4)
    if stacked is not None:
        return [Line([decoration("    "), StyledText(row, styles.text)]) for row in stacked]
    lines: list[Line] = []
    for row in re.split(r"\\\\(?:\[[^\]]*\])?", block.text):
        if text := _format_inline(row, ascii=styles.ascii):
            wrapped = wrap_text(text, styles.text, width - 4)
            wrapped = wrapped if len(wrapped) == 1 else wrap_text(text, styles.text, width - 6)
            lines += indent(wrapped, [decoration("    ")], [decoration("      ")])
    return lines


def render_footnotes(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the footnotes at the end of a page, below a short rule."""
    styles = context.styles
    lines = [rule(min(width, 20), styles)] if has_start(block) else []
    for number, note in enumerate(block.children, 1 + first_index(block)):
        label = str(note.attrs.get("label") or number)
        mark = f"[{label}] " if styles.ascii or not label.isdigit() else superscript(label) + " "
        body = context.render_children(note, width - len(mark)) or [Line([])]
        if has_start(note) and _starts_right_to_left(note):
            body[0].pieces.append(decoration(f" {mark[:-1]}", styles.accent))
            lines += [Line([*pad(line.pieces, width, PLAIN, "right")], line.block) for line in body]
            continue
        blank = [decoration(" " * len(mark))]
        lines += indent(body, [decoration(mark, styles.accent)] if has_start(note) else blank, blank)
    return lines


def render_conflict_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render both sides of a merge conflict that is marked in the text, each below its name."""
    styles, glyphs = context.styles, context.styles.glyphs
    bar = [decoration(glyphs.bar + " ", styles.error)]
    result = [Line([decoration(f"{glyphs.no} Conflict", styles.error + styles.strong)])] if has_start(block) else []
    for side in block.children:
        name = str(side.attrs.get("name") or "other side")
        if has_start(side):
            name_lines = wrap([decoration(name, styles.error)], width - 5)
            dashes = [decoration(f"{glyphs.horizontal * 2} ", styles.error)]
            result += indent(map(Line, name_lines), dashes, [decoration("   ")])
        result += context.render_children(side, width - 2)
    return indent(result, bar, bar)


def render_condition(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a condition, the blocks for visitors who meet the condition, and its `else` blocks."""
    styles = context.styles
    rail = [decoration(styles.glyphs.dotted_vertical + " ", styles.muted)]
    word = "shown if" if block.kind == "if" else "else if" if block.attrs.get("expression") else "else"
    label = [decoration(f"{word} ", styles.muted)]
    if block.attrs.get("expression"):
        label.append(StyledText(str(block.attrs["expression"]), styles.code))
    other_children = [child for child in block.children if child.kind != "else"]
    body = context.render_blocks(other_children, width - 2, above=child_above_slice(block), may_be_wide=True)
    head = [Line(pieces) for pieces in wrap(label, width - 2)] if has_start(block) else []
    lines = indent([*head, *body], rail, rail)
    for child in block.children:
        lines += render_condition(context, child, width) if child.kind == "else" else []
    return lines


MIN_AVERAGE_COLUMN_WIDTH, COLUMN_GAP = 30, 3
_MIN_COLUMN_WIDTH = 20
"""Minimum width in cells of a single column."""


def render_hint(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a hint with a colored bar, a sign, and the title of the hint, else its kind."""
    styles = context.styles
    style, sign, name = styles.hint(str(block.attrs.get("style") or "info"))
    sign = icon_sign(str(block.attrs.get("icon") or ""), ascii=styles.ascii) or sign
    children = block.children
    bar = [decoration(styles.glyphs.bar + " ", style + styles.surface)]
    inner_width = width - 3
    head: list[Line] = []
    if not has_start(block):
        pass
    elif children and _begins_with_title(children):
        sign_width = cells(sign) + 1
        head = context.text_lines(children[0].runs, inner_width - sign_width, style + Style(bold=True))
        for line in head:
            line.block = children[0]
        head = _with_sign(head, decoration(sign, style + Style(bold=True)), inner_width, is_right_to_left(children[0]))
        children = children[1:]
    else:
        head = [Line([decoration(name, style + Style(bold=True))])]
        is_from_right = bool(children) and is_right_to_left(children[0])
        head = _with_sign(head, decoration(sign, style + Style(bold=True)), inner_width, is_from_right)
    had_background, context.has_background = context.has_background, True
    body = context.render_blocks(children, inner_width, above=child_above_slice(block))
    context.has_background = had_background
    lines = [line.prepend(bar) for line in [*head, *body]]
    if not had_background:  # Otherwise, the surrounding hint adds the background.
        for line in lines:
            line.pieces = pad(with_background(styles.surface, line.pieces), width, styles.surface)
    return lines


def _begins_with_title(children: Sequence[Block]) -> bool:
    first_child = children[0]
    if first_child.kind != "paragraph" or len(children) == 1:
        return first_child.kind == "heading"
    runs = [run for run in first_child.runs if run.text.strip()]
    return bool(runs) and all(run.kind == "text" and "bold" in run.marks for run in runs)


def _with_sign(head: list[Line], sign: StyledText, width: int, is_from_right: bool) -> list[Line]:
    sign_width = cells(sign.text) + 1
    if not is_from_right:
        return indent(head, [sign, decoration(" ")], [decoration(" " * sign_width)])
    for number, line in enumerate(head):
        right_pieces = [decoration(" "), sign] if not number else [decoration(" " * sign_width)]
        line.pieces = [*pad(line.pieces, width - sign_width, PLAIN, "right"), *right_pieces]
    return head


def render_tabs(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the titles of all tabs and the content of the selected tab. Later slices of `block` have no titles."""
    styles, glyphs = context.styles, context.styles.glyphs
    if not block.children:
        return []
    selected_index = context.view_state.selected_tab_index(block)
    body = context.render_children(block.children[selected_index], width, may_be_wide=True)
    body += [rule(width, styles)] if has_end(block) else []
    if not has_start(block):
        return body
    titles = []
    for index, tab in enumerate(block.children):
        title = " ".join(str(tab.attrs.get("title") or f"Tab {index + 1}").split())
        label = label_with_icon(tab.attrs.get("icon"), title, styles)
        titles.append("".join(piece.text for piece in truncate([StyledText(label)], width - 2, glyphs.ellipsis)))
    fits_in_row = sum(cells(title) + 2 for title in titles) <= width
    rows: list[list[StyledText]] = [[]]
    underline: list[StyledText] = []
    for index, title in enumerate(titles):
        is_selected = index == selected_index
        # With several rows of titles there is no underline, so brackets mark the selected tab.
        text = f"[{title}]" if is_selected and not fits_in_row else f" {title} "
        piece = StyledText(text, styles.strong if is_selected else styles.muted, Clickable("tab", block.key, index))
        if rows[-1] and width_of([*rows[-1], piece]) > width:
            rows.append([])
        rows[-1].append(piece)
        line = glyphs.thick_horizontal if is_selected and fits_in_row else glyphs.horizontal
        underline.append(decoration(line * cells(text), styles.accent if is_selected else styles.line))
    count = f"{selected_index + 1} of {len(block.children)}"
    row_width = width_of(rows[-1])
    if len(block.children) > 1 and row_width + len(count) + 1 <= width:
        rows[-1].append(decoration(count.rjust(width - row_width), styles.muted))
    result = [Line(names) for names in rows]
    if fits_in_row:
        result.append(Line([*underline, decoration(glyphs.horizontal * (width - width_of(underline)), styles.line)]))
    else:
        result.append(rule(width, styles))
    return [*result, *body]


def render_stepper(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render numbered steps next to a vertical line."""
    styles, glyphs = context.styles, context.styles.glyphs
    count = len(whole_block(block).children)
    digit_count = len(str(count))
    all_lines: list[Line] = []
    blank = " " * (digit_count - 1)
    for number, step in enumerate(block.children, 1 + first_index(block)):
        children, is_continued = step.children, not has_start(step)
        head: list[Line] = [] if is_continued else [Line([])]
        inner_width = width - digit_count - 4
        if is_continued:
            pass
        elif children and children[0].kind == "heading":
            head = context.text_lines(children[0].runs, inner_width, styles.strong)
            for line in head:
                line.block = children[0]
                if is_right_to_left(children[0]):
                    line.pieces = pad(line.pieces, inner_width, PLAIN, "right")
            children = children[1:]
        elif children and children[0].kind == "paragraph":
            head = context.render_blocks(children[:1], inner_width)
            children = children[1:]
        body = context.render_blocks(children, inner_width, above=child_above_slice(step), may_be_wide=True)
        lines = [*head, *([Line([])] if body and not is_continued else []), *body]
        is_last = number == count
        mark = [decoration(f" {str(number).rjust(digit_count)} ", styles.button), decoration(" ")]
        rail_sign = " " if is_last else glyphs.vertical
        rail = [decoration(f" {blank}{rail_sign}  ", styles.line)]
        all_lines += indent(lines, rail if is_continued else mark, rail)
        if not is_last and has_end(step):
            all_lines.append(Line([decoration(f" {blank}{rail_sign}", styles.line)]))
    return all_lines


def render_columns(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render columns side by side if they fit and the block is not split into slices, else one below the other."""
    count = len(block.children)
    if not count:
        return []
    max_width = max(width, min(context.max_width(width), 100))
    shares = [float(column.attrs.get("width") or 0) for column in block.children]
    other_share = max(0.0, 100 - sum(shares)) / max(1, shares.count(0.0))
    shares = [share or other_share or 100 / count for share in shares]
    if width >= MIN_AVERAGE_COLUMN_WIDTH * count + COLUMN_GAP * (count - 1):
        max_width = width
    free_width = max_width - COLUMN_GAP * (count - 1)
    # In a slice, columns are stacked. Side by side, one slice would have to render all long columns.
    if slice_bounds(block) is not None or count == 1 or free_width // count < MIN_AVERAGE_COLUMN_WIDTH - 2:
        stacked = [child for column in block.children for child in column.children]
        block_above = child_above_slice(block.children[0]) or child_above_slice(block)
        return context.render_blocks(stacked, width, above=block_above, may_be_wide=True)
    widths = _column_widths(shares, free_width)
    columns = [
        context.render_blocks(column.children, column_width)
        for column, column_width in zip(block.children, widths, strict=True)
    ]
    return [*side_by_side(columns, widths, decoration(" " * COLUMN_GAP))]


def _column_widths(shares: Sequence[float], available_width: int) -> list[int]:
    widths = [0] * len(shares)
    remaining_width, indexes = available_width, sorted(range(len(shares)), key=lambda index: shares[index])
    while indexes:
        index, total = indexes[0], sum(shares[each] for each in indexes)
        widths[index] = (
            max(_MIN_COLUMN_WIDTH, int(remaining_width * shares[index] / total))
            if len(indexes) > 1
            else remaining_width
        )
        remaining_width -= widths[index]
        del indexes[0]
    return widths


def render_expandable(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the title of an expandable, and its content if it is open. Later slices of `block` have no title."""
    styles, glyphs = context.styles, context.styles.glyphs
    is_open = context.view_state.is_expanded(block)
    rail = [decoration(glyphs.vertical + " ", styles.line)]
    body = indent(context.render_children(block, width - 2, may_be_wide=True), rail, rail) if is_open else []
    if not has_start(block):
        return body
    clickable = Clickable("fold", block.key)
    title = context.styled_runs(block.runs, styles.strong) or [StyledText("Details", styles.strong)]
    title = [piece if piece.clickable else piece._replace(clickable=clickable) for piece in title]
    sign = decoration(glyphs.opened if is_open else glyphs.closed, styles.accent, clickable)
    head = _with_sign([Line(line) for line in wrap(title, width - 2)], sign, width, is_right_to_left(block))
    return [*head, *body]


def render_updates(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the entries of a changelog, in the order of the page."""
    lines: list[Line] = []
    style = str(block.attrs.get("format") or "full")
    for index, update in enumerate(block.children, first_index(block)):
        if not has_start(update):
            lines += context.render_children(update, width, may_be_wide=True)
            continue
        if index:
            lines.append(Line([]))
        lines += render_update(context, update, width, style)
    return lines


def render_update(context: LayoutContext, update: Block, width: int, style: str) -> list[Line]:
    """Render the date, the tags and the content of one update. `style` is the date format, such as `short`."""
    styles, glyphs = context.styles, context.styles.glyphs
    head = [StyledText(_date_text(str(update.attrs.get("date") or ""), style), styles.accent + Style(bold=True))]
    for tag in update.attrs.get("tags") or ():
        head += [decoration("  "), StyledText(non_breaking(f" {flatten_emoji(tag)} ", styles), styles.chip)]
    rows = wrap(head, width)
    used_width = width_of(rows[-1]) + 1
    if used_width < width - 4:
        rows[-1] += [decoration(" "), decoration(glyphs.horizontal * (width - used_width), styles.line)]
    return [
        *(Line(row, whole_block(update)) for row in rows),
        Line([]),
        *context.render_blocks(update.children, width, may_be_wide=True),
    ]


def _date_text(text: str, style: str) -> str:
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return text or "Undated"
    if style == "numeric":
        return day.isoformat()
    month = day.strftime("%b" if style == "short" else "%B")  # In English, because Octavo sets no locale.
    return f"{day.day} {month} {day.year}"
