"""Parsing of LaTeX with pylatexenc into characters, commands, groups and environments."""

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
    "empty reals natnums cnums Complex real plusmn sdot ang and or lang rang thetasym weierp bull sect Darr Uarr Reals "
    "alefsym clubs diamonds hearts spades Dagger varGamma varDelta varTheta varLambda varXi varPi varSigma varUpsilon varPhi "
    "varPsi varOmega"
)
"""Commands of KaTeX that the library does not know, most of them named after HTML entities."""
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
"""Characters of commands that the library does not know, or maps to characters that few fonts have."""
_ESCAPED = re.compile(r"(?<![A-Za-z]{2})\\_|\\_(?![A-Za-z]{2})")
_OPENING = re.compile(
    r"\\(begin|end|left|right)(?![A-Za-z])|\\([(\[\])])|\\(?:[A-Za-z]+|\\)\*?\s*(\[)|\\.|([{}\]])", re.S
)
_OPENS = {"begin": 0, "left": 1, "(": 2, "[": 3, "{": 4}
_CLOSES = {"end": 0, "right": 1, ")": 2, "]": 3, "}": 4}
LONGEST, DEEPEST = 2000, 40
"""Maximum number of characters of a formula, and of levels of nesting. The library takes 20 ms for the longest formula,
and some stack frames per level."""


class LatexCommand(NamedTuple):
    """A command with its arguments and the spaces after it."""

    name: str
    arguments: tuple[LatexParts, ...] = ()
    blanks: str = ""


class LatexGroup(NamedTuple):
    """Parts in braces or in the brackets of an optional argument."""

    parts: LatexParts


class LatexEnvironment(NamedTuple):
    """Parts between `\\begin` and `\\end`."""

    name: str
    parts: LatexParts


LatexPart: TypeAlias = "str | LatexCommand | LatexGroup | LatexEnvironment"
LatexParts: TypeAlias = "tuple[LatexPart, ...]"


@lru_cache(64)
def parse_latex(source: str) -> LatexParts | None:
    """Return the parts of a formula as it is written in Markdown. None if it is too long, too deep or invalid."""
    source = _unescape_markdown(source) if len(source) <= LONGEST else source
    if len(source) > LONGEST or _nesting_depth(source) > DEEPEST:
        return None
    walker = LatexWalker(source, latex_context=_parser_context(), tolerant_parsing=True)
    try:
        return _convert_nodes(walker.get_latex_nodes()[0])
    except LatexWalkerParseError:
        return None


def _unescape_markdown(source: str) -> str:
    """Return LaTeX without the backslashes of Markdown, except inside names with underscores. Percent signs are escaped
    on the last line, where they do not begin a comment."""
    source = _ESCAPED.sub("_", source.replace("\\\\_", "_")).replace("\\*", "*")
    above, line, last = source.rpartition("\n")
    return above + line + re.sub(r"(?<!\\)%", r"\\%", last)


def command_sign(name: str) -> str:
    """Return the character of a command, or its name."""
    if (own := _SIGNS.get(name)) is not None:
        return own
    known = getattr(_sign_database().get_macro_spec(name), "simplify_repl", None)
    return known if isinstance(known, str) and "%" not in known else name


def _nesting_depth(source: str) -> int:
    """Return the deepest nesting. Each kind of bracket is counted on its own, because unbalanced ones may be in
    between."""
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
    """Return the specification of commands for the parser: how many arguments each takes."""
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
