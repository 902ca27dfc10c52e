"""Helpers to validate the values of settings, and the error for an invalid value."""

from __future__ import annotations

from collections.abc import Callable, Collection

LONGEST_NAME = 40
"""Maximum number of characters in a name that the user chooses, and in a value that a message quotes."""


class InvalidValueError(ValueError):
    """Raised for an invalid value. The message is the reason, as the rest of a sentence that starts with the setting."""

    def __init__(self, why: str, meant: str = "") -> None:
        """`meant` is a sentence with the most similar valid value, or empty."""
        super().__init__(why)
        self.meant = meant


Ignore = Callable[..., None]
"""Function that reports an ignored part of a setting. Its arguments are the reason and the names of the part below the
setting. `result` is the sentence about the consequence."""


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Return " Did you mean X?" with the most similar name, or "" if no name is similar."""
    from difflib import get_close_matches  # lazy: only for mistakes

    found = get_close_matches(word, names, n=1, cutoff=0.7)
    return f" Did you mean {found[0]}?" if found else ""


def quoted(value: object) -> str:
    """Return a value for a sentence: one short line of printable characters."""
    if isinstance(value, (dict, list)):
        return "a section" if isinstance(value, dict) else "a list"
    try:
        text = repr(value)
    except ValueError:
        return "this number"  # Python refuses to write very large numbers.
    return text if len(text) <= LONGEST_NAME + 2 else f"{text[:LONGEST_NAME]}…"
