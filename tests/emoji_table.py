"""Write the table of emoji names, `documents/emoji_names.txt`, from the tables of pymdown-extensions, which the test extra has.

.venv/bin/python -m tests.emoji_table
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from runpy import run_module
from typing import Any

from octavo.documents import emoji

FILE = Path(emoji.__file__).with_name("emoji_names.txt")
_BETWEEN_WORDS = re.compile(r"[^a-z0-9]+")


def table() -> str:
    """Return the text of the table: a part for each source of names, and a line for each name."""
    editor, gemoji = run_module("pymdownx.twemoji_db"), run_module("pymdownx.gemoji_db")
    described = ((_BETWEEN_WORDS.sub("_", each["name"].lower()), _code(each)) for each in editor["emoji"].values())
    parts = {
        "editor": _names(editor),
        "aliases": _aliases(editor),
        "descriptions": described,
        "others": dict([*_names(gemoji), *_aliases(gemoji)]).items(),
    }
    return "".join(
        f"[{title}]\n" + "".join(f"{name} {code}\n" for name, code in names if name) for title, names in parts.items()
    )


def _names(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, each in tables["emoji"].items():
        yield _normalized(name), _code(each)


def _aliases(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for other, name in tables["aliases"].items():
        yield _normalized(other), _code(tables["emoji"][name])


def _normalized(name: str) -> str:
    return name.strip(":").replace("-", "_")


def _code(emoji: Mapping[str, str]) -> str:
    return emoji.get("unicode_alt") or emoji["unicode"]


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
