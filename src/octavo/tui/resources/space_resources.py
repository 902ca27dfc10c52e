"""Spaces, as the tree of spaces makes, changes and deletes them."""

from __future__ import annotations

from octavo.api import spaces
from octavo.tui.resources.resource import Column, Resource, Rights
from octavo.tui.widgets.wording import plural

SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    about="Where content lives: a tree of pages, its history, comments and change requests.",
    get=spaces.Get, create=spaces.Create, update=spaces.Update, delete=spaces.Delete,
    title=lambda each: each.title or "Untitled",
    named=lambda known, each: {"at": each.ref},
    columns=(
        Column("SPACE", "title"),
        Column("VISIBILITY", "visibility", 12),
        Column("EDITED", "edit_mode", 8),
        Column("EVERYBODY MAY", "default_level", 13),
        Column("CHANGED", "updated_at", 7, right=True, drop=1),
    ),
    rights=Rights(create="create_content", of_thing=True),
    hangs_on=lambda each: [
        f"{plural(number, what)} {'goes' if number == 1 else 'go'} with it."
        for number, what in ((each.change_requests_open + each.change_requests_draft, "undecided change request"), (each.comments, "open comment"))
        if number
    ],
    again=lambda known, each: spaces.Restore(at=each.ref),
)  # fmt: skip
