"""The panes of the content view: the tree of spaces or pages, the open page with its age gutter, and the side panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.comments import Comment
from octavo.api.content import Page, PageTree
from octavo.api.errors import ApiError
from octavo.api.operation import SpaceRef
from octavo.api.spaces import Space
from octavo.data.drafts import UnsentText
from octavo.documents.blocks import Block, Document, Heading
from octavo.documents.emoji import to_emoji
from octavo.documents.suggestions import one_line_text
from octavo.lazy_import import lazy, load
from octavo.tui.content.space_target import SpaceTarget, position_at_step, title_of
from octavo.tui.core.session import with_unsent_mark
from octavo.tui.core.shell import Shell, shell_of
from octavo.tui.core.view import View
from octavo.tui.reader.link_opening import OpenPage
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_position import ReadingPosition, ReadingPositions
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands, HasCommands, StillLoading
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.short_texts import lasting_age, short_age
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from octavo.data.block_origins import PageBlame

_move_by = lazy("octavo.tui.content.space_changes:move_by")


_BLOCK_CHANGES = {"changed": "block edited", "gone": "block deleted"}
"""Note on a thread whose block has changed, in the list of threads, by kind of change."""
DEEPEST_OUTLINE_LEVEL = 3


class SidePanel(Vertical):
    """Panel with the outline (row keys: anchors), the threads (row keys: comment IDs) and the details of a page."""

    shell = cached_property(shell_of)

    DEFAULT_CSS = """
    SidePanel {
        background: $background;
        RowList { height: auto; background: $background; }
        #outline { max-height: 40%; }
        #threads { min-height: 4; max-height: 1fr; }
        #page-details { height: auto; color: $octavo-muted; padding: 0 1; margin-top: 1; }
        .pane-title { margin-top: 0; }
        #threads-title { margin-top: 1; }
    }
    """

    _page = ""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._block_change: Callable[[Comment], str] = lambda thread: ""
        self._drafts_in: Callable[[Comment], Sequence[UnsentText]] = lambda thread: ()
        self._visible_anchors: dict[str, str] = {}
        """Anchor of the outline row to select, by heading anchor. For a heading not in the outline, the row above."""

    def compose(self) -> ComposeResult:
        self.outline: RowList[Heading] = RowList(
            lambda heading: Row(text="  " * max(0, heading.level - 2) + heading.title, dim=heading.level > 2),
            key=lambda heading: heading.anchor,
            search=lambda heading: heading.title,
            empty="",
            id="outline",
        )
        self.threads: RowList[Comment] = RowList(
            self._draw_thread, key=lambda comment: comment.id, two_lines=True, empty="", id="threads"
        )
        self.threads.can_focus = False  # Tab must skip an empty list.
        yield Static("OUTLINE", classes="pane-title")
        yield self.outline
        yield ChangingText("THREADS", classes="pane-title", id="threads-title")
        yield self.threads
        yield ChangingText("", id="page-details")

    def show(
        self,
        document: Document,
        threads: Sequence[Comment] | None,
        page: Page,
        *,
        is_complete: bool,
        why_no_comment: str | None,
        block_change: Callable[[Comment], str],
        drafts_in: Callable[[Comment], Sequence[UnsentText]],
    ) -> None:
        """Show the outline, the threads (None while loading) and the details of `page`. `is_complete` is False while
        parsing. `block_change` returns a key of `_BLOCK_CHANGES` or an empty text, `drafts_in` a thread's drafts."""
        self._block_change, self._drafts_in = block_change, drafts_in
        self.outline.state.empty = "No headings." if is_complete else "The page is still loading."
        is_other_page = page.id != self._page
        if is_other_page:
            self.outline.set_filter("")
        outline_headings = [heading for heading in document.headings if heading.level <= DEEPEST_OUTLINE_LEVEL]
        self._visible_anchors, visible_anchor = {}, ""
        for heading in document.headings:
            visible_anchor = heading.anchor if heading.level <= DEEPEST_OUTLINE_LEVEL else visible_anchor
            self._visible_anchors[heading.anchor] = visible_anchor
        self.outline.show(outline_headings)
        if is_other_page:
            self._page = page.id
            self.outline.go_to_first()
            self.threads.go_to_first()
        if threads is not None:
            self.threads.state.hint = "" if why_no_comment else "Press c on a block to comment."
            self.show_threads(threads)
        lines = [
            f"path  {page.path}" if page.path else "",
            f"edited {lasting_age(page.updated_at)}" if page.updated_at else "",
        ]
        self.query_one("#page-details", Static).update(Content("\n".join(line for line in lines if line)))

    def follow(self, anchor: str) -> None:
        """Select the outline row of the heading `anchor`, or the nearest row above, unless the outline has focus."""
        if self.outline.has_focus:
            return
        if row_anchor := self._visible_anchors.get(anchor):
            self.outline.go_to(row_anchor)
        elif not anchor or anchor in self._visible_anchors:
            self.outline.go_to_first()

    def clear(self) -> None:
        """Show nothing while the next page is loading."""
        self.outline.state.empty = self.threads.state.empty = self.threads.state.hint = ""
        self.outline.show([])
        self._list_threads([])
        self.query_one("#threads-title", Static).update("THREADS")
        self.query_one("#page-details", Static).update("")

    def show_threads(self, threads: Sequence[Comment]) -> None:
        self.threads.state.empty = "No comments on this page."
        self._list_threads(threads)
        open_count = sum(thread.is_open_thread for thread in threads)
        resolved_count = len(threads) - open_count
        count_text = f"{open_count} of {len(threads)} open" if resolved_count else f"{open_count} open"
        note = (f"  {count_text}", "$octavo-note") if open_count else f"  {resolved_count} resolved" if threads else ""
        self.query_one("#threads-title", Static).update(Content.assemble("THREADS", note))

    def _list_threads(self, threads: Sequence[Comment]) -> None:
        if not threads and self.threads.has_focus:
            self.outline.focus()
        self.threads.can_focus = bool(threads)
        self.threads.show(threads)

    def _draw_thread(self, thread: Comment) -> Row:
        age = self.shell.workspace.sending_status(thread.id) or short_age(thread.posted_at)
        text = one_line_text(thread.body.text)
        reply_text = f" ↳{thread.replies}" if thread.replies else ""
        return Row(
            text=thread.posted_by.name,
            right=with_unsent_mark(self._drafts_in(thread), f"{age}{reply_text}"),
            second_line=f"{_BLOCK_CHANGES[block_change]}: {text}"
            if (block_change := self._block_change(thread))
            else text,
            sign=Content.styled("●", "$octavo-note") if thread.is_open else Content.styled("✓", "$success"),
            dim=not thread.is_open,
        )


_AGES_KEY = "ages of blocks"
"""Key of the setting of the age gutter in the state database."""


class PageAges:
    """Loads how old each block of the open page is, and shows the ages in the age gutter."""

    def __init__(self, screen: View, panes: SpacePanes) -> None:
        self._screen, self._panes = screen, panes
        self._loaded: tuple[str, str] = ("", "")
        """Key and Markdown of the page for which block ages were requested last. Empty if ages must be requested."""

    @property
    def is_shown(self) -> bool:
        """True if the user switched the age gutter on. Stored for the next start."""
        return bool(self._panes.shell.session.state.get_value(_AGES_KEY))

    def toggle(self) -> None:
        """Show or hide the age gutter."""
        self._panes.shell.session.state.set_value(_AGES_KEY, not self.is_shown)
        self._loaded = ("", "")
        if self.is_shown:
            self.show_page()
        else:
            self._screen.workers.cancel_group(self._screen, "ages")
            self._panes.page_view.contents.ages.hide()

    def show_page(self) -> None:
        """If the age gutter is on, load the ages of the open page, unless they are already loaded."""
        document = self._panes.page_view.document
        if not self.is_shown or document is None or not self._panes.shows_open_page:
            return
        key_and_source = (self._panes.key, document.source)
        if key_and_source == self._loaded:
            return
        self._loaded = key_and_source
        self._panes.page_view.contents.ages.show()
        self._screen.run_worker(self._load(), exclusive=True, group="ages")

    async def _load(self) -> None:
        space, page = self._panes.space_ref, self._panes.page
        if space is None or page is None:
            return
        blame: PageBlame = load("octavo.data.block_origins:PageBlame")(self._screen.live, space, page.id)
        try:
            async for _ in blame.load():
                self._show(blame, is_loading=True)
            self._show(blame, is_loading=False)
        except ApiError as error:
            self._loaded = ("", "")
            self._panes.shell.say(f"Could not load the ages of the blocks: {error}", tone="care")

    def _show(self, blame: PageBlame, *, is_loading: bool) -> None:
        document = self._panes.page_view.document
        if document is None or not self._panes.shows_open_page:
            return
        dates: dict[str, datetime] = {}
        for block in blame.blocks:
            if (origin := blame.origin(block.key)) is not None and origin.version.created_at is not None:
                dates[block.key] = origin.version.created_at
        _date_containers(document.blocks, dates)
        ages = {key: short_age(date) for key, date in dates.items()}
        if not is_loading and blame.known_since is not None:
            # The blocks of unknown origin are older than the oldest checked revision.
            older_age = f"{short_age(blame.known_since)}+"
            ages |= {block.key: older_age for block in blame.blocks if blame.origin(block.key) is None}
        self._panes.page_view.contents.ages.show(ages)


def _date_containers(blocks: Iterable[Block], dates: dict[str, datetime]) -> list[datetime]:
    """Add each container to `dates`, with the newest date of its blocks. Return the known dates in `blocks`."""
    all_dates: list[datetime] = []
    for block in blocks:
        inner_dates = _date_containers(block.children, dates)
        if block.key not in dates and inner_dates:
            dates[block.key] = max(inner_dates)
        all_dates += inner_dates if block.key not in dates else [dates[block.key]]
    return all_dates


SAVE_DELAY = 2.0
"""Seconds after a movement in the page before the reading position is saved."""


class VisitedPage(NamedTuple):
    """Page in the navigation history, with its reading position."""

    space_id: str
    page_id: str
    position: ReadingPosition | None
    """Reading position in the page. None if the page was not visible."""


class ReadingHistory:
    """Saves the reading positions in the `PageView` of a screen, and finds the page of a space that was read last."""

    def __init__(self, screen: View) -> None:
        self._screen = screen
        self._save_delay = Delay(screen)

    @cached_property
    def positions(self) -> ReadingPositions:
        """The reading positions of the pages that were read last."""
        return ReadingPositions(self._screen.shell.session.state)

    def last_page(self, space_id: str, pages: PageTree) -> Page | None:
        """Return the page of a space that was read last. None if there is none, or if it is not in `pages`."""
        name = self._screen.shell.session.state.get_value(f"page {space_id}")
        return pages.find(str(name)) if name else None

    def save_soon(self) -> None:
        """Save the reading position after `SAVE_DELAY` seconds, unless a save is already scheduled."""
        self._save_delay.start_once(SAVE_DELAY, self.save)

    def save(self) -> None:
        """Save the reading position now. Do nothing while the view is being removed."""
        self._save_delay.stop()
        if not is_being_removed(self._screen) and self._view.document is not None:
            self.positions.remember(self._view.key, self._view.navigation.history_position)

    @property
    def _view(self) -> PageView:
        return self._screen.query_one("#page", PageView)


TreeName = Literal["spaces", "pages"]


_SPACES_HELP = (
    "This list shows the spaces and collections of your organization. Press enter to open the selected space, e to edit its "
    "settings, ctrl+n to create a space, or a to show more actions. These keys act on the selected space or collection, not "
    "on the open page."
)
_PAGES_HELP = (
    "This list shows the pages of the open space. Press enter to open the selected page, e to edit it, C to comment on it, or "
    "H to show its version history. These keys act on the selected page, not on the open page. Press esc to go back to the "
    "spaces."
)


def _why_not_step(target: SpaceTarget, step: int) -> str | None:
    if (why := target.why_not("move")) is not None or (item := target.selected) is None:
        return why
    items: Any = target.spaces if item.object == "space" else target.collections
    if position_at_step(item, items, step) is None:
        return f"{title_of(item)} is already the {'first' if step < 0 else 'last'} {item.object} here. Press M to move it elsewhere."
    return None


def _why_no_deletion(app: Shell, target: SpaceTarget) -> str | None:
    if app.session.kind == "folder" and target.selected in target.spaces[:1]:
        return "This space shows the folder that you opened. To delete the pages, delete their files."
    return target.why_not("delete")


SPACE_TREE: Commands[SpaceTarget] = Commands(
    "spaces",
    (
        Command("create", "ctrl+n", "New space", "Create a space or collection", writes=True,
                run=lazy("octavo.tui.content.space_actions:open_create_picker"),
                why_not=lambda _, target: target.why_not_create()),
        Command("change", "e", "Settings", "Edit the settings of the space or collection", writes=True,
                run=lazy("octavo.tui.content.space_actions:edit_settings"), why_not=lambda _, target: target.why_not("edit")),
        Command("move", "M", "Move", "Move the space or collection elsewhere", writes=True,
                run=lazy("octavo.tui.content.space_changes:choose_parent"), why_not=lambda _, target: target.why_not("move")),
        Command("move_up", "alt+up", "Move up", "Move the space or collection up", writes=True, shown=False,
                run=lambda app, target: _move_by(app, target, -1), why_not=lambda _, target: _why_not_step(target, -1)),
        Command("move_down", "alt+down", "Move down", "Move the space or collection down", writes=True, shown=False,
                run=lambda app, target: _move_by(app, target, 1), why_not=lambda _, target: _why_not_step(target, 1)),
        Command("delete", "X", "Delete", "Delete the space or collection", writes=True,
                run=lazy("octavo.tui.content.space_changes:delete"), why_not=_why_no_deletion),
        Command("act", "a", "More…", "Show more actions, such as import, duplicate, and Git Sync",
                run=lazy("octavo.tui.content.space_actions:show_actions")),
        Command("restore", "", "Trash", "Show and restore deleted spaces",
                run=lazy("octavo.tui.content.space_changes:show_trash")),
    ),
    context="spaces and collections",
    no_target=StillLoading("Your organization is still loading."),
)  # fmt: skip


class SpacesPane(HasCommands, Vertical):
    """Pane with the tree of spaces, and the commands for it."""

    HELP_NAME: ClassVar[str] = "spaces and collections"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SPACE_TREE.for_target(lambda pane: pane.find_target()),)

    find_target: Callable[[], SpaceTarget | None] = staticmethod(lambda: None)
    """Returns the target of the commands. None while the organization is loading."""


class Navigation(Vertical):
    """The tree of spaces `#spaces` and the tree of pages `#pages`, one of which is visible."""

    def compose(self) -> ComposeResult:
        yield ChangingText("", id="nav-title", classes="pane-title")
        # Each tree has its own container, because its filter line is mounted there, above the tree.
        self.spaces_tree = Tree(
            id="spaces",
            empty="You do not have access to any spaces.",
            hint="Press ctrl+n to create a space, or ctrl+o to switch to another organization.",
        )
        self.spaces_tree.set_context(
            "spaces and collections",
            _SPACES_HELP,
            "list.open",
            "spaces.create",
            "spaces.change",
            "spaces.move",
            "spaces.act",
            "list.filter",
        )
        yield SpacesPane(self.spaces_tree)
        self.pages_tree = Tree(
            id="pages",
            collapse_depth=2,
            empty="This space has no pages yet.",
            hint="Press ctrl+n to add a page, or esc to go back to the spaces.",
        )
        self.pages_tree.set_context(
            "table of contents", _PAGES_HELP, "list.open", "page.edit", "comment.page", "page.history", "content.up"
        )
        yield Vertical(self.pages_tree)

    @property
    def focused_tree(self) -> TreeName | None:
        """Tree that has the focus. None if the focus is elsewhere."""
        return "spaces" if self.spaces_tree.has_focus else "pages" if self.pages_tree.has_focus else None

    def show_tree(self, tree_name: TreeName, space: Space | None, *, takes_focus: bool) -> None:
        """Show the tree of spaces, or the tree of the pages of `space`. If `takes_focus`, the tree gets the focus."""
        for pane in self.query_children(Vertical):
            pane.display = pane.query_exactly_one(Tree).id == tree_name
        self.show_title(space)
        if takes_focus:
            (self.spaces_tree if tree_name == "spaces" else self.pages_tree).focus()
        if tree_name == "spaces" and space is not None:
            self.spaces_tree.select_hidden(space.id)

    def show_title(self, space: Space | None) -> None:
        """Show the title of `space` above the tree, or `SPACES` if `space` is None or the tree of spaces is visible."""
        title = "SPACES"
        if space is not None and not self.query_one(SpacesPane).display:
            title = f"{to_emoji(space.emoji)} {space.title}".strip() + " ▾"
        self.query_one("#nav-title", Static).update(Content(title))

    def show_first_titles(self, titles: Sequence[str]) -> None:
        """Show the first titles of a folder while its pages are loading."""
        self.query_one("#nav-title", Static).update(Content("PAGES"))
        self.spaces_tree.state.show_loading("pages", titles=titles)


class SpacePanes:
    """The open space and its open page, and access to the panes that show them."""

    def __init__(self, screen: View) -> None:
        """`screen` contains a `Navigation`, a `PageView` and a `SidePanel`."""
        self._screen = screen
        self.space: Space | None = None
        self.pages: PageTree | None = None
        self.page: Page | None = None

    @property
    def shell(self) -> Shell:
        return self._screen.shell

    @property
    def nav(self) -> Navigation:
        return self._screen.query_one(Navigation)

    @property
    def pages_tree(self) -> Tree:
        return self.nav.pages_tree

    @property
    def page_view(self) -> PageView:
        return self._screen.query_one("#page", PageView)

    @property
    def side_panel(self) -> SidePanel:
        return self._screen.query_one("#aside", SidePanel)

    @property
    def key(self) -> str:
        """The key under which the page view shows the open page. Empty if no page is open."""
        return f"{self.space.id} {self.page.id}" if self.space is not None and self.page is not None else ""

    @property
    def shown_page(self) -> OpenPage:
        """The open page with its space and page view, for the functions that open links."""
        return OpenPage(self.shell, self.page_view, self.space, self.pages, self.page)

    @property
    def shows_open_page(self) -> bool:
        """True if the page view shows the open page. False while the page is loading."""
        return self.page_view.document is not None and self.page_view.key == self.key

    @property
    def visible_page(self) -> tuple[str, str] | None:
        """ID and title of the open page. None if no page is open, or while the page is loading."""
        page = self.page
        return (page.id, page.title or "this page") if page and self.shows_open_page else None

    @property
    def visible_block(self) -> Block | None:
        """Block of the open page for commands: the selected block, else the first visible block. None if no block is
        visible, or while the page is loading."""
        span = self.page_view.cursor.current() if self.shows_open_page else None
        return span.block if span else None

    @property
    def space_ref(self) -> SpaceRef | None:
        """Reference of the open space. None if no space is open."""
        return self.space.ref if self.space is not None else None
