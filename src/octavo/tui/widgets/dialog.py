"""What all dialogs have in common: a rounded box over the dimmed screen, with its name in the border."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import ClassVar, Protocol, Self, runtime_checkable

from textual import on
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.events import Event
from textual.geometry import Region
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import mark_for_repaint, prepare_screen
from octavo.tui.widgets.commands import HasCommands
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.notices import NoticeBoard, Notices
from octavo.tui.widgets.safe_text import Words, safe

STYLES = PurePath(__file__).parent
"""Where the styles of dialogs are: a path relative to a class is looked for beside its subclasses."""


@runtime_checkable
class HasNotices(Protocol):
    """An app that has notices."""

    notices: NoticeBoard

    def undo(self) -> None:
        """Take back the last write."""


class Frame(Vertical):
    """The box of a dialog. `title` stands in its upper border, `foot` in its lower one."""

    foot = ""

    def name_it(self, title: Words, foot: Words | None = None) -> None:
        """Set what stands in the borders. `foot` None leaves the lower one as it is."""
        self.border_title = safe(title)
        if foot is not None:
            self.border_subtitle = words = safe(foot)
            self.foot, before = words.plain, self.foot
            if self.is_attached and self.foot != before:
                self.screen.refresh_bindings()  # the key bar shows what the border does not


class Dialog(HasCommands, ModalScreen[ScreenResultType]):
    """A dialog. Its keys are the only ones that work while it is open, and the only ones that are seen: those its border
    does not name stand in the key bar. What is said meanwhile is seen beside it."""

    CONTEXT: ClassVar[str] = "dialogs"
    HELP: ClassVar[str] = ""
    IN_HISTORY: ClassVar[bool] = False
    """Whether one comes back to it from what was opened in it."""
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [STYLES / "dialog.tcss"]

    body: Callable[[], Iterable[Widget]]
    """The widgets of the dialog itself. Each dialog has its own."""

    async def on_event(self, event: Event) -> None:
        if prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        yield from self.body()
        yield KeyBar()
        if isinstance(self.app, HasNotices):
            yield Notices(self.app.notices, top=0, clear=Frame)

    def render(self) -> RenderResult:  # type: ignore[override]  # of screens, which say less than all other widgets may
        """Return the screen below, tinted. The stack of screens says which: Textual hands out one after the other to whoever
        is rendered next, and three dialogs that are rendered in another order contain one another."""
        stack = self.app.screen_stack
        below = stack.index(self) - 1 if self in stack else -1
        return BackgroundScreen(stack[below], self.styles.background) if below >= 0 else super().render()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint the dialog, and the dialogs below: Textual refreshes only the one on top if the lowest screen changes."""
        for screen in self.app.screen_stack[1:-1] if self.is_attached and repaint else ():
            if isinstance(screen, Dialog):
                mark_for_repaint(screen, regions)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    @property
    def keys_named(self) -> frozenset[str]:
        """The keys its border names: `enter`, `J` and `K`, where it says `enter open · J and K change the order`.

        How to leave stands in the key bar whatever the border says: it is looked for in one place.
        """
        parts = (part for frame in self.query(Frame) for part in frame.foot.split(" · "))
        words = [part.split(" ") for part in parts]
        also = (each[2] for each in words if each[1:2] == ["and"] and len(each) > 2)
        return frozenset([*(each[0] for each in words), *also]) - {"esc"}

    @on(Notices.UndoWanted)
    def _undo(self) -> None:
        if isinstance(self.app, HasNotices):
            self.app.undo()
