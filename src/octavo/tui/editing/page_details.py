"""Details of a page, such as slug, description and icon, as the values of a form. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from octavo.api.content import Page, PageTree, UpdatePage
from octavo.api.folding import fold
from octavo.documents.emoji import to_emoji
from octavo.untrusted_input import parse_json

Values = dict[str, str]
"""Text of each field by its name. The field `hidden` is "yes" or empty."""

FIELD_LABELS = {"slug": "Slug", "description": "Description", "emoji": "Emoji", "icon": "Icon", "hidden": "Hidden"}
_MISSING_FIELDS = {"group": {"description"}, "link": {"slug", "description"}, "computed": {"description"}}
_MAX_LENGTHS = {"slug": 100, "description": 1000, "emoji": 50, "icon": 50}
_SLUG = re.compile(r"[\w.-]+")
_ICON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def field_names(page: Page) -> tuple[str, ...]:
    """Return the names of the fields that a page of this type has."""
    return tuple(name for name in FIELD_LABELS if name not in _MISSING_FIELDS.get(page.type, ()))


def current_values(page: Page) -> Values:
    """Return the current values of a page."""
    values = {name: getattr(page, name) for name in field_names(page)}
    texts = {name: ("yes" if value else "") if name == "hidden" else str(value or "") for name, value in values.items()}
    if "emoji" in texts:
        texts["emoji"] = to_emoji(texts["emoji"])
    return texts


def changed_values(page: Page, values: Mapping[str, str]) -> Values:
    """Return the entries of `values` that differ from the page."""
    current = current_values(page)
    return {
        name: values[name].strip()
        for name in current
        if name in values and values[name].strip() != current[name].strip()
    }


def page_update(page: Page, values: Mapping[str, str]) -> UpdatePage | None:
    """Return the edit that saves the changed values, or None without changes. Unchanged values are not sent, because
    other people may have changed them."""
    sent: dict[str, Any] = {}
    for name, value in changed_values(page, values).items():
        if name == "hidden":
            sent[name] = value == "yes"
        elif name in ("slug", "description"):
            sent[name] = value
        else:
            sent[name] = value or None
    return UpdatePage(page=page.id, **sent) if sent else None


def value_errors(page: Page, tree: PageTree, values: Mapping[str, str]) -> dict[str, str]:
    """Return an error message for each changed value that is invalid, by field."""
    errors: dict[str, str] = {}
    new = changed_values(page, values)
    for name, value in new.items():
        if len(value) > _MAX_LENGTHS.get(name, len(value)):
            errors[name] = f"Use at most {_MAX_LENGTHS[name]} characters. This text has {len(value)} characters."
    slug, icon = new.get("slug", ""), new.get("icon", "")
    if slug and "slug" not in errors:
        if not _SLUG.fullmatch(slug):
            errors["slug"] = "Use only letters, digits, and hyphens. Example: first-steps"
        elif twin := next((each for each in _siblings(tree, page) if fold(each.slug or "") == fold(slug)), None):
            errors["slug"] = f"“{twin.title or 'Untitled'}” at this level already uses this slug."
    if icon and "icon" not in errors:
        if not _ICON.fullmatch(icon):
            errors["icon"] = "Use only lowercase letters, digits, and hyphens. Example: rocket-launch"
        elif values.get("emoji", "").strip():
            errors["icon"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    if new.get("emoji") and "emoji" not in errors:
        if not _is_emoji(new["emoji"]):
            errors["emoji"] = "Use one emoji, such as 🚀, or its code, such as 1f680."
        elif values.get("icon", "").strip() and "icon" not in errors:
            errors["emoji"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    return errors


def server_errors(sentence: str, names: Sequence[str]) -> dict[str, str]:
    """Return the error message of the server under the field that it mentions. Empty if it mentions none."""
    return next(({name: sentence} for name in names if re.search(rf"\b{name}\b", sentence, re.IGNORECASE)), {})


def _is_emoji(value: str) -> bool:
    character = to_emoji(value)
    if character.endswith("\N{COMBINING ENCLOSING KEYCAP}"):
        return len(character) <= 3
    return all(ord(each) > 0xA8 and not each.isspace() and not each.isalpha() for each in character)


def _siblings(tree: PageTree, page: Page) -> list[Page]:
    trail = tree.path_to(page.id)
    pages = trail[-2].pages if len(trail) > 1 else tree.pages
    return [each for each in pages if each.id != page.id]


def to_draft(page: Page, values: Mapping[str, str]) -> str:
    """Return the changed values as JSON for a draft. Empty without changes."""
    new = changed_values(page, values)
    return json.dumps(new, ensure_ascii=False) if new else ""


def from_draft(page: Page, draft: str) -> Values:
    """Return the values of the page, updated with the values of a draft."""
    current = current_values(page)
    try:
        saved = parse_json(draft) if draft else {}
    except ValueError:
        return current
    return current | {name: str(saved[name]) for name in current if isinstance(saved, dict) and name in saved}
