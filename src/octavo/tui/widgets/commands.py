"""Key bindings as values: a `Command` has its keys, its title, its help, and the reason why it cannot run now.

A command is declared once, in the group for its kind of target. Every view with such a target uses the group:

    THREAD = Commands("comments", (Command("resolve", "d", "Done", "Resolve the thread", run=resolve, why_not=may_not),
    ...))

    class CommentsScreen(View):
        COMMAND_GROUPS = (THREAD.for_target(lambda view: view.thread_target),)

Textual's bindings are made from `COMMAND_GROUPS`. The key bar, the help, the command palette, and the help topic “keys”
read these bindings. A widget, screen or app with commands may also define:

- `HELP_NAME`: its name in the help, such as "page tree";
- `HELP`: one or two sentences about its use;
- `more_help`: a sentence about its current content;
- `KEYBAR`: IDs of the commands that its key bar shows first;
- `typing_keys`: pairs of a key and a label, for the keys that run commands while all letters are typed as text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Generic, TypeVar, cast

from rich.console import RenderableType
from textual.app import App
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.keys import format_key
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget

from octavo.concurrency import Tasks
from octavo.tui.terminal.textual_internals import add_bindings, crash, is_fully_mounted
from octavo.tui.widgets.notices import SEVERITIES, NoticeBoard, Tone

LISTS = "LISTS"
"""Heading, in the help of a view, of the commands that every list has."""
NAVIGATION = "NAVIGATION"
"""Last heading in the help of a view, for `CURSOR_COMMANDS`."""
CURSOR_COMMANDS = ("down", "up", "top", "bottom", "page_down", "page_up", "read_back", "prev_block", "next_block")
"""Names of commands that move the cursor. The help of a view shows them last."""
_KEY_NAMES = {
    "escape": "esc",
    "enter": "enter",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "delete": "del",
    "backspace": "backspace",
    "minus": "-",
}


T = TypeVar("T")
R = TypeVar("R")


_NO_KEY = "palette."
"""Start of keys that no terminal sends. Commands without keys get such a key, because Textual bindings need a key."""


class StillLoading(str):
    """Reason why a command cannot run: data is still loading. Letters typed after the refusal run commands as usual,
    unless the refused command writes or takes text. Do not use this class where a held-down key could confirm a
    write."""

    __slots__ = ()


@dataclass(frozen=True)
class Command(Generic[T]):
    """A user action on a target, such as a thread or the view. All functions get the app and the target."""

    name: str
    """Last part of the ID. The command `resolve` of the group `comments` has the ID `comments.resolve`."""
    keys: str
    """Keys separated by commas. Empty if the command can only be run from the command palette."""
    title: str
    """Label in the key bar and in the command palette."""
    help: str
    """Sentence that explains what the command does."""
    run: Callable[[Any, T], object]
    why_not: Callable[[Any, T], str | None] = lambda app, target: None
    """Returns a sentence that says why the command cannot run now. None if it can."""
    title_now: Callable[[Any, T], str | None] = lambda app, target: None
    """Returns the label if it depends on the target, such as `Leave tour`. None for the usual `title`."""
    is_available: Callable[[Any, T], bool] = lambda app, target: True
    """Returns False if the target does not have this command. A parent widget may then use the key."""
    applies: Callable[[Any, T], bool] = lambda app, target: True
    """Returns False if the key bar should hide the command for this target. Its key still works."""
    offered_on_failure: Callable[[Any, T], bool] = lambda app, target: False
    """Returns True if the command, such as signing in, can help after a failure. Errors then show the command's key."""
    shown: bool = True
    """True if the key bar may show the command. If False, only a `KEYBAR` with the command's ID shows the command."""
    key_display: str | None = None
    group: Binding.Group | None = None
    """Commands for which the key bar shows one label, such as `n/N change`. None if it shows the command alone."""
    priority: bool = False
    """True if the key runs the command before the focused widget gets the key."""
    writes: bool | Callable[[Any, T], bool] = False
    """True, or a function that returns True, if the command changes server data. Read-only mode then disables it."""
    acts_at_once: bool = False
    """True if the command changes the selected item without a confirmation. If a list has just selected another item,
    the user must press the key again."""
    takes_text: bool = False
    """True if the command opens a text input. The letters that the user types next wait for the input. If the command
    cannot run, they are ignored."""
    id: str = ""
    """ID of the command. If empty, the ID is `GROUP.NAME`."""


@dataclass(frozen=True)
class Commands(Generic[T]):
    """Commands for one kind of target, such as threads. Views with such a target include them by `for_target`."""

    name: str
    """First part of the IDs of the commands, such as `comments`."""
    commands: tuple[Command[T], ...]
    context: str = ""
    """Heading in the help topic “keys”. If empty, the name of the widget, screen or app that has the commands."""
    no_target: str | Callable[[Any], str] = "This command is not available here."
    """Sentence for the user if the commands have no target, or a function that returns this sentence for a view."""
    find_target: Callable[[Any], T | None] = lambda owner: owner
    """Returns the target in a view, such as the selected thread, or None. By default, the view itself is the target."""

    def for_target(self, find_target: Callable[[Any], T | None], **changes: Any) -> Commands[T]:
        """Return a copy whose commands get their target from `find_target`. `changes` has new values by attribute."""
        return replace(self, find_target=find_target, **changes)

    def only(self, *names: str) -> Commands[T]:
        """Return a group with only the commands of these names. Raises KeyError for an unknown name."""
        return replace(self, commands=tuple(each for each in self._check_names(names) if each.name in names))

    def without(self, *names: str) -> Commands[T]:
        """Return a copy of the group without the commands `names`. Raises KeyError for an unknown name."""
        return replace(self, commands=tuple(each for each in self._check_names(names) if each.name not in names))

    def with_changed(self, name: str, **changes: Any) -> Commands[T]:
        """Return a copy in which the command `name` has the attributes `changes`. Raises KeyError if it is unknown."""
        commands = self._check_names((name,))
        return replace(
            self,
            commands=tuple(replace(command, **changes) if command.name == name else command for command in commands),
        )

    def _check_names(self, names: Sequence[str]) -> tuple[Command[T], ...]:
        if unknown_names := set(names) - {command.name for command in self.commands}:
            raise KeyError(f"{self.name} has no command {', '.join(sorted(unknown_names))}.")
        return self.commands

    def id_of(self, command: Command[T]) -> str:
        """Return the ID of a command, such as `comments.resolve`. In the settings, users assign keys to IDs."""
        return command.id or f"{self.name}.{command.name}"

    def bindings(self) -> Iterator[Binding]:
        """Yield a Textual binding for each command."""
        for command in self.commands:
            id = self.id_of(command)
            yield Binding(
                command.keys or f"{_NO_KEY}{id}",
                f"command({id!r})",
                command.title,
                show=command.shown and bool(command.keys),
                key_display=command.key_display,
                tooltip=command.help,
                id=id,
                group=command.group,
                priority=command.priority,
            )


class HasCommands:
    """Mixin for a widget, screen or app that has commands. Their keys are bound automatically."""

    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = ()
    """Groups of commands that this class has, in addition to the groups of its base classes."""
    _commands_by_id: ClassVar[dict[str, tuple[Commands[Any], Command[Any]]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        own_groups: tuple[Commands[Any], ...] = cls.__dict__.get("COMMAND_GROUPS", ())
        if own_groups:
            bindings = [binding for group in own_groups for binding in group.bindings()]
            cls.BINDINGS = [*bindings, *cls.__dict__.get("BINDINGS", ())]  # type: ignore[attr-defined]  # The class that uses the mixin has it.
        inherited_commands = [base.__dict__.get("_commands_by_id", {}) for base in reversed(cls.__mro__[1:])]
        cls._commands_by_id = {id: command for commands in inherited_commands for id, command in commands.items()}
        cls._commands_by_id |= {group.id_of(each): (group, each) for group in own_groups for each in group.commands}
        super().__init_subclass__(**keywords)

    def _find_command(self, id: object) -> tuple[Any, Commands[Any], Command[Any], Any]:
        group, command = self._commands_by_id[str(id)]
        node = cast("DOMNode", self)
        return node.app, group, command, group.find_target(node)

    def why_not(self, id: str) -> str | None:
        """Return a sentence that says why the command `id` cannot run now. None if it can."""
        if not _is_complete(self):
            return None
        app, group, command, target = self._find_command(id)
        if target is None:
            return group.no_target if isinstance(group.no_target, str) else group.no_target(self)
        writes = command.writes(app, target) if callable(command.writes) else command.writes
        if writes and isinstance(app, HostApp) and app.why_no_writes:
            return app.why_no_writes
        return command.why_not(app, target)

    def title_of(self, id: str) -> str | None:
        """Return the current label of the command `id`. None if it is the usual title, or if there is no target."""
        if not _is_complete(self):
            return None
        app, _, command, target = self._find_command(id)
        return None if target is None else command.title_now(app, target)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False if the key should not run the action, so that a parent may use the key. The key of a command
        without a target still shows why the command cannot run, so the result is True."""
        if action != "command" or not _is_complete(self):
            return super().check_action(action, parameters)  # type: ignore[misc, no-any-return]  # The class that uses the mixin has it.
        app, _, command, target = self._find_command(*parameters)
        return target is None or command.is_available(app, target)

    def action_command(self, id: str) -> object:
        """Run the command `id`, or show why it cannot run. Return its result, but None instead of a task, because
        Textual would wait for the task and handle no keys."""
        if not _is_complete(self):
            return None
        app, _, command, target = self._find_command(id)
        if (reason := self.why_not(id)) is not None:
            app.explain(reason)
            takes_text = command.takes_text or command.writes
            if isinstance(app, HostApp) and (takes_text or not isinstance(reason, StillLoading)):
                app.ignore_typing()
            return None
        if isinstance(app, HostApp):
            app.before_command(id)
        result = command.run(app, target)
        return None if isinstance(result, asyncio.Task) else result

    async def run_command(self, id: str) -> None:
        """Run the command `id` as if the user had pressed its key."""
        await cast("Widget", self).run_action(f"command({id!r})")


class HostApp(HasCommands, App[R]):
    """Base class of an app that has commands, notifications and background tasks."""

    is_ending = False
    """True after `exit` was called, while the app still closes."""
    opening_task: asyncio.Task[Any] | None = None
    """Task that loads what a dialog or screen needs. Keys and clicks wait until the dialog opens. Esc cancels the task.
    None if no dialog is about to open."""
    input_time = inf
    """Time of the last key, paste or click, by the clock of `Event.time`. Infinite before the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.notices = NoticeBoard()
        """The notifications that are shown now. Every screen and dialog shows them."""
        self.exit_callbacks: set[Callable[[], None]] = set()
        """Functions that save typed texts and positions. Called before the app exits, or when its terminal closes."""
        self.signals: list[Signal[Any]] = [self.app_suspend_signal]
        """All signals of the app. They outlive the screens that subscribe to them."""
        self.tasks = Tasks("A background task", self.report_error)
        self.keys_of_user: Mapping[str, str] = {}
        """Keys from the settings, by command ID. Commands that the user did not change are missing."""

    def exit(self, result: R | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        self.is_ending = True
        super().exit(result, return_code, message)

    def signal(self, name: str) -> Signal[Any]:
        """Create a signal that screens can subscribe to. Screens that close are unsubscribed automatically."""
        signal: Signal[Any] = Signal(self, name)
        self.signals.append(signal)
        return signal

    def background(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that goes on after the current screen closes. An exception in it is passed to `report_error`."""
        return self.tasks.start(coroutine)

    def report_error(self, error: BaseException) -> None:
        """Crash the app, because a background task has failed with `error`."""
        crash(self, error)  # type: ignore[arg-type]  # Tasks end only with an Exception.

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        """Show a notification for `seconds`, by default for a time that depends on `tone`. With `undo`, also show the
        undo key. A screen without `Notices` ignores `seconds` and `undo`."""
        if self.is_ending or not self.screen_stack:
            return
        if self.screen.query("Notices"):
            self.notices.say(message, tone, seconds=seconds, undo=undo)
        else:
            self.notify(message, severity=SEVERITIES[tone], markup=False)

    def ask(self, dialog: Screen[T | None], act: Callable[[T], object]) -> None:
        """Open a dialog. If it closes with a result, call `act` with the result. A canceled dialog has no result."""

        def on_closed(result: T | None) -> None:
            if result is not None:
                act(result)

        self.push_screen(dialog, on_closed)

    @property
    def why_no_writes(self) -> str:
        """Sentence that says why the app may not change data on the server. Empty if the app may."""
        return ""

    def explain(self, sentence: str) -> None:
        """Show a sentence that says why a command cannot run. Do nothing by default."""

    def ignore_typing(self) -> None:
        """Ignore keys until the user pauses: the keys may be for an input that did not open. By default, do nothing."""

    def before_command(self, id: str) -> None:
        """Called before a command runs, with its ID. Does nothing by default."""

    def undo(self) -> None:
        """Undo the user's last change. Do nothing by default."""


def add_commands(node: HasCommands, group: Commands[Any]) -> None:
    """Add commands to one widget, screen or app, but not to other instances of its class."""
    node._commands_by_id = node._commands_by_id | {group.id_of(each): (group, each) for each in group.commands}  # type: ignore[misc]  # The class variable stays as it is.
    add_bindings(cast("DOMNode", node), group.bindings())


def opens_input(node: object, id: str | None) -> bool:
    """Return True if a widget, screen or app has the command `id`, and the command opens a text input."""
    return isinstance(node, HasCommands) and id in node._commands_by_id and node._commands_by_id[id][1].takes_text


def _is_complete(widget: object) -> bool:
    """Return False while a widget is being created or removed."""
    return not isinstance(widget, Widget) or is_fully_mounted(widget)


@dataclass(frozen=True)
class ActiveCommand:
    """A command that the focused widget, its parents or the app bind now, as the key bar, help and palette show it."""

    id: str
    keys: tuple[str, ...]
    """Displayed names of the keys of the command: `j`, `↓`, `ctrl+p`. Empty for a command without keys."""
    title: str
    help: str
    context: str
    """Name of the widget, screen or app that has the command, as the help shows it."""
    is_enabled: bool
    is_applicable: bool
    """False if the key bar hides the command for its current target, as `Command.applies` decides."""
    group: Binding.Group | None
    reason: str | None = field(compare=False)
    """Sentence that says why the command cannot run now. None if it can."""
    node: DOMNode = field(repr=False)
    run: Callable[[], Awaitable[bool]] = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """Displayed name of the first key of the command. Empty for a command without keys."""
        return self.keys[0] if self.keys else ""


def active_commands(screen: Screen[Any]) -> list[ActiveCommand]:
    """Return all commands that work on `screen`, also those without keys: first of the focused widget, then of its
    parents, last of the app."""
    return [_active_command(screen.app, active, keys) for active, keys in _active_bindings(screen)]


def commands_after_failure(app: App[Any]) -> list[tuple[str, str]]:
    """Return the key and the lower-case title of each app command that can help after a failure, such as signing in."""
    commands = app._commands_by_id.items() if isinstance(app, HasCommands) else ()
    offers = [(id, each) for id, (group, each) in commands if each.offered_on_failure(app, group.find_target(app))]
    keymap = app.keys_of_user if isinstance(app, HostApp) else {}
    keys = [keymap.get(id) or each.keys or _NO_KEY for id, each in offers]
    return [(key_name(key.split(",")[0]), each.title.lower()) for key, (_, each) in zip(keys, offers, strict=True)]


def _active_bindings(screen: Screen[Any]) -> list[tuple[ActiveBinding, list[str]]]:
    """Return the bindings that work on `screen`, each with the displayed names of its keys, such as `ctrl+p`."""
    entries: dict[tuple[int, str], tuple[ActiveBinding, list[str]]] = {}
    for active in screen.active_bindings.values():
        if active.binding.id is None:
            continue
        entry = entries.setdefault((id(active.node), active.binding.id), (active, []))
        name = key_name(active.binding.key)
        if name not in entry[1] and not active.binding.key.startswith(_NO_KEY):
            entry[1].append(name)
    return list(entries.values())


def _active_command(app: App[Any], active: ActiveBinding, keys: list[str]) -> ActiveCommand:
    node, binding, enabled, tooltip = active
    id, title, reason = binding.id or "", None, None if enabled else "This command is not available now."
    is_applicable = True
    if isinstance(node, HasCommands) and id in node._commands_by_id:
        title, reason, is_applicable = node.title_of(id), node.why_not(id), _is_applicable(node, id)
    return ActiveCommand(
        id=id,
        keys=tuple(keys),
        title=title or binding.description,
        help=tooltip or binding.description,
        context=name_in_help(node),
        is_enabled=reason is None,
        is_applicable=is_applicable,
        group=binding.group,
        reason=reason,
        node=node,
        run=partial(app.run_action, binding.action, node),
    )


def _is_applicable(node: HasCommands, id: str) -> bool:
    """Return whether the key bar shows a command, as `Command.applies` decides for the current target. False without a
    target. True while the widget is being created or removed."""
    if not _is_complete(node):
        return True
    app, _, command, target = node._find_command(id)
    return target is not None and command.applies(app, target)


def _typing_command(app: App[Any], node: DOMNode, key: str, title: str) -> ActiveCommand:
    return ActiveCommand(
        id=f"typing.{key}",
        keys=(key_name(key),),
        title=title,
        help=title,
        context=name_in_help(node),
        is_enabled=True,
        is_applicable=True,
        group=None,
        reason=None,
        node=node,
        run=partial(app.run_action, f"simulate_key({key!r})"),
    )


def _function_of(node: DOMNode, binding: Binding) -> object:
    """Return the function or action that a binding runs. The key bar shows only one binding for each function."""
    commands: Mapping[str | None, tuple[Commands[Any], Command[Any]]] = getattr(node, "_commands_by_id", {})
    return commands[binding.id][1].run if binding.id in commands else binding.action


def key_bar(screen: Screen[Any]) -> list[ActiveCommand]:
    """Return the commands for the key bar: first the commands in `KEYBAR`, last the commands of the app. If the focused
    widget has `typing_keys`, return only the commands of these keys."""
    hidden_keys: frozenset[str] = getattr(screen, "hidden_keys", frozenset())
    focused: DOMNode | None = screen.focused
    if focused is not None and (typing_keys := getattr(focused, "typing_keys", ())):
        return [_typing_command(screen.app, focused, key, title) for key, title in typing_keys]
    keybar_ids: list[str] = [*getattr(focused, "KEYBAR", ()), *getattr(screen, "KEYBAR", ())]
    command_by_function: dict[tuple[int, object], ActiveCommand] = {}
    for active, keys in _active_bindings(screen):
        node, binding = active.node, active.binding
        if (
            (binding.show or binding.id in keybar_ids)
            and hidden_keys.isdisjoint(keys)
            and (id(node), _function_of(node, binding)) not in command_by_function
        ):
            command_by_function[id(node), _function_of(node, binding)] = _active_command(screen.app, active, keys)
    applicable_commands = [command for command in command_by_function.values() if command.is_applicable]
    first_id = next((command.id for command in applicable_commands if command.node is focused), None)
    ancestors = focused.ancestors if focused is not None else [screen]

    def rank(command: ActiveCommand) -> tuple[int, int]:
        if command.id in keybar_ids:
            return (0, keybar_ids.index(command.id))
        if command.id == first_id:
            return (1, 0)
        if command.node is screen.app:
            return (4, 0)
        if command.node is focused:
            return (3, 0)
        return (2, 0) if command.node in ancestors else (3, 1)

    return sorted(applicable_commands, key=rank)


def commands_by_relevance(screen: Screen[Any]) -> list[tuple[str, ActiveCommand]]:
    """Return all commands that work on `screen`, each with its heading in the help. The focused widget comes first.
    Below a heading, commands of the key bar come first."""
    commands = active_commands(screen)
    ids = {command.id for command in commands}
    shown_ids = [command.id for command in key_bar(screen)]

    def heading(command: ActiveCommand) -> str:
        group_name, _, name = command.id.rpartition(".")
        if name in CURSOR_COMMANDS and f"{group_name}.down" in ids:
            return NAVIGATION
        return LISTS if group_name in ("list", "tree") and command.node is not screen else command.context.upper()

    headings = [
        *dict.fromkeys(each for each in map(heading, commands) if each not in (LISTS, NAVIGATION)),
        LISTS,
        NAVIGATION,
    ]

    def rank(command: ActiveCommand) -> tuple[int, int]:
        position = shown_ids.index(command.id) if command.id in shown_ids else len(shown_ids)
        return (headings.index(heading(command)), position)

    return [(heading(command), command) for command in sorted(commands, key=rank)]


def key_name(key: str) -> str:
    """Return the label of a Textual key, such as `esc`. The label of `palette.ID` (a command without keys) is `:`."""
    if key.startswith(_NO_KEY):
        return ":"
    *modifiers, base_key = key.split("+")
    if base_key in _KEY_NAMES:
        return "+".join([*modifiers, _KEY_NAMES[base_key]])
    return "+".join([*modifiers, format_key(base_key)])


def help_heading_of(node: type[DOMNode], id: str | None = None) -> str:
    """Return the heading in the help for a class, or for its command `id` if given. The heading is the `context` of the
    command's group, or if this is empty, the `HELP_NAME` of the class. Without both, it is “anywhere” for the app, and
    a name made from the class for other classes."""
    commands: Mapping[str | None, tuple[Commands[Any], Command[Any]]] = getattr(node, "_commands_by_id", {})
    own_context: str = getattr(node, "HELP_NAME", "")
    context = (commands[id][0].context or own_context) if id in commands else own_context
    return context or ("anywhere" if issubclass(node, App) else node.__name__.removesuffix("Screen").lower())


def name_in_help(node: DOMNode) -> str:
    """Return the name of a widget, screen or app for the help: its `HELP_NAME`, else a name made from its class."""
    return getattr(node, "HELP_NAME", "") or help_heading_of(type(node))


def own_bindings(node: type[DOMNode]) -> Iterator[Binding]:
    """Yield the bindings that a class declares itself, without bindings of base classes. Each has a single key."""
    yield from Binding.make_bindings(node.__dict__.get("BINDINGS", ()))


def accepted_keys(
    keymap: Mapping[str, str], classes: Iterable[type[DOMNode]]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Check the keys that users assigned in the settings to commands of `classes`. Return the usable keys by command
    ID. Also return the ID of each command whose keys are ignored, with a reason such as `cannot use j: …`."""
    ignored_commands: list[tuple[str, str]] = []
    bindings_by_context: dict[str, list[Binding]] = {}
    for owner in classes:
        for binding in own_bindings(owner):
            bindings_by_context.setdefault(help_heading_of(owner, binding.id), []).append(binding)
    accepted_keymap = dict(keymap)
    # Check again after each conflict: an ignored command gets its default keys, which may conflict with other keys.
    while conflict := _first_conflict(accepted_keymap, bindings_by_context.values()):
        command_id, key, owner_id = conflict
        ignored_commands.append((command_id, f"cannot use {key_name(key)}: {owner_id} already uses this key."))
        del accepted_keymap[command_id]
    return accepted_keymap, ignored_commands


def _first_conflict(
    keymap: Mapping[str, str], contexts: Iterable[Sequence[Binding]]
) -> tuple[str, str, str | None] | None:
    """Return the ID of a command whose key from settings is taken, the key, and the other ID. None if all are free."""
    for bindings in contexts:
        taken_keys = {
            key: binding.id for binding in bindings if binding.id not in keymap for key in normal_keys(binding.key)
        }
        for command_id in dict.fromkeys(binding.id for binding in bindings):
            for key in normal_keys(keymap.get(command_id or "", "")):
                if command_id and (owner_id := taken_keys.setdefault(key, command_id)) != command_id:
                    return command_id, key, owner_id
    return None


def normal_keys(keys: str) -> list[str]:
    """Return Textual's names of keys that are separated by commas: `["question_mark", "j"]` for `?,j`."""
    return [binding.key for binding in Binding.make_bindings([Binding(keys, "")])] if keys.strip() else []
