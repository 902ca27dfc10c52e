"""Work in the pauses of the user: collections, and imports of other views."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Iterator
from weakref import WeakSet

import pytest
from textual.app import App, ComposeResult
from textual.app import App as TextualApp
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.events import Event, InputEvent
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.signal import Signal
from textual.strip import Strip
from textual.widgets import Static, TextArea

from octavo.tui.app import pauses
from octavo.tui.app.pauses import (
    IDLE_CHECK_INTERVAL,
    MAX_IDLE_WAIT,
    GarbageCollector,
    Teardown,
    Workers,
    caches,
    run_when_idle,
)
from octavo.tui.render.styled_lines import Line, StyledText
from octavo.tui.render.virtual_lines import VirtualLines


class Dialog(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield Static("a sheet")
        yield TextArea("which watches the theme of the app")

    def on_mount(self) -> None:
        app = self.app
        assert isinstance(app, AppWithTeardown)
        app.news.subscribe(self, lambda _: None)
        app.app_suspend_signal.subscribe(self, lambda _: None)


class AppWithTeardown(TextualApp[None]):
    def __init__(self) -> None:
        super().__init__()
        self.news: Signal[None] = Signal(self, "news")
        self.teardown = Teardown(self, (self.app_suspend_signal, self.news))
        self.before_removal = self.teardown.on_removal

    @property
    def workers(self) -> Workers:
        return self.teardown.workers

    async def on_event(self, event: Event) -> None:
        if isinstance(event, InputEvent):
            self.teardown.garbage.on_key_pressed()
        await super().on_event(event)


@pytest.fixture(autouse=True)
def shorter_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Shorten the pause before a collection, and restore the limits of Python afterwards."""
    monkeypatch.setattr(pauses, "PAUSE", 0.7)  # A cursor of the dialog blinks until then.
    gc.collect()  # Free garbage of earlier tests, because the next collection freezes all objects that exist.
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


async def open_dialog(app: AppWithTeardown) -> WeakSet[DOMNode]:
    """Open a dialog, and return weak references to all its nodes."""
    await app.push_screen(Dialog())
    return WeakSet(app.screen.walk_children(with_self=True))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  # There is no event for a freed object.
            await asyncio.sleep(0.01)


async def test_closed_screen_is_freed_after_a_pause() -> None:
    app = AppWithTeardown()
    async with app.run_test() as pilot:
        app.teardown.garbage.start()
        nodes = await open_dialog(app)
        await pilot.press("a")
        await app.pop_screen()
        assert nodes, "nothing may be collected while the user types"
        await until(lambda: not nodes)


async def test_keys_start_no_full_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "PAUSE", 1000.0)
    app = AppWithTeardown()
    async with app.run_test():
        app.teardown.garbage.start()
        collections: list[int] = []
        gc.callbacks.append(sizes := lambda phase, info: collections.append(info["generation"]))
        try:
            for _ in range(20):
                await open_dialog(app)
                await app.pop_screen()
        finally:
            gc.callbacks.remove(sizes)
        assert 0 in collections
        assert 2 not in collections


def test_collections_stay_short_while_objects_are_freed_and_created() -> None:
    page = VirtualLines(range(5000), lambda _: 4, lambda chunk: [Line([StyledText(f"{chunk}")] * 2) for _ in range(4)])
    rest: deque[list[list[int]]] = deque(maxlen=600)
    sizes: list[int] = []

    def collections(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            sizes.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

    GarbageCollector(App()).start()
    gc.callbacks.append(collections)
    try:
        for chunk in range(5000):
            rest.append([[number] for number in range(80)])  # These objects resemble the segments of the lines.
            page.lines(chunk)
    finally:
        gc.callbacks.remove(collections)
    assert sizes
    assert max(sizes) < 20_000, "a collection of more objects takes longer than 10 ms"


class SelectablePart(Static):
    """A widget that reads the text selection of its screen at each paint, as a page does."""

    def render_lines(self, crop: Region) -> list[Strip]:
        assert self.text_selection is None
        return super().render_lines(crop)


class SlowContainer(Vertical):
    """A container that unmounts some time after its child."""

    def __init__(self) -> None:
        super().__init__(SelectablePart("a part"))
        self.may_unmount = asyncio.Event()

    async def on_unmount(self) -> None:
        await self.may_unmount.wait()


async def test_removed_child_of_a_mounted_widget_is_not_painted() -> None:
    app = AppWithTeardown()
    async with app.run_test() as pilot:
        slow = SlowContainer()
        await app.mount(slow)
        part = slow.query_one(SelectablePart)
        await pilot.pause()
        try:
            with app.batch_update():  # There is no new layout within the block.
                removal = slow.remove()
                await until(lambda: part.parent is None)
                assert app.screen._compositor.render_full_update() is not None
        finally:
            slow.may_unmount.set()
        await removal


async def test_removed_screen_starts_no_workers() -> None:
    app, started = AppWithTeardown(), []

    async def query_text_area(nodes: Dialog) -> None:
        await asyncio.sleep(0)
        started.append(nodes.query_one(TextArea))

    async with app.run_test() as pilot:
        nodes = Dialog()
        await app.push_screen(nodes)
        removal = app.pop_screen()
        nodes.run_worker(query_text_area(nodes))  # This worker starts while the screen closes.
        await removal
        nodes.run_worker(query_text_area(nodes))
        await pilot.pause()
        assert started == []


class ClosedWhileComposing(ModalScreen[None]):
    """A dialog that is closed before it is mounted, and that queries its child when it is mounted."""

    def compose(self) -> ComposeResult:
        self.app.pop_screen()
        self.remove()
        yield Static("a part", id="part")

    def on_mount(self) -> None:
        assert self.query_one("#part").parent is self


async def test_widget_removed_before_its_mount_gets_no_mount_event() -> None:
    app = AppWithTeardown()
    async with app.run_test() as pilot:
        app.push_screen(ClosedWhileComposing())
        await pilot.pause()
        assert len(app.screen_stack) == 1


def test_caches_of_functions_and_methods_are_found() -> None:
    found = [each.__qualname__ for each in caches("textual.", "rich.")]
    assert {"cached_cell_len", "Color.parse", "StylesCache.get_inner_outer"} <= set(found)
    assert len(found) == len(set(map(id, caches("textual.", "rich."))))


async def test_preloading_starts_when_the_view_is_loaded() -> None:
    app: App[None] = App()
    waiting, started = [True], list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: waiting[0], lambda: started.append(True))
        await pilot.pause(3 * IDLE_CHECK_INTERVAL)
        assert not started, "the preloading must wait for the view"
        waiting[0] = False
        await pilot.pause(2 * IDLE_CHECK_INTERVAL)
        assert started == [True], "the preloading must start once"


async def test_preloading_starts_even_without_a_response() -> None:
    app: App[None] = App()
    started = list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: True, lambda: started.append(True))
        await pilot.pause(MAX_IDLE_WAIT + 2 * IDLE_CHECK_INTERVAL)
        assert started == [True]
