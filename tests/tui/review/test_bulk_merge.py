"""Several change requests are merged in order, until one is not surely fine."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, spaces
from octavo.api.content import DeletePage
from octavo.api.errors import Lost
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef
from octavo.data.live import Live
from octavo.server.app import Platform
from octavo.tui.review.merge_checks import Checks
from octavo.tui.review.merge_dialog import MergeTotals, QueuedMerge, check_queued, merge_in_order
from octavo.tui.widgets.short_texts import Fact
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
        self.live.outbox.state.sleep = nap
        self.several = [QueuedMerge(at, await self.desk.get(at), "Docs") for at in self.at]
        self.seen = [(await check_queued(self.live, one)).checks for one in self.several]

    async def __call__(self) -> MergeTotals:
        return await merge_in_order(
            self.live,
            self.several,
            self.seen,
            lambda number, fact: self.told.append((number, fact)),
            lambda: sum(str(fact.text).endswith("· merged") for _, fact in self.told) < self.stop_after,
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


async def test_change_requests_are_merged_in_order(three: Merging, desk: Desk) -> None:
    ended = await three()
    assert ended == MergeTotals(("#2 in Docs", "#3 in Docs", "#4 in Docs"))
    assert await three.statuses == ["merged"] * 3
    revisions = [(await desk.get(at)).revision_merged for at in three.at]
    assert sorted(revisions, key=lambda name: int(str(name)[1:])) == revisions
    assert [str(fact.text) for number, fact in three.told if number == 1] == [
        "Docs · Beta · checking again…",
        "Docs · Beta · 1 page · draft · warnings: outdated, approval",
        "Docs · Beta · merging…",
        "Docs · Beta · merged",
    ]


async def test_conflict_with_an_earlier_merge_stops_the_bulk_merge(live: Live, desk: Desk) -> None:
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
    assert ended.merged == ("#2 in Docs",)
    assert ended.reason.startswith(
        "Stopped at #3 in Docs: pages may conflict: Beta (merge this change request by itself)"
    )
    assert await merging.statuses == ["merged", "draft", "draft"]


async def test_paragraph_merged_word_by_word_stops_the_bulk_merge(live: Live, desk: Desk) -> None:
    sentence = "The probe reads 10 cm at low water and 20 cm at high water."
    await desk.publish(insert(f"# Tides\n\n{sentence}\n"))
    page, alpha = await desk.id("Tides"), await desk.id("Alpha")
    merging = Merging(
        live,
        desk,
        await desk.propose(update(page, f"# Tides\n\n{sentence.replace('10', '12')}\n"), subject="Low"),
        await desk.propose(update(page, f"# Tides\n\n{sentence.replace('20', '21')}\n"), subject="High"),
        await desk.propose(update(alpha, "# Alpha\n\n1.\n"), subject="Alpha"),
    )
    await merging.see()
    assert (
        "this change request changes the same paragraph as #3 in Docs, which will be merged first"
        in (await before(merging))[1]
    )
    ended = await merging()
    assert len(ended.merged) == 1
    assert (
        "changed the same paragraph, so the two versions would be merged word by word (merge this change request by itself and check the text)"
        in ended.reason
    )


async def test_changes_already_merged_are_not_merged_again(live: Live, desk: Desk) -> None:
    alpha = await desk.id("Alpha")
    same = [await desk.propose(update(alpha, "# Alpha\n\n1.\n"), subject=each) for each in ("First", "Again")]
    merging = Merging(live, desk, *same)
    await merging.see()
    assert (await before(merging))[1] == (
        "all changes in this change request are also in #2 in Docs, which will be merged first "
        "(after #2 in Docs is merged, press L to archive this change request)"
    )
    ended = await merging()
    assert ended == MergeTotals(("#2 in Docs",), "Stopped at #3 in Docs: main already has these changes")


async def test_edit_after_the_checks_stops_the_bulk_merge(three: Merging, desk: Desk) -> None:
    await desk.edit(three.at[1], insert("# New\n\nNew.\n"))
    assert await three() == MergeTotals(
        ("#2 in Docs",), "Stopped at #3 in Docs: this change request was edited after the checks ran"
    )
    assert await three.statuses == ["merged", "draft", "draft"]


@pytest.mark.parametrize(
    ("kind", "name"), [(spaces.Get, ": #5 Better words was merged"), (change_requests.Get, "")], ids=["main", "request"]
)
async def test_change_of_main_during_the_last_check_stops_the_bulk_merge(
    three: Merging, live: Live, desk: Desk, kind: type[Operation[Any]], name: str
) -> None:
    send, sent = live.send, list[Operation[Any]]()

    async def overtaken(op: Operation[Any]) -> Any:
        if isinstance(op, kind) and str(three.told[-1][1].text).endswith("merging…") and not sent:
            sent.append(op)
            await desk.publish(insert("# New\n\nNew.\n"))
        assert not isinstance(op, change_requests.Merge)
        return await send(op)

    live.send = overtaken
    main = f"main has changed since the checks were loaded{name}. Review the checks again before you merge"
    assert await three() == MergeTotals((), f"Stopped at #2 in Docs: {main}")
    assert await three.statuses == ["draft"] * 3


async def test_cancel_stops_before_the_next_merge(three: Merging) -> None:
    three.stop_after = 1
    assert await three() == MergeTotals(("#2 in Docs",), "Stopped before #3 in Docs because you canceled the merge")
    assert await three.statuses == ["merged", "draft", "draft"]


async def test_refused_merge_stops_the_bulk_merge(three: Merging, platform: Platform) -> None:
    platform.refuse_next(change_requests.Merge, 409, "It is being edited.")
    assert await three() == MergeTotals((), "Stopped at #2 in Docs: could not merge #2: It is being edited")
    assert await three.statuses == ["draft"] * 3


async def test_lost_response_stops_the_bulk_merge_without_a_retry(three: Merging, live: Live) -> None:
    send, lost = live.send, []

    async def losing(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Merge):
            lost.append(op)
            raise Lost("The connection broke.")
        return await send(op)

    live.send = losing
    ended = await three()
    assert ended.merged == ()
    assert "Octavo did not retry" in ended.reason
    assert len(lost) == 1


async def test_deleted_page_is_not_merged_in_bulk(live: Live, desk: Desk) -> None:
    merging = Merging(live, desk, await desk.propose(DeletePage(page=await desk.id("Beta")), subject="Less"))
    await merging.see()
    assert (
        await merging()
    ).reason == "Stopped at #2 in Docs: this change request deletes 1 page (merge this change request by itself)"


async def before(merging: Merging) -> list[str]:
    """Return the known reasons against each merge, before any merge."""
    found: list[str] = []
    earlier: list[tuple[QueuedMerge, Checks]] = []
    for one in merging.several:
        stand = await check_queued(merging.live, one, earlier)
        found.append(stand.reason)
        if stand.checks is not None:
            earlier.append((one, stand.checks))
    return found


async def test_conflict_with_an_earlier_merge_is_shown_before_the_merge(live: Live, desk: Desk) -> None:
    beta, alpha = await desk.id("Beta"), await desk.id("Alpha")
    merging = Merging(
        live,
        desk,
        await desk.propose(update(beta, "# Beta\n\nHere.\n"), subject="Here"),
        await desk.propose(update(beta, "# Beta\n\nThere.\n"), subject="There"),
        await desk.propose(update(beta, "# Beta\n\nTwo.\n\nAnd more.\n"), update(alpha, "# A\n"), subject="Beside"),
    )
    await merging.see()
    assert await before(merging) == [
        "",
        "this change request may conflict with #2 in Docs, which will be merged first (conflicts: Beta)",
        "",
    ]
    merging.several.reverse()
    assert (await before(merging))[
        2
    ] == "this change request may conflict with #3 in Docs, which will be merged first (conflicts: Beta)"


async def test_rule_broken_by_the_first_merge_is_shown_before_the_merge(three: Merging, desk: Desk) -> None:
    rules = {"type": "rules", "rules": [{"rule": "require_up_to_date_change_request"}]}
    await desk.ask(spaces.Update(at=desk.space, merge_rules=rules))
    behind = (
        "this change request will be outdated after #2 in Docs is merged, and a merge rule blocks outdated change requests "
        "(after #2 in Docs is merged, press U to update this change request from main)"
    )
    assert await before(three) == ["", behind, behind]


async def test_unmet_rule_is_named_without_a_useless_key(three: Merging, desk: Desk) -> None:
    rules = {"type": "rules", "rules": [{"rule": "require_at_least_one_approved_review"}]}
    await desk.ask(spaces.Update(at=desk.space, merge_rules=rules))
    assert set(await before(three)) == {"the merge rules are not met (an approval is required)"}
