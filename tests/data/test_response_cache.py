"""The cached responses and images."""

from __future__ import annotations

import random
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from octavo.api import comments, content, spaces
from octavo.api.bodies import Body
from octavo.api.comments import Comment
from octavo.api.operation import ListPage, RevisionRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.api.wire import encode
from octavo.data import database, response_cache
from octavo.data.response_cache import FILE_NAME, ResponseCache
from tests.data.conftest import damage_cache_files
from tests.server.small_platform import Clock

HERE = SpaceRef(space_id="docs")
URL = "/v1/spaces/docs"
SPACE = Space(id="docs", title="Handbook", comments=3)
OF_REVISION = content.ListPages(at=RevisionRef(space_id="docs", revision_id="r1"))


def op(number: int) -> spaces.Get:
    return spaces.Get(at=SpaceRef(space_id=f"s{number}"))


def value(answer: tuple[Any, Any] | None) -> Any:
    return answer[0] if answer else None


def put(cache: ResponseCache, *pairs: tuple[Any, Any]) -> None:
    for read, answer in pairs:
        cache.put(read, answer)
    cache.flush()


def test_stored_response_is_cached_in_the_next_run(tmp_path: Path, clock: Clock) -> None:
    page = ListPage[Comment](items=(Comment(id="k1", body=Body(markdown="Hi"), posted_by=User(id="mia")),), count=1)
    tree = content.PageTree(pages=(content.Page(id="p", type="group", pages=(content.Page(id="q"),)),))
    cache = ResponseCache(tmp_path, "mia", now=clock)
    put(cache, (spaces.Get(at=HERE), SPACE), (comments.List(at=HERE), page), (OF_REVISION, tree))
    cache.close()
    clock.forward(days=1)
    again = ResponseCache(tmp_path, "mia", now=clock)
    kept = again.get(spaces.Get(at=HERE))
    assert kept
    assert kept[0] == SPACE
    assert (clock() - kept[1]).days == 1
    assert value(again.get(comments.List(at=HERE))) == page
    assert value(again.get(OF_REVISION)) == tree
    assert again.get(comments.List(at=HERE, status="open")) is None
    again.close()


def test_stored_response_is_readable_before_it_is_written(tmp_path: Path, clock: Clock) -> None:
    cache, written = ResponseCache(tmp_path, "mia", now=clock), Event()
    cache._writer.submit(lambda db: written.wait(20))
    cache.put(spaces.Get(at=HERE), SPACE)
    assert cache.get(spaces.Get(at=HERE)) == (SPACE, clock())
    cache.put(spaces.Get(at=HERE), newer := SPACE.model_copy(update={"comments": 4}))
    assert value(cache.get(spaces.Get(at=HERE))) == newer
    written.set()
    cache.flush()
    assert cache._unwritten == {}
    assert value(cache.get(spaces.Get(at=HERE))) == newer
    cache.close()


def test_late_response_does_not_replace_a_newer_one_of_another_instance(tmp_path: Path, clock: Clock) -> None:
    get, sent_at = spaces.Get(at=HERE), clock()
    slow, fast = ResponseCache(tmp_path, "mia", now=clock), ResponseCache(tmp_path, "mia", now=clock)
    clock.forward(seconds=3)
    put(fast, (get, newer := SPACE.model_copy(update={"comments": 4})))
    fast.put_version(URL, "4 comments")
    fast.flush()
    clock.forward(seconds=1)
    slow.put(get, SPACE, sent_at)
    slow.flush()
    assert value(slow.get(get)) == newer, "the version of the other instance belongs to its response"
    clock.forward(days=-1)
    put(slow, (get, SPACE))
    assert value(fast.get(get)) == SPACE, "a response from the future is replaced: the clock was set back"
    slow.close()
    fast.close()


def test_cleared_responses_are_not_in_the_file(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path, "mia")
    (tmp_path / "cache-v1.db.damaged").write_bytes(b"the pages of an earlier file")
    put(cache, (spaces.Get(at=HERE), SPACE.model_copy(update={"title": "Secret plans"})))
    assert any(b"Secret plans" in path.read_bytes() for path in tmp_path.iterdir())
    cache.put(spaces.Get(at=HERE), SPACE)
    cache.clear()
    assert cache.get(spaces.Get(at=HERE)) is None
    cache.close()
    assert [path.name for path in tmp_path.iterdir()] == ["cache-v1.db"]
    assert b"Secret plans" not in (tmp_path / "cache-v1.db").read_bytes()


def test_profiles_have_separate_responses(tmp_path: Path) -> None:
    mia, tom = ResponseCache(tmp_path, "mia"), ResponseCache(tmp_path, "tom")
    put(mia, (spaces.Get(at=HERE), SPACE))
    put(tom, (spaces.Get(at=HERE), Space(id="docs", title="As Tom sees it")))
    assert value(mia.get(spaces.Get(at=HERE))) == SPACE
    mia.clear()
    mia.flush()
    assert mia.get(spaces.Get(at=HERE)) is None
    assert value(tom.get(spaces.Get(at=HERE))).title == "As Tom sees it"
    mia.close()
    tom.close()


def test_cache_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "cache")
    put(cache, (spaces.Get(at=HERE), SPACE))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache").iterdir()} == {0o600}
    cache.close()


def test_version_is_removed_with_its_response(tmp_path: Path, clock: Clock) -> None:
    cache = ResponseCache(tmp_path, "mia", now=clock)
    put(cache, (op(1), SPACE), (op(2), SPACE), (op(3), SPACE))
    for number in (1, 2, 3):
        cache.put_version(f"/v1/spaces/s{number}", "r1")
    cache.put_version("/v1/spaces/x", "", "You may not.")
    for number in (2, 3):
        cache.pin("offline", f"/v1/spaces/s{number}")
    cache.unpin("offline", ["/v1/spaces/s3"])
    cache.close()
    clock.forward(days=91)
    again = ResponseCache(tmp_path, "mia", now=clock)
    again.flush()
    again.close()
    again = ResponseCache(tmp_path, "mia", now=clock)
    assert list(again.versions) == ["/v1/spaces/s2"]
    again.clear()
    assert dict(again.versions) == {}
    again.close()
    again = ResponseCache(tmp_path, "mia", now=clock)
    assert dict(again.versions) == {}
    again.close()


def test_version_of_a_response_that_could_not_be_written_is_not_stored(tmp_path: Path, clock: Clock) -> None:
    cache, get = ResponseCache(tmp_path, "mia", now=clock), spaces.Get(at=HERE)
    put(cache, (get, SPACE))
    cache.put_version(URL, "v1")
    cache._writer.submit(_use_no_more_disk_space).result()
    cache.put(get, SPACE.model_copy(update={"title": "New " * 10_000}))
    cache.put_version(URL, "v2")
    cache.flush()
    assert cache.get(get) is None, "the old response must not be shown as the new one"
    cache.close()
    again = ResponseCache(tmp_path, "mia", now=clock)
    assert again.versions[URL].fingerprint == "v1"
    assert value(again.get(get)) == SPACE
    again.put(get, newer := SPACE.model_copy(update={"comments": 4}))
    again.put_version(URL, "v3")
    again.flush()
    assert again._stored_versions()[URL].fingerprint == "v3"
    assert value(again.get(get)) == newer
    again.close()


def _use_no_more_disk_space(db: sqlite3.Connection) -> None:
    (page_count,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {page_count}")


def test_old_responses_are_evicted_and_immutable_ones_stay(tmp_path: Path, clock: Clock) -> None:
    cache = ResponseCache(tmp_path, now=clock)
    put(cache, (op(1), SPACE), (OF_REVISION, content.PageTree(pages=())))
    cache.close()
    clock.forward(days=91)
    again = ResponseCache(tmp_path, now=clock)
    again.flush()
    assert again.get(op(1)) is None
    assert value(again.get(OF_REVISION)) == content.PageTree(pages=())
    again.close()


def test_oldest_responses_are_evicted_at_the_size_limit(tmp_path: Path, clock: Clock) -> None:
    cache = ResponseCache(tmp_path, now=clock, max_bytes=10_000)
    for number in range(10):
        clock.forward(seconds=1)
        put(cache, (op(number), Space(id=f"s{number}", title="x" * 200, emoji="y" * 200, created_at=clock())))
    put(cache, (OF_REVISION, content.PageTree(pages=(content.Page(id="p", description="z" * 8_000),))))
    cache.close()
    again = ResponseCache(tmp_path, now=clock, max_bytes=10_000)
    again.flush()
    left = [number for number in range(10) if again.get(op(number))]
    assert 0 < len(left) < 10
    assert left == list(range(10 - len(left), 10))
    assert again.get(OF_REVISION)
    again.close()


def test_immutable_responses_are_evicted_at_the_size_limit_too(tmp_path: Path, clock: Clock) -> None:
    ops = [content.ListPages(at=RevisionRef(space_id="docs", revision_id=f"r{number}")) for number in range(10)]
    cache = ResponseCache(tmp_path, now=clock, max_bytes=10_000)
    for each in ops:
        clock.forward(seconds=1)
        put(cache, (each, content.PageTree(pages=(content.Page(id="p", description="z" * 3_000),))))
    put(cache, (op(1), SPACE))
    cache.close()
    again = ResponseCache(tmp_path, now=clock, max_bytes=10_000)
    again.flush()
    assert [number for number, each in enumerate(ops) if again.get(each)] == [7, 8, 9]
    assert value(again.get(op(1))) == SPACE
    again.close()


def test_oldest_derived_values_are_evicted_at_their_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "MAX_DERIVED_BYTES", 4000)
    cache = ResponseCache(tmp_path, "mia")
    cache.put_derived("rows", lambda: b"1")
    for number in range(10):
        cache.put_derived(f"revision {number}", lambda: bytes(1000))
    cache.put_derived("rows", lambda: b"2")
    cache.close()
    again = ResponseCache(tmp_path, "mia")
    again.flush()
    assert again.read_derived("rows") == b"2", "the value was stored last"
    assert [number for number in range(10) if again.read_derived(f"revision {number}") is not None] == [7, 8, 9]
    again.close()


def test_locked_cache_file_on_a_network_disk_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_shared_memory(db: sqlite3.Connection, mode: str) -> str:
        return str(db.execute("PRAGMA journal_mode = DELETE").fetchone()[0])

    monkeypatch.setattr(database, "_set_journal_mode", without_shared_memory)
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.01)
    cache = ResponseCache(tmp_path)
    put(cache, (op(1), SPACE))
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other_program:
        other_program.execute("BEGIN EXCLUSIVE")
        assert cache.get(op(1)) is None
    assert value(cache.get(op(1))) == SPACE
    assert cache.notices == ()
    cache.close()


def test_no_response_of_a_damaged_file_counts_as_current(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    put(cache, *((op(number), Space(id=f"s{number}", title="x" * 5000)) for number in range(200)))
    cache.put_version(encode(op(1)).url, "stamp")
    cache.flush()
    damage_cache_files(tmp_path)
    for number in range(200):
        cache.get(op(number))
    assert cache.notices != ()
    assert cache.versions == {}
    cache.close()


def test_damaged_cache_file_is_usable_again(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    put(cache, *((op(number), Space(id=f"s{number}", title=f"Space {number}")) for number in range(200)))
    cache.close()
    (path,) = tmp_path.glob("cache-v*.db")
    whole = path.read_bytes()
    chance = random.Random(3)
    noticed = 0
    for round_number in range(60):
        broken = bytearray(whole)
        if round_number % 3 == 0:
            broken = broken[: chance.randrange(1, len(broken))]
        elif round_number % 3 == 1:
            at = chance.randrange(len(broken) - 200)
            broken[at : at + 200] = chance.randbytes(200)
        else:
            broken[: chance.randrange(1, 200)] = b"?" * 10
        for part in tmp_path.glob("cache-v*"):
            part.unlink()
        path.write_bytes(broken)
        again = ResponseCache(tmp_path)
        again.flush()
        for number in range(200):
            answer = value(again.get(op(number)))
            assert answer is None or answer.id == f"s{number}"
        put(again, (op(1), SPACE))
        assert value(again.get(op(1))) == SPACE
        again.close()
        noticed += len(again.notices)
        again.close()
    assert noticed > 20


def test_unreadable_response_is_removed(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    put(cache, (op(1), SPACE))
    cache._writer.submit(lambda db: db.execute("UPDATE answers SET body = CAST('[1, 2' AS BLOB)")).result()
    assert cache.get(op(1)) is None
    cache.flush()
    assert cache.read_body(op(1)) is None
    cache.close()


@pytest.mark.parametrize("there", ["a file", "nothing"])
def test_cache_without_a_folder_works(tmp_path: Path, there: str) -> None:
    folder: Path | None = None
    if there == "a file":
        folder = tmp_path / "file" / "cache"
        (tmp_path / "file").write_text("")
    cache = ResponseCache(folder)
    put(cache, (op(1), SPACE))
    assert value(cache.get(op(1))) == SPACE
    assert ("Could not open the cache" in "".join(cache.notices)) == (there == "a file")
    cache.close()


def test_unchanged_response_updates_only_its_time(tmp_path: Path, clock: Clock) -> None:
    cache = ResponseCache(tmp_path, "mia", now=clock)
    put(cache, (op(1), SPACE))
    (before,) = cache.responses_after(0, 10)
    clock.forward(hours=1)
    put(cache, (op(1), SPACE))
    (after,) = cache.responses_after(0, 10)
    assert (after.number, after.body, after.requested_at) == (before.number, before.body, clock())
    put(cache, (op(1), SPACE.model_copy(update={"title": "Another"})))
    assert value(cache.get(op(1))) != SPACE
    cache.close()


def test_derived_values_are_kept_until_the_cache_is_cleared(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path, "mia")
    assert cache.read_derived("rows") is None
    cache.put_derived("rows", lambda: b"1")
    cache.put_derived("rows", lambda: b"2")
    cache.flush()
    assert cache.read_derived("rows") == b"2"
    cache.clear()
    cache.flush()
    assert cache.read_derived("rows") is None
    cache.close()
