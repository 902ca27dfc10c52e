from __future__ import annotations

import pytest

from octavo.api import organizations, sites
from octavo.api.operation import OrganizationRef, SiteRef
from octavo.api.organizations import Member
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, check_refused, space_with


async def test_organizations_of_the_caller_are_listed(ask: Ask, context: RequestContext) -> None:
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    assert [each.id for each in (await ask(organizations.List())).items] == ["acme"]
    assert (await ask(organizations.List(), "eve")).items == ()


async def test_organization_is_not_found_by_non_members(ask: Ask) -> None:
    assert "organization “acme”" in await check_refused(ask(organizations.Get(at=ACME), "eve"), 404)


async def test_disabled_member_cannot_see_the_organization(ask: Ask, context: RequestContext) -> None:
    context.store.update("/orgs/acme/members/sam", disabled=True)
    await check_refused(ask(organizations.Get(at=ACME), "sam"), 404)


@pytest.mark.parametrize(
    ("user", "admin", "creates", "lists"),
    [("ada", True, True, True), ("mia", False, True, True), ("sam", False, False, True), ("gil", False, False, False)],
)
async def test_permissions_follow_from_the_role(ask: Ask, user: str, admin: bool, creates: bool, lists: bool) -> None:
    allowed = (await ask(organizations.Get(at=ACME), user)).permissions
    assert (allowed.view, allowed.admin, allowed.create_content, allowed.list_members) == (True, admin, creates, lists)


async def test_admins_change_settings_of_an_organization(ask: Ask) -> None:
    changed = await ask(
        organizations.Update(at=ACME, title="Acme Works", default_role=None, logo="https://x.example/l")
    )
    assert (changed.title, changed.default_role) == ("Acme Works", None)
    assert ask.last.json()["urls"]["logo"] == "https://x.example/l"
    assert "need the Admin role" in await check_refused(ask(organizations.Update(at=ACME, title="Mine"), "mia"), 403)


async def test_default_content_must_be_an_existing_site(ask: Ask) -> None:
    site = await ask(sites.Create(at=ACME, title="Tides"))
    first = organizations.DefaultContent(type="site", site=site.id)
    changed = await ask(organizations.Update(at=ACME, default_content=first))
    assert changed.default_content == {"type": "site", "site": site.id}
    await ask(sites.Delete(at=SiteRef(organization_id="acme", site_id=site.id)))
    assert (await ask(organizations.Get(at=ACME))).default_content is None


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"title": "x"}, "title must have at least 2 characters."),
        ({"title": "x" * 256}, "title may have at most 255 characters."),
        ({"hostname": "ab"}, "hostname must have at least 3 characters."),
        ({"hostname": "UPPER"}, "hostname must be lowercase letters"),
        ({"defaultRole": "king"}, "defaultRole must be one of 'admin', 'create'"),
        ({"emailDomains": [1]}, "emailDomains[0] must be text."),
        ({"emailDomains": ["no domain"]}, "emailDomains[0] must be a domain, for example example.com."),
        ({"logo": "javascript:x"}, "logo must be a link"),
        ({"defaultContent": {"type": "site", "site": "gone"}}, "defaultContent.site must be a site of this"),
        ({"defaultContent": {"type": "space"}}, "defaultContent.type must be 'site'."),
        ({"mergeRules": "none"}, "mergeRules must be an object."),
        ({"title": None}, "title cannot be null."),
    ],
)
async def test_values_outside_the_documented_limits_are_refused(
    ask: Ask, body: dict[str, object], sentence: str
) -> None:
    answer = await ask.http("PATCH", "/v1/orgs/acme", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


async def _members(ask: Ask, user: str = "ada", **options: object) -> list[Member]:
    listing = organizations.ListMembers.model_validate({"at": ACME, **options})
    return list((await ask(listing, user)).items)


async def test_members_are_listed_by_latest_join(ask: Ask) -> None:
    assert [each.id for each in await _members(ask)] == ["gil", "sam", "zoe", "jun", "tom", "mia", "ada"]
    assert [each.id for each in await _members(ask, order="asc")][:2] == ["ada", "mia"]


async def test_members_are_found_by_role_and_text(ask: Ask, context: RequestContext) -> None:
    assert [each.id for each in await _members(ask, role="review")] == ["tom"]
    assert [each.id for each in await _members(ask, role="guest")] == ["gil"]
    assert [each.id for each in await _members(ask, search="ZOE L")] == ["zoe"]
    assert len(await _members(ask, search="acme.example")) == 7
    for written in ("Zoë Ağaoğlu-Weiß", "ZOE\u0308 AG\u0306AOG\u0306LU-WEISS"):
        context.store.update("/users/zoe", displayName=written)
        assert [each.id for each in await _members(ask, search="ｚoë ağaoğlu-weiss")] == ["zoe"]


async def test_sort_by_last_seen_lists_seen_members(ask: Ask, context: RequestContext) -> None:
    for user, day in (("sam", "02"), ("tom", "03")):
        context.store.update(f"/orgs/acme/members/{user}", lastSeenAt=f"2026-04-{day}T00:00:00.000Z")
    assert [each.id for each in await _members(ask, sort="lastSeenAt")] == ["tom", "sam"]


async def test_guests_and_non_members_cannot_list_members(ask: Ask) -> None:
    assert "Guests" in await check_refused(ask(organizations.ListMembers(at=ACME), "gil"), 403)
    await check_refused(ask(organizations.ListMembers(at=ACME), "eve"), 404)


async def test_member_has_the_number_of_visible_spaces(ask: Ask) -> None:
    await space_with(ask)
    sam = await ask(organizations.GetMember(at=ACME, user_id="sam"))
    gil = await ask(organizations.GetMember(at=ACME, user_id="gil"))
    assert (sam.role, sam.user.display_name, sam.spaces) == ("read", "Sam Lund", 1)
    assert (gil.role, gil.spaces) == (None, 0)
    assert "member “eve”" in await check_refused(ask(organizations.GetMember(at=ACME, user_id="eve")), 404)


async def test_list_of_members_reads_the_grants_of_a_space_once(ask: Ask, context: RequestContext) -> None:
    await space_with(ask)
    statements: list[str] = []
    context.store._db.set_trace_callback(statements.append)
    assert {each.id: each.spaces for each in await _members(ask)}["tom"] == 1
    assert len([each for each in statements if "/permissions/users" in each]) == 1, statements


async def test_user_id_with_a_colon_is_found(ask: Ask, context: RequestContext) -> None:
    context.store.put("/users/agent:1", {"id": "agent:1", "displayName": "Agent"})
    context.store.put("/orgs/acme/members/agent:1", {"id": "agent:1", "role": "edit", "joinedAt": iso(START)})
    assert (await ask(organizations.GetMember(at=ACME, user_id="agent:1"))).user.name == "Agent"


async def test_pages_of_members_stay_consistent_while_members_change(ask: Ask, context: RequestContext) -> None:
    listing = organizations.ListMembers(at=ACME, limit=3)
    first = await ask(listing)
    assert (len(first.items), first.count) == (3, 7)
    context.store.delete("/orgs/acme/members/gil")
    context.store.delete("/orgs/acme/members/zoe")
    new = {"id": "new", "role": "read", "joinedAt": "2027-01-01T00:00:00.000Z"}
    context.store.put("/orgs/acme/members/new", new)
    assert first.next is not None
    second = await ask(listing.model_copy(update={"page": first.next.page}))
    assert [each.id for each in second.items] == ["jun", "tom", "mia"]
    assert second.next is not None
    last = await ask(listing.model_copy(update={"page": second.next.page}))
    assert [each.id for each in last.items] == ["ada"]
    assert "next" not in ask.last.json()


async def test_unknown_organization_is_not_found(ask: Ask) -> None:
    await check_refused(ask(organizations.Get(at=OrganizationRef(organization_id="nowhere"))), 404)
