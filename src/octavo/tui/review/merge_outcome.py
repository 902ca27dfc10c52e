"""The preview of a merged page, compared with main: the text that is shown is the text that is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.documents.diff_model import AttributeChange
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands

OUTCOME: Commands[OutcomeScreen] = Commands(
    "outcome",
    (
        Command("close", "escape,p", "Back", "Go back to the conflict", run=lambda app, _: app.pop_screen()),
        Command("send", "ctrl+s", "Save", "Save this page", writes=True, run=lambda _, screen: screen.send(),
                why_not=lambda _, screen: screen.why_not_send()),
    ),
    find=lambda view: view,
)  # fmt: skip


class Outcome(NamedTuple):
    """A page as it will be, and what it is compared with."""

    title: str
    text: str
    main: str | None
    """None if it is not known."""
    settings: tuple[AttributeChange, ...] = ()
    """The title, the place and the like, in main and as they will be."""


class OutcomeScreen(View):
    """A page as a diff against main. Conflicts that are not resolved are between marks."""

    MODE = "changes"
    CONTEXT = "preview of the page with its conflicts resolved"
    HELP = (
        "This is a preview of the page after saving. The diff includes the title, position, and text. "
        "Unresolved conflicts are shown between conflict markers. "
        "Press ctrl+s to save the page. Press esc or p to go back to the conflict."
    )
    CSS_PATH = "merge_outcome.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("outcome.close", "outcome.send")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (OUTCOME,)

    def __init__(
        self,
        outcome: Outcome,
        where: str,
        *,
        against: str,
        send: Callable[[], None],
        why_not_send: Callable[[], str | None],
    ) -> None:
        """`against` is what the page is compared with, in words. `where` is shown in the status line."""
        super().__init__()
        self._outcome, self._where = outcome, where
        self._against, self._send, self._why_not_send = against, send, why_not_send

    def body(self) -> Iterable[Widget]:
        yield Static("", id="banner")
        yield DiffView(outcome=True, ascii=self.shell.settings.ascii, id="outcome")

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def on_mount(self) -> None:
        self.view.focus()
        self.view.state.wait_for(self._outcome.title)
        self._say_where()
        self.run_worker(self._compare(), exclusive=True)

    async def _compare(self) -> None:
        title, text, main, settings = self._outcome
        compared: PageComparison = await asyncio.to_thread(compare, safe_text(main or ""), safe_text(text))
        safe = tuple(AttributeChange(each.name, _line(each.old), _line(each.new)) for each in settings)
        diff = replace(compared.diff, metadata=(*safe, *compared.diff.metadata))
        self.view.show(replace(compared, diff=diff), title=title, key="outcome")
        why = self._why_not_send()
        against = (
            f"compared with {self._against}"
            if main is not None
            else "not compared: the version in main is not available"
        )
        said = Content.assemble((" PREVIEW ", "bold $primary"), f" {against} · ")
        self.query_one("#banner", Static).update(
            said
            + (
                Content.styled("press ctrl+s to save the page", "$success")
                if why is None
                else Content.styled(why, "$warning")
            )
        )
        self._say_where()

    @on(DiffView.Moved)
    def _say_where(self) -> None:
        self.show_location(self._where, self.view.facts)

    def why_not_send(self) -> str | None:
        """Return why the page cannot be saved, in a sentence. None if it can."""
        return self._why_not_send()

    def send(self) -> None:
        """Save the page as it is shown."""
        self.app.pop_screen()
        self._send()


def _line(value: str | None) -> str | None:
    return safe_line(value) if value is not None else None
