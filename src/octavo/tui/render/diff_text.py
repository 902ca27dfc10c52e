"""Rendering of changed text, code and source, with the changed words marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block, Run
from octavo.documents.diff_attributes import changed_run_attributes, describe_whitespace
from octavo.tui.render.code import code_tokens, token_style, wrap_code
from octavo.tui.render.comparison import near_changes
from octavo.tui.render.diff_sides import (
    SidePair,
    SideWidths,
    add_gutter,
    add_gutter_on,
    hang_indent,
    merge_replacements,
    render_setting_changes,
    sign_background,
)
from octavo.tui.render.highlight import Tokens
from octavo.tui.render.inline import render_each_run
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, cells, flatten_emoji, truncate
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap


def render_word_changes(
    styles: Styles,
    old: Block,
    new: Block,
    parts: model.TextChange,
    room: SideWidths,
    prefixes: tuple[str, str] = ("", ""),
) -> list[SidePair]:
    """Render the old and the new text, or only one of them if they look the same, and the settings that differ.
    `prefixes` go before the first line of each side."""
    others = in_place_styles(styles)
    sides: list[list[Line]] = []
    for block, prefix, op, style in (
        (old, prefixes[0], "delete", styles.remove_word),
        (new, prefixes[1], "insert", styles.add_word),
    ):
        kept = [word for word in parts.words if word.op not in ("insert", "delete") or word.op == op]
        runs = [word.old or word.run if op == "delete" else word.run for word in kept]
        base = styles.heading(int(block.attrs.get("level", 2))) if block.kind == "heading" else None
        pieces = mark_words(kept, runs, styles, base, {op: style, **others})
        rows = wrap(pieces, room.text_width - cells(prefix)) if any(piece.text.strip() for piece in pieces) else []
        sides.append(hang_indent([Line(row, block) for row in rows], prefix, styles))
    text = list(changed_run_attributes(parts.words))
    is_same = look_the_same(*sides)
    if is_same and "words" in parts.kinds:
        text.append(invisible_change(parts.words))
    is_same = is_same or "words" not in parts.kinds
    signs = ("-", "+") if not is_same else ("~", "~") if parts.kinds else (" ", " ")
    numbered = [
        add_gutter(lines, sign, block.lines[0] + 1, styles, room.side)
        for lines, sign, block in zip(([] if room.only_new else sides[0], sides[1]), signs, (old, new), strict=True)
    ]
    return [SidePair(numbered[0], numbered[1], is_same=is_same), *render_setting_changes(text, "", styles, room, new)]


def look_the_same(old: Sequence[Line], new: Sequence[Line]) -> bool:
    """Return whether two sides show the same text."""
    return [line.text.rstrip() for line in old] == [line.text.rstrip() for line in new]


def invisible_change(words: Iterable[model.TextPart]) -> model.AttributeChange:
    """Return a change of invisible characters as a change of settings."""
    removed, added = ("".join(word.run.text for word in words if word.op == op) for op in ("delete", "insert"))
    return model.AttributeChange(
        "invisible characters", *(describe_whitespace(text) if not text.strip() else text for text in (removed, added))
    )


def in_place_styles(styles: Styles) -> dict[str, Style]:
    """Return the styles of unchanged words with a changed format or link."""
    style = Style(reverse=True) if styles.mono else styles.cursor
    return {"format": style, "link": style}


def mark_words(
    words: Sequence[model.TextPart],
    runs: Sequence[Run],
    styles: Styles,
    base: Style | None,
    word_styles: dict[str, Style],
) -> list[Piece]:
    """Return runs as styled text, with the style of each operation on its words."""
    out: list[Piece] = []
    for word, part in zip(words, render_each_run(runs, styles, base), strict=True):
        style = word_styles.get(word.op)
        out += part if style is None else [piece._replace(style=piece.style + style) for piece in part]
    return out


def render_code_change(
    context: LayoutContext, old: Block, new: Block, lines: Sequence[model.LineChange], room: SideWidths, part: int = 0
) -> list[SidePair]:
    """Render the changed lines of code and the lines around them, or the lines of slice number `part`."""
    styles, tokens = context.styles, [code_tokens(context, block) or [] for block in (old, new)]
    was, now = (_muted_line(_title(block), block, block.lines[0] + 1, styles, room) for block in (old, new))
    parts = [SidePair(was, now, is_same=True)] if part < 2 else []
    for line in lines if part else near_changes(lines):
        if not line.omitted:
            parts += _render_line(line, styles, room, (old, new), tokens)
            continue
        words = f"{styles.glyphs.more} {line.omitted} unchanged {'line' if line.omitted == 1 else 'lines'}"
        was, now = (_muted_line(words, block, None, styles, room) for block in (old, new))
        parts.append(SidePair(was, now, is_same=True))
    return merge_replacements(parts, room)


def _title(block: Block) -> str:
    return str(block.attrs.get("title") or block.attrs.get("language") or block.kind)


def _muted_line(words: str, block: Block | None, number: int | None, styles: Styles, room: SideWidths) -> list[Line]:
    pieces = truncate([Piece(words, styles.muted, None, True)], room.text_width, styles.glyphs.more)
    return add_gutter([Line(pieces, block)], " ", number, styles, room.side)


def render_source_change(lines: Sequence[model.LineChange], styles: Styles, room: SideWidths) -> list[SidePair]:
    """Render the lines of a hunk of a source diff."""
    return merge_replacements(
        (part for line in lines for part in _render_line(line, styles, room, (None, None), ([], []))), room
    )


def _render_line(
    line: model.LineChange,
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
        text = render_setting_changes([invisible_change(line.words)], "", styles, room, blocks[1])
        return [
            SidePair(
                side("~", 0, in_place_styles(styles)["format"]),
                side("~", 1, in_place_styles(styles)["format"]),
                is_same=True,
            ),
            *text,
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
    """Return a line of code with syntax colors, its changed words marked, and tabs as spaces."""
    marks = iter(words)
    mark, left = next(marks, (PLAIN, ""))
    out: list[Piece] = []
    at = 0
    for kind, text in tokens:
        while text:
            length = min(len(text), len(left)) or len(text)
            part, text, left = text[:length], text[length:], left[length:]
            expanded = (" " * at + part).expandtabs(4)[at:]
            at += len(expanded)
            out.append(Piece(flatten_emoji(expanded), token_style(kind, styles) + mark))
            if not left:
                mark, left = next(marks, (PLAIN, ""))
    return out or [Piece("", styles.text)]
