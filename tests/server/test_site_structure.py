"""Spaces, sections and groups of a site, their defaults and their order."""

from __future__ import annotations

import pytest

from octavo.api import site_structure as structure
from octavo.api import sites, spaces
from octavo.api.site_structure import SectionGroup, SiteSection, SiteSpace, UnknownPart
from octavo.server.rest import RequestContext
from tests.server.refusing_platform import Platform
from tests.server.sample_sites import (
    add_section,
    before_part,
    create_site,
    create_site_with_sections,
    pointer_to,
    site_spaces_of,
    tree_of,
)
from tests.server.small_platform import ACME, Ask, Clock, check_refused, space_with


async def test_site_without_sections_consists_of_spaces(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "Guide"), await space_with(ask, "API"))
    found = await ask(structure.Get(at=at), "sam")
    assert (found.type, await tree_of(ask, at)) == ("siteSpaces", ["Guide", "API"])
    guide = found.structure[0]
    assert isinstance(guide, SiteSpace)
    assert guide.space
    assert (guide.path, guide.default, guide.section, guide.space.title) == ("guide", True, None, "Guide")
    assert [each.title for each in (await ask(structure.ListSections(at=at))).items] == []


async def test_added_space_is_the_last_part(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "Guide"))
    api = await space_with(ask, "Guide")
    added = await ask(structure.CreateSiteSpace(at=at, space_id=api.id), "mia")
    assert (added.path, added.default) == ("guide-2", False)
    assert "is already on “Docs”" in await check_refused(ask(structure.CreateSiteSpace(at=at, space_id=api.id)), 409)
    await check_refused(ask(structure.CreateSiteSpace(at=at, space_id="none")), 404)
    other = await space_with(ask)
    nowhere = structure.CreateSiteSpace(at=at, space_id=other.id, section_id="none")
    assert "no section “none”" in await check_refused(ask(nowhere), 404)


async def test_structure_needs_permission_to_create_content(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    guide = made["Guide"].id
    group = await ask(structure.CreateGroup(at=at, title="Group"))
    item = structure.Sort(at=at, item=pointer_to(made["API"]), position=before_part(made["Guide"]))
    space = made["Guide"].site_spaces[0].id
    for op in (
        structure.CreateSiteSpace(at=at, space_id="x"),
        structure.UpdateSiteSpace(at=at, site_space_id=space, path="x"),
        structure.DeleteSiteSpace(at=at, site_space_id=space),
        structure.CreateSection(at=at, space_id="x"),
        structure.UpdateSection(at=at, site_section_id=guide, title="Mine"),
        structure.DeleteSection(at=at, site_section_id=guide),
        structure.MoveSection(at=at, site_section_id=guide, position=None),
        structure.CreateGroup(at=at, title="Mine"),
        structure.UpdateGroup(at=at, site_section_group_id=group.id, title="Mine"),
        structure.DeleteGroup(at=at, site_section_group_id=group.id),
        item,
    ):
        assert "need the Creator role" in await check_refused(ask(op, "tom"), 403)
    assert await tree_of(ask, at) == ["Guide", "API", "Group", []]


async def test_first_section_takes_all_spaces_of_the_site(ask: Ask) -> None:
    guide, old = await space_with(ask, "Guide"), await space_with(ask, "Old guide")
    at = await create_site(ask, guide, old)
    await ask(sites.Update(at=at, default_site_space=(await site_spaces_of(ask, at))["Old guide"].id))
    api = await ask(structure.CreateSection(at=at, space_id=(await space_with(ask, "API")).id, icon="gear"))
    assert (api.title, api.path, api.icon, api.default) == ("API", "api", "gear", False)
    first, second = (await ask(structure.ListSections(at=at))).items
    assert (first.title, first.path, first.default) == ("Old guide", "old-guide", True)
    assert [(each.title, each.default) for each in first.site_spaces] == [("Guide", False), ("Old guide", True)]
    assert second == api
    assert (await ask(structure.Get(at=at))).type == "sections"
    new = await space_with(ask)
    assert "sectionId is required" in await check_refused(ask(structure.CreateSiteSpace(at=at, space_id=new.id)), 400)
    added = await ask(structure.CreateSiteSpace(at=at, space_id=new.id, section_id=api.id))
    assert (added.section, added.default) == (api.id, False)


async def test_first_section_takes_deleted_spaces_too(ask: Ask) -> None:
    guide = await space_with(ask, "Guide")
    at = await create_site(ask, guide)
    await ask(spaces.Delete(at=guide.ref))
    await add_section(ask, at, "API")
    assert await tree_of(ask, at) == ["API"]
    await ask(spaces.Restore(at=guide.ref))
    [api] = (await ask(structure.ListSections(at=at))).items
    assert {each.title for each in api.site_spaces} == {"Guide", "API"}


async def test_section_may_have_its_own_title(ask: Ask) -> None:
    at = await create_site(ask)
    space = await space_with(ask, "Guide")
    section = await ask(structure.CreateSection(at=at, space_id=space.id, title="How to", icon=None))
    assert (section.title, section.path, section.icon, section.default) == ("How to", "how-to", None, True)
    assert [each.title for each in section.site_spaces] == ["Guide"]
    again = structure.CreateSection(at=at, space_id=space.id, title=None)
    assert "is already on “Docs”" in await check_refused(ask(again), 409)
    await check_refused(ask(structure.CreateSection(at=at, space_id="none")), 404)


async def test_section_fields_are_changed_separately(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    guide = made["Guide"].id
    full = {"title": "Guides", "path": "guides", "condition": "visitor.claims.beta", "icon": "book"}
    await ask(structure.UpdateSection(at=at, site_section_id=guide, description="All of them", **full))
    kept = await ask(structure.UpdateSection(at=at, site_section_id=guide, title="Handbooks"), "mia")
    assert (kept.title, kept.path, kept.condition, kept.icon) == ("Handbooks", "guides", "visitor.claims.beta", "book")
    bare = {"condition": None, "icon": None, "description": None}
    changed = await ask(structure.UpdateSection(at=at, site_section_id=guide, **bare))
    assert (changed.condition, changed.icon, changed.description) == (None, None, None)
    assert "condition" not in ask.last.json()
    taken = structure.UpdateSection(at=at, site_section_id=guide, path="api")
    assert "The path “api” is already taken" in await check_refused(ask(taken), 409)
    await check_refused(ask(structure.UpdateSection(at=at, site_section_id="none", title="Guides")), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"title": "x"}, "title must have at least 2 characters."),
        ({"title": "x" * 129}, "title may have at most 128 characters."),
        ({"title": None}, "title cannot be null."),
        ({"path": ""}, "path must have at least 1 character."),
        ({"path": "x" * 101}, "path may have at most 100 characters."),
        ({"path": "a/b"}, "path can contain letters"),
        ({"condition": ""}, "condition must have at least 1 character."),
        ({"condition": "x" * 1025}, "condition may have at most 1024 characters."),
        ({"description": "x" * 257}, "description may have at most 256 characters."),
        ({"icon": "x" * 51}, "icon may have at most 50 characters."),
        ({"defaultSiteSpace": "none"}, "defaultSiteSpace must be a space in the section “Guide”."),
    ],
)
async def test_values_beyond_the_limits_of_a_section_are_refused(
    ask: Ask, body: dict[str, object], sentence: str
) -> None:
    at, made = await create_site_with_sections(ask, "Guide")
    answer = await ask.http("PATCH", f"/v1/orgs/acme/sites/{at.site_id}/sections/{made['Guide'].id}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


async def test_default_section_and_space_are_set(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    extra = await ask(
        structure.CreateSiteSpace(at=at, space_id=(await space_with(ask, "V2")).id, section_id=made["API"].id)
    )
    assert list(await site_spaces_of(ask, at, default=True)) == ["Guide", "API"]
    assert list(await site_spaces_of(ask, at, default=False)) == ["V2"]
    api = await ask(structure.UpdateSection(at=at, site_section_id=made["API"].id, default_site_space=extra.id))
    assert [each.default for each in api.site_spaces] == [False, True]
    wrong = sites.Update(at=at, default_site_space=extra.id)
    assert "must be a space in the default section “Guide”" in await check_refused(ask(wrong), 400)
    await ask(sites.Update(at=at, default_site_section=made["API"].id, default_site_space=api.site_spaces[0].id))
    shown = {each.title: each for each in (await ask(structure.ListSections(at=at))).items}
    assert (shown["Guide"].default, shown["API"].default) == (False, True)
    assert [each.default for each in shown["API"].site_spaces] == [True, False]
    await check_refused(ask(sites.Update(at=at, default_site_section="none")), 404)


async def test_section_without_spaces_cannot_be_the_default(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    await ask(sites.Update(at=at, default_site_section=made["API"].id))
    await ask(structure.DeleteSiteSpace(at=at, site_space_id=made["API"].site_spaces[0].id))
    shown = {each.title: each for each in (await ask(structure.ListSections(at=at))).items}
    assert [(each.default, len(each.site_spaces)) for each in shown.values()] == [(True, 1), (False, 0)]
    again = sites.Update(at=at, default_site_section=made["API"].id)
    assert "has no space" in await check_refused(ask(again), 409)
    await ask(structure.DeleteSection(at=at, site_section_id=made["Guide"].id))
    [left] = (await ask(structure.ListSections(at=at))).items
    assert (left.title, left.default) == ("API", True)


async def test_site_space_fields_are_changed_and_removed(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "Guide"), await space_with(ask, "API"))
    guide = (await site_spaces_of(ask, at))["Guide"]

    async def change(**fields: object) -> SiteSpace:
        return await ask(structure.UpdateSiteSpace(at=at, site_space_id=guide.id, **fields), "mia")

    await change(path="v1", condition="visitor.claims.beta")
    other = await space_with(ask, "Guide 2")
    changed = await change(space_id=other.id)
    assert (changed.id, changed.title, changed.path) == (guide.id, "Guide 2", "v1")
    assert changed.condition == "visitor.claims.beta"
    assert (await change(condition=None)).condition is None
    assert "The path “api” is already taken" in await check_refused(change(path="api"), 409)
    assert "path can contain letters" in await check_refused(change(path=".."), 400)
    api = (await site_spaces_of(ask, at))["API"].space
    assert api
    assert "is already on “Docs”" in await check_refused(change(space_id=api.id), 409)
    await check_refused(change(space_id="none"), 404)
    await ask(spaces.Delete(at=other.ref))
    await check_refused(change(path="v2"), 404)
    await check_refused(ask(structure.UpdateSiteSpace(at=at, site_space_id="none", path="x")), 404)


async def test_removing_a_space_from_a_site_keeps_the_space(ask: Ask) -> None:
    guide = await space_with(ask, "Guide")
    at = await create_site(ask, guide)
    here = (await site_spaces_of(ask, at))["Guide"].id
    for _ in range(2):
        await ask(structure.DeleteSiteSpace(at=at, site_space_id=here))
        assert ask.last.status_code == 204
    assert await tree_of(ask, at) == []
    assert (await ask(spaces.Get(at=guide.ref))).title == "Guide"


async def test_deleting_a_section_removes_its_spaces_from_the_site(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    for _ in range(2):
        await ask(structure.DeleteSection(at=at, site_section_id=made["Guide"].id), "mia")
    assert (await tree_of(ask, at), (await ask(sites.Get(at=at))).site_spaces) == (["API"], 1)
    await ask(structure.DeleteSection(at=at, site_section_id=made["API"].id))
    assert (await ask(structure.Get(at=at))).type == "siteSpaces"
    assert (await ask(structure.CreateSiteSpace(at=at, space_id=(await space_with(ask)).id))).section is None


async def test_group_without_visible_sections_is_listed_only_for_editors(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "Secret")
    await ask(structure.CreateGroup(at=at, title="Hidden", sections=(made["Secret"].id,)))
    await ask(structure.CreateGroup(at=at, title="Open", sections=(made["Guide"].id,)))
    secret = made["Secret"].site_spaces[0].space
    assert secret is not None
    await ask(spaces.Update(at=secret.ref, default_level=None))
    listed = {
        user: [each.title for each in (await ask(structure.ListGroups(at=at), user)).items] for user in ("mia", "sam")
    }
    assert listed == {"mia": ["Hidden", "Open"], "sam": ["Open"]}


async def test_title_from_a_space_with_a_short_title_has_two_characters(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "C"))
    await add_section(ask, at, "")
    assert [each.title for each in (await ask(structure.ListSections(at=at))).items] == ["Untitled", "Untitled"]
    short = await space_with(ask, "R")
    assert (await ask(sites.Create(at=ACME, spaces=(short.id,)))).title == "Untitled"


async def test_groups_contain_sections_and_groups(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API", "Blog")
    wanted = (made["Blog"].id, made["API"].id)
    outer = await ask(structure.CreateGroup(at=at, title="For builders", icon="gear", sections=wanted))
    assert (outer.icon, [each.title for each in outer.sections]) == ("gear", ["Blog", "API"])
    inner = await ask(structure.CreateGroup(at=at, title="Inner", parent=outer.id), "mia")
    assert inner.section_group == outer.id
    assert await tree_of(ask, at) == ["Guide", "For builders", ["Blog", "API", "Inner", []]]
    listed = (await ask(structure.ListGroups(at=at))).items
    assert [(each.title, each.section_group) for each in listed] == [("For builders", None), ("Inner", outer.id)]
    sections = (await ask(structure.ListSections(at=at))).items
    assert [(each.title, each.section_group) for each in sections] == [
        ("Guide", None),
        ("Blog", outer.id),
        ("API", outer.id),
    ]
    await check_refused(ask(structure.CreateGroup(at=at, title="X", sections=("none",))), 404)
    assert "no section group" in await check_refused(ask(structure.CreateGroup(at=at, title="X", parent="none")), 404)


async def test_groups_nested_too_deeply_are_refused(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide")
    outer = [await ask(structure.CreateGroup(at=at, title="Level 1"))]
    for level in range(2, 31):
        outer.append(await ask(structure.CreateGroup(at=at, title=f"Level {level}", parent=outer[-1].id)))
    sentence = "Section groups can be nested at most 30 levels deep."
    deepest = outer[-1].id
    assert sentence in await check_refused(ask(structure.CreateGroup(at=at, title="Too deep", parent=deepest)), 400)
    other = await ask(structure.CreateGroup(at=at, title="Other"))
    await ask(structure.CreateGroup(at=at, title="Inner", parent=other.id))
    beside_deepest = structure.Sort(at=at, item=pointer_to(other), position=before_part(outer[-1]))
    assert sentence in await check_refused(ask(beside_deepest), 400)
    await ask(structure.Sort(at=at, item=pointer_to(made["Guide"]), position=before_part(outer[-1])))
    assert (await ask(structure.ListSections(at=at))).items[0].section_group == outer[-2].id


async def test_deleting_a_renamed_group_keeps_its_sections(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API", "Blog")
    group = await ask(structure.CreateGroup(at=at, title="Group", icon="gear", sections=(made["API"].id,)))
    await ask(structure.Sort(at=at, item=pointer_to(group), position=before_part(made["Blog"])))
    changed = await ask(structure.UpdateGroup(at=at, site_section_group_id=group.id, title="Renamed", icon=None))
    assert (changed.title, changed.icon, len(changed.children)) == ("Renamed", None, 1)
    assert await tree_of(ask, at) == ["Guide", "Renamed", ["API"], "Blog"]
    for _ in range(2):
        await ask(structure.DeleteGroup(at=at, site_section_group_id=group.id))
        assert ask.last.status_code == 204
    assert await tree_of(ask, at) == ["Guide", "API", "Blog"]
    await check_refused(ask(structure.UpdateGroup(at=at, site_section_group_id=group.id, title="X")), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "title is required."),
        ({"title": ""}, "title must have at least 1 character."),
        ({"title": "x" * 101}, "title may have at most 100 characters."),
        ({"title": "x", "icon": "x" * 51}, "icon may have at most 50 characters."),
    ],
)
async def test_values_beyond_the_limits_of_a_group_are_refused(
    ask: Ask, body: dict[str, object], sentence: str
) -> None:
    at = await create_site(ask)
    answer = await ask.http("POST", f"/v1/orgs/acme/sites/{at.site_id}/section-groups", json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, sentence)


async def test_spaces_without_sections_stay_beside_a_group(ask: Ask) -> None:
    at = await create_site(ask, await space_with(ask, "Guide"))
    await ask(structure.CreateGroup(at=at, title="Group"))
    assert await tree_of(ask, at) == ["Guide"]
    await add_section(ask, at, "API")
    assert sorted(map(str, await tree_of(ask, at))) == ["API", "Group", "Guide", "[]"]


async def test_section_remains_without_spaces(ask: Ask, context: RequestContext, clock: Clock) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    space = made["Guide"].site_spaces[0].space
    assert space
    await ask(spaces.Delete(at=space.ref))
    assert await tree_of(ask, at) == ["Guide", "API"]
    clock.forward(days=8)
    Platform(context).close()
    shown = (await ask(structure.ListSections(at=at))).items
    assert [(each.title, len(each.site_spaces), each.default) for each in shown] == [
        ("Guide", 0, False),
        ("API", 1, True),
    ]


def test_parts_of_unknown_kinds_are_read() -> None:
    link = {"object": "site-external-link", "id": "l", "title": "Shop\x1b", "url": "https://acme.example"}
    group = {"object": "site-section-group", "id": "g", "children": [link, {"object": "site-section", "id": "s"}]}
    found = structure.SiteStructure.model_validate({"type": "sections", "structure": [group, link]})
    [outer, other] = found.structure
    assert isinstance(outer, SectionGroup)
    assert [type(each) for each in outer.children] == [UnknownPart, SiteSection]
    assert other == UnknownPart(object="site-external-link", id="l", title="Shop␛")
