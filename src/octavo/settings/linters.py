"""The settings of linters: `[[linter]]` sections of `config.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.settings.values import LONGEST_NAME, Ignore, InvalidValueError, did_you_mean, quoted

FORMATS = ("vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines")
COLUMNS = ("code-points", "utf-16", "utf-16-0", "bytes")
MASKS = ("tags", "code", "front-matter")
PLACEHOLDERS = ("{file}", "{path}", "{folder}", "{output}")
"""Arguments of a command that Octavo fills in, alone or after `=`."""
MAX_LINTERS = 20
_MAX_ARGUMENTS, _MAX_LENGTH = 50, 1000
_MASKED_BY_DEFAULT = ("vale", "lines", "checkstyle")
"""Formats of linters that read prose. Linters of Markdown would report the spaces of a mask."""
_FIELDS = ("name", "command", "format", "columns", "folder", "mask", "spaces", "auto", "env")
_SECRETS = re.compile(r"OCTAVO_", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True)
class Linter:
    """A program that checks a page."""

    name: str
    command: tuple[str, ...]
    """The program and its arguments. `-` stands for the page on standard input."""
    format: str
    """The format of the output, one of `FORMATS`."""
    columns: str = ""
    """The unit of columns, one of `COLUMNS`. Empty: the unit of the format."""
    folder: Path | None = None
    """The folder in which the linter runs. None for a temporary folder."""
    mask: tuple[str, ...] = ()
    """The parts of a page that are replaced by spaces, of `MASKS`."""
    spaces: tuple[str, ...] = ()
    """Titles or ids of the spaces whose pages are checked. Empty: all spaces."""
    is_automatic: bool = False
    """Whether the linter runs when a change request is opened."""
    environment: tuple[str, ...] = ()
    """Names of the environment variables that the linter gets, in addition to a few common ones."""


def validate_linters(value: Any, ignore: Ignore) -> tuple[Linter, ...]:
    """Return the valid linters, and report the others. Raises InvalidValueError if the value is no list of sections."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidValueError("must be written as [[linter]], with two brackets")
    found: dict[str, Linter] = {}
    for section in value[:MAX_LINTERS]:
        name = section.get("name")
        problems = list(_problems(section))
        if not problems and name in found:
            problems = [("name", "is used by two linters")]
        for field, why in problems:
            label = f"{field} of {name[:LONGEST_NAME]}" if isinstance(name, str) and name and field != "name" else field
            ignore(f"{label} {why}", result="Octavo ignores the linter.")
        if not problems:
            found[section["name"]] = _linter(section)
    if len(value) > MAX_LINTERS:
        ignore(f"has more than {MAX_LINTERS} sections", result="Octavo ignores the others.")
    return tuple(found.values())


def _linter(section: Mapping[str, Any]) -> Linter:
    folder = section.get("folder")
    mask = section.get("mask", ["tags"] if section["format"] in _MASKED_BY_DEFAULT else [])
    return Linter(
        section["name"],
        tuple(section["command"]),
        section["format"],
        section.get("columns", ""),
        Path(os.path.expanduser(folder)) if folder else None,
        tuple(mask),
        tuple(section.get("spaces", ())),
        section.get("auto", False),
        tuple(section.get("env", ())),
    )


def _problems(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each invalid field of a linter, and why."""
    for unknown in section.keys() - set(_FIELDS):
        yield (
            unknown[:LONGEST_NAME],
            f"is not a field of a linter.{did_you_mean(unknown, _FIELDS)} The fields are {', '.join(_FIELDS)}",
        )
    name = section.get("name")
    if not (isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= LONGEST_NAME):
        yield "name", f"must be a name of 1 to {LONGEST_NAME} printable characters"
    yield from _command_problems(section.get("command"))
    yield from _choice(section, "format", FORMATS, needed=True)
    yield from _choice(section, "columns", COLUMNS)
    for field in ("mask", "spaces", "env"):
        values = section.get(field, [])
        if not (isinstance(values, list) and all(_is_line(each) for each in values)):
            yield field, "must be a list of texts"
        elif field == "mask" and (unknown := next((each for each in values if each not in MASKS), "")):
            yield field, f"contains {quoted(unknown)}.{did_you_mean(unknown, MASKS)} The parts are {', '.join(MASKS)}"
        elif field == "env" and (unfit := next((each for each in values if not _is_allowed(each)), "")):
            yield field, f"contains {quoted(unfit)}, which is not a variable that linters can get"
    if not (section.get("folder") is None or _is_line(section["folder"])):
        yield "folder", "must be the path of a folder"
    if not isinstance(section.get("auto", False), bool):
        yield "auto", "must be true or false"


def _command_problems(command: object) -> Iterator[tuple[str, str]]:
    is_list = isinstance(command, list) and 0 < len(command) <= _MAX_ARGUMENTS
    if not (is_list and isinstance(command, list) and all(_is_line(each) for each in command)):
        yield "command", 'must be a list of a program and its arguments, such as ["vale", "--output=JSON", "{file}"]'
        return
    for each in command:
        if any(mark in each for mark in PLACEHOLDERS) and each.rpartition("=")[2] not in PLACEHOLDERS:
            yield "command", f"contains {quoted(each)}. A placeholder must be a whole argument, or the part after ="
    if not any("{file}" in each or each == "-" for each in command):
        yield "command", "needs the argument {file}, or - for the page on standard input"


def _choice(
    section: Mapping[str, Any], field: str, choices: Collection[str], *, needed: bool = False
) -> Iterator[tuple[str, str]]:
    value = section.get(field)
    if value not in choices and (needed or value is not None):
        meant = did_you_mean(value, choices) if isinstance(value, str) else ""
        yield field, f"must be one of {', '.join(choices)}.{meant}".removesuffix(".")


def _is_line(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_LENGTH and value.isprintable()


def _is_allowed(variable: str) -> bool:
    """Return whether a linter can get an environment variable. Those of Octavo can contain the API key."""
    return bool(_VARIABLE.fullmatch(variable)) and not _SECRETS.match(variable)
