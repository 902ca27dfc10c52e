"""The settings, the server and the account that options, environment and profiles select, and the session that the app opens
first. Imports little: see `octavo.cli.app`."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from octavo import settings as settings_module
from octavo.cli.failures import NOT_SIGNED_IN, USAGE, Failure, why_read_only
from octavo.cli.platform_folders import demo_folder, folder_of_pages
from octavo.cli.standard_streams import tell
from octavo.client import profiles, signing_in
from octavo.client.credentials import StoreTimeout, StoreUnavailable
from octavo.client.origin import DEFAULT
from octavo.client.profiles import Access
from octavo.data.event_log import LOG
from octavo.settings import Settings, in_words, read

if TYPE_CHECKING:
    from octavo.cli.late_client import LazyClient


def read_settings() -> Settings:
    """Return the settings for a command other than the app, and open the log. Problems go to standard error."""
    settings = read(os.environ)
    LOG.open(settings.state_folder)
    tell(*settings.problems)
    return settings


def home_of(settings: Settings) -> signing_in.Home:
    """Return the stores of profiles and API keys on this machine."""
    return signing_in.Home.of(settings.config_folder, settings.data_folder)


def resolve(settings: Settings, options: argparse.Namespace) -> Access:
    """Return the account, and where its API key is. Raises ValueError with a message."""
    known = home_of(settings).read()
    return profiles.resolve(known, os.environ, profile=options.profile, base_url=options.base_url)


def signed_in(settings: Settings, options: argparse.Namespace) -> tuple[Access, SecretStr]:
    """Return the account and its API key. Raises Failure with code 4 if there is none."""
    try:
        access = resolve(settings, options)
        key = signing_in.token_of(home_of(settings).with_longer_timeout(tell), access)
    except StoreUnavailable as error:
        store = "keyring-locked" if isinstance(error, StoreTimeout) else "keyring-unreachable"
        raise Failure(str(error), NOT_SIGNED_IN, error=store) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(signing_in.no_token_reason(access), NOT_SIGNED_IN)
    return access, key


def check_one_source(options: argparse.Namespace) -> None:
    """Raise Failure if the options name the demo and also an account or a folder."""
    if options.use_demo and (options.pages_folder is not None or options.profile or options.base_url):
        raise Failure("Could not connect: use --demo without --folder, --profile and --base-url.", USAGE)


def open_client(options: argparse.Namespace, settings: Settings) -> LazyClient:
    """Return a client for `--demo`, `--folder`, `--profile` and `--base-url`, without cache and outbox. Raises
    Failure."""
    from octavo.cli.late_client import LazyClient  # lazy: commands without requests

    check_one_source(options)
    read_only = why_read_only(options)
    try:
        if options.use_demo or options.pages_folder is not None:
            from octavo.cli import sessions  # lazy: the data layer, which a server does not need
        if options.use_demo:
            return sessions.demo_client(demo_folder(settings), read_only=read_only)
        if options.pages_folder is not None:
            path = Path(options.pages_folder).expanduser()
            folder = folder_of_pages(settings, path)
            return sessions.embedded_client(folder, sessions.load_folder(folder, path, [])[1], read_only=read_only)
    except (ValueError, OSError) as error:
        raise Failure(in_words(error)) from error
    access, key = signed_in(settings, options)
    read_only = read_only or access.why_read_only
    return LazyClient(access.origin, lambda _: key, ca_file=settings.ca_file, read_only=read_only)


@dataclass(frozen=True)
class SessionChoice:
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


def choose_session(settings: Settings, options: argparse.Namespace) -> SessionChoice:
    """Return the session that the command line opens. Raises Failure."""
    ref, folder = options.target, options.pages_folder
    if (named := folder_named(options.target)) is not None:
        ref, folder = "", named
    if options.command == "demo" or options.use_demo:
        place = f"{'demo-large' if options.large else 'demo'} {options.role}".rstrip()
        return SessionChoice(place, ref=ref, is_demo=True)
    if folder is not None:
        return SessionChoice(f"folder {os.path.realpath(folder)}", ref=ref, folder=Path(folder).expanduser())
    # lazy: pydantic, not needed for the picture of the demo
    from octavo.cli.access import resolve
    from octavo.client.accounts import Accounts

    try:
        access = resolve(settings, options)
    except (ValueError, OSError) as error:
        raise Failure(settings_module.in_words(error)) from error
    if access.source in ("env", "keyring", "file"):
        return SessionChoice(Accounts(settings.state_folder).name_of(access), access.origin, access, ref=ref)
    has_lost_key = access.source == "session" and access.profile is not None
    greeting = (
        f"The API key for {access.name} is not stored on this computer. Paste the API key again."
        if has_lost_key
        else access.problem
    )
    return SessionChoice("", access.origin, greeting=greeting)


def folder_named(target: str) -> Path | None:
    """Return the folder that the argument of `octavo open` names. None if it is a REF. A name that ends with a colon is a
    space, and one that begins like a path is a folder, also if it does not exist."""
    if not target or target.endswith(":") or "://" in target:
        return None
    folder = Path(target).expanduser()
    is_path = target.startswith(("/", "./", "../", "~")) or target in (".", "..")
    return folder if is_path or folder.is_dir() else None
