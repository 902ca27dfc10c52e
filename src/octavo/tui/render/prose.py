"""Rendering of text blocks: headings, paragraphs, lists, quotes, formulas and notes."""

from __future__ import annotations

import re

from rich.style import Style

from octavo.documents.blocks import Block, plain_text
from octavo.lazy_import import lazy
from octavo.tui.render.block_slices import has_end, has_start, slice_bounds, whole_block
from octavo.tui.render.inline import superscript
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, indent, pad, rule
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap
from octavo.tui.terminal.line_filters import reads_from_right

_format_inline = lazy("octavo.tui.render.formulas:format_inline")
_format_stacked = lazy("octavo.tui.render.formulas:format_stacked")

_SAMPLE_ITEMS = 40
"""Number of items that decide on which side the bullets of a list are."""


def render_page_title(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the title of a page above a rule, and its description."""
    styles = context.styles
    lines = _align(context.text_lines(block.runs, width, styles.strong), block, width)
    longest = max((line.width for line in lines), default=0)
    lines.append(rule(max(3, min(longest, width)), styles, styles.glyphs.double, styles.accent))
    if block.text.strip():
        style = styles.muted + Style(italic=True)
        text = " ".join(block.text.split())
        lines += [Line([]), *(Line(pieces) for pieces in wrap([Piece(text, style)], width))]
    return lines


def render_source(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render lines of source with their line numbers."""
    styles = context.styles
    out: list[Line] = []
    for number, row in enumerate(block.text.split("\n"), block.lines[0] + 1):
        first = [Piece(f"{number:>5} ", styles.muted, None, True)]
        parts = wrap([Piece(row.expandtabs(4), styles.text)], width - 6)
        out += indent([Line(part) for part in parts], first, [Piece("      ", PLAIN, None, True)])
    return out


def render_heading(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a heading. Levels 1 and 2 have a rule below: as long as the text, or across the page for a top-level
    heading of level 2."""
    styles, level = context.styles, int(block.attrs.get("level", 2))
    lines = _align(context.text_lines(block.runs, width, styles.heading(level)), block, width)
    if level <= 2 and context.rules_headings and has_end(block):
        across = width if level == 2 and context.depth == 0 else max((line.width for line in lines), default=0)
        lines.append(rule(across, styles, styles.glyphs.double if level == 1 else None))
    return lines


def render_paragraph(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a paragraph, right-aligned for right-to-left text.

    The letters stay in reading order here. The terminal reorders right-to-left letters, or the line filter
    `RightToLeft` does it for terminals that cannot.
    """
    return _align(context.text_lines(block.runs, width), block, width)


def is_right_to_left(block: Block) -> bool:
    """Return True if the text of a block reads from right to left."""
    return reads_from_right(plain_text(block.runs))


def _align(lines: list[Line], block: Block, width: int) -> list[Line]:
    align = block.attrs.get("align")
    if align is None:
        align = "right" if block.attrs.get("dir") == "rtl" or is_right_to_left(block) else None
    if align in ("center", "right"):
        for line in lines:
            line.pieces = pad(line.pieces, width, PLAIN, align)
    return lines


def render_list(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a list with hanging bullets or numbers."""
    styles = context.styles
    cut, whole = slice_bounds(block), whole_block(block)
    first = int(block.attrs.get("start") or 1)
    first += cut.start if cut is not None else 0
    level = context.list_depth
    loose = context.shared_by_slices("loose", whole, is_loose)
    margin = 1 if level == 0 else 0
    out: list[Line] = []
    context.list_depth = level + 1
    # All bullets of a list are on one side, even if some items begin with a Latin word.
    sample = whole.children[:_SAMPLE_ITEMS]
    from_right = 2 * sum(map(_starts_right_to_left, sample)) > len(sample)
    for number, item in enumerate(block.children, first):
        item_cut, own = slice_bounds(item), whole_block(item)
        mark = item_marker(whole, number - int(block.attrs.get("start") or 1), level, styles)
        style = styles.muted if item.kind != "task" else styles.success if item.attrs.get("checked") else styles.text
        mark_width = margin + len(mark) + 1
        above = item_cut.previous if item_cut is not None else None
        body = context.flow(item.children, width - mark_width, tight=not loose, above=above, is_open=True) or [Line([])]
        goes_on = item_cut is not None and not item_cut.is_first
        if goes_on:
            mark, style = " " * len(mark), PLAIN
        for line in body:
            if line.block is None or line.block.kind == "paragraph":
                line.block = own
        if loose and not goes_on and (out or (cut is not None and cut.start)):
            out.append(Line([]))
        hanging = [Piece(" " * mark_width, PLAIN, None, True)]
        if from_right or _starts_right_to_left(item):
            for at, line in enumerate(body):
                side = [Piece(f" {mark}" + " " * margin, style, None, True)] if not at else hanging
                out.append(Line([*pad(line.pieces, width - mark_width, PLAIN, "right"), *side], line.block))
            continue
        out += indent(body, [Piece(" " * margin + mark + " ", style, None, True)], hanging)
    context.list_depth = level
    return out


def item_marker(block: Block, position: int, level: int, styles: Styles) -> str:
    """Return the bullet, number or checkbox of item `position` in a list at nesting level `level`."""
    glyphs, item = styles.glyphs, block.children[position]
    if item.kind == "task":
        done = bool(item.attrs.get("checked"))
        mark = glyphs.done if done else glyphs.todo
        return f"[{mark if done else ' '}]" if styles.ascii else mark
    if not block.attrs.get("ordered"):
        return glyphs.bullets[level % len(glyphs.bullets)]
    first = int(block.attrs.get("start") or 1)
    return f"{first + position}.".rjust(len(str(first + len(block.children) - 1)) + 1)


def _starts_right_to_left(item: Block) -> bool:
    first = item.children[0] if item.children else None
    return first is not None and first.kind == "paragraph" and is_right_to_left(first)


def is_loose(block: Block) -> bool:
    """Return True if a list has blank lines between its items."""
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
    bar = [Piece(context.styles.glyphs.down + " ", context.styles.muted, None, True)]
    return indent(context.flow_children(block, width - 2, is_open=True), bar, bar)


def render_divider(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a horizontal line in the middle third of the width."""
    third = width // 3
    line = rule(width - 2 * third, context.styles)
    line.pieces = [Piece(" " * third, PLAIN, None, True), *line.pieces]
    return [line]


def render_math(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a formula block: stacked if the formula needs several rows and fits the width, else with one line for each
    row of its source."""
    styles = context.styles
    stacked = None if styles.ascii or slice_bounds(block) is not None else _format_stacked(block.text, width - 4)
    if stacked is not None:
        return [Line([Piece("    ", PLAIN, None, True), Piece(row, styles.text)]) for row in stacked]
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", block.text) if row.strip()]
    out = []
    for row in rows:
        text = _format_inline(row, ascii=styles.ascii)
        for pieces in wrap([Piece(text, styles.text)], width - 4) if text else ():
            out.append(Line([Piece("    ", PLAIN, None, True), *pieces]))
    return out


def render_footnotes(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the notes at the end of a page."""
    styles = context.styles
    cut = slice_bounds(block)
    out = [] if cut is not None and not cut.is_first else [rule(min(width, 20), styles)]
    for number, note in enumerate(block.children, 1 + (cut.start if cut is not None else 0)):
        label = str(note.attrs.get("label") or number)
        mark = f"[{label}] " if styles.ascii or not label.isdigit() else superscript(label) + " "
        body = context.flow_children(note, width - len(mark)) or [Line([])]
        if has_start(note) and _starts_right_to_left(note):
            body[0].pieces.append(Piece(f" {mark[:-1]}", styles.accent, None, True))
            out += [Line([*pad(line.pieces, width, PLAIN, "right")], line.block) for line in body]
            continue
        blank = [Piece(" " * len(mark), PLAIN, None, True)]
        out += indent(body, [Piece(mark, styles.accent, None, True)] if has_start(note) else blank, blank)
    return out


def render_conflict_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render both sides of a conflict in the text, each under its name."""
    styles, glyphs = context.styles, context.styles.glyphs
    bar = [Piece(glyphs.bar + " ", styles.error, None, True)]
    out = [Line([Piece(f"{glyphs.no} Conflict", styles.error + styles.strong, None, True)])] if has_start(block) else []
    for side in block.children:
        name = str(side.attrs.get("name") or "other side")
        if has_start(side):
            name_lines = wrap([Piece(name, styles.error, None, True)], width - 5)
            dashes = [Piece(f"{glyphs.across * 2} ", styles.error, None, True)]
            out += indent(map(Line, name_lines), dashes, [Piece("   ", PLAIN, None, True)])
        out += context.flow_children(side, width - 2)
    return indent(out, bar, bar)


def render_condition(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render blocks that only some visitors see, below the condition."""
    styles = context.styles
    rail = [Piece(styles.glyphs.rail + " ", styles.muted, None, True)]
    word = "shown if" if block.kind == "if" else "else if" if block.attrs.get("expression") else "else"
    label = [Piece(f"{word} ", styles.muted, None, True)]
    if block.attrs.get("expression"):
        label.append(Piece(str(block.attrs["expression"]), styles.code))
    rest = [child for child in block.children if child.kind != "else"]
    cut = slice_bounds(block)
    body = context.flow(rest, width - 2, above=cut.previous if cut is not None else None, is_open=True)
    head = [Line(pieces) for pieces in wrap(label, width - 2)] if has_start(block) else []
    out = indent([*head, *body], rail, rail)
    for child in block.children:
        out += render_condition(context, child, width) if child.kind == "else" else []
    return out
