"""The permissions in a response match the operations that the platform allows."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import adaptive_schema, collections, openapi, organizations, sites, spaces, teams
from octavo.api.operation import CollectionRef, Operation, SiteRef, SpaceRef
from octavo.api.wire import encode
from tests.operation_walk import CHANGE_REQUEST, COLLECTION, ORGANIZATION, SITE, SPACE, full_context
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, PEOPLE, Ask, Clock
from tests.server.test_required_roles import LEAST, expected_users

WRITES = {
    "organization": {
        "admin": f"PATCH {ORGANIZATION}",
        "createContent": f"POST {ORGANIZATION}/spaces",
        "createOpenAPISpec": f"POST {ORGANIZATION}/openapi",
    },
    "site": {
        "admin": f"PATCH {SITE}",
        "edit": f"POST {SITE}/redirects",
        "create": f"POST {SITE}/sections",
        "editAdaptiveSchema": f"PUT {SITE}/adaptive-schema",
    },
    "space": {
        "comment": f"POST {SPACE}/comments",
        "edit": f"POST {SPACE}/change-requests",
        "review": f"POST {CHANGE_REQUEST}/reviews",
        "merge": f"POST {CHANGE_REQUEST}/merge",
        "admin": f"PATCH {SPACE}",
    },
    "collection": {"admin": f"PATCH {COLLECTION}"},
}
"""The write that each permission is about: who may send the write is tested in test_required_roles."""
LEAST_OF = {key: least for least, keys in LEAST.items() for key in keys}


@pytest.mark.parametrize("user", PEOPLE)
async def test_reported_permissions_match_allowed_requests(user: str) -> None:
    platform = Platform(full_context(Clock()))
    ask = Ask(platform)
    shelf = await ask(collections.Create(at=ACME, title="Shelf"))
    docs = next(each for each in (await ask(spaces.List(at=ACME))).items if each.title == "Docs")
    site = await ask(sites.Create(at=ACME, title="Tides", spaces=(docs.id,)))
    at = SiteRef(organization_id="acme", site_id=site.id)
    await ask(adaptive_schema.Update.model_validate({"at": at, "json_schema": _CLAIMS}))
    things: dict[str, Operation[Any]] = {
        "organization": organizations.Get(at=ACME),
        "site": sites.Get(at=at),
        "space": spaces.Get(at=SpaceRef(space_id=docs.id)),
        "collection": collections.Get(at=CollectionRef(collection_id=shelf.id)),
    }
    for thing, op in things.items():
        answer = await ask.http("GET", encode(op).url, user)
        if answer.status_code == 404:
            assert PEOPLE[user] is None, "only guests do not see it at all"
            continue
        told = answer.json()["permissions"]
        for name, write in WRITES[thing].items():
            assert told[name] is (user in expected_users(write, LEAST_OF[write])), f"{thing}.{name}"
        if thing == "organization":
            for name, asked in (
                ("listMembers", organizations.ListMembers(at=ACME)),
                ("listTeams", teams.List(at=ACME)),
            ):
                may = (await ask.http("GET", encode(asked).url, user)).status_code == 200
                assert told[name] is may, name
            may = (await ask.http("GET", encode(openapi.List(at=ACME)).url, user)).status_code == 200
            assert may is told["listMembers"]
        if thing == "site":
            read = await ask.http("GET", encode(adaptive_schema.Get(at=at)).url, user)
            assert told["viewAdaptiveSchema"] is (read.status_code == 200)
    platform.close()
    platform.context.store.close()


_CLAIMS = {
    "type": "object",
    "properties": {
        "unsigned": {
            "type": "object",
            "description": "Unsigned claims of the site visitor.",
            "properties": {},
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
