"""The one door between outside text and the terminal: types whose values are safe to show (T1).

A model field typed `SafeText` (many lines) or `SafeLine` (one line, at most 300 characters) is made
safe, as `safety` does it, when the model is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, StringConstraints

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


@dataclass(frozen=True, repr=False)
class Raw:
    """Outside text exactly as it came, to be changed and sent back. It is never shown, and its repr hides it."""

    text: str


RawText = Annotated[Raw, BeforeValidator(Raw)]
"""Text that travels back as it came: what `SafeText` makes of it has other characters."""

RawJson = Any
"""The same in a request: it travels as it was written."""

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""An identifier that may stand in a path (C11)."""

UserId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_:@.+-]{0,127}$")]
"""The identifier of a person or an agent, which may hold a colon."""

Email = Annotated[str, StringConstraints(max_length=320, pattern=r"^[^@/\s]+@[^@/\s]+\.[^@/\s]+$")]
"""An e-mail address, as written."""


@dataclass(frozen=True)
class Known:
    """The values of a string that are documented. Others may come, and are shown as they came (3.3)."""

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Those who are told the shape of answers are told what is documented."""
        return {**handler(schema), "enum": list(self.values)}
