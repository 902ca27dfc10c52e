"""Profiles: which account at which origin, and where its key is kept. Never the key itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import SecretStr

from octavo.api.safety import line
from octavo.client import keys
from octavo.client.origin import DEFAULT, host_of, origin_of
from octavo.client.private_files import write_private
from octavo.settings import nearest
from octavo.untrusted_input import read_toml

FILE = "profiles.toml"
KEY_VARIABLE = "OCTAVO_API_KEY"
BASE_URL_VARIABLE = "OCTAVO_BASE_URL"

StoreName = Literal["keyring", "file", "env", "session"]
"""Where the key of a profile is: `env` and `session` keep none."""
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
    """Tells its key from others and says nothing of it."""
    read_only: bool = False
    """Whether nothing is sent with its key that changes anything."""

    @property
    def why_read_only(self) -> str:
        """Why nothing is sent that changes anything, in a sentence. Empty: it is."""
        if not self.read_only:
            return ""
        said = f"profile {self.name} has read_only = true in {FILE}"
        return f"Octavo is read-only: {said}. To allow changes on the server, remove this setting and restart Octavo."


_FIELDS = tuple(each.name for each in fields(Profile) if each.name != "name")


@dataclass(frozen=True)
class Profiles:
    """All of them, and the current one."""

    current: str = ""
    entries: Mapping[str, Profile] = field(default_factory=dict)
    problem: str = ""
    """What is wrong with the file, and what to do, in sentences. Empty if all of it can be read."""

    def get(self, name: str) -> Profile | None:
        return self.entries.get(name)

    def at(self, origin: str) -> Profile | None:
        """The current profile when it is one of `origin`, else the first that is."""
        here = [each for each in self.entries.values() if each.origin == origin]
        return next((each for each in here if each.name == self.current), here[0] if here else None)

    def with_current(self, profile: Profile) -> Profiles:
        """The same with `profile` added or replaced, as the current one."""
        return replace(self, current=profile.name, entries={**self.entries, profile.name: profile})

    def without(self, name: str) -> Profiles:
        """The same without the profile called `name`; the next one becomes current in its place."""
        entries = {each: profile for each, profile in self.entries.items() if each != name}
        current = next(iter(entries), "") if self.current == name else self.current
        return replace(self, current=current, entries=entries)


@dataclass(frozen=True)
class Access:
    """Whom to ask, as whom, and where the key comes from."""

    origin: str
    profile: Profile | None
    source: Source
    key: SecretStr | None = None
    """Only when it came with the environment: others are fetched from their store."""
    problem: str = ""
    """Why there may be a profile that could not be read, in sentences. Empty if all can be read, or one is used."""

    @property
    def name(self) -> str:
        """The name of the profile; of an origin without one, its host."""
        return self.profile.name if self.profile else host_of(self.origin)

    @property
    def why_read_only(self) -> str:
        """Why nothing is sent that changes anything, in a sentence. Empty: it is."""
        return self.profile.why_read_only if self.profile else ""


def check_name(name: str) -> str:
    """`name` if a profile may be called so. Raises ValueError with a sentence."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{line(name)!r} is not a valid profile name: use up to 32 lowercase letters, digits, - and _."
        )
    return name


def read(path: Path) -> Profiles:
    """The profiles in the file. What cannot be read is left out, and `problem` says so."""
    try:
        kept = read_toml(path)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {error.strerror}. {_MEND}")
    except ValueError as error:
        return Profiles(problem=f"Could not read the profiles: {path}: {line(str(error))[:200]}. {_MEND}")
    entries: dict[str, Profile] = {}
    wrong = [f"there is no setting {line(name)[:40]!r}.{nearest(name, _TOP)}" for name in kept if name not in _TOP]
    table = kept.get("profiles", {})
    if not isinstance(table, dict):
        wrong.append("each profile must be a section, such as [profiles.work].")
        table = {}
    for name, values in table.items():
        try:
            entries[name] = _profile(name, values)
        except (ValueError, TypeError) as error:
            wrong.append(f"profile {line(name)[:40]!r}: {error}")
    current = kept.get("current", "")
    if not wrong and current and current not in list(entries):
        wrong.append(f"current is set to {line(str(current))[:40]!r}, which is not a profile.")
    problem = f"Could not read some of the profiles in {path}: {' '.join(wrong)} {_MEND}" if wrong else ""
    return Profiles(current if isinstance(current, str) and current in entries else "", entries, problem)


def write(path: Path, profiles: Profiles) -> None:
    """Replace the file. One that could not be read is set aside beside it. Raises OSError."""
    lines = [f"current = {_quoted(profiles.current)}"]
    for profile in profiles.entries.values():
        lines += ["", f"[profiles.{_quoted(profile.name)}]"]
        kept = {key: value for key, value in asdict(profile).items() if key != "name" and value}
        lines += [f"{key} = {'true' if value is True else _quoted(value)}" for key, value in kept.items()]
    unreadable = path.read_bytes() if profiles.problem and path.exists() else None
    if unreadable is not None:
        # A copy: until the new file is sure, the old one stays where it is.
        write_private(path.with_suffix(".unreadable"), unreadable)
    write_private(path, "\n".join(lines) + "\n")


def resolve(
    profiles: Profiles, environ: Mapping[str, str], *, profile: str | None = None, base_url: str | None = None
) -> Access:
    """Whom to ask with which key; `profile` and `base_url` are the options of the command line.

    A key in the environment belongs to the base URL given beside it, as an option or in the environment; else
    to the origin of the profile; else to the default. It is sent nowhere else. Raises ValueError with a sentence.
    """
    named = _named(profiles, profile) if profile else None
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
            # The key may be for the server of a profile that cannot be read: it is not sent to the default one.
            raise ValueError(
                f"{profiles.problem} Or use --base-url or {BASE_URL_VARIABLE} to name the server that {KEY_VARIABLE} belongs to."
            )
    if text := environ.get(KEY_VARIABLE, "").strip():
        try:
            return Access(origin, chosen, "env", keys.accept(text))
        except ValueError as error:
            raise ValueError(f"{KEY_VARIABLE} cannot be used. {error}") from None
    if chosen is None or chosen.store == "env":
        return Access(origin, chosen, "none", problem=profiles.problem if chosen is None else "")
    return Access(origin, chosen, chosen.store)


def _named(profiles: Profiles, name: str) -> Profile:
    found = profiles.get(name)
    if found is None:
        known = ", ".join(profiles.entries) or "none yet"
        # A file that cannot be read is no reason to sign in under that name: it may hold the profile.
        step = profiles.problem or "Sign in to create a profile."
        raise ValueError(
            f"The profile {line(name)!r} does not exist.{nearest(name, profiles.entries)} Profiles: {known}. {step}"
        )
    return found


def _profile(name: str, values: Mapping[str, Any]) -> Profile:
    """Raises ValueError or TypeError with a sentence."""
    if not isinstance(values, dict):
        raise TypeError("it must be a section with settings, such as [profiles.work].")
    for unknown in values.keys() - set(_FIELDS):
        if meant := nearest(unknown, _FIELDS):  # whoever wrote `readonly` meant it
            raise ValueError(f"there is no setting {line(unknown)!r}.{meant}")
    store = values.get("store")
    if store is None or store not in get_args(StoreName):
        raise ValueError(f"store must be one of {', '.join(get_args(StoreName))}, not {line(repr(store))[:40]}.")
    texts = {key: line(str(values.get(key, ""))) for key in ("user_id", "user_name", "fingerprint")}
    read_only = values.get("read_only", False)
    if not isinstance(read_only, bool):
        raise TypeError(
            "read_only must be true or false."
        )  # whoever wrote it there meant it: it is not taken for false
    if not isinstance(values.get("origin"), str):
        raise TypeError("origin must be the URL of a server.")
    return Profile(check_name(name), origin_of(values["origin"]), store, **texts, read_only=read_only)


def _quoted(value: str) -> str:
    """A TOML string: JSON's, but for the one control character JSON lets through."""
    return json.dumps(line(value), ensure_ascii=False).replace("\x7f", "\\u007f")
