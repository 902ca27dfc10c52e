"""What else a page has besides its title, text and place, as it is written in a form. Pure."""

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
"""What is written in each field. `hidden` is "yes" or empty."""

NAMES = {"slug": "Slug", "description": "Description", "emoji": "Emoji", "icon": "Icon", "hidden": "Hidden"}
_LACKS = {"group": {"description"}, "link": {"slug", "description"}, "computed": {"description"}}
_LENGTHS = {"slug": 100, "description": 1000, "emoji": 50, "icon": 50}
_SLUG = re.compile(r"[\w.-]+")
_ICON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def fields(page: Page) -> tuple[str, ...]:
    """What a page of its type has."""
    return tuple(name for name in NAMES if name not in _LACKS.get(page.type, ()))


def settings(page: Page) -> Values:
    """What a page has now."""
    values = {name: getattr(page, name) for name in fields(page)}
    said = {name: ("yes" if value else "") if name == "hidden" else str(value or "") for name, value in values.items()}
    if "emoji" in said:
        said["emoji"] = to_emoji(said["emoji"])
    return said


def changed(page: Page, values: Mapping[str, str]) -> Values:
    """Those of `values` that are not as they are."""
    now = settings(page)
    return {name: values[name].strip() for name in now if name in values and values[name].strip() != now[name].strip()}


def update(page: Page, values: Mapping[str, str]) -> UpdatePage | None:
    """The edit that makes it so. None when nothing is other. What is left alone is not sent: others may change it."""
    sent: dict[str, Any] = {}
    for name, value in changed(page, values).items():
        if name == "hidden":
            sent[name] = value == "yes"
        elif name in ("slug", "description"):
            sent[name] = value
        else:
            sent[name] = value or None
    return UpdatePage(page=page.id, **sent) if sent else None


def wrong(page: Page, tree: PageTree, values: Mapping[str, str]) -> dict[str, str]:
    """What cannot be so, a sentence for each field. Only what was changed is judged."""
    found: dict[str, str] = {}
    new = changed(page, values)
    for name, value in new.items():
        if len(value) > _LENGTHS.get(name, len(value)):
            found[name] = f"Use at most {_LENGTHS[name]} characters. This text has {len(value)} characters."
    slug, icon = new.get("slug", ""), new.get("icon", "")
    if slug and "slug" not in found:
        if not _SLUG.fullmatch(slug):
            found["slug"] = "Use only letters, digits, and hyphens. Example: first-steps"
        elif twin := next((each for each in _beside(tree, page) if fold(each.slug or "") == fold(slug)), None):
            found["slug"] = f"“{twin.title or 'Untitled'}” at this level already uses this slug."
    if icon and "icon" not in found:
        if not _ICON.fullmatch(icon):
            found["icon"] = "Use only lowercase letters, digits, and hyphens. Example: rocket-launch"
        elif values.get("emoji", "").strip():
            found["icon"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    if new.get("emoji") and "emoji" not in found:
        if not _is_emoji(new["emoji"]):
            found["emoji"] = "Use one emoji, such as 🚀, or its code, such as 1f680."
        elif values.get("icon", "").strip() and "icon" not in found:
            found["emoji"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    return found


def refused(sentence: str, names: Sequence[str]) -> dict[str, str]:
    """What a server refused, at the field it names. Empty when it names none."""
    return next(({name: sentence} for name in names if re.search(rf"\b{name}\b", sentence, re.IGNORECASE)), {})


def _is_emoji(value: str) -> bool:
    character = to_emoji(value)
    if character.endswith("\N{COMBINING ENCLOSING KEYCAP}"):
        return len(character) <= 3
    return all(ord(each) > 0xA8 and not each.isspace() and not each.isalpha() for each in character)


def _beside(tree: PageTree, page: Page) -> list[Page]:
    trail = tree.path_to(page.id)
    among = trail[-2].pages if len(trail) > 1 else tree.pages
    return [each for each in among if each.id != page.id]


def as_draft(page: Page, values: Mapping[str, str]) -> str:
    """What is kept of a form: what was changed in it."""
    new = changed(page, values)
    return json.dumps(new, ensure_ascii=False) if new else ""


def from_draft(page: Page, draft: str) -> Values:
    """What a form begins with: the page as it is, with what was written and not sent."""
    now = settings(page)
    try:
        kept = parse_json(draft) if draft else {}
    except ValueError:
        return now
    return now | {name: str(kept[name]) for name in now if isinstance(kept, dict) and name in kept}
