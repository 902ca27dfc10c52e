"""A tree for many thousands of nodes, which can be collapsed. The filter also shows the ancestors of matching nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise, takewhile
from typing import Any, ClassVar

from textual.content import Content

from octavo.api.folding import fold
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import MATCH_STYLE, LineList
from octavo.tui.widgets.short_texts import AnyText, highlight, safe, spread


@dataclass(slots=True, eq=False)
class TreeNode:
    """A node of a tree. Do not change it. The cursor skips nodes of the kind `section`, which are headings."""

    key: Hashable
    label: AnyText
    children: Sequence[TreeNode] = ()
    kind: str = "page"
    count: int = 0
    """Number of open threads at the right end. Not displayed if it is 0."""
    sign: AnyText = ""
    """Emoji, or mark of a change, before the label."""
    right: AnyText = ""
    """Text at the right end, before the count."""
    short_right: AnyText = ""
    """Shorter `right` for a narrow tree."""
    dim: bool = False
    """True if the label is gray, such as the label of a hidden page."""
    path: str = ""
    """Path of the page. The filter searches its last segment. A filter with `/` searches the whole path."""


class FlatTree:
    """All nodes of a tree in the order of a fully expanded tree. The index of a node is its position in this order."""

    def __init__(self, roots: Sequence[TreeNode]) -> None:
        self._rows: list[tuple[int, TreeNode]] = []
        self._texts: list[str] | None = None
        self._parents: list[int] = []
        """For each node, the index of its parent. -1 at the top level."""
        self._read(roots)
        self._keys: list[Hashable] = [node.key for _, node in self._rows]
        self.section_count = sum([node.kind == "section" for _, node in self._rows])

    def _read(self, roots: Sequence[TreeNode]) -> None:
        stack = [(0, -1, node) for node in reversed(roots)]
        while stack:
            depth, parent, node = stack.pop()
            stack += [(depth + 1, len(self._rows), child) for child in reversed(node.children)]
            self._rows.append((depth, node))
            self._parents.append(parent)

    @property
    def count(self) -> int:
        """Number of nodes, without nodes of the kind `section`."""
        return len(self._rows) - self.section_count

    def visible_nodes(self, is_collapsed: Callable[[int, TreeNode], bool]) -> list[tuple[int, TreeNode]]:
        """Return the nodes that have no collapsed ancestor, each with its depth."""
        visible_rows: list[tuple[int, TreeNode]] = []
        collapsed_depth: int | None = None
        for row in self._rows:
            depth, node = row
            if collapsed_depth is None or depth <= collapsed_depth:
                visible_rows.append(row)
                collapsed_depth = depth if node.children and is_collapsed(depth, node) else None
        return visible_rows

    def expandable_nodes(self, key: Hashable) -> list[TreeNode]:
        """Return a node and its descendants, but only nodes that have children. Empty if the node has no children.
        Raises ValueError for an unknown key."""
        index = self._keys.index(key)
        depth, node = self._rows[index]
        descendants = takewhile(lambda row: row[0] > depth, self._rows[index + 1 :])
        return [each for each in [node, *(row[1] for row in descendants)] if each.children]

    def path(self, key: Hashable) -> tuple[TreeNode, ...]:
        """Return the ancestors of a node, the outermost first, then the node itself. Empty for an unknown key."""
        if key not in self._keys:
            return ()
        index = self._keys.index(key)
        path = [self._rows[index][1]]
        while (index := self._parents[index]) >= 0:
            path.append(self._rows[index][1])
        return tuple(reversed(path))

    def matching(self, words: Sequence[str]) -> Sequence[int]:
        """Return the indexes of the nodes that contain every one of `words`, as `contains_words` decides."""
        if any("/" in word for word in words):
            return [index for index, (_, node) in enumerate(self._rows) if contains_words(node, words)]
        if self._texts is None:
            self._texts = [_searched_text(node) for _, node in self._rows]
        return [index for index, text in enumerate(self._texts) if all(word in text for word in words)]

    def with_ancestors(self, indexes: Sequence[int]) -> list[tuple[int, TreeNode]]:
        """Return the nodes with these indexes and all their ancestors, each with its depth."""
        parents, is_included = self._parents, bytearray(len(self._rows))
        for index in indexes:
            while index >= 0 and not is_included[index]:
                is_included[index] = 1
                index = parents[index]
        return list(compress(self._rows, is_included))


def contains_words(node: TreeNode, words: Sequence[str]) -> bool:
    """Return True if each of the folded `words` is in the label or in the last segment of the path. A word with
    `/` may also be in the whole path. False for a node of the kind `section`."""
    if node.kind == "section":
        return False
    text = _searched_text(node)
    return all(word in text or ("/" in word and word in fold(f"/{node.path}")) for word in words)


def _searched_text(node: TreeNode) -> str:
    if node.kind == "section":
        return ""
    label = fold(node.label if isinstance(node.label, str) else node.label.plain)
    return f"{label}\n{fold(node.path.rpartition('/')[2])}" if node.path else label


TREE: Commands[Tree] = Commands(
    "tree",
    (
        Command("expand", "l,right", "Expand", "Expand, or go to the first child", run=lambda _, tree: tree.collapsed.expand_selected(), shown=False),
        Command("collapse", "h,left", "Collapse", "Collapse, or go to the parent", run=lambda _, tree: tree.collapsed.collapse_selected(), shown=False),
        Command("unfold", "equals_sign", "Expand all", "Expand the item and everything in it", run=lambda _, tree: tree.collapsed.set_branch_collapsed(False),
                is_available=lambda _, tree: tree.has_collapse_all_keys, shown=False),
        Command("fold", "minus", "Collapse all", "Collapse the item and everything in it", run=lambda _, tree: tree.collapsed.set_branch_collapsed(True),
                is_available=lambda _, tree: tree.has_collapse_all_keys, shown=False),
    ),
)  # fmt: skip


class CollapsedNodes:
    """The nodes of a tree that are collapsed. When the tree is loaded again, they stay collapsed."""

    def __init__(self, tree: Tree, depth: int | None) -> None:
        """At first, nodes at this `depth` (0 for the top level) and below are collapsed. If None, all are expanded."""
        self._tree, self._first_depth = tree, depth
        self.collapsed_by_user: dict[Hashable, bool] = {}
        """True for nodes that the user has collapsed, False for nodes that the user has expanded, by key."""

    def is_collapsed(self, depth: int, node: TreeNode) -> bool:
        """Return True if a node is collapsed. `depth` is its depth, 0 at the top level."""
        is_collapsed_by_user = self.collapsed_by_user.get(node.key)
        if is_collapsed_by_user is not None:
            return is_collapsed_by_user
        return self._first_depth is not None and depth >= self._first_depth

    def expand_ancestors(self, path: Sequence[TreeNode]) -> None:
        """Expand the ancestors of the last node in `path` to show this node. `path` begins at the top level."""
        self.collapsed_by_user.update((node.key, False) for node in path[:-1])

    def expand_selected(self) -> None:
        """Expand the node with the cursor. If it is already expanded, go to its first child."""
        if not self._tree.shown:
            return
        depth, node = self._tree.shown[self._tree.cursor]
        if node.children and self.is_collapsed(depth, node) and not self._tree.filter_words:
            self._set_collapsed([node], False)
        elif node.children:
            self._tree.move(1)

    def collapse_selected(self) -> None:
        """Collapse the node with the cursor. If it cannot be collapsed, go to its parent."""
        tree = self._tree
        if not tree.shown:
            return
        depth, node = tree.shown[tree.cursor]
        if node.children and not self.is_collapsed(depth, node) and not tree.filter_words:
            self._set_collapsed([node], True)
            return
        for index in range(tree.cursor - 1, -1, -1):
            if tree.shown[index][0] < depth:
                tree.go_to(tree.keys[index])
                return

    def set_branch_collapsed(self, is_collapsed: bool) -> None:
        """Collapse the node with the cursor and everything below it. If `is_collapsed` is False, expand them."""
        if self._tree.node is not None:
            self._set_collapsed(self._tree.outline.expandable_nodes(self._tree.node.key), is_collapsed)

    def toggle(self) -> None:
        """Collapse the node with the cursor, or expand it if it is collapsed."""
        depth, node = self._tree.shown[self._tree.cursor]
        self._set_collapsed([node], not self.is_collapsed(depth, node))

    def _set_collapsed(self, nodes: Iterable[TreeNode], is_collapsed: bool) -> None:
        self.collapsed_by_user.update((node.key, is_collapsed) for node in nodes if node.children)
        self._tree.lay_out_nodes()


class Tree(LineList):
    """A tree whose nodes can be collapsed."""

    HELP_NAME: ClassVar[str] = "trees"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TREE,)

    def __init__(
        self,
        *,
        collapse_depth: int | None = None,
        has_collapse_all_keys: bool = True,
        empty: str = "No items.",
        hint: str = "",
        id: str | None = None,
    ) -> None:
        """At first, nodes at the depth `collapse_depth` and below are collapsed. If None, no node is collapsed. With
        `has_collapse_all_keys`, keys collapse and expand everything below a node."""
        super().__init__(empty=empty, hint=hint, id=id)
        self.can_filter = True
        self.has_collapse_all_keys: bool = has_collapse_all_keys
        self.collapsed: CollapsedNodes = CollapsedNodes(self, collapse_depth)
        self.outline = FlatTree(())
        self.shown: list[tuple[int, TreeNode]] = []
        """The nodes that are shown, each with its depth."""
        self._matches: Sequence[int] | None = None
        """Indexes of the nodes that match the filter. None without a filter."""
        self._keybar: tuple[str, ...] = ()

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """IDs of the first commands in the key bar. Empty if the tree is empty, because the commands act on a node."""
        return () if self.is_empty else self._keybar

    def set_context(self, context: str, help: str, *keybar: str) -> None:
        """Set the name and the text of this tree in the help, and the IDs of its first commands in the key bar."""
        self._keybar = keybar
        for name, value in (("HELP_NAME", context), ("HELP", help)):
            setattr(self, name, value)

    @property
    def node(self) -> TreeNode | None:
        """The node with the cursor. None if the tree is empty."""
        return self.shown[self.cursor][1] if self.shown else None

    def show(self, roots: Sequence[TreeNode]) -> None:
        """Replace all nodes. `roots` are the nodes at the top level."""
        self.state.clear_messages()
        self.outline = FlatTree(roots)
        self.lay_out_nodes()

    def select_hidden(self, key: Hashable) -> bool:
        """Move the cursor to a node that may be hidden: expand its ancestors, and clear the filter if it hides the
        node. Return False for an unknown key."""
        path = self.outline.path(key)
        if not path:
            return False
        if key not in self.keys:
            self.set_filter("")
        self.collapsed.expand_ancestors(path)
        self.lay_out_nodes()
        return self.go_to(key)

    def apply_filter(self) -> None:
        if not self.filter_words and self.last_selected_key is not None:
            self.collapsed.expand_ancestors(self.outline.path(self.last_selected_key))
        self.lay_out_nodes()
        if self._matches and not self._is_match(self.shown[self.cursor][1]):
            self.select_temporarily(next(index for index, (_, node) in enumerate(self.shown) if self._is_match(node)))

    def _is_match(self, node: TreeNode) -> bool:
        return bool(self.filter_words) and contains_words(node, self.filter_words)

    def lay_out_nodes(self) -> None:
        """Show the nodes that match the filter, and their ancestors. Without a filter, show the nodes that have no
        collapsed ancestor."""
        outline, words = self.outline, self.filter_words
        if words:
            self._matches = outline.matching(words)
            self.shown = outline.with_ancestors(self._matches)
        else:
            self._matches = None
            self.shown = outline.visible_nodes(self.collapsed.is_collapsed)
        keys = [node.key for _, node in self.shown]
        if not outline.section_count:
            self.lay_out(keys, loaded_count=outline.count)
            return
        section_indexes = [index for index, (_, node) in enumerate(self.shown) if node.kind == "section"]
        # Each section has a blank line before it, so the lines below it move down.
        first_lines: list[int] = []
        for number, (start, end) in enumerate(pairwise([0, *section_indexes, len(keys)])):
            first_lines += range(start + number, end + number)
        extra_lines = {index + number: (Content(""), Content("")) for number, index in enumerate(section_indexes)}
        self.lay_out(
            keys,
            first_lines=first_lines,
            extra_lines=extra_lines,
            line_count=len(keys) + len(section_indexes),
            loaded_count=outline.count,
        )

    def match_count(self) -> int:
        return len(self._matches) if self._matches is not None else len(self.shown)

    def can_select(self, index: int) -> bool:
        return self.shown[index][1].kind != "section"

    def draw_item(self, index: int, width: int) -> list[Content]:
        depth, node = self.shown[index]
        label = safe(node.label)
        if node.kind == "section":
            rule = "─" * max(1, width - label.cell_length - 4)
            return [(Content("─ ") + label + Content(f" {rule}")).stylize_before("$octavo-muted")]
        if self._is_match(node):
            label = highlight(label, self.filter_words, MATCH_STYLE)
        symbol = safe(node.sign)
        if symbol:
            symbol = symbol + Content(" ")
        if node.kind == "group":
            label = label.stylize_before("bold $octavo-muted")
        is_collapsed = self.collapsed.is_collapsed(depth, node) and not self.filter_words
        arrow = "  " if not node.children else "▸ " if is_collapsed else "▾ "
        left_part = Content.styled("  " * depth + arrow, "$octavo-muted") + symbol + label
        if node.dim or (self.filter_words and not self._is_match(node)):
            left_part = left_part.stylize_before("$octavo-muted")
        right_part = _right_part(node, node.right)
        if node.short_right and left_part.cell_length + right_part.cell_length + 2 > width:
            right_part = _right_part(node, node.short_right)
        return [spread(left_part, right_part, width - 1) + Content(" ")]

    def choose(self) -> None:
        """Open the node with the cursor. Collapse or expand a group with pages instead, unless a filter is active."""
        if self.node is not None and self.node.kind == "group" and self.node.children and not self.filter_words:
            self.collapsed.toggle()
        else:
            super().choose()

    def item_clicked(self, index: int, x: int, *, is_double: bool) -> None:
        depth, node = self.shown[index]
        arrow_start = 1 + 2 * depth
        if node.children and arrow_start <= x < arrow_start + 2 and not self.filter_words:
            self.collapsed.toggle()
        elif not is_double or node.kind != "group":
            super().item_clicked(index, x, is_double=is_double)


def _right_part(node: TreeNode, right: AnyText) -> Content:
    texts: list[Content] = []
    if right:
        texts.append(safe(right).stylize_before("$octavo-muted"))
    if node.kind == "link":
        texts.append(Content.styled("↗", "$octavo-muted"))
    if node.count:
        texts.append(Content.styled(f"●{node.count}", "$octavo-note"))
    return Content(" ").join(texts)
