"""Discarding unsent text wherever it is marked: of a page, a block, a thread, a change request or a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.data.unsent_index import UnsentText
from octavo.data.writes.outbox import Discarded
from octavo.tui.shell.write_queue import LocalChange
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

NOTHING = "You have no unsent drafts here."


LEFT_BY_AN_EDITOR = (
    "You have an unsent draft of this page from your editor. Press e to continue, send, or discard the draft."
)


def why_not_discarded(app: Shell, words: Sequence[UnsentText]) -> str | None:
    """Return why there is nothing to discard. None if there is."""
    if any(each.draft_key or each.entry_id for each in words):
        return None
    return LEFT_BY_AN_EDITOR if words else NOTHING


def discard(app: Shell, words: Sequence[UnsentText]) -> None:
    """Discard drafts and pending comments without a confirmation: `u` restores them."""
    outbox = app.session.outbox
    words = [each for each in words if each.draft_key or each.entry_id]
    places = [each.draft_key for each in words if each.draft_key]
    held = [each.entry_id for each in words if each.entry_id]
    discarded = Discarded()

    async def throw_away() -> None:
        nonlocal discarded
        discarded = await outbox.discard_unsent(places, held)

    async def bring_back() -> None:
        await outbox.restore_discarded(discarded)

    drafts, comments = plural(len(places), "draft"), plural(len(held), "pending comment")
    what = " and ".join([drafts] * bool(places) + [comments] * bool(held))
    if len(words) == 1:
        what = "draft" if places else "pending comment"
    is_back = f"Restored your {what}."
    app.writes.change(
        LocalChange(f"discard the {what}", throw_away, bring_back, is_back),
        message=f"{what[:1].upper()}{what[1:]} discarded",
    )


UNSENT: Commands[Sequence[UnsentText]] = Commands(
    "draft",
    (
        Command("discard", "ctrl+x", "Discard draft", "Discard your unsent drafts here (press u to undo)",
                run=discard, why_not=why_not_discarded, shown=False),
    ),
    find=lambda view: view.unsent_at_hand,
)  # fmt: skip
"""Commands for unsent text. A view provides it as its `unsent_at_hand`."""
