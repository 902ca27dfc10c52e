"""The state that block renderers share, and the flow of blocks one below the other."""

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
"""Smallest width in cells in which a block is rendered, however deep it is nested."""


@dataclass
class Folds:
    """State of a page that the user changes: expanded blocks, selected tabs and scrolled blocks. Blocks are identified
    by their keys, so the state survives a reload."""

    opened: dict[str, bool] = field(default_factory=dict)
    tabs: dict[str, int] = field(default_factory=dict)
    """Sequence number of the last selection of each tab, by the slug of the tab. The tab selected last has the
    highest number. Tabs with the same slug are selected together."""
    panned: dict[str, int] = field(default_factory=dict)
    """Number of cells by which each wide block is scrolled to the right."""
    hidden: dict[str, int] = field(default_factory=dict)
    """Number of cells of each wide block that did not fit when the block was rendered last."""

    @property
    def state(self) -> tuple[dict[str, bool], dict[str, int], dict[str, int]]:
        """A copy of the expanded blocks, selected tabs and scroll offsets. While this value is equal, rendering gives
        the same lines."""
        return self.opened.copy(), self.tabs.copy(), self.panned.copy()

    def pan_offset(self, key: str, hidden: int, start: int = 0) -> int:
        """Return how far a block is scrolled, when `hidden` of its cells do not fit. `start` is the offset until the
        user scrolls."""
        self.hidden[key] = hidden
        if start:
            self.panned.setdefault(key, start)
        return min(self.panned.get(key, 0), hidden)

    def pan_by(self, key: str, step: int) -> bool:
        """Scroll a wide block by `step` cells, and return whether it moved."""
        previous = min(self.panned.get(key, 0), self.hidden.get(key, 0))
        after = self.panned[key] = max(0, min(previous + step, self.hidden.get(key, 0)))
        return after != previous

    def is_open(self, block: Block) -> bool:
        """Return whether an expandable or an OpenAPI block is expanded."""
        return self.opened.get(block.key, bool(block.attrs.get("open") or block.attrs.get("expanded") is True))

    def toggle(self, block: Block) -> None:
        """Expand a collapsed block, or collapse an expanded one."""
        self.opened[block.key] = not self.is_open(block)

    def choose_tab(self, tab: Block) -> None:
        """Select a tab, and the tabs with the same name elsewhere."""
        self.tabs[tab_slug(tab)] = max(self.tabs.values(), default=0) + 1

    def chosen_tab(self, tabs: Block) -> int:
        """Return the index of the tab among `tabs` that was selected last. 0 before any selection."""
        if not self.tabs:
            return 0
        times = [self.tabs.get(tab_slug(tab), 0) for tab in tabs.children]
        return times.index(max(times)) if times else 0

    def is_closed(self, parent: Block, child: Block) -> bool:
        """Return whether `parent` does not show its child `child`."""
        if parent.kind == "expandable":
            return not self.is_open(parent)
        return parent.kind == "tabs" and parent.children[self.chosen_tab(parent)] is not child

    def hides(self, path: Sequence[Block], known: dict[tuple[int, int], bool] | None = None) -> bool:
        """Return whether any block on a path, outermost first, hides the next one. `known` caches the result for pairs
        of blocks, by identity."""
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

    def expand_path(self, path: Sequence[Block]) -> bool:
        """Expand the blocks and select the tabs that hide the last block of a path. Return whether any of them was
        closed."""
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
    """Return the blocks from `block` down to the block with `key`. Empty if there is no such block."""
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
    """Return a text that is equal for all tabs with the same name."""
    return fold(str(tab.attrs.get("slug") or tab.attrs.get("title") or "")).strip()


@dataclass
class LayoutContext:
    """Styles, folds and widths for rendering the blocks of one page."""

    styles: Styles
    folds: Folds
    render_block: Callable[[LayoutContext, Block, int], list[Line]]
    """Function that renders a block in a width."""
    available_width: int = 0
    """Number of cells that a wide block at the top level may take."""
    spare: int = 0
    """Number of cells that a wide block may take beyond its width. 0 in containers with a right border."""
    never_wraps_code: bool = False
    """True if code is never wrapped, even if its block asks for it."""
    source_of: Callable[[Block], str] = field(default=lambda block: "")
    """Function that returns the source of a block, if it is known."""
    rules_headings: bool = True
    """True if headings have rules below them."""
    has_background: bool = False
    """True if a container draws a background behind the current block."""
    depth: int = 0
    list_depth: int = 0
    deferred: DeferredContent | None = None
    block_above: Block | None = None
    """Block above the current one, at the same depth."""
    _shared_results: dict[tuple[str, int, int], tuple[Block, Any]] = field(default_factory=dict)
    """Results of `shared_by_slices`. The blocks are kept too, so that their identities are not reused."""

    @property
    def position(self) -> tuple[int, int, bool, bool, int]:
        """Values that change from block to block. They are restored after a failed block."""
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
        """Render blocks one below the other, with blank lines between unless `tight`.

        `above` is the block above, if it is in another slice. `is_open`: nothing is to the right of the blocks, so wide
        ones take the spare cells.
        """
        width = max(width, NARROWEST)
        spare = self.spare
        # The text is centered in the pane, so only half of the spare cells are at its right.
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

    def flow_children(self, block: Block, width: int, *, is_open: bool = False) -> list[Line]:
        """Render the children of a block or slice, one below the other."""
        cut = slice_bounds(block)
        return self.flow(block.children, width, above=cut.previous if cut is not None else None, is_open=is_open)

    def text_lines(self, runs: Iterable[Run], width: int, style: Style | None = None) -> list[Line]:
        """Return runs as wrapped lines."""
        return [Line(pieces) for pieces in wrap(self.inline(runs, style), width)]

    def inline(self, runs: Iterable[Run], style: Style | None = None) -> list[Piece]:
        """Return runs as styled text. A link whose text only repeats its URL gets the title of its target."""
        return render_runs(runs, self.styles, style, self.link_targets)

    def shared_by_slices(self, name: str, whole: Block, compute: Callable[[Block], T], available_width: int = 0) -> T:
        """Return the result of `compute` for the block `whole`. All slices of the block share the result for the same
        `name` and `available_width`."""
        key = name, id(whole), available_width
        if key not in self._shared_results:
            self._shared_results[key] = whole, compute(whole)
        found: T = self._shared_results[key][1]
        return found

    @property
    def link_targets(self) -> LinkTargets | None:
        """Targets of the links of the page. None if they are not known."""
        return self.deferred.targets if self.deferred is not None else None

    def max_width(self, width: int) -> int:
        """Return the maximum width of a block that may take the spare cells."""
        return width + self.spare


def blank_lines_between(previous: Block, block: Block) -> int:
    """Return the number of blank lines between two blocks."""
    if previous.kind == block.kind and block.kind in ("content-ref", "file", "embed", "include"):
        return 0
    is_section = block.kind == "heading" and block.attrs.get("level", 2) <= 2
    return 2 if is_section and previous.kind not in ("heading", "divider") else 1
