"""Resolved conflicts of six kinds are published exactly as chosen."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DeletePage, UpdatePage
from tests.journeys.request_scenario import HARBOUR, RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Stage


def unframed_text(screen: str) -> str:
    """Return the text of a dialog without its frame and line breaks."""
    return " ".join(screen.replace("│", " ").split())


TABLE = """\
# Stores

What we have, counted each Monday.

| Fruit | Crates |
| --- | --- |
| Apple | 1 |
| Banana | 2 |
| Cherry | 3 |
| Date | 4 |

Ask the owner.
"""


@pytest.mark.before_release
async def test_choice_for_a_table_row_changes_no_other_row(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main = TABLE.replace("Apple | 1", "Apple | 10").replace("Date | 4", "Date | 40")
        await scenario.change_page(TABLE, main, TABLE.replace("Apple | 1", "Apple | 100"))
        await scenario.open()
        await scenario.update()
        await run.see("Conflict 1 of 1", "Not resolved yet. m main")
        assert "unchanged" not in run.text
        await run.press("t")
        await run.see("✓ This change request chosen", "Result")
        shown = await scenario.preview()
        await scenario.send()
        dialog_text = await scenario.merge()
        assert "conflicts     none" in dialog_text.replace("✓", "")
        live = await scenario.text("Stores")
        assert live == shown == main.replace("Apple | 10", "Apple | 100")


@pytest.mark.before_release
async def test_edits_of_adjacent_table_rows_do_not_conflict(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main, mine = TABLE.replace("Apple | 1", "Apple | 10"), TABLE.replace("Banana | 2", "Banana | 20")
        await scenario.change_page(TABLE, main, mine)
        await scenario.open()
        await scenario.update()
        await run.hear(f"Updated #{scenario.number}.")
        await scenario.merge()
        assert await scenario.text("Stores") == main.replace("Banana | 2", "Banana | 20")


PAGE = """\
# Stores

Open on Mondays.

Ask the owner for the key, and bring it back before noon.

## Cold room

Four degrees.

* Fish
    * Herring
    * Sprat
* Ice

```sh
count --all
label --new
```
"""
KEY = "Ask the owner for the key, and bring it back before noon.\n\n"


@pytest.mark.before_release
async def test_block_moved_in_main_and_edited_here_gets_both_changes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main = PAGE.replace(KEY, "").replace("Four degrees.\n\n", f"Four degrees.\n\n{KEY}")
        await scenario.change_page(PAGE, main, PAGE.replace("before noon", "before dusk"))
        await scenario.open()
        await scenario.update()
        await run.hear(f"Updated #{scenario.number}.")
        await scenario.merge()
        assert await scenario.text("Stores") == main.replace("before noon", "before dusk")


@pytest.mark.before_release
async def test_block_moved_by_both_sides_goes_to_the_chosen_place(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        main = PAGE.replace(KEY, "").replace("Four degrees.\n\n", f"Four degrees.\n\n{KEY}")
        mine = PAGE.replace(KEY, "") + f"\n{KEY.rstrip()}\n"
        await scenario.change_page(PAGE, main, mine)
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved", "moved text · position in main", "position in base")
        await run.press("b")
        await run.hear("The text can be in only one place. Press m or t")
        await run.press("t")
        shown = await scenario.preview()
        await scenario.send()
        await scenario.merge()
        live = await scenario.text("Stores")
        assert live == shown
        assert live.split() == mine.split()


@pytest.mark.before_release("main-m", "main-t")
@pytest.mark.parametrize(
    ("gone_in", "key"),
    [
        ("main", "m"),
        ("main", "t"),
        # The next two cases swap the sides. `tests/documents/test_merge_choices.py` covers that for all texts.
        pytest.param("request", "m", marks=pytest.mark.long),
        pytest.param("request", "t", marks=pytest.mark.long),
    ],
)
async def test_block_deleted_by_one_side_shows_the_edit_of_the_other(stage: Stage, gone_in: str, key: str) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        scenario = RequestScenario(run)
        gone, edited = PAGE.replace(KEY, ""), PAGE.replace("before noon", "before dusk")
        sides = {"m": gone, "t": edited} if gone_in == "main" else {"m": edited, "t": gone}
        await scenario.change_page(PAGE, sides["m"], sides["t"])
        await scenario.open()
        await scenario.update()
        await run.see("Conflict 1 of 1  Stores", "before dusk", "before noon", "Deleted.", "Not resolved yet.")
        await run.press(key)
        await run.see("Result", "1 of 1 resolved")
        shown = await scenario.preview()
        await scenario.send()
        if key == "t":
            await scenario.merge()
        else:  # The choice of main leaves nothing to merge.
            await run.see("No changes yet.")
        assert await scenario.text("Stores") == shown == sides[key]


@pytest.mark.before_release
async def test_list_items_and_code_lines_are_separate_conflicts(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 60)) as run:
        scenario = RequestScenario(run)
        main = PAGE.replace("Herring", "Herring, salted").replace("count --all", "count --all --cold")
        main = main.replace("* Ice", "* Ice, crushed").replace("label --new", "label --old")
        mine = PAGE.replace("Herring", "Herring, fresh").replace("count --all", "count --each")
        mine = mine.replace("Sprat", "Sprat, smoked")
        await scenario.change_page(PAGE, main, mine)
        await scenario.open()
        await scenario.update()
        await run.see("Conflict 1 of 2 · list item", "Conflict 2 of 2 · line of code", "• Herring, salted")
        await run.see("merged from this change request", "Sprat, smoked")
        assert not [line for line in run.lines if "* " in line], "list items must not be shown as lines of code"
        await run.press("b", "down")
        await run.press("tab", "n", "t")
        await run.see("2 of 2 resolved")
        shown = await scenario.preview()
        await scenario.send()
        await scenario.merge()
        wanted = main.replace("* Herring, salted", "* Herring, salted\n    * Herring, fresh")
        wanted = wanted.replace("Sprat", "Sprat, smoked").replace("count --all --cold", "count --each")
        assert await scenario.text("Stores") == shown == wanted


@pytest.mark.before_release
async def test_page_renamed_by_one_side_and_moved_by_the_other_gets_both(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(
            add_page(PAGE), add_page("# Yard\n\nBehind the house.\n"), subject="Write down the stores"
        )
        stores, yard = await scenario.page("Stores"), await scenario.page("Yard")
        await scenario.propose(UpdatePage(page=stores.id, title="Storerooms"))
        number = scenario.number
        await scenario.publish(UpdatePage(page=stores.id, into=yard.id, at=0))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.hear(f"Updated #{number}.")
        await scenario.merge()
        moved = await scenario.page("Storerooms")
        assert moved.id == stores.id
        assert [page.id for page in (await scenario.page("Yard")).pages] == [stores.id]
        assert await scenario.text("Storerooms") == PAGE.replace("# Stores", "# Storerooms")


@pytest.mark.before_release("False-main", "True-request", "True-main")
@pytest.mark.parametrize("gone_in", ["main", "request"])
@pytest.mark.parametrize("is_below_kept", [True, False])
async def test_deleted_page_and_its_subpage_are_separate_conflicts(
    stage: Stage, gone_in: str, is_below_kept: bool
) -> None:
    async with stage.play(start="changes", size=(120, 50)) as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(PAGE), add_page("# Yard\n\nOutside.\n"), subject="Write it down")
        stores = (await scenario.page("Stores")).id
        await scenario.publish(add_page("# Cellar\n\nDark.\n", into=stores))
        cellar = (await scenario.page("Cellar")).id
        edit = (edit_page(stores, PAGE.replace("Four", "Five")), edit_page(cellar, "# Cellar\n\nDark, and wet.\n"))
        delete = (DeletePage(page=stores),)
        await scenario.propose(*(edit if gone_in == "main" else delete))
        number = scenario.number
        await scenario.publish(*(delete if gone_in == "main" else edit))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        keep, drop = ("t", "m") if gone_in == "main" else ("m", "t")
        await run.see("0 of 2 resolved", "Delete the page.")
        assert "stays deleted" not in run.text
        await run.press(drop)
        await run.see("1 of 2 resolved", "Dark, and wet.")
        await run.press(keep if is_below_kept else drop)
        await run.see("2 of 2 resolved")
        await scenario.send()
        at = run.gate.sent(change_requests.UpdateFromMain)[0].at
        await run.ask(change_requests.Merge(at=at), MARA)
        tree = await run.ask(content.ListPages(at=HARBOUR), MARA)
        left = {page.id: page for page in tree.walk() if page.id in (stores, cellar)}
        assert list(left) == ([cellar] if is_below_kept else [])
        if is_below_kept:
            assert left[cellar] in tree.pages, "the subpage must move to the place of its deleted parent"
            assert await scenario.text("Cellar") == "# Cellar\n\nDark, and wet.\n"


@pytest.mark.before_release
async def test_narrow_terminal_resolves_only_the_conflict_on_screen(stage: Stage) -> None:
    async with stage.play(start="changes", size=(60, 20)) as run:
        scenario = RequestScenario(run)
        await scenario.publish(
            add_page(PAGE), add_page("# Yard\n\nOutside.\n"), add_page("# Barn\n\nDry.\n"), subject="Write it down"
        )
        stores, yard, barn = [await scenario.page(title) for title in ("Stores", "Yard", "Barn")]
        await scenario.propose(UpdatePage(page=yard.id, title="Court"), UpdatePage(page=stores.id, into=barn.id, at=0))
        number = scenario.number
        await scenario.publish(UpdatePage(page=yard.id, title="Garden"), UpdatePage(page=stores.id, into=yard.id, at=0))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("0 of 2 resolved")
        await run.press("t")
        await run.hear("Press enter to open the conflict first.")
        await run.see("0 of 2 resolved")
        await run.press("enter")
        await run.see("Result", "Not resolved yet.", "Garden")
        await run.press("ctrl+d")
        await run.see("This change request  t", "Court")
        await run.press("t")
        await run.see("1 of 2 resolved", "Both sides moved this page", "Not resolved yet.")
        await run.press("ctrl+d")
        await run.see("Move the page under “Barn”, in position 1")
        await run.press("t")
        await run.see("2 of 2 resolved", "press ctrl+s to save", "✓ This change request chosen")
        await run.press("K")
        await run.see("✓ This change request chosen", "Garden")
        shown = await scenario.preview()
        await scenario.send()
        await scenario.merge()
        assert (await scenario.page("Court")).id == yard.id
        assert await scenario.text("Court") == shown == "# Court\n\nOutside.\n"
        assert [page.id for page in (await scenario.page("Barn")).pages] == [stores.id]


@pytest.mark.before_release
async def test_conflicting_page_options_are_not_part_of_the_text(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(PAGE), subject="Write down the stores")
        stores = await scenario.page("Stores")
        await scenario.propose(UpdatePage(page=stores.id, description="Where things are"))
        number = scenario.number
        await scenario.publish(UpdatePage(page=stores.id, description="What there is"))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.see("title and page options", "description: What there is", "description: Where things are")
        assert "merged from" not in run.text
        await run.press("b")
        await run.hear("You can keep only one version here. Press m or t to choose a version.")
        await run.press("t")
        assert await scenario.preview() == PAGE
        await scenario.send()
        await scenario.merge()
        assert (await scenario.page("Stores")).description == "Where things are"
        assert await scenario.text("Stores") == PAGE


@pytest.mark.before_release
async def test_merge_checks_report_a_second_page_with_the_same_name(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 50)) as run:
        scenario = RequestScenario(run)
        await scenario.propose(add_page("# Crates\n\nThe blue ones.\n"))
        number = scenario.number
        await scenario.publish(add_page("# Crates\n\nThe red ones.\n"))
        scenario.number = number
        await scenario.open()
        await run.press("U")
        named = (
            f"two pages are called “Crates”: at /crates in the page in main, and at /crates-2 in the page in #{number}"
        )
        await run.see("names", "two pages are called “Crates”")
        assert named in unframed_text(run.text)
        await run.press("escape")
        assert named in unframed_text(await scenario.merge())
        tree = await run.ask(content.ListPages(at=HARBOUR), MARA)
        assert [page.path for page in tree.walk() if page.title == "Crates"] == ["crates", "crates-2"]


async def test_conflict_without_versions_is_counted(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 50)) as run:
        scenario = RequestScenario(run)
        await scenario.propose(add_page("# Crates\n\nThe blue ones.\n"))
        number = scenario.number
        await scenario.publish(add_page("# Crates\n\nThe red ones.\n"))
        scenario.number = number
        await scenario.open()
        await scenario.update()
        await run.hear(f"Updated #{number}.")
        await run.press("R")
        await run.see(
            "Two pages are called “Crates”", "! ~ Crates", "Nothing to choose  #", "1 conflict has no versions to"
        )


@pytest.mark.before_release
async def test_merge_checks_report_text_that_reverts_main(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 50)) as run:
        scenario = RequestScenario(run)
        main = TABLE.replace("Date | 4", "Date | 40")
        await scenario.change_page(TABLE, main, TABLE.replace("Apple | 1", "Apple | 100"))
        await scenario.open()
        await scenario.update()
        await run.hear(f"Updated #{scenario.number}.")
        at = run.gate.sent(change_requests.UpdateFromMain)[0].at
        page = await scenario.page("Stores")
        # The editor was open during the update, so it saves the text from before the update.
        old = edit_page(page.id, TABLE.replace("Apple | 1", "Apple | 100"))
        await run.ask(content.Edit(at=at, changes=(old,), compat=False), MARA)
        await run.press("m")
        await run.see(
            "reverts",
            "the merge would revert 1 line that changed in main after this",
            "change request was created: Stores",
        )
