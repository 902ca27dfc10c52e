"""Builds embedded platforms for the demo and for folders. Slow to load: imported after the first screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from octavo.api.safety import safe_line
from octavo.cli.arguments import DEFAULT_ROLE, PEOPLE_BY_ROLE
from octavo.cli.platform_folders import PlatformFolder
from octavo.lazy_import import lazy
from octavo.server.app import Platform
from octavo.server.page_texts import finish_reindexing
from octavo.server.rest import LOCAL_ORGANIZATION, LOCAL_USER, RequestContext, add_local_user
from octavo.server.store import Store, WriteFailure

_build_library = lazy("octavo.server.demo.library:build")  # lazy: used once, then the database has the demo
_load_folder = lazy("octavo.server.loader:load")  # lazy: the reader of folders, which the demo does not need
_loaded_space_id: Callable[..., str | None] = lazy("octavo.server.loader:loaded_space_id")


@contextmanager
def _open_for_build(folder: PlatformFolder) -> Iterator[Store]:
    """Open the database, which stays open after the `with` block. If the block fails, save nothing and close it."""
    store = Store(folder.database_file)
    try:
        with store.transaction():
            yield store
    except BaseException:
        store.close()
        raise


def is_built(folder: PlatformFolder) -> bool:
    """Return whether the folder already contains the complete demo library."""
    if not folder.database_file.exists():
        return False
    with closing(Store(folder.database_file)) as store:
        return store.setting("library") is not None


def open_demo_platform(folder: PlatformFolder, *, large: bool = False) -> Platform:
    """Open the demo. The first call builds it, which takes half a minute for a `large` demo. Raises OSError."""
    with _open_for_build(folder) as store:
        context = RequestContext(store)
        if store.setting("library") is None:
            _build_library(context, today=context.now(), large=float(large))
            store.set_setting("library", "demo")
        store.add_key(folder.read_key().get_secret_value(), PEOPLE_BY_ROLE[folder.role or DEFAULT_ROLE])
        return Platform(context)


def open_folder_platform(
    folder: PlatformFolder,
    pages_folder: Path,
    user_name: str,
    problems: list[str],
    on_progress: Callable[[int, int], object] | None = None,
) -> Platform:
    """Open a folder of Markdown files as a space, and load files that have changed. `user_name` is the name of the local
    user. `problems` gets a sentence for each file that could not be loaded completely.

    `on_progress` gets the number of files that were read, and of all files. With `on_progress`, the caller must also
    call `index_folder`, so that search finds the pages. Raises OSError.
    """
    with _open_for_build(folder) as store:
        context = add_local_user(RequestContext(store), user_name)
        loaded = _load_folder(
            context, pages_folder, organization_id=LOCAL_ORGANIZATION, author_id=LOCAL_USER, on_progress=on_progress
        )
        problems += [safe_line(f"{each.path} {each.message}") for each in loaded.problems]
        store.add_key(folder.read_key().get_secret_value(), LOCAL_USER)
        return Platform(context)


def update_folder(folder: PlatformFolder, pages_folder: Path, on_progress: Callable[[int, int], object]) -> bool:
    """Load the files of `pages_folder` that have changed. Return True if this made a new revision. Raises OSError."""
    with closing(Store(folder.database_file)) as store:
        loaded = _load_folder(
            RequestContext(store),
            pages_folder,
            organization_id=LOCAL_ORGANIZATION,
            author_id=LOCAL_USER,
            on_progress=on_progress,
        )
    return bool(loaded.has_changed)


def space_id_of_folder(folder: PlatformFolder, pages_folder: Path) -> str | None:
    """Return the ID of the space loaded from `pages_folder`. None if not loaded yet, or if deleted. Raises OSError."""
    with closing(Store(folder.database_file)) as store:
        return _loaded_space_id(RequestContext(store), pages_folder)


def index_folder(folder: PlatformFolder, on_progress: Callable[[int, int], bool]) -> str:
    """Index all pages for search, until `on_progress` returns False. Return the cause of a failure, or empty text."""
    with closing(Store(folder.database_file)) as store:
        try:
            for space in store.all("/spaces"):
                if space.get("revision") and not space.get("deletedAt"):
                    finish_reindexing(RequestContext(store), space["id"], on_progress)
        except WriteFailure as error:
            return str(error.strerror)
    return ""
