from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from textual.color import Color
from textual.content import Content
from textual.events import AppBlur, AppFocus
from textual.screen import Screen
from textual.widgets import Static

from octavo.api import change_requests, spaces
from octavo.api.change_requests import ChangeRequest, ListOfOrganization
from octavo.api.operation import SpaceRef
from octavo.client.responses import Application
from octavo.data.queries import UNDECIDED, change_requests_op, spaces_op
from octavo.tui.core.view import StatusBar, TopBar
from octavo.tui.review import request_view
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.terminal.textual_internals import painted_rows
from octavo.tui.widgets import bars, short_texts
from octavo.tui.widgets.commands import ActiveCommand, key_bar
from tests.journeys.faulty_server import Fault, FaultyServer
from tests.journeys.stage import Run, Stage
from tests.journeys.used_computer import new_stage, stage, used_folders

__all__ = ["new_stage", "stage", "used_folders"]


def accented_titles(run: Run) -> set[str]:
    """Return the pane titles in the accent color, which marks the focused pane."""
    accent = Color.parse(run.app.theme_variables["primary"])
    titles = [each for each in run.app.screen.query(".pane-title") if isinstance(each, Static)]
    return {str(each.render()) for each in titles if each.display and each.styles.color == accent}


@pytest.mark.before_release
async def test_title_of_the_focused_pane_has_the_accent_color(stage: Stage) -> None:
    async with stage.play(start="content") as run:
        await run.see("OUTLINE", "⚓ Harbour API ▾")
        (left,) = accented_titles(run)
        assert "Harbour API" in left
        await run.press("enter", "O")
        assert "OUTLINE" in accented_titles(run)
        assert left not in accented_titles(run)


async def test_key_bar_of_an_empty_list_offers_no_row_commands(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        for row_command in ("enter open", "space scroll", "x select"):
            assert row_command in run.keybar
        await run.press("/", *"zzqq", "enter")
        for row_command in ("enter open", "space scroll", "x select"):
            assert row_command not in run.keybar
        await run.press("x")
        await run.hear("There is nothing to select here.")
        await run.press("escape")
        for row_command in ("enter open", "space scroll", "x select"):
            assert row_command in run.keybar


async def test_notice_stays_in_all_frames_of_a_view_that_is_shown_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[str] = []

    def paint(screen: Screen[Any], paint: Callable[[Screen[Any]], None] = Screen._compositor_refresh) -> None:
        paint(screen)
        if screen.is_current:
            frames.append("\n".join(strip.text for strip in painted_rows(screen)))

    monkeypatch.setattr(Screen, "_compositor_refresh", paint)
    async with stage.play(start="comments", every_frame=True) as run:
        await run.press("3")
        await run.press("4")
        await run.press("d")
        await run.see("u undo")
        await run.press("3")
        frames.clear()
        await run.press("4")
        assert frames
        assert all("u undo" in frame for frame in frames), run.text


@pytest.mark.before_release
async def test_bars_of_a_hidden_view_are_updated_when_it_is_shown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered_bars: list[TopBar | StatusBar] = []
    for kind in (TopBar, StatusBar):

        def line(bar: Any, line: Callable[[Any], Content] = kind._line) -> Content:
            rendered_bars.append(bar)
            return line(bar)

        monkeypatch.setattr(kind, "_line", line)
    async with stage.play(start="content") as run:
        left = run.app.screen
        await run.press("3")
        known = run.app.workspace
        assert known.organization is not None
        rendered_bars.clear()
        known.organization = known.organization.model_copy(update={"title": "Elsewhere"})
        for _ in range(3):
            known.frame_changed.publish(None)
            await run.settle()
        assert "Elsewhere" in run.lines[0]
        assert {bar.screen for bar in rendered_bars} == {run.app.screen}
        await run.press("2")
        assert run.app.screen is left
        assert "Elsewhere" in run.lines[0]


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("start", "left", "keys", "right"),
    [
        ("content", "Your first tide table", "enter", "Measured and predicted"),
        ("comments", "I asked two", "tab", "↳ Mara Lindqvist"),
    ],
)
async def test_below_80_columns_only_the_focused_pane_is_shown(
    stage: Stage, start: str, left: str, keys: str, right: str
) -> None:
    async with stage.play(start=start, size=(60, 20)) as run:
        await run.see(left)
        assert right not in run.text
        await run.press(keys)
        await run.see(right)
        run.app.post_message(AppBlur())
        await run.settle()
        assert right in run.text, "the pane must stay visible when the terminal loses the focus"
        run.app.post_message(AppFocus())
        await run.press("shift+tab")
        await run.see(left)
        assert right not in run.text


@pytest.mark.before_release
async def test_change_request_below_80_columns_shows_one_pane_at_a_time(stage: Stage) -> None:
    async with stage.play(start="changes", size=(60, 20)) as run:
        await run.see("#7  Show what a refused time looks like")
        assert "PAGES" not in run.text, "the pages belong to the pane that enter opens"
        await run.press("enter")
        await run.see("PAGES  0 of 1 viewed", "REVIEW REQUESTED")
        assert "1 │ Word list" not in run.text
        await run.press("enter")
        await run.see("1 │ Word list")
        assert "REVIEW REQUESTED" not in run.text


async def test_queued_change_is_named_in_full_at_80_columns(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("#2")
        await run.press("enter")
        await run.see("change 1 of 1 · 1 thread")
        await run.press("d")
        await run.see("Resolving thread", "page 1 of 1 · change 1 of 1 · 1 th…  1 change queued")


VIEWS = ("1", "2", "3", "4")


@pytest.mark.before_release
async def test_narrow_terminal_shows_gaps_around_the_tab_and_between_numbers(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(80, 24)) as run:
        await run.see("▾  1 Inbox 17  2 Content 3 Changes 7 4 Comments 72 5 Sites")
        await run.press("3")
        await run.see("2 Content  3 Changes 7  4 Comments")
        await run.press("enter")
        await run.see("+17 −4")


@pytest.mark.before_release
async def test_short_terminal_has_no_separator_lines(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(80, 12)) as run:
        for key in VIEWS:
            await run.press(key)
            assert not any("──────" in line for line in run.lines[:2] + run.lines[-3:]), run.text
            assert "6 Admin" in run.lines[0]
            assert "● DEMO" in run.lines[0]
            assert "? help" in run.keybar
    async with stage.play(start="inbox", size=(80, 24)) as run:
        for key in VIEWS:
            await run.press(key)
            assert "──────" in run.lines[1]


@pytest.mark.before_release
async def test_focused_page_tree_replaces_the_outline(stage: Stage) -> None:
    async with stage.play(size=(80, 24)) as run:
        await run.press("enter", "O")
        await run.see("OUTLINE")
        assert "Your first tide" not in run.text
        await run.press("escape", "escape")
        await run.see("Your first tide")


@pytest.mark.before_release
async def test_filter_text_is_visible_in_stacked_panes(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(80, 24)) as run:
        for key in VIEWS:
            await run.press(key)
            await run.press("/", *"xylo")
            await run.see(" / xylo")
            await run.press("escape", "escape")  # The first key clears the filter, and the second key closes it.
            await run.gone(" / xylo")


@pytest.mark.before_release
async def test_reduced_motion_shows_no_animation(stage: Stage) -> None:
    async with stage.play(motion=False) as run:
        assert run.app.animation_level == "none"
        await run.press("enter", "j", "c")
        await run.type("Nothing moves.")
        await run.press("ctrl+s")
        await run.see("u undo")
        assert "▓" not in run.text


@pytest.mark.before_release
async def test_long_account_name_does_not_hide_the_connection_state(
    stage: Stage,
) -> None:
    async with stage.play(start="inbox", size=(100, 24)) as run:
        await run.see("● DEMO")
        run.app._session = replace(run.app.session, kind="server", label="somebody@documents.example.com:8443")
        run.app.screen.query_one(TopBar).refresh()
        await run.gone("DEMO")
        await run.see("● 0s ago")
        assert "somebody@" not in run.text


@pytest.mark.parametrize(
    ("view", "width", "age"),
    [
        ("inbox", 120, "● 0s ago"),
        pytest.param("content", 150, "● updated 0s ago", marks=pytest.mark.before_release),
        pytest.param("inbox", 150, "● updated 0s ago", marks=pytest.mark.before_release),
        pytest.param("inbox", 200, "● updated 0s ago", marks=pytest.mark.before_release),
        pytest.param("content", 120, "● 0s ago", marks=pytest.mark.before_release),
        pytest.param("content", 200, "● updated 0s ago", marks=pytest.mark.before_release),
    ],
)
async def test_top_bar_names_the_account_and_the_age_of_the_data(stage: Stage, view: str, width: int, age: str) -> None:
    async with stage.play(start=view, size=(width, 36)) as run:
        await run.see("DEMO")
        run.app._session = replace(run.app.session, kind="server", label="mara@127.0.0.1:45678")
        run.app.screen.query_one(TopBar).refresh()
        await run.gone("DEMO")
        assert age in run.lines[0]
        assert run.lines[0].rstrip().endswith("mara@127.0.0.1:45678")


class WidthRecorder(ChangeRequestScreen):
    """A change request that records the width of its left pane at each painting."""

    CSS_PATH = str(Path(request_view.__file__).with_suffix(".tcss"))

    def __init__(self, about: ChangeRequest, space: SpaceRef) -> None:
        super().__init__(about, space)
        self.widths: list[int] = []

    def _compositor_refresh(self) -> None:
        self.widths.append(self.query_one("#left").outer_size.width)
        super()._compositor_refresh()


@pytest.mark.before_release
async def test_new_screen_is_first_painted_at_its_final_width(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("#7  Show what a refused time looks like")
        space = SpaceRef(space_id="harbour-api")
        change_requests_of_space = await run.app.session.live.fetch(change_requests.List(at=space))
        screen = WidthRecorder(change_requests_of_space.items[0], space)
        await run.app.push_screen(screen)
        await run.see("PAGES")
        assert set(screen.widths) == {29}
        laid_out: list[object] = []
        screen.screen_layout_refresh_signal.subscribe(screen, laid_out.append, immediate=True)
        await run.settle()
        laid_out.clear()
        screen.show_changed_pages()
        screen.request_head.show_reviews()
        await run.settle()
        assert not laid_out, "unchanged content must not be laid out again"


@pytest.mark.before_release
async def test_comment_counts_request_each_list_of_change_requests_once(new_stage: Stage) -> None:
    """Read both lists of change requests once, although the organization becomes known during the first paint. The
    counts need these lists to exclude review comments."""
    async with new_stage.play(start="content") as run:
        await run.see("3 Changes 7")
        await run.settle()
        before = [each.route for each in run.app.session.latest_requests()]
        assert sum("change-requests" in name for name in before) == 2, before
        run.app.workspace.follow_comment_counts()
        await run.settle()
        assert [each.route for each in run.app.session.latest_requests()] == before


@pytest.mark.before_release
async def test_all_views_request_the_same_lists_of_the_organization(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        organization = run.app.workspace.organization
        assert organization is not None
        await run.press("4", "2", "1", "s")
        await run.settle()
        lists = {op for op in run.gate.sent(ListOfOrganization) if op.status in UNDECIDED}
        assert lists == {change_requests_op(organization.id, status) for status in UNDECIDED}
        assert set(run.gate.sent(spaces.List)) == {spaces_op(organization.id)}
        assert lists | {spaces_op(organization.id)} <= set(run.app.workspace.operations)


@pytest.mark.before_release("100", "120")
@pytest.mark.parametrize("width", [80, 100, 120])
async def test_top_bar_does_not_move_while_the_data_gets_older(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    async with stage.play(start="inbox", size=(width, 24)) as run:
        await run.see("● ", "0s ago")
        bar, now = run.app.screen.query_one(TopBar), short_texts.clock()
        begins = set()
        for seconds in (0, 9, 10, 59, 60, 600, 3_600, 36_000, 86_400):
            monkeypatch.setattr(short_texts, "clock", lambda age=seconds: now + timedelta(seconds=age))
            begins.add(bar._line().plain.partition(" ago")[0].rstrip("0123456789smhd"))
        assert len(begins) == 1


@pytest.mark.parametrize("kind", ["demo", "server"])
async def test_tabs_keep_their_names_at_80_columns_while_the_server_fails(
    stage: Stage, kind: Literal["demo", "server"]
) -> None:
    servers: list[FaultyServer] = []

    def behind(platform: Application) -> Application:
        servers.append(FaultyServer(platform))
        return servers[0]

    async with stage.play(start="changes", size=(80, 24), behind=behind) as run:
        run.app._session = replace(run.app.session, kind=kind)
        servers[0].fault = Fault(503)
        await run.press("r")
        await run.until(lambda: "○" in run.lines[0], "show that a request failed")
        assert all(name in run.lines[0] for name in ("Inbox", "Content", "Changes", "Comments", "Sites", "Admin"))
        assert ("server error" in run.lines[0]) is (kind == "server")


@pytest.mark.before_release
@pytest.mark.parametrize("width", [80, 90, 100, 120, 160])
@pytest.mark.parametrize("view", ["inbox", "content", "changes", "comments", "sites", "admin"])
async def test_demo_label_is_shown_at_every_width(stage: Stage, width: int, view: str) -> None:
    async with stage.play(start=view, size=(width, 24)) as run:
        await run.see("DEMO")
        assert "DEMO" in run.lines[0]
        assert "●" in run.lines[0], "the state of the connection must be visible too"


async def test_new_key_bar_computes_its_commands_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []

    def count(screen: Screen[Any]) -> list[ActiveCommand]:
        computed.append(screen)
        return key_bar(screen)

    async with stage.play() as run:
        monkeypatch.setattr(bars, "key_bar", count)
        await run.press("question_mark")
        await run.see("Help")
        assert computed.count(run.app.screen) == 1
