"""The server and the account that options, environment and profiles select."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from pydantic import SecretStr

from octavo.cli.arguments import NOT_SIGNED_IN, Failure
from octavo.client import profiles, signing_in
from octavo.client.credentials import StoreUnavailable
from octavo.client.profiles import Access
from octavo.settings import Settings


def home_of(settings: Settings) -> signing_in.Home:
    """Return the stores of profiles and API keys on this machine."""
    return signing_in.Home.of(settings.config_folder, settings.data_folder)


def resolve(settings: Settings, options: argparse.Namespace) -> tuple[Access, Callable[[], SecretStr | None]]:
    """Return the account, and a function that gets its API key. Raises ValueError with a message."""
    home = home_of(settings)
    access = profiles.resolve(home.read(), os.environ, profile=options.profile, base_url=options.base_url)
    return access, lambda: signing_in.key_of(home, access)


def signed_in(settings: Settings, options: argparse.Namespace) -> tuple[Access, SecretStr]:
    """Return the account and its API key. Raises Failure with code 4 if there is none."""
    try:
        access, fetch = resolve(settings, options)
        key = fetch()
    except StoreUnavailable as error:
        raise Failure(str(error), NOT_SIGNED_IN) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(
            f"You are not signed in to {access.origin}. Run octavo auth login, or set OCTAVO_API_KEY.",
            NOT_SIGNED_IN,
        )
    return access, key
