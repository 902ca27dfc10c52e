"""All settings of `config.toml`, with their documentation, and the functions that validate their values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from octavo.help import text_of
from octavo.lazy_import import lazy
from octavo.settings.file import MAX_NAME_LENGTH, InvalidValueError, ReportIgnored, did_you_mean, quoted, why_not_keys

# lazy: few configuration files have these sections
_validate_hooks = lazy("octavo.settings.programs:validate_hooks")
_validate_commands = lazy("octavo.settings.programs:validate_commands")
_validate_linters = lazy("octavo.settings.programs:validate_linters")

V = TypeVar("V")
Kind = Literal["text", "true or false", "number", "list of texts", "section"]

THEMES = (
    *("dark", "light", "cb-dark", "cb-light", "mono", "mono-light", "ansi-dark", "ansi-light"),
    *("atom-one-dark", "atom-one-light", "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato"),
    *("catppuccin-mocha", "dracula", "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn"),
    *("rose-pine-moon", "solarized-dark", "solarized-light", "tokyo-night"),
)
"""Names of all themes, in the order of the theme picker."""
DEFAULT_UNDO_SECONDS = 5.0
MAX_UNDO_SECONDS = 30.0
InboxReason = Literal[
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
]
"""The reasons why a row is in the inbox, the most urgent first."""
INBOX_REASONS: tuple[InboxReason, ...] = get_args(InboxReason)
_FORMER_REASONS = {
    "review asked": "review requested",
    "changes asked": "changes requested",
    "on my work": "on my change requests",
    "left unsent": "unsent draft",
}
"""Current names of reasons, by their names in earlier releases."""
_MAX_FILTERS = 20
_FILTER_FIELDS = ("reasons", "space", "words")
_MAX_TEXT_LENGTH = 1000
_MAX_REPLIES = 50
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_REORDERED_BY = ("auto", "terminal", "octavo")
_NOTIFICATIONS = ("off", "auto", "osc9", "osc777", "osc99")
_ROW_OF_KEYS = re.compile(r"^\| .* \| .* \| ([a-z][a-z0-9_.-]*) \|$", re.MULTILINE)


class InboxFilter(NamedTuple):
    """A tab of the inbox, which shows the rows that meet all conditions of the tab."""

    name: str
    reasons: tuple[str, ...] = ()
    """The row must have one of these reasons. Empty for any reason."""
    space: str = ""
    """Title of the space of the row, in any case, or its exact ID. Empty for any space."""
    words: str = ""
    """The row must contain these words. Empty for no condition."""


@dataclass(frozen=True)
class Setting(Generic[V]):
    """A setting of `config.toml`."""

    name: str
    kind: Kind
    default: str
    """The default in words, for the documentation."""
    about: str
    """The effect of the setting, without a full stop."""
    validate: Callable[[Any, ReportIgnored], V]
    """Returns the value to use. Raises InvalidValueError. Reports invalid parts of a section, which are ignored."""
    example: str
    """A valid value in TOML notation."""
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Environment variable that has priority over the file. Empty if there is none."""
        return f"OCTAVO_{self.name.upper()}" if self.kind not in ("section", "list of texts") else ""


def command_ids() -> list[str]:
    """Return the IDs of all commands, as the help topic `keys` lists them."""
    return list(dict.fromkeys(_ROW_OF_KEYS.findall(text_of("keys"))))


def _theme(value: Any, report_ignored: ReportIgnored) -> str:
    themes = f"The available themes are {', '.join(THEMES)}"
    if not isinstance(value, str):
        raise InvalidValueError(f"must be the name of a theme, not {quoted(value)}. {themes}")
    if value not in THEMES:
        suggestion = did_you_mean(value[:MAX_NAME_LENGTH], THEMES)
        raise InvalidValueError(f"is {quoted(value)}, which is not a theme.{suggestion} {themes}")
    return value


def _switch(value: Any, report_ignored: ReportIgnored) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or value in (0, 1):
        word = str(value).lower()
        if word in _TRUE + _FALSE:
            return word in _TRUE
    raise InvalidValueError(f"must be true or false, not {quoted(value)}")


def _choice_of(words: tuple[str, ...]) -> Callable[[Any, ReportIgnored], str]:
    def validate(value: Any, report_ignored: ReportIgnored) -> str:
        if isinstance(value, str) and value in words:
            return value
        suggestion = did_you_mean(value[:MAX_NAME_LENGTH], words) if isinstance(value, str) else ""
        raise InvalidValueError(f"must be {', '.join(words[:-1])}, or {words[-1]}, not {quoted(value)}", suggestion)

    return validate


def _seconds(value: Any, report_ignored: ReportIgnored) -> float:
    try:
        seconds = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = float("nan")
    if 0 <= seconds <= MAX_UNDO_SECONDS:
        return seconds
    raise InvalidValueError(f"must be a number of seconds from 0 to 30, not {quoted(value)}")


def _command(value: Any, report_ignored: ReportIgnored) -> tuple[str, ...]:
    command: tuple[str, ...] = ()
    if isinstance(value, str) and len(value) <= _MAX_TEXT_LENGTH:
        with suppress(ValueError):
            command = tuple(shlex.split(value))
    if not command:
        raise InvalidValueError(f"must be a command, such as nano or “code --wait”, not {quoted(value)}")
    return command


def _replies(value: Any, report_ignored: ReportIgnored) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MAX_REPLIES:
        raise InvalidValueError(f"must be a list of at most {_MAX_REPLIES} replies")
    if all(isinstance(each, str) and len(each.strip()) > 0 and len(each) <= _MAX_TEXT_LENGTH for each in value):
        return tuple(dict.fromkeys(each.strip() for each in value))
    raise InvalidValueError(f"must be a list of replies, each 1 to {_MAX_TEXT_LENGTH} characters long")


def _certificates(value: Any, report_ignored: ReportIgnored) -> Path:
    """Return the path of a certificate file. Report a missing file. Raises InvalidValueError if `value` is no text."""
    if not isinstance(value, str):
        raise InvalidValueError(f"must be the path to a certificate file, not {quoted(value)}")
    path, is_there = Path(value), False
    with suppress(OSError, ValueError, RuntimeError):  # The path may be invalid.
        path = path.expanduser()
        is_there = path.is_file()
    if not is_there:
        report_ignored(
            f"is {quoted(value)}, but there is no such file. Correct or remove the path. "
            "Until you do, Octavo cannot connect to a server.",
            result="",
        )
    return path


def _inbox(value: Any, report_ignored: ReportIgnored) -> tuple[InboxFilter, ...]:
    if not isinstance(value, dict):
        raise InvalidValueError('must contain one section for each filter, such as [inbox."API"]')
    filters: list[InboxFilter] = []
    for name, section in value.items():
        problems = list(_filter_problems(section))
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
            problems = [("", f"must have a name of 1 to {MAX_NAME_LENGTH} printable characters"), *problems]
        if not problems and len(filters) == _MAX_FILTERS:
            problems = [("", f"exceeds the limit of {_MAX_FILTERS} filters")]
        for condition, why in problems:
            report_ignored(why, *filter(None, (name, condition)), result="Octavo ignores the filter.")
        if not problems:
            reasons = tuple(_FORMER_REASONS.get(each, each) for each in section.get("reasons", ()))
            filters.append(InboxFilter(name.strip(), reasons, section.get("space", ""), section.get("words", "")))
    return tuple(filters)


def _filter_problems(section: object) -> Iterator[tuple[str, str]]:
    """Yield the name of each invalid condition, with the reason. The name is empty if the filter itself is invalid."""
    condition_names = "reasons, space, and words"
    if not isinstance(section, dict):
        yield "", f"must be a section with one or more of the conditions {condition_names}"
        return
    if not section:
        yield "", f"is empty. Add at least one condition: {condition_names}"
    for unknown in section.keys() - set(_FILTER_FIELDS):
        yield (
            unknown,
            f"is not a filter condition.{did_you_mean(unknown, _FILTER_FIELDS)} The conditions are {condition_names}",
        )
    reasons = section.get("reasons", [])
    for each in reasons if isinstance(reasons, list) else [reasons]:
        if not isinstance(reasons, list) or each not in (*INBOX_REASONS, *_FORMER_REASONS):
            has = (
                f"contains {quoted(each)}, which is not a valid reason"
                if isinstance(reasons, list)
                else "must be a list of reasons"
            )
            suggestion = did_you_mean(each, INBOX_REASONS) if isinstance(each, str) else ""
            yield "reasons", f"{has}.{suggestion} The valid reasons are {', '.join(INBOX_REASONS)}"
    for name in ("space", "words"):
        value = section.get(name, "")
        if not (isinstance(value, str) and value.isprintable() and len(value) <= _MAX_TEXT_LENGTH):
            yield name, f"must be one line of text, not {quoted(value)}"


_FORMER_COMMAND_IDS = {"diff.next_hit": "diff.next_change", "diff.prev_hit": "diff.prev_change"}
"""Current IDs of commands, by their IDs in earlier releases."""


def _keys(value: Any, report_ignored: ReportIgnored) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise InvalidValueError("must be a section named [keys] that assigns keys to commands")
    keys_by_id: dict[str, str] = {}
    ids = command_ids() if value else []
    for given_id, keys in value.items():
        command_id = _FORMER_COMMAND_IDS.get(str(given_id), str(given_id))
        why = _why_not_assignable(command_id, keys, ids)
        if why:
            report_ignored(why, given_id)
        elif command_id == given_id or command_id not in value:
            keys_by_id[command_id] = keys
    return keys_by_id


def _why_not_assignable(command_id: str, keys: object, ids: Collection[str]) -> str:
    if command_id not in ids:
        suggestion = did_you_mean(command_id[:MAX_NAME_LENGTH], ids)
        return f"is not a command ID.{suggestion} To list the command IDs, run octavo help keys"
    return why_not_keys(keys)


THEME = Setting(
    "theme",
    "text",
    "the last theme from f2",
    "Colors: dark, light, cb-dark, cb-light (for color-blind users), mono, mono-light (gray), ansi-dark, ansi-light (the colors "
    "of your terminal), or another theme from f2",
    _theme,
    '"dark"',
    THEMES,
)
ASCII = Setting(
    "ascii", "true or false", "false, or true without UTF-8", "Draw with ASCII characters only", _switch, "false"
)
MOTION = Setting(
    "motion", "true or false", "true, or false with the variable ACCESSIBLE", "Animate changes", _switch, "true"
)
THUMBNAILS = Setting("thumbnails", "true or false", "false", "Show small images in the page", _switch, "true")
RIGHT_TO_LEFT = Setting(
    "right_to_left",
    "text",
    "auto",
    "Which program reorders Hebrew and Arabic; octavo needs the extra octavo[bidi]",
    _choice_of(_REORDERED_BY),
    '"auto"',
    _REORDERED_BY,
)
UNDO = Setting(
    "undo_seconds",
    "number",
    f"{DEFAULT_UNDO_SECONDS:g}",
    f"Seconds during which u can cancel a comment, 0 to {MAX_UNDO_SECONDS:g}",
    _seconds,
    "5",
)
EDITOR = Setting(
    "editor", "text", "the variable VISUAL, then EDITOR", "The editor for pages and drafts", _command, '"hx"'
)
QUICK_REPLIES = Setting(
    "quick_replies",
    "list of texts",
    "none",
    "Replies that ctrl+l inserts into a comment",
    _replies,
    '["Fixed, thank you.", "Will do."]',
)
CA_FILE = Setting(
    "ca_file", "text", "none", "File with additional trusted certificates", _certificates, '"/etc/ssl/own.pem"'
)
INBOX = Setting("inbox", "section", "none", "Tabs of the inbox, each with its filter", _inbox, "")
LINTERS = Setting(
    "linter",
    "section",
    "none",
    "Programs that check pages, in [[linter]] sections; see `octavo help linters`",
    _validate_linters,
    "",
)
NOTIFY = Setting(
    "notify",
    "text",
    "off",
    "Desktop notifications while the terminal has no focus, by the escape sequence of your terminal; auto for known terminals",
    _choice_of(_NOTIFICATIONS),
    '"auto"',
    _NOTIFICATIONS,
)
HOOKS = Setting(
    "hook", "section", "none", "Programs that run when something happens, in [[hook]] sections", _validate_hooks, ""
)
COMMANDS = Setting(
    "command",
    "section",
    "none",
    "Your own commands, which run programs, in [[command]] sections",
    _validate_commands,
    "",
)
KEYS = Setting("keys", "section", "none", "Your keys, by the command IDs that `octavo help keys` lists", _keys, "")

TABLE: tuple[Setting[Any], ...] = (
    THEME,
    ASCII,
    MOTION,
    THUMBNAILS,
    RIGHT_TO_LEFT,
    UNDO,
    EDITOR,
    QUICK_REPLIES,
    CA_FILE,
    INBOX,
    NOTIFY,
    KEYS,
    LINTERS,
    HOOKS,
    COMMANDS,
)
"""All settings, in the order of the documentation."""
BY_NAME = {each.name: each for each in TABLE}
