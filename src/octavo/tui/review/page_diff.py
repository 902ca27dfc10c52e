"""What a change request changes on one page: both sides read, what differs between them, and the threads on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from textual.content import Content
from textual.widgets import Static

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.unsent_index import UnsentText, by_block, unsent_draft
from octavo.documents import links
from octavo.documents.blocks import Block, Document
from octavo.documents.diff_model import Diff
from octavo.documents.suggestions import block_source, find_suggestions
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.page_discussion import PageDiscussion
from octavo.tui.comments.thread_anchoring import BothSides
from octavo.tui.reader import link_following
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.pane import Stop
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.half_block_pictures import ImageReference
from octavo.tui.render.link_targets import LinkContext, LinkTargets, app_origins
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.render.threads import DRAFT
from octavo.tui.review import thread_walk
from octavo.tui.review.changed_pages import SIGN_STYLES, WHOLE, ChangedPage, in_words
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.diff_base import Comparison
from octavo.tui.review.diff_cache import Sides
from octavo.tui.shell.page_queries import get_page_to_read
from octavo.tui.shell.permissions import why_not_in_space
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.tree_rows import threads_in_block
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands

_NO_BASE = "The server did not return the base revision of this change request."
LINGERS = 0.3
"""Seconds the diff before stays in the view while the one wanted is not there yet."""
_EMPTY = Document("", (), "")
_NOTHING = PageComparison(Diff(()), _EMPTY, _EMPTY)
"""What is compared where threads are about no page."""


class PageDiff:
    """The diff of the change under the cursor, in a DiffView. A change without a diff is told in `#words`, which is shown
    while the view has the class `-words`."""

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        pages: ChangedTree,
        threads: DiffThreads,
        say_where: Callable[[], None],
        thread: Comment | None = None,
    ) -> None:
        """`thread`: the one to go to before anything else."""
        self._view, self._say_where = view, say_where
        self._comparison, self._pages, self._threads = comparison, pages, threads
        self.page_discussion = PageDiscussion(view, self)
        """What people say of the page on show."""
        self._shown: tuple[ChangedPage, Sides] | None = None
        """Which change is on show, as it was listed, between which revisions."""
        self._documents: tuple[Document, Document] | None = None
        self._hanging_in: BothSides | None = None
        """Where threads hang on both of them."""
        self._arriving: tuple[str, int | Comment] | None = None
        """The entry whose first (1) or last (-1) open thread, or which thread of it, one is on the way to."""
        self._wanted = thread
        """The thread one opened this for, until it is known on which entry it is."""

    @property
    def pane(self) -> DiffView:
        return self._view.query_one(DiffView)

    @property
    def is_comparing(self) -> bool:
        """Whether the diff of the change on show is not there yet."""
        return self._documents is None and not self._view.has_class("-words")

    def show(self) -> None:
        """Show what the change does, if it is not on show."""
        change, sides = self._pages.change, self._comparison.sides
        if change is None and self._shown is not None:
            self._shown, self._documents = None, None
            self._view.workers.cancel_group(self._view, "diff")
            self._view.remove_class("-words")
            self.pane.clear()  # it was the last change, and is taken back
        # What is listed comes apart from the revisions: as long as it is the same, so is the diff.
        if change is None or sides is None or (change, sides) == self._shown:
            return
        self._shown = change, sides
        if self._arriving is not None and self._arriving[0] != change.key:
            self._arriving = None  # one went elsewhere meanwhile
        self._documents = None
        self._view.workers.cancel_group(self._view, "diff")
        self._view.set_class(not change.is_document and change.key != WHOLE, "-words")
        if change.key == WHOLE:
            self._show_compared(change, _NOTHING)
        elif not change.is_document:
            self.pane.clear()  # it is behind the words, and no key may be about what was there
            what = Content.assemble((change.sign, SIGN_STYLES.get(change.sign, "")), " ", (change.title, "bold"))
            self._view.query_one("#words", Static).update(Content("\n\n").join([what, Content(in_words(change))]))
        elif sides.old is None:
            self.pane.clear()
            self.pane.state.fail(f"Could not compare the versions of {change.title}", _NO_BASE)
        elif (known := self._comparison.diffs.known(change)) is not None:
            self._show_compared(change, known)
        else:
            self.pane.state.wait_for(change.title)
            self._comparison.instead("diff", partial(self._compare, change, self._shown))
        self._say_where()
        self._view.refresh_bindings()

    async def _compare(self, change: ChangedPage, shown: tuple[ChangedPage, Sides]) -> None:
        try:
            compared = await self._comparison.diffs.compare(change)
        except ApiError as error:
            if shown == self._shown:
                self.pane.state.fail(f"Could not load {change.title}", str(error))  # what was on show is of before
                self._shown = None
            return
        if shown == self._shown:
            self._show_compared(change, compared)
            self._say_where()

    def _show_compared(self, change: ChangedPage, compared: PageComparison) -> None:
        if change.settings:
            diff = replace(compared.diff, metadata=(*change.settings, *compared.diff.metadata))
            compared = replace(compared, diff=diff)
        self._documents = (compared.old, compared.new)
        # The revisions are not in the key of the view: it stays where one is when the page is edited meanwhile.
        sides = self._comparison.sides
        name = sides.name if sides is not None else ""
        self.pane.show(compared, title=change.title, key=f"{change.key} {name}")
        self.draw_threads()
        self._comparison.diffs.ahead(self._pages.ahead())

    # Its links

    def follow_link(self, message: LinkFollowed) -> None:
        """Go where a link of the page leads."""
        change, tree = self._pages.change, self._comparison.tree.value
        if change is None or change.page is None:
            return
        if tree is None:
            trouble = self._comparison.tree.error or "the pages are still loading. Try again in a moment."
            self._view.shell.say(f"Could not open the link: {trouble}", tone="care")
            return
        targets = LinkTargets(
            LinkContext(tree, self._comparison.head, app_origins(next(tree.walk(), None))), change.page.id
        )
        if message.kind == "image" and not message.outside:
            from octavo.tui.reader.picture import PictureScreen  # few pictures are looked at so closely

            self._view.app.push_screen(PictureScreen((ImageReference(message.href),), targets))
            return
        match targets.resolve(message.href):
            case links.ToPage(page=page_id, anchor=anchor) if page_id != change.page.id:
                if not self._pages.reveal(page_id):
                    self._view.shell.go(ToPage(self._comparison.space.space_id, page_id, anchor or ""))
            case links.ToPage(anchor=anchor) | links.ToAnchor(anchor=anchor) if anchor and self.pane.place.go_to_anchor(
                anchor
            ):
                pass
            case links.ToPage() | links.ToAnchor() if not change.is_there_before:
                self._view.shell.say(f"Could not open the link: {change.title} is not in main yet.", tone="care")
            case links.ToPage(anchor=anchor) | links.ToAnchor(anchor=anchor):
                self._view.shell.go(ToPage(self._comparison.space.space_id, change.page.id, anchor or ""))
            case links.ToReusableContent() as target if (sides := self._comparison.sides) is not None:
                places = [place for place in (sides.new, sides.old) if place is not None]
                pages = [get_page_to_read(place, change.page.id) for place in places]
                shown = link_following.show_shared(
                    self._view.shell, target, pages, DeferredContent(targets=targets), self.follow_link
                )
                self._view.shell.background(shown)
            case target:
                link_following.leave(
                    self._view.shell, target, href=message.href, words=message.words, at=self._comparison.at
                )

    # The threads in it

    def _suggesting(self) -> list[Comment]:
        """Return the open threads of the page that have a suggested change."""
        return [each for each in self._page_threads() if each.is_open and find_suggestions(each.body.text)]

    def why_not_apply(self) -> str | None:
        """Return why the suggestions cannot be applied to the page. None if they can."""
        if not self._suggesting():
            return "No open thread on this page has a suggested change."
        return why_not_in_space(self._view.shell, self._comparison.at.space_id, "edit")

    def apply_suggestions(self) -> None:
        """Apply all suggestions for the page."""
        from octavo.tui.writing.suggestion_commands import apply_all_suggestions  # few threads suggest any

        if (page := self.page_on_show) is not None:
            apply_all_suggestions(self._view.shell, self._comparison.at, page[1], self._suggesting())

    def draw_threads(self) -> None:
        """Show the threads as they are now between the lines of the diff."""
        if (both := self._both_sides) is not None:
            lines = self._threads.lines(both.threads(self._page_threads()), both.is_outdated)
            for key, drafts in by_block(self._unsent_here()).items():
                there = key if key and any(side.find(key) for side in both.documents) else ""
                lines[there] = [*lines.get(there, ()), *self._threads.draft_lines(drafts)]
            self.pane.contents.set_threads(lines)
        before, self.pane.contents.threads_elsewhere = (
            self.pane.contents.threads_elsewhere,
            any(each.is_open_thread for each in self._threads.all),
        )
        if before != self.pane.contents.threads_elsewhere:
            self._view.refresh_bindings()
        self.arrive()

    def go_to_thread_beyond(self, step: int) -> None:
        """Go on to the page after (or before) this one that has an open thread."""
        change, threads = self._pages.change, self._threads.all
        key = thread_walk.following(self._pages.keys, change.key if change else "", step, threads)
        if key is None:
            self._view.shell.explain(thread_walk.no_more_threads(self._comparison.about.number, step))
            return
        self._pages.reveal(key)
        self._arriving = key, step
        self.show()
        self.arrive()

    def arrive(self) -> None:
        """Go to the thread one is on the way to, once its page is there."""
        self._set_out()
        if self._arriving is None or self._shown is None:
            return
        key, which = self._arriving
        if self._shown[0].key != key:
            return
        if self._documents is not None:
            self._arriving = None
            if isinstance(which, int):
                self._view.call_after_refresh(self.pane.place.go_to_thread, which, all_of_it=True)
            else:
                self._view.call_after_refresh(self._bring, which)
        elif self._view.has_class("-words"):
            self._arriving = None
            threads = thread_walk.open_on(key, self._threads.all)[:1] if isinstance(which, int) else [which]
            for thread in threads:
                self.page_discussion.open_thread(thread.id)  # what has no text has no place for it

    def _set_out(self) -> None:
        """Go to the entry of the thread that is wanted, as soon as both are listed."""
        wanted = self._wanted
        if wanted is None or all(each.id != wanted.id for each in self._threads.all):
            return
        key = thread_walk.entry_of(wanted)
        if self._pages.reveal(key):
            self._wanted, self._arriving = None, (key, wanted)
            self.show()

    def _bring(self, thread: Comment) -> None:
        if self.go_to_thread(thread):
            self.pane.focus()
            self.pane.cursor.bring_whole()
        else:
            self.page_discussion.open_thread(thread.id)  # such as in the source, which shows none

    @property
    def _both_sides(self) -> BothSides | None:
        """Where threads hang on the page on show."""
        if self._documents is None:
            return None
        if self._hanging_in is None or self._hanging_in.documents is not self._documents:
            self._hanging_in = BothSides(self._documents)
        return self._hanging_in

    @property
    def unsent_at_hand(self) -> Sequence[UnsentText]:
        """What one wrote and did not send: in the thread under the cursor, on the block, or of a draft just that."""
        words, stop = self._unsent_here(), self._stop
        if stop is None:
            return ()
        block = stop[3]
        if block.kind == "thread":
            return [each for each in words if block.key in (each.thread, f"{DRAFT}{each.draft_key}")]
        keys, threads = {each.key for each in block.walk()}, {each.id for each in self.threads_on(block)}
        return [each for each in words if (each.kind == "comment" and each.block in keys) or each.thread in threads]

    def _unsent_here(self) -> Sequence[UnsentText]:
        """What one wrote and did not send of the change under the cursor."""
        change = self._pages.change
        return self._pages.unsent_of(change.key) if change is not None else ()

    def _page_threads(self) -> tuple[Comment, ...]:
        change = self._pages.change
        if change is not None and change.key == WHOLE:
            return self._threads.on_page(None)
        return self._threads.on_page(change.page.id) if change is not None and change.page is not None else ()

    # What is said of it

    @property
    def discussion(self) -> ChangeRequestRef:
        return self._comparison.at

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        change = self._pages.change
        return (change.page.id, change.page.title) if change and change.page else None

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        return self.page_on_show

    @property
    def block_on_show(self) -> Block | None:
        stop = self._stop
        if stop is None or self._documents is None or stop[3].kind == "fold":
            return None
        if (hung_on := self._hung_on(stop[3])) is None:
            return stop[3]
        found = (side.find(hung_on) for side in reversed(self._documents) if hung_on)
        return next((block for block in found if block is not None), None)

    @property
    def is_on_old_side(self) -> bool:
        if self._documents is None or (stop := self._stop) is None:
            return False
        if (hung_on := self._hung_on(stop[3])) is not None:
            old, new = self._documents
            return bool(hung_on) and new.find(hung_on) is None and old.find(hung_on) is not None
        return self.pane.cursor_block.side == "old"

    @property
    def _stop(self) -> Stop | None:
        return self.pane.cursor.stop() if self._documents is not None else None

    @staticmethod
    def _hung_on(block: Block) -> str | None:
        """The key of the block that a draft is about that stands between the lines. None: it is no draft."""
        place = block.key.removeprefix(DRAFT)
        return unsent_draft(place).block if block.kind == "thread" and place != block.key else None

    def source_of(self, block: Block) -> str:
        if self._documents is None or self.is_on_old_side:
            return ""
        new = self._documents[1]
        return block_source(new.source, new.find(block.key) or block)

    def threads_on(self, block: Block) -> list[Comment]:
        if block.kind == "thread":
            return [thread for thread in self._page_threads() if thread.id == block.key]
        both = self._both_sides
        return threads_in_block(block, both.threads(self._page_threads())) if both is not None else []

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        here = self._page_threads()
        ids = {thread.id for thread in here}
        return here + tuple(thread for thread in self._threads.all if thread.id not in ids)

    def go_to_thread(self, thread: Comment) -> bool:
        return self._documents is not None and self.pane.place.bring_thread(thread.id)

    def since(self, thread: Comment) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return None

    def why_nothing_to_say(self, *, whole: bool) -> str | None:
        change = self._pages.change
        if change is None or whole:
            return None
        if self.is_comparing:
            return f"{change.title} is still loading."
        if change.page is None:
            return "This is not a page, so it has no blocks to comment on. Press C to comment on the change request."
        return None

    # What is written of it

    @property
    def space_ref(self) -> SpaceRef:
        return self._comparison.space

    @property
    def change_request(self) -> ChangeRequest:
        return self._comparison.about

    @property
    def selected_page(self) -> tuple[str, str, str] | None:
        change = self._pages.change
        if change is None or change.page is None or not change.is_there_after:
            return None
        return change.page.id, change.title, change.page.type

    @property
    def selected_block(self) -> Block | None:
        return self.pane.cursor_block.near if self._documents is not None and self.page_on_show is not None else None

    def why_no_page(self) -> str | None:
        change = self._pages.change
        if change is not None and not change.is_there_after:
            return f"{change.title} is deleted in this change request. Press Q to revert the deletion."
        return None

    def refresh_drafts(self) -> None:
        """What is not sent is told of where the page is read."""

    def show_saved_page(self, change_request: ChangeRequest) -> None:
        """It is on show: its answers tell of it."""


SUGGESTIONS: Commands[PageDiff] = Commands(
    "suggestion",
    (
        Command("apply_all", "percent_sign", "Apply suggestions", "Apply all suggestions on this page", key_display="%", shown=False,
                writes=True, run=lambda _, diff: diff.apply_suggestions(), why_not=lambda _, diff: diff.why_not_apply()),
    ),
    context="pages and diffs",
    find=lambda view: view.page_diff,
)  # fmt: skip
"""What can be done with what is suggested for the page on show."""
