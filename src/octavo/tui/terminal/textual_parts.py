"""Guards for private parts of Textual: a part is replaced only if the installed Textual has the part that the
replacement was written for. Also the replacements that concern no widget: caches, timers and workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial, wraps
from inspect import CORO_CREATED, getattr_static, getcoroutinestate, iscoroutine
from types import CodeType
from typing import Any, cast
from zlib import crc32

from textual._compositor import Compositor
from textual._context import active_message_pump
from textual.app import App
from textual.cache import FIFOCache, LRUCache
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer, TimerCallback
from textual.widget import Widget
from textual.worker import Worker


def _names_in(code: CodeType) -> set[str]:
    """Return all names in a function and its inner functions. They are the same in every version of Python."""
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def fingerprint(kind: type, name: str) -> int:
    """Return a hash of the names in the code of a method or property. 0 if the class has no such part."""
    part = getattr_static(kind, name, None)
    function = getattr(part, "fget", None) or getattr(part, "__func__", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(name for name in _names_in(code) if name.isidentifier() and name != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


PARTS: dict[tuple[type, str], int] = {
    (Compositor, "visible_widgets"): 0x4AFE78A0,
    (Compositor, "reflow"): 0x4C993E47,
    (Widget, "on_event"): 0xC90C9A86,
    (Widget, "refresh"): 0x8965538B,
    (App, "_fatal_error"): 0xB2320153,
    (App, "_prune"): 0x516B9499,
    (Screen, "_binding_chain"): 0x93FD9604,
    (Screen, "_compositor_refresh"): 0xEA0E41F0,
    (Screen, "_update_focus_styles"): 0x57F2EAC2,
    (Stylesheet, "set_variables"): 0xB21E7C04,
    (Stylesheet, "parse"): 0xBC88A289,
    (Stylesheet, "reparse"): 0x57B6371B,
    (Timer, "_start"): 0x51A8F712,
    (Worker, "cancel"): 0xC3902025,
    (LinuxDriver, "_sigcont_application"): 0xDEA96D5C,
    (Strip, "__init__"): 0xFAF8C6FC,
}
"""The fingerprint of each part of Textual that is replaced or relied on."""
OTHER_PARTS = {part for part, known in PARTS.items() if fingerprint(*part) != known}
"""The parts that are different in the installed Textual. They are not replaced."""


def replaces(kind: type, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for the replacement of a method or property. The replacement gets the original first."""

    def replace(replacement: Callable[..., Any]) -> Callable[..., Any]:
        if (kind, name) not in OTHER_PARTS:
            part = getattr_static(kind, name)
            original = getattr(part, "fget", part)

            @wraps(original)
            def call(*args: Any, **options: Any) -> Any:
                return replacement(original, *args, **options)

            setattr(kind, name, property(call) if isinstance(part, property) else call)
        return replacement

    return replace


# Caches


class CachedStylesheet(Stylesheet):
    """A stylesheet that parses each CSS source once for each theme.

    Textual parses all sources again for each screen that has a source of its own, which takes 25 to 90 ms.
    """

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(1000)  # Textual keeps 64 sources, and Octavo has more.

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()


def new_stylesheet(variables: dict[str, str]) -> Stylesheet:
    """Return an empty `CachedStylesheet`, or a stylesheet of Textual if the installed Textual has another one."""
    is_known = OTHER_PARTS.isdisjoint((Stylesheet, name) for name in ("set_variables", "parse", "reparse"))
    return CachedStylesheet(variables=variables) if is_known else Stylesheet(variables=variables)


class _NoCache(FIFOCache[Any, Any]):
    def __setitem__(self, key: object, value: object) -> None:
        """Ignore the entry, so that nothing is cached."""


_NO_CACHE = _NoCache(0)
_FILTER_CACHE = "_filter_cache"
_CACHES = (
    "_divide_cache",
    "_crop_cache",
    "_style_cache",
    "_line_length_cache",
    "_crop_extend_cache",
    "_offsets_cache",
)


def disable_caches(strips: Iterable[Strip], *, filtered: bool = True) -> list[Strip]:
    """Disable the caches of `strips` and return them. Without `filtered`, the cache of filtered strips stays enabled.

    A strip has seven caches, which take more memory than its cells. A strip cropped to its full width caches itself,
    which only the garbage collector can release: dozens of strips with every frame.
    """
    strips = list(strips)
    if (Strip, "__init__") in OTHER_PARTS:
        return strips
    for strip in strips:
        for name in _CACHES:
            setattr(strip, name, _NO_CACHE)
        if filtered:
            setattr(strip, _FILTER_CACHE, _NO_CACHE)
    return strips


# Timers and workers


def is_being_removed(node: DOMNode) -> bool:
    """Return whether a node is being removed or was removed. Its children and its key bindings may be gone already."""
    return node._pruning or node._closing  # Textual sets only `_closing` for scroll bars.


def _unless_removed(node: DOMNode, callback: TimerCallback) -> TimerCallback:
    return lambda: None if is_being_removed(node) else callback()


@replaces(Timer, "_start")
def _start_for_target(_: Callable[..., Any], timer: Timer) -> None:
    """Start a timer that calls nothing if its target is being removed, and that runs in the context of its target.

    A busy widget handles a timer late, maybe after its children are removed. Textual runs a timer in the context in which
    it was created: the timer of a notification that a dialog shows would keep the closed dialog in memory.
    """
    context, target, callback = copy_context(), timer._target(), timer._callback
    if target is not None:
        context.run(active_message_pump.set, cast("MessagePump", target))
    if isinstance(target, DOMNode) and callback is not None:
        if isinstance(callback, partial) and callback.func == target.call_next:  # the form that `set_timer` uses
            timer._callback = partial(callback.func, *(_unless_removed(target, each) for each in callback.args))
        else:
            timer._callback = _unless_removed(target, callback)
    timer._task = asyncio.get_running_loop().create_task(timer._run_timer(), name=timer.name, context=context)


@replaces(Worker, "cancel")
def _close_unstarted_work(original: Callable[..., None], worker: Worker[Any]) -> None:
    """Cancel a worker and close its coroutine if it has not started. Otherwise Python warns that it was never awaited."""
    original(worker)
    if iscoroutine(work := worker._work) and getcoroutinestate(work) == CORO_CREATED:
        work.close()
