"""Saving a page that other users edit at the same time loses no edit."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, UpdatePage
from octavo.api.errors import Lost, NotSent
from octavo.api.operation import ChangeRequestRef, Operation, RevisionRef, SpaceRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.content_writes import MAYBE_OVERWRITTEN, PageOutcome, page_source, write_page
from octavo.documents.source_reader import find_markers
from tests.data.connections import RequestGate
from tests.server.small_platform import Ask

BEFORE = "# Intro\n\nOne.\n\nTwo.\n\nThree.\n"


@pytest.fixture
def user() -> str:
    return "ada"


class PageUnderEdit:
    """A change request whose page `intro` has the text `BEFORE`, and the edits of the user and of others."""

    def __init__(self, live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, base: RevisionRef) -> None:
        self.live, self.gate, self.at, self.base, self._ask = live, gate, at, base, ask

    async def write(self, mine: str) -> PageOutcome:
        return await write_page(self.live, self.at, "intro", self.base, Raw(mine))

    async def edit_as_other(self, change: ContentEdit | str) -> None:
        if isinstance(change, str):
            change = UpdatePage(page="intro", document=DocumentBody(markdown=change))
        await self._ask(content.Edit(at=self.at, changes=(change,)))

    def edit_as_other_during_send(self, *changes: str) -> None:
        """Let another user edit the page after the check of each of the next edits, before its request."""
        waiting = list(changes)

        async def send(op: Operation[Any]) -> Any:
            if isinstance(op, content.Edit) and waiting:
                await self.edit_as_other(waiting.pop(0))
            return await self.gate(op)

        self.live.send = send

    async def current_text(self) -> str:
        raw = await page_source(self.live, self.at, "intro")
        assert raw is not None
        return raw.text


@pytest.fixture
async def page(live: Live, gate: RequestGate, ask: Ask, here: SpaceRef) -> PageUnderEdit:
    at = (await ask(change_requests.Create(at=here, subject="Say more"))).ref(here)
    await ask(content.Edit(at=at, changes=(UpdatePage(page="intro", document=DocumentBody(markdown=BEFORE)),)))
    head = (await ask(change_requests.Get(at=at))).revision
    assert head is not None
    return PageUnderEdit(live, gate, ask, at, RevisionRef(space_id=here.space_id, revision_id=head))


async def test_edits_of_other_blocks_are_merged(page: PageUnderEdit) -> None:
    await page.edit_as_other(BEFORE.replace("One", "Theirs"))
    outcome = await page.write(BEFORE.replace("Three", "Mine"))
    assert outcome.kind == "merged"
    assert await page.current_text() == "# Intro\n\nTheirs.\n\nTwo.\n\nMine.\n"


async def test_invisible_characters_survive_a_merge(page: PageUnderEdit) -> None:
    odd = BEFORE.replace("Two", "T\u00adwo\ufeff \u202eowt\u202c \x07 e\u0301\u0301\u0301\u0301\u0301")
    head = (await page.write(odd)).revision
    page.base = RevisionRef(space_id=page.at.space_id, revision_id=head)
    await page.edit_as_other(odd.replace("One", "Theirs"))
    assert (await page.write(odd.replace("Three", "Mine"))).kind == "merged"
    assert await page.current_text() == odd.replace("One", "Theirs").replace("Three", "Mine")


async def test_conflict_sends_nothing_and_returns_both_versions(page: PageUnderEdit) -> None:
    await page.edit_as_other(BEFORE.replace("Two", "Theirs"))
    outcome = await page.write(BEFORE.replace("Two", "Mine").replace("One", "Also mine"))
    assert outcome.kind == "conflict"
    assert await page.current_text() == BEFORE.replace("Two", "Theirs")
    assert outcome.text is not None
    (open_end,) = find_markers(outcome.text.text)
    lines = outcome.text.text.split("\n")
    assert "Theirs." in lines[open_end.first : open_end.middle]
    assert "Mine." in lines[open_end.middle : open_end.last]
    assert "Also mine." in lines[open_end.middle : open_end.last], "what was rewritten together is decided together"
    settled = BEFORE.replace("Two", "Theirs and mine").replace("One", "Also mine")
    page.base = RevisionRef(space_id=page.at.space_id, revision_id=outcome.revision)
    assert (await page.write(settled)).kind == "sent", "What was settled is on top of what others wrote"
    assert await page.current_text() == settled


async def test_edit_of_others_is_not_overwritten_if_the_base_is_gone(page: PageUnderEdit) -> None:
    page.base = RevisionRef(space_id=page.at.space_id, revision_id="gone")
    await page.edit_as_other(BEFORE.replace("One", "Theirs"))
    outcome = await page.write(BEFORE.replace("Three", "Mine"))
    assert (outcome.kind, await page.current_text()) == ("conflict", BEFORE.replace("One", "Theirs"))
    assert outcome.text is not None
    assert {"Theirs.", "Mine."} <= set(outcome.text.text.split("\n"))


async def test_simultaneous_edit_is_not_overwritten(page: PageUnderEdit) -> None:
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"))
    outcome = await page.write(BEFORE.replace("Three", "Mine"))
    assert outcome.kind == "merged"
    assert await page.current_text() == "# Intro\n\nTheirs.\n\nTwo.\n\nMine.\n"


async def test_simultaneous_edit_of_the_same_text_is_a_conflict(page: PageUnderEdit) -> None:
    page.edit_as_other_during_send(BEFORE.replace("Two", "Theirs"))
    outcome = await page.write(BEFORE.replace("Two", "Mine"))
    assert outcome.kind == "conflict"
    assert outcome.text is not None
    assert {"Theirs.", "Mine."} <= set(outcome.text.text.split("\n"))
    assert await page.current_text() == BEFORE.replace("Two", "Theirs")


async def test_two_simultaneous_edits_are_not_overwritten(page: PageUnderEdit) -> None:
    page.edit_as_other_during_send(
        BEFORE.replace("One", "Theirs"), BEFORE.replace("Three", "Mine").replace("Two", "Ours")
    )
    outcome = await page.write(BEFORE.replace("Three", "Mine"))
    assert outcome.kind == "merged"
    assert outcome.text == Raw("# Intro\n\nTheirs.\n\nOurs.\n\nMine.\n")
    assert await page.current_text() == outcome.text.text


async def test_second_simultaneous_edit_of_the_same_text_is_a_conflict(page: PageUnderEdit) -> None:
    second = BEFORE.replace("Two", "Mine").replace("One", "Changed later")
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"), second)
    outcome = await page.write(BEFORE.replace("Two", "Mine"))
    assert outcome.kind == "conflict"
    assert outcome.text is not None
    assert "Changed later." in outcome.text.text.split("\n")
    assert await page.current_text() == second


async def test_conflict_contains_an_edit_made_during_the_repair(page: PageUnderEdit) -> None:
    mine = BEFORE.replace("Two", "Mine")
    page.edit_as_other_during_send(BEFORE.replace("Two", "Theirs"), mine.replace("Three", "Later"))
    outcome = await page.write(mine)
    assert outcome.kind == "conflict"
    assert outcome.text is not None
    assert await page.current_text() == BEFORE.replace("Two", "Theirs").replace("Three", "Later")
    assert {"Theirs.", "Mine.", "Later."} <= set(outcome.text.text.split("\n"))


async def test_lost_connection_after_a_simultaneous_edit_says_page_is_saved(page: PageUnderEdit) -> None:
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"))
    send = page.live.send

    async def lose_later_reads(op: Operation[Any]) -> Any:
        if isinstance(op, content.GetRawPage) and page.gate.writes:
            raise NotSent("Can't reach the server.")
        return await send(op)

    page.live.send = lose_later_reads
    mine = BEFORE.replace("Three", "Mine")
    outcome = await page.write(mine)
    assert (outcome.kind, outcome.message) == ("sent", MAYBE_OVERWRITTEN)
    page.live.send = send
    assert await page.current_text() == mine


async def test_edit_before_the_repair_is_kept(page: PageUnderEdit) -> None:
    mine = BEFORE.replace("Three", "Mine")
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"))
    send = page.live.send

    async def edit_after_response(op: Operation[Any]) -> Any:
        response = await send(op)
        if isinstance(op, content.Edit):
            page.live.send = send
            await page.edit_as_other(mine.replace("Two", "Later"))
        return response

    page.live.send = edit_after_response
    assert (await page.write(mine)).kind == "merged"
    assert await page.current_text() == mine.replace("Two", "Later").replace("One", "Theirs")


async def test_edit_is_repaired_if_another_page_was_edited_before_the_search(page: PageUnderEdit) -> None:
    mine = BEFORE.replace("Three", "Mine")
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"))
    send = page.live.send

    async def lose_first_response(op: Operation[Any]) -> Any:
        response = await send(op)
        if isinstance(op, content.Edit):
            page.live.send = send
            await page.edit_as_other(UpdatePage(page="usage", document=DocumentBody(markdown="# Usage\n\nPress two.")))
            raise Lost("The connection broke.")
        return response

    page.live.send = lose_first_response
    assert (await page.write(mine)).kind == "merged"
    assert await page.current_text() == mine.replace("One", "Theirs")


async def test_edit_after_a_lost_response_is_kept_by_the_repair(page: PageUnderEdit) -> None:
    mine = BEFORE.replace("Three", "Mine")
    page.edit_as_other_during_send(BEFORE.replace("One", "Theirs"))
    send = page.live.send

    async def lose_first_response(op: Operation[Any]) -> Any:
        response = await send(op)
        if isinstance(op, content.Edit):
            page.live.send = send
            await page.edit_as_other(mine.replace("Two", "Later"))
            raise Lost("The connection broke.")
        return response

    page.live.send = lose_first_response
    outcome = await page.write(mine)
    assert outcome.kind == "merged"
    assert await page.current_text() == mine.replace("Two", "Later").replace("One", "Theirs")


async def test_unchanged_text_is_not_sent(page: PageUnderEdit) -> None:
    mine = BEFORE.replace("Two", "Mine")
    await page.write(mine)
    sent = len(page.gate.writes)
    assert (await page.write(mine)).kind == "same"
    assert len(page.gate.writes) == sent


async def test_deleted_page_is_reported(page: PageUnderEdit) -> None:
    await page.edit_as_other(DeletePage(page="intro"))
    assert (await page.write(BEFORE.replace("Two", "Mine"))).kind == "gone"


async def test_missing_connection_is_reported_with_its_cause(page: PageUnderEdit) -> None:
    page.gate.errors.append(NotSent("Can't reach the server."))
    outcome = await page.write(BEFORE.replace("Two", "Mine"))
    assert (outcome.kind, outcome.message) == ("refused", "Could not save the page: Can't reach the server.")
