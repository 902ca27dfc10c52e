"""Commands as values: what a key does, what it is called and why it cannot act now, in one place; and all that is active.

A `Command` is declared once, in a group for the kind of thing it is about, and serves every view that has such a thing:

    THREAD = Commands("comments", (Command("resolve", "d", "Done", "Resolve the thread", run=resolve, why_not=may_not), ...))

    class CommentsScreen(View):
        COMMAND_GROUPS = (THREAD.about(lambda view: view.thread_target),)

A view names its groups, each with the way from it to the thing. Textual's bindings are made of them; key bar, help, palette,
key map and the help topic “keys” are read off the bindings. A place that has keys may also have:

- `CONTEXT`: what the help calls it, such as "page tree";
- `HELP`: a sentence or two on what one does there;
- `more_help`: what is to be said of what it shows now, wherever the focus is;
- `KEYBAR`: ids of the commands its key bar begins with;
- `typing_keys`: while all keys are typed into it, the keys that are not letters there, each with its label.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, runtime_checkable

from textual.app import App
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.keys import Keys, format_key, key_to_character
from textual.screen import Screen
from textual.widget import Widget

from octavo.settings import nearest
from octavo.tui.terminal.textual_internals import is_whole, keymap_of

LISTS, MOVING = "LISTS", "NAVIGATION"
"""Headings of the keys that every list has, and of the keys that move the cursor: the last two where all commands are
listed."""
STEPS = ("down", "up", "top", "bottom", "page_down", "page_up", "read_back", "prev_block", "next_block")
"""What nobody looks for by name: it comes after all there is to do."""
_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
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


@runtime_checkable
class Explains(Protocol):
    """An app that says why a key cannot act."""

    def explain(self, sentence: str) -> None:
        """Say why something cannot be done."""


@runtime_checkable
class TellsWords(Protocol):
    """An app that tells words from keys."""

    @property
    def words(self) -> Any:
        """What is typed: `ignore` lets it do nothing until there is a pause."""


@runtime_checkable
class SendsWrites(Protocol):
    """An app that may have been started without writing."""

    @property
    def why_no_writes(self) -> str:
        """Why nothing is sent that changes anything, in a sentence. Empty: it is."""


@runtime_checkable
class HasTour(Protocol):
    """An app that has a tour."""

    def command_ran(self, id: str) -> None:
        """Note that a command ran."""


T = TypeVar("T")


_NO_KEY = "palette."
"""Before the id of a command without a key: no terminal sends such a key."""


def _can_be_done(app: Any, about: Any) -> str | None:
    return None


def _is_called(app: Any, about: Any) -> str | None:
    return None


def _is_there(app: Any, about: Any) -> bool:
    return True


def _is_not_offered(app: Any, about: Any) -> bool:
    return False


@dataclass(frozen=True)
class Command(Generic[T]):
    """Something that can be done with a thing of one kind. Its functions get the app and that thing."""

    name: str
    """Its id is this behind the name of its group: `comments.resolve`."""
    keys: str
    """Empty: it has none, and is done from the palette."""
    title: str
    """Its name in the key bar and the palette."""
    help: str
    """The sentence that explains it."""
    run: Callable[[Any, T], object]
    why_not: Callable[[Any, T], str | None] = _can_be_done
    """The sentence to show, or None when it can be done."""
    called: Callable[[Any, T], str | None] = _is_called
    """What it is called now, where that depends on the thing. None: its title."""
    there: Callable[[Any, T], bool] = _is_there
    """Whether the key is there at all."""
    applies: Callable[[Any, T], bool] = _is_there
    """Whether the key bar offers the command: the state of the thing may rule it out. The key is there and says why."""
    offered: Callable[[Any, T], bool] = _is_not_offered
    """Whether it is offered now where something did not load, because it may help."""
    shown: bool = True
    """Whether the key bar may show it."""
    key_display: str | None = None
    together: Binding.Group | None = None
    """The commands it stands beside under one name in the key bar."""
    priority: bool = False
    """Whether its key is taken before what has focus gets it."""
    writes: bool | Callable[[Any, T], bool] = False
    """Whether it is for what is sent to the server: where the app sends none (`--read-only`), it cannot be done and says so."""
    id: str = ""
    """Where it is not that of its group and name."""


@dataclass(frozen=True)
class Commands(Generic[T]):
    """What can be done with one kind of thing. A view has it by `about`, with the way to that thing."""

    name: str
    """The first half of the ids."""
    commands: tuple[Command[T], ...]
    context: str = ""
    """Name of the place in the help topic and the key map. Empty: the name that the place has."""
    nothing: str | Callable[[Any], str] = "This command is not available here."
    """Why none of it can be done where there is no such thing: a sentence, or what the place says of it."""
    find: Callable[[Any], T | None] = lambda place: None

    def about(self, find: Callable[[Any], T | None], **changes: Any) -> Commands[T]:
        """These, about what `find` gives for the place they are of. `changes` are other words of that place: its `context`,
        and what it says of `nothing`."""
        return replace(self, find=find, **changes)

    def only(self, *names: str) -> Commands[T]:
        """Those of these names. Raises KeyError for a name that is none of theirs."""
        return replace(self, commands=tuple(each for each in self._known(names) if each.name in names))

    def without(self, *names: str) -> Commands[T]:
        """Those of other names. Raises KeyError for a name that is none of theirs."""
        return replace(self, commands=tuple(each for each in self._known(names) if each.name not in names))

    def changed(self, name: str, **changes: Any) -> Commands[T]:
        """These, with the one of this name changed: another key, sentence or id where it stands in another place."""
        known = self._known((name,))
        return replace(self, commands=tuple(replace(each, **changes) if each.name == name else each for each in known))

    def _known(self, names: Sequence[str]) -> tuple[Command[T], ...]:
        if unknown := set(names) - {each.name for each in self.commands}:
            raise KeyError(f"{self.name} has no command {', '.join(sorted(unknown))}.")
        return self.commands

    def id_of(self, command: Command[T]) -> str:
        """By which people give it another key."""
        return command.id or f"{self.name}.{command.name}"

    def bindings(self) -> Iterator[Binding]:
        """What Textual is told."""
        for each in self.commands:
            id = self.id_of(each)
            yield Binding(
                each.keys or f"{_NO_KEY}{id}",
                f"command({id!r})",
                each.title,
                show=each.shown and bool(each.keys),
                key_display=each.key_display,
                tooltip=each.help,
                id=id,
                group=each.together,
                priority=each.priority,
            )


class HasCommands:
    """Put before a widget, screen or app: its keys are its `COMMAND_GROUPS`. What cannot act is dim, and says why when it is pressed."""

    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = ()
    """The groups of what can be done in this place. What the classes it is made of have is there as well."""
    _commands_by_id: ClassVar[dict[str, tuple[Commands[Any], Command[Any]]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        own: tuple[Commands[Any], ...] = cls.__dict__.get("COMMAND_GROUPS", ())
        if own:
            bindings = [binding for group in own for binding in group.bindings()]
            cls.BINDINGS = [*bindings, *cls.__dict__.get("BINDINGS", ())]  # type: ignore[attr-defined]  # of what it is put before
        inherited = [base.__dict__.get("_commands_by_id", {}) for base in reversed(cls.__mro__[1:])]
        cls._commands_by_id = {id: command for commands in inherited for id, command in commands.items()}
        cls._commands_by_id |= {group.id_of(each): (group, each) for group in own for each in group.commands}
        super().__init_subclass__(**keywords)

    def _command_now(self, id: object) -> tuple[Any, Commands[Any], Command[Any], Any]:
        """The app, the group and command of an id, and what it is about now."""
        group, command = self._commands_by_id[str(id)]
        place = cast("DOMNode", self)
        return place.app, group, command, group.find(place)

    def why_not(self, id: str) -> str | None:
        """Why the command of an id cannot be done now: the sentence to show."""
        if not _is_whole(self):
            return None
        app, group, command, about = self._command_now(id)
        if about is None:
            return group.nothing if isinstance(group.nothing, str) else group.nothing(self)
        writes = command.writes(app, about) if callable(command.writes) else command.writes
        if writes and isinstance(app, SendsWrites) and app.why_no_writes:
            return app.why_no_writes
        return command.why_not(app, about)

    def called(self, id: str) -> str | None:
        """What the command of an id is called now, where that depends on what is on show. None: its title."""
        if not _is_whole(self):
            return None
        app, _, command, about = self._command_now(id)
        return None if about is None else command.called(app, about)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is there. One that cannot act is: it says why."""
        if action != "command" or not _is_whole(self):
            return super().check_action(action, parameters)  # type: ignore[misc, no-any-return]  # of what it is put before
        app, _, command, about = self._command_now(*parameters)
        return about is None or command.there(app, about)

    def action_command(self, id: str) -> object:
        """Do what a key is bound to, or say why that cannot be. What it gives back is waited for, where that is to be."""
        if not _is_whole(self):
            return None
        if (reason := self.why_not(id)) is not None:
            app = cast("Any", self).app
            app.explain(reason)
            if isinstance(app, TellsWords):
                app.words.ignore()
            return None
        app, _, command, about = self._command_now(id)
        if isinstance(app, HasTour):
            app.command_ran(id)
        return command.run(app, about)

    async def do(self, id: str) -> None:
        """Do what a key does, from elsewhere: a button, a message."""
        await cast("Widget", self).run_action(f"command({id!r})")


def _is_whole(place: object) -> bool:
    """Whether a place can be asked: one that is being made has not all its parts yet, and one that is being removed loses them."""
    return not isinstance(place, Widget) or is_whole(place)


@dataclass(frozen=True)
class ActiveCommand:
    """One thing that can be done from where the focus is."""

    id: str
    keys: tuple[str, ...]
    """As shown: `j`, `↓`, `ctrl+p`."""
    title: str
    help: str
    context: str
    """What the place it belongs to is called."""
    enabled: bool
    shown: bool
    """Whether the key bar may show it."""
    applies: bool
    """Whether the key bar offers it now."""
    group: Binding.Group | None
    reason: str | None = field(compare=False)
    """Why it is not enabled, if it is not."""
    node: DOMNode = field(repr=False)
    run: Callable[[], Awaitable[bool]] = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """The first of its keys. Empty: it has none."""
        return self.keys[0] if self.keys else ""


def active_commands(screen: Screen[Any]) -> list[ActiveCommand]:
    """What can be done on `screen` from what has focus there: nearest place first, in the order of the bindings."""
    return [_command(screen.app, active, keys) for active, keys in _active(screen)]


def offered_commands(app: App[Any]) -> list[tuple[str, str]]:
    """Return the commands of the app that are offered where something did not load: the key of each, and its name."""
    commands = app._commands_by_id.items() if isinstance(app, HasCommands) else ()
    offered = [(id, each) for id, (group, each) in commands if each.offered(app, group.find(app))]
    chosen = keymap_of(app)
    keys = [chosen.get(id) or each.keys or _NO_KEY for id, each in offered]
    return [(key_name(key.split(",")[0]), each.title.lower()) for key, (_, each) in zip(keys, offered, strict=True)]


def _active(screen: Screen[Any]) -> list[tuple[ActiveBinding, list[str]]]:
    """The bindings of `active_commands`, each with all its keys as they are shown."""
    found: dict[tuple[int, str], tuple[ActiveBinding, list[str]]] = {}
    for active in screen.active_bindings.values():
        if active.binding.id is None:
            continue
        entry = found.setdefault((id(active.node), active.binding.id), (active, []))
        name = key_name(active.binding.key)
        if name not in entry[1] and not active.binding.key.startswith(_NO_KEY):
            entry[1].append(name)
    return list(found.values())


def _command(app: App[Any], active: ActiveBinding, keys: list[str]) -> ActiveCommand:
    node, binding, enabled, tooltip = active
    id, title, reason = binding.id or "", None, None if enabled else "This command is not available now."
    applies = True
    if isinstance(node, HasCommands) and id in node._commands_by_id:
        title, reason, applies = node.called(id), node.why_not(id), _applies(node, id)
    return ActiveCommand(
        id=id,
        keys=tuple(keys),
        title=title or binding.description,
        help=tooltip or binding.description,
        context=name_of(node),
        enabled=reason is None,
        shown=binding.show,
        applies=applies,
        group=binding.group,
        reason=reason,
        node=node,
        run=partial(app.run_action, binding.action, node),
    )


def _applies(place: HasCommands, id: str) -> bool:
    """Return whether the key bar offers the command of an id: there is a thing, and its state does not rule it out."""
    if not _is_whole(place):
        return True
    app, _, command, about = place._command_now(id)
    return about is not None and command.applies(app, about)


def _typing_command(app: App[Any], node: DOMNode, key: str, title: str) -> ActiveCommand:
    """Return a key of `typing_keys` as a command."""
    return ActiveCommand(
        id=f"typing.{key}",
        keys=(key_name(key),),
        title=title,
        help=title,
        context=name_of(node),
        enabled=True,
        shown=True,
        applies=True,
        group=None,
        reason=None,
        node=node,
        run=partial(app.run_action, f"simulate_key({key!r})"),
    )


def _deed(node: DOMNode, binding: Binding) -> object:
    """What a key does: it is the same for two keys of one place that run the same."""
    commands: Mapping[str | None, tuple[Commands[Any], Command[Any]]] = getattr(node, "_commands_by_id", {})
    return commands[binding.id][1].run if binding.id in commands else binding.action


def key_bar(screen: Screen[Any]) -> list[ActiveCommand]:
    """The commands for one line of keys, most likely first.

    The ids in the `KEYBAR` of the screen and of what has focus come first. Then the first key of what has focus, the
    keys of the places around it, the rest of its own, those of a pane beside it, and the app's. What has two keys, one
    of which cannot be pressed while one writes, is there once, and a key that `keys_named` of the screen says stands
    elsewhere is not there. A command that does not apply to the thing at hand is left out; a command that the person may
    not run is kept, and its key says why. While letters are typed into what has focus, only its `typing_keys` are there.
    """
    named: frozenset[str] = getattr(screen, "keys_named", frozenset())
    focused: DOMNode | None = screen.focused
    if focused is not None and (typing := getattr(focused, "typing_keys", ())):
        return [_typing_command(screen.app, focused, key, title) for key, title in typing]
    wanted: list[str] = [*getattr(focused, "KEYBAR", ()), *getattr(screen, "KEYBAR", ())]
    once: dict[tuple[int, object], ActiveCommand] = {}
    for active, keys in _active(screen):
        node, binding = active.node, active.binding
        if (
            (binding.show or binding.id in wanted)
            and named.isdisjoint(keys)
            and (id(node), _deed(node, binding)) not in once
        ):
            once[id(node), _deed(node, binding)] = _command(screen.app, active, keys)
    shown = [command for command in once.values() if command.applies]
    first = next((command.id for command in shown if command.node is focused), None)
    around = focused.ancestors if focused is not None else [screen]

    def rank(command: ActiveCommand) -> tuple[int, int]:
        if command.id in wanted:
            return (0, wanted.index(command.id))
        if command.id == first:
            return (1, 0)
        if command.node is screen.app:
            return (4, 0)
        if command.node is focused:
            return (3, 0)
        return (2, 0) if command.node in around else (3, 1)

    return sorted(shown, key=rank)


def by_relevance(screen: Screen[Any]) -> list[tuple[str, ActiveCommand]]:
    """Return the commands with their headings: nearest place first, keys of every list and moves last. Within a heading, the
    commands of the key bar come first."""
    commands = active_commands(screen)
    ids = {command.id for command in commands}
    shown = [command.id for command in key_bar(screen)]

    def heading(command: ActiveCommand) -> str:
        place, _, name = command.id.rpartition(".")
        # An `up` without a `down` is a way back.
        if name in STEPS and f"{place}.down" in ids:
            return MOVING
        return LISTS if place in ("list", "tree") and command.node is not screen else command.context.upper()

    order = [*dict.fromkeys(each for each in map(heading, commands) if each not in (LISTS, MOVING)), LISTS, MOVING]

    def rank(command: ActiveCommand) -> tuple[int, int]:
        at = shown.index(command.id) if command.id in shown else len(shown)
        return (order.index(heading(command)), at)

    return [(heading(command), command) for command in sorted(commands, key=rank)]


def key_name(key: str) -> str:
    """A key of a binding as it is called on screen: `j`, `?`, `ctrl+p`, `esc`, `G`."""
    if key.startswith(_NO_KEY):
        return ":"
    *modifiers, last = key.split("+")
    if last in _KEY_NAMES:
        return "+".join([*modifiers, _KEY_NAMES[last]])
    return "+".join([*modifiers, format_key(last)])


def context_of(place: type[DOMNode], id: str | None = None) -> str:
    """What a place with keys is called: for the command of an `id`, as its group calls it."""
    commands: Mapping[str | None, tuple[Commands[Any], Command[Any]]] = getattr(place, "_commands_by_id", {})
    own: str = getattr(place, "CONTEXT", "")
    context = (commands[id][0].context or own) if id in commands else own
    return context or ("anywhere" if issubclass(place, App) else place.__name__.removesuffix("Screen").lower())


def name_of(place: DOMNode) -> str:
    """What one place with keys is called: it may have another name than others of its kind."""
    return getattr(place, "CONTEXT", "") or context_of(type(place))


def own_bindings(place: type[DOMNode]) -> Iterator[Binding]:
    """The bindings `place` declares itself, one for each key."""
    yield from Binding.make_bindings(place.__dict__.get("BINDINGS", ()))


def faults(places: Iterable[type[DOMNode]]) -> list[str]:
    """What is wrong with how `places` declare their keys, one sentence each. None is what a test wants."""
    said: list[str] = []
    for place in places:
        taken: dict[str, Binding] = {}
        for binding in own_bindings(place):
            where = f"{place.__name__}: {binding.key}"
            said += [
                f"{where} has no {part}"
                for part, value in (
                    ("id", binding.id),
                    ("description", binding.description),
                    ("tooltip", binding.tooltip),
                )
                if not value
            ]
            if (other := taken.setdefault(binding.key, binding)) is not binding:
                said.append(f"{where} runs both {other.action} and {binding.action}")
    return said


def clashes(screen: Screen[Any]) -> list[str]:
    """Keys that mean two things in one place from where the focus is now, one sentence each."""
    taken: dict[tuple[str, str], ActiveCommand] = {}
    said: list[str] = []
    for command in active_commands(screen):
        for key in command.keys:
            if (other := taken.setdefault((command.context, key), command)) is not command:
                said.append(f"{command.context}: {key} is assigned to both {other.id} and {command.id}")
    return said


def apply_keymap(app: App[Any], keymap: Mapping[str, str], places: Iterable[type[DOMNode]]) -> list[tuple[str, str]]:
    """Give bindings of `places` other keys, by their ids. Return each id that is left out, and why, as it goes on from the id."""
    said: list[tuple[str, str]] = []
    declared: dict[str, list[Binding]] = {}
    for place in places:
        for binding in own_bindings(place):
            declared.setdefault(context_of(place, binding.id), []).append(binding)
    known = {binding.id for bindings in declared.values() for binding in bindings}
    ids = [each for each in known if each is not None]
    wanted: dict[str, str] = {}
    for command_id, keys in keymap.items():
        unknown = [key for key in map(str.strip, keys.split(",")) if key and not _is_key(key)]
        if command_id not in known:
            said.append(
                (
                    command_id,
                    f"is not a command ID.{nearest(command_id, ids)} To list the command IDs, run: octavo help keys",
                )
            )
        elif unknown:
            meant = nearest(unknown[0], [each.value for each in Keys])
            said.append(
                (
                    command_id,
                    f"contains {unknown[0]!r}, which is not a key.{meant} Examples of keys: d, D, f5, ctrl+d, enter, space.",
                )
            )
        else:
            wanted[command_id] = keys
    for bindings in declared.values():
        taken = {
            key: binding.id for binding in bindings if binding.id not in wanted for key in _normal_keys(binding.key)
        }
        for command_id in dict.fromkeys(binding.id for binding in bindings if binding.id in wanted):
            for key in _normal_keys(wanted.get(command_id or "", "")):
                if (other := taken.setdefault(key, command_id)) != command_id:
                    said.append((command_id or "", f"cannot use {key_name(key)}: {other} already uses this key."))
                    wanted.pop(command_id or "", None)
    app.set_keymap(wanted)
    return list(dict.fromkeys(said))


def _is_key(key: str) -> bool:
    """Whether a terminal can send a key of this name."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    named = {name for each in Keys for name in (each.value, each.value.rpartition("+")[2])}
    return all(each in _MODIFIERS for each in modifiers) and (
        len(last) == 1 or key_to_character(last) is not None or last in named
    )


def _normal_keys(keys: str) -> list[str]:
    return [binding.key for binding in Binding.make_bindings([Binding(keys, "")])] if keys.strip() else []


def markdown_table(places: Iterable[type[DOMNode]]) -> str:
    """Return the keys of `places` as Markdown: a table for each context, in the order of the places."""
    rows: dict[str, dict[str, tuple[list[str], Binding]]] = {}
    for place in places:
        for binding in own_bindings(place):
            context = rows.setdefault(context_of(place, binding.id), {})
            entry = context.setdefault(binding.id or binding.action, ([], binding))
            name = key_name(binding.key)
            if name not in entry[0]:
                entry[0].append(name)
    tables: list[str] = []
    for title, commands in rows.items():
        lines = [f"### {title[:1].upper()}{title[1:]}", "", "| Keys | Action | Id |", "| --- | --- | --- |"]
        for keys, binding in commands.values():
            shown = " ".join(f"`{key}`" if key != "|" else "`\\|`" for key in keys)
            lines.append(f"| {shown} | {binding.tooltip or binding.description} | {binding.id or ''} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)
