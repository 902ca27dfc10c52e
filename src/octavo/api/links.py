"""Links on pages: their targets, broken links, and the links to a page or file."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from octavo.api.change_requests import ChangeRequest
from octavo.api.collections import Collection
from octavo.api.content import File, Page, ReusableContent
from octavo.api.openapi import OpenApiSpec
from octavo.api.operation import ChangeRequestRef, Listing, Model, SpaceRef
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.api.text import Id, KnownValues, SafeAddress, SafeJson, SafeLine
from octavo.api.users import User

T = TypeVar("T", Organization, Space)
_MAX_SHARED = 64
"""Maximum number of objects that `_share` remembers."""
_shared: dict[tuple[type, str], Any] = {}


def _share(value: T) -> T:
    """Return an equal object from an earlier call, else `value`, to save memory in lists of links."""
    key = (type(value), value.id)
    shared: T | None = _shared.get(key)
    if shared is None or shared != value:
        if len(_shared) >= _MAX_SHARED:
            _shared.clear()
        _shared[key] = shared = value
    return shared


class VersionContext(Model):
    """The version of a space that a location refers to. A location in main has none."""

    type: Annotated[SafeLine, KnownValues("revision", "changeRequest")] = ""
    revision: SafeJson | None = None
    change_request: ChangeRequest | None = None


class InternalLocation(Model):
    """A position on a page, as an anchor or a block."""

    type: Annotated[SafeLine, KnownValues("anchor", "node")] = ""
    anchor: SafeLine | None = None
    node: SafeLine | None = None


class Location(Model):
    """The target or the position of a link. Its kind determines the fields."""

    kind: Annotated[
        SafeLine, KnownValues("file", "url", "page", "user", "collection", "space", "reusable-content", "openapi")
    ] = ""
    organization: Annotated[Organization, AfterValidator(_share)] | None = None
    space: Annotated[Space, AfterValidator(_share)] | None = None
    page: Page | None = None
    file: File | None = None
    collection: Collection | None = None
    reusable_content: ReusableContent | None = None
    openapi_spec: OpenApiSpec | None = Field(None, alias="openAPISpec")
    user: User | None = None
    url: SafeAddress | None = None
    version_context: VersionContext | None = None
    internal_location: InternalLocation | None = None


class Link(Model):
    """All links to one target. `target_reference` is None for some broken targets."""

    status: Annotated[SafeLine, KnownValues("ok", "broken", "in-app")] = ""
    relation: Annotated[SafeLine, KnownValues("reference", "dependsOn")] = ""
    target_reference: Location | None = None
    location_references: tuple[Location, ...] = ()


class AtContent(BaseModel, defer_build=True):
    at: SpaceRef | ChangeRequestRef


Status = Literal["ok", "broken", "in-app"]


class ListOfSpace(Listing[Link], get="/links"):
    """List the links on all pages of a space."""

    at: SpaceRef
    status: Status | None = None


class ListOfChangeRequest(Listing[Link], get="/links"):
    """List the links on all pages of a change request."""

    at: ChangeRequestRef
    status: Status | None = None
    broken_context: Literal["change-request", "space"] | None = None
    """Only links that this change request breaks (`change-request`), or links that were broken before (`space`)."""


class ListOfPage(AtContent, Listing[Link], get="{content}/page/{page_id}/links"):
    """List the links on a page. Some servers ignore the status filter in change requests."""

    page_id: Id
    status: Status | None = None


class ListToPage(AtContent, Listing[Location], get="{content}/page/{page_id}/backlinks"):
    """List where pages link to a page."""

    page_id: Id


class ListToFile(AtContent, Listing[Location], get="{content}/files/{file_id}/backlinks"):
    """List where pages use a file."""

    file_id: Id
