"""A space is made available offline, the server goes away, and the queued writes are sent when the server comes
back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from octavo.api import comments, spaces
from octavo.api.operation import SpaceRef
from octavo.data.writes.machine import NewWrite
from octavo.tui.core.view import TopBar
from octavo.tui.widgets.commands import active_commands
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_searching import unused_port

HARBOUR = "harbour-api"


async def run_command(run: Run, id: str) -> None:
    """Run a command without a key, as the command palette does."""
    command = next(each for each in active_commands(run.app.screen) if each.id == id)
    assert command.is_enabled, command.reason
    await command.run()
    await run.settle()


async def make_available_offline(run: Run) -> None:
    await run_command(run, "space.keep_offline")
    await run.until(
        lambda: (kept := run.app.session.offline.get(HARBOUR)) is not None and kept.state == "kept",
        "save the space for offline use",
    )


@pytest.mark.before_release
async def test_space_is_made_available_offline_listed_and_removed(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await make_available_offline(run)
        kept = run.app.session.offline.get(HARBOUR)
        assert kept is not None
        assert (kept.failed, kept.downloaded) == ((), kept.wanted)
        await run.press("escape", "escape")
        await run.see("SPACES", "offline")
        await run.press("i")
        await run.see("available offline, ", "just now")
        await run.press("escape", "!")
        await run.see("AVAILABLE OFFLINE", "Harbour API")
        await run.press("r")
        await run.hear("Offline spaces are updated automatically")
        await run.press("X")
        await run.see("Remove the offline copy of Harbour API?", "available offline, ")
        await run.press("n")
        assert run.app.session.offline.get(HARBOUR) is not None
        await run.press("escape")
        await run_command(run, "app.offline")
        await run.see("Offline spaces", "Harbour API")
        await run.press("escape")
        await run_command(run, "space.let_go")
        await run.hear("Removed the offline copy of Harbour API")
        assert run.app.session.offline.all == ()
        await make_available_offline(run)
        await run.hear("Harbour API is available offline: 33 pages")
        await run.press("!")
        await run.see("AVAILABLE OFFLINE")
        await run.press("X", "y")
        await run.hear("Removed the offline copy of Harbour API")
        assert run.app.session.offline.all == ()


async def test_offline_space_is_complete_and_its_writes_are_sent_once(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await make_available_offline(run)
        await run.press("4")
        await run.see("Open ")
        await run.press("3")
        await run.see("#")

    async with stage.play(over=unused_port, start="content") as run:
        await run.see("○ offline", "Harbour API › Welcome", "Last updated")
        await run.press("r")
        await run.see("Offline. Last updated")
        assert "loaded earlier" not in run.text
        await run.press("e")
        await run.hear("You cannot edit pages offline. Try again when the server can be reached.")
        run.app.screen.set_focus(run.app.screen.query_one("#page"))
        for _ in range(6):
            await run.press("J")
            await run.until(
                lambda: "Could not load" not in run.text and "Loading" not in run.text, "open the next page"
            )
            assert "not loaded before" not in run.text
        await run.press("s", *"leilani helps")
        await run.see("in a reply", "Offline: searched only local copies")
        await run.press("escape", "4")
        await run.see("HARBOUR API")
        for words in ("First from the plane.", "Second from the plane.", "Third from the plane."):
            await run.press("c")
            await run.see("Reply to")
            await run.type(words)
            await run.press("ctrl+s")
            await run.see(words, "· queued")
        await run.press("j", "d")
        await run.see("4 changes queued")
        await run.press("d")
        await run.see("5 changes queued")
        await run.later(seconds=run.app.settings.undo_seconds + 1)
        await run.see("5 changes queued", "○ offline")

    async with stage.play(start="comments") as run:
        await run.later(minutes=5)
        await run.until(lambda: not run.app.session.outbox.entries, "send the waiting writes")
        sent = run.gate.sent(comments.CreateReply)
        written = ["First from the plane.", "Second from the plane.", "Third from the plane."]
        assert [each.body.markdown for each in sent] == written, (
            "each reply must be sent once, in the order in which they were written"
        )
        assert [each.resolved for each in run.gate.sent(comments.Update)] == [True, True]
        op = comments.ListReplies(at=sent[0].at, comment_id=sent[0].comment_id, format="markdown", limit=1000)
        replies = [each.body.text for each in (await run.ask(op, MARA)).items]
        assert [each for each in replies if "from the plane" in each] == written


@pytest.mark.before_release
async def test_empty_tab_of_the_cached_inbox_is_no_error_offline(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.quit()
    async with stage.play(over=unused_port, start="inbox") as run:
        await run.see("Offline. Last updated")
        await run.press("[", "[")
        await run.see("No snoozed items.")
        assert "Could not load" not in run.text


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("view", "words", "size"), [("inbox", "17 of 17", (120, 36)), ("comments", "Open 72", (80, 24))]
)
async def test_cached_rows_are_shown_with_their_age(stage: Stage, view: str, words: str, size: tuple[int, int]) -> None:
    async with stage.play(start=view, size=size) as run:
        await run.see(words)
        await run.quit()
    stage.clock.forward(hours=2)
    async with stage.play(over=unused_port, start=view, size=size) as run:
        await run.see("Offline. Last updated at 09:00")
        stage.clock.forward(minutes=30)
        await run.press("r")
        await run.see("Offline. Last updated at 09:00")
        run.app._session = replace(run.app.session, kind="server")
        run.app.screen.query_one(TopBar).refresh()
        await run.see("○ offline")
        assert {"Inbox", "Content", "Changes", "Comments", "Sites", "Admin"} <= set(run.lines[0].split())
        assert "Could not load" not in run.text
        assert "loaded earlier" not in run.text


@pytest.mark.before_release
async def test_page_that_was_never_loaded_says_so_offline(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
    async with stage.play(over=unused_port) as run:
        await run.see("Harbour API › Welcome")
        run.app.screen.set_focus(run.app.screen.query_one("#page"))
        await run.press("J")
        await run.see("Could not load Quickstart", "Octavo has not loaded this before")


@pytest.mark.before_release
async def test_large_space_shows_its_size_and_asks_before_the_download(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.data.offline_spaces.MANY_PAGES", 30)
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run_command(run, "space.keep_offline")
        await run.see("Make Harbour API available offline?", "pages (about")
        await run.press("n")
        assert run.app.session.offline.all == ()


@pytest.mark.before_release
async def test_write_refreshes_an_offline_space_only_after_it_was_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await make_available_offline(run)
        before = len(run.gate.sent(spaces.Get))
        resolve = comments.Update(at=SpaceRef(space_id=HARBOUR), comment_id="t62", resolved=True)
        run.app.writes.queue(NewWrite(resolve, "resolve the thread"), message="Resolved the thread.")
        await run.until(lambda: bool(run.app.session.outbox.entries), "queue the write")
        await run.settle()
        assert len(run.gate.sent(spaces.Get)) == before, "the server does not know the write yet"
        await run.later(seconds=run.app.settings.undo_seconds + 1)
        await run.until(lambda: not run.app.session.outbox.entries, "send the write")
        await run.settle()
        assert len(run.gate.sent(spaces.Get)) - before <= 1
