"""A tree widget for many thousands of nodes, with collapsing, a filter that keeps ancestors, and counts at the right."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from textual.content import Content
from textual.style import Style

from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.filtering import is_narrower
from octavo.tui.widgets.flat_tree import FlatTree, Node, contains_words
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.safe_text import AnyText, highlight, safe, spread

__all__ = ["Node", "Tree"]


TREE: Commands[Tree] = Commands(
    "tree",
    (
        Command("expand", "l,right", "Expand", "Expand, or go to the first child", run=lambda _, tree: tree.folds.unfold_here(), shown=False),
        Command("collapse", "h,left", "Collapse", "Collapse, or go to the parent", run=lambda _, tree: tree.folds.fold_here(), shown=False),
        Command("unfold", "equals_sign", "Expand all", "Expand the item and everything in it", run=lambda _, tree: tree.folds.fold_below_here(False),
                there=lambda _, tree: tree.folds_all, shown=False),
        Command("fold", "minus", "Collapse all", "Collapse the item and everything in it", run=lambda _, tree: tree.folds.fold_below_here(True),
                there=lambda _, tree: tree.folds_all, shown=False),
    ),
    find=lambda tree: tree,
)  # fmt: skip


class FoldedNodes:
    """The collapsed nodes of a tree. They are stored by key, and so stay collapsed after a reload."""

    def __init__(self, tree: Tree, below: int | None) -> None:
        """Nodes at depth `below` and deeper are collapsed at first. The top level has depth 0."""
        self._tree, self._below = tree, below
        self.by_hand: dict[Hashable, bool] = {}
        """Nodes that the user collapsed (True) or expanded (False), by key."""

    def holds(self, depth: int, node: Node) -> bool:
        """Return whether a node at this depth is collapsed."""
        by_hand = self.by_hand.get(node.key)
        if by_hand is not None:
            return by_hand
        return self._below is not None and depth >= self._below

    def unfold_above(self, path: Sequence[Node]) -> None:
        """Expand all ancestors of the last node in `path`."""
        self.by_hand.update((node.key, False) for node in path[:-1])

    def unfold_here(self) -> None:
        """Expand the selected node. If it is expanded already, go to its first child."""
        if not self._tree.shown:
            return
        depth, node = self._tree.shown[self._tree.cursor]
        if node.children and self.holds(depth, node) and not self._tree.words:
            self._set([node], False)
        elif node.children:
            self._tree.move(1)

    def fold_here(self) -> None:
        """Collapse the selected node. If it is collapsed already, go to its parent."""
        tree = self._tree
        if not tree.shown:
            return
        depth, node = tree.shown[tree.cursor]
        if node.children and not self.holds(depth, node) and not tree.words:
            self._set([node], True)
            return
        for index in range(tree.cursor - 1, -1, -1):
            if tree.shown[index][0] < depth:
                tree.go_to(tree.keys[index])
                return

    def fold_below_here(self, folded: bool) -> None:
        """Collapse or expand the selected node and all its descendants."""
        if self._tree.node is not None:
            self._set(self._tree.outline.inner(self._tree.node.key), folded)

    def toggle(self) -> None:
        """Collapse or expand the selected node."""
        depth, node = self._tree.shown[self._tree.cursor]
        self._set([node], not self.holds(depth, node))

    def _set(self, nodes: Iterable[Node], folded: bool) -> None:
        self.by_hand.update((node.key, folded) for node in nodes if node.children)
        self._tree.arrange_nodes()


class Tree(LineList):
    """A tree of nodes that can be collapsed. Only visible nodes are drawn."""

    CONTEXT: ClassVar[str] = "trees"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TREE,)

    def __init__(
        self,
        *,
        fold_below: int | None = None,
        folds_all: bool = True,
        empty: str = "No items.",
        hint: str = "",
        id: str | None = None,
    ) -> None:
        """Nodes at depth `fold_below` and deeper are collapsed at first. With `folds_all`, the tree has keys to
        collapse and expand everything; without, another widget can use these keys."""
        super().__init__(empty=empty, hint=hint, id=id)
        self.can_filter = True
        self.folds_all: bool = folds_all
        self.folds: FoldedNodes = FoldedNodes(self, fold_below)
        self.outline = FlatTree(())
        self.shown: list[tuple[int, Node]] = []
        """The shown nodes, each with its depth."""
        self._hits: tuple[tuple[str, ...], list[int]] | None = None
        """The words of the filter, and the indexes of the matching nodes."""

    def is_here(self, context: str, help: str, *keybar: str) -> None:
        """Set the name, the help and the first key bar commands of this tree."""
        for name, value in (("CONTEXT", context), ("HELP", help), ("KEYBAR", keybar)):
            setattr(self, name, value)

    @property
    def node(self) -> Node | None:
        """The selected node. None if the tree is empty."""
        return self.shown[self.cursor][1] if self.shown else None

    def show(self, roots: Sequence[Node], *, folded: Mapping[Hashable, bool] | None = None) -> None:
        """Replace the nodes. `folded` restores the collapsed nodes of an earlier tree from its `folds.by_hand`."""
        self.state.settled()
        self.outline, self._hits = FlatTree(roots), None
        if folded is not None:
            self.folds.by_hand = dict(folded)
        self.arrange_nodes()

    def reveal(self, key: Hashable) -> bool:
        """Expand the ancestors of a node and select it. A filter that hides the node is cleared. Return False if there
        is no such node."""
        path = self.path(key)
        if not path:
            return False
        if key not in self.keys:
            self.set_filter("")
        self.folds.unfold_above(path)
        self.arrange_nodes()
        return self.go_to(key)

    def path(self, key: Hashable) -> tuple[Node, ...]:
        """Return the ancestors of the node `key`, outermost first, and the node itself. Empty if there is no such node."""
        return self.outline.path(key)

    def apply_filter(self) -> None:
        if not self.words and self.kept_key is not None:
            self.folds.unfold_above(self.path(self.kept_key))
        self.arrange_nodes()
        if self._hits is not None and self._hits[1] and not self._is_hit(self.shown[self.cursor][1]):
            self.look_at(next(index for index, (_, node) in enumerate(self.shown) if self._is_hit(node)))

    async def open_filter(self) -> None:
        await super().open_filter()
        self.outline.prepare()

    def _is_hit(self, node: Node) -> bool:
        return bool(self.words) and node.kind != "section" and contains_words(node, self.words)

    def arrange_nodes(self) -> None:
        """Lay out the nodes that are neither collapsed nor filtered out."""
        outline, words = self.outline, self.words
        if words:
            among = self._hits[1] if self._hits is not None and is_narrower(words, self._hits[0]) else None
            self._hits = (words, outline.matching(words, among))
            self.shown, keys = outline.with_above(self._hits[1])
        else:
            self._hits = None
            self.shown, keys = outline.without_below(self.folds.holds)
        if not outline.has_sections:
            self.lay_out(keys, unfiltered=outline.count)
            return
        sections = [index for index, (_, node) in enumerate(self.shown) if node.kind == "section"]
        # A blank line before each section.
        firsts: list[int] = []
        between: dict[int, tuple[Content, Content]] = {}
        for number, (start, end) in enumerate(pairwise([0, *sections, len(keys)])):
            firsts += range(start + number, end + number)
            between[end + number] = (Content(""), Content(""))
        self.lay_out(
            keys,
            firsts=firsts,
            between=between,
            line_count=len(keys) + len(sections),
            unfiltered=outline.count,
        )

    def matching(self) -> int:
        return len(self._hits[1]) if self._hits is not None else len(self.shown)

    def can_stop_at(self, index: int) -> bool:
        return self.shown[index][1].kind != "section"

    def draw_item(self, index: int, width: int) -> list[Content]:
        depth, node = self.shown[index]
        muted = self.painter.part("line--muted")
        label = safe(node.label)
        if node.kind == "section":
            rule = "─" * max(1, width - label.cell_length - 4)
            return [(Content("─ ") + label + Content(f" {rule}")).stylize_before(muted)]
        if self._is_hit(node):
            label = highlight(label, self.words, self.painter.part("line--hit"))
        sign = safe(node.sign)
        if sign:
            sign = sign + Content(" ")
        if node.kind == "group":
            label = label.stylize_before(self.painter.part("line--heading"))
        is_folded = self.folds.holds(depth, node) and not self.words
        twisty = "  " if not node.children else "▸ " if is_folded else "▾ "
        left = Content.styled("  " * depth + twisty, muted) + sign + label
        if node.dim or (self.words and not self._is_hit(node)):
            left = left.stylize_before(muted)
        end = _line_end(node, node.right, muted)
        if node.tight and left.cell_length + end.cell_length + 2 > width:
            end = _line_end(node, node.tight, muted)
        return [spread(left, end, width - 1) + Content(" ")]

    def choose(self) -> None:
        """Open the selected node. A page group without own content is collapsed or expanded instead."""
        if self.node is not None and self.node.kind == "group" and self.node.children and not self.words:
            self.folds.toggle()
        else:
            super().choose()

    def clicked(self, index: int, x: int, *, again: bool) -> None:
        depth, node = self.shown[index]
        twisty = 1 + 2 * depth
        if node.children and twisty <= x < twisty + 2 and not self.words:
            self.folds.toggle()
        elif not again or node.kind != "group":
            super().clicked(index, x, again=again)


def _line_end(node: Node, right: AnyText, muted: Style) -> Content:
    """Return the text at the right end of a node's line."""
    pieces: list[Content] = []
    if right:
        pieces.append(safe(right).stylize_before(muted))
    if node.kind == "link":
        pieces.append(Content.styled("↗", muted))
    if node.count:
        pieces.append(Content.styled(f"●{node.count}", "$octavo-note"))
    return Content(" ").join(pieces)
