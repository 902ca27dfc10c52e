from __future__ import annotations

import csv
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from octavo import settings, tui
from octavo.help import text_of
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.review.conflicts import DraftConflictsScreen
from octavo.tui.widgets.chooser import Chooser
from octavo.tui.widgets.commands import own_bindings
from octavo.tui.widgets.dialog import Dialog, DialogFrame, TextButton
from octavo.tui.widgets.text_inputs import FilterInput, SecretInput
from tests.journeys.stage import Stage
from tests.key_binding_checks import binding_faults, keys_as_markdown

KEYMAP = Path(__file__).parent / "keymap.tsv"
"""The key map: a row for each context and key, with the ids of the commands."""
CLASSES_WITH_KEYS: tuple[type[DOMNode], ...] = (Octavo, *KEYMAP_CONTEXTS, Chooser, FilterInput)


def test_every_binding_has_an_id_a_label_and_a_description() -> None:
    assert binding_faults(CLASSES_WITH_KEYS) == []


def test_each_command_id_belongs_to_one_command() -> None:
    actions: defaultdict[str, set[str]] = defaultdict(set)
    for place in CLASSES_WITH_KEYS:
        for binding in own_bindings(place):
            actions[binding.id or ""].add(f"{binding.action} {binding.description}")
    shared = {"list.previous_section", "list.next_section", "list.mine"}
    assert {id for id, does in actions.items() if len(does) > 1} <= shared


def test_keys_match_the_key_map() -> None:
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for place in CLASSES_WITH_KEYS:
        for binding in own_bindings(place):
            keys[binding.id or ""].add(binding.key)
    rows = list(csv.DictReader(KEYMAP.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    for row in rows:
        known = {binding.key for binding in Binding.make_bindings([Binding(row["keys"], "")])}
        bound = set().union(*(keys[id] for id in row["ids"].split()))
        assert known <= bound, f"{row['context']}: {row['keys']} must run {row['ids']}, which has the keys {bound}"
    only_in_palette = {id for id, bound in keys.items() if all(key.startswith("palette.") for key in bound)}
    listed = {id for row in rows for id in row["ids"].split()}
    assert not keys.keys() - only_in_palette - listed, "add these commands to tests/journeys/keymap.tsv"
    assert not listed - keys.keys(), "delete these commands from tests/journeys/keymap.tsv"


def test_every_class_with_keys_is_in_the_key_map() -> None:
    input_widgets = {SecretInput, TextButton}
    modules = [each.name for each in walk_packages(tui.__path__, "octavo.tui.") if "__main__" not in each.name]
    places = {
        each
        for module in map(import_module, modules)
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and list(own_bindings(each))
    }
    # The draft conflicts screen inherits its keys from the conflicts screen and only names the sides differently.
    assert places - input_widgets - {DraftConflictsScreen} <= set(CLASSES_WITH_KEYS)


def test_help_topic_of_the_keys_lists_every_key() -> None:
    assert keys_as_markdown([Octavo, *KEYMAP_CONTEXTS]) in text_of("keys")


@pytest.mark.before_release(
    "archived change request",
    "comment of another member",
    "merged change request",
    "open change request",
    "open in its view",
    "own comment",
    "request",
    "resolved thread",
    "row of a change request",
    "row of a thread",
)
@pytest.mark.parametrize(
    ("start", "keys", "seen", "offered", "left_out"),
    [
        pytest.param("inbox", (), "#7  Show", ("d done", "a approve"), ("c reply", "R resolve"), id="row of a change request"),
        pytest.param("inbox", ("]", "]", "]"), "11 of 11", ("c reply", "R resolve"), ("a approve", "m merge"), id="row of a thread"),
        pytest.param("comments", ("]", "]"), "17 of 17", ("d reopen",), ("d resolve",), id="resolved thread"),
        pytest.param("comments", (), "72 of 72", ("d resolve",), ("d reopen",), id="open thread"),
        pytest.param("comments", ("enter",), "72 of 72", ("c reply",), ("e edit",), id="comment of another member"),
        pytest.param("comments", ("]", "enter"), "3 of 3", ("e edit comment",), (), id="own comment"),
        pytest.param("changes", ("j",), "7 of 7", ("a approve", "m merge"), ("Z revert",), id="open change request"),
        pytest.param("changes", ("]", "]"), "4 of 4", ("Z revert merge",), ("a approve", "m merge"), id="merged change request"),
        pytest.param("changes", ("]", "]", "]"), "1 of 1", (), ("a approve", "m merge", "Z revert"), id="archived change request"),
        pytest.param("changes", ("]", "]", "enter"), "Merged by", ("Z revert merge",), ("a approve", "m merge"), id="open in its view"),
        pytest.param("changes", ("!",), "API REQUESTS", ("esc close",), ("r retry", "X discard", "x select", "u undo"), id="request"),
    ],
)  # fmt: skip
async def test_key_bar_offers_only_applicable_commands(
    stage: Stage, start: str, keys: tuple[str, ...], seen: str, offered: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    async with stage.play(start=start, size=(200, 60)) as run:
        await run.see("7 of 7" if start == "changes" else "72 of 72" if start == "comments" else "17 of 17")
        await run.press(*keys)
        await run.see(seen)
        await run.until(
            lambda: (
                all(each in run.keybar for each in offered) and not any(f" {each}" in run.keybar for each in left_out)
            ),
            f"show {offered} and hide {left_out}: {run.keybar}",
        )


@pytest.mark.before_release("keys1", "keys2", "keys3", "keys4")
@pytest.mark.parametrize("keys", [("a",), ("A",), ("E",), ("ctrl+n",), ("C",)])
async def test_dialog_that_keeps_its_text_shows_close_and_not_cancel(stage: Stage, keys: tuple[str, ...]) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press(*keys)
        await run.see("esc close")
        assert "ancel" not in run.text
        assert run.text.count("esc close") == 1
        assert "eep draft" not in run.text, "the text is not a draft change request"
        await run.type("x")
        await run.see("draft", "clear the text to discard it")


@pytest.mark.before_release
async def test_settings_assign_keys_to_other_commands(stage: Stage) -> None:
    keys = {"change.merge": "ctrl+g", "view.inbox": "9", "change.approve": "L"}
    problems = ("keys.no.such is not a command ID.",)
    async with stage.play(start="changes", keys=keys, problems=problems) as run:
        await run.hear("2 settings are invalid. Press ! to list them. First problem: keys.no.such is not a command ID")
        await run.press("!")
        await run.see("INVALID SETTINGS")
        await run.press("j")
        await run.see("keys.change.approve cannot use L: change.archive already uses this key.")
        await run.press("escape")
        await run.press("m")
        assert "Merge #2" not in run.text
        await run.press("ctrl+g")
        await run.see("Merge #2 into Handbook?")
        await run.press("escape", "9")
        await run.see("REVIEW REQUESTED")


@pytest.mark.before_release
async def test_problem_in_the_settings_is_reported(stage: Stage) -> None:
    async with stage.play(problems=("undo_seconds in config.toml must be a number of seconds from 0 to 30.",)) as run:
        await run.hear("undo_seconds in config.toml must be a number of seconds from 0 to 30.")


@pytest.mark.before_release
async def test_unknown_theme_is_reported_with_its_place_and_a_suggestion(stage: Stage) -> None:
    path = stage.folder / "config" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text('undo_seconds = 0\ntheme = "drak"\n')
    named = settings.read(
        {f"OCTAVO_{name}_DIR": str(stage.folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    )
    async with stage.play(problems=named.problems) as run:
        await run.hear(
            f"{path}, line 2: theme is 'drak', which is not a theme. Did you mean dark? The available themes are dark,"
        )


@pytest.mark.before_release("60x12")
@pytest.mark.parametrize(
    "size",
    # Ordinary runs use only the smallest size, because larger terminals have more space.
    [
        pytest.param((120, 36), marks=pytest.mark.long),
        pytest.param((80, 24), marks=pytest.mark.long),
        pytest.param((60, 20), marks=pytest.mark.long),
        (60, 12),
    ],
    ids=lambda size: f"{size[0]}x{size[1]}",
)
async def test_key_bar_of_a_dialog_shows_each_key_once(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await run.see("Open 7")
        for keys, expected in (
            (["?"], "esc close"),
            ([":"], "esc close"),
            (["s"], "esc close"),
            (["ctrl+n"], "esc close"),
            (["m"], "y merge  n cancel"),
            (["j", "j", "j", "j", "U"], "y update  n cancel"),
            (["L"], "y archive  n cancel"),
            (["C"], "ctrl+r preview  @ mention  esc close"),
            (["enter", "V"], "esc close"),
        ):
            await run.press(*keys)
            await run.until(lambda: isinstance(run.app.screen, Dialog), f"open the dialog of {keys[-1]}")
            assert run.keybar.startswith(f" {expected}"), run.keybar
            box = run.app.screen.query_one(DialogFrame)
            assert box.region.bottom < size[1], f"{keys[-1]}: the frame must end above the key bar"
            assert not box.foot or box.foot in " ".join(run.lines[box.region.bottom - 1].split()), (
                f"{keys[-1]}: the text in the lower border must be complete"
            )
            await run.press("escape")
            await run.until(lambda: not isinstance(run.app.screen, Dialog), "close the dialog")


@pytest.mark.before_release
async def test_key_bar_names_the_destination_of_esc(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter")
        await run.see("esc pages")
        await run.press("O")
        await run.see("esc page")
        await run.press("escape")
        await run.see("esc pages")
        await run.press("escape")
        await run.see("esc spaces")
