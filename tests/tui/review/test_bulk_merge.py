"""Several change requests are merged in order, until a check fails."""

from __future__ import annotations

from typing import Any, cast

import pytest

from octavo.api import change_requests, spaces
from octavo.api.content import DeletePage
from octavo.api.errors import Lost
from octavo.api.operation import ChangeRequestRef, Operation
from octavo.data.live import Live
from octavo.tui.core.shell import Shell
from octavo.tui.review.merge_checks import Checks
from octavo.tui.review.merge_dialog import (
    BulkMergeResult,
    MergeSeveralDialog,
    QueuedMerge,
    check_queued,
    merge_in_order,
)
from octavo.tui.widgets.short_texts import InfoRow
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update


@pytest.fixture
async def editor(platform: Platform) -> SpaceEditor:
    return await SpaceEditor.open(Ask(platform), "# Alpha\n\nOne.\n", "# Beta\n\nTwo.\n", "# Gamma\n\nThree.\n")


class BulkMerge:
    """Merges change requests in order, and records the reported rows."""

    def __init__(self, live: Live, editor: SpaceEditor, *at: ChangeRequestRef) -> None:
        self.live, self.editor, self.at = live, editor, at
        self.reported: list[tuple[int, InfoRow]] = []
        self.stop_after = len(at)

    async def load_checks(self) -> None:
        """Load all change requests and their checks."""
        self.several = [QueuedMerge(at, await self.editor.get(at), "Docs") for at in self.at]
        self.checks = [(await check_queued(self.live, one)).checks for one in self.several]

    async def __call__(self) -> BulkMergeResult:
        return await merge_in_order(
            self.live,
            self.several,
            self.checks,
            lambda number, info_row: self.reported.append((number, info_row)),
            lambda: sum(str(info_row.text).endswith("· merged") for _, info_row in self.reported) < self.stop_after,
        )

    @property
    async def statuses(self) -> list[str]:
        return [(await self.editor.get(at)).status for at in self.at]


@pytest.fixture
async def three_changes(live: Live, editor: SpaceEditor) -> BulkMerge:
    """Return a bulk merge of three change requests that edit different pages."""
    texts = {"Alpha": "# Alpha\n\n1.\n", "Beta": "# Beta\n\n2.\n", "Gamma": "# Gamma\n\n3.\n"}
    at = [await editor.propose(update(await editor.id(title), text), subject=title) for title, text in texts.items()]
    bulk = BulkMerge(live, editor, *at)
    await bulk.load_checks()
    return bulk


async def test_change_requests_are_merged_in_order(three_changes: BulkMerge, editor: SpaceEditor) -> None:
    ended = await three_changes()
    assert ended == BulkMergeResult(("#2 in Docs", "#3 in Docs", "#4 in Docs"))
    assert await three_changes.statuses == ["merged"] * 3
    revisions = [(await editor.get(at)).revision_merged for at in three_changes.at]
    assert sorted(revisions, key=lambda name: int(str(name)[1:])) == revisions
    assert [str(info_row.text) for number, info_row in three_changes.reported if number == 1] == [
        "Docs · Beta · checking again…",
        "Docs · Beta · 1 page · draft · warnings: outdated, approval",
        "Docs · Beta · merging…",
        "Docs · Beta · merged",
    ]


async def test_conflict_with_an_earlier_merge_stops_the_bulk_merge(live: Live, editor: SpaceEditor) -> None:
    beta = await editor.id("Beta")
    bulk = BulkMerge(
        live,
        editor,
        await editor.propose(update(beta, "# Beta\n\nHere.\n"), subject="Here"),
        await editor.propose(update(beta, "# Beta\n\nThere.\n"), subject="There"),
        await editor.propose(update(await editor.id("Gamma"), "# Gamma\n\n3.\n"), subject="Gamma"),
    )
    await bulk.load_checks()
    ended = await bulk()
    assert ended.merged_names == ("#2 in Docs",)
    assert ended.reason.startswith(
        "Stopped at #3 in Docs: pages may conflict: Beta (merge this change request by itself)"
    )
    assert await bulk.statuses == ["merged", "draft", "draft"]


async def test_paragraph_merged_word_by_word_stops_the_bulk_merge(live: Live, editor: SpaceEditor) -> None:
    sentence = "The probe reads 10 cm at low water and 20 cm at high water."
    await editor.publish(insert(f"# Tides\n\n{sentence}\n"))
    page, alpha = await editor.id("Tides"), await editor.id("Alpha")
    bulk = BulkMerge(
        live,
        editor,
        await editor.propose(update(page, f"# Tides\n\n{sentence.replace('10', '12')}\n"), subject="Low"),
        await editor.propose(update(page, f"# Tides\n\n{sentence.replace('20', '21')}\n"), subject="High"),
        await editor.propose(update(alpha, "# Alpha\n\n1.\n"), subject="Alpha"),
    )
    await bulk.load_checks()
    assert (
        "this change request changes the same paragraph as #3 in Docs, which will be merged first"
        in (await reasons_before(bulk))[1]
    )
    ended = await bulk()
    assert len(ended.merged_names) == 1
    assert (
        "changed the same paragraph, so the two versions would be merged word by word (merge this change request by itself and check the text)"
        in ended.reason
    )


async def test_changes_already_merged_are_not_merged_again(live: Live, editor: SpaceEditor) -> None:
    alpha = await editor.id("Alpha")
    same = [await editor.propose(update(alpha, "# Alpha\n\n1.\n"), subject=each) for each in ("First", "Again")]
    bulk = BulkMerge(live, editor, *same)
    await bulk.load_checks()
    assert (await reasons_before(bulk))[1] == (
        "all changes in this change request are also in #2 in Docs, which will be merged first "
        "(after #2 in Docs is merged, press L to archive this change request)"
    )
    ended = await bulk()
    assert ended == BulkMergeResult(("#2 in Docs",), "Stopped at #3 in Docs: main already has these changes")


async def test_edit_after_the_checks_stops_the_bulk_merge(three_changes: BulkMerge, editor: SpaceEditor) -> None:
    await editor.edit(three_changes.at[1], insert("# New\n\nNew.\n"))
    assert await three_changes() == BulkMergeResult(
        ("#2 in Docs",), "Stopped at #3 in Docs: this change request was edited after the checks ran"
    )
    assert await three_changes.statuses == ["merged", "draft", "draft"]


@pytest.mark.parametrize(
    ("kind", "name"), [(spaces.Get, ": #5 Better words was merged"), (change_requests.Get, "")], ids=["main", "request"]
)
async def test_change_of_main_during_the_last_check_stops_the_bulk_merge(
    three_changes: BulkMerge, live: Live, editor: SpaceEditor, kind: type[Operation[Any]], name: str
) -> None:
    send, sent = live.send, list[Operation[Any]]()

    async def change_main_first(op: Operation[Any]) -> Any:
        if isinstance(op, kind) and str(three_changes.reported[-1][1].text).endswith("merging…") and not sent:
            sent.append(op)
            await editor.publish(insert("# New\n\nNew.\n"))
        assert not isinstance(op, change_requests.Merge)
        return await send(op)

    live.send = change_main_first
    main = f"main has changed since the checks were loaded{name}. Review the checks again before you merge"
    assert await three_changes() == BulkMergeResult((), f"Stopped at #2 in Docs: {main}")
    assert await three_changes.statuses == ["draft"] * 3


async def test_cancel_stops_before_the_next_merge(three_changes: BulkMerge) -> None:
    three_changes.stop_after = 1
    assert await three_changes() == BulkMergeResult(
        ("#2 in Docs",), "Stopped before #3 in Docs because you canceled the merge"
    )
    assert await three_changes.statuses == ["merged", "draft", "draft"]


async def test_refused_merge_stops_the_bulk_merge(three_changes: BulkMerge, platform: Platform) -> None:
    platform.refuse_next(change_requests.Merge, 409, "It is being edited.")
    assert await three_changes() == BulkMergeResult((), "Stopped at #2 in Docs: could not merge #2: It is being edited")
    assert await three_changes.statuses == ["draft"] * 3


async def test_lost_response_stops_the_bulk_merge_without_a_retry(three_changes: BulkMerge, live: Live) -> None:
    send, requests = live.send, []

    async def lose_merge_response(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Merge):
            requests.append(op)
            raise Lost("The connection broke.")
        return await send(op)

    live.send = lose_merge_response
    ended = await three_changes()
    assert ended.merged_names == ()
    assert "Octavo did not retry" in ended.reason
    assert len(requests) == 1


async def test_deleted_page_is_not_merged_in_bulk(live: Live, editor: SpaceEditor) -> None:
    bulk = BulkMerge(live, editor, await editor.propose(DeletePage(page=await editor.id("Beta")), subject="Less"))
    await bulk.load_checks()
    assert (
        await bulk()
    ).reason == "Stopped at #2 in Docs: this change request deletes 1 page (merge this change request by itself)"


async def reasons_before(bulk: BulkMerge) -> list[str]:
    """Return the reason against each merge as it is known before any merge. Empty if there is none."""
    found: list[str] = []
    earlier: list[tuple[QueuedMerge, Checks]] = []
    for one in bulk.several:
        candidate = await check_queued(bulk.live, one, earlier)
        found.append(candidate.reason)
        if candidate.checks is not None:
            earlier.append((one, candidate.checks))
    return found


async def test_conflict_with_an_earlier_merge_is_shown_before_the_merge(live: Live, editor: SpaceEditor) -> None:
    beta, alpha = await editor.id("Beta"), await editor.id("Alpha")
    bulk = BulkMerge(
        live,
        editor,
        await editor.propose(update(beta, "# Beta\n\nHere.\n"), subject="Here"),
        await editor.propose(update(beta, "# Beta\n\nThere.\n"), subject="There"),
        await editor.propose(update(beta, "# Beta\n\nTwo.\n\nAnd more.\n"), update(alpha, "# A\n"), subject="Beside"),
    )
    await bulk.load_checks()
    assert await reasons_before(bulk) == [
        "",
        "this change request may conflict with #2 in Docs, which will be merged first (conflicts: Beta)",
        "",
    ]
    bulk.several.reverse()
    assert (await reasons_before(bulk))[
        2
    ] == "this change request may conflict with #3 in Docs, which will be merged first (conflicts: Beta)"


async def test_rule_broken_by_the_first_merge_is_shown_before_the_merge(
    three_changes: BulkMerge, editor: SpaceEditor
) -> None:
    rules = {"type": "rules", "rules": [{"rule": "require_up_to_date_change_request"}]}
    await editor.ask(spaces.Update(at=editor.space, merge_rules=rules))
    outdated = (
        "this change request will be outdated after #2 in Docs is merged, and a merge rule blocks outdated change requests "
        "(after #2 in Docs is merged, press U to update this change request from main)"
    )
    assert await reasons_before(three_changes) == ["", outdated, outdated]


async def test_unmet_rule_is_named_without_a_useless_key(three_changes: BulkMerge, editor: SpaceEditor) -> None:
    rules = {"type": "rules", "rules": [{"rule": "require_at_least_one_approved_review"}]}
    await editor.ask(spaces.Update(at=editor.space, merge_rules=rules))
    assert set(await reasons_before(three_changes)) == {"the merge rules are not met (an approval is required)"}


async def test_only_change_request_is_both_first_and_last(three_changes: BulkMerge) -> None:
    dialog = MergeSeveralDialog(cast(Shell, None), three_changes.several[:1])
    dialog._has_checks = True
    assert [dialog.why_not_moved(step) for step in (-1, 1)] == [
        "#2 in Docs is already first in the merge order.",
        "#2 in Docs is already last in the merge order.",
    ]
