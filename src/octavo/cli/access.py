"""The settings, the server and the account that options, environment and profiles select."""

from __future__ import annotations

import argparse
import os

from pydantic import SecretStr

from octavo.cli.arguments import NOT_SIGNED_IN, Failure, tell
from octavo.client import profiles, signing_in
from octavo.client.credentials import StoreTimeout, StoreUnavailable
from octavo.client.profiles import Access
from octavo.data.event_log import LOG
from octavo.settings import Settings, read


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
        key = signing_in.key_of(home_of(settings).patient(tell), access)
    except StoreUnavailable as error:
        store = "keyring-locked" if isinstance(error, StoreTimeout) else "keyring-unreachable"
        raise Failure(str(error), NOT_SIGNED_IN, error=store) from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if key is None:
        raise Failure(signing_in.why_no_key(access), NOT_SIGNED_IN)
    return access, key
