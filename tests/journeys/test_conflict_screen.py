"""The conflict screen shows both sides at every size, its keys choose a version, and the saved result is exact."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from octavo.api import change_requests, content
from octavo.api.content import DeletePage, UpdatePage
from octavo.data.state_db import StateDb
from octavo.tui.reader.three_way_view import ThreeWayView
from tests.journeys.request_scenario import HARBOUR, RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_change_request
from tests.journeys.test_typed_ahead import send_keys

STORES = """\
# Stores

Open on Mondays.

Ask the owner for the key, and bring it back before noon.

## Cold room

Four degrees.
"""
YARD = "# Yard\n\nBehind the house.\n"


async def make_four_conflicts(run: Run) -> RequestScenario:
    """Show the conflicts of two pages that main and a change request both changed: three conflicts on the first page, one on
    the second."""
    scenario = RequestScenario(run)
    await scenario.publish(add_page(STORES), add_page(YARD), subject="Write down the stores")
    stores, yard = (await scenario.page("Stores")).id, (await scenario.page("Yard")).id
    await scenario.propose(
        edit_page(stores, _stores_text("Tuesdays", "dusk", "Five", STORES)),
        edit_page(yard, YARD.replace("house", "barn")),
    )
    number = scenario.number
    await scenario.publish(
        edit_page(stores, _stores_text("Fridays", "night", "Six", STORES)),
        edit_page(yard, YARD.replace("house", "quay")),
    )
    scenario.number = number
    await scenario.open()
    await scenario.update()
    await run.see("0 of 4 resolved")
    return scenario


def _stores_text(day: str, hour: str, degrees: str, text: str) -> str:
    return text.replace("Mondays", day).replace("noon", hour).replace("Four", degrees)


async def test_preview_saves_only_its_page(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = await make_four_conflicts(run)
        await run.see("Conflict 1 of 3")
        for resolved in range(1, 5):
            await run.press("t")
            await run.see(f"{resolved} of 4 resolved")
        await run.press("K")
        await run.see("conflict 1 of 3")
        await run.press("p")
        await run.see("PREVIEW", "press ctrl+s to save the page")
        await run.press("ctrl+s")
        await run.hear(f"Resolved 3 conflicts in #{scenario.number}.")
        await run.see("1 of 1 resolved")


async def test_keys_at_the_first_and_last_conflict_say_that_there_is_no_other(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.see("Conflict 1 of 3")
        await run.press("K")
        await run.hear("This is the first page with conflicts.")
        await run.press("J")
        await run.see("Conflict 1 of 1")
        await run.press("n")
        await run.hear("This is the last page with conflicts.")


@pytest.mark.before_release
async def test_choice_moves_to_the_next_unresolved_conflict(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = await make_four_conflicts(run)
        await run.see("Conflict 1 of 3", "Not resolved yet. m main")
        await run.press("t")
        await run.see("1 of 4 resolved", "conflict 2 of 3")
        await run.press("m")
        await run.see("2 of 4 resolved", "conflict 3 of 3")
        await run.press("N", "N")
        await run.see("conflict 1 of 3", "✓ This change request chosen")
        await run.press("t")
        await run.see("1 of 4 resolved", "conflict 1 of 3")
        await run.press("b")
        await run.see("2 of 4 resolved", "conflict 3 of 3")
        await run.press("t")
        await run.see("3 of 4 resolved", "conflict 1 of 1", "quay", "barn")
        await run.press("K")
        await run.see("conflict 1 of 3", "✓ Both chosen")
        await run.press("J")
        await run.press("m")
        await run.see("4 of 4 resolved", "conflict 1 of 1", "All conflicts are resolved.", "press ctrl+s to save")
        await scenario.send()
        await scenario.merge()
        live = await scenario.text("Stores")
        assert live == _stores_text("Fridays", "night", "Five", STORES).replace(
            "Fridays.\n", "Fridays.\n\nOpen on Tuesdays.\n"
        )
        assert await scenario.text("Yard") == YARD.replace("house", "quay")


async def test_keys_typed_before_the_next_page_is_shown_act_on_its_conflict(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.see("Conflict 1 of 3")
        await run.press("t", "t")
        await run.see("2 of 4 resolved", "conflict 3 of 3")
        await send_keys(run, "t", "m", "p")
        await run.see("Preview of Yard", "version that it is compared with are identical")
        await run.press("escape")
        await run.see("4 of 4 resolved")
        assert "No conflict is selected." not in run.said
        await send_keys(run, "K", "N", "N", "b", "J", "t")
        await run.see("4 of 4 resolved", "conflict 1 of 1", "✓ This change request chosen")
        await run.press("K", "N", "N")
        await run.see("✓ Both chosen")


async def test_choice_made_while_others_are_saved_is_kept(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.press("J", "t")
        await run.see("1 of 4 resolved")
        run.gate.shut(content.Edit)
        await run.press("ctrl+s", "escape", "R")
        await run.see("1 of 4 resolved", "Conflict 1 of 3")
        await run.press("t")
        await run.see("2 of 4 resolved")
        run.gate.open()
        await run.hear("Resolved 1 conflict in #")
        await run.press("u")
        await run.hear("You cannot undo this save by pressing u. To change the text, select the page and press e.")
        await run.press("escape", "R")
        await run.see("1 of 3 resolved")


@pytest.mark.before_release
async def test_refused_update_keeps_what_is_known_about_the_last_update(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = await make_four_conflicts(run)
        await run.press("escape")
        state, number = run.app.session.state, scenario.number
        fact = f"update {run.gate.sent(change_requests.UpdateFromMain)[0].at.change_request_id}"
        known = state.get_value(fact)
        assert known["conflicts"]
        await scenario.publish(add_page("# Barn\n\nNew.\n"))
        scenario.number = number
        await run.press("r")
        await run.see("✗ outdated")
        run.platform.refuse_next(change_requests.UpdateFromMain, 403, "Locked by the owner.")
        await scenario.update()
        await run.hear("Locked by the owner.")
        assert state.get_value(fact) == known


async def test_choices_stored_by_an_earlier_version_are_kept(stage: Stage) -> None:
    """An earlier version stored the choice of the change request as `this`."""
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.press("t")
        await run.see("1 of 4 resolved")
        await run.press("escape")
        state = run.app.session.state
        fact = f"conflicts {run.gate.sent(change_requests.UpdateFromMain)[0].at.change_request_id}"
        stored = state.get_value(fact)
        assert list(stored["choices"].values()) == ["request"]
        state.set_value(fact, {**stored, "choices": dict.fromkeys(stored["choices"], "this")})
        await run.press("R")
        await run.see("1 of 4 resolved")
        await run.press("enter", "N")
        await run.see("✓ This change request chosen")


async def test_choices_of_another_instance_are_kept(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.press("t")
        await run.see("1 of 4 resolved")
        own_state = run.app.session.state
        own_state.write_now(lambda db: None)  # Waits until the first choice is on disk, too.
        fact = f"conflicts {run.gate.sent(change_requests.UpdateFromMain)[0].at.change_request_id}"
        other_state = StateDb(run.app.settings.state_folder, own_state.namespace)
        other_state.change_value(fact, lambda stored: {**stored, "choices": {**stored["choices"], "other": "main"}})
        other_state.close()
        await run.press("t")
        await run.see("2 of 4 resolved")
        own_state.write_now(lambda db: None)
        assert own_state.get_value(fact)["choices"].keys() > {"other"}


@pytest.mark.before_release
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_count_and_labels_are_shown_at_every_size(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await make_four_conflicts(run)
        await run.press("enter")
        await run.see("0 of 4 resolved", "Result", "Not resolved yet.", "Base")
        assert run.text.index("Result") < run.text.index("Base")
        await run.press("t", "t")
        await run.see("2 of 4 resolved")
        await run.press("escape")
        await run.see("2 of 4 resolved")
        await run.press("enter", "p")
        await run.see("PREVIEW")
        await run.press("p")
        await run.see("2 of 4 resolved")


VERSIONS = ("Old", "Live", "Proposed")


def _long_page(version: str, count: int) -> str:
    """Return a page with many paragraphs. The paragraphs of each version differ from those of the other versions."""
    return "# Stores\n\n" + "\n\n".join(f"{version}{number}." for number in range(count)) + "\n"


def _conflict_lines(run: Run) -> list[str]:
    galley = run.app.screen.query_one(ThreeWayView).viewport.virtual_lines
    return [line.text for chunk in range(len(galley)) for line in galley.lines(chunk)]


@pytest.mark.before_release
async def test_every_line_of_long_sides_is_reached_at_80x24(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        scenario = RequestScenario(run)
        await scenario.change_page(
            *(_long_page(version, count) for version, count in zip(VERSIONS, (60, 50, 40), strict=True))
        )
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved")
        await run.press("w")
        await run.hear("Both sides changed the same words, so Octavo has no suggestion.")
        await run.press("enter")
        seen: set[str] = set()
        for _ in range(60):
            seen.update(line.partition("│")[2].strip("│▌+ ▁▂▃▄▅▆▇█") for line in run.lines[4:-3])
            await run.press("ctrl+d")
        assert {f"{version}{number}." for version in VERSIONS for number in range(40)} <= seen


@pytest.mark.before_release
async def test_truncated_side_says_how_many_lines_are_not_shown(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.change_page(*(_long_page(version, 400) for version in VERSIONS))
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved")
        assert len([line for line in _conflict_lines(run) if "more lines are not shown. Press e" in line]) == 3


async def test_suggested_merge_is_the_result_until_a_side_is_chosen(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main, mine = STORES.replace("the owner", "the harbour master"), STORES.replace("noon", "dusk")
        await scenario.change_page(STORES, main, mine)
        await scenario.open()
        await scenario.update()
        await run.hear("1 paragraph was merged word by word. Press R to check")
        await run.press("R")
        await run.see("1 of 1 resolved", "suggested", "Suggested: merged word by word. Check the result.")
        await run.press("ctrl+s")
        await run.hear("Nothing to save: this change request already contains the suggested text.")
        await run.press("t")
        await run.see("✓ This change request chosen")
        await run.press("t")
        await run.see("Suggested: merged word by word. Check the result.")
        await run.press("w")
        await run.see("✓ Suggestion accepted", "All conflicts are resolved.")
        await run.press("ctrl+s")
        await run.hear("Nothing to save: this change request already has the versions you chose.")
        await scenario.merge()
        assert await scenario.text("Stores") == main.replace("noon", "dusk")


async def test_main_replaces_a_suggestion(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main, mine = STORES.replace("the owner", "the harbour master"), STORES.replace("noon", "dusk")
        await scenario.change_page(STORES, main, mine + "\nMore.\n")
        await scenario.open()
        await scenario.update()
        await run.press("R")
        await run.see("Suggested: merged word by word.")
        await run.press("m")
        shown = await scenario.preview()
        await scenario.send()
        await scenario.merge()
        assert await scenario.text("Stores") == shown == main + "\nMore.\n"


@pytest.mark.before_release
@pytest.mark.parametrize("has_heading", [True, False])
async def test_preview_of_a_title_conflict_shows_both_titles(stage: Stage, has_heading: bool) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(YARD), subject="Write down the stores")
        yard = (await scenario.page("Yard")).id
        if not has_heading:
            await scenario.publish(edit_page(yard, "Behind the house.\n"))
        await scenario.propose(UpdatePage(page=yard, title="Court"))
        number = scenario.number
        await scenario.publish(UpdatePage(page=yard, title="Garden"))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved", "Yard", "Garden", "Court")
        assert "Unknown." not in run.text
        await run.press("m", "p")
        await run.see("PREVIEW", "press ctrl+s to save the page")
        assert "page title" not in run.text
        await run.press("p", "t", "p")
        await run.see("PREVIEW", "page title: Garden → Court")
        await run.press("p")
        await scenario.send()
        await scenario.merge()
        assert (await scenario.page("Court")).id == yard


@pytest.mark.before_release
async def test_preview_of_a_description_conflict_shows_both_descriptions(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(YARD), subject="Write down the stores")
        yard = (await scenario.page("Yard")).id
        await scenario.propose(UpdatePage(page=yard, description="Where *things* are"))
        number = scenario.number
        await scenario.publish(UpdatePage(page=yard, description="What there is"))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved", "description: What there is")
        await run.press("p")
        await run.see("PREVIEW", "page description: What there is → not resolved", "Resolve all conflicts on this page")
        assert "✗ Conflict" not in run.text
        await run.press("p", "t", "p")
        await run.see(
            "PREVIEW", "page description: What there is → Where *things* are", "press ctrl+s to save the page"
        )
        await run.press("ctrl+s")
        await run.hear(f"Resolved 1 conflict in #{number}.")
        await scenario.merge()
        assert (await scenario.page("Yard")).description == "Where *things* are"
        assert await scenario.text("Yard") == YARD


@pytest.mark.before_release("mt-Court")
@pytest.mark.parametrize(("keys", "title"), [("tm", "Garden"), ("mt", "Court")])
async def test_title_conflict_includes_the_heading_but_not_the_description(stage: Stage, keys: str, title: str) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(YARD), subject="Write down the stores")
        yard = (await scenario.page("Yard")).id
        await scenario.propose(UpdatePage(page=yard, title="Court", description="A"))
        number = scenario.number
        await scenario.publish(UpdatePage(page=yard, title="Garden", description="B"))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 2 resolved", "description: A", "description: B")
        assert "title:" not in run.text
        await run.press(*keys)
        await run.see("2 of 2 resolved")
        await scenario.send()
        at = run.gate.sent(change_requests.UpdateFromMain)[0].at
        await run.ask(change_requests.Merge(at=at), MARA)
        page = await scenario.page(title)
        assert (page.id, page.description) == (yard, "A" if keys[0] == "t" else "B")
        assert (await scenario.text(title)).startswith(f"# {title}\n")


@pytest.mark.before_release
async def test_preview_of_a_moved_page_shows_both_places(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(STORES), add_page(YARD), add_page("# Barn\n\nDry.\n"), subject="Write it down")
        stores, yard, barn = [(await scenario.page(title)).id for title in ("Stores", "Yard", "Barn")]
        await scenario.propose(UpdatePage(page=stores, into=barn, at=0))
        number = scenario.number
        await scenario.publish(UpdatePage(page=stores, into=yard, at=0))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("Both sides moved this page to different places.", "Text of the page", "Open on Mondays.")
        await run.press("t", "p")
        await run.see("PREVIEW", "page place: under “Yard”, in position 1 → under “Barn”, in position 1")
        await run.press("p")
        await scenario.send()
        await scenario.merge()
        assert [page.id for page in (await scenario.page("Barn")).pages] == [stores]


@pytest.mark.parametrize("key", ["m", "t"])
async def test_page_deleted_on_one_side_and_edited_on_the_other_is_one_conflict(stage: Stage, key: str) -> None:
    """Main deletes the stores, and the change request deletes the barns. Both pages have a subpage."""
    barns = STORES.replace("# Stores", "# Barns")
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(STORES), add_page(barns), subject="Write down the stores")
        store, barn = (await scenario.page("Stores")).id, (await scenario.page("Barns")).id
        await scenario.publish(add_page(YARD, into=store), add_page(YARD, into=barn))
        edited_store, edited_barn = (
            text.replace("noon", "dusk").replace("Mondays", "Fridays") for text in (STORES, barns)
        )
        await scenario.propose(edit_page(store, edited_store), DeletePage(page=barn))
        number = scenario.number
        await scenario.publish(DeletePage(page=store), edit_page(barn, edited_barn))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        for done, gone_in in enumerate(("request", "main")):
            await run.see(f"{done} of 2 resolved", "Text of the page", "Open on Fridays.", "Not resolved yet. m main")
            await run.see("Delete the page")
            assert "Its 1 subpage will stay deleted." in " ".join(run.text.replace("│▌", "").split())
            is_kept = (gone_in, key) in (("main", "t"), ("request", "m"))
            await run.press(key)
            await run.see(f"{done + 1} of 2 resolved")
            if not done:
                await run.press("K")
            await run.press("p")
            if gone_in == "main" and not is_kept:
                await run.see("PREVIEW", "The resolved page and the version that it is compared with are identical.")
            else:
                main_state, result = "deleted" if gone_in == "main" else "in main", "kept" if is_kept else "deleted"
                await run.see("PREVIEW", f"page: {main_state} → {result}")
            await run.press("p")
            if not done:
                await run.press("J")
        await run.press("ctrl+s")
        await run.until(lambda: "Conflicts" not in run.lines[-2], "close the list of conflicts")
        if key == "t":
            await run.press("m")
            await run.see("This change request deletes 2 pages")
            await run.press(*str(number), "enter")
            await run.hear(f"Merged #{number}.")
        titles = [page.title for page in (await run.ask(content.ListPages(at=HARBOUR), MARA)).walk()]
        kept, other, text = ("Stores", "Barns", edited_store) if key == "t" else ("Barns", "Stores", edited_barn)
        assert (titles.count(kept), titles.count(other)) == (1, 0)
        assert await scenario.text(kept) == text


LIMITS = """\
## Limits

You may send ten requests a minute from one key.

Bursts of twenty are fine on weekdays.

"""
PAGE = f"# Rules\n\nRead them.\n\n{LIMITS}## End\n\nThat is all.\n"


@pytest.mark.before_release
async def test_conflict_links_to_the_page_where_main_moved_the_text(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(PAGE), subject="Write down the rules")
        rules = (await scenario.page("Rules")).id
        await scenario.propose(edit_page(rules, PAGE.replace("ten requests", "twelve requests")))
        number = scenario.number
        await scenario.publish(edit_page(rules, PAGE.replace(LIMITS, "")), add_page(LIMITS.replace("## ", "# ")))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved", "Moved to “Limits”. Press f to open that page.")
        await run.press("f")
        await run.see("Harbour API › Limits", "Bursts of twenty")
        await run.press("less_than_sign")
        await run.see("0 of 1 resolved")


@pytest.mark.before_release
async def test_failed_load_of_conflicts_can_be_retried(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await make_four_conflicts(run)
        await run.press("escape")
        run.platform.refuse_next(content.ListChanges, 500, "Out of order", times=9)
        await run.press("R")
        await run.see("Could not load the conflicts")
        run.accept()
        await run.press("r")
        await run.see("0 of 4 resolved")


@pytest.mark.before_release
async def test_choices_in_read_only_mode_are_not_saved(stage: Stage) -> None:
    async with stage.play(start="changes", read_only="Octavo was started with --read-only.") as run:
        scenario = RequestScenario(run)
        main, mine = STORES.replace("noon", "dusk"), STORES.replace("noon", "night")
        await scenario.publish(add_page(STORES), subject="Write down the stores")
        stores = (await scenario.page("Stores")).id
        at = await scenario.propose(edit_page(stores, mine))
        number = scenario.number
        await scenario.publish(edit_page(stores, main))
        await run.ask(change_requests.UpdateFromMain(at=at), MARA)
        scenario.number = number
        await scenario.open()
        await run.press("R")
        await run.see("0 of 1 resolved")
        await run.press("t")
        await run.see("1 of 1 resolved")
        await run.press("ctrl+s")
        await run.hear("Octavo was started with --read-only.")
        assert not run.gate.sent(content.Edit)


@pytest.mark.before_release
async def test_long_title_leaves_space_for_the_count(stage: Stage) -> None:
    async with stage.play(start="changes", size=(60, 20)) as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(STORES), subject="Write down the stores")
        stores = (await scenario.page("Stores")).id
        long = "Recount the stores " + "and everything that lies in them " * 2
        await scenario.propose(edit_page(stores, STORES.replace("noon", "night")), subject=long.strip())
        number = scenario.number
        await scenario.publish(edit_page(stores, STORES.replace("noon", "dusk")))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved")
        await run.press("enter", "m")
        await run.see("1 of 1 resolved", "press ctrl+s to save")


async def test_edit_resolves_the_conflict_and_moves_to_the_next_conflict(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    program = tmp_path / "editor"
    program.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[-1], 'w').write('Open every day.\\n')\n")
    program.chmod(0o755)
    async with stage.play(start="changes", editor=(str(program),)) as run:
        scenario = await make_four_conflicts(run)
        await run.press("e")
        await run.see("1 of 4 resolved", "conflict 2 of 3")
        await run.press("N")
        await run.see("✓ Edited", "+ Open every day.")
        for key in ("J", "m", "t", "t"):
            await run.press(key)
        await run.see("4 of 4 resolved")
        await scenario.send()
        await scenario.merge()
        assert await scenario.text("Stores") == _stores_text("", "dusk", "Five", STORES).replace(
            "Open on .", "Open every day."
        )


async def test_view_without_conflicts_shows_no_keys_that_resolve_them(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("R")
        await run.see("No conflicts.", "Press esc to go back.")
        assert "use main" not in run.keybar, run.keybar
        assert "save" not in run.keybar
        await run.press("m")
        await run.hear("No conflict is selected.")
