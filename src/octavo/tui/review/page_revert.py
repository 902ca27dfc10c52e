"""Command that reverts the changes to a block or to a page of a change request."""

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
from octavo.documents.revision_changes import ChangedPage
from octavo.documents.suggestions import UnknownBlock, revert_blocks
from octavo.tui.core.permissions import UNDECIDED, why_no_editing, why_not_in_change_request
from octavo.tui.core.write_queue import show_progress
from octavo.tui.editing import target_request
from octavo.tui.render.diff_context import block_summary
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_MAX_EXCERPT = 200


@dataclass(frozen=True)
class PageRevert:
    """Page to revert in a change request, from the revision `head` to the revision `base`."""

    at: ChangeRequestRef
    change_request: ChangeRequest
    page: str
    title: str
    base: str
    head: str


@dataclass(frozen=True)
class SelectedChange:
    """Selected change, with the selected block if the diff has the focus."""

    comparison: Comparison
    change: ChangedPage
    block: Block | None


def _why_no_revert(app: Shell, selected: SelectedChange) -> str | None:
    comparison, change = selected.comparison, selected.change
    change_request, sides = comparison.change_request, comparison.sides
    if not change.changes:
        return "This page has no changes."
    if change.page is None:
        return f"{change.title} is not a page, so Octavo cannot revert it. Press o to open the change request in the browser."
    if sides is not None and sides.old_name:
        return f"The diff shows a comparison with {sides.old_name}. To revert changes, first press B and choose Base."
    if change_request.base is None or change_request.revision is None:
        return "The server did not return the base revision of this change request."
    return why_no_editing(app) or why_not_in_change_request(app, change_request, comparison.space, "edit", *UNDECIDED)


def _ask_to_revert(app: Shell, selected: SelectedChange) -> None:
    change, change_request = selected.change, selected.comparison.change_request
    if change.page is None or change_request.base is None or change_request.revision is None:
        return
    at, base, head = selected.comparison.at, change_request.base, change_request.revision
    revert = PageRevert(at, change_request, change.page.id, change.title, base, head)
    if selected.block is None or not change.exists_after:
        _ask_to_revert_page(app, revert, selected)
    else:
        app.background(_ask_to_revert_block(app, revert, selected.block))


async def _ask_to_revert_block(app: Shell, revert: PageRevert, block: Block) -> None:
    try:
        refs = [RevisionRef(space_id=revert.at.space_id, revision_id=each) for each in (revert.base, revert.head)]
        old, new = await asyncio.gather(*(page_source(app.session.live, each, revert.page) for each in refs))
    except ApiError as error:
        app.say(f"Could not load {revert.title}: {error}", tone="failed")
        return
    if new is None:
        app.say(f"{revert.title} has no text to revert.", tone="care")
        return
    keys = {each.key for each in block.walk()}
    before = old.text if old is not None else ""
    try:
        after = await asyncio.to_thread(revert_blocks, before, new.text, keys)
    except UnknownBlock:
        app.say(
            "Press ( or ) to select a block first. If you see the source diff, press \\ to switch to the rendered diff.",
            tone="care",
        )
        return
    if after == new.text:
        app.say("This block has no changes.")
        return
    change = UpdatePage(page=revert.page, document=DocumentBody(markdown=after))
    summary = block_summary(block)
    excerpt = summary if len(summary) <= _MAX_EXCERPT else f"{summary[: _MAX_EXCERPT - 1]}…"
    _open_dialog(
        app,
        f"Revert the changes to this block on {revert.title}?",
        f"“{excerpt}”",
        "All changes to this block will be removed from this change request.",
        revert,
        change,
    )


def _ask_to_revert_page(app: Shell, revert: PageRevert, selected: SelectedChange) -> None:
    if "created" in selected.change.kinds:
        intro = f"{revert.title} is new in this change request and will be deleted."
        page = next(
            (page for root in selected.comparison.new_pages for page in root.walk() if page.id == revert.page), None
        )
        subpages = sum(1 for _ in page.walk()) - 1 if page is not None else 0
        intro += f" Its {plural(subpages, 'subpage')} will also be deleted." if subpages else ""
    elif "deleted" in selected.change.kinds:
        intro = "The deleted page will be restored."
    else:
        intro = "All changes to this page will be removed from this change request."
    edit = RevertPage(page=revert.page, revision=revert.base)
    _open_dialog(app, f"Revert the changes to {revert.title}?", intro, "", revert, edit)


def _open_dialog(app: Shell, title: str, intro: str, after: str, revert: PageRevert, change: ContentEdit) -> None:
    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_revert(app, revert, change))

    app.push_screen(ConfirmDialog(title, verb="Revert", intro=intro, after=after), on_answer)


async def _revert(app: Shell, revert: PageRevert, change: ContentEdit) -> None:
    with show_progress(app, f"Reverting {revert.title}…"):
        outcome = await restore_pages(app.session.live, revert.at, revert.head, (change,))
    if outcome.kind != "done":
        app.say(f"Could not revert {revert.title}: {outcome.cause}", tone="failed")
        return
    target_request.record_edit(app, revert.at.space, revert.change_request)
    app.say(f"Reverted {revert.title}.")


REVERT_COMMANDS: Commands[SelectedChange] = Commands(
    "change",
    (
        Command("take_back", "Q", "Revert change", "Revert the changes to the selected block or page", shown=False,
                writes=True, run=_ask_to_revert, why_not=_why_no_revert),
    ),
    context="change request",
    no_target="Select a changed page first.",
    find=lambda view: view.selected_change,
)  # fmt: skip
"""Command that reverts the selected change."""
