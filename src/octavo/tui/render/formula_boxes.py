"""Rows of signs set beside, above and around each other, of which one stands on the line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from octavo.tui.render.styled_lines import cells
from octavo.tui.render.superscripts import SUBSCRIPTS, SUPERSCRIPTS, scripted

_TALL = {
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
_APART = " ()[]{}|,.;:!"
"""Signs that a line of a fraction may touch."""


class Box(NamedTuple):
    """Rows of signs, and which of them stands on the line."""

    rows: tuple[str, ...]
    base: int = 0

    @property
    def width(self) -> int:
        return max(map(cells, self.rows), default=0)

    @property
    def text(self) -> str:
        """What stands on the line."""
        return self.rows[self.base]

    @property
    def is_tall(self) -> bool:
        return len(self.rows) > 1

    def strip(self) -> Box:
        """The box without blanks at its sides, where it is one row."""
        return self if self.is_tall else Box((self.text.strip(),))

    def as_wide(self, width: int, *, right: bool = False) -> Box:
        """The box with blanks up to `width`, behind its signs or before them."""
        return Box(
            tuple(" " * (width - cells(row)) + row if right else row + " " * (width - cells(row)) for row in self.rows),
            self.base,
        )


NOTHING = Box(("",))


def beside(boxes: Iterable[Box], *, apart: bool = True) -> Box:
    """Boxes one after the other on one line. `apart`: what would run into each other has a blank between, and no more
    than one is kept of those at the ends of two."""
    kept: list[Box] = []
    for box in boxes:
        if kept and apart:
            if not box.is_tall and kept[-1].text.endswith(" "):
                box = Box((box.text.removeprefix(" "),))
            elif gap := _gap(kept[-1], box):
                kept.append(Box((gap,)))
        if box.width:
            kept.append(box)
    if not any(box.is_tall for box in kept):
        return Box(("".join(box.text for box in kept),))
    above = max(box.base for box in kept)
    below = max(len(box.rows) - box.base for box in kept)
    rows = ["" for _ in range(above + below)]
    for box in kept:
        wide = box.width
        for at in range(above + below):
            own = at - above + box.base
            row = box.rows[own] if 0 <= own < len(box.rows) else ""
            rows[at] += row + " " * (wide - cells(row))
    return Box(tuple(rows), above)


def _gap(left: Box, right: Box) -> str:
    """Blanks between two boxes where the line of a fraction, or what stands above and below, would read as one."""
    last, first = left.text[-1:], right.text[:1]
    if _BAR in (last, first) and last not in _APART and first not in _APART:
        return " "
    for at, row in enumerate(left.rows):
        beside = at - left.base + right.base
        if at != left.base and 0 <= beside < len(right.rows) and " " not in (row[-1:], right.rows[beside][:1]):
            return "  "
    return ""


def stack(parts: Sequence[Box], base: int) -> Box:
    """Boxes one below the other, each in the middle; that numbered `base` stands on the line."""
    wide = max(part.width for part in parts)
    rows: list[str] = []
    line = 0
    for at, part in enumerate(parts):
        if at == base:
            line = len(rows) + part.base
        left = (wide - part.width) // 2
        rows += [" " * left + row + " " * (wide - left - cells(row)) for row in part.rows]
    return Box(tuple(rows), line)


def divided(over: Box, under: Box, *, line: bool = True) -> Box:
    """One box above another, with a line between them or without."""
    between = Box(((_BAR if line else " ") * (max(over.width, under.width) + 2),))
    return stack([over, between, under], 1)


def overlined(inside: Box) -> Box:
    """A box below a line."""
    return stack([Box((_BAR * inside.width,)), inside], 1)


def braced(inside: Box, *, over: bool) -> Box:
    """A box below or above a brace as wide as it is."""
    half = max(0, inside.width - 3) // 2
    wide = max(3, inside.width)
    brace = f"{_BAR * half}{'┴' if over else '┬'}".ljust(wide - 2, _BAR)
    row = Box((f"╭{brace}╮" if over else f"╰{brace}╯",))
    return stack([row, inside] if over else [inside, row], int(over))


def fenced(left: str, inside: Box, right: str) -> Box:
    """A box in brackets as tall as it is."""
    if not inside.is_tall:
        return Box((f"{left}{inside.text}{right}",))
    return beside([_fence(left, inside), inside, _fence(right, inside)], apart=False)


def _fence(sign: str, inside: Box) -> Box:
    if not sign:
        return NOTHING
    top, middle, bottom = tuple(_TALL.get(sign, sign[:1] * 3))
    rows = [middle] * (len(inside.rows) - 2)
    if sign in "{}" and rows:
        rows = ["⎪"] * len(rows)
        rows[len(rows) // 2] = middle
    return Box((top, *rows, bottom), inside.base)


def aligned(rows: Sequence[Sequence[Box]], gap: str = "", *, pairs: bool = False) -> Box:
    """Rows of cells, each column as wide as it needs. `pairs`: columns meet in pairs, the first of which ends where the
    second begins, and rows of fractions have air between them."""
    count = max(map(len, rows), default=0)
    wide = [max((row[at].width for row in rows if at < len(row)), default=0) for at in range(count)]
    lines = [
        beside(
            [
                part
                for at, box in enumerate(row)
                for part in (
                    (Box((gap if at else "",))),
                    box.as_wide(wide[at], right=pairs and count > 1 and at % 2 == 0),
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
    return Box(full, lines[0].base if len(lines) == 1 else (len(full) - 1) // 2) if full else NOTHING


def raised(base: Box, under: Box | None, over: Box | None) -> Box:
    """A box with scripts at its right: in small signs where there are some for them and it is one line."""
    small = [
        None if script.is_tall or base.is_tall else scripted(script.text, table)
        for script, table in ((under, SUBSCRIPTS), (over, SUPERSCRIPTS))
        if script is not None
    ]
    if None not in small:
        return Box((base.text + "".join(each or "" for each in small),))
    wide = max(box.width for box in (under, over) if box is not None)
    blank = " " * base.width
    above = [blank + row for row in over.rows] if over is not None else []
    below = [blank + row for row in under.rows] if under is not None else []
    rows = [*above, *(row + " " * (base.width - cells(row) + wide) for row in base.rows), *below]
    return Box(tuple(rows), len(above) + base.base)


def root(degree: str, inside: Box) -> Box:
    """A box below a root sign."""
    indent = " " * max(1, cells(degree) + 1)
    rows = [f"{indent}┌{_BAR * inside.width}"]
    for at, row in enumerate(inside.rows):
        side = f"{degree}√".rjust(len(indent)) if at == len(inside.rows) - 1 else indent
        rows.append(f"{side}│{row}")
    return Box(tuple(rows), inside.base + 1)
