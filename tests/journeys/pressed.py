"""Which key each operation is asked for by, seen while journeys run: what a key begins is followed to what is sent for it.

A key runs a command (`HasCommands.action_command`). What is posted, called later, begun or put in the outbox meanwhile, and
what that begins, is for that command: so it goes with the context of Python, and with messages. What is done in a dialog, and
what a screen asks for by itself, is for the command that opened it. A step in a list is for the view: it shows what is beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

from textual._callback import invoke
from textual.app import App
from textual.events import InputEvent, Paste
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from octavo.api.operation import SPECS, Operation
from octavo.api.wire import route_of
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.worker import OutboxWorker
from octavo.tui.core.view import Subscriptions
from octavo.tui.widgets.commands import HasCommands

STEPS = frozenset(("down", "up", "top", "bottom", "page_down", "page_up", "read_back", "prev_block", "next_block"))
SENDING = frozenset(("dialog", "composer", "form", "list", "filter", "chooser", "button", "row"))
"""Groups of keys by which what is asked in a dialog is found, answered and sent."""

seen: set[tuple[str, str, str]] = set()
"""Method and path of what was sent; the id of the command it is for, behind that which opened the dialog it is of, or
nothing where no key asked; and where that was."""


@dataclass(frozen=True)
class Cause:
    """What a key did."""

    commands: str
    screen: ref[Screen[Any]]
    place: str = ""
    """Empty: where the screen is when something is sent."""


_cause: ContextVar[Cause | None] = ContextVar("cause", default=None)
_handling: ContextVar[bool] = ContextVar("handling", default=False)
"""Whether a message is handled: what a test calls itself is no key."""
_opened: WeakKeyDictionary[Screen[Any], Cause] = WeakKeyDictionary()
_queued: dict[Operation[Any], Cause] = {}


def forget() -> None:
    """Begin anew."""
    seen.clear()
    _queued.clear()


def sent(op: Operation[Any]) -> None:
    """Note that an operation leaves."""
    cause = _cause.get()
    commands, place = ("", "") if cause is None else (cause.commands, cause.place or _way(cause.screen()))
    seen.add((f"{SPECS[type(op)].method} {route_of(op)}", commands, place))


def _way(screen: Screen[Any] | None) -> str:
    """The view on show, and the kinds of things one went through in it."""
    if screen is None:
        return ""
    mode = screen.app.current_mode
    stack = screen.app._screen_stacks[mode]  # of a view that is being made there is none yet
    levels = getattr(stack[0], "levels", ()) if stack else ()
    return " › ".join((mode, *(each.resource.plural for each in levels)))


def _screen_of(place: object) -> Screen[Any] | None:
    if isinstance(place, App):
        return place.screen_stack[-1] if place._screen_stacks and place.screen_stack else None
    above = place.ancestors_with_self if isinstance(place, Widget) else ()
    return next((each for each in above if isinstance(each, Screen)), None)


def _opening(place: object) -> Cause | None:
    """What opened the screen that something is of. Views are opened by their keys, however one came to them first."""
    if not isinstance(place, Widget) or (screen := _screen_of(place)) is None:
        return None
    mode = next((mode for mode, stack in screen.app._screen_stacks.items() if stack[:1] == [screen]), "")
    return Cause(f"view.{mode}", ref(screen)) if mode else _opened.get(screen)


def _doing(place: HasCommands, id: str, on: Screen[Any]) -> Cause | None:
    """What is done for the command of a key."""
    group, _, name = id.rpartition(".")
    before = _opening(on)
    if name in STEPS:
        return before
    if not isinstance(on, ModalScreen) or isinstance(place, App):
        return Cause(id, ref(on), _way(on))
    if before is None or group in SENDING:
        return before
    return Cause(f"{before.commands} {id}", ref(on), before.place)


def _for_now(callback: Any) -> Any:
    """Calls it later, for what is done now."""
    cause = _cause.get()

    async def call() -> None:
        token = _cause.set(cause)
        try:
            await invoke(callback)
        finally:
            _cause.reset(token)

    return callback if cause is None else call


def _handled(handle: Any) -> Any:
    async def handled(pump: MessagePump, message: Message) -> None:
        posted_for = None if isinstance(message, InputEvent | Paste) else message.__dict__.get("_cause")
        tokens = _cause.set(posted_for or _opening(pump)), _handling.set(True)
        try:
            await handle(pump, message)
        finally:
            _cause.reset(tokens[0])
            _handling.reset(tokens[1])

    return handled


def follow() -> None:
    """Follow what keys do, in all apps of this process."""
    post, later, painted = MessagePump.post_message, MessagePump.call_next, Screen._invoke_later
    made, command, subscribe = Screen.__init__, HasCommands.action_command, Subscriptions.follow
    add, deliver = Outbox._add, OutboxWorker._take_step

    def post_message(pump: MessagePump, message: Message) -> bool:
        if (cause := _cause.get()) is not None:
            message.__dict__.setdefault("_cause", cause)
        return post(pump, message)

    def call_next(pump: MessagePump, callback: Any, *parts: Any, **named: Any) -> None:
        later(pump, _for_now(partial(callback, *parts, **named)))

    def invoke_later(screen: Screen[Any], callback: Any, sender: MessagePump) -> None:
        painted(screen, _for_now(callback), sender)

    def make(screen: Screen[Any], *parts: Any, **named: Any) -> None:
        made(screen, *parts, **named)
        if (cause := _cause.get()) is not None:
            _opened[screen] = cause

    def action_command(place: HasCommands, id: str) -> object:
        if _handling.get() and (on := _screen_of(place)) is not None:
            _cause.set(_doing(place, id, on))
        return command(place, id)

    def follow_op(subscriptions: Subscriptions, *parts: Any, **named: Any) -> None:
        token = _cause.set(_cause.get() or _opening(subscriptions._owner))
        try:
            subscribe(subscriptions, *parts, **named)
        finally:
            _cause.reset(token)

    async def add_writes(outbox: Outbox, writes: Sequence[Any], *parts: Any, **named: Any) -> Any:
        if (cause := _cause.get()) is not None:
            _queued.update((each.op, cause) for each in writes)
        return await add(outbox, writes, *parts, **named)

    async def deliver_entry(worker: OutboxWorker, entry: OutboxEntry) -> None:
        token = _cause.set(_queued.get(entry.op))
        try:
            await deliver(worker, entry)
        finally:
            _cause.reset(token)

    for place, name, instead in (
        (MessagePump, "post_message", post_message),
        (MessagePump, "call_next", call_next),
        (MessagePump, "_on_message", _handled(MessagePump._on_message)),
        (App, "on_event", _handled(App.on_event)),
        (Screen, "_invoke_later", invoke_later),
        (Screen, "__init__", make),
        (HasCommands, "action_command", action_command),
        (Subscriptions, "follow", follow_op),
        (Outbox, "_add", add_writes),
        (OutboxWorker, "_take_step", deliver_entry),
    ):
        setattr(place, name, instead)
