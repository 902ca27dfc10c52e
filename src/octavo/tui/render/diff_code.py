"""Lines of code and of source that changed, with a few around them, in the colours of their language."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block
from octavo.tui.render.code import coloured, tokens_of, wrapped
from octavo.tui.render.diff_sides import Part, SideWidths, exchanged
from octavo.tui.render.diff_units import near_changes
from octavo.tui.render.diff_words import behind, ground_of, gutter, in_place, settings, unseen
from octavo.tui.render.highlight import Tokens
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, fit, steady
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap


def changed_code(
    setting: LayoutContext, old: Block, new: Block, lines: Sequence[model.LineChange], room: SideWidths, part: int = 0
) -> list[Part]:
    """Lines of code that changed, with a few around them, or those of its slice `part`."""
    look, tokens = setting.look, [tokens_of(setting, block) or [] for block in (old, new)]
    was, now = (_said(_title(block), block, block.lines[0] + 1, look, room) for block in (old, new))
    parts = [Part(was, now, is_same=True)] if part < 2 else []
    for line in lines if part else near_changes(lines):
        if not line.untold:
            parts += _line(line, look, room, (old, new), tokens)
            continue
        words = f"{look.glyphs.more} {line.untold} unchanged {'line' if line.untold == 1 else 'lines'}"
        was, now = (_said(words, block, None, look, room) for block in (old, new))
        parts.append(Part(was, now, is_same=True))
    return exchanged(parts, room)


def _title(block: Block) -> str:
    return str(block.attrs.get("title") or block.attrs.get("language") or block.kind)


def _said(words: str, block: Block | None, number: int | None, look: Styles, room: SideWidths) -> list[Line]:
    pieces = fit([Piece(words, look.muted, None, True)], room.words, look.glyphs.more)
    return gutter([Line(pieces, block)], " ", number, look, room.side)


def changed_source(lines: Sequence[model.LineChange], look: Styles, room: SideWidths) -> list[Part]:
    """Lines of source, those that changed in both sides."""
    return exchanged((part for line in lines for part in _line(line, look, room, (None, None), ([], []))), room)


def _line(
    line: model.LineChange,
    look: Styles,
    room: SideWidths,
    blocks: tuple[Block | None, Block | None],
    tokens: Sequence[Tokens],
) -> list[Part]:
    def side(sign: str, at: int, style: Style) -> list[Line]:
        if room.only_new and not at:
            return []
        number, text, op = ((line.old_number, line.old, "delete"), (line.new_number, line.new, "insert"))[at]
        words = [(style if word.op == op else PLAIN, word.run.text) for word in line.words if word.op in ("equal", op)]
        row = tokens[at][number] if number < len(tokens[at]) else []
        pieces = _pieces(row if "".join(part for _, part in row) == text else [("", text)], words, look)
        block = blocks[at]
        ground = ground_of(sign, look) or (look.panel if block is not None else PLAIN)
        first = block.text_line + 1 if block is not None else 1
        rows = wrap(pieces, room.words) if block is None else wrapped(pieces, room.words, look)
        lines = [Line(part, block) for part in rows]
        return behind(lines, sign, first + number, look, room.side, ground)

    if line.op == "equal":
        return [Part(side(" ", 0, PLAIN), side(" ", 1, PLAIN), is_same=True)]
    if line.op == "change" and _as_shown(line.old) == _as_shown(line.new):
        said = settings([unseen(line.words)], "", look, room, blocks[1])
        return [
            Part(side("~", 0, in_place(look)["format"]), side("~", 1, in_place(look)["format"]), is_same=True),
            *said,
        ]
    part = Part()
    if line.op in ("delete", "change"):
        part.old = side("-", 0, look.remove_word)
    if line.op in ("insert", "change"):
        part.new = side("+", 1, look.add_word)
    return [part]


def _as_shown(text: str) -> str:
    return steady(text.expandtabs(4)).rstrip()


def _pieces(tokens: Sequence[tuple[str, str]], words: Sequence[tuple[Style, str]], look: Styles) -> list[Piece]:
    """A line in the colours of its language, words that are new or gone marked over them, tabs as blanks."""
    marks = iter(words)
    mark, left = next(marks, (PLAIN, ""))
    out: list[Piece] = []
    at = 0
    for kind, text in tokens:
        while text:
            length = min(len(text), len(left)) or len(text)
            part, text, left = text[:length], text[length:], left[length:]
            spread = (" " * at + part).expandtabs(4)[at:]
            at += len(spread)
            out.append(Piece(steady(spread), coloured(kind, look) + mark))
            if not left:
                mark, left = next(marks, (PLAIN, ""))
    return out or [Piece("", look.text)]
