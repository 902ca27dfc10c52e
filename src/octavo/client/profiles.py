"""Reads and writes profiles. A profile is an account with its origin and the store of its token. It never contains the
token."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import SecretStr

from octavo.api.safety import safe_line
from octavo.client import keys
from octavo.client.origin import DEFAULT, host_of, origin_of
from octavo.client.private_files import write_private
from octavo.settings import did_you_mean
from octavo.untrusted_input import read_toml

FILE = "profiles.toml"
KEY_VARIABLE = "OCTAVO_API_KEY"
BASE_URL_VARIABLE = "OCTAVO_BASE_URL"

StoreName = Literal["keyring", "file", "env", "session"]
"""Store of a token. `env` and `session` mean that the token is not stored."""
Source = Literal["keyring", "file", "env", "session", "none"]

_TOP = ("current", "profiles")
_MEND = (
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
    """Digits that identify the token but reveal nothing about it."""
    read_only: bool = False
    """True if the profile must not send changes."""

    @property
    def why_read_only(self) -> str:
        """Sentence that says why changes are not sent. Empty if they are sent."""
        if not self.read_only:
            return ""
        said = f"profile {self.name} has read_only = true in {FILE}"
        return f"Octavo is read-only: {said}. To allow changes on the server, remove this setting and restart Octavo."


_FIELDS = tuple(each.name for each in fields(Profile) if each.name != "name")


@dataclass(frozen=True)
class Profiles:
    """All profiles, and the current profile."""

    current: str = ""
    entries: Mapping[str, Profile] = field(default_factory=dict)
    problem: str = ""
    """Sentences about errors in the file, with the next step. Empty if the file is valid."""

    def get(self, name: str) -> Profile | None:
        return self.entries.get(name)

    def at(self, origin: str) -> Profile | None:
        """Return the current profile if it has this origin, else the first profile with this origin. None if there is
        none."""
        here = [entry for entry in self.entries.values() if entry.origin == origin]
        return next((each for each in here if each.name == self.current), here[0] if here else None)

    def with_current(self, profile: Profile) -> Profiles:
        """Return a copy with `profile` added or replaced as the current profile."""
        return replace(self, current=profile.name, entries={**self.entries, profile.name: profile})

    def without(self, name: str) -> Profiles:
        """Return a copy without the profile `name`. If that profile was current, another profile is current in the
        copy."""
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
    """Sentences about unreadable profiles. Empty if all are readable, or if `profile` could be read."""

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
        kept = read_toml(path)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {error.strerror}. {_MEND}")
    except ValueError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {safe_line(str(error))[:200]}. {_MEND}")
    entries: dict[str, Profile] = {}
    wrong = [
        f"there is no setting {safe_line(name)[:40]!r}.{did_you_mean(name, _TOP)}" for name in kept if name not in _TOP
    ]
    table = kept.get("profiles", {})
    if not isinstance(table, dict):
        wrong.append("each profile must be a section, such as [profiles.work].")
        table = {}
    for name, values in table.items():
        try:
            entries[name] = _profile(name, values)
        except (ValueError, TypeError) as error:
            wrong.append(f"profile {safe_line(name)[:40]!r}: {error}")
    current = kept.get("current", "")
    if not wrong and current and current not in list(entries):
        wrong.append(f"current is set to {safe_line(str(current))[:40]!r}, which is not a profile.")
    problem = f"Could not read some of the profiles in {path}: {' '.join(wrong)} {_MEND}" if wrong else ""
    return Profiles(current if isinstance(current, str) and current in entries else "", entries, problem)


def write(path: Path, profiles: Profiles) -> None:
    """Write the profiles file. If the old file is unreadable, keep a copy of it. Raises OSError."""
    lines = [f"current = {_quote_toml(profiles.current)}"]
    for profile in profiles.entries.values():
        lines += ["", f"[profiles.{_quote_toml(profile.name)}]"]
        kept = {key: value for key, value in asdict(profile).items() if key != "name" and value}
        lines += [f"{key} = {'true' if value is True else _quote_toml(value)}" for key, value in kept.items()]
    unreadable = path.read_bytes() if profiles.problem and path.exists() else None
    if unreadable is not None:
        # copied and not renamed, so that the old file stays until the new file is complete
        write_private(path.with_suffix(".unreadable"), unreadable)
    write_private(path, "\n".join(lines) + "\n")


def resolve(
    profiles: Profiles, environ: Mapping[str, str], *, profile: str | None = None, base_url: str | None = None
) -> Access:
    """Return the server, the account and the source of the token. `profile` and `base_url` are options of the command
    line.

    A token in the environment is sent only to the base URL that is set by an option or in the environment. If none is
    set, it is sent only to the origin of the profile, or to the default origin. Raises ValueError with a sentence.
    """
    named = _profile_named(profiles, profile) if profile else None
    given = base_url or environ.get(BASE_URL_VARIABLE) or ""
    if given:
        origin = origin_of(given)
        if named is not None and named.origin != origin:
            raise ValueError(
                f"Profile {named.name} belongs to {named.origin}, not to {origin}. "
                "Use the profile or the base URL, not both."
            )
        chosen = named or profiles.at(origin)
    else:
        chosen = named or profiles.get(profiles.current)
        origin = chosen.origin if chosen else DEFAULT
        if chosen is None and profiles.problem and environ.get(KEY_VARIABLE, "").strip():
            # The token may belong to an unreadable profile. So do not send it to the default server.
            raise ValueError(
                f"{profiles.problem} Or use --base-url or {BASE_URL_VARIABLE} to name the server that {KEY_VARIABLE} belongs to."
            )
    if text := environ.get(KEY_VARIABLE, "").strip():
        try:
            return Access(origin, chosen, "env", keys.parse_token(text))
        except ValueError as error:
            raise ValueError(f"{KEY_VARIABLE} cannot be used. {error}") from None
    if chosen is None or chosen.store == "env":
        return Access(origin, chosen, "none", problem=profiles.problem if chosen is None else "")
    return Access(origin, chosen, chosen.store)


def _profile_named(profiles: Profiles, name: str) -> Profile:
    found = profiles.get(name)
    if found is None:
        known = ", ".join(profiles.entries) or "none yet"
        # Do not suggest to sign in if the file is unreadable, because it may contain the profile.
        step = profiles.problem or "Sign in to create a profile."
        raise ValueError(
            f"The profile {safe_line(name)!r} does not exist.{did_you_mean(name, profiles.entries)} Profiles: {known}. {step}"
        )
    return found


def _profile(name: str, values: Mapping[str, Any]) -> Profile:
    """Read a profile from its table in the file. Raises ValueError or TypeError with a sentence."""
    if not isinstance(values, dict):
        raise TypeError("it must be a section with settings, such as [profiles.work].")
    for unknown in values.keys() - set(_FIELDS):
        if meant := did_you_mean(unknown, _FIELDS):  # a misspelled `read_only` must not be ignored
            raise ValueError(f"there is no setting {safe_line(unknown)!r}.{meant}")
    store = values.get("store")
    if store is None or store not in get_args(StoreName):
        raise ValueError(f"store must be one of {', '.join(get_args(StoreName))}, not {safe_line(repr(store))[:40]}.")
    texts = {key: safe_line(str(values.get(key, ""))) for key in ("user_id", "user_name", "fingerprint")}
    read_only = values.get("read_only", False)
    if not isinstance(read_only, bool):
        raise TypeError(
            "read_only must be true or false."
        )  # do not read an invalid value as False, because the user may have meant True
    if not isinstance(values.get("origin"), str):
        raise TypeError("origin must be the URL of a server.")
    return Profile(check_name(name), origin_of(values["origin"]), store, **texts, read_only=read_only)


def _quote_toml(value: str) -> str:
    """Return `value` as a quoted TOML string, on one line. JSON has the same syntax, except that TOML requires DEL to
    be escaped."""
    return json.dumps(safe_line(value), ensure_ascii=False).replace("\x7f", "\\u007f")
