"""The command palette finds all commands and tables with common search words, and runs or opens them."""

from __future__ import annotations

from functools import partial

import pytest
from textual.screen import ModalScreen

from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.menus import _go_to_table
from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.review.conflict_choices import MergedPreviewScreen
from octavo.tui.review.conflicts import ConflictsScreen
from octavo.tui.review.suggestion_preview import SuggestionPreviewScreen
from octavo.tui.review.term_screen import TermScreen
from octavo.tui.review.update_from_main import IncomingChangesScreen
from octavo.tui.widgets.command_palette import SYNONYMS, PaletteScreen
from octavo.tui.widgets.commands import CURSOR_COMMANDS, ActiveCommand, HasCommands
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Run, Stage

COMMANDS_BY_SEARCH = {
    "approve": "change.approve",
    "merge": "change.merge",
    "reject": "change.ask",
    "request changes": "change.ask",
    "pull request": "change.new",
    "new change request": "change.new",
    "pull requests": "view.changes",
    "rebase": "change.update",
    "revert": "change.undo_merge",
    "conflicts": "change.resolve",
    "assign": "change.reviewers",
    "side by side": "diff.layout",
    "reply": "comments.reply",
    "resolve": "comments.resolve",
    "emoji": "comments.react",
    "comment": "comment.block",
    "discussions": "view.comments",
    "notifications": "view.inbox",
    "todo": "view.inbox",
    "snooze": "inbox.snooze",
    "remind": "inbox.snooze",
    "edit page": "page.edit",
    "new page": "page.insert",
    "rename page": "page.arrange",
    "history": "page.history",
    "versions": "page.history",
    "who wrote": "page.blame",
    "export": "page.export",
    "pdf": "page.export",
    "images": "space.files",
    "broken links": "space.links",
    "trash": "spaces.restore",
    "new space": "spaces.create",
    "import": "spaces.act",
    "duplicate": "spaces.act",
    "git sync": "spaces.act",
    "permissions": "space.access",
    "invite": "admin members resource.create",
    "add user": "admin members resource.create",
    "members": "admin members",
    "users": "admin members",
    "teams": "admin teams",
    "sso": "admin SAML providers",
    "swagger": "admin OpenAPI specifications",
    "translation": "admin translations",
    "language": "admin translations",
    "font": "admin fonts",
    "custom domain": "admin subdomains",
    "new site": "sites sites resource.create",
    "publish": "sites sites resource.act",
    "share link": "sites share links",
    "redirect": "sites redirects",
    "mcp": "sites MCP servers",
    "dark mode": "app.theme",
    "preferences": "app.theme",
    "log out": "account.sign_out",
    "login": "account.sign_in",
    "switch account": "account.switch",
    "organization": "app.organization",
    "search": "app.search",
    "shortcuts": "app.help",
    "exit": "app.quit",
    "reload": "view.refresh",
    "undo": "write.undo",
    "offline": "space.keep_offline",
    "outbox": "app.activity",
}
"""Search texts, and the command that must be in the first three rows: a command id, or a table and a command."""


SIMILAR_COMMANDS = {
    "comments.reply": ("thread.reply",),
    "comments.resolve": ("inbox.resolve", "comment.resolve", "comment.resolve_here"),
    "comments.react": ("comment.react", "comment.react_here"),
    "comment.block": ("change.comment", "comment.page", "comments.new"),
    "page.export": ("change.export", "resources.export"),
    "space.keep_offline": ("app.offline",),
}
"""Commands that do the same in another view."""
WITHOUT_PALETTE = (
    ConflictsScreen,
    ThreeWayView,
    MergedPreviewScreen,
    SuggestionPreviewScreen,
    IncomingChangesScreen,
    SignInScreen,
    TermScreen,
)
"""Screens for a single task, which the palette does not cover, like dialogs."""


def name_of(value: object) -> str:
    """Return the id of a command. For a table, return the view, the heading, and the command that runs there."""
    if isinstance(value, ActiveCommand):
        return value.id
    if not isinstance(value, partial):
        return str(value)
    mode, _, what, command = value.args[2:] if _go_to_table in value.args else ("", "", "", value.args[-1])
    return " ".join(filter(None, (mode, what, command)))


def open_palette(run: Run) -> PaletteScreen:
    assert isinstance(run.app.screen, PaletteScreen)
    return run.app.screen


@pytest.mark.before_release
@pytest.mark.parametrize("view", ["inbox", "content", "changes", "comments", "sites", "admin"])
async def test_common_searches_are_in_the_first_three_rows_in_every_view(stage: Stage, view: str) -> None:
    async with stage.play(start=view) as run:
        await run.press(":")
        palette, missed = open_palette(run), {}
        for typed, wanted in COMMANDS_BY_SEARCH.items():
            palette._list_matches(typed)
            found = [name_of(each.choice.value) for each in palette.rows.items[:3]]
            same = {wanted, *SIMILAR_COMMANDS.get(wanted, ())}
            if same.isdisjoint(found):
                missed[typed] = found
        assert missed == {}


async def test_every_command_of_a_view_is_in_the_palette(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press(":")
        found = {name_of(each.value) for each in open_palette(run).choices()}
    kinds = [*KEYMAP_CONTEXTS, type(run.app)]
    views = [each for each in kinds if not issubclass(each, (ModalScreen, *WITHOUT_PALETTE))]
    commands = {
        id: command
        for view in views
        if issubclass(view, HasCommands)
        for id, (group, command) in view._commands_by_id.items()
        if group.name not in ("list", "tree")
    }
    missing = {id for id, each in commands.items() if each.name not in CURSOR_COMMANDS} - found
    # The palette does not list itself, and only `octavo demo` has `app.act_as`.
    missing -= {"app.palette", "app.act_as"}
    assert missing == {"comment.delete", "comment.edit", "diff.read_on"}, (
        "commands that share their keys and help sentence with another entry are not listed"
    )


async def test_palette_omits_commands_that_do_not_apply_to_the_open_view(stage: Stage) -> None:
    async with stage.play(start="content") as run:
        await run.see("Harbour API › Welcome")
        await run.press(":")
        await run.type("offline")
        await run.see("Make available offline")
        assert "Update offline copy" not in run.text
        assert "Remove offline copy" not in run.text


async def test_synonyms_belong_to_existing_commands(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press(":")
        found = {name_of(each.value).replace("resource.create", "new") for each in open_palette(run).choices()}
    assert set(SYNONYMS) - found == {"app.act_as", "sites Publish", "sites Unpublish"}


TEXTS_BY_SEARCH = (
    ("invite", "Invite"),
    ("new site", "New site"),
    ("share link", "Share links"),
    ("font", "› Fonts"),
    ("translation", "› Translations"),
    ("publish", "Unpublish"),
    ("broken links", "Broken"),
    ("history", "revision"),
    ("new change request", "New change request"),
    ("trash", "Restore by ID"),
    ("viewed", "1 of 1 viewed"),
    ("side by side", "change 1 of"),
)
"""Search texts for commands of other views, and the texts on the screen afterwards."""


@pytest.mark.before_release
@pytest.mark.parametrize("view", ["inbox", "content", "sites"])
async def test_command_of_another_view_opens_the_view_and_runs(stage: Stage, view: str) -> None:
    async with stage.play(NOOR, start=view) as run:
        for typed, *words in TEXTS_BY_SEARCH:
            await run.press(":")
            await run.type(typed)
            await run.press("enter")
            await run.see(*words)
            while isinstance(run.app.screen, ModalScreen):
                await run.press("escape")
