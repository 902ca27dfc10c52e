"""Compares a change request with its base, your last review or main. Loads the changed pages, the reviews and the
predicted conflicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from textual.worker import WorkType

from octavo.api import content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Changes, Page, PageTree
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, ContentRef, ListPage, RevisionRef, SpaceRef
from octavo.api.reviews import Review
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, reviews_op
from octavo.documents.page_trees import ChangedPage, changed_pages, changes_between, has_document_ids
from octavo.tui.render.comparison import PageComparison
from octavo.tui.review.changed_pages import ComparedRevisions, DiffCache, conflicting_keys
from octavo.tui.review.merge_checks import load_revision, predict_conflicts
from octavo.tui.review.request_status import needs_prediction
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import short_age

if TYPE_CHECKING:
    from octavo.tui.core.view import View

OldRevision = Literal["base", "review", "main"]
_OLD_REVISION_NAMES: dict[OldRevision, str] = {"review": "your last review", "main": "main"}
FIRST_LIMIT = 100
"""Number of changes that the first API request asks for."""
MAX_LIMIT = 1000
"""Maximum number of changes that the server lists. Octavo finds more by comparing the revisions."""
PREDICTION_DELAY = 0.6
"""Delay in seconds before merge conflicts are predicted, so that the first diff loads earlier."""
REVIEWS_WAIT_SECONDS = 2.0
"""Seconds to wait for the reviews when the view opens. If the reviews load later, the diff does not change to start at
the revision of your last review."""
TREE_WAIT_SECONDS = 0.5
"""Seconds for which the list of changed pages waits for the page tree, which gives their order."""


class Comparison:
    """Comparison of a change request with an old revision, which you can choose."""

    def __init__(
        self,
        view: View,
        change_request: ChangeRequest,
        space: SpaceRef,
        *,
        on_change: Callable[[], None],
        on_diff: Callable[[ChangedPage, PageComparison], None],
        on_reviews: Callable[[], None],
        on_new_base: Callable[[], None],
        opens_at_review: bool,
    ) -> None:
        """`on_change` is called when the changed pages, page tree, predicted conflicts or `error_text` change.
        `on_diff` is called for each compared page, and `on_reviews` when reviews or predicted conflicts change.
        `on_new_base` is called when you chose another old revision and its changes are loaded. With `opens_at_review`,
        the first old revision is that of your last review."""
        self._view, self._on_change, self._on_diff = view, on_change, on_diff
        self._on_reviews, self._on_new_base = on_reviews, on_new_base
        self.change_request = change_request.with_space(space)
        """Change request as it was loaded last."""
        self.space = space
        self.at: ChangeRequestRef = change_request.ref(space)
        self.revisions: ComparedRevisions | None = None
        """Compared revisions. None while they are unknown."""
        self.changed_pages: tuple[ChangedPage, ...] | None = None
        """Changed pages. None while they are loading."""
        self.unlisted_count = 0
        """Number of changes that `changed_pages` lacks, because the server did not list them."""
        self.old_pages: tuple[Page, ...] = ()
        """Page tree of the old revision, which shows where deleted pages were. Empty until it is needed."""
        self._new_pages: tuple[Page, ...] | None = None
        """Page tree of the new revision. None if the new revision is the current one: `tree` then has its page tree."""
        self._may_wait_for_tree = True
        self._base: OldRevision = "base"
        self._is_base_chosen = False
        """True after you chose the old revision yourself."""
        self._is_opening = opens_at_review and change_request.status in UNDECIDED
        """True while Octavo may still replace the old revision by the revision that you reviewed last."""
        self._has_reviews = self._are_reviews_current = self._is_request_current = False
        self._is_base_new = False
        """True from the choice of another old revision until the changes since this revision are loaded."""
        self._listed_changes: Changes | None = None
        self._is_list_outdated = False
        """True until the list of changes of a new revision is loaded."""
        self.fetched_at: datetime | None = None
        """Time when the list of changes was fetched."""
        self._completed_list: Changes | None = None
        """The server's list that `changed_pages` completes with unlisted changes. None as long as nothing was added."""
        self.conflicting_keys: frozenset[str] = frozenset()
        """Keys of the items in the tree that may conflict with main."""
        self.conflict_count = 0
        """Number of pages, other items and variables that may conflict with main."""
        self.is_on_main = False
        """True if main already has all changes of the change request, according to the prediction."""
        self._predicted_for = ""
        """IDs of the change request and revisions of the last prediction. Empty without prediction, or if it failed."""
        self._limit = FIRST_LIMIT
        self.error_text = ""
        """Error message if the changes could not be loaded. Otherwise empty."""
        self.why_outdated: Callable[[], str | None] = lambda: None
        """Returns why the screen still shows an earlier revision. None if it shows the current revision."""
        self.reviews: tuple[Review, ...] = ()
        """All reviews, newest first."""

    @cached_property
    def diffs(self) -> DiffCache:
        """Cache of the diffs of the changed pages."""
        return DiffCache(self._view.live, self._on_diff)

    def start(self) -> None:
        """Load and watch the changes, the reviews and the page tree."""
        if self._is_opening:
            self._view.set_timer(REVIEWS_WAIT_SECONDS, self._stop_waiting_for_reviews)
        self._follow_changes()
        self._view.subscriptions.follow_whole("reviews", reviews_op(self.at), self._show_reviews)
        self._view.follow("tree", content.ListPages(at=self.at), lambda _: self._on_change())
        # A new revision of main can cause conflicts, so the merge is predicted again.
        self._view.shell.workspace.spaces_changed.subscribe(self._view, lambda _: self._predict_soon())

    def stop(self) -> None:
        """Cancel all comparisons of pages."""
        if self.revisions is not None:
            self.diffs.stop()

    def replace_worker(self, group: str, work: WorkType[None]) -> None:
        """Run `work`, a function and not a coroutine, as a worker, and cancel the other workers of `group`."""
        self._view.run_worker(work, exclusive=True, group=group)

    @property
    def titles(self) -> Mapping[str, str]:
        """Titles of all pages of the old and the new revision, by page ID. The new title of a page wins."""
        return {
            page.id: page.title or "Untitled" for root in (*self.old_pages, *self.new_pages) for page in root.walk()
        }

    @property
    def new_pages(self) -> tuple[Page, ...]:
        """Page tree of the new revision. Empty while it is not loaded."""
        if self._new_pages is not None:
            return self._new_pages
        return self.tree.value.pages if self.tree.value is not None else ()

    @property
    def is_waiting_for_tree(self) -> bool:
        """True while the page tree loads, at most until `TREE_WAIT_SECONDS` after the changed pages are known."""
        return self._may_wait_for_tree and not self.new_pages and self.tree.is_loading

    def _stop_waiting_for_tree(self) -> None:
        self._may_wait_for_tree = False
        self._on_change()

    def set_change_request(self, change_request: ChangeRequest, *, is_current: bool) -> bool:
        """Store a change request. `is_current` is False if cached. Return True if revisions or status changed."""
        before = self.change_request
        after = self.change_request = change_request.with_space(self.space)
        self._is_request_current = is_current
        self._is_list_outdated = self._is_list_outdated or before.revision != after.revision
        has_changed = (before.revision, before.base, before.status) != (after.revision, after.base, after.status)
        if not has_changed:
            self._finish_opening()
        return has_changed

    def reload(self) -> None:
        """Load the changes and the page tree again, because there is a new revision."""
        for slot in ("changes", "tree"):
            if (op := self._view.subscriptions.operation(slot)) is not None:
                self._view.shell.background(self._view.live.refresh(op, repeats=True))
        self._find_changes()

    def _follow_changes(self) -> None:
        self._view.follow("changes", content.ListChanges(at=self.at, limit=self._limit), self._show_listed)

    def _show_listed(self, snapshot: Snapshot[Changes]) -> None:
        self.error_text = str(snapshot.error) if snapshot.error is not None else ""
        self._is_list_outdated = self._is_list_outdated and (snapshot.is_loading or snapshot.error is not None)
        if snapshot.value is None:
            if self.error_text:
                self._on_change()
            return
        self._listed_changes, self.fetched_at = snapshot.value, snapshot.fetched_at
        if snapshot.value.more and self._limit < MAX_LIMIT:
            # A reviewer should see every change, so up to `MAX_LIMIT` are loaded.
            self._limit = MAX_LIMIT
            self._view.call_later(self._follow_changes)
        self._find_changes()

    def _set_revisions(self, revisions: ComparedRevisions) -> None:
        if revisions != self.revisions:
            self._completed_list = None
        self.revisions = revisions
        self.diffs.set_revisions(revisions)

    @property
    def unreadable_count(self) -> int:
        """Number of changes in the list of the server that Octavo could not read."""
        return self._listed_changes.unreadable if self._listed_changes is not None else 0

    def _show_reviews(self, snapshot: Snapshot[ListPage[Review]]) -> None:
        self.reviews = snapshot.value.items if snapshot.value else ()
        if self._is_opening and (snapshot.value is not None or snapshot.error is not None):
            self._has_reviews, self._are_reviews_current = True, not snapshot.is_loading
            self._find_changes()
        self._on_reviews()

    def _stop_waiting_for_reviews(self) -> None:
        """Keep the base of the diff: the user may already read. If no reviews have loaded, find the changes now."""
        self._is_opening = False
        if not self._has_reviews:
            self._find_changes()

    def _finish_opening(self) -> None:
        if self._are_reviews_current and self._is_request_current:
            self._is_opening = False

    @property
    def tree(self) -> Snapshot[PageTree]:
        """Page tree of the current revision, which also resolves links."""
        return self._view.subscriptions.snapshot("tree")

    @property
    def head(self) -> ContentRef:
        """Reference of the current revision, or of the change request if the revision is unknown."""
        revision = self.change_request.revision
        return self.space.revision_ref(revision) if revision else self.at

    @property
    def is_loading_revision(self) -> bool:
        """True while the view shows changes of an earlier revision. Always False for a merged change request."""
        if self.revisions is None or self._merge_revision_id is not None:
            return False  # A merged change request gets no new revisions. The view shows the revision of the merge.
        return self._is_list_outdated or self.revisions.new != self.head

    def _predict_soon(self) -> None:
        """Predict conflicts after `PREDICTION_DELAY` seconds, if a revision has changed since the last prediction."""
        change_request, space = self.change_request, self._view.shell.workspace.space(self.space.space_id)
        predicted_for = ""
        if needs_prediction(change_request) and self._listed_changes is not None and not self._is_list_outdated:
            main = space.revision if space is not None and change_request.outdated else None
            predicted_for = f"{change_request.id} {change_request.revision} {change_request.base} {main}"
        if predicted_for != self._predicted_for:
            self._predicted_for, self.is_on_main = predicted_for, False
            self.conflicting_keys, self.conflict_count = frozenset(), 0
            if predicted_for:
                self._view.set_timer(PREDICTION_DELAY, lambda: self.replace_worker("conflicts", self._predict))

    async def _predict(self) -> None:
        change_request, listed, predicted_for = self.change_request, self._listed_changes, self._predicted_for
        if listed is None or not predicted_for:
            return
        try:
            space = await self._view.live.fetch(spaces.Get(at=self.space))
            prediction = await predict_conflicts(self._view.live, self.at, change_request, listed, main=space.revision)
        except ApiError:
            # The dialogs show the error. The next response starts another prediction.
            if predicted_for == self._predicted_for:
                self._predicted_for = ""
            return
        if predicted_for == self._predicted_for:
            self.conflicting_keys = conflicting_keys(prediction.conflicts)
            self.conflict_count = len({each.id for each in prediction.conflicts})
            self.is_on_main = prediction.is_on_main
            self._on_change()
            self._on_reviews()

    def _find_changes(self) -> None:
        self._predict_soon()
        if self._is_opening and not self._has_reviews:
            return
        # A running comparison would replace the changes that are found here.
        self._view.workers.cancel_group(self._view, "changes")
        if self._is_opening:
            self._set_base("review" if self.has_changed_since_review else "base")
            self._finish_opening()
        if self._base != "base" or self._merge_revision_id is not None:
            self.replace_worker("changes", partial(self._compare_revisions, self._base))
            return
        self._show_listed_changes(self._compare_head(self.change_request.base))

    def _show_listed_changes(self, revisions: ComparedRevisions) -> None:
        self._set_revisions(revisions)
        listed = self._listed_changes
        if listed is None:
            return
        self._new_pages = None
        if listed == self._completed_list and self.changed_pages is not None:
            self._set_changes(self.changed_pages, 0)
            return
        self._set_changes(changed_pages(listed.changes), listed.more if self._limit == MAX_LIMIT else 0)
        has_deleted = any(not each.exists_after for each in self.changed_pages or ())
        if revisions.old is not None and (has_deleted or self.unlisted_count):
            self.replace_worker("changes", partial(self._load_unlisted, revisions, revisions.old, listed))

    def _set_changes(self, pages: tuple[ChangedPage, ...], unlisted_count: int) -> None:
        if self.is_waiting_for_tree and self.changed_pages is None:
            self._view.set_timer(TREE_WAIT_SECONDS, self._stop_waiting_for_tree)
        self.changed_pages, self.unlisted_count = pages, unlisted_count
        self._on_change()
        if self._is_base_new:
            self._is_base_new = False
            self._on_new_base()

    async def _load_unlisted(self, revisions: ComparedRevisions, old_ref: RevisionRef, listed_changes: Changes) -> None:
        """Load the old page tree, which has the positions of deleted pages. Add changes that the server left out."""
        try:
            old_revision = await load_revision(self._view.live, old_ref)
            self.old_pages = old_revision.pages
            if self.unlisted_count and self.changed_pages is not None:
                new_revision = await load_revision(self._view.live, revisions.new)
                if has_document_ids(new_revision):
                    all_changes = changed_pages(await asyncio.to_thread(changes_between, old_revision, new_revision))
                    keys = {each.key for each in all_changes}
                    self.changed_pages = (*all_changes, *(each for each in self.changed_pages if each.key not in keys))
                    self.unlisted_count = 0
                    self._completed_list = listed_changes
        except ApiError:
            return  # The title shows that changes are missing.
        self._on_change()

    async def _compare_revisions(self, base: OldRevision) -> None:
        try:
            revisions = await self._revisions_to_compare(base)
            if revisions.old is None:
                self._show_listed_changes(revisions)
                return
            old_revision, new_revision = await asyncio.gather(
                load_revision(self._view.live, revisions.old), load_revision(self._view.live, revisions.new)
            )
        except ApiError as error:
            if base == "base":
                self.error_text = str(error)
                self._on_change()
            else:
                self._base, self._is_opening = "base", False
                self._view.shell.say(
                    f"Could not compare #{self.change_request.number} with {_OLD_REVISION_NAMES[base]}: {error} "
                    f"Octavo is comparing #{self.change_request.number} with its base instead.",
                    tone="failed",
                )
                self._find_changes()
            return
        pages = changed_pages(await asyncio.to_thread(changes_between, old_revision, new_revision))
        if base == "review" and not pages and not self._is_base_chosen:
            self._is_opening = False
            self._set_base("base")
            self._find_changes()
            return
        if not has_document_ids(new_revision) and self._listed_changes is not None:
            # Without document IDs, only the server's list of changes names the pages with edited texts.
            keys = {each.key for each in pages}
            pages += tuple(each for each in changed_pages(self._listed_changes.changes) if each.key not in keys)
        self._set_revisions(revisions)
        self.old_pages, self._new_pages = old_revision.pages, new_revision.pages
        self._set_changes(pages, 0)

    @property
    def _merge_revision_id(self) -> str | None:
        return self.change_request.revision_merged if self.change_request.status == "merged" else None

    def _compare_head(self, old_id: str | None, old_name: str = "") -> ComparedRevisions:
        return ComparedRevisions(self.space.revision_ref(old_id) if old_id else None, self.head, old_name)

    async def _revisions_to_compare(self, base: OldRevision) -> ComparedRevisions:
        if base == "review":
            review = self.my_review
            if review is not None and review.revision is not None:
                return self._compare_head(review.revision, _OLD_REVISION_NAMES["review"])
        if base == "main":
            space = await self._view.live.fetch(spaces.Get(at=self.space))
            if space.revision is not None:
                return self._compare_head(space.revision, _OLD_REVISION_NAMES["main"])
        if self._merge_revision_id is not None:
            new_ref = self.space.revision_ref(self._merge_revision_id)
            parents = (await load_revision(self._view.live, new_ref)).parents
            # A merge has two parents, main before the merge and the change request. Compare with main.
            old_id = next((each for each in parents if each != self.change_request.revision), None)
            if old_id is not None:
                return ComparedRevisions(self.space.revision_ref(old_id), new_ref)
        return self._compare_head(self.change_request.base)

    async def changed_since(self, revision_id: str) -> tuple[ChangedPage, ...] | None:
        """Return the pages that changed since `revision_id`. None if a revision lacks document IDs. Raises ApiError."""
        old_revision, new_revision = await asyncio.gather(
            load_revision(self._view.live, self.space.revision_ref(revision_id)),
            load_revision(self._view.live, self.head),
        )
        if not (has_document_ids(old_revision) and has_document_ids(new_revision)):
            return None
        return changed_pages(await asyncio.to_thread(changes_between, old_revision, new_revision))

    @property
    def my_review(self) -> Review | None:
        """Your last review with a known revision. None without such a review."""
        me = self._view.shell.workspace.me
        own_reviews = (each for each in self.reviews if me is not None and each.reviewer.id == me.id and each.revision)
        return next(own_reviews, None)

    @property
    def has_changed_since_review(self) -> bool:
        """True if your last review is of an earlier revision."""
        review = self.my_review
        return review is not None and review.revision != self.change_request.revision

    def _set_base(self, base: OldRevision) -> None:
        if base != self._base:
            self._base, self._is_base_new = base, self.changed_pages is not None

    def open_base_picker(self) -> None:
        """Let the user choose the old revision: the base, the last review or main."""
        change_request, review = self.change_request, self.my_review
        why_no_review = ""
        if review is None:
            why_no_review = "You have not reviewed this change request yet."
        elif not self.has_changed_since_review:
            why_no_review = "This change request has not been edited since your last review."
        is_merged = change_request.status == "merged"
        base = "main before the merge" if is_merged else "the revision of main that this change request is based on"
        choices: list[Choice[OldRevision]] = [
            Choice("base", "Base", detail=f"all changes since {base}"),
            Choice("review", "Your last review", detail="the revision that you reviewed last", disabled_reason=why_no_review,
                   right=short_age(review.created_at) if review else ""),
            Choice("main", "Main", detail="the current content of main"),
        ]  # fmt: skip

        def on_choice(base: OldRevision) -> None:
            if base != self._base:
                self._is_base_chosen, self._is_opening = True, False
                self._set_base(base)
                self._find_changes()

        self._view.shell.ask(Picker("Compare with", choices, initial=self._base), on_choice)  # type: ignore[misc]  # mypy infers no union


COMPARISON_COMMANDS: Commands[Comparison] = Commands(
    "change",
    (
        Command("compare_with", "B", "Compare with…", "Choose the version to compare with", shown=False,
                run=lambda _, comparison: comparison.open_base_picker()),
    ),
    context="change request",
    find_target=lambda view: view.comparison,
)  # fmt: skip
