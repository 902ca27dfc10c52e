"""What all dialogs have in common: a rounded box over the dimmed screen, with its name in the border."""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar, Protocol, runtime_checkable

from textual import on
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType

from octavo.tui.commands import Explained
from octavo.tui.widgets.content import Words, safe
from octavo.tui.widgets.notices import NoticeBoard, Notices

STYLES = PurePath(__file__).parent
"""Where the styles of dialogs are: a path relative to a class is looked for beside its subclasses."""


@runtime_checkable
class SaysThings(Protocol):
    """An app that has notices."""

    notices: NoticeBoard


class Frame(Vertical):
    """The box of a dialog. `title` stands in its upper border, `foot` in its lower one."""

    def name_it(self, title: Words, foot: Words | None = None) -> None:
        """Set what stands in the borders. `foot` None leaves the lower one as it is."""
        self.border_title = safe(title)
        if foot is not None:
            self.border_subtitle = safe(foot)


class Dialog(Explained, ModalScreen[ScreenResultType]):
    """A dialog. Its keys are the only ones that work while it is open; what is said meanwhile is seen beside it."""

    CONTEXT: ClassVar[str] = "dialogs"
    HELP: ClassVar[str] = ""
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [STYLES / "dialog.tcss"]

    def on_mount(self) -> None:
        if isinstance(self.app, SaysThings) and not self.query(Notices):
            self.mount(Notices(self.app.notices, top=0, beside=Frame))

    @on(Notices.UndoWanted)
    async def _undo(self) -> None:
        await self.run_action("app.undo")
