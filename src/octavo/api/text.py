"""Types for text that others wrote. Their values are safe to show in a terminal.

A model field of type `SafeText` (several lines) or `SafeLine` (one line of at most 300 characters) is sanitized when
the model is created. See safety.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, StringConstraints

from octavo.api.safety import safe_address, safe_json, safe_line, safe_text

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

SafeText = Annotated[str, AfterValidator(safe_text)]
"""Text of several lines, such as bodies and descriptions."""

SafeLine = Annotated[str, AfterValidator(safe_line)]
"""Text of one line, such as titles, names and statuses."""

SafeAddress = Annotated[str, AfterValidator(safe_address)]
"""A URL, or another line that must not be cut."""

SafeJson = Annotated[Any, AfterValidator(safe_json)]
"""Any JSON value for which there is no pydantic model. All its strings are sanitized."""


Moment = Annotated[
    datetime, AfterValidator(lambda moment: moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
]
"""A time with a time zone. A time without a time zone in a response is in UTC."""

Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A 64-bit integer. Larger numbers fit neither databases nor screens."""


@dataclass(frozen=True, repr=False)
class Raw:
    """Untrusted text exactly as it was received, for editing. It is never displayed: its repr hides the text."""

    text: str


def _raw(value: Any) -> Raw:
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return Raw(value)


RawText = Annotated[Raw, BeforeValidator(_raw)]
"""Text that must be sent back unchanged. `SafeText` would replace some of its characters."""

RawJson = dict[str, Any]
"""A JSON object that the user wrote. It is sent unchanged."""

# fmt: off
Language = Literal[
    "en", "fr", "de", "es", "it", "pt", "pt-br", "ru", "ja", "zh", "yue", "ko", "ar", "hi", "nl", "pl", "tr", "sv",
    "no", "da", "fi", "el", "cs", "hu", "ro", "th", "vi", "id", "ms", "he", "uk", "sk", "bg", "hr", "lt", "lv", "et",
    "sl",
]
# fmt: on
"""The code of a language in a request."""

PATTERN_DESCRIPTIONS: dict[str, str] = {}
"""Descriptions of valid values, by the pattern given to `string_form`."""


def string_form(
    pattern: str, description: str, *, min_length: int | None = None, max_length: int | None = None
) -> StringConstraints:
    """Return a constraint for a string that matches `pattern`. Error messages say “must be” and the `description`."""
    PATTERN_DESCRIPTIONS[pattern] = description
    return StringConstraints(pattern=pattern, min_length=min_length, max_length=max_length)


_NOT_IN_ID = (
    r"/\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff9-\ufffb"
)
"""Part of a character class: slashes, and characters that are not safe in a terminal, such as direction overrides."""
# Reject `.` and `..`: even encoded, they lead to another resource in a path.
_ID = rf"^(?:\.{{3}}|\.{{0,2}}[^.{_NOT_IN_ID}])[^{_NOT_IN_ID}]*$"
_MAX_ID_LENGTH = 256
Id = Annotated[
    str,
    string_form(
        _ID,
        f"an ID of at most {_MAX_ID_LENGTH} characters, without / and control characters",
        max_length=_MAX_ID_LENGTH,
    ),
]
"""An ID. In a path, it is percent-encoded."""


def is_id(text: str) -> bool:
    """Return whether a text is valid as an ID."""
    return len(text) <= _MAX_ID_LENGTH and re.fullmatch(_ID, text) is not None


IdOrObject = Annotated[Id | None, BeforeValidator(lambda value: value.get("id") if isinstance(value, dict) else value)]
"""The ID of a resource, even if the server sends the whole resource instead of its ID."""

Email = Annotated[
    str, string_form(r"^[^@/\s]+@[^@/\s]+\.[^@/\s]+$", "an email address, for example ada@example.com", max_length=320)
]
"""An email address in a request."""

Domain = Annotated[
    str, string_form(r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$", "a domain, for example example.com", max_length=253)
]
"""A domain of email addresses."""

WebAddress = Annotated[
    str, string_form(r"^https?://[^\s/]\S*$", "a link, for example https://example.com/page", max_length=2048)
]
"""An HTTP URL in a request."""

SubdomainName = Annotated[
    str,
    string_form(
        r"^[a-z0-9][a-z0-9-]*[a-z0-9]$",
        "lowercase letters, digits, and hyphens, without a hyphen at either end, for example sea-tides",
        min_length=3,
        max_length=32,
    ),
]
"""A subdomain of the server's own domain."""


@dataclass(frozen=True)
class KnownValues:
    """Marks a string with documented values. Other values are accepted and shown unchanged."""

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the documented values to the JSON schema of the string."""
        return {**handler(schema), "enum": list(self.values)}


@dataclass(frozen=True)
class Secret:
    """Marks a field that may contain a secret. Its value is shown only on request."""
