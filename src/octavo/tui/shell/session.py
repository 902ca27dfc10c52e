"""What the app is connected to, and the ways in. The composition root builds both; the app only uses them."""

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
class Acting:
    """Whom else one can be in the demo."""

    roles: tuple[str, ...]
    """From the highest down."""
    now: str
    """Who one is."""
    become: Callable[[str], Session]
    """The session of another. Raises OSError."""


@dataclass(frozen=True)
class Account:
    """An account on a server, which this machine is signed in to."""

    name: str
    """Its profile. Empty: its key is in the environment, and no profile is its own."""
    origin: str
    host: str
    user: str
    """The name of the user, as far as it is known."""


@dataclass(frozen=True)
class Session:
    """One account on one server, or the embedded platform."""

    live: Live
    outbox: Outbox
    drafts: Drafts
    state: StateDb
    kind: Literal["demo", "folder", "server"]
    label: str
    """What the frame calls it: the person and host, or DEMO."""
    activity: Callable[[], Iterator[Activity]]
    """The last requests, the newest first: mostly only that is looked at, with each answer and each line of the frame."""
    download: Callable[[str, int], AsyncGenerator[bytes, None]]
    """The bytes at an address that an answer named, as they come, and how many they may be. Raises ApiError."""
    upload: Callable[[str, AsyncIterable[bytes], int, str], Awaitable[None]]
    """Puts bytes to an address that an answer named, once and without the key: how many they are, and their MIME type.
    Raises ApiError."""
    close: Callable[[], Awaitable[None]]
    offline: OfflineSpaces
    """The spaces that are kept for offline."""
    index: SearchIndex = field(default_factory=lambda: SearchIndex(None))
    """The words of what was read, to be found without the server."""
    pictures: ImageCache = field(default_factory=lambda: ImageCache(None))
    """Pictures that were looked at before."""
    waited: Callable[[], float] = lambda: 0.0
    """Seconds that the answer to some request has been waited for by now."""
    low: Callable[[], float] = lambda: 0.0
    """Seconds for which what nobody waits for is not asked, because the limits of the server run low."""
    read_only: str = ""
    """Why nothing is sent that changes anything, in a sentence. Empty: it is."""
    acting: Acting | None = None
    """Whom else one can be here: only in the demo."""
    account: Account | None = None
    """The account on a server. None: this is an embedded platform."""
    again: Callable[[], Session] | None = None
    """Opens the same once more. Raises OSError or ValueError."""
    open: Callable[[], None] = lambda: None
    """Called when the first screen is painted: nothing needs to be sent before."""
    left_out: Callable[[], Awaitable[Sequence[str]]] | None = None
    """What of a folder could not be loaded as it is, each in the words of a sentence, once that is known."""

    progress: Callable[[], str] = lambda: ""
    """How far a folder is loaded, in a sentence. Empty when all of it is."""
    look_at_files: Callable[[], Awaitable[bool]] | None = None
    """Loads what changed in the files of a folder, and says whether anything did. Raises OSError. None: it is no folder."""

    @property
    def is_here(self) -> bool:
        """Whether the platform is in this program, so that no browser comes to its pages."""
        return self.kind != "server"


@dataclass(frozen=True)
class SignedIn:
    """Facts to show before one starts: who the key belongs to, what it may do, where it is kept."""

    session: Session
    facts: tuple[tuple[Literal["ok", "care"], str], ...]


Opening = tuple["SignInMethods", Session | None]
"""What the app opens with. Without a session it shows the sign-in screen."""


class SignInMethods(Protocol):
    """The ways in and out. Each raises `octavo.api.errors.ApiError`, OSError or ValueError with a sentence."""

    @property
    def host(self) -> str:
        """The host a pasted key is for."""

    @property
    def greeting(self) -> str:
        """Why a key is asked for again, in a sentence. Empty the first time."""

    @property
    def before(self) -> str:
        """The label of the session that was on show before. Empty if there was none."""

    async def keeping(self) -> str:
        """Where a key would be kept, in sentences. It may take a while to find out."""

    async def sign_in(self, key: str) -> SignedIn:
        """Check `key`, keep it, and connect."""

    async def back(self) -> Session:
        """Open the session that was on show before."""

    async def demo(self) -> Session:
        """Connect to the demo library."""

    async def folder(self, path: str) -> Session:
        """Load a folder of pages into the embedded platform, and connect to it."""

    def accounts(self) -> Sequence[Account]:
        """The accounts this machine is signed in to."""

    def asking(self, greeting: str, before: Session) -> SignInMethods:
        """The same, with a key asked for again at the server of the session that was on show."""

    def use(self, name: str) -> Opening:
        """Make another account the current one, and connect to it, or ask for its key."""

    async def sign_out(self, account: Account) -> Callable[[], Opening]:
        """Delete the key of an account and the account. Once its session has ended, what this returns deletes its pages
        and says what to open."""
