"""The dialog that asks before something that cannot be taken back lightly, and says what it would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from time import monotonic
from typing import Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.events import Key
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets import wording
from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.draft_clock import DraftClock, SavesOnExit
from octavo.tui.widgets.fact_list import Fact, Facts
from octavo.tui.widgets.path_input import PathInput
from octavo.tui.widgets.safe_text import Words, safe, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, TextEditor

READ_SECONDS = 0.5
"""A yes that comes sooner after what is shown was meant for what stood there before: it is not offered yet."""
_MORE = Binding.Group("scroll")


@dataclass(frozen=True)
class Field:
    """Something to write in a dialog, such as a subject or the comment of a review."""

    label: str
    value: str = ""
    lines: int = 1
    """1: a line, whose enter confirms. More: a text, where ctrl+s confirms."""
    required: str = ""
    """The sentence that says it must not be empty, if it must not."""
    max_length: int = 0
    """Most characters that the platform accepts. 0 for no limit. A longer text cannot be confirmed."""
    placeholder: str = ""
    is_path: bool = False
    """Whether it is the path of a file, which is completed."""
    keep: Callable[[str], None] | None = None
    """Called with what is written while one writes and when the dialog goes: nothing typed is lost."""
    keep_now: Callable[[str], None] | None = None
    """The same when the app ends: it is kept when this returns."""


@dataclass(frozen=True)
class Confirmed:
    """The answer is yes. `text` is what was written in the field, with no space around it, `also` in the second."""

    text: str = ""
    also: str = ""


def _confirm(app: App[Any], dialog: Confirm) -> None:
    dialog.confirm()


def _cancel(app: App[Any], dialog: Confirm) -> None:
    dialog.cancel()


def _why_not_confirmed(app: App[Any], dialog: Confirm) -> str | None:
    return dialog.why_not_confirmed()


def _is_open(app: App[Any], dialog: Confirm) -> bool:
    return dialog.is_open


def _is_by_key(app: App[Any], dialog: Confirm) -> bool:
    return dialog.is_by_key


ANSWERS: Commands[Confirm] = Commands(
    "dialog",
    (
        Command("yes", "y", "Yes", "Confirm", run=_confirm, why_not=_why_not_confirmed, called=lambda _, dialog: dialog.verb, there=_is_open,
                applies=_is_by_key),
        Command("send", "ctrl+s", "Yes", "Confirm",
                run=_confirm, why_not=_why_not_confirmed, called=lambda _, dialog: dialog.verb, there=_is_open, priority=True),
        Command("no", "n", "No", "Cancel", run=_cancel, called=lambda _, dialog: dialog.cancel_word),
        Command("cancel", "escape", "No", "Cancel", run=_cancel, called=lambda _, dialog: dialog.cancel_word),
        Command("next", "tab,right", "Next", "Go to the next button", run=lambda _, dialog: dialog.focus_next(), shown=False),
        Command("previous", "shift+tab,left", "Previous", "Go to the previous button", run=lambda _, dialog: dialog.focus_previous(), shown=False),
        Command("down", "down,j,pagedown", "Down", "Scroll down",
                run=lambda _, dialog: dialog.scroll_body(1), together=_MORE),
        Command("up", "up,k,pageup", "Up", "Scroll up", run=lambda _, dialog: dialog.scroll_body(-1), together=_MORE),
        Command("check", "r", "Check again", "Reload the checks", run=lambda _, dialog: dialog.check_again and dialog.check_again(),
                there=lambda _, dialog: dialog.check_again is not None and dialog.is_open),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class Confirm(Dialog[Confirmed | None]):
    """Asks once. Cancel has the focus, `y` confirms; None is the answer of everything else.

    `typed` turns `y` off and asks to type that word instead. `blocked` turns yes off with a sentence.
    What is shown may change while it is open: `update`.
    """

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [STYLES / "dialog.tcss", STYLES / "confirm.tcss"]
    CONTEXT: ClassVar[str] = "confirm dialog"
    HELP: ClassVar[str] = "This dialog shows what an action will change. Press y to confirm, or n or esc to cancel."
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ANSWERS,)
    DRAFT_NOTE: ClassVar[str] = "closing keeps your text as a draft · clear the text to discard it"
    """In the lower border once a text that is kept as a draft was changed."""

    def __init__(
        self,
        title: str,
        *,
        verb: str,
        intro: Words = "",
        facts: Sequence[Fact] = (),
        after: Words = "",
        field: Field | None = None,
        also: Field | None = None,
        typed: str = "",
        why_typed: str = "",
        blocked: str = "",
        foot: str = "",
        cancel: str = "",
        check_again: Callable[[], None] | None = None,
    ) -> None:
        """`intro` stands above the facts and `after` below them; `foot` in the lower border; `also` is a second field.

        `cancel` is the word for closing without confirming. Empty: “Close” if a field keeps its text as a draft, else “Cancel”.
        `why_typed` says why `typed` has to be typed: "With conflicts the y key is off: type 42 to merge anyway."
        """
        super().__init__()
        self._title = title
        self.verb: str = verb
        self._intro, self._facts, self._after, self._field = intro, facts, after, field
        self._fields = {name: each for name, each in (("field", field), ("also", also)) if each is not None}
        keeps = any(each.keep is not None for each in self._fields.values())
        self.cancel_word: str = cancel or ("Close" if keeps else "Cancel")
        self._typed, self._typed_why, self._blocked, self._foot = typed, why_typed, blocked, foot
        self.check_again: Callable[[], None] | None = check_again
        self._answered = False
        self._ready = False
        self._came_in: datetime | None = None
        """When what is shown came in, until there was time to read it."""
        self._reading: Timer | None = None
        self._clock = DraftClock()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        with Frame() as frame:
            frame.name_it(self._title, self._foot)
            with VerticalScroll(classes="confirm--body", can_focus=False):
                yield ChangingText(safe_lines(self._intro), classes="confirm--intro")
                yield Facts(self._facts)
                yield ChangingText(safe_lines(self._after), classes="confirm--after")
            for name, field in self._fields.items():
                yield Static(safe(field.label), classes="confirm--label")
                if field.lines > 1:
                    writing = TextEditor(field.value, placeholder=field.placeholder, id=name)
                    writing.styles.height = field.lines
                    yield writing
                else:
                    line = PathInput if field.is_path else LineInput
                    yield line(field.value, placeholder=field.placeholder, id=name)
            yield ChangingText(classes="confirm--why")
            typed = LineInput(id="typed")
            typed.select_on_focus = False  # `on_key` writes the first key: the second key would replace the selection
            yield typed
            with Horizontal(classes="confirm--buttons"):
                yield TextButton(self.cancel_word, id="no")
                yield TextButton(self.verb, id="yes", classes="-primary")

    def on_mount(self) -> None:
        self._ready = True
        if isinstance(self.app, SavesOnExit):
            self.app.before_end.add(self._keep_now)
        self.update()
        self.query_one(f"#{self.begins_at}").focus()

    @property
    def begins_at(self) -> str:
        """What has the focus first."""
        return "field" if self._field is not None else "typed" if self._typed else "no"

    def update(
        self,
        *,
        facts: Sequence[Fact] | None = None,
        intro: Words | None = None,
        after: Words | None = None,
        typed: str | None = None,
        why_typed: str | None = None,
        blocked: str | None = None,
        foot: str | None = None,
        verb: str | None = None,
    ) -> None:
        """Show what is known by now. What is None stays. What has been typed, and the focus, stay."""
        if facts is not None:
            self._facts = facts
        self._typed = self._typed if typed is None else typed
        self._typed_why = self._typed_why if why_typed is None else why_typed
        self._blocked = self._blocked if blocked is None else blocked
        self._foot = self._foot if foot is None else foot
        self.verb = self.verb if verb is None else verb
        self._intro = self._intro if intro is None else intro
        self._after = self._after if after is None else after
        if not self._ready or not self._stands:
            return  # not shown yet, or not any more
        self.query_one(Facts).facts = self._facts
        for name, words in (("intro", self._intro), ("after", self._after), ("why", self._blocked or self._typed_why)):
            static = self.query_one(f".confirm--{name}", Static)
            static.update(safe_lines(words))
            static.display = bool(words)
        typing = self.query_one("#typed", LineInput)
        typing.display = bool(self._typed) and not self._blocked
        self._show_state()
        self.call_after_refresh(self._fit)

    def read_first(self) -> None:
        """What is shown came in just now: offer yes once there was time to read it."""
        if self._reading is not None:
            self._reading.stop()
        self._came_in = wording.clock()
        self._reading = self.set_timer(READ_SECONDS, self._was_read)

    def _was_read(self) -> None:
        self._came_in = None
        if self._ready and self._stands:
            self._show_state()

    @property
    def _just_in(self) -> bool:
        if self._came_in is None or self._typed:
            return False
        return 0 <= (wording.clock() - self._came_in).total_seconds() < READ_SECONDS

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Let the body scroll where the screen is too low, so that the buttons are always to be seen."""
        if not self._stands:
            return  # it was answered meanwhile
        frame = self.query_one(Frame)
        body = self.query_one(".confirm--body")
        others = sum(each.outer_size.height + each.styles.margin.height for each in frame.children if each is not body)
        body.styles.max_height = max(3, self.size.height - others - 4)
        self.call_after_refresh(self.refresh_bindings)  # whether there is more to read is known when it is laid out

    @property
    def _stands(self) -> bool:
        """Whether what is known is still to be shown."""
        return not self._answered and not is_being_removed(self)

    @property
    def is_open(self) -> bool:
        """Whether it still can be decided."""
        return True

    @property
    def is_by_key(self) -> bool:
        """Whether `y` confirms: no word has to be typed, and nothing blocks the action."""
        return not (self._typed or self._blocked)

    @property
    def text(self) -> str:
        """What is written in the field now."""
        return self._written_in("field")

    def _written_in(self, name: str) -> str:
        if name not in self._fields:
            return ""
        field = self.query_one(f"#{name}")
        return (field.text if isinstance(field, TextArea) else field.value if isinstance(field, Input) else "").strip()

    def why_not_confirmed(self) -> str | None:
        """Why it cannot be done now, in a sentence."""
        if not self._ready or not self._stands:
            return None
        if self._blocked:
            return self._blocked
        if self._just_in:
            return "The checks just finished loading. Read them, then press y."
        if self._field is not None and self._field.required and not self.text:
            return self._field.required
        for name, field in self._fields.items():
            if field.max_length and (length := len(self._written_in(name))) > field.max_length:
                return (
                    f"The {field.label.lower()} has {length} characters. Enter at most {field.max_length} characters."
                )
        if self._typed and self.query_one("#typed", LineInput).value.strip() != self._typed:
            return self._typed_why or f"Type {self._typed} to confirm."
        return None

    @property
    def keys_named(self) -> frozenset[str]:
        # Where enter does it, its button says so; and a body that is seen whole tells nobody to read on.
        by_enter = any(button.key == "enter" for button in self.query("#yes").results(TextButton))
        whole = all(each.max_scroll_y == 0 for each in self.query(".confirm--body"))
        return super().keys_named | ({"ctrl+s"} if by_enter else set()) | ({"↓", "↑"} if whole else set())

    def _show_state(self) -> None:
        button = self.query_one("#yes", TextButton)
        button.words = self.verb
        button.off = self.why_not_confirmed() is not None
        longest = max((field.lines for field in self._fields.values()), default=0)
        key = "y" if not longest else "ctrl+s" if longest > 1 else "enter"
        button.key = "" if self._typed or self._blocked or self._just_in else key
        kept = {name: each.value.strip() for name, each in self._fields.items() if each.keep is not None}
        is_kept = any(self._written_in(name) not in ("", before) for name, before in kept.items())
        self.query_one(Frame).name_it(self._title, self._foot or (self.DRAFT_NOTE if is_kept else ""))
        self.refresh_bindings()

    def on_key(self, event: Key) -> None:
        """Whoever begins to type the word types it, wherever the focus is."""
        typing = self.query_one("#typed", LineInput)
        if typing.display and isinstance(self.focused, TextButton) and event.character == self._typed[:1]:
            event.stop()
            typing.value = self._typed[:1]
            typing.focus()

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _written(self) -> None:
        self._show_state()
        if any(field.keep is not None for field in self._fields.values()):
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(self._clock.typed(monotonic()), self._keep)

    def _keep(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._clock.kept()
        for name, field in self._fields.items():
            if field.keep is not None and self.query(f"#{name}"):
                field.keep(self._written_in(name))

    def _keep_now(self) -> None:
        for name, field in self._fields.items():
            if field.keep_now is not None and self.query(f"#{name}"):
                field.keep_now(self._written_in(name))

    def on_unmount(self) -> None:
        if isinstance(self.app, SavesOnExit):
            self.app.before_end.discard(self._keep_now)

    @on(Input.Submitted)
    async def _submitted(self) -> None:
        await self.do("dialog.yes")

    @on(TextButton.Pressed)
    async def _pressed(self, message: TextButton.Pressed) -> None:
        await self.do("dialog.yes" if message.button.id == "yes" else "dialog.no")

    def confirm(self) -> None:
        """Answer that it is to be done."""
        if not self._answered:
            self._answered = True
            self._keep()
            self.dismiss(Confirmed(self.text, self._written_in("also")))

    def cancel(self) -> None:
        """Answer that all stays as it is."""
        if not self._answered:
            self._answered = True
            self._keep()
            self.dismiss(None)

    def scroll_body(self, pages: int) -> None:
        """Read on by so many pages where the dialog is longer than the screen."""
        body = self.query_one(".confirm--body", VerticalScroll)
        body.scroll_relative(y=pages * max(1, body.size.height - 2), animate=False)
