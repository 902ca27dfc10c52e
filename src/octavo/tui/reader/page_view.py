"""`PageView` shows a page: parsed blocks, thread marks and links. `show_page` shows a page from the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import unquote

from textual.message import Message

from octavo.api.content import Page
from octavo.api.folding import fold
from octavo.api.safety import address
from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Block, Document
from octavo.documents.emoji import sign_of
from octavo.tui.reader.block_cursor import AT_CURSOR, PANNING, CursorBlock
from octavo.tui.reader.contents import STILL, is_at_end
from octavo.tui.reader.find_bar import FIND
from octavo.tui.reader.link_hints import LINK_HINTS
from octavo.tui.reader.page_contents import PageContents
from octavo.tui.reader.page_loading import PageStream
from octavo.tui.reader.page_position import HEADINGS, SOURCE, ReadingPlace
from octavo.tui.reader.reading_pane import MOTIONS, READ_ON, Reader
from octavo.tui.reader.thread_marks import PAGE_THREADS, PageThreads
from octavo.tui.render.layout_context import path_to_block, tab_slug
from octavo.tui.render.link_targets import LinkDestination, link_destination
from octavo.tui.render.page_parts import CopyUrlRequested, LinkFollowed
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.terminal.text_direction import FROM_RIGHT
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.documents import links
    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits

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


FOR_WHOLE = "This key works only while the whole page is shown. Press esc to go back to the page, then try again."


class Excerpt(NamedTuple):
    """Settings of a page view that shows a part of a page, such as a footnote or a table row. Some commands are
    disabled there."""

    first_keys: tuple[str, ...]
    """Ids of the first commands in the key bar."""
    why_no_comment: str | None = FOR_WHOLE
    """Disabled reason of the comment command. None if it is enabled."""
    has_measure: bool = True
    """True if the text width can be changed."""
    open_spot: Callable[[ClickableSpan, bool], None] | None = None
    """Replaces the view's method that opens a clickable span. The second argument is True to open it in the browser."""


def _why_nothing(page: PageView) -> str:
    return page.state.why_empty("No page is open.")


def _in_page(group: Commands[Any]) -> Commands[Any]:
    """Return commands that are disabled in an empty view."""
    find: Callable[[Any], Any] = group.find
    return group.about(lambda page: find(page) if len(page.galley) else None, nothing=_why_nothing)


def _in_whole(group: Commands[Any]) -> Commands[Any]:
    """Return commands that are disabled in an empty view and in an excerpt."""
    find: Callable[[Any], Any] = group.find
    return group.about(
        lambda page: find(page) if len(page.galley) and page.excerpt is None else None,
        nothing=lambda page: FOR_WHOLE if page.excerpt is not None else _why_nothing(page),
    )


def _why_no_measure(_: object, page: PageView) -> str | None:
    return FOR_WHOLE if page.excerpt is not None and not page.excerpt.has_measure else None


def _why_not_on(_: object, page: PageView) -> str | None:
    return STILL if not page.contents.is_whole and is_at_end(page) else None


MEASURE: Commands[PageView] = Commands(
    "page",
    (
        Command("wrap", "W", "Width", "Change the text width",
                run=lambda _, page: page.contents.next_measure(), why_not=_why_no_measure, shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class PageBlock(CursorBlock):
    """Commands for the selected block of a page. Opening a table row shows it in a dialog."""

    def __init__(self, pane: PageView) -> None:
        super().__init__(pane)
        self._page = pane

    def open(self) -> None:
        page, stop = self._page, self.pane.cursor.stop()
        if stop is None or page.contents.thread_at(stop) is not None:
            super().open()
        elif (
            (target := stop[3].attrs.get("target"))
            and stop[3].kind == "card"
            and (whole := [hot for hot in page.spots.at_cursor() if hot.target == target])
        ):
            page.open_spot(whole[0], outside=False)
        elif (table := page.contents.tables.table_of(stop)) is not None:
            page.post_message(PageView.RowWanted(page, table, stop[3]))
        else:
            super().open()

    def copy(self) -> None:
        from octavo.tui.render.openapi import curl_command  # lazy: OpenAPI, 10 ms

        stop = self.pane.cursor.stop()
        if stop is not None and (curl := curl_command(self._page.contents.sources, stop[3])):
            self.copy_as(curl, "command")
        else:
            super().copy()

    @property
    def why_no_comment(self) -> str | None:
        return self._page.excerpt.why_no_comment if self._page.excerpt is not None else super().why_no_comment


class PageView(Reader):
    """Shows a page: `show` takes a parsed document, `show_markdown` takes Markdown."""

    CONTEXT: ClassVar[str] = "page"
    HELP: ClassVar[str] = (
        "This view shows the open page. Press j or k to scroll, ( or ) to select a block, f to open a link by typing the letters next to it, "
        "or / to find text. Press esc to go back."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("page.filter", "page.link_hints", "page.next_thread", "page.comment")
    HIT_KEYS: ClassVar[tuple[str, ...]] = ("page.next_hit", "page.prev_hit")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _in_page(FIND.only("filter")),
        _in_page(LINK_HINTS),
        _in_whole(PAGE_THREADS),
        _in_page(AT_CURSOR.only("comment", "open")),
        _in_whole(READ_ON.changed("read_on", why_not=_why_not_on)),
        _in_whole(HEADINGS),
        _in_page(FIND.without("filter")),
        _in_whole(SOURCE),
        MEASURE,
        _in_page(AT_CURSOR.only("yank")),
        _in_page(LINK_ADDRESSES),
        _in_page(PANNING),
        _in_page(MOTIONS.changed("bottom", run=lambda _, page: page.stream.go_to_end())),
    )
    contents: PageContents

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        first = self.FIRST_KEYS if self.excerpt is None else self.excerpt.first_keys
        if self.contents.shows_source:
            first = ("page.source", *first)  # The key that switches back to the rendered page.
        return (*self.HIT_KEYS, *first) if self.finder.needle else first

    @property
    def more_help(self) -> str:
        """Help on right-to-left text, for a page that contains some. Empty otherwise."""
        if self.document is None or not FROM_RIGHT.search(self.document.source):
            return ""
        turns = "Octavo reorders" if self.app.settings.turns_words else "The terminal reorders"  # type: ignore[attr-defined]  # Every app with a page view has settings.
        return f"{turns} right-to-left text. To change this, set right_to_left in the settings."

    class RowWanted(Message):
        """The user wants to see a table row in a dialog."""

        def __init__(self, view: PageView, table: Block, row: Block) -> None:
            super().__init__()
            self.view = view
            self.table = table
            self.row = row

    def __init__(
        self,
        *,
        ascii: bool = False,
        mono: bool = False,
        excerpt: Excerpt | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(ascii=ascii, mono=mono, id=id)
        self.excerpt = excerpt
        self.cursor_block = PageBlock(self)
        self.threads = PageThreads(self)
        self.contents = PageContents(self)
        self.place = ReadingPlace(self)
        self.links = PageLinks(self)
        self.stream = PageStream(self)

    # For callers

    @property
    def document(self) -> Document | None:
        """The page that is shown, as far as it is parsed."""
        return self.contents.document

    @property
    def key(self) -> str:
        """Key of the page that is shown."""
        return self.contents.key

    @property
    def facts(self) -> str:
        """Share that is read and state of the search, for the status line."""
        hidden = self.galley.total - self.rows
        parts = [f"{min(100, round(100 * self.first_line / hidden))}% read"] if hidden > 0 else []
        if self.contents.shows_source:
            parts.insert(0, "source")
        if self.finder.needle:
            parts.append(f"“{self.finder.needle}” {self.finder.finding}")
        return " · ".join(parts)

    def show(self, document: Document, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Show a parsed page. If `key` is unchanged, the position and expanded blocks are kept."""
        self.stream.show(document, (safe_line(title), safe_text(description or "")), key)

    def show_markdown(self, markdown: str, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Parse and show a page: the beginning of a long page first. Post `PageLoaded` when it is complete."""
        document = self.document
        if document is not None and key == self.key and markdown == document.source and self.contents.is_whole:
            self.show(document, title=title, description=description, key=key)
        else:
            self.stream.read(markdown, (safe_line(title), safe_text(description or "")), key)

    def set_threads(
        self,
        threads: Mapping[str, int | Sequence[Comment]],
        drafts: Mapping[str, int] = MappingProxyType({}),
        *,
        known: bool = True,
    ) -> None:
        """Set the number of open threads and of drafts by block key. `known` is False while threads of the page are
        still loading."""
        self.threads.set(self.document, threads, drafts, known=known)

    def clear(self) -> None:
        """Show an empty view."""
        self.state.settled()
        self.stream.stop_reading()
        self.selection.stop_copying()
        self.stream.leave()
        self.contents.document, self.contents.key, self.contents.page_units = None, "", ()
        self.threads.forget()
        self.place.wanted = None
        self.reset()

    def on_unmount(self) -> None:
        self.stream.stop_reading()

    # Called by the base class

    def reset(self, *, anchor: ReadingPosition | None = None, laid: LaidUnits | None = None) -> None:
        super().reset(anchor=anchor, laid=laid)
        self.place.go_back()

    def before_painting(self) -> None:
        super().before_painting()
        if self.stream.is_reading and self.painter.rows_on_show:
            self.call_later(self.stream.painted)

    def open_spot(self, hot: ClickableSpan, *, outside: bool) -> None:
        if self.excerpt is not None and self.excerpt.open_spot is not None:
            self.excerpt.open_spot(hot, outside)
        else:
            self.links.open(hot, outside=outside)


def preview(text: str) -> PageView:
    """Return a page view of Markdown text."""
    view = PageView()

    async def show() -> None:
        markdown = await asyncio.to_thread(keep_quoted_lines, text)  # In a thread: slow for a megabyte of quotes.
        if not is_being_removed(view):
            view.show_markdown(markdown, key="preview")

    view.call_later(show)
    return view


def show_page(view: PageView, page: Page, key: str) -> None:
    """Show a page: its Markdown, or its JSON document if it has no Markdown."""
    title = f"{sign_of(page.emoji)} {page.title}".strip()
    if page.markdown is None and page.document is not None:
        from octavo.documents.json_document import read_document  # lazy: almost every page has Markdown

        view.show(read_document(page.document), title=title, description=page.description, key=key)
    else:
        view.show_markdown(page.markdown or "", title=title, description=page.description, key=key)
