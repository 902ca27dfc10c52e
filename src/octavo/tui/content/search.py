"""Search dialog that shows pages, threads, change requests and spaces while the user types.

Results from the search index on this computer (`data/search_index.py`) appear first. When the server has responded, the
pages that it found are listed above them. Only the first result stays first, followed by the others of its kind, so
that enter opens what the user sees.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.events import Click
from textual.widgets import Input, Static

from octavo.api import search, urls
from octavo.api.change_requests import ChangeRequest, Status
from octavo.api.errors import ApiError, Unreachable
from octavo.api.folding import Range, mentioned_urls, with_formulas, with_titles
from octavo.api.operation import ChangeRequestRef, ListPage, Operation, OrganizationRef, SpaceRef
from octavo.api.organizations import List as ListOrganizations
from octavo.api.organizations import Organization
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, all_threads_op, change_requests_op
from octavo.data.search_index import IndexedCounts
from octavo.data.search_text import SearchTerms
from octavo.documents import links
from octavo.tui.content.search_results import (
    EXCERPT_LENGTH,
    MAX_SECTIONS,
    PageTitles,
    SearchResult,
    change_request_results,
    format_inline,
    link_results,
    page_results,
    server_page_results,
    space_results,
    thread_results,
)
from octavo.tui.core.external_links import confirm_link, missing_link_reason
from octavo.tui.core.routes import ToChangeRequest, ToCollection, ToPage, ToThread
from octavo.tui.core.shell import Shell, shell_of, stop_subscriptions, subscriptions_of
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import as_clause, long_age, plural, short_age
from octavo.tui.widgets.text_inputs import LineInput
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.data import search_index

SEARCH_DELAY = 0.15
"""Seconds after the last keystroke before the server is searched."""
MAX_QUERY = 512
MAX_THREADS, MAX_CHANGE_REQUESTS, MAX_SPACES = 8, 8, 5
MAX_LOCAL = 60
"""Maximum number of results from the search index on this computer."""
_STATUSES: tuple[Status, ...] = (*UNDECIDED, "merged")
"""Statuses of the change requests that the search covers."""
_KIND_HEADINGS = {
    "page": "PAGES",
    "thread": "THREADS",
    "change request": "CHANGE REQUESTS",
    "space": "SPACES",
    "collection": "COLLECTIONS",
}


def _why_no_link(app: Shell, view: SearchScreen) -> str | None:
    result = view.rows.item
    if result is None:
        return "Select a result first."
    if not result.url or app.session.is_embedded:
        return missing_link_reason(app, result.kind)
    return None


def _open_in_browser(app: Shell, view: SearchScreen) -> None:
    if (result := view.rows.item) is not None:
        confirm_link(app, result.url)


SEARCH: Commands[SearchScreen] = Commands(
    "search",
    (
        Command("next", "down,ctrl+n", "Next", "Go to the next result", run=lambda _, view: view.move(1), shown=False, priority=True),
        Command("previous", "up", "Previous", "Go to the previous result", run=lambda _, view: view.move(-1), shown=False, priority=True),
        Command("open", "enter", "Open", "Open the result", run=lambda _, view: view.open(), priority=True),
        Command("scope", "tab", "Scope", "Switch between one space and all spaces", run=lambda _, view: view.change_scope(),
                is_available=lambda _, view: view.last_space is not None, priority=True),
        Command("open_browser", "ctrl+o", "Open in browser", "Open the result in the browser",
                run=_open_in_browser, why_not=_why_no_link, shown=False, priority=True),
        Command("close", "escape", "Close", "Close the search", run=lambda _, view: view.dismiss(None), priority=True),
    ),
)  # fmt: skip


class SearchScreen(Dialog[None]):
    """Search dialog: an input line, and the matching pages, threads, change requests and spaces below it."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)
    on_unmount = stop_subscriptions

    CSS_PATH = dialog_styles(__file__, "search.tcss")
    HELP_NAME: ClassVar[str] = "search"
    IN_HISTORY: ClassVar[bool] = True
    HELP: ClassVar[str] = (
        "Search for pages, threads, change requests, and spaces, or paste a link. Press enter to open a result, or tab to switch "
        "between the space that you opened last and all spaces. Results from this computer appear first and are also available "
        "offline. Press esc to close the search."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SEARCH,)

    def __init__(self, text: str = "") -> None:
        """`text` is the initial search text."""
        super().__init__()
        self._initial_text = text
        self._organization: Organization | None = None
        """Current organization. None until it is loaded."""
        self._only_space: SpaceRef | None = None
        self._local_hits: tuple[search_index.Hit, ...] = ()
        """Results from the search index on this computer for the last search text."""
        self._local_counts = IndexedCounts()
        self._first_result: SearchResult | None = None
        """First result shown for the search text. It stays first when more results arrive. None if none was shown."""
        self._titles: dict[str, PageTitles] = {}
        """Titles of pages by space ID, to show links in results as titles."""
        self._is_searching = self._must_search_again = False
        self._requested_text = ""
        """Last search text that was sent to the server."""
        self._search_delay = Delay(self)
        self._has_moved_cursor = False
        """True if the user has moved the cursor since the search text changed."""
        self._opens_first_result = False
        """True if the user pressed enter before all results were loaded. The first result then opens."""
        self._shown_counts: dict[str, str] = {}
        """Texts such as `8 of 35` by kind of result. The text is empty if all results of the kind are shown."""

    def body(self) -> ComposeResult:
        self.rows: RowList[SearchResult] = RowList(
            self._row_of,
            key=lambda result: result.key,
            groups=lambda result: [RowHeading(_KIND_HEADINGS[result.kind], self._shown_counts.get(result.kind, ""))],
            two_lines=True,
            empty="Type to search.",
            id="hits",
        )
        self.rows.can_focus = False
        self.rows.is_always_highlighted = True
        with DialogFrame() as frame:
            frame.set_border_texts("Search everywhere", self._keys_label)
            yield LineInput(
                self._initial_text, placeholder="Search pages, comments, change requests, and spaces", id="query"
            )
            yield ChangingText("", id="scope")
            yield ChangingText("", id="note")
            yield self.rows

    @property
    def last_space(self) -> SpaceRef | None:
        """Space that was opened last. None if no space was opened yet."""
        last_space = self.shell.session.state.get_value("space")
        return SpaceRef(space_id=str(last_space)) if last_space else None

    @property
    def _keys_label(self) -> str:
        last_space = self.last_space
        other_scope_title = self._scope_title(last_space if self._only_space is None else None)
        return " · ".join(["enter open", *([] if last_space is None else [f"tab {other_scope_title}"]), "esc close"])

    def _scope_title(self, space: SpaceRef | None) -> str:
        if space is None:
            return "all spaces"
        return self.shell.workspace.space_title(space.space_id) or "the space you opened last"

    @property
    def search_text(self) -> str:
        """The typed text without surrounding spaces, at most `MAX_QUERY` characters."""
        return self.query_one("#query", LineInput).value.strip()[:MAX_QUERY]

    def on_mount(self) -> None:
        self.focus_at_once(self.query_one("#query", LineInput))
        self._show_scope()
        if self._initial_text:
            self._search_locally()
        self._follow("organizations", ListOrganizations())
        self.shell.workspace.call_with_organization(self._set_organization)

    def _follow(self, key: str, op: Operation[Any] | None) -> None:
        self.subscriptions.follow(key, op, lambda _: self._show_results())

    def _set_organization(self, organization: Organization) -> None:
        if is_being_removed(self):
            return
        self._organization = organization
        for status in _STATUSES:
            self._follow(status, change_requests_op(organization.id, status))
        if self.search_text:
            self._search_server()

    @on(Input.Changed)
    def _on_text_changed(self) -> None:
        self._search_delay.start(SEARCH_DELAY, self._search_server)
        self._has_moved_cursor = self._opens_first_result = False
        self._first_result = None
        self._search_locally()
        self._show_results()

    def _search_locally(self) -> None:
        if self._is_searching:
            self._must_search_again = True
        elif self.search_text:
            self._is_searching = True
            self.shell.background(self._run_local_search())

    async def _run_local_search(self) -> None:
        index = self.shell.session.search_index
        try:
            while not is_being_removed(self) and self.search_text:
                self._must_search_again = False
                text, spaces = self.search_text, self._space_ids_to_search()
                hits = await index.search(text, limit=MAX_LOCAL, spaces=spaces, snippet_length=EXCERPT_LENGTH)
                hits = tuple([await self._with_titles(hit) for hit in hits])
                counts = await index.counts(spaces)
                if is_being_removed(self):
                    return
                if not self._must_search_again:
                    self._local_hits, self._local_counts = hits, counts
                    self._is_searching = False
                    self._show_results()
                    return
        finally:
            self._is_searching = False

    async def _with_titles(self, hit: search_index.Hit) -> search_index.Hit:
        """Return a copy of `hit` whose snippet shows page titles in place of links, and readable formulas."""
        titles: dict[str, str | None] = {}
        for url in mentioned_urls(hit.snippet):
            match (await self._page_titles(hit.space_id)).target(url, hit.id):
                case links.PageLink(page_id=page):
                    titles[url] = (await self._page_titles(hit.space_id)).title(page)
                case links.SpaceLink(space_id=space, page=page) if page:
                    titles[url] = (await self._page_titles(space)).title(page)
        snippet, marks = with_titles(hit.snippet, titles.get, hit.marks)
        snippet, marks = with_formulas(snippet, format_inline, marks)
        return replace(hit, snippet=snippet, marks=marks)

    async def _page_titles(self, space_id: str) -> PageTitles:
        if space_id not in self._titles:
            pages = await self.shell.session.search_index.page_names(space_id)
            # Run in a background thread, because a space may have 50,000 pages.
            self._titles[space_id] = await asyncio.to_thread(PageTitles, space_id, pages)
        return self._titles[space_id]

    def _space_ids_to_search(self) -> tuple[str, ...] | None:
        if self._only_space is not None:
            return (self._only_space.space_id,)
        loaded_spaces = self.shell.workspace.spaces.value
        return tuple(space.id for space in loaded_spaces.items) if loaded_spaces is not None else None

    def _search_server(self) -> None:
        text = self._requested_text = self.search_text
        link_lookup = urls.GetContent(url=text) if text.startswith(("https://", "http://")) else None
        self._follow("link", link_lookup)
        page_search: search.InSpace | search.InOrganization | None = None
        if text and link_lookup is None and self._only_space is not None:
            page_search = search.InSpace(at=self._only_space, query=text, limit=30)
        elif text and link_lookup is None and self._organization is not None:
            at = OrganizationRef(organization_id=self._organization.id)
            page_search = search.InOrganization(at=at, query=text, limit=30)
        self._follow("pages", page_search)
        self._show_results()

    @property
    def _is_loading(self) -> bool:
        return self._requested_text != self.search_text or any(
            each.is_loading and each.value is None for each in self._snapshots
        )

    def _show_results(self) -> None:
        if not self.search_text:
            self.rows.state.empty = "Type to search."
            self.rows.show(())
            self._show_note("")
            self._show_scope()
            return
        results = self._find_results()
        snapshots = self._snapshots
        error = next((each.error for each in snapshots if each.error is not None), None)
        organizations = self.subscriptions.snapshot("organizations")
        server_error = self._found_pages.error
        has_no_organization = self._organization is None and not organizations.is_loading
        if has_no_organization:
            server_error = server_error or organizations.error
        is_loading = self._is_loading
        has_more = any(getattr(each.value, "next", None) is not None for each in snapshots)
        scope_note = " in the content loaded so far. The server has more content" if has_more else ""
        scope_note = " on this computer" if server_error is not None or has_no_organization else scope_note
        self._show_empty_state(scope_note, is_searching=is_loading or self._is_searching)
        self.rows.show(results)
        if not is_loading:
            self.rows.state.show_unreadable(sum(getattr(each.value, "unreadable", 0) for each in snapshots))
        if not self._has_moved_cursor:
            self.rows.go_to_first()
        if results and not self._is_searching and not self._opens_first_result:
            self._first_result = results[0]
        if server_error is None and error is not None:
            self.rows.state.fail("Could not search all content", str(error))
        self._show_note(self._offline_note(server_error) if server_error is not None and not is_loading else "")
        self._show_scope(f"{plural(len(results), 'result')}{' so far' if is_loading else ''}" if results else "")
        if self._opens_first_result and not is_loading and not self._is_searching and self.is_current:
            self.open()

    def _find_results(self) -> list[SearchResult]:
        """Return the results of all kinds, and set `_shown_counts`."""
        text, hits, workspace = self.search_text, self._local_hits, self.shell.workspace
        lists = [self.subscriptions.snapshot(status).value for status in _STATUSES]
        requests: list[ChangeRequest] = [request for each in lists if each is not None for request in each.items]
        spaces = workspace.spaces.value.items if workspace.spaces.value else ()
        if self._only_space is not None:
            requests = [request for request in requests if request.space == self._only_space.space_id]
            spaces = ()
        found_threads = thread_results(hits, workspace.space_title)
        request_results = change_request_results(text, requests, hits)
        limited = (
            ("thread", found_threads, MAX_THREADS),
            ("change request", request_results, MAX_CHANGE_REQUESTS),
            ("space", space_results(text, spaces), MAX_SPACES),
        )
        self._shown_counts = {
            kind: f"{limit} of {len(results)}" if len(results) > limit else "" for kind, results, limit in limited
        }
        page_hits, terms = self._page_hits, SearchTerms(text)
        if any(len(page.sections) > MAX_SECTIONS for _, _, page in page_hits):
            self._shown_counts["page"] = f"at most {MAX_SECTIONS} sections of each page"
        sections = [each for space, title, page in page_hits for each in server_page_results(page, space, title, terms)]
        results = [
            *link_results(self.subscriptions.snapshot("link").value),
            *page_results(sections, hits, workspace.space_title),
            *(result for _, results, limit in limited for result in results[:limit]),
        ]
        if (first := self._first_result) is not None:
            first = next((result for result in results if result.key == first.key), first)
            others = (result for result in results if result.key != first.key)
            results = [first, *sorted(others, key=lambda result: result.kind != first.kind)]
        return results

    @property
    def _page_hits(self) -> list[tuple[str, str, search.PageHit]]:
        """(space ID, space title, page) for each page that the server found. Empty if the pages were found for an older
        text, unless the local search is running."""
        found = self._found_pages.value.items if self._found_pages.value else ()
        if self._requested_text != self.search_text and not self._is_searching:
            return []  # The found pages match an older text, and the search for the new text will drop them.
        if self._only_space is not None:
            space_id = self._only_space.space_id
            title = self.shell.workspace.space_title(space_id)
            return [(space_id, title, hit) for hit in found if isinstance(hit, search.PageHit)]
        return [(hit.id, hit.title, page) for hit in found if isinstance(hit, search.SpaceHit) for page in hit.pages]

    @property
    def _found_pages(self) -> Snapshot[ListPage[search.SpaceHit | search.PageHit]]:
        return self.subscriptions.snapshot("pages")

    @property
    def _snapshots(self) -> list[Snapshot[Any]]:
        slots = ("pages", "link", *_STATUSES, *(("organizations",) if self._organization is None else ()))
        return [self.shell.workspace.spaces, *map(self.subscriptions.snapshot, slots)]

    def _show_empty_state(self, scope_note: str, *, is_searching: bool) -> None:
        state, advice = self.rows.state, "use fewer words" if " " in self.search_text else "try another word"
        state.empty = "Searching…" if is_searching else f"No results for “{self.search_text[:60]}”{scope_note}."
        state.hint = "" if is_searching else f"Check the spelling, or {advice}."

    def _offline_note(self, error: ApiError) -> str:
        """Return a sentence for a search that `error` stopped: only local copies were searched, or why none were."""
        notice = self.shell.session.search_index.unusable_reason
        local = self._local_counts
        counts = ((local.pages, "page", ""), (local.threads, "thread", ""), (local.replies, "reply", "replies"))
        note = ", ".join(plural(count, singular, plural_form) for count, singular, plural_form in counts if count)
        searched = (
            notice.removesuffix(".")
            or (f"searched only local copies ({note}, last updated {long_age(local.latest)})" if note else "")
            or "there is nothing to search on this computer yet"
        )
        if isinstance(error, Unreachable):
            return f"Offline: {as_clause(searched)}."
        return f"{searched[:1].upper()}{searched[1:]}. {error}"

    def _show_note(self, text: str) -> None:
        note = self.query_one("#note", ChangingText)
        note.update(Content.styled(text, "$octavo-note"))
        note.display = bool(text)

    def _row_of(self, result: SearchResult) -> Row:
        right = result.detail or (result.location if result.kind == "page" else "")
        if result.index_hit is not None and result.kind == "page" and self._found_pages.error:
            right += f" · {short_age(result.index_hit.known_at)}" if result.index_hit.known_at else " · title only"
        text, marks = result.excerpt, result.marks
        if not text and result.kind != "page":
            text, marks = result.location, ()
        return Row(
            text=_highlight(result.title, SearchTerms(self.search_text).ranges(result.title)).stylize_before("bold"),
            right=Content.styled(right, "$octavo-muted"),
            second_line=_highlight(text, marks),
        )

    def _show_scope(self, count_text: str = "") -> None:
        scope_title = self._scope_title(self._only_space)
        self.query_one(DialogFrame).set_border_texts("Search everywhere", self._keys_label)
        note = f"{count_text} in {scope_title}" if count_text else scope_title
        self.query_one("#scope", Static).update(Content.styled(note, "$octavo-muted"))

    def change_scope(self) -> None:
        """Switch between searching the last opened space and all spaces."""
        self._only_space = self.last_space if self._only_space is None else None
        self._local_hits, self._first_result, self._opens_first_result = (), None, False
        self._search_locally()
        self._search_server()

    def move(self, step: int) -> None:
        """Select the result that is `step` rows below, or above if `step` is negative."""
        self._has_moved_cursor, self._opens_first_result = True, False
        self.rows.move(step)

    @on(LineList.Opened)
    def _on_result_opened(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the selected result. If no result for the search text is shown yet, open the first result later, unless
        the user has moved the cursor."""
        result = self.rows.item
        self._opens_first_result = not self._has_moved_cursor and (
            self._is_searching or (result is None and self._is_loading)
        )
        if result is None or self._opens_first_result:
            return
        if result.kind == "thread" and result.index_hit is not None:
            self._open_thread(result.index_hit)
        elif result.kind == "change request":
            at = ChangeRequestRef(space_id=result.space, change_request_id=result.id)
            self.shell.go(ToChangeRequest(at, result.change_request))
        elif result.kind == "collection":
            self.shell.go(ToCollection(result.id))
        else:
            self.shell.go(
                ToPage(result.space, result.id if result.kind == "page" else None, block_or_anchor=result.anchor)
            )

    def _open_thread(self, hit: search_index.Hit) -> None:
        """Close the dialog and open a thread. `dismiss` is not awaited, because this could deadlock."""
        shell = self.shell
        op = all_threads_op(hit.at)
        threads = shell.session.live.peek(op).value
        thread = next((each for each in threads.items if each.id == hit.id), None) if threads is not None else None
        self.dismiss(None)
        shell.go(ToThread(hit.at, thread, hit.page_id or None, hit.block_key, "" if hit.page_id else "comments"))

    @on(Click, "#hits")
    def _on_result_clicked(self) -> None:
        self._has_moved_cursor, self._opens_first_result = True, False


def _highlight(text: str, ranges: tuple[Range, ...]) -> Content:
    content = Content(text)
    for start, end in ranges:
        content = content.stylize("$primary", start, end)
    return content
