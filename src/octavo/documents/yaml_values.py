"""Reads YAML with the line of each value, for error messages (`parse_yaml`). Writes JSON values as YAML (`to_yaml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from octavo.documents.front_matter import ESCAPES

MAX_LENGTH = 1 << 20
"""Maximum number of characters of a YAML text."""
MAX_VALUES = 100_000
MAX_DEPTH = 60
_MAX_NESTING = 2000
"""Maximum for the sum of the largest indentation and the number of opening brackets. Above it, the fast reader could
crash, so the slow reader is used."""
MAX_NUMBER_BITS = 1024
"""Maximum number of bits of an integer. Larger numbers are rejected, because Python cannot print very large ones."""
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
"""Line separators of YAML other than a line feed."""


class YamlError(ValueError):
    """Raised for an invalid YAML text. Lines and columns are counted from 1. An unknown column is 0."""

    def __init__(self, line: int, sentence: str, column: int = 0) -> None:
        super().__init__(sentence)
        self.line, self.sentence, self.column = line, sentence, column

    @property
    def position(self) -> str:
        """The line and column of the error as text."""
        return f"Line {self.line}, column {self.column}" if self.column else f"Line {self.line}"


@dataclass(frozen=True)
class YamlValue:
    """A value in a YAML text, with its position."""

    line: int
    """The first line of the value, counted from 1. For a value in an object, the line of the field's name."""
    value: Any
    """The value as JSON."""
    column: int = 0
    """The first column of the value, counted from 1. For a value in an object, the column of the field's name."""
    text: str | None = None
    """The text of a scalar as written, to distinguish `007` from `7`. None for lists and objects."""
    fields: Mapping[str, YamlValue] = field(default_factory=dict)
    """The values in an object, by name. Empty for other values."""
    items: tuple[YamlValue, ...] = ()
    """The values in a list. Empty for other values."""


def parse_yaml(text: str) -> YamlValue | None:
    """Return the value of a YAML or JSON text. None if the text is empty. Raises YamlError."""
    yaml = _yaml()
    if len(text) > MAX_LENGTH:
        raise YamlError(1, f"The text is larger than the limit of {MAX_LENGTH >> 20} MiB.")
    loader = _core_loader(is_fast=_is_shallow(text))(text)
    try:
        node = loader.get_single_node()
        return _ValueReader(loader).read(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        # For an unclosed text, PyYAML reports the end, so prefer the mark of its beginning.
        starts_earlier = error.context is not None and ("flow" in error.context or "quoted" in error.context)
        mark = (error.context_mark if starts_earlier else None) or error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "unreadable text").split())
        line = min(mark.line + 1 if mark is not None else 1, max(1, len(text.splitlines())))
        column = mark.column + 1 if mark is not None and mark.line + 1 == line else 0
        raise YamlError(line, f"This is not valid YAML: {problem[:200]}.", column) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        raise YamlError(line, f"This is not valid YAML: {error.reason}.") from None
    except RecursionError:
        raise YamlError(1, f"The text has more than {MAX_DEPTH} nested levels.") from None
    finally:
        loader.dispose()


def load_yaml(text: str) -> Any:
    """Return the value of a YAML text, without the positions that `parse_yaml` adds. Raises YamlError."""
    yaml = _yaml()
    try:
        return yaml.load(text, _core_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(1, " ".join(str(error).split())) from None


def to_yaml(value: Any) -> str:
    """Return a JSON value as YAML, with multi-line texts as blocks and a line break at the end."""
    text: str = _yaml().dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100)
    return text.removesuffix("...\n")


class _ValueReader:
    """Converts YAML nodes to values, and limits their number, because aliases can multiply them."""

    def __init__(self, loader: Any) -> None:
        self._loader, self._count = loader, 0

    def read(self, node: Any, depth: int = 0) -> YamlValue:
        yaml = _yaml()
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise YamlError(
                line, f"The text has more than {MAX_VALUES} values, or more than {MAX_DEPTH} nested levels."
            )
        if isinstance(node, yaml.MappingNode):
            fields: dict[str, YamlValue] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise YamlError(key.start_mark.line + 1, "A name must be text.")
                if key.value in fields:
                    raise YamlError(key.start_mark.line + 1, f"{key.value} is set twice.", key.start_mark.column + 1)
                inner_value = self.read(value, depth + 1)
                fields[key.value] = replace(inner_value, line=key.start_mark.line + 1, column=key.start_mark.column + 1)
            return YamlValue(line, {name: each.value for name, each in fields.items()}, column, None, fields)
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.read(each, depth + 1) for each in node.value)
            return YamlValue(line, [item.value for item in items], column, items=items)
        value = self._loader.construct_object(node)
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise YamlError(line, "This number is too large.", column)
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            raise YamlError(line, "This number is not finite, so it cannot be sent.", column)
        return YamlValue(line, value, column, node.value)


def _is_shallow(text: str) -> bool:
    """Return whether a text has so few nested levels that the fast reader, written in C, cannot crash."""
    indentation = max((len(line) - len(line.lstrip(" \t-?:")) for line in text.splitlines()), default=0)
    return indentation + text.count("[") + text.count("{") <= _MAX_NESTING


@cache
def _yaml() -> Any:
    import yaml  # lazy: most pages and forms contain no YAML

    return yaml


@cache
def _core_loader(*, is_fast: bool = True) -> Any:
    """Return a class that reads YAML 1.2, in which `no` and `12:30` are strings. `is_fast` selects the reader in C."""
    yaml = _yaml()
    safe_loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if is_fast else yaml.SafeLoader
    loader: Any = type("CoreLoader", (safe_loader,), {"yaml_implicit_resolvers": {}})
    plain = safe_loader.construct_object

    def construct_object(loader_self: Any, node: Any, deep: bool = False) -> Any:
        try:
            return plain(loader_self, node, deep)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            # A value that does not match its tag raises many kinds of errors.
            kind = str(node.tag).rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"this is not a valid {kind}", node.start_mark
            ) from None

    loader.construct_object = construct_object
    for name, pattern, first in _SCALAR_TYPES:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), list(first) or [""])
    loader.add_constructor("tag:yaml.org,2002:merge", lambda loader_self, node: loader_self.construct_scalar(node))
    loader.add_constructor(
        "tag:yaml.org,2002:int", lambda loader_self, node: _parse_integer(loader_self.construct_scalar(node))
    )
    return loader


@cache
def _dumper() -> Any:
    """Return a class that writes YAML with the same meaning in YAML 1.1 and 1.2."""
    dumper: Any = type("CoreDumper", (_yaml().SafeDumper,), {"ignore_aliases": lambda self, value: True})
    for name, pattern, first in _SCALAR_TYPES:
        dumper.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), list(first) or [""])

    def text(dumper_self: Any, value: str) -> Any:
        if _OTHER_LINE_ENDS.search(value):
            return dumper_self.represent_scalar("tag:yaml.org,2002:str", value, style='"')
        is_block = "\n" in value and all(line == line.rstrip() for line in value.split("\n"))
        return dumper_self.represent_scalar("tag:yaml.org,2002:str", value, style="|" if is_block else None)

    dumper.add_representer(str, text)
    return dumper


_SCALAR_TYPES = (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("null", r"(?:~|null|Null|NULL)\Z", "~nN"),
    ("null", r"\Z", ""),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z", "-+0123456789"),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z",
        "-+0123456789.",
    ),
    ("merge", r"<<\Z", "<"),
)
"""Types of values without quotes: name, pattern, and possible first characters."""


def _parse_integer(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


WIDTH = 80
"""Maximum number of columns of a line. A longer string is folded."""
_NOT_TEXT = re.compile(
    r"(?:~|null|true|false|yes|no|on|off|y|n|[-+]?[0-9][0-9_]*|[-+]?0[xob][0-9a-f_]+|[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*"
    r"(?:e[-+]?[0-9]+)?|[-+]?[0-9][0-9_.]*e[-+]?[0-9]+|[-+]?\.inf|\.nan|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|<<|="
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)?",  # 12:30 is a number in YAML 1.1.
    re.IGNORECASE,
)
"""Strings that YAML reads as another type if they are not quoted."""
_QUOTED_START = re.compile(r"[-?:](?=[ \t]|$)|[,\[\]{}#&*!|>=%@`\"'\s]|---")
"""The start of a string that must be quoted."""
_PLAIN_NAME = re.compile(r"[\w$.-]+")
_QUOTED_PART = re.compile(r":(?=\s|$)|\s#|\s$|\t")
"""Characters inside a string that make quotes necessary."""
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def write_entry(key: str, value: Any, indent: str = "") -> Iterator[str]:
    """Yield the YAML lines of a key and its value, which may be a scalar, a list or a mapping."""
    scalar = write_scalar(key)
    # Front matter can be read only if a name that does not match `_PLAIN_NAME` is in quotes.
    is_unquoted = scalar == key and not _PLAIN_NAME.fullmatch(key)
    name = f"{indent}'{key}':" if is_unquoted else f"{indent}{scalar}:"
    if isinstance(value, dict) and value:
        yield name
        for each, inner_value in value.items():
            yield from write_entry(each, inner_value, f"{indent}  ")
    elif isinstance(value, list) and value:
        yield name
        for item in value:
            yield from _write_item(item, f"{indent}  ")
    elif isinstance(value, str):
        lines = _block(value, len(indent) + 2)
        if lines is None:
            yield f"{name} {write_scalar(value)}"
        else:
            yield f"{name} {lines[0]}"
            yield from (f"{indent}  {line}" if line else "" for line in lines[1:])
    else:
        yield f"{name} {write_scalar(value)}"


def _write_item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, dict) or not item:
        yield f"{indent}- {write_scalar(item)}"
        return
    lines = [line for key, value in item.items() for line in write_entry(key, value, f"{indent}  ")]
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def write_scalar(value: Any) -> str:
    """Return a value as YAML on one line. A list or mapping must be empty."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not isinstance(value, str):
        return str(value)
    if _UNPRINTABLE.search(value) or "\n" in value:
        return f'"{"".join(map(_escape, value))}"'
    if _NOT_TEXT.fullmatch(value) or _QUOTED_START.match(value) or _QUOTED_PART.search(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _escape(char: str) -> str:
    if char in ESCAPES:
        return f"\\{ESCAPES[char]}"
    if not _UNPRINTABLE.match(char):
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _block(value: str, indent: int) -> list[str] | None:
    """Return a string as lines of a YAML block, not indented. None for a short line, or if it cannot be a block."""
    lines = value.split("\n")
    if _UNPRINTABLE.search(value) or not value or any(line != line.strip() for line in lines):
        return None
    if len(lines) > 1:
        return ["|-", *lines] if lines[0] and lines[-1] else None
    width = max(min(WIDTH, 40), WIDTH - indent)
    return [">-", *_fold(value, width)] if len(value) > width else None


def _fold(line: str, width: int) -> list[str]:
    """Return a line, split at spaces into parts that fit into `width`. A longer word stays whole."""
    lines = [""]
    for word in re.split(r"(?<! ) (?! )", line):
        if not lines[-1] or len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
        else:
            lines.append(word)
    return lines
