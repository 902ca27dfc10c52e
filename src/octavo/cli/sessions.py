"""Opens sessions with the demo, a folder or a server, also for the sign-in screen. Signs out."""

from __future__ import annotations

import getpass
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import SecretStr

from octavo.api.errors import Unauthorized
from octavo.api.operation import SPECS
from octavo.cli.arguments import DEFAULT_ROLE, PEOPLE_BY_ROLE
from octavo.cli.event_log import LOG, Level
from octavo.cli.late_client import LazyClient, LazyPlatform
from octavo.cli.open_folder import OpenFolder
from octavo.cli.platform_folders import ORIGIN, PlatformFolder, demo_folder, no_folder_message, platform_folder_of
from octavo.cli.standard_streams import tell
from octavo.client.origin import host_of, is_loopback, split_origin
from octavo.concurrency import run_in_thread
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import WRITE_TABLES, StateDb
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import OutboxEntries
from octavo.first_picture import FirstPicture
from octavo.lazy_import import lazy, load
from octavo.settings import Settings, error_in_words
from octavo.tui.core.session import DemoRoles, ServerAccount, Session, SignInMethods, SignInResult, SignInState

if TYPE_CHECKING:
    from octavo.client.profiles import Access
    from octavo.client.signing_in import ProfileStore, SignedIn, SignedOut
    from octavo.server.app import Platform

# lazy: the client, which the first screen does not need
_login: Callable[..., Awaitable[SignedIn]] = lazy("octavo.client.signing_in:login")
_logout: Callable[..., SignedOut] = lazy("octavo.client.signing_in:logout")
_switch = lazy("octavo.client.signing_in:switch")
_token_of: Callable[..., SecretStr | None] = lazy("octavo.client.signing_in:token_of")
_no_token_reason = lazy("octavo.client.signing_in:no_token_reason")
_parse_token = lazy("octavo.client.profiles:parse_token")
_storage_names = lazy("octavo.client.profiles:StorageNames")
_new_access = lazy("octavo.client.profiles:Access")
_resolve_access = lazy("octavo.client.profiles:resolve_access")
# lazy: loads the server, after the first screen
_open_demo_platform: Callable[..., Platform] = lazy("octavo.cli.platforms:open_demo_platform")
_is_built = lazy("octavo.cli.platforms:is_built")

STORED_IN_KEYRING = "Octavo stores the API key in the system keyring"
SENT_TO_SERVER_ONLY = "Octavo does not send the API key to any other server."
ARRIVAL_MARGIN_LOCAL = 2.0
"""Maximum number of seconds by which a request can reach a server on this machine after the timeout of the request."""
ARRIVAL_MARGIN_REMOTE = 30.0
"""Maximum number of seconds by which a request can reach another machine after the timeout of the request."""


def embedded_client(folder: PlatformFolder, platform: LazyPlatform, *, read_only_reason: str = "") -> LazyClient:
    """Return a client for an embedded platform. Raises ValueError if the API key in `folder` cannot be read."""
    try:
        key = folder.read_key()
    except OSError as error:
        raise ValueError(folder.why_not_opened(error)) from error
    return LazyClient(ORIGIN, lambda _: key, platform=platform, read_only_reason=read_only_reason)


class Demo(NamedTuple):
    """Which demo to open, and how its server behaves."""

    is_large: bool = False
    latency: float = 0.0
    """Seconds to wait before each response."""
    failure_rate: float = 0.0
    """Share of requests, from 0 to 1, that get a simulated error."""


USUAL_DEMO = Demo()


def open_demo(
    settings: Settings, demo: Demo = USUAL_DEMO, *, reset: bool = False, role: str = "", read_only_reason: str = ""
) -> Session:
    """Open a session with a demo. `role` is a key of `PEOPLE_BY_ROLE`, or empty for `DEFAULT_ROLE`. If `reset`, first
    delete the old demo, its drafts and its caches. With a `read_only_reason`, nothing can be changed. Raises OSError,
    ValueError or NotSaved."""
    folder = demo_folder(settings, large=demo.is_large, role=role)
    if reset:
        _reset(settings, folder, large=demo.is_large)
    client = demo_client(folder, demo, read_only_reason=read_only_reason)
    label = f"DEMO as {folder.role}" if folder.role else "DEMO"
    session = _build_session(
        settings, client, folder.namespace, kind="demo", label=label, arrival_margin=ARRIVAL_MARGIN_LOCAL
    )
    reopen = partial(open_demo, settings, demo, read_only_reason=read_only_reason)
    roles = DemoRoles(tuple(PEOPLE_BY_ROLE), folder.role or DEFAULT_ROLE, lambda role: reopen(role=role))
    return replace(session, demo_roles=roles, reopen=partial(reopen, role=role))


def demo_client(folder: PlatformFolder, demo: Demo = USUAL_DEMO, *, read_only_reason: str = "") -> LazyClient:
    """Return a client for a demo in `folder`. Raises ValueError if the demo cannot be opened."""

    def build() -> Platform:
        platform = _open_demo_platform(folder, large=demo.is_large)
        platform.delay, platform.failure_rate = demo.latency, demo.failure_rate
        return platform

    try:
        unlock = folder.lock_shared()
        if demo.is_large:
            _build_large_demo(folder)
    except OSError as error:
        raise ValueError(folder.why_not_opened(error)) from error
    lazy_platform = LazyPlatform(build, folder=folder, on_close=unlock)
    return embedded_client(folder, lazy_platform, read_only_reason=read_only_reason)


def _build_large_demo(folder: PlatformFolder) -> None:
    """Build the large demo if it is missing. Call this before the app opens, because building slows the app down."""
    if not _is_built(folder):
        tell("Preparing the large demo. The first time, this takes about half a minute.")
        platform = _open_demo_platform(folder, large=True)
        platform.close()
        platform.context.store.close()


def _reset(settings: Settings, folder: PlatformFolder, *, large: bool) -> None:
    unlock = folder.lock_exclusively()
    if unlock is None:
        raise ValueError(
            "Could not reset the demo: it is open in another terminal. Quit Octavo there, then run octavo demo --reset again."
        )
    try:
        for each in ("", *PEOPLE_BY_ROLE):
            delete_local_data(settings, demo_folder(settings, large=large, role=each).namespace)
            FirstPicture(settings.cache_folder, f"{folder.path.name} {each}".rstrip(), "").delete()
        folder.clear()
    finally:
        unlock()


def open_folder(
    settings: Settings, path: Path, problems: list[str] | None = None, *, read_only_reason: str = ""
) -> Session:
    """Open a session with a folder of Markdown files. `problems` gets a sentence for each file that could not be loaded
    completely. Raises ValueError if `path` is no folder, or if Octavo cannot read the API key for it."""
    platform_folder, sentences = platform_folder_of(settings, path), [] if problems is None else problems
    opened, lazy_platform = prepare_folder(platform_folder, path, sentences)

    async def load_changes() -> bool:
        return await run_in_thread(opened.load_changes)

    async def wait_until_loaded() -> Sequence[str]:
        with suppress(OSError):  # If the folder cannot be loaded, each request says why.
            await lazy_platform.platform()
        return sentences

    async def wait_until_indexed() -> None:
        await wait_until_loaded()  # Indexing starts when all files are loaded.
        await run_in_thread(opened.wait_until_indexed)

    label = path.resolve().name or str(path)
    client = embedded_client(platform_folder, lazy_platform, read_only_reason=read_only_reason)
    namespace = f"folder {platform_folder.path}"
    return replace(
        _build_session(settings, client, namespace, kind="folder", label=label, arrival_margin=ARRIVAL_MARGIN_LOCAL),
        load_progress=lambda: opened.progress,
        reload_files=load_changes,
        first_titles=opened.first_titles,
        folder_root=lambda: opened.root,
        folder_warnings=wait_until_loaded,
        wait_until_indexed=wait_until_indexed,
        reopen=partial(open_folder, settings, path, problems, read_only_reason=read_only_reason),
    )


def prepare_folder(folder: PlatformFolder, path: Path, problems: list[str]) -> tuple[OpenFolder, LazyPlatform]:
    """Return a folder of pages and its platform. The first request loads the folder, and adds a sentence to `problems`
    for each file that could not be loaded completely. Raises ValueError if `path` is no folder."""
    if not path.is_dir():
        raise ValueError(no_folder_message(path))
    opened = OpenFolder(folder, path, login_name(), problems)
    return opened, LazyPlatform(opened.build, folder=folder, on_close=opened.close)


def open_server(
    settings: Settings, access: Access, *, key: SecretStr | None = None, read_only_reason: str = ""
) -> Session:
    """Open a session with an account. Without `key`, the stored API key is read when the first request is sent."""
    accounts, origin = _storage_names(settings.state_folder), access.origin

    def read_key(report: Callable[[str], None]) -> SecretStr:
        profile_store = _profile_store_of(settings)
        stored_key = key or _token_of(profile_store.with_longer_timeout(report), access)
        if stored_key is None:
            raise Unauthorized(_no_token_reason(access))
        return stored_key

    client = LazyClient(
        origin,
        read_key,
        ca_file=settings.ca_file,
        read_only_reason=read_only_reason,
        record_user=partial(accounts.record_user, access) if access.token is not None else None,
    )
    host, namespace = host_of(origin), accounts.name_of(access)
    session = _build_session(
        settings,
        client,
        namespace,
        kind="server",
        label=f"{access.name}@{host}" if access.name != host else host,
        arrival_margin=arrival_margin_of(origin),
        earlier_names=accounts.earlier_names_of(namespace),
    )
    profile = access.profile if access.source != "env" else None
    account = ServerAccount(profile.name if profile else "", origin, host, profile.user_name if profile else "")
    reopen = partial(open_server, settings, access, key=key, read_only_reason=read_only_reason)
    return replace(session, account=account, reopen=reopen)


def _profile_store_of(settings: Settings) -> ProfileStore:
    profile_store: ProfileStore = load("octavo.client.signing_in:ProfileStore").of(
        settings.config_folder, settings.data_folder
    )
    return profile_store


def arrival_margin_of(origin: str) -> float:
    """Return the maximum number of seconds from the timeout of a request until the server `origin` gets the request."""
    _, host, _ = split_origin(origin)
    return ARRIVAL_MARGIN_LOCAL if is_loopback(host) else ARRIVAL_MARGIN_REMOTE


class LocalRemains(NamedTuple):
    """What a sign-out left on this machine: numbers of drafts and changes, and why the cache could not be deleted."""

    cache_error: str
    """Sentence that says why the cached pages could not be deleted. Empty if they were deleted."""
    draft_count: int
    queued_count: int
    """Number of changes that will be sent after the next sign-in."""
    undecided_count: int
    """Number of changes that will be sent only if the user decides so."""

    def sentences(self) -> list[str]:
        """Return a sentence for the user about each kind of data that remains."""
        sentences = [self.cache_error] if self.cache_error else []
        if self.draft_count:
            drafts = "1 unsent draft remains" if self.draft_count == 1 else f"{self.draft_count} unsent drafts remain"
            sentences.append(f"{drafts} on this computer.")
        if count := self.queued_count:
            queued = "1 change is" if count == 1 else f"{count} changes are"
            sentences.append(
                f"{queued} queued and not sent yet. Octavo sends queued changes when you sign in again. If you sign in "
                "more than a day later, press ! in Octavo to decide whether to send the changes."
            )
        if count := self.undecided_count:
            count_phrase = "1 change needs" if count == 1 else f"{count} changes need"
            sentences.append(f"{count_phrase} your decision. Sign in again, then press ! in Octavo.")
        return sentences


def sign_out(settings: Settings, namespace: str, *earlier_names: str, deletes_drafts: bool) -> LocalRemains:
    """Delete the cached data of an account on this machine, stored under `namespace` and `earlier_names`. With
    `deletes_drafts`, also delete the drafts. Queued changes stay. Return what remains. Raises NotSaved."""
    cache_error, remaining_drafts = "", 0
    waiting_entries: list[OutboxEntry] = []
    for name in (namespace, *earlier_names):
        cache_error = _clear_caches(settings, name) or cache_error
        state = StateDb(settings.state_folder, name)
        try:
            waiting_entries += OutboxEntries(state, state.now).all
            if deletes_drafts:
                # Ask the database: `OutboxEntries` leaves out writes that only another version of Octavo can read.
                has_writes = state.rows("SELECT 1 FROM outbox WHERE namespace = ? LIMIT 1", name)
                state.clear(keep=WRITE_TABLES if has_writes else ())
            remaining_drafts += len(Drafts(state).all())
        finally:
            state.close()
    undecided = [each for each in waiting_entries if each.needs_user or each.state == "pending"]
    refused_entries = [each for each in waiting_entries if each.state == "failed" and not each.needs_user]
    queued_count = len(waiting_entries) - len(undecided) - len(refused_entries)
    return LocalRemains(cache_error, remaining_drafts, queued_count, len(undecided))


def delete_local_data(settings: Settings, namespace: str) -> None:
    """Delete all data of a session on this machine, even drafts and queued changes. Raises NotSaved."""
    _clear_caches(settings, namespace)
    state = StateDb(settings.state_folder, namespace)
    try:
        state.clear()
    finally:
        state.close()


def _clear_caches(settings: Settings, namespace: str) -> str:
    """Delete the cached data of an account. Return a sentence that says why this failed, or an empty string."""
    cache = ResponseCache(settings.cache_folder, namespace)
    cause = cache.clear()
    cache.close()
    SearchIndex(settings.cache_folder, namespace).delete_file()
    shutil.rmtree(settings.cache_folder / "pictures", ignore_errors=True)  # Older versions cached images here.
    FirstPicture(settings.cache_folder, namespace, "").delete()
    return cause and f"Could not delete the cached pages: {cause}. Delete the folder {settings.cache_folder}."


def sign_in_methods(settings: Settings, origin: str, reason: str = "", read_only_reason: str = "") -> SignInMethods:
    """Return the actions of the sign-in screen for a server. The screen shows `reason` first. `read_only_reason`
    is the message with which sessions refuse writes. Empty if sessions allow writes."""
    return _SignIn(settings, origin, reason, read_only_reason).methods()


@dataclass(frozen=True)
class _SignIn:
    """The actions of the sign-in screen: sign in to a server, open the demo, open a folder."""

    settings: Settings
    origin: str
    reason: str = ""
    read_only_reason: str = ""
    previous_label: str = ""
    """Label of the session before the sign-in screen, to show to the user. Empty if there was none."""
    reopen_previous: Callable[[], Session] | None = None
    """Function that reopens the session that was open before sign-in. None if no session was open."""
    previous_profile: str = ""
    """Name of the profile that was current before the sign-in screen. Empty if there was none."""

    def methods(self) -> SignInMethods:
        return SignInMethods(
            host=host_of(self.origin),
            reason=self.reason,
            previous_label=self.previous_label,
            describe_storage=self.describe_storage,
            sign_in=self.sign_in,
            open_previous=self.open_previous,
            open_demo=self.open_demo,
            open_folder=self.open_folder,
            accounts=self.accounts,
            methods_for_new_key=self.methods_for_new_key,
            switch_account=self.switch_account,
            sign_out=self.sign_out,
        )

    async def describe_storage(self) -> str:
        from octavo.client.credentials import StoreTimeout, StoreUnavailable  # lazy: not needed by the demo

        try:
            return (
                f"{STORED_IN_KEYRING} ({await run_in_thread(self._profile_store.keyring.title)}). {SENT_TO_SERVER_ONLY}"
            )
        except StoreTimeout:
            return f"{STORED_IN_KEYRING}, once the keyring is unlocked. {SENT_TO_SERVER_ONLY}"
        except StoreUnavailable as error:
            # Without `error.step`, because the screen after sign-in says how to get a keyring.
            return f"No keyring was found, so Octavo will forget the API key when you quit. {error.cause}"

    async def sign_in(self, key: str) -> SignInResult:
        from octavo.client.credentials import StoreUnavailable  # lazy: not needed by the demo

        secret = _parse_token(key)
        try:
            signed_in = await _login(self._profile_store, self.origin, secret)
        except (StoreUnavailable, OSError) as error:
            raise ValueError(error_in_words(error)) from error
        facts = [("ok", each) for each in signed_in.identity.facts]
        facts += [("care", each) for each in signed_in.identity.missing]
        if signed_in.notice:
            facts.append(("care", f"Octavo will forget the API key when you quit. {signed_in.notice}"))
        else:
            facts.append(("ok", "Stored the API key in the system keyring."))
        if signed_in.deletion_problem:
            facts.append(("care", signed_in.deletion_problem))
        read_only_reason = self.read_only_reason or signed_in.profile.why_read_only
        access = _new_access(self.origin, signed_in.profile, signed_in.profile.store)
        session = open_server(self.settings, access, key=secret, read_only_reason=read_only_reason)
        return SignInResult(session, tuple(facts))  # type: ignore[arg-type]  # each is ok or care

    async def open_previous(self) -> Session:
        if self.reopen_previous is None:
            raise ValueError("No previous session to go back to.")
        # A check of a key may have made its profile current, so switch back.
        if self.previous_profile not in ("", self._profile_store.read().current):
            with suppress(ValueError, OSError):
                _switch(self._profile_store, self.previous_profile)
        return await run_in_thread(self.reopen_previous)

    async def open_demo(self) -> Session:
        return await run_in_thread(lambda: open_demo(self.settings, read_only_reason=self.read_only_reason))

    async def open_folder(self, path: str) -> Session:
        # Not `Path.expanduser`, which raises RuntimeError for an unknown user.
        return await run_in_thread(
            lambda: open_folder(self.settings, Path(os.path.expanduser(path)), read_only_reason=self.read_only_reason)
        )

    def accounts(self) -> Sequence[ServerAccount]:
        profiles = self._profile_store.read().entries.values()
        return [ServerAccount(each.name, each.origin, host_of(each.origin), each.user_name) for each in profiles]

    def methods_for_new_key(self, reason: str, previous_session: Session) -> SignInMethods:
        origin = previous_session.account.origin if previous_session.account is not None else self.origin
        label = previous_session.label if previous_session.reopen is not None else ""
        return replace(
            self,
            origin=origin,
            reason=reason,
            previous_label=label,
            reopen_previous=previous_session.reopen,
            previous_profile=self._profile_store.read().current,
        ).methods()

    def switch_account(self, name: str) -> SignInState:
        _switch(self._profile_store, name)
        access = _resolve_access(self._profile_store.read(), {}, profile=name)
        if access.source in ("session", "none"):
            return replace(self, origin=access.origin, reason=_no_token_reason(access)).methods(), None
        return self.methods(), open_server(
            self.settings, access, read_only_reason=self.read_only_reason or access.why_read_only
        )

    async def sign_out(self, account: ServerAccount) -> Callable[[], SignInState]:
        signed_out = await run_in_thread(
            lambda: _logout(self._profile_store.with_longer_timeout(), account.profile_name)
        )

        def delete_cached_data() -> SignInState:
            accounts = _storage_names(self.settings.state_folder)
            access = _new_access(signed_out.profile.origin, signed_out.profile, signed_out.profile.store)
            name = accounts.name_of(access)
            remains = sign_out(self.settings, name, *accounts.earlier_names_of(name), deletes_drafts=False)
            sentences = [
                f"Signed out of {account.profile_name} at {account.host}.",
                signed_out.deletion_problem,
                *remains.sentences(),
            ]
            reason = " ".join(filter(None, sentences))
            signed_out_state = replace(
                self, origin=account.origin, reason=reason, previous_label="", reopen_previous=None
            )
            return signed_out_state.methods(), None

        return delete_cached_data

    @property
    def _profile_store(self) -> ProfileStore:
        return _profile_store_of(self.settings)


def _build_session(
    settings: Settings,
    client: LazyClient,
    namespace: str,
    *,
    kind: Literal["demo", "folder", "server"],
    label: str,
    arrival_margin: float,
    earlier_names: Sequence[str] = (),
) -> Session:
    """Build a session with its cache, drafts and outbox in `namespace`. `label` names the session to the user.
    Drafts and queued writes in the namespaces `earlier_names` move to `namespace`. `arrival_margin` is the result of
    `arrival_margin_of`."""
    state = StateDb(settings.state_folder, namespace)
    for name in earlier_names:
        state.adopt_namespace(name)
    cache = ResponseCache(settings.cache_folder, namespace)
    index = SearchIndex(settings.cache_folder, namespace, read_cached=cache.responses_after)
    drafts = Drafts(state)
    outbox = Outbox(
        client,
        state,
        drafts,
        undo_seconds=settings.undo_seconds,
        arrival_margin=arrival_margin,
        read_only_reason=client.read_only_reason,
    )
    LOG.open(settings.state_folder)
    LOG.add("session", kind=kind, readOnly=bool(client.read_only_reason))
    _log_writes(outbox)
    live = Live(client, cache, outbox, index=index, rate_limit_wait=lambda: client.rate_limit_wait)
    offline = OfflineSpaces(live, state)

    def open_() -> None:
        client.open()
        offline.begin()

    return Session(
        live=live,
        outbox=outbox,
        drafts=drafts,
        state=state,
        kind=kind,
        label=label,
        read_only_reason=client.read_only_reason,
        latest_requests=lambda: reversed(client.activity),
        response_wait=lambda: client.response_wait,
        download=client.download,
        upload=client.upload,
        close_client=client.aclose,
        search_index=index,
        offline=offline,
        connect=client.open,
        on_first_paint=open_,
    )


def _log_writes(outbox: Outbox) -> None:
    states: dict[str, str] = {}

    def log(entry: OutboxEntry) -> None:
        level: Level = "warning" if entry.state in ("failed", "unknown") else "info"
        operation = SPECS[type(entry.op)].name
        LOG.add("write", level, id=entry.id, operation=operation, state=entry.state, tries=entry.tries)

    def log_changes() -> None:
        for entry in outbox.entries:
            if states.get(entry.id) != entry.state:
                states[entry.id] = entry.state
                log(entry)

    outbox.changed.add(log_changes)
    outbox.done.add(log)


def login_name() -> str:
    """Return the user's login name on this computer, or `Me` if it is unknown."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "Me")
