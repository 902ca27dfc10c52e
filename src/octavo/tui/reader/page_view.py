"""`PageView` shows a page: parsed blocks, thread marks and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.message import Message

from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Block, Document
from octavo.tui.reader.block_cursor import PANNING
from octavo.tui.reader.cursor_block import AT_CURSOR, CursorBlock
from octavo.tui.reader.find_line import FIND
from octavo.tui.reader.hot_spots import LINK_HINTS
from octavo.tui.reader.page_contents import PageContents
from octavo.tui.reader.page_links import LINK_ADDRESSES, PageLinks
from octavo.tui.reader.pane import STILL, is_at_end
from octavo.tui.reader.reading_pane import MOTIONS, READ_ON, Reader
from octavo.tui.reader.reading_place import HEADINGS, SOURCE, ReadingPlace
from octavo.tui.reader.streaming_page import PageStream
from octavo.tui.reader.thread_marks import PAGE_THREADS, PageThreads
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.terminal.text_direction import FROM_RIGHT
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits


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
