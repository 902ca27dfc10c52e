"""One tree of made pages, unfolded, and nothing else: `tree_app.py COUNT`."""

from __future__ import annotations

import gc
import sys
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from textual.app import App, ComposeResult
from textual.containers import Vertical

from octavo.tui.app.garbage_collection import Garbage
from octavo.tui.terminal.textual_internals import CachedStylesheet
from octavo.tui.widgets.themes import themes
from octavo.tui.widgets.tree import Tree, TreeNode

BELOW = 10


def made_pages(count: int) -> list[TreeNode]:
    """A tree of `count` pages under one, ten below each, numbered in their order."""
    numbers = iter(range(count))

    def below(depth: int) -> list[TreeNode]:
        if not depth:
            return [
                TreeNode(number, f"Page {number} of the made tree", (), "page", not number % 7)
                for number in islice(numbers, BELOW)
            ]
        return [
            TreeNode(number, f"Page {number} of the made tree", below(depth - 1)) for number in islice(numbers, BELOW)
        ]

    return [
        TreeNode(number, f"Page {number} of the made tree", below(len(str(count)) - 2)) for number in islice(numbers, 1)
    ]


class TreeApp(App[None]):
    """Shows one tree."""

    def __init__(self, count: int) -> None:
        super().__init__()
        for theme in themes():
            self.register_theme(theme)
        self.theme = themes()[0].name
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())  # as the app does
        self.count = count
        self.pages = Tree()

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.pages

    def on_mount(self) -> None:
        self.pages.show(made_pages(self.count))
        self.pages.focus()
        if not self.is_headless:
            self.call_after_refresh(Garbage().start)


def main() -> None:
    """Show the tree."""
    gc.disable()  # as the app does until it is drawn
    TreeApp(int(sys.argv[1])).run()


if __name__ == "__main__":
    main()
