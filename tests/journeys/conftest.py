from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import keyring
import pytest

from octavo.data import sync_queue
from octavo.data.state_db import StateDb
from octavo.server.demo.library import build
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from octavo.tui.widgets import short_texts
from tests.client.keyring_backends import Memory
from tests.journeys.request_log import log, read_table
from tests.journeys.stage import Clock, Stage
from tests.server.small_platform import counting

REQUESTS = read_table()


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
def check_logged_requests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if the journey no longer sends the requests in its rows of `requests.tsv`. With `RECORD_REQUESTS`, append
    the requests to the file with that name."""
    log.clear()
    yield
    seen, journey = log.seen, request.node.nodeid
    if record := os.environ.get("RECORD_REQUESTS"):
        with Path(record).open("a", encoding="utf-8") as lines:
            lines.writelines("\t".join((*each, journey)) + "\n" for each in sorted(seen))
    elif seen:
        missing = [each for each in REQUESTS if each.journey == journey and each[:3] not in seen]
        assert not missing, (
            "The app sends other requests than tests/journeys/requests.tsv lists. See tests/journeys/request_log.py."
        )


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the demo library. The first worker creates the file, and each test copies it."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    path = folder / "library.db"
    with (folder / "library.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            store = Store(making := folder / "library.new")
            build(RequestContext(store))
            store.set_setting("library", "demo")
            store.close()
            making.rename(path)
    return path


def hide_greeting(home: Path) -> None:
    """Store that the demo in this home has shown its greeting, which covers the first screen for 15 seconds."""
    state = StateDb(home / "state", f"demo {home / 'data' / 'demo'}")
    state.set_value("greeted", True)
    state.close()


@pytest.fixture
def stage(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Yield a computer with the demo library. All files of the app are in the folder of the test."""
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    # The clock of the stage stands still, so the pause between these requests would never end.
    monkeypatch.setattr(sync_queue, "LATER_INTERVAL", timedelta())
    clock = short_texts.clock
    yield Stage(tmp_path, library)
    short_texts.clock = clock


@pytest.fixture(scope="session")
def full_library(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a demo library that also has an item of every resource."""
    from tests.journeys.resource_samples import create_all_resources  # lazy: few journeys need it

    path = tmp_path_factory.mktemp("full_library") / "library.db"
    path.write_bytes(library.read_bytes())
    store = Store(path)
    create_all_resources(RequestContext(store, now=Clock(), new_id=counting("f")))
    store.close()
    return path


@pytest.fixture
def full_stage(tmp_path: Path, full_library: Path) -> Iterator[Stage]:
    clock = short_texts.clock
    yield Stage(tmp_path, full_library)
    short_texts.clock = clock
