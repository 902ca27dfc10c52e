from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from textual.binding import Binding, BindingType
from textual.widget import Widget

from octavo.tui.comments.composer import Composer
from octavo.tui.widgets.bars import KeyBar
from octavo.tui.widgets.chooser import Chooser
from octavo.tui.widgets.commands import (
    Command,
    Commands,
    HasCommands,
    accepted_keys,
    active_commands,
    key_bar,
    key_name,
)
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.dialog import TextButton
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.text_inputs import FilterInput, SecretInput
from octavo.tui.widgets.tree import Tree
from tests.key_binding_checks import binding_faults, key_clashes, keys_as_markdown
from tests.tui.widgets.scratch import Scratch, lines

CLASSES_WITH_KEYS = (LineList, RowList, Tree, FilterInput, TextButton, SecretInput, ConfirmDialog, Composer, Chooser)


_CHANGE = Binding.Group("change")


def _why_no_comment(app: Any, page: PageWithCommands) -> str | None:
    return None if page.may_comment else "Commenting needs the comment role; you read only."


PAGE: Commands[PageWithCommands] = Commands(
    "page",
    (
        Command("comment", "c,|", "Comment", "Write a comment here", run=lambda _, page: page.done.append("comment"), why_not=_why_no_comment),
        Command("next", "n", "Next", "Next change", run=lambda _, page: page.done.append("next"), group=_CHANGE),
        Command("previous", "N", "Previous", "Previous change", run=lambda _, page: page.done.append("previous"), group=_CHANGE),
        Command("resolve", "d", "Resolve", "Resolve the thread", run=lambda _, page: page.done.append("resolve"),
                applies=lambda _, page: page.has_thread),
        Command("down", "j", "Down", "Down", run=lambda _, page: page.done.append("down"), shown=False),
    ),
)  # fmt: skip


class PageWithCommands(HasCommands, Widget, can_focus=True):
    HELP_NAME = "page view"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PAGE,)

    def __init__(self, *, may_comment: bool = False) -> None:
        super().__init__()
        self.may_comment = may_comment
        self.has_thread: bool = False
        self.done: list[str] = []


class CommandApp(Scratch):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "elsewhere", "Elsewhere", tooltip="Something else", id="app.elsewhere"),
        Binding(
            "question_mark", "help", "Help", key_display="?", tooltip="Show help for the focused pane", id="app.help"
        ),
        Binding("q", "leave", "Leave", tooltip="Leave this place", id="app.leave"),
    ]

    ran_elsewhere = False

    def action_elsewhere(self) -> None:
        self.ran_elsewhere = True


async def test_key_of_a_disabled_command_only_shows_the_reason() -> None:
    page = PageWithCommands()
    app = CommandApp(page)
    async with app.run_test() as pilot:
        await pilot.press("c")
        assert app.explained == ["Commenting needs the comment role; you read only."]
        assert not app.ran_elsewhere, "the key must not run the command of the app"
        assert page.done == []
        page.may_comment = True
        await pilot.press("c", "n")
        assert page.done == ["comment", "next"]
        assert len(app.explained) == 1


async def test_commands_come_from_the_bindings() -> None:
    page = PageWithCommands()
    app = CommandApp(page)
    async with app.run_test():
        commands = {command.id: command for command in active_commands(app.screen)}
        assert list(commands)[:4] == ["page.comment", "page.next", "page.previous", "page.resolve"]
        comment = commands["page.comment"]
        assert comment.keys == ("c", "|")
        assert (comment.title, comment.help, comment.context) == ("Comment", "Write a comment here", "page view")
        assert not comment.is_enabled
        assert comment.reason == "Commenting needs the comment role; you read only."
        assert commands["page.next"].is_enabled
        assert commands["page.next"].reason is None
        await commands["page.next"].run()
        assert page.done == ["next"]
        assert "app.elsewhere" not in commands, "a nearer widget uses the same key"
        assert key_clashes(app.screen) == []


async def test_key_bar_shows_likely_commands_first_and_help_last() -> None:
    page = PageWithCommands()
    bar = KeyBar()
    app = CommandApp(page, bar)
    async with app.run_test(size=(60, 5)) as pilot:
        await pilot.pause()
        assert lines(app)[-1] == " c comment  n/N change  q leave  ? help"
        for width, said in ((33, " c comment  n/N change  ? help"), (24, " c comment  ? help")):
            await pilot.resize_terminal(width, 5)
            for _ in range(20):  # The key bar gets its new size in a separate message.
                if lines(app)[-1] == said:
                    break
                await pilot.pause()
            assert lines(app)[-1] == said
        await pilot.click(KeyBar, offset=(2, 0))
        assert app.explained == ["Commenting needs the comment role; you read only."]


async def test_key_bar_omits_inapplicable_and_keeps_forbidden_commands() -> None:
    page = PageWithCommands()
    app = CommandApp(page)
    async with app.run_test() as pilot:
        assert "page.resolve" not in [command.id for command in key_bar(app.screen)]
        assert "page.resolve" in [command.id for command in active_commands(app.screen)]
        assert not next(each for each in key_bar(app.screen) if each.id == "page.comment").is_enabled
        await pilot.press("d")
        assert page.done == ["resolve"], "the key must run the command that the key bar omits"
        page.has_thread = True
        assert "page.resolve" in [command.id for command in key_bar(app.screen)]


async def test_keybar_ids_come_first_in_the_key_bar() -> None:
    class PageWithKeyBarOrder(PageWithCommands):
        KEYBAR = ("app.leave", "page.next")

    app = CommandApp(PageWithKeyBarOrder())
    async with app.run_test():
        assert [command.id for command in key_bar(app.screen)][:3] == ["app.leave", "page.next", "page.comment"]


async def test_key_bar_follows_the_focus() -> None:
    page = PageWithCommands()
    listed: RowList[int] = RowList(lambda number: Row(str(number)), key=lambda number: number)
    app = CommandApp(page, listed, KeyBar())
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show([1, 2])
        listed.focus()
        await pilot.pause()
        assert lines(app)[-1].startswith(" enter open  c elsewhere  q leave  ? help")


async def test_key_map_assigns_other_keys() -> None:
    page = PageWithCommands(may_comment=True)
    app = CommandApp(page)
    async with app.run_test() as pilot:
        keys, ignored = accepted_keys({"page.comment": "w,ctrl+o"}, [PageWithCommands, CommandApp])
        assert ignored == []
        app.set_keymap(keys)
        await pilot.press("c")
        assert page.done == []
        assert app.ran_elsewhere
        await pilot.press("w", "ctrl+o")
        assert page.done == ["comment", "comment"]
        comment = next(each for each in active_commands(app.screen) if each.id == "page.comment")
        assert comment.keys == ("w", "ctrl+o")


async def test_invalid_entries_of_a_key_map_are_reported_and_ignored() -> None:
    page = PageWithCommands(may_comment=True)
    app = CommandApp(page)
    async with app.run_test() as pilot:
        keymap = {"page.comment": "j", "page.next": "ctrl+n"}
        keys, ignored = accepted_keys(keymap, [PageWithCommands, CommandApp])
        app.set_keymap(keys)
        assert ignored == [("page.comment", "cannot use j: page.down already uses this key.")]
        await pilot.press("c", "ctrl+n")
        assert page.done == ["comment", "next"]


def test_key_is_not_taken_from_a_command_whose_other_key_is_ignored() -> None:
    keymap = {"page.comment": "j", "page.next": "c"}
    keys, ignored = accepted_keys(keymap, [PageWithCommands, CommandApp])
    assert keys == {}
    assert ignored == [
        ("page.comment", "cannot use j: page.down already uses this key."),
        ("page.next", "cannot use c: page.comment already uses this key."),
    ]


def test_key_of_an_ignored_entry_is_free_for_other_commands() -> None:
    keymap = {"page.comment": "x,j", "page.next": "x"}
    keys, ignored = accepted_keys(keymap, [PageWithCommands, CommandApp])
    assert keys == {"page.next": "x"}
    assert ignored == [("page.comment", "cannot use j: page.down already uses this key.")]


def test_binding_without_texts_is_reported() -> None:
    class WidgetWithFaults(Widget):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("a", "a", "A", id="bad.a"),
            Binding("a", "b", "B", tooltip="B", id="bad.b"),
        ]

    assert binding_faults([WidgetWithFaults]) == [
        "WidgetWithFaults: a has no tooltip",
        "WidgetWithFaults: a runs both a and b",
    ]


def test_every_binding_of_the_widgets_has_texts() -> None:
    assert binding_faults(CLASSES_WITH_KEYS) == []


def test_keys_are_named_as_on_the_keyboard() -> None:
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


def test_table_of_keys_is_grouped_by_context() -> None:
    table = keys_as_markdown([PageWithCommands, CommandApp])
    assert table.startswith(
        "### Page view\n\n| Keys | Action | Id |\n| --- | --- | --- |\n| `c` `\\|` | Write a comment here | page.comment |\n"
    )
    assert "### Anywhere\n" in table or "### App\n" in table
    assert "| `?` | Show help for the focused pane | " in table


# Commands as values


@dataclass
class Thread:
    may_edit: bool = True
    is_spam: bool = False
    done: list[str] = field(default_factory=list)


async def _reply(app: Any, thread: Thread) -> None:
    thread.done.append("reply")


THREAD: Commands[Thread] = Commands(
    "thread",
    (
        Command(
            "resolve",
            "d",
            "Done",
            "Resolve the thread",
            run=lambda app, thread: thread.done.append("resolve"),
            why_not=lambda app, thread: None if thread.may_edit else "Your role does not let you resolve it.",
            title_now=lambda app, thread: "Reopen" if thread.done else None,
        ),
        Command("reply", "c", "Reply", "Answer in the thread", run=_reply),
        Command(
            "spam",
            "s",
            "Spam",
            "Hide it",
            run=lambda app, thread: thread.done.append("spam"),
            is_available=lambda app, thread: thread.is_spam,
        ),
    ),
    context="threads",
    no_target="No thread is under the cursor.",
)


class ThreadList(HasCommands, Widget, can_focus=True):
    HELP_NAME = "thread list"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (THREAD.for_target(lambda view: view.thread),)

    def __init__(self, thread: Thread | None = None) -> None:
        super().__init__()
        self.thread = thread


class ThreadPage(ThreadList):
    COMMAND_GROUPS = (
        THREAD.only("resolve")
        .with_changed("resolve", keys="x", id="page.resolve")
        .for_target(lambda view: view.thread),
    )


async def test_command_gets_the_target_of_its_view() -> None:
    view = ThreadList(Thread())
    async with Scratch(view).run_test() as pilot:
        view.focus()
        await pilot.press("d", "c")
        assert view.thread is not None
        assert view.thread.done == ["resolve", "reply"]


async def test_command_without_a_target_says_so() -> None:
    view = ThreadList()
    async with Scratch(view).run_test() as pilot:
        view.focus()
        await pilot.press("d")
        await pilot.pause()
        reasons = {command.id: command.reason for command in active_commands(pilot.app.screen)}
        assert reasons["thread.resolve"] == "No thread is under the cursor."


class BusyList(ThreadList):
    COMMAND_GROUPS = (
        THREAD.only("resolve").for_target(
            lambda view: None if view.is_busy else view.thread,
            context="threads of a page",
            no_target=lambda view: "The page is loading." if view.is_busy else "No thread hangs here.",
        ),
    )
    is_busy = True


async def test_view_explains_the_missing_target() -> None:
    view = BusyList(Thread())

    def why(app: Scratch) -> str | None:
        return next(each.reason for each in active_commands(app.screen) if each.id == "thread.resolve")

    async with Scratch(view).run_test() as pilot:
        view.focus()
        await pilot.press("d")
        assert isinstance(pilot.app, Scratch)
        assert pilot.app.explained == ["The page is loading."]
        assert view.thread is not None
        assert view.thread.done == []
        view.is_busy = False
        assert why(pilot.app) is None
        view.thread = None
        assert why(pilot.app) == "No thread hangs here."
    assert keys_as_markdown([BusyList]).startswith("### Threads of a page\n")


async def test_command_has_a_disabled_reason_and_a_dynamic_title() -> None:
    view = ThreadList(Thread(may_edit=False))
    async with Scratch(view).run_test() as pilot:
        view.focus()
        await pilot.press("d")
        assert view.thread is not None
        assert view.thread.done == []
        view.thread = Thread(done=["resolve"])
        commands = {command.id: command for command in active_commands(pilot.app.screen)}
        assert commands["thread.resolve"].title == "Reopen"
        assert "thread.spam" not in commands
        view.thread.is_spam = True
        assert "thread.spam" in {command.id for command in active_commands(pilot.app.screen)}


async def test_view_can_have_a_command_with_another_key() -> None:
    view = ThreadPage(Thread())
    async with Scratch(view).run_test() as pilot:
        view.focus()
        await pilot.press("x", "c")
        assert view.thread is not None
        assert view.thread.done == ["resolve", "reply"]


def test_group_of_commands_is_documented_by_its_name() -> None:
    table = keys_as_markdown([ThreadList])
    assert table.startswith("### Threads\n")
    assert "| `d` | Resolve the thread | thread.resolve |" in table


def test_unknown_command_name_raises_key_error() -> None:
    with pytest.raises(KeyError, match="thread has no command merge"):
        THREAD.with_changed("merge", keys="m")
    with pytest.raises(KeyError, match="thread has no command merge"):
        THREAD.only("resolve", "merge")
    with pytest.raises(KeyError, match="thread has no command merge"):
        THREAD.without("merge")


async def test_command_that_starts_a_task_blocks_no_other_key() -> None:
    released = asyncio.Event()

    class Loading(HasCommands, Widget, can_focus=True):
        HELP_NAME = "page view"
        COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
            Commands(
                "loading",
                (
                    Command("load", "l", "Load", "Load", run=lambda app, _: app.background(released.wait())),
                    Command("end", "e", "End", "End", run=lambda _, __: released.set()),
                ),
            ),
        )

    app = Scratch(Loading())
    async with app.run_test() as pilot:
        app.screen.query_one(Loading).focus()
        await pilot.press("l", "e")
        assert released.is_set()
