"""The command that finds an old term in the other pages of a space. The shown page of a change request replaces the old
term by a new term."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from octavo.api.places import RevisionRef
from octavo.documents.term_changes import TermChange, changed_terms
from octavo.lazy_import import lazy
from octavo.tui.core.view import View
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.page_diff import PageDiff
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.review.term_actions import TermSource
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands, StillLoading

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_term_screen = lazy("octavo.tui.review.term_screen:TermScreen")

MAX_CHOICES = 200
"""Maximum number of replaced terms of a page that are offered."""


class PageTerms:
    """The terms that the selected page of a change request replaces."""

    def __init__(self, view: View, comparison: Comparison, pages: ChangedTree, page_diff: PageDiff) -> None:
        self._view, self._comparison, self._pages, self._page_diff = view, comparison, pages, page_diff

    @property
    def _diff(self) -> DiffView:
        return self._page_diff.pane

    def why_no_terms(self) -> str | None:
        """Return the reason why there are no replaced terms to look for. None if there may be some."""
        change = self._pages.selected
        if change is None:
            return "Select a changed page first."
        if self._comparison.change_request.revision is None:
            return "The server did not return the current revision of this change request."
        compared = self._page_diff.compared
        if self._page_diff.is_comparing:
            return StillLoading(f"The changes of {change.title} are still loading.")
        return None if compared is not None and compared.diff.entries else f"{change.title} has no changed text."

    def choose(self, app: Shell) -> None:
        """Show the places that still have an old term. The term is replaced in the selected block, else elsewhere on
        the page. If several terms are replaced, ask for one of the terms."""
        app.background(self._choose(app))

    async def _choose(self, app: Shell) -> None:
        compared = self._page_diff.compared
        if compared is None:
            return
        stop = self._diff.cursor.current() if self._view.focused is self._diff else None
        keys = {block.key for block in stop.block.walk()} if stop is not None else None
        entries = compared.diff.entries
        terms = await asyncio.to_thread(changed_terms, entries, keys) if keys else ()
        terms = terms or await asyncio.to_thread(changed_terms, entries)
        if not terms:
            app.explain("This page replaces no words or numbers by others, so there is no old term to look for.")
        elif len(terms) == 1:
            self._show(app, terms[0])
        else:
            self._ask(app, terms[:MAX_CHOICES])

    def _ask(self, app: Shell, terms: tuple[TermChange, ...]) -> None:
        def on_chosen(term: TermChange | None) -> None:
            if term is not None:
                self._show(app, term)

        choices = [Choice(term, term.old, f"is now {term.new}", "code" if term.is_code else "") for term in terms]
        app.push_screen(Picker("Find which old term?", choices), on_chosen)

    def _show(self, app: Shell, term: TermChange) -> None:
        request = self._comparison.change_request
        if app.screen is not self._view or request.revision is None:
            return
        changed = frozenset(each.key for each in self._comparison.changed or () if each.page is not None)
        revision = RevisionRef(space_id=self._comparison.space.space_id, revision_id=request.revision)
        app.push_screen(_term_screen(TermSource(request, self._comparison.space, term, revision, changed)))


TERM_COMMANDS: Commands[PageTerms] = Commands(
    "term",
    (
        Command("find", "number_sign", "Find old term", "List the other places with the old term", key_display="#", shown=False,
                run=lambda app, terms: terms.choose(app), why_not=lambda _, terms: terms.why_no_terms()),
    ),
    context="change request",
    find=lambda view: view.page_terms,
)  # fmt: skip
"""Commands on the terms that the shown page replaces."""
