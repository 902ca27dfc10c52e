"""A conflict as lines: first its result, with the differences from main marked, then main, the change request and the base,
with the words marked that are not in the base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.style import Style

from octavo.documents.merging.merged_page import NEVER_BOTH, SIDES, Choice
from octavo.tui.render.comparison import Compared
from octavo.tui.render.conflict_page import FIELDS, Question, Shown, whole
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
"""Cells of a pane in which the three sides are side by side."""
_NUMBER = 5
"""Cells of the line numbers of a diff: a conflict has none of its own."""


_SIDE_LINES = 160
"""Lines of a side of a conflict, and of its result: all of them are laid out at once."""
_KINDS = {
    "row": "table row",
    "cell": "table cell",
    "item": "list item",
    "line": "line of code",
    "heading": "heading",
    "columns": "table columns",
    "field": "page option",
    "front": "page options",
    "moved": "moved text",
    FIELDS: "title and page options",
}
"""What a conflict is about, where the text does not show it."""
_COUNTED = re.compile(r"(\d+) unchanged (\w+)")


@dataclass(frozen=True)
class ConflictDecision:
    """The choice made for a conflict, if any, and what its sides are called."""

    choice: Choice | None
    sides: tuple[str, str]

    def name(self, number: int) -> str:
        """Return what a side is called, as a label."""
        return self.sides[number][:1].upper() + self.sides[number][1:]

    def keys(self) -> list[tuple[str, str]]:
        """Return the keys that take one side, each with the side it takes."""
        return [("m", self.sides[0]), ("t", self.sides[1])]


def set_around(setting: LayoutContext, unit: DiffUnit, width: int) -> list[Line]:
    """Return the lines of a part of the page without conflicts."""
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
    """Return the lines of a conflict: its result, then its sides. `place` is its number, and how many conflicts there are."""
    about = [_KINDS[shown.kind]] if shown.kind in _KINDS else []
    if shown.place is not None:
        about.append(f"position in {('base', *decided.sides)[shown.place]}")
    title = f" {setting.look.glyphs.between} ".join([_number(place), *about])
    has_result = decided.choice is not None or shown.is_suggested
    label = _label(setting.look, "Result", f"compared with {decided.sides[0]}" if has_result else "")
    result = [label, *_result(setting, shown, decided, width), Line([])]
    lines = [*result, *_sides(setting, shown, decided, width)]
    return _framed(setting.look, shown, decided, title, shown.heading, lines, width)


def set_question(
    setting: LayoutContext, question: Question, decided: ConflictDecision, place: tuple[int, int], width: int
) -> list[Line]:
    """Return the lines of a conflict about a page itself: what happened, the result, and what each side means."""
    look, choice = setting.look, decided.choice
    lines = [*_wrapped(question.said, look.text, width), Line([])]
    if all(question.answers):
        result = _not_resolved(look, decided, [], width)
        if choice is not None:
            result = _wrapped(question.answers[choice.kind == "request"], look.text, width)
        lines += [_label(look, "Result"), *result]
        for number, answer in enumerate(question.answers):
            is_taken = choice is not None and choice.kind == SIDES[number]
            lines += [
                Line([]),
                _side_label(look, decided.name(number), "mt"[number], is_taken),
                *_wrapped(answer, look.text, width),
            ]
    return _framed(look, question, decided, _number(place), question.title, lines, width)


def _number(place: tuple[int, int]) -> str:
    return f"Conflict {place[0]} of {place[1]}"


def _framed(
    look: Styles,
    shown: Shown | Question,
    decided: ConflictDecision,
    title: str,
    heading: str,
    lines: list[Line],
    width: int,
) -> list[Line]:
    """Put a conflict between rules. The first says which conflict it is, and what was taken."""
    name = [Piece(title, look.strong)]
    if heading:
        name.append(Piece(f"  {heading}", look.muted))
    if decided.choice is not None:
        taken = {
            "main": f"{decided.name(0)} chosen",
            "request": f"{decided.name(1)} chosen",
            "both": "Both chosen",
            "words": "Suggestion accepted",
            "own": "Edited",
        }
        status, style, ink = f"{look.glyphs.yes} {taken[decided.choice.kind]}", look.success, look.success
    elif shown.is_suggested:
        status, style, ink = "Suggested", look.accent, look.line
    elif isinstance(shown, Question) and not all(shown.answers):
        status, style, ink = "", look.muted, look.line
    else:
        status, style, ink = "Not resolved", look.warning, look.warning
    right = [Piece(status, style + Style(bold=True))] if status else []
    end = look.warning if status == "Not resolved" else look.line
    return [
        rule_with(look, name, right, width, ink),
        *lines,
        Line([Piece(look.glyphs.across * width, end, None, True)]),
    ]


def _label(look: Styles, name: str, about: str = "") -> Line:
    return Line([Piece(name, look.strong), *([Piece(f"  {about}", look.muted)] if about else [])])


def _wrapped(text: str, style: Style, width: int) -> list[Line]:
    return [Line(part) for part in wrap([Piece(text, style)], width)]


def _not_resolved(look: Styles, decided: ConflictDecision, more: Sequence[tuple[str, str]], width: int) -> list[Line]:
    return _with_keys(look, "Not resolved yet.", look.warning, [*decided.keys(), *more], width)


def _with_keys(look: Styles, said: str, style: Style, keys: Iterable[tuple[str, str]], width: int) -> list[Line]:
    """Return a sentence with the keys that can be pressed."""
    pieces = [Piece(f"{said} ", style)]
    for key, what in keys:
        pieces += [Piece(key, look.accent + Style(bold=True)), Piece(f" {what}  ", look.muted)]
    return [Line(part) for part in wrap(pieces, width)]


def _sides(setting: LayoutContext, shown: Shown, decided: ConflictDecision, width: int) -> list[Line]:
    """Return the three sides under their labels, side by side where there is room."""
    look, taken = setting.look, decided.choice.kind if decided.choice is not None else ""
    missing = "Empty." if shown.base is None or not shown.base.source.strip() else "Deleted."
    moved = f"Moved to \u201c{shown.moved_to_title}\u201d. Press f to open that page." if shown.moved_to_title else ""
    base, unknown = shown.base, "Unknown." if shown.base is None else "Empty."
    sides = [
        (decided.name(0), "m", _new(shown.main), shown.main.new.source, moved or missing),
        (decided.name(1), "t", _new(shown.mine), shown.mine.new.source, missing),
        ("Base", "", whole(base), base.source if base is not None else "", unknown),
    ]
    is_wide = width >= WIDE
    room = (width - 6) // 3 if is_wide else width
    columns = []
    for (name, key, units, source, absent), side in zip(sides, (*SIDES, "base"), strict=True):
        is_taken = side == taken or (taken == "both" and side != "base")
        said = _side(setting, units, room, source) or _wrapped(absent, look.muted + Style(italic=True), room)
        label = _side_label(look, name, key, is_taken)
        columns.append([label, *(_set_back(line, look) if taken and not is_taken else line for line in said)])
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


def _side_label(look: Styles, name: str, key: str, is_taken: bool) -> Line:
    """Return the name of a side, with the key that takes it."""
    pieces = [
        Piece(f"{look.glyphs.yes} {name}", look.success + Style(bold=True)) if is_taken else Piece(name, look.strong)
    ]
    return Line([*pieces, *([Piece("  ", PLAIN), Piece(key, look.accent + Style(bold=True))] if key else [])])


def _side(setting: LayoutContext, units: Sequence[DiffUnit], width: int, source: str) -> list[Line]:
    """Return the text of a side, its new words marked."""
    room = SideWidths.of_new(width + _NUMBER)
    out: list[Line] = []
    for unit in units:
        lines: list[Line] = []
        for piece in in_slices(unit):
            lines += [
                Line([_against_base(each) for each in line.pieces])
                for line in _cleared(set_diff_unit(setting, piece, room))
                if line.text.strip()
            ]
            if len(out) + len(lines) > _SIDE_LINES:
                return _cut([*out, *lines], source, setting.look, width)
        out += [*([Line([])] if out and lines else []), *lines]
    return out


def _cut(lines: list[Line], source: str, look: Styles, width: int) -> list[Line]:
    """Return the first lines of a long text, and say about how many are left out: not all of the text is laid out."""
    shown = sum(len(line.text.strip()) for line in lines[:_SIDE_LINES])
    left = round((len(source) - shown) / max(1, shown) * _SIDE_LINES)
    if left <= 0:
        return lines
    said = f"{look.glyphs.more} About {left} more lines are not shown. Press e to see all lines in your editor."
    return [*lines[:_SIDE_LINES], *_wrapped(said, look.muted, width)]


def _against_base(piece: Piece) -> Piece:
    """What is counted as unchanged is not so against main."""
    return piece._replace(text=_COUNTED.sub(r"\1 \2 unchanged from the base", piece.text)) if piece.furniture else piece


def _result(setting: LayoutContext, shown: Shown, decided: ConflictDecision, width: int) -> list[Line]:
    """Return the text that will be saved, its differences from main marked; before a choice, the keys to choose with."""
    look, choice = setting.look, decided.choice
    lines: list[Line] = []
    edit = [("e", "edit")] if shown.kind != FIELDS else []
    if choice is None and shown.is_suggested:
        keys = [*decided.keys(), *edit, ("w", "accept")]
        lines, choice = (
            _with_keys(look, "Suggested: merged word by word. Check the result.", look.accent, keys, width),
            Choice("words"),
        )
    if choice is None:
        both = [("b", "both")] if shown.kind not in NEVER_BOTH | {FIELDS} else []
        words = [("w", "merged word by word")] if "words" in shown.outcomes else []
        return _not_resolved(look, decided, [*both, *words, *edit], width)
    compared = shown.outcomes.get(choice.kind)
    if compared is None:  # it was written just now, and is made ready to be shown
        return [Line([Piece(look.glyphs.more, look.muted)])]
    units = whole(compared.new) if compared.diff.is_empty else changes(compared.diff, _all(), {}).whole().units
    text: list[Line] = []
    for piece in (piece for unit in units if unit.kind not in ("title", "label") for piece in in_slices(unit)):
        text += set_around(setting, piece, width)
        if len(text) > _SIDE_LINES:
            text = _cut(text, compared.new.source, look, width)
            break
    while text and not text[0].text.strip():
        del text[0]
    note = (
        ""
        if compared.new.blocks
        else "Empty: the text is deleted."
        if shown.place is None
        else "Empty: the text is in another place."
    )
    if not note and choice.kind != "main" and compared.says_the_same(shown.outcomes["main"]):
        note = f"Same as {decided.sides[0]}."
    return [*lines, *text, *(_wrapped(note, look.muted + Style(italic=True), width) if note else [])]


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
