"""Rectangles of characters with a baseline, and functions that combine them into formulas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from octavo.tui.render.icons import SUBSCRIPTS, SUPERSCRIPTS, to_script
from octavo.tui.render.styled_lines import cells

_TALL_BRACKETS = {
    "(": "⎛⎜⎝",
    ")": "⎞⎟⎠",
    "[": "⎡⎢⎣",
    "]": "⎤⎥⎦",
    "{": "⎧⎨⎩",
    "}": "⎫⎬⎭",
    "|": "│││",
    "‖": "║║║",
    "⌊": "⎢⎢⎣",
    "⌋": "⎥⎥⎦",
    "⌈": "⎡⎢⎢",
    "⌉": "⎤⎥⎥",
}
_BAR = "─"
_SEPARATORS = " ()[]{}|,.;:!"
"""Characters that may touch the line of a fraction."""


class FormulaBox(NamedTuple):
    """Rows of characters, one of which is the baseline."""

    rows: tuple[str, ...]
    baseline: int = 0

    @property
    def width(self) -> int:
        return max(map(cells, self.rows), default=0)

    @property
    def text(self) -> str:
        """Row at the baseline."""
        return self.rows[self.baseline]

    @property
    def is_tall(self) -> bool:
        """True if the box has several rows."""
        return len(self.rows) > 1

    def strip(self) -> FormulaBox:
        """Return the box without spaces at its ends, if it has one row."""
        return self if self.is_tall else FormulaBox((self.text.strip(),))

    def pad(self, width: int, *, right: bool = False) -> FormulaBox:
        """Return the box padded with spaces to `width`, after its rows or before them."""
        return FormulaBox(
            tuple(" " * (width - cells(row)) + row if right else row + " " * (width - cells(row)) for row in self.rows),
            self.baseline,
        )


EMPTY_BOX = FormulaBox(("",))


def join_boxes(boxes: Iterable[FormulaBox], *, apart: bool = True) -> FormulaBox:
    """Return boxes side by side on one baseline. `apart`: a space separates boxes that would run into each other, and
    two adjacent spaces become one."""
    kept: list[FormulaBox] = []
    for box in boxes:
        if kept and apart:
            if not box.is_tall and kept[-1].text.endswith(" "):
                box = FormulaBox((box.text.removeprefix(" "),))
            elif gap := _gap(kept[-1], box):
                kept.append(FormulaBox((gap,)))
        if box.width:
            kept.append(box)
    if not any(box.is_tall for box in kept):
        return FormulaBox(("".join(box.text for box in kept),))
    above = max(box.baseline for box in kept)
    below = max(len(box.rows) - box.baseline for box in kept)
    rows = ["" for _ in range(above + below)]
    for box in kept:
        wide = box.width
        for at in range(above + below):
            own = at - above + box.baseline
            row = box.rows[own] if 0 <= own < len(box.rows) else ""
            rows[at] += row + " " * (wide - cells(row))
    return FormulaBox(tuple(rows), above)


def _gap(left: FormulaBox, right: FormulaBox) -> str:
    """Return the spaces needed between two boxes to keep fraction lines and scripts separate."""
    last, first = left.text[-1:], right.text[:1]
    if _BAR in (last, first) and last not in _SEPARATORS and first not in _SEPARATORS:
        return " "
    for at, row in enumerate(left.rows):
        beside = at - left.baseline + right.baseline
        if at != left.baseline and 0 <= beside < len(right.rows) and " " not in (row[-1:], right.rows[beside][:1]):
            return "  "
    return ""


def stack(parts: Sequence[FormulaBox], base: int) -> FormulaBox:
    """Return boxes one above the other, centered. Box number `base` is at the baseline."""
    wide = max(part.width for part in parts)
    rows: list[str] = []
    line = 0
    for at, part in enumerate(parts):
        if at == base:
            line = len(rows) + part.baseline
        left = (wide - part.width) // 2
        rows += [" " * left + row + " " * (wide - left - cells(row)) for row in part.rows]
    return FormulaBox(tuple(rows), line)


def fraction(over: FormulaBox, under: FormulaBox, *, line: bool = True) -> FormulaBox:
    """Return one box above another, with or without a line between."""
    between = FormulaBox(((_BAR if line else " ") * (max(over.width, under.width) + 2),))
    return stack([over, between, under], 1)


def add_overline(inside: FormulaBox) -> FormulaBox:
    """Return a box with a line above it."""
    return stack([FormulaBox((_BAR * inside.width,)), inside], 1)


def add_brace(inside: FormulaBox, *, over: bool) -> FormulaBox:
    """Return a box below or above a brace of the same width."""
    half = max(0, inside.width - 3) // 2
    wide = max(3, inside.width)
    brace = f"{_BAR * half}{'┴' if over else '┬'}".ljust(wide - 2, _BAR)
    row = FormulaBox((f"╭{brace}╮" if over else f"╰{brace}╯",))
    return stack([row, inside] if over else [inside, row], int(over))


def add_brackets(left: str, inside: FormulaBox, right: str) -> FormulaBox:
    """Return a box between brackets of the same height."""
    if not inside.is_tall:
        return FormulaBox((f"{left}{inside.text}{right}",))
    return join_boxes([_tall_bracket(left, inside), inside, _tall_bracket(right, inside)], apart=False)


def _tall_bracket(sign: str, inside: FormulaBox) -> FormulaBox:
    if not sign:
        return EMPTY_BOX
    top, middle, bottom = tuple(_TALL_BRACKETS.get(sign, sign[:1] * 3))
    rows = [middle] * (len(inside.rows) - 2)
    if sign in "{}" and rows:
        rows = ["⎪"] * len(rows)
        rows[len(rows) // 2] = middle
    return FormulaBox((top, *rows, bottom), inside.baseline)


def align_columns(rows: Sequence[Sequence[FormulaBox]], gap: str = "", *, pairs: bool = False) -> FormulaBox:
    """Return rows of cells in aligned columns. `pairs`: odd columns are right-aligned, and rows with fractions get
    blank lines between."""
    count = max(map(len, rows), default=0)
    wide = [max((row[at].width for row in rows if at < len(row)), default=0) for at in range(count)]
    lines = [
        join_boxes(
            [
                part
                for at, box in enumerate(row)
                for part in (
                    (FormulaBox((gap if at else "",))),
                    box.pad(wide[at], right=pairs and count > 1 and at % 2 == 0),
                )
            ],
            apart=False,
        )
        for row in rows
    ]
    spread: list[str] = []
    for line in lines:
        spread += ["", *line.rows] if spread and line.is_tall and not gap else line.rows
    widest = max(map(cells, spread), default=0)
    full = tuple(row + " " * (widest - cells(row)) for row in spread)
    return FormulaBox(full, lines[0].baseline if len(lines) == 1 else (len(full) - 1) // 2) if full else EMPTY_BOX


def add_scripts(base: FormulaBox, under: FormulaBox | None, over: FormulaBox | None) -> FormulaBox:
    """Return a box with a subscript and a superscript: as small characters if possible, else as rows below and
    above."""
    small = [
        None if script.is_tall or base.is_tall else to_script(script.text, table)
        for script, table in ((under, SUBSCRIPTS), (over, SUPERSCRIPTS))
        if script is not None
    ]
    if None not in small:
        return FormulaBox((base.text + "".join(each or "" for each in small),))
    wide = max(box.width for box in (under, over) if box is not None)
    blank = " " * base.width
    above = [blank + row for row in over.rows] if over is not None else []
    below = [blank + row for row in under.rows] if under is not None else []
    rows = [*above, *(row + " " * (base.width - cells(row) + wide) for row in base.rows), *below]
    return FormulaBox(tuple(rows), len(above) + base.baseline)


def add_root(degree: str, inside: FormulaBox) -> FormulaBox:
    """Return a box below a root sign."""
    indent = " " * max(1, cells(degree) + 1)
    rows = [f"{indent}┌{_BAR * inside.width}"]
    for at, row in enumerate(inside.rows):
        side = f"{degree}√".rjust(len(indent)) if at == len(inside.rows) - 1 else indent
        rows.append(f"{side}│{row}")
    return FormulaBox(tuple(rows), inside.baseline + 1)
