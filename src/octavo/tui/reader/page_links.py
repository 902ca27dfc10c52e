"""Links of a page, and other blocks that open: expandable blocks, tabs, files, images, footnotes and buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.api.safety import address
from octavo.documents.blocks import Block
from octavo.tui.render.layout_context import path_to_block, tab_slug
from octavo.tui.render.link_targets import LinkDestination, link_destination
from octavo.tui.render.page_parts import CopyUrlRequested, LinkFollowed
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.documents import links
    from octavo.tui.reader.page_view import PageView

_LEADING = ("link", "file", "image")
"""Kinds of clickable spans with a URL."""


class PageLinks:
    """Opens the links, tabs and expandable blocks of a page."""

    def __init__(self, pane: PageView) -> None:
        self.pane, self.contents, self.spots = pane, pane.contents, pane.spots

    def open(self, hot: ClickableSpan, *, outside: bool) -> None:
        """Expand a block, switch a tab or go to an anchor. Post `LinkFollowed` for other links."""
        target = hot.target
        match hot.kind:
            case "fold" | "tab":
                self._toggle(hot)
            case "select":
                self._select(target)
            case "link" if self._leads(target) is LinkDestination.ANCHOR and not outside:
                anchor = address(unquote(target))
                if not self.pane.place.go_to_anchor(anchor):
                    self.pane.place.miss(anchor)
            case _:
                outside = outside or self._leads(target) in (LinkDestination.OUTSIDE, LinkDestination.MAIL)
                self.pane.post_message(LinkFollowed(target, outside, hot.kind, self.spots.words(hot)))

    def _leads(self, address: str) -> LinkDestination:
        return (
            self.contents.sources.targets.destination(address)
            if self.contents.sources.targets is not None
            else link_destination(address)
        )

    def _toggle(self, hot: ClickableSpan) -> None:
        here = self.pane.painter.rows_on_show[hot.line][0] if hot.line < len(self.pane.painter.rows_on_show) else 0
        for unit in (here, *range(len(self.pane.galley))):
            each = self.pane.galley.units[unit]
            path = path_to_block(each.slice or each.block, hot.target)
            if path:
                if hot.kind == "tab":
                    self._choose(path[-1].children[hot.clickable.index])
                else:
                    self.pane.folds.toggle(path[-1])
                self.pane.change(unit)
                return

    def _choose(self, tab: Block) -> None:
        self.pane.folds.choose_tab(tab)
        for unit, each in enumerate(self.pane.galley.units):
            if each.block.kind not in ("paragraph", "heading"):
                self.pane.galley.forget(unit)

    def _select(self, name: str) -> None:
        """Switch all tabs of the page to the tab `name`."""
        wanted = fold(name).strip()
        tabs = (tab for block in self.contents.walk() if block.kind == "tabs" for tab in block.children)
        found = next((tab for tab in tabs if wanted in (tab_slug(tab), _title(tab))), None)
        if found is None:
            self.pane.explain(f"This page has no tab “{name}”.")
            return
        self._choose(found)
        self.pane.reset()

    def shared(self, target: links.Target) -> Block | None:
        """Return the include block of reusable content on the page. None if there is none."""
        targets = self.contents.sources.targets
        found = (block for block in self.contents.walk() if block.kind == "include" and block.children)
        return next((each for each in found if targets and targets.resolve(str(each.attrs["target"])) == target), None)

    def open_outside(self) -> None:
        """Open the link of the selected block in the browser, or the page if it has no link. If it has several, show
        hints."""
        if hots := self._leading():
            self.spots.open_one(hots, outside=True)
        else:
            self.pane.post_message(LinkFollowed("", True, "page"))

    def copy_address(self) -> None:
        """Copy the URL of the only link of the selected block, otherwise the URL of the page."""
        hots = self._leading()
        one = len({id(hot.clickable) for hot in hots}) == 1
        self.pane.post_message(CopyUrlRequested(hots[0].target, hots[0].kind) if one else CopyUrlRequested("", "page"))

    def _leading(self) -> list[ClickableSpan]:
        return [hot for hot in self.spots.at_cursor() if hot.kind in _LEADING]


def _title(tab: Block) -> str:
    return fold(str(tab.attrs.get("title") or "")).strip()


LINK_ADDRESSES: Commands[PageLinks] = Commands(
    "page",
    (
        Command("yank_url", "Y", "Copy link", "Copy the link in the block, or a link to the page",
                run=lambda _, links: links.copy_address(), shown=False),
        Command("open_browser", "o", "Open in browser", "Open the link or page in the browser",
                run=lambda _, links: links.open_outside(), shown=False),
    ),
    find=lambda view: view.links,
)  # fmt: skip
