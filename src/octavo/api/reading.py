"""Reads responses that do not match the documentation. Unreadable parts are left out and counted, at any depth.

Parts are removed from the JSON value until the remaining value is valid. A part is a field of an object or an item of a
list. An object without a required field, such as the ID, is removed from its parent.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json

from octavo.untrusted_input import MAX_DEPTH

T = TypeVar("T")


class _Shape(NamedTuple):
    """A step of an error path: a member of a union."""

    name: int | str


class _UnreadablePart(NamedTuple):
    """Path of an unreadable part, and its error type in pydantic."""

    path: tuple[int | str | _Shape, ...]
    kind: str


TOO_DEEP = f"(not shown: more than {MAX_DEPTH} nested levels)"
"""Replaces a list or object that is nested too deeply."""
_PART = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]|-?\d{4000,}+(?:\.\d*+)?(?:[eE][-+]?\d++)?', re.DOTALL)
"""Matches brackets, long numbers, and strings, whose brackets must not count."""
_REMOVED = object()


def read_in_part(codec: TypeAdapter[T], body: bytes, invalid: ValidationError) -> T:
    """Return the readable part of an invalid `body`. `unreadable` counts the removed parts. Raises ValueError if
    nothing is readable."""
    partial = _PartialValue(json_of(body))
    if invalid.error_count() > 1 or invalid.errors()[0]["type"] != "json_invalid":
        partial.remove(invalid)
    while True:
        try:
            answer = codec.validate_python(partial.value)
        except ValidationError as error:
            partial.remove(error)
        else:
            return answer.model_copy(update={"unreadable": partial.count}) if isinstance(answer, BaseModel) else answer


def json_of(body: bytes) -> Any:
    """Return the JSON value of `body`. Unreadable parts become U+FFFD, null or `TOO_DEEP`. Raises ValueError."""
    try:
        return from_json(body)
    except ValueError:
        escape = rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)"
        body = re.sub(escape, lambda found: rb"\ufffd" if found[1] else found[0], body)
        return from_json(_readable(body.decode("utf-8", "replace").encode()))


def _readable(body: bytes) -> bytes:
    """Replace deep values by `TOO_DEEP`, and long numbers by null."""
    pieces: list[bytes] = []
    depth = start = 0
    for match in _PART.finditer(body):
        match match[0][:1]:
            case b"[" | b"{":
                depth += 1
                if depth == MAX_DEPTH + 1:
                    pieces.append(body[start : match.start()])
            case b"]" | b"}":
                if depth == MAX_DEPTH + 1:
                    pieces.append(f'"{TOO_DEEP}"'.encode())
                    start = match.end()
                depth -= 1
            case sign if sign != b'"' and depth <= MAX_DEPTH:
                pieces += [body[start : match.start()], b"null"]
                start = match.end()
    return b"".join([*pieces, body[start:]]) if depth <= MAX_DEPTH else body


class _PartialValue:
    """A JSON value from which unreadable parts are removed."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.count = 0
        self._removed_from: defaultdict[int, int] = defaultdict(int)
        """Number of parts removed from each object or list, by its ID."""

    def remove(self, error: ValidationError) -> None:
        """Remove the unreadable parts. Raises `error` if the whole value is unreadable."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        paths = {
            tuple(step for step in wrong.path if not isinstance(step, _Shape))
            for wrong in _likely_errors([self._locate_error(each) for each in found])
        }
        if () in paths:
            raise error
        self._remove_paths(paths)

    def _locate_error(self, error: ErrorDetails) -> _UnreadablePart:
        """Return the unreadable part: for a missing field, the whole object."""
        path: list[int | str | _Shape] = []
        value: Any = self.value
        loc = error["loc"]
        for part in loc[:-1] if error["type"] == "missing" else loc:
            if part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int):
                path.append(part)
                value = value[part]
            else:
                path.append(_Shape(part))
        return _UnreadablePart(tuple(path), error["type"])

    def _remove_paths(self, paths: set[tuple[int | str, ...]]) -> None:
        lists: dict[int, list[Any]] = {}
        for path in sorted(paths, key=len):
            if any(path[:end] in paths for end in range(len(path))):
                continue  # The part was already removed together with its parent.
            *parents_path, key = path
            parent: Any = self.value
            for step in parents_path:
                parent = parent[step]
            value = parent[key]
            if isinstance(parent, dict):
                del parent[key]
            else:
                parent[key] = _REMOVED
                lists[id(parent)] = parent
            if value is None and isinstance(parent, dict):
                continue  # A removed null loses no data, so it is not counted.
            self.count += 1 - sum(self._removed_from.pop(id(each), 0) for each in _containers(value))
            self._removed_from[id(parent)] += 1
        for each in lists.values():
            each[:] = (item for item in each if item is not _REMOVED)


def _likely_errors(errors: Sequence[_UnreadablePart]) -> list[_UnreadablePart]:
    """Return the errors for the most likely shape of each value."""
    shapes: defaultdict[tuple[Any, ...], dict[Any, bool]] = defaultdict(dict)
    """True for a shape that contradicts the tag of the value at a path."""
    for path, kind in errors:
        for end, step in enumerate(path):
            if isinstance(step, _Shape):
                depth_below = len(path) - end - 1
                is_other_shape = (kind in ("literal_error", "value_error") and depth_below == 1) or (
                    kind == "missing" and depth_below == 0
                )
                shapes[path[:end]][step] = shapes[path[:end]].get(step, False) or is_other_shape
    chosen = {value: min(candidates, key=lambda shape: candidates[shape]) for value, candidates in shapes.items()}
    return [
        error
        for error in errors
        if all(not isinstance(step, _Shape) or chosen[error.path[:end]] == step for end, step in enumerate(error.path))
    ]


def _containers(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict | list):
            yield each
            pending += each.values() if isinstance(each, dict) else each
