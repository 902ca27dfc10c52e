"""Dialogs over a page: a footnote or other text, and a table row field by field."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import App, ComposeResult

from octavo.documents.blocks import Block, Document, plain_text
from octavo.tui.reader.page_view import Excerpt, PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.text_selection import TextCopied
from octavo.tui.reader.viewport import explain
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.render.tables import document_of_row
from octavo.tui.widgets.commands import Command, Commands, HostApp
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles

NOTE: Commands[TextDialog] = Commands(
    "note",
    (
        Command("close", "escape,q", "Close", "Close the dialog", run=lambda _, dialog: dialog.dismiss(None)),
        Command("help", "question_mark", "Help", "Show the keyboard shortcuts for this dialog", run=lambda app, _: app.show_help(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class TextDialog(Dialog[LinkFollowed | None]):
    """Dialog with text. Returns the link that was opened in it, or None."""

    CSS_PATH = dialog_styles(__file__, "page_dialogs.tcss")
    CONTEXT: ClassVar[str] = "note dialog"
    HELP: ClassVar[str] = (
        "This dialog shows a footnote, reusable content, output, or a help topic. Press j or k to scroll, / to find text, "
        "f to open a link, or y to copy the selected block. Press esc to close the dialog."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (NOTE,)

    def __init__(self, note: Block, deferred: DeferredContent, name: str = "") -> None:
        super().__init__()
        self._note, self._deferred = note, deferred
        self._title = name or f"Footnote {note.attrs.get('label') or ''}".strip()

    def body(self) -> ComposeResult:
        view = PageView(excerpt=Excerpt(("page.open", "page.link_hints", "page.yank")), id="note")
        view.contents.deferred = self._deferred
        with DialogFrame() as frame:
            frame.set_border_texts(self._title)
            yield view

    def on_mount(self) -> None:
        self._view.focus()
        self._view.show(Document("", self._note.children, ""), key=self._note.key)
        self.call_after_refresh(self._fit)

    @property
    def _view(self) -> PageView:
        return self.query_one(PageView)

    def _fit(self) -> None:
        """Adapt the height of the dialog to its text."""
        view = self._view
        view.viewport.virtual_lines.lay_out_some(2 * view.viewport.rows)
        view.styles.height = max(1, view.viewport.virtual_lines.total)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    @on(LinkFollowed)
    def _close_with_link(self, message: LinkFollowed) -> None:
        message.stop()
        self.dismiss(message)

    @on(PageView.TableRowRequested)
    def _open_row(self, message: PageView.TableRowRequested) -> None:
        open_row(self.app, message)


_TITLE = 60


class TableRowResult(NamedTuple):
    """Result of the dialog for a table row: the row that was shown last, and the link or comment that the user
    requested."""

    row: Block
    opened: ClickableSpan | None = None
    outside: bool = False
    comment: bool = False


def open_row(app: App[Any], wanted: PageView.TableRowRequested) -> None:
    """Show a table row in a dialog over its page."""
    page = wanted.view

    def restore_page(result: TableRowResult | None) -> None:
        """Select the row that the dialog showed last, then open the link or comment that was requested."""
        if result is None:
            return
        page.navigation.go_to_block(result.row.key, "near")
        if result.opened is not None:
            page.open_clickable(result.opened, outside=result.outside)
        elif result.comment:
            page.post_message(Reader.CommentRequested(result.row))

    app.push_screen(TableRowDialog(wanted.table, wanted.row, page), restore_page)


def _why_one_row(_: object, dialog: TableRowDialog) -> str | None:
    return "This is the only row in the table." if len(dialog.table.children) < 2 else None


ROW: Commands[TableRowDialog] = Commands(
    "row",
    (
        Command("next", "J", "Next row", "Go to the next table row", run=lambda _, dialog: dialog.step(1), why_not=_why_one_row),
        Command("previous", "K", "Previous row", "Go to the previous table row", run=lambda _, dialog: dialog.step(-1), why_not=_why_one_row, shown=False),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, dialog: dialog.close()),
        Command("help", "question_mark", "Help", "Show the help for this row", run=lambda app, _: app.show_help(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class TableRowDialog(Dialog[TableRowResult]):
    """Dialog for a table row, with one or more lines per field. `J` and `K` go to the next and the previous row."""

    CSS_PATH = dialog_styles(__file__, "page_dialogs.tcss")
    CONTEXT: ClassVar[str] = "table row"
    HELP: ClassVar[str] = (
        "This dialog shows one table row, field by field. Press ( or ) to select a field, enter or f to open a link, "
        "y to copy the field, or J or K to go to the next or previous row. Press esc to go back to the page."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ROW,)

    def __init__(self, table: Block, row: Block, page: PageView) -> None:
        super().__init__()
        self.table, self._row = table, row
        first = ("page.open", "page.link_hints", "page.yank", "page.comment")
        excerpt = Excerpt(
            first, page.block_commands.why_no_comment, can_change_width=False, open_clickable=self._close_with_clickable
        )
        self._view = PageView(
            ascii=page.viewport.text_styles.ascii, mono=page.viewport.text_styles.mono, excerpt=excerpt
        )
        self._view.contents.deferred = page.contents.deferred

    def body(self) -> ComposeResult:
        with DialogFrame():
            yield self._view

    def on_mount(self) -> None:
        self._view.focus()
        self._draw()

    def _draw(self) -> None:
        rows = self.table.children
        number = next((index for index, row in enumerate(rows, 1) if row is self._row), 1)
        document = document_of_row(self.table, self._row)
        first = next((text for cell in self._row.children if (text := " ".join(plain_text(cell.runs).split()))), "Row")
        self.query_one(DialogFrame).set_border_texts(
            first if len(first) <= _TITLE else f"{first[:_TITLE]}…", f"row {number} of {len(rows)}"
        )
        self._view.show(document, key=self._row.key or str(number))
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Adapt the height of the dialog to its fields."""
        view = self._view
        view.viewport.virtual_lines.lay_out_some(2 * view.viewport.rows)
        view.styles.height = max(3, view.viewport.virtual_lines.total)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _close_with_clickable(self, clickable: ClickableSpan, outside: bool) -> None:
        self.dismiss(TableRowResult(self._row, clickable, outside))

    @on(Reader.ThreadRequested)
    def _explain_missing_link(self) -> None:
        explain(self._view, "This field has no link to open.")

    @on(TextCopied)
    def _notify_copied(self) -> None:
        if isinstance(self.app, HostApp):
            self.app.notices.say("Copied the field.")

    @on(Reader.CommentRequested)
    def _close_with_comment(self, message: Reader.CommentRequested) -> None:
        message.stop()
        self.dismiss(TableRowResult(self._row, comment=True))

    def step(self, step: int) -> None:
        """Show the next or the previous row of the table."""
        rows = self.table.children
        at = next((index for index, row in enumerate(rows) if row is self._row), 0)
        self._row = rows[(at + step) % len(rows)]
        self._draw()

    def close(self) -> None:
        """Close the dialog and select its row on the page."""
        self.dismiss(TableRowResult(self._row))
