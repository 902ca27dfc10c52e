"""Runs programs that the user defines in the settings. A custom command runs on the item with the cursor, or on an item
that contains it. A hook runs when the inbox has a new row, or when a change request was merged.

Octavo never runs a shell. A program gets the item as JSON on standard input, in environment variables, and in the
placeholders of its arguments.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from textual.dom import DOMNode

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Page
from octavo.api.operation import Discussion, SpaceRef
from octavo.api.safety import safe_line, safe_text
from octavo.api.spaces import Space
from octavo.data.space_names import space_name
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.settings import Settings
from octavo.settings.file import quoted
from octavo.settings.programs import ITEM_KINDS, CustomCommand, Hook, ItemKind
from octavo.tui.app.inbox_events import InboxEvent, InboxEventDetector, event_of_merge, event_of_row
from octavo.tui.comments import thread_actions
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.comments.thread_commands import ThreadTarget
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.content.space_panes import SpacesPane
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View, current_view
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.review.page_blame import BlameScreen
from octavo.tui.review.request_list import RequestListScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.terminal.limited_programs import ProgramFailed, run_cancellable, run_on_item, start_failure
from octavo.tui.terminal.textual_internals import is_fully_mounted, write_to_terminal
from octavo.tui.widgets.commands import Command, Commands, add_commands, key_name, normal_keys, own_bindings
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.short_texts import shorten
from octavo.tui.widgets.tree import Tree

_PANES = (ContentScreen, SpacesPane, PageView, Tree, ChangeRequestScreen, DiffView)
_REQUEST_LISTS = (InboxScreen, RequestListScreen, ThreadView, RowList)
VIEWS: Mapping[ItemKind, tuple[type[DOMNode], ...]] = MappingProxyType(
    {
        "block": (ContentScreen, PageView, ChangeRequestScreen, DiffView),
        "thread": (*_PANES, InboxScreen, CommentsScreen, ThreadView, RowList),
        "page": _PANES,
        "change": (ChangeRequestScreen, DiffView, Tree, BlameScreen, *_REQUEST_LISTS),
        "inbox": (InboxScreen, ThreadView, RowList),
        "space": (*_PANES, CommentsScreen, *_REQUEST_LISTS),
    }
)
"""Screens and widgets in which the user can select an item, by kind of item."""


@dataclass(frozen=True)
class CommandTarget:
    """An item on which a custom command can run. All texts come from the server and are sanitized."""

    kind: str
    ref: str
    """Reference for the command line, such as `handbook/7`. Empty if it is unknown."""
    title: str
    space: str
    """Name of the space in references, such as `handbook`. Empty if the space is unknown."""
    url: str
    text: str = ""
    """Text of the block, the thread's first comment, or the inbox row's notification. Empty for other items."""
    path: str = ""
    """Path of the page, such as `guides/install`. Empty if the item is not on a page."""
    block: str = ""
    """Key of the block. Empty if the item is not on a block."""
    open_comment: Callable[[str], None] | None = None
    """Opens the comment editor with a given text, to comment on the item. None if the item cannot have comments."""

    @property
    def as_json(self) -> dict[str, Any]:
        names = ("kind", "ref", "title", "text", "space", "url", "path", "block")
        return {name: getattr(self, name) for name in names}


def find_targets(view: View) -> dict[ItemKind, CommandTarget]:
    """Return the item with the cursor and the items that contain it, such as block, page and space, by kind of item."""
    models = view.selected_items
    change_request = next((each for each in models if isinstance(each, ChangeRequest)), None)
    space = next((each for each in models if isinstance(each, Space)), None)
    targets: dict[ItemKind, CommandTarget] = {}
    if (thread := _selected_thread(view)) is not None:
        targets["thread"] = _thread_target(view.shell, thread, change_request)
    if isinstance(view, InboxScreen):
        targets |= _inbox_target(view, change_request, targets.get("thread"))
    elif isinstance(view, ContentScreen):
        targets |= _page_targets(view, space)
    elif isinstance(view, ChangeRequestScreen):
        targets |= _changed_page_targets(view)
    if change_request is not None:
        targets["change"] = _change_request_target(view.shell, change_request, view)
    if space is not None:
        targets["space"] = _space_target(view.shell, space)
    return targets


def _selected_thread(view: View) -> ThreadTarget | None:
    ancestors = view.focused.ancestors_with_self if view.focused is not None else ()
    if thread_view := next((each for each in ancestors if isinstance(each, ThreadView)), None):
        return thread_view.thread_target
    if isinstance(view, (CommentsScreen, InboxScreen)):
        return view.thread_target
    if isinstance(view, (ContentScreen, ChangeRequestScreen)):
        return view.page_discussion.selected_thread
    return None


def _thread_target(app: Shell, thread: ThreadTarget, change_request: ChangeRequest | None) -> CommandTarget:
    at, first_message = thread.at, thread.thread
    page, node = first_message.target.page, first_message.target.node
    space = _space_name_of(app, at.space_id)
    is_known = isinstance(at, SpaceRef) or (change_request is not None and bool(space))
    container_ref = space if isinstance(at, SpaceRef) or change_request is None else f"{space}/{change_request.number}"
    return CommandTarget(
        "thread",
        f"{container_ref}@{first_message.id}" if is_known and container_ref else first_message.id,
        thread_actions.thread_label(first_message),
        space,
        thread.url,
        first_message.body.text,
        (page.path or "") if page is not None else "",
        node.id if node is not None else "",
        lambda text: thread_actions.reply(app, at, first_message, added_text=text),
    )


def _inbox_target(
    view: InboxScreen, change_request: ChangeRequest | None, thread: CommandTarget | None
) -> dict[ItemKind, CommandTarget]:
    row = view.rows.item
    if row is None:
        return {}
    app = view.shell
    event = event_of_row(row, change_request, app.workspace.space_titles)
    change_target = _change_request_target(app, change_request, view) if change_request is not None else None
    comment_target = thread or change_target
    open_comment = comment_target.open_comment if comment_target is not None else None
    target = CommandTarget(
        event.kind, event.ref, event.title, event.space, event.url, event.text, open_comment=open_comment
    )
    return {"inbox": target}


def _page_targets(view: ContentScreen, space: Space | None) -> dict[ItemKind, CommandTarget]:
    page = next((each for each in view.selected_items if isinstance(each, Page)), None)
    if page is None or space is None:
        return {}
    block = None if view.target.is_tree_focused else view.target.selected_block
    container_ref, url = _space_name_of(view.shell, space.id), page.urls.app or ""
    return _page_and_block_targets(
        view.shell, space.ref, container_ref, (page.id, page.title, page.path or ""), block, url
    )


def _changed_page_targets(view: ChangeRequestScreen) -> dict[ItemKind, CommandTarget]:
    selected_change = view.selected_change
    page = selected_change.change.page if selected_change is not None else None
    if selected_change is None or page is None:
        return {}
    block = None if view.page_diff.is_on_old_version else selected_change.block
    change_request = selected_change.comparison.change_request
    container_ref = _change_ref(view.shell, view.at.space_id, change_request)
    selected_page = (page.id, page.title, page.path or "")
    return _page_and_block_targets(
        view.shell, view.at, container_ref, selected_page, block, change_request.urls.app or ""
    )


def _page_and_block_targets(
    app: Shell, at: Discussion, container_ref: str, page: tuple[str, str, str], block: Block | None, url: str
) -> dict[ItemKind, CommandTarget]:
    """Return the targets of custom commands by kind: a page and, if a block is selected, this block. `page` is the ID,
    title and path of the page. If `block` stands for a thread or for collapsed blocks, return only the page."""
    page_id, title, path = page
    space = _space_name_of(app, at.space_id)
    ref = f"{container_ref}:{path or page_id}" if container_ref else ""
    open_comment = partial(_open_comment, app, at, page_id, None, title, title)
    targets: dict[ItemKind, CommandTarget] = {
        "page": CommandTarget("page", ref, title, space, url, "", path, open_comment=open_comment)
    }
    if block is not None and block.kind not in ("thread", "fold"):
        text = block.plain()
        open_comment = partial(_open_comment, app, at, page_id, block.key, title, text)
        block_ref = f"{ref}@{block.key}" if ref else ""
        targets["block"] = CommandTarget("block", block_ref, title, space, url, text, path, block.key, open_comment)
    return targets


def _change_request_target(app: Shell, change_request: ChangeRequest, view: View) -> CommandTarget:
    space_id = change_request.space or (view.at.space_id if isinstance(view, ChangeRequestScreen) else "")
    title = change_request.title
    open_comment = None
    if space_id:
        at = change_request.ref(SpaceRef(space_id=space_id))
        open_comment = partial(_open_comment, app, at, None, None, f"#{change_request.number}", title)
    return CommandTarget(
        "change",
        _change_ref(app, space_id, change_request),
        title,
        _space_name_of(app, space_id),
        change_request.urls.app or "",
        open_comment=open_comment,
    )


def _space_target(app: Shell, space: Space) -> CommandTarget:
    name, title = _space_name_of(app, space.id), space.title
    open_comment = partial(_open_comment, app, space.ref, None, None, title, title)
    return CommandTarget("space", name, title, name, space.urls.app or "", open_comment=open_comment)


def _open_comment(
    app: Shell, at: Discussion, page_id: str | None, block_key: str | None, title: str, excerpt: str, text: str
) -> None:
    thread_actions.start_thread(app, at, page_id=page_id, node=block_key, title=title, excerpt=excerpt, added_text=text)


def _space_name_of(app: Shell, space_id: str) -> str:
    titles = app.workspace.space_titles
    return space_name(space_id, titles) if space_id in titles else ""


def _change_ref(app: Shell, space_id: str, change_request: ChangeRequest) -> str:
    name = _space_name_of(app, space_id)
    return f"{name}/{change_request.number}" if name else ""


COMMAND_SECONDS = 30.0
MAX_SHOWN_LENGTH = 100_000
"""Maximum number of characters of a program's output that a dialog or a comment shows."""
_MAX_LINE_LENGTH = 200
"""Maximum number of characters of a program's output that a notification shows."""
_CHECK_INTERVAL = 0.1
"""Seconds between two checks whether all dialogs are closed."""
_KIND_NAMES: Mapping[ItemKind, str] = MappingProxyType(
    {
        "block": "block",
        "thread": "thread",
        "page": "page",
        "change": "change request",
        "inbox": "row of the inbox",
        "space": "space",
    }
)


def add_custom_commands(app: Shell) -> tuple[str, ...]:
    """Add the custom commands of the settings to the app. Return a sentence for each key that cannot be used."""
    keys, problems = usable_keys(app.settings, app.keys_of_user, type(app))
    runner = _Runner(app)
    commands = tuple(runner.command(each, keys[each.name]) for each in app.settings.commands)
    add_commands(app, Commands("custom", commands))
    return problems


def usable_keys(
    settings: Settings, keys_of_user: Mapping[str, str], app: type[DOMNode]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the usable keys of each custom command, by command name, as comma-separated text. Also return a sentence
    for each key that another command already uses. `keys_of_user` has the user's keys for built-in commands, by ID."""
    keys_by_name: dict[str, str] = {}
    problems: list[str] = []
    custom_keys: dict[str, str] = {}
    for program in settings.commands:
        classes = dict.fromkeys((app, *(each for kind in program.item_kinds for each in VIEWS[kind])))
        command_by_key = {**_built_in_keys(classes, keys_of_user), **custom_keys}
        keys_of_command = []
        for key in normal_keys(program.key):
            if owner := command_by_key.get(key):
                problem = f"{quoted(program.name)} cannot use {key_name(key)}: {owner} already uses this key."
                problems.append(f"{settings.location('command')} {problem}")
            else:
                custom_keys[key] = program.name
                keys_of_command.append(key)
        keys_by_name[program.name] = ",".join(keys_of_command)
    return keys_by_name, tuple(problems)


def _built_in_keys(classes: Iterable[type[DOMNode]], keys_of_user: Mapping[str, str]) -> dict[str, str]:
    bindings = [each for owner in classes for base in owner.__mro__ for each in own_bindings(base)]
    return {
        key: each.id or each.description or each.action
        for each in bindings
        for key in normal_keys(keys_of_user.get(each.id or "", each.key))
    }


class _Runner:
    """Runs the programs of custom commands. A command does not run twice at the same time."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._running_by_name: dict[str, asyncio.Task[None]] = {}

    def command(self, program: CustomCommand, keys: str) -> Command[Shell]:
        return Command(
            program.id,
            keys,
            program.name,
            f"Run {program.command[0]} on the selected {_kind_names(program)}",
            run=lambda app, _: self._run(program),
            why_not=lambda app, _: self._why_not(program),
            title_now=lambda app, _: f"Cancel {program.name}" if program.name in self._running_by_name else None,
            is_available=lambda app, _: app.has_session,
            writes=program.writes,
        )

    def _target(self, program: CustomCommand) -> CommandTarget | None:
        view = current_view(self._app)
        # The key bar asks for the target even while the view has no widgets yet.
        targets = find_targets(view) if view is not None and is_fully_mounted(view) else {}
        return next((targets[kind] for kind in ITEM_KINDS if kind in program.item_kinds and kind in targets), None)

    def _why_not(self, program: CustomCommand) -> str | None:
        if program.name in self._running_by_name:
            return None
        target = self._target(program)
        if target is None:
            return f"Select a {_kind_names(program)} first."
        if program.output_target == "pending-comment" and target.open_comment is None:
            return "This item cannot have comments."
        return None

    def _run(self, program: CustomCommand) -> None:
        """If `program` is running, cancel it. Otherwise, run it on the selected item, after any needed confirmation."""
        if running_task := self._running_by_name.get(program.name):
            running_task.cancel()
            return
        target = self._target(program)
        if target is None:
            return
        if not program.needs_confirmation:
            self._start(program, target)
            return

        def start(_: Confirmed) -> None:
            if program.name not in self._running_by_name:
                self._start(program, target)

        title = f"{target.ref} {target.title}".strip()
        intro = f"Runs {program.command[0]} on {title}. Octavo cannot undo what the program does."
        self._app.ask(ConfirmDialog(f"Run {program.name}?", verb="Run", intro=intro), start)

    def _start(self, program: CustomCommand, target: CommandTarget) -> None:
        task = self._app.background(self._run_and_show(program, target))
        self._running_by_name[program.name] = task
        task.add_done_callback(lambda _: self._running_by_name.pop(program.name, None))

    async def _run_and_show(self, program: CustomCommand, target: CommandTarget) -> None:
        app = self._app
        app.say(f"Running {program.name}… To cancel, choose the command again.")
        try:
            output = await run_cancellable(partial(_run_program, program, target))
        except ProgramFailed as error:
            app.say(safe_line(str(error)), tone="failed")
            return
        except asyncio.CancelledError:
            app.say(f"Canceled {program.name}.")
            raise
        text = safe_text(output.decode("utf-8", "replace")).strip()
        if program.output_target == "notification":
            app.say(_first_line(text) or f"Finished {program.name}.")
        elif program.output_target != "none" and not text:
            app.say(f"{program.name} printed nothing.", tone="care")
        elif program.output_target != "none":
            await self._show(program, target, text)

    async def _show(self, program: CustomCommand, target: CommandTarget, text: str) -> None:
        """Show the output of a program in a dialog or in the comment editor, as soon as no other dialog is open."""
        app = self._app
        shown_text = text[:MAX_SHOWN_LENGTH]
        if len(text) > MAX_SHOWN_LENGTH:
            app.say(f"Only the first {MAX_SHOWN_LENGTH:,} of {len(text):,} characters are shown.", tone="care")
        if not isinstance(app.screen, View):
            app.say(f"Close the dialog to see the output of {program.name}.")
        while not isinstance(app.screen, View):  # noqa: ASYNC110  # Textual does not report closed dialogs.
            await asyncio.sleep(_CHECK_INTERVAL)
        if program.output_target == "pending-comment" and target.open_comment is not None:
            target.open_comment(shown_text)
            return
        fence = "`" * (3 + max(map(len, re.findall("`+", shown_text)), default=0))
        document = await asyncio.to_thread(parse, f"{fence}\n{shown_text}\n{fence}")
        output_block = Block("note", children=document.blocks, key="output")
        app.push_screen(TextDialog(output_block, DeferredContent(), program.name))


def _kind_names(program: CustomCommand) -> str:
    return " or ".join(_KIND_NAMES[kind] for kind in ITEM_KINDS if kind in program.item_kinds)


def _first_line(text: str) -> str:
    line = next((each for each in text.splitlines() if each.strip()), "")
    return shorten(safe_line(line).strip(), _MAX_LINE_LENGTH)


def _run_program(program: CustomCommand, target: CommandTarget, cancelled: threading.Event) -> bytes:
    name = program.name
    values = {
        "ref": target.ref,
        "url": target.url,
        "kind": target.kind,
        "space": target.space,
        "path": target.path,
        "block": target.block,
    }
    variables = {"OCTAVO_PAGE_PATH" if key == "path" else f"OCTAVO_{key.upper()}": values[key] for key in values}
    try:
        program_result = run_on_item(
            name, program.command, target.as_json, values, variables, seconds=COMMAND_SECONDS, cancelled=cancelled
        )
    except OSError as error:
        next_step = "Correct the [[command]] in the settings"
        raise start_failure(name, program.command[0], error, next_step) from None
    if program_result.exit_code:
        cause = _first_line(program_result.errors.decode("utf-8", "replace"))
        raise ProgramFailed(
            f"Could not run {name}: exit code {program_result.exit_code}{f', “{cause}”' if cause else ''}."
        )
    return program_result.output


MAX_NOTIFICATION_LENGTH = 80
"""Maximum number of characters in a desktop notification."""
_SEQUENCE_NAMES_BY_PROGRAM = {"iTerm.app": "osc9", "WezTerm": "osc9", "ghostty": "osc9", "rio": "osc9"}
_SEQUENCE_TEMPLATES = {
    "osc9": "\x1b]9;{text}\x1b\\",
    "osc777": "\x1b]777;notify;Octavo;{text}\x1b\\",
    "osc99": "\x1b]99;;{text}\x1b\\",
}
HOOK_SECONDS = 10.0
MAX_PER_HOUR = 30
"""Maximum number of hooks that run in an hour. Also the maximum number of notifications in an hour."""
_HOUR = timedelta(hours=1)


class EventHooks:
    """Runs the user's hooks, one at a time. Shows desktop notifications while the terminal has no focus."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._detector = InboxEventDetector()
        self._organization_id: str | None = None
        """ID of the organization whose inbox was last compared. None before the first inbox."""
        self._hook_lock = asyncio.Lock()
        self._hook_times: deque[datetime] = deque(maxlen=MAX_PER_HOUR)
        self._notification_times: deque[datetime] = deque(maxlen=MAX_PER_HOUR)
        self._reported_causes: set[str] = set()

    def forget_seen_rows(self) -> None:
        """Forget which inbox rows were seen. The rows of the next complete inbox trigger no hooks."""
        self._detector = InboxEventDetector()

    def on_inbox_changed(self, _: object) -> None:
        """Run hooks and show notifications for new inbox rows. If the organization changed, first forget seen rows."""
        inbox, organization = self._app.workspace.inbox, self._app.workspace.organization
        if inbox.rows is None or organization is None:
            return
        if organization.id != self._organization_id:
            self._organization_id = organization.id
            self.forget_seen_rows()
        rows = self._detector.take_new_rows(inbox.rows.active, is_complete=inbox.is_complete)
        titles = self._app.workspace.space_titles
        self._handle(event_of_row(each, inbox.change_request(each), titles) for each in rows)

    def on_merges(self, change_requests: Iterable[ChangeRequest]) -> None:
        """Run hooks and show notifications for change requests that were merged."""
        self._handle(event_of_merge(each, self._app.workspace.space_titles) for each in change_requests)

    def _handle(self, events: Iterable[InboxEvent]) -> None:
        for event in events:
            self._notify(event)
            for hook in self._app.settings.hooks:
                if hook.event in event.names and self._count_if_allowed(self._hook_times):
                    self._app.background(self._run(hook, event))

    def _notify(self, event: InboxEvent) -> None:
        if self._app.app_focus:
            return
        sequence = notification(event.text, self._app.settings.notify, os.environ)
        if sequence and self._count_if_allowed(self._notification_times):
            write_to_terminal(self._app, sequence)

    def _count_if_allowed(self, times: deque[datetime]) -> bool:
        now = self._app.session.state.now()
        if len(times) == times.maxlen and now - times[0] < _HOUR:
            return False
        times.append(now)
        return True

    async def _run(self, hook: Hook, event: InboxEvent) -> None:
        async with self._hook_lock:
            try:
                await run_cancellable(partial(_run_hook, hook, event))
            except ProgramFailed as error:
                cause = str(error)
                if cause not in self._reported_causes and not self._app.is_ending:
                    self._reported_causes.add(cause)
                    self._app.say(cause, tone="failed")


def _run_hook(hook: Hook, event: InboxEvent, cancelled: threading.Event) -> None:
    program, item_json = hook.command[0], event.as_json(hook.event)
    values = {"ref": event.ref, "url": event.url, "kind": event.kind, "space": event.space}
    variables = {"OCTAVO_EVENT": hook.event, **{f"OCTAVO_{name.upper()}": value for name, value in values.items()}}
    try:
        run_on_item(program, hook.command, item_json, values, variables, seconds=HOOK_SECONDS, cancelled=cancelled)
    except OSError as error:
        raise start_failure(program, "it", error, "Correct the [[hook]] in the settings") from None


def notification(text: str, setting: str, environment: Mapping[str, str]) -> str:
    """Return the terminal escape sequence that shows a desktop notification. `setting` is the name of a sequence,
    `auto` to choose by the terminal, or `off`. Empty if no sequence is known for the terminal, or if `off`."""
    template = _SEQUENCE_TEMPLATES.get(_sequence_name(environment) if setting == "auto" else setting, "")
    if not template:
        return ""
    # In OSC 777, `;` separates fields, so it would end the text.
    message = safe_line(text).replace(";", ",")
    sequence = template.format(text=shorten(message, MAX_NOTIFICATION_LENGTH))
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\" if environment.get("TMUX") else sequence


def _sequence_name(environment: Mapping[str, str]) -> str:
    if environment.get("KITTY_WINDOW_ID"):
        return "osc99"
    if environment.get("TERM", "").startswith(("foot", "rxvt")):
        return "osc777"
    return _SEQUENCE_NAMES_BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""), "")
