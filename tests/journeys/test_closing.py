"""A screen that is being taken down is shown nothing more, whatever arrives just then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.widget import Widget

from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.comments.thread_dialog import ThreadDialog
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.session import Session
from octavo.tui.core.view import Subscriptions
from tests.journeys.stage import Stage
from tests.journeys.test_reviewing import open_one
from tests.journeys.test_suggesting import seven, suggest

WAYS: dict[str, dict[str, tuple[str, ...]]] = {
    "changes": {"change request": ("enter",)},
    "content": {
        "search": ("s", *"tide"),
        "thread": ("j", "j", "enter"),
        "page history": ("H",),
        "files": ("F",),
        "links": ("L",),
    },
}
"""Screens over a view, and what leads there from where the one before it was closed."""


class Late(Widget):
    """Everything its screen follows is answered when all else that was in the screen is gone."""

    def on_mount(self) -> None:
        self.all_is_gone = asyncio.Event()

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        self.all_is_gone.set()
        app = self.app
        for following in followings(self.screen):
            for op in following.operations():
                await app.session.live.refresh(op)  # type: ignore[attr-defined]  # the app is ours


def followings(screen: Widget) -> list[Subscriptions]:
    found = [screen, *screen.query("*")]
    return [each for node in found for each in vars(node).values() if isinstance(each, Subscriptions)]


@pytest.mark.parametrize("start", ["content", "changes"])
async def test_an_answer_that_comes_while_a_screen_closes_is_not_shown(stage: Stage, start: str) -> None:
    async with stage.play(start=start, every_frame=True) as run:
        for name, keys in WAYS[start].items():
            await run.press(*keys)
            if name == "search":
                await run.see("PAGES")
            if name == "thread":
                view = run.app.screen
                assert isinstance(view, ContentScreen)
                view.page_discussion.open_thread(view.open_space.threads.known_threads[0].id)
                await run.settle()
            screen = run.app.screen
            assert len(run.app.screen_stack) == 2
            assert any(each.operations() for each in followings(screen))
            await screen.mount(Late())
            run.app.pop_screen()
            await run.settle()
            assert not screen.is_running


@pytest.mark.before_release
async def test_what_works_for_a_screen_ends_when_the_screen_begins_to_go(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        await run.press("enter")
        screen = run.app.screen

        async def show_late() -> None:
            await late.all_is_gone.wait()
            screen.query_one("#head")

        late = Late()
        await screen.mount(late)
        screen.run_worker(show_late())
        run.app.pop_screen()
        await run.settle()
        assert not screen.is_running


@pytest.mark.before_release
async def test_the_place_on_a_page_is_kept_once_also_when_all_ends_twice(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter", "G")
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        await screen.mount(Ending())
        await run.quit()


class Ending(Widget):
    """The app is told to end again when all that was in its screen is gone."""

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        for keep in tuple(self.app.exit_callbacks):  # type: ignore[attr-defined]  # the app is ours
            keep()


class Lasting(Widget):
    """When all else that was in its screen is gone, `release` is called, and what is done in the background ends."""

    def __init__(self, release: Callable[[], object]) -> None:
        super().__init__()
        self._release = release

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        self._release()
        while self.app.tasks:  # type: ignore[attr-defined]  # noqa: ASYNC110  # the app is ours, and says no more
            await asyncio.sleep(0.005)


@pytest.mark.before_release
async def test_a_suggestion_that_was_compared_when_its_thread_is_closed_is_not_shown(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        await suggest(run, await seven(run), "All times in requests", "All times are in UTC.")
        await open_one(run, "refused")
        await run.see("● 2 open", "− All times")
        await run.press("enter", "t", "enter")
        await run.see("Suggested change", "Tomás Okafor · just now · open", "− All times in requests and answers")
        sheet = run.app.screen
        assert isinstance(sheet, ThreadDialog)
        view = sheet.query_one(ThreadView)
        await run.press("escape")
        assert view.parent is None
        view._suggestions.set_page_text("The page says something else now.")
        await run.settle()


async def test_a_folder_that_is_not_there_is_told_when_the_app_is_left_by_then(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        screen = run.app.screen
        assert isinstance(screen, SignInScreen)

        def elsewhere() -> Awaitable[Session]:
            return run.app.sign_in_methods.open_folder("/nowhere")

        await screen.mount(Lasting(lambda: run.app.background(screen._enter(elsewhere))))
        await run.app.action_quit()


@pytest.mark.before_release
async def test_what_is_said_when_a_bug_has_taken_all_down_ends_it_no_second_time(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        app = run.app
    app._exit = False  # as it is when nobody asked it to end
    app.say("Too late.")
