"""`octavo auth`: sign in and out, list, check and switch accounts, print and replace API keys."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SecretStr

from octavo.api import users
from octavo.api.errors import ApiError, Unauthorized
from octavo.cli.access import profile_store_of, read_account_and_key, read_settings
from octavo.cli.arguments import add_command
from octavo.cli.commands import CliCommand
from octavo.cli.connection import failure_of
from octavo.cli.event_log import LOG
from octavo.cli.output import Output, OutputColumn, add_output_options, declare_fields, start_browser
from octavo.cli.standard_streams import (
    FAILED,
    NOT_FOUND,
    NOT_SIGNED_IN,
    USAGE,
    Failure,
    is_terminal,
    tell,
    write_error,
    write_out,
)
from octavo.client import profiles, signing_in
from octavo.client.client import Client
from octavo.client.credentials import StoreUnavailable
from octavo.client.origin import DEFAULT_ORIGIN, host_of
from octavo.client.profiles import Access, StorageNames, parse_token
from octavo.client.signing_in import ProfileStatus, SignedIn
from octavo.data.state_db import NotSaved
from octavo.lazy_import import lazy
from octavo.settings import Settings, error_in_words

if TYPE_CHECKING:
    from octavo.cli.sessions import LocalRemains

# lazy: the data layer, not needed to sign in
_sign_out: Callable[..., LocalRemains] = lazy("octavo.cli.sessions:sign_out")


STORE_PHRASES = {
    "keyring": "in the system keyring",
    "file": "unencrypted in a private file",
    "env": "in OCTAVO_API_KEY",
    "session": "for this session only",
    "none": "nowhere",
}
TOKEN_PAGE = "https://app.gitbook.com/account/developer"
"""The page of GitBook on which you create personal access tokens."""
REQUEST_SECONDS = 10.0
FIELDS = declare_fields(
    "profile string?, origin string, user string, store string, status string, current boolean, readOnly boolean, "
    "problem string?"
)
_COLORS = {"accepted": "green", "rejected": "red", "missing": "red", "unreadable": "red", "unknown": "yellow"}
_COLUMNS = (
    OutputColumn("current", " ", text=lambda row: "*" if row["current"] else ""),
    OutputColumn("profile", text=lambda row: row["profile"] or "-"),
    OutputColumn("origin"),
    OutputColumn("user"),
    OutputColumn("store", "API KEY", text=lambda row: STORE_PHRASES[row["store"]], can_be_cut=True),
    OutputColumn("status", colors=_COLORS),
    OutputColumn("readOnly", "", text=lambda row: "read-only" if row["readOnly"] else ""),
)


def _declare(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    login = add_command(
        actions,
        "login",
        "sign in to a server",
        "Octavo asks for your API key, or reads it from standard input, and checks it. On GitBook, an API key is a "
        f"personal access token: create one at {TOKEN_PAGE}. Octavo stores the API key in the system keyring and sends "
        "it to this server only. --profile names the account.",
        examples=(
            "octavo auth login",
            "octavo auth login --base-url https://docs.example.com --profile work",
            "octavo auth login --with-token < key.txt",
        ),
    )
    login.add_argument("--web", action="store_true", help="open the page of GitBook that creates API keys")
    refresh_command = add_command(
        actions,
        "refresh",
        "replace the API key of an account",
        "The new API key must be of the same user. Your drafts, cached pages and queued changes stay.",
        examples=("octavo auth refresh", "octavo auth refresh --profile work --with-token < key.txt"),
    )
    for each in (login, refresh_command):
        each.add_argument("--with-token", action="store_true", help="read the API key from standard input")
    login.add_argument(
        "--insecure-storage", action="store_true", help="store the API key unencrypted in a private file (mode 0600)"
    )
    logout = add_command(actions, "logout", "sign out and delete cached data")
    logout.add_argument("--drafts", action="store_true", help="delete your unsent drafts too")
    status = add_command(
        actions,
        "status",
        "list accounts, and check their API keys",
        "Octavo asks each server whether it accepts the API key. The exit code is 4 if the API key of the current account "
        "does not work, and 1 if it could not be checked.",
        examples=("octavo auth status", "octavo auth status --offline --json"),
    )
    status.add_argument("--offline", action="store_true", help="send no requests")
    add_output_options(status)
    token = add_command(
        actions, "token", "print the API key", examples=("octavo auth token | wl-copy", "octavo auth token --show")
    )
    token.add_argument("--show", action="store_true", help="print it on a terminal too")
    switch = add_command(actions, "switch", "switch to another account")
    switch.add_argument("name", metavar="NAME", help="the name of the account (as shown by `octavo auth status`)")


def _run(options: argparse.Namespace) -> int:
    settings = read_settings()
    actions = {
        "login": _login,
        "logout": _logout,
        "refresh": _refresh,
        "status": _status,
        "switch": _switch,
        "token": _print_token,
    }
    try:
        return actions[options.action](settings, options)
    except Unauthorized as error:
        raise Failure(str(error), NOT_SIGNED_IN, error="token-rejected") from error
    except ApiError as error:
        raise failure_of(error, "sign in" if options.action == "login" else "replace the API key") from error
    except (StoreUnavailable, ValueError, OSError) as error:
        raise Failure(error_in_words(error)) from error


def _login(settings: Settings, options: argparse.Namespace) -> int:
    profile_store = profile_store_of(settings).with_longer_timeout(tell)
    # Ignore OCTAVO_API_KEY: the new API key is typed or piped in.
    environ = {name: value for name, value in os.environ.items() if name != profiles.KEY_VARIABLE}
    profile_name = options.profile if options.profile in profile_store.read().entries else None
    access = profiles.resolve_access(profile_store.read(), environ, profile=profile_name, base_url=options.base_url)
    if not options.with_token:
        if not options.insecure_storage:
            _check_keyring(profile_store)
        _show_token_page(access.origin, opens_browser=options.web)
    key = _read_key(options, host_of(access.origin))
    signed_in = asyncio.run(
        signing_in.login(
            profile_store, access.origin, key, name=options.profile, insecure_storage=options.insecure_storage
        )
    )
    for fact in (*signed_in.identity.facts, *signed_in.identity.missing):
        _print_line(fact)
    _require_stored(signed_in)
    _print_line(f"Signed in to {access.origin} as profile {signed_in.profile.name}.")
    _print_line(f"The API key is stored {STORE_PHRASES[signed_in.profile.store]}.")
    if signed_in.deletion_problem:
        _print_line(signed_in.deletion_problem)
    return 0


def _check_keyring(profile_store: signing_in.ProfileStore) -> None:
    """Raise Failure if there is no usable keyring. Checked before the user pastes an API key."""
    try:
        profile_store.keyring.title()
    except StoreUnavailable as error:
        raise Failure(f"Could not sign in: {signing_in.why_not_stored(error)}") from error


def _show_token_page(origin: str, *, opens_browser: bool) -> None:
    if origin == DEFAULT_ORIGIN:
        tell(f"Create a personal access token on this page: {TOKEN_PAGE}")
        if opens_browser:
            try:
                start_browser(TOKEN_PAGE)
            except Failure as failure:  # Not fatal, because you can open the page on another computer.
                tell(str(failure))
    elif opens_browser:
        raise Failure(f"Could not open the browser: Octavo does not know the page of {origin} for API keys.", USAGE)


def _require_stored(signed_in: SignedIn) -> None:
    if signed_in.notice:
        # The notice says why the key is not stored. Octavo would forget the key at the end of this command.
        cause = "is valid, but could not be stored, so you are not signed in with this API key"
        raise Failure(f"The API key {cause}. {signed_in.notice}")


def _read_key(options: argparse.Namespace, host: str) -> SecretStr:
    if not options.with_token:
        return parse_token(_ask_for_api_key(host, options.action))
    try:
        return parse_token(sys.stdin.read(4096) if sys.stdin is not None else "")
    except UnicodeDecodeError:
        raise ValueError("Could not read the API key: standard input is not text.") from None


def _ask_for_api_key(host: str, action: str) -> str:
    if not is_terminal(sys.stdin):
        raise ValueError(
            "Could not ask for the API key: standard input is not a terminal. To read the API key from a file, run: "
            f"octavo auth {action} --with-token < FILE"
        )
    if os.environ.get("TEXTUAL_LOG"):
        raise ValueError(
            "Could not ask for the API key: TEXTUAL_LOG is set and records what you type. Unset TEXTUAL_LOG, then try again."
        )
    try:
        return getpass.getpass(f"API key for {host}: ")
    except KeyboardInterrupt:
        write_error("\n")  # The shell prompt needs a new line.
        raise


def _refresh(settings: Settings, options: argparse.Namespace) -> int:
    profile_store = profile_store_of(settings).with_longer_timeout(tell)
    saved_profiles = profile_store.read()
    access = profiles.resolve_access(saved_profiles, {}, profile=options.profile, base_url=options.base_url)
    profile = access.profile
    if profile is None:
        raise Failure("You are not signed in. Run: octavo auth login", NOT_SIGNED_IN)
    key = _read_key(options, host_of(access.origin))
    is_file = profile.store == "file"
    signed_in = asyncio.run(
        signing_in.login(profile_store, access.origin, key, name=profile.name, insecure_storage=is_file)
    )
    if saved_profiles.current not in ("", profile.name):
        signing_in.switch(profile_store, saved_profiles.current)  # `login` made this profile current, so switch back
    _require_stored(signed_in)
    _print_line(f"Replaced the API key of profile {profile.name}. Your drafts are unchanged.")
    if os.environ.get(profiles.KEY_VARIABLE):
        _print_line(
            f"{profiles.KEY_VARIABLE} is set and overrides this API key. Unset the variable to use the new API key."
        )
    return 0


def _logout(settings: Settings, options: argparse.Namespace) -> int:
    profile_store = profile_store_of(settings).with_longer_timeout(tell)
    try:
        signed_out = signing_in.logout(profile_store, options.profile)
    except ValueError as error:
        raise Failure(str(error), _code_without_profile(profile_store)) from error
    accounts = StorageNames(settings.state_folder)
    name = accounts.name_of(Access(signed_out.profile.origin, signed_out.profile, signed_out.profile.store))
    try:
        remains = _sign_out(settings, name, *accounts.earlier_names_of(name), deletes_drafts=options.drafts)
    except NotSaved as error:
        profile = signed_out.profile
        raise Failure(
            f"Signed out of {profile.origin} (profile {profile.name}), but some drafts remain: {error}"
        ) from error
    deleted = [] if signed_out.deletion_problem else ["API key"]
    deleted += [] if remains.cache_error else ["cached pages"]
    deleted_sentence = f" Deleted the {' and '.join(deleted)}." if deleted else ""
    _print_line(f"Signed out of {signed_out.profile.origin} (profile {signed_out.profile.name}).{deleted_sentence}")
    for each in remains.sentences():
        _print_line(each)
    if remains.draft_count:
        _print_line("To delete the drafts too, run: octavo auth logout --drafts")
    if signed_out.current_profile:
        _print_line(f"The current profile is now {signed_out.current_profile}.")
    if signed_out.deletion_problem:
        raise Failure(signed_out.deletion_problem)
    return 0


def _code_without_profile(profile_store: signing_in.ProfileStore) -> int:
    saved_profiles = profile_store.read()
    return FAILED if saved_profiles.problem else NOT_FOUND if saved_profiles.entries else NOT_SIGNED_IN


@dataclass(frozen=True)
class _KeyCheck:
    status: Literal["accepted", "rejected", "missing", "unreadable", "unknown", "not checked"]
    problem: str = ""


def _status(settings: Settings, options: argparse.Namespace) -> int:
    profile_store = profile_store_of(settings)
    saved_profiles = profile_store.read()
    access = profiles.resolve_access(saved_profiles, os.environ, profile=options.profile, base_url=options.base_url)
    statuses = signing_in.status(profile_store, access)
    checks = asyncio.run(_check_accounts(settings, profile_store, access, statuses, is_offline=options.offline))
    with Output(options, FIELDS, _COLUMNS) as output:
        for each, check in zip(statuses, checks, strict=True):
            output.add(_row(each, check))
    tell(*filter(None, (each.problem for each in checks)), *filter(None, (saved_profiles.problem,)))
    current_check = next(check for each, check in zip(statuses, checks, strict=True) if each.is_current)
    return {"accepted": 0, "not checked": 0, "unknown": FAILED}.get(current_check.status, NOT_SIGNED_IN)


def _row(status: ProfileStatus, check: _KeyCheck) -> dict[str, Any]:
    profile = status.profile
    return {
        "profile": profile.name if profile else None,
        "origin": status.origin,
        "user": profile.user_name if profile else "",
        "store": status.source,
        "status": check.status,
        "current": status.is_current,
        "readOnly": bool(profile and profile.read_only),
        "problem": check.problem or None,
    }


async def _check_accounts(
    settings: Settings,
    profile_store: signing_in.ProfileStore,
    access: Access,
    statuses: Sequence[ProfileStatus],
    *,
    is_offline: bool,
) -> list[_KeyCheck]:
    async def check(each: ProfileStatus) -> _KeyCheck:
        if not each.fingerprint:
            is_missing = each.source in ("none", "env", "session") or each.profile is None
            return _KeyCheck("missing" if is_missing else "unreadable", each.problem)
        if is_offline:
            return _KeyCheck("not checked")
        account = access if each.is_current else Access(each.origin, each.profile, each.source)
        return await _check_with_server(settings, account, signing_in.token_of(profile_store, account))

    return list(await asyncio.gather(*map(check, statuses)))


async def _check_with_server(settings: Settings, access: Access, key: SecretStr | None) -> _KeyCheck:
    try:
        client = Client(
            access.origin, key, ca_file=settings.ca_file, deadline=REQUEST_SECONDS, on_activity=LOG.add_request
        )
    except ValueError as error:
        return _KeyCheck("unknown", str(error))
    try:
        await client(users.Me())
    except Unauthorized as error:
        return _KeyCheck("rejected", str(error))
    except ApiError as error:
        return _KeyCheck("unknown", f"Could not check the API key for {access.name}: {error}")
    finally:
        await client.aclose()
    return _KeyCheck("accepted")


def _print_token(settings: Settings, options: argparse.Namespace) -> int:
    if is_terminal(sys.stdout) and not options.show:
        raise Failure(
            "Could not print the API key: standard output is a terminal. To print it here, add --show.", USAGE
        )
    _, key = read_account_and_key(settings, options)
    _print_line(key.get_secret_value())
    return 0


def _switch(settings: Settings, options: argparse.Namespace) -> int:
    profile_store = profile_store_of(settings)
    try:
        profile = signing_in.switch(profile_store, options.name)
    except ValueError as error:
        raise Failure(str(error), _code_without_profile(profile_store)) from error
    _print_line(f"The current profile is now {profile.name} ({profile.origin}).")
    return 0


def _print_line(sentence: str) -> None:
    write_out(f"{sentence}\n")


AUTH = CliCommand(
    declare=_declare,
    run=_run,
    examples=("octavo auth login", "octavo auth status", "octavo auth switch work"),
    fields=FIELDS,
)
