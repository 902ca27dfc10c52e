"""Profiles, and the storage names of accounts."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from octavo.client import profiles
from octavo.client.profiles import ACCOUNTS_FILE, Access, Profile, Profiles, StorageNames, resolve_access
from tests.client.http_server import KEY_TEXT

WORK = Profile("work", "https://api.example.com", "keyring", "u1", "Mia Chen", "0a1b2c3d")
HOME = Profile("home", "http://127.0.0.1:8080", "file")
BOTH = Profiles("work", {"work": WORK, "home": HOME})


def test_profiles_are_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "octavo" / "profiles.toml"
    assert profiles.read(path) == Profiles()
    profiles.write(path, BOTH)
    assert profiles.read(path) == BOTH
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@given(st.text(max_size=50))
def test_any_user_name_survives_the_profile_file(name: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiles.toml"
        profiles.write(path, Profiles("work", {"work": Profile("work", WORK.origin, "session", user_name=name)}))
        found = profiles.read(path)
        assert found.problem == ""
        assert found.entries["work"].user_name.isprintable() or not name.isprintable()
        tomllib.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("text", ["current = ", "\x00", "[profiles", "current = 'x'\ncurrent = 'x'"])
def test_damaged_file_is_reported_and_kept_as_a_copy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(text)
    found = profiles.read(path)
    assert (found.entries, found.current) == ({}, "")
    assert found.problem.startswith(f"Could not read the profiles: {path}: ")
    assert "(at " in found.problem, "the message names the line"
    assert found.problem.endswith(
        "Correct the file, or sign in again: octavo auth login. When you sign in, Octavo keeps the current file as profiles.unreadable."
    )
    profiles.write(path, found.with_current(WORK))
    assert profiles.read(path) == Profiles("work", {"work": WORK})
    assert (tmp_path / "profiles.unreadable").read_text() == text


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (
            'origin = "http://evil.example"\nstore = "keyring"',
            "Without encryption, others could read your API key on its way to evil.example.",
        ),
        ('origin = "https://x"\nstore = "nowhere"', "store must be one of keyring, file, env, session, not 'nowhere'."),
        ('store = "keyring"', "origin must be the URL of a server."),
        ('origin = "https://x"', "store must be one of keyring, file, env, session, not None."),
        ("origin = 7\nstore = 7", "store must be one of keyring, file, env, session, not 7."),
        (
            'origin = "https://x"\nstore = "env"\nreadonly = true',
            "there is no setting 'readonly'. Did you mean read_only?",
        ),
    ],
)
def test_unreadable_profile_does_not_hide_the_others(tmp_path: Path, entry: str, why: str) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(f'current = "bad"\n[profiles.bad]\n{entry}\n[profiles.work]\norigin = "https://x"\nstore = "env"\n')
    found = profiles.read(path)
    assert list(found.entries) == ["work"]
    assert found.current == ""
    assert found.problem.startswith(f"Could not read some of the profiles in {path}: profile 'bad': {why}")


def test_all_problems_of_the_profiles_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text('curent = "work"\n[profiles.a]\nstore = "env"\n[profiles.b]\norigin = "https://x"\n')
    problem = profiles.read(path).problem
    assert "there is no setting 'curent'. Did you mean current?" in problem
    assert "profile 'a': origin must be" in problem
    assert "profile 'b': store must be" in problem
    path.write_text('current = "wrk"\n[profiles.work]\norigin = "https://x"\nstore = "env"\n')
    assert "current is set to 'wrk', which is not a profile." in profiles.read(path).problem


def test_environment_key_needs_readable_profiles(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(
        'current = "work"\n[profiles.work]\norigin = "https://own.example"\n'
    )  # The profile lacks its store.
    known = profiles.read(path)
    with pytest.raises(
        ValueError, match="Or use --base-url or OCTAVO_BASE_URL to name the server that OCTAVO_API_KEY belongs to"
    ):
        resolve_access(known, KEY)
    assert resolve_access(known, {**KEY, **THERE}).origin == "https://there.example"
    assert resolve_access(known, {}).problem == known.problem


def test_malformed_profile_files_cause_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    for text in (
        "profiles = 7",
        "profiles = []",
        "[profiles]\nwork = 7",
        "current = 7\n[profiles.work]",
        '[profiles."A B"]\nstore="env"',
    ):
        path.write_text(text)
        assert profiles.read(path).entries == {}
        assert profiles.read(path).problem
    path.write_text("x = " + "[" * 5000)
    assert "Could not read the profiles" in profiles.read(path).problem
    path.write_bytes(b"\xff")
    assert "it is not UTF-8" in profiles.read(path).problem
    path.unlink()
    path.mkdir()
    assert f"Could not read the profiles: {path}: Is a directory." in profiles.read(path).problem


def test_next_profile_replaces_a_removed_one() -> None:
    left = BOTH.without("work")
    assert (left.current, list(left.entries)) == ("home", ["home"])
    assert left.without("home").current == ""
    assert BOTH.without("home").current == "work"


KEY = {"OCTAVO_API_KEY": KEY_TEXT}
THERE = {"OCTAVO_BASE_URL": "https://there.example/v1"}
DEFAULT = Profile("default", "https://api.gitbook.com", "keyring")
OWN = Profile("own", WORK.origin, "session", fingerprint=profiles.fingerprint(SecretStr(KEY_TEXT)))
IN_ENVIRONMENT = Profile("e", WORK.origin, "env")


@pytest.mark.parametrize(
    ("known", "environ", "options", "origin", "profile", "source"),
    [
        (Profiles(), {}, {}, "https://api.gitbook.com", None, "none"),
        (Profiles(), KEY, {}, "https://api.gitbook.com", None, "env"),
        (Profiles(), {"OCTAVO_API_KEY": " "}, {}, "https://api.gitbook.com", None, "none"),
        (Profiles(), {**KEY, **THERE}, {}, "https://there.example", None, "env"),
        (Profiles(), {**KEY, **THERE}, {"base_url": "https://here.example"}, "https://here.example", None, "env"),
        (BOTH, {}, {}, WORK.origin, WORK, "keyring"),
        (BOTH, KEY, {"base_url": HOME.origin}, HOME.origin, HOME, "env"),
        (BOTH, {**KEY, "OCTAVO_BASE_URL": HOME.origin}, {"profile": "home"}, HOME.origin, HOME, "env"),
        (Profiles("default", {"default": DEFAULT}), KEY, {}, DEFAULT.origin, DEFAULT, "env"),
        (Profiles("own", {"own": OWN}), KEY, {}, OWN.origin, OWN, "env"),
        (BOTH, {}, {"profile": "home"}, HOME.origin, HOME, "file"),
        (BOTH, THERE, {}, "https://there.example", None, "none"),
        (BOTH, {**KEY, **THERE}, {}, "https://there.example", None, "env"),
        (BOTH, {}, {"base_url": "http://127.0.0.1:8080/v1"}, HOME.origin, HOME, "file"),
        (BOTH, {"OCTAVO_BASE_URL": "https://api.example.com/"}, {"profile": "work"}, WORK.origin, WORK, "keyring"),
        (Profiles("e", {"e": IN_ENVIRONMENT}), KEY, {}, WORK.origin, IN_ENVIRONMENT, "env"),
        (Profiles("e", {"e": IN_ENVIRONMENT}), {}, {}, WORK.origin, IN_ENVIRONMENT, "none"),
        (Profiles("", {"work": WORK}), {}, {}, "https://api.gitbook.com", None, "none"),
    ],
)  # fmt: skip
def test_key_belongs_to_its_base_url_or_the_default_server(
    known: Profiles, environ: dict[str, str], options: dict[str, str], origin: str, profile: Profile | None, source: str
) -> None:
    access = resolve_access(known, environ, **options)
    assert (access.origin, access.profile, access.source) == (origin, profile, source)
    assert (access.token is not None) is (source == "env")


@pytest.mark.parametrize(
    ("environ", "options", "sentence"),
    [
        (
            {},
            {"profile": "nobody"},
            "The profile 'nobody' does not exist. Profiles: work, home. Sign in to create a profile.",
        ),
        (THERE, {"profile": "work"}, "Profile work belongs to https://api.example.com, not to https://there.example. "),
        (
            {"OCTAVO_BASE_URL": "http://there.example"},
            {},
            "Without encryption, others could read your API key on its way to there.example",
        ),
        (
            KEY,
            {},
            "OCTAVO_API_KEY may belong to another server than https://api.example.com. To use it there, set OCTAVO_BASE",
        ),
        (
            KEY,
            {"profile": "home"},
            "OCTAVO_API_KEY may belong to another server than http://127.0.0.1:8080. To use it ",
        ),
        ({"OCTAVO_API_KEY": "two words"}, {}, "OCTAVO_API_KEY cannot be used. This is not an API key"),
    ],
)
def test_unresolvable_access_is_reported(environ: dict[str, str], options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        resolve_access(BOTH, environ, **options)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("name", ["", "A", "-x", "a b", "a" * 33, "../x", "ä", "a\n"])
def test_unsafe_profile_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid profile name"):
        profiles.check_name(name)


def test_unreadable_profile_file_is_kept_until_replaced(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_bytes(b"\xff not toml")
    found = profiles.read(path)
    tmp_path.chmod(0o500)
    try:
        (tmp_path / "probe").touch()  # Root can write to any folder.
    except PermissionError:
        with pytest.raises(OSError, match="denied"):
            profiles.write(path, found)
        assert path.read_bytes() == b"\xff not toml"
    finally:
        tmp_path.chmod(0o700)
    profiles.write(path, found)
    assert path.with_suffix(".unreadable").read_bytes() == b"\xff not toml"
    assert path.read_bytes() != b"\xff not toml"


def test_read_only_profile_stays_read_only(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    profiles.write(path, BOTH)
    path.write_text(path.read_text().replace('[profiles."work"]', '[profiles."work"]\nread_only = true'))
    found = profiles.read(path)
    assert found.entries["work"].read_only
    assert not found.entries["home"].read_only
    assert "profile work has read_only = true" in resolve_access(found, {}).why_read_only
    assert resolve_access(found, {}, profile="home").why_read_only == ""
    profiles.write(path, found.with_current(HOME))
    assert profiles.read(path).entries["work"].read_only


def test_invalid_boolean_is_not_false(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    profiles.write(path, BOTH)
    path.write_text(path.read_text().replace('[profiles."work"]', '[profiles."work"]\nread_only = "yes"'))
    found = profiles.read(path)
    assert "work" not in found.entries
    assert "profile 'work': read_only must be true or false." in found.problem


HERE, ELSEWHERE = "https://here.example", "https://elsewhere.example"


def access_by_key(text: str, origin: str = HERE) -> Access:
    return Access(origin, None, "env", SecretStr(text))


def access_by_profile(user: str, name: str = "default") -> Access:
    return Access(HERE, Profile(name, HERE, "keyring", user), "keyring")


def test_each_key_has_its_own_name_until_its_user_is_known(tmp_path: Path) -> None:
    first, second, there = (
        access_by_key("first-key"),
        access_by_key("second-key"),
        access_by_key("first-key", ELSEWHERE),
    )
    names = [StorageNames(tmp_path).name_of(each) for each in (first, second, there)]
    assert len(set(names)) == 3
    for access, user in ((first, "mia"), (second, "jun"), (there, "mia")):
        StorageNames(tmp_path).record_user(access, user)
    assert [StorageNames(tmp_path).name_of(each) for each in (first, second, there)] == names, (
        "accounts keep their names once the user is known"
    )
    assert StorageNames(tmp_path).name_of(access_by_profile("mia")) == names[0]
    assert StorageNames(tmp_path).name_of(access_by_profile("jun", "work")) == names[1]
    assert StorageNames(tmp_path).earlier_names_of(names[0]) == ()


def test_another_key_of_an_account_shares_its_data(tmp_path: Path) -> None:
    name = StorageNames(tmp_path).name_of(access_by_profile("mia"))
    before = StorageNames(tmp_path).name_of(access_by_key("her-new-key"))
    assert before != name
    for _ in range(2):
        StorageNames(tmp_path).record_user(access_by_key("her-new-key"), "mia")
    assert StorageNames(tmp_path).name_of(access_by_key("her-new-key")) == name
    assert StorageNames(tmp_path).earlier_names_of(name) == (before,)


def test_key_of_another_user_shares_no_data(tmp_path: Path) -> None:
    accounts = StorageNames(tmp_path)
    accounts.record_user(access_by_key("a-shared-key"), "mia")
    of_mia = accounts.name_of(access_by_profile("mia"))
    accounts.record_user(access_by_key("a-shared-key"), "jun")
    assert accounts.name_of(access_by_key("a-shared-key")) == accounts.name_of(access_by_profile("jun")) != of_mia
    assert accounts.earlier_names_of(accounts.name_of(access_by_profile("jun"))) == ()


def test_unreadable_accounts_are_set_aside_and_unwritable_temporary(tmp_path: Path) -> None:
    (tmp_path / ACCOUNTS_FILE).write_text('{"salt": "00"}')
    (tmp_path / ACCOUNTS_FILE).chmod(0o600)
    name = StorageNames(tmp_path).name_of(access_by_key("first-key"))
    assert StorageNames(tmp_path).name_of(access_by_key("first-key")) == name
    assert (tmp_path / "accounts.unreadable").read_text() == '{"salt": "00"}'
    assert "first-key" not in (tmp_path / ACCOUNTS_FILE).read_text()
    (tmp_path / "file").touch()
    accounts = StorageNames(tmp_path / "file")
    accounts.record_user(access_by_key("first-key"), "mia")
    assert accounts.name_of(access_by_key("first-key")) == accounts.name_of(access_by_profile("mia"))


def test_accounts_that_cannot_be_set_aside_have_names_for_this_run(tmp_path: Path) -> None:
    (tmp_path / ACCOUNTS_FILE).write_text("damaged")
    (tmp_path / ACCOUNTS_FILE).chmod(0o600)
    (tmp_path / "accounts.unreadable" / "in the way").mkdir(parents=True)
    accounts = StorageNames(tmp_path)
    assert accounts.name_of(access_by_profile("mia")) == f"{HERE} user mia"
    accounts.record_user(access_by_key("first-key"), "mia")
    assert accounts.name_of(access_by_key("first-key")) == f"{HERE} user mia"
    assert (tmp_path / ACCOUNTS_FILE).read_text() == "damaged"
