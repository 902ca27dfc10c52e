"""Reads and writes profiles, checks tokens, and assigns a storage name to each account.

A profile has the account, the origin of its server, and the store of its token, but not the token. Cached responses,
drafts and queued writes are stored under the storage name of the account.

The token of a profile belongs to the account that signed in. For another token, such as a token from the environment,
only the server knows the account. Such a token has its own storage name until the server names the account. Then the
storage name of the account is used. If the account has none, it gets the storage name of the token.
"""

from __future__ import annotations

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
from octavo.private_files import create_private_folder, lock_file, read_private, write_private
from octavo.settings.file import did_you_mean, toml_of
from octavo.untrusted_input import parse_json, parse_toml, read_toml_text

ACCOUNTS_FILE = "accounts.json"


class StorageNames:
    """The names under which Octavo stores the data of accounts. A file has the names, with digests instead of tokens.
    If the file cannot be written, new names are valid for this run only."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ACCOUNTS_FILE
        self._salt = secrets.token_hex(32)
        self._names_by_token: dict[str, str] = {}
        """Storage name of each token, by a salted digest of the origin and the token."""
        self._names_by_user: dict[str, str] = {}
        """Storage name of each user, by origin and user ID."""
        self._earlier_names: dict[str, list[str]] = {}
        """Earlier storage names of an account by its current name. Data may still be stored under the earlier names."""
        self._is_stored = self._read()

    def name_of(self, access: Access) -> str:
        """Return the storage name of an account. While the user is unknown, the name comes from the token or profile.
        Save the name of a known user if no name is saved yet."""
        if access.token is not None:
            if not self._is_stored:
                self._change(lambda: None)  # Store the salt, so that the next run computes the same digests.
            digest = self._digest(access)
            return self._names_by_token.get(digest, f"{access.origin} key {digest}")
        if access.profile is None or not access.profile.user_id:
            return f"{access.origin} {access.name}"
        user_key = _user_key(access, access.profile.user_id)
        if user_key not in self._names_by_user:
            self._change(lambda: self._names_by_user.setdefault(user_key, user_key))
        return self._names_by_user[user_key]

    def earlier_names_of(self, name: str) -> tuple[str, ...]:
        """Return the earlier storage names of the account that now has the storage name `name`."""
        return tuple(self._earlier_names.get(name, ()))

    def record_user(self, access: Access, user_id: str) -> None:
        """Store which user a token belongs to, for `name_of`. Call this when the server has named the user."""
        if access.token is None or not user_id:
            return
        user_key, digest, current_name = _user_key(access, user_id), self._digest(access), self.name_of(access)
        if self._names_by_token.get(digest) == self._names_by_user.get(user_key, ""):
            return

        def record() -> None:
            is_of_another = current_name in (name for each, name in self._names_by_user.items() if each != user_key)
            name = self._names_by_user.setdefault(user_key, user_key if is_of_another else current_name)
            self._names_by_token[digest] = name
            if name != current_name and not is_of_another:
                self._earlier_names[name] = [*self._earlier_names.get(name, ()), current_name]

        self._change(record)

    def _digest(self, access: Access) -> str:
        assert access.token is not None
        text = f"{access.origin} {access.token.get_secret_value()}".encode()
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
        self._salt, self._names_by_token, self._names_by_user, self._earlier_names = salt, keys, users, earlier_names
        return True

    def _change(self, change: Callable[[], object]) -> None:
        with ExitStack() as lock:
            try:
                create_private_folder(self._path.parent)
                lock.callback(lock_file(self._path.with_suffix(".lock")))
                # Another process may have changed the file, so it is read again.
                if not self._read() and self._path.exists():
                    os.replace(self._path, self._path.with_suffix(".unreadable"))
            except OSError:
                change()  # the file is not written, so the names are valid for this run only
                return
            change()
            record = {
                "salt": self._salt,
                "keys": self._names_by_token,
                "users": self._names_by_user,
                "left": self._earlier_names,
            }
            with suppress(OSError):
                write_private(self._path, json.dumps(record))
                self._is_stored = True


def _user_key(access: Access, user_id: str) -> str:
    return f"{access.origin} user {user_id}"


_TOKEN_PATTERN = re.compile(r"[\x21-\x7e]{8,512}")
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)


def parse_token(text: str) -> SecretStr:
    """Return the token in a text that the user pasted. From then on, the token is removed from logs and messages.
    Raises ValueError with a sentence that does not show the text."""
    token = _BEARER.sub("", text.strip(), count=1)
    if not token:
        raise ValueError("The API key is empty. Paste the whole API key that the server displayed.")
    if not _TOKEN_PATTERN.fullmatch(token):
        raise ValueError(
            "This is not an API key: an API key has 8 to 512 letters, digits, and symbols, without spaces or line breaks. "
            "Copy the whole API key again, then paste it."
        )
    redaction.remember_token(token)
    return SecretStr(token)


def fingerprint(token: SecretStr) -> str:
    """Return eight hexadecimal digits that identify a token without revealing it."""
    return hashlib.sha256(token.get_secret_value().encode()).hexdigest()[:8]


def ending(token: SecretStr) -> str:
    """Return the last four characters of a token. Empty if the token has fewer than 20 characters."""
    text = token.get_secret_value()
    return text[-4:] if len(text) >= 20 else ""


FILE = "profiles.toml"
KEY_VARIABLE = "OCTAVO_API_KEY"
BASE_URL_VARIABLE = "OCTAVO_BASE_URL"

StoreName = Literal["keyring", "file", "env", "session"]
"""Place of a token. The places `env` and `session` (memory) mean that the token is not stored."""
Source = Literal["keyring", "file", "env", "session", "none"]

_TOP_LEVEL_NAMES = ("current", "profiles")
_NEXT_STEP = (
    "Correct the file, or sign in again: octavo auth login. When you sign in, Octavo keeps the current file as "
    "profiles.unreadable."
)
_PROFILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Profile:
    """An account on a server, without its token."""

    name: str
    origin: str
    store: StoreName
    user_id: str = ""
    user_name: str = ""
    fingerprint: str = ""
    """Digits that identify the token without revealing it. Empty if unknown."""
    read_only: bool = False
    """True if Octavo must not change data on the server with this profile."""

    @property
    def why_read_only(self) -> str:
        """Sentences that say why changes are not allowed, and how to allow them. Empty if they are allowed."""
        if not self.read_only:
            return ""
        cause = f"profile {self.name} has read_only = true in {FILE}"
        return f"Octavo is read-only: {cause}. To allow changes on the server, remove this setting and restart Octavo."


_PROFILE_FIELDS = tuple(each.name for each in fields(Profile) if each.name != "name")


@dataclass(frozen=True)
class Profiles:
    """All profiles of the user, and which one is current."""

    current: str = ""
    entries: Mapping[str, Profile] = field(default_factory=dict)
    problem: str = ""
    """Sentences about errors in the profiles file, with what to do. Empty if there are none."""

    def at(self, origin: str) -> Profile | None:
        """Return a profile with this origin, if possible the current profile. None if there is none."""
        matches = [entry for entry in self.entries.values() if entry.origin == origin]
        return next((each for each in matches if each.name == self.current), matches[0] if matches else None)

    def with_current(self, profile: Profile) -> Profiles:
        """Return a copy in which `profile` is added or replaced, and current."""
        return replace(self, current=profile.name, entries={**self.entries, profile.name: profile})

    def without(self, name: str) -> Profiles:
        """Return a copy without the profile `name`. If `name` was current, the first other profile becomes current."""
        entries = {each: profile for each, profile in self.entries.items() if each != name}
        current_name = next(iter(entries), "") if self.current == name else self.current
        return replace(self, current=current_name, entries=entries)


@dataclass(frozen=True)
class Access:
    """The server and the account of a session, and the place of its token."""

    origin: str
    profile: Profile | None
    source: Source
    token: SecretStr | None = None
    """The token from the environment. None if the token must be read from a token store, or if there is no token."""
    problem: str = ""
    """Sentences about unreadable profiles. Empty if a profile or a token was found."""

    @property
    def name(self) -> str:
        """Name of the profile, or if there is none, the host."""
        return self.profile.name if self.profile else host_of(self.origin)

    @property
    def why_read_only(self) -> str:
        """Sentence that says why changes are not allowed. Empty if they are allowed."""
        return self.profile.why_read_only if self.profile else ""


def check_name(name: str) -> str:
    """Return `name` if it is a valid profile name. Raises ValueError with a sentence otherwise."""
    if not _PROFILE_NAME.fullmatch(name):
        raise ValueError(
            f"{safe_line(name)!r} is not a valid profile name: use up to 32 lowercase letters, digits, - and _."
        )
    return name


def read(path: Path) -> Profiles:
    """Return the profiles in a file. `Profiles.problem` says which of them are left out, and why."""
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
    sections = file.get("profiles", {})
    if not isinstance(sections, dict):
        problems.append("each profile must be a section, such as [profiles.work].")
        sections = {}
    for name, values in sections.items():
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
    unreadable_bytes = path.read_bytes() if profiles.problem and path.exists() else None
    if unreadable_bytes is not None:
        # The old file is copied, not renamed, so that there is a file until the new file is complete.
        write_private(path.with_suffix(".unreadable"), unreadable_bytes)
    write_private(path, "\n".join(lines) + "\n")


def resolve_access(
    profiles: Profiles, environ: Mapping[str, str], *, profile: str | None = None, base_url: str | None = None
) -> Access:
    """Return the server, the account and the token source of a session. `profile` and `base_url` are options of the
    command line.

    A token from the environment is sent only to the chosen base URL, to the default origin, or to the origin of the
    profile that the token belongs to. Raises ValueError with a sentence for the user.
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
        chosen_profile = named_profile or profiles.at(origin)
    else:
        chosen_profile = named_profile or profiles.entries.get(profiles.current)
        origin = chosen_profile.origin if chosen_profile else DEFAULT_ORIGIN
        if chosen_profile is None and profiles.problem and environ.get(KEY_VARIABLE, "").strip():
            # The token may belong to an unreadable profile: do not send it elsewhere.
            raise ValueError(
                f"{profiles.problem} Or use --base-url or {BASE_URL_VARIABLE} to name the server that {KEY_VARIABLE} belongs to."
            )
    if text := environ.get(KEY_VARIABLE, "").strip():
        try:
            token = parse_token(text)
        except ValueError as error:
            raise ValueError(f"{KEY_VARIABLE} cannot be used. {error}") from None
        is_own = chosen_profile is not None and (
            chosen_profile.store == "env" or chosen_profile.fingerprint == fingerprint(token)
        )
        if origin != DEFAULT_ORIGIN and not (chosen_url or is_own):
            raise ValueError(
                f"{KEY_VARIABLE} may belong to another server than {origin}. To use it there, set {BASE_URL_VARIABLE} "
                f"to {origin}. Otherwise, unset {KEY_VARIABLE}."
            )
        return Access(origin, chosen_profile, "env", token)
    if chosen_profile is None or chosen_profile.store == "env":
        return Access(origin, chosen_profile, "none", problem=profiles.problem if chosen_profile is None else "")
    return Access(origin, chosen_profile, chosen_profile.store)


def profile_named(profiles: Profiles, name: str) -> Profile:
    """Return the profile `name`. Raises ValueError with a sentence if it does not exist."""
    named_profile = profiles.entries.get(name)
    if named_profile is None:
        names = ", ".join(profiles.entries) or "none yet"
        # The profile may be in an unreadable part of the file.
        step = profiles.problem or "Sign in to create a profile."
        raise ValueError(
            f"The profile {safe_line(name)!r} does not exist.{did_you_mean(name, profiles.entries)} Profiles: {names}. {step}"
        )
    return named_profile


def _read_profile(name: str, values: Mapping[str, Any]) -> Profile:
    if not isinstance(values, dict):
        raise TypeError("it must be a section with settings, such as [profiles.work].")
    for unknown_name in values.keys() - set(_PROFILE_FIELDS):
        if meant := did_you_mean(unknown_name, _PROFILE_FIELDS):  # otherwise, a misspelled `read_only` would be ignored
            raise ValueError(f"there is no setting {safe_line(unknown_name)!r}.{meant}")
    store = values.get("store")
    if store is None or store not in get_args(StoreName):
        raise ValueError(f"store must be one of {', '.join(get_args(StoreName))}, not {safe_line(repr(store))[:40]}.")
    texts = {key: safe_line(str(values.get(key, ""))) for key in ("user_id", "user_name", "fingerprint")}
    read_only = values.get("read_only", False)
    if not isinstance(read_only, bool):
        # An invalid value is not read as False, because the user may have meant True.
        raise TypeError("read_only must be true or false.")
    if not isinstance(values.get("origin"), str):
        raise TypeError("origin must be the URL of a server.")
    return Profile(check_name(name), origin_of(values["origin"]), store, **texts, read_only=read_only)
