"""Reads and edits `config.toml`, finds the lines of settings, and validates values such as names of keys."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from octavo.untrusted_input import parse_toml, read_toml_text

FILE = "config.toml"
_MAX_LINES = 300
"""Maximum number of lines in a statement. If a file with more lines has a syntax error, Octavo ignores all of it."""


class _Statement(NamedTuple):
    """Lines of a TOML file that belong together: the header of a table, or a setting."""

    start: int
    """Index of the first line."""
    end: int
    """Index of the line after the statement."""
    names: tuple[str, ...]
    """Names of the table and of the setting, such as `("keys", "app.quit")`."""


class SettingsFile:
    """The contents of `config.toml`. Invalid lines are ignored, with a sentence in `problems` for each. If the file
    cannot be read, `problems` says why."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.text = ""
        self._statements: list[_Statement] | None = None
        try:
            self.text = read_toml_text(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            why = error.strerror or type(error).__name__
            self.problems.append(f"Could not read {path}: {why}. Octavo is using the default settings.")
        except ValueError as error:
            self.problems.append(f"Could not read {path}: {error}. Octavo is using the default settings.")
        self.values: Mapping[str, Any] = self._parse() if self.text else {}

    def line_of(self, *names: str) -> int:
        """Return the number of the line that sets `names`, such as `line_of("keys", "app.quit")`, else of the first
        line of its table. 0 if there is no such line."""
        if self._statements is None:
            self._statements = list(_read_statements(_lines_of(self.text)))
        for length in range(len(names), 0, -1):
            for statement in self._statements:
                if statement.names[:length] == names[:length]:
                    return statement.start + 1
        return 0

    def _parse(self) -> Mapping[str, Any]:
        lines = _lines_of(self.text)
        try:
            return parse_toml(self.text)
        except ValueError as error:
            if len(lines) > _MAX_LINES:
                self.problems.append(f"Could not read {self.path}: {error}. Octavo is using the default settings.")
                return {}
        refused_lines: list[tuple[int, str]] = []
        self._statements = list(_read_statements(lines, refused_lines))
        for number, _ in refused_lines:
            _remove_statement(lines, number, self._statements)

        ends = [0, *(each.end for each in self._statements)]

        def is_valid_up_to(statement_count: int) -> bool:
            try:
                parse_toml("\n".join(lines[: ends[statement_count]]))
            except ValueError:
                return False
            return True

        while not is_valid_up_to(len(self._statements)):
            # Each remaining statement is valid alone, so only a repeated name can be wrong.
            index = bisect_left(range(1, len(self._statements) + 1), True, key=lambda count: not is_valid_up_to(count))
            first_line = self._statements[index].start
            refused_lines.append((first_line, "its name occurs twice in the file"))
            _remove_statement(lines, first_line, self._statements)
        self.problems += [
            f"{self.path}, line {number + 1}: Octavo cannot read this line ({why}) and ignores it."
            for number, why in sorted(refused_lines)
        ]
        return parse_toml("\n".join(lines))


def with_value(text: str, name: str, value: str) -> str:
    """Return the settings file `text` with the TOML value `value` for the setting `name`, which must be outside all
    tables. Raises ValueError if the file is invalid or too complex."""
    lines = _lines_of(text)
    if (line_range := _find_setting(lines, name)) is not None:
        start, end = line_range
        lines[start:end] = [f"{name} = {value}{_comment_of(lines[start:end])}"]
    else:
        start = _index_of_new_setting(lines)
        # The empty line separates the setting from the next table or its comment.
        lines[start:start] = [f"{name} = {value}", *([""] if start < len(lines) and lines[start].strip() else [])]
    return _join_checked(lines, text, {**parse_toml(text), **parse_toml(f"{name} = {value}")})


def without_value(text: str, name: str) -> str:
    """Return the settings file `text` without the setting `name`, which must be outside all tables. Raises ValueError
    if the file is invalid or too complex."""
    lines = _lines_of(text)
    if (line_range := _find_setting(lines, name)) is not None:
        start, end = line_range
        is_between_empty_lines = (start == 0 or not lines[start - 1]) and end < len(lines) - 1 and not lines[end]
        del lines[start : end + is_between_empty_lines]
    return _join_checked(lines, text, {key: value for key, value in parse_toml(text).items() if key != name})


def toml_of(value: bool | float | str | list[str]) -> str:
    """Return a value in TOML notation."""
    if isinstance(value, float):
        return f"{value:g}"
    # JSON texts, booleans and lists are valid TOML, apart from DEL, which JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _join_checked(lines: list[str], text: str, expected: Mapping[str, Any]) -> str:
    """Join `lines` with the line breaks of `text`. Raises ValueError if the result's settings are not `expected`."""
    joined_text = ("\r\n" if "\r\n" in text else "\n").join(lines)
    if parse_toml(joined_text) != expected:
        raise ValueError("the file is too complex for this command")
    return joined_text


def _find_setting(lines: list[str], name: str) -> tuple[int, int] | None:
    """Return the indexes of a setting's first line and of the line after it. None if set nowhere, or only in tables."""
    return next(
        (
            (each.start, each.end)
            for each in _read_statements(lines)
            if each.names == (name,) and not _is_header(lines[each.start])
        ),
        None,
    )


def _comment_of(lines: list[str]) -> str:
    last_line = lines[-1]
    for comment_match in re.finditer(r"\s*#", last_line):
        with suppress(ValueError):  # without valid TOML before it, the # belongs to the value
            parse_toml("\n".join([*lines[:-1], last_line[: comment_match.start()]]))
            return last_line[comment_match.start() :]
    return ""


def _index_of_new_setting(lines: list[str]) -> int:
    end_of_settings = 0
    for start, end, _ in _read_statements(lines):
        if _is_header(lines[start]):
            break
        end_of_settings = end
    else:
        start = len(lines)
    if end_of_settings or start == len(lines):
        # The new setting follows the last setting, or is at the end of a file without tables.
        return end_of_settings or len(lines) - (not lines[-1].strip())
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


def _read_statements(lines: list[str], refused_lines: list[tuple[int, str]] | None = None) -> Iterator[_Statement]:
    """Yield statements and invalid lines of a TOML file. Add index and error of invalid lines to `refused_lines`."""
    start = 0
    table_names: tuple[str, ...] = ()
    while start < len(lines):
        if not lines[start].strip() or lines[start].lstrip().startswith("#"):
            start += 1
            continue
        parsed, why, is_header = None, "", _is_header(lines[start])
        may_continue = not is_header and any(mark in lines[start] for mark in ("[", '"""', "'''"))
        for end in range(start + 1, (min(len(lines), start + _MAX_LINES) if may_continue else start + 1) + 1):
            try:
                parsed = parse_toml("\n".join(lines[start:end]))
                break
            except ValueError as error:
                why = why or re.sub(r" \(at .*\)", "", str(error))
        if parsed is None:
            if refused_lines is not None:
                refused_lines.append((start, why[:1].lower() + why[1:]))
            end = start + 1
            yield _Statement(start, end, ("",) if is_header else (*table_names, ""))
            table_names = ("",) if is_header else table_names
        else:
            path = tuple(_names_in(parsed))
            table_names = path if is_header else table_names
            yield _Statement(start, end, path if is_header else (*table_names, *path))
        start = end


def _names_in(parsed: Any) -> Iterator[str]:
    while isinstance(parsed, (dict, list)) and len(parsed) == 1:
        if isinstance(parsed, dict):
            yield (name := next(iter(parsed)))
            parsed = parsed[name]
        else:
            parsed = parsed[0]


def _remove_statement(lines: list[str], line_index: int, statements: list[_Statement]) -> None:
    """Empty the lines of the statement at `line_index`. For the header of a table, empty the whole table."""
    is_header, is_inside = _is_header(lines[line_index]), False
    for first, end, _ in statements:
        if first == line_index or (is_inside and not _is_header(lines[first])):
            lines[first:end] = [""] * (end - first)
            is_inside = is_header
        else:
            is_inside = False


MAX_NAME_LENGTH = 40
"""Maximum number of characters of names that the user chooses, and of values in messages."""


class InvalidValueError(ValueError):
    """A value is invalid. The message is a phrase such as `must be a number`."""

    def __init__(self, why: str, suggestion: str = "") -> None:
        """`suggestion` is a sentence such as ` Did you mean dark?`, or empty."""
        super().__init__(why)
        self.suggestion = suggestion


ReportIgnored = Callable[..., None]
"""Reports that Octavo ignores a part of a setting: `report_ignored(why, *names, result=...)`. `names` say which part,
and `result` is a sentence that says what Octavo does instead."""


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Return a sentence such as ` Did you mean dark?`. Empty if no name is similar to `word`."""
    from difflib import get_close_matches  # lazy: only mistakes need it

    similar_names = get_close_matches(word, names, n=1, cutoff=0.7)
    return f" Did you mean {similar_names[0]}?" if similar_names else ""


def quoted(value: object) -> str:
    """Return a value as a short printable line for an error message."""
    if isinstance(value, (dict, list)):
        return "a section" if isinstance(value, dict) else "a list"
    try:
        text = repr(value)
    except ValueError:
        return "this number"  # Python refuses to convert very large numbers to text
    return text if len(text) <= MAX_NAME_LENGTH + 2 else f"{text[:MAX_NAME_LENGTH]}…"


_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
_KEYBOARD_KEYS = (
    *(
        "escape",
        "enter",
        "return",
        "tab",
        "space",
        "backspace",
        "insert",
        "delete",
        "home",
        "end",
        "pageup",
        "pagedown",
    ),
    *("left", "right", "up", "down", *(f"f{number}" for number in range(1, 25))),
    *("plus", "minus", "underscore", "at", "slash", "backslash", "less_than_sign", "greater_than_sign"),
)
"""Names of keys. Single characters, and their Unicode names such as `comma`, are valid too."""


def why_not_keys(keys: object) -> str:
    """Return a phrase that says why `keys` is not a text such as `d,ctrl+d`. Empty if `keys` is valid."""
    if not (isinstance(keys, str) and keys.strip() and keys.isprintable() and len(keys) < 100):
        return f"must be a key, such as d or ctrl+d, not {quoted(keys)}"
    unknown = next((key for key in map(str.strip, keys.split(",")) if not is_key(key)), None)
    if unknown is None:
        return ""
    if not unknown:
        return "contains an empty key. The key , is named comma"
    *modifiers, last = unknown.split("+")
    names = [*_KEYBOARD_KEYS, *(f"{each}+{last}" for each in _MODIFIERS)] if modifiers else _KEYBOARD_KEYS
    return (
        f"contains {unknown!r}, which is not a key.{did_you_mean(unknown, names)} "
        "Examples of keys are d, D, f5, ctrl+d, enter, and space"
    )


def is_key(key: str) -> bool:
    """Return whether `key` is the name of a key, such as `d` or `ctrl+d`. Not every terminal can send each key."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    if not all(each in _MODIFIERS for each in modifiers):
        return False
    return len(last) == 1 or last in _KEYBOARD_KEYS or _is_character(last)


def _is_character(name: str) -> bool:
    with suppress(KeyError):
        return name.islower() and bool(unicodedata.lookup(name.replace("_", " ")))
    return False
