"""Add pages from a website, a document or an archive."""

from typing import Annotated, Literal

from octavo.api.operation import ChangeRequestRef, Model, Operation, SpaceRef
from octavo.api.storage import FromFile
from octavo.api.text import Id, Number, string_form

Source = Literal["website", "docx", "markdown", "html", "zip", "confluence", "github-wiki", "notion", "google-docs"]
"""The format of the content at the link."""


class Imported(Model):
    """The result of an import. `imported_resources` does not count pages that could not be read."""

    revision: Id | None = None
    imported_resources: Number = 0
    total_resources: Number = 0


class Create(Operation[Imported], post="{content}/import"):
    """Add the pages of a website, a document or an archive to the content."""

    at: SpaceRef | ChangeRequestRef
    url: Annotated[
        str,
        string_form(r"^https?://\S+$", "an http or https link, for example https://example.com/page", max_length=8192),
        FromFile("import_file"),
    ]
    """The link to the website or file. For an uploaded file, the URL it was uploaded to."""
    source: Source
