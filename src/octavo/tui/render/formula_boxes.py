"""Builds formulas from boxes of characters (`FormulaBox`). Also parses LaTeX (`parse_latex`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

from pylatexenc.latex2text import get_default_latex_context_db
from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexMathNode,
    LatexSpecialsNode,
    LatexWalker,
    LatexWalkerParseError,
)
from pylatexenc.macrospec import LatexContextDb, std_environment, std_macro, std_specials

from octavo.tui.render.styled_lines import cells
from octavo.tui.render.styles import SUBSCRIPTS, SUPERSCRIPTS, to_script

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
"""Characters that can be next to the line of a fraction without a space between them."""


class FormulaBox(NamedTuple):
    """Characters of a part of a formula. Adjacent boxes are aligned at the row with the index `baseline`."""

    rows: tuple[str, ...]
    baseline: int = 0

    @property
    def width(self) -> int:
        return max(map(cells, self.rows), default=0)

    @property
    def baseline_row(self) -> str:
        return self.rows[self.baseline]

    @property
    def is_tall(self) -> bool:
        """True if the box has more than one row."""
        return len(self.rows) > 1

    def strip(self) -> FormulaBox:
        """Return a box of one row without spaces at its ends. Return a taller box unchanged."""
        return self if self.is_tall else FormulaBox((self.baseline_row.strip(),))

    def pad(self, width: int, *, right: bool = False) -> FormulaBox:
        """Return the box, padded with spaces to `width` cells. `right` aligns its rows at the right."""
        return FormulaBox(
            tuple(" " * (width - cells(row)) + row if right else row + " " * (width - cells(row)) for row in self.rows),
            self.baseline,
        )


EMPTY_BOX = FormulaBox(("",))


def join_boxes(boxes: Iterable[FormulaBox], *, fixes_spaces: bool = True) -> FormulaBox:
    """Join boxes side by side, aligned at their baselines. `fixes_spaces` adds missing and removes double spaces."""
    spaced_boxes: list[FormulaBox] = []
    for box in boxes:
        if spaced_boxes and fixes_spaces:
            if not box.is_tall and spaced_boxes[-1].baseline_row.endswith(" "):
                box = FormulaBox((box.baseline_row.removeprefix(" "),))
            elif gap := _spaces_between(spaced_boxes[-1], box):
                spaced_boxes.append(FormulaBox((gap,)))
        if box.width:
            spaced_boxes.append(box)
    if not any(box.is_tall for box in spaced_boxes):
        return FormulaBox(("".join(box.baseline_row for box in spaced_boxes),))
    rows_above = max(box.baseline for box in spaced_boxes)
    rows_below = max(len(box.rows) - box.baseline for box in spaced_boxes)
    rows = ["" for _ in range(rows_above + rows_below)]
    for box in spaced_boxes:
        width = box.width
        for row_number in range(rows_above + rows_below):
            row_index = row_number - rows_above + box.baseline
            row = box.rows[row_index] if 0 <= row_index < len(box.rows) else ""
            rows[row_number] += row + " " * (width - cells(row))
    return FormulaBox(tuple(rows), rows_above)


def _spaces_between(left: FormulaBox, right: FormulaBox) -> str:
    """Return the spaces that are needed to see where `left` ends and `right` begins. Empty if none are needed."""
    last, first = left.baseline_row[-1:], right.baseline_row[:1]
    if _BAR in (last, first) and last not in _SEPARATORS and first not in _SEPARATORS:
        return " "
    for index, row in enumerate(left.rows):
        right_index = index - left.baseline + right.baseline
        if index != left.baseline and 0 <= right_index < len(right.rows):
            if " " not in (row[-1:], right.rows[right_index][:1]):
                return "  "
            if last == " " != row[-1:]:  # For example, a sum whose limits are wider than its sign, before an index.
                return " "
    return ""


def stack_boxes(boxes: Sequence[FormulaBox], base_index: int) -> FormulaBox:
    """Return the boxes one above the other, centered. The baseline of the result is that of `boxes[base_index]`."""
    width = max(box.width for box in boxes)
    rows: list[str] = []
    line = 0
    for index, box in enumerate(boxes):
        if index == base_index:
            line = len(rows) + box.baseline
        left_margin = (width - box.width) // 2
        rows += [" " * left_margin + row + " " * (width - left_margin - cells(row)) for row in box.rows]
    return FormulaBox(tuple(rows), line)


def fraction(numerator: FormulaBox, denominator: FormulaBox, *, has_line: bool = True) -> FormulaBox:
    """Return numerator above denominator. `has_line` draws a line between them."""
    middle = FormulaBox(((_BAR if has_line else " ") * (max(numerator.width, denominator.width) + 2),))
    return stack_boxes([numerator, middle, denominator], 1)


def add_brace(inside: FormulaBox, *, is_above: bool) -> FormulaBox:
    """Return `inside` with a brace of at least 3 cells over its whole width: above if `is_above`, else below."""
    half = max(0, inside.width - 3) // 2
    brace_width = max(3, inside.width)
    brace = f"{_BAR * half}{'┴' if is_above else '┬'}".ljust(brace_width - 2, _BAR)
    row = FormulaBox((f"╭{brace}╮" if is_above else f"╰{brace}╯",))
    return stack_boxes([row, inside] if is_above else [inside, row], int(is_above))


def add_brackets(left: str, inside: FormulaBox, right: str) -> FormulaBox:
    """Return `inside` between two brackets of its height. An empty `left` or `right` stands for no bracket."""
    if not inside.is_tall:
        return FormulaBox((f"{left}{inside.baseline_row}{right}",))
    return join_boxes([_tall_bracket(left, inside), inside, _tall_bracket(right, inside)], fixes_spaces=False)


def _tall_bracket(sign: str, inside: FormulaBox) -> FormulaBox:
    if not sign:
        return EMPTY_BOX
    top, middle, bottom = tuple(_TALL_BRACKETS.get(sign, sign[:1] * 3))
    rows = [middle] * (len(inside.rows) - 2)
    if sign in "{}" and rows:
        rows = ["⎪"] * len(rows)
        rows[len(rows) // 2] = middle
    return FormulaBox((top, *rows, bottom), inside.baseline)


def align_columns(rows: Sequence[Sequence[FormulaBox]], gap: str = "", *, has_equations: bool = False) -> FormulaBox:
    """Return a table of boxes as one box, with aligned columns and `gap` between them. If there are several columns,
    `has_equations` aligns the first, third, … column at the right, so that equals signs are below each other."""
    column_count = max(map(len, rows), default=0)
    widths = [max((row[index].width for row in rows if index < len(row)), default=0) for index in range(column_count)]
    lines = [
        join_boxes(
            [
                part
                for index, box in enumerate(row)
                for part in (
                    (FormulaBox((gap if index else "",))),
                    box.pad(widths[index], right=has_equations and column_count > 1 and index % 2 == 0),
                )
            ],
            fixes_spaces=False,
        )
        for row in rows
    ]
    spread: list[str] = []
    for line in lines:
        spread += ["", *line.rows] if spread and line.is_tall and not gap else line.rows
    widest_row = max(map(cells, spread), default=0)
    padded_rows = tuple(row + " " * (widest_row - cells(row)) for row in spread)
    return (
        FormulaBox(padded_rows, lines[0].baseline if len(lines) == 1 else (len(padded_rows) - 1) // 2)
        if padded_rows
        else EMPTY_BOX
    )


def add_scripts(base: FormulaBox, subscript: FormulaBox | None, superscript: FormulaBox | None) -> FormulaBox:
    """Return `base` with a subscript and a superscript. If Unicode lacks small characters for one of them, or if a box
    is tall, both scripts are in rows below and above `base`."""
    small_scripts = [
        None if script.is_tall or base.is_tall else to_script(script.baseline_row, table)
        for script, table in ((subscript, SUBSCRIPTS), (superscript, SUPERSCRIPTS))
        if script is not None
    ]
    if None not in small_scripts:
        return FormulaBox((base.baseline_row + "".join(each or "" for each in small_scripts),))
    script_width = max(box.width for box in (subscript, superscript) if box is not None)
    blank = " " * base.width
    rows_above = [blank + row for row in superscript.rows] if superscript is not None else []
    rows_below = [blank + row for row in subscript.rows] if subscript is not None else []
    rows = [*rows_above, *(row + " " * (base.width - cells(row) + script_width) for row in base.rows), *rows_below]
    return FormulaBox(tuple(rows), len(rows_above) + base.baseline)


def add_root(degree: str, inside: FormulaBox) -> FormulaBox:
    """Return the box under a root sign with the given degree."""
    indent = " " * max(1, cells(degree) + 1)
    rows = [f"{indent}┌{_BAR * inside.width}"]
    for index, row in enumerate(inside.rows):
        side = f"{degree}√".rjust(len(indent)) if index == len(inside.rows) - 1 else indent
        rows.append(f"{side}│{row}")
    return FormulaBox(tuple(rows), inside.baseline + 1)


_ARGUMENTS = {
    "{{": "frac dfrac tfrac cfrac binom dbinom tbinom overset underset stackrel textcolor colorbox",
    "{": "text textrm textbf textit texttt textsf mbox mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr "
    "mathnormal boldsymbol bold bm pmb frak Bbb textnormal textup operatorname mathop boxed fbox underline cancel substack "
    "underbrace overbrace tag pmod label color mspace phantom not begin end hat widehat bar overline vec overrightarrow "
    "tilde widetilde dot ddot check breve",
    "*{": "operatorname hspace vspace",
    "[{": "sqrt xrightarrow xleftarrow",
    "*[": "\\",
}
_ENVIRONMENTS = {"{": "array alignat alignedat", "[": "aligned gathered"}
_HTML_NAMES = (
    "rarr larr lrarr harr uarr darr Rarr Larr Lrarr Harr rArr lArr lrArr hArr uArr dArr infin alef sub sube supe isin exist "
    "empty reals natnums cnums Complex real plusmn sdot ang and or lang rang thetasym weierp bull sect Darr Uarr Reals "
    "alefsym clubs diamonds hearts spades Dagger varGamma varDelta varTheta varLambda varXi varPi varSigma varUpsilon varPhi "
    "varPsi varOmega"
)
"""LaTeX commands that KaTeX supports but `pylatexenc` does not."""
_SIGNS = {
    "ne": "≠",
    "iff": "⇔",
    "implies": "⇒",
    "impliedby": "⇐",
    "neg": "¬",
    "land": "∧",
    "lor": "∨",
    "Re": "ℜ",
    "Im": "ℑ",
    "degree": "°",
    "checkmark": "✓",
    "lt": "<",
    "gt": ">",
    "colon": ":",
    "coloneqq": "≔",
    "triangle": "△",
    "models": "⊨",
    "bot": "⊥",
    "|": "‖",
    "%": "%",
    "ast": "*",
    "bullet": "•",
    "prime": "′",
    "mid": "∣",
    "bmod": " mod ",
    "leqslant": "≤",
    "geqslant": "≥",
    "epsilon": "ε",
    "phi": "φ",
    "!": "",
    "newline": "; ",
    "R": "ℝ",
    "N": "ℕ",
    "Z": "ℤ",
    **dict(zip(_HTML_NAMES.split(), "→←↔↔↑↓⇒⇐⇔⇔⇒⇐⇔⇔⇑⇓∞ℵ⊂⊆⊇∈∃∅ℝℕℂℂℜ±⋅∠∧∨⟨⟩ϑ℘•§⇓⇑ℝℵ♣♢♡♠‡ΓΔΘΛΞΠΣΥΦΨΩ", strict=True)),
}
"""Characters for LaTeX commands for which `pylatexenc` has no character, or an unusual one."""
_ESCAPED = re.compile(r"(?<![^\W\d_]{2})\\_(?![^\W\d_]{3})|\\_(?![^\W\d_]{2})")
_OPENING = re.compile(
    r"\\(begin|end|left|right)(?![A-Za-z])|\\([(\[\])])|\\(?:[A-Za-z]+|\\)\*?\s*(\[)|\\.|([{}\]])", re.S
)
_OPENS = {"begin": 0, "left": 1, "(": 2, "[": 3, "{": 4}
_CLOSES = {"end": 0, "right": 1, ")": 2, "]": 3, "}": 4}
MAX_FORMULA_LENGTH = 2000
"""Maximum number of characters of a formula. `pylatexenc` parses that many in 20 ms."""
MAX_FORMULA_DEPTH = 40
"""Maximum nesting depth of a formula, because `pylatexenc` calls itself for each level."""


class LatexCommand(NamedTuple):
    r"""A LaTeX command such as `\frac`, its arguments, and the spaces after it."""

    name: str
    arguments: tuple[LatexParts, ...] = ()
    blanks: str = ""


class LatexGroup(NamedTuple):
    """Parsed LaTeX inside braces, or inside the brackets of an optional argument."""

    parts: LatexParts


class LatexEnvironment(NamedTuple):
    r"""Parsed LaTeX between `\begin` and `\end`."""

    name: str
    parts: LatexParts


LatexPart: TypeAlias = "str | LatexCommand | LatexGroup | LatexEnvironment"
LatexParts: TypeAlias = "tuple[LatexPart, ...]"


@lru_cache(64)
def parse_latex(source: str) -> LatexParts | None:
    """Parse a LaTeX formula, and skip invalid parts. None if it is too long, too deeply nested or unreadable."""
    source = _unescape_markdown(source) if len(source) <= MAX_FORMULA_LENGTH else source
    if len(source) > MAX_FORMULA_LENGTH or _nesting_depth(source) > MAX_FORMULA_DEPTH:
        return None
    walker = LatexWalker(source, latex_context=_parser_context(), tolerant_parsing=True)
    try:
        return _convert_nodes(walker.get_latex_nodes()[0])
    except LatexWalkerParseError:
        return None


def _unescape_markdown(source: str) -> str:
    """Return LaTeX without the backslashes that Markdown adds. Escape `%` in the last line, where it is no comment."""
    source = _ESCAPED.sub("_", source.replace("\\\\_", "_")).replace("\\*", "*")
    lines_above, line, last_line = source.rpartition("\n")
    return lines_above + line + re.sub(r"(?<!\\)%", r"\\%", last_line)


def command_text(name: str) -> str:
    """Return the character for a LaTeX command such as `alpha`, or the name of the command if there is no character."""
    if (own_sign := _SIGNS.get(name)) is not None:
        return own_sign
    replacement = getattr(_sign_database().get_macro_spec(name), "simplify_repl", None)
    return replacement if isinstance(replacement, str) and "%" not in replacement else name


def _nesting_depth(source: str) -> int:
    open_counts, max_depth = [0] * len(_OPENS), 0
    for match in _OPENING.finditer(source):
        sign = next((each for each in match.groups() if each), "")
        if sign in _OPENS:
            open_counts[_OPENS[sign]] += 1
            max_depth = max(max_depth, sum(open_counts))
        elif sign in _CLOSES:
            open_counts[_CLOSES[sign]] = max(0, open_counts[_CLOSES[sign]] - 1)
    return max_depth


@cache
def _parser_context() -> Any:
    context = LatexContextDb()
    context.add_context_category(
        "mathematics",
        macros=[std_macro(name, arguments) for arguments, names in _ARGUMENTS.items() for name in names.split()],
        environments=[
            std_environment(name, arguments) for arguments, names in _ENVIRONMENTS.items() for name in names.split()
        ],
        specials=[std_specials("&"), std_specials("~")],
    )
    context.set_unknown_macro_spec(std_macro("", ""))
    context.set_unknown_environment_spec(std_environment("", ""))
    return context


_sign_database = cache(get_default_latex_context_db)


def _convert_nodes(nodes: Iterable[Any]) -> LatexParts:
    return tuple(part for node in nodes for part in _convert_node(node))


def _convert_node(node: Any) -> Iterator[LatexPart]:
    match node:
        case LatexCharsNode():
            yield from node.chars
        case LatexSpecialsNode():
            yield from node.specials_chars
        case LatexGroupNode():
            yield LatexGroup(_convert_nodes(node.nodelist))
        case LatexMathNode():
            yield from _convert_nodes(node.nodelist)
        case LatexEnvironmentNode():
            yield LatexEnvironment(node.environmentname.rstrip("*"), _convert_nodes(node.nodelist))
        case LatexMacroNode():
            name = node.macroname
            given = [each for each in getattr(node.nodeargd, "argnlist", None) or () if each is not None]
            if given and isinstance(given[0], LatexCharsNode) and given[0].chars == "*":
                name, given = f"{name}*", given[1:]
            node_lists = [each.nodelist if isinstance(each, LatexGroupNode) else [each] for each in given]
            yield LatexCommand(name, tuple(map(_convert_nodes, node_lists)), node.macro_post_space)
