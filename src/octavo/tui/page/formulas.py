"""LaTeX set in two dimensions: fractions one part above the other, limits above and below, roots, tall brackets, rows of
matrices. What cannot be stacked reads as it does in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from octavo.tui.page.lines import cells
from octavo.tui.page.maths import SUBSCRIPTS, SUPERSCRIPTS, Reader, scripted, unescaped

_FRACTIONS = frozenset({"frac", "dfrac", "cfrac"})
_AROUND = frozenset({"boxed", "fbox", "mathop", "underline", "cancel"})
"""What changes nothing of the group it stands before."""
_STACKED = {"sum": "∑", "prod": "∏", "coprod": "∐", "bigcup": "⋃", "bigcap": "⋂", "bigoplus": "⨁"} | {
    name: name for name in ("lim", "max", "min", "sup", "inf", "argmax", "argmin", "limsup", "liminf")
}
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
_FENCES = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
}
_MOST_ROWS, _LONGEST, _DEEPEST, _MOST_CELLS = 40, 2000, 10, 400
"""Rows of a formula, signs of its source, how deep its parts stand in each other, and cells of its matrices: what is more
has no room anywhere, and takes long to find that out."""


class Box(NamedTuple):
    """Rows of signs, and which of them stands on the line."""

    rows: tuple[str, ...]
    base: int = 0

    @property
    def width(self) -> int:
        return max(map(cells, self.rows), default=0)


def formula(source: str, width: int) -> list[str] | None:
    """The rows of a formula; None when it has no room, or nothing in it is to be stacked."""
    if len(source) > _LONGEST or source.count("&") + source.count("\\\\") > _MOST_CELLS:
        return None
    rows = _Setter(unescaped(" ".join(source.split()))).grid(0)
    box = _aligned(rows)
    if len(box.rows) <= max(1, len(rows)) or box.width > width or len(box.rows) > _MOST_ROWS:
        return None
    return [row.rstrip() for row in box.rows]


def _beside(boxes: Sequence[Box]) -> Box:
    """Boxes one after the other on one line, with one blank at most between two of them."""
    kept: list[Box] = []
    for box in boxes:
        if kept and len(box.rows) == 1 and kept[-1].rows[kept[-1].base].endswith(" "):
            box = Box((box.rows[0].removeprefix(" "),))
        if box.width:
            kept.append(box)
    if not kept:
        return Box(("",))
    boxes = kept
    above = max(box.base for box in boxes)
    below = max(len(box.rows) - box.base for box in boxes)
    rows = ["" for _ in range(above + below)]
    for box in boxes:
        wide = box.width
        for at in range(above + below):
            own = at - above + box.base
            row = box.rows[own] if 0 <= own < len(box.rows) else ""
            rows[at] += row + " " * (wide - cells(row))
    return Box(tuple(rows), above)


def _stack(parts: Sequence[Box], base: int) -> Box:
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


def _divided(over: Box, under: Box, *, line: bool = True) -> Box:
    """One box above another, with a line between them or without."""
    between = Box((("─" if line else " ") * (max(over.width, under.width) + 2),))
    return _stack([over, between, under], 1)


def _fenced(left: str, inside: Box, right: str) -> Box:
    """A box in brackets as tall as it is."""
    if len(inside.rows) == 1:
        return Box((f"{left}{inside.rows[0]}{right}",))

    def tall(sign: str) -> Box:
        if not sign:
            return Box(("",))
        top, middle, bottom = tuple(_TALL.get(sign, sign[:1] * 3))
        count = len(inside.rows) - 2
        if sign in "{}" and count > 0:
            bar, tip = "⎪", middle
            rows = [bar] * count
            rows[count // 2] = tip
            return Box((top, *rows, bottom), inside.base)
        return Box((top, *[middle] * count, bottom), inside.base)

    return _beside([tall(left), inside, tall(right)])


def _widened(box: Box, width: int) -> Box:
    return Box(tuple(row + " " * (width - cells(row)) for row in box.rows), box.base)


def _stripped(box: Box) -> Box:
    return Box((box.rows[0].strip(),)) if len(box.rows) == 1 else box


def _aligned(rows: Sequence[Sequence[Box]], gap: str = "") -> Box:
    """Rows of cells, each column as wide as it needs."""
    lines = []
    count = max(map(len, rows), default=0)
    wide = [max((row[at].width for row in rows if at < len(row)), default=0) for at in range(count)]
    for row in rows:
        padded = [_widened(box, wide[at]) for at, box in enumerate(row)]
        parts: list[Box] = []
        for box in padded:
            parts += [Box((gap,)), box] if parts and gap else [box]
        lines.append(_beside(parts))
    spread: list[str] = []
    for line in lines:
        if spread and len(line.rows) > 1 and not gap:
            spread.append("")
        spread += line.rows
    widest = max(map(cells, spread), default=0)
    full = tuple(row + " " * (widest - cells(row)) for row in spread)
    return Box(full, lines[0].base if len(lines) == 1 else (len(full) - 1) // 2) if full else Box(("",))


class _Setter(Reader):
    """Reads LaTeX into boxes."""

    def grid(self, depth: int, environment: str = "") -> list[list[Box]]:
        """Rows of cells up to the end of an environment, or of all."""
        rows: list[list[Box]] = [[]]
        while True:
            parts = self._parts(depth, lambda command, sign, char: command == "end" or sign == "\\" or char == "&")
            if not rows[-1] or "matrix" in environment or environment in ("cases", "array"):
                while parts and not parts[0].rows[0].strip() and len(parts[0].rows) == 1:
                    parts = parts[1:]
                if parts and len(parts[0].rows) == 1:
                    parts[0] = Box((parts[0].rows[0].lstrip(),))
                if parts and len(parts[-1].rows) == 1:
                    parts[-1] = Box((parts[-1].rows[0].rstrip(),))
            rows[-1].append(_beside(parts))
            if self.at_end():
                break
            command, sign, _, _char = self._lexemes[self._at]
            self._at += 1
            if command == "end":
                self._argument(depth)
                if environment:
                    break
            elif sign == "\\":
                if not self.at_end() and self._peek() == "[":
                    self._at += 1
                    self.sequence(depth, "]")
                rows.append([])
        return [row for row in rows if any(box.width for box in row)]

    def _parts(self, depth: int, stop: Callable[[str, str, str], bool]) -> list[Box]:
        out: list[Box] = []
        text = ""

        def settle() -> None:
            nonlocal text
            if text:
                out.append(Box((re.sub(" +", " ", text),)))
            text = ""

        while not self.at_end():
            command, sign, _, char = self._lexemes[self._at]
            if stop(command, sign, char):
                break
            if depth < _DEEPEST and self.parts_here(depth):
                settle()
                self._at += 1
                parts = [_stripped(_beside(out)), _stripped(_beside(self._parts(depth + 1, stop)))]
                divided = _divided(*parts, line=command == "over")
                return [_fenced("(", divided, ")") if command == "choose" else divided]
            if command in _AROUND:
                self._at += 1
                continue
            if char in ("^", "_"):
                settle()
                under, over = self._scripts(depth)
                out.append(_raised(out.pop() if out else Box(("",)), under, over))
            elif char == "{" or command in _FRACTIONS or command in _STACKED or command in ("sqrt", "begin", "left"):
                settle()
                out.append(self._box(depth))
            else:
                part = self._atom(depth)
                text += f" {part} " if part in self.SPACED else part
                if len(part) == 1 and not part.isspace() and not self.at_end() and self._peek() in ("^", "_"):
                    text, last = text[: -len(part)] if part not in self.SPACED else text, part
                    if part not in self.SPACED:
                        settle()
                        out.append(Box((last,)))
        settle()
        return out

    def at_end(self) -> bool:
        """Whether all is read."""
        return self._at >= len(self._lexemes)

    def _box(self, depth: int) -> Box:
        """What stands here, as a box: a command with what belongs to it, a group, or one sign."""
        while not self.at_end() and self._lexemes[self._at][2]:
            self._at += 1
        if self.at_end():
            return Box(("",))
        if depth >= _DEEPEST:
            return Box((self._atom(depth),))
        command, _, _, char = self._lexemes[self._at]
        if char == "{":
            self._at += 1
            return self._group(depth + 1, "}")
        if command in _FRACTIONS:
            self._at += 1
            over, under = self._box(depth + 1), self._box(depth + 1)
            return _divided(over, under)
        if command == "sqrt":
            self._at += 1
            root = ""
            if not self.at_end() and self._peek() == "[":
                self._at += 1
                root = self.sequence(depth + 1, "]").translate(SUPERSCRIPTS)
            return _root(root, self._box(depth + 1))
        if command in _STACKED:
            self._at += 1
            low, high = self._scripts(depth)
            parts = [
                *((high,) if high is not None else ()),
                Box((_STACKED[command],)),
                *((low,) if low is not None else ()),
            ]
            return _beside([_stack(parts, 0 if high is None else 1), Box((" ",))])
        if command == "begin":
            self._at += 1
            name = self._argument(depth).strip().rstrip("*")
            if name == "array" and not self.at_end() and self._peek() == "{":
                self._argument(depth)
            rows = self.grid(depth + 1, name)
            left, right = _FENCES.get(name, ("", ""))
            aligned = "matrix" in name or name in ("cases", "array", "smallmatrix")
            return _fenced(left, _aligned(rows, "  " if aligned else ""), right)
        if command == "left":
            self._at += 1
            left = self._delimiter(depth)
            parts = self._parts(depth + 1, lambda command, sign, char: command == "right")
            self._at += 1
            return _fenced(left, _beside(parts), self._delimiter(depth))
        return Box((self._atom(depth),))

    def _group(self, depth: int, until: str) -> Box:
        parts = self._parts(depth, lambda command, sign, char: char == until)
        self._at += 1
        return _stripped(_beside(parts))

    def _delimiter(self, depth: int) -> str:
        if self.at_end():
            return ""
        sign = self._atom(depth).strip()
        return "" if sign == "." else sign

    def _scripts(self, depth: int) -> tuple[Box | None, Box | None]:
        """What is set below and above what stands before."""
        under: Box | None = None
        over: Box | None = None
        while not self.at_end() and (
            self._peek() in ("^", "_") or self._lexemes[self._at][0] in ("limits", "nolimits")
        ):
            sign = self._peek()
            self._at += 1
            if sign == "^":
                over = self._box(depth + 1)
            elif sign == "_":
                under = self._box(depth + 1)
        return under, over


def _raised(base: Box, under: Box | None, over: Box | None) -> Box:
    """A box with scripts at its right: in small signs where there are some for them and it is one line."""
    small = ""
    for script, table in ((under, SUBSCRIPTS), (over, SUPERSCRIPTS)):
        if script is not None:
            text = scripted(script.rows[0], table) if len(script.rows) == len(base.rows) == 1 else None
            if text is None:
                break
            small += text
    else:
        return Box((base.rows[0] + small,))
    wide = max(box.width for box in (under, over) if box is not None)
    blank = " " * base.width
    above = [blank + row for row in over.rows] if over is not None else []
    below = [blank + row for row in under.rows] if under is not None else []
    rows = [*above, *(row + " " * (base.width - cells(row) + wide) for row in base.rows), *below]
    return Box(tuple(rows), len(above) + base.base)


def _root(root: str, inside: Box) -> Box:
    """A box below a root sign."""
    if len(inside.rows) == 1 and inside.width == 1:
        return Box((f"{root}√{inside.rows[0]}",))
    indent = " " * max(1, cells(root) + 1)
    rows = [f"{indent}┌{'─' * inside.width}"]
    for at, row in enumerate(inside.rows):
        side = f"{root}√".rjust(len(indent)) if at == len(inside.rows) - 1 else indent
        rows.append(f"{side}│{row}")
    return Box(tuple(rows), inside.base + 1)
