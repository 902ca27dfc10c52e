"""What a change request changes on one page: both sides read, what differs between them, and the threads on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static
from textual.worker import WorkType

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import PageTree
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.live import Snapshot
from octavo.documents import links
from octavo.documents.blocks import Block, Document
from octavo.documents.changes import Diff
from octavo.documents.suggesting import suggestions, written
from octavo.tui.comments.diff_threads import Railed
from octavo.tui.comments.page_discussion import COMMENTING, THREAD_HERE, PageDiscussion
from octavo.tui.comments.thread_anchoring import BothSides
from octavo.tui.reader import link_following
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.comparison import Compared
from octavo.tui.render.half_block_pictures import Pictured
from octavo.tui.render.link_targets import LinkContext, Targets, origins
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.review import thread_walk
from octavo.tui.review.changed_pages import SIGN_STYLES, WHOLE, ChangedPage, in_words
from octavo.tui.review.diff_cache import Comparisons, Sides
from octavo.tui.shell.permissions import not_allowed_in
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.tree_rows import under
from octavo.tui.widgets.commands import Commands

_NO_BASE = "The server does not say which revision of the primary content this change request started from."
LINGERS = 0.3
"""Seconds the diff before stays in the view while the one wanted is not there yet."""
_EMPTY = Document("", (), "")
_NOTHING = Compared(Diff(()), _EMPTY, _EMPTY)
"""What is compared where threads are about no page."""


class Comparing(Railed):
    """A view of a change request with the diff of one of its changes, in a DiffView. A change without a diff is told in
    `#words`, which is shown while the view has the class `-words`. A subclass says which change."""

    CONTEXT: ClassVar[str] = "pages and diffs"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        COMMENTING.only("block"),
        COMMENTING.only("page")
        .but(
            "page",
            run=lambda app, view: view.comment_on_page(),
            why_not=lambda app, view: view.why_no_comment_on_page(),
        )
        .about(lambda view: view),
        THREAD_HERE,
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "percent_sign",
            "apply_suggestions",
            "Apply suggestions",
            key_display="%",
            show=False,
            tooltip="Apply all suggestions of this page",
            id="suggestion.apply_all",
        ),
    ]

    def __init__(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        super().__init__()
        self._change_request = change_request.within(space)
        self._space = space
        self.at: ChangeRequestRef = change_request.ref(space)
        self.page_discussion = PageDiscussion(self, self)
        self._threads: tuple[Comment, ...] = ()
        self._shown: tuple[ChangedPage, Sides] | None = None
        """Which change is on show, as it was listed, between which revisions."""
        self._documents: tuple[Document, Document] | None = None
        self._hanging_in: BothSides | None = None
        """Where threads hang on both of them."""
        self._arriving: tuple[str, int] | None = None
        """The entry whose first (1) or last (-1) open thread one is on the way to."""
        self.sides: Sides | None = None
        """Between which revisions it is compared, as soon as that is known."""
        self._tree = Snapshot[PageTree]()
        """The pages of the change request, which links lead to."""

    @cached_property
    def comparisons(self) -> Comparisons:
        """The diffs that are there, and those on their way."""
        return Comparisons(self.live, self.was_compared)

    def was_compared(self, key: str) -> None:
        """The diff of the page called `key` is there."""

    def on_unmount(self) -> None:
        if self.sides is not None:
            self.comparisons.stop()

    def on_mount(self) -> None:
        self.follow("tree", content.ListPages(at=self.at), self._show_tree)

    @property
    def change_on_show(self) -> ChangedPage | None:
        """What the diff is of."""
        raise NotImplementedError

    def pages_ahead(self) -> Iterable[ChangedPage]:
        """What is likely looked at next."""
        raise NotImplementedError

    @property
    def entries(self) -> Sequence[str]:
        """The keys of all that is listed, in order."""
        raise NotImplementedError

    def go_to_change_of(self, page_id: str) -> bool:
        """Show what changes on a page. False when nothing does."""
        raise NotImplementedError

    def say_where(self) -> None:
        """Say in the status line where one is."""
        raise NotImplementedError

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    @property
    def is_comparing(self) -> bool:
        """Whether the diff of the change on show is not there yet."""
        return self._documents is None and not self.has_class("-words")

    def instead(self, group: str, work: WorkType[None]) -> None:
        """Do `work` instead of what else the group may be doing. It is begun by the worker: one that is stopped before
        has nothing that was never awaited."""
        self.run_worker(work, exclusive=True, group=group)

    # The diff

    def compare_between(self, sides: Sides) -> None:
        """Show what differs between these revisions from now on."""
        self.sides = sides
        self.comparisons.between(sides)

    def show_diff(self, *, again: bool = False) -> None:
        """Show what the change does, if it is not on show. `again`: in any case."""
        if again:
            self._shown = None
        change, sides = self.change_on_show, self.sides
        if change is None and self._shown is not None:
            self._shown, self._documents = None, None
            self.workers.cancel_group(self, "diff")
            self.remove_class("-words")
            self.view.clear()  # it was the last change, and is taken back
        # What is listed comes apart from the revisions: as long as it is the same, so is the diff.
        if change is None or sides is None or (change, sides) == self._shown:
            return
        self._shown = change, sides
        if self._arriving is not None and self._arriving[0] != change.key:
            self._arriving = None  # one went elsewhere meanwhile
        self._documents = None
        self.workers.cancel_group(self, "diff")
        self.set_class(not change.is_document and change.key != WHOLE, "-words")
        if change.key == WHOLE:
            self._show_compared(change, _NOTHING)
        elif not change.is_document:
            self.view.clear()  # it is behind the words, and no key may be about what was there
            what = Content.assemble((change.sign, SIGN_STYLES.get(change.sign, "")), " ", (change.title, "bold"))
            self.query_one("#words", Static).update(Content("\n\n").join([what, Content(in_words(change))]))
        elif sides.old is None:
            self.view.clear()
            self.view.fail(f"{change.title} cannot be compared", _NO_BASE)
        elif (known := self.comparisons.known(change)) is not None:
            self._show_compared(change, known)
        else:
            self.view.wait_for(change.title)
            self.instead("diff", partial(self._compare, change, self._shown))
        self.say_where()
        self.refresh_bindings()

    async def _compare(self, change: ChangedPage, shown: tuple[ChangedPage, Sides]) -> None:
        try:
            compared = await self.comparisons.compare(change)
        except ApiError as error:
            if shown == self._shown:
                self.view.fail(f"{change.title} did not load", str(error))  # what was on show is of before
                self._shown = None
            return
        if shown == self._shown:
            self._show_compared(change, compared)
            self.say_where()

    def _show_compared(self, change: ChangedPage, compared: Compared) -> None:
        if change.settings:
            diff = replace(compared.diff, metadata=(*change.settings, *compared.diff.metadata))
            compared = replace(compared, diff=diff)
        self._documents = (compared.old, compared.new)
        # The revisions are not in the key of the view: it stays where one is when the page is edited meanwhile.
        name = self.sides.name if self.sides is not None else ""
        self.view.show(compared, title=change.title, key=f"{change.key} {name}")
        self.draw_threads()
        self.comparisons.ahead(self.pages_ahead())

    @on(DiffView.Moved)
    def _diff_moved(self) -> None:
        self.say_where()

    # Its links

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        self._tree = snapshot

    @on(LinkFollowed)
    def _link_followed(self, message: LinkFollowed) -> None:
        change, tree = self.change_on_show, self._tree.value
        if change is None or change.page is None:
            return
        if tree is None:
            trouble = self._tree.error or "its pages are still loading, so try again in a moment."
            self.shell.say(f"It is not known yet where this link leads: {trouble}", tone="care")
            return
        targets = Targets(LinkContext(tree, self.at, origins(next(tree.walk(), None))), change.page.id)
        if message.kind == "image" and not message.outside:
            from octavo.tui.reader.picture import PictureScreen  # few pictures are looked at so closely

            self.app.push_screen(PictureScreen((Pictured(message.href),), targets))
            return
        match targets.target(message.href):
            case links.ToPage(page=page_id, anchor=anchor) if page_id != change.page.id:
                if not self.go_to_change_of(page_id):
                    self.shell.go(ToPage(self._space.space_id, page_id, anchor or ""))
            case links.ToPage(anchor=anchor) | links.ToAnchor(anchor=anchor) if anchor and self.view.go_to_anchor(
                anchor
            ):
                pass
            case links.ToPage() | links.ToAnchor() if not change.is_there_before:
                self.shell.say(
                    f"This link leads to another place on {change.title}, which is not live yet.", tone="care"
                )
            case links.ToPage(anchor=anchor) | links.ToAnchor(anchor=anchor):
                self.shell.go(ToPage(self._space.space_id, change.page.id, anchor or ""))
            case target:
                link_following.leave(self.shell, target, href=message.href, words=message.words, at=self.at)

    # The threads in it

    def _suggesting(self) -> list[Comment]:
        """The open threads of the page that suggest another wording."""
        return [each for each in self._page_threads() if each.is_open and suggestions(each.body.text)]

    def action_apply_suggestions(self) -> None:
        from octavo.tui.writing.suggestions import apply_all  # few threads suggest any

        page = self.page_on_show
        if page is not None:
            apply_all(self.shell, self.at, page[1], self._suggesting())

    def draw_threads(self) -> None:
        """Show the threads as they are now between the lines of the diff."""
        if (both := self._both_sides) is not None:
            self.view.set_threads(self.rails(both.threads(self._page_threads()), both.is_outdated))
        before, self.view.threads_elsewhere = (
            self.view.threads_elsewhere,
            any(each.is_open_thread for each in self._threads),
        )
        if before != self.view.threads_elsewhere:
            self.refresh_bindings()
        self._arrive()

    @on(DiffView.ThreadBeyond)
    def _thread_beyond(self, message: DiffView.ThreadBeyond) -> None:
        """Go on to the page after (or before) this one that has an open thread."""
        change = self.change_on_show
        key = thread_walk.following(self.entries, change.key if change else "", message.step, self._threads)
        if key is None:
            number = self._change_request.number
            self.shell.explain(thread_walk.no_more_threads(number, message.step, self._threads))
            return
        self.go_to_change_of(key)
        self._arriving = key, message.step
        self.show_diff()
        self._arrive()

    def _arrive(self) -> None:
        """Go to the thread one is on the way to, once its page is there."""
        if self._arriving is None or self._shown is None:
            return
        key, step = self._arriving
        if self._shown[0].key != key:
            return
        if self._documents is not None:
            self._arriving = None
            self.call_after_refresh(self.view.go_to_thread, step, all_of_it=True)
        elif self.has_class("-words"):
            self._arriving = None
            for thread in thread_walk.open_on(key, self._threads)[:1]:
                self.page_discussion.open_thread(thread.id)  # what has no text has no place for it

    @property
    def _both_sides(self) -> BothSides | None:
        """Where threads hang on the page on show."""
        if self._documents is None:
            return None
        if self._hanging_in is None or self._hanging_in.documents is not self._documents:
            self._hanging_in = BothSides(self._documents)
        return self._hanging_in

    @property
    def _posted(self) -> list[Comment]:
        """The threads others see too: none that are held for a review."""
        return [thread for thread in self._threads if self.shell.workspace.held(thread.id) is None]

    def _page_threads(self) -> tuple[Comment, ...]:
        change = self.change_on_show
        if change is not None and change.key == WHOLE:
            return tuple(thread for thread in self._threads if thread.target.page is None)
        if change is None or change.page is None:
            return ()
        page = change.page.id
        return tuple(thread for thread in self._threads if thread.target.page and thread.target.page.id == page)

    # What is said of the page

    @property
    def discussion(self) -> ChangeRequestRef:
        return self.at

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        change = self.change_on_show if self.is_mounted else None
        return (change.page.id, change.page.title) if change and change.page else None

    @property
    def block_on_show(self) -> Block | None:
        stop = self.view.cursor_stop() if self._documents is not None else None
        return stop[3] if stop is not None and stop[3].kind != "fold" else None

    @property
    def is_on_old_side(self) -> bool:
        return self._documents is not None and self.view.side == "old"

    def source_of(self, block: Block) -> str:
        if self._documents is None or self.is_on_old_side:
            return ""
        new = self._documents[1]
        return written(new.source, new.find(block.key) or block)

    def threads_on(self, block: Block) -> list[Comment]:
        if block.kind == "thread":
            return [thread for thread in self._page_threads() if thread.id == block.key]
        both = self._both_sides
        return under(block, both.threads(self._page_threads())) if both is not None else []

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        here = self._page_threads()
        return here + tuple(thread for thread in self._threads if thread not in here)

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        return self.page_on_show

    def since(self, thread: Comment) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return None

    def why_nothing_to_say(self, *, whole: bool) -> str | None:
        change = self.change_on_show
        if change is None or whole:
            return None
        if self.is_comparing:
            return f"{change.title} is still loading."
        if change.page is None:
            return "This is no page, so it has no blocks: C comments on the whole change request."
        return None

    def why_no_comment(self) -> str | None:
        return self.page_discussion.why_no_comment()

    def comment_on_page(self) -> None:
        """Write a comment on the page as a whole."""
        self.page_discussion.comment_on_page()

    def why_no_comment_on_page(self) -> str | None:
        """Why one cannot comment on the page as a whole, in a sentence."""
        return self.page_discussion.why_no_comment(whole=True)

    @on(Reader.BlockChosen)
    def _block_chosen(self) -> None:
        self.page_discussion.comment()

    @on(Reader.ThreadWanted)
    def _thread_wanted(self, message: Reader.ThreadWanted) -> None:
        self.page_discussion.open_thread_on(message.block)

    @on(Reader.Copied)
    def _copied(self, message: Reader.Copied) -> None:
        self.shell.say(f"Copied the {message.what}.")

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "apply_suggestions":
            if not self._suggesting():
                return "No open thread of this page suggests another wording."
            return not_allowed_in(self.shell, self.at.space_id, "edit")
        return super().why_not(action, parameters)
