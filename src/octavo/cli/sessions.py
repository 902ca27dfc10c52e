"""Sessions for the demo, a folder and a server, and the ways to open them from the sign-in screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import SecretStr

from octavo.api.activity import KEY, Activity
from octavo.api.errors import ApiError, LocalFailure, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.cli import platforms
from octavo.cli.arguments import tell
from octavo.cli.cast import CAST, DEFAULT
from octavo.cli.open_folder import OpenFolder
from octavo.cli.platforms import Late, Place
from octavo.client.origin import host_of, is_loopback, triple
from octavo.data.drafts import Drafts
from octavo.data.image_cache import ImageCache
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import WRITES, StateDb
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import OutboxEntries
from octavo.first_picture import FirstPicture
from octavo.settings import Settings, in_words
from octavo.tui.shell.session import Account, Acting, Opening, Session, SignedIn

if TYPE_CHECKING:
    from octavo.client import signing_in
    from octavo.client.client import Client
    from octavo.client.profiles import Access

T = TypeVar("T")

KEPT_IN_KEYRING = "Octavo stores the API key in the system keyring"
SENT_NOWHERE_ELSE = "Octavo does not send the API key to any other server."
SETTLE_AT_HOME, SETTLE_ELSEWHERE = 2.0, 30.0
"""Seconds after which a request has taken effect, if at all: on a platform of this machine, and on any other server."""


class LateClient:
    """A client that is created at the first request, after the first screen is painted.

    The client needs imports that the first screen does not need, and a keyring may take seconds to respond.
    """

    def __init__(
        self,
        origin: str,
        key: Callable[[Callable[[str], None]], SecretStr],
        *,
        ca_file: Path | None = None,
        platform: Late | None = None,
        read_only: str = "",
        learn: Callable[[str], None] | None = None,
    ) -> None:
        """`platform` replaces the server at `origin`. `read_only` is the message for a refused write, empty to allow writes.

        `key` reads the API key, in a thread, and tells what it waits for. Raises StoreUnavailable, or Unauthorized.
        `learn` gets the id of the signed-in user after each response that contains it, in a thread.
        """
        self.read_only = read_only
        self._learn = learn
        self._origin, self._key, self._ca_file, self._platform = origin, key, ca_file, platform
        self._client: Client | None = None
        self._reading: asyncio.Task[SecretStr] | None = None
        """The attempt to read the key that is under way: who asks meanwhile gets the same answer."""
        self._reading_since = 0.0
        self._unread: Activity | None = None
        """The last attempt to read the key, unless that succeeded."""
        self._open = asyncio.Event()

    def open(self) -> None:
        """Allow requests."""
        self._open.set()

    async def __call__(self, op: Operation[T]) -> T:
        await self._open.wait()
        answer = await (await self.client())(op)
        if self._learn is not None:
            from octavo.api.users import User
            from octavo.client.threads import run_in_thread

            learn, who = self._learn, SPECS[type(op)].name == "users.Me" and answer
            if isinstance(who, User):
                await run_in_thread(lambda: learn(who.id))
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
        """Return the client. Raises Unauthorized if there is no API key, LocalFailure if the key cannot be read."""
        from octavo.client.client import Client

        if self._client is None:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read_key())
                self._reading.add_done_callback(lambda task: task.cancelled() or task.exception())  # all may have left
                self._reading_since = monotonic()
            try:
                key = await asyncio.shield(self._reading)
            except ApiError as error:
                raise copy(
                    error
                ) from None  # who waited for the same does not share it, with the frames it came through
            if self._client is None:  # of all who waited, the first makes it
                self._client = Client(
                    self._origin,
                    key,
                    ca_file=self._ca_file,
                    transport=self._platform,
                    read_only=self.read_only,
                )
        return self._client

    async def _read_key(self) -> SecretStr:
        from octavo.client.credentials import StoreUnavailable
        from octavo.client.threads import run_in_thread

        def note(sentence: str) -> None:
            ms = (monotonic() - self._reading_since) * 1000
            self._unread = Activity(datetime.now(UTC), KEY, "the API key of this account", None, ms, 1, "", sentence, 0)

        try:
            return await run_in_thread(lambda: self._key(note))
        except StoreUnavailable as error:
            note(str(error))
            raise LocalFailure(str(error)) from error
        except Unauthorized as error:
            note(str(error))
            raise

    @property
    def activity(self) -> tuple[Activity, ...]:
        if self._client is not None:
            return tuple(self._client.activity)
        return () if self._unread is None else (self._unread,)

    @property
    def low(self) -> float:
        return self._client.low if self._client else 0.0

    @property
    def waited(self) -> float:
        if self._client is not None:
            return self._client.waited
        is_reading = self._reading is not None and not self._reading.done()
        return monotonic() - self._reading_since if is_reading else 0.0

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
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
    try:
        key = place.key()
    except OSError as error:
        raise ValueError(place.why_not(error)) from error
    client = LateClient(platforms.ORIGIN, lambda _: key, platform=late, read_only=read_only)
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

    Raises OSError if the data cannot be stored, ValueError if the demo is open in another process and cannot be `reset`.
    """
    place = platforms.demo_place(settings, large=large, role=role)
    if reset:
        _reset(settings, place, large=large)
    try:
        let_go = place.hold()
        if large and not platforms.is_built(place):
            # Built before the first screen: in the background it would delay the keys, and take twice as long.
            tell("Preparing the large demo. The first time, this takes about half a minute.")
            made = platforms.build_demo(place, large=True)
            made.close()
            made.world.store.close()
    except OSError as error:
        raise ValueError(place.why_not(error)) from error
    late = Late(
        lambda: platforms.build_demo(place, large=large), place=place, latency=latency, fail=fail, on_close=let_go
    )
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
    acting = Acting(tuple(CAST), place.role or DEFAULT, lambda role: again(role=role))
    return replace(session, acting=acting, again=partial(again, role=role))


def _reset(settings: Settings, place: Place, *, large: bool) -> None:
    """Delete all changes in the demo. Raises ValueError if the demo is open in another process, OSError."""
    let_others = place.hold_alone()
    if let_others is None:
        raise ValueError(
            "Could not reset the demo: it is open in another terminal. Quit Octavo there, then run octavo demo --reset again."
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
    opened = OpenFolder(place, path, person(), told)
    late = Late(opened.build, place=place, on_close=opened.close)

    async def look() -> bool:
        from octavo.client.threads import run_in_thread

        return await run_in_thread(opened.look)

    async def ask() -> Sequence[str]:
        with suppress(OSError):  # every request reports it
            await late.platform()
        return told

    label = path.resolve().name or str(path)
    session = embedded(
        settings, place, late, kind="folder", label=label, namespace=f"folder {place.folder}", read_only=read_only
    )
    session = replace(session, progress=lambda: opened.progress, look_at_files=look)
    return replace(session, left_out=ask, again=partial(folder, settings, path, left_out, read_only=read_only))


def server(settings: Settings, access: Access, *, key: SecretStr | None = None, read_only: str = "") -> Session:
    """Return a session for an account on a server. `key` is an API key that was just typed. None to read the stored key."""
    from octavo.client.accounts import Accounts  # lazy: not needed by the demo

    accounts, origin = Accounts(settings.state_folder), access.origin

    def read(note: Callable[[str], None]) -> SecretStr:
        from octavo.client import signing_in

        home = signing_in.Home.of(settings.config_folder, settings.data_folder)
        found = key or signing_in.key_of(home.patient(note), access)
        if found is None:
            raise Unauthorized(signing_in.why_no_key(access))
        return found

    client = LateClient(
        origin,
        read,
        ca_file=settings.ca_file,
        read_only=read_only,
        learn=partial(accounts.learn, access) if access.key is not None else None,
    )
    host, namespace = host_of(origin), accounts.name_of(access)
    session = _session(
        settings,
        client,
        namespace,
        kind="server",
        label=f"{access.name}@{host}" if access.name != host else host,
        settle=settle_at(origin),
        left=accounts.left_by(namespace),
    )
    own = access.profile if access.source != "env" else None
    account = Account(own.name if own else "", origin, host, own.user_name if own else "")
    return replace(session, account=account, again=partial(server, settings, access, key=key, read_only=read_only))


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

    def sentences(self) -> list[str]:
        """Return sentences about drafts and changes that remain on this machine."""
        sentences: list[str] = []
        if self.drafts:
            drafts = "1 unsent draft remains" if self.drafts == 1 else f"{self.drafts} unsent drafts remain"
            sentences.append(f"{drafts} on this computer.")
        if writes := self.going_out:
            queued = "1 change is" if writes == 1 else f"{writes} changes are"
            sentences.append(
                f"{queued} queued and not sent yet. Octavo sends queued changes when you sign in again. If you sign in "
                "more than a day later, press ! in Octavo to decide whether to send the changes."
            )
        if writes := self.asked_about:
            waiting = "1 change needs" if writes == 1 else f"{writes} changes need"
            sentences.append(f"{waiting} your decision. Sign in again, then press ! in Octavo.")
        return sentences


def sign_out(settings: Settings, namespace: str, *others: str, drafts: bool) -> Kept:
    """Delete the cached data of an account, and with `drafts` also the unsent drafts, but not the queued changes.
    `others` are more names under which its changes are stored. Raises NotSaved."""
    _forget_answers(settings, namespace)
    left = 0
    waiting: list[OutboxEntry] = []
    for name in (namespace, *others):
        state = StateDb(settings.state_folder, name)
        try:
            waiting += (pending := OutboxEntries(state, state.now).all)
            if drafts:
                state.clear(but=WRITES if pending else ())
            left += len(Drafts(state).all())
        finally:
            state.close()
    asked_about = [each for each in waiting if each.needs_user or each.state == "pending"]
    refused = [each for each in waiting if each.state == "failed" and not each.needs_user]
    return Kept(left, len(waiting) - len(asked_about) - len(refused), len(asked_about))


def forget(settings: Settings, namespace: str) -> None:
    """Delete all local data that is stored under a name. Raises NotSaved."""
    _forget_answers(settings, namespace)
    state = StateDb(settings.state_folder, namespace)
    try:
        state.clear()
    finally:
        state.close()


def _forget_answers(settings: Settings, namespace: str) -> None:
    shelf = ResponseCache(settings.cache_folder, namespace)
    shelf.clear()
    shelf.close()
    SearchIndex(settings.cache_folder, namespace).clear()
    ImageCache(settings.cache_folder, namespace).clear()
    FirstPicture(settings.cache_folder, namespace, "").delete()


@dataclass(frozen=True)
class Ways:
    """The ways to open a session from the sign-in screen."""

    settings: Settings
    origin: str
    greeting: str = ""
    read_only: str = ""
    """Message for a refused write. Empty if writes are allowed."""
    before: str = ""
    """The label of the session that was on show before. Empty if there was none."""
    again: Callable[[], Session] | None = None
    """Opens that session again."""

    @property
    def host(self) -> str:
        return host_of(self.origin)

    async def keeping(self) -> str:
        from octavo.client.credentials import StoreTimeout, StoreUnavailable
        from octavo.client.threads import run_in_thread

        try:
            return f"{KEPT_IN_KEYRING} ({await run_in_thread(self._home.keyring.title)}). {SENT_NOWHERE_ELSE}"
        except StoreTimeout:
            return f"{KEPT_IN_KEYRING}, once the keyring is unlocked. {SENT_NOWHERE_ELSE}"
        except StoreUnavailable as error:
            # What to do about that stands with the facts after signing in.
            return f"No keyring was found, so Octavo will forget the API key when you quit. {error.cause}"

    async def sign_in(self, key: str) -> SignedIn:
        from octavo.client import signing_in
        from octavo.client.credentials import StoreUnavailable
        from octavo.client.keys import accept
        from octavo.client.profiles import Access

        secret = accept(key)
        try:
            signed = await signing_in.login(self._home, self.origin, secret)
        except (StoreUnavailable, OSError) as error:
            raise ValueError(in_words(error)) from error
        facts = [("ok", each) for each in signed.identity.facts]
        facts += [("care", each) for each in signed.identity.missing]
        if signed.notice:
            facts.append(("care", f"Octavo will forget the API key when you quit. {signed.notice}"))
        read_only = self.read_only or signed.profile.why_read_only
        access = Access(self.origin, signed.profile, signed.profile.store)
        session = server(self.settings, access, key=secret, read_only=read_only)
        return SignedIn(session, tuple(facts))  # type: ignore[arg-type]  # each is ok or care

    async def back(self) -> Session:
        from octavo.client.threads import run_in_thread

        if self.again is None:
            raise ValueError("No previous session to go back to.")
        return await run_in_thread(self.again)

    async def demo(self) -> Session:
        from octavo.client.threads import run_in_thread

        return await run_in_thread(lambda: demo(self.settings, read_only=self.read_only))

    async def folder(self, path: str) -> Session:
        from octavo.client.threads import run_in_thread

        return await run_in_thread(lambda: folder(self.settings, Path(path).expanduser(), read_only=self.read_only))

    def accounts(self) -> Sequence[Account]:
        known = self._home.read().entries.values()
        return [Account(each.name, each.origin, host_of(each.origin), each.user_name) for each in known]

    def asking(self, greeting: str, before: Session) -> Ways:
        origin = before.account.origin if before.account is not None else self.origin
        label = before.label if before.again is not None else ""
        return replace(self, origin=origin, greeting=greeting, before=label, again=before.again)

    def use(self, name: str) -> Opening:
        from octavo.client import profiles, signing_in

        signing_in.switch(self._home, name)
        access = profiles.resolve(self._home.read(), {}, profile=name)
        if access.source in ("session", "none"):
            return replace(self, origin=access.origin, greeting=signing_in.why_no_key(access)), None
        return self, server(self.settings, access, read_only=self.read_only or access.why_read_only)

    async def sign_out(self, account: Account) -> Callable[[], Opening]:
        from octavo.client import signing_in
        from octavo.client.accounts import Accounts
        from octavo.client.profiles import Access
        from octavo.client.threads import run_in_thread

        gone = await run_in_thread(lambda: signing_in.logout(self._home.patient(), account.name))

        def forget_pages() -> Opening:
            known = Accounts(self.settings.state_folder)
            name = known.name_of(Access(gone.profile.origin, gone.profile, gone.profile.store))
            kept = sign_out(self.settings, name, *known.left_by(name), drafts=False)
            said = [f"Signed out of {account.name} at {account.host}.", gone.key_left, *kept.sentences()]
            return replace(
                self, origin=account.origin, greeting=" ".join(filter(None, said)), before="", again=None
            ), None

        return forget_pages

    @property
    def _home(self) -> signing_in.Home:
        from octavo.client.signing_in import Home

        return Home.of(self.settings.config_folder, self.settings.data_folder)


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
    state = StateDb(settings.state_folder, namespace)
    for name in left:
        state.adopt(name)
    shelf = ResponseCache(settings.cache_folder, namespace)
    index = SearchIndex(settings.cache_folder, namespace, kept=shelf.responses_after)
    drafts = Drafts(state)
    outbox = Outbox(
        client, state, drafts, undo_seconds=settings.undo_seconds, settle=settle, read_only=client.read_only
    )
    live = Live(client, shelf, outbox, index=index, rate_limit_wait=lambda: client.low)
    offline = OfflineSpaces(live, state)

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
        pictures=ImageCache(settings.cache_folder, namespace),
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
