"""Right-to-left text is reordered for terminals that do not reorder it themselves."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from octavo import settings
from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.widgets.command_palette import HelpScreen
from tests.tui.reader.panes import PaneApp

pytest.importorskip("bidi", reason="of the extra `bidi`")

from octavo.tui.terminal.display import RightToLeft

BOLD = Style(bold=True)


def reorder(*segments: Segment) -> list[Segment]:
    return RightToLeft().apply(list(segments), Color(0, 0, 0))


def visible_text(text: str) -> str:
    return "".join(segment.text for segment in reorder(Segment(text)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain (a) 12", "plain (a) 12"),
        ("  אב גד", "  דג בא"),
        ("אב 123 גד.", ".דג 123 בא"),
        ("אב (a b) גד", "דג (a b) בא"),
        ("Read אב גד (now)", "Read דג בא (now)"),
        ("url אבגדהו זחטיכל", "לכיטחז והדגבא url"),
        ("שָׁלוֹם", "םוֹלשָׁ"),
        ("│ אב │ גד │", "│ בא │ דג │"),
        ("אב   גד", "בא   דג"),
        (" אב ", " בא "),
        ("再 אב", "בא 再"),
        ("再生 אב", "再生 בא"),
    ],
)
def test_letters_are_put_in_visual_order(text: str, shown: str) -> None:
    assert visible_text(text) == shown


def test_empty_segments_do_not_split_a_text() -> None:
    assert reorder(Segment(""), Segment("אב "), Segment(""), Segment("גד")) == [Segment("דג בא")]


def test_styles_follow_their_letters_and_bullets_stay() -> None:
    assert reorder(Segment("אב "), Segment("גד", BOLD), Segment(" •", BOLD)) == [
        Segment("דג", BOLD),
        Segment(" בא"),
        Segment(" •", BOLD),
    ]
    assert reorder(Segment("אב"), Segment(" 12.", BOLD)) == [Segment("בא"), Segment(" 12.", BOLD)]


async def test_help_says_that_octavo_reorders_right_to_left_text() -> None:
    class ReorderingApp(PaneApp[PageView]):
        settings = settings.read({"OCTAVO_RIGHT_TO_LEFT": "octavo"})

    app = ReorderingApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse("# A\n\nplain"))
        assert app.pane.more_help == ""
        app.pane.show(parse("# A\n\nשלום"))
        help_screen = HelpScreen(app.screen, lambda: None)
        await app.push_screen(help_screen)
        await pilot.pause()
        assert "Octavo reorders right-to-left text. To change this, set right_to_left in the settings." in str(
            help_screen.intro()
        )
