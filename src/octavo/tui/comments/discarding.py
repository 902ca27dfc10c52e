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


LEFT_BY_AN_EDITOR = "An editor left this text behind. e takes it up: to go on with it, to send it or to throw it away."


def why_not_discarded(app: Shell, words: Sequence[Unsent]) -> str | None:
    """Why nothing is thrown away, in a sentence."""
    if any(each.place or each.entry for each in words):
        return None
    return LEFT_BY_AN_EDITOR if words else NOTHING


def discard(app: Shell, words: Sequence[Unsent]) -> None:
    """Throw away drafts and held comments. `u` brings them back as they were, so nothing is asked."""
    outbox = app.session.outbox
    words = [each for each in words if each.place or each.entry]
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
                run=discard, why_not=why_not_discarded, shown=False),
    ),
    find=lambda view: view.unsent_at_hand,
)  # fmt: skip
"""What can be done with words that are not sent. A view has those its keys are about as its `unsent_at_hand`."""
