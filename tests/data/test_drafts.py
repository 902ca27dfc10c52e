"""Unsent drafts, and the targets of unsent texts."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment
from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from octavo.api.text import Raw
from octavo.data.drafts import Drafts, UnsentIndex, comment_drafts_by_block, delete_drafts, restore_drafts, unsent_draft
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.tui.editing.page_drafts import PageDraftKey, page_drafts, unused_key
from tests.data.conftest import ManualOutbox
from tests.data.connections import add_write, refuse_to_save
from tests.server.small_platform import Clock

PAGE_DRAFT = PageDraftKey("s1", "p1", "r1")


def open_drafts(folder: Path, clock: Clock) -> tuple[StateDb, Drafts]:
    state = StateDb(folder, "mia", now=clock)
    return state, Drafts(state)


async def test_draft_survives_a_restart(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("a", "One")
    await drafts.save("a", "One two")
    drafts.save_now("b", "At the last moment")
    state.close()
    state, drafts = open_drafts(tmp_path, clock)
    assert (drafts.get("a"), drafts.get("b"), drafts.get("c")) == ("One two", "At the last moment", None)
    await drafts.save("a", "")
    assert [draft.key for draft in drafts.all()] == ["b"]
    state.close()


async def test_blank_text_is_no_draft(drafts: Drafts) -> None:
    await drafts.save("a", "One")
    await drafts.save("a", " \n")
    assert drafts.get("a") is None
    assert drafts.all() == ()


async def test_listing_drafts_does_not_replace_a_version_that_was_not_shown(tmp_path: Path, clock: Clock) -> None:
    (first, one), (second, two) = open_drafts(tmp_path, clock), open_drafts(tmp_path, clock)
    await one.save("page s p", "One")
    clock.forward(seconds=1)
    await two.save("page s p", "Other")
    assert [draft.text for draft in one.with_prefix("page ")] == ["One"], "each instance sees its own text"
    await one.save("page s p", "One, and more")
    assert sorted(_texts_at(one, "page s p")) == ["One, and more", "Other"]
    first.close()
    second.close()


async def test_draft_that_could_not_be_saved_is_listed(drafts: Drafts, state: StateDb) -> None:
    await drafts.save("page s p", "One")
    allow = refuse_to_save(state)
    with pytest.raises(NotSaved):
        await drafts.save("page s q", "Two")
    assert {draft.text for draft in drafts.with_prefix("page s ")} == {"One", "Two"}
    allow()


async def test_next_instance_takes_over_shown_drafts(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("a", "One")
    state.close()
    state, drafts = open_drafts(tmp_path, clock)
    assert drafts.get("a") == "One"
    await drafts.save("a", "One two")
    assert _texts_at(drafts, "a") == ["One two"]
    state.close()


async def test_text_written_after_another_instance_took_the_draft_over_is_kept(tmp_path: Path, clock: Clock) -> None:
    (first, one), (second, two) = open_drafts(tmp_path, clock), open_drafts(tmp_path, clock)
    await one.save("a", "One")
    assert two.get("a") == "One"
    await two.save("a", "One, but other")
    await one.save("a", "One, and more")
    await two.save("a", "One, but quite other")
    assert sorted(_texts_at(one, "a")) == ["One, and more", "One, but quite other"]
    first.close()
    second.close()


async def test_two_processes_keep_two_versions_of_a_draft(tmp_path: Path, clock: Clock) -> None:
    (first, one), (second, two) = open_drafts(tmp_path, clock), open_drafts(tmp_path, clock)
    await one.save("a", "One")
    assert two.get("a") == "One"
    clock.forward(seconds=1)
    await one.save("a", "One, and more")
    clock.forward(seconds=1)
    await two.save("a", "One, but other")
    assert _texts_at(one, "a") == ["One, but other", "One, and more"]
    assert (one.get("a"), two.get("a")) == ("One, and more", "One, but other")
    await two.save("a", "")
    assert (one.get("a"), two.get("a")) == ("One, and more", "One, and more")
    first.close()
    second.close()


async def test_draft_that_another_instance_has_sent_is_gone(tmp_path: Path, clock: Clock) -> None:
    (first, one), (second, two) = open_drafts(tmp_path, clock), open_drafts(tmp_path, clock)
    await one.save("a", "One")
    await one.save("b", "Mine")
    assert two.get("a") == "One"
    removal = two.removal("a")
    await second.write(removal.delete)
    removal.forget()
    assert one.get("a") is None
    assert [draft.text for draft in one.all()] == ["Mine"]
    assert one.keys() == {"b"}
    await two.save("b", "Other")
    assert two.get("b") == "Other"
    assert one.get("b") == "Mine", "the other instance has not seen this text"
    first.close()
    second.close()


async def test_most_recent_drafts_come_first(drafts: Drafts, clock: Clock) -> None:
    for place in ("a", "b", "a"):
        clock.forward(seconds=1)
        await drafts.save(place, f"At {place}")
    assert [(draft.key, draft.saved_at == clock()) for draft in drafts.all()] == [("a", True), ("b", False)]


def test_acknowledged_draft_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from octavo.data.drafts import Drafts; from octavo.data.state_db import StateDb\n"
        "async def main():\n"
        "    drafts = Drafts(StateDb(Path(sys.argv[1]), 'mia'))\n"
        "    for number in range(100000):\n"
        "        await drafts.save('a', f'{number} ' * 200)\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())"
    )
    acknowledged = -1
    for until in (1, 7, 30):
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == until:
                process.kill()
        process.wait()
        process.stdout.close()
        state = StateDb(tmp_path, "mia")
        text = Drafts(state).get("a")
        assert text
        assert int(text.split()[0]) >= acknowledged
        assert len(set(text.split())) == 1, "Never half of one"
        assert state.notices == ()
        state.close()


async def test_last_save_wins_in_any_order_of_waiting(tmp_path: Path) -> None:
    state = StateDb(tmp_path)
    drafts = Drafts(state)
    first, second = drafts.save("a", "One"), drafts.save("a", "One two")
    drafts.save_now("b", "Now")
    await second
    await first
    assert Drafts(state).get("a") == "One two"
    late = drafts.save("b", "Late")
    cleared = drafts.save("a", "")
    assert drafts.get("a") is None
    again = drafts.save("a", "Again")
    await cleared
    assert drafts.get("a") == "Again"
    drafts.flush()
    assert [Drafts(state).get(place) for place in ("a", "b")] == ["Again", "Late"]
    await late
    await again
    state.close()


async def test_text_typed_while_a_draft_is_queued_is_kept(outbox: ManualOutbox, here: SpaceRef) -> None:
    drafts = outbox._drafts
    await drafts.save("a", "Hello")
    op = comments.Create(at=here, body=Markdown(markdown="Hello"))
    adding = asyncio.create_task(add_write(outbox, op, action="comment", draft_key="a"))
    await asyncio.sleep(0)
    more = drafts.save("a", "And more")
    await adding
    assert drafts.get("a") == "And more"
    await more
    assert Drafts(outbox.state).get("a") == "And more"


def _texts_at(drafts: Drafts, place: str) -> list[str]:
    """Return the drafts at `place`, newest first. Two instances can leave several."""
    state = drafts._state
    rows = state.rows("SELECT text FROM drafts WHERE place = ? ORDER BY saved_at DESC", place)
    return [str(text) for (text,) in rows]


async def test_draft_is_readable_before_it_is_on_disk(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("a", "One")
    clock.forward(seconds=1)
    saving = (drafts.save("b", "Two"), drafts.save("a", ""))
    told = drafts.all()
    assert [(draft.key, draft.text) for draft in told] == [("b", "Two")]
    for each in saving:
        await each
    assert drafts.all() == told
    state.close()


async def test_draft_is_saved_after_a_database_lock(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("a", "sixteen letters.")
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotSaved):
            drafts.save_now("a", "sixteen letters. and the rest")
        with pytest.raises(NotSaved):
            drafts.save_now("b", "another")
        assert {each.key: each.text for each in drafts.unsaved()} == {
            "a": "sixteen letters. and the rest",
            "b": "another",
        }
        assert drafts.late_keys() == {"a", "b"}
        assert drafts.unsaved_reason == "another program is using the file"
        other.execute("ROLLBACK")
    while drafts.unsaved():  # The first attempt may last as long as SQLite waits for a lock.
        await drafts.save_again()
        await asyncio.sleep(0.01)
    assert (_texts_at(drafts, "a"), _texts_at(drafts, "b")) == (["sixteen letters. and the rest"], ["another"])
    assert drafts.late_keys() == frozenset()
    state.close()


async def test_draft_counts_as_saved_when_it_is_on_disk(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    state.write_now(lambda db: None)
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        told = asyncio.Event()
        drafts.changed.add(told.set)
        saving = asyncio.ensure_future(drafts.save("a", "Hello"))
        assert drafts.keys() == frozenset(), "nothing is on disk yet"
        told.clear()
        await told.wait()
        assert drafts.late_keys() == drafts.keys() == {"a"}, "it takes longer than it should"
        other.execute("ROLLBACK")
    await saving
    assert drafts.late_keys() == frozenset()
    assert drafts.keys() == {"a"}
    state.close()


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from octavo.data.drafts import Drafts
from octavo.data.state_db import NotSaved, StateDb

async def main() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    folder = Path(sys.argv[1])
    state = StateDb(folder, "mia")
    drafts = Drafts(state)
    await drafts.save("a", "sixteen letters.")
    size = sum(each.stat().st_size for each in folder.glob("state.db-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    text = "a long text " * 20_000
    try:
        await drafts.save("a", text)
    except NotSaved as error:
        print(error)
    print([len(each.text) for each in drafts.unsaved()], drafts.late_keys())
    await drafts.save_again()
    print(len(drafts.unsaved()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await drafts.save_again()
    print(drafts.unsaved(), drafts.late_keys())
    state.close()

asyncio.run(main())
"""


def test_draft_on_a_full_disk_is_saved_when_there_is_space(tmp_path: Path, clock: Clock) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    failed, unsaved, still, then = done.stdout.splitlines()
    assert failed.startswith("Nothing is being saved: ")
    assert (unsaved, still, then) == ("[240000] frozenset({'a'})", "1", "() frozenset()")
    state, drafts = open_drafts(tmp_path, clock)
    assert drafts.get("a") == "a long text " * 20_000
    state.close()


HERE = SpaceRef(space_id="s")
AT = ChangeRequestRef(space_id="s", change_request_id="c")


@pytest.mark.parametrize(
    ("place", "kind", "at", "page", "block", "thread"),
    [
        ("reply s k", "reply", HERE, "", "", "k"),
        ("reply s c k", "reply", AT, "", "", "k"),
        ("edit s k a1", "edit", HERE, "", "", "k"),
        ("edit s c k k", "edit", AT, "", "", "k"),
        ("comment s p n", "comment", HERE, "p", "n", ""),
        ("comment s  ", "comment", HERE, "", "", ""),
        ("comment s c p n", "comment", AT, "p", "n", ""),
        ("page s p - r1 1", "page", HERE, "p", "", ""),
        ("page s p c r1 2", "page", AT, "p", "", ""),
        ("review s c approved", "review", AT, "", "", ""),
        ("subject s", "subject", HERE, "", "", ""),
        ("title s p", "title", HERE, "p", "", ""),
        ("details s p", "details", HERE, "p", "", ""),
        ("reply to several 0a1b2c", "reply", None, "", "", ""),
        ("held e1", "held", None, "", "", ""),
        ("something else", "something", None, "", "", ""),
        ("reply ", "reply", None, "", "", ""),
        ("", "", None, "", "", ""),
    ],
)
def test_key_of_a_draft_names_its_target(
    place: str, kind: str, at: Discussion | None, page: str, block: str, thread: str
) -> None:
    hung = unsent_draft(place)
    assert (hung.kind, hung.at, hung.page_id, hung.block_key, hung.thread_id) == (kind, at, page, block, thread)
    assert (hung.draft_key, hung.entry_id) == (place, "")


def thread(name: str, page: str | None) -> Comment:
    target = {"page": {"id": page}} if page is not None else {}
    return Comment.model_validate({"object": "comment", "id": name, "target": target})


def test_unsent_drafts_are_found_by_target() -> None:
    index = UnsentIndex(
        ["reply s k", "comment s p n", "comment s p ", "page s q c r1 1", "comment s c p n", "review s c approved"]
    )
    assert [each.draft_key for each in index.of_thread(HERE, "k")] == ["reply s k"]
    assert index.of_thread(AT, "k") == ()
    pages = index.by_page(HERE, [thread("k", "q"), thread("other", "z")])
    assert {page: [each.draft_key for each in words] for page, words in pages.items()} == {
        "p": ["comment s p ", "comment s p n"],
        "q": ["reply s k", "page s q c r1 1"],
    }
    assert {key: len(words) for key, words in comment_drafts_by_block(pages["p"]).items()} == {"": 1, "n": 1}
    assert set(index.by_page(AT, ())) == {"p", "q"}, "a verdict is on no page"
    assert [each.kind for each in index.of_change_request(AT)] == ["review"]
    assert len(index.of_discussion(AT)) == 3
    assert [each.kind for each in index.of_draft("reply s k")] == ["reply"]


async def pending_comments(outbox: ManualOutbox, *words: str) -> tuple[OutboxEntry, ...]:
    for each in words:
        op = comments.Create(at=AT, page="p", node="n", body=Markdown(markdown=each))
        await outbox.add_pending_comments([NewWrite(op, "comment", "comment s c p n")])
    return outbox.pending_comments(AT)


async def test_pending_comment_and_its_edit_are_found_by_target(outbox: ManualOutbox) -> None:
    (entry,) = await pending_comments(outbox, "Say which.")
    index = UnsentIndex([f"held {entry.id}", "held gone"], (entry,))
    (words,) = index.of_thread(AT, entry.created_id)[:1]
    assert (words.kind, words.page_id, words.block_key, words.entry_id) == ("held", "p", "n", entry.id)
    assert words.starts_a_thread
    assert [each.draft_key for each in index.of_thread(AT, entry.created_id)] == ["", f"held {entry.id}"]
    assert {page: len(among) for page, among in index.by_page(AT, ()).items()} == {"p": 2}


async def test_discarded_drafts_are_restored_unchanged(outbox: ManualOutbox, drafts: Drafts) -> None:
    first, second, third = await pending_comments(outbox, "One", "Two", "Three")
    await drafts.save("reply s k", "I think so.")
    before = drafts.all()
    discarded = await outbox.discard_unsent(["reply s k", "nothing here"], [second.id, "nobody"])
    assert outbox.pending_comments(AT) == (first, third)
    assert drafts.all() == ()
    assert drafts.get("reply s k") is None
    await outbox.restore_discarded(discarded)
    assert outbox.pending_comments(AT) == (first, second, third), "in the order they were written"
    assert drafts.all() == before


async def test_text_written_after_a_discard_survives_the_restore(outbox: ManualOutbox, drafts: Drafts) -> None:
    (only,) = await pending_comments(outbox, "One")
    await drafts.save("reply s k", "I think so.")
    discarded = await outbox.discard_unsent(["reply s k"], [only.id])
    await drafts.save("reply s k", "Or not.")
    (other,) = await pending_comments(outbox, "Another, where the first stood")
    await outbox.restore_discarded(discarded)
    assert outbox.pending_comments(AT) == (other, only)
    assert drafts.get("reply s k") == "Or not."
    await drafts.save("reply s k", "")
    assert drafts.get("reply s k") == "I think so."


async def test_pending_comment_sent_meanwhile_is_not_discarded(outbox: ManualOutbox) -> None:
    (entry,) = await pending_comments(outbox, "One")
    await outbox.submit_review(AT)
    discarded = await outbox.discard_unsent([], [entry.id])
    assert discarded.comments == ()
    assert [each.id for each in outbox.entries] == [entry.id]


async def test_all_versions_of_a_draft_are_discarded_and_restored(outbox: ManualOutbox, drafts: Drafts) -> None:
    other = Drafts(outbox.state)
    await drafts.save("reply s k", "Mine.")
    await other.save("reply s k", "Of the other window.")
    discarded = await outbox.discard_unsent(["reply s k"], [])
    assert drafts.get("reply s k") is None
    assert drafts.keys() == frozenset()
    await outbox.restore_discarded(discarded)
    assert {each.text for each in (*drafts.all(), *other.all())} <= {"Mine.", "Of the other window."}
    assert len(outbox.state.rows("SELECT 1 FROM drafts")) == 2


async def test_restored_draft_is_not_overwritten_before_it_is_shown(
    outbox: ManualOutbox, drafts: Drafts, clock: Clock
) -> None:
    other = Drafts(outbox.state)
    await drafts.save("reply s k", "Mine.")
    discarded = await outbox.discard_unsent(["reply s k"], [])
    clock.forward(seconds=1)
    await other.save("reply s k", "Of the other window.")
    await outbox.restore_discarded(discarded)
    assert drafts.get("reply s k") == "Of the other window."
    await drafts.save("reply s k", "Continued.")
    assert {text for (text,) in outbox.state.rows("SELECT text FROM drafts")} == {"Mine.", "Continued."}


async def test_draft_observers_are_notified_of_new_and_deleted_drafts(outbox: ManualOutbox, drafts: Drafts) -> None:
    seen: list[frozenset[str]] = []
    leave = drafts.changed.add(lambda: seen.append(drafts.keys()))
    await drafts.save("a", "One")
    await drafts.save("a", "One two")
    assert seen == [frozenset(), frozenset({"a"}), frozenset({"a"}), frozenset({"a"})], "it is one once it is on disk"
    await drafts.save("a", "")
    assert seen[4:] == [frozenset(), frozenset()]
    await drafts.save("b", "Two")
    discarded = await outbox.discard_unsent(["b"], [])
    assert seen[-1] == frozenset()
    await outbox.restore_discarded(discarded)
    assert seen[-1] == frozenset({"b"})
    leave()
    await drafts.save("b", "")
    assert seen[-1] == frozenset({"b"})


async def test_nothing_is_discarded_if_nothing_can_be_saved(outbox: ManualOutbox, drafts: Drafts) -> None:
    await drafts.save("a", "One")
    outbox.state.read_only = True
    with pytest.raises(NotSaved):
        await outbox.discard_unsent(["a"], [])
    assert drafts.get("a") == "One"


async def test_page_draft_is_found_only_by_its_key(drafts: Drafts, clock: Clock) -> None:
    await drafts.save(PAGE_DRAFT.stored_key, "for a new one")
    clock.forward(seconds=1)
    into = PageDraftKey("s1", "p1", "r2", "c1")
    await drafts.save(into.stored_key, "\ufefffor c1\r\n")
    await drafts.save("page s1 p10 - r1 1", "of another page")
    found = page_drafts(drafts, "s1", "p1")
    assert [(each.key, each.text) for each in found] == [
        (into, Raw("\ufefffor c1\r\n")),
        (PAGE_DRAFT, Raw("for a new one")),
    ]
    assert [each.key for each in page_drafts(drafts, "s1", "p1", "c1")] == [into]
    assert page_drafts(drafts, "s1", "p2") == ()


async def test_page_draft_of_an_earlier_run_is_deleted_after_sending(state: StateDb) -> None:
    await Drafts(state).save(PAGE_DRAFT.stored_key, "kept by a run that was killed")
    now = Drafts(state)
    assert page_drafts(now, "s1", "p1")
    await now.save(PAGE_DRAFT.stored_key, "")
    assert page_drafts(now, "s1", "p1") == ()
    assert page_drafts(Drafts(state), "s1", "p1") == ()


async def test_new_page_edit_does_not_overwrite_a_draft(drafts: Drafts) -> None:
    assert unused_key(drafts, PAGE_DRAFT) == PAGE_DRAFT
    await drafts.save(PAGE_DRAFT.stored_key, "one")
    other = unused_key(drafts, PAGE_DRAFT)
    await drafts.save(other.stored_key, "two")
    assert {each.text.text for each in page_drafts(drafts, "s1", "p1")} == {"one", "two"}


async def test_base_of_a_draft_survives_restart_discard_and_undo(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("edit a", "Mine", "Theirs")
    await drafts.save("edit a", "Mine, longer", "Theirs")
    await drafts.save("b", "A new text")
    state.close()
    state, drafts = open_drafts(tmp_path, clock)
    assert {each.key: each.base for each in drafts.with_prefix("")} == {"edit a": "Theirs", "b": None}
    await drafts.save("edit a", "Mine, recovered")
    assert _bases_on_disk(state) == ["Theirs"], "a text without a base keeps the base of the draft"
    rows = await state.write(lambda db: delete_drafts(db, "mia", ["edit a"]))
    await state.write(lambda db: restore_drafts(db, "mia", rows))
    state.close()
    state, drafts = open_drafts(tmp_path, clock)
    restored = drafts.find("edit a")
    assert restored is not None
    assert (restored.text, restored.base) == ("Mine, recovered", "Theirs")
    await drafts.save("edit a", "")
    assert _bases_on_disk(state) == []
    state.close()


async def test_base_is_not_used_for_a_text_that_an_older_octavo_saved(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("edit a", "Mine", "Theirs")
    state.close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as db:
        db.execute("UPDATE drafts SET text = 'Older', revision = 7 WHERE place = 'edit a'")
        db.commit()
    state, drafts = open_drafts(tmp_path, clock)
    draft = drafts.find("edit a")
    assert draft is not None
    assert (draft.text, draft.base) == ("Older", None)
    state.close()


async def test_text_typed_while_an_earlier_text_is_stored_elsewhere_stays_on_disk(tmp_path: Path, clock: Clock) -> None:
    state, drafts = open_drafts(tmp_path, clock)
    await drafts.save("comment a", "Sent")
    removal = drafts.removal("comment a")
    await drafts.save("comment a", "Typed since")
    await state.write(removal.delete)
    removal.forget()
    assert drafts.get("comment a") == "Typed since"
    state.close()
    state, drafts = open_drafts(tmp_path, clock)
    assert drafts.get("comment a") == "Typed since"
    state.close()


def _bases_on_disk(state: StateDb) -> list[str]:
    return [value for (value,) in state.rows("SELECT value FROM facts WHERE name GLOB 'draft base *'")]
