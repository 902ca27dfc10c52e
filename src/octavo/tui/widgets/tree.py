"""A tree widget for many thousands of nodes, with collapsing, a filter that keeps ancestors, and counts at the right."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from textual.content import Content
from textual.style import Style

from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.filtering import is_narrower
from octavo.tui.widgets.flat_tree import FlatTree, TreeNode, contains_words
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.safe_text import AnyText, highlight, safe, spread

__all__ = ["Tree", "TreeNode"]


TREE: Commands[Tree] = Commands(
    "tree",
    (
        Command("expand", "l,right", "Expand", "Expand, or go to the first child", run=lambda _, tree: tree.folds.unfold_selected(), shown=False),
        Command("collapse", "h,left", "Collapse", "Collapse, or go to the parent", run=lambda _, tree: tree.folds.fold_selected(), shown=False),
        Command("unfold", "equals_sign", "Expand all", "Expand the item and everything in it", run=lambda _, tree: tree.folds.set_branch_folded(False),
                is_available=lambda _, tree: tree.has_fold_all_keys, shown=False),
        Command("fold", "minus", "Collapse all", "Collapse the item and everything in it", run=lambda _, tree: tree.folds.set_branch_folded(True),
                is_available=lambda _, tree: tree.has_fold_all_keys, shown=False),
    ),
    find=lambda tree: tree,
)  # fmt: skip


class FoldedNodes:
    """The collapsed nodes of a tree. They are stored by key, and so stay collapsed after a reload."""

    def __init__(self, tree: Tree, depth: int | None) -> None:
        """Nodes at depth `depth` and deeper are collapsed at first. The top level has depth 0."""
        self._tree, self._folded_depth = tree, depth
        self.folded_by_user: dict[Hashable, bool] = {}
        """Nodes that the user collapsed (True) or expanded (False), by key."""

    def is_folded(self, depth: int, node: TreeNode) -> bool:
        """Return whether a node at this depth is collapsed."""
        chosen = self.folded_by_user.get(node.key)
        if chosen is not None:
            return chosen
        return self._folded_depth is not None and depth >= self._folded_depth

    def unfold_ancestors(self, path: Sequence[TreeNode]) -> None:
        """Expand all ancestors of the last node in `path`."""
        self.folded_by_user.update((node.key, False) for node in path[:-1])

    def unfold_selected(self) -> None:
        """Expand the selected node. If it is expanded already, go to its first child."""
        if not self._tree.shown:
            return
        depth, node = self._tree.shown[self._tree.cursor]
        if node.children and self.is_folded(depth, node) and not self._tree.filter_words:
            self._set([node], False)
        elif node.children:
            self._tree.move(1)

    def fold_selected(self) -> None:
        """Collapse the selected node. If it is collapsed already, go to its parent."""
        tree = self._tree
        if not tree.shown:
            return
        depth, node = tree.shown[tree.cursor]
        if node.children and not self.is_folded(depth, node) and not tree.filter_words:
            self._set([node], True)
            return
        for index in range(tree.cursor - 1, -1, -1):
            if tree.shown[index][0] < depth:
                tree.go_to(tree.keys[index])
                return

    def set_branch_folded(self, folded: bool) -> None:
        """Collapse or expand the selected node and all its descendants."""
        if self._tree.node is not None:
            self._set(self._tree.outline.branches(self._tree.node.key), folded)

    def toggle(self) -> None:
        """Collapse or expand the selected node."""
        depth, node = self._tree.shown[self._tree.cursor]
        self._set([node], not self.is_folded(depth, node))

    def _set(self, nodes: Iterable[TreeNode], folded: bool) -> None:
        self.folded_by_user.update((node.key, folded) for node in nodes if node.children)
        self._tree.lay_out_nodes()


class Tree(LineList):
    """A tree of nodes that can be collapsed. Only visible nodes are drawn."""

    CONTEXT: ClassVar[str] = "trees"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TREE,)

    def __init__(
        self,
        *,
        fold_depth: int | None = None,
        has_fold_all_keys: bool = True,
        empty: str = "No items.",
        hint: str = "",
        id: str | None = None,
    ) -> None:
        """Nodes at depth `fold_depth` and deeper are collapsed at first. With `has_fold_all_keys`, the tree has keys to
        collapse and expand everything; without, another widget can use these keys."""
        super().__init__(empty=empty, hint=hint, id=id)
        self.can_filter = True
        self.has_fold_all_keys: bool = has_fold_all_keys
        self.folds: FoldedNodes = FoldedNodes(self, fold_depth)
        self.outline = FlatTree(())
        self.shown: list[tuple[int, TreeNode]] = []
        """The shown nodes, each with its depth."""
        self._matches: tuple[tuple[str, ...], list[int]] | None = None
        """The words of the filter, and the indexes of the matching nodes."""

    def set_context(self, context: str, help: str, *keybar: str) -> None:
        """Set the name, the help and the first key bar commands of this tree."""
        for name, value in (("CONTEXT", context), ("HELP", help), ("KEYBAR", keybar)):
            setattr(self, name, value)

    @property
    def node(self) -> TreeNode | None:
        """The selected node. None if the tree is empty."""
        return self.shown[self.cursor][1] if self.shown else None

    def show(self, roots: Sequence[TreeNode], *, folded: Mapping[Hashable, bool] | None = None) -> None:
        """Replace the nodes. `folded` restores the collapsed nodes of an earlier tree from its `folds.folded_by_user`."""
        self.state.clear_messages()
        self.outline, self._matches = FlatTree(roots), None
        if folded is not None:
            self.folds.folded_by_user = dict(folded)
        self.lay_out_nodes()

    def select_hidden(self, key: Hashable) -> bool:
        """Expand the ancestors of a node, clear a filter that hides it, and select it. Return False if unknown."""
        path = self.path(key)
        if not path:
            return False
        if key not in self.keys:
            self.set_filter("")
        self.folds.unfold_ancestors(path)
        self.lay_out_nodes()
        return self.go_to(key)

    def path(self, key: Hashable) -> tuple[TreeNode, ...]:
        """Return the ancestors of the node `key`, outermost first, and the node itself. Empty if there is no such node."""
        return self.outline.path(key)

    def apply_filter(self) -> None:
        if not self.filter_words and self.returning_key is not None:
            self.folds.unfold_ancestors(self.path(self.returning_key))
        self.lay_out_nodes()
        if self._matches is not None and self._matches[1] and not self._is_match(self.shown[self.cursor][1]):
            self.select_temporarily(next(index for index, (_, node) in enumerate(self.shown) if self._is_match(node)))

    async def open_filter(self) -> None:
        await super().open_filter()
        self.outline.folded_labels()

    def _is_match(self, node: TreeNode) -> bool:
        return bool(self.filter_words) and node.kind != "section" and contains_words(node, self.filter_words)

    def lay_out_nodes(self) -> None:
        """Lay out the nodes that are neither collapsed nor filtered out."""
        outline, words = self.outline, self.filter_words
        if words:
            among = self._matches[1] if self._matches is not None and is_narrower(words, self._matches[0]) else None
            self._matches = (words, outline.matching(words, among))
            self.shown, keys = outline.with_ancestors(self._matches[1])
        else:
            self._matches = None
            self.shown, keys = outline.visible_nodes(self.folds.is_folded)
        if not outline.has_sections:
            self.lay_out(keys, unfiltered=outline.count)
            return
        sections = [index for index, (_, node) in enumerate(self.shown) if node.kind == "section"]
        # A blank line before each section.
        first_lines: list[int] = []
        extra_lines: dict[int, tuple[Content, Content]] = {}
        for number, (start, end) in enumerate(pairwise([0, *sections, len(keys)])):
            first_lines += range(start + number, end + number)
            extra_lines[end + number] = (Content(""), Content(""))
        self.lay_out(
            keys,
            first_lines=first_lines,
            extra_lines=extra_lines,
            line_count=len(keys) + len(sections),
            unfiltered=outline.count,
        )

    def match_count(self) -> int:
        return len(self._matches[1]) if self._matches is not None else len(self.shown)

    def can_stop_at(self, index: int) -> bool:
        return self.shown[index][1].kind != "section"

    def draw_item(self, index: int, width: int) -> list[Content]:
        depth, node = self.shown[index]
        muted = self.painter.style("line--muted")
        label = safe(node.label)
        if node.kind == "section":
            rule = "─" * max(1, width - label.cell_length - 4)
            return [(Content("─ ") + label + Content(f" {rule}")).stylize_before(muted)]
        if self._is_match(node):
            label = highlight(label, self.filter_words, self.painter.style("line--hit"))
        sign = safe(node.sign)
        if sign:
            sign = sign + Content(" ")
        if node.kind == "group":
            label = label.stylize_before(self.painter.style("line--heading"))
        is_folded = self.folds.is_folded(depth, node) and not self.filter_words
        arrow = "  " if not node.children else "▸ " if is_folded else "▾ "
        left = Content.styled("  " * depth + arrow, muted) + sign + label
        if node.dim or (self.filter_words and not self._is_match(node)):
            left = left.stylize_before(muted)
        end = _line_end(node, node.right, muted)
        if node.short_right and left.cell_length + end.cell_length + 2 > width:
            end = _line_end(node, node.short_right, muted)
        return [spread(left, end, width - 1) + Content(" ")]

    def choose(self) -> None:
        """Open the selected node. A page group without own content is collapsed or expanded instead."""
        if self.node is not None and self.node.kind == "group" and self.node.children and not self.filter_words:
            self.folds.toggle()
        else:
            super().choose()

    def item_clicked(self, index: int, x: int, *, is_double: bool) -> None:
        depth, node = self.shown[index]
        arrow_start = 1 + 2 * depth
        if node.children and arrow_start <= x < arrow_start + 2 and not self.filter_words:
            self.folds.toggle()
        elif not is_double or node.kind != "group":
            super().item_clicked(index, x, is_double=is_double)


def _line_end(node: TreeNode, right: AnyText, muted: Style) -> Content:
    """Return the text at the right end of a node's line."""
    pieces: list[Content] = []
    if right:
        pieces.append(safe(right).stylize_before(muted))
    if node.kind == "link":
        pieces.append(Content.styled("↗", muted))
    if node.count:
        pieces.append(Content.styled(f"●{node.count}", "$octavo-note"))
    return Content(" ").join(pieces)
