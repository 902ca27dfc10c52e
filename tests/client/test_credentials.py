from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import keyring.backends.null
import pytest
from keyring.backend import KeyringBackend
from pydantic import SecretStr

from octavo.client.credentials import (
    STILL_WAITING,
    TRUSTED_BACKENDS,
    Keyring,
    StoreTimeout,
    StoreUnavailable,
    TokenFiles,
)
from octavo.client.profiles import ending, fingerprint, parse_token
from octavo.concurrency import Overdue, run_in_thread, run_with_timeout
from octavo.private_files import NotPrivate, read_private, write_private
from tests.client.conftest import KEY
from tests.client.http_server import KEY_TEXT
from tests.client.keyring_backends import HERE, Chain, Forgetful, Locked, Memory, Waiting, untrusted_backend

ORIGIN = "https://api.example.com"
NULL = keyring.backends.null.Keyring()  # type: ignore[no-untyped-call]  # the library has no types
FAIL = keyring.backends.fail.Keyring()  # type: ignore[no-untyped-call]  # the library has no types


@pytest.fixture(autouse=True)
def restore_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the former keyring backend after each test. No test uses the keyring of this machine."""
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    before = keyring.core._keyring_backend
    yield
    keyring.core._keyring_backend = before


def keyring_with(backend: KeyringBackend, seconds: float = 3.0) -> Keyring:
    keyring.set_keyring(backend)
    return Keyring(trusted=HERE, timeout=seconds)


def text_of(key: SecretStr | None) -> str | None:
    return None if key is None else key.get_secret_value()


def test_key_is_stored_returned_and_deleted() -> None:
    store = keyring_with(Memory())
    assert store.get(ORIGIN, "work") is None
    store.put(ORIGIN, "work", KEY)
    assert text_of(store.get(ORIGIN, "work")) == KEY_TEXT
    store.delete(ORIGIN, "work")
    assert store.get(ORIGIN, "work") is None
    store.delete(ORIGIN, "work")


def test_key_belongs_to_its_origin_and_profile() -> None:
    store = keyring_with(Memory())
    store.put(ORIGIN, "work", KEY)
    assert store.get("https://evil.example", "work") is None
    assert store.get(ORIGIN + ":8443", "work") is None
    assert store.get(ORIGIN, "other") is None


@pytest.mark.parametrize(
    "backend",
    [
        NULL,
        FAIL,
        untrusted_backend(Memory),
        Chain([]),
        Chain([untrusted_backend(Memory), NULL]),
        Memory(),
    ],
    ids=["null", "fail", "plaintext", "empty chain", "chain of untrusted", "ours, in production"],
)
def test_no_other_backend_is_trusted(backend: KeyringBackend) -> None:
    keyring.set_keyring(backend)
    store = Keyring()
    for call in (lambda: store.put(ORIGIN, "work", KEY), lambda: store.get(ORIGIN, "work"), store.title):
        with pytest.raises(StoreUnavailable, match="This session has no D-Bus session bus"):
            call()
    for each in (backend, *getattr(backend, "backends", ())):
        assert not getattr(each, "kept", None)
        assert not getattr(each, "calls", None)


def test_encrypting_backends_are_trusted_by_exact_module() -> None:
    assert "keyring.backends.SecretService" in TRUSTED_BACKENDS
    assert not any(name.startswith("keyrings.alt") for name in TRUSTED_BACKENDS)
    lookalike = type("Keyring", (Memory,), {"__module__": "keyring.backends.SecretServiceless"})()
    keyring.set_keyring(lookalike)
    with pytest.raises(StoreUnavailable):
        Keyring().put(ORIGIN, "work", KEY)


def test_first_trusted_backend_of_a_chain_is_used() -> None:
    plain, good = untrusted_backend(Memory), Memory()
    keyring_with(Chain([plain, good])).put(ORIGIN, "work", KEY)
    assert (plain.calls, len(good.kept)) == ([], 1)


@pytest.mark.before_release
def test_missing_backend_is_no_store() -> None:
    program = (
        "from octavo.client.credentials import *\n"
        "from pydantic import SecretStr\n"
        "try: Keyring().put('https://x', 'work', SecretStr('gb_api_0123456789'))\n"
        "except StoreUnavailable as error: print(type(error).__name__, error)"
    )
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": "nope.Keyring"}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "StoreUnavailable The environment variable PYTHON_KEYRING_BACKEND names nope.Keyring, which is not an encrypted keyring"
    )
    environ = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "StoreUnavailable The D-Bus session bus (DBUS_SESSION_BUS_ADDRESS) does not respond. "
    )


def test_key_that_cannot_be_read_back_is_reported() -> None:
    with pytest.raises(StoreUnavailable, match="could not read the API key back"):
        keyring_with(Forgetful()).put(ORIGIN, "work", KEY)


def test_refusing_backend_is_named_and_not_quoted() -> None:
    with pytest.raises(StoreUnavailable, match="The keyring is locked") as caught:
        keyring_with(Locked()).put(ORIGIN, "work", KEY)
    error: BaseException | None = caught.value
    assert KEY_TEXT not in str(error)
    assert caught.value.__suppress_context__


def test_blocked_keyring_times_out() -> None:
    backend = Waiting()
    store = keyring_with(backend, seconds=0.05)
    with pytest.raises(StoreTimeout, match="did not respond within 0"):
        store.get(ORIGIN, "work")
    with pytest.raises(StoreTimeout):
        store.put(ORIGIN, "work", KEY)
    backend.answered.set()


def test_missing_dbus_is_reported_with_its_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.set_keyring(FAIL)
    with pytest.raises(StoreUnavailable, match="Start Octavo from your desktop, or in a dbus-run-session"):
        Keyring().title()
    (tmp_path / "bus").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(StoreUnavailable, match=f"Run: export DBUS_SESSION_BUS_ADDRESS=unix:path={tmp_path}/bus"):
        Keyring().title()


def test_keyring_prompt_is_announced_and_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.client.credentials.TIMEOUT", 0.01)
    backend, said = Waiting(), list[str]()

    def on_prompt(sentence: str) -> None:
        said.append(sentence)
        backend.answered.set()

    keyring.set_keyring(backend)
    store = Keyring(trusted=HERE).with_longer_timeout(on_prompt)
    assert store.get(ORIGIN, "work") is None
    assert said == [STILL_WAITING]
    assert store.get(ORIGIN, "work") is None
    assert len(said) == 1, "an immediate response is not announced"


def test_patient_store_has_a_longer_timeout() -> None:
    store = keyring_with(Memory())
    assert store._timeout == 3.0
    assert store.with_longer_timeout()._timeout == 60.0
    assert store.with_longer_timeout()._trusted is HERE


async def test_blocked_keyring_does_not_block_the_event_loop() -> None:
    backend = Waiting()
    store = keyring_with(backend)
    asking = asyncio.create_task(run_in_thread(lambda: store.get(ORIGIN, "work")))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not asking.done()
    backend.answered.set()
    assert await asking is None


def test_blocked_keyring_does_not_delay_the_exit() -> None:
    program = (
        "import asyncio, keyring\n"
        "from octavo.concurrency import run_in_thread\n"
        "from octavo.client.credentials import *\n"
        "from tests.client.keyring_backends import *\n"
        "keyring.set_keyring(Waiting())\n"
        "store = Keyring(trusted=HERE, timeout=0.05)\n"
        "async def main():\n"
        "    try: await run_in_thread(lambda: store.get('https://x', 'work'))\n"
        "    except StoreTimeout: print('told')\n"
        "    asyncio.ensure_future(run_in_thread(lambda: Keyring(trusted=HERE, timeout=9e5).get('https://x', 'work')))\n"
        "    await asyncio.sleep(0.05)\n"
        "    print('ends')\n"
        "asyncio.run(main())"
    )
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["told", "ends"]), done.stderr


async def test_thread_result_or_error_reaches_the_caller() -> None:
    assert await run_in_thread(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 // 0)
    assert run_with_timeout(60, lambda: None) is None
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(60, lambda: 1 // 0)
    with pytest.raises(Overdue):
        run_with_timeout(0.01, threading.Event().wait)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777 & ~0o700])
def test_key_files_are_private(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        TokenFiles(tmp_path / "a" / "keys").put(ORIGIN, "work", KEY)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "keys": 0o700, "work.json": 0o600}


def test_key_file_belongs_to_its_origin(tmp_path: Path) -> None:
    files = TokenFiles(tmp_path)
    assert files.get(ORIGIN, "work") is None
    files.put(ORIGIN, "work", KEY)
    assert text_of(files.get(ORIGIN, "work")) == KEY_TEXT
    assert files.get("https://evil.example", "work") is None
    files.delete(ORIGIN, "work")
    files.delete(ORIGIN, "work")
    assert list(tmp_path.iterdir()) == []


def test_key_file_writable_by_others_is_refused(tmp_path: Path) -> None:
    files = TokenFiles(tmp_path)
    files.put(ORIGIN, "work", KEY)
    path = tmp_path / "work.json"
    for mode in (0o644, 0o660, 0o602, 0o610):
        path.chmod(mode)
        with pytest.raises(StoreUnavailable, match="chmod 600"):
            files.get(ORIGIN, "work")
    path.chmod(0o600)
    path.rename(tmp_path / "real.json")
    path.symlink_to(tmp_path / "real.json")
    with pytest.raises(StoreUnavailable, match="is a symbolic link"):
        files.get(ORIGIN, "work")
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(StoreUnavailable, match="was not written by Octavo"):
        files.get(ORIGIN, "work")
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreUnavailable):
        files.get(ORIGIN, "work")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_key_file_of_another_owner_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "work.json", "{}")
    os.chown(tmp_path / "work.json", 12345, 12345)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        read_private(tmp_path / "work.json")


@pytest.mark.parametrize(
    "kept", ["", "[]", "null", "{}", '{"origin":"https://api.example.com","key":"a b"}', "\x00", "x" * 2_000_000]
)
def test_malformed_key_file_is_reported(tmp_path: Path, kept: str) -> None:
    write_private(tmp_path / "work.json", kept)
    with pytest.raises(StoreUnavailable, match="in again"):
        TokenFiles(tmp_path).get(ORIGIN, "work")


def test_failed_write_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_private(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "after\ud800")
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="Could not write to"):
        TokenFiles(tmp_path / "file" / "keys").put(ORIGIN, "work", KEY)


@pytest.mark.parametrize("given", [KEY_TEXT, f"  {KEY_TEXT}\r\n", f"Bearer {KEY_TEXT}", f"bearer\t{KEY_TEXT}\n"])
def test_pasted_key_is_accepted(given: str) -> None:
    assert parse_token(given).get_secret_value() == KEY_TEXT


@pytest.mark.parametrize(
    "given",
    [
        "",
        "   ",
        "short",
        "gb_api_one gb_api_two",
        "gb_api_one\ngb_api_two",
        "schlüssel_mit_umlaut",
        "k" * 10_000,
        "\x1b]0;titlelong\x07",
        "bearer ",
    ],
)
def test_invalid_key_is_refused_and_not_printed(given: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_token(given)
    error = str(caught.value)
    assert error.endswith(".")
    assert not any(part in error for part in given.split() if part != "bearer")
    assert caught.value.__context__ is None


def test_only_the_end_of_a_long_key_is_shown() -> None:
    assert ending(KEY) == "ghij"
    assert ending(SecretStr("12345678")) == ""
    assert len(fingerprint(KEY)) == 8
    assert fingerprint(KEY) != fingerprint(SecretStr("another_key"))
