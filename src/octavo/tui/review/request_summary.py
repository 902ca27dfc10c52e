"""What a change request is about, at a glance: who, why, what it changes, who reviewed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.timer import Timer

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ListPage
from octavo.api.places import SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.data.comment_text import plain_text
from octavo.data.live import Snapshot
from octavo.data.queries import requested_of, reviews_of
from octavo.tui.review.merge_checks import ALREADY_ON_MAIN, PRESS_L, name, sign
from octavo.tui.review.status_summary import Fact, RequestStatus, merged_by
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import long_age, plural

if TYPE_CHECKING:
    from octavo.tui.shell.view import View

MOST_PAGES = 60
_NAMES: dict[Fact, str] = {"reviews": "reviews", "requested": "requested reviewers", "conflicts": "conflicts"}
ASK_AFTER = 0.12
"""Seconds the cursor rests on a change request before its details are asked for."""


class Summary(VerticalScroll, can_focus=False):
    """The right side of the list of change requests. The list has the keys: `scroll_page_on` is how it is read on."""

    DEFAULT_CSS: ClassVar[str] = """
    Summary {
        width: 1fr; padding: 0 2; background: $background; color: $foreground; scrollbar-size-vertical: 1;
        & > Static { width: 100%; height: auto; }
    }
    """

    def __init__(self, stands: Callable[[ChangeRequest], RequestStatus], id: str | None = None) -> None:
        """`stands` says how one stands, as far as that is known."""
        super().__init__(id=id)
        self._stands = stands
        self._about: ChangeRequest | None = None
        self._space: SpaceRef | None = None
        self._changes: Snapshot[content.Changes] = Snapshot()
        self._reviews: Snapshot[ListPage[Review]] = Snapshot()
        self._requested: Snapshot[ListPage[RequestedReviewer]] = Snapshot()
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield ChangingText()

    @property
    def view(self) -> View:
        return cast("View", self.screen)

    def show(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        """Show `change_request`; its details follow when the cursor rests on it."""
        if self._about is None or self._about.id != change_request.id:
            self.scroll_home(animate=False)
            self._changes, self._reviews = Snapshot(loading=True), Snapshot(loading=True)
            self._requested = Snapshot(loading=True)
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(ASK_AFTER, self._ask)
        self._about, self._space = change_request, space
        self._draw()

    def clear(self) -> None:
        """Show nothing: the cursor is on none."""
        if self._timer is not None:
            self._timer.stop()
        self._about = None
        self._draw()

    def _ask(self) -> None:
        if self._about is None or self._space is None:
            return
        at = self._about.ref(self._space)
        self.view.follow("summary changes", content.ListChanges(at=at, limit=1000), self._show_changes)
        self.view.follow("summary reviews", reviews_of(at), self._show_reviews, refetch=False)
        self.view.follow("summary requested", requested_of(at), self._show_requested, refetch=False)

    def _show_changes(self, snapshot: Snapshot[content.Changes]) -> None:
        self._changes = snapshot
        self._draw()

    def _show_reviews(self, snapshot: Snapshot[ListPage[Review]]) -> None:
        self._reviews = snapshot
        self._draw()

    def _show_requested(self, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        self._requested = snapshot
        self._draw()

    def status_changed(self, name: str) -> None:
        """Something else is known of how the one called so stands."""
        if self._about is not None and self._about.id == name:
            self._draw()

    def scroll_page_on(self, direction: int) -> bool:
        """Scroll one page. False at the end in that direction, or when it is not on show: there was nothing more."""
        at_end = self.scroll_y >= self.max_scroll_y if direction > 0 else self.scroll_y <= 0
        if at_end or not self.display:
            return False
        self.scroll_relative(y=direction * max(1, self.size.height - 2), animate=False)
        return True

    def _draw(self) -> None:
        self.query_one(ChangingText).update(self._content())

    def _content(self) -> Content:
        about = self._about
        if about is None:
            return Content("")
        author = about.created_by.name if about.created_by else "unknown author"
        lines = [
            Content.assemble((f"#{about.number}  ", "$octavo-muted"), (about.title, "bold")),
            Content.styled(f"{author} · {long_age(about.updated_at)} · {about.status}", "$octavo-muted"),
            Content(""),
        ]
        if about.description_text:
            lines += [Content(about.description_text), Content("")]
        stands = self._stands(about)
        against: list[Content] = []
        if about.status == "merged":
            against.append(
                Content.styled(
                    f"✓ {merged_by(about)}. Press Z to create a change request that reverts the merge.", "$success"
                )
            )
        if stands.is_on_main:
            against.append(Content.styled(f"✓ {ALREADY_ON_MAIN} {PRESS_L}", "$success"))
        elif stands.outdated:
            against.append(Content.styled("✗ outdated: main has changed. Press U to update from main.", "$warning"))
        if stands.conflicts:
            against.append(Content.styled(f"✗ may conflict: {', '.join(stands.conflicts)}", "$error"))
        against += [
            Content.styled(f"! Could not load the {_NAMES[fact]}: {cause}", "$warning")
            for fact, cause in stands.unread.items()
        ]
        lines += [*against, Content("")] if against else []
        lines += self._changed_lines()
        lines += self._review_lines()
        if stands.threads:
            lines.append(Content.styled(f"● {plural(stands.threads, 'open thread')}", "$octavo-note"))
        return Content("\n").join(lines)

    def _changed_lines(self) -> list[Content]:
        heading = Content.styled("PAGES", "bold $octavo-muted")
        if self._changes.value is None:
            said = str(self._changes.error) if self._changes.error else "…"
            return [heading, Content.styled(said, "$octavo-muted"), Content("")]
        styles = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}
        changes = self._changes.value.changes
        lines = [Content.assemble((sign(each), styles[sign(each)]), " ", name(each)) for each in changes[:MOST_PAGES]]
        if len(changes) > MOST_PAGES:
            lines.append(Content.styled(f"  and {len(changes) - MOST_PAGES} more", "$octavo-muted"))
        if not changes:
            lines = [Content.styled("No changes yet.", "$octavo-muted")]
        return [heading, *lines, Content("")]

    def _review_lines(self) -> list[Content]:
        given = self._reviews.value.items if self._reviews.value else ()
        current = [review for review in given if not review.outdated]
        asked = self._requested.value.items if self._requested.value else ()
        if not current and not asked:
            return []
        about = self._about
        lines = [Content.styled("REVIEWS", "bold $octavo-muted")]
        for review in current:
            approved = review.status == "approved"
            stale = about is not None and review.revision is not None and review.revision != about.revision
            mark = ("✓ ", "$success") if approved else ("✗ ", "$error")
            word = "approved" if approved else "requested changes"
            lines.append(
                Content.assemble(
                    mark,
                    f"{review.reviewer.name} {word}",
                    (" · outdated" if stale else "", "$warning"),
                )
            )
            if review.comment is not None and (words := plain_text(review.comment.body.text)):
                lines.append(Content.styled(words, "$octavo-muted"))
        me = self.view.shell.workspace.me
        for each in asked:
            if each.user is not None:
                is_me = me is not None and each.user.id == me.id
                who = "your review requested" if is_me else f"review requested from {each.user.name}"
                lines.append(Content.assemble(("○ ", "$primary" if is_me else "$octavo-muted"), who))
        return [*lines, Content("")]
