"""Replaces methods and properties of Textual. A part that changed since its replacement was written is left alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from types import CodeType
from typing import Any
from zlib import crc32

PARTS: dict[tuple[type, str], int] = {}
"""The parts of Textual that are replaced. Each has the fingerprint of the part for which its replacement was written."""
OTHER_PARTS: set[tuple[type, str]] = set()
"""The parts that are different in the installed Textual. They are left alone."""


def _names_in(code: CodeType) -> set[str]:
    """Return all names in a function and its inner functions. The names are the same in every version of Python."""
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def fingerprint(kind: type, name: str) -> int:
    """Return a hash of the names in the code of a method or property. 0 if the class has no such part."""
    part = getattr_static(kind, name, None)
    function = getattr(part, "fget", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(each for each in _names_in(code) if each.isidentifier() and each != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


def replaces(kind: type, name: str, expected: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces a method or property. The replacement gets the original as its first argument. A
    part whose fingerprint is not `expected` is not replaced."""

    def replace(replacement: Callable[..., Any]) -> Callable[..., Any]:
        PARTS[kind, name] = expected
        if fingerprint(kind, name) != expected:
            OTHER_PARTS.add((kind, name))
        else:
            part = getattr_static(kind, name)
            original = getattr(part, "fget", part)

            @wraps(original)
            def call(*args: Any, **options: Any) -> Any:
                return replacement(original, *args, **options)

            setattr(kind, name, property(call) if isinstance(part, property) else call)
        return replacement

    return replace
