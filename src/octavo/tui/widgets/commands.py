"""Everything a key can do, read off the bindings: what is active, what it is called, and why it cannot act now.

A command is declared once, as a `Binding` with an id (by which people rebind it), a description (its name in the key
bar and the palette) and a tooltip (the sentence that explains it in the help). A place that has keys may also have:

- `CONTEXT`: what the help and the README call it, such as "page tree";
- `HELP`: a sentence or two on what one does there;
- `more_help`: what is to be said of what it shows now, wherever the focus is;
- `KEYBAR`: ids of the bindings its key bar begins with;
- `why_not` and `called`, through `Explained`: why a key is dim, and what it is called now if that depends on where one is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

from textual import actions
from textual.app import App, ReturnType
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.keys import format_key
from textual.screen import Screen

MOVING = "MOVING ABOUT"
"""What steps stand under where all commands are listed."""
_STEPS = ("down", "up", "top", "bottom", "page_down", "page_up", "read_back", "prev_block", "next_block")
"""What nobody looks for by name: it comes after all there is to do."""
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
    """A place that can say why one of its actions cannot be done now."""

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        """The sentence to show, or None when it can be done."""


class Explained:
    """Put before a widget or screen: its keys are dim when `why_not` answers, and say why when they are pressed."""

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        """The sentence to show, or None when `action` can be done."""
        return None

    def called(self, action: str, parameters: tuple[object, ...]) -> str | None:
        """What `action` is called now, where that depends on what is on show. None: what its binding says."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """True: can be done. None: dim, with a reason. A subclass answers False for a key that is not there at all."""
        return True if self.why_not(action, parameters) is None else None


class Explaining(App[ReturnType]):
    """Put before an app: a key that is dim says why when it is pressed, instead of doing nothing."""

    def explain(self, sentence: str) -> None:
        """Show why a key cannot act."""
        self.notify(sentence, severity="warning", markup=False, timeout=4)

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[Any, ...]],
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        if namespaces is None and (reason := why_not(self, action, default_namespace or self)) is not None:
            self.explain(reason)
            return True
        return await super().run_action(action, default_namespace, namespaces)


def why_not(app: App[Any], action: str | tuple[str, str, tuple[Any, ...]], node: DOMNode) -> str | None:
    """Why `action` of a binding on `node` is dim now, if it is and its place says so."""
    destination, name, parameters = actions.parse(action) if isinstance(action, str) else action
    places: dict[str, DOMNode | None] = {"": node, "app": app, "screen": app.screen, "focused": app.focused}
    place = places.get(destination)
    if place is None or not isinstance(place, Explains) or place.check_action(name, parameters) is not None:
        return None
    return place.why_not(name, parameters) or "That is not possible now."


@dataclass(frozen=True)
class Command:
    """One thing that can be done from where the focus is."""

    id: str
    keys: tuple[str, ...]
    """As shown: `j`, `↓`, `ctrl+p`."""
    title: str
    help: str
    context: str
    """What the place it belongs to is called."""
    action: str
    enabled: bool
    shown: bool
    """Whether the key bar may show it."""
    group: Binding.Group | None
    node: DOMNode = field(repr=False)
    run: Callable[[], Awaitable[bool]] = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """The first of its keys."""
        return self.keys[0]

    @property
    def reason(self) -> str | None:
        """Why it is not enabled, if it is not. Found out when it is asked: the key bar, made anew with every step, never does."""
        if self.enabled:
            return None
        return why_not(self.node.app, self.action, self.node) or "That is not possible now."


def active_commands(screen: Screen[Any]) -> list[Command]:
    """What can be done on `screen` from what has focus there: nearest place first, in the order of the bindings."""
    return [_command(screen.app, active, keys) for active, keys in _active(screen)]


def _active(screen: Screen[Any]) -> list[tuple[ActiveBinding, list[str]]]:
    """The bindings of `active_commands`, each with all its keys as they are shown."""
    found: dict[tuple[int, str], tuple[ActiveBinding, list[str]]] = {}
    for active in screen.active_bindings.values():
        if active.binding.id is None:
            continue
        entry = found.setdefault((id(active.node), active.binding.id), (active, []))
        name = key_name(active.binding.key)
        if name not in entry[1]:
            entry[1].append(name)
    return list(found.values())


def _command(app: App[Any], active: ActiveBinding, keys: list[str]) -> Command:
    node, binding, enabled, tooltip = active
    return Command(
        id=binding.id or "",
        keys=tuple(keys),
        title=_called(node, binding) or binding.description,
        help=tooltip or binding.description,
        context=context_of(type(node)),
        action=binding.action,
        enabled=enabled,
        shown=binding.show,
        group=binding.group,
        node=node,
        run=partial(app.run_action, binding.action, node),
    )


def _called(node: DOMNode, binding: Binding) -> str | None:
    destination, name, parameters = actions.parse(binding.action)
    return node.called(name, parameters) if isinstance(node, Explained) and not destination else None


def key_bar(screen: Screen[Any]) -> list[Command]:
    """The commands for one line of keys, most likely first.

    The ids in the `KEYBAR` of the screen and of what has focus come first. Then the first key of what has focus, the
    keys of the places around it, the rest of its own, those of a pane beside it, and the app's. What has two keys, one
    of which cannot be pressed while one writes, is there once, and a key that `keys_named` of the screen says stands
    elsewhere is not there.
    """
    named: frozenset[str] = getattr(screen, "keys_named", frozenset())
    focused: DOMNode | None = screen.focused
    wanted: list[str] = [*getattr(focused, "KEYBAR", ()), *getattr(screen, "KEYBAR", ())]
    once: dict[tuple[int, str], Command] = {}
    for active, keys in _active(screen):
        node, binding = active.node, active.binding
        if (binding.show or binding.id in wanted) and named.isdisjoint(keys) and (id(node), binding.action) not in once:
            once[id(node), binding.action] = _command(screen.app, active, keys)
    shown = list(once.values())
    first = next((command.id for command in shown if command.node is focused), None)
    around = focused.ancestors if focused is not None else [screen]

    def rank(command: Command) -> tuple[int, int]:
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


def most_wanted_first(screen: Screen[Any]) -> list[tuple[str, Command]]:
    """The commands, each with what it stands under: nearest place first, there first what the key bar shows; steps last."""
    commands = active_commands(screen)
    ids = {command.id for command in commands}
    shown = [command.id for command in key_bar(screen)]

    def heading(command: Command) -> str:
        place, _, name = command.id.rpartition(".")
        # An `up` without a `down` is a way back.
        return MOVING if name in _STEPS and f"{place}.down" in ids else command.context.upper()

    order = [*dict.fromkeys(command.context.upper() for command in commands), MOVING]

    def rank(command: Command) -> tuple[int, int]:
        at = shown.index(command.id) if command.id in shown else len(shown)
        return (order.index(heading(command)), at)

    return [(heading(command), command) for command in sorted(commands, key=rank)]


def key_name(key: str) -> str:
    """A key of a binding as it is called on screen: `j`, `?`, `ctrl+p`, `esc`, `G`."""
    *modifiers, last = key.split("+")
    if last in _KEY_NAMES:
        return "+".join([*modifiers, _KEY_NAMES[last]])
    return "+".join([*modifiers, format_key(last)])


def context_of(place: type[DOMNode]) -> str:
    """What a place with keys is called."""
    context: str = getattr(place, "CONTEXT", "")
    return context or ("anywhere" if issubclass(place, App) else place.__name__.removesuffix("Screen").lower())


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
                said.append(f"{where} does both {other.action} and {binding.action}")
    return said


def clashes(screen: Screen[Any]) -> list[str]:
    """Keys that mean two things in one place from where the focus is now, one sentence each."""
    taken: dict[tuple[str, str], Command] = {}
    said: list[str] = []
    for command in active_commands(screen):
        for key in command.keys:
            if (other := taken.setdefault((command.context, key), command)) is not command:
                said.append(f"{command.context}: {key} is both {other.id} and {command.id}")
    return said


def apply_keymap(app: App[Any], keymap: Mapping[str, str], places: Iterable[type[DOMNode]]) -> list[str]:
    """Give bindings of `places` other keys, by their ids. What cannot be done is left out and said, in sentences."""
    said: list[str] = []
    declared: dict[str, list[Binding]] = {}
    for place in places:
        declared.setdefault(context_of(place), []).extend(own_bindings(place))
    known = {binding.id for bindings in declared.values() for binding in bindings}
    for command_id in sorted(set(keymap) - known):
        said.append(f"The key map names {command_id}, which is no command of this version.")
    wanted = {command_id: keys for command_id, keys in keymap.items() if command_id in known}
    for bindings in declared.values():
        taken = {
            key: binding.id for binding in bindings if binding.id not in wanted for key in _normal_keys(binding.key)
        }
        for command_id in dict.fromkeys(binding.id for binding in bindings if binding.id in wanted):
            for key in _normal_keys(wanted.get(command_id or "", "")):
                if (other := taken.setdefault(key, command_id)) != command_id:
                    said.append(f"The key map gives {key_name(key)} to {command_id}, but it is the key of {other}.")
                    wanted.pop(command_id or "", None)
    app.set_keymap(wanted)
    return list(dict.fromkeys(said))


def _normal_keys(keys: str) -> list[str]:
    return [binding.key for binding in Binding.make_bindings([Binding(keys, "")])] if keys.strip() else []


def markdown_table(places: Iterable[type[DOMNode]]) -> str:
    """The keys of `places` for the README: a table for each context, in the order they come."""
    rows: dict[str, dict[str, tuple[list[str], Binding]]] = {}
    for place in places:
        context = rows.setdefault(context_of(place), {})
        for binding in own_bindings(place):
            entry = context.setdefault(binding.id or binding.action, ([], binding))
            name = key_name(binding.key)
            if name not in entry[0]:
                entry[0].append(name)
    tables: list[str] = []
    for title, commands in rows.items():
        if not commands:
            continue
        lines = [f"### {title[:1].upper()}{title[1:]}", "", "| Keys | Does | Id |", "| --- | --- | --- |"]
        for keys, binding in commands.values():
            shown = " ".join(f"`{key}`" if key != "|" else "`\\|`" for key in keys)
            lines.append(f"| {shown} | {binding.tooltip or binding.description} | {binding.id or ''} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)
