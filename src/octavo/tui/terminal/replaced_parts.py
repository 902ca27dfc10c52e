"""Replaces methods and properties of Textual, unless the installed version has changed them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from types import CodeType
from typing import Any
from zlib import crc32

REPLACED_PARTS: dict[tuple[type, str], int] = {}
"""Expected fingerprint of each method or property that is replaced, by class and name."""
UNREPLACED_PARTS: set[tuple[type, str]] = set()
"""Methods and properties that could not be replaced, because they are different in the installed version of Textual."""


def _names_in(code: CodeType) -> set[str]:
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def fingerprint(textual_class: type, name: str) -> int:
    """Return a hash of the names that a method or property uses, to notice if Textual has changed it. 0 if the class
    has no method or property with this name, or if it uses no names."""
    part = getattr_static(textual_class, name, None)
    function = getattr(part, "fget", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(each for each in _names_in(code) if each.isidentifier() and each != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


def replaces(textual_class: type, name: str, expected: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces a method or property of Textual. The new function gets the original as its first
    argument. If the original's fingerprint is not `expected`, nothing is replaced."""

    def replace(replacement: Callable[..., Any]) -> Callable[..., Any]:
        REPLACED_PARTS[textual_class, name] = expected
        if fingerprint(textual_class, name) != expected:
            UNREPLACED_PARTS.add((textual_class, name))
        else:
            part = getattr_static(textual_class, name)
            original = getattr(part, "fget", part)

            @wraps(original)
            def call(*args: Any, **options: Any) -> Any:
                return replacement(original, *args, **options)

            setattr(textual_class, name, property(call) if isinstance(part, property) else call)
        return replacement

    return replace
