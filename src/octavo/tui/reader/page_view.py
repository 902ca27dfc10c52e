"""The page view: one page, read from its blocks, with its threads marked at the blocks they hang on."""

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
from octavo.tui.reader.late_sources import LateSources
from octavo.tui.reader.page_contents import PageContents
from octavo.tui.reader.page_links import LINK_ADDRESSES, PageLinks
from octavo.tui.reader.pane import STILL, is_at_end
from octavo.tui.reader.reading_pane import MOTIONS, READ_ON, Reader
from octavo.tui.reader.reading_place import HEADINGS, SOURCE, ReadingPlace
from octavo.tui.reader.streaming_page import PageStream
from octavo.tui.reader.table_reading import TableReading
from octavo.tui.reader.thread_marks import PAGE_THREADS, PageThreads
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.terminal.line_filters import FROM_RIGHT
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits


FOR_WHOLE = "This key works only while the whole page is shown. Press esc to go back to the page, then try again."


class Excerpt(NamedTuple):
    """A note or a row of a page, shown over it: some keys are for the whole page."""

    first_keys: tuple[str, ...]
    """The ids the key bar begins with."""
    why_no_comment: str | None = FOR_WHOLE
    """Why nothing can be said about it, if so."""
    has_measure: bool = True
    """Whether its lines may be made wider."""
    open_spot: Callable[[ClickableSpan, bool], None] | None = None
    """What is done instead with what is opened in it, and whether that was wanted in the browser."""


def _why_nothing(page: PageView) -> str:
    return page.state.why_empty("No page is open.")


def _in_page(group: Commands[Any]) -> Commands[Any]:
    """What can be done with a page that is on show."""
    find: Callable[[Any], Any] = group.find
    return group.for_target(lambda page: find(page) if len(page.galley) else None, no_target=_why_nothing)


def _in_whole(group: Commands[Any]) -> Commands[Any]:
    """What can be done with a whole page, not with an excerpt."""
    find: Callable[[Any], Any] = group.find
    return group.for_target(
        lambda page: find(page) if len(page.galley) and page.excerpt is None else None,
        no_target=lambda page: FOR_WHOLE if page.excerpt is not None else _why_nothing(page),
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
    """The block under the cursor of a page: of a table it is a row, which is opened over the page."""

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
        elif (table := page.tables.table_of(stop)) is not None:
            page.post_message(PageView.RowWanted(page, table, stop[3]))
        else:
            super().open()

    def copy(self) -> None:
        from octavo.tui.render.openapi import curl_command  # what descriptions of interfaces need takes 10 ms to load

        stop = self.pane.cursor.stop()
        if stop is not None and (curl := curl_command(self._page.contents.sources, stop[3])):
            self.copy_as(curl, "command")
        else:
            super().copy()

    @property
    def why_no_comment(self) -> str | None:
        return self._page.excerpt.why_no_comment if self._page.excerpt is not None else super().why_no_comment


class PageView(Reader):
    """A page to read: `show` a document, or `show_markdown` what is still to be parsed."""

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
        _in_whole(READ_ON.with_changed("read_on", why_not=_why_not_on)),
        _in_whole(HEADINGS),
        _in_page(FIND.without("filter")),
        _in_whole(SOURCE),
        MEASURE,
        _in_page(AT_CURSOR.only("yank")),
        _in_page(LINK_ADDRESSES),
        _in_page(PANNING),
        _in_page(MOTIONS.with_changed("bottom", run=lambda _, page: page.stream.go_to_end())),
    )
    contents: PageContents

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        first = self.FIRST_KEYS if self.excerpt is None else self.excerpt.first_keys
        if self.contents.shows_source:
            first = ("page.source", *first)  # the way back to the rendered page
        return (*self.HIT_KEYS, *first) if self.finder.needle else first

    @property
    def more_help(self) -> str:
        """Who turns words round, of a page in a script that is written from right to left."""
        if self.document is None or not FROM_RIGHT.search(self.document.source):
            return ""
        turns = "Octavo reorders" if self.app.settings.reorders_right_to_left else "The terminal reorders"  # type: ignore[attr-defined]  # every app it is in has settings
        return f"{turns} right-to-left text. To change this, set right_to_left in the settings."

    class RowWanted(Message):
        """A row of a table is to be read field by field."""

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
        self.threads = PageThreads(self, self.cursor, lambda key, bring: self.place.go_to_block(key, bring))
        self.tables = TableReading(self)
        late = LateSources(self, self.painter, self.cursor)
        self.contents = PageContents(self, self.threads, self.tables, late)
        self.place = ReadingPlace(self, self.contents, self.cursor, self.finder)
        self.links = PageLinks(self, self.contents, self.spots, self.place)
        self.stream = PageStream(self, self.contents, self.place, self.threads)

    # What callers ask and do

    @property
    def document(self) -> Document | None:
        """The page on show, as far as it is read."""
        return self.contents.document

    @property
    def key(self) -> str:
        """What the page on show is called."""
        return self.contents.key

    @property
    def facts(self) -> str:
        """How far one has read, and what was found, for the status line."""
        hidden = self.galley.total - self.rows
        parts = [f"{min(100, round(100 * self.first_line / hidden))}% read"] if hidden > 0 else []
        if self.contents.shows_source:
            parts.insert(0, "source")
        if self.finder.needle:
            parts.append(f"“{self.finder.needle}” {self.finder.finding}")
        return " · ".join(parts)

    def show(self, document: Document, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Show a page. While `key` is the same, the place and what is opened are kept."""
        self.stream.show(document, (safe_line(title), safe_text(description or "")), key)

    def show_markdown(self, markdown: str, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Show a page that is not parsed yet: the beginning of a long one at once, all of it soon. `PageLoaded` follows."""
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
        """Mark the blocks, by their keys, with the number of open threads and of drafts on them: all there are, when
        those of the page are `known`."""
        self.threads.set(self.document, threads, drafts, known=known)

    def clear(self) -> None:
        """Show nothing."""
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

    # What is done with it

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
