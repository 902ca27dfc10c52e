from __future__ import annotations

from typing import Any, ClassVar

import pytest
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widget import Widget

from octavo.tui.widgets.chooser import Choice, Picker, ThemePicker
from octavo.tui.widgets.command_palette import HelpScreen, PaletteScreen
from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.row_list import Row, RowList
from tests.tui.widgets.scratch import HOSTILE, Scratch, check_picture, harmless, lines, shown, until, wait_idle

PEOPLE = [
    Choice("ada", "Ada Lovelace", detail="ada@acme.com"),
    Choice("tom", "Tom Ward", detail="tom@acme.com", right="reviewer"),
    Choice("jun", "Jun K.", detail="jun@acme.com", disabled_reason="Jun K. may only read this space."),
    Choice("zoe", "Zoe M.", detail="zoe@acme.com"),
]


PAGE: Commands[ReviewPage] = Commands(
    "page",
    (
        Command("comment", "c", "Comment", "Write a comment on this block", run=lambda _, page: page.done.append("comment")),
        Command("merge", "m", "Merge", "Merge the change request", run=lambda _, page: page.done.append("merge"),
                why_not=lambda _, page: "Merging needs the create role; you have review."),
        Command("thread", "t,T", "Next thread", "Go to the next open thread", run=lambda _, page: page.done.append("thread")),
    ),
)  # fmt: skip


class ReviewPage(HasCommands, Widget, can_focus=True):
    HELP_NAME = "page view"
    HELP = "Reads one page. c writes a comment on the block at the bar."
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PAGE,)

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []


class ChooserApp(Scratch):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon,ctrl+p", "palette", "Commands", tooltip="Every command", id="app.palette"),
        Binding("question_mark", "help", "Help", tooltip="Show help for the focused pane", id="app.help"),
    ]

    async def action_palette(self) -> None:
        await self.push_screen(PaletteScreen(self.screen, ThemePicker(self)))

    async def action_help(self) -> None:
        await self.push_screen(HelpScreen(self.screen, lambda: None))


async def test_palette_runs_a_command_in_its_view() -> None:
    page = ReviewPage()
    app = ChooserApp(page)
    async with app.run_test(size=(90, 18)) as pilot:
        await pilot.press(":")
        await pilot.pause()
        await check_picture("palette", app)
        await pilot.press(*"thr", "enter")
        await pilot.pause()
        assert page.done == ["thread"]
        assert not isinstance(app.screen, PaletteScreen)
        assert page.has_focus


@pytest.mark.parametrize("key", [":", "?"])
async def test_enter_pressed_twice_runs_the_command_once(key: str) -> None:
    page = ReviewPage()
    app = ChooserApp(page)
    async with app.run_test(size=(90, 18)) as pilot:
        await pilot.press(key, *"thr")
        await wait_idle(app)
        for _ in range(2):
            app.post_message(Key("enter", None))
        await wait_idle(app)
        assert page.done == ["thread"]
        assert page.has_focus


async def test_enter_pressed_twice_closes_only_the_picker() -> None:
    app = ChooserApp()
    answers: list[str | None] = []
    async with app.run_test(size=(80, 24)):
        await app.push_screen(Picker("Below", PEOPLE))
        await app.push_screen(Picker("Who", PEOPLE), answers.append)
        for _ in range(2):
            app.post_message(Key("enter", None))
        await wait_idle(app)
        assert answers == ["ada"]
        assert len(app.screen_stack) == 2


async def test_picker_dismissed_below_another_picker_closes_after_it() -> None:
    app = ChooserApp()
    answers: list[str | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        below, above = Picker("Below", PEOPLE), Picker("Who", PEOPLE)
        await app.push_screen(below, answers.append)
        await app.push_screen(above)
        below.dismiss("tom")
        await wait_idle(app)
        assert (app.screen, answers) == (above, [])
        await pilot.press("escape")
        await wait_idle(app)
        assert (len(app.screen_stack), answers) == (1, ["tom"])


class MergeList(RowList[int]):
    """A list with two keys. The key bar shows only the second key."""

    HELP_NAME = "merges"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A", "archive", "Archive", show=False, tooltip="Archive it", id="merge.archive"),
        Binding("m", "merge", "Merge", tooltip="Merge it", id="merge.merge"),
        Binding("escape", "leave", "Leave", show=False, tooltip="Go back to where you were", id="merge.up"),
    ]


async def test_palette_lists_commands_first_and_cursor_keys_last() -> None:
    app = ChooserApp(MergeList(lambda number: Row(str(number)), key=lambda number: number))
    async with app.run_test(size=(90, 40)) as pilot:
        await pilot.press(":")
        await pilot.pause()
        palette = app.screen
        assert isinstance(palette, PaletteScreen)
        found = [(choice.group, choice.title) for choice in palette.choices() if choice.group != "THEMES"]
        groups = list(dict.fromkeys(group for group, _ in found))
        assert groups[-1] == "NAVIGATION"
        moving = [title for group, title in found if group == "NAVIGATION"]
        assert moving == ["Down", "Up", "Top", "Bottom", "Half page down", "Half page up"]
        done = [title for group, title in found if group == "MERGES"]
        assert done[0] == "Merge", "the commands of the key bar must come first"
        assert groups[-2] == "LISTS"
        assert {"Archive", "Leave"} <= set(done), "commands that go back are not cursor keys"


async def test_palette_previews_a_theme_and_enter_keeps_it() -> None:
    app = ChooserApp(ReviewPage())
    async with app.run_test(size=(90, 18)) as pilot:
        before = app.theme
        await pilot.press(":", *"light")
        await pilot.pause()
        assert app.theme == "light" != before
        await pilot.press("escape")
        await pilot.pause()
        assert app.theme == before
        await pilot.press(":", *"theme light", "enter")
        await pilot.pause()
        assert app.theme == "light"


async def test_disabled_command_shows_its_reason_and_the_palette_stays() -> None:
    page = ReviewPage()
    app = ChooserApp(page)
    async with app.run_test(size=(90, 18)) as pilot:
        await pilot.press("ctrl+p", *"mer", "enter")
        await pilot.pause()
        assert isinstance(app.screen, PaletteScreen)
        assert "Merging needs the create role; you have review. ─╯" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert page.has_focus


async def test_help_lists_commands_and_runs_them() -> None:
    page = ReviewPage()
    app = ChooserApp(page)
    async with app.run_test(size=(90, 18)) as pilot:
        await pilot.press("?")
        await pilot.pause()
        await check_picture("help", app)
        await pilot.press(*"block", "enter")
        await pilot.pause()
        assert page.done == ["comment"]


async def test_palette_finds_a_command_by_its_key() -> None:
    app = ChooserApp(MergeList(lambda number: Row(str(number)), key=lambda number: number))
    async with app.run_test(size=(90, 18)) as pilot:
        for opened, typed, title in (("?", "j", "Down"), ("?", "A", "Archive"), (":", "G", "Bottom")):
            await pilot.press(opened, typed)
            await pilot.pause()
            assert isinstance(app.screen, HelpScreen | PaletteScreen)
            assert app.screen.rows.items[0].choice.title == title
            await pilot.press("escape")


async def test_help_shows_the_full_text_of_a_truncated_row() -> None:
    app = ChooserApp(ReviewPage())
    async with app.run_test(size=(50, 18)) as pilot:
        for opened in ("?", ":"):
            await pilot.press(opened, *"comment")
            await pilot.pause()
            assert "Write a comment on this block" in shown(app)
            await pilot.press("escape", opened, *"merge")
            await pilot.pause()
            assert "Merging needs the create role; you have review ·" in " ".join(shown(app).replace("│", " ").split())
            await pilot.press("escape")


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (60, 12)])
async def test_cursor_stays_visible_to_the_end_of_a_long_list(size: tuple[int, int]) -> None:
    app = ChooserApp(MergeList(lambda number: Row(str(number)), key=lambda number: number))
    async with app.run_test(size=size) as pilot:
        await pilot.press("?")
        await wait_idle(app)
        help_screen = app.screen
        assert isinstance(help_screen, HelpScreen)
        await pilot.press(*["pagedown"] * 20)
        await wait_idle(app)
        assert help_screen.rows.cursor == len(help_screen.rows.items) - 1
        assert any("▌" in line and "Half page up" in line for line in lines(app))


async def test_help_lists_commands_first_and_cursor_keys_last() -> None:
    app = ChooserApp(MergeList(lambda number: Row(str(number)), key=lambda number: number))
    async with app.run_test(size=(90, 40)):
        below = app.screen
        help_screen = [(choice.group, choice.title) for choice in HelpScreen(below, lambda: None).choices()]
        offered = [(choice.group, choice.title) for choice in PaletteScreen(below, ThemePicker(app)).choices()]
        assert help_screen[0] == ("MERGES", "Merge")
        assert help_screen[-6][0] == help_screen[-1][0] == "NAVIGATION"
        assert [each for each in help_screen if each != ("ANYWHERE", "Commands")] == [
            each for each in offered if each[0] != "THEMES"
        ]


async def test_picker_returns_the_chosen_value() -> None:
    app = ChooserApp(ReviewPage())
    picked: list[str | None] = []
    previewed: list[str] = []
    async with app.run_test(size=(70, 14)) as pilot:
        await app.push_screen(Picker("Ask whom?", PEOPLE, on_preview=previewed.append), picked.append)
        await pilot.press("down", "up", "down", "enter")
        await pilot.pause()
        assert picked == ["tom"]
        assert previewed == ["ada", "tom", "ada", "tom"]
        await app.push_screen(Picker("Ask whom?", PEOPLE), picked.append)
        await pilot.press(*"zm", "enter")
        await pilot.pause()
        assert picked == ["tom", "zoe"]
        await app.push_screen(Picker("Ask whom?", PEOPLE), picked.append)
        await pilot.press("escape")
        await pilot.pause()
        assert picked == ["tom", "zoe", None]


async def test_picker_without_choices_or_matches_says_so() -> None:
    app = ChooserApp(ReviewPage())
    async with app.run_test(size=(70, 14)) as pilot:
        await app.push_screen(Picker("Ask whom?", PEOPLE))
        await pilot.press(*"nobody", "enter")
        await pilot.pause()
        assert "Nothing matches “nobody”." in shown(app)
        assert "0 of 4" in shown(app)
        await app.push_screen(Picker[str]("Ask whom?", [], empty="There is nobody else."))
        await pilot.press("enter")
        assert "There is nobody else." in shown(app)


async def test_picker_begins_at_the_current_value() -> None:
    app = ChooserApp(ReviewPage())
    picked: list[str | None] = []
    async with app.run_test(size=(70, 14)) as pilot:
        await app.push_screen(Picker("Request a review from", PEOPLE, initial="zoe"), picked.append)
        await pilot.pause()
        await check_picture("picker", app)
        await pilot.press(*"tom", "enter")
        await pilot.pause()
        assert picked == ["tom"]


async def test_double_click_chooses_a_row() -> None:
    app = ChooserApp(ReviewPage())
    picked: list[str | None] = []
    async with app.run_test(size=(70, 14)) as pilot:
        await app.push_screen(Picker("Ask whom?", PEOPLE), picked.append)
        await pilot.click("RowList", offset=(4, 1), times=2)
        await pilot.pause()
        assert picked == ["tom"]


@pytest.mark.before_release
async def test_ten_thousand_choices_are_filtered_without_drawing_all() -> None:
    app = ChooserApp(ReviewPage())
    picked: list[int | None] = []
    rendered: list[int] = []

    class CountingPicker(Picker[int]):
        def draw(self, found):  # type: ignore[no-untyped-def]  # The base class has the types.
            rendered.append(found.number)
            return super().draw(found)

    async with app.run_test(size=(70, 14)) as pilot:
        await app.push_screen(
            CountingPicker("Which?", [Choice(n, f"person {n}") for n in range(10_000)]), picked.append
        )
        await pilot.pause()
        assert len(set(rendered)) < 20
        await pilot.press(*"9876", "enter")
        await pilot.pause()
        assert picked == [9876]


async def test_hostile_choices_are_shown_as_text() -> None:
    app = ChooserApp(ReviewPage())
    async with app.run_test(size=(120, 30)) as pilot:
        choices = [
            Choice(text, text, detail=text, right=text, group=text, sign=text, disabled_reason=text) for text in HOSTILE
        ]
        for text in (" ".join(HOSTILE), HOSTILE[1]):
            await app.push_screen(Picker(text, choices, empty=text))
            await pilot.press("down", "enter", "x")
            await pilot.pause()
            assert harmless(lines(app))
        assert "[@click=app.quit]x[/]" in shown(app)


async def test_text_typed_while_choices_load_is_searched_on_the_server() -> None:
    async def find_more(query: str) -> list[Choice[str]]:
        return [Choice("zora", f"Zora {query}")]

    app = ChooserApp()
    async with app.run_test(size=(80, 24)) as pilot:
        picker: Picker[str] = Picker("Who", (), is_loading=True)
        await app.push_screen(picker)
        await pilot.press(*"zo")
        picker.show_loaded("Who", PEOPLE, find_more)
        await until(pilot, lambda: "Zora zo" in shown(app))


async def test_choices_loaded_while_a_picker_opens_are_offered() -> None:
    class EagerPicker(Picker[str]):
        def select_initial(self) -> None:
            if self.is_loading:
                assert not self.is_mounted
                self.show_loaded("Who · read", PEOPLE)

    app = ChooserApp()
    async with app.run_test(size=(80, 24)):
        picker = EagerPicker("Who", (), is_loading=True)
        await app.push_screen(picker)
        await wait_idle(app)
        text = shown(app)
        assert "Ada Lovelace" in text
        assert "Loading choices" not in text
        assert "Who · read" in text


async def test_long_title_beside_a_short_detail_is_shown_whole() -> None:
    title = "#6 Say in the quickstart, reference and Japanese page that a level is new"
    app = ChooserApp()
    async with app.run_test(size=(120, 18)) as pilot:
        await app.push_screen(
            Picker("Change request", [Choice(1, "New", detail="for this edit"), Choice(2, title, detail="open")])
        )
        await pilot.pause()
        assert title in shown(app)
