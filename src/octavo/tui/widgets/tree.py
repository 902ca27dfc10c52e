"""A tree of named nodes for many thousands of them: folding, a filter that keeps ancestors, counts at the right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from octavo.tui.widgets.content import Words, marked, safe, spread
from octavo.tui.widgets.lines import Lines


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node as it is shown. `kind` is "page", "group", "link", "section" (a rule that is no stop) or any other."""

    key: Hashable
    label: Words
    children: Sequence[Node] = ()
    kind: str = "page"
    count: int = 0
    """What is open here, such as threads; shown in the colour of people talking. 0 is not shown."""
    sign: Words = ""
    """An emoji or a sign of change before the label."""
    right: Words = ""
    """A word at the right end, before the count."""
    dim: bool = False
    """Hidden, or not what is looked for."""


class Tree(Lines):
    """Nodes under nodes. What is folded is known by key, so that it outlives a reload. Draws only what is on screen."""

    CONTEXT: ClassVar[str] = "trees"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,right", "expand", "Unfold", show=False, tooltip="Unfold; when unfolded, go to the first child", id="tree.expand"),
        Binding("h,left", "collapse", "Fold", show=False, tooltip="Fold; when folded, go to the parent", id="tree.collapse"),
        Binding("equals_sign", "unfold", "Unfold all", show=False, tooltip="Unfold everything below here", id="tree.unfold"),
        Binding("minus", "fold", "Fold all", show=False, tooltip="Fold everything below here", id="tree.fold"),
    ]  # fmt: skip

    class Folded(Message):
        """Other nodes are folded."""

        def __init__(self, tree: Tree, folded: frozenset[Hashable]) -> None:
            super().__init__()
            self.tree = tree
            self.folded = folded

        @property
        def control(self) -> Tree:
            return self.tree

    def __init__(
        self,
        *,
        fold_below: int | None = None,
        empty: str = "Nothing here.",
        hint: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`fold_below`: nodes of this depth (0 is the top) and deeper begin folded."""
        super().__init__(empty=empty, hint=hint, name=name, id=id, classes=classes)
        self.can_filter = True
        self._fold_below = fold_below
        self._roots: Sequence[Node] = ()
        self._folded: dict[Hashable, bool] = {}
        self._shown: list[tuple[int, Node]] = []
        self._matches: frozenset[Hashable] = frozenset()
        self._size_of_all = 0
        self._indices: dict[Hashable, int] = {}

    @property
    def node(self) -> Node | None:
        """The node the cursor is on."""
        return self._shown[self.cursor][1] if self._shown else None

    @property
    def folded(self) -> Mapping[Hashable, bool]:
        """Which nodes were folded (True) or unfolded (False) by hand."""
        return self._folded

    def show(self, roots: Sequence[Node], *, folded: Mapping[Hashable, bool] | None = None) -> None:
        """Show `roots` instead of what was shown. `folded` brings back what an earlier tree's `folded` said."""
        self.settled()
        self._roots = roots
        if folded is not None:
            self._folded = dict(folded)
        self._size_of_all = sum(node.kind != "section" for _, node in _walk(roots, lambda depth, node: True))
        self._arrange()

    def reveal(self, key: Hashable) -> bool:
        """Unfold what is above the node called `key` and go to it. False when there is none."""
        path = _path(self._roots, key)
        if path is None:
            return False
        for node in path[:-1]:
            self._folded[node.key] = False
        self._arrange()
        return self.go_to(key)

    def path(self, key: Hashable) -> tuple[Node, ...]:
        """The node called `key` with what it stands under, outermost first. Empty when there is none."""
        return tuple(_path(self._roots, key) or ())

    def apply_filter(self, query: str) -> None:
        if not query and self.kept_key is not None and (path := _path(self._roots, self.kept_key)):
            self._folded.update((node.key, False) for node in path[:-1])
        self._arrange()
        if self._matches and self.key not in self._matches:
            self.look_at(next(index for index, (_, node) in enumerate(self._shown) if node.key in self._matches))

    def _is_folded(self, depth: int, node: Node) -> bool:
        by_hand = self._folded.get(node.key)
        if by_hand is not None:
            return by_hand
        return self._fold_below is not None and depth >= self._fold_below

    def _arrange(self) -> None:
        words = self.words
        if words:
            self._shown = []
            self._matches = frozenset(_matching(self._roots, words, self._shown))
        else:
            self._matches = frozenset()
            self._shown = list(_walk(self._roots, lambda depth, node: not self._is_folded(depth, node)))
        keys = [node.key for _, node in self._shown]
        sections = [index for index, (_, node) in enumerate(self._shown) if node.kind == "section"]
        if not sections:
            self.lay_out(keys, unfiltered=self._size_of_all)
            return
        # A free line before each section.
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
            unfiltered=self._size_of_all,
        )

    def matching(self) -> int:
        return len(self._matches) if self.query_text else len(self._shown)

    def can_stop_at(self, index: int) -> bool:
        return self._shown[index][1].kind != "section"

    # Drawing

    def draw_item(self, index: int, width: int) -> list[Content]:
        depth, node = self._shown[index]
        muted = self.part("line--muted")
        label = safe(node.label)
        if node.kind == "section":
            rule = "─" * max(1, width - label.cell_length - 4)
            return [(Content("─ ") + label + Content(f" {rule}")).stylize_before(muted)]
        if node.key in self._matches:
            label = marked(label, self.words, self.part("line--hit"))
        sign = safe(node.sign)
        if sign:
            sign = sign + Content(" ")
        if node.kind == "group":
            label = label.stylize_before(self.part("line--heading"))
        left = Content.styled("  " * depth + self._twisty(depth, node), muted) + sign + label
        if node.dim or (self.words and node.key not in self._matches):
            left = left.stylize_before(muted)
        return [spread(left, self._end(node), width - 1) + Content(" ")]

    def _twisty(self, depth: int, node: Node) -> str:
        if not node.children:
            return "  "
        return "▸ " if self._is_folded(depth, node) and not self.words else "▾ "

    def _end(self, node: Node) -> Content:
        muted = self.part("line--muted")
        pieces: list[Content] = []
        if node.right:
            pieces.append(safe(node.right).stylize_before(muted))
        if node.kind == "link":
            pieces.append(Content.styled("↗", muted))
        if node.count:
            pieces.append(Content.styled(f"●{node.count}", "$octavo-note"))
        return Content(" ").join(pieces)

    # Folding

    def _set_folds(self, nodes: Iterable[Node], folded: bool) -> None:
        for node in nodes:
            if node.children:
                self._folded[node.key] = folded
        self._arrange()
        self.post_message(self.Folded(self, frozenset(key for key, value in self._folded.items() if value)))

    def action_expand(self) -> None:
        if not self._shown:
            return
        depth, node = self._shown[self.cursor]
        if node.children and self._is_folded(depth, node) and not self.words:
            self._set_folds([node], False)
        elif node.children:
            self.action_move(1)

    def action_collapse(self) -> None:
        if not self._shown:
            return
        depth, node = self._shown[self.cursor]
        if node.children and not self._is_folded(depth, node) and not self.words:
            self._set_folds([node], True)
            return
        for index in range(self.cursor - 1, -1, -1):
            if self._shown[index][0] < depth:
                self._set_cursor(index)
                return

    def action_unfold(self) -> None:
        if self.node is not None:
            self._set_folds((each for _, each in _walk([self.node], lambda depth, node: True)), False)

    def action_fold(self) -> None:
        if self.node is not None:
            self._set_folds((each for _, each in _walk([self.node], lambda depth, node: True)), True)

    def toggle(self) -> None:
        """Fold or unfold the node the cursor is on."""
        depth, node = self._shown[self.cursor]
        self._set_folds([node], not self._is_folded(depth, node))

    def action_choose(self) -> None:
        """A group that is nothing but its children folds; anything else is chosen."""
        if self.node is not None and self.node.kind == "group" and self.node.children and not self.words:
            self.toggle()
        else:
            super().action_choose()

    def clicked(self, index: int, x: int, *, again: bool) -> None:
        depth, node = self._shown[index]
        twisty = 1 + 2 * depth
        if node.children and twisty <= x < twisty + 2 and not self.words:
            self.toggle()
        elif not again or node.kind != "group":
            super().clicked(index, x, again=again)


def _walk(roots: Sequence[Node], goes_in: Callable[[int, Node], bool]) -> Iterator[tuple[int, Node]]:
    """Every node with its depth, in the order they are drawn, and what is below those `goes_in` says yes to."""
    stack = [(0, node) for node in reversed(roots)]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        if node.children and goes_in(depth, node):
            stack += [(depth + 1, child) for child in reversed(node.children)]


def _matching(roots: Sequence[Node], words: tuple[str, ...], shown: list[tuple[int, Node]]) -> Iterator[Hashable]:
    """The keys of the nodes whose label holds every word. `shown` gets them and what is above them, in order."""
    above: list[tuple[int, Node]] = []
    for depth, node in _walk(roots, lambda depth, node: True):
        while above and above[-1][0] >= depth:
            above.pop()
        label = node.label if isinstance(node.label, str) else node.label.plain
        label = label.lower()
        if node.kind != "section" and all(word in label for word in words):
            shown += above
            above.clear()
            shown.append((depth, node))
            yield node.key
        else:
            above.append((depth, node))


def _path(roots: Sequence[Node], key: Hashable) -> list[Node] | None:
    path: list[tuple[int, Node]] = []
    for depth, node in _walk(roots, lambda depth, node: True):
        while path and path[-1][0] >= depth:
            path.pop()
        path.append((depth, node))
        if node.key == key:
            return [each for _, each in path]
    return None
