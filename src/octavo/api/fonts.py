"""Custom fonts for the sites of an organization. GitBook allows these operations only in its own app."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from octavo.api.operation import InOrganization, Listing, Model, Operation
from octavo.api.storage import FromFile, StorageKey
from octavo.api.text import Id, KnownValues, SafeAddress, SafeLine

REGULAR_WEIGHT = 400
"""The weight that every font must include."""

Family = Annotated[str, Field(min_length=1, max_length=50)]
FontKey = Annotated[StorageKey, FromFile("customization_font")]
Weight = Annotated[int, Field(ge=1, le=1000)]
_FACES_EXAMPLE = [{"weight": REGULAR_WEIGHT, "storageKey": "~/fonts/Inter-Regular.woff2"}]


class Permissions(Model):
    """The caller's permissions for a font."""

    edit: bool = False


class FontSource(Model):
    """A file of a font face."""

    url: SafeAddress = ""
    format: Annotated[SafeLine, KnownValues("woff2", "woff")] | None = None


class FontFace(Model):
    """One weight of a font, 1 to 1000, in one or more formats."""

    weight: float = REGULAR_WEIGHT
    sources: tuple[FontSource, ...] = ()


class Font(Model):
    """A font family with its faces."""

    id: Id
    custom: bool = True
    font_family: SafeLine = ""
    font_faces: tuple[FontFace, ...] = ()
    permissions: Permissions = Field(default_factory=Permissions)


class NewFace(Model):
    """A file of a new font. Two files of the same weight are two formats of one face."""

    weight: Weight
    storage_key: FontKey


class ChangedFace(Model):
    """A replacement file for a weight of a font. A key of None removes the weight."""

    weight: Weight
    storage_key: FontKey | None


class List(InOrganization, Listing[Font], get="/fonts"):
    """List the custom fonts of an organization."""


class Create(InOrganization, Operation[Font], put="/fonts", success=201):
    """Create a font from uploaded files. One font face must have weight 400."""

    font_family: Family
    font_faces: Annotated[tuple[NewFace, ...], Field(min_length=1)] = Field(
        title="Font files", examples=[_FACES_EXAMPLE]
    )
    """One WOFF2 or WOFF file for each weight. Weight 400 is required."""

    @model_validator(mode="after")
    def _require_regular_face(self) -> Self:
        if all(face.weight != REGULAR_WEIGHT for face in self.font_faces):
            raise ValueError(f"fontFaces must have a file with weight {REGULAR_WEIGHT}")
        return self


class Get(InOrganization, Operation[Font], get="/fonts/{font_id}"):
    """Get a font."""

    font_id: Id


class Update(InOrganization, Operation[Font], post="/fonts/{font_id}", success=201):
    """Rename a font, or change some of its weights. Other weights stay unchanged."""

    font_id: Id
    font_family: Family | None = None
    font_faces: Annotated[tuple[ChangedFace, ...], Field(min_length=1)] | None = None
    """Weights to replace, or to remove with null. Other weights stay as they are."""


class Delete(InOrganization, Operation[None], delete="/fonts/{font_id}"):
    """Delete a font."""

    font_id: Id
