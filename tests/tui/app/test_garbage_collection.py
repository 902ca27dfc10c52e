"""Closed screens are freed while the user pauses, or earlier if there are many. Listeners are freed with the app."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from weakref import WeakSet

import pytest
from textual.app import App as TextualApp
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.events import Event, InputEvent
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.signal import Signal
from textual.strip import Strip
from textual.widgets import Static, TextArea

from octavo.tui.app import garbage_collection
from octavo.tui.app.garbage_collection import Garbage, Teardown, caches
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.virtual_lines import VirtualLines


class Sheet(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield Static("a sheet")
        yield TextArea("which watches the theme of the app")

    def on_mount(self) -> None:
        app = self.app
        assert isinstance(app, App)
        app.news.subscribe(self, lambda _: None)
        app.app_suspend_signal.subscribe(self, lambda _: None)


class App(TextualApp[None]):
    def __init__(self) -> None:
        super().__init__()
        self.news: Signal[None] = Signal(self, "news")
        self.teardown = Teardown(self, (self.app_suspend_signal, self.news))

    async def on_event(self, event: Event) -> None:
        if isinstance(event, InputEvent):
            self.teardown.garbage.key_pressed()
        await super().on_event(event)


@pytest.fixture(autouse=True)
def shorter_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And what Python does by itself is as it was before."""
    monkeypatch.setattr(garbage_collection, "PAUSE", 0.2)
    monkeypatch.setattr(garbage_collection, "LONG_PAUSE", 0.7)  # a cursor blinks until then
    gc.collect()  # what there is is kept for good
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


async def opened(app: App) -> WeakSet[DOMNode]:
    """A sheet is on show: it and what it holds, as far as that is there."""
    await app.push_screen(Sheet())
    return WeakSet(app.screen.walk_children(with_self=True))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  # nobody says when something is gone
            await asyncio.sleep(0.01)


async def test_closed_screen_is_freed_after_a_pause() -> None:
    app = App()
    async with app.run_test() as pilot:
        app.teardown.garbage.start()
        sheet = await opened(app)
        await pilot.press("a")
        await app.pop_screen()
        assert sheet, "nobody looks while a key may come"
        await until(lambda: not sheet)


async def test_screen_open_during_a_collection_is_freed_later() -> None:
    app = App()
    async with app.run_test():
        app.teardown.garbage.start()
        sheet = await opened(app)
        app.teardown.garbage.collect()
        await app.pop_screen()
        gc.collect(1)
        assert sheet
        await until(lambda: not sheet)


async def test_frozen_screen_is_freed_in_the_next_long_pause_after_closing() -> None:
    app = App()
    async with app.run_test() as pilot:
        app.teardown.garbage.start()
        sheet = await opened(app)
        screen = app.screen
        assert any(each is screen for each in gc.get_objects())
        app.teardown.garbage.collect(is_long_pause=True)
        assert not any(each is screen for each in gc.get_objects())
        del screen
        await app.pop_screen()
        await pilot.press("a")
        app.teardown.garbage.wake()
        for _ in range(3):
            app.teardown.garbage.collect()
        assert sheet, "what is looked at between keys is what came since"
        await until(lambda: not sheet)


async def test_grown_memory_is_collected_between_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "PAUSE", 1000.0)
    monkeypatch.setattr(garbage_collection, "NEW_BLOCKS", 1500)
    app = App()
    async with app.run_test() as pilot:
        app.teardown.garbage.start()
        sheet = await opened(app)
        gc.collect(1)  # one of the looks that Python takes
        await app.pop_screen()
        assert sheet
        while any(isinstance(node, Sheet) for node in sheet):
            await pilot.press("a")


def test_tuple_built_by_another_thread_meanwhile_is_intact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "NEW_BLOCKS", 1 << 60)
    garbage, is_over, broken = Garbage(), threading.Event(), []
    garbage.start()
    stays: list[list[int]] = [[] for _ in range(100_000)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def told() -> Iterator[int]:
        for number in range(40):  # its place grows again and again
            time.sleep(0.0005)
            yield number

    def make() -> None:
        try:
            while not is_over.is_set():
                tuple(told())
        except SystemError as error:
            broken.append(error)

    making = threading.Thread(target=make)
    making.start()
    for _ in range(200):
        gc.collect(1)  # among what stayed
        garbage.key_pressed()
    is_over.set()
    making.join()
    sys.setswitchinterval(interval)
    assert broken == []
    assert stays


async def test_keys_start_no_full_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "PAUSE", 1000.0)
    app = App()
    async with app.run_test():
        app.teardown.garbage.start()
        looks: list[int] = []
        gc.callbacks.append(seen := lambda phase, info: looks.append(info["generation"]))
        try:
            for _ in range(20):
                await opened(app)
                await app.pop_screen()
        finally:
            gc.callbacks.remove(seen)
        assert 0 in looks
        assert 2 not in looks


def test_collections_stay_short_while_objects_are_freed_and_created() -> None:
    page = VirtualLines(range(5000), lambda _: 4, lambda unit: [Line([Piece(f"{unit}")] * 2) for _ in range(4)])
    rest: deque[list[list[int]]] = deque(maxlen=600)
    seen: list[int] = []

    def looks(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

    Garbage().start()
    gc.callbacks.append(looks)
    try:
        for unit in range(5000):
            rest.append([[number] for number in range(80)])  # as the segments of its lines
            page.lines(unit)
    finally:
        gc.callbacks.remove(looks)
    assert seen
    assert max(seen) < 20_000, "for which 10 ms are taken"


class Part(Static):
    """It looks for what is selected on its screen, as pages do, whenever it is painted."""

    def render_lines(self, crop: Region) -> list[Strip]:
        assert self.text_selection is None
        return super().render_lines(crop)


class Slow(Vertical):
    """Its parts are gone some time before it is."""

    def __init__(self) -> None:
        super().__init__(Part("a part"))
        self.may_go = asyncio.Event()

    async def on_unmount(self) -> None:
        await self.may_go.wait()


async def test_removed_child_of_a_mounted_widget_is_not_painted() -> None:
    app = App()
    async with app.run_test() as pilot:
        slow = Slow()
        await app.mount(slow)
        part = slow.query_one(Part)
        await pilot.pause()
        try:
            with app.batch_update():  # nothing is laid out anew until then
                going = slow.remove()
                await until(lambda: part.parent is None)
                assert app.screen._compositor.render_full_update() is not None
        finally:
            slow.may_go.set()
        await going


async def test_removed_screen_starts_no_workers() -> None:
    app, begun = App(), []

    async def look(sheet: Sheet) -> None:
        await asyncio.sleep(0)
        begun.append(sheet.query_one(TextArea))

    async with app.run_test() as pilot:
        sheet = Sheet()
        await app.push_screen(sheet)
        going = app.pop_screen()
        sheet.run_worker(look(sheet))  # as what comes to it late does
        await going
        sheet.run_worker(look(sheet))
        await pilot.pause()
        assert begun == []


class Looking(ModalScreen[None]):
    """It looks for its part as soon as it is there, and is closed before."""

    def compose(self) -> ComposeResult:
        self.app.pop_screen()
        self.remove()
        yield Static("a part", id="part")

    def on_mount(self) -> None:
        assert self.query_one("#part").parent is self


async def test_widget_removed_before_its_mount_gets_no_mount_event() -> None:
    app = App()
    async with app.run_test() as pilot:
        app.push_screen(Looking())
        await pilot.pause()
        assert len(app.screen_stack) == 1


def test_caches_of_functions_and_methods_are_found() -> None:
    found = [each.__qualname__ for each in caches("textual.", "rich.")]
    assert {"cached_cell_len", "Color.parse", "StylesCache.get_inner_outer"} <= set(found)
    assert len(found) == len(set(map(id, caches("textual.", "rich."))))
