"""`octavo auth`: sign in and out, list and switch accounts."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys

from octavo.api.errors import ApiError, Unauthorized
from octavo.cli.access import home_of, read_settings
from octavo.cli.arguments import NOT_SIGNED_IN, Failure, tell, write_out
from octavo.client import keys, profiles, signing_in
from octavo.client.accounts import Accounts
from octavo.client.credentials import StoreUnavailable
from octavo.client.origin import host_of
from octavo.client.profiles import Access
from octavo.settings import Settings, in_words

STORE_NAMES = {
    "keyring": "in the system keyring",
    "file": "unencrypted in a private file",
    "env": "in OCTAVO_API_KEY",
    "session": "for this session only",
    "none": "nowhere",
}


def run(options: argparse.Namespace) -> int:
    settings = read_settings()
    try:
        return {"login": _login, "logout": _logout, "status": _status, "switch": _switch}[options.action](
            settings, options
        )
    except Unauthorized as error:
        raise Failure(str(error), NOT_SIGNED_IN) from error
    except (ApiError, StoreUnavailable, ValueError, OSError) as error:
        raise Failure(in_words(error)) from error


def _login(settings: Settings, options: argparse.Namespace) -> int:
    home = home_of(settings).patient(tell)
    # The API key is typed or piped in now, not read from the environment.
    environ = {name: value for name, value in os.environ.items() if name != profiles.KEY_VARIABLE}
    profile_name = options.profile if options.profile in home.read().entries else None
    access = profiles.resolve(home.read(), environ, profile=profile_name, base_url=options.base_url)
    key = keys.parse_token(_read_key(options, host_of(access.origin)))
    signed = asyncio.run(
        signing_in.login(home, access.origin, key, name=options.profile, insecure_storage=options.insecure_storage)
    )
    for fact in (*signed.identity.facts, *signed.identity.missing):
        _say(fact)
    if signed.notice:
        # This command is the whole session, so a key stored for the session is lost now.
        raise Failure(f"The API key is valid, but could not be stored, so you are not signed in. {signed.notice}")
    _say(f"Signed in to {access.origin} as profile {signed.profile.name}.")
    _say(f"The API key is stored {STORE_NAMES[signed.profile.store]}.")
    return 0


def _read_key(options: argparse.Namespace, host: str) -> str:
    if options.with_token:
        try:
            return sys.stdin.read(4096) if sys.stdin is not None else ""
        except UnicodeDecodeError:
            raise ValueError("Could not read the API key: standard input is not text.") from None
    if sys.stdin is None or not sys.stdin.isatty():
        raise ValueError(
            "Could not ask for the API key: standard input is not a terminal. To read the API key from a file, run: octavo auth login --with-token < FILE"
        )
    if os.environ.get("TEXTUAL_LOG"):
        raise ValueError(
            "Could not ask for the API key: TEXTUAL_LOG is set and records what you type. Unset TEXTUAL_LOG, then try again."
        )
    try:
        return getpass.getpass(f"API key for {host}: ")
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the shell prompt starts on a new line
        raise


def _logout(settings: Settings, options: argparse.Namespace) -> int:
    from octavo.cli.sessions import sign_out  # lazy: the data layer, not needed to sign in

    signed_out = signing_in.logout(home_of(settings).patient(tell), options.profile)
    accounts = Accounts(settings.state_folder)
    name = accounts.name_of(Access(signed_out.profile.origin, signed_out.profile, signed_out.profile.store))
    remains = sign_out(settings, name, *accounts.earlier_names_of(name), drafts=options.drafts)
    deleted = "cached pages" if signed_out.key_left else "API key and cached pages"
    _say(f"Signed out of {signed_out.profile.origin} (profile {signed_out.profile.name}). Deleted the {deleted}.")
    for each in remains.sentences():
        _say(each)
    if remains.drafts:
        _say("To delete the drafts too, run: octavo auth logout --drafts")
    if signed_out.current:
        _say(f"The current profile is now {signed_out.current}.")
    if signed_out.key_left:
        raise Failure(signed_out.key_left)
    return 0


def _status(settings: Settings, options: argparse.Namespace) -> int:
    home = home_of(settings)
    access = profiles.resolve(home.read(), os.environ, profile=options.profile, base_url=options.base_url)
    found = signing_in.status(home, access)
    for each in found:
        mark = "*" if each.current else " "
        name = each.profile.name if each.profile else "-"
        user_name = each.profile.user_name if each.profile else ""
        key = (
            f"API key …{each.ending} ({each.fingerprint}) {STORE_NAMES[each.source]}"
            if each.fingerprint
            else each.problem
        )
        only = "  read-only" if each.profile and each.profile.read_only else ""
        _say(f"{mark} {name:<12} {each.origin}  {user_name}  {key}{only}")
    if problem := home.read().problem:
        _say(problem)
    return 0 if any(each.current and each.fingerprint for each in found) else NOT_SIGNED_IN


def _switch(settings: Settings, options: argparse.Namespace) -> int:
    profile = signing_in.switch(home_of(settings), options.name)
    _say(f"The current profile is now {profile.name} ({profile.origin}).")
    return 0


def _say(sentence: str) -> None:
    write_out(f"{sentence}\n")
