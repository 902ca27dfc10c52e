"""Imports of modules when they are first needed: views, dialogs and slow libraries that the first screen does not need.
Also the extras of Octavo, whose libraries may not be installed.

Each import is named by a string constant `MODULE:NAME`. `tests/test_layers.py` counts these names as imports, and checks
that each exists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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


@dataclass(frozen=True)
class Extra:
    """An optional part of Octavo: the modules that it needs, the packages that provide these modules, and its purpose
    (a phrase without full stop)."""

    modules: tuple[str, ...]
    packages: tuple[str, ...]
    purpose: str


EXTRAS = {
    "pdf": Extra(("reportlab",), ("reportlab",), "export PDF files in the demo and from folders"),
    "import": Extra(
        ("bs4", "markdownify", "mammoth"),
        ("beautifulsoup4", "markdownify", "mammoth"),
        "import pages in the demo and in folders",
    ),
    "images": Extra(("textual_image", "resvg_py"), ("textual-image", "resvg-py"), "show images in more detail"),
    "bidi": Extra(("bidi",), ("python-bidi",), "reorder Hebrew and Arabic"),
    "mcp": Extra(("mcp",), ("mcp",), "serve agents with the Model Context Protocol"),
}
"""The extras of `pip install 'octavo[NAME]'`, by name."""


def has_extra(name: str) -> bool:
    """Return whether all packages of an extra are installed."""
    return all(find_spec(each) is not None for each in EXTRAS[name].modules)


def missing_extra_phrase(name: str) -> str:
    """Return the end of a sentence and the command that installs an extra, such as `needs octavo[pdf]. Run: pip install
    'octavo[pdf]'`."""
    packages = " ".join(EXTRAS[name].packages)
    is_pipx = "pipx" in Path(sys.prefix).parts
    command = f"pipx inject octavo {packages}" if is_pipx else f"pip install 'octavo[{name}]'"
    return f"needs octavo[{name}]. Run: {command}"
