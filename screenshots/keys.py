"""Write the tables of keys in the help topic `keys`, between its markers, from the bindings.

.venv/bin/python -m screenshots.keys
"""

from __future__ import annotations

from octavo.help import file_of, text_of
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.widgets.commands import keys_as_markdown
from screenshots.generated import between

BEGIN, END = "<!-- keys: written by screenshots/keys.py -->", "<!-- end of keys -->"


def with_keys(text: str) -> str:
    """Return `text` with the tables as the bindings have them. Raises ValueError if a marker is missing."""
    return between(text, BEGIN, END, keys_as_markdown((Octavo, *KEYMAP_CONTEXTS)))


if __name__ == "__main__":
    file_of("keys").write_text(with_keys(text_of("keys")), encoding="utf-8")
