"""Content: collections and spaces, the pages of one, the page itself, and the threads beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from octavo.api import comments, content
from octavo.api.content import Page, PageTree
from octavo.api.operation import Model
from octavo.api.places import Discussion
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.comments.page_discussion import COMMENTING, THREAD_HERE, PageDiscussion
from octavo.tui.content.cursor_target import PAGE, ROW, SPACE, CursorTarget
from octavo.tui.content.history import ReadingHistory
from octavo.tui.content.navigation import Navigation, Which
from octavo.tui.content.side_panel import Aside
from octavo.tui.content.space_threads import SpaceThreads
from octavo.tui.content.spaces import Spaces
from octavo.tui.content.visit import Visit
from octavo.tui.reader.link_following import copy_address, follow, follow_link_page
from octavo.tui.reader.link_names import name_again, name_targets
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_place import UNSEEN, PageState
from octavo.tui.reader.showing_pages import show_page
from octavo.tui.reader.text_selection import CopiesLater
from octavo.tui.render.page_parts import AddressWanted, LinkFollowed
from octavo.tui.shell.page_queries import page_to_read
from octavo.tui.shell.tree_rows import neighbour, open_counts
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.tree import Tree
from octavo.tui.writing.authoring import WRITING, Authoring

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

LINGERS = 0.15
"""Seconds the page before stays in the view while the one wanted is not there yet."""


def _is_below_spaces(app: Shell, view: ContentScreen) -> bool:
    """Above the spaces there is nothing to go up to."""
    return view.focused is None or view.focused.id != "spaces"


def _way_up(app: Shell, view: ContentScreen) -> str | None:
    focused = view.focused
    if focused is None or focused.id == "pages":
        return None
    return "Tree" if isinstance(focused, PageView) else "Page"


def _why_no_page(app: Shell, view: ContentScreen) -> str | None:
    return "Open a page first: enter opens the one the cursor is on." if view.page is None else None


def _reads_on(step: int, why: str) -> Callable[[Shell, ContentScreen], str | None]:
    """Why there is no page so many steps from the one that is read, in a sentence."""

    def why_not(app: Shell, view: ContentScreen) -> str | None:
        if view.page is None or view.pages is None or neighbour(view.pages, view.page, step) is not None:
            return _why_no_page(app, view)
        return why

    return why_not


CONTENT: Commands[ContentScreen] = Commands(
    "content",
    (
        Command("up", "escape", "Spaces", "From the outline to the page, from there to the tree, from the tree to the spaces",
                run=lambda _, view: view.go_up_or_leave(), called=_way_up, there=_is_below_spaces),
        Command("outline", "O", "Outline", "Go to the outline beside the page (/ filters it); from there: hide it",
                run=lambda _, view: view.go_to_outline(), why_not=_why_no_page),
        Command("next_page", "J", "Next page", "Open the next page of the tree",
                run=lambda _, view: view.go_on(1), why_not=_reads_on(1, "This is the last page of the space."), shown=False),
        Command("previous_page", "K", "Page before", "Open the page before in the tree",
                run=lambda _, view: view.go_on(-1), why_not=_reads_on(-1, "This is the first page of the space."), shown=False),
        Command("zoom", "z", "Zoom", "Only the page, or all panes", run=lambda _, view: view.zoom(), why_not=_why_no_page, shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ContentScreen(View, CopiesLater):
    """Three panes: a tree of spaces or of pages, the page, and what people say of it."""

    VIEW = "content"
    CONTEXT = "content"
    HELP = (
        "Choose a space, then a page: Enter opens, h and l fold and unfold, / filters. On a page j and k scroll, "
        "( and ) choose a block, c comments on it, t goes to the next thread, f follows a link. e opens the page in your "
        "editor, and M, X and ctrl+n rename, move, delete and add pages: all of it goes into a change request."
    )
    CSS_PATH = "content.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        ROW,
        SPACE.about(lambda view: view.target),
        PAGE.about(lambda view: view.target),
        WRITING.about(lambda view: view.authoring),
        COMMENTING,
        THREAD_HERE,
        CONTENT,
    )

    def __init__(self) -> None:
        super().__init__()
        self.space: Space | None = None
        self.pages: PageTree | None = None
        self.page: Page | None = None
        self.spaces = Spaces(self)
        self.target = CursorTarget(self)
        self.authoring = Authoring(self, self.target)
        self.history = ReadingHistory(self)
        self.threads = SpaceThreads(self, self.target)
        self._troubles: dict[str, str] = {}
        """Why the tree or the page on show could not be refreshed, while that is so."""
        self._wanted_standing: PageState | None = None
        self._anchor = ""
        self._wanted_page: str | None = None
        self.page_discussion = PageDiscussion(self, self.threads)

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            yield Navigation(id="nav", classes="hairline")
            with Vertical(id="reading"):
                yield PageView(ascii=self.shell.settings.ascii, id="page")
            yield Aside(id="aside")

    def on_mount(self) -> None:
        self.shell.before_end.add(self.history.keep)
        self.shell.workspace.organization_changed.subscribe(self, self.spaces.enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.spaces.show())
        self.choose_nav("spaces")
        self.spaces.begin()

    def on_unmount(self) -> None:
        self.shell.before_end.discard(self.history.keep)

    def on_screen_resume(self) -> None:
        self.target.look_for_unsent()

    @property
    def nav(self) -> Navigation:
        return self.query_one(Navigation)

    def choose_nav(self, which: Which) -> None:
        """Show the spaces, or the pages of the one that is open, and go on in them where the keys were in a tree."""
        focus = self.focused is None or self.nav.has_focus_on is not None
        self.nav.choose(which, self.space, focus=focus)

    @property
    def pages_tree(self) -> Tree:
        return self.nav.pages

    @property
    def view(self) -> PageView:
        return self.query_one("#page", PageView)

    @property
    def aside(self) -> Aside:
        return self.query_one("#aside", Aside)

    @property
    def keys_go_on_to(self) -> PageView | None:
        hidden = self.has_class("-tiny") and (self.has_class("-on-left") or self.has_class("-aside"))
        return None if hidden else self.view

    # Where one is

    @property
    def here(self) -> Visit | None:
        standing = self._wanted_standing or (self.view.place.standing if self.is_in_view else UNSEEN)
        return Visit(self.space.id, self.page.id, standing) if self.space and self.page else None

    def go_to_place(self, at: Discussion, page: str | None, node: str) -> bool:
        if self.threads.discussion != at or page != (self.threads.page_on_show or ("",))[0]:
            return False
        return not node or self.view.go_to_block(node)

    def leave_here(self, to_page: str | None = None) -> None:
        """Remember the page on show, for one goes on to another."""
        here = self.here
        if here is not None and here.page != to_page:
            self.shell.trail.leave(opened=False)

    @property
    def is_page_on_show(self) -> bool:
        """Whether the page is on show with nothing over it or in it that a start would not show."""
        covered = (
            any(notices.display for notices in self.query(Notices))
            or self.view.is_typing
            or self.view.contents.shows_source
        )
        return self.here is not None and self.view.key == self._page_key and not covered

    def show_again(self, visit: Visit) -> None:
        if self.space is not None and visit.space == self.space.id:
            self.open_page(visit.page, remember=False, standing=visit.standing)
            self.pages_tree.reveal(visit.page)
        else:
            self.show_space(visit.space, visit.page, remember=False)
            self._wanted_standing = visit.standing

    @property
    def _page_key(self) -> str:
        return f"{self.space.id} {self.page.id}" if self.space is not None and self.page is not None else ""

    @property
    def is_in_view(self) -> bool:
        """Whether the page in the view is the one wanted. While that is still loading, the page before stays."""
        return self.view.document is not None and self.view.key == self._page_key

    # Spaces

    def show_space(self, space_id: str, page_id: str | None = None, anchor: str = "", *, remember: bool = True) -> None:
        space = self.shell.workspace.space(space_id)
        if space is None:
            return
        if self.space is None or self.space.id != space.id:
            if remember:
                self.leave_here()
            self.leave_space()
            self.space = space
            self.shell.session.state.remember("space", space.id)
            self._wanted_page = page_id
            self._anchor = anchor
            self.choose_nav("pages")
            self.pages_tree.wait_for(f"the pages of {space.title}")
            self.follow("tree", content.ListPages(at=space.ref), self._show_tree)
            threads = comments.List(at=space.ref, status="all", format="markdown", limit=200)
            self.follow_whole("threads", threads, self.threads.show)
        else:
            self.choose_nav("pages")
            if page_id is not None and (page := self.named(page_id)) is not None:
                self.open_page(page.id, anchor=anchor, remember=remember)
                self.pages_tree.reveal(page.id)
                self.view.focus()

    def leave_space(self) -> None:
        self.history.keep()
        for slot in ("tree", "threads", "page"):
            self.follow(slot, None)
        self.space, self.pages, self.page = None, None, None
        self.threads.forget()
        self._troubles.clear()

    # Pages

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        self._note("tree", snapshot)
        if snapshot.value is None:
            if snapshot.error is not None:
                self.pages_tree.fail("Pages did not load", str(snapshot.error))
            return
        self.pages = snapshot.value
        self.draw_pages()
        self.target.look_for_unsent()
        name_targets(self)
        if self.page is None:
            wanted = self._wanted()
            if first := wanted or next((page for page in self.pages.walk() if page.type == "document"), None):
                self.open_page(first.id, anchor=self._anchor, remember=False, standing=self._wanted_standing)
                self.pages_tree.reveal(first.id)

    def named(self, name: str) -> Page | None:
        """The page of this space that a link means by its id or path. When there is none, that is said."""
        page = self.pages.named(name) if self.pages is not None else None
        if page is None and self.space is not None:
            where = self.space.title or "this space"
            self.shell.say(f"There is no page {name} in {where}: it was moved or deleted.", tone="care")
        return page

    def _wanted(self) -> Page | None:
        """The page a space is opened at: the one asked for, else the one read last."""
        if self._wanted_page or self.space is None or self.pages is None:
            return self.named(self._wanted_page) if self._wanted_page else None
        return self.history.last_of(self.space.id, self.pages)

    def draw_pages(self) -> None:
        if self.pages is not None:
            self.nav.show_pages(self.pages, open_counts(self.threads.all), self.target.unsent)
            self.pages_tree.lacks(self.pages.unreadable)
            if trouble := self._troubles.get("tree"):
                self.pages_tree.fail("Pages could not be refreshed", trouble)

    def _note(self, what: str, snapshot: Snapshot[Any]) -> None:
        """Remember why something is not fresh: whatever is drawn later still says so."""
        self._troubles.pop(what, None)
        if snapshot.error is not None:
            self._troubles[what] = str(snapshot.error)

    def open_page(
        self,
        page_id: str,
        *,
        anchor: str = "",
        remember: bool = True,
        standing: PageState | None = None,
        from_top: bool = False,
    ) -> None:
        """Show a page of this space: the part of it that `anchor` names, else as one left it, if not `from_top`. When there
        is no heading with an anchor that begins with #, as those of links do, that is said."""
        if self.space is None or self.pages is None:
            return
        page = self.pages.find(page_id)
        if page is None:
            self.shell.say("That page is not in this space any more.", tone="care")
            return
        if page.type == "link":
            follow_link_page(self, page)
            return
        if page.type != "document":
            return
        if remember:
            self.leave_here(page.id)
        self.history.keep()
        standing = standing if standing is not UNSEEN else None
        self.page, self._anchor, self._wanted_standing = page, anchor, standing
        self.shell.session.state.remember(f"page {self.space.id}", page.id)
        op = page_to_read(self.space.ref, page.id)
        if self.following.op("page") == op:
            self._go_to_anchor()
        else:
            self._troubles.pop("page", None)
            anew = anchor or standing is not None or from_top
            self.view.place.come_back(self._page_key, None if anew else self.history.places.on(self._page_key))
            self.view.wait_for(page.title)
            self.follow("page", op, self._show_page)
            if not self.is_in_view:
                self.set_timer(LINGERS, self._clear_view)
        self.say_where()

    def _clear_view(self) -> None:
        """Take the page before out of the view: the one wanted takes long, and its name is in the status line."""
        if self.page is not None and self.view.document is not None and not self.is_in_view:
            self.view.clear()
            self.aside.clear()
            self.view.wait_for(self.page.title)
            self.say_where()

    def _show_page(self, snapshot: Snapshot[Page]) -> None:
        if self.page is None or self.space is None:
            return
        self._note("page", snapshot)
        if snapshot.value is not None:
            self.page = snapshot.value
            name_targets(self)
            self.view.place.is_latest = not snapshot.loading
            show_page(self.view, snapshot.value, self._page_key)
            self.threads.draw()
            self._go_to_anchor()
            self.shell.page_shown(self)
        elif snapshot.error is not None:
            self._clear_view()
            self.view.fail(f"{self.page.title} did not load", str(snapshot.error))
        self.say_where()

    def _go_to_anchor(self) -> None:
        if self.is_in_view:  # on the page before there is no such place
            standing, self._wanted_standing, anchor, self._anchor = self._wanted_standing, None, self._anchor, ""
            if standing is not None:
                self.view.place.stand(standing)
            if anchor and not self.view.go_to_anchor(anchor) and anchor.startswith("#"):
                self.view.place.miss(anchor)

    @on(PageView.Moved)
    def say_where(self) -> None:
        self.aside.follow(self.view.place.current_anchor)
        if self.space is None:
            self.status("Content")
            return
        trail = self.pages.trail(self.page.id) if self.pages and self.page else ()
        crumbs = " › ".join([self.space.title, *(page.title or "Untitled" for page in trail)])
        unsent = "not all you wrote is sent: e" if self.page is not None and self.page.id in self.target.unsent else ""
        said = (unsent, self._troubles.get("page") or self.view.facts)
        self.status(crumbs, " · ".join(filter(None, said)))

    # What its keys are about

    @property
    def things_at_hand(self) -> Sequence[Model]:
        return self.target.things

    def why_no_comment(self) -> str | None:
        return self.page_discussion.why_no_comment()

    # Messages

    @on(Lines.Chosen, "#spaces")
    def _space_chosen(self, message: Lines.Chosen) -> None:
        self.show_space(str(message.key))

    @on(Lines.Chosen, "#pages")
    def _page_chosen(self, message: Lines.Chosen) -> None:
        self.open_page(str(message.key))
        self.view.focus()

    @on(Lines.Chosen, "#outline")
    def _heading_chosen(self, message: Lines.Chosen) -> None:
        self.aside.outline.set_filter("")
        self.view.go_to_anchor(str(message.key))
        self.view.focus()

    @on(Lines.Chosen, "#threads")
    def _thread_chosen(self, message: Lines.Chosen) -> None:
        self.page_discussion.open_thread(str(message.key))

    @on(Lines.Highlighted, "#pages")
    @on(Lines.Highlighted, "#spaces")
    def _other_row(self) -> None:
        self.target.other_row()

    @on(PageView.Moved)
    def _keep_place_soon(self) -> None:
        self.history.keep_soon()

    @on(Reader.BlockChosen)
    def _block_chosen(self) -> None:
        self.page_discussion.comment()

    @on(Reader.ThreadWanted)
    def _thread_wanted(self, message: Reader.ThreadWanted) -> None:
        self.page_discussion.open_thread_on(message.block)

    @on(PageView.RowWanted)
    def _row_wanted(self, message: PageView.RowWanted) -> None:
        from octavo.tui.reader.record import open_row  # the first screen does without

        open_row(self.app, message)

    @on(Reader.Copied)
    def _copied(self, message: Reader.Copied) -> None:
        self.shell.say(f"Copied the {message.what}.")

    @on(PageView.Loaded)
    def _page_loaded(self) -> None:
        self.threads.draw()
        self._go_to_anchor()
        self.say_where()

    @on(LinkFollowed)
    def _link_followed(self, message: LinkFollowed) -> None:
        follow(self, message)

    @on(AddressWanted)
    def _address_wanted(self, message: AddressWanted) -> None:
        copy_address(self, message)

    # Going about

    def ask_again(self) -> None:
        super().ask_again()
        name_again(self)

    def go_up(self) -> bool:
        if self.aside.has_focus_within:
            return self.climb(self.view, when=True)
        if self.focused is self.pages_tree:
            self.nav.choose("spaces", self.space, focus=True)
            return True
        return self.climb(self.pages_tree, when=self.focused is self.view)

    def go_to_outline(self) -> None:
        """Go to the outline beside the page; from there: hide it."""
        beside = (self.has_class("-wide") or self.has_class("-huge")) != self.has_class("-aside")
        leave = self.aside.has_focus_within
        self.remove_class("-zoomed")
        if leave or not beside:
            self.toggle_class("-aside")
        (self.view if leave else self.aside.outline).focus()

    def zoom(self) -> None:
        """Show only the page, or all panes."""
        self.toggle_class("-zoomed")
        self.view.focus()

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.go_on(1, from_top=True)

    def go_on(self, step: int, *, from_top: bool = False) -> None:
        """Open the page so many steps on in the tree."""
        if self.pages is not None and (page := neighbour(self.pages, self.page, step)) is not None:
            self.open_page(page.id, from_top=from_top)
            self.pages_tree.reveal(page.id)
