"""Full-text search."""

from typing import Annotated

from pydantic import Field

from octavo.api.operation import Listing, Model, Urls
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.api.text import Id, SafeLine, SafeText

Query = Annotated[str, Field(max_length=512)]


class Section(Model):
    """A part of a page that was found."""

    id: SafeLine = ""
    title: SafeLine = ""
    path: SafeLine = ""
    body: SafeText = ""
    urls: Urls = Field(default_factory=Urls)


class PageHit(Model):
    """A page that was found (4.24)."""

    id: Id
    title: SafeLine = ""
    path: SafeLine = ""
    description: SafeText | None = None
    sections: tuple[Section, ...] = ()
    urls: Urls = Field(default_factory=Urls)


class SpaceHit(Model):
    """A space with the pages that were found in it."""

    id: Id
    title: SafeLine = ""
    pages: tuple[PageHit, ...] = ()


class InSpace(Listing[PageHit], get="/search"):
    """Pages of a space that hold these words, the best first."""

    at: SpaceRef
    query: Query


class InOrganization(Listing[SpaceHit], get="/search"):
    """Pages of all spaces of an organization that hold these words."""

    at: OrganizationRef
    query: Query
