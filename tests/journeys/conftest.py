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
from tests.client.backends import Memory
from tests.journeys.request_log import log, table
from tests.journeys.stage import Clock, Stage
from tests.server.asking import counting

REQUESTS = table()


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the keyring and D-Bus of this machine by a keyring that Octavo does not trust."""
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    yield
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def requests_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that a journey sends the requests that `requests.tsv` says. With `RECORD_REQUESTS`, append them to that file."""
    log.clear()
    yield
    seen, journey = log.seen, request.node.nodeid
    if record := os.environ.get("RECORD_REQUESTS"):
        with Path(record).open("a", encoding="utf-8") as lines:
            lines.writelines("\t".join((*each, journey)) + "\n" for each in sorted(seen))
    elif seen:
        missing = [each for each in REQUESTS if each.journey == journey and each[:3] not in seen]
        assert not missing, "Other requests follow the keys now: see tests/journeys/request_log.py"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The demo library, created once for all workers. Tests copy it."""
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
    """A computer with the demo library. All files of the app are in the folder of the test."""
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    clock = short_texts.clock
    yield Stage(tmp_path, library)
    short_texts.clock = clock


@pytest.fixture(scope="session")
def furnished(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo library with an item of every resource."""
    from tests.journeys.managed import furnish  # lazy: few journeys need it

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
