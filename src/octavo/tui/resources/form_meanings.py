"""Explanations of the options in forms, for example of roles and of a site's visibility."""

from __future__ import annotations

from typing import Any

from octavo.api import permissions
from octavo.api.operation import Operation
from octavo.data.access import ROLES, actions
from octavo.tui.resources.form_fields import FormField

_DESCRIPTIONS = {
    "visibility": {
        "public": "everyone, and search engines can index the site",
        "unlisted": "everyone with the link, not search engines",
        "share-link": "only visitors with a share link",
        "visitor-auth": "only visitors who sign in",
    },
    "specification": {
        "private": "only members can see the specification",
        "public": "everyone can see the specification",
    },
    "edit_mode": {
        "live": "pages can be edited directly",
        "locked": "pages can be edited only in change requests",
    },
    "agents_context": {
        "included": "AI agents get context about the site",
        "excluded": "AI agents get no context about the site",
    },
    "default_level": {"inherit": "same as the collection or organization"},
    "spaces": {"sample": "a new space with sample pages", "empty": "a new space without pages"},
}

_GRANTS = (permissions.Grant, permissions.UpdateUser, permissions.UpdateTeam)
_GUEST = ("Guest", "can access only spaces where they have a role")


def null_choice(field: FormField, operation: type[Operation[Any]]) -> tuple[str, str]:
    """Return the label of null in a field, and its explanation."""
    if operation in _GRANTS:
        return "none", "removes the assigned role"
    if field.name == "default_level":
        return "none", "only members with an assigned role have access"
    return _GUEST if field.name in ("role", "default_role") else ("none", "")


def description_of(field: FormField, word: str) -> str:
    """Return the explanation of a choice. Empty if its label says enough."""
    if word in ROLES and "admin" in field.choices:
        return f"can {actions(word)}"
    name = field.name.rpartition(".")[2]
    if name == "visibility" and "private" in field.choices:
        name = "specification"
    return _DESCRIPTIONS.get(name, {}).get(word, "")
