"""What operations with a mind of their own do, one module per subject."""

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Let every subject register what answers its operations. A platform does so when it is built."""
    for subject in iter_modules(__path__, f"{__name__}."):
        import_module(subject.name)
