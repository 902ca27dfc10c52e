"""Settings, read once from `config.toml` and the environment, and passed down.

A wrong value never keeps the program from starting: Octavo uses the default. Each mistake is reported in a sentence
with its file, its line, the reason and the valid values.

    theme = "dark"
    ascii = false
    motion = true
    thumbnails = false
    right_to_left = "auto"
    undo_seconds = 5
    editor = "nano"
    quick_replies = ["Fixed, thank you.", "Will do."]
    ca_file = "/etc/ssl/own.pem"

    [inbox."Docs of the API"]
    reasons = ["review requested", "mentioned"]
    space = "API"
    words = "key"

    [keys]
    "comment.resolve" = "d"
"""

from __future__ import annotations

import errno
import re
import shlex
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from octavo.untrusted_input import parse_toml, toml_text

FILE = "config.toml"
THEME = ""
"""None: the one chosen last."""
UNDO_SECONDS = 5.0
LONGEST_UNDO = 30.0
INBOX_REASONS = (
    "not sent",
    "review requested",
    "changed since review",
    "approved",
    "changes requested",
    "outdated",
    "new replies",
    "on my change requests",
    "mentioned",
    "unsent draft",
)
"""Why something is in the inbox, as `data/inbox.py` calls it."""
_FORMER_REASONS = {
    "review asked": "review requested",
    "changes asked": "changes requested",
    "on my work": "on my change requests",
    "left unsent": "unsent draft",
}
"""Names of reasons that settings written for an earlier release may still have."""

V = TypeVar("V")
_FOLDERS = ("config", "data", "state", "cache")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_TURNING = ("auto", "terminal", "octavo")
_AS_IT_COMES = (
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "WEZTERM_EXECUTABLE",
    "WT_SESSION",
    "XTERM_VERSION",
)
"""What terminals set that show letters in the order in which they come, also those from right to left."""
NAMES = (
    "theme",
    "ascii",
    "motion",
    "thumbnails",
    "right_to_left",
    "undo_seconds",
    "editor",
    "quick_replies",
    "ca_file",
    "inbox",
    "keys",
)
"""The names that `config.toml` may have."""
_IN_FILE_ONLY = ("quick_replies", "inbox", "keys")
_OTHER_VARIABLES = ("API_KEY", "BASE_URL", *(f"{name.upper()}_DIR" for name in _FOLDERS))
"""Variables that are no settings, without `OCTAVO_`."""
_IN_FILTER = ("reasons", "space", "words")
_XDG = {name: f"XDG_{name.upper()}_HOME" for name in _FOLDERS}
_MOST_LINES = 300
"""Lines of a file with a mistake in its syntax of which the others are still read."""
_BINDING = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
_LONGEST_TEXT = 1000
_MOST_REPLIES = 50
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
_FULL = (errno.ENOSPC, errno.EDQUOT)
LONGEST_NAME, _MOST_FILTERS = 40, 20
"""Letters in the name of a filter of the inbox, and how many filters there may be."""


@dataclass(frozen=True)
class InboxFilter:
    """Which rows of the inbox stand in a tab of its own: those for which all that is said here holds."""

    name: str
    reasons: tuple[str, ...] = ()
    """Of `INBOX_REASONS`, one of which is to be a reason of the row. None: any."""
    space: str = ""
    """The title of a space, in capitals or not, or its id. Empty: any."""
    words: str = ""
    """What is to stand in the row, each word somewhere."""


@dataclass(frozen=True)
class Settings:
    """What a person may choose, and where things are kept."""

    config_folder: Path
    data_folder: Path
    state_folder: Path
    cache_folder: Path
    theme: str = THEME
    """The name of a theme. The app checks whether there is a theme of this name."""
    ascii: bool = False
    """Draw with ASCII only; by default where the locale is not UTF-8."""
    motion: bool = True
    thumbnails: bool = False
    """Show pictures small within their page. Otherwise there is a frame, and Enter shows what is in it."""
    turns_words: bool = False
    """Turn right-to-left words round; otherwise they come as they are read, and the terminal turns them."""
    undo_seconds: float = UNDO_SECONDS
    """How long a comment is held before it is sent, 0 to 30."""
    editor: tuple[str, ...] = ()
    """The command of the external editor and its arguments. Nothing when none is chosen."""
    quick_replies: tuple[str, ...] = ()
    """Short texts that may be put into a comment."""
    ca_file: Path | None = None
    """Certificates to trust beside those of the system."""
    light_ground: bool = False
    """Whether the terminal says that its ground is light."""
    inbox_filters: tuple[InboxFilter, ...] = ()
    """Tabs of the inbox, in the order of the file."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by binding id, as Textual writes them, with commas between alternatives."""
    problems: tuple[str, ...] = ()
    """A sentence for each value that cannot be used."""
    location: Callable[..., str] = field(default=lambda *names: ".".join(names), compare=False, repr=False)
    """Return the place of a setting for a sentence about its value: its variable, or its file and line."""


def nearest(word: str, names: Collection[str]) -> str:
    """Return " Did you mean X?" with the most similar name, or "" if no name is similar."""
    from difflib import get_close_matches  # lazy: only for mistakes

    found = get_close_matches(word, names, n=1, cutoff=0.7)
    return f" Did you mean {found[0]}?" if found else ""


def in_words(error: Exception) -> str:
    """Return what went wrong in sentences: of a file or folder of Octavo that cannot be used, also what to do."""
    if not isinstance(error, OSError) or error.errno is None or not error.strerror:
        return str(error)  # our own say all of it
    named = f"Could not use {error.filename}: " if error.filename else ""
    step = "Check the file or folder, then try again."
    if error.errno in _NOT_WRITABLE:
        step = (
            "Make the folder writable, or set OCTAVO_CONFIG_DIR, OCTAVO_DATA_DIR, OCTAVO_STATE_DIR, and OCTAVO_CACHE_DIR "
            "to writable folders."
        )
    elif error.errno in _FULL:
        step = "Free up disk space, then try again."
    return f"{named}{error.strerror[:1].lower()}{error.strerror[1:].rstrip('.')}. {step}"


def read(environ: Mapping[str, str]) -> Settings:
    """The settings of this machine and this run: the environment counts more than the file."""
    folders, problems = _folders(environ)
    file = _File(folders["config"] / FILE)
    values = _Values(file, environ, [*problems, *file.problems])
    values.check_names()
    return Settings(
        **{f"{name}_folder": folder for name, folder in folders.items()},
        theme=values.theme(),
        ascii=values.switch("ascii", not _is_utf8(environ)),
        motion=values.switch("motion", environ.get("ACCESSIBLE", "") in ("", "0")),
        thumbnails=values.switch("thumbnails", False),
        turns_words=values.turns_words(),
        undo_seconds=values.undo_seconds(),
        editor=values.editor(),
        quick_replies=values.quick_replies(),
        ca_file=values.ca_file(),
        light_ground=_is_light(environ),
        inbox_filters=values.inbox_filters(),
        keys=values.keys(),
        problems=tuple(values.problems),
        location=values.location,
    )


class _File:
    """What `config.toml` says. A line that cannot be read is a problem, and the other lines count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._text = ""
        self._lines: list[tuple[int, int, tuple[str, ...]]] | None = None
        try:
            self._text = toml_text(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            said = error.strerror or type(error).__name__
            self.problems.append(f"Could not read {path}: {said}. Octavo is using the default settings.")
        except ValueError as error:
            self.problems.append(f"Could not read {path}: {error}. Octavo is using the default settings.")
        self.values: Mapping[str, Any] = self._parsed() if self._text else {}

    def line_of(self, *names: str) -> int:
        """Return the number of the line on which the value of these names begins, of tables within tables. 0 if none."""
        if self._lines is None:
            self._lines = list(_statements(self._text.split("\n")))
        for length in range(len(names), 0, -1):
            for first, _, path in self._lines:
                if path[:length] == names[:length]:
                    return first + 1
        return 0

    def _parsed(self) -> Mapping[str, Any]:
        lines = self._text.split("\n")
        try:
            return parse_toml(self._text)
        except ValueError as error:
            if len(lines) > _MOST_LINES:
                self.problems.append(f"Could not read {self.path}: {error}. Octavo is using the default settings.")
                return {}
        refused: list[tuple[int, str]] = []
        self._lines = list(_statements(lines, refused))
        for number, _ in refused:
            _take_out(lines, number, self._lines)

        ends = [0, *(end for _, end, _ in self._lines)]

        def is_read(count: int) -> bool:
            """Return whether the lines of the first so many statements can be read."""
            try:
                parse_toml("\n".join(lines[: ends[count]]))
            except ValueError:
                return False
            return True

        while not is_read(-1):
            # Each statement by itself can be read: the first with which the file cannot be repeats what another said.
            at = bisect_left(range(1, len(self._lines) + 1), True, key=lambda count: not is_read(count))
            first = self._lines[at][0]
            refused.append((first, "its name occurs twice in the file"))
            _take_out(lines, first, self._lines)
        self.problems += [
            f"{self.path}, line {number + 1}: Octavo cannot read this line ({why}) and ignores it."
            for number, why in sorted(refused)
        ]
        return parse_toml("\n".join(lines))


def _statements(
    lines: list[str], refused: list[tuple[int, str]] | None = None
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The statements in the lines of a TOML file: their first line, the line after them, and the names they are for.

    `refused` gets each line that is no statement, and the reason.
    """
    at = 0
    table: tuple[str, ...] = ()
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        found, why, is_header = None, "", lines[at].lstrip().startswith("[")
        may_go_on = not is_header and any(mark in lines[at] for mark in ("[", '"""', "'''"))
        for end in range(at + 1, (min(len(lines), at + _MOST_LINES) if may_go_on else at + 1) + 1):
            try:
                found = parse_toml("\n".join(lines[at:end]))
                break
            except ValueError as error:
                why = why or re.sub(r" \(at .*\)", "", str(error))
        if found is None:
            if refused is not None:
                refused.append((at, why[:1].lower() + why[1:]))
            end = at + 1
            yield at, end, ("",) if is_header else (*table, "")
            table = ("",) if is_header else table
        else:
            path = tuple(_names_in(found))
            table = path if is_header else table
            yield at, end, path if is_header else (*table, *path)
        at = end


def _names_in(parsed: Any) -> Iterator[str]:
    while isinstance(parsed, (dict, list)) and len(parsed) == 1:
        if isinstance(parsed, dict):
            yield (name := next(iter(parsed)))
            parsed = parsed[name]
        else:
            parsed = parsed[0]


def _take_out(lines: list[str], number: int, statements: list[tuple[int, int, tuple[str, ...]]]) -> None:
    """Empty a statement, of a table with all that is in it."""
    is_header, is_inside = lines[number].lstrip().startswith("["), False
    for first, end, _ in statements:
        if first == number or (is_inside and not lines[first].lstrip().startswith("[")):
            lines[first:end] = [""] * (end - first)
            is_inside = is_header
        else:
            is_inside = False


class _Values:
    """Takes values one by one, and notes those that cannot be used."""

    def __init__(self, file: _File, environ: Mapping[str, str], problems: list[str]) -> None:
        self._file = file
        self._kept = file.values
        self._environ = environ
        self.problems = problems

    def check_names(self) -> None:
        """Report the names that are no setting, in the file and in the environment."""
        for name in self._kept:
            if name not in NAMES:
                line = self._file.line_of(name)
                # A name of a person's own can be long, and say anything.
                said = f"{self._file.path}, line {line}: there is no setting {name[:40]!r}."
                self.problems.append(f"{said}{nearest(name, NAMES)} The settings are {', '.join(NAMES)}.")
        variables = [*(name.upper() for name in NAMES if name not in _IN_FILE_ONLY), *_OTHER_VARIABLES]
        for name in self._environ:
            own = name.removeprefix("OCTAVO_")
            # Other programs may have variables of this kind: only a name like one of ours is a mistake.
            if own != name and own not in variables and (meant := nearest(own, variables)):
                self.problems.append(
                    f"Octavo ignores the variable {name[:60]}.{meant.replace('mean ', 'mean OCTAVO_')}"
                )

    def theme(self) -> str:
        value = self._find("theme")
        if value is None or value == "":
            return THEME
        if isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable():
            return value
        return self._refuse("must be the name of a theme, such as dark or light", THEME, "theme")

    def switch(self, name: str, default: bool) -> bool:
        value = self._find(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, str) or value in (0, 1):
            said = str(value).lower()
            if said in _TRUE + _FALSE:
                return said in _TRUE
        return self._refuse(f"must be true or false, not {_quoted(value)}", default, name)

    def turns_words(self) -> bool:
        name = "right_to_left"
        value = self._find(name)
        if value not in (None, "", *_TURNING):
            meant = nearest(str(value), _TURNING)
            return self._refuse(f"must be auto, terminal, or octavo, not {_quoted(value)}", False, name, meant=meant)
        if value == "terminal" or (value != "octavo" and not _shows_as_it_comes(self._environ)):
            return False
        from importlib.util import find_spec  # few have chosen it, or have such a terminal

        if find_spec("bidi") is not None:
            return True
        needs = (
            "is “octavo”, which needs the package python-bidi. To install the package, run: pip install 'octavo[bidi]'"
        )
        return self._refuse(needs, False, name) if value == "octavo" else False

    def undo_seconds(self) -> float:
        value = self._find("undo_seconds")
        if value is None or value == "":
            return UNDO_SECONDS
        try:
            seconds = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            seconds = float("nan")
        if 0 <= seconds <= LONGEST_UNDO:
            return seconds
        why = f"must be a number of seconds from 0 to 30, not {_quoted(value)}"
        return self._refuse(why, UNDO_SECONDS, "undo_seconds")

    def editor(self) -> tuple[str, ...]:
        value, named = self._find("editor"), ("editor",)
        for name in ("VISUAL", "EDITOR"):
            if not value and self._environ.get(name):
                value, named = self._environ[name], (name,)
        if value is None or value == "":
            return ()
        try:
            command = tuple(shlex.split(value)) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else ()
        except ValueError:
            command = ()
        why = f"must be a command, such as nano or “code --wait”, not {_quoted(value)}"
        return command or self._refuse(why, (), *named)

    def quick_replies(self) -> tuple[str, ...]:
        value = self._kept.get("quick_replies")
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > _MOST_REPLIES:
            return self._refuse(f"must be a list of at most {_MOST_REPLIES} replies", (), "quick_replies")
        if all(isinstance(each, str) and len(each.strip()) > 0 and len(each) <= _LONGEST_TEXT for each in value):
            return tuple(dict.fromkeys(each.strip() for each in value))
        return self._refuse(
            f"must be a list of replies, each 1 to {_LONGEST_TEXT} characters long", (), "quick_replies"
        )

    def ca_file(self) -> Path | None:
        """Return the path also if there is no such file: Octavo connects to no server without it."""
        value = self._find("ca_file")
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            return self._refuse(f"must be the path to a certificate file, not {_quoted(value)}", None, "ca_file")
        path, is_there = Path(value), False
        with suppress(OSError, ValueError, RuntimeError):  # no file has such a name
            path = path.expanduser()
            is_there = path.is_file()
        if not is_there:
            self.problems.append(
                f"{self.location('ca_file')} is {_quoted(value)}, but there is no such file. Correct or remove the path. "
                "Until you do, Octavo cannot connect to a server."
            )
        return path

    def inbox_filters(self) -> tuple[InboxFilter, ...]:
        table = self._kept.get("inbox", {})
        if not isinstance(table, dict):
            why = 'must contain one section for each filter, such as [inbox."API"]'
            return self._refuse(why, (), "inbox")
        found: list[InboxFilter] = []
        for name, kept in table.items():
            wrong = list(_wrong_in(kept))
            if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
                wrong = [("", f"must have a name of 1 to {LONGEST_NAME} printable characters"), *wrong]
            if not wrong and len(found) == _MOST_FILTERS:
                wrong = [("", f"exceeds the limit of {_MOST_FILTERS} filters")]
            for part, why in wrong:
                self._refuse(why, None, *filter(None, ("inbox", name, part)), default_is="ignores the filter")
            if not wrong:
                reasons = tuple(_FORMER_REASONS.get(each, each) for each in kept.get("reasons", ()))
                found.append(InboxFilter(name.strip(), reasons, kept.get("space", ""), kept.get("words", "")))
        return tuple(found)

    def keys(self) -> dict[str, str]:
        chosen: dict[str, str] = {}
        table = self._kept.get("keys", {})
        if not isinstance(table, dict):
            return self._refuse("must be a section named [keys] that assigns keys to commands", {}, "keys")
        for binding, keys in table.items():
            if not _BINDING.fullmatch(binding):
                why = "is not a command ID, such as comment.resolve. To list the command IDs, run octavo help keys"
            elif not (isinstance(keys, str) and keys.strip() and keys.isprintable() and len(keys) < 100):
                why = f"must be a key, such as d or ctrl+d, not {_quoted(keys)}"
            else:
                chosen[binding] = keys
                continue
            self._refuse(why, None, "keys", binding)
        return chosen

    def location(self, *names: str) -> str:
        """Return the place of a setting for a sentence about its value: its variable, or its file and line."""
        variable = f"OCTAVO_{names[0].upper()}"
        if names[0] in ("VISUAL", "EDITOR"):
            return names[0]
        if len(names) == 1 and names[0] not in _IN_FILE_ONLY and self._environ.get(variable):
            return variable
        head, *rest = names
        called = f"{head}.{'.'.join(repr(each[:LONGEST_NAME]) for each in rest)}" if rest else head
        line = self._file.line_of(*names)
        return f"{self._file.path}, line {line}: {called}" if line else f"{self._file.path}: {called}"

    def _find(self, name: str) -> Any:
        return self._environ.get(f"OCTAVO_{name.upper()}") or self._kept.get(name)

    def _refuse(self, why: str, default: V, *names: str, default_is: str = "uses the default", meant: str = "") -> V:
        self.problems.append(f"{self.location(*names)} {why}.{meant} Octavo {default_is}.")
        return default


def _quoted(value: object) -> str:
    """Return a value for a sentence: in one line, short, and without a character that is not printed."""
    try:
        said = repr(value)
    except ValueError:
        return "this number"  # of more digits than Python writes
    return said if len(said) <= LONGEST_NAME + 2 else f"{said[:LONGEST_NAME]}…"


def _wrong_in(kept: object) -> Iterator[tuple[str, str]]:
    """Yield the name of each part of an inbox filter that cannot be used, and why. The name of the whole is empty."""
    parts = "reasons, space, and words"
    if not isinstance(kept, dict):
        yield "", f"must be a section with one or more of the conditions {parts}"
        return
    if not kept:
        yield "", f"is empty. Add at least one condition: {parts}"
    for unknown in kept.keys() - set(_IN_FILTER):
        yield unknown, f"is not a filter condition.{nearest(unknown, _IN_FILTER)} The conditions are {parts}"
    reasons = kept.get("reasons", [])
    for each in reasons if isinstance(reasons, list) else [reasons]:
        if not isinstance(reasons, list) or each not in (*INBOX_REASONS, *_FORMER_REASONS):
            has = (
                f"contains {_quoted(each)}, which is not a valid reason"
                if isinstance(reasons, list)
                else "must be a list of reasons"
            )
            meant = nearest(each, INBOX_REASONS) if isinstance(each, str) else ""
            yield "reasons", f"{has}.{meant} The valid reasons are {', '.join(INBOX_REASONS)}"
    for name in ("space", "words"):
        value = kept.get(name, "")
        if not (isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_TEXT):
            yield name, f"must be one line of text, not {_quoted(value)}"


def _is_light(environ: Mapping[str, str]) -> bool:
    """What terminals say in COLORFGBG: the number of the ground is that of white or light grey."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _shows_as_it_comes(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is known not to turn right-to-left words round."""
    named = environ.get("TERM_PROGRAM", "") == "vscode" or environ.get("TERM", "").startswith(("foot", "linux"))
    return named or any(environ.get(name) for name in _AS_IT_COMES)


def _folders(environ: Mapping[str, str]) -> tuple[dict[str, Path], list[str]]:
    """Return the folders, and a sentence for each variable that does not name one.

    They are those of `OCTAVO_CONFIG_DIR` and its like, or where the system keeps such things.
    """
    chosen = {name: environ.get(f"OCTAVO_{name.upper()}_DIR", "") for name in _FOLDERS}
    if all(chosen.values()):
        return {name: Path(folder) for name, folder in chosen.items()}, []
    import platformdirs  # slow to load beside the rest of this module

    system = platformdirs.PlatformDirs("octavo", appauthor=False)
    folders = {name: Path(chosen[name] or getattr(system, f"user_{name}_dir")) for name in _FOLDERS}
    ignored = [
        f"{variable} is the relative path {_quoted(value)}, so Octavo ignores it and uses "
        f"{', '.join(str(folders[name]) for name in used)}. Set {variable} to a path that begins with /."
        for variable, names in {"HOME": _FOLDERS, **{_XDG[name]: (name,) for name in _FOLDERS}}.items()
        if (value := environ.get(variable, "")) and not Path(value).is_absolute()
        if (used := [name for name in names if not chosen[name]])
    ]
    return folders, ignored


def _is_utf8(environ: Mapping[str, str]) -> bool:
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "utf-8")
    return "utf8" in locale.lower().replace("-", "")
