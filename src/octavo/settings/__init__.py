"""The settings of the user, which are read once from `config.toml` and the environment.

If a value is invalid, Octavo uses the default, and reports a sentence with the file, the line, the reason and the valid
values. `table.py` lists the settings, and `octavo help settings` shows an example.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.lazy_import import has_extra, missing_extra_phrase
from octavo.settings import table
from octavo.settings.file import FILE, MAX_NAME_LENGTH, InvalidValueError, SettingsFile, did_you_mean, quoted
from octavo.settings.table import InboxFilter, Setting

if TYPE_CHECKING:
    from octavo.settings.programs import CustomCommand, Hook, Linter

T = TypeVar("T")
V = TypeVar("V")
_FOLDERS = ("config", "data", "state", "cache")
_LEFT_TO_RIGHT_TERMINALS = (
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "WEZTERM_EXECUTABLE",
    "WT_SESSION",
    "XTERM_VERSION",
)
"""Environment variables by which Octavo recognizes terminals that do not reorder right-to-left text."""
_OTHER_VARIABLES = ("API_KEY", "BASE_URL", "SPACE", "READ_ONLY", "PAGER", *(f"{name.upper()}_DIR" for name in _FOLDERS))
"""Environment variables of Octavo that are not settings, without the prefix `OCTAVO_`."""
_EDITOR_VARIABLES = ("VISUAL", "EDITOR")
_XDG = {name: f"XDG_{name.upper()}_HOME" for name in _FOLDERS}
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Settings:
    """The settings of the user, and the folders of Octavo."""

    config_folder: Path
    data_folder: Path
    state_folder: Path
    cache_folder: Path
    theme: str = ""
    """Name of the theme. Empty for the last theme that the user chose."""
    ascii: bool = False
    """True if all symbols that Octavo draws are ASCII. By default, true if the locale is not UTF-8."""
    motion: bool = True
    """True if scrolling and widgets are animated."""
    thumbnails: bool = False
    """True if pages show small images. Otherwise, they show a frame, and `enter` opens the image."""
    reorders_right_to_left: bool = False
    """True if Octavo reorders right-to-left text, because the terminal does not."""
    undo_seconds: float = table.DEFAULT_UNDO_SECONDS
    """Seconds in which the user can undo a comment, from 0 to 30."""
    editor: tuple[str, ...] = ()
    """Command of the external editor with its arguments. Empty if no editor is set."""
    quick_replies: tuple[str, ...] = ()
    """Short texts that the user can insert into a comment."""
    ca_file: Path | None = None
    """File with certificates to trust besides the certificates of the system. None if no file is set."""
    has_light_background: bool = False
    """True if the terminal says that its background is light."""
    inbox_filters: tuple[InboxFilter, ...] = ()
    """Tabs of the inbox, in the order of `config.toml`."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that the user assigned, by command ID. The keys are separated by commas, as in Textual."""
    linters: tuple[Linter, ...] = ()
    """Programs that check pages, in the order of `config.toml`."""
    hooks: tuple[Hook, ...] = ()
    """Programs that run at events such as `new-reply`, while the app is open."""
    commands: tuple[CustomCommand, ...] = ()
    """Programs that the user runs as commands of the app."""
    notify: str = "off"
    """Form of desktop notifications: off, auto, osc9, osc777 or osc99."""
    problems: tuple[str, ...] = ()
    """A sentence for each invalid setting."""
    location: Callable[..., str] = field(default=lambda *names: ".".join(names), compare=False, repr=False)
    """Returns the place of a setting, or of a name in a section such as `keys`: `config.toml, line 3: undo_seconds`."""


@dataclass(frozen=True)
class SetValue:
    """A valid value of a setting that the user has set."""

    value: Any
    """The validated value of a switch or a number. Other values are as the user wrote them."""
    source: str
    """Environment variable, or file and line, that sets the value."""


def error_in_words(error: Exception, *, is_own: bool = True) -> str:
    """Return a message for an error, with advice if a file caused it. `is_own` says that the file belongs to Octavo."""
    if not isinstance(error, OSError) or error.errno is None or not error.strerror:
        return str(error)
    subject = f"Could not use {error.filename}: " if error.filename else ""
    next_step = "Check the file or folder, then try again."
    if is_own and error.errno in _NOT_WRITABLE:
        next_step = (
            "Make the folder writable, or set OCTAVO_CONFIG_DIR, OCTAVO_DATA_DIR, OCTAVO_STATE_DIR, and OCTAVO_CACHE_DIR "
            "to writable folders."
        )
    elif error.errno in _FULL:
        next_step = "Free up disk space, then try again."
    return f"{subject}{error.strerror[:1].lower()}{error.strerror[1:].rstrip('.')}. {next_step}"


def read(environ: Mapping[str, str]) -> Settings:
    """Read the settings from `config.toml` and the environment. Variables have priority, except VISUAL and EDITOR."""
    return read_with_values(environ)[0]


def read_with_values(environ: Mapping[str, str]) -> tuple[Settings, Mapping[str, SetValue]]:
    """Return the settings. Also return each valid value that the user has set, by the name of the setting."""
    folders, problems = _folders(environ)
    file = SettingsFile(folders["config"] / FILE)
    values = _Values(file, environ, [*problems, *file.problems])
    values.check_names()
    settings = Settings(
        **{f"{name}_folder": folder for name, folder in folders.items()},
        theme=values.get(table.THEME, ""),
        ascii=values.get(table.ASCII, not _is_utf8(environ)),
        motion=values.get(table.MOTION, environ.get("ACCESSIBLE", "") in ("", "0")),
        thumbnails=values.get(table.THUMBNAILS, False),
        reorders_right_to_left=values.reorders_right_to_left(),
        undo_seconds=values.get(table.UNDO, table.DEFAULT_UNDO_SECONDS),
        editor=values.get(table.EDITOR, ()),
        quick_replies=values.get(table.QUICK_REPLIES, ()),
        ca_file=values.get(table.CA_FILE, None),
        has_light_background=environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15"),
        inbox_filters=values.get(table.INBOX, ()),
        keys=values.get(table.KEYS, {}),
        linters=values.get(table.LINTERS, ()),
        hooks=values.get(table.HOOKS, ()),
        commands=values.get(table.COMMANDS, ()),
        notify=values.get(table.NOTIFY, "off"),
        problems=tuple(values.problems),
        location=values.location,
    )
    return settings, values.set_values


class _Values:
    """Reads and validates each setting, and collects problems."""

    def __init__(self, file: SettingsFile, environ: Mapping[str, str], problems: list[str]) -> None:
        self._file = file
        self._environ = environ
        self.problems = problems
        self.set_values: dict[str, SetValue] = {}
        """The valid values that the user has set, by the name of the setting."""

    def check_names(self) -> None:
        names = list(table.BY_NAME)
        for name in self._file.values:
            if name not in names:
                line = self._file.line_of(name)
                problem = f"{self._file.path}, line {line}: there is no setting {name[:40]!r}."
                self.problems.append(f"{problem}{did_you_mean(name, names)} The settings are {', '.join(names)}.")
        known_variables = [each.variable.removeprefix("OCTAVO_") for each in table.TABLE if each.variable]
        variables = [*known_variables, *_OTHER_VARIABLES]
        for name in self._environ:
            suffix = name.removeprefix("OCTAVO_")
            # Other programs may use the prefix. So only similar names are reported.
            if suffix != name and suffix not in variables and (suggestion := did_you_mean(suffix, variables)):
                self.problems.append(
                    f"Octavo ignores the variable {name[:60]}.{suggestion.replace('mean ', 'mean OCTAVO_')}"
                )

    def get(self, setting: Setting[V], default: T) -> V | T:
        value = self._environ.get(setting.variable) or self._file.values.get(setting.name)
        source_name = setting.name
        if setting is table.EDITOR:
            for name in _EDITOR_VARIABLES:
                if not value and self._environ.get(name):
                    value, source_name = self._environ[name], name
        if value is None or value == "":
            return default
        try:
            valid_value = setting.validate(value, partial(self._report_ignored, source_name))
        except InvalidValueError as error:
            self._report(source_name, why=f"{error}.{error.suggestion} Octavo uses the default.")
            return default
        self.set_values[setting.name] = SetValue(
            valid_value if isinstance(valid_value, (bool, float)) else value,
            self._variable_that_sets(source_name) or self._place_in_file(source_name),
        )
        return valid_value

    def reorders_right_to_left(self) -> bool:
        value = self.get(table.RIGHT_TO_LEFT, "auto")
        if value == "terminal" or (value != "octavo" and not _is_left_to_right_terminal(self._environ)):
            return False
        if has_extra("bidi"):
            return True
        if value == "octavo":
            why = f"is “octavo”, which {missing_extra_phrase('bidi')}. Octavo uses the default."
            self._report(table.RIGHT_TO_LEFT.name, why=why)
        return False

    def location(self, *names: str) -> str:
        name, *inner = names
        if not inner and (variable := self._variable_that_sets(name)):
            return variable
        path = f"{name}.{'.'.join(repr(each[:MAX_NAME_LENGTH]) for each in inner)}" if inner else name
        return f"{self._place_in_file(*names)}: {path}"

    def _variable_that_sets(self, name: str) -> str:
        """Return the environment variable that sets `name` now, a setting or an editor variable. Empty if none does."""
        if name in _EDITOR_VARIABLES:
            return name
        variable = table.BY_NAME[name].variable if name in table.BY_NAME else ""
        return variable if self._environ.get(variable) else ""

    def _place_in_file(self, *names: str) -> str:
        line = self._file.line_of(*names)
        return f"{self._file.path}, line {line}" if line else str(self._file.path)

    def _report_ignored(
        self, name: str, why: str, *names_inside: str, result: str = "Octavo uses the default."
    ) -> None:
        self._report(name, *names_inside, why=f"{why}. {result}" if result else why)

    def _report(self, *names: str, why: str) -> None:
        self.problems.append(f"{self.location(*names)} {why}")


def _is_left_to_right_terminal(environ: Mapping[str, str]) -> bool:
    is_known = environ.get("TERM_PROGRAM", "") == "vscode" or environ.get("TERM", "").startswith(("foot", "linux"))
    return is_known or any(environ.get(name) for name in _LEFT_TO_RIGHT_TERMINALS)


def _folders(environ: Mapping[str, str]) -> tuple[dict[str, Path], list[str]]:
    """Return Octavo's folders by name, and a sentence for each ignored HOME or XDG variable with a relative path."""
    chosen_paths = {name: environ.get(f"OCTAVO_{name.upper()}_DIR", "") for name in _FOLDERS}
    if all(chosen_paths.values()):
        return {name: Path(folder) for name, folder in chosen_paths.items()}, []
    import platformdirs  # lazy: it is slow to load

    default_folders = platformdirs.PlatformDirs("octavo", appauthor=False)
    folders = {name: Path(chosen_paths[name] or getattr(default_folders, f"user_{name}_dir")) for name in _FOLDERS}
    ignored = [
        f"{variable} is the relative path {quoted(value)}, so Octavo ignores it and uses "
        f"{', '.join(str(folders[name]) for name in used_names)}. Set {variable} to a path that begins with /."
        for variable, names in {"HOME": _FOLDERS, **{_XDG[name]: (name,) for name in _FOLDERS}}.items()
        if (value := environ.get(variable, "")) and not Path(value).is_absolute()
        if (used_names := [name for name in names if not chosen_paths[name]])
    ]
    return folders, ignored


def _is_utf8(environ: Mapping[str, str]) -> bool:
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "utf-8")
    return "utf8" in locale.lower().replace("-", "")
