"""PDF export of pages."""

from octavo.api.operation import Model, Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.api.text import Id, SafeAddress


class Pdf(Model):
    """Where a PDF is downloaded, for a while. The address says who may: it is asked for without a key."""

    url: SafeAddress = ""


class Get(Operation[Pdf], get="/pdf"):
    """Get a PDF of all pages, or of a page and the pages below it."""

    at: SpaceRef | ChangeRequestRef
    page: Id | None = None
    """The first page of the PDF."""
    only: bool | None = None
    """Whether to leave out the subpages."""
