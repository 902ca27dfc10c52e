"""Redirects on a site, from a path to a section, space or page of the site."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InSite, Listing, Model, Operation, Tagged
from octavo.api.text import Id, KnownValues, SafeAddress, SafeLine, string_form

Source = Annotated[
    str,
    string_form(
        r"^\/(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})+(?:\/(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})+)*$",
        "a path without / at its end, with special characters percent-encoded, for example /old/page",
        max_length=512,
    ),
]
"""A path on the site, without a slash at its end, such as `/old/page`."""


class ToSection(Tagged):
    """A redirect to a section of the site."""

    kind: Literal["site-section"] = "site-section"
    site_section_id: Id


class ToSpace(Tagged):
    """A redirect to a space of the site."""

    kind: Literal["site-space"] = "site-space"
    site_space_id: Id


class ToPage(Tagged):
    """A redirect to a page in a space of the site."""

    kind: Literal["site-page"] = "site-page"
    site_space_id: Id
    page_id: Id


Destination = Annotated[ToSection | ToSpace | ToPage, Field(discriminator="kind")]
"""The target of a redirect in a request."""


class DestinationRead(Model):
    """The target of a redirect in a response. The kind determines which IDs are set."""

    kind: Annotated[SafeLine, KnownValues("site-section", "site-space", "site-page", "external")] = ""
    site_section_id: Id | None = None
    site_space_id: Id | None = None
    page_id: Id | None = None
    url: SafeAddress | None = None


class Redirect(Model):
    """A redirect from a path on a site."""

    object: SafeLine = "site-redirect"
    id: Id
    source: SafeAddress = ""
    destination: DestinationRead = Field(default_factory=DestinationRead)


class Resolved(Model):
    """The redirect for a path, with the URL of its target."""

    redirect: Redirect
    target: SafeAddress = ""


class List(InSite, Listing[Redirect], get="/redirects"):
    """List the redirects on a site."""

    search: str | None = None
    """Part of the source path of a redirect."""


class Create(InSite, Operation[Redirect], post="/redirects"):
    """Create a redirect on a site. A path can have only one redirect."""

    source: Source
    destination: Destination


class Update(InSite, Operation[Redirect], patch="/redirects/{site_redirect_id}"):
    """Change the source or destination of a redirect. Omitted fields stay unchanged."""

    site_redirect_id: Id
    source: Source | None = None
    destination: Destination | None = None


class Delete(InSite, Operation[None], delete="/redirects/{site_redirect_id}"):
    """Delete a redirect."""

    site_redirect_id: Id


class Resolve(InSite, Operation[Resolved], get="/redirect"):
    """Get the destination of a path on a site."""

    source: Source
    share_key: str | None = None
    """The secret of a share link, for sites published through one."""
