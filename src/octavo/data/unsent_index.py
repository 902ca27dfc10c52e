"""Finds the targets of unsent texts. The key of a draft names its target. A pending comment has its target in the
outbox. Pure."""

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
        "remark": "a remark on several blocks",
        "subject": "a subject",
        "description": "a description",
        "title": "a title",
        "details": "page options",
    }
)
"""Name of each kind of text, for messages."""
CHANGE_REQUEST_KINDS = frozenset({"review", "remark", "subject", "description"})
"""Kinds of text that belong to a change request itself."""
_PENDING_EDIT_PREFIX = "held "
"""Prefix of the draft key of an edited pending comment. The id of the comment follows."""


@dataclass(frozen=True, slots=True)
class UnsentText:
    """An unsent text and its target."""

    kind: str
    at: Discussion | None
    """The space or change request that the text is for. None if unknown."""
    page: str = ""
    block: str = ""
    """Key of the block."""
    thread: str = ""
    """Id of the first comment of the thread. For a pending comment that starts a thread, its own temporary id."""
    draft_key: str = ""
    """Key of the draft. Empty for a pending comment."""
    entry_id: str = ""
    """Id of the pending comment in the outbox. Empty for a draft."""
    is_late: bool = False
    """True if saving the text failed or takes long. It may be lost when Octavo ends."""

    @property
    def starts_a_thread(self) -> bool:
        """Return True for a pending comment that starts a thread. Views show it as a thread, not as unsent text."""
        return self.entry_id != "" and self.thread.endswith(self.entry_id)


def unsent_draft(draft_key: str) -> UnsentText:
    """Return the unsent text of a draft, with the target that its key names."""
    kind, *parts = draft_key.split(" ")
    if kind not in KIND_NAMES or not parts or not parts[0]:
        return UnsentText(kind, None, draft_key=draft_key)
    space, *rest = parts
    match kind, rest:
        case "reply", [*into, thread] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread=thread, draft_key=draft_key)
        case "edit", [*into, thread, _] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread=thread, draft_key=draft_key)
        case "comment", [*into, page, block] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), page, block, draft_key=draft_key)
        case "page", [page, into, _, _]:
            return UnsentText(kind, _discussion(space, [into] if into != "-" else []), page, draft_key=draft_key)
        case (("title" | "details"), [page]):
            return UnsentText(kind, _discussion(space, []), page, draft_key=draft_key)
        case (("review" | "remark" | "subject" | "description"), [into, *_]):
            return UnsentText(kind, _discussion(space, [into]), draft_key=draft_key)
    return UnsentText(kind, _discussion(space, []), draft_key=draft_key)


def pending_comment(entry: OutboxEntry) -> UnsentText:
    """Return the unsent text of a pending comment, with its target."""
    facts = entry.facts
    return UnsentText("held", entry.at, facts.page, facts.node, facts.thread or entry.created_id, entry_id=entry.id)


class UnsentIndex:
    """All unsent texts, which can be looked up by target."""

    def __init__(
        self, drafts: Iterable[str] = (), pending: Sequence[OutboxEntry] = (), late: frozenset[str] = frozenset()
    ) -> None:
        """`drafts` are the keys of all drafts. `late` are the keys of drafts whose save failed or takes long. `pending`
        are the pending comments."""
        pending_texts = {each.id: pending_comment(each) for each in pending}
        texts = list(pending_texts.values())
        for draft_key in sorted(drafts):
            edited = pending_texts.get(draft_key.removeprefix(_PENDING_EDIT_PREFIX))
            if edited is None:
                texts.append(replace(unsent_draft(draft_key), is_late=draft_key in late))
            else:
                edit = UnsentText("edit", edited.at, edited.page, edited.block, edited.thread, draft_key)
                texts.append(replace(edit, is_late=draft_key in late))
        self._all: tuple[UnsentText, ...] = tuple(texts)

    def __bool__(self) -> bool:
        return bool(self._all)

    def of_draft(self, draft_key: str) -> tuple[UnsentText, ...]:
        """Return the unsent text of the draft with this key, as a tuple of one. Empty if there is no such draft."""
        return tuple(each for each in self._all if each.draft_key == draft_key)

    def of_thread(self, at: Discussion, thread: str) -> tuple[UnsentText, ...]:
        """Return the unsent texts of a thread, including a pending comment that starts the thread."""
        return tuple(self._threads.get((at, thread), ()))

    def of_discussion(self, at: Discussion) -> tuple[UnsentText, ...]:
        """Return the unsent texts of a change request, or of the main content of a space."""
        return tuple(self._places.get(at, ()))

    def of_change_request(self, at: ChangeRequestRef) -> tuple[UnsentText, ...]:
        """Return the unsent texts of a change request itself, and its pending comments."""
        return tuple(each for each in self.of_discussion(at) if each.kind in CHANGE_REQUEST_KINDS or each.entry_id)

    def by_page(self, at: Discussion, threads: Iterable[Comment]) -> dict[str, list[UnsentText]]:
        """Return the unsent texts of a space or change request by page id. Texts that belong to no page have the key
        "".

        `threads` are the threads of `at`. They are needed to find the page of a reply. For a space, unsent page texts
        are included whichever change request they are for.
        """
        texts = list(self.of_discussion(at))
        if isinstance(at, SpaceRef):
            texts += [
                each
                for each in self._all
                if each.kind == "page" and isinstance(each.at, ChangeRequestRef) and each.at.space_id == at.space_id
            ]
        thread_ids = {text.thread for text in texts if text.thread and not text.page}
        pages: dict[str, str] = {}
        if thread_ids:
            pages = {
                thread.id: thread.target.page.id for thread in threads if thread.id in thread_ids and thread.target.page
            }
        by_page: defaultdict[str, list[UnsentText]] = defaultdict(list)
        for text in texts:
            page = text.page or pages.get(text.thread, "")
            if page or text.kind not in CHANGE_REQUEST_KINDS:
                by_page[page].append(text)
        return dict(by_page)

    @cached_property
    def _threads(self) -> Mapping[tuple[Discussion, str], Sequence[UnsentText]]:
        by_thread: defaultdict[tuple[Discussion, str], list[UnsentText]] = defaultdict(list)
        for each in self._all:
            if each.thread and each.at is not None:
                by_thread[each.at, each.thread].append(each)
        return by_thread

    @cached_property
    def _places(self) -> Mapping[Discussion, Sequence[UnsentText]]:
        by_place: defaultdict[Discussion, list[UnsentText]] = defaultdict(list)
        for each in self._all:
            if each.at is not None:
                by_place[each.at].append(each)
        return by_place


def by_block(texts: Iterable[UnsentText]) -> dict[str, list[UnsentText]]:
    """Return the unsent drafts of new comments, by block key. Drafts about the whole page have the key ""."""
    by_block_key: defaultdict[str, list[UnsentText]] = defaultdict(list)
    for text in texts:
        if text.kind == "comment":
            by_block_key[text.block].append(text)
    return dict(by_block_key)


def _discussion(space: str, into: Sequence[str]) -> Discussion:
    return ChangeRequestRef(space_id=space, change_request_id=into[0]) if into else SpaceRef(space_id=space)
