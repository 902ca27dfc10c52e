"""Where words hang that were written and not sent: drafts, by the names of their places, and what is held for a review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.data.writes.machine import OutboxEntry

KIND_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "comment": "a comment",
        "reply": "a reply",
        "edit": "an edited comment",
        "page": "the text of a page",
        "review": "a review",
        "subject": "a subject",
        "description": "a description",
        "title": "a title",
        "details": "page options",
    }
)
"""What is typed at places of each kind."""
CHANGE_REQUEST_KINDS = frozenset({"review", "subject", "description"})
"""Kinds of what is said of a change request itself."""
_CHANGES_A_HELD_ONE = "held "
"""Before the id of a held comment, in the name of the place where it is given other words."""


@dataclass(frozen=True, slots=True)
class UnsentText:
    """One text that is not sent, and what it hangs on."""

    kind: str
    at: Discussion | None
    """The space or change request it belongs to. None: nobody knows."""
    page: str = ""
    block: str = ""
    """The key of the block it is about."""
    thread: str = ""
    """The id of the first comment of the thread it is about; of a held comment that begins one its own."""
    draft_key: str = ""
    """Where it is kept among the drafts. Empty: it is held."""
    entry_id: str = ""
    """The id of what is held. Empty: it is a draft."""
    is_late: bool = False
    """Whether it is not on disk as it is now, so that it is lost when Octavo ends."""

    @property
    def starts_a_thread(self) -> bool:
        """Whether it is a held comment that begins a thread, which is on show itself."""
        return self.entry_id != "" and self.thread.endswith(self.entry_id)


def unsent_draft(place: str) -> UnsentText:
    """What a draft hangs on, read off the name of its place."""
    kind, *parts = place.split(" ")
    if kind not in KIND_NAMES or not parts or not parts[0]:
        return UnsentText(kind, None, draft_key=place)
    space, *rest = parts
    match kind, rest:
        case "reply", [*into, thread] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread=thread, draft_key=place)
        case "edit", [*into, thread, _] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread=thread, draft_key=place)
        case "comment", [*into, page, block] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), page, block, draft_key=place)
        case "page", [page, into, _, _]:
            return UnsentText(kind, _discussion(space, [into] if into != "-" else []), page, draft_key=place)
        case (("title" | "details"), [page]):
            return UnsentText(kind, _discussion(space, []), page, draft_key=place)
        case (("review" | "subject" | "description"), [into, *_]):
            return UnsentText(kind, _discussion(space, [into]), draft_key=place)
    return UnsentText(kind, _discussion(space, []), draft_key=place)


def pending_comment(entry: OutboxEntry) -> UnsentText:
    """What a comment hangs on that is held for a review."""
    facts = entry.facts
    return UnsentText("held", entry.at, facts.page, facts.node, facts.thread or entry.pending_id, entry_id=entry.id)


class UnsentIndex:
    """All that is not sent, by what it hangs on."""

    def __init__(
        self, drafts: Iterable[str] = (), held: Sequence[OutboxEntry] = (), late: frozenset[str] = frozenset()
    ) -> None:
        """`drafts` are the places of those there are, `late` of those that could not be saved yet."""
        there = {each.id: pending_comment(each) for each in held}
        found = list(there.values())
        for place in sorted(drafts):
            changes = there.get(place.removeprefix(_CHANGES_A_HELD_ONE))
            if changes is None:
                found.append(replace(unsent_draft(place), is_late=place in late))
            else:
                edit = UnsentText("edit", changes.at, changes.page, changes.block, changes.thread, place)
                found.append(replace(edit, is_late=place in late))
        self._all: tuple[UnsentText, ...] = tuple(found)

    def __bool__(self) -> bool:
        return bool(self._all)

    def of_draft(self, place: str) -> tuple[UnsentText, ...]:
        """The draft of a place, if there is one."""
        return tuple(each for each in self._all if each.draft_key == place)

    def of_thread(self, at: Discussion, thread: str) -> tuple[UnsentText, ...]:
        """What is written in a thread, or is one that is held."""
        return tuple(self._threads.get((at, thread), ()))

    def of_place(self, at: Discussion) -> tuple[UnsentText, ...]:
        """All that belongs to a change request, or to the primary content of a space."""
        return tuple(self._places.get(at, ()))

    def of_change_request(self, at: ChangeRequestRef) -> tuple[UnsentText, ...]:
        """What is said of a change request itself, and all that is held for its review."""
        return tuple(each for each in self.of_place(at) if each.kind in CHANGE_REQUEST_KINDS or each.entry_id)

    def by_page(self, at: Discussion, threads: Iterable[Comment]) -> dict[str, list[UnsentText]]:
        """What hangs on each page of a place by the page's id; on none of them, but on the whole, by "". `threads` are
        those of the place: they say which pages replies are about. The text of a page that is not sent is that page's
        in its space, wherever it is to go."""
        words = list(self.of_place(at))
        if isinstance(at, SpaceRef):
            words += [
                each
                for each in self._all
                if each.kind == "page" and isinstance(each.at, ChangeRequestRef) and each.at.space_id == at.space_id
            ]
        wanted = {each.thread for each in words if each.thread and not each.page}
        pages: dict[str, str] = {}
        if wanted:
            pages = {each.id: each.target.page.id for each in threads if each.id in wanted and each.target.page}
        found: defaultdict[str, list[UnsentText]] = defaultdict(list)
        for each in words:
            page = each.page or pages.get(each.thread, "")
            if page or each.kind not in CHANGE_REQUEST_KINDS:
                found[page].append(each)
        return dict(found)

    @cached_property
    def _threads(self) -> Mapping[tuple[Discussion, str], Sequence[UnsentText]]:
        found: defaultdict[tuple[Discussion, str], list[UnsentText]] = defaultdict(list)
        for each in self._all:
            if each.thread and each.at is not None:
                found[each.at, each.thread].append(each)
        return found

    @cached_property
    def _places(self) -> Mapping[Discussion, Sequence[UnsentText]]:
        found: defaultdict[Discussion, list[UnsentText]] = defaultdict(list)
        for each in self._all:
            if each.at is not None:
                found[each.at].append(each)
        return found


def by_block(words: Iterable[UnsentText]) -> dict[str, list[UnsentText]]:
    """What begins threads on blocks of a page, by their keys; on the page as a whole by ""."""
    found: defaultdict[str, list[UnsentText]] = defaultdict(list)
    for each in words:
        if each.kind == "comment":
            found[each.block].append(each)
    return dict(found)


def _discussion(space: str, into: Sequence[str]) -> Discussion:
    return ChangeRequestRef(space_id=space, change_request_id=into[0]) if into else SpaceRef(space_id=space)
