"""The list of change requests shows the status of each change request, and can be filtered by status."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews, spaces
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import DocumentBody, GetRawPage, UpdatePage
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.client.responses import Application
from octavo.tui.review import request_preview
from octavo.tui.review.request_list import RequestListScreen
from tests.journeys.faulty_server import altered
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_background_refresh import wait_while_requests_wait
from tests.journeys.test_reviewing import open_change_request, select_change_request

HARBOUR = SpaceRef(space_id="harbour-api")
NOOR = "noor-haddad"


async def change_request_by_number(run: Run, number: int) -> ChangeRequest:
    found = await run.ask(change_requests.List(at=HARBOUR, limit=100), MARA)
    return next(each for each in found.items if each.number == number)


def status_line(run: Run, title: str) -> str:
    """Return the second line of a row, which shows the status. The preview beside the list is cut off."""
    at = next(index for index, line in enumerate(run.lines) if title in line)
    return run.lines[at + 1].split("│")[0].strip()


async def append_paragraph(run: Run, at: ChangeRequestRef, page: str, person: str = MARA) -> None:
    """Append a paragraph to a page."""
    raw = (await run.ask(GetRawPage(at=at, page_id=page, format="markdown"), person)).markdown
    assert raw is not None
    change = UpdatePage(page=page, document=DocumentBody(markdown=f"{raw.text}\n\nOne more thing.\n"))
    await run.ask(content.Edit(at=at, changes=(change,), compat=False), person)


async def filter_by_status(run: Run, *commented: str) -> None:
    await run.press("F")
    await run.see("Filter change requests")
    await run.type(" ".join(commented))
    await run.press("enter")


@pytest.mark.before_release
async def test_rows_show_the_status_of_each_change_request(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        await run.see("7 of 7", "may conflict")
        assert (
            status_line(run, "#7  Show") == "Tomás Okafor · ○ your review requested · ✓ Noor Haddad · ● 1 open thread"
        )
        assert status_line(run, "#6  Say") == "Mara Lindqvist · ✗ Noor Haddad requested changes · ● 2 open threads"
        outdated = "Yuki Tanabe · ○ your review requested · ✓ Tomás Okafor (outdated) · outdated · ● 3 open threads"
        assert status_line(run, "#5  Rotate") == outdated
        conflicting = "Tomás Okafor · ○ your review requested · ✗ may conflict: Retries · outdated · ● 1 open thread"
        assert status_line(run, "#4  Correct") == conflicting


@pytest.mark.before_release
async def test_number_of_open_threads_is_shown_once_reviews_are_known(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("3 Changes 7  4 Comments  5 Sites")
        await run.press("ctrl+o")
        await run.see("4 spaces · 7 open change requests  ")
        await run.press("escape", "4")
        await run.see("72 of 72", "4 Comments 72")
        await run.press("2")
        await run.see("4 Comments 72  5 Sites")
    async with stage.play() as run:
        await run.see("4 Comments 72  5 Sites")


@pytest.mark.before_release
async def test_number_of_open_threads_is_the_same_in_every_view(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("To do 17", "4 Comments 72", "● 1 open thread", "REVIEWS")
        threads = {
            name: status_line(run, name).rpartition(" · ")[2]
            for name in ("#7 Show", "#1 Limpet", "#2 Batt", "#5 Rot", "#6 Say")
        }
        assert list(threads.values()) == [
            "1 open thread",
            "2 open threads",
            "2 open threads",
            "3 open threads",
            "2 open threads",
        ]
        await run.press("ctrl+o")
        await run.see("7 open change requests · 72 open")
        await run.press("escape", "3")
        await run.see("7 of 7", "may conflict", "4 Comments 72")
        for name, shown in threads.items():
            number = shown.split()[0]
            listed = status_line(run, name.replace(" ", "  ", 1))
            assert listed.endswith((f"● {shown}", f"● {shown.replace('open ', '')}", f"● {number}")), (
                f"{name}: {listed}"
            )
        await open_change_request(run, "refused")
        await run.see("● 1 open thread")
        await run.press("m")
        await run.see("!  threads       1 open thread")
        await run.press("escape", "4")
        await run.see("72 of 72", "4 Comments 72", "Open 72   My threads 3   Resolved 17   Review comments 4   All 93")


@pytest.mark.before_release
async def test_preview_shows_reviews_and_conflicts(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        await run.see("✓ Noor Haddad approved", "Short, and it answers the question. Good.", "○ your review requested")
        await run.see("● 1 open thread")
        await run.press("escape")
        await select_change_request(run, "retry", "schedule")
        await run.see("✗ may conflict: Retries", "✗ outdated")


@pytest.mark.before_release
async def test_late_changes_are_not_shown_for_another_change_request(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(content.ListChanges)
        await select_change_request(run, "refused")
        await run.until(lambda: run.gate.waiting > 0, "load the changes of the selected change request")
        monkeypatch.setattr(request_preview, "SELECTION_DELAY", 60)
        await run.press("escape")
        await select_change_request(run, "retry", "schedule")
        run.gate.open()
        await run.settle()
        assert "Time and time zones" not in run.text


@pytest.mark.before_release
async def test_prediction_that_failed_is_loaded_by_r(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "retry", "schedule")
        await run.see("✗ may conflict: Retries")
        run.platform.refuse_next(spaces.Get, 500, "Out of order", times=99)
        await run.press("enter")
        await run.until(lambda: bool(run.gate.sent(spaces.Get)), "predict the merge")
        assert "possible conflict" not in run.text
        run.accept()
        await run.press("r")
        await run.see("1 possible conflict")


@pytest.mark.before_release
async def test_changes_that_the_server_does_not_list_are_counted(stage: Stage) -> None:
    def add_unlisted(response: Any) -> None:
        response["more"] = 7

    changes = altered("/v1/spaces/[^/]+/change-requests/[^/]+/changes", add_unlisted)
    async with stage.play(start="changes", over=changes) as run:
        await select_change_request(run, "refused")
        await run.see("~ Troubleshooting", "and 7 more")
        run.platform.refuse_next(content.Get, 403, "No revisions", times=9)
        await run.press("enter")
        await run.see("0 of 2 viewed", "7 changes not listed by the server")
        await run.press("x", "x")
        await run.hear("You viewed all listed changes in #7. Press a to approve")


@pytest.mark.before_release
async def test_merged_change_request_does_not_count_review_comments(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        await run.press("]", "]")
        await run.see("4 of 4")
        about = await run.ask(change_requests.List(at=HARBOUR, status="merged", limit=100), MARA)
        commented = [each for each in about.items if each.comments]
        assert commented
        for each in commented:
            threads = await run.ask(comments.List(at=each.ref(HARBOUR), status="open", limit=100), MARA)
            assert all(one.is_review_text for one in threads.items)
        await run.until(
            lambda: all("open" not in status_line(run, f"#{each.number}  ") for each in commented),
            "show no open threads on the merged change requests",
        )


@pytest.mark.before_release
async def test_approval_is_outdated_after_an_edit(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        await run.until(lambda: "✓ Noor Haddad ·" in status_line(run, "#7  Show"), "show the approval")
        about = await change_request_by_number(run, 7)
        changed = (await run.ask(content.ListChanges(at=about.ref(HARBOUR)), MARA)).changes[0]
        assert changed.page is not None
        await append_paragraph(run, about.ref(HARBOUR), changed.page.id, "tomas-okafor")
        await run.press("r")
        await run.until(
            lambda: "✓ Noor Haddad (outdated)" in status_line(run, "#7  Show"), "show the approval as outdated"
        )


@pytest.mark.before_release
async def test_review_comment_is_not_counted_as_an_open_thread(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        await run.until(lambda: "● 2 open" in status_line(run, "#1  Limpet"), "show the open threads")
        register = next(each for each in run.app.screen.rows.items if each.title.startswith("Limpet 3"))  # type: ignore[attr-defined]  # The screen is the list of change requests.
        at = register.ref(SpaceRef(space_id=register.space))
        commented = Markdown(markdown="All of it reads well.")
        await run.ask(reviews.Submit(at=at, status="approved", comment=commented), "tomas-okafor")
        assert (await run.ask(change_requests.Get(at=at), MARA)).comments == 3
        await run.press("r")
        await run.until(
            lambda: "✓ Tomás Okafor · ● 2 open threads" in status_line(run, "#1  Limpet"),
            "show the same number of threads",
        )
        await open_change_request(run, "classic")
        await run.see("✓ 1 approved  ● 2 open")
        await run.press("m")
        await run.see("2 open threads")
        await run.press("escape", "4")
        await run.see("72 of 72", "4 Comments 72")
        await run.press("/", *"reads well", "enter")
        await run.see("0 of 72 match")
        await run.press("escape", "]", "]", "]", "/", *"reads well", "enter")
        await run.see("◐ Tomás Okafor  All of it reads well.")


@pytest.mark.before_release
async def test_filter_by_status_shows_matching_change_requests(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 60)) as run:
        await run.see("7 of 7")
        for commented, titles in {
            "review requested": ["#7", "#5", "#4", "#2", "#1"],
            "approved": ["#7"],
            "approval outdated": ["#5"],
            "changes requested": ["#6", "#2"],
            "Noor Haddad": ["#7", "#1"],
            "with conflicts": ["#4"],
            "outdated": ["#5", "#4"],
        }.items():
            await filter_by_status(run, *commented.split())
            if commented == "Noor Haddad":
                await run.press("escape")
                continue
            await run.until(
                lambda titles=titles: [f"#{each.number}" for each in run.app.screen.rows.items] == titles,  # type: ignore[attr-defined, misc]  # The screen is the list of change requests.
                f"show only {titles}",
            )
            await run.gone("· checking")
            await run.press("escape")
            await run.see("7 of 7")


@pytest.mark.before_release
async def test_filters_count_only_your_change_requests_while_others_are_hidden(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("at")
        await run.see("· mine")
        assert {each.number for each in run.app.screen.rows.items} == {2, 6}  # type: ignore[attr-defined]  # The screen is the list of change requests.
        await run.press("F")
        await run.see("Filter change requests")
        await run.type("outdated")
        await run.gone("▌ outdated")


async def test_status_shows_loading_and_unknown_parts(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7", "○ your review requested")
        loaded = {op.at.change_request_id for op in run.gate.sent(reviews.List)}
        assert len(loaded) < 7, "the reviews of hidden rows must not be loaded"
        run.gate.shut(reviews.List)
        await filter_by_status(run, "approved")
        await run.see("1 of 1 · checking")
        run.platform.refuse_next(reviews.List, 403, "These are not for you.")
        run.gate.open()
        await run.gone("· checking")
        await run.see("1 change request", "These are not for you.")


@pytest.mark.before_release
async def test_status_of_invisible_rows_is_not_requested(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7", "○ your review requested")
        before = {op.at.change_request_id for op in run.gate.sent(reviews.ListRequested)}
        await run.press("G")
        await run.see("Limpet Classic", "Noor Haddad · ○ your review requested")
        after = {op.at.change_request_id for op in run.gate.sent(reviews.ListRequested)}
        assert before < after
        assert len(before) < 5


@pytest.mark.before_release
async def test_prediction_continues_when_other_rows_are_shown(stage: Stage) -> None:
    paths: list[str] = []
    is_released = asyncio.Event()

    def behind(platform: Application) -> Application:
        async def respond(scope: Any, receive: Any, send: Any) -> None:
            if "/revisions/" in scope["path"]:
                paths.append(scope["path"])
                await is_released.wait()
            await platform(scope, receive, send)

        return respond

    async with stage.play(start="changes", behind=behind, shut=True) as run:
        run.gate.open()
        await wait_while_requests_wait(lambda: len(paths) == 3, "load the revisions of a merge")
        screen = run.app.screen
        assert isinstance(screen, RequestListScreen)
        screen._follow_visible_rows()  # as after each new list, filter or resize
        await asyncio.sleep(0.1)
        is_released.set()
        await run.see("may conflict")
        assert len(paths) == len(set(paths)), "each revision must be requested once"
