"""The findings on the shown page of a change request: their rows in the diff, and the commands on the selected finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.bodies import Markdown
from octavo.api.comments import Create
from octavo.api.places import ChangeRequestRef
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.write_kind import Basis
from octavo.documents.blocks import Block
from octavo.documents.checks.added_findings import AddedFinding
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.core.view import View
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.render.threads import FINDING, ThreadSummary
from octavo.tui.review.changed_tree import ChangedTree, diff_of
from octavo.tui.review.request_findings import RequestFindings
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


class PageFindings:
    """The findings on the selected page of a change request."""

    def __init__(self, view: View, at: ChangeRequestRef, pages: ChangedTree, findings: RequestFindings) -> None:
        self._view, self._at, self._pages, self._findings = view, at, pages, findings

    @property
    def _found(self) -> tuple[AddedFinding, ...]:
        return self._findings.on_page(self._pages.key)

    def summaries(self, page_key: str) -> dict[str, list[ThreadSummary]]:
        """Return the rows of the findings on a page by the key of their block."""
        rows: dict[str, list[ThreadSummary]] = {}
        for each in self._findings.on_page(page_key):
            found = each.finding
            row = ThreadSummary(
                found.rule or found.source,
                "",
                found.message,
                is_open=False,
                key=f"{FINDING}{each.key}",
                sign="▲",
            )
            rows.setdefault(found.block, []).append(row)
        return rows

    def finding_of_row(self, row: Block) -> AddedFinding | None:
        """Return the finding of a row of the diff. None if the row is not a finding."""
        key = row.key.removeprefix(FINDING)
        if row.kind != "thread" or key == row.key:
            return None
        return next((each for each in self._found if each.key == key), None)

    @property
    def selected(self) -> AddedFinding | None:
        """The selected finding. None if the diff has no focus, or if no finding is selected."""
        diff = diff_of(self._view)
        stop = diff.cursor.current() if self._view.focused is diff else None
        return self.finding_of_row(stop.block) if stop is not None else None

    def go(self, step: int) -> None:
        """Go to the next finding, or to the previous one if `step` is -1."""
        diff = diff_of(self._view)
        if not diff.navigation.go_to_finding(step):
            which = "last" if step > 0 else "first"
            self._view.shell.explain(f"This is the {which} finding on this page.")
        elif self._view.focused is not diff:
            diff.focus()

    def why_no_finding(self) -> str | None:
        """Return why there is no finding to go to. None if there is one."""
        if self._found:
            return None
        if counts := self._findings.counts:
            return f"No findings on this page. {sum(counts.values())} on other pages."
        return "No findings on the words that this change request adds."

    def why_not_selected(self) -> str | None:
        """Return why no finding is selected. None if one is."""
        return self.why_no_finding() or (None if self.selected else "Press ; to select a finding first.")

    def why_no_comment(self) -> str | None:
        """Return why the selected finding cannot become a comment. None if it can become a comment."""
        return self.why_not_selected() or why_not_in_discussion(self._view.shell, self._at, "comment")

    def why_no_suggestion(self) -> str | None:
        """Return why the selected finding cannot become a suggestion. None if it can become a
        suggestion."""
        if why := self.why_no_comment():
            return why
        selected = self.selected
        if selected is not None and selected.suggestion is None:
            return "This finding has no fix. Press ' to make it a pending comment."
        return None

    def add_comment(self, app: Shell, *, with_suggestion: bool) -> None:
        """Make the selected finding a pending comment, with a suggestion in it if `with_suggestion`. `u`
        makes the comment a finding again."""
        selected, page = self.selected, self._pages.selected
        if selected is None or page is None or page.page is None:
            return
        text = selected.comment_with_suggestion if with_suggestion else selected.comment
        write = pending_comment(self._at, page.page.id, selected.finding.block, text)
        outbox = app.session.outbox
        added: tuple[OutboxEntry | None, ...] = ()

        async def apply() -> None:
            nonlocal added
            added = await outbox.add_pending_comments([write], [lambda _: True])
            self._findings.dismiss(selected.key)

        async def undo() -> None:
            ids = {each.id for each in added if each is not None}
            pending = [each.id for each in outbox.pending_comments(self._at) if each.id in ids]
            await outbox.remove_pending_comments(pending, lambda _: None)
            self._findings.restore(selected.key)

        kind = "suggestion" if with_suggestion else "comment"
        change = LocalChange(f"add the pending {kind}", apply, undo, f"Removed the pending {kind}.")
        app.writes.change(change, message=f"Added a pending {kind}. Submit your review to send it.")

    def dismiss(self, app: Shell) -> None:
        """Hide the selected finding until its words change. `u` shows it again."""
        if (selected := self.selected) is None:
            return

        async def apply() -> None:
            self._findings.dismiss(selected.key)

        async def undo() -> None:
            self._findings.restore(selected.key)

        change = LocalChange("dismiss the finding", apply, undo, "The finding is shown again.")
        app.writes.change(change, message="Dismissed the finding until its words change.")


def pending_comment(at: ChangeRequestRef, page: str, block: str, text: str) -> NewWrite:
    """Return the write of a pending comment on a block, or on the page if `block` is empty."""
    node = {"node": block} if block else {}
    op = Create(at=at, body=Markdown(markdown=text), page=page, **node)
    return NewWrite(op, "comment", f"comment {at.space_id} {at.change_request_id} {page} {block}", Basis())


FINDING_COMMANDS: Commands[PageFindings] = Commands(
    "finding",
    (
        Command("next", "semicolon", "Next finding", "Go to the next finding of the checks", shown=False, key_display=";",
                run=lambda _, findings: findings.go(1), why_not=lambda _, findings: findings.why_no_finding()),
        Command("previous", "comma", "Previous finding", "Go to the previous finding of the checks", shown=False, key_display=",",
                run=lambda _, findings: findings.go(-1), why_not=lambda _, findings: findings.why_no_finding()),
        Command("comment", "apostrophe", "Add comment", "Make the finding a pending comment", shown=False, key_display="'", writes=True,
                run=lambda app, findings: findings.add_comment(app, with_suggestion=False), why_not=lambda _, findings: findings.why_no_comment()),
        Command("suggest", "quotation_mark", "Suggest fix", "Make the finding a pending suggestion", shown=False, key_display='"', writes=True,
                run=lambda app, findings: findings.add_comment(app, with_suggestion=True), why_not=lambda _, findings: findings.why_no_suggestion()),
        Command("dismiss", "underscore", "Dismiss", "Hide the finding until its words change", shown=False, key_display="_",
                run=lambda app, findings: findings.dismiss(app), why_not=lambda _, findings: findings.why_not_selected()),
    ),
    context="change request",
    find=lambda view: view.page_findings,
)  # fmt: skip
"""Commands on the findings of the shown page."""
