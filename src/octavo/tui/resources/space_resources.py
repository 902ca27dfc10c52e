"""The declaration of spaces for the forms and confirmations of the space tree."""

from __future__ import annotations

from octavo.api import spaces
from octavo.tui.resources.resource import Column, Resource, Rights
from octavo.tui.widgets.wording import plural

SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    about="A space holds pages, with their version history, comments, and change requests.",
    get=spaces.Get, create=spaces.Create, update=spaces.Update, delete=spaces.Delete,
    title=lambda each: each.title or "Untitled",
    named=lambda known, each: {"at": each.ref},
    columns=(
        Column("SPACE", "title"),
        Column("VISIBILITY", "visibility", 15, coded=True),
        Column("EDIT MODE", "edit_mode", 20, coded=True),
        Column("DEFAULT ACCESS", "default_level", 14, none="none", coded=True),
        Column("UPDATED", "updated_at", 7, right=True, drop=1),
    ),
    required=frozenset({"title"}),
    rights=Rights(create="create_content", of_thing=True),
    hangs_on=lambda each: [
        f"{plural(number, what)} will be deleted too."
        for number, what in ((each.change_requests_open + each.change_requests_draft, "open or draft change request"), (each.comments, "open comment"))
        if number
    ],
    again=lambda known, each: spaces.Restore(at=each.ref),
)  # fmt: skip
