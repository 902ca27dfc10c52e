"""A diff reports every difference between two trees, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from octavo.documents.blocks import Block, Document, Run, TableColumn
from octavo.documents.diff import diff
from octavo.documents.diff_model import (
    AttributeChange,
    ChangedBlock,
    ContainerChange,
    DiffEntry,
    MovedBlock,
    RowChange,
    TableChange,
    UnchangedBlocks,
)
from octavo.documents.diff_nodes import changed_run_attributes
from octavo.documents.diff_text import diff_runs
from octavo.documents.source_reader import parse
from tests.documents.block_model import KINDS
from tests.documents.block_trees import canonical, pairs
from tests.documents.rebuilt_pages import check_rebuilt_pages


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_diff_is_empty_only_for_equal_pages(pair: tuple[Document, Document]) -> None:
    check_pair(*pair)


@pytest.mark.long
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_diff_is_empty_only_for_equal_random_pages(pair: tuple[Document, Document]) -> None:
    check_pair(*pair)


@pytest.mark.parametrize(
    "sign",
    [
        Run("", kind="image"),
        Run("", kind="icon", attrs={"name": "anchor"}),
        Run("", kind="icon", attrs={"name": "bell"}),
    ],
)
def test_wordless_fallback_of_a_link_is_reported(sign: Run) -> None:
    old, new = (Block("content-ref", {"url": "a.md"}, runs=(run,)) for run in (Run("", kind="icon"), sign))
    check_pair(Document("", (old,), ""), Document("", (new,), ""))
    check_pair(Document("", (new,), ""), Document("", (old,), ""))


def check_pair(old: Document, new: Document) -> None:
    """Check that a diff is empty only for equal trees, and that both trees can be rebuilt from the diff."""
    found = diff(old, new)
    same = [canonical(block) for block in old.blocks] == [canonical(block) for block in new.blocks]
    assert found.is_empty == same
    check_rebuilt_pages(found, old, new)


SWITCHES = (
    "full_width",
    "numbers",
    "expandable",
    "grouped",
    "open",
    "frame",
    "drawing",
    "search",
    "header_hidden",
    "titles_hidden",
)
VALUES = {
    "arguments": ({"a": "1"}, {"a": "2"}),
    "tight": (True, False),
    "value": (False, True),
    "notes": (((0, "1"),), ((0, "2"),)),
    "highlighted": ((0,), (1,)),
    "tags": (("new",), ("new", "fix")),
    "schemas": (("A",), ("B",)),
}
PARENTS = {"task": "list", "tab": "tabs", "step": "stepper", "column": "columns", "update": "updates", "row": "table"}
PARENTS |= {
    "card": "cards",
    "cell": "row",
    "image": "figure",
    "side": "conflict",
    "footnote": "footnotes",
    "else": "if",
}
WORDS = (Run("The tide turns at six, and nobody waits for it."),)


def page(kind: str, attrs: dict[str, Any], columns: tuple[TableColumn, ...] = (TableColumn(WORDS),)) -> Document:
    text = "make\nmake install" if kind in ("code", "integration") else ""
    inner = () if text or kind in ("heading", "paragraph", "cell", "expandable") else (Block("paragraph", runs=WORDS),)
    block = Block(kind, attrs, inner, () if inner or text else WORDS, text)
    while parent := PARENTS.get(block.kind):
        block = Block(parent, {"columns": columns} if parent in ("table", "cards") else {}, (block,))
    return Document("", (block,), "")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_every_attribute_change_has_both_values(kind: str, name: str) -> None:
    values = VALUES.get(
        name, (True, False) if name in SWITCHES else (4, 5) if name in ("start", "level") else ("a", "b")
    )
    found = diff(*(page(kind, {name: value}) for value in values))
    said = list(settings_in(found.entries))
    assert [each.name for each in said] == ["spaced" if name == "tight" else name]
    assert said[0].old != said[0].new
    assert diff(page(kind, {name: values[0]}), page(kind, {name: values[0]})).is_empty


@pytest.mark.parametrize("value", [0, False])
def test_unchecked_box_and_zero_stars_differ_from_empty_cell(value: object) -> None:
    assert not diff(page("cell", {}), page("cell", {"value": value})).is_empty


@pytest.mark.parametrize("field", [name for name in TableColumn._fields if name != "title"])
def test_every_column_setting_change_is_reported(field: str) -> None:
    value: Any = {"hidden": True, "options": {"a": "A"}, "width": 80, "max": 3}.get(field, "rating")
    columns = (TableColumn(WORDS), TableColumn((Run("B"),)))
    other = (columns[0], columns[1]._replace(**{field: value}))
    found = diff(page("cell", {}, columns), page("cell", {}, other))
    assert [each.name.split(", ")[0] for each in settings_in(found.entries)] == ["column “B”"]


RUNS = {
    "a link of words that changed too": (
        Run("the old guide", link="a.md"),
        Run("the new guide", link="b.md"),
        ["link “the new guide”: a.md → b.md"],
    ),
    "a link of other words": (Run("Harbour", link="a.md"), Run("Quay", link="b.md"), ["link “Quay”: a.md → b.md"]),
    "what was no link": (Run("Harbour"), Run("Harbour", link="b.md"), ["link “Harbour”: none → b.md"]),
    "an image with the same words": (
        Run("a buoy", kind="image", attrs={"src": "a.png"}),
        Run("a buoy", kind="image", attrs={"src": "b.png"}),
        ["image URL: a.png → b.png"],
    ),
    "an image with the same name": (
        Run("", kind="image", attrs={"src": "a/x.png"}),
        Run("", kind="image", attrs={"src": "b/x.png"}),
        ["image URL: a/x.png → b/x.png"],
    ),
    "an image with another name": (
        Run("", kind="image", attrs={"src": "a.png", "width": "10"}),
        Run("", kind="image", attrs={"src": "b.png", "width": "20"}),
        ["image URL: a.png → b.png", "image width: 10 → 20"],
    ),
    "a look": (Run("tide"), Run("tide", frozenset({"bold"})), ["formatting: plain → bold"]),
    "a look of space": (Run(" "), Run(" ", frozenset({"bold"})), ["space formatting: plain → bold"]),
    "a colour": (Run("tide", attrs={"color": "red"}), Run("tide", attrs={"color": "blue"}), ["color: red → blue"]),
    "white space": (Run("low tide"), Run("low  tide"), ["white space: space → 2 spaces"]),
}


@pytest.mark.parametrize("kind", RUNS)
def test_changes_of_links_and_format_are_reported(kind: str) -> None:
    old, new, told = RUNS[kind]
    before, after = Run("Before it "), Run(" and after it.")
    assert sorted(
        map(str, changed_run_attributes(diff_runs((before, old, after), (before, new, after)).words))
    ) == sorted(told)


def test_fallback_text_change_is_a_setting_change() -> None:
    old = parse('{% content-ref url="a.md" %}\n[Tides](a.md)\n{% endcontent-ref %}')
    new = parse('{% content-ref url="a.md" %}\n[Tides and boats](a.md)\n{% endcontent-ref %}')
    (entry,) = diff(old, new).entries
    assert isinstance(entry, ChangedBlock)
    assert entry.notes == ("fallback text: Tides → Tides and boats",)
    assert entry.content_change is None


def test_anchor_derived_from_the_title_is_not_reported() -> None:
    page = "# A page\n\n## Request\n\nAsk for it.\n"
    found = diff(parse(page), parse("# A page\n\n## Request\n\nAsk for more.\n\n" + page.partition("\n\n")[2]))
    assert list(settings_in(found.entries)) == []
    (renamed,) = (
        entry
        for entry in diff(parse(page), parse(page.replace("Request", "Requests"))).entries
        if not isinstance(entry, UnchangedBlocks)
    )
    assert isinstance(renamed, ChangedBlock)
    assert renamed.settings == ()


def settings_in(entries: Iterable[DiffEntry]) -> Iterator[AttributeChange]:
    """Yield all changed settings of a diff."""
    for entry in entries:
        if isinstance(entry, (ChangedBlock, MovedBlock)):
            yield from entry.settings
            match entry.content_change:
                case ContainerChange(entries=inner) | TableChange(rows=inner):
                    yield from settings_in(inner)
                case RowChange(cells=cells):
                    yield from (setting for cell in cells for setting in cell.settings)
