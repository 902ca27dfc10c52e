"""Operations: frozen values that describe a request to the API. Also the resources that contain them, and lists that are
read page by page.

  class Merge(InChangeRequest, Operation[MergeResult], post="/merge", success=200):
      \"""Merge a change request into the main content of the space.\"""

  await client(Merge(at=change_request))

The client sends an operation, the embedded server handles it, and the cache uses it as key. Its fields are the
parameters of the API in snake_case. The additional field `at` refers to the resource that contains the operation: its
path precedes the path of the operation. A path that starts with `{content}` is below the content of that resource.
Module wire.py converts operations to HTTP.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from octavo.api.errors import PaginationError
from octavo.api.text import Id, Number, SafeAddress
from octavo.lazy_import import lazy

_read_in_part = lazy("octavo.api.reading:read_in_part")  # lazy: rarely needed


T = TypeVar("T")
M = TypeVar("M", bound="Model")


@cache
def camel(name: str) -> str:
    """Return the name of a field in camel case, as the API writes it."""
    return to_camel(name) if "_" in name else name


_SETTINGS = ConfigDict(
    alias_generator=camel,
    validate_by_name=True,
    validate_by_alias=True,
    frozen=True,
    defer_build=True,
    hide_input_in_errors=True,
    allow_inf_nan=False,
    extra="ignore",
)


class Model(BaseModel):
    """A value in a request or response: camelCase on the wire, snake_case in Python, immutable. Unknown fields are
    ignored. Modules with models must not use postponed annotations, which are slow here."""

    model_config = _SETTINGS
    unreadable: ClassVar[int] = 0
    """Number of fields and items of a response that were left out, because they could not be read."""


class Tagged(Model):
    """A member of a union with a `Literal` field as tag. The tag is always sent."""

    def model_post_init(self, context: Any, /) -> None:
        fields = type(self).model_fields.items()
        self.__pydantic_fields_set__.add(
            next(name for name, field in fields if get_origin(field.annotation) is Literal)
        )


class NextCursor(Model):
    """The cursor of the next page. Empty if there is a next page but its cursor is unreadable."""

    page: str = Field(max_length=4096)


def _parse_next(value: Any) -> Any:
    """Return `value`, or an empty cursor if `value` is unreadable. An empty cursor says that there is a next page."""
    page = value.get("page") if isinstance(value, dict) else None
    is_readable = value is None or isinstance(value, NextCursor) or (isinstance(page, str) and len(page) <= 4096)
    return value if is_readable else NextCursor(page="")


class BrokenLinks(Model):
    """Number of broken links in total, and of those that a change request broke."""

    total: Number = 0
    change_request: Number | None = None


class LinkStats(Model):
    """Number of all links, and of broken links, in a list of links."""

    total: Number = 0
    broken: BrokenLinks = Field(default_factory=BrokenLinks)


class ListPage(Model, Generic[T]):
    """One page of a list. The last page has no `next`; an empty page is not the end."""

    items: tuple[T, ...]
    next: Annotated[NextCursor | None, BeforeValidator(_parse_next)] = None
    count: Number | None = None
    stats: LinkStats | None = None
    """Totals for the whole list. Only lists of links have them."""


class Ref(Model):
    """Reference to a resource that contains other resources. Its fields fill its path."""

    path: ClassVar[str] = ""
    content: ClassVar[str] = ""
    """Path segments between this resource and its pages, such as `/content`. Empty if there are none."""

    def __init_subclass__(cls, *, path: str, content: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.path, cls.content = path, content


class Operation(BaseModel, Generic[T]):
    """A request with a response of type `T`."""

    model_config = _SETTINGS

    if not TYPE_CHECKING:

        def __class_getitem__(cls, response_type: Any) -> GenericAlias:
            # `Spec.response_type` needs only the type. A generic model for each type would take long to build.
            return GenericAlias(cls, (response_type,))

    def __init_subclass__(
        cls,
        *,
        get: str | None = None,
        post: str | None = None,
        put: str | None = None,
        patch: str | None = None,
        delete: str | None = None,
        success: int = 0,
        query: tuple[str, ...] = (),
        nullable: tuple[str, ...] = (),
        repeats_request: bool = False,
        **options: Any,
    ) -> None:
        """Declare the HTTP method and the path of the operation.

        `success` is the expected status. Its default is 201 for POST, 204 for DELETE, else 200. Fields in `query` are
        sent in the query instead of the body. Fields in `nullable` are sent as null if they are None. `repeats_request`
        marks an operation with the request of another operation, but another result.
        """
        super().__init_subclass__(**options)

    @classmethod
    def __pydantic_init_subclass__(
        cls,
        *,
        success: int = 0,
        query: tuple[str, ...] = (),
        nullable: tuple[str, ...] = (),
        repeats_request: bool = False,
        **route: str,
    ) -> None:
        for method, path in route.items():
            verb = method.upper()
            default_success = {"POST": 201, "DELETE": 204}.get(verb, 200)
            SPECS[cls] = Spec(cls, verb, path, success or default_success, query, nullable, repeats_request)


class Listing(Operation[ListPage[T]], Generic[T]):
    """An operation that returns one page of a list."""

    page: str | None = None
    limit: int | None = Field(None, ge=0, le=1000)


@dataclass(frozen=True, eq=False)  # Caches find a spec faster by identity.
class Spec:
    """The declaration of an operation: its HTTP method, path and fields."""

    operation: type[Operation[Any]]
    method: str
    path: str
    success: int
    query: tuple[str, ...]
    nullable: tuple[str, ...] = ()
    repeats_request: bool = False
    """Whether another operation has the same request. The operation is then not listed, and not cached."""

    @property
    def name(self) -> str:
        """Name of the module and the class, such as `comments.List`."""
        return f"{self.operation.__module__.rpartition('.')[2]}.{self.operation.__name__}"

    @property
    def summary(self) -> str:
        """The first line of the operation's docstring, for users."""
        return inspect.getdoc(self.operation).split("\n")[0]  # type: ignore[union-attr]  # A test checks the docstring.

    @property
    def is_update(self) -> bool:
        """True if the operation changes fields of a resource, so that a request must set at least one field."""
        return self.operation.__name__.startswith(("Update", "Move"))

    @property
    def only_reads(self) -> bool:
        """Whether the operation changes nothing on the server. True for all lists, even with POST."""
        return self.method == "GET" or issubclass(self.operation, Listing)

    @cached_property
    def at_types(self) -> tuple[type[Ref], ...]:
        """Types of the field `at`. Empty if the operation lacks this field."""
        field = self.operation.model_fields.get("at")
        if field is None:
            return ()
        return get_args(field.annotation) or (field.annotation,)

    @cached_property
    def response_type(self) -> Any:
        """The type of the response: `T` in `Operation[T]`."""
        for base in self.operation.__dict__.get("__orig_bases__", ()):
            kinds = get_args(base)
            if get_origin(base) is Listing:
                return ListPage[kinds]  # type: ignore[valid-type]  # the class determines the type
            if get_origin(base) is Operation:
                return kinds[0]
        raise TypeError(f"{self.name} does not declare the type of its response")

    @cached_property
    def codec(self) -> TypeAdapter[Any]:
        """Object that converts a response from JSON, and back to JSON."""
        return TypeAdapter(self.response_type)


def decode_response(codec: TypeAdapter[T], body: bytes) -> T:
    """Return the body of a response as an object, without unreadable parts. Raises ValueError if nothing is left."""
    try:
        return codec.validate_json(body)
    except ValidationError as wrong:
        readable: T = _read_in_part(codec, body, wrong)
        return readable


SPECS: dict[type[Operation[Any]], Spec] = {}
"""The declarations of the imported operations, by class. `load()` imports all others."""

AREAS = (
    "system",
    "users",
    "organizations",
    "teams",
    "permissions",
    "invites",
    "collections",
    "spaces",
    "content",
    "comments",
    "change_requests",
    "reviews",
    "search",
    "sites",
    "site_structure",
    "share_links",
    "openapi",
    "imports",
    "pdf",
    "links",
    "urls",
    "redirects",
    "mcp_servers",
    "adaptive_schema",
    "sso",
    "translations",
    "storage",
    "fonts",
    "subdomains",
)
"""The modules in this package that contain operations. Each is imported when it is first needed."""


def load() -> dict[type[Operation[Any]], Spec]:
    """Import all operations, and return their declarations by class, except those with `repeats_request`."""
    for area in AREAS:
        import_module(f"octavo.api.{area}")
    return {kind: spec for kind, spec in SPECS.items() if not spec.repeats_request}


def find_spec(name: str) -> Spec | None:
    """Return the declaration of an operation such as `comments.List`. None if unknown. Imports only its module."""
    area = name.partition(".")[0]
    if area in AREAS:
        import_module(f"octavo.api.{area}")
    return next((spec for spec in SPECS.values() if spec.name == name and not spec.repeats_request), None)


class Urls(Model):
    """Absolute URLs of a resource. The client never follows them."""

    location: SafeAddress | None = None
    app: SafeAddress | None = None
    published: SafeAddress | None = None
    public: SafeAddress | None = None
    icon: SafeAddress | None = None
    logo: SafeAddress | None = None


class OrganizationRef(Ref, path="/orgs/{organization_id}"):
    """A reference to an organization."""

    organization_id: Id


class SiteRef(Ref, path="/orgs/{organization_id}/sites/{site_id}"):
    """A reference to a site of an organization."""

    organization_id: Id
    site_id: Id


class CollectionRef(Ref, path="/collections/{collection_id}"):
    """A reference to a collection of spaces."""

    collection_id: Id


class SpaceRef(Ref, path="/spaces/{space_id}", content="/content"):
    """A reference to a space. Its content is the main content."""

    space_id: Id

    def revision_ref(self, revision_id: str) -> "RevisionRef":
        """Return the reference to a revision of the space."""
        return RevisionRef(space_id=self.space_id, revision_id=revision_id)


class ChangeRequestRef(Ref, path="/spaces/{space_id}/change-requests/{change_request_id}", content="/content"):
    """A reference to a change request, by its ID or number. Its content is the proposed content."""

    space_id: Id
    change_request_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)

    def revision_ref(self, revision_id: str) -> "RevisionRef":
        """Return the reference to a revision of the space of the change request."""
        return RevisionRef(space_id=self.space_id, revision_id=revision_id)


class RevisionRef(Ref, path="/spaces/{space_id}/revisions/{revision_id}"):
    """A reference to a revision, whose content never changes."""

    space_id: Id
    revision_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)


ContentRef = SpaceRef | ChangeRequestRef | RevisionRef
"""A reference to a resource that has pages: a space, change request or revision."""

Discussion = SpaceRef | ChangeRequestRef
"""A reference to a resource that can have comments: a space or change request."""

Shared = SpaceRef | CollectionRef
"""A reference to a resource in which users and teams can have roles: a space or collection."""


class InOrganization(BaseModel, defer_build=True):
    at: OrganizationRef


class InSite(BaseModel, defer_build=True):
    at: SiteRef


class InCollection(BaseModel, defer_build=True):
    at: CollectionRef


class InSpace(BaseModel, defer_build=True):
    at: SpaceRef


class InChangeRequest(BaseModel, defer_build=True):
    at: ChangeRequestRef


Item = TypeVar("Item")

MAX_PAGES = 1000
MAX_ITEMS = 100_000
MAX_STALE_PAGES = 10
"""Maximum number of successive pages without new items. A single empty page does not end a list."""
MAX_CURSOR_LENGTH = 4096


def own_id(item: Any) -> str | None:
    """Return the ID of an item. None if its type has no ID."""
    item_id = item.get("id") if isinstance(item, dict) else getattr(item, "id", None)
    return item_id if isinstance(item_id, str) else None


def identity(item: Any) -> str:
    """Return the ID of an item, else the item as JSON. Items of a list with the same identity are the same item."""
    return own_id(item) or to_json(item).decode()


async def read_pages(
    send: Callable[[Listing[Item]], Awaitable[ListPage[Item]]],
    op: Listing[Item],
    *,
    after: ListPage[Item] | None = None,
    identity: Callable[[Item], str | None] = own_id,
) -> AsyncGenerator[ListPage[Item], None]:
    """Yield the pages of the list of `op`, which `send` loads one by one, starting after the page `after`. Leaves out
    items whose `identity` was on an earlier page. Raises PaginationError for an endless list, and errors of `send`."""
    last_page = after

    async def fetch(cursor: str | None) -> tuple[Sequence[Item], object]:
        nonlocal last_page
        last_page = await send(op if cursor is None else op.model_copy(update={"page": cursor}))
        return last_page.items, last_page.next.page if last_page.next else None

    start = after.next.page if after is not None and after.next is not None else None
    earlier_items = after.items if after is not None else ()
    async for items in walk_pages(fetch, identity, start=start, earlier_items=earlier_items):
        assert last_page is not None, "a page was fetched"
        yield last_page if len(items) == len(last_page.items) else last_page.model_copy(update={"items": tuple(items)})


async def walk_pages(
    fetch: Callable[[str | None], Awaitable[tuple[Sequence[Item], object]]],
    identity: Callable[[Item], str | None],
    *,
    start: object = None,
    earlier_items: Sequence[Item] = (),
    max_pages: int = MAX_PAGES,
    max_items: int = MAX_ITEMS,
) -> AsyncGenerator[list[Item], None]:
    """Fetch page after page, and yield the new items of each. `fetch` gets the cursor of a page, first `start`. It
    returns the items, and the cursor of the next page or None at the end of the list.

    An item is new if no earlier item has the same `identity`, or if its identity is None. `earlier_items` are the items
    before `start`. Raises PaginationError for an invalid cursor, for an endless list, and beyond `max_pages` or
    `max_items`, which includes `earlier_items`.
    """
    cursors: set[object] = set()
    seen_identities = {identity(item) for item in earlier_items}
    item_count, page_count, stale_count = len(earlier_items), 0, 0

    def check_cursor(cursor: object) -> str:
        if reason := _refusal(cursor, cursors) or _reason_to_stop(
            stale_count, page_count >= max_pages or item_count >= max_items
        ):
            items = "1 item" if item_count == 1 else f"{item_count} items"
            raise PaginationError(f"{reason}. Only {items} could be loaded.")
        cursors.add(cursor)
        return str(cursor)

    cursor = None if start is None else check_cursor(start)
    while True:
        items, next_cursor = await fetch(cursor)
        page_count += 1
        new_items: list[Item] = []
        for item in items:
            item_identity = identity(item)
            if item_identity is None or item_identity not in seen_identities:
                seen_identities.add(item_identity)
                new_items.append(item)
        yield new_items
        if next_cursor is None:
            return
        item_count += len(new_items)
        stale_count = 0 if new_items else stale_count + 1
        cursor = check_cursor(next_cursor)


def _refusal(cursor: object, used_cursors: set[object]) -> str:
    if not isinstance(cursor, str) or not 0 < len(cursor) <= MAX_CURSOR_LENGTH:
        return "The server sent an invalid cursor"
    return "The server sent the same part of the list twice" if cursor in used_cursors else ""


def _reason_to_stop(stale_count: int, is_long: bool) -> str:
    if stale_count >= MAX_STALE_PAGES:
        return "The server sent no new items"
    return "The list is too long" if is_long else ""
