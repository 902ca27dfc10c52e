"""A folder of Markdown files that is open in the app. Loads its files, and loads them again after a change."""

from __future__ import annotations

import re
import threading
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from octavo.api.safety import safe_line
from octavo.cli.platform_folders import PlatformFolder
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.server.app import Platform

# lazy: loads the server, after the first screen
_open_folder_platform = lazy("octavo.cli.platforms:open_folder_platform")
_update_folder = lazy("octavo.cli.platforms:update_folder")
_index_folder = lazy("octavo.cli.platforms:index_folder")
_fingerprint = lazy("octavo.documents.folders.folder:fingerprint")
_find_root = lazy("octavo.documents.folders.table_of_contents:find_root")

WAIT_FACTOR = 30
"""Pause between two checks for changed files, as a multiple of the duration of a check."""
RETRY_SECONDS = 60.0
"""Seconds until the next try after changed files could not be loaded."""
_MAX_TITLES = 100
_MAX_PREVIEW_BYTES = 1 << 16
"""Maximum number of bytes of `SUMMARY.md` that are read for a preview of the titles."""
_MAX_NAMES = 1000
_ENTRY = re.compile(r"^([ \t]{0,40})[*+-] \[((?:[^\]\\\n]|\\.)+)\]", re.MULTILINE)
_ESCAPED = re.compile(r"\\(.)")
STOP_SECONDS = 0.5
"""Maximum seconds that `close` waits for the indexing thread."""


class OpenFolder:
    """Loads a folder of files into its platform. `build`, `load_changes` and `wait_until_indexed` block the thread."""

    def __init__(self, platform_folder: PlatformFolder, folder: Path, user_name: str, problems: list[str]) -> None:
        self._platform_folder, self._folder, self._user_name = platform_folder, folder, user_name
        self._problems = problems
        self._title = folder.resolve().name or str(folder)
        self.root = ""
        """Path of the space's root in the folder, such as `docs`. Empty for the folder itself or before a load."""
        self.progress = ""
        """The current step of loading or indexing, as a sentence for the user. Empty if no step runs."""
        self._loaded_fingerprint = b""
        """Fingerprint of the files that were loaded last. Empty before the first load."""
        self._next_check_at = 0.0
        self._is_closed = False
        self._index_thread: threading.Thread | None = None

    def first_titles(self) -> list[str]:
        """Return titles to show during the first load: the indented titles in `SUMMARY.md`, else names of files and
        folders. Empty if the folder cannot be read."""
        summary = self._folder / "SUMMARY.md"
        try:
            if summary.is_file():
                with summary.open("rb") as file:
                    text = file.read(_MAX_PREVIEW_BYTES).decode("utf-8", "replace")
                titles = [
                    (each[1], _ESCAPED.sub(r"\1", each[2])) for each in islice(_ENTRY.finditer(text), _MAX_TITLES)
                ]
                return [f"{indent.expandtabs(4)}{safe_line(title)}" for indent, title in titles]
            names = sorted(each.name for each in islice(self._folder.iterdir(), _MAX_NAMES))
        except OSError:
            return []
        return [safe_line(name.removesuffix(".md")) for name in names if not name.startswith(".")][:_MAX_TITLES]

    def build(self) -> Platform:
        """Load the folder, and start to index its pages for search. Return the platform. Raises OSError."""
        self.progress = f"Looking for pages in {self._title}…"
        try:
            self._loaded_fingerprint, self.root = _fingerprint(self._folder), _find_root(self._folder)
            platform: Platform = _open_folder_platform(
                self._platform_folder, self._folder, self._user_name, self._problems, self._on_file_read
            )
        except BaseException:
            self.progress = ""
            raise
        self._start_indexing()
        return platform

    def load_changes(self) -> bool:
        """Load the changed files of the folder. Return whether this has made a new revision. Return False without a
        check while files are loaded or indexed, soon after the last check, and after `close`. Raises OSError."""
        started_at = monotonic()
        if self._is_closed or self.progress or started_at < self._next_check_at:
            return False
        fingerprint = _fingerprint(self._folder)
        next_check_at = self._next_check_at = monotonic() + WAIT_FACTOR * (monotonic() - started_at)
        if fingerprint == self._loaded_fingerprint:
            return False
        self._next_check_at = started_at + RETRY_SECONDS
        try:
            has_changed: bool = _update_folder(self._platform_folder, self._folder, self._on_file_read)
        finally:
            self.progress = ""
        self._loaded_fingerprint, self._next_check_at = fingerprint, next_check_at
        self.root = _find_root(self._folder)
        self._start_indexing()
        return has_changed

    def wait_until_indexed(self) -> None:
        """Block the calling thread until search finds all loaded pages."""
        if self._index_thread is not None:
            self._index_thread.join()

    def close(self) -> None:
        """Stop indexing. The remaining pages are indexed when the folder is opened again."""
        self._is_closed = True
        if self._index_thread is not None:
            self._index_thread.join(STOP_SECONDS)

    def _on_file_read(self, number: int, count: int) -> None:
        if number == count:
            self.progress = f"Saving {self._title}…"
        elif number % 100 == 0:
            self.progress = f"Reading {self._title}: {number:,} of {count:,} files…"

    def _start_indexing(self) -> None:
        self.progress = f"Indexing {self._title} for search…"
        self._index_thread = threading.Thread(target=self._index_all, daemon=True, name="octavo-indexing")
        self._index_thread.start()

    def _index_all(self) -> None:
        def on_progress(done: int, count: int) -> bool:
            self.progress = f"Indexing {self._title} for search: {done:,} of {count:,} pages…"
            return not self._is_closed

        try:
            if failure := _index_folder(self._platform_folder, on_progress):
                self._problems.append(f"Search may miss some pages: {failure}")
        finally:
            self.progress = ""
