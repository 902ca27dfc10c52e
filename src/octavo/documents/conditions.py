"""Conditions about a visitor, worked out with claims: `visitor.claims.plan == "pro" && visitor.claims.seats > 5`. Pure.

What is wrong with one is a `Fault` with the character it is at. A claim that is not there is undefined, as in the
language of browsers: it is no claim, and nothing can be asked of what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_LENGTH, MAX_DEPTH = 1024, 60
_TOKEN = re.compile(
    r"""(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<name>[A-Za-z_$][\w$]*)"""
    r"""|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[!<>().,\[\]])""",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPED = re.compile(r"\\(.)")


class _Undefined:
    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = _Undefined()


class ConditionError(ValueError):
    """An error in a condition: a sentence, and the position of the character, counted from 1."""

    def __init__(self, at: int, sentence: str) -> None:
        super().__init__(f"Character {at}: {sentence}")
        self.at, self.sentence = at, sentence


def evaluate(condition: str, claims: Mapping[str, Any]) -> bool:
    """Whether a condition holds for a visitor with these claims. Raises Fault."""
    if len(condition) > MAX_LENGTH:
        raise ConditionError(MAX_LENGTH + 1, f"A condition can have at most {MAX_LENGTH} characters.")
    return _is_true(_Evaluator(condition, {"visitor": {"claims": claims}}).whole())


def _is_true(value: Any) -> bool:
    return value if isinstance(value, bool) else isinstance(value, list | dict) or bool(value)


class _Evaluator:
    """A condition, read and worked out from its left."""

    def __init__(self, condition: str, names: Mapping[str, Any]) -> None:
        self._names, self._depth, self._end = names, 0, len(condition.rstrip()) + 1
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        while (at := _SPACE.match(condition, at).end()) < len(condition):  # type: ignore[union-attr]  # it matches nothing too
            found = _TOKEN.match(condition, at)
            if found is None:
                is_text = condition[at] in "\"'"
                raise ConditionError(
                    at + 1,
                    "A closing quotation mark is missing." if is_text else f"{condition[at]!r} is not allowed here.",
                )
            self._tokens.append((str(found.lastgroup), found[0], at + 1))
            at = found.end()
        self._next = 0

    def whole(self) -> Any:
        if not self._tokens:
            raise ConditionError(1, "The condition is empty.")
        value = self._either()
        if self._next < len(self._tokens):
            _, said, at = self._tokens[self._next]
            raise ConditionError(at, f"An operator such as && or == is missing before “{said}”.")
        return value

    def _sign(self, *signs: str) -> tuple[str, int] | None:
        if self._next < len(self._tokens):
            kind, said, at = self._tokens[self._next]
            if kind == "sign" and said in signs:
                self._next += 1
                return said, at
        return None

    def _need(self, sign: str) -> None:
        if self._sign(sign) is None:
            raise ConditionError(self._here, f"“{sign}” is missing here.")

    @property
    def _here(self) -> int:
        return self._tokens[self._next][2] if self._next < len(self._tokens) else self._end

    def _either(self) -> Any:
        value = self._both()
        while self._sign("||"):
            other = self._both()
            value = value if _is_true(value) else other
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._sign("&&"):
            other = self._compared()
            value = other if _is_true(value) else value
        return value

    def _compared(self) -> Any:
        value = self._one()
        while found := self._sign("===", "!==", "==", "!=", "<=", ">=", "<", ">"):
            sign, at = found
            value = _OPERATORS[sign](value, self._one(), at)
        return value

    def _one(self) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError(self._here, f"The condition has more than {MAX_DEPTH} nested levels.")
        try:
            if self._sign("!"):
                return not _is_true(self._one())
            return self._members(self._first())
        finally:
            self._depth -= 1

    def _first(self) -> Any:
        if self._sign("("):
            value = self._either()
            self._need(")")
            return value
        if self._next == len(self._tokens):
            raise ConditionError(self._end, "A value is missing at the end of the condition.")
        kind, said, at = self._tokens[self._next]
        self._next += 1
        match kind:
            case "number":
                return float(said) if "." in said else int(said)
            case "text":
                return _ESCAPED.sub(r"\1", said[1:-1])
            case "name" if said in _CONSTANTS:
                return _CONSTANTS[said]
            case "name" if said == "undefined":
                return UNDEFINED
            case "name" if said in self._names:
                return self._names[said]
            case "name":
                raise ConditionError(at, f"“{said}” is unknown. Write claims as visitor.claims.{said}.")
        raise ConditionError(at, f"A value is missing before “{said}”.")

    def _members(self, value: Any) -> Any:
        while found := self._sign(".", "["):
            sign, at = found
            if sign == "[":
                name = self._either()
                self._need("]")
            else:
                kind, name, at = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", self._end)
                if kind != "name":
                    raise ConditionError(at, "The name of a claim is missing after the “.”.")
                self._next += 1
            value = self._member(value, name, at)
        return value

    def _member(self, value: Any, name: Any, at: int) -> Any:
        if value is None or value is UNDEFINED:
            raise ConditionError(at, f"Could not read “{name}”: the value before it is not set.")
        if name == "includes" and isinstance(value, list | str):
            self._need("(")
            wanted = self._either()
            self._need(")")
            return any(_is_equal(each, wanted) for each in value) if isinstance(value, list) else str(wanted) in value
        if name == "length" and isinstance(value, list | str):
            return len(value)
        if isinstance(value, Mapping):
            return value.get(name, UNDEFINED) if isinstance(name, str) else UNDEFINED
        if isinstance(value, list) and isinstance(name, int) and not isinstance(name, bool):
            return value[name] if 0 <= name < len(value) else UNDEFINED
        return UNDEFINED


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one is other if UNDEFINED in (one, other) else bool(one == other)


def _compare_ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any, int], bool]:
    def compared(one: Any, other: Any, at: int) -> bool:
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))
        if numbers or (isinstance(one, str) and isinstance(other, str)):
            return holds(one, other)
        return False  # as browsers have it of what cannot be ordered

    return compared


_OPERATORS: Mapping[str, Callable[[Any, Any, int], bool]] = {
    "==": lambda one, other, at: _is_equal(one, other),
    "===": lambda one, other, at: _is_equal(one, other),
    "!=": lambda one, other, at: not _is_equal(one, other),
    "!==": lambda one, other, at: not _is_equal(one, other),
    "<": _compare_ordered(lambda one, other: one < other),
    ">": _compare_ordered(lambda one, other: one > other),
    "<=": _compare_ordered(lambda one, other: one <= other),
    ">=": _compare_ordered(lambda one, other: one >= other),
}
