"""Write the table of settings in the help topic `settings`, between its markers, from the table that Octavo reads.

.venv/bin/python -m screenshots.settings
"""

from __future__ import annotations

from octavo.help import file_of, text_of
from octavo.settings.table import TABLE
from screenshots.generated import between

BEGIN, END = "<!-- settings: written by screenshots/settings.py -->", "<!-- end of settings -->"


def with_settings(text: str) -> str:
    """Return `text` with the table of settings. Raises ValueError if a marker is missing."""
    rows = [f"| `{each.name}` | {each.kind} | {each.default} | {each.about} |" for each in TABLE]
    return between(
        text, BEGIN, END, "\n".join(["| Setting | Type | Default | Meaning |", "| --- | --- | --- | --- |", *rows])
    )


if __name__ == "__main__":
    file_of("settings").write_text(with_settings(text_of("settings")), encoding="utf-8")
