"""Opens the app with the session that the command line selects. Imports little: the app is imported after its first
picture."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import settings as settings_module
from octavo.cli.arguments import Failure, tell
from octavo.cli.traceback_hooks import install_other_hooks
from octavo.client.origin import DEFAULT
from octavo.first_picture import FirstPicture
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.client.profiles import Access


@dataclass(frozen=True)
class Opening:
    """The account or platform to open, and what the app shows about it."""

    place: str
    """Unique name of the session on this machine, for its first picture. Empty for the sign-in screen."""
    origin: str = DEFAULT
    """Server that gets the API key typed in the sign-in screen."""
    access: Access | None = None
    """Account on a server. None for the demo, a folder and the sign-in screen."""
    greeting: str = ""
    """First message of the sign-in screen."""
    ref: str = ""
    """REF or URL to open first. Empty for the usual first screen."""
    folder: Path | None = None
    """Folder of pages to open. None for a server and for the demo."""
    is_demo: bool = False


def run(options: argparse.Namespace) -> int:
    """Open the app and return when you quit. Raises Failure."""
    # Before the first paint there is no garbage to collect. The app enables garbage collection again.
    gc.disable()
    settings = settings_module.read(os.environ)
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("Octavo needs a terminal. In a script, use: octavo api NAME")
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure(
            "Could not read the keyboard: standard input is not a terminal. Start Octavo without redirecting its input."
        )
    if os.environ.get("TERM") == "dumb":
        raise Failure("Could not start Octavo: this terminal reports TERM=dumb. Use another terminal.")
    opening = _opening(settings, options)
    # The API key is read by now. A browser or an editor that the app starts must not inherit it.
    os.environ.pop("OCTAVO_API_KEY", None)
    # A shell exports its size at the start in these variables. The app asks the terminal instead.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _picture(settings, opening, fresh=options.reset)
    try:
        install_other_hooks()
        from octavo.cli.running_app import run_app  # lazy: Textual, after the first picture

        code, messages = run_app(settings, options, opening, picture)
    finally:
        if picture is not None:
            picture.take_down()
    tell(*messages)
    return code


def _opening(settings: Settings, options: argparse.Namespace) -> Opening:
    """Return the session that the command line opens. Raises Failure."""
    ref, folder = options.target, options.pages_folder
    if (named := folder_named(options.target)) is not None:
        ref, folder = "", named
    if options.command == "demo" or options.use_demo:
        place = f"{'demo-large' if options.large else 'demo'} {options.role}".rstrip()
        return Opening(place, ref=ref, is_demo=True)
    if folder is not None:
        return Opening(f"folder {os.path.realpath(folder)}", ref=ref, folder=Path(folder).expanduser())
    # lazy: pydantic, not needed for the picture of the demo
    from octavo.cli.access import resolve
    from octavo.client.accounts import Accounts

    try:
        access = resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error)) from error
    if access.source in ("env", "keyring", "file"):
        return Opening(Accounts(settings.state_folder).name_of(access), access.origin, access, ref=ref)
    has_lost_key = access.source == "session" and access.profile is not None
    greeting = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if has_lost_key
        else access.problem
    )
    return Opening("", access.origin, greeting=greeting)


def folder_named(target: str) -> Path | None:
    """Return the folder that the argument of `octavo open` names. None if it is a REF. A name that ends with a colon is a
    space, and one that begins like a path is a folder, also if it does not exist."""
    if not target or target.endswith(":") or "://" in target:
        return None
    folder = Path(target).expanduser()
    is_path = target.startswith(("/", "./", "../", "~")) or target in (".", "..")
    return folder if is_path or folder.is_dir() else None


def _picture(settings: Settings, opening: Opening, *, fresh: bool) -> FirstPicture | None:
    """Return the first picture of the session, and show it if it fits the terminal. None if another screen is first."""
    if not opening.place or opening.ref:
        return None
    look = f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    picture = FirstPicture(settings.cache_folder, opening.place, look)
    if fresh:
        picture.delete()
    else:
        picture.show()
    return picture
