"""Actions on pending comments: edit, remove, and send without a review."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from octavo.api.bodies import Markdown
from octavo.api.places import ChangeRequestRef
from octavo.data.state_db import NotSaved
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import OutboxEntry
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

MAX_LISTED = 8
"""The most pending comments that a dialog lists. It shows the number of the others."""


def location_label(entry: OutboxEntry, titles: Mapping[str, str]) -> str:
    """Return what a pending comment is on: the title of the page, or the thread it replies to."""
    if entry.facts.thread:
        return f"Reply: {entry.context}" if entry.context else "Reply"
    page = entry.facts.page
    return titles.get(page) or entry.context or ("Untitled page" if page else "General comments")


def describe_pending(pending: tuple[OutboxEntry, ...], titles: Mapping[str, str]) -> list[str]:
    """Return the pending comments that a review sends, line by line."""
    if not pending:
        return []
    lines = [f"{plural(len(pending), 'pending comment')} will be sent with the review:"]
    for entry in pending[:MAX_LISTED]:
        text = " ".join(entry.facts.text.split())
        lines.append(f"• {location_label(entry, titles)}: {text if len(text) <= 60 else text[:59] + '…'}")
    if len(pending) > MAX_LISTED:
        lines.append(f"and {len(pending) - MAX_LISTED} more. Press H to show all.")
    return lines


def edit_pending(app: Shell, entry: OutboxEntry) -> None:
    """Edit a pending comment. It stays pending."""
    from octavo.tui.comments.composer import open_composer  # lazy: the text area

    draft_key = f"held {entry.id}"

    def save(text: str) -> None:
        op = entry.op.model_copy(update={"body": Markdown(markdown=text)})
        edit = partial(app.session.outbox.edit_pending_comment, entry.id, op, draft_key)
        app.writes.change(LocalChange("edit the comment", edit), message="Edited the pending comment.")

    assert isinstance(entry.at, ChangeRequestRef)
    title, text = "Edit a pending comment", entry.facts.text
    open_composer(app, entry.at, draft_key, title, save, start=text, verb="save", is_recoverable=False)


def remove_pending(app: Shell, entry: OutboxEntry) -> None:
    """Remove a pending comment from the review after a confirmation."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    def on_decided(answer: Confirmed | None) -> None:
        if answer is not None:
            change = LocalChange("remove the comment", partial(app.session.outbox.discard, entry.id))
            app.writes.change(change, message="Removed the comment from the review and kept it as a draft.")

    text = " ".join(entry.facts.text.split())
    quote = f"“{text if len(text) <= 240 else text[:239] + '…'}”"
    after = (
        "No one else has seen this comment, because it has not been sent. Its text will be kept as a draft: "
        "to continue writing, press c in the same place."
    )
    app.push_screen(ConfirmDialog("Remove this pending comment?", verb="Remove", intro=quote, after=after), on_decided)


def send_pending(app: Shell, at: ChangeRequestRef, name: str) -> None:
    """Send the pending comments without a review."""

    async def submit() -> SendResult[tuple[OutboxEntry, ...]]:
        try:
            return SendResult("done", result=await app.session.outbox.submit_review(at))
        except NotSaved as error:
            return SendResult("refused", str(error))

    number = len(app.session.outbox.pending_comments(at))
    pending_label = plural(number, "pending comment")
    app.writes.submit_review(
        f"send the {pending_label} on {name}", submit(), message=f"Sending {pending_label} on {name} without a review…"
    )
