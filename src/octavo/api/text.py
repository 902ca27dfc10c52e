"""The one door between outside text and the terminal: types whose values are safe to show (T1).

A model field typed `SafeText` (many lines) or `SafeLine` (one line, at most 300 characters) is made
safe, as `safety` does it, when the model is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, StringConstraints

from octavo.api.safety import address, json, line, text

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

SafeText = Annotated[str, AfterValidator(text)]
"""Text of many lines: bodies, descriptions."""

SafeLine = Annotated[str, AfterValidator(line)]
"""Text of one line: titles, names, statuses, addresses."""

SafeAddress = Annotated[str, AfterValidator(address)]
"""An address, or another line that is of no use when it is cut."""

SafeJson = Annotated[Any, AfterValidator(json)]
"""A JSON value of a shape we do not model."""


def _in_a_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_in_a_zone)]
"""A moment. Where a server does not say of which time zone, it is UTC: moments of no zone cannot be compared."""

Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number of 64 bits. What is beyond counts nothing: it is in no database, it is no float, and fills a screen."""


@dataclass(frozen=True, repr=False)
class Raw:
    """Outside text exactly as it came, to be changed and sent back. It is never shown, and its repr hides it."""

    text: str


def _raw(value: Any) -> Raw:
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return Raw(value)


RawText = Annotated[Raw, BeforeValidator(_raw)]
"""Text that travels back as it came: what `SafeText` makes of it has other characters."""

RawJson = dict[str, Any]
"""The same in a request, where it is an object: it travels as it was written."""

# fmt: off
Language = Literal[
    "en", "fr", "de", "es", "it", "pt", "pt-br", "ru", "ja", "zh", "yue", "ko", "ar", "hi", "nl", "pl", "tr", "sv",
    "no", "da", "fi", "el", "cs", "hu", "ro", "th", "vi", "id", "ms", "he", "uk", "sk", "bg", "hr", "lt", "lv", "et",
    "sl",
]
# fmt: on
"""The code of a language, as written."""

FORMS: dict[str, str] = {}
"""What a value must be, in words, by the pattern that says so to programs."""


def formed(pattern: str, words: str, *, least: int | None = None, most: int | None = None) -> StringConstraints:
    """The form a value must have. `words` go on with “must be”; `least` and `most` count its characters."""
    FORMS[pattern] = words
    return StringConstraints(pattern=pattern, min_length=least, max_length=most)


_ID = r"[^/\x00-\x1f\x7f-\x9f]"
Id = Annotated[
    str,
    formed(
        # Not `.` and not `..`: however they are written in a path, they mean another place.
        rf"^(?:\.{{3}}|\.{{0,2}}[^./\x00-\x1f\x7f-\x9f]){_ID}*$",
        "an ID of at most 256 characters, without / and control characters",
        most=256,
    ),
]
"""An identifier. It is percent-encoded where it stands in a path (C11)."""

Named = Annotated[Id | None, BeforeValidator(lambda value: value.get("id") if isinstance(value, dict) else value)]
"""The id of a resource that may come whole."""

Email = Annotated[
    str, formed(r"^[^@/\s]+@[^@/\s]+\.[^@/\s]+$", "an email address, for example ada@example.com", most=320)
]
"""An email address, as written."""

Domain = Annotated[
    str, formed(r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$", "a domain, for example example.com", most=253)
]
"""What follows the @ of email addresses."""

WebAddress = Annotated[str, formed(r"^https?://[^\s/]\S*$", "a link, for example https://example.com/page", most=2048)]
"""Where something is found with HTTP."""

COLOUR = r"^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"
Colour = Annotated[str, formed(COLOUR, "a color, for example #346ddb")]
"""A colour as style sheets have it."""

Label = Annotated[
    str,
    formed(
        r"^[a-z0-9][a-z0-9-]*[a-z0-9]$",
        "lowercase letters, digits, and hyphens, without a hyphen at either end, for example sea-tides",
        least=3,
        most=32,
    ),
]
"""A name below the platform's own domain."""


@dataclass(frozen=True)
class Known:
    """The values of a string that are documented. Others may come, and are shown as they came (3.3)."""

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Those who are told the shape of answers are told what is documented."""
        return {**handler(schema), "enum": list(self.values)}


@dataclass(frozen=True)
class Hidden:
    """Says of a value that it may be a secret: it is shown when somebody asks for it."""
