from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.server.store import MissingResource, Store, UnusableDatabase, WriteFailure


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store()
    yield store
    store.close()


def test_document_is_stored_by_path(store: Store) -> None:
    assert store.find("/spaces/a") is None
    with pytest.raises(MissingResource):
        store.get("/spaces/a")
    store.put("/spaces/a", {"id": "a", "title": "A"})
    assert store.update("/spaces/a", title="B", more=None) == {"id": "a", "title": "B", "more": None}
    assert store.get("/spaces/a")["title"] == "B"


def test_collection_lists_direct_children_in_insertion_order(store: Store) -> None:
    for path in ("/spaces/b", "/spaces/a", "/spaces/a/comments/x", "/other/c"):
        store.put(path, {"id": path})
    store.put("/spaces/b", {"id": "again"})
    assert [each["id"] for each in store.all("/spaces")] == ["again", "/spaces/a"]
    assert [each["id"] for _, each in store.items("/spaces", newest_first=True)] == ["/spaces/a", "again"]
    assert store.count("/spaces") == 2


def test_position_of_a_document_is_never_reused(store: Store) -> None:
    places = []
    for name in "abc":
        store.put(f"/spaces/{name}", {"id": name})
        places += [place for place, each in store.items("/spaces") if each["id"] == name]
        store.delete(f"/spaces/{name}")
    assert places == sorted(set(places))
    store.put("/spaces/d", {"id": "d"})
    assert next(store.items("/spaces"))[0] > places[-1]


def test_delete_removes_descendants_and_no_siblings(store: Store) -> None:
    for path in ("/s/a", "/s/a/k/1", "/s/a/k/1/r/2", "/s/ab", "/s/a0", "/s/a-b", "/s/a.", "/s/A", "/s/a%"):
        store.put(path, {"id": path})
    store.delete("/s/a")
    assert [each["id"] for each in store.all("/s")] == ["/s/ab", "/s/a0", "/s/a-b", "/s/a.", "/s/A", "/s/a%"]
    assert list(store.all("/s/a/k")) == []
    assert list(store.all("/s/a/k/1/r")) == []


def test_documents_are_counted_and_found_by_field(store: Store) -> None:
    for name, status in (("a", "open"), ("b", "open"), ("c", "resolved")):
        store.put(f"/k/{name}", {"id": name, "status": status, "number": ord(name)})
    assert dict(store.count_by_status("/k")) == {"open": 2, "resolved": 1}
    found = store.find_by("/k", "number", 98)
    assert found is not None
    assert found["id"] == "b"
    assert store.find_by("/k", "number", "98") is None


def test_documents_by_status_are_found_without_reading_others(store: Store) -> None:
    for name, status in (("a", "open"), ("b", "merged"), ("c", "open")):
        store.put(f"/k/{name}", {"id": name, "status": status})
    assert [each["id"] for each in store.all("/k", status="open")] == ["a", "c"]
    assert [each["id"] for _, each in store.items("/k", status="open", newest_first=True)] == ["c", "a"]
    store.update("/k/a", status="merged")
    assert dict(store.count_by_status("/k")) == {"merged": 2, "open": 1}
    for query in ("SELECT body", "SELECT json_extract(body, '$.status'), COUNT(*)"):
        condition = "collection = '/k' AND json_extract(body, '$.status') = 'open'"
        plan = store._db.execute(f"EXPLAIN QUERY PLAN {query} FROM documents WHERE {condition}").fetchall()
        assert "by_status" in plan[0][-1]


def test_reads_are_cached_within_a_request_and_see_writes(store: Store) -> None:
    store.put("/k/a", {"id": "a", "status": "open"})
    asked: list[str] = []
    store._db.set_trace_callback(asked.append)
    with store.cached_reads():
        for _ in range(3):
            assert store.get("/k/a")["status"] == "open"
            assert list(store.count_by_status("/k")) == ["open"]
            assert store.find("/k/b") is None
        store.get("/k/a").clear()
        assert store.get("/k/a")["id"] == "a"
        assert len(asked) == 3, asked
        store.update("/k/a", status="resolved")
        assert list(store.count_by_status("/k")) == ["resolved"]
    store.get("/k/a")
    asked.clear()
    store.get("/k/a")
    assert len(asked) == 1, "what is read later is looked up again: another program may have written"


def test_transaction_is_atomic(store: Store) -> None:
    def write(last: str) -> None:
        with store.transaction():
            store.put("/k/a", {"id": "a"})
            with store.transaction():
                store.put("/k/b", {"id": "b"})
            store.update(last, title="there or not")

    with pytest.raises(MissingResource):
        write("/k/nowhere")
    assert store.count("/k") == 0
    write("/k/b")
    assert store.count("/k") == 2


def test_transactions_of_threads_do_not_overlap(store: Store) -> None:
    store.put("/k/a", {"number": 0})

    def add() -> None:
        for _ in range(50):
            with store.transaction():
                store.update("/k/a", number=store.get("/k/a")["number"] + 1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert store.get("/k/a")["number"] == 200


@pytest.mark.parametrize(
    "text", ["", "plain", "\x00\x1b[2J", "\ud800 alone", "𝒳 漢字 \u202e", "'; DROP TABLE documents; --"]
)
def test_any_text_is_stored_unchanged(store: Store, text: str) -> None:
    store.put("/k/a", {text: [text]})
    assert store.get("/k/a") == {text: [text]}
    assert store.text(store.put_blob(text)) == text
    store.index("s", "p", [("", text, text)])


def test_blob_is_named_by_its_content(store: Store) -> None:
    assert store.put_blob(b"x") == store.put_blob("x")
    assert store.blob(store.put_blob(b"\xff")) == b"\xff"
    with pytest.raises(MissingResource):
        store.blob("unknown")


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "library.db")
    store.add_key("secret-key", "ada")
    assert (store.user_of("secret-key"), store.user_of("other"), store.user_of("")) == ("ada", None, None)
    store.close()
    assert b"secret-key" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_known_key_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    for user, is_written in (("ada", True), ("ada", False), ("bo", True)):
        store = Store(path)
        before = Path(f"{path}-wal").read_bytes()
        store.add_key("secret-key", user)
        assert (Path(f"{path}-wal").read_bytes() != before, store.user_of("secret-key")) == (is_written, user)
        store.close()


def test_library_is_readable_by_its_owner_only_and_persistent(tmp_path: Path) -> None:
    path = tmp_path / "data" / "library.db"
    store = Store(path)
    store.put("/k/a", {"id": "a"})
    store.set_setting("made", "1")
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    store.close()
    again = Store(path)
    assert (again.get("/k/a"), again.setting("made"), again.setting("unmade")) == ({"id": "a"}, "1", None)
    again.close()
    assert modes == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_library_of_a_newer_version_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UnusableDatabase, match="newer version of Octavo"):
        Store(path)


def test_file_that_is_no_library_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 200)
    with pytest.raises(UnusableDatabase, match="not a database"):
        Store(path)
    assert path.read_text().startswith("Dear reader")


def test_write_to_a_full_disk_fails_and_the_next_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path / "library.db")
    store._db.execute("PRAGMA cache_size = 1")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 3}")

    def write() -> None:
        with store.transaction():
            store.put("/spaces/a", {"id": "a"})
            store.put("/spaces/b", {"id": "b", "title": "x" * 100_000})

    with pytest.raises(WriteFailure, match="full"):
        write()
    store._db.execute(f"PRAGMA max_page_count = {pages + 1000}")
    with store.transaction():
        store.put("/spaces/c", {"id": "c"})
    store.close()
    again = Store(tmp_path / "library.db")
    assert [each["id"] for each in again.all("/spaces")] == ["c"]
    again.close()
