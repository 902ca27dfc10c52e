"""What the words mean that are chosen in forms: what a role allows, who sees a site, what a redirect leads to. Pure."""

from __future__ import annotations

from typing import Any

from octavo.api import permissions
from octavo.api.operation import Operation
from octavo.data.access import RANKS, deeds
from octavo.tui.resources.form_fields import FormField

_MEANINGS = {
    "visibility": {
        "public": "everybody, and search engines list it",
        "unlisted": "whoever has its address",
        "share-link": "whoever has a share link of it",
        "visitor-auth": "whoever signs in where its visitors do",
    },
    "kind": {
        "site-section": "a section of the site",
        "site-space": "a space on the site",
        "site-page": "a page of a space on it",
    },
    "spaces": {"sample": "a new space with sample pages", "empty": "a new space without pages"},
}

_GIVING = (permissions.Grant, permissions.UpdateUser, permissions.UpdateTeam)
_GUEST = ("guest", "sees only what they were given a role in")


def nothing(field: FormField, operation: type[Operation[Any]]) -> tuple[str, str]:
    """What null is called in a field of a request, and what is chosen with it, in few words."""
    if operation in _GIVING:
        return "none", "takes back the role that was given here"
    if field.name == "default_level":
        return "none", "only who was given a role comes in"
    return _GUEST if field.name in ("role", "default_role") else ("none", "")


def meaning(field: FormField, word: str) -> str:
    """What is chosen with a word of a field, in few words. Empty: the word says it."""
    if word in RANKS and "admin" in field.choices:
        return f"to {deeds(word)}"
    return _MEANINGS.get(field.name.rpartition(".")[2], {}).get(word, "")
