"""Groups of spaces and other collections."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InCollection, InOrganization, Listing, Model, Operation, Urls
from octavo.api.organizations import DefaultLevel, DefaultLevelName
from octavo.api.spaces import Position, Space
from octavo.api.text import Id, SafeLine


class Permissions(Model):
    """The caller's permissions for a collection."""

    view: bool = False
    admin: bool = False
    view_invite_links: bool = False
    create: bool = False


class Collection(Model):
    """A collection of spaces. `parent` is the collection around it."""

    object: Literal["collection"] = "collection"
    id: Id
    title: SafeLine = ""
    description: SafeLine | None = None
    organization: Id | None = None
    parent: Id | None = None
    default_level: DefaultLevelName | None = None
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class List(InOrganization, Listing[Collection], get="/collections"):
    """List the collections of an organization."""

    nested: bool = True
    """Whether collections inside other collections are listed too."""


class Create(InOrganization, Operation[Collection], post="/collections"):
    """Create a collection, at the top level or in another collection."""

    title: Annotated[str, Field(max_length=50)] | None = None
    parent: Id | None = None


class Get(InCollection, Operation[Collection], get=""):
    """Get a collection."""


class Update(InCollection, Operation[Collection], patch="", nullable=("default_level",)):
    """Change the title, description or default access of a collection."""

    title: Annotated[str, Field(max_length=50)] | None = None
    description: Annotated[str, Field(max_length=100)] | None = None
    default_level: DefaultLevel | None = Field(None, title="Default access")
    """Highest role that members inherit from the organization, such as `read`. It does not limit roles given in the
    collection itself."""


class Delete(InCollection, Operation[None], delete=""):
    """Delete a collection. The spaces and collections in it move up one level."""


class ListSpaces(InCollection, Listing[Space], get="/spaces"):
    """List the spaces directly in a collection."""


class Move(InCollection, Operation[Collection], post="/move", success=200, nullable=("parent",)):
    """Move a collection to another collection or the top level, or before or after another item."""

    parent: Id | None = None
    position: Position | None = None


class Transfer(InCollection, Operation[Collection], post="/transfer", success=200):
    """Move a collection and everything in it to another organization."""

    organization: Id
