from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from octavo.server.demo.library import build
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.widgets import short_texts
from screenshots import operations
from tests.client.backends import Memory
from tests.journeys import pressed
from tests.journeys.stage import Clock, Stage
from tests.server.asking import counting


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A keyring that Octavo does not trust, and no D-Bus, whatever this machine has."""
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    yield
    keyring.set_keyring(before)


pressed.follow()


@pytest.fixture(autouse=True)
def keys_followed(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a journey shows to be written by keys, by `pressed.tsv`, it shows. `RECORD_KEYS` names a file for all that is seen.

    Reads are kept in the file as they were seen: whether a key or a look in the background asks first is up to the machine.
    """
    pressed.forget()
    yield
    journey = request.node.nodeid
    if record := os.environ.get("RECORD_KEYS"):
        with Path(record).open("a", encoding="utf-8") as lines:
            lines.writelines("\t".join((*each, journey)) + "\n" for each in sorted(pressed.seen))
    elif pressed.seen:
        wanted = {each[:3] for each in operations.pressed() if each.journey == journey and each.writes}
        assert wanted <= pressed.seen, (
            "a key does something else now: screenshots/operations.py says how to write that down"
        )


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The demo library, set out once for all workers of a run. Tests copy it."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    path = folder / "library.db"
    with (folder / "library.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            store = Store(making := folder / "library.new")
            build(World(store))
            store.set_setting("library", "demo")
            store.close()
            making.rename(path)
    return path


@pytest.fixture
def stage(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Where the app is started. What it saves, by whatever key and under whatever name, stays in the folder of the test."""
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    clock = short_texts.clock
    yield Stage(tmp_path, library)
    short_texts.clock = clock


@pytest.fixture(scope="session")
def furnished(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with something of every kind that is managed."""
    from tests.journeys.managed import furnish  # most journeys do without

    path = tmp_path_factory.mktemp("furnished") / "library.db"
    path.write_bytes(library.read_bytes())
    store = Store(path)
    furnish(World(store, now=Clock(), new_id=counting("f")))
    store.close()
    return path


@pytest.fixture
def furnished_stage(tmp_path: Path, furnished: Path) -> Iterator[Stage]:
    clock = short_texts.clock
    yield Stage(tmp_path, furnished)
    short_texts.clock = clock
