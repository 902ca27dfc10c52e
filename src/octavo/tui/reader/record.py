"""One row of a table over the page it stands on."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from octavo.documents.blocks import Block, words
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.table_reading import Leaving, Tabling
from octavo.tui.render.styled_lines import HotSpot
from octavo.tui.render.table_records import record_of
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame, HasNotices
from octavo.tui.widgets.key_bar import KeyBar

_TITLE = 60


def open_row(app: App[Any], wanted: Tabling.RowWanted) -> None:
    """Show a row of a table over the page."""
    page = wanted.view
    view = RecordView(ascii=page.look.ascii, mono=page.look.mono)
    view.sources = page.sources
    view.why_no_comment = page.why_not("comment", ())
    app.push_screen(RecordSheet(wanted.table, wanted.row, view), page.row_left)


class RecordView(PageView):
    """The fields of a row."""

    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("page.open", "page.link_hints", "page.yank", "page.comment")

    why_no_comment: str | None = None
    """Why nothing can be said about the row, if so."""

    class Opened(Message):
        """Something in a field was opened."""

        def __init__(self, hot: HotSpot, outside: bool) -> None:
            super().__init__()
            self.hot = hot
            self.outside = outside

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        self.post_message(self.Opened(hot, outside))

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("thread", "source", "measure", "heading", "read_on"):
            return "That is for the whole page: esc goes back to it."
        if action == "comment":
            return self.why_no_comment
        return super().why_not(action, parameters)


class RecordSheet(Dialog[Leaving]):
    """A row of a table, a line or more for each field. `J` and `K` go to the next row and the one before."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("record.tcss"),
    ]
    CONTEXT: ClassVar[str] = "row sheet"
    HELP: ClassVar[str] = (
        "A row of the table, field by field. ( and ) go from field to field, enter and f open links, y copies a field, "
        "J and K go to other rows, esc closes."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("J", "go(1)", "Next row", tooltip="The next row of the table", id="row.next"),
        Binding("K", "go(-1)", "Row before", show=False, tooltip="The row before", id="row.previous"),
        Binding("escape,q", "close", "Close", tooltip="Back to the page", id="row.close"),
        Binding(
            "question_mark", "app.command('app.help')", "Help", show=False, tooltip="Help for this row", id="row.help"
        ),
    ]

    def __init__(self, table: Block, row: Block, view: RecordView) -> None:
        super().__init__()
        self._table, self._row, self._view = table, row, view

    def compose(self) -> ComposeResult:
        with Frame():
            yield self._view
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._view.focus()
        self._draw()

    def _draw(self) -> None:
        rows = self._table.children
        number = next((index for index, row in enumerate(rows, 1) if row is self._row), 1)
        document = record_of(self._table, self._row)
        first = next((text for cell in self._row.children if (text := " ".join(words(cell.runs).split()))), "Row")
        self.query_one(Frame).name_it(
            first if len(first) <= _TITLE else f"{first[:_TITLE]}…", f"{number} of {len(rows)}"
        )
        self._view.show(document, key=self._row.key or str(number))
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Take as many rows as the fields need."""
        view = self._view
        view.settle_around(0)
        view.styles.height = max(3, view.galley.total)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    @on(RecordView.Opened)
    def _opened(self, message: RecordView.Opened) -> None:
        self.dismiss(Leaving(self._row, message.hot, message.outside))

    @on(Reader.ThreadWanted)
    def _nothing_to_open(self) -> None:
        self._view.explain("There is nothing to open in this field.")

    @on(Reader.Copied)
    def _copied(self) -> None:
        if isinstance(self.app, HasNotices):
            self.app.notices.say("Copied the field.")

    @on(Reader.BlockChosen)
    def _comment(self, message: Reader.BlockChosen) -> None:
        message.stop()
        self.dismiss(Leaving(self._row, comment=True))

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "go" and len(self._table.children) < 2:
            return "The table has only this row."
        return super().why_not(action, parameters)

    def action_go(self, step: int) -> None:
        rows = self._table.children
        at = next((index for index, row in enumerate(rows) if row is self._row), 0)
        self._row = rows[(at + step) % len(rows)]
        self._draw()

    def action_close(self) -> None:
        self.dismiss(Leaving(self._row))
