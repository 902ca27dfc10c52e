"""Replaces methods and properties of Textual. A method or property that has changed since its replacement was written
is not replaced."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from types import CodeType
from typing import Any
from zlib import crc32

REPLACED_PARTS: dict[tuple[type, str], int] = {}
"""Fingerprints of the replaced methods and properties, by class and name."""
UNREPLACED_PARTS: set[tuple[type, str]] = set()
"""Parts that are not replaced, because the installed Textual is different."""


def _names_in(code: CodeType) -> set[str]:
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def fingerprint(textual_class: type, name: str) -> int:
    """Return a hash of the names in a method or property. 0 if the class does not have it."""
    part = getattr_static(textual_class, name, None)
    function = getattr(part, "fget", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(each for each in _names_in(code) if each.isidentifier() and each != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


def replaces(textual_class: type, name: str, expected: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces the method or property `name`. The original is the first argument. Nothing is
    replaced if its fingerprint is not `expected`."""

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
