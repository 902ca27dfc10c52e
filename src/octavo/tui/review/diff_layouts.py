"""The two layouts of the diffs of a change request: one page at a time, or all changed pages one below the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static
from textual.worker import WorkType

from octavo.api.errors import ApiError
from octavo.documents.blocks import EMPTY_PAGE
from octavo.documents.diff_model import Diff
from octavo.documents.page_trees import WHOLE_REQUEST, ChangedPage
from octavo.documents.suggestions import TwoVersionAnchors
from octavo.tui.core.view import View
from octavo.tui.reader.diff_contents import PageSection
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.multi_page_diff import MultiPageNavigation
from octavo.tui.reader.viewport import SHORT_PAGE
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_chunks import PageHeading
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.review.changed_pages import SIGN_STYLES, ComparedRevisions, describe_change, thread_counts_by_page
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.comments.diff_threads import DiffThreads

NO_COMPARISON = PageComparison(Diff(()), EMPTY_PAGE, EMPTY_PAGE)
"""Empty comparison, shown for comments on the change request as a whole."""
NO_BASE = "The server did not return the base revision of this change request."
MAX_PARALLEL = 2
"""Maximum number of pages that are loaded in parallel."""
MAX_TEXT = 400_000
"""Maximum number of characters of all loaded pages. With more, the pages farthest from the cursor are dropped."""
_LAYOUT_KEY = "continuous diff"


ThreadRows = Callable[[ChangedPage, TwoVersionAnchors], Mapping[str, Sequence[ThreadSummary]]]
"""Function that returns the threads, drafts and findings to show on a page, by block key."""


class SinglePageLayout:
    """Shows the diff of the current page in the pane `#diff`. A page without a diff is described in `#words`."""

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        pages: ChangedTree,
        thread_rows: ThreadRows,
        on_loaded: Callable[[], None],
    ) -> None:
        """`on_loaded` is called when the diff of a page is shown."""
        self._view, self._comparison, self._pages = view, comparison, pages
        self._thread_rows, self._on_loaded = thread_rows, on_loaded
        self._shown: tuple[ChangedPage, ComparedRevisions] | None = None
        """Shown page and the compared revisions. None if no page is shown."""
        self._failed: tuple[ChangedPage, ComparedRevisions, datetime | None] | None = None
        """(failed page, compared revisions, time when the list of changes was fetched). None if no page has failed."""
        self._anchors: TwoVersionAnchors | None = None
        """Finds the blocks that threads are on, in both versions of the shown page. None while the page is loading."""

    @property
    def pane(self) -> DiffView:
        return self._view.query_one("#diff", DiffView)

    @property
    def shown_key(self) -> str:
        """Key of the shown page. Empty if no page is shown."""
        return self._shown[0].key if self._shown is not None else ""

    def has_cursor(self, key: str) -> bool:
        """Return True if the cursor is on the page with this key."""
        return key == self.shown_key

    def anchors(self, key: str) -> TwoVersionAnchors | None:
        """Return the anchors that find the block of each thread on the page `key`. None if its diff is not shown."""
        return self._anchors if self.has_cursor(key) else None

    def is_described(self, key: str) -> bool:
        """Return True if a sentence describes the page, because the page has no diff."""
        return self.has_cursor(key) and self._view.has_class("-words")

    def clear(self) -> None:
        """Show no page, and cancel the comparison that is running."""
        self._shown = self._failed = self._anchors = None
        self._view.workers.cancel_group(self._view, "diff")
        self._view.remove_class("-words")
        self.pane.clear()

    def show(self) -> None:
        change, revisions = self._pages.selected, self._comparison.revisions
        if change is None and self._shown is not None:
            self.clear()  # The last change was reverted.
        if change is None or revisions is None or (change, revisions) == self._shown:
            return
        if (change, revisions, self._comparison.fetched_at) == self._failed:
            return
        self._shown, self._failed, self._anchors = (change, revisions), None, None
        self._view.workers.cancel_group(self._view, "diff")
        self._view.set_class(not change.is_document and change.key != WHOLE_REQUEST, "-words")
        if change.key == WHOLE_REQUEST:
            self._use_comparison(change, NO_COMPARISON)
        elif not change.is_document:
            self.pane.clear()  # The diff is hidden, and its commands must not act on the earlier page.
            heading = Content.assemble((change.sign, SIGN_STYLES.get(change.sign, "")), " ", (change.title, "bold"))
            self._view.query_one("#words", Static).update(
                Content("\n\n").join([heading, Content(describe_change(change))])
            )
        elif revisions.old is None:
            self.pane.clear()
            self.pane.state.fail(f"Could not compare the versions of {change.title}", NO_BASE)
        elif (cached := self._comparison.diffs.cached(change)) is not None:
            self._use_comparison(change, cached)
        else:
            self.pane.state.show_loading(change.title)
            self._comparison.replace_worker("diff", partial(self._load, change, self._shown))
        self._view.refresh_bindings()

    async def _load(self, change: ChangedPage, shown: tuple[ChangedPage, ComparedRevisions]) -> None:
        try:
            compared = await self._comparison.diffs.load_diff(change)
        except asyncio.CancelledError:
            if shown is self._shown:
                self._shown = None  # The compared revisions have changed. `show` loads the page again.
            raise
        except ApiError as error:
            if shown == self._shown:
                # The earlier diff would be outdated, so the error replaces it.
                self.pane.state.fail(f"Could not load {change.title}", str(error))
                self._shown, self._failed = None, (*shown, self._comparison.fetched_at)
        else:
            if shown == self._shown:
                self._use_comparison(change, compared)

    def retry(self) -> None:
        """Load the page again if it could not be loaded."""
        if self._failed is not None:
            self._failed = None
            self.show()

    def _use_comparison(self, change: ChangedPage, compared: PageComparison) -> None:
        compared = with_page_options(change, compared)
        self._anchors = TwoVersionAnchors((compared.old, compared.new))
        # The key has no revision, so that an edit of the page keeps the position.
        revisions = self._comparison.revisions
        name = revisions.old_name if revisions is not None else ""
        threads = self._thread_rows(change, self._anchors)
        self.pane.show(compared, title=change.title, key=f"{change.key} {name}", threads=threads)
        self._on_loaded()
        self._comparison.diffs.prefetch(self._pages.likely_next())

    def draw_threads(self) -> None:
        """Draw the threads on the shown page again."""
        if self._shown is not None and self._anchors is not None:
            self.pane.set_threads(self._thread_rows(self._shown[0], self._anchors))


def with_page_options(page: ChangedPage, compared: PageComparison) -> PageComparison:
    """Return `compared` with the changed page settings, such as the title, added to the diff."""
    return compared.with_page_options((*page.settings, *compared.diff.metadata)) if page.settings else compared


class AllPagesLayout:
    """Shows the diffs of all changed pages in `#scroll`, one below the other. Only pages near the cursor are loaded."""

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        pages: ChangedTree,
        threads: DiffThreads,
        thread_rows: ThreadRows,
        on_loaded: Callable[[], None],
    ) -> None:
        """`on_loaded` is called each time a page has loaded."""
        self._view, self._comparison, self._pages, self._threads = view, comparison, pages, threads
        self._thread_rows, self._on_loaded = thread_rows, on_loaded
        self.is_on = False
        """True if this layout is shown, and not one page at a time."""
        self._sections: dict[str, PageSection] = {}
        self._changed_pages: dict[str, ChangedPage] = {}
        self._thread_counts: Mapping[str, int] = {}
        """Number of open threads by page key."""
        self._revisions: ComparedRevisions | None = None
        self._loading: set[str] = set()
        self._loaded_in_search: set[str] = set()
        """Keys of the pages that were loaded during the current search."""
        self._failed: set[str] = set()
        self._fetched_at: datetime | None = None
        """Fetch time of the list of changes that `show` drew last."""
        self._is_visible = False
        """True once the diff is laid out and has a size."""
        self._synced_keys = ("", "")
        """Keys of the pages selected in the tree and under the cursor of the diff after the last synchronization."""
        self._pending_key = ""
        """Key of the page to scroll to as soon as its lines exist. Empty if there is none."""
        self._key_to_restore = ""
        """Key of the page whose reading position is restored when the page is loaded. Empty if there is none."""

    @property
    def pane(self) -> DiffView:
        return self._view.query_one("#scroll", DiffView)

    @property
    def navigation(self) -> MultiPageNavigation:
        """Object that moves the cursor between the pages of the pane."""
        navigation = self.pane.navigation
        assert isinstance(navigation, MultiPageNavigation), "the pane shows several pages"
        return navigation

    def restore_choice(self) -> None:
        """Turn this layout on if you used this layout last."""
        if self._view.shell.session.state.get_value(_LAYOUT_KEY) is True:
            self._set_on(is_on=True)

    def toggle(self) -> None:
        """Switch between one page and all pages, and store the choice. The reading position stays the same."""
        self._set_on(is_on=not self.is_on)
        self._view.shell.session.state.set_value(_LAYOUT_KEY, self.is_on)

    def _set_on(self, *, is_on: bool) -> None:
        navigation = self.navigation
        if is_on:
            self._pending_key = self._key_to_restore = self._pages.key
            # Stop background comparisons, because this layout loads only the pages near the cursor.
            self._comparison.diffs.prefetch(())
            self._pages.cursor_key = self.sync_with_tree
            self._synced_keys = (str(self._pages.widget.key), "")
            navigation.positions = self._pages.marks.positions
            navigation.retry = self._retry_page
            navigation.contents.choose_layout()
        else:
            navigation.store_position()
            self.sync_with_tree()
            self._pages.cursor_key = lambda: None
        self.is_on = is_on
        self._view.set_class(is_on, "-continuous")
        self._is_visible = False
        if is_on:
            self._view.call_after_refresh(self._become_visible)

    def _become_visible(self) -> None:
        self._is_visible = self.is_on
        self.sync_with_tree()
        self.load_near()

    def sync_with_tree(self) -> str | None:
        """Select one page in both the tree and the diff: the page that was selected last in either. Return the key of
        this page. None if the layout is off or the tree is empty."""
        tree, navigation = self._pages.widget, self.navigation
        if not self.is_on or not tree.keys:
            return None
        tree_key, diff_key = str(tree.key), navigation.contents.page.key
        if self._pending_key:
            return self._go_to_pending(tree_key)
        if tree_key != self._synced_keys[0] and not self._is_selection_unlisted:
            self._synced_keys = tree_key, diff_key
            if tree_key != diff_key and tree_key in self._sections:
                self._pending_key = tree_key
                return self._go_to_pending(tree_key)
        elif diff_key and diff_key != tree_key and (diff_key != self._synced_keys[1] or self._is_selection_unlisted):
            tree.select_hidden(diff_key)
            tree_key = str(tree.key)
        self._synced_keys = tree_key, diff_key
        return tree_key

    @property
    def _is_selection_unlisted(self) -> bool:
        return self.pane.has_focus and str(self._pages.widget.key) not in self._sections

    def _go_to_pending(self, tree_key: str) -> str:
        navigation = self.navigation
        if tree_key != self._synced_keys[0]:  # Another page was selected meanwhile, or the list of pages has arrived.
            self._key_to_restore = tree_key if self._key_to_restore == self._pending_key else self._key_to_restore
            self._pending_key = tree_key
        section = self._sections.get(self._pending_key)
        if section is None:
            if self._changed_pages:
                self._pending_key = ""
            return tree_key
        if self._is_visible and navigation.contents.range_of(section):
            self._pending_key = ""
            navigation.go_to_heading(section)
            self._restore_position(section)
            self._synced_keys = tree_key, section.key
        else:
            self._synced_keys = tree_key, navigation.contents.page.key
        return tree_key

    def _restore_position(self, section: PageSection) -> None:
        if section.key == self._key_to_restore and section.is_loaded:
            self._key_to_restore = ""
            self.navigation.restore(section)

    @property
    def shown_key(self) -> str:
        """Key of the current page, which commands act on. The text “None” if the tree is empty."""
        return self._pages.key

    def has_cursor(self, key: str) -> bool:
        """Return True if the cursor is on the page with this key."""
        return key in self._sections and self.navigation.contents.page is self._sections[key]

    def anchors(self, key: str) -> TwoVersionAnchors | None:
        """Return the finder of the blocks of threads on the page `key`. None if the text of the page is not loaded."""
        section = self._sections.get(key)
        return section.anchors if section is not None else None

    def is_described(self, key: str) -> bool:
        """Return True if a sentence describes a page, because the page's diff is neither loaded nor loading."""
        section = self._sections.get(key)
        return section is None or not (section.is_loaded or section.is_loading)

    def show(self) -> None:
        """Show the headings of all pages with changes or comments. Load the visible pages and their neighbors."""
        revisions, pages = self._comparison.revisions, self._pages.reading_order
        if revisions is None:
            return
        sections_before = [(each, each.heading, each.note, each.diff) for each in self._sections.values()]
        if self._comparison.fetched_at != self._fetched_at:
            self._fetched_at = self._comparison.fetched_at
            self._failed.clear()
        if revisions != self._revisions:
            self._revisions = revisions
            self._loading.clear()
            for section in self._sections.values():
                self._mark_to_reload(section)
        sections: dict[str, PageSection] = {}
        self._thread_counts = thread_counts_by_page(self._threads.posted_threads)
        for page in pages:
            section = self._sections.get(page.key) or PageSection(page.key)
            if self._changed_pages.get(page.key) != page:
                self._mark_to_reload(section)
            self._changed_pages[page.key] = page
            self._update_section(section, page, revisions)
            sections[page.key] = section
        self._sections = sections
        for key in self._changed_pages.keys() - sections.keys():
            del self._changed_pages[key]
        if sections_before != [(each, each.heading, each.note, each.diff) for each in sections.values()]:
            self.navigation.builder.show_sections(tuple(sections.values()))
        self.load_near()

    def _mark_to_reload(self, section: PageSection) -> None:
        """Mark a page, so that its versions are loaded again. The lines stay visible until then."""
        section.anchors = None
        self._loading.discard(section.key)
        self._failed.discard(section.key)

    def _update_section(self, section: PageSection, page: ChangedPage, revisions: ComparedRevisions) -> None:
        section.heading = self._heading(section, page)
        section.position_key = f"{page.key} {revisions.old_name}"
        if section.is_loaded or section.key in self._failed:
            return
        if page.key == WHOLE_REQUEST:
            self._use_comparison(section, page, NO_COMPARISON)
            self.navigation.builder.rebuild((section,))
        elif not page.is_document:
            section.set_note(describe_change(page), "description")
        elif revisions.old is None:
            section.set_note(f"Could not compare the versions of {page.title}: {NO_BASE}", "failed")
        else:
            section.set_note(f"Loading {page.title}…", "loading")

    def _heading(self, section: PageSection, page: ChangedPage) -> PageHeading:
        comparison, marks = self._comparison, self._pages.marks
        badges: list[tuple[str, str]] = []
        size = comparison.diffs.sizes.get(page.key) if page.changes else None
        if size is not None:
            badges += [(f"+{size.added}", "success")] * bool(size.added) + [(f"−{size.removed}", "error")] * bool(
                size.removed
            )
        if thread_count := self._thread_counts.get(page.key, 0):
            badges.append((plural(thread_count, "thread"), "note"))
        if page.key in comparison.conflicting_keys | comparison.diffs.pages_with_markers:
            badges.append(("conflict", "warning"))
        if page.key in marks.viewed_keys:
            badges.append(("✓ viewed", "success"))
        elif page.key in marks.changed_since_viewed:
            badges.append(("changed since viewed", "warning"))
        kinds = [kind for kind in page.kinds if kind != "edited"]
        badges = [(" and ".join(kinds), "muted")] * bool(kinds) + badges
        return PageHeading(page.key, page.title, page.sign, self._path_of(page), tuple(badges), section.is_collapsed)

    def _path_of(self, page: ChangedPage) -> str:
        ancestors = [node for node in self._pages.widget.outline.path(page.key) if node.key != page.key]
        return " › ".join(str(node.label) for node in ancestors if node.kind != "section")

    def load_near(self) -> None:
        """Load the visible pages and their neighbors. During a search, load all pages, up to `MAX_TEXT` characters."""
        if not self.is_on or self._revisions is None:
            return
        to_search = self._pages_to_load_for_search()
        is_searching = bool(to_search or (self.pane.find_bar.needle and self._loading))
        if is_searching is not self.navigation.contents.has_more_to_search:
            self.navigation.contents.has_more_to_search = is_searching
            if not is_searching:
                # The search loads no more pages, so search again, now including matches above the cursor.
                self.pane.find_bar.content_changed()
                self.pane.viewport.notify_moved()
        for section in [*self._sections_near_view(), *to_search]:
            if len(self._loading) >= MAX_PARALLEL:
                return
            page = self._changed_pages[section.key]
            needs_load = not section.is_loaded and not section.is_collapsed and section.key not in self._failed
            if needs_load and page.is_document and self._revisions.old is not None and section.key not in self._loading:
                self._loading.add(section.key)
                work: WorkType[None] = partial(self._load, section, page, self._revisions)
                self._view.run_worker(work, group="load")

    def _pages_to_load_for_search(self) -> list[PageSection]:
        """Return the pages that the search must still load, the current page first. Skip collapsed and failed pages.
        Empty without a search, or if the loaded pages have `MAX_TEXT` characters. Also record the loaded pages."""
        sections = list(self._sections.values())
        if not self.pane.find_bar.needle:
            self._loaded_in_search.clear()
            return []
        self._loaded_in_search.update(each.key for each in sections if each.is_loaded)
        if sum(each.size for each in sections) >= MAX_TEXT:
            return []
        current_index = self._current_index
        return [
            each
            for each in (*sections[current_index:], *sections[:current_index])
            if each.key not in self._loaded_in_search | self._failed
            and not each.is_collapsed
            and self._changed_pages[each.key].is_document
        ]

    def _sections_near_view(self) -> list[PageSection]:
        sections = list(self._sections.values())
        visible = [each for each in self.navigation.builder.sections_in_view() if self._sections.get(each.key) is each]
        page = self.navigation.contents.page
        if self._sections.get(page.key) is page and page in visible:
            visible = [page, *(each for each in visible if each is not page)]
        if not visible:
            return []
        indexes = [sections.index(each) for each in visible]
        adjacent_indexes = [max(indexes) + 1, min(indexes) - 1]
        return [*visible, *(sections[index] for index in adjacent_indexes if 0 <= index < len(sections))]

    @property
    def _current_index(self) -> int:
        """Index of the section under the cursor. 0 if the cursor is on no section."""
        sections, page = list(self._sections.values()), self.navigation.contents.page
        return sections.index(page) if page in sections else 0

    async def _load(self, section: PageSection, page: ChangedPage, revisions: ComparedRevisions) -> None:
        def is_current() -> bool:
            return revisions == self._revisions and self._changed_pages.get(page.key) == page

        try:
            compared = await self._comparison.diffs.load_diff(page)
        except ApiError as error:
            if is_current():
                self._failed.add(section.key)
                note = f"Could not load {page.title}: {error} Press enter on the heading to retry."
                section.show_note(note, "failed")
                self.navigation.builder.show_sections()
        else:
            if is_current():
                self._use_comparison(section, page, compared)
                anchors, changes = section.anchors, self.navigation.contents.changes_of(section)
                if section.size >= SHORT_PAGE:
                    await asyncio.to_thread(changes.complete)
                if section.anchors is anchors:  # Otherwise, the page was dropped or loaded again meanwhile.
                    section.diff = changes.complete()
                    section.heading = self._heading(section, page)
                    self._drop_far()
                    self.navigation.builder.show_sections()
                    self._restore_position(section)
                    self._on_loaded()
        finally:
            if is_current():
                self._loading.discard(section.key)
        self.load_near()

    def _use_comparison(self, section: PageSection, page: ChangedPage, compared: PageComparison) -> None:
        section.compared, section.note = with_page_options(page, compared), ""
        section.anchors = TwoVersionAnchors((compared.old, compared.new))
        section.threads = self._thread_rows(page, section.anchors)

    def _retry_page(self, section: PageSection) -> bool:
        if section.key not in self._failed:
            return False
        self._failed.discard(section.key)
        self.show()
        return True

    def retry(self) -> None:
        """Load failed pages near the cursor again. Other failed pages are loaded when the cursor comes near them."""
        self._failed.clear()
        self.show()

    def _drop_far(self) -> None:
        sections, near_sections = list(self._sections.values()), self._sections_near_view()
        total_length, current_index = sum(each.size for each in sections), self._current_index
        for section in sorted(sections, key=lambda each: abs(sections.index(each) - current_index), reverse=True):
            if total_length <= MAX_TEXT:
                return
            if section not in near_sections and section.size:
                total_length -= section.size
                self._mark_to_reload(section)
                section.show_note(f"Loading {section.heading.title}…", "loading")

    def draw_threads(self) -> None:
        """Draw the threads on the loaded pages again."""
        changed_sections: list[PageSection] = []
        for key, section in self._sections.items():
            if section.anchors is not None:
                rows = self._thread_rows(self._changed_pages[key], section.anchors)
                if rows != section.threads:
                    section.threads = rows
                    changed_sections.append(section)
        if changed_sections:
            self.navigation.builder.rebuild(changed_sections)
