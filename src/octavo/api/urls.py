"""Look up what a link to the app points to."""

from typing import Annotated

from pydantic import Field

from octavo.api.change_requests import ChangeRequest
from octavo.api.collections import Collection
from octavo.api.content import Page
from octavo.api.operation import Model, Operation
from octavo.api.spaces import Space


class Content(Model):
    """The target of a URL: a collection, or a space with its change request and page."""

    collection: Collection | None = None
    space: Space | None = None
    change_request: ChangeRequest | None = None
    page: Page | None = None


class GetContent(Operation[Content], get="/urls/content"):
    """Get the content that a link to the platform's web app points to."""

    url: Annotated[str, Field(max_length=2048)]
