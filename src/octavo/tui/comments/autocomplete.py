"""Autocompletion of members after `@` and of emoji after `:` in the composer. Also the picker of emoji reactions."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from unicodedata import name as emoji_name

from rich.cells import cell_len

from octavo.api import comments
from octavo.api.errors import ApiError
from octavo.api.folding import fold
from octavo.api.operation import Discussion, OrganizationRef
from octavo.api.organizations import ListMembers
from octavo.api.users import User
from octavo.data.queries import all_threads_op
from octavo.documents import emoji
from octavo.documents.emoji import NamedEmoji, api_code, to_emoji
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import mention_suffix
from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice, match_choice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.row_list import FuzzyMatch
from octavo.tui.widgets.text_inputs import FilterInput

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.core.shell import Shell

T = TypeVar("T")

_EMOJI = re.compile(r"(?:^|(?<=[\s(“\"*_]))(:[a-z0-9_+-]{2,})$")
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")

AUTOCOMPLETE: Commands[Autocomplete[Any]] = Commands(
    "chooser",
    (Command("take", "tab", "Insert", "Insert the selected item", run=lambda _, view: view.choose(), shown=False, priority=True),),
)  # fmt: skip


def emoji_prefix(text_before: str) -> str:
    """Return the unfinished emoji name at the end of a text, such as `:tad`. Empty if there is none, or inside code."""
    match = _EMOJI.search(text_before)
    return match[1] if match is not None and not ends_in_code(text_before[: match.start()]) else ""


def ends_in_code(text_before: str, text_after: str | None = None) -> bool:
    """Return True if `text_before` ends inside Markdown code. If `text_after` is None, an unclosed backtick or an
    indented paragraph also counts as code."""
    fence = ""
    lines = text_before.split("\n")
    paragraph_start = 0
    for number, line in enumerate(lines[:-1]):
        match = _FENCE.match(line)
        if match is not None and (not fence or (match[1].startswith(fence) and not line[match.end() :].strip())):
            fence, paragraph_start = "" if fence else match[1], number + 1
        elif not line.strip():
            paragraph_start = number + 1
    if fence:
        return True
    paragraph_lines = lines[paragraph_start:]
    if text_after is None and paragraph_lines[0].startswith(("    ", "\t")):
        return True
    tick_lengths = [len(each) for each in _TICKS.findall("\n".join(paragraph_lines))]
    rest_of_paragraph = None if text_after is None else _BLANK_LINE.split(text_after, maxsplit=1)[0]
    closing_lengths = {len(each) for each in _TICKS.findall(rest_of_paragraph or "")}
    while tick_lengths:
        tick_length = tick_lengths.pop(0)
        if tick_length in tick_lengths:
            del tick_lengths[: tick_lengths.index(tick_length) + 1]
        elif text_after is None or tick_length in closing_lengths:
            return True
    return False


class Completions(ABC, Generic[T]):
    """Choices that an `Autocomplete` list offers, such as members or emoji."""

    title: str
    typed_prefix = ""
    """Text that was typed before the list opened."""
    empty_text: str
    """Text that the list shows if no choice matches."""

    @abstractmethod
    async def load(self) -> None:
        """Load the choices. If this fails, `empty_text` becomes the error message."""

    @abstractmethod
    def choices(self, query: str) -> list[tuple[Choice[T], FuzzyMatch | None]]:
        """Return the choices that match `query`, best first, with the letters to highlight, or None for no letters."""

    @abstractmethod
    def final_value(self, typed: str) -> T | str | None:
        """Return the result that closes the list: the value named `typed`, or `typed` if nothing matches. Else None."""


class Autocomplete(Chooser["T | str", T]):
    """List that completes a typed word. The result is the chosen value, or the typed text if nothing was chosen."""

    HELP_NAME: ClassVar[str] = "mentions and emoji"
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOTER: ClassVar[str] = "enter or tab insert · esc close"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (AUTOCOMPLETE,)

    def __init__(self, completions: Completions[T]) -> None:
        super().__init__(completions.title, [each for each, _ in completions.choices("")], empty=completions.empty_text)
        self._completions = completions

    def select_initial(self) -> None:
        filter_input = self.query_one(FilterInput)
        filter_input.value = self._completions.typed_prefix
        filter_input.cursor_position = len(filter_input.value)
        self.run_worker(self._load())

    async def _load(self) -> None:
        await self._completions.load()
        self._empty = self.rows.state.empty = self._completions.empty_text
        self.show_choices([each for each, _ in self._completions.choices("")])

    def find_matches(self, query: str) -> list[MatchedChoice[T]]:
        return [MatchedChoice(number, *each) for number, each in enumerate(self._completions.choices(query))]

    def _list_matches(self, query: str) -> None:
        super()._list_matches(query)
        if query and self.is_current and (answer := self._completions.final_value(query)) is not None:
            self.dismiss(answer)

    def choose(self) -> None:
        if self.rows.item is None:
            self.cancel()
        else:
            super().choose()

    def cancel(self) -> None:
        self.dismiss(self.query_one(FilterInput).value)


class MemberCompletions(Completions[User]):
    """Members whom you can mention."""

    title = "Mention"
    empty_text = "No members are loaded yet."

    def __init__(self, members: MentionCandidates) -> None:
        self._members = members

    async def load(self) -> None:
        await self._members.load()
        if self._members.load_error:
            self.empty_text = f"Could not load the members: {self._members.load_error}"

    def choices(self, query: str) -> list[tuple[Choice[User], FuzzyMatch | None]]:
        """Return the members whose names match `query`, best first. Equal matches keep the order of the members."""
        members = [Choice(user, user.name, right=user.email or "") for user in self._members.cached_people()]
        if not query.strip():
            return [(each, None) for each in members]
        matches = [(each, matched) for each in members if (matched := match_choice(query, each)) is not None]
        return [(each, matched) for each, matched in sorted(matches, key=lambda each: -round(each[1].score))]

    def final_value(self, typed: str) -> User | str | None:
        """Return `typed`, which closes the list, if it ends with a space and no member matches. Otherwise None."""
        return typed if typed.endswith(" ") and not self.choices(typed) else None


class EmojiCompletions(Completions[NamedEmoji]):
    """Emoji by name. `load` reads the names in a background thread."""

    title, empty_text = "Emoji", "Loading emoji…"

    def __init__(self, typed_prefix: str = "") -> None:
        self.typed_prefix = typed_prefix
        self._is_loaded = False

    async def load(self) -> None:
        await asyncio.to_thread(emoji.search, "tada")
        self._is_loaded = True

    def matching(self, text: str) -> list[NamedEmoji]:
        """Return the emoji whose names match `text`, best first. Empty until the names are loaded."""
        return emoji.search(text) if self._is_loaded else []

    def choices(self, query: str) -> list[tuple[Choice[NamedEmoji], FuzzyMatch | None]]:
        return [(Choice(each, emoji_label(each.character, each.name)), None) for each in self.matching(query)]

    def final_value(self, typed: str) -> NamedEmoji | str | None:
        """Return the emoji for a text such as `tada:`, or `typed` if no emoji can match. None to keep the list open."""
        name = typed.removesuffix(":")
        if not self._is_loaded:
            return None
        if name != typed and (character := emoji.from_name(name)) is not None:
            return NamedEmoji(name, character)
        return typed if typed.endswith((" ", ":")) or not self.matching(typed) else None


def emoji_label(character: str, name: str) -> str:
    """Return an emoji and its name, such as `🎉 tada`. Spaces align the names after emoji of one or two cells."""
    return f"{character}{' ' * max(1, 3 - cell_len(character))}{name}"


_MENTION = re.compile(r"\[(@(?:\\.|[^\]\\\n])+)\]\(/users/[^)\s]+\)")
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>~"})


class MentionCandidates:
    """People whom you can mention in a space or change request: its commenters, and the members of the organization."""

    def __init__(self, app: Shell, at: Discussion) -> None:
        self._app, self._at = app, at
        self._commenters = comments.ListCommenters(at=at, limit=1000)
        self.load_error = ""
        """Reason why the members could not be loaded. Empty if there was no error."""

    def cached_people(self) -> list[User]:
        """Return the people in the cache: authors of threads, other active commenters, then active members by name."""
        live = self._app.session.live
        threads = live.peek(all_threads_op(self._at)).value
        people = {thread.posted_by.id: thread.posted_by for thread in (threads.items if threads else ())}
        commenters = live.peek(self._commenters).value
        members = live.peek(op).value if (op := self._members()) is not None else None
        other_members = sorted(members.items if members else (), key=lambda member: fold(member.user.name))
        for each in (*(commenters.items if commenters else ()), *other_members):
            if not each.disabled:
                people.setdefault(each.user.id, each.user)
        return [user for user in people.values() if user.id]

    async def load(self) -> None:
        """Load the commenters and the members. If the members cannot be loaded, set `load_error`."""
        with suppress(ApiError):  # Not required: the cache has the people who started threads.
            await self._app.session.live.fetch(self._commenters)
        if (op := self._members()) is not None:
            try:
                await self._app.session.live.fetch(op)
                self.load_error = ""
            except ApiError as error:
                self.load_error = str(error)

    def _members(self) -> ListMembers | None:
        organization = self._app.workspace.organization
        if organization is None:
            return None
        return ListMembers(at=OrganizationRef(organization_id=organization.id), limit=1000)


def mention_markdown(user: User) -> str:
    """Return the Markdown link that the platform turns into a mention of the user."""
    return f"[@{user.name.translate(_SPECIAL)}{mention_suffix(user.id)}"


class MentionText:
    """Converts mentions between the text area, which shows `@Ada`, and the sent Markdown, which contains a link."""

    def __init__(self) -> None:
        self._set_links({})

    def to_text(self, markdown: str) -> str:
        """Return `markdown` with names for mention links, or unchanged if `to_markdown` cannot restore the links."""
        links: dict[str, str] = {}
        for match in _MENTION.finditer(markdown):
            links.setdefault(_mention_name(match), match[0])
        self._set_links(links)
        text = _MENTION.sub(
            lambda match: name if links[name := _mention_name(match)] == match[0] else match[0], markdown
        )
        if self.to_markdown(text) == markdown:
            return text
        self._set_links({})
        return markdown

    def add(self, link: str, text: str) -> str:
        """Return the text to insert for a new mention: the name, or `link` if the name is ambiguous in `text`."""
        name = with_names(link)
        links_before = self._links
        self._set_links({name: link, **links_before})
        if self._links[name] == link and (name in links_before or not self._contains(name, text)):
            return name
        self._set_links(links_before)
        return link

    def _set_links(self, links: dict[str, str]) -> None:
        names_pattern = "|".join(map(re.escape, sorted(links, key=len, reverse=True)))
        self._links, self._names = links, re.compile(rf"(?<![\w\[])(?:{names_pattern or '(?!)'})(?!\w)")

    def _contains(self, name: str, text: str) -> bool:
        code = _CodeFinder(text)
        return any(match[0] == name and not code.contains(match) for match in self._names.finditer(text))

    def to_markdown(self, text: str) -> str:
        """Return the edited `text` with mention links in place of names, except in code."""
        code = _CodeFinder(text)
        return self._names.sub(lambda match: match[0] if code.contains(match) else self._links[match[0]], text)


class _CodeFinder:
    """Finds out whether a match in a Markdown text is inside code."""

    def __init__(self, text: str) -> None:
        self._text = text

    def contains(self, match: re.Match[str]) -> bool:
        before, after = self._text[: match.start()], self._text[match.end() :]
        line = before[before.rfind("\n") + 1 :]
        may_be_indented_code = "    " in line or "\t" in line
        return (may_be_indented_code and before.count("\n") in self._code_lines) or ends_in_code(before, after)

    @cached_property
    def _code_lines(self) -> frozenset[int]:
        blocks = (block for block in parse(self._text).walk() if block.kind == "code")
        return frozenset(chain.from_iterable(range(*block.lines) for block in blocks))


def with_names(markdown: str) -> str:
    """Return `markdown` with names such as `@Ada` in place of mention links."""
    return _MENTION.sub(_mention_name, markdown)


def _mention_name(match: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", match[1])


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
RECENT_KEY = "reactions used"
"""Name under which the state database stores the recently used emoji."""


def recent_emoji(state: StateDb) -> list[str]:
    """Return the codes of the recently used emoji, such as `1f44d`, newest first."""
    codes = state.get_value(RECENT_KEY, [])
    return [each for each in codes if isinstance(each, str)][:MAX_RECENT] if isinstance(codes, list) else []


def remember_emoji(state: StateDb, code: str) -> None:
    """Store an emoji as the reaction that was used last."""
    state.set_value(RECENT_KEY, [code, *(each for each in recent_emoji(state) if each != code)][:MAX_RECENT])


class ReactionPicker(Chooser[str | None, str]):
    """Picker of emoji reactions. The result is the code of the emoji, such as `1f44d`."""

    PLACEHOLDER: ClassVar[str] = "Type a name or paste an emoji"

    def __init__(self, title: str, choices: list[Choice[str]]) -> None:
        super().__init__(title, choices, empty="No emoji found.")
        self._emoji = EmojiCompletions()

    def select_initial(self) -> None:
        self.run_worker(self._load())

    async def _load(self) -> None:
        await self._emoji.load()
        self.show_choices(self._choices)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        common_matches = super().find_matches(query)
        common_codes = {each.value for each in self._choices}
        matches = (each for each in self._emoji.matching(query) if each.code not in common_codes)
        other_choices = (Choice(match.code, emoji_label(match.character, match.name)) for match in matches)
        return [
            *common_matches,
            *(MatchedChoice(number, choice) for number, choice in enumerate(other_choices, len(self._choices))),
        ]


def choose_emoji(
    app: Shell, title: str, own_codes: Collection[str], used_codes: Collection[str], on_chosen: Callable[[str], None]
) -> None:
    """Ask for an emoji, and call `on_chosen` with its code. `used_codes` are all reactions, `own_codes` the user's."""
    state, common_names = app.session.state, dict(COMMON_REACTIONS)
    # The server may spell a code differently. It removes a reaction only if the code has the server's spelling.
    server_codes = {api_code(to_emoji(each)): each for each in (*used_codes, *own_codes)}
    codes = dict.fromkeys((*recent_emoji(state), *common_names, *server_codes))
    choices = [
        Choice(
            code,
            _reaction_label(code, common_names),
            right="your reaction · press enter to remove it" if server_codes.get(code) in own_codes else "",
        )
        for code in codes
    ]

    def on_picked(code: str) -> None:
        remember_emoji(state, code)
        on_chosen(server_codes.get(code, code))

    app.ask(ReactionPicker(title, choices), on_picked)


def _reaction_label(code: str, common_names: dict[str, str]) -> str:
    """Return the emoji `code` with its name in `common_names`, or else its Unicode name, such as `👍 agreed`."""
    characters = to_emoji(code)
    meaning = common_names.get(code) or (emoji_name(characters[0], "").lower() if characters else "") or code
    return emoji_label(characters, meaning)
