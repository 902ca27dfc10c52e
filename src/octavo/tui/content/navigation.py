"""The left pane of content: the spaces of an organization, or the pages of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.collections import Collection
from octavo.api.content import PageTree
from octavo.api.spaces import Space
from octavo.data.unsent_index import UnsentText
from octavo.documents.emoji import to_emoji
from octavo.tui.content.spaces_pane import SpacesPane
from octavo.tui.shell.tree_rows import page_nodes, space_nodes
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree

Which = Literal["spaces", "pages"]


_OF_SPACES = (
    "This list shows the spaces and collections of your organization. Press enter to open the selected space, e to edit its "
    "settings, ctrl+n to create a space, or a to show more actions. These keys act on the selected space or collection, not "
    "on the open page."
)
_OF_PAGES = (
    "This list shows the pages of the open space. Press enter to open the selected page, e to edit it, C to comment on it, or "
    "H to show its version history. These keys act on the selected page, not on the open page. Press esc to go back to the "
    "spaces."
)


class Navigation(Vertical):
    """Two trees, one of them on show. They send `LineList.Opened` as `#spaces` and `#pages`."""

    def compose(self) -> ComposeResult:
        yield ChangingText("", id="nav-title", classes="pane-title")
        # Each with the line of its own filter, which is mounted above it.
        spaces = Tree(
            id="spaces",
            empty="You do not have access to any spaces.",
            hint="Press ctrl+n to create a space, or ctrl+o to switch to another organization.",
        )
        spaces.set_context(
            "spaces and collections",
            _OF_SPACES,
            "list.open",
            "spaces.create",
            "spaces.change",
            "spaces.move",
            "spaces.act",
            "list.filter",
        )
        yield SpacesPane(spaces)
        pages = Tree(
            id="pages", fold_depth=2, empty="This space has no pages yet.", hint="Press esc to go back to the spaces."
        )
        pages.set_context(
            "table of contents", _OF_PAGES, "list.open", "page.edit", "comment.page", "page.history", "content.up"
        )
        yield Vertical(pages)

    @property
    def spaces(self) -> Tree:
        return self.query_one("#spaces", Tree)

    @property
    def pages(self) -> Tree:
        return self.query_one("#pages", Tree)

    @property
    def has_focus_on(self) -> Which | None:
        """Which of the trees has the focus."""
        return "spaces" if self.spaces.has_focus else "pages" if self.pages.has_focus else None

    def choose(self, which: Which, space: Space | None, *, focus: bool) -> None:
        """Show the spaces, or the pages of `space`."""
        for pane in self.query_children(Vertical):
            pane.display = pane.query_exactly_one(Tree).id == which
        title = "SPACES"
        if which == "pages" and space is not None:
            title = f"{to_emoji(space.emoji)} {space.title}".strip() + " ▾"
        self.query_one("#nav-title", Static).update(Content(title))
        if focus:
            (self.spaces if which == "spaces" else self.pages).focus()
        if which == "spaces" and space is not None:
            self.spaces.select_hidden(space.id)

    def show_spaces(
        self, collections: Sequence[Collection], spaces: Iterable[Space], kept: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Show what lies in the organization, and how far keeping each space for offline got."""
        self.spaces.show(space_nodes(collections, spaces, kept))

    def show_pages(
        self, tree: PageTree, open_threads: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]]
    ) -> None:
        """Show a page tree, with how many threads are open on each page, and the mark of what is not sent there."""
        self.pages.show(page_nodes(tree.pages, open_threads, unsent))
