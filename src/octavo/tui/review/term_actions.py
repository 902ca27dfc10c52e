"""Replaces the selected places of an old term in a change request, or suggests the replacement in pending comments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.data.term_search import PageMatches
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.text_edits import PageReplacement, TermOutcome, replace_term, revert_term
from octavo.documents.linters.placement import innermost_block
from octavo.documents.page_trees import escape
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import suggestion_fence
from octavo.documents.term_changes import TermChange
from octavo.documents.term_matches import TermMatch, replace_matches
from octavo.tui.core.permissions import (
    UNDECIDED,
    why_no_editing,
    why_not_in_change_request,
    why_not_in_discussion,
)
from octavo.tui.core.write_queue import DirectUndo, LocalChange
from octavo.tui.editing.target_request import remember_target
from octavo.tui.review.page_findings import pending_comment
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import fit, plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

MAX_SUGGESTIONS = 100
"""Maximum number of suggestions that are added at once."""
MAX_LISTED = 300
"""Maximum number of places that the confirmation lists."""
_NAMED_PAGES = 5
_DIALOG_WIDTH = 64
"""Number of cells of a line in the confirmation, which fits in a terminal of 80 columns."""


@dataclass(frozen=True)
class TermSource:
    """A replaced term, and the revision of the change request in which its old form is searched."""

    change_request: ChangeRequest
    space: SpaceRef
    term: TermChange
    revision: RevisionRef
    changed: frozenset[str]
    """Ids of the pages that the change request changes."""

    @property
    def at(self) -> ChangeRequestRef:
        return self.change_request.ref(self.space)

    @property
    def title(self) -> str:
        """The old and the new term, for titles."""
        return f"“{self.term.old}” → “{self.term.new}”"


@dataclass(frozen=True)
class TermRow:
    """A place in the list of the places with an old term."""

    found: PageMatches
    match: TermMatch

    @property
    def key(self) -> tuple[str, int]:
        return self.found.page.id, -1 if self.is_title else self.match.start

    @property
    def is_title(self) -> bool:
        """True if the place is the title of the page."""
        return self.match is self.found.title_match

    @property
    def can_replace(self) -> bool:
        """True if Octavo can replace the term in this place."""
        return self.match.replacement is not None and not self.is_title

    @property
    def page_title(self) -> str:
        return self.found.page.title or "Untitled"


def why_no_replacement(app: Shell, source: TermSource) -> str | None:
    """Return the reason why you cannot edit the change request. None if you can."""
    return why_no_editing(app) or why_not_in_change_request(
        app, source.change_request, source.space, "edit", *UNDECIDED
    )


def why_no_suggestions(app: Shell, source: TermSource, rows: Sequence[TermRow]) -> str | None:
    """Return the reason why you cannot suggest the replacement in these places. None if you can."""
    if len(rows) > MAX_SUGGESTIONS:
        return f"{len(rows)} places are selected. Select at most {MAX_SUGGESTIONS} places to suggest at once."
    return why_not_in_discussion(app, source.at, "comment")


def _by_page(rows: Iterable[TermRow]) -> list[tuple[PageMatches, tuple[TermMatch, ...]]]:
    """Return the places of each page."""
    pages: dict[str, tuple[PageMatches, tuple[TermMatch, ...]]] = {}
    for row in rows:
        found, matches = pages.get(row.found.page.id, (row.found, ()))
        pages[row.found.page.id] = found, (*matches, row.match)
    return list(pages.values())


def excerpt(match: TermMatch, width: int) -> Content:
    """Return a place in one line: at most `width` characters before the place, the old text crossed out, the new
    text, and the text after the place."""
    before = match.before if len(match.before) <= width else f"…{match.before[-width:]}"
    old = Content.styled(" ".join(match.text.split()), "$error strike")
    if match.replacement is None:
        return Content.assemble((before, "$octavo-muted"), old, (match.after, "$octavo-muted"))
    new = Content.styled(" ".join(match.replacement.split()), "$success")
    arrow = (" → ", "$octavo-muted")
    return Content.assemble((before, "$octavo-muted"), old, arrow, new, (match.after, "$octavo-muted"))


# Editing the pages


def open_replace_dialog(app: Shell, source: TermSource, rows: Sequence[TermRow], on_done: Callable[[], None]) -> None:
    """List the edits and ask for confirmation, then replace the places. `on_done` is called after the edit."""
    pages = _by_page(rows)

    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            _replace(app, source, pages, on_done)

    lines: list[Content] = []
    listed = 0
    for found, matches in pages:
        if listed >= MAX_LISTED:
            break
        lines.append(Content.styled(found.page.title or "Untitled", "bold"))
        lines += [Content("  ") + fit(excerpt(match, 16), _DIALOG_WIDTH) for match in matches[: MAX_LISTED - listed]]
        listed += min(len(matches), MAX_LISTED - listed)
    if len(rows) > listed:
        lines.append(Content(f"{len(rows) - listed} more places are listed in the view behind this dialog."))
    intro = f"Changes {plural(len(pages), 'page')} of #{source.change_request.number} in this change request only."
    after = "Pages that were edited in the meantime are skipped. You can undo the edit by pressing u."
    dialog = ConfirmDialog(
        f"Replace “{source.term.old}” in {plural(len(rows), 'place')}?",
        verb="Replace",
        intro=Content("\n").join([Content(intro), Content(after), Content(""), *lines]),
    )
    app.push_screen(dialog, on_answer)


def _replace(
    app: Shell,
    source: TermSource,
    pages: Sequence[tuple[PageMatches, tuple[TermMatch, ...]]],
    on_done: Callable[[], None],
) -> None:
    live, at, number = app.session.live, source.at, source.change_request.number
    replacements = [
        PageReplacement(found.page.id, found.page.title or "Untitled", found.text, matches) for found, matches in pages
    ]

    async def send() -> SendResult[TermOutcome]:
        sent = await replace_term(live, at, source.term, replacements)
        outcome = sent.result or TermOutcome()
        if not outcome.written:
            message = f"Could not replace the term: {sent.message or _skipped(outcome)}"
            return SendResult("unknown" if sent.kind == "unknown" else "refused", message)
        failure = (
            f" The edit ended early: {sent.message}" if sent.kind != "done" else sent.message and f" {sent.message}"
        )
        places = sum(len(each.matches) for each in replacements if each.page in outcome.written)
        done = f"Replaced {plural(places, 'place')} on {plural(len(outcome.written), 'page')} of #{number}."
        note = f"{done} {_skipped(outcome)}{failure}" if outcome.refused or failure else ""
        return SendResult("done", note, outcome)

    async def undo(outcome: TermOutcome) -> SendResult[TermOutcome]:
        sent = await revert_term(live, at, outcome)
        undone = sent.result or TermOutcome()
        if sent.kind == "done" and not undone.refused:
            return sent
        message = f"Could not undo the replacement on all pages. {_skipped(undone)} {sent.message}".strip()
        return SendResult("unknown" if sent.kind == "unknown" else "refused", message)

    def on_success(_: TermOutcome) -> None:
        remember_target(app, source.space, source.change_request)
        on_done()

    app.writes.send(
        "replace the term",
        send(),
        message=f"Replaced {plural(sum(len(each.matches) for each in replacements), 'place')} in #{number}.",
        on_success=on_success,
        make_undo=lambda outcome: DirectUndo("undo the replacement", lambda: undo(outcome), "Undid the replacement."),
    )


def _skipped(outcome: TermOutcome) -> str:
    """Return a sentence that names the pages that were not changed. Empty if all were changed."""
    if not outcome.refused:
        return ""
    reasons = list(outcome.refused.items())[:_NAMED_PAGES]
    named = ", ".join(f"{outcome.titles[page]} ({reason})" for page, reason in reasons)
    more = len(outcome.refused) - _NAMED_PAGES
    others = f", and {plural(more, 'more page')}" if more > 0 else ""
    return f"Skipped {named}{others}."


# Suggestions


def add_suggestions(app: Shell, source: TermSource, rows: Sequence[TermRow], on_done: Callable[[], None]) -> None:
    """Add a pending comment with a suggestion for each block that has one of these places, then call `on_done`. `u`
    removes the comments."""
    app.background(_add_suggestions(app, source, rows, on_done))


async def _add_suggestions(
    app: Shell, source: TermSource, rows: Sequence[TermRow], on_done: Callable[[], None]
) -> None:
    outbox = app.session.outbox
    writes = await asyncio.to_thread(
        lambda: [write for found, matches in _by_page(rows) for write in _suggestions(source, found, matches)]
    )
    added: tuple[OutboxEntry | None, ...] = ()

    async def apply() -> None:
        nonlocal added
        added = await outbox.add_pending_comments(writes, [lambda _: True] * len(writes))

    async def undo() -> None:
        ids = {each.id for each in added if each is not None}
        pending = [each.id for each in outbox.pending_comments(source.at) if each.id in ids]
        await outbox.remove_pending_comments(pending, lambda _: None)

    count = plural(len(writes), "pending suggestion")
    change = LocalChange(f"add {count}", apply, undo, f"Removed {count}.")
    app.writes.change(change, message=f"Added {count}. Submit your review to send the suggestions.")
    on_done()


def _suggestions(source: TermSource, found: PageMatches, matches: Sequence[TermMatch]) -> list[NewWrite]:
    """Return a pending comment for each block that has a place."""
    document = parse(found.text)
    starts = [0]
    for line in found.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    writes: list[NewWrite] = []
    written: set[str] = set()
    for match in matches:
        block = innermost_block(document, match.line)
        if block is None or block.key in written:
            continue
        written.add(block.key)
        first, last = starts[block.lines[0]], min(starts[min(block.lines[1], len(starts) - 1)], len(found.text))
        inside = [each for each in matches if first <= each.start and each.end <= last]
        changed = replace_matches(found.text[:last], inside)[first:].rstrip("\n")
        note = f"{escape(f'“{source.term.old}”')} is now {escape(f'“{source.term.new}”')}."
        writes.append(pending_comment(source.at, found.page.id, block.key, f"{note}\n\n{suggestion_fence(changed)}"))
    return writes
