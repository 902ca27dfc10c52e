"""Headings, paragraphs, lists, quotes, formulas, notes: text as it runs."""

from __future__ import annotations

import re

from rich.style import Style

from octavo.documents.blocks import Block, plain_text
from octavo.tui.render.block_slices import begins, cut_of, ends, whole_of
from octavo.tui.render.inline import raised
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, indented, padded, rule
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap
from octavo.tui.terminal.text_direction import reads_from_right

_A_FEW = 40
"""Items of a list that say on which side its bullets stand."""


def page_title(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """The title of the page above a rule of its length, and its description."""
    look = setting.look
    lines = _aligned(setting.words(block.runs, width, look.strong), block, width)
    longest = max((line.width for line in lines), default=0)
    lines.append(rule(max(3, min(longest, width)), look, look.glyphs.double, look.accent))
    if block.text.strip():
        style = look.muted + Style(italic=True)
        said = " ".join(block.text.split())
        lines += [Line([]), *(Line(pieces) for pieces in wrap([Piece(said, style)], width))]
    return lines


def source(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Lines of source as they are written, with their numbers."""
    look = setting.look
    out: list[Line] = []
    for number, row in enumerate(block.text.split("\n"), block.lines[0] + 1):
        first = [Piece(f"{number:>5} ", look.muted, None, True)]
        parts = wrap([Piece(row.expandtabs(4), look.text)], width - 6)
        out += indented([Line(part) for part in parts], first, [Piece("      ", PLAIN, None, True)])
    return out


def heading(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A heading, with a rule below the first two levels: across the page for the second, else as long as the words."""
    look, level = setting.look, int(block.attrs.get("level", 2))
    lines = _aligned(setting.words(block.runs, width, look.heading(level)), block, width)
    if level <= 2 and setting.ruled and ends(block):
        across = width if level == 2 and setting.depth == 0 else max((line.width for line in lines), default=0)
        lines.append(rule(across, look, look.glyphs.double if level == 1 else None))
    return lines


def paragraph(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A paragraph, at the right when it is read from right to left. Its letters stay in the order in
    which they are read: the terminal turns them round, or `right_to_left.py` when it does not."""
    return _aligned(setting.words(block.runs, width), block, width)


def runs_from_right(block: Block) -> bool:
    """Whether the words of a block are read from right to left."""
    return reads_from_right(plain_text(block.runs))


def _aligned(lines: list[Line], block: Block, width: int) -> list[Line]:
    align = block.attrs.get("align")
    if align is None:
        align = "right" if block.attrs.get("dir") == "rtl" or runs_from_right(block) else None
    if align in ("center", "right"):
        for line in lines:
            line.pieces = padded(line.pieces, width, PLAIN, align)
    return lines


def list_of(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A list, hanging from its bullets or numbers."""
    look = setting.look
    cut, whole = cut_of(block), whole_of(block)
    first = int(block.attrs.get("start") or 1)
    first += cut.start if cut is not None else 0
    level = setting.list_depth
    loose = setting.known("loose", whole, is_loose)
    margin = 1 if level == 0 else 0
    out: list[Line] = []
    setting.list_depth = level + 1
    # Bullets of one list stand on one side, though an item or two begin with a Latin word.
    looked_at = whole.children[:_A_FEW]
    from_right = 2 * sum(map(_begins_from_right, looked_at)) > len(looked_at)
    for number, item in enumerate(block.children, first):
        item_cut, own = cut_of(item), whole_of(item)
        mark = mark_of(whole, number - int(block.attrs.get("start") or 1), level, look)
        style = look.muted if item.kind != "task" else look.success if item.attrs.get("checked") else look.text
        indent = margin + len(mark) + 1
        above = item_cut.above if item_cut is not None else None
        body = setting.flow(item.children, width - indent, tight=not loose, above=above, is_open=True) or [Line([])]
        goes_on = item_cut is not None and not item_cut.is_first
        if goes_on:
            mark, style = " " * len(mark), PLAIN
        for line in body:
            if line.block is None or line.block.kind == "paragraph":
                line.block = own
        if loose and not goes_on and (out or (cut is not None and cut.start)):
            out.append(Line([]))
        hanging = [Piece(" " * indent, PLAIN, None, True)]
        if from_right or _begins_from_right(item):
            for at, line in enumerate(body):
                side = [Piece(f" {mark}" + " " * margin, style, None, True)] if not at else hanging
                out.append(Line([*padded(line.pieces, width - indent, PLAIN, "right"), *side], line.block))
            continue
        out += indented(body, [Piece(" " * margin + mark + " ", style, None, True)], hanging)
    setting.list_depth = level
    return out


def mark_of(block: Block, at: int, level: int, look: Styles) -> str:
    """The bullet, number or box of the item `at` of a list that stands in so many others."""
    glyphs, item = look.glyphs, block.children[at]
    if item.kind == "task":
        done = bool(item.attrs.get("checked"))
        mark = glyphs.done if done else glyphs.todo
        return f"[{mark if done else ' '}]" if look.ascii else mark
    if not block.attrs.get("ordered"):
        return glyphs.bullets[level % len(glyphs.bullets)]
    first = int(block.attrs.get("start") or 1)
    return f"{first + at}.".rjust(len(str(first + len(block.children) - 1)) + 1)


def _begins_from_right(item: Block) -> bool:
    first = item.children[0] if item.children else None
    return first is not None and first.kind == "paragraph" and runs_from_right(first)


def is_loose(block: Block) -> bool:
    """Whether the items of a list have blank lines between them."""
    block = whole_of(block)
    if block.attrs.get("tight", True) is False:
        return True
    return any(
        sum(child.kind != "list" for child in item.children) > 1
        or any(child.kind not in ("paragraph", "list", "heading") for child in item.children)
        for item in block.children
    )


def quote(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A quotation behind a bar."""
    bar = [Piece(setting.look.glyphs.down + " ", setting.look.muted, None, True)]
    return indented(setting.flow_in(block, width - 2, is_open=True), bar, bar)


def divider(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A line across the measure, with air at both ends."""
    third = width // 3
    line = rule(width - 2 * third, setting.look)
    line.pieces = [Piece(" " * third, PLAIN, None, True), *line.pieces]
    return [line]


def math(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A formula on lines of its own: stacked where it has fractions and the like and room for them, else a line for each
    row of its source that ends."""
    from octavo.tui.render.formulas import formula, in_one_line  # few pages have any

    look = setting.look
    stacked = None if look.ascii or cut_of(block) is not None else formula(block.text, width - 4)
    if stacked is not None:
        return [Line([Piece("    ", PLAIN, None, True), Piece(row, look.text)]) for row in stacked]
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", block.text) if row.strip()]
    out = []
    for row in rows:
        text = in_one_line(row, ascii=look.ascii)
        for pieces in wrap([Piece(text, look.text)], width - 4) if text else ():
            out.append(Line([Piece("    ", PLAIN, None, True), *pieces]))
    return out


def footnotes(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """The notes at the end of a page."""
    look = setting.look
    cut = cut_of(block)
    out = [] if cut is not None and not cut.is_first else [rule(min(width, 20), look)]
    for number, note in enumerate(block.children, 1 + (cut.start if cut is not None else 0)):
        label = str(note.attrs.get("label") or number)
        mark = f"[{label}] " if look.ascii or not label.isdigit() else raised(label) + " "
        body = setting.flow_in(note, width - len(mark)) or [Line([])]
        if begins(note) and _begins_from_right(note):
            body[0].pieces.append(Piece(f" {mark[:-1]}", look.accent, None, True))
            out += [Line([*padded(line.pieces, width, PLAIN, "right")], line.block) for line in body]
            continue
        blank = [Piece(" " * len(mark), PLAIN, None, True)]
        out += indented(body, [Piece(mark, look.accent, None, True)] if begins(note) else blank, blank)
    return out


def conflict(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Both sides of a passage that two people changed, each behind its name."""
    look, glyphs = setting.look, setting.look.glyphs
    bar = [Piece(glyphs.bar + " ", look.error, None, True)]
    out = [Line([Piece(f"{glyphs.no} Conflict", look.error + look.strong, None, True)])] if begins(block) else []
    for side in block.children:
        name = str(side.attrs.get("name") or "other side")
        if begins(side):
            called = wrap([Piece(name, look.error, None, True)], width - 5)
            dashes = [Piece(f"{glyphs.across * 2} ", look.error, None, True)]
            out += indented(map(Line, called), dashes, [Piece("   ", PLAIN, None, True)])
        out += setting.flow_in(side, width - 2)
    return indented(out, bar, bar)


def condition(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Blocks that only some readers see, below the condition."""
    look = setting.look
    rail = [Piece(look.glyphs.rail + " ", look.muted, None, True)]
    word = "shown if" if block.kind == "if" else "else if" if block.attrs.get("expression") else "else"
    label = [Piece(f"{word} ", look.muted, None, True)]
    if block.attrs.get("expression"):
        label.append(Piece(str(block.attrs["expression"]), look.code))
    rest = [child for child in block.children if child.kind != "else"]
    cut = cut_of(block)
    body = setting.flow(rest, width - 2, above=cut.above if cut is not None else None, is_open=True)
    head = [Line(pieces) for pieces in wrap(label, width - 2)] if begins(block) else []
    out = indented([*head, *body], rail, rail)
    for child in block.children:
        out += condition(setting, child, width) if child.kind == "else" else []
    return out
