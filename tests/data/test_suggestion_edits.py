"""Applying suggestions to the pages of a change request never overwrites other edits."""

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
from octavo.tui.editing.suggestion_commands import SuggestedText, apply_suggestions, revert_suggestions
from tests.data.sends import RequestGate
from tests.data.test_deciding import edit
from tests.server.asking import Ask

SAYS = "# Intro\n\nHello, reader.\n\nGoodbye.\n"


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "intro", SAYS)
    return made.ref(here)


async def suggest(ask: Ask, at: ChangeRequestRef, words: str, wanted: str) -> SuggestedText:
    """Create a suggestion by Tom for the block with the text `words`. Return the suggestion as the author reads it."""
    key = next(each.key for each in parse(SAYS).walk() if each.plain() == words)
    body = Markdown(markdown=f"Better:\n\n{suggestion_fence(wanted)}")
    made = await ask(comments.Create(at=at, page="intro", node=key, body=body), "tom")
    (found,) = find_suggestions(made.body.text)
    assert made.target.page
    assert made.target.node
    return SuggestedText(made.target.page.id, made.target.node.id, made.target.revision, found.text)


async def page_text(ask: Ask, at: ChangeRequestRef) -> Raw | None:
    return (await ask(content.GetRawPage(at=at, page_id="intro"))).markdown


async def test_two_suggestions_are_one_edit_that_can_be_undone(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "````\n```\n````\n<<<<<<< main")
    sent = await apply_suggestions(live, at, (one, two))
    assert sent.result
    assert (sent.kind, sent.result.applied) == ("done", 2)
    assert await page_text(ask, at) == Raw("# Intro\n\nHello, **dear** reader.\n\n````\n```\n````\n<<<<<<< main\n")
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    assert await page_text(ask, at) == Raw(SAYS)


async def test_edited_block_is_skipped_and_the_others_are_applied(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "Farewell.")
    await edit(ask, at, "intro", SAYS.replace("Hello, reader.", "Hello, writer."))
    sent = await apply_suggestions(live, at, (one, two))
    assert sent.result
    assert [fate for _, fate in sent.result.results] == ["changed", "applied"]
    assert await page_text(ask, at) == Raw("# Intro\n\nHello, writer.\n\nFarewell.\n")
    again = await apply_suggestions(live, at, (one, two))
    assert again.result
    assert (again.kind, [fate for _, fate in again.result.results]) == ("changed", ["changed", "same"])
    await edit(ask, at, "intro", SAYS)
    assert (await revert_suggestions(live, at, sent.result)).kind == "changed"


async def test_suggestion_without_a_revision_is_not_applied(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    sent = await apply_suggestions(live, at, (SuggestedText(one.page, one.block_key, None, one.text),))
    assert (sent.kind, gate.writes) == ("changed", [])


async def test_edit_during_applying_is_not_overwritten(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner, seen = gate._send, list[Operation[Any]]()

    async def edit_after_reading(op: Operation[Any]) -> Any:
        if isinstance(op, content.GetRawPage) and len(seen) < 2:
            answer: Any = await inner(op)
            seen.append(op)
            if len(seen) == 2:  # The page was read, and the edit is not sent yet.
                await edit(ask, at, "intro", SAYS.replace("Goodbye.", "See you."))
            return answer
        return await inner(op)

    gate._send = edit_after_reading
    assert (await apply_suggestions(live, at, (one,))).kind == "done"
    assert await page_text(ask, at) == Raw("# Intro\n\nHello.\n\nSee you.\n")


async def test_lost_response_is_read_back(live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner = gate._send

    async def lose_response(op: Operation[Any]) -> Any:
        answer: Any = await inner(op)
        if isinstance(op, content.Edit):
            raise Lost("The connection broke.")
        return answer

    gate._send = lose_response
    assert (await apply_suggestions(live, at, (one,))).kind == "done"
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert await page_text(ask, at) == Raw(SAYS.replace("Hello, reader.", "Hello."))


async def test_archived_change_request_is_not_edited(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    await ask(change_requests.Update(at=at, status="archived"))
    sent = await apply_suggestions(live, at, (one,))
    assert (sent.kind, sent.message) == ("refused", "the change request is now archived.")
