"""What the command palette finds outside the view on show: the commands of other views, and the tables of Sites and Admin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, cast

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from octavo.api.operation import Operation
from octavo.tui.comments.all_threads import CommentsScreen
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content import ContentScreen
from octavo.tui.content.files import FilesScreen
from octavo.tui.content.links import LinksScreen
from octavo.tui.content.page_history import PageHistoryScreen
from octavo.tui.content.spaces_pane import SpacesPane
from octavo.tui.inbox.inbox import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.resources import organization_resources, site_resources
from octavo.tui.resources.browser import BrowserScreen, go_into_row
from octavo.tui.resources.resource import Resource
from octavo.tui.review.change_request import ChangeRequestScreen
from octavo.tui.review.change_requests import ChangesScreen
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import View
from octavo.tui.terminal.textual_internals import keymap_of
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.command_palette import SYNONYMS, PaletteValue
from octavo.tui.widgets.commands import CURSOR_COMMANDS, HasCommands, active_commands, context_of, key_name

_PLACES: tuple[tuple[type[HasCommands], str, str], ...] = (
    (ChangesScreen, "changes", ""),
    (CommentsScreen, "comments", ""),
    (InboxScreen, "inbox", ""),
    (ContentScreen, "content", ""),
    (SpacesPane, "content", ""),
    (PageView, "content", ""),
    (ThreadView, "comments", ""),
    (ChangeRequestScreen, "changes", "list.open"),
    (DiffView, "changes", "list.open"),
    (FilesScreen, "content", "space.files"),
    (LinksScreen, "content", "space.links"),
    (PageHistoryScreen, "content", "page.history"),
    (BrowserScreen, "admin", ""),
)
"""Places with commands of their own, the first of those that share a command first: the view, and the command that opens the
place there. The commands of a dialog are left out: a dialog is opened for one thing."""

_LOOK_EVERY, _LOOKS = 0.02, 100
"""Seconds between two looks whether a place was opened, and how many looks. A row of a list is opened by a message."""
_LEVELS = 3
"""Levels of a view above the lowest: the outline, the page, the page tree, the spaces."""


def elsewhere(app: Shell, screen: Screen[Any]) -> list[Choice[PaletteValue]]:
    """Return the tables of Sites and Admin, and the commands that are not active on `screen`."""
    known = {command.id for command in active_commands(screen)}
    keys = _keys(app)
    found = [*_hidden(app, known), *_of_tables(app, keys)]
    told: set[tuple[str, str]] = set()
    """What the entries say up to the first comma, and their keys: two commands for the same are one entry."""
    for place, mode, opener in _PLACES:
        context = context_of(cast("type[Widget]", place)).upper()
        for id, (group, command) in place._commands_by_id.items():
            if id in known or group.name in ("list", "tree") or command.name in CURSOR_COMMANDS:
                continue
            known.add(id)
            go, way = partial(_begin, app, _to_command, mode, opener, id), (f"view.{mode}", opener, id)
            right = " ".join(keys[each] for each in way if keys.get(each))
            if (said := (command.help.partition(",")[0], right)) not in told:
                told.add(said)
                words = SYNONYMS.get(id, "")
                found.append(Choice(go, command.title, command.help, right, context, synonyms=words, view=mode))
    return found


def _hidden(app: Shell, known: set[str]) -> Iterator[Choice[PaletteValue]]:
    """Yield the commands of the app whose key does something else on the screen."""
    own = cast("HasCommands", app)
    for id, (_, command) in own._commands_by_id.items():
        if id not in known and own.check_action("command", (id,)):
            go = partial(own.run_command, id)
            yield Choice(go, command.title, command.help, group="ANYWHERE", synonyms=SYNONYMS.get(id, ""))


def _keys(app: Shell) -> dict[str, str]:
    """Return the first key of each command, as it is shown. Empty: the command has no key."""
    chosen = keymap_of(cast("App[Any]", app))
    places = (cast("type[HasCommands]", type(app)), *(place for place, _, _ in _PLACES))
    commands = {id: command for place in places for id, (_, command) in place._commands_by_id.items()}
    keys = {id: (chosen.get(id) or command.keys).split(",")[0] for id, command in commands.items()}
    return {id: key and key_name(key) for id, key in keys.items()}


def _of_tables(app: Shell, keys: Mapping[str, str]) -> Iterator[Choice[PaletteValue]]:
    for mode, kinds in (("sites", site_resources.KINDS), ("admin", organization_resources.KINDS)):
        for kind in kinds:
            yield from _of_table(app, mode, kind, "", keys)
            for child in kind.children if mode == "sites" else ():
                yield from _of_table(app, mode, child, kind.many, keys)


def _of_table(
    app: Shell, mode: str, kind: Resource[Any], holder: str, keys: Mapping[str, str]
) -> Iterator[Choice[PaletteValue]]:
    def choice(title: str, detail: str, suffix: str = "", command: str = "") -> Choice[PaletteValue]:
        go = partial(_begin, app, _to_table, mode, holder, kind.many, command)
        name = f"{mode} {suffix or kind.many}"
        return Choice(go, title, detail, keys[f"view.{mode}"], mode.upper(), synonyms=SYNONYMS.get(name, ""), view=mode)

    yield choice(kind.heading, kind.about)
    if kind.create is not None or kind.add is not None:
        yield choice(kind.called_new, kind.making or kind.about, f"{kind.many} new", "resource.create")
    for action in kind.actions:
        yield choice(action.name, action.help, action.name, "resource.act")
    if kind.ask is not None:
        yield choice(kind.ask.name, kind.about, kind.ask.name, "resource.ask")


def _begin(app: Shell, work: Callable[..., Coroutine[Any, Any, None]], *parts: str) -> None:
    app.background(work(app, *parts))


async def _to_command(app: Shell, mode: str, opener: str, id: str) -> None:
    """Go to a view, open a place there, and run a command."""
    view = await _to_view(app, mode)
    if opener and await _run(app, opener):
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_EVERY)
            if app.screen is not view and app.screen.focused is not None:
                await _loaded(app.screen)
                break
    await _run(app, id)


async def _to_table(app: Shell, mode: str, holder: str, many: str, id: str) -> None:
    """Go to a table of Sites or Admin, below the selected row of `holder` if the table is of one row, and run a command."""
    view = cast("BrowserScreen", await _to_view(app, mode))
    if not view.levels:
        app.explain("Could not open the list: no organization is loaded. Press r to retry.")
        return
    view.show_kind(holder or many)
    await _loaded(view)
    if holder:
        if view.rows.item is None:
            app.explain(f"Could not open the list: there are no {holder} yet.")
            return
        go_into_row(view, many)
        await _loaded(view)
    if id:
        await _run(app, id)


async def _to_view(app: Shell, mode: str) -> View:
    app.trail.leave(opened=False)
    await app.switch_mode(mode)
    while len(app.screen_stack) > 1:
        await app.pop_screen()
    view = cast("View", app.screen_stack[0])
    await _loaded(view)
    return view


async def _loaded(view: Screen[Any]) -> None:
    """Wait until no question of a view is open, and its answers ask for nothing more."""
    rested: set[Operation[Any]] = set()
    while isinstance(view, View):
        waiting = {*view.shell.workspace.ops, *view.subscriptions.ops()} - rested
        if not waiting:
            return
        for op in waiting:
            await view.live.wait_loaded(op)
        rested |= waiting
        await asyncio.sleep(_LOOK_EVERY)  # answers are shown by messages


async def _run(app: Shell, id: str) -> bool:
    """Run a command where the screen has it, and wait for what it opens. False if the screen does not have it."""
    screen = app.screen
    around = screen.focused.ancestors_with_self if screen.focused is not None else ()
    places = [each for each in (*around, *screen.query("*"), screen) if isinstance(each, HasCommands)]
    place = next((each for each in places if id in each._commands_by_id), None)
    if place is None:
        app.explain("Open an item in this list first, then run the command again.")
        return False
    widget = cast("Widget", place)
    for _ in range(_LEVELS):
        if all(each.display for each in widget.ancestors_with_self) or not isinstance(screen, View):
            break
        screen.go_up()  # the list of spaces is hidden while the page tree is shown
    if widget is not screen:
        widget.focus()
    for _ in range(_LOOKS):
        if place.why_not(id) is None:
            break
        await asyncio.sleep(_LOOK_EVERY)  # messages that are still to be handled may select a row
    await place.run_command(id)
    return True
