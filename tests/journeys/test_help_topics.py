"""Help topics open from a view, from the help, and from the command palette."""

from __future__ import annotations

import pytest

from tests.journeys.stage import Stage


@pytest.mark.before_release(":", "?")
@pytest.mark.parametrize("keys", [("f1",), ("?", "f1"), (":", *"help topics", "enter")], ids=lambda keys: keys[0])
async def test_help_topic_opens_over_the_view_and_closes_with_esc(stage: Stage, keys: tuple[str, ...]) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7")
        await run.press(*keys)
        await run.see("Help topics", "Review a change request", "Settings, environment variables, folders")
        await run.press(*"exit", "enter")
        await run.see("Help: exit-codes", "wrong usage", "esc close")
        await run.press("escape")
        await run.see("Open 7")
        await run.gone("wrong usage")


async def test_help_finds_a_command_by_another_word_and_points_to_the_palette(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("question_mark", *"answer")
        await run.see("Reply")
        await run.press("ctrl+u", *"blame")
        await run.see("Nothing matches “blame”. Press esc, then : to find the commands of other views.")


@pytest.mark.before_release
async def test_find_works_in_a_long_help_topic(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7")
        await run.press("f1", *"keys", "enter")
        await run.see("Help: keys", "Anywhere")
        await run.press("/", *"sign_in.demo", "enter")
        await run.see("sign_in.demo")


@pytest.mark.before_release
async def test_help_topic_offers_no_comments(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("f1", "enter")
        await run.see("Help: start")
        assert "comment" not in run.keybar
        await run.press("c")
        await run.hear("This key works only on a page. Press esc to close this dialog.")
