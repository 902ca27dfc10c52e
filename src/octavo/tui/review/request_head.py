"""The first line and the reviewers in the view of a change request, and the position in the status line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from octavo.api import change_requests
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.reviews import RequestedReviewer
from octavo.api.users import Contributor
from octavo.data.live import Snapshot
from octavo.data.proposed_notes import ProposedNote
from octavo.data.queries import requested_of
from octavo.data.writes.machine import OutboxEntry
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.core.permissions import UNDECIDED
from octavo.tui.core.view import View
from octavo.tui.review import request_status
from octavo.tui.review.changed_tree import ChangedTree, diff_of
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.text_widgets import ChangingText

MAX_REVISIONS = 5
"""Maximum number of reviewed revisions for which Octavo counts the later changed pages."""


class RequestHead:
    """Draws the first line `#head` and the list of reviewers `#standing` of a change request."""

    def __init__(self, view: View, comparison: Comparison, threads: DiffThreads, pages: ChangedTree) -> None:
        self._view, self._comparison, self._threads, self._pages = view, comparison, threads, pages
        self._requested: tuple[RequestedReviewer, ...] = ()
        self._contributors: tuple[Contributor, ...] = ()
        self._pending: tuple[OutboxEntry, ...] = ()
        """Pending comments in the first line when it was last drawn."""
        self._changed_since: dict[str, int] = {}
        """Number of pages that changed after a reviewed revision, by revision ID."""

    def start(self) -> None:
        """Follow the requested reviewers and the contributors."""
        at = self._comparison.at
        self._view.subscriptions.follow_whole("requested", requested_of(at), self._show_requested)
        self._view.subscriptions.follow_whole(
            "contributors", change_requests.ListContributors(at=at), self._show_contributors
        )

    def _show_requested(self, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        self._requested = snapshot.value.items if snapshot.value else ()
        self.draw()

    def _show_contributors(self, snapshot: Snapshot[ListPage[Contributor]]) -> None:
        self._contributors = snapshot.value.items if snapshot.value else ()
        self.draw()

    def show_reviews(self, *, renew: bool = False) -> None:
        """Draw the reviews, and count the pages that changed after each review. With `renew` all pages are counted
        again, because the change request has a new revision."""
        if renew:
            self._changed_since.clear()
        self.draw()
        comparison = self._comparison
        now = comparison.change_request.revision
        earlier = [each.revision for each in comparison.reviews if not each.outdated and each.revision]
        unknown = [each for each in dict.fromkeys(earlier) if each not in (*self._changed_since, now)]
        if unknown and now:
            comparison.replace_worker("reviews", partial(self._count_changed_since, unknown[:MAX_REVISIONS]))

    async def _count_changed_since(self, revisions: list[str]) -> None:
        now = self._comparison.change_request.revision
        for revision in revisions:
            try:
                pages = await self._comparison.changed_since(revision)
            except ApiError:
                return  # The review is marked as outdated even without the count.
            if pages is not None and now == self._comparison.change_request.revision:
                self._changed_since[revision] = len(pages)
        self.draw()

    def show_pending(self, draw_threads: Callable[[], None]) -> None:
        """Draw the first line and the threads again if the pending comments changed."""
        if self._pending != self._pending_comments():
            self.draw()
            draw_threads()
            self._view.refresh_bindings()

    def _pending_comments(self) -> tuple[OutboxEntry, ...]:
        shell = self._view.shell
        return shell.session.outbox.pending_comments(self._comparison.at) if shell.has_session else ()

    def _proposed_notes(self) -> tuple[ProposedNote, ...]:
        shell = self._view.shell
        return shell.session.proposed.at(self._comparison.at) if shell.has_session else ()

    def draw(self) -> None:
        """Draw the first line and the reviewers."""
        view, comparison = self._view, self._comparison
        if not is_whole(view):
            return
        change_request, space = comparison.change_request, view.shell.workspace.space(comparison.space.space_id)
        open_count = sum(thread.is_open_thread for thread in self._threads.posted_threads)
        width = max(20, view.size.width)
        undecided = len(comparison.diffs.with_markers) if change_request.status in UNDECIDED else 0
        self._pending = self._pending_comments()
        context = space.title if space else "", comparison.reviews, open_count, width
        counts = len(comparison.conflicting), undecided, len(self._pending), len(self._proposed_notes())
        head = request_status.first_line(change_request, *context, *counts, is_on_main=comparison.is_on_main)
        view.query_one("#head", ChangingText).update(head)
        me = view.shell.workspace.me.id if view.shell.workspace.me is not None else ""
        people = comparison.reviews, self._requested, self._contributors
        people_text = request_status.reviewer_list(change_request, *people, self._changed_since, me)
        view.query_one("#standing", ChangingText).update(people_text)
        self.show_position()

    def show_position(self) -> None:
        """Show the position in the change request in the status line."""
        comparison, pages = self._comparison, self._pages
        change_request, sides = comparison.change_request, comparison.sides
        keys = list(pages.changing)
        selected = pages.key
        position = f"page {keys.index(selected) + 1} of {len(keys)}" if selected in pages.changing else ""
        against = f"compared with {sides.old_name}" if sides is not None and sides.old_name else ""
        space = self._view.shell.workspace.space(comparison.space.space_id)
        space_name = f"{space.title} › " if space is not None else ""
        diff = diff_of(self._view)
        diff.contents.has_page_before = pages.has_next(-1)
        diff.contents.has_page_after = pages.has_next(1)
        self._view.show_location(
            f"Changes › {space_name}#{change_request.number} {change_request.title}",
            " · ".join(each for each in (position, against, diff.facts) if each),
        )
