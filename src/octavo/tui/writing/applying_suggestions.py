"""Suggested wordings put into the pages of a change request: on top of what was suggested for, once, and taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from octavo.api import change_requests
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit, page_source
from octavo.data.writes.direct import SendResult
from octavo.documents.suggestions import apply_suggestion, find_block_source

_TIMES = 3
"""How often it is tried again when others write all the time."""


@dataclass(frozen=True)
class Wording:
    """A suggested wording of a block."""

    page: str
    key: str
    """Of the block."""
    revision: str | None
    """Where the block says what it is suggested for. None: nobody knows, so it is not written over."""
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of wordings that were to be put into pages."""

    fates: tuple[tuple[Wording, Literal["applied", "same", "changed", "gone"]], ...]
    """`same`: the page says so already. `changed`: its block was edited since. `gone`: there is no such page any more."""
    before: Mapping[str, Raw]
    """The pages that were written, by their ids, as they were."""
    after: Mapping[str, Raw]

    @property
    def applied(self) -> int:
        """How many were put in."""
        return sum(fate == "applied" for _, fate in self.fates)


async def apply(live: Live, at: ChangeRequestRef, wordings: Sequence[Wording]) -> SendResult[Outcome]:
    """Put in those whose blocks are as they were: one edit, sent once. `changed`: none could be, and the answer says why."""
    try:
        was = {each: await _was(live, at, each) for each in wordings}
        for _ in range(_TIMES):
            about = await live.send(change_requests.Get(at=at))
            if about.status not in ("draft", "open") or about.revision is None:
                return SendResult("refused", f"the change request is now {about.status}.")
            outcome = await _put_in(live, at, about.revision, wordings, was)
            if not outcome.applied:
                return SendResult("changed", "", outcome)
            sent = await edit(live, at, about.revision, _says(outcome.after))
            if sent.kind == "done":
                return SendResult("done", "" if sent.replaced is None else sent.message, outcome)
            if sent.kind != "changed":
                return SendResult("unknown" if sent.kind == "unknown" else "refused", sent.cause)
    except ApiError as error:
        return SendResult("refused", str(error))
    return SendResult("refused", "others keep changing the page. Try again in a moment.")


async def take_back(live: Live, at: ChangeRequestRef, outcome: Outcome) -> SendResult[Outcome]:
    """Let the pages say what they said before, where nobody wrote on them since."""
    try:
        about = await live.send(change_requests.Get(at=at))
        if about.revision is None:
            return SendResult(
                "refused", "Could not undo the applied suggestion: the server did not return the current revision."
            )
        for page, after in outcome.after.items():
            if await page_source(live, _at(at, about.revision), page) != after:
                return SendResult(
                    "changed",
                    "Could not undo the applied suggestion: the page was edited afterward. Edit the page, or press Q to revert the block.",
                )
        sent = await edit(live, at, about.revision, _says(outcome.before))
    except ApiError as error:
        return SendResult("refused", f"Could not undo the applied suggestion: {error}")
    if sent.kind == "done":
        return SendResult("done", result=Outcome((), outcome.after, outcome.before))
    return SendResult("unknown" if sent.kind == "unknown" else "refused", sent.message)


async def _put_in(
    live: Live, at: ChangeRequestRef, head: str, wordings: Sequence[Wording], was: Mapping[Wording, str | None]
) -> Outcome:
    before: dict[str, Raw] = {}
    after: dict[str, Raw] = {}
    fates: list[tuple[Wording, Literal["applied", "same", "changed", "gone"]]] = []
    for each in wordings:
        if each.page not in after:
            found = await page_source(live, _at(at, head), each.page)
            if found is None:
                fates.append((each, "gone"))
                continue
            before[each.page] = after[each.page] = found
        done = await asyncio.to_thread(apply_suggestion, after[each.page].text, each.key, was[each], each.text)
        after[each.page] = Raw(done.text)
        fates.append((each, done.kind))
    written = [page for page in after if after[page] != before[page]]
    return Outcome(tuple(fates), {page: before[page] for page in written}, {page: after[page] for page in written})


async def _was(live: Live, at: ChangeRequestRef, of: Wording) -> str | None:
    """What the block said when it was suggested, as it was written."""
    text = await page_source(live, _at(at, of.revision), of.page) if of.revision is not None else None
    return await asyncio.to_thread(find_block_source, text.text, of.key) if text is not None else None


def _says(pages: Mapping[str, Raw]) -> tuple[UpdatePage, ...]:
    return tuple(UpdatePage(page=page, document=DocumentBody(markdown=text.text)) for page, text in pages.items())


def _at(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)
