"""Code in its box: title, language, numbers, marked lines, notes; wide code moves instead of breaking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import begins, cut_of, ends, whole_of
from octavo.tui.render.highlight import Tokens, code_of
from octavo.tui.render.inline import raised
from octavo.tui.render.kept_results import KeptResults
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import (
    Line,
    Piece,
    Spot,
    box,
    cells,
    cut,
    indented,
    off_side,
    panned,
    steady,
    width_of,
)
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import headed, wrap

FOLDED_LINES = 10
"""How many lines of an expandable block of code show before it is opened."""
_MEASURED_ROWS = 50


class CodeShape(NamedTuple):
    """How much room the rows of a block of code need."""

    rows: int
    longest: int
    """Cells of the longest row."""
    noted: Mapping[int, int]
    """Cells of each row that has a note, by its number."""


_shapes: KeptResults[Block, CodeShape] = KeptResults()


def code(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A block of code."""
    look, attrs, cut_at = setting.look, block.attrs, cut_of(block)
    rows = steady(block.text).expandtabs(4).split("\n")
    first = cut_at.start if cut_at is not None else 0
    whole = CodeShape(len(rows), 0, {}) if cut_at is None else shape(cut_at.whole)
    count = whole.rows
    fold = None
    if attrs.get("expandable") and count > FOLDED_LINES + 2:
        fold = Spot("fold", block.key)
        rows = rows if setting.folds.is_open(block) else rows[: max(0, FOLDED_LINES - first)]
        if not rows:
            return []
    hidden = count - FOLDED_LINES if fold is not None and not setting.folds.is_open(block) else 0
    gutter = len(str(count)) + 1 if attrs.get("numbers") else 0
    # A row that is cut is too long to be moved about in.
    is_part = cut_at is not None and cut_at.is_part
    wraps = (bool(attrs.get("wrap")) and not setting.whole_code) or is_part
    notes = {int(line) - first: _note(str(label), look) for line, label in attrs.get("notes") or ()}
    noted = whole.noted if cut_at is not None else {line: cells(rows[line]) for line in notes if 0 <= line < len(rows)}
    with_notes = [noted.get(first + line, 0) + cells(note.text) for line, note in notes.items()]
    longest = max(whole.longest, *map(cells, rows), *with_notes)
    needed, room = longest + gutter + 4, setting.wide(width)
    # More room does not help a reader of rows that are broken all the same.
    full = width if wraps and needed > room else max(width, min(room, needed))
    inner = full - 4 - gutter
    over = 0 if wraps else max(0, longest - inner)
    pan = 0 if is_part else setting.folds.pan(block.key, over)
    language = str(attrs.get("language") or "")
    tokens = tokens_of(setting, block)
    if tokens is not None and "\t" in block.text:
        tokens = _without_tabs(tokens)
    marked = frozenset(attrs.get("highlighted") or ())
    is_within = cut_at is not None and cut_at.is_within
    lines: list[Line] = []
    for number, row in enumerate(rows, first):
        pieces = _coloured(tokens[number], look) if tokens and number < len(tokens) else [Piece(row, look.text)]
        if number - first in notes:
            pieces.append(notes[number - first])
        parts = (
            wrapped(pieces, inner, look)
            if wraps
            else [panned(pieces, pan, inner, look.glyphs.more) if over else pieces]
        )
        for index, part in enumerate(parts):
            before = []
            if gutter:
                begun = index == 0 and not (is_within and number == first)
                mark = str(number + 1).rjust(gutter - 1) + " " if begun else " " * gutter
                before.append(Piece(mark, look.muted, None, True))
            line = Line(before + part)
            if number in marked:
                _mark(line, look, full - 4)
            lines.append(line)
    title = _title(block, look)
    right = [Piece(language, look.muted, None, True)] if language and title else []
    if not title and (language or not block.text.strip()):
        title = [Piece(language or "empty", look.muted, None, True)]
    title, lines = headed(title, lines, full)
    return box(
        lines,
        full,
        look,
        title=title,
        right=right,
        foot=_foot(fold, hidden, over, pan, look, full - 8),
        ground=look.surface,
        edges=(begins(block), ends(block) or bool(hidden)),
    )


def shape(block: Block) -> CodeShape:
    """Return how much room the rows of long code need. Only the rows with most bytes are measured: a letter of two cells
    has three bytes or four. The result is kept: it takes as long as a frame for a hundred thousand rows."""
    if (known := _shapes.of(block)) is not None:
        return known
    rows = block.text.expandtabs(4).split("\n")
    longest = nlargest(_MEASURED_ROWS, rows, key=len if block.text.isascii() else _most_cells)
    noted = [int(line) for line, _ in block.attrs.get("notes") or () if 0 <= int(line) < len(rows)]
    return _shapes.keep(
        block,
        CodeShape(len(rows), max(map(_steady_cells, longest)), {line: _steady_cells(rows[line]) for line in noted}),
    )


def _most_cells(row: str) -> int:
    return (len(row) + len(row.encode(errors="replace"))) // 2


def _steady_cells(row: str) -> int:
    return cells(steady(row))


def _note(label: str, look: Styles) -> Piece:
    """The mark of a note about a line of code."""
    mark = f" [{label}]" if look.ascii or not label.isdigit() else f" {raised(label)}"
    return Piece(mark, look.accent, Spot("note", label), True)


def wrapped(pieces: list[Piece], width: int, look: Styles) -> list[list[Piece]]:
    """A row of code in lines; those after the first stand a little farther in than the row does."""
    if width_of(pieces) <= width:
        return [pieces]
    row = "".join([piece.text for piece in pieces])
    blank = len(row) - len(row.lstrip(" "))
    indent = min(blank, width // 2)
    # The blanks are no word of it: wrapped with the rest they would be dropped where the first word is long.
    first, *rest = wrap(cut(pieces, blank, width_of(pieces)), width - indent - 2)
    sign = [Piece(" " * indent, PLAIN, None, True), Piece(f"{look.glyphs.reply} ", look.muted, None, True)]
    return [[*cut(pieces, 0, indent), *first], *(sign + part for part in rest)]


def tokens_of(setting: LayoutContext, block: Block) -> Tokens | None:
    """The lines of a block of code in tokens. None where there are no colours, or they are not known yet."""
    if setting.look.mono or setting.sources is None or setting.sources.tokens is None:
        return None
    code = code_of(str(block.attrs.get("language") or ""), whole_of(block).text)
    return setting.sources.tokens.get(code) if code is not None else None


def _title(block: Block, look: Styles) -> Sequence[Piece]:
    title = str(block.attrs.get("title") or "")
    if not begins(block):
        return []
    if block.attrs.get("source"):
        title = "Shown as source: too large or too deeply nested to format"
    return [Piece(" ".join(title.split()), look.strong)] if title.strip() else []


def _foot(fold: Spot | None, hidden: int, over: int, pan: int, look: Styles, room: int) -> list[Piece]:
    glyphs = look.glyphs
    out = [Piece(off_side(pan, over - pan, glyphs), look.muted, None, True)] if over else []
    if fold is None:
        return out
    words = (
        f"{glyphs.closed} {hidden} more {'line' if hidden == 1 else 'lines'}"
        if hidden
        else f"{glyphs.opened} fewer lines"
    )
    lines = [Piece(words, look.accent, fold, True)]
    both = [*lines, Piece(f" {glyphs.between} ", look.muted, None, True), *out] if out else lines
    return both if width_of(both) <= room else lines


def _mark(line: Line, look: Styles, width: int) -> None:
    style = Style(bold=True) if look.mono else look.cursor
    blank = width - width_of(line.pieces)
    pieces = [Piece(text, own + style, spot, furniture) for text, own, spot, furniture in line.pieces]
    line.pieces = [*pieces, Piece(" " * blank, style, None, True)] if blank > 0 else pieces


def _coloured(tokens: list[tuple[str, str]], look: Styles) -> list[Piece]:
    return [Piece(steady(text), coloured(kind, look)) for kind, text in tokens if text]


def coloured(kind: str, look: Styles) -> Style:
    """How a token of a kind looks."""
    match kind:
        case "keyword":
            return look.accent
        case "string" | "added":
            return look.success
        case "number":
            return look.warning
        case "comment":
            return look.muted + Style(italic=True)
        case "name" | "heading":
            return look.strong
        case "removed":
            return look.error
    return look.text


def _without_tabs(tokens: Tokens) -> Tokens:
    out: Tokens = []
    for row in tokens:
        at = 0
        line = []
        for kind, text in row:
            spread = (" " * at + text).expandtabs(4)[at:] if "\t" in text else text
            at += len(spread)
            line.append((kind, spread))
        out.append(line)
    return out


def prompt(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A prompt to copy: what it is for, and its text as much as it says."""
    look, glyphs = setting.look, setting.look.glyphs
    what = steady(" ".join(str(block.attrs.get("description") or "Prompt").split()))
    is_open = setting.folds.opened.get(block.key, block.attrs.get("expanded", "partial") != "hidden")
    sign = glyphs.opened if is_open else glyphs.closed
    titled = [Line(pieces) for pieces in wrap([Piece(what, look.strong)], width - 2)] if begins(block) else []
    fold = Piece(f"{sign} ", look.accent, Spot("fold", block.key), True)
    head = indented(titled, [fold], [Piece("  ", PLAIN, None, True)])
    if not is_open:
        return head
    cut_at = cut_of(block)
    text = (block.text or "\n".join(child.plain() for child in block.children)).expandtabs(4)
    rows = [Line(part) for row in text.split("\n") for part in wrap([Piece(row, look.text)], width - 4)]
    if block.attrs.get("expanded", "partial") == "partial" and block.key not in setting.folds.opened:
        if not begins(block):
            return []
        below = setting.known("rows", cut_at.whole, _rows_of) - text.count("\n") - 1 if cut_at is not None else 0
        more = len(rows) - FOLDED_LINES + below
        if more > 0:
            words = f"{glyphs.closed} {more} more {'line' if more == 1 else 'lines'}"
            foot = [Piece(words, look.accent, Spot("fold", block.key), True)]
            return [*head, *box(rows[:FOLDED_LINES], width, look, foot=foot, ground=look.surface)]
    body = box(rows, width, look, ground=look.surface, edges=(begins(block), ends(block)))
    return [*head, *body]


def _rows_of(block: Block) -> int:
    return sum(child.plain().count("\n") + 1 for child in block.children)
