"""Spaces, which contain pages and files."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InOrganization, InSpace, Listing, Model, Operation, SpaceRef, Tagged, Urls
from octavo.api.organizations import MERGE_RULES_EXAMPLE, DefaultLevel, DefaultLevelName
from octavo.api.text import (
    Id,
    KnownValues,
    Language,
    Moment,
    Number,
    RawJson,
    SafeAddress,
    SafeJson,
    SafeLine,
    WebAddress,
)


class Permissions(Model):
    """The caller's permissions for a space."""

    view: bool = False
    access: bool = False
    admin: bool = False
    view_invite_links: bool = False
    edit: bool = False
    trigger_git_sync: bool = False
    comment: bool = False
    merge: bool = False
    review: bool = False
    install_integration: bool = False


class Space(Model):
    """A space with its page tree, history, comments and change requests."""

    object: Literal["space"] = "space"
    id: Id
    title: SafeLine = ""
    emoji: SafeLine | None = None
    visibility: Annotated[
        SafeLine, KnownValues("public", "unlisted", "share-link", "visitor-auth", "in-collection", "private")
    ] = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None
    deleted_at: Moment | None = None
    edit_mode: Annotated[SafeLine, KnownValues("live", "locked")] | None = None
    organization: Id | None = None
    parent: Id | None = None
    """The collection that contains the space."""
    git_sync: SafeJson | None = None
    visitor_auth: SafeJson | None = None
    merge_rules: SafeJson | None = None
    language: SafeLine | None = None
    revision: Id | None = None
    """The current revision of main."""
    default_level: DefaultLevelName | None = None
    comments: Number = 0
    """Number of open comments on main."""
    change_requests: Number = 0
    change_requests_open: Number = 0
    change_requests_draft: Number = 0
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)

    @property
    def ref(self) -> SpaceRef:
        return SpaceRef(space_id=self.id)


class GitSync(Model):
    """The Git repository that a space is synced with."""

    repo_name: SafeLine | None = None
    installation_provider: Annotated[SafeLine, KnownValues("github", "gitlab", "github-legacy")] | None = None
    integration: SafeLine | None = None
    url: SafeAddress | None = None
    updated_at: Moment | None = None


class SpacePointer(Tagged):
    """The space that a `Position` is before or after."""

    type: Literal["space"] = "space"
    space: Id


class CollectionPointer(Tagged):
    """The collection that a `Position` is before or after."""

    type: Literal["collection"] = "collection"
    collection: Id


Pointer = Annotated[SpacePointer | CollectionPointer, Field(discriminator="type")]


class Position(Model):
    """A position before or after another item."""

    before: Pointer | None = None
    after: Pointer | None = None


class List(InOrganization, Listing[Space], get="/spaces"):
    """List the spaces of an organization, including spaces in collections."""


class Create(InOrganization, Operation[Space], post="/spaces"):
    """Create a space with one empty page, at the top level or in a collection."""

    title: Annotated[str, Field(max_length=50)] | None = None
    emoji: Annotated[str, Field(max_length=50)] | None = Field(None, examples=["🚀"])
    parent: Id | None = Field(None, title="Collection")
    """The collection to create the space in. If not set, the space is created at the top level."""
    edit_mode: Literal["live", "locked"] | None = None
    """Whether pages can be edited directly, or only through change requests."""
    language: Language | None = None
    """The language that the space is written in."""


class Get(InSpace, Operation[Space], get=""):
    """Get a space."""

    share_key: str | None = None
    """The secret of a share link, for spaces published through one."""


class GetGitInfo(InSpace, Operation[GitSync], get="/git/info"):
    """Get the Git repository that a space is synced with. Returns 404 if there is none."""


class Update(InSpace, Operation[Space], patch="", nullable=("default_level", "emoji", "icon")):
    """Change the settings of a space. Omitted fields stay unchanged."""

    title: Annotated[str, Field(max_length=50)] | None = None
    emoji: Annotated[str, Field(max_length=50)] | None = Field(None, examples=["🚀"])
    icon: WebAddress | None = None
    """A link to an image. Set an emoji or an icon, not both."""
    edit_mode: Literal["live", "locked"] | None = None
    """Whether pages can be edited directly, or only through change requests."""
    default_level: DefaultLevel | None = Field(None, title="Default access")
    """Highest role that members inherit from the organization, such as `read`. It does not limit roles given in the
    space itself."""
    language: Language | None = None
    """The language that the space is written in."""
    merge_rules: RawJson | None = Field(None, examples=[MERGE_RULES_EXAMPLE])
    """What a merge requires. With type inherit, the rules of the organization apply."""


class Delete(InSpace, Operation[None], delete=""):
    """Delete a space. You can restore it for 7 days."""


class Duplicate(InSpace, Operation[Space], post="/duplicate"):
    """Duplicate a space with its pages and files, without its comments."""


class Restore(InSpace, Operation[Space], post="/restore", success=200):
    """Restore a space that was deleted in the last 7 days."""


class Move(InSpace, Operation[Space], post="/move", success=200, nullable=("parent",)):
    """Move a space to a collection or the top level, or before or after another item."""

    parent: Id | None = None
    position: Position | None = None


class Transfer(InSpace, Operation[Space], post="/transfer", success=200):
    """Move a space to another organization."""

    organization: Id
