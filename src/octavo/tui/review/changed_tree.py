"""The tree of changed pages beside the diff, with the pages that you viewed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice

from textual.content import Content
from textual.timer import Timer

from octavo.api.errors import ApiError
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.review.changed_pages import WHOLE, ChangedPage, Marks, discussed, nodes, open_on, order, unchanged
from octavo.tui.review.diff_base import Comparison, ShowsChanges
from octavo.tui.review.diff_cache import AHEAD
from octavo.tui.review.viewed_pages import ViewedMarks
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree
from octavo.tui.widgets.wording import plural

KEEP_PLACE = 1.0
"""Seconds after which it is kept where one is."""


class ChangedTree:
    """The tree `#changes` below its title `#changes-title`, and the marks on its pages."""

    def __init__(self, view: View, shown_in: ShowsChanges, comparison: Comparison, threads: DiffThreads) -> None:
        self._view, self._shown_in = view, shown_in
        self._comparison, self._threads = comparison, threads
        self.changing: dict[str, ChangedPage] = {}
        """What changes, in the order of the tree, by its key there."""
        self._readable: list[str] = []
        """The keys of these and of what is talked about."""
        self._stops: dict[str, ChangedPage] = {}
        """All that is in the tree."""
        self._shows_all = False
        self._unsent: Mapping[str, Sequence[UnsentText]] = {}
        """Unsent drafts by the keys of their pages."""
        self._keeping: Timer | None = None

    @property
    def widget(self) -> Tree:
        return self._view.query_one("#changes", Tree)

    @cached_property
    def marks(self) -> ViewedMarks:
        """Which pages one looked at, and which last."""
        return ViewedMarks(self._view.shell.session.state, self._comparison.about.id)

    @property
    def key(self) -> str:
        """What the cursor is on."""
        return str(self.widget.key)

    @property
    def change(self) -> ChangedPage | None:
        """What the cursor is on, and what becomes of it."""
        return self._stops.get(self.key)

    @property
    def keys(self) -> Sequence[str]:
        """Those of all that is in the tree, in order."""
        return list(self._stops)

    def ahead(self) -> Iterable[ChangedPage]:
        """What is likely looked at next."""
        keys, here = self._readable, self.key
        at = keys.index(here) + 1 if here in keys else 0
        return [self._stops[key] for key in islice((*keys[at:], *reversed(keys[:at])), AHEAD)]

    def unsent_of(self, key: str) -> Sequence[UnsentText]:
        """Return the unsent drafts for the entry `key`."""
        return self._unsent.get(key, ())

    # Drawing

    def show(self, changed: Sequence[ChangedPage]) -> None:
        """Draw what changes. The cursor stays on what it is on."""
        comparison, tree = self._comparison, self.widget
        titles = {page.id: page.title or "Untitled" for root in comparison.after for page in root.walk()}
        self._unsent = {page or WHOLE: words for page, words in self._threads.unsent_by_page().items()}
        also = discussed(self._threads.all, changed, titles, self._unsent)
        counts = open_on(self._threads.posted)
        tight = self._view.has_class("-narrow")
        conflicting = comparison.conflicting | comparison.diffs.undecided
        marks = Marks(
            self.marks.keys, self.marks.changed, counts, comparison.diffs.sizes, conflicting, self._unsent, tight
        )
        found = nodes(changed, also, comparison.before, comparison.after, marks, whole_tree=self._shows_all)
        by_key = {entry.key: entry for entry in (*changed, *also)}
        drawn = [node for node in order(found) if node.kind != "section"]
        self._stops = {str(node.key): by_key.get(str(node.key)) or unchanged(node) for node in drawn}
        self.changing = {key: entry for key, entry in self._stops.items() if entry.changes}
        self._readable = [key for key in self._stops if key in by_key]
        begins, here = not tree.keys, self.key
        tree.show(found)
        tree.state.show_unreadable(comparison.unreadable)
        if comparison.trouble:
            self._shown_in.could_not_compare(comparison.trouble)
        if begins or here not in self._stops:
            first = next(iter(self._readable), "")
            tree.select_hidden(self.marks.place if begins and self.marks.place in self._stops else first)
        elif here not in tree.keys and not tree.filter_words:
            tree.select_hidden(here)  # it was moved below what is folded
        self._draw_title(changed)

    def _draw_title(self, changed: Sequence[ChangedPage]) -> None:
        keys, comparison = [each.key for each in changed], self._comparison
        seen = sum(key in self.marks.keys for key in keys)
        lines = [Content.assemble("PAGES  ", (f"{seen} of {len(keys)} viewed", ""))]
        if again := sum(key in self.marks.changed for key in keys):
            lines.append(
                Content.styled(
                    f"• {plural(again, 'page')} changed since you viewed {'it' if again == 1 else 'them'}", "$warning"
                )
            )
        if comparison.left_out:
            lines.append(
                Content.styled(f"{plural(comparison.left_out, 'change')} not listed by the server", "$warning")
            )
        if comparison.sides is not None and comparison.sides.name:
            lines.append(Content.styled(f"compared with {comparison.sides.name}", "$primary"))
        self._view.query_one("#changes-title", ChangingText).update(Content("\n").join(lines))

    # Going about

    def reveal(self, key: str) -> bool:
        """Go to what changes, or is talked about. False when nothing is known of that name."""
        return key in self._readable and self.widget.select_hidden(key)

    def go_to_some_change(self) -> None:
        """Go to the first page that changes, unless one is on one that does."""
        if self.changing and self.key not in self.changing:
            self.widget.select_hidden(next(iter(self.changing)))

    def read_on(self, step: int) -> None:
        """Go to the page after this one that changes or is talked about, or with -1 to the one before."""
        if (key := self._other(step)) is not None:
            self.widget.select_hidden(key)

    def has_other(self, step: int) -> bool:
        """Whether `read_on` has a page to go to."""
        return self._other(step) is not None

    def _other(self, step: int) -> str | None:
        """The key of the page that `read_on` goes to, if there is one."""
        tree, here = self.widget, self.key
        keys = [str(key) for key in tree.keys] if tree.filter_words else list(self._stops)
        at = keys.index(here) if here in keys else -1
        among = keys[at + 1 :] if step > 0 else reversed(keys[: max(at, 0)])
        return next((key for key in among if key in self._readable), None)

    def show_all_or_changing(self) -> None:
        """Show all pages, or again only what changes."""
        self._shows_all = not self._shows_all
        self._shown_in.show_changed()

    def why_not_all(self) -> str | None:
        """Return why all pages cannot be shown. None if they can."""
        return None if self._comparison.after else "The pages are still loading."

    # Marks

    def take_up_marks(self) -> None:
        """Show the marks of the revision that is proposed now."""
        earlier = self.marks.at(self._comparison.about.revision or "")
        if earlier is not None:
            self._comparison.instead("marks", partial(self._renew_marks, earlier))

    async def _renew_marks(self, earlier: str) -> None:
        try:
            found = await self._comparison.changed_since(earlier)
        except ApiError:
            found = None
        self.marks.renew(None if found is None else {each.key for each in found})
        self._shown_in.show_changed()

    def why_not_viewed(self) -> str | None:
        """Return why the page cannot be marked as viewed. None if it can."""
        if self.key in self.changing:
            return None
        return "This page has no changes." if self.widget.keys else "Select a page first."

    def mark_viewed(self) -> None:
        """Mark the page as viewed and go to the next page that is not, or remove the mark."""
        key = self.key
        is_viewed = self.marks.toggle(key)
        self._shown_in.show_changed()
        if not is_viewed:
            return
        keys = list(self.changing)
        at = keys.index(key)
        following = next((each for each in (*keys[at + 1 :], *keys[:at]) if each not in self.marks.keys), None)
        if following is not None:
            self.widget.select_hidden(following)
        else:
            number = self._comparison.about.number
            self._view.shell.say(f"You viewed all changes in #{number}. Press a to approve, or A to request changes.")

    # Where one is

    def keep_place_soon(self) -> None:
        """Keep over restarts where one is, once one stays there."""
        if self.widget.key is not None:
            self.marks.place = self.key
        if self._keeping is None:
            self._keeping = self._view.set_timer(KEEP_PLACE, self._keep_place)

    def _keep_place(self) -> None:
        self._keeping = None
        self.marks.keep_place()


CHANGED_PAGE: Commands[ChangedTree] = Commands(
    "change",
    (
        Command("next_page", "J", "Next page", "Go to the next changed page", run=lambda _, tree: tree.read_on(1), shown=False),
        Command("previous_page", "K", "Previous page", "Go to the previous changed page", run=lambda _, tree: tree.read_on(-1), shown=False),
        Command("viewed", "x", "Viewed", "Mark as viewed and go to the next page",
                run=lambda _, tree: tree.mark_viewed(), why_not=lambda _, tree: tree.why_not_viewed()),
        Command("whole_tree", "full_stop", "All pages", "Switch between changed pages and all pages", key_display=".", shown=False,
                run=lambda _, tree: tree.show_all_or_changing(), why_not=lambda _, tree: tree.why_not_all()),
    ),
    context="change request",
    find=lambda view: view.changed_tree,
)  # fmt: skip
"""What can be done with the pages that change."""
