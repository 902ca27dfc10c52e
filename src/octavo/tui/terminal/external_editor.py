"""Starts the user's editor (`edit_text`) and web browser (`find_browser`). Edited text is never lost.

Python's `webbrowser` is not used: it opens all kinds of URLs, and gives the browser the terminal and the tokens in the
environment.
"""

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
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from subprocess import DEVNULL, Popen
from typing import Any

from textual.app import App, SuspendNotSupported

from octavo.settings import Settings
from octavo.untrusted_input import parse_json

_SECRETS = ("OCTAVO_API_KEY",)
_WEB_SCHEMES = ("https://", "http://")
_OPENERS = (("open",),) if sys.platform == "darwin" else (("xdg-open",), ("gio", "open"), ("x-www-browser",))
_TERMINAL_BROWSERS = frozenset({"w3m", "lynx", "links", "links2", "elinks", "www-browser", "browsh"})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables without the variables that contain tokens."""
    return {name: value for name, value in environment.items() if name not in _SECRETS}


@dataclass(frozen=True)
class Browser:
    """Command that opens a URL in a web browser. The URL replaces `%s` in arguments, or becomes the last argument."""

    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        return PurePath(self.arguments[0]).name

    def start(self, url: str, environment: Mapping[str, str]) -> Popen[bytes]:
        """Start the browser with a URL. The browser cannot read or write the terminal. Raises ValueError if the URL is
        not http or https or has unprintable characters, and OSError if the browser cannot be started."""
        if not url.startswith(_WEB_SCHEMES) or not url.isprintable():
            raise ValueError("Octavo opens only http and https links in a browser.")
        command = [word.replace("%s", url) for word in self.arguments]
        return Popen(
            command if command != list(self.arguments) else [*command, url],
            env=without_secrets(environment),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )


def find_browser(url: str, environment: Mapping[str, str]) -> Browser | str:
    """Return the browser to open a URL with: from the variable BROWSER, else the browser of the desktop. If no
    browser can be used, return a sentence that says why."""
    if not url.startswith(_WEB_SCHEMES):
        return "Octavo opens only web links in a browser."
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return "You are connected over SSH: a browser would open on the remote computer."
    if sys.platform != "darwin" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return "Could not open a browser: no graphical display found."
    for argv in (*_commands_in(environment.get("BROWSER", "")), *_OPENERS):
        if shutil.which(argv[0], path=environment.get("PATH")) and PurePath(argv[0]).name not in _TERMINAL_BROWSERS:
            return Browser(argv)
    return (
        "Octavo could not find a browser. Set the environment variable BROWSER to the command that starts your browser."
    )


def _commands_in(setting: str) -> list[tuple[str, ...]]:
    commands = []
    for each in setting.split(":"):
        try:
            argv = tuple(shlex.split(each.strip().removesuffix("&")))
        except ValueError:
            continue
        if argv:
            commands.append(argv)
    return commands


_PLUS_EDITORS = frozenset(
    (
        *("vi", "vim", "nvim", "view", "gvim", "mvim", "nvi", "vile", "elvis", "ex"),
        *("emacs", "emacsclient", "xemacs", "mg", "zile", "jed", "jove"),
        *("joe", "jmacs", "jpico", "jstar", "rjoe"),
        *("nano", "rnano", "pico"),
        *("kak", "micro", "ne", "dte", "mcedit", "gedit", "sensible-editor"),
    )
)
"""Editors that open a file at line 12 with the arguments `+12 FILE`."""
_COLON_EDITORS = frozenset(["hx", "helix", "subl", "sublime_text", "zed", "zeditor"])
"""Editors that open a file at line 12 with the argument `FILE:12`."""
_GOTO_EDITORS = frozenset(
    ["code", "code-insiders", "code-oss", "codium", "codium-insiders", "vscodium", "cursor", "windsurf"]
)
"""Editors that open a file at line 12 with the arguments `--goto FILE:12`."""
_OPTION_EDITORS = {"kate": "--line", "kwrite": "--line", "mate": "--line"}
"""Editors that open a file at line 12 with arguments such as `--line 12 FILE`. The values are the options."""


_WAIT_OPTIONS = {
    **dict.fromkeys((*_GOTO_EDITORS, "subl", "sublime_text", "zed", "zeditor", "gedit", "mate", "atom"), "--wait"),
    **dict.fromkeys(("kate", "kwrite"), "--block"),
    **dict.fromkeys(("gvim", "mvim"), "--nofork"),
}
"""Options by editor. With this option, the editor waits until the file is closed, instead of returning at once."""


def option_to_wait(program: Sequence[str]) -> str:
    """Return the option that makes an editor wait until the file is closed. Empty if it is already set or unknown."""
    option = _WAIT_OPTIONS.get(PurePath(program[0]).name.lower().removesuffix(".exe"), "")
    return "" if {option, "-w", "-b", "-f"} & set(program[1:]) else option


def command_at_line(program: Sequence[str], path: str, line: int) -> list[str]:
    """Return the command to open a file at a line, counted from 1. Unknown editors and commands with `--` ignore it."""
    name = PurePath(program[0]).name.lower().removesuffix(".exe").removesuffix(".appimage")
    # After `--`, every argument is a file, so no option can follow.
    if line > 1 and "--" not in program:
        if (
            name in _PLUS_EDITORS or name.partition(".")[0] in _PLUS_EDITORS
        ):  # A name can end with a suffix: `vim.tiny`.
            return [*program, f"+{line}", path]
        if name in _COLON_EDITORS:
            return [*program, f"{path}:{line}"]
        if name in _GOTO_EDITORS:
            return [*program, "--goto", f"{path}:{line}"]
        if name in _OPTION_EDITORS:
            return [*program, _OPTION_EDITORS[name], str(line), path]
    return [*program, path]


QUICK_EXIT_SECONDS = 0.5
"""An editor that exits in fewer seconds may have passed the file on to another process, in which it is still open."""
MAX_TEXT_BYTES = 1024 * 1024

OPENS_AGAIN = "Press ! to open your saved text."

_USUAL_EDITORS = ("sensible-editor", "nano", "vi")
_KEYBOARD_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
r"""Signals that the terminal sends for the keys ctrl+c and ctrl+\."""


@dataclass(frozen=True)
class Edited:
    """Result of an edit: the text that the user saved in the editor."""

    text: str


@dataclass(frozen=True)
class NotEdited:
    """Result of an edit without a new text. `sentence` says why there is none. `kept_path` is the file that still has
    the text. `kept_path` is None if the editor was not started, or if the file is gone."""

    sentence: str
    kept_path: Path | None = None

    @property
    def message(self) -> str:
        """Sentence for the user. If the file was kept, it also says which key opens the file again."""
        return f"{self.sentence} {OPENS_AGAIN}" if self.kept_path is not None else self.sentence


@dataclass(frozen=True)
class FileNote:
    """Describes a file that is open in an editor. The note is next to the file, to recover the text after a crash."""

    title: str
    """Title of a page, or of a draft such as `Comment on Welcome`."""
    draft_key: str
    """Key of the draft that the text belongs to. Empty if there is none."""
    namespace: str
    """Namespace of the profile in `state.db`."""
    reason: str = ""
    """Sentence that says why the text was not used. Empty if Octavo does not know yet."""
    process_id: int = 0
    """ID of the Octavo process that waits for the editor. 0 if no process waits."""


def edit_text(
    app: App[Any],
    text: str,
    folder: Path,
    *,
    name: str = "comment",
    save_text: Callable[[str], str],
    note: FileNote | None = None,
    line: int = 1,
    suffix: str = ".md",
) -> Edited | NotEdited:
    """Suspend the app, open a text in the editor, and return what the user saved. `folder`, in which the file is
    created, is made private (mode 0700). See `run_editor` for the other parameters."""
    run = partial(
        run_editor, text, folder, os.environ, name=name, save_text=save_text, note=note, line=line, suffix=suffix
    )
    return _run_suspended(app, lambda command: run(command=command))


def reopen_file(app: App[Any], path: Path, save_text: Callable[[str], str]) -> Edited | NotEdited:
    """Edit the file of an earlier edit again. Return what the user saved. `run_editor` explains `save_text`."""

    def run(command: Sequence[str]) -> Edited | NotEdited:
        program = list(command) or _editor_command(os.environ)
        if isinstance(program, NotEdited):
            return program
        return _run([*program, str(path)], path, os.environ, None, save_text)

    return _run_suspended(app, run)


def _run_suspended(app: App[Any], run: Callable[[Sequence[str]], Edited | NotEdited]) -> Edited | NotEdited:
    settings: Settings | None = getattr(app, "settings", None)
    command = settings.editor if settings is not None else ()
    try:
        # Ctrl+c must not reach Octavo before or after the app is suspended.
        with ignore_keyboard_signals(), app.suspend():
            return run(command)
    except SuspendNotSupported:
        return NotEdited("Octavo cannot start an editor in this terminal.")


@contextmanager
def ignore_keyboard_signals() -> Iterator[None]:
    r"""Ignore the keys ctrl+c and ctrl+\ inside the `with` block, because another program uses the terminal."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread can handle signals.
        return
    # Set a handler, because a child process would inherit SIG_IGN and ignore ctrl+c too.
    handlers_before = {each: signal.signal(each, lambda *_: None) for each in _KEYBOARD_SIGNALS}
    try:
        yield
    finally:
        for each, handler in handlers_before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def run_editor(
    text: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    command: Sequence[str] = (),
    name: str = "comment",
    save_text: Callable[[str], str],
    note: FileNote | None = None,
    line: int = 1,
    suffix: str = ".md",
) -> Edited | NotEdited:
    """Open a text as a new private file in an editor, and return what the user saved. Before the file is deleted,
    `save_text` stores this text and returns an error message or an empty string. If the text cannot be read or stored,
    or if the editor fails after a change, the file and its `note` are not deleted."""
    program = list(command) or _editor_command(environment)
    if isinstance(program, NotEdited):
        return program
    if len(text.encode(errors="surrogatepass")) > MAX_TEXT_BYTES:
        return NotEdited("Could not open the editor: the text is larger than 1 MiB.")
    try:
        path = write_file(text, folder, name, suffix, note and replace(note, process_id=os.getpid()))
    except OSError as error:
        return NotEdited(f"Could not create a file in {folder}: {error.strerror}.")
    return _run(command_at_line(program, str(path), line), path, environment, text, save_text)


def _run(
    command: Sequence[str],
    path: Path,
    environment: Mapping[str, str],
    original_text: str | None,
    save_text: Callable[[str], str],
) -> Edited | NotEdited:
    """Run an editor command on a file, pass the edited text to `save_text`, and return the result. `original_text` is
    None if only the file has the text. Otherwise, a failed edit that changed nothing also deletes the file."""
    start_time, text = time.monotonic(), original_text if original_text is not None else _text_of(path)
    try:
        process = subprocess.run(command, env=without_secrets(environment), check=False)
    except OSError as error:
        if original_text is not None:
            delete_file(path)
        return NotEdited(f"Could not start {command[0]}: {error.strerror}. Set EDITOR to another program.")
    is_quick = option_to_wait(command) or time.monotonic() - start_time < QUICK_EXIT_SECONDS
    if process.returncode == 0 and is_quick and _text_of(path) == text and sys.stdin.isatty():
        _wait_for_enter(command, path, text)
    result = read_back(path)
    if isinstance(result, Edited) and text is not None:
        result = Edited(with_line_ends_of(text, result.text))
    if process.returncode != 0:
        sentence = f"{PurePath(command[0]).name} {_exit_reason(process.returncode)}"
        if original_text is not None and isinstance(result, Edited) and result.text == original_text:
            delete_file(path)
            return NotEdited(f"{sentence}. Nothing was changed.")
        result = NotEdited(f"{sentence}.", path if _is_regular(path) else None)
    elif isinstance(result, Edited) and (save_error := save_text(result.text)):
        result = NotEdited(save_error, path)
    if isinstance(result, Edited):
        delete_file(path)
        return result
    if result.kept_path is None:
        _note_path(path).unlink(missing_ok=True)
        return result
    if (note := read_note(path)) is not None:
        with suppress(OSError):  # Only the reason is lost: the file can still be opened again.
            _write_note(path, replace(note, reason=result.sentence, process_id=0))
    return result


def _text_of(path: Path) -> str | None:
    result = read_back(path)
    return result.text if isinstance(result, Edited) else None


def _wait_for_enter(command: Sequence[str], path: Path, last_text: str | None) -> None:
    """Ask the user to press enter after saving, and wait for the key. Meanwhile, report each change of the file at
    `path`. `last_text` is the text before the first change."""
    name, option = PurePath(command[0]).name, option_to_wait(command)
    sys.stdout.write(
        f"\n{name} exited immediately, and the file has not changed. Is the file open in another window?\n"
        "If so, save the file there, then press enter here. If not, press enter now.\n"
        f"To skip this question, set EDITOR to “{name} {option or '--wait'}”, or to an editor that waits.\n"
    )
    sys.stdout.flush()
    try:
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            if (new_text := _text_of(path)) is not None and new_text != last_text:
                last_text = new_text
                sys.stdout.write("The file was saved. Press enter when you are done.\n")
                sys.stdout.flush()
        os.read(sys.stdin.fileno(), 4096)
    except OSError:
        return  # The terminal was closed. The text that is saved by now is used.


def with_line_ends_of(original: str, edited: str) -> str:
    """Return `edited` with the byte order mark and the line endings of `original`. If `original` is empty, or if its
    line endings are mixed and its text has changed, keep the line endings of `edited`."""
    if original.startswith("\ufeff") and not edited.startswith("\ufeff"):
        edited = f"\ufeff{edited}"
    if edited.replace("\r\n", "\n") == original.replace("\r\n", "\n"):
        return original
    if original and "\r\n" not in original:
        return edited.replace("\r\n", "\n")
    if "\r\n" in original and "\n" not in original.replace("\r\n", ""):
        return edited.replace("\r\n", "\n").replace("\n", "\r\n")
    return edited


def _exit_reason(code: int) -> str:
    if code in (-signal.SIGINT, 128 + signal.SIGINT):
        return "was stopped with ctrl+c"
    if code < 0 and -code in {each.value for each in signal.Signals}:
        return f"was stopped by {signal.Signals(-code).name}"
    return f"exited with status {code}"


def _editor_command(environment: Mapping[str, str]) -> list[str] | NotEdited:
    command = environment.get("VISUAL") or environment.get("EDITOR") or ""
    if command.strip():
        try:
            return shlex.split(command)
        except ValueError:
            return NotEdited(f"Could not read the command in VISUAL or EDITOR: {command}")
    usual_editor = next((each for each in _USUAL_EDITORS if shutil.which(each, path=environment.get("PATH"))), None)
    return (
        [usual_editor]
        if usual_editor
        else NotEdited("Octavo could not find an editor. Set EDITOR to the command that starts your editor.")
    )


def write_file(text: str, folder: Path, name: str, suffix: str, note: FileNote | None = None) -> Path:
    """Create a private file with `text`, and the `note`, if any, next to it. Return the file's path. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True)
    if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & stat.S_ISVTX:
        folder.chmod(0o700)
    descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=suffix, dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
        if note is not None:
            _write_note(Path(path), note)
    except OSError:
        delete_file(Path(path))
        raise
    return Path(path)


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _note_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _write_note(path: Path, note: FileNote) -> None:
    new_path = _note_path(path).with_suffix(".new")
    descriptor = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    names = ("title", "place", "of", "why", "process")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(dict(zip(names, astuple(note), strict=True)), file)
    new_path.replace(_note_path(path))


def read_note(path: Path) -> FileNote | None:
    """Return the note next to a file. None if there is none, or if it is not valid."""
    try:
        fields = parse_json(_note_path(path).read_text(encoding="utf-8"))
        texts = [fields[name] for name in ("title", "place", "of", "why")]
        process = fields["process"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not all(isinstance(each, str) for each in texts) or not isinstance(process, int):
        return None
    return FileNote(texts[0], texts[1], texts[2], texts[3], process)


def note_timestamp(path: Path) -> float:
    """Return the timestamp of the note next to `path`: when the editor was opened, or failed. 0 without a note."""
    note_path = _note_path(path)
    return note_path.stat().st_mtime if note_path.exists() else 0.0


def delete_file(path: Path) -> None:
    """Delete the edited file at `path`, and the JSON file with its `FileNote`. Raises OSError."""
    path.unlink(missing_ok=True)
    _note_path(path).unlink(missing_ok=True)


def read_back(path: Path) -> Edited | NotEdited:
    """Return the text of a file after the editor has ended. If it cannot be read, return why."""
    # Editors replace the file by a new file, so it is opened by its path.
    try:
        # Without O_NONBLOCK, opening a pipe would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return NotEdited(f"Could not read {path}: it is not a regular file.")
            with open(descriptor, "rb", closefd=False) as file:
                raw = file.read(MAX_TEXT_BYTES + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return NotEdited("Could not read the text: the editor deleted the file.")
    except OSError as error:
        return NotEdited(f"Could not read {path}: {error.strerror}.", path if _is_regular(path) else None)
    if len(raw) > MAX_TEXT_BYTES:
        return NotEdited("Could not send the text: it is larger than 1 MiB.", path)
    try:
        text = raw.decode("utf-8-sig")  # Drops the byte order mark that some editors write.
    except UnicodeDecodeError:
        return NotEdited("Could not send the text: it is not valid UTF-8.", path)
    if "\0" in text:
        return NotEdited("Could not send the text: it contains NUL characters.", path)
    return Edited(text)
