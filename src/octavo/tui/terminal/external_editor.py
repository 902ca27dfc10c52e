"""Writing in the person's own editor, with the text kept safe whatever the editor does."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Protocol, runtime_checkable

from textual.app import SuspendNotSupported

from octavo.settings import Settings
from octavo.tui.terminal.child_programs import for_children
from octavo.tui.terminal.editor_commands import at_line, option_to_wait
from octavo.untrusted_input import parse_json

AT_ONCE = 0.5
"""Seconds: a program that ends sooner shows the file in a window of another, or not at all."""
LARGEST = 1024 * 1024
"""Bytes: a longer file is not read back."""

OPENS_AGAIN = "Press ! to open your saved text."

_USUAL_EDITORS = ("sensible-editor", "nano", "vi")
_FOR_THE_CHILD = (signal.SIGINT, signal.SIGQUIT)
"""What Ctrl-C and Ctrl-\\ send to all in the foreground."""


@dataclass(frozen=True)
class Edited:
    """The text as the editor left it."""

    text: str


@dataclass(frozen=True)
class NotEdited:
    """Why there is no new text, and where the file with it is if there is one."""

    sentence: str
    kept: Path | None = None

    @property
    def said(self) -> str:
        """The sentence, and where the text can be had when it is kept."""
        return f"{self.sentence} {OPENS_AGAIN}" if self.kept is not None else self.sentence


@dataclass(frozen=True)
class FileNote:
    """What an editor is opened for. It is kept beside the file, so that the text is found however all ended."""

    title: str
    """Such as `Comment on Welcome`, or the title of a page."""
    place: str
    """Its place among the drafts."""
    of: str
    """The namespace of the session."""
    why: str = ""
    """Why the text was not taken, in a sentence, once that is known."""
    process: int = 0
    """The Octavo that waits for the editor."""


class SuspendableApp(Protocol):
    """An app that can give the terminal away."""

    def suspend(self) -> AbstractContextManager[None]: ...


@runtime_checkable
class EditorSettings(Protocol):
    """An app whose settings name an editor."""

    settings: Settings


def edit_text(
    app: SuspendableApp,
    text: str,
    folder: Path,
    *,
    name: str = "comment",
    keep: Callable[[str], str] | None = None,
    about: FileNote | None = None,
    line: int = 1,
    suffix: str = ".md",
) -> Edited | NotEdited:
    """Let the person change `text` in their editor while `app` stands still. `folder` becomes private (0700). `line` is
    the one it opens at, where it takes one. `suffix` is what the name of the file ends with: editors go by it."""
    run = partial(run_editor, text, folder, os.environ, name=name, keep=keep, about=about, line=line, suffix=suffix)
    return _standing_still(app, lambda command: run(command=command))


def edit_again(app: SuspendableApp, path: Path, keep: Callable[[str], str]) -> Edited | NotEdited:
    """Let the person go on in a file that an editor left, while `app` stands still. `keep` is as for `run_editor`."""

    def run(command: Sequence[str]) -> Edited | NotEdited:
        program = list(command) or _editor(os.environ)
        return program if isinstance(program, NotEdited) else _run([*program, str(path)], path, os.environ, None, keep)

    return _standing_still(app, run)


def _standing_still(app: SuspendableApp, run: Callable[[Sequence[str]], Edited | NotEdited]) -> Edited | NotEdited:
    command = app.settings.editor if isinstance(app, EditorSettings) else ()
    try:
        # From before the terminal is given away until after it is back, so that no Ctrl-C falls between.
        with signals_for_the_child(), app.suspend():
            return run(command)
    except SuspendNotSupported:
        return NotEdited("Octavo cannot start an editor in this terminal.")


@contextmanager
def signals_for_the_child() -> Iterator[None]:
    """What the keys of the terminal send to all in the foreground is for the program that has it meanwhile, not for us."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can be said what signals do, and only there they are dealt with
        return
    # A handler is not inherited by the child, as it would be to ignore them.
    before = {each: signal.signal(each, lambda *_: None) for each in _FOR_THE_CHILD}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def run_editor(
    text: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    command: Sequence[str] = (),
    name: str = "comment",
    keep: Callable[[str], str] | None = None,
    about: FileNote | None = None,
    line: int = 1,
    suffix: str = ".md",
) -> Edited | NotEdited:
    """Run an editor on a private file with `text`, and read it back: `command`, or else what `environment` names.

    The file is removed when its text was read, and kept with what it is `about` when anything failed. What `name` begins
    with is what the name of the file begins with. `keep` is called with the text before the file is removed, and answers
    why it could not keep it, in a sentence: empty when it did. With it the text is that of the file, with the line ends and
    the byte order mark of `text`; without it, it has no line end at its end, and lines end as they do here.
    """
    program = list(command) or _editor(environment)
    if isinstance(program, NotEdited):
        return program
    if len(text.encode(errors="surrogatepass")) > LARGEST:
        return NotEdited("Could not open the editor: the text is larger than 1 MiB.")
    try:
        path = write_file(text, folder, name, suffix, about and replace(about, process=os.getpid()))
    except OSError as error:
        return NotEdited(f"Could not create a file in {folder}: {error.strerror}.")
    read = _run(at_line(program, str(path), line), path, environment, text, keep)
    if isinstance(read, NotEdited) or keep is not None:
        return read
    return Edited(read.text.replace("\r\n", "\n").removesuffix("\n"))


def _run(
    words: Sequence[str],
    path: Path,
    environment: Mapping[str, str],
    before: str | None,
    keep: Callable[[str], str] | None,
) -> Edited | NotEdited:
    """Run a command on a file. `before` is what the file says; None: nobody else has that text."""
    began, found = time.monotonic(), before if before is not None else _text_of(path)
    try:
        ended = subprocess.run(words, env=for_children(environment), check=False)
    except OSError as error:
        if before is not None:
            forget(path)
        return NotEdited(f"Could not start {words[0]}: {error.strerror}. Set EDITOR to another program.")
    is_quick = option_to_wait(words) or time.monotonic() - began < AT_ONCE
    if ended.returncode == 0 and is_quick and _text_of(path) == found and sys.stdin.isatty():
        _wait_until_done(words, path, found)
    read = read_back(path)
    if isinstance(read, Edited) and found is not None:
        read = Edited(written_as_before(found, read.text))
    if ended.returncode != 0:
        said = f"{PurePath(words[0]).name} {_ended(ended.returncode)}"
        if before is not None and isinstance(read, Edited) and read.text == before:
            forget(path)
            return NotEdited(f"{said}. Nothing was changed.")
        read = NotEdited(f"{said}.", path if _is_there(path) else None)
    elif isinstance(read, Edited) and keep is not None and (why := keep(read.text)):
        read = NotEdited(why, path)
    if isinstance(read, Edited):
        forget(path)
        return read
    if read.kept is None:
        _about_of(path).unlink(missing_ok=True)
        return read
    if (about := about_of(path)) is not None:
        with suppress(OSError):  # then it is kept without the reason
            _note(path, replace(about, why=read.sentence, process=0))
    return read


def _text_of(path: Path) -> str | None:
    read = read_back(path)
    return read.text if isinstance(read, Edited) else None


def _wait_until_done(words: Sequence[str], path: Path, before: str | None) -> None:
    """Ask for enter: the program has ended, but the file may be open in a window of it. Says when the file was saved."""
    name, option = PurePath(words[0]).name, option_to_wait(words)
    sys.stdout.write(
        f"\n{name} exited immediately, and the file has not changed. Is the file open in another window?\n"
        "If so, save the file there, then press enter here. If not, press enter now.\n"
        f"To skip this question, set EDITOR to “{name} {option or '--wait'}”, or to an editor that waits.\n"
    )
    sys.stdout.flush()
    try:
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            if (now := _text_of(path)) is not None and now != before:
                before = now
                sys.stdout.write("The file was saved. Press enter when you are done.\n")
                sys.stdout.flush()
        os.read(sys.stdin.fileno(), 4096)
    except OSError:
        return  # the terminal is gone: what was saved until now is taken


def written_as_before(before: str, after: str) -> str:
    """`after` with the line ends and the byte order mark that `before` has: some editors write those of Windows."""
    if before.startswith("\ufeff") and not after.startswith("\ufeff"):
        after = f"\ufeff{after}"
    if after.replace("\r\n", "\n") == before.replace("\r\n", "\n"):
        return before
    if before and "\r\n" not in before:
        return after.replace("\r\n", "\n")
    if "\r\n" in before and "\n" not in before.replace("\r\n", ""):
        return after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after


def _ended(code: int) -> str:
    if code in (-signal.SIGINT, 128 + signal.SIGINT):
        return "was stopped with ctrl+c"
    if code < 0 and -code in {each.value for each in signal.Signals}:
        return f"was stopped by {signal.Signals(-code).name}"
    return f"exited with status {code}"


def _editor(environment: Mapping[str, str]) -> list[str] | NotEdited:
    wanted = environment.get("VISUAL") or environment.get("EDITOR") or ""
    if wanted.strip():
        try:
            return shlex.split(wanted)
        except ValueError:
            return NotEdited(f"Could not read the command in VISUAL or EDITOR: {wanted}")
    found = next((each for each in _USUAL_EDITORS if shutil.which(each, path=environment.get("PATH"))), None)
    return (
        [found]
        if found
        else NotEdited("Octavo could not find an editor. Set EDITOR to the command that starts your editor.")
    )


def write_file(text: str, folder: Path, name: str, suffix: str, about: FileNote | None = None) -> Path:
    """Write `text` to a new private file in `folder`, and beside it what it is `about`. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True)
    if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & stat.S_ISVTX:
        folder.chmod(0o700)
    descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=suffix, dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
        if about is not None:
            _note(Path(path), about)
    except OSError:
        forget(Path(path))  # a part of the text helps nobody
        raise
    return Path(path)


def _is_there(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _about_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _note(path: Path, about: FileNote) -> None:
    """Write down beside the file what it is. Raises OSError."""
    new = _about_of(path).with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(about), file)
    new.replace(_about_of(path))


def about_of(path: Path) -> FileNote | None:
    """What the file of an editor is, if that was written down."""
    try:
        noted = parse_json(_about_of(path).read_text(encoding="utf-8"))
        texts = [noted[name] for name in ("title", "place", "of", "why")]
        process = noted["process"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not all(isinstance(each, str) for each in texts) or not isinstance(process, int):
        return None
    return FileNote(texts[0], texts[1], texts[2], texts[3], process)


def forget(path: Path) -> None:
    """Remove the file of an editor, and what was written down of it. Raises OSError."""
    path.unlink(missing_ok=True)
    _about_of(path).unlink(missing_ok=True)


def read_back(path: Path) -> Edited | NotEdited:
    """The text of a file an editor had, exactly."""
    # Read by its path: editors write a new file and put it in the place of the old one.
    try:
        # Nothing that waits for a writer is waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return NotEdited(f"Could not read {path}: it is not a regular file.")
            if found.st_size > LARGEST:
                return NotEdited("Could not send the text: it is larger than 1 MiB.", path)
            raw = os.read(descriptor, LARGEST)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return NotEdited("Could not read the text: the editor deleted the file.")
    except OSError as error:
        return NotEdited(f"Could not read {path}: {error.strerror}.", path if _is_there(path) else None)
    try:
        text = raw.decode("utf-8-sig")  # without the mark that some editors put before it
    except UnicodeDecodeError:
        return NotEdited("Could not send the text: it is not valid UTF-8.", path)
    if "\0" in text:
        return NotEdited("Could not send the text: it contains NUL characters.", path)
    return Edited(text)
