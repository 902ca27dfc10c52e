"""Navigation of the content view: its left pane with the spaces or the pages of a space, and the visited pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.collections import Collection
from octavo.api.content import PageTree
from octavo.api.spaces import Space
from octavo.data.unsent_index import UnsentText
from octavo.documents.emoji import to_emoji
from octavo.lazy_import import lazy
from octavo.tui.content.space_target import SpaceTarget, position_at_step, title_of
from octavo.tui.core.tree_rows import page_nodes, space_nodes
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_position import ReadingPosition, ReadingPositions
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands, HasCommands, StillLoading
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.api.content import Page
    from octavo.tui.core.view import View


SAVE_DELAY = 2.0
"""Seconds after a movement until the reading position is saved."""


class VisitedPage(NamedTuple):
    """A visited page, and the reading position in it."""

    space: str
    page: str
    position: ReadingPosition | None
    """Reading position in the page. None if the page was not visible."""


class ReadingHistory:
    """The reading positions on the pages of a view."""

    def __init__(self, screen: View) -> None:
        """Create the history of the `PageView` in `screen`."""
        self._screen = screen
        self._timer: Timer | None = None

    @cached_property
    def positions(self) -> ReadingPositions:
        """The reading positions of the pages that were read last."""
        return ReadingPositions(self._screen.shell.session.state)

    def last_page(self, space_id: str, pages: PageTree) -> Page | None:
        """Return the page of a space that was read last. None if there is none in `pages`."""
        name = self._screen.shell.session.state.get_fact(f"page {space_id}")
        return pages.find(str(name)) if name else None

    def save_soon(self) -> None:
        """Save the reading position in a moment."""
        if self._timer is None:
            self._timer = self._screen.set_timer(SAVE_DELAY, self.save)

    def save(self) -> None:
        """Save the reading position now, unless the view is being removed."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not is_being_removed(self._screen) and self._view.document is not None:
            self.positions.remember(self._view.key, self._view.navigation.history_position)

    @property
    def _view(self) -> PageView:
        return self._screen.query_one("#page", PageView)


_move_by = lazy("octavo.tui.content.space_changes:move_by")

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


SPACE_TREE: Commands[SpaceTarget] = Commands(
    "spaces",
    (
        Command("create", "ctrl+n", "New space", "Create a space or collection", writes=True,
                run=lazy("octavo.tui.content.space_actions:create"), why_not=lambda _, target: target.why_not_create()),
        Command("change", "e", "Settings", "Edit the settings of the space or collection", writes=True,
                run=lazy("octavo.tui.content.space_actions:edit_settings"), why_not=lambda _, target: target.why_not("edit")),
        Command("move", "M", "Move", "Move the space or collection elsewhere", writes=True,
                run=lazy("octavo.tui.content.space_changes:choose_parent"), why_not=lambda _, target: target.why_not("move")),
        Command("move_up", "alt+up", "Move up", "Move the space or collection up", writes=True, shown=False,
                run=lambda app, target: _move_by(app, target, -1), why_not=lambda _, target: _why_not_step(target, -1)),
        Command("move_down", "alt+down", "Move down", "Move the space or collection down", writes=True, shown=False,
                run=lambda app, target: _move_by(app, target, 1), why_not=lambda _, target: _why_not_step(target, 1)),
        Command("delete", "X", "Delete", "Delete the space or collection", writes=True,
                run=lazy("octavo.tui.content.space_changes:delete"), why_not=lambda _, target: target.why_not("delete")),
        Command("act", "a", "More…", "Show more actions, such as import, duplicate, and Git Sync",
                run=lazy("octavo.tui.content.space_actions:show_actions")),
        Command("restore", "", "Trash", "Show and restore deleted spaces",
                run=lazy("octavo.tui.content.space_changes:show_trash")),
    ),
    context="spaces and collections",
    no_target=StillLoading("Your organization is still loading."),
)  # fmt: skip
"""Commands for the selected space or collection."""


class SpacesPane(HasCommands, Vertical):
    """The pane that contains the tree of spaces."""

    CONTEXT: ClassVar[str] = "spaces and collections"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SPACE_TREE.for_target(lambda pane: pane.find_target()),)

    find_target: Callable[[], SpaceTarget | None] = staticmethod(lambda: None)
    """Returns the target of its keys. None while the organization is loading."""


class Navigation(Vertical):
    """Two trees, `#spaces` and `#pages`, one of which is visible. Both send `LineList.Opened`."""

    def compose(self) -> ComposeResult:
        yield ChangingText("", id="nav-title", classes="pane-title")
        # Each tree has its own container, because its filter line is mounted above it.
        spaces = Tree(
            id="spaces",
            empty="You do not have access to any spaces.",
            hint="Press ctrl+n to create a space, or ctrl+o to switch to another organization.",
        )
        spaces.set_context(
            "spaces and collections",
            _SPACES_HELP,
            "list.open",
            "spaces.create",
            "spaces.change",
            "spaces.move",
            "spaces.act",
            "list.filter",
        )
        yield SpacesPane(spaces)
        pages = Tree(
            id="pages",
            collapse_depth=2,
            empty="This space has no pages yet.",
            hint="Press esc to go back to the spaces.",
        )
        pages.set_context(
            "table of contents", _PAGES_HELP, "list.open", "page.edit", "comment.page", "page.history", "content.up"
        )
        yield Vertical(pages)

    @property
    def spaces(self) -> Tree:
        return self.query_one("#spaces", Tree)

    @property
    def pages(self) -> Tree:
        return self.query_one("#pages", Tree)

    @property
    def has_focus_on(self) -> TreeName | None:
        """The tree that has the focus. None if neither has."""
        return "spaces" if self.spaces.has_focus else "pages" if self.pages.has_focus else None

    def show_tree(self, tree_name: TreeName, space: Space | None, *, focus: bool) -> None:
        """Show the tree of spaces, or the tree of the pages of `space`."""
        for pane in self.query_children(Vertical):
            pane.display = pane.query_exactly_one(Tree).id == tree_name
        title = "SPACES"
        if tree_name == "pages" and space is not None:
            title = f"{to_emoji(space.emoji)} {space.title}".strip() + " ▾"
        self.query_one("#nav-title", Static).update(Content(title))
        if focus:
            (self.spaces if tree_name == "spaces" else self.pages).focus()
        if tree_name == "spaces" and space is not None:
            self.spaces.select_hidden(space.id)

    def show_spaces(
        self,
        collections: Sequence[Collection],
        spaces: Iterable[Space],
        offline_marks: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Show the spaces and collections, with the progress of offline copies (`offline_marks`) by space id."""
        self.spaces.show(space_nodes(collections, spaces, offline_marks))

    def show_pages(
        self, tree: PageTree, open_threads: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]]
    ) -> None:
        """Show a page tree, with the number of open threads and the mark of unsent drafts on each page."""
        self.pages.show(page_nodes(tree.pages, open_threads, unsent))
