"""Secret links to a site. Anyone who has a link can see the site."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InSite, Listing, Model, Operation, Urls
from octavo.api.text import Id, Moment, SafeLine

Name = Annotated[str, Field(max_length=50)]


class ShareLink(Model):
    """A link to a site that contains a secret."""

    object: Literal["share-link"] = "share-link"
    id: Id
    name: SafeLine | None = None
    active: bool | None = None
    created_at: Moment | None = None
    urls: Urls = Field(default_factory=Urls)


class List(InSite, Listing[ShareLink], get="/share-links"):
    """List the share links of a site."""


class Create(InSite, Operation[ShareLink], post="/share-links"):
    """Create a share link."""

    name: Name


class Update(InSite, Operation[ShareLink], patch="/share-links/{share_link_id}"):
    """Rename, revoke or activate a share link."""

    share_link_id: Id
    name: Name | None = None
    active: bool | None = None


class Delete(InSite, Operation[None], delete="/share-links/{share_link_id}"):
    """Delete a share link. The link stops working."""

    share_link_id: Id
