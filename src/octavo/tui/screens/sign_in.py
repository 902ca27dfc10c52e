"""The first screen without an account: paste a key, try the demo, or open a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from octavo.api.errors import ApiError
from octavo.tui.session import Session, SignedIn
from octavo.tui.widgets.secret import SecretInput

if TYPE_CHECKING:
    from octavo.tui.app import Octavo


class SignInScreen(Screen[None]):
    """One field, three ways in. Facts fill in as the server answers."""

    CSS_PATH = "sign_in.tcss"
    HELP: ClassVar[str] = (
        "Paste a personal access key to work on a server, try the demo to work on a made-up library, or open a folder of pages."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "demo", "Try the demo", tooltip="Real screens, a made-up library, no account", id="sign_in.demo", priority=True),
        Binding("ctrl+o", "folder", "Open a folder", tooltip="Read and review a folder of pages", id="sign_in.folder", priority=True),
        Binding("ctrl+q", "app.quit", "Quit", tooltip="Leave Octavo", id="sign_in.quit", priority=True),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._signed_in: SignedIn | None = None

    @property
    def octavo(self) -> Octavo:
        return cast("Octavo", self.app)

    def compose(self) -> ComposeResult:
        doors = self.octavo.doors
        yield Static("◆", id="mark")
        yield Static("Docs review, without the tabs.", id="motto")
        with Vertical(id="card") as card:
            card.border_title = "Sign in"
            yield Static(
                Content(
                    f"Paste a personal access key for {doors.host}. It is kept in {doors.keyring}, and sent nowhere else."
                )
            )
            yield SecretInput(placeholder="key", id="key")
            yield Static("", id="facts")
            with Horizontal(id="next"):
                yield Button("Check the key", id="check", variant="primary")
                yield Button("Start", id="start", variant="success", disabled=True)
        with Horizontal(classes="way"):
            yield Button("Try the demo", id="demo")
            yield Static("real screens, a made-up library, no account, offline", classes="why")
        with Horizontal(classes="way"):
            yield Button("Open a folder", id="open")
            yield Input(placeholder="path of a folder of markdown pages", id="folder", compact=True)
        yield Static("tab next   enter press   ctrl+d demo   ctrl+o folder   ctrl+q quit", id="keys")

    def on_mount(self) -> None:
        self.query_one("#key", SecretInput).focus()

    @on(Input.Submitted, "#key")
    @on(Button.Pressed, "#check")
    def _check(self) -> None:
        key = self.query_one("#key", SecretInput).value.strip()
        if not key:
            self._say(("care", "There is no key here yet. Paste one, or try the demo."))
            return
        self._say(("ok", "checking…"))
        self.octavo.background(self._sign_in(key))

    async def _sign_in(self, key: str) -> None:
        try:
            self._signed_in = await self.octavo.doors.sign_in(key)
        except (ApiError, ValueError) as error:
            self._say(("care", str(error)))
            return
        self._say(*self._signed_in.facts)
        start = self.query_one("#start", Button)
        start.disabled = False
        start.focus()

    @on(Button.Pressed, "#start")
    def _start(self) -> None:
        if self._signed_in is not None:
            self.octavo.background(self.octavo.start(self._signed_in.session, "home"))

    @on(Button.Pressed, "#demo")
    def action_demo(self) -> None:
        self._say(("ok", "Setting out the demo library…"))
        self.octavo.background(self._enter("demo"))

    @on(Button.Pressed, "#open")
    def action_folder(self) -> None:
        field = self.query_one("#folder", Input)
        if field.value.strip():
            self.octavo.background(self._enter(field.value.strip()))
        else:
            field.focus()

    @on(Input.Submitted, "#folder")
    def _folder_named(self) -> None:
        self.action_folder()

    async def _enter(self, way: str) -> None:
        doors = self.octavo.doors
        try:
            session: Session = await (doors.demo() if way == "demo" else doors.folder(way))
        except (ApiError, ValueError, OSError) as error:
            self._say(("care", str(error)))
            return
        await self.octavo.start(session)

    def _say(self, *facts: tuple[str, str]) -> None:
        marks = {"ok": ("✓ ", "$success"), "care": ("! ", "$warning")}
        lines = [Content.assemble(marks[kind], Content(sentence)) for kind, sentence in facts]
        self.query_one("#facts", Static).update(Content("\n").join(lines))


SCREEN = SignInScreen
