from __future__ import annotations

from typing import Any

import pytest

from octavo.api import mcp_servers
from octavo.api.mcp_servers import McpServer
from octavo.api.operation import SiteRef
from tests.server.sample_sites import create_site
from tests.server.small_platform import Ask, check_refused

SERVERS = "mcp-servers"


async def _create(ask: Ask, at: SiteRef, name: str = "Search", **fields: Any) -> McpServer:
    op = {"at": at, "name": name, "url": "https://mcp.example/", **fields}
    return await ask(mcp_servers.Create.model_validate(op))


async def test_mcp_server_is_added_read_changed_and_removed(ask: Ask) -> None:
    at = await create_site(ask)
    made = await _create(ask, at, headers={"authorization": "Bearer " + "x" * 500})
    assert (made.name, made.url) == ("Search", "https://mcp.example/")
    assert made.headers == {"authorization": "Bearer " + "x" * 500}
    assert ask.last.json()["object"] == "site-mcp-server"
    assert made.urls.location == f"http://octavo.test/v1/orgs/acme/sites/{at.site_id}/mcp-servers/{made.id}"
    update = mcp_servers.Update(at=at, site_mcp_server_id=made.id, name="Find")
    changed = await ask(update)
    assert (changed.name, changed.url, changed.headers) == ("Find", made.url, made.headers)
    assert await ask(mcp_servers.Get(at=at, site_mcp_server_id=made.id)) == changed
    emptied = await ask(mcp_servers.Update(at=at, site_mcp_server_id=made.id, headers={}))
    assert emptied.headers == {}
    delete = mcp_servers.Delete(at=at, site_mcp_server_id=made.id)
    await ask(delete)
    await ask(delete)
    sentence = await check_refused(ask(mcp_servers.Get(at=at, site_mcp_server_id=made.id)), 404)
    assert sentence == f"There is no MCP server “{made.id}” here, or you do not have access."
    await check_refused(ask(update), 404)


async def test_mcp_server_without_headers_has_empty_headers(ask: Ask) -> None:
    at = await create_site(ask)
    assert (await _create(ask, at)).headers == {}
    body = {"name": "Bare", "url": "https://mcp.example/"}
    answer = await ask.http("POST", f"/v1/orgs/acme/sites/{at.site_id}/{SERVERS}", json=body)
    assert (answer.status_code, answer.json()["headers"]) == (201, {})


async def test_list_of_mcp_servers_is_paged_for_each_site(ask: Ask) -> None:
    at, other = await create_site(ask), await create_site(ask)
    made = [await _create(ask, at, name) for name in "abc"]
    await _create(ask, other)
    first = await ask(mcp_servers.List(at=at, limit=2))
    assert first.next is not None
    rest = await ask(mcp_servers.List(at=at, limit=2, page=first.next.page))
    assert (*first.items, *rest.items) == tuple(made)


async def test_headers_are_visible_with_change_permission_only(ask: Ask) -> None:
    at = await create_site(ask)
    made = await _create(ask, at)
    for op in (
        mcp_servers.List(at=at),
        mcp_servers.Get(at=at, site_mcp_server_id=made.id),
        mcp_servers.Create(at=at, name="Mine", url="https://mcp.example/"),
        mcp_servers.Update(at=at, site_mcp_server_id=made.id, name="Mine"),
        mcp_servers.Delete(at=at, site_mcp_server_id=made.id),
    ):
        assert "need the Creator role" in await check_refused(ask(op, "sam"), 403)
        if not isinstance(op, mcp_servers.Delete):
            await check_refused(ask(op, "eve"), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"url": "https://x"}, "name is required."),
        ({"name": "", "url": "https://x"}, "name must have at least 1 character."),
        ({"name": "x" * 101, "url": "https://x"}, "name may have at most 100 characters."),
        ({"name": "x"}, "url is required."),
        ({"name": "x", "url": "file:///etc"}, "url must be a link"),
        ({"name": "x", "url": "https://x/" + "x" * 2048}, "url may have at most 2048 characters."),
        ({"name": "x", "url": "https://x", "headers": {"a": ""}}, "headers.a must have at least 1 character."),
        ({"name": "x", "url": "https://x", "headers": {"a": "x" * 513}}, "headers.a may have at most 512 characters."),
    ],
)
async def test_values_beyond_the_limits_of_an_mcp_server_are_refused(
    ask: Ask, body: dict[str, Any], sentence: str
) -> None:
    at = await create_site(ask)
    answer = await ask.http("POST", f"/v1/orgs/acme/sites/{at.site_id}/{SERVERS}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)
