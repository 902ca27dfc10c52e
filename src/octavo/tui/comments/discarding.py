"""Throwing away what is not sent, wherever it is marked: one key for a page, a block, a thread, a change request, a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.data.discarding import Discarded
from octavo.data.unsent import Unsent
from octavo.tui.shell.write_queue import LocalChange
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

NOTHING = "There are no words of yours here that are not sent."


def discard(app: Shell, words: Sequence[Unsent]) -> None:
    """Throw away drafts and held comments. `u` brings them back as they were, so nothing is asked."""
    outbox = app.session.outbox
    places = [each.place for each in words if each.place]
    held = [each.entry for each in words if each.entry]
    discarded = Discarded()

    async def throw_away() -> None:
        nonlocal discarded
        discarded = await outbox.discard_words(places, held)

    async def bring_back() -> None:
        await outbox.bring_back(discarded)

    drafts, comments = plural(len(places), "draft"), plural(len(held), "held comment")
    what = " and ".join([drafts] * bool(places) + [comments] * bool(held))
    if len(words) == 1:
        what = "draft" if places else "held comment"
    is_back = f"Your {what} {'is' if len(words) == 1 else 'are'} back."
    app.writes.change_here(
        LocalChange(f"discard the {what}", throw_away, bring_back, is_back),
        said=f"{what[:1].upper()}{what[1:]} discarded",
    )


UNSENT: Commands[Sequence[Unsent]] = Commands(
    "draft",
    (
        Command("discard", "ctrl+x", "Discard draft", "Throw away the drafts and held comments of yours that are marked here; u brings them back",
                run=discard, why_not=lambda _, words: None if words else NOTHING, shown=False),
    ),
    find=lambda view: view.unsent_at_hand,
)  # fmt: skip
"""What can be done with words that are not sent. A view has those its keys are about as its `unsent_at_hand`."""
