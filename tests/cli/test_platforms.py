"""Platforms of this process: concurrent builds share one result, and a failed build names its cause."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.api import spaces, users
from octavo.api.errors import LocalFailure, ServerError
from octavo.api.operation import OrganizationRef
from octavo.cli import sessions
from octavo.cli.arguments import DEFAULT_ROLE, PEOPLE_BY_ROLE
from octavo.cli.late_client import LazyPlatform
from octavo.cli.platform_folders import PlatformFolder
from octavo.cli.platforms import open_demo_platform, open_folder_platform, update_folder
from octavo.client.client import Client
from octavo.server.app import Platform
from octavo.server.demo import history
from octavo.server.demo.history import ORGANIZATION
from octavo.server.store import Store, WriteFailure
from tests.journeys.conftest import library

__all__ = ["library"]


@pytest.fixture
def folder(tmp_path: Path) -> PlatformFolder:
    folder = PlatformFolder(tmp_path / "demo")
    folder.read_key()
    return folder


@pytest.fixture
def demo_folder(folder: PlatformFolder, library: Path) -> PlatformFolder:
    """Return a folder in which the demo is already built."""
    shutil.copyfile(library, folder.database_file)
    return folder


def test_demo_has_a_person_for_each_role() -> None:
    known = {each.id: each.role for each in (*history.PEOPLE, *history.members())}
    roles = [known[id] for id in PEOPLE_BY_ROLE.values()]
    assert roles == ["admin", "create", "review", "edit", "comment", "read", None]
    assert PEOPLE_BY_ROLE[DEFAULT_ROLE] == history.DEFAULT_PERSON.id


def test_each_person_of_the_demo_has_an_own_key(demo_folder: PlatformFolder) -> None:
    folder, keys = demo_folder, dict[str, str]()
    for role in ("", *PEOPLE_BY_ROLE):
        role_folder = replace(folder, role="" if role == DEFAULT_ROLE else role)
        platform = open_demo_platform(role_folder)
        keys[role or DEFAULT_ROLE] = role_folder.read_key().get_secret_value()
        who = platform.context.store.user_of(keys[role or DEFAULT_ROLE])
        assert who == PEOPLE_BY_ROLE[role or DEFAULT_ROLE]
        member = platform.context.store.get(f"/orgs/{ORGANIZATION}/members/{who}")
        assert not member.get("disabled")
        platform.close()
        platform.context.store.close()
    assert len(set(keys.values())) == len(PEOPLE_BY_ROLE)
    folder.clear()
    assert not list(folder.path.glob("key*"))


@pytest.mark.parametrize("name", ["README.md", "lamp.png", ".gitbook/includes/note.md", ".gitbook/vars.yaml"])
def test_each_changed_file_of_an_opened_folder_is_a_change(tmp_path: Path, folder: PlatformFolder, name: str) -> None:
    pages = tmp_path / "pages"
    (pages / ".gitbook/includes").mkdir(parents=True)
    (pages / "README.md").write_text("# Home\n\n![](lamp.png)\n")
    for path in ("lamp.png", ".gitbook/includes/note.md", ".gitbook/vars.yaml"):
        (pages / path).write_text("a: b\n")
    platform = open_folder_platform(folder, pages, "Mia", [])
    has_changed = [update_folder(folder, pages, lambda done, count: None)]
    (pages / name).write_text("a: c\n\n![](lamp.png)\n")
    has_changed.append(update_folder(folder, pages, lambda done, count: None))
    platform.close()
    platform.context.store.close()
    assert has_changed == [False, True]


def is_inside(function: str, thread: int) -> bool:
    """Return True if the thread is inside a function of this name."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_name == function:
            return True
        frame = frame.f_back
    return False


def test_demo_built_by_another_process_is_not_built_again(folder: PlatformFolder) -> None:
    first = Store(folder.database_file)
    idents: list[int] = []

    def build_later() -> Platform:
        idents.append(threading.get_ident())
        return open_demo_platform(folder)

    with ThreadPoolExecutor(1) as aside:
        with first.transaction():
            building = aside.submit(build_later)
            while not (idents and is_inside("transaction", idents[0])):
                os.sched_yield()
            first.set_setting("library", "demo")
            first.put("/spaces/ours", {"id": "ours", "title": "Ours"})
        platform = building.result(30)
    assert [space["id"] for space in platform.context.store.all("/spaces")] == ["ours"]
    platform.close()
    platform.context.store.close()
    first.close()


@pytest.mark.long
async def test_locked_demo_database_is_a_local_failure(folder: PlatformFolder) -> None:
    first = Store(folder.database_file)
    client = Client(
        "http://octavo.local",
        folder.read_key(),
        transport=LazyPlatform(lambda: open_demo_platform(folder), folder=folder),
    )
    with first.transaction(), pytest.raises(LocalFailure, match=r"Could not open the data in .*database is locked"):
        await client(users.Me())
    await client.aclose()
    first.close()


async def test_write_to_a_locked_database_is_a_server_error(demo_folder: PlatformFolder) -> None:
    folder = demo_folder
    platform = open_demo_platform(folder)
    platform.context.store._db.execute("PRAGMA busy_timeout = 0")
    other = Store(folder.database_file)
    client = Client("http://octavo.local", folder.read_key(), transport=platform)
    create = spaces.Create(at=OrganizationRef(organization_id=ORGANIZATION), title="Ours")
    with other.transaction(), pytest.raises(ServerError, match="cannot save anything at the moment"):
        await client(create)
    await client.aclose()
    platform.close()
    platform.context.store.close()
    other.close()


def test_full_database_is_a_write_failure_and_wrong_sql_is_not(folder: PlatformFolder) -> None:
    store = Store(folder.database_file)
    store._db.execute("PRAGMA max_page_count = 40")
    with pytest.raises(WriteFailure) as full, store.transaction():
        store.put_blob(b"x" * 1_000_000)
    assert full.value.errno == errno.EIO
    assert "disk is full" in str(full.value.strerror)
    with pytest.raises(Exception, match="syntax error") as wrong, store.transaction():
        store._db.execute("no valid statement")
    assert not isinstance(wrong.value, OSError)
    store.close()


@pytest.mark.parametrize(
    ("origin", "seconds"),
    [
        ("http://127.0.0.1:8080", 2.0),
        ("http://localhost:8080", 2.0),
        ("http://[::1]:8080", 2.0),
        ("https://localhost.evil.example", 30.0),
        ("https://127.0.0.1.evil.example", 30.0),
        ("https://api.example.com", 30.0),
    ],
)
def test_uncertain_write_settles_sooner_on_this_machine(origin: str, seconds: float) -> None:
    assert sessions.arrival_margin_of(origin) == seconds
