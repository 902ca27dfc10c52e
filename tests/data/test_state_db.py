"""The state database with damaged, locked and outdated files."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from octavo.data.database import connect
from octavo.data.drafts import Drafts
from octavo.data.state_db import MIGRATIONS, NotSaved, StateDb, why_not_saved
from tests.data.connections import refuse_to_save

V2 = (*MIGRATIONS, ("CREATE TABLE more (name TEXT) STRICT", "INSERT INTO more VALUES ('a')"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that does not exist yet. The umask removes no permission."""
    before = os.umask(0)
    yield tmp_path / "octavo"
    os.umask(before)


async def test_values_are_remembered_by_profile(folder: Path) -> None:
    one, other = StateDb(folder, "one"), StateDb(folder, "other")
    one.set_value("last place", {"space": "docs"})
    assert one.get_value("last place") == {"space": "docs"}
    assert other.get_value("last place", "nowhere") == "nowhere"
    one.close()
    other.close()
    again = StateDb(folder, "one")
    assert again.get_value("last place") == {"space": "docs"}
    assert again.get_value("steps done", []) == []
    again.close()


def test_two_instances_change_entries_of_the_same_value(folder: Path) -> None:
    one, other = StateDb(folder), StateDb(folder)
    one.set_value("marks", ["a"])
    one.write_now(lambda db: None)
    assert other.get_value("marks") == ["a"]
    one.change_value("marks", lambda stored: [*stored, "b"])
    assert one.get_value("marks") == ["a", "b"], "the change is seen before it is on disk"
    other.change_value("marks", lambda stored: [*stored, "c"])
    one.write_now(lambda db: None)
    other.write_now(lambda db: None)
    assert sorted(one.get_value("marks")) == sorted(other.get_value("marks")) == ["a", "b", "c"]
    one.close()
    other.close()


def test_value_that_an_instance_has_set_is_not_changed_by_another(folder: Path) -> None:
    one, other = StateDb(folder), StateDb(folder)
    one.set_value("space", "docs")
    one.write_now(lambda db: None)
    other.set_value("space", "guides")
    other.write_now(lambda db: None)
    assert one.get_value("space") == "docs", "the space on the screen of this instance"
    later = StateDb(folder)
    assert later.get_value("space") == "guides"
    for each in (one, other, later):
        each.close()


def test_value_that_could_not_be_saved_stays_in_memory(folder: Path) -> None:
    state = StateDb(folder)
    allow = refuse_to_save(state)
    state.set_value("theme", "light")
    with pytest.raises(NotSaved):
        state.write_now(lambda db: None)
    assert state.get_value("theme") == "light"
    allow()
    state.close()


def test_unchanged_value_is_not_written_again(folder: Path) -> None:
    one, other = StateDb(folder), StateDb(folder)
    one.set_value("theme", "light")
    one.write_now(lambda db: None)  # Facts are written in the order of all writes.
    assert other.check_changed()
    one.set_value("theme", "light")
    one.write_now(lambda db: None)
    assert not other.check_changed()
    other.set_value("theme", "dark")
    other.write_now(lambda db: None)
    one.set_value("theme", "light")
    one.write_now(lambda db: None)
    assert other.check_changed(), "what another terminal wrote is written over"
    one.close()
    other.close()


def test_state_is_readable_by_its_owner_only(folder: Path) -> None:
    state = StateDb(folder)
    state.write_now(lambda db: db.execute("INSERT INTO facts VALUES ('', 'a', '1')"))
    role = state.try_lock("outbox")
    assert role
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert {"state.db", "state.db-wal", "state.db-shm"} < set(modes)
    role()
    state.close()


async def test_write_is_on_disk_before_it_is_acknowledged(folder: Path) -> None:
    state = StateDb(folder)
    await state.write(lambda db: db.execute("INSERT INTO facts VALUES ('', 'a', '1')"))
    other = connect(folder / "state.db")
    assert other.execute("SELECT value FROM facts").fetchall() == [("1",)]
    (mode,) = await state.write(lambda db: db.execute("PRAGMA synchronous").fetchone())
    assert mode == 2, "FULL"
    other.close()
    state.close()


async def test_failed_transaction_leaves_nothing(folder: Path) -> None:
    state = StateDb(folder)

    def write_half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO facts VALUES ('', 'a', '1')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await state.write(write_half)
    assert state.rows("SELECT * FROM facts") == []
    await state.write(lambda db: db.execute("INSERT INTO facts VALUES ('', 'a', '2')"))
    assert state.rows("SELECT value FROM facts") == [("2",)]
    state.close()


async def test_write_by_another_instance_is_detected(folder: Path) -> None:
    one, other = StateDb(folder), StateDb(folder)
    assert not one.check_changed()
    await other.write(lambda db: db.execute("INSERT INTO facts VALUES ('', 'a', '1')"))
    assert one.check_changed()
    assert not one.check_changed()
    one.close()
    other.close()


def test_change_by_another_instance_is_notified_after_an_own_save(folder: Path) -> None:
    one, other = StateDb(folder), StateDb(folder)
    seen, may_save = [], threading.Event()
    one.committed.add(lambda: seen.append(one.get_value("marks")))

    def wait_without_lock(db: sqlite3.Connection) -> None:
        db.execute("COMMIT")
        may_save.wait()
        db.execute("BEGIN")

    one.submit(wait_without_lock)
    one.change_value("marks", lambda marks: marks)
    other.set_value("marks", ["a"])
    other.write_now(lambda db: None)
    assert one.check_changed()
    assert seen == [None], "the value that is being saved"
    may_save.set()
    one.write_now(lambda db: None)
    assert one.check_changed()
    assert seen == [None, ["a"]]
    assert not one.check_changed()
    one.close()
    other.close()


def test_lock_has_one_holder_for_each_profile(folder: Path) -> None:
    one, other, stranger = StateDb(folder, "one"), StateDb(folder, "one"), StateDb(folder, "two")
    role, elsewhere = one.try_lock("outbox"), stranger.try_lock("outbox")
    assert role
    assert elsewhere
    assert other.try_lock("outbox") is None
    role()
    late = other.try_lock("outbox")
    assert late
    late()
    elsewhere()
    for each in (one, other, stranger):
        each.close()


def test_unavailable_lock_is_reported_and_can_be_tried_again(folder: Path) -> None:
    state = StateDb(folder, "one")
    role = state.try_lock("outbox")
    assert role
    role()
    (lock,) = folder.glob("*.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(NotSaved, match=f"Nothing is being saved: {lock} cannot be written"):
        state.try_lock("outbox")
    lock.rmdir()
    again = state.try_lock("outbox")
    assert again
    again()
    state.close()


def test_read_only_file_can_be_opened_in_another_thread(folder: Path) -> None:
    _with_draft(folder)
    newer = StateDb(folder, "p", migrations=V2)
    newer.close()
    with ThreadPoolExecutor(1) as pool:
        state = pool.submit(StateDb, folder, "p").result()
    assert state.read_only
    assert Drafts(state).get("here") == "Typed"
    state.close()


def test_lock_is_released_while_a_child_program_lives(folder: Path) -> None:
    code = (
        "import subprocess, sys, time; from pathlib import Path; from octavo.data.state_db import StateDb\n"
        "role = StateDb(Path(sys.argv[1])).try_lock('outbox')\n"
        "editor = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=0, stdout=subprocess.DEVNULL)\n"
        "print('taken', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdin
    assert process.stdout.readline() == b"taken\n"
    state = StateDb(folder)
    assert state.try_lock("outbox") is None
    process.kill()
    process.wait()
    process.stdout.close()
    role = state.try_lock("outbox")
    process.stdin.close()  # The child program ends when its input closes.
    assert role
    role()
    state.close()


class TestMigrations:
    """Migrations of the schema."""

    def test_migration_backs_up_the_file_and_keeps_rows(self, folder: Path) -> None:
        _with_draft(folder)
        state = StateDb(folder, "p", migrations=V2)
        assert Drafts(state).get("here") == "Typed"
        assert state.rows("SELECT name FROM more") == [("a",)]
        backup = connect(folder / f"state.db.v{len(MIGRATIONS)}.bak", read_only=True)
        assert backup.execute("SELECT text FROM drafts").fetchall() == [("Typed",)]
        assert stat.S_IMODE((folder / f"state.db.v{len(MIGRATIONS)}.bak").stat().st_mode) == 0o600
        backup.close()
        state.close()

    @pytest.mark.parametrize("after", range(1, 5))
    def test_migration_killed_at_any_statement_is_old_or_new(self, folder: Path, after: int) -> None:
        _with_draft(folder)
        code = (
            "import os, sqlite3, sys; from pathlib import Path; from octavo.data import state_db\n"
            "opened = state_db.connect\n"
            "class Dying(sqlite3.Connection):\n"
            "    left = int(sys.argv[2])\n"
            "    def execute(self, query, *values):\n"
            "        if query.startswith(('BEGIN', 'CREATE', 'INSERT', 'PRAGMA user_version =', 'COMMIT')):\n"
            "            if Dying.left == 0: os._exit(9)\n"
            "            Dying.left -= 1\n"
            "        return super().execute(query, *values)\n"
            "state_db.connect = lambda path, **options: sqlite3.connect(path, isolation_level=None, factory=Dying)\n"
            f"state_db.StateDb(Path(sys.argv[1]), 'p', migrations={V2!r})"
        )
        process = subprocess.run([sys.executable, "-c", code, str(folder), str(after)], check=False)
        assert process.returncode == 9
        db = connect(folder / "state.db")
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert (db.execute("PRAGMA user_version").fetchone()[0] == len(V2)) == ("more" in tables)
        assert "more" not in tables, "It dies before the commit"
        db.close()
        state = StateDb(folder, "p", migrations=V2)
        assert (state.rows("SELECT name FROM more"), Drafts(state).get("here")) == ([("a",)], "Typed")
        state.close()

    async def test_newer_file_is_read_only(self, folder: Path) -> None:
        newer = StateDb(folder, "p", migrations=V2)
        await Drafts(newer).save("here", "Typed")
        newer.close()
        before = (folder / "state.db").read_bytes()
        state = StateDb(folder, "p")
        assert state.read_only
        assert "newer version of Octavo" in state.notices[0]
        assert Drafts(state).get("here") == "Typed"
        with pytest.raises(NotSaved, match="newer version of Octavo"):
            await Drafts(state).save("here", "More")
        state.set_value("a", 1)
        assert state.try_lock("outbox") is not None
        state.close()
        assert (folder / "state.db").read_bytes() == before


@pytest.mark.parametrize(
    ("number", "helps"),
    [
        (errno.ENOLCK, "Set OCTAVO_STATE_DIR to a folder on a local disk"),
        (errno.EOPNOTSUPP, "Set OCTAVO_STATE_DIR"),
        (errno.EROFS, "Make this path writable"),
        (errno.EDQUOT, "Free some space"),
    ],
)
def test_refusal_of_the_file_system_is_reported_with_a_remedy(number: int, helps: str) -> None:
    assert helps in why_not_saved(OSError(number, "says libc"), Path("/net/state/outbox.lock"))[1]


class TestDamage:
    """Damaged and unwritable files."""

    def test_damaged_file_keeps_readable_rows_and_reports_the_rest(self, folder: Path) -> None:
        state = StateDb(folder, "p")
        drafts = Drafts(state)
        for number in range(150):
            drafts.save_now(f"place {number}", f"Text {number} " * 50)
        state.close()
        chance = random.Random(5)
        for _ in range(8):
            whole = bytearray((folder / "state.db").read_bytes())
            kept = bytes(whole)
            for _ in range(3):
                at = chance.randrange(4096, len(whole) - 64)
                whole[at : at + 64] = chance.randbytes(64)
            (folder / "state.db").write_bytes(whole)
            again = StateDb(folder, "p")
            there = Drafts(again).all()
            if again.notices:
                assert "damaged" in again.notices[0]
                aside = Path(again.notices[0].partition("The damaged file was saved as ")[2].partition(". Check")[0])
                assert aside.read_bytes() == bytes(whole)
            else:
                assert len(there) == 150
            assert len(there) >= 80
            Drafts(again).save_now("new", "It can be written")
            again.close()
            for part in folder.glob("state.db*"):
                part.unlink()
            (folder / "state.db").write_bytes(kept)

    def test_file_without_an_intact_page_is_restored_from_the_backup(self, folder: Path) -> None:
        _with_draft(folder)
        StateDb(folder, "p", migrations=V2).close()
        (folder / "state.db").write_bytes(random.Random(1).randbytes(50_000))
        state = StateDb(folder, "p", migrations=V2)
        assert Drafts(state).get("here") == "Typed"
        assert "1 from a backup" in state.notices[0]
        assert not state.read_only
        state.close()

    @pytest.mark.parametrize("is_from_backup", [False, True])
    def test_recovery_restores_the_rows_of_all_tables(self, folder: Path, is_from_backup: bool) -> None:
        StateDb(folder, "p").close()
        db = connect(folder / "state.db")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            _insert_rows(db, table)
        db.close()
        if is_from_backup:
            StateDb(folder, "p", migrations=V2).close()
            (folder / "state.db").write_bytes(random.Random(1).randbytes(50_000))
        else:
            with (folder / "state.db").open("r+b") as file:
                file.seek(36)  # the number of unused pages
                file.write(b"\0\0\0\x09")
        state = StateDb(folder, "p", migrations=V2 if is_from_backup else MIGRATIONS)
        assert "damaged" in state.notices[0]
        counts = {table: len(state.rows(f"SELECT 1 FROM {table}")) for table in tables}
        assert counts == dict.fromkeys(tables, 2)
        state.close()

    def test_instance_writes_to_the_file_that_another_instance_has_repaired(self, folder: Path) -> None:
        first = StateDb(folder, "p")
        drafts = Drafts(first)
        drafts.save_now("before", "Typed before the repair")
        _damage_notes(folder)
        second = StateDb(folder, "p")
        assert "damaged" in second.notices[0]
        drafts.save_now("after", "Typed after the repair")
        assert {each.text for each in Drafts(second).all()} == {"Typed before the repair", "Typed after the repair"}
        Drafts(second).save_now("other", "Typed in the second instance")
        first.check_changed()
        assert drafts.get("other") == "Typed in the second instance"
        assert drafts.get("after") == "Typed after the repair"
        first.close()
        second.close()

    def test_repair_notifies_an_instance_that_reads_only(self, folder: Path) -> None:
        first = StateDb(folder, "p")
        Drafts(first).save_now("before", "Typed before the repair")
        _damage_notes(folder)
        second = StateDb(folder, "p")
        second.set_value("marks", ["a"])
        second.close()
        assert first.check_changed()
        assert first.get_value("marks") == ["a"]
        assert Drafts(first).get("before") == "Typed before the repair"
        first.close()

    @pytest.mark.parametrize("count", [2, 4])
    def test_instances_that_start_at_the_same_time_repair_the_file_once(self, folder: Path, count: int) -> None:
        state = StateDb(folder, "p")
        for number in range(150):
            Drafts(state).save_now(f"place {number}", f"Text {number} " * 50)
        state.close()
        _damage_notes(folder)
        with ThreadPoolExecutor(count) as pool:
            states = [future.result() for future in [pool.submit(StateDb, folder, "p") for _ in range(count)]]
        assert sum("damaged" in notice for each in states for notice in each.notices) == 1
        assert {len(Drafts(each).all()) for each in states} == {150}
        assert len([*folder.glob("state.db.damaged-*[0-9]")]) == 1
        for each in states:
            each.close()

    def test_no_write_is_lost_while_another_instance_repairs_the_file(self, folder: Path) -> None:
        first = StateDb(folder, "p")
        drafts = Drafts(first)
        for number in range(50):
            drafts.save_now(f"old {number}", "Typed before the repair")
        for turn in range(5):
            _damage_notes(folder)
            timestamp = datetime(2026, 3, 1 + turn, tzinfo=UTC).timestamp()
            with ThreadPoolExecutor(1) as pool:
                second = pool.submit(StateDb, folder, "p", now=partial(datetime.fromtimestamp, timestamp, UTC))
                for number in range(60):
                    drafts.save_now(f"new {turn} {number}", "Typed during the repair")
            second.result().close()
            assert second.result().notices
        first.close()
        again = StateDb(folder, "p")
        assert len(Drafts(again).all()) == 50 + 5 * 60
        again.close()

    def test_empty_and_invalid_files_are_replaced_and_reported(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "state.db").write_bytes(b"SQLite format 3\0 but no more")
        state = StateDb(folder, "p")
        assert "damaged" in state.notices[0]
        Drafts(state).save_now("here", "Typed")
        state.close()
        (folder / "state.db").write_bytes(b"")
        empty = StateDb(folder, "p")
        assert empty.notices == ()
        empty.close()


async def test_full_disk_is_reported_until_a_write_succeeds(folder: Path) -> None:
    state = StateDb(folder, "p")
    drafts = Drafts(state)
    (pages,) = await state.write(lambda db: db.execute("PRAGMA page_count").fetchone())
    state._writer.submit(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 2}")).result()
    with pytest.raises(NotSaved, match="the disk is full"):
        await drafts.save("here", "x" * 100_000)
    assert state.save_error.startswith("Nothing is being saved: the disk is full")
    assert drafts.get("here") == "x" * 100_000, "the text stays in memory"
    await drafts.save("here", "short")
    assert state.save_error == ""
    state.close()


@pytest.mark.parametrize("there", [True, False])
def test_read_only_folder_is_reported(there: bool) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        if there:
            _with_draft(folder)
            (folder / "state.db").chmod(0o444)
        folder.chmod(0o555)
        with _as_unprivileged_user():
            state = StateDb(folder, "p")
            assert state.read_only
            assert state.notices[0].startswith("Nothing is being saved")
            with pytest.raises(NotSaved):
                Drafts(state).save_now("here", "More")
            other = StateDb(folder, "p")
            assert Drafts(other).get("here") == ("Typed" if there else None)
            other.close()
            state.close()
        folder.chmod(0o755)


@contextmanager
def _as_unprivileged_user() -> Iterator[None]:
    """Run as a user without root rights: root ignores file modes."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def _insert_rows(db: sqlite3.Connection, table: str) -> None:
    """Insert two rows in which no value occurs twice."""
    columns = [(name, kind) for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})") if name != "position"]
    names, marks = ", ".join(name for name, _ in columns), ", ".join("?" * len(columns))
    for number in range(2):
        values = [f'{{"id": "{table} {name} {number}"}}' if kind == "TEXT" else number for name, kind in columns]
        db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)


def _damage_notes(folder: Path) -> None:
    """Damage the table of notes in a file that other connections may use. They can still write drafts."""
    db = connect(folder / "state.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'proposed_notes'").fetchone()
    (page_size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    with (folder / "state.db").open("r+b") as file:
        file.seek((page - 1) * page_size)
        file.write(b"no page")


def _with_draft(folder: Path) -> None:
    state = StateDb(folder, "p", now=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    Drafts(state).save_now("here", "Typed")
    state.close()
