"""The list of the occurrences of an old term, which a change request has renamed elsewhere. Commands replace the term,
or suggest the replacement in pending comments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import WorkType

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED
from octavo.data.term_search import MAX_LOADED_PAGES, MAX_MATCHES, PageMatches, TermResults, search_term
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.text_edits import NOT_SENT, PageReplacement, TermOutcome, replace_term, revert_term
from octavo.documents.linters.placement import innermost_block
from octavo.documents.page_trees import escape_markdown
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import suggestion_fence
from octavo.documents.terms import TermChange, TermMatch, changed_terms, replace_matches
from octavo.tui.core.list_view import ListView
from octavo.tui.core.permissions import why_no_editing, why_not_in_change_request, why_not_in_discussion
from octavo.tui.core.routes import ToPage
from octavo.tui.core.shell import opening
from octavo.tui.core.view import View
from octavo.tui.core.write_queue import UNDO_AGAIN, DirectUndo, LocalChange
from octavo.tui.editing.target_change_request import remember_target
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.page_diff import PageDiff
from octavo.tui.review.page_findings import pending_comment
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import fit, plural
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

MAX_SUGGESTIONS = 100
"""Maximum number of suggestions that one command adds."""
MAX_LISTED = 300
"""Maximum number of occurrences that the confirmation lists."""
_MAX_NAMED_PAGES = 5
_DIALOG_WIDTH = 64
"""Width of a line in the confirmation, in cells."""


@dataclass(frozen=True)
class TermSearch:
    """A search for the old term `term.old` in `revision`. `term.new` replaces it."""

    change_request: ChangeRequest
    space: SpaceRef
    term: TermChange
    revision: RevisionRef
    changed_ids: frozenset[str]
    """IDs of the pages that the change request changes."""

    @property
    def at(self) -> ChangeRequestRef:
        return self.change_request.ref(self.space)


@dataclass(frozen=True)
class TermRow:
    """Row of the list: an occurrence of the old term on a page or in its title."""

    page_matches: PageMatches
    match: TermMatch

    @property
    def key(self) -> tuple[str, int]:
        return self.page_matches.page.id, -1 if self.is_title else self.match.start

    @property
    def is_title(self) -> bool:
        """True if the occurrence is in the title of the page."""
        return self.match is self.page_matches.title_match

    @property
    def can_replace(self) -> bool:
        """True if Octavo can replace this occurrence. False if the user must edit the page."""
        return self.match.replacement is not None and not self.is_title

    @property
    def page_title(self) -> str:
        return self.page_matches.page.title or "Untitled"


def why_no_replacement(app: Shell, term_search: TermSearch) -> str | None:
    """Return the reason why you cannot replace the term on pages. None if you can."""
    return why_no_editing(app) or why_not_in_change_request(
        app, term_search.change_request, term_search.space, "edit", *UNDECIDED
    )


def why_no_suggestions(app: Shell, term_search: TermSearch, rows: Sequence[TermRow]) -> str | None:
    """Return the reason why you cannot suggest the replacement in `rows`. None if you can."""
    if len(rows) > MAX_SUGGESTIONS:
        return f"{len(rows)} places are selected. Select at most {MAX_SUGGESTIONS} places to suggest at once."
    return why_not_in_discussion(app, term_search.at, "comment")


def _by_page(rows: Iterable[TermRow]) -> list[tuple[PageMatches, tuple[TermMatch, ...]]]:
    pages: dict[str, tuple[PageMatches, tuple[TermMatch, ...]]] = {}
    for row in rows:
        page_matches, matches = pages.get(row.page_matches.page.id, (row.page_matches, ()))
        pages[row.page_matches.page.id] = page_matches, (*matches, row.match)
    return list(pages.values())


def excerpt(match: TermMatch, width: int) -> Content:
    """Return a line such as `open the board → dashboard page`. Text before the term is cut to `width` characters."""
    before = match.text_before if len(match.text_before) <= width else f"…{match.text_before[-width:]}"
    old_term = Content.styled(" ".join(match.text.split()), "$error strike")
    if match.replacement is None:
        return Content.assemble((before, "$octavo-muted"), old_term, (match.text_after, "$octavo-muted"))
    new_term = Content.styled(" ".join(match.replacement.split()), "$success")
    arrow = (" → ", "$octavo-muted")
    return Content.assemble((before, "$octavo-muted"), old_term, arrow, new_term, (match.text_after, "$octavo-muted"))


def open_replace_dialog(
    app: Shell, term_search: TermSearch, rows: Sequence[TermRow], on_done: Callable[[], None]
) -> None:
    """Open the dialog that lists the edits. If the user confirms, replace the term in `rows` and call `on_done`."""
    pages_and_matches = _by_page(rows)

    lines: list[Content] = []
    listed = 0
    for page_matches, matches in pages_and_matches:
        if listed >= MAX_LISTED:
            break
        lines.append(Content.styled(page_matches.page.title or "Untitled", "bold"))
        lines += [Content("  ") + fit(excerpt(match, 16), _DIALOG_WIDTH) for match in matches[: MAX_LISTED - listed]]
        listed += min(len(matches), MAX_LISTED - listed)
    if len(rows) > listed:
        lines.append(Content(f"{len(rows) - listed} more places are listed in the view behind this dialog."))
    pages_text = plural(len(pages_and_matches), "page")
    intro = f"Changes {pages_text} of #{term_search.change_request.number} in this change request only."
    undo_note = "Pages that were edited in the meantime are skipped. You can undo the edit by pressing u."
    dialog = ConfirmDialog(
        f"Replace “{term_search.term.old}” in {plural(len(rows), 'place')}?",
        verb="Replace",
        intro=Content("\n").join([Content(intro), Content(undo_note), Content(""), *lines]),
    )
    app.ask(dialog, lambda _: _replace(app, term_search, pages_and_matches, on_done))


def _replace(
    app: Shell,
    term_search: TermSearch,
    pages_and_matches: Sequence[tuple[PageMatches, tuple[TermMatch, ...]]],
    on_done: Callable[[], None],
) -> None:
    live, at, number = app.session.live, term_search.at, term_search.change_request.number
    replacements = [
        PageReplacement(page_matches.page.id, page_matches.page.title or "Untitled", page_matches.text, matches)
        for page_matches, matches in pages_and_matches
    ]

    async def send() -> SendResult[TermOutcome]:
        sent = await replace_term(live, at, term_search.term, replacements)
        outcome = sent.result or TermOutcome()
        if not outcome.written:
            message = f"Could not replace the term: {sent.message or _skipped_note(outcome)}"
            return SendResult("unknown" if sent.kind == "unknown" else "refused", message)
        failure = (
            f" The edit ended early: {sent.message}" if sent.kind != "done" else sent.message and f" {sent.message}"
        )
        place_count = sum(len(each.matches) for each in replacements if each.page_id in outcome.written)
        summary = f"Replaced {plural(place_count, 'place')} on {plural(len(outcome.written), 'page')} of #{number}."
        note = f"{summary} {_skipped_note(outcome)}{failure}" if outcome.refused or failure else ""
        return SendResult("done", note, outcome)

    def undo_of(outcome: TermOutcome) -> DirectUndo:
        return DirectUndo("undo the replacement", lambda: undo(outcome), "Undid the replacement.")

    async def undo(outcome: TermOutcome) -> SendResult[Any]:
        sent = await revert_term(live, at, outcome)
        undone = sent.result or TermOutcome()
        if sent.kind == "done" and not undone.refused:
            return sent
        message = f"Could not undo the replacement on all pages. {_skipped_note(undone)} {sent.message}".strip()
        unsent_pages = {page: each for page, each in outcome.written.items() if undone.refused.get(page) == NOT_SENT}
        if sent.can_be_sent_again and unsent_pages:
            return SendResult("refused", f"{message} {UNDO_AGAIN}", undo_of(replace(outcome, written=unsent_pages)))
        return SendResult("unknown" if sent.kind == "unknown" else "refused", message)

    def on_success(_: TermOutcome) -> None:
        remember_target(app, term_search.space, term_search.change_request)
        on_done()

    app.writes.send(
        "replace the term",
        send(),
        message=f"Replaced {plural(sum(len(each.matches) for each in replacements), 'place')} in #{number}.",
        on_success=on_success,
        make_undo=undo_of,
    )


def _skipped_note(outcome: TermOutcome) -> str:
    if not outcome.refused:
        return ""
    reasons = list(outcome.refused.items())[:_MAX_NAMED_PAGES]
    pages_text = ", ".join(f"{outcome.titles[page]} ({reason})" for page, reason in reasons)
    more_count = len(outcome.refused) - _MAX_NAMED_PAGES
    others_text = f", and {plural(more_count, 'more page')}" if more_count > 0 else ""
    return f"Skipped {pages_text}{others_text}."


async def add_suggestions(
    app: Shell, term_search: TermSearch, rows: Sequence[TermRow], on_done: Callable[[], None]
) -> None:
    """Start to add a pending comment with a suggestion to each block with an occurrence, and call `on_done`."""
    outbox = app.session.outbox
    writes = await asyncio.to_thread(
        lambda: [
            write
            for page_matches, matches in _by_page(rows)
            for write in _suggestions(term_search, page_matches, matches)
        ]
    )
    added_entries: tuple[OutboxEntry, ...] = ()

    async def apply() -> None:
        nonlocal added_entries
        added_entries = await outbox.add_pending_comments(writes)

    async def undo() -> bool:
        return await outbox.remove_pending_comments(added_entries)

    suggestions_text = plural(len(writes), "pending suggestion")
    change = LocalChange(f"add {suggestions_text}", apply, undo, f"Removed {suggestions_text}.")
    app.writes.apply_change(change, message=f"Added {suggestions_text}. Submit your review to send the suggestions.")
    on_done()


def _suggestions(term_search: TermSearch, page_matches: PageMatches, matches: Sequence[TermMatch]) -> list[NewWrite]:
    document = parse(page_matches.text)
    starts = [0]
    for line in page_matches.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    writes: list[NewWrite] = []
    written_keys: set[str] = set()
    for match in matches:
        block = innermost_block(document, match.line)
        if block is None or block.key in written_keys:
            continue
        written_keys.add(block.key)
        start, end = starts[block.lines[0]], min(starts[min(block.lines[1], len(starts) - 1)], len(page_matches.text))
        block_matches = [each for each in matches if start <= each.start and each.end <= end]
        new_text = replace_matches(page_matches.text[:end], block_matches)[start:].rstrip("\n")
        note = f"{escape_markdown(f'“{term_search.term.old}”')} is now {escape_markdown(f'“{term_search.term.new}”')}."
        writes.append(
            pending_comment(term_search.at, page_matches.page.id, block.key, f"{note}\n\n{suggestion_fence(new_text)}")
        )
    return writes


_TEXT_BEFORE = 28
"""Number of characters that a row shows before the old term."""
_CONTEXT_LINES = 4
_WIDE_TERMINAL = 100
"""Terminal width, in cells, from which the preview is beside the list."""
_PAGES_PER_UPDATE = 25
"""Number of searched pages after which the list is updated."""


def _why_no_occurrences(view: TermScreen) -> str | None:
    if not view.targets:
        return "Select a place first. Page titles, and terms with formats inside, must be edited by hand."
    return None


OCCURRENCE_COMMANDS: Commands[TermScreen] = Commands(
    "places",
    (
        Command("replace", "e", "Replace", "Replace the selected places in the change request", writes=True,
                run=lambda app, view: open_replace_dialog(app, view.term_search, view.targets, view.search_again),
                why_not=lambda app, view: _why_no_occurrences(view) or why_no_replacement(app, view.term_search)),
        Command("suggest", "quotation_mark", "Suggest", "Make the selected places pending suggestions", key_display='"', writes=True,
                run=lambda app, view: app.background(add_suggestions(app, view.term_search, view.targets, view.rows.selection.clear)),
                why_not=lambda app, view: _why_no_occurrences(view) or why_no_suggestions(app, view.term_search, view.targets)),
        Command("up", "escape", "Back", "Go back to the change request", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
    context="places with an old term",
)  # fmt: skip


class TermScreen(ListView[TermRow]):
    """List of the occurrences of an old term, grouped by page. A pane shows the text around the selected occurrence."""

    MODE = "changes"
    HELP_NAME = "places with an old term"
    HELP = (
        "This view shows the places in this space that still have the old term. "
        'Press x or * to select places, e to replace them in the change request, or " to suggest the replacement. '
        "Press esc to go back to the change request."
    )
    CSS_PATH = "term_screen.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (OCCURRENCE_COMMANDS,)

    def __init__(self, term_search: TermSearch) -> None:
        super().__init__()
        self.term_search: TermSearch = term_search
        self._results = TermResults()
        self._drawn_page_count = 0

    def body(self) -> Iterable[Widget]:
        rows: RowList[TermRow] = RowList(
            self._draw,
            key=lambda row: row.key,
            search=lambda row: f"{row.page_title} {row.match.text_before}{row.match.text}{row.match.text_after}",
            groups=lambda row: [
                RowHeading(row.page_title, plural(len(_matches(row.page_matches)), "place"), row.page_matches.page.id)
            ],
            selectable=lambda row: row.can_replace,
            empty=self._empty_text,
            hint="Press esc to go back to the change request.",
            id="occurrences",
        )
        detail = Vertical(ChangingText("", id="about"), id="detail")
        yield from self.list_with_preview(rows, detail)

    @property
    def _empty_text(self) -> str:
        return f"No other places have “{self.term_search.term.old}”."

    def on_mount(self) -> None:
        self.rows.focus()
        self.follow("change request", change_requests.Get(at=self.term_search.at), self._show_change_request)
        self.search_again()

    @property
    def targets(self) -> Sequence[TermRow]:
        """Replaceable occurrences that commands act on: the selected occurrences, else the current occurrence."""
        item = self.rows.item
        rows = self.selected_rows or ([item] if item is not None else [])
        return [row for row in rows if row.can_replace]

    def search_again(self) -> None:
        """Search the current revision of the change request for the old term."""
        work: WorkType[None] = self._search
        self.run_worker(work, exclusive=True, group="term search")

    def refresh_data(self) -> None:
        self.search_again()

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is not None:
            self.term_search = replace(self.term_search, change_request=snapshot.value)
            self.refresh_bindings()

    async def _search(self) -> None:
        if not self.rows.keys:
            self.rows.state.show_loading(f"the places with “{self.term_search.term.old}”")
        self._drawn_page_count = 0
        revision = await self._current_revision()
        changed_ids = self.term_search.changed_ids | {each.page.id for each in self._results.pages}
        results = search_term(self.live, self.shell.session.search_index, revision, self.term_search.term, changed_ids)
        try:
            async for each in results:
                if each.is_complete or each.searched_count - self._drawn_page_count >= _PAGES_PER_UPDATE:
                    self._drawn_page_count = each.searched_count
                    self._show(each)
        except ApiError as error:
            self.rows.state.fail("Could not load the pages of this change request", str(error))

    async def _current_revision(self) -> RevisionRef:
        try:
            request = await self.live.fetch(change_requests.Get(at=self.term_search.at))
        except ApiError:
            return self.term_search.revision
        if request.revision is None:
            return self.term_search.revision
        return self.term_search.space.revision_ref(request.revision)

    def _show(self, results: TermResults) -> None:
        if not results.is_complete and len(results.pages) < len(self._results.pages):
            self._show_status(results)
            return  # The previous results stay until this search has found as many pages.
        self._results = results
        rows = [TermRow(page_matches, match) for page_matches in results.pages for match in _matches(page_matches)]
        if results.is_complete or rows:
            note = _partial_note(results)
            empty_text = f"No places on the searched pages. {note}." if note else self._empty_text
            self.rows.state.empty = empty_text
            self.rows.show(rows, partial_note=note)
        if results.is_complete and results.failure:
            searched_text = f"Only {results.searched_count} of {results.page_count} pages are searched"
            self.rows.state.fail(searched_text, results.failure)
        self._draw_details()
        self._show_status(results)
        self.refresh_bindings()

    def _show_status(self, results: TermResults) -> None:
        searched_text = f"{results.searched_count} of {plural(results.page_count, 'page')} searched"
        selected_count = len(self.selected_rows)
        places_text = (
            f"{selected_count} of {plural(results.match_count, 'place')} selected"
            if selected_count
            else plural(results.match_count, "place")
        )
        term = self.term_search.term
        location = f"#{self.term_search.change_request.number} › “{term.old}” → “{term.new}”"
        self.show_location(location, f"{places_text} · {searched_text}")

    def _draw(self, row: TermRow) -> Row:
        note = "page title" if row.is_title else "" if row.can_replace else "edit by hand"
        return Row(text=excerpt(row.match, _TEXT_BEFORE), right=Content.styled(note, "$octavo-muted"))

    @on(LineList.Highlighted, "#occurrences")
    def _draw_details(self) -> None:
        row, about = self.rows.item, self.query_one("#about", Static)
        if row is None:
            about.update("")
            return
        if row.is_title:
            note = "The title of the page. Press enter to open the page, then M to rename it."
        elif row.match.replacement is None:
            note = "Formats inside the term make the replacement ambiguous. Press enter to open the page, then e to edit it."
        else:
            note = f"Line {row.match.line + 1}"
        lines = _CONTEXT_LINES if self.size.width >= _WIDE_TERMINAL else 1
        parts = [Content.styled(row.page_title, "bold"), Content.styled(note, "$octavo-muted"), Content("")]
        about.update(Content("\n").join([*parts, _context(row, lines)]))

    @on(RowList.SelectionChanged)
    def _on_selection_changed(self) -> None:
        self._show_status(self._results)

    @on(LineList.Opened, "#occurrences")
    def _on_place_opened(self) -> None:
        if (row := self.rows.item) is not None:
            self.shell.go(ToPage(self.term_search.space.space_id, row.page_matches.page.id))


def _matches(page_matches: PageMatches) -> Sequence[TermMatch]:
    return (*((page_matches.title_match,) if page_matches.title_match is not None else ()), *page_matches.matches)


def _context(row: TermRow, line_count: int) -> Content:
    match, text = row.match, row.page_title if row.is_title else row.page_matches.text
    lines = text.split("\n")
    last_line = match.line + match.text.count("\n")
    text_before = "\n".join(lines[max(0, match.line - line_count) : match.line])
    line_start, line_end = text.rfind("\n", 0, match.start) + 1, text.find("\n", match.end)
    text_after = text[match.end : line_end if line_end >= 0 else len(text)]
    place = Content.styled(match.text, "$error strike")
    if match.replacement is not None:
        place = Content.assemble(place, (" → ", "$octavo-muted"), (match.replacement, "$success"))
    return Content.assemble(
        f"{text_before}\n" if match.line else "",
        text[line_start : match.start],
        place,
        "\n".join([text_after, *lines[last_line + 1 : last_line + 1 + line_count]]),
    )


def _partial_note(results: TermResults) -> str:
    searched_text = f"{results.searched_count} of {results.page_count} pages are searched"
    if not results.is_complete:
        return f"Searching… {searched_text}"
    if results.searched_count == results.page_count or results.failure:
        return ""
    if results.match_count >= MAX_MATCHES:
        return f"{searched_text}: the search ended after {MAX_MATCHES} places"
    return f"{searched_text}: a search reads at most {MAX_LOADED_PAGES} pages"


MAX_CHOICES = 200
"""Maximum number of terms in the picker."""


class PageTerms:
    """Terms that the current page of a change request replaces, such as `board` by `dashboard`."""

    def __init__(self, view: View, comparison: Comparison, pages: ChangedTree, page_diff: PageDiff) -> None:
        self._view, self._comparison, self._pages, self._page_diff = view, comparison, pages, page_diff

    def why_no_terms(self) -> str | None:
        """Return why the user cannot search for an old term. None if the page's changed text is loaded."""
        change = self._pages.selected
        if change is None:
            return "Select a changed page first."
        if self._comparison.change_request.revision is None:
            return "The server did not return the current revision of this change request."
        compared = self._page_diff.compared
        if self._page_diff.is_loading_diff:
            return StillLoading(f"The changes of {change.title} are still loading.")
        return None if compared is not None and compared.diff.entries else f"{change.title} has no changed text."

    def find_old_term(self, app: Shell) -> None:
        """Show where else an old term occurs: a term that the change of the selected block replaces by another. If this
        change replaces no term, use the terms that the changes of the page replace. If several terms were replaced, the
        user chooses one."""
        app.background(self._find_old_term(app))

    async def _find_old_term(self, app: Shell) -> None:
        compared = self._page_diff.compared
        if compared is None:
            return
        diff = self._page_diff.pane
        span = diff.cursor.current() if self._view.focused is diff else None
        keys = {block.key for block in span.block.walk()} if span is not None else None
        entries = compared.diff.entries
        with opening(app, "Comparing the words…", "Could not compare the words"):
            terms = await asyncio.to_thread(changed_terms, entries, keys) if keys else ()
            terms = terms or await asyncio.to_thread(changed_terms, entries)
        if not terms:
            app.explain("This page replaces no words or numbers by others, so there is no old term to look for.")
        elif len(terms) == 1:
            self._show(app, terms[0])
        else:
            self._ask(app, terms[:MAX_CHOICES])

    def _ask(self, app: Shell, terms: tuple[TermChange, ...]) -> None:
        choices = [Choice(term, term.old, f"is now {term.new}", "code" if term.is_code else "") for term in terms]
        app.ask(Picker("Find which old term?", choices), lambda term: self._show(app, term))

    def _show(self, app: Shell, term: TermChange) -> None:
        request = self._comparison.change_request
        if request.revision is None:
            return
        changed_ids = frozenset(each.key for each in self._comparison.changed_pages or () if each.page is not None)
        revision_ref = self._comparison.space.revision_ref(request.revision)
        app.push_screen(TermScreen(TermSearch(request, self._comparison.space, term, revision_ref, changed_ids)))


TERM_COMMANDS: Commands[PageTerms] = Commands(
    "term",
    (
        Command("find", "number_sign", "Find old term", "List the other places with the old term", key_display="#", shown=False,
                run=lambda app, terms: terms.find_old_term(app), why_not=lambda _, terms: terms.why_no_terms()),
    ),
    context="change request",
    find_target=lambda view: view.page_terms,
)  # fmt: skip
"""Command that lists the other places with an old term, which the changes of the current page replace."""
