"""The rows of a site structure, and the results of moves and of a new default."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api.operation import SiteRef
from octavo.api.site_structure import Position, SectionGroup, SiteSection, SiteSpace, SiteStructure, Sort
from octavo.tui.resources import site_tree
from octavo.tui.resources.site_tree import MovablePart

AT = SiteRef(organization_id="o", site_id="s")


def space(name: str, *, default: bool = False) -> SiteSpace:
    return SiteSpace(id=name, title=name, default=default)


def section(name: str, *held: SiteSpace, default: bool = False) -> SiteSection:
    return SiteSection(id=name, title=name, site_spaces=held, default=default)


def group(name: str, *held: Any) -> SectionGroup:
    return SectionGroup(id=name, title=name, children=held)


SITE = SiteStructure(
    type="sections",
    structure=(
        section("one", space("a", default=True), space("b"), default=True),
        group("outer", section("two", space("c", default=True)), group("inner", section("three"))),
        section("four"),
    ),
)
ROOT = SiteStructure(type="siteSpaces", structure=(space("a", default=True), space("b")))


def to_text(structure: SiteStructure) -> str:
    """Return a structure in short form, such as `one(a b) outer(two(c))`."""

    def join(parts: Any) -> str:
        return " ".join(
            part.id + (f"({join(below)})" if (below := site_tree.children_of(part)) else "") for part in parts
        )

    return join(structure.structure)


def part(structure: SiteStructure, name: str) -> MovablePart:
    found = next(each for each, _ in site_tree.walk_parts(structure) if each.id == name)
    assert isinstance(found, SiteSpace | SiteSection | SectionGroup)
    return found


def test_rows_list_each_part_before_its_children() -> None:
    rows = site_tree.part_rows(SITE)
    assert [(each.id, each.depth) for each in rows] == [
        ("one", 0), ("a", 1), ("b", 1), ("outer", 0), ("two", 1), ("c", 2), ("inner", 1), ("three", 2), ("four", 0),
    ]  # fmt: skip
    assert next(each for each in rows if each.id == "outer").titles_inside == "two c inner three"


def test_thousand_nested_groups_are_listed() -> None:
    inner = group("g0")
    for number in range(1, 1000):
        inner = SectionGroup.model_construct(id=f"g{number}", title="", children=(inner,), sections=())
    assert len(site_tree.part_rows(SiteStructure.model_construct(type="", structure=(inner,)))) == 1000


@pytest.mark.parametrize(
    ("name", "step", "after"),
    [
        ("b", -1, "one(b a) outer(two(c) inner(three)) four"),
        ("a", 1, "one(b a) outer(two(c) inner(three)) four"),
        ("a", -1, None),
        ("outer", -1, "outer(two(c) inner(three)) one(a b) four"),
        ("two", 1, "one(a b) outer(inner(three) two(c)) four"),
        ("c", 1, None),
        ("four", 1, None),
    ],
)
def test_part_moves_one_place_and_back(name: str, step: Any, after: str | None) -> None:
    moved = part(SITE, name)
    position = site_tree.position_after_step(SITE, moved, step)
    if after is None:
        assert position is None
        return
    assert position is not None
    before = site_tree.current_position(SITE, moved)
    after_move = site_tree.move_part(SITE, Sort(at=AT, item=site_tree.pointer_to(moved), position=position))
    assert to_text(after_move) == after
    assert before is not None
    back = site_tree.move_part(after_move, Sort(at=AT, item=site_tree.pointer_to(moved), position=before))
    assert to_text(back) == to_text(SITE)


@pytest.mark.parametrize(
    ("structure", "name", "holders"),
    [
        (SITE, "a", {"one": "b", "two": "c", "three": "", "four": ""}),
        (SITE, "four", {None: "one outer", "outer": "two inner", "inner": "three"}),
        (SITE, "outer", {None: "one four"}),
        (SITE, "inner", {None: "one outer four", "outer": "two"}),
        (ROOT, "a", {None: "b"}),
    ],
)
def test_move_targets_accept_the_part_and_are_not_inside_it(
    structure: SiteStructure, name: str, holders: dict[str | None, str]
) -> None:
    found = site_tree.possible_parents(structure, part(structure, name))
    assert {each.id: " ".join(one.id for one in each.children) for each in found} == holders


@pytest.mark.parametrize("neighbor", ["outer", "inner", "c"])
def test_part_moved_beside_itself_or_its_own_parts_stays(neighbor: str) -> None:
    position = Position(after=site_tree.pointer_to(part(SITE, neighbor)))
    sort = Sort(at=AT, item=site_tree.pointer_to(part(SITE, "outer")), position=position)
    assert site_tree.move_part(SITE, sort) == SITE


def test_moved_part_names_its_new_parent() -> None:
    position = Position(before=site_tree.pointer_to(part(SITE, "c")))
    after_move = site_tree.move_part(SITE, Sort(at=AT, item=site_tree.pointer_to(part(SITE, "a")), position=position))
    assert to_text(after_move) == "one(b) outer(two(a c) inner(three)) four"
    assert site_tree.parent_id(part(after_move, "a")) == "two"


@pytest.mark.parametrize(
    ("structure", "name", "before", "defaults"),
    [(SITE, "b", "a", "one b c"), (SITE, "two", "one", "a two c"), (ROOT, "b", "a", "b"), (SITE, "c", None, "one a c")],
)
def test_only_one_sibling_is_the_default(
    structure: SiteStructure, name: str, before: str | None, defaults: str
) -> None:
    chosen = part(structure, name)
    found = site_tree.replaced_default(structure, chosen)
    assert (found.id if found else None) == before
    after_move = site_tree.with_default(structure, chosen)
    assert (
        " ".join(each.id for each, _ in site_tree.walk_parts(after_move) if getattr(each, "default", False)) == defaults
    )
