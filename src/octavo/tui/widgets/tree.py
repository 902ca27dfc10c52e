"""A tree widget for many thousands of nodes, with collapsing, a filter that keeps ancestors, and counts at the right."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any, ClassVar

from textual.content import Content
from textual.style import Style

from octavo.api.folding import fold
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.short_texts import AnyText, highlight, safe, spread


@dataclass(slots=True, eq=False)
class TreeNode:
    """A node of a tree, which must not be changed. The cursor skips nodes of the kind "section"."""

    key: Hashable
    label: AnyText
    children: Sequence[TreeNode] = ()
    kind: str = "page"
    count: int = 0
    """Number of open threads. 0 is not shown."""
    sign: AnyText = ""
    """Emoji or change mark before the label."""
    right: AnyText = ""
    """Text before the count at the right end."""
    short_right: AnyText = ""
    """Shorter form of `right` for a narrow tree."""
    dim: bool = False
    """True if the label is muted, for example for a hidden page."""
    path: str = ""
    """Path of the page. The filter searches its last segment, or the whole path for a word with `/`."""


class FlatTree:
    """All nodes of a tree in display order. An index is a position in this order."""

    def __init__(self, roots: Sequence[TreeNode]) -> None:
        self._rows: list[tuple[int, TreeNode]] = []
        self._branches: list[int] = []
        """Indexes of the nodes with children."""
        self._ends: list[int] = []
        """Index after the last descendant of each node in `_branches`."""
        self._texts: list[str] | None = None
        self._parents: list[int] = []
        """Index of the parent of each node. -1 at the top level."""
        self._read(roots)
        self._keys: list[Hashable] = [node.key for _, node in self._rows]
        self.section_count = sum([node.kind == "section" for _, node in self._rows])

    def _read(self, roots: Sequence[TreeNode]) -> None:
        rows, branches, ends, parents = self._rows, self._branches, self._ends, self._parents
        stack: list[tuple[Iterator[TreeNode], int, int]] = [(iter(roots), -1, -1)]
        depth = 0
        while stack:
            nodes, branch_number, parent = stack[-1]
            for node in nodes:
                rows.append((depth, node))
                parents.append(parent)
                if node.children:
                    stack.append((iter(node.children), len(branches), len(rows) - 1))
                    branches.append(len(rows) - 1)
                    ends.append(0)
                    depth += 1
                    break
            else:
                stack.pop()
                depth -= 1
                if branch_number >= 0:
                    ends[branch_number] = len(rows)

    @property
    def count(self) -> int:
        """Number of nodes that are not sections."""
        return len(self._rows) - self.section_count

    def visible_nodes(
        self, is_collapsed: Callable[[int, TreeNode], bool]
    ) -> tuple[list[tuple[int, TreeNode]], list[Hashable]]:
        """Return the nodes without a collapsed ancestor, each with its depth, and the list of their keys."""
        rows, keys = self._rows, self._keys
        visible: list[tuple[int, TreeNode]] = []
        visible_keys: list[Hashable] = []
        next_index = 0
        for index, end in zip(self._branches, self._ends, strict=True):
            if index >= next_index and is_collapsed(*rows[index]):
                visible += rows[next_index : index + 1]
                visible_keys += keys[next_index : index + 1]
                next_index = end
        return (visible + rows[next_index:], visible_keys + keys[next_index:]) if next_index else (rows, keys)

    def branches(self, key: Hashable) -> list[TreeNode]:
        """Return the node with this key and its descendants that have children. Empty if the node has none."""
        index = self._keys.index(key)
        first = bisect_left(self._branches, index)
        if first == len(self._branches) or self._branches[first] != index:
            return []
        last = bisect_left(self._branches, self._ends[first])
        return [self._rows[branch][1] for branch in self._branches[first:last]]

    def path(self, key: Hashable) -> tuple[TreeNode, ...]:
        """Return the node with this key after its ancestors, outermost first. Empty if there is none."""
        if key not in self._keys:
            return ()
        index = self._keys.index(key)
        path = [self._rows[index][1]]
        while (index := self._parents[index]) >= 0:
            path.append(self._rows[index][1])
        return tuple(reversed(path))

    def searched_texts(self) -> list[str]:
        """Return the texts of all nodes for the filter. The first call is slow for a large tree."""
        if self._texts is None:
            self._texts = [_searched_text(node) for _, node in self._rows]
        return self._texts

    def matching(self, words: Sequence[str]) -> Sequence[int]:
        """Return the indexes of the nodes for which `contains_words` is True."""
        if any("/" in word for word in words):
            return [index for index, (_, node) in enumerate(self._rows) if contains_words(node, words)]
        texts = self.searched_texts()
        indexes: Sequence[int] = range(len(texts))
        for word in words:
            indexes = [index for index in indexes if word in texts[index]]
        return indexes

    def with_ancestors(self, indexes: Sequence[int]) -> tuple[list[tuple[int, TreeNode]], list[Hashable]]:
        """Return these nodes and all their ancestors, with their depths. Also return their keys."""
        parents, is_included = self._parents, bytearray(len(self._rows))
        for index in indexes:
            while index >= 0 and not is_included[index]:
                is_included[index] = 1
                index = parents[index]
        return list(compress(self._rows, is_included)), list(compress(self._keys, is_included))


def contains_words(node: TreeNode, words: Sequence[str]) -> bool:
    """Return True if the label or last path segment contains every folded word. Words with `/` also match in the whole
    path. False for sections."""
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
    """The collapsed nodes of a tree. They stay collapsed when the tree is loaded again."""

    def __init__(self, tree: Tree, depth: int | None) -> None:
        """Nodes at depth `depth` and deeper are collapsed at first. The top level has depth 0."""
        self._tree, self._first_depth = tree, depth
        self.collapsed_by_user: dict[Hashable, bool] = {}
        """Whether the user collapsed (True) or expanded (False) nodes, by key."""

    def is_collapsed(self, depth: int, node: TreeNode) -> bool:
        """Return whether a node is collapsed. `depth` is 0 at the top level."""
        chosen = self.collapsed_by_user.get(node.key)
        if chosen is not None:
            return chosen
        return self._first_depth is not None and depth >= self._first_depth

    def expand_ancestors(self, path: Sequence[TreeNode]) -> None:
        """Expand all ancestors of the last node in `path`."""
        self.collapsed_by_user.update((node.key, False) for node in path[:-1])

    def expand_selected(self) -> None:
        """Expand the selected node, or go to the first child of an expanded node."""
        if not self._tree.shown:
            return
        depth, node = self._tree.shown[self._tree.cursor]
        if node.children and self.is_collapsed(depth, node) and not self._tree.filter_words:
            self._set_collapsed([node], False)
        elif node.children:
            self._tree.move(1)

    def collapse_selected(self) -> None:
        """Collapse the selected node, or go to the parent of a collapsed node."""
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
        """Collapse or expand the selected node and all its descendants."""
        if self._tree.node is not None:
            self._set_collapsed(self._tree.outline.branches(self._tree.node.key), is_collapsed)

    def toggle(self) -> None:
        """Collapse or expand the selected node."""
        depth, node = self._tree.shown[self._tree.cursor]
        self._set_collapsed([node], not self.is_collapsed(depth, node))

    def _set_collapsed(self, nodes: Iterable[TreeNode], is_collapsed: bool) -> None:
        self.collapsed_by_user.update((node.key, is_collapsed) for node in nodes if node.children)
        self._tree.lay_out_nodes()


class Tree(LineList):
    """A tree of nodes that can be collapsed. Only visible nodes are drawn."""

    CONTEXT: ClassVar[str] = "trees"
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
        """At first, nodes at the depth `collapse_depth` and below are collapsed. `has_collapse_all_keys` binds the keys
        for all nodes."""
        super().__init__(empty=empty, hint=hint, id=id)
        self.can_filter = True
        self.has_collapse_all_keys: bool = has_collapse_all_keys
        self.collapsed: CollapsedNodes = CollapsedNodes(self, collapse_depth)
        self.outline = FlatTree(())
        self.shown: list[tuple[int, TreeNode]] = []
        """The shown nodes with their depths."""
        self._matches: Sequence[int] | None = None
        """The indexes of the nodes that match the filter. None without a filter."""

    def set_context(self, context: str, help: str, *keybar: str) -> None:
        """Set the name of this tree, its help, and its first commands in the key bar."""
        for name, value in (("CONTEXT", context), ("HELP", help), ("KEYBAR", keybar)):
            setattr(self, name, value)

    @property
    def node(self) -> TreeNode | None:
        """The selected node. None if the tree is empty."""
        return self.shown[self.cursor][1] if self.shown else None

    def show(self, roots: Sequence[TreeNode]) -> None:
        """Replace the nodes."""
        self.state.clear_messages()
        self.outline = FlatTree(roots)
        self.lay_out_nodes()

    def select_hidden(self, key: Hashable) -> bool:
        """Select a node. Expand its ancestors, and clear a filter that hides it. Return False if there is none."""
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

    async def open_filter(self) -> None:
        await super().open_filter()
        self.outline.searched_texts()

    def _is_match(self, node: TreeNode) -> bool:
        return bool(self.filter_words) and contains_words(node, self.filter_words)

    def lay_out_nodes(self) -> None:
        """Lay out the nodes that the filter and collapsed ancestors do not hide."""
        outline, words = self.outline, self.filter_words
        if words:
            self._matches = outline.matching(words)
            self.shown, keys = outline.with_ancestors(self._matches)
        else:
            self._matches = None
            self.shown, keys = outline.visible_nodes(self.collapsed.is_collapsed)
        if not outline.section_count:
            self.lay_out(keys, loaded_count=outline.count)
            return
        sections = [index for index, (_, node) in enumerate(self.shown) if node.kind == "section"]
        # A blank line precedes each section.
        first_lines: list[int] = []
        for number, (start, end) in enumerate(pairwise([0, *sections, len(keys)])):
            first_lines += range(start + number, end + number)
        extra_lines = {index + number: (Content(""), Content("")) for number, index in enumerate(sections)}
        self.lay_out(
            keys,
            first_lines=first_lines,
            extra_lines=extra_lines,
            line_count=len(keys) + len(sections),
            loaded_count=outline.count,
        )

    def match_count(self) -> int:
        return len(self._matches) if self._matches is not None else len(self.shown)

    def can_select(self, index: int) -> bool:
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
        is_collapsed = self.collapsed.is_collapsed(depth, node) and not self.filter_words
        arrow = "  " if not node.children else "▸ " if is_collapsed else "▾ "
        left = Content.styled("  " * depth + arrow, muted) + sign + label
        if node.dim or (self.filter_words and not self._is_match(node)):
            left = left.stylize_before(muted)
        end = _right_part(node, node.right, muted)
        if node.short_right and left.cell_length + end.cell_length + 2 > width:
            end = _right_part(node, node.short_right, muted)
        return [spread(left, end, width - 1) + Content(" ")]

    def choose(self) -> None:
        """Open the selected node. Collapse or expand a page group, because a group has no content."""
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


def _right_part(node: TreeNode, right: AnyText, muted: Style) -> Content:
    pieces: list[Content] = []
    if right:
        pieces.append(safe(right).stylize_before(muted))
    if node.kind == "link":
        pieces.append(Content.styled("↗", muted))
    if node.count:
        pieces.append(Content.styled(f"●{node.count}", "$octavo-note"))
    return Content(" ").join(pieces)
