from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from octavo.api import redirects, share_links, site_structure, sites, spaces
from octavo.api.operation import SiteRef
from octavo.api.redirects import Redirect, ToPage, ToSection, ToSpace
from octavo.api.spaces import Space
from octavo.server.handlers.sites import normalize_path
from octavo.server.rest import Refusal
from tests.server.sample_sites import create_site
from tests.server.small_platform import Ask, check_refused, space_with


async def _site_with_space(ask: Ask) -> tuple[SiteRef, Space, str]:
    """Create a site with one space. Return the site, the space, and the id of the site space."""
    space = await space_with(ask, home="# Home", guide="# Guide")
    at = await create_site(ask, space)
    placed = (await ask(site_structure.ListSiteSpaces(at=at))).items
    return at, space, placed[0].id


async def _create(ask: Ask, at: SiteRef, source: str, destination: Any) -> Redirect:
    return await ask(redirects.Create(at=at, source=source, destination=destination))


async def _target(ask: Ask, at: SiteRef, source: str) -> str:
    return (await ask(redirects.Resolve(at=at, source=source))).target


async def test_redirect_is_created_changed_and_deleted(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    made = await _create(ask, at, "/old", ToSpace(site_space_id=placed))
    assert (made.source, made.destination.kind, made.destination.site_space_id) == ("/old", "site-space", placed)
    assert ask.last.json()["object"] == "site-redirect"
    update = redirects.Update(at=at, site_redirect_id=made.id, source="/older")
    changed = await ask(update)
    assert (changed.id, changed.source, changed.destination) == (made.id, "/older", made.destination)
    to_page = ToPage(site_space_id=placed, page_id="guide")
    changed = await ask(redirects.Update(at=at, site_redirect_id=made.id, destination=to_page))
    assert (changed.source, changed.destination.kind, changed.destination.page_id) == ("/older", "site-page", "guide")
    assert (await ask(redirects.List(at=at))).items == (changed,)
    delete = redirects.Delete(at=at, site_redirect_id=made.id)
    await ask(delete)
    await ask(delete)
    assert (await ask(redirects.List(at=at))).items == ()
    sentence = await check_refused(ask(update), 404)
    assert sentence == f"There is no redirect “{made.id}” here, or you do not have access."


async def test_source_can_change_after_the_destination_was_deleted(ask: Ask) -> None:
    at, space, placed = await _site_with_space(ask)
    made = await _create(ask, at, "/old", ToSpace(site_space_id=placed))
    await ask(spaces.Delete(at=space.ref))
    assert (await ask(redirects.Update(at=at, site_redirect_id=made.id, source="/older"))).source == "/older"
    there = redirects.Update(at=at, site_redirect_id=made.id, destination=ToSpace(site_space_id=placed))
    await check_refused(ask(there), 404)


async def test_source_of_a_redirect_is_unique_in_any_spelling(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    there = ToSpace(site_space_id=placed)
    made = await _create(ask, at, "/a%62c/%c3%a9/./x", there)
    assert made.source == "/abc/%C3%A9/x"
    sentence = await check_refused(_create(ask, at, "/abc/%C3%a9/y/../x", there), 409)
    assert sentence.startswith("There is already a redirect from /abc/%C3%A9/x.")
    other = await _create(ask, at, "/other", there)
    await check_refused(ask(redirects.Update(at=at, site_redirect_id=other.id, source="/abc/%C3%A9/x")), 409)
    same = redirects.Update(at=at, site_redirect_id=made.id, source="/abc/%c3%a9/x", destination=there)
    assert (await ask(same)).source == made.source
    elsewhere, _, placed = await _site_with_space(ask)
    assert (await _create(ask, elsewhere, "/other", ToSpace(site_space_id=placed))).source == "/other"


@pytest.mark.parametrize(
    ("source", "spelling"),
    [
        ("/a", "/a"),
        ("/a%2Fb", "/a%2Fb"),
        ("/%41%2d%7E", "/A-~"),
        ("/%e2%82%ac", "/%E2%82%AC"),
        ("/a/./b/../c", "/a/c"),
        ("/%2e%2E/a", "/a"),
        ("/%20%25", "/%20%25"),
        ("/CaSe", "/CaSe"),
    ],
)
def test_source_path_is_normalized(source: str, spelling: str) -> None:
    assert normalize_path(source) == spelling
    assert normalize_path(spelling) == spelling


@pytest.mark.parametrize("source", ["/.", "/a/..", "/../.."])
def test_no_redirect_starts_at_the_root(source: str) -> None:
    with pytest.raises(Refusal, match="cannot be the home page"):
        normalize_path(source)


@pytest.mark.parametrize(
    "source",
    ["", "/", "a", "/a/", "//a", "/a//b", "/a b", "/é", "/a?b", "/a#b", "/%2", "/%zz", "/a\n", "/" + "x" * 512],
)
async def test_invalid_source_is_refused_by_client_and_server(ask: Ask, source: str) -> None:
    at, _, placed = await _site_with_space(ask)
    with pytest.raises(ValidationError):
        redirects.Resolve(at=at, source=source)
    url = f"/v1/orgs/acme/sites/{at.site_id}"
    there = {"kind": "site-space", "siteSpaceId": placed}
    answers = [
        await ask.http("POST", f"{url}/redirects", json={"source": source, "destination": there}),
        await ask.http("GET", f"{url}/redirect", params={"source": source}),
    ]
    for answer in answers:
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("source ")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"destination": {"kind": "site-space", "siteSpaceId": "s"}}, "source is required."),
        ({"source": "/a"}, "destination is required."),
        ({"source": "/a", "destination": {}}, "destination must contain 'kind'."),
        (
            {"source": "/a", "destination": {"kind": "moon"}},
            "destination must have 'kind' set to one of 'site-section'",
        ),
        ({"source": "/a", "destination": {"kind": "site-page", "pageId": "p"}}, "destination.siteSpaceId is required."),
    ],
)
async def test_destinations_are_of_three_kinds(ask: Ask, body: dict[str, Any], sentence: str) -> None:
    at = await create_site(ask)
    answer = await ask.http("POST", f"/v1/orgs/acme/sites/{at.site_id}/redirects", json=body)
    assert (answer.status_code, answer.json()["error"]["message"][: len(sentence)]) == (400, sentence)


async def test_destination_must_exist(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    for destination, noun in (
        (ToSection(site_section_id="none"), "section"),
        (ToSpace(site_space_id="none"), "site space"),
        (ToPage(site_space_id="none", page_id="guide"), "site space"),
        (ToPage(site_space_id=placed, page_id="none"), "page"),
    ):
        sentence = await check_refused(_create(ask, at, "/old", destination), 404)
        assert sentence == f"There is no {noun} “none” here, or you do not have access."
    assert (await ask(redirects.List(at=at))).items == ()


async def test_url_resolves_to_a_space_or_page(ask: Ask) -> None:
    at, handbook, placed = await _site_with_space(ask)
    start = (await ask(sites.Publish(at=at))).urls.published  # type: ignore[union-attr]  # a basic site is created without a checkout
    assert start
    other = await space_with(ask, "API", home="# Home", calls="# Calls")
    second = await ask(site_structure.CreateSiteSpace(at=at, space_id=other.id))
    await _create(ask, at, "/space", ToSpace(site_space_id=placed))
    await _create(ask, at, "/home", ToPage(site_space_id=placed, page_id="home"))
    await _create(ask, at, "/guide", ToPage(site_space_id=placed, page_id="guide"))
    await _create(ask, at, "/api", ToSpace(site_space_id=second.id))
    await _create(ask, at, "/calls", ToPage(site_space_id=second.id, page_id="calls"))
    resolved = await ask(redirects.Resolve(at=at, source="/gu%69de"), "sam")
    assert (resolved.redirect.source, resolved.target) == ("/guide", f"{start}guide")
    assert await _target(ask, at, "/space") == start
    assert await _target(ask, at, "/home") == start
    assert await _target(ask, at, "/api") == f"{start}{second.path}/"
    assert await _target(ask, at, "/calls") == f"{start}{second.path}/calls"
    assert await check_refused(ask(redirects.Resolve(at=at, source="/none")), 404) == (
        "No redirect on this site starts at /none."
    )
    await ask(spaces.Delete(at=handbook.ref))
    await check_refused(ask(redirects.Resolve(at=at, source="/guide")), 404)


async def test_url_resolves_to_a_section(ask: Ask) -> None:
    at, _, _ = await _site_with_space(ask)
    other = await space_with(ask, "API", home="# Home", calls="# Calls")
    section = await ask(site_structure.CreateSection(at=at, space_id=other.id, title="Interface"))
    await ask(sites.Publish(at=at))
    await _create(ask, at, "/api", ToSection(site_section_id=section.id))
    await _create(ask, at, "/calls", ToPage(site_space_id=section.site_spaces[0].id, page_id="calls"))
    target = await _target(ask, at, "/api")
    assert target.endswith(f"/{section.path}/")
    assert await _target(ask, at, "/calls") == f"{target}calls"
    await ask(site_structure.DeleteSection(at=at, site_section_id=section.id))
    sentence = await check_refused(ask(redirects.Resolve(at=at, source="/api")), 404)
    assert sentence == f"There is no section “{section.id}” here, or you do not have access."


async def test_visitor_resolves_urls_with_a_share_key(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    await _create(ask, at, "/old", ToSpace(site_space_id=placed))
    await ask(sites.Update(at=at, visibility="share-link"))
    await ask(sites.Publish(at=at))
    link = await ask(share_links.Create(at=at, name="Press"))
    key = (link.urls.published or "").rstrip("/").rpartition("/")[2]
    resolve = redirects.Resolve(at=at, source="/old", share_key=key)
    assert (await ask(resolve, "eve")).target == link.urls.published
    for refusal in ("wrong", None):
        await check_refused(ask(redirects.Resolve(at=at, source="/old", share_key=refusal), "eve"), 404)
    await ask(share_links.Update(at=at, share_link_id=link.id, active=False))
    await check_refused(ask(resolve, "eve"), 404)


async def test_list_of_redirects_is_paged_and_searched(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    made = [await _create(ask, at, f"/{name}", ToSpace(site_space_id=placed)) for name in ("Old", "new", "older")]
    first = await ask(redirects.List(at=at, limit=2))
    assert first.next is not None
    rest = await ask(redirects.List(at=at, limit=2, page=first.next.page))
    assert (*first.items, *rest.items) == tuple(made)
    assert [each.source for each in (await ask(redirects.List(at=at, search="OLD"))).items] == ["/Old", "/older"]


async def test_redirects_need_permission_to_change_the_site(ask: Ask) -> None:
    at, _, placed = await _site_with_space(ask)
    made = await _create(ask, at, "/old", ToSpace(site_space_id=placed))
    for op in (
        redirects.Create(at=at, source="/mine", destination=ToSpace(site_space_id=placed)),
        redirects.Update(at=at, site_redirect_id=made.id, source="/mine"),
        redirects.Delete(at=at, site_redirect_id=made.id),
    ):
        assert "need the Creator role" in await check_refused(ask(op, "tom"), 403)
    await check_refused(ask(redirects.List(at=at), "eve"), 404)
    assert (await ask(redirects.List(at=at), "sam")).items == (made,)
