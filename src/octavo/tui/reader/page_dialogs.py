"""Dialogs over a page that show text such as a footnote, a table row, or an image."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.errors import ApiError
from octavo.documents.blocks import Block, Document, plain_text
from octavo.tui.core.external_links import confirm_link
from octavo.tui.core.file_dialogs import Export, ask_for_path
from octavo.tui.core.item_labels import format_name, format_size
from octavo.tui.core.shell import Shell, shell_of
from octavo.tui.reader.linked_files import (
    ImageLocation,
    ImageUnavailable,
    cached_image,
    download_image,
    locate_image,
    scale_image,
)
from octavo.tui.reader.page_view import ExcerptSettings, PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.viewport import app_of, explain
from octavo.tui.render.deferred import DeferredContent, LinkTargets
from octavo.tui.render.embeds import ImageReference, page_images, render_half_blocks
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.render.layout_context import file_label
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.render.tables import document_of_row
from octavo.tui.terminal import display
from octavo.tui.terminal.display import ScaledPicture
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.short_texts import safe, safe_lines
from octavo.tui.widgets.text_widgets import ChangingText

NOTE_COMMANDS: Commands[TextDialog] = Commands(
    "note",
    (
        Command("close", "escape,q", "Close", "Close the dialog", run=lambda _, dialog: dialog.dismiss(None)),
        Command("help", "question_mark", "Help", "Show the keyboard shortcuts for this dialog", run=lambda app, _: app.show_help(), shown=False),
    ),
)  # fmt: skip


class TextDialog(Dialog[LinkFollowed | None]):
    """Dialog with a short text, such as a footnote. The result is the link that the user opened, or None."""

    CSS_PATH = dialog_styles(__file__, "page_dialogs.tcss")
    HELP_NAME: ClassVar[str] = "note dialog"
    HELP: ClassVar[str] = (
        "This dialog shows a footnote, reusable content, output, or a help topic. Press j or k to scroll, / to find text, "
        "f to open a link, or y to copy the selected block. Press esc to close the dialog."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (NOTE_COMMANDS,)

    def __init__(self, note: Block, deferred: DeferredContent, name: str = "") -> None:
        super().__init__()
        self._note, self._deferred = note, deferred
        self._title = name or f"Footnote {note.attrs.get('label') or ''}".strip()

    def body(self) -> ComposeResult:
        self._view = PageView(excerpt=ExcerptSettings(("page.open", "page.link_hints", "page.yank")), id="note")
        self._view.contents.deferred = self._deferred
        with DialogFrame() as frame:
            frame.set_border_texts(self._title)
            yield self._view

    def on_mount(self) -> None:
        self.focus_at_once(self._view)
        self._view.show(Document("", self._note.children, ""), key=self._note.key)

    @on(LinkFollowed)
    def _close_with_link(self, message: LinkFollowed) -> None:
        message.stop()
        self.dismiss(message)


_MAX_TITLE_LENGTH = 60


class TableRowResult(NamedTuple):
    """Result of the dialog for a table row: the row that was shown last, and a link to open or a comment to write."""

    row: Block
    opened_clickable: ClickableSpan | None = None
    text: str = ""
    """Text of the link that the user opened."""
    in_browser: bool = False
    wants_comment: bool = False


def open_table_row(page: PageView, table: Block, row: Block) -> None:
    """Show a table row in a dialog. When it closes, select the row shown last, and open the link or comment editor."""

    def on_closed(result: TableRowResult) -> None:
        page.navigation.go_to_block(result.row.key, "near")
        if result.opened_clickable is not None:
            page.links.open(result.opened_clickable, in_browser=result.in_browser, text=result.text)
        elif result.wants_comment:
            page.post_message(Reader.CommentRequested(result.row))

    app_of(page).ask(TableRowDialog(table, row, page), on_closed)


def _why_no_other_row(_: object, dialog: TableRowDialog) -> str | None:
    return "This is the only row in the table." if len(dialog.table.children) < 2 else None


ROW_COMMANDS: Commands[TableRowDialog] = Commands(
    "row",
    (
        Command("next", "J", "Next row", "Go to the next table row", run=lambda _, dialog: dialog.step(1), why_not=_why_no_other_row),
        Command("previous", "K", "Previous row", "Go to the previous table row", run=lambda _, dialog: dialog.step(-1), why_not=_why_no_other_row, shown=False),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, dialog: dialog.close()),
        Command("help", "question_mark", "Help", "Show the help for this row", run=lambda app, _: app.show_help(), shown=False),
    ),
)  # fmt: skip


class TableRowDialog(Dialog[TableRowResult | None]):
    """Dialog that shows one table row at a time, with its fields below each other."""

    CSS_PATH = dialog_styles(__file__, "page_dialogs.tcss")
    HELP_NAME: ClassVar[str] = "table row"
    HELP: ClassVar[str] = (
        "This dialog shows one table row, field by field. Press ( or ) to select a field, enter or f to open a link, "
        "y to copy the field, or J or K to go to the next or previous row. Press esc to go back to the page."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ROW_COMMANDS,)

    def __init__(self, table: Block, row: Block, page: PageView) -> None:
        super().__init__()
        self.table, self._row = table, row
        ids = ("page.open", "page.link_hints", "page.yank", "page.comment")
        excerpt = ExcerptSettings(
            ids, page.block_commands.why_no_comment, can_change_width=False, open_clickable=self._close_with_clickable
        )
        self._view = PageView(ascii=page.viewport.text_styles.ascii, excerpt=excerpt)
        self._view.contents.deferred = page.contents.deferred
        self._view.block_commands.kind_name = "field"

    def body(self) -> ComposeResult:
        with DialogFrame():
            yield self._view

    def on_mount(self) -> None:
        self.focus_at_once(self._view)
        self._draw()

    def _draw(self) -> None:
        rows = self.table.children
        number = next((index for index, row in enumerate(rows, 1) if row is self._row), 1)
        document = document_of_row(self.table, self._row)
        title = next((text for cell in self._row.children if (text := " ".join(plain_text(cell.runs).split()))), "Row")
        self.query_one(DialogFrame).set_border_texts(
            title if len(title) <= _MAX_TITLE_LENGTH else f"{title[:_MAX_TITLE_LENGTH]}…",
            f"row {number} of {len(rows)}",
        )
        self._view.show(document, key=self._row.key or str(number))

    def _close_with_clickable(self, clickable: ClickableSpan, in_browser: bool) -> None:
        text = self._view.clickables.link_text(clickable)
        self.dismiss(TableRowResult(self._row, clickable, text, in_browser))

    @on(Reader.ThreadRequested)
    def _explain_missing_link(self) -> None:
        explain(self._view, "This field has no link to open.")

    @on(Reader.CommentRequested)
    def _close_with_comment(self, message: Reader.CommentRequested) -> None:
        message.stop()
        self.dismiss(TableRowResult(self._row, wants_comment=True))

    def step(self, step: int) -> None:
        """Show the next row (`step` 1) or the previous row (-1). The first row follows the last row."""
        rows = self.table.children
        row_index = next((index for index, row in enumerate(rows) if row is self._row), 0)
        self._row = rows[(row_index + step) % len(rows)]
        self._draw()

    def close(self) -> None:
        """Close the dialog, and select the shown row on the page."""
        self.dismiss(TableRowResult(self._row))


RESIZE_DELAY = 0.15
"""Seconds after a resize of the terminal before the image is drawn again."""


_LOADING = Content.styled("Loading the image…", "$octavo-muted")
"""Message while the image is loading."""


class ImageCanvas(Widget):
    """Widget that shows an image or a message in its center."""

    def __init__(self) -> None:
        super().__init__(id="canvas")
        self._rows: list[Strip] = []
        self._message: Content = _LOADING

    def show_message(self, message: Content) -> None:
        self._rows, self._message = [], message
        self.refresh()

    async def show(self, picture: ScaledPicture) -> None:
        self._rows, self._message = await asyncio.to_thread(_strips, picture), Content("")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        lines = self._rows or [
            Strip(line.render_segments(self.visual_style)) for line in self._message.wrap(min(width, 70))
        ]
        row = y - max(0, height - len(lines)) // 2
        if not 0 <= row < len(lines):
            return Strip.blank(width, self.rich_style)
        strip = lines[row]
        blank_width = max(0, width - strip.cell_length) // 2
        blanks = [Segment(" " * blank_width, self.rich_style)] if blank_width else []
        return Strip([*blanks, *strip]).adjust_cell_length(width, self.rich_style)


def _strips(picture: ScaledPicture) -> list[Strip]:
    return [Strip([Segment(piece.text, piece.style) for piece in row]) for row in render_half_blocks(picture)]


def _why_no_other_image(_: object, screen: ImageScreen) -> str | None:
    return "This is the only image on the page." if len(screen.pictures) < 2 else None


def _why_no_load(_: object, screen: ImageScreen) -> str | None:
    if screen.needs_permission:
        return None
    return "This image loads automatically. Press enter only to load images from external sites."


def _why_not_loaded(_: object, screen: ImageScreen) -> str | None:
    return StillLoading("The image is not loaded yet.") if screen.location is None else None


def _why_no_browser(_: object, screen: ImageScreen) -> str | None:
    if screen.location is not None and not screen.location.host and screen.shell.session.is_embedded:
        return "A browser cannot open this image: it is stored in Octavo. Press w to save the image."
    return _why_not_loaded(_, screen)


IMAGE_COMMANDS: Commands[ImageScreen] = Commands(
    "picture",
    (
        Command("load", "enter", "Load", "Load the external image", run=lambda _, screen: screen.load(), why_not=_why_no_load, shown=False),
        Command("next", "l,n,right,space", "Next", "Go to the next image", run=lambda _, screen: screen.step(1), why_not=_why_no_other_image),
        Command("previous", "h,p,left,b", "Previous", "Go to the previous image", run=lambda _, screen: screen.step(-1), why_not=_why_no_other_image),
        Command("browser", "o", "Open in browser", "Open the image in the browser", run=lambda _, screen: screen.open_in_browser(), why_not=_why_no_browser),
        Command("save", "w", "Download", "Save the image to disk", run=lambda _, screen: screen.save(), why_not=_why_not_loaded),
        Command("again", "r", "Retry", "Reload the image", run=lambda _, screen: screen.reload(), shown=False),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, screen: screen.dismiss(None)),
    ),
)  # fmt: skip


class ImageScreen(Dialog[None]):
    """Dialog that shows an image as large as possible. Keys go to the other images of the page."""

    shell = cached_property(shell_of)

    CSS_PATH = dialog_styles(__file__, "image_screen.tcss")
    HELP_NAME: ClassVar[str] = "image"
    HELP: ClassVar[str] = (
        "This view shows an image as large as the terminal allows. Press l or h to go to the next or previous image, "
        "o to open the image in the browser, or w to save the image. Press esc to go back to the page."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (IMAGE_COMMANDS,)

    def __init__(self, pictures: Sequence[ImageReference], targets: LinkTargets, index: int = 0) -> None:
        super().__init__()
        self.pictures, self.targets, self.index = pictures, targets, index
        self.location: ImageLocation | None = None
        """Location from which the image can be loaded. None until it is known."""
        self._data: bytes | None = None
        self.needs_permission = False
        """True while Octavo waits for permission to load the image from another website."""

    @property
    def picture(self) -> ImageReference:
        return self.pictures[self.index]

    @property
    def src(self) -> str:
        """URL of the image for the current theme, which is dark or light."""
        return self.picture.source_for(dark=self.app.current_theme.dark)

    def body(self) -> ComposeResult:
        with DialogFrame():
            with Vertical(id="room"):
                self.canvas = ImageCanvas()
                yield self.canvas
            with Vertical(id="about"):
                yield ChangingText("", id="facts")
                yield ChangingText("", id="alt")
                yield ChangingText("", id="caption")

    def on_mount(self) -> None:
        self.call_after_refresh(self._show)

    def on_resize(self, event: Resize) -> None:
        if self._data is not None:
            self.set_timer(RESIZE_DELAY, self._draw_again)

    def _show(self, *, is_allowed: bool = False) -> None:
        self.location, self._data, self.needs_permission = None, None, False
        self.query("#painted").remove()
        self.canvas.display = True
        picture, name = self.picture, file_label(self.src)
        numbering = f"{self.index + 1} of {len(self.pictures)}" if len(self.pictures) > 1 else ""
        self.query_one(DialogFrame).set_border_texts(name or "Image", numbering)
        alt = safe_lines(picture.alt) if picture.alt else Content.styled("no alternative text", "$warning")
        self.query_one("#alt", Static).update(alt)
        caption = self.query_one("#caption", Static)
        caption.update(safe_lines(picture.caption))
        caption.display = bool(picture.caption)
        self._show_facts(ScaledPicture())
        self.canvas.show_message(_LOADING)
        self.refresh_bindings()
        self.run_worker(self._load(is_allowed=is_allowed), group="picture", exclusive=True)

    async def _load(self, *, is_allowed: bool) -> None:
        session = self.shell.session
        try:
            location = self.location = await locate_image(
                session, self.targets.context.content_ref, self.targets.resolve(self.src)
            )
            self._show_facts(ScaledPicture())
            data = await cached_image(session, location)
            if data is None and location.host and not is_allowed:
                self._ask_permission(location)
                return
            self.canvas.show_message(safe(f"Loading {location.name}…").stylize("$octavo-muted"))
            if data is None:
                data = await download_image(session, location)
        except (ImageUnavailable, ApiError) as error:
            self._show_error(str(error))
            return
        finally:
            self.refresh_bindings()
        self._data = data
        await self._draw()

    def _ask_permission(self, location: ImageLocation) -> None:
        self.needs_permission = True
        self.canvas.show_message(
            Content.assemble(
                "This image is on ", (location.host, "bold"), ", an external site.\n",
                "If you load the image, the owner of the site can see that you loaded it.\n\n",
                ("enter", "$primary"), " load the image",
            )
        )  # fmt: skip

    async def _draw(self) -> None:
        assert self._data is not None, "the image must be loaded before it is drawn"
        container, paints_graphics = self.query_one("#room", Vertical), display.can_paint_pictures()
        width, height = container.size
        pixel_scale = display.CELL_SIZE[0] if paints_graphics else 1
        scaled = await scale_image(
            self._data, width, height, self.canvas.styles.background.rgb, pixel_scale=pixel_scale
        )
        self._show_facts(scaled)
        # The old image stays visible while the new one is decoded.
        await self.query("#painted").remove()
        if scaled.problem:
            self._show_error(scaled.problem)
        elif paints_graphics:
            self.canvas.display = False
            await container.mount(display.picture_widget(scaled))
        elif (why := self._why_not_drawable()) is not None:
            self.canvas.show_message(Content(why))
        else:
            await self.canvas.show(scaled)

    def _draw_again(self) -> None:
        if self._data is not None:
            self.run_worker(self._draw(), group="picture", exclusive=True)

    def _why_not_drawable(self) -> str | None:
        hint = "Press o to open the image in the browser, or w to save it."
        if self.shell.settings.ascii:
            return f"Images are not shown in ASCII mode. {hint}"
        app = self.app
        if app.no_color or app.theme.startswith("mono") or app.console.color_system not in ("truecolor", "256"):
            return f"Images need more colors than this terminal or theme has. {hint}"
        return None

    def _show_error(self, sentence: str) -> None:
        self.canvas.display = True
        self.canvas.show_message(safe(sentence))

    def _show_facts(self, scaled: ScaledPicture) -> None:
        file = self.location.file if self.location is not None else None
        width, height = scaled.width, scaled.height
        if not width and file is not None and file.dimensions is not None:
            width, height = round(file.dimensions.width), round(file.dimensions.height)
        size = len(self._data) if self._data is not None else file.size if file is not None else 0
        parts = [
            scaled.format or (format_name(file) if file is not None else ""),
            f"{width} × {height} pixels" if width else "",
            format_size(size) if size else "",
            f"first of {scaled.frames} frames" if scaled.frames > 1 else "",
            self.location.host if self.location is not None else "",
        ]
        self.query_one("#facts", Static).update(safe(" · ".join(filter(None, parts))))

    def load(self) -> None:
        """Load an image from another website, after the user has allowed this."""
        self._show(is_allowed=True)

    def step(self, step: int) -> None:
        """Show the next image (1) or the previous one (-1). After the last image comes the first."""
        self.index = (self.index + step) % len(self.pictures)
        self._show()

    def reload(self) -> None:
        self._show(is_allowed=self._data is not None)

    def open_in_browser(self) -> None:
        if self.location is not None:
            confirm_link(self.shell, self.location.url)

    def save(self) -> None:
        if self.location is None:
            return
        location, data, session = self.location, self._data, self.shell.session

        async def content() -> AsyncIterator[bytes]:
            yield data if data is not None else await download_image(session, location)

        ask_for_path(self.shell, Export(location.name, location.name, content))


def show_image(app: Shell, view: PageView, src: str) -> None:
    """Show the image with the URL `src` in a dialog, from which the user can go to the other images of the page."""
    targets, document = view.contents.deferred.targets, view.document
    if targets is None or document is None:
        return
    pictures = page_images(document.blocks)
    index = next((index for index, each in enumerate(pictures) if src in (each.src, each.dark)), None)
    if index is None:
        pictures, index = (ImageReference(src),), 0
    app.push_screen(ImageScreen(pictures, targets, index))
