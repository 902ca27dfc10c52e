"""Search in local copies, with and without results from the server."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path

import pytest
from textual.events import Key

from octavo.api import change_requests, content, search, urls
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.cli import sessions
from octavo.tui.content.search import SearchScreen
from octavo.tui.core.routes import ToChangeRequest, ToPage
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.bars import KeyBar
from octavo.tui.widgets.row_list import RowList
from tests.journeys.request_scenario import RequestScenario, add_page
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_typed_ahead import send_keys
from tests.server.refusing_platform import Platform


@asynccontextmanager
async def unused_port(platform: Platform) -> AsyncIterator[str]:
    """Yield the origin of a port of this computer on which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


async def read_threads(run: Run) -> None:
    """Open the first five threads with their replies, and go back to the first thread."""
    await run.see("Sipho Dlamini")
    for _ in range(4):
        await run.press("j")
        await run.settle()
    await run.see("Guilty. One comes")
    await run.press("g", "g")


async def open_search_while_the_server_waits(run: Run) -> SearchScreen:
    """Open the search. Its requests wait until the test opens the gate."""
    await run.settle()
    run.gate.shut(search.InOrganization)
    await run.press("s")
    screen = run.app.screen
    assert isinstance(screen, SearchScreen)
    return screen


async def enter_before_first_result(run: Run, text: str) -> None:
    """Type `text` and enter before the local search has found anything."""
    screen = run.app.screen
    assert isinstance(screen, SearchScreen)
    with run.app.session.search_index._lock:
        for key in (*text, "enter"):
            run.send_key(key)
        while not screen._opens_first_result:  # noqa: ASYNC110  # There is no event for this.
            await asyncio.sleep(0.01)


@pytest.mark.before_release
async def test_word_of_a_reply_is_found_online_and_offline(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await read_threads(run)
        await run.press("s", *"guilty")
        await run.see(
            "THREADS", "Mara Lindqvist in a thread on Style guide", "in a reply", "Guilty. One comes", "1 result"
        )
        assert "Offline" not in run.text
        await run.press("escape")
        await run.gone("THREADS")
    stage.clock.forward(hours=3)
    async with stage.play(start="comments", over=unused_port) as run:
        await run.press("s", *"guilty")
        await run.see(
            "Mara Lindqvist in a thread on Style guide",
            "Offline: searched only local copies",
            "last updated 3 hours ago",
        )
        await run.press("enter")
        await run.see("Style guide", "If everything is a warning")


@pytest.mark.before_release
async def test_offline_search_finds_cached_text_and_other_titles(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.settle()
    stage.clock.forward(hours=2)
    async with stage.play(over=unused_port) as run:
        await run.press("s", *"xylophone")
        await run.see(
            "Offline: searched only local copies (2 pages",
            "No results for “xylophone” on this computer.",
        )


@pytest.mark.before_release
async def test_server_results_replace_local_results(stage: Stage) -> None:
    async with stage.play() as run:
        await run.settle()
        run.gate.shut(search.InOrganization)
        await run.press("s", *"battery")
        await run.see("so far")
        run.gate.open()
        await run.gone("so far")
        rows = run.app.screen.query_one("#hits", RowList)
        pages = [(hit.space, hit.id, hit.anchor) for hit in rows.items if hit.kind == "page"]
        assert len(pages) == len(set(pages)), "each page must be listed once"


@pytest.mark.before_release
async def test_failed_server_search_is_reported_beside_local_results(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await read_threads(run)
        run.platform.refuse_next(search.InOrganization, 500, "The index is being painted.", times=9)
        await run.press("s", *"guilty")
        await run.see("Searched only local copies (9", "The index is being painted", "Guilty. One comes")


@pytest.mark.before_release
async def test_closed_search_shows_no_late_results_of_a_slow_disk(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.press("s", *"tide", "escape")
        with run.app.session.search_index._lock:
            run.app.post_message(Key("s", "s"))
            run.app.post_message(Key("t", "t"))
            while not getattr(run.app.screen, "_is_searching", False):  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)
            searched = run.app.screen
            run.app.post_message(Key("escape", None))
            while searched.is_running:  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)
        await run.settle()
        assert run.app._exception is None


async def test_search_without_results_ends_if_the_local_search_is_slower(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("s")
        screen = run.app.screen
        assert isinstance(screen, SearchScreen)
        with run.app.session.search_index._lock:
            for letter in "zzqx":
                run.app.post_message(Key(letter, letter))
            while screen._found_pages.value is None:  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)
        await run.see("No results for “zzqx”")


@pytest.mark.before_release
async def test_filter_finds_threads_by_replies_and_commented_text(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await read_threads(run)
        await run.press("/", *"guilty")
        await run.see("1 of 72 shown", "in a reply: Guilty.")
        await run.press("ctrl+a", "ctrl+k", *"is a warning, nothing")
        await run.see("1 of 72 shown", "in the quoted text: If everything")
        await run.press("ctrl+a", "ctrl+k", *"danger hints guilty")
        await run.see("1 of 72 shown", "in a reply: Guilty")
    async with stage.play(start="comments", over=unused_port) as run:
        await run.press("/", *"guilty")
        await run.see("1 of 72 shown", "in a reply: Guilty.")


@pytest.mark.before_release
async def test_click_on_esc_in_the_key_bar_closes_the_dialog(stage: Stage) -> None:
    """The key bar closes together with its screen, so it must not wait for the screen."""
    async with stage.play(start="content") as run:
        await run.see("● updated")
        await run.press("s")
        await run.see("esc close")
        bar = run.app.screen.query_one(KeyBar)
        await run.pilot.click(bar, offset=(run.lines[-1].index("esc close"), 0))
        await run.until(lambda: len(run.app.screen_stack) == 1)
        await run.press("j")


@pytest.mark.before_release
async def test_click_on_a_found_thread_opens_the_thread(stage: Stage) -> None:
    """The search handles the click and then closes, so it must not wait for its own end."""
    async with stage.play(start="comments") as run:
        await read_threads(run)
        await run.press("s")
        await run.type("guilty")
        await run.see("Mara Lindqvist in a thread on Style guide", "in a reply")
        row = next(n for n, line in enumerate(run.lines) if "in a thread on Style guide" in line)
        await run.pilot.click(offset=(run.lines[row].index("Mara"), row), times=2)
        await run.until(lambda: len(run.app.screen_stack) == 1)
        await run.see("HANDBOOK › Style guide", "I counted: Safety")


@pytest.mark.before_release
async def test_pasted_link_opens_its_target(stage: Stage) -> None:
    async with stage.play() as run:
        pages = await run.ask(content.ListPages(at=SpaceRef(space_id="harbour-api")), MARA)
        page = next(each for each in pages.walk() if each.title == "Quickstart")
        await run.press("s")
        await run.type(f"{page.urls.app}-of-old")
        await run.see("Could not search all content", "quickstart-of-old”.")
        assert "retry" not in run.text
        await run.press("ctrl+u")
        await run.type(page.urls.app or "")
        await run.see("PAGES", "1 result")
        await run.press("enter")
        await run.see("› Quickstart")
        assert len(run.gate.sent(urls.GetContent)) == 2


@pytest.mark.before_release
async def test_palette_shows_the_server_version(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press(":", *"server version", "enter")
        await run.hear("Server version ")


@pytest.mark.before_release
async def test_search_ignores_width_and_case(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await read_threads(run)
        await run.press("s", *"ＧＵＩＬＴＹ")
        await run.see("THREADS", "in a reply", "Guilty. One comes", "1 result")
        await run.press("escape")
        await run.gone("THREADS")
        await run.press("/", *"ｇuiltY")
        await run.see("in a reply: Guilty. One comes")
        await run.press("escape", "ctrl+p", *"ＱＵｉｔ")
        await run.see("Quit")


PAGES = {
    "README.md": '# Start\n\nRead [overview.md](api/overview.md "mention"), then install [README.md](cli/README.md "mention").',
    "api/README.md": "# API\n\nThe interface.",
    "api/overview.md": "# Overview\n\nInstall it first: call getStationId in C++.\n\n## Steps\n\nInstall more.",
    "cli/README.md": "# CLI\n\nThe command.\n\n```mermaid\nflowchart LR\n  A[Install the pump] --> B[Done]\n```",
    "cli/overview.md": "# Overview\n\nInstall it first, with vitamin c.",
}


@asynccontextmanager
async def open_folder_with_equal_titles(
    stage: Stage, folder: Path, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[Run]:
    """Open a folder in which two pages have the same title."""
    for name, text in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    session = sessions.open_folder(stage.settings(), folder)
    async with stage.library() as platform, stage.show(stage.settings(), session, platform, size=size) as run:
        await run.see("Start", "then install")
        yield run


@pytest.mark.before_release
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_search_results_with_equal_titles_show_their_paths(
    stage: Stage, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages", size) as run:
        await run.press("s", *"install")
        await run.see("api/overview · pages", "cli/overview · pages")
        rows = [line for line in run.lines if "Start" in line and "pages" in line]
        assert all("/" not in line for line in rows), "a unique title must not show its path"


@pytest.mark.before_release
async def test_local_search_finds_parts_of_identifiers_and_signs(stage: Stage, tmp_path: Path) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages") as run:
        await run.press("s", *"station")
        await run.see("call getStationId in C++", "1 result")
        await run.press("ctrl+u", *"c++")
        await run.see("call getStationId in C++", "1 result")
        await run.press("ctrl+u", *"pump")
        await run.see("Install the pump Done", "1 result")
        assert "flowchart" not in run.text
        await run.press("ctrl+u", *"then install")
        await run.see("Read Overview, then install CLI")


async def test_enter_right_after_the_text_opens_the_first_result_of_the_text(stage: Stage, tmp_path: Path) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages") as run:
        await run.press("s", "c")
        await run.see("CLI", "vitamin c")
        await send_keys(run, *"all", "enter")
        await run.see("call getStationId in C++", "OUTLINE")


async def test_enter_before_the_first_result_prefers_a_result_of_the_server(stage: Stage) -> None:
    async with stage.play() as run:
        await run.settle()
        run.gate.shut(search.InOrganization)
        await run.press("s")
        await enter_before_first_result(run, "battery")
        await run.see("Battery figures for cold harbours", "so far")
        run.gate.open()
        await run.see("Limpet manual › Safety")


async def test_first_result_stays_first_when_results_of_the_server_arrive(stage: Stage) -> None:
    async with stage.play() as run:
        screen = await open_search_while_the_server_waits(run)
        await send_keys(run, *"battery")
        await run.until(lambda: screen._requested_text == "battery" and not screen._is_searching)
        (y,) = (y for y, line in enumerate(run.lines) if "▌ #2  Battery figures" in line)
        run.gate.open()
        await run.see("Safety")
        assert "▌ #2  Battery figures" in run.lines[y], run.text
        assert re.findall("CHANGE REQUESTS|PAGES", run.text) == ["CHANGE REQUESTS", "PAGES"]
        await run.press("enter")
        await run.see("Battery figures for cold harbours", "#2")
        assert isinstance(run.app.screen, ChangeRequestScreen)


async def test_enter_before_the_server_responds_opens_the_visible_result(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage.play() as run:
        await run.settle()
        monkeypatch.setattr("octavo.tui.content.search.SEARCH_DELAY", 1000.0)
        await run.press("s")
        screen = run.app.screen
        assert isinstance(screen, SearchScreen)
        await send_keys(run, *"battery")
        await run.until(lambda: not screen._is_searching, "search locally")
        await run.see("▌ #2  Battery figures")
        await run.press("enter")
        assert isinstance(run.app.screen, ChangeRequestScreen), run.text


async def test_found_change_request_opens_before_the_server_responds(stage: Stage) -> None:
    async with stage.play() as run:
        await run.settle()
        run.gate.shut(change_requests.Get)
        await run.press("s", *"battery")
        await run.see("▌ #2  Battery figures")
        await run.press("enter")
        assert isinstance(run.app.screen, ChangeRequestScreen)
        assert "#2 Battery figures for cold harbours" in run.text
        run.gate.open()
        await run.see("#2 Battery figures for cold harbours", "PAGES  0 of 2 viewed")
        await run.press("escape")
        await run.see("Limpet manual")


async def test_change_request_that_is_not_cached_says_that_it_is_loading(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.gate.shut()
        run.app.go(ToChangeRequest(ChangeRequestRef(space_id="limpet-manual", change_request_id="unknown")))
        await run.hear("Loading the change request…")
        run.gate.open()
        await run.gone("Loading the change request…")


async def test_kind_of_the_first_result_has_one_heading(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await read_threads(run)
        run.gate.shut(search.InOrganization)
        await run.press("s", *"sensor")
        rows = run.app.screen.query_one("#hits", RowList)
        await run.until(lambda: {each.kind for each in rows.items} == {"thread"}, "find threads only")
        run.gate.open()
        await run.until(lambda: any(each.kind == "page" for each in rows.items), "find pages")
        kinds = [kind for kind, _ in groupby(each.kind for each in rows.items)]
        assert kinds[:2] == ["thread", "page"]
        assert len(kinds) == len(set(kinds))


@pytest.mark.before_release
async def test_clicked_result_stays_selected_when_results_of_the_server_arrive(stage: Stage) -> None:
    async with stage.play() as run:
        screen = await open_search_while_the_server_waits(run)
        await send_keys(run, *"the")
        await run.until(lambda: screen._requested_text == "the" and not screen._is_searching)
        (y,) = (y for y, line in enumerate(run.lines) if "Release notes" in line)
        run.send_click(60, y)
        await run.until(lambda: screen.rows.cursor > 0)
        assert screen.rows.item is not None
        assert screen.rows.item.title == "Release notes"
        run.gate.open()
        await run.until(lambda: screen._found_pages.value is not None)
        assert screen.rows.item is not None
        assert screen.rows.item.title == "Release notes"


@pytest.mark.before_release
async def test_double_click_during_the_search_opens_the_clicked_result(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages") as run:
        await run.press("s", "c")
        await run.see("CLI", "vitamin c")
        screen = run.app.screen
        assert isinstance(screen, SearchScreen)
        # Results of the server would move the clicked row.
        monkeypatch.setattr("octavo.tui.content.search.SEARCH_DELAY", 1000.0)
        with run.app.session.search_index._lock:
            run.send_key("a")
            while not screen._is_searching:  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)
            await run.pilot.pause()  # The clicks need the row where it stays during the search.
            (y,) = (y for y, line in enumerate(run.lines) if "vitamin c" in line)
            for _ in range(2):
                run.send_click(60, y)
            while run.app.screen is screen:  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)
        await run.settle()
        assert "vitamin c" in run.text


@pytest.mark.before_release
async def test_second_enter_opens_one_result_only(stage: Stage) -> None:
    async with stage.play() as run:
        screen = await open_search_while_the_server_waits(run)
        await enter_before_first_result(run, "battery")
        await run.until(lambda: screen._requested_text == "battery" and not screen._is_searching)
        await run.press("enter")
        run.gate.open()
        await run.see("Battery figures for cold harbours", "#2")
        await run.settle()
        assert isinstance(run.app.screen, ChangeRequestScreen)


@pytest.mark.before_release
async def test_snippet_of_a_local_result_shows_titles_of_mentioned_pages(stage: Stage, tmp_path: Path) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages") as run:
        run.app.session.search_index.flush()
        hits = await run.app.session.search_index.search("then install")
        assert len(hits) == 1
        await run.press("s", *"then install")
        searched = run.app.screen
        assert isinstance(searched, SearchScreen)
        await run.until(lambda: bool(searched._local_hits))
        assert [hit.snippet for hit in searched._local_hits] == ["Read Overview, then install CLI."]
        assert [[hit.snippet[a:b] for a, b in hit.marks] for hit in searched._local_hits] == [["then", "install"]]


@pytest.mark.before_release
async def test_snippet_of_a_local_result_shows_formulas_as_the_page_does(stage: Stage, tmp_path: Path) -> None:
    async with open_folder_with_equal_titles(stage, tmp_path / "pages") as run:
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        (space,) = (each.id for each in spaces.items)
        op = content.GetPage(at=SpaceRef(space_id=space), page_id="tide", format="markdown")
        run.app.session.search_index.add(
            op, content.Page(id="tide", title="Tide", markdown="Add $$A_i, g_i$$ zylinder.")
        )
        run.app.session.search_index.flush()
        await run.press("s", *"zylinder")
        searched = run.app.screen
        assert isinstance(searched, SearchScreen)
        await run.until(lambda: bool(searched._local_hits))
        assert [hit.snippet for hit in searched._local_hits] == ["Add Aᵢ, gᵢ zylinder."]


@pytest.mark.parametrize("opened_space", ["harbour-api", "handbook"])
async def test_found_page_opens_if_the_page_tree_is_older(stage: Stage, opened_space: str) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        run.app.go(ToPage(opened_space))
        await run.see("Harbour API ›" if opened_space == "harbour-api" else "Handbook ›")
        await RequestScenario(run).publish(add_page("# Zebra crossing\n\nStripes everywhere.\n"))
        await run.press("s", *"stripes everywhere")
        await run.see("PAGES", "Zebra crossing")
        await run.press("enter")
        await run.see("Harbour API › Zebra crossing", "Stripes everywhere.")
        assert not any("Could not find" in each for each in run.said)


async def test_page_with_more_matching_sections_than_shown_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("s")
        await run.type("station")
        await run.see("results in all spaces")
        heading = next(line for line in run.lines if "PAGES" in line)
        assert "at most 3 sections of each page" in heading
        await run.press("escape", "s")
        await run.type("aground")
        await run.see("results in all spaces")
        heading = next(line for line in run.lines if "PAGES" in line)
        assert "sections" not in heading
