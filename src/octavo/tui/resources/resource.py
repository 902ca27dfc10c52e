"""What kinds of things the platform has, as values: the operations that reach them, and how they are shown. Pure.

    REDIRECTS = Resource(
        "redirect", "redirects", redirects.List,
        create=redirects.Create, update=redirects.Update, delete=redirects.Delete, named=by("site_redirect_id"),
        title=lambda each: each.source, columns=(Column("SOURCE", "source"), ...),
    )

The browser makes a table, details, a form and a confirmation of it. To add a kind is to declare one, and no class.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from textual.content import Content

from octavo.api.folding import fold
from octavo.api.labels import heading_label, label
from octavo.api.operation import SPECS, Listing, Model, Operation
from octavo.api.text import Id
from octavo.tui.widgets.safe_text import AnyText
from octavo.tui.widgets.wording import short_age

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.shell.routes import Route
    from octavo.tui.shell.shell import Shell

M = TypeVar("M", bound=Model)

Known: TypeAlias = Mapping[str, Any]
"""What is known of where one is: the place, `at`, and the ids of what one went through, by the fields of operations."""
Names: TypeAlias = Callable[[str], str]
"""What something is called that is known by its id. The id itself where that is not known."""
Unmaking: TypeAlias = Callable[[Any], Sequence[Operation[Any]] | None]
"""What takes back what an operation did. None: that cannot be said."""
UNNAMED = "Could not open this item: the server did not send a valid ID."
_ID: TypeAdapter[str] = TypeAdapter(Id, config=ConfigDict(defer_build=True))
Facts: TypeAlias = Sequence[tuple[str, AnyText]]
"""What is told of something: what each is called, and it."""
AT_ONCE = 1000
"""Items on a page: as many as the interface allows (2.5)."""


@dataclass(frozen=True)
class Column(Generic[M]):
    """One column of a table. How a value is written follows from what it is."""

    title: str
    value: str | Callable[[M], Any]
    """The field, `user.name` where it lies deeper; or what makes it of the thing."""
    width: int = 0
    """In cells; 0: a share of what is left."""
    drop: int = 0
    """Those with the highest go first where there is little room."""
    none: str = ""
    """What is written where there is no value."""
    is_id: bool = False
    """The value is the id of something else, and its name is shown."""
    coded: bool = False
    """The value is a code of the API, and its label is shown (`api/labels.py`)."""
    right: bool = False
    draw: Callable[[Any], AnyText] | None = None
    """How a value is written, where that does not follow from what it is."""
    shown: bool = True
    """Whether it is there before anybody chose columns."""

    @cached_property
    def _get(self) -> Callable[[M], Any]:
        return attrgetter(str(self.value))

    @property
    def name(self) -> str:
        """The title as it is written in a sentence, and beside the value of one thing: `last seen`."""
        return heading_label(self.title)

    def of(self, thing: M) -> Any:
        """The value, None where there is none."""
        if callable(self.value):
            return self.value(thing)
        try:
            return self._get(thing)
        except AttributeError:
            return None  # what it lies in is not there

    def cell(self, thing: M, names: Names) -> AnyText:
        """What stands in the table."""
        return self._written(self.of(thing), names)

    def _text(self, value: Any, names: Names) -> str:
        """Return an id as its name, and a code as its label."""
        return names(str(value)) if self.is_id else label(str(value)) if self.coded else str(value)

    def _written(self, value: Any, names: Names) -> AnyText:
        if value is None or value == "":
            return Content.styled(self.none, "$octavo-muted") if self.none else ""
        if self.draw is not None:
            return self.draw(value)
        if isinstance(value, datetime):
            return Content.styled(short_age(value), "$octavo-muted")
        if isinstance(value, bool):
            return "✓" if value else ""
        if isinstance(value, tuple):
            return ", ".join(self._text(each, names) for each in value)
        return self._text(value, names)

    def words(self, thing: M, names: Names) -> str:
        """Return the text that a filter searches: names, labels and words, but no numbers and ages."""
        value = self.of(thing)
        if isinstance(value, str):
            return self._text(value, names)
        if isinstance(value, tuple):
            return " ".join(self._text(each, names) for each in value)
        return self.none if value is None else ""

    def key(self, thing: M, names: Names) -> str | float | None:
        """By what it is sorted. None: it has no value, and comes last."""
        value = self.of(thing)
        if value is None or value == "":
            return None
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return value
        words = self._written(value, names)
        return fold(words if isinstance(words, str) else words.plain)


@dataclass(frozen=True)
class Action(Generic[M]):
    """Something else that is done with a thing: publish a site, let a member sign on through the provider."""

    name: str
    """What it does, as a command: `Publish`."""
    help: str
    """What that means for others, in a sentence."""
    operation: type[Operation[Any]]
    done: str = ""
    """What is said of it then, behind its name: `was published`."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the operation beside the place and ids."""
    back: type[Operation[Any]] | None = None
    """What undoes it."""
    back_values: Mapping[str, Any] = field(default_factory=dict)
    why_not: Callable[[M], str | None] = lambda thing: None
    """Why it cannot be done with this one, in a sentence."""
    right: Callable[[M], str] = lambda thing: ""
    """What it takes, where that is not what it takes to change one: the name of a right."""
    ask: Callable[[Shell, Any], None] | None = None
    """Does it with what is at hand (`acting.AtHand`), where that takes more than to ask in a sentence and to send it."""


@dataclass(frozen=True)
class Question:
    """What can be asked where things are, beside what the table of them says."""

    name: str
    """What that is called, as a command: `Test a link`."""
    ask: Callable[[Shell, Any], None]
    """Asks it at an `acting.Place`."""
    operation: type[Operation[Any]]
    """What answers it."""


@dataclass(frozen=True)
class Rights:
    """What it takes to write: names of rights, as the place says them. Empty: the server says when one asks it."""

    create: str = "admin"
    change: str = "admin"
    delete: str = "admin"
    of_thing: bool = False
    """To change and delete take rights on the thing itself, and not on the place it is in."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Its fields that name a space or collection, with the right that is enough there to make one of it. What is of one
    takes rights on that, and not on the place it is listed in."""
    one_leaves: bool = False
    """Whoever it is about may delete it without: they leave."""


def by(id_field: str, key: str = "id") -> Callable[[Known, Any], Known]:
    """A thing is named to operations by one of its fields."""
    return lambda known, thing: {id_field: attrgetter(key)(thing)}


def _items(answer: Any) -> Sequence[Any]:
    return tuple(answer.items)


def _no_more(known: Known, thing: Any) -> Operation[Any] | None:
    return None


def _asks_nothing(
    things: Sequence[Any], known: Known, answers: Mapping[type[Operation[Any]], Any]
) -> Sequence[Operation[Any]]:
    return ()


@dataclass(frozen=True)
class Resource(Generic[M]):
    """A kind of thing: what it is called, the operations that reach it, what is shown of it."""

    one: str
    many: str
    list: type[Operation[Any]]
    """Answers all of them at a place. It need not be a list: `items` finds them in its answer."""
    columns: tuple[Column[M], ...]
    title: Callable[[M], str]
    """What one of them is called: in sentences, in breadcrumbs, and to delete it."""
    named: Callable[[Known, M], Known] = lambda known, thing: {}
    """What names one of them to the operations about it, and what is below it."""
    about: str = ""
    """What they are, in a sentence."""
    key: Callable[[M], str] = lambda thing: str(getattr(thing, "id", ""))
    """What tells one from the others in the list."""
    get: type[Operation[Any]] | None = None
    create: type[Operation[Any]] | None = None
    update: type[Operation[Any]] | None = None
    delete: type[Operation[Any]] | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What the list is asked with beside the place."""
    page: int = AT_ONCE
    """How many are asked for at once. 0: the server is not told."""
    items: Callable[[Any], Sequence[M]] = _items
    """The things in the answer of `list`."""
    sorted_by: str = ""
    """The title of the column they are sorted by at first. Empty: as the server lists them."""
    of_kinds: Callable[[M], tuple[Resource[Any], Any]] | None = None
    """What kind one of them is of, and that thing itself, where things of several kinds stand below one another. They stay in
    the order of the server."""
    parts: Mapping[str, Resource[Any]] = field(default_factory=dict)
    """Those kinds, by what they are called among one another."""
    add: Callable[[Shell, Any], None] | None = None
    """Asks what is to be made at an `acting.Place`, where that may be things of several kinds."""
    opens: Callable[[M], Route | None] = lambda thing: None
    """Where enter leads from one of them, if that is out of the tables."""
    lookups: tuple[type[Operation[Any]], ...] = ()
    """What tells the names of the ids in them."""
    also_named: Callable[[Sequence[M], Known, Mapping[type[Operation[Any]], Any]], Sequence[Operation[Any]]] = (
        _asks_nothing
    )
    """What else does, once they and the answers of `lookups` are there."""
    children: tuple[Resource[Any], ...] = ()
    """What is in one of them."""
    actions: tuple[Action[M], ...] = ()
    ask: Question | None = None
    """What can be asked where they are."""
    beside: Callable[[Sequence[M], Any, Mapping[type[Operation[Any]], Any]], Sequence[M]] | None = None
    """They with what follows of all of them, of what they are in, and of the answers of `lookups` there are by now."""
    absent: Callable[[Any], str | None] = lambda inside: None
    """Why there are none in something, in a sentence, before anybody is asked."""
    rights: Rights = Rights()
    details: Callable[[M], Facts] = lambda thing: ()
    """What is to be told of one beside its fields, first."""
    told: Callable[[Live, Known, M], Awaitable[Facts]] | None = None
    """What is to be told before that, once the cursor rests on one, and has to be asked for. Raises ApiError."""
    state: Callable[[M], str] = lambda thing: ""
    """How one stands, in a few words, where what is in it is on show."""
    secrets: frozenset[str] = frozenset()
    """Fields whose values are not shown until somebody asks for them, and are never exported."""
    holder: Callable[[M], Any] = lambda thing: thing
    """What of one says what one may do with it, and with what is in it."""
    written: Callable[[M], Model] = lambda thing: thing
    """One of them under the names of `update`, where it has others."""
    references: Mapping[str, Any] = field(default_factory=dict)
    """What can be picked for fields of its requests that mean something else than in others (`references.py`)."""
    needs: str = ""
    """What must be known of where one is for it to be there at all."""
    hangs_on: Callable[[M], Sequence[str]] = lambda thing: ()
    """What goes with one of them that is deleted: sentences."""
    again: Callable[[Known, M], Operation[Any] | None] = _no_more
    """What makes one again that was deleted, just as it was. None: it cannot be taken back."""
    unmaking: Callable[[Live, Known], Unmaking] | None = None
    """Asked before something is made, where that is not taken back by deleting one: says what takes back what was sent."""
    said_new: Callable[[Any, Any], str] | None = None
    """What `create` and its answer come to, in sentences, where that is not that one is there. The answer is None where it was lost."""
    afterwards: Callable[[Shell, Known, Operation[Any], Any], Coroutine[Any, Any, None]] | None = None
    """What is done when one was made, or asked for by an action, with what was sent and its answer."""
    elsewhere: str = ""
    """Where they are created, changed or deleted, in a sentence, where that is not here."""
    making: str = ""
    """What it means to make one, in a sentence, where `about` does not say it."""
    shows: Callable[[Shell, Known, M], None] | None = None
    """What enter shows of one over the list, where there is nothing to go into."""
    single: bool = False
    """Whether there is one at most, and the server says 404 where there is none."""
    none: str = ""
    """What is said where there are none. Empty: that there are none of them."""
    new: str = ""
    """What making one is called. Empty: `New` and what it is."""
    verbs: tuple[str, str] = ("delete", "deleted")
    """The verb of deleting and its past participle, both to go on with a title: `remove`, `removed`."""
    out_of: str = ""
    """What deleting one takes it out of, where it exists elsewhere too: `team`."""
    required: frozenset[str] = frozenset()
    """Fields that a form must have filled in to create one, although the API does not require them."""
    address: Callable[[M], str | None] = lambda thing: None
    """Where it is found, where its `urls` do not say."""
    count: Callable[[Any], int | None] = lambda parent: None
    """How many there are, as far as what they are in says it."""

    @property
    def heading(self) -> str:
        """What they are called where a line begins with it."""
        return f"{self.many[:1].upper()}{self.many[1:]}"

    @property
    def verb(self) -> str:
        """The verb of deleting, as a button has it."""
        return self.verbs[0].partition(" ")[0].capitalize()

    @property
    def called_new(self) -> str:
        """What creating one is called."""
        return self.new or f"New {self.one}"

    def itself(self, row: Any) -> tuple[Resource[Any], Any]:
        """The kind of what stands in a row, and that."""
        return (self, row) if self.of_kinds is None else self.of_kinds(row)

    @property
    def name(self) -> str:
        """What tells the kind from others that are called the same: `teams.ListMembers`."""
        return SPECS[self.list].name

    def list_op(self, known: Known) -> Operation[Any]:
        """What lists them where one is."""
        return made(self.list, {**known, **_limit(self.list, self.page), **self.asked})

    def is_there(self, known: Known) -> bool:
        """Whether what it needs is known where one is, and is something one can ask with: what a server says need not be."""
        if self.needs and self.needs not in known:
            return False
        try:
            self.list_op(known)
        except ValidationError:
            return False
        return True

    def as_it_was(self, known: Known, thing: M) -> Operation[Any] | None:
        """What makes one again that was deleted. None: it cannot be taken back, or not as the server said it was."""
        try:
            return self.again(known, thing)
        except ValidationError:
            return None

    def is_named(self, known: Known, thing: M) -> bool:
        """Whether the server says what names it, and one can ask with that."""
        try:
            named = self.named(known, thing).values()
            for name in named:
                if isinstance(name, str):
                    _ID.validate_python(name)
        except (AttributeError, ValidationError):
            return False  # what it lies in is not there, or is called as no request can say it
        return all(named)

    def known_of(self, known: Known, thing: M) -> Known:
        """What is known inside one of them."""
        return {**known, **self.named(known, thing)}


def made(operation: type[Operation[Any]], known: Known) -> Operation[Any]:
    """An operation with what it needs of what is known."""
    return operation(**{name: value for name, value in known.items() if name in operation.model_fields})


def listed(operation: type[Operation[Any]], known: Known) -> Operation[Any]:
    """An operation that lists all there are of something, as far as one answer tells."""
    return made(operation, {**known, **_limit(operation, AT_ONCE)})


def _limit(operation: type[Operation[Any]], page: int) -> Known:
    return {"limit": page} if page and issubclass(operation, Listing) else {}


def names_in(answer: Any) -> dict[str, str]:
    """What the things in an answer are called, by their ids, however deep they lie."""
    found: dict[str, str] = {}
    waiting: list[Any] = [answer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Model):
            named = (getattr(value, name, "") for name in ("title", "name", "label"))
            title = next(filter(None, named), "") or getattr(getattr(value, "space", None), "title", "")
            if (name := getattr(value, "id", "")) and title:
                found.setdefault(name, str(title))
            waiting += [each for _, each in value]
        elif isinstance(value, tuple):
            waiting += value
    return found
