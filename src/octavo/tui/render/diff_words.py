"""A text that changed: its signs, grounds and marks, and what is said about it in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from octavo.documents import changes as model
from octavo.documents.blocks import Block, Run
from octavo.documents.setting_diff import changed_runs, in_words
from octavo.tui.render.diff_sides import GUTTER, SidePair, SideWidths
from octavo.tui.render.inline import render_each_run
from octavo.tui.render.styled_lines import Line, Piece, cells, indent, pad, with_background
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap

_ASCII_SIGNS = str.maketrans({"→": "->", "–": "-", "·": "-", "…": "~", "“": '"', "”": '"', "×": "x"})
_LONGEST_VALUE, _EXCERPT, _EXCERPT_LEAD = 200, 40, 10
"""Characters of an attribute that are shown, those of a part of a longer one, and of these before what differs."""
_ATTRIBUTE_NAMES = {
    "src": "URL",
    "alt": "alternative text",
    "id": "anchor",
    "spaced": "blank lines between items",
    "full_width": "full width",
}
"""Attributes that readers call otherwise."""


def add_gutter(lines: Iterable[Line], sign: str, number: int | None, styles: Styles, width: int) -> list[Line]:
    """Lines behind a number and a sign, on the ground of the sign, which is as wide as the side."""
    return add_gutter_on(lines, sign, number, styles, width, sign_background(sign, styles))


def add_gutter_on(
    lines: Iterable[Line], sign: str, number: int | None, styles: Styles, width: int, ground: Style
) -> list[Line]:
    """Lines behind a number and a sign, on a ground as wide as the side. Signs are + and -, ~ for what is changed in
    place, > for what moved, and a blank. The ground wins over those of boxes and of every other row of a table."""
    shown = {"-": styles.glyphs.minus, " ": styles.glyphs.down, ">": styles.glyphs.into}.get(sign, sign)
    inks = {"+": styles.success, "-": styles.error, "~": styles.warning, ">": styles.warning}
    ink = inks.get(sign, styles.line) + Style(bold=sign != " ")
    out = []
    label = f"{'' if number is None else number:>4} "
    for line in lines:
        pieces = [
            Piece(label, styles.muted, None, True),
            Piece(shown, ink, None, True),
            Piece(" ", PLAIN, None, True),
            *(
                piece._replace(style=piece.style + ground) if _is_box_background(piece, styles) else piece
                for piece in line.pieces
            ),
        ]
        out.append(Line(pad(with_background(ground, pieces), width, ground) if ground else pieces, line.block))
        label = "     "
    return out


def _is_box_background(piece: Piece, styles: Styles) -> bool:
    return piece.style.bgcolor is not None and piece.style.bgcolor == styles.surface.bgcolor


def sign_background(sign: str, styles: Styles) -> Style:
    """The ground of what stands behind a sign."""
    return {"+": styles.add_line, "-": styles.remove_line}.get(sign, PLAIN)


def note_lines(text: str, styles: Styles, width: int, sign: str = "~") -> list[Line]:
    """A sentence about a change."""
    lines = [
        Line(part)
        for part in wrap([Piece(drawable_text(styles, text), styles.muted + Style(italic=True))], width - GUTTER - 1)
    ]
    return add_gutter(lines, sign, None, styles, width)


def drawable_text(styles: Styles, text: str) -> str:
    """What is said about a change, in the signs that may be drawn."""
    return text.translate(_ASCII_SIGNS) if styles.ascii else text


def note_sides(
    texts: Iterable[str],
    styles: Styles,
    room: SideWidths,
    block: Block | None = None,
    sign: str = "~",
    *,
    was: bool = False,
) -> list[SidePair]:
    """Sentences about a change, on the new side, or with `was` on the old one."""
    lines = assign_block([line for text in texts for line in note_lines(text, styles, room.side, sign)], block)
    if not lines:
        return []
    return [SidePair(old=lines) if was else SidePair(new=lines)]


def render_setting_changes(
    changed: Iterable[model.Setting], kind: str, styles: Styles, room: SideWidths, block: Block | None
) -> list[SidePair]:
    """What became of attributes: in a line each, those of code in as few as they fit, or when that is too short, as it was and
    as it is."""
    out: list[SidePair] = []
    line = ""
    for each in changed:
        first, comma, rest = each.name.partition(",")
        name = _ATTRIBUTE_NAMES.get(first, first) + comma + rest
        name = f"{kind} {name}" if kind in ("heading", "hint", "page", "code") else name
        old, new = _shorten_values(
            *(" ".join(value.split()) if value is not None else None for value in (each.old, each.new))
        )
        if old == new:
            old, new = each.old, each.new  # white space is what differs
        text = f"{name}: {'none' if old is None else old} → {'none' if new is None else new}"
        if cells(text) <= room.text_width:
            longer = f"{line} {styles.glyphs.between} {text.removeprefix('code ')}"
            if line and kind == "code" and cells(longer) <= room.text_width:
                out.pop()
                text = longer
            out += note_sides([text], styles, room, block)
            line = text
            continue
        line = ""
        sides = []
        lead = f"{name}: "
        lead, before = (lead, "") if cells(lead) <= room.text_width // 2 else ("", lead)
        for sign, value in (("-", old), ("+", new)):
            pieces = [Piece(before + value, styles.text)] if value is not None else []
            lines = [Line(part, block) for part in wrap(pieces, room.text_width - cells(lead))] if pieces else []
            sides.append(add_gutter(hang_indent(lines, lead, styles), sign, None, styles, room.side))
        out.append(SidePair(sides[0], sides[1]))
    return out


def _shorten_values(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Of values as long as signed addresses are, what differs."""
    if old is None or new is None or min(len(old), len(new)) <= _LONGEST_VALUE:
        return old, new
    same = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(min(old, new, key=len))
    )
    start = max(0, same - _EXCERPT_LEAD)
    return f"…{old[start : start + _EXCERPT]}…", f"…{new[start : start + _EXCERPT]}…"


def assign_block(lines: list[Line], block: Block | None) -> list[Line]:
    """`lines`, those that are about nothing yet about `block`."""
    for line in lines:
        if line.block is None and line.pieces:
            line.block = block
    return lines


def render_word_changes(
    styles: Styles, old: Block, new: Block, parts: model.Words, room: SideWidths, leads: tuple[str, str] = ("", "")
) -> list[SidePair]:
    """The old text and the new one, or where they look the same only that, and what else differs. `leads` stand before
    their first lines."""
    others = in_place_styles(styles)
    sides: list[list[Line]] = []
    for block, lead, op, style in (
        (old, leads[0], "delete", styles.remove_word),
        (new, leads[1], "insert", styles.add_word),
    ):
        kept = [word for word in parts.words if word.op not in ("insert", "delete") or word.op == op]
        runs = [word.old or word.run if op == "delete" else word.run for word in kept]
        base = styles.heading(int(block.attrs.get("level", 2))) if block.kind == "heading" else None
        pieces = mark_words(kept, runs, styles, base, {op: style, **others})
        rows = wrap(pieces, room.text_width - cells(lead)) if any(piece.text.strip() for piece in pieces) else []
        sides.append(hang_indent([Line(row, block) for row in rows], lead, styles))
    said = list(changed_runs(parts.words))
    is_same = look_the_same(*sides)
    if is_same and "words" in parts.sorts:
        said.append(invisible_change(parts.words))
    is_same = is_same or "words" not in parts.sorts
    signs = ("-", "+") if not is_same else ("~", "~") if parts.sorts else (" ", " ")
    numbered = [
        add_gutter(lines, sign, block.lines[0] + 1, styles, room.side)
        for lines, sign, block in zip(([] if room.only_new else sides[0], sides[1]), signs, (old, new), strict=True)
    ]
    return [SidePair(numbered[0], numbered[1], is_same=is_same), *render_setting_changes(said, "", styles, room, new)]


def look_the_same(old: Sequence[Line], new: Sequence[Line]) -> bool:
    """Whether two sides show the same words."""
    return [line.text.rstrip() for line in old] == [line.text.rstrip() for line in new]


def invisible_change(words: Iterable[model.Word]) -> model.Setting:
    """What came and went in a text that looks the same."""
    gone, come = ("".join(word.run.text for word in words if word.op == op) for op in ("delete", "insert"))
    return model.Setting(
        "invisible characters", *(in_words(text) if not text.strip() else text for text in (gone, come))
    )


def in_place_styles(styles: Styles) -> dict[str, Style]:
    """The marks of words that stayed, and look otherwise or lead elsewhere now."""
    style = Style(reverse=True) if styles.mono else styles.cursor
    return {"format": style, "link": style}


def hang_indent(lines: list[Line], lead: str, styles: Styles) -> list[Line]:
    """`lines` behind what stands before the first of them."""
    if not lead:
        return lines
    return indent(lines, [Piece(lead, styles.muted, None, True)], [Piece(" " * cells(lead), PLAIN, None, True)])


def mark_words(
    words: Sequence[model.Word], runs: Sequence[Run], styles: Styles, base: Style | None, word_styles: dict[str, Style]
) -> list[Piece]:
    """Runs in the style their words' fate asks for."""
    out: list[Piece] = []
    for word, part in zip(words, render_each_run(runs, styles, base), strict=True):
        style = word_styles.get(word.op)
        out += part if style is None else [piece._replace(style=piece.style + style) for piece in part]
    return out
