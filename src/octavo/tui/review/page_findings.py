"""Commands for findings on the current page of a change request, and the command that reverts a page or block."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Create
from octavo.api.content import ContentEdit, DocumentBody, RevertPage, UpdatePage
from octavo.api.operation import ChangeRequestRef
from octavo.data.queries import UNDECIDED
from octavo.data.writes.content_writes import page_source, restore_pages
from octavo.data.writes.machine import ExpectedState, NewWrite, OutboxEntry
from octavo.documents.blocks import Block
from octavo.documents.checks.references import AddedFinding
from octavo.documents.page_trees import ChangedPage
from octavo.documents.suggestions import UnknownBlock, revert_blocks
from octavo.tui.core.permissions import why_no_editing, why_not_in_change_request, why_not_in_discussion
from octavo.tui.core.shell import Shell, opening
from octavo.tui.core.view import View
from octavo.tui.core.write_queue import LocalChange, show_progress
from octavo.tui.editing import target_change_request
from octavo.tui.render.comparison import block_summary
from octavo.tui.render.threads import FINDING_PREFIX, ThreadSummary
from octavo.tui.review.changed_tree import ChangedTree, diff_of
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.review.request_findings import RequestFindings
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.short_texts import plural, shorten


class PageFindings:
    """Findings of the checks on the current page, and the commands for the selected finding."""

    def __init__(self, view: View, at: ChangeRequestRef, pages: ChangedTree, findings: RequestFindings) -> None:
        self._view, self._at, self._pages, self._findings = view, at, pages, findings

    @property
    def _current_findings(self) -> tuple[AddedFinding, ...]:
        return self._findings.findings_on(self._pages.key)

    def summaries(self, page_key: str) -> dict[str, list[ThreadSummary]]:
        """Return the rows that show the findings on a page in the diff, by block key."""
        rows: dict[str, list[ThreadSummary]] = {}
        for each in self._findings.findings_on(page_key):
            finding = each.finding
            row = ThreadSummary(
                finding.rule or finding.tool,
                "",
                finding.message,
                is_open=False,
                key=f"{FINDING_PREFIX}{each.key}",
                sign="▲",
            )
            rows.setdefault(finding.block_key, []).append(row)
        return rows

    def finding_of_row(self, row: Block) -> AddedFinding | None:
        """Return the finding that a row of the diff shows. None if the row shows no finding."""
        key = row.key.removeprefix(FINDING_PREFIX)
        if row.kind != "thread" or key == row.key:
            return None
        return next((each for each in self._current_findings if each.key == key), None)

    @property
    def selected(self) -> AddedFinding | None:
        """Selected finding. None if no finding is selected in the focused diff."""
        diff = diff_of(self._view)
        span = diff.cursor.current() if self._view.focused is diff else None
        return self.finding_of_row(span.block) if span is not None else None

    def go_to_finding(self, step: int) -> None:
        """Go to the next finding, or to the previous one if `step` is -1."""
        diff = diff_of(self._view)
        if not diff.navigation.go_to_finding(step):
            end_name = "last" if step > 0 else "first"
            self._view.shell.explain(f"This is the {end_name} finding on this page.")
        elif self._view.focused is not diff:
            diff.focus()

    def why_no_finding(self) -> str | None:
        """Return the reason why the current page has no findings. None if it has findings."""
        if self._current_findings:
            return None
        if self._findings.is_checking:
            return StillLoading("The checks are still running. Wait a moment.")
        if counts := self._findings.counts:
            return f"No findings on this page. {sum(counts.values())} on other pages."
        return "No findings on the words that this change request adds."

    def why_none_selected(self) -> str | None:
        """Return the reason why no finding is selected. None if a finding is selected."""
        return self.why_no_finding() or (None if self.selected else "Press ; to select a finding first.")

    def why_no_comment(self) -> str | None:
        """Return the reason why the selected finding cannot become a comment. None if it can."""
        return self.why_none_selected() or why_not_in_discussion(self._view.shell, self._at, "comment")

    def why_no_suggestion(self) -> str | None:
        """Return the reason why the selected finding cannot become a suggestion. None if it can."""
        if why := self.why_no_comment():
            return why
        selected = self.selected
        if selected is not None and selected.suggestion is None:
            return "This finding has no fix. Press ' to make it a pending comment."
        return None

    def add_comment(self, app: Shell, *, with_suggestion: bool) -> None:
        """Replace the selected finding with a pending comment. If `with_suggestion`, the comment suggests the fix."""
        selected, page = self.selected, self._pages.selected
        if selected is None or page is None or page.page is None:
            return
        text = selected.comment_with_suggestion if with_suggestion else selected.comment
        write = pending_comment(self._at, page.page.id, selected.finding.block_key, text)
        page_key, outbox = page.key, app.session.outbox
        added_entries: tuple[OutboxEntry, ...] = ()

        async def apply() -> None:
            nonlocal added_entries
            added_entries = await outbox.add_pending_comments([write])
            self._findings.dismiss(page_key, selected.key)

        async def undo() -> bool:
            is_undone = await outbox.remove_pending_comments(added_entries)
            if is_undone:
                self._findings.restore(page_key, selected.key)
            return is_undone

        kind = "suggestion" if with_suggestion else "comment"
        change = LocalChange(f"add the pending {kind}", apply, undo, f"Removed the pending {kind}.")
        app.writes.apply_change(change, message=f"Added a pending {kind}. Submit your review to send it.")

    def dismiss(self, app: Shell) -> None:
        """Hide the selected finding until its words change. Undo shows the finding again."""
        if (selected := self.selected) is None:
            return
        page_key = self._pages.key

        async def apply() -> None:
            self._findings.dismiss(page_key, selected.key)

        async def undo() -> None:
            self._findings.restore(page_key, selected.key)

        change = LocalChange("dismiss the finding", apply, undo, "The finding is shown again.")
        app.writes.apply_change(change, message="Dismissed the finding until its words change.")


def pending_comment(at: ChangeRequestRef, page_id: str, block_key: str, text: str) -> NewWrite:
    """Return the write that adds a pending comment to a block. If `block_key` is empty, the comment is on the page."""
    node_field = {"node": block_key} if block_key else {}
    op = Create(at=at, body=Markdown(markdown=text), page=page_id, **node_field)
    draft_key = f"comment {at.space_id} {at.change_request_id} {page_id} {block_key}"
    # An unsent draft on this block has another text, so the draft is kept.
    return NewWrite(op, "comment", draft_key, ExpectedState(), used_draft_keys=())


FINDING_COMMANDS: Commands[PageFindings] = Commands(
    "finding",
    (
        Command("next", "semicolon", "Next finding", "Go to the next finding of the checks", shown=False, key_display=";",
                run=lambda _, findings: findings.go_to_finding(1), why_not=lambda _, findings: findings.why_no_finding()),
        Command("previous", "comma", "Previous finding", "Go to the previous finding of the checks", shown=False, key_display=",",
                run=lambda _, findings: findings.go_to_finding(-1), why_not=lambda _, findings: findings.why_no_finding()),
        Command("comment", "apostrophe", "Add comment", "Make the finding a pending comment", shown=False, key_display="'", writes=True,
                run=lambda app, findings: findings.add_comment(app, with_suggestion=False), why_not=lambda _, findings: findings.why_no_comment()),
        Command("suggest", "quotation_mark", "Suggest fix", "Make the finding a pending suggestion", shown=False, key_display='"', writes=True,
                run=lambda app, findings: findings.add_comment(app, with_suggestion=True), why_not=lambda _, findings: findings.why_no_suggestion()),
        Command("dismiss", "underscore", "Dismiss", "Hide the finding until its words change", shown=False, key_display="_",
                run=lambda app, findings: findings.dismiss(app),
                why_not=lambda _, findings: findings.why_none_selected()),
    ),
    context="change request",
    find_target=lambda view: view.page_findings,
)  # fmt: skip


_MAX_EXCERPT = 200


@dataclass(frozen=True)
class PageRevert:
    """Page with changes to revert. `base` and `head` are the revisions before and after the changes."""

    at: ChangeRequestRef
    change_request: ChangeRequest
    page_id: str
    title: str
    base: str
    head: str


@dataclass(frozen=True)
class SelectedChange:
    """The page or block whose changes the command “Revert change” reverts."""

    comparison: Comparison
    change: ChangedPage
    block: Block | None
    """Selected block. None to revert the whole page, because the diff has no focus or no selected block."""


def _why_no_revert(app: Shell, selected: SelectedChange) -> str | None:
    comparison, change = selected.comparison, selected.change
    change_request, revisions = comparison.change_request, comparison.revisions
    if not change.changes:
        return "This page has no changes."
    if change.page is None:
        return f"{change.title} is not a page, so Octavo cannot revert it. Press o to open the change request in the browser."
    if revisions is not None and (old := revisions.old_name):
        return f"The diff shows a comparison with {old}. To revert changes, first press B and choose Base."
    if change_request.base is None or change_request.revision is None:
        return "The server did not return the base revision of this change request."
    reason = why_no_editing(app) or why_not_in_change_request(app, change_request, comparison.space, "edit", *UNDECIDED)
    return reason or comparison.why_outdated()


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
    with opening(app, f"Loading {revert.title}…", f"Could not load {revert.title}"):
        refs = [revert.at.revision_ref(each) for each in (revert.base, revert.head)]
        old, new = await asyncio.gather(*(page_source(app.session.live, each, revert.page_id) for each in refs))
    if new is None:
        app.say(f"{revert.title} has no text to revert.", tone="care")
        return
    keys = {each.key for each in block.walk()}
    old_text = old.text if old is not None else ""
    try:
        reverted_text = await asyncio.to_thread(revert_blocks, old_text, new.text, keys)
    except UnknownBlock:
        app.say(
            "Press ( or ) to select a block first. If you see the source diff, press \\ to switch to the rendered diff.",
            tone="care",
        )
        return
    if reverted_text == new.text:
        app.say("This block has no changes.")
        return
    change = UpdatePage(page=revert.page_id, document=DocumentBody(markdown=reverted_text))
    _confirm_revert(
        app,
        f"Revert the changes to this block on {revert.title}?",
        f"“{shorten(block_summary(block), _MAX_EXCERPT)}”",
        "All changes to this block will be removed from this change request.",
        revert,
        change,
    )


def _ask_to_revert_page(app: Shell, revert: PageRevert, selected: SelectedChange) -> None:
    if "created" in selected.change.kinds:
        intro = f"{revert.title} is new in this change request and will be deleted."
        page = next(
            (page for root in selected.comparison.new_pages for page in root.walk() if page.id == revert.page_id), None
        )
        subpage_count = sum(1 for _ in page.walk()) - 1 if page is not None else 0
        intro += f" Its {plural(subpage_count, 'subpage')} will also be deleted." if subpage_count else ""
    elif "deleted" in selected.change.kinds:
        intro = "The deleted page will be restored."
    else:
        intro = "All changes to this page will be removed from this change request."
    edit = RevertPage(page=revert.page_id, revision=revert.base)
    _confirm_revert(app, f"Revert the changes to {revert.title}?", intro, "", revert, edit)


def _confirm_revert(
    app: Shell, title: str, intro: str, text_below: str, revert: PageRevert, change: ContentEdit
) -> None:
    dialog = ConfirmDialog(title, verb="Revert", intro=intro, after=text_below)
    app.ask(dialog, lambda _: app.background(_revert(app, revert, change)))


async def _revert(app: Shell, revert: PageRevert, change: ContentEdit) -> None:
    with show_progress(app, f"Reverting {revert.title}…"):
        outcome = await restore_pages(app.session.live, revert.at, revert.head, (change,))
    if outcome.kind != "done":
        app.say(f"Could not revert {revert.title}: {outcome.message}", tone="failed")
        return
    target_change_request.record_edit(app, revert.at.space, revert.change_request)
    app.say(f"Reverted {revert.title}.")


REVERT_COMMANDS: Commands[SelectedChange] = Commands(
    "change",
    (
        Command("take_back", "Q", "Revert change", "Revert the changes to the selected block or page", shown=False,
                writes=True, run=_ask_to_revert, why_not=_why_no_revert),
    ),
    context="change request",
    no_target="Select a changed page first.",
    find_target=lambda view: view.selected_change,
)  # fmt: skip
