"""Checks of the settings, the profiles, the keyring, the API key and the server."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterator

from pydantic import SecretStr

from octavo.api import system, users
from octavo.api.errors import ApiError, RateLimited, Rejected, Unauthorized
from octavo.cli.access import home_of
from octavo.cli.health.check import Check, Status, failed_check
from octavo.client import profiles, signing_in
from octavo.client.client import Client
from octavo.client.credentials import StoreUnavailable
from octavo.client.origin import is_loopback, proxy_for, triple
from octavo.client.profiles import Access
from octavo.settings import Settings
from octavo.settings.extras import EXTRAS, has_extra

REQUEST_SECONDS = 10.0
SMALL_OFFSET, LARGE_OFFSET = 30, 300
"""Seconds by which the clock may be wrong before the check warns, and before it fails."""


def account_checks(settings: Settings, options: argparse.Namespace) -> Iterator[Check]:
    """Yield the checks. With `--offline`, no request is sent."""
    yield _settings(settings)
    yield _extras()
    home = home_of(settings)
    known = home.read()
    if known.problem:
        yield failed_check("Profiles", known.problem)
    try:
        access = profiles.resolve(known, os.environ, profile=options.profile, base_url=options.base_url)
    except ValueError as error:
        yield failed_check("Account", str(error))
        return
    if not known.problem:
        count = "1 profile" if len(known.entries) == 1 else f"{len(known.entries)} profiles"
        yield Check("Profiles", "ok", f"{count}; in use: {access.name if access.profile else 'none'}")
    key, checks = _read_key(home, access)
    yield from checks
    if options.offline:
        yield Check("Server", "ok", f"{access.origin} was not checked, because of --offline")
    else:
        yield from asyncio.run(_server_checks(settings, access, key))


def _settings(settings: Settings) -> Check:
    if not settings.problems:
        return Check("Settings", "ok", f"{settings.config_folder / 'config.toml'} is valid")
    first = settings.problems[0]
    if len(settings.problems) == 1:
        return Check("Settings", "warning", first.rstrip("."), "run: octavo config edit")
    count = f"{len(settings.problems)} problems. First: {first.rstrip('.')}"
    return Check("Settings", "warning", count, "to list all, run: octavo config check")


def _extras() -> Check:
    missing = [name for name in EXTRAS if not has_extra(name)]
    installed = ", ".join(name for name in EXTRAS if name not in missing) or "none"
    others = f"; not installed: {', '.join(f'{name} ({EXTRAS[name].about})' for name in missing)}" if missing else ""
    return Check("Extras", "ok", f"installed: {installed}{others}")


def _read_key(home: signing_in.Home, access: Access) -> tuple[SecretStr | None, list[Check]]:
    """Return the API key, if any, with a check of the keyring, and one that says why there is no API key."""
    try:
        key = signing_in.token_of(home, access)
    except StoreUnavailable as error:
        name = "Keyring" if access.source == "keyring" else "API key"
        return None, [failed_check(name, error.cause, error.step)]
    checks = [_keyring(home, access)]
    if key is None:
        status: Status = "warning" if access.profile is None else "error"
        checks.append(failed_check("API key", signing_in.no_token_reason(access), status=status))
    return key, checks


def _keyring(home: signing_in.Home, access: Access) -> Check:
    if access.source == "env":
        return Check("Keyring", "ok", f"not used, because {profiles.KEY_VARIABLE} is set")
    if access.source == "file":
        return Check("Keyring", "ok", "not used, because the API key is in a private file")
    try:
        return Check("Keyring", "ok", f"{home.keyring.title()} can be used")
    except StoreUnavailable as error:
        fix = f"{error.step.rstrip('.')}, or set {profiles.KEY_VARIABLE}" if error.step else ""
        return failed_check("Keyring", error.cause, fix, status="warning")  # No API key is stored in it yet.


async def _server_checks(settings: Settings, access: Access, key: SecretStr | None) -> list[Check]:
    """Return a check of the server, one of its clock, and one of the API key, if there is one."""
    try:
        client = Client(access.origin, key, ca_file=settings.ca_file, deadline=REQUEST_SECONDS)
    except ValueError as error:
        return [failed_check("Server", str(error))]
    try:
        version = ""
        try:
            version = (await client(system.Get())).version
        except RateLimited as error:
            return [failed_check("Server", str(error), status="warning")]
        except Rejected as error:
            if error.status is not None and error.status >= 500:
                return [failed_check("Server", str(error))]
        except ApiError as error:
            return [failed_check("Server", str(error)), *_clock(client)]
        checks = [Check("Server", "ok", _server_facts(access.origin, version, client)), *_clock(client)]
        return checks if key is None else [*checks, await _key_check(client)]
    finally:
        await client.aclose()


def _server_facts(origin: str, version: str, client: Client) -> str:
    facts = [f"{client.activity[-1].ms:.0f} ms", f"version {version}" if version else ""]
    if client.limits is not None and client.limits.remaining is not None:
        limit = f" of {client.limits.limit}" if client.limits.limit is not None else ""
        facts.append(f"{client.limits.remaining}{limit} requests left")
    scheme, host, _ = triple(origin)
    proxy = "" if is_loopback(host) else proxy_for(scheme, host)
    return f"{origin}  {', '.join(filter(None, [*facts, f'through the proxy in {proxy}' if proxy else '']))}"


def _clock(client: Client) -> list[Check]:
    """Return a check of this machine's clock. Empty if no response had a date."""
    offset = client.clock_offset
    if offset is None:
        return []
    if abs(offset) < SMALL_OFFSET:
        return [Check("Clock", "ok", f"{offset:+.0f} s compared with the server")]
    status: Status = "warning" if abs(offset) < LARGE_OFFSET else "error"
    text = f"{_in_words(abs(offset))} {'ahead of' if offset > 0 else 'behind'} the clock of the server"
    return [Check("Clock", status, text, "set the clock of this computer, for example: timedatectl set-ntp true")]


def _in_words(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


async def _key_check(client: Client) -> Check:
    try:
        user = await client(users.Me())
    except Unauthorized as error:
        return failed_check("API key", str(error), "run: octavo auth refresh")
    except ApiError as error:
        return failed_check("API key", f"could not be checked: {error}", status="warning")
    return Check("API key", "ok", f"accepted: {user.name}")
