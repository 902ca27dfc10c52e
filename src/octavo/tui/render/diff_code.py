"""Lines of code and of source that changed, with a few around them, in the colours of their language."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from octavo.documents import changes as model
from octavo.documents.blocks import Block
from octavo.tui.render.code import code_tokens, token_style, wrap_code
from octavo.tui.render.diff_sides import SidePair, SideWidths, merge_replacements
from octavo.tui.render.diff_units import near_changes
from octavo.tui.render.diff_words import (
    add_gutter,
    add_gutter_on,
    in_place_styles,
    invisible_change,
    render_setting_changes,
    sign_background,
)
from octavo.tui.render.highlight import Tokens
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, flatten_emoji, truncate
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap


def render_code_change(
    context: LayoutContext, old: Block, new: Block, lines: Sequence[model.Line], room: SideWidths, part: int = 0
) -> list[SidePair]:
    """Lines of code that changed, with a few around them, or those of its slice `part`."""
    styles, tokens = context.styles, [code_tokens(context, block) or [] for block in (old, new)]
    was, now = (_muted_line(_title(block), block, block.lines[0] + 1, styles, room) for block in (old, new))
    parts = [SidePair(was, now, is_same=True)] if part < 2 else []
    for line in lines if part else near_changes(lines):
        if not line.untold:
            parts += _render_line(line, styles, room, (old, new), tokens)
            continue
        words = f"{styles.glyphs.more} {line.untold} unchanged {'line' if line.untold == 1 else 'lines'}"
        was, now = (_muted_line(words, block, None, styles, room) for block in (old, new))
        parts.append(SidePair(was, now, is_same=True))
    return merge_replacements(parts, room)


def _title(block: Block) -> str:
    return str(block.attrs.get("title") or block.attrs.get("language") or block.kind)


def _muted_line(words: str, block: Block | None, number: int | None, styles: Styles, room: SideWidths) -> list[Line]:
    pieces = truncate([Piece(words, styles.muted, None, True)], room.text_width, styles.glyphs.more)
    return add_gutter([Line(pieces, block)], " ", number, styles, room.side)


def render_source_change(lines: Sequence[model.Line], styles: Styles, room: SideWidths) -> list[SidePair]:
    """Lines of source, those that changed in both sides."""
    return merge_replacements(
        (part for line in lines for part in _render_line(line, styles, room, (None, None), ([], []))), room
    )


def _render_line(
    line: model.Line,
    styles: Styles,
    room: SideWidths,
    blocks: tuple[Block | None, Block | None],
    tokens: Sequence[Tokens],
) -> list[SidePair]:
    def side(sign: str, at: int, style: Style) -> list[Line]:
        if room.only_new and not at:
            return []
        number, text, op = ((line.old_number, line.old, "delete"), (line.new_number, line.new, "insert"))[at]
        words = [(style if word.op == op else PLAIN, word.run.text) for word in line.words if word.op in ("equal", op)]
        row = tokens[at][number] if number < len(tokens[at]) else []
        pieces = _pieces(row if "".join(part for _, part in row) == text else [("", text)], words, styles)
        block = blocks[at]
        ground = sign_background(sign, styles) or (styles.panel if block is not None else PLAIN)
        first = block.text_line + 1 if block is not None else 1
        rows = wrap(pieces, room.text_width) if block is None else wrap_code(pieces, room.text_width, styles)
        lines = [Line(part, block) for part in rows]
        return add_gutter_on(lines, sign, first + number, styles, room.side, ground)

    if line.op == "equal":
        return [SidePair(side(" ", 0, PLAIN), side(" ", 1, PLAIN), is_same=True)]
    if line.op == "change" and _displayed_text(line.old) == _displayed_text(line.new):
        said = render_setting_changes([invisible_change(line.words)], "", styles, room, blocks[1])
        return [
            SidePair(
                side("~", 0, in_place_styles(styles)["format"]),
                side("~", 1, in_place_styles(styles)["format"]),
                is_same=True,
            ),
            *said,
        ]
    part = SidePair()
    if line.op in ("delete", "change"):
        part.old = side("-", 0, styles.remove_word)
    if line.op in ("insert", "change"):
        part.new = side("+", 1, styles.add_word)
    return [part]


def _displayed_text(text: str) -> str:
    return flatten_emoji(text.expandtabs(4)).rstrip()


def _pieces(tokens: Sequence[tuple[str, str]], words: Sequence[tuple[Style, str]], styles: Styles) -> list[Piece]:
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
            out.append(Piece(flatten_emoji(spread), token_style(kind, styles) + mark))
            if not left:
                mark, left = next(marks, (PLAIN, ""))
    return out or [Piece("", styles.text)]
