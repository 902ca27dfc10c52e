"""Builds the lines of the settings file that save the filters of the inbox as a tab."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from octavo.data.inbox import Reason
from octavo.settings import LONGEST_NAME
from octavo.tui.inbox.sections import RowFilter


def tab_settings(
    by: Sequence[RowFilter], words: str, reasons: Sequence[Reason], taken: Collection[str]
) -> tuple[str, list[str]]:
    """Return the lines for a tab with the given filters, and the names of the filters that settings cannot express.

    The lines are empty if settings can express none of the filters. `taken`: names of other tabs.
    """
    kinds = {each.kind: each for each in by}
    only = [kinds["Reason"].value] if "Reason" in kinds else list(reasons)
    space = kinds["Space"].value if "Space" in kinds else ""
    left_out = [each.name for each in by if each.kind not in ("Reason", "Space")]
    said = [
        f"reasons = [{', '.join(map(_quoted, only))}]" if only else "",
        f"space = {_quoted(space)}" if space else "",
        f"words = {_quoted(words)}" if words else "",
    ]
    if not any(said):
        return "", left_out
    named = [*(each.name for each in by if each.name not in left_out), words]
    name = _free_name(" ".join(filter(None, named)) or " or ".join(only), taken)
    return "\n".join([f"[inbox.{_quoted(name)}]", *filter(None, said)]) + "\n", left_out


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a tab, with a number if the name is taken, because a table cannot be repeated in TOML."""
    shown = " ".join("".join(each if each.isprintable() else " " for each in name).split())
    found, number = shown[:LONGEST_NAME].strip(), 2
    while found in taken:
        found = f"{shown[: LONGEST_NAME - len(str(number)) - 1].strip()} {number}"
        number += 1
    return found


def _quoted(text: str) -> str:
    """Return a text as a TOML string: like JSON, but the delete character is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
