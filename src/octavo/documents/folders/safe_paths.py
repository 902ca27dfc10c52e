"""Checks the paths of files that a server names, before they are written to a folder."""

from __future__ import annotations

import re
from pathlib import Path

from octavo.documents.folders.folder import DEPTH_LIMIT

SPECIAL_FOLDER = ".gitbook"
"""The only hidden folder in which files are written."""
NAME_BYTES = 255
"""Longest name of a file on common file systems, in bytes."""
LEAVES, HIDDEN, DEVICE, LONG, TAKEN, LINKED = (
    "its path leaves the folder",
    "its path has a hidden name",
    "its path has a name that some systems reserve",
    "its path is too long",
    "another file has the same path, apart from case or Unicode form",
    "its path goes through a symbolic link",
)
"""Reasons why a file is not written."""
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff\u2400-\u2421\ufffd]")
"""Control characters, as such and as `api/safety.py` shows them, and the backslash."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)", re.IGNORECASE)


def why_unsafe(path: str) -> str:
    """Return why a file must not be written at `path` in a folder. Empty if it may be written."""
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names) or _UNFIT.search(path) or re.match(r"[A-Za-z]:", path):
        return LEAVES
    inner = names[1:] if names[0] == SPECIAL_FOLDER else names
    if any(name.startswith(".") for name in inner) or names == [SPECIAL_FOLDER]:
        return HIDDEN
    if any(_RESERVED.match(name) or name.endswith((".", " ")) for name in names):
        return DEVICE
    if len(names) > DEPTH_LIMIT or any(len(name.encode()) > NAME_BYTES for name in names):
        return LONG
    return ""


def passes_link(folder: Path, path: str) -> bool:
    """Return whether `path` in `folder` is a symbolic link, or goes through one."""
    place = folder
    for name in path.split("/"):
        place /= name
        if place.is_symlink():
            return True
    return False
