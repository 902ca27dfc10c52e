"""Command-line arguments of editors: the line at which to open a file, and the option to wait until it is closed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

_PLUS = frozenset(
    [
        "vi",
        "vim",
        "nvim",
        "view",
        "gvim",
        "mvim",
        "nvi",
        "vile",
        "elvis",
        "ex",
        "nano",
        "rnano",
        "pico",
        "emacs",
        "emacsclient",
        "xemacs",
        "mg",
        "zile",
        "jed",
        "joe",
        "jmacs",
        "jpico",
        "jstar",
        "rjoe",
        "kak",
        "micro",
        "ne",
        "dte",
        "jove",
        "mcedit",
        "gedit",
        "sensible-editor",
    ]
)
"""`+12 FILE`"""
_COLON = frozenset(["hx", "helix", "subl", "sublime_text", "zed", "zeditor"])
"""`FILE:12`"""
_GOTO = frozenset(["code", "code-insiders", "code-oss", "codium", "codium-insiders", "vscodium", "cursor", "windsurf"])
"""`--goto FILE:12`"""
_OPTION = {"kate": "--line", "kwrite": "--line", "mate": "--line"}
"""`--line 12 FILE`"""


_WAIT = {
    **dict.fromkeys((*_GOTO, "subl", "sublime_text", "zed", "zeditor", "gedit", "mate", "atom"), "--wait"),
    **dict.fromkeys(("kate", "kwrite"), "--block"),
    **dict.fromkeys(("gvim", "mvim"), "--nofork"),
}
"""Editors that exit immediately after they open a window, with the option that makes them wait."""


def option_to_wait(program: Sequence[str]) -> str:
    """Return the option that makes an editor wait until the file is closed. Empty if it is set already, or unknown."""
    option = _WAIT.get(PurePath(program[0]).name.lower().removesuffix(".exe"), "")
    return "" if {option, "-w", "-b", "-f"} & set(program[1:]) else option


def at_line(program: Sequence[str], path: str, line: int) -> list[str]:
    """Return the command that opens a file at a line, counted from 1. Without the line if the editor is unknown."""
    name = PurePath(program[0]).name.lower().removesuffix(".exe").removesuffix(".appimage")
    # After --, an editor reads every argument as a file.
    if line > 1 and "--" not in program:
        if name in _PLUS or name.partition(".")[0] in _PLUS:  # vim.tiny
            return [*program, f"+{line}", path]
        if name in _COLON:
            return [*program, f"{path}:{line}"]
        if name in _GOTO:
            return [*program, "--goto", f"{path}:{line}"]
        if name in _OPTION:
            return [*program, _OPTION[name], str(line), path]
    return [*program, path]
