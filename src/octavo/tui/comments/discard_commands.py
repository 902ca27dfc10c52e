"""Commands that discard unsent text on a page, a block, a thread, a change request or a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.data.unsent_index import UnsentText
from octavo.data.writes.outbox import Discarded
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

NO_DRAFTS = "You have no unsent drafts here."


EDITOR_DRAFT_LEFT = (
    "You have an unsent draft of this page from your editor. Press e to continue, send, or discard the draft."
)


def why_not_discard(app: Shell, drafts: Sequence[UnsentText]) -> str | None:
    """Return why there is nothing to discard. None if there is a draft or a pending comment."""
    if any(each.draft_key or each.entry_id for each in drafts):
        return None
    return EDITOR_DRAFT_LEFT if drafts else NO_DRAFTS


def discard(app: Shell, drafts: Sequence[UnsentText]) -> None:
    """Discard drafts and pending comments without a confirmation: `u` restores them."""
    outbox = app.session.outbox
    drafts = [each for each in drafts if each.draft_key or each.entry_id]
    draft_keys = [each.draft_key for each in drafts if each.draft_key]
    pending_ids = [each.entry_id for each in drafts if each.entry_id]
    discarded = Discarded()

    async def discard_all() -> None:
        nonlocal discarded
        discarded = await outbox.discard_unsent(draft_keys, pending_ids)

    async def restore() -> None:
        await outbox.restore_discarded(discarded)

    draft_count, pending_count = plural(len(draft_keys), "draft"), plural(len(pending_ids), "pending comment")
    object_name = " and ".join([draft_count] * bool(draft_keys) + [pending_count] * bool(pending_ids))
    if len(drafts) == 1:
        object_name = "draft" if draft_keys else "pending comment"
    restored_message = f"Restored your {object_name}."
    app.writes.change(
        LocalChange(f"discard the {object_name}", discard_all, restore, restored_message),
        message=f"{object_name[:1].upper()}{object_name[1:]} discarded",
    )


UNSENT: Commands[Sequence[UnsentText]] = Commands(
    "draft",
    (
        Command("discard", "ctrl+x", "Discard draft", "Discard your unsent drafts here (press u to undo)",
                run=discard, why_not=why_not_discard, shown=False),
    ),
    find=lambda view: view.target_drafts,
)  # fmt: skip
"""Commands for unsent text. A view provides the text as its `target_drafts`."""
