"""The tree of changed pages beside the diff, and the stored marks on the pages that you viewed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

from textual.content import Content

from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.data.drafts import UnsentText
from octavo.data.state_db import StateDb
from octavo.documents.change_kinds import KEEPING_MEANING, describe_counts
from octavo.documents.page_trees import WHOLE_REQUEST, ChangedPage
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_position import position_from_json
from octavo.tui.review.changed_pages import (
    MAX_AHEAD,
    PageMarks,
    keys_beyond,
    thread_counts_by_page,
    tree_nodes,
    unchanged_page,
    unchanged_pages_with_comments,
    walk_nodes,
)
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.review.request_findings import RequestFindings
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from octavo.tui.core.view import View


def diff_of(view: View) -> DiffView:
    """Return the `DiffView` that is the main pane of `view`."""
    pane = view.main_pane
    assert isinstance(pane, DiffView), "only called in views with a diff"
    return pane


SAVE_DELAY = 1.0
"""Delay in seconds before a new reading position is stored."""


class ChangedTree:
    """Draws the tree of changed pages (`#changes`) and its title (`#changes-title`). Stores which pages you viewed."""

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        threads: DiffThreads,
        findings: RequestFindings,
        redraw: Callable[[], None],
    ) -> None:
        """`redraw` is called to draw the tree and the diff again."""
        self._view, self._comparison, self._threads, self._findings = view, comparison, threads, findings
        self._redraw = redraw
        self.cursor_key: Callable[[], str | None] = lambda: None
        """Returns the key of the page under the cursor of the diff. None if the tree's selected page is current."""
        self._width_and_line_count = 0, 1
        """Width of the tree in cells, and the largest number of lines of `_kind_lines` at this width."""
        self.changed_pages: dict[str, ChangedPage] = {}
        """Pages with changes by key, in the order of the tree."""
        self._reading_order: list[str] = []
        """Keys of the pages with changes or comments, in the order of the tree."""
        self._pages_by_key: dict[str, ChangedPage] = {}
        self._shows_whole_tree = False
        self._unsent: Mapping[str, Sequence[UnsentText]] = {}
        """Unsent drafts by page key."""
        self._save_delay = Delay(view)

    @property
    def widget(self) -> Tree:
        return self._view.query_one("#changes", Tree)

    @cached_property
    def marks(self) -> ViewedMarks:
        """Viewed marks and reading positions of the change request."""
        return ViewedMarks(self._view.shell.session.state, self._comparison.change_request.id)

    @property
    def key(self) -> str:
        """Key of the current page, on which commands act. If the tree is empty, the text `None`, not a page key."""
        key = self.cursor_key()
        return key if key is not None else str(self.widget.key)

    @property
    def selected(self) -> ChangedPage | None:
        """Current page, which commands act on. None if no page is selected."""
        return self._pages_by_key.get(self.key)

    @property
    def keys(self) -> Sequence[str]:
        """Keys of all pages in the tree, from top to bottom."""
        return list(self._pages_by_key)

    @property
    def reading_order(self) -> Sequence[ChangedPage]:
        """Pages with changes or comments, in the order of the tree."""
        return [self._pages_by_key[key] for key in self._reading_order]

    def likely_next(self) -> Sequence[ChangedPage]:
        """Return up to `MAX_AHEAD` pages that you may open next: pages below the current page, then pages above."""
        keys = [key for step in (1, -1) for key in keys_beyond(self._reading_order, self.key, step)]
        return [self._pages_by_key[key] for key in keys[:MAX_AHEAD]]

    def unsent_of(self, key: str) -> Sequence[UnsentText]:
        """Return the unsent drafts on the page with this key."""
        return self._unsent.get(key, ())

    def show(self, changed: Sequence[ChangedPage]) -> None:
        """Draw the tree of `changed` pages and pages with comments. If the selected page is gone, select another."""
        comparison, tree = self._comparison, self.widget
        titles = {page.id: page.title or "Untitled" for root in comparison.new_pages for page in root.walk()}
        self._unsent = {page or WHOLE_REQUEST: words for page, words in self._threads.unsent_by_page().items()}
        commented = unchanged_pages_with_comments(self._threads.comments, changed, titles, self._unsent)
        thread_counts = thread_counts_by_page(self._threads.posted_threads)
        conflicting_keys = comparison.conflicting_keys | comparison.diffs.pages_with_markers
        diffs = comparison.diffs
        marks = PageMarks(
            self.marks.viewed_keys,
            self.marks.changed_since_viewed,
            thread_counts,
            diffs.sizes,
            diffs.kind_counts,
            conflicting_keys,
            self._unsent,
            self._findings.counts,
        )
        nodes = tree_nodes(
            changed, commented, comparison.old_pages, comparison.new_pages, marks, has_whole_tree=self._shows_whole_tree
        )
        by_key = {page.key: page for page in (*changed, *commented)}
        drawn_nodes = [node for node in walk_nodes(nodes) if node.kind != "section"]
        self._pages_by_key = {str(node.key): by_key.get(str(node.key)) or unchanged_page(node) for node in drawn_nodes}
        self.changed_pages = {key: page for key, page in self._pages_by_key.items() if page.changes}
        self._reading_order = [key for key in self._pages_by_key if key in by_key]
        is_first, selected_key = not tree.keys, str(tree.key)
        tree.show(nodes)
        tree.state.show_unreadable(comparison.unreadable_count)
        if comparison.error_text:
            self.show_error()
        if is_first or selected_key not in self._pages_by_key:
            first_key = next(iter(self._reading_order), "")
            tree.select_hidden(
                self.marks.last_page if is_first and self.marks.last_page in self._pages_by_key else first_key
            )
        elif selected_key not in tree.keys and not tree.filter_words:
            tree.select_hidden(selected_key)  # The page moved below a collapsed page.
        self.draw_title()

    def show_error(self) -> None:
        """Show the reason why the changes could not be loaded."""
        self.widget.state.fail("Could not load the changes", self._comparison.error_text)

    def draw_title(self) -> None:
        """Draw the title: how many pages you viewed, warnings, and the kinds of changes on the current page."""
        changed_keys, comparison = [each.key for each in self._comparison.changed_pages or ()], self._comparison
        viewed_count = sum(key in self.marks.viewed_keys for key in changed_keys)
        lines = [Content(f"PAGES  {viewed_count} of {len(changed_keys)} viewed" if changed_keys else "PAGES")]
        if changed_count := sum(key in self.marks.changed_since_viewed for key in changed_keys):
            lines.append(Content.styled(f"• {plural(changed_count, 'viewed page')} changed", "$warning"))
        if comparison.unlisted_count:
            lines.append(
                Content.styled(f"{plural(comparison.unlisted_count, 'change')} not listed by the server", "$warning")
            )
        if comparison.revisions is not None and comparison.revisions.old_name:
            comparison_lines = self._wrap(f"compared with {comparison.revisions.old_name}")
            lines += [Content.styled(line, "$primary") for line in comparison_lines]
            lines.append(Content.styled("Press B to see all changes", "$octavo-muted"))
        if changed_keys:
            lines += [Content.styled(line, "$octavo-muted") for line in self._kind_lines()]
        if diff_of(self._view).contents.only_meaning:
            lines += [Content.styled(line, "$warning") for line in self._wrap(self._hidden_text())]
        self._view.query_one("#changes-title", ChangingText).update(Content("\n").join(lines))

    def _kind_lines(self) -> list[str]:
        """Return lines such as `This page: 2 numbers, 1 link`, and blank lines so that the title keeps its height."""
        comparison, width = self._comparison, self.widget.size.width
        lines: list[str] = []
        if comparison.revisions is not None and (counts := comparison.diffs.kind_counts.get(self.key)):
            items = [
                describe_counts({kind: count}).replace(" ", "\N{NO-BREAK SPACE}") for kind, count in counts.items()
            ]
            if findings := self._findings.counts.get(self.key):
                items.append(plural(findings, "finding").replace(" ", "\N{NO-BREAK SPACE}"))
            lines = self._wrap(f"This page: {', '.join(items)}")
        max_line_count = self._width_and_line_count[1] if self._width_and_line_count[0] == width else 1
        self._width_and_line_count = width, max(max_line_count, len(lines))
        return [*lines, *[""] * (self._width_and_line_count[1] - len(lines))]

    def _wrap(self, text: str) -> list[str]:
        return wrap(text, max(20, self.widget.size.width - 2))

    def _hidden_text(self) -> str:
        counts_by_page = self._comparison.diffs.kind_counts
        counts = [
            sum(count for kind, count in each.items() if kind in KEEPING_MEANING) for each in counts_by_page.values()
        ]
        page_count = sum(map(bool, counts))
        hidden = (
            f"{plural(sum(counts), 'change')} hidden on {plural(page_count, 'page')}"
            if page_count
            else "nothing is hidden"
        )
        uncompared_keys = {key for key, page in self.changed_pages.items() if page.is_document} - counts_by_page.keys()
        return f"Only meaning: {hidden}{' so far' if uncompared_keys else ''}"

    def select_page(self, key: str) -> bool:
        """Select the page with this key. Return False if the page has no changes and no comments."""
        return key in self._reading_order and self.widget.select_hidden(key)

    def select_first_change(self) -> None:
        """Select the first changed page if no changed page is selected."""
        if self.changed_pages and self.key not in self.changed_pages:
            self.widget.select_hidden(next(iter(self.changed_pages)))

    def select_next(self, step: int) -> None:
        """Select the next page with changes or comments (the previous if `step` is -1), or say that there is none."""
        if (key := self.next_key(step)) is not None:
            self.widget.select_hidden(key)
        else:
            self._view.shell.explain(f"There is no {'next' if step > 0 else 'previous'} page to go to.")

    def next_key(self, step: int) -> str | None:
        """Return the key of the next page with changes or comments, or of the previous page if `step` is -1. With a
        filter, skip pages that the tree does not show. None if there is no such page."""
        tree = self.widget
        keys = [str(key) for key in tree.keys] if tree.filter_words else list(self._pages_by_key)
        return next((key for key in keys_beyond(keys, self.key, step) if key in self._reading_order), None)

    def toggle_whole_tree(self) -> None:
        """Switch the tree between all pages and the changed pages."""
        self._shows_whole_tree = not self._shows_whole_tree
        self._redraw()

    def why_no_whole_tree(self) -> str | None:
        """Return the reason why the tree cannot show the unchanged pages. None if it can."""
        return None if self._comparison.new_pages else StillLoading("The pages are still loading.")

    def load_marks(self) -> None:
        """Load which pages you viewed. Pages that changed after you viewed them lose their marks, in the background."""
        earlier_revision = self.marks.load(self._comparison.change_request.revision or "")
        if earlier_revision is not None:
            self._comparison.replace_worker("marks", partial(self._keep_marks_since, earlier_revision))

    async def _keep_marks_since(self, earlier_revision: str) -> None:
        try:
            changed_pages = await self._comparison.changed_since(earlier_revision)
        except (NotFound, Forbidden):
            changed_pages = None
        except ApiError:
            return  # The next refresh tries again.
        self.marks.renew(None if changed_pages is None else {each.key for each in changed_pages})
        self._redraw()

    def why_not_viewed(self) -> str | None:
        """Return the reason why the current page cannot be marked as viewed. None if it can be marked."""
        if self.key in self.changed_pages:
            return self._comparison.why_outdated()
        return "This page has no changes." if self.widget.keys else "Select a page first."

    def mark_viewed(self) -> None:
        """Mark the current page as viewed and select the next unviewed page, or remove an existing mark."""
        key = self.key
        is_viewed = self.marks.toggle(key)
        self._redraw()
        if not is_viewed:
            return
        keys = list(self.changed_pages)
        index, viewed_keys = keys.index(key), self.marks.viewed_keys
        next_key = next((each for each in (*keys[index + 1 :], *keys[:index]) if each not in viewed_keys), None)
        if next_key is not None:
            self.widget.select_hidden(next_key)
        else:
            comparison = self._comparison
            revisions, number = comparison.revisions, comparison.change_request.number
            changes = "listed changes" if comparison.unlisted_count or comparison.unreadable_count else "changes"
            compared = f" compared with {revisions.old_name}" if revisions is not None and revisions.old_name else ""
            self._view.shell.say(
                f"You viewed all {changes} in #{number}{compared}. Press a to approve, or A to request changes."
            )

    def save_position_soon(self) -> None:
        """Record the selected page, and store the reading position after `SAVE_DELAY` seconds."""
        if self.widget.key is not None:
            self.marks.last_page = self.key
        self._save_delay.start_once(SAVE_DELAY, lambda: self.marks.save_position())


TREE_COMMANDS: Commands[ChangedTree] = Commands(
    "change",
    (
        Command("next_page", "J", "Next page", "Go to the next changed page", run=lambda _, tree: tree.select_next(1), shown=False),
        Command("previous_page", "K", "Previous page", "Go to the previous changed page", run=lambda _, tree: tree.select_next(-1), shown=False),
        Command("viewed", "x", "Viewed", "Mark as viewed and go to the next page",
                run=lambda _, tree: tree.mark_viewed(), why_not=lambda _, tree: tree.why_not_viewed()),
        Command("whole_tree", "full_stop", "All pages", "Switch between changed pages and all pages", key_display=".", shown=False,
                run=lambda _, tree: tree.toggle_whole_tree(), why_not=lambda _, tree: tree.why_no_whole_tree()),
    ),
    context="change request",
    find_target=lambda view: view.changed_tree,
)  # fmt: skip


MAX_POSITIONS = 200
"""Maximum number of reading positions that are stored for a change request."""


_Marks: TypeAlias = tuple[str, frozenset[str], frozenset[str]]
"""A revision, keys of the pages that you viewed in it, and keys of the pages that changed after you viewed them."""


class ViewedMarks:
    """Stores which pages of a change request you viewed, and your reading positions. Changed pages lose their mark."""

    def __init__(self, state: StateDb, change_request_id: str) -> None:
        self._state = state
        self._marks_key, self._position_key = f"viewed {change_request_id}", f"place {change_request_id}"
        stored_fields = state.get_value(self._position_key)
        stored_fields = stored_fields if isinstance(stored_fields, dict) else {}
        self.last_page = str(stored_fields.get("at", ""))
        """Key of the page that was selected last. Empty if no key is stored."""
        stored_positions = stored_fields.get("within")
        stored_positions = stored_positions if isinstance(stored_positions, dict) else {}
        positions = {str(key): position_from_json(value) for key, value in stored_positions.items()}
        self.positions = {key: position for key, position in positions.items() if position is not None}
        """Reading positions by page key."""
        self._revision: str | None = None
        self._needs_renewal = False
        """True after `load` found marks of an earlier revision, until `renew` is called."""
        self.viewed_keys: frozenset[str] = frozenset()
        self.changed_since_viewed: frozenset[str] = frozenset()
        """Keys of the pages that changed after you viewed them."""

    def load(self, revision: str) -> str | None:
        """Load the marks for `revision`. If the stored marks belong to an earlier revision, return the earlier
        revision, and begin without marks until `renew` is called. None otherwise."""
        stored_revision, viewed, changed = _marks_in(self._state.get_value(self._marks_key))
        is_same = stored_revision in ("", revision)
        if is_same or revision != self._revision:
            self.viewed_keys, self.changed_since_viewed = (viewed, changed) if is_same else (frozenset(), frozenset())
            self._revision, self._needs_renewal = revision, not is_same
        return stored_revision if self._needs_renewal else None

    def renew(self, changed_keys: Collection[str] | None) -> None:
        """If `load` found earlier marks, drop those of the pages `changed_keys` (None: all pages). Keep the others."""
        if not self._needs_renewal:
            return
        self._needs_renewal = False
        revision, own_keys, _ = self._shown_marks

        def renew(stored: _Marks) -> _Marks:
            stored_revision, viewed_before, changed_before = stored
            lost_keys = viewed_before if changed_keys is None else viewed_before & frozenset(changed_keys)
            if stored_revision == revision:
                lost_keys = frozenset()  # Another instance has renewed the marks.
            return revision, own_keys | viewed_before - lost_keys, (lost_keys | changed_before) - own_keys

        self._update_stored_marks(renew)

    def toggle(self, key: str) -> bool:
        """Mark the page with this key as viewed, or remove the mark. Return True if the page is marked now."""
        is_viewed, shown = key not in self.viewed_keys, self._shown_marks

        def toggle_key(stored: _Marks) -> _Marks:
            revision, viewed, changed = stored if stored[0] == shown[0] else shown
            return revision, viewed | {key} if is_viewed else viewed - {key}, changed - {key}

        if self._needs_renewal:  # `renew` still needs the stored marks of the earlier revision.
            _, self.viewed_keys, self.changed_since_viewed = toggle_key(shown)
        else:
            self._update_stored_marks(toggle_key)
        return is_viewed

    @property
    def _shown_marks(self) -> _Marks:
        return self._revision or "", self.viewed_keys, self.changed_since_viewed

    def _update_stored_marks(self, change: Callable[[_Marks], _Marks]) -> None:
        """Apply `change` to the stored marks, which another instance may have changed, and read the result."""

        def changed_fields(stored: object) -> dict[str, object]:
            revision, viewed, changed = change(_marks_in(stored))
            return {"revision": revision, "keys": sorted(viewed), "changed": sorted(changed)}

        self._state.change_value(self._marks_key, changed_fields)
        _, self.viewed_keys, self.changed_since_viewed = _marks_in(self._state.get_value(self._marks_key))

    def save_position(self) -> None:
        """Store the page that was selected last, and the reading positions."""
        stored_positions = {
            key: page_position.stored_fields for key, page_position in [*self.positions.items()][-MAX_POSITIONS:]
        }
        stored_fields = {"at": self.last_page, "within": stored_positions}
        if self._state.get_value(self._position_key) != stored_fields:
            self._state.set_value(self._position_key, stored_fields)


def _key_set(value: object) -> frozenset[str]:
    return frozenset(str(each) for each in value) if isinstance(value, list) else frozenset()


def _marks_in(stored: object) -> _Marks:
    fields = stored if isinstance(stored, dict) else {}
    return str(fields.get("revision", "")), _key_set(fields.get("keys")), _key_set(fields.get("changed"))
