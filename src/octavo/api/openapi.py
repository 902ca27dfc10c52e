"""OpenAPI specifications of an organization, and their versions. Pages can show their operations."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from octavo.api.operation import InOrganization, Listing, Model, Operation, OrganizationRef, Urls
from octavo.api.storage import FromFile
from octavo.api.text import Id, KnownValues, Moment, SafeAddress, SafeJson, SafeLine, SafeText, WebAddress, string_form

Slug = Annotated[
    str,
    string_form(
        r"^[a-z0-9]+(?:-[a-z0-9]+)*$",
        "lowercase letters and digits, joined by single hyphens, for example sea-tides",
        min_length=1,
        max_length=100,
    ),
]


class Permissions(Model):
    """The caller's permissions for a specification."""

    view: bool = False
    edit: bool = False


class ProcessingError(Model):
    """An error from the last processing of a specification."""

    message: SafeText = ""
    code: SafeLine | None = None


class OpenApiSpec(Model):
    """An OpenAPI specification with a unique slug. A failed processing sets `last_process_error_code`."""

    object: Literal["openapi-spec"] = "openapi-spec"
    id: Id
    slug: SafeLine = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None
    source_url: SafeAddress | None = Field(None, alias="sourceURL")
    processing_state: Annotated[SafeLine, KnownValues("pending", "progress", "complete")] = ""
    visibility: Annotated[SafeLine, KnownValues("private", "public")] | None = None
    last_version: Id | None = None
    last_processed_at: Moment | None = None
    last_process_error_code: Annotated[SafeLine, KnownValues("FETCH_TIMEOUT", "FETCH_ERROR", "PARSE_ERROR")] | None = (
        None
    )
    last_processed_errors: tuple[ProcessingError, ...] = ()
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class Version(Model):
    """A processed version of a specification."""

    object: Literal["openapi-spec-version"] = "openapi-spec-version"
    id: Id
    created_at: Moment | None = None
    url: SafeAddress = ""
    """The download URL of the version as JSON."""
    urls: Urls = Field(default_factory=Urls)


class VersionContent(Model):
    """The files of a version: `filesystem` maps their names to their content."""

    filesystem: SafeJson = None
    url: SafeAddress = ""


class Source(Model):
    """The source of a specification: either a URL or its text."""

    url: WebAddress | None = None
    text: Annotated[str, Field(min_length=1), FromFile("text")] | None = None
    """The specification as JSON or YAML."""

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if (self.url is None) == (self.text is None):
            raise PydanticCustomError("one_of", "either url or text is required, but not both")
        return self


class InSpec(BaseModel, defer_build=True):
    at: OrganizationRef
    spec_slug: Id


class List(InOrganization, Listing[OpenApiSpec], get="/openapi"):
    """List the OpenAPI specifications of an organization."""


class Create(InOrganization, Operation[OpenApiSpec], post="/openapi"):
    """Add an OpenAPI specification with a new slug. The server processes it after the response."""

    slug: Slug
    source: Source


class Get(InSpec, Operation[OpenApiSpec], get="/openapi/{spec_slug}"):
    """Get an OpenAPI specification."""


class Put(InOrganization, Operation[OpenApiSpec], put="/openapi/{spec_slug}"):
    """Add an OpenAPI specification, or a new version of it. The server processes it after the response."""

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
