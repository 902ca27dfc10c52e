"""Reads responses that do not match the documented types. Unreadable parts are left out and counted, at any depth.

A part is a field of an object or an item of a list. Parts are removed from the JSON value until pydantic accepts it. If
a required field is missing, such as the ID, the whole object is removed from its parent.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json

from octavo.untrusted_input import MAX_DEPTH

T = TypeVar("T")


class _UnionMember(NamedTuple):
    """A step in the path of an error: the type in a union that pydantic tried for the value."""

    name: int | str


class _UnreadablePart(NamedTuple):
    """Path of an unreadable part in the JSON value, and the type of the pydantic error there."""

    path: tuple[int | str | _UnionMember, ...]
    kind: str


TOO_DEEP = f"(not shown: more than {MAX_DEPTH} nested levels)"
"""Text in place of a list or object that is nested too deeply."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]|-?\d{4000,}+(?:\.\d*+)?(?:[eE][-+]?\d++)?', re.DOTALL)
"""Matches brackets outside strings, whole strings, and numbers that are too long."""
_REMOVED = object()


def read_in_part(codec: TypeAdapter[T], body: bytes, invalid: ValidationError) -> T:
    """Return an invalid response body as an object without its unreadable parts. The field `unreadable` of the object
    has their number. Raises ValueError if nothing can be read."""
    partial = _PartialValue(json_of(body))
    if invalid.error_count() > 1 or invalid.errors()[0]["type"] != "json_invalid":
        partial.remove(invalid)
    while True:
        try:
            result = codec.validate_python(partial.value)
        except ValidationError as error:
            partial.remove(error)
        else:
            return result.model_copy(update={"unreadable": partial.count}) if isinstance(result, BaseModel) else result


def json_of(body: bytes) -> Any:
    """Return the JSON value of `body`, with U+FFFD, null or `TOO_DEEP` in place of broken parts. Raises ValueError."""
    try:
        return from_json(body)
    except ValueError:
        escape_pattern = rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)"
        body = re.sub(escape_pattern, lambda found: rb"\ufffd" if found[1] else found[0], body)
        return from_json(_readable(body.decode("utf-8", "replace").encode()))


def _readable(body: bytes) -> bytes:
    """Return a body with `TOO_DEEP` in place of too deeply nested values, and null in place of too long numbers."""
    chunks: list[bytes] = []
    depth = start = 0
    for match in _TOKEN.finditer(body):
        match match[0][:1]:
            case b"[" | b"{":
                depth += 1
                if depth == MAX_DEPTH + 1:
                    chunks.append(body[start : match.start()])
            case b"]" | b"}":
                if depth == MAX_DEPTH + 1:
                    chunks.append(f'"{TOO_DEEP}"'.encode())
                    start = match.end()
                depth -= 1
            case sign if sign != b'"' and depth <= MAX_DEPTH:
                chunks += [body[start : match.start()], b"null"]
                start = match.end()
    return b"".join([*chunks, body[start:]]) if depth <= MAX_DEPTH else body


class _PartialValue:
    """A JSON value whose unreadable parts are removed step by step."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.count = 0
        self._removed_from: defaultdict[int, int] = defaultdict(int)
        """Number of parts removed from each object or list, by its `id()`."""

    def remove(self, error: ValidationError) -> None:
        """Remove the parts of the value that `error` is about. Raises `error` if it is about the whole value."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        paths = {
            tuple(step for step in wrong.path if not isinstance(step, _UnionMember))
            for wrong in _likely_errors([self._locate_error(each) for each in found])
        }
        if () in paths:
            raise error
        self._remove_paths(paths)

    def _locate_error(self, error: ErrorDetails) -> _UnreadablePart:
        """Return the part to remove because of an error. For a missing field, return the object that lacks it."""
        path: list[int | str | _UnionMember] = []
        value: Any = self.value
        loc = error["loc"]
        for part in loc[:-1] if error["type"] == "missing" else loc:
            if part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int):
                path.append(part)
                value = value[part]
            else:
                path.append(_UnionMember(part))
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
    """Return `errors`, but per union only errors of one type: one that fits the value's tag, else the first tried."""
    members: defaultdict[tuple[Any, ...], dict[Any, bool]] = defaultdict(dict)
    """By path of a value in a union: the tried types, each True if the tag of the value contradicts the type."""
    for path, kind in errors:
        for end, step in enumerate(path):
            if isinstance(step, _UnionMember):
                depth_below = len(path) - end - 1
                is_other_member = (kind in ("literal_error", "value_error") and depth_below == 1) or (
                    kind == "missing" and depth_below == 0
                )
                members[path[:end]][step] = members[path[:end]].get(step, False) or is_other_member
    likely = {value: min(candidates, key=lambda member: candidates[member]) for value, candidates in members.items()}
    return [
        error
        for error in errors
        if all(
            not isinstance(step, _UnionMember) or likely[error.path[:end]] == step
            for end, step in enumerate(error.path)
        )
    ]


def _containers(value: Any) -> Iterator[Any]:
    waiting_values = [value]
    while waiting_values:
        each = waiting_values.pop()
        if isinstance(each, dict | list):
            yield each
            waiting_values += each.values() if isinstance(each, dict) else each
