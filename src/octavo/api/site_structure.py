"""The structure of a site: its spaces, sections and section groups."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from octavo.api.operation import InSite, Listing, Model, Operation, Tagged, Urls
from octavo.api.spaces import Space
from octavo.api.text import Id, KnownValues, SafeAddress, SafeLine, SafeText

Path = Annotated[str, Field(min_length=1, max_length=100)]
"""A part of a URL on the site: letters, digits, `-`, `.`, `_` and `~`."""
Title = Annotated[str, Field(min_length=2, max_length=128)]
GroupTitle = Annotated[str, Field(min_length=1, max_length=100)]
Icon = Annotated[str, Field(max_length=50)]
Condition = Annotated[str, Field(min_length=1, max_length=1024)]
"""A condition on visitor claims. Content with a condition is shown only to visitors who meet it."""


class SiteSpace(Model):
    """A space on a site, with its section."""

    object: Literal["site-space"] = "site-space"
    id: Id
    path: SafeAddress = ""
    title: SafeLine = ""
    space: Space | None = None
    section: Id | None = None
    default: bool = False
    condition: SafeText | None = None
    has_advanced_customization_feature: bool = False
    urls: Urls = Field(default_factory=Urls)


class SiteSection(Model):
    """A section of a site with its spaces."""

    object: Literal["site-section"] = "site-section"
    id: Id
    title: SafeLine = ""
    description: SafeText | None = None
    default: bool = False
    path: SafeAddress = ""
    condition: SafeText | None = None
    section_group: Id | None = None
    icon: SafeLine | None = None
    site_spaces: tuple[SiteSpace, ...] = ()
    urls: Urls = Field(default_factory=Urls)

    @property
    def default_site_space(self) -> str | None:
        """The ID of the site space at which visitors of the section start. None if the section has no default."""
        return next((each.id for each in self.site_spaces if each.default), None)


def _require_unknown_kind(kind: str) -> str:
    if kind in ("site-section", "site-section-group", "site-space"):
        raise ValueError("it is of a known kind")
    return kind


class UnknownPart(Model):
    """An item of a site with an unknown kind, from a newer server."""

    object: Annotated[SafeLine, AfterValidator(_require_unknown_kind)] = ""
    id: SafeLine = ""
    title: SafeLine = ""


class SectionGroup(Model):
    """A section group with a title. `children` can contain groups too. Older servers send `sections` instead."""

    object: Literal["site-section-group"] = "site-section-group"
    id: Id
    title: SafeLine = ""
    icon: SafeLine | None = None
    section_group: Id | None = None
    sections: tuple[SiteSection, ...] = ()
    children: tuple["SitePart", ...] = ()


SitePart = Annotated[SiteSection | SectionGroup | SiteSpace | UnknownPart, Field(union_mode="left_to_right")]


class SiteStructure(Model):
    """The items of a site in order: sections and groups, else site spaces."""

    type: Annotated[SafeLine, KnownValues("sections", "siteSpaces")] = ""
    structure: tuple[SitePart, ...] = ()


class Pointer(Model):
    """A reference to an item of a site."""

    type: Literal["site-space", "site-section", "site-section-group"]
    id: Id


_CONDITION_EXAMPLE = 'visitor.claims.plan == "pro"'


class Position(Model):
    """A position before or after another item."""

    before: Pointer | None = None
    after: Pointer | None = None


class SectionPointer(Tagged):
    """A reference to a section, for the deprecated operation `MoveSection`."""

    type: Literal["site-section"] = "site-section"
    site_section: Id


class SectionPosition(Model):
    """A position before or after another section."""

    before: SectionPointer | None = None
    after: SectionPointer | None = None


class Get(InSite, Operation[SiteStructure], get="/structure"):
    """Get the sections, section groups and spaces of a site, in their order."""

    share_key: str | None = None
    """The secret of a share link, for sites published through one."""


class Sort(InSite, Operation[SitePart], patch="/structure/sort"):
    """Move a space, section or section group before or after another item on the site."""

    item: Pointer
    position: Position


class ListSiteSpaces(InSite, Listing[SiteSpace], get="/site-spaces"):
    """List the spaces on a site, in the order they appear there."""

    share_key: str | None = None
    default: bool | None = None
    """True lists only the default spaces of sections. False lists only the other spaces."""


class CreateSiteSpace(InSite, Operation[SiteSpace], post="/site-spaces"):
    """Add a space to a site, or to a section if the site has sections."""

    space_id: Id
    section_id: Id | None = None
    """The section to add the space to. Required if the site has sections."""


class UpdateSiteSpace(InSite, Operation[SiteSpace], patch="/site-spaces/{site_space_id}", nullable=("condition",)):
    """Change the path or condition of a space on a site, or replace the space."""

    site_space_id: Id
    path: Path | None = None
    """The last part of the link to the space."""
    condition: Condition | None = Field(None, examples=[_CONDITION_EXAMPLE])
    """Only visitors who meet the condition see the space."""
    space_id: Id | None = None
    """Another space to show here instead."""


class DeleteSiteSpace(InSite, Operation[None], delete="/site-spaces/{site_space_id}"):
    """Remove a space from a site. The space itself stays."""

    site_space_id: Id


class ListSections(InSite, Listing[SiteSection], get="/sections"):
    """List the sections of a site with their spaces, in the order they appear there."""

    share_key: str | None = None


class CreateSection(InSite, Operation[SiteSection], post="/sections", nullable=("title", "icon")):
    """Add a section with one space. If there were no sections, another new section gets the other spaces."""

    space_id: Id
    title: Title | None = None
    """The title of the section. If not set, the title of the space is used."""
    icon: Icon | None = None
    """The name of an icon, for example book or rocket."""


class UpdateSection(
    InSite, Operation[SiteSection], patch="/sections/{site_section_id}", nullable=("condition", "icon", "description")
):
    """Change the title, path, default space, condition, icon or description of a section."""

    site_section_id: Id
    title: Title | None = None
    path: Path | None = None
    """The last part of the link to the section."""
    default_site_space: Id | None = Field(None, title="Default space")
    """The space where visitors of the section start."""
    condition: Condition | None = Field(None, examples=[_CONDITION_EXAMPLE])
    """Only visitors who meet the condition see the section."""
    icon: Icon | None = None
    """The name of an icon, for example book or rocket."""
    description: Annotated[str, Field(max_length=256)] | None = None


class DeleteSection(InSite, Operation[None], delete="/sections/{site_section_id}"):
    """Remove a section and its spaces from a site. The spaces themselves stay."""

    site_section_id: Id


class MoveSection(InSite, Operation[SiteSection], post="/sections/{site_section_id}/move", success=200):
    """Move a section before or after another section, or to the end. Deprecated: use `Sort`."""

    site_section_id: Id
    position: SectionPosition | None = None


class ListGroups(InSite, Listing[SectionGroup], get="/section-groups"):
    """List the section groups of a site, in the order they appear there."""


class CreateGroup(InSite, Operation[SectionGroup], post="/section-groups", nullable=("icon",)):
    """Create a section group, at the top level or in another group, and move sections into it."""

    title: GroupTitle
    icon: Icon | None = None
    """The name of an icon, for example book or rocket."""
    sections: tuple[Id, ...] | None = None
    """Sections to move into the group."""
    parent: Id | None = Field(None, title="Parent group")
    """The group to create this group in. If not set, the group is at the top level."""


class UpdateGroup(InSite, Operation[SectionGroup], patch="/section-groups/{site_section_group_id}", nullable=("icon",)):
    """Change the title or icon of a section group."""

    site_section_group_id: Id
    title: GroupTitle | None = None
    icon: Icon | None = None
    """The name of an icon, for example book or rocket."""


class DeleteGroup(InSite, Operation[None], delete="/section-groups/{site_section_group_id}"):
    """Delete a section group. Its sections and groups move up one level."""

    site_section_group_id: Id
