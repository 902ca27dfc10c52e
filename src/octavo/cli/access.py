"""Reads the settings, and finds the server and the account that a command uses."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from octavo.cli.event_log import LOG
from octavo.cli.platform_folders import demo_folder, platform_folder_of
from octavo.cli.standard_streams import NOT_SIGNED_IN, USAGE, Failure, tell, why_read_only
from octavo.client import profiles, signing_in
from octavo.client.credentials import StoreTimeout, StoreUnavailable
from octavo.client.profiles import Access
from octavo.lazy_import import lazy
from octavo.settings import Settings, error_in_words, read

if TYPE_CHECKING:
    from octavo.cli.late_client import LazyClient

# lazy: the client and the data layer, which commands without requests do not need
_server_client: Callable[..., LazyClient] = lazy("octavo.cli.late_client:LazyClient")
_demo_client: Callable[..., LazyClient] = lazy("octavo.cli.sessions:demo_client")
_embedded_client: Callable[..., LazyClient] = lazy("octavo.cli.sessions:embedded_client")
_prepare_folder = lazy("octavo.cli.sessions:prepare_folder")


def read_settings() -> Settings:
    """Read the settings, open the event log, and tell the user about mistakes in the settings."""
    settings = read(os.environ)
    LOG.open(settings.state_folder)
    tell(*settings.problems)
    return settings


def profile_store_of(settings: Settings) -> signing_in.ProfileStore:
    """Return the store of profiles and API keys on this machine."""
    return signing_in.ProfileStore.of(settings.config_folder, settings.data_folder)


def resolve_access(settings: Settings, options: argparse.Namespace) -> Access:
    """Return the server and account of the options or the environment. Raises ValueError if these are unusable."""
    saved_profiles = profile_store_of(settings).read()
    return profiles.resolve_access(saved_profiles, os.environ, profile=options.profile, base_url=options.base_url)


def read_account_and_key(settings: Settings, options: argparse.Namespace) -> tuple[Access, SecretStr]:
    """Return the selected account and its API key. Raises Failure, with exit code 4 if there is no usable key."""
    try:
        access = resolve_access(settings, options)
        key = signing_in.token_of(profile_store_of(settings).with_longer_timeout(tell), access)
    except StoreUnavailable as error:
        error_code = "keyring-locked" if isinstance(error, StoreTimeout) else "keyring-unreachable"
        raise Failure(str(error), NOT_SIGNED_IN, error=error_code) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(signing_in.no_token_reason(access), NOT_SIGNED_IN)
    return access, key


def refuse_several_sources(options: argparse.Namespace) -> None:
    """Raise Failure if `--demo` is used with `--folder`, `--profile` or `--base-url`."""
    if options.use_demo and (options.pages_folder is not None or options.profile or options.base_url):
        raise Failure("Could not connect: use --demo without --folder, --profile and --base-url.", USAGE)


def open_client(options: argparse.Namespace, settings: Settings) -> LazyClient:
    """Return a client for the demo, folder or account that `options` name, without cache and outbox. Raises Failure."""
    refuse_several_sources(options)
    read_only_reason = why_read_only(options)
    try:
        if options.use_demo:
            return _demo_client(demo_folder(settings), read_only_reason=read_only_reason)
        if options.pages_folder is not None:
            path = Path(os.path.expanduser(options.pages_folder))
            folder = platform_folder_of(settings, path)
            return _embedded_client(folder, _prepare_folder(folder, path, [])[1], read_only_reason=read_only_reason)
    except (ValueError, OSError) as error:
        raise Failure(error_in_words(error)) from error
    access, key = read_account_and_key(settings, options)
    read_only_reason = read_only_reason or access.why_read_only
    return _server_client(access.origin, lambda _: key, ca_file=settings.ca_file, read_only_reason=read_only_reason)
