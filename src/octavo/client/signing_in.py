"""Signs users in and out, switches between profiles, and finds the token of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from octavo import redaction
from octavo.api import organizations, users
from octavo.api.errors import ApiError, Forbidden, NotFound, Unauthorized
from octavo.api.organizations import Organization
from octavo.api.users import User
from octavo.client import profiles
from octavo.client.client import Client
from octavo.client.credentials import Keyring, Store, StoreTimeout, StoreUnavailable, TokenFiles
from octavo.client.origin import host_of
from octavo.client.profiles import KEY_VARIABLE, Access, Profile, Profiles
from octavo.concurrency import run_in_thread

MAX_ORGANIZATIONS = 100

KEY_NOT_STORED = (
    "{cause} Set OCTAVO_API_KEY to the API key, or run octavo auth login --insecure-storage to store the API key unencrypted "
    "in a file, or {step}"
)


@dataclass(frozen=True)
class Identity:
    """The user of a token, and the organizations that the token can read."""

    user: User
    organizations: tuple[Organization, ...] = ()
    facts: tuple[str, ...] = ()
    """Sentences about what the token can do, such as `1 organization: Acme.`"""
    missing: tuple[str, ...] = ()
    """Sentences about what the token cannot do."""


@dataclass(frozen=True)
class ProfileStore:
    """The profiles file and the two token stores: the keyring and the folder of files."""

    profiles: Path
    keyring: Keyring
    files: TokenFiles

    @classmethod
    def of(cls, config_folder: Path, data_folder: Path, keyring: Keyring | None = None) -> ProfileStore:
        return cls(config_folder / profiles.FILE, keyring or Keyring(), TokenFiles(data_folder / "keys"))

    def with_longer_timeout(self, report: Callable[[str], object] | None = None) -> ProfileStore:
        """Return a copy with `keyring.with_longer_timeout(report)`: users get time to enter the keyring's password."""
        return replace(self, keyring=self.keyring.with_longer_timeout(report))

    def read(self) -> Profiles:
        return profiles.read(self.profiles)

    def write(self, changed_profiles: Profiles) -> None:
        profiles.write(self.profiles, changed_profiles)

    def store_of(self, profile: Profile) -> Store | None:
        """Return the store of a profile's token. None if the token is not stored."""
        stores: dict[str, Store] = {each.name: each for each in (self.keyring, self.files)}
        return stores.get(profile.store)


@dataclass(frozen=True)
class SignedIn:
    """Result of signing in. `profile` is now the current profile."""

    profile: Profile
    identity: Identity
    notice: str = ""
    """Sentences that say why the token was not stored, and what to do. Empty if the token was stored."""
    deletion_problem: str = ""
    """Sentences that say why the old token was not deleted, and what to do. Empty without a problem."""


@dataclass(frozen=True)
class SignedOut:
    """Result of signing out. `profile` is removed. The caller must delete its cached responses and drafts."""

    profile: Profile
    current_profile: str
    """Name of the profile that is now current. Empty if there is none."""
    deletion_problem: str = ""
    """Sentences that say why the token was not deleted, and what to do. Empty without a problem."""


@dataclass(frozen=True)
class ProfileStatus:
    """A profile, and whether its token can be read."""

    profile: Profile | None
    origin: str
    source: profiles.Source
    is_current: bool
    fingerprint: str = ""
    ending: str = ""
    """Last four characters of the token. Empty if the token is short, or if there is no token."""
    problem: str = ""
    """Sentence that says why there is no token, or why it is unreadable. Empty without a problem."""


async def load_identity(client: Client) -> Identity:
    """Load the user and the organizations of a token. Raises ApiError, also for a wrong token."""
    user, loaded_organizations = await asyncio.gather(client(users.Me()), _organizations(client))
    readable, problem = loaded_organizations
    name = f"{user.name}, {user.email}" if user.email and user.email != user.name else user.name
    facts = [f"You are {name}."]
    missing = [problem] if problem else []
    if not problem:
        titles = ", ".join(each.title or each.id for each in readable)
        count = "1 organization" if len(readable) == 1 else f"{len(readable)} organizations"
        facts.append(f"{count}: {titles}." if readable else "This API key does not give access to any organization.")
    for each in readable:
        permissions = each.permissions
        if "list_members" in permissions.model_fields_set and not permissions.list_members:
            missing.append(f"{each.title or each.id}: this API key does not have permission to list the members.")
        if "create_content" in permissions.model_fields_set and not permissions.create_content:
            missing.append(f"{each.title or each.id}: this API key does not have permission to create content.")
    return Identity(user, readable, tuple(facts), tuple(missing))


async def login(
    profile_store: ProfileStore,
    origin: str,
    token: SecretStr,
    *,
    name: str | None = None,
    insecure_storage: bool = False,
    connect: Callable[[str, SecretStr], Client] = Client,
) -> SignedIn:
    """Check and store a token, and make the profile `name` current. If `name` is None, use the account's profile, or a
    new profile if the account has none. The token is stored in the keyring, or if `insecure_storage`, in a file without
    encryption. If the keyring fails, the token is used for this session only, and `SignedIn.notice` says why.

    Raises ApiError, and ValueError if `name` cannot be used. Raises StoreTimeout if the keyring does not respond in
    time, StoreUnavailable if the token's file cannot be written, and OSError if the profiles file cannot be written.
    """
    redaction.remember_token(token.get_secret_value())
    client = connect(origin, token)
    try:
        identity = await load_identity(client)
    finally:
        await client.aclose()
    saved_profiles = await run_in_thread(profile_store.read)
    profile_name = (
        _profile_name_for(saved_profiles, origin, identity.user) if name is None else profiles.check_name(name)
    )
    old_profile = saved_profiles.entries.get(profile_name)
    if old_profile is not None and (old_profile.origin != origin or old_profile.user_id not in ("", identity.user.id)):
        who = old_profile.user_name or old_profile.user_id
        raise ValueError(
            f"Profile {profile_name} belongs to {who} at {host_of(old_profile.origin)}. Choose another name, or sign out of that profile first."
        )
    store, notice = await run_in_thread(
        lambda: _store_token(profile_store, origin, profile_name, token, insecure=insecure_storage)
    )
    profile = Profile(
        profile_name,
        origin,
        store,
        identity.user.id,
        identity.user.name,
        profiles.fingerprint(token),
        read_only=old_profile is not None and old_profile.read_only,
    )
    # A token that is not stored does not replace a stored token.
    keeps_old_token = store == "session" and old_profile is not None and profile_store.store_of(old_profile) is not None
    saved_profile = old_profile if keeps_old_token and old_profile is not None else profile
    # Another process may have changed the profiles while the keyring waited for its password.
    try:
        await run_in_thread(lambda: profile_store.write(profile_store.read().with_current(saved_profile)))
    except OSError:
        if old_profile is None or old_profile.store != store:  # otherwise, the next sign-in replaces the token
            await run_in_thread(lambda: _delete_token(profile_store, profile))
        raise
    deletion_problem = ""
    if old_profile is not None and old_profile.store != store and not keeps_old_token:
        deletion_problem = await run_in_thread(lambda: _delete_token(profile_store, old_profile))
    return SignedIn(profile, identity, notice, deletion_problem)


def logout(profile_store: ProfileStore, name: str | None = None) -> SignedOut:
    """Remove a profile, by default the current profile, and its token. If the token stays, `SignedOut.deletion_problem`
    says why. Raises ValueError if there is no such profile, and OSError if saving fails."""
    saved_profiles = profile_store.read()
    profile = _existing_profile(saved_profiles, name or saved_profiles.current)
    deletion_problem = _delete_token(profile_store, profile)
    remaining_profiles = profile_store.read().without(profile.name)
    profile_store.write(remaining_profiles)
    return SignedOut(profile, remaining_profiles.current, deletion_problem)


def switch(profile_store: ProfileStore, name: str) -> Profile:
    """Make the profile `name` current, and return it. Raises ValueError if unknown, and OSError if saving fails."""
    saved_profiles = profile_store.read()
    profile = _existing_profile(saved_profiles, name)
    profile_store.write(saved_profiles.with_current(profile))
    return profile


def status(profile_store: ProfileStore, access: Access) -> list[ProfileStatus]:
    """Return the status of the profile of `access`, then of each other profile."""
    saved_profiles = profile_store.read()
    other_profiles = [entry for entry in saved_profiles.entries.values() if entry != access.profile]
    return [_status(profile_store, access, is_current=True)] + [
        _status(profile_store, Access(other.origin, other, other.store), is_current=False) for other in other_profiles
    ]


def token_of(profile_store: ProfileStore, access: Access) -> SecretStr | None:
    """Return the token for `access`. None if there is no token. Raises StoreUnavailable if the token or the profiles
    cannot be read, or if the stored token was replaced."""
    token = access.token
    if token is None and access.problem:
        raise StoreUnavailable(access.problem)
    if token is None and access.profile is not None and (store := profile_store.store_of(access.profile)):
        try:
            token = store.get(access.origin, access.profile.name)
        except StoreUnavailable as error:
            step = f"Set {KEY_VARIABLE} to the API key{f', or {_as_clause(error.step)}' if error.step else '.'}"
            raise type(error)(
                f"Could not read the API key of {_profile_phrase(access.profile, 'from')}: {_as_clause(error.cause)}",
                step,
            ) from None
        if token is not None and access.profile.fingerprint not in ("", profiles.fingerprint(token)):
            # The stored token was replaced. It may belong to another account than the stored data.
            raise StoreUnavailable(
                f"The stored API key of {access.name} is not the API key that you signed in with. Sign in again: octavo auth login"
            )
    if token is not None:
        redaction.remember_token(token.get_secret_value())
    return token


def no_token_reason(access: Access) -> str:
    """Return sentences that say why there is no token, and how to get one."""
    next_step = "Run octavo auth login."
    if access.profile is None:
        return f"You are not signed in to {access.origin}. Run octavo auth login, or set {KEY_VARIABLE}."
    return {
        "env": f"{KEY_VARIABLE} is not set, but {_profile_phrase(access.profile)} needs it. Set the variable, or run octavo auth login.",
        "session": f"The API key for profile {access.profile.name} is not stored on this computer. Set {KEY_VARIABLE} to the API key, or run octavo auth login.",
    }.get(access.profile.store, f"The API key for {_profile_phrase(access.profile)} was deleted. {next_step}")


_STORES = {"keyring": "the keyring", "file": "its file"}


def _profile_phrase(profile: Profile, preposition: str = "in") -> str:
    """Return a phrase such as `profile work (api.gitbook.com) in the keyring`. `preposition` replaces `in`."""
    store = _STORES.get(profile.store)
    return f"profile {profile.name} ({host_of(profile.origin)}){f' {preposition} {store}' if store else ''}"


def _as_clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


async def _organizations(client: Client) -> tuple[tuple[Organization, ...], str]:
    """Return (organizations that the token can read, ""), or ((), reason) if loading fails. Raises Unauthorized."""
    readable_organizations: list[Organization] = []
    try:
        async with aclosing(client.pages(organizations.List(limit=MAX_ORGANIZATIONS))) as pages:
            async for page in pages:
                readable_organizations += page.items
                if len(readable_organizations) >= MAX_ORGANIZATIONS:
                    break
    except Unauthorized:
        raise
    except (Forbidden, NotFound):
        return (), "This API key does not have permission to list organizations."
    except ApiError as error:
        return (), f"Could not load your organizations: {error}"
    return tuple(readable_organizations), ""


def _profile_name_for(saved_profiles: Profiles, origin: str, user: User) -> str:
    """Return the name of the user's profile at `origin`, or if there is none, an unused name."""
    for profile in saved_profiles.entries.values():
        if (profile.origin, profile.user_id) == (origin, user.id):
            return profile.name
    return next(
        name for n in range(1, 1000) if (name := "default" if n == 1 else f"default-{n}") not in saved_profiles.entries
    )


def _store_token(
    profile_store: ProfileStore, origin: str, name: str, token: SecretStr, *, insecure: bool
) -> tuple[profiles.StoreName, str]:
    """Store a token in the keyring, or if `insecure`, in a file. Return the store and an empty text. If the keyring
    fails, store nothing, and return `session` and the reason. Raises StoreTimeout, and StoreUnavailable for a file."""
    if insecure:
        profile_store.files.put(origin, name, token)
        return "file", ""
    try:
        profile_store.keyring.with_longer_timeout().put(origin, name, token)
    except StoreTimeout:
        raise
    except StoreUnavailable as error:
        return "session", why_not_stored(error)
    return "keyring", ""


def why_not_stored(error: StoreUnavailable) -> str:
    """Return sentences that say why the keyring cannot store the token, and what to do."""
    return KEY_NOT_STORED.format(cause=error.cause, step=_as_clause(error.step or "use a computer that has a keyring."))


def _delete_token(profile_store: ProfileStore, profile: Profile) -> str:
    """Delete the token of a profile. Return sentences that say why this failed, else an empty text."""
    store = profile_store.store_of(profile)
    try:
        if store is not None:
            store.delete(profile.origin, profile.name)
        return ""
    except StoreUnavailable as error:
        how = f"\n{store.how_to_delete(profile.origin, profile.name)}" if isinstance(store, Keyring) else ""
        cause = _as_clause(str(error))
        return f"Could not delete the API key of {_profile_phrase(profile, 'from')}: {cause}{how}"


def _existing_profile(saved_profiles: Profiles, name: str) -> Profile:
    """Return the profile `name`. Raises ValueError with a sentence if `name` is empty or unknown."""
    if name and (saved_profiles.entries or saved_profiles.problem):
        return profiles.profile_named(saved_profiles, name)
    names = ", ".join(saved_profiles.entries)
    choose = f"No profile is current. Choose one with octavo auth switch NAME. Profiles: {names}."
    raise ValueError(saved_profiles.problem or (choose if names else "You are not signed in. Run: octavo auth login"))


def _status(profile_store: ProfileStore, access: Access, *, is_current: bool) -> ProfileStatus:
    problem = ""
    token = None
    try:
        token = token_of(profile_store, access)
    except StoreUnavailable as error:
        problem = str(error)
    if token is None and not problem:
        problem = no_token_reason(access)
    fingerprint_and_ending = (profiles.fingerprint(token), profiles.ending(token)) if token else ("", "")
    return ProfileStatus(access.profile, access.origin, access.source, is_current, *fingerprint_and_ending, problem)
