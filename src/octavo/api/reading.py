"""Answers that are not as documented: what cannot be read of one, at any depth, is left out and counted.

What is wrong is taken out of the JSON value until the rest can be read: a field from its object, an item from its list,
and an object from what it is in when something is gone that it is nothing without, such as its id.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json

from octavo.untrusted_input import DEEPEST

T = TypeVar("T")


class _Shape(NamedTuple):
    """In the path to what is wrong with a value: it is wrong if the value has this one of several shapes."""

    name: int | str


class _Wrong(NamedTuple):
    """Something that cannot be read: where it is, and what pydantic calls it."""

    path: tuple[int | str | _Shape, ...]
    kind: str


TOO_DEEP = f"(not shown: more than {DEEPEST} nested levels)"
"""What stands in the place of a list or object that lies too deep."""
_PART = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]|-?\d{4000,}+(?:\.\d*+)?(?:[eE][-+]?\d++)?', re.DOTALL)
"""Texts, the ends of lists and objects, and numbers that nothing can hold."""
_GONE = object()


def read_in_part(codec: TypeAdapter[T], body: bytes, wrong: ValidationError) -> T:
    """What can be read of `body`, of which `wrong` was found. How much that leaves out is in `unreadable`.

    Raises ValueError when it is not JSON, and ValidationError, which is one too, when nothing can be read.
    """
    leaving = _Leaving(json_of(body))
    if wrong.error_count() > 1 or wrong.errors()[0]["type"] != "json_invalid":
        leaving.out(wrong)
    while True:
        try:
            answer = codec.validate_python(leaving.value)
        except ValidationError as error:
            leaving.out(error)
        else:
            return answer.model_copy(update={"unreadable": leaving.count}) if isinstance(answer, BaseModel) else answer


def json_of(body: bytes) -> Any:
    """The JSON value of `body`, also where one text, number or list in it cannot be read. Raises ValueError.

    Who cuts a text may cut a character in two: for half of one there is U+FFFD.
    """
    try:
        return from_json(body)
    except ValueError:
        escape = rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)"
        body = re.sub(escape, lambda found: rb"\ufffd" if found[1] else found[0], body)
        return from_json(_readable(body.decode("utf-8", "replace").encode()))


def _readable(body: bytes) -> bytes:
    """Return `body` with `TOO_DEEP` for what lies too deep, and null for numbers that are too long."""
    parts: list[bytes] = []
    depth = start = 0
    for found in _PART.finditer(body):
        match found[0][:1]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    parts.append(body[start : found.start()])
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    parts.append(f'"{TOO_DEEP}"'.encode())
                    start = found.end()
                depth -= 1
            case sign if sign != b'"' and depth <= DEEPEST:
                parts += [body[start : found.start()], b"null"]
                start = found.end()
    return b"".join([*parts, body[start:]]) if depth <= DEEPEST else body


class _Leaving:
    """A JSON value that is left out of until it can be read."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.count = 0
        self._from: defaultdict[int, int] = defaultdict(int)
        """How many were left out of an object or a list."""

    def out(self, error: ValidationError) -> None:
        """Leave out what is wrong. Raises `error` when that is all there is."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        paths = {_in_value(wrong) for wrong in _likeliest([self._wrong(each) for each in found])}
        if () in paths:
            raise error
        self._leave_out(paths)

    def _wrong(self, error: ErrorDetails) -> _Wrong:
        """Where it is. Of what is missing: what it is missing in."""
        path: list[int | str | _Shape] = []
        value: Any = self.value
        loc = error["loc"]
        for part in loc[:-1] if error["type"] == "missing" else loc:
            if part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int):
                path.append(part)
                value = value[part]
            else:
                path.append(_Shape(part))
        return _Wrong(tuple(path), error["type"])

    def _leave_out(self, paths: set[tuple[int | str, ...]]) -> None:
        lists: dict[int, list[Any]] = {}
        for path in sorted(paths, key=len):
            if any(path[:end] in paths for end in range(len(path))):
                continue  # it went with what it is in
            *way, last = path
            holder: Any = self.value
            for part in way:
                holder = holder[part]
            value = holder[last]
            if isinstance(holder, dict):
                del holder[last]
            else:
                holder[last] = _GONE
                lists[id(holder)] = holder
            if value is None and isinstance(holder, dict):
                continue  # to say that there is none is to leave it out
            self.count += 1 - sum(self._from.pop(id(each), 0) for each in _containers(value))
            self._from[id(holder)] += 1
        for each in lists.values():
            each[:] = (item for item in each if item is not _GONE)


def _likeliest(found: Sequence[_Wrong]) -> list[_Wrong]:
    """Of a value that may have one of several shapes, only what is wrong with it in that which it most looks like."""
    shapes: defaultdict[tuple[Any, ...], dict[Any, bool]] = defaultdict(dict)
    """For each such value its shapes, and whether it does not say it has it."""
    for path, kind in found:
        for end, step in enumerate(path):
            if isinstance(step, _Shape):
                own = len(path) - end - 1
                other = (kind in ("literal_error", "value_error") and own == 1) or (kind == "missing" and own == 0)
                shapes[path[:end]][step] = shapes[path[:end]].get(step, False) or other
    chosen = {value: min(among, key=lambda shape: among[shape]) for value, among in shapes.items()}
    return [
        wrong
        for wrong in found
        if all(not isinstance(step, _Shape) or chosen[wrong.path[:end]] == step for end, step in enumerate(wrong.path))
    ]


def _in_value(wrong: _Wrong) -> tuple[int | str, ...]:
    return tuple(step for step in wrong.path if not isinstance(step, _Shape))


def _containers(value: Any) -> Iterator[Any]:
    """The objects and lists in a JSON value, and the value itself."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            yield each
            waiting += each.values() if isinstance(each, dict) else each
