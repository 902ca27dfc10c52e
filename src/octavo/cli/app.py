"""Opens the app with the account, folder or demo that the command line selects, or opens a REF in the web browser. Imports
little, because a saved picture of the first screen is shown before the app is imported."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from octavo import settings as settings_module
from octavo.cli.standard_streams import USAGE, Failure, install_thread_and_log_hooks, is_terminal, tell
from octavo.client.origin import DEFAULT
from octavo.first_picture import FirstPicture
from octavo.lazy_import import lazy
from octavo.settings import Settings

if TYPE_CHECKING:
    from octavo.client.profiles import Access
    from octavo.tui.core.session import Session

_run_app = lazy("octavo.cli.running_app:run_app")  # lazy: Textual, after the first picture
# lazy: the API. Without a target, Octavo shows its first picture before it loads the API.
_parse_ref = lazy("octavo.cli.refs:parse_ref")
_references = lazy("octavo.cli.refs:References")
_run_connected = lazy("octavo.cli.connection:run_connected")
_open_url = lazy("octavo.cli.output:open_in_browser")
# lazy: pydantic, which the demo does not need before its first picture
_resolve = lazy("octavo.cli.access:resolve_access")
_accounts = lazy("octavo.client.profiles:Accounts")


def run(options: argparse.Namespace) -> int:
    """Open the app and return when you quit, or open a REF in the web browser. Return the exit code. Raises Failure."""
    if options.target and folder_named(options.target) is None and "://" not in options.target:
        _parse_ref(options.target)  # fails before the app is opened
    if options.web:
        return _open_in_browser(options)
    # Before the first paint there is no garbage to collect. The app enables garbage collection again.
    gc.disable()
    settings = settings_module.read(os.environ)
    if not is_terminal(sys.stdout):
        raise Failure("Octavo needs a terminal. In a script, use: octavo api NAME")
    if not is_terminal(sys.stdin):
        raise Failure(
            "Could not read the keyboard: standard input is not a terminal. Start Octavo without redirecting its input."
        )
    if os.environ.get("TERM") == "dumb":
        raise Failure("Could not start Octavo: this terminal reports TERM=dumb. Use another terminal.")
    choice = choose_session(settings, options)
    # The API key is read by now. A browser or an editor that the app starts must not inherit it.
    os.environ.pop("OCTAVO_API_KEY", None)
    # These variables may have the size of the terminal at the start of the shell. Without them, the app asks the
    # terminal.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    picture = _show_picture(settings, choice, fresh=options.reset)
    try:
        install_thread_and_log_hooks()
        code: int
        code, messages = _run_app(settings, options, choice, picture)
    finally:
        if picture is not None:
            picture.take_down()
    tell(*messages)
    return code


def _show_picture(settings: Settings, choice: SessionChoice, *, fresh: bool) -> FirstPicture | None:
    """Show the saved picture of the first screen of the session, and return it. With `fresh`, delete the saved picture
    instead. None if the app opens another screen first."""
    if not choice.session_name or choice.ref:
        return None
    look = f"{settings.theme} {settings.ascii} {settings.reorders_right_to_left} {settings.has_light_background}"
    picture = FirstPicture(settings.cache_folder, choice.session_name, look)
    if fresh:
        picture.delete()
    else:
        picture.show()
    return picture


def _open_in_browser(options: argparse.Namespace) -> int:
    if not options.target or folder_named(options.target) is not None:
        raise Failure("Could not open the browser: --web needs a REF or a URL.", USAGE)

    async def open_target(session: Session) -> int:
        _open_url(session, (await _references(session, options).target(options.target)).url)
        return 0

    code: int = _run_connected(options, open_target, action="find what to open")
    return code


class SessionChoice(NamedTuple):
    """The session to open first: an account on a server, a folder, the demo, or the sign-in screen."""

    session_name: str
    """Name of the saved picture of the first screen, unique on this machine. Empty for the sign-in screen."""
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


def choose_session(settings: Settings, options: argparse.Namespace) -> SessionChoice:
    """Return the session that the command line opens. Raises Failure."""
    ref, folder = options.target, options.pages_folder
    if (named := folder_named(options.target)) is not None:
        ref, folder = "", named
    if options.command == "demo" or options.use_demo:
        session_name = f"{'demo-large' if options.large else 'demo'} {options.role}".rstrip()
        return SessionChoice(session_name, ref=ref, is_demo=True)
    if folder is not None:
        path = Path(os.path.expanduser(folder))
        return SessionChoice(f"folder {os.path.realpath(path)}", ref=ref, folder=path)
    try:
        access: Access = _resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error)) from error
    if access.source in ("env", "keyring", "file"):
        return SessionChoice(_accounts(settings.state_folder).name_of(access), access.origin, access, ref=ref)
    has_lost_key = access.source == "session" and access.profile is not None
    greeting = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if has_lost_key
        else access.problem
    )
    return SessionChoice("", access.origin, greeting=greeting)


def folder_named(target: str) -> Path | None:
    """Return the folder that the argument of `octavo open` names. None if it is a REF. Even if it does not exist,
    `handbook:` is always a space, and `./handbook` always a folder."""
    if not target or target.endswith(":") or "://" in target:
        return None
    # Not `Path.expanduser` and `Path.is_dir`, which raise errors for unknown users and long names.
    folder = Path(os.path.expanduser(target))
    is_path = target.startswith(("/", "./", "../", "~")) or target in (".", "..")
    return folder if is_path or os.path.isdir(folder) else None
