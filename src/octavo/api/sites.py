"""Sites, which publish spaces for an audience."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import InOrganization, InSite, Listing, Model, Operation, Urls
from octavo.api.organizations import RoleName
from octavo.api.site_structure import SiteStructure
from octavo.api.text import Id, IdOrObject, KnownValues, Moment, Number, SafeAddress, SafeJson, SafeLine, string_form
from octavo.api.users import User

SiteType = Literal["basic", "premium", "ultimate", "sponsored", "legacy-basic", "legacy-premium"]
Visibility = Literal["public", "unlisted", "share-link", "visitor-auth"]
PROXY_PATTERN = r"^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?:/[A-Za-z0-9_-]+)+$"
"""Regular expression for a host with a path, such as `example.com/docs`."""


class Permissions(Model):
    """The caller's permissions for a site."""

    view: bool = False
    access: bool = False
    edit: bool = False
    create: bool = False
    admin: bool = False
    install_integration: bool = False
    view_adaptive_schema: bool = False
    edit_adaptive_schema: bool = False


class Proxy(Model):
    """`origin` is the URL that visitors use. `target` is the URL of the site behind it."""

    origin: SafeAddress = ""
    target: SafeAddress = ""


class AdaptiveContent(Model):
    """The setting to send: whether visitors see different content, depending on their claims."""

    enabled: bool


class AdaptiveContentRead(Model):
    """The setting in a response: whether visitors see different content, depending on their claims."""

    enabled: bool = False


class Feature(Model):
    """A feature of a site, with the plan that includes it. A frozen feature is disabled."""

    id: SafeLine
    plan: SafeLine = ""
    frozen: bool = False
    customizations: tuple[SafeLine, ...] = ()


class Site(Model):
    """A site, which publishes spaces of an organization. `site_spaces` is their number."""

    object: Literal["site"] = "site"
    id: Id
    type: Annotated[
        SafeLine, KnownValues("basic", "premium", "ultimate", "sponsored", "legacy-basic", "legacy-premium")
    ] = ""
    title: SafeLine = ""
    icon: SafeJson | None = None
    hostname: SafeLine | None = None
    basename: SafeLine | None = None
    proxy: Proxy | None = None
    visibility: Annotated[SafeLine, KnownValues("public", "unlisted", "share-link", "visitor-auth")] = ""
    published: bool = False
    site_spaces: Number = 0
    created_at: Moment | None = None
    adaptive_content: AdaptiveContentRead | None = None
    ads: SafeJson | None = None
    agents_context: Annotated[SafeLine, KnownValues("excluded", "included")] | None = None
    features: tuple[Feature, ...] = ()
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class Checkout(Model):
    """The payment that is required before a site can be published."""

    type: Literal["checkout"] = "checkout"
    session_id: SafeAddress


class Customizations(Model):
    """The appearance of a site and of each of its site spaces."""

    site: SafeJson | None = None
    site_spaces: SafeJson | None = None


class Script(Model):
    """A script that runs in the browsers of visitors."""

    script: SafeAddress = ""
    content_security_policy: SafeAddress | None = None
    cookies: bool = False


class PublishedSite(Model):
    """A published site as its audience sees it."""

    object: Literal["published-content-site"] = "published-content-site"
    site: Site
    structure: SiteStructure = Field(default_factory=SiteStructure)
    customizations: Customizations = Field(default_factory=Customizations)
    scripts: tuple[Script, ...] = ()


class Origin(Model):
    """The source of a role: the organization, or a space of the site, by ID."""

    type: Annotated[SafeLine, KnownValues("space", "organization")] = ""
    space: IdOrObject = None
    organization: IdOrObject = None


class SitePermission(Model):
    """The highest role of a user on a site, and its source. `permission` is None for a guest."""

    permission: RoleName | None = None
    user: User
    origin: Origin = Field(default_factory=Origin)


class List(InOrganization, Listing[Site], get="/sites"):
    """List the sites of an organization."""

    space: Id | None = None
    """Only sites that contain this space."""
    title: str | None = None
    """Only sites whose title contains this text."""
    published: bool | None = None
    type: tuple[SiteType, ...] | None = None


class Create(InOrganization, Operation[Site], post="/sites"):
    """Create an unpublished site with existing spaces, or with a new space."""

    title: Annotated[str, Field(min_length=2, max_length=128)] | None = None
    visibility: Visibility | None = Field(None, title="Audience")
    """Who can see the site after it is published."""
    spaces: tuple[Id, ...] | Literal["sample", "empty"] | None = None
    """Spaces to add to the site. `sample` and `empty` create a new space for it."""
    type: SiteType | None = None
    """The plan of the site."""


class Get(InSite, Operation[Site], get=""):
    """Get a site."""


class Update(InSite, Operation[Site], patch="", nullable=("proxy",)):
    """Change the settings of a site. Omitted fields stay unchanged."""

    title: Annotated[str, Field(min_length=2, max_length=128)] | None = None
    visibility: Visibility | None = Field(None, title="Audience")
    """Who can see the site after it is published."""
    basename: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, title="Path")
    """The path of the site below the subdomain of the organization."""
    adaptive_content: AdaptiveContent | None = None
    """Whether visitors see different content, depending on their claims."""
    agents_context: Literal["excluded", "included"] | None = Field(None, title="AI agent context")
    """Whether AI agents that read the site get context about it."""
    default_site_space: Id | None = Field(None, title="Default space")
    """The space where visitors start. If the site has sections, a space in the default section."""
    default_site_section: Id | None = Field(None, title="Default section")
    """The section where visitors start."""
    proxy: (
        Annotated[str, string_form(PROXY_PATTERN, "a host and a path, for example example.com/docs", max_length=512)]
        | None
    ) = Field(None, title="Custom path")
    """A path on your own domain that shows the site."""


class Delete(InSite, Operation[None], delete=""):
    """Delete a site. Its spaces stay."""


class Publish(InSite, Operation[Site | Checkout], post="/publish", success=200):
    """Publish a site for its audience. Returns a checkout if its plan must be paid for first."""


class Unpublish(InSite, Operation[Site], post="/unpublish", success=200):
    """Unpublish a site. Only members can then read its spaces."""


class GetPublished(InSite, Operation[PublishedSite], get="/published"):
    """Get a published site as visitors see it."""

    share_key: str | None = None
    """The secret of a share link, for sites published through one."""


class ListPermissions(InSite, Listing[SitePermission], get="/permissions/aggregate"):
    """List the members with a role on a site, and where the role comes from."""
