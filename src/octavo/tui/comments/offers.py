"""What is offered while one writes, where a sign begins a word: people at `@`, emoji at `:`.

Nothing typed is lost: closed without a choice, what was typed stays as it is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from rich.cells import cell_len

from octavo.api.users import User
from octavo.documents import emoji
from octavo.documents.emoji import NamedEmoji
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice, match_choice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.fuzzy_match import Match

T = TypeVar("T")

_EMOJI = re.compile(r"(?:^|(?<=[\s(“\"*_]))(:[a-z0-9_+-]{2,})$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")

OFFERS: Commands[Offers[Any]] = Commands(
    "chooser",
    (Command("take", "tab", "Insert", "Insert the selected item", run=lambda _, offers: offers.choose(), shown=False, priority=True),),
    find=lambda offers: offers,
)  # fmt: skip


def emoji_begun(before: str) -> str:
    """The `:` and the letters of a name that `before`, what stands before the cursor, ends with; empty where no name
    begins there, as in code."""
    found = _EMOJI.search(before)
    return found[1] if found is not None and not ends_in_code(before[: found.start()]) else ""


def ends_in_code(before: str) -> bool:
    """Whether what is written after `before` is code: in a fence, between backticks, or indented as code is."""
    fence = ""
    lines = before.split("\n")
    paragraph = 0
    for number, line in enumerate(lines[:-1]):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence, paragraph = "" if fence else mark[1], number + 1
        elif not line.strip():
            paragraph = number + 1
    if fence:
        return True
    here = lines[paragraph:]
    if here[0].startswith(("    ", "\t")):
        return True
    ticks = [len(each) for each in _TICKS.findall("\n".join(here))]
    while ticks:
        length = ticks.pop(0)
        if length not in ticks:
            return True  # nothing closes it yet: what is written now may
        del ticks[: ticks.index(length) + 1]
    return False


class Offered(Protocol[T]):
    """Suggestions for the typed text."""

    title: str
    begun: str
    """The text that is already typed."""
    empty: str
    """The text of the empty list."""

    async def ask(self) -> None:
        """Find out what there is now."""

    def choices(self, query: str) -> list[tuple[Choice[T], Match | None]]:
        """Return the suggestions that match, best first."""

    def whole(self, typed: str) -> T | str | None:
        """What is taken without a choice once this is typed; of nobody, the words themselves. None: more may come."""


class Offers(Chooser["T | str", T]):
    """Answers what was chosen, or what was typed when it was closed without a choice."""

    CONTEXT: ClassVar[str] = "mentions and emoji"
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter or tab insert · esc close"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (OFFERS,)

    def __init__(self, offered: Offered[T]) -> None:
        super().__init__(offered.title, [each for each, _ in offered.choices("")], empty=offered.empty)
        self._offered = offered

    def select_initial(self) -> None:
        line = self.query_one(FilterInput)
        line.value = self._offered.begun
        line.cursor_position = len(line.value)
        self.run_worker(self._ask())

    async def _ask(self) -> None:
        await self._offered.ask()
        self._empty = self.rows.state.empty = self._offered.empty
        self.show_choices([each for each, _ in self._offered.choices("")])

    def find_matches(self, query: str) -> list[MatchedChoice[T]]:
        return [MatchedChoice(number, *each) for number, each in enumerate(self._offered.choices(query))]

    def _list_matches(self, query: str) -> None:
        super()._list_matches(query)
        if query and self.is_current and (answer := self._offered.whole(query)) is not None:
            self.dismiss(answer)

    def accept(self, choice: Choice[T]) -> None:
        self.dismiss(choice.value)

    def choose(self) -> None:
        if self.rows.item is None:
            self.cancel()
        else:
            super().choose()

    def cancel(self) -> None:
        self.dismiss(self.query_one(FilterInput).value)


class MentionCandidates(Protocol):
    """Who can be named."""

    @property
    def trouble(self) -> str:
        """Why not all of them are known. Empty when they are."""

    def known(self) -> Sequence[User]:
        """Those known now."""

    async def ask(self) -> None:
        """Find out who there is now."""


class People:
    """Somebody to name."""

    title, begun = "Mention", ""
    empty = "No members are loaded yet."

    def __init__(self, people: MentionCandidates) -> None:
        self._people = people

    async def ask(self) -> None:
        """Find out who there is now."""
        await self._people.ask()
        if self._people.trouble:
            self.empty = f"Could not load the members: {self._people.trouble}"

    def choices(self, query: str) -> list[tuple[Choice[User], Match | None]]:
        """Of names that answer alike, those stay first who are first: a short name is no reason to come before."""
        people = [Choice(user, user.name, right=user.email or "") for user in self._people.known()]
        if not query.strip():
            return [(each, None) for each in people]
        found = [(each, matched) for each in people if (matched := match_choice(query, each)) is not None]
        return [(each, matched) for each, matched in sorted(found, key=lambda each: -round(each[1].score))]

    def whole(self, typed: str) -> User | str | None:
        """A word that is nobody's name was meant as it is: one writes on."""
        return typed if typed.endswith(" ") and not self.choices(typed) else None


class EmojiNames:
    """Emoji by their names. These are read once, in a thread: that takes longer than a key may."""

    title, empty = "Emoji", "Loading emoji…"

    def __init__(self, begun: str = "") -> None:
        self.begun = begun
        self._are_read = False

    async def ask(self) -> None:
        """Read the names."""
        await asyncio.to_thread(emoji.search, "tada")
        self._are_read = True

    def named(self, words: str) -> list[NamedEmoji]:
        """Return the emoji that match these words, best first."""
        return emoji.search(words) if self._are_read else []

    def choices(self, query: str) -> list[tuple[Choice[NamedEmoji], Match | None]]:
        """Each with its name."""
        return [(Choice(each, in_columns(each.sign, each.name)), None) for each in self.named(query)]

    def whole(self, typed: str) -> NamedEmoji | str | None:
        """An emoji whose whole name is typed, with its second `:`. What none is called by was meant as it is."""
        name = typed.removesuffix(":")
        if not self._are_read:
            return None
        if name != typed and (sign := emoji.from_name(name)) is not None:
            return NamedEmoji(name, sign)
        return typed if typed.endswith((" ", ":")) or not self.named(typed) else None


def in_columns(sign: str, name: str) -> str:
    """An emoji and its name: some are one cell wide, most two."""
    return f"{sign}{' ' * max(1, 3 - cell_len(sign))}{name}"
