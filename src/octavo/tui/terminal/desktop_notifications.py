"""Desktop notifications by the terminal: the escape sequences OSC 9, 777 and 99."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.api.safety import safe_line

LONGEST = 80
"""Maximum number of characters of a notification."""
_BY_PROGRAM = {"iTerm.app": "osc9", "WezTerm": "osc9", "ghostty": "osc9", "rio": "osc9"}
_SEQUENCES = {
    "osc9": "\x1b]9;{text}\x1b\\",
    "osc777": "\x1b]777;notify;Octavo;{text}\x1b\\",
    "osc99": "\x1b]99;;{text}\x1b\\",
}


def notification(text: str, setting: str, environment: Mapping[str, str]) -> str:
    """Return the escape sequence that shows a notification. Empty if notifications are off or the terminal has none."""
    sequence = _SEQUENCES.get(_kind(environment) if setting == "auto" else setting, "")
    if not sequence:
        return ""
    # `;` separates the fields of OSC 777.
    cleaned = safe_line(text).replace(";", ",")
    shown = sequence.format(text=cleaned if len(cleaned) <= LONGEST else f"{cleaned[: LONGEST - 1]}…")
    return f"\x1bPtmux;{shown.replace(chr(27), chr(27) * 2)}\x1b\\" if environment.get("TMUX") else shown


def _kind(environment: Mapping[str, str]) -> str:
    """Return the name of the sequence that the terminal is known to support, such as `osc9`. Empty if none is known."""
    if environment.get("KITTY_WINDOW_ID"):
        return "osc99"
    if environment.get("TERM", "").startswith(("foot", "rxvt")):
        return "osc777"
    return _BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""), "")
