"""The Content view: the tree of spaces or pages, the open page, and its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.widget import Widget

from octavo.api.collections import Collection
from octavo.api.operation import Discussion, ListPage, Model
from octavo.api.organizations import Organization
from octavo.data.drafts import UnsentText
from octavo.data.queries import collections_op
from octavo.tui.comments.page_comments import COMMENTING, THREAD_HERE, PageDiscussion
from octavo.tui.comments.thread_commands import UNSENT
from octavo.tui.content.cursor_target import PAGE, ROW, SPACE
from octavo.tui.content.open_space import OpenSpace
from octavo.tui.content.space_panes import Navigation, PageAges, SidePanel, SpacesPane, VisitedPage
from octavo.tui.content.space_target import SpaceTarget
from octavo.tui.core.item_labels import adjacent_page, offline_mark, space_nodes
from octavo.tui.core.routes import ToPage
from octavo.tui.core.view import View, focus_if, show_load_error
from octavo.tui.editing.page_commands import PAGE_COMMANDS, PageEditing
from octavo.tui.reader.find_bar import DelayedCopyScreen
from octavo.tui.reader.link_opening import (
    PageRequested,
    copy_url,
    follow_link,
    reload_deferred_content,
    show_new_specifications,
)
from octavo.tui.reader.page_loading import PageLoaded
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.layout import CopyUrlRequested, LinkFollowed
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


class SpaceList:
    """Shows the spaces and collections of the organization in the tree, and opens a space."""

    def __init__(self, screen: View, open_space: OpenSpace) -> None:
        """`open_space` shows the space that is opened from the tree."""
        self._screen, self._open_space = screen, open_space
        self.requested_route: ToPage | None = None
        """Page to open as soon as the spaces are loaded. None if no page is requested."""
        self._opens_last_space = True
        """True if `show` may open the last read space or the first space. False after the open space was removed."""
        self._created_id = ""
        """ID of a new space or collection that the tree does not list yet. Empty if there is none."""
        self._offline_marks: dict[str, str] = {}
        """Texts about offline copies that the tree shows, such as `↓ 12/340`, by space ID."""

    def start(self) -> None:
        """Show the spaces of the current organization, or why there are none."""
        if (organization := self._open_space.shell.workspace.organization) is not None:
            self.load(organization)
        else:
            self.show()

    def load(self, organization: Organization) -> None:
        """Show the spaces of `organization`, and close an open space of another organization."""
        self._opens_last_space = True
        if self._open_space.space is not None and self._open_space.space.organization != organization.id:
            self._open_space.close()
            self._open_space.clear_panes()
            self._open_space.show_tree("spaces")
        # The tree still lists spaces and collections of the previous organization.
        if (tree := self._open_space.nav.spaces_tree).shown:
            tree.show(())
        # Load the collections again, because the user may have left and rejoined the same organization.
        self._screen.follow("collections", None)
        self._screen.follow("collections", collections_op(organization.id), lambda _: self.show())
        self.show()

    @property
    def _collections(self) -> tuple[Collection, ...]:
        page: ListPage[Collection] | None = self._screen.subscriptions.snapshot("collections").value
        return page.items if page is not None else ()

    @property
    def target(self) -> SpaceTarget | None:
        """Target of the commands for spaces and collections. None until the organization's spaces are loaded."""
        workspace, node = self._open_space.shell.workspace, self._open_space.nav.spaces_tree.node
        if (organization := workspace.organization) is None or workspace.spaces.value is None:
            return None
        item_id = str(node.key) if node is not None else ""
        collection = next((each for each in self._collections if each.id == item_id), None)
        selected_item = collection if node is not None and node.kind == "group" else workspace.space(item_id)
        return SpaceTarget(
            organization,
            workspace.spaces.value.items,
            self._collections,
            selected_item,
            self._select_when_listed,
            self._close_removed,
        )

    def _select_when_listed(self, item_id: str) -> None:
        self._created_id = item_id
        self.show()

    def _close_removed(self, item_id: str) -> None:
        open_space = self._open_space
        if open_space.space is not None and open_space.space.id == item_id:
            open_space.close()
            open_space.clear_panes()
            open_space.page_view.state.show_reason(
                "The open space was deleted or moved.", "Press enter to open the selected space."
            )
            open_space.show_status()
            self._opens_last_space = False

    def show(self) -> None:
        """Draw the tree of spaces again. Open the requested page. If no page is requested and no space is open, open
        the space that was read last, else the first space. After the open space was removed, open no other space."""
        open_space, workspace = self._open_space, self._open_space.shell.workspace
        snapshot = workspace.spaces
        if snapshot.value is None and (titles := open_space.shell.session.first_titles()):
            open_space.nav.show_first_titles(titles)
        if self._screen.show_no_organization(open_space.nav.spaces_tree, "spaces"):
            return
        if snapshot.value is None:
            open_space.nav.spaces_tree.state.show_loading("spaces")
            if snapshot.error is not None:
                open_space.nav.spaces_tree.state.fail("Could not load the spaces", str(snapshot.error))
            return
        self._offline_marks = self._current_offline_marks
        nodes = space_nodes(self._collections, snapshot.value.items, self._offline_marks)
        open_space.nav.spaces_tree.show(nodes)
        if self._created_id and open_space.nav.spaces_tree.select_hidden(self._created_id):
            self._created_id = ""
        open_space.nav.spaces_tree.state.show_unreadable(snapshot.value.unreadable)
        if snapshot.error is not None:
            show_load_error(open_space.nav.spaces_tree, "Could not refresh the spaces", snapshot.error)
        elif (error := self._screen.subscriptions.snapshot("collections").error) is not None:
            open_space.nav.spaces_tree.state.fail("Could not load the collections", str(error))
        if open_space.space is not None:
            open_space.space = workspace.space(open_space.space.id) or open_space.space
            open_space.nav.show_title(open_space.space)
            open_space.show_status()
        elif self.requested_route is None and self._opens_last_space:
            last_space_id = open_space.shell.session.state.get_value("space")
            last_space = workspace.space(str(last_space_id)) if last_space_id else None
            if last_space or snapshot.value.items:
                open_space.show_space((last_space or snapshot.value.items[0]).id)
        self.open_requested_route()

    @property
    def _current_offline_marks(self) -> dict[str, str]:
        shell = self._open_space.shell
        return {each.id: offline_mark(each) for each in shell.session.offline.all} if shell.has_session else {}

    def update_offline_marks(self) -> None:
        """Draw the tree again if the progress of an offline copy has changed."""
        if self._current_offline_marks != self._offline_marks:
            self.show()

    def open_requested_route(self) -> None:
        """Open the requested page if its space is loaded. If the space does not exist, show a message."""
        requested_route, shell = self.requested_route, self._open_space.shell
        if requested_route is None:
            return
        if shell.workspace.space(requested_route.space_id) is not None:
            self.requested_route = None
            self._open_space.show_space(
                requested_route.space_id, requested_route.page, requested_route.block_or_anchor, add_to_history=False
            )
        elif reason := shell.workspace.why_no_space(requested_route.space_id):
            self.requested_route = None
            shell.say(reason, tone="care")
            self.show()


def _up_label(app: Shell, view: ContentScreen) -> str | None:
    focused = view.focused
    if view.open_space.side_panel.has_focus_within:
        return "Page"
    if app.history.can_go_up:
        return "Back"
    return "Pages" if isinstance(focused, PageView) else None


def _is_below_top(app: Shell, view: ContentScreen) -> bool:
    return view.focused is not view.open_space.nav.spaces_tree or app.history.can_go_up


def _why_no_page(app: Shell, view: ContentScreen) -> str | None:
    return "Open a page first. Press enter on a page to open it." if view.open_space.page is None else None


def _neighbor_check(step: int, reason: str) -> Callable[[Shell, ContentScreen], str | None]:
    """Return the `why_not` of the command that opens a page `step` pages away: `reason` if there is no such page."""

    def why_not(app: Shell, view: ContentScreen) -> str | None:
        pages, page = view.open_space.pages, view.open_space.page
        if page is None or pages is None or adjacent_page(pages, page, step) is not None:
            return _why_no_page(app, view)
        return reason

    return why_not


def _zoom(app: Shell, view: ContentScreen) -> None:
    view.toggle_class("-zoomed")
    view.page_view.focus()
    view.refresh_bindings()


CONTENT: Commands[ContentScreen] = Commands(
    "content",
    (
        Command("up", "escape", "Spaces", "Go up one level",
                run=lambda _, view: view.go_up_or_back(), title_now=_up_label,
                applies=_is_below_top),
        Command("outline", "O", "Outline", "Go to the outline, or hide it",
                run=lambda _, view: view.go_to_outline(), why_not=_why_no_page),
        Command("next_page", "J", "Next page", "Open the next page",
                run=lambda _, view: view.open_space.open_neighbor(1), why_not=_neighbor_check(1, "This is the last page in the space."), shown=False),
        Command("previous_page", "K", "Previous page", "Open the previous page",
                run=lambda _, view: view.open_space.open_neighbor(-1), why_not=_neighbor_check(-1, "This is the first page in the space."), shown=False),
        Command("ages", "", "Show block ages", "Show or hide the age of each block", run=lambda _, view: view.page_ages.toggle(),
                why_not=_why_no_page, shown=False, title_now=lambda _, view: "Hide block ages" if view.page_ages.is_shown else None),
        Command("zoom", "z", "Zoom", "Show only the page, or show all panes", run=_zoom, why_not=_why_no_page, shown=False,
                title_now=lambda _, view: "Show all panes" if view.has_class("-zoomed") else None),
    ),
)  # fmt: skip


class ContentScreen(View, DelayedCopyScreen):
    """View with three panes: the tree of spaces or pages, the open page, and its threads."""

    MODE = "content"
    HELP_NAME = "content"
    QUIT_LISTS = frozenset({"pages"})
    HELP = (
        "This view shows the spaces of your organization, the pages of the open space, and the open page with its threads. "
        "Press enter to open a page, c to comment on the selected block, f to open a link, or e to edit the page in a change "
        "request. Press esc to go back to the list in which you opened the page, else to the pages, then to the spaces."
    )
    CSS_PATH = "content_screen.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        ROW,
        SPACE.for_target(lambda view: view.target),
        PAGE.for_target(lambda view: view.target),
        PAGE_COMMANDS.for_target(lambda view: view.authoring),
        COMMENTING,
        THREAD_HERE,
        UNSENT,
        CONTENT,
    )

    def __init__(self) -> None:
        super().__init__()
        self.open_space: OpenSpace = OpenSpace(self)
        self.page_ages: PageAges = PageAges(self, self.open_space)
        self.spaces = SpaceList(self, self.open_space)
        self.target = self.open_space.target
        self.authoring = PageEditing(self, self.target)
        self.page_discussion = PageDiscussion(self, self.open_space.threads)

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            yield Navigation(id="nav", classes="hairline")
            with Vertical(id="reading"):
                yield PageView(ascii=self.shell.settings.ascii, id="page")
            yield SidePanel(id="aside")

    def on_mount(self) -> None:
        self.shell.exit_callbacks.add(self.open_space.history.save)
        self.shell.workspace.organization_changed.subscribe(self, self.spaces.load)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.spaces.show())
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self.spaces.update_offline_marks())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._show_drafts())
        self.page_view.block_commands.why_no_comment_here = lambda: self.page_discussion.why_no_comment()
        self.query_one(SpacesPane).find_target = lambda: self.spaces.target
        self.open_space.show_tree("spaces")
        self.spaces.start()

    def on_unmount(self) -> None:
        self.shell.exit_callbacks.discard(self.open_space.history.save)

    def on_screen_resume(self) -> None:
        self.open_space.update_unsent_marks()
        show_new_specifications(self.open_space.shown_page)

    def _show_drafts(self) -> None:
        if self.is_current:  # Otherwise `on_screen_resume` shows the drafts when the screen is current again.
            self.open_space.update_unsent_marks()

    @property
    def page_view(self) -> PageView:
        return self.open_space.page_view

    @property
    def main_pane(self) -> PageView:
        return self.page_view

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """IDs of the commands that come first in the key bar."""
        return ("content.zoom",) if self.has_class("-zoomed") else ()

    @property
    def current_visit(self) -> VisitedPage | None:
        return self.open_space.visited_page

    def restore_visit(self, visit: VisitedPage) -> None:
        self.open_space.restore_visit(visit)

    def go_to_block(self, at: Discussion, page_id: str | None, block_key: str) -> bool:
        threads = self.open_space.threads
        if threads.discussion != at or page_id != (threads.visible_page or ("",))[0]:
            return False
        if block_key:
            self.page_view.focus()
        return not block_key or self.page_view.navigation.go_to_block(block_key, "near")

    def save_position(self) -> None:
        self.open_space.history.save()

    @property
    def is_in_start_state(self) -> bool:
        """True if the next start of Octavo would show the same page in the same way."""
        looks_different = (
            any(notices.display for notices in self.query(Notices))
            or self.page_view.typing_keys
            or self.page_view.contents.shows_source
        )
        return self.current_visit is not None and self.page_view.key == self.open_space.key and not looks_different

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Your unsent drafts in the selected thread if threads have focus, else on the selected page or block."""
        threads = self.open_space.side_panel.threads
        if threads.has_focus and threads.item is not None:
            return self.open_space.threads.drafts_in(threads.item)
        return self.open_space.drafts_in_selection

    @property
    def selected_items(self) -> Sequence[Model]:
        return self.target.models

    @on(LineList.Opened, "#spaces")
    def _on_space_opened(self, message: LineList.Opened) -> None:
        self.open_space.show_space(str(message.key))

    @on(LineList.Opened, "#pages")
    def _on_page_opened(self, message: LineList.Opened) -> None:
        self.open_space.open_page(str(message.key))
        self.page_view.focus()

    @on(LineList.Opened, "#outline")
    def _on_heading_opened(self, message: LineList.Opened) -> None:
        self.open_space.side_panel.outline.set_filter("")
        self.page_view.navigation.go_to_anchor(str(message.key))
        self.page_view.focus()

    @on(LineList.Opened, "#threads")
    def _on_thread_opened(self, message: LineList.Opened) -> None:
        if self.has_class("-tiny"):
            # The side panel would cover the thread, so it is hidden.
            self.remove_class("-aside")
            self.page_view.focus()
        self.page_discussion.open_thread(str(message.key))

    @on(LineList.Highlighted, "#pages")
    @on(LineList.Highlighted, "#spaces")
    @on(DescendantFocus)
    def _on_row_or_pane_selected(self) -> None:
        self.open_space.show_status()

    @on(PaneMoved)
    def _on_moved(self) -> None:
        self.open_space.show_status()
        self.open_space.history.save_soon()

    @on(Reader.CommentRequested)
    def _on_comment_requested(self, message: Reader.CommentRequested) -> None:
        self.page_discussion.comment(message.block)  # The cursor may have moved since the key was pressed.

    @on(Reader.ThreadRequested)
    def _on_thread_requested(self, message: Reader.ThreadRequested) -> None:
        self.page_discussion.open_block_thread(message.block)

    @on(PageLoaded)
    def _on_page_loaded(self) -> None:
        self.open_space.threads.draw()
        self.open_space.go_to_requested_position()
        self.open_space.show_status()
        self.page_ages.show_page()

    @on(LinkFollowed)
    def _on_link_followed(self, message: LinkFollowed) -> None:
        follow_link(self.open_space.shown_page, message)

    @on(PageRequested)
    def _on_page_requested(self, message: PageRequested) -> None:
        self.open_space.open_page(message.page, anchor=message.anchor)
        self.open_space.pages_tree.select_hidden(message.page)

    @on(CopyUrlRequested)
    def _on_copy_url_requested(self, message: CopyUrlRequested) -> None:
        copy_url(self.open_space.shown_page, message)

    def refresh_data(self) -> None:
        super().refresh_data()
        reload_deferred_content(self.open_space.shown_page)

    def go_up(self) -> bool:
        if self.open_space.side_panel.has_focus_within:
            return focus_if(self.page_view, condition=True)
        if self.shell.history.go_up():
            return True
        if self.focused is self.open_space.pages_tree:
            self.open_space.nav.show_tree("spaces", self.open_space.space, takes_focus=True)
            return True
        return focus_if(self.open_space.pages_tree, condition=self.focused is self.page_view)

    def go_to_outline(self) -> None:
        """Show and focus the outline. If the side panel has the focus, hide it and focus the page."""
        is_outline_visible = (self.has_class("-wide") or self.has_class("-huge")) != self.has_class("-aside")
        has_focus_in_panel = self.open_space.side_panel.has_focus_within
        self.remove_class("-zoomed")
        if has_focus_in_panel or not is_outline_visible:
            self.toggle_class("-aside")
        (self.page_view if has_focus_in_panel else self.open_space.side_panel.outline).focus()

    @on(Reader.NextPageRequested)
    def _on_next_page_requested(self) -> None:
        self.open_space.open_neighbor(1, from_top=True)
