"""Reading OpenAPI specifications: JSON or YAML of strangers, bounded, and checked to be one."""

from __future__ import annotations

from typing import Any

from octavo.documents.yaml_values import MAX_NUMBER_BITS, core_loader
from octavo.untrusted_input import BeyondLimit, parse_json

Json = dict[str, Any]

MAX_LENGTH = 4 << 20
"""The most characters of a specification."""
MAX_VALUES = 400_000
MAX_DEPTH = 100


class SpecificationError(Exception):
    """This is no OpenAPI specification: sentences that say why."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def read_specification(text: str) -> Json:
    """The specification that a text is, as JSON. Raises Unreadable."""
    value = read_value(text)
    if not isinstance(value, dict):
        raise SpecificationError("The file is not an object. An OpenAPI specification has openapi, info, and paths.")
    if wrong := list(_missing_parts(value)):
        raise SpecificationError(*wrong)
    return value


def read_value(text: str) -> Any:
    """The value that a text of JSON or YAML is, as JSON. Raises Unreadable."""
    if len(text) > MAX_LENGTH:
        raise SpecificationError(f"The file is larger than the limit of {MAX_LENGTH >> 20} MiB.")
    return _JsonConverter().of(_parse(text))


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except BeyondLimit as error:
        raise SpecificationError(f"Could not read the file: {error}.") from None
    except ValueError as error:
        if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
            raise SpecificationError(f"The file is not valid JSON: {error}.") from None
    # Only whoever brings YAML pays for what reads it.
    import yaml

    try:
        return yaml.load(text, core_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecificationError(f"The file is not valid YAML: {' '.join(str(error).split())[:300]}.") from None


class _JsonConverter:
    """Makes values JSON. YAML may hold dates, keys that are no text, and the same value in many places."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise SpecificationError(
                f"The file has more than {MAX_VALUES} values, or more than {MAX_DEPTH} nested levels."
            )
        if isinstance(value, dict):
            return {_name(key): self.of(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(each, depth + 1) for each in value]
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise SpecificationError("The file contains a number that is too large.")
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _name(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _missing_parts(value: Json) -> list[str]:
    wrong = []
    said = value.get("openapi", value.get("swagger"))
    if not str(said).startswith(("2.0", "3.")):
        wrong.append('Neither `openapi: 3.x` nor `swagger: "2.0"` is set.')
    info = value.get("info")
    if not (isinstance(info, dict) and isinstance(info.get("title"), str)):
        wrong.append("info.title is missing.")
    parts = ("paths", "webhooks", "components") if str(said).startswith("3.1") else ("paths",)
    if not any(isinstance(value.get(part), dict) for part in parts):
        wrong.append(f"{' or '.join(parts)} is missing.")
    return wrong
