"""Classes that declare the tables of Sites and Admin: the API operations of a kind of item, and the columns that show its
items. Also the lists from which form fields let the user choose. Start at `Resource`.

    REDIRECTS = Resource(
        "redirect", "redirects", redirects.List,
        create=redirects.Create, update=redirects.Update, delete=redirects.Delete, ids=id_argument("site_redirect_id"),
        title=lambda item: item.source, columns=(ResourceColumn("SOURCE", "source"), ...),
    )

`BrowserScreen` derives the table, the details, the forms and the confirmations from the declaration. A new kind of item
needs a declaration, but no new class.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from textual.content import Content

from octavo.api import collections, content, organizations, site_structure, sites, teams
from octavo.api.errors import ApiError
from octavo.api.folding import fold
from octavo.api.labels import heading_label, label
from octavo.api.operation import SPECS, Listing, Model, Operation, OrganizationRef, SiteRef
from octavo.api.text import Id
from octavo.data.queries import spaces_op
from octavo.tui.core.connection import MAX_ITEMS
from octavo.tui.core.shell import Shell
from octavo.tui.resources.form_values import FieldTexts
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.short_texts import AnyText, short_age

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.core.routes import Route

M = TypeVar("M", bound=Model)

Arguments: TypeAlias = Mapping[str, Any]
"""Arguments of operations by name: `at`, which says where the operation applies, and the IDs of the opened items."""
NameOf: TypeAlias = Callable[[str], str]
"""Function that gets the ID of an item, and returns the name of the item, or the ID if the name is not loaded."""
UndoFactory: TypeAlias = Callable[[Any], Sequence[Operation[Any]] | None]
"""Function that gets a sent operation and returns the operations that undo it, or None if there are none."""
NO_VALID_ID = "Could not open this item: the server did not send a valid ID."
_ID: TypeAdapter[str] = TypeAdapter(Id, config=ConfigDict(defer_build=True))
LabeledValues: TypeAlias = Sequence[tuple[str, AnyText]]
"""Lines for the details of an item: pairs of a label and a value."""
PAGE_SIZE = 1000
"""Maximum number of items that the API returns in one response."""


@dataclass(frozen=True)
class ResourceColumn(Generic[M]):
    """A column of a table. The type of a value decides how the cell shows it, for example a date as an age."""

    title: str
    value: str | Callable[[M], Any]
    """Dotted attribute of the item, such as `user.name`, or a function that returns the value."""
    width: int = 0
    """Width in cells. Columns with the width 0 share the space that is left."""
    drop_priority: int = 0
    """If the table is too narrow, columns with a higher priority are hidden first."""
    empty_text: str = ""
    """Text of the cell if the item has no value."""
    is_id: bool = False
    """True if the value is the ID of another item. The cell shows the name of that item."""
    is_code: bool = False
    """True if the value is a code of the API. The cell shows its label."""
    align_right: bool = False
    render: Callable[[Any], AnyText] | None = None
    """Returns the text of the cell for a value. The attribute is None if the type of the value decides."""
    is_shown: bool = True
    """False if the column is shown only after the user chose it."""

    @property
    def name(self) -> str:
        """Title of the column as it is written inside a sentence, for example `last seen`."""
        return heading_label(self.title)

    def value_of(self, item: M) -> Any:
        """Return the value of an item for this column. None if the item has none."""
        if callable(self.value):
            return self.value(item)
        try:
            return attrgetter(self.value)(item)
        except AttributeError:
            return None  # For example, the column is `user.name` and the item has no user.

    def cell(self, item: M, name_of: NameOf) -> AnyText:
        return self._render_value(self.value_of(item), name_of)

    def _label_of(self, value: Any, name_of: NameOf) -> str:
        return name_of(str(value)) if self.is_id else label(str(value)) if self.is_code else str(value)

    def _render_value(self, value: Any, name_of: NameOf) -> AnyText:
        if value is None or value == "":
            return Content.styled(self.empty_text, "$octavo-muted") if self.empty_text else ""
        if self.render is not None:
            return self.render(value)
        if isinstance(value, datetime):
            return Content.styled(short_age(value), "$octavo-muted")
        if isinstance(value, bool):
            return "✓" if value else ""
        if isinstance(value, tuple):
            return ", ".join(self._label_of(item, name_of) for item in value)
        return self._label_of(value, name_of)

    def _plain_text(self, value: Any, name_of: NameOf) -> str:
        text = self._render_value(value, name_of)
        return text if isinstance(text, str) else text.plain

    def search_text(self, item: M, name_of: NameOf) -> str:
        """Return the text in which the filter searches. Empty for numbers, dates and booleans."""
        value = self.value_of(item)
        return self._plain_text(value, name_of) if value is None or isinstance(value, str | tuple) else ""

    def sort_key(self, item: M, name_of: NameOf) -> str | float | None:
        """Return the value by which the table is sorted. None if the item has no value."""
        value = self.value_of(item)
        if value is None or value == "":
            return None
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return value
        return fold(self._plain_text(value, name_of))


@dataclass(frozen=True)
class Action(Generic[M]):
    """A command for one kind of item, such as “Publish” for a site."""

    name: str
    """Title of the command, for example `Publish`."""
    help: str
    """Sentence that explains the effect of the command."""
    operation: type[Operation[Any]]
    done_text: str = ""
    """End of the notification, after the title of the item, for example `was published`."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values of the operation's fields, in addition to `at` and the IDs."""
    undo_operation: type[Operation[Any]] | None = None
    undo_values: Mapping[str, Any] = field(default_factory=dict)
    disabled_reason: Callable[[M], str | None] = lambda item: None
    """Returns why the action is not possible for an item. None if it is possible."""
    permission: Callable[[M], str] = lambda item: ""
    """Returns the permission that the action needs. Empty if the permission to edit the item is enough."""
    run: Callable[[Shell, Any], None] | None = None
    """Runs the action for a `Selection`. None if the action sends its operation after a confirmation."""


@dataclass(frozen=True)
class TableCommand:
    """A command of a table that changes nothing, for example “Test a link”."""

    name: str
    """Title of the command."""
    run: Callable[[Shell, Any], None]
    """Runs the command for the table on screen, a `CurrentTable`."""
    operation: type[Operation[Any]]
    """Operation that the command needs. The command is disabled if the server does not have it."""


@dataclass(frozen=True)
class RequiredPermissions:
    """Permissions needed to create, update and delete items. If a permission is empty, only the server decides."""

    create: str = "admin"
    update: str = "admin"
    delete: str = "admin"
    on_item: bool = False
    """True if `update` and `delete` are permissions on the item itself. False if they are permissions on its parent."""
    parent_fields: Mapping[str, str] = field(default_factory=dict)
    """Permission needed in the space or collection that is chosen in a form field, by field: `{"parent": "create"}`."""
    allows_leaving: bool = False
    """True if users need no permission to remove themselves, for example from a team."""


def id_argument(id_field: str, key: str = "id") -> Callable[[Arguments, Any], Arguments]:
    """Return a function for `Resource.ids`. That function returns `{id_field: ID of the item}`. `key` is the dotted
    attribute that has the ID, such as `team.id`."""
    return lambda arguments, item: {id_field: attrgetter(key)(item)}


@dataclass(frozen=True)
class Resource(Generic[M]):
    """A kind of item in Sites or Admin, such as teams: its operations, the columns of its table, and its texts."""

    singular: str
    plural: str
    list: type[Operation[Any]]
    """Operation that lists the items. `items` gets the items from its response."""
    columns: tuple[ResourceColumn[M], ...]
    title: Callable[[M], str] = lambda item: _name_of(item) or str(getattr(item, "id", ""))
    """Returns the title of an item, for sentences and breadcrumbs."""
    ids: Callable[[Arguments, M], Arguments] = lambda arguments, item: {}
    """Returns the arguments for operations on an item and its children, such as `{"team_id": "t1"}`."""
    description: str = ""
    """Sentence that explains this kind of item to the user."""
    key: Callable[[M], str] = lambda item: str(getattr(item, "id", ""))
    """Returns a text that identifies an item in its list. By default its ID."""
    get: type[Operation[Any]] | None = None
    create: type[Operation[Any]] | None = None
    update: type[Operation[Any]] | None = None
    delete: type[Operation[Any]] | None = None
    page_size: int = PAGE_SIZE
    """Number of items that one request asks for. 0 if the operation has no limit."""
    items: Callable[[Any], Sequence[M]] = lambda response: tuple(response.items)
    """Returns the items in a response to `list`."""
    resolve_row: Callable[[M], tuple[Resource[Any], Any]] | None = None
    """Returns the resource and the item of a row. The attribute is None if all rows are items of this resource."""
    row_resources: Mapping[str, Resource[Any]] = field(default_factory=dict)
    """Kinds of the rows by name, if the list has items of several kinds. Empty otherwise."""
    add_item: Callable[[Shell, Any], None] | None = None
    """Asks which kind of item to create. Called with a `CurrentTable`. None if the list has only one kind of item."""
    route: Callable[[M], Route | None] = lambda item: None
    """Returns the route that enter opens for an item. None if enter shows the item's tables, a dialog or details."""
    lookups: tuple[type[Operation[Any]], ...] = ()
    """Operations whose responses name the IDs in the rows, or are needed by `derive_items` or `prepare_undo`."""
    more_lookups: Callable[[Sequence[M], Arguments, Mapping[type[Operation[Any]], Any]], Sequence[Operation[Any]]] = (
        lambda items, arguments, responses: ()
    )
    """Returns more operations that load names, given the items, the table arguments, and the responses to `lookups`."""
    children: tuple[Resource[Any], ...] = ()
    """Tables that enter shows for an item, such as the members of a team."""
    actions: tuple[Action[M], ...] = ()
    command: TableCommand | None = None
    """Command of the table, such as “Test a link”. It changes no items. None if there is none."""
    derive_items: Callable[[Sequence[M], Any, Mapping[type[Operation[Any]], Any]], Sequence[M]] | None = None
    """Returns the items with values that Octavo computes, given the items, their parent, and the responses to
    `lookups`. The attribute is None if nothing is computed."""
    unavailable_reason: Callable[[Any], str | None] = lambda parent: None
    """Returns why a parent cannot have items of this kind. None if the server must be asked."""
    permissions: RequiredPermissions = RequiredPermissions()
    details: Callable[[M], LabeledValues] = lambda item: ()
    """Returns lines for the top of an item's details, before its fields."""
    load_details: Callable[[Live, Arguments, M], Awaitable[LabeledValues]] | None = None
    """Loads more lines for the top of an item's details. Raises ApiError. None if there are no such lines."""
    status: Callable[[M], str] = lambda item: ""
    """Returns the status of an item, which is shown while the tables inside the item are open."""
    secret_fields: frozenset[str] = frozenset()
    """Fields whose values are neither shown in the details nor exported."""
    permission_source: Callable[[M], Any] = lambda item: item
    """Returns the object whose `permissions` apply to an item, such as the team of a member."""
    as_update: Callable[[M], Model] = lambda item: item
    """Returns the object whose fields the user edits in the form of `update`. By default the item itself."""
    reference_lists: Mapping[str, Any] = field(default_factory=dict)
    """Functions that return the choices of a form field, by field name. They replace or extend `_LISTS_BY_FIELD`."""
    required_argument: str = ""
    """Argument, such as `subdomain`, without which the table is hidden. Empty if the table is always shown."""
    delete_effects: Callable[[M], Sequence[str]] = lambda item: ()
    """Returns sentences that say what else the deletion of an item changes."""
    recreate: Callable[[Arguments, M], Operation[Any] | None] = lambda arguments, item: None
    """Returns the operation that creates a deleted item again. None if the deletion cannot be undone."""
    undo_update: Callable[[Any], Operation[Any]] = lambda operation: operation
    """Takes the operation `update` with the values before the edit. Returns the operation that undoes the edit."""
    prepare_undo: Callable[[Live, Arguments], UndoFactory] | None = None
    """Called before the form that creates an item opens. Returns a function that returns the operations to undo the
    creation, such as to restore the current roles. None if deleting the new item undoes the creation."""
    creation_notice: Callable[[Any, Any], str] | None = None
    """Returns the notification after a creation, given the operation and its response. The response is None if it was
    lost. The attribute is None for the usual notification."""
    after_write: Callable[[Shell, Arguments, Operation[Any], Any], Coroutine[Any, Any, None]] | None = None
    """Runs in the background after the form of a creation or action was sent. None if there is nothing to run."""
    read_only_reason: str = ""
    """Says where to make the changes that are not possible in this table. If empty, a general sentence is shown."""
    create_intro: str = ""
    """Text at the top of the form that creates an item. If empty, `description`."""
    open_dialog: Callable[[Shell, Arguments, M], None] | None = None
    """Opens a dialog on enter, for items without a `route`. None if enter shows tables inside the item, or details."""
    is_single: bool = False
    """True if there is at most one item. The server responds with 404 if there is no item."""
    empty_text: str = ""
    """Sentence in an empty table. If empty, a sentence such as “No teams.”"""
    create_title: str = ""
    """Title of the command that creates an item. If empty, a title such as “New team”."""
    delete_verbs: tuple[str, str] = ("delete", "deleted")
    """Verb for deleting an item, and its past participle: `delete` and `deleted`, or `remove` and `removed`."""
    container: str = ""
    """Noun for the parent from which an item is removed, such as `team`. Empty if messages do not name the parent."""
    required_fields: frozenset[str] = frozenset()
    """Form fields that the user must fill in to create an item, although the API does not require them."""
    url_of: Callable[[M], str | None] = lambda item: None
    """Returns the web URL of an item. None to use the URL in the field `urls` of the item."""

    @property
    def heading(self) -> str:
        """Title of the table, such as `Share links`."""
        return f"{self.plural[:1].upper()}{self.plural[1:]}"

    @property
    def delete_label(self) -> str:
        """Label of the button that deletes items, such as `Delete` or `Remove`."""
        return self.delete_verbs[0].partition(" ")[0].capitalize()

    @property
    def create_label(self) -> str:
        """Title of the command that creates an item."""
        return self.create_title or f"New {self.singular}"

    @property
    def create_verbs(self) -> tuple[str, str]:
        """Label of the button that creates an item, and its past participle, such as `Add` and `Added`."""
        return ("Add", "Added") if self.create_title.startswith("Add") else ("Create", "Created")

    def item_of(self, row: Any) -> tuple[Resource[Any], Any]:
        """Return the `Resource` and the item that a row of the table stands for."""
        return (self, row) if self.resolve_row is None else self.resolve_row(row)

    @property
    def name(self) -> str:
        """Name of the list operation, for example `teams.ListMembers`. Two tables may have the same name."""
        return SPECS[self.list].name

    def list_operation(self, arguments: Arguments) -> Operation[Any]:
        """Return the operation that lists the items of the open parent, which `arguments` identify."""
        return build_operation(self.list, {**arguments, **_limit_argument(self.list, self.page_size)})

    def is_available(self, arguments: Arguments) -> bool:
        """Return True if `arguments` has a valid value for everything that the list operation needs."""
        if self.required_argument and self.required_argument not in arguments:
            return False
        try:
            self.list_operation(arguments)
        except ValidationError:
            return False
        return True

    def recreate_operation(self, arguments: Arguments, item: M) -> Operation[Any] | None:
        """Return the operation that creates a deleted item again. None if the deletion cannot be undone."""
        try:
            return self.recreate(arguments, item)
        except ValidationError:
            return None

    def has_valid_ids(self, arguments: Arguments, item: M) -> bool:
        """Return True if the server sent valid IDs for an item. Every operation on the item needs valid IDs."""
        try:
            values = self.ids(arguments, item).values()
            for value in values:
                if isinstance(value, str):
                    _ID.validate_python(value)
        except (AttributeError, ValidationError):
            return False
        return all(values)

    def arguments_for(self, arguments: Arguments, item: M) -> Arguments:
        """Return the arguments of the table and of one item, for operations on the item and its children."""
        return {**arguments, **self.ids(arguments, item)}


def build_operation(operation: type[Operation[Any]], arguments: Arguments) -> Operation[Any]:
    """Return an instance of the class `operation`. Only `arguments` that are fields of the class are used."""
    return operation(**{name: value for name, value in arguments.items() if name in operation.model_fields})


def build_largest_list_operation(operation: type[Operation[Any]], arguments: Arguments) -> Operation[Any]:
    """Return a list operation that asks for as many items at a time as the API allows."""
    return build_operation(operation, {**arguments, **_limit_argument(operation, PAGE_SIZE)})


def _limit_argument(operation: type[Operation[Any]], page_size: int) -> Arguments:
    return {"limit": page_size} if page_size and issubclass(operation, Listing) else {}


def _name_of(item: Any) -> str:
    objects = (item, *(getattr(item, each, None) for each in ("space", "team", "user")))
    values = (getattr(each, name, "") for each in objects for name in ("title", "name", "label"))
    return str(next(filter(None, values), ""))


def names_by_id(response: Any) -> dict[str, str]:
    """Return the names of all objects in a response by ID, including nested objects."""
    names: dict[str, str] = {}
    unread_values: list[Any] = [response]
    while unread_values:
        value = unread_values.pop()
        if isinstance(value, Model):
            if (item_id := getattr(value, "id", "")) and (name := _name_of(value)):
                names.setdefault(item_id, name)
            unread_values += [each for _, each in value]
        elif isinstance(value, tuple):
            unread_values += value
    return names


@dataclass(frozen=True)
class LoadedChoices:
    """The choices that are loaded so far for a form field."""

    choices: Sequence[Choice[str]]
    is_complete: bool = True
    error: ApiError | None = None
    """Error that stopped the loading. None if everything was loaded without an error."""

    @property
    def title_suffix(self) -> str:
        """End of the picker's title, such as ` · first 500 shown`. Empty if all choices are loaded."""
        return "" if self.is_complete else f" · first {len(self.choices)} shown"


@dataclass(frozen=True)
class ReferenceList:
    """A list of items from which a form field lets the user choose, such as the members of the organization."""

    operation: Operation[Any] | Callable[[FieldTexts], Operation[Any] | None]
    """Operation that lists the items. If the list depends on other fields of the form, a function. It gets the texts of
    the form, and returns None until these fields are filled in."""
    choice_of: Callable[[Any], Choice[str]]
    """Returns an item as a choice with its ID and its label."""
    items_in: Callable[[Any], Iterable[Any]] = lambda response: response.items
    search_operation: Callable[[str], Operation[Any]] | None = None
    """Returns the operation that searches the items for a text. None if the server cannot search them."""
    blocked_message: str = "Fill in the fields above first."
    """Sentence that says which fields the user must fill in first."""

    def list_operation(self, texts: FieldTexts) -> Operation[Any] | None:
        """Return the operation that lists the items. None if the user must fill in other fields first."""
        return self.operation if isinstance(self.operation, Operation) else self.operation(texts)

    def loaded_choices(self, shell: Shell, texts: FieldTexts) -> Sequence[Choice[str]]:
        """Return the choices that are cached. Empty if no choices are cached."""
        op = self.list_operation(texts)
        value = shell.session.live.peek(op).value if op is not None else None
        return [self.choice_of(item) for item in self.items_in(value)] if value is not None else ()

    async def load(self, shell: Shell, op: Operation[Any]) -> LoadedChoices:
        """Load at most `MAX_ITEMS` choices with `op`. Raises ApiError for page 1, and returns errors of later pages."""
        live = shell.session.live
        value, error = await live.fetch(op), None
        if isinstance(op, Listing):
            await live.fetch_pages(op, MAX_ITEMS)
            snapshot = live.peek(op)
            value, error = snapshot.value or value, snapshot.error
        choices = [self.choice_of(item) for item in self.items_in(value)]
        return LoadedChoices(choices, getattr(value, "next", None) is None, error)


ListFactory = Callable[[Shell, Arguments], ReferenceList]


def _organization(shell: Shell) -> OrganizationRef:
    organization = shell.workspace.organization
    assert organization is not None, "a form must belong to an organization"
    return OrganizationRef(organization_id=organization.id)


def _site(arguments: Arguments) -> SiteRef:
    at: SiteRef = arguments["at"]
    return at


def _choice(item: Any) -> Choice[str]:
    space = getattr(item, "space", None)
    return Choice(item.id, item.title or getattr(space, "title", "") or item.id, getattr(item, "path", "") or "")


def member_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    """Return the list of the organization's members, from which a form field lets the user choose."""
    return ReferenceList(
        organizations.ListMembers(at=_organization(shell), limit=PAGE_SIZE),
        lambda item: Choice(item.user.id, item.user.name, item.user.email or ""),
        search_operation=lambda query: organizations.ListMembers(at=_organization(shell), search=query, limit=100),
    )


def _space_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(spaces_op(_organization(shell).organization_id), _choice)


def _list_in_organization(operation: type[Operation[Any]]) -> ListFactory:
    return lambda shell, arguments: ReferenceList(
        build_largest_list_operation(operation, {"at": _organization(shell)}), _choice
    )


def _list_in_site(operation: type[Operation[Any]]) -> ListFactory:
    return lambda shell, arguments: ReferenceList(
        build_largest_list_operation(operation, {"at": _site(arguments)}), _choice
    )


_team_list = _list_in_organization(teams.List)
_collection_list = _list_in_organization(collections.List)
_site_list = _list_in_organization(sites.List)
_section_list = _list_in_site(site_structure.ListSections)
_site_space_list = _list_in_site(site_structure.ListSiteSpaces)
group_list = _list_in_site(site_structure.ListGroups)
"""Returns the list of a site's section groups, for a form field in which the user chooses a group."""


def _page_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    def list_pages(texts: FieldTexts) -> Operation[Any] | None:
        space_id = texts.get("destination.site_space_id")
        response = shell.session.live.peek(site_structure.ListSiteSpaces(at=_site(arguments), limit=PAGE_SIZE)).value
        site_space = next(
            (item for item in (response.items if response is not None else ()) if item.id == space_id), None
        )
        return (
            content.ListPages(at=site_space.space.ref)
            if site_space is not None and site_space.space is not None
            else None
        )

    return ReferenceList(
        list_pages,
        lambda page: Choice(page.id, page.title or page.path or page.id, page.path or ""),
        items_in=lambda tree: [page for page in tree.walk() if page.type == "document"],
        blocked_message="First choose the space that contains the page.",
    )


_LISTS_BY_FIELD: Mapping[str, ListFactory] = {
    "user_id": member_list,
    "users": member_list,
    "members": member_list,
    "teams": _team_list,
    "default_team": _team_list,
    "space": _space_list,
    "space_id": _space_list,
    "spaces": _space_list,
    "source.space": _space_list,
    "collection": _collection_list,
    "parent": _collection_list,
    "default_content.site": _site_list,
    "sections": _section_list,
    "section_id": _section_list,
    "default_site_section": _section_list,
    "destination.site_section_id": _section_list,
    "default_site_space": _site_space_list,
    "destination.site_space_id": _site_space_list,
    "destination.page_id": _page_list,
}
"""Functions that return the list from which a form field lets the user choose, by field name."""


def loaded_items(
    shell: Shell, arguments: Arguments, extra_lists: Mapping[str, ListFactory], name: str
) -> list[Any] | None:
    """Return the loaded items from which the form field `name` lets the user choose. None if they are not loaded.
    `extra_lists` may replace the usual list of the field."""
    reference_list = {**_LISTS_BY_FIELD, **extra_lists}[name](shell, arguments)
    op = reference_list.list_operation({})
    response = None if op is None else shell.session.live.peek(op).value
    return None if response is None else list(reference_list.items_in(response))


def reference_lists(
    shell: Shell, arguments: Arguments, extra_lists: Mapping[str, ListFactory]
) -> dict[str, ReferenceList]:
    """Return the lists that form fields offer as choices, by field name. `extra_lists` adds or replaces lists. Unless
    `arguments` are for a site, lists of the parts of a site are left out."""
    is_in_site = isinstance(arguments.get("at"), SiteRef)
    site_lists = {_section_list, _site_space_list, _page_list, group_list}
    return {
        name: make_list(shell, arguments)
        for name, make_list in {**_LISTS_BY_FIELD, **extra_lists}.items()
        if is_in_site or make_list not in site_lists
    }
