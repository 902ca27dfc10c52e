"""Sessions for the demo, a folder and a server, and the ways to open them from the sign-in screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import SecretStr

from octavo.api.activity import Activity
from octavo.api.errors import NotSent, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.cli import platforms
from octavo.cli.arguments import tell_left_out
from octavo.cli.cast import CAST, DEFAULT
from octavo.cli.platforms import Late, Place
from octavo.client.origin import host_of, is_loopback, triple
from octavo.data.drafts import Drafts
from octavo.data.entry import Entry
from octavo.data.index import Index
from octavo.data.live import Live
from octavo.data.offline import Offline
from octavo.data.outbox import Outbox
from octavo.data.pending import Pending
from octavo.data.pictures import Pictures
from octavo.data.response_cache import ResponseCache
from octavo.data.state import WRITES, State
from octavo.first_picture import FirstPicture
from octavo.settings import Settings
from octavo.tui.shell.session import Acting, Session, SignedIn

if TYPE_CHECKING:
    from octavo.client.client import Client
    from octavo.client.profiles import Access

T = TypeVar("T")

SETTLE_AT_HOME, SETTLE_ELSEWHERE = 2.0, 30.0
"""Seconds after which a request has taken effect, if at all: on a platform of this machine, and on any other server."""


class LateClient:
    """A client that is created at the first request, after the first screen is painted.

    The client needs imports that the first screen does not need, and a keyring may take seconds to respond.
    """

    def __init__(
        self,
        origin: str,
        key: Callable[[], SecretStr | None],
        *,
        ca_file: Path | None = None,
        platform: Late | None = None,
        read_only: str = "",
        learn: Callable[[str], None] | None = None,
    ) -> None:
        """`platform` replaces the server at `origin`. `read_only` is the message for a refused write, empty to allow writes.

        `learn` gets the id of the signed-in user after each response that contains it, in a thread.
        """
        self.read_only = read_only
        self._learn = learn
        self._origin, self._key, self._ca_file, self._platform = origin, key, ca_file, platform
        self._client: Client | None = None
        self._lock = asyncio.Lock()
        self._open = asyncio.Event()

    def open(self) -> None:
        """Allow requests."""
        self._open.set()

    async def __call__(self, op: Operation[T]) -> T:
        await self._open.wait()
        answer = await (await self.client())(op)
        if self._learn is not None:
            from octavo.api.users import User
            from octavo.client.threads import aside

            learn, who = self._learn, SPECS[type(op)].name == "users.Me" and answer
            if isinstance(who, User):
                await aside(lambda: learn(who.id))
        return answer

    async def download(self, url: str, most: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes at a URL from a response, as they arrive."""
        await self._open.wait()
        async with aclosing((await self.client()).download(url, most)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def upload(self, url: str, content: AsyncIterable[bytes], size: int, kind: str) -> None:
        """Send a file to a URL from a response."""
        await self._open.wait()
        await (await self.client()).upload(url, content, size, kind)

    async def client(self) -> Client:
        """Return the client. Raises Unauthorized if there is no API key, NotSent if the keyring does not give it."""
        from octavo.client.client import Client
        from octavo.client.credentials import StoreUnavailable
        from octavo.client.threads import aside

        async with self._lock:
            if self._client is None:
                try:
                    key = await aside(self._key)
                except StoreUnavailable as error:
                    raise NotSent(str(error)) from error
                if key is None:
                    raise Unauthorized("You are not signed in. Run octavo auth login.")
                self._client = Client(
                    self._origin,
                    key,
                    ca_file=self._ca_file,
                    transport=self._platform,
                    read_only=self.read_only,
                )
            return self._client

    @property
    def activity(self) -> tuple[Activity, ...]:
        return tuple(self._client.activity) if self._client else ()

    @property
    def low(self) -> float:
        return self._client.low if self._client else 0.0

    @property
    def waited(self) -> float:
        return self._client.waited if self._client else 0.0

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
        if self._platform is not None:
            self._platform.close()


def embedded(
    settings: Settings,
    place: Place,
    late: Late,
    *,
    kind: Literal["demo", "folder"],
    label: str,
    namespace: str,
    read_only: str = "",
) -> Session:
    """Return a session on a platform in this process."""
    key = place.key()
    client = LateClient(platforms.ORIGIN, lambda: key, platform=late, read_only=read_only)
    return _session(settings, client, namespace, kind=kind, label=label, settle=SETTLE_AT_HOME)


def demo(
    settings: Settings,
    *,
    reset: bool = False,
    latency: float = 0.0,
    fail: float = 0.0,
    large: bool = False,
    role: str = "",
    read_only: str = "",
) -> Session:
    """Return a session on the demo, as the person with a `role` (`cli/cast.py`).

    Raises OSError if the data cannot be stored, ValueError if another Octavo prevents the `reset`.
    """
    place = platforms.demo_place(settings, large=large, role=role)
    if reset:
        _reset(settings, place, large=large)
    let_go = place.hold()
    if large and not platforms.is_built(place):
        # Built before the first screen: in the background it would delay the keys, and take twice as long.
        tell_left_out(["Preparing the large demo. This takes about half a minute, only the first time."])
        made = platforms.build_demo(place, large=True)
        made.close()
        made.world.store.close()
    late = Late(lambda: platforms.build_demo(place, large=large), latency=latency, fail=fail, on_close=let_go)
    session = embedded(
        settings,
        place,
        late,
        kind="demo",
        label=f"DEMO as {place.role}" if place.role else "DEMO",
        namespace=place.namespace,
        read_only=read_only,
    )
    again = partial(demo, settings, latency=latency, fail=fail, large=large, read_only=read_only)
    return replace(session, acting=Acting(tuple(CAST), place.role or DEFAULT, lambda role: again(role=role)))


def _reset(settings: Settings, place: Place, *, large: bool) -> None:
    """Delete all changes in the demo. Raises ValueError while another Octavo has the demo open, OSError."""
    let_others = place.hold_alone()
    if let_others is None:
        raise ValueError(
            "Could not reset the demo: another Octavo has it open. Quit that Octavo, then run octavo demo --reset again."
        )
    try:
        place.clear()
        for each in CAST:
            forget(settings, platforms.demo_place(settings, large=large, role=each).namespace)
    finally:
        let_others()


def folder(settings: Settings, path: Path, left_out: list[str] | None = None, *, read_only: str = "") -> Session:
    """Return a session on a folder of Markdown files. Raises ValueError with a message if it is not a folder.

    `left_out` gets a sentence for each file that was not loaded completely, once the folder is loaded.
    """
    if not path.is_dir():
        raise ValueError(f"Could not open {path}: it is not a folder. Use a folder with Markdown files.")
    place = platforms.folder_place(settings, path)
    told = [] if left_out is None else left_out
    late = Late(lambda: platforms.build_folder(place, path, person(), told))

    async def ask() -> Sequence[str]:
        with suppress(OSError):  # every request reports it
            await late.platform()
        return told

    label = path.resolve().name or str(path)
    session = embedded(
        settings, place, late, kind="folder", label=label, namespace=f"folder {place.folder}", read_only=read_only
    )
    return replace(session, left_out=ask)


def server(settings: Settings, access: Access, key: Callable[[], SecretStr | None], *, read_only: str = "") -> Session:
    """Return a session for an account on a server."""
    from octavo.client.accounts import Accounts  # lazy: not needed by the demo

    accounts, origin = Accounts(settings.state_folder), access.origin
    client = LateClient(
        origin,
        key,
        ca_file=settings.ca_file,
        read_only=read_only,
        learn=partial(accounts.learn, access) if access.key is not None else None,
    )
    host, namespace = host_of(origin), accounts.name_of(access)
    return _session(
        settings,
        client,
        namespace,
        kind="server",
        label=f"{access.name}@{host}" if access.name != host else host,
        settle=settle_at(origin),
        left=accounts.left_by(namespace),
    )


def settle_at(origin: str) -> float:
    """Return the seconds after which a request to a server has taken effect, if at all."""
    _, host, _ = triple(origin)
    return SETTLE_AT_HOME if is_loopback(host) else SETTLE_ELSEWHERE


@dataclass(frozen=True)
class Kept:
    """Counts of the local data that remains after signing out."""

    drafts: int
    going_out: int
    """Queued changes that are sent after the next sign-in."""
    asked_about: int
    """Queued changes that need your decision."""


def sign_out(settings: Settings, namespace: str, *others: str, drafts: bool) -> Kept:
    """Delete the cached data of an account, and with `drafts` also the unsent drafts, but not the queued changes.
    `others` are more names under which its changes are stored. Raises NotSaved."""
    _forget_answers(settings, namespace)
    left = 0
    waiting: list[Entry] = []
    for name in (namespace, *others):
        state = State(settings.state_folder, name)
        try:
            waiting += (pending := Pending(state, state.now).entries)
            if drafts:
                state.forget(but=WRITES if pending else ())
            left += len(Drafts(state).all())
        finally:
            state.close()
    asked_about = [each for each in waiting if each.asks or each.state == "gathered"]
    refused = [each for each in waiting if each.state == "failed" and not each.asks]
    return Kept(left, len(waiting) - len(asked_about) - len(refused), len(asked_about))


def forget(settings: Settings, namespace: str) -> None:
    """Delete all local data that is stored under a name. Raises NotSaved."""
    _forget_answers(settings, namespace)
    state = State(settings.state_folder, namespace)
    try:
        state.forget()
    finally:
        state.close()


def _forget_answers(settings: Settings, namespace: str) -> None:
    shelf = ResponseCache(settings.cache_folder, namespace)
    shelf.forget()
    shelf.close()
    Index(settings.cache_folder, namespace).forget()
    Pictures(settings.cache_folder, namespace).forget()
    FirstPicture(settings.cache_folder, namespace, "").forget()


@dataclass(frozen=True)
class Ways:
    """The ways to open a session from the sign-in screen."""

    settings: Settings
    origin: str
    environ: Mapping[str, str]
    greeting: str = ""
    read_only: str = ""
    """Message for a refused write. Empty if writes are allowed."""

    @property
    def host(self) -> str:
        return host_of(self.origin)

    async def keeping(self) -> str:
        from octavo.client import signing_in
        from octavo.client.credentials import StoreTimeout, StoreUnavailable
        from octavo.client.threads import aside

        home = signing_in.Home.of(self.settings.config_folder, self.settings.data_folder)
        try:
            return f"It is kept in the keyring of this system ({await aside(home.keyring.title)})"
        except StoreTimeout:
            return "It is kept in the keyring of this system, once that is unlocked"
        except StoreUnavailable as error:
            return f"{str(error).removesuffix('.')}, so it is kept for this session only"

    async def sign_in(self, key: str) -> SignedIn:
        from octavo.client import signing_in
        from octavo.client.credentials import StoreUnavailable
        from octavo.client.keys import accept
        from octavo.client.profiles import Access

        secret = accept(key)
        home = signing_in.Home.of(self.settings.config_folder, self.settings.data_folder)
        try:
            signed = await signing_in.login(home, self.origin, secret)
        except (StoreUnavailable, OSError) as error:
            raise ValueError(str(error)) from error
        facts = [("ok", each) for each in signed.identity.facts]
        facts += [("care", each) for each in signed.identity.missing]
        if signed.notice:
            facts.append(("care", f"The key is kept for this session only. {signed.notice}"))
        read_only = self.read_only or signed.profile.why_read_only
        access = Access(self.origin, signed.profile, signed.profile.store)
        session = server(self.settings, access, lambda: secret, read_only=read_only)
        return SignedIn(session, tuple(facts))  # type: ignore[arg-type]  # each is ok or care

    async def demo(self) -> Session:
        from octavo.client.threads import aside

        return await aside(lambda: demo(self.settings, read_only=self.read_only))

    async def folder(self, path: str) -> Session:
        from octavo.client.threads import aside

        return await aside(lambda: folder(self.settings, Path(path).expanduser(), read_only=self.read_only))


def _session(
    settings: Settings,
    client: LateClient,
    namespace: str,
    *,
    kind: Literal["demo", "folder", "server"],
    label: str,
    settle: float,
    left: Sequence[str] = (),
) -> Session:
    """Build a session. `left` are other names under which changes and drafts of the same account are stored."""
    state = State(settings.state_folder, namespace)
    for name in left:
        state.take_in(name)
    shelf = ResponseCache(settings.cache_folder, namespace)
    index = Index(settings.cache_folder, namespace, kept=shelf.kept)
    drafts = Drafts(state)
    outbox = Outbox(
        client, state, drafts, undo_seconds=settings.undo_seconds, settle=settle, read_only=client.read_only
    )
    live = Live(client, shelf, outbox, index=index)
    offline = Offline(live, state, low=lambda: client.low)

    def open_() -> None:
        client.open()
        offline.begin()

    async def close() -> None:
        await offline.close()
        await client.aclose()
        index.close()
        shelf.close()
        state.close()

    return Session(
        live=live,
        outbox=outbox,
        drafts=drafts,
        state=state,
        kind=kind,
        label=label,
        read_only=client.read_only,
        activity=lambda: reversed(client.activity),
        waited=lambda: client.waited,
        low=lambda: client.low,
        download=client.download,
        upload=client.upload,
        close=close,
        index=index,
        pictures=Pictures(settings.cache_folder, namespace),
        offline=offline,
        open=open_,
    )


def person() -> str:
    """Return the login name of the user."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "Me")
