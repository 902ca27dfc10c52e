"""Evaluation of the expressions and conditions in a page, with the variables of its space and page.

API callers have no visitor claims: conditions on a claim are false, and stay in the text if only constant parts are
evaluated.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from octavo.documents.tags import Tag, TagScanner

_FENCED = re.compile(r"^[ \t>]{0,20}(```+|~~~+)[^\n]*\n.*?(?:^[ \t>]{0,20}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_EXPRESSION = re.compile(r'<code class="expression">([^<]{1,1000})</code>')
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"[^"]*"|'[^']*')|(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"""
    r"""|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[!<>()]))"""
)
_MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]{}|#~$:]")
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}
_DEPTH_LIMIT, _TOKEN_LIMIT = 40, 200


class _Unknown:
    """Type of `UNKNOWN`, the result of expressions that cannot be evaluated."""


UNKNOWN: Final = _Unknown()


@dataclass
class _Branch:
    opening: str
    expression: str | None
    inner: list[str | _If] = field(default_factory=list)


@dataclass
class _If:
    branches: list[_Branch]
    closing: str = ""


def evaluate_text(text: str, variables: Mapping[str, Mapping[str, Any]], *, fixed_only: bool) -> str:
    """Return `text` with its expressions replaced by their values, and its conditions by the branch that holds.

    `variables` are grouped by owner: `space` or `page`. Parts with unknown values stay unchanged. With `fixed_only`,
    conditions on visitor claims stay too.
    """
    if "{%" in text and re.search(r"\{%-?\s*if\b", text):
        text = _render_conditions(_parse_conditions(text), variables, fixed_only)
    if "expression" not in text:
        return text
    return change_outside_code(
        text, lambda part: _EXPRESSION.sub(lambda found: _expression_value(found, variables), part)
    )


def change_outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with `change` applied to everything outside fenced code."""
    out, done = [], 0
    for fence in _FENCED.finditer(text):
        out += [change(text[done : fence.start()]), fence[0]]
        done = fence.end()
    return "".join([*out, change(text[done:])])


def _expression_value(found: re.Match[str], variables: Mapping[str, Mapping[str, Any]]) -> str:
    value = evaluate(html.unescape(found[1]), variables, fixed_only=True)
    if isinstance(value, _Unknown) or value is None:
        return found[0]
    said = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return _MARKDOWN_SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", html.escape(said, quote=False))


# Conditions


def _parse_conditions(text: str) -> list[str | _If]:
    """Split a text into plain parts and conditions. Tags without a matching start or end stay plain text."""
    scanner, code = TagScanner(text), [fence.span() for fence in _FENCED.finditer(text)]
    whole: list[str | _If] = []
    within: list[tuple[_If, list[str | _If]]] = []
    here, done = whole, 0
    for start, tag in _condition_tags(text, scanner, code):
        here.append(text[done:start])
        done, written = tag.end, text[start : tag.end]
        if tag.name == "if" and len(within) < _DEPTH_LIMIT:
            opened = _If([_Branch(written, tag.arguments.get("expression"))])
            within.append((opened, here))
            here = opened.branches[0].inner
        elif tag.name in ("else", "elseif", "elif") and within:
            expression = tag.arguments.get("expression") if tag.name != "else" else "true"
            within[-1][0].branches.append(_Branch(written, expression))
            here = within[-1][0].branches[-1].inner
        elif tag.name == "endif" and within:
            closed, here = within.pop()
            closed.closing = written
            here.append(closed)
        else:
            here.append(written)
    here.append(text[done:])
    while within:
        unclosed, here = within.pop()
        for branch in unclosed.branches:
            here += [branch.opening, *branch.inner]
    return whole


def _condition_tags(text: str, scanner: TagScanner, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Tag]]:
    at = 0
    for match in re.finditer(r"\{%", text):
        while at < len(code) and code[at][1] <= match.start():
            at += 1
        is_code = at < len(code) and code[at][0] <= match.start()
        tag = None if is_code else scanner.at(match.start())
        if tag is not None and tag.name in ("if", "else", "elseif", "elif", "endif"):
            yield match.start(), tag


def _render_conditions(parts: Sequence[str | _If], variables: Mapping[str, Mapping[str, Any]], fixed_only: bool) -> str:
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
            continue
        values = [evaluate(each.expression or "", variables, fixed_only=fixed_only) for each in part.branches]
        first = next((at for at, value in enumerate(values) if isinstance(value, _Unknown) or value), None)
        if first is None:
            continue
        if isinstance(values[first], _Unknown):
            for branch in part.branches:
                out += [branch.opening, _render_conditions(branch.inner, variables, fixed_only)]
            out.append(part.closing)
        else:
            out.append(_render_conditions(part.branches[first].inner, variables, fixed_only).strip("\n"))
    return "".join(out)


# Expressions


def evaluate(expression: str, variables: Mapping[str, Mapping[str, Any]], *, fixed_only: bool) -> Any:
    """Return the value of an expression. UNKNOWN if its syntax is not supported or a variable in it is not set."""
    tokens: list[tuple[str, str]] = []
    at, text = 0, expression.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) >= _TOKEN_LIMIT:
            return UNKNOWN
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    reading = _ExpressionParser(tokens, variables, fixed_only)
    value = reading.either()
    return value if not reading.tokens and not reading.is_wrong else UNKNOWN


class _ExpressionParser:
    """Recursive-descent parser that evaluates an expression from left to right."""

    def __init__(
        self, tokens: list[tuple[str, str]], variables: Mapping[str, Mapping[str, Any]], fixed_only: bool
    ) -> None:
        self.tokens, self._variables, self._fixed_only = tokens, variables, fixed_only
        self.is_wrong = not tokens
        self._depth = 0

    def _takes(self, *signs: str) -> str:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return ""

    def either(self) -> Any:
        value = self._both()
        while self._takes("||"):
            other = self._both()
            known = [each for each in (value, other) if not isinstance(each, _Unknown)]
            value = next((each for each in known if each), known[-1] if len(known) == 2 else UNKNOWN)
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._takes("&&"):
            other = self._compared()
            known = [each for each in (value, other) if not isinstance(each, _Unknown)]
            value = next((each for each in known if not each), known[-1] if len(known) == 2 else UNKNOWN)
        return value

    def _compared(self) -> Any:
        value = self._one()
        while sign := self._takes("===", "!==", "==", "!=", "<=", ">=", "<", ">"):
            other = self._one()
            if isinstance(value, _Unknown) or isinstance(other, _Unknown):
                value = UNKNOWN
            elif sign[0] in "=!":
                value = (value == other and isinstance(value, bool) == isinstance(other, bool)) is (sign[0] == "=")
            elif isinstance(value, int | float) and isinstance(other, int | float):
                value = {"<": value < other, ">": value > other, "<=": value <= other, ">=": value >= other}[sign]
            else:
                value = UNKNOWN
        return value

    def _one(self) -> Any:
        self._depth += 1
        if self._depth > _DEPTH_LIMIT * 4:
            self.is_wrong = True
        if self.is_wrong or not self.tokens:
            self.is_wrong = True
            return UNKNOWN
        if self._takes("!"):
            value = self._one()
            return value if isinstance(value, _Unknown) else not value
        if self._takes("("):
            value = self.either()
            if not self._takes(")"):
                self.is_wrong = True
            return value
        kind, said = self.tokens.pop(0)
        match kind:
            case "number":
                return float(said) if "." in said else int(said)
            case "text":
                return said[1:-1]
            case "path":
                return _CONSTANTS[said] if said in _CONSTANTS else self._named(said.split("."))
        self.is_wrong = True
        return UNKNOWN

    def _named(self, steps: list[str]) -> Any:
        if steps[0] == "visitor":
            return UNKNOWN if self._fixed_only else None
        if len(steps) == 3 and steps[1] == "vars":
            return self._variables.get(steps[0], {}).get(steps[2], UNKNOWN)
        return UNKNOWN
