"""An item is not found under the path of another parent, even by an admin of both parents, and nothing changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from octavo.api.operation import load
from octavo.api.wire import Route, operation_for_route, routes
from octavo.server.app import run_operation
from octavo.server.handlers import uploads
from octavo.server.rest import BackgroundWork, Refusal
from octavo.server.store import Json, MissingResource, Store
from tests.operation_walk import ORGANIZATION, SITE, SPACE, Walk, full_context
from tests.server.small_platform import Clock

ROUTES = {route.key: route for spec in load().values() for route in routes(spec)}
Values = Callable[[Json], Json]
IN_NORTH: dict[str, tuple[str, Values]] = {
    "spaceId": (f"POST {ORGANIZATION}/spaces", lambda north: {"title": "North"}),
    "teamId": (f"PUT {ORGANIZATION}/teams", lambda north: {"title": "North"}),
    "inviteId": (f"POST {ORGANIZATION}/link-invites", lambda north: {"role": "read"}),
    "samlProviderId": (f"POST {ORGANIZATION}/saml", lambda north: {"label": "North"}),
    "translationSettingsId": (f"POST {ORGANIZATION}/translations", lambda north: {"title": "North"}),
    "changeRequestId": (f"POST {SPACE}/change-requests", lambda north: {"subject": "North"}),
    "commentId": (f"POST {SPACE}/comments", lambda north: {"body": {"markdown": "North"}}),
    "commentReplyId": (f"POST {SPACE}/comments/{{commentId}}/replies", lambda north: {"body": {"markdown": "North"}}),
    "siteId": (f"POST {ORGANIZATION}/sites", lambda north: {"title": "North"}),
    "siteSectionId": (f"POST {SITE}/sections", lambda north: {"spaceId": north["spaceId"]}),
    "siteSectionGroupId": (f"POST {SITE}/section-groups", lambda north: {"title": "North"}),
    "siteRedirectId": (
        f"POST {SITE}/redirects",
        lambda north: {
            "source": "/north",
            "destination": {"kind": "site-section", "siteSectionId": north["siteSectionId"]},
        },
    ),
    "siteMcpServerId": (f"POST {SITE}/mcp-servers", lambda north: {"name": "North", "url": "https://north.example/"}),
    "shareLinkId": (f"POST {SITE}/share-links", lambda north: {"name": "North"}),
}
"""Items that ada creates in her other organization, by path parameter: the operation and its values."""

CROSSED = [
    (key, name) for key, route in ROUTES.items() for name in IN_NORTH if f"/{{{name}}}" in route.path.partition("}")[2]
]
"""Each operation with an item below a parent in its path, and the name of the parent."""


class TwoOrganizations:
    """Two organizations of ada, with items of all kinds in each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.context = full_context(Clock(), Store(file)).for_user("ada")
        self.walk = Walk(self.ask, put=self._put)
        self.walk.create_all()
        self.beside = {key: self.walk.other_values(key) for key, _ in CROSSED}
        self.north: Json = {"organizationId": "north"}
        for name, (key, values) in IN_NORTH.items():
            _, made = self.ask(ROUTES[key], {**self.north, **values(self.north)})
            self.north[name] = made["id"]

    def ask(self, route: Route, values: Json) -> tuple[int, Any]:
        """Send a request as ada. Return the status and the body."""
        try:
            said = run_operation(operation_for_route(route, values), self.context)
        except (Refusal, MissingResource) as refusal:
            return getattr(refusal, "status", 404), str(refusal)
        return route.spec.success, said.early_response if isinstance(said, BackgroundWork) else said

    def _put(self, url: str, content: bytes) -> None:
        organization, upload, secret = url.split("/")[-3:]
        uploads.receive_file(self.context, organization, upload, secret, content)

    def all_documents(self) -> list[tuple[str, str]]:
        """Return all stored documents with their paths."""
        with closing(sqlite3.connect(self._file)) as db:
            return db.execute("SELECT path, body FROM documents ORDER BY path").fetchall()


@pytest.fixture(scope="module")
def two_organizations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoOrganizations]:
    two_organizations = TwoOrganizations(tmp_path_factory.mktemp("both") / "platform.db")
    yield two_organizations
    two_organizations.context.store.close()


@pytest.mark.parametrize(("key", "name"), CROSSED)
def test_resource_of_another_parent_is_not_found(key: str, name: str, two_organizations: TwoOrganizations) -> None:
    route = ROUTES[key]
    mine = {**two_organizations.beside[key], **two_organizations.walk.at(key)}
    before = two_organizations.all_documents()

    status, said = two_organizations.ask(route, {**mine, name: two_organizations.north[name]})

    assert (status, said) == (204, None) if key.startswith("DELETE ") else status == 404
    assert two_organizations.all_documents() == before


def test_crossed_routes_cover_all_parents() -> None:
    assert {name for _, name in CROSSED} == IN_NORTH.keys() - {"spaceId"}
    assert len(CROSSED) > 60
