"""Several change requests are merged in order, until one is not surely fine."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests
from octavo.api.content import DeletePage
from octavo.api.errors import Lost
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef
from octavo.data.live import Live
from octavo.server.app import Platform
from octavo.tui.review.merging_several import Ended, One, look, merge_in_order
from octavo.tui.widgets.facts import Fact
from tests.server.asking import Ask
from tests.server.writing import Desk, insert, update


@pytest.fixture
async def desk(platform: Platform) -> Desk:
    return await Desk.open(Ask(platform), "# Alpha\n\nOne.\n", "# Beta\n\nTwo.\n", "# Gamma\n\nThree.\n")


async def nap(seconds: float) -> None:
    pass


class Merging:
    """Merges in order, and keeps what was told."""

    def __init__(self, live: Live, desk: Desk, *at: ChangeRequestRef) -> None:
        self.live, self.desk, self.at = live, desk, at
        self.told: list[tuple[int, Fact]] = []
        self.stop_after = len(at)

    async def see(self) -> None:
        """Look at all of them."""
        self.several = [One(at, await self.desk.get(at)) for at in self.at]
        self.seen = [(await look(self.live, one))[0] for one in self.several]

    async def __call__(self) -> Ended:
        return await merge_in_order(
            self.live,
            self.several,
            self.seen,
            lambda number, fact: self.told.append((number, fact)),
            lambda: sum(str(fact.text).endswith("· merged") for _, fact in self.told) < self.stop_after,
            sleep=nap,
        )

    @property
    async def statuses(self) -> list[str]:
        return [(await self.desk.get(at)).status for at in self.at]


@pytest.fixture
async def three(live: Live, desk: Desk) -> Merging:
    """Three that touch different pages."""
    texts = {"Alpha": "# Alpha\n\n1.\n", "Beta": "# Beta\n\n2.\n", "Gamma": "# Gamma\n\n3.\n"}
    at = [await desk.propose(update(await desk.id(title), text), subject=title) for title, text in texts.items()]
    merging = Merging(live, desk, *at)
    await merging.see()
    return merging


async def test_they_are_merged_in_order(three: Merging, desk: Desk) -> None:
    ended = await three()
    assert ended == Ended(("#2", "#3", "#4"))
    assert await three.statuses == ["merged"] * 3
    revisions = [(await desk.get(at)).revision_merged for at in three.at]
    assert sorted(revisions, key=lambda name: int(str(name)[1:])) == revisions
    assert [str(fact.text) for number, fact in three.told if number == 1] == [
        "Beta · checking again",
        "Beta · 1 page · look at: up to date, approval",
        "Beta · merging",
        "Beta · merged",
    ]


async def test_one_that_conflicts_with_what_went_before_ends_it(live: Live, desk: Desk) -> None:
    beta = await desk.id("Beta")
    merging = Merging(
        live,
        desk,
        await desk.propose(update(beta, "# Beta\n\nHere.\n"), subject="Here"),
        await desk.propose(update(beta, "# Beta\n\nThere.\n"), subject="There"),
        await desk.propose(update(await desk.id("Gamma"), "# Gamma\n\n3.\n"), subject="Gamma"),
    )
    await merging.see()
    ended = await merging()
    assert ended.merged == ("#2",)
    assert ended.why.startswith("stopped at #3: There · Pages may conflict: merge it by itself")
    assert await merging.statuses == ["merged", "draft", "draft"]


async def test_one_that_was_edited_since_ends_it(three: Merging, desk: Desk) -> None:
    await desk.edit(three.at[1], insert("# New\n\nNew.\n"))
    assert await three() == Ended(("#2",), "stopped at #3: it was edited since you looked")
    assert await three.statuses == ["merged", "draft", "draft"]


async def test_who_asks_to_stop_is_heard_before_the_next(three: Merging) -> None:
    three.stop_after = 1
    assert await three() == Ended(("#2",), "stopped before #3, as you asked")
    assert await three.statuses == ["merged", "draft", "draft"]


async def test_a_refusal_ends_it(three: Merging, platform: Platform) -> None:
    platform.refuse_next(change_requests.Merge, 409, "It is being edited.")
    assert await three() == Ended((), "stopped at #2: Not merged: It is being edited.")
    assert await three.statuses == ["draft"] * 3


async def test_a_lost_request_ends_it_and_is_not_sent_again(three: Merging, live: Live) -> None:
    send, lost = live.send, []

    async def losing(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Merge):
            lost.append(op)
            raise Lost("The connection broke.")
        return await send(op)

    live.send = losing
    ended = await three()
    assert ended.merged == ()
    assert "Nothing was sent again" in ended.why
    assert len(lost) == 1


async def test_what_takes_a_look_of_its_own_is_not_merged_in_passing(live: Live, desk: Desk) -> None:
    merging = Merging(live, desk, await desk.propose(DeletePage(page=await desk.id("Beta")), subject="Less"))
    await merging.see()
    assert (await merging()).why == "stopped at #2: Less · It deletes 1 page: merge it by itself, with m"
