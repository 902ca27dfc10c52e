"""The picker of reactions: recently used emoji, common emoji, and every other emoji by its name or pasted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar
from unicodedata import name

from octavo.documents.emoji import api_code, to_emoji
from octavo.tui.comments.autocomplete import EmojiSuggestions, emoji_label
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.core.shell import Shell

COMMON_REACTIONS = (
    ("1f44d", "agreed"),
    ("2764", "thank you"),
    ("1f389", "hooray"),
    ("1f440", "looking"),
    ("1f604", "made me smile"),
    ("1f914", "not sure"),
    ("2705", "done"),
    ("1f680", "ship it"),
)
MAX_RECENT = 8
"""Number of recently used emoji at the top of the picker."""
RECENT_FACT = "reactions used"
"""Name under which the state database stores the recently used emoji."""


def recent_emoji(state: StateDb) -> list[str]:
    """Return the codes of the emoji this profile used last, newest first."""
    stored = state.get_fact(RECENT_FACT, [])
    return [each for each in stored if isinstance(each, str)][:MAX_RECENT] if isinstance(stored, list) else []


def remember_emoji(state: StateDb, code: str) -> None:
    """Store an emoji as the last used reaction."""
    state.set_fact(RECENT_FACT, [code, *(each for each in recent_emoji(state) if each != code)][:MAX_RECENT])


class ReactionPicker(Chooser[str | None, str]):
    """A picker that returns the code of an emoji."""

    PLACEHOLDER: ClassVar[str] = "Type a name or paste an emoji"

    def __init__(self, title: str, choices: list[Choice[str]]) -> None:
        super().__init__(title, choices, empty="No emoji found.")
        self._emoji = EmojiSuggestions()

    def select_initial(self) -> None:
        self.run_worker(self._load())

    async def _load(self) -> None:
        await self._emoji.load()
        self.show_choices(self._choices)

    def accept(self, choice: Choice[str]) -> None:
        self.dismiss(choice.value)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        common_matches = super().find_matches(query)
        existing = {each.value for each in self._choices}
        matches = (each for each in self._emoji.matching(query) if each.code not in existing)
        more = (Choice(match.code, emoji_label(match.character, match.name)) for match in matches)
        return [
            *common_matches,
            *(MatchedChoice(number, choice) for number, choice in enumerate(more, len(self._choices))),
        ]


def choose_emoji(
    app: Shell, title: str, own_reactions: Collection[str], existing: Collection[str], on_chosen: Callable[[str], None]
) -> None:
    """Ask for an emoji and call `on_chosen` with its code. The list shows recently used emoji first, then common emoji,
    then the `existing` reactions. `own_reactions` are the reactions of the user. Choosing one of them removes it."""
    state, common = app.session.state, dict(COMMON_REACTIONS)
    server_codes = {api_code(to_emoji(each)): each for each in (*existing, *own_reactions)}
    """Codes in the spelling of the server, which is needed to remove a reaction."""
    codes = dict.fromkeys((*recent_emoji(state), *common, *server_codes))
    choices = [
        Choice(
            code,
            _reaction_label(code, common),
            right="your reaction · press enter to remove it" if server_codes.get(code) in own_reactions else "",
        )
        for code in codes
    ]

    def on_picked(code: str | None) -> None:
        if code is not None:
            remember_emoji(state, code)
            on_chosen(server_codes.get(code, code))

    app.push_screen(ReactionPicker(title, choices), on_picked)


def _reaction_label(code: str, common: dict[str, str]) -> str:
    """Return an emoji and its meaning as a reaction, else its Unicode name."""
    sign = to_emoji(code)
    meaning = common.get(code) or (name(sign[0], "").lower() if sign else "") or code
    return emoji_label(sign, meaning)
