"""The preview of a merged page, compared with main. The shown text is the text that will be saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.safety import safe_line, safe_text
from octavo.documents.diff_model import AttributeChange
from octavo.tui.core.view import View
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.widgets.commands import Command, Commands

PREVIEW_COMMANDS: Commands[MergedPreviewScreen] = Commands(
    "outcome",
    (
        Command("close", "escape,p", "Back", "Go back to the conflict", run=lambda app, _: app.pop_screen()),
        Command("send", "ctrl+s", "Save", "Save this page", writes=True, run=lambda _, screen: screen.send(),
                why_not=lambda _, screen: screen.why_not_send()),
    ),
    find=lambda view: view,
)  # fmt: skip


class MergedPreview(NamedTuple):
    """Page as it will be saved, with the version in main."""

    title: str
    text: str
    main: str | None
    """Text in main. None if it is unknown."""
    settings: tuple[AttributeChange, ...] = ()
    """Changed settings, such as the title and the position, compared with main."""


class MergedPreviewScreen(View):
    """Preview of a page as a diff against main. Unresolved conflicts have conflict markers."""

    MODE = "changes"
    CONTEXT = "preview of the page with its conflicts resolved"
    HELP = (
        "This is a preview of the page after saving. The diff includes the title, position, and text. "
        "Unresolved conflicts are shown between conflict markers. "
        "Press ctrl+s to save the page. Press esc or p to go back to the conflict."
    )
    CSS_PATH = "merge_preview.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("outcome.close", "outcome.send")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PREVIEW_COMMANDS,)

    def __init__(
        self,
        preview: MergedPreview,
        location: str,
        *,
        base_name: str,
        send: Callable[[], None],
        why_not_send: Callable[[], str | None],
    ) -> None:
        """`base_name` is the name of the version that the page is compared with. `location` is shown in the status
        line."""
        super().__init__()
        self._preview, self._location = preview, location
        self._base_name, self._send, self._why_not_send = base_name, send, why_not_send

    def body(self) -> Iterable[Widget]:
        yield Static("", id="banner")
        yield DiffView(merge_preview=True, ascii=self.shell.settings.ascii, id="outcome")

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def on_mount(self) -> None:
        self.view.focus()
        self.view.state.wait_for(self._preview.title)
        self._show_position()
        self.run_worker(self._compare(), exclusive=True)

    async def _compare(self) -> None:
        title, text, main, settings = self._preview
        compared: PageComparison = await asyncio.to_thread(compare, safe_text(main or ""), safe_text(text))
        safe = tuple(AttributeChange(each.name, _line(each.old), _line(each.new)) for each in settings)
        diff = replace(compared.diff, metadata=(*safe, *compared.diff.metadata))
        self.view.show(replace(compared, diff=diff), title=title, key="outcome")
        reason = self._why_not_send()
        note = f"compared with {self._base_name}"
        if main is None:
            note = "not compared: the version in main is not available"
        banner = Content.assemble((" PREVIEW ", "bold $primary"), f" {note} · ")
        self.query_one("#banner", Static).update(
            banner
            + (
                Content.styled("press ctrl+s to save the page", "$success")
                if reason is None
                else Content.styled(reason, "$warning")
            )
        )
        self._show_position()

    @on(PaneMoved)
    def _show_position(self) -> None:
        self.show_location(self._location, self.view.facts)

    def why_not_send(self) -> str | None:
        """Return the reason why the page cannot be saved, in a sentence. None if it can be saved."""
        return self._why_not_send()

    def send(self) -> None:
        """Save the page."""
        self.app.pop_screen()
        self._send()


def _line(value: str | None) -> str | None:
    return safe_line(value) if value is not None else None
