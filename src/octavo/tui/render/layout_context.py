"""What setting a block into lines needs to know, and the flow of blocks one below the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run
from octavo.tui.render.block_slices import slice_bounds
from octavo.tui.render.inline import render_runs
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.styles import Styles
from octavo.tui.render.wrap import wrap

if TYPE_CHECKING:
    from octavo.tui.render.deferred import DeferredContent
    from octavo.tui.render.link_targets import LinkTargets

T = TypeVar("T")

NARROWEST = 16
"""No block is set narrower than this, in cells, however deep it stands."""


@dataclass
class Folds:
    """What the reader has opened, chosen and moved. Blocks are known by their keys, so it outlives a reload."""

    opened: dict[str, bool] = field(default_factory=dict)
    tabs: dict[str, int] = field(default_factory=dict)
    """When the tab of that slug was chosen last. Tabs of one name are chosen together all over the page."""
    panned: dict[str, int] = field(default_factory=dict)
    """How many cells a wide block is moved to the left."""
    hidden: dict[str, int] = field(default_factory=dict)
    """How many cells of a wide block have no room, as it was set last."""

    def pan_offset(self, key: str, hidden: int, start: int = 0) -> int:
        """How far a block is moved to the left of which `hidden` cells have no room; by `start` until somebody moves it."""
        self.hidden[key] = hidden
        if start:
            self.panned.setdefault(key, start)
        return min(self.panned.get(key, 0), hidden)

    def pan_by(self, key: str, step: int) -> bool:
        """Move a wide block by `step` cells. False when it stands at that end already, or has room for all it is."""
        previous = min(self.panned.get(key, 0), self.hidden.get(key, 0))
        after = self.panned[key] = max(0, min(previous + step, self.hidden.get(key, 0)))
        return after != previous

    def is_open(self, block: Block) -> bool:
        """Whether the body of an expandable is shown, or all of what an interface says."""
        return self.opened.get(block.key, bool(block.attrs.get("open") or block.attrs.get("expanded") is True))

    def toggle(self, block: Block) -> None:
        """Open a closed block, close an open one."""
        self.opened[block.key] = not self.is_open(block)

    def choose_tab(self, tab: Block) -> None:
        """Show this tab, and those of the same name elsewhere."""
        self.tabs[tab_slug(tab)] = max(self.tabs.values(), default=0) + 1

    def chosen_tab(self, tabs: Block) -> int:
        """Which of the tabs is shown: the one chosen last, at first the first."""
        if not self.tabs:
            return 0
        times = [self.tabs.get(tab_slug(tab), 0) for tab in tabs.children]
        return times.index(max(times)) if times else 0

    def is_closed(self, parent: Block, child: Block) -> bool:
        """Whether `parent` does not show `child`, which is right in it."""
        if parent.kind == "expandable":
            return not self.is_open(parent)
        return parent.kind == "tabs" and parent.children[self.chosen_tab(parent)] is not child

    def hides(self, path: Sequence[Block], known: dict[tuple[int, int], bool] | None = None) -> bool:
        """Whether something on a path of blocks, outermost first, is closed. `known`: what was said of such pairs by their
        identities; tabs are asked once for each of a thousand places."""
        if known is None:
            return any(self.is_closed(parent, child) for parent, child in pairwise(path))
        for parent, child in pairwise(path):
            pair = id(parent), id(child)
            if pair not in known:
                shown = parent.children[self.chosen_tab(parent)] if parent.kind == "tabs" else None
                known |= {(id(parent), id(tab)): tab is not shown for tab in parent.children if shown is not None}
                known.setdefault(pair, self.is_closed(parent, child))
            if known[pair]:
                return True
        return False

    def reveal(self, path: Sequence[Block]) -> bool:
        """Open what hides the end of a path of blocks, outermost first. True when anything was closed."""
        changed = False
        for parent, child in pairwise(path):
            if self.is_closed(parent, child):
                changed = True
                if parent.kind == "expandable":
                    self.opened[parent.key] = True
                else:
                    self.choose_tab(child)
        return changed


def path_to_block(block: Block, key: str) -> list[Block]:
    """The blocks from `block` down to the one called `key`; empty when it is not in there."""
    path: list[Block] = []
    left = [iter((block,))]
    while left:
        for each in left[-1]:
            path.append(each)
            if each.key == key:
                return path
            left.append(iter(each.children))
            break
        else:
            left.pop()
            del path[-1:]
    return []


def tab_slug(tab: Block) -> str:
    """What tabs of one name have in common."""
    return fold(str(tab.attrs.get("slug") or tab.attrs.get("title") or "")).strip()


@dataclass
class LayoutContext:
    """The look, the folds and the room for the blocks of one page."""

    styles: Styles
    folds: Folds
    render_block: Callable[[LayoutContext, Block, int], list[Line]]
    """Sets one block in a width."""
    room: int = 0
    """Cells a wide block at the top of the page may take."""
    spare: int = 0
    """Cells a wide block may take to the right of the width it is given. None in containers that end there."""
    never_wraps_code: bool = False
    """Code is never broken into lines of its own, whatever it says about itself."""
    source_of: Callable[[Block], str] = field(default=lambda block: "")
    """How a block stands in the source, as far as that is known."""
    rules_headings: bool = True
    """Headings have rules below them."""
    has_background: bool = False
    """What is set now lies on a ground of its own."""
    depth: int = 0
    list_depth: int = 0
    deferred: DeferredContent | None = None
    block_above: Block | None = None
    """The block right above the one that is set now, at its depth."""
    _known: dict[tuple[str, int, int], tuple[Block, Any]] = field(default_factory=dict)
    """What `known` was told, with the blocks, so that no other gets the identity of one that is gone."""

    @property
    def position(self) -> tuple[int, int, bool, bool, int]:
        """What is said here of where the next block stands, to be put back where a block was left midway."""
        return self.depth, self.list_depth, self.has_background, self.rules_headings, self.spare

    @position.setter
    def position(self, values: tuple[int, int, bool, bool, int]) -> None:
        self.depth, self.list_depth, self.has_background, self.rules_headings, self.spare = values

    def flow(
        self,
        blocks: Iterable[Block],
        width: int,
        *,
        tight: bool = False,
        above: Block | None = None,
        is_open: bool = False,
    ) -> list[Line]:
        """Blocks one below the other, with a blank line between them unless they stand tight. `above`: one that stands
        above them in another slice. `is_open`: nothing stands to the right of them, so wide blocks take the spare cells."""
        width = max(width, NARROWEST)
        spare = self.spare
        # The text stands in the middle of the pane: half of the spare cells are at its right, and its left edge stays.
        self.spare = 0 if not is_open else spare // 2 if self.depth == 0 else spare
        self.depth += 1
        out: list[Line] = []
        previous = above
        for block in blocks:
            self.block_above = previous
            lines = self.render_block(self, block, width)
            if not lines:
                continue
            out += (
                []
                if previous is None
                else [Line([]) for _ in range(0 if tight else blank_lines_between(previous, block))]
            )
            out += lines
            previous = block
        self.depth -= 1
        self.spare = spare
        return out

    def flow_in(self, block: Block, width: int, *, is_open: bool = False) -> list[Line]:
        """The children of a block, or of a slice of one, one below the other."""
        cut = slice_bounds(block)
        return self.flow(block.children, width, above=cut.previous if cut is not None else None, is_open=is_open)

    def text_lines(self, runs: Iterable[Run], width: int, style: Style | None = None) -> list[Line]:
        """Runs as wrapped lines."""
        return [Line(pieces) for pieces in wrap(self.inline(runs, style), width)]

    def inline(self, runs: Iterable[Run], style: Style | None = None) -> list[Piece]:
        """Runs as pieces, links called by what they lead to."""
        return render_runs(runs, self.styles, style, self.link_targets)

    def shared_by_slices(self, name: str, whole: Block, compute: Callable[[Block], T], room: int = 0) -> T:
        """What all slices of a block have in common, in a room: `find` is asked once for it."""
        key = name, id(whole), room
        if key not in self._known:
            self._known[key] = whole, compute(whole)
        found: T = self._known[key][1]
        return found

    @property
    def link_targets(self) -> LinkTargets | None:
        """What the links of the page lead to, if anybody knows."""
        return self.deferred.targets if self.deferred is not None else None

    def widest(self, width: int) -> int:
        """How wide a block may become that gains from it."""
        return width + self.spare


def blank_lines_between(previous: Block, block: Block) -> int:
    """How many blank lines stand between two blocks."""
    if previous.kind == block.kind and block.kind in ("content-ref", "file", "embed", "include"):
        return 0
    is_section = block.kind == "heading" and block.attrs.get("level", 2) <= 2
    return 2 if is_section and previous.kind not in ("heading", "divider") else 1
