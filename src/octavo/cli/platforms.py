"""The embedded platforms: where their data is stored, and how they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from octavo import redaction
from octavo.api.errors import LocalFailure
from octavo.api.safety import line
from octavo.cli.cast import CAST, DEFAULT
from octavo.client.private_files import NotPrivate, private_folder, read_private, write_private
from octavo.data.database import lock_file
from octavo.settings import Settings, in_words

if TYPE_CHECKING:
    from octavo.server.app import Platform
    from octavo.server.store import Store

ORIGIN = "http://octavo.local"
"""Origin of the URLs of a platform that has no port. No request is sent there."""


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Place:
    """The folder of a platform, with its database and the API key of the user."""

    folder: Path
    role: str = ""
    """Role in the demo whose API key is used (`cli/cast.py`). Empty for the default role."""
    start_over: str = ""
    """Sentence that says how to start over if the data is damaged."""

    @property
    def database(self) -> Path:
        return self.folder / "platform.db"

    @property
    def key_file(self) -> Path:
        return self.folder / (f"key-{self.role}" if self.role else "key")

    @property
    def namespace(self) -> str:
        """Name under which the local data of that user is stored."""
        return f"demo {self.folder}{f' as {self.role}' if self.role else ''}"

    def why_not(self, error: OSError) -> str:
        """Return why the place cannot be opened, and what to do, in sentences."""
        from octavo.server.store import UnusableDatabase

        if isinstance(error, UnusableDatabase | NotPrivate):
            said = (error.strerror or str(error)).rstrip(".")
            return f"Could not open the data in {self.folder}: {said}. {self.start_over}".rstrip()
        return f"Could not open the data in {self.folder}: {in_words(error)}"

    def key(self) -> SecretStr:
        """Return the API key of that user. The first call creates it. Raises OSError."""
        private_folder(self.folder)
        if not self.key_file.exists():
            import secrets

            write_private(self.key_file, secrets.token_urlsafe(32))
        key = read_private(self.key_file).strip()
        redaction.remember_token(key)
        return SecretStr(key)

    def hold(self) -> Callable[[], None]:
        """Lock the folder for shared use, and return the function that unlocks it. Raises OSError."""
        private_folder(self.folder)
        try:
            return lock_file(self._lock, shared=True) or _nothing
        except OSError:  # the disk has no locks: only a reset needs one, and reports it
            return _nothing

    def hold_alone(self) -> Callable[[], None] | None:
        """Lock the folder for exclusive use, and return the function that unlocks it. None if another program uses it.

        Raises OSError.
        """
        private_folder(self.folder)
        return lock_file(self._lock)

    @property
    def _lock(self) -> Path:
        return self.folder / "open.lock"

    def clear(self) -> None:
        """Delete the database and the API keys."""
        for name in ("platform.db", "platform.db-wal", "platform.db-shm"):
            (self.folder / name).unlink(missing_ok=True)
        for key in self.folder.glob("key*"):
            key.unlink()


def demo_place(settings: Settings, *, large: bool = False, role: str = "") -> Place:
    folder = settings.data_folder / ("demo-large" if large else "demo")
    again = f"To start over and discard your changes in the demo, run: octavo demo{' --large' if large else ''} --reset"
    return Place(folder, "" if role == DEFAULT else role, again)


def folder_place(settings: Settings, folder: Path) -> Place:
    """Return the place of an opened folder. Each folder has its own platform, with its own comments."""
    import hashlib

    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    at = settings.data_folder / "folders" / name
    return Place(at, start_over=f"To start over, delete {at}. Your comments on this folder will be lost.")


@contextmanager
def _opened(place: Place) -> Iterator[Store]:
    """Open the store of a place in one transaction, to build a platform in it."""
    from octavo.server.store import Store

    store = Store(place.database)
    try:
        with store.transaction():
            yield store
    except BaseException:
        store.close()
        raise


def is_built(place: Place) -> bool:
    """Return whether the demo library is completely built there."""
    if not place.database.exists():
        return False
    from octavo.server.store import Store

    store = Store(place.database)
    try:
        return store.setting("library") is not None
    finally:
        store.close()


def build_demo(place: Place, *, large: bool = False) -> Platform:
    """Open the demo library, and build it first if it is new. `large` takes half a minute. Raises OSError."""
    from octavo.server.app import Platform
    from octavo.server.world import World

    with _opened(place) as store:
        world = World(store)
        if store.setting("library") is None:
            from octavo.server.demo.library import build  # lazy: used once, then the library is in the store

            build(world, today=world.now(), large=float(large))
            store.set_setting("library", "demo")
        store.add_key(place.key().get_secret_value(), CAST[place.role or DEFAULT])
        return Platform(world)


def build_folder(
    place: Place, folder: Path, name: str, left_out: list[str], on_progress: Callable[[int, int], object] | None = None
) -> Platform:
    """Open a folder as a space, and load the files that are new or changed. Raises OSError.

    Adds to `left_out` a sentence for each file that was not loaded completely. Calls `on_progress` with the number of files
    read so far and the number of all files. The search does not find the pages until `OpenFolder` has indexed them.
    """
    from octavo.server.app import Platform
    from octavo.server.loader import load
    from octavo.server.world import ORGANIZATION, PERSON, World, add_local_user

    with _opened(place) as store:
        world = add_local_user(World(store), name)
        loaded = load(world, folder, organization=ORGANIZATION, author=PERSON, on_progress=on_progress)
        left_out += [line(f"{each.path} {each.message}") for each in loaded.problems]
        store.add_key(place.key().get_secret_value(), PERSON)
        return Platform(world)


class Late:
    """A platform as an ASGI application, built in a thread at the first request."""

    def __init__(
        self,
        build: Callable[[], Platform],
        *,
        place: Place,
        latency: float = 0.0,
        fail: float = 0.0,
        on_close: Callable[[], None] = _nothing,
    ) -> None:
        """`latency` is in seconds, `fail` the share of failing requests from 0 to 1. `on_close` is called last."""
        self._on_close = on_close
        self._build, self._place = build, place
        self._latency, self._fail = latency, fail
        self._platform: Platform | None = None
        self._building: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            platform = await self.platform()
        except OSError as error:
            raise LocalFailure(self._place.why_not(error)) from error
        await platform(scope, receive, send)

    async def platform(self) -> Platform:
        """Return the platform, and build it first if needed. A failed build raises its error at every call."""
        import asyncio

        from octavo.client.threads import run_in_thread

        if self._building is None:
            self._building = asyncio.ensure_future(run_in_thread(self._build))
        platform: Platform = await asyncio.shield(self._building)
        platform.delay, platform.fail = self._latency, self._fail
        self._platform = platform
        return platform

    def close(self) -> None:
        """Stop the thread and close the database."""
        if self._platform is not None:
            self._platform.close()
            self._platform.world.store.close()
        self._on_close()
        self._on_close = _nothing
