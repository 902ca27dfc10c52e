"""Dialog with text: a footnote, reusable content, a specification or a help topic."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.page_view import Excerpt, PageView
from octavo.tui.reader.record import open_row
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame

NOTE: Commands[NoteSheet] = Commands(
    "note",
    (
        Command("close", "escape,q", "Close", "Close the dialog", run=lambda _, sheet: sheet.dismiss(None)),
        Command("help", "question_mark", "Help", "Show the keyboard shortcuts for this dialog", run=lambda app, _: app.show_help(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class NoteSheet(Dialog[LinkFollowed | None]):
    """Dialog with text. Returns the link that was opened in it, or None."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("note.tcss"),
    ]
    CONTEXT: ClassVar[str] = "note dialog"
    HELP: ClassVar[str] = (
        "This dialog shows a footnote, reusable content, or a help topic. Press j or k to scroll, / to find text, "
        "f to open a link, or y to copy the selected block. Press esc to close the dialog."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (NOTE,)

    def __init__(self, note: Block, sources: DeferredContent, name: str = "") -> None:
        super().__init__()
        self._note, self._sources = note, sources
        self._title = name or f"Footnote {note.attrs.get('label') or ''}".strip()

    def body(self) -> ComposeResult:
        view = PageView(excerpt=Excerpt(("page.open", "page.link_hints", "page.yank")), id="note")
        view.contents.sources = self._sources
        with Frame() as frame:
            frame.name_it(self._title)
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
        view.galley.lay_out_some(2 * view.rows)
        view.styles.height = max(1, view.galley.total)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    @on(LinkFollowed)
    def _followed(self, message: LinkFollowed) -> None:
        message.stop()
        self.dismiss(message)

    @on(PageView.RowWanted)
    def _row_wanted(self, message: PageView.RowWanted) -> None:
        open_row(self.app, message)
