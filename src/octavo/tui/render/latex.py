"""LaTeX read by pylatexenc into parts: signs, commands with their arguments, groups and environments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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

_ARGUMENTS = {
    "{{": "frac dfrac tfrac cfrac binom dbinom tbinom overset underset stackrel textcolor colorbox",
    "{": "text textrm textbf textit texttt textsf mbox mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr "
    "boldsymbol bm pmb operatorname mathop boxed fbox underline cancel substack underbrace overbrace tag pmod label "
    "color mspace phantom not begin end hat widehat bar overline vec overrightarrow tilde widetilde dot ddot check breve",
    "*{": "operatorname hspace vspace",
    "[{": "sqrt xrightarrow xleftarrow",
    "*[": "\\",
}
_ENVIRONMENTS = {"{": "array alignat alignedat", "[": "aligned gathered"}
_HTML_NAMES = (
    "rarr larr lrarr harr uarr darr Rarr Larr Lrarr Harr rArr lArr lrArr hArr uArr dArr infin alef sub sube supe isin exist "
    "empty reals natnums cnums Complex real plusmn sdot ang and or lang rang thetasym weierp bull sect"
)
"""Commands that KaTeX, which the platform uses, has by the names of entities in HTML."""
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
    **dict(zip(_HTML_NAMES.split(), "→←↔↔↑↓⇒⇐⇔⇔⇒⇐⇔⇔⇑⇓∞ℵ⊂⊆⊇∈∃∅ℝℕℂℂℜ±⋅∠∧∨⟨⟩ϑ℘•§", strict=True)),
}
"""What the library does not know, or knows by signs that few fonts have."""
_ESCAPED = re.compile(r"(?<![A-Za-z]{2})\\_|\\_(?![A-Za-z]{2})")
_OPENING = re.compile(
    r"\\(begin|end|left|right)(?![A-Za-z])|\\([(\[\])])|\\(?:[A-Za-z]+|\\)\*?\s*(\[)|\\.|([{}\]])", re.S
)
_OPENS = {"begin": 0, "left": 1, "(": 2, "[": 3, "{": 4}
_CLOSES = {"end": 0, "right": 1, ")": 2, "]": 3, "}": 4}
LONGEST, DEEPEST = 2000, 40
"""Signs of a formula, and how deep parts of it stand in each other. The library takes 20 ms for the longest, and a few
frames of Python for each level."""


class LatexCommand(NamedTuple):
    """A command, what it was given, and the blanks behind it."""

    name: str
    arguments: tuple[LatexParts, ...] = ()
    blanks: str = ""


class LatexGroup(NamedTuple):
    """What stands in braces, or in the brackets of an argument that may be left out."""

    parts: LatexParts


class LatexEnvironment(NamedTuple):
    """What stands between `\\begin` and `\\end`."""

    name: str
    parts: LatexParts


LatexPart: TypeAlias = "str | LatexCommand | LatexGroup | LatexEnvironment"
LatexParts: TypeAlias = "tuple[LatexPart, ...]"


@lru_cache(64)
def parse_latex(source: str) -> LatexParts | None:
    """The parts of a formula as it stands in Markdown; None when it is too long, too deep or cannot be read."""
    source = _unescape_markdown(source) if len(source) <= LONGEST else source
    if len(source) > LONGEST or _nesting_depth(source) > DEEPEST:
        return None
    walker = LatexWalker(source, latex_context=_parser_context(), tolerant_parsing=True)
    try:
        return _convert_nodes(walker.get_latex_nodes()[0])
    except LatexWalkerParseError:
        return None


def _unescape_markdown(source: str) -> str:
    """LaTeX without the backslashes that Markdown puts before its own signs, but for those in names of several words, and
    with its percent signs: but before the end of a line they begin a remark."""
    source = _ESCAPED.sub("_", source.replace("\\\\_", "_")).replace("\\*", "*")
    above, line, last = source.rpartition("\n")
    return above + line + re.sub(r"(?<!\\)%", r"\\%", last)


def command_sign(name: str) -> str:
    """The sign a command stands for, or its name."""
    if (own := _SIGNS.get(name)) is not None:
        return own
    known = getattr(_sign_database().get_macro_spec(name), "simplify_repl", None)
    return known if isinstance(known, str) and "%" not in known else name


def _nesting_depth(source: str) -> int:
    """How deep parts stand in each other at most: each kind is counted by itself, since what ends nothing may stand there."""
    open_now, deepest = [0] * len(_OPENS), 0
    for match in _OPENING.finditer(source):
        sign = next((each for each in match.groups() if each), "")
        if sign in _OPENS:
            open_now[_OPENS[sign]] += 1
            deepest = max(deepest, sum(open_now))
        elif sign in _CLOSES:
            open_now[_CLOSES[sign]] = max(0, open_now[_CLOSES[sign]] - 1)
    return deepest


@cache
def _parser_context() -> Any:
    """What the library is told of commands: how many arguments they take."""
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


@cache
def _sign_database() -> Any:
    return get_default_latex_context_db()


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
            name, given = (
                node.macroname,
                [each for each in getattr(node.nodeargd, "argnlist", None) or () if each is not None],
            )
            if given and isinstance(given[0], LatexCharsNode) and given[0].chars == "*":
                name, given = f"{name}*", given[1:]
            yield LatexCommand(name, tuple(_argument_parts(each) for each in given), node.macro_post_space)


def _argument_parts(node: Any) -> LatexParts:
    return _convert_nodes(node.nodelist if isinstance(node, LatexGroupNode) else [node])
