"""Most checks of `octavo doctor`, and the file for a bug report. Start at `account_checks` and `storage_checks`. The
checks of the terminal are in `terminal_checks.py`. No check changes anything on the server."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from octavo.api import system, users
from octavo.api.errors import ApiError, RateLimited, Rejected, Unauthorized
from octavo.cli.access import profile_store_of
from octavo.cli.event_log import read_log
from octavo.cli.standard_streams import tell
from octavo.client import profiles, signing_in
from octavo.client.client import Client
from octavo.client.credentials import StoreUnavailable
from octavo.client.origin import is_loopback, proxy_variable_for, split_origin
from octavo.client.profiles import Access
from octavo.data.database import is_damaged
from octavo.lazy_import import EXTRAS, has_extra
from octavo.local_time import localize
from octavo.redaction import redact
from octavo.settings import Settings, error_in_words, read_with_values

Status = Literal["ok", "warning", "error"]
REQUEST_SECONDS = 10.0
CLOCK_WARNING_SECONDS = 30
"""Difference in seconds between the clocks of this computer and the server that causes a warning."""
CLOCK_ERROR_SECONDS = 300
"""Difference in seconds between the clocks of this computer and the server that counts as an error."""
_MIN_FREE_BYTES = 100_000_000
_PROBE = b"\0" * 65_536
_MAX_SUMMED_FILES = 100_000
_FIXES = {
    "state": "start Octavo: it saves the readable entries and keeps the damaged file",
    "cache": "start Octavo: it loads the cached pages again",
    "demo": "run: octavo demo --reset",
    "demo-large": "run: octavo demo --large --reset",
}


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    """Subject of the check in one or two words, such as `Keyring`."""
    status: Status
    text: str
    """Result of the check, as a phrase without a full stop."""
    fix: str = ""
    """Advice for the user, without a full stop. Empty if there is nothing to do."""


def account_checks(settings: Settings, options: argparse.Namespace) -> Iterator[Check]:
    """Yield checks of the settings, the account, the keyring and the server. If `--offline`, send no request."""
    yield _check_settings(settings)
    yield _check_linters(settings)
    yield _check_extras()
    profile_store = profile_store_of(settings)
    saved_profiles = profile_store.read()
    if saved_profiles.problem:
        yield failed_check("Profiles", saved_profiles.problem)
    try:
        access = profiles.resolve_access(saved_profiles, os.environ, profile=options.profile, base_url=options.base_url)
    except ValueError as error:
        yield failed_check("Account", str(error))
        return
    if not saved_profiles.problem:
        count_phrase = "1 profile" if len(saved_profiles.entries) == 1 else f"{len(saved_profiles.entries)} profiles"
        yield Check("Profiles", "ok", f"{count_phrase}; in use: {access.name if access.profile else 'none'}")
    key, checks = _read_key(profile_store, access)
    yield from checks
    if options.offline:
        yield Check("Server", "ok", f"{access.origin} was not checked, because of --offline")
    else:
        yield from asyncio.run(_server_checks(settings, access, key))


def _check_settings(settings: Settings) -> Check:
    if not settings.problems:
        return Check("Settings", "ok", f"{settings.config_folder / 'config.toml'} is valid")
    first_problem = settings.problems[0]
    if len(settings.problems) == 1:
        return Check("Settings", "warning", first_problem.rstrip("."), "run: octavo config edit")
    count_phrase = f"{len(settings.problems)} problems. First: {first_problem.rstrip('.')}"
    return Check("Settings", "warning", count_phrase, "to list all, run: octavo config check")


def _check_linters(settings: Settings) -> Check:
    missing_linters = [each for each in settings.linters if shutil.which(each.command[0]) is None]
    if missing_linters:
        names = " and ".join(dict.fromkeys(each.command[0] for each in missing_linters))
        return Check("Linters", "warning", f"not found: {names}", "install it, or run: octavo config edit")
    return Check("Linters", "ok", ", ".join(each.name for each in settings.linters) or "none in config.toml")


def _check_extras() -> Check:
    missing = [name for name in EXTRAS if not has_extra(name)]
    installed = ", ".join(name for name in EXTRAS if name not in missing) or "none"
    others = f"; not installed: {', '.join(f'{name} ({EXTRAS[name].purpose})' for name in missing)}" if missing else ""
    return Check("Extras", "ok", f"installed: {installed}{others}")


def _read_key(profile_store: signing_in.ProfileStore, access: Access) -> tuple[SecretStr | None, list[Check]]:
    """Return the API key, None if missing or unreadable, and the checks of the keyring and of a missing key."""
    try:
        key = signing_in.token_of(profile_store, access)
    except StoreUnavailable as error:
        name = "Keyring" if access.source == "keyring" else "API key"
        return None, [failed_check(name, error.cause, error.step)]
    checks = [_check_keyring(profile_store, access)]
    if key is None:
        status: Status = "warning" if access.profile is None else "error"
        checks.append(failed_check("API key", signing_in.no_token_reason(access), status=status))
    return key, checks


def _check_keyring(profile_store: signing_in.ProfileStore, access: Access) -> Check:
    if access.source == "env":
        return Check("Keyring", "ok", f"not used, because {profiles.KEY_VARIABLE} is set")
    if access.source == "file":
        return Check("Keyring", "ok", "not used, because the API key is in a private file")
    try:
        return Check("Keyring", "ok", f"{profile_store.keyring.title()} can be used")
    except StoreUnavailable as error:
        fix = f"{error.step.rstrip('.')}, or set {profiles.KEY_VARIABLE}" if error.step else ""
        # Only a warning, because no API key is stored in the keyring yet.
        return failed_check("Keyring", error.cause, fix, status="warning")


async def _server_checks(settings: Settings, access: Access, key: SecretStr | None) -> list[Check]:
    """Return checks of the server and its clock. If the server works and `key` is not None, also check the key."""
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
            return [failed_check("Server", str(error)), *_check_clock(client)]
        checks = [Check("Server", "ok", _server_facts(access.origin, version, client)), *_check_clock(client)]
        return checks if key is None else [*checks, await _key_check(client)]
    finally:
        await client.aclose()


def _server_facts(origin: str, version: str, client: Client) -> str:
    facts = [f"{client.activity[-1].ms:.0f} ms", f"version {version}" if version else ""]
    if client.limits is not None and client.limits.remaining is not None:
        limit = f" of {client.limits.limit}" if client.limits.limit is not None else ""
        facts.append(f"{client.limits.remaining}{limit} requests left")
    scheme, host, _ = split_origin(origin)
    proxy = "" if is_loopback(host) else proxy_variable_for(scheme, host)
    return f"{origin}  {', '.join(filter(None, [*facts, f'through the proxy in {proxy}' if proxy else '']))}"


def _check_clock(client: Client) -> list[Check]:
    offset = client.clock_offset
    if offset is None:
        return []
    if abs(offset) < CLOCK_WARNING_SECONDS:
        return [Check("Clock", "ok", f"{offset:+.0f} s compared with the server")]
    status: Status = "warning" if abs(offset) < CLOCK_ERROR_SECONDS else "error"
    text = f"{_duration_in_words(abs(offset))} {'ahead of' if offset > 0 else 'behind'} the clock of the server"
    return [Check("Clock", status, text, "set the clock of this computer, for example: timedatectl set-ntp true")]


def _duration_in_words(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


async def _key_check(client: Client) -> Check:
    try:
        user = await client(users.Me())
    except Unauthorized as error:
        return failed_check("API key", str(error).removesuffix(" Sign in again."), "run: octavo auth refresh")
    except ApiError as error:
        return failed_check("API key", f"could not be checked: {error}", status="warning")
    return Check("API key", "ok", f"accepted: {user.name}")


def storage_checks(settings: Settings) -> Iterator[Check]:
    """Yield checks of the folders in which Octavo stores data, and of its databases."""
    folders = {
        "config": settings.config_folder,
        "data": settings.data_folder,
        "state": settings.state_folder,
        "cache": settings.cache_folder,
    }
    problems = [check for name, folder in folders.items() if (check := _folder_problem(name, folder))]
    # Report a full disk or a read-only home once, not for each folder.
    yield from {each.text.partition(": ")[2]: each for each in reversed(problems)}.values()
    if not problems:
        yield _check_sizes(folders)
    yield from _database_checks(folders)


def _folder_problem(name: str, folder: Path) -> Check | None:
    existing_folder = _nearest_existing_folder(folder)
    free = 0
    try:
        free = shutil.disk_usage(existing_folder).free
        if not existing_folder.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing_folder))
        with tempfile.TemporaryFile(dir=existing_folder) as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return Check(
                "Folders", "error", f"{folder}: the disk is full ({format_size(free)} free)", "free up disk space"
            )
        cause, _, _ = error_in_words(OSError(error.errno, error.strerror)).partition(". ")
        fix = f"make {existing_folder} writable, or set OCTAVO_{name.upper()}_DIR to a writable folder"
        return Check("Folders", "error", f"{folder}: {cause}", fix)
    if free < _MIN_FREE_BYTES:
        return Check("Folders", "warning", f"{folder}: only {format_size(free)} free", "free up disk space")
    return None


def _nearest_existing_folder(folder: Path) -> Path:
    # Not `Path.exists`, which raises PermissionError below a folder of another user.
    return next(each for each in (folder, *folder.parents) if os.path.exists(each))


def _check_sizes(folders: dict[str, Path]) -> Check:
    sizes = {name: sum(map(_file_size, islice(_files(folder), _MAX_SUMMED_FILES))) for name, folder in folders.items()}
    usage = ", ".join(f"{name} {format_size(size)}" for name, size in sizes.items())
    existing_folder = _nearest_existing_folder(folders["state"])
    return Check("Folders", "ok", f"writable: {usage}; {format_size(shutil.disk_usage(existing_folder).free)} free")


def _files(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(parent, name)


def _file_size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # The file was deleted meanwhile.
        return 0


def _database_checks(folders: dict[str, Path]) -> Iterator[Check]:
    paths = {
        Path(path): name
        for name in ("data", "state", "cache")
        for path in sorted(each for each in _files(folders[name]) if each.endswith(".db"))
    }
    damaged_paths = [path for path in paths if is_damaged(path)]
    for path in damaged_paths:
        fix = _FIXES.get(paths[path]) or _FIXES.get(path.parent.name)
        yield Check("Databases", "error", f"{path} is damaged", fix or f"move {path} to another folder")
    if not damaged_paths:
        count_phrase = "1 database" if len(paths) == 1 else f"{len(paths)} databases"
        yield Check("Databases", "ok", f"{count_phrase}, none damaged")


def write_bundle(path: Path, checks: Sequence[Check], settings: Settings) -> None:
    """Write the checks, the names of the settings that are set, and the event log to a new file. Raises OSError."""
    names = sorted(read_with_values(os.environ)[1])
    entries = []
    with suppress(FileNotFoundError):
        entries = list(read_log(settings.state_folder))
    lines = ["# Checks", *(f"{each.status:<7} {each.name}: {each.text}" for each in checks)]
    lines += ["", "# Settings that are set, without their values", *names]
    lines += ["", "# Log", *(f"{localize(each.time):%Y-%m-%d} {each.text}" for each in entries)]
    text = redact("\n".join(lines) + "\n")
    if (home := str(Path.home())) != "/":
        text = text.replace(home, "~")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    tell(
        f"Wrote {path}: {len(checks)} checks, the names of {len(names)} settings, {len(entries)} lines of the log. "
        "It contains host names and paths, but no API key, title or text. Read the file before you send it."
    )


def failed_check(name: str, message: str, fix: str = "", *, status: Status = "error") -> Check:
    """Return a check with an error message. If `fix` is empty, the last sentence of the message becomes the fix."""
    message = message.strip().rstrip(".")
    if not fix and ". " in message:
        message, _, fix = message.rpartition(". ")
    return Check(name, status, _lower_first_letter(message), _lower_first_letter(fix.rstrip(".")))


def _lower_first_letter(text: str) -> str:
    is_word = text[:1].isupper() and text[1:2].islower() and not text.startswith("Octavo")
    return text[:1].lower() + text[1:] if is_word else text


def format_size(size: int) -> str:
    """Return `size`, a number of bytes, as text in megabytes or gigabytes, such as `1.5 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
