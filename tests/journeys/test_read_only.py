"""In read-only mode, the app sends no writes, and every key that would write says why it is disabled."""

from __future__ import annotations

import pytest
from textual.screen import Screen

from octavo.api.operation import SPECS, Listing
from octavo.cli.standard_streams import READ_ONLY
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.widgets.commands import Command, HasCommands, active_commands
from tests.journeys.stage import Run, Stage

VIEWS = {
    "the inbox": ("inbox", (), "REVIEW REQUESTED"),
    "a thread in the inbox": ("inbox", ("/", *"4 mm for", "enter"), "1 of 17"),
    "a page": ("content", ("j", "j", "enter"), "› Quickstart"),
    "a thread on a page": ("content", ("j", "j", "enter", "t"), "THREADS  2 open"),
    "change requests": ("changes", ("/", *"refused", "enter"), "▌ ◐ #7"),
    "a change request": ("changes", ("/", *"refused", "enter", "enter", "enter"), "0 of 2 viewed"),
    "sites": ("sites", (), "SITE"),
    "an organization": ("admin", (), "EMAIL"),
    "members": ("admin", (), "Members · 306"),
    "site structure": ("sites", ("enter", "enter"), "Saltmarsh Docs › Structure · 4"),
    "threads": ("comments", ("/", *"09:06", "enter"), "Elisa Moretti"),
}
"""Views and the keys that open them."""
FULLY_TESTED = ("a thread in the inbox", "a page", "a change request", "an organization")
"""Views in which every run tries all other keys too. The remaining views have the same commands."""
_LEAVES = frozenset({"app.quit", "app.back", "app.suspend", "view.back", "view.forward", "app.act_as"})
_TERMINAL = ("open_browser", "link_hints", "help", "palette", "theme", "activity", "search", "organization", "filter")


def writing_commands() -> dict[str, Command[object]]:
    """Return every command that declares that it writes, by id."""
    places: tuple[type, ...] = (Octavo, *KEYMAP_CONTEXTS)
    found = [each._commands_by_id for each in places if issubclass(each, HasCommands)]
    return {id: command for commands in found for id, (_, command) in commands.items() if command.writes}


@pytest.mark.before_release(
    "a change request", "a thread in the inbox", "a thread on a page", "an organization", "members"
)
@pytest.mark.parametrize("place", VIEWS)
async def test_read_only_mode_disables_all_writing_keys_with_a_reason(stage: Stage, place: str) -> None:
    start, keys, seen = VIEWS[place]
    async with stage.play(start=start, read_only=READ_ONLY) as run:
        await run.press(*keys)
        await run.see(seen, "read-only")
        writing, before = writing_commands(), run.app.screen
        here = [each for each in active_commands(before) if each.id in writing]
        assert len(here) >= 2, f"{place} must have at least two commands that write"
        disabled = [each for each in here if each.reason == READ_ONLY]
        assert len(disabled) >= 2
        for each in here:
            if each.is_enabled and callable(writing[each.id].writes):
                continue  # A callable means that only some uses write.
            assert not each.is_enabled, f"{each.id} must be disabled"
            await each.run()
            await run.settle()
            assert run.app.screen is before, f"{each.id} must not open a screen"
        assert READ_ONLY in run.said
        if place == "a thread in the inbox":
            assert "inbox.resolve" in {each.id for each in disabled}
        if place in FULLY_TESTED:
            await run_other_commands(run, before)
        check_nothing_written(run)


@pytest.mark.long
@pytest.mark.parametrize("place", [each for each in VIEWS if each not in FULLY_TESTED])
async def test_other_keys_in_read_only_mode_send_no_writes(stage: Stage, place: str) -> None:
    start, keys, seen = VIEWS[place]
    async with stage.play(start=start, read_only=READ_ONLY) as run:
        await run.press(*keys)
        await run.see(seen, "read-only")
        await run_other_commands(run, run.app.screen)
        check_nothing_written(run)


async def run_other_commands(run: Run, view: Screen[object]) -> None:
    """Run every other command that is enabled here, and confirm every dialog."""
    ids = [each.id for each in active_commands(view) if each.is_enabled]
    for id in ids:
        if id in _LEAVES or id.endswith(_TERMINAL) or id.startswith(("pane.", "view.", "list.", "tree.")):
            continue
        now = {each.id: each for each in active_commands(run.app.screen)}
        if id in now and now[id].is_enabled:
            await now[id].run()
            await run.settle()
        for key in ("enter", "y", "ctrl+s"):
            if run.app.screen is not view:
                await run.press(key)
        check_nothing_written(run, id)
        for _ in range(4):
            if run.app.screen is not view:
                await run.press("escape")
        if run.app.screen is not view:
            return


def check_nothing_written(run: Run, id: str = "") -> None:
    """Fail if a write was sent or queued."""
    tried = [
        SPECS[type(op)].name
        for op in run.gate.passed
        if SPECS[type(op)].method != "GET" and not isinstance(op, Listing)
    ]
    assert not tried, f"{id} must not send {tried}"
    assert not run.app.session.outbox.entries
    assert not [said for said in run.said if said != READ_ONLY and READ_ONLY in said], (
        f"{id} must be declared as a command that writes"
    )


async def test_writes_queued_before_read_only_mode_stay_queued(stage: Stage) -> None:
    async with stage.play(start="comments", shut=True) as run:
        run.gate.open()
        await run.settle()
        await run.press("d")
        entries = run.app.session.outbox.entries
        assert len(entries) == 1
        run.gate.shut()
    async with stage.play(start="comments", read_only=READ_ONLY) as run:
        await run.later(minutes=1)
        assert [each.id for each in run.app.session.outbox.entries] == [each.id for each in entries]
        written_ops = [op for op in run.gate.passed if SPECS[type(op)].method != "GET" and not isinstance(op, Listing)]
        assert not written_ops
        await run.see("1 change queued")
    async with stage.play(start="comments") as run:
        await run.sent()
        assert [op for op in run.gate.passed if SPECS[type(op)].method != "GET" and not isinstance(op, Listing)]
