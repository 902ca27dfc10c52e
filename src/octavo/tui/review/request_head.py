"""What a change request is about and how it stands, above and below its pages, and where one is in the status line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from octavo.api import change_requests
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.reviews import RequestedReviewer
from octavo.api.users import Contributor
from octavo.data.live import Snapshot
from octavo.data.queries import requested_of
from octavo.data.writes.machine import OutboxEntry
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.review import status_summary
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.diff_base import Comparison
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.view import View
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.text_widgets import ChangingText

MOST_REVISIONS = 5
"""Earlier revisions that were reviewed and are looked into for what changed since."""


class RequestHead:
    """The head `#head` and what is said of reviewers in `#standing`."""

    def __init__(self, view: View, comparison: Comparison, threads: DiffThreads, pages: ChangedTree) -> None:
        self._view, self._comparison, self._threads, self._pages = view, comparison, threads, pages
        self._requested: tuple[RequestedReviewer, ...] = ()
        self._contributors: tuple[Contributor, ...] = ()
        self._held: tuple[OutboxEntry, ...] = ()
        """What was shown as held for the review."""
        self._newer: dict[str, int] = {}
        """How many pages changed since a revision that was reviewed."""

    def start(self) -> None:
        """Ask who is asked for a review, and who wrote."""
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

    def show_reviews(self, *, anew: bool = False) -> None:
        """Show the reviews, and how many pages changed since each: with `anew` another revision is proposed now."""
        if anew:
            self._newer.clear()
        self.draw()
        comparison = self._comparison
        now = comparison.about.revision
        earlier = [each.revision for each in comparison.reviews if not each.outdated and each.revision]
        unknown = [each for each in dict.fromkeys(earlier) if each not in (*self._newer, now)]
        if unknown and now:
            comparison.instead("reviews", partial(self._look_since, unknown[:MOST_REVISIONS]))

    async def _look_since(self, revisions: list[str]) -> None:
        now = self._comparison.about.revision
        for revision in revisions:
            try:
                found = await self._comparison.changed_since(revision)
            except ApiError:
                return  # that it was an earlier revision is said anyway
            if found is not None and now == self._comparison.about.revision:
                self._newer[revision] = len(found)
        self.draw()

    def show_held(self, draw_threads: Callable[[], None]) -> None:
        """Show what is held for the review here, and at its places, if it is other than what was shown."""
        if self._held != self._held_now():
            self.draw()
            draw_threads()
            self._view.refresh_bindings()

    def _held_now(self) -> tuple[OutboxEntry, ...]:
        shell = self._view.shell
        return shell.session.outbox.pending_comments(self._comparison.at) if shell.has_session else ()

    def draw(self) -> None:
        """Write it as it is now."""
        view, comparison = self._view, self._comparison
        if not is_whole(view):
            return
        about, space = comparison.about, view.shell.workspace.space(comparison.space.space_id)
        still_open = sum(thread.is_open_thread for thread in self._threads.posted)
        width = max(20, view.size.width)
        undecided = len(comparison.diffs.undecided) if about.status in UNDECIDED else 0
        self._held = self._held_now()
        place = space.title if space else "", comparison.reviews, still_open, width
        counts = len(comparison.conflicting), undecided, len(self._held)
        head = status_summary.head(about, *place, *counts, is_on_main=comparison.is_on_main)
        view.query_one("#head", ChangingText).update(head)
        me = view.shell.workspace.me.id if view.shell.workspace.me is not None else ""
        people = comparison.reviews, self._requested, self._contributors
        said = status_summary.reviewers(about, *people, self._newer, me)
        view.query_one("#standing", ChangingText).update(said)
        self.say_where()

    def say_where(self) -> None:
        """Say in the status line where one is."""
        comparison, pages = self._comparison, self._pages
        about, sides = comparison.about, comparison.sides
        keys = list(pages.changing)
        here = pages.key
        place = f"page {keys.index(here) + 1} of {len(keys)}" if here in pages.changing else ""
        against = f"compared with {sides.name}" if sides is not None and sides.name else ""
        space = self._view.shell.workspace.space(comparison.space.space_id)
        where = f"{space.title} › " if space is not None else ""
        diff = self._view.query_one(DiffView)
        diff.contents.has_page_before = pages.has_other(-1)
        diff.contents.has_page_after = pages.has_other(1)
        self._view.show_location(
            f"Changes › {where}#{about.number} {about.title}",
            " · ".join(each for each in (place, against, diff.facts) if each),
        )
