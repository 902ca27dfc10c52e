from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, comments, content, organizations, reviews, spaces
from octavo.api.operation import ListPage, Operation, SpaceRef
from octavo.client import client
from octavo.data.live import Snapshot
from octavo.tui.app.activity import ActivityRow
from octavo.tui.core.view import View
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.row_list import RowList
from tests.journeys.stage import Run, Stage
from tests.journeys.test_reviewing import open_refused
from tests.server.refusing_platform import Platform

HARBOUR_API = SpaceRef(space_id="harbour-api")


async def open_quickstart(run: Run) -> None:
    await run.see("Your first tide")
    await run.press("j", "j", "enter")
    await run.see("› Quickstart", "THREADS  2 open")


async def test_refresh_names_the_details_that_could_not_be_loaded(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.see("0 of 2 viewed")
        for kind in (reviews.List, comments.List):
            run.platform.refuse_next(kind, 403, "Not for you", times=99)
        await run.press("r")
        await run.hear("Could not load the reviews and the threads: ", "Not for you", "Press r to retry.")
        run.accept()
        await run.later(minutes=1)
        await run.press("r")
        assert not run.said


@pytest.mark.before_release
async def test_refused_comment_is_removed_reported_and_kept_as_a_draft(stage: Stage) -> None:
    async with stage.play() as run:
        run.platform.refuse_next(comments.Create, 403, "Comments are closed for today.")
        await open_quickstart(run)
        await run.press("c")
        await run.type("Hear me out.")
        await run.press("ctrl+s")
        await run.see("THREADS  3 open")
        await run.later(seconds=6)
        await run.hear("Could not comment: ", "Comments are closed for today.", "Your text is saved as a draft.")
        await run.see("● Mara Lind", "not sent", "1 change needs your decision: press !")
        await run.press("c")
        await run.see("Hear me out.", "draft")
        await run.press("ctrl+s")
        await run.sent()
        await run.see("THREADS  3 open", "Hear me out.")


@pytest.mark.parametrize("status", [403, 404])
async def test_open_change_request_that_cannot_be_loaded_anymore_says_so(stage: Stage, status: int) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await open_refused(run)
        await run.see("0 of 2 viewed")
        run.platform.refuse_next(change_requests.Get, status, "Not for you", times=99)
        await run.press("r")
        await run.see("#7 Show", "✗ deleted or no access", "0 of 2 viewed")
        run.accept()
        await run.press("r")
        await run.gone("✗ deleted or no access")


@pytest.mark.before_release
async def test_refused_resolve_reopens_the_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.platform.refuse_next(comments.Update, 403, "Only its author may resolve it.")
        await run.press("d")
        await run.see("Open 71")
        await run.later(seconds=6)
        await run.hear("Could not resolve the thread: ", "Only its author may resolve it.")
        await run.see("Open 72")


@pytest.mark.before_release
async def test_selected_request_stays_selected_when_older_requests_are_dropped(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_ACTIVITIES", 8)
    async with stage.play() as run:
        for _ in range(8):
            await run.later(seconds=1)
            await run.app.session.live.refresh(organizations.List())
        await run.press("!", "j", "j")
        await run.see("API REQUESTS")
        rows: RowList[ActivityRow] = run.app.screen.query_one("#lines", RowList)
        selected = rows.items[2]
        assert (rows.item, len(rows.items)) == (selected, 8)
        await run.later(seconds=1)
        await run.app.session.live.refresh(organizations.List())
        run.app.workspace.frame_changed.publish(None)
        await run.settle()
        assert selected[1] in [line[1] for line in rows.items[3:]], "a new request must be listed above"
        assert rows.item is not None
        assert rows.item[1] == selected[1]


@pytest.mark.before_release
async def test_failed_write_is_retried_or_discarded_in_the_activity(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        run.platform.refuse_next(comments.Update, 403, "Not now.", times=2)
        await run.press("d")
        await run.later(seconds=6)
        await run.press("!")
        await run.see("FAILED", "failed", "resolve the thread", "Not now.")
        await run.press("r")
        await run.see("FAILED", "failed")
        await run.press("r")
        await run.gone("FAILED")
        await run.press("escape")
        await run.see("Open 71")


async def test_text_typed_while_a_review_is_sent_is_kept(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(reviews.Submit)
        await run.press("/", *"refused", "enter", "A")
        await run.type("The quotes are curly.")
        await run.press("ctrl+s")
        await run.press("A")
        await run.press("ctrl+u")
        await run.type("The links are broken.")
        await run.press("escape")
        run.gate.open()
        await run.hear("Requested changes on #7")
        await run.press("A")
        await run.see("The links are broken.")


async def test_activity_offers_enter_only_for_drafts_from_the_editor(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("!")
        await run.see("API REQUESTS")
        assert "enter" not in run.keybar
        await run.press("enter")
        await run.hear("You can open only drafts from your editor here.")


async def test_activity_in_a_narrow_terminal_tells_requests_apart(stage: Stage) -> None:
    async with stage.play(size=(80, 24)) as run:
        await run.press("!")
        await run.see("/v1/orgs/…/spaces ", "/v1/orgs/…/collections ", "/v1/orgs/…/change-requests ")
        await run.press("G")
        await run.see("│ GET /v1/orgs ")


@pytest.mark.before_release
async def test_text_of_a_refused_review_is_kept(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.platform.refuse_next(reviews.Submit, 403, "You reviewed enough today.")
        await run.press("/", *"refused", "enter", "A")
        await run.type("The quotes are curly.")
        await run.press("ctrl+s")
        await run.hear("Could not request changes on #7: ", "You reviewed enough today.", "Saved as a draft.")
        await run.press("A")
        await run.see("The quotes are curly.")
        await run.press("escape", "A")
        await run.see("The quotes are curly.")
        await run.press("ctrl+s")
        await run.hear("Requested changes on #7")
        await run.press("A")
        await run.see("What needs to change?")
        assert "The quotes are curly." not in run.text


@pytest.mark.before_release
async def test_refused_subject_is_kept_as_a_draft_and_the_old_subject_shown(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.platform.refuse_next(change_requests.Update, 500, "The platform stumbled.")
        await run.press("/", *"refused", "enter", "enter")
        await run.see("#7 Show what a refused time looks like ")
        await run.press("E", "end", *" here", "enter")
        await run.hear("The platform stumbled.", "the server does not show the new details", "Saved as a draft.")
        await run.see("#7 Show what a refused time looks like  ")
        await run.press("E")
        await run.see("Show what a refused time looks like here")


@pytest.mark.before_release
async def test_refused_merge_is_reported_and_changes_nothing(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.platform.refuse_next(change_requests.Merge, 403, "Merging is frozen until Monday.")
        await run.press("/", *"refused", "enter", "m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Could not merge #7: ", "Merging is frozen until Monday.")
        await run.see("Open 7", "Merged 4")


EMPTY = (
    "Nothing needs your attention",
    "You do not have access to any spaces",
    "This space has no pages",
    "No change requests with this status",
    "No open threads",
    "No changes yet.",
    "not a member of any organization",
    "No comments on",
)
"""Texts of empty lists."""

FIRST_LOADS: dict[str, list[tuple[type[Operation[Any]], tuple[str, ...], str, str]]] = {
    "content": [
        (organizations.List, (), "Could not load your", "Harbour API › Welcome"),
        (spaces.List, (), "Could not load the spaces", "Harbour API › Welcome"),
        (content.ListPages, (), "Could not load the pages", "Harbour API › Welcome"),
        (content.GetPage, (), "Could not load Welcome", "how deep is the water now"),
        (comments.List, (), "Could not load the", "No comments on"),
    ],
    "inbox": [
        (organizations.List, (), "Could not load your", "REVIEW REQUESTED"),
        (change_requests.ListOfOrganization, (), "Could not load the open change requests", "REVIEW REQUESTED"),
        (spaces.List, (), "Could not load the spaces", "NEW REPLIES"),
    ],
    "changes": [
        (change_requests.ListOfOrganization, (), "Could not load change requests", "Battery figures"),
        (content.ListChanges, ("enter",), "Could not load the changes", "0 of 1 viewed"),
        (content.GetPage, (), "Could not load Word list", "+ "),
    ],
    "comments": [
        (comments.List, (), "Could not load some threads", "● Yuki Tanabe  I asked two"),
        (comments.ListReplies, (), "Could not load the replies", "↳ Mara Lindqvist"),
    ],
}
"""The loads of each view in order: operation, keys before the load, error message, and a text after the load."""


@pytest.mark.before_release("changes", "content", "inbox")
@pytest.mark.parametrize("view", FIRST_LOADS)
async def test_failed_first_load_is_shown_in_place_and_r_retries(stage: Stage, view: str) -> None:
    """All loads fail first. The loads of the view then succeed one after the other."""
    loads = FIRST_LOADS[view]

    def refuse_loads(platform: Platform, since: int = 0) -> None:
        for kind, *_ in loads[since:]:
            platform.refuse_next(kind, 500, "The platform stumbled.", times=200)

    async with stage.play(start=view, change=refuse_loads) as run:
        texts_after: list[str] = []
        for number, (_, keys, sentence, text_after) in enumerate(loads, 1):
            if keys:
                await run.see(*texts_after)
                texts_after.clear()
                await run.press(*keys)
            await run.see(sentence, "octavo.local reported", "(500)", "r retry")
            for empty in EMPTY:
                assert empty not in run.text, run.text
            run.accept()
            refuse_loads(run.platform, number)
            await run.press("r")
            await run.gone(sentence)
            texts_after.append(text_after)
        await run.see(*texts_after)


@pytest.mark.before_release
async def test_top_bar_shows_that_a_response_is_late(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("● updated")
        run.gate.shut(content.GetPage)
        await run.press("j", "j", "enter")
        await run.later(seconds=4)
        await run.press("r")
        assert "waiting" not in run.text
        await run.later(seconds=8)
        run.app.workspace.connection.update()
        await run.see("○ no response for 12s")
        run.gate.open()
        await run.see("From nothing to a water level", "● updated")


@pytest.mark.before_release
async def test_top_bar_shows_failures_until_a_request_succeeds(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("● updated", "how deep is the water now")
        run.platform.refuse_next(content.GetPage, 500, "The platform stumbled.", times=50)
        await run.press("j", "j", "enter")
        await run.see("Could not load Quickstart", "○ server error")
        run.accept()
        await run.press("r")
        await run.see("From nothing to a water level", "● updated")


@pytest.mark.before_release
async def test_failed_next_page_of_a_list_is_loaded_again_only_on_request(stage: Stage) -> None:
    async with stage.play() as run:
        op = comments.List(at=HARBOUR_API, limit=2)
        errors: list[str] = []

        def show(snapshot: Snapshot[ListPage[comments.Comment]]) -> None:
            if snapshot.value is not None and not run.platform._refusals[comments.List]:
                run.platform.refuse_next(comments.List, 403, "Not the rest.", times=1000)
            errors.append(str(snapshot.error or ""))

        assert isinstance(run.app.screen, View)
        run.app.screen.subscriptions.follow_whole("all of them", op, show)
        await run.settle()
        assert errors[-1] == "Not the rest."
        assert [each.page is None for each in run.gate.sent(comments.List) if each.limit == 2] == [True, False]


@pytest.mark.before_release("data-all pages", "key-one page")
@pytest.mark.parametrize("keys", [(), ("v",)], ids=["one page", "all pages"])
@pytest.mark.parametrize("retries_by", ["key", "data"])
async def test_failed_diff_is_loaded_again_on_request_or_with_new_data(
    stage: Stage, keys: tuple[str, ...], retries_by: str
) -> None:
    def refuse(platform: Platform) -> None:
        platform.refuse_next(content.GetPage, 500, "The platform stumbled.", times=200)

    async with stage.play(start="changes", change=refuse) as run:
        await run.see("Battery figures")
        await run.press("enter", *keys)
        await run.see("Could not load Word list")
        count = len(run.gate.sent(content.GetPage))
        for width in (110, 120):
            await run.pilot.resize_terminal(width, 36)
            await run.settle()
        assert len(run.gate.sent(content.GetPage)) == count, "drawing the view again must not load the page again"
        run.accept()
        if retries_by == "key":
            await run.press("r")
        else:
            await run.later(minutes=1)
            screen = run.app.screen
            assert isinstance(screen, ChangeRequestScreen)
            changes = screen.subscriptions.operation("changes")
            assert changes is not None
            await run.app.session.live.refresh(changes)
        await run.gone("Could not load Word list")
        await run.see("+ ")
