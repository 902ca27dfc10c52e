"""Handlers for operations that need more than plain REST, one module per subject."""

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Import all handler modules, so that they register their handlers."""
    for subject in iter_modules(__path__, f"{__name__}."):
        import_module(subject.name)
