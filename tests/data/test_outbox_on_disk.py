"""The outbox on disk, as another process reads the file."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api import change_requests, comments, reviews
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent, Trace
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.api.wire import encode
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes import machine as steps
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import entry_records, kind_of, write_kinds
from octavo.data.writes.worker import MAX_RUNNING
from octavo.settings.table import MAX_UNDO_SECONDS
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.test_outbox import comment, texts
from tests.server.small_platform import Ask, Clock

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite


STORED_NAMES = {
    *(
        "id",
        "method",
        "url",
        "body",
        "basis",
        "state",
        "doing",
        "place",
        "about",
        "group",
        "review",
        "writer",
        "writer_name",
        "refused_status",
    ),
    *(
        "created_at",
        "asked_at",
        "block_text",
        "held_until",
        "due_at",
        "started_at",
        "settles_at",
        "since",
        "tries",
        "rounds",
        "put_off",
    ),
    *("reason", "baseline", "remote", "contested", "needless"),
}
"""The names in the record of an entry, which no version may change."""


class TestOnDisk:
    """Instances that run one after another, or at the same time."""

    async def test_write_is_sent_by_the_next_instance(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await add_write(first, comment(here), action="comment")
        await first.close()
        first.state.close()
        second = await _outbox(tmp_path, gate, clock)
        assert [each.state for each in second.entries] == ["queued"]
        clock.forward(hours=2)
        await second.send_due()
        assert await texts(ask, here) == ["Hello"]
        await second.close()
        second.state.close()

    async def test_unsent_writes_are_sent_in_order_after_a_crash(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await first.step()
        for words in ("One", "Two"):
            await add_write(first, comment(here, words), action="comment")
        clock.forward(seconds=5)
        gate.errors.append(NotSent("Nothing answers.", Trace("GET", "/x")))
        await first.send_due()
        assert [each.state for each in first.entries] == ["queued", "queued"]
        await add_write(first, comment(here, "Three"), action="comment")
        first._worker.release_lock()  # The operating system releases the lock of a killed process.
        clock.forward(hours=9)
        second = await _outbox(tmp_path, gate, clock)
        assert not any(each.needs_user for each in second.entries)
        await second.step()
        held = second.entries[-1]
        assert (held.traits.text, held.state) == ("Three", "held"), (
            "the crash cut short the time to undo it: it has it again"
        )
        clock.forward(seconds=5)
        await second.send_due()
        assert second.entries == ()
        assert await texts(ask, here) == ["One", "Two", "Three"]
        await second.close()
        second.state.close()
        first.state.close()

    async def test_instance_that_closes_does_not_end_the_undo_delay_of_another(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef
    ) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await first.step()
        await add_write(first, comment(here), action="comment")
        second = await _outbox(tmp_path, gate, clock)
        await second.step()
        await second.send_now(max_wait=0.0)
        await second.close()
        first._entries.reload_if_changed()
        assert [each.state for each in first.entries] == ["held"]
        second.state.close()
        await first.close()
        first.state.close()

    async def test_second_crash_does_not_lengthen_the_undo_delay(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        instances = [await _outbox(tmp_path, gate, clock)]
        await add_write(instances[0], comment(here), action="comment")
        for _ in range(2):
            instances[-1]._worker.release_lock()  # The operating system releases the lock of a killed process.
            clock.forward(hours=2)
            instances.append(await _outbox(tmp_path, gate, clock))
            await instances[-1].step()
            assert [each.state for each in instances[-1].entries] == ["held"]
        clock.forward(seconds=MAX_UNDO_SECONDS)
        await instances[-1].send_due()
        assert await texts(ask, here) == ["Hello"]
        for each in instances:
            await each.close()
            each.state.close()

    async def test_sent_comment_from_a_backup_is_not_sent_again_on_retry(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask, clock: Clock
    ) -> None:
        await ask(comment(here), "mia")  # The same text was posted long before.
        clock.forward(hours=1)
        first = await _outbox(tmp_path, gate, clock)
        await add_write(first, comment(here), action="comment")
        first.state.read(lambda db: db.execute("VACUUM INTO ?", (str(tmp_path / "state.db.v1.bak"),)))
        clock.forward(seconds=5)
        await first.send_due()
        await first.close()
        first.state.close()
        assert await texts(ask, here) == ["Hello", "Hello"]
        (tmp_path / "state.db").write_bytes(b"no database")
        second = await _outbox(tmp_path, gate, clock)
        (restored,) = second.entries
        assert restored.needs_user
        await second.retry(restored.id)
        await second.send_due()
        assert (second.entries, await texts(ask, here)) == ((), ["Hello", "Hello"])
        await second.close()
        second.state.close()

    async def test_unsent_comment_from_a_backup_is_sent_on_retry(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask, clock: Clock
    ) -> None:
        await ask(comment(here), "mia")
        clock.forward(hours=1)
        first = await _outbox(tmp_path, gate, clock)
        entry = await add_write(first, comment(here), action="comment")
        first.state.read(lambda db: db.execute("VACUUM INTO ?", (str(tmp_path / "state.db.v1.bak"),)))
        await first.discard(entry.id)
        await first.close()
        first.state.close()
        (tmp_path / "state.db").write_bytes(b"no database")
        second = await _outbox(tmp_path, gate, clock)
        (restored,) = second.entries
        await second.retry(restored.id)
        await second.send_due()
        assert (second.entries, await texts(ask, here)) == ((), ["Hello", "Hello"])
        await second.close()
        second.state.close()

    async def test_unsent_review_from_a_backup_is_sent_on_retry_after_an_earlier_one(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask, clock: Clock
    ) -> None:
        at = (await ask(change_requests.Create(at=here, subject="Say more"))).ref(here)
        await ask(change_requests.Update(at=at, status="open"))
        await ask(reviews.Submit(at=at, status="approved"), "mia")
        clock.forward(hours=1)
        first = await _outbox(tmp_path, gate, clock)
        (entry,) = await first.submit_review(at, NewWrite(reviews.Submit(at=at, status="approved"), "approve"))
        first.state.read(lambda db: db.execute("VACUUM INTO ?", (str(tmp_path / "state.db.v1.bak"),)))
        await first.discard(entry.id)
        await first.close()
        first.state.close()
        (tmp_path / "state.db").write_bytes(b"no database")
        second = await _outbox(tmp_path, gate, clock)
        await second.retry(entry.id)
        await second.send_due()
        given = (await ask(reviews.List(at=at))).items
        assert (second.entries, [each.status for each in given]) == ((), ["approved", "approved"])
        await second.close()
        second.state.close()

    async def test_write_in_flight_at_a_crash_is_looked_up_and_needs_the_user(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await first.step()
        entry = await add_write(first, comment(here), action="comment")
        clock.forward(seconds=5)
        await first.step()
        now = clock()
        await first._entries.apply(entry.id, lambda each: steps.start(each, now))
        first._worker.release_lock()  # Killed after the entry was marked as sending, before the response.
        clock.forward(hours=9)
        second = await _outbox(tmp_path, gate, clock)
        for _ in range(4):
            await second.send_due()
            clock.forward(seconds=61)
        (left,) = second.entries
        assert left.needs_user
        assert await texts(ask, here) == [], "it may be on its way still: it is not sent unasked"
        await second.close()
        second.state.close()
        first.state.close()

    async def test_two_instances_share_one_driver_and_the_same_entries(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        one, two = await _outbox(tmp_path, gate, clock), await _outbox(tmp_path, gate, clock)
        done: list[str] = []
        two.done.add(lambda entry: done.append(entry.remote_id))
        await one.step()
        entry = await add_write(two, comment(here), action="comment")
        clock.forward(seconds=5)
        for _ in range(5):
            await two.step()
        assert gate.requests == []
        assert [each.id for each in two.entries] == [entry.id]
        await one.send_due()
        await two.step()
        assert one.entries == two.entries == ()
        assert await texts(ask, here) == ["Hello"]
        assert done == [(await ask(comments.List(at=here))).items[0].id]
        await one.close()
        await add_write(two, comment(here, "Again"), action="comment")
        clock.forward(seconds=5)
        await two.send_due()
        assert await texts(ask, here) == ["Hello", "Again"]
        await two.close()
        one.state.close()
        two.state.close()

    async def test_instance_that_cannot_become_the_driver_sends_later(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        state = StateDb(tmp_path, "mia@test")
        lock = _block_lock(state, tmp_path)
        outbox = Outbox(gate, state, Drafts(state), me=MIA, undo_seconds=0.0)
        await add_write(outbox, comment(here), action="comment")
        await asyncio.sleep(0)
        assert state.save_error.startswith("Nothing is being saved: ")
        assert (outbox.connection.stop_reason, len(outbox.entries)) == ("", 1)
        lock.rmdir()
        sent = asyncio.Event()
        outbox.changed.add(lambda: None if outbox.entries else sent.set())
        outbox.resume()
        await sent.wait()
        assert (await texts(ask, here), state.save_error) == (["Hello"], "")
        await outbox.close()
        _block_lock(state, tmp_path)
        last = Outbox(gate, state, Drafts(state), me=MIA)
        last.start()
        await asyncio.sleep(0)
        assert state.save_error
        await last.close()
        state.close()

    async def test_read_only_instance_notices_what_another_has_sent(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, clock: Clock
    ) -> None:
        one = await _outbox(tmp_path, gate, clock)
        await add_write(one, comment(here), action="comment")
        state = StateDb(tmp_path, "mia@test", now=clock)
        reader, empty = Outbox(gate, state, Drafts(state), read_only_reason="You cannot write."), asyncio.Event()
        reader.changed.add(lambda: None if reader.entries else empty.set())
        reader.start()
        assert len(reader.entries) == 1
        clock.forward(seconds=5)
        await one.send_due()
        await empty.wait()
        await reader.close()
        await one.close()
        state.close()
        one.state.close()

    async def test_instance_with_slow_requests_notices_what_another_has_added(
        self, tmp_path: Path, gate: RequestGate, clock: Clock
    ) -> None:
        state = StateDb(tmp_path, "mia@test", now=clock)
        outbox, seen = Outbox(gate, state, Drafts(state), me=MIA, undo_seconds=0.0), asyncio.Event()
        gate.hold()
        for space_id in ("a", "b", "c"):
            await add_write(outbox, comment(SpaceRef(space_id=space_id)), action="comment")
        while gate.waiting < MAX_RUNNING:  # noqa: ASYNC110  # The gate has no event for waiting requests.
            await asyncio.sleep(0.001)
        outbox.changed.add(lambda: seen.set() if len(outbox.entries) == 4 else None)
        two = await _outbox(tmp_path, gate, clock)
        await add_write(two, comment(SpaceRef(space_id="d")), action="comment")
        await seen.wait()
        gate.release()
        await outbox.close(0.0)
        await two.close()
        state.close()
        two.state.close()

    async def test_outbox_sends_without_being_driven(
        self, tmp_path: Path, gate: RequestGate, here: SpaceRef, ask: Ask
    ) -> None:
        state = StateDb(tmp_path, "p")
        outbox = Outbox(gate, state, Drafts(state), undo_seconds=0.0)
        empty = asyncio.Event()
        outbox.changed.add(lambda: empty.set() if not outbox.entries else None)
        await add_write(outbox, comment(here), action="comment")
        await empty.wait()
        assert await texts(ask, here) == ["Hello"]
        await outbox.close()
        state.close()


async def _outbox(folder: Path, gate: RequestGate, clock: Clock) -> ManualOutbox:
    state = StateDb(folder, "mia@test", now=clock)
    return ManualOutbox(gate, state, Drafts(state), me=MIA, jitter=lambda: 0.0)


def _block_lock(state: StateDb, folder: Path) -> Path:
    """Replace the lock file by a folder, which cannot be locked. Return its path."""
    role = state.try_lock("outbox")
    assert role
    role()
    (lock,) = folder.glob("*.lock")
    lock.unlink()
    lock.mkdir()
    return lock


PLACE = ChangeRequestRef(space_id="docs", change_request_id="cr1")
BODY = Markdown(markdown="Hello")
WRITES: dict[str, DurableWrite] = {
    "POST /v1/spaces/docs/change-requests/cr1/comments": comments.Create(at=PLACE, page="intro", node="b1", body=BODY),
    "POST /v1/spaces/docs/change-requests/cr1/comments/k1/replies": comments.CreateReply(
        at=PLACE, comment_id="k1", body=BODY
    ),
    "PUT /v1/spaces/docs/change-requests/cr1/comments/k1": comments.Update(at=PLACE, comment_id="k1", resolved=True),
    "PUT /v1/spaces/docs/change-requests/cr1/comments/k1/replies/r1": comments.UpdateReply(
        at=PLACE, comment_id="k1", comment_reply_id="r1", body=BODY
    ),
    "DELETE /v1/spaces/docs/change-requests/cr1/comments/k1": comments.Delete(at=PLACE, comment_id="k1"),
    "DELETE /v1/spaces/docs/change-requests/cr1/comments/k1/replies/r1": comments.DeleteReply(
        at=PLACE, comment_id="k1", comment_reply_id="r1"
    ),
    "POST /v1/spaces/docs/change-requests/cr1/reviews": reviews.Submit(at=PLACE, status="approved", comment=BODY),
}


async def test_every_write_is_stored_and_read_back(tmp_path: Path, gate: RequestGate) -> None:
    assert {type(op) for op in WRITES.values()} == {op for op, kind in write_kinds().items() if kind.is_durable}
    first = await _outbox(tmp_path, gate, Clock())
    for op in WRITES.values():
        await add_write(first, op, action="write")
    namespace = first.state.namespace
    kept = [json.loads(record) for _, record in first.state.read(lambda db: entry_records(db, namespace))]
    assert [f"{each['method']} {each['url']}" for each in kept] == list(WRITES)
    before = first.entries
    first.state.close()
    state = StateDb(tmp_path, "mia@test")
    again = Outbox(gate, state, Drafts(state))
    assert again.entries == before
    assert [(each.op, each.traits) for each in again.entries] == [
        (op, kind_of(op).traits(op)) for op in WRITES.values()
    ]
    state.close()


async def test_record_is_readable_for_older_versions(tmp_path: Path, gate: RequestGate) -> None:
    first = await _outbox(tmp_path, gate, Clock())
    (entry,) = await first.add_pending_comments(
        [NewWrite(comments.Create(at=PLACE, body=BODY), "comment", "comment docs cr1 p1 b1", context="Tides")]
    )
    (stored,) = first.state.rows("SELECT state, record FROM outbox WHERE id = ?", entry.id)
    record = json.loads(stored[1])
    assert (stored[0], record["state"], entry.state) == ("gathered", "gathered", "pending")
    assert set(record) == STORED_NAMES
    assert (record["doing"], record["place"], record["about"]) == ("comment", "comment docs cr1 p1 b1", "Tides")
    await first.close()
    first.state.close()


async def test_unknown_write_on_disk_is_kept_and_reported(tmp_path: Path, gate: RequestGate) -> None:
    first = await _outbox(tmp_path, gate, Clock())
    entry = await add_write(first, WRITES["DELETE /v1/spaces/docs/change-requests/cr1/comments/k1"], action="delete")
    request = encode(change_requests.Merge(at=PLACE))
    merge = {"method": request.method, "url": request.url, "body": request.body}

    def replace(db: sqlite3.Connection) -> None:
        ((_, record),) = entry_records(db, first.state.namespace)
        db.execute("UPDATE outbox SET record = ?", (json.dumps(json.loads(record) | merge),))

    first.state.write_now(replace)
    first.state.close()
    state = StateDb(tmp_path, "mia@test")
    again = ManualOutbox(gate, state, Drafts(state), me=MIA)
    await again.send_due()
    assert (again.entries, gate.requests) == ((), [])
    assert any(entry.id in notice and "could not be read" in notice for notice in state.notices)
    assert [each for each, _ in state.read(lambda db: entry_records(db, state.namespace))] == [entry.id]
    state.close()
