"""Changes as lines: signs in the gutter, tints, words underlined or struck out, and what changed in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.style import Style

from octavo.documents import changes as model
from octavo.documents.blocks import Block, Column, Run
from octavo.tui.page.changing import DiffUnit
from octavo.tui.page.inline import inline_parts
from octavo.tui.page.layout import set_block
from octavo.tui.page.lines import Line, Piece, Spot, cut, fit, off_side, on, padded, width_of
from octavo.tui.page.look import PLAIN, Look
from octavo.tui.page.setting import Setting
from octavo.tui.page.tables import cell_pieces, fitted, row_lines
from octavo.tui.page.threads import thread_lines
from octavo.tui.page.wrap import wrap

GUTTER = 7
_CONTEXT = 3
"""Unchanged lines of code on each side of changed ones."""


def set_diff_unit(setting: Setting, unit: DiffUnit, width: int) -> list[Line]:
    """The lines of a unit, the gutter included."""
    space = [] if unit.tight else [Line([])]
    match unit.kind:
        case "title":
            return [Line(part) for part in wrap([Piece(unit.text, setting.look.strong)], width)]
        case "fold" | "label":
            return [*space, _across(unit, setting.look, width)]
        case "note":
            return [*space, *_tagged(_note(unit.text, setting.look, width), unit.block)]
        case "threads":
            return thread_lines(unit.threads, setting.look, width, GUTTER - 2, unit.block)
        case "lines":
            return _tagged(_source(unit.lines, setting.look, width), unit.block)
        case "entry" if unit.entry is not None:
            return [*space, *_entry(setting, unit, unit.entry, width)]
    if unit.block is None:
        return []
    return [*space, *_sided(setting, unit.block, unit.parent, " ", width)]


def _across(unit: DiffUnit, look: Look, width: int) -> Line:
    glyphs = look.glyphs
    spot = Spot("fold", unit.block.key) if unit.block is not None and unit.kind == "fold" else None
    tail = f" = unfold {glyphs.across * 2}" if spot else ""
    words = fit([Piece(unit.text, look.muted, spot)], width - 8 - len(tail), glyphs.more)
    pieces = [Piece(glyphs.across * 2 + " ", look.line, None, True), *words, Piece(" ", look.line, None, True)]
    pieces.append(Piece(glyphs.across * (width - width_of(pieces) - len(tail)), look.line, None, True))
    if tail:
        pieces += [Piece(" = unfold ", look.muted, spot, True), Piece(glyphs.across * 2, look.line, None, True)]
    return Line(pieces, unit.block)


def _note(text: str, look: Look, width: int) -> list[Line]:
    lines = [Line(part) for part in wrap([Piece(text, look.muted + Style(italic=True))], width - GUTTER)]
    return _gutter(lines, "~", None, look, width, PLAIN)


def _gutter(lines: Iterable[Line], sign: str, number: int | None, look: Look, width: int, ground: Style) -> list[Line]:
    """Lines behind a number and a sign, on a ground as wide as the pane."""
    shown = look.glyphs.minus if sign == "-" else look.glyphs.down if sign == " " else sign
    ink = {"+": look.success, "-": look.error, "~": look.warning}.get(sign, look.line)
    out = []
    label = f"{'' if number is None else number:>4} "
    for line in lines:
        pieces = [
            Piece(label, look.muted, None, True),
            Piece(shown, ink + Style(bold=sign != " "), None, True),
            Piece(" ", PLAIN, None, True),
            *line.pieces,
        ]
        out.append(Line(padded(on(ground, pieces), width, ground) if ground else pieces, line.block))
        label = "     "
    return out


def _ground(sign: str, look: Look) -> Style:
    return {"+": look.add_line, "-": look.remove_line}.get(sign, PLAIN)


def _sided(setting: Setting, block: Block, parent: Block | None, sign: str, width: int) -> list[Line]:
    """A block as a page shows it, behind a sign."""
    setting.depth, setting.ruled = 1, False
    lines = set_block(setting, _in_parent(block, parent), width - GUTTER)
    setting.depth = 0
    for line in lines:
        line.block = block
    return _gutter(lines, sign, block.lines[0] + 1, setting.look, width, _ground(sign, setting.look))


def _in_parent(block: Block, parent: Block | None) -> Block:
    """The block inside as much of its parent as it takes to show what it is."""
    if parent is None:
        return block
    if block.kind in ("item", "task"):
        at = next((index for index, each in enumerate(parent.children) if each is block), 0)
        attrs = {**parent.attrs, "start": int(parent.attrs.get("start") or 1) + at}
        return Block("list", attrs, (block,))
    if block.kind in ("tab", "step", "update", "column"):
        return replace(parent, children=(block,))
    return block


def _entry(setting: Setting, unit: DiffUnit, entry: model.Entry, width: int) -> list[Line]:
    look = setting.look
    match entry:
        case model.Added(block=block):
            return _sided(setting, block, unit.parent, "+", width)
        case model.Removed(block=block):
            return _sided(setting, block, unit.parent, "-", width)
        case model.Moved(arrives=False):
            words = " ".join(entry.old.plain().split())
            return _tagged(_note(f"moved away ({entry.number}): {words[:60]}", look, width), entry.new)
        case model.Moved():
            note = f"moved here ({entry.number}){', and edited' if entry.is_edited else ''}"
            body = _parts(setting, entry.old, entry.new, entry.parts, unit.parent, width)
            return _tagged([*_note(note, look, width), *body], entry.new)
        case model.Changed():
            notes = [line for note in entry.notes for line in _note(note, look, width)]
            body = _parts(setting, entry.old, entry.new, entry.parts, unit.parent, width)
            return _tagged([*notes, *body], entry.new)
    return []


def _tagged(lines: list[Line], block: Block | None) -> list[Line]:
    for line in lines:
        if line.block is None and line.pieces:
            line.block = block
    return lines


def _parts(
    setting: Setting, old: Block, new: Block, parts: model.Parts, parent: Block | None, width: int
) -> list[Line]:
    match parts:
        case model.Words() if not parts.is_rewritten:
            return _words(setting, old, new, parts, width)
        case model.Lines():
            return _code(setting.look, new, parts.lines, width)
        case model.Table():
            return _table(setting, new, parts, width)
        case model.Inside(title=title):
            return _words(setting, old, new, title, width) if title is not None and title.sorts else []
    if parts is None and old.kind == new.kind and old.plain() == new.plain() and old.kind not in ("image", "figure"):
        return _sided(setting, new, parent, " ", width)
    removed = _sided(setting, old, parent, "-", width)
    for line in removed:
        line.block = new
    return [*removed, *_sided(setting, new, parent, "+", width)]


def _words(setting: Setting, old: Block, new: Block, parts: model.Words, width: int) -> list[Line]:
    """The old text above the new one when words changed; the text once when only its look or its links did."""
    look = setting.look
    inner = width - GUTTER
    base = look.heading(int(new.attrs.get("level", 2))) if new.kind == "heading" else None
    number = new.lines[0] + 1
    if "words" not in parts.sorts:
        runs = [word.run for word in parts.words]
        marked = _marked(parts.words, runs, look, base, {"format": look.cursor, "link": look.cursor})
        lines = _gutter([Line(part, new) for part in wrap(marked, inner)], "~", number, look, width, PLAIN)
        for note in _link_notes(parts.words):
            lines += _note(note, look, width)
        if "format" in parts.sorts:
            lines += _note("only the formatting changed", look, width)
        return lines
    before = [word for word in parts.words if word.op != "insert"]
    after = [word for word in parts.words if word.op != "delete"]
    removed = _marked(before, [word.old or word.run for word in before], look, base, {"delete": look.remove_word})
    added = _marked(after, [word.run for word in after], look, base, {"insert": look.add_word})
    out: list[Line] = []
    for sign, pieces in (("-", removed), ("+", added)):
        if any(piece.text.strip() for piece in pieces):
            lines = [Line(part, new) for part in wrap(pieces, inner)]
            out += _gutter(lines, sign, number if sign == "+" else old.lines[0] + 1, look, width, _ground(sign, look))
    return out


def _marked(
    words: Sequence[model.Word], runs: Sequence[Run], look: Look, base: Style | None, styles: dict[str, Style]
) -> list[Piece]:
    out: list[Piece] = []
    for word, part in zip(words, inline_parts(runs, look, base), strict=True):
        style = styles.get(word.op)
        out += part if style is None else [piece._replace(style=piece.style + style) for piece in part]
    return out


def _link_notes(words: Iterable[model.Word]) -> list[str]:
    return list(
        dict.fromkeys(
            f"link: {word.old.link or 'none'} → {word.run.link or 'none'}"
            for word in words
            if word.op == "link" and word.old is not None
        )
    )


def _code(look: Look, block: Block, lines: Sequence[model.Line], width: int) -> list[Line]:
    """Lines of code that changed, with a few around them."""
    near = [False] * len(lines)
    for index, line in enumerate(lines):
        if line.op != "equal":
            for at in range(max(0, index - _CONTEXT), min(len(lines), index + _CONTEXT + 1)):
                near[at] = True
    name = str(block.attrs.get("title") or block.attrs.get("language") or block.kind)
    first = block.lines[0] + 2
    out = _gutter([Line([Piece(name, look.muted, None, True)], block)], " ", block.lines[0] + 1, look, width, PLAIN)
    index = 0
    while index < len(lines):
        if near[index]:
            out += _line(lines[index], look, width, first, block)
            index += 1
            continue
        start = index
        while index < len(lines) and not near[index]:
            index += 1
        words = f"{look.glyphs.more} {index - start} unchanged {'line' if index - start == 1 else 'lines'}"
        out += _gutter([Line([Piece(words, look.muted, None, True)], block)], " ", None, look, width, PLAIN)
    return out


def _source(lines: Sequence[model.Line], look: Look, width: int) -> list[Line]:
    return [each for line in lines for each in _line(line, look, width, 1, None)]


def _line(line: model.Line, look: Look, width: int, first: int, block: Block | None) -> list[Line]:
    def side(sign: str, number: int, text: str, op: str, style: Style) -> list[Line]:
        pieces = [Piece(text.expandtabs(4), look.text)]
        if line.op == "change":
            pieces = [
                Piece(word.run.text.expandtabs(4), look.text + style if word.op == op else look.text)
                for word in line.words
                if word.op in ("equal", op)
            ]
        ground = _ground(sign, look) or (look.panel if block is not None else PLAIN)
        return _gutter([Line(part, block) for part in wrap(pieces, width - GUTTER)], sign, number, look, width, ground)

    out = []
    if line.op == "equal":
        return side(" ", first + line.new_number, line.new, "", PLAIN)
    if line.op in ("delete", "change"):
        out += side("-", first + line.old_number, line.old, "delete", look.remove_word)
    if line.op in ("insert", "change"):
        out += side("+", first + line.new_number, line.new, "insert", look.add_word)
    return out


def _table(setting: Setting, block: Block, parts: model.Table, width: int) -> list[Line]:
    """The rows of a table that changed, below its head; rows between them are counted."""
    look = setting.look
    pairs = parts.columns[:40]
    head = [_cell_words((pair.new or pair.old or _NO_COLUMN).title, look, look.strong) for pair in pairs]
    rows: list[tuple[str, list[list[Piece]]]] = []
    notes: list[str] = []
    for entry in parts.rows:
        match entry:
            case model.Same(new=same):
                words = f"{look.glyphs.more} {len(same)} unchanged {'row' if len(same) == 1 else 'rows'}"
                rows.append(("", [[Piece(words, look.muted, None, True)]]))
            case model.Added(block=row) | model.Moved(new=row, arrives=True):
                rows.append(("+", _row(row, [pair.new_index for pair in pairs], parts, look)))
            case model.Removed(block=row) | model.Moved(old=row):
                rows.append(("-", _row(row, [pair.old_index for pair in pairs], parts, look)))
            case model.Changed(parts=model.Cells(cells=cells)) if not any(_has_words(cell) for cell in cells):
                rows.append(("~", [_changed_cell(cell, "", look) for cell in cells[:40]]))
                notes += [note for cell in cells if cell.words for note in _link_notes(cell.words.words)]
            case model.Changed(parts=model.Cells(cells=cells)):
                rows.append(("-", [_changed_cell(cell, "delete", look) for cell in cells[:40]]))
                rows.append(("+", [_changed_cell(cell, "insert", look) for cell in cells[:40]]))
    full = [row_cells for sign, row_cells in rows if sign]
    aligns = [(pair.new or pair.old or _NO_COLUMN).align for pair in pairs]
    room = width - GUTTER
    grid = fitted([head], full, aligns, room)
    over = max(0, grid.width - room)
    pan = setting.folds.pan(block.key, over)

    def shown(row: list[list[Piece]]) -> list[Line]:
        return [Line(cut(line, pan, pan + room), block) for line in row_lines(row, grid)]

    out = _gutter(shown(head), " ", block.lines[0] + 1, look, width, PLAIN)
    hair = look.glyphs.across * min(room, grid.width)
    out += _gutter([Line([Piece(hair, look.line, None, True)], block)], " ", None, look, width, PLAIN)
    for sign, row_cells in rows:
        lines = shown(row_cells) if sign else [Line(line, block) for line in row_cells]
        out += _gutter(lines, sign or " ", None, look, width, _ground(sign, look))
    if over:
        below = Piece(off_side(*grid.off(pan, room), look.glyphs).rjust(room), look.muted, None, True)
        out += _gutter([Line([below], block)], " ", None, look, width, PLAIN)
    return out + [line for note in dict.fromkeys(notes) for line in _note(note, look, width)]


def _has_words(cell: model.Cell) -> bool:
    return cell.words is not None and "words" in cell.words.sorts


_NO_COLUMN = Column()


def _cell_words(runs: Iterable[Run], look: Look, base: Style | None = None) -> list[Piece]:
    return [piece for part in inline_parts(runs, look, base) for piece in part]


def _row(row: Block, places: Sequence[int | None], parts: model.Table, look: Look) -> list[list[Piece]]:
    out = []
    for place, pair in zip(places, parts.columns, strict=False):
        cell = row.children[place] if place is not None and place < len(row.children) else None
        out.append(cell_pieces(cell, pair.new or pair.old or _NO_COLUMN, look))
    return out


def _changed_cell(cell: model.Cell, op: str, look: Look) -> list[Piece]:
    side = cell.old if op == "delete" else cell.new
    if cell.words is None or side is None:
        return _cell_words(side.runs if side is not None else (), look)
    words = [word for word in cell.words.words if word.op not in ("insert", "delete") or word.op == op]
    runs = [word.old or word.run if op == "delete" else word.run for word in words]
    marks = (
        {"delete": look.remove_word, "insert": look.add_word} if op else {"format": look.cursor, "link": look.cursor}
    )
    return _marked(words, runs, look, None, marks)
