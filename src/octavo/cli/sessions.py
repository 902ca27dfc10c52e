"""What connects the rooms: sessions for the demo, for a folder and for a server, and the ways in."""

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
"""Seconds after which a platform of this process or machine, and any other, has acted on a request, if it ever does."""


class LateClient:
    """A client made when the first request is, which is not before the first screen is painted.

    Making it takes imports the first screen can do without, and a keyring may take seconds to answer.
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
        """`platform` answers instead of the server at `origin`. `read_only` says why nothing is sent but reads.

        `learn` gets the id of the user whose key it is, whenever the server said so, in a thread.
        """
        self.read_only = read_only
        self._learn = learn
        self._origin, self._key, self._ca_file, self._platform = origin, key, ca_file, platform
        self._client: Client | None = None
        self._lock = asyncio.Lock()
        self._open = asyncio.Event()

    def open(self) -> None:
        """Let requests through from now on."""
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
        """The bytes at an address that an answer named, as they come."""
        await self._open.wait()
        async with aclosing((await self.client()).download(url, most)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def upload(self, url: str, content: AsyncIterable[bytes], size: int, kind: str) -> None:
        """Put a file to an address that an answer named."""
        await self._open.wait()
        await (await self.client()).upload(url, content, size, kind)

    async def client(self) -> Client:
        """The client, with its key. Raises Unauthorized when there is none, NotSent when it cannot be had."""
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
                    raise Unauthorized("Nobody is signed in here. Sign in with: octavo auth login")
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
    """A session on a platform of this process."""
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
    """The demo library, as the person of a `role` (`cli/cast.py`).

    Raises OSError when it cannot be kept, ValueError when it may not be `reset`.
    """
    place = platforms.demo_place(settings, large=large, role=role)
    if reset:
        _reset(settings, place, large=large)
    let_go = place.hold()
    if large and not platforms.is_built(place):
        # Behind the first screen it would take the keys of that screen their turn, and half a minute twice.
        tell_left_out(["making the large demo library. This takes about half a minute, once."])
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
    """Forget all that was done in the demo. Raises ValueError while another Octavo has it open, OSError."""
    let_others = place.hold_alone()
    if let_others is None:
        raise ValueError(
            "could not reset the demo: another Octavo has it open. Quit that Octavo, then run octavo demo --reset again."
        )
    try:
        place.clear()
        for each in CAST:
            forget(settings, platforms.demo_place(settings, large=large, role=each).namespace)
    finally:
        let_others()


def folder(settings: Settings, path: Path, left_out: list[str] | None = None, *, read_only: str = "") -> Session:
    """A folder of pages. Raises ValueError with a sentence when it is none.

    `left_out` gets what could not be loaded as it is, once that is known.
    """
    if not path.is_dir():
        raise ValueError(f"{path} is not a folder. Name a folder that holds markdown pages.")
    place = platforms.folder_place(settings, path)
    told = [] if left_out is None else left_out
    late = Late(lambda: platforms.build_folder(place, path, person(), told))

    async def ask() -> Sequence[str]:
        with suppress(OSError):  # which every request says
            await late.platform()
        return told

    label = path.resolve().name or str(path)
    session = embedded(
        settings, place, late, kind="folder", label=label, namespace=f"folder {place.folder}", read_only=read_only
    )
    return replace(session, left_out=ask)


def server(settings: Settings, access: Access, key: Callable[[], SecretStr | None], *, read_only: str = "") -> Session:
    """An account on a server."""
    from octavo.client.accounts import Accounts  # the demo has no use for it

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
    """Seconds after which a server has acted on a request, if it ever does."""
    _, host, _ = triple(origin)
    return SETTLE_AT_HOME if is_loopback(host) else SETTLE_ELSEWHERE


@dataclass(frozen=True)
class Kept:
    """What stays here of an account that was signed out."""

    drafts: int
    going_out: int
    """Writes that go out when it is signed in again."""
    asked_about: int
    """Writes that wait for what the person decides."""


def sign_out(settings: Settings, namespace: str, *others: str, drafts: bool) -> Kept:
    """Throw away the answers kept for an account, and with `drafts` what was typed there too, but for writes that are not
    done. `others`: the names under which more of its writes are filed. Raises NotSaved."""
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
    """Throw away all that is kept under a name, whatever it is. Raises NotSaved."""
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
    """The ways in, as the sign-in screen has them."""

    settings: Settings
    origin: str
    environ: Mapping[str, str]
    greeting: str = ""
    read_only: str = ""
    """Why nothing is sent that changes anything, in a sentence. Empty: it is."""

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
    """`left`: other names under which writes and drafts of the same account were filed."""
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
    """What to call the person at this machine."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "Me")
