"""JSON and TOML that others may have written, read with a limit on depth and on size.

Nothing else in Octavo reads such text as JSON or TOML (`tests/test_damaged_input.py`). Bodies of HTTP go through pydantic,
whose own limit is the same 200 levels. YAML is read in `documents/yaml_values.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DEEPEST = 200
"""The most JSON values within each other."""
LARGEST = 1 << 20
"""The most bytes of a TOML file."""
_TOO_DEEP = f"it has more than {DEEPEST} levels"
_TOO_LONG = "a number in it has too many digits"


class BeyondLimit(ValueError):
    """Input that may be well formed and is not read. The text is the reason, without its full stop."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of `text`. Raises ValueError if `text` is not JSON, BeyondLimit if it is too deep."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise BeyondLimit(_TOO_DEEP) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        raise BeyondLimit(_TOO_LONG) from None
    if is_deeper(value, DEEPEST):
        raise BeyondLimit(_TOO_DEEP)
    return value


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value has more levels than `levels`."""
    here: list[Any] = [value]
    for _ in range(levels + 1):
        holders = [each for each in here if isinstance(each, dict | list)]
        if not holders:
            return False
        here = [inner for each in holders for inner in _inside(each)]
    return True


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds. Raises OSError if the file cannot be opened, ValueError if it cannot be read."""
    return parse_toml(toml_text(path))


def toml_text(path: Path) -> str:
    """Return the text of a TOML file. Raises OSError if the file cannot be opened, ValueError if it is not text."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise BeyondLimit(f"it is larger than {LARGEST >> 20} MiB")
        data = file.read(LARGEST + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return what `text` holds. Raises ValueError if `text` is not TOML, BeyondLimit if it is too deep."""
    import tomllib  # lazy: most users have no settings file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise BeyondLimit(_TOO_LONG) from None
    except RecursionError:
        raise BeyondLimit("it has too many levels") from None
