"""How editors are told at which line to open a file. Pure."""

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
"""Editors that end at once while the file is open in a window, and what makes them wait."""


def option_to_wait(program: Sequence[str]) -> str:
    """What makes `program` wait until the file is closed, if it does not have that yet. Empty: nobody knows."""
    option = _WAIT.get(PurePath(program[0]).name.lower().removesuffix(".exe"), "")
    return "" if {option, "-w", "-b", "-f"} & set(program[1:]) else option


def at_line(program: Sequence[str], path: str, line: int) -> list[str]:
    """The command that opens a file at a line, counted from 1. Where nobody knows how a program takes one, or there is no
    need to, the one that opens the file."""
    name = PurePath(program[0]).name.lower().removesuffix(".exe").removesuffix(".appimage")
    # What comes after -- is a file, whatever it looks like.
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
