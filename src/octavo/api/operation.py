"""One concept: an operation is a frozen value that says what to ask of the interface.

    class Merge(InChangeRequest, Operation[MergeResult], post="/merge", success=200):
        \"""Merge into the primary content of the space.\"""

    await client(Merge(at=change_request))

The client sends it, the embedded platform handles it, the cache is keyed by it. Its fields are its
arguments under the names of the interface, in snake_case. Only `at` is ours: the `Ref` of the place the
operation happens at, whose path comes before its own. A path that starts with `{content}` is filed under
the content of its place. How an operation travels is the business of `octavo.api.wire`.
"""

import inspect
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from octavo.api.text import Number, SafeLine

T = TypeVar("T")
M = TypeVar("M", bound="Model")


@cache
def camel(name: str) -> str:
    """The wire name of a field, unless its declaration says otherwise."""
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
    """Anything on the wire: camelCase outside, snake_case inside, immutable everywhere.

    Unknown fields are left out, so that newer servers can be read. Schemas are built on first use. Modules of models
    do without postponed annotations: each would be compiled and evaluated when its class is made, which takes long.
    """

    model_config = _SETTINGS
    unreadable: ClassVar[int] = 0
    """How much of an answer could not be read and is left out of it."""


class Tagged(Model):
    """A member of a union that is told apart by its `Literal` field, which travels although nobody set it."""

    def model_post_init(self, context: Any, /) -> None:
        fields = type(self).model_fields.items()
        self.__pydantic_fields_set__.add(
            next(name for name, field in fields if get_origin(field.annotation) is Literal)
        )


class Next(Model):
    """How to ask for the page that follows. With an empty `page` there is one, and no way to ask for it."""

    page: str = Field(max_length=4096)


def _following(value: Any) -> Any:
    """A list that goes on in a way that cannot be read has not come to its end."""
    page = value.get("page") if isinstance(value, dict) else None
    readable = value is None or isinstance(value, Next) or (isinstance(page, str) and len(page) <= 4096)
    return value if readable else Next(page="")


class BrokenLinks(Model):
    """How many links lead nowhere, and how many of these a change request broke."""

    total: Number = 0
    change_request: Number | None = None


class LinkStats(Model):
    """How many links there are."""

    total: Number = 0
    broken: BrokenLinks = Field(default_factory=BrokenLinks)


class ListPage(Model, Generic[T]):
    """One page of a list (2.5). The end of the list is a page without `next`, never an empty page."""

    items: tuple[T, ...]
    next: Annotated[Next | None, BeforeValidator(_following)] = None
    count: Number | None = None
    stats: LinkStats | None = None
    """What the whole list comes to. Only lists of links say it (4.13)."""

    def without(self, item_id: str) -> Self:
        """The same page without the item called `item_id`."""
        return self._with(item for item in self.items if _id(item) != item_id)

    def before(self, item: T) -> Self:
        """The same page with `item` in front."""
        return self._with((item, *self.items))

    def _with(self, items: Any) -> Self:
        return self.model_copy(update={"items": tuple(items)})


def _id(item: Any) -> Any:
    return getattr(item, "id", None)


class Ref(Model):
    """The place of a resource that others live in. Its fields fill its path."""

    path: ClassVar[str] = ""
    content: ClassVar[str] = ""
    """What stands between this path and the paths of its content."""

    def __init_subclass__(cls, *, path: str, content: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.path, cls.content = path, content


class Operation(BaseModel, Generic[T]):
    """A request whose answer is a `T`."""

    model_config = _SETTINGS

    if not TYPE_CHECKING:

        def __class_getitem__(cls, answer: Any) -> GenericAlias:
            # What it answers is a note for `Spec.answer`: a model of its own for each answer would take long to make.
            return GenericAlias(cls, (answer,))

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
        again: bool = False,
        **options: Any,
    ) -> None:
        """Declare the method and the path; `success` where it is not 200 (201 for POST, 204 for DELETE).

        `query` names the fields that travel in the query of a request that also has a body, `nullable` those of a
        body for which null means something: others are left out, or have a value. `again`: the request is that of
        another operation, and only what is made of the answer differs.
        """
        super().__init_subclass__(**options)

    @classmethod
    def __pydantic_init_subclass__(
        cls,
        *,
        success: int = 0,
        query: tuple[str, ...] = (),
        nullable: tuple[str, ...] = (),
        again: bool = False,
        **route: str,
    ) -> None:
        for method, path in route.items():
            verb = method.upper()
            usual = {"POST": 201, "DELETE": 204}.get(verb, 200)
            SPECS[cls] = Spec(cls, verb, path, success or usual, query, nullable, again)


class Listing(Operation[ListPage[T]], Generic[T]):
    """An operation that answers one page of a list at a time."""

    page: str | None = None
    limit: int | None = Field(None, ge=0, le=1000)


@dataclass(frozen=True)
class Spec:
    """What an operation class declares about itself."""

    operation: type[Operation[Any]]
    method: str
    path: str
    success: int
    query: tuple[str, ...]
    nullable: tuple[str, ...] = ()
    again: bool = False
    """Whether another operation has the same request: this one is none of the interface, and its answer is never kept."""

    @property
    def name(self) -> str:
        """`comments.List`: the module and the class, as the command line has it."""
        return f"{self.operation.__module__.rpartition('.')[2]}.{self.operation.__name__}"

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return inspect.getdoc(self.operation).split("\n")[0]  # type: ignore[union-attr]  # a test holds it has one

    @property
    def changes(self) -> bool:
        """Whether it says what is to be different from now on. One that says nothing of that is not sent."""
        return self.operation.__name__.startswith(("Update", "Move"))

    @cached_property
    def places(self) -> tuple[type[Ref], ...]:
        """The kinds of `at` it accepts. None for an operation that happens nowhere in particular."""
        field = self.operation.model_fields.get("at")
        if field is None:
            return ()
        return get_args(field.annotation) or (field.annotation,)

    @cached_property
    def answer(self) -> Any:
        """The `T` of `Operation[T]`."""
        for base in self.operation.__dict__.get("__orig_bases__", ()):
            kinds = get_args(base)
            if get_origin(base) is Listing:
                return ListPage[kinds]  # type: ignore[valid-type]  # built from what the class says
            if get_origin(base) is Operation:
                return kinds[0]
        raise TypeError(f"{self.name} does not say what it answers")

    @cached_property
    def codec(self) -> TypeAdapter[Any]:
        """The answer, to JSON and back."""
        return TypeAdapter(self.answer)


def read(codec: TypeAdapter[T], body: bytes) -> T:
    """The answer that `body` is, without what cannot be read of it. Raises ValueError when that is all."""
    try:
        return codec.validate_json(body)
    except ValidationError as wrong:
        from octavo.api.reading import read_in_part  # few servers make it necessary

        return read_in_part(codec, body, wrong)


SPECS: dict[type[Operation[Any]], Spec] = {}
"""Every operation whose area was imported, in the order of declaration. `load()` imports them all."""

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
"""The modules of this package that declare operations. They are imported when they are used."""


def load() -> dict[type[Operation[Any]], Spec]:
    """Every operation of the interface, by class."""
    for area in AREAS:
        import_module(f"octavo.api.{area}")
    return {kind: spec for kind, spec in SPECS.items() if not spec.again}


class Urls(Model):
    """Addresses of a resource, absolute. Never followed by the client (C10)."""

    location: SafeLine | None = None
    app: SafeLine | None = None
    published: SafeLine | None = None
    public: SafeLine | None = None
    icon: SafeLine | None = None
    logo: SafeLine | None = None
