"""Commands on notes that programs propose: accept, edit and accept, discard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.data.proposed_notes import Accepted, ProposedNote
from octavo.lazy_import import lazy
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_open_composer = lazy("octavo.tui.comments.composer:open_composer")  # lazy: the text area


def accept(app: Shell, notes: Sequence[ProposedNote]) -> None:
    """Make notes pending comments. `u` proposes them again."""
    accepted: tuple[Accepted, ...] = ()

    async def apply() -> None:
        nonlocal accepted
        accepted = await app.session.proposed.accept(notes)

    async def undo() -> None:
        await app.session.proposed.undo_accept(accepted)

    name = "the note" if len(notes) == 1 else plural(len(notes), "note")
    change = LocalChange(f"accept {name}", apply, undo, f"Proposed {name} again.")
    app.writes.change(change, message=f"Accepted {name}. Submit your review to send {_pronoun(notes)}.")


def discard(app: Shell, notes: Sequence[ProposedNote]) -> None:
    """Discard notes. `u` proposes them again."""

    async def apply() -> None:
        await app.session.proposed.discard(notes)

    async def undo() -> None:
        await app.session.proposed.undo_discard(notes)

    app.writes.change(
        LocalChange("discard the note", apply, undo, "Proposed the note again."), message="Discarded the note."
    )


def edit_and_accept(app: Shell, note: ProposedNote) -> None:
    """Edit the text of a note, and accept the note when the text is saved."""
    draft_key = f"held {note.id}"

    def save(text: str) -> None:
        async def apply() -> None:
            await app.session.proposed.accept([note], body=text, draft_key=draft_key)

        change = LocalChange("accept the note", apply)
        app.writes.change(change, message="Accepted the note. Submit your review to send it.")

    title = f"Edit and accept a note of {note.source}"
    _open_composer(app, note.at, draft_key, title, save, start=note.body, verb="accept", is_recoverable=False)


def source_label(note: ProposedNote) -> str:
    """Return a label that names the program which proposed a note, such as `proposed by claude`. The label also says if
    the block of the note is not certain."""
    return f"proposed by {note.source}" + (" · similar block" if note.placed == "likely" else "")


def _pronoun(notes: Sequence[ProposedNote]) -> str:
    return "it" if len(notes) == 1 else "them"
