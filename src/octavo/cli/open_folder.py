"""The files of a folder that is open in the app, and the changes in them."""

from __future__ import annotations

import threading
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from octavo.cli import platforms
from octavo.cli.platforms import Place

if TYPE_CHECKING:
    from octavo.server.app import Platform

SHARE = 30
"""The wait before the next check of all files, as a multiple of the time the last check took: at most 3 % of one
processor."""
AGAIN = 60.0
"""Seconds until changes that could not be loaded are loaded again."""
ENDS_WITHIN = 0.5
"""The most seconds to wait for the indexing thread at the end."""


class OpenFolder:
    """Loads the files of a folder into its platform. The methods run in a thread, never on the event loop."""

    def __init__(self, place: Place, folder: Path, name: str, left_out: list[str]) -> None:
        self._place, self._folder, self._name, self._left_out = place, folder, name, left_out
        self._called = folder.resolve().name or str(folder)
        self.progress = ""
        """The current step, in a sentence. Empty once all files are loaded and indexed."""
        self._last = b""
        """Fingerprint of the loaded files."""
        self._not_before = 0.0
        self._is_closed = False
        self._indexing: threading.Thread | None = None

    def build(self) -> Platform:
        """Load the folder and start indexing it for search. Raises OSError."""
        from octavo.server.folder import fingerprint

        self.progress = f"Looking for pages in {self._called}…"
        try:
            self._last = fingerprint(self._folder)
            platform = platforms.build_folder(self._place, self._folder, self._name, self._left_out, self._read)
        except BaseException:
            self.progress = ""
            raise
        self._index()
        return platform

    def look(self) -> bool:
        """Load the changes since the last call as a new revision. Return whether there were any. Raises OSError."""
        from octavo.server.folder import fingerprint

        began = monotonic()
        if self._is_closed or self.progress or began < self._not_before:
            return False
        now = fingerprint(self._folder)
        next_look = self._not_before = monotonic() + SHARE * (monotonic() - began)
        if now == self._last:
            return False
        from octavo.server.loader import load
        from octavo.server.store import Store
        from octavo.server.world import ORGANIZATION, PERSON, World

        self._not_before = began + AGAIN
        store = Store(self._place.database)  # a second connection, because the platform answers requests meanwhile
        try:
            loaded = load(World(store), self._folder, organization=ORGANIZATION, author=PERSON, on_progress=self._read)
        finally:
            store.close()
            self.progress = ""
        self._last, self._not_before = now, next_look
        self._index()
        return bool(loaded.created or loaded.edited or loaded.deleted or loaded.moved)

    def close(self) -> None:
        """Stop indexing. The rest is indexed when the folder is opened again."""
        self._is_closed = True
        if self._indexing is not None:
            self._indexing.join(ENDS_WITHIN)

    def _read(self, number: int, count: int) -> None:
        if number == count or number % 100 == 0:
            self.progress = f"Reading {self._called}: {number:,} of {count:,} files…"

    def _index(self) -> None:
        """Index the pages for search in a thread that ends with the program."""
        self.progress = f"Indexing {self._called} for search…"
        self._indexing = threading.Thread(target=self._index_all, daemon=True, name="octavo-indexing")
        self._indexing.start()

    def _index_all(self) -> None:
        from octavo.server.search_index import finish_reindexing
        from octavo.server.store import Store, WriteFailure
        from octavo.server.world import World

        def on_progress(done: int, count: int) -> bool:
            self.progress = f"Indexing {self._called} for search: {done:,} of {count:,} pages…"
            return not self._is_closed

        store = Store(self._place.database)
        try:
            for space in store.all("/spaces"):
                if space.get("revision") and not space.get("deletedAt"):
                    finish_reindexing(World(store), space["id"], on_progress)
        except WriteFailure as error:
            self._left_out.append(f"Search may miss some pages: {error.strerror}")
        finally:
            store.close()
            self.progress = ""
