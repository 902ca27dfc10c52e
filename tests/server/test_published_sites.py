"""Visible parts of a published site, by visibility and share key."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import share_links, site_structure, sites, spaces
from octavo.api.operation import SPECS, Operation, SiteRef
from octavo.api.site_structure import SectionGroup, SiteSection
from tests.server.sample_sites import create_site
from tests.server.small_platform import Ask, check_refused, space_with

STRANGER = "eve"


async def _publish_site(ask: Ask, visibility: sites.Visibility, *titles: str) -> SiteRef:
    at = await create_site(ask, *[await space_with(ask, title) for title in titles or ("Guide",)])
    await ask(sites.Update(at=at, visibility=visibility))
    await ask(sites.Publish(at=at))
    return at


async def _new_share_key(ask: Ask, at: SiteRef) -> str:
    """Create a share link for a published site, and return its secret."""
    link = await ask(share_links.Create(at=at, name="Press"))
    assert link.urls.published
    return link.urls.published.split("/")[-2]


def _reads_of(at: SiteRef, share_key: str | None = None) -> list[Operation[Any]]:
    given = {"share_key": share_key} if share_key else {}
    kinds = (sites.GetPublished, site_structure.Get, site_structure.ListSections, site_structure.ListSiteSpaces)
    return [kind(at=at, **given) for kind in kinds]


async def test_publish_shows_and_unpublish_hides_a_site(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "Guide"))
    assert "“Docs” is not published." in await check_refused(ask(sites.GetPublished(at=at)), 404)
    for _ in range(2):
        site = await ask(sites.Publish(at=at))
        assert isinstance(site, sites.Site)
        assert (site.published, site.urls.published) == (True, f"http://octavo.test/published/acme/{at.site_id}/")
    found = await ask(sites.GetPublished(at=at))
    assert (found.site, found.structure.type, found.scripts) == (site, "siteSpaces", ())
    hidden = await ask(sites.Unpublish(at=at))
    assert (hidden.published, hidden.urls.published) == (False, None)
    await check_refused(ask(sites.GetPublished(at=at)), 404)


def test_response_that_asks_for_payment_is_recognized() -> None:
    answer = SPECS[sites.Publish].codec.validate_python
    assert answer({"type": "checkout", "sessionId": "c1"}) == sites.Checkout(session_id="c1")
    assert isinstance(answer({"object": "site", "id": "s", "type": "premium"}), sites.Site)


async def test_site_without_spaces_cannot_be_published(ask: Ask) -> None:
    space = await space_with(ask)
    at = await create_site(ask, space)
    await ask(spaces.Delete(at=space.ref))
    assert "“Docs” has no space to show" in await check_refused(ask(sites.Publish(at=at)), 409)
    await ask(spaces.Restore(at=space.ref))
    await ask(sites.Publish(at=at))


@pytest.mark.parametrize("visibility", ["public", "unlisted"])
async def test_public_site_is_visible_to_everyone(ask: Ask, visibility: sites.Visibility) -> None:
    at = await _publish_site(ask, visibility)
    for op in _reads_of(at):
        await ask(op, STRANGER)
    [space] = (await ask(site_structure.ListSiteSpaces(at=at), STRANGER)).items
    assert space.space
    found = await ask(spaces.Get(at=space.space.ref), STRANGER)
    assert (found.title, found.permissions.edit) == ("Guide", False)
    await check_refused(ask(sites.Get(at=at), STRANGER), 404)
    await check_refused(ask(spaces.Update(at=space.space.ref, title="Mine"), STRANGER), 404)
    await ask(sites.Unpublish(at=at))
    for op in (*_reads_of(at), spaces.Get(at=space.space.ref)):
        await check_refused(ask(op, STRANGER), 404)


async def test_site_with_share_links_needs_a_key(ask: Ask) -> None:
    at = await _publish_site(ask, "share-link")
    key = await _new_share_key(ask, at)
    for op in _reads_of(at, key):
        await ask(op, STRANGER)
        await ask(op, "sam")
    for op in (*_reads_of(at), *_reads_of(at, "wrong")):
        assert "There is no site" in await check_refused(ask(op, STRANGER), 404)
    for op in _reads_of(at):
        await ask(op, "sam")
    for op in _reads_of(at, "wrong"):
        await check_refused(ask(op, "sam"), 404)


async def test_urls_contain_the_key_of_the_request(ask: Ask) -> None:
    at = await _publish_site(ask, "share-link", "Guide", "API")
    key, start = await _new_share_key(ask, at), f"http://octavo.test/published/acme/{at.site_id}/"
    shown = (await ask(site_structure.ListSiteSpaces(at=at, share_key=key), STRANGER)).items
    assert [each.urls.published for each in shown] == [f"{start}{key}/", f"{start}{key}/api/"]
    shown = (await ask(site_structure.ListSiteSpaces(at=at))).items
    assert [each.urls.published for each in shown] == [start, f"{start}api/"]


async def test_key_of_a_share_link_opens_the_spaces_of_its_site(ask: Ask) -> None:
    at = await _publish_site(ask, "share-link")
    key = await _new_share_key(ask, at)
    space = (await ask(site_structure.ListSiteSpaces(at=at))).items[0].space
    assert space
    assert (await ask(spaces.Get(at=space.ref, share_key=key), STRANGER)).id == space.id
    await check_refused(ask(spaces.Get(at=space.ref), STRANGER), 404)
    other = await space_with(ask, "Other")
    await check_refused(ask(spaces.Get(at=other.ref, share_key=key), STRANGER), 404)
    await ask(spaces.Delete(at=space.ref))
    await check_refused(ask(spaces.Get(at=space.ref, share_key=key), STRANGER), 404)


async def test_inactive_or_deleted_share_link_opens_nothing(ask: Ask) -> None:
    at = await _publish_site(ask, "share-link")
    key, other = await _new_share_key(ask, at), await _new_share_key(ask, at)
    [link, _] = (await ask(share_links.List(at=at))).items
    await ask(share_links.Update(at=at, share_link_id=link.id, active=False))
    await check_refused(ask(sites.GetPublished(at=at, share_key=key), STRANGER), 404)
    await ask(sites.GetPublished(at=at, share_key=other), STRANGER)
    await ask(share_links.Update(at=at, share_link_id=link.id, active=True))
    await ask(sites.GetPublished(at=at, share_key=key), STRANGER)
    await ask(share_links.Delete(at=at, share_link_id=link.id))
    await check_refused(ask(sites.GetPublished(at=at, share_key=key), STRANGER), 404)


async def test_site_with_visitor_sign_in_is_hidden_from_strangers(ask: Ask) -> None:
    at = await _publish_site(ask, "visitor-auth")
    for op in _reads_of(at, "any"):
        await check_refused(ask(op, STRANGER), 404)
    assert (await ask(sites.GetPublished(at=at), "sam")).site.visibility == "visitor-auth"


async def test_visitors_see_all_spaces_and_members_the_permitted_ones(ask: Ask) -> None:
    open_one, closed = await space_with(ask, "Open"), await space_with(ask, "Closed")
    at = await create_site(ask, open_one, closed)
    await ask(spaces.Update(at=closed.ref, default_level=None))

    async def visible_titles(user: str) -> list[str]:
        return [each.title for each in (await ask(site_structure.ListSiteSpaces(at=at), user)).items]

    assert (await visible_titles("ada"), await visible_titles("sam")) == (["Open", "Closed"], ["Open"])
    await ask(sites.Publish(at=at))
    assert (await visible_titles("sam"), await visible_titles(STRANGER)) == (["Open", "Closed"], ["Open", "Closed"])


async def test_empty_sections_are_hidden_from_visitors(ask: Ask) -> None:
    at = await create_site(ask)
    guide = await ask(site_structure.CreateSection(at=at, space_id=(await space_with(ask, "Guide")).id))
    blog = await ask(site_structure.CreateSection(at=at, space_id=(await space_with(ask, "Blog")).id))
    await ask(site_structure.CreateGroup(at=at, title="Empty"))
    full = await ask(site_structure.CreateGroup(at=at, title="Full", sections=(guide.id,)))
    await ask(site_structure.DeleteSiteSpace(at=at, site_space_id=blog.site_spaces[0].id))
    await ask(sites.Publish(at=at))
    [group] = (await ask(sites.GetPublished(at=at))).structure.structure
    assert isinstance(group, SectionGroup)
    assert (group.id, [each.title for each in group.sections]) == (full.id, ["Guide"])
    assert len((await ask(site_structure.Get(at=at))).structure) == 3
    assert len((await ask(site_structure.Get(at=at), STRANGER)).structure) == 1
    sections = await ask(site_structure.ListSections(at=at), STRANGER)
    assert [each.title for each in sections.items] == ["Guide"]


async def test_each_section_has_its_own_url(ask: Ask) -> None:
    at = await create_site(ask)
    made: list[SiteSection] = []
    for title in ("Guide", "API"):
        section = await ask(site_structure.CreateSection(at=at, space_id=(await space_with(ask, title)).id))
        extra = await space_with(ask, "V2")
        await ask(site_structure.CreateSiteSpace(at=at, space_id=extra.id, section_id=section.id))
        made.append(section)
    assert all(each.urls.published is None for each in made)
    await ask(sites.Update(at=at, basename="docs"))
    await ask(sites.Publish(at=at))
    start = "http://octavo.test/published/acme/docs/"
    sections = (await ask(site_structure.ListSections(at=at))).items
    assert [each.urls.published for each in sections] == [start, f"{start}api/"]
    assert [space.urls.published for section in sections for space in section.site_spaces] == [
        start,
        f"{start}guide/v2/",
        f"{start}api/",
        f"{start}api/v2/",
    ]
    await ask(sites.Update(at=at, default_site_section=made[1].id, proxy="acme.example/docs"))
    sections = (await ask(site_structure.ListSections(at=at))).items
    proxied = "https://acme.example/docs/"
    assert [each.urls.published for each in sections] == [f"{proxied}guide/", proxied]


async def test_unknown_site_has_no_published_content(ask: Ask) -> None:
    for op in _reads_of(SiteRef(organization_id="acme", site_id="none")):
        assert "There is no site “none”" in await check_refused(ask(op), 404)


async def test_published_structure_has_titles_and_icons(ask: Ask) -> None:
    guide = await space_with(ask, "Guide")
    at = await create_site(ask, guide)
    await ask(sites.Publish(at=at))
    await ask(sites.GetPublished(at=at))
    shown = ask.last.json()["customizations"]
    (of_space,) = shown["siteSpaces"].values()
    needed = (
        "styling internationalization favicon header footer themes pdf feedback ai advancedCustomization trademark "
        "externalLinks pagination pageActions git privacyPolicy socialPreview insights"
    )
    for each in (shown["site"], of_space):
        assert set(needed.split()) <= each.keys()
