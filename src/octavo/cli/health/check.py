"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    """What was checked, in one or two words."""
    status: Status
    text: str
    """The finding, without full stop."""
    fix: str = ""
    """What to do, without full stop. Empty if there is nothing to do."""


def failed_check(name: str, message: str, fix: str = "", *, status: Status = "error") -> Check:
    """Return a check for an error message. Without `fix`, the last sentence of the message is the fix."""
    message = message.strip().rstrip(".")
    if not fix and ". " in message:
        message, _, fix = message.rpartition(". ")
    return Check(name, status, _lower_first_letter(message), _lower_first_letter(fix.rstrip(".")))


def _lower_first_letter(text: str) -> str:
    """Return a sentence without its first capital letter, unless its first word is a name in capitals."""
    is_word = text[:1].isupper() and text[1:2].islower() and not text.startswith("Octavo")
    return text[:1].lower() + text[1:] if is_word else text


def size_in_words(size: int) -> str:
    """Return a number of bytes as MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
