from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from octavo.tui.commands import clashes, faults, own_bindings
from octavo.tui.places import PLACES
from octavo.tui.screens.chooser import Chooser
from octavo.tui.widgets.filter import FilterInput
from tests.journeys.stage import Run, Stage
from tests.journeys.test_pictures import go
from tests.journeys.tours import TOURS

KEYMAP = Path(__file__).parent / "keymap.tsv"
"""The keys people were promised, and the ids of what they do: one row for each."""
ALL: tuple[type[DOMNode], ...] = (*PLACES, Chooser, FilterInput)


def test_every_binding_has_an_id_a_name_and_a_sentence() -> None:
    assert faults(ALL) == []


def test_an_id_is_one_command() -> None:
    actions: defaultdict[str, set[str]] = defaultdict(set)
    for place in ALL:
        for binding in own_bindings(place):
            actions[binding.id or ""].add(f"{binding.action} {binding.description}")
    shared = {"list.previous_section", "list.next_section", "list.mine"}
    assert {id for id, does in actions.items() if len(does) > 1} <= shared


def test_keys_are_those_people_were_promised() -> None:
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for place in ALL:
        for binding in own_bindings(place):
            keys[binding.id or ""].add(binding.key)
    rows = list(csv.DictReader(KEYMAP.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    assert len(rows) > 140
    for row in rows:
        promised = {binding.key for binding in Binding.make_bindings([Binding(row["keys"], "")])}
        bound = set().union(*(keys[id] for id in row["ids"].split()))
        assert promised <= bound, f"{row['context']}: {row['keys']} is not {row['ids']}, which is {bound}"


@pytest.mark.parametrize("tour", TOURS)
async def test_no_key_means_two_things_anywhere(stage: Stage, tour: str) -> None:
    start = tour if tour != "talking" else "content"
    async with stage.play(start=start) as run:
        for stop in TOURS[tour]:
            await go(run, stop)
            assert clashes(run.app.screen) == [], stop.name
            assert doubles(run) == [], stop.name


def doubles(run: Run) -> list[str]:
    """Keys that one place binds to two commands."""
    places = {active.node for active in run.app.screen.active_bindings.values()}
    return [
        f"{type(place).__name__}: {key} is {' and '.join(sorted(ids))}"
        for place in places
        for key, bindings in place._bindings.key_to_bindings.items()
        if len(ids := {binding.id or binding.action for binding in bindings}) > 1
        # From the list of its pages, C is about the change request as a whole.
        and ids != {"change.comment", "comment.page"}
    ]


async def test_keys_can_be_given_to_other_commands(stage: Stage) -> None:
    keys = {"change.merge": "ctrl+g", "view.home": "5", "no.such": "x", "change.approve": "A"}
    async with stage.play(start="changes", keys=keys) as run:
        await run.hear("The key map names no.such, which is no command of this version.")
        await run.hear("The key map gives A to change.approve, but it is the key of change.ask.")
        await run.press("m")
        assert "Merge #2" not in run.text
        await run.press("ctrl+g")
        await run.see("Merge #2 into Handbook?")
        await run.press("escape", "5")
        await run.see("SPACES OF SALTMARSH INSTRUMENTS")


async def test_what_is_wrong_in_the_settings_is_said(stage: Stage) -> None:
    async with stage.play(problems=("undo_seconds in config.toml is not a number of seconds from 0 to 30.",)) as run:
        await run.hear("undo_seconds in config.toml is not a number of seconds from 0 to 30.")
