"""PDF export of pages."""

from octavo.api.operation import ChangeRequestRef, Model, Operation, SpaceRef
from octavo.api.text import Id, SafeAddress


class Pdf(Model):
    """The temporary download URL of a PDF. Requests to it must not contain a token."""

    url: SafeAddress = ""


class Get(Operation[Pdf], get="/pdf"):
    """Get a PDF of all pages, or of a page and the pages below it."""

    at: SpaceRef | ChangeRequestRef
    page: Id | None = None
    """The page to export, with its subpages unless `only` is set. If not set, all pages are exported."""
    only: bool | None = None
    """Whether to leave out the subpages."""
