"""The session of the app, and the ways to sign in. The package `cli` creates both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from octavo.api.activity import Activity
from octavo.data.drafts import Drafts
from octavo.data.image_cache import ImageCache
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox


@dataclass(frozen=True)
class DemoRoles:
    """The roles that the demo offers to the user."""

    roles: tuple[str, ...]
    """Names of the roles, from the highest to the lowest."""
    current: str
    """Name of the current role."""
    open_session: Callable[[str], Session]
    """Returns a session with the given role. Raises OSError."""


@dataclass(frozen=True)
class ServerAccount:
    """An account on a server to which this machine is signed in."""

    name: str
    """Name of its profile. Empty if its API key comes from the environment: the account then has no profile."""
    origin: str
    host: str
    user: str
    """Name of the user. Empty while it is not loaded."""


@dataclass(frozen=True)
class Session:
    """A connection to one account on a server, or to the embedded platform."""

    live: Live
    outbox: Outbox
    drafts: Drafts
    state: StateDb
    kind: Literal["demo", "folder", "server"]
    label: str
    """Label in the top bar: user and host, or `DEMO`."""
    activity: Callable[[], Iterator[Activity]]
    """Yields the last requests, newest first. Lazy because most callers read only the first."""
    download: Callable[[str, int], AsyncGenerator[bytes, None]]
    """Yields the bytes of a URL from a response, up to the given number of bytes. Raises ApiError."""
    upload: Callable[[str, AsyncIterable[bytes], int, str], Awaitable[None]]
    """Sends bytes to a URL from a response, once and without the API key. Arguments: URL, chunks, number of bytes, MIME
    type. Raises ApiError."""
    close: Callable[[], Awaitable[None]]
    offline: OfflineSpaces
    """The spaces that are available offline."""
    search_index: SearchIndex = field(default_factory=lambda: SearchIndex(None))
    """Local full-text index of the pages that were read."""
    image_cache: ImageCache = field(default_factory=lambda: ImageCache(None))
    """Cache of images."""
    response_wait: Callable[[], float] = lambda: 0.0
    """Returns for how many seconds the oldest pending request has been waiting for its response."""
    throttle_seconds: Callable[[], float] = lambda: 0.0
    """Returns for how many seconds background requests pause because the rate limit of the server runs low."""
    read_only: str = ""
    """Sentence why nothing can be changed. Empty if changes are sent."""
    demo_roles: DemoRoles | None = None
    """Roles that the user can switch between. None outside the demo."""
    account: ServerAccount | None = None
    """The account on the server. None for an embedded platform."""
    reopen: Callable[[], Session] | None = None
    """Opens the same session again. Raises OSError or ValueError. None if the session cannot be reopened."""
    on_first_paint: Callable[[], None] = lambda: None
    """Called after the first paint. No request has to be sent earlier."""
    folder_warnings: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Returns what of a folder could not be loaded, as parts of a sentence, when the folder is loaded. None if the
    session is no folder."""

    load_progress: Callable[[], str] = lambda: ""
    """Returns the loading progress of a folder in a sentence. Empty when the whole folder is loaded."""
    reload_files: Callable[[], Awaitable[bool]] | None = None
    """Reloads the files of a folder that have changed, and returns whether any file had. Raises OSError. None if the
    session is no folder."""

    @property
    def is_embedded(self) -> bool:
        """True if the platform runs inside Octavo, so that a browser cannot open its pages."""
        return self.kind != "server"


@dataclass(frozen=True)
class SignInResult:
    """A new session, and facts about its API key: the owner, the permissions and the storage."""

    session: Session
    facts: tuple[tuple[Literal["ok", "care"], str], ...]


SignInState = tuple["SignInMethods", Session | None]
"""The sign-in methods and the first session. Without a session, the app shows the sign-in screen."""


class SignInMethods(Protocol):
    """Ways to sign in and out. Each method raises ApiError, OSError or ValueError with a sentence."""

    @property
    def host(self) -> str:
        """Host for which the user pastes an API key."""

    @property
    def reason(self) -> str:
        """Sentence why a new API key is needed. Empty on the first sign-in."""

    @property
    def previous_label(self) -> str:
        """Label of the previous session. Empty if there was none."""

    async def describe_storage(self) -> str:
        """Return sentences that say where an API key would be stored. Finding out may take a while."""

    async def sign_in(self, key: str) -> SignInResult:
        """Check `key`, store it, and connect to the server."""

    async def open_previous(self) -> Session:
        """Open the previous session again."""

    async def open_demo(self) -> Session:
        """Connect to the demo library."""

    async def open_folder(self, path: str) -> Session:
        """Load a folder of pages into the embedded platform, and connect to it."""

    def accounts(self) -> Sequence[ServerAccount]:
        """Return the accounts to which this machine is signed in."""

    def with_new_key(self, reason: str, previous: Session) -> SignInMethods:
        """Return sign-in methods that ask for a new API key of the server of session `previous`, with `reason` as the
        reason."""

    def switch_account(self, name: str) -> SignInState:
        """Make another account the current account, and connect to it. The session is None if its API key is missing."""

    async def sign_out(self, account: ServerAccount) -> Callable[[], SignInState]:
        """Delete an account and its API key. The returned function deletes the cached pages of the account and returns
        what to open next. Call it after the session of the account has ended."""
