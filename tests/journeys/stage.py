"""The complete app with the demo library: real client, platform, files and screens, and a clock that only the test
moves."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections import Counter
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
from textual.screen import ModalScreen

from octavo.api.activity import Activity
from octavo.api.operation import Operation
from octavo.cli import sessions
from octavo.client.client import Client
from octavo.client.responses import Application
from octavo.data.access import Send
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.server.demo.library import TODAY
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from octavo.settings import Settings
from octavo.tui.app import octavo as octavo_module
from octavo.tui.app.octavo import Octavo
from octavo.tui.core.session import Session, SignInMethods
from octavo.tui.core.workspace import STEPS
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.terminal.textual_internals import painted_rows
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.notices import NoticeBoard
from tests import speedups
from tests.data.background_requests import is_busy
from tests.journeys.request_log import log
from tests.server.refusing_platform import Platform
from tests.server.small_platform import counting

T = TypeVar("T")
Op = TypeVar("Op", bound=Operation[Any])

MARA = "mara-lindqvist"
"""A user who may review and merge in all spaces, except that she may only review in the Limpet manual."""
CONNECTED = re.compile(r"● (updated )?\d+\w+ ago")
"""The age of the data in the top bar, with or without the word “updated”."""
MAX_WAIT_SECONDS = 120.0
"""Number of seconds after which a wait fails. The value is large enough for a busy machine."""


@dataclass
class Clock:
    """A clock that stands still until the test moves it."""

    moment: datetime = TODAY

    def __call__(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def forward(self, **by: float) -> None:
        """Move forward by `days`, `hours`, `minutes` or `seconds`."""
        self.moment += timedelta(**by)


class Gate:
    """A gate between the app and its client. While the gate is shut for a kind of request, such requests wait."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self._clock = send, clock
        self._since: dict[object, float] = {}
        """Start times of the requests that have no response yet."""
        self._shut: dict[type[Operation[Any]], asyncio.Event] = {}
        self._shut_for_all: asyncio.Event | None = None
        self.passed: list[Operation[Any]] = []
        """Requests that were sent, in order."""
        self.under_way = 0
        """Number of sent requests that have no response yet."""
        self.waiting = 0

    @property
    def waited(self) -> float:
        """Return the age in seconds of the oldest request that has no response yet."""
        return max((self._clock.seconds() - each for each in self._since.values()), default=0.0)

    async def __call__(self, op: Operation[T]) -> T:
        request = object()
        self._since[request] = self._clock.seconds()
        try:
            return await self._pass(op)
        finally:
            del self._since[request]

    async def _pass(self, op: Operation[T]) -> T:
        while (shut := self._shut_for_all or self._shut.get(type(op))) is not None:
            self.waiting += 1
            try:
                await shut.wait()
            finally:
                self.waiting -= 1
        self.passed.append(op)
        log.sent(op)
        self.under_way += 1
        try:
            return await self._send(op)
        finally:
            self.under_way -= 1

    def shut(self, kind: type[Operation[Any]] | None = None) -> None:
        """Let requests of this kind wait until the gate opens. Without a kind, let all requests wait."""
        if kind is None:
            self._shut_for_all = asyncio.Event()
        else:
            self._shut[kind] = asyncio.Event()

    @property
    def is_shut(self) -> bool:
        """Return whether all requests wait."""
        return self._shut_for_all is not None

    def open(self, *but: type[Operation[Any]]) -> None:
        """Send the waiting requests, and let later requests pass, except requests of these kinds."""
        opened = [*self._shut.values(), *([self._shut_for_all] if self._shut_for_all else ())]
        self._shut = {kind: asyncio.Event() for kind in but}
        self._shut_for_all = None
        for shut in opened:
            shut.set()

    def sent(self, kind: type[Op]) -> list[Op]:
        """Return the sent requests of a kind."""
        return [op for op in self.passed if type(op) is kind]


class JourneyApp(Octavo):
    """The app, which also logs each command that runs."""

    CSS_PATH = str(Path(octavo_module.__file__).with_name("app.tcss"))

    def before_command(self, id: str) -> None:
        log.command_ran(id, isinstance(self.screen, ModalScreen), self.session.outbox if self.has_session else None)
        super().before_command(id)


class Run:
    """A run of the app: actions of the user, and what the screen shows."""

    def __init__(self, app: Octavo, pilot: Pilot[int], gate: Gate | None, platform: Platform, clock: Clock) -> None:
        self.app, self.pilot, self.platform, self.clock = app, pilot, platform, clock
        self._gate = gate

    @property
    def gate(self) -> Gate:
        assert self._gate is not None, "this run has its own client, so it has no gate"
        return self._gate

    @property
    def lines(self) -> list[str]:
        """Return the lines of the terminal without trailing spaces. No-break spaces become spaces."""
        return [strip.text.replace("\N{NO-BREAK SPACE}", " ").rstrip() for strip in painted_rows(self.app.screen)]

    @property
    def text(self) -> str:
        """Return the complete text of the terminal."""
        return "\n".join(self.lines).rstrip() + "\n"

    @property
    def keybar(self) -> str:
        """Return the key bar, which is the last line of the terminal."""
        return self.lines[-1]

    @property
    def said(self) -> list[str]:
        """Return the texts of all visible notifications, the oldest first."""
        return [notice.text for notice in self.app.notices.shown()] + [each.message for each in self.app._notifications]

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, and wait until the app is idle. While Octavo ignores typing after a key
        without effect, wait first, as a user does who reads the notification."""
        while self.app.typed_text.is_ignored:
            await self.pilot.pause(0.004)
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, words: str) -> None:
        """Paste a text, and wait until the app is idle."""
        self.app.screen.post_message(events.Paste(words))
        await self.settle()

    def send_click(self, x: int, y: int) -> None:
        """Click without waiting."""
        for kind in (events.MouseDown, events.MouseUp):
            self.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))

    def send_wheel(self, x: int, y: int, kind: Callable[..., events.MouseEvent] = events.MouseScrollDown) -> None:
        """Turn the mouse wheel without waiting."""
        self.app.post_message(kind(None, x, y, 0, 0, 0, False, False, False, x, y))

    def send_key(self, key: str) -> None:
        """Press a key without waiting."""
        self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    def send_size(self, width: int, height: int) -> None:
        """Resize the terminal without waiting."""
        driver, size = self.app._driver, Size(width, height)
        assert driver is not None
        driver._size = size
        self.app.post_message(events.Resize(size, size))

    @property
    def is_held_back(self) -> bool:
        """Return whether the gate lets all requests wait."""
        return self._gate is not None and self._gate.is_shut

    async def settle(self, longest: float = MAX_WAIT_SECONDS) -> None:
        """Wait until the app is idle, apart from requests that wait at the gate. Raises TimeoutError after `longest`
        seconds."""
        quiet, seen = 0, Counter[str]()
        try:
            async with asyncio.timeout(longest):
                while quiet < 3:
                    if work := self._describe_work():
                        quiet = 0
                        await asyncio.sleep(0.004)
                    else:
                        await self.pilot.pause(0.004)
                        # Painting may cause requests, because visible rows load their data.
                        speedups.paint(self.app.screen)
                        work = self._describe_work() or self._describe_reading()
                        quiet = 0 if work else quiet + 1
                    seen[work or "messages"] += 1
        except TimeoutError as error:
            raise TimeoutError(f"Not at rest after {longest:g} s: {seen.most_common(4)}") from error

    def _describe_work(self) -> str:
        """Return a description of the work that the app still does. Empty if the app is idle."""
        if not self.app.has_session:
            return f"tasks {self.app.tasks}" if self.app.tasks else ""
        session, gate, loader = self.app.session, self._gate, self.app.workspace.inbox.loader
        if gate is not None and gate.under_way:
            return "requests"
        if gate is not None and gate.waiting:
            return ""
        if self.app.tasks or is_busy(session.live):
            return f"tasks {self.app.tasks} {session.live.syncer.queue.requests}"
        if loader is not None and not loader.is_idle:
            return "the inbox"
        if workers := [worker for worker in self.app.workers if not worker.is_finished]:
            return f"workers {workers}"
        outbox = session.outbox
        return "the outbox" if any(outbox._is_sending_or_due(entry) for entry in outbox.entries) else ""

    def _describe_reading(self) -> str:
        """Return a description of the visible pages and diffs that are still parsed or laid out. Empty if there are
        none."""
        reading = [
            view
            for view in self.app.screen.query(Reader)
            if view.size
            and (
                view.viewport.background.is_busy
                or (isinstance(view, PageView) and view.loader.is_loading)
                or (isinstance(view, DiffView) and view.contents.is_building)
            )
        ]
        return f"pages {reading}" if reading else ""

    async def see_connected(self) -> None:
        """Wait until the top bar shows the age of the data."""
        await self.until(lambda: CONNECTED.search(self.lines[0]) is not None, "show the age of the data in the top bar")

    async def see(self, *words: str) -> None:
        """Wait until each of `words` is on the screen."""
        await self.until(lambda: self._texts_on_screen(words) == set(words), f"see {', '.join(words)}")

    async def gone(self, *words: str) -> None:
        """Wait until none of `words` is on the screen."""
        await self.until(lambda: not self._texts_on_screen(words), f"hide {', '.join(words)}")

    def _texts_on_screen(self, words: Sequence[str]) -> set[str]:
        """Return the texts of `words` that are on the screen. Renders the screen once for all texts."""
        text = self.text
        return {each for each in words if each in text}

    async def hear(self, *words: str) -> None:
        """Wait until each of `words` is in a notification."""
        await self.until(
            lambda: all(any(each in said for said in self.said) for each in words), f"show a notification with {words}"
        )

    async def until(self, holds: Callable[[], bool], what: str = "", *, longest: float = MAX_WAIT_SECONDS) -> None:
        """Wait until `holds` returns True, and then until the app is idle. Fails after `longest` seconds."""
        is_reached = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while not (is_reached := holds()):
                    await self.pilot.pause(0.015)
        assert is_reached, f"Did not {what or 'reach the expected state'}. Notices: {self.said}\n{self.text}"
        await self.settle(longest)

    def accept(self) -> None:
        """Cancel the refusals that `refuse_next` of the platform prepared."""
        self.platform._refusals.clear()

    async def later(self, **by: float) -> None:
        """Move the clock forward. Six seconds are longer than the undo delay."""
        self.clock.forward(**by)
        self.app.session.outbox.resume()
        for tell in tuple(self.app.notices.listeners):
            tell()
        await self.settle()

    async def sent(self) -> None:
        """Move the clock past the undo delay, and wait until all writes are sent."""
        await self.later(seconds=self.app.settings.undo_seconds + 1)
        await self.until(
            lambda: not self.app.session.outbox.entries, f"send everything: {self.app.session.outbox.entries}"
        )

    async def ask(self, op: Operation[T], person: str) -> T:
        """Send a request as another user, and return the response."""
        self.platform.context.store.add_key(f"key-of-{person}", person)
        client = Client("http://octavo.local", SecretStr(f"key-of-{person}"), transport=self.platform)
        answer = await client(op)
        await client.aclose()
        return answer

    async def quit(self) -> None:
        """Quit with ctrl+q."""
        await self.pilot.press("ctrl+q")
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while self.app.return_value is None:
                await self.pilot.pause(0.004)


def _activity_order(request: Activity) -> tuple[datetime, str, str]:
    return request.moment, request.method, request.route


async def _skip_wait(seconds: float) -> None:
    """Return immediately, so that retries take no time."""


def _newest_first(requests: Sequence[Activity]) -> Iterator[Activity]:
    """Yield the last request, then the others by time and route, because simultaneous responses arrive in random
    order."""
    yield from requests[-1:]
    yield from sorted(requests[-2::-1], key=lambda each: (each.moment, each.route), reverse=True)


class Stage:
    """The folders of a computer with a copy of the demo library, and the clock of the computer."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.database = folder / "data" / "demo" / "platform.db"
        self.database.parent.mkdir(parents=True, mode=0o700)
        shutil.copyfile(library, self.database)
        self._new_id = counting()
        self.is_new = False
        """True to show the greeting and the tour, as in a first run."""

    def settings(self, **chosen: Any) -> Settings:
        """Return the settings of the computer. `chosen` replaces some values."""
        at = self.folder
        settings = Settings(
            at / "config", data_folder=at / "data", state_folder=at / "state", cache_folder=at / "cache"
        )
        return replace(settings, **chosen)

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Platform]:
        """Open the platform on the library."""
        store = Store(self.database)
        platform = Platform(RequestContext(store, now=self.clock, new_id=self._new_id))
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
        longest: float = MAX_WAIT_SECONDS,
        **chosen: Any,
    ) -> AsyncIterator[Run]:
        """Open the app as `person`, and wait until the first screen is idle.

        `change`: function that is called with the platform before the app opens.
        `shut`: all requests wait until the test opens the gate.
        `over`: context manager that serves the platform and yields the origin. By default, the client calls the
        platform in this process.
        `deadline`: seconds until a request times out.
        `in_order`: the activity lists simultaneous requests by name and not by response time.
        `every_frame`: paint as often as in a terminal. By default, only an idle app is painted.
        `read_only`: the reason why the session is read-only.
        `behind`: function that wraps the platform, for example to delay responses.
        `where`: the account whose data is on disk, if the account differs from that of `person`.
        `longest`: seconds until a wait for the first screen fails."""
        settings = self.settings(**chosen)
        async with self.library() as platform:
            if change is not None:
                change(platform)
            platform.context.store.add_key(f"key-of-{person}", person)
            async with over(platform) if over is not None else nullcontext("") as origin:
                session, gate = self._session(
                    settings, person, origin, behind(platform), deadline, in_order, read_only, where or person
                )
                if shut:
                    gate.shut()
                with nullcontext() if every_frame else speedups.painting_delayed():
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
        longest: float = MAX_WAIT_SECONDS,
        sign_in_methods: SignInMethods | None = None,
    ) -> AsyncIterator[Run]:
        """Open the app with or without a session. `sign_in_methods` are by default those for `origin`."""
        app = JourneyApp(
            settings,
            sign_in_methods or sessions.sign_in_methods(settings, origin),
            session,
            start=start,
            check_interval=None,
        )
        app.notices = NoticeBoard(self.clock.seconds)
        short_texts.clock = self.clock
        async with app.run_test(size=size) as pilot:
            run = Run(app, pilot, gate, platform, self.clock)
            if session is not None and not run.is_held_back:
                known = app.workspace
                await run.until(
                    lambda: bool(known.organizations.value or known.organizations.error),
                    "load the organizations",
                    longest=longest,
                )
            await run.settle(longest)
            yield run
            if app.is_running:
                await app.action_quit()  # Background work ends before the session closes, as for a user.

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
        """Return a session as the command line creates it, and the gate of the session."""
        client = Client(
            origin or "http://octavo.local",
            SecretStr(f"key-of-{person}"),
            transport=None if origin else platform,
            deadline=deadline,
            now=self.clock,
            sleep=_skip_wait,
            read_only_reason=read_only,
        )
        gate = Gate(client, self.clock)
        namespace = f"demo {where}"
        state = StateDb(settings.state_folder, namespace, now=self.clock)
        if not self.is_new:
            state.set_value("greeted", True)
            state.set_value("tour", len(STEPS))
        shelf = ResponseCache(settings.cache_folder, namespace, now=self.clock)
        index = SearchIndex(settings.cache_folder, namespace, read_cached=shelf.responses_after, now=self.clock)
        drafts = Drafts(state)
        outbox = Outbox(
            gate, state, drafts, undo_seconds=settings.undo_seconds, arrival_margin=0.0, read_only_reason=read_only
        )
        live = Live(gate, shelf, outbox, index=index, now=self.clock)
        offline = OfflineSpaces(live, state)

        session = Session(
            live=live,
            outbox=outbox,
            drafts=drafts,
            state=state,
            kind="demo",
            label="DEMO",
            read_only_reason=read_only,
            latest_requests=lambda: (
                replace(each, ms=7.0)
                for each in _newest_first(
                    sorted(client.activity, key=_activity_order) if in_order else tuple(client.activity)
                )
            ),
            response_wait=lambda: gate.waited,
            download=client.download,
            upload=client.upload,
            close_client=client.aclose,
            offline=offline,
            on_first_paint=offline.begin,
            search_index=index,
        )
        return session, gate
