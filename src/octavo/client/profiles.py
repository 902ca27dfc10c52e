"""Reads and writes profiles, validates access tokens, and assigns storage names to accounts. A profile has the account, its
origin and the place where its token is stored, but not the token. Cached responses, drafts and queued writes are stored
under the storage name of the account.

The token of a profile belongs to the account that signed in. For any other token, such as a token from the environment,
only the server knows the account. Until the server names the account, such a token has its own storage name. An account
that has no storage name yet then gets the storage name of the token.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import SecretStr

from octavo import redaction
from octavo.api.safety import safe_line
from octavo.client.origin import DEFAULT_ORIGIN, host_of, origin_of
from octavo.private_files import create_private_folder, read_private, write_private
from octavo.settings.file import did_you_mean, toml_of
from octavo.untrusted_input import parse_json, parse_toml, read_toml_text

ACCOUNTS_FILE = "accounts.json"


class AccountNames:
    """The storage names of all accounts: the names under which their data is stored. The names are in a private file, which
    has salted digests in place of tokens. If the file cannot be written, the names are valid for this run only."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ACCOUNTS_FILE
        self._salt = secrets.token_hex(32)
        self._keys: dict[str, str] = {}
        """Storage names of accounts with an API key, by the salted digest of the origin and the key."""
        self._users: dict[str, str] = {}
        """Storage names by user and origin."""
        self._earlier_names: dict[str, list[str]] = {}
        """Earlier storage names by the current storage name of the account. Data may still be stored under them."""
        self._is_stored = self._read()

    def name_of(self, access: Access) -> str:
        """Return the storage name of an account."""
        if access.key is not None:
            if not self._is_stored:
                self._change(lambda: None)  # stores the salt, so that the next run computes the same digests
            digest = self._digest(access)
            return self._keys.get(digest, f"{access.origin} key {digest}")
        if access.profile is None or not access.profile.user_id:
            return f"{access.origin} {access.name}"
        user = _user_key(access, access.profile.user_id)
        if user not in self._users:
            self._change(lambda: self._users.setdefault(user, user))
        return self._users[user]

    def earlier_names_of(self, name: str) -> tuple[str, ...]:
        """Return the earlier storage names of the account with this storage name."""
        return tuple(self._earlier_names.get(name, ()))

    def record_user(self, access: Access, user_id: str) -> None:
        """Store which user a token belongs to, after the server has named the user."""
        if access.key is None or not user_id:
            return
        user, digest, current_name = _user_key(access, user_id), self._digest(access), self.name_of(access)
        if self._keys.get(digest) == self._users.get(user, ""):
            return

        def record() -> None:
            is_of_another = current_name in (name for each, name in self._users.items() if each != user)
            name = self._users.setdefault(user, user if is_of_another else current_name)
            self._keys[digest] = name
            if name != current_name and not is_of_another:
                self._earlier_names[name] = [*self._earlier_names.get(name, ()), current_name]

        self._change(record)

    def _digest(self, access: Access) -> str:
        assert access.key is not None
        text = f"{access.origin} {access.key.get_secret_value()}".encode()
        return hashlib.blake2b(text, key=bytes.fromhex(self._salt), digest_size=16).hexdigest()

    def _read(self) -> bool:
        try:
            record: dict[str, Any] = parse_json(read_private(self._path))
            salt, keys, users, earlier_names = (record[each] for each in ("salt", "keys", "users", "left"))
            if not (
                len(bytes.fromhex(salt)) == 32 and all(isinstance(each, dict) for each in (keys, users, earlier_names))
            ):
                return False
        except (OSError, ValueError, TypeError, KeyError):
            return False
        self._salt, self._keys, self._users, self._earlier_names = salt, keys, users, earlier_names
        return True

    def _change(self, change: Callable[[], object]) -> None:
        with ExitStack() as lock:
            try:
                create_private_folder(self._path.parent)
                lock_file = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                lock.callback(os.close, lock_file)
                fcntl.flock(lock_file, fcntl.LOCK_EX)
                # Read again, because another process may have changed the file.
                if not self._read() and self._path.exists():
                    os.replace(self._path, self._path.with_suffix(".unreadable"))
            except OSError:
                change()  # not written: the names are valid for this run only
                return
            change()
            record = {"salt": self._salt, "keys": self._keys, "users": self._users, "left": self._earlier_names}
            with suppress(OSError):
                write_private(self._path, json.dumps(record))
                self._is_stored = True


def _user_key(access: Access, user_id: str) -> str:
    return f"{access.origin} user {user_id}"


_TOKEN_PATTERN = re.compile(r"[\x21-\x7e]{8,512}")
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)


def parse_token(text: str) -> SecretStr:
    """Return the token in a pasted text, without white space and `Bearer`. All later output redacts the token.

    Raises ValueError with a sentence that does not contain the text.
    """
    key = _BEARER.sub("", text.strip(), count=1)
    if not key:
        raise ValueError("The API key is empty. Paste the whole API key that the server displayed.")
    if not _TOKEN_PATTERN.fullmatch(key):
        raise ValueError(
            "This is not an API key: an API key has 8 to 512 letters, digits, and symbols, without spaces or line breaks. "
            "Copy the whole API key again, then paste it."
        )
    redaction.remember_token(key)
    return SecretStr(key)


def fingerprint(key: SecretStr) -> str:
    """Return eight hexadecimal digits that identify a token but do not reveal it."""
    return hashlib.sha256(key.get_secret_value().encode()).hexdigest()[:8]


def ending(key: SecretStr) -> str:
    """Return the last four characters, by which a user recognizes the token. Empty for a short token."""
    text = key.get_secret_value()
    return text[-4:] if len(text) >= 20 else ""


FILE = "profiles.toml"
KEY_VARIABLE = "OCTAVO_API_KEY"
BASE_URL_VARIABLE = "OCTAVO_BASE_URL"

StoreName = Literal["keyring", "file", "env", "session"]
"""Store of a token. `env` and `session` mean that the token is not stored."""
Source = Literal["keyring", "file", "env", "session", "none"]

_TOP_LEVEL_NAMES = ("current", "profiles")
_NEXT_STEP = (
    "Correct the file, or sign in again: octavo auth login. When you sign in, Octavo keeps the current file as "
    "profiles.unreadable."
)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Profile:
    """One account at one origin."""

    name: str
    origin: str
    store: StoreName
    user_id: str = ""
    user_name: str = ""
    fingerprint: str = ""
    """Digits that identify the token but do not reveal it. Empty if unknown."""
    read_only: bool = False
    """True if the profile must not send changes."""

    @property
    def why_read_only(self) -> str:
        """Sentence that says why changes are not sent. Empty if they are sent."""
        if not self.read_only:
            return ""
        cause = f"profile {self.name} has read_only = true in {FILE}"
        return f"Octavo is read-only: {cause}. To allow changes on the server, remove this setting and restart Octavo."


_FIELDS = tuple(each.name for each in fields(Profile) if each.name != "name")


@dataclass(frozen=True)
class Profiles:
    """All profiles, and the current profile."""

    current: str = ""
    entries: Mapping[str, Profile] = field(default_factory=dict)
    problem: str = ""
    """Sentences about errors in the file, with the next step. Empty if the file is valid."""

    def at(self, origin: str) -> Profile | None:
        """Return the current profile if it has this origin, else the first profile with this origin. None if there is
        none."""
        of_origin = [entry for entry in self.entries.values() if entry.origin == origin]
        return next((each for each in of_origin if each.name == self.current), of_origin[0] if of_origin else None)

    def with_current(self, profile: Profile) -> Profiles:
        """Return a copy with `profile` added or replaced as the current profile."""
        return replace(self, current=profile.name, entries={**self.entries, profile.name: profile})

    def without(self, name: str) -> Profiles:
        """Return a copy without the profile `name`. If that profile was current, another profile is current in the copy."""
        entries = {each: profile for each, profile in self.entries.items() if each != name}
        current = next(iter(entries), "") if self.current == name else self.current
        return replace(self, current=current, entries=entries)


@dataclass(frozen=True)
class Access:
    """The server and account of a session, and the source of its token."""

    origin: str
    profile: Profile | None
    source: Source
    key: SecretStr | None = None
    """The token from the environment. None if it must be read from its store."""
    problem: str = ""
    """Sentences about unreadable profiles, if there is neither a profile nor a token. Otherwise empty."""

    @property
    def name(self) -> str:
        """Return the name of the profile, or the host if there is no profile."""
        return self.profile.name if self.profile else host_of(self.origin)

    @property
    def why_read_only(self) -> str:
        """Sentence that says why changes are not sent. Empty if they are sent."""
        return self.profile.why_read_only if self.profile else ""


def check_name(name: str) -> str:
    """Return `name` if it is a valid profile name. Raises ValueError with a sentence."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{safe_line(name)!r} is not a valid profile name: use up to 32 lowercase letters, digits, - and _."
        )
    return name


def read(path: Path) -> Profiles:
    """Read the profiles file. Unreadable profiles are left out, and `problem` says so."""
    try:
        file = parse_toml(read_toml_text(path))
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {error.strerror}. {_NEXT_STEP}")
    except ValueError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {safe_line(str(error))[:200]}. {_NEXT_STEP}")
    entries: dict[str, Profile] = {}
    problems = [
        f"there is no setting {safe_line(name)[:40]!r}.{did_you_mean(name, _TOP_LEVEL_NAMES)}"
        for name in file
        if name not in _TOP_LEVEL_NAMES
    ]
    table = file.get("profiles", {})
    if not isinstance(table, dict):
        problems.append("each profile must be a section, such as [profiles.work].")
        table = {}
    for name, values in table.items():
        try:
            entries[name] = _read_profile(name, values)
        except (ValueError, TypeError) as error:
            problems.append(f"profile {safe_line(name)[:40]!r}: {error}")
    current = file.get("current", "")
    if not problems and current and current not in list(entries):
        problems.append(f"current is set to {safe_line(str(current))[:40]!r}, which is not a profile.")
    problem = f"Could not read some of the profiles in {path}: {' '.join(problems)} {_NEXT_STEP}" if problems else ""
    return Profiles(current if isinstance(current, str) and current in entries else "", entries, problem)


def write(path: Path, profiles: Profiles) -> None:
    """Write the profiles file. If the old file is unreadable, keep a copy of it. Raises OSError."""
    lines = [f"current = {toml_of(profiles.current)}"]
    for profile in profiles.entries.values():
        lines += ["", f"[profiles.{toml_of(profile.name)}]"]
        settings = {key: value for key, value in asdict(profile).items() if key != "name" and value}
        lines += [f"{key} = {toml_of(value)}" for key, value in settings.items()]
    unreadable = path.read_bytes() if profiles.problem and path.exists() else None
    if unreadable is not None:
        # copied and not renamed, so that the old file stays until the new file is complete
        write_private(path.with_suffix(".unreadable"), unreadable)
    write_private(path, "\n".join(lines) + "\n")


def resolve(
    profiles: Profiles, environ: Mapping[str, str], *, profile: str | None = None, base_url: str | None = None
) -> Access:
    """Return the server, the account and the source of the token. `profile` and `base_url` are options of the command line.

    A token in the environment is sent only to the base URL of the option or of the environment. Without a base URL, it is
    sent only to the origin of the profile, or to the default origin. Raises ValueError with a sentence.
    """
    named_profile = profile_named(profiles, profile) if profile else None
    chosen_url = base_url or environ.get(BASE_URL_VARIABLE) or ""
    if chosen_url:
        origin = origin_of(chosen_url)
        if named_profile is not None and named_profile.origin != origin:
            raise ValueError(
                f"Profile {named_profile.name} belongs to {named_profile.origin}, not to {origin}. "
                "Use the profile or the base URL, not both."
            )
        chosen = named_profile or profiles.at(origin)
    else:
        chosen = named_profile or profiles.entries.get(profiles.current)
        origin = chosen.origin if chosen else DEFAULT_ORIGIN
        if chosen is None and profiles.problem and environ.get(KEY_VARIABLE, "").strip():
            # The token may belong to an unreadable profile. So do not send it to the default server.
            raise ValueError(
                f"{profiles.problem} Or use --base-url or {BASE_URL_VARIABLE} to name the server that {KEY_VARIABLE} belongs to."
            )
    if text := environ.get(KEY_VARIABLE, "").strip():
        try:
            return Access(origin, chosen, "env", parse_token(text))
        except ValueError as error:
            raise ValueError(f"{KEY_VARIABLE} cannot be used. {error}") from None
    if chosen is None or chosen.store == "env":
        return Access(origin, chosen, "none", problem=profiles.problem if chosen is None else "")
    return Access(origin, chosen, chosen.store)


def profile_named(profiles: Profiles, name: str) -> Profile:
    """Return the profile `name`. Raises ValueError with a sentence if it does not exist."""
    named_profile = profiles.entries.get(name)
    if named_profile is None:
        names = ", ".join(profiles.entries) or "none yet"
        # The unreadable file may contain the profile, so do not suggest to sign in.
        step = profiles.problem or "Sign in to create a profile."
        raise ValueError(
            f"The profile {safe_line(name)!r} does not exist.{did_you_mean(name, profiles.entries)} Profiles: {names}. {step}"
        )
    return named_profile


def _read_profile(name: str, values: Mapping[str, Any]) -> Profile:
    if not isinstance(values, dict):
        raise TypeError("it must be a section with settings, such as [profiles.work].")
    for unknown in values.keys() - set(_FIELDS):
        if meant := did_you_mean(unknown, _FIELDS):  # an error, because a misspelled `read_only` must not be ignored
            raise ValueError(f"there is no setting {safe_line(unknown)!r}.{meant}")
    store = values.get("store")
    if store is None or store not in get_args(StoreName):
        raise ValueError(f"store must be one of {', '.join(get_args(StoreName))}, not {safe_line(repr(store))[:40]}.")
    texts = {key: safe_line(str(values.get(key, ""))) for key in ("user_id", "user_name", "fingerprint")}
    read_only = values.get("read_only", False)
    if not isinstance(read_only, bool):
        # Do not read an invalid value as False, because the user may have meant True.
        raise TypeError("read_only must be true or false.")
    if not isinstance(values.get("origin"), str):
        raise TypeError("origin must be the URL of a server.")
    return Profile(check_name(name), origin_of(values["origin"]), store, **texts, read_only=read_only)
