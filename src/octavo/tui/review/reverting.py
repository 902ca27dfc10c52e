"""Reverting the changes of a change request to one block or to a whole page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DocumentBody, RevertPage, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.data.writes.content_writes import page_source, restore_pages
from octavo.documents.blocks import Block
from octavo.documents.suggestions import UnknownBlock, revert_blocks
from octavo.tui.render.diff_context import block_summary
from octavo.tui.review.changed_pages import ChangedPage
from octavo.tui.review.diff_base import Comparison
from octavo.tui.shell.permissions import UNDECIDED, why_no_editing, why_not_in_change_request
from octavo.tui.shell.write_queue import show_progress
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural
from octavo.tui.writing import target_request

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

_EXCERPT = 200


@dataclass(frozen=True)
class RevertedRange:
    """A page to revert in a change request, and the revisions it is reverted between."""

    at: ChangeRequestRef
    of: ChangeRequest
    page: str
    title: str
    base: str
    head: str


@dataclass(frozen=True)
class ChangeAtHand:
    """The selected change of a page, and the block in its diff if the diff has the focus."""

    comparison: Comparison
    change: ChangedPage
    block: Block | None


def _why_not_taken_back(app: Shell, here: ChangeAtHand) -> str | None:
    comparison, change = here.comparison, here.change
    about, sides = comparison.about, comparison.sides
    if not change.changes:
        return "This page has no changes."
    if change.page is None:
        return f"{change.title} is not a page, so Octavo cannot revert it. Press o to open the change request in the browser."
    if sides is not None and sides.name:
        return f"The diff shows a comparison with {sides.name}. To revert changes, first press B and choose Base."
    if about.base is None or about.revision is None:
        return "The server did not return the base revision of this change request."
    return why_no_editing(app) or why_not_in_change_request(app, about, comparison.space, "edit", *UNDECIDED)


def _take_back(app: Shell, here: ChangeAtHand) -> None:
    change, about = here.change, here.comparison.about
    if change.page is None or about.base is None or about.revision is None:
        return
    back = RevertedRange(here.comparison.at, about, change.page.id, change.title, about.base, about.revision)
    if here.block is None or not change.is_there_after:
        _ask_page(app, back, here)
    else:
        app.background(_ask_block(app, back, here.block))


async def _ask_block(app: Shell, back: RevertedRange, block: Block) -> None:
    try:
        then, now = await asyncio.gather(
            *(
                page_source(app.session.live, RevisionRef(space_id=back.at.space_id, revision_id=each), back.page)
                for each in (back.base, back.head)
            )
        )
    except ApiError as error:
        app.say(f"Could not load {back.title}: {error}", tone="failed")
        return
    if now is None:
        app.say(f"{back.title} has no text to revert.", tone="care")
        return
    keys = {each.key for each in block.walk()}
    before = then.text if then is not None else ""
    try:
        after = await asyncio.to_thread(revert_blocks, before, now.text, keys)
    except UnknownBlock:
        app.say(
            "Press ( or ) to select a block first. If you see the source diff, press \\ to switch to the rendered diff.",
            tone="care",
        )
        return
    if after == now.text:
        app.say("This block has no changes.")
        return
    change = UpdatePage(page=back.page, document=DocumentBody(markdown=after))
    said = block_summary(block)
    excerpt = said if len(said) <= _EXCERPT else f"{said[: _EXCERPT - 1]}…"
    _ask(
        app,
        f"Revert the changes to this block on {back.title}?",
        f"“{excerpt}”",
        "All changes to this block will be removed from this change request.",
        back,
        change,
    )


def _ask_page(app: Shell, back: RevertedRange, here: ChangeAtHand) -> None:
    if "created" in here.change.kinds:
        said = f"{back.title} is new in this change request and will be deleted."
        page = next((page for root in here.comparison.after for page in root.walk() if page.id == back.page), None)
        below = sum(1 for _ in page.walk()) - 1 if page is not None else 0
        said += f" Its {plural(below, 'subpage')} will also be deleted." if below else ""
    elif "deleted" in here.change.kinds:
        said = "The deleted page will be restored."
    else:
        said = "All changes to this page will be removed from this change request."
    _ask(app, f"Revert the changes to {back.title}?", said, "", back, RevertPage(page=back.page, revision=back.base))


def _ask(app: Shell, title: str, intro: str, after: str, back: RevertedRange, change: ContentEdit) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_put_back(app, back, change))

    app.push_screen(ConfirmDialog(title, verb="Revert", intro=intro, after=after), decided)


async def _put_back(app: Shell, back: RevertedRange, change: ContentEdit) -> None:
    with show_progress(app, f"Reverting {back.title}…"):
        outcome = await restore_pages(app.session.live, back.at, back.head, (change,))
    if outcome.kind != "done":
        app.say(f"Could not revert {back.title}: {outcome.cause}", tone="failed")
        return
    target_request.record_edit(app, back.at.space, back.of)
    app.say(f"Reverted {back.title}.")


TAKING_BACK: Commands[ChangeAtHand] = Commands(
    "change",
    (
        Command("take_back", "Q", "Revert change", "Revert the changes to the selected block or page", shown=False,
                writes=True, run=_take_back, why_not=_why_not_taken_back),
    ),
    context="change request",
    no_target="Select a changed page first.",
    find=lambda view: view.change_at_hand,
)  # fmt: skip
"""The command that reverts the selected change."""
