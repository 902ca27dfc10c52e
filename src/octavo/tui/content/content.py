"""Content: collections and spaces, the pages of the open space, the open page and its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.widget import Widget

from octavo.api.operation import Model
from octavo.api.places import Discussion
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments.discarding import UNSENT
from octavo.tui.comments.page_discussion import COMMENTING, THREAD_HERE, PageDiscussion
from octavo.tui.content.cursor_target import PAGE, ROW, SPACE
from octavo.tui.content.navigation import Navigation
from octavo.tui.content.side_panel import SidePanel
from octavo.tui.content.space_reading import SpaceReading
from octavo.tui.content.spaces import Spaces
from octavo.tui.content.spaces_pane import SpacesPane
from octavo.tui.content.visit import Visit
from octavo.tui.reader.link_following import copy_address, follow
from octavo.tui.reader.link_names import look_for_new_specifications, name_again
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.streaming_page import PageLoaded
from octavo.tui.reader.text_selection import CopiesLater
from octavo.tui.render.page_parts import CopyUrlRequested, LinkFollowed
from octavo.tui.shell.tree_rows import adjacent_page
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.writing.page_commands import PAGE_COMMANDS, PageEditing

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def _is_below_spaces(app: Shell, view: ContentScreen) -> bool:
    """Return whether there is a level above the focused pane: the spaces are the top level."""
    return view.focused is None or view.focused.id != "spaces"


def _way_up(app: Shell, view: ContentScreen) -> str | None:
    focused = view.focused
    if focused is None or focused.id == "pages":
        return None
    return "Pages" if isinstance(focused, PageView) else "Page"


def _why_no_page(app: Shell, view: ContentScreen) -> str | None:
    return "Open a page first. Press enter on a page to open it." if view.reading.page is None else None


def _reads_on(step: int, why: str) -> Callable[[Shell, ContentScreen], str | None]:
    """Return a check that explains why there is no page `step` pages after the open page."""

    def why_not(app: Shell, view: ContentScreen) -> str | None:
        pages, page = view.reading.pages, view.reading.page
        if page is None or pages is None or adjacent_page(pages, page, step) is not None:
            return _why_no_page(app, view)
        return why

    return why_not


def _zoom(app: Shell, view: ContentScreen) -> None:
    view.toggle_class("-zoomed")
    view.view.focus()
    view.refresh_bindings()


CONTENT: Commands[ContentScreen] = Commands(
    "content",
    (
        Command("up", "escape", "Spaces", "Go up one level",
                run=lambda _, view: view.go_up_or_back(), title_now=_way_up, is_available=_is_below_spaces),
        Command("outline", "O", "Outline", "Go to the outline, or hide it",
                run=lambda _, view: view.go_to_outline(), why_not=_why_no_page),
        Command("next_page", "J", "Next page", "Open the next page",
                run=lambda _, view: view.reading.go_on(1), why_not=_reads_on(1, "This is the last page in the space."), shown=False),
        Command("previous_page", "K", "Previous page", "Open the previous page",
                run=lambda _, view: view.reading.go_on(-1), why_not=_reads_on(-1, "This is the first page in the space."), shown=False),
        Command("zoom", "z", "Zoom", "Show only the page, or show all panes", run=_zoom, why_not=_why_no_page, shown=False,
                title_now=lambda _, view: "Show all panes" if view.has_class("-zoomed") else None),
    ),
    find=lambda view: view,
)  # fmt: skip


class ContentScreen(View, CopiesLater):
    """Three panes: the tree of spaces or pages, the open page, and its threads."""

    MODE = "content"
    CONTEXT = "content"
    QUIT_LISTS = frozenset({"pages"})
    HELP = (
        "This view shows the spaces of your organization, the pages of the open space, and the open page with its threads. "
        "Press enter to open a page, c to comment on the selected block, f to open a link, or e to edit the page in a change "
        "request. Press esc to go up one level: from the page to the pages of the space, then to the spaces."
    )
    CSS_PATH = "content.tcss"
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
        self.reading: SpaceReading = SpaceReading(self)
        self.spaces = Spaces(self, self.reading)
        self.target = self.reading.target
        self.authoring = PageEditing(self, self.target)
        self.page_discussion = PageDiscussion(self, self.reading.threads)

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            yield Navigation(id="nav", classes="hairline")
            with Vertical(id="reading"):
                yield PageView(ascii=self.shell.settings.ascii, id="page")
            yield SidePanel(id="aside")

    def on_mount(self) -> None:
        self.shell.exit_callbacks.add(self.reading.history.keep)
        self.shell.workspace.organization_changed.subscribe(self, self.spaces.enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.spaces.show())
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self.spaces.look_at_kept())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._show_unsent())
        self.view.cursor_block.why_no_comment_here = lambda: self.page_discussion.why_no_comment()
        self.query_one(SpacesPane).managed = lambda: self.spaces.managed
        self.reading.choose_nav("spaces")
        self.spaces.begin()

    def on_unmount(self) -> None:
        self.shell.exit_callbacks.discard(self.reading.history.keep)

    def on_screen_resume(self) -> None:
        self.reading.show_unsent()
        look_for_new_specifications(self.reading)

    def _show_unsent(self) -> None:
        if self.is_current:  # else as soon as it is again
            self.reading.show_unsent()

    @property
    def view(self) -> PageView:
        return self.reading.view

    @property
    def key_fallback(self) -> PageView:
        return self.view

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """The ids the key bar begins with: the way back, while only the page is shown."""
        return ("content.zoom",) if self.has_class("-zoomed") else ()

    # Where one is

    @property
    def here(self) -> Visit | None:
        return self.reading.here

    def show_again(self, visit: Visit) -> None:
        self.reading.show_again(visit)

    def go_to_place(self, at: Discussion, page: str | None, node: str) -> bool:
        threads = self.reading.threads
        if threads.discussion != at or page != (threads.page_on_show or ("",))[0]:
            return False
        if node:
            self.view.focus()
        return not node or self.view.place.go_to_block(node)

    def keep_place(self) -> None:
        """Remember where on the page one is."""
        self.reading.history.keep()

    @property
    def is_as_at_start(self) -> bool:
        """Whether the page is on show with nothing over it or in it that a start would not show."""
        covered = (
            any(notices.display for notices in self.query(Notices))
            or self.view.typing_keys
            or self.view.contents.shows_source
        )
        return self.here is not None and self.view.key == self.reading.key and not covered

    # What its keys are about

    @property
    def unsent_at_hand(self) -> Sequence[UnsentText]:
        """Return your unsent drafts in the focused thread, else on the selected page or block."""
        threads = self.reading.aside.threads
        if threads.has_focus and threads.item is not None:
            return self.reading.threads.unsent_in(threads.item)
        return self.target.words_not_sent

    @property
    def selected_items(self) -> Sequence[Model]:
        return self.target.things

    # Messages

    @on(LineList.Opened, "#spaces")
    def _space_chosen(self, message: LineList.Opened) -> None:
        self.reading.show_space(str(message.key))

    @on(LineList.Opened, "#pages")
    def _page_chosen(self, message: LineList.Opened) -> None:
        self.reading.open_page(str(message.key))
        self.view.focus()

    @on(LineList.Opened, "#outline")
    def _heading_chosen(self, message: LineList.Opened) -> None:
        self.reading.aside.outline.set_filter("")
        self.view.place.go_to_anchor(str(message.key))
        self.view.focus()

    @on(LineList.Opened, "#threads")
    def _thread_chosen(self, message: LineList.Opened) -> None:
        if self.has_class("-tiny"):
            self.remove_class("-aside")  # it hides the page, and the thread is read beside the words it hangs on
            self.view.focus()
        self.page_discussion.open_thread(str(message.key))

    @on(LineList.Highlighted, "#pages")
    @on(LineList.Highlighted, "#spaces")
    def _other_row(self) -> None:
        self.target.other_row()
        self.reading.say_where()

    @on(DescendantFocus)
    def _other_pane(self) -> None:
        self.reading.say_where()

    @on(PageView.Moved)
    def _moved(self) -> None:
        self.reading.say_where()
        self.reading.history.keep_soon()

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

    @on(PageLoaded)
    def _page_loaded(self) -> None:
        self.reading.threads.draw()
        self.reading.go_to_anchor()
        self.reading.say_where()

    @on(LinkFollowed)
    def _link_followed(self, message: LinkFollowed) -> None:
        follow(self.reading, message)

    @on(CopyUrlRequested)
    def _copy_url(self, message: CopyUrlRequested) -> None:
        copy_address(self.reading, message)

    # Going about

    def refresh_data(self) -> None:
        super().refresh_data()
        name_again(self.reading)

    def go_up(self) -> bool:
        if self.reading.aside.has_focus_within:
            return self.focus_if(self.view, condition=True)
        if self.focused is self.reading.pages_tree:
            self.reading.nav.choose("spaces", self.reading.space, focus=True)
            return True
        return self.focus_if(self.reading.pages_tree, condition=self.focused is self.view)

    def go_to_outline(self) -> None:
        """Go to the outline beside the page; from there: hide it."""
        beside = (self.has_class("-wide") or self.has_class("-huge")) != self.has_class("-aside")
        leave = self.reading.aside.has_focus_within
        self.remove_class("-zoomed")
        if leave or not beside:
            self.toggle_class("-aside")
        (self.view if leave else self.reading.aside.outline).focus()

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.reading.go_on(1, from_top=True)
