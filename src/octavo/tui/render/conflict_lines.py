"""A conflict as lines: what both sides made of what they come from, their words that are new marked, and what becomes
of it: the words that will be sent, with what is not as in main marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.style import Style

from octavo.documents.merging.merged_page import Choice
from octavo.tui.render.comparison import Compared
from octavo.tui.render.conflict_page import FIELDS, Shown, whole
from octavo.tui.render.diff_lines import set_diff_unit
from octavo.tui.render.diff_sequence import changes
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.diff_units import DiffUnit, Unfolding
from octavo.tui.render.diff_units import cut as in_slices
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, cells, cut, fit, padded, width_of
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap

WIDE = 100
"""Cells of a pane in which the three stand beside one another."""
_NUMBER = 5
"""Cells of the line numbers of a diff: a conflict has none of its own."""


_SIDE_LINES = 160
"""Lines of a side of a conflict, and of what becomes of it: all of them are set at once."""
_KINDS = {
    "row": "a row",
    "cell": "a cell",
    "item": "an item",
    "line": "a line of code",
    "heading": "a heading",
    "moved": "moved by both",
    FIELDS: "what it is called and the like",
}
"""What a conflict is about, where that is not clear."""
_COUNTED = re.compile(r"(\d+) unchanged (\w+)")


@dataclass(frozen=True)
class ConflictDecision:
    """What is chosen for a conflict, if anything, and what its sides are called."""

    choice: Choice | None
    sides: tuple[str, str]


def set_around(setting: LayoutContext, unit: DiffUnit, width: int) -> list[Line]:
    """A part of the page that is decided."""
    return _cleared(set_diff_unit(setting, unit, SideWidths.of(width + _NUMBER, split=False)))


def rule_with(look: Styles, left: list[Piece], right: list[Piece], width: int, style: Style | None = None) -> Line:
    """A line across with words in it."""
    glyphs, ink = look.glyphs, look.line if style is None else style
    tail = width_of(right) + 4 if right else 0
    shown = fit(left, max(8, width - tail - 5), glyphs.more)
    pieces = [Piece(glyphs.across * 2 + " ", ink, None, True), *shown, Piece(" ", ink, None, True)]
    pieces.append(Piece(glyphs.across * max(1, width - width_of(pieces) - tail), ink, None, True))
    if right:
        pieces += [Piece(" ", ink), *right, Piece(" " + glyphs.across * 2, ink, None, True)]
    return Line(pieces)


def set_conflict(
    setting: LayoutContext, shown: Shown, decided: ConflictDecision, place: tuple[int, int], width: int
) -> list[Line]:
    """The lines of a conflict, which is the first of the two numbers of `place` of as many as the second."""
    look, choice = setting.look, decided.choice
    number, total = place
    said = [f"conflict {number} of {total}", *([_KINDS[shown.kind]] if shown.kind in _KINDS else [])]
    if shown.kind == "moved":
        said.append(f"{decided.sides[shown.is_second]} has it here")
    name = [Piece(f" {look.glyphs.between} ".join(said), look.strong)]
    if shown.heading:
        name.append(Piece(f"  {shown.heading}", look.muted))
    if choice is None:
        head = rule_with(look, name, [Piece("to decide", look.warning + Style(bold=True))], width, look.warning)
    else:
        taken = {
            "main": f"as in {decided.sides[0]}",
            "this": f"as in {decided.sides[1]}",
            "both": "both",
            "words": "merged by words",
            "own": "in your words",
        }
        words = f"{look.glyphs.yes} {taken[choice.side]}"
        head = rule_with(look, name, [Piece(words, look.success + Style(bold=True))], width, look.success)
    sides = _sides(setting, shown, decided, width)
    becomes = [_becomes_head(look, decided, width), *_becomes(setting, shown, decided, width)]
    # Below one another the sides may be more than there is room for: what comes of a key is seen all the same.
    stacked = [*becomes, rule_with(look, [Piece("out of", look.muted)], [], width), *sides]
    lines = [head, *([*sides, *becomes] if width >= WIDE else stacked)]
    lines.append(Line([Piece(look.glyphs.across * width, look.warning if choice is None else look.line, None, True)]))
    return lines


def _sides(setting: LayoutContext, shown: Shown, decided: ConflictDecision, width: int) -> list[Line]:
    """The three sides under their names, beside one another where there is room."""
    look, taken = setting.look, decided.choice.side if decided.choice is not None else ""
    sides = [
        ("base", "", "what both come from", whole(shown.base), "not known" if shown.base is None else "nothing"),
        (decided.sides[0], "m", "", _new(shown.main), _missing(shown)),
        (decided.sides[1], "t", "", _new(shown.mine), _missing(shown)),
    ]
    is_wide = width >= WIDE
    room = (width - 6) // 3 if is_wide else width
    columns = []
    for number, (name, key, about, units, missing) in enumerate(sides):
        is_taken = (taken == "both" and number > 0) or taken == ("", "main", "this")[number] != ""
        fades = bool(taken) and not is_taken
        said = _side(setting, units, missing, room)
        head = _side_head(look, name, key, about, is_taken, taken == "both", room)
        columns.append([head, *(_set_back(line, look) if fades else line for line in said)])
    if not is_wide:
        return [line for column in columns for line in ([Line([])] if column is not columns[0] else []) + column]
    out = []
    rule = Piece(f" {look.glyphs.down} ", look.line, None, True)
    for row in zip_longest(*columns):
        pieces: list[Piece] = []
        for number, line in enumerate(row):
            pieces += [rule] if number else []
            pieces += padded(line.pieces if line is not None else [], room)
        out.append(Line(pieces))
    return out


def _missing(shown: Shown) -> str:
    return "not there" if shown.base is None or not shown.base.source.strip() else "nothing: deleted"


def _side_head(look: Styles, name: str, key: str, about: str, is_taken: bool, is_both: bool, width: int) -> Line:
    taken = Piece(f"{look.glyphs.yes} {name}", look.success + Style(bold=True))
    pieces = [taken if is_taken else Piece(name, look.strong)]
    if key:
        does = " leaves it open" if is_taken and not is_both else " takes only it" if is_taken else " takes it"
        pieces += [Piece("  ", PLAIN), Piece(key, look.accent + Style(bold=True)), Piece(does, look.muted)]
    elif about:
        pieces.append(Piece(f"  {about}", look.muted))
    return Line(fit(pieces, width, look.glyphs.more))


def _side(setting: LayoutContext, units: Sequence[DiffUnit], missing: str, width: int) -> list[Line]:
    """What a side says, its words that are new marked."""
    room = SideWidths.of_new(width + _NUMBER)
    out: list[Line] = []
    for unit in units:
        if len(out) > _SIDE_LINES:
            return [*out, *_cleared(_more(setting.look, width))]
        lines: list[Line] = []
        for piece in in_slices(unit):
            lines += [
                Line([_against_base(each) for each in line.pieces])
                for line in _cleared(set_diff_unit(setting, piece, room))
                if line.text.strip()
            ]
            if len(lines) > _SIDE_LINES:
                lines += _cleared(_more(setting.look, width))
                break
        out += [*([Line([])] if out and lines else []), *lines]
    said = [Piece(missing, setting.look.muted + Style(italic=True))]
    return out or [Line(part) for part in wrap(said, width)]


def _more(look: Styles, width: int) -> list[Line]:
    """What is said where there is more of a side than is shown."""
    said = f"{look.glyphs.more} There is more of it: e shows all of it in your editor."
    return [Line([Piece(" " * _NUMBER, PLAIN, None, True), *part]) for part in wrap([Piece(said, look.muted)], width)]


def _against_base(piece: Piece) -> Piece:
    """What is counted as unchanged is not so against main."""
    return piece._replace(text=_COUNTED.sub(r"\1 \2 as in the base", piece.text)) if piece.furniture else piece


def _becomes_head(look: Styles, decided: ConflictDecision, width: int) -> Line:
    style = look.muted if decided.choice is None else look.success
    about = f"  what is sent, marked against {decided.sides[0]}" if decided.choice is not None else ""
    return rule_with(look, [Piece("becomes", style), Piece(about, look.muted)], [], width)


def _becomes(setting: LayoutContext, shown: Shown, decided: ConflictDecision, width: int) -> list[Line]:
    """The words that will be sent, those marked that are not as in main. Without a choice, how to choose."""
    look, choice = setting.look, decided.choice
    if choice is None:
        ways = [("m", f"takes {decided.sides[0]}"), ("t", decided.sides[1])]
        ways += [("b", "both")] if shown.kind not in ("moved", FIELDS) else []
        ways += [("e", "your own words")] if shown.kind != FIELDS else []
        said = [Piece("not decided: ", look.muted + Style(italic=True))]
        for key, what in ways:
            said += [Piece(key, look.accent + Style(bold=True)), Piece(f" {what}  ", look.muted)]
        return [Line(part) for part in wrap(said, width)]
    compared = shown.outcomes.get(choice.side)
    if compared is None:  # it was written just now, and is made ready to be shown
        return [Line([Piece(look.glyphs.more, look.muted)])]
    units = whole(compared.new) if compared.diff.is_empty else changes(compared.diff, _all(), {}).whole().units
    lines: list[Line] = []
    for piece in (piece for unit in units if unit.kind not in ("title", "label") for piece in in_slices(unit)):
        lines += set_around(setting, piece, width)
        if len(lines) > _SIDE_LINES:
            lines += _cleared(_more(look, width))
            break
    while lines and not lines[0].text.strip():
        del lines[0]
    note = ""
    if not compared.new.blocks:
        note = "nothing: it is not there then"
    elif choice.side != "main" and compared.says_the_same(shown.outcomes["main"]):
        note = f"as in {decided.sides[0]}: nothing changes"
    if note:
        lines += [Line(part) for part in wrap([Piece(note, look.muted + Style(italic=True))], width)]
    return lines


def _all() -> Unfolding:
    every = Unfolding()
    every.step = len(Unfolding.STEPS) - 1
    return every


def _new(compared: Compared) -> list[DiffUnit]:
    """The new side of a comparison, its parts that came or changed as such."""
    if compared.diff.is_empty:
        return whole(compared.new)
    return [unit for unit in changes(compared.diff, _all(), {}).whole().units if unit.kind in ("block", "entry")]


def _cleared(lines: Iterable[Line]) -> list[Line]:
    """Lines of a diff without the numbers before them."""
    return [Line(_behind_number(line.pieces)) for line in lines]


def _behind_number(pieces: list[Piece]) -> list[Piece]:
    if not pieces or cells(pieces[0].text) == _NUMBER:  # as all but those of what could not be set
        return pieces[1:]
    return cut(pieces, _NUMBER, width_of(pieces))


def _set_back(line: Line, look: Styles) -> Line:
    """A line of what is not taken: to be read still, and no more than that."""
    return Line(
        [
            piece._replace(style=look.muted + Style(underline=piece.style.underline, strike=piece.style.strike))
            for piece in line.pieces
        ]
    )
