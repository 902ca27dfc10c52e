"""The optional parts of Octavo, and how to install them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Extra:
    """An optional part of Octavo: the modules that it needs, the packages that provide these modules, and its purpose
    (a phrase without full stop)."""

    modules: tuple[str, ...]
    packages: tuple[str, ...]
    about: str


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


def how_to_install(name: str) -> str:
    """Return the end of a sentence and the command that installs an extra, such as `needs octavo[pdf]. Run: pip install
    'octavo[pdf]'`."""
    packages = " ".join(EXTRAS[name].packages)
    is_pipx = "pipx" in Path(sys.prefix).parts
    command = f"pipx inject octavo {packages}" if is_pipx else f"pip install 'octavo[{name}]'"
    return f"needs octavo[{name}]. Run: {command}"
