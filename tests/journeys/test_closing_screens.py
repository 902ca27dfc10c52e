"""Responses, workers and notifications that arrive while a screen closes are ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.widget import Widget

from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.comments.thread_dialog import ThreadDialog
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.connection import Subscriptions
from octavo.tui.core.session import Session
from tests.journeys.stage import Stage
from tests.journeys.test_reviewing import open_change_request
from tests.journeys.test_suggestions import suggest_utc

KEYS_BY_SCREEN: dict[str, dict[str, tuple[str, ...]]] = {
    "changes": {"change request": ("enter",)},
    "content": {
        "search": ("s", *"tide"),
        "thread": ("j", "j", "enter"),
        "page history": ("H",),
        "files": ("F",),
        "links": ("L",),
    },
}
"""Screens over a view, and the keys that open each screen after the previous screen closed."""


class LateResponses(Widget):
    """A widget that unmounts last, and then sends a response for each subscription of the screen."""

    def on_mount(self) -> None:
        self.others_are_unmounted = asyncio.Event()

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        self.others_are_unmounted.set()
        app = self.app
        for subscription in subscriptions_of(self.screen):
            for op in subscription.operations():
                await app.session.live.refresh(op)  # type: ignore[attr-defined]  # The app is Octavo.


def subscriptions_of(screen: Widget) -> list[Subscriptions]:
    found = [screen, *screen.query("*")]
    return [each for node in found for each in vars(node).values() if isinstance(each, Subscriptions)]


@pytest.mark.before_release("content")
@pytest.mark.parametrize("start", ["content", "changes"])
async def test_response_for_a_closing_screen_is_ignored(stage: Stage, start: str) -> None:
    async with stage.play(start=start, every_frame=True) as run:
        for name, keys in KEYS_BY_SCREEN[start].items():
            await run.press(*keys)
            if name == "search":
                await run.see("PAGES")
            if name == "thread":
                view = run.app.screen
                assert isinstance(view, ContentScreen)
                view.page_discussion.open_thread(view.open_space.threads.ordered_threads[0].id)
                await run.settle()
            screen = run.app.screen
            assert len(run.app.screen_stack) == 2
            assert any(each.operations() for each in subscriptions_of(screen))
            await screen.mount(LateResponses())
            run.app.pop_screen()
            await run.settle()
            assert not screen.is_running


@pytest.mark.before_release
async def test_workers_of_a_screen_stop_when_the_screen_closes(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        await run.press("enter")
        screen = run.app.screen

        async def show_late() -> None:
            await late_responses.others_are_unmounted.wait()
            screen.query_one("#head")

        late_responses = LateResponses()
        await screen.mount(late_responses)
        screen.run_worker(show_late())
        run.app.pop_screen()
        await run.settle()
        assert not screen.is_running


@pytest.mark.before_release
async def test_reading_position_is_saved_once_on_a_double_exit(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter", "G")
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        await screen.mount(RepeatedExit())
        await run.quit()


class RepeatedExit(Widget):
    """A widget that unmounts last, and then runs the exit callbacks of the app again."""

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        for save in tuple(self.app.exit_callbacks):  # type: ignore[attr-defined]  # The app is Octavo.
            save()


class SlowUnmount(Widget):
    """A widget that unmounts last: it calls `release`, and then waits until the background tasks of the app end."""

    def __init__(self, release: Callable[[], object]) -> None:
        super().__init__()
        self._release = release

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.05)
        self._release()
        while self.app.tasks:  # type: ignore[attr-defined]  # noqa: ASYNC110  # The app is Octavo, and it has no event for this.
            await asyncio.sleep(0.005)


@pytest.mark.before_release
async def test_suggestion_diff_of_a_closed_thread_is_not_shown(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        await suggest_utc(run)
        await open_change_request(run, "refused")
        await run.see("● 2 open", "− All times")
        await run.press("enter", "t", "enter")
        await run.see("Suggested change", "Tomás Okafor · just now · open", "− All times in requests and answers")
        dialog = run.app.screen
        assert isinstance(dialog, ThreadDialog)
        view = dialog.query_one(ThreadView)
        await run.press("escape")
        assert view.parent is None
        view._suggestions.set_page_text("The page says something else now.")
        await run.settle()


async def test_folder_that_fails_to_open_while_the_app_quits_does_no_harm(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        screen = run.app.screen
        assert isinstance(screen, SignInScreen)

        def open_missing_folder() -> Awaitable[Session]:
            return run.app.sign_in_methods.open_folder("/nowhere")

        await screen.mount(SlowUnmount(lambda: run.app.background(screen._enter(open_missing_folder))))
        await run.app.action_quit()


@pytest.mark.before_release
async def test_notice_after_a_crash_causes_no_second_crash(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        app = run.app
    app._exit = False  # The value is False when a crash ends the app.
    app.say("Too late.")
