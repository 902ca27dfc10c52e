"""However much a server has, what is asked of it follows from what is looked at, and what is left out is said."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import comments, reviews
from octavo.api.comments import Comment
from octavo.api.places import SpaceRef
from octavo.tui.comments.thread_loader import ThreadSource, sources_to_load
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.moods import altered
from tests.journeys.stage import Stage

FEW = 12


def many_spaces(answer: Any) -> None:
    answer["items"] += [{"id": f"more-{number}", "title": f"More {number}"} for number in range(FEW)]


@pytest.mark.before_release
async def test_the_comments_of_so_many_spaces_are_asked_and_more_at_the_end_of_the_list(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.comments.thread_loader.BATCH", FEW)
    async with stage.play(over=altered("/v1/orgs/[^/]+/spaces", many_spaces), start="comments") as run:
        known = run.app.workspace.spaces.value
        assert known is not None
        assert len(known.items) > FEW

        def asked() -> set[object]:
            return {op.at for op in run.gate.sent(comments.List) if isinstance(op.at, SpaceRef)}

        assert len(asked()) == FEW
        assert all(space.ref in asked() for space in known.items if space.comments)
        await run.see(" change requests loaded   G load more")
        await run.press("G")
        await run.gone("G load more")
        assert asked() == {space.ref for space in known.items}


def many_change_requests(answer: Any) -> None:
    one = answer["items"][0]
    answer["items"] += [{**one, "id": f"more-{number}", "number": 1000 + number} for number in range(3 * FEW)]


@pytest.mark.before_release
async def test_so_many_change_requests_are_looked_at_for_what_they_are_narrowed_to(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.review.request_list.CHECKED_AT_ONCE", FEW)
    lists = altered("/v1/orgs/[^/]+/change-requests", many_change_requests)
    async with stage.play(over=lists, start="changes") as run:
        await run.press("F", *"not reviewed", "enter")
        await run.see(f"Only the first {FEW} are loaded")
        asked = {op.at for op in run.gate.sent(reviews.List)}
        assert FEW <= len(asked) < 3 * FEW  # those on show before are among them
        await run.press("G")
        await run.see(f"Only the first {2 * FEW} are loaded")


def round_in_circles(revision: Any) -> None:
    revision["parents"] = [revision["id"]]


@pytest.mark.before_release
async def test_a_history_that_leads_round_in_circles_ends(stage: Stage) -> None:
    revisions = "/v1/spaces/[^/]+/revisions/[^/]+"
    async with stage.play(over=altered(revisions, round_in_circles), start="content") as run:
        await run.press("H")
        await run.see("› Version history", "changed in 0 of 1 checked revision")
        assert "press m to load older" not in run.text


def test_who_has_open_threads_is_asked_first_and_who_was_asked_is_asked_on() -> None:
    places = [ThreadSource(f"s{number}", SpaceRef(space_id=f"s{number}"), "", number % 2) for number in range(6)]
    first = sources_to_load(places, (), 2)
    assert [each.key for each in first] == ["s1", "s3"]
    assert [each.key for each in sources_to_load(places[2:], ("s4", "s3"), 3)] == ["s3", "s4", "s5"]


def many_threads(answer: Any) -> None:
    answer["items"] += [{**answer["items"][0], "id": f"more-{number}"} for number in range(3 * FEW)]


@pytest.mark.before_release
async def test_of_many_threads_none_is_held_against_all_others(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = altered("/v1/spaces/[^/]+/change-requests/[^/]+/comments", many_threads)
    async with stage.play(over=lists, start="changes") as run:
        await run.press("enter")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        all_of_it = screen.diff_threads.comments
        assert len(all_of_it) > 3 * FEW
        held, same = 0, Comment.__eq__

        def counted(thread: Comment, other: object) -> bool:
            nonlocal held
            held += 1
            return same(thread, other)

        monkeypatch.setattr(Comment, "__eq__", counted)
        assert {each.id for each in screen.page_diff.known_threads} == {each.id for each in all_of_it}
        assert held == 0
