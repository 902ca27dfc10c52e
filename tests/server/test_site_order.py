"""The parts of a site keep their order."""

from __future__ import annotations

from typing import Any

from octavo.api import site_structure as structure
from octavo.api.operation import Listing
from octavo.api.site_structure import Position, SectionGroup, SiteSection, SiteSpace
from tests.server.sample_sites import (
    after_part,
    before_part,
    create_site,
    create_site_with_sections,
    pointer_to,
    site_spaces_of,
    tree_of,
)
from tests.server.small_platform import Ask, check_refused, space_with


async def test_parts_move_before_and_after_each_other(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API", "Blog")
    group = await ask(structure.CreateGroup(at=at, title="Group", sections=(made["API"].id,)))

    async def sort(item: SiteSection | SectionGroup | SiteSpace, position: Position) -> structure.SitePart:
        return await ask(structure.Sort(at=at, item=pointer_to(item), position=position), "mia")

    moved = await sort(made["Blog"], before_part(made["Guide"]))
    assert (moved.object, moved.id) == ("site-section", made["Blog"].id)
    assert await tree_of(ask, at) == ["Blog", "Guide", "Group", ["API"]]
    await sort(made["Guide"], after_part(made["API"]))
    assert await tree_of(ask, at) == ["Blog", "Group", ["API", "Guide"]]
    assert isinstance(await sort(group, before_part(made["Blog"])), SectionGroup)
    await sort(made["API"], after_part(made["Blog"]))
    assert await tree_of(ask, at) == ["Group", ["Guide"], "Blog", "API"]
    space = await sort(made["API"].site_spaces[0], before_part(made["Guide"].site_spaces[0]))
    assert isinstance(space, SiteSpace)
    assert space.section == made["Guide"].id
    assert list(await site_spaces_of(ask, at)) == ["API", "Guide", "Blog"]


async def test_invalid_move_of_a_part_is_refused(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API")
    outer = await ask(structure.CreateGroup(at=at, title="Outer", sections=(made["API"].id,)))
    inner = await ask(structure.CreateGroup(at=at, title="Inner", parent=outer.id))
    lonely = await ask(
        structure.CreateSiteSpace(at=at, space_id=(await space_with(ask, "Guide")).id, section_id=made["API"].id)
    )

    async def refuse(item: SiteSection | SectionGroup | SiteSpace, position: Position, status: int) -> str:
        return await check_refused(ask(structure.Sort(at=at, item=pointer_to(item), position=position)), status)

    guide = made["Guide"].site_spaces[0]
    assert "either before or after" in await refuse(made["API"], Position(), 400)
    both = Position(before=pointer_to(made["Guide"]), after=pointer_to(made["Guide"]))
    assert "either before or after" in await refuse(made["API"], both, 400)
    assert "A space can only be moved next to spaces" in await refuse(guide, before_part(made["API"]), 400)
    assert "A space can only be moved next to spaces" in await refuse(made["API"], before_part(guide), 400)
    assert "position must name another part" in await refuse(made["API"], before_part(made["API"]), 400)
    assert "cannot be moved into itself" in await refuse(outer, before_part(inner), 400)
    assert "cannot be moved into itself" in await refuse(outer, after_part(made["API"]), 400)
    assert "The path “guide” is already taken" in await refuse(lonely, after_part(guide), 409)
    gone = made["API"].model_copy(update={"id": "none"})
    await refuse(gone, before_part(made["Guide"]), 404)
    await refuse(made["Guide"], before_part(gone), 404)
    assert await tree_of(ask, at) == ["Guide", "Outer", ["API", "Inner", []]]


async def test_sort_needs_an_item_and_a_position(ask: Ask) -> None:
    at = await create_site(ask)
    url = f"/v1/orgs/acme/sites/{at.site_id}/structure/sort"
    for body, sentence in (
        ({}, "item is required."),
        ({"item": {"type": "site-space", "id": "x"}}, "position is required."),
        ({"item": {"type": "page", "id": "x"}, "position": {}}, "item.type must be one of"),
    ):
        answer = await ask.http("PATCH", url, json=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith(sentence)


async def test_older_operation_to_move_a_section_works(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "Guide", "API", "Blog")
    before = structure.SectionPosition(before=structure.SectionPointer(site_section=made["Guide"].id))
    moved = await ask(structure.MoveSection(at=at, site_section_id=made["Blog"].id, position=before))
    assert moved.title == "Blog"
    assert await tree_of(ask, at) == ["Blog", "Guide", "API"]
    await ask(structure.MoveSection(at=at, site_section_id=made["Blog"].id, position=None))
    assert await tree_of(ask, at) == ["Guide", "API", "Blog"]
    neither = structure.MoveSection(at=at, site_section_id=made["Blog"].id, position=structure.SectionPosition())
    await check_refused(ask(neither), 400)
    gone = structure.SectionPosition(after=structure.SectionPointer(site_section="none"))
    await check_refused(ask(structure.MoveSection(at=at, site_section_id=made["Blog"].id, position=gone)), 404)
    await check_refused(ask(structure.MoveSection(at=at, site_section_id="none", position=before)), 404)


async def test_lists_of_parts_stay_consistent_while_parts_change(ask: Ask) -> None:
    at, made = await create_site_with_sections(ask, "AA", "BB", "CC", "DD")
    await ask(structure.CreateGroup(at=at, title="Group", sections=(made["BB"].id, made["CC"].id)))
    listings: list[Listing[Any]] = [
        structure.ListSections(at=at, limit=3),
        structure.ListSiteSpaces(at=at, limit=3),
    ]
    for listing in listings:
        first = await ask(listing)
        assert [each.title for each in first.items] == ["AA", "DD", "BB"]
        assert first.next
        rest = await ask(listing.model_copy(update={"page": first.next.page}))
        assert [each.title for each in rest.items] == ["CC"]
    page = (await ask(structure.ListSections(at=at, limit=3))).next
    assert page
    await ask(structure.DeleteSection(at=at, site_section_id=made["BB"].id))
    rest_of_it = await ask(structure.ListSections(at=at, page=page.page))
    assert [each.title for each in rest_of_it.items] == ["CC"]
