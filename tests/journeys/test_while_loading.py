"""What the screen shows and which keys work while responses are missing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from octavo.api import collections, comments, content
from octavo.api.operation import CollectionRef, ListPage
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.routes import ToPage
from octavo.tui.reader.page_view import PageView
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.row_list import RowList
from tests.journeys.faulty_server import serving
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import MARA, Stage
from tests.journeys.test_reviewing import open_change_request
from tests.server.refusing_platform import Platform


@pytest.mark.before_release
async def test_comment_while_another_page_loads_is_refused(stage: Stage) -> None:
    async with stage.play() as run:
        run.gate.shut(content.GetPage)
        await run.press("j", "j", "enter")
        await run.see("Harbour API › Get started › Quickstart")
        await run.until(lambda: run.app.screen.query_one(PageView).state.shows_loading, "remove the previous page")
        await run.press("c")
        await run.hear("Still loading Quickstart.")
        run.gate.open()
        await run.see("You need a terminal")
        (page,) = [op.page_id for op in run.gate.sent(content.GetPage)[-1:]]
        await run.press("c")
        await run.type("To this one.")
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.page == page


async def test_next_space_does_not_show_the_pages_of_the_previous_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API ▾", "Quickstart")
        here = run.app.screen
        assert isinstance(here, ContentScreen)
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        handbook = next(each for each in spaces.items if each.title == "Handbook")
        pages = await run.ask(content.ListPages(at=handbook.ref), MARA)
        last = [page for page in pages.walk() if page.type == "document"][-1]
        run.gate.shut(content.ListPages)
        here.open_space.show_space(handbook.id)
        await run.see("Handbook ▾", "Loading the pages in")
        await run.until(lambda: here.page_view.document is None, "remove the page of the previous space")
        assert "Quickstart" not in run.text
        run.app.go(ToPage(handbook.id, last.id))
        await run.settle()
        assert not run.said, "the page is not missing, because the pages are still loading"
        run.gate.open()
        await run.until(lambda: here.open_space.page is not None, "open a page")
        assert here.open_space.page is not None
        assert here.open_space.page.id == last.id


async def test_missing_space_of_a_visit_does_not_move_the_open_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "G")
        here = run.app.screen
        assert isinstance(here, ContentScreen)
        visit = here.current_visit
        assert visit is not None
        await run.press("g")
        here.restore_visit(visit._replace(space_id="deleted"))
        assert here.current_visit is not None
        assert here.current_visit.position != visit.position


async def test_other_organization_lists_no_spaces_of_the_previous_one(stage: Stage) -> None:
    async with stage.play() as run:
        here = run.app.screen
        assert isinstance(here, ContentScreen)
        organization = run.app.workspace.organization
        assert organization is not None
        assert here.open_space.nav.spaces_tree.shown
        run.gate.shut()
        run.app.workspace.switch_organization(organization.model_copy(update={"id": "elsewhere"}))
        await run.settle()
        assert not here.open_space.nav.spaces_tree.shown
        assert here.spaces.target is None
        run.gate.open()


@pytest.mark.before_release
async def test_collections_are_listed_after_the_user_rejoins_the_organization(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("escape", "escape")
        await run.see("Products")
        workspace, organization = run.app.workspace, run.app.workspace.organization
        assert organization is not None
        await run.ask(collections.Update(at=CollectionRef(collection_id="products"), title="Goods"), NOOR)
        workspace.organization = None
        workspace.switch_organization(organization)
        await run.see("Goods")


@pytest.mark.before_release
async def test_page_that_loads_quickly_does_not_flicker(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("You need a terminal")
        await run.press("K")
        seen = run.text
        assert "Quickstart" in seen
        assert "░" not in seen


@pytest.mark.before_release
async def test_link_to_a_heading_waits_until_its_page_is_loaded(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter")
        run.gate.shut(content.GetPage)
        here = run.app.screen
        assert isinstance(here, ContentScreen)
        assert here.open_space.pages is not None
        page = here.open_space.pages.find_by_name("get-started/authentication")
        assert page is not None
        here.open_space.open_page(page.id, anchor="kinds-of-key")
        here.open_space.open_page(page.id, anchor="when-a-key-gets-out")
        run.gate.open()
        await run.see("› Authentication", "When a key gets out")
        assert here.page_view.scroll_offset.y > 0


@pytest.mark.before_release
async def test_page_left_while_loading_later_opens_at_its_top(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "G")
        run.gate.shut(content.GetPage)
        here = run.app.screen
        assert isinstance(here, ContentScreen)
        here.open_space.open_neighbor(1)
        here.shell.history.go(-1)
        run.gate.open()
        await run.see("› Quickstart")
        assert here.page_view.scroll_offset.y > 0
        await run.press(">")
        await run.see("› Authentication")
        assert here.page_view.scroll_offset.y == 0


@pytest.mark.before_release
async def test_outline_of_the_next_page_begins_at_its_top(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "G", "J")
        assert run.app.screen.query_one("#outline", RowList).cursor == 0


def with_unreadable_parts(platform: Platform) -> Any:
    """Return the platform with unreadable parts: an invalid comment id, a comment without an author, a fractional
    number of comments in a space, and an invalid page id."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)

        await platform(scope, receive, keep)
        start, body = sent[0], b"".join(message.get("body", b"") for message in sent[1:])
        if start["status"] == 200 and scope["path"].endswith(("/comments", "/spaces", "/content/pages")):
            answer = json.loads(body)
            if scope["path"].endswith("/spaces"):
                answer["items"][0]["comments"] = 2.5
            elif scope["path"].endswith("/pages"):
                answer["pages"][0]["pages"] = [{"id": "in/out", "title": "Nowhere"}]
            elif len(answer["items"]) > 1:
                answer["items"][0]["id"] = {"not": "an id"}
                answer["items"][1].pop("postedBy")
            body = json.dumps(answer).encode()
        headers = [pair for pair in start["headers"] if pair[0] not in (b"content-length", b"etag")]
        await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.mark.before_release
async def test_unreadable_content_is_reported_and_missing_authors_are_tolerated(stage: Stage) -> None:
    @asynccontextmanager
    async def over(platform: Platform) -> AsyncIterator[str]:
        async with serving(with_unreadable_parts(platform)) as origin:
            yield origin

    async with stage.play(over=over) as run:
        await run.hear("1 part of the server's response (content) could not be read and is not shown")
        await run.see("Harbour API", "Surge alerts")
        await run.press("4", "]", "]", "]")
        await run.hear("1 part of the server's response (comments) could not be read and is not shown")
        await run.see("Unknown")


@pytest.mark.before_release("changes", "inbox", "sites")
@pytest.mark.parametrize("view", ["inbox", "changes", "comments", "sites"])
async def test_key_for_a_row_of_a_loading_list_says_that_it_is_loading(stage: Stage, view: str) -> None:
    keys = {"inbox": "w", "changes": "a", "comments": "d", "sites": "e"}
    async with stage.play(start=view, shut=True) as run:
        await run.press(keys[view])
        await run.hear("Still loading. Wait a moment.")


async def test_moves_in_a_loading_list_wait_and_other_keys_run_at_once(stage: Stage) -> None:
    async with stage.play(start="changes", shut=True) as run:
        await run.pilot.press("j", "x", "j", "question_mark")
        await run.see("Help")
        await run.press("escape")
        run.gate.open()
        await run.see("7 of 7")
        rows = run.app.screen.query_one(RowList)
        await run.until(lambda: rows.cursor == 2, "run both moves")


async def test_enter_in_a_loading_list_opens_the_row_unless_the_view_changes(stage: Stage) -> None:
    async with stage.play(start="changes", shut=True) as run:
        await run.press("j", "j", "enter")
        run.gate.open()
        await run.see("Changes › Harbour API › #6 Say")
        await run.quit()
    for kept in ("cache", "state"):
        shutil.rmtree(stage.folder / kept)
    async with stage.play(start="changes", shut=True) as run:
        await run.press("j", "j", "enter", "5")
        run.gate.open()
        await run.see("Saltmarsh Docs", "Sites · 1")
        await run.press("3")
        await run.see("7 of 7")


async def test_text_for_a_comment_on_a_loading_page_runs_no_command(stage: Stage) -> None:
    async with stage.play() as run:
        run.gate.shut(content.GetPage)
        await run.press("j", "j", "enter")
        await run.until(lambda: run.app.screen.query_one(PageView).state.shows_loading, "say that the page is loading")
        await run.pilot.press("c", "q")
        await run.hear("Still loading Quickstart.")
        assert run.app.is_running


async def test_moves_on_a_loading_page_wait_for_its_response(stage: Stage) -> None:
    async with stage.play() as run:
        run.gate.shut(content.GetPage)
        await run.press("j", "j", "enter")
        page = run.app.screen.query_one(PageView)
        await run.until(lambda: page.state.shows_loading, "say that the page is loading")
        await run.press("j", "j")
        run.gate.open()
        await run.until(lambda: page.viewport.lines_above == 2, "run both moves")


@pytest.mark.before_release
async def test_narrow_top_bar_keeps_its_tabs_while_cached_data_is_shown(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(80, 24)) as run:
        await run.see("1 Inbox 17  2 Content 3 Changes 7 4 Comments 72 5 Sites 6 Admin")
        await run.quit()
    run.clock.forward(minutes=6)
    async with stage.play(start="inbox", size=(80, 24), shut=True) as run:
        await run.see("1 Inbox 17  2 Content 3 Changes 7 4 Comments 72 5 Sites 6 Admin", "○ DEMO")


async def test_first_counted_comments_do_not_replace_the_saved_counts(stage: Stage) -> None:
    """The preview of the inbox may count the comments of a change request before any other data is loaded."""
    async with stage.play(start="inbox") as run:
        await run.see("4 Comments 72")
        workspace, session = run.app.workspace, run.app.session
        workspace.forget_session()
        workspace.watch_session(session)
        workspace.count_review_summaries("refused-times", ListPage[comments.Comment](items=()))
        assert len(session.state.get_value("open words of reviews")) > 1


@pytest.mark.before_release
async def test_number_of_changed_pages_is_missing_until_it_is_known(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        run.gate.shut(content.ListChanges)
        await run.press("G", "enter")
        await run.see("PAGES")
        assert not re.search(r"\d viewed", run.text)

        run.gate.open()
        await run.see("PAGES  0 of ")


async def test_changed_pages_are_listed_once_their_page_tree_is_known(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.review.request_comparison.TREE_WAIT_SECONDS", 1e9)
    async with stage.play(start="changes") as run:
        await run.settle()
        run.gate.shut(content.ListPages)
        await open_change_request(run, "refused")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        await run.until(lambda: screen.comparison.changed_pages is not None, "load the changes")
        assert not screen.changed_tree.widget.keys, run.text
        run.gate.open()
        await run.see("▾ Concepts", "▌     ~ Time and time zones", "− All times")


async def test_changed_pages_are_listed_without_a_page_tree_that_is_late(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.review.request_comparison.TREE_WAIT_SECONDS", 0.1)
    async with stage.play(start="changes") as run:
        await run.settle()
        run.gate.shut(content.ListPages)
        await open_change_request(run, "refused")
        await run.see("▌   ~ Time and time zones", "− All times")
