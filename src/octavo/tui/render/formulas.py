"""Renders LaTeX formulas as text: in one line, or on several rows with fractions, limits, roots, tall brackets and
matrices. Errors in the LaTeX are skipped. A command without a matching character is shown by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import normalize

from pylatexenc.latex2text import fmt_math_text_style

from octavo.tui.render import formula_boxes
from octavo.tui.render.formula_boxes import (
    EMPTY_BOX,
    MAX_FORMULA_LENGTH,
    FormulaBox,
    LatexCommand,
    LatexEnvironment,
    LatexGroup,
    LatexPart,
    LatexParts,
    command_text,
    join_boxes,
    parse_latex,
)
from octavo.tui.render.styles import SUBSCRIPTS, SUPERSCRIPTS, to_script

_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
_BINOMIALS = frozenset({"binom", "dbinom", "tbinom"})
_FRACTION_SEPARATORS = frozenset({"over", "atop", "choose"})
"""Commands between a numerator and a denominator, as in `a \\over b`."""
_COMMANDS_WITH_LIMITS, _IGNORED_COMMANDS, _TEXT_COMMANDS = (
    frozenset(names.split())
    for names in (
        "sum prod coprod bigcup bigcap bigoplus bigotimes bigvee bigwedge bigsqcup lim max min sup inf argmax argmin limsup "
        "liminf operatorname* mathop underbrace overbrace",
        "big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm displaystyle textstyle scriptstyle limits "
        "nolimits hline rm bf it sf tt cal nonumber notag begin end tiny scriptsize footnotesize small normalsize large Large "
        "LARGE huge Huge",
        "text textrm textbf textit texttt textsf textnormal textup mbox mathrm operatorname",
    )
)
_BLANK_COMMANDS = frozenset({"\n", "\t", "space", "label", "color", "hspace", "vspace", "mspace", "phantom"})
_ACCENTS = {
    **dict.fromkeys(("hat", "widehat"), "\u0302"),
    **dict.fromkeys(("bar", "overline"), "\u0304"),
    **dict.fromkeys(("vec", "overrightarrow"), "\u20d7"),
    **dict.fromkeys(("tilde", "widetilde"), "\u0303"),
    "dot": "\u0307",
    "ddot": "\u0308",
    "check": "\u030c",
    "breve": "\u0306",
}
_ENVIRONMENT_BRACKETS = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
}
_SPACED_SIGNS = frozenset("·⋅÷∘⟹⟸⟺⟶⟵⟷↪≲≳≺≻≤≥≠≈≡∼≃≅∝≪≫→←⇒⇐⇔↔↦∈∉⊂⊆⊃⊇∪∩×±∧∨⊕⊗∣=")
_UNAMBIGUOUS_OPERAND = re.compile(r"[\w.∞′]+[⁰-₟ᵃ-ᶿ²³¹]*|\([^()]*\)|\|[^|]*\||.", re.S)
_MAX_STACKED_ROWS, _MAX_MATRIX_CELLS = 40, 400


def format_inline(source: str, *, ascii: bool = False) -> str:
    """Return a formula as one line of text. Return its LaTeX with `ascii`, or if it is too long or cannot be parsed."""
    box = None if ascii or len(source) > MAX_FORMULA_LENGTH else _layout_formula(source, False)
    return " ".join((source if box is None else box.baseline_row).split())


def format_stacked(source: str, width: int) -> list[str] | None:
    """Return the rows of a formula. None if it is too long, wide or tall, cannot be parsed, or needs only one row."""
    if len(source) > MAX_FORMULA_LENGTH or source.count("&") + source.count("\\\\") > _MAX_MATRIX_CELLS:
        return None
    box = _layout_formula(source, True)
    if box is None or not box.is_tall or box.width > width or len(box.rows) > _MAX_STACKED_ROWS:
        return None
    return [row.rstrip() for row in box.rows]


@lru_cache(256)
def _layout_formula(source: str, is_stacked: bool) -> FormulaBox | None:
    parts = parse_latex(source)
    return None if parts is None else _FormulaLayout(is_stacked).grid_box(parts, "")


class _LatexReader:
    """Reads parsed LaTeX one part after the other."""

    def __init__(self, parts: LatexParts) -> None:
        self._parts = parts
        self._index = 0

    def __bool__(self) -> bool:
        return self._index < len(self._parts)

    @property
    def upcoming(self) -> LatexPart:
        """The part that `read_next` would return. An empty string at the end."""
        return self._parts[self._index] if self else ""

    @property
    def is_after_blanks(self) -> bool:
        """True if the part before the last read part is a command with spaces after it."""
        part = self._parts[self._index - 2] if self._index > 1 else ""
        return isinstance(part, LatexCommand) and part.blanks != ""

    def read_next(self) -> LatexPart:
        self._index += 1
        return self._parts[self._index - 1]

    def skip(self, *names: str) -> bool:
        """Skip spaces and the commands in `names`. Return True if one of these commands was skipped."""
        was_found = False
        while self and (_is_blank(self.upcoming) or _command_name(self.upcoming) in names):
            was_found = _command_name(self.read_next()) in names or was_found
        return was_found


def _command_name(part: LatexPart) -> str:
    return part.name if isinstance(part, LatexCommand) else ""


def _is_blank(part: LatexPart) -> bool:
    return isinstance(part, str) and part.isspace()


class _FormulaLayout:
    """Builds the box of a formula: in one row, or in several rows if `is_stacked`."""

    def __init__(self, is_stacked: bool) -> None:
        self._is_stacked = is_stacked

    def grid_box(self, parts: LatexParts, environment: str) -> FormulaBox:
        """Return the box of an environment such as `cases`. An empty `environment` stands for the whole formula."""
        rows: list[list[list[LatexPart]]] = [[[]]]
        for part in parts:
            if part == "&":
                rows[-1].append([])
            elif _command_name(part) in ("\\", "\\*", "cr"):
                rows.append([[]])
            else:
                rows[-1][-1].append(part)
        is_table = "matrix" in environment or environment in ("cases", "array")
        cells = [[self.row_box(_LatexReader(tuple(cell))) for cell in row] for row in rows]
        cells = [[box.strip() if is_table or index % 2 == 0 else box for index, box in enumerate(row)] for row in cells]
        cells = [row for row in cells if any(box.width for box in row)]
        left, right = _ENVIRONMENT_BRACKETS.get(environment, ("", ""))
        if not self._is_stacked:
            text = "; ".join((" " if is_table else "").join(box.baseline_row for box in row).strip() for row in cells)
            return FormulaBox((f"{left}{text}{right}",))
        return formula_boxes.add_brackets(
            left, formula_boxes.align_columns(cells, "  " if is_table else "", has_equations=not is_table), right
        )

    def row_box(self, items: _LatexReader, until_command: str = "", *, is_lower_half: bool = False) -> FormulaBox:
        r"""Return a box with the parts next to each other, up to the command `until_command`. If it is empty, take all
        parts. `is_lower_half` is True after a command such as `\over`: a second such command makes no fraction."""
        boxes: list[FormulaBox] = []
        while items:
            item = items.upcoming
            name = _command_name(item)
            if until_command and name == until_command:
                break
            items.read_next()
            if name in _FRACTION_SEPARATORS and not is_lower_half:
                return self._fraction_box(
                    join_boxes(boxes), self.row_box(items, until_command, is_lower_half=True), name
                )
            if item in ("^", "_", "'"):
                while boxes and boxes[-1].baseline_row.isspace():
                    boxes.pop()
            if item in ("^", "_"):
                subscript, superscript = self._read_scripts(items, item)
                boxes.append(self._box_with_scripts(boxes.pop() if boxes else EMPTY_BOX, subscript, superscript))
            else:
                boxes.append(self._part_box(item, items, boxes))
        return join_boxes(boxes)

    def _part_box(self, part: LatexPart, following: _LatexReader, boxes_before: Sequence[FormulaBox]) -> FormulaBox:
        match part:
            case LatexCommand():
                return self._command_box(part.name, part.arguments, following, boxes_before)
            case "+" | "-" | "*" | "/" | "<" | ">" if following.is_after_blanks:
                return FormulaBox((f" {part}",))
            case ":" if following.upcoming == "=":
                following.read_next()
                return FormulaBox((" := ",))
            case LatexGroup():
                return self._group_box(part.parts)
            case LatexEnvironment():
                return self.grid_box(part.parts, part.name)
        return _sign_with_spaces(" " if part.isspace() or part in "&~" else "′" if part == "'" else part)

    def _group_box(self, parts: LatexParts) -> FormulaBox:
        return self.row_box(_LatexReader(parts)).strip()

    def _command_box(
        self, name: str, arguments: Sequence[LatexParts], items: _LatexReader, boxes_before: Sequence[FormulaBox]
    ) -> FormulaBox:
        if name in _COMMANDS_WITH_LIMITS or _command_name(items.upcoming) == "limits":
            return self._operator_box(name, arguments, items)
        if name == "left":
            return self._box_in_brackets(items)
        if name in _IGNORED_COMMANDS or name == "right":
            return EMPTY_BOX
        if name in _BLANK_COMMANDS:
            return FormulaBox((" ",))
        if not arguments:
            return self._sign_box(name, items, boxes_before)
        last = arguments[-1]
        if name in _TEXT_COMMANDS:
            return FormulaBox((_plain_text(last),))
        if name in _FRACTIONS:
            return self._fraction_box(self._group_box(arguments[0]), self._group_box(last), "frac", items)
        if name in _BINOMIALS:
            return self._fraction_box(self._group_box(arguments[0]), self._group_box(last), "choose")
        inside = self._group_box(last)
        match name:
            case "sqrt":
                degree = (
                    self._group_box(arguments[0]).baseline_row.translate(SUPERSCRIPTS) if len(arguments) > 1 else ""
                )
                is_short = not inside.is_tall and _with_parentheses(inside.baseline_row) == inside.baseline_row
                if self._is_stacked and not is_short:
                    return formula_boxes.add_root(degree, inside)
                return FormulaBox((f"{degree}√{_with_parentheses(inside.baseline_row)}",))
            case "mathbb" | "Bbb":
                return FormulaBox((fmt_math_text_style(inside.baseline_row, "doublestruck"),))
            case "tag" | "pmod":
                return FormulaBox((f"  ({'mod ' if name == 'pmod' else ''}{inside.baseline_row})",))
            case "overset" | "stackrel" | "underset":
                small = self._group_box(arguments[0])
                if self._is_stacked:
                    return (
                        formula_boxes.stack_boxes([inside, small], 0)
                        if name == "underset"
                        else formula_boxes.stack_boxes([small, inside], 1)
                    )
                return FormulaBox((f"{inside.baseline_row}{'_' if name == 'underset' else '^'}({small.baseline_row})",))
            case "xrightarrow":
                return FormulaBox((f" ─{inside.baseline_row}→ ",))
            case "xleftarrow":
                return FormulaBox((f" ←{inside.baseline_row}─ ",))
            case "not":
                return _sign_with_spaces(normalize("NFC", inside.baseline_row[:1] + "\u0338") + inside.baseline_row[1:])
            case "underline" | "cancel" | "boxed" | "fbox":
                return inside
        if name in _ACCENTS:
            if self._is_stacked and name == "overline" and inside.width > 1:
                return formula_boxes.stack_boxes([FormulaBox(("─" * inside.width,)), inside], 1)
            is_single = not inside.is_tall and len(inside.baseline_row) == 1
            return (
                FormulaBox((normalize("NFC", inside.baseline_row + _ACCENTS[name]),))
                if is_single
                else formula_boxes.add_brackets(f"{name}(", inside, ")")
            )
        return inside

    def _sign_box(self, name: str, items: _LatexReader, boxes_before: Sequence[FormulaBox]) -> FormulaBox:
        """Return a box with the character of the command `name`, or else with the name and the spaces around it."""
        sign = command_text(name)
        if len(sign) < 2 or not sign.isalpha():
            return _sign_with_spaces(sign)
        space_before = " " if boxes_before and boxes_before[-1].baseline_row[-1:].isalnum() else ""
        space_after = (
            "" if items.upcoming == "" or (isinstance(items.upcoming, str) and items.upcoming in "^_(),") else " "
        )
        return FormulaBox((f"{space_before}{sign}{space_after}",))

    def _operator_box(self, name: str, arguments: Sequence[LatexParts], items: _LatexReader) -> FormulaBox:
        if "brace" in name:
            core = self._group_box(arguments[-1]) if arguments else EMPTY_BOX
            core = (
                formula_boxes.add_brace(core, is_above=name == "overbrace") if self._is_stacked and core.width else core
            )
        elif name == "operatorname*":
            core = FormulaBox((_plain_text(arguments[-1]) if arguments else "",))
        else:
            core = self._group_box(arguments[-1]) if arguments else FormulaBox((command_text(name),))
        has_side_limits = items.skip("nolimits")
        items.skip("limits", "displaystyle")
        if items.upcoming in ("^", "_"):
            subscript, superscript = self._read_scripts(items, items.read_next())
            if not self._is_stacked or has_side_limits:
                return self._box_with_scripts(core, subscript, superscript)
            parts = [each for each in (superscript, core, subscript) if each is not None]
            return join_boxes([formula_boxes.stack_boxes(parts, 0 if superscript is None else 1), FormulaBox((" ",))])
        return core if "brace" in name else join_boxes([core, FormulaBox((" ",))])

    def _box_in_brackets(self, items: _LatexReader) -> FormulaBox:
        left = self._read_delimiter(items)
        inside = self.row_box(items, until_command="right")
        if items:
            items.read_next()
        return formula_boxes.add_brackets(left, inside, self._read_delimiter(items))

    def _read_delimiter(self, items: _LatexReader) -> str:
        items.skip()
        if not items:
            return ""
        item = items.read_next()
        sign = (
            command_text(_command_name(item))
            if _command_name(item)
            else self._part_box(item, items, ()).baseline_row.strip()
        )
        return "" if sign == "." else sign

    def _read_scripts(self, items: _LatexReader, sign: LatexPart) -> tuple[FormulaBox | None, FormulaBox | None]:
        """Return the subscript and superscript, or None for a missing script. `sign` is the sign just read."""
        scripts: dict[LatexPart, FormulaBox] = {}
        while True:
            items.skip("limits", "nolimits")
            if items:
                scripts[sign] = self._part_box(items.read_next(), _LatexReader(()), ()).strip()
            else:
                scripts.setdefault(sign, EMPTY_BOX)
            if items.upcoming not in ("^", "_"):
                return scripts.get("_"), scripts.get("^")
            sign = items.read_next()

    def _box_with_scripts(
        self, base: FormulaBox, subscript: FormulaBox | None, superscript: FormulaBox | None
    ) -> FormulaBox:
        if self._is_stacked:
            return formula_boxes.add_scripts(base, subscript, superscript)
        text = base.baseline_row.rstrip() if base.baseline_row.strip() else base.baseline_row
        for sign, script, table in (("_", subscript, SUBSCRIPTS), ("^", superscript, SUPERSCRIPTS)):
            if script is not None:
                script_text = script.baseline_row.replace(" = ", "=")
                small = to_script(script_text, table)
                text += (
                    small
                    if small is not None
                    else sign + (script_text if re.fullmatch(r"\w+", script_text) else f"({script_text})")
                )
        return FormulaBox((text,))

    def _fraction_box(
        self, numerator: FormulaBox, denominator: FormulaBox, name: str, items: _LatexReader | None = None
    ) -> FormulaBox:
        numerator, denominator = numerator.strip(), denominator.strip()
        if self._is_stacked:
            parts = formula_boxes.fraction(numerator, denominator, has_line=name in ("frac", "over"))
            return formula_boxes.add_brackets("(", parts, ")") if name == "choose" else parts
        if name == "choose":
            return FormulaBox((f"C({numerator.baseline_row}, {denominator.baseline_row})",))
        following = items.upcoming if items is not None else ""
        space_after = (
            " "
            if (
                following.isalnum()
                if isinstance(following, str)
                else _command_name(following) not in ("right", *_IGNORED_COMMANDS)
            )
            else ""
        )
        return FormulaBox(
            (f"{_with_parentheses(numerator.baseline_row)}/{_with_parentheses(denominator.baseline_row)}{space_after}",)
        )


def _sign_with_spaces(sign: str) -> FormulaBox:
    return FormulaBox((f" {sign} " if sign in _SPACED_SIGNS else sign,))


def _plain_text(parts: LatexParts) -> str:
    result = ""
    for part in parts:
        match part:
            case LatexCommand():
                result += (
                    "".join(map(_plain_text, part.arguments))
                    if part.arguments
                    else command_text(part.name) + part.blanks
                )
            case LatexGroup() | LatexEnvironment():
                result += _plain_text(part.parts)
            case _:
                result += " " if part == "~" else part
    return result


def _with_parentheses(text: str) -> str:
    return text if _UNAMBIGUOUS_OPERAND.fullmatch(text) else f"({text})"
