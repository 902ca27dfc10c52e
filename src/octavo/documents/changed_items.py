"""Entries for the pages, files and other objects that differ between two revisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from octavo.api.content import Change, PageReference
from octavo.documents.diff_model import AttributeChange

WHOLE = "whole"
"""Key of the entry for the comments on the change request as a whole."""
_HIDDEN_ATTRIBUTES = frozenset({"document", "cover", "layout", "variables", "target"})
"""Changed attributes of a page without a value that fits in one line."""
_NAMES = {"noIndex": "hidden from search", "noRobotsIndex": "hidden from search engines", "slug": "slug"}


@dataclass(frozen=True)
class ChangedPage:
    """Changes to a page, a file, reusable content or variables. `changes` is empty for an unchanged page and for the
    entry with the key WHOLE."""

    key: str
    title: str
    changes: tuple[Change, ...] = ()
    page: PageReference | None = None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return what happens to the page or file: any of created, deleted, moved, renamed and edited."""
        found: list[str] = []
        for change in self.changes:
            kind = change.type.rpartition("_")[2]
            names = set(change.attributes) if isinstance(change.attributes, dict) else set()
            if kind == "edited" and names & {"title", "slug"}:
                found.append("renamed")
            if kind != "edited" or not names or names - {"title", "slug"}:
                found.append(kind)
        return tuple(dict.fromkeys(found))

    @property
    def sign(self) -> str:
        """Return `+` for created, `−` for deleted, `→` for moved and `~` for edited or renamed. Empty if nothing
        changes."""
        kinds = self.kinds
        signs = (("created", "+"), ("deleted", "−"), ("moved", "→"))
        return next((sign for kind, sign in signs if kind in kinds), "~" if kinds else "")

    @property
    def is_document(self) -> bool:
        """Return whether the entry is a page with text."""
        return self.page is not None and self.page.type == "document"

    @property
    def exists_before(self) -> bool:
        return "created" not in self.kinds

    @property
    def exists_after(self) -> bool:
        return "deleted" not in self.kinds

    @property
    def settings(self) -> tuple[AttributeChange, ...]:
        """Return the changed settings of the page, such as its parent page, title or slug."""
        found: list[AttributeChange] = []
        for change in self.changes:
            if change.parent is not None:
                places = (change.parent.before, change.parent.after)
                before, after = (place.title or "Untitled" if place else "the top level" for place in places)
                found.append(
                    AttributeChange("place", before, after)
                    if before != after
                    else AttributeChange("position", "old position", "new position")
                )
            found += settings_of(change.attributes)
        return tuple(found)


def settings_of(values: object) -> Iterator[AttributeChange]:
    """Yield the changed values in `values`, which are the attributes or the variables of a change."""
    for attribute, sides in values.items() if isinstance(values, dict) else ():
        if isinstance(sides, dict) and attribute not in _HIDDEN_ATTRIBUTES:
            before, after = (_format_value(sides.get(side)) for side in ("before", "after"))
            yield AttributeChange(_NAMES.get(attribute, str(attribute)), before, after)


def _format_value(value: object) -> str | None:
    if value is None or value == "":
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def changed_pages(changes: Iterable[Change]) -> tuple[ChangedPage, ...]:
    """Return an entry for each page, file or other object that changes, in the order of the first change to each."""
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[_key_of(change)].append(change)
    return tuple(
        ChangedPage(key, title_of(group[-1]), tuple(group), next((each.page for each in group if each.page), None))
        for key, group in found.items()
    )


def _key_of(change: Change) -> str:
    """Return the key of the entry for a change. The key of a page is the page ID, as in a page tree."""
    if change.page is not None:
        return change.page.id
    if change.file is not None:
        return f"file {change.file.id}"
    if isinstance(change.reusable_content, dict):
        return f"reusable {change.reusable_content.get('id', '')}"
    return change.type.partition("_")[0]


def title_of(change: Change) -> str:
    """Return the title of the changed page, or the name of the changed file or object."""
    if change.page is not None:
        return change.page.title or "Untitled"
    if change.file is not None:
        return change.file.name
    if isinstance(change.reusable_content, dict):
        return str(change.reusable_content.get("title", "reusable content"))
    return "variables" if change.type == "variables_edited" else change.type.replace("_", " ")
