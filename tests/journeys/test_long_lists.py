"""Long lists load only their visible part, and say which items are not loaded."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import comments, reviews
from octavo.api.comments import Comment
from octavo.api.operation import SpaceRef
from octavo.tui.comments.thread_loader import ThreadSource, sources_to_load
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.faulty_server import altered
from tests.journeys.stage import Stage

BATCH_SIZE = 12


def add_spaces(answer: Any) -> None:
    answer["items"] += [{"id": f"more-{number}", "title": f"More {number}"} for number in range(BATCH_SIZE)]


@pytest.mark.before_release
async def test_comments_of_many_spaces_load_in_batches(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.tui.comments.thread_loader.BATCH", BATCH_SIZE)
    async with stage.play(over=altered("/v1/orgs/[^/]+/spaces", add_spaces), start="comments") as run:
        known = run.app.workspace.spaces.value
        assert known is not None
        assert len(known.items) > BATCH_SIZE

        def requested_places() -> set[object]:
            return {op.at for op in run.gate.sent(comments.List) if isinstance(op.at, SpaceRef)}

        assert len(requested_places()) == BATCH_SIZE
        assert all(space.ref in requested_places() for space in known.items if space.comments)
        await run.see(" change requests loaded   G load more")
        await run.press("G")
        await run.gone("G load more")
        assert requested_places() == {space.ref for space in known.items}


def add_change_requests(answer: Any) -> None:
    one = answer["items"][0]
    answer["items"] += [{**one, "id": f"more-{number}", "number": 1000 + number} for number in range(3 * BATCH_SIZE)]


@pytest.mark.before_release
async def test_filter_checks_a_limited_number_of_change_requests_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.review.request_list.CHECKED_AT_ONCE", BATCH_SIZE)
    lists = altered("/v1/orgs/[^/]+/change-requests", add_change_requests)
    async with stage.play(over=lists, start="changes") as run:
        await run.press("F", *"not reviewed", "enter")
        await run.see(f"Only the first {BATCH_SIZE} are loaded")
        requested_places = {op.at for op in run.gate.sent(reviews.List)}
        assert BATCH_SIZE <= len(requested_places) < 3 * BATCH_SIZE  # The visible change requests were checked before.
        await run.press("G")
        await run.see(f"Only the first {2 * BATCH_SIZE} are loaded")


def make_revision_its_own_parent(revision: Any) -> None:
    revision["parents"] = [revision["id"]]


@pytest.mark.before_release
async def test_circular_version_history_ends(stage: Stage) -> None:
    revisions = "/v1/spaces/[^/]+/revisions/[^/]+"
    async with stage.play(over=altered(revisions, make_revision_its_own_parent), start="content") as run:
        await run.press("H")
        await run.see("› Version history", "changed in 0 of 1 checked revision")
        assert "press m to load older" not in run.text


def test_sources_with_open_threads_load_first() -> None:
    places = [ThreadSource(f"s{number}", SpaceRef(space_id=f"s{number}"), "", number % 2) for number in range(6)]
    first = sources_to_load(places, (), 2)
    assert [each.key for each in first] == ["s1", "s3"]
    assert [each.key for each in sources_to_load(places[2:], ("s4", "s3"), 3)] == ["s3", "s4", "s5"]


def add_threads(answer: Any) -> None:
    answer["items"] += [{**answer["items"][0], "id": f"more-{number}"} for number in range(3 * BATCH_SIZE)]


@pytest.mark.before_release
async def test_many_threads_are_not_compared_pairwise(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = altered("/v1/spaces/[^/]+/change-requests/[^/]+/comments", add_threads)
    async with stage.play(over=lists, start="changes") as run:
        await run.press("enter")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        all_of_it = screen.diff_threads.comments
        assert len(all_of_it) > 3 * BATCH_SIZE
        comparisons, same = 0, Comment.__eq__

        def count_comparisons(thread: Comment, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return same(thread, other)

        monkeypatch.setattr(Comment, "__eq__", count_comparisons)
        assert {each.id for each in screen.page_diff.ordered_threads} == {each.id for each in all_of_it}
        assert comparisons == 0
