"""Snapshots that include writes in the outbox."""

from __future__ import annotations

from octavo.api import comments, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent
from octavo.api.operation import SpaceRef
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from tests.data.background_requests import wait_idle
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.data.test_live import new_comment, threads
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock


class TestTheOutbox:
    """Queued writes are part of the shown responses."""

    async def test_new_comment_is_shown_at_once_and_gets_its_id_without_flicker(
        self, live: Live, outbox: ManualOutbox, here: SpaceRef, clock: Clock
    ) -> None:
        screen = SnapshotWatcher()
        live.watch(threads(here), screen)
        await wait_idle(live)
        entry = await add_write(outbox, new_comment(here), action="comment")
        assert (screen.now.value.items[0].id, screen.now.pending_count) == (entry.created_id, 1)
        clock.forward(seconds=5)
        await outbox.send_due()
        await wait_idle(live)
        assert (screen.texts, screen.now.pending_count) == (["Hello"], 0)
        assert screen.now.value.items[0].id != entry.created_id
        first = next(number for number, each in enumerate(screen.seen) if each.value and each.value.items)
        assert all(len(each.value.items) == 1 for each in screen.seen[first:] if each.value)

    async def test_comment_counts_include_queued_comments(
        self, live: Live, outbox: ManualOutbox, here: SpaceRef, clock: Clock
    ) -> None:
        screen = SnapshotWatcher()
        live.watch(spaces.Get(at=here), screen)
        await wait_idle(live)
        await add_write(outbox, new_comment(here), action="comment")
        assert (screen.now.value.comments, screen.now.pending_count) == (1, 1)
        clock.forward(seconds=5)
        await outbox.send_due()
        await wait_idle(live)
        assert (screen.now.value.comments, screen.now.pending_count) == (1, 0)

    async def test_undo_removes_a_new_comment(self, live: Live, outbox: ManualOutbox, here: SpaceRef) -> None:
        screen = SnapshotWatcher()
        live.watch(threads(here), screen)
        await wait_idle(live)
        await add_write(outbox, new_comment(here), action="comment")
        await outbox.undo_newest()
        assert (screen.texts, screen.now.pending_count) == ([], 0)

    async def test_delete_is_compared_with_the_newest_loaded_text(
        self, live: Live, outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
    ) -> None:
        about = await ask(new_comment(here, "First wording"), "mia")
        leave = live.watch(threads(here, status="open"), SnapshotWatcher())
        await wait_idle(live)
        leave()
        clock.forward(seconds=60)
        edit = comments.Update(at=here, comment_id=about.id, body=Markdown(markdown="Second text"))
        await ask(edit, "mia")
        screen = SnapshotWatcher()
        live.watch(threads(here), screen)
        await wait_idle(live)
        assert screen.texts == ["Second text"]
        await add_write(outbox, comments.Delete(at=here, comment_id=about.id), action="delete the comment")
        clock.forward(seconds=5)
        await outbox.send_due()
        assert outbox.entries == ()

    async def test_refused_resolve_is_reverted(
        self, live: Live, outbox: ManualOutbox, here: SpaceRef, ask: Ask, platform: Platform, clock: Clock
    ) -> None:
        about = await ask(new_comment(here, "Right?"), "mia")
        screen = SnapshotWatcher()
        live.watch(threads(here, status="open"), screen)
        await wait_idle(live)
        await add_write(
            outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread"
        )
        assert screen.texts == []
        assert outbox.entries[0].expected.is_open
        platform.refuse_next(comments.Update, 403, "You may only read here.")
        clock.forward(seconds=5)
        await outbox.send_due()
        assert screen.texts == ["Right?"]

    async def test_new_comment_is_shown_after_a_restart_offline(
        self, live: Live, outbox: ManualOutbox, gate: RequestGate, cache: ResponseCache, here: SpaceRef, clock: Clock
    ) -> None:
        await live.refresh(threads(here))
        cache.flush()
        await add_write(outbox, new_comment(here), action="comment")
        gate.errors.append(NotSent("Can't reach the server."))
        screen = SnapshotWatcher()
        later = Live(gate, cache, outbox, now=clock)
        later.watch(threads(here), screen)
        await wait_idle(later)
        assert [(each.value.items[0].body.text, each.pending_count) for each in screen.seen] == [
            ("Hello", 1),
            ("Hello", 1),
        ]

    async def test_thread_without_an_id_shows_its_replies(
        self, live: Live, outbox: ManualOutbox, gate: RequestGate, here: SpaceRef
    ) -> None:
        entry = await add_write(outbox, new_comment(here), action="comment")
        screen = SnapshotWatcher()
        live.watch(comments.ListReplies(at=here, comment_id=entry.created_id), screen)
        await wait_idle(live)
        answer = comments.CreateReply(at=here, comment_id=entry.created_id, body=Markdown(markdown="And more"))
        await add_write(outbox, answer, action="reply")
        assert screen.texts == ["And more"]
        assert gate.requests == []

    async def test_reply_is_counted_once_in_a_response_that_is_read_from_disk_again(
        self, live: Live, outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
    ) -> None:
        about, counts = await ask(new_comment(here, "Right?"), "ada"), spaces.Get(at=here)
        old = await live.fetch(threads(here)), await live.fetch(counts)
        assert (old[0].items[0].replies, old[1].comments) == (0, 1)
        reply = comments.CreateReply(at=here, comment_id=about.id, body=Markdown(markdown="Yes"))
        await add_write(outbox, reply, action="reply")
        await add_write(outbox, new_comment(here, "Another"), action="comment")
        clock.forward(seconds=5)
        await outbox.send_due()
        assert outbox.entries == ()

        def shown() -> tuple[int, int]:
            live.release(threads(here))
            live.release(counts)
            listed, space = live.peek(threads(here)).value, live.peek(counts).value
            assert listed is not None
            assert space is not None
            return next(each.replies for each in listed.items if each.id == about.id), space.comments

        assert shown() == (1, 2), "the copy on disk is older than the writes"
        clock.forward(seconds=1)
        await live.fetch(threads(here))
        await live.fetch(counts)
        assert shown() == (1, 2), "the copy on disk contains the writes"
