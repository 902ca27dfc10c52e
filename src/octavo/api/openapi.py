"""OpenAPI specifications of an organization, and their versions. Pages can show their operations."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from octavo.api.operation import Listing, Model, Operation, Urls
from octavo.api.places import InOrganization, OrganizationRef
from octavo.api.storage import OfFile
from octavo.api.text import Id, Known, Moment, SafeAddress, SafeJson, SafeLine, SafeText, WebAddress, formed

Slug = Annotated[
    str,
    formed(
        r"^[a-z0-9]+(?:-[a-z0-9]+)*$",
        "lowercase letters and digits, joined by single hyphens, for example sea-tides",
        least=1,
        most=100,
    ),
]
"""Lower-case letters and digits in groups joined by single hyphens."""


class Permissions(Model):
    """What the caller may do with a specification."""

    view: bool = False
    edit: bool = False


class ProcessingError(Model):
    """What was wrong when a specification was last read."""

    message: SafeText = ""
    code: SafeLine | None = None


class OpenApiSpec(Model):
    """A specification under a name of its own, the slug (2.11, 4.18).

    It is read anew whenever its source is given. A failure has no state of its own: `last_process_error_code` says it.
    """

    object: Literal["openapi-spec"] = "openapi-spec"
    id: Id
    slug: SafeLine = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None
    source_url: SafeAddress | None = Field(None, alias="sourceURL")
    processing_state: Annotated[SafeLine, Known("pending", "progress", "complete")] = ""
    visibility: Annotated[SafeLine, Known("private", "public")] | None = None
    last_version: Id | None = None
    last_processed_at: Moment | None = None
    last_process_error_code: Annotated[SafeLine, Known("FETCH_TIMEOUT", "FETCH_ERROR", "PARSE_ERROR")] | None = None
    last_processed_errors: tuple[ProcessingError, ...] = ()
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class Version(Model):
    """What a specification said when it was read."""

    object: Literal["openapi-spec-version"] = "openapi-spec-version"
    id: Id
    created_at: Moment | None = None
    url: SafeAddress = ""
    """Where it is downloaded, as JSON."""
    urls: Urls = Field(default_factory=Urls)


class VersionContent(Model):
    """The text of a version: `filesystem` holds what each file of it says, by name."""

    filesystem: SafeJson = None
    url: SafeAddress = ""


class Source(Model):
    """Where a specification comes from: an address it is fetched from, or its text. One of the two."""

    url: WebAddress | None = None
    text: Annotated[str, Field(min_length=1), OfFile("text")] | None = None
    """The specification as JSON or YAML."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.url is None) == (self.text is None):
            raise PydanticCustomError("one_of", "either url or text is required, but not both")
        return self


class InSpec(BaseModel, defer_build=True):
    at: OrganizationRef
    spec_slug: Id


class List(InOrganization, Listing[OpenApiSpec], get="/openapi"):
    """List the OpenAPI specifications of an organization."""


class Create(InOrganization, Operation[OpenApiSpec], post="/openapi"):
    """Add an OpenAPI specification with a new slug. It is processed after the response."""

    slug: Slug
    source: Source


class Get(InSpec, Operation[OpenApiSpec], get="/openapi/{spec_slug}"):
    """Get an OpenAPI specification."""


class Put(InOrganization, Operation[OpenApiSpec], put="/openapi/{spec_slug}"):
    """Add an OpenAPI specification, or a new version of it. It is processed after the response."""

    spec_slug: Slug = Field(title="Slug")
    source: Source


class Update(InSpec, Operation[OpenApiSpec], patch="/openapi/{spec_slug}"):
    """Make an OpenAPI specification public or private."""

    visibility: Literal["private", "public"]


class Delete(InSpec, Operation[None], delete="/openapi/{spec_slug}"):
    """Delete an OpenAPI specification with its versions."""


class ListVersions(InSpec, Listing[Version], get="/openapi/{spec_slug}/versions"):
    """List the versions of an OpenAPI specification, oldest first."""


class GetLatestVersion(InSpec, Operation[Version], get="/openapi/{spec_slug}/versions/latest"):
    """Get the latest processed version of an OpenAPI specification."""


class GetLatestContent(InSpec, Operation[VersionContent], get="/openapi/{spec_slug}/versions/latest/content"):
    """Get the text of the latest processed version of an OpenAPI specification."""
