"""Whom to ask, as whom: what the options, the environment and the profiles say together."""

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
    """Where profiles and keys of this machine are kept."""
    return signing_in.Home.of(settings.config_folder, settings.data_folder)


def resolve(settings: Settings, options: argparse.Namespace) -> tuple[Access, Callable[[], SecretStr | None]]:
    """Whom to ask, and what fetches the key. Raises ValueError with a sentence."""
    home = home_of(settings)
    access = profiles.resolve(home.read(), os.environ, profile=options.profile, base_url=options.base_url)
    return access, lambda: signing_in.key_of(home, access)


def signed_in(settings: Settings, options: argparse.Namespace) -> tuple[Access, SecretStr]:
    """Whom to ask, with a key. Raises Failure: 4 when there is none."""
    try:
        access, fetch = resolve(settings, options)
        key = fetch()
    except StoreUnavailable as error:
        raise Failure(str(error), NOT_SIGNED_IN) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(
            f"nobody is signed in at {access.origin}. Sign in with: octavo auth login, or set OCTAVO_API_KEY",
            NOT_SIGNED_IN,
        )
    return access, key
