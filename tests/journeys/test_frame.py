from __future__ import annotations

from textual.color import Color
from textual.widgets import Static

from tests.journeys.stage import Run, Stage


def lit(run: Run) -> set[str]:
    """The titles of panes that are in the accent: they say which pane has the keys."""
    accent = Color.parse(run.app.theme_variables["primary"])
    titles = [each for each in run.app.screen.query(".pane-title") if isinstance(each, Static)]
    return {str(each.render()) for each in titles if each.display and each.styles.color == accent}


async def test_the_title_of_the_pane_that_has_the_keys_is_in_the_accent(stage: Stage) -> None:
    async with stage.play(start="home") as run:
        await run.see("ORGANIZATIONS", "SPACES OF SALTMARSH")
        (left,) = lit(run)
        assert left == "ORGANIZATIONS"
        await run.press("tab")
        (right,) = lit(run)
        assert right.startswith("SPACES OF")
