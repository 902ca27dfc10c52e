"""Chooses the account, folder or demo that the app opens first. Imports little: see `octavo.cli.app`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from octavo import settings as settings_module
from octavo.cli.standard_streams import Failure
from octavo.client.origin import DEFAULT_ORIGIN
from octavo.lazy_import import lazy
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.client.profiles import Access

# lazy: pydantic, which the demo does not need before its first picture
_resolve = lazy("octavo.cli.access:resolve_access")
_storage_names = lazy("octavo.client.profiles:StorageNames")


class SessionChoice(NamedTuple):
    """What the app opens first: an account on a server, a folder, the demo, or the sign-in screen."""

    first_picture_name: str
    """Name under which `FirstPicture` saves the first screen. Empty for the sign-in screen."""
    origin: str = DEFAULT_ORIGIN
    """URL of the server to which the sign-in screen sends the API key."""
    access: Access | None = None
    """The account to open. None for the demo, a folder and the sign-in screen."""
    greeting: str = ""
    """First message on the sign-in screen. Empty for none."""
    ref: str = ""
    """REF or URL of the item that the first screen shows. Empty for the usual first screen."""
    folder: Path | None = None
    """The folder of Markdown files to open. None for an account, the demo and the sign-in screen."""
    is_demo: bool = False


def choose_session(settings: Settings, options: argparse.Namespace) -> SessionChoice:
    """Return the session that the command line opens. Raises Failure."""
    ref, folder = options.target, options.pages_folder
    if options.command == "demo" or options.use_demo:
        first_picture_name = f"{'demo-large' if options.large else 'demo'} {options.role}".rstrip()
        return SessionChoice(first_picture_name, ref=ref, is_demo=True)
    if (named_folder := folder_named(options)) is not None:
        ref, folder = "", named_folder
    if folder is not None:
        path = Path(os.path.expanduser(folder))
        return SessionChoice(f"folder {os.path.realpath(path)}", ref=ref, folder=path)
    try:
        access: Access = _resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.error_in_words(error)) from error
    if access.source in ("env", "keyring", "file"):
        return SessionChoice(_storage_names(settings.state_folder).name_of(access), access.origin, access, ref=ref)
    has_lost_key = access.source == "session" and access.profile is not None
    greeting = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if has_lost_key
        else access.problem
    )
    return SessionChoice("", access.origin, greeting=greeting)


def folder_named(options: argparse.Namespace) -> Path | None:
    """Return the folder given to `octavo open`. A path like `./a` need not exist. None for a REF, a URL or `--demo`."""
    target: str = options.target
    if not target or options.use_demo or target.endswith(":") or "://" in target:
        return None
    # Not `Path.expanduser` and `Path.is_dir`, which raise errors for unknown users and long names.
    folder = Path(os.path.expanduser(target))
    is_path = target.startswith(("/", "./", "../", "~")) or target in (".", "..")
    return folder if is_path or os.path.isdir(folder) else None
