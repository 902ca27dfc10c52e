"""The space that is open, its tree of pages, and the page of it that one reads: asked for, shown, and stood on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from octavo.api import comments, content
from octavo.api.content import Page, PageTree
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentIndex, UnsentText
from octavo.tui.content.cursor_target import CursorTarget
from octavo.tui.content.history import ReadingHistory
from octavo.tui.content.navigation import Navigation, Which
from octavo.tui.content.side_panel import SidePanel
from octavo.tui.content.space_threads import SpaceThreads
from octavo.tui.content.visit import Visit
from octavo.tui.reader.link_following import follow_link_page
from octavo.tui.reader.link_names import name_targets
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.showing_pages import show_page
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.shell.page_queries import get_page_to_read
from octavo.tui.shell.tree_rows import adjacent_page, open_thread_counts
from octavo.tui.shell.view import View
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

LINGERS = 0.15
"""Seconds the page before stays in the view while the one wanted is not there yet."""

_NO_FILES = (
    "No Markdown files in this folder.",
    "Octavo looks for .md, .markdown, and .mdx files in this folder and its subfolders. Files that you add appear here. "
    "To open another folder, quit Octavo and run: octavo open FOLDER",
)
"""The state of a tree of a folder without pages, and what to do."""


class SpaceReading:
    """The open space and its open page."""

    def __init__(self, screen: View) -> None:
        """It is shown in the `Navigation`, the `PageView` and the `SidePanel` of `screen`."""
        self._screen = screen
        self.space: Space | None = None
        self.pages: PageTree | None = None
        self.page: Page | None = None
        self.history = ReadingHistory(screen)
        self.target = CursorTarget(screen, self)
        self.threads = SpaceThreads(self, self.target)
        self._troubles: dict[str, str] = {}
        """Why the tree or the page on show could not be refreshed, while that is so."""
        self._wanted_standing: ReadingPosition | None = None
        self._anchor = ""
        self._wanted_page: str | None = None
        self._drawn_with: UnsentIndex | None = None
        """Where what is not sent hung when the pages were drawn."""

    @property
    def shell(self) -> Shell:
        return self._screen.shell

    @property
    def nav(self) -> Navigation:
        return self._screen.query_one(Navigation)

    @property
    def pages_tree(self) -> Tree:
        return self.nav.pages

    @property
    def view(self) -> PageView:
        return self._screen.query_one("#page", PageView)

    @property
    def aside(self) -> SidePanel:
        return self._screen.query_one("#aside", SidePanel)

    def choose_nav(self, which: Which) -> None:
        """Show the spaces, or the pages of the one that is open, and go on in them where the keys were in a tree."""
        focus = self._screen.focused is None or self.nav.has_focus_on is not None
        self.nav.choose(which, self.space, focus=focus)

    # Where one is

    @property
    def here(self) -> Visit | None:
        """The page that is read, as it stands."""
        standing = self._wanted_standing or (self.view.place.standing if self.is_in_view else None)
        return Visit(self.space.id, self.page.id, standing) if self.space and self.page else None

    @property
    def key(self) -> str:
        """What the view calls the page that is read."""
        return f"{self.space.id} {self.page.id}" if self.space is not None and self.page is not None else ""

    @property
    def is_in_view(self) -> bool:
        """Whether the page in the view is the one wanted. While that is still loading, the page before stays."""
        return self.view.document is not None and self.view.key == self.key

    def _leave_here(self, to_page: str | None = None) -> None:
        """Remember the page on show, for one goes on to another."""
        here = self.here
        if here is not None and here.page != to_page:
            self.shell.history.record(is_opened=False)

    def show_again(self, visit: Visit) -> None:
        """Show a page as one left it."""
        if self.space is not None and visit.space == self.space.id:
            self.open_page(visit.page, remember=False, standing=visit.standing)
            self.pages_tree.select_hidden(visit.page)
        else:
            self.show_space(visit.space, visit.page, remember=False)
            self._wanted_standing = visit.standing

    def say_where(self) -> None:
        """Show in the status line the path of the selected row of the focused tree, else of the open page, and follow the
        open page in the outline."""
        self.aside.follow(self.view.place.current_anchor)
        here, in_spaces = self.page.id if self.page is not None else "", self.nav.has_focus_on == "spaces"
        if (row := self.target.row) is not None:
            tree = self.nav.spaces if in_spaces else self.nav.pages
            here, path = str(row.key), [str(each.label) for each in tree.path(row.key)]
        else:
            trail = self.pages.path_to(here) if self.pages is not None else ()
            path = [page.title or "Untitled" for page in trail]
        if self.space is not None and not (in_spaces and path):
            path.insert(0, self.space.title or "Untitled")
        unsent = "unsent draft (press e to continue)" if here in self.target.unsent else ""
        is_open = self.page is not None and here == self.page.id
        facts = (unsent, (self._troubles.get("page") or self.view.facts) if is_open else "")
        self._screen.show_location(" › ".join(path) or "Content", " · ".join(filter(None, facts)))

    # Spaces

    def show_space(self, space_id: str, page_id: str | None = None, anchor: str = "", *, remember: bool = True) -> None:
        """Open a space, and a page of it: by default the one read last, else the first."""
        space = self.shell.workspace.space(space_id)
        if space is None:
            return
        if self.space is None or self.space.id != space.id:
            if remember:
                self._leave_here()
            self.leave_space()
            self.space = space
            self.shell.session.state.set_fact("space", space.id)
            self._wanted_page = page_id
            self._anchor = anchor
            self.choose_nav("pages")
            if self.shell.session.kind == "folder":
                self.pages_tree.state.empty, self.pages_tree.state.hint = _NO_FILES
            self.pages_tree.state.wait_for(f"the pages in {space.title}")
            self._screen.follow("tree", content.ListPages(at=space.ref), self._show_tree)
            threads = comments.List(at=space.ref, status="all", format="markdown", limit=200)
            self._screen.subscriptions.follow_whole("threads", threads, self.threads.show)
        else:
            self.choose_nav("pages")
            if page_id is not None and (page := self.named(page_id)) is not None:
                self.open_page(page.id, anchor=anchor, remember=remember)
                self.pages_tree.select_hidden(page.id)
                self.view.focus()

    def leave_space(self) -> None:
        """Show nothing of the space that was open any more."""
        self.history.keep()
        for slot in ("tree", "threads", "page"):
            self._screen.follow(slot, None)
        self.space, self.pages, self.page = None, None, None
        self.threads.forget()
        self._troubles.clear()

    # Pages

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        self._note("tree", snapshot)
        if snapshot.value is None:
            if snapshot.error is not None:
                self.pages_tree.state.fail("Could not load the pages", str(snapshot.error))
            return
        self.pages = snapshot.value
        self.draw_pages()
        self.target.refresh_drafts()
        name_targets(self)
        if self.page is None:
            wanted = self._wanted()
            if first := wanted or next((page for page in self.pages.walk() if page.type == "document"), None):
                self.open_page(first.id, anchor=self._anchor, remember=False, standing=self._wanted_standing)
                self.pages_tree.select_hidden(first.id)

    def named(self, name: str) -> Page | None:
        """The page of this space that a link means by its id or path. When there is none, that is said."""
        page = self.pages.find_by_name(name) if self.pages is not None else None
        if page is None and self.space is not None:
            where = self.space.title or "this space"
            self.shell.say(
                f"Could not find the page {name} in {where}: it may have been moved or deleted.", tone="care"
            )
        return page

    def _wanted(self) -> Page | None:
        """The page a space is opened at: the one asked for, else the one read last."""
        if self._wanted_page or self.space is None or self.pages is None:
            return self.named(self._wanted_page) if self._wanted_page else None
        return self.history.last_of(self.space.id, self.pages)

    def draw_pages(self) -> None:
        """Show the pages as they are now."""
        if self.pages is not None:
            self._drawn_with = self.shell.workspace.unsent.index
            left = {
                page: [UnsentText("page", None)] for page in self.target.unsent
            }  # an editor may have left it behind
            unsent = {**left, **self.threads.unsent_by_page()}
            self.nav.show_pages(self.pages, open_thread_counts(self.threads.all), unsent)
            self.pages_tree.state.show_unreadable(self.pages.unreadable)
            if trouble := self._troubles.get("tree"):
                self.pages_tree.state.fail("Could not refresh the pages", trouble)

    def show_unsent(self) -> None:
        """Mark what is not sent now, where that is something else than what is marked."""
        self.target.refresh_drafts()
        if self._drawn_with is not self.shell.workspace.unsent.index:
            self.draw_pages()
            self.threads.draw()

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
        standing: ReadingPosition | None = None,
        from_top: bool = False,
    ) -> None:
        """Show a page of this space: the part of it that `anchor` names, else as one left it, if not `from_top`. When there
        is no heading with an anchor that begins with #, as those of links do, that is said."""
        if self.space is None or self.pages is None:
            return
        page = self.pages.find(page_id)
        if page is None:
            self.shell.say("This page is no longer in the space.", tone="care")
            return
        if page.type == "link":
            follow_link_page(self, page)
            return
        if page.type != "document":
            return
        if remember:
            self._leave_here(page.id)
        self.history.keep()
        self.page, self._anchor, self._wanted_standing = page, anchor, standing
        self.shell.session.state.set_fact(f"page {self.space.id}", page.id)
        op = get_page_to_read(self.space.ref, page.id)
        if self._screen.subscriptions.operation("page") == op:
            self.go_to_anchor()
        else:
            self._troubles.pop("page", None)
            anew = anchor or standing is not None or from_top
            self.view.place.come_back(self.key, None if anew else self.history.places.get(self.key))
            self.view.state.wait_for(page.title)
            self._screen.follow("page", op, self._show_page)
            if not self.is_in_view:
                self._screen.set_timer(LINGERS, self._clear_view)
        self.say_where()

    def _clear_view(self) -> None:
        """Take the page before out of the view: the one wanted takes long, and its name is in the status line."""
        if self.page is not None and self.view.document is not None and not self.is_in_view:
            self.view.clear()
            self.aside.clear()
            self.view.state.wait_for(self.page.title)
            self.say_where()

    def _show_page(self, snapshot: Snapshot[Page]) -> None:
        if self.page is None or self.space is None:
            return
        self._note("page", snapshot)
        if snapshot.value is not None:
            self.page = snapshot.value
            name_targets(self)
            self.view.place.is_latest = not snapshot.loading
            show_page(self.view, snapshot.value, self.key)
            self.threads.draw()
            self.go_to_anchor()
            self.shell.note_page_shown(self._screen)
        elif snapshot.error is not None:
            self._clear_view()
            self.view.state.fail(f"Could not load {self.page.title or 'the page'}", str(snapshot.error))
        self.say_where()

    def go_to_anchor(self) -> None:
        """Go to where one wants to be on the page, once that is in the view."""
        if self.is_in_view:  # on the page before there is no such place
            standing, self._wanted_standing, anchor, self._anchor = self._wanted_standing, None, self._anchor, ""
            if standing is not None:
                self.view.place.stand(standing)
            if anchor and not self.view.place.go_to_anchor(anchor) and anchor.startswith("#"):
                self.view.place.miss(anchor)

    def go_on(self, step: int, *, from_top: bool = False) -> None:
        """Open the page so many steps on in the tree."""
        if self.pages is not None and (page := adjacent_page(self.pages, self.page, step)) is not None:
            self.open_page(page.id, from_top=from_top)
            self.pages_tree.select_hidden(page.id)
