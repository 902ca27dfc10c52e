"""The preview of a change request beside a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ChangeRequestRef, ListPage, Operation, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.data.drafts import draft_name
from octavo.data.live import Snapshot
from octavo.data.queries import requested_reviewers_op, reviews_op
from octavo.documents.page_trees import title_of
from octavo.documents.suggestions import one_line_text
from octavo.tui.review.merge_checks import ALREADY_ON_MAIN, ARCHIVE_HINT, sign_of
from octavo.tui.review.request_status import RequestStatus, StatusField, merged_text
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.short_texts import long_age, plural, safe
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.core.view import View

MAX_PAGES = 60
_FIELD_NAMES: dict[StatusField, str] = {
    "reviews": "reviews",
    "requested": "requested reviewers",
    "conflicts": "conflicts",
}
_PAGES_HEADING = Content.styled("PAGES", "bold $octavo-muted")
SELECTION_DELAY = 0.12
"""Seconds for which a row must be selected before its details are loaded."""


def _details_of(at: ChangeRequestRef) -> dict[str, Operation[Any]]:
    return {
        "summary changes": content.ListChanges(at=at, limit=1000),
        "summary reviews": reviews_op(at),
        "summary requested": requested_reviewers_op(at),
    }


class RequestPreview(VerticalScroll, can_focus=False):
    """Pane that previews a change request beside a list. The list keeps the focus. Its keys also scroll the preview."""

    DEFAULT_CSS: ClassVar[str] = """
    RequestPreview {
        width: 1fr; padding: 0 2; background: $background; color: $foreground; scrollbar-size-vertical: 1;
        & > Static { width: 100%; height: auto; }
    }
    """

    def __init__(self, status_of: Callable[[ChangeRequest], RequestStatus], id: str | None = None) -> None:
        """`status_of` returns the status of a change request as far as it is loaded."""
        super().__init__(id=id)
        self._status_of = status_of
        self._change_request: ChangeRequest | None = None
        self._details: dict[str, Operation[Any]] = {}
        """Operations that load the details of the change request, by slot of `subscriptions`."""
        self._selection_delay = Delay(self)

    def compose(self) -> ComposeResult:
        yield ChangingText()

    @property
    def view(self) -> View:
        return cast("View", self.screen)

    def show(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        """Show `change_request`. The details are loaded after `SELECTION_DELAY` seconds."""
        if self._change_request is None or self._change_request.id != change_request.id:
            self.scroll_home(animate=False)
            for slot in self._details:
                self.view.follow(slot, None)
            self._details = _details_of(change_request.ref(space))
            self._selection_delay.start(SELECTION_DELAY, self._load)
        self._change_request = change_request
        self._draw()

    def clear(self) -> None:
        """Show no change request."""
        self._selection_delay.stop()
        self._change_request = None
        self._draw()

    def _load(self) -> None:
        if self._change_request is not None:
            for slot, operation in self._details.items():
                self.view.follow(slot, operation, lambda _: self._draw(), refetch=False)

    def _snapshot(self, slot: str) -> Snapshot[Any]:
        """Return the response for `slot`, such as `summary reviews`. Until it is loaded, return the cached response."""
        snapshot: Snapshot[Any] = self.view.subscriptions.snapshot(slot)
        is_empty = snapshot.value is None and snapshot.error is None
        return self.view.live.peek(self._details[slot]) if is_empty else snapshot

    def status_changed(self, request_id: str) -> None:
        """Draw the preview again if it shows the change request with this ID."""
        if self._change_request is not None and self._change_request.id == request_id:
            self._draw()

    def _draw(self) -> None:
        self.query_one(ChangingText).update(self._content())

    def _content(self) -> Content:
        change_request = self._change_request
        if change_request is None:
            return Content("")
        author = change_request.author_name or "unknown author"
        lines = [
            Content.assemble((f"#{change_request.number}  ", "$octavo-muted"), (change_request.title, "bold")),
            Content.styled(
                f"{author} · {long_age(change_request.updated_at)} · {change_request.status}", "$octavo-muted"
            ),
            Content(""),
        ]
        for draft in self.view.shell.session.drafts.all():
            if draft.key.startswith(f"review {change_request.space} {change_request.id} "):
                lines += [Content.styled(f"◌ unsent draft: {draft_name(draft.key)}", "$octavo-muted")]
                lines += [safe(draft.text), Content("")]
        if change_request.description_text:
            lines += [Content(change_request.description_text), Content("")]
        status = self._status_of(change_request)
        notes: list[Content] = []
        if change_request.status == "merged":
            hint = "Press Z to create a change request that reverts the merge."
            notes.append(Content.styled(f"✓ {merged_text(change_request)}. {hint}", "$success"))
        if status.is_on_main:
            notes.append(Content.styled(f"✓ {ALREADY_ON_MAIN} {ARCHIVE_HINT}", "$success"))
        elif status.is_outdated:
            notes.append(Content.styled("✗ outdated: main has changed. Press U to update from main.", "$warning"))
        if status.conflicts:
            notes.append(Content.styled(f"✗ may conflict: {', '.join(status.conflicts)}", "$error"))
        notes += [
            Content.styled(f"! Could not load the {_FIELD_NAMES[name]}: {cause}", "$warning")
            for name, cause in status.load_errors.items()
        ]
        lines += [*notes, Content("")] if notes else []
        details = [self._snapshot(slot) for slot in self._details]
        if any(each.value is None and each.error is None for each in details):
            # All details appear at once: one after the other, they would push each other down.
            return Content("\n").join([*lines, _PAGES_HEADING, Content.styled("…", "$octavo-muted")])
        lines += self._changed_lines(details[0])
        lines += self._review_lines(details[1].value, details[2].value)
        if status.open_thread_count:
            lines.append(Content.styled(f"● {plural(status.open_thread_count, 'open thread')}", "$octavo-note"))
        return Content("\n").join(lines)

    def _changed_lines(self, snapshot: Snapshot[content.Changes]) -> list[Content]:
        if snapshot.value is None:
            return [_PAGES_HEADING, Content.styled(str(snapshot.error), "$octavo-muted"), Content("")]
        styles = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}
        changes = snapshot.value.changes
        lines = [
            Content.assemble((sign_of(each), styles[sign_of(each)]), " ", title_of(each))
            for each in changes[:MAX_PAGES]
        ]
        if more_count := len(changes) - len(lines) + snapshot.value.missing_count:
            lines.append(Content.styled(f"  and {more_count} more", "$octavo-muted"))
        if not lines:
            lines = [Content.styled("No changes yet.", "$octavo-muted")]
        return [_PAGES_HEADING, *lines, Content("")]

    def _review_lines(
        self, reviews: ListPage[Review] | None, reviewers: ListPage[RequestedReviewer] | None
    ) -> list[Content]:
        current_reviews = [review for review in (reviews.items if reviews else ()) if not review.outdated]
        requested_reviewers = reviewers.items if reviewers else ()
        if not current_reviews and not requested_reviewers:
            return []
        change_request = self._change_request
        lines = [Content.styled("REVIEWS", "bold $octavo-muted")]
        for review in current_reviews:
            is_approval = review.status == "approved"
            is_outdated = change_request is not None and review.is_of_other_revision(change_request.revision)
            sign = ("✓ ", "$success") if is_approval else ("✗ ", "$error")
            word = "approved" if is_approval else "requested changes"
            note = " · outdated" if is_outdated else ""
            lines.append(Content.assemble(sign, f"{review.reviewer.name} {word}", (note, "$warning")))
            if review.comment is not None and (comment := one_line_text(review.comment.body.text)):
                lines.append(Content.styled(comment, "$octavo-muted"))
        me = self.view.shell.workspace.me
        for each in requested_reviewers:
            if each.user is not None:
                is_me = me is not None and each.user.id == me.id
                label = "your review requested" if is_me else f"review requested from {each.user.name}"
                lines.append(Content.assemble(("○ ", "$primary" if is_me else "$octavo-muted"), label))
        return [*lines, Content("")]
