"""An image of a page, as large as the terminal allows, with its type, size and alternative text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.errors import ApiError
from octavo.tui.reader.picture_files import NotShown, Place, bring, kept, place_of, small
from octavo.tui.render.embeds import file_name
from octavo.tui.render.half_block_pictures import ImageReference, page_images, render_half_blocks
from octavo.tui.render.link_targets import LinkTargets
from octavo.tui.shell.external_links import confirm_link
from octavo.tui.shell.file_dialogs import Export, ask_for_path
from octavo.tui.shell.item_labels import format_name, format_size
from octavo.tui.terminal import graphics
from octavo.tui.terminal.graphics import ScaledPicture
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.safe_text import safe, safe_lines
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.shell.shell import Shell

SETTLED = 0.15
"""Seconds after which a terminal that was resized has its size."""


_LOOKING = Content.styled("Loading the image…", "$octavo-muted")
"""What is said from the first frame on, until it is known what is loaded."""


class Canvas(Widget):
    """A picture in the middle of its room, or a sentence in its place."""

    def __init__(self) -> None:
        super().__init__(id="canvas")
        self._rows: list[Strip] = []
        self._said: Content = _LOOKING

    def say(self, words: Content) -> None:
        """Show words instead of a picture."""
        self._rows, self._said = [], words
        self.refresh()

    async def show(self, picture: ScaledPicture) -> None:
        """Show a picture."""
        self._rows, self._said = await asyncio.to_thread(_strips, picture), Content("")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        lines = self._rows or [
            Strip(line.render_segments(self.visual_style)) for line in self._said.wrap(min(width, 70))
        ]
        row = y - max(0, height - len(lines)) // 2
        if not 0 <= row < len(lines):
            return Strip.blank(width, self.rich_style)
        strip = lines[row]
        left = max(0, width - strip.cell_length) // 2
        before = [Segment(" " * left, self.rich_style)] if left else []
        return Strip([*before, *strip]).adjust_cell_length(width, self.rich_style)


def _strips(picture: ScaledPicture) -> list[Strip]:
    return [Strip([Segment(piece.text, piece.style) for piece in row]) for row in render_half_blocks(picture)]


def _why_only_one(_: object, screen: PictureScreen) -> str | None:
    return "This is the only image on the page." if len(screen.pictures) < 2 else None


def _why_no_load(_: object, screen: PictureScreen) -> str | None:
    return (
        None
        if screen.waits_to_load
        else "This image loads automatically. Press enter only to load images from external sites."
    )


def _why_no_place(_: object, screen: PictureScreen) -> str | None:
    return "The image is not loaded yet." if screen.place is None else None


def _why_no_browser(_: object, screen: PictureScreen) -> str | None:
    if screen.place is not None and not screen.place.host and screen.shell.session.is_embedded:
        return "A browser cannot open this image: it is stored in Octavo. Press w to save the image."
    return _why_no_place(_, screen)


PICTURE: Commands[PictureScreen] = Commands(
    "picture",
    (
        Command("load", "enter", "Load", "Load the external image", run=lambda _, screen: screen.load(), why_not=_why_no_load, shown=False),
        Command("next", "l,n,right,space", "Next", "Go to the next image", run=lambda _, screen: screen.step(1), why_not=_why_only_one),
        Command("previous", "h,p,left,b", "Previous", "Go to the previous image", run=lambda _, screen: screen.step(-1), why_not=_why_only_one),
        Command("browser", "o", "Open in browser", "Open the image in the browser", run=lambda _, screen: screen.browse(), why_not=_why_no_browser),
        Command("save", "w", "Download", "Save the image to disk", run=lambda _, screen: screen.save(), why_not=_why_no_place),
        Command("again", "r", "Retry", "Reload the image", run=lambda _, screen: screen.ask_again(), shown=False),
        Command("close", "escape,q", "Close", "Go back to the page", run=lambda _, screen: screen.dismiss(None)),
    ),
    find=lambda view: view,
)  # fmt: skip


class PictureScreen(Dialog[None]):
    """One of the pictures of a page, and the way to the others."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("picture.tcss"),
    ]
    CONTEXT: ClassVar[str] = "image"
    HELP: ClassVar[str] = (
        "This view shows an image as large as the terminal allows. Press l or h to go to the next or previous image, "
        "o to open the image in the browser, or w to save the image. Press esc to go back to the page."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PICTURE,)

    def __init__(self, pictures: Sequence[ImageReference], targets: LinkTargets, index: int = 0) -> None:
        super().__init__()
        self.pictures, self.targets, self.index = pictures, targets, index
        self.place: Place | None = None
        """Where the picture on show is, once that is known."""
        self._data: bytes | None = None
        self._asks = False
        """Whether it waits to be told that another site may be asked."""

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    @property
    def picture(self) -> ImageReference:
        """The picture on show."""
        return self.pictures[self.index]

    @property
    def src(self) -> str:
        """Its address on the ground there is."""
        return self.picture.source_for(dark=self.app.current_theme.dark)

    def body(self) -> ComposeResult:
        with DialogFrame():
            with Vertical(id="room"):
                yield Canvas()
            with Vertical(id="about"):
                yield ChangingText("", id="facts")
                yield ChangingText("", id="alt")
                yield ChangingText("", id="caption")

    def on_mount(self) -> None:
        self.call_after_refresh(self._show)

    def on_resize(self, event: Resize) -> None:
        if self._data is not None:
            self.set_timer(SETTLED, self._draw_again)

    @property
    def canvas(self) -> Canvas:
        return self.query_one(Canvas)

    # Showing

    def _show(self, *, allowed: bool = False) -> None:
        self.place, self._data, self._asks = None, None, False
        self.query("#painted").remove()
        self.canvas.display = True
        picture, name = self.picture, file_name(self.src)
        several = f"{self.index + 1} of {len(self.pictures)}" if len(self.pictures) > 1 else ""
        self.query_one(DialogFrame).set_border_texts(name or "Image", several)
        alt = safe_lines(picture.alt) if picture.alt else Content.styled("no alternative text", "$warning")
        self.query_one("#alt", Static).update(alt)
        caption = self.query_one("#caption", Static)
        caption.update(safe_lines(picture.caption))
        caption.display = bool(picture.caption)
        self._say_facts(ScaledPicture())
        self.canvas.say(_LOOKING)
        self.refresh_bindings()
        self.run_worker(self._load(allowed=allowed), group="picture", exclusive=True)

    async def _load(self, *, allowed: bool) -> None:
        session = self.shell.session
        try:
            place = self.place = await place_of(session, self.targets.context.page_ref, self.targets.resolve(self.src))
            self._say_facts(ScaledPicture())
            data = await kept(session, place)
            if data is None and place.host and not allowed:
                self._ask(place)
                return
            self.canvas.say(safe(f"Loading {place.name}…").stylize("$octavo-muted"))
            if data is None:
                data = await bring(session, place)
        except (NotShown, ApiError) as error:
            self._refuse(str(error))
            return
        finally:
            self.refresh_bindings()
        self._data = data
        await self._draw()

    def _ask(self, place: Place) -> None:
        self._asks = True
        self.canvas.say(
            Content.assemble(
                "This image is on ", (place.host, "bold"), ", an external site.\n",
                "If you load the image, the owner of the site can see that you loaded it.\n\n",
                ("enter", "$primary"), " load the image",
            )
        )  # fmt: skip

    async def _draw(self) -> None:
        assert self._data is not None, "the image must be loaded before it is drawn"
        room, paints = self.query_one("#room", Vertical), graphics.can_paint()
        width, height = room.size
        finer = graphics.CELL[0] if paints else 1
        made = await small(self._data, width, height, self.canvas.styles.background.rgb, finer=finer)
        self._say_facts(made)
        await self.query("#painted").remove()  # not before: to make it in another size takes as long as the first time
        if made.trouble:
            self._refuse(made.trouble)
        elif paints:
            self.canvas.display = False
            await room.mount(graphics.picture_widget(made))
        elif (why := self._no_colours()) is not None:
            self.canvas.say(Content(why))
        else:
            await self.canvas.show(made)

    def _draw_again(self) -> None:
        if self._data is not None:
            self.run_worker(self._draw(), group="picture", exclusive=True)

    def _no_colours(self) -> str | None:
        """Return why images cannot be shown here. None if they can."""
        hint = "Press o to open the image in the browser, or w to save it."
        if self.shell.settings.ascii:
            return f"Images are not shown in ASCII mode. {hint}"
        app = self.app
        if app.no_color or app.theme.startswith("mono") or app.console.color_system not in ("truecolor", "256"):
            return f"Images need more colors than this terminal or theme has. {hint}"
        return None

    def _refuse(self, sentence: str) -> None:
        self.canvas.display = True
        self.canvas.say(safe(sentence))

    def _say_facts(self, made: ScaledPicture) -> None:
        file = self.place.file if self.place is not None else None
        width, height = made.width, made.height
        if not width and file is not None and file.dimensions is not None:
            width, height = round(file.dimensions.width), round(file.dimensions.height)
        size = len(self._data) if self._data is not None else file.size if file is not None else 0
        parts = [
            made.format or (format_name(file) if file is not None else ""),
            f"{width} × {height} pixels" if width else "",
            format_size(size) if size else "",
            f"first of {made.frames} frames" if made.frames > 1 else "",
            self.place.host if self.place is not None else "",
        ]
        self.query_one("#facts", Static).update(safe(" · ".join(filter(None, parts))))

    # Actions

    @property
    def waits_to_load(self) -> bool:
        """Whether it waits to be told that another site may be asked."""
        return self._asks

    def load(self) -> None:
        """Load an external image."""
        self._show(allowed=True)

    def step(self, step: int) -> None:
        """Show the next or the previous image of the page."""
        self.index = (self.index + step) % len(self.pictures)
        self._show()

    def ask_again(self) -> None:
        """Reload the image."""
        self._show(allowed=self._data is not None)

    def browse(self) -> None:
        """Open the image in the browser."""
        if self.place is not None:
            confirm_link(self.shell, self.place.url)

    def save(self) -> None:
        """Save the image to disk."""
        if self.place is None:
            return
        place, data, session = self.place, self._data, self.shell.session

        async def content() -> AsyncIterator[bytes]:
            yield data if data is not None else await bring(session, place)

        ask_for_path(self.shell, Export(place.name, place.name, content))


def look_at(app: Shell, view: PageView, src: str) -> None:
    """Show the picture that the page in a view calls `src`, and the way to its others."""
    targets, document = view.contents.sources.targets, view.document
    if targets is None or document is None:
        return
    pictures = page_images(document.blocks)
    index = next((index for index, each in enumerate(pictures) if src in (each.src, each.dark)), None)
    if index is None:
        pictures, index = (ImageReference(src),), 0
    app.push_screen(PictureScreen(pictures, targets, index))
