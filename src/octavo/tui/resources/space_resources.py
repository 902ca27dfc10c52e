"""The declaration of spaces for the forms and confirmations of the space tree."""

from __future__ import annotations

from octavo.api import spaces
from octavo.tui.resources.resource import RequiredPermissions, Resource, TableColumn
from octavo.tui.widgets.wording import plural

MANAGED_SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    description="A space holds pages, with their version history, comments, and change requests.",
    get=spaces.Get, create=spaces.Create, update=spaces.Update, delete=spaces.Delete,
    title=lambda each: each.title or "Untitled",
    ids=lambda arguments, each: {"at": each.ref},
    columns=(
        TableColumn("SPACE", "title"),
        TableColumn("VISIBILITY", "visibility", 15, is_code=True),
        TableColumn("EDIT MODE", "edit_mode", 20, is_code=True),
        TableColumn("DEFAULT ACCESS", "default_level", 14, empty_text="none", is_code=True),
        TableColumn("UPDATED", "updated_at", 7, align_right=True, drop_rank=1),
    ),
    required_fields=frozenset({"title"}),
    permissions=RequiredPermissions(create="create_content", on_item=True),
    delete_effects=lambda each: [
        f"{plural(number, what)} will be deleted too."
        for number, what in ((each.change_requests_open + each.change_requests_draft, "open or draft change request"), (each.comments, "open comment"))
        if number
    ],
    recreate=lambda arguments, each: spaces.Restore(at=each.ref),
)  # fmt: skip
