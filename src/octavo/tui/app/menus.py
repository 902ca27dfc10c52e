"""Menus that switch the organization or the demo user, or open a help topic. Also the entries of the command palette
for views that are not open: start at `palette_entries`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, cast

from textual.screen import Screen
from textual.widget import Widget

from octavo.api import system
from octavo.api.labels import label
from octavo.api.operation import ListPage, Operation, OrganizationRef
from octavo.api.organizations import GetMember, Member, Organization
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.queries import spaces_op
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.help import TOPICS, text_of
from octavo.tui.app.background_refresh import reopen
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.content.links import FilesScreen, LinksScreen
from octavo.tui.content.page_history import PageHistoryScreen
from octavo.tui.content.space_panes import SpacesPane
from octavo.tui.core.shell import Shell, explained, shell_of, stop_subscriptions, subscriptions_of
from octavo.tui.core.view import View
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.resources import organization_resources, site_resources
from octavo.tui.resources.resource import Resource
from octavo.tui.resources.resource_browser import BrowserScreen, open_selected_row
from octavo.tui.review.page_blame import BlameScreen
from octavo.tui.review.request_list import RequestListScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.chooser import Choice, Chooser, Picker
from octavo.tui.widgets.command_palette import SYNONYMS, PaletteValue
from octavo.tui.widgets.commands import CURSOR_COMMANDS, HasCommands, active_commands, help_heading_of, key_name
from octavo.tui.widgets.short_texts import plural

_MAX_COUNTED_ORGANIZATIONS = 50
_ALLOWED_ACTIONS_BY_ROLE = {
    "administrator": "do everything",
    "creator": "create spaces, review, and merge",
    "reviewer": "edit and review, but not merge",
    "editor": "edit and comment, but not review",
    "commenter": "read and comment",
    "reader": "read",
    "guest": "read one space only",
}
"""Actions that each demo user may do, by role, for a phrase after “can”."""


class OrganizationMenu(Chooser[Organization | None, Organization]):
    """The menu of organizations, with the user's role and the number of open items in each."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)
    on_unmount = stop_subscriptions

    def __init__(self) -> None:
        super().__init__("Switch organization")

    def select_initial(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        for organization in self._organizations[:_MAX_COUNTED_ORGANIZATIONS]:
            spaces_list_op = spaces_op(organization.id)
            self.subscriptions.follow(f"spaces {organization.id}", spaces_list_op, lambda _: self._show())
            if (me := self.shell.workspace.me) is not None:
                member_op = GetMember(at=OrganizationRef(organization_id=organization.id), user_id=me.id)
                self.subscriptions.follow(f"member {organization.id}", member_op, lambda _: self._show())
        self._show()

    @property
    def _organizations(self) -> tuple[Organization, ...]:
        snapshot = self.shell.workspace.organizations
        return snapshot.value.items if snapshot.value is not None else ()

    def _counts_text(self, organization: Organization) -> str:
        """Return counts such as `3 spaces · 2 open change requests`, or an error sentence. `…` while they load."""
        snapshot: Snapshot[ListPage[Space]] = self.subscriptions.snapshot(f"spaces {organization.id}")
        if snapshot.value is None:
            return f"Could not load the spaces: {snapshot.error}" if snapshot.error is not None else "…"
        spaces, workspace = snapshot.value.items, self.shell.workspace
        count_texts = [plural(len(spaces), "space")]
        count_texts.append(plural(sum(each.change_requests_open for each in spaces), "open change request"))
        if workspace.organization is None or workspace.organization.id != organization.id:
            count_texts.append(f"{plural(sum(each.comments for each in spaces), 'open thread')} on pages")
        elif (open_threads := workspace.attention_counts.get("comments")) is not None:
            count_texts.append(plural(open_threads, "open thread"))
        return " · ".join(count_texts)

    def _role(self, organization: Organization) -> str:
        member: Member | None = self.subscriptions.snapshot(f"member {organization.id}").value
        return label(member.role or "guest") if member is not None else ""

    def choices(self) -> list[Choice[Organization]]:
        current_organization = self.shell.workspace.organization
        return [
            Choice(
                each,
                each.title,
                detail=" · ".join(filter(None, (self._role(each), self._counts_text(each)))),
                right="current" if current_organization is not None and current_organization.id == each.id else "",
                sign="◆",
            )
            for each in self._organizations
        ]

    def _show(self) -> None:
        if is_being_removed(self):
            return
        reason = self.shell.workspace.no_organization_reason
        self._empty = f"{reason[0]}." if reason is not None else "Loading organizations…"
        self.rows.state.hint = reason[1] if reason is not None else ""
        self.show_choices(self.choices())


def choose_organization(app: Shell) -> None:
    """Show the menu of organizations. Switch to the organization that the user chooses."""
    app.ask(OrganizationMenu(), app.workspace.switch_organization)


def choose_demo_user(app: Shell) -> None:
    """Show the menu of demo users, and start the app again as the chosen user. Do nothing outside the demo."""
    roles = app.session.demo_roles
    if roles is None:
        return
    current_role = roles.current_role
    choices = [
        Choice(role, role.capitalize(), "current" if role == current_role else "", f"can {actions}")
        for role, actions in _ALLOWED_ACTIONS_BY_ROLE.items()
        if role in roles.roles
    ]

    def switch(role: str) -> None:
        if role != current_role:
            greeting = f"Switched to the demo user with the role {role}."
            reopen(app, lambda: (app.sign_in_methods, roles.open_session(role)), greeting)

    app.ask(Picker("Switch demo user", choices, initial=current_role), switch)


def choose_topic(app: Shell) -> None:
    """Show the menu of help topics. Open the topic that the user chooses."""

    def show(topic: str) -> None:
        blocks = parse(text_of(topic)).blocks
        app.push_screen(TextDialog(Block("note", children=blocks, key=topic), DeferredContent(), f"Help: {topic}"))

    app.ask(Picker("Help topics", [Choice(name, name, detail=summary) for name, summary in TOPICS.items()]), show)


def show_server_version(app: Shell) -> None:
    """Load the version of the server, and show it as a notification."""

    async def load_version() -> None:
        with explained("Could not load the server version"):
            server = await app.session.live.send(system.Get())
        app.say(f"Server version {server.version}{f', build {server.build}' if server.build else ''}.")

    app.background(load_version())


_COMMAND_OWNERS: tuple[tuple[type[HasCommands], str, str], ...] = (
    (RequestListScreen, "changes", ""),
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
    (BlameScreen, "content", "page.blame"),
    (BrowserScreen, "admin", ""),
)
"""Each class with commands, the Textual mode of its view, and the ID of the view's command that opens its screen. The
ID is empty if the class is the view itself or a pane of the view."""

_CHECK_INTERVAL = 0.02
"""Seconds between two checks whether a command has opened its screen, or can run."""
_MAX_CHECKS = 100
_MAX_LEVELS = 3
"""Maximum number of levels that `_run` goes up to show a hidden pane, such as from the outline to the spaces."""


def palette_entries(app: Shell, screen: Screen[Any]) -> list[Choice[PaletteValue]]:
    """Return entries for tables, inactive app commands, and commands of views. Such a command first opens its view."""
    listed_ids = {command.id for command in active_commands(screen)}
    keys = _first_keys(app)
    entries = [*_app_commands(app, listed_ids), *_table_choices(app, keys)]
    for node in (screen.focused or screen).ancestors_with_self:
        if isinstance(node, HasCommands):  # Leave out inactive commands of open widgets: they cannot run here.
            listed_ids |= node._commands_by_id.keys()
    # Commands with the same keys, and the same help up to the first comma, share one entry.
    listed_entries: set[tuple[str, str]] = set()
    for owner, mode, opener_id in _COMMAND_OWNERS:
        context = help_heading_of(cast("type[Widget]", owner)).upper()
        for id, (group, command) in owner._commands_by_id.items():
            if id in listed_ids or group.name in ("list", "tree") or command.name in CURSOR_COMMANDS:
                continue
            listed_ids.add(id)
            run, path_ids = partial(_start, app, _go_to_command, mode, opener_id, id), (f"view.{mode}", opener_id, id)
            right = " ".join(keys[each] for each in path_ids if keys.get(each))
            if (entry := (command.help.partition(",")[0], right)) not in listed_entries:
                listed_entries.add(entry)
                synonyms = SYNONYMS.get(id, "")
                entries.append(Choice(run, command.title, command.help, right, context, synonyms=synonyms, view=mode))
    return entries


def _app_commands(app: Shell, listed_ids: set[str]) -> Iterator[Choice[PaletteValue]]:
    for id, (_, command) in app._commands_by_id.items():
        if id not in listed_ids and app.check_action("command", (id,)):
            run = partial(app.run_command, id)
            yield Choice(run, command.title, command.help, group="ANYWHERE", synonyms=SYNONYMS.get(id, ""))


def _first_keys(app: Shell) -> dict[str, str]:
    keymap = app.keys_of_user
    owners: tuple[type[HasCommands], ...] = (type(app), *(owner for owner, _, _ in _COMMAND_OWNERS))
    commands = {id: command for owner in owners for id, (_, command) in owner._commands_by_id.items()}
    keys = {id: (keymap.get(id) or command.keys).split(",")[0] for id, command in commands.items()}
    return {id: key and key_name(key) for id, key in keys.items()}


def _table_choices(app: Shell, keys: Mapping[str, str]) -> Iterator[Choice[PaletteValue]]:
    for mode, resources in (("sites", site_resources.TABLES), ("admin", organization_resources.TABLES)):
        for resource in resources:
            yield from _resource_choices(app, mode, resource, "", keys)
            for child in resource.children if mode == "sites" else ():
                yield from _resource_choices(app, mode, child, resource.plural, keys)


def _resource_choices(
    app: Shell, mode: str, resource: Resource[Any], parent_table: str, keys: Mapping[str, str]
) -> Iterator[Choice[PaletteValue]]:
    def choice(title: str, detail: str, suffix: str = "", command_id: str = "") -> Choice[PaletteValue]:
        run = partial(_start, app, _go_to_table, mode, parent_table, resource.plural, command_id)
        key = f"{mode} {suffix or resource.plural}"
        return Choice(run, title, detail, keys[f"view.{mode}"], mode.upper(), synonyms=SYNONYMS.get(key, ""), view=mode)

    yield choice(resource.heading, resource.description)
    if resource.create is not None or resource.add_item is not None:
        yield choice(
            resource.create_label,
            resource.create_intro or resource.description,
            f"{resource.plural} new",
            "resource.create",
        )
    for action in resource.actions:
        yield choice(action.name, action.help, action.name, "resource.act")
    if resource.command is not None:
        yield choice(resource.command.name, resource.description, resource.command.name, "resource.ask")


def _start(app: Shell, go_to: Callable[..., Coroutine[Any, Any, None]], *parts: str) -> None:
    app.background(go_to(app, *parts))


async def _go_to_command(app: Shell, mode: str, opener_id: str, id: str) -> None:
    view = await _switch_to_view(app, mode)
    if opener_id and await _run(app, opener_id):
        for _ in range(_MAX_CHECKS):
            await asyncio.sleep(_CHECK_INTERVAL)
            if app.screen is not view and app.screen.focused is not None:
                await _wait_until_loaded(app.screen)
                break
    await _run(app, id)


async def _go_to_table(app: Shell, mode: str, parent_table: str, table: str, id: str) -> None:
    """Show `table`, then run the command `id` if it is not empty. If `parent_table` is not empty, `table` is inside an
    item of `parent_table`: open the selected item first."""
    view = cast("BrowserScreen", await _switch_to_view(app, mode))
    if not view.levels:
        app.explain("Could not open the list: no organization is loaded. Press r to retry.")
        return
    view.show_table(parent_table or table)
    await _wait_until_loaded(view)
    if parent_table:
        if view.rows.item is None:
            app.explain(f"Could not open the list: there are no {parent_table} yet.")
            return
        open_selected_row(view, table)
        await _wait_until_loaded(view)
    if id:
        await _run(app, id)


async def _switch_to_view(app: Shell, mode: str) -> View:
    app.history.record(opens_item=False)
    await app.switch_mode(mode)
    while len(app.screen_stack) > 1:
        await app.pop_screen()
    view = cast("View", app.screen_stack[0])
    await _wait_until_loaded(view)
    return view


async def _wait_until_loaded(view: Screen[Any]) -> None:
    loaded_operations: set[Operation[Any]] = set()
    while isinstance(view, View):
        unloaded_operations = {*view.shell.workspace.operations, *view.subscriptions.operations()} - loaded_operations
        if not unloaded_operations:
            return
        for op in unloaded_operations:
            await view.live.wait_loaded(op)
        loaded_operations |= unloaded_operations
        await asyncio.sleep(_CHECK_INTERVAL)  # Let the views show the responses, which may start more operations.


async def _run(app: Shell, id: str) -> bool:
    """Run the command `id` of a widget on the screen. If no widget has it, show a message and return False."""
    screen = app.screen
    focused_nodes = screen.focused.ancestors_with_self if screen.focused is not None else ()
    owners = [node for node in (*focused_nodes, *screen.query("*"), screen) if isinstance(node, HasCommands)]
    owner = next((each for each in owners if id in each._commands_by_id), None)
    if owner is None:
        app.explain("Open an item in this list first, then run the command again.")
        return False
    widget = cast("Widget", owner)
    for _ in range(_MAX_LEVELS):
        if all(each.display for each in widget.ancestors_with_self) or not isinstance(screen, View):
            break
        screen.go_up()  # The widget is hidden, such as the list of spaces behind the page tree.
    if widget is not screen:
        widget.focus()
    for _ in range(_MAX_CHECKS):
        if owner.why_not(id) is None:
            break
        await asyncio.sleep(_CHECK_INTERVAL)  # A message that is not handled yet may select a row for the command.
    await owner.run_command(id)
    return True
