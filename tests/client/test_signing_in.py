"""Signing in and out, with the embedded platform and a real backend of the keyring library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.fail
import pytest
from pydantic import SecretStr

from octavo.api import organizations, users
from octavo.api.errors import Unauthorized
from octavo.client import profiles, signing_in
from octavo.client.client import Client
from octavo.client.credentials import Keyring, StoreTimeout, StoreUnavailable
from octavo.client.profiles import Profile, Profiles, resolve_access
from octavo.client.signing_in import ProfileStore, load_identity, login, logout, status, switch, token_of
from tests.client.conftest import Connect
from tests.client.keyring_backends import HERE, Locked, Memory, Prompting, Waiting
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Clock, small_context

ORIGIN = "http://127.0.0.1:8080"


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def key_of(name: str) -> SecretStr:
    return SecretStr(f"gb_api_0123456789_{name}")


@pytest.fixture
def platform() -> Iterator[Platform]:
    context = small_context(Clock())
    for name in ("ada", "mia", "sam", "eve"):
        context.store.add_key(key_of(name).get_secret_value(), name)
    platform = Platform(context)
    yield platform
    platform.close()
    context.store.close()


@pytest.fixture
def memory() -> Iterator[Memory]:
    before = keyring.core._keyring_backend
    backend = Memory()
    keyring.set_keyring(backend)
    yield backend
    keyring.core._keyring_backend = before


@pytest.fixture
def home(tmp_path: Path, memory: Memory) -> ProfileStore:
    return ProfileStore.of(tmp_path / "config", tmp_path / "data", Keyring(trusted=HERE))


SignIn = Callable[..., Awaitable[signing_in.SignedIn]]


@pytest.fixture
def sign_in(home: ProfileStore, platform: Platform, connect: Connect) -> SignIn:
    async def sign_in_as(person: str = "mia", origin: str = ORIGIN, **options: Any) -> signing_in.SignedIn:
        def make_client(where: str, key: SecretStr) -> Client:
            return connect(where, key, transport=platform)

        return await login(home, origin, key_of(person), connect=make_client, **options)

    return sign_in_as


async def test_check_returns_the_user_of_a_key(connect: Connect, platform: Platform) -> None:
    identity = await load_identity(connect(ORIGIN, key_of("mia"), transport=platform))
    assert identity.user.name == "Mia Lund"
    assert identity.facts == ("You are Mia Lund, mia@acme.example.", "1 organization: Acme.")
    assert [each.id for each in identity.organizations] == ["acme"]


async def test_missing_permissions_of_a_key_are_reported(connect: Connect, platform: Platform) -> None:
    client = connect(ORIGIN, key_of("sam"), transport=platform)
    acme = (await client(organizations.List())).items[0]
    identity = await load_identity(client)
    expected = (
        [] if acme.permissions.create_content else ["Acme: this API key does not have permission to create content."]
    )
    assert list(identity.missing)[-1:] == expected
    platform.refuse_next(organizations.List, 403, "No.")
    identity = await load_identity(client)
    assert identity.missing == ("This API key does not have permission to list organizations.",)
    assert identity.facts == ("You are Sam Lund, sam@acme.example.",)
    platform.refuse_next(organizations.List, 500, "Out of order.", times=9)
    identity = await load_identity(client)
    assert identity.missing[0].startswith(
        "Could not load your organizations: 127.0.0.1:8080 reported an error (500): Out of order."
    )


async def test_user_without_an_organization_is_told_so(connect: Connect, platform: Platform) -> None:
    identity = await load_identity(connect(ORIGIN, key_of("eve"), transport=platform))
    assert identity.facts[1] == "This API key does not give access to any organization."


async def test_rejected_key_is_not_stored(sign_in: SignIn, home: ProfileStore, memory: Memory) -> None:
    with pytest.raises(Unauthorized, match="did not accept your API key"):
        await sign_in("nobody")
    assert not home.profiles.exists()
    assert memory.kept == {}


async def test_sign_in_stores_the_key_and_creates_a_profile(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    signed = await sign_in()
    key = key_of("mia")
    assert signed.notice == ""
    assert signed.profile == Profile("default", ORIGIN, "keyring", "mia", "Mia Lund", signed.profile.fingerprint)
    assert memory.kept == {(f"octavo:{ORIGIN}", "default"): key.get_secret_value()}
    text = home.profiles.read_text()
    assert key.get_secret_value() not in text
    access = resolve_access(home.read(), {})
    assert (access.origin, access.source) == (ORIGIN, "keyring")
    assert token_of(home, access) == key


async def test_same_account_keeps_its_profile_and_another_gets_a_new_one(sign_in: SignIn, home: ProfileStore) -> None:
    assert [(await sign_in(person)).profile.name for person in ("mia", "ada", "mia")] == [
        "default",
        "default-2",
        "default",
    ]
    assert home.read().current == "default"
    assert (await sign_in("mia", origin="http://127.0.0.1:9090")).profile.name == "default-3"
    with pytest.raises(ValueError, match="Profile default belongs to Mia Lund at 127"):
        await sign_in("ada", name="default")
    with pytest.raises(ValueError, match="is not a valid profile name"):
        await sign_in("ada", name="../x")


async def test_key_without_a_keyring_is_for_this_session(sign_in: SignIn, home: ProfileStore, tmp_path: Path) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]  # the library has no types
    signed = await sign_in()
    assert signed.profile.store == "session"
    assert "OCTAVO_API_KEY" in signed.notice
    assert "--insecure-storage" in signed.notice
    everything = b"".join(path.read_bytes() for path in files_in(tmp_path))
    assert key_of("mia").get_secret_value().encode() not in everything
    assert token_of(home, resolve_access(home.read(), {})) is None


async def test_key_for_this_session_does_not_replace_a_stored_key(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    await sign_in("mia")
    await sign_in("ada")
    stored = home.read().entries
    keyring.set_keyring(Locked())
    signed = await sign_in("mia")
    assert (signed.profile.store, signed.deletion_problem) == ("session", "")
    keyring.set_keyring(memory)
    assert (home.read().entries, home.read().current) == (stored, "default")
    assert token_of(home, resolve_access(home.read(), {})) == key_of("mia")


@pytest.mark.parametrize("insecure_storage", [False, True], ids=["keyring", "file"])
async def test_key_is_not_left_without_its_profile(
    sign_in: SignIn, home: ProfileStore, memory: Memory, tmp_path: Path, insecure_storage: bool
) -> None:
    home.profiles.parent.touch()  # The folder of the profiles cannot be created.
    with pytest.raises(OSError, match="config"):
        await sign_in("mia", insecure_storage=insecure_storage)
    assert "set" in memory.calls or insecure_storage
    assert not memory.kept
    assert not any(key_of("mia").get_secret_value().encode() in path.read_bytes() for path in files_in(tmp_path))


async def test_blocked_keyring_is_not_replaced(
    sign_in: SignIn, home: ProfileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Waiting()
    keyring.set_keyring(backend)
    monkeypatch.setattr(Keyring, "with_longer_timeout", lambda self: Keyring(trusted=HERE, timeout=0.05))
    with pytest.raises(StoreTimeout):
        await sign_in()
    assert not home.profiles.exists()
    backend.answered.set()


async def test_key_file_is_used_on_request(sign_in: SignIn, home: ProfileStore, memory: Memory, tmp_path: Path) -> None:
    assert (await sign_in(insecure_storage=True)).profile.store == "file"
    assert memory.calls == []
    assert token_of(home, resolve_access(home.read(), {})) == key_of("mia")
    assert (await sign_in()).profile.store == "keyring"
    assert list((tmp_path / "data" / "keys").iterdir()) == []


async def test_sign_out_deletes_the_key_and_then_the_profile(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    await sign_in("mia")
    await sign_in("ada")
    out = logout(home)
    assert (out.profile.user_id, out.current_profile) == ("ada", "default")
    assert logout(home, "default").current_profile == ""
    assert memory.kept == {}
    with pytest.raises(ValueError, match="You are not signed in"):
        logout(home)


async def test_sign_out_without_the_keyring_says_where_the_key_is(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    await sign_in("mia")
    keyring.set_keyring(Locked())
    out = logout(home)
    assert out.deletion_problem.startswith(
        "Could not delete the API key of profile default (127.0.0.1:8080) from the keyring: the keyring is locked."
    )
    assert out.deletion_problem.endswith(f"secret-tool clear service octavo:{ORIGIN} username default")
    assert home.read().entries == {}
    assert memory.kept, "it is still where it was"


async def test_sign_in_names_an_earlier_key_that_stays_in_the_keyring(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    await sign_in("ada")
    locked = Locked()
    locked.kept = memory.kept
    keyring.set_keyring(locked)
    signed = await sign_in("ada", insecure_storage=True)
    assert signed.profile.store == "file"
    assert signed.deletion_problem.startswith(
        "Could not delete the API key of profile default (127.0.0.1:8080) from the keyring: the keyring is locked."
    )
    assert memory.kept
    assert key_of("ada").get_secret_value() not in signed.deletion_problem


async def test_sign_in_to_another_store_deletes_the_earlier_key(sign_in: SignIn, memory: Memory) -> None:
    await sign_in("ada")
    assert memory.kept
    assert not (await sign_in("ada", insecure_storage=True)).deletion_problem
    assert not memory.kept


async def test_profiles_added_while_the_keyring_asks_are_kept(
    sign_in: SignIn, home: ProfileStore, memory: Memory
) -> None:
    names = iter(("first", "second"))

    def add_profile() -> None:
        name = next(names)
        home.write(home.read().with_current(Profile(name, ORIGIN, "session", name)))

    keyring.set_keyring(Prompting(add_profile))
    await sign_in("mia")
    assert (home.read().current, set(home.read().entries)) == ("default", {"first", "default"})
    logout(home)
    assert set(home.read().entries) == {"first", "second"}


async def test_profile_without_a_user_belongs_to_the_one_who_signs_in(sign_in: SignIn, home: ProfileStore) -> None:
    home.write(Profiles("work", {"work": Profile("work", ORIGIN, "session")}))
    await sign_in("mia", name="work")
    assert home.read().entries["work"].user_id == "mia"


def test_sign_out_without_a_current_profile_lists_the_profiles(home: ProfileStore) -> None:
    with pytest.raises(ValueError, match="You are not signed in"):
        logout(home)
    home.write(Profiles("", {"work": Profile("work", ORIGIN, "session")}))
    with pytest.raises(ValueError, match=r"No profile is current\. .* Profiles: work\."):
        logout(home)


async def test_switch_changes_the_current_profile(sign_in: SignIn, home: ProfileStore) -> None:
    await sign_in("mia")
    await sign_in("ada")
    assert switch(home, "default").user_id == "mia"
    assert home.read().current == "default"
    with pytest.raises(ValueError, match=r"The profile 'x' does not exist\. Profiles: default, default-2\."):
        switch(home, "x")


async def test_status_shows_the_store_and_a_masked_key(sign_in: SignIn, home: ProfileStore, memory: Memory) -> None:
    await sign_in("mia")
    await sign_in("ada", insecure_storage=True)
    first, second = status(home, resolve_access(home.read(), {}))
    assert (first.is_current, first.source, first.ending, first.problem) == (True, "file", "_ada", "")
    assert first.profile is not None
    assert first.fingerprint == first.profile.fingerprint
    assert (second.is_current, second.source, second.ending) == (False, "keyring", "_mia")
    memory.kept.clear()
    assert "was deleted" in status(home, resolve_access(home.read(), {}))[1].problem
    keyring.set_keyring(Locked())
    assert status(home, resolve_access(home.read(), {}))[1].problem.startswith(
        "Could not read the API key of profile default (127.0.0.1:8080) from the keyring: the keyring is locked. "
        "Set OCTAVO_API_KEY to the API key, or unlock the keyring in your keyring app "
        "(for example Passwords and Keys, or KWalletManager); over SSH, run: read -rs p; "
    )
    given = {"OCTAVO_API_KEY": key_of("sam").get_secret_value(), "OCTAVO_BASE_URL": "https://there.example"}
    used = status(home, resolve_access(home.read(), given))[0]
    assert (used.profile, used.origin, used.source, used.ending) == (None, "https://there.example", "env", "_sam")


async def test_replaced_key_in_the_keyring_is_not_used(sign_in: SignIn, home: ProfileStore, memory: Memory) -> None:
    await sign_in("mia")
    memory.kept[f"octavo:{ORIGIN}", "default"] = key_of("ada").get_secret_value()
    with pytest.raises(StoreUnavailable, match="is not the API key that you signed in with"):
        token_of(home, resolve_access(home.read(), {}))


def test_no_account_is_signed_in_at_first(home: ProfileStore) -> None:
    (only,) = status(home, resolve_access(home.read(), {}))
    assert (only.origin, only.problem) == (
        "https://api.gitbook.com",
        "You are not signed in to https://api.gitbook.com. Run octavo auth login, or set OCTAVO_API_KEY.",
    )
    assert token_of(home, resolve_access(home.read(), {})) is None


async def test_two_profiles_of_one_server_keep_their_own_keys(
    sign_in: SignIn, home: ProfileStore, connect: Connect, platform: Platform
) -> None:
    await sign_in("mia")
    await sign_in("ada")
    for _ in range(20):
        for name, person in (("default", "mia"), ("default-2", "ada")):
            access = resolve_access(home.read(), {}, profile=name)
            client = connect(access.origin, token_of(home, access), transport=platform)
            assert (await client(users.Me())).id == person


def test_sign_in_works_with_a_damaged_profile_file(home: ProfileStore) -> None:
    home.profiles.parent.mkdir(parents=True)
    home.profiles.write_text("[[[")
    assert home.read().problem
    home.write(home.read().with_current(Profile("x", ORIGIN, "session")))
    assert profiles.read(home.profiles).current == "x"
