"""Sites are created, configured, listed and deleted by users with the required role."""

from __future__ import annotations

from datetime import timedelta

import pytest

from octavo.api import collections, search, site_structure, sites, spaces
from octavo.api.operation import CollectionRef, OrganizationRef, SiteRef
from octavo.server.handlers.spaces import page_text
from octavo.server.rest import RequestContext, iso
from octavo.server.store import MissingResource
from tests.server.refusing_platform import Platform
from tests.server.sample_sites import create_site
from tests.server.small_platform import ACME, START, Ask, Clock, check_refused, space_with


async def _titles(ask: Ask, user: str = "ada", **wanted: object) -> list[str]:
    return [each.title for each in (await ask(sites.List(at=ACME, **wanted), user)).items]


async def test_new_site_has_spaces_and_is_unpublished(ask: Ask) -> None:
    guide, api = await space_with(ask, "Guide"), await space_with(ask, "API")
    site = await ask(sites.Create(at=ACME, spaces=(guide.id, api.id)), "mia")
    assert (site.title, site.type, site.visibility, site.published) == ("Guide", "basic", "public", False)
    assert (site.site_spaces, site.urls.published, site.agents_context) == (2, None, "included")
    assert site == await ask(sites.Get(at=SiteRef(organization_id="acme", site_id=site.id)), "mia")
    assert ask.last.json()["features"] == []


async def test_site_needs_no_body(ask: Ask) -> None:
    answer = await ask.http("POST", "/v1/orgs/acme/sites")
    assert (answer.status_code, answer.json()["title"], answer.json()["siteSpaces"]) == (201, "Untitled", 0)


@pytest.mark.parametrize(("kind", "start"), [("sample", "Write here"), ("empty", "")])
async def test_site_can_be_created_with_a_new_space(ask: Ask, context: RequestContext, kind: str, start: str) -> None:
    site = await ask(sites.Create(at=ACME, title="Docs", spaces=kind), "mia")
    made = (await ask(spaces.List(at=ACME))).items
    assert (site.site_spaces, [space.title for space in made]) == (1, ["Docs"])
    page = context.store.get(f"/spaces/{made[0].id}/revisions/{made[0].revision}")["pages"][0]
    assert page_text(context, page).startswith(start)
    assert bool(page_text(context, page)) == bool(start)


async def test_site_needs_editable_spaces_of_its_organization(ask: Ask, context: RequestContext) -> None:
    space, gone = await space_with(ask), await space_with(ask, "Gone")
    await ask(spaces.Delete(at=gone.ref))
    context.store.put("/spaces/far", {**context.store.get(f"/spaces/{space.id}"), "id": "far", "organization": "other"})
    for name in ("nowhere", gone.id, "far"):
        assert f"no space “{name}”" in await check_refused(ask(sites.Create(at=ACME, spaces=(name,))), 404)
    assert "twice" in await check_refused(ask(sites.Create(at=ACME, spaces=(space.id, space.id))), 400)
    await ask(spaces.Update(at=space.ref, default_level="edit"))
    assert "need the Creator role" in await check_refused(ask(sites.Create(at=ACME, spaces=(space.id,)), "mia"), 403)
    await ask(spaces.Update(at=space.ref, default_level=None))
    await check_refused(ask(sites.Create(at=ACME, spaces=(space.id,)), "mia"), 404)
    assert await _titles(ask) == []


async def test_organization_roles_determine_site_permissions(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask))
    assert "need the Creator role" in await check_refused(ask(sites.Create(at=ACME), "tom"), 403)
    for op in (sites.Update(at=at, title="Mine"), sites.Delete(at=at), sites.Publish(at=at), sites.Unpublish(at=at)):
        assert "need the Admin role" in await check_refused(ask(op, "mia"), 403)
    shown = {user: (await ask(sites.Get(at=at), user)).permissions for user in ("ada", "mia", "sam")}
    assert {user: (may.view, may.create, may.admin) for user, may in shown.items()} == {
        "ada": (True, True, True),
        "mia": (True, True, False),
        "sam": (True, False, False),
    }
    for user in ("gil", "eve"):
        assert "There is no site" in await check_refused(ask(sites.Get(at=at), user), 404)
    await check_refused(ask(sites.Get(at=SiteRef(organization_id="acme", site_id="none"))), 404)


async def test_guests_see_sites_with_a_visible_space(ask: Ask, context: RequestContext) -> None:
    mine, other = await space_with(ask, "Mine"), await space_with(ask, "Other")
    at = await create_site(ask, mine, other)
    await create_site(ask)
    context.store.put(f"/spaces/{mine.id}/permissions/users/gil", {"id": "gil", "role": "admin"})
    assert len(await _titles(ask, "gil")) == 1
    shown = await ask(site_structure.ListSiteSpaces(at=at), "gil")
    assert [each.title for each in shown.items] == ["Mine"]
    await check_refused(ask(sites.Update(at=at, title="Mine"), "gil"), 403)


async def test_sites_are_filtered(ask: Ask) -> None:
    space = await space_with(ask)
    docs = await create_site(ask, space)
    await ask(sites.Create(at=ACME, title="Blog", type="premium"))
    await ask(sites.Publish(at=docs))
    assert await _titles(ask) == ["Docs", "Blog"]
    assert await _titles(ask, published=True) == ["Docs"]
    assert await _titles(ask, published=False) == ["Blog"]
    assert await _titles(ask, title="LO") == ["Blog"]
    assert await _titles(ask, space=space.id) == ["Docs"]
    assert await _titles(ask, type=("premium", "ultimate")) == ["Blog"]
    first = await ask(sites.List(at=ACME, limit=1))
    assert first.next
    assert [each.title for each in (await ask(sites.List(at=ACME, page=first.next.page))).items] == ["Blog"]


async def test_settings_of_a_site_are_changed_separately(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask))
    shown = sites.AdaptiveContent(enabled=True)
    await ask(sites.Update(at=at, title="Manuals", basename="manuals", adaptive_content=shown))
    site = await ask(sites.Update(at=at, agents_context="excluded", visibility="unlisted", proxy="acme.example/docs"))
    assert (site.title, site.basename, site.agents_context, site.visibility) == (
        *("Manuals", "manuals"),
        *("excluded", "unlisted"),
    )
    assert site.adaptive_content == sites.AdaptiveContentRead(enabled=True)
    assert site.proxy == sites.Proxy(origin="acme.example/docs", target="http://octavo.test/published/acme/manuals/")
    published = await ask(sites.Publish(at=at))
    assert isinstance(published, sites.Site)
    assert published.urls.published == "https://acme.example/docs/"
    assert (await ask(sites.Update(at=at, proxy=None))).proxy is None
    assert (await ask(sites.Get(at=at))).urls.published == "http://octavo.test/published/acme/manuals/"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"title": "x"}, "title must have at least 2 characters."),
        ({"title": "x" * 129}, "title may have at most 128 characters."),
        ({"title": None}, "title cannot be null."),
        ({"basename": ""}, "basename must have at least 1 character."),
        ({"basename": "x" * 101}, "basename may have at most 100 characters."),
        ({"basename": ".."}, "basename can contain letters"),
        ({"basename": "a/b"}, "basename can contain letters"),
        ({"visibility": "private"}, "visibility must be one of"),
        ({"proxy": "localhost/docs"}, "proxy must be a host and a path"),
        ({"proxy": "acme.example"}, "proxy must be a host and a path"),
        ({"agentsContext": "some"}, "agentsContext must be one of"),
        ({"adaptiveContent": {}}, "adaptiveContent.enabled"),
    ],
)
async def test_values_beyond_the_limits_of_a_site_are_refused(ask: Ask, body: dict[str, object], sentence: str) -> None:
    at = await create_site(ask)
    answer = await ask.http("PATCH", f"/v1/orgs/acme/sites/{at.site_id}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


async def test_basename_of_a_site_is_unique(ask: Ask) -> None:
    one, other = await create_site(ask), await create_site(ask)
    await ask(sites.Update(at=one, basename="docs"))
    assert "is already used by “Docs”" in await check_refused(ask(sites.Update(at=other, basename="docs")), 409)
    await check_refused(ask(sites.Update(at=other, basename=one.site_id)), 409)
    assert (await ask(sites.Update(at=one, basename="docs"))).basename == "docs"


async def test_deleting_a_site_keeps_its_spaces(ask: Ask) -> None:
    space = await space_with(ask)
    at = await create_site(ask, space)
    await ask(sites.Delete(at=at))
    await check_refused(ask(sites.Get(at=at)), 404)
    assert (await ask(spaces.Get(at=space.ref))).id == space.id
    await ask(sites.Delete(at=at))
    assert ask.last.status_code == 204


async def test_deleted_space_is_not_on_its_site_until_restored(ask: Ask) -> None:
    guide, api = await space_with(ask, "Guide"), await space_with(ask, "API")
    at = await create_site(ask, guide, api)
    await ask(spaces.Delete(at=guide.ref))
    [left] = (await ask(site_structure.ListSiteSpaces(at=at))).items
    assert (left.title, left.default) == ("API", True)
    assert (await ask(sites.Get(at=at))).site_spaces == 1
    assert await _titles(ask, space=guide.id) == []
    await ask(spaces.Restore(at=guide.ref))
    shown = (await ask(site_structure.ListSiteSpaces(at=at))).items
    assert [(each.title, each.default) for each in shown] == [("Guide", True), ("API", False)]


async def test_permanently_deleted_space_leaves_no_site_space(ask: Ask, context: RequestContext, clock: Clock) -> None:
    guide = await space_with(ask, "Guide")
    at = await create_site(ask, guide)
    await ask(spaces.Delete(at=guide.ref))
    clock.forward(days=8)
    Platform(context).close()
    with pytest.raises(MissingResource):
        context.store.get(f"/spaces/{guide.id}")
    assert not list(context.store.all(f"/orgs/acme/sites/{at.site_id}/site-spaces"))


async def test_space_on_a_site_cannot_be_transferred(ask: Ask, context: RequestContext) -> None:
    shelf = await ask(collections.Create(at=ACME, title="Shelf"))
    space = await space_with(ask, "Guide", parent=shelf.id)
    at = await create_site(ask, space)
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    context.store.put("/orgs/other/members/ada", {"id": "ada", "role": "admin", "joinedAt": iso(START + timedelta(1))})
    for op in (
        spaces.Transfer(at=space.ref, organization="other"),
        collections.Transfer(at=CollectionRef(collection_id=shelf.id), organization="other"),
    ):
        assert "“Guide” is on the site “Docs”" in await check_refused(ask(op), 412)
    assert (await ask(spaces.Move(at=space.ref, parent=None))).parent is None
    assert (await ask(sites.Get(at=at))).site_spaces == 1
    await ask(sites.Delete(at=at))
    moved = await ask(spaces.Transfer(at=space.ref, organization="other"))
    assert moved.organization == "other"


async def test_site_roles_come_from_the_organization_or_a_space(ask: Ask, context: RequestContext) -> None:
    guide = await space_with(ask, "Guide")
    at = await create_site(ask, guide, await space_with(ask, "API"))
    for user, role in (("gil", "comment"), ("sam", "edit"), ("mia", "read")):
        context.store.put(f"/spaces/{guide.id}/permissions/users/{user}", {"id": user, "role": role})
    rows = (await ask(sites.ListPermissions(at=at))).items
    assert {row.user.id: (row.permission, row.origin.type) for row in rows} == {
        "ada": ("admin", "organization"),
        "mia": ("create", "organization"),
        "tom": ("review", "organization"),
        "jun": ("edit", "organization"),
        "zoe": ("comment", "organization"),
        "sam": ("edit", "space"),
        "gil": ("comment", "space"),
    }
    from_space = next(row.origin for row in rows if row.user.id == "gil")
    assert from_space.space
    assert from_space.space == guide.id
    assert next(row.origin for row in rows if row.user.id == "ada").organization == "acme"
    assert [each["origin"] for each in ask.last.json()["items"] if each["user"]["id"] == "gil"] == [
        {"type": "space", "space": guide.id}
    ]
    assert "Guests cannot see" in await check_refused(ask(sites.ListPermissions(at=at), "gil"), 403)
    first = await ask(sites.ListPermissions(at=at, limit=5))
    assert first.next
    assert len((await ask(sites.ListPermissions(at=at, page=first.next.page))).items) == 2


async def test_search_covers_the_given_scope(ask: Ask) -> None:
    guide = await space_with(ask, "Guide", intro="# Tides\n\nHow a tide comes", more="tide")
    old = await space_with(ask, "Old guide", intro="An old tide")
    api = await space_with(ask, "API", tide="Tide tables")
    at = await create_site(ask, guide, old)
    await ask(site_structure.CreateSection(at=at, space_id=api.id))
    await space_with(ask, "Elsewhere", intro="tide")
    ids = {each.title: each.id for each in (await ask(site_structure.ListSiteSpaces(at=at))).items}

    async def titles_in_scope(scope: search.DefaultScope | search.SpecificScope | search.AllScope) -> set[str]:
        hits = await ask(search.InSite(at=at, query="tide", scope=scope), "sam")
        return {hit.title for hit in hits.items}

    assert await titles_in_scope(search.AllScope()) == {"Guide", "Old guide", "API"}
    assert await titles_in_scope(search.DefaultScope()) == {"Guide", "API"}
    assert await titles_in_scope(search.DefaultScope(current_site_space=ids["Old guide"])) == {"Old guide", "API"}
    assert await titles_in_scope(search.SpecificScope(site_space_ids=(ids["Old guide"], "none"))) == {"Old guide"}


async def test_best_results_come_first_by_section(ask: Ask) -> None:
    words = await space_with(ask, "Words", intro="A long page that names the tide once, among other things.")
    title = await space_with(ask, "Title", tide="# Tide\n\nAll about it\n\n## Neap tide\n\nLow")
    at = await create_site(ask, words, title)
    query = search.InSite(at=at, query="tide", scope=search.AllScope(), limit=1)
    first = await ask(query)
    assert [hit.title for hit in first.items] == ["Title"]
    assert {section.title for section in first.items[0].pages[0].sections} >= {"Neap tide"}
    assert first.next
    again = await ask(query.model_copy(update={"page": first.next.page}))
    assert [hit.title for hit in again.items] == ["Words"]


async def test_search_needs_a_query_and_a_scope(ask: Ask) -> None:
    at = await create_site(ask)
    url = f"/v1/orgs/acme/sites/{at.site_id}/search"
    for body, sentence in (
        ({"query": "x"}, "scope is required."),
        ({"query": "x" * 513, "scope": {"mode": "all"}}, "query may have at most 512 characters."),
        ({"query": "x", "scope": {"mode": "specific", "siteSpaceIds": []}}, "scope.siteSpaceIds must have at least"),
        ({"query": "x", "scope": {"mode": "some"}}, "scope must have 'mode' set to one of"),
    ):
        answer = await ask.http("POST", url, json=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith(sentence)
    await check_refused(ask(search.InSite(at=at, query="x", scope=search.AllScope()), "eve"), 404)
    await check_refused(ask(sites.List(at=OrganizationRef(organization_id="acme")), "eve"), 404)
