"""What palette, help and pickers have in common: a line to type in, and what answers it below."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, Static

from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.fuzzy_match import Match, match
from octavo.tui.widgets.row_list import Heading, Row, Rows
from octavo.tui.widgets.safe_text import Words, fit, safe

T = TypeVar("T")

TITLE_MOST = 34
_ROWS_MOST = 24
_KEY = 1000.0
"""How well what is typed answers when it is just what stands at the right, as keys do: better than any title."""
_TITLED, _NAMED = 100.0, 90.0
"""How much better what is typed answers when it is in the title, or in another name of the same."""
_WHOLE = 50.0
"""How well a word matches at least that stands there whole."""
_LEAST_ELSEWHERE = 2
"""Letters that are looked for beside the title too: one stands everywhere."""
_DOMAIN = re.compile(r"(?<=\w)@[\w.-]+")


@dataclass(frozen=True)
class Choice(Generic[T]):
    """One thing to choose. `detail` says what it is or does; `off` is the sentence that says why it cannot be chosen now."""

    value: T
    title: str
    detail: str = ""
    right: str = ""
    group: str = ""
    sign: Words | None = None
    off: str = ""
    words: str = ""
    """Other names by which it is found."""
    place: str = ""
    """The view it leads to, if that is another view than the one below."""

    @property
    def explained(self) -> str:
        """What it is or does, and then why it cannot be chosen now."""
        if not (self.detail and self.off):
            return self.off or self.detail
        return f"{self.off} {self.detail}"  # a row may have no room for more than the reason


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A choice that answers what is typed."""

    number: int
    choice: Choice[T]
    match: Match | None = None


CHOOSING: Commands[Chooser[Any, Any]] = Commands(
    "chooser",
    (
        Command("next", "down,ctrl+n", "Next", "Go to the next item", run=lambda _, chooser: chooser.rows.move(1), shown=False, priority=True),
        Command("previous", "up,ctrl+p", "Previous", "Go to the previous item", run=lambda _, chooser: chooser.rows.move(-1), shown=False, priority=True),
        Command("page_down", "pagedown", "Page down", "Go down half a page", run=lambda _, chooser: chooser.rows.page(1), shown=False, priority=True),
        Command("page_up", "pageup", "Page up", "Go up half a page", run=lambda _, chooser: chooser.rows.page(-1), shown=False, priority=True),
        Command("choose", "enter", "Choose", "Choose the selected item", run=lambda _, chooser: chooser.choose_once_typed(), priority=True),
        Command("close", "escape", "Close", "Close without choosing", run=lambda _, chooser: chooser.close_empty(), priority=True),
    ),
    find=lambda chooser: chooser,
)  # fmt: skip


class Chooser(Dialog[ScreenResultType], Generic[ScreenResultType, T]):
    """Choices that get fewer as one types. Enter takes the one at the cursor: `take`."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [STYLES / "dialog.tcss", STYLES / "chooser.tcss"]
    CONTEXT: ClassVar[str] = "palette and pickers"
    PLACEHOLDER: ClassVar[str] = "Type to filter"
    COUNTED: ClassVar[str] = ""
    """The name of one choice beside the number of choices: `285 commands`. Empty: only how many match is said."""
    FOOT: ClassVar[str] = "enter choose"
    EXPLAINS: ClassVar[bool] = False
    """Whether what is told of the choice at the cursor stands below the list too, whole: in a row much of it is cut."""
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CHOOSING,)
    take: Callable[[Choice[T]], None]
    """What is done when enter is pressed on a choice that is not off. Each chooser has its own."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]] = (),
        *,
        empty: str = "No items to choose from.",
        waits: bool = False,
    ) -> None:
        super().__init__()
        self.waits = waits
        """Whether what there is to choose, or the rest of it, is still being read."""
        self._title, self._choices, self._empty = title, choices, empty
        self._column = 0
        self._found_for = ""
        """What was typed for what is listed."""
        self.is_shown = False
        """Whether the choices are in the list: `is_mounted` holds only later."""

    def body(self) -> ComposeResult:
        self._choices = self.choices()
        with Frame():
            if prose := self.prose():
                yield Static(prose, classes="chooser--prose")
            with Horizontal(classes="chooser--line"):
                yield Static(Content("❯"), classes="chooser--sign")
                yield FilterInput(placeholder=self.PLACEHOLDER)
                yield ChangingText(classes="chooser--count")
            yield self.rows_widget()
            if self.explains:
                yield ChangingText(classes="chooser--whole")

    def choices(self) -> Sequence[Choice[T]]:
        """What there is to choose."""
        return self._choices

    def prose(self) -> Content | None:
        """What stands above the line."""
        return None

    @property
    def explains(self) -> bool:
        """Whether it does so (`EXPLAINS`), or what a choice is and why it is off would not fit in a row."""
        return self.EXPLAINS or any(each.detail and each.off for each in self._choices)

    @property
    def has_row_details(self) -> bool:
        """Whether rows have room for what is told of a choice beside its title."""
        return not (self.explains and self.has_class("-tiny"))

    def rows_widget(self) -> Rows[Found[T]]:
        """The list."""
        return Rows(self.draw, key=lambda found: found.number, groups=self._groups, empty=self._empty)

    def draw(self, found: Found[T]) -> Row:
        """How a choice is shown."""
        choice = found.choice
        title = self.titled(found)
        detail = safe(choice.explained) if self.has_row_details else Content("")
        column = fit(title, self._column) if detail else title
        text = Content.assemble(column, "   ", (detail.plain, "$octavo-muted")) if detail else column
        return Row(text=text, sign=choice.sign, right=Content.styled(choice.right, "$primary"), dim=bool(choice.off))

    def titled(self, found: Found[T]) -> Content:
        """The title of a choice, with what matches marked."""
        title = safe(found.choice.title)
        return found.match.shown(title, "bold $primary") if found.match else title

    def on_mount(self) -> None:
        self.rows.always_lit = True
        self.rows.can_focus = False
        self.query_one(Frame).name_it(self._title, self.FOOT)
        self._find("")
        self.is_shown = True
        self.begin()
        self.query_one(FilterInput).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Let the list scroll where the screen is too low: it would end below the frame, with the cursor in it."""
        for frame in self.query(Frame):
            others = [each for each in frame.children if each is not self.rows and each.display]
            taken = sum(each.outer_size.height + each.styles.margin.height for each in others)
            room = self.size.height - frame.styles.margin.top - frame.gutter.height - taken - 2
            self.rows.styles.max_height = min(_ROWS_MOST, max(1, room))

    def begin(self) -> None:
        """Put the cursor where it shall be at first, if that is not the top."""

    @property
    def rows(self) -> Rows[Found[T]]:
        """The list of what answers what is typed."""
        return self.query_one(Rows)

    def show_choices(self, choices: Sequence[Choice[T]]) -> None:
        """There is something else to choose: what is typed holds, and the cursor stays where it was put."""
        at = self.rows.item.choice.value if self.rows.item is not None and self.rows.cursor else None
        self._choices = choices
        self._find(self.query_one(FilterInput).value)
        same = next((found.number for found in self.rows.items if found.choice.value == at), None)
        if same is not None:
            self.rows.go_to(same)

    def _groups(self, found: Found[T]) -> Sequence[Heading]:
        return [Heading(found.choice.group)] if found.choice.group and found.match is None else []

    def _find(self, query: str) -> None:
        self._found_for = query
        titles = [safe(each.title).cell_length for each in self._choices if each.detail or each.off]
        self._column = min(max(titles, default=0), TITLE_MOST)
        if query.strip():
            found = self.answers(query)
            self.rows.state.empty = f"Nothing matches “{query.strip()[:60]}”."
        else:
            found = [Found(number, choice) for number, choice in enumerate(self._choices)]
            self.rows.state.empty = self._empty
        if self.waits:
            self.rows.state.empty = "Loading choices…"
        self.rows.show(found)
        self.rows.go_to_first()
        of_all = f" of {len(self._choices)}" if query.strip() and len(found) <= len(self._choices) else ""
        unit = f" {self.COUNTED}{'' if len(self._choices) == 1 else 's'}" if self.COUNTED else ""
        count = f"{len(found)}{of_all}{unit}" if of_all or unit else ""
        self.query_one(".chooser--count", Static).update(Content(count))

    def answers(self, query: str) -> list[Found[T]]:
        """The choices that answer what is typed, the best first."""
        found = [
            Found(number, choice, matched)
            for number, choice in enumerate(self._choices)
            if (matched := answering(query, choice)) is not None
        ]
        return sorted(found, key=lambda each: -each.match.score if each.match else 0.0)

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        message.stop()
        self._find(message.value)

    @on(Rows.Highlighted)
    def _looked_at(self, message: Rows.Highlighted) -> None:
        message.stop()
        self.query_one(Frame).name_it(self._title, self.FOOT)
        found = self.rows.item
        for whole in self.query(".chooser--whole").results(Static):
            whole.update(safe(found.choice.explained) if found is not None else Content(""))
        if found is not None:
            self.looked_at(found.choice)

    def looked_at(self, choice: Choice[T]) -> None:
        """The cursor came to a choice."""

    @on(Rows.Chosen)
    def _clicked(self, message: Rows.Chosen) -> None:
        message.stop()
        self.choose()

    def choose_once_typed(self) -> None:
        """Take what answers all that was typed before: letters that came with enter are still on their way."""
        self.query_one(FilterInput).call_later(self.choose)

    def choose(self) -> None:
        """Take what the cursor is on, or say why that cannot be."""
        if (typed := self.query_one(FilterInput).value) != self._found_for:
            self._find(typed)
        found = self.rows.item
        if found is None:
            return
        if found.choice.off:
            self.query_one(Frame).name_it(self._title, found.choice.off)
        else:
            self.take(found.choice)

    def close_empty(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


def answering(query: str, choice: Choice[Any]) -> Match | None:
    """How well a choice answers what is typed. None: not at all."""
    if query.strip() in choice.right.split():
        return Match(_KEY)  # whoever types a key wants to know what it does
    in_title = match(query, safe(choice.title).plain)
    if in_title is not None:
        in_title = Match(in_title.score + _TITLED, in_title.places)
    named = match(query, f"{choice.words} {choice.title}") if choice.words else None
    # Whole words of another name say more than letters that are strewn over the title.
    if named is not None and named.score >= _WHOLE * len(query.split()):
        return max(in_title, Match(named.score + _NAMED), key=lambda each: each.score if each else 0.0)
    if in_title is not None:
        return in_title
    if len(query.strip()) < _LEAST_ELSEWHERE:
        return None
    about = f"{choice.title} {choice.words} {choice.detail} {choice.right} {choice.group}"
    # The domain of an address is that of everybody's: it is looked through only by who types it.
    elsewhere = match(query, about if "@" in query else _DOMAIN.sub("", about))
    # Letters strewn over a whole sentence say nothing: only words count there.
    return Match(elsewhere.score) if elsewhere is not None and elsewhere.score >= _WHOLE else None
