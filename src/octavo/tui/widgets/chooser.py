"""Dialogs with a list that is filtered by typing: the base class `Chooser`, `Picker` for items, and `ThemePicker`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, Static

from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.row_list import FuzzyMatch, Row, RowHeading, RowList, fuzzy_match
from octavo.tui.widgets.short_texts import AnyText, fit, safe
from octavo.tui.widgets.text_inputs import FilterInput
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.themes import THEME_DETAILS, palettes

if TYPE_CHECKING:
    from textual.app import App


T = TypeVar("T")

MAX_TITLE_WIDTH = 34
"""Maximum width of the titles in cells, if the explanations need the rest of the row."""
_FRAME_WIDTH = 100
"""Width of the dialog in cells. `chooser.tcss` has the same number."""
_ROW_MARGIN = 14
"""Cells of a row that are not available for texts: border, cursor and gaps."""
_KEY_SCORE = 1000.0
"""Score of a choice if the query is its key, `Choice.right`. Other choices have lower scores."""
_TITLE_BONUS = 100.0
"""Bonus for the score if the title of a choice matches."""
_SYNONYM_BONUS = 90.0
"""Bonus for the score if a synonym of a choice matches."""
_WHOLE_WORD_SCORE = 50.0
"""Minimum score of a text that contains the typed word. Texts with its letters scattered over words score less."""
_MIN_QUERY_LENGTH = 2
"""Shorter queries are searched only in titles and synonyms, because almost every text contains a single letter."""
_DOMAIN = re.compile(r"(?<=\w)@[\w.-]+")


@dataclass(frozen=True)
class Choice(Generic[T]):
    """An item that the user can choose. `detail` explains the item. `disabled_reason` says why it cannot be chosen."""

    value: T
    title: str
    detail: str = ""
    right: str = ""
    group: str = ""
    sign: AnyText | None = None
    disabled_reason: str = ""
    synonyms: str = ""
    """Other words for the item, in which the filter also searches."""
    view: str = ""
    """Name of another view in which the item opens. Empty if the item opens in the current view."""

    @property
    def explanation(self) -> str:
        """The disabled reason, then the detail. The reason comes first, because a narrow row cuts the end."""
        if not (self.detail and self.disabled_reason):
            return self.disabled_reason or self.detail
        return f"{self.disabled_reason.removesuffix('.')} · {self.detail}"


@dataclass(frozen=True, slots=True)
class MatchedChoice(Generic[T]):
    """A choice in the list, its index among all choices, and how it matches the query (None without a query)."""

    number: int
    choice: Choice[T]
    match: FuzzyMatch | None = None


CHOOSER: Commands[Chooser[Any, Any]] = Commands(
    "chooser",
    (
        Command("next", "down,ctrl+n", "Next", "Go to the next item", run=lambda _, chooser: chooser.rows.move(1), shown=False, priority=True),
        Command("previous", "up,ctrl+p", "Previous", "Go to the previous item", run=lambda _, chooser: chooser.rows.move(-1), shown=False, priority=True),
        Command("page_down", "pagedown", "Page down", "Go down half a page", run=lambda _, chooser: chooser.rows.move_by_half_page(1), shown=False, priority=True),
        Command("page_up", "pageup", "Page up", "Go up half a page", run=lambda _, chooser: chooser.rows.move_by_half_page(-1), shown=False, priority=True),
        Command("choose", "enter", "Choose", "Choose the selected item", run=lambda _, chooser: chooser.choose_after_typing(), priority=True),
        Command("close", "escape", "Close", "Close without choosing", run=lambda _, chooser: chooser.cancel(), priority=True),
    ),
)  # fmt: skip


class Chooser(Dialog[ScreenResultType], Generic[ScreenResultType, T]):
    """Dialog with choices, which the user filters by typing. Enter calls `accept` with the selected choice."""

    CSS_PATH = dialog_styles(__file__, "chooser.tcss")
    HELP_NAME: ClassVar[str] = "palette and pickers"
    PLACEHOLDER: ClassVar[str] = "Type to filter"
    COUNT_NOUN: ClassVar[str] = ""
    """Noun to count choices, such as `command` in `285 commands`. If empty, they are counted only while filtering."""
    NO_MATCH_HINT: ClassVar[str] = ""
    """Sentence after “Nothing matches …”, with a leading space."""
    FOOTER: ClassVar[str] = "enter choose"
    GROUPS_MATCHES: ClassVar[bool] = False
    """True if matches stay in their groups, because titles repeat. The cursor then goes to the best match."""
    SHOWS_EXPLANATION: ClassVar[bool] = False
    """True if the explanation of the selected choice is always shown below the list."""
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CHOOSER,)

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]] = (),
        *,
        empty: str = "No items to choose from.",
        is_loading: bool = False,
    ) -> None:
        super().__init__()
        self.is_loading = is_loading
        self._title, self._choices, self._empty = title, choices, empty
        self._title_width = 0
        self._listed_query = ""
        """Query for which the list shows the matches."""
        self.has_listed_choices = False
        """True as soon as the list shows the choices."""

    def body(self) -> ComposeResult:
        self._choices = self.choices()
        with DialogFrame():
            if intro := self.intro():
                yield Static(intro, classes="chooser--prose")
            with Horizontal(classes="chooser--line"):
                yield Static(Content("❯"), classes="chooser--sign")
                yield FilterInput(placeholder=self.PLACEHOLDER)
                yield ChangingText(classes="chooser--count")
            self.rows: RowList[MatchedChoice[T]] = RowList(
                self.draw, key=lambda matched: matched.number, groups=self._headings, empty=self._empty
            )
            yield self.rows
            if self.shows_explanation:
                yield ChangingText(classes="chooser--whole")

    def choices(self) -> Sequence[Choice[T]]:
        """Return all choices. The dialog calls this method once, when it is composed."""
        return self._choices

    def intro(self) -> Content | None:
        """Return a text to show above the input. None to show no text."""
        return None

    @property
    def shows_explanation(self) -> bool:
        """True if the explanation of the selected choice is shown below the list."""
        return self.SHOWS_EXPLANATION or any(choice.detail and choice.disabled_reason for choice in self._choices)

    @property
    def has_row_explanations(self) -> bool:
        """True if each row shows the explanation of its choice after the title."""
        return not (self.shows_explanation and self.has_class("-tiny"))

    def draw(self, matched: MatchedChoice[T]) -> Row:
        choice = matched.choice
        title = self.highlighted_title(matched)
        detail = safe(choice.explanation) if self.has_row_explanations else Content("")
        title_column = fit(title, self._title_width) if detail else title
        text = Content.assemble(title_column, "   ", (detail.plain, "$octavo-muted")) if detail else title_column
        return Row(
            text=text,
            sign=choice.sign,
            right=Content.styled(choice.right, "$primary"),
            dim=bool(choice.disabled_reason),
        )

    def highlighted_title(self, matched: MatchedChoice[T]) -> Content:
        """Return the title of a choice, with the letters that match the query highlighted."""
        title = safe(matched.choice.title)
        return matched.match.highlight(title, "bold $primary") if matched.match else title

    def on_mount(self) -> None:
        self.rows.is_always_highlighted = True
        self.rows.can_focus = False
        self.query_one(DialogFrame).set_border_texts(self._title, self.FOOTER)
        self._title_width = self._measure_titles()
        self._list_matches("")
        self.has_listed_choices = True
        self.select_initial()
        self._explain_selected()
        self.focus_at_once(self.query_one(FilterInput))

    def select_initial(self) -> None:
        """Move the cursor to the choice to select first. By default, do nothing, so the first choice is selected."""

    def show_choices(self, choices: Sequence[Choice[T]]) -> None:
        """Replace the choices. The typed query stays. If the cursor is below the first row, it stays on its choice."""
        selected_value = self.rows.item.choice.value if self.rows.item is not None and self.rows.cursor else None
        self._choices = choices
        self._title_width = self._measure_titles()
        self._list_matches(self.query_one(FilterInput).value)
        same_number = next(
            (matched.number for matched in self.rows.items if matched.choice.value == selected_value), None
        )
        if same_number is not None:
            self.rows.go_to(same_number)

    def _headings(self, matched: MatchedChoice[T]) -> Sequence[RowHeading]:
        has_heading = matched.choice.group and (matched.match is None or self.GROUPS_MATCHES)
        return [RowHeading(matched.choice.group)] if has_heading else []

    def _measure_titles(self) -> int:
        explained_choices = [each for each in self._choices if each.explanation]
        longest_title = max((safe(each.title).cell_length for each in explained_choices), default=0)
        right_width = max(
            (safe(each.explanation).cell_length + safe(each.right).cell_length for each in explained_choices), default=0
        )
        free_width = min(_FRAME_WIDTH, self.app.size.width) - _ROW_MARGIN - right_width
        return min(longest_title, max(MAX_TITLE_WIDTH, free_width))

    def _list_matches(self, query: str) -> None:
        self._listed_query = query
        if query.strip():
            matches = self.find_matches(query)
            self.rows.state.empty = f"Nothing matches “{query.strip()[:60]}”.{self.NO_MATCH_HINT}"
        else:
            matches = [MatchedChoice(number, choice) for number, choice in enumerate(self._choices)]
            self.rows.state.empty = self._empty
        if self.is_loading:
            self.rows.state.empty = "Loading choices…"
        self.rows.show(sorted(matches, key=lambda each: each.number) if self.GROUPS_MATCHES else matches)
        self.rows.go_to_first()
        if self.GROUPS_MATCHES and matches:
            self.rows.go_to(matches[0].number)
        total_text = f" of {len(self._choices)}" if query.strip() and len(matches) <= len(self._choices) else ""
        noun = f" {self.COUNT_NOUN}{'' if len(self._choices) == 1 else 's'}" if self.COUNT_NOUN else ""
        count_text = f"{len(matches)}{total_text}{noun}" if total_text or noun else ""
        self.query_one(".chooser--count", Static).update(Content(count_text))

    def find_matches(self, query: str) -> list[MatchedChoice[T]]:
        """Return the choices that match the query, the best match first."""
        matches = [
            MatchedChoice(number, choice, matched)
            for number, choice in enumerate(self._choices)
            if (matched := match_choice(query, choice)) is not None
        ]
        return sorted(matches, key=lambda each: -each.match.score if each.match else 0.0)

    @on(Input.Changed)
    def _update_matches(self, message: Input.Changed) -> None:
        message.stop()
        self._list_matches(message.value)

    @on(RowList.Highlighted)
    def _show_selected(self, message: RowList.Highlighted) -> None:
        message.stop()
        self.query_one(DialogFrame).set_border_texts(self._title, self.FOOTER)
        self._explain_selected()
        if self.rows.item is not None:
            self.preview(self.rows.item.choice)

    def _explain_selected(self) -> None:
        selected = self.rows.item
        for explanation in self.query(".chooser--whole").results(Static):
            explanation.update(safe(selected.choice.explanation) if selected is not None else Content(""))

    def preview(self, choice: Choice[T]) -> None:
        """Called when the cursor moves to a choice, to show its effect, such as a theme. Does nothing by default."""

    @on(RowList.Opened)
    def _choose_clicked(self, message: RowList.Opened) -> None:
        message.stop()
        self.choose()

    def choose_after_typing(self) -> None:
        """Call `choose` as soon as the letters that were typed before enter have filtered the list."""
        self.query_one(FilterInput).call_later(self.choose)

    def choose(self) -> None:
        """Call `accept` with the selected choice. If the choice is disabled, show why. Do nothing without a choice."""
        if not self.is_active:
            return  # The user pressed enter twice, so the dialog is closed.
        if (query := self.query_one(FilterInput).value) != self._listed_query:
            self._list_matches(query)
        selected = self.rows.item
        if selected is None:
            return
        if selected.choice.disabled_reason:
            self.query_one(DialogFrame).set_border_texts(self._title, selected.choice.disabled_reason)
        else:
            self.accept(selected.choice)

    def accept(self, choice: Choice[T]) -> None:
        """Called when the user chooses an item. By default, close the dialog with the value of the item as result."""
        self.dismiss(choice.value)  # type: ignore[arg-type]  # Subclasses with other results override this method.

    def cancel(self) -> None:
        """Close the dialog. Its result is None."""
        self.dismiss(None)


def match_choice(query: str, choice: Choice[Any]) -> FuzzyMatch | None:
    """Return how well a choice matches the query, and which letters of its title match. None if it does not match."""
    if query.strip() in choice.right.split():
        return FuzzyMatch(_KEY_SCORE)  # The query is a key: the user looks for the command of this key.
    title_match = fuzzy_match(query, safe(choice.title).plain)
    if title_match is not None:
        title_match = FuzzyMatch(title_match.score + _TITLE_BONUS, title_match.indexes)
    synonym_match = fuzzy_match(query, f"{choice.synonyms} {choice.title}") if choice.synonyms else None
    # Whole words in a synonym count more than letters that are scattered over a title.
    if synonym_match is not None and synonym_match.score >= _WHOLE_WORD_SCORE * len(query.split()):
        return max(
            title_match, FuzzyMatch(synonym_match.score + _SYNONYM_BONUS), key=lambda each: each.score if each else 0.0
        )
    if title_match is not None:
        return title_match
    if len(query.strip()) < _MIN_QUERY_LENGTH:
        return None
    all_text = f"{choice.title} {choice.synonyms} {choice.detail} {choice.right} {choice.group}"
    # Most e-mail addresses share a domain, so only a query with @ searches domains.
    text_match = fuzzy_match(query, all_text if "@" in query else _DOMAIN.sub("", all_text))
    # In a long text, scattered letters match by chance, so a whole word must match.
    return FuzzyMatch(text_match.score) if text_match is not None and text_match.score >= _WHOLE_WORD_SCORE else None


MIN_ROW_WIDTH = 64
"""Cells that a row has for title and explanation in the narrowest terminal."""
SEARCH_DELAY = 0.3
"""Seconds after the last key until `find_more` is called."""


class Picker(Chooser[T | None, T]):
    """A dialog to choose one item. Its result is the value of the item, or None if the user closes the dialog."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        *,
        empty: str = "No items to choose from.",
        on_preview: Callable[[T], None] | None = None,
        initial: T | None = None,
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
        is_loading: bool = False,
    ) -> None:
        """The choice with the value `initial` is selected first. `on_preview` is called with the value under the
        cursor. `find_more` returns more choices for a query. If `is_loading`, `show_loaded` gets the choices later."""
        super().__init__(title, choices, empty=empty, is_loading=is_loading)
        self._on_preview, self._initial, self._find_more = on_preview, initial, find_more
        self._search_delay = Delay(self)
        widths = [
            (safe(choice.title).cell_length, safe(choice.disabled_reason or choice.detail).cell_length)
            for choice in choices
        ]
        title_column = min(
            max((title_width for title_width, detail_width in widths if detail_width), default=0), MAX_TITLE_WIDTH
        )
        self._has_long_details = any(title_column + detail_width > MIN_ROW_WIDTH for _, detail_width in widths)

    @property
    def shows_explanation(self) -> bool:
        return self._has_long_details

    def select_initial(self) -> None:
        number = next((number for number, choice in enumerate(self._choices) if choice.value == self._initial), None)
        if number is not None:
            self.rows.go_to(number)

    def show_loaded(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
    ) -> None:
        """Show the choices that have been loaded, and search with `find_more` from now on. The typed query stays."""
        self._title, self._find_more, self.is_loading = title, find_more, False
        if not self.has_listed_choices:
            self._choices = choices
        elif self.is_attached:
            has_moved_cursor = bool(self.rows.cursor)
            self.show_choices(choices)
            self.query_one(DialogFrame).set_border_texts(title, self.FOOTER)
            if query := self.query_one(FilterInput).value.strip():
                self._search_later(query)
            elif not has_moved_cursor:
                self.select_initial()

    def preview(self, choice: Choice[T]) -> None:
        if self._on_preview is not None:
            self._on_preview(choice.value)

    @on(Input.Changed)
    def _search_typed(self, message: Input.Changed) -> None:
        self._search_later(message.value.strip())

    def _search_later(self, query: str) -> None:
        self._search_delay.stop()
        if self._find_more is not None and query:
            search = partial(self._add_found, self._find_more, query)
            self._search_delay.start(SEARCH_DELAY, lambda: self.run_worker(search(), exclusive=True))

    async def _add_found(self, find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]], text: str) -> None:
        found_choices = await find_more(text)
        known_values = [choice.value for choice in self._choices]
        if new_choices := [value for value in found_choices if value.value not in known_values]:
            self.show_choices([*self._choices, *new_choices])


class ThemePicker:
    """Lets the user try themes in a picker, and choose one."""

    def __init__(self, app: App[Any], save: Callable[[str], None] = lambda name: None) -> None:
        """`save` is called with the name of the theme that the user chose."""
        self._app, self._save = app, save
        self.chosen_name = app.theme
        """Name of the chosen theme. Shown again when the user stops trying other themes."""

    @property
    def names(self) -> list[str]:
        """Names of all themes except those named `textual-…`. The themes of Octavo come first."""
        own_names = list(palettes())
        other_names = sorted(
            name for name in self._app.available_themes if name not in own_names and not name.startswith("textual-")
        )
        return own_names + other_names

    def preview(self, name: str | None) -> None:
        """Show a theme without saving it. If `name` is None, show the chosen theme again."""
        if self._app.theme != (name := name or self.chosen_name):
            self._app.theme = name

    def open_picker(self) -> None:
        """Open a picker of themes. The app shows the theme under the cursor at once."""
        choices = [
            Choice(
                name,
                name,
                detail=THEME_DETAILS.get(name, ""),
                right="current" if name == self.chosen_name else "",
                group="OCTAVO THEMES" if name in palettes() else "POPULAR THEMES",
            )
            for name in self.names
        ]
        self._app.push_screen(Picker("Theme", choices, on_preview=self.preview, initial=self.chosen_name), self.choose)

    def choose(self, name: str | None) -> None:
        """Show a theme and save it as the chosen theme. If `name` is None, show the chosen theme again."""
        self.preview(name)
        if name is not None:
            self.chosen_name = name
            self._save(name)
