"""Full-text search in spaces, organizations and sites."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import Listing, Model, OrganizationRef, SiteRef, SpaceRef, Tagged, Urls
from octavo.api.text import Id, SafeAddress, SafeLine, SafeText

MAX_QUERY_LENGTH = 512
"""Maximum number of characters of a query."""
Query = Annotated[str, Field(max_length=MAX_QUERY_LENGTH)]


class Section(Model):
    """A section of a page in the search results."""

    id: SafeLine = ""
    title: SafeLine = ""
    path: SafeAddress = ""
    body: SafeText = ""
    urls: Urls = Field(default_factory=Urls)


class PageHit(Model):
    """A page in the search results."""

    id: Id
    title: SafeLine = ""
    path: SafeAddress = ""
    description: SafeText | None = None
    sections: tuple[Section, ...] = ()
    urls: Urls = Field(default_factory=Urls)


class SpaceHit(Model):
    """A space in the search results, with its matching pages."""

    id: Id
    title: SafeLine = ""
    pages: tuple[PageHit, ...] = ()


class InSpace(Listing[PageHit], get="/search"):
    """Search the pages of a space, best match first."""

    at: SpaceRef
    query: Query


class InOrganization(Listing[SpaceHit], get="/search"):
    """Search the pages of all spaces in an organization."""

    at: OrganizationRef
    query: Query


class DefaultScope(Tagged):
    """A search scope with one site space of each section: the current site space, else the default."""

    mode: Literal["default"] = "default"
    current_site_space: Id | None = None


class SpecificScope(Tagged):
    """A search scope that covers the given site spaces only."""

    mode: Literal["specific"] = "specific"
    site_space_ids: Annotated[tuple[Id, ...], Field(min_length=1)]


class AllScope(Tagged):
    """A search scope that covers every site space."""

    mode: Literal["all"] = "all"


class InSite(Listing[SpaceHit], post="/search", success=200, query=("page", "limit")):
    """Search the pages of all spaces on a site."""

    at: SiteRef
    query: Query
    scope: Annotated[DefaultScope | SpecificScope | AllScope, Field(discriminator="mode")]
