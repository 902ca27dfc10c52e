"""Builds the embedded platforms: the demo, and folders of Markdown files, which can change while they are open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

from octavo.api.safety import safe_line
from octavo.cli.demo_roles import DEFAULT_ROLE, PEOPLE_BY_ROLE
from octavo.cli.platform_folders import PlatformFolder
from octavo.server.app import Platform
from octavo.server.loader import load, loaded_space
from octavo.server.search_index import finish_reindexing
from octavo.server.store import Store, WriteFailure
from octavo.server.world import ORGANIZATION, PERSON, World, add_local_user


@contextmanager
def _open_for_build(folder: PlatformFolder) -> Iterator[Store]:
    """Open the store of a platform folder in one transaction, to build a platform in it."""
    store = Store(folder.database)
    try:
        with store.transaction():
            yield store
    except BaseException:
        store.close()
        raise


def is_built(folder: PlatformFolder) -> bool:
    """Return whether the demo library is completely built in a platform folder."""
    if not folder.database.exists():
        return False
    with closing(Store(folder.database)) as store:
        return store.setting("library") is not None


def build_demo(folder: PlatformFolder, *, large: bool = False) -> Platform:
    """Open the demo library, and build it if it is new. The `large` library takes half a minute to build. Raises
    OSError."""
    with _open_for_build(folder) as store:
        world = World(store)
        if store.setting("library") is None:
            from octavo.server.demo.library import build  # lazy: used once, then the database has the library

            build(world, today=world.now(), large=float(large))
            store.set_setting("library", "demo")
        store.add_key(folder.key().get_secret_value(), PEOPLE_BY_ROLE[folder.role or DEFAULT_ROLE])
        return Platform(world)


def build_folder(
    folder: PlatformFolder,
    pages: Path,
    name: str,
    left_out: list[str],
    on_progress: Callable[[int, int], object] | None = None,
) -> Platform:
    """Open a folder of pages as a space, and load the files that are new or changed. Raises OSError.

    Adds to `left_out` a sentence for each file that was not loaded completely. Calls `on_progress` with the number of files
    read so far and the number of all files. The search does not find the pages until `OpenFolder` has indexed them.
    """
    with _open_for_build(folder) as store:
        world = add_local_user(World(store), name)
        loaded = load(world, pages, organization=ORGANIZATION, author=PERSON, on_progress=on_progress)
        left_out += [safe_line(f"{each.path} {each.message}") for each in loaded.problems]
        store.add_key(folder.key().get_secret_value(), PERSON)
        return Platform(world)


def update_folder(folder: PlatformFolder, pages: Path, on_progress: Callable[[int, int], object]) -> bool:
    """Load the changed files of a folder as a new revision. Return whether there were any. Raises OSError. Uses a
    second connection to the database, because the platform answers requests meanwhile."""
    with closing(Store(folder.database)) as store:
        loaded = load(World(store), pages, organization=ORGANIZATION, author=PERSON, on_progress=on_progress)
    return bool(loaded.created or loaded.edited or loaded.deleted or loaded.moved)


def space_of_folder(folder: PlatformFolder, pages: Path) -> str | None:
    """Return the ID of the space of a folder. None if the folder is not loaded. Raises OSError."""
    with closing(Store(folder.database)) as store:
        return loaded_space(World(store), pages)


def index_folder(folder: PlatformFolder, on_progress: Callable[[int, int], bool]) -> str:
    """Index the pages of a folder for search, until `on_progress` returns False. Return why the index could not be
    written. Empty if it was."""
    with closing(Store(folder.database)) as store:
        try:
            for space in store.all("/spaces"):
                if space.get("revision") and not space.get("deletedAt"):
                    finish_reindexing(World(store), space["id"], on_progress)
        except WriteFailure as error:
            return str(error.strerror)
    return ""


WAIT_FACTOR = 30
"""The wait before the next check of all files, as a multiple of the time the last check took: at most 3 % of one
processor."""
RETRY_SECONDS = 60.0
"""Seconds until changes that could not be loaded are loaded again."""
STOP_SECONDS = 0.5
"""Maximum number of seconds to wait for the indexing thread at the end."""


class OpenFolder:
    """Loads the files of a folder into its platform. The methods run in a thread, never on the event loop."""

    def __init__(self, platform_folder: PlatformFolder, folder: Path, user_name: str, left_out: list[str]) -> None:
        self._platform_folder, self._folder, self._user_name = platform_folder, folder, user_name
        self._left_out = left_out
        self._title = folder.resolve().name or str(folder)
        self.progress = ""
        """The current step, in a sentence. Empty once all files are loaded and indexed."""
        self._loaded_fingerprint = b""
        """Fingerprint of the loaded files."""
        self._next_check_at = 0.0
        self._is_closed = False
        self._index_thread: threading.Thread | None = None

    def build(self) -> Platform:
        """Load the folder and start indexing it for search. Raises OSError."""
        # lazy: the server, after the first screen
        from octavo.cli import platforms
        from octavo.documents.folders.folder import fingerprint

        self.progress = f"Looking for pages in {self._title}…"
        try:
            self._loaded_fingerprint = fingerprint(self._folder)
            platform = platforms.build_folder(
                self._platform_folder, self._folder, self._user_name, self._left_out, self._on_file_read
            )
        except BaseException:
            self.progress = ""
            raise
        self._start_indexing()
        return platform

    def load_changes(self) -> bool:
        """Load the changes since the last call as a new revision. Return whether there were any. Raises OSError."""
        # lazy: the server, after the first screen
        from octavo.cli import platforms
        from octavo.documents.folders.folder import fingerprint

        started_at = monotonic()
        if self._is_closed or self.progress or started_at < self._next_check_at:
            return False
        now = fingerprint(self._folder)
        next_check_at = self._next_check_at = monotonic() + WAIT_FACTOR * (monotonic() - started_at)
        if now == self._loaded_fingerprint:
            return False
        self._next_check_at = started_at + RETRY_SECONDS
        try:
            has_changed = platforms.update_folder(self._platform_folder, self._folder, self._on_file_read)
        finally:
            self.progress = ""
        self._loaded_fingerprint, self._next_check_at = now, next_check_at
        self._start_indexing()
        return has_changed

    def close(self) -> None:
        """Stop indexing. The rest is indexed when the folder is opened again."""
        self._is_closed = True
        if self._index_thread is not None:
            self._index_thread.join(STOP_SECONDS)

    def _on_file_read(self, number: int, count: int) -> None:
        if number == count or number % 100 == 0:
            self.progress = f"Reading {self._title}: {number:,} of {count:,} files…"

    def _start_indexing(self) -> None:
        """Index the pages for search in a thread that ends with the program."""
        self.progress = f"Indexing {self._title} for search…"
        self._index_thread = threading.Thread(target=self._index_all, daemon=True, name="octavo-indexing")
        self._index_thread.start()

    def _index_all(self) -> None:
        from octavo.cli import platforms  # lazy: the server, after the first screen

        def on_progress(done: int, count: int) -> bool:
            self.progress = f"Indexing {self._title} for search: {done:,} of {count:,} pages…"
            return not self._is_closed

        try:
            if failure := platforms.index_folder(self._platform_folder, on_progress):
                self._left_out.append(f"Search may miss some pages: {failure}")
        finally:
            self.progress = ""
