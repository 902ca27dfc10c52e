"""The targets of unsent drafts, and drafts that are discarded and restored."""

from __future__ import annotations

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment
from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.drafts import Drafts, UnsentIndex, by_block, unsent_draft
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import NewWrite, OutboxEntry
from tests.data.conftest import ManualOutbox

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
        ("something else", "something", None, "", "", ""),
        ("reply ", "reply", None, "", "", ""),
        ("", "", None, "", "", ""),
    ],
)
def test_key_of_a_draft_names_its_target(
    place: str, kind: str, at: Discussion | None, page: str, block: str, thread: str
) -> None:
    hung = unsent_draft(place)
    assert (hung.kind, hung.at, hung.page, hung.block, hung.thread) == (kind, at, page, block, thread)
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
    assert {key: len(words) for key, words in by_block(pages["p"]).items()} == {"": 1, "n": 1}
    assert set(index.by_page(AT, ())) == {"p", "q"}, "a verdict is on no page"
    assert [each.kind for each in index.of_change_request(AT)] == ["review"]
    assert len(index.of_discussion(AT)) == 3
    assert [each.kind for each in index.of_draft("reply s k")] == ["reply"]


async def pending_comments(outbox: ManualOutbox, *words: str) -> tuple[OutboxEntry, ...]:
    for each in words:
        op = comments.Create(at=AT, page="p", node="n", body=Markdown(markdown=each))
        await outbox.add_pending_comment(NewWrite(op, "comment", "comment s c p n"))
    return outbox.pending_comments(AT)


async def test_pending_comment_and_its_edit_are_found_by_target(outbox: ManualOutbox) -> None:
    (entry,) = await pending_comments(outbox, "Say which.")
    index = UnsentIndex([f"held {entry.id}", "held gone"], (entry,))
    (words,) = index.of_thread(AT, entry.created_id)[:1]
    assert (words.kind, words.page, words.block, words.entry_id) == ("held", "p", "n", entry.id)
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
    await drafts.discard("reply s k")
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


async def test_draft_observers_are_notified_of_new_and_deleted_drafts(outbox: ManualOutbox, drafts: Drafts) -> None:
    seen: list[frozenset[str]] = []
    leave = drafts.observe(lambda: seen.append(drafts.keys()))
    await drafts.save("a", "One")
    await drafts.save("a", "One two")
    assert seen == [frozenset(), frozenset({"a"}), frozenset({"a"}), frozenset({"a"})], "it is one once it is on disk"
    await drafts.discard("a")
    assert seen[4:] == [frozenset(), frozenset()]
    await drafts.save("b", "Two")
    discarded = await outbox.discard_unsent(["b"], [])
    assert seen[-1] == frozenset()
    await outbox.restore_discarded(discarded)
    assert seen[-1] == frozenset({"b"})
    leave()
    await drafts.discard("b")
    assert seen[-1] == frozenset({"b"})


async def test_nothing_is_discarded_if_nothing_can_be_saved(outbox: ManualOutbox, drafts: Drafts) -> None:
    await drafts.save("a", "One")
    outbox.state.read_only = True
    with pytest.raises(NotSaved):
        await outbox.discard_unsent(["a"], [])
    assert drafts.get("a") == "One"
