"""Pending comments: edited, removed, or sent with or without a review."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from octavo.api.bodies import Markdown
from octavo.api.places import ChangeRequestRef
from octavo.data.state_db import NotSaved
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import OutboxEntry
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.write_queue import LocalChange
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MOST_NAMED = 8
"""How many pending comments a dialog lists. Of the others it says how many there are."""


def page_of(entry: OutboxEntry) -> str:
    """Return the id of the page of a pending comment. Empty for a change request as a whole, and for a reply."""
    return entry.facts.page


def named(entry: OutboxEntry, titles: Mapping[str, str]) -> str:
    """Return what a pending comment is on: the title of the page, or the thread it replies to."""
    if entry.facts.thread:
        return f"Reply: {entry.context}" if entry.context else "Reply"
    return titles.get(page_of(entry)) or entry.context or ("Untitled page" if page_of(entry) else "General comments")


def told(held: tuple[OutboxEntry, ...], titles: Mapping[str, str]) -> list[str]:
    """Return the pending comments that a review sends, line by line."""
    if not held:
        return []
    lines = [f"{plural(len(held), 'pending comment')} will be sent with the review:"]
    for entry in held[:MOST_NAMED]:
        words = " ".join(entry.facts.text.split())
        lines.append(f"• {named(entry, titles)}: {words if len(words) <= 60 else words[:59] + '…'}")
    if len(held) > MOST_NAMED:
        lines.append(f"and {len(held) - MOST_NAMED} more. Press H to show all.")
    return lines


def edit_held(app: Shell, entry: OutboxEntry) -> None:
    """Edit a pending comment. It stays pending."""
    from octavo.tui.comments.composer import Composer
    from octavo.tui.comments.people import People
    from octavo.tui.reader.markdown_preview import preview

    place = f"held {entry.id}"
    kept = DialogDraft(app, place, entry.facts.text)

    def written(text: str | None) -> None:
        if text:
            op = entry.op.model_copy(update={"body": Markdown(markdown=text)})
            edit = partial(app.session.outbox.edit_pending_comment, entry.id, op, place)
            app.writes.change(LocalChange("edit the comment", edit), message="Edited the pending comment.")

    assert isinstance(entry.at, ChangeRequestRef)
    composer = Composer(
        "Edit a pending comment",
        draft=kept.text,
        save_draft=kept.save,
        save_draft_now=kept.save_now,
        is_saved=kept.is_saved,
        trouble=lambda: kept.save_problem,
        verb="save",
        preview=preview,
        editing_folder=app.settings.state_folder / "editing",
        people=People(app, entry.at),
        replies=app.settings.quick_replies,
    )
    app.push_screen(composer, written)


def drop_held(app: Shell, entry: OutboxEntry) -> None:
    """Remove a pending comment from the review after a confirmation."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            change = LocalChange("remove the comment", partial(app.session.outbox.discard, entry.id))
            app.writes.change(change, message="Removed the comment from the review and kept it as a draft.")

    words = " ".join(entry.facts.text.split())
    said = f"“{words if len(words) <= 240 else words[:239] + '…'}”"
    after = (
        "No one else has seen this comment, because it has not been sent. Its text will be kept as a draft: "
        "to continue writing, press c in the same place."
    )
    app.push_screen(ConfirmDialog("Remove this pending comment?", verb="Remove", intro=said, after=after), decided)


def send_held(app: Shell, at: ChangeRequestRef, name: str) -> None:
    """Send the pending comments without a review."""

    async def let_go() -> SendResult[tuple[OutboxEntry, ...]]:
        try:
            return SendResult("done", result=await app.session.outbox.submit_review(at))
        except NotSaved as error:
            return SendResult("refused", str(error))

    number = len(app.session.outbox.pending_comments(at))
    them = plural(number, "pending comment")
    app.writes.submit_review(
        f"send the {them} on {name}", let_go(), message=f"Sending {them} on {name} without a review…"
    )
