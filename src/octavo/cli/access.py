"""Whom to ask, as whom: what the options, the environment and the profiles say together."""

from __future__ import annotations

import argparse
import os

from pydantic import SecretStr

from octavo.cli.arguments import NOT_SIGNED_IN, Failure, tell
from octavo.client import profiles, signing_in
from octavo.client.credentials import StoreUnavailable
from octavo.client.profiles import Access
from octavo.settings import Settings


def home_of(settings: Settings) -> signing_in.Home:
    """Where profiles and keys of this machine are kept."""
    return signing_in.Home.of(settings.config_folder, settings.data_folder)


def resolve(settings: Settings, options: argparse.Namespace) -> Access:
    """Whom to ask, and where the key is. Raises ValueError with a sentence."""
    known = home_of(settings).read()
    return profiles.resolve(known, os.environ, profile=options.profile, base_url=options.base_url)


def signed_in(settings: Settings, options: argparse.Namespace) -> tuple[Access, SecretStr]:
    """Whom to ask, with a key. Raises Failure: 4 when there is none."""
    try:
        access = resolve(settings, options)
        key = signing_in.key_of(home_of(settings).patient(tell), access)
    except StoreUnavailable as error:
        raise Failure(str(error), NOT_SIGNED_IN) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(signing_in.why_no_key(access), NOT_SIGNED_IN)
    return access, key
