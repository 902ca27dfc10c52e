"""An edit has a base revision, is sent once, and overwrites no other edit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, RevertPage, UpdatePage
from octavo.api.errors import BadResponse, Lost, NotFound, NotSent, Trace
from octavo.api.operation import ChangeRequestRef, Operation, RevisionRef, SpaceRef
from octavo.api.safety import safe_text
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.state_db import StateDb
from octavo.data.writes.content_writes import NO_CONTENT_EDITS, edit, page_source
from tests.data.background_requests import wait_idle
from tests.data.connections import RequestGate, refuse_to_save
from tests.data.test_merge_writes import SleepCounter
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask

ODD = "# Intro\n\nA soft\u00adhyphen, \ufeffa mark, \u202egnol\u202c, e\u0301\u0301\u0301\u0301\u0301\u0301, \x1b[31mred\x1b[0m\u2028and so on.\n"


@pytest.fixture
def user() -> str:
    return "ada"


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    return (await ask(change_requests.Create(at=here, subject="Say more"))).ref(here)


async def head(ask: Ask, at: ChangeRequestRef) -> str | None:
    return (await ask(change_requests.Get(at=at))).revision


def page_edit(markdown: str, page: str = "intro") -> tuple[UpdatePage, ...]:
    return (UpdatePage(page=page, document=DocumentBody(markdown=markdown)),)


def count_edits(gate: RequestGate) -> int:
    return sum(isinstance(op, content.Edit) for op in gate.writes)


@pytest.fixture
async def live_losing_edits(live: Live, gate: RequestGate) -> Live:
    """Return a Live that loses the response of every edit."""

    async def send(op: Operation[Any]) -> Any:
        answer = await gate(op)
        if isinstance(op, content.Edit):
            raise Lost("The connection broke.")
        return answer

    live.send = send
    return live


async def page_text(live: Live, at: ChangeRequestRef, page: str = "intro") -> str | None:
    raw = await page_source(live, at, page)
    return raw.text if raw is not None else None


async def test_edit_stores_the_text_unchanged(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    assert safe_text(ODD) != ODD
    outcome = await edit(live, at, await head(ask, at), page_edit(ODD))
    assert (outcome.kind, outcome.replaced_revision) == ("done", None)
    assert outcome.revision == await head(ask, at)
    assert await page_text(live, at) == ODD
    page = await live.fetch(content.GetPage(at=at, page_id="intro", format="markdown"))
    assert page.markdown == safe_text(ODD), (
        "What is shown is made safe, also where the same page was read to be changed"
    )
    assert await page_text(live, at) == ODD


async def test_repr_of_an_edit_hides_its_text(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    await edit(live, at, await head(ask, at), page_edit("# Intro\n\nHidden words"))
    raw = await page_source(live, at, "intro")
    assert isinstance(raw, Raw)
    assert "Hidden" not in f"{raw} {raw!r} {[raw]}"


async def test_missing_page_has_no_source(live: Live, at: ChangeRequestRef) -> None:
    assert await page_source(live, at, "gone") is None


async def test_edit_notifies_watchers_of_the_page(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    op = content.GetPage(at=at, page_id="intro", format="markdown")
    live.watch(op, lambda _: None)
    await wait_idle(live)
    await edit(live, at, await head(ask, at), page_edit("# Intro\n\nNew words"))
    await wait_idle(live)
    page = live.peek(op).value
    assert page is not None
    assert "New words" in (page.markdown or "")


async def test_edit_over_a_newer_revision_is_refused(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await head(ask, at)
    shown = change_requests.Get(at=at)
    live.watch(shown, lambda _: None)
    await wait_idle(live)
    await ask(content.Edit(at=at, changes=page_edit("# Intro\n\nTheirs")))
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    await wait_idle(live)
    assert (outcome.kind, outcome.revision) == ("changed", await head(ask, at))
    assert outcome.message.startswith("the change request has changed"), "it follows “Could not …: ”"
    assert live.peek(shown).value.revision == outcome.revision, "It is on show"  # type: ignore[union-attr]  # the response was loaded
    assert count_edits(gate) == 0
    assert await page_text(live, at) == "# Intro\n\nTheirs"


async def test_simultaneous_edit_by_another_user_is_reported(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await head(ask, at)

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit):
            await ask(content.Edit(at=at, changes=page_edit("# Intro\n\nTheirs")))
        return await gate(op)

    live.send = send
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    assert outcome.kind == "done"
    assert outcome.replaced_revision is not None
    theirs = await page_source(live, RevisionRef(space_id=at.space_id, revision_id=outcome.replaced_revision), "intro")
    assert theirs == Raw("# Intro\n\nTheirs"), "What was written over can be read"


async def test_two_key_presses_send_one_edit(live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef) -> None:
    seen = await head(ask, at)
    both = await asyncio.gather(*(edit(live, at, seen, page_edit("# Intro\n\nMine")) for _ in range(2)))
    assert [each.kind for each in both] == ["done", "done"]
    assert count_edits(gate) == 1


EVERY: dict[str, ContentEdit] = {
    "text": page_edit("# Intro\n\nMine, at length.\n")[0],
    "title": UpdatePage(page="intro", title="Beginning"),
    "details": UpdatePage(page="intro", slug="Begin here", description="Read it first", emoji="🚀", hidden=True),
    "no details": UpdatePage(page="usage", icon=None, description="", no_index=True),
    "move": UpdatePage(page="usage", into="intro", at=0),
    "insert": InsertPage(title="More", document=DocumentBody(markdown="Words"), into="intro"),
    "delete": DeletePage(page="usage"),
    "revert": RevertPage(page="changed"),
}


@pytest.fixture
async def page_added_later(ask: Ask, at: ChangeRequestRef) -> None:
    """Add a page that the change request did not have at its start."""
    made = await ask(content.Edit(at=at, compat=False, changes=(InsertPage(document=DocumentBody(markdown="# New")),)))
    EVERY["revert"] = RevertPage(page=made["changes"][0]["page"]["id"])


@pytest.mark.parametrize("what", EVERY)
async def test_edit_with_a_lost_response_is_found_and_not_sent_again(
    live_losing_edits: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, page_added_later: None, what: str
) -> None:
    outcome = await edit(live_losing_edits, at, await head(ask, at), (EVERY[what],))
    assert (outcome.kind, outcome.revision) == ("done", await head(ask, at))
    assert count_edits(gate) == 1


@pytest.mark.parametrize("what", EVERY)
async def test_lost_edit_is_not_confused_with_an_edit_by_another_user(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, page_added_later: None, what: str
) -> None:
    seen = await head(ask, at)

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit):
            await ask(content.Edit(at=at, changes=(UpdatePage(page="usage", description="By somebody else"),)))
            raise Lost("The connection broke.")
        return await gate(op)

    live.send, live.outbox.state.sleep = send, (naps := SleepCounter())
    outcome = await edit(live, at, seen, (EVERY[what],))
    assert (outcome.kind, naps.seconds) == ("unknown", 62.0)
    assert "Octavo did not retry" in outcome.message


async def test_lost_edit_is_found_below_newer_edits(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen, created = await head(ask, at), list[str | None]()

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit):
            await gate(op)
            created.append(await head(ask, at))
            await ask(content.Edit(at=at, changes=page_edit("# Intro\n\nTheirs, after mine")))
            raise BadResponse("The answer cannot be read.")
        return await gate(op)

    live.send = send
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    assert (outcome.kind, [outcome.revision], outcome.replaced_revision) == ("done", created, None)


async def test_offline_edit_is_refused_and_not_queued(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await head(ask, at)
    gate.errors.append(NotSent("Can't reach the server."))
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    assert (outcome.kind, outcome.message) == ("refused", "Can't reach the server.")
    assert live.outbox.entries == ()
    assert count_edits(gate) == 0


async def test_change_request_closed_meanwhile_is_reported(
    live: Live, platform: Platform, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await head(ask, at)
    await ask(change_requests.Update(at=at, status="archived"))
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    assert outcome.kind == "refused"
    assert "Reopen it first" in outcome.message
    assert count_edits(gate) == 1


async def test_edit_that_cannot_be_claimed_is_not_sent(
    live: Live, gate: RequestGate, state: StateDb, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await head(ask, at)
    allow = refuse_to_save(state)
    outcome = await edit(live, at, seen, page_edit("# Intro\n\nMine"))
    allow()
    assert outcome.kind == "refused"
    assert "Nothing is being saved" in outcome.message
    assert count_edits(gate) == 0


async def without_operation(live: Live, gate: RequestGate) -> None:
    """Simulate a server that has no operation to edit content."""

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit):
            raise NotFound("There is nothing there.", Trace(status=404, only_reads=False))
        return await gate(op)

    live.send = send


async def test_server_without_the_edit_operation_is_recognized(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    await without_operation(live, gate)
    seen = await head(ask, at)
    assert (await edit(live, at, seen, page_edit("Mine", "gone"))).kind == "refused", (
        "It may be the page that is not there"
    )
    assert live.availability.why_unavailable(content.Edit) is None
    outcome = await edit(live, at, seen, page_edit("Mine"))
    assert (outcome.kind, outcome.message) == ("refused", NO_CONTENT_EDITS)
    assert live.availability.why_unavailable(content.Edit) == NO_CONTENT_EDITS


async def test_response_with_only_the_change_request_is_understood(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    async def send(op: Operation[Any]) -> Any:
        return await gate(op.model_copy(update={"compat": True}) if isinstance(op, content.Edit) else op)

    live.send = send
    outcome = await edit(live, at, await head(ask, at), page_edit("# Intro\n\nMine"))
    assert (outcome.kind, outcome.revision) == ("done", await head(ask, at))
