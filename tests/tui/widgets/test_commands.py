from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from octavo.tui.comments.composer import Composer
from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.chooser import Chooser
from octavo.tui.widgets.commands import (
    Explained,
    active_commands,
    apply_keymap,
    clashes,
    faults,
    key_bar,
    key_name,
    markdown_table,
)
from octavo.tui.widgets.confirm import Confirm
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Row, Rows
from octavo.tui.widgets.secret_input import SecretInput
from octavo.tui.widgets.tree import Tree
from tests.tui.widgets.scratch import Scratch, lines

OURS = (Lines, Rows, Tree, FilterInput, TextButton, SecretInput, Confirm, Composer, Chooser)


class Page(Explained, Widget, can_focus=True):
    CONTEXT = "page view"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,|", "comment", "Comment", tooltip="Write a comment here", id="page.comment"),
        Binding("n", "next", "Next", tooltip="Next change", id="page.next", group=Binding.Group("change")),
        Binding(
            "N", "previous", "Previous", tooltip="Change before", id="page.previous", group=Binding.Group("change")
        ),
        Binding("j", "down", "Down", show=False, tooltip="Down", id="page.down"),
    ]

    def __init__(self, *, may_comment: bool = False) -> None:
        super().__init__()
        self.may_comment = may_comment
        self.done: list[str] = []

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "comment" and not self.may_comment:
            return "Commenting needs the comment role; you read only."
        return None

    def action_comment(self) -> None:
        self.done.append("comment")

    def action_next(self) -> None:
        self.done.append("next")

    def action_previous(self) -> None:
        self.done.append("previous")


class App(Scratch):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "elsewhere", "Elsewhere", tooltip="Something else", id="app.elsewhere"),
        Binding("question_mark", "help", "Help", key_display="?", tooltip="Help for what has focus", id="app.help"),
        Binding("q", "leave", "Leave", tooltip="Leave this place", id="app.leave"),
    ]

    went = False

    def action_elsewhere(self) -> None:
        self.went = True


async def test_a_key_that_cannot_act_says_why_and_nothing_else_happens() -> None:
    page = Page()
    app = App(page)
    async with app.run_test() as pilot:
        await pilot.press("c")
        assert app.explained == ["Commenting needs the comment role; you read only."]
        assert not app.went, "the same key further out is another command"
        assert page.done == []
        page.may_comment = True
        await pilot.press("c", "n")
        assert page.done == ["comment", "next"]
        assert len(app.explained) == 1


async def test_commands_are_read_off_the_bindings() -> None:
    page = Page()
    app = App(page)
    async with app.run_test():
        commands = {command.id: command for command in active_commands(app.screen)}
        assert list(commands)[:4] == ["page.comment", "page.next", "page.previous", "page.down"]
        comment = commands["page.comment"]
        assert comment.keys == ("c", "|")
        assert (comment.title, comment.help, comment.context) == ("Comment", "Write a comment here", "page view")
        assert not comment.enabled
        assert comment.reason == "Commenting needs the comment role; you read only."
        assert commands["page.next"].enabled
        assert commands["page.next"].reason is None
        await commands["page.next"].run()
        assert page.done == ["next"]
        assert "app.elsewhere" not in commands, "its key means something nearer"
        assert clashes(app.screen) == []


async def test_the_key_bar_shows_what_is_likely_first_and_help_last() -> None:
    page = Page()
    bar = KeyBar()
    app = App(page, bar)
    async with app.run_test(size=(60, 5)) as pilot:
        await pilot.pause()
        assert lines(app)[-1] == " c comment  n/N change  q leave  ? help"
        for width, said in ((33, " c comment  n/N change  ? help"), (24, " c comment  ? help")):
            await pilot.resize_terminal(width, 5)
            for _ in range(20):  # it is told its size in a message of its own
                if lines(app)[-1] == said:
                    break
                await pilot.pause()
            assert lines(app)[-1] == said
        await pilot.click(KeyBar, offset=(2, 0))
        assert app.explained == ["Commenting needs the comment role; you read only."]


async def test_a_place_says_which_keys_its_bar_begins_with() -> None:
    class Ordered(Page):
        KEYBAR = ("app.leave", "page.next")

    app = App(Ordered())
    async with app.run_test():
        assert [command.id for command in key_bar(app.screen)][:3] == ["app.leave", "page.next", "page.comment"]


async def test_the_bar_follows_the_focus() -> None:
    page = Page()
    listed: Rows[int] = Rows(lambda number: Row(str(number)), key=lambda number: number)
    app = App(page, listed, KeyBar())
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show([1, 2])
        listed.focus()
        await pilot.pause()
        assert lines(app)[-1].startswith(" enter open  c elsewhere  q leave  ? help")


async def test_a_key_map_gives_other_keys() -> None:
    page = Page(may_comment=True)
    app = App(page)
    async with app.run_test() as pilot:
        assert apply_keymap(app, {"page.comment": "w,ctrl+o"}, [Page, App]) == []
        await pilot.press("c")
        assert page.done == []
        assert app.went
        await pilot.press("w", "ctrl+o")
        assert page.done == ["comment", "comment"]
        comment = next(each for each in active_commands(app.screen) if each.id == "page.comment")
        assert comment.keys == ("w", "ctrl+o")


async def test_what_a_key_map_cannot_do_is_said_and_left_out() -> None:
    page = Page(may_comment=True)
    app = App(page)
    async with app.run_test() as pilot:
        said = apply_keymap(app, {"page.fly": "f", "page.comment": "j", "page.next": "ctrl+n"}, [Page, App])
        assert said == [
            "The key map names page.fly, which is no command of this version.",
            "The key map gives j to page.comment, but it is the key of page.down.",
        ]
        await pilot.press("c", "ctrl+n")
        assert page.done == ["comment", "next"]


def test_a_binding_without_its_words_is_a_fault() -> None:
    class Bad(Widget):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("a", "a", "A", id="bad.a"),
            Binding("a", "b", "B", tooltip="B", id="bad.b"),
        ]

    assert faults([Bad]) == ["Bad: a has no tooltip", "Bad: a does both a and b"]


def test_every_key_of_the_widgets_has_its_words() -> None:
    assert faults(OURS) == []


def test_keys_are_called_what_is_on_them() -> None:
    keys = [
        "question_mark",
        "G",
        "ctrl+p",
        "escape",
        "down",
        "slash",
        "minus",
        "equals_sign",
        "plus",
        "left_square_bracket",
        "space",
        "f1",
    ]
    assert [key_name(key) for key in keys] == ["?", "G", "ctrl+p", "esc", "↓", "/", "-", "=", "+", "[", "space", "f1"]


def test_the_readme_shows_keys_by_place() -> None:
    table = markdown_table([Page, App])
    assert table.startswith(
        "### Page view\n\n| Keys | Does | Id |\n| --- | --- | --- |\n| `c` `\\|` | Write a comment here | page.comment |\n"
    )
    assert "### Anywhere\n" in table or "### App\n" in table
    assert "| `?` | Help for what has focus | " in table
