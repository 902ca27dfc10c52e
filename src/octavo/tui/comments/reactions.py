"""Which emoji one reacts with: those used last, the usual ones, and any other by its name or as it was pasted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from octavo.documents.emoji import api_code, to_emoji
from octavo.tui.comments.offers import EmojiNames, in_columns
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.shell.shell import Shell

REACTIONS = (
    ("1f44d", "agreed"),
    ("2764", "thank you"),
    ("1f389", "hooray"),
    ("1f440", "looking"),
    ("1f604", "made me smile"),
    ("1f914", "not sure"),
    ("2705", "done"),
    ("1f680", "ship it"),
)
MOST_USED = 8
"""Of those used last, how many come first."""
USED = "reactions used"
"""The fact of the state that keeps them."""


def used_last(state: StateDb) -> list[str]:
    """The codes of the emoji this profile reacted with last, the newest first."""
    kept = state.get_fact(USED, [])
    return [each for each in kept if isinstance(each, str)][:MOST_USED] if isinstance(kept, list) else []


def remember(state: StateDb, code: str) -> None:
    """One reacted with this."""
    state.set_fact(USED, [code, *(each for each in used_last(state) if each != code)][:MOST_USED])


class ReactionPicker(Chooser[str | None, str]):
    """Answers the code of an emoji."""

    PLACEHOLDER: ClassVar[str] = "Type a name or paste an emoji"

    def __init__(self, title: str, choices: list[Choice[str]]) -> None:
        super().__init__(title, choices, empty="No emoji found.")
        self._names = EmojiNames()

    def select_initial(self) -> None:
        self.run_worker(self._ask())

    async def _ask(self) -> None:
        await self._names.ask()
        self.show_choices(self._choices)

    def accept(self, choice: Choice[str]) -> None:
        self.dismiss(choice.value)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        found = super().find_matches(query)
        there = {each.value for each in self._choices}
        others = (each for each in self._names.named(query) if each.code not in there)
        more = (Choice(each.code, in_columns(each.sign, each.name)) for each in others)
        return [*found, *(MatchedChoice(number, choice) for number, choice in enumerate(more, len(self._choices)))]


def pick(app: Shell, title: str, mine: Collection[str], there: Collection[str], chosen: Callable[[str], None]) -> None:
    """Ask which emoji: those used last come first, then the usual ones, and those that are `there`. `mine` are taken back."""
    state, usual = app.session.state, dict(REACTIONS)
    spelled = {api_code(to_emoji(each)): each for each in (*there, *mine)}
    """As the server calls them: one that is taken back must be called so too."""
    codes = dict.fromkeys((*used_last(state), *usual, *spelled))
    choices = [
        Choice(
            code,
            _named(code, usual),
            right="your reaction · press enter to remove it" if spelled.get(code) in mine else "",
        )
        for code in codes
    ]

    def picked(code: str | None) -> None:
        if code is not None:
            remember(state, code)
            chosen(spelled.get(code, code))

    app.push_screen(ReactionPicker(title, choices), picked)


def _named(code: str, usual: dict[str, str]) -> str:
    """An emoji and what it says here, else its name."""
    from unicodedata import name

    sign = to_emoji(code)
    said = usual.get(code) or (name(sign[0], "").lower() if sign else "") or code
    return in_columns(sign, said)
