"""The whole page as it will be by what is decided, against main: the text that is shown is the one that is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.safety import text as safe_text
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.render.comparison import Compared, compare
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands

OUTCOME: Commands[OutcomeScreen] = Commands(
    "outcome",
    (
        Command("close", "escape,p", "Back", "Back to the conflict", run=lambda app, _: app.pop_screen()),
        Command("send", "ctrl+s", "Send", "Send what is decided, as it is shown here", writes=True, run=lambda _, screen: screen.send(),
                why_not=lambda _, screen: screen.why_not_send()),
    ),
    find=lambda view: view,
)  # fmt: skip


class OutcomeScreen(View):
    """One page as a diff against main, conflicts that are not decided between marks."""

    VIEW = "changes"
    CONTEXT = "page as it will be"
    HELP = (
        "The whole page as it will be, against main: what is sent is this text, letter for letter. Conflicts that are not "
        "decided stand between marks. esc or p goes back to the conflict."
    )
    CSS_PATH = "merge_outcome.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("outcome.close", "outcome.send")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (OUTCOME,)

    def __init__(
        self,
        title: str,
        text: str,
        main: str | None,
        where: str,
        *,
        against: str,
        send: Callable[[], None],
        why_not_send: Callable[[], str | None],
    ) -> None:
        """`text` is what will be sent, `main` what it is compared with where that is known, and `against` what that is
        called. `where` is said in the status line."""
        super().__init__()
        self._title, self._text, self._main, self._where = title, text, main, where
        self._against, self._send, self._why_not_send = against, send, why_not_send

    def body(self) -> Iterable[Widget]:
        yield Static("", id="banner")
        yield DiffView(outcome=True, ascii=self.shell.settings.ascii, id="outcome")

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def on_mount(self) -> None:
        self.view.focus()
        self.view.state.wait_for(self._title)
        self._say_where()
        self.run_worker(self._compare(), exclusive=True)

    async def _compare(self) -> None:
        compared: Compared = await asyncio.to_thread(compare, safe_text(self._main or ""), safe_text(self._text))
        self.view.show(compared, title=self._title, key="outcome")
        why = self._why_not_send()
        against = f"against {self._against}" if self._main is not None else "whole: what main says is not known"
        said = Content.assemble((" AS IT WILL BE ", "bold $primary"), f" {against} · ")
        self.query_one("#banner", Static).update(
            said + (Content.styled("ctrl+s sends it", "$success") if why is None else Content.styled(why, "$warning"))
        )
        self._say_where()

    @on(DiffView.Moved)
    def _say_where(self) -> None:
        self.status(self._where, self.view.facts)

    def why_not_send(self) -> str | None:
        """Why what is shown cannot be sent, if so."""
        return self._why_not_send()

    def send(self) -> None:
        """Send what is decided, as it is shown here."""
        self.app.pop_screen()
        self._send()
