"""A test app with one pane, and functions that read the pane."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_dialogs import open_table_row
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.notices import Tone
from octavo.tui.widgets.themes import themes

P = TypeVar("P", bound=Reader)


class PaneApp(HostApp[None], Generic[P]):
    """An app with one pane. It records the messages and notifications of the pane, and the
    explanations."""

    def __init__(self, pane: P, *beside: Widget) -> None:
        super().__init__()
        self.pane = pane
        self.beside = beside
        self.said: list[Message] = []
        self.explained: list[str] = []
        self.notified: list[str] = []
        for theme in themes():
            self.register_theme(theme)
        self.theme = themes()[0].name

    def compose(self) -> ComposeResult:
        yield self.pane
        yield from self.beside

    def on_mount(self) -> None:
        self.pane.focus()

    def explain(self, sentence: str) -> None:
        self.explained.append(sentence)

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        self.notified.append(message)

    def keep(self, message: Message) -> None:
        self.said.append(message)

    def on_page_view_table_row_requested(self, message: PageView.TableRowRequested) -> None:
        open_table_row(message.view, message.table, message.row)

    on_copy_url_requested = keep
    on_link_followed = keep
    on_page_loaded = keep
    on_reader_comment_requested = keep
    on_reader_thread_requested = keep
    on_reader_next_page_requested = keep


def screen(pane: Reader) -> str:
    """Return the visible text of the pane."""
    return "\n".join(strip.text.rstrip() for strip in (pane.render_line(y) for y in range(pane.size.height)))


async def wait_for_layout(pane: Reader, pilot: Pilot[Any]) -> None:
    """Wait until all chunks of the pane are laid out."""
    while pane.viewport.virtual_lines.estimated_count:
        await pilot.pause()


async def wait_for_width(pane: Reader, pilot: Pilot[Any], width: int) -> None:
    """Wait until the pane has `width` cells, and its lines are laid out for them."""
    while pane.size.width != width or pane.viewport.layout_width != pane.viewport.pane_width:
        await pilot.pause()


async def wait_for_diff(pane: DiffView, pilot: Pilot[Any]) -> None:
    """Wait until all chunks of a diff are built."""
    await pilot.pause()
    while pane.contents.is_building:
        await pilot.pause()


def bar_column(pane: Reader) -> list[str]:
    """Return the lines beside the cursor bar."""
    rows = [row.strip() for row in screen(pane).split("\n")]
    return [row.removeprefix("▌").strip() for row in rows if row.startswith("▌")]


def requested_threads(app: PaneApp[P]) -> list[str]:
    """Return the text of the blocks whose threads were requested."""
    return [each.block.plain() for each in app.said if isinstance(each, Reader.ThreadRequested)]


def links(app: PaneApp[P]) -> list[tuple[str, bool]]:
    """Return the followed links, each with True if the link was opened in the browser."""
    return [(each.href, each.in_browser) for each in app.said if isinstance(each, LinkFollowed)]
