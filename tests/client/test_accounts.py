"""Data of an account is stored under one name per user, whichever key the user signs in with."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from octavo.client.profiles import ACCOUNTS_FILE, Access, Accounts, Profile

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
    names = [Accounts(tmp_path).name_of(each) for each in (first, second, there)]
    assert len(set(names)) == 3
    for access, user in ((first, "mia"), (second, "jun"), (there, "mia")):
        Accounts(tmp_path).record_user(access, user)
    assert [Accounts(tmp_path).name_of(each) for each in (first, second, there)] == names, (
        "accounts keep their names once the user is known"
    )
    assert Accounts(tmp_path).name_of(access_by_profile("mia")) == names[0]
    assert Accounts(tmp_path).name_of(access_by_profile("jun", "work")) == names[1]
    assert Accounts(tmp_path).earlier_names_of(names[0]) == ()


def test_another_key_of_an_account_shares_its_data(tmp_path: Path) -> None:
    name = Accounts(tmp_path).name_of(access_by_profile("mia"))
    before = Accounts(tmp_path).name_of(access_by_key("her-new-key"))
    assert before != name
    for _ in range(2):
        Accounts(tmp_path).record_user(access_by_key("her-new-key"), "mia")
    assert Accounts(tmp_path).name_of(access_by_key("her-new-key")) == name
    assert Accounts(tmp_path).earlier_names_of(name) == (before,)


def test_key_of_another_user_shares_no_data(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    accounts.record_user(access_by_key("a-shared-key"), "mia")
    of_mia = accounts.name_of(access_by_profile("mia"))
    accounts.record_user(access_by_key("a-shared-key"), "jun")
    assert accounts.name_of(access_by_key("a-shared-key")) == accounts.name_of(access_by_profile("jun")) != of_mia
    assert accounts.earlier_names_of(accounts.name_of(access_by_profile("jun"))) == ()


def test_unreadable_accounts_are_set_aside_and_unwritable_temporary(tmp_path: Path) -> None:
    (tmp_path / ACCOUNTS_FILE).write_text('{"salt": "00"}')
    (tmp_path / ACCOUNTS_FILE).chmod(0o600)
    name = Accounts(tmp_path).name_of(access_by_key("first-key"))
    assert Accounts(tmp_path).name_of(access_by_key("first-key")) == name
    assert (tmp_path / "accounts.unreadable").read_text() == '{"salt": "00"}'
    assert "first-key" not in (tmp_path / ACCOUNTS_FILE).read_text()
    (tmp_path / "file").touch()
    accounts = Accounts(tmp_path / "file")
    accounts.record_user(access_by_key("first-key"), "mia")
    assert accounts.name_of(access_by_key("first-key")) == accounts.name_of(access_by_profile("mia"))
