"""One change request: what it changes page by page, who looked, what people say, and the way to merge it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from octavo.api import change_requests, comments, reviews
from octavo.api.change_requests import ChangeRequest, Contributor
from octavo.api.comments import Comment
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.places import Discussion, SpaceRef
from octavo.api.reviews import RequestedReviewer
from octavo.data.entry import Entry
from octavo.data.live import Snapshot
from octavo.tui.comments.held_comments import page_of
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.review import status_summary
from octavo.tui.review.changed_pages import WHOLE, ChangedPage, Marks, discussed, nodes, open_on, order, unchanged
from octavo.tui.review.diff_cache import AHEAD
from octavo.tui.review.request_actions import Proposing, comment_on_whole, may_not_comment_on_whole
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.review.reverting import TakingBack
from octavo.tui.review.verdicts import held_for
from octavo.tui.review.viewed_pages import Viewed
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.tree import Tree
from octavo.tui.widgets.wording import plural

DRAW_AGAIN = 0.15
"""Seconds in which the sizes that arrive are drawn at once."""
KEEP_PLACE = 1.0
"""Seconds after which it is kept where one is."""
MOST_REVISIONS = 5
"""Earlier revisions that were reviewed and are looked into for what changed since."""


class ChangeRequestScreen(TakingBack, Proposing):
    """On the left what is changed and how it stands, on the right the diff of the page under the cursor."""

    VIEW = "changes"
    CONTEXT = "change request"
    HELP = (
        "Pages on the left, the diff on the right. n and N go through the changes, J and K through the pages, x marks a page "
        "as looked at and goes to the next that is not, c comments on the block under the cursor, B compares with your last "
        "review, a approves, m merges after showing what goes live. t goes through the open threads of all pages."
    )
    CSS_PATH = "change_request.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("J", "read_on(1)", "Next page", show=False, tooltip="Next changed page", id="change.next_page"),
        Binding("K", "read_on(-1)", "Page before", show=False, tooltip="Changed page before", id="change.previous_page"),
        Binding("x", "viewed", "Viewed", tooltip="Mark as looked at, until it changes again, and go to the next that is not", id="change.viewed"),
        Binding("full_stop", "whole_tree", "All pages", show=False, key_display=".", tooltip="Only what changes, or all pages", id="change.whole_tree"),
        Binding("ctrl+e", "export", "Export", show=False, tooltip="Save the change request or this page as PDF or Markdown", id="change.export"),
        Binding("escape", "up", "Back", show=False, tooltip="To the pages, then back to the list", id="change.up"),
    ]  # fmt: skip

    def __init__(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        super().__init__(change_request, space)
        self._requested: tuple[RequestedReviewer, ...] = ()
        self._contributors: tuple[Contributor, ...] = ()
        self._held: tuple[Entry, ...] = ()
        """What was shown as held for the review."""
        self._newer: dict[str, int] = {}
        """How many pages changed since a revision that was reviewed."""
        self._entries: dict[str, ChangedPage] = {}
        """What changes, in the order of the tree."""
        self._readable: list[str] = []
        """The keys of these and of what is talked about."""
        self._stops: dict[str, ChangedPage] = {}
        """All that is in the tree."""
        self._shows_all = False
        self._drawing: Timer | None = None
        self._keeping: Timer | None = None

    def body(self) -> Iterable[Widget]:
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield ChangingText("PAGES", classes="pane-title", id="changes-title")
                yield Tree(
                    empty="Nothing is changed yet.", hint="Edit its pages, then r.", folds_all=False, id="changes"
                )
                yield ChangingText("", id="standing")
            yield DiffView(ascii=self.shell.settings.ascii, id="diff")
            yield ChangingText("", id="words")

    @property
    def page_tree(self) -> Tree:
        return self.query_one("#changes", Tree)

    @property
    def keys_go_on_to(self) -> DiffView:
        return self.view

    @cached_property
    def marks(self) -> Viewed:
        """Which pages one looked at, and which last."""
        return Viewed(self.shell.session.state, self._change_request.id)

    def on_mount(self) -> None:
        self.page_tree.wait_for("what it changes")
        self.follow("change request", change_requests.Get(at=self.at), self._show_change_request)
        threads = comments.List(at=self.at, status="all", format="markdown", limit=200)
        self.follow_whole("threads", threads, self._show_threads)
        self.follow_whole("requested", reviews.ListRequested(at=self.at, limit=100), self._show_requested)
        self.follow_whole("contributors", change_requests.ListContributors(at=self.at), self._show_contributors)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.refresh_bindings())
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show_held_ones())
        self._take_up_marks()
        self.view.places = self.marks.places
        self._draw_head()
        self.page_tree.focus()

    def on_resize(self) -> None:
        self._draw_head()
        self.show_changed()

    # What arrives

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is None:
            return
        before, after = self._change_request, snapshot.value.within(self._space)
        self._change_request = after
        if (before.revision, before.base, before.status) != (after.revision, after.base, after.status):
            self._newer.clear()
            self._take_up_marks()
            self.list_again()
            self.find_changes()
            self.show_reviews()
        self._draw_head()
        self.refresh_bindings()

    def show_changed(self) -> None:
        if self.changed is None or not self.is_mounted:
            return
        titles = {page.id: page.title or "Untitled" for root in self.after for page in root.walk()}
        also = discussed(self._threads, self.changed, titles)
        counts = open_on(self._posted)
        tight = self.has_class("-narrow")
        conflicting = self.conflicting | self.comparisons.undecided
        marks = Marks(self.marks.keys, self.marks.changed, counts, self.comparisons.sizes, conflicting, tight)
        found = nodes(self.changed, also, self.before, self.after, marks, whole_tree=self._shows_all)
        by_key = {entry.key: entry for entry in (*self.changed, *also)}
        drawn = [node for node in order(found) if node.kind != "section"]
        self._stops = {str(node.key): by_key.get(str(node.key)) or unchanged(node) for node in drawn}
        self._entries = {key: entry for key, entry in self._stops.items() if entry.changes}
        self._readable = [key for key in self._stops if key in by_key]
        begins, here = not self.page_tree.keys, str(self.page_tree.key)
        self.page_tree.show(found)
        self.page_tree.lacks(self.unreadable)
        if self.trouble:
            self.could_not_compare(self.trouble)
        if begins or here not in self._stops:
            first = next(iter(self._readable), "")
            self.page_tree.reveal(self.marks.place if begins and self.marks.place in self._stops else first)
        elif here not in self.page_tree.keys and not self.page_tree.words:
            self.page_tree.reveal(here)  # it was moved below what is folded
        self._draw_title()
        self.show_diff()

    def go_to_some_change(self) -> None:
        if self._entries and str(self.page_tree.key) not in self._entries:
            self.page_tree.reveal(next(iter(self._entries)))

    def could_not_compare(self, cause: str) -> None:
        self.page_tree.fail("What it changes did not load", cause)

    def show_reviews(self) -> None:
        self._draw_head()
        earlier = [each.revision for each in self.reviews if not each.outdated and each.revision]
        unknown = [each for each in dict.fromkeys(earlier) if each not in (*self._newer, self._change_request.revision)]
        if unknown and self._change_request.revision:
            self.instead("reviews", partial(self._look_since, unknown[:MOST_REVISIONS]))

    async def _look_since(self, revisions: list[str]) -> None:
        head = self._change_request.revision
        for revision in revisions:
            try:
                found = await self.changed_since(revision)
            except ApiError:
                return  # that it was an earlier revision is said anyway
            if found is not None and head == self._change_request.revision:
                self._newer[revision] = len(found)
        self._draw_head()

    def _show_requested(self, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        self._requested = snapshot.value.items if snapshot.value else ()
        self._draw_head()

    def _show_contributors(self, snapshot: Snapshot[ListPage[Contributor]]) -> None:
        self._contributors = snapshot.value.items if snapshot.value else ()
        self._draw_head()

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None:
            self._threads = snapshot.value.items
            self.shell.workspace.heard(self._change_request.id, snapshot.value)
            self.show_changed()
            self.draw_threads()
            self._draw_head()

    def _show_held_ones(self) -> None:
        held = self.held_comments
        if held != self._held:
            self._held = held
            self.draw_threads()
            self._draw_head()
            self.refresh_bindings()

    def was_compared(self, key: str) -> None:
        if self._drawing is None:
            self._drawing = self.set_timer(DRAW_AGAIN, self._draw_sizes)

    def _draw_sizes(self) -> None:
        self._drawing = None
        self.show_changed()
        self._draw_head()

    # The head and the left

    def _draw_head(self) -> None:
        if not self.is_mounted:
            return
        about, space = self._change_request, self.shell.workspace.space(self._space.space_id)
        still_open = sum(thread.is_open_thread for thread in self._posted)
        width = max(20, self.size.width)
        conflicts = len(self.conflicting), len(self.comparisons.undecided) if about.status in UNDECIDED else 0
        self._held = self.held_comments
        place = space.title if space else "", self.reviews, still_open, width
        head = status_summary.head(about, *place, *conflicts, len(self._held))
        self.query_one("#head", ChangingText).update(head)
        said = status_summary.reviewers(about, self.reviews, self._requested, self._contributors, self._newer)
        self.query_one("#standing", ChangingText).update(said)
        self.say_where()

    def _draw_title(self) -> None:
        if not self.is_mounted or self.changed is None:
            return
        keys = [each.key for each in self.changed]
        seen = sum(key in self.marks.keys for key in keys)
        lines = [Content.assemble("PAGES  ", (f"{seen} of {len(keys)} viewed", ""))]
        if again := sum(key in self.marks.changed for key in keys):
            lines.append(Content.styled(f"• {again} changed since you marked them", "$warning"))
        if self.left_out:
            lines.append(Content.styled(f"{plural(self.left_out, 'change')} not listed by the server", "$warning"))
        if self.sides is not None and self.sides.name:
            lines.append(Content.styled(f"against {self.sides.name}", "$primary"))
        self.query_one("#changes-title", ChangingText).update(Content("\n").join(lines))

    def say_where(self) -> None:
        about = self._change_request
        keys = list(self._entries)
        here = str(self.page_tree.key)
        place = f"page {keys.index(here) + 1} of {len(keys)}" if here in self._entries else ""
        against = f"against {self.sides.name}" if self.sides is not None and self.sides.name else ""
        space = self.shell.workspace.space(self._space.space_id)
        where = f"{space.title} › " if space is not None else ""
        self.status(
            f"Changes › {where}#{about.number} {about.title}",
            " · ".join(each for each in (place, against, self.view.facts) if each),
        )

    # What Comparing asks

    @property
    def change_on_show(self) -> ChangedPage | None:
        return self._stops.get(str(self.page_tree.key))

    def pages_ahead(self) -> Iterable[ChangedPage]:
        keys, here = self._readable, str(self.page_tree.key)
        at = keys.index(here) + 1 if here in keys else 0
        return [self._stops[key] for key in islice((*keys[at:], *reversed(keys[:at])), AHEAD)]

    @property
    def entries(self) -> Sequence[str]:
        return list(self._stops)

    def go_to_place(self, at: Discussion, page: str | None, node: str) -> bool:
        if self.discussion != at:
            return False
        if page is not None and page != (self.page_on_show or ("",))[0]:
            self.go_to_change_of(page)
        return True

    def go_to_change_of(self, page_id: str) -> bool:
        return page_id in self._readable and self.page_tree.reveal(page_id)

    @on(Lines.Highlighted, "#changes")
    def _highlighted(self) -> None:
        if self.page_tree.key is not None:
            self.marks.place = str(self.page_tree.key)
            self._keep_place_soon()
        self.show_diff()

    @on(DiffView.Moved)
    def _keep_place_soon(self) -> None:
        if self._keeping is None:
            self._keeping = self.set_timer(KEEP_PLACE, self._keep_place)

    def _keep_place(self) -> None:
        self._keeping = None
        self.marks.keep_place()

    def on_unmount(self) -> None:
        self.marks.keep_place()

    @on(Lines.Chosen, "#changes")
    def _chosen(self) -> None:
        self.view.focus()

    # What Proposing asks

    def _show_where_held(self, entry: Entry) -> None:
        page = page_of(entry)
        if page in self._readable or (not page and WHOLE in self._readable):
            self.page_tree.reveal(page or WHOLE)
        self.page_discussion.open_thread(entry.pending_id)

    @property
    def request_at_hand(self) -> RequestAtHand:
        """What the keys of change requests are about."""
        return RequestAtHand(
            self._change_request,
            self._space,
            self,
            reviews=self.reviews,
            titles=lambda: self.page_titles,
            shows_held=self._show_where_held,
        )

    @property
    def held_comments(self) -> tuple[Entry, ...]:
        """What is held for the review, in the order written."""
        return held_for(self.shell, self.request_at_hand)

    @property
    def change_request(self) -> ChangeRequest | None:
        return self._change_request

    @property
    def space_ref(self) -> SpaceRef | None:
        return self._space

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "viewed" and self.is_mounted and str(self.page_tree.key) not in self._entries:
            return "Nothing changes here." if self.page_tree.keys else "There is no page here."
        if action == "whole_tree" and not self.after:
            return "Its pages are still loading."
        return super().why_not(action, parameters)

    # Actions

    @property
    def _comments_on_whole(self) -> bool:
        """From the diff of a page the page is meant, from the list of pages the change request as a whole."""
        change = self.change_on_show
        return self.focused is not self.view or change is None or change.page is None

    def why_no_comment_on_page(self) -> str | None:
        if self._comments_on_whole:
            return may_not_comment_on_whole(self.shell, self.request_at_hand)
        return super().why_no_comment_on_page()

    def comment_on_page(self) -> None:
        if self._comments_on_whole:
            comment_on_whole(self.shell, self.request_at_hand)
        else:
            super().comment_on_page()

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.action_read_on(1)

    def _take_up_marks(self) -> None:
        earlier = self.marks.at(self._change_request.revision or "")
        if earlier is not None:
            self.instead("marks", partial(self._renew_marks, earlier))

    async def _renew_marks(self, earlier: str) -> None:
        try:
            found = await self.changed_since(earlier)
        except ApiError:
            found = None
        self.marks.renew(None if found is None else {each.key for each in found})
        self.show_changed()

    def action_viewed(self) -> None:
        key = str(self.page_tree.key)
        if key not in self._entries:
            return
        is_viewed = self.marks.toggle(key)
        self.show_changed()
        if not is_viewed:
            return
        keys = list(self._entries)
        at = keys.index(key)
        following = next((each for each in (*keys[at + 1 :], *keys[:at]) if each not in self.marks.keys), None)
        if following is not None:
            self.page_tree.reveal(following)
        else:
            self.shell.say(f"You looked at all of #{self._change_request.number}. a approves, A asks for changes.")

    def action_read_on(self, step: int) -> None:
        keys = [str(key) for key in self.page_tree.keys] if self.page_tree.words else list(self._stops)
        here = str(self.page_tree.key)
        at = keys.index(here) if here in keys else -1
        among = keys[at + 1 :] if step > 0 else reversed(keys[: max(at, 0)])
        following = next((key for key in among if key in self._readable), None)
        if following is not None:
            self.page_tree.reveal(following)

    def action_whole_tree(self) -> None:
        self._shows_all = not self._shows_all
        self.show_changed()

    def action_export(self) -> None:
        from octavo.tui.shell.exporting import choose

        change = self.change_on_show
        page = change.page if change is not None and change.is_document and change.is_there_after else None
        about = self._change_request
        choose(
            self.shell, self.at, f"#{about.number} {about.title}", (page.id, change.title) if page and change else None
        )

    def go_up(self) -> bool:
        return self.climb(self.page_tree, when=self.focused is self.view)
