"""A text that changed: its signs, grounds and marks, and what is said about it in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block, Run
from octavo.documents.diff_attributes import changed_run_attributes, describe_whitespace
from octavo.tui.render.diff_sides import GUTTER, Part, SideWidths
from octavo.tui.render.inline import inline_parts
from octavo.tui.render.styled_lines import Line, Piece, cells, indented, on, padded
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap

_IN_ASCII = str.maketrans({"→": "->", "–": "-", "·": "-", "…": "~", "“": '"', "”": '"', "×": "x"})
_LONGEST_VALUE, _PART, _BEFORE = 200, 40, 10
"""Characters of an attribute that are shown, those of a part of a longer one, and of these before what differs."""
_NAMES = {
    "src": "URL",
    "alt": "alternative text",
    "id": "anchor",
    "spaced": "blank lines between items",
    "full_width": "full width",
}
"""Attributes that readers call otherwise."""


def gutter(lines: Iterable[Line], sign: str, number: int | None, look: Styles, width: int) -> list[Line]:
    """Lines behind a number and a sign, on the ground of the sign, which is as wide as the side."""
    return behind(lines, sign, number, look, width, ground_of(sign, look))


def behind(lines: Iterable[Line], sign: str, number: int | None, look: Styles, width: int, ground: Style) -> list[Line]:
    """Lines behind a number and a sign, on a ground as wide as the side. Signs are + and -, ~ for what is changed in
    place, > for what moved, and a blank. The ground wins over those of boxes and of every other row of a table."""
    shown = {"-": look.glyphs.minus, " ": look.glyphs.down, ">": look.glyphs.into}.get(sign, sign)
    inks = {"+": look.success, "-": look.error, "~": look.warning, ">": look.warning}
    ink = inks.get(sign, look.line) + Style(bold=sign != " ")
    out = []
    label = f"{'' if number is None else number:>4} "
    for line in lines:
        pieces = [
            Piece(label, look.muted, None, True),
            Piece(shown, ink, None, True),
            Piece(" ", PLAIN, None, True),
            *(piece._replace(style=piece.style + ground) if _is_box(piece, look) else piece for piece in line.pieces),
        ]
        out.append(Line(padded(on(ground, pieces), width, ground) if ground else pieces, line.block))
        label = "     "
    return out


def _is_box(piece: Piece, look: Styles) -> bool:
    return piece.style.bgcolor is not None and piece.style.bgcolor == look.surface.bgcolor


def ground_of(sign: str, look: Styles) -> Style:
    """The ground of what stands behind a sign."""
    return {"+": look.add_line, "-": look.remove_line}.get(sign, PLAIN)


def note(text: str, look: Styles, width: int, sign: str = "~") -> list[Line]:
    """A sentence about a change."""
    lines = [
        Line(part) for part in wrap([Piece(signs_of(look, text), look.muted + Style(italic=True))], width - GUTTER - 1)
    ]
    return gutter(lines, sign, None, look, width)


def signs_of(look: Styles, text: str) -> str:
    """What is said about a change, in the signs that may be drawn."""
    return text.translate(_IN_ASCII) if look.ascii else text


def notes(
    texts: Iterable[str],
    look: Styles,
    room: SideWidths,
    block: Block | None = None,
    sign: str = "~",
    *,
    was: bool = False,
) -> list[Part]:
    """Sentences about a change, on the new side, or with `was` on the old one."""
    lines = about([line for text in texts for line in note(text, look, room.side, sign)], block)
    if not lines:
        return []
    return [Part(old=lines) if was else Part(new=lines)]


def settings(
    changed: Iterable[model.AttributeChange], kind: str, look: Styles, room: SideWidths, block: Block | None
) -> list[Part]:
    """What became of attributes: in a line each, those of code in as few as they fit, or when that is too short, as it was and
    as it is."""
    out: list[Part] = []
    line = ""
    for each in changed:
        first, comma, rest = each.name.partition(",")
        name = _NAMES.get(first, first) + comma + rest
        name = f"{kind} {name}" if kind in ("heading", "hint", "page", "code") else name
        old, new = _brief(*(" ".join(value.split()) if value is not None else None for value in (each.old, each.new)))
        if old == new:
            old, new = each.old, each.new  # white space is what differs
        text = f"{name}: {'none' if old is None else old} → {'none' if new is None else new}"
        if cells(text) <= room.words:
            longer = f"{line} {look.glyphs.between} {text.removeprefix('code ')}"
            if line and kind == "code" and cells(longer) <= room.words:
                out.pop()
                text = longer
            out += notes([text], look, room, block)
            line = text
            continue
        line = ""
        sides = []
        lead = f"{name}: "
        lead, before = (lead, "") if cells(lead) <= room.words // 2 else ("", lead)
        for sign, value in (("-", old), ("+", new)):
            pieces = [Piece(before + value, look.text)] if value is not None else []
            lines = [Line(part, block) for part in wrap(pieces, room.words - cells(lead))] if pieces else []
            sides.append(gutter(hanging(lines, lead, look), sign, None, look, room.side))
        out.append(Part(sides[0], sides[1]))
    return out


def _brief(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Of values as long as signed addresses are, what differs."""
    if old is None or new is None or min(len(old), len(new)) <= _LONGEST_VALUE:
        return old, new
    same = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(min(old, new, key=len))
    )
    start = max(0, same - _BEFORE)
    return f"…{old[start : start + _PART]}…", f"…{new[start : start + _PART]}…"


def about(lines: list[Line], block: Block | None) -> list[Line]:
    """`lines`, those that are about nothing yet about `block`."""
    for line in lines:
        if line.block is None and line.pieces:
            line.block = block
    return lines


def words(
    look: Styles, old: Block, new: Block, parts: model.TextChange, room: SideWidths, leads: tuple[str, str] = ("", "")
) -> list[Part]:
    """The old text and the new one, or where they look the same only that, and what else differs. `leads` stand before
    their first lines."""
    others = in_place(look)
    sides: list[list[Line]] = []
    for block, lead, op, style in (
        (old, leads[0], "delete", look.remove_word),
        (new, leads[1], "insert", look.add_word),
    ):
        kept = [word for word in parts.words if word.op not in ("insert", "delete") or word.op == op]
        runs = [word.old or word.run if op == "delete" else word.run for word in kept]
        base = look.heading(int(block.attrs.get("level", 2))) if block.kind == "heading" else None
        pieces = marked(kept, runs, look, base, {op: style, **others})
        rows = wrap(pieces, room.words - cells(lead)) if any(piece.text.strip() for piece in pieces) else []
        sides.append(hanging([Line(row, block) for row in rows], lead, look))
    said = list(changed_run_attributes(parts.words))
    is_same = looks_the_same(*sides)
    if is_same and "words" in parts.sorts:
        said.append(unseen(parts.words))
    is_same = is_same or "words" not in parts.sorts
    signs = ("-", "+") if not is_same else ("~", "~") if parts.sorts else (" ", " ")
    numbered = [
        gutter(lines, sign, block.lines[0] + 1, look, room.side)
        for lines, sign, block in zip(([] if room.only_new else sides[0], sides[1]), signs, (old, new), strict=True)
    ]
    return [Part(numbered[0], numbered[1], is_same=is_same), *settings(said, "", look, room, new)]


def looks_the_same(old: Sequence[Line], new: Sequence[Line]) -> bool:
    """Whether two sides show the same words."""
    return [line.text.rstrip() for line in old] == [line.text.rstrip() for line in new]


def unseen(words: Iterable[model.TextPart]) -> model.AttributeChange:
    """What came and went in a text that looks the same."""
    gone, come = ("".join(word.run.text for word in words if word.op == op) for op in ("delete", "insert"))
    return model.AttributeChange(
        "invisible characters", *(describe_whitespace(text) if not text.strip() else text for text in (gone, come))
    )


def in_place(look: Styles) -> dict[str, Style]:
    """The marks of words that stayed, and look otherwise or lead elsewhere now."""
    style = Style(reverse=True) if look.mono else look.cursor
    return {"format": style, "link": style}


def hanging(lines: list[Line], lead: str, look: Styles) -> list[Line]:
    """`lines` behind what stands before the first of them."""
    if not lead:
        return lines
    return indented(lines, [Piece(lead, look.muted, None, True)], [Piece(" " * cells(lead), PLAIN, None, True)])


def marked(
    words: Sequence[model.TextPart], runs: Sequence[Run], look: Styles, base: Style | None, styles: dict[str, Style]
) -> list[Piece]:
    """Runs in the style their words' fate asks for."""
    out: list[Piece] = []
    for word, part in zip(words, inline_parts(runs, look, base), strict=True):
        style = styles.get(word.op)
        out += part if style is None else [piece._replace(style=piece.style + style) for piece in part]
    return out
