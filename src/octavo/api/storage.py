"""Uploads. Fonts and files to import are sent to a URL that works once."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import Model, Operation, OrganizationRef
from octavo.api.text import SafeAddress, string_form

MEDIA_TYPE = r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"
UploadKind = Literal["customization_font", "import_file"]


@dataclass(frozen=True)
class FromFile:
    """Marks a field for which the user can choose a file. If `kind` is `text`, the field gets the text of the file.
    Otherwise, the file is uploaded, and the field gets its storage key or URL."""

    kind: Literal["customization_font", "import_file", "text"]


StorageKey = Annotated[str, Field(min_length=1, max_length=512)]
"""The key of an uploaded file, for operations that use the file."""


class SignedUrl(Model):
    """A URL for an upload by PUT without a token, with its file key."""

    object: Literal["storage-signed-url"] = "storage-signed-url"
    url: SafeAddress
    key: SafeAddress


class FileToSend(Model):
    """A file to upload: its name, MIME type, and size in bytes."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    type: Annotated[str, string_form(MEDIA_TYPE, "a media type, for example font/woff2", max_length=255)]
    size: Annotated[int, Field(ge=1)]


class Upload(Operation[SignedUrl], post="/storage/upload"):
    """Request a URL to upload a file to."""

    at: OrganizationRef
    file: FileToSend
    kind: UploadKind
