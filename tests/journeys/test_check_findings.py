"""Findings of the checks stand at their block in the diff, and become pending comments and suggestions."""

from __future__ import annotations

import sys

import pytest

from octavo.api import comments, content
from octavo.settings.programs import Linter
from tests.journeys.request_scenario import RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Run, Stage

BEFORE = "# Stores\n\nSee [an old list](gone.md) of all stores.\n\n## Opening hours\n\nThey are open all day.\n"
AFTER = (
    BEFORE.replace("They are", "As [above](#openning-hours) they are") + "\nThe [map](the-map-of-it.md) shows them.\n"
)


async def open_request(run: Run) -> None:
    scenario = RequestScenario(run)
    await scenario.publish(add_page(BEFORE), subject="Write down the stores")
    await scenario.propose(edit_page((await scenario.page("Stores")).id, AFTER))
    await scenario.open()
    await run.see("▲ anchor  no heading", "▲ link  no page", "▲2")


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_finding_becomes_a_pending_suggestion_and_another_is_dismissed(
    stage: Stage, size: tuple[int, int]
) -> None:
    async with stage.play(size=size) as run:
        await open_request(run)
        assert "gone.md" not in run.text, "the unchanged words have no finding"
        await run.press(";", '"')
        await run.hear("Added a pending suggestion. Submit your review to send it.")
        await run.see("Suggested change", "▲1")
        await run.gone("▲ anchor")
        await run.press("u")
        await run.see("▲ anchor", "▲2")
        await run.gone("Suggested change")
        await run.press(";", ";", "_")
        await run.hear("Dismissed the finding until its words change.")
        await run.gone("▲ link")
        await run.press(",", "'")
        await run.see("No heading")
        await run.gone("▲")
        await run.press(";")
        await run.hear("No findings on the words that this change request adds.")
        (entry,) = run.app.session.outbox.pending_comments(run.app.screen.at)  # type: ignore[attr-defined]  # the view
        assert isinstance(entry.op, comments.Create)


async def test_unsent_draft_on_the_block_of_a_finding_is_kept(stage: Stage) -> None:
    async with stage.play() as run:
        await open_request(run)
        await run.press(";", "c")
        await run.see("Comment on Stores")
        await run.type("Do they close at noon?")
        await run.press("escape")
        await run.see("draft")
        await run.press("'")
        await run.hear("Added a pending comment.")
        texts = [draft.text for draft in run.app.session.drafts.all()]
        assert texts == ["Do they close at noon?"]


@pytest.mark.before_release
async def test_merge_checks_count_findings_and_do_not_block(stage: Stage) -> None:
    async with stage.play() as run:
        await open_request(run)
        await run.press("m")
        await run.see("findings", "2 findings on 1 changed page: Stores", "Merge  (y)")


@pytest.mark.before_release
async def test_finding_without_fix_cannot_become_a_suggestion(stage: Stage) -> None:
    async with stage.play() as run:
        await open_request(run)
        await run.press(";", ";")
        await run.press('"')
        await run.hear("This finding has no fix. Press ' to make it a pending comment.")
        await run.press(";")
        await run.hear("This is the last finding on this page.")
        await run.press(",", ",")
        await run.hear("This is the first finding on this page.")


@pytest.mark.before_release
async def test_failure_of_a_linter_is_shown_once(stage: Stage) -> None:
    vale = Linter("vale", ("no-such-vale", "{file}"), "vale", is_automatic=True)
    by_hand = Linter("other", ("no-such-other", "{file}"), "vale")
    async with stage.play(linters=(vale, by_hand)) as run:
        await open_request(run)
        await run.hear("Could not run vale: no-such-vale was not found. Set linter.command, or install it.")
        assert not any("other" in each for each in run.said)


@pytest.mark.before_release
async def test_linters_that_are_not_automatic_run_on_command(stage: Stage) -> None:
    script = "import sys; print('stores.md:' + str(sys.stdin.read().count('\\n')) + ': too long')"
    by_hand = Linter("lengths", (sys.executable, "-c", script, "-"), "lines")
    async with stage.play(linters=(by_hand,)) as run:
        await open_request(run)
        await run.press(":", *"run linters", "enter")
        await run.hear("Running lengths on the changed pages. Press ; to go to a finding.")
        await run.see("▲3", "▲ lengths  too long", "▲ anchor  no heading", "▲ link  no page")


@pytest.mark.before_release
async def test_run_linters_says_how_to_add_one(stage: Stage) -> None:
    async with stage.play() as run:
        await open_request(run)
        await run.press(":", *"run linters", "enter")
        await run.see("No linters for this space. To add one, read `octavo help linters`.")


@pytest.mark.before_release
async def test_findings_are_shown_if_the_page_tree_loads_last(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BEFORE), subject="Write down the stores")
        await scenario.propose(edit_page((await scenario.page("Stores")).id, AFTER))
        run.gate.shut(content.ListPages)
        await scenario.open()
        await run.see("change 1 of", "+")
        run.gate.open()
        await run.see("▲ anchor  no heading", "▲ link  no page", "▲2")


@pytest.mark.before_release
async def test_findings_on_equal_blocks_are_all_shown(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BEFORE), subject="Write down the stores")
        item = "* See [it](nowhere.md).\n"
        await scenario.propose(edit_page((await scenario.page("Stores")).id, f"{BEFORE}\n{item}* Other.\n{item}"))
        await scenario.open()
        await run.see("▲2")
        await run.press(";", "_")
        await run.see("▲1")
        await run.press(";", "_")
        await run.gone("▲")


@pytest.mark.before_release
async def test_dismissed_finding_stays_dismissed_on_a_renamed_page(stage: Stage) -> None:
    async with stage.play() as run:
        await open_request(run)
        await run.press(";", "_")
        await run.see("▲1")
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        page = next(each for each in (await run.ask(content.ListPages(at=at), MARA)).walk() if each.title == "Stores")
        rename = content.UpdatePage(page=page.id, title="Store rooms", slug="store-rooms")
        await run.ask(content.Edit(at=at, changes=(rename,), compat=False), MARA)
        await run.press("r")
        await run.see("Store rooms", "▲1")
        assert "▲ anchor" not in run.text
