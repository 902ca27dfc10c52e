"""Evaluates rules of a site: its redirects, and conditions on visitor claims, such as
`visitor.claims.plan == "pro" && visitor.claims.seats > 5`. Also evaluates the expressions in pages. Does no I/O.

Invalid conditions raise `ConditionError`. As in JavaScript, a missing claim is undefined, and reading a member of an
undefined value is an error. Expressions in pages raise no error: their value is then unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

MAX_LENGTH, MAX_DEPTH = 1024, 60
_TOKEN = re.compile(
    r"""(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<name>[A-Za-z_$][\w$]*)"""
    r"""|(?P<operator>===|!==|==|!=|<=|>=|&&|\|\||[!<>().,\[\]])""",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPED = re.compile(r"\\(.)")


class _Undefined:
    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = _Undefined()


class _Unknown(_Undefined):
    pass


UNKNOWN: Final = _Unknown()
"""Result of an expression that has no usable value. This result counts as false, and its members are unknown too."""


class ConditionError(ValueError):
    """An invalid condition. `position` is the number of the wrong character, counted from 1."""

    def __init__(self, position: int, sentence: str) -> None:
        super().__init__(f"Character {position}: {sentence}")
        self.position, self.sentence = position, sentence


def evaluate(condition: str, claims: Mapping[str, Any]) -> bool:
    """Return whether a condition is true for a visitor with these claims. Raises ConditionError if it is invalid."""
    return _is_true(_Evaluator(condition, {"visitor": {"claims": claims}}).evaluate_all())


def evaluate_expression(expression: str, names: Mapping[str, Any]) -> Any:
    """Return an expression's value with the variables `names`. UNKNOWN if invalid, or if a missing property decides."""
    try:
        return _Evaluator(expression, names, missing=UNKNOWN).evaluate_all()
    except ConditionError:
        return UNKNOWN


def _is_true(value: Any) -> bool:
    return value if isinstance(value, bool) else isinstance(value, list | dict) or bool(value)


class _Evaluator:
    """Parser for conditions that evaluates while it parses (a recursive descent parser)."""

    def __init__(self, condition: str, names: Mapping[str, Any], *, missing: _Undefined = UNDEFINED) -> None:
        """`missing` is the value of a missing property. Properties of UNKNOWN are UNKNOWN. Raises ConditionError."""
        if len(condition) > MAX_LENGTH:
            raise ConditionError(MAX_LENGTH + 1, f"A condition can have at most {MAX_LENGTH} characters.")
        self._missing = missing
        self._names, self._depth, self._end = names, 0, len(condition.rstrip()) + 1
        self._is_skipping = False
        """True while reading an operand that cannot change the result."""
        self._tokens: list[tuple[str, str, int]] = []
        position = 0
        while (position := _SPACE.match(condition, position).end()) < len(condition):  # type: ignore[union-attr]  # never None, because the pattern also matches an empty text
            token_match = _TOKEN.match(condition, position)
            if token_match is None:
                is_text = condition[position] in "\"'"
                raise ConditionError(
                    position + 1,
                    "A closing quotation mark is missing."
                    if is_text
                    else f"{condition[position]!r} is not allowed here.",
                )
            self._tokens.append((str(token_match.lastgroup), token_match[0], position + 1))
            position = token_match.end()
        self._next = 0

    def evaluate_all(self) -> Any:
        if not self._tokens:
            raise ConditionError(1, "The condition is empty.")
        value = self._evaluate_or()
        if self._next < len(self._tokens):
            _, token, position = self._tokens[self._next]
            raise ConditionError(position, f"An operator such as && or == is missing before “{token}”.")
        return value

    def _accept_operator(self, *operators: str) -> tuple[str, int] | None:
        if self._next < len(self._tokens):
            kind, token, position = self._tokens[self._next]
            if kind == "operator" and token in operators:
                self._next += 1
                return token, position
        return None

    def _require_operator(self, operator: str) -> None:
        if self._accept_operator(operator) is None:
            raise ConditionError(self._position, f"“{operator}” is missing here.")

    @property
    def _position(self) -> int:
        return self._tokens[self._next][2] if self._next < len(self._tokens) else self._end

    def _evaluate_or(self) -> Any:
        value = self._evaluate_and()
        while self._accept_operator("||"):
            right = self._operand(self._evaluate_and, is_skipped=_is_true(value))
            if value is not UNKNOWN or _is_true(right):
                value = value if _is_true(value) else right
        return value

    def _evaluate_and(self) -> Any:
        value = self._evaluate_comparison()
        while self._accept_operator("&&"):
            is_false = value is not UNKNOWN and not _is_true(value)
            right = self._operand(self._evaluate_comparison, is_skipped=is_false)
            if not (is_false or (value is UNKNOWN and _is_true(right))):
                value = right
        return value

    def _operand(self, evaluate: Callable[[], Any], *, is_skipped: bool) -> Any:
        was_skipping, self._is_skipping = self._is_skipping, self._is_skipping or is_skipped
        value = evaluate()
        self._is_skipping = was_skipping
        return value

    def _evaluate_comparison(self) -> Any:
        value = self._evaluate_unary()
        while operator := self._accept_operator("===", "!==", "==", "!=", "<=", ">=", "<", ">"):
            right = self._evaluate_unary()
            is_unknown = value is UNKNOWN or right is UNKNOWN
            value = UNKNOWN if is_unknown else _OPERATORS[operator[0]](value, right)
        return value

    def _evaluate_unary(self) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError(self._position, f"The condition has more than {MAX_DEPTH} nested levels.")
        try:
            if self._accept_operator("!"):
                value = self._evaluate_unary()
                return value if value is UNKNOWN else not _is_true(value)
            return self._evaluate_members(self._evaluate_primary())
        finally:
            self._depth -= 1

    def _evaluate_primary(self) -> Any:
        if self._accept_operator("("):
            value = self._evaluate_or()
            self._require_operator(")")
            return value
        if self._next == len(self._tokens):
            raise ConditionError(self._end, "A value is missing at the end of the condition.")
        kind, token, position = self._tokens[self._next]
        self._next += 1
        match kind:
            case "number":
                return float(token) if "." in token else int(token)
            case "text":
                return _ESCAPED.sub(r"\1", token[1:-1])
            case "name" if token in _CONSTANTS:
                return _CONSTANTS[token]
            case "name" if token == "undefined":
                return UNDEFINED
            case "name" if token in self._names:
                return self._names[token]
            case "name":
                raise ConditionError(position, f"“{token}” is unknown. Write claims as visitor.claims.{token}.")
        raise ConditionError(position, f"A value is missing before “{token}”.")

    def _evaluate_members(self, value: Any) -> Any:
        while accessor := self._accept_operator(".", "["):
            operator, position = accessor
            if operator == "[":
                name = self._evaluate_or()
                self._require_operator("]")
            else:
                kind, name, position = (
                    self._tokens[self._next] if self._next < len(self._tokens) else ("", "", self._end)
                )
                if kind != "name":
                    raise ConditionError(position, "The name of a claim is missing after the “.”.")
                self._next += 1
            value = self._member(value, name, position)
        return value

    def _member(self, value: Any, name: Any, position: int) -> Any:
        if self._is_skipping or (self._missing is UNKNOWN and isinstance(value, _Undefined)):
            if name == "includes" and self._accept_operator("("):
                self._evaluate_or()
                self._require_operator(")")
            return UNDEFINED if self._is_skipping else value
        if value is None or value is UNDEFINED:
            raise ConditionError(position, f"Could not read “{name}”: the value before it is not set.")
        if name == "includes" and isinstance(value, list | str):
            self._require_operator("(")
            part = self._evaluate_or()
            self._require_operator(")")
            return any(_is_equal(item, part) for item in value) if isinstance(value, list) else str(part) in value
        if name == "length" and isinstance(value, list | str):
            return len(value)
        if isinstance(value, Mapping):
            return value.get(name, self._missing) if isinstance(name, str) else UNDEFINED
        if isinstance(value, list) and isinstance(name, int) and not isinstance(name, bool):
            return value[name] if 0 <= name < len(value) else UNDEFINED
        return UNDEFINED


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return left is right if UNDEFINED in (left, right) else bool(left == right)


def _is_loosely_equal(left: Any, right: Any) -> bool:
    return _is_equal(left, right) or all(value is None or value is UNDEFINED for value in (left, right))


def _ordered_comparison(is_in_order: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        are_numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (left, right))
        if are_numbers or (isinstance(left, str) and isinstance(right, str)):
            return is_in_order(left, right)
        return False  # Unlike JavaScript, Octavo does not convert values of different types.

    return compare


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _is_loosely_equal,
    "===": _is_equal,
    "!=": lambda left, right: not _is_loosely_equal(left, right),
    "!==": lambda left, right: not _is_equal(left, right),
    "<": _ordered_comparison(lambda left, right: left < right),
    ">": _ordered_comparison(lambda left, right: left > right),
    "<=": _ordered_comparison(lambda left, right: left <= right),
    ">=": _ordered_comparison(lambda left, right: left >= right),
}


ChainEnd = Literal["leads", "loop", "dead end"]


@dataclass(frozen=True)
class RedirectChain:
    """Redirects that a browser follows one after another from a URL."""

    steps: tuple[str, ...]
    """The first URL, and the target of each redirect."""
    end: ChainEnd
    """`leads` if the last URL is no redirect, `loop` if a URL repeats, `dead end` if a target is missing."""

    @property
    def description(self) -> str:
        """The chain as text for the user."""
        steps = " → ".join(self.steps)
        if self.end == "loop":
            return f"{steps}: a loop, so browsers show an error"
        return f"{steps} → a page, section, or space that is no longer on the site" if self.end == "dead end" else steps


def follow_redirects(source: str, targets: Mapping[str, str | None], site: str) -> RedirectChain:
    """Return the redirects that a browser follows from `source`. `targets` maps sources to targets (None: missing)."""
    targets_by_path, path = _targets_by_path(targets, site), path_on_site(source, site)
    steps, seen_paths = [source], {path}
    while path in targets_by_path:
        target = targets_by_path[path]
        if target is None:
            return RedirectChain(tuple(steps), "dead end")
        steps.append(target)
        path = path_on_site(target, site)
        if path in seen_paths:
            return RedirectChain(tuple(steps), "loop")
        seen_paths.add(path)
    return RedirectChain(tuple(steps), "leads")


def chain_ends(targets: Mapping[str, str | None], site: str) -> dict[str, ChainEnd]:
    """Return how the chain from each redirect ends, by the redirect's source. `targets` is as in `follow_redirects`."""
    targets_by_path = _targets_by_path(targets, site)
    ends_by_path: dict[str, ChainEnd] = {}
    for first_path in targets_by_path:
        seen_paths: set[str] = set()
        path, end = first_path, ends_by_path.get(first_path)
        while end is None:
            seen_paths.add(path)
            if (target := targets_by_path[path]) is None:
                end = "dead end"
            elif (path := path_on_site(target, site)) in seen_paths:
                end = "loop"
            else:
                end = ends_by_path.get(path, None if path in targets_by_path else "leads")
        ends_by_path |= dict.fromkeys(seen_paths, end)
    return {source: ends_by_path[path_on_site(source, site)] for source in targets}


def _targets_by_path(targets: Mapping[str, str | None], site: str) -> dict[str, str | None]:
    """Return the targets of redirects by the path of their source, without a slash at the end. If two sources have the
    same path, the source that equals this path wins."""
    targets_by_path: dict[str, str | None] = {}
    for source, target in targets.items():
        path = path_on_site(source, site)
        if path == source or path not in targets_by_path:
            targets_by_path[path] = target
    return targets_by_path


def path_on_site(url: str, site: str) -> str:
    """Return the path that a URL has on `site`, without a final slash. Return a URL of another site unchanged."""
    if url.startswith("/"):
        return url.rstrip("/") or "/"
    try:
        site_parts, url_parts = urlsplit(site), urlsplit(url)
    except ValueError:
        return url  # An invalid URL cannot be on the site.
    base_path = site_parts.path.rstrip("/")
    if site and url_parts.netloc == site_parts.netloc and f"{url_parts.path}/".startswith(f"{base_path}/"):
        return url_parts.path[len(base_path) :].rstrip("/") or "/"
    return url
