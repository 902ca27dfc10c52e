"""The whole app on the demo library: real client, platform, disk and screens, and a clock that moves when told to."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import SecretStr
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot

from octavo.api.activity import Activity
from octavo.api.operation import Operation
from octavo.cli import sessions
from octavo.client.client import Client
from octavo.client.in_process import Application
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.proposed_notes import ProposedNotes
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import SearchIndex
from octavo.data.sending import Send
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.server.app import Platform
from octavo.server.demo.library import TODAY
from octavo.server.store import Store
from octavo.server.world import World
from octavo.settings import Settings
from octavo.tui.app.octavo import Octavo
from octavo.tui.core.frame import STEPS
from octavo.tui.core.session import Session, SignInMethods
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.terminal.textual_internals import painted_rows
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.notices import NoticeBoard
from tests import painting
from tests.journeys import pressed
from tests.server.asking import counting

T = TypeVar("T")
Op = TypeVar("Op", bound=Operation[Any])

MARA = "mara-lindqvist"
"""May review and merge, in the limpet manual only review."""
CONNECTED = re.compile(r"● (updated )?\d+\w+ ago")
"""The age of the data in the top bar, with and without the verb."""
LONGEST = 45.0
"""Seconds after which what a journey waits for will not come, on a machine that does much else too."""


@dataclass
class Clock:
    """Stands still until it is told to move."""

    moment: datetime = TODAY

    def __call__(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def forward(self, **by: float) -> None:
        """Move on, by `days`, `hours`, `minutes`, `seconds`."""
        self.moment += timedelta(**by)


class Gate:
    """Between the app and its client: requests of a kind wait here while it is shut for them."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self._clock = send, clock
        self._since: dict[object, float] = {}
        """When each request came that has no answer yet."""
        self._shut: dict[type[Operation[Any]], asyncio.Event] = {}
        self._shut_for_all: asyncio.Event | None = None
        self.passed: list[Operation[Any]] = []
        """Everything that was sent, in order."""
        self.under_way = 0
        """Requests that left and have no answer yet."""
        self.waiting = 0

    @property
    def waited(self) -> float:
        """Seconds an answer has been waited for."""
        return max((self._clock.seconds() - each for each in self._since.values()), default=0.0)

    async def __call__(self, op: Operation[T]) -> T:
        asked = object()
        self._since[asked] = self._clock.seconds()
        try:
            return await self._pass(op)
        finally:
            del self._since[asked]

    async def _pass(self, op: Operation[T]) -> T:
        while (shut := self._shut_for_all or self._shut.get(type(op))) is not None:
            self.waiting += 1
            try:
                await shut.wait()
            finally:
                self.waiting -= 1
        self.passed.append(op)
        pressed.sent(op)
        self.under_way += 1
        try:
            return await self._send(op)
        finally:
            self.under_way -= 1

    def shut(self, kind: type[Operation[Any]] | None = None) -> None:
        """Let no request of this kind pass until it is opened; without a kind, none at all."""
        if kind is None:
            self._shut_for_all = asyncio.Event()
        else:
            self._shut[kind] = asyncio.Event()

    @property
    def is_shut(self) -> bool:
        """Whether nothing at all passes."""
        return self._shut_for_all is not None

    def open(self, *but: type[Operation[Any]]) -> None:
        """Let through what waits, and what comes, but for these kinds."""
        opened = [*self._shut.values(), *([self._shut_for_all] if self._shut_for_all else ())]
        self._shut = {kind: asyncio.Event() for kind in but}
        self._shut_for_all = None
        for shut in opened:
            shut.set()

    def sent(self, kind: type[Op]) -> list[Op]:
        """What was sent of one kind."""
        return [op for op in self.passed if type(op) is kind]


class Run:
    """One run of the app: what a person at its keyboard does and sees."""

    def __init__(self, app: Octavo, pilot: Pilot[int], gate: Gate | None, platform: Platform, clock: Clock) -> None:
        self.app, self.pilot, self.platform, self.clock = app, pilot, platform, clock
        self._gate = gate

    @property
    def gate(self) -> Gate:
        assert self._gate is not None, "this run has a client of its own"
        return self._gate

    @property
    def lines(self) -> list[str]:
        """What the terminal shows, line by line, without the space at the ends. A space is a space."""
        return [strip.text.replace("\N{NO-BREAK SPACE}", " ").rstrip() for strip in painted_rows(self.app.screen)]

    @property
    def text(self) -> str:
        """What the terminal shows."""
        return "\n".join(self.lines).rstrip() + "\n"

    @property
    def keybar(self) -> str:
        """The last line: the keys that can be pressed."""
        return self.lines[-1]

    @property
    def said(self) -> list[str]:
        """The notices on show, the oldest first."""
        return [notice.text for notice in self.app.notices.shown()] + [each.message for each in self.app._notifications]

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other, and let the app come to rest after the last. Whoever was told that a key does
        nothing has read that first."""
        while self.app.words.is_ignored:
            await self.pilot.pause(0.004)
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, words: str) -> None:
        """Write words, as a paste brings them."""
        self.app.screen.post_message(events.Paste(words))
        await self.settle()

    def send_click(self, x: int, y: int) -> None:
        """Click as a terminal reports it, and wait for nothing."""
        for kind in (events.MouseDown, events.MouseUp):
            self.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))

    def send_wheel(self, x: int, y: int, kind: Callable[..., events.MouseEvent] = events.MouseScrollDown) -> None:
        """Turn the wheel as a terminal reports it, and wait for nothing."""
        self.app.post_message(kind(None, x, y, 0, 0, 0, False, False, False, x, y))

    def send_key(self, key: str) -> None:
        """Press a key as a terminal reports it, and wait for nothing."""
        self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    def send_size(self, width: int, height: int) -> None:
        """Give the terminal another size as its driver reports it, and wait for nothing."""
        driver, size = self.app._driver, Size(width, height)
        assert driver is not None
        driver._size = size
        self.app.post_message(events.Resize(size, size))

    @property
    def is_held_back(self) -> bool:
        """Whether the gate lets nothing pass."""
        return self._gate is not None and self._gate.is_shut

    async def settle(self, longest: float = LONGEST) -> None:
        """Wait until nothing is under way that the gate does not hold back, for so many seconds at the longest."""
        quiet, waits_for = 0, ""
        try:
            async with asyncio.timeout(longest):
                while quiet < 3:
                    if waits_for := self._under_way():  # the app paints as it would: to ask its widgets changes nothing
                        quiet = 0
                        await asyncio.sleep(0.004)
                    else:
                        await self.pilot.pause(0.004)
                        painting.draw(self.app.screen)  # which may ask for more: what is on show is loaded
                        waits_for = self._under_way() or self._read()
                        quiet = 0 if waits_for else quiet + 1
        except TimeoutError as error:
            raise TimeoutError(f"Not at rest after {longest:g} s: {waits_for or 'messages'}") from error

    def _under_way(self) -> str:
        """What the app has still to do, or nothing."""
        if not self.app.has_session:
            return f"tasks {self.app.tasks}" if self.app.tasks else ""
        session, gate, loader = self.app.session, self._gate, self.app.workspace.inbox.loader
        if gate is not None and gate.under_way:
            return "requests"
        if gate is not None and gate.waiting:
            return ""
        if self.app.tasks or session.live.is_busy:
            return f"tasks {self.app.tasks} {session.live.syncer.queue.flights}"
        if loader is not None and not loader.is_idle:
            return "the inbox"
        if workers := [worker for worker in self.app.workers if not worker.is_finished]:
            return f"workers {workers}"
        outbox = session.outbox
        return "the outbox" if any(outbox._is_moving(entry) for entry in outbox.entries) else ""

    def _read(self) -> str:
        """Which pages and diffs on show the thread reads or lays out."""
        reading = [
            view
            for view in self.app.screen.query(Reader)
            if view.size
            and (
                view.background.is_busy
                or (isinstance(view, PageView) and view.loader.is_loading)
                or (isinstance(view, DiffView) and view.contents.builder.is_building)
            )
        ]
        return f"pages {reading}" if reading else ""

    async def see_connected(self) -> None:
        """Wait until the top bar shows when the data was updated, in words or, with little room, by the age alone."""
        await self.until(lambda: CONNECTED.search(self.lines[0]) is not None, "be connected")

    async def see(self, *words: str) -> None:
        """Wait until each of `words` is on the screen."""
        await self.until(lambda: self._holds(words) == set(words), f"see {', '.join(words)}")

    async def gone(self, *words: str) -> None:
        """Wait until none of `words` is on the screen."""
        await self.until(lambda: not self._holds(words), f"no longer see {', '.join(words)}")

    def _holds(self, words: Sequence[str]) -> set[str]:
        """Those of `words` that are on the screen, which is drawn once to look for all."""
        text = self.text
        return {each for each in words if each in text}

    async def hear(self, *words: str) -> None:
        """Wait until notices say each of `words`."""
        await self.until(lambda: all(any(each in said for said in self.said) for each in words), f"hear {words}")

    async def until(self, holds: Callable[[], bool], what: str = "", *, longest: float = LONGEST) -> None:
        """Let the app run until something holds, and has come to rest, each for so many seconds at the longest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while not holds():
                    await self.pilot.pause(0.015)
        assert holds(), f"Did not {what or 'come to it'}. Notices: {self.said}\n{self.text}"
        await self.settle(longest)

    def accept(self) -> None:
        """Let the platform refuse nothing any more that it was told to refuse."""
        self.platform._refusals.clear()

    async def later(self, **by: float) -> None:
        """Let time pass: `seconds=6` is more than a write is held for undo."""
        self.clock.forward(**by)
        self.app.session.outbox.resume()
        for tell in tuple(self.app.notices.changed):
            tell()
        await self.settle()

    async def sent(self) -> None:
        """Let the time for undo pass, and what was written be sent."""
        await self.later(seconds=self.app.settings.undo_seconds + 1)
        await self.until(
            lambda: not self.app.session.outbox.entries, f"send everything: {self.app.session.outbox.entries}"
        )

    async def ask(self, op: Operation[T], person: str) -> T:
        """What another person asks of the platform meanwhile."""
        self.platform.world.store.add_key(f"key-of-{person}", person)
        client = Client("http://octavo.local", SecretStr(f"key-of-{person}"), transport=self.platform)
        answer = await client(op)
        await client.aclose()
        return answer

    async def quit(self) -> None:
        """Leave the app by its key."""
        await self.pilot.press("ctrl+q")
        async with asyncio.timeout(LONGEST):
            while self.app.return_value is None:
                await self.pilot.pause(0.004)


def _name(asked: Activity) -> tuple[datetime, str, str]:
    return asked.moment, asked.method, asked.route


async def _at_once(seconds: float) -> None:
    """Retries need not be waited for."""


def _newest_first(asked: Sequence[Activity]) -> Iterator[Activity]:
    """What was asked, the last one first. Of the others at one moment any may have been answered first: by their routes."""
    yield from asked[-1:]
    yield from sorted(asked[-2::-1], key=lambda each: (each.moment, each.route), reverse=True)


class Stage:
    """The folders of one machine, with a copy of the demo library, and the time there."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.database = folder / "data" / "demo" / "platform.db"
        self.database.parent.mkdir(parents=True, mode=0o700)
        shutil.copyfile(library, self.database)
        self._new_id = counting()
        self.is_new = False
        """Whether its first run is to be as the first run of a person: with the greeting and the tour."""

    def settings(self, **chosen: Any) -> Settings:
        """Settings of this machine."""
        at = self.folder
        settings = Settings(
            at / "config", data_folder=at / "data", state_folder=at / "state", cache_folder=at / "cache"
        )
        return replace(settings, **chosen)

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Platform]:
        """The platform on this machine's library, as one process has it."""
        store = Store(self.database)
        platform = Platform(World(store, now=self.clock, new_id=self._new_id))
        try:
            yield platform
        finally:
            platform.close()
            store.close()

    @asynccontextmanager
    async def play(
        self,
        person: str = MARA,
        *,
        size: tuple[int, int] = (120, 36),
        start: str = "content",
        change: Callable[[Platform], None] | None = None,
        shut: bool = False,
        over: Callable[[Platform], AbstractAsyncContextManager[str]] | None = None,
        deadline: float = 30.0,
        in_order: bool = False,
        every_frame: bool = False,
        read_only: str = "",
        behind: Callable[[Application], Application] = lambda platform: platform,
        where: str = "",
        longest: float = LONGEST,
        **chosen: Any,
    ) -> AsyncIterator[Run]:
        """Open the app as `person`, at rest on its first screen. `change` may touch the platform before that.

        `shut`: no request gets through until the gate is opened. `over` serves the platform on a port and says at
        which origin; otherwise it is asked in this process. `deadline`: seconds an answer may take.
        `read_only`: why nothing is sent that changes anything. `behind`: what stands between the client and the platform.
        `longest`: seconds the app may take to come to rest on its first screen.
        `where`: the person who was signed in before, where nobody knew that it is another now.
        `every_frame`: it is drawn as often as for a terminal, also while it is busy.
        `in_order`: what was asked in one moment of the clock is told by its name, not as the answers came.
        """
        settings = self.settings(**chosen)
        async with self.library() as platform:
            if change is not None:
                change(platform)
            platform.world.store.add_key(f"key-of-{person}", person)
            async with over(platform) if over is not None else nullcontext("") as origin:
                session, gate = self._session(
                    settings, person, origin, behind(platform), deadline, in_order, read_only, where or person
                )
                if shut:
                    gate.shut()
                with nullcontext() if every_frame else painting.only_at_rest():
                    async with self.show(
                        settings, session, platform, gate, size=size, start=start, longest=longest
                    ) as run:
                        yield run

    @asynccontextmanager
    async def show(
        self,
        settings: Settings,
        session: Session | None,
        platform: Platform,
        gate: Gate | None = None,
        *,
        size: tuple[int, int] = (120, 36),
        start: str = "content",
        origin: str = "https://api.example.com",
        longest: float = LONGEST,
        ways: SignInMethods | None = None,
    ) -> AsyncIterator[Run]:
        """Open the app with a session, or without one; `ways` in are those of `origin` unless they are given."""
        app = Octavo(settings, ways or sessions.Ways(settings, origin), session, start=start, check_interval=None)
        app.notices = NoticeBoard(self.clock.seconds)
        short_texts.clock = self.clock
        async with app.run_test(size=size) as pilot:
            run = Run(app, pilot, gate, platform, self.clock)
            if session is not None and not run.is_held_back:
                known = app.workspace
                await run.until(
                    lambda: bool(known.organizations.value or known.organizations.error),
                    "hear anything",
                    longest=longest,
                )
            await run.settle(longest)
            yield run
            if app.is_running:
                await app.action_quit()  # as people do: what works with the session ends before it

    def _session(
        self,
        settings: Settings,
        person: str,
        origin: str,
        platform: Application,
        deadline: float,
        in_order: bool,
        read_only: str,
        where: str,
    ) -> tuple[Session, Gate]:
        """What the composition root builds for the demo, or for a server at `origin`, with our clock and a gate."""
        client = Client(
            origin or "http://octavo.local",
            SecretStr(f"key-of-{person}"),
            transport=None if origin else platform,
            deadline=deadline,
            now=self.clock,
            sleep=_at_once,
            read_only=read_only,
        )
        gate = Gate(client, self.clock)
        namespace = f"demo {where}"
        state = StateDb(settings.state_folder, namespace, now=self.clock)
        if not self.is_new:
            state.set_fact("greeted", True)
            state.set_fact("tour", len(STEPS))
        shelf = ResponseCache(settings.cache_folder, namespace, now=self.clock)
        index = SearchIndex(settings.cache_folder, namespace, read_cached=shelf.responses_after, now=self.clock)
        drafts = Drafts(state)
        outbox = Outbox(
            gate, state, drafts, undo_seconds=settings.undo_seconds, arrival_margin=0.0, read_only=read_only
        )
        live = Live(gate, shelf, outbox, index=index, now=self.clock)
        offline = OfflineSpaces(live, state)

        async def close() -> None:
            await offline.close()
            await client.aclose()
            index.close()
            shelf.close()
            state.close()

        session = Session(
            live=live,
            outbox=outbox,
            drafts=drafts,
            state=state,
            kind="demo",
            label="DEMO",
            read_only=read_only,
            activity=lambda: (
                replace(each, ms=7.0)
                for each in _newest_first(sorted(client.activity, key=_name) if in_order else tuple(client.activity))
            ),
            response_wait=lambda: gate.waited,
            throttle_seconds=lambda: client.low,
            download=client.download,
            upload=client.upload,
            close=close,
            offline=offline,
            proposed=ProposedNotes(state, outbox),
            on_first_paint=offline.begin,
            search_index=index,
        )
        return session, gate
