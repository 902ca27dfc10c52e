"""The list of the places of a space that still have the old term of a change request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import WorkType

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import RevisionRef
from octavo.data.live import Snapshot
from octavo.data.term_search import MAX_MATCHES, MAX_READ_PAGES, PageMatches, TermResults, search_term
from octavo.documents.term_matches import TermMatch
from octavo.tui.core.list_view import ListView
from octavo.tui.core.routes import ToPage
from octavo.tui.review.term_actions import (
    TermRow,
    TermSource,
    add_suggestions,
    excerpt,
    open_replace_dialog,
    why_no_replacement,
    why_no_suggestions,
)
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.text_widgets import ChangingText

_BEFORE = 28
"""Number of characters that a row shows before the old term."""
_CONTEXT_LINES = 4
_WIDE = 100
"""Minimum width of the terminal for details beside the list. These details show more lines."""
_DRAWN_EVERY = 25
"""Number of searched pages between two updates of the list."""


def _why_no_places(view: TermScreen) -> str | None:
    if not view.targets:
        return "Select a place first. Page titles, and terms with formats inside, must be edited by hand."
    return None


TERM_PLACES: Commands[TermScreen] = Commands(
    "places",
    (
        Command("replace", "e", "Replace", "Replace the selected places in the change request", writes=True,
                run=lambda app, view: open_replace_dialog(app, view.source, view.targets, view.search_again),
                why_not=lambda app, view: _why_no_places(view) or why_no_replacement(app, view.source)),
        Command("suggest", "quotation_mark", "Suggest", "Make the selected places pending suggestions", key_display='"', writes=True,
                run=lambda app, view: add_suggestions(app, view.source, view.targets, view.rows.selection.clear),
                why_not=lambda app, view: _why_no_places(view) or why_no_suggestions(app, view.source, view.targets)),
        Command("up", "escape", "Back", "Go back to the change request", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
    context="places with an old term",
    find=lambda view: view,
)  # fmt: skip
"""Commands on the places with an old term."""


class TermScreen(ListView[TermRow]):
    """The places with an old term, grouped by page, and the text around the selected place."""

    MODE = "changes"
    CONTEXT = "places with an old term"
    HELP = (
        "This view shows the places in this space that still have the old term. "
        'Press x or * to select places, e to replace them in the change request, or " to suggest the replacement. '
        "Press esc to go back to the change request."
    )
    CSS_PATH = "term_screen.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TERM_PLACES,)

    def __init__(self, source: TermSource) -> None:
        super().__init__()
        self.source: TermSource = source
        self._results = TermResults()
        self._drawn_at = 0

    def body(self) -> Iterable[Widget]:
        rows: RowList[TermRow] = RowList(
            self._draw,
            key=lambda row: row.key,
            search=lambda row: f"{row.page_title} {row.match.before}{row.match.text}{row.match.after}",
            groups=lambda row: [RowHeading(row.page_title, plural(_count(row.found), "place"))],
            selectable=lambda row: row.can_replace,
            empty=self._none_found,
            hint="Press esc to go back to the change request.",
            id="places",
        )
        detail = Vertical(ChangingText("", id="about"), id="detail")
        yield from self.list_with_preview(rows, detail)

    @property
    def _none_found(self) -> str:
        return f"No other places have “{self.source.term.old}”."

    def on_mount(self) -> None:
        self.rows.focus()
        self.follow("change request", change_requests.Get(at=self.source.at), self._show_change_request)
        self.search_again()

    @property
    def targets(self) -> Sequence[TermRow]:
        """The selected places, else the place under the cursor, without places that Octavo cannot replace."""
        item = self.rows.item
        rows = self.selected_rows or ([item] if item is not None else [])
        return [row for row in rows if row.can_replace]

    # Searching

    def search_again(self) -> None:
        """Search the current revision of the change request."""
        work: WorkType[None] = self._search
        self.run_worker(work, exclusive=True, group="term search")

    def refresh_data(self) -> None:
        self.search_again()

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is not None:
            self.source = TermSource(
                snapshot.value, self.source.space, self.source.term, self.source.revision, self.source.changed
            )
            self.refresh_bindings()

    async def _search(self) -> None:
        if not self.rows.keys:
            self.rows.state.show_loading(f"the places with “{self.source.term.old}”")
        self._drawn_at = 0
        revision = await self._current_revision()
        changed = self.source.changed | {each.page.id for each in self._results.pages}
        results = search_term(self.live, self.shell.session.search_index, revision, self.source.term, changed)
        try:
            async for each in results:
                if each.is_complete or each.searched - self._drawn_at >= _DRAWN_EVERY:
                    self._drawn_at = each.searched
                    self._show(each)
        except ApiError as error:
            self.rows.state.fail("Could not load the pages of this change request", str(error))

    async def _current_revision(self) -> RevisionRef:
        """Return the current revision of the change request. If it cannot be loaded, return the last known revision."""
        try:
            request = await self.live.fetch(change_requests.Get(at=self.source.at))
        except ApiError:
            return self.source.revision
        if request.revision is None:
            return self.source.revision
        return RevisionRef(space_id=self.source.space.space_id, revision_id=request.revision)

    def _show(self, results: TermResults) -> None:
        if not results.is_complete and len(results.pages) < len(self._results.pages):
            self._show_status(results)
            return  # The list of the last search stays until this search has found as much.
        self._results = results
        rows = [TermRow(found, match) for found in results.pages for match in _matches(found)]
        if results.is_complete or rows:
            note = _partial_note(results)
            none_found = f"No places on the searched pages. {note}." if note else self._none_found
            self.rows.state.empty = none_found
            self.rows.show(rows, partial_note=note)
        if results.is_complete and results.failure:
            searched = f"Only {results.searched} of {results.total} pages are searched"
            self.rows.state.fail(searched, results.failure)
        self._draw_details()
        self._show_status(results)
        self.refresh_bindings()

    def _show_status(self, results: TermResults) -> None:
        searched = f"{results.searched} of {plural(results.total, 'page')} searched"
        selected = len(self.selected_rows)
        places = (
            f"{selected} of {plural(results.match_count, 'place')} selected"
            if selected
            else plural(results.match_count, "place")
        )
        self.show_location(f"#{self.source.change_request.number} › {self.source.title}", f"{places} · {searched}")

    # Drawing

    def _draw(self, row: TermRow) -> Row:
        note = "page title" if row.is_title else "" if row.can_replace else "edit by hand"
        return Row(text=excerpt(row.match, _BEFORE), right=Content.styled(note, "$octavo-muted"))

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
        lines = _CONTEXT_LINES if self.size.width >= _WIDE else 1
        parts = [Content.styled(row.page_title, "bold"), Content.styled(note, "$octavo-muted"), Content("")]
        about.update(Content("\n").join([*parts, _context(row, lines)]))

    @on(LineList.Highlighted, "#places")
    def _on_place_selected(self) -> None:
        self._draw_details()

    @on(RowList.SelectionChanged)
    def _on_selection_changed(self) -> None:
        self._show_status(self._results)

    @on(LineList.Opened, "#places")
    def _on_place_opened(self) -> None:
        if (row := self.rows.item) is not None:
            self.shell.go(ToPage(self.source.space.space_id, row.found.page.id))


def _matches(found: PageMatches) -> Iterable[TermMatch]:
    """Return the places on a page, with the title first."""
    return (*((found.title_match,) if found.title_match is not None else ()), *found.matches)


def _count(found: PageMatches) -> int:
    return len(found.matches) + (found.title_match is not None)


def _context(row: TermRow, line_count: int) -> Content:
    """Return a place with the lines of the page before and after it."""
    match, text = row.match, row.page_title if row.is_title else row.found.text
    lines = text.split("\n")
    last = match.line + match.text.count("\n")
    before = "\n".join(lines[max(0, match.line - line_count) : match.line])
    line_start, line_end = text.rfind("\n", 0, match.start) + 1, text.find("\n", match.end)
    rest = text[match.end : line_end if line_end >= 0 else len(text)]
    place = Content.styled(match.text, "$error strike")
    if match.replacement is not None:
        place = Content.assemble(place, (" → ", "$octavo-muted"), (match.replacement, "$success"))
    return Content.assemble(
        f"{before}\n" if match.line else "",
        text[line_start : match.start],
        place,
        "\n".join([rest, *lines[last + 1 : last + 1 + line_count]]),
    )


def _partial_note(results: TermResults) -> str:
    """Return a note with the number of searched pages, while the search runs or if it ended at a limit. Empty if all
    pages are searched, or if pages could not be loaded: the error is shown instead."""
    searched = f"{results.searched} of {results.total} pages are searched"
    if not results.is_complete:
        return f"Searching… {searched}"
    if results.searched == results.total or results.failure:
        return ""
    if results.match_count >= MAX_MATCHES:
        return f"{searched}: the search ended after {MAX_MATCHES} places"
    return f"{searched}: a search reads at most {MAX_READ_PAGES} pages"
