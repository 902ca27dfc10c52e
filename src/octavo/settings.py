"""Settings, read once from `config.toml` and the environment, and passed down.

Octavo uses the default for an invalid value. Each mistake is reported in a sentence with its file, its line, the reason
and the valid values.

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
"""Default of the theme: the theme that was chosen last."""
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
"""Reasons why an item is in the inbox, as in `data/inbox.py`."""
_FORMER_REASONS = {
    "review asked": "review requested",
    "changes asked": "changes requested",
    "on my work": "on my change requests",
    "left unsent": "unsent draft",
}
"""Reasons by the names that they had in earlier releases."""

V = TypeVar("V")
_FOLDERS = ("config", "data", "state", "cache")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_TURNING = ("auto", "terminal", "octavo")
_LEFT_TO_RIGHT_TERMINALS = (
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "WEZTERM_EXECUTABLE",
    "WT_SESSION",
    "XTERM_VERSION",
)
"""Variables that are set by terminals which do not reorder right-to-left text."""
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
"""Settings that `config.toml` can contain."""
_IN_FILE_ONLY = ("quick_replies", "inbox", "keys")
_OTHER_VARIABLES = ("API_KEY", "BASE_URL", *(f"{name.upper()}_DIR" for name in _FOLDERS))
"""Variables that are not settings, without the prefix `OCTAVO_`."""
_IN_FILTER = ("reasons", "space", "words")
_XDG = {name: f"XDG_{name.upper()}_HOME" for name in _FOLDERS}
_MOST_LINES = 300
"""Most lines of a file with syntax errors whose other lines are still read."""
_BINDING = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
_LONGEST_TEXT = 1000
_MOST_REPLIES = 50
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
_FULL = (errno.ENOSPC, errno.EDQUOT)
LONGEST_NAME, _MOST_FILTERS = 40, 20
"""Most characters in the name of an inbox filter, and most filters."""


@dataclass(frozen=True)
class InboxFilter:
    """A tab of the inbox, with the rows that match all its conditions."""

    name: str
    reasons: tuple[str, ...] = ()
    """Reasons, one of which must be a reason of the row. Empty: all rows match."""
    space: str = ""
    """Title or id of the space, not case-sensitive. Empty: all rows match."""
    words: str = ""
    """Words that the row must contain. Empty: all rows match."""


@dataclass(frozen=True)
class Settings:
    """The settings of the user, and the folders of Octavo."""

    config_folder: Path
    data_folder: Path
    state_folder: Path
    cache_folder: Path
    theme: str = THEME
    """Name of the theme. The app checks whether the theme exists."""
    ascii: bool = False
    """Whether to use ASCII symbols only. The default is true if the locale is not UTF-8."""
    motion: bool = True
    """Whether to animate."""
    thumbnails: bool = False
    """Whether pages show small pictures. Otherwise they show frames, and enter opens the picture."""
    reorders_right_to_left: bool = False
    """Whether Octavo reorders right-to-left text. Otherwise the terminal does."""
    undo_seconds: float = UNDO_SECONDS
    """Seconds in which a comment can be undone before it is sent, 0 to 30."""
    editor: tuple[str, ...] = ()
    """Command of the external editor with its arguments. Empty if none is set."""
    quick_replies: tuple[str, ...] = ()
    """Short texts that can be inserted into a comment."""
    ca_file: Path | None = None
    """File with certificates to trust in addition to those of the system. None if none is set."""
    has_light_background: bool = False
    """Whether the background of the terminal is light, as far as the terminal says so."""
    inbox_filters: tuple[InboxFilter, ...] = ()
    """Tabs of the inbox, in the order of the file."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by command id, in the notation of Textual, separated by commas."""
    problems: tuple[str, ...] = ()
    """A sentence for each invalid setting."""
    location: Callable[..., str] = field(default=lambda *names: ".".join(names), compare=False, repr=False)
    """Return the place of a setting for a sentence about its value: its variable, or its file and line."""


def nearest(word: str, names: Collection[str]) -> str:
    """Return " Did you mean X?" with the most similar name, or "" if no name is similar."""
    from difflib import get_close_matches  # lazy: only for mistakes

    found = get_close_matches(word, names, n=1, cutoff=0.7)
    return f" Did you mean {found[0]}?" if found else ""


def in_words(error: Exception) -> str:
    """Return the message of an error. For a file or folder of Octavo that cannot be used, it also says what to do."""
    if not isinstance(error, OSError) or error.errno is None or not error.strerror:
        return str(error)
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
    """Read the settings from `config.toml` and the environment. Variables override the file."""
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
        reorders_right_to_left=values.reorders_right_to_left(),
        undo_seconds=values.undo_seconds(),
        editor=values.editor(),
        quick_replies=values.quick_replies(),
        ca_file=values.ca_file(),
        has_light_background=_is_light(environ),
        inbox_filters=values.inbox_filters(),
        keys=values.keys(),
        problems=tuple(values.problems),
        location=values.location,
    )


class _File:
    """The contents of `config.toml`. Lines with errors are reported as problems, and the other lines are used."""

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
            why = error.strerror or type(error).__name__
            self.problems.append(f"Could not read {path}: {why}. Octavo is using the default settings.")
        except ValueError as error:
            self.problems.append(f"Could not read {path}: {error}. Octavo is using the default settings.")
        self.values: Mapping[str, Any] = self._parsed() if self._text else {}

    def line_of(self, *names: str) -> int:
        """Return the number of the first line of a setting, given by the names of its tables and its own name. 0 if there is none."""
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
            _remove_statement(lines, number, self._lines)

        ends = [0, *(end for _, end, _ in self._lines)]

        def is_read(count: int) -> bool:
            """Return whether the first `count` statements can be read together."""
            try:
                parse_toml("\n".join(lines[: ends[count]]))
            except ValueError:
                return False
            return True

        while not is_read(-1):
            # Each statement is valid alone, so the first statement that makes the file invalid repeats an earlier name.
            index = bisect_left(range(1, len(self._lines) + 1), True, key=lambda count: not is_read(count))
            first = self._lines[index][0]
            refused.append((first, "its name occurs twice in the file"))
            _remove_statement(lines, first, self._lines)
        self.problems += [
            f"{self.path}, line {number + 1}: Octavo cannot read this line ({why}) and ignores it."
            for number, why in sorted(refused)
        ]
        return parse_toml("\n".join(lines))


def _statements(
    lines: list[str], refused: list[tuple[int, str]] | None = None
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the statements of a TOML file: the first line, the line after the last, and the names of tables and setting.

    `refused` gets the number of each line that is no valid statement, and the reason.
    """
    start = 0
    table: tuple[str, ...] = ()
    while start < len(lines):
        if not lines[start].strip() or lines[start].lstrip().startswith("#"):
            start += 1
            continue
        found, why, is_header = None, "", lines[start].lstrip().startswith("[")
        may_continue = not is_header and any(mark in lines[start] for mark in ("[", '"""', "'''"))
        for end in range(start + 1, (min(len(lines), start + _MOST_LINES) if may_continue else start + 1) + 1):
            try:
                found = parse_toml("\n".join(lines[start:end]))
                break
            except ValueError as error:
                why = why or re.sub(r" \(at .*\)", "", str(error))
        if found is None:
            if refused is not None:
                refused.append((start, why[:1].lower() + why[1:]))
            end = start + 1
            yield start, end, ("",) if is_header else (*table, "")
            table = ("",) if is_header else table
        else:
            path = tuple(_names_in(found))
            table = path if is_header else table
            yield start, end, path if is_header else (*table, *path)
        start = end


def _names_in(parsed: Any) -> Iterator[str]:
    while isinstance(parsed, (dict, list)) and len(parsed) == 1:
        if isinstance(parsed, dict):
            yield (name := next(iter(parsed)))
            parsed = parsed[name]
        else:
            parsed = parsed[0]


def _remove_statement(lines: list[str], number: int, statements: list[tuple[int, int, tuple[str, ...]]]) -> None:
    """Replace the lines of a statement by empty lines. For the header of a table, also its contents."""
    is_header, is_inside = lines[number].lstrip().startswith("["), False
    for first, end, _ in statements:
        if first == number or (is_inside and not lines[first].lstrip().startswith("[")):
            lines[first:end] = [""] * (end - first)
            is_inside = is_header
        else:
            is_inside = False


class _Values:
    """Reads and validates the settings one by one, and collects problems."""

    def __init__(self, file: _File, environ: Mapping[str, str], problems: list[str]) -> None:
        self._file = file
        self._file_values = file.values
        self._environ = environ
        self.problems = problems

    def check_names(self) -> None:
        """Report unknown settings in the file, and misspelled variables in the environment."""
        for name in self._file_values:
            if name not in NAMES:
                line = self._file.line_of(name)
                problem = f"{self._file.path}, line {line}: there is no setting {name[:40]!r}."
                self.problems.append(f"{problem}{nearest(name, NAMES)} The settings are {', '.join(NAMES)}.")
        variables = [*(name.upper() for name in NAMES if name not in _IN_FILE_ONLY), *_OTHER_VARIABLES]
        for name in self._environ:
            own = name.removeprefix("OCTAVO_")
            # Other programs may use the prefix, so only a name similar to a setting is reported.
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
            word = str(value).lower()
            if word in _TRUE + _FALSE:
                return word in _TRUE
        return self._refuse(f"must be true or false, not {_quoted(value)}", default, name)

    def reorders_right_to_left(self) -> bool:
        name = "right_to_left"
        value = self._find(name)
        if value not in (None, "", *_TURNING):
            meant = nearest(str(value), _TURNING)
            return self._refuse(f"must be auto, terminal, or octavo, not {_quoted(value)}", False, name, meant=meant)
        if value == "terminal" or (value != "octavo" and not _keeps_letter_order(self._environ)):
            return False
        from importlib.util import find_spec  # lazy: few terminals need it

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
        value = self._file_values.get("quick_replies")
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
        """Return the path even if the file is missing, because Octavo must not connect without these certificates."""
        value = self._find("ca_file")
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            return self._refuse(f"must be the path to a certificate file, not {_quoted(value)}", None, "ca_file")
        path, is_there = Path(value), False
        with suppress(OSError, ValueError, RuntimeError):  # The path may be invalid.
            path = path.expanduser()
            is_there = path.is_file()
        if not is_there:
            self.problems.append(
                f"{self.location('ca_file')} is {_quoted(value)}, but there is no such file. Correct or remove the path. "
                "Until you do, Octavo cannot connect to a server."
            )
        return path

    def inbox_filters(self) -> tuple[InboxFilter, ...]:
        table = self._file_values.get("inbox", {})
        if not isinstance(table, dict):
            why = 'must contain one section for each filter, such as [inbox."API"]'
            return self._refuse(why, (), "inbox")
        found: list[InboxFilter] = []
        for name, section in table.items():
            problems = list(_problems_in(section))
            if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
                problems = [("", f"must have a name of 1 to {LONGEST_NAME} printable characters"), *problems]
            if not problems and len(found) == _MOST_FILTERS:
                problems = [("", f"exceeds the limit of {_MOST_FILTERS} filters")]
            for part, why in problems:
                self._refuse(why, None, *filter(None, ("inbox", name, part)), default_is="ignores the filter")
            if not problems:
                reasons = tuple(_FORMER_REASONS.get(each, each) for each in section.get("reasons", ()))
                found.append(InboxFilter(name.strip(), reasons, section.get("space", ""), section.get("words", "")))
        return tuple(found)

    def keys(self) -> dict[str, str]:
        chosen: dict[str, str] = {}
        table = self._file_values.get("keys", {})
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
        return self._environ.get(f"OCTAVO_{name.upper()}") or self._file_values.get(name)

    def _refuse(self, why: str, default: V, *names: str, default_is: str = "uses the default", meant: str = "") -> V:
        self.problems.append(f"{self.location(*names)} {why}.{meant} Octavo {default_is}.")
        return default


def _quoted(value: object) -> str:
    """Return a value for a sentence: one short line of printable characters."""
    try:
        text = repr(value)
    except ValueError:
        return "this number"  # Python refuses to write very large numbers.
    return text if len(text) <= LONGEST_NAME + 2 else f"{text[:LONGEST_NAME]}…"


def _problems_in(section: object) -> Iterator[tuple[str, str]]:
    """Yield the name of each invalid condition of an inbox filter, and why. The name is empty for the whole filter."""
    parts = "reasons, space, and words"
    if not isinstance(section, dict):
        yield "", f"must be a section with one or more of the conditions {parts}"
        return
    if not section:
        yield "", f"is empty. Add at least one condition: {parts}"
    for unknown in section.keys() - set(_IN_FILTER):
        yield unknown, f"is not a filter condition.{nearest(unknown, _IN_FILTER)} The conditions are {parts}"
    reasons = section.get("reasons", [])
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
        value = section.get(name, "")
        if not (isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_TEXT):
            yield name, f"must be one line of text, not {_quoted(value)}"


def _is_light(environ: Mapping[str, str]) -> bool:
    """Return whether the background in COLORFGBG is white or light gray."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _keeps_letter_order(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal is known not to reorder right-to-left text."""
    named = environ.get("TERM_PROGRAM", "") == "vscode" or environ.get("TERM", "").startswith(("foot", "linux"))
    return named or any(environ.get(name) for name in _LEFT_TO_RIGHT_TERMINALS)


def _folders(environ: Mapping[str, str]) -> tuple[dict[str, Path], list[str]]:
    """Return the folders, and a sentence for each variable with an invalid path.

    The folders come from variables such as `OCTAVO_CONFIG_DIR`, else from the conventions of the system.
    """
    chosen = {name: environ.get(f"OCTAVO_{name.upper()}_DIR", "") for name in _FOLDERS}
    if all(chosen.values()):
        return {name: Path(folder) for name, folder in chosen.items()}, []
    import platformdirs  # lazy: slow to load

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
