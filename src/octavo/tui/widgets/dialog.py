"""The base class of all dialogs, `Dialog`, and buttons of one line. A dialog is a box over the darkened screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Self

from textual import on
from textual.app import ComposeResult, RenderResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Compose, Event, Resize
from textual.geometry import Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.message import Message
from textual.reactive import reactive
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import drop_rendered_lines
from octavo.tui.widgets.bars import KeyBar
from octavo.tui.widgets.commands import Command, Commands, HasCommands, HostApp
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.short_texts import AnyText, safe

STYLES = PurePath(__file__).parent
"""Folder of the dialog styles."""


def dialog_styles(file: str, *names: str | PurePath) -> list[str | PurePath]:
    """Return the paths of the style sheet of all dialogs, and of the style sheets `names` in the folder of `file`."""
    return [STYLES / "dialog.tcss", *(PurePath(file).parent / name for name in names)]


class FrameLayout(VerticalLayout):
    """Vertical layout for dialogs. The child that scrolls and has an automatic height gets shorter on a low screen,
    and higher to fill `DialogFrame.min_rows`."""

    MIN_ROWS: ClassVar[int] = 3
    """Minimum height in rows of the scrolling child that gets shorter on a low screen."""

    def get_content_height(self, widget: Widget, container: Size, viewport: Size, width: int) -> int:
        height = super().get_content_height(widget, container, viewport, width)
        rows_above = max(1, widget.styles.margin.top)  # At least one row stays free for notices.
        rows_below = 2  # One free row, and the key bar.
        max_height = viewport.height - rows_above - rows_below - widget.gutter.height
        removed_rows = self._removable_row_count(widget.arrange(Size(width, 0)).placements, height - max_height)
        min_rows = widget.min_rows if isinstance(widget, DialogFrame) else 0
        return max(height - removed_rows, min(min_rows, max_height))

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        placements = super().arrange(parent, children, size, greedy)
        bottom = max((each.region.bottom + each.margin.bottom for each in placements), default=0)
        missing_rows = bottom - size.height if size.height else 0
        min_rows = parent.min_rows if isinstance(parent, DialogFrame) else 0
        if (
            placements and size.height and (missing_rows > 0 or min_rows > size.height)
        ):  # First, use the empty row below the last child.
            missing_rows -= placements[-1].margin.bottom
        added_rows = -self._removable_row_count(placements, missing_rows)
        if missing_rows < 0 and min_rows:
            added_rows = -missing_rows
        moved_rows = 0
        new_placements: list[WidgetPlacement] = []
        for each in placements:
            region = each.region.translate((0, moved_rows))
            if added_rows and _has_automatic_height(each.widget):
                region = region.grow(Spacing(bottom=added_rows))
                moved_rows, added_rows = added_rows, 0
            new_placements.append(each._replace(region=region))
        return new_placements

    def _removable_row_count(self, placements: Iterable[WidgetPlacement], missing_rows: int) -> int:
        """Return by how many of `missing_rows` the scrolling child can get shorter. `MIN_ROWS` rows of it must stay."""
        heights = (each.region.height for each in placements if _has_automatic_height(each.widget))
        return max(0, min(missing_rows, next(heights, 0) - self.MIN_ROWS))


_FRAME_LAYOUT = FrameLayout()


def _has_automatic_height(widget: Widget) -> bool:
    height = widget.styles.height
    return widget.styles.overflow_y == "auto" and height is not None and height.is_auto


class DialogFrame(Vertical):
    """The box of a dialog. Its title is in the upper border, and the text `foot` in the lower border."""

    foot = ""
    min_rows = 0
    """Minimum height of the content in rows, so that the box does not move when its content arrives."""

    @property
    def layout(self) -> Layout:
        return _FRAME_LAYOUT

    def set_border_texts(self, title: AnyText, foot: AnyText | None = None) -> None:
        """Set the texts in the borders. If `foot` is None, the text in the lower border stays."""
        self.border_title = safe(title)
        if foot is not None:
            self.border_subtitle = foot_text = safe(foot)
            self.foot, old_foot = foot_text.plain, self.foot
            if self.is_attached and self.foot != old_foot:
                self.screen.refresh_bindings()  # The key bar hides the keys that the border names.


def prepare_screen(screen: Screen[Any], event: Event) -> bool:
    """Handle an event before a screen does. Return False if the screen must ignore the event: a resize to a size that
    is no longer current. When the screen is created, set the style classes for its width and height."""
    app = screen.app
    if isinstance(event, Compose):
        for cells, breakpoints in zip(app.size, (app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS), strict=True):
            screen.add_class(*[name for start, name in sorted(breakpoints or ()) if start <= cells][-1:])
    return not isinstance(event, Resize) or event.size == app.size


class Dialog(HasCommands, ModalScreen[ScreenResultType]):
    """Base class of dialogs. Only the keys of an open dialog work. The key bar omits keys that the border names."""

    HELP_NAME: ClassVar[str] = "dialogs"
    HELP: ClassVar[str] = ""
    IN_HISTORY: ClassVar[bool] = False
    """True if the dialog is shown again when the user goes back from a screen that was opened in it."""
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [STYLES / "dialog.tcss"]

    body: Callable[[], Iterable[Widget]]
    """Returns the widgets of the dialog. Subclasses define this method."""
    _late_result: tuple[ScreenResultType | None, ...] = ()
    """The result, as the only element, if the dialog was closed while another screen covered it. Empty otherwise."""

    async def on_event(self, event: Event) -> None:
        if prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        yield from self.body()
        yield KeyBar()
        if isinstance(self.app, HostApp):
            yield Notices(self.app.notices, top=0, uncovered=DialogFrame)

    def render(self) -> RenderResult:  # type: ignore[override]  # Screens declare a narrower type than other widgets.
        """Return the darkened screen below this dialog. Textual could take a wrong screen if three dialogs are open."""
        stack = self.app.screen_stack
        index_below = stack.index(self) - 1 if self in stack else -1
        return BackgroundScreen(stack[index_below], self.styles.background) if index_below >= 0 else super().render()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint this dialog. Drop the rendered lines of other open dialogs, because they contain the screen below."""
        for screen in self.app.screen_stack[1:-1] if self.is_attached and repaint else ():
            if isinstance(screen, Dialog):
                drop_rendered_lines(screen, regions)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def focus_at_once(self, widget: Widget) -> None:
        """Focus a widget before the first frame. `Widget.focus` would focus it after that frame."""
        widget.has_focus = True
        self.set_focus(widget)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close this dialog with a result. A dialog below another screen closes after that screen."""
        if self.is_active:
            return super().dismiss(result)
        if self in self.app.screen_stack:
            self._late_result = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._late_result:
            self.dismiss(*self._late_result)

    @property
    def hidden_keys(self) -> frozenset[str]:
        """Keys that the text in the border names, such as `J` and `K` in `J/K change order · r check again`. The key bar
        omits these keys. `esc` is never among them."""
        parts = [part for frame in self.query(DialogFrame) for part in frame.foot.split(" · ")]
        return frozenset(key for part in parts for key in part.split(" ")[0].split("/")) - {"esc"}

    @on(Notices.UndoRequested)
    def _undo(self) -> None:
        if isinstance(self.app, HostApp):
            self.app.undo()


BUTTON: Commands[TextButton] = Commands(
    "button",
    (Command("press", "enter,space", "Press", "Press the button", run=lambda _, button: button.press(), shown=False),),
)


class TextButton(HasCommands, Widget, can_focus=True):
    """A button of one line, with a label and the key that presses it."""

    HELP_NAME: ClassVar[str] = "buttons"
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TextButton {
        width: auto;
        height: 1;
        color: $foreground;
        background: $panel;
        &.-off { color: $octavo-muted; text-style: dim; }
        &:hover { background: $octavo-cursor; }
        &:focus { color: $primary; background: $octavo-cursor; text-style: bold; }
        &.-primary { color: $primary; }
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (BUTTON,)

    is_dimmed = reactive(False, toggle_class="-off")
    key = reactive("", layout=True)
    label = reactive("", layout=True)

    @dataclass
    class Pressed(Message):
        """Posted when the button is pressed or clicked."""

        button: TextButton

        @property
        def control(self) -> TextButton:
            return self.button

    def __init__(self, label: str, key: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.label = label
        self.key = key

    def render(self) -> RenderResult:
        text = safe(f"{self.label}  ({self.key})" if self.key else self.label)
        return Content("[ ") + text + Content(" ]") if self.has_focus else Content("  ") + text + Content("  ")

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def press(self) -> None:
        self.post_message(self.Pressed(self))

    def on_click(self, event: Click) -> None:
        event.stop()
        self.press()
