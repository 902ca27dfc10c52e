"""A conflict as lines: what both sides made of what they come from, their words that are new marked, and what becomes
of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.style import Style

from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Block, Document
from octavo.documents.merging.conflict import Conflict, Part
from octavo.documents.merging.resolution import Choice, chosen
from octavo.documents.merging.resolution import names as names_of
from octavo.tui.page.change_lines import set_diff_unit
from octavo.tui.page.changing import changes
from octavo.tui.page.compared import Compared, compare
from octavo.tui.page.diff_units import DiffUnit, Unfolding
from octavo.tui.page.lines import Line, Piece, cut, fit, padded, width_of
from octavo.tui.page.look import PLAIN, Look
from octavo.tui.page.setting import Setting
from octavo.tui.page.side_by_side import Room
from octavo.tui.page.wrap import wrap

WIDE = 100
"""Cells of a pane in which the three stand beside one another."""
_NUMBER = 5
"""Cells of the line numbers of a diff: a conflict has none of its own."""


@dataclass(frozen=True)
class Shown:
    """A conflict, as it is shown. Making one takes long enough to be done off the event loop."""

    name: str
    base: Document | None
    """What both come from. None where that is not known."""
    main: Compared
    mine: Compared
    both: Document


Passage = Shown | Document
"""A conflict, or the text between two."""


def prepare(parts: Iterable[Part], names: Iterable[str]) -> tuple[Passage, ...]:
    """The parts of a page as they are shown, the conflicts under their names. The texts are made safe here."""
    every = tuple(parts)
    following = iter([(name, conflict) for name, (_, conflict) in zip(names, names_of(every), strict=True)])
    found: list[Passage] = []
    for part in every:
        if isinstance(part, str):
            found.append(document_of(part))
            continue
        # What both sides moved is shown where the first of its places is.
        found += [_shown(*next(following)) for each in part.conflicts if not each.is_second]
    return tuple(found)


def _shown(name: str, conflict: Conflict) -> Shown:
    base = safe_text(conflict.framed(conflict.base)) if conflict.base is not None else None
    main, mine = (safe_text(conflict.framed(side)) for side in (conflict.main, conflict.proposed))
    return Shown(
        name,
        document_of(base) if base is not None else None,
        compare(main if base is None else base, main),
        compare(mine if base is None else base, mine),
        document_of(conflict.framed(chosen(conflict, Choice("both")))),
    )


def document_of(text: str) -> Document:
    """The blocks of a text as it was written, made safe to be shown."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and no frame needs it

    return parse(safe_text(text))


@dataclass(frozen=True)
class Decided:
    """What is chosen for a conflict, if anything; what was written for it; what its sides are called."""

    choice: Choice | None
    own: Document | None
    sides: tuple[str, str]


def set_plain(setting: Setting, block: Block, width: int) -> list[Line]:
    """A block that is decided."""
    return _cleared(set_diff_unit(setting, DiffUnit("block", block), Room.of(width + _NUMBER, split=False)))


def rule_with(look: Look, left: list[Piece], right: list[Piece], width: int, style: Style | None = None) -> Line:
    """A line across with words in it."""
    glyphs, ink = look.glyphs, look.line if style is None else style
    tail = width_of(right) + 4 if right else 0
    shown = fit(left, max(8, width - tail - 5), glyphs.more)
    pieces = [Piece(glyphs.across * 2 + " ", ink, None, True), *shown, Piece(" ", ink, None, True)]
    pieces.append(Piece(glyphs.across * max(1, width - width_of(pieces) - tail), ink, None, True))
    if right:
        pieces += [Piece(" ", ink), *right, Piece(" " + glyphs.across * 2, ink, None, True)]
    return Line(pieces)


def set_conflict(setting: Setting, shown: Shown, decided: Decided, place: tuple[int, int], width: int) -> list[Line]:
    """The lines of a conflict, which is the first of the two numbers of `place` of as many as the second."""
    look, choice = setting.look, decided.choice
    number, total = place
    name = Piece(f"conflict {number} of {total}", look.strong)
    if choice is None:
        head = rule_with(look, [name], [Piece("to decide", look.warning + Style(bold=True))], width, look.warning)
    else:
        said = {
            "main": f"as in {decided.sides[0]}",
            "this": f"as in {decided.sides[1]}",
            "both": "both",
            "own": "in your words",
        }
        words = f"{look.glyphs.yes} {said[choice.side]}"
        head = rule_with(look, [name], [Piece(words, look.success + Style(bold=True))], width, look.success)
    lines = [head, *_sides(setting, shown, decided, width)]
    if choice is not None and choice.side in ("both", "own"):
        lines += [
            rule_with(look, [Piece("becomes", look.success)], [], width),
            *_outcome(setting, shown, decided, width),
        ]
    lines.append(Line([Piece(look.glyphs.across * width, look.warning if choice is None else look.line, None, True)]))
    return lines


def _sides(setting: Setting, shown: Shown, decided: Decided, width: int) -> list[Line]:
    """The three sides under their names, beside one another where there is room."""
    look, taken = setting.look, decided.choice.side if decided.choice is not None else ""
    sides = [
        ("base", "", "what both come from", _whole(shown.base), "not known" if shown.base is None else "nothing"),
        (decided.sides[0], "m", "", _new(shown.main), "nothing: deleted"),
        (decided.sides[1], "t", "", _new(shown.mine), "nothing: deleted"),
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


def _side_head(look: Look, name: str, key: str, about: str, is_taken: bool, is_both: bool, width: int) -> Line:
    taken = Piece(f"{look.glyphs.yes} {name}", look.success + Style(bold=True))
    pieces = [taken if is_taken else Piece(name, look.strong)]
    if key:
        does = " leaves it open" if is_taken and not is_both else " takes only it" if is_taken else " takes it"
        pieces += [Piece("  ", PLAIN), Piece(key, look.accent + Style(bold=True)), Piece(does, look.muted)]
    elif about:
        pieces.append(Piece(f"  {about}", look.muted))
    return Line(fit(pieces, width, look.glyphs.more))


def _side(setting: Setting, units: Sequence[DiffUnit], missing: str, width: int) -> list[Line]:
    """What a side says, its words that are new marked."""
    room = Room.of(2 * (width + _NUMBER) + 3, split=True)
    out: list[Line] = []
    for unit in units:
        lines = [
            Line(cut(line.pieces, room.side + 3, room.width))
            for line in set_diff_unit(setting, unit, room)
            if line.pieces
        ]
        lines = [line for line in lines if line.text.strip()]
        out += [*([Line([])] if out and lines else []), *_cleared(lines)]
    said = [Piece(missing, setting.look.muted + Style(italic=True))]
    return out or [Line(part) for part in wrap(said, width)]


def _outcome(setting: Setting, shown: Shown, decided: Decided, width: int) -> list[Line]:
    """What becomes of it, where that is neither of the sides."""
    is_own = decided.choice is not None and decided.choice.side == "own"
    units = _whole(decided.own if is_own else shown.both)
    if not units:
        return [Line([Piece("nothing", setting.look.muted + Style(italic=True))])]
    room = Room.of(width + _NUMBER, split=False)
    lines = [line for unit in units for line in _cleared(set_diff_unit(setting, unit, room))]
    return lines[1:] if lines and not lines[0].pieces else lines


def _whole(document: Document | None) -> list[DiffUnit]:
    """A text as it is."""
    return [DiffUnit("block", block) for block in document.blocks] if document is not None else []


def _new(compared: Compared) -> list[DiffUnit]:
    """The new side of a comparison, its parts that came or changed as such."""
    if compared.diff.is_empty:
        return _whole(compared.new)
    every = Unfolding()
    every.step = len(Unfolding.STEPS) - 1
    return [unit for unit in changes(compared.diff, every, {}).units if unit.kind in ("block", "entry")]


def _cleared(lines: Iterable[Line]) -> list[Line]:
    """Lines of a diff without the numbers before them."""
    return [Line(cut(line.pieces, _NUMBER, width_of(line.pieces)) if line.pieces else []) for line in lines]


def _set_back(line: Line, look: Look) -> Line:
    """A line of what is not taken: to be read still, and no more than that."""
    return Line(
        [
            piece._replace(style=look.muted + Style(underline=piece.style.underline, strike=piece.style.strike))
            for piece in line.pieces
        ]
    )
