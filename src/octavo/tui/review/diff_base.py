"""The version a change request is compared with: its base, your last review, or main."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Literal, Protocol

from textual.worker import WorkType

from octavo.api import content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Changes, Page, PageTree, Revision
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef, SpaceRef
from octavo.api.reviews import Review
from octavo.data.live import Live, Snapshot
from octavo.data.queries import reviews_of
from octavo.documents.revision_changes import changes_between, has_document_ids
from octavo.tui.review.changed_pages import ChangedPage, changed_pages
from octavo.tui.review.diff_cache import Comparisons, Sides
from octavo.tui.review.merge_checks import forecast
from octavo.tui.review.status_summary import is_predicted
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import short_age

Base = Literal["base", "review", "main"]
_NAMES: dict[Base, str] = {"review": "your last review", "main": "main"}
LISTED_FIRST, LISTED_AT_MOST = 100, 1000
"""Changes that are asked for at first, and the most that a server lists: what is beyond them is found here."""
FORESEE_AFTER = 0.6
"""Seconds after which it is looked into what may conflict: the first diff comes before."""


class ShowsChanges(Protocol):
    """A view that shows what a comparison finds."""

    def show_changed(self) -> None:
        """What changes is known, or is another now."""

    def show_reviews(self) -> None:
        """The reviews, or the conflicts there may be, are others now."""

    def show_sizes(self) -> None:
        """How much changes is known of more pages."""

    def go_to_some_change(self) -> None:
        """Go to the first page that changes, unless one is on one that does."""

    def could_not_compare(self, cause: str) -> None:
        """What changes is not known, and why."""


class Comparison:
    """What a change request changes between two revisions, one of which can be chosen."""

    def __init__(self, view: View, shown_in: ShowsChanges, about: ChangeRequest, space: SpaceRef) -> None:
        self._view, self._shown_in = view, shown_in
        self.about = about.within(space)
        """The change request, as it is now."""
        self.space = space
        self.at: ChangeRequestRef = about.ref(space)
        self.sides: Sides | None = None
        """Between which revisions it is compared, as soon as that is known."""
        self.tree = Snapshot[PageTree]()
        """The pages of the change request, which links lead to."""
        self.changed: tuple[ChangedPage, ...] | None = None
        """What changes, as soon as that is known."""
        self.left_out = 0
        """How many changes are not among them, because nobody says which they are."""
        self.before: tuple[Page, ...] = ()
        """The pages of the old side, where deleted pages stood."""
        self._after: tuple[Page, ...] | None = None
        """The pages of the new side, where they are not those of the change request as it is."""
        self._base: Base = "base"
        self._is_other_base = False
        """Whether another was chosen, and what changes since is not on show yet."""
        self._listed: Changes | None = None
        self._completed: tuple[Sides, Changes, tuple[ChangedPage, ...]] | None = None
        """All that changes between two revisions, where the server lists only some of it, which is kept beside it."""
        self.conflicting: frozenset[str] = frozenset()
        """The pages that may conflict with the primary content, as far as that was looked into."""
        self.is_on_main = False
        """Whether main has every change already, as far as that was looked into."""
        self._foreseen = ""
        self._limit = LISTED_FIRST
        self.trouble = ""
        """Why it is not known whether what is listed is so still, while that is so."""
        self.reviews: tuple[Review, ...] = ()
        """All there are, the newest first."""

    @cached_property
    def diffs(self) -> Comparisons:
        """The diffs that are there, and those on their way."""
        return Comparisons(self._view.live, lambda _: self._shown_in.show_sizes())

    def start(self) -> None:
        """Ask for all of it."""
        self._follow_changes()
        self._view.subscriptions.follow_whole("reviews", reviews_of(self.at), self._show_reviews)
        self._view.follow("tree", content.ListPages(at=self.at), self._show_tree)
        # Main may have changed.
        self._view.shell.workspace.spaces_changed.subscribe(self._view, lambda _: self._look_ahead())

    def stop(self) -> None:
        """Make no diffs any more."""
        if self.sides is not None:
            self.diffs.stop()

    def rest(self) -> None:
        """Keep no diff but the one on show: one is elsewhere, and may come back."""
        if self.sides is not None:
            self.diffs.rest()

    def instead(self, group: str, work: WorkType[None]) -> None:
        """Do `work` instead of what else the group may be doing. It is begun by the worker: one that is stopped before
        has nothing that was never awaited."""
        self._view.run_worker(work, exclusive=True, group=group)

    @property
    def titles(self) -> Mapping[str, str]:
        """What the pages of both sides are called, by their ids."""
        return {page.id: page.title or "Untitled" for root in (*self.before, *self.after) for page in root.walk()}

    @property
    def after(self) -> tuple[Page, ...]:
        """The pages of the new side."""
        if self._after is not None:
            return self._after
        return self.tree.value.pages if self.tree.value is not None else ()

    def now_is(self, about: ChangeRequest) -> bool:
        """Take the change request as it is now. Whether other revisions are compared than before."""
        before, self.about = self.about, about.within(self.space)
        return (before.revision, before.base, before.status) != (about.revision, about.base, about.status)

    def compare_again(self) -> None:
        """Ask what changes, and where the pages stand: the revision is another than the one that was answered for."""
        for slot in ("changes", "tree"):
            if (op := self._view.subscriptions.operation(slot)) is not None:
                self._view.shell.background(self._view.live.refresh(op))
        self._find_changes()

    # What is compared

    def _follow_changes(self) -> None:
        self._view.follow("changes", content.ListChanges(at=self.at, limit=self._limit), self._show_listed)

    def _show_listed(self, snapshot: Snapshot[Changes]) -> None:
        self.trouble = str(snapshot.error) if snapshot.error is not None else ""
        if snapshot.value is None:
            if self.trouble:
                self._shown_in.could_not_compare(self.trouble)
            return
        self._listed = snapshot.value
        if snapshot.value.more and self._limit < LISTED_AT_MOST:
            # A page must never be hidden from its reviewer: ask until nothing is left out.
            self._limit = LISTED_AT_MOST
            self._view.call_later(self._follow_changes)
        self._find_changes()

    def _compare_between(self, sides: Sides) -> None:
        self.sides = sides
        self.diffs.between(sides)

    @property
    def unreadable(self) -> int:
        """How much of what the server lists as changed could not be read."""
        return self._listed.unreadable if self._listed is not None else 0

    def _show_reviews(self, snapshot: Snapshot[ListPage[Review]]) -> None:
        self.reviews = snapshot.value.items if snapshot.value else ()
        self._shown_in.show_reviews()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        self.tree = snapshot
        self._shown_in.show_changed()

    @property
    def head(self) -> ContentRef:
        """What it proposes: a revision, where the server says which."""
        revision = self.about.revision
        return RevisionRef(space_id=self.space.space_id, revision_id=revision) if revision else self.at

    def _at(self, revision: str) -> RevisionRef:
        return RevisionRef(space_id=self.space.space_id, revision_id=revision)

    def _look_ahead(self) -> None:
        """Predict the merge, once there is time, unless the merge of these revisions is predicted already."""
        about, space = self.about, self._view.shell.workspace.space(self.space.space_id)
        wanted = ""
        if is_predicted(about) and self._listed is not None:
            main = space.revision if space is not None and about.outdated else None
            wanted = f"{about.id} {about.revision} {about.base} {main}"
        if wanted != self._foreseen:
            self._foreseen, self.conflicting, self.is_on_main = wanted, frozenset(), False
            if wanted:
                self._view.set_timer(FORESEE_AFTER, lambda: self.instead("conflicts", self._foresee))

    async def _foresee(self) -> None:
        about, listed, wanted = self.about, self._listed, self._foreseen
        if listed is None:
            return
        try:
            space = await self._view.live.fetch(spaces.Get(at=self.space))
            found = await forecast(self._view.live, self.at, about, listed, main=space.revision)
        except ApiError:
            return  # the dialogs that need to know ask again, and say why not
        if wanted == self._foreseen:
            self.conflicting = frozenset(each.id for each in found.conflicts)
            self.is_on_main = found.is_on_main
            self._shown_in.show_changed()
            self._shown_in.show_reviews()

    def _find_changes(self) -> None:
        """Find what changes between the revisions that are compared now."""
        self._look_ahead()
        about = self.about
        merged = about.status == "merged" and about.revision_merged is not None
        if self._base != "base" or merged:
            self.instead("changes", partial(self._find, self._base, merged))
            return
        self._take_listed(Sides(self._at(about.base) if about.base else None, self.head))

    def _take_listed(self, sides: Sides) -> None:
        self._compare_between(sides)
        listed = self._listed
        if listed is None:
            return
        self._after = None
        if self._completed is not None and listed.more and self._completed[:2] == (sides, listed):
            self._take(self._completed[2], 0)
            return
        self._take(changed_pages(listed.changes), listed.more if self._limit == LISTED_AT_MOST else 0)
        stood = any(not each.is_there_after for each in self.changed or ())
        if sides.old is not None and (stood or self.left_out):
            self.instead("changes", partial(self._complete, sides, sides.old, listed))

    def _take(self, changed: tuple[ChangedPage, ...], left_out: int) -> None:
        self.changed, self.left_out = changed, left_out
        self._shown_in.show_changed()
        if self._is_other_base:
            self._is_other_base = False
            self._shown_in.go_to_some_change()

    async def _complete(self, sides: Sides, old: RevisionRef, listed: Changes) -> None:
        """See where deleted pages stood, and find what the server did not list."""
        try:
            before = await read(self._view.live, old)
            self.before = before.pages
            if self.left_out and self.changed is not None:
                after = await read(self._view.live, sides.new)
                if has_document_ids(after):
                    found = changed_pages(await asyncio.to_thread(changes_between, before, after))
                    keys = {each.key for each in found}
                    self.changed = (*found, *(each for each in self.changed if each.key not in keys))
                    self.left_out, self._completed = 0, (sides, listed, self.changed)
        except ApiError:
            return  # the title says that something is left out
        self._shown_in.show_changed()

    async def _find(self, base: Base, merged: bool) -> None:
        try:
            sides = await self._sides_of(base, merged)
            if sides.old is None:
                self._take_listed(sides)
                return
            before, after = await asyncio.gather(read(self._view.live, sides.old), read(self._view.live, sides.new))
        except ApiError as error:
            if base == "base":
                self._shown_in.could_not_compare(str(error))
            else:
                self._base = "base"
                self._view.shell.say(
                    f"Could not compare #{self.about.number} with {_NAMES[base]}: {error} Octavo is comparing #{self.about.number} with its base instead.",
                    tone="failed",
                )
                self._find_changes()
            return
        found = changed_pages(await asyncio.to_thread(changes_between, before, after))
        if not has_document_ids(after) and self._listed is not None:
            # Which texts differ is not said: those that the change request changed are looked at.
            keys = {each.key for each in found}
            found += tuple(each for each in changed_pages(self._listed.changes) if each.key not in keys)
        self._compare_between(sides)
        self.before, self._after = before.pages, after.pages
        self._take(found, 0)

    async def _sides_of(self, base: Base, merged: bool) -> Sides:
        about = self.about
        if base == "review":
            review = self.my_review
            if review is not None and review.revision is not None:
                return Sides(self._at(review.revision), self.head, _NAMES["review"])
        if base == "main":
            space = await self._view.live.fetch(spaces.Get(at=self.space))
            if space.revision is not None:
                return Sides(self._at(space.revision), self.head, _NAMES["main"])
        if merged and about.revision_merged is not None:
            new = self._at(about.revision_merged)
            parents = (await read(self._view.live, new)).parents
            # Of a merge, one parent is what was proposed, the other what was live before.
            old = next((each for each in parents if each != about.revision), None)
            if old is not None:
                return Sides(self._at(old), new)
        return Sides(self._at(about.base) if about.base else None, self.head)

    async def changed_since(self, revision: str) -> tuple[ChangedPage, ...] | None:
        """What changed from a revision to what is proposed now. None where that cannot be told. Raises ApiError."""
        before, after = await asyncio.gather(
            read(self._view.live, self._at(revision)), read(self._view.live, self.head)
        )
        if not (has_document_ids(before) and has_document_ids(after)):
            return None
        return changed_pages(await asyncio.to_thread(changes_between, before, after))

    # Choosing

    @property
    def my_review(self) -> Review | None:
        """One's last review that says of which revision it is."""
        me = self._view.shell.workspace.me
        mine = (each for each in self.reviews if me is not None and each.reviewer.id == me.id and each.revision)
        return next(mine, None)

    def choose(self) -> None:
        """Ask which version to compare with."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        about, review = self.about, self.my_review
        off = ""
        if review is None:
            off = "You have not reviewed this change request yet."
        elif review.revision == about.revision:
            off = "This change request has not been edited since your last review."
        merged = about.status == "merged"
        base = "main before the merge" if merged else "the revision of main that this change request is based on"
        choices: list[Choice[Base]] = [
            Choice("base", "Base", detail=base),
            Choice("review", "Your last review", detail="the revision that you reviewed last", disabled_reason=off,
                   right=short_age(review.created_at) if review else ""),
            Choice("main", "Main", detail="the current content of main"),
        ]  # fmt: skip

        def chosen(base: Base | None) -> None:
            if base is not None and base != self._base:
                self._base, self._is_other_base = base, True
                self._find_changes()

        self._view.app.push_screen(Picker("Compare with", choices, initial=self._base), chosen)


async def read(live: Live, at: ContentRef) -> Revision:
    """The revision content stands at. What a revision holds never changes, so it is asked for once. Raises ApiError."""
    op = content.Get(at=at)
    revision: Revision = await (live.cached_or_fetch(op) if isinstance(at, RevisionRef) else live.fetch(op))
    return revision


COMPARISON: Commands[Comparison] = Commands(
    "change",
    (
        Command("compare_with", "B", "Compare with…", "Choose the version to compare with", shown=False,
                run=lambda _, comparison: comparison.choose()),
    ),
    context="change request",
    find=lambda view: view.comparison,
)  # fmt: skip
"""What can be done with the comparison on show."""
