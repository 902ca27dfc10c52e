"""What a change request is compared with: what it started from, what one reviewed last, or the primary content now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType

from octavo.api import content, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Changes, Page, PageTree, Revision
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.places import ContentRef, RevisionRef, SpaceRef
from octavo.api.reviews import Review
from octavo.data.live import Live, Snapshot
from octavo.documents.revision_changes import between, names_texts
from octavo.tui.review.changed_pages import ChangedPage, changed_pages
from octavo.tui.review.diff_cache import Sides
from octavo.tui.review.merge_checks import forecast
from octavo.tui.review.page_diff import Comparing
from octavo.tui.widgets.wording import short_age

Base = Literal["base", "review", "main"]
FIRST, MOST = 100, 1000
"""Changes that are asked for at first, and the most that a server lists: what is beyond them is found here."""
FORESEE_AFTER = 0.6
"""Seconds after which it is looked into what may conflict: the first diff comes before."""


class ComparingWith(Comparing):
    """A view of what changes between two revisions, one of which can be chosen."""

    CONTEXT: ClassVar[str] = "change request"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("B", "compare_with", "Compare with", show=False, tooltip="Compare with its base, your last review, or what is live now", id="change.compare_with"),
    ]  # fmt: skip

    def __init__(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        super().__init__(change_request, space)
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
        self._foreseen = ""
        self._limit = FIRST
        self.trouble = ""
        """Why it is not known whether what is listed is so still, while that is so."""
        self._reviews: tuple[Review, ...] = ()

    def on_mount(self) -> None:
        self._follow_changes()
        given = reviews.List(at=self.at, format="markdown", limit=100)
        self.follow_whole("reviews", given, self._show_reviews)

    def show_changed(self) -> None:
        """Show `changed`, which is known or is another now."""
        raise NotImplementedError

    def go_to_some_change(self) -> None:
        """Go to the first page that changes, unless one is on one that does."""
        raise NotImplementedError

    def could_not_compare(self, cause: str) -> None:
        """Say that what changes is not known, and why."""
        raise NotImplementedError

    def show_reviews(self) -> None:
        """Show `reviews`, which are others now."""
        raise NotImplementedError

    @property
    def reviews(self) -> tuple[Review, ...]:
        """All there are, the newest first."""
        return self._reviews

    @property
    def page_titles(self) -> Mapping[str, str]:
        """What the pages of both sides are called, by their ids."""
        return {page.id: page.title or "Untitled" for root in (*self.before, *self.after) for page in root.walk()}

    @property
    def after(self) -> tuple[Page, ...]:
        """The pages of the new side."""
        if self._after is not None:
            return self._after
        return self._tree.value.pages if self._tree.value is not None else ()

    # What is compared

    def list_again(self) -> None:
        """Ask what changes, and where the pages stand: the revision is another than the one that was answered for."""
        for slot in ("changes", "tree"):
            if (op := self.following.op(slot)) is not None:
                self.background(self.live.refresh(op))

    def _follow_changes(self) -> None:
        self.follow("changes", content.ListChanges(at=self.at, limit=self._limit), self._show_listed)

    def _show_listed(self, snapshot: Snapshot[Changes]) -> None:
        self.trouble = str(snapshot.error) if snapshot.error is not None else ""
        if snapshot.value is None:
            if self.trouble:
                self.could_not_compare(self.trouble)
            return
        self._listed = snapshot.value
        if snapshot.value.more and self._limit < MOST:
            # A page must never be hidden from its reviewer: ask until nothing is left out.
            self._limit = MOST
            self.call_later(self._follow_changes)
        self.find_changes()

    @property
    def unreadable(self) -> int:
        """How much of what the server lists as changed could not be read."""
        return self._listed.unreadable if self._listed is not None else 0

    def _show_reviews(self, snapshot: Snapshot[ListPage[Review]]) -> None:
        self._reviews = snapshot.value.items if snapshot.value else ()
        self.show_reviews()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        super()._show_tree(snapshot)
        self.show_changed()

    @property
    def head(self) -> ContentRef:
        """What it proposes: a revision, where the server says which."""
        revision = self._change_request.revision
        return RevisionRef(space_id=self._space.space_id, revision_id=revision) if revision else self.at

    def _at(self, revision: str) -> RevisionRef:
        return RevisionRef(space_id=self._space.space_id, revision_id=revision)

    def _look_ahead(self) -> None:
        """Find out what may conflict, once there is time, if that is not known of what is proposed now."""
        about = self._change_request
        wanted = about.id if about.outdated and about.status in ("draft", "open") and self._listed is not None else ""
        wanted = f"{wanted} {about.revision} {about.base}" if wanted else ""
        if wanted != self._foreseen:
            self._foreseen, self.conflicting = wanted, frozenset()
            if wanted:
                self.set_timer(FORESEE_AFTER, lambda: self.instead("conflicts", self._foresee))

    async def _foresee(self) -> None:
        about, listed, wanted = self._change_request, self._listed, self._foreseen
        if listed is None:
            return
        try:
            space = await self.live.fetch(spaces.Get(at=self._space))
            found = await forecast(self.live, self.at, about, listed, main=space.revision)
        except ApiError:
            return  # the dialogs that need to know ask again, and say why not
        if wanted == self._foreseen:
            self.conflicting = frozenset(each.id for each in found.conflicts)
            self.show_changed()
            self.show_reviews()

    def find_changes(self) -> None:
        """Find what changes between the revisions that are compared now."""
        self._look_ahead()
        about = self._change_request
        merged = about.status == "merged" and about.revision_merged is not None
        if self._base != "base" or merged:
            self.instead("changes", partial(self._find, self._base, merged))
            return
        self._take_listed(Sides(self._at(about.base) if about.base else None, self.head))

    def _take_listed(self, sides: Sides) -> None:
        self.compare_between(sides)
        listed = self._listed
        if listed is None:
            return
        self._after = None
        if self._completed is not None and listed.more and self._completed[:2] == (sides, listed):
            self._take(self._completed[2], 0)
            return
        self._take(changed_pages(listed.changes), listed.more if self._limit == MOST else 0)
        stood = any(not each.is_there_after for each in self.changed or ())
        if sides.old is not None and (stood or self.left_out):
            self.instead("changes", partial(self._complete, sides, sides.old, listed))

    def _take(self, changed: tuple[ChangedPage, ...], left_out: int) -> None:
        self.changed, self.left_out = changed, left_out
        self.show_changed()
        if self._is_other_base:
            self._is_other_base = False
            self.go_to_some_change()

    async def _complete(self, sides: Sides, old: RevisionRef, listed: Changes) -> None:
        """See where deleted pages stood, and find what the server did not list."""
        try:
            before = await read(self.live, old)
            self.before = before.pages
            if self.left_out and self.changed is not None:
                after = await read(self.live, sides.new)
                if names_texts(after):
                    found = changed_pages(await asyncio.to_thread(between, before, after))
                    keys = {each.key for each in found}
                    self.changed = (*found, *(each for each in self.changed if each.key not in keys))
                    self.left_out, self._completed = 0, (sides, listed, self.changed)
        except ApiError:
            return  # the title says that something is left out
        self.show_changed()

    async def _find(self, base: Base, merged: bool) -> None:
        try:
            sides = await self._sides_of(base, merged)
            if sides.old is None:
                self._take_listed(sides)
                return
            before, after = await asyncio.gather(read(self.live, sides.old), read(self.live, sides.new))
        except ApiError as error:
            if base == "base":
                self.could_not_compare(str(error))
            else:
                self._base = "base"
                self.shell.say(f"#{self._change_request.number} is compared with its base. {error}", tone="failed")
                self.find_changes()
            return
        found = changed_pages(await asyncio.to_thread(between, before, after))
        if not names_texts(after) and self._listed is not None:
            # Which texts differ is not said: those that the change request changed are looked at.
            keys = {each.key for each in found}
            found += tuple(each for each in changed_pages(self._listed.changes) if each.key not in keys)
        self.compare_between(sides)
        self.before, self._after = before.pages, after.pages
        self._take(found, 0)
        self.show_diff()

    async def _sides_of(self, base: Base, merged: bool) -> Sides:
        about = self._change_request
        if base == "review":
            review = self.my_review
            if review is not None and review.revision is not None:
                return Sides(self._at(review.revision), self.head, "your last review")
        if base == "main":
            space = await self.live.fetch(spaces.Get(at=self._space))
            if space.revision is not None:
                return Sides(self._at(space.revision), self.head, "the primary content now")
        if merged and about.revision_merged is not None:
            new = self._at(about.revision_merged)
            parents = (await read(self.live, new)).parents
            # Of a merge, one parent is what was proposed, the other what was live before.
            old = next((each for each in parents if each != about.revision), None)
            if old is not None:
                return Sides(self._at(old), new)
        return Sides(self._at(about.base) if about.base else None, self.head)

    async def changed_since(self, revision: str) -> tuple[ChangedPage, ...] | None:
        """What changed from a revision to what is proposed now. None where that cannot be told. Raises ApiError."""
        before, after = await asyncio.gather(read(self.live, self._at(revision)), read(self.live, self.head))
        if not (names_texts(before) and names_texts(after)):
            return None
        return changed_pages(await asyncio.to_thread(between, before, after))

    # Choosing

    @property
    def my_review(self) -> Review | None:
        """One's last review that says of which revision it is."""
        me = self.shell.workspace.me
        mine = (each for each in self._reviews if me is not None and each.reviewer.id == me.id and each.revision)
        return next(mine, None)

    def action_compare_with(self) -> None:
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        about, review = self._change_request, self.my_review
        off = ""
        if review is None:
            off = "You have not reviewed it yet: a approves, A asks for changes."
        elif review.revision == about.revision:
            off = "Nothing was edited since you reviewed it."
        merged = about.status == "merged"
        base = "what was live before its merge" if merged else "what it started from or was updated from"
        choices: list[Choice[Base]] = [
            Choice("base", "Its base", detail=base),
            Choice("review", "Your last review", detail="what changed since", off=off,
                   right=short_age(review.created_at) if review else ""),
            Choice("main", "The primary content now", detail="what is live beside what is proposed"),
        ]  # fmt: skip

        def chosen(base: Base | None) -> None:
            if base is not None and base != self._base:
                self._base, self._is_other_base = base, True
                self.find_changes()

        self.app.push_screen(Picker("Compare with", choices, now=self._base), chosen)


async def read(live: Live, at: ContentRef) -> Revision:
    """The revision content stands at. What a revision holds never changes, so it is asked for once. Raises ApiError."""
    op = content.Get(at=at)
    revision: Revision = await (live.known(op) if isinstance(at, RevisionRef) else live.fetch(op))
    return revision
