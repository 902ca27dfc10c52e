"""Write the README's tables of keys, between its markers, from the bindings.

.venv/bin/python screenshots/keys.py
"""

from __future__ import annotations

from pathlib import Path

from octavo.tui.commands import markdown_table
from octavo.tui.places import PLACES

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- keys: written by screenshots/keys.py -->", "<!-- end of keys -->"


def with_keys(text: str) -> str:
    """`text` with the tables as the bindings have them. Raises ValueError when it has no markers for them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"There is no place for the keys: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{markdown_table(PLACES)}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_keys(README.read_text(encoding="utf-8")), encoding="utf-8")
