"""Reads the parameters and the body of `octavo api` from arguments, files and standard input.

key=TEXT     text                      key[inner]=TEXT   a field of an object
key:=JSON    a JSON value              key[]=TEXT        an item of a list
key=@FILE    the text of a file        key==TEXT         a query parameter of METHOD /v1/PATH
key:=@FILE   the JSON value of a file  @-                standard input instead of a file
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from errno import EBADF
from pathlib import Path
from typing import Any

from octavo.api import safety
from octavo.cli.failures import USAGE, Failure
from octavo.untrusted_input import MAX_DEPTH, DuplicateKeyError, LimitExceededError, is_deeper, parse_strict_json

MAX_FILE_SIZE = 16 << 20
"""Maximum size in bytes of a file, or of standard input, that is sent."""
STDIN_HINT = "To send standard input as the body use --input -."

_ARGUMENT = re.compile(r"([A-Za-z][\w.]*)((?:\[[^\[\]=]*\])*)(:=|==|=)", re.ASCII)
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass
class Files:
    """The files that the arguments name. Standard input is read once."""

    is_stdin_read: bool = False

    def read(self, name: str) -> bytes:
        """Return the content of a file, or of standard input for `-`. Raises Failure."""
        if name == "-":
            if self.is_stdin_read:
                raise Failure("Standard input is used twice. Use a file for one of the two values.", USAGE)
            self.is_stdin_read = True
        try:
            content = _stdin() if name == "-" else _file(name)
        except OSError as error:
            cause = (error.strerror or "unknown cause").lower()
            raise Failure(f"Could not read {title_of(name)}: {cause}.") from None
        if len(content) > MAX_FILE_SIZE:
            raise Failure(f"Could not read {title_of(name)}: it is larger than {MAX_FILE_SIZE >> 20} MiB.", USAGE)
        return content


@dataclass
class Values:
    """The values on the command line."""

    fields: dict[str, Any] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    """The values of `key==TEXT`, in their order."""


def values_of(arguments: Sequence[str], files: Files) -> Values:
    """Return the values of the arguments. A repeated key is a list. Raises Failure."""
    values = Values()
    for argument in arguments:
        found = _ARGUMENT.match(argument)
        if found is None:
            raise Failure(f"{argument[:40]!r} is not a parameter. Write KEY=VALUE or KEY:=JSON.", USAGE)
        name, inner, sign = found.groups()
        text = argument[found.end() :]
        if sign == "==":
            values.query.append((name + inner, text))
        else:
            path = [name, *re.findall(r"\[([^\]]*)\]", inner)]
            value = _json_value(name + inner, text, files) if sign == ":=" else _text_value(name + inner, text, files)
            _put(values.fields, path, value)
    if is_deeper(values.fields, MAX_DEPTH):
        raise Failure(f"A parameter has more than {MAX_DEPTH} nested levels.", USAGE)
    return values


def typed_field(argument: str) -> str:
    """Convert the argument of `-F` to the form of an argument without an option: `name:=3` for `name=3`. Numbers, true,
    false and null are JSON values."""
    name, sign, text = argument.partition("=")
    is_json = text in _CONSTANTS or _WHOLE_NUMBER.fullmatch(text)
    return f"{name}:={text}" if sign and is_json else argument


def text_field(argument: str) -> str:
    """Convert the argument of `-f` to the form of an argument without an option. The value is text, even if it starts with
    `@`."""
    name, sign, text = argument.partition("=")
    return f"{name}:={json.dumps(text)}" if sign and text.startswith("@") else argument


def title_of(file: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if file == "-" else safety.safe_line(file)


def read_json(file: str, files: Files) -> Any:
    """Return the JSON value of a file. Raises Failure."""
    try:
        return checked_json(files.read(file))
    except ValueError as error:
        raise Failure(f"Could not send {title_of(file)}: {error}.", USAGE) from None


def checked_json(content: bytes) -> Any:
    """Return a JSON value that can be sent. Raises ValueError with the reason, without full stop."""
    try:
        return parse_strict_json(content)
    except (DuplicateKeyError, LimitExceededError):
        raise
    except ValueError:
        raise ValueError("it is not JSON") from None


def _json_value(name: str, text: str, files: Files) -> Any:
    if text.startswith("@"):
        return read_json(text[1:], files)
    try:
        return checked_json(text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise Failure(
            f"{name}:= needs a JSON value, but {text[:40]!r} cannot be used: {error}. For text, use {name}=VALUE.",
            USAGE,
        ) from None


def _text_value(name: str, text: str, files: Files) -> str:
    if not text.startswith("@"):
        return text
    if len(text) == 1:
        raise Failure(f"{name}=@ needs a file name. For the text “@”, use {name}:='\"@\"'.", USAGE)
    try:
        return files.read(text[1:]).decode("utf-8")
    except UnicodeDecodeError:
        raise Failure(f"Could not send {title_of(text[1:])} as {name}: it is not UTF-8 text.", USAGE) from None


def _put(fields: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the value at `path`. If a value is already set there, or if the last part of `path` is empty, add the value
    to a list."""
    *outer, last = path
    is_item = last == "" and bool(outer)
    if is_item:
        *outer, last = outer
    for name in outer:
        fields = fields.setdefault(name, {})
        if not isinstance(fields, dict):
            raise Failure(f"{path[0]} has a value and also fields in brackets. Use one of the two.", USAGE)
    if last in fields:
        fields[last] = [*_items(fields[last]), *_items(value)]
    else:
        fields[last] = _items(value) if is_item else value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _stdin() -> bytes:
    if sys.stdin is None:
        raise OSError(EBADF, "it is closed")
    return sys.stdin.buffer.read(MAX_FILE_SIZE + 1)


def _file(name: str) -> bytes:
    with Path(name).open("rb") as file:
        return file.read(MAX_FILE_SIZE + 1)
