"""Writing in the person's own editor, with the text kept safe whatever the editor does."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from textual.app import App, SuspendNotSupported

from octavo.data.state import NotSaved
from octavo.settings import Settings
from octavo.tui.children import for_children
from octavo.tui.editor_lines import at_line

LARGEST = 1024 * 1024
"""Bytes: a longer file is not read back."""

_USUAL_EDITORS = ("sensible-editor", "nano", "vi")


@dataclass(frozen=True)
class Edited:
    """The text as the editor left it."""

    text: str


@dataclass(frozen=True)
class NotEdited:
    """Why there is no new text, and where the file with it is if there is one."""

    sentence: str
    kept: Path | None = None


@runtime_checkable
class Chosen(Protocol):
    """An app whose settings name an editor."""

    settings: Settings


def edit_text(
    app: App[Any],
    text: str,
    folder: Path,
    *,
    name: str = "comment",
    keep: Callable[[str], None] | None = None,
    line: int = 1,
) -> Edited | NotEdited:
    """Let the person change `text` in their editor while `app` stands still. `folder` becomes private (0700). `line` is
    the one it opens at, where it takes one."""
    command = app.settings.editor if isinstance(app, Chosen) else ()
    try:
        with app.suspend():
            return run_editor(text, folder, os.environ, command=command, name=name, keep=keep, line=line)
    except SuspendNotSupported:
        return NotEdited("An editor cannot be started from this terminal.")


def run_editor(
    text: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    command: Sequence[str] = (),
    name: str = "comment",
    keep: Callable[[str], None] | None = None,
    line: int = 1,
) -> Edited | NotEdited:
    """Run an editor on a private file with `text`, and read it back: `command`, or else what `environment` names.

    The file is removed when its text was read, and kept when anything failed. What `name` begins with is what the name
    of the file begins with. `keep` is called with the text before the file is removed, and may raise NotSaved. With it
    the text is exactly that of the file; without it, it has no line end at its end, and lines end as they do here.
    """
    program = list(command) or _editor(environment)
    if isinstance(program, NotEdited):
        return program
    if len(text.encode(errors="surrogatepass")) > LARGEST:
        return NotEdited("The text is larger than 1 MiB, which is more than is read back from an editor.")
    try:
        path = _write(text, folder, name)
    except OSError as error:
        return NotEdited(f"No file to edit could be made in {folder}: {error.strerror}.")
    try:
        ended = subprocess.run(at_line(program, str(path), line), env=for_children(environment), check=False)
    except OSError as error:
        path.unlink(missing_ok=True)
        return NotEdited(f"{program[0]} could not be started: {error.strerror}. Set EDITOR to another program.")
    if ended.returncode != 0:
        return NotEdited(f"{program[0]} ended with {ended.returncode}. The text is kept in {path}.", path)
    read = read_back(path)
    if isinstance(read, NotEdited):
        return read
    if keep is not None:
        try:
            keep(read.text)
        except NotSaved as error:
            return NotEdited(f"{error} The text is kept in {path}.", path)
    path.unlink(missing_ok=True)
    return read if keep is not None else Edited(read.text.replace("\r\n", "\n").removesuffix("\n"))


def _editor(environment: Mapping[str, str]) -> list[str] | NotEdited:
    wanted = environment.get("VISUAL") or environment.get("EDITOR") or ""
    if wanted.strip():
        try:
            return shlex.split(wanted)
        except ValueError:
            return NotEdited(f"EDITOR cannot be understood: {wanted}")
    found = next((each for each in _USUAL_EDITORS if shutil.which(each, path=environment.get("PATH"))), None)
    return [found] if found else NotEdited("There is no editor. Set EDITOR to the one you use.")


def _write(text: str, folder: Path, name: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".md", dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return Path(path)


def read_back(path: Path) -> Edited | NotEdited:
    """The text of a file an editor had, exactly."""
    # Read by its path: editors write a new file and put it in the place of the old one.
    try:
        # Nothing that waits for a writer is waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return NotEdited(f"{path} is no regular file any more and was not read.", path)
            if found.st_size > LARGEST:
                return NotEdited(f"The text is larger than 1 MiB and was not read. It is kept in {path}.", path)
            raw = os.read(descriptor, LARGEST)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return NotEdited("The text could not be read back: the editor took its file away.")
    except OSError as error:
        return NotEdited(f"{path} could not be read back: {error.strerror}.", path)
    try:
        return Edited(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return NotEdited(f"The text is not UTF-8 and was not read. It is kept in {path}.", path)
