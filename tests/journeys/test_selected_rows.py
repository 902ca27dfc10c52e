"""Commands on several selected threads, and their undo."""

from __future__ import annotations

from collections import Counter

import pytest

from octavo.api import comments, spaces
from octavo.api.operation import SpaceRef
from octavo.tui.widgets.commands import active_commands
from tests.journeys.stage import Run, Stage


async def select_three(run: Run) -> list[str]:
    """Select the first three threads, leave the cursor on the sixth, and return the ids of the three."""
    await run.see("Open 72")
    await run.press("v", "j", "j", "v", "j", "j", "j")
    await run.see("3 selected")
    rows = run.app.screen.rows  # type: ignore[attr-defined]  # The screen is the comments view.
    return [each.comment.id for each in rows.items[:3]]


async def select_many(run: Run) -> list[str]:
    """Select 24 threads of seven places, many of them in two places, and return their ids."""
    await run.see("Open 72")
    rows = run.app.screen.rows  # type: ignore[attr-defined]  # The screen is the comments view.
    wanted = rows.items[35:59]
    assert rows.go_to(rows.keys[35])
    await run.press("v", *("j" for _ in wanted[1:]), "v")
    await run.see("24 selected")
    return [each.comment.id for each in wanted]


def current_thread(run: Run) -> str:
    return str(run.app.screen.rows.item.comment.id)  # type: ignore[attr-defined]  # The screen is the comments view.


@pytest.mark.before_release
@pytest.mark.parametrize("key", ["c", "D"])
async def test_reply_goes_to_all_selected_threads_and_no_other(stage: Stage, key: str) -> None:
    async with stage.play(start="comments") as run:
        wanted = await select_three(run)
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


async def test_selection_stays_when_another_user_renames_the_space(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        wanted, current = await select_three(run), current_thread(run)
        rows = run.app.screen.rows  # type: ignore[attr-defined]  # The screen is the comments view.
        await run.ask(spaces.Update(at=SpaceRef(space_id=rows.items[0].at.space_id), title="Almanac"), "noor-haddad")
        await run.press("r")
        await run.see("ALMANAC", "3 selected")
        assert sorted(each.comment.id for each in rows.selection.items) == sorted(wanted)
        assert current_thread(run) == current


@pytest.mark.before_release
async def test_undone_reply_to_several_threads_is_a_draft_for_all(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await select_three(run)
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
async def test_draft_for_one_thread_is_kept_after_a_reply_to_several(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("c")
        await run.type("Half a thought")
        await run.press("escape")
        await select_three(run)
        await run.press("c")
        await run.type("Done.")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("g", "c")
        await run.see("Half a thought")


async def test_reaction_goes_to_all_selected_threads(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        wanted = await select_three(run)
        await run.press("+", *"ship", "enter")
        await run.hear("Reacting with 🚀 to 3 threads…")
        await run.sent()
        assert sorted(op.comment_id for op in run.gate.sent(comments.Update)) == sorted(wanted)


@pytest.mark.before_release
async def test_key_for_one_thread_is_refused_while_several_are_selected(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        wanted = await select_three(run)
        words = [each.comment.body.text for each in run.app.screen.rows.items[: len(wanted)]]  # type: ignore[attr-defined]  # The screen is the comments view.
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
        rows = run.app.screen.rows  # type: ignore[attr-defined]  # The screen is the comments view.
        order = [each.comment.id for each in rows.items]
        await run.press("v", *("j" for _ in range(7)), "v", "d")
        await run.see("Open 64")
        assert current_thread(run) == order[8]
        await run.sent()
        assert current_thread(run) == order[8]


@pytest.mark.before_release
async def test_undo_moves_the_cursor_to_the_restored_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        first = current_thread(run)
        await run.press("v", "j", "j", "v", "d")
        await run.see("Open 69")
        await run.press("G", "2")
        await run.see("Your first tide")
        await run.press("u")
        await run.hear("Canceled: resolve the thread, all 3.")
        await run.see("Open 72")
        assert current_thread(run) == first
        await run.press("d")
        await run.sent()
        await run.press("]", "]")
        await run.see("Comments · resolved")
        await run.press("u")
        await run.see("Comments · open")
        assert current_thread(run) == first


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
        await run.press("x", "A")
        await run.hear("1 change request is selected, but only the a, L, V, m and ~ keys apply to a selection.")
        reasons = {each.id: each.reason for each in active_commands(run.app.screen)}
        for id in ("thing.yank", "change.subject", "change.update"):
            assert "only the a, L, V, m and ~ keys apply to a selection" in (reasons[id] or ""), (
                f"{id} must not run, because it applies to one item"
            )
        assert reasons["change.ready"] is None
        await run.press("k", "a")
        await run.see("Approve #")


@pytest.mark.before_release
async def test_several_failed_writes_are_listed_and_retried_together(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await select_three(run)
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
async def test_discarding_several_failed_writes_keeps_the_text_as_a_draft(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await select_three(run)
        run.platform.refuse_next(comments.CreateReply, 403, "Not now.", times=3)
        await run.press("c")
        await run.type("Done.")
        await run.press("ctrl+s")
        await run.later(seconds=6)
        await run.see("3 changes need your decision")  # The server rejects the writes one after the other.
        await run.press("!", "*", "X")
        await run.see("Discard 3 changes?", "Your text will be kept as a draft.")
        await run.press("y")
        await run.gone("WAITING FOR YOUR DECISION")
        await run.press("escape")
        await run.gone("failed:")
        # The rejected threads are selected again, so that the user can send the text again.
        await run.see("3 selected")
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
                named_writes = [
                    line.split("resolve the thread")[1].split("│")[0] for line in run.lines if " resolve the" in line
                ]
                assert len(named_writes) == len(set(named_writes)) == len(run.app.session.outbox.entries) > 1, (
                    f"each write must be named: {named_writes}"
                )
                assert "to keep the text" not in run.text, "there is no text to keep"
                await run.press("escape")
            assert "need you" not in run.text
            if not run.app.session.outbox.entries:
                break
        assert not run.app.session.outbox.entries
        await run.see("Open 64")
        assert len(run.gate.sent(comments.Update)) == 24


@pytest.mark.before_release
async def test_undo_of_several_writes_includes_a_write_that_was_already_sent(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("v", "j", "j", "v")
        run.gate.shut(comments.Update)
        await run.press("d")
        await run.see("Open 69")
        await run.later(seconds=6)
        await run.until(lambda: run.gate.waiting > 0, "send the first write")
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
        await select_many(run)
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
        assert reads["Get"] <= singly, "places with many threads must be checked with one list"
        # Each place needs a list before and a list after the writes. The space list, the open change requests and the
        # drafts are also loaded.
        assert sum(reads.values()) - reads["Get"] <= 2 * len(places) + 3, reads


@pytest.mark.before_release
async def test_rejected_threads_stay_selected_and_show_the_reason(
    stage: Stage,
) -> None:
    async with stage.play(start="comments") as run:
        wanted = await select_many(run)
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
        # Each place needs a list before and a list after the writes, or a single thread if it has few threads. Three
        # lists of the organization are also loaded.
        assert reads <= 3 * places + 3, "rejected writes must not need more reads than accepted writes"
        rows = run.app.screen.rows  # type: ignore[attr-defined]  # The screen is the comments view.
        selected = [each.comment.id for each in rows.selection.items]
        assert len(selected) == 5
        assert set(selected) <= set(wanted)
        selected_rows = [line for line in run.lines if line.startswith(" ✓")]
        assert selected_rows
        assert all("failed: This space is locked" in line for line in selected_rows), selected_rows
        await run.press("u")
        await run.hear("Undone: resolve the thread, 19 of 24")
        await run.later(seconds=6)
        await run.see("Open 72")
        undone = [op.comment_id for op in run.gate.sent(comments.Update) if op.resolved is False]
        assert len(undone) == 19
        assert not set(undone) & set(selected)


async def test_key_for_a_thread_that_just_left_the_list_is_not_used_for_the_next(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.core.list_view.REPLACEMENT_SECONDS", 1e9)
    monkeypatch.setattr("octavo.tui.core.list_view.OWN_ACTION_SECONDS", 0.0)
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("j", "j")
        thread = run.app.screen.rows.item  # type: ignore[attr-defined]  # The screen is the comments view.
        await run.ask(comments.Update(at=thread.at, comment_id=thread.comment.id, resolved=True), "noor-haddad")
        await run.press("r")
        await run.see("Open 71")
        await run.press("d")
        await run.hear("The list has just changed, and another item is selected now. Press the key again.")
        next_id = current_thread(run)
        await run.press("d")
        await run.hear("Resolving thread…")
        await run.sent()
        assert [op.comment_id for op in run.gate.sent(comments.Update)] == [next_id]
