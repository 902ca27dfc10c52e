"""Write the README's tables of keys, between its markers, from the bindings.

.venv/bin/python -m screenshots.keys
"""

from __future__ import annotations

from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.widgets.commands import markdown_table
from screenshots import readme

BEGIN, END = "<!-- keys: written by screenshots/keys.py -->", "<!-- end of keys -->"


def with_keys(text: str) -> str:
    """`text` with the tables as the bindings have them. Raises ValueError when it has no markers for them."""
    return readme.between(text, BEGIN, END, markdown_table((Octavo, *KEYMAP_CONTEXTS)))


if __name__ == "__main__":
    readme.write(with_keys(readme.read()))
