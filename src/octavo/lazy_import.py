"""Imports of modules when they are first needed: views, dialogs and slow libraries that the first screen does without.

Each name is a string constant `MODULE:NAME`. `tests/test_layers.py` counts the names as imports, and checks that each exists.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def load(path: str) -> Any:
    """Import a module and return a function, class or value of it, given as `MODULE:NAME`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def lazy(path: str) -> Callable[..., Any]:
    """Return a function that imports `MODULE:NAME` when it is called, and calls the function or class with this name."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        return load(path)(*arguments, **keywords)

    return call
