"""Choose somebody to name in what one writes. It opens where `@` begins a word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Protocol

from textual.widgets import Input

from octavo.api.users import User
from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.fuzzy_match import Match


class MentionCandidates(Protocol):
    """Who can be named."""

    @property
    def trouble(self) -> str:
        """Why not all of them are known. Empty when they are."""

    def known(self) -> Sequence[User]:
        """Those known now."""

    async def ask(self) -> None:
        """Find out who there is now."""


class Mentions(Chooser[User | str, User]):
    """Answers the person, or what was typed when it was closed without one: nothing typed is lost."""

    PLACEHOLDER: ClassVar[str] = "Name of a person"
    FOOT: ClassVar[str] = "enter names them · esc writes on"

    def __init__(self, people: MentionCandidates) -> None:
        super().__init__("Who?", _choices(people.known()), empty="Nobody is known here yet.")
        self._people = people

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._ask(self._people.ask))

    async def _ask(self, ask: Callable[[], Awaitable[None]]) -> None:
        await ask()
        if self._people.trouble:
            self._empty = self.rows.state.empty = f"Who there is, is not known: {self._people.trouble}"
        self.show_choices(_choices(self._people.known()))

    @staticmethod
    def _match(query: str, choice: Choice[User]) -> Match | None:
        """Of names that answer alike, those stay first who are first: a short name is no reason to come before."""
        found = Chooser._match(query, choice)
        return Match(float(round(found.score)), found.places) if found is not None else None

    @property
    def typed(self) -> str:
        """What is typed so far."""
        return self.query_one(FilterInput).value

    def on_input_changed(self, message: Input.Changed) -> None:
        # A word that is nobody's name was meant as it is: one writes on.
        if message.value.endswith(" ") and self.rows.item is None:
            self.dismiss(message.value)

    def take(self, choice: Choice[User]) -> None:
        self.dismiss(choice.value)

    def choose(self) -> None:
        if self.rows.item is None:
            self.dismiss(self.typed)
        else:
            super().choose()

    def close_empty(self) -> None:
        self.dismiss(self.typed)


def _choices(people: Sequence[User]) -> list[Choice[User]]:
    return [Choice(user, user.name, right=user.email or "") for user in people]
