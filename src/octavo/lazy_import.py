"""Imports modules when they are first needed, such as dialogs and slow libraries (`lazy`). Also lists the extras, which
are optional libraries.

A string constant `MODULE:NAME` names each import. `tests/test_layers.py` counts these strings as imports, and checks
that each name exists.
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
    """Import a module, and return its object `NAME`. `path` is `MODULE:NAME`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def lazy(path: str) -> Callable[..., Any]:
    """Return a function that calls `MODULE:NAME`. Its first call imports the module. If callers need the type of the
    result, annotate the variable, as in `_open: Callable[..., Session] = lazy("octavo.cli.sessions:open_demo")`."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        return load(path)(*arguments, **keywords)

    return call


@dataclass(frozen=True)
class Extra:
    """Optional libraries: Octavo imports the `modules`, and pip installs the `packages`. `purpose` is what the
    libraries do."""

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
"""The extras by name. The name is for example `pdf` in `pip install 'octavo[pdf]'`."""


def has_extra(name: str) -> bool:
    """Return True if all packages of an extra are installed."""
    return all(find_spec(each) is not None for each in EXTRAS[name].modules)


def missing_extra_phrase(name: str) -> str:
    """Return a phrase that says how to install an extra, such as `needs octavo[pdf]. Run: pip install …`."""
    packages = " ".join(EXTRAS[name].packages)
    is_pipx = "pipx" in Path(sys.prefix).parts
    command = f"pipx inject octavo {packages}" if is_pipx else f"pip install 'octavo[{name}]'"
    return f"needs octavo[{name}]. Run: {command}"
