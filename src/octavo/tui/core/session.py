"""The session that the app shows, and the ways to sign in. The package `cli` creates both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from octavo.api.activity import Activity
from octavo.data.drafts import Drafts
from octavo.data.image_cache import ImageCache
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.proposed_notes import ProposedNotes
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox


@dataclass(frozen=True)
class DemoRoles:
    """Roles that the user can try in the demo."""

    roles: tuple[str, ...]
    """Names of the roles, from the highest to the lowest."""
    current: str
    """Name of the current role."""
    open_session: Callable[[str], Session]
    """Returns a session with the given role. Raises OSError."""


@dataclass(frozen=True)
class ServerAccount:
    """An account on a server to which the user is signed in."""

    name: str
    """Name of its profile. Empty if the API key comes from an environment variable."""
    origin: str
    host: str
    user: str
    """Name of the user. Empty while it is not loaded."""


@dataclass(frozen=True)
class Session:
    """A connection to an account on a server, or to the embedded platform."""

    live: Live
    outbox: Outbox
    drafts: Drafts
    state: StateDb
    kind: Literal["demo", "folder", "server"]
    label: str
    """Label in the top bar: user and host, or `DEMO`."""
    activity: Callable[[], Iterator[Activity]]
    """Yields the latest requests, newest first. This is an iterator because most callers need only the first."""
    download: Callable[[str, int], AsyncGenerator[bytes, None]]
    """Yields the bytes of a download URL, up to the given number of bytes. Raises ApiError."""
    upload: Callable[[str, AsyncIterable[bytes], int, str], Awaitable[None]]
    """Sends bytes to an upload URL without the API key, and never retries. Raises ApiError. The arguments are the URL,
    the chunks, the number of bytes and the MIME type."""
    close: Callable[[], Awaitable[None]]
    offline: OfflineSpaces
    """The spaces that are available offline."""
    proposed: ProposedNotes
    """The notes that programs propose for change requests."""
    search_index: SearchIndex = field(default_factory=lambda: SearchIndex(None))
    """Local full-text index of the pages that were read."""
    image_cache: ImageCache = field(default_factory=lambda: ImageCache(None))
    """Cache of images."""
    response_wait: Callable[[], float] = lambda: 0.0
    """Returns the number of seconds for which the oldest pending request has been waiting."""
    read_only: str = ""
    """Reason why the session is read-only, as a sentence. Empty if the user can make changes."""
    demo_roles: DemoRoles | None = None
    """Roles that the user can try. None outside the demo."""
    account: ServerAccount | None = None
    """Account on the server. None for an embedded platform."""
    reopen: Callable[[], Session] | None = None
    """Opens a new session with the same account or folder. None if that is not possible. Raises OSError or ValueError."""
    connect: Callable[[], None] = lambda: None
    """Allows requests. Commands that do not show the app call this instead of `on_first_paint`, which also starts
    background work."""
    on_first_paint: Callable[[], None] = lambda: None
    """Called after the first paint, to start the work that can wait until then."""
    folder_warnings: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Returns warnings about files of the folder that could not be loaded. None if the session shows no folder."""

    load_progress: Callable[[], str] = lambda: ""
    """Returns the progress of loading a folder as a sentence. Empty when loading is complete."""
    reload_files: Callable[[], Awaitable[bool]] | None = None
    """Reloads the changed files of the folder, and returns True if there were any. None if the session shows no folder.
    Raises OSError."""

    @property
    def is_embedded(self) -> bool:
        """True if the platform runs inside Octavo. A browser cannot open its pages."""
        return self.kind != "server"


@dataclass(frozen=True)
class SignInResult:
    """A new session, and facts about its API key, such as its owner and where it is stored."""

    session: Session
    facts: tuple[tuple[Literal["ok", "care"], str], ...]


@dataclass(frozen=True)
class SignInMethods:
    """Ways to sign in and out. The functions raise ApiError, OSError or ValueError with a message for the user."""

    host: str
    """Host for which the user pastes an API key."""
    reason: str
    """Reason why a new API key is needed, as a sentence. Empty on the first sign-in."""
    previous_label: str
    """Label of the previous session. Empty if there was none."""
    describe_storage: Callable[[], Awaitable[str]]
    """Returns sentences about the storage of the API key. May take a while."""
    sign_in: Callable[[str], Awaitable[SignInResult]]
    """Checks an API key, stores it, and connects to the server."""
    open_previous: Callable[[], Awaitable[Session]]
    """Opens the previous session again."""
    open_demo: Callable[[], Awaitable[Session]]
    """Connects to the demo library."""
    open_folder: Callable[[str], Awaitable[Session]]
    """Loads a folder of pages into the embedded platform, and connects to it."""
    accounts: Callable[[], Sequence[ServerAccount]]
    """Returns the accounts to which this computer is signed in."""
    with_new_key: Callable[[str, Session], SignInMethods]
    """Returns sign-in methods that ask for a new API key for the server of the given session. The first argument is the
    reason that the sign-in screen shows."""
    switch_account: Callable[[str], SignInState]
    """Makes another account the current account and connects to it. The session is None if its API key is missing."""
    sign_out: Callable[[ServerAccount], Awaitable[Callable[[], SignInState]]]
    """Deletes an account and its API key. After the session of the account has ended, call the returned function: it
    deletes the cached pages and returns the next session, if any."""


SignInState = tuple[SignInMethods, Session | None]
"""Sign-in methods, and the session to show. The app shows the sign-in screen if the session is None."""
