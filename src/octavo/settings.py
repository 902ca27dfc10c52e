"""Settings, read once from `config.toml` and the environment, and passed down.

A value that cannot be used is left at its default, and a sentence says so: a wrong setting never keeps the
program from starting.

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

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from octavo.untrusted_input import read_toml

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
_THEME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_BINDING = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
_LONGEST_TEXT = 1000
_MOST_REPLIES = 50
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
    """The name of one; whether there is one of this name is for the app to say."""
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
    """A sentence for each value that could not be used."""


def read(environ: Mapping[str, str]) -> Settings:
    """The settings of this machine and this run: the environment counts more than the file."""
    folders = _folders(environ)
    path = folders["config"] / FILE
    kept, problem = _file(path)
    values = _Values(kept, environ, path, [problem] if problem else [])
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
    )


class _Values:
    """Takes values one by one, and notes those that cannot be used."""

    def __init__(self, kept: Mapping[str, Any], environ: Mapping[str, str], path: Path, problems: list[str]) -> None:
        self._kept = kept
        self._environ = environ
        self._path = path
        self.problems = problems

    def theme(self) -> str:
        value, where = self._find("theme")
        if value is None or value == "":
            return THEME
        if isinstance(value, str) and _THEME.fullmatch(value):
            return value
        return self._refuse(where, "is not the name of a theme, such as dark or light", THEME)

    def switch(self, name: str, default: bool) -> bool:
        value, where = self._find(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, str) or value in (0, 1):
            value = str(value).lower()
            if value in _TRUE + _FALSE:
                return value in _TRUE
        return self._refuse(where, "is neither true nor false", default)

    def turns_words(self) -> bool:
        value, where = self._find("right_to_left")
        if value not in (None, "", *_TURNING):
            return self._refuse(where, "is none of auto, terminal and octavo", False)
        if value == "terminal" or (value != "octavo" and not _shows_as_it_comes(self._environ)):
            return False
        from importlib.util import find_spec  # few have chosen it, or have such a terminal

        if find_spec("bidi") is not None:
            return True
        needs = "needs the package python-bidi, which octavo[bidi] brings"
        return self._refuse(where, needs, False) if value == "octavo" else False

    def undo_seconds(self) -> float:
        value, where = self._find("undo_seconds")
        if value is None or value == "":
            return UNDO_SECONDS
        try:
            seconds = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            seconds = float("nan")
        if 0 <= seconds <= LONGEST_UNDO:
            return seconds
        return self._refuse(where, "is not a number of seconds from 0 to 30", UNDO_SECONDS)

    def editor(self) -> tuple[str, ...]:
        value, where = self._find("editor")
        for name in ("VISUAL", "EDITOR"):
            if not value and self._environ.get(name):
                value, where = self._environ[name], name
        if value is None or value == "":
            return ()
        try:
            command = tuple(shlex.split(value)) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else ()
        except ValueError:
            command = ()
        return command or self._refuse(where, "is not a command that can be started", ())

    def quick_replies(self) -> tuple[str, ...]:
        value = self._kept.get("quick_replies")
        where = f"quick_replies in {self._path}"
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > _MOST_REPLIES:
            return self._refuse(where, f"is not a list of {_MOST_REPLIES} texts at most", ())
        if all(isinstance(each, str) and len(each.strip()) > 0 and len(each) <= _LONGEST_TEXT for each in value):
            return tuple(dict.fromkeys(each.strip() for each in value))
        return self._refuse(where, f"has a text that is empty or longer than {_LONGEST_TEXT} characters", ())

    def ca_file(self) -> Path | None:
        value, where = self._find("ca_file")
        if value is None or value == "":
            return None
        if isinstance(value, str):
            path = Path(value)
            with suppress(OSError, ValueError):  # no file has such a name
                if path.is_file():
                    return path
        return self._refuse(where, "is not a file that is there", None)

    def inbox_filters(self) -> tuple[InboxFilter, ...]:
        table = self._kept.get("inbox", {})
        if not isinstance(table, dict):
            return self._refuse(f"inbox in {self._path}", "is not a table of filters by name", ())
        found: list[InboxFilter] = []
        for name, kept in table.items():
            where = f"inbox.{name[:LONGEST_NAME]!r} in {self._path}"
            if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
                self._refuse(where, f"has no name of 1 to {LONGEST_NAME} letters that can be shown", None)
            elif why := _wrong_in(kept):
                self._refuse(where, why, None)
            elif len(found) == _MOST_FILTERS:
                self._refuse(where, f"is one filter more than the {_MOST_FILTERS} there is room for", None)
            else:
                reasons = tuple(_FORMER_REASONS.get(each, each) for each in kept.get("reasons", ()))
                found.append(InboxFilter(name.strip(), reasons, kept.get("space", ""), kept.get("words", "")))
        return tuple(found)

    def keys(self) -> dict[str, str]:
        chosen: dict[str, str] = {}
        table = self._kept.get("keys", {})
        if not isinstance(table, dict):
            return self._refuse(f"keys in {self._path}", "is not a table of keys by binding", {})
        for binding, keys in table.items():
            if (
                _BINDING.fullmatch(binding)
                and isinstance(keys, str)
                and keys
                and keys.isprintable()
                and len(keys) < 100
            ):
                chosen[binding] = keys
            else:
                self._refuse(f"keys.{binding[:40]!r} in {self._path}", "does not name a binding and its keys", None)
        return chosen

    def _find(self, name: str) -> tuple[Any, str]:
        """The value and what to call it."""
        variable = f"OCTAVO_{name.upper()}"
        if self._environ.get(variable):
            return self._environ[variable], variable
        return self._kept.get(name), f"{name} in {self._path}"

    def _refuse(self, where: str, why: str, default: V) -> V:
        self.problems.append(f"{where} {why}. It is left at its default; correct or remove it.")
        return default


def _wrong_in(kept: object) -> str:
    """Why a filter of the inbox cannot be used. Empty: it can."""
    if not isinstance(kept, dict) or not kept or kept.keys() - {"reasons", "space", "words"}:
        return "is not a filter, which has reasons, a space or words"
    reasons = kept.get("reasons", [])
    if not isinstance(reasons, list) or any(each not in (*INBOX_REASONS, *_FORMER_REASONS) for each in reasons):
        return f"has a reason that is none of {', '.join(INBOX_REASONS)}"
    texts = [kept.get("space", ""), kept.get("words", "")]
    if not all(isinstance(each, str) and each.isprintable() and len(each) <= _LONGEST_TEXT for each in texts):
        return "has a space or words that are no text of one line"
    return ""


def _is_light(environ: Mapping[str, str]) -> bool:
    """What terminals say in COLORFGBG: the number of the ground is that of white or light grey."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _shows_as_it_comes(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is known not to turn right-to-left words round."""
    named = environ.get("TERM_PROGRAM", "") == "vscode" or environ.get("TERM", "").startswith(("foot", "linux"))
    return named or any(environ.get(name) for name in _AS_IT_COMES)


def _file(path: Path) -> tuple[Mapping[str, Any], str]:
    """What the file says, and a sentence when it cannot be read."""
    try:
        return read_toml(path), ""
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{path} cannot be read: {error.strerror}. All settings are at their defaults."
    except ValueError as error:
        return {}, f"{path} cannot be read: {error}. All settings are at their defaults."


def _folders(environ: Mapping[str, str]) -> dict[str, Path]:
    """`OCTAVO_CONFIG_DIR` and its like, or where the system keeps such things."""
    chosen = {name: environ.get(f"OCTAVO_{name.upper()}_DIR", "") for name in _FOLDERS}
    if all(chosen.values()):
        return {name: Path(folder) for name, folder in chosen.items()}
    import platformdirs  # slow to load beside the rest of this module

    system = platformdirs.PlatformDirs("octavo", appauthor=False)
    return {name: Path(chosen[name] or getattr(system, f"user_{name}_dir")) for name in _FOLDERS}


def _is_utf8(environ: Mapping[str, str]) -> bool:
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "utf-8")
    return "utf8" in locale.lower().replace("-", "")
