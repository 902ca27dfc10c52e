"""Actions on selected threads, and their undo."""

from __future__ import annotations

from collections import Counter

import pytest

from octavo.api import comments
from octavo.tui.widgets.commands import active_commands
from tests.journeys.stage import Run, Stage


async def three_ticked(run: Run) -> list[str]:
    """Tick the first three threads and leave the cursor on the sixth. Answers what the three are called."""
    await run.see("Open 72")
    await run.press("v", "j", "j", "v", "j", "j", "j")
    await run.see("3 selected")
    rows = run.app.screen.rows  # type: ignore[attr-defined]  # it is the list of threads
    return [each.comment.id for each in rows.items[:3]]


async def tick_many(run: Run) -> list[str]:
    """Tick threads of seven places, many in two of them. Answers what they are called."""
    await run.see("Open 72")
    rows = run.app.screen.rows  # type: ignore[attr-defined]  # it is the list of threads
    wanted = rows.items[35:59]
    assert rows.go_to(rows.keys[35])
    await run.press("v", *("j" for _ in wanted[1:]), "v")
    await run.see("24 selected")
    return [each.comment.id for each in wanted]


def under_cursor(run: Run) -> str:
    return str(run.app.screen.rows.item.comment.id)  # type: ignore[attr-defined]  # it is the list of threads


@pytest.mark.before_release
@pytest.mark.parametrize("key", ["c", "D"])
async def test_reply_goes_to_all_selected_threads_and_no_other(stage: Stage, key: str) -> None:
    async with stage.play(start="comments") as run:
        wanted = await three_ticked(run)
        await run.press(key)
        await run.see("Reply to 3 threads" + (" and resolve them" if key == "D" else ""))
        await run.type("Done in the next release.")
        await run.press("ctrl+s")
        await run.hear("Sending reply to 3 threads" + (" and resolving them" if key == "D" else "") + "…")
        assert "selected" not in run.text
        await run.sent()
        assert sorted(op.comment_id for op in run.gate.sent(comments.CreateReply)) == sorted(wanted)
        resolved = [op.comment_id for op in run.gate.sent(comments.Update)]
        assert sorted(resolved) == (sorted(wanted) if key == "D" else [])


@pytest.mark.before_release
async def test_undone_reply_to_several_threads_is_a_draft_for_all(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await three_ticked(run)
        await run.press("c")
        await run.type("Never mind.")
        await run.press("ctrl+s")
        await run.hear("Sending reply to 3 threads")
        await run.press("u")
        await run.hear("Canceled: reply, all 3.")
        await run.press("g", "v", "j", "j", "v", "c")
        await run.see("Reply to 3 threads", "Never mind.")
        await run.press("ctrl+s")
        await run.sent()
        assert len(run.gate.sent(comments.CreateReply)) == 3
        await run.press("g", "c")
        await run.see("Reply to Yuki Tanabe", "Write a comment")


@pytest.mark.before_release
async def test_draft_for_one_thread_survives_a_reply_to_several(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("c")
        await run.type("Half a thought")
        await run.press("escape")
        await three_ticked(run)
        await run.press("c")
        await run.type("Done.")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("g", "c")
        await run.see("Half a thought")


async def test_reaction_goes_to_all_selected_threads(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        wanted = await three_ticked(run)
        await run.press("+", *"ship", "enter")
        await run.hear("Reacting with 🚀 to 3 threads…")
        await run.sent()
        assert sorted(op.comment_id for op in run.gate.sent(comments.Update)) == sorted(wanted)


@pytest.mark.before_release
async def test_single_thread_commands_say_so_while_several_are_selected(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        wanted = await three_ticked(run)
        words = [each.comment.body.text for each in run.app.screen.rows.items[: len(wanted)]]  # type: ignore[attr-defined]  # as above
        await run.press("y")
        await run.hear("Copied the text of 3 threads.")
        assert run.app.clipboard == "\n\n".join(words)
        await run.press("X")
        await run.hear(
            "3 threads are selected. This key acts on one thread at a time. Press esc to clear the selection."
        )
        await run.press("C")
        await run.hear("3 threads are selected. This key acts on one thread")
        await run.press("enter", "c")
        await run.hear("3 threads are selected in the list. To act on the selection, press esc to go back to the list")
        await run.press("escape", "escape", "c")
        await run.see("Reply to ")
        assert "threads" not in run.text.split("Reply to ")[1].split("\n")[0]


@pytest.mark.before_release
async def test_cursor_moves_to_the_next_row_after_many_are_resolved(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        rows = run.app.screen.rows  # type: ignore[attr-defined]  # it is the list of threads
        order = [each.comment.id for each in rows.items]
        await run.press("v", *("j" for _ in range(7)), "v", "d")
        await run.see("Open 64")
        assert under_cursor(run) == order[8]
        await run.sent()
        assert under_cursor(run) == order[8]


@pytest.mark.before_release
async def test_undo_moves_the_cursor_to_the_restored_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        first = under_cursor(run)
        await run.press("v", "j", "j", "v", "d")
        await run.see("Open 69")
        await run.press("G", "2")
        await run.see("Your first tide")
        await run.press("u")
        await run.hear("Canceled: resolve the thread, all 3.")
        await run.see("Open 72")
        assert under_cursor(run) == first
        await run.press("d")
        await run.sent()
        await run.press("]", "]")
        await run.see("Comments · resolved")
        await run.press("u")
        await run.see("Comments · open")
        assert under_cursor(run) == first


@pytest.mark.before_release
async def test_undo_of_a_comment_opens_its_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "THREADS  2 open")
        await run.press("c")
        await run.type("Never mind me.")
        await run.press("ctrl+s")
        await run.see("THREADS  3 open")
        await run.press("3")
        await run.see("Changes ·")
        await run.press("u")
        await run.hear("Canceled: comment · Quickstart.")
        await run.see("› Quickstart", "THREADS  2 open")


@pytest.mark.before_release
async def test_key_without_selection_support_says_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "a")
        await run.hear("1 change request is selected, but only the m and ~ keys apply to a selection.")
        reasons = {each.id: each.reason for each in active_commands(run.app.screen)}
        for id in ("thing.yank", "change.archive", "change.merge"):
            assert "only the m and ~ keys apply to a selection" in (reasons[id] or ""), (
                f"{id} is about one, and it is not clear which"
            )
        assert reasons["change.ready"] is None
        await run.press("k", "a")
        await run.see("Approve #")


@pytest.mark.before_release
async def test_many_failed_writes_are_listed_and_retried_together(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await three_ticked(run)
        run.platform.refuse_next(comments.CreateReply, 403, "Not now.", times=3)
        await run.press("c")
        await run.type("Done.")
        await run.press("ctrl+s")
        await run.later(seconds=6)
        await run.see("3 changes need your decision: press !")
        await run.press("!")
        await run.see("WAITING FOR YOUR DECISION", "reply  “", " on How a change becomes a page")
        await run.press("*")
        await run.see("3 changes selected. Press r to retry them, or X to discard them")
        await run.press("r")
        await run.gone("WAITING FOR YOUR DECISION")
        await run.press("escape")
        assert len(run.gate.sent(comments.CreateReply)) == 6


@pytest.mark.before_release
async def test_many_failed_writes_are_discarded_together_and_drafts_stay(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await three_ticked(run)
        run.platform.refuse_next(comments.CreateReply, 403, "Not now.", times=3)
        await run.press("c")
        await run.type("Done.")
        await run.press("ctrl+s")
        await run.later(seconds=6)
        await run.see("3 changes need your decision")  # they are refused one after the other
        await run.press("!", "*", "X")
        await run.see("Discard 3 changes?", "Your text will be kept as a draft.")
        await run.press("y")
        await run.gone("WAITING FOR YOUR DECISION")
        await run.press("escape")
        await run.gone("failed:")
        await run.see("3 selected")  # they were refused, and are ticked again: what was said to all can be said again
        await run.press("c")
        await run.see("Reply to 3 threads", "Done.")
        await run.press("escape", "escape", "g", "c")
        await run.gone("3 selected")
        await run.see("Reply to Yuki Tanabe", "Done.")


@pytest.mark.before_release
async def test_permanently_refused_writes_are_reported_and_need_no_action(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("v", "j", "j", "v")
        run.platform.refuse_next(comments.Update, 403, "You may only read here.", times=3)
        await run.press("d")
        await run.later(seconds=6)
        await run.hear("Could not resolve the thread: You may only read here.")
        await run.see("Open 72")
        assert "need you" not in run.text
        assert "waiting" not in run.text
        await run.press("!")
        await run.see("FAILED", "You may only read here.", "resolve the thread  “")
        await run.press("*", "X", "y")
        await run.gone("FAILED")


@pytest.mark.before_release
async def test_many_writes_recover_from_a_failing_server(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.platform.refuse_next(comments.Update, 502, "Bad gateway.", times=16)
        await run.press("v", *("j" for _ in range(7)), "v", "d")
        await run.see("Open 64")
        for times in range(40):
            await run.later(seconds=31)
            if times == 2:
                await run.press("!")
                told = [
                    line.split("resolve the thread")[1].split("│")[0] for line in run.lines if " resolve the" in line
                ]
                assert len(told) == len(set(told)) == len(run.app.session.outbox.entries) > 1, f"each is named: {told}"
                assert "to keep the text" not in run.text, "there is none"
                await run.press("escape")
            assert "need you" not in run.text
            if not run.app.session.outbox.entries:
                break
        assert not run.app.session.outbox.entries
        await run.see("Open 64")
        assert len(run.gate.sent(comments.Update)) == 24


@pytest.mark.before_release
async def test_undo_of_many_includes_a_write_that_was_already_sent(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("v", "j", "j", "v")
        run.gate.shut(comments.Update)
        await run.press("d")
        await run.see("Open 69")
        await run.later(seconds=6)
        await run.until(lambda: run.gate.waiting > 0, "send the first")
        await run.press("u")
        await run.hear(
            "Canceled: resolve the thread, all 3 (1 was already sent and had to be undone). The change is already being sent"
        )
        await run.see("Open 72")
        run.gate.open()
        await run.sent()
        await run.see("Open 72")
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True, False]


@pytest.mark.before_release
async def test_resolving_many_threads_sends_one_write_each_and_few_reads(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await tick_many(run)
        await run.press("d")
        await run.see("Open 48")
        run.gate.passed.clear()
        await run.sent()
        await run.see("Open 48")
        writes = run.gate.sent(comments.Update)
        reads = Counter(type(op).__qualname__ for op in run.gate.passed if not isinstance(op, comments.Update))
        assert len(writes) == 24
        places = Counter(op.at for op in writes)
        assert len(places) == 7
        singly = sum(number for number in places.values() if number <= 3)
        assert reads["Get"] <= singly, "where there are many, one list tells how they all are"
        # A list before and one after of each place, the spaces, and the change requests that are open or drafts.
        assert sum(reads.values()) - reads["Get"] <= 2 * len(places) + 3, reads


@pytest.mark.before_release
async def test_refused_threads_of_many_stay_selected_with_their_reason(
    stage: Stage,
) -> None:
    async with stage.play(start="comments") as run:
        wanted = await tick_many(run)
        run.platform.refuse_next(comments.Update, 403, "This space is locked for the audit.", times=5)
        await run.press("d")
        await run.see("Open 48")
        run.gate.passed.clear()
        await run.later(seconds=6)
        await run.see("Open 53", "5 selected")
        writes = run.gate.sent(comments.Update)
        assert len(writes) == 24
        reads = len(run.gate.passed) - len(writes)
        places = len({op.at for op in writes})
        # A list before and one after of each place, or where there are few a thread alone, and the three lists above them.
        assert reads <= 3 * places + 3, "those that are refused cost no more than those that are done"
        rows = run.app.screen.rows  # type: ignore[attr-defined]  # it is the list of threads
        ticked = [each.comment.id for each in rows.selection.items]
        assert len(ticked) == 5
        assert set(ticked) <= set(wanted)
        on_show = [line for line in run.lines if line.startswith(" ✓")]
        assert on_show
        assert all("failed: This space is locked" in line for line in on_show), on_show
        await run.press("u")
        await run.hear("Undone: resolve the thread, 19 of 24")
        await run.later(seconds=6)
        await run.see("Open 72")
        undone = [op.comment_id for op in run.gate.sent(comments.Update) if op.resolved is False]
        assert len(undone) == 19
        assert not set(undone) & set(ticked)
