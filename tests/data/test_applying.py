"""Suggestions are put into pages of a change request, and nothing is written over that nobody saw."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.documents.parse import parse
from octavo.documents.suggestions import find_suggestions, suggestion_fence
from octavo.tui.writing.applying_suggestions import Wording, apply, take_back
from tests.data.sends import Gate
from tests.data.test_deciding import edit
from tests.server.asking import Ask

SAYS = "# Intro\n\nHello, reader.\n\nGoodbye.\n"


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "intro", SAYS)
    return made.ref(here)


async def suggest(ask: Ask, at: ChangeRequestRef, words: str, wanted: str) -> Wording:
    """Tom suggests another wording of the block that says `words`; how the author finds it in his comment."""
    key = next(each.key for each in parse(SAYS).walk() if each.plain() == words)
    body = Markdown(markdown=f"Better:\n\n{suggestion_fence(wanted)}")
    made = await ask(comments.Create(at=at, page="intro", node=key, body=body), "tom")
    (found,) = find_suggestions(made.body.text)
    assert made.target.page
    assert made.target.node
    return Wording(made.target.page.id, made.target.node.id, made.target.revision, found.text)


async def page(ask: Ask, at: ChangeRequestRef) -> Raw | None:
    return (await ask(content.GetRawPage(at=at, page_id="intro"))).markdown


async def test_two_at_once_are_one_edit_and_can_be_taken_back(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: Gate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "````\n```\n````\n<<<<<<< main")
    sent = await apply(live, at, (one, two))
    assert sent.result
    assert (sent.kind, sent.result.applied) == ("done", 2)
    assert await page(ask, at) == Raw("# Intro\n\nHello, **dear** reader.\n\n````\n```\n````\n<<<<<<< main\n")
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert (await take_back(live, at, sent.result)).kind == "done"
    assert await page(ask, at) == Raw(SAYS)


async def test_what_was_edited_since_is_told_and_the_others_are_put_in(
    live: Live, ask: Ask, at: ChangeRequestRef
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "Farewell.")
    await edit(ask, at, "intro", SAYS.replace("Hello, reader.", "Hello, writer."))
    sent = await apply(live, at, (one, two))
    assert sent.result
    assert [fate for _, fate in sent.result.fates] == ["changed", "applied"]
    assert await page(ask, at) == Raw("# Intro\n\nHello, writer.\n\nFarewell.\n")
    again = await apply(live, at, (one, two))
    assert again.result
    assert (again.kind, [fate for _, fate in again.result.fates]) == ("changed", ["changed", "same"])
    await edit(ask, at, "intro", SAYS)
    assert (await take_back(live, at, sent.result)).kind == "changed"


async def test_where_nobody_knows_what_it_was_suggested_for_nothing_is_written(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: Gate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    sent = await apply(live, at, (Wording(one.page, one.key, None, one.text),))
    assert (sent.kind, gate.writes) == ("changed", [])


async def test_somebody_who_writes_in_that_moment_is_not_written_over(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: Gate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner, seen = gate._send, list[Operation[Any]]()

    async def meanwhile(op: Operation[Any]) -> Any:
        if isinstance(op, content.GetRawPage) and len(seen) < 2:
            answer: Any = await inner(op)
            seen.append(op)
            if len(seen) == 2:  # what it is put into was read, and nothing sent yet
                await edit(ask, at, "intro", SAYS.replace("Goodbye.", "See you."))
            return answer
        return await inner(op)

    gate._send = meanwhile
    assert (await apply(live, at, (one,))).kind == "done"
    assert await page(ask, at) == Raw("# Intro\n\nHello.\n\nSee you.\n")


async def test_a_lost_answer_is_read_back(live: Live, ask: Ask, at: ChangeRequestRef, gate: Gate) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner = gate._send

    async def lossy(op: Operation[Any]) -> Any:
        answer: Any = await inner(op)
        if isinstance(op, content.Edit):
            raise Lost("The connection broke.")
        return answer

    gate._send = lossy
    assert (await apply(live, at, (one,))).kind == "done"
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert await page(ask, at) == Raw(SAYS.replace("Hello, reader.", "Hello."))


async def test_a_change_request_that_is_archived_stays_as_it_is(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    await ask(change_requests.Update(at=at, status="archived"))
    sent = await apply(live, at, (one,))
    assert (sent.kind, sent.message) == ("refused", "the change request is now archived.")
