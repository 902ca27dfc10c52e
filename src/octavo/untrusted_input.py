"""Reads JSON and TOML from untrusted sources, with limits on depth and size.

All such JSON and TOML is read here, except HTTP bodies, which pydantic reads with the same limit of 200 levels.
`tests/test_damaged_input.py` checks this. YAML is read in `documents/yaml_values.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_DEPTH = 200
"""Maximum depth of nested objects and lists in a JSON value."""
MAX_TOML_BYTES = 1 << 20
_TOO_DEEP = f"it has more than {MAX_DEPTH} levels"
_TOO_LONG = "a number in it has too many digits"


class LimitExceededError(ValueError):
    """The input exceeds a limit. The message is the end of a sentence, such as `it has more than 200 levels`."""


def parse_strict_json(text: str | bytes) -> Any:
    """Return the value of JSON that Octavo will send or store. Raises ValueError for invalid JSON, NaN, numbers that
    are too large, and repeated keys. Raises LimitExceededError for too many levels."""
    value = parse_json(text, object_pairs_hook=_object_without_duplicates)
    json.dumps(value, allow_nan=False)  # rejects infinity: Python reads the JSON number 1e999 as infinity
    return value


class DuplicateKeyError(ValueError):
    """A JSON object has a key twice. The message is the end of a sentence, without a full stop."""


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate_key = next(key for key in keys if keys.count(key) > 1)
        raise DuplicateKeyError(f"it has the key {duplicate_key[:40]!r} twice")
    return mapping


def parse_json(
    text: str | bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:
    """Return the value of a JSON text. Raises ValueError, or LimitExceededError for too many levels or digits."""
    try:
        value = json.loads(text, object_pairs_hook=object_pairs_hook)
    except RecursionError:
        raise LimitExceededError(_TOO_DEEP) from None
    except (json.JSONDecodeError, UnicodeDecodeError, DuplicateKeyError):
        raise
    except ValueError:
        raise LimitExceededError(_TOO_LONG) from None
    if is_too_deep(value):
        raise LimitExceededError(_TOO_DEEP)
    return value


def is_too_deep(value: Any) -> bool:
    """Return True if a JSON value has more than `MAX_DEPTH` objects and lists inside one another."""
    values: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [each for each in values if isinstance(each, dict | list)]
        if not containers:
            return False
        values = [child for each in containers for child in (each.values() if isinstance(each, dict) else each)]
    return True


def read_toml_text(path: Path) -> str:
    """Return the text of a TOML file. Raises OSError, ValueError if not UTF-8, or LimitExceededError if too large."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_TOML_BYTES:
            raise LimitExceededError(f"it is larger than {MAX_TOML_BYTES >> 20} MiB")
        data = file.read(MAX_TOML_BYTES + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML text by key. Raises ValueError if it is not TOML, or LimitExceededError."""
    import tomllib  # lazy: most users have no settings file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise LimitExceededError(_TOO_LONG) from None
    except RecursionError:
        raise LimitExceededError("it has too many levels") from None
