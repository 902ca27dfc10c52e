"""Commands of the settings, which run programs on the item under the cursor. Start at `add_custom_commands`.

Octavo never runs a shell. A program gets the item as JSON on standard input, in environment variables, and in the
placeholders of its arguments.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType

from textual.dom import DOMNode

from octavo.api.safety import safe_line, safe_text
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.settings import Settings
from octavo.settings.programs import PLACES, CommandPlace, CustomCommand
from octavo.settings.values import quoted
from octavo.tui.app.command_targets import VIEWS, CommandTarget, find_targets
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View, current_view
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.terminal.limited_programs import (
    ProgramFailed,
    run_in_thread,
    run_on_item,
    start_failure,
)
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands, add_commands, key_name, normal_keys, own_bindings
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed

SECONDS = 30.0
"""Time limit of a program."""
MAX_SHOWN = 100_000
"""Maximum number of characters of the output that a dialog or a comment shows."""
_MAX_LINE = 200
"""Maximum number of characters of the output that a notification shows."""
_TICK_SECONDS = 0.1
_NAMES: Mapping[CommandPlace, str] = MappingProxyType(
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
    """Add the commands of the settings to the app. Return a sentence for each key that a command cannot use."""
    keys, problems = usable_keys(app.settings, app.keys_of_user, type(app))
    runner = _Runner(app)
    commands = tuple(runner.command(each, keys[each.name]) for each in app.settings.commands)
    add_commands(app, Commands("custom", commands, find=lambda place: place))
    return problems


def usable_keys(
    settings: Settings, keys_of_user: Mapping[str, str], app: type[DOMNode]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the keys that each custom command can use, by its name, and a sentence for each key that it cannot use.
    A key cannot be used if it belongs to a command of the app class `app`, to a command of a view in which the custom
    command works, or to an earlier custom command. `keys_of_user`: the keys that the user set, by command id."""
    accepted: dict[str, str] = {}
    problems: list[str] = []
    custom_keys: dict[str, str] = {}
    for custom in settings.commands:
        classes = dict.fromkeys((app, *(each for place in custom.places for each in VIEWS[place])))
        taken = {**_built_in_keys(classes, keys_of_user), **custom_keys}
        usable = []
        for key in normal_keys(custom.key):
            if other := taken.get(key):
                why = f"{quoted(custom.name)} cannot use {key_name(key)}: {other} already uses this key."
                problems.append(f"{settings.location('command')} {why}")
            else:
                custom_keys[key] = custom.name
                usable.append(key)
        accepted[custom.name] = ",".join(usable)
    return accepted, tuple(problems)


def _built_in_keys(classes: Iterable[type[DOMNode]], keys_of_user: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that `classes` use, each with the id of its command, or with a description if the command has
    no id."""
    bindings = [each for owner in classes for base in owner.__mro__ for each in own_bindings(base)]
    return {
        key: each.id or each.description or each.action
        for each in bindings
        for key in normal_keys(keys_of_user.get(each.id or "", each.key))
    }


class _Runner:
    """Runs the programs of custom commands, each command at most once at a time."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._running: dict[str, asyncio.Task[None]] = {}
        """The running programs by the name of their command."""

    def command(self, custom: CustomCommand, keys: str) -> Command[Shell]:
        """Return a custom command with its keys."""
        return Command(
            custom.id,
            keys,
            custom.name,
            f"Run {custom.command[0]} on the selected {_names(custom)}",
            run=lambda app, _: self._run(custom),
            why_not=lambda app, _: self._why_not(custom),
            title_now=lambda app, _: f"Cancel {custom.name}" if custom.name in self._running else None,
            is_available=lambda app, _: app.has_session,
            writes=custom.writes,
        )

    def _target(self, custom: CustomCommand) -> CommandTarget | None:
        """Return the item that the command acts on: the smallest one of its kinds. None if there is none."""
        view = current_view(self._app)
        # The key bar also asks for a view that has no widgets yet.
        targets = find_targets(view) if view is not None and is_whole(view) else {}
        return next((targets[place] for place in PLACES if place in custom.places and place in targets), None)

    def _why_not(self, custom: CustomCommand) -> str | None:
        if custom.name in self._running:
            return None
        target = self._target(custom)
        if target is None:
            return f"Select a {_names(custom)} first."
        if custom.result == "pending-comment" and target.open_comment is None:
            return "This item cannot have comments."
        return None

    def _run(self, custom: CustomCommand) -> None:
        """Run the program on the current item, ask first if the settings say so, or cancel the running program."""
        if running := self._running.get(custom.name):
            running.cancel()
            return
        target = self._target(custom)
        if target is None:
            return
        if not custom.is_confirmed:
            self._start(custom, target)
            return

        def on_closed(answer: Confirmed | None) -> None:
            if answer is not None and custom.name not in self._running:
                self._start(custom, target)

        title = f"{target.ref} {target.title}".strip()
        intro = f"Runs {custom.command[0]} on {title}. Octavo cannot undo what the program does."
        self._app.push_screen(ConfirmDialog(f"Run {custom.name}?", verb="Run", intro=intro), on_closed)

    def _start(self, custom: CustomCommand, target: CommandTarget) -> None:
        task = self._app.background(self._run_and_show(custom, target))
        self._running[custom.name] = task
        task.add_done_callback(lambda _: self._running.pop(custom.name, None))

    async def _run_and_show(self, custom: CustomCommand, target: CommandTarget) -> None:
        app = self._app
        app.say(f"Running {custom.name}… To cancel, choose the command again.")
        try:
            output = await run_in_thread(partial(_run_program, custom, target))
        except ProgramFailed as error:
            app.say(safe_line(str(error)), tone="failed")
            return
        except asyncio.CancelledError:
            app.say(f"Canceled {custom.name}.")
            raise
        text = safe_text(output.decode("utf-8", "replace")).strip()
        if custom.result == "notification":
            app.say(_first_line(text) or f"Finished {custom.name}.")
        elif custom.result != "none" and not text:
            app.say(f"{custom.name} printed nothing.", tone="care")
        elif custom.result != "none":
            await self._show(custom, target, text)

    async def _show(self, custom: CustomCommand, target: CommandTarget, text: str) -> None:
        """Show an output in a dialog, or in the editor of a comment, as soon as no other dialog is open."""
        app = self._app
        shown = text[:MAX_SHOWN]
        if len(text) > MAX_SHOWN:
            app.say(f"Only the first {MAX_SHOWN:,} of {len(text):,} characters are shown.", tone="care")
        if not isinstance(app.screen, View):
            app.say(f"Close the dialog to see the output of {custom.name}.")
        while not isinstance(app.screen, View):  # noqa: ASYNC110  # Textual does not report closed dialogs.
            await asyncio.sleep(_TICK_SECONDS)
        if custom.result == "pending-comment" and target.open_comment is not None:
            target.open_comment(shown)
            return
        fence = "`" * (3 + max(map(len, re.findall("`+", shown)), default=0))
        document = await asyncio.to_thread(parse, f"{fence}\n{shown}\n{fence}")
        note = Block("note", children=document.blocks, key="output")
        app.push_screen(TextDialog(note, DeferredContent(), custom.name))


def _names(custom: CustomCommand) -> str:
    """Return the kinds of items of a command in words, such as “block or page”."""
    return " or ".join(_NAMES[place] for place in PLACES if place in custom.places)


def _first_line(text: str) -> str:
    line = safe_line(next((each for each in text.splitlines() if each.strip()), "")).strip()
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


def _run_program(custom: CustomCommand, target: CommandTarget, cancelled: threading.Event) -> bytes:
    """Run a program and return its output. Raises ProgramFailed."""
    values = {
        "ref": target.ref,
        "url": target.url,
        "kind": target.kind,
        "space": target.space,
        "path": target.path,
        "block": target.block,
    }
    variables = {"OCTAVO_PAGE_PATH" if name == "path" else f"OCTAVO_{name.upper()}": values[name] for name in values}
    try:
        ended = run_on_item(
            custom.name, custom.command, target.facts, values, variables, seconds=SECONDS, cancelled=cancelled
        )
    except OSError as error:
        step = "Correct the [[command]] in the settings"
        raise start_failure(custom.name, custom.command[0], error, step) from None
    if ended.exit_code:
        cause = _first_line(ended.errors.decode("utf-8", "replace"))
        raise ProgramFailed(
            f"Could not run {custom.name}: exit code {ended.exit_code}{f', “{cause}”' if cause else ''}."
        )
    return ended.output
