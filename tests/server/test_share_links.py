"""Share links: only administrators create, rename, deactivate and delete them."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import share_links, sites
from octavo.api.operation import Operation, SiteRef
from octavo.server.rest import RequestContext
from tests.server.sample_sites import create_site
from tests.server.small_platform import START, Ask, check_refused, space_with


@pytest.fixture
async def at(ask: Ask) -> SiteRef:
    """Create a site that is published with share links."""
    at = await create_site(ask, await space_with(ask))
    await ask(sites.Update(at=at, visibility="share-link"))
    await ask(sites.Publish(at=at))
    return at


async def test_share_link_is_a_url_with_a_secret(ask: Ask, at: SiteRef) -> None:
    link = await ask(share_links.Create(at=at, name="Press"))
    other = await ask(share_links.Create(at=at, name=""))
    assert (link.name, link.active, link.created_at) == ("Press", True, START)
    assert other.name == ""
    assert link.urls.published
    assert link.urls.published.startswith(f"http://octavo.test/published/acme/{at.site_id}/")
    assert link.urls.published != other.urls.published
    assert set(ask.last.json()) == {"object", "id", "name", "active", "createdAt", "urls"}
    assert (await ask(share_links.List(at=at))).items == (link, other)


async def test_share_link_of_an_unpublished_site_has_no_url(ask: Ask, at: SiteRef) -> None:
    link = await ask(share_links.Create(at=at, name="Press"))
    await ask(sites.Unpublish(at=at))
    [shown] = (await ask(share_links.List(at=at))).items
    assert shown.urls.published is None
    await ask(sites.Publish(at=at))
    assert (await ask(share_links.List(at=at))).items == (link,)


async def test_share_link_is_renamed_and_deactivated(ask: Ask, at: SiteRef) -> None:
    link = await ask(share_links.Create(at=at, name="Press"))
    off = await ask(share_links.Update(at=at, share_link_id=link.id, active=False))
    assert (off.name, off.active, off.urls) == ("Press", False, link.urls)
    renamed = await ask(share_links.Update(at=at, share_link_id=link.id, name="Partners"))
    assert (renamed.name, renamed.active) == ("Partners", False)
    gone = share_links.Update(at=at, share_link_id="none", name="X")
    assert "There is no share link “none”" in await check_refused(ask(gone), 404)


async def test_share_link_is_deleted(ask: Ask, at: SiteRef) -> None:
    link = await ask(share_links.Create(at=at, name="Press"))
    for _ in range(2):
        await ask(share_links.Delete(at=at, share_link_id=link.id))
        assert ask.last.status_code == 204
    assert (await ask(share_links.List(at=at))).items == ()


async def test_share_links_are_deleted_with_their_site(ask: Ask, at: SiteRef, context: RequestContext) -> None:
    await ask(share_links.Create(at=at, name="Press"))
    await ask(sites.Delete(at=at))
    await check_refused(ask(share_links.List(at=at)), 404)
    assert context.store.count(f"/orgs/acme/sites/{at.site_id}/share-links") == 0


async def test_share_links_need_admin_permission(ask: Ask, at: SiteRef) -> None:
    link = await ask(share_links.Create(at=at, name="Press"))
    delete: Operation[Any] = share_links.Delete(at=at, share_link_id=link.id)
    rest: list[Operation[Any]] = [
        share_links.List(at=at),
        share_links.Create(at=at, name="Mine"),
        share_links.Update(at=at, share_link_id=link.id, name="Mine"),
    ]
    for op in (*rest, delete):
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    for op in rest:
        await check_refused(ask(op, "eve"), 404)
    await ask(delete, "eve")
    assert (await ask(share_links.List(at=at))).items == (link,)


@pytest.mark.parametrize(
    ("method", "body", "sentence"),
    [
        ("POST", {}, "name is required."),
        ("POST", {"name": "x" * 51}, "name may have at most 50 characters."),
        ("PATCH", {"name": "x" * 51}, "name may have at most 50 characters."),
        ("PATCH", {"name": None}, "name cannot be null. Leave name out to keep its value."),
        ("PATCH", {"active": None}, "active cannot be null. Leave active out to keep its value."),
    ],
)
async def test_values_beyond_the_limits_of_a_share_link_are_refused(
    ask: Ask, at: SiteRef, method: str, body: dict[str, object], sentence: str
) -> None:
    url = f"/v1/orgs/acme/sites/{at.site_id}/share-links"
    if method == "PATCH":
        url += f"/{(await ask(share_links.Create(at=at, name='Press'))).id}"
    answer = await ask.http(method, url, json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, sentence)


async def test_share_links_are_paged(ask: Ask, at: SiteRef) -> None:
    for name in ("A", "B", "C"):
        await ask(share_links.Create(at=at, name=name))
    first = await ask(share_links.List(at=at, limit=2))
    assert first.next
    rest = await ask(share_links.List(at=at, page=first.next.page))
    assert [each.name for each in (*first.items, *rest.items)] == ["A", "B", "C"]
