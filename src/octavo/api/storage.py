"""Uploads. Fonts and files to import are sent to a URL that works once."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import Model, Operation
from octavo.api.places import OrganizationRef
from octavo.api.text import SafeAddress, formed

MEDIA_TYPE = r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"
UploadKind = Literal["customization_font", "import_file"]


@dataclass(frozen=True)
class OfFile:
    """Says of a field that people fill it with a file: it is sent to storage as this kind first, or the field is its text."""

    kind: Literal["customization_font", "import_file", "text"]


StorageKey = Annotated[str, Field(min_length=1, max_length=512)]
"""Names a file that was sent, to operations that make something of it."""


class SignedUrl(Model):
    """Where to send a file, by PUT and without a key, and what names it afterwards (supplement 4.22)."""

    object: Literal["storage-signed-url"] = "storage-signed-url"
    url: SafeAddress
    key: SafeAddress


class FileToSend(Model):
    """What is going to be sent. `type` is its MIME type, `size` its bytes."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    type: Annotated[str, formed(MEDIA_TYPE, "a media type, for example font/woff2", most=255)]
    size: Annotated[int, Field(ge=1)]


class Upload(Operation[SignedUrl], post="/storage/upload"):
    """Request a URL to upload a file to."""

    at: OrganizationRef
    file: FileToSend
    kind: UploadKind
