"""Claims about the visitors of a site, for use in conditions.

A small subset of JSON Schema (draft-07) defines the claims: closed objects, arrays, strings, numbers and booleans, each
with a description. Other schemas are rejected.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from octavo.api.operation import InSite, Model, Operation, Tagged
from octavo.api.text import Moment, SafeJson, SafeLine, SafeText, string_form

UNSIGNED_CLAIM = "unsigned"
"""Name of the claim whose value is an object with all claims that are not signed."""


class Claim(Tagged):
    """A claim about a visitor. Every claim needs a description, except the items of a list claim."""

    model_config = ConfigDict(extra="forbid")
    description: str = ""


class BooleanClaim(Claim):
    """A claim that is true or false."""

    type: Literal["boolean"] = "boolean"


class StringClaim(Claim):
    """A claim with text. With `enum`, one of these texts."""

    type: Literal["string"] = "string"
    enum: tuple[str, ...] = Field((), min_length=1)


class NumberClaim(Claim):
    """A claim with a number."""

    type: Literal["number"] = "number"


class ArrayClaim(Claim):
    """A claim with a list of values of one type."""

    type: Literal["array"] = "array"
    items: "AnyClaim"


class ObjectClaim(Claim):
    """A claim that is an object with these `properties`, and no others."""

    type: Literal["object"] = "object"
    properties: dict[str, "DescribedClaim"]
    additional_properties: Literal[False]


AnyClaim = Annotated[BooleanClaim | StringClaim | NumberClaim | ArrayClaim | ObjectClaim, Field(discriminator="type")]


def _require_description(claim: Claim) -> Claim:
    if "description" not in claim.model_fields_set:
        raise ValueError("every claim needs a description")
    return claim


DescribedClaim = Annotated[AnyClaim, AfterValidator(_require_description)]


def _require_unsigned_object(claims: Mapping[str, Claim]) -> Mapping[str, Claim]:
    if UNSIGNED_CLAIM in claims and not isinstance(claims[UNSIGNED_CLAIM], ObjectClaim):
        raise ValueError(f"{UNSIGNED_CLAIM} must be an object that contains the unsigned claims")
    return claims


class VisitorSchema(Model):
    """The claims about a visitor, as a JSON Schema."""

    model_config = ConfigDict(extra="forbid")

    schema_address: Annotated[
        str,
        string_form(
            r"^https?://json-schema\.org/draft-07/schema#?$", "draft-07: http://json-schema.org/draft-07/schema#"
        ),
    ] = Field("", alias="$schema")
    id: str = Field("", alias="$id")
    type: Literal["object"]
    properties: Annotated[dict[str, DescribedClaim], AfterValidator(_require_unsigned_object)]
    additional_properties: Literal[False]


class AdaptiveSchema(Model):
    """The adaptive schema of a site, as the user wrote it."""

    object: SafeLine = "site-adaptive-schema"
    json_schema: SafeJson | None = None
    updated_at: Moment | None = None


class TemplateCondition(Model):
    """A template for a condition on a claim. `description` describes the template."""

    description: SafeLine = ""
    condition: SafeText = ""


class TemplateConditions(Model):
    """The condition templates that are generated from an adaptive schema."""

    items: tuple[TemplateCondition, ...] = ()


_SCHEMA_EXAMPLE = {
    "type": "object",
    "properties": {"plan": {"type": "string", "description": "The plan of the customer"}},
    "additionalProperties": False,
}


class Get(InSite, Operation[AdaptiveSchema], get="/adaptive-schema"):
    """Get the adaptive schema of a site."""


class Update(InSite, Operation[AdaptiveSchema], put="/adaptive-schema"):
    """Replace the adaptive schema of a site."""

    json_schema: VisitorSchema = Field(examples=[_SCHEMA_EXAMPLE])


class ListTemplateConditions(InSite, Operation[TemplateConditions], get="/adaptive-schema/template-conditions"):
    """List the condition templates that are generated from the adaptive schema of a site."""
