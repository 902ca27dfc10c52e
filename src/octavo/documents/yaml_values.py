"""Values as YAML and back: what is read knows the line it stands on, and what is wrong names its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

MAX_LENGTH = 1 << 20
"""The most characters of a text."""
MAX_VALUES = 100_000
MAX_DEPTH = 60
_MAX_NESTING_HINT = 2000
MAX_NUMBER_BITS = 1024
"""The most bits of a whole number. Python refuses to write a number of more than 4300 digits."""
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
"""What ends a line in YAML beside a line feed."""


class YamlError(ValueError):
    """What is wrong with a text, in a sentence, and on which line, counted from 1; in which column, where that is known."""

    def __init__(self, line: int, sentence: str, column: int = 0) -> None:
        super().__init__(sentence)
        self.line, self.sentence, self.column = line, sentence, column

    @property
    def place(self) -> str:
        """Line and column of the error."""
        return f"Line {self.line}, column {self.column}" if self.column else f"Line {self.line}"


@dataclass(frozen=True)
class YamlValue:
    """A value as it was read."""

    line: int
    """The first of its lines, counted from 1."""
    value: Any
    """Of JSON."""
    column: int = 0
    """In which column of that line it begins, counted from 1."""
    text: str | None = None
    """Of one that is neither a list nor an object: as it is written, so that `007` stays that."""
    parts: Mapping[str, YamlValue] = field(default_factory=dict)
    """Of an object."""
    items: tuple[YamlValue, ...] = ()
    """Of a list."""


def parse_yaml(text: str) -> YamlValue | None:
    """The value a text of YAML or JSON is. None where it has none. Raises Fault."""
    import yaml  # only whoever brings YAML pays for what reads it

    if len(text) > MAX_LENGTH:
        raise YamlError(1, f"The text is larger than the limit of {MAX_LENGTH >> 20} MiB.")
    loader = core_loader(fast=_is_shallow(text))(text)
    try:
        node = loader.get_single_node()
        return _ValueReader(loader).of(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        # Of a list or text that does not end it is known where that is seen; it is wrong where it begins.
        begins = error.context is not None and ("flow" in error.context or "quoted" in error.context)
        mark = (error.context_mark if begins else None) or error.problem_mark or error.context_mark
        said = " ".join(str(error.problem or error.context or "unreadable text").split())
        line = min(mark.line + 1 if mark is not None else 1, max(1, len(text.splitlines())))
        column = mark.column + 1 if mark is not None and mark.line + 1 == line else 0
        raise YamlError(line, f"This is not valid YAML: {said[:200]}.", column) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        raise YamlError(line, f"This is not valid YAML: {error.reason}.") from None
    except RecursionError:
        raise YamlError(1, f"The text has more than {MAX_DEPTH} nested levels.") from None
    finally:
        loader.dispose()


def to_yaml(value: Any) -> str:
    """A value of JSON as YAML, texts of several lines as such. It ends with a line end."""
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100)
    return text.removesuffix("...\n")


class _ValueReader:
    """Makes values of what stands in a text, and counts them: a few names may stand for very many values."""

    def __init__(self, loader: Any) -> None:
        self._loader, self._count = loader, 0

    def of(self, node: Any, depth: int = 0) -> YamlValue:
        import yaml

        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise YamlError(
                line, f"The text has more than {MAX_VALUES} values, or more than {MAX_DEPTH} nested levels."
            )
        if isinstance(node, yaml.MappingNode):
            parts: dict[str, YamlValue] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise YamlError(key.start_mark.line + 1, "A name must be text.")
                if key.value in parts:
                    raise YamlError(key.start_mark.line + 1, f"{key.value} is set twice.", key.start_mark.column + 1)
                inner = self.of(value, depth + 1)
                parts[key.value] = replace(inner, line=key.start_mark.line + 1, column=key.start_mark.column + 1)
            return YamlValue(line, {name: part.value for name, part in parts.items()}, column, None, parts)
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.of(each, depth + 1) for each in node.value)
            return YamlValue(line, [each.value for each in items], column, items=items)
        value = self._loader.construct_object(node)
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise YamlError(line, "This number is too large.", column)
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            raise YamlError(line, "This number is not finite, so it cannot be sent.", column)
        return YamlValue(line, value, column, node.value)


def _is_shallow(text: str) -> bool:
    """Whether not very many values can stand within each other: what reads fast ends the program where they do."""
    begins = max((len(line) - len(line.lstrip(" \t-?:")) for line in text.splitlines()), default=0)
    return begins + text.count("[") + text.count("{") <= _MAX_NESTING_HINT


@cache
def core_loader(*, fast: bool = True) -> Any:
    """Reads YAML as version 1.2 has it, and interfaces are described in: `no` and `12:30` are words, days are no dates."""
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if fast else yaml.SafeLoader
    loader: Any = type("CoreLoader", (safe,), {"yaml_implicit_resolvers": {}})
    plain = safe.construct_object

    def construct_object(made: Any, node: Any, deep: bool = False) -> Any:
        try:
            return plain(made, node, deep)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            # PyYAML converts a text to what its tag says, and fails in as many ways: `!!bool x` is a KeyError.
            kind = str(node.tag).rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"this is not a valid {kind}", node.start_mark
            ) from None

    loader.construct_object = construct_object
    for name, pattern, first in _SCALAR_TYPES:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), list(first) or [""])
    loader.add_constructor("tag:yaml.org,2002:merge", lambda made, node: made.construct_scalar(node))
    loader.add_constructor("tag:yaml.org,2002:int", lambda made, node: _parse_integer(made.construct_scalar(node)))
    return loader


@cache
def _dumper() -> Any:
    """Writes what both versions of YAML read as it was: words that are something else in one of them are quoted."""
    import yaml

    dumper: Any = type("CoreDumper", (yaml.SafeDumper,), {"ignore_aliases": lambda self, value: True})
    for name, pattern, first in _SCALAR_TYPES:
        dumper.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), list(first) or [""])

    def text(made: Any, value: str) -> Any:
        if _OTHER_LINE_ENDS.search(value):
            return made.represent_scalar("tag:yaml.org,2002:str", value, style='"')
        block = "\n" in value and all(line == line.rstrip() for line in value.split("\n"))
        return made.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)

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
"""What plain words mean, how they look, and what they begin with."""


def _parse_integer(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
