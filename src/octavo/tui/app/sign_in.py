"""The sign-in screen, which is shown first if there is no account."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Event
from textual.screen import Screen
from textual.widgets import Input, Static

from octavo.api.errors import ApiError
from octavo.settings import error_in_words
from octavo.tui.core.session import Session, SignInResult
from octavo.tui.core.shell import Shell, shell_of
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.bars import KeyBar
from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.dialog import TextButton, prepare_screen
from octavo.tui.widgets.text_inputs import PathInput, SecretInput, SecretLengthLabel

_TOKEN_PAGE = "app.gitbook.com/account/developer"
"""URL of the page on which GitBook creates personal access tokens."""
_GITBOOK = "api.gitbook.com"

SIGN_IN: Commands[SignInScreen] = Commands(
    "sign_in",
    (
        Command("demo", "ctrl+d", "Try the demo", "Try the demo with sample content (no account needed)", run=lambda _, view: view.try_demo(), priority=True),
        Command("folder", "ctrl+o", "Open a folder", "Read and review a folder of Markdown files", run=lambda _, view: view.open_folder(), priority=True),
        Command("back", "escape", "Back", "Go back without signing in", run=lambda _, view: view.go_back(),
                is_available=lambda _, view: bool(view.shell.sign_in_methods.previous_label),
                title_now=lambda _, view: f"Back to {view.shell.sign_in_methods.previous_label}"),
        Command("quit", "ctrl+q", "Quit", "Quit Octavo", run=lambda app, _: app.action_quit(), priority=True),
        # f1, because `?` is typed into the input.
        Command("help", "f1", "Help", "Show help for this screen", run=lambda app, _: app.show_help(), is_available=lambda _, view: isinstance(view.focused, Input)),
    ),
)  # fmt: skip


class SignInScreen(HasCommands, Screen[None]):
    """The screen on which the user pastes an API key, opens the demo, or opens a folder."""

    shell: cached_property[Shell] = cached_property(shell_of)

    CSS_PATH = "sign_in.tcss"
    HELP_NAME = "sign in"
    HELP: ClassVar[str] = (
        "Sign in to a server. Paste an API key (on GitBook, a personal access token). Press enter to check the key, then press enter again to sign in. "
        "Press ctrl+d to try the demo without an account, ctrl+o to open a folder of Markdown files, or ctrl+q to quit."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SIGN_IN,)

    def __init__(self) -> None:
        super().__init__()
        self._sign_in_result: SignInResult | None = None
        self._key_check: asyncio.Task[None] | None = None
        """Task that checks the last API key that the user pasted. None before the first check."""
        self._opening_task: asyncio.Task[None] | None = None
        """Task that opens the session that the user chose. None before a choice."""

    def go_back(self) -> None:
        """Go back to the session from which the user came to this screen."""
        self._open(lambda: self._enter(self.shell.sign_in_methods.open_previous))

    async def on_event(self, event: Event) -> None:
        if prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        sign_in_methods = self.shell.sign_in_methods
        with Vertical(id="middle"):
            yield Static("◆", id="mark")
            yield Static("Read, review, and merge documentation in the terminal.", id="motto")
            with Vertical(id="card") as card:
                card.border_title = "Sign in"
                yield Static(self._prompt(sign_in_methods.host, ""), id="said")
                with Horizontal(id="typing"):
                    yield Static("API key  ", id="label")
                    yield (secret := SecretInput(id="key"))
                    yield SecretLengthLabel(secret, id="count")
                yield Static("", id="notes")
                with Horizontal(id="next"):
                    yield TextButton("Check key", "enter", id="check", classes="-primary")
                    yield TextButton("Start", "enter", id="start")
            with Horizontal(classes="way"):
                yield TextButton("Try the demo", "ctrl+d", id="demo")
                yield Static("no account or network needed", classes="why")
            with Horizontal(classes="way"):
                yield TextButton("Open a folder", "ctrl+o", id="open")
                yield PathInput(placeholder="path to a folder of Markdown files", id="folder")
        yield KeyBar()

    @staticmethod
    def _prompt(host: str, storage: str) -> Content:
        token_sentence = f"On GitBook, an API key is called a personal access token. Create one at {_TOKEN_PAGE}."
        sentences = [f"Paste your API key for {host}.", token_sentence if host == _GITBOOK else "", storage]
        return Content(" ".join(filter(None, sentences)))

    async def _show_storage(self) -> None:
        sign_in_methods = self.shell.sign_in_methods
        prompt = self._prompt(sign_in_methods.host, await sign_in_methods.describe_storage())
        for each in self.query("#said").results(Static):
            each.update(prompt)

    def on_mount(self) -> None:
        self.run_worker(self._show_storage())
        if self.shell.sign_in_methods.reason:
            self._show_notes(("care", self.shell.sign_in_methods.reason))
        self.query_one("#start", TextButton).display = False
        self.query_one("#key", SecretInput).focus()

    @on(Input.Submitted, "#key")
    @on(TextButton.Pressed, "#check")
    def _on_key_submitted(self) -> None:
        secret = self.query_one("#key", SecretInput).secret
        if self._key_check is not None and not self._key_check.done():
            return
        if secret is None:
            self._show_notes(("care", "Paste an API key first, or try the demo."))
            return
        self._close_checked_session()
        self.query_one("#start", TextButton).display = False
        self._show_notes(("asking", "Checking the API key…"))
        self._key_check = self.shell.background(self._sign_in(secret.get_secret_value()))

    async def _sign_in(self, key: str) -> None:
        try:
            self._sign_in_result = await self.shell.sign_in_methods.sign_in(key)
        except (ApiError, ValueError, OSError) as error:
            self._show_notes(("care", error_in_words(error)))
            return
        if is_being_removed(self):
            self._close_checked_session()
            return
        self._show_notes(*self._sign_in_result.key_notes)
        # A note now says whether the API key is stored, so the prompt does not.
        self.query_one("#said", Static).update(self._prompt(self.shell.sign_in_methods.host, ""))
        self.query_one("#check", TextButton).key = ""
        start = self.query_one("#start", TextButton)
        start.display = True
        start.focus()

    def _close_checked_session(self) -> None:
        """Close the session that the last check of a key opened, because the user does not start this session."""
        result, self._sign_in_result = self._sign_in_result, None
        if result is not None:
            self.shell.background(result.session.close())

    @on(TextButton.Pressed, "#start")
    def _on_start_pressed(self) -> None:
        if (result := self._sign_in_result) is not None:
            self.shell.may_ask_for_key = True
            self._open(lambda: self.shell.switch_session(result.session, "inbox"))

    @on(TextButton.Pressed, "#demo")
    def _on_demo_pressed(self) -> None:
        self.try_demo()

    def try_demo(self) -> None:
        self._show_notes(("asking", "Preparing the demo…"))
        self._open(lambda: self._enter(self.shell.sign_in_methods.open_demo))

    @on(TextButton.Pressed, "#open")
    @on(Input.Submitted, "#folder")
    def _on_folder_submitted(self) -> None:
        self.open_folder()

    def open_folder(self) -> None:
        """Open the folder whose path is in the input. If the input is empty, focus it."""
        field = self.query_one("#folder", PathInput)
        if field.value.strip():
            path = field.value.strip()
            self._open(lambda: self._enter(lambda: self.shell.sign_in_methods.open_folder(path)))
        else:
            field.focus()

    def _open(self, show: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._opening_task is None or self._opening_task.done():
            self._opening_task = self.shell.background(show())

    async def _enter(self, open_session: Callable[[], Awaitable[Session]]) -> None:
        try:
            session = await open_session()
        except (ApiError, ValueError, OSError) as error:
            self._show_notes(("care", error_in_words(error)))
            return
        self._close_checked_session()
        await self.shell.switch_session(session, "")

    def _show_notes(self, *notes: tuple[str, str]) -> None:
        if is_being_removed(self):
            return
        marks = {"ok": ("✓ ", "$success"), "care": ("! ", "$warning"), "asking": ("… ", "$octavo-muted")}
        lines = [Content.assemble(marks[kind], Content(sentence)) for kind, sentence in notes]
        self.query_one("#notes", Static).update(Content("\n").join(lines))
