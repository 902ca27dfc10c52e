"""The names of keys in the settings, such as `d`, `ctrl+d` or `question_mark`."""

from __future__ import annotations

import unicodedata
from contextlib import suppress

from octavo.settings.values import did_you_mean, quoted

_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
_KEYS = (
    *(
        "escape",
        "enter",
        "return",
        "tab",
        "space",
        "backspace",
        "insert",
        "delete",
        "home",
        "end",
        "pageup",
        "pagedown",
    ),
    *("left", "right", "up", "down", *(f"f{number}" for number in range(1, 25))),
    *("plus", "minus", "underscore", "at", "slash", "backslash", "less_than_sign", "greater_than_sign"),
)
"""Names of keys, in addition to the Unicode names of characters."""


def why_not_keys(keys: object) -> str:
    """Return why `keys` are no keys separated by commas, as the rest of a sentence. Empty if they are."""
    if not (isinstance(keys, str) and keys.strip() and keys.isprintable() and len(keys) < 100):
        return f"must be a key, such as d or ctrl+d, not {quoted(keys)}"
    unknown = next((key for key in map(str.strip, keys.split(",")) if key and not is_key(key)), "")
    if not unknown:
        return ""
    *modifiers, last = unknown.split("+")
    names = [*_KEYS, *(f"{each}+{last}" for each in _MODIFIERS)] if modifiers else _KEYS
    return (
        f"contains {unknown!r}, which is not a key.{did_you_mean(unknown, names)} "
        "Examples of keys are d, D, f5, ctrl+d, enter, and space"
    )


def is_key(key: str) -> bool:
    """Return whether a terminal can send a key of this name, such as `d`, `ctrl+d` or `question_mark`."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    if not all(each in _MODIFIERS for each in modifiers):
        return False
    return len(last) == 1 or last in _KEYS or _is_character(last)


def _is_character(name: str) -> bool:
    with suppress(KeyError):
        return name.islower() and bool(unicodedata.lookup(name.replace("_", " ")))
    return False
