"""Sends every operation of the API once, with valid values, in an order that works.

The walk first creates what an operation needs: a comment is written before a comment is deleted. The caller decides how
operations are sent, and receives the result of each operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from octavo.api import spaces
from octavo.api.operation import OrganizationRef, load
from octavo.api.wire import Route, routes
from octavo.server import handlers
from octavo.server.app import run_operation
from octavo.server.handlers.spaces import add_edit_revision, get_current, new_page, set_current
from octavo.server.rest import RequestContext, iso
from octavo.server.store import Json, Store
from tests.server.small_platform import START, Clock, small_context

SPACE = "/v1/spaces/{spaceId}"
CHANGE_REQUEST = f"{SPACE}/change-requests/{{changeRequestId}}"
COLLECTION = "/v1/collections/{collectionId}"
ORGANIZATION = "/v1/orgs/{organizationId}"
SITE = f"{ORGANIZATION}/sites/{{siteId}}"

SPEC = '{"openapi": "3.1.0", "info": {"title": "Tides", "version": "1"}, "paths": {}}'
CLAIMS = {
    "type": "object",
    "properties": {
        "beta": {"type": "boolean", "description": "Tries things early."},
        "unsigned": {
            "type": "object",
            "description": "Unsigned claims of the site visitor.",
            "properties": {"dark": {"type": "boolean", "description": "Likes it dark."}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def full_context(clock: Clock, store: Store | None = None) -> RequestContext:
    """Return the context of a platform with a second organization of ada, and a space `docs` with all kinds of content."""
    context = small_context(clock, store)
    north = {"id": "north", "title": "North", "createdAt": iso(START), "type": "business", "plan": "pro"}
    context.store.put("/orgs/north", north)
    context.store.put("/orgs/north/members/ada", {"id": "ada", "role": "admin", "joinedAt": iso(START)})
    context.store.update("/orgs/acme", emailDomains=["acme.example"], hostname="acme")
    context = context.for_user("ada")
    handlers.load()
    with context.store.transaction():
        made = run_operation(spaces.Create(at=OrganizationRef(organization_id="acme"), title="Docs"), context)
        pages = [
            new_page(context, "Tides", "# Tides\n\nHigh and [low](https://sea.example/low)."),
            _nested(context),
        ]
        shared = {"id": "shared", "title": "Shared", "text": context.store.put_blob("Mind the gap.")}
        file = {
            "id": "chart",
            "name": "chart.png",
            "contentType": "image/png",
            "size": 5,
            "blob": context.store.put_blob(b"chart"),
        }
        revision = add_edit_revision(
            context, get_current(context, made["id"]), pages=pages, files=[file], reusableContents=[shared]
        )
        set_current(context, made["id"], revision)
        context.store.update(
            f"/spaces/{made['id']}", gitSync={"repoName": "acme/docs", "url": "https://git.example/acme"}
        )
    return context


def _nested(context: RequestContext) -> Json:
    child = new_page(context, "Springs", "Very high, see ![chart](/files/chart) and [tides](../tides.md).")
    return {"id": context.new_id(), "type": "group", "title": "More", "slug": "more", "pages": [child]}


@dataclass(frozen=True)
class OperationResult:
    """The result of an operation."""

    route: Route
    values: Json
    status: int
    answer: Any

    @property
    def is_as_declared(self) -> bool:
        return self.status == self.route.spec.success


class CannotCreate(Exception):
    """Raised if the walk cannot create what an operation needs."""


Ask = Callable[[Route, Json], tuple[int, Any]]
"""Sends an operation with values by their API names, and returns the status and the JSON body."""


@dataclass
class Walk:
    """Sends every operation once. `known` has the values of path parameters, by path or by name."""

    ask: Ask
    page_url: str = "https://sea.example/"
    """URL of a page to import."""
    put: Callable[[str, bytes], None] = lambda url, content: None
    """Uploads bytes to a URL."""
    known: dict[str, str] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)
    results: list[OperationResult] = field(default_factory=list)
    made: int = 0
    """Number of created items, which makes their names unique."""

    def all(self) -> Iterator[OperationResult]:
        """Yield the result of every declared operation."""
        self.routes = {route.key: route for spec in load().values() for route in routes(spec)}
        self._learn_existing()
        for key in sorted(self.routes, key=_order):
            try:
                values = self._values(key)
            except CannotCreate as failure:
                yield OperationResult(self.routes[key], {}, 0, str(failure))
            else:
                yield self._ask(self.routes[key], values)

    def create_all(self) -> None:
        """Send only the operations that create and change, so that items of all kinds exist."""
        for result in self.all():
            if _order(result.route.key)[0] > 1:
                break

    def at(self, key: str) -> Json:
        """Return the values of the path parameters of an operation that exist already."""
        path = key.partition(" ")[2]
        found = {name: self.known.get(path[: at.end()]) or self.known.get(name) for at, name in _names(path)}
        return {name: value for name, value in found.items() if value is not None}

    def _learn_existing(self) -> None:
        """Learn the ids of items that exist before the walk."""
        self.known |= {"organizationId": "acme", "userId": "jun", "emailDomain": "acme.example", "subdomain": "acme"}
        self.known |= {"reusableContentId": "shared", "fileId": "chart"}
        found = self._answer(f"GET {ORGANIZATION}/spaces", {"organizationId": "acme"})["items"]
        space = next(each for each in found if each["title"] == "Docs")
        self.known |= {"spaceId": space["id"], SPACE: space["id"], "revisionId": space["revision"]}
        group = self._answer(f"GET {SPACE}/content/pages", {"spaceId": space["id"]})["pages"][1]
        self.known |= {"pageId": group["pages"][0]["id"], "pagePath": group["pages"][0]["path"]}

    def _answer(self, key: str, values: Json) -> Any:
        if key not in self.routes:
            raise CannotCreate(f"there is no {key}")
        status, said = self.ask(self.routes[key], values)
        if status != self.routes[key].spec.success:
            raise CannotCreate(f"{key} responded {status}: {said}")
        return said

    def _ask(self, route: Route, values: Json) -> OperationResult:
        result = OperationResult(route, values, *self.ask(route, values))
        self.results.append(result)
        if result.is_as_declared:
            self._learn(route.key, result.answer)
        return result

    def _learn(self, key: str, said: Any) -> str | None:
        """Return the id of a created item, and use it for its path parameter if it is the first of its kind."""
        method, _, path = key.partition(" ")
        if key == f"POST {ORGANIZATION}/storage/upload":
            self.known["storageKey"] = said["key"]
            self.put(said["url"], b"wOF2" + bytes(60))
        item = MAKES.get(key) or next((each.path for each in self.routes.values() if _is_item_of(each.path, path)), "")
        if not (item and isinstance(said, dict) and method in ("POST", "PUT")):
            return None
        name = _names(item)[-1][1]
        identity = said.get("slug" if name == "specSlug" else "id")
        if isinstance(identity, str):
            self.known.setdefault(item, identity)
            if name not in PER_PATH:
                self.known.setdefault(name, identity)
        return identity

    def _values(self, key: str) -> Json:
        method, _, path = key.partition(" ")
        names = {name: self._value_of(path[: found.end()], name) for found, name in _names(path)}
        if method == "DELETE" or key in CONSUMING:
            item = path.removesuffix(CONSUMING.get(key, ""))
            if made := self._create(item):
                names[_names(item)[-1][1]] = made
        if key == f"POST {SPACE}/restore":
            self._answer(f"DELETE {SPACE}", names)
        return {**names, **self.other_values(key)}

    def other_values(self, key: str) -> Json:
        """Return the values of an operation that are not in its path."""
        values = VALUES.get(key, {})
        return values(self) if callable(values) else values

    def _value_of(self, path: str, name: str) -> str:
        """Return the value of a path parameter: of an item that was created before, is created now, or existed at the beginning."""
        found = self.known.get(path)
        if found is None and (name not in self.known or name in PER_PATH):
            found = self._create(path)
        found = found or self.known.get(name)
        if found is None:
            raise CannotCreate(f"there is no {name}")
        return found

    def _create(self, item: str) -> str | None:
        """Create another item with the path `item`, if an operation creates such items."""
        makes = (key for key, made in MAKES.items() if made == item)
        keys = [*makes, *(f"{method} {item.rpartition('/')[0]}" for method in ("POST", "PUT"))]
        key = next((key for key in keys if key in self.routes), None)
        if key is None or item in EXISTING_USERS:
            return None
        path = key.partition(" ")[2]
        names = {name: self._value_of(path[: found.end()], name) for found, name in _names(path)}
        values = {**names, **self.other_values(key)}
        return self._learn(key, self._answer(key, values))


MAKES = {
    f"POST {ORGANIZATION}/spaces": SPACE,
    f"POST {ORGANIZATION}/collections": COLLECTION,
}
"""Paths of items that are created at another path."""

PER_PATH = {"changeRequestId", "commentId", "commentReplyId", "inviteId"}
"""Path parameters with another meaning at some paths."""

EXISTING_USERS = {
    f"{ORGANIZATION}/teams/{{teamId}}/members/{{userId}}",
    f"{CHANGE_REQUEST}/requested-reviewers/{{userId}}",
}
"""Users: they exist already, although an operation seems to create them."""

CONSUMING = {
    f"POST {SPACE}/restore": "/restore",
    f"POST {SPACE}/transfer": "/transfer",
    f"POST {COLLECTION}/transfer": "/transfer",
    f"POST {CHANGE_REQUEST}/merge": "/merge",
}
"""Operations after which an item cannot be used again, with the end of their paths: each operation gets its own item."""


Values = Json | Callable[[Walk], Json]

_HELLO = {"body": {"markdown": "Hello"}}
_AGAIN = {"body": {"markdown": "Hello again"}}
_ROLE = {"role": "comment"}
_SHARE: Values = lambda walk: {"role": "comment", "users": ["zoe"], "teams": [walk.known["teamId"]]}  # noqa: E731  # one of many values, written alike
_IMPORT: Values = lambda walk: {"url": walk.page_url, "source": "website"}  # noqa: E731  # one of many values, written alike
_FONT: Values = lambda walk: {  # noqa: E731  # one of many values, written alike
    "fontFamily": "Tide",
    "fontFaces": [{"weight": 400, "storageKey": walk.known.get("storageKey", "none")}],
}

VALUES: dict[str, Values] = {
    f"POST {SPACE}/comments": _HELLO,
    f"PUT {SPACE}/comments/{{commentId}}": {**_AGAIN, "resolved": True},
    f"POST {SPACE}/comments/{{commentId}}/replies": _HELLO,
    f"PUT {SPACE}/comments/{{commentId}}/replies/{{commentReplyId}}": _AGAIN,
    f"POST {CHANGE_REQUEST}/comments": _HELLO,
    f"PUT {CHANGE_REQUEST}/comments/{{commentId}}": {"addedReactions": ["1f44d"]},
    f"POST {CHANGE_REQUEST}/comments/{{commentId}}/replies": _HELLO,
    f"PUT {CHANGE_REQUEST}/comments/{{commentId}}/replies/{{commentReplyId}}": _AGAIN,
    f"POST {ORGANIZATION}/collections": {"title": "Shelf"},
    f"PATCH {COLLECTION}": {"description": "Where things are."},
    f"POST {COLLECTION}/move": {"parent": None},
    f"POST {COLLECTION}/transfer": {"organization": "north"},
    f"POST {COLLECTION}/permissions": _SHARE,
    f"PATCH {COLLECTION}/permissions/users/{{userId}}": {"userId": "zoe", **_ROLE},
    f"PATCH {COLLECTION}/permissions/teams/{{teamId}}": _ROLE,
    f"POST {ORGANIZATION}/spaces": {"title": "Tidal"},
    f"PATCH {SPACE}": {"emoji": "1f30a"},
    f"POST {SPACE}/move": {"parent": None},
    f"POST {SPACE}/transfer": {"organization": "north"},
    f"POST {SPACE}/permissions": _SHARE,
    f"PATCH {SPACE}/permissions/users/{{userId}}": {"userId": "zoe", **_ROLE},
    f"PATCH {SPACE}/permissions/teams/{{teamId}}": _ROLE,
    f"GET {SPACE}/search": {"query": "tides"},
    f"GET {ORGANIZATION}/search": {"query": "tides"},
    f"POST {SITE}/search": {"query": "tides", "scope": {"mode": "all"}},
    f"POST {SPACE}/content/import": _IMPORT,
    f"POST {CHANGE_REQUEST}/content/import": _IMPORT,
    f"POST {SPACE}/change-requests": {"subject": "Rising"},
    f"PATCH {CHANGE_REQUEST}": {"subject": "Falling", "status": "open"},
    f"POST {CHANGE_REQUEST}/content": {
        "compat": False,
        "changes": [
            {"operation": "insert_page", "title": "Neaps", "document": {"markdown": "Not so high."}},
            {
                "operation": "insert_files",
                "files": [{"name": "dot.png", "contentType": "image/png", "base64": PICTURE}],
            },
        ],
    },
    f"POST {CHANGE_REQUEST}/reviews": {"status": "approved"},
    f"POST {CHANGE_REQUEST}/requested-reviewers": {"users": ["tom"]},
    f"DELETE {CHANGE_REQUEST}/requested-reviewers/{{userId}}": {"userId": "tom"},
    f"POST {ORGANIZATION}/sites": lambda walk: {"title": "Tide tables", "spaces": [walk.known["spaceId"]]},
    f"PATCH {SITE}": {"title": "Tide tables of the year"},
    f"PUT {SITE}/adaptive-schema": {"jsonSchema": CLAIMS},
    f"POST {SITE}/sections": lambda walk: {"spaceId": _another_space(walk), "title": "Tides"},
    f"PATCH {SITE}/sections/{{siteSectionId}}": {"description": "All of them."},
    f"POST {SITE}/sections/{{siteSectionId}}/move": lambda walk: _moved(walk),
    f"POST {SITE}/redirects": lambda walk: {"source": "/old", "destination": _to_section(walk)},
    f"PATCH {SITE}/redirects/{{siteRedirectId}}": {"source": "/older"},
    f"GET {SITE}/redirect": {"source": "/older"},
    f"POST {SITE}/mcp-servers": {"name": "Tides", "url": "https://mcp.sea.example/", "headers": {}},
    f"PATCH {SITE}/mcp-servers/{{siteMcpServerId}}": {"name": "All tides"},
    f"PATCH {SITE}/structure/sort": lambda walk: _sorted(walk),
    f"POST {SITE}/site-spaces": lambda walk: {"spaceId": _another_space(walk), "sectionId": _section(walk)},
    f"PATCH {SITE}/site-spaces/{{siteSpaceId}}": {"path": "tidal"},
    f"POST {SITE}/section-groups": {"title": "Water"},
    f"PATCH {SITE}/section-groups/{{siteSectionGroupId}}": {"title": "Waters"},
    f"POST {SITE}/share-links": {"name": "For friends"},
    f"PATCH {SITE}/share-links/{{shareLinkId}}": {"active": False},
    f"PATCH {ORGANIZATION}": {"title": "Acme Tides"},
    f"GET {ORGANIZATION}/members": {"sort": "joinedAt"},
    f"PATCH {ORGANIZATION}/members/{{userId}}": {"role": "review"},
    f"DELETE {ORGANIZATION}/members/{{userId}}": {"userId": "gil"},
    f"PUT {ORGANIZATION}/teams": {"title": "Harbour", "members": ["mia"]},
    f"PATCH {ORGANIZATION}/teams/{{teamId}}": {"title": "Harbours"},
    f"PUT {ORGANIZATION}/teams/{{teamId}}/members": {"add": ["tom"]},
    f"PUT {ORGANIZATION}/teams/{{teamId}}/members/{{userId}}": {"role": "member"},
    f"POST {ORGANIZATION}/invites": {"emails": ["new@acme.example"], "role": "read"},
    f"POST {ORGANIZATION}/link-invites": {"role": "read"},
    f"PATCH {ORGANIZATION}/link-invites/{{inviteId}}": {"role": "comment"},
    f"POST {ORGANIZATION}/saml": {"label": "Sea SSO"},
    f"PATCH {ORGANIZATION}/saml/{{samlProviderId}}": {"label": "Our sea SSO"},
    f"POST {ORGANIZATION}/openapi": lambda walk: _spec(walk),
    f"PUT {ORGANIZATION}/openapi/{{specSlug}}": {"source": {"text": SPEC}},
    f"PATCH {ORGANIZATION}/openapi/{{specSlug}}": {"visibility": "public"},
    f"POST {ORGANIZATION}/translations": {"title": "Français"},
    f"PUT {ORGANIZATION}/translations/{{translationSettingsId}}": {"title": "Deutsch"},
    f"PUT {ORGANIZATION}/fonts": _FONT,
    f"POST {ORGANIZATION}/fonts/{{fontId}}": {"fontFamily": "Tides"},
    f"POST {ORGANIZATION}/storage/upload": {
        "file": {"name": "tide.woff2", "type": "font/woff2", "size": 64},
        "kind": "customization_font",
    },
    "GET /v1/urls/content": lambda walk: {
        "url": walk._answer(f"GET {SPACE}", {"spaceId": walk.known["spaceId"]})["urls"]["app"]
    },
}
"""Values of each operation that are not in its path."""


SECTION = f"{SITE}/sections/{{siteSectionId}}"


def _section(walk: Walk) -> str:
    return walk._value_of(SECTION, "siteSectionId")


def _to_section(walk: Walk) -> Json:
    return {"kind": "site-section", "siteSectionId": _section(walk)}


def _sorted(walk: Walk) -> Json:
    item, other = ({"type": "site-section", "id": each} for each in (_section(walk), walk._create(SECTION)))
    return {"item": item, "position": {"before": other}}


def _moved(walk: Walk) -> Json:
    return {"position": {"after": {"type": "site-section", "siteSection": walk._create(SECTION)}}}


def _spec(walk: Walk) -> Json:
    walk.made += 1
    return {"slug": f"tides-{walk.made}", "source": {"text": SPEC}}


def _another_space(walk: Walk) -> str:
    values = {"organizationId": "acme", "title": "Another"}
    made: str = walk._answer(f"POST {ORGANIZATION}/spaces", values)["id"]
    return made


def _names(path: str) -> list[tuple[re.Match[str], str]]:
    return [(found, found[1]) for found in re.finditer(r"{(\w+)}", path)]


def _is_item_of(item: str, collection: str) -> bool:
    return re.fullmatch(re.escape(collection) + r"/{\w+}", item) is not None


def _order(key: str) -> tuple[int, int, str]:
    """Return the sort key of an operation: creating ones first, then reading ones, then deleting ones, the deepest first."""
    method, _, path = key.partition(" ")
    ends_in_name = path.endswith("}")
    depth = path.count("/")
    if method == "DELETE":
        return (4, -depth, path)
    if key.endswith("/storage/upload"):
        return (0, 0, path)
    if key in CONSUMING or key.endswith("/unpublish"):
        return (3, -depth, path)
    if key == f"PUT {ORGANIZATION}/teams":
        return (0, 0, path)
    if method == "GET":
        return (2, depth, path)
    return (1 if ends_in_name else 0, depth, path)
